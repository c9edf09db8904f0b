"""Simulated tables of tuples of reports, where rows are parts of reports and the joint law of a table is that of people."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from warner._core.errors import (
    ArgumentError,
    message,
)
from warner.channels.base import Channel
from warner.channels.pure import SupportChannel

_LARGEST_WORK = 2**36  # people times rows that are multiplied


def whole_table(
    channels: Sequence[Channel], people: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Counts (m_1, .., m_d) of the reports of ``people`` (K_1, .., K_d), where every channel's rows are whole reports.

    Attribute after attribute: given their values, people's reports are independent of each other.
    """
    table = people
    for axis, channel in enumerate(channels):
        moved = np.moveaxis(table, axis, 0)
        out = np.zeros((channel.shape[0], *moved.shape[1:]), dtype=np.int64)
        for x in range(len(moved)):
            if moved[x].any():
                column = np.maximum(channel.columns(np.array([x]))[:, 0], 0.0)
                out += np.moveaxis(rng.multinomial(moved[x], column / column.sum()), -1, 0)
        table = np.moveaxis(out, 0, axis)
    return table


def marked_table(
    channels: Sequence[Channel], people: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """The same where some reports count for several rows: person by person, because rows of one report go together."""
    n, shape = int(people.sum()), [c.shape[0] for c in channels]
    if n * prod(shape) > _LARGEST_WORK:
        raise ArgumentError(
            message(
                "bootstrap",
                "draws person by person where bits of several attributes are counted together",
                f"{n} people",
                "Use kind='wald'",
            )
        )
    values = np.unravel_index(np.repeat(np.arange(people.size), people.ravel()), people.shape)
    total = np.zeros((prod(shape[:-1]), shape[-1]))
    step = max(256, 2**22 // max(total.shape))
    for start in range(0, n, step):
        marks = [
            _marks(c, v[start : start + step], rng) for c, v in zip(channels, values, strict=True)
        ]
        left = marks[0]
        for part in marks[1:-1]:
            left = (left[:, :, None] * part[:, None, :]).reshape(len(left), -1)
        total += left.T @ marks[-1]
    return total.reshape(shape)


def _marks(channel: Channel, index: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Which rows the reports of people with the values ``index`` (n,) count for, (n, m) zeros and ones."""
    if not isinstance(channel, SupportChannel):
        return np.eye(channel.shape[0])[channel.sample_rows(index, rng)]
    size, everyone = channel.shape[1], np.arange(len(index))
    own = rng.random(len(index)) < (channel.q + channel.gap)[index]
    if channel.ones is None:
        bits = rng.random((len(index), size)) < channel.q
    else:
        keys = rng.random((len(index), size))
        keys[everyone, index] = 2.0
        rank = np.argsort(np.argsort(keys, axis=1), axis=1)
        bits = rank < (channel.ones - own)[:, None]
    bits[everyone, index] = own
    return np.concatenate([bits, ~bits], axis=1).astype(np.float64)
