"""Several reports of one value by one person: the elementwise product of their rows [P4 sec V]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from math import prod

import numpy as np

from warner._core.errors import (
    ArgumentError,
    message,
)
from warner.channels.base import Channel, has_inverse, one_by_one
from warner.channels.dense import DenseChannel
from warner.channels.stack import StackChannel

_KEPT = 2**25  # entries
_LISTED = 2**22  # entries of the channel of all tuples of reports
_BLOCK = 2**20  # elements of a block of rows that are multiplied at a time


class RepeatedRows(Channel):
    """Row i = prod_t A_t[reports[i, t], :], for the tuples of reports that were seen.

    Only seen tuples are rows: products are right for them, and columns do not sum to one. Each row is divided by its largest
    entry, or many reports would multiply to nothing; ``log_factors`` has the logarithms of those entries.

    Args:
        channels: A_1 .. A_T, one per report a person sends.
        reports: (m, T) integers, row numbers of the channels.
    """

    def __init__(self, channels: Sequence[Channel], reports: np.ndarray) -> None:
        if reports.ndim != 2 or reports.shape[1] != len(channels):
            raise ArgumentError(
                message(
                    "reports",
                    f"must have one column per report of a person, {len(channels)}",
                    str(reports.shape),
                )
            )
        self.channels = tuple(channels)
        self.reports = reports
        self.shape = (len(reports), channels[0].shape[1])
        self._logs = []
        for channel, column in zip(channels, reports.T, strict=True):
            used, where = np.unique(column, return_inverse=True)
            with np.errstate(divide="ignore"):
                self._logs.append((np.log(np.maximum(channel.rows(used), 0.0)), where.ravel()))

    @cached_property
    def log_factors(self) -> np.ndarray:  # type: ignore[override]
        factors = (
            np.concatenate([high for _, _, high in self._parts()])
            if len(self.reports)
            else np.zeros(0)
        )
        for channel, column in zip(self.channels, self.reports.T, strict=True):
            factors = factors + channel.log_factors_of(column)
        return factors

    @cached_property
    def _kept(self) -> np.ndarray | None:
        """All rows, where they are few enough to be kept instead of multiplied anew for every product."""
        return (
            np.concatenate([block for _, block in self._made()])
            if self.shape[0] * self.shape[1] <= _KEPT
            else None
        )

    def blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        if self._kept is None:
            yield from self._made()
        else:
            yield slice(0, self.shape[0]), self._kept

    def _made(self) -> Iterator[tuple[slice, np.ndarray]]:
        for rows, logs, high in self._parts():
            yield rows, np.exp(logs - high[:, None])

    def _parts(self) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """Blocks of rows: which they are, the logarithms of their entries, and the largest of each row, 0 where none is finite."""
        step = max(1, _BLOCK // self.shape[1])
        for start in range(0, self.shape[0], step):
            rows = slice(start, min(start + step, self.shape[0]))
            logs = np.zeros((rows.stop - start, self.shape[1]))
            for table, where in self._logs:
                logs += table[where[rows]]
            highest = logs.max(axis=1)
            yield rows, logs, np.where(np.isfinite(highest), highest, 0.0)

    def dense(self) -> np.ndarray:
        return np.concatenate([block for _, block in self.blocks()])

    def matvec(self, theta: np.ndarray) -> np.ndarray:
        return np.concatenate([block @ theta for _, block in self.blocks()])

    def rmatvec(self, r: np.ndarray) -> np.ndarray:
        return np.sum([block.T @ r[rows] for rows, block in self.blocks()], axis=0)

    @cached_property
    def _together(self) -> Channel | None:
        """The channel of a person's reports together, for its inverse, where some report's own channel has none; else None.

        It is the channel of all tuples of reports where they can be listed. Elsewhere reports stand one below the other.
        """
        if len(self.channels) < 2 or all(
            has_inverse(channel) for channel in dict.fromkeys(self.channels)
        ):
            return None
        parts = [channel.whole() for channel in self.channels]
        is_enumerable = all(part.rows_per_report == 1 for part in parts)
        if not is_enumerable or prod(part.shape[0] for part in parts) * self.shape[1] > _LISTED:
            return ParallelChannel(parts)
        table = np.ones((1, self.shape[1]))
        for part in parts:
            table = (table[:, None, :] * part.dense()[None, :, :]).reshape(-1, self.shape[1])
        return DenseChannel(table)

    def whole(self) -> Channel:
        if self._together is None:
            return ParallelChannel([channel.whole() for channel in self.channels])
        return self._together

    def placed(self, w: np.ndarray) -> np.ndarray:
        whole = self.whole()
        if isinstance(whole, ParallelChannel):
            parts = zip(self.channels, self.reports.T, strict=True)
            return whole.stack(
                [
                    channel.placed(np.bincount(column, w, channel.shape[0]))
                    for channel, column in parts
                ]
            )
        rows = np.ravel_multi_index(
            tuple(self.reports.T), [channel.shape[0] for channel in self.channels]
        )
        return np.bincount(rows, w, whole.shape[0])

    @one_by_one
    def invert(self, w: np.ndarray) -> np.ndarray:
        """The mean over a person's reports of each one's own inversion; of all reports together where one has none of its own."""
        if (together := self._together) is not None:
            return together.invert(self.placed(w))
        parts = [
            c.invert(np.bincount(column, w, c.shape[0]))
            for c, column in zip(self.channels, self.reports.T, strict=True)
        ]
        return np.mean(parts, axis=0)

    def inverse_moments(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Reports of one person are independent given her value, so E[L_s L_t | x'] = [x = x'] for two of them."""
        if (together := self._together) is not None:
            return together.inverse_moments(theta)
        times = len(self.channels)
        parts = [channel.inverse_moments(theta) for channel in self.channels]
        total = np.sum([total for total, _ in parts], axis=0) + times * (times - 1) * theta
        own = np.sum([own for _, own in parts], axis=0) + times * (times - 1)
        return total / times**2, own / times**2

    def simulate_tally(
        self, theta: np.ndarray, n: int, rng: np.random.Generator, values: np.ndarray | None = None
    ) -> tuple[Channel, np.ndarray]:
        """Other people's tuples: a channel of its own."""
        people = rng.multinomial(n, theta / theta.sum()) if values is None else values
        index = np.repeat(np.arange(self.shape[1]), people)
        reports, seen = np.unique(
            np.stack([c.sample_rows(index, rng) for c in self.channels], axis=1),
            axis=0,
            return_counts=True,
        )
        return RepeatedRows(self.channels, reports), seen / seen.sum()

    def sample_rows(self, index: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return self.simulate(index, 0, rng)

    def simulate(self, theta: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        raise ArgumentError(
            message(
                "simulate",
                "needs all possible tuples of reports; these are those seen",
                None,
                "Use simulate_tally",
            )
        )

    simulate_from_values = simulate  # type: ignore[assignment]


class ParallelChannel(StackChannel):
    """Reports of one person one below the other: each counts for the rows of all its parts, which are independent given the value."""

    def __init__(self, channels: Sequence[Channel]) -> None:
        super().__init__(channels, [1] * len(channels))
        self.rows_per_report = float(sum(channel.rows_per_report for channel in channels))

    @cached_property
    def together(self) -> bool:
        return True

    def invert(self, w: np.ndarray) -> np.ndarray:
        return Channel.invert(self, w)

    def second_moments(self, weights: np.ndarray) -> np.ndarray:
        """The squares of each part, and the products of the means of any two parts."""
        total, cross, sums = (np.zeros((len(weights), self.shape[1])) for _ in range(3))
        for channel, part in zip(
            self.channels, np.split(weights, self._ends[:-1], axis=1), strict=True
        ):
            part = np.ascontiguousarray(part)
            means = channel.rows_per_report * channel.rmatvec(np.ascontiguousarray(part.T)).T
            total, sums, cross = (
                total + channel.second_moments(part),
                sums + means,
                cross + means**2,
            )
        return np.asarray(total + sums**2 - cross)

    def inverse_moments(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        squares = self.second_moments(self._inverse / self.rows_per_report)
        return squares @ theta, squares.diagonal().copy()
