"""Log-splines: a distribution over ordered values, as smooth as the reports say (METHODS 5)."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np

from warner.channels import LikelihoodOperator
from warner.estimators.base import Estimator, require_order
from warner.estimators.fit import Fit, PosteriorFit, Status
from warner.estimators.iteration import iterate
from warner.estimators.likelihood_data import LikelihoodData
from warner.estimators.mle.objective import certify, require_possible, safe_divide
from warner.estimators.mle.uniqueness import Uniqueness

_BASIS = 40  # B-splines to begin with
_ORDERS = (1, 2, 3)
# Standard deviations of log theta around its polynomial, in steps of sqrt(10). With 0.3 reports
# cannot tell the curve from a polynomial. 100 is that of a normal shape whose standard deviation
# is 2 % of the domain.
_SCALES = tuple(10.0 ** (k / 2) for k in range(-1, 5))
# Twice this is the finest basis: larger matrices cost more than they gain.
_FINEST = 160
# Share of coefficients that the reports must determine for a finer basis to be tried.
_DETERMINED = 1 / 3
_RISE = 1.0  # nats by which the evidence must rise for a finer basis
_NEGLIGIBLE = 12.0  # nats below the best model at which an order's scales end
_STEPS = 60
# Tenfold shares of the diagonal that are tried where rounding made a matrix indefinite.
_JITTERS = 10
_MANY_ROWS = 4  # rows per value from which on the likelihood is expanded
_EXPANSIONS, _SETTLED = 5, 0.01  # the most expansions, and the change in l1 that ends them
# Nats that Newton's method expects to gain in its last step; the error left is about its square.
_CLOSE = 1e-2


@dataclass(frozen=True)
class LogSpline(Estimator):
    """theta = softmax(X phi): log theta is a penalised cubic spline over the values.

        phi* = argmax  n l(softmax(X phi)) + log prior(phi)
        X phi = polynomial of degree < p  +  spline with white p-th differences  +  an atom per end
        log Z = n l + log prior - 1/2 log det(H / 2 pi),   H the Hessian of minus both at phi*

    Differences of order p = 3 leave log-quadratics, that is normal shapes, unpenalised; p = 2
    exponential shapes; p = 1 the uniform shape. Small p suits jumps and spikes, large p smooth
    shapes. Every (p, s) is a model with a proper prior. The spline's coefficients are normal; s is
    their standard deviation over the domain, in units of log theta. The polynomial and each atom
    have Cauchy(0, 1) priors. The atoms are the excess of the first and of the last value, where
    clipping puts mass.

    The estimate averages the models' theta at phi*, weighted by their Laplace evidence Z. Before
    the data p is uniform on {1, 2, 3}, and s is flat on a geometric grid. The basis is doubled
    while that raises the evidence. Values count as equally spaced, in their order.

    The fit's ``posterior`` draws (count, K) distributions from the Laplace posterior. Quantiles of
    smooth functionals over them (mean, quantile, mass of a range) are intervals. A draw chooses a
    model by its weight; u = X (phi - phi*) is normal with covariance X H^-1 X'; theta is
    proportional to theta* (u + sqrt(1 + u^2)). This is theta* exp(u) to second order, and it stays
    small where theta* is almost 0. The draws hold if log theta is smooth. At jumps, and for single
    shares, they do not know the error of smoothing.

    Raises:
        ArgumentError: the domain's values have no order, or are not on one line.
        ImpossibleReportError: a report was seen that has probability 0 under every value.

    Source: METHODS 5, 7; Eilers and Marx (1996) for the penalty, Gelman (2006) for the prior of s.

    >>> LogSpline()
    LogSpline()
    """

    summary: ClassVar[str] = (
        "penalised maximum of the likelihood, the penalty chosen by marginal likelihood: smoother "
        "than the maximum of the likelihood; if values next to each other should not be alike, use "
        "MaximumLikelihood() instead"
    )

    def _fit(self, data: LikelihoodData) -> Fit:
        require_order(data.domain, "LogSpline")
        rows, weights = data.channel.restrict_to_observed(data.weights)
        require_possible(rows, weights)
        likelihood = Likelihood(rows, weights, data.n * rows.rows_per_report)
        expand = (
            (steady := rows.nearly_constant()) is not None
            and bool(steady.steady.all())
            and rows.shape[0] > _MANY_ROWS * rows.shape[1]
        )
        theta = np.full(rows.shape[1], 1 / rows.shape[1])
        for _ in range(_EXPANSIONS):
            if expand:
                likelihood = Expansion(
                    rows, weights, likelihood.count, likelihood.steps, centre=theta
                )
            models = fit_grid(likelihood)
            # A model whose maximum was not found is left out, unless there is no other.
            models = [model for model in models if model.converged] or models
            chances = posterior(models)
            before, theta = theta, chances @ np.stack([model.theta for model in models])
            if not expand or np.abs(theta - before).sum() < _SETTLED:
                break
        status = Status.COMPLETED if models[0].converged else Status.STEP_LIMIT
        fit = certify(data, theta / theta.sum(), status, likelihood.steps)
        # With fewer different reports than values, what they leave open is the prior's word alone.
        few = data.channel.shape[0] < data.channel.shape[1]
        unique = Uniqueness.NOT_UNIQUE.value if few else None
        return replace(
            fit,
            unique=unique,
            posterior=PosteriorFit(Draws(models, chances), for_intervals=True),
        )


@dataclass(eq=False)
class Likelihood:
    """n l(theta) and its derivatives, through products with the channel alone.

    Attributes:
        rows, weights: A (m, K) and w (m,).
        count: rows that the reports count for, n * copies.
        steps: how many Newton steps were taken with it.
    """

    rows: LikelihoodOperator
    weights: np.ndarray
    count: float
    steps: int = 0

    def value(self, theta: np.ndarray) -> tuple[np.ndarray, float]:
        """d = A theta (m,), and n l in nats up to a constant."""
        seen = self.weights > 0
        d = self.rows.matvec(theta)
        some = d[seen]
        return d, self.count * float(self.weights[seen] @ np.log(some)) if (
            some > 0
        ).all() else -np.inf

    def score(self, theta: np.ndarray, d: np.ndarray) -> np.ndarray:
        """The gradient of l, A' (w / d), (K,)."""
        return self.rows.rmatvec(safe_divide(self.weights, d))

    def information(self, d: np.ndarray, directions: np.ndarray) -> np.ndarray:
        """U' A' diag(n w / d^2) A U (P, P), U (K, P) directions in which theta changes."""
        through = self.rows.matmat(directions)
        out: np.ndarray = (
            self.count * (through.T * safe_divide(safe_divide(self.weights, d), d)) @ through
        )
        return out


