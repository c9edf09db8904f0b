"""Confidence intervals for shares, and for functions of shares."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from warner._core.checks import choice, confidence_level, integer, kind, show
from warner._core.errors import ArgumentError, ArgumentTypeError, IdentifiabilityError
from warner._core.extras import scipy
from warner._core.progress import in_blocks, stage
from warner._core.special import ndtri
from warner._core.table import Column
from warner.estimators.base import WHOLE, LikelihoodData, Status, threads_for
from warner.metrics import project
from warner.results.share_noise import (
    ShareNoise,
    average,
    least_share,
    simulated_tallies,
    simultaneous,
    student,
    variances_of,
)
from warner.results.solution import Solution, Weights

TARGETS = ("population", "respondents")
# Kinds of intervals that are made from the reports, whatever method made the estimate.
OF_REPORTS = ("score", "wald", "likelihood", "average", "simultaneous", "anytime")
KINDS = (*OF_REPORTS, "bootstrap", "fisher", "posterior")
# Kinds that know the weights, clusters and strata of a survey.
_OF_DESIGNS = ("score", "wald", "simultaneous")
_AT_A_TIME = 2**22  # numbers in the tallies that a bootstrap holds together
_ROUNDING = 1e-9  # an estimate within it of a limit is inside
_REPLICATES = 200, 10_000  # of a bootstrap: the usual number, and the most that a level may need
_DRAWS = 1000  # the 0.025 quantile of so many draws is that of a share within 0.005 (one sd)


class BoundedNumber(float):
    """An estimated number with an interval, whose ends are ``low`` and ``high``."""

    def interval(self) -> np.ndarray:
        """The 95 % interval (2,)."""
        raise NotImplementedError

    @property
    def low(self) -> float:
        """The lower end of the 95 % interval."""
        return float(self.interval()[0])

    @property
    def high(self) -> float:
        """The upper end of the 95 % interval."""
        return float(self.interval()[1])

    def __str__(self) -> str:
        return repr(float(self))


def interval(
    solution: Solution,
    level: float = 0.95,
    target: str = "population",
    kind: str | None = None,
    weights: Weights = None,
    replicates: int | None = None,
    rng: np.random.Generator | None = None,
    planned: int | None = None,
) -> np.ndarray:
    """Confidence intervals for the true shares: see :meth:`warner.Estimate.interval`."""
    kind, planned = with_plan(kind, planned)
    kind = choice("kind", default_kind(solution, target) if kind is None else kind, KINDS)
    bounds = _bounds(solution, level, target, kind, weights, replicates, rng, planned)
    if kind == "wald" or kind not in OF_REPORTS or solution.fit.probabilities is None:
        return bounds
    return holding(bounds, np.clip(solution.probabilities, 0.0, 1.0))


def intervals_of_table(
    solution: Solution,
    level: float = 0.95,
    target: str = "population",
    kind: str | None = None,
    rng: np.random.Generator | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The intervals (K, 2) of a table of shares, and what reports say of those shrunk far."""
    unbiased = np.full(solution.domain.size, np.nan)
    if available_kind(solution, target, kind) == "none":
        return np.tile([0.0, 1.0], (solution.domain.size, 1)), unbiased
    name, planned = with_plan(kind)
    name = choice("kind", default_kind(solution, target) if name is None else name, KINDS)
    bounds = _bounds(solution, level, target, name, rng=rng, planned=planned)
    if name in OF_REPORTS:
        given = np.clip(solution.probabilities, 0.0, 1.0)
        low, high = (bounds if name == "wald" else score(solution.data, None, level, target)).T
        outside = (given < low - _ROUNDING) | (given > high + _ROUNDING)
        if outside.any():
            unbiased[outside] = solution.data.channel.invert(solution.data.weights)[outside]
        if name != "wald":
            bounds = holding(bounds, given)
    return bounds, unbiased


