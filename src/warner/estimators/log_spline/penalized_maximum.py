"""One order and scale: the penalised maximum by Newton's method, and its evidence."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace

import numpy as np

from warner.estimators.fit import Status
from warner.estimators.iteration import iterate
from warner.estimators.log_spline.basis import Design
from warner.estimators.log_spline.coefficient_prior import CoefficientPrior
from warner.estimators.log_spline.likelihood import Likelihood

_STEPS = 60
# Tenfold shares of the diagonal that are tried where rounding made a matrix indefinite.
_JITTERS = 10
# Nats that Newton's method expects to gain in its last step; the error left is about its square.
_CLOSE = 1e-2


@dataclass(frozen=True, eq=False)
class Model:
    """One order and scale at its penalised maximum.

    Attributes:
        order, scale: the order p of differences and the standard deviation s.
        evidence: log Z, in nats.
        theta, phi: the shares (C,) of values or cells, and the coefficients (P,), at the maximum.
        factor: (P, P) lower triangular, with H = factor factor'.
        design: the columns X and their kinds.
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


def derivatives(
    likelihood: Likelihood, columns: np.ndarray, theta: np.ndarray, d: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The gradient (P,) of n l in phi, and two matrices (P, P).

    The first matrix minus the second is minus the Hessian of n l.
    x_c = X - theta' X is the derivative of log theta in phi, so theta has the derivative theta x_c.
    With the score s, the log-likelihood per report has
    -l'' = sum_y w_y (A theta x_c)_y (A theta x_c)_y' / d_y^2 - sum_x theta_x (s_x - 1) x_c x_c'.
    The first matrix is never negative. The second matrix is 0 at an unpenalised maximum inside the
    simplex. At the true theta it has mean 0.

    Args:
        likelihood: the likelihood of the reports.
        columns: X (K, P).
        theta: (K,) shares.
        d: (m,), A theta.
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
    """Find the penalised maximum phi* by Newton's method with step halving, and the evidence.

    The objective need not be concave, because softmax is not. If minus its Hessian is not positive,
    the first matrix of :func:`derivatives`, which is always positive, is used instead.

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
