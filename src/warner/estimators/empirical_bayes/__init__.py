"""Empirical Bayes: posteriors of the shares under a prior learnt from the same reports (METHODS 5).

The K shares are many numbers of one kind. Each share has a noisy unbiased estimate. If most shares
seem to be near 0, a single estimate a little above the others is probably noise. So the prior, the
law of the shares, is estimated from all estimates together. The prior then corrects each estimate.

The parts, in the order in which ``EmpiricalBayes`` uses them:

``noise.EstimateNoise``
    The unbiased estimates, moved to sum to one, and the likelihood of each share: binomial counts,
    products of them for several mechanisms, or normal. It chooses the atoms, the shares that the
    prior can have. Without the move, each estimate contains a part of the error of the sum.

``neighbours.NeighbourPrediction``
    A second observation of each share, predicted from the other values by the spectrum along their
    order. Without it, smooth or periodic distributions would not use that neighbours are alike. The
    data decide whether there is a prediction at all, so labels in no order lose little.

``prior.LearnedPrior``
    The prior: parametric laws, averaged by how well they explain the estimates, and around them a
    Dirichlet process of the values' posteriors. The prior of a value is fitted without this value.
    Whether few large values stand beside the rest is weighed apart from the shape of the rest.
    Without the parametric laws, values that are few or far apart would serve as their own prior.
    Without the Dirichlet process, a distribution unlike every law would be shrunk wrongly.

``prior.tilt_to_sum``
    Posteriors tilted until their means sum to one, which is conditioning on the sum to first order.
    Without it the noise of one large share would move all others.

``small_domain.SmallDomainPosterior``
    The posterior for up to 7 values. These are too few to learn a prior from. The prior is
    therefore a fixed mixture of Dirichlet laws in which values may be rare or absent, and the
    shares sum to one exactly.

``noise.split_large_values``
    Values with large shares that differ much keep their estimates, because such shares say nothing
    about each other. Without it the number of atoms, and the time, would grow with the domain.

Two passes may follow, each only where it gains more than it loses, measured in reports:

``estimator._without_collisions``
    For hashing with a small pool of seeds, where values collide in some seeds. The first posterior
    gives the expected part of a count that belongs to other values. This part is subtracted.

``whole_reports``
    A report that supports a common value says less about the other values that it supports. Support
    counts do not contain this information. One step of the likelihood of whole reports adds it.

All constants are in ``settings.Settings``, each with its reason. The tests
in ``tests/statistical/estimators/empirical_bayes`` remove parts one by one and show that the method
then errs more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar, TypeAlias

import numpy as np

from warner._core.checks import choice
from warner._core.progress import in_blocks
from warner.channels import HashPool, HiddenAmongRows, LikelihoodOperator, SupportRows
from warner.estimators.base import (
    Estimator,
    Fit,
    LikelihoodData,
    PosteriorFit,
    Status,
    safe_divide,
)
from warner.estimators.empirical_bayes.noise import EstimateNoise, move_to_sum, split_large_values
from warner.estimators.empirical_bayes.prior import (
    SETTINGS,
    LearnedPrior,
    blocks,
    few_values_prior,
    fit_prior,
    rare_masses,
    tilt_to_sum,
)
from warner.metrics import project

# -----------------------------------------------------------------------------------------------
# Small domains: the posterior of the shares given that they sum to one, on a lattice (METHODS 5).
#
# Few values are not enough to learn a prior from. Also, the law of a share given the sum differs
# much from its law without this condition. So the prior is a mixture of symmetric Dirichlet laws,
# of which two flat ones weigh most. To one an atom at 0 is added for each share, and to the other
# an exponential law of rare shares, with as much mass as the flat law has within some standard
# deviations of the noise. The condition on the sum is computed exactly by convolution.


def lattice(least: float) -> int | None:
    """The number J of steps of the unit interval that resolve the noise."""
    steps = int(2 ** np.ceil(np.log2(SETTINGS.lattice_steps / least)))
    return max(steps, SETTINGS.coarsest_lattice) if steps <= SETTINGS.finest_lattice else None


@dataclass(frozen=True, eq=False)
class SmallDomainPosterior:
    """The posterior of K shares on a lattice of step 1/J."""

    likelihood: np.ndarray  # (K, J + 1), the likelihood at the shares 0, 1/J, .., 1
    noise: np.ndarray  # (K,) the standard deviations of the estimates at a share of 0
    weights: np.ndarray  # (C,) the posterior weights of the C concentrations of the prior
    laws: np.ndarray  # (K, J + 1), the law of each share, given all data and the sum

    @classmethod
    def of(cls, likelihood: np.ndarray, noise: np.ndarray) -> SmallDomainPosterior:
        """Compute the posterior from likelihoods (K, J + 1) and noise (K,)."""
        # The law of theta_x given the sum is f_x(t), likelihood times prior, times the convolution
        # of the other f at 1 - t.
        size, points = likelihood.shape
        length = _length(size, points)
        scores, posteriors = [], []
        for concentration, absent, rare, weight in SETTINGS.simplex_laws:
            prior, whole = _kept_prior(concentration, absent, rare, noise.tobytes(), points)
            spectra = np.fft.rfft(prior * likelihood, length, axis=1)
            before, after = np.ones_like(spectra), np.ones_like(spectra)
            for x in range(1, size):
                before[x] = before[x - 1] * spectra[x - 1]
                after[size - 1 - x] = after[size - x] * spectra[size - x]
            others = np.maximum(np.fft.irfft(before * after, length, axis=1), 0.0)
            laws = prior * likelihood * others[:, points - 1 :: -1]
            masses = laws.sum(axis=1, keepdims=True)
            evidence = np.log(max(float(masses.mean()), _TINY)) - np.log(max(whole, _TINY))
            scores.append(evidence + np.log(weight))
            posteriors.append(laws / np.maximum(masses, _TINY))
        weights = np.exp(np.array(scores) - max(scores))
        weights /= weights.sum()
        return cls(
            likelihood, noise, weights, np.einsum("c,ckj->kj", weights, np.array(posteriors))
        )

    def draws(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Draw a concentration, then shares one by one, each given earlier ones and the rest."""
        size, points = self.likelihood.shape
        out = np.empty((count, size))
        which = rng.choice(len(SETTINGS.simplex_laws), count, p=self.weights)
        for c in np.unique(which):
            concentration, absent, rare, _ = SETTINGS.simplex_laws[c]
            f = self.likelihood * _prior(concentration, absent, rare, self.noise, points)
            rests = [f[-1]]
            for x in range(size - 2, 0, -1):
                both = np.fft.irfft(
                    np.fft.rfft(f[x], 2 * points) * np.fft.rfft(rests[-1], 2 * points), 2 * points
                )[:points]
                rests.append(np.maximum(both, 0.0) / both.max())
            rows = np.flatnonzero(which == c)
            left = np.full(rows.size, points - 1)
            for x in range(size - 1):
                index = left[:, None] - np.arange(points)
                mass = np.cumsum(
                    np.where(index >= 0, f[x] * rests[size - 2 - x][index], 0.0), axis=1
                )
                steps = np.minimum(
                    (mass <= rng.random((rows.size, 1)) * mass[:, -1:]).sum(axis=1), left
                )
                out[rows, x] = steps
                left = left - steps
            out[rows, -1] = left
        return np.asarray(out / (points - 1))