def _bounds(
    solution: Solution,
    level: float,
    target: str,
    kind: str,
    weights: Weights = None,
    replicates: int | None = None,
    rng: np.random.Generator | None = None,
    planned: int | None = None,
) -> np.ndarray:
    """The intervals of :func:`interval`, those of the reports without the estimate."""
    from warner.results.likelihood_limits import likelihood_ratio_limits

    if kind not in _OF_DESIGNS:
        solution.data.require_simple_sample(f"kind {kind!r}")
    if solution.sums is not None and kind in ("bootstrap", "fisher"):
        # A function of a marginal is a function of the joint distribution, which is refitted.
        of_whole = solution.sums.of_whole(weights, kind)
        return interval(solution.sums.whole, level, target, kind, of_whole, replicates, rng)
    if kind == "bootstrap":
        return bootstrap(solution, level, target, weights, replicates, rng)
    if kind == "posterior":
        return posterior(solution, level, target, weights, rng)
    if kind == "fisher":
        return fisher(solution, level, target, weights)
    if weights is not None:
        rule = f"cannot be combined with intervals of the kind {kind!r}"
        raise ArgumentError("weights", rule, None, "Use kind='bootstrap'")
    choice("target", target, TARGETS)
    if kind == "score":
        return score(solution.data, solution.fit.probabilities, level, target)
    if kind == "wald":
        return wald(solution.data, level, target)
    if kind == "likelihood":
        if target != "population":
            rule = "'likelihood' needs target='population'"
            raise ArgumentError("kind", rule, show(target), "Use kind='score'")
        return likelihood_ratio_limits(solution.data, normal_quantile(level) ** 2)
    if kind == "average":
        return average(solution, level, target)
    if kind == "simultaneous":
        return simultaneous(solution, level, target)
    return anytime(solution.data, planned, level, target)


def with_plan(kind: str | None, planned: int | None = None) -> tuple[str | None, int | None]:
    """A kind of intervals, and the number of reports that was planned where it has one.

    >>> with_plan("anytime:1000"), with_plan("wald"), with_plan("anytime", 50)
    (('anytime', 1000), ('wald', None), ('anytime', 50))
    """
    if not isinstance(kind, str) or not kind.startswith("anytime:"):
        return kind, planned
    text = kind.removeprefix("anytime:")
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        rule = "must be anytime:N, where N is the number of reports that you plan to collect"
        raise ArgumentError("kind", rule, show(kind), "For example anytime:1000")
    return "anytime", int(text)


def at_every_look(kind: str | None) -> str | None:
    """The kind where its intervals hold at every look, else None."""
    return kind if with_plan(kind)[0] == "anytime" else None


def default_kind(solution: Solution, target: str) -> str:
    """The kind of intervals that is used if no kind is named."""
    if solution.data.survey is not None:
        return "score"
    is_posterior = solution.has_posterior_intervals or solution.normal is not None
    if is_posterior and target == "population":
        return "posterior"
    if solution.sums is not None:
        return solution.sums.kind
    channel = solution.data.channel
    if channel.is_on_paper and target == "population":
        from warner.results.likelihood_limits import MOST_VALUES

        return "likelihood" if channel.shape[1] <= MOST_VALUES else "score"
    return "score"


def available_kind(solution: Solution, target: str = "population", kind: str | None = None) -> str:
    """The kind of intervals in a table: the default, or ``"none"`` if reports bound no share."""
    kind = default_kind(solution, target) if kind is None else str(with_plan(kind)[0])
    is_bounded = kind == "posterior" or solution.fit.mean is not None or solution.has_intervals
    return kind if is_bounded else "none"


def standard_errors(
    solution: Solution, target: str = "population", kind: str | None = None
) -> np.ndarray:
    """The standard errors (K,) of unbiased estimates; NaN where intervals are not made of them."""
    data = solution.data
    is_shares = solution.fit.probabilities is not None
    if not is_shares or available_kind(solution, target, kind) not in OF_REPORTS:
        return np.full(data.domain.size, np.nan)
    shares = project(data.channel.invert(data.weights))
    return np.asarray(np.sqrt(np.maximum(variances_of(data, shares, target), 0.0)))


def score(
    data: LikelihoodData,
    shares: np.ndarray | None = None,
    level: float = 0.95,
    target: str = "population",
) -> np.ndarray:
    """Intervals (K, 2) that hold for each share, also if it is read because its estimate is large.

        I_x = {t : t - T_x <= z sd_x(t),  T_x - t <= z_r sd_x(t)}
        Pr(N(0, 1) > z_r) = min(1, r / (K - 1)) alpha / 2,   z = z_(K-1)

    T_x is the unbiased estimate, sd_x(t) its standard deviation if the share were t, and r the rank
    of the share among all K. The lower limit of a large share has a smaller level, because the
    largest of many estimates is probably too large.

    Source: Wilson (1927); Benjamini and Yekutieli (2005); METHODS 5.
    """
    z = normal_quantile(level, data.degrees)
    choice("target", target, TARGETS)
    noise = ShareNoise.of(data, target, least_share(data, target, z))
    least = np.full(noise.centre.size, z)
    if shares is not None:
        least = student(lower_quantiles(shares, level), data.degrees)
    return noise.accepted(least, z)