@dataclass(eq=False)
class Expansion(Likelihood):
    """The likelihood to second order around ``centre``, for many more rows than values.

        l(theta) ~ l(c) + s (theta - c) - 1/2 (theta - c)' G (theta - c)
        s = A' (w / A c),   G = A' diag(w / (A c)^2) A

    It costs one pass over the rows instead of hundreds. Rows of the pure family change little with
    theta (METHODS 4.3). The centre is moved to the estimate until that stays.
    """

    centre: np.ndarray = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        d, self._value = super().value(self.centre)
        self._slope = super().score(self.centre, d)
        self._gram = self.rows.gram(safe_divide(safe_divide(self.weights, d), d))

    def value(self, theta: np.ndarray) -> tuple[np.ndarray, float]:
        away = theta - self.centre
        bend = self._gram @ away
        return bend, self._value + self.count * float(self._slope @ away - away @ bend / 2)

    def score(self, theta: np.ndarray, d: np.ndarray) -> np.ndarray:
        out: np.ndarray = self._slope - d
        return out

    def information(self, d: np.ndarray, directions: np.ndarray) -> np.ndarray:
        out: np.ndarray = self.count * directions.T @ self._gram @ directions
        return out


@dataclass(frozen=True, eq=False)
class Design:
    """The columns of X (K, P), each with sum 0, and the prior of each.

    Attributes:
        columns: X.
        spline: (P,) bool, the columns whose coefficients have standard deviation s.
        groups: the other columns, in groups that share a Cauchy prior.
    """

    columns: np.ndarray
    spline: np.ndarray
    groups: tuple[np.ndarray, ...]


