"""Log-splines: a distribution over ordered values, as smooth as the reports say (METHODS 5).

In this order: cells of consecutive values, where there are very many; the likelihood and its
derivatives, exactly or to second order; the columns X of log theta = X phi; the prior of phi; one
order and scale (Newton's method, and the evidence); all orders and scales, their probabilities, and
draws from their mixture; and the estimator, which averages them.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np

from warner._core.errors import ArgumentError
from warner._core.extras import scipy
from warner._core.progress import in_blocks
from warner.channels import (
    DenseChannel,
    LikelihoodOperator,
    NearlyConstantRows,
    on_cells,
    quick,
    weighted_counts,
)
from warner.domains import Domain, Integers
from warner.estimators.base import (
    MANY_ROWS,
    Estimator,
    Fit,
    LikelihoodData,
    PosteriorFit,
    Status,
    certify,
    iterate,
    require_order,
    require_possible,
    safe_divide,
    score_and_log_likelihood,
    uniform,
)
from warner.estimators.maximum_likelihood import Uniqueness

_MOST_ENTRIES = 2**22  # of the matrix of bins and limits
_TELLS_LIMITS = 16.0  # the information about the slope of log theta from which on limits count
# Values up to which each is a cell of its own, and about the largest number of cells.
MOST_CELLS = 2048


@dataclass(frozen=True)
class Cells:
    """Cells of K consecutive values."""

    size: int  # K
    # the first value of each cell, C of them. The first and the last value are cells of their own,
    # because they have atoms.
    starts: tuple[int, ...]

    @cached_property
    def index(self) -> np.ndarray:
        """The starts as an array (C,)."""
        return np.array(self.starts)

    @cached_property
    def sizes(self) -> np.ndarray:
        """The number of values in each cell, (C,)."""
        return np.diff(self.index, append=self.size)

    def averages(self, columns: Any) -> np.ndarray:
        """The means over the cells of the rows of an array or a sparse matrix (K, P), (C, P)."""
        ends = np.append(self.index, self.size)
        entries = np.repeat(1 / self.sizes, self.sizes)
        matrix = scipy.sparse.csr_array(
            (entries, np.arange(self.size), ends), shape=(len(ends) - 1, self.size)
        )
        return _dense(matrix @ columns)

    def spread(self, rows: np.ndarray) -> np.ndarray:
        """Rows of cells (C, ...) repeated for each of their values, (K, ...)."""
        return np.repeat(rows, self.sizes, axis=0)


def _dense(matrix: Any) -> np.ndarray:
    return matrix if isinstance(matrix, np.ndarray) else np.asarray(matrix.toarray())


def cells_for(channel: LikelihoodOperator) -> Cells | None:
    """Cells on which the channel (m, K) is small; None where there are few values."""
    size = channel.shape[1]
    if size <= MOST_CELLS:
        return None
    starts = channel.value_cells(MOST_CELLS)
    if starts is None:
        inner = np.linspace(1, size - 1, MOST_CELLS - 1).round().astype(np.int64)
        starts = np.unique(np.append(0, inner))
    return Cells(size, tuple(starts.tolist())) if len(starts) < size else None


def with_limits(data: LikelihoodData) -> tuple[LikelihoodData, np.ndarray] | None:
    """Data on the two limits of numbers beside their bins, K + 2 values, for atoms at the limits.

    And the first of these values that is of each of the K values, (K,). None where values are no
    bins, or are too many, or where reports are too few to tell a limit from its bin.
    """
    channel, size = data.channel, data.domain.answered.size
    merged = channel.merge_proportional_rows() if channel.has_bins else None
    rows, numbers = (channel, None) if merged is None else merged
    many = (size + 2) * rows.shape[0] > _MOST_ENTRIES or data.domain.size > MOST_CELLS - 2
    if not channel.has_bins or many or size < _LEAST or rows.rows_per_report != 1:
        return None
    z = np.zeros(data.domain.size)
    z[:size] = np.linspace(-np.sqrt(3), np.sqrt(3), size)
    even, slope = np.stack([rows.matvec(uniform(z.size)), rows.matvec(z / z.size)])
    if data.n * float(safe_divide(slope**2, even).sum()) < _TELLS_LIMITS:
        return None
    matrix = np.insert(rows.dense(), [0, size], rows.at_limits(), axis=1)
    weights = data.weights
    if numbers is not None:
        weights = weighted_counts(numbers, weights, rows.shape[0])
    starts = np.delete(np.arange(data.domain.size + 2), [1, size + 1])
    return replace(data, channel=DenseChannel(matrix), weights=weights), starts


@dataclass(eq=False)
class Likelihood:
    """The log-likelihood n l(theta) and its derivatives, from products with the channel alone."""

    rows: LikelihoodOperator  # the channel A (m, K)
    weights: np.ndarray  # the frequencies w (m,) of its rows
    count: float  # n times the number of rows that one report counts for
    steps: int = 0  # how many Newton steps were taken with it

    def size(self, cells: Cells | None) -> int:
        """The number of values."""
        return self.rows.shape[1] if cells is None else cells.size

    def value(self, theta: np.ndarray) -> tuple[np.ndarray, float]:
        """The expected frequencies d = A theta (m,), and n l in nats up to a constant."""
        seen, weights = self._seen
        d = self.rows.matvec(theta)
        expected = d[seen]
        if not (expected > 0).all():
            return d, -np.inf
        return d, self.count * float(weights @ np.log(expected))

    @cached_property
    def _seen(self) -> tuple[np.ndarray | slice, np.ndarray]:
        """The rows that were seen, and their frequencies."""
        seen = self.weights > 0
        return (slice(None), self.weights) if seen.all() else (seen, self.weights[seen])

    def score(self, theta: np.ndarray, d: np.ndarray) -> np.ndarray:
        """The gradient of l, A' (w / d), (K,)."""
        return self.rows.rmatvec(safe_divide(self.weights, d))

    def information(self, d: np.ndarray, directions: np.ndarray) -> np.ndarray:
        """The information U' A' diag(n w / d^2) A U (P, P) about directions U (K, P), at d (m,)."""
        v = safe_divide(safe_divide(self.weights, d), d)
        return self.count * self.rows.gram_of(v, directions)