def lower_quantiles(shares: np.ndarray, level: float) -> np.ndarray:
    """The normal quantiles z_r (K,) of the lower limits of score intervals; see :func:`score`."""
    ranks = 1 + np.searchsorted(np.sort(-shares), -shares)  # equal estimates share the best rank
    chosen_of = np.minimum(1.0, ranks / max(shares.size - 1, 1))
    return np.asarray(np.maximum(-ndtri((1 - level) / 2 * chosen_of), normal_quantile(level)))


def wald(data: LikelihoodData, level: float = 0.95, target: str = "population") -> np.ndarray:
    """Wald intervals (K, 2) around the unbiased estimate, by the exact variance of the inversion.

        theta_x +- z sqrt(V_x / n)
        V_x = sum_y Pr(y) L[x, y]^2 - theta_x^2,   L the linear inverse

    For respondents people's values are fixed, so theta_x (1 - theta_x) is taken from V_x. For a
    population of which one person sent up to t reports, it is added t - 1 times. Where an estimate
    lies outside [0, 1], the nearest end is the centre, so that the interval keeps its width.
    """
    choice("target", target, TARGETS)
    least = least_share(data, target, normal_quantile(level))
    return ShareNoise.of(data, target, least).around(normal_quantile(level, data.degrees))


def anytime(
    data: LikelihoodData, planned: int | None, level: float = 0.95, target: str = "population"
) -> np.ndarray:
    """Intervals that hold a share at all numbers of reports at once.

        T_x +- b sd_x,   b of :func:`anytime_factor`

    Source: Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas (2024); METHODS 10.4. Returns (K, 2).
    """
    factor = anytime_factor(data.n, planned, level)
    choice("target", target, TARGETS)
    noise = ShareNoise.of(data, target, least_share(data, target, normal_quantile(level)))
    return noise.around(normal_quantile(level), factor)


def anytime_factor(n: int, planned: int | None, level: float = 0.95) -> float:
    """The half-width of an anytime interval at n reports, in standard deviations.

        b = sqrt(2 (n r^2 + 1) / (n r^2) log(sqrt(n r^2 + 1) / alpha))
        r^2 = (-2 log alpha + log(-2 log alpha) + 1) / planned

    >>> round(anytime_factor(1000, 1000), 2), round(anytime_factor(50, 1000), 2)
    (3.04, 4.56)
    """
    alpha = 1 - confidence_level(level)
    remedy = "Pass the number of reports planned before the first look"
    most = integer("planned", planned, 1, remedy=remedy)
    spent = -2 * np.log(alpha)
    growth = n * (spent + np.log(max(spent, 1.0)) + 1) / most
    return float(np.sqrt(2 * (growth + 1) / growth * np.log(np.sqrt(growth + 1) / alpha)))


def anytime_of_functions(
    data: LikelihoodData, weights: ArrayLike, planned: int | None, level: float = 0.95
) -> np.ndarray:
    """Anytime intervals of linear functions of the shares of the population, such as a mean.

        c'T +- b sqrt(c' V c / n),   b of :func:`anytime_factor`

    Shapes: weights c (r, K) -> (r, 2).
    """
    matrix = _functions(weights, data.domain.size)
    factor = anytime_factor(data.n, planned, level)
    shares = data.channel.invert(data.weights)
    variance = data.channel.variance_of(matrix.T, project(shares)) * data.reports_per_person
    middle, half = matrix @ shares, factor * np.sqrt(np.maximum(variance, 0.0) / data.n)
    return np.stack([middle - half, middle + half], axis=1)


