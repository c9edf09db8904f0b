"""Intervals for the share of a value among the people who have one key, a ratio of two estimated numbers.

With T_v the unbiased estimate of the share of people who have the key and the value v, and F that of the key, the interval is

    { r in [0, 1] : (T_v - r F)^2 <= z^2 V_v(r) / n },   V_v(r) = E[g_v^2] - 2 r E[g_v h] + r^2 E[h^2]

where g_v and h are the terms that one report adds to T_v and to F. The set is Fieller's [Fieller 1954]. The expectations are taken at the
distribution in which the value's share of the key is r and the others share the rest as estimated, so the variance is the one under the
hypothesis that is tested. Hence the interval keeps its width where the share is 0 or 1 and nobody reported the value. Without noise it is
Wilson's interval.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from warner._core.errors import (
    IdentifiabilityError,
)
from warner.channels import (
    Channel,
    KroneckerChannel,
    RepeatedRows,
    StackChannel,
    SupportChannel,
    SupportRows,
    TiedChannel,
    summed,
)
from warner.estimators.likelihood_data import LikelihoodData
from warner.metrics.simplex import project

_GRID = 129  # shares that are tried before the ends are bisected
_HALVINGS = 30


@dataclass(frozen=True, eq=False)
class _Terms:
    """Estimates of one key's V values and the second moments of what one report adds to them.

    Attributes:
        total: T (V,).
        key: F (V,); it differs between values only where several mechanisms are mixed.
        squares: E[g_v^2], (V, B) for B distributions.
        mixed: E[g_v h], (V, B).
        keys: E[h^2], (V, B).
    """

    total: np.ndarray
    key: np.ndarray
    squares: np.ndarray
    mixed: np.ndarray
    keys: np.ndarray


def shares_given(
    data: LikelihoodData, index: int, shape: tuple[int, int], z: float, respondents: bool
) -> np.ndarray:
    """Intervals (V, 2) for the shares of the values among the people who have the key; (0, 1) where no share is ruled out.

    Args:
        data: on a product of ``shape`` = (keys, values).
        index: the key's place.
        z: the normal quantile of the level.
        respondents: whether people's values are fixed, so that only the mechanism's randomness counts.
    """
    channel, n, size = data.channel, data.n, shape[1]
    if size == 1:
        return np.ones((1, 2))
    block = slice(index * size, (index + 1) * size)
    try:
        plug = project(channel.invert(data.weights))
        # The first column is the distribution without the key's people; then one for each of the key's values, then the uniform one.
        columns = np.zeros((plug.size, size + 2))
        columns[:, 0] = plug
        columns[block, 0] = 0.0
        columns[block, 1:-1] = np.eye(size)
        columns[:, -1] = 1 / plug.size
        terms = _terms(channel, data.weights, index, shape, columns)
    except IdentifiabilityError:
        return np.tile([0.0, 1.0], (size, 1))
    part = plug[block]
    frequency = float(part.sum())
    # (V, V): the distribution of the key's other values, given that the value itself has no share.
    rest = np.tile(part, (size, 1))
    np.fill_diagonal(rest, 0.0)
    left = rest.sum(axis=1, keepdims=True)
    even = (1 - np.eye(size)) / (size - 1)
    rest = np.where(left > 0, rest / np.where(left > 0, left, 1.0), even)

    def at_ends(moments: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A moment where the value's share of the key is 0, and where it is 1."""
        own = moments[:, 1:-1]
        none = moments[:, 0] + frequency * (rest * own).sum(axis=1)
        return none, moments[:, 0] + frequency * np.diagonal(own) - none

    (gg, dgg), (gh, dgh), (hh, dhh) = (at_ends(m) for m in (terms.squares, terms.mixed, terms.keys))

    # V_v(r) as a polynomial.
    linear = dgg - 2 * gh - respondents * frequency
    square, cube = hh - 2 * dgh + respondents * frequency, dhh

    # The variance of F is that of a ratio whose numerator is left out; at the share that was found.
    share = part / frequency if frequency > 0 else np.full(size, 1 / size)
    spread = hh + share * dhh - frequency**2 - respondents * frequency * (1 - frequency)
    clear = terms.key > z * np.sqrt(np.maximum(spread, 0.0) / n)
    # A numerator outside its range is taken at the nearest end, as Wald's intervals do.
    total = np.clip(terms.total, 0.0, np.maximum(terms.key, 0.0))
    middle = np.where(clear, total / np.where(clear, terms.key, 1.0), 0.5)

    def holds(r: np.ndarray) -> np.ndarray:
        """Whether shares (.., V) of the key are within z standard deviations."""
        variance = np.maximum(gg + r * (linear + r * (square + r * cube)), 0.0)
        return np.asarray((total - r * terms.key) ** 2 <= z**2 / n * variance)

    # Towards 0 and towards 1, the share furthest from the middle that holds: the first on a grid from that side, then by bisection.
    sides = np.array([[0.0], [1.0]])
    tried = sides + (middle - sides) * np.linspace(0.0, 1.0, _GRID)[:, None, None]
    good = holds(tried)
    good[-1] = True
    first = np.argmax(good, axis=0)[None]
    inside = np.take_along_axis(tried, first, axis=0)[0]
    outside = np.take_along_axis(tried, np.maximum(first - 1, 0), axis=0)[0]
    for _ in range(_HALVINGS):
        half = (inside + outside) / 2
        right = holds(half)
        inside, outside = np.where(right, half, inside), np.where(right, outside, half)
    return np.where(clear[:, None], inside.T, np.array([0.0, 1.0]))


