"""The posterior that intervals of shares of numbers are made of: rougher than the estimate's.

The posterior of a log-spline supposes that log theta is as smooth as the reports make most likely.
Its intervals miss a share where the truth is less smooth: near the ends, where hardly anybody is,
at peaks, and at round numbers, at which people heap. Reports of neighbours are often alike, so they
show none of it. So the posterior here has, for each value x,

    log theta_x = a line + white second differences + e [x is an end] + h_x [x is round] + constant
    e ~ Cauchy(0, 2.5),   h_x = h + k [x is rounder] + h'_x
    h, k ~ N(0, 0.6^2),   h'_x ~ N(0, 0.3^2)

with the scales s of the differences weighted by their evidence times s^1.5, which is rougher than
the estimate's prior. What the reports determine is narrow, and what they leave open is as wide as
this prior. With the normal law of phi about its maximum, all deviations 1.05 times as large, u the
deviation of log theta but for h_x, and v that of h_x, a draw is

    bent: theta*_x exp(v_x) (u_x + sqrt(1 + u_x^2)),   straight: theta*_x exp(v_x) (1 + u_x)

divided by its sum. Straight draws can be below 0, and so show of which shares the reports leave
open whether anybody has them; no law of the logarithm does. Bent ones show how large a share near 0
can be, where the reports hold deviations back that the normal law would allow. Few reports hold
back nothing: where the limits around the unbiased share of a twelfth of the values hold all of
[0, 1] on average, wherever they are centred, or where no such share is known, draws are
theta*_x exp(v_x + u_x) in place of bent ones. The limits of a linear function hold the quantiles of
both, and on the side from which the prior pulls they are further by an estimate of that bias. So a
year, a band and any range have intervals of one kind.

Reports of labels tell a wave from one value to the next no worse than a slope over all of them.
Where they say little, noise looks like peaks, and the posterior is about one of many maxima. So its
limits of a linear function also hold a part of the limits around the unbiased estimate,

    b +- z r sqrt(c' V c),   r = min(0.8, 12 h^2),

where h is half of the limits of a twelfth, as above. r is 0 for reports that blur neighbours: there
the errors of twelfths cancel, and a half of the values is known better than a twelfth. Where draws
of the logarithm leave thrice as much open as the unbiased estimate, the model says nothing, and r
is 1: such are shares beside one narrow peak. Where the limits around the unbiased
estimate are at most 1.15 - min(0.8, 12 h^2) times as wide, they are taken instead.
``bench/intervals_cover_the_truth.py --only range`` measures all of it.

Source: METHODS 5; Tukey (1977) for the bias.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from warner._core.errors import ArgumentError, IdentifiabilityError, ImpossibleReportError
from warner.domains import Domain
from warner.estimators.base import Fit, LikelihoodData, threads_for
from warner.estimators.log_spline import (
    CoefficientPrior,
    Draws,
    Likelihood,
    LogSpline,
    Model,
    SplineDesign,
    likelihood_of,
    maximize_penalized,
    with_limits,
)

_ENDS, _HEAPS, _HEAP = 2.5, 0.6, 0.3  # the scales of e, of h and k, and of h'_x
_WIDER = 1.05  # a safety factor of all deviations, for errors that are not those of a normal law
_SEED = 0  # an interval that is made again is the same
_ORDER = 2  # of the differences
_POWER = 1.5  # the prior of a scale on the grid is scale^_POWER: rougher than the estimate's
_NEGLIGIBLE = 12.0  # nats below the best model at which scales end
_FEWEST_BETWEEN = 5  # values from one round number to the next
_MOST_ROUND, _FEWEST_ROUND = 32, 2
_SECTIONS = 12  # of the values, about as wide as bands
_HALF = 1.96  # standard deviations, half of a 95 % interval
_OVERLAP, _LARGEST_OVERLAP = 12.0, 0.8  # of unbiased limits: times h^2 of a section, and at most
_OPEN = 3.0  # where logarithms leave so much more open, all of unbiased limits is held
_ABOUT_AS_SHORT = 1.15  # the widest limits that hold for every distribution, over smooth ones
_DRAWS = 32  # of the log-spline's posterior


@dataclass(frozen=True, eq=False)
class RoughPosterior:
    """The mixture of models with different scales, each normal about its maximum."""

    models: tuple[Model, ...]
    chances: np.ndarray  # the probabilities of the models
    heaps: int  # the number of columns of heaps, the last ones
    is_bent: bool  # whether the reports are enough to hold large deviations back
    overlap: float  # the part of the limits around unbiased estimates that the limits hold at least
    starts: np.ndarray | None = None  # where values have limits beside them: see with_limits

    @classmethod
    def of(cls, data: LikelihoodData, fit: Fit) -> RoughPosterior | None:
        """The posterior of the reports of a log-spline on single values; None of others."""
        draws = None if fit.posterior is None else fit.posterior.draws
        if not isinstance(draws, Draws):
            return None
        of_order = [m for m in draws.models if m.order == _ORDER and m.design.cells is None]
        if not of_order:
            return None
        heaps, starts = _heaps(data.domain), None
        models: list[Model] = []
        with threads_for(data):
            counted = data.by_sums()
            if (limited := with_limits(counted)) is not None:
                counted, starts = limited
                heaps = np.insert(heaps, [0, data.domain.answered.size], 0.0, axis=0)
            rows, weights = counted.channel.restrict_to_observed(counted.weights)
            likelihood = likelihood_of(rows, weights, data.n, fit.shares)
            for model in of_order:
                models.append(_with_atoms(likelihood, model, heaps, data.domain))
                logs = _log_chances(models)
                if logs[-1] < logs.max() - _NEGLIGIBLE:
                    break  # scales rise, and rougher models are less and less likely
        models = [model for model in models if model.converged] or models
        chances = np.exp(_log_chances(models) - _log_chances(models).max())
        half, overlap = _half_of_sections(data, fit.shares, _SECTIONS), _overlap(data, fit.shares)
        is_bent = half is not None and half < 1
        return cls(tuple(models), chances / chances.sum(), heaps.shape[1], is_bent, overlap, starts)

    def __call__(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Draws (count, K) of distributions."""
        drawn: np.ndarray = self._drawn(count, rng)[0 if self.is_bent else 1]
        return drawn

    def _drawn(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Draws (3, count, K): bent ones, those of the logarithm, and straight ones.

        The straight ones only sum to 1.
        """
        drawn: list[np.ndarray] = []
        for model, some in zip(self.models, rng.multinomial(count, self.chances), strict=True):
            if some:
                normal = rng.standard_normal((model.phi.size, some))
                normal = _WIDER * np.linalg.solve(model.factor.T, normal)
                columns = model.design.columns - model.theta @ model.design.columns
                heap = slice(columns.shape[1] - self.heaps, None)
                v = columns[:, heap] @ normal[heap]
                u = columns @ normal - v
                # The sum of a draw is 1, so a factor of all values changes nothing but overflow.
                factors = np.stack([np.sqrt(1 + u**2) + u, np.exp(u - u.max(axis=0)), 1 + u])
                shares = model.theta[:, None] * np.exp(v) * factors
                if self.starts is not None:
                    shares = np.add.reduceat(shares, self.starts, axis=1)
                drawn.append((shares / shares.sum(axis=1, keepdims=True)).swapaxes(1, 2))
        return np.concatenate(drawn, axis=1)

    def limits(
        self, weights: np.ndarray | None, level: float, count: int, around: np.ndarray | None
    ) -> np.ndarray:
        """The limits (r, 2) of draws of ``weights`` (r, K) or else of shares.

        ``around`` (r, 2) are the limits around the unbiased estimates, None where there are none.
        """
        drawn = _drawn_for_limits(self, count)
        values = drawn if weights is None else drawn @ weights.T
        tails = [(1 - level) / 2, (1 + level) / 2]
        bent, logarithmic, straight = np.quantile(values, tails, axis=1).swapaxes(0, 1)
        (low, high), (least, most) = (bent if self.is_bent else logarithmic), straight
        pull = self.pull if weights is None else weights @ self.pull
        low, high = np.minimum(low, least), np.maximum(high, most)
        low, high = low + pull.clip(max=0), high + pull.clip(min=0)
        if around is None:
            return np.stack([low, high], axis=1)
        middle, half = around.mean(axis=1), np.diff(around)[:, 0] / 2
        is_open = np.diff(logarithmic, axis=0)[0] >= _OPEN * 2 * half
        overlap = np.where(is_open, 1.0, self.overlap)
        # No part of them is no point: the unbiased estimate itself can be far outside.
        half = np.where(overlap > 0, overlap * half, np.nan)
        low, high = np.fmin(low, middle - half), np.fmax(high, middle + half)
        # These hold for every distribution, so they are taken where they are about as short. The
        # less the reports say, the more chance decides which are, and misses are among them.
        longest = (_ABOUT_AS_SHORT - self.overlap) * (high - low)
        is_short = around[:, 1] - around[:, 0] <= longest
        return np.where(is_short[:, None], around, np.stack([low, high], axis=1))

    @cached_property
    def pull(self) -> np.ndarray:
        """How far the prior pulls the shares (K,), so that the truth is further by about as much.

        theta* X H^-1 S phi*, with the precision S of the prior   [twicing, Tukey 1977]
        """
        pulled = np.zeros(self.models[0].theta.size)
        for model, chance in zip(self.models, self.chances, strict=True):
            x = model.design
            slope = CoefficientPrior(x, model.scale).curvature(model.phi)[0] * model.phi
            moved = np.linalg.solve(model.factor.T, np.linalg.solve(model.factor, slope))
            pulled += chance * model.theta * ((x.columns - model.theta @ x.columns) @ moved)
        return pulled if self.starts is None else np.add.reduceat(pulled, self.starts)


# The bands and the mean of one group come one after the other. Draws of many groups are megabytes.
@lru_cache(maxsize=1)
def _drawn_for_limits(posterior: RoughPosterior, count: int) -> np.ndarray:
    """The draws of limits, the same at every call."""
    return posterior._drawn(count, np.random.default_rng(_SEED))


def tell_sections(data: LikelihoodData, shares: np.ndarray) -> bool:
    """Whether reports alone tell nobody from everybody in a twelfth of the values, on average."""
    # Without unbiased estimates of single values nothing says that reports are few.
    half = _half_of_sections(data, shares, _SECTIONS)
    return half is None or half < 1


def _overlap(data: LikelihoodData, shares: np.ndarray) -> float:
    """The part of the limits around unbiased estimates that limits hold at least."""
    of_halves, of_sections = (_half_of_sections(data, shares, count) for count in (2, _SECTIONS))
    if of_halves is None or of_sections is None or of_halves < of_sections:
        return 0.0  # reports blur neighbours
    return min(_OVERLAP * of_sections**2, _LARGEST_OVERLAP)


def _half_of_sections(data: LikelihoodData, shares: np.ndarray, count: int) -> float | None:
    """Half of the limits around unbiased shares of ``count`` sections, on average; or None."""
    answered = np.arange(data.domain.answered.size)
    count = min(count, answered.size)
    sections = np.zeros((shares.size, count))
    sections[answered, answered * count // answered.size] = 1.0
    try:
        variance = data.channel.variance_of(sections, shares) / data.n
    except (IdentifiabilityError, ArgumentError):
        return None
    return _HALF * math.sqrt(max(float(variance.mean()), 0.0))


def _log_chances(models: list[Model]) -> np.ndarray:
    """The evidence and the log prior of the scale, up to a constant."""
    return np.array([model.evidence + _POWER * np.log(model.scale) for model in models])


def _with_atoms(likelihood: Likelihood, model: Model, heaps: np.ndarray, domain: Domain) -> Model:
    """The model of one scale with atoms at the ends and ``heaps`` (K, J), at its maximum."""
    x, scale = model.design, model.scale
    columns, is_normal, phi = x.columns.copy(), x.spline.copy(), model.phi.copy()
    # The groups are the polynomial of orders above 1, two ends if there are any, and nonresponse.
    first, last = model.order > 1, len(x.groups) - (domain.nonresponse is not None)
    for end in x.groups[first:last]:
        columns[:, end] *= _ENDS
        phi[end] /= _ENDS
    columns = np.concatenate([columns, heaps / scale], axis=1)
    is_normal = np.append(is_normal, np.ones(heaps.shape[1], dtype=bool))
    phi = np.append(phi, np.zeros(heaps.shape[1]))
    with_atoms = SplineDesign(columns, is_normal, x.groups, base=x.base)
    return maximize_penalized(likelihood, with_atoms, model.order, scale, phi)


def _heaps(domain: Domain) -> np.ndarray:
    """Columns (K, J) of heaps at round numbers, times their standard deviations."""
    answered = domain.answered
    none = np.zeros((domain.size, 0))
    if not answered.is_numeric or answered.size < _FEWEST_BETWEEN * _FEWEST_ROUND:
        return none
    first, last = answered.ends[0]
    spacing = (last - first) / (answered.size - (not answered.is_binned))
    step = _round_step(spacing * max(_FEWEST_BETWEEN, answered.size / _MOST_ROUND))
    power = 10.0 ** math.floor(math.log10(step * (1 + 1e-9)))
    rounder = 10 * power if step > 1.5 * power else 5 * step
    multiples = np.arange(math.ceil(first / step), math.floor(last / step) + 1)
    # A number on the edge of two bins belongs to the upper one.
    places = np.floor((multiples * step - first) / spacing + (1e-9 if answered.is_binned else 0.5))
    inside = (places >= 1) & (places <= answered.size - 2)  # the ends have atoms
    places, multiples = places[inside].astype(np.int64), multiples[inside]
    if places.size < _FEWEST_ROUND:
        return none
    each = np.eye(domain.size)[:, places]
    tens = np.isclose(multiples * step / rounder, np.round(multiples * step / rounder))
    return np.concatenate(
        [_HEAP * each, _HEAPS * each @ np.stack([np.ones(tens.size), tens], axis=1)], axis=1
    )


def _round_step(least: float) -> float:
    """The smallest of 1, 2, 5, 10, 20, ... times a power of ten that is not smaller.

    >>> [_round_step(x) for x in (0.15, 5, 6)]
    [0.2, 5.0, 10.0]
    """
    power = 10.0 ** math.floor(math.log10(least * (1 + 1e-9)))
    return next(s * power for s in (1.0, 2.0, 5.0, 10.0) if s * power >= least * (1 - 1e-9))


def smoothed(data: LikelihoodData, fit: Fit | None) -> tuple[np.ndarray | None, np.ndarray]:
    """The log-spline of the reports (K,), and posterior draws (B, K); None where none fits."""
    if fit is None or fit.posterior is None:
        try:
            with threads_for(data):
                fit = LogSpline().fit(data)
        except (ImpossibleReportError, ArgumentError):
            return None, np.empty((0, data.domain.size))
    assert fit.posterior is not None
    # The same draws at every call, so that an interval that is made again is the same.
    drawn = fit.posterior.one_by_one(_DRAWS, np.random.default_rng(0))
    return fit.shares, np.stack(list(drawn))