def bootstrap(
    solution: Solution,
    level: float = 0.95,
    target: str = "population",
    weights: Weights = None,
    replicates: int | None = None,
    rng: np.random.Generator | None = None,
) -> np.ndarray:
    """Parametric bootstrap intervals for shares, or for functions of shares.

        theta* = estimator(tally simulated from theta)
        limits = 2 f(theta) - the (1 - a/2) and (a/2) quantiles of f(theta*)

    At the border of the simplex the bootstrap does not show the bias of an estimator that stays
    inside, so limits are clipped to the range of f, and no level is guaranteed there. f must not
    jump, as a quantile does.

    Source: METHODS 5; [P3 sec VII]. Shapes: weights (r, K) -> (K, 2).
    """
    alpha = 1 - confidence_level(level)
    choice("target", target, TARGETS)
    # At least one replicate is expected beyond the limits, which else are those of a lower level.
    least = max(20, math.ceil(round(1 / alpha, 6)))
    remedy = f"An interval of {100 * level:g} % needs so many: pass replicates={least}"
    usual, most = _REPLICATES
    replicates = min(max(usual, least), most) if replicates is None else replicates
    integer("replicates", replicates, least, remedy=remedy)
    rng = _generator(rng)
    data = solution.data
    function, lowest, highest = _function(weights, data.domain.size)
    centre = solution.probabilities
    if (centre < 0).any() or not centre.sum() > 0:
        centre = project(centre)  # unbiased estimates can be negative, or all 0
    chances = centre / centre.sum()
    middle = function(centre)
    errors = np.empty((replicates, middle.size))
    with threads_for(data), stage("bootstrap", replicates) as tell:
        for some in in_blocks(replicates, _AT_A_TIME, data.channel.shape[0]):
            first, count = some.start, some.stop - some.start
            several, truths = simulated_tallies(data, target, chances, count, rng)
            refitted = solution.estimator.refit_all(several, chances)
            for at, (shares, truth) in enumerate(zip(refitted, truths, strict=True)):
                errors[first + at] = function(shares) - function(truth)
                tell(first + at + 1)
    # The k-th smallest of R errors is the k / (R + 1) quantile. With k / R, few replicates would
    # make narrow intervals.
    low, high = np.quantile(errors, [alpha / 2, 1 - alpha / 2], axis=0, method="weibull")
    limits: np.ndarray = np.clip(np.stack([middle - high, middle - low]), lowest, highest)
    return limits.T


def holding(bounds: np.ndarray, values: ArrayLike) -> np.ndarray:
    """Widen intervals (r, 2) to include other estimates (r,) of the same numbers."""
    return np.stack([np.minimum(bounds[:, 0], values), np.maximum(bounds[:, 1], values)], axis=1)


def posterior(
    solution: Solution,
    level: float = 0.95,
    target: str = "population",
    weights: Weights = None,
    rng: np.random.Generator | None = None,
) -> np.ndarray:
    """Posterior intervals (K, 2) for shares, or for functions of shares with weights (r, K).

        limits = the a/2 and 1 - a/2 quantiles of f(theta) over draws of theta from the posterior

    Of numbers it is a posterior that is rougher than the estimate's, see
    :mod:`warner.results.rough_posterior`, and so the limits are widened to hold the estimate.
    """
    alpha = 1 - confidence_level(level)
    if choice("target", target, TARGETS) == "respondents":
        rule = "must be 'population' for intervals of kind 'posterior'"
        remedy = "Leave out the argument target, or use kind='bootstrap'"
        raise ArgumentError("target", rule, None, remedy)
    if solution.normal is not None and weights is None:
        return solution.normal.interval(level, solution.probabilities)
    if solution.fit.posterior is None:
        rule = (
            "'posterior' is not possible with this estimator, which has no posterior distribution"
        )
        remedy = "Use kind='bootstrap'"
        raise ArgumentError("kind", rule, solution.method, remedy)
    if solution.data.reports_per_person > 1:
        rule = "'posterior' needs each report to come from a different person"
        got = f"up to {solution.data.reports_per_person} reports of one person"
        raise ArgumentError("kind", rule, got, "Use kind='score' or 'bootstrap'")
    of_shares, rough = solution.fit.posterior, solution.rough_posterior
    function, lowest, highest = _function(weights, solution.domain.size)
    centre = function(solution.probabilities)
    if rough is not None and not callable(weights):
        matrix = None if weights is None else _functions(weights, solution.domain.size)
        around = None
        if solution.has_intervals:
            every = np.eye(solution.domain.size) if matrix is None else matrix
            around = around_unbiased(solution, every, normal_quantile(level))
        smooth = rough.limits(matrix, level, _DRAWS, around)
        return holding(np.clip(smooth.T, lowest, highest).T, np.clip(centre, lowest, highest))
    rng = _generator(np.random.default_rng(0) if rng is None else rng)
    # The limits are values that f had, also where f jumps.
    ends = math.floor((_DRAWS - 1) * (alpha / 2)), math.ceil((_DRAWS - 1) * (1 - alpha / 2))
    if weights is None:
        limits = np.empty((solution.domain.size, 2))
        for some, drawn in of_shares.blocks(_DRAWS, rng):
            limits[some] = np.partition(drawn, ends, axis=1)[:, ends]
        return limits
    singly = of_shares.one_by_one if rough is None else rough
    values = np.stack([function(theta) for theta in singly(_DRAWS, rng)])
    bounds: np.ndarray = np.partition(values, ends, axis=0)[list(ends)].T
    return bounds if rough is None else holding(bounds, centre)