def _length(size: int, points: int) -> int:
    """The length of a convolution of K arrays of J + 1 numbers."""
    return 1 << (size * points - 1).bit_length()


@lru_cache(maxsize=18)  # estimates of one mechanism and as many people have the same noise
def _kept_prior(
    concentration: float, absent: float, rare: float, noise: bytes, points: int
) -> tuple[np.ndarray, float]:
    """The prior (K, J + 1) of :func:`_prior`, and the mass of shares that sum to one."""
    prior = _prior(concentration, absent, rare, np.frombuffer(noise), points)
    length = _length(len(prior), points)
    product = np.fft.rfft(prior, length, axis=1).prod(axis=0)
    prior.setflags(write=False)
    return prior, float(np.fft.irfft(product, length)[points - 1])


def _prior(
    concentration: float, absent: float, rare: float, noise: np.ndarray, points: int
) -> np.ndarray:
    """(K, J + 1) Gamma masses of the lattice's cells, of mean 1/K, the largest 1; with atoms at 0
    and exponential laws of rare shares.

    Given their sum this is a Dirichlet law. The power is exact over a cell, the exponential is
    taken at the points.
    """
    edges = np.concatenate([[0.0], np.arange(points) + 0.5]) / points
    logs = (
        np.log(np.maximum(np.diff(edges**concentration), _TINY))
        - concentration * noise.size * np.arange(points) / points
    )
    out = np.tile(np.exp(logs - logs.max()), (noise.size, 1))
    out[:, 0] += absent * noise * points
    if rare:
        out += rare * noise[:, None] * points * rare_masses(edges, noise)
    return out