@dataclass(frozen=True, eq=False)
class Model:
    """One order and scale at its penalised maximum.

    Attributes:
        order, scale: p and s.
        evidence: log Z.
        theta, phi: (K,), (P,).
        factor: (P, P) lower, H = factor factor'.
        design: X.
        converged: whether Newton's method converged.
    """

    order: int
    scale: float
    evidence: float
    theta: np.ndarray
    phi: np.ndarray
    factor: np.ndarray
    design: Design
    converged: bool

    def determined(self) -> float:
        """The number of coefficients that the reports determine: P - tr(H^-1 S)."""
        inverse = np.linalg.inv(self.factor)[:, self.design.spline]
        return self.phi.size - float((inverse**2).sum()) / self.scale**2


def fit_grid(likelihood: Likelihood) -> list[Model]:
    """Every order and scale, on the coarsest basis that a finer one does not improve."""
    size = likelihood.rows.shape[1]
    basis = min(_BASIS, size)
    while True:
        models = _grid(likelihood, basis)
        best = models[int(np.argmax(posterior(models)))]
        if basis == size or basis > _FINEST or best.determined() < _DETERMINED * best.phi.size:
            return models
        basis = min(2 * basis, size)
        finer = maximize_penalized(
            likelihood, design(size, basis, best.order), best.order, best.scale
        )
        if finer.evidence <= best.evidence + _RISE:
            return models


def posterior(models: list[Model]) -> np.ndarray:
    """The models' probabilities: evidence times the prior.

    The prior is flat in s, and so proportional to s on a geometric grid.
    """
    logs = np.array([model.evidence + np.log(model.scale) for model in models])
    chances = np.exp(logs - logs.max())
    out: np.ndarray = chances / chances.sum()
    return out


def _grid(likelihood: Likelihood, basis: int) -> list[Model]:
    """The models of every order, its scales from small to large.

    Each scale starts from the maximum of the one before. An order ends where larger scales cannot
    reach the best model.
    """
    models: list[Model] = []
    best = -np.inf
    for order in _ORDERS[: basis - 1]:
        x = design(likelihood.rows.shape[1], basis, order)
        phi, before = None, -np.inf
        for scale in _SCALES:
            model = maximize_penalized(likelihood, x, order, scale, phi)
            models.append(model)
            best = max(best, model.evidence + np.log(scale))
            if (
                model.evidence < before
                and model.evidence + np.log(_SCALES[-1]) < best - _NEGLIGIBLE
            ):
                break
            phi, before = model.phi, model.evidence
    return models


@lru_cache(maxsize=16)
def design(size: int, basis: int, order: int) -> Design:
    """X for ``basis`` cubic B-splines over ``size`` values.

    With as many splines as values there is one coefficient per value. Coefficients with white p-th
    differences u are D+ u and a polynomial of degree < p, D+ the pseudo-inverse of differencing.
    The polynomials are orthogonal columns of mean square 1. B D+ has its part in them removed, and
    is scaled to mean variance 1. So the coefficients and s are in units of log theta, whatever the
    basis. The constant does not change theta and is left out.
    """
    powers = np.linalg.qr(np.vander(np.linspace(-1, 1, size), order, increasing=True))[0]
    rough = _splines(size, basis) @ np.linalg.pinv(np.diff(np.eye(basis), order, axis=0))
    rough -= powers @ (powers.T @ rough)
    rough /= np.sqrt((rough**2).sum(axis=1).mean())
    smooth = powers[:, 1:] * np.sqrt(size)
    ends = np.zeros((size, 2 if size > 4 else 0))  # a handful of values has a coefficient each
    if ends.size:
        ends[[0, -1], [0, 1]] = 1
        ends -= ends.mean(axis=0)
    columns = np.concatenate([smooth, rough, ends], axis=1)
    index = np.arange(columns.shape[1])
    first, last = order - 1, order - 1 + rough.shape[1]
    groups = ([index[:first]] if first else []) + [index[[i]] for i in range(last, index.size)]
    columns.setflags(write=False)
    return Design(columns, (index >= first) & (index < last), tuple(groups))


