"""The error and the interval widths to expect of one mechanism, judged by ``estimate``'s method.

A plan must judge a mechanism by the estimate that will be made of its reports. So nothing here is
of the unbiased estimate, unless that is the estimate whose interval is printed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from warner._core.errors import ArgumentError, IdentifiabilityError
from warner.channels import LikelihoodOperator
from warner.domains import Domain
from warner.estimators.base import threads_for
from warner.estimators.likelihood_data import LikelihoodData
from warner.mechanisms import Mechanism
from warner.privacy.likelihood_ratios import INFINITE, worst_pair
from warner.results.intervals import (
    available_kind,
    interval,
    lower_quantiles,
    normal_quantile,
    posterior,
)
from warner.results.linear_limits import UnbiasedShares
from warner.results.marginals import within
from warner.results.recommend import recommended_fit
from warner.results.share_noise import ShareNoise, least_share
from warner.results.solution import Solution

_DRAWS = 200  # of a posterior, whose mean distance from its estimate is then known within 5 %
_FEW_RUNS = 4
_GRID = 64  # estimates over which a closed form of a width is averaged


@dataclass(frozen=True)
class Expected:
    """What to expect of the estimate of one survey.

    Attributes:
        error: the mean loss of the estimate: the sum of squared errors of labels; of numbers and
            places the Wasserstein-1 distance in their unit.
        margin: the standard error of ``error``.
        share: the mean width of the interval of the share of :class:`Question`; None where reports
            bound no share.
        mean: the mean width of the interval of the mean of numbers; None for other values.
        kind: the kind of these intervals, see :meth:`warner.Estimate.interval`; ``"none"`` where
            reports bound no share.
    """

    error: float
    margin: float
    share: float | None
    mean: float | None
    kind: str


@dataclass(frozen=True, eq=False)
class Question:
    """A distribution that people could have, and the share whose interval is judged.

    Attributes:
        domain: K values.
        theta: (K,) the distribution.
        share: the share that is judged, in (0, 1).
        value: of labels, the index of the value that has this share.
        level: the coverage of the intervals.
    """

    domain: Domain
    theta: np.ndarray
    share: float
    value: int
    level: float

    @cached_property
    def functions(self) -> np.ndarray:
        """(2, K) weights of the judged share and of the mean, for numbers.

        The share is that of the largest numbers: of as many values as hold it, the last one in
        part. Where silence is a value, the mean is that of the f people in 1 who answered. It is
        a ratio m, whose weights (point - m) / f have its width to first order.
        """
        points = self.domain.answered.points
        assert points is not None
        size = len(points)
        tail, mean, left = np.zeros(self.domain.size), np.zeros(self.domain.size), self.share
        for x in np.argsort(points[:, 0], kind="stable")[::-1]:
            tail[x] = 1.0 if self.theta[x] <= left else left / self.theta[x]
            left -= tail[x] * self.theta[x]
            if left <= 0:
                break
        mean[:size] = points[:, 0]
        if self.domain.silence is not None:
            answered = self.theta[:size]
            mean[:size] = (mean[:size] - mean @ self.theta / answered.sum()) / answered.sum()
        return np.stack([tail, mean])

    def loss(self, shares: np.ndarray, truth: np.ndarray) -> float:
        """The loss of an estimate (K,)."""
        if measured(self.domain).dimension:
            return distance_of_values(shares, truth, self.domain)
        return float(((shares - truth) ** 2).sum())

    def estimates(
        self, mechanism: Mechanism, n: int, runs: int, rng: np.random.Generator
    ) -> Iterator[Solution]:
        """The recommended estimates of simulated tallies."""
        for channel, weights in mechanism.channel().simulate_tallies(self.theta, n, rng, runs):
            data = LikelihoodData(channel, weights, n, self.domain)
            with threads_for(data):
                estimator, fit = recommended_fit(data)
            yield Solution(fit, data, estimator)

    def widths(self, solution: Solution) -> tuple[float | None, float | None]:
        """The widths of the default intervals of the judged share, and of the mean of numbers.

        Both are linear functions of the shares, see :mod:`warner.results.linear_limits`.

        None where there is no such interval.
        """
        kind = available_kind(solution)
        if kind == "posterior":
            known = UnbiasedShares.of(solution, "population")
            if known is None:
                bounds = posterior(solution, self.level, weights=self.functions)
            else:
                middle = self.functions @ solution.probabilities
                pairs = zip(self.functions, middle, strict=True)
                bounds = np.stack([known.interval(c, self.level, float(at)) for c, at in pairs])
            share, mean = np.diff(bounds, axis=1)[:, 0]
            return float(share), float(mean)
        if kind == "none" or self.domain.answered.is_ordered:
            return None, None
        low, high = interval(solution, self.level)[self.value]
        return float(high - low), None


def measured(domain: Domain) -> Domain:
    """The domain in whose unit errors are measured: of numbers with silence, the numbers alone."""
    return domain.answered if domain.answered.is_ordered else domain


def expected(mechanism: Mechanism, question: Question, n: int, runs: int) -> Expected:
    """The mean error and widths over simulated tallies, always the same ones.

    Score intervals are not simulated, see :func:`score_width`.
    """
    losses, shares, means = [], [], []
    kind = "none"
    for solution in question.estimates(mechanism, n, runs, np.random.default_rng(0)):
        losses.append(question.loss(solution.probabilities, question.theta))
        kind = available_kind(solution)
        if kind != "score":
            share, mean = question.widths(solution)
            shares += [] if share is None else [share]
            means += [] if mean is None else [mean]
    width: float | None = float(np.mean(shares)) if shares else None
    if width is None and kind == "score" and not question.domain.answered.is_ordered:
        width = score_width(mechanism.channel(), question, n)
    margin = float(np.std(losses, ddof=1)) / math.sqrt(runs)
    mean_width = float(np.mean(means)) if means else None
    return Expected(float(np.mean(losses)), margin, width, mean_width, kind)


def expected_at_once(
    mechanism: Mechanism, question: Question, n: int, has_widths: bool = True
) -> Expected | None:
    """The error and the widths that the posterior states for the expected tally; one fit.

        w = A theta,   error = E loss(theta*, estimate) over draws theta* of the posterior at w

    It ranks mechanisms of numbers without the chance of simulated tallies. The widths are about a
    tenth too small, because a real tally is noisier than its expectation.
    """
    channel = mechanism.channel()
    weights = channel.matvec(question.theta)
    data = LikelihoodData(channel, weights / weights.sum(), n, question.domain)
    with threads_for(data):
        estimator, fit = recommended_fit(data)
    solution = Solution(fit, data, estimator)
    if fit.posterior is None or not solution.has_posterior_intervals:
        return None
    rng = np.random.default_rng(0)
    losses = [question.loss(fit.shares, d) for d in fit.posterior.one_by_one(_DRAWS, rng)]
    share, mean = question.widths(solution) if has_widths else (None, None)
    return Expected(float(np.mean(losses)), 0.0, share, mean, "posterior")


def share_width(
    mechanism: Mechanism, question: Question, n: int, known: Expected, known_n: int
) -> float | None:
    """The width of the interval of the share with n people, from that with ``known_n`` people.

    A posterior's width is scaled by that for expected tallies. Widths that are neither of a
    posterior nor of score intervals are simulated.
    """
    if known.kind == "score":
        return score_width(mechanism.channel(), question, n)
    if known.kind == "posterior":
        pair = [expected_at_once(mechanism, question, people) for people in (n, known_n)]
        now, before = (None if each is None else each.share for each in pair)
        if now and before and known.share:
            return known.share * now / before
    return expected(mechanism, question, n, _FEW_RUNS).share


def score_width(channel: LikelihoodOperator, question: Question, n: int) -> float | None:
    """The expected width of the score interval of the judged share t, of the rank that it has.

        E high(T) - low(T),   T ~ N(t, s(t)^2),   s(t)^2 = ((1 - t) null + t own - t^2) / n

    null and own are the second moments of the inverse's weight of one report under other values
    and under the value itself.
    """
    from scipy.special import ndtri

    z, theta, x = normal_quantile(question.level), question.theta, question.value
    data = LikelihoodData(channel, np.empty(0), n, question.domain)  # no tally yet
    try:
        noise = ShareNoise.of(data, "population", least_share(data, "population", z), theta)
    except IdentifiabilityError:
        return None
    least = lower_quantiles(theta, question.level)
    deviation = math.sqrt(max(float(noise.at(question.share)[x]), 0.0) / n)
    widths = []
    for normal in ndtri((np.arange(_GRID) + 0.5) / _GRID):
        estimate = np.full_like(theta, question.share + deviation * normal)
        low, high = replace(noise, centre=estimate).accepted(least, z)[x]
        widths.append(high - low)
    return float(np.mean(widths))


def distance_of_values(p: np.ndarray, q: np.ndarray, domain: Domain) -> float:
    """Wasserstein-1 distance in the unit of the values, added over the coordinates.

    Shapes: p, q (K,).
    """
    total, points = 0.0, domain.points
    if domain.silence is not None:
        p, q = within(p, slice(0, -1)), within(q, slice(0, -1))
        points = domain.answered.points
    assert points is not None
    for axis in points.T:
        places, index = np.unique(axis, return_inverse=True)
        excess = np.cumsum(np.bincount(index, p - q, minlength=len(places)))
        total += float(np.abs(excess[:-1]) @ np.diff(places))
    return total


# -----------------------------------------------------------------------------------------------
# What epsilon means in odds, from the probabilities that a mechanism realises.


_LARGEST = 700.0  # nats, whose exponential is a float
_MOST_LISTED = 2**12  # probabilities, which are exact fractions


@dataclass(frozen=True)
class Odds:
    """How much surer of an answer one report can make somebody who sees it.

    Attributes:
        epsilon: the realised epsilon in nats, of any two values.
        factor: by how much the odds of two answers can change, e^epsilon.
        answer, other: the two answers that a report tells apart best; None where the reports are
            too many to list.
        sent: of 100 people with ``answer``, those who send that report; None as above.
        sent_by_other: of 100 people with ``other``, those who send it; None as above.
        delta: of approximate privacy; 0 otherwise.
        of_sensitive: whether this holds for sensitive answers only. A report can show others.
    """

    epsilon: float
    factor: float
    answer: Any = None
    other: Any = None
    sent: float | None = None
    sent_by_other: float | None = None
    delta: float = 0.0
    of_sensitive: bool = False

    def surer(self, before: float = 0.5) -> float:
        """The largest probability of an answer after a report was seen.

            odds after = factor * odds before

        With a delta a rare report can tell more. Then it is the probability that the best guess
        between this answer, held to be the likelier one, and another is right,

            Pr(right) <= after + delta (1 - after)   for equally likely answers.

        Shapes: before (0, 1).

        >>> round(Odds(1.0, math.exp(1)).surer(), 3)
        0.731
        """
        odds = self.factor * before / (1 - before)
        after = 1.0 if math.isinf(odds) else odds / (1 + odds)
        return after + self.delta * (1 - after)

    def of_all(self, times: int) -> Odds:
        """The odds of several reports of one person together, without an example."""
        if times == 1:
            return self
        total = self.epsilon * times
        factor = math.exp(total) if total < _LARGEST else math.inf
        delta = min(1.0, self.delta * times)
        return Odds(total, factor, delta=delta, of_sensitive=self.of_sensitive)

    def row(self) -> dict[str, Any]:
        """The odds as a dict of JSON data."""
        return {**vars(self), "surer_from_half": self.surer()}


def odds_of(mechanism: Mechanism) -> Odds:
    """The odds of a mechanism, from its realised law.

    With sensitive values only they are protected, and the odds are of reports that a sensitive
    value can make.

    >>> from warner import Categorical, RandomizedResponse
    >>> odds = odds_of(RandomizedResponse(Categorical(["no", "yes"]), 1.0))
    >>> round(odds.factor, 3), odds.answer, round(odds.sent), round(odds.sent_by_other)
    (2.718, 'no', 73, 27)
    """
    promised, mask = mechanism.guarantee.between_any_values(), mechanism.sensitive_mask
    epsilon = promised.epsilon
    factor = math.exp(epsilon) if epsilon < _LARGEST else math.inf
    of_sensitive = mask is not None and not bool(mask.all())
    bound = Odds(epsilon, factor, delta=promised.delta or 0.0, of_sensitive=of_sensitive)
    if not mechanism.is_enumerable or mechanism.n_reports * mechanism.domain.size > _MOST_LISTED:
        return bound
    try:
        table = mechanism.probabilities()[mechanism.protected()]
    except ArgumentError:
        return bound
    worst = worst_pair(table, mask)
    if worst.ratio in (INFINITE, 1) or bound.delta:
        return bound
    sent, by_other = (100 * float(table[worst.report, x]) for x in (worst.likely, worst.unlikely))
    labels = mechanism.domain.labels
    answer, other = labels[worst.likely], labels[worst.unlikely]
    return replace(bound, answer=answer, other=other, sent=sent, sent_by_other=by_other)
