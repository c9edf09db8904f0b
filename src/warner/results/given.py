"""Intervals for the share of a value among the people who have one key.

The share is a ratio of two estimated numbers. With T_v the unbiased estimate of the share of people
who have the key and the value v, and F that of the key, the interval is

    { r in [0, 1] : (T_v - r F)^2 <= z^2 V_v(r) / n }
    V_v(r) = E[g_v^2] - 2 r E[g_v h] + r^2 E[h^2]

where g_v and h are the terms that one report adds to T_v and to F. This is Fieller's set [Fieller
1954]. The expectations are taken at the distribution in which the value's share of the key is r.
The other values divide the rest in their estimated proportions. So the variance is that under the
tested hypothesis.
The interval keeps its width where the share is 0 or 1 and nobody reported the value. Without noise
it is Wilson's interval.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from warner._core.errors import IdentifiabilityError
from warner.channels import BlockMoments, FloatArray
from warner.estimators.likelihood_data import LikelihoodData
from warner.metrics.simplex import project

_GRID = 129  # shares that are tried before the ends are bisected
_HALVINGS = 30
_AT_A_TIME = 2**20  # numbers in the distributions whose moments are computed together
_LEAST_LEFT = 1e-9  # of the people of a key, below which all of them have one value


def shares_given(
    data: LikelihoodData, index: int, shape: tuple[int, int], z: float, respondents: bool
) -> FloatArray:
    """Intervals (V, 2) for the shares of the values among the people who have the key.

    An interval is (0, 1) where the reports rule out no share.

    The part of the variance that comes from people's values is not counted for respondents. For the
    population it is multiplied by t if one person sent up to t reports. If there are also several
    mechanisms, the whole variance for the population is multiplied by t.
    """
    size = shape[1]
    if size == 1:
        return np.ones((1, 2))
    block = slice(index * size, (index + 1) * size)
    try:
        plug = project(data.channel.invert(data.weights))
        moments, own = _moments(data, plug, index, shape)
    except IdentifiabilityError:
        return np.tile([0.0, 1.0], (size, 1))
    shares = plug[block]
    n, times = float(data.n), 0 if respondents else data.reports_per_person
    if times > 1 and len(data.channel.groups()) > 1:
        n, times = n / times, 1
    test = _Test.of(moments, own, shares, n, z, times)
    # The interval is found where the key's share is clearly above 0.
    frequency = float(shares.sum())
    slopes = test.block_slope
    share = shares / frequency if frequency > 0 else np.full(size, 1 / size)
    # The variance of F is that of a ratio without a numerator, at the estimated share.
    variance = (
        test.block_at_zero
        + share * slopes
        - frequency**2
        - (1 - times) * frequency * (1 - frequency)
    )
    clear = moments.block > z * np.sqrt(np.maximum(variance, 0.0) / n)
    centre = np.where(clear, test.total / np.where(clear, moments.block, 1.0), 0.5)
    ends = _outermost(test, centre)
    return np.where(clear[:, None], ends, np.array([0.0, 1.0]))


def _moments(
    data: LikelihoodData, plug: FloatArray, index: int, shape: tuple[int, int]
) -> tuple[BlockMoments, FloatArray]:
    """The moments of a key at some distributions, and those of each value where all have it.

    Shapes: plug (K,) -> (3, V).
    """
    size, all_values = shape[1], plug.size
    block = slice(index * size, (index + 1) * size)
    columns = np.zeros((all_values, 4))
    columns[:, 0], columns[:, 3] = plug, 1 / all_values
    columns[block, 0], columns[block, 1], columns[block, 2] = 0.0, plug[block], 1 / size
    found = data.channel.block_moments(data.weights, index, shape, columns)
    own = np.empty((3, size))
    step = max(1, _AT_A_TIME // all_values)
    for start in range(0, size, step):
        values = np.arange(start, min(start + step, size))
        alone = np.zeros((all_values, values.size + 1))
        alone[index * size + values, values - start] = 1.0
        alone[:, -1] = 1 / all_values
        at = data.channel.block_moments(data.weights, index, shape, alone)
        for row, moment in zip(own, (at.squares, at.mixed, at.block_squares), strict=True):
            row[values] = moment[values, values - start]
    return found, own


@dataclass(frozen=True, eq=False)
class _Test:
    """Fieller's test of shares r: (T - r F)^2 <= z^2 / n V(r), V(r) a polynomial of degree 3.

    Attributes:
        total: T, (V,), clipped to [0, F].
        key: F, (V,).
        coefficients: (4, V) of V(r), the constant first.
        scale: z^2 / n.
        block_at_zero, block_slope: E[h^2] at r = 0 and its increase up to r = 1, (V,).
    """

    total: FloatArray
    key: FloatArray
    coefficients: FloatArray
    scale: float
    block_at_zero: FloatArray
    block_slope: FloatArray

    @classmethod
    def of(
        cls,
        moments: BlockMoments,
        own: FloatArray,
        shares: FloatArray,
        n: float,
        z: float,
        times: int,
    ) -> _Test:
        """The test from :func:`_moments` of one key with the estimated ``shares`` (V,).

        The variance that is due to the people's values counts ``times`` times.
        """
        size, frequency = shares.size, float(shares.sum())
        left = frequency - shares
        has_others = left > _LEAST_LEFT * frequency

        def at_ends(moment: FloatArray, alone: FloatArray) -> tuple[FloatArray, FloatArray]:
            """A moment where the value's share of the key is 0, and its increase up to 1."""
            # Moments are linear in the distribution. The key's other values have the rest in their
            # proportions, or evenly where nobody has them.
            rest = (moment[:, 1] - shares * alone) / np.where(has_others, left, 1.0)
            even = (size * moment[:, 2] - alone) / (size - 1)
            at_zero = moment[:, 0] + frequency * np.where(has_others, rest, even)
            return at_zero, moment[:, 0] + frequency * alone - at_zero

        several = (moments.squares, moments.mixed, moments.block_squares)
        (gg, gg_slope), (gh, gh_slope), (hh, hh_slope) = map(at_ends, several, own)
        fixed = (1 - times) * frequency
        linear = gg_slope - 2 * gh - fixed
        square = hh - 2 * gh_slope + fixed
        # A numerator outside its range is taken at the nearest end, as in Wald's intervals.
        total = np.clip(moments.total, 0.0, np.maximum(moments.block, 0.0))
        coefficients = np.stack([gg, linear, square, hh_slope])
        return cls(total, moments.block, coefficients, z**2 / n, hh, hh_slope)

    def accepts(self, r: FloatArray) -> np.ndarray:
        """Whether shares (.., V) of the key are within z standard deviations."""
        constant, linear, square, cube = self.coefficients
        variance = np.maximum(constant + r * (linear + r * (square + r * cube)), 0.0)
        return np.asarray((self.total - r * self.key) ** 2 <= self.scale * variance)


def _outermost(test: _Test, centre: FloatArray) -> FloatArray:
    """(V, 2): on each side of the centre (V,), the accepted share that is furthest from it.

    It is the first accepted share on a grid that starts at 0 or at 1, refined by bisection.
    """
    sides = np.array([[0.0], [1.0]])
    tried = sides + (centre - sides) * np.linspace(0.0, 1.0, _GRID)[:, None, None]
    accepted = test.accepts(tried)
    accepted[-1] = True
    first = np.argmax(accepted, axis=0)[None]
    inside = np.take_along_axis(tried, first, axis=0)[0]
    outside = np.take_along_axis(tried, np.maximum(first - 1, 0), axis=0)[0]
    for _ in range(_HALVINGS):
        half = (inside + outside) / 2
        right = test.accepts(half)
        inside, outside = np.where(right, half, inside), np.where(right, outside, half)
    ends: FloatArray = inside.T
    return ends