@dataclass(eq=False)
class Expansion(Likelihood):
    """The likelihood to second order around ``centre``, for many more rows than values."""

    # l(theta) ~ l(c) + s (theta - c) - 1/2 (theta - c)' G (theta - c), with s = A' (w / A c) and G
    # = A' diag(w / (A c)^2) A. One pass over the rows instead of hundreds: in the pure family A
    # theta changes little (METHODS 4.3). The centre is moved until the estimate is steady.

    centre: np.ndarray = field(default_factory=lambda: np.empty(0))  # c (K,)

    def __post_init__(self) -> None:
        d, self._value = super().value(self.centre)
        self._slope = super().score(self.centre, d)
        self._gram = self.rows.gram(safe_divide(safe_divide(self.weights, d), d))

    def value(self, theta: np.ndarray) -> tuple[np.ndarray, float]:
        away = theta - self.centre
        bend = self._gram @ away
        return bend, self._value + self.count * float(self._slope @ away - away @ bend / 2)

    def score(self, theta: np.ndarray, d: np.ndarray) -> np.ndarray:
        return np.asarray(self._slope - d)

    def information(self, d: np.ndarray, directions: np.ndarray) -> np.ndarray:
        return np.asarray(self.count * directions.T @ self._gram @ directions)


def likelihood_of(
    rows: LikelihoodOperator, weights: np.ndarray, n: int, centre: np.ndarray
) -> Likelihood:
    """The likelihood of n reports, expanded around ``centre`` (K,) if there are very many rows."""
    count = n * rows.rows_per_report
    if (
        isinstance(rows, NearlyConstantRows)
        and bool(rows.steady.all())
        and rows.shape[0] > MANY_ROWS * rows.shape[1]
    ):
        return Expansion(rows, weights, count, centre=centre)
    merged, weights = rows.merge_equal_rows(weights)
    return Likelihood(quick(merged), weights, count)


@dataclass(frozen=True, eq=False)
class SplineDesign:
    """The columns of X (K, P), each with sum 0, and the prior of each."""

    columns: np.ndarray  # X (K, P)
    spline: np.ndarray  # (P,) bool, the columns whose coefficients have standard deviation s
    groups: tuple[slice, ...]  # the other columns by neighbours, each group with one Cauchy prior
    # the cells of values whose means the rows of X are; None where each value has a row
    cells: Cells | None = None
    fine: FineColumns | None = None  # X on all values, where the rows are means
    base: np.ndarray | float = 0.0  # log theta where phi is 0, up to a constant: (K,) or one number

    @cached_property
    def members(self) -> np.ndarray:
        """The columns of each group as 0 and 1, (groups, P)."""
        out = np.zeros((len(self.groups), self.spline.size))
        for row, group in zip(out, self.groups, strict=True):
            row[group] = 1.0
        return out

    @cached_property
    def together(self) -> np.ndarray:
        """1 for two columns of one group, else 0, (P, P)."""
        return np.asarray(self.members.T @ self.members)

    def theta(self, phi: np.ndarray) -> np.ndarray:
        """The shares of the cells, or of the values where there are no cells."""
        return softmax(self.columns, phi, self.base)

    def theta_of_values(self, phi: np.ndarray) -> np.ndarray:
        """The shares of the values, (K,)."""
        return self.theta(phi) if self.fine is None else softmax(self.fine, phi)


