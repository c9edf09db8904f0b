"""Is the maximum of the likelihood taken at one distribution only? (METHODS 4.5, [P4 sec VIII])

At a maximiser theta let E be the values with score 1. The maximisers are theta + d with d supported on E, A d = 0 over
the rows seen, 1'd = 0 and d_x >= 0 where theta_x = 0; theta is alone iff d = 0 is the only such direction.
"""

from __future__ import annotations

from enum import Enum

import numpy as np

from warner.channel import Channel

_NEAR = 1e-4  # a score this close to 1 may be 1 at the maximiser itself
_EXACT = 1e-7  # a score this close is taken to be 1
_RANK = 1e-9  # relative eigenvalue of A_E' A_E below which columns count as dependent
_LARGEST = 2000  # values; the check factorises a matrix of their products
_ENTRIES = 2**21  # of the columns that are formed for it; beyond, a Gram product in blocks


class Uniqueness(Enum):
    """Whether another distribution has the same, largest likelihood."""

    UNIQUE = "unique: no other distribution is as likely"
    NOT_UNIQUE = "not unique: other distributions are as likely, so do not read single shares; collect other reports or a coarser domain"
    NOT_CERTIFIED = "not certified: too close to call at this gap, or too many values to check; ask for a smaller gap"


def uniqueness(channel: Channel, w: np.ndarray, theta: np.ndarray, score: np.ndarray) -> Uniqueness:
    """Whether ``theta``, a maximiser up to rounding, is the only one.

    First the cheap sufficient test, full column rank of the rows seen on every value that could have score 1; then the linear
    programme on those that have it. Where the two sets matter and differ, nothing is certified.

    Args:
        channel, w: rows and weights (m,).
        theta: (K,), the maximiser found.
        score: its score (K,).
    """
    if channel.shape[1] > _LARGEST or score.max() > 1 + _EXACT:
        return Uniqueness.NOT_CERTIFIED
    near = np.flatnonzero(score >= 1 - _NEAR)
    d = channel.matvec(theta)
    seen = np.flatnonzero(w > 0)
    if seen.size * near.size > _ENTRIES:
        # Columns that are independent on some of the rows are independent.
        rows, block = next(channel.blocks())
        some = block[:, near][w[rows] > 0] / d[rows][w[rows] > 0, None]
        if _independent(some.T @ some):
            return Uniqueness.UNIQUE
    products = _products(channel, seen, d, near)
    if _independent(products):
        return Uniqueness.UNIQUE
    among = np.flatnonzero(score[near] >= 1 - _EXACT)
    sharp = near[among]
    if _moves(products[np.ix_(among, among)], theta[sharp] > 0):
        return Uniqueness.NOT_UNIQUE
    return Uniqueness.UNIQUE if sharp.size == near.size else Uniqueness.NOT_CERTIFIED


def _products(channel: Channel, seen: np.ndarray, d: np.ndarray, near: np.ndarray) -> np.ndarray:
    """A' A for the rows seen and the columns ``near``.

    Rows are divided by what theta expects of them, d: a row that is seen counts however small its probability is.
    """
    if seen.size * near.size <= _ENTRIES:
        scaled = channel.columns(near)[seen] / d[seen, None]
        return scaled.T @ scaled / seen.size
    weights = np.zeros_like(d)
    weights[seen] = 1 / (d[seen] ** 2 * seen.size)
    return channel.gram(weights)[np.ix_(near, near)]


def _independent(products: np.ndarray) -> bool:
    """Full column rank from the matrix of the columns' products."""
    return bool(np.linalg.eigvalsh(products)[0] > _RANK * np.trace(products) / len(products)) if len(products) else True


def _moves(products: np.ndarray, positive: np.ndarray) -> bool:
    """Is there d != 0 with A d = 0, 1'd = 0 and d >= 0 off ``positive``? ``products`` is A' A, which has the kernel of A.

    With N a basis of the kernel of [A; 1'], d = N a. If d can be positive somewhere off ``positive``, the linear programme
    max sum of those d_x, each at most 1, finds it; if not, d must vanish there and lie in the kernel of the other columns.
    """
    from scipy.optimize import linprog

    size = len(products)
    values, vectors = np.linalg.eigh(products + np.ones((size, size)) * np.trace(products) / size)
    kernel = vectors[:, values <= _RANK * values[-1]]
    if not kernel.shape[1]:
        return False
    border = kernel[~positive]
    if not len(border):
        return True
    limits = np.concatenate([-border, border])
    bound = np.concatenate([np.zeros(len(border)), np.ones(len(border))])
    found = linprog(-border.sum(axis=0), A_ub=limits, b_ub=bound, bounds=(None, None), method="highs")
    if found.status == 0 and -found.fun > 1e-6:
        return True
    # Directions that leave the border alone.
    return np.linalg.matrix_rank(border, tol=1e-7) < kernel.shape[1]
