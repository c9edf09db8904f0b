"""Several attributes of one person, each randomised separately [P5 sec 3.3]."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial, reduce
from itertools import groupby
from math import prod

import numpy as np

from warner.channels.arrays import (
    BlockMoments,
    FloatArray,
    IntArray,
    joint_log_factors,
    kron,
    numbered_pairs,
    summed,
)
from warner.channels.base import Channel, LikelihoodOperator, one_by_one
from warner.channels.dense import DenseChannel
from warner.channels.repeated import RepeatedRows
from warner.channels.simulated_tables import marked_table, whole_table

_PAIRS = 2**25  # products of pairs of values up to which they are formed for a Gram product
_SMALL = 2**18  # entries up to which the product of the factors is formed


class KroneckerChannel(Channel):
    """The Kronecker product A_1 x ... x A_d of the channels of d attributes.

    Its values are the tuples of values, and its rows the tuples of rows, both in C order.

    Products, the inverse and its moments work along one axis after another,
    O(prod K times the sum of costs of A_i / K_i). A is not formed unless it is small. Where a
    report counts in several rows of a factor, a tuple of reports counts in their product, and the
    channel is a composite likelihood.

    Args:
        channels: A_1 .. A_d.

    >>> from warner.channels import DirectChannel
    >>> one = DirectChannel(2, 0.25, 0.5)
    >>> KroneckerChannel([one, one]).invert(np.full(4, 0.25)).round(3).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """

    def __init__(self, channels: Sequence[Channel]) -> None:
        self.channels = tuple(channels)
        self.shape = (prod(c.shape[0] for c in channels), prod(c.shape[1] for c in channels))
        self.rows_per_report = prod(c.rows_per_report for c in channels)
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
    def has_closed_moments(self) -> bool:
        return all(channel.has_closed_moments for channel in self.channels)

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
        return reduce(kron, [channel.dense() for channel in self.channels])

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
        """The products of columns, from products of pairs of columns of each factor.

            G[x, z] = sum_y v_y prod_i A_i[y_i, x_i] A_i[y_i, z_i]

        The sum is computed along one axis after another, for all pairs of values that occur in
        ``index``. Then each entry of G is one entry of the result.
        """
        parts = np.unravel_index(index, self._values)
        places: IntArray = np.zeros((index.size, index.size), dtype=np.int64)
        total = v
        for part, channel in zip(parts, self.channels, strict=True):
            occurs = np.zeros(channel.shape[1], dtype=bool)
            occurs[part] = True
            used, own = np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[part]
            places *= used.size * (used.size + 1) // 2
            places += numbered_pairs(used.size)[2][own[:, None], own]
            # The axis in front is summed over, and its pairs become the last axis.
            front = total.reshape(channel.shape[0], -1)
            total = np.ascontiguousarray(channel.pair_products(used, front).T)
        return np.asarray(total.ravel()[places])

    def invert(self, w: FloatArray) -> FloatArray:
        return self._along(w, self._reports, [c.invert for c in self.channels])

    def influence(self, c: FloatArray) -> FloatArray:
        return self._along(c, self._values, [channel.influence for channel in self.channels])

    def inverse_moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The inverse's weights multiply over attributes, and so do the sums of their squares."""
        firsts = [partial(_first, channel.inverse_moments) for channel in self.channels]
        total = self._along(theta, self._values, firsts)
        at_value = np.ones(1)
        for channel in self.channels:
            even = np.full(channel.shape[1], 1 / channel.shape[1])
            at_value = np.multiply.outer(at_value, channel.inverse_moments(even)[1]).ravel()
        return total, at_value

    def inverse_range(self) -> tuple[FloatArray, FloatArray] | None:
        """The bounds of a product of weights, one from each attribute."""
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
        found: list[list[int]] = []
        axis = 0
        for size in self._values:
            axes: list[int] = []
            while axis < len(shape) and prod(shape[i] for i in axes) < size:
                axes.append(axis)
                axis += 1
            if prod(shape[i] for i in axes) != size:
                return None
            found.append(axes)
        return found if axis == len(shape) and all(found) else None

    def _marginal(
        self, w: FloatArray, shape: Sequence[int], keep: Sequence[int]
    ) -> tuple[LikelihoodOperator, FloatArray] | None:
        if self.factors(shape) is None:
            return self._marginal_of_clusters(w, shape, keep)
        kept = [self.channels[axis] for axis in keep]
        weights = summed(w, self._reports, keep)
        return (kept[0] if len(kept) == 1 else KroneckerChannel(kept)), weights

    def _marginal_of_clusters(
        self, w: FloatArray, shape: Sequence[int], keep: Sequence[int]
    ) -> tuple[LikelihoodOperator, FloatArray] | None:
        """:meth:`_marginal` where a factor is of several attributes, or None.

        None also where the kept attributes of a factor do not stand side by side: such a table is
        no product.
        """
        clusters = self.clusters(shape)
        if clusters is None:
            return None
        owner = {axis: i for i, axes in enumerate(clusters) for axis in axes}
        kept = [(i, list(axes)) for i, axes in groupby(keep, key=lambda axis: owner[axis])]
        order = [i for i, _ in kept]
        if len(set(order)) < len(order):
            return None
        table = summed(w, self._reports, order)
        rows, channels = [self._reports[i] for i in order], []
        for place, (i, axes) in enumerate(kept):
            sizes = [shape[axis] for axis in clusters[i]]
            moved = np.moveaxis(table.reshape(rows), place, 0)
            found = self.channels[i].marginal(
                np.ascontiguousarray(moved).reshape(rows[place], -1),
                sizes,
                [clusters[i].index(axis) for axis in axes],
            )
            if found is None or not isinstance(found[0], Channel):
                return None
            channels.append(found[0])
            rows[place] = found[0].shape[0]
            table = np.moveaxis(found[1].reshape(-1, *moved.shape[1:]), 0, place)
        weights = np.ascontiguousarray(table).ravel()
        return (channels[0] if len(channels) == 1 else KroneckerChannel(channels)), weights

    def block_moments(
        self, w: FloatArray, block: int, shape: tuple[int, int], columns: FloatArray
    ) -> BlockMoments:
        """The moments of :class:`BlockMoments` for one value of the first of two attributes.

        The share of this value, the key, is estimated from the reports on the first attribute
        alone. So g_v = a b_v and h = a. Here a is the term of the first attribute, and b_v that of
        the second, with E[b_v | x] = [x = v].
        """
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
    """The channel of tuples of reports that are independent given the value, in C order.

        A[(y_1, .., y_d), x] = A_1[y_1, x] .. A_d[y_d, x]

    This is the column-wise Kronecker product. The factors are multiplied in two halves L and R, so
    that A theta = L diag(theta) R' is one product of matrices.

    Args:
        tables: A_1 .. A_d, (m_k, K) each.
        log_factors: those of the rows of each table, (m_k,) or one number; None where all are 0.

    >>> table = np.array([[0.8, 0.3], [0.2, 0.7]])
    >>> KhatriRaoChannel([table, table]).matvec(np.array([1.0, 0.0])).round(2).tolist()
    [0.64, 0.16, 0.16, 0.04]
    """

    has_independent_parts = True

    def __init__(
        self,
        tables: Sequence[FloatArray],
        log_factors: Sequence[FloatArray | float] | None = None,
    ) -> None:
        self.tables = tuple(tables)
        self._factors = [0.0] * len(self.tables) if log_factors is None else list(log_factors)
        self.log_factors = joint_log_factors(self._factors, [len(t) for t in self.tables])
        half = len(self.tables) // 2
        self._left = _multiplied(self.tables[:half]) if half else None
        self._right = _multiplied(self.tables[half:])
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
        back: FloatArray = np.einsum(
            "ix,ix->x", self._left, r.reshape(len(self._left), -1) @ self._right
        )
        return back

    def report_scores(self) -> FloatArray:
        return np.stack(
            np.unravel_index(np.arange(self.shape[0]), [len(t) for t in self.tables])
        ).astype(np.float64)

    def restrict_to_observed(self, w: FloatArray) -> tuple[LikelihoodOperator, FloatArray]:
        """The rows of the observed reports, if at most a quarter of all rows are observed."""
        rows = np.flatnonzero(w > 0)
        if 4 * rows.size > self.shape[0]:
            return self, w
        parts = np.unravel_index(rows, [len(t) for t in self.tables])
        channels = [DenseChannel(t) for t in self.tables]
        for channel, factors in zip(channels, self._factors, strict=True):
            channel.log_factors = factors
        observed = RepeatedRows(channels, np.stack(parts, axis=1))
        return observed, w[rows]


def _multiplied(tables: Sequence[FloatArray]) -> FloatArray:
    """The column-wise Kronecker product of some tables as a matrix."""
    out = tables[0]
    for table in tables[1:]:
        out = (out[:, None, :] * table[None, :, :]).reshape(-1, table.shape[1])
    return out
