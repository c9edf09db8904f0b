"""The columns X of log theta = X phi: polynomials, splines and atoms at the ends."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np


@dataclass(frozen=True, eq=False)
class Design:
    """The columns of X (K, P), each with sum 0, and the prior of each.

    Attributes:
        columns: X (K, P).
        spline: (P,) bool, the columns whose coefficients have standard deviation s.
        groups: the indices of the other columns, in groups; each group has one Cauchy prior.
    """

    columns: np.ndarray
    spline: np.ndarray
    groups: tuple[np.ndarray, ...]


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
