"""Channels of Hadamard and projective geometry response: reports are points of a geometry."""

from __future__ import annotations

from abc import abstractmethod
from functools import lru_cache

import numpy as np

from warner._core.progress import in_blocks
from warner._core.projective_space import ProjectiveBlocks, ProjectiveSpace, count_points
from warner._core.sampling import Source
from warner.channels.base import (
    Channel,
    FloatArray,
    IntArray,
    LikelihoodOperator,
    simulate_reports,
    weighted_counts,
)
from warner.channels.support import SupportInverse, normalized

# -----------------------------------------------------------------------------------------------
# Cells of values: most are aligned blocks, a few at the ends are not.
#
# Hadamard response and projective geometry response have such blocks. Let a block be values that
# share all digits but the last j. Most reports are equally likely under the mean of any block. The
# telling reports are those of the same mechanism on blocks.
#
# For the same reason U' A' diag(v) A U needs few products. Let r be the directions U less their
# means over blocks. The telling rows depend on the sums over blocks alone, and all other rows on r
# alone. There A theta hardly varies if theta is smooth, so their v is replaced by its mean. For
# 1000 values, 10^5 people and epsilon 2 the log-evidence of a log-spline moves by less than 0.001.
# It moves by 0.025 where shares fall as 1/x, which is not smooth.


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
    """The least power j with blocks of base^j at most about ``most``; or one less, if too few."""
    j = 0
    while size // base**j > most:
        j += 1
    return j - 1 if j and size // base**j < _LEAST else j


