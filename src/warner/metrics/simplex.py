"""Post-processing that turns unbiased estimates (K,) into shares (METHODS 5)."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np


def project(v: np.ndarray) -> np.ndarray:
    """Return the projection on the simplex (Norm-Sub, INV-P).

        p = argmin |p - v|^2 over p >= 0, sum p = 1
        p_x = max(v_x - s, 0)

    If the k largest entries stay positive, s = (their sum - 1) / k. Sorting gives the largest such
    k. Entries are taken relative to the largest and the result is divided by its sum, so that
    shares of very large entries sum to 1 too.

    Args:
        v: (K,), or (K, B) for the projection of every column.

    >>> project(np.array([0.9, 0.4, -0.3])).tolist()
    [0.75, 0.25, 0.0]
    """
    below = v - v.max(axis=0)
    ordered = np.sort(below, axis=0)[::-1]
    shift = ((np.cumsum(ordered, axis=0) - 1).T / np.arange(1, len(v) + 1)).T
    # The last row of each column in which the entry exceeds its shift.
    kept = len(v) - 1 - np.argmax((ordered > shift)[::-1], axis=0)
    chosen = np.take_along_axis(shift, kept[None], axis=0)[0]
    found = np.maximum(below - chosen, 0.0)
    return np.asarray(found / found.sum(axis=0))


def normalize(v: np.ndarray) -> np.ndarray:
    """Return max(v, 0) divided by its sum (INV-N); uniform where no entry is positive.

    Args:
        v: (K,).

    >>> normalize(np.array([0.75, 0.75, -0.5])).tolist()
    [0.5, 0.5, 0.0]
    """
    clipped = np.maximum(v, 0.0)
    total = clipped.sum()
    return clipped / total if total > 0 else np.full(v.size, 1 / v.size)


def base_cut(v: np.ndarray) -> np.ndarray:
    """Return the largest estimates whose sum is at most 1, and 0 for the others (Base-Cut).

    Estimates are not rescaled, so the result may sum to less than 1. If the largest estimate
    exceeds 1, the result is 1 for its value and 0 for the others.

    Args:
        v: (K,).

    >>> base_cut(np.array([0.7, 0.2, 0.2, -0.1])).tolist()
    [0.7, 0.2, 0.0, 0.0]
    """
    order = np.argsort(-v, kind="stable")
    positive = np.maximum(v[order], 0.0)
    # Estimates with the sum 1 may exceed it by rounding, which grows with the entries.
    keep = np.cumsum(positive) <= 1 + v.size * max(1e-12, 1e-14 * float(np.abs(v).max()))
    keep[0] = True
    out = np.zeros(v.size)
    out[order[keep]] = np.minimum(positive[keep], 1.0)
    return out


def threshold(
    v: np.ndarray, sd: np.ndarray, alpha: float = 0.05, rest: str = "spread"
) -> np.ndarray:
    """Return significant estimates, and equal shares for the other values (emp+thr) [P2 sec 6].

    An estimate is significant above T = z(1 - alpha / K) sd, with the normal quantile z. The other
    values share the remaining mass. [P2] does not cover two cases: where the significant estimates
    sum to more than 1, and where all are significant. There they are divided by their sum, and the
    other values get 0.

    With ``rest="discard"`` the significant estimates stay as they are and the others are 0, so the
    result need not sum to 1 [P2 sec 2.5].

    Args:
        v: unbiased estimates (K,).
        sd: the standard deviation (K,) of each at a true share of 0.
        alpha: the family-wise level of the Bonferroni test.
        rest: ``"spread"`` or ``"discard"``, for the mass of the other values.

    >>> threshold(np.array([0.9, 0.05, -0.02]), np.full(3, 0.1)).round(3).tolist()
    [0.9, 0.05, 0.05]
    """
    kept = v > NormalDist().inv_cdf(1 - alpha / v.size) * sd
    mass = float(v[kept].sum())
    out = np.where(kept, v, 0.0)
    if rest == "discard":
        return out
    if mass > 1 or kept.all():
        return out / mass
    out[~kept] = (1 - mass) / np.count_nonzero(~kept)
    return out
