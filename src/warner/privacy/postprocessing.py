"""Post-processing of utility-optimised reports, given as matrices [P2 props 2, 13]."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from warner._core.checks import array_of, numbers_of
from warner._core.errors import (
    ArgumentError,
)
from warner.privacy.report_laws import ambiguous_report, image


def preserves_data_types(
    matrix: ArrayLike, protected: ArrayLike, protected_after: ArrayLike
) -> bool:
    """Whether post-processing keeps protected reports protected and unprotected ones unprotected.

    An unprotected ("invertible") report reveals its value, and its results must do so too.

    Source: [P2 def 3].

    Shapes: protected (m,).

    >>> bool(preserves_data_types(np.eye(2), [True, False], [True, False]))
    True
    """
    array = _matrix(matrix)
    before = np.asarray(protected, dtype=bool)
    after = np.asarray(protected_after, dtype=bool)
    if before.shape != array.shape[1:] or after.shape != array.shape[:1]:
        rule = f"must have shape ({array.shape[1]},), and protected_after shape ({array.shape[0]},)"
        raise ArgumentError("protected", rule, f"{before.shape} and {after.shape}")
    if (array[np.ix_(after, ~before)] > 0).any():
        return False
    makers = array[~after] > 0
    return bool((makers.sum(axis=1) == 1).all() and not makers[:, before].any())


def post_process(
    matrix: ArrayLike, channel: ArrayLike, sensitive: ArrayLike, protected_after: ArrayLike
) -> np.ndarray:
    """The channel of post-processed reports, which keeps its ULDP guarantee [P2 prop 2].

    Shapes: channel (m, K), sensitive (K,).

    >>> mangat = np.array([[1.0, 0.4], [0.0, 0.6]])
    >>> post_process(np.eye(2)[::-1], mangat, [True, False], [False, True]).tolist()
    [[0.0, 0.6], [1.0, 0.4]]
    """
    array = _matrix(channel)
    sensitive_mask = _sensitive_mask(sensitive, array.shape[1])
    protected = image(array, sensitive_mask)
    if (broken := ambiguous_report(array, sensitive_mask, protected)) is not None:
        rule = f"is not utility-optimised: {broken}"
        remedy = "For a one-sided mechanism use the function decompose"
        raise ArgumentError("channel", rule, None, remedy)
    if not preserves_data_types(matrix, protected, protected_after):
        rule = "mixes protected reports with reports that reveal a value, so the guarantee is lost"
        remedy = "Map protected reports only to protected reports, and other reports only to others"
        raise ArgumentError("matrix", rule, None, remedy)
    return np.asarray(_matrix(matrix) @ array)


def decompose(
    channel: ArrayLike, sensitive: ArrayLike
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A one-sided mechanism as a utility-optimised one followed by post-processing [P2 prop 13].

        channel = post @ uldp

    So OSLDP reports carry no information that ULDP reports at the same epsilon lack.

    Shapes: channel (m, K), sensitive (K,) -> (m_u, K).

    >>> channel = np.array([[0.5, 0.1], [0.5, 0.9]])
    >>> uldp, protected, post = decompose(channel, [True, False])
    >>> uldp.round(3).tolist(), protected.tolist(), np.allclose(post @ uldp, channel)
    ([[0.5, 0.1], [0.5, 0.5], [0.0, 0.4]], [True, True, False], True)
    """
    array = _matrix(channel)
    array = array / array.sum(axis=0)
    sensitive_mask = _sensitive_mask(sensitive, array.shape[1])
    made = image(array, sensitive_mask)
    inside, outside = np.flatnonzero(made), np.flatnonzero(~made)
    most = array[np.ix_(inside, sensitive_mask)].max(axis=1)
    # Where a non-sensitive value makes a report more often than every sensitive value, the excess
    # goes to a report that names it.
    capped = np.where(
        sensitive_mask[None, :], array[inside], np.minimum(array[inside], most[:, None])
    )
    named = 1 - capped.sum(axis=0)
    others = np.flatnonzero(~sensitive_mask & (named > 1e-12))  # below, it is rounding
    uldp = np.zeros((inside.size + others.size, array.shape[1]))
    uldp[: inside.size] = capped
    uldp[inside.size + np.arange(others.size), others] = named[others]
    post = np.zeros((array.shape[0], len(uldp)))
    post[inside, np.arange(inside.size)] = 1
    post[np.ix_(inside, inside.size + np.arange(others.size))] = (array[inside] - capped)[
        :, others
    ] / named[others]
    post[np.ix_(outside, inside.size + np.arange(others.size))] = (
        array[np.ix_(outside, others)] / named[others]
    )
    return uldp / uldp.sum(axis=0), np.arange(len(uldp)) < inside.size, post / post.sum(axis=0)


def _sensitive_mask(sensitive: ArrayLike, size: int) -> np.ndarray:
    """Checked booleans (size,)."""
    sensitive_mask = array_of(sensitive)
    if sensitive_mask.dtype != bool or sensitive_mask.shape != (size,) or not sensitive_mask.any():
        raise ArgumentError(
            "sensitive",
            f"must be {size} booleans, at least one of them true",
            f"{sensitive_mask.dtype} of shape {sensitive_mask.shape}",
        )
    return sensitive_mask


def _matrix(value: ArrayLike) -> np.ndarray:
    """A checked channel as an array."""
    array = numbers_of("matrix", value)
    if array.ndim != 2:
        got = f"{array.ndim} dimension{'s' * (array.ndim != 1)}"
        raise ArgumentError("matrix", "must have two dimensions", got)
    sums = array.sum(axis=0)
    if not (array >= 0).all() or not np.allclose(sums, 1, rtol=0, atol=1e-9):
        rule = "must have entries of at least 0, and columns that sum to 1"
        got = f"sums from {sums.min():.10g} to {sums.max():.10g}"
        if not (array >= 0).all():
            got = f"the smallest entry {array.min():.10g}"
        raise ArgumentError("matrix", rule, got)
    return array
