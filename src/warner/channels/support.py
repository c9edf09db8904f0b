"""Reports that support a set of values: values themselves, bit sums, and observed sets of bits."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from warner._core.errors import ArgumentError
from warner._core.progress import in_blocks
from warner.channels.base import (
    BlockMoments,
    Channel,
    CompositeChannel,
    FloatArray,
    IntArray,
    LikelihoodOperator,
    NearlyConstantRows,
    People,
    SupportLaw,
    numbered_pairs,
    one_by_one,
    summed,
)
from warner.reports.counting import count_rows

# -----------------------------------------------------------------------------------------------
# The Fisher information of reports that are sets of values, without a list of all the sets.


# Nodes s of the integral, log t = s - exp(-s). Beyond the ends the integrand is below 1e-16.
_STEP = 0.06
_NODES = np.arange(-4.2, 6.7, _STEP)
_WORK = 5e10  # multiplications up to which the information is computed


def support_information(law: SupportLaw, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The Fisher information (K, K) at theta (K,) of one report whose bits support values."""
    # Under x, bit x is 1 with p_x = q_x + gap_x, bit j with q_j; bits are independent, or a fixed
    # number d is 1. Relative to a law P0 that depends on no value a report's row has the entries
    #     a_x = h_x where bit x is 1, else l_x;   h = p / q,   l = (1 - p) / (1 - q)
    # and the information E_0[a a' / (a.theta)] is, as 1 / D = int_0^inf exp(-t D) dt,
    #     I[x, z] = int f_x f_z M dt,   M = prod_j m_j,   m_j = E_0 exp(-t theta_j a_j)
    #     f_x = E_0[a_x exp(-t theta_x a_x)] / m_x
    # with f_x^2 replaced by E_0[a_x^2 exp(-t theta_x a_x)] / m_x on the diagonal. For fixed d, P0
    # is independent bits of mean d / K given their sum, by a finite Fourier transform. Reports that
    # one value alone makes (q_x = 0) add p_x / theta_x to the diagonal; of fixed d, K is the number
    # of the other values.
    size, p = theta.size, law.q + law.gap
    named = law.q <= 0
    shared = size - int(named.sum())
    q = law.q if law.ones is None else np.where(named, 0.0, law.ones / shared)
    low = (1 - p) / (1 - q)
    high = np.divide(p, q, out=low.copy(), where=q > 0)
    spins, picks = _sum_of_bits(law, shared)
    if _NODES.size * spins.size * size**2 > _WORK:
        rule = "has too many values to compute the Fisher information"
        raise ArgumentError("domain", rule, str(size), "Use fewer values")
    # Both exponents of a value are taken relative to the smaller one, so that neither m_j is 0.
    smaller = np.minimum(low, high)
    scale = smaller.min()
    total, diagonal = np.zeros((size, size)), np.zeros(size)
    for s in _NODES:
        t = np.exp(s - np.exp(-s)) / scale
        off = (1 - q) * np.exp(-t * theta * (low - smaller))
        on = spins[:, None] * (q * np.exp(-t * theta * (high - smaller)))
        m = off + on
        step = _STEP * t * (1 + np.exp(-s)) * np.exp(-t * (theta @ smaller))
        weight = step * picks * m.prod(axis=1)
        f = (low * off + high * on) / m
        total += ((f * weight[:, None]).T @ f).real
        diagonal += (weight @ ((low**2 * off + high**2 * on) / m)).real
    np.fill_diagonal(total, diagonal)
    share = theta[named]
    total[named, named] += np.divide(p[named], share, out=np.zeros(share.size), where=share > 0)
    return total, np.diag(np.where(named & (theta <= 0), p, 0.0))