# -----------------------------------------------------------------------------------------------
# Estimates from whole reports, by one step of their likelihood (METHODS 5).
#
# A report that supports a common value says less of the others that it supports. Support counts do
# not know this. One step from consistent shares gives estimates that are efficient for many
# reports.


# Standard errors in units of 1 / K up to which a step by observed reports is taken. With uRAP of
# 256 values, epsilon 1 and 20,000 people they are 3.5, and with the step the squared error is 1.5
# times as large.
_MOST_NOISE = 2.0

# y (K,), the trace of B, the indices of some values, and the diagonal of B at these.
_Step: TypeAlias = tuple[np.ndarray, float, np.ndarray, np.ndarray]


def with_whole_reports(
    data: LikelihoodData, noise: EstimateNoise, theta: np.ndarray
) -> EstimateNoise | None:
    """Estimates by one step of the likelihood of whole reports from ``theta`` (K,), or None."""
    # y = theta + B (s - 1) is efficient with variances diag(B) / n, B the inverse information on
    # vectors that sum to 0. As independent given the sum they are K / (K - 1) times as large.
    channel, size = data.channel, theta.size
    if noise.q is None or noise.direct or channel.rows_per_report != 1 or size < 2:
        return None
    observed = int(np.count_nonzero(data.weights))
    if (
        data.n < SETTINGS.reports_per_value * size
        or observed < size
        or observed * size**2 > SETTINGS.whole_report_work
    ):
        return None
    all_listed = channel.has_closed_inverse and channel.lists_all_reports
    step = _scoring_step(data, theta) if all_listed else _newton_step(data, theta)
    if step is None:
        return None
    y, trace, common, diagonal = step
    variance = noise.variance(theta) * noise.n
    total = float(variance.sum()) * (size - 1) / size
    independent = type(channel) is SupportRows and channel.ones is None
    by_bits = independent or isinstance(channel, HiddenAmongRows)
    if by_bits and float(noise.null.max()) > noise.n * (_MOST_NOISE / size) ** 2:
        return None
    if independent:
        # The noise of the sum of independent bits is moved out of them. Values add none to it.
        of_sum = np.maximum(variance - theta * (1 - theta), 0.0)
        total = float(variance.sum() - (of_sum @ of_sum) / max(float(of_sum.sum()), _TINY))
    variance *= (size - 1) / size
    # A common value may gain less than the others. It then is no better known than it is.
    worth = min([total / trace, *(variance[common] / diagonal)])
    if not np.isfinite(worth) or worth * data.n <= noise.n:
        return None
    return replace(noise, n=data.n * worth, y=y)


def _newton_step(data: LikelihoodData, theta: np.ndarray) -> _Step:
    """y (K,) and the trace of B, with the observed information I = A' diag(w / d^2) A."""
    rows, w = data.channel.restrict_to_observed(data.weights)
    d = rows.matvec(theta)
    score = rows.rmatvec(safe_divide(w, d))
    information = rows.gram(safe_divide(w, d**2))
    # On vectors that sum to 0 a constant added to I changes nothing, and it makes I invertible.
    information += float(information.diagonal().mean())
    basis = np.linalg.pinv(information, hermitian=True)
    ones = basis.sum(axis=1)
    basis -= np.outer(ones, ones) / ones.sum()
    none = np.zeros(0, dtype=np.int64)
    return theta + basis @ (score - 1), float(basis.diagonal().sum()), none, np.zeros(0)


def _scoring_step(data: LikelihoodData, theta: np.ndarray) -> _Step | None:
    """y (K,) and the trace of B, with the expected information I = A' diag(1 / d) A."""
    # Conjugate gradients give products with B. The trace is the sum of z'B z over unit vectors z of
    # the most common values, and its mean over T vectors of random signs at the others (standard
    # error: sqrt(2 / T) times the root sum of squares of B off the diagonal). For few values it is
    # exact.
    # With c the coefficient of variation of d, y has about c^2 (1 - K / m) less variance than the
    # inversion, whose weights are equal.
    channel, size = data.channel, theta.size
    d = channel.matvec(theta)
    unequal = float((d**2).mean() / d.mean() ** 2) - 1
    if unequal * (1 - size / d.size) < SETTINGS.gain_of_weights:
        return None
    score = channel.rmatvec(data.weights / d)
    probes = SETTINGS.trace_numbers // size + 1
    common = np.argsort(-theta, kind="stable")[: SETTINGS.trace_values if probes < size else size]
    units = np.zeros((size, common.size))
    units[common, np.arange(common.size)] = 1.0
    signs = np.random.default_rng(size).integers(0, 2, (size, probes), dtype=np.int8) * 2.0 - 1.0
    signs[common] = 0.0
    z = np.column_stack([units, signs])
    solved = _inverse_products(channel, d, np.column_stack([score, z]))
    if solved is None:
        return None
    forms = (z * solved[:, 1:]).sum(axis=0)
    exact, rest = forms[: common.size], forms[common.size :]
    trace, few = float(exact.sum() + rest.mean()), slice(SETTINGS.trace_values)
    return theta + solved[:, 0], trace, common[few], exact[few]


