"""A smooth distribution over the cells of a grid: what ``places`` compares with the default.

    theta ~ exp(g(V phi + Z a)),   phi_k ~ N(0, s^2 t_k),   t_k = l_k^-p / sum l^-p
    g(f) = f, or g(f) = arsinh(f) without Z

V (K, K - 1) are the eigenvectors of the graph Laplacian of the grid, with mean square 1, and l_k > 0
its eigenvalues. So p = 1 penalises the differences of neighbours, p = 2 and 3 those of higher order.
Z are the polynomials of degree < p in the row and the column, and a has a Cauchy prior. The
logarithm suits densities that fall to almost 0. With arsinh the density is linear in what is above
the mean, which suits jumps.

Every (g, p, s) is one model, at its penalised maximum phi*. Its score is the mean of two numbers:

    log Z + 1/2 log s     the Laplace evidence, with the prior of s that ``LogSpline`` has
    n l - tr(H^-1 G)      what held-out reports are expected to have, G the information

The evidence alone prefers spiky maxima where noise blurs the cells. The estimate is the average of
all models and of the uniform distribution, with weights exp(score). Order 1 has 1 nat less, and the
uniform distribution 3 nats more. These numbers were chosen on made-up places.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import lgamma, log, pi

import numpy as np
from scipy.linalg import cho_solve, solve_triangular

SCALES = tuple(10.0 ** (k / 2) for k in range(-1, 5))
MODELS = (("log", 1), ("log", 2), ("log", 3), ("arsinh", 1), ("arsinh", 2))
_POLYNOMIALS = {1: 0, 2: 2, 3: 5}  # columns of degree 1 to p - 1
_ROUGH, _UNIFORM = 1.0, 3.0  # nats
_LOST = 3.0  # nats below the best scale at which larger scales are not tried
# Columns about which the reports say less than this part of the prior are left out. Information is
# that at the uniform distribution, times 30 for places with more people.
_LEAST, _MORE = 0.01, 30.0
_STEPS, _CLOSE = 40, 0.01


@lru_cache(maxsize=4)
def _columns(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The eigenvalues l (K - 1,), V (K, K - 1) and Z (K, 5)."""
    size = rows * columns
    number = np.arange(size).reshape(rows, columns)
    laplacian = np.zeros((size, size))
    for one, other in ((number[:-1], number[1:]), (number[:, :-1], number[:, 1:])):
        i, j = one.ravel(), other.ravel()
        laplacian[i, j] = laplacian[j, i] = -1
    np.fill_diagonal(laplacian, -laplacian.sum(axis=1))
    values, vectors = np.linalg.eigh(laplacian)
    y, x = (v.ravel() for v in np.mgrid[:rows, :columns])
    y, x = y / rows - 0.5, x / columns - 0.5
    powers = np.linalg.qr(np.stack([np.ones(size), y, x, y * y, x * x, x * y], axis=1))[0]
    scale = np.sqrt(size)
    return values[1:], vectors[:, 1:] * scale, powers[:, 1:] * scale