def _sum_of_bits(law: SupportLaw, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Factors z (T,) of a bit of 1, and weights (T,), that make a mean over sets of fixed size.

    E[g(b) | sum b = d] = sum_T weight E[g(b) z^(sum b)] over independent bits b of mean d / K.
    """
    if law.ones is None:
        return np.ones(1), np.ones(1)
    spins = np.exp(2j * np.pi * np.arange(size + 1) / (size + 1))
    mean = law.ones / size
    picks = spins**-law.ones
    return spins, picks / (picks @ (1 - mean + mean * spins) ** size)


def whole_report_gain(law: SupportLaw, size: int) -> float:
    """1 - trace V / trace C at equal shares: V is the bound of whole reports, C that of bit sums.

    Both are of one report, on vectors that sum to 0. At other shares whole reports gain more: a
    report that supports a common value says less of the others that it supports.
    """
    # S values have the law q, gap of bits that others raise; each of the N others has a bit that it
    # alone raises, with the probability r. Where no such bit is set, the row of a report with s of
    # the S bits is proportional to 1 + (e - 1) b, with mean m_s = 1 + (e - 1) s / K. Given s all
    # its patterns are equally likely. By symmetry both matrices have three eigenvalues: of
    # contrasts among the S, among the N, and between the two.
    raised = law.q > 0
    shared, alone = int(raised.sum()), int((~raised).sum())
    if law.ones is not None or shared == 0:
        return 0.0
    q, gap = float(law.q[raised][0]), float(law.gap[raised][0])
    r = float(law.gap[~raised][0]) if alone else 1.0
    s = np.arange(shared + 1)
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, shared + 1)))])
    chance = np.exp(logs[-1] - logs - logs[::-1] + s * np.log(q) + s[::-1] * np.log1p(-q))
    more = (q + gap) * (1 - q) / (q * (1 - q - gap)) - 1
    # E[g(s)] / m_s^2 over reports of probability c Binomial(s) m_s, c that a value's own bit is 0.
    weight = chance * (1 - q - gap) / (1 - q) / (1 + more * s / size)
    one = 1 + more * s / shared  # the mean entry of an S value
    square = 1 + (2 + more) * more * s / shared
    pair = 1 + 2 * more * s / shared
    pair = pair + more**2 * s * (s - 1) / (shared * max(shared - 1, 1))
    diagonal, off, cross, rest = (float(weight @ v) for v in (square, pair, one, np.ones(s.size)))
    named = r * size  # the information of a bit that names its value
    mean = q + gap / size
    noise = (mean * (1 - mean) / gap**2 + size**-2, (1 - r / size) / (r * size) + size**-2)
    whole = (shared - 1) / (diagonal - off) if shared > 1 else 0.0
    sums = (shared - 1) * noise[0]
    if alone:
        whole += (alone - 1) / named
        sums += (alone - 1) * noise[1]
        # The two sums of shares, (1, -1) in units of values: by sums they have the covariance M.
        between = (diagonal + (shared - 1) * off) / shared + named / alone + rest - 2 * cross
        whole += (1 / shared + 1 / alone) / between
        covariance = np.diag([shared * noise[0], alone * noise[1]])
        covariance -= np.outer([shared, alone], [shared, alone]) / size**2
        off_sum = covariance.sum(axis=1)
        covariance -= np.outer(off_sum, off_sum) / off_sum.sum()
        sums += float(covariance[0, 0]) * (1 / shared + 1 / alone)
    return 1 - whole / sums


_DRAWS = 2**19  # random numbers for which subsets are drawn one by one
_NORMAL = 400.0  # variance of a count, from which it is drawn as normal where tallies are many

Levels: TypeAlias = FloatArray | float


def support_probabilities(theta: FloatArray, q: FloatArray, gap: FloatArray) -> FloatArray:
    """q_x sum(theta) + gap_x theta_x for every x, of theta (K,) or of the columns of (K, B)."""
    # Values come last here, so that numbers (K,) line up with one vector and with several.
    t = theta.T
    return np.asarray((q * t.sum(axis=-1, keepdims=True) + gap * t).T)


def normalized(shares: FloatArray) -> FloatArray:
    """Support counts as a distribution; uniform where no report supports any value."""
    total = shares.sum()
    return shares / total if total > 0 else np.full(shares.size, 1 / shares.size)


def support_moments(
    theta: FloatArray, q: FloatArray, gap: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """``inverse_moments`` of L[x] = (b_x - q_x) / gap_x, linear in Pr(b_x = 1), as b_x^2 = b_x."""
    t = theta.T
    total = (
        support_probabilities(theta, q, gap).T * (1 - 2 * q) + q**2 * t.sum(axis=-1, keepdims=True)
    ) / gap**2
    return total.T, ((q + gap) * (1 - 2 * q) + q**2) / gap**2


def two_level_pairs(all_rows: FloatArray, one: FloatArray, both: FloatArray) -> FloatArray:
    """``pair_products`` of columns that are a common vector, except in the value's own rows."""
    # With rows a_y + b_y [y belongs to x]: a_y^2 everywhere, a_y b_y more in the rows of x and of
    # z, and b_y^2 more where x = z.
    left, right, number = numbered_pairs(len(one))
    out = one[left]
    out += one[right]
    out += all_rows
    out[number.diagonal()] += both
    return out


class SupportInverse(LikelihoodOperator):
    """Operators whose unbiased inverse is (S_x - q_x) / gap_x, S_x the share that supports x.

    Attributes:
        q: (K,), Pr(support x | another value). It is 0 where only x itself makes such reports.
        gap: (K,), Pr(support x | x) - q_x. It is stored because the difference cancels digits.
        ones: how many values each report supports, where that number is fixed.
    """

    q: FloatArray
    gap: FloatArray
    ones: int | None = None
    has_closed_moments = True

    def _set_support_law(self, size: int, q: Levels, gap: Levels) -> None:
        """Store q and gap, each one number or (K,), as arrays (K,)."""
        self.q, self.gap = (
            np.broadcast_to(np.asarray(v, dtype=np.float64), (size,)) for v in (q, gap)
        )

    def support_law(self) -> SupportLaw:
        return SupportLaw(self.q, self.gap, self.ones)

    def invert(self, w: FloatArray) -> FloatArray:
        counted = self.support_shares(w).T
        return np.asarray(((counted - self.q * w.sum(axis=0, keepdims=True).T) / self.gap).T)

    def inverse_moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        return support_moments(theta, self.q, self.gap)

    def influence(self, c: FloatArray) -> FloatArray:
        """g = N u - q'u with u = c / gap, see :meth:`_supporting`."""
        u = (c.T / self.gap).T
        return np.asarray(self._supporting(u) - self.q @ u)

    @abstractmethod
    def _supporting(self, u: FloatArray) -> FloatArray:
        """N u: for each row, what its reports add to the sum of u over supported values."""

    def block_moments(
        self, w: FloatArray, block: int, shape: tuple[int, int], columns: FloatArray
    ) -> BlockMoments:
        members = slice(block * shape[1], (block + 1) * shape[1])
        squares = self.inverse_moments(columns)[0][members]
        mixed = self._mixed_moments(w, members, columns, squares)
        return BlockMoments.of_sums(self.invert(w)[members], squares, mixed)

    def _mixed_moments(
        self, w: FloatArray, members: slice, columns: FloatArray, squares: FloatArray
    ) -> FloatArray:
        """E[g_v h] (V, B), h the sum of a block's terms: the inverse of h d, d (m,) the chances."""
        inside = np.zeros(self.shape[1])
        inside[members] = 1.0
        weighted = (self.influence(inside) * self.matvec(columns).T).T
        return self.invert(weighted)[members]

    def inverse_range(self) -> tuple[FloatArray, FloatArray]:
        return -self.q / self.gap, (1 - self.q) / self.gap

    def naive_estimate(self, w: FloatArray) -> FloatArray:
        return normalized(self.support_shares(w))

    def supports(self, w: FloatArray) -> tuple[LikelihoodOperator, FloatArray]:
        size, shares = self.shape[1], self.support_shares(w)
        channel = SupportChannel(size, self.q, self.gap, self.ones)
        return channel, np.concatenate([shares, 1 - shares]) / size


class DirectChannel(SupportInverse, Channel):
    """The channel of reports that are values themselves: A = q 1' + gap I.

    With one q for all values it is randomised response. With q_y = 0 a report y can only come from
    y itself, as in utility-optimised randomised response [P2 def 4].

    Args:
        size: K.
        q: one number or (K,).
        gap: one number, since columns sum to one.

    >>> DirectChannel(2, 0.25, 0.5).invert(np.array([0.6, 0.4])).round(3).tolist()
    [0.7, 0.3]
    """

    has_closed_inverse = True
    reports_are_values = True

    def __init__(self, size: int, q: Levels, gap: float) -> None:
        self.shape = (size, size)
        self._set_support_law(size, q, gap)

    def matvec(self, theta: FloatArray) -> FloatArray:
        return support_probabilities(theta, self.q, self.gap)

    def rmatvec(self, r: FloatArray) -> FloatArray:
        t = r.T
        return ((t @ self.q)[..., None] + self.gap * t).T

    def pair_products(self, index: IntArray, r: FloatArray) -> FloatArray:
        q, gap, rows = self.q[index, None], self.gap[index, None], r[index]
        return two_level_pairs(self.q**2 @ r, q * gap * rows, gap**2 * rows)

    def support_shares(self, w: FloatArray) -> FloatArray:
        return w.copy()

    def _supporting(self, u: FloatArray) -> FloatArray:
        return u

    def covariance(self, theta: FloatArray) -> FloatArray:
        # (diag w - w w') / gap^2, where w = A theta are the chances of the reports.
        chance = self.matvec(theta)
        return np.asarray((np.diag(chance) - np.multiply.outer(chance, chance)) / self.gap[0] ** 2)

    def coarsened(
        self, w: FloatArray, starts: IntArray
    ) -> tuple[LikelihoodOperator, FloatArray] | None:
        # Randomised response on cells: rows with one q are proportional, and are added.
        if not _is_constant_within(self.q, starts):
            return None
        channel = DirectChannel(len(starts), np.add.reduceat(self.q, starts), self.gap[0])
        return channel, np.add.reduceat(w, starts)

    def gram_of(self, v: FloatArray, directions: FloatArray) -> FloatArray:
        return _diagonal_gram(
            self.gap**2 * v, self.gap * self.q * v, float(self.q**2 @ v), directions
        )

    def _marginal(
        self, w: FloatArray, shape: Sequence[int], keep: Sequence[int]
    ) -> tuple[LikelihoodOperator, FloatArray] | None:
        size = prod(shape[axis] for axis in keep)
        channel = DirectChannel(size, summed(self.q, shape, keep), self.gap[0])
        return channel, summed(w, shape, keep)

    def simulate_from_values(self, people: IntArray, rng: np.random.Generator) -> FloatArray:
        # With probability gap a report is the value; else it is drawn from q for any value.
        truthful = rng.binomial(people, min(self.gap[0], 1.0))
        others = int(people.sum() - truthful.sum())
        noise = rng.multinomial(others, self.q / self.q.sum()) if others else 0
        return np.asarray((truthful + noise) / people.sum())


class SupportChannel(SupportInverse, CompositeChannel):
    """The channel of bit sums, which count the reports that support each value.

        A = [P; 1 - P] / K, with 2K rows

    P = q 1' + diag(gap). A report counts as K binary answers "supports x: yes or no". A tally of
    bit sums is their histogram: w = [S; n - S] / (n K). The likelihood of these rows is the
    quasi-likelihood of METHODS 5, sum_x S_x ln mu_x + (n - S_x) ln(1 - mu_x), divided by n K;
    ``rows_per_report`` = K makes it nats per report.

    Args:
        size: K.
        q, gap: one number or (K,); see :class:`SupportLaw`.
        ones: how many values each report supports, where that number is fixed.
        bits: how many bits a report has, where several of them count as one; None for K.

    >>> SupportChannel(2, 0.2, 0.5).invert(np.array([0.3, 0.1, 0.2, 0.4])).round(3).tolist()
    [0.8, 0.0]
    """

    has_closed_inverse = True
    rows_are_bit_sums = True
    has_information = True

    def __init__(
        self,
        size: int,
        q: Levels,
        gap: Levels,
        ones: int | None = None,
        bits: int | None = None,
    ) -> None:
        self.shape = (2 * size, size)
        self._size, self.rows_per_report = size, bits or size
        self.ones, self.ones_are_fixed = ones, ones is not None
        self._set_support_law(size, q, gap)

    def matvec(self, theta: FloatArray) -> FloatArray:
        mu = support_probabilities(theta, self.q, self.gap)
        return np.concatenate([mu, theta.sum(axis=0) - mu]) / self.rows_per_report

    def rmatvec(self, r: FloatArray) -> FloatArray:
        yes, no = r[: self._size].T, r[self._size :].T
        level = yes @ self.q + no @ (1 - self.q)
        return (level[..., None] + self.gap * (yes - no)).T / self.rows_per_report

    def pair_products(self, index: IntArray, r: FloatArray) -> FloatArray:
        yes, no = r[: self._size] / self._size**2, r[self._size :] / self._size**2
        q, gap = self.q[index, None], self.gap[index, None]
        return two_level_pairs(
            self.q**2 @ yes + (1 - self.q) ** 2 @ no,
            gap * (q * yes[index] - (1 - q) * no[index]),
            gap**2 * (yes[index] + no[index]),
        )

    def support_shares(self, w: FloatArray) -> FloatArray:
        return w[: self._size] * self.rows_per_report

    def _supporting(self, u: FloatArray) -> FloatArray:
        """A report counts as k rows; those of bits at 0 support nothing."""
        return np.concatenate([self.rows_per_report * u, np.zeros(u.shape)])

    def supports(self, w: FloatArray) -> tuple[LikelihoodOperator, FloatArray]:
        return self, w

    def covariance(self, theta: FloatArray) -> FloatArray:
        """From the chance of two bits: q_x q_z + q_z gap_x theta_x + q_x gap_z theta_z, or by law.

        Independent bits leave -theta_x theta_z outside the diagonal, because only one of two values
        is the person's. Where every report sets a fixed number of bits, or where bits come from a
        hash function, two bits are both 1 with one probability if either value is the person's,
        and with another if neither is.
        """
        spread = support_probabilities(theta, self.q, self.gap)
        alone = (spread * (1 - spread)) / self.gap**2
        pairs = self.support_law().pairs
        if pairs is None:
            joint = -np.multiply.outer(theta, theta)
        else:
            with_value, others = pairs
            either = np.add.outer(theta, theta)
            both = with_value * either + others * (1 - either)
            joint = (both - np.multiply.outer(spread, spread)) / np.multiply.outer(
                self.gap, self.gap
            )
        np.fill_diagonal(joint, alone)
        return np.asarray(joint)

    def coarsened(
        self, w: FloatArray, starts: IntArray
    ) -> tuple[LikelihoodOperator, FloatArray] | None:
        # The bits of the h values of a cell count as h bits of one value.
        #
        # Each of them is 1 with probability q + gap theta / h, with theta the share of the cell.
        if not (_is_constant_within(self.q, starts) and _is_constant_within(self.gap, starts)):
            return None
        gap = self.gap[starts] / np.diff(starts, append=self._size)
        channel = SupportChannel(len(starts), self.q[starts], gap, bits=int(self.rows_per_report))
        yes, no = w[: self._size], w[self._size :]
        return channel, np.concatenate([np.add.reduceat(bits, starts) for bits in (yes, no)])

    def _marginal(
        self, w: FloatArray, shape: Sequence[int], keep: Sequence[int]
    ) -> tuple[LikelihoodOperator, FloatArray] | None:
        if self.rows_per_report != self._size or (self.q != self.q[0]).any():
            return None
        if (self.gap != self.gap[0]).any():
            return None
        rows = np.concatenate([summed(half, shape, keep) for half in np.split(w, 2)])
        return (self if rows.size == w.size else SliceChannel(self, rows.size // 2)), rows

    def gram_of(self, v: FloatArray, directions: FloatArray) -> FloatArray:
        yes, no, miss = v[: self._size], v[self._size :], 1 - self.q
        total = _diagonal_gram(
            self.gap**2 * (yes + no),
            self.gap * (self.q * yes - miss * no),
            float(self.q**2 @ yes + miss**2 @ no),
            directions,
        )
        return total / self.rows_per_report**2

    def second_moments(self, weights: FloatArray) -> FloatArray:
        """E[g^2 | value v], where g is the sum of the weights of the rows in which a report counts.

        g = c + sum_j u_j b_j. Here b_j is bit j of the report, and u_j is the weight of b_j = 1
        less the weight of b_j = 0. c is the sum of the weights of all bits at 0. Bits are
        independent given v, with means q_j, and p_v = q_v + gap_v for v itself; or all pairs of
        bits are alike, see :attr:`SupportLaw.pairs`.
        """
        yes, no = weights[:, : self._size], weights[:, self._size :]
        u, c = yes - no, no.sum(axis=1, keepdims=True)
        p, pairs = self.q + self.gap, self.support_law().pairs
        if pairs is None:
            noise = self.q * (1 - self.q)
            mean = c + (u @ self.q)[:, None] + u * self.gap
            variance = (u**2 @ noise)[:, None] + u**2 * (p * (1 - p) - noise)
            return np.asarray(mean**2 + variance)
        with_value, others = pairs
        rest = u.sum(axis=1, keepdims=True) - u
        rest_squares = (u**2).sum(axis=1, keepdims=True) - u**2
        mean = rest * self.q + u * p
        square = u**2 * p + rest_squares * self.q + 2 * u * rest * with_value
        square += (rest**2 - rest_squares) * others
        return np.asarray(np.maximum(square + 2 * c * mean + c**2, 0.0))

    @cached_property
    def gain_of_whole_reports(self) -> float:
        """The part of the variance of bit sums that whole reports take off at equal shares."""
        return whole_report_gain(self.support_law(), self._size)

    def information(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        # That of whole reports, which say more than their bit sums.
        return support_information(self.support_law(), theta)

    def _mixed_moments(
        self, w: FloatArray, members: slice, columns: FloatArray, squares: FloatArray
    ) -> FloatArray:
        return squares + self._cross_moments(columns, members)

    def _cross_moments(self, columns: FloatArray, members: slice) -> FloatArray:
        """E[g_v (h - g_v)] (V, B) of a block: 0 for independent bits, else by pairs of bits."""
        shares, pairs = columns[members], self.support_law().pairs
        if pairs is None:
            return np.zeros(shares.shape)
        (with_value, others), low, gap = pairs, float(self.q[0]), float(self.gap[0])
        one_is_value = (with_value - low * (low + gap)) / gap**2
        neither = (others - low**2) / gap**2
        # Over the pairs (v, u) of v, theta_v counts V - 1 times and theta_u once.
        paired = (len(shares) - 2) * shares + shares.sum(axis=0)
        return np.asarray(
            (len(shares) - 1) * neither * columns.sum(axis=0) + (one_is_value - neither) * paired
        )

    def simulate_tallies(
        self, theta: FloatArray, n: int, rng: np.random.Generator, count: int
    ) -> list[tuple[LikelihoodOperator, FloatArray]]:
        if self.ones is None:
            return super().simulate_tallies(theta, n, rng, count)
        shares = theta / theta.sum()
        drawn = (rng.multinomial(n, shares) for _ in range(count))
        return [(self, self._simulated_sums(people, rng, _NORMAL)) for people in drawn]

    def simulate_from_values(self, people: IntArray, rng: np.random.Generator) -> FloatArray:
        return self._simulated_sums(people, rng)

    def _simulated_sums(
        self, people: IntArray, rng: np.random.Generator, normal_from: float = np.inf
    ) -> FloatArray:
        """The frequencies (2 K,) of reports of people (K,) with each value."""
        # Bits are independent given the value, or each report is a random subset of fixed size.
        n = int(people.sum())
        truthful = rng.binomial(people, np.minimum(self.q + self.gap, 1.0))
        if self.ones is None:
            sums = truthful + rng.binomial(n - people, self.q)
        else:
            sums = (
                truthful
                + _sample_others(truthful, self.ones - 1, rng, normal_from)
                + _sample_others(people - truthful, self.ones, rng, normal_from)
            )
        return np.concatenate([sums, n - sums]) / (n * self._size)

    def sample_marks(self, index: IntArray, rng: np.random.Generator) -> FloatArray:
        size, everyone = self.shape[1], np.arange(len(index))
        truthful = rng.random(len(index)) < (self.q + self.gap)[index]
        if self.ones is None:
            bits = rng.random((len(index), size)) < self.q
        else:
            keys = rng.random((len(index), size))
            keys[everyone, index] = 2.0
            chosen = np.arange(size) < (self.ones - truthful)[:, None]
            bits = np.empty(keys.shape, dtype=bool)
            np.put_along_axis(bits, np.argsort(keys, axis=1), chosen, axis=1)
        bits[everyone, index] = truthful
        return np.concatenate([bits, ~bits], axis=1).astype(np.float64)


def _diagonal_gram(
    diagonal: FloatArray, mixed: FloatArray, level: float, directions: FloatArray
) -> FloatArray:
    """U' G U for G = diag(diagonal) + mixed 1' + 1 mixed' + level 1 1'."""
    totals = directions.sum(axis=0)
    across = np.multiply.outer(mixed @ directions, totals)
    inner = (directions.T * diagonal) @ directions
    return np.asarray(inner + across + across.T + level * np.multiply.outer(totals, totals))


def _is_constant_within(levels: FloatArray, starts: IntArray) -> bool:
    """Whether levels (K,) are constant within cells that begin at ``starts`` (C,)."""
    lowest, highest = np.minimum.reduceat(levels, starts), np.maximum.reduceat(levels, starts)
    return bool((lowest == highest).all())


def _sample_others(
    people: IntArray, count: int, rng: np.random.Generator, normal_from: float = np.inf
) -> IntArray:
    """How often each value is chosen, if people[x] people each choose ``count`` values but x.

    Counts with a variance from ``normal_from`` on are drawn as normal.
    """
    # Sets are drawn one by one where that is little work, else by :func:`_noise_of_others`.
    size, n = people.size, int(people.sum())
    m = size - 1
    if count == 0 or n == 0:
        return np.zeros(size, dtype=np.int64)
    if count == m:
        return n - people
    rate = count / m
    if n * size <= _DRAWS and n * rate * (1 - rate) < normal_from:
        keys = rng.random((n, size))
        keys[np.arange(n), np.repeat(np.arange(size), people)] = 2
        return np.bincount(
            np.argpartition(keys, count - 1, axis=1)[:, :count].ravel(), minlength=size
        )
    noise = np.sqrt(rate * (1 - rate)) * _noise_of_others(people, rng)
    chosen = np.rint((n - people) * rate + noise)
    return np.asarray(np.clip(chosen, 0, n - people).astype(np.int64))


def _noise_of_others(people: IntArray, rng: np.random.Generator) -> FloatArray:
    """Normal numbers (K,) with the covariance of subsets that are drawn without replacement."""
    # With m = K - 1, p the people of each value and n their sum, the covariance is
    #     C = D - (n 1 1' - p 1' - 1 p') / (m - 1),   D = diag(n m - p (m + 1)) / (m - 1)
    # Where no value has more than half of the people, D is positive and C = E (I - W) E with E =
    # D^(1/2) and W of rank 2: E (I - W)^(1/2) z has covariance C. The people of a value with more
    # than half are drawn alone before, and so on.
    m, left, out = people.size - 1, people.astype(np.float64), np.zeros(people.size)
    while 2 * left.max() > left.sum():
        x = int(left.argmax())
        z = rng.standard_normal(people.size)
        z -= (z.sum() - z[x]) / m
        z[x] = 0.0
        out += np.sqrt(left[x] * m / (m - 1)) * z
        left[x] = 0.0
    n = left.sum()
    if n <= 0:
        return out
    root = np.sqrt((n * m - left * (m + 1)) / (m - 1))
    q, r = np.linalg.qr(np.stack([1 / root, left / root], axis=1))
    chances, vectors = np.linalg.eigh(r @ np.array([[n, -1.0], [-1.0, 0.0]]) @ r.T / (m - 1))
    axes = q @ vectors
    z = rng.standard_normal(people.size)
    z += axes @ ((np.sqrt(np.maximum(1 - chances, 0.0)) - 1) * (axes.T @ z))
    return np.asarray(out + root * z)


# -----------------------------------------------------------------------------------------------
# Observed reports, one row each: the values that each supports, as bits.


_UNPACKED = 2**20  # elements of a block of rows that are unpacked at a time
# Bit k of a byte, most significant first: (256, 8).
_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.float64)


def slice_squares(law: SupportLaw, members: int) -> tuple[float, float]:
    """E Z^2 where the value is outside a slice, and inside; Z sums (b - q) / gap over its bits."""
    # A slice has r bits, of which k = 0 or 1 is the person's. Their sum has the mean r q + k gap.
    low, gap = float(law.q[0]), float(law.gap[0])
    with_value, others = law.pairs or ((low + gap) * low, low**2)
    expected = members * low

    def square(k: int) -> float:
        rest, mean = members - k, expected + k * gap
        pairs = 2 * k * rest * with_value + rest * (rest - 1) * others
        return (mean + pairs - 2 * expected * mean + expected**2) / gap**2

    return square(0), square(1)


class SliceChannel(CompositeChannel):
    """The channel of some attributes, from bit sums about the combinations of more attributes.

        A = [P; 1 - P] / K',   P = q 1' + (gap / r) I,   r = K / K'

    A slice holds the r combinations with one value of the kept attributes. The mean bit of a slice
    depends on the share of its value alone where all q are equal and all gaps are. A tally is
    w = [S; n - S] / (n K'), S (K',) the mean bits of the slices, added over n reports. A report
    counts in K rows, as its bits do.

    >>> whole = SupportChannel(4, 0.2, 0.5)
    >>> SliceChannel(whole, 2).invert(np.array([0.425, 0.225, 0.575, 0.775]) / 2).round(3).tolist()
    [0.9, 0.1]
    """

    has_closed_inverse = True
    has_closed_moments = True
    rows_are_bit_sums = True

    def __init__(self, whole: SupportChannel, size: int) -> None:
        self.whole, self.shape = whole, (2 * size, size)
        self.members = whole.shape[1] // size
        self._q, self._gap = float(whole.q[0]), float(whole.gap[0])
        self._squares = slice_squares(whole.support_law(), self.members)
        self.ones_are_fixed = whole.ones_are_fixed
        self.rows_per_report = whole.rows_per_report

    def matvec(self, theta: FloatArray) -> FloatArray:
        total = theta.sum(axis=0)
        mean = self._q * total + self._gap / self.members * theta
        return np.concatenate([mean, total - mean]) / self.shape[1]

    def rmatvec(self, r: FloatArray) -> FloatArray:
        size = self.shape[1]
        yes, no = r[:size], r[size:]
        level = self._q * yes.sum(axis=0) + (1 - self._q) * no.sum(axis=0)
        return np.asarray((level + self._gap / self.members * (yes - no)) / size)

    def invert(self, w: FloatArray) -> FloatArray:
        size = self.shape[1]
        return np.asarray((w[:size] * size - self._q * w.sum(axis=0)) * (self.members / self._gap))

    def influence(self, c: FloatArray) -> FloatArray:
        u = c * (self.members / self._gap)
        rows = np.concatenate([self.shape[1] * u, np.zeros(u.shape)])
        return np.asarray(rows - self._q * u.sum(axis=0))

    def inverse_moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        outside, inside = self._squares
        total = outside * theta.sum(axis=0) + (inside - outside) * theta
        return np.asarray(total), np.full(self.shape[1], inside)

    def second_moments(self, weights: FloatArray) -> FloatArray:
        """E[g^2 | value], where g is the sum of the weights of the rows in which a report counts.

        Each of the r bits of a slice has the weight u of its slice, as in
        :meth:`SupportChannel.second_moments`.
        """
        size, r, q, gap = self.shape[1], self.members, self._q, self._gap
        yes, no = weights[:, :size], weights[:, size:]
        u = yes - no
        c = r * no.sum(axis=1, keepdims=True)
        with_value, others = self.whole.support_law().pairs or ((q + gap) * q, q**2)
        total, squares = r * u.sum(axis=1, keepdims=True), r * (u**2).sum(axis=1, keepdims=True)
        rest, rest_squares = total - u, squares - u**2
        mean = q * total + gap * u
        square = q * squares + gap * u**2 + 2 * u * rest * with_value
        square += (rest**2 - rest_squares) * others
        return np.asarray(np.maximum(square + 2 * c * mean + c**2, 0.0))

    def inverse_range(self) -> tuple[FloatArray, FloatArray]:
        low, most = self.members * self._q, min(self.members, self.whole.ones or self.members)
        ends = np.full((2, self.shape[1]), 1 / self._gap)
        return -low * ends[0], (most - low) * ends[1]

    def _marginal(
        self, w: FloatArray, shape: Sequence[int], keep: Sequence[int]
    ) -> tuple[LikelihoodOperator, FloatArray] | None:
        rows = np.concatenate([summed(half, shape, keep) for half in np.split(w, 2)])
        return SliceChannel(self.whole, rows.size // 2), rows

    def simulate_from_values(self, people: IntArray, rng: np.random.Generator) -> FloatArray:
        # All combinations in a slice have one law of slices, so the first stands for the others.
        values = np.zeros((self.shape[1], self.members), dtype=np.int64)
        values[:, 0] = people
        w = self.whole.simulate_from_values(values.ravel(), rng)
        marginal = self.whole.marginal(w, values.shape, [0])
        assert marginal is not None
        return marginal[1]

    def sample_marks(self, index: IntArray, rng: np.random.Generator) -> FloatArray:
        marks = self.whole.sample_marks(index * self.members, rng)
        yes = marks[:, : self.whole.shape[1]].reshape(len(index), -1, self.members).mean(axis=2)
        return np.asarray(self.members * np.concatenate([yes, 1 - yes], axis=1))


class SupportRows(SupportInverse, NearlyConstantRows):
    """Rows base + gain * b, b the bits of the values that a report supports (METHODS 1, 4.3).

    Only observed reports are rows, so columns do not sum to one. Both products use a table of 256
    entries for each byte of a row: K / 8 operations per report instead of K, in double precision.

    Args:
        bits: (m, ceil(K / 8)) uint8, most significant bit first.
        size: K.
        base: entries of a row at the values that the report does not support; one number or (m,).
            It is 0 for a report that only one value can make [P2 def 5].
        gain: entries at the supported values, less ``base``; one number or (m,).
        q, gap: the support law of the unbiased estimate (S_x - q) / gap.
        counted: (m, ceil(K / 8)) the bits that S_x counts, where they differ from ``bits``.
        log_factors: (m,) or one number; see :class:`LikelihoodOperator`.
        ones: how many values each report supports, where that number is fixed.

    >>> rows = SupportRows(np.array([[0b10000000], [0b01000000]], dtype=np.uint8), 2, 0.25, 0.5)
    >>> rows.matvec(np.array([1.0, 0.0])).tolist()
    [0.75, 0.25]
    """

    has_fast_gram = True
    has_row_blocks = True
    lists_all_reports = False
    draws_reports = True  # whether others than those observed can be simulated

    def __init__(
        self,
        bits: NDArray[np.uint8],
        size: int,
        base: Levels,
        gain: Levels,
        q: Levels = 0.0,
        gap: Levels = 1.0,
        counted: NDArray[np.uint8] | None = None,
        log_factors: FloatArray | float = 0.0,
        ones: int | None = None,
    ) -> None:
        self._bits = np.asfortranarray(bits)
        self._counted = self._bits if counted is None else np.asfortranarray(counted)
        self._set_levels((len(bits), size), base, gain, log_factors)
        self.ones = ones
        self._set_support_law(size, q, gap)

    @property
    def has_independent_bits(self) -> bool:
        """Whether bits are independent given the value, and alike for all values."""
        alike = bool((self.q == self.q[0]).all() and (self.gap == self.gap[0]).all())
        return self.ones is None and self.counted is self.bits and alike and self.q[0] > 0

    @property
    def bits(self) -> NDArray[np.uint8]:
        return self._bits

    @property
    def counted(self) -> NDArray[np.uint8]:
        return self._counted

    def _set_levels(
        self,
        shape: tuple[int, int],
        base: Levels,
        gain: Levels,
        log_factors: FloatArray | float,
    ) -> None:
        """Store all but the bits and the support law."""
        self.shape, self.log_factors = shape, log_factors
        self.base, self.gain = (
            np.broadcast_to(np.asarray(v, dtype=np.float64), (shape[0],)) for v in (base, gain)
        )
        self.steady = self.base > 0

    @one_by_one
    def matvec(self, theta: FloatArray) -> FloatArray:
        padded = np.zeros(self.bits.shape[1] * 8)
        padded[: theta.size] = theta
        tables = padded.reshape(-1, 8) @ _BITS.T
        out = np.zeros(self.shape[0])
        for table, column in zip(tables, self.bits.T, strict=True):
            out += np.take(table, column)
        return np.asarray(self.base * theta.sum() + self.gain * out)

    @one_by_one
    def rmatvec(self, r: FloatArray) -> FloatArray:
        return self.base @ r + self._sums(self.bits, self.gain * r)

    def _sums(self, bits: NDArray[np.uint8], r: FloatArray) -> FloatArray:
        """sum_i r_i b_i, (K,)."""
        bins = np.stack([np.bincount(column, r, 256) for column in bits.T])
        return (bins @ _BITS).ravel()[: self.shape[1]]

    @one_by_one
    def support_shares(self, w: FloatArray) -> FloatArray:
        return self._sums(self.counted, w)

    def _supporting(self, u: FloatArray) -> FloatArray:
        return self._counted_bits().matvec(u)

    def _counted_bits(self) -> SupportRows:
        """The bits that S_x counts, as rows of 0 and 1."""
        return SupportRows(self.counted, self.shape[1], 0.0, 1.0)

    def report_scores(self) -> FloatArray:
        # None, (0, m): the numbers of the observed reports have no meaning.
        return np.zeros((0, self.shape[0]))

    def complete(self) -> SupportChannel:
        return SupportChannel(self.shape[1], self.q, self.gap, self.ones)

    def complete_weights(self, w: FloatArray) -> FloatArray:
        return self.supports(w)[1]

    def _simulated(
        self, people: People, rng: np.random.Generator
    ) -> tuple[LikelihoodOperator, FloatArray]:
        if not self.draws_reports or not self.steady.any():
            return super()._simulated(people, rng)
        # Other reports than those observed come out, so the rows are others too.
        channel, size = self.complete(), self.shape[1]
        index = np.repeat(np.arange(size), people.drawn(rng))
        packed = np.empty((len(index), -(-size // 8)), dtype=np.uint8)
        for block in in_blocks(len(index), _DRAWS, size):
            marks = channel.sample_marks(index[block], rng)[:, :size]
            packed[block] = np.packbits(marks.astype(bool), axis=1)
        rows, counts = count_rows(packed, np.ones(len(packed), dtype=np.int64))
        ratio = 1 + float(self.gain[self.steady][0] / self.base[self.steady][0])
        return self._rows_of(rows, ratio), counts / len(packed)

    def _rows_of(self, reports: NDArray[np.uint8], ratio: float) -> SupportRows:
        """The rows of other reports of the same law, (m, bytes)."""
        return SupportRows.of_reports(reports, ratio, self.support_law())

    @classmethod
    def of_reports(
        cls,
        reports: NDArray[np.uint8],
        ratio: float,
        law: SupportLaw,
        log_factors: FloatArray | float = 0.0,
    ) -> SupportRows:
        """Rows 1 + (ratio - 1) b of reports b; those of one value, where it alone raises a bit.

        The inversion counts all bits of a report that names its value. The likelihood counts that
        value's alone.

        Shapes: reports (m, bytes), law (K,).
        """
        alone = np.packbits(law.q <= 0)
        named = np.any(reports & alone, axis=1)
        bits = reports
        if named.any():
            bits = np.where(named[:, None], reports & alone, reports)
        base, gain = np.where(named, 0.0, 1.0), np.where(named, 1.0, ratio - 1)
        return SupportRows(
            bits,
            law.q.size,
            base,
            gain,
            law.q,
            law.gap,
            counted=reports if named.any() else None,
            log_factors=log_factors,
            ones=law.ones,
        )

    def merge_unsupported_values(
        self, w: FloatArray
    ) -> tuple[LikelihoodOperator, FloatArray, Callable[[FloatArray], FloatArray]] | None:
        """Values that only the reports that name them distinguish become one value.

        This serves utility-optimised RAPPOR. Let c_x be the share of the reports that name x, C
        their sum, and m the mass of the values together. Their part of the likelihood is
        sum_x c_x log theta_x. It is largest at theta_x = m c_x / C, which leaves C log m.
        """
        named = ~self.steady
        size = self.shape[1]
        counts = self._sums(self.bits[named], w[named])
        supported = (
            np.unpackbits(np.bitwise_or.reduce(self.bits[~named], axis=0))[:size].astype(bool)
            if not named.all()
            else np.zeros(size, dtype=bool)
        )
        total = float(counts.sum())
        if total <= 0 or counts[supported].any() or (~supported).sum() < 2:
            return None
        members = np.flatnonzero(supported)
        rows = np.flatnonzero(~named)
        packed = np.zeros((rows.size + 1, -(-(members.size + 1) // 8)), dtype=np.uint8)
        for some in in_blocks(rows.size, _UNPACKED, size):
            bits = np.unpackbits(self.bits[rows[some]], axis=1)[:, members]
            block = np.packbits(bits, axis=1)
            packed[some, : block.shape[1]] = block
        packed[-1, members.size >> 3] = 128 >> (members.size & 7)
        base, gain = np.append(self.base[rows], 0.0), np.append(self.gain[rows], 1.0)
        small = SupportRows(packed, members.size + 1, base, gain)

        def lift(theta: FloatArray) -> FloatArray:
            lifted = theta[-1] * counts / total
            lifted[members] = theta[:-1]
            return np.asarray(lifted)

        return small, np.append(w[rows], total), lift

    def named_gram(self, v: FloatArray) -> FloatArray:
        return self._sums(self.bits[~self.steady], v[~self.steady])

    def gram(self, v: FloatArray) -> FloatArray:
        # A' diag(v) A from the weighted co-occurrences of bits, in single precision.
        #
        # It serves as the metric of a step. It certifies nothing.
        size = self.shape[1]
        together = np.zeros((size, size))
        root = (np.sqrt(v) * self.gain).astype(np.float32)
        # With few rows to a product, adding the products takes longer than making them.
        for rows in in_blocks(self.shape[0], max(_UNPACKED // size, 4 * size)):
            block = np.unpackbits(self.bits[rows], axis=1)[:, :size].astype(np.float32)
            block *= root[rows, None]
            together += block.T @ block
        single = self._sums(self.bits, v * self.base * self.gain)
        return np.asarray(self.base**2 @ v + (single[:, None] + single) + together)

    def blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        for rows in in_blocks(self.shape[0], _UNPACKED, self.shape[1]):
            bits = np.unpackbits(self.bits[rows], axis=1)[:, : self.shape[1]]
            yield rows, self.base[rows, None] + self.gain[rows, None] * bits

    def rows(self, index: IntArray) -> FloatArray:
        bits = np.unpackbits(self.bits[index], axis=1, count=self.shape[1])
        return np.asarray(self.base[index, None] + self.gain[index, None] * bits)

    def dense(self) -> FloatArray:
        return np.concatenate([block for _, block in self.blocks()])

    def _mixed_moments(
        self, w: FloatArray, members: slice, columns: FloatArray, squares: FloatArray
    ) -> FloatArray:
        """The cross moments of the observed reports, which serve every distribution."""
        inverse_gap = np.zeros(self.shape[1])
        inverse_gap[members] = 1 / self.gap[members]
        bits = self._counted_bits()
        h = bits.matvec(inverse_gap) - float(self.q[members] @ inverse_gap[members])
        q, gap, counts = self.q[members], self.gap[members], bits.support_shares(w)[members]
        mixed = (bits.support_shares(w * h)[members] - q * float(w @ h)) / gap
        observed = ((1 - 2 * q) * counts + q**2) / gap**2
        cross = np.multiply.outer(mixed - observed, columns.sum(axis=0))
        return np.asarray(squares + cross)
