"""The prior of empirical Bayes: its tuned constants, how it is learnt, and what neighbours predict.

Two benchmarks judge the constants and the method as a whole: ``bench/few_values_err_little.py``,
and ``bench/leaderboard.py`` on real data. "Tuned" below means: chosen in simulations during
development, and judged since by benchmarks only. Where a test shows that another value does harm,
the test is named. Where a constant follows from an argument, the argument stands there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from warner._core.progress import in_blocks, steps
from warner._core.special import gammainc


@dataclass(frozen=True)
class Settings:
    """The constants, by the file that uses them.

    Shares are in units of 1, and noise is in units of its standard deviation.
    """

    # ---- The estimator
    # A second pass is made where the reports are worth this many times as much. Less than 1 % more
    # reports does not repay the pass.
    worthwhile_gain: float = 1.01
    # Largest number of rows of data that tell predictions apart. Beyond, the prior is learnt
    # without the predictions, which bounds the time of a fit.
    most_rows: int = 256

    # ---- Whole reports
    # Whole reports are used from this many reports per value on. With fewer, one Newton step is
    # far from efficient. Tuned.
    reports_per_value: float = 10
    # Largest number of multiplications for whole reports: some seconds of one
    # core.
    whole_report_work: float = 1e10
    # Gain in variance for which reports that are all listed are weighted by their probabilities.
    # Up to a gain of 0.04 on paper, errors were within 0.3 % of those without (Hadamard response
    # of 260 to 1000 values, 25 runs each), and the second pass doubles the time.
    gain_of_weights: float = 0.05
    # Random signs in the vectors that estimate a trace, and the number of the most common values,
    # whose part of it is exact. tests/parity, test_empirical_bayes.py: it is then within 1 %.
    trace_numbers: int = 4096
    trace_values: int = 8
    # Residual of the conjugate gradients, relative to that of no step. The step is about as large
    # as the noise, so the rest is far below it.
    step_precision: float = 1e-8
    # Steps of the conjugate gradients; 20 are usual, and 60 where most people have one value.
    step_iterations: int = 200

    # ---- Few values
    # Largest domain with the exact sum. Measured: the two methods err about equally at 10 values;
    # at 20 values the learnt prior errs a few per cent less.
    small_domain: int = 7
    # The laws: the concentration per value of a symmetric Dirichlet law, from all shares equally
    # likely (1) to all values alike (128); the mass of an absent value and that of rare shares, in
    # units of the law's mass within one sd of the noise; and the weight before the data. The flat
    # law alone has twice the squared error of the projected inversion at a share of 0. Rare shares
    # keep several shares of about two sd from being drawn to 0 together: with atoms in both flat
    # laws, the ratio was at least 1.24 there (six of seven values, epsilon 4). Many values that are
    # absent support the law that has them often; without it the ratio is 6 where all people have
    # one of seven values (epsilon 4). bench/few_values_err_little.py: the ratios over the simplex.
    simplex_laws: tuple[tuple[float, float, float, float], ...] = (
        (1.0, 0.0, 1.5, 0.72),
        (1.0, 6.0, 0.0, 0.28),
        *((float(2**k), 0.0, 0.0, 0.25**k) for k in range(1, 8)),
    )
    # The rate of the exponential law of rare shares is the sum of two. They are of some sd of the
    # noise, so the first is 1 / sd over this.
    rare_share: float = 2.0
    # They are also below the mean 1/K, so the second is K times this. With 3, the ratio is 1.3 at
    # epsilon 0.5 where three of five values have a third each, since rare shares then are not rare.
    rare_rate: float = 11.0
    # Lattice steps per sd of the least noise, at least: sums over the lattice are then integrals
    # to 1e-8.
    lattice_steps: float = 3.0
    # Steps of the lattice over [0, 1]. Finer lattices cost more than the exact sum is worth, for
    # with so little noise shares hardly shrink.
    coarsest_lattice: int = 2**8
    finest_lattice: int = 2**12
    # Shares of so many sd are not drawn towards 0, where the noise is too small for a lattice.
    hidden_shares: float = 10.0

    # ---- Noise
    # Distance of atoms: a prior with finer structure than 0.4 sd cannot be told from one without.
    atom_step: float = 0.4
    # Atoms reach this far from any estimate: beyond 4.5 sd a normal law has 7e-6 of its mass.
    atom_reach: float = 4.5
    # Ratio of neighbouring atoms below the resolution of the noise. Tuned.
    atom_ratio: float = 1.25
    # Smallest atom above 0, in units of 1/K: smaller shares count as absent. Tuned.
    lowest_atom: float = 0.03
    # Largest number of atoms; bounds the time of a fit.
    most_atoms: int = 1000
    # Largest number of kinds of noise with separate atoms; beyond, the least noise stands for
    # all. Bounds the number of atoms.
    most_noise_kinds: int = 8
    # Values whose data are closer than this are one row of the prior's data. A quarter of
    # ``atom_step``; tests/parity, test_empirical_bayes.py: finer rows give the same prior.
    row_width: float = 0.1
    # Estimates closer than this, in units of the least noise, are the same. Far below what a
    # likelihood can tell, and far above rounding errors.
    same_estimate: float = 1e-9
    # Largest number of multiplications for the exact variance of a hash pool's
    # inverse, a fraction of a second.
    exact_pool_work: float = 1e8

    # ---- Neighbours
    # Smallest domain with predictions: 32 values have 16 frequencies. Below, a pattern in the
    # spectrum is mostly chance. Tuned.
    least_values_in_order: int = 32
    # Frequencies within this factor have like powers, as in smooth spectra, which fall like powers
    # of the frequency. Tuned.
    near_frequencies: float = 1.5
    # Observations that near frequencies count for at most. A single line (a period) has none near
    # and is judged by all frequencies. Tuned.
    near_weight: float = 4.0
    # Observations that the base of the prior of powers counts for; half of it is on no power.
    power_pseudo_observations: float = 2.0
    # Sweeps of the prior of powers; it is usually steady after fewer.
    power_sweeps: int = 25
    # No prediction where (slope / its standard error)^2 is below this; above, the squared slope is
    # reduced by as much. Without order the ratio is chi-square with 1 degree of freedom: above 5
    # once in forty, half of these with the wrong sign.
    # tests/statistical, test_empirical_bayes.py: labels in no order lose little.
    clear_slope: float = 5.0
    # The standard error holds for a z of its own. Shares in chance order make z too. Their
    # covariance with z is a sum over K / 2 frequencies of exponential powers p, (gain - h) p. The
    # second moment of p is twice its square, that of p^2 gain more. 1 + 3 covers shuffled shares.
    chance_order: float = 3.0
    # Noise makes z as shares in chance order do. Its slope has four times the variance too, which
    # matters where d is noise alone, as with more values than reports. This many values count as
    # before: they were tuned without it, and accept one shuffled order in twenty.
    values_of_chance: float = 1000.0
    # Largest sum of fourth powers over the squared sum of squares: then no fewer than ten values
    # make up the spread. tests/statistical, test_empirical_bayes.py rejects the method with neither
    # this limit nor ``odd_value``.
    peakedness: float = 0.1
    # The likelihood of a prediction far from the share, relative to its peak: odd values are not
    # in line with the others.
    odd_value: float = 0.01
    # Smallest sd of a prediction: half of ``atom_step``, which could not tell finer ones.
    finest_prediction: float = 0.2

    # ---- The prior
    # Shapes of the Gamma laws: from a few large shares to all alike. Tuned as a grid.
    gamma_shapes: tuple[float, ...] = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 4.0, 12.0, 50.0, 300.0)
    # Mean of the bulk in units of 1/K; the other values are few and large. Tuned as a grid.
    bulks: tuple[float, ...] = (
        *(1.0, 0.93, 0.85, 0.75, 0.65, 0.5, 0.35, 0.2, 0.08, 0.03, 0.01, 0.001),
    )
    # The share of the values that is present, in laws with absent values. Tuned as a grid.
    present: tuple[float, ...] = (0.1, 0.25, 0.5)
    # Pseudo-observations of the base law; infinity is the base alone.
    # tests/statistical, test_empirical_bayes.py rejects (0.01,), the nonparametric prior.
    base_concentrations: tuple[float, ...] = (6.0, 24.0, np.inf)
    # Sweeps of the posteriors; they are usually steady after fewer.
    prior_sweeps: int = 30
    # Where data cannot tell laws apart, that of smaller risk counts more: weights are divided by
    # the risk. That minimises the expected ratio of the error to the error under each law, not the
    # expected error. Risks below ``risk_floor`` / K^2 per value count as equal. Tuned.
    risk_floor: float = 1e-2
    # Whether a few large values stand beside the rest is a question of its own: the weights of laws
    # with and without them are divided by this power of the risk only. With 1, a share of 40 %
    # among 250 values is drawn to 7 % where its estimate is four sd of the noise away; with 0.25 or
    # less, the largest of nearly equal shares pass for large values. Tuned.
    # tests/statistical rejects 1 and 0.
    large_risk_power: float = 0.65


SETTINGS = Settings()


# -----------------------------------------------------------------------------------------------
# The prior of the shares, learnt from their noisy estimates, and the posteriors under it.
#
# The K shares theta_x are taken as draws from one unknown law g over atoms a_1 < .. < a_J, given
# that their sum is one. L (R, J) is the likelihood of R rows of data at every atom. Two facts:
#
# - Multiplying every row by exp(lambda a), with the same lambda, changes no likelihood of shares
#   with sum_x theta_x = 1. So the data may be moved along that direction until they sum to one
#   (``EstimateNoise.balanced``) before g is fitted. The posteriors may be tilted by exp(lambda a)
#   until their means sum to one (``tilt_to_sum``).
# - The law of the K shares has mean 1/K exactly, so g is fitted under E_g a = 1/K.


_TINY = 1e-300
_BLOCK = 2**17  # numbers of a block of rows
# Factors exp(lambda a) within e^500 of each other do not underflow where they matter.
_SAFE_EXPONENT = 500.0


def with_mean(g: np.ndarray, atoms: np.ndarray, mean: float) -> np.ndarray:
    """The law with this mean nearest to the law g (J,) in likelihood, or g if there is none."""
    # h_j = g_j / (1 + lambda d_j), d_j = a_j - mean, maximises sum_j g_j log h_j. lambda is the
    # root of the decreasing sum_j g_j d_j / (1 + lambda d_j); none if all mass is on one side of
    # the mean.
    d = atoms - mean
    support = d[g > 0]
    if not support.size or support.max() <= 0 or support.min() >= 0:
        return np.asarray(g / g.sum())
    low, high = -(1 - 1e-12) / support.max(), -(1 - 1e-12) / support.min()
    multiplier = 0.0
    for _ in range(60):
        ratio = d / (1 + multiplier * d)
        value, slope = float(g @ ratio), float(g @ ratio**2)
        low, high = (multiplier, high) if value > 0 else (low, multiplier)
        step = multiplier + value / max(slope, _TINY)
        step = step if low < step < high else (low + high) / 2
        done = abs(step - multiplier) <= 1e-12 * max(1.0, abs(step))
        multiplier = step
        if done:
            break
    h = g / (1 + multiplier * d)
    return np.asarray(h / h.sum())


def candidate_priors(atoms: np.ndarray, mean: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """F laws (F, J) on atoms with this mean, their weights, and which have few large values."""
    # Gamma laws of mean m / K, of half the weight; such laws with the rest of the mass on few large
    # values, log-uniform on [1 / K, 1]; and laws with some values absent. An atom stands for the
    # interval between the midpoints to its neighbours.
    edges = np.concatenate([[0.0], (atoms[1:] + atoms[:-1]) / 2, [np.inf]])
    tail = np.diff(np.log(np.clip(edges, min(mean, 0.5), 1.0)))
    tail = tail / tail.sum() if tail.sum() > 0 else np.eye(atoms.size)[-1]
    bulk_laws = [
        (bulk, shape)
        for bulk in SETTINGS.bulks
        for shape in SETTINGS.gamma_shapes
        if bulk == 1 or (shape > 0.3 and (bulk > 0.05 or shape <= 1))
    ]
    absent_laws = [
        (present, shape)
        for present in SETTINGS.present
        if present >= mean
        for shape in (0.5, 2.0, 10.0)
    ]
    shapes = np.array([shape for _, shape in (*bulk_laws, *absent_laws)])
    means = [bulk * mean for bulk, _ in bulk_laws] + [mean / present for present, _ in absent_laws]
    below = gammainc(shapes[:, None], edges * (shapes / means)[:, None])
    cells = np.maximum(np.diff(below, axis=1), 0.0)
    laws: list[np.ndarray] = []
    alone: list[bool] = []
    tailed: list[bool] = []
    for (bulk, _), g in zip(bulk_laws, cells, strict=False):
        if bulk < 1:
            bulk_mean = float(g @ atoms)
            large = (mean - bulk_mean) / max(float(tail @ atoms) - bulk_mean, _TINY)
            if not 0 < large < 0.5:
                continue
            g = (1 - large) * g + large * tail
        laws.append(g)
        alone.append(bulk == 1)
        tailed.append(bulk < 1)
    for (present, _), g in zip(absent_laws, cells[len(bulk_laws) :], strict=True):
        g = present * g
        g[0] += 1 - present
        laws.append(g)
        alone.append(False)
        tailed.append(False)
    plain = np.array(alone)
    weights = np.where(
        plain, 0.5 / np.count_nonzero(plain), 0.5 / max(1, int(np.count_nonzero(~plain)))
    )
    return np.array([with_mean(g, atoms, mean) for g in laws]), weights, np.array(tailed)


@dataclass(frozen=True, eq=False)
class LearnedPrior:
    """A mixture of priors, one for each concentration of a Dirichlet process."""

    base: np.ndarray  # (J,), the base law, an average of the candidates
    # for each concentration a tuple: its weight, the concentration, the posteriors (R, J) of the
    # rows it was fitted on, their sum (J,), and the correction (J,) of the mean
    parts: list[tuple[float, float, np.ndarray, np.ndarray, np.ndarray]]

    def posteriors(self, likelihood: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The posterior (K, J) of each value under the prior learnt from the other values."""
        total = np.zeros(likelihood.shape)
        for weight, prior in self._priors:
            posterior = likelihood * (prior if prior.ndim == 1 else np.take(prior, rows, axis=0))
            posterior *= weight / np.maximum(posterior.sum(axis=1, keepdims=True), _TINY)
            total += posterior
        return total

    @cached_property
    def _priors(self) -> list[tuple[float, np.ndarray]]:
        """The weight of each part, and its prior: (J,), or (R, J) without each row's values."""
        return [
            (weight, self.base)
            if concentration == np.inf
            else (
                weight,
                (np.maximum(together - fitted, 0.0) + concentration * self.base) * correction,
            )
            for weight, concentration, fitted, together, correction in self.parts
        ]


