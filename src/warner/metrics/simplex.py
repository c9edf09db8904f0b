"""Post-processing of unbiased estimates: from any vector (K,) to shares. Pure functions of arrays (METHODS 5)."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np


def project(v: np.ndarray) -> np.ndarray:
    """argmin |p - v|^2 over p >= 0, sum p = 1 (Norm-Sub, INV-P): subtract one number from all, clip at 0.

    The number is found by sorting: with the k largest kept it is (their sum - 1) / k, for the largest k that keeps them positive.
    All is counted from the largest, and the result divided by its sum, so that shares sum to one however large the entries are.

    >>> project(np.array([0.9, 0.4, -0.3])).tolist()
    [0.75, 0.25, 0.0]
    """
    below = v - v.max()
    ordered = np.sort(below)[::-1]
    shift = (np.cumsum(ordered) - 1) / np.arange(1, v.size + 1)
    kept = np.flatnonzero(ordered > shift)[-1]
    found = np.maximum(below - shift[kept], 0.0)
    return np.asarray(found / found.sum())


def normalize(v: np.ndarray) -> np.ndarray:
    """Clip negatives and divide by the sum (INV-N, the normalised decoder); uniform where nothing is positive.

    >>> normalize(np.array([0.75, 0.75, -0.5])).tolist()
    [0.5, 0.5, 0.0]
    """
    clipped = np.maximum(v, 0.0)
    total = clipped.sum()
    return clipped / total if total > 0 else np.full(v.size, 1 / v.size)


def base_cut(v: np.ndarray) -> np.ndarray:
    """Keep estimates in decreasing order while their sum stays at or below 1, put the rest to 0 (Base-Cut).

    What is kept is not rescaled, so the result may sum to less than 1. A largest estimate above 1 is kept alone, as 1.

    >>> base_cut(np.array([0.7, 0.2, 0.2, -0.1])).tolist()
    [0.7, 0.2, 0.0, 0.0]
    """
    order = np.argsort(-v, kind="stable")
    positive = np.maximum(v[order], 0.0)
    # Estimates that sum to 1 may miss it by rounding, by more the larger the entries are.
    keep = np.cumsum(positive) <= 1 + v.size * max(1e-12, 1e-14 * float(np.abs(v).max()))
    keep[0] = True
    out = np.zeros(v.size)
    out[order[keep]] = np.minimum(positive[keep], 1.0)
    return out


def threshold(v: np.ndarray, sd: np.ndarray, alpha: float = 0.05) -> np.ndarray:
    """Keep estimates above T = z(1 - alpha/K) sd, spread the remaining mass evenly over the others (emp+thr) [P2 sec 6].

    Args:
        v: unbiased estimates (K,).
        sd: standard deviation (K,) of each at a true share of 0.
        alpha: family-wise level of the Bonferroni test.

    Where the kept mass exceeds 1 [P2] says nothing: the kept ones are then divided by their sum, and the others get 0. Where
    every value is kept there is no other to give mass to, and the kept ones are divided by their sum too.

    >>> threshold(np.array([0.9, 0.05, -0.02]), np.full(3, 0.1)).round(3).tolist()
    [0.9, 0.05, 0.05]
    """
    kept = v > NormalDist().inv_cdf(1 - alpha / v.size) * sd
    mass = float(v[kept].sum())
    out = np.where(kept, v, 0.0)
    if mass > 1 or kept.all():
        return out / mass
    out[~kept] = (1 - mass) / np.count_nonzero(~kept)
    return out
