"""Empirical Bayes: the estimator, its posteriors and its two further passes (METHODS 5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from warner._core.checks import choice
from warner.estimators.base import Estimator, repr_of_changes
from warner.estimators.empirical_bayes.noise import EstimateNoise, move_to_sum, split_large_values
from warner.estimators.empirical_bayes.prior import LearnedPrior, blocks, fit_prior, tilt_to_sum
from warner.estimators.empirical_bayes.settings import SETTINGS
from warner.estimators.empirical_bayes.small_domain import SmallDomainPosterior, lattice
from warner.estimators.empirical_bayes.whole_reports import with_whole_reports
from warner.estimators.fit import Fit, PosteriorFit, Status
from warner.estimators.likelihood_data import LikelihoodData
from warner.metrics.simplex import project

_TINY = 1e-300
_KEPT = 2**22  # numbers of posterior laws that are kept for draws
_DRAWN = 2**20  # random numbers at a time


@dataclass(frozen=True)
class EmpiricalBayes(Estimator):
    """Posterior means, or medians, of the shares under a prior learnt from the same reports.

        S_x ~ noise(q_x + gap_x theta_x, n),   theta_x ~ g independently,   sum_x theta_x = 1

    S_x is the number of the n reports that support value x, and theta_x is the share of x. A report
    supports x with probability q_x + gap_x theta_x. The prior g of the shares is estimated from the
    estimates of all values. It is a Dirichlet process around an average of Gamma, log-uniform and
    similar laws, and is fitted with each value left out in turn. The order of the values is used if
    the data show neighbours that are alike, or a pattern that repeats. The estimates of the other
    values then predict each share, and the prediction counts as one more observation of it. Up to 7
    values are too few to learn from. Their prior is a mixture of symmetric Dirichlet laws, under
    which shares sum to one exactly. ``warner.estimators.empirical_bayes`` explains each step.

    The fit's ``posterior`` gives draws. They are exact for up to 7 values. For more values, shares
    are drawn one by one and moved in proportion to their variances until they sum to one. The prior
    is then taken as known. If reports say little, shares that are unlike the rest lie outside the
    quantiles of the draws too often. So ``Estimate.interval`` does not use the draws by default.

    Args:
        loss: ``"squared"`` returns posterior means, tilted to sum to one. ``"absolute"`` returns
            posterior quantiles. They have the same level for all values, the level at which they
            sum to one. Each choice minimises its expected error among vectors that sum to one.
        likelihood: ``"binomial"`` takes each count S_x as binomial, given the share. Where reports
            are values, the count is Poisson, which given the sum is the exact multinomial. For
            several mechanisms or budgets it is the product of their likelihoods. ``"normal"`` takes
            the unbiased estimate as normal with its exact variance. Channels whose reports do not
            support values always use ``"normal"``.
        order: whether the order of the values may be used. With False, or if the data show no
            dependence on the order, estimates do not depend on it.

    Raises:
        IdentifiabilityError: different distributions make the same reports, so there are no
            unbiased estimates to shrink.

    Source: METHODS 5, 7; collapsed mean field as in Kurihara, Welling and Teh (2007).

    >>> EmpiricalBayes()
    EmpiricalBayes()
    """

    references = ("kurihara2007", "stein1981")

    summary: ClassVar[str] = (
        "the shares are posterior means under a prior that is learnt from the reports. This "
        "shrinks them, and makes the error of all shares together least. Inversion() gives each "
        "share without bias"
    )

    loss: str = "squared"
    likelihood: str = "binomial"
    order: bool = True

    @property
    def inverts(self) -> bool:
        return True

    def __repr__(self) -> str:
        return repr_of_changes(self)

    def __post_init__(self) -> None:
        choice("loss", self.loss, ("squared", "absolute"))
        choice("likelihood", self.likelihood, ("binomial", "normal"))
        choice("order", self.order, (True, False))

    def _fit(self, data: LikelihoodData) -> Fit:
        noise = EstimateNoise.of(data, self.likelihood)
        posterior = self._posterior(noise)
        clearer = _without_collisions(data, noise, posterior)
        if clearer is not None:
            noise, posterior = clearer, self._posterior(clearer)
        sharper = with_whole_reports(data, noise, posterior.shares)
        if sharper is not None:
            posterior = self._posterior(sharper)
        return Fit(posterior.shares, Status.COMPLETED, posterior=PosteriorFit(posterior.draws))

    def _posterior(self, noise: EstimateNoise) -> _Posterior:
        """The shares given their noisy estimates."""
        absolute = self.loss == "absolute"
        steps = (
            lattice(float(np.sqrt(noise.variance(noise.y).min())))
            if noise.y.size <= SETTINGS.small_domain
            else None
        )
        if steps is not None:
            return _small_domain(noise, steps, absolute)
        return _large_domain(noise.with_neighbours() if self.order else noise, absolute)


@dataclass(frozen=True, eq=False)
class _Posterior:
    """The posterior of the K shares.

    Attributes:
        shares: (K,) the estimate.
        variance: (K,).
        draws: (count, rng) -> (count, K) distributions.
    """

    shares: np.ndarray
    variance: np.ndarray
    draws: Callable[[int, np.random.Generator], np.ndarray]


def _small_domain(noise: EstimateNoise, steps: int, absolute: bool) -> _Posterior:
    """The posterior under a mixture of symmetric Dirichlet laws."""
    atoms = np.arange(steps + 1) / steps
    small = SmallDomainPosterior.of(noise.likelihood(atoms))
    means = small.laws @ atoms
    shares = _common_quantile(small.laws, atoms, 1.0) if absolute else means
    return _Posterior(
        project(shares), np.maximum(small.laws @ atoms**2 - means**2, 0.0), small.draws
    )


@dataclass(frozen=True, eq=False)
class _SeparatePosteriors:
    """K posteriors, one for each share.

    Attributes:
        shares: (K,).
        values: (L,), the shares that have a law over atoms. The others are normal.
        laws: () -> (M, J), the laws of values that differ.
        place: (L,), the law of each value.
        atoms: (J,).
        variance: (K,).
    """

    shares: np.ndarray
    values: np.ndarray
    laws: Callable[[], np.ndarray]
    place: np.ndarray
    atoms: np.ndarray
    variance: np.ndarray

    def draws(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """(count, K) distributions: shares drawn one by one, then moved onto the sum."""
        drawn = self.shares + np.sqrt(self.variance) * rng.standard_normal(
            (count, self.shares.size)
        )
        drawn[:, self.values] = _sample(self.laws(), self.place, self.atoms, count, rng)
        return np.stack([project(move_to_sum(row, self.variance)) for row in drawn])


@dataclass(frozen=True, eq=False)
class _KeptLaws:
    """Laws that are kept. A class and no lambda, so that an estimate can be pickled."""

    laws: np.ndarray

    def __call__(self) -> np.ndarray:
        return self.laws


@dataclass(frozen=True, eq=False)
class _TiltedLaws:
    """The laws (M, J) of the values ``one`` over atoms, tilted to their sum, on every call anew."""

    noise: EstimateNoise
    one: np.ndarray
    prior: LearnedPrior
    rows: np.ndarray
    atoms: np.ndarray
    target: float
    noise_apart: np.ndarray
    alike: np.ndarray

    def __call__(self) -> np.ndarray:
        found = np.empty((self.one.size, self.atoms.size))
        for some in blocks(*found.shape):
            likelihood = self.noise.subset(self.one[some]).likelihood(self.atoms)
            found[some] = self.prior.posteriors(likelihood, self.rows[some])
        return tilt_to_sum(found, self.atoms, self.target, self.noise_apart, self.alike)


def _large_domain(noise: EstimateNoise, absolute: bool) -> _Posterior:
    """The posterior under the prior that the estimates suggest."""
    values, apart = split_large_values(noise)
    out, variance = np.clip(noise.y, 0.0, 1.0), noise.variance(noise.y)
    target = 1 - float(out[apart].sum())
    mean = min(max(target / values.size, 1e-3 / noise.y.size), 1.0)
    together = noise.subset(values) if apart.size else noise
    atoms = together.atoms(mean)
    data = together
    rows, first, counts = data.rows()
    if first.size > SETTINGS.most_rows and together.prediction is not None:
        data = replace(together, prediction=None)
        rows, first, counts = data.rows()
    prior = fit_prior(data.subset(first).likelihood(atoms), counts, atoms, mean, absolute)
    # Values with the same data have the same posterior, which is computed once.
    place, one, alike = together.distinct()
    noise_apart = variance[apart]
    tilted = _TiltedLaws(together, one, prior, rows[one], atoms, target, noise_apart, alike)
    laws = tilted()
    powers = laws @ np.stack([atoms, atoms**2], axis=1)
    means = powers[:, 0]
    # What the tilt took from the values held apart.
    out[apart] += (
        (target - float(alike @ means)) * noise_apart / max(float(noise_apart.sum()), _TINY)
    )
    variance[values] = np.maximum(powers[:, 1] - means**2, 0.0)[place]
    rest = 1 - float(out[apart].sum())
    out[values] = (_common_quantile(laws, atoms, rest, alike) if absolute else means)[place]
    shares = project(move_to_sum(out, variance))
    # The laws of many values take much memory, and draws can compute them again.
    kept = tilted if laws.size > _KEPT else _KeptLaws(laws)
    draws = _SeparatePosteriors(shares, values, kept, place, atoms, variance).draws
    return _Posterior(shares, variance, draws)


def _without_collisions(
    data: LikelihoodData, noise: EstimateNoise, posterior: _Posterior
) -> EstimateNoise | None:
    """Support counts of a pool of seeds, without the collisions with other values.

    y = theta + (S - E[S | theta]) / gap at the posterior means theta. The collisions that are left
    come from the posterior variances, see ``warner.estimators.empirical_bayes.noise``.
    """
    channel = data.channel
    pool = channel.hash_pool()
    if pool is None or noise.q is None or noise.gap is None:
        return None
    theta = posterior.shares
    count_noise = float(noise.variance(theta).mean()) * noise.n
    cross = data.n * float(posterior.variance.sum()) / (pool.seeds * (pool.buckets - 1))
    worth = count_noise / (count_noise + cross)
    if worth * data.n <= SETTINGS.worthwhile_gain * noise.n:
        return None
    y = theta + channel.support_shares(data.weights - channel.matvec(theta)) / noise.gap
    return replace(noise, n=data.n * worth, y=y).balanced()


def _cells(atoms: np.ndarray) -> np.ndarray:
    """(J + 1,) borders of the atoms' cells, half way between neighbours; 0 has a point."""
    edges = np.concatenate([[0.0], (atoms[1:] + atoms[:-1]) / 2, atoms[-1:]])
    edges[1] = 0.0
    return edges


