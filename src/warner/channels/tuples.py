"""Several reports of one person: about several attributes, or of one value several times."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial, reduce
from itertools import groupby
from math import prod

import numpy as np

from warner._core.errors import ArgumentError, IdentifiabilityError
from warner._core.progress import in_blocks
from warner.channels.base import (
    BlockMoments,
    Channel,
    CompositeChannel,
    DenseChannel,
    FloatArray,
    IntArray,
    LikelihoodOperator,
    People,
    joint_log_factors,
    numbered_pairs,
    one_by_one,
    only_seen_reports,
    summed,
    weighted_counts,
)
from warner.channels.stack import Stacked

_PAIRS = 2**25  # products of pairs of values up to which they are formed for a Gram product
_SMALL = 2**18  # entries up to which the product of the factors is formed


class KroneckerChannel(Channel):
    """The Kronecker product A_1 x ... x A_d of the channels of d attributes, tuples in C order.

    >>> from warner.channels import DirectChannel
    >>> one = DirectChannel(2, 0.25, 0.5)
    >>> KroneckerChannel([one, one]).invert(np.full(4, 0.25)).round(3).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """

    # Products, the inverse and its moments work along one axis after another. Where a report counts
    # in several rows of a factor, a tuple counts in their product: a composite likelihood.

    def __init__(self, channels: Sequence[Channel]) -> None:
        self.channels = tuple(channels)
        self.shape = (prod(c.shape[0] for c in channels), prod(c.shape[1] for c in channels))
        self.rows_per_report = prod(c.rows_per_report for c in channels)
        self.has_closed_moments = all(c.has_closed_moments for c in channels)
        self.log_factors = joint_log_factors(
            [c.log_factors for c in channels], [c.shape[0] for c in channels]
        )

    def _along(
        self,
        v: FloatArray,
        sizes: list[int],
        maps: Sequence[Callable[[FloatArray], FloatArray]],
    ) -> FloatArray:
        """``v`` (prod of sizes, ...) after each linear map is applied along its axis."""
        trailing = v.shape[1:]
        out = v.reshape(*sizes, -1)
        for axis, linear in enumerate(maps):
            moved = np.moveaxis(out, axis, 0)
            flat = linear(np.ascontiguousarray(moved).reshape(moved.shape[0], -1))
            out = np.moveaxis(flat.reshape(-1, *moved.shape[1:]), 0, axis)
        return np.ascontiguousarray(out).reshape(-1, *trailing)

    @property
    def _values(self) -> list[int]:
        return [c.shape[1] for c in self.channels]

    @property
    def _reports(self) -> list[int]:
        return [c.shape[0] for c in self.channels]

    @cached_property
    def _small(self) -> FloatArray | None:
        """The product as a matrix, where it is so small that this is faster."""
        if self.shape[0] * self.shape[1] > _SMALL:
            return None
        return reduce(
            lambda left, right: np.asarray(np.kron(left, right)), [c.dense() for c in self.channels]
        )

    def matvec(self, theta: FloatArray) -> FloatArray:
        if self._small is not None:
            return self._small @ theta
        return self._along(theta, self._values, [c.matvec for c in self.channels])

    def rmatvec(self, r: FloatArray) -> FloatArray:
        if self._small is not None:
            return self._small.T @ r
        return self._along(r, self._reports, [c.rmatvec for c in self.channels])

    @property
    def has_fast_gram_among(self) -> bool:
        return prod(size * (size + 1) // 2 for size in self._values) <= _PAIRS

    def gram_among(self, index: IntArray, v: FloatArray) -> FloatArray:
        """The products of columns, G[x, z] = sum_y v_y prod_i A_i[y_i, x_i] A_i[y_i, z_i]."""
        # Summed along one axis after another, for all pairs of values that occur in ``index``.
        parts = np.unravel_index(index, self._values)
        places: IntArray = np.zeros((index.size, index.size), dtype=np.int64)
        total = v
        for values, channel in zip(parts, self.channels, strict=True):
            occurs = np.zeros(channel.shape[1], dtype=bool)
            occurs[values] = True
            used, column = np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[values]
            places *= used.size * (used.size + 1) // 2
            places += numbered_pairs(used.size)[2][column[:, None], column]
            # The axis in front is summed over, and its pairs become the last axis.
            front = total.reshape(channel.shape[0], -1)
            total = np.ascontiguousarray(channel.pair_products(used, front).T)
        return np.asarray(total.ravel()[places])

    def invert(self, w: FloatArray) -> FloatArray:
        return self._along(w, self._reports, [c.invert for c in self.channels])

    def influence(self, c: FloatArray) -> FloatArray:
        return self._along(c, self._values, [channel.influence for channel in self.channels])

    def inverse_moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        # The inverse's weights multiply over attributes, and so do the sums of their squares.
        firsts = [partial(_first, channel.inverse_moments) for channel in self.channels]
        total = self._along(theta, self._values, firsts)
        at_value = np.ones(1)
        for channel in self.channels:
            even = np.full(channel.shape[1], 1 / channel.shape[1])
            at_value = np.multiply.outer(at_value, channel.inverse_moments(even)[1]).ravel()
        return total, at_value

    def inverse_range(self) -> tuple[FloatArray, FloatArray] | None:
        # The bounds of a product of weights, one from each attribute.
        low = high = np.ones(1)
        for channel in self.channels:
            bounds = channel.inverse_range()
            if bounds is None:
                return None
            products = np.stack(
                [
                    a * b
                    for a in (low, high)
                    for b in (bounds[0].min(keepdims=True), bounds[1].max(keepdims=True))
                ]
            )
            low, high = products.min(axis=0), products.max(axis=0)
        return low, high

    def factors(self, shape: Sequence[int]) -> tuple[Channel, ...] | None:
        return self.channels if self._values == list(shape) else None

    def clusters(self, shape: Sequence[int]) -> list[list[int]] | None:
        clusters: list[list[int]] = []
        axis = 0
        for size in self._values:
            axes: list[int] = []
            while axis < len(shape) and prod(shape[i] for i in axes) < size:
                axes.append(axis)
                axis += 1
            if prod(shape[i] for i in axes) != size:
                return None
            clusters.append(axes)
        return clusters if axis == len(shape) and all(clusters) else None

    def _marginal(
        self, w: FloatArray, shape: Sequence[int], keep: Sequence[int]
    ) -> tuple[LikelihoodOperator, FloatArray] | None:
        # None where a factor's kept attributes are not side by side: such a table is no product.
        clusters = self.clusters(shape)
        if clusters is None:
            return None
        owner = {axis: i for i, axes in enumerate(clusters) for axis in axes}
        runs = [(i, list(axes)) for i, axes in groupby(keep, key=lambda axis: owner[axis])]
        order = [i for i, _ in runs]
        if len(set(order)) < len(order):
            return None
        table = summed(w, self._reports, order)
        rows, channels = [self._reports[i] for i in order], []
        for position, (i, axes) in enumerate(runs):
            sizes = [shape[axis] for axis in clusters[i]]
            moved = np.moveaxis(table.reshape(rows), position, 0)
            marginal = self.channels[i].marginal(
                np.ascontiguousarray(moved).reshape(rows[position], -1),
                sizes,
                [clusters[i].index(axis) for axis in axes],
            )
            if marginal is None or not isinstance(marginal[0], Channel):
                return None
            channels.append(marginal[0])
            rows[position] = marginal[0].shape[0]
            table = np.moveaxis(marginal[1].reshape(-1, *moved.shape[1:]), 0, position)
        weights = np.ascontiguousarray(table).ravel()
        return (channels[0] if len(channels) == 1 else KroneckerChannel(channels)), weights

    def block_moments(
        self, w: FloatArray, block: int, shape: tuple[int, int], columns: FloatArray
    ) -> BlockMoments:
        """The moments of :class:`BlockMoments` for one value of the first of two attributes."""
        # The share of this value, the key, is estimated from the reports on the first attribute
        # alone. So g_v = a b_v and h = a, with E[b_v | x] = [x = v].
        if self.factors(shape) is None:
            return super().block_moments(w, block, shape, columns)
        size = shape[1]
        first, second = self.channels
        total = self.invert(w)[block * size : (block + 1) * size]
        key = first.invert(summed(w, self._reports, [0]))[block]
        squared = first.inverse_moments(np.eye(shape[0]))[0][block]
        mixed = np.tensordot(squared, columns.reshape(*shape, -1), axes=1)
        squares = second.inverse_moments(np.eye(size))[0] @ mixed
        return BlockMoments(
            total, np.full(size, key), squares, mixed, np.tile(mixed.sum(axis=0), (size, 1))
        )

    def simulate(self, theta: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
        if self.rows_per_report == 1:
            return super().simulate(theta, n, rng)
        return self.simulate_from_values(rng.multinomial(n, theta / theta.sum()), rng)

    def simulate_from_values(self, people: IntArray, rng: np.random.Generator) -> FloatArray:
        tuples = people.reshape(self._values)
        table: FloatArray | IntArray
        if self.rows_per_report == 1:
            table = whole_table(self.channels, tuples, rng).ravel()
        else:
            table = marked_table(self.channels, tuples, rng).ravel()
        return np.asarray(table / table.sum())


def _first(
    pair_of: Callable[[FloatArray], tuple[FloatArray, FloatArray]], vector: FloatArray
) -> FloatArray:
    """The first of the two arrays that ``pair_of`` returns."""
    return pair_of(vector)[0]


# -----------------------------------------------------------------------------------------------
# Reports of several parts that are independent given the value.


class KhatriRaoChannel(Channel):
    """The channel A[(y_1, .., y_d), x] = prod_k A_k[y_k, x] of independent reports, in C order.

    Shapes: tables A_k (m_k, K), log_factors (m_k,) or a number each, None where all are 0.

    >>> table = np.array([[0.8, 0.3], [0.2, 0.7]])
    >>> KhatriRaoChannel([table, table]).matvec(np.array([1.0, 0.0])).round(2).tolist()
    [0.64, 0.16, 0.16, 0.04]
    """

    # In two halves L and R: A theta = L diag(theta) R' is one product of matrices.

    def __init__(
        self,
        tables: Sequence[FloatArray],
        log_factors: Sequence[FloatArray | float] | None = None,
    ) -> None:
        self.tables = tuple(tables)
        self._factors = [0.0] * len(self.tables) if log_factors is None else list(log_factors)
        self.log_factors = joint_log_factors(self._factors, [len(t) for t in self.tables])
        half = len(self.tables) // 2
        self._left = products_of_columns(self.tables[:half]) if half else None
        self._right = products_of_columns(self.tables[half:])
        self.shape = (int(np.prod([len(t) for t in self.tables])), self.tables[0].shape[1])

    @one_by_one
    def matvec(self, theta: FloatArray) -> FloatArray:
        if self._left is None:
            return self._right @ theta
        return ((self._left * theta) @ self._right.T).ravel()

    @one_by_one
    def rmatvec(self, r: FloatArray) -> FloatArray:
        if self._left is None:
            return self._right.T @ r
        return np.asarray(
            np.einsum("ix,ix->x", self._left, r.reshape(len(self._left), -1) @ self._right)
        )

    def report_scores(self) -> FloatArray:
        return np.stack(
            np.unravel_index(np.arange(self.shape[0]), [len(t) for t in self.tables])
        ).astype(np.float64)

    def restrict_to_observed(self, w: FloatArray) -> tuple[LikelihoodOperator, FloatArray]:
        # The rows of the observed reports, if at most a quarter of all rows are observed.
        rows = np.flatnonzero(w > 0)
        if 4 * rows.size > self.shape[0]:
            return self, w
        parts = np.unravel_index(rows, [len(t) for t in self.tables])
        channels = [DenseChannel(t) for t in self.tables]
        for channel, factors in zip(channels, self._factors, strict=True):
            channel.log_factors = factors
        observed = RepeatedRows(channels, np.stack(parts, axis=1))
        return observed, w[rows]


def products_of_columns(tables: Sequence[FloatArray]) -> FloatArray:
    """The column-wise Kronecker product of some tables as a matrix."""
    out = tables[0]
    for table in tables[1:]:
        out = (out[:, None, :] * table[None, :, :]).reshape(-1, table.shape[1])
    return out


# -----------------------------------------------------------------------------------------------
# Simulated tables of the reports about several attributes.


_LARGEST_WORK = 2**36  # people times rows that are multiplied


def whole_table(
    channels: Sequence[Channel], people: IntArray, rng: np.random.Generator
) -> IntArray:
    """Counts (m_1, .., m_d) of the reports of ``people`` (K_1, .., K_d), attribute by attribute."""
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
    """:func:`whole_table`, person by person, where some reports count in several rows."""
    n, shape = int(people.sum()), [c.shape[0] for c in channels]
    if n * prod(shape) > _LARGEST_WORK:
        rule = "would take too long here, because bits of several questions are counted together"
        remedy = "Use kind='score'"
        raise ArgumentError("bootstrap", rule, f"{n} people", remedy)
    values = np.unravel_index(np.repeat(np.arange(people.size), people.ravel()), people.shape)
    total = np.zeros((prod(shape[:-1]), shape[-1]))
    for some in in_blocks(n, max(256, 2**22 // max(total.shape))):
        marks = [
            channel.sample_marks(index[some], rng)
            for channel, index in zip(channels, values, strict=True)
        ]
        left = marks[0]
        for right in marks[1:-1]:
            left = (left[:, :, None] * right[:, None, :]).reshape(len(left), -1)
        total += left.T @ marks[-1]
    return total.reshape(shape)


# -----------------------------------------------------------------------------------------------
# Several reports of one value: the elementwise product of their rows [P4 sec V].


_STORED = 2**25  # entries of the rows that are stored
_LISTED = 2**22  # entries of the channel of all tuples of reports
_MULTIPLIED = 2**20  # elements of a block of rows that are multiplied at a time


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
            rule = f"must have {len(channels)} columns, one for each report of a person"
            raise ArgumentError("reports", rule, str(reports.shape))
        self.channels = tuple(channels)
        self.reports = reports
        self.has_closed_moments = all(c.has_closed_moments for c in channels)
        self.shape = (len(reports), channels[0].shape[1])
        # For each report of a person, the logarithms of the rows in use, and which one each has.
        self._logs: list[tuple[FloatArray, IntArray]] = []
        for channel, column in zip(channels, reports.T, strict=True):
            used, row = np.unique(column, return_inverse=True)
            with np.errstate(divide="ignore"):
                self._logs.append((np.log(np.maximum(channel.rows(used), 0.0)), row.ravel()))

    def parts(self, w: FloatArray, n: int) -> list[tuple[LikelihoodOperator, FloatArray, int]]:
        # Equal mechanisms share a channel, and their reports are sorted: only their sum has a law.
        different = {id(channel): channel for channel in self.channels}
        counted = []
        for channel in different.values():
            columns = [t for t, other in enumerate(self.channels) if other is channel]
            rows, people = self.reports[:, columns].ravel(), np.repeat(w, len(columns))
            share = weighted_counts(rows, people, channel.shape[0]) / len(columns)
            counted.append((channel, share, n * len(columns)))
        return counted

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

    @cached_property
    def _kept(self) -> FloatArray | None:
        """All rows, where they are few enough to be stored."""
        if self.shape[0] * self.shape[1] > _STORED:
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
        """The rows in blocks: a slice, the logarithms of entries, and each row's largest, or 0."""
        for rows in in_blocks(self.shape[0], _MULTIPLIED, self.shape[1]):
            logs = np.zeros((rows.stop - rows.start, self.shape[1]))
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
        """The channel of a person's reports together; None where each channel has an inverse."""
        if len(self.channels) < 2 or all(
            channel.has_inverse() for channel in dict.fromkeys(self.channels)
        ):
            return None
        parts = [channel.complete() for channel in self.channels]
        is_enumerable = all(one.rows_per_report == 1 for one in parts)
        if not is_enumerable or prod(one.shape[0] for one in parts) * self.shape[1] > _LISTED:
            return ParallelChannel(parts)
        return DenseChannel(products_of_columns([one.dense() for one in parts]))

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
        # The mean of the inversions of a person's reports, each by its own channel.
        #
        # The reports are inverted together where one of the channels has no inverse.
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
            return np.asarray(np.mean([one.influence(c)[rows] for one, rows in parts], axis=0))
        if self._joint_channel.rows_per_report != 1:
            rule = (
                "have too many combinations of reports for this computation. Estimate fewer "
                "questions together"
            )
            raise IdentifiabilityError("questions", rule)
        sizes = [channel.shape[0] for channel in self.channels]
        rows = np.ravel_multi_index(tuple(self.reports.T), sizes)
        return np.asarray(self._joint_channel.influence(c)[rows])

    def report_scores(self) -> FloatArray:
        # None, (0, m): the numbers of the observed tuples have no meaning.
        return np.zeros((0, self.shape[0]))

    def inverse_moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        # A person's reports are independent given the value: E[L_s L_t | x'] = [x = x'].
        if (joint := self._joint_channel) is not None:
            return joint.inverse_moments(theta)
        times = len(self.channels)
        parts = [channel.inverse_moments(theta) for channel in self.channels]
        total = np.sum([total for total, _ in parts], axis=0) + times * (times - 1) * theta
        at_value = np.sum([at_value for _, at_value in parts], axis=0) + times * (times - 1)
        return total / times**2, at_value / times**2

    def variance_of(self, c: FloatArray, theta: FloatArray) -> FloatArray:
        # A person's reports are independent given the value: E[g_s g_t | x] = c_x^2.
        if (joint := self._joint_channel) is not None:
            return joint.variance_of(c, theta)
        times, of_values = len(self.channels), theta @ (c - theta @ c) ** 2
        each = np.sum([channel.variance_of(c, theta) for channel in self.channels], axis=0)
        return np.asarray((each + times * (times - 1) * of_values) / times**2)

    def covariance(self, theta: FloatArray) -> FloatArray:
        # A person's reports are independent given the value: E[L_s L_t' | x] = e_x e_x'.
        if (joint := self._joint_channel) is not None:
            return joint.covariance(theta)
        times, square = len(self.channels), np.multiply.outer(theta, theta)
        second = np.sum([channel.covariance(theta) + square for channel in self.channels], axis=0)
        second += times * (times - 1) * np.diag(theta)
        return np.asarray(second / times**2 - square)

    def block_moments(
        self, w: FloatArray, block: int, shape: tuple[int, int], columns: FloatArray
    ) -> BlockMoments:
        # A person's reports are independent given the value: E[g_s g_t | x] = [x = v].
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

    def _simulated(
        self, people: People, rng: np.random.Generator
    ) -> tuple[LikelihoodOperator, FloatArray]:
        # Simulated tuples of reports, as an operator of their own.
        theta = people.theta / people.theta.sum()
        index = np.repeat(np.arange(self.shape[1]), people._replace(theta=theta).drawn(rng))
        columns = [channel.sample_rows(index, rng) for channel in self._sampled_channels()]
        reports, counts = np.unique(np.stack(columns, axis=1), axis=0, return_counts=True)
        return RepeatedRows(self.channels, reports), counts / counts.sum()

    def _sampled_channels(self) -> list[Channel]:
        """The channels, refused where one has the rows of observed reports alone."""
        channels = [channel for channel in self.channels if isinstance(channel, Channel)]
        if len(channels) < len(self.channels):
            raise only_seen_reports()
        return channels


