"""Distances between distributions, defined once: pure functions of arrays.

Shapes: ``p`` and ``q`` are (K,), in the same order of values. Nothing here assumes that an estimate sums to one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from warner._check import ArgumentError, ArgumentTypeError, kind, message, probability, real


def _pair(p: Any, q: Any) -> tuple[np.ndarray, np.ndarray]:
    arrays = []
    for name, value in (("p", p), ("q", q)):
        try:
            array = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):
            raise ArgumentTypeError(message(name, "must be an array of numbers", kind(value))) from None
        if array.ndim != 1 or array.size == 0:
            raise ArgumentError(message(name, "must have shape (K,) with K >= 1", str(array.shape)))
        if not np.isfinite(array).all():
            raise ArgumentError(message(name, "must be finite", "NaN or infinity"))
        arrays.append(array)
    if arrays[0].size != arrays[1].size:
        raise ArgumentError(message("q", f"must have the length of p, {arrays[0].size}", str(arrays[1].size)))
    return arrays[0], arrays[1]


def l1(p: Any, q: Any) -> float:
    """sum_x |p_x - q_x|.

    >>> l1([0.5, 0.5], [1.0, 0.0])
    1.0
    """
    p, q = _pair(p, q)
    return float(np.abs(p - q).sum())


def total_variation(p: Any, q: Any) -> float:
    """l1 / 2: the largest difference in probability of any event (for distributions).

    >>> total_variation([0.5, 0.5], [1.0, 0.0])
    0.5
    """
    return l1(p, q) / 2


def sum_of_squares(p: Any, q: Any) -> float:
    """sum_x (p_x - q_x)^2: what [P1] and [P2] call the mean squared error.

    >>> sum_of_squares([0.5, 0.5], [1.0, 0.0])
    0.5
    """
    p, q = _pair(p, q)
    return float(((p - q) ** 2).sum())


def mean_squared_error(p: Any, q: Any) -> float:
    """(1/K) sum_x (p_x - q_x)^2, as in [P3] and [P5].

    >>> mean_squared_error([0.5, 0.5], [1.0, 0.0])
    0.25
    """
    p, q = _pair(p, q)
    return float(((p - q) ** 2).mean())


def mean_absolute_error(truth: Any, estimate: Any, top: float | None = None) -> float:
    """(1/K) sum_x |truth_x - estimate_x|; with ``top``, over that share of values with the largest truth [P3].

    The number of values is rounded up, so that ``top`` never selects none.

    >>> mean_absolute_error([0.75, 0.25], [0.5, 0.5], top=0.5)
    0.25
    """
    truth, estimate = _pair(truth, estimate)
    error = np.abs(truth - estimate)
    if top is not None:
        keep = int(np.ceil(probability("top", top) * truth.size))
        error = error[np.argsort(-truth, kind="stable")[:keep]]
    return float(error.mean())


def jensen_shannon(p: Any, q: Any) -> float:
    """JS(p, q) = (KL(p | m) + KL(q | m)) / 2 with m = (p + q) / 2, natural logarithm, in 0..ln 2.

    Both must be non-negative.

    >>> round(jensen_shannon([1.0, 0.0], [0.0, 1.0]), 6)  # ln 2
    0.693147
    """
    p, q = _pair(p, q)
    if (p < 0).any() or (q < 0).any():
        raise ArgumentError(message("p and q", "must be non-negative for a divergence", None, "Project an estimate on the simplex first"))
    m = (p + q) / 2
    total = 0.0
    for a in (p, q):
        on = a > 0
        total += float((a[on] * np.log(a[on] / m[on])).sum())
    return total / 2


def wasserstein1(p: Any, q: Any, spacing: float = 1.0) -> float:
    """W1 = spacing * sum_x |P_x - Q_x| with cumulative sums P, Q: for ordered, equally spaced values.

    In index units by default ([P3]'s scale); ``spacing`` is the distance of neighbouring values.

    >>> wasserstein1([1.0, 0.0, 0.0], [0.0, 0.0, 1.0])
    2.0
    """
    p, q = _pair(p, q)
    if real("spacing", spacing) <= 0:
        raise ArgumentError(message("spacing", "must be positive", repr(spacing)))
    return float(np.abs(np.cumsum(p - q)[:-1]).sum() * spacing)
