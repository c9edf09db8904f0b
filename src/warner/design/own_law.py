"""Whether what a mechanism from outside the package states of itself fits together."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from warner._core.errors import ArgumentTypeError, MismatchError
from warner.channels import Channel, LikelihoodOperator
from warner.design.audits import audit_exact, is_from_outside
from warner.design.own_sampler import LARGEST
from warner.mechanisms import Mechanism
from warner.reports.reports import Reports

_LISTED = 4096  # reports that are tallied one by one before a comparison
_ROUNDING = 2e-15  # of an entry of a channel
_MATTERS = 1e-9  # in an entry of a channel, for the error of an estimate


def each_report(mechanism: Mechanism, step: int = 1) -> list[tuple[LikelihoodOperator, np.ndarray]]:
    """The channel and the frequencies of its rows of each possible report, or of every ``step``-th.

    Each report is tallied alone.
    """
    outputs = Reports(mechanism.header, mechanism.outputs())
    # By the mechanism itself, because the class that its name stands for may be another.
    problems = [
        mechanism.channel_for(mechanism.tally(outputs[i : i + 1], keep_reports=False))
        for i in range(0, len(outputs), step)
    ]
    return [(channel, counts / counts.sum()) for channel, counts, _ in problems]


def off_from_law(
    channel: Channel, weights: np.ndarray, exact: np.ndarray
) -> tuple[float, str | None]:
    """How far a channel is from the ``exact`` law (reports, K), and where, beyond rounding."""
    off = np.abs(channel.dense() - weights.T @ exact)
    row, x = np.unravel_index(int(off.argmax()), off.shape)
    largest = float(off.max())
    if largest <= _ROUNDING:
        return largest, None
    rule = "channel() does not fit probabilities() and the rows that tally() counts"
    return largest, f"{rule}: entry ({row}, {x}) differs by {largest:.3g}"


@lru_cache(maxsize=64)
def contradiction(mechanism: Mechanism) -> str | None:
    """Why a mechanism from outside the package cannot be compared; None where it can.

    Audits read the law, and comparisons the channel. One that states two laws would be judged by
    the epsilon of the first and the error of the second.
    """
    if not is_from_outside(mechanism):
        return None
    try:
        audited = audit_exact(mechanism)
    except (MismatchError, ArgumentTypeError) as reason:  # what it states has another form
        return str(reason)
    if not audited.holds:
        return f"it does not keep its guarantee: {audited.violation}"
    if not mechanism.is_enumerable or mechanism.n_reports > _LISTED:
        return None
    channel = mechanism.channel()
    if channel.shape[0] * channel.shape[1] > LARGEST:
        return None
    reports = each_report(mechanism)
    if any(counted.shape != channel.shape for counted, _ in reports[:1]):
        return None  # tallies count only what was reported
    weights = np.stack([row for _, row in reports])
    largest, off = off_from_law(channel, weights, mechanism.probabilities().astype(np.float64))
    return off if largest > _MATTERS else None
