"""Empirical Bayes: K noisy counts of one distribution tell each other what shares look like (METHODS 5)."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

import numpy as np

from warner._check import choice
from warner.channel import Channel, DirectChannel, HadamardChannel, HashChannel, SupportChannel, SupportRows
from warner.estimate import Fit, Status
from warner.estimators._base import Estimator
from warner.estimators._prior import fit_prior, tilted
from warner.estimators.simplex import project
from warner.evidence import Evidence

_STEP = 0.4  # atoms, in standard deviations of the noise
_REACH = 4.5  # how far from any value there are atoms, likewise
_RATIO = 1.25  # between atoms below that resolution
_LOWEST = 0.03  # smallest atom above 0, in shares of 1/K
_MOST = 1000  # atoms
_WIDTH = 0.1  # rows closer than this, in standard deviations, are one row of the prior's data
_TINY = 1e-300


@dataclass(frozen=True)
class EmpiricalBayes(Estimator):
    """Posterior means, or medians, of the shares under a prior that the shares themselves suggest.

        S_x ~ noise(q_x + gap_x theta_x, n),  theta_x ~ g independently, conditional on sum theta = 1;  g is estimated

    g is a Dirichlet process around an average of parametric laws, fitted with each value left out in turn; see ``warner.estimators._prior``.
    Nothing is said about which values are large, only about how many are, so it holds for any domain; on ordered ones, where
    neighbours are alike, methods that use the order do better.

    Args:
        loss: ``"squared"`` returns posterior means, tilted to sum to one; ``"absolute"`` the posterior quantile of one level for
            all values, the level at which they sum to one. Each minimises its expected error among vectors of that sum.
        likelihood: ``"binomial"`` takes the counts S_x of reports that support each value as binomial, given each atom; for reports
            that are values, Poisson, which conditional on the sum is the exact multinomial. ``"normal"`` takes the unbiased
            estimate as normal with its exact variance given each atom, and so do channels whose reports do not support values.

    The fit's ``draws`` are draws from the posterior. They are honest to an approximation: posteriors are drawn one by one and moved onto the
    sum in proportion to their variances, and they know the prior only as estimated.

    Raises:
        IdentifiabilityError: different distributions make the same reports, so there are no unbiased estimates to shrink.

    Source: METHODS 5, 7; collapsed mean field as in Kurihara, Welling and Teh (2007).

    >>> EmpiricalBayes()
    EmpiricalBayes(loss='squared', likelihood='binomial')
    """

    loss: str = "squared"
    likelihood: str = "binomial"

    def __post_init__(self) -> None:
        choice("loss", self.loss, ("squared", "absolute"))
        choice("likelihood", self.likelihood, ("binomial", "normal"))

    def fit(self, evidence: Evidence) -> Fit:
        start = perf_counter()
        noise = Noise.of(evidence, self.likelihood)
        size = noise.y.size
        shared, apart = _separate(noise)
        out, spread = noise.y.copy(), noise.variance(noise.y)
        if not shared.any():
            return Fit(project(out), Status.EXACT, seconds=perf_counter() - start)
        values = np.flatnonzero(shared)
        target = 1 - float(out[apart].sum())
        mean = min(max(target / values.size, 1e-3 / size), 1.0)
        part = noise.part(values)
        atoms = part.atoms(mean)
        rows, first, counts = part.rows()
        prior = fit_prior(part.part(first).likelihood(atoms), counts, atoms, mean, self.loss == "absolute")
        posteriors = tilted(prior.posteriors(part.likelihood(atoms), rows), atoms, target, spread[apart])
        means = posteriors @ atoms
        # What the tilt took from the values held apart, and the last digits of the sum.
        spread[values] = np.maximum(posteriors @ atoms**2 - means**2, 0.0)
        if self.loss == "squared" or apart.size:
            out[values] = means
            out[apart] += (target - float(means.sum())) * spread[apart] / max(float(spread[apart].sum()), _TINY)
        if self.loss == "absolute":
            out[values] = _common_quantile(posteriors, atoms, 1 - float(out[apart].sum()))

        def draws(count: int, rng: np.random.Generator) -> np.ndarray:
            found = out + np.sqrt(spread) * rng.standard_normal((count, size))
            found[:, values] = _sample(posteriors, atoms, count, rng)
            return np.stack([project(_onto_sum(row, spread)) for row in found])

        return Fit(project(_onto_sum(out, spread)), Status.EXACT, seconds=perf_counter() - start, draws=draws)


@dataclass(frozen=True, eq=False)
class Noise:
    """K unbiased estimates y and their noise: variance (null + slope t - t^2) / n at a true share t, each (K,).

    A count with mean mu = q + gap t has variance mu (1 - mu) / (n gap^2), so null = q (1 - q) / gap^2, slope = (1 - 2q) / gap;
    other channels' are exact from their inverse's weights (see Channel.null_variance).

    Attributes:
        n: reports.
        y, null, slope: (K,).
        q, gap: (K,) where counts are known by them, else None.
        direct: whether reports are values.
    """

    n: int
    y: np.ndarray
    null: np.ndarray
    slope: np.ndarray
    q: np.ndarray | None
    gap: np.ndarray | None
    direct: bool

    @classmethod
    def of(cls, evidence: Evidence, likelihood: str) -> Noise:
        """The noise of a tally's unbiased estimates, moved to sum to one."""
        channel, n = evidence.channel, evidence.n
        y = channel.invert(evidence.weights)
        known = _support_law(channel) if likelihood == "binomial" else None
        if known is None:
            plug = project(y)
            total, own = channel.moments(plug)
            null = channel.null_variance(plug)
            return cls(n, y, null, np.maximum(own - null, 0.0), None, None, False)._balanced()
        q, gap = known
        return cls(n, y, q * (1 - q) / gap**2, (1 - 2 * q) / gap, q, gap, isinstance(channel, DirectChannel))._balanced()

    def _balanced(self) -> Noise:
        """y moved along its variances to sum to one: on the simplex that changes no likelihood, and it takes out the error of the sum."""
        y = _onto_sum(self.y, self.variance(self.y))
        return Noise(self.n, y, self.null, self.slope, self.q, self.gap, self.direct)

    def part(self, index: np.ndarray) -> Noise:
        """Some of the values."""
        q, gap = (None if v is None else v[index] for v in (self.q, self.gap))
        return Noise(self.n, self.y[index], self.null[index], self.slope[index], q, gap, self.direct)

    def variance(self, t: np.ndarray) -> np.ndarray:
        """At true shares t, clipped to [0, 1]; at least that of one report in n^2."""
        t = np.clip(t, 0.0, 1.0)
        return np.maximum((self.null + self.slope * t - t**2) / self.n, 1.0 / self.n**2)

    def likelihood(self, atoms: np.ndarray) -> np.ndarray:
        """(K, J), each row divided by its largest entry."""
        if self.q is None or self.gap is None:
            variance = self.part_variance(atoms)
            logs = -((self.y[:, None] - atoms) ** 2) / (2 * variance) - np.log(variance) / 2
        else:
            mu = np.clip(self.q[:, None] + self.gap[:, None] * atoms, _TINY, 1 - 1e-16)
            share = (self.q + self.gap * self.y)[:, None]
            logs = self.n * (share * np.log(mu) + (-mu if self.direct else (1 - share) * np.log1p(-mu)))
        out: np.ndarray = np.exp(logs - logs.max(axis=1, keepdims=True))
        return out

    def part_variance(self, atoms: np.ndarray) -> np.ndarray:
        """(K, J): of every value at every atom."""
        return np.maximum((self.null[:, None] + self.slope[:, None] * atoms - atoms**2) / self.n, 1.0 / self.n**2)

    def places(self) -> np.ndarray:
        """(K,) y where its noise has variance one: z(t) = integral dt / sd(t) = sqrt(n) arcsin((2t - slope) / r), r^2 = slope^2 + 4 null."""
        return self._place(np.clip(self.y, 0.0, 1.0))

    def _place(self, t: np.ndarray) -> np.ndarray:
        r = np.sqrt(self.slope**2 + 4 * self.null)
        return np.sqrt(self.n) * np.arcsin(np.clip((2 * t - self.slope) / np.maximum(r, _TINY), -1.0, 1.0))

    def atoms(self, mean: float) -> np.ndarray:
        """(J,) shares that the prior may have: 0, even steps of the noise near the data, and in proportion to each other below its resolution."""
        group, index = np.unique(np.stack([self.null, self.slope]).round(12), axis=1, return_inverse=True)
        if group.shape[1] > 8:  # many kinds of noise: the finest stands for all
            index = np.zeros(self.y.size, dtype=np.int64)
        found, finest = [np.array([0.0])], np.inf
        reach = np.arange(-int(_REACH / _STEP), int(_REACH / _STEP) + 2)
        for kind in range(int(index.max()) + 1):
            values = np.flatnonzero(index.ravel() == kind)
            lead = values[[int(np.argmin(self.null[values]))]]
            one = self.part(lead)
            z = self.part(values).places() if group.shape[1] <= 8 else Noise.places(_like(self.part(values), one))
            at_zero, at_one = float(one._place(np.zeros(1))[0]), float(one._place(np.ones(1))[0])
            steps = np.unique((np.floor((z - at_zero) / _STEP)[:, None] + reach).astype(np.int64))
            place = at_zero + _STEP * steps[steps > 0]
            r = np.sqrt(one.slope**2 + 4 * one.null)
            t = (one.slope + r * np.sin(place[place < at_one] / np.sqrt(self.n))) / 2
            first = float((one.slope + r * np.sin(min(at_zero + _STEP, at_one) / np.sqrt(self.n)))[0] / 2)
            finest = min(finest, first)
            found.append(t)
        top = min(1.0, finest / (_RATIO - 1))
        low = _LOWEST * mean
        ladder = low * _RATIO ** np.arange(max(0, int(np.ceil(np.log(top / low) / np.log(_RATIO))))) if top > low else np.empty(0)
        highest = np.clip(float((self.y + _REACH * np.sqrt(self.variance(self.y))).max()), 4 * mean, 1.0)
        ladder = ladder[ladder <= highest]
        even = np.concatenate(found[1:])
        even = even[even > (ladder[-1] * 1.05 if ladder.size else 0.0)]
        return np.unique(np.clip(np.concatenate([found[0], ladder, even, [min(1.0, mean)]]), 0.0, 1.0))

    def rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values that hardly differ as one row: (K,) the row of each, and of each row (R,) one of its values and how many it has."""
        place = np.sqrt(self.n) * 0 + self.y / np.sqrt(self.variance(self.y))
        keys = np.stack([np.round(place / _WIDTH), self.null.round(12), self.slope.round(12)])
        _, first, rows, counts = np.unique(keys, axis=1, return_index=True, return_inverse=True, return_counts=True)
        return rows.ravel(), first, counts.astype(np.float64)


def _like(values: Noise, one: Noise) -> Noise:
    """The values with the noise of one of them."""
    size = values.y.size
    return Noise(values.n, values.y, np.repeat(one.null, size), np.repeat(one.slope, size), None, None, False)


def _support_law(channel: Channel) -> tuple[np.ndarray, np.ndarray] | None:
    """q and gap (K,) of the counts S_x where reports support values."""
    if isinstance(channel, DirectChannel | SupportChannel | HadamardChannel | SupportRows):
        return channel.q, channel.gap
    if isinstance(channel, HashChannel):
        # Another value shares the bucket in one seed of g: q' + (p - q') / g.
        other = np.full(channel.shape[1], 1 / channel.count)
        return channel.q + channel.gap * other, channel.gap * (1 - other)
    return None


def _separate(noise: Noise) -> tuple[np.ndarray, np.ndarray]:
    """Which values the prior is fitted on, (K,), and the indices of those held apart: the largest, where all would need too many atoms.

    Such values lie many standard deviations from one another, and there is nothing they could learn from each other.
    """
    size = noise.y.size
    shared = np.ones(size, dtype=bool)
    order = np.argsort(noise.y)
    z = noise.places()[order]
    # Each value brings the atoms within reach that the one below it does not.
    fresh = np.minimum(np.concatenate([[2 * _REACH], np.abs(np.diff(z))]), 2 * _REACH) / _STEP
    shared[order[np.cumsum(fresh) > _MOST]] = False
    return shared, np.flatnonzero(~shared)


def _onto_sum(values: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Moved in proportion to the variances (K,) until the sum is one."""
    total = float(variance.sum())
    share = variance / total if total > 0 else np.full(values.size, 1 / values.size)
    out: np.ndarray = values + share * (1 - float(values.sum()))
    return out


