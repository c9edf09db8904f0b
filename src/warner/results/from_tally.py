"""From tallies to the data of an estimation problem: a channel, frequencies of its rows, and n."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from warner._core.checks import kind
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    EmptyError,
    MismatchError,
    ValuesError,
)
from warner._core.text import canonical
from warner.channels import stacked
from warner.estimators.base import LikelihoodData
from warner.mechanisms import from_header
from warner.reports.reports import Reports
from warner.reports.tally import Tally, merge, require_same_origin


def likelihood_data(
    tally: Tally | Iterable[Tally], attributes: Sequence[str] | None = None
) -> LikelihoodData:
    """The data of an estimation problem from a tally, or from several together.

    The header of a tally names the mechanism, which gives the channel. Tallies of one mechanism are
    added. Tallies of different mechanisms or budgets on one domain are stacked: each person's
    report counts through the channel of the person's mechanism. A mechanism that nobody used is
    skipped. The number of reports per person is the largest of all tallies.

    Returns (m, K).

    >>> from warner import Categorical, RandomizedResponse
    >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    >>> data = likelihood_data(coin.tally(coin.randomize(["yes"] * 100)))
    >>> data.n, data.channel.shape
    (100, (2, 2))
    """
    if not isinstance(tally, Tally):
        return _several(tally, attributes)
    if tally.columns:
        rule, got = "must be of all people together", f"a tally by {', '.join(tally.names)}"
        remedy = "Use tally.total(), or estimate(tally) for the estimates of its groups"
        raise ArgumentTypeError("tally", rule, got, remedy)
    mechanism = from_header(tally.header)
    if tally.n <= 0:
        raise EmptyError("tally", "counts no reports", None, "Tally at least one report")
    channel, counts, domain = mechanism.channel_for(tally, attributes)
    if (
        counts.shape != channel.shape[:1]
        or (counts < 0).any()
        or int(counts.sum()) != tally.n * channel.rows_per_report
        or not tally.is_consistent
    ):
        raise MismatchError(
            "tally",
            f"does not fit its mechanism, {tally.header['mechanism']}",
            None,
            "Was the file altered?",
        )
    weights = counts / (tally.n * channel.rows_per_report)
    return LikelihoodData(
        channel, weights, tally.n, domain, tally.simulated, tally.reports_per_person
    )


def possible_values(data: LikelihoodData, values: Any) -> np.ndarray:
    """The indices (k,) of the values that an estimate may give a share."""
    if isinstance(values, str) and values == "reported":
        shares = None
        with contextlib.suppress(ArgumentError):
            shares = data.channel.naive_estimate(data.weights)
        if shares is None:
            rule = "cannot be 'reported' where reports do not name values"
            raise ArgumentError("values", rule, None, "List them")
        found = np.flatnonzero(shares > 0)
        if len(found) < 2:
            rule, got = "must be at least 2 that are reported", str(len(found))
            raise ArgumentError("values", rule, got, "List them")
        return found
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        rule = "must be a list of values, or 'reported'"
        raise ArgumentTypeError("values", rule, kind(values))
    listed = values if isinstance(values, np.ndarray) else list(values)
    problem, found = None, np.zeros(0, dtype=np.int64)
    try:
        found = np.unique(data.domain.encode(listed))
    except EmptyError:
        pass
    except ValuesError as error:
        problem = f"value {error.position} is not in the domain of {data.domain.size} values"
    if problem is None and (len(found) < 2 or len(found) < len(listed)):
        problem = "must be at least 2 distinct values"
    if problem is not None:
        raise ArgumentError("values", problem)
    return found


def _several(tallies: Iterable[Tally], attributes: Sequence[str] | None) -> LikelihoodData:
    """The data of tallies of one or more mechanisms."""
    if not isinstance(tallies, Iterable) or isinstance(tallies, Reports):
        raise ArgumentTypeError(
            "tally",
            "must be a Tally or several",
            kind(tallies),
            "Make one with mechanism.tally(reports)",
        )
    groups: dict[str, list[Tally]] = {}
    for tally in tallies:
        if not isinstance(tally, Tally):
            raise ArgumentTypeError(
                "tallies",
                "must be Tally objects",
                kind(tally),
                "Make one with mechanism.tally(reports)",
            )
        groups.setdefault(canonical([tally.header, tally.kind.name]), []).append(tally)
    require_same_origin([t.simulated for group in groups.values() for t in group], "tallies")
    totals = [merge(group) for group in groups.values()]
    # A mechanism that nobody used is skipped. If all are empty, the first raises its own error.
    used = [total for total in totals if total.n > 0] or totals
    parts = [likelihood_data(total, attributes) for total in used]
    if not parts:
        raise EmptyError("tallies", "must not be empty")
    if len(parts) == 1:
        return parts[0]
    if len({part.domain.digest for part in parts}) > 1:
        raise MismatchError(
            "tallies", "are on different domains", None, "Estimate each domain on its own"
        )
    channel = stacked([part.channel for part in parts], [part.n for part in parts])
    weights, n = channel.stack([part.weights for part in parts]), sum(part.n for part in parts)
    most = max(part.reports_per_person for part in parts)
    return LikelihoodData(channel, weights, n, parts[0].domain, parts[0].simulated, most)