def _common_quantile(
    posteriors: np.ndarray, atoms: np.ndarray, target: float, alike: np.ndarray | None = None
) -> np.ndarray:
    """(K,) the posteriors' quantiles at one level, the level at which they sum to ``target``.

    ``alike`` (K,) is the number of values that each posterior is of; None for one each.

    They minimise sum_x E|t_x - theta_x| subject to sum t = target, for which 2 F_x(t_x) - 1 is the
    same for all x. The mass of an atom lies evenly in its cell.
    """
    edges = _cells(atoms)
    below = np.concatenate([np.zeros((len(posteriors), 1)), np.cumsum(posteriors, axis=1)], axis=1)
    every = np.arange(len(posteriors))
    times = np.ones(len(posteriors)) if alike is None else alike

    def at(level: float) -> np.ndarray:
        cell = np.clip((below < level).sum(axis=1) - 1, 0, atoms.size - 1)
        inside = np.clip(
            (level - below[every, cell]) / np.maximum(posteriors[every, cell], _TINY), 0.0, 1.0
        )
        out: np.ndarray = edges[cell] + inside * (edges[cell + 1] - edges[cell])
        return out

    low, high = 0.0, 1.0
    for _ in range(45):
        level = (low + high) / 2
        low, high = (low, level) if times @ at(level) > target else (level, high)
    return at((low + high) / 2)


def _sample(
    posteriors: np.ndarray,
    place: np.ndarray,
    atoms: np.ndarray,
    count: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """(count, K) independent draws, even within the cell of an atom; ``place`` (K,) tells laws."""
    edges = _cells(atoms)
    out = np.empty((count, len(place)))
    step = max(1, _DRAWN // count)
    for start in range(0, len(place), step):
        laws, which = np.unique(place[start : start + step], return_inverse=True)
        order = np.argsort(which, kind="stable")
        ends = np.cumsum(np.bincount(which))
        drawn = rng.random((which.size, 2, count))
        for law, values in zip(posteriors[laws], np.split(order, ends[:-1]), strict=True):
            below = np.cumsum(law)
            mass = drawn[values, 0] * below[-1]
            cell = np.minimum(np.searchsorted(below, mass, side="right"), atoms.size - 1)
            place_in = drawn[values, 1] * (edges[cell + 1] - edges[cell])
            out[:, start + values] = (edges[cell] + place_in).T
    return out