def _splines(size: int, basis: int) -> np.ndarray:
    """Cubic B-splines on equal knots at the K bins' centres, (K, basis)."""
    if basis == size:
        return np.eye(size)
    from scipy.interpolate import BSpline

    knots = (np.arange(basis + 4) - 3) / (basis - 3)
    out: np.ndarray = BSpline.design_matrix((np.arange(size) + 0.5) / size, knots, 3).toarray()
    return out


class CoefficientPrior:
    """log prior(phi): independent normals for the spline, a multivariate Cauchy per group."""

    def __init__(self, x: Design, scale: float) -> None:
        self.x, self.scale = x, scale
        # What does not depend on phi, the normalisers.
        self._constant = -float(x.spline.sum()) * float(np.log(scale * np.sqrt(2 * np.pi)))
        for group in x.groups:
            self._constant += _log_cauchy(len(group))

    def value(self, phi: np.ndarray) -> float:
        groups = sum((1 + len(g)) / 2 * float(np.log1p(phi[g] @ phi[g])) for g in self.x.groups)
        return (
            self._constant - float((phi[self.x.spline] ** 2).sum()) / (2 * self.scale**2) - groups
        )

    def curvature(self, phi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The precision (P,), and the Hessian (P, P) of -log prior.

        The gradient is -precision * phi. The diagonal of precisions is the Hessian of a normal law
        that touches the prior at phi and lies below it elsewhere. It is always positive, unlike the
        Hessian of a Cauchy.
        """
        precision = np.full(phi.size, 1 / self.scale**2)
        hessian = np.zeros((phi.size, phi.size))
        for g in self.x.groups:
            part = (1 + len(g)) / (1 + phi[g] @ phi[g])
            precision[g] = part
            hessian[np.ix_(g, g)] -= 2 * part / (1 + phi[g] @ phi[g]) * np.outer(phi[g], phi[g])
        return precision, hessian + np.diag(precision)


def _log_cauchy(dimensions: int) -> float:
    """log of the normaliser of (1 + |a|^2)^(-(1 + d) / 2) in d dimensions.

    It is Gamma((1 + d) / 2) / pi^((1 + d) / 2).
    """
    from scipy.special import gammaln

    half = (1 + dimensions) / 2
    return float(gammaln(half) - half * np.log(np.pi))


def softmax(columns: np.ndarray, phi: np.ndarray) -> np.ndarray:
    """theta (K,)."""
    heights = columns @ phi
    theta = np.exp(heights - heights.max())
    out: np.ndarray = theta / theta.sum()
    return out


def derivatives(
    likelihood: Likelihood, columns: np.ndarray, theta: np.ndarray, d: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The gradient (P,) of n l in phi, and two parts (P, P) whose difference is minus its Hessian.

    With x_c = X - theta' X the derivative of log theta, d theta = theta x_c, and n l has
    -l'' = sum_y w_y (A theta x_c)_y (A theta x_c)_y' / d_y^2 - sum_x theta_x (s_x - 1) x_c x_c',
    s the score. The first part is never negative. The second is 0 at an unpenalised maximum inside
    the simplex, and noise at the truth.
    """
    s = likelihood.score(theta, d)
    excess = likelihood.count * theta * (s - theta @ s)  # theta . s is 1, except of an expansion
    centred = columns - theta @ columns
    informed = likelihood.information(d, theta[:, None] * centred)
    return columns.T @ excess, informed, (centred.T * excess) @ centred


@dataclass(frozen=True, eq=False)
class _Ascent:
    """A point of Newton's method.

    Attributes:
        phi, theta: (P,), (K,).
        d: A theta, or what ``Likelihood.value`` returns for it.
        value: the penalised log-likelihood, nats.
        factor: (P, P) lower, of the Hessian at the point before; None at the start.
        converged: whether the step to this point was expected to gain next to nothing.
        stalled: whether no length of the last step raised the value.
    """

    phi: np.ndarray
    theta: np.ndarray
    d: np.ndarray
    value: float
    factor: np.ndarray | None = None
    converged: bool = False
    stalled: bool = False


def maximize_penalized(
    likelihood: Likelihood, x: Design, order: int, scale: float, phi: np.ndarray | None = None
) -> Model:
    """phi* by Newton's method with step halving, and the evidence.

    The objective need not be concave, because softmax is not. Where its Hessian is not positive,
    the part of it that always is takes its place.

    Args:
        likelihood: the likelihood of the reports. Its count of steps is raised.
        x: the columns X (K, P) and the kinds of their coefficients.
        order, scale: p and s.
        phi: (P,), the start; None for the uniform distribution.
    """
    from scipy.linalg import cho_solve

    columns, prior = x.columns, CoefficientPrior(x, scale)

    def step(state: _Ascent) -> _Ascent:
        precision, curvature = prior.curvature(state.phi)
        gradient, positive, rest = derivatives(likelihood, columns, state.theta, state.d)
        gradient -= precision * state.phi
        factor = _cholesky(positive - rest + curvature, positive + np.diag(precision))
        move = cho_solve((factor, True), gradient, check_finite=False)
        expected = float(gradient @ move)
        likelihood.steps += 1
        converged = expected < _CLOSE
        slack = 1e-9 * abs(state.value) * converged
        length = 1.0
        while length > 1e-9:
            phi = state.phi + length * move
            theta = softmax(columns, phi)
            d, value = likelihood.value(theta)
            value += prior.value(phi)
            if value >= state.value + 1e-4 * length * expected - slack:
                return _Ascent(phi, theta, d, value, factor, converged)
            length /= 2
        return replace(state, factor=factor, converged=converged, stalled=True)

    def stop(state: _Ascent, steps: int) -> Status | None:
        if state.converged:
            return Status.CONVERGED
        return Status.STEP_LIMIT if state.stalled else None

    phi = np.zeros(columns.shape[1]) if phi is None else phi
    theta = softmax(columns, phi)
    d, value = likelihood.value(theta)
    run = iterate(_Ascent(phi, theta, d, value + prior.value(phi)), step, stop, _STEPS)
    end = run.state
    assert end.factor is not None
    # The Gaussian integral over phi: (2 pi)^(P / 2) / sqrt(det H).
    log_root = float(np.log(np.diag(end.factor)).sum())
    evidence = end.value + end.phi.size / 2 * float(np.log(2 * np.pi)) - log_root
    return Model(order, scale, evidence, end.theta, end.phi, end.factor, x, end.converged)


def _cholesky(matrix: np.ndarray, fallback: np.ndarray) -> np.ndarray:
    """The lower factor of a matrix, or of the fallback where the matrix is not positive.

    The fallback is positive. With very many reports its entries are so large that rounding hides
    its smallest eigenvalues. Then the smallest sufficient part of its diagonal is added.
    """
    for tried in (matrix, fallback):
        with contextlib.suppress(np.linalg.LinAlgError):
            return np.linalg.cholesky(tried)
    rounding = len(fallback) * np.finfo(np.float64).eps
    for power in range(_JITTERS):
        with contextlib.suppress(np.linalg.LinAlgError):
            return np.linalg.cholesky(
                fallback + np.diag(np.diag(fallback) * rounding * 10.0**power)
            )
    raise AssertionError("a matrix of the form G + diagonal, both positive, has no factor")


@dataclass(frozen=True, eq=False)
class Draws:
    """draws(count, rng) -> (count, K) from the mixture of the models' Laplace posteriors."""

    models: list[Model]
    chances: np.ndarray

    def __call__(self, count: int, rng: np.random.Generator) -> np.ndarray:
        out = []
        for model, some in zip(self.models, rng.multinomial(count, self.chances), strict=True):
            if some:
                normal = np.linalg.solve(
                    model.factor.T, rng.standard_normal((model.phi.size, some))
                )
                columns = model.design.columns
                u = (columns - model.theta @ columns) @ normal
                theta = model.theta[:, None] * (u + np.sqrt(1 + u**2))
                out.append((theta / theta.sum(axis=0)).T)
        return rng.permutation(np.concatenate(out))