def fit_prior(
    likelihood: np.ndarray, counts: np.ndarray, atoms: np.ndarray, mean: float, absolute: bool
) -> LearnedPrior:
    """Learn the prior from R rows of data, with likelihoods L (R, J) and ``counts`` (R,)."""
    # 1. The base averages the candidates, each weighted by p(y | sum theta = 1) = p(y) p(sum = 1 |
    # y) / p(sum = 1), both sums taken as normal, over its risk; laws with few large values and the
    # others by their evidence together, over a power of their risk.
    # 2. For each concentration c, a Dirichlet process in collapsed mean-field form: p_r is
    # proportional to L_r (c base + sum of the other rows' posteriors). A row is left out of its own
    # prior; the nonparametric maximum lacks this and fails on few or separate values.
    # 3. Concentrations are weighted by leave-one-out likelihood, less the gain from having left the
    # row in.
    size = float(counts.sum())
    floor = SETTINGS.risk_floor * mean**2
    power = 0.5 if absolute else 1.0
    laws, weights, tailed = candidate_priors(atoms, mean)
    d = np.maximum(likelihood @ laws.T, _TINY)
    first, second = likelihood @ (laws * atoms).T / d, likelihood @ (laws * atoms**2).T / d
    spread = counts @ np.maximum(second - first**2, 0.0) + size * floor
    before = size * (laws @ atoms**2 - (laws @ atoms) ** 2 + floor)
    evidence = (
        np.log(weights)
        + counts @ np.log(d)
        + _sum_score(counts @ first, spread, size * mean)
        + np.log(before) / 2
    )
    kinds = [kind for kind in (tailed, ~tailed) if kind.any()]
    of_kinds, averages = [], []
    for kind in kinds:
        score = evidence[kind] - power * np.log(spread[kind])
        whole = _log_sum(evidence[kind])
        of_kinds.append(whole - SETTINGS.large_risk_power * (whole - _log_sum(score)))
        averages.append(_shares(score) @ laws[kind])
    base = np.maximum(_shares(np.array(of_kinds)) @ np.array(averages), 1e-200)

    parts, scores = [], []
    for concentration in SETTINGS.base_concentrations:
        posteriors = _normalized(likelihood * base)
        together, correction = counts @ posteriors, np.ones(atoms.size)
        prior = concentration * base
        sweeps = SETTINGS.prior_sweeps if concentration < np.inf else 0
        for _ in steps(range(sweeps), "learning the prior"):
            law = (together + prior) / (size + concentration)
            fixed = with_mean(law, atoms, mean)
            correction = np.divide(fixed, law, out=np.ones_like(law), where=law > 0)
            moved = _normalized(
                likelihood * ((np.maximum(together - posteriors, 0.0) + prior) * correction)
            )
            steady = bool(np.abs(moved - posteriors).max() < 1e-4)
            posteriors, together = moved, counts @ moved
            if steady:
                break
        if concentration == np.inf:
            fitness = float(counts @ np.log(np.maximum(likelihood @ base, _TINY)))
        else:
            left = (likelihood * (np.maximum(together - posteriors, 0.0) + prior)).sum(axis=1) / (
                size - 1 + concentration
            )
            whole = likelihood @ (together + prior) / (size + concentration)
            fitness = float(
                counts @ (2 * np.log(np.maximum(left, _TINY)) - np.log(np.maximum(whole, _TINY)))
            )
        means = posteriors @ atoms
        spread = counts @ np.maximum(posteriors @ atoms**2 - means**2, 0.0) + size * floor
        scores.append(
            fitness
            + float(_sum_score(counts @ means, spread, size * mean) - power * np.log(spread))
        )
        parts.append((concentration, posteriors, together, correction))
    weights = _shares(np.array(scores))
    return LearnedPrior(
        base,
        [
            (float(weight), *component)
            for weight, component in zip(weights, parts, strict=True)
            if weight > 1e-6
        ],
    )


