"""Whether the likelihood has only one maximum (METHODS 4.5, [P4 sec VIII]).

At a maximiser theta (K,) let E be the values with score 1. The maximisers are theta + d, where d is
supported on E, A d = 0 over the observed rows of the channel A, 1'd = 0, and d_x >= 0 where
theta_x = 0. theta is the only maximiser if and only if d = 0 is the only such direction.
"""

from __future__ import annotations

from enum import Enum

import numpy as np

from warner.channels import LikelihoodOperator

_NEAR = 1e-4  # a score this close to 1 may be 1 at the maximiser itself
_EXACT = 1e-7  # a score this close is taken to be 1
_CLEAR = 1e-10  # smallest eigenvalue of unit columns' products above which they are independent
_ROUNDING = 1e-14  # and below which, times their number, they are dependent
_LARGEST = 2000  # values; the check factorises a matrix of their products
_ENTRIES = 2**21  # of the columns that are formed for it; beyond, a Gram product in blocks


class Uniqueness(Enum):
    """Whether another distribution has the same, largest likelihood."""

    UNIQUE = "unique: no other distribution is as likely"
    NOT_UNIQUE = (
        "not unique: other distributions are as likely, so do not read single shares; collect "
        "other reports or a coarser domain"
    )
    NOT_CERTIFIED = (
        "not certified: too close to call at this gap, or too many values to check; ask for a "
        "smaller gap"
    )


def uniqueness(
    channel: LikelihoodOperator, w: np.ndarray, theta: np.ndarray, score: np.ndarray
) -> Uniqueness:
    """Whether ``theta``, a maximiser up to rounding errors, is the only one.

    The first test is cheap and sufficient: full column rank of the observed rows on every value
    that could have score 1. The second test is a linear programme on the values whose score is 1 up
    to rounding errors. The answer is NOT_CERTIFIED if it may depend on the difference of these two
    sets of values, or on rounding errors.

    Args:
        channel: A (m, K).
        w: frequencies (m,) of the rows.
        theta: (K,), the maximiser.
        score: (K,), its score.
    """
    if channel.shape[1] > _LARGEST or score.max() > 1 + _EXACT:
        return Uniqueness.NOT_CERTIFIED
    near = np.flatnonzero(score >= 1 - _NEAR)
    seen = np.flatnonzero(w > 0)
    if seen.size * near.size > _ENTRIES and channel.shape[0] * channel.shape[1] > _ENTRIES:
        # Columns that are independent on some of the rows are independent. The reverse need not
        # hold.
        if not channel.has_row_blocks:
            return Uniqueness.NOT_CERTIFIED
        rows, block = next(channel.blocks())
        some = block[:, near][w[rows] > 0]
        return Uniqueness.UNIQUE if _lowest(_scaled(some)[0]) > _CLEAR else Uniqueness.NOT_CERTIFIED
    products, norms = _scaled(channel.columns(near)[seen])
    if _lowest(products) > _CLEAR:
        return Uniqueness.UNIQUE
    among = np.flatnonzero(score[near] >= 1 - _EXACT)
    moves = _moves(products[np.ix_(among, among)], 1 / norms[among], theta[near[among]] > 0)
    if moves:
        return Uniqueness.NOT_UNIQUE
    return (
        Uniqueness.UNIQUE
        if moves is False and among.size == near.size
        else Uniqueness.NOT_CERTIFIED
    )


def _scaled(columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """C'C of scaled columns, and the scales of the columns.

    Each row is divided by its largest entry, then each column by its length. That changes no rank,
    and a row counts however rare it is, a column however weak.
    """
    high = columns.max(axis=1, keepdims=True)
    rows = columns / np.where(high > 0, high, 1.0)
    norms = np.sqrt((rows**2).sum(axis=0))
    norms[norms == 0] = 1.0
    rows = rows / norms
    return rows.T @ rows, norms


def _lowest(products: np.ndarray) -> float:
    return float(np.linalg.eigvalsh(products)[0]) if len(products) else np.inf


def _moves(products: np.ndarray, ones: np.ndarray, positive: np.ndarray) -> bool | None:
    """Whether there is d != 0 with A d = 0, 1'd = 0 and d >= 0 off ``positive``.

    ``products`` is C'C with C = A / lengths, column by column. So d = d' / lengths with C d' = 0
    and ones'd' = 0, ``ones`` = 1 / lengths; signs are the same. With N a basis of the kernel,
    d' = N a. If d' can be positive somewhere off ``positive``, the linear programme that maximises
    the sum of those entries, each at most 1, finds it. If not, d' must vanish there and lie in the
    kernel of the other columns.

    Returns:
        The answer, or None where rounding could decide.
    """
    from scipy.optimize import linprog

    ones = ones / np.linalg.norm(ones) if len(ones) else ones
    values, vectors = np.linalg.eigh(products + np.outer(ones, ones))
    if ((values > _ROUNDING * len(ones)) & (values <= _CLEAR)).any():
        return None
    kernel = vectors[:, values <= _ROUNDING * len(ones)]
    if not kernel.shape[1]:
        return False
    border = kernel[~positive]
    if not len(border):
        return True
    limits = np.concatenate([-border, border])
    bound = np.concatenate([np.zeros(len(border)), np.ones(len(border))])
    found = linprog(
        -border.sum(axis=0), A_ub=limits, b_ub=bound, bounds=(None, None), method="highs"
    )
    if found.status == 0 and -found.fun > 1e-6:
        return True
    # Directions that leave the border alone.
    return bool(np.linalg.matrix_rank(border, tol=1e-7) < kernel.shape[1])