class ParallelChannel(Stacked, CompositeChannel):
    """Several reports of each person, one below the other, independent given the value."""

    channels: tuple[Channel, ...]

    def __init__(self, channels: Sequence[Channel]) -> None:
        super().__init__(channels, [1] * len(channels))
        self.rows_per_report = float(sum(channel.rows_per_report for channel in channels))

    def parts(self, w: FloatArray, n: int) -> list[tuple[LikelihoodOperator, FloatArray, int]]:
        weights = zip(self.channels, self.split(w), strict=True)
        return [(channel, rows / rows.sum(), n) for channel, rows in weights]

    def second_moments(self, weights: FloatArray) -> FloatArray:
        # The second moments of each part, and the products of the means of any two parts.
        total, cross, sums = (np.zeros((len(weights), self.shape[1])) for _ in range(3))
        for channel, columns in zip(
            self.channels, np.split(weights, self._ends[:-1], axis=1), strict=True
        ):
            block = np.ascontiguousarray(columns)
            means = channel.rows_per_report * channel.rmatvec(np.ascontiguousarray(block.T)).T
            total = total + channel.second_moments(block)
            sums = sums + means
            cross = cross + means**2
        return np.asarray(total + sums**2 - cross)

    def inverse_moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        squares = self.second_moments(self._inverse / self.rows_per_report)
        return squares @ theta, squares.diagonal().copy()