def _terms(
    channel: Channel, w: np.ndarray, index: int, shape: tuple[int, int], columns: np.ndarray
) -> _Terms:
    """The estimates of one key and their moments at several distributions (K, B), whose sums need not be one.

    The last distribution is uniform.
    """
    size = shape[1]
    block = slice(index * size, (index + 1) * size)
    if isinstance(channel, StackChannel):
        return _mixed(channel, w, index, shape, columns)
    if isinstance(channel, RepeatedRows):
        # Reports of one person are independent given the value, so E[g_s g_t | x] = [x = v] for two of them.
        times = len(channel.channels)
        parts = [
            _terms(c, np.bincount(column, w, c.shape[0]), index, shape, columns)
            for c, column in zip(channel.channels, channel.reports.T, strict=True)
        ]
        both = times * (times - 1) * columns[block]
        return _Terms(
            np.mean([p.total for p in parts], axis=0),
            np.mean([p.key for p in parts], axis=0),
            (np.sum([p.squares for p in parts], axis=0) + both) / times**2,
            (np.sum([p.mixed for p in parts], axis=0) + both) / times**2,
            (np.sum([p.keys for p in parts], axis=0) + both.sum(axis=0)) / times**2,
        )
    if isinstance(channel, TiedChannel):
        law = np.stack([channel.each(law)[index] for law in channel.matvec(columns).T], axis=1)
        seen, g = channel.each(w)[index], channel.per_report
        h = ((np.arange(seen.size) > 0) - channel.sent) / (channel.keep - channel.sent)
        return _Terms(
            g @ seen,
            np.full(size, h @ seen),
            g**2 @ law,
            (g * h) @ law,
            np.tile(h**2 @ law, (size, 1)),
        )
    total = channel.invert(w)[block]
    if isinstance(channel, KroneckerChannel) and [c.shape[1] for c in channel.channels] == list(
        shape
    ):
        # The key is estimated by the reports about it alone: g = a b_v and h = a, with E[b_v | x] = [x = v].
        first, second = channel.channels
        key = first.invert(summed(w, [first.shape[0], second.shape[0]], [0]))[index]
        squared = first.inverse_moments(np.eye(shape[0]))[0][index]
        mixed = np.tensordot(squared, columns.reshape(*shape, -1), axes=1)
        squares = second.inverse_moments(np.eye(size))[0] @ mixed
        return _Terms(
            total, np.full(size, key), squares, mixed, np.tile(mixed.sum(axis=0), (size, 1))
        )
    if isinstance(channel, SupportChannel | SupportRows):
        squares = channel.inverse_moments(columns)[0][block]
        others = (
            _others(channel, columns, block)
            if isinstance(channel, SupportChannel)
            else _others_seen(channel, w, block, columns.sum(axis=0))
        )
        mixed = squares + others
        return _Terms(
            total, np.full(size, total.sum()), squares, mixed, np.tile(mixed.sum(axis=0), (size, 1))
        )
    wanted = np.zeros((channel.shape[1], size))
    wanted[block] = np.eye(size)
    g = channel.influence(wanted)
    h = g.sum(axis=1)
    law = channel.matvec(columns)
    return _Terms(
        total,
        np.full(size, total.sum()),
        (g**2).T @ law,
        (g * h[:, None]).T @ law,
        np.tile(h**2 @ law, (size, 1)),
    )