def rare_masses(edges: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """The exponential laws (K, J) of rare shares: masses of the cells between edges (J + 1,)."""
    rates = 1 / (SETTINGS.rare_share * np.maximum(noise, _TINY)) + SETTINGS.rare_rate * noise.size
    return np.asarray(-np.diff(np.exp(-rates[:, None] * edges)))


def few_values_prior(likelihood: np.ndarray, atoms: np.ndarray, noise: np.ndarray) -> LearnedPrior:
    """The flat laws of few values, where the noise (K,) is too small for a lattice."""
    edges = np.concatenate([[0.0], (atoms[1:] + atoms[:-1]) / 2, [1.0]])
    flat = np.array([law[1:] for law in SETTINGS.simplex_laws if law[0] == 1])
    absent, rare, weights = flat.T
    unit = float(noise.mean())
    laws = np.diff(edges) + np.outer(rare * unit, rare_masses(edges, noise).mean(axis=0))
    laws[:, 0] += absent * unit
    laws /= laws.sum(axis=1, keepdims=True)
    evidence = np.log(np.maximum(likelihood @ laws.T, _TINY)).sum(axis=0)
    base = _shares(evidence + np.log(weights)) @ laws
    return LearnedPrior(base, [(1.0, np.inf, base, base, base)])


def tilt_to_sum(
    posteriors: np.ndarray,
    atoms: np.ndarray,
    target: float,
    noise: np.ndarray,
    alike: np.ndarray | None = None,
) -> np.ndarray:
    """Multiply posteriors (K, J) by exp(lambda a) so that their means sum to ``target``."""
    # The saddle-point approximation of the posterior given the sum. Values held apart are normal:
    # their means move by lambda times their variances.
    times = np.ones(len(posteriors)) if alike is None else alike.astype(np.float64)
    apart = float(noise.sum())
    multiplier = 0.0
    for _ in range(60):
        means, variances = _tilted_moments(posteriors, atoms, multiplier)
        excess = float(times @ means) + multiplier * apart - target
        spread = float(times @ variances) + apart
        if abs(excess) < 1e-10 or spread <= 0:
            break
        longest = 2 / np.sqrt(max(float(variances.max()), _TINY))
        multiplier -= float(np.clip(excess / spread, -longest, longest))
    for rows in blocks(*posteriors.shape):
        posteriors[rows] = _tilted(posteriors[rows], atoms, multiplier)
    return posteriors


def _tilted_moments(
    posteriors: np.ndarray, atoms: np.ndarray, multiplier: float
) -> tuple[np.ndarray, np.ndarray]:
    """Means (K,) and variances (K,) of the posteriors times exp(multiplier a)."""
    powers = np.stack([np.ones(atoms.size), atoms, atoms**2], axis=1)
    sums = np.empty((len(posteriors), 3))
    exponent = multiplier * atoms
    if float(np.ptp(exponent)) < _SAFE_EXPONENT:
        np.matmul(posteriors, np.exp(exponent - exponent.max())[:, None] * powers, out=sums)
    else:
        for rows in blocks(*posteriors.shape):
            sums[rows] = _tilted(posteriors[rows], atoms, multiplier) @ powers
    means = sums[:, 1] / np.maximum(sums[:, 0], _TINY)
    return means, np.maximum(sums[:, 2] / np.maximum(sums[:, 0], _TINY) - means**2, 0.0)


def _tilted(posteriors: np.ndarray, atoms: np.ndarray, multiplier: float) -> np.ndarray:
    """The posteriors (K, J) times exp(multiplier a), normalised."""
    if multiplier == 0:
        return posteriors
    exponent = multiplier * atoms
    if float(np.ptp(exponent)) < _SAFE_EXPONENT:
        return _normalized(posteriors * np.exp(exponent - exponent.max()))
    with np.errstate(divide="ignore"):
        logs = np.log(posteriors) + exponent
    return _normalized(np.exp(logs - logs.max(axis=1, keepdims=True)))


def blocks(rows: int, columns: int) -> Iterator[slice]:
    """Blocks of the rows of an array that fit the cache."""
    return in_blocks(rows, _BLOCK, columns)


def _sum_score(total: np.ndarray, variance: np.ndarray, target: float) -> np.ndarray:
    """log of the normal density of the sum of the shares at the target, up to a constant."""
    out: np.ndarray = -np.log(variance) / 2 - (total - target) ** 2 / (2 * variance)
    return out


def _shares(scores: np.ndarray) -> np.ndarray:
    weights = np.exp(scores - scores.max())
    return np.asarray(weights / weights.sum())


def _log_sum(scores: np.ndarray) -> float:
    """The logarithm of the sum of the exponentials."""
    return float(scores.max() + np.log(np.exp(scores - scores.max()).sum()))


def _normalized(rows: np.ndarray) -> np.ndarray:
    """Rows divided by their sums, in place."""
    rows /= np.maximum(rows.sum(axis=1, keepdims=True), _TINY)
    return rows


# -----------------------------------------------------------------------------------------------
# A prediction of each share from the other values, by their order.
#
# Shares may change slowly along the order, or repeat, such as heaps at round numbers. Their
# spectrum then has few large powers. Noise has the same power at every frequency. Filtering the
# spectrum predicts each share from the other values. A regression on the data measures how good
# the prediction is. Where it is of no use, as for labels in no order, there is no prediction.


@dataclass(frozen=True, eq=False)
class NeighbourPrediction:
    """A second observation of each share: min(theta_x, cap) = value_x + a normal error, few
    outliers.
    """

    value: np.ndarray  # (K,) the predicted shares
    variance: float  # the variance of the error
    cap: float  # shares above it are too few and too large to be predicted from the others

    def likelihood(self, atoms: np.ndarray) -> np.ndarray:
        """The likelihood (K, J) of the predictions at possible shares, the atoms (J,)."""
        away = self.value[:, None] - np.minimum(atoms, self.cap)
        return np.asarray(np.exp(-(away**2) / (2 * self.variance)) + SETTINGS.odd_value)

    def subset(self, index: np.ndarray) -> NeighbourPrediction:
        """The predictions of the values at the indices ``index``."""
        return NeighbourPrediction(self.value[index], self.variance, self.cap)


def predict_from_neighbours(y: np.ndarray, variance: np.ndarray) -> NeighbourPrediction | None:
    """Predict each share from the other values' estimates y (K,)."""
    # Estimates are cut to v = min(y, cap), else the few largest dominate the spectrum. With d = v -
    # mean, m its filtered form and h the mean derivative, z = m - h d is uncorrelated with the
    # noise of v_x (Stein), and v = mean + beta z + error + noise is a regression. With T the
    # variance of the errors, raised by one standard error, and var theta = beta^2 var z + T,
    #     z | theta ~ N(b (theta - mean), s^2)
    #     b = beta var z / var theta,   s^2 = var z - b^2 var theta
    # so mean + z / b is an observation of theta with variance s^2 / b^2.
    size = y.size
    cap = _cut_at(y) if size >= SETTINGS.least_values_in_order else None
    if cap is None:
        return None
    v = np.minimum(y, cap)
    noise = float(variance[y < cap].sum())
    d = v - v.mean()
    m, share = filtered(d, noise)
    z = m - share * d
    power, total, noise = float(z @ z) / size, float(d @ d) / size, noise / size
    if power <= 0:
        return None
    beta = float(d @ z) / size / power
    by_chance = max(1 - noise / total, 1 - SETTINGS.values_of_chance / size, 0.0)
    doubt = (
        max(total - beta**2 * power, 0.0) / (size * power) * (1 + SETTINGS.chance_order * by_chance)
    )
    if beta <= 0 or beta**2 <= SETTINGS.clear_slope * doubt:
        return None
    beta *= 1 - SETTINGS.clear_slope * doubt / beta**2
    rest = total - beta**2 * power
    error = max(rest - noise, 0.0) + max(rest, noise) * float(np.sqrt(2 / size))
    spread = error + beta**2 * power
    b = beta * power / spread
    variance_left = (power - b**2 * spread) / b**2
    return NeighbourPrediction(
        v.mean() + z / b,
        max(variance_left, SETTINGS.finest_prediction**2 * float(variance.min())),
        cap,
    )


def _cut_at(y: np.ndarray) -> float | None:
    """The largest cap under which no few values make up the spread; None if it cuts half."""
    for cap in np.sort(y)[::-1][: y.size // 2]:
        squares = (np.minimum(y, cap) - np.minimum(y, cap).mean()) ** 2
        if float(squares @ squares) <= SETTINGS.peakedness * float(squares.sum()) ** 2:
            return float(cap)
    return None


def filtered(d: np.ndarray, noise: float) -> tuple[np.ndarray, float]:
    """Filter the spectrum U of d (K,) by gain(|U|^2 / noise) U; also its mean derivative."""
    # h = sum_x (dm_x / dd_x) / K: a complex frequency adds 2 gain + 2 p gain', the real frequency K
    # / 2 gain + 2 p gain'. gain' is the posterior variance of the gain.
    spectrum = np.fft.rfft(d)
    p = np.abs(spectrum[1:]) ** 2 / max(noise, 1e-300)
    gain, slope = gains(p)
    twice = np.full(p.size, 2.0)
    if d.size % 2 == 0:
        twice[-1] = 1.0
    share = float(twice @ gain + 2 * p @ slope) / d.size
    spectrum[0] = 0.0
    spectrum[1:] *= gain
    return np.fft.irfft(spectrum, d.size), share


def gains(p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Posterior mean and variance (F,) of the gain P / (P + noise) at F frequencies p."""
    # p is exponential with mean 1 + P / noise. The prior of P is learnt from all other frequencies,
    # with more weight on near ones, on 0 and 1/8, 1/4, .. times the power of the noise.
    high = max(4, int(np.log2(max(float(p.max()), 2.0)) + 2))
    keep = 1 / (1 + np.concatenate([[0.0], 2.0 ** np.arange(-3, high)]))
    base = np.full(keep.size, 0.5 / (keep.size - 1))
    base[0] = 0.5
    k = np.arange(1, p.size + 1)
    first = np.searchsorted(k, k / SETTINGS.near_frequencies)
    last = np.searchsorted(k, k * SETTINGS.near_frequencies, side="right")
    near = np.maximum(last - first - 1, 1)
    near_weight = np.minimum(near, SETTINGS.near_weight) / near
    # Powers come first here, so that sums over frequencies run along neighbouring numbers.
    keep, base = keep[:, None], base[:, None]
    likelihood = keep * np.exp(-np.minimum(p * keep, 700.0))
    posteriors = likelihood * base
    posteriors /= posteriors.sum(axis=0)
    moved, sums = np.empty_like(posteriors), np.zeros(p.size + 1)
    for _ in range(SETTINGS.power_sweeps):
        for power, one in enumerate(posteriors):
            np.cumsum(one, out=sums[1:])
            everywhere = sums[-1] - one
            everywhere += SETTINGS.power_pseudo_observations * base[power]
            everywhere /= p.size - 1 + SETTINGS.power_pseudo_observations
            here = np.take(sums, last)
            here -= np.take(sums, first)
            here -= one
            np.maximum(here, 0.0, out=here)
            here *= near_weight
            here += everywhere
            np.multiply(likelihood[power], here, out=moved[power])
        moved /= moved.sum(axis=0)
        steady = max(float(np.abs(a - b).max()) for a, b in zip(moved, posteriors, strict=True))
        posteriors, moved = moved, posteriors
        if steady < 1e-3:
            break
    mean = (1 - keep[:, 0]) @ posteriors
    return mean, np.maximum((1 - keep[:, 0]) ** 2 @ posteriors - mean**2, 0.0)