@dataclass(frozen=True, eq=False)
class FineColumns:
    """The columns X of many values, as a product with few entries.

    X = [P_1, B C - P M, E]
    """

    powers: np.ndarray  # P (K, p), orthonormal polynomials
    splines: Any  # B, sparse (K, S), cubic B-splines
    weights: np.ndarray  # C (S, S - p)
    shifts: np.ndarray  # M (p, S - p)

    def __matmul__(self, phi: np.ndarray) -> np.ndarray:
        """X phi, (K,)."""
        size, order = self.powers.shape
        smooth, rough, ends = phi[: order - 1], phi[order - 1 : -2], phi[-2:]
        polynomial = -self.shifts @ rough
        polynomial[1:] += smooth * np.sqrt(size)
        out = self.splines @ (self.weights @ rough) + self.powers @ polynomial - ends.sum() / size
        out[[0, -1]] += ends
        return np.asarray(out)


def softmax(columns: np.ndarray | FineColumns, phi: np.ndarray, base: Any = 0.0) -> np.ndarray:
    """The distribution theta (K,) with log theta = base + X phi + a constant, for X (K, P)."""
    heights = columns @ phi + base
    theta = np.exp(heights - heights.max())
    return np.asarray(theta / theta.sum())


@lru_cache(maxsize=16)
def design(
    size: int,
    basis: int,
    order: int,
    cells: Cells | None = None,
    nonresponse: bool = False,
    has_limits: bool = False,
) -> SplineDesign:
    """X for ``basis`` cubic B-splines over ``size`` values, or the means of its rows over cells.

    With as many splines as values there is one coefficient per value. Let p be the order and D+ the
    pseudo-inverse of p-th differences. Coefficients whose p-th differences u are white noise are
    D+ u plus a polynomial of degree < p. The polynomials P are orthogonal columns of mean square 1.
    Let B be the matrix of splines. The columns B D+ are made orthogonal to the polynomials, and
    scaled to mean variance 1, over the values also where rows are means. So the coefficients and s
    are in units of log theta for every basis. The constant does not change theta and is left out.

    Nonresponse is the last of the values and has a column of its own. Its coefficient gamma has a
    Cauchy(0, 1) prior, like the atoms. At 0 everybody answers as often as not:

        theta_x = exp(X_x phi) / Z,   theta_nonresponse = (size - 1) exp(gamma) / Z

    Limits of numbers in bins are the first and the last of the answered values: the part _RARE of
    what a bin there has, times the exponential of the atom's coefficient.

    Here K is ``size``, p is ``order``.
    """
    if nonresponse:
        answered = design(size - 1, basis, order, has_limits=has_limits)
        columns = np.pad(answered.columns, ((0, 1), (0, 1)))
        columns[-1, -1] = 1.0
        columns.setflags(write=False)
        base = np.append(np.zeros(size - 1) + answered.base, np.log(size - 1))
        groups = (*answered.groups, slice(columns.shape[1] - 1, columns.shape[1]))
        return SplineDesign(columns, np.append(answered.spline, False), groups, base=base)
    powers, splines = _powers(size, order), _splines(size, basis)
    weights = np.linalg.pinv(np.diff(np.eye(basis), order, axis=0))
    shifts = np.asarray(splines.T @ powers).T @ weights
    squares = float(((splines.T @ splines) @ weights * weights).sum() - (shifts**2).sum())
    scale = np.sqrt(squares / size)
    weights, shifts = weights / scale, shifts / scale
    average = _dense if cells is None else cells.averages
    means = average(powers)
    rough = np.asarray(average(splines) @ weights) - means @ shifts
    at = [0, -1] if size > 4 else []  # few values have a number each
    at = [0, 1, -2, -1] if has_limits else at
    ends = np.full((len(means), len(at)), -1 / size)
    ends[at, np.arange(len(at))] += 1
    columns = np.concatenate([means[:, 1:] * np.sqrt(size), rough, ends], axis=1)
    columns.setflags(write=False)
    index = np.arange(columns.shape[1])
    first, last = order - 1, order - 1 + rough.shape[1]
    kinds = [slice(0, first)] if first else []
    kinds += [slice(i, i + 1) for i in range(last, index.size)]
    spline = (index >= first) & (index < last)
    if cells is None:
        base = np.where(np.isin(np.arange(size), [0, size - 1]), np.log(_RARE), 0.0)
        return SplineDesign(columns, spline, tuple(kinds), base=base if has_limits else 0.0)
    fine = FineColumns(powers, splines, weights, shifts)
    return SplineDesign(columns, spline, tuple(kinds), cells, fine, np.log(cells.sizes))