class BorderedChannel(LikelihoodOperator):
    """The rows (r, E) of reports that tell blocks apart, and up to four sums of the others."""

    # Other rows are grouped by whether they are likelier under the first and the last value. E are
    # the cells that are no blocks; ``levels`` are the sums of the other rows in any block.

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
        telling, rest = r[: len(self._rows)], r[len(self._rows) :]
        out = np.empty((self.shape[1], *r.shape[1:]))
        out[self._blocks] = self._inner.rmatvec(telling) + self._levels @ rest
        out[~self._blocks] = self._rows.T @ telling + self._sums.T @ rest
        return out

    def gram_of(self, v: FloatArray, directions: FloatArray) -> FloatArray:
        even, ends = directions[self._blocks], directions[~self._blocks]
        telling, rest = v[: len(self._rows)], v[len(self._rows) :]
        weighted = telling[:, None] * self._rows
        across = (even.T @ self._inner.rmatvec(weighted)) @ ends
        sums = np.multiply.outer(self._levels, even.sum(axis=0)) + self._sums @ ends
        return np.asarray(
            self._inner.gram_of(telling, even)
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
    """The channel on cells that begin at ``starts`` (C,), and the frequencies of its rows."""
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


# -----------------------------------------------------------------------------------------------
# Hadamard response.


_RADIX = 32  # order of the matrices of a fast Hadamard transform


class HadamardChannel(SupportInverse, Channel):
    """The channel of Hadamard response, whose reports are columns of a Hadamard matrix.

        A = (1 + c H) / B,   c = 2p - 1

    Report y in 0..B-1 supports x where row x + 1 of the Hadamard matrix H of order B has +1 at y.
    Its probability is 2p / B there and 2 (1 - p) / B elsewhere. Both products are one fast
    Walsh-Hadamard transform, O(B log B).

    Args:
        size: K.
        order: B, a power of two above K.
        contrast: c.

    >>> HadamardChannel(3, 4, 0.5).matvec(np.array([1.0, 0.0, 0.0])).tolist()
    [0.375, 0.125, 0.375, 0.125]
    """

    has_closed_inverse = True
    supports_overlap_alike = True

    def __init__(self, size: int, order: int, contrast: float) -> None:
        self.shape = (order, size)
        self.contrast = contrast
        self._set_support_law(size, 0.5, contrast / 2)

    def matvec(self, theta: FloatArray) -> FloatArray:
        out = self._signed_sums(theta)
        out *= self.contrast
        out += theta.sum(axis=0)
        out /= self.shape[0]
        return out

    def _signed_sums(self, theta: FloatArray) -> FloatArray:
        """H theta (B,) or (B, C), theta in the rows of its values."""
        order, size = self.shape
        padded = np.zeros((order, *theta.shape[1:]))
        padded[1 : size + 1] = theta
        return walsh(padded)

    def _supporting(self, u: FloatArray) -> FloatArray:
        out = self._signed_sums(u)
        out += u.sum(axis=0)
        out /= 2
        return out

    def rmatvec(self, r: FloatArray) -> FloatArray:
        order, size = self.shape
        out = walsh(r)[1 : size + 1]
        out *= self.contrast
        out += r.sum(axis=0)
        out /= order
        return out

    def support_shares(self, w: FloatArray) -> FloatArray:
        out = walsh(w)[1 : self.shape[1] + 1]
        out += w.sum(axis=0)
        out /= 2
        return out

    def value_cells(self, most: int) -> IntArray:
        # Values x with the same (x + 1) / 2^j, rounded down; the ends are cells of their own.
        block = 2 ** power_of_block(self.shape[1], 2, most)
        return block_starts(self.shape[1], block - 1, block)

    def coarsened(
        self, w: FloatArray, starts: IntArray
    ) -> tuple[LikelihoodOperator, FloatArray] | None:
        # Hadamard response of order B / 2^j on the blocks of value_cells.
        #
        # Over a block of 2^j values the mean of H[y, x] is that of the smaller matrix at y / 2^j,
        # if 2^j divides y. Otherwise it is 0.
        order, size = self.shape
        block = int(np.diff(starts).max(initial=1))
        aligned = block_starts(size, block - 1, block)
        if block < 2 or block & (block - 1) or not np.array_equal(starts, aligned):
            return None
        count = int((np.diff(starts, append=size) == block).sum())
        inner = HadamardChannel(count, order // block, self.contrast)
        return bordered(self, w, starts, inner, np.arange(0, order, block), float(block), 1 / order)

    def gram_of(self, v: FloatArray, directions: FloatArray) -> FloatArray:
        """From B / 2^j rows and the mean of the other v; see :mod:`warner.channels.geometry`.

        The row index y = 0 of H is no value: padded directions U are 0 there. The sums over blocks
        make A U in the rows that 2^j divides. In the others A U = (1'U + c H r) / B with r = U less
        its means over blocks. H H' = B I, and H r = 0 in the rows that 2^j divides.
        """
        (order, size), c = self.shape, self.contrast
        if size <= EXACT_GRAM:
            return super().gram_of(v, directions)
        block = 2 ** ((order // EXACT_GRAM).bit_length() + 1)
        padded = np.zeros((order, directions.shape[1]))
        padded[1 : size + 1] = directions
        sums = padded.reshape(order // block, block, -1).sum(axis=1)
        totals = directions.sum(axis=0)
        telling = totals + c * walsh(sums)
        other = np.ones(order, dtype=bool)
        other[::block] = False
        rest = c**2 * order * (directions.T @ directions - sums.T @ sums / block)
        across = -c * order / block * np.multiply.outer(totals, sums[0])
        rest += across + across.T
        rest += (order - len(sums)) * np.multiply.outer(totals, totals)
        return np.asarray(
            ((telling.T * v[::block]) @ telling + float(v[other].mean()) * rest) / order**2
        )

    def simulate_from_values(self, people: IntArray, rng: np.random.Generator) -> FloatArray:
        # With probability p a report is one of the B/2 that support x, else one of the others.
        #
        # Report by report, or value by value where there are many people for each value.
        n, order, held = int(people.sum()), self.shape[0], np.flatnonzero(people)
        if n <= order * held.size:
            return simulate_reports(self, people, rng)
        total = np.zeros(order, dtype=np.int64)
        for x in held:
            sign = np.bitwise_count(np.arange(order) & (x + 1)) & 1
            supporting = rng.binomial(people[x], (1 + self.contrast) / 2)
            for count, side in ((supporting, sign == 0), (people[x] - supporting, sign == 1)):
                total[side] += rng.multinomial(count, np.full(order // 2, 2 / order))
        return np.asarray(total / n)

    def sample_rows(self, index: IntArray, rng: np.random.Generator) -> IntArray:
        # A uniform report, whose lowest bit that row x + 1 selects is flipped if the sign is not
        # the wanted one. That maps either half of the reports onto the other one to one.
        row = np.asarray(index, dtype=np.int64) + 1
        report = rng.integers(0, self.shape[0], len(row))
        agrees = np.bitwise_count(report & row) & 1 == 0
        should_agree = rng.random(len(row)) < (1 + self.contrast) / 2
        return np.asarray(np.where(agrees != should_agree, report ^ (row & -row), report))


def walsh(values: FloatArray) -> FloatArray:
    """The Walsh-Hadamard transform, sum_y (-1)^popcount(x & y) values_y for every x.

    Shapes: values (B,).
    """
    order = len(values)
    # Entries along the transform stand last, and 32 of them are transformed by one product.
    out = np.array(np.asarray(values).T, dtype=np.float64, order="C")
    shape, half = out.shape, 1
    while half < order:
        signs = _signs(min(_RADIX, order // half))
        if half == 1:
            out = out.reshape(-1, len(signs)) @ signs
        else:
            out = np.matmul(signs, out.reshape(-1, len(signs), half))
        half *= len(signs)
    return np.asarray(out.reshape(shape).T)


@lru_cache(maxsize=8)
def _signs(order: int) -> FloatArray:
    """The Hadamard matrix (-1)^popcount(x & y), (order, order)."""
    each = np.arange(order)
    signs = np.asarray(1.0 - 2.0 * (np.bitwise_count(each[:, None] & each) & 1))
    signs.setflags(write=False)
    return signs


# -----------------------------------------------------------------------------------------------
# Projective geometry response.


_NUMBERS = 2**17  # numbers that are transformed at a time


class OrthogonalReports(Channel):
    """A = low + (high - low) N: N[y, x] = 1 where the points y and x are orthogonal, else 0.

    Attributes:
        points: the points of the values and of the reports, which says what is orthogonal.
        high: the probability of a report under the values that it supports.
        low: its probability under the others.
    """

    points: ProjectiveSpace | ProjectiveBlocks
    high: float
    low: float

    @abstractmethod
    def _supporting(self, theta: FloatArray) -> FloatArray:
        """N theta: the sum of theta over the values that each report supports, (m,) or (m, B)."""

    def matvec(self, theta: FloatArray) -> FloatArray:
        return np.asarray(
            self.low * theta.sum(axis=0) + (self.high - self.low) * self._supporting(theta)
        )

    def rmatvec(self, r: FloatArray) -> FloatArray:
        return np.asarray(
            self.low * r.sum(axis=0) + (self.high - self.low) * self.support_shares(r)
        )

    def columns(self, index: IntArray) -> FloatArray:
        return self._entries(np.arange(self.shape[0])[:, None], np.asarray(index)[None, :])

    def rows(self, index: IntArray) -> FloatArray:
        return self._entries(np.asarray(index)[:, None], np.arange(self.shape[1])[None, :])

    def _entries(self, reports: IntArray, values: IntArray) -> FloatArray:
        return np.where(self.points.are_orthogonal(reports, values), self.high, self.low)

    def sample_rows(self, index: IntArray, rng: np.random.Generator) -> IntArray:
        supporting = rng.random(len(index)) < self.points.orthogonal * self.high
        return self.points.draw(np.asarray(index, dtype=np.int64), supporting, Source(rng))

    def simulate_from_values(self, people: IntArray, rng: np.random.Generator) -> FloatArray:
        # Report by report, or value by value where there are many people for each value.
        if int(people.sum()) > self.shape[0] * self.shape[1]:
            return super().simulate_from_values(people, rng)
        return simulate_reports(self, people, rng)


class ProjectiveChannel(SupportInverse, OrthogonalReports):
    """A = low + (high - low) N: N[y, x] = 1 where the points y and x are orthogonal, else 0.

    Reports are all m points of PG(t-1, q), and values are its first K points. Both products are
    sums over hyperplanes, O(m log m) (see :func:`hyperplane_sums`). Two values share exactly c
    reports, so the law of the support counts has one q and one gap:

        p = s high,   q = c high + (s - c) low,   p - q = (s - c) (high - low)

    Args:
        size: K.
        space: the points.
        high: the probability of a report under the values that it supports.
        low: its probability under the others.

    >>> space = ProjectiveSpace(2, 2)
    >>> ProjectiveChannel(3, space, 0.5, 0.25).matvec(np.array([0.0, 1.0, 0.0])).tolist()
    [0.25, 0.5, 0.25]
    """

    has_closed_inverse = True
    supports_overlap_alike = True

    def __init__(self, size: int, space: ProjectiveSpace, high: float, low: float) -> None:
        self.shape = (space.points, size)
        self.points = self.space = space
        self.high, self.low = high, low
        s, c = space.orthogonal, space.common
        self._set_support_law(size, c * high + (s - c) * low, (s - c) * (high - low))

    def _supporting(self, theta: FloatArray) -> FloatArray:
        """N theta: the sum of theta over the values that each report supports, (m,) or (m, B)."""
        padded = np.zeros((self.shape[0], *theta.shape[1:]))
        padded[: self.shape[1]] = theta
        return hyperplane_sums(padded, self.space)

    def support_shares(self, w: FloatArray) -> FloatArray:
        return hyperplane_sums(w, self.space)[: self.shape[1]]

    def value_cells(self, most: int) -> IntArray:
        # Points that share all digits but the last j; the ends are cells of their own.
        q, size = self.space.prime, self.shape[1]
        j = min(power_of_block(size, q, most), self.space.dimension - 2)
        return block_starts(size, count_points(q, j), q**j)

    def coarsened(
        self, w: FloatArray, starts: IntArray
    ) -> tuple[LikelihoodOperator, FloatArray] | None:
        """The channel of PG(t-1-j, q) on the blocks of :meth:`value_cells`.

        Digits of a report that meet the last j digits of a value are its first j. If they are all
        0, a report is orthogonal to all of a block or to nothing of it. Otherwise it is orthogonal
        to one value of q.
        """
        space, size = self.space, self.shape[1]
        q, block = space.prime, int(np.diff(starts).max(initial=1))
        j = round(float(np.log(block) / np.log(q)))
        lead = count_points(q, j)
        if j < 1 or q**j != block or not np.array_equal(starts, block_starts(size, lead, block)):
            return None
        smaller = ProjectiveSpace(q, space.dimension - j)
        count = int((np.diff(starts, append=size) == block).sum())
        inner = ProjectiveChannel(count, smaller, self.high, self.low)
        level = self.low + (self.high - self.low) / q
        return bordered(self, w, starts, inner, np.arange(smaller.points), 1.0, level)

    def gram_of(self, v: FloatArray, directions: FloatArray) -> FloatArray:
        """From the rows that tell blocks apart and the mean of the other v.

        See :mod:`warner.channels.geometry`. Let r be U less its means over blocks of q^j values,
        and U itself before the first block, where its sum is l. In the other rows
        A U = (high - low) (N r + k), with k = (1'U - l) / q + low 1'U / (high - low). In the rows
        that tell, N r = l. N'N = (s - c) I + c 1 1'.
        """
        space, gain = self.space, self.high - self.low
        q, j = space.prime, 0
        while space.dimension - j > 2 and space.points > EXACT_GRAM * q**j:
            j += 1
        if self.shape[1] <= EXACT_GRAM or j == 0:
            return super().gram_of(v, directions)
        smaller, lead = ProjectiveSpace(q, space.dimension - j), count_points(q, j)
        padded = np.zeros((space.points, directions.shape[1]))
        padded[: self.shape[1]] = directions
        sums = padded[lead:].reshape(smaller.points, q**j, -1).sum(axis=1)
        first, totals = padded[:lead].sum(axis=0), directions.sum(axis=0)
        telling = hyperplane_sums(sums, smaller) + first + self.low / gain * totals
        k = (totals - first) / q + self.low / gain * totals
        across = space.orthogonal * np.multiply.outer(first, k)
        rest = (space.orthogonal - space.common) * (
            directions.T @ directions - sums.T @ sums / q**j
        )
        rest += space.common * np.multiply.outer(first, first) + across + across.T
        rest += space.points * np.multiply.outer(k, k)
        rest -= smaller.points * np.multiply.outer(first + k, first + k)
        told_v, mean = v[: smaller.points], float(v[smaller.points :].mean())
        return np.asarray(gain**2 * ((telling.T * told_v) @ telling + mean * rest))


def hyperplane_sums(f: FloatArray, space: ProjectiveSpace) -> FloatArray:
    """The sum of f (m,) over the points orthogonal to each point (m,) (Feldman, Nelson, Nguyen and
    Talwar 2022).
    """
    # Points with first digit 0 are the recursion. The others are u = (1, x); for v = (v', b):
    #     sum over x with b + x.v' = 0 of f(x) = (1/q) sum_l exp(-2 pi i l b / q) F(l v')
    #     F(z) = sum_x f(x) exp(-2 pi i z.x / q)
    # So F, gathered along the line through each v' and transformed, gives the sums for all b in O(m
    # log m). Where t = 2 the sums have one term each and are exact.
    # Points stand last, so that the transforms run along neighbouring numbers.
    parts = np.ascontiguousarray(f.T).reshape(-1, space.points)
    lines = _lines(space.prime, space.dimension)
    out = np.empty_like(parts)
    for some in in_blocks(len(parts), _NUMBERS, space.points):
        out[some] = _sums(parts[some], space, lines)
    return np.asarray(out.reshape(f.T.shape).T)


def _sums(f: FloatArray, space: ProjectiveSpace, lines: dict[int, IntArray]) -> FloatArray:
    """:func:`hyperplane_sums` of every row of (B, m)."""
    q, t = space.prime, space.dimension
    batch, out = len(f), np.empty_like(f)
    lower, affine = f[:, : space.orthogonal], f[:, space.orthogonal :]
    out[:, 0] = lower.sum(axis=1)
    if t == 2:
        out[:, 1], out[:, 2:] = affine[:, 0], affine[:, :0:-1]
        return out
    # The values along a line are conjugate at l and -l, since f is real: half of them is enough.
    along = np.take(_spectrum(affine, q), lines[t - 1], axis=1)
    if q <= _RADIX:
        sums = along.view(np.float64) @ _from_half(q)
    else:
        sums = np.fft.hfft(along, q, axis=2) / q
    through_zero = _sums(lower, ProjectiveSpace(q, t - 1), lines)
    out[:, 1:] = (sums + through_zero[:, :, None]).reshape(batch, -1)
    return out


def _spectrum(f: FloatArray, q: int) -> np.ndarray:
    """The Fourier transform of every row of (B, q^r) along each of its r digits, complex.

    Of the last digit it has the first ``_last(q)`` values: the others are their conjugates.
    """
    batch, size = f.shape
    if q > _RADIX:
        digits = round(float(np.log(size) / np.log(q)))
        axes = tuple(range(1, digits + 1))
        return np.fft.rfftn(f.reshape(batch, *(q,) * digits), axes=axes).reshape(batch, -1)
    # Several digits are transformed by one product, as in :func:`walsh`.
    most, done = q, 1
    while most * q <= _RADIX:
        most *= q
    out: np.ndarray = f
    while done < size:
        matrix = _fourier(q, min(most, size // done))
        if done == 1:  # real and imaginary parts side by side are complex numbers
            out = (out.reshape(-1, len(matrix)) @ matrix.view(np.float64)).view(np.complex128)
        else:
            out = np.matmul(matrix, out.reshape(-1, len(matrix), done))
        done *= len(matrix)
    return out.reshape(batch, size)


@lru_cache(maxsize=16)
def _fourier(q: int, order: int) -> np.ndarray:
    """exp(-2 pi i x.y / q), (order, order), for the digits of x and y in base q; a power of q."""
    one = np.exp(-2j * np.pi / q * (np.multiply.outer(np.arange(q), np.arange(q)) % q))
    matrix = one
    while len(matrix) < order:
        matrix = np.kron(matrix, one)
    matrix.setflags(write=False)
    return matrix


@lru_cache(maxsize=16)
def _from_half(q: int) -> FloatArray:
    """The matrix that transforms numbers at l = 0..q//2, conjugate at -l, and divides by q.

    Real and imaginary parts are two rows, (2 (q//2 + 1), q).
    """
    half = np.arange(q // 2 + 1)
    turns = _fourier(q, q)[half] / q * np.where(2 * half % q, 2, 1)[:, None]
    matrix = np.stack([turns.real, -turns.imag], axis=1).reshape(-1, q)
    matrix.setflags(write=False)
    return matrix


def _last(q: int) -> int:
    """How many values of the last digit a spectrum has."""
    return q if q <= _RADIX else q // 2 + 1


@lru_cache(maxsize=2)
def _lines(q: int, largest: int) -> dict[int, IntArray]:
    """By t = 2..largest - 1: the places (m, q//2 + 1) of l v, l = 0..q//2, v of PG(t-1, q)."""
    # The places are in a transform with one axis for each digit of x; x meets v backwards. The
    # first digit of v that is not 0 is 1, so l v has at most q//2 on the last axis.
    lines = {}
    for t in range(2, largest):
        space = ProjectiveSpace(q, t)
        numbers = space.numbers(np.arange(space.points))
        steps = np.arange(q // 2 + 1)
        position = np.zeros((space.points, steps.size), dtype=np.int64)
        stride = 1
        for k in range(t):
            digit = numbers // q ** (t - 1 - k) % q
            position += digit[:, None] * steps % q * stride
            stride *= _last(q) if k == 0 else q
        position.setflags(write=False)
        lines[t] = position
    return lines


# -----------------------------------------------------------------------------------------------
# The channel of projective geometry response whose values are divided among several spaces.


class ProjectiveBlocksChannel(OrthogonalReports):
    """A = low + (high - low) N: N[y, x] = 1 where y and x are orthogonal points of one block.

    There are h blocks, and each has the m points of PG(t-1, q). Value x is a point of block i(x).
    Let S_x be the share of the reports that support x, B_i the share of the reports in block i,
    and Theta_i the share of the values there. With d = high - low:

        E S_x = s low + d ((s - c) theta_x + c Theta_i),   E B_i = m low + d s Theta_i
        theta_x = (S_x - s low - (c / s) (B_i - m low)) / (d (s - c))

    So the inverse has three different weights: of reports that support x, of the others in the
    block of x, and of those in other blocks.

    Args:
        size: K.
        points: the blocks, with the points of the values and of the reports.
        high: the probability of a report under the values that it supports.
        low: its probability under the others.

    >>> blocks = ProjectiveBlocks(2, 2, 2, 5)
    >>> channel = ProjectiveBlocksChannel(5, blocks, 0.25, 0.15)
    >>> channel.matvec(np.eye(5)[0]).tolist()
    [0.25, 0.15, 0.15, 0.15, 0.15, 0.15]
    """

    points: ProjectiveBlocks

    has_closed_inverse = True
    supports_overlap_alike = True
    has_closed_moments = True
    lists_all_reports = True

    def __init__(self, size: int, points: ProjectiveBlocks, high: float, low: float) -> None:
        self.shape = (points.reports, size)
        self.points, self.high, self.low = points, high, low
        space = points.space
        self._ratio = space.common / space.orthogonal
        self._scale = 1 / ((space.orthogonal - space.common) * (high - low))
        self._base = (
            -self._scale * low * (space.orthogonal - self._ratio * space.points)
        )  # weight of reports in other blocks

    def _spread(self, theta: FloatArray) -> FloatArray:
        """Numbers of the values (K,) or (K, B) at their points, (m, h) or (m, h B); 0 elsewhere."""
        count, each, m = self.points.count, self.points.each, self.points.space.points
        columns = int(np.prod(theta.shape[1:], dtype=np.int64))
        padded = np.zeros((count * each, columns))
        padded[: self.shape[1]] = theta.reshape(self.shape[1], columns)
        out = np.zeros((m, count * columns))
        out[:each] = padded.reshape(count, each, columns).swapaxes(0, 1).reshape(each, -1)
        return out

    def _supporting(self, theta: FloatArray) -> FloatArray:
        """N theta: the sum of theta over the values that each report supports."""
        sums = hyperplane_sums(self._spread(theta), self.points.space)
        count, m = self.points.count, self.points.space.points
        return np.ascontiguousarray(
            sums.reshape(m, count, -1).swapaxes(0, 1).reshape(count * m, -1)
        ).reshape(self.shape[0], *theta.shape[1:])

    def support_shares(self, w: FloatArray) -> FloatArray:
        count, each, m = self.points.count, self.points.each, self.points.space.points
        by_point = w.reshape(count, m, -1).swapaxes(0, 1).reshape(m, -1)
        sums = hyperplane_sums(by_point, self.points.space)[:each]
        values = sums.reshape(each, count, -1).swapaxes(0, 1).reshape(count * each, -1)
        return np.ascontiguousarray(values[: self.shape[1]]).reshape(self.shape[1], *w.shape[1:])

    def _value_sums(self, theta: FloatArray) -> FloatArray:
        """The sum of numbers of the values of each block, (h,) or (h, B)."""
        starts = np.arange(0, self.shape[1], self.points.each)
        sums = np.add.reduceat(theta, starts, axis=0)
        out = np.zeros((self.points.count, *theta.shape[1:]))
        out[: len(sums)] = sums
        return out

    def invert(self, w: FloatArray) -> FloatArray:
        of_block = w.reshape(self.points.count, self.points.space.points, *w.shape[1:]).sum(axis=1)
        sums = of_block[self.points.block_of(np.arange(self.shape[1]))]  # B_i of each value's block
        weighted = self.support_shares(w) - self._ratio * sums
        return np.asarray(self._scale * weighted + self._base * w.sum(axis=0))

    def influence(self, c: FloatArray) -> FloatArray:
        of_block = np.repeat(self._value_sums(c), self.points.space.points, axis=0)
        weighted = self._supporting(c) - self._ratio * of_block
        return np.asarray(self._scale * weighted + self._base * c.sum(axis=0))

    def _weights(self) -> tuple[float, float, float]:
        """The weights of a report that supports x, of another in its block, and of the rest."""
        within = self._base - self._scale * self._ratio
        return within + self._scale, within, self._base

    def naive_estimate(self, w: FloatArray) -> FloatArray:
        return normalized(self.support_shares(w))

    def inverse_moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        space, gain = self.points.space, self.high - self.low
        total = theta.sum(axis=0)
        of_block = self._value_sums(theta)[self.points.block_of(np.arange(self.shape[1]))]
        supports = space.orthogonal * self.low * total + gain * (
            (space.orthogonal - space.common) * theta + space.common * of_block
        )
        within = space.points * self.low * total + gain * space.orthogonal * of_block
        on, off, outside = (weight**2 for weight in self._weights())
        moments = on * supports + off * (within - supports) + outside * (total - within)
        p = space.orthogonal * self.high
        rest = (space.points - space.orthogonal) * self.low
        at_value = on * p + off * rest + outside * (1 - p - rest)
        return np.asarray(moments), np.full(self.shape[1], at_value)

    def inverse_range(self) -> tuple[FloatArray, FloatArray]:
        weights = self._weights()
        return np.full(self.shape[1], min(weights)), np.full(self.shape[1], max(weights))