def _common_quantile(posteriors: np.ndarray, atoms: np.ndarray, target: float) -> np.ndarray:
    """(K,): every posterior's quantile at one level, the level at which they sum to ``target``.

    min sum_x E|t_x - theta_x| subject to sum t = target has 2 F_x(t_x) - 1 the same for all x. An atom's mass lies evenly between the
    midpoints to its neighbours.
    """
    edges = np.concatenate([[0.0], (atoms[1:] + atoms[:-1]) / 2, atoms[-1:]])
    below = np.concatenate([np.zeros((len(posteriors), 1)), np.cumsum(posteriors, axis=1)], axis=1)
    every = np.arange(len(posteriors))

    def at(level: float) -> np.ndarray:
        cell = np.clip((below < level).sum(axis=1) - 1, 0, atoms.size - 1)
        part = np.clip((level - below[every, cell]) / np.maximum(posteriors[every, cell], _TINY), 0.0, 1.0)
        out: np.ndarray = edges[cell] + part * (edges[cell + 1] - edges[cell])
        return out

    low, high = 0.0, 1.0
    for _ in range(45):
        level = (low + high) / 2
        low, high = (low, level) if at(level).sum() > target else (level, high)
    return at((low + high) / 2)


def _sample(posteriors: np.ndarray, atoms: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """(count, K) independent draws, even within each atom's cell."""
    edges = np.concatenate([[0.0], (atoms[1:] + atoms[:-1]) / 2, atoms[-1:]])
    out = np.empty((count, len(posteriors)))
    for x, law in enumerate(np.cumsum(posteriors, axis=1)):
        cell = np.minimum(np.searchsorted(law, rng.random(count) * law[-1], side="right"), atoms.size - 1)
        out[:, x] = np.where(atoms[cell] > 0, edges[cell] + rng.random(count) * (edges[cell + 1] - edges[cell]), 0.0)
    return out