def _inverse_products(
    channel: LikelihoodOperator, d: np.ndarray, right: np.ndarray
) -> np.ndarray | None:
    """B r for each column r of ``right`` (K, C), by conjugate gradients on vectors of sum 0."""
    # The number of steps depends on how unequal the d (m,) are, not on K: for equal d, I is a
    # multiple of the identity there.
    residual = right - right.mean(axis=0)
    solved, direction = np.zeros_like(residual), residual.copy()
    power = (residual**2).sum(axis=0)
    enough = power * SETTINGS.step_precision**2
    for _ in range(SETTINGS.step_iterations):
        image = channel.rmatvec(channel.matvec(direction) / d[:, None])
        image -= image.mean(axis=0)
        curvature = (direction * image).sum(axis=0)
        length = np.divide(power, curvature, out=np.zeros_like(power), where=curvature > 0)
        solved += length * direction
        residual -= length * image
        before, power = power, (residual**2).sum(axis=0)
        if (power <= enough).all():
            return np.asarray(solved)
        direction *= np.divide(power, before, out=np.zeros_like(power), where=before > 0)
        direction += residual
    return None


_TINY = 1e-300
_KEPT = 2**22  # numbers of posterior laws that are kept for draws
_DRAWN = 2**20  # random numbers at a time


@dataclass(frozen=True, repr=False)
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
    which shares sum to one exactly and each may be rare or 0. At every share of yes or no, the
    expected squared error is then at most 1.12 times that of the projected inversion from epsilon
    0.5 to 4 (2,000 people), 1.14 times at 0.2 and 1.26 times at 0.1; over a grid of the
    distributions of 3, 5 and 7 values at most 1.20 times from 0.5 to 4, and 1.26 times at 0.2.
    ``warner.estimators.empirical_bayes`` explains each step.

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
        "the shares are moved closer to each other, because the random changes of the answers make "
        "shares look more different than they are. How far they are moved is computed from the "
        "reports. The table as a whole is then more accurate, but a single share is no longer "
        "right on average (unbiased)"
    )

    loss: str = "squared"
    likelihood: str = "binomial"
    order: bool = True

    @property
    def inverts(self) -> bool:
        return True

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
    """The posterior of the K shares."""

    shares: np.ndarray  # (K,) the estimate
    variance: np.ndarray  # (K,)
    # (count, rng) -> (count, K) distributions
    draws: Callable[[int, np.random.Generator], np.ndarray]


def _small_domain(noise: EstimateNoise, steps: int, absolute: bool) -> _Posterior:
    """The posterior under a mixture of symmetric Dirichlet laws."""
    atoms = np.arange(steps + 1) / steps
    small = SmallDomainPosterior.of(noise.likelihood(atoms), noise.near_zero())
    means = small.laws @ atoms
    shares = _common_quantile(small.laws, atoms, 1.0) if absolute else means
    return _Posterior(
        project(shares), np.maximum(small.laws @ atoms**2 - means**2, 0.0), small.draws
    )