@lru_cache(maxsize=4)
def _powers(size: int, order: int) -> np.ndarray:
    """Orthonormal polynomials of degree < p over K values, (K, p)."""
    return np.asarray(np.linalg.qr(np.vander(np.linspace(-1, 1, size), order, increasing=True))[0])


@lru_cache(maxsize=4)
def _splines(size: int, basis: int) -> Any:
    """Cubic B-splines on equal knots at K bins' centres, sparse (K, basis); up to one a value."""
    if basis == size:
        return np.eye(size)
    knots = (np.arange(basis + 4) - 3) / (basis - 3)
    return scipy.interpolate.BSpline.design_matrix((np.arange(size) + 0.5) / size, knots, 3)


class CoefficientPrior:
    """The prior of phi: independent normals for the spline, a multivariate Cauchy per group.

    The coefficients of the spline have the standard deviation ``scale``. Shapes: columns x (K, P).
    """

    def __init__(self, x: SplineDesign, scale: float) -> None:
        self.x, self.scale = x, scale
        # d dimensions have the density (1 + |a|^2)^-h Gamma(h) / pi^h, with h = (1 + d) / 2.
        self._halves = (1 + x.members.sum(axis=1)) / 2
        # For each column h of its group, and 1 / (2 s^2) where it is of the spline.
        self._rates = np.where(x.spline, 1 / (2 * scale**2), self._halves @ x.members)
        # What does not depend on phi, the normalisers.
        self._constant = -float(x.spline.sum()) * float(np.log(scale * np.sqrt(2 * np.pi)))
        self._constant += sum(math.lgamma(h) - h * math.log(math.pi) for h in self._halves)

    def value(self, phi: np.ndarray) -> float:
        squares = phi * phi
        normal = float(self.x.spline @ squares) / (2 * self.scale**2)
        return self._constant - normal - float(self._halves @ np.log1p(self.x.members @ squares))

    def curvature(self, phi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The precision (P,), and the Hessian (P, P) of -log prior, at phi (P,)."""
        # The gradient of the log prior is -precision * phi. The precisions are those of a normal
        # law that touches the prior at phi from below: always positive, unlike a Cauchy's Hessian.
        square = 1 + self.x.together @ (phi * phi)  # 1 for the columns of the spline
        precision = 2 * self._rates / square
        hessian = self.x.together * np.multiply.outer(-2 * precision / square * phi, phi)
        hessian.ravel()[:: phi.size + 1] += precision
        return precision, hessian


_STEPS = 60
# Tenfold shares of the diagonal that are tried where rounding made a matrix indefinite.
_JITTERS = 10
# Nats that Newton's method expects to gain in its last step; the error left is about its square.
_CLOSE = 1e-2


@dataclass(frozen=True, eq=False)
class Model:
    """One order and scale at its penalised maximum."""

    order: int  # order, scale: the order p of differences and the standard deviation s
    scale: float
    evidence: float  # log Z, in nats
    # theta, phi: the shares (C,) of values or cells, and the coefficients (P,), at the maximum
    theta: np.ndarray
    phi: np.ndarray
    factor: np.ndarray  # (P, P) lower triangular, with H = factor factor'
    design: SplineDesign  # the columns X and their kinds
    converged: bool  # whether Newton's method converged

    def determined(self) -> float:
        """The number of coefficients that the reports determine: P - tr(H^-1 S)."""
        inverse = np.linalg.inv(self.factor)[:, self.design.spline]
        return self.phi.size - float((inverse**2).sum()) / self.scale**2


def derivatives(
    likelihood: Likelihood, columns: np.ndarray, theta: np.ndarray, d: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The gradient (P,) of n l in phi, and two matrices (P, P), whose difference is -Hessian."""
    # With x_c = X - theta' X, the derivative of log theta, and the score s, per report
    #     -l'' = sum_y w_y (A theta x_c)_y (A theta x_c)_y' / d_y^2
    #     - sum_x theta_x (s_x - 1) x_c x_c'
    # The first is never negative. The second is 0 at an unpenalised maximum inside the simplex, and
    # has mean 0 at the true theta.
    s = likelihood.score(theta, d)
    excess = likelihood.count * theta * (s - theta @ s)  # theta . s is 1, except of an expansion
    centred = columns - theta @ columns
    informed = likelihood.information(d, theta[:, None] * centred)
    return columns.T @ excess, informed, (centred.T * excess) @ centred


@dataclass(frozen=True, eq=False)
class _Ascent:
    """A point of Newton's method."""

    phi: np.ndarray  # phi, theta: (P,), (K,)
    theta: np.ndarray
    d: np.ndarray  # A theta, or what ``Likelihood.value`` returns for it
    value: float  # the penalised log-likelihood, nats
    # (P, P) lower, of the Hessian at the point before; None at the start
    factor: np.ndarray | None = None
    converged: bool = False  # whether the step to this point was expected to gain next to nothing
    stalled: bool = False  # whether no length of the last step raised the value


def maximize_penalized(
    likelihood: Likelihood, x: SplineDesign, order: int, scale: float, phi: np.ndarray | None = None
) -> Model:
    """Find the penalised maximum phi* by Newton's method with step halving, and the evidence."""
    # The objective need not be concave: the first matrix of :func:`derivatives` is the fallback.
    columns, prior = x.columns, CoefficientPrior(x, scale)

    def step(state: _Ascent) -> _Ascent:
        precision, curvature = prior.curvature(state.phi)
        gradient, positive, rest = derivatives(likelihood, columns, state.theta, state.d)
        gradient -= precision * state.phi
        factor = _cholesky(positive - rest + curvature, positive + np.diag(precision))
        # The routine of scipy.linalg.cho_solve, whose checks take longer than the solution.
        move, _ = scipy.linalg.lapack.dpotrs(factor, gradient, lower=True)
        expected = float(gradient @ move)
        likelihood.steps += 1
        converged = expected < _CLOSE
        slack = 1e-9 * abs(state.value) * converged
        length = 1.0
        while length > 1e-9:
            phi = state.phi + length * move
            theta = x.theta(phi)
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
    theta = x.theta(phi)
    d, value = likelihood.value(theta)
    run = iterate(_Ascent(phi, theta, d, value + prior.value(phi)), step, stop, _STEPS)
    end = run.state
    assert end.factor is not None
    # The Gaussian integral over phi: (2 pi)^(P / 2) / sqrt(det H).
    log_root = float(np.log(np.diag(end.factor)).sum())
    evidence = end.value + end.phi.size / 2 * float(np.log(2 * np.pi)) - log_root
    return Model(order, scale, evidence, end.theta, end.phi, end.factor, x, end.converged)


def _cholesky(matrix: np.ndarray, fallback: np.ndarray) -> np.ndarray:
    """The lower factor of a matrix, else of the fallback with enough added against rounding."""
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


_RARE = 0.05  # of the numbers in a bin at a limit, those that are the limit itself
_BASIS = 40  # B-splines to begin with
_ORDERS = (1, 2, 3)
# Standard deviations of log theta around its polynomial, in steps of sqrt(10). With 0.1 the curve
# is a polynomial. 100 is that of a normal shape whose standard deviation is 2 % of the domain.
_SCALES = tuple(10.0 ** (k / 2) for k in range(-2, 5))
# The prior of a scale on the grid is s^_POWER. With 1 (flat in s) few reports gave rough estimates:
# the squared error of smooth shapes was up to twice that of smoothed EM. With 0 (flat in log s)
# peaks were flattened.
_POWER = 0.5
# Twice this is the finest basis: larger matrices cost more than they gain.
_FINEST = 160
# Share of coefficients that the reports must determine for a finer basis to be tried.
_DETERMINED = 1 / 3
_RISE = 1.0  # nats by which the evidence must rise for a finer basis
# The least number of cells for each spline, where shares are even within cells.
_CELLS_OF_SPLINE = 4
_BLOCK = 2**19  # numbers of draws that are formed at a time
_NEGLIGIBLE = 12.0  # nats below the best model at which an order's scales end


def fit_grid(
    likelihood: Likelihood,
    cells: Cells | None = None,
    nonresponse: bool = False,
    has_limits: bool = False,
) -> list[Model]:
    """Fit every order and scale, on the coarsest basis that a finer one does not improve."""
    size = likelihood.rows.shape[1] - nonresponse
    finest = size if cells is None else size // _CELLS_OF_SPLINE
    basis = min(_BASIS, size)
    while True:
        models = _grid(likelihood, basis, cells, nonresponse, has_limits)
        best = models[int(np.argmax(posterior_of_models(models)))]
        if basis == size or basis > _FINEST or best.determined() < _DETERMINED * best.phi.size:
            return models
        basis = min(2 * basis, size)
        if basis > finest:
            return models
        size_of = likelihood.size(cells)
        x = design(size_of, basis, best.order, cells, nonresponse, has_limits)
        finer = maximize_penalized(likelihood, x, best.order, best.scale)
        if finer.evidence <= best.evidence + _RISE:
            return models


def posterior_of_models(models: list[Model]) -> np.ndarray:
    """The posterior probabilities of the models: evidence times prior, divided by the sum.

    The density of s is proportional to s^(-1/2), and so its prior on a geometric grid to s^(1/2).
    """
    logs = np.array([model.evidence + _POWER * np.log(model.scale) for model in models])
    chances = np.exp(logs - logs.max())
    return np.asarray(chances / chances.sum())


def _grid(
    likelihood: Likelihood,
    basis: int,
    cells: Cells | None,
    nonresponse: bool,
    has_limits: bool = False,
) -> list[Model]:
    """The models of every order, its scales from small to large, each begun at the last maximum."""
    models: list[Model] = []
    best = -np.inf
    for order in _ORDERS[: basis - 1]:
        x = design(likelihood.size(cells), basis, order, cells, nonresponse, has_limits)
        phi, before = None, -np.inf
        for scale in _SCALES:
            model = maximize_penalized(likelihood, x, order, scale, phi)
            models.append(model)
            best = max(best, model.evidence + _POWER * np.log(scale))
            if (
                model.evidence < before
                and model.evidence + _POWER * np.log(_SCALES[-1]) < best - _NEGLIGIBLE
            ):
                break
            phi, before = model.phi, model.evidence
    return models


@dataclass(frozen=True, eq=False)
class Draws:
    """Draws from the mixture of the models' Laplace posteriors: (count, rng) to (count, K)."""

    # A draw is theta* f, f constant in each cell, so draws take little memory.

    models: list[Model]  # the models of the mixture
    chances: np.ndarray  # their probabilities
    # (K,) factors that move the centre of the draws to the estimate; None if it is the mixture's
    tilt: np.ndarray | None = None
    starts: np.ndarray | None = None  # where values have limits beside them: see with_limits

    def __call__(self, count: int, rng: np.random.Generator) -> np.ndarray:
        return np.stack(list(self.one_by_one(count, rng)))

    def one_by_one(self, count: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
        """The same draws, (K,) each."""
        of_models = self._of_models(count, rng)
        which = [(drawn, at) for drawn in of_models for at in range(drawn.factors.shape[1])]
        for number in rng.permutation(count):
            drawn, at = which[number]
            cells, factors = drawn.cells, drawn.factors[:, at]
            yield drawn.shares * (factors if cells is None else cells.spread(factors))

    def by_values(self, count: int, rng: np.random.Generator) -> Iterator[tuple[slice, np.ndarray]]:
        """The same draws of some values after the other: a slice of them, and (values, count)."""
        of_models = self._of_models(count, rng)
        ends = np.cumsum([drawn.factors.shape[1] for drawn in of_models])
        for some in in_blocks(of_models[0].shares.size, _BLOCK, count):
            out = np.empty((some.stop - some.start, count))
            for drawn, end in zip(of_models, ends, strict=True):
                rows: slice | np.ndarray = some
                if (cells := drawn.cells) is not None:
                    values = np.arange(some.start, some.stop)
                    rows = np.searchsorted(cells.index, values, side="right") - 1
                at = out[:, end - drawn.factors.shape[1] : end]
                np.multiply(drawn.shares[some, None], drawn.factors[rows], out=at)
            yield some, out

    def _of_models(self, count: int, rng: np.random.Generator) -> list[_DrawsOfModel]:
        """The draws of each model that has any."""
        of_models = []
        for model, some in zip(self.models, rng.multinomial(count, self.chances), strict=True):
            if some:
                normal = np.linalg.solve(
                    model.factor.T, rng.standard_normal((model.phi.size, some))
                )
                columns, cells = model.design.columns, model.design.cells
                u = (columns - model.theta @ columns) @ normal
                factors = u + np.sqrt(1 + u**2)
                shares = model.design.theta_of_values(model.phi) if cells else model.theta
                shares = shares if self.tilt is None else shares * self.tilt
                if self.starts is not None:
                    masses = np.add.reduceat(shares[:, None] * factors, self.starts)
                    masses /= masses.sum(axis=0)
                    of_models.append(_DrawsOfModel(np.ones(len(masses)), masses, None))
                    continue
                masses = np.add.reduceat(shares, cells.index) if cells else shares
                factors /= (masses[:, None] * factors).sum(axis=0)
                of_models.append(_DrawsOfModel(shares, factors, cells))
        return of_models


@dataclass(frozen=True, eq=False)
class _DrawsOfModel:
    """The draws of one model: shares times factors."""

    shares: np.ndarray  # (K,), those of the model
    factors: np.ndarray  # (C, draws), of cells of values
    cells: Cells | None  # the cells; None where each value is one


# The weight of smoothed EM where the reports say nothing. Wasserstein distance is convex, so the
# average is never farther from the truth than the weighted mean of the two distances.
_MOST = 0.7
# The standard error of the slope of log theta at which the weight has fallen to 0.
_PRECISE = 0.05
# Neighbouring values are told apart where J(v) is at least a quarter of J(z). In the pure family it
# is J(z), and a third of it where only reports near the ends were seen.
_LOCAL = 4.0
_LEAST = 5  # values; fewer have no neighbours to smooth over
# Smoothed EM smooths over neighbouring cells, so the number of cells decides how much. With 512
# cells its squared error of smooth shapes was several times that of the log-spline.
_CELLS = 128


def weight_of_smoothed_em(
    likelihood: Likelihood, cells: Cells | None = None, nonresponse: bool = False
) -> float:
    """How much of the estimate is smoothed EM's, falling with the information in the reports."""
    #     w = 0.7 max(0, 1 - 0.05 sqrt(J(z))) max(0, 1 - 4 J(v) / J(z))
    #     J(t) = n sum_y d_y (A (u t))_y^2 / d_y^2,   d = A u
    # u is uniform, z the value's number, v = (1, -1, 1, ...), both of mean 0 and mean square 1.
    # J(z) is the information about the slope of log theta. J(v) is small where reports blur
    # neighbours; where not, as in randomised response, w is 0: smoothed EM would spread single high
    # shares.
    rows = likelihood.rows
    size = likelihood.size(cells) - nonresponse
    if size < _LEAST:
        return 0.0
    z = np.linspace(-1, 1, size)
    z /= np.sqrt((z**2).mean())
    even = uniform(size)
    if cells is not None:
        z, even = cells.averages(z[:, None])[:, 0], cells.sizes / size
    v = np.where(np.arange(z.size) % 2, -1.0, 1.0)
    directions = even[:, None] * np.stack([z, v - even @ v], axis=1)
    if nonresponse:
        even = np.append(even, 1.0) / 2
        directions = np.append(directions / 2, np.zeros((1, 2)), axis=0)
    d = rows.matvec(even)
    expected = Likelihood(rows, d / d.sum(), likelihood.count)
    slope, fine = np.diag(expected.information(d, directions))
    if slope <= 0:
        return 0.0
    apart = max(0.0, 1 - _LOCAL * float(fine / slope))
    return _MOST * max(0.0, 1 - _PRECISE * float(np.sqrt(slope))) * apart


def averaged(data: LikelihoodData, theta: np.ndarray, weight: float) -> np.ndarray:
    """(1 - weight) theta + weight EMS, on 128 to 255 cells of consecutive values from 256 on."""
    from warner.domains import Optional
    from warner.estimators.literature import SmoothedEM

    nonresponse = data.domain.nonresponse is not None
    size = theta.size - nonresponse
    width = size // _CELLS
    if width <= 1:
        smooth = SmoothedEM().fit(data).shares
    else:
        starts = range(0, size, width)
        # Nonresponse is a cell of its own.
        cells = Cells(theta.size, (*starts, size) if nonresponse else tuple(starts))
        rows, weights = on_cells(data.channel, data.weights, cells.index)
        domain: Domain = Integers(0, len(starts) - 1)
        if nonresponse:
            domain = Optional(domain)
        of_cells = SmoothedEM().fit(LikelihoodData(rows, weights, data.n, domain)).shares
        smooth = cells.spread(np.asarray(of_cells / cells.sizes))
    mixed = (1 - weight) * theta + weight * smooth
    return np.asarray(mixed / mixed.sum())


_TINY = 1e-12  # probabilities of models below this do not count
_EXPANSIONS, _SETTLED = 5, 0.01  # the most expansions, and the change in l1 that ends them


@dataclass(frozen=True)
class LogSpline(Estimator):
    """A smooth distribution over ordered values: log theta is a penalised cubic spline.

        theta = softmax(X phi),   phi* = argmax  n l(softmax(X phi)) + log prior(phi)
        X phi = polynomial of degree < p  +  spline with white p-th differences  +  an atom per end
        log Z = n l + log prior - 1/2 log det(H / 2 pi)

    X (K, P) are the columns of the model, phi (P,) their coefficients, and l the log-likelihood in
    nats per report. H is the Hessian of -(n l + log prior) at phi*. Differences of order p = 3
    leave normal shapes, whose logarithm is quadratic, unpenalised. p = 2 leaves exponential shapes
    unpenalised, and p = 1 the uniform shape. Small p suits jumps and spikes, large p smooth shapes.
    Every (p, s) is a model with a proper prior. The spline's coefficients are normal; s is their
    standard deviation over the domain, in units of log theta. The polynomial and each atom have
    Cauchy(0, 1) priors. The atoms are the excess of the first and of the last value, where clipping
    puts mass. Of numbers in bins there are atoms at the two limits themselves too, which count for
    the first and the last bin.

    The estimate averages the models' theta at phi*, weighted by their Laplace evidence Z. A priori
    p is uniform on {1, 2, 3}, and s has a density proportional to s^(-1/2). The number of splines
    is doubled while that raises the evidence. Values are taken as equally spaced, in their order.

    With few reports smoothed EM is averaged in, with the weight 0.7 max(0, 1 - 0.05 / sigma). sigma
    is the standard error of the slope of log theta over the values, which are scaled to mean square
    1. From 256 values smoothed EM has 128 to 255 cells. The draws are multiplied by the same
    factors as the estimate.

    Above 512 values very many whole reports of bits count by their sums. Above 2048 values the
    likelihood is computed with shares that are even within about 2000 cells. Prior, spline and
    estimate are on all values.

    Where nonresponse is a value of its own, log theta of nonresponse is a coefficient with a
    Cauchy(0, 1) prior, and the spline is over the other values. Both together are at most 2048.

    The fit's ``posterior`` draws (count, K) distributions from the Laplace posterior. Quantiles
    over the draws give intervals for smooth functionals (mean, quantile, mass of a range). A draw
    chooses a model by its weight, and then a normal u = X (phi - phi*) with covariance X H^-1 X'.
    theta is proportional to theta* (u + sqrt(1 + u^2)). This is theta* exp(u) to second order, and
    it stays small where theta* is almost 0. Intervals from draws are valid if log theta is smooth.
    At jumps, near a border that has much of the mass, and for single shares, they do not include
    the error of smoothing. So means, variances, quantiles and ranges have other intervals by
    default (:mod:`warner.results.linear_limits`).

    Raises:
        ArgumentError: the domain's values have no order, or are not on one line.
        ImpossibleReportError: a report was seen that has probability 0 under every value.

    Source: METHODS 5, 7; Eilers and Marx (1996) for the penalty, Gelman (2006) for the prior of s.

    >>> LogSpline()
    LogSpline()
    """

    references = ("eilers1996", "gelman2006")

    summary: ClassVar[str] = (
        "the shares are smoothed along the values, as much as the reports suggest. If you expect "
        "jumps, for example at ages that end in 0 or 5, use MaximumLikelihood() instead"
    )

    def _fit(self, data: LikelihoodData) -> Fit:
        require_order(data.domain.answered, "LogSpline")
        nonresponse = data.domain.nonresponse is not None
        if nonresponse and data.domain.size > MOST_CELLS:
            rule = (
                f'must have at most {MOST_CELLS} values for LogSpline if "no answer" is one of the '
                "values"
            )
            remedy = "Use EmpiricalBayes()"
            raise ArgumentError("domain", rule, str(data.domain.size), remedy)
        counted, starts = data.by_sums(), None
        if (limited := with_limits(counted)) is not None:
            counted, starts = limited
        cells = None if nonresponse else cells_for(counted.channel)
        if cells is None:
            rows, weights = counted.channel.restrict_to_observed(counted.weights)
        else:
            rows, weights = on_cells(counted.channel, counted.weights, cells.index)
        require_possible(rows, weights)
        theta, steps = uniform(rows.shape[1]), 0
        for _ in range(_EXPANSIONS):
            likelihood = likelihood_of(rows, weights, data.n, theta)
            models = fit_grid(likelihood, cells, nonresponse, starts is not None)
            steps += likelihood.steps
            # A model whose maximum was not found is left out, unless there is no other.
            models = [model for model in models if model.converged] or models
            chances = posterior_of_models(models)
            before, theta = theta, chances @ np.stack([model.theta for model in models])
            steady = np.abs(theta - before).sum() < _SETTLED
            if steady or not isinstance(likelihood, Expansion):
                break
        if cells is not None:
            theta = np.zeros(cells.size)
            for model, chance in zip(models, chances, strict=True):
                if chance > _TINY:
                    theta += chance * model.design.theta_of_values(model.phi)
        theta, tilt = theta / theta.sum(), None
        of_values = theta
        if starts is not None:
            of_values = np.add.reduceat(theta, starts)
        if (weight := weight_of_smoothed_em(likelihood, cells, nonresponse)) > 0:
            mixed = averaged(data, of_values, weight)
            tilt = mixed / np.maximum(of_values, np.finfo(float).tiny)
            if starts is not None:
                tilt = np.repeat(tilt, np.diff(starts, append=theta.size))
            theta, of_values = theta * tilt, mixed
        status = Status.COMPLETED if models[0].converged else Status.STEP_LIMIT
        fit = certify(data, of_values, status, steps)
        # With fewer different reports than values, what they leave open is the prior's word alone.
        few = data.channel.shape[0] < data.channel.shape[1]
        unique = Uniqueness.NOT_UNIQUE.value if few else None
        draws = Draws(models, chances, tilt, starts)
        gain = 0.0
        if starts is not None:
            of_bins = np.insert(of_values, [0, data.domain.answered.size], 0.0)
            logs = [
                score_and_log_likelihood(counted.channel, counted.weights, each)[1]
                for each in (theta, of_bins)
            ]
            gain = data.n * (logs[0] - logs[1])
        posterior = PosteriorFit(draws, True, draws.one_by_one, draws.by_values, gain)
        return replace(fit, unique=unique, posterior=posterior)
