"""Channels on cells of values, where most cells are aligned blocks and a few at the ends are not.

Hadamard response and projective geometry response have such blocks. Let a block be values that
share all digits but the last j. Most reports are equally likely under the mean of any block. The
telling reports are those of the same mechanism on blocks.

For the same reason U' A' diag(v) A U needs few products. Let r be the directions U less their means
over blocks. The telling rows depend on the sums over blocks alone, and all other rows on r alone.
There A theta hardly varies if theta is smooth, so their v is replaced by its mean. For 1000 values,
10^5 people and epsilon 2 the log-evidence of a log-spline moves by less than 0.001. It moves by
0.025 where shares fall as 1/x, which is not smooth.
"""

from __future__ import annotations

import numpy as np

from warner.channels.arrays import FloatArray, IntArray, weighted_counts
from warner.channels.base import LikelihoodOperator

# Fewer cells than this would not hold the shapes that reports of 10^5 people tell apart.
_LEAST = 400
# Values up to which ``gram_of`` is exact, and about the number of its rows beyond.
EXACT_GRAM = 512


def block_starts(size: int, lead: int, block: int) -> IntArray:
    """The first values of the cells: the two ends, aligned blocks, and what is left beside them."""
    blocks = np.arange(lead, size - block, block)
    rest = blocks[-1] + block if blocks.size else 1
    return np.unique(np.concatenate([[0, 1], blocks, [rest, size - 1]]))


def power_of_block(size: int, base: int, most: int) -> int:
    """j, the least power for which blocks of base^j values are at most about ``most``.

    One less where they would be too few.
    """
    j = 0
    while size // base**j > most:
        j += 1
    return j - 1 if j and size // base**j < _LEAST else j


class BorderedChannel(LikelihoodOperator):
    """The rows of reports that tell blocks apart, and a few sums of the other rows.

    The other rows are added in up to four groups: those that are likelier under the first value or
    not, and under the last value or not.

    Args:
        inner: the rows of the telling reports on the blocks, (r, F).
        rows: (r, E), their entries in the other cells.
        sums: (g, E), the sums of the other rows in the other cells.
        levels: (g,), the sums of the other rows in any block.
        blocks: (C,) booleans, the cells that are blocks.
    """

    lists_all_reports = False

    def __init__(
        self,
        inner: LikelihoodOperator,
        rows: FloatArray,
        sums: FloatArray,
        levels: FloatArray,
        blocks: np.ndarray,
    ) -> None:
        self.shape = (len(rows) + len(sums), len(blocks))
        self._inner, self._rows, self._sums, self._levels = inner, rows, sums, levels
        self._blocks = blocks

    def matvec(self, theta: FloatArray) -> FloatArray:
        even, ends = theta[self._blocks], theta[~self._blocks]
        return np.concatenate(
            [
                self._inner.matvec(even) + self._rows @ ends,
                np.multiply.outer(self._levels, even.sum(axis=0)) + self._sums @ ends,
            ]
        )

    def rmatvec(self, r: FloatArray) -> FloatArray:
        told, rest = r[: len(self._rows)], r[len(self._rows) :]
        out = np.empty((self.shape[1], *r.shape[1:]))
        out[self._blocks] = self._inner.rmatvec(told) + self._levels @ rest
        out[~self._blocks] = self._rows.T @ told + self._sums.T @ rest
        return out

    def gram_of(self, v: FloatArray, directions: FloatArray) -> FloatArray:
        even, ends = directions[self._blocks], directions[~self._blocks]
        told, rest = v[: len(self._rows)], v[len(self._rows) :]
        weighted = told[:, None] * self._rows
        across = (even.T @ self._inner.rmatvec(weighted)) @ ends
        sums = np.multiply.outer(self._levels, even.sum(axis=0)) + self._sums @ ends
        return np.asarray(
            self._inner.gram_of(told, even)
            + across
            + across.T
            + ends.T @ (self._rows.T @ weighted) @ ends
            + (sums.T * rest) @ sums
        )


def bordered(
    channel: LikelihoodOperator,
    w: FloatArray,
    starts: IntArray,
    inner: LikelihoodOperator,
    telling: IntArray,
    factor: float,
    level: float,
) -> tuple[BorderedChannel, FloatArray]:
    """The channel on cells and the frequencies of its rows.

    Shapes: channel (m, K), w (m,), starts (C,).
    """
    sizes = np.diff(starts, append=channel.shape[1])
    # The blocks are the cells of the largest size, and the last of them stands before the end.
    blocks = np.zeros(len(starts), dtype=bool)
    first = int(np.argmax(sizes == sizes.max()))
    blocks[first : first + inner.shape[1]] = True
    even = np.zeros((channel.shape[1], int((~blocks).sum())))
    for column, cell in enumerate(np.flatnonzero(~blocks)):
        even[starts[cell] : starts[cell] + sizes[cell], column] = 1 / sizes[cell]
    entries = channel.matvec(even)
    others = np.ones(channel.shape[0], dtype=bool)
    others[telling] = False
    ends = entries[others][:, [0, -1]]
    likelier = ends > ends.mean(axis=0)
    groups = np.unique(2 * likelier[:, 0] + likelier[:, 1], return_inverse=True)[1]
    count = int(groups.max(initial=-1)) + 1
    sums = np.stack(
        [weighted_counts(groups, column, count) for column in entries[others].T], axis=1
    )
    levels = np.asarray(level * np.bincount(groups, minlength=count), dtype=np.float64)
    operator = BorderedChannel(inner, factor * entries[telling], sums, levels, blocks)
    return operator, np.concatenate([w[telling], weighted_counts(groups, w[others], count)])
