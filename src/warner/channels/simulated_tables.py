"""Simulated tables of the reports about several attributes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from warner._core.errors import ArgumentError
from warner.channels.arrays import FloatArray, IntArray
from warner.channels.base import Channel

_LARGEST_WORK = 2**36  # people times rows that are multiplied


def whole_table(
    channels: Sequence[Channel], people: IntArray, rng: np.random.Generator
) -> IntArray:
    """Counts (m_1, .., m_d) of the reports of ``people`` (K_1, .., K_d) about d attributes.

    The rows of every channel are whole reports. One attribute is drawn after another, because a
    person's reports are independent given the person's values.
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
    channels: Sequence[Channel], people: IntArray, rng: np.random.Generator
) -> FloatArray:
    """:func:`whole_table` where some reports count in several rows.

    It draws person by person, because the rows of one report belong together.
    """
    n, shape = int(people.sum()), [c.shape[0] for c in channels]
    if n * prod(shape) > _LARGEST_WORK:
        raise ArgumentError(
            "bootstrap",
            "draws person by person where bits of several attributes are counted together",
            f"{n} people",
            "Use kind='score'",
        )
    values = np.unravel_index(np.repeat(np.arange(people.size), people.ravel()), people.shape)
    total = np.zeros((prod(shape[:-1]), shape[-1]))
    step = max(256, 2**22 // max(total.shape))
    for start in range(0, n, step):
        marks = [
            channel.sample_marks(index[start : start + step], rng)
            for channel, index in zip(channels, values, strict=True)
        ]
        left = marks[0]
        for right in marks[1:-1]:
            left = (left[:, :, None] * right[:, None, :]).reshape(len(left), -1)
        total += left.T @ marks[-1]
    return total.reshape(shape)
