"""The channel of projective geometry response: reports support the values orthogonal to them."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from warner._core.projective_space import ProjectiveSpace
from warner._core.sampling import Source
from warner.channels.arrays import FloatArray, IntArray
from warner.channels.base import Channel
from warner.channels.pure import SupportInverse

_PEOPLE = 2**18  # people who are simulated at a time


class ProjectiveChannel(SupportInverse, Channel):
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

    def __init__(self, size: int, space: ProjectiveSpace, high: float, low: float) -> None:
        self.shape = (space.points, size)
        self.space, self.high, self.low = space, high, low
        s, c = space.orthogonal, space.common
        self._set_support_law(size, c * high + (s - c) * low, (s - c) * (high - low))

    def _supporting(self, theta: FloatArray) -> FloatArray:
        """N theta: the sum of theta over the values that each report supports, (m,) or (m, B)."""
        padded = np.zeros((self.shape[0], *theta.shape[1:]))
        padded[: self.shape[1]] = theta
        return hyperplane_sums(padded, self.space)

    def matvec(self, theta: FloatArray) -> FloatArray:
        return np.asarray(
            self.low * theta.sum(axis=0) + (self.high - self.low) * self._supporting(theta)
        )

    def rmatvec(self, r: FloatArray) -> FloatArray:
        return np.asarray(
            self.low * r.sum(axis=0) + (self.high - self.low) * self.support_shares(r)
        )

    def support_shares(self, w: FloatArray) -> FloatArray:
        return hyperplane_sums(w, self.space)[: self.shape[1]]

    def influence(self, c: FloatArray) -> FloatArray:
        """g = N u - q'u with u = c / gap."""
        u = (c.T / self.gap).T
        return np.asarray(self._supporting(u) - self.q @ u)

    def columns(self, index: IntArray) -> FloatArray:
        return self._entries(np.arange(self.shape[0])[:, None], np.asarray(index)[None, :])

    def rows(self, index: IntArray) -> FloatArray:
        return self._entries(np.asarray(index)[:, None], np.arange(self.shape[1])[None, :])

    def _entries(self, reports: IntArray, values: IntArray) -> FloatArray:
        return np.where(self.space.are_orthogonal(reports, values), self.high, self.low)

    def sample_rows(self, index: IntArray, rng: np.random.Generator) -> IntArray:
        supporting = rng.random(len(index)) < self.space.orthogonal * self.high
        return self.space.draw(np.asarray(index, dtype=np.int64), supporting, Source(rng))

    def simulate_from_values(self, people: IntArray, rng: np.random.Generator) -> FloatArray:
        """Report by report, or value by value where there are many people for each value."""
        if int(people.sum()) > self.shape[0] * self.shape[1]:
            return super().simulate_from_values(people, rng)
        return simulate_reports(self, people, rng)


def simulate_reports(channel: Channel, people: IntArray, rng: np.random.Generator) -> FloatArray:
    """Simulated report frequencies (m,) of people[x] people with value x, report by report.

    Args:
        channel: a channel whose ``sample_rows`` is fast.
        people: (K,) the people with each value.
        rng: the randomness.
    """
    n, ends = int(people.sum()), np.cumsum(people)
    total = np.zeros(channel.shape[0], dtype=np.int64)
    for start in range(0, n, _PEOPLE):
        person = np.arange(start, min(start + _PEOPLE, n))
        values = np.searchsorted(ends, person, side="right")
        total += np.bincount(channel.sample_rows(values, rng), minlength=channel.shape[0])
    return np.asarray(total / n)


def hyperplane_sums(f: FloatArray, space: ProjectiveSpace) -> FloatArray:
    """The sum of f over the points that are orthogonal to each point.

    It follows the recursion over coordinates of Feldman, Nelson, Nguyen and Talwar (2022). Their
    O(m q t) becomes O(m log m) by a Fourier transform in each step.

    Points u whose first digit is 0 are those of a space of one digit less, which is the recursion.
    The other points are u = (1, x) with any vector x. For v = (v', b) with b the digit that meets
    the 1, the sum is over an affine hyperplane:

        sum over x with b + x.v' = 0 of f(x) = (1/q) sum_l exp(-2 pi i l b / q) F(l v')
        F(z) = sum_x f(x) exp(-2 pi i z.x / q)

    So a transform of f, gathered along the line through each v', and transformed along it, gives
    the sums for all b. The lines through 0 are the points of the smaller space. Where t = 2 the
    sums have one term each and are exact.

    Args:
        f: (m,) or (m, B).
        space: PG(t-1, q).

    Returns:
        (m,) or (m, B).

    >>> hyperplane_sums(np.array([1.0, 2.0, 4.0, 8.0]), ProjectiveSpace(3, 2)).tolist()
    [1.0, 2.0, 8.0, 4.0]
    """
    # Points stand last, so that the transforms run along neighbouring numbers.
    parts = np.ascontiguousarray(f.T).reshape(-1, space.points)
    return np.asarray(
        _sums(parts, space, _lines(space.prime, space.dimension)).reshape(f.T.shape).T
    )


def _sums(f: FloatArray, space: ProjectiveSpace, lines: dict[int, IntArray]) -> FloatArray:
    """:func:`hyperplane_sums` of every row of (B, m)."""
    q, t = space.prime, space.dimension
    batch, out = len(f), np.empty_like(f)
    lower, affine = f[:, : space.orthogonal], f[:, space.orthogonal :]
    out[:, 0] = lower.sum(axis=1)
    if t == 2:
        out[:, 1], out[:, 2:] = affine[:, 0], affine[:, :0:-1]
        return out
    axes = tuple(range(1, t))
    spectrum = np.fft.fftn(affine.reshape(batch, *(q,) * (t - 1)), axes=axes).reshape(batch, -1)
    # The values along a line are conjugate at l and -l, since f is real: half of them is enough.
    along = np.take(spectrum, lines[t - 1], axis=1)
    sums = np.fft.hfft(along, q, axis=2) / q
    through_zero = _sums(lower, ProjectiveSpace(q, t - 1), lines)
    out[:, 1:] = (sums + through_zero[:, :, None]).reshape(batch, -1)
    return out


@lru_cache(maxsize=2)
def _lines(q: int, largest: int) -> dict[int, IntArray]:
    """By t = 2..largest - 1: where l v, l = 0..q//2, of each point v of PG(t-1, q) stands.

    The places, (m, q//2 + 1), are those in a transform with one axis for each digit of x, the first
    digit first. x meets v backwards.
    """
    found = {}
    for t in range(2, largest):
        space = ProjectiveSpace(q, t)
        numbers = space.numbers(np.arange(space.points))
        steps = np.arange(q // 2 + 1)
        place = np.zeros((space.points, steps.size), dtype=np.int64)
        for k in range(t):
            digit = numbers // q ** (t - 1 - k) % q
            place += digit[:, None] * steps % q * q**k
        place.setflags(write=False)
        found[t] = place
    return found
