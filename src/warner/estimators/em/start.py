"""Where expectation maximisation starts: by name, by an estimator, or at given shares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from warner._core.checks import choice, distribution, kind
from warner._core.errors import ArgumentError, ArgumentTypeError, message
from warner.estimators.base import Estimator
from warner.estimators.likelihood_data import LikelihoodData
from warner.metrics.simplex import normalize

# The forms in which a start is given; a tuple is what the array becomes.
Start: TypeAlias = str | Estimator | Sequence[float] | np.ndarray
CheckedStart: TypeAlias = str | Estimator | tuple[float, ...]

# Weight of the uniform distribution in a start whose shares must be positive: a share that starts
# at 0 stays there.
_EVEN = 0.01
_PRINTED = 8  # shares that a repr prints


def checked_start(start: Start, names: tuple[str, ...]) -> CheckedStart:
    """Check a start, and return it in an immutable form; an array becomes a tuple.

    Args:
        start: one of ``names``, an estimator, or a distribution (K,).
        names: the names that are allowed.

    Returns:
        A name, an estimator, or a tuple of K shares.

    Raises:
        ArgumentError: another name, or numbers that are no distribution.
        ArgumentTypeError: another type.
    """
    if isinstance(start, Estimator):
        return start
    if isinstance(start, str):
        return str(choice("start", start, names))
    if not hasattr(start, "__iter__"):
        allowed = ", ".join(map(repr, names))
        raise ArgumentTypeError(
            message("start", f"must be {allowed}, an estimator or a distribution", kind(start))
        )
    shares = distribution("start", start)
    return tuple((shares / shares.sum()).tolist())


def repr_of_start(start: CheckedStart) -> str:
    """The start as Python code; for many shares their number is given instead.

    Args:
        start: the result of :func:`checked_start`.
    """
    if isinstance(start, tuple) and len(start) > _PRINTED:
        return f"<{len(start)} shares>"
    return repr(start)


def uniform_start(size: int) -> np.ndarray:
    """The uniform distribution (K,).

    Args:
        size: K, the number of values.
    """
    return np.full(size, 1 / size)


def start_at(start: CheckedStart, data: LikelihoodData) -> np.ndarray:
    """The distribution (K,) at which the steps begin.

    - ``"uniform"``: 1 / K for every value.
    - ``"histogram"``: the report histogram of ``Observed()``. Where every report is a value, as
      in k-RR, shares of 0 stay, because the maximum has them too. Else they are made positive.
    - an estimator: its shares. Negative ones count as 0 and the sum is made one; then shares of 0
      are made positive.
    - a tuple: these shares as they are.

    Shares are made positive by mixing in 1 % of the uniform distribution, and only where one is 0.

    Args:
        start: the result of :func:`checked_start`.
        data: the reports, on a domain of K values.

    Returns:
        The start (K,).

    Raises:
        ArgumentError: a tuple of another length than K, or reports without a histogram.
    """
    size = data.domain.size
    if isinstance(start, tuple):
        return distribution("start", start, size)
    if start == "uniform":
        return uniform_start(size)
    if start == "histogram":
        shares = _report_histogram(data)
        if reports_are_values(data):
            return shares
        return with_positive_shares(normalize(shares))
    assert isinstance(start, Estimator)
    shares = start.fit(data).shares
    if (shares < 0).any() or abs(float(shares.sum()) - 1) > 1e-9:
        shares = normalize(shares)
    return with_positive_shares(shares)


def is_made_of_reports(start: CheckedStart) -> bool:
    """Whether the start is computed from the reports: a histogram, or an estimate."""
    return start == "histogram" or isinstance(start, Estimator)


def reports_are_values(data: LikelihoodData) -> bool:
    """Whether every report names exactly one value, in every group of people."""
    return all(group.reports_are_values for group in data.channel.groups())


def with_positive_shares(shares: np.ndarray) -> np.ndarray:
    """Mix 1 % of the uniform distribution into the shares (K,) if any share is 0."""
    return mixed_with_uniform(shares) if (shares <= 0).any() else shares


def mixed_with_uniform(shares: np.ndarray) -> np.ndarray:
    """Mix 1 % of the uniform distribution into the shares (K,): 0.99 shares + 0.01 / K."""
    return np.asarray((1 - _EVEN) * shares + _EVEN / shares.size)


def _report_histogram(data: LikelihoodData) -> np.ndarray:
    """The report histogram as a distribution over values."""
    try:
        return data.channel.naive_estimate(data.weights)
    except ArgumentError:
        pass
    raise ArgumentError(
        message(
            "start",
            "'histogram' needs reports that point at values",
            f"{data.channel.shape[0]} reports of {data.channel.shape[1]} values",
            "Use start='uniform', or an estimator such as start=Inversion('project')",
        )
    )