@dataclass(frozen=True, eq=False)
class _SeparatePosteriors:
    """K posteriors, one for each share."""

    shares: np.ndarray  # (K,)
    values: np.ndarray  # (L,), the shares that have a law over atoms. The others are normal.
    # (M, J), the laws of values that differ, or how to compute them again
    laws: np.ndarray | _TiltedLaws
    which: np.ndarray  # (L,), the law of each value
    atoms: np.ndarray  # (J,)
    variance: np.ndarray  # (K,)

    def draws(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """(count, K) distributions: shares drawn one by one, then moved onto the sum."""
        drawn = self.shares + np.sqrt(self.variance) * rng.standard_normal(
            (count, self.shares.size)
        )
        laws = self.laws if isinstance(self.laws, np.ndarray) else self.laws()
        drawn[:, self.values] = _sample(laws, self.which, self.atoms, count, rng)
        return np.stack([project(move_to_sum(row, self.variance)) for row in drawn])


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
        laws = np.empty((self.one.size, self.atoms.size))
        for some in blocks(*laws.shape):
            likelihood = self.noise.subset(self.one[some]).likelihood(self.atoms)
            laws[some] = self.prior.posteriors(likelihood, self.rows[some])
        return tilt_to_sum(laws, self.atoms, self.target, self.noise_apart, self.alike)


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
    if noise.y.size > SETTINGS.small_domain:
        prior = fit_prior(data.subset(first).likelihood(atoms), counts, atoms, mean, absolute)
    else:
        prior = few_values_prior(together.likelihood(atoms), atoms, together.near_zero())
    # Values with the same data have the same posterior, which is computed once.
    which, one, alike = together.distinct()
    noise_apart = noise.free_variance(noise.y)[apart]
    tilted = _TiltedLaws(together, one, prior, rows[one], atoms, target, noise_apart, alike)
    laws = tilted()
    powers = laws @ np.stack([atoms, atoms**2], axis=1)
    means = powers[:, 0]
    # What the tilt took from the values held apart.
    out[apart] += (
        (target - float(alike @ means)) * noise_apart / max(float(noise_apart.sum()), _TINY)
    )
    variance[values] = np.maximum(powers[:, 1] - means**2, 0.0)[which]
    rest = 1 - float(out[apart].sum())
    out[values] = (_common_quantile(laws, atoms, rest, alike) if absolute else means)[which]
    shares = project(move_to_sum(out, variance))
    # The laws of many values take much memory, and draws can compute them again.
    again = tilted if laws.size > _KEPT else laws
    draws = _SeparatePosteriors(shares, values, again, which, atoms, variance).draws
    return _Posterior(shares, variance, draws)


def _without_collisions(
    data: LikelihoodData, noise: EstimateNoise, posterior: _Posterior
) -> EstimateNoise | None:
    """Support counts of a pool of seeds, without the collisions with other values."""
    # y = theta + (S - E[S | theta]) / gap at the posterior means theta; the collisions that are
    # left come from the posterior variances.
    channel = data.channel
    if not isinstance(channel, HashPool) or noise.q is None or noise.gap is None:
        return None
    theta = posterior.shares
    count_noise = float(noise.variance(theta).mean()) * noise.n
    cross = data.n * float(posterior.variance.sum()) / (channel.seeds * (channel.buckets - 1))
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
    """(K,) the posteriors' quantiles at one level, the level at which they sum to ``target``."""
    # They minimise sum_x E|t_x - theta_x| subject to sum t = target, for which 2 F_x(t_x) - 1 is
    # the same for all x. An atom's mass lies evenly in its cell; ``alike`` (K,) values share a
    # posterior.
    edges = _cells(atoms)
    below = np.concatenate([np.zeros((len(posteriors), 1)), np.cumsum(posteriors, axis=1)], axis=1)
    every = np.arange(len(posteriors))
    times = np.ones(len(posteriors)) if alike is None else alike

    def at(level: float) -> np.ndarray:
        cell = np.clip((below < level).sum(axis=1) - 1, 0, atoms.size - 1)
        inside = np.clip(
            (level - below[every, cell]) / np.maximum(posteriors[every, cell], _TINY), 0.0, 1.0
        )
        return np.asarray(edges[cell] + inside * (edges[cell + 1] - edges[cell]))

    low, high = 0.0, 1.0
    for _ in range(45):
        level = (low + high) / 2
        low, high = (low, level) if times @ at(level) > target else (level, high)
    return at((low + high) / 2)


def _sample(
    posteriors: np.ndarray,
    laws_of: np.ndarray,
    atoms: np.ndarray,
    count: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """(count, K) independent draws, even within the cells of atoms; ``laws_of`` (K,) tells laws."""
    edges = _cells(atoms)
    out = np.empty((count, len(laws_of)))
    for some in in_blocks(len(laws_of), _DRAWN, count):
        laws, which = np.unique(laws_of[some], return_inverse=True)
        order = np.argsort(which, kind="stable")
        ends = np.cumsum(np.bincount(which))
        drawn = rng.random((which.size, 2, count))
        for law, values in zip(posteriors[laws], np.split(order, ends[:-1]), strict=True):
            below = np.cumsum(law)
            mass = drawn[values, 0] * below[-1]
            cell = np.minimum(np.searchsorted(below, mass, side="right"), atoms.size - 1)
            inside = drawn[values, 1] * (edges[cell + 1] - edges[cell])
            out[:, some.start + values] = (edges[cell] + inside).T
    return out
