"""Evidence: what a tally says, in the one form that estimators read: a channel A, weights w and the number of people."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from warner._check import EmptyError, MismatchError, message
from warner.channel import Channel
from warner.domain import Domain
from warner.mechanisms import from_header
from warner.tally import Tally


@dataclass(frozen=True, eq=False)
class Evidence:
    """Reports of n people, as frequencies of a channel's rows.

    Attributes:
        channel: A (m, K).
        weights: w (m,), frequencies of the rows, summing to 1.
        n: number of reports.
        domain: the K values.
    """

    channel: Channel
    weights: np.ndarray
    n: int
    domain: Domain


def evidence(tally: Tally) -> Evidence:
    """The evidence in ``tally``; its header names the mechanism, whose law gives the channel.

    Raises:
        EmptyError: no reports.
        MismatchError: a header whose law this version of warner does not make.
    """
    mechanism = from_header(tally.header)
    if tally.n <= 0:
        raise EmptyError(message("tally", "counts no reports", None, "Tally at least one report"))
    channel = mechanism.channel() if tally.rows is None else mechanism.report_channel(tally.rows)
    counts = tally.counts.ravel()
    if tally.kind == "bitsums":
        # A report that is known by its bit sums counts as one yes-or-no report per value.
        counts = np.concatenate([counts, tally.n - counts])
    if counts.shape != channel.shape[:1] or (counts < 0).any() or int(counts.sum()) != tally.n * channel.copies:
        raise MismatchError(message("tally", f"does not fit its mechanism, {tally.header['mechanism']}", None, "Was the file altered?"))
    return Evidence(channel, counts / (tally.n * channel.copies), tally.n, mechanism.domain)
