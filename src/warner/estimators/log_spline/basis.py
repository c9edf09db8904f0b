"""The columns X of log theta = X phi: polynomials, splines and atoms at the ends."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from warner.estimators.log_spline.cells import Cells


@dataclass(frozen=True, eq=False)
class Design:
    """The columns of X (K, P), each with sum 0, and the prior of each.

    Attributes:
        columns: X (K, P).
        spline: (P,) bool, the columns whose coefficients have standard deviation s.
        groups: the indices of the other columns, in groups; each group has one Cauchy prior.
        base: log theta where phi is 0, up to a constant: (K,) or one number.
        cells: the cells of values whose means the rows of X are; None where each value has a row.
        fine: X on all values, where the rows are means.
    """

    columns: np.ndarray
    spline: np.ndarray
    groups: tuple[np.ndarray, ...]
    cells: Cells | None = None
    fine: FineColumns | None = None
    base: np.ndarray | float = 0.0

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

    Attributes:
        powers: P (K, p), orthonormal polynomials.
        splines: B, sparse (K, S), cubic B-splines.
        weights: C (S, S - p).
        shifts: M (p, S - p).
    """

    powers: np.ndarray
    splines: Any
    weights: np.ndarray
    shifts: np.ndarray

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
    """The distribution theta (K,) with log theta = base + X phi + a constant.

    Args:
        columns: X (K, P).
        phi: (P,) coefficients.
        base: (K,) or one number.
    """
    heights = columns @ phi + base
    theta = np.exp(heights - heights.max())
    out: np.ndarray = theta / theta.sum()
    return out


@lru_cache(maxsize=16)
def design(size: int, basis: int, order: int) -> Design:
    """X for ``basis`` cubic B-splines over ``size`` values.

    With as many splines as values there is one coefficient per value. Let p be the order and D+ the
    pseudo-inverse of p-th differences. Coefficients whose p-th differences u are white noise are
    D+ u plus a polynomial of degree < p. The polynomials are orthogonal columns of mean square 1.
    Let B be the matrix of splines. The columns B D+ are made orthogonal to the polynomials, and
    scaled to mean variance 1. So the coefficients and s are in units of log theta for every basis.
    The constant does not change theta and is left out.

    Args:
        size: K, the number of values.
        basis: the number of splines.
        order: p, the order of the differences.

    Returns:
        The columns X and their kinds.
    """
    powers = _powers(size, order)
    rough = _splines(size, basis) @ np.linalg.pinv(np.diff(np.eye(basis), order, axis=0))
    rough -= powers @ (powers.T @ rough)
    rough /= np.sqrt((rough**2).sum(axis=1).mean())
    smooth = powers[:, 1:] * np.sqrt(size)
    ends = np.zeros((size, 2 if size > 4 else 0))  # a handful of values has a coefficient each
    if ends.size:
        ends[[0, -1], [0, 1]] = 1
        ends -= ends.mean(axis=0)
    return _labelled(np.concatenate([smooth, rough, ends], axis=1), order, rough.shape[1])


@lru_cache(maxsize=8)
def design_of_cells(cells: Cells, basis: int, order: int) -> Design:
    """The means over cells of :func:`design` on all values, in O(K).

    The columns are orthogonal, and scaled, over the values. So phi and s mean the same.

    Args:
        cells: the cells; the first and the last value are cells of their own.
        basis: the number of splines, below the number of cells.
        order: p, the order of the differences.
    """
    size, count = cells.size, len(cells.starts)
    powers, splines = _powers(size, order), _sparse_splines(size, basis)
    weights = np.linalg.pinv(np.diff(np.eye(basis), order, axis=0))
    shifts = np.asarray(splines.T @ powers).T @ weights
    squares = float(((splines.T @ splines) @ weights * weights).sum() - (shifts**2).sum())
    scale = np.sqrt(squares / size)
    weights, shifts = weights / scale, shifts / scale
    means = cells.averages(powers)
    rough = np.asarray(cells.averages(splines) @ weights) - means @ shifts
    ends = np.full((count, 2), -1 / size)
    ends[[0, -1], [0, 1]] += 1
    columns = np.concatenate([means[:, 1:] * np.sqrt(size), rough, ends], axis=1)
    fine = FineColumns(powers, splines, weights, shifts)
    return _labelled(columns, order, rough.shape[1], cells, fine)


def _labelled(
    columns: np.ndarray,
    order: int,
    splines: int,
    cells: Cells | None = None,
    fine: FineColumns | None = None,
) -> Design:
    """The columns with their kinds: order - 1 polynomials, the splines, and the ends."""
    index = np.arange(columns.shape[1])
    first, last = order - 1, order - 1 + splines
    groups = ([index[:first]] if first else []) + [index[[i]] for i in range(last, index.size)]
    columns.setflags(write=False)
    base = 0.0 if cells is None else cells.log_sizes
    return Design(columns, (index >= first) & (index < last), tuple(groups), cells, fine, base)


@lru_cache(maxsize=16)
def design_with_silence(size: int, basis: int, order: int) -> Design:
    """X for ``size`` - 1 ordered values and silence, which is last and has a column of its own.

        theta_x = exp(X_x phi) / Z,   theta_silence = (size - 1) exp(gamma) / Z

    The coefficient gamma has a Cauchy(0, 1) prior, like the atoms. At 0 everybody answers as often
    as not.

    Args:
        size: K + 1, the number of values and silence.
        basis: the number of splines.
        order: p, the order of the differences.
    """
    of_values = design(size - 1, basis, order)
    columns = np.zeros((size, of_values.columns.shape[1] + 1))
    columns[:-1, :-1] = of_values.columns
    columns[-1, -1] = 1.0
    columns.setflags(write=False)
    base = np.zeros(size)
    base[-1] = np.log(size - 1)
    groups = (*of_values.groups, np.array([columns.shape[1] - 1]))
    return Design(columns, np.append(of_values.spline, False), groups, base=base)


@lru_cache(maxsize=4)
def _powers(size: int, order: int) -> np.ndarray:
    """Orthonormal polynomials of degree < p over K values, (K, p)."""
    out: np.ndarray = np.linalg.qr(np.vander(np.linspace(-1, 1, size), order, increasing=True))[0]
    return out


@lru_cache(maxsize=4)
def _sparse_splines(size: int, basis: int) -> Any:
    """Cubic B-splines on equal knots at the K bins' centres, sparse (K, basis)."""
    from scipy.interpolate import BSpline

    knots = (np.arange(basis + 4) - 3) / (basis - 3)
    return BSpline.design_matrix((np.arange(size) + 0.5) / size, knots, 3)


def _splines(size: int, basis: int) -> np.ndarray:
    """The B-splines as an array; each value has its own where there are as many."""
    if basis == size:
        return np.eye(size)
    out: np.ndarray = _sparse_splines(size, basis).toarray()
    return out
