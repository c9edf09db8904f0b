"""Several reports of one value by one person: the elementwise product of their rows [P4 sec V]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from math import prod

import numpy as np

from warner._core.errors import ArgumentError, IdentifiabilityError
from warner.channels.arrays import BlockMoments, FloatArray, IntArray, weighted_counts
from warner.channels.base import Channel, CompositeChannel, LikelihoodOperator, one_by_one
from warner.channels.dense import DenseChannel
from warner.channels.stack import StackedRows

_KEPT = 2**25  # entries of the rows that are stored
_LISTED = 2**22  # entries of the channel of all tuples of reports
_BLOCK = 2**20  # elements of a block of rows that are multiplied at a time


class RepeatedRows(LikelihoodOperator):
    """The rows of the observed tuples of reports of one value.

        row i = prod_t A_t[reports[i, t], :]

    Only observed tuples are rows, so columns do not sum to one. Each row is divided by its largest
    entry, because the product of many reports would be 0 in floating point. ``log_factors`` has the
    logarithms of those entries.

    Args:
        channels: A_1 .. A_T, one for each report of a person.
        reports: (m, T) integers, row numbers of the channels.

    Raises:
        ArgumentError: ``reports`` does not have T columns.

    >>> from warner.channels import DirectChannel
    >>> one = DirectChannel(2, 0.25, 0.5)
    >>> RepeatedRows([one, one], np.array([[0, 0], [0, 1]])).dense().round(3).tolist()
    [[1.0, 0.111], [1.0, 1.0]]
    """

    has_row_blocks = True
    lists_all_reports = False

    def __init__(self, channels: Sequence[LikelihoodOperator], reports: IntArray) -> None:
        if reports.ndim != 2 or reports.shape[1] != len(channels):
            raise ArgumentError(
                "reports",
                f"must have one column per report of a person, {len(channels)}",
                str(reports.shape),
            )
        self.channels = tuple(channels)
        self.reports = reports
        self.shape = (len(reports), channels[0].shape[1])
        # For each report of a person, the logarithms of the rows in use, and which one each has.
        self._logs: list[tuple[FloatArray, IntArray]] = []
        for channel, column in zip(channels, reports.T, strict=True):
            used, row = np.unique(column, return_inverse=True)
            with np.errstate(divide="ignore"):
                self._logs.append((np.log(np.maximum(channel.rows(used), 0.0)), row.ravel()))

    @cached_property
    def log_factors(self) -> FloatArray:  # type: ignore[override]  # a computed attribute
        factors = (
            np.concatenate([largest for _, _, largest in self._log_blocks()])
            if len(self.reports)
            else np.zeros(0)
        )
        for channel, column in zip(self.channels, self.reports.T, strict=True):
            factors = factors + channel.log_factors_of(column)
        return factors

    @property
    def has_closed_moments(self) -> bool:
        return all(channel.has_closed_moments for channel in self.channels)

    @cached_property
    def _kept(self) -> FloatArray | None:
        """All rows, where they are few enough to be stored."""
        if self.shape[0] * self.shape[1] > _KEPT:
            return None
        return np.concatenate([block for _, block in self._multiplied_blocks()])

    def blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        if self._kept is None:
            yield from self._multiplied_blocks()
        else:
            yield slice(0, self.shape[0]), self._kept

    def _multiplied_blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        """The rows in blocks, multiplied anew."""
        for rows, logs, largest in self._log_blocks():
            yield rows, np.exp(logs - largest[:, None])

    def _log_blocks(self) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
        """The rows in blocks: a slice, the logarithms of the entries, and the largest of each row.

        The largest is 0 where all entries of a row are 0.
        """
        step = max(1, _BLOCK // self.shape[1])
        for start in range(0, self.shape[0], step):
            rows = slice(start, min(start + step, self.shape[0]))
            logs = np.zeros((rows.stop - start, self.shape[1]))
            for table, row in self._logs:
                logs += table[row[rows]]
            largest = logs.max(axis=1)
            yield rows, logs, np.where(np.isfinite(largest), largest, 0.0)

    def dense(self) -> FloatArray:
        return np.concatenate([block for _, block in self.blocks()])

    def matvec(self, theta: FloatArray) -> FloatArray:
        return np.concatenate([block @ theta for _, block in self.blocks()])

    def rmatvec(self, r: FloatArray) -> FloatArray:
        return np.asarray(np.sum([block.T @ r[rows] for rows, block in self.blocks()], axis=0))

    @cached_property
    def _joint_channel(self) -> Channel | None:
        """The channel of a person's reports together, where a report's own channel has no inverse.

        It is the channel of all tuples of reports, where they can be listed. Otherwise the reports
        stand one below the other. None where every channel has an inverse.
        """
        if len(self.channels) < 2 or all(
            channel.has_inverse() for channel in dict.fromkeys(self.channels)
        ):
            return None
        parts = [channel.complete() for channel in self.channels]
        is_enumerable = all(part.rows_per_report == 1 for part in parts)
        if not is_enumerable or prod(part.shape[0] for part in parts) * self.shape[1] > _LISTED:
            return ParallelChannel(parts)
        table = np.ones((1, self.shape[1]))
        for part in parts:
            table = (table[:, None, :] * part.dense()[None, :, :]).reshape(-1, self.shape[1])
        return DenseChannel(table)

    def complete(self) -> Channel:
        if self._joint_channel is None:
            return ParallelChannel([channel.complete() for channel in self.channels])
        return self._joint_channel

    def complete_weights(self, w: FloatArray) -> FloatArray:
        complete = self.complete()
        if isinstance(complete, ParallelChannel):
            return complete.stack(
                [
                    channel.complete_weights(column)
                    for channel, column in zip(self.channels, self._histograms(w), strict=True)
                ]
            )
        rows = np.ravel_multi_index(
            tuple(self.reports.T), [channel.shape[0] for channel in self.channels]
        )
        return weighted_counts(rows, w, complete.shape[0])

    def _histograms(self, w: FloatArray) -> list[FloatArray]:
        """For each report of a person, the frequencies of the rows of its channel."""
        return [
            weighted_counts(column, w, channel.shape[0])
            for channel, column in zip(self.channels, self.reports.T, strict=True)
        ]

    @one_by_one
    def invert(self, w: FloatArray) -> FloatArray:
        """The mean of the inversions of a person's reports, each by its own channel.

        The reports are inverted together where one of the channels has no inverse.
        """
        if (joint := self._joint_channel) is not None:
            return joint.invert(self.complete_weights(w))
        estimates = [
            channel.invert(histogram)
            for channel, histogram in zip(self.channels, self._histograms(w), strict=True)
        ]
        return np.asarray(np.mean(estimates, axis=0))

    def influence(self, c: FloatArray) -> FloatArray:
        """The mean of the terms of a person's reports; see :meth:`invert`.

        Raises:
            IdentifiabilityError: a report's own channel has no inverse, and the tuples of reports
                are too many to list.
        """
        if self._joint_channel is None:
            parts = zip(self.channels, self.reports.T, strict=True)
            return np.asarray(np.mean([part.influence(c)[rows] for part, rows in parts], axis=0))
        if self._joint_channel.rows_per_report != 1:
            rule = "has too many tuples of reports for the inverse of all of them"
            raise IdentifiabilityError("channel", rule)
        sizes = [channel.shape[0] for channel in self.channels]
        rows = np.ravel_multi_index(tuple(self.reports.T), sizes)
        return np.asarray(self._joint_channel.influence(c)[rows])

    def report_scores(self) -> FloatArray:
        """None, (0, m): the numbers of the observed tuples have no meaning."""
        return np.zeros((0, self.shape[0]))

    def inverse_moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """A person's reports are independent given the value: E[L_s L_t | x'] = [x = x']."""
        if (joint := self._joint_channel) is not None:
            return joint.inverse_moments(theta)
        times = len(self.channels)
        parts = [channel.inverse_moments(theta) for channel in self.channels]
        total = np.sum([total for total, _ in parts], axis=0) + times * (times - 1) * theta
        at_value = np.sum([at_value for _, at_value in parts], axis=0) + times * (times - 1)
        return total / times**2, at_value / times**2

    def variance_of(self, c: FloatArray, theta: FloatArray) -> FloatArray:
        """A person's reports are independent given the value: E[g_s g_t | x] = c_x^2."""
        if (joint := self._joint_channel) is not None:
            return joint.variance_of(c, theta)
        times, of_values = len(self.channels), theta @ (c - theta @ c) ** 2
        each = np.sum([channel.variance_of(c, theta) for channel in self.channels], axis=0)
        return np.asarray((each + times * (times - 1) * of_values) / times**2)

    def covariance(self, theta: FloatArray) -> FloatArray:
        """A person's reports are independent given the value: E[L_s L_t' | x] = e_x e_x'."""
        if (joint := self._joint_channel) is not None:
            return joint.covariance(theta)
        times, square = len(self.channels), np.multiply.outer(theta, theta)
        second = np.sum([channel.covariance(theta) + square for channel in self.channels], axis=0)
        second += times * (times - 1) * np.diag(theta)
        return np.asarray(second / times**2 - square)

    def block_moments(
        self, w: FloatArray, block: int, shape: tuple[int, int], columns: FloatArray
    ) -> BlockMoments:
        """A person's reports are independent given the value: E[g_s g_t | x] = [x = v]."""
        size = shape[1]
        times = len(self.channels)
        parts = [
            channel.block_moments(histogram, block, shape, columns)
            for channel, histogram in zip(self.channels, self._histograms(w), strict=True)
        ]
        pairs = times * (times - 1) * columns[block * size : (block + 1) * size]
        return BlockMoments(
            np.asarray(np.mean([p.total for p in parts], axis=0)),
            np.asarray(np.mean([p.block for p in parts], axis=0)),
            (np.sum([p.squares for p in parts], axis=0) + pairs) / times**2,
            (np.sum([p.mixed for p in parts], axis=0) + pairs) / times**2,
            (np.sum([p.block_squares for p in parts], axis=0) + pairs.sum(axis=0)) / times**2,
        )

    def simulate_tally(
        self,
        theta: FloatArray,
        n: int,
        rng: np.random.Generator,
        values: IntArray | None = None,
    ) -> tuple[LikelihoodOperator, FloatArray]:
        """Simulated tuples of reports, as an operator of their own."""
        people = rng.multinomial(n, theta / theta.sum()) if values is None else values
        index = np.repeat(np.arange(self.shape[1]), people)
        columns = [channel.sample_rows(index, rng) for channel in self._sampled_channels()]
        reports, counts = np.unique(np.stack(columns, axis=1), axis=0, return_counts=True)
        return RepeatedRows(self.channels, reports), counts / counts.sum()

    def _sampled_channels(self) -> list[Channel]:
        """The channels, refused where one has the rows of observed reports alone."""
        channels = [channel for channel in self.channels if isinstance(channel, Channel)]
        if len(channels) < len(self.channels):
            raise ArgumentError(
                "bootstrap",
                "needs a tally of all possible reports; this one keeps the observed reports alone",
                None,
                "Use kind='score', or tally without keep_reports",
            )
        return channels


class ParallelChannel(StackedRows, CompositeChannel):
    """Several reports of each person, one below the other.

    A person's reports count in the rows of all parts. The parts are independent given the value.

    Args:
        channels: one channel for each report of a person.
    """

    channels: tuple[Channel, ...]

    def __init__(self, channels: Sequence[Channel]) -> None:
        super().__init__(channels, [1] * len(channels))
        self.rows_per_report = float(sum(channel.rows_per_report for channel in channels))

    @cached_property
    def is_inverted_together(self) -> bool:
        return True

    def complete(self) -> ParallelChannel:
        return self

    def complete_weights(self, w: FloatArray) -> FloatArray:
        return w

    def invert(self, w: FloatArray) -> FloatArray:
        return self._inverse @ w

    def second_moments(self, weights: FloatArray) -> FloatArray:
        """The second moments of each part, and the products of the means of any two parts."""
        total, cross, sums = (np.zeros((len(weights), self.shape[1])) for _ in range(3))
        for channel, columns in zip(
            self.channels, np.split(weights, self._ends[:-1], axis=1), strict=True
        ):
            part = np.ascontiguousarray(columns)
            means = channel.rows_per_report * channel.rmatvec(np.ascontiguousarray(part.T)).T
            total, sums, cross = (
                total + channel.second_moments(part),
                sums + means,
                cross + means**2,
            )
        return np.asarray(total + sums**2 - cross)

    def variance_of(self, c: FloatArray, theta: FloatArray) -> FloatArray:
        return CompositeChannel.variance_of(self, c, theta)

    def covariance(self, theta: FloatArray) -> FloatArray:
        return CompositeChannel.covariance(self, theta)

    def inverse_moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        squares = self.second_moments(self._inverse / self.rows_per_report)
        return squares @ theta, squares.diagonal().copy()

    def simulate_tally(
        self,
        theta: FloatArray,
        n: int,
        rng: np.random.Generator,
        values: IntArray | None = None,
    ) -> tuple[LikelihoodOperator, FloatArray]:
        return CompositeChannel.simulate_tally(self, theta, n, rng, values)
