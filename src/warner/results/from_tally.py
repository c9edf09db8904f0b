"""Evidence: what a tally says, in the one form that estimators read: a channel A, weights w and the number of people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from warner._core.canonical_json import (
    canonical,
)
from warner._core.checks import kind
from warner._core.errors import (
    ArgumentTypeError,
    EmptyError,
    MismatchError,
    message,
)
from warner.channels import StackChannel
from warner.estimators.likelihood_data import LikelihoodData
from warner.mechanisms import from_header
from warner.reports.reports import Reports
from warner.reports.tally import Tally, merge, require_same_origin


def likelihood_data(
    tally: Tally | Iterable[Tally], attributes: Sequence[str] | None = None
) -> LikelihoodData:
    """The evidence in a tally, or in several together; a header names the mechanism, whose law gives the channel.

    Tallies of one mechanism are added. Tallies of different mechanisms or budgets on one domain are stacked: each person
    counts through the channel that she reported with; a mechanism that nobody used is skipped.

    Args:
        tally: one, or several.
        attributes: of tallies of tuples, which attributes, in this order; None for all. One alone is as if only it had been asked.

    Raises:
        ArgumentError: unknown attributes, or more of them than the tally keeps tables of.
        EmptyError: no reports.
        MismatchError: a header whose law this version of warner does not make, tallies on different domains, or real tallies
            among simulated ones.
    """
    if not isinstance(tally, Tally):
        return _several(tally, attributes)
    mechanism = from_header(tally.header)
    if tally.n <= 0:
        raise EmptyError(message("tally", "counts no reports", None, "Tally at least one report"))
    channel, counts, domain = mechanism.channel_for(tally, attributes)
    if (
        counts.shape != channel.shape[:1]
        or (counts < 0).any()
        or int(counts.sum()) != tally.n * channel.rows_per_report
        or not tally.is_consistent
    ):
        raise MismatchError(
            message(
                "tally",
                f"does not fit its mechanism, {tally.header['mechanism']}",
                None,
                "Was the file altered?",
            )
        )
    return LikelihoodData(
        channel, counts / (tally.n * channel.rows_per_report), tally.n, domain, tally.simulated
    )


def _several(tallies: Iterable[Tally], attributes: Sequence[str] | None) -> LikelihoodData:
    """One evidence from tallies of one or more mechanisms."""
    if not isinstance(tallies, Iterable) or isinstance(tallies, Reports):
        raise ArgumentTypeError(
            message(
                "tally",
                "must be a Tally or several",
                kind(tallies),
                "Make one with mechanism.tally(reports)",
            )
        )
    groups: dict[str, list[Tally]] = {}
    for part in tallies:
        if not isinstance(part, Tally):
            raise ArgumentTypeError(
                message(
                    "tallies",
                    "must be Tally objects",
                    kind(part),
                    "Make one with mechanism.tally(reports)",
                )
            )
        groups.setdefault(canonical([part.header, part.kind.name]), []).append(part)
    require_same_origin([part.simulated for group in groups.values() for part in group], "tallies")
    totals = [merge(group) for group in groups.values()]
    # A mechanism that nobody used says nothing; where nobody used any, the tally's own error says so.
    parts = [
        likelihood_data(total, attributes) for total in [t for t in totals if t.n > 0] or totals
    ]
    if not parts:
        raise EmptyError(message("tallies", "must not be empty"))
    if len(parts) == 1:
        return parts[0]
    if len({part.domain.digest for part in parts}) > 1:
        raise MismatchError(
            message("tallies", "are on different domains", None, "Estimate each domain on its own")
        )
    channel = StackChannel([part.channel for part in parts], [part.n for part in parts])
    weights, n = channel.stack([part.weights for part in parts]), sum(part.n for part in parts)
    return LikelihoodData(channel, weights, n, parts[0].domain, parts[0].simulated)
