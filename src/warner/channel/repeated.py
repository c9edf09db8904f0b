"""Several reports of one value by one person: the elementwise product of their rows [P4 sec V]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from warner._check import ArgumentError, message
from warner.channel.base import Channel, one_by_one

_KEPT = 2**25  # entries
_BLOCK = 2**20  # elements of a block of rows that are multiplied at a time


class RepeatedRows(Channel):
    """Row i = prod_t A_t[reports[i, t], :], for the tuples of reports that were seen.

    Only seen tuples are rows: products are right for them, and columns do not sum to one. Each row is divided by its largest
    entry, or many reports would multiply to nothing; a likelihood is only needed up to a factor per row (METHODS 0).

    Args:
        channels: A_1 .. A_T, one per report a person sends.
        reports: (m, T) integers, row numbers of the channels.
    """

    def __init__(self, channels: Sequence[Channel], reports: np.ndarray) -> None:
        if reports.ndim != 2 or reports.shape[1] != len(channels):
            raise ArgumentError(message("reports", f"must have one column per report of a person, {len(channels)}", str(reports.shape)))
        self.channels = tuple(channels)
        self.reports = reports
        self.shape = (len(reports), channels[0].shape[1])
        self._logs = []
        for channel, column in zip(channels, reports.T, strict=True):
            used, where = np.unique(column, return_inverse=True)
            with np.errstate(divide="ignore"):
                self._logs.append((np.log(np.maximum(channel.rows(used), 0.0)), where.ravel()))

    @cached_property
    def _kept(self) -> np.ndarray | None:
        """All rows, where they are few enough to be kept instead of multiplied anew for every product."""
        return np.concatenate([block for _, block in self._made()]) if self.shape[0] * self.shape[1] <= _KEPT else None

    def blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        if self._kept is None:
            yield from self._made()
        else:
            yield slice(0, self.shape[0]), self._kept

    def _made(self) -> Iterator[tuple[slice, np.ndarray]]:
        step = max(1, _BLOCK // self.shape[1])
        for start in range(0, self.shape[0], step):
            rows = slice(start, min(start + step, self.shape[0]))
            logs = np.zeros((rows.stop - start, self.shape[1]))
            for table, where in self._logs:
                logs += table[where[rows]]
            highest = logs.max(axis=1, keepdims=True)
            yield rows, np.exp(logs - np.where(np.isfinite(highest), highest, 0.0))

    def dense(self) -> np.ndarray:
        return np.concatenate([block for _, block in self.blocks()])

    def matvec(self, theta: np.ndarray) -> np.ndarray:
        return np.concatenate([block @ theta for _, block in self.blocks()])

    def rmatvec(self, r: np.ndarray) -> np.ndarray:
        return np.sum([block.T @ r[rows] for rows, block in self.blocks()], axis=0)

    @one_by_one
    def invert(self, w: np.ndarray) -> np.ndarray:
        """The mean over a person's reports of each one's own inversion."""
        parts = [c.invert(np.bincount(column, w, c.shape[0])) for c, column in zip(self.channels, self.reports.T, strict=True)]
        return np.mean(parts, axis=0)

    def moments(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Reports of one person are independent given her value, so E[L_s L_t | x'] = [x = x'] for two of them."""
        times = len(self.channels)
        parts = [channel.moments(theta) for channel in self.channels]
        total = np.sum([total for total, _ in parts], axis=0) + times * (times - 1) * theta
        own = np.sum([own for _, own in parts], axis=0) + times * (times - 1)
        return total / times**2, own / times**2

    def redraw(self, theta: np.ndarray, n: int, rng: np.random.Generator, values: np.ndarray | None = None) -> tuple[Channel, np.ndarray]:
        """Other people's tuples: a channel of its own."""
        people = rng.multinomial(n, theta / theta.sum()) if values is None else values
        index = np.repeat(np.arange(self.shape[1]), people)
        reports, seen = np.unique(np.stack([c.drawn(index, rng) for c in self.channels], axis=1), axis=0, return_counts=True)
        return RepeatedRows(self.channels, reports), seen / seen.sum()

    def drawn(self, index: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return self.simulate(index, 0, rng)

    def simulate(self, theta: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        raise ArgumentError(message("simulate", "needs all possible tuples of reports; these are those seen", None, "Use redraw"))

    rerandomize = simulate  # type: ignore[assignment]
