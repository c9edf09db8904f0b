"""The noise of unbiased estimates: variances, likelihoods at given shares, and the atoms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from warner.channels import HashPool
from warner.estimators.base import LikelihoodData
from warner.estimators.empirical_bayes.prior import (
    SETTINGS,
    NeighbourPrediction,
    predict_from_neighbours,
)
from warner.metrics import project

_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class SupportCounts:
    """The reports of one mechanism that support each value."""

    n: float  # number of reports
    share: np.ndarray  # (K,), the share of the reports that supports each value
    # q, gap: (K,) each. At a true share t, the expected share of the reports is q + gap t.
    q: np.ndarray
    gap: np.ndarray
    direct: bool  # whether each report names exactly one value

    def subset(self, index: np.ndarray) -> SupportCounts:
        return replace(self, share=self.share[index], q=self.q[index], gap=self.gap[index])

    def logs(self, atoms: np.ndarray) -> np.ndarray:
        """Log-likelihoods (K, J) of counts: binomial, or Poisson where reports are values."""
        share, q, gap = (v[:, None] for v in (self.share, self.q, self.gap))
        if (q == q[:1]).all() and (gap == gap[:1]).all():
            q, gap = q[:1], gap[:1]  # one law for all values takes J logarithms
        mu = np.clip(q + gap * atoms, _TINY, 1 - 1e-16)
        return np.asarray(
            self.n * (share * np.log(mu) + (-mu if self.direct else (1 - share) * np.log1p(-mu)))
        )


@dataclass(frozen=True, eq=False)
class EstimateNoise:
    """K unbiased estimates y with variances (null + slope t - t^2) / n at true shares t."""

    # For counts with mu = q + gap t the variance is mu (1 - mu) / (n gap^2), so null = q (1 - q) /
    # gap^2 and slope = (1 - 2q) / gap. Else both are exact, from ``Channel.variance_at_zero``.

    n: float  # number of reports, or of such reports as give estimates with this noise
    y: np.ndarray  # y, null, slope: (K,) each
    null: np.ndarray
    slope: np.ndarray
    q: np.ndarray | None  # q, gap: (K,) each, where reports support values; else None
    gap: np.ndarray | None
    direct: bool  # whether each report names exactly one value
    prediction: NeighbourPrediction | None = None  # from the order of the values, or None
    # The counts of each of several mechanisms: their likelihoods multiply, y only places atoms
    groups: tuple[SupportCounts, ...] = ()

    @classmethod
    def of(cls, data: LikelihoodData, likelihood: str) -> EstimateNoise:
        """The unbiased estimates of a tally, moved to sum to one, and their noise."""
        channel, n = data.channel, float(data.n)
        y = channel.invert(data.weights)
        law = None
        if likelihood == "binomial":
            law = channel.binomial_law(project(y))
            if isinstance(channel, HashPool):
                law = channel.average_support_law()
        if law is None:
            plug = project(y)
            _, at_value = channel.inverse_moments(plug)
            null = channel.variance_at_zero(plug)
            moved = cls(n, y, null, np.maximum(at_value - null, 0.0), None, None, False).balanced()
            return (
                replace(moved, groups=_groups(data, moved.y - y, plug))
                if likelihood == "binomial"
                else moved
            )
        q, gap = law.q, law.gap
        if isinstance(channel, HashPool):
            y, worth = _pool_estimates(channel, data, y, q, gap)
            n *= worth
        null, slope = q * (1 - q) / gap**2, (1 - 2 * q) / gap
        return cls(n, y, null, slope, q, gap, channel.reports_are_values).balanced()

    def balanced(self) -> EstimateNoise:
        """The same noise with y moved in proportion to its variances, so that y sums to one.

        For shares that sum to one this changes no likelihood. It removes the error of the sum.
        """
        return replace(self, y=move_to_sum(self.y, self.variance(self.y)))

    def with_neighbours(self) -> EstimateNoise:
        """The same estimates with the prediction of each share from the other values."""
        return replace(
            self, prediction=predict_from_neighbours(self.y, self.variance(project(self.y)))
        )

    def subset(self, index: np.ndarray) -> EstimateNoise:
        """The estimates of the values at the indices ``index``."""
        q, gap = (None if v is None else v[index] for v in (self.q, self.gap))
        return replace(
            self,
            y=self.y[index],
            null=self.null[index],
            slope=self.slope[index],
            q=q,
            gap=gap,
            prediction=None if self.prediction is None else self.prediction.subset(index),
            groups=tuple(group.subset(index) for group in self.groups),
        )

    def variance(self, t: np.ndarray) -> np.ndarray:
        """The variances (K,), at least 1 / n^2, of the estimates at true shares t in [0, 1]."""
        t = np.clip(t, 0.0, 1.0)
        return np.asarray(np.maximum((self.null + self.slope * t - t**2) / self.n, 1.0 / self.n**2))

    def free_variance(self, t: np.ndarray) -> np.ndarray:
        """The variances (K,) without the condition that shares sum to one."""
        out = self.variance(t)
        if self.direct and self.q is not None and self.gap is not None:
            out = out / np.clip(1 - self.q - self.gap * np.clip(t, 0.0, 1.0), 1 / self.n, 1.0)
        return out

    def near_zero(self) -> np.ndarray:
        """The standard deviations (K,) of the estimates at shares that the noise just hides."""
        hidden = 3 * np.sqrt(self.variance(np.zeros(self.y.size)))
        return np.asarray(np.sqrt(self.variance(hidden)))

    def likelihood(self, atoms: np.ndarray) -> np.ndarray:
        """The likelihood (K, J) of each share at the atoms (J,)."""
        if self.groups:
            logs = np.sum([group.logs(atoms) for group in self.groups], axis=0)
        elif self.q is None or self.gap is None:
            variance = np.maximum(
                (self.null[:, None] + self.slope[:, None] * atoms - atoms**2) / self.n,
                1.0 / self.n**2,
            )
            logs = -((self.y[:, None] - atoms) ** 2) / (2 * variance) - np.log(variance) / 2
        else:
            logs = SupportCounts(
                self.n, self.q + self.gap * self.y, self.q, self.gap, self.direct
            ).logs(atoms)
        out: np.ndarray = np.exp(logs - logs.max(axis=1, keepdims=True))
        if self.prediction is not None:
            out *= self.prediction.likelihood(atoms)
            out /= out.max(axis=1, keepdims=True)
        return out

    def place(self, t: np.ndarray) -> np.ndarray:
        """Transform shares t (K,) to the scale z on which the noise has variance one.

        z = integral dt / sd(t) = sqrt(n) arcsin((2t - slope) / r),   r^2 = slope^2 + 4 null
        """
        r = np.sqrt(self.slope**2 + 4 * self.null)
        sine = (2 * np.clip(t, 0.0, 1.0) - self.slope) / np.maximum(r, _TINY)
        return np.asarray(np.sqrt(self.n) * np.arcsin(np.clip(sine, -1.0, 1.0)))

    def _kinds(self) -> np.ndarray:
        """null and slope (2, K), rounded so that values with the same noise have equal numbers."""
        each = np.stack([self.null, self.slope])
        largest = np.abs(each).max(axis=1, keepdims=True)
        return np.round(each / np.where(largest > 0, largest, 1.0), 12)

    def atoms(self, mean: float) -> np.ndarray:
        """The J shares on which the prior may have mass, (J,)."""
        # 0, equal steps in units of the noise near the data, and a geometric grid below that
        # resolution.
        kinds = same_columns([*self._kinds()])
        first = np.unique(kinds, return_index=True)[1]
        laws = np.stack([self.null, self.slope])[:, first]
        if laws.shape[1] > SETTINGS.most_noise_kinds:  # the least noise stands for all
            laws, kinds = laws[:, :1], np.zeros(self.y.size, dtype=np.int64)
        even, finest = [], np.inf
        reach = np.arange(
            -int(SETTINGS.atom_reach / SETTINGS.atom_step),
            int(SETTINGS.atom_reach / SETTINGS.atom_step) + 2,
        )
        for kind, (null, slope) in enumerate(laws.T):
            y = self.y[kinds == kind]
            law = replace(self, null=np.full(1, null), slope=np.full(1, slope))
            origin, end = (float(law.place(np.array([t]))[0]) for t in (0.0, 1.0))
            last = int((end - origin) / SETTINGS.atom_step)
            steps = np.floor((law.place(y) - origin) / SETTINGS.atom_step)
            near = np.unique(steps.astype(np.int64))[:, None] + reach
            steps = _fill_gaps(
                np.unique(np.concatenate([near[(near > 0) & (near <= last)], [0, last]]))
            )
            z = origin + SETTINGS.atom_step * np.append(1, steps[1:])
            t = (
                slope + np.sqrt(slope**2 + 4 * null) * np.sin(np.minimum(z, end) / np.sqrt(self.n))
            ) / 2
            finest = min(finest, float(t[0]))
            even.append(t[1:])
        low, top = SETTINGS.lowest_atom * mean, min(1.0, finest / (SETTINGS.atom_ratio - 1))
        highest = np.clip(
            float((self.y + SETTINGS.atom_reach * np.sqrt(self.variance(self.y))).max()),
            4 * mean,
            1.0,
        )
        steps_below = max(
            0, int(np.ceil(np.log(max(top, _TINY) / low) / np.log(SETTINGS.atom_ratio)))
        )
        below = low * SETTINGS.atom_ratio ** np.arange(steps_below)
        above = np.concatenate(even)
        above = above[above > (1.05 * below[-1] if steps_below else 0.0)]
        return np.unique(
            np.clip(
                np.concatenate([[0.0, min(1.0, mean)], below[below <= highest], above]), 0.0, 1.0
            )
        )

    def distinct(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values with the same data, up to rounding: (K,)."""
        # Estimates of equal counts may differ in their last digits, as sums took another order.
        least = float(np.sqrt(self.variance(self.y).min())) * SETTINGS.same_estimate
        columns = [np.round(self.y / least), *self._kinds()]
        if self.prediction is not None:
            columns.append(self.prediction.value)
        if self.q is not None and self.gap is not None:
            columns += [np.round(v, 14) for v in (self.q, self.gap)]
        for group in self.groups:
            counted = np.round((group.share - group.q) / group.gap / least)
            columns += [counted, np.round(group.q, 14), np.round(group.gap, 14)]
        kind = same_columns(columns)
        _, one, alike = np.unique(kind, return_index=True, return_counts=True)
        return kind, one, alike

    def rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Group values with nearly equal data into R rows: (K,)."""
        scaled = self.y / np.sqrt(self.variance(self.y))
        prediction = (
            np.zeros(1)
            if self.prediction is None
            else self.prediction.value / np.sqrt(self.prediction.variance)
        )
        of_groups = [
            (group.share - group.q) / group.gap / np.sqrt(self.variance(self.y))
            for group in self.groups
        ]
        rounded = [
            np.broadcast_to(np.round(v / SETTINGS.row_width), scaled.shape)
            for v in (scaled, prediction, *of_groups)
        ]
        back = same_columns([*rounded, *self._kinds()])
        order = np.argsort(self.y, kind="stable")
        rows, counts = back[order], np.bincount(back)
        # The middle one of a row stands for it, however the values are labelled.
        middle = order[np.argsort(rows, kind="stable")[np.cumsum(counts) - counts + counts // 2]]
        return back, middle, counts.astype(np.float64)


def same_columns(columns: Sequence[np.ndarray]) -> np.ndarray:
    """The kind (K,) of each of K tuples of numbers, in the order of the tuples."""
    # By ranks, one column after the other: a sort of integers for a column, none if constant.
    kind = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        if (column != column[0]).any():
            _, code = np.unique(column, return_inverse=True)
            _, kind = np.unique(kind * kind.size + code, return_inverse=True)
    return kind


def _pool_estimates(
    pool: HashPool, data: LikelihoodData, y: np.ndarray, q: np.ndarray, gap: np.ndarray
) -> tuple[np.ndarray, float]:
    """Unbiased estimates (K,) from a pool of seeds, the better of two, and their worth."""
    # Two values meet in 1/g + e of the seeds, e of variance (1/g) (1 - 1/g) / seeds. The inverse of
    # the collisions removes these shares at a cost in noise, exact or, where that takes too long, 1
    # / (1 - K / (seeds (g - 1))). Left in, they are noise of variance sum theta^2 / (seeds (g -
    # 1)), less where seeds outnumber reports.
    channel, size, n = data.channel, y.size, data.n
    even = np.full(size, 1 / size)
    mu = q + gap * even
    count_noise = float((mu * (1 - mu) / gap**2).mean())
    free = pool.seeds * (pool.buckets - 1)
    exact = channel.shape[0] * size**2 <= SETTINGS.exact_pool_work
    inverted = (
        min(1.0, count_noise / float(channel.variance(even).mean()))
        if exact
        else max(1 - size / free, 1 / n)
    )
    plain = (channel.support_shares(data.weights) - q) / gap
    power = max(float(plain @ plain) - size * count_noise / n, 1 / size)
    crossed = count_noise / (count_noise + n * power / free)
    return (plain, crossed) if crossed > inverted else (y, inverted)


def _fill_gaps(steps: np.ndarray) -> np.ndarray:
    """Sorted integers, with 1, 3, 7, .. more on either side of each gap, up to its middle."""
    # Else the last atom before a gap would stand for half of it, with too much mass.
    gap = np.diff(steps)[:, None]
    far = 2 ** np.arange(1, 40) - 1
    inside = 2 * far <= gap
    return np.unique(
        np.concatenate([steps, (steps[:-1, None] + far)[inside], (steps[1:, None] - far)[inside]])
    )


def _groups(
    data: LikelihoodData, moved: np.ndarray, shares: np.ndarray
) -> tuple[SupportCounts, ...]:
    """The counts of each mechanism, moved as the estimates were; none if one counts no support."""
    groups = data.channel.split_groups(data.weights, data.n)
    if len(groups) < 2:
        return ()
    counts = []
    for channel, weights, n in groups:
        law = channel.binomial_law(shares)
        if law is None:
            return ()
        counted = law.q + law.gap * (channel.invert(weights) + moved)
        counts.append(SupportCounts(float(n), counted, law.q, law.gap, channel.reports_are_values))
    return tuple(counts)


def move_to_sum(values: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Move numbers (K,) in proportion to their variances (K,) until their sum is one."""
    total = float(variance.sum())
    share = variance / total if total > 0 else np.full(values.size, 1 / values.size)
    return np.asarray(values + share * (1 - float(values.sum())))


def split_large_values(noise: EstimateNoise) -> tuple[np.ndarray, np.ndarray]:
    """Split values into those on which the prior is fitted and the largest, held apart."""
    # Only where all would need too many atoms; those apart say nothing about each other. Few values
    # that come here have so little noise that a prior matters near 0 only.
    if noise.y.size <= SETTINGS.small_domain:
        hidden = noise.y <= SETTINGS.hidden_shares * noise.near_zero()
        hidden[np.argmin(noise.y)] = True
        return np.flatnonzero(hidden), np.flatnonzero(~hidden)
    order = np.argsort(noise.y)
    z = noise.place(noise.y)[order]
    # Each value brings the atoms within reach that the one below it does not.
    fresh = (
        np.minimum(
            np.concatenate([[2 * SETTINGS.atom_reach], np.abs(np.diff(z))]), 3 * SETTINGS.atom_reach
        )
        / SETTINGS.atom_step
    )
    together = np.cumsum(fresh) <= max(SETTINGS.most_atoms, 2 * fresh[0])
    return np.sort(order[together]), np.sort(order[~together])