def _mixed(
    channel: StackChannel, w: np.ndarray, index: int, shape: tuple[int, int], columns: np.ndarray
) -> _Terms:
    """Of several mechanisms: their own terms, mixed for every value by the inverse variance of T at the uniform distribution.

    T and F have the same mixture, so T - r F is a mixture of what the mechanisms say. Those without an inverse are left out.
    """
    found: list[tuple[float, _Terms]] = []
    problem = None
    for part, weights, share, people in zip(
        channel.channels, channel.split(w), channel.shares, channel.people, strict=True
    ):
        try:
            found.append((float(people), _terms(part, weights / share, index, shape, columns)))
        except IdentifiabilityError as error:
            problem = error
    if problem is not None and not found:
        raise problem
    people = np.array([n for n, _ in found])[:, None]
    spread = np.stack([terms.squares[:, -1] for _, terms in found]) - 1 / channel.shape[1] ** 2
    mix = people / np.maximum(spread, 1e-300)
    mix = mix / mix.sum(axis=0)
    scale = (channel.people.sum() / people * mix**2)[:, :, None]
    return _Terms(
        np.sum([m * t.total for m, (_, t) in zip(mix, found, strict=True)], axis=0),
        np.sum([m * t.key for m, (_, t) in zip(mix, found, strict=True)], axis=0),
        *(
            np.sum([s * getattr(t, name) for s, (_, t) in zip(scale, found, strict=True)], axis=0)
            for name in ("squares", "mixed", "keys")
        ),
    )


def _others(channel: SupportChannel, columns: np.ndarray, block: slice) -> np.ndarray:
    """E[g_v (h - g_v)], (V, B): 0 for independent bits, since one of two of them is no person's value.

    Where k of K bits are 1, two bits are both 1 with probability p (k - 1) / (K - 1) if one of them is the person's value, which is 1 with
    probability p, and else with (p (k - 1) (k - 2) + (1 - p) k (k - 1)) / ((K - 1) (K - 2)).
    """
    part = columns[block]
    if channel.ones is None:
        return np.zeros(part.shape)
    size, k, low, gap = channel.shape[1], channel.ones, float(channel.q[0]), float(channel.gap[0])
    high = low + gap
    own = (high * (k - 1) / (size - 1) - low * high) / gap**2
    both = (high * (k - 1) * (k - 2) + (1 - high) * k * (k - 1)) / ((size - 1) * max(size - 2, 1))
    neither = (both - low**2) / gap**2
    more = (len(part) - 2) * part + part.sum(
        axis=0
    )  # in the pairs (v, u) of v: V - 1 times theta_v, and theta_u once
    return np.asarray((len(part) - 1) * neither * columns.sum(axis=0) + (own - neither) * more)


def _others_seen(channel: SupportRows, w: np.ndarray, block: slice, mass: np.ndarray) -> np.ndarray:
    """The same (V, B) as the reports seen have it, whatever the distribution: the bits of other values hardly depend on it."""
    each = np.zeros(channel.shape[1])
    each[block] = 1 / channel.gap[block]
    bits = SupportRows(channel.tally_columns, channel.shape[1], 0.0, 1.0)
    h = bits.matvec(each) - float(channel.q[block] @ each[block])
    q, gap, counts = channel.q[block], channel.gap[block], bits.shares(w)[block]
    mixed = (bits.shares(w * h)[block] - q * float(w @ h)) / gap
    squares = ((1 - 2 * q) * counts + q**2) / gap**2
    return np.multiply.outer(mixed - squares, mass)