def around_unbiased(solution: Solution, matrix: np.ndarray, z: float) -> np.ndarray:
    """Limits (r, 2) of linear functions, ``matrix`` (r, K), around their unbiased estimates."""
    channel, n = solution.data.channel, solution.n
    middle = matrix @ channel.invert(solution.data.weights)
    variance = channel.variance_of(matrix.T, project(solution.probabilities))
    half = z * np.sqrt(np.maximum(variance, 0.0) / n)
    return np.stack([middle - half, middle + half], axis=1)


def fisher(
    solution: Solution, level: float = 0.95, target: str = "population", weights: Weights = None
) -> np.ndarray:
    """Intervals (K, 2) of shares, or of linear functions c (r, K), from the Fisher information.

        f(theta) +- z sqrt(c' V c),   V = T (T' I T)^-1 T'
        I = n A' diag(1 / A theta) A,   T a basis of {d : 1'd = 0}

    Source: METHODS 6; Cramer-Rao on the simplex.
    """
    from warner.results.likelihood_limits import basis_of

    z = normal_quantile(level)
    respondents = choice("target", target, TARGETS) == "respondents"
    data, theta = solution.data, solution.probabilities
    matrix = _functions(weights, data.domain.size)
    others = "Use kind='score' or 'bootstrap'"
    if solution.status is not Status.CONVERGED:
        rule = "must be the best fit to the reports for kind='fisher', as from MaximumLikelihood()"
        raise ArgumentError("estimate", rule, solution.method, others)
    if solution.likelihood != WHOLE:
        rule = "must be made of complete reports for kind='fisher'"
        remedy = "Use kind='score', or make the tally with keep_reports=True"
        raise ArgumentError("estimate", rule, "counts of parts of reports", remedy)
    if (theta <= 0).any():
        rule = "must have no share of 0 for kind='fisher'"
        remedy = "Use kind='score', which holds for shares of 0, too"
        zeros = int(np.count_nonzero(theta <= 0))
        raise ArgumentError("estimate", rule, f"{zeros} share{'s' * (zeros > 1)} of 0", remedy)
    times = 0 if respondents else data.reports_per_person
    if times > 1 and len(data.channel.groups()) > 1:
        rule = "'fisher' cannot be used where a person sent reports of several mechanisms"
        raise ArgumentError("kind", rule, None, others)
    information = _information(data, theta)
    basis = basis_of(theta.size)
    inner = basis.T @ information @ basis
    values, vectors = np.linalg.eigh(inner)
    if values.size and values[0] <= 1e-12 * values[-1]:
        rule = "cannot tell the shares apart: different shares lead to the same mix of reports"
        remedy = "Use kind='bootstrap'"
        raise IdentifiabilityError("reports", rule, None, remedy)
    spread = (matrix @ basis) @ (vectors / np.sqrt(values))
    variance = (spread**2).sum(axis=1)
    middle = matrix @ theta
    if times != 1:
        of_values = matrix**2 @ theta - middle**2
        variance = np.maximum(variance + (times - 1) * of_values, 0.0)
    half = z * np.sqrt(variance / data.n)
    limits = np.stack([middle - half, middle + half], axis=1)
    return np.asarray(np.clip(limits, matrix.min(axis=1)[:, None], matrix.max(axis=1)[:, None]))


def _information(data: LikelihoodData, theta: np.ndarray) -> np.ndarray:
    """Fisher information (K, K) per report: expected, or observed of channels without a list."""
    channel = data.channel
    d = channel.matvec(theta)
    rows, w = channel.restrict_to_observed(data.weights)
    if rows is channel and not (data.weights[d <= 0] > 0).any() and abs(float(d.sum()) - 1) < 1e-9:
        return channel.gram(np.divide(1.0, d, out=np.zeros_like(d), where=d > 0))
    return rows.gram(w / rows.matvec(theta) ** 2)


def normal_quantile(level: float, degrees: float = np.inf) -> float:
    """The quantile z of a two-sided interval of this coverage: normal, or t with ``degrees``."""
    upper = (1 + confidence_level(level)) / 2
    if upper >= 1:
        remedy = "For example 0.95"
        raise ArgumentError("level", "is too near to 1 to be computed", repr(level), remedy)
    if np.isfinite(degrees):
        return float(scipy.special.stdtrit(degrees, upper))
    return NormalDist().inv_cdf(upper)


