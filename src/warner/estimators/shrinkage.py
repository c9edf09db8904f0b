"""Empirical Bayes: K noisy counts of one distribution tell each other what shares look like (METHODS 5)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from warner._check import choice
from warner.channel import Channel, DirectChannel, HadamardChannel, HashChannel, SupportChannel, SupportRows
from warner.estimate import Fit, Status
from warner.estimators._base import Estimator
from warner.estimators._prior import fit_prior, tilted
from warner.estimators.objective import over
from warner.estimators.simplex import project
from warner.evidence import Evidence

_STEP = 0.4  # atoms, in standard deviations of the noise
_REACH = 4.5  # how far from any value there are atoms, likewise
_RATIO = 1.25  # between atoms below that resolution
_LOWEST = 0.03  # smallest atom above 0, in shares of 1/K
_MOST = 1000  # atoms
_KINDS = 8  # of noise that get atoms of their own
_WIDTH = 0.1  # rows closer than this, in standard deviations, are one row of the prior's data
_LEAST = 10  # reports per value from which their likelihood is used whole
_WORK = 1e10  # multiplications that this may cost
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
        posterior = _posterior(noise, self.loss == "absolute")
        sharper = _sharpened(evidence, noise, posterior.shares)
        if sharper is not None:
            posterior = _posterior(sharper, self.loss == "absolute")
        return Fit(posterior.shares, Status.SHRUNK, seconds=perf_counter() - start, draws=posterior.draws)


@dataclass(frozen=True, eq=False)
class Posterior:
    """What is known of the K shares.

    Attributes:
        shares: (K,) the estimate.
        values: which shares have a law over atoms; the others are normal about their estimates.
        laws, atoms: (L, J), (J,).
        variance: (K,).
    """

    shares: np.ndarray
    values: np.ndarray
    laws: np.ndarray
    atoms: np.ndarray
    variance: np.ndarray

    def draws(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """(count, K) distributions: shares drawn one by one, then moved onto the sum."""
        found = self.shares + np.sqrt(self.variance) * rng.standard_normal((count, self.shares.size))
        found[:, self.values] = _sample(self.laws, self.atoms, count, rng)
        return np.stack([project(_onto_sum(row, self.variance)) for row in found])


def _posterior(noise: Noise, absolute: bool) -> Posterior:
    """The shares given their noisy estimates, under the prior that these suggest."""
    values, apart = _separate(noise)
    out, variance = np.clip(noise.y, 0.0, 1.0), noise.variance(noise.y)
    target = 1 - float(out[apart].sum())
    mean = min(max(target / values.size, 1e-3 / noise.y.size), 1.0)
    part = noise.part(values)
    atoms = part.atoms(mean)
    rows, first, counts = part.rows()
    prior = fit_prior(part.part(first).likelihood(atoms), counts, atoms, mean, absolute)
    laws = tilted(prior.posteriors(part.likelihood(atoms), rows), atoms, target, variance[apart])
    means = laws @ atoms
    # What the tilt took from the values held apart.
    out[apart] += (target - float(means.sum())) * variance[apart] / max(float(variance[apart].sum()), _TINY)
    variance[values] = np.maximum(laws @ atoms**2 - means**2, 0.0)
    out[values] = _common_quantile(laws, atoms, 1 - float(out[apart].sum())) if absolute else means
    return Posterior(project(_onto_sum(out, variance)), values, laws, atoms, variance)


def _sharpened(evidence: Evidence, noise: Noise, theta: np.ndarray) -> Noise | None:
    """Estimates that use whole reports, by one Newton step of their likelihood from ``theta``; None where that is nothing new or too much.

    A report that supports a common value says less about the others it supports, which support counts do not know. With s the
    score and I = A' diag(w / d^2) A at theta, y = theta + B (s - 1), B the inverse of I on vectors that sum to 0, is efficient
    with variances diag(B) / n. Taken as independent given the sum, those are K / (K - 1) times as large; their mean says
    how many reports of the old kind the new estimates are worth.
    """
    channel, size = evidence.channel, theta.size
    if noise.q is None or noise.direct or channel.copies != 1 or size < 2:
        return None
    seen = int(np.count_nonzero(evidence.weights))
    if evidence.n < _LEAST * size or seen < size or seen * size**2 > _WORK:
        return None
    rows, w = channel.seen(evidence.weights)
    d = rows.matvec(theta)
    score = rows.rmatvec(over(w, d))
    information = rows.gram(over(w, d**2))
    # On sums of zero nothing changes when a constant is added to I; this one makes it invertible without ado.
    information += float(information.diagonal().mean())
    basis = np.linalg.pinv(information, hermitian=True)
    ones = basis.sum(axis=1)
    basis -= np.outer(ones, ones) / ones.sum()
    worth = float(noise.variance(theta).sum()) * noise.n * (size - 1) / (size * float(basis.diagonal().sum()))
    if not np.isfinite(worth) or worth * evidence.n <= noise.n:
        return None
    return replace(noise, n=evidence.n * worth, y=theta + basis @ (score - 1))


@dataclass(frozen=True, eq=False)
class Noise:
    """K unbiased estimates y and their noise: variance (null + slope t - t^2) / n at a true share t, each (K,).

    A count with mean mu = q + gap t has variance mu (1 - mu) / (n gap^2), so null = q (1 - q) / gap^2, slope = (1 - 2q) / gap;
    other channels' are exact from their inverse's weights (see Channel.null_variance).

    Attributes:
        n: reports, or how many of this kind the estimates are worth.
        y, null, slope: (K,).
        q, gap: (K,) where counts are known by them, else None.
        direct: whether reports are values.
    """

    n: float
    y: np.ndarray
    null: np.ndarray
    slope: np.ndarray
    q: np.ndarray | None
    gap: np.ndarray | None
    direct: bool

    @classmethod
    def of(cls, evidence: Evidence, likelihood: str) -> Noise:
        """The noise of a tally's unbiased estimates, moved to sum to one."""
        channel, n = evidence.channel, float(evidence.n)
        y = channel.invert(evidence.weights)
        known = _support_law(channel) if likelihood == "binomial" else None
        if known is None:
            plug = project(y)
            _, own = channel.moments(plug)
            null = channel.null_variance(plug)
            return cls(n, y, null, np.maximum(own - null, 0.0), None, None, False)._balanced()
        q, gap = known
        if isinstance(channel, HashChannel) and channel.shape[0] * y.size**2 <= _WORK / 4:
            # The noise of one value in another's count is the pool's; undoing it costs reports, many where there are few seeds.
            even = np.full(y.size, 1 / y.size)
            mu = q + gap * even
            n = n * min(1.0, float((mu * (1 - mu) / gap**2).sum() / channel.variance(even).sum()))
        return cls(n, y, q * (1 - q) / gap**2, (1 - 2 * q) / gap, q, gap, isinstance(channel, DirectChannel))._balanced()

    def _balanced(self) -> Noise:
        """y moved along its variances to sum to one: on the simplex that changes no likelihood, and it takes out the error of the sum."""
        return replace(self, y=_onto_sum(self.y, self.variance(self.y)))

    def part(self, index: np.ndarray) -> Noise:
        """Some of the values."""
        q, gap = (None if v is None else v[index] for v in (self.q, self.gap))
        return replace(self, y=self.y[index], null=self.null[index], slope=self.slope[index], q=q, gap=gap)

    def variance(self, t: np.ndarray) -> np.ndarray:
        """At true shares t, clipped to [0, 1]; at least that of one report in n^2."""
        t = np.clip(t, 0.0, 1.0)
        return np.maximum((self.null + self.slope * t - t**2) / self.n, 1.0 / self.n**2)

    def likelihood(self, atoms: np.ndarray) -> np.ndarray:
        """(K, J), each row divided by its largest entry."""
        if self.q is None or self.gap is None:
            variance = np.maximum((self.null[:, None] + self.slope[:, None] * atoms - atoms**2) / self.n, 1.0 / self.n**2)
            logs = -((self.y[:, None] - atoms) ** 2) / (2 * variance) - np.log(variance) / 2
        else:
            mu = np.clip(self.q[:, None] + self.gap[:, None] * atoms, _TINY, 1 - 1e-16)
            share = (self.q + self.gap * self.y)[:, None]
            logs = self.n * (share * np.log(mu) + (-mu if self.direct else (1 - share) * np.log1p(-mu)))
        out: np.ndarray = np.exp(logs - logs.max(axis=1, keepdims=True))
        return out

    def place(self, t: np.ndarray) -> np.ndarray:
        """t (K,) where its noise has variance one: z = integral dt / sd(t) = sqrt(n) arcsin((2t - slope) / r), r^2 = slope^2 + 4 null."""
        r = np.sqrt(self.slope**2 + 4 * self.null)
        return np.sqrt(self.n) * np.arcsin(np.clip((2 * np.clip(t, 0.0, 1.0) - self.slope) / np.maximum(r, _TINY), -1.0, 1.0))

    def atoms(self, mean: float) -> np.ndarray:
        """(J,) shares that the prior may have: 0, even steps of the noise near the data, in proportion to each other below its resolution."""
        laws, kinds = np.unique(np.stack([self.null, self.slope]).round(12), axis=1, return_inverse=True)
        if laws.shape[1] > _KINDS:  # the least noise stands for all
            laws, kinds = laws[:, :1], np.zeros(self.y.size, dtype=np.int64)
        even, finest = [], np.inf
        reach = np.arange(-int(_REACH / _STEP), int(_REACH / _STEP) + 2)
        for kind, (null, slope) in enumerate(laws.T):
            y = self.y[kinds.ravel() == kind]
            law = replace(self, null=np.full(1, null), slope=np.full(1, slope))
            origin, end = (float(law.place(np.array([t]))[0]) for t in (0.0, 1.0))
            last = int((end - origin) / _STEP)
            near = (np.floor((law.place(y) - origin) / _STEP)[:, None] + reach).astype(np.int64)
            steps = _bridged(np.unique(np.concatenate([near[(near > 0) & (near <= last)], [0, last]])))
            z = origin + _STEP * np.append(1, steps[1:])
            t = (slope + np.sqrt(slope**2 + 4 * null) * np.sin(np.minimum(z, end) / np.sqrt(self.n))) / 2
            finest = min(finest, float(t[0]))
            even.append(t[1:])
        low, top = _LOWEST * mean, min(1.0, finest / (_RATIO - 1))
        highest = np.clip(float((self.y + _REACH * np.sqrt(self.variance(self.y))).max()), 4 * mean, 1.0)
        rungs = max(0, int(np.ceil(np.log(max(top, _TINY) / low) / np.log(_RATIO))))
        ladder = low * _RATIO ** np.arange(rungs)
        above = np.concatenate(even)
        above = above[above > (1.05 * ladder[-1] if rungs else 0.0)]
        return np.unique(np.clip(np.concatenate([[0.0, min(1.0, mean)], ladder[ladder <= highest], above]), 0.0, 1.0))

    def rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values that hardly differ as one row: (K,) the row of each, and of each row (R,) one of its values and how many it has."""
        place = self.y / np.sqrt(self.variance(self.y))
        keys = np.stack([np.round(place / _WIDTH), self.null.round(12), self.slope.round(12)])
        _, first, rows, counts = np.unique(keys, axis=1, return_index=True, return_inverse=True, return_counts=True)
        return rows.ravel(), first, counts.astype(np.float64)


def _bridged(steps: np.ndarray) -> np.ndarray:
    """Sorted integers with 1, 3, 7, 15, .. more next to either side of each gap, up to its middle.

    Else the last atom before a gap would stand for half of it, and its mass outweigh how unlikely it is.
    """
    gap = np.diff(steps)[:, None]
    far = 2 ** np.arange(1, 40) - 1
    inside = 2 * far <= gap
    return np.unique(np.concatenate([steps, (steps[:-1, None] + far)[inside], (steps[1:, None] - far)[inside]]))


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
    """The values that the prior is fitted on, and those held apart: the largest, where all would need too many atoms.

    Such values lie many standard deviations from one another, and there is nothing they could learn from each other.
    """
    order = np.argsort(noise.y)
    z = noise.place(noise.y)[order]
    # Each value brings the atoms within reach that the one below it does not.
    fresh = np.minimum(np.concatenate([[2 * _REACH], np.abs(np.diff(z))]), 3 * _REACH) / _STEP
    kept = np.cumsum(fresh) <= max(_MOST, 2 * fresh[0])
    return np.sort(order[kept]), np.sort(order[~kept])


def _onto_sum(values: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Moved in proportion to the variances (K,) until the sum is one."""
    total = float(variance.sum())
    share = variance / total if total > 0 else np.full(values.size, 1 / values.size)
    out: np.ndarray = values + share * (1 - float(values.sum()))
    return out


def _cells(atoms: np.ndarray) -> np.ndarray:
    """(J + 1,) where each atom's cell begins and ends: half way to its neighbours, but absent is absent, and 0 a point."""
    edges = np.concatenate([[0.0], (atoms[1:] + atoms[:-1]) / 2, atoms[-1:]])
    edges[1] = 0.0
    return edges


def _common_quantile(posteriors: np.ndarray, atoms: np.ndarray, target: float) -> np.ndarray:
    """(K,): every posterior's quantile at one level, the level at which they sum to ``target``.

    min sum_x E|t_x - theta_x| subject to sum t = target has 2 F_x(t_x) - 1 the same for all x. An atom's mass lies evenly in its cell.
    """
    edges = _cells(atoms)
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
    edges = _cells(atoms)
    out = np.empty((count, len(posteriors)))
    for x, law in enumerate(np.cumsum(posteriors, axis=1)):
        cell = np.minimum(np.searchsorted(law, rng.random(count) * law[-1], side="right"), atoms.size - 1)
        out[:, x] = edges[cell] + rng.random(count) * (edges[cell + 1] - edges[cell])
    return out
