"""The weight of one report: how far a single dishonest person can move an estimated count."""

from __future__ import annotations

import numpy as np

from warner._core.checks import kind
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    IdentifiabilityError,
    message,
)
from warner.channels import Channel, GeometricChannel, HashChannel, KroneckerChannel, TiedChannel
from warner.mechanisms import Mechanism

_ENTRIES = 2**18  # of an inverse that is formed to be looked at


def report_weight(mechanism: Mechanism) -> float | None:
    """The largest change of any value's estimated count that one report can make, in people.

        max over values x and reports y, y' of L[x, y] - L[x, y']

    L is the unbiased inverse of the channel, and L[x, y] is the number of people that report y adds to the count of x. A person who
    sends y in place of an honest y' moves the count by the difference. Where reports support values or do not it is 1 / (p - q).
    No mechanism can tell a forged report from an honest one: the more private the reports, the more one of them weighs.

    Of tuples of several attributes it bounds the change of one cell from above. Of pairs of keys and values it is the change of
    the count of a key. Of a large hash pool it is 1 / (p - q), q the average share of labels that a report supports.

    Returns:
        The weight, or None where reports have no unbiased estimate of counts, or one too large to form.

    >>> from warner import Categorical, RandomizedResponse
    >>> round(report_weight(RandomizedResponse(Categorical(["no", "yes"]), 1.0)), 3)
    2.164
    """
    if not isinstance(mechanism, Mechanism):
        raise ArgumentTypeError(message("mechanism", "must be a Mechanism", kind(mechanism)))
    try:
        channel = mechanism.channel()
        if isinstance(channel, TiedChannel):
            return mechanism.slots / (channel.keep - channel.sent)
        found = _extremes(channel)
    except (IdentifiabilityError, ArgumentError):
        return None
    return None if found is None else float((found[1] - found[0]).max())


def _extremes(channel: Channel) -> tuple[np.ndarray, np.ndarray] | None:
    """The least and the largest weight of a report in the estimate of each value, (K,) each."""
    gap = getattr(channel, "gap", None)
    if isinstance(gap, np.ndarray):
        q = channel.q  # type: ignore[attr-defined]
        return -q / gap, (1 - q) / gap
    if isinstance(channel, HashChannel):
        if channel.shape[0] * channel.shape[1] > _ENTRIES:
            level = channel.gap * (1 - 1 / channel.count)
            q = channel.q + channel.gap / channel.count
            return np.full(1, -q / level), np.full(1, (1 - q) / level)
        supports = channel.dense() * channel.seeds > channel.q + channel.gap / 2
        return _range(channel._support_inverse @ supports.T)
    if isinstance(channel, GeometricChannel):
        # The inverse looks at neighbours only: an end, the value next to it and one inside stand for all.
        size = min(channel.shape[1], 5)
        return _range(GeometricChannel(size, channel.ratio).influence(np.eye(size)).T)
    if isinstance(channel, KroneckerChannel):
        low = high = np.ones(1)
        for part in channel.channels:
            found = _extremes(part)
            if found is None:
                return None
            products = np.stack(
                [
                    a * b
                    for a in (low, high)
                    for b in (found[0].min(keepdims=True), found[1].max(keepdims=True))
                ]
            )
            low, high = products.min(axis=0), products.max(axis=0)
        return low, high
    folded = channel.merge_proportional_rows()
    small = channel if folded is None else folded[0]
    if small.shape[0] * small.shape[1] > _ENTRIES:
        return None
    return _range(small._inverse)


def _range(inverse: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return inverse.min(axis=1), inverse.max(axis=1)