def _generator(rng: np.random.Generator | None) -> np.random.Generator:
    """The generator, or a fresh one; refused where it is anything else."""
    if rng is not None and not isinstance(rng, np.random.Generator):
        raise ArgumentTypeError("rng", "must be None or a numpy.random.Generator", kind(rng))
    return np.random.default_rng() if rng is None else rng


def _function(weights: Weights, size: int) -> tuple[Callable[[np.ndarray], np.ndarray], Any, Any]:
    """A function of the shares, (K,) -> (r,), and the ends of its range on the simplex."""
    if callable(weights):
        lowest, highest = getattr(weights, "limits", (-np.inf, np.inf))
        return (lambda theta: _vector(weights(theta))), lowest, highest
    if weights is None:
        return (lambda theta: theta), 0.0, 1.0
    matrix = _functions(weights, size)
    return (lambda theta: matrix @ theta), matrix.min(axis=1), matrix.max(axis=1)


def _vector(value: ArrayLike) -> np.ndarray:
    """The result of a function of the shares, as finite numbers (r,)."""
    array = np.atleast_1d(np.asarray(value, dtype=np.float64))
    if array.ndim != 1 or not np.isfinite(array).all():
        rule = "must be a function that returns a list of finite numbers"
        got = f"shape {array.shape}" if array.ndim != 1 else "NaN or infinity"
        raise ArgumentError("weights", rule, got)
    return array


def _functions(weights: Weights, size: int) -> np.ndarray:
    """(r, K) linear functions of the shares; the shares themselves for None."""
    if weights is None:
        return np.eye(size)
    try:
        matrix = np.atleast_2d(np.asarray(weights, dtype=np.float64))
    except (TypeError, ValueError):
        rule = f"must be rows of {size} numbers, one for each value"
        raise ArgumentTypeError("weights", rule, kind(weights)) from None
    if matrix.ndim != 2 or matrix.shape[1] != size or not np.isfinite(matrix).all():
        is_finite = np.isfinite(matrix).all()
        got = f"shape {matrix.shape}" if is_finite else "NaN or infinity"
        rule = f"must be rows of {size} finite numbers, one for each value"
        raise ArgumentError("weights", rule, got)
    return matrix


# -----------------------------------------------------------------------------------------------
# Tables of shares: the row of one value, and the columns.


# What a table of shares says of each value stands here once: a key of the row and its column. All
# tables of shares are made of these, on a terminal, on pages and in files.


def share_row(
    value: Any, share: float | None, limits: np.ndarray, n: float | None = None
) -> dict[str, Any]:
    """The row of one value in a table of shares, from its limits (2,) and the number of people."""
    low, high = limits
    row = {
        "value": value,
        "estimate": None if share is None else float(share),
        "low": float(low),
        "high": float(high),
    }
    return row if n is None or share is None else row | {"people_about": float(share * n)}


def error_of_share(error: float) -> dict[str, float | None]:
    """The entry of a row that says the standard error; None for NaN."""
    return {"error": None if np.isnan(error) else float(error)}


def effect_of_design(effect: float | None) -> dict[str, Any]:
    """The entry of a row of the design effect, None for a share of variance 0; {} of no design."""
    if effect is None:
        return {}
    return {"design_effect": float(effect) if np.isfinite(effect) else None}


def share_columns(level: float, counted: str | None = "people", kind: str = "") -> list[Column]:
    """The value, its share, the interval, also as a picture, and shares times n, ``counted``."""
    interval = interval_column(level)
    if kind == "average":
        interval = replace(interval, title=f"average {interval.title}")
    is_bounded = kind != "none"
    return [
        Column("value"),
        Column("estimate", unit="share"),
        *([interval] if is_bounded else []),
        Column("estimate", "", "bar", ends=("low", "high") if is_bounded else None),
        *([] if counted is None else [Column("people_about", counted, "people", priority=1)]),
    ]


# For files, and for terminals with --wide; else the interval says as much.
STANDARD_ERROR = Column("error", "standard error", "data")
DESIGN_EFFECT = Column("design_effect", "design effect", "times", 2)


def interval_column(
    level: float, unit: str = "share", low: str = "low", high: str = "high"
) -> Column:
    return Column("interval", f"{100 * level:.4g} % interval", unit, ends=(low, high))