def _link(name: str, f: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """g(f) and its first two derivatives."""
    if name == "log":
        return f, np.ones_like(f), np.zeros_like(f)
    root = np.sqrt(1 + f * f)
    return np.arcsinh(f), 1 / root, -f / root**3


def _softmax(heights: np.ndarray) -> np.ndarray:
    theta = np.exp(np.maximum(heights - heights.max(), -60))  # smaller numbers are slow
    return np.asarray(theta / theta.sum())


@dataclass(eq=False)
class _Reports:
    """The likelihood n l of the rows A (m, K) that were seen, with frequencies w."""

    rows: np.ndarray
    weights: np.ndarray
    n: int

    def value(self, theta: np.ndarray) -> tuple[np.ndarray, float]:
        d = self.rows @ theta
        return d, self.n * float(self.weights @ np.log(np.maximum(d, 1e-300)))


def _log_prior(phi: np.ndarray, variances: np.ndarray) -> float:
    """log prior plus (P / 2) log 2 pi + 1/2 log det of the variances, which the evidence needs."""
    q = phi.size - variances.size
    value = -float((phi[q:] ** 2 / variances).sum()) / 2
    if q:
        half = (1 + q) / 2
        value += lgamma(half) - half * log(pi) + q / 2 * log(2 * pi)
        value -= half * float(np.log1p(phi[:q] @ phi[:q]))
    return value


def _precision(phi: np.ndarray, variances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The precisions (P,), and the Hessian (P, P) of -log prior."""
    q = phi.size - variances.size
    part = (1 + q) / (1 + phi[:q] @ phi[:q])
    precision = np.concatenate([np.full(q, part), 1 / variances])
    hessian = np.diag(precision)
    hessian[:q, :q] -= 2 * part / (1 + phi[:q] @ phi[:q]) * np.outer(phi[:q], phi[:q])
    return precision, hessian


def _maximum(
    reports: _Reports, x: np.ndarray, variances: np.ndarray, name: str, phi: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float, float]:
    """theta* (K,), phi* (P,), log Z and n l - tr(H^-1 G), by Newton's method with step halving."""
    q = x.shape[1] - variances.size
    units = np.concatenate([np.ones(q), np.sqrt(variances)])
    f = x @ phi
    theta = _softmax(_link(name, f)[0])
    d, fitted = reports.value(theta)
    value = fitted + _log_prior(phi, variances)
    for _ in range(_STEPS):
        excess = reports.n * theta * (reports.rows.T @ (reports.weights / d) - 1)
        _, slope, bend = _link(name, f)
        moves = slope[:, None] * x
        centred = moves - theta @ moves
        seen = reports.rows @ (theta[:, None] * centred)
        seen *= (np.sqrt(reports.weights * reports.n) / d)[:, None]
        information, (precision, curvature) = seen.T @ seen, _precision(phi, variances)
        rest = (centred.T * excess) @ centred + (x.T * (excess * bend)) @ x
        gradient = moves.T @ excess - precision * phi
        square = units[:, None] * units
        try:
            factor = np.linalg.cholesky((information - rest + curvature) * square)
        except np.linalg.LinAlgError:
            factor = np.linalg.cholesky((information + np.diag(precision)) * square)
        move = units * cho_solve((factor, True), gradient * units)
        expected, length = float(gradient @ move), 1.0
        slack = 1e-9 * abs(value) * (expected < _CLOSE)
        while length > 1e-8:
            f_next = x @ (phi + length * move)
            theta_next = _softmax(_link(name, f_next)[0])
            d_next, fitted_next = reports.value(theta_next)
            raised = fitted_next + _log_prior(phi + length * move, variances)
            if raised >= value + 1e-4 * length * expected - slack:
                break
            length /= 2
        else:
            break
        phi, f, theta = phi + length * move, f_next, theta_next
        d, fitted, value = d_next, fitted_next, raised
        if expected < _CLOSE:
            break
    evidence = value - float(np.log(np.diag(factor)).sum())
    half = solve_triangular(factor, information * square, lower=True)
    free = float(np.trace(solve_triangular(factor, half.T, lower=True)))
    return theta, phi, evidence, fitted - free


def log_density(
    matrix: np.ndarray, weights: np.ndarray, n: int, shape: tuple[int, int]
) -> np.ndarray:
    """The average of all models.

    Args:
        matrix: A (m, K), the channel.
        weights: w (m,), the frequencies of the reports.
        n: the number of reports.
        shape: rows and columns of the grid.

    Returns:
        theta (K,).
    """
    values, smooth, powers = _columns(*shape)
    size = matrix.shape[1]
    even = np.full(size, 1 / size)
    expected = matrix @ even
    about = (matrix @ smooth / size) ** 2 / np.maximum(expected, 1e-300)[:, None]
    informed = _MORE * n * about.sum(axis=0)
    seen = weights > 0
    reports = _Reports(matrix[seen], weights[seen], n)
    thetas, scores = [even], [reports.value(even)[1] + _UNIFORM]
    for name, order in MODELS:
        spectrum = values ** -float(order)
        spectrum /= spectrum.sum()
        ends = powers[:, : _POLYNOMIALS[order]] if name == "log" else powers[:, :0]
        start, best = np.zeros(ends.shape[1] + values.size), -np.inf
        for number, scale in enumerate(SCALES):
            variances = spectrum * scale**2
            index = np.flatnonzero(variances * informed > _LEAST)
            used = np.concatenate([np.arange(ends.shape[1]), ends.shape[1] + index])
            x = np.concatenate([ends, smooth[:, index]], axis=1)
            theta, phi, evidence, held_out = _maximum(
                reports, x, variances[index], name, start[used]
            )
            thetas.append(theta)
            scores.append((evidence + log(scale) / 2 + held_out) / 2 - _ROUGH * (order == 1))
            start = np.zeros_like(start)
            start[used] = phi
            if number > 1 and (evidence + held_out) / 2 < best - _LOST:
                break
            best = max(best, (evidence + held_out) / 2)
    chances = np.exp(np.array(scores) - max(scores))
    return np.asarray(chances / chances.sum() @ np.stack(thetas))
