"""Proposals: a mechanism and an epsilon for a question that has neither yet."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from warner._core.checks import confidence_level, distribution, integer, probability
from warner._core.errors import (
    ArgumentError,
    IdentifiabilityError,
    WarnerError,
)
from warner._core.extras import scipy
from warner._core.names import explained
from warner._core.processes import one_thread
from warner._core.progress import steps
from warner._core.table import Column, Table, Tabular
from warner._core.text import canonical
from warner.channels import Channel, LikelihoodOperator
from warner.design.charts import DrawnWidths, draw_widths, people_drawn
from warner.design.default_errors import (
    can_simulate,
    distance_of_values,
    expected_tally,
    made_shares,
    measured,
    simulated_error,
    usual_fit,
    with_silent,
)
from warner.design.planning import (
    TREAT_ALL_ALIKE,
    Maker,
    candidates,
    judged_mechanisms,
    options_of,
)
from warner.design.privacy_words import Odds, odds_of
from warner.design.ranking import to_nine_digits
from warner.domains import Domain
from warner.domains.base import require_domain
from warner.estimators.base import LikelihoodData, threads_for
from warner.mechanisms import Mechanism, from_header
from warner.results.intervals import (
    available_kind,
    holding,
    interval,
    lower_quantiles,
    normal_quantile,
    posterior,
)
from warner.results.linear_limits import UnbiasedShares
from warner.results.recommend import recommended_fit
from warner.results.share_noise import ShareNoise, least_share
from warner.results.solution import Solution
from warner.theory import expected_loss
from warner.theory.inversion import MAX_PEOPLE, with_share

_DRAWS = 200  # of a posterior, whose mean distance from its estimate is then known within 5 %
_GRID = 24  # estimates over which a closed form of a width is averaged


@dataclass(frozen=True)
class Expected:
    """What to expect of the estimate of one survey."""

    # The mean loss of the estimate: the sum of squared errors of labels; of numbers and places the
    # Wasserstein-1 distance in their unit.
    error: float
    standard_error: float  # the standard error of ``error``
    # The mean width of the interval of the share of :class:`Scenario`; None where reports bound no
    # share.
    share: float | None
    # The mean width of the interval of the mean of numbers; None for other values.
    mean: float | None
    # The kind of these intervals, see :meth:`warner.Estimate.interval`; ``"none"`` where reports
    # bound no share.
    kind: str


@dataclass(frozen=True, eq=False)
class Scenario:
    """A distribution that people could have, and the share whose interval is judged."""

    domain: Domain  # K values
    theta: np.ndarray  # (K,) the distribution
    share: float  # the share that is judged, in (0, 1)
    value: int  # of labels, the index of the value that has this share
    level: float  # the coverage of the intervals

    @cached_property
    def functions(self) -> np.ndarray:
        """(2, K) weights of the judged share and of the mean, for numbers.

        The share is that of the largest numbers: of as many values as hold it, the last one in
        part. Where nonresponse is a value, the mean is that of the f people in 1 who answered. It
        is a ratio m, whose weights (point - m) / f have its width to first order.
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
        if self.domain.nonresponse is not None:
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

    def widths(
        self, solution: Solution, has_mean: bool = True
    ) -> tuple[float | None, float | None]:
        """The widths of the default intervals of the judged share and of the mean, or None.

        Both are linear functions of the shares, see :mod:`warner.results.linear_limits`.
        """
        kind = available_kind(solution)
        if kind == "posterior":
            functions = self.functions[: 1 + has_mean]
            unbiased = UnbiasedShares.of(solution, "population")
            if unbiased is None:
                bounds = posterior(solution, self.level, weights=functions)
            else:
                z, middle = normal_quantile(self.level), functions @ solution.probabilities
                of_mean = unbiased.for_heaps if solution.data.channel.has_bins else unbiased
                pairs = zip((unbiased, of_mean), functions, strict=False)
                limits = [of.limits(c, z).clip(c.min(), c.max()) for of, c in pairs]
                bounds = holding(np.stack(limits), middle)
            share, *mean = map(float, np.diff(bounds, axis=1)[:, 0])
            return share, mean[0] if mean else None
        if kind == "none" or self.domain.answered.is_ordered:
            return None, None
        low, high = interval(solution, self.level)[self.value]
        return float(high - low), None


def expected(mechanism: Mechanism, scenario: Scenario, n: int, runs: int) -> Expected:
    """The mean error and widths over simulated tallies, always the same ones.

    Score intervals are not simulated, see :func:`score_width`.
    """
    losses, shares, means = [], [], []
    kind = "none"
    for solution in scenario.estimates(mechanism, n, runs, np.random.default_rng(0)):
        losses.append(scenario.loss(solution.probabilities, scenario.theta))
        kind = available_kind(solution)
        if kind != "score":
            share, mean = scenario.widths(solution)
            shares.append(share)
            means.append(mean)
    width = _mean_of(shares)
    if width is None and kind == "score" and not scenario.domain.answered.is_ordered:
        width = score_width(mechanism.channel(), scenario, n)
    standard_error = float(np.std(losses, ddof=1)) / math.sqrt(runs)
    return Expected(float(np.mean(losses)), standard_error, width, _mean_of(means), kind)


_MOST_KEPT = 128  # fits of expected tallies that are kept, for questions with equal values
_MOST_CHANNELS = 8  # channels that are kept, with the inverses that they have formed


@lru_cache(maxsize=_MOST_CHANNELS)
def _channel(header: str) -> tuple[Domain, Channel]:
    """The domain and the channel of a mechanism."""
    mechanism = from_header(json.loads(header))
    return mechanism.domain, mechanism.channel()


@lru_cache(maxsize=_MOST_KEPT)
def _at_once(header: str, theta: bytes, n: int) -> Solution:
    """The recommended estimate of the expected tally."""
    (domain, channel), shares = _channel(header), np.frombuffer(theta)
    data = expected_tally(channel, shares, n, domain)
    estimator, fit = usual_fit(data, shares)
    return Solution(fit, data, estimator)


def expected_at_once(
    mechanism: Mechanism,
    scenario: Scenario,
    n: int,
    of: frozenset[str] = frozenset({"error", "share", "mean"}),
) -> Expected | None:
    """The error and the widths that the posterior states for the expected tally; one fit.

        w = A theta,   error = E loss(theta*, estimate) over draws theta* of the posterior at w

    ``of`` names what is computed, without the chance of simulated tallies; the rest is None or NaN.
    """
    theta = np.ascontiguousarray(scenario.theta)
    solution = _at_once(canonical(mechanism.header), theta.tobytes(), n)
    fit = solution.fit
    if fit.posterior is None or not solution.has_posterior_intervals:
        return None
    error, share, mean = math.nan, None, None
    if "error" in of:
        draws = fit.posterior.one_by_one(_DRAWS, np.random.default_rng(0))
        error = float(np.mean([scenario.loss(fit.shares, drawn) for drawn in draws]))
    if "share" in of:
        share, mean = scenario.widths(solution, "mean" in of)
    return Expected(error, 0.0, share, mean, "posterior")


def _share_widths(
    mechanism: Mechanism, scenario: Scenario, n: int, expectation: Expected
) -> Callable[[int], float | None]:
    """The width of the interval of the share, as a function of the number of people.

    A posterior's width is scaled to the expected one with n people, and is at most 1. Widths that
    are neither of a posterior nor of score intervals are simulated.
    """
    if expectation.kind == "score":
        return lambda people: score_width(mechanism.channel(), scenario, people)

    def at_once(people: int) -> float | None:
        posterior_width = expected_at_once(mechanism, scenario, people, frozenset({"share"}))
        return None if posterior_width is None else posterior_width.share

    unscaled = at_once(n) if expectation.kind == "posterior" else None
    if not unscaled or not expectation.share:
        return lambda people: expected(mechanism, scenario, people, _FEWER).share
    scale = expectation.share / unscaled
    return lambda people: None if (width := at_once(people)) is None else min(scale * width, 1.0)


def score_width(channel: LikelihoodOperator, scenario: Scenario, n: int) -> float | None:
    """The expected width of the score interval of the judged share t, of the rank that it has.

        E high(T) - low(T),   T ~ N(t, s(t)^2),   s(t)^2 = ((1 - t) null + t own - t^2) / n

    null and own are the second moments of the inverse's weight of one report under other values
    and under the value itself.
    """
    z, theta, x = normal_quantile(scenario.level), scenario.theta, scenario.value
    data = LikelihoodData(channel, np.empty(0), n, scenario.domain)  # no tally yet
    try:
        noise = ShareNoise.of(data, "population", least_share(data, "population", z), theta)
    except IdentifiabilityError:
        return None
    least = lower_quantiles(theta, scenario.level)
    deviation = math.sqrt(max(float(noise.at(scenario.share)[x]), 0.0) / n)
    widths = []
    for normal in scipy.special.ndtri((np.arange(_GRID) + 0.5) / _GRID):
        estimate = np.full_like(theta, scenario.share + deviation * normal)
        low, high = replace(noise, centre=estimate).accepted(least, z)[x]
        widths.append(high - low)
    return float(np.mean(widths))


# -----------------------------------------------------------------------------------------------
# Proposals: a mechanism and an epsilon for a question that has neither yet.

EPSILON_STEPS = (0.5, 1.0, 2.0, 3.0)
DEFAULT_WIDTH = 0.1  # of the interval of a share, and of that of a mean as a part of the range
_ALIKE = 1.02  # errors within 2 % are alike; the mechanism that is named first is then taken
_FEW = 256  # numbers, beyond which only these are compared:
_OF_NUMBERS = ("SquareWave", "Piecewise")
_RUNS, _FEWER, _LEAST = 6, 3, 2  # simulated tallies of up to 512 values, up to 4096, and beyond
_NEAR = 1.3  # errors within 30 % of the least one are compared at all distributions
_SECANTS = 6
_NO_PICTURE = "Leave out the picture (--plot)"
# Their errors are at least those of another candidate: UnaryEncoding with variant='oue'
# for LocalHashing, whose reports cannot be listed, and Laplace for noise on integers. Exponential
# spends half of its epsilon on its normaliser.
_LEFT_OUT = ("LocalHashing", "Geometric", "TruncatedGeometric", "Exponential")
# Of places also those that err about as much as these, and as PlanarGeometric.
_LEFT_OUT_OF_PLACES = (*_LEFT_OUT, "UnaryEncoding", "PlanarLaplace")

Scenarios: TypeAlias = tuple[Scenario, ...]


@dataclass(frozen=True)
class Offer:
    """The mechanism that is proposed at one epsilon, and what to expect of its estimate."""

    epsilon: float  # the budget in nats, of any two values
    name: str  # the mechanism and its variant
    mechanism: Mechanism  # the mechanism
    options: Mapping[str, Any]  # {option: value} of the mechanism, beside its domain and epsilon
    expected: Expected  # the error and the widths of intervals
    # Number of people at whom the interval of the share has the wanted width; None where reports
    # bound no share, or above 10^15.
    people: int | None
    odds: Odds  # what the report can tell somebody who sees it
    # {name: error} of all mechanisms that were compared, from the least error on. The errors are
    # those they were ranked by; compare them with each other only.
    others: Mapping[str, float]
    left_out: Mapping[str, str]  # {name: reason} of those that cannot be used here

    def row(self) -> dict[str, Any]:
        """The offer as a dict of JSON data."""
        return {
            "epsilon": self.epsilon,
            "mechanism": self.name,
            "options": dict(self.options),
            "error": self.expected.error,
            "standard_error": self.expected.standard_error,
            "share_width": self.expected.share,
            "mean_width": self.expected.mean,
            "people": self.people,
            "odds": self.odds.row(),
            "others": dict(self.others),
            "left_out": dict(self.left_out),
        }


def in_points(width: float | None) -> str:
    """The width of an interval of a share in percentage points.

    >>> in_points(0.02), in_points(0.01), in_points(None)
    ('2 points', '1 point', 'none')
    """
    if width is None:
        return "none"
    points = f"{100 * width:.3g}"
    return f"{points} point{'s' * (points != '1')}"


def near_half(how: str) -> str:
    """That shares near a half have wider intervals, and how to plan for them."""
    return f"The interval of a share near 50 % is wider. To plan for that, {how}."


def is_near_half(share: float) -> bool:
    """Whether the interval of a share is about as wide as at a half, where it is widest."""
    return abs(share - 0.5) <= 0.1


_TELLS_NOTHING = 0.4  # width of the interval of a share


def about_wide(width: float | None) -> list[str]:
    """A warning, where the interval of a share is so wide that it tells next to nothing."""
    if width is None or width <= _TELLS_NOTHING:
        return []
    return [
        "Such wide intervals tell next to nothing. A survey of so few people is not worth the "
        "privacy that it costs."
    ]


@dataclass(frozen=True, repr=False)
class Proposal(Tabular):
    """What is proposed for one question."""

    domain: Domain  # the values that can be answered
    n: int  # number of people
    level: float  # coverage of the intervals
    share: float  # the share whose interval is judged; of numbers, the share of the largest ones
    width: float  # the wanted width of its interval
    best: Offer  # the offer that is proposed
    offers: tuple[Offer, ...]  # the offers at all epsilons that were tried, by epsilon
    meets: bool  # whether ``best`` has the wanted widths
    # The distributions at which the proposed mechanism was judged.
    scenarios: Scenarios = field(repr=False)

    @property
    def mechanism(self) -> Mechanism:
        """The proposed mechanism."""
        return self.best.mechanism

    @property
    def epsilon(self) -> float:
        """The proposed budget in nats, of any two values."""
        return self.best.epsilon

    @one_thread()
    def widths(self, n: int) -> Expected:
        """What to expect of the proposed mechanism with another number of people."""
        return expect(self.mechanism, self.scenarios, integer("n", n, 1, MAX_PEOPLE))

    def people(self, width: float) -> int | None:
        """The number of people with whom the interval of the share has a width in (0, 1)."""
        return people_for(self.mechanism, self.scenarios, self.n, self.best.expected, width)

    @property
    def columns_of_widths(self) -> list[Column]:
        """The columns of a table of the widths of intervals."""
        title = f"interval at {100 * self.share:.3g} %"
        columns = [Column("share_width", title, "width_in_points")]
        if self.best.expected.mean is not None:
            columns.append(Column("mean_width", "interval of the mean", "width"))
        return columns

    def table(self, times: int = 1, among: int = 1) -> Table:
        """The offers as a table. The column ``proposed`` of a frame marks the one proposed.

        Args:
            times: how many reports each person sends, which share the epsilon.
            among: the number of questions, of which each person is asked one.
        """
        widths = [column.key for column in self.columns_of_widths]
        rows = [
            {
                "epsilon": offer.epsilon * times,
                "proposed": offer is self.best,
                "mechanism": offer.name,
                **{key: offer.row()[key] for key in widths},
                "people": None if offer.people is None else offer.people * among,
                "odds": offer.odds.of_all(times).factor,
            }
            for offer in self.offers
        ]
        columns = [
            Column("epsilon", unit="epsilon"),
            Column("proposed", unit="data"),
            # The title names the mechanism that is proposed.
            Column("mechanism", priority=2),
            *self.columns_of_widths,
            Column("people", f"people for {in_points(self.width)}", "people"),
            Column("odds", "odds change", "times", priority=1),
        ]
        title = (
            f"{self.domain.size:,} values, {self.n:,} people. Proposed: {self.best.name}, "
            f"epsilon = {self.best.epsilon * times:.4g}"
        )
        notes = [*self.legend, *self._limits(), *self.outlook(among)]
        return Table(columns, rows, notes, title)

    def _limits(self) -> list[str]:
        """Of which shares the widths are not, and what values of several questions are."""
        notes = []
        if self.best.expected.share is not None and not is_near_half(self.share):
            notes.append(near_half("pass share=0.5"))
        if names := list(self.domain.attributes):
            notes.append(
                f"The {self.domain.size:,} values are the combinations of the answers to "
                f"{', '.join(names)}. So the intervals are for the share of a combination, and not "
                "for the share of an answer to one question."
            )
        return notes

    @property
    def legend(self) -> list[str]:
        """What the columns of the table are, as sentences."""
        note = (
            f"interval at {100 * self.share:.3g} %: how wide the {100 * self.level:.3g} % interval "
            f"is for the share of {self.share_in_words}."
        )
        of_odds = (
            f"people for {in_points(self.width)}: how many people an interval of this width needs. "
            "odds change: the most by which a report can multiply the odds of one answer against "
            "another."
        )
        return [note, of_odds]

    def outlook(self, among: int = 1, more_epsilon: str = "allow a larger epsilon") -> list[str]:
        """How many people the wanted width needs, and whether intervals are too wide, in words.

        Args:
            among: the number of questions, of which each person is asked one.
            more_epsilon: how a larger epsilon is allowed.
        """
        said, enough = [], ""
        if self.best.people is not None:
            people = f"{self.best.people * among:,} people are enough"
            enough = f"an interval of {in_points(self.width)}, {people}"
        if self.meets and enough:
            said.append(f"For {enough}.")
        if not self.meets:
            # Where several were tried, a larger epsilon would hardly protect.
            ways = [more_epsilon] if self.domain.size <= 2 or len(self.offers) == 1 else []
            ways += ["ask for fewer values"] if self.domain.size > 2 else []
            instead = ", or ".join(ways)
            more = f"Ask more people: for {enough}. Or {instead}."
            if not enough:
                more = f"Ask more people, or {instead}."
            said.append(f"These intervals are wider than wanted. {more}")
            said += about_wide(self.best.expected.share)
        return said

    @property
    def share_in_words(self) -> str:
        """Of which answers the share is, whose interval is planned."""
        people = f"{100 * self.share:.3g} % of the people"
        if self.domain.answered.is_ordered:
            return f"the highest values, if {people} have one of them"
        return f"a value, if {people} have it"

    def __repr__(self) -> str:
        return f"Proposal({self.best.name}, epsilon={self.epsilon:.4g}, n={self.n})"

    @one_thread()
    def width_rows(self) -> list[dict[str, Any]]:
        """The widths of the interval of the share by epsilon and number of people.

        Returns:
            One dict per epsilon and number: ``"epsilon"``, ``"mechanism"``, the one with the least
            error at this epsilon, ``"people"``, from a tenth of ``n`` to ten times as many, and
            ``"width"``. Widths that the reports do not bound are left out.
        """
        rows = []
        for offer in steps(self.offers, "drawing widths"):
            mask = offer.mechanism.sensitive_mask
            scenarios = tuple(_of_protected(each, mask) for each in self.scenarios)
            width_of = _share_widths(offer.mechanism, scenarios[0], self.n, offer.expected)
            for people in people_drawn(self.n):
                row = {"epsilon": offer.epsilon, "mechanism": offer.name, "people": people}
                if width := width_of(people):
                    rows.append({**row, "width": width})
        return rows

    @explained
    def plot(self, path: str | None = None, title: str | None = None) -> Any:
        """How wide the interval of a share is, by the number of people, with a line per epsilon.

        Args:
            path: the file to save the chart to (.png, .svg, .pdf, .html or .json); None saves no
                file.
            title: the title, such as the text of the question.

        Returns:
            The Altair chart.

        Raises:
            ArgumentError: reports bound no share, or the path has another suffix.
            FileError: the file cannot be written.
            MissingExtraError: the extra 'plot' is not installed.
        """
        title = title or "How many people are needed"
        return draw_widths({title: self.drawn_widths(title)}, path)

    def drawn_widths(self, question: str) -> DrawnWidths:
        """What the picture of the widths shows of a question."""
        rows = self.width_rows()
        if not rows:
            rule = "has nothing to show, because reports of this question tell nothing about shares"
            raise ArgumentError("plot", rule, question, _NO_PICTURE)
        about = (
            f"Width of the {100 * self.level:.4g} % interval of a share of {100 * self.share:.3g} "
            f"%. Dashed lines: {self.n:,} people, and a width of {100 * self.width:.3g} points."
        )
        rows = [{**row, "line": f"epsilon {row['epsilon']:.3g}"} for row in rows]
        used = {row["line"]: row["mechanism"] for row in rows}
        named = [f"{name} at {line}" for line, name in used.items()]
        named = [*set(used.values())] if len(set(used.values())) == 1 else named
        return DrawnWidths(rows, about, self.n, self.width, [f"Mechanism: {'; '.join(named)}."])

    def to_json(self) -> dict[str, Any]:
        """The proposal as JSON data."""
        return {
            "n": self.n,
            "level": self.level,
            "share": self.share,
            "width": self.width,
            "meets": self.meets,
            "best": self.best.row(),
            "offers": [offer.row() for offer in self.offers],
        }


@explained
@one_thread()
def propose(
    domain: Domain,
    n: int,
    epsilon: float | None = None,
    *,
    sensitive: Iterable[Any] | None = None,
    share: float = 0.1,
    width: float = DEFAULT_WIDTH,
    level: float = 0.95,
    theta: ArrayLike | None = None,
    among: Mapping[str, Callable[[Domain, float], Mechanism]] | None = None,
    epsilons: Iterable[float] | None = None,
) -> Proposal:
    """Propose a mechanism, and an epsilon where none is given, for one question.

    Mechanisms are judged by the estimate that :func:`warner.estimate` makes of their reports:

    - labels by the variance of the inversion, sum_x V_x / n. The recommended estimate shrinks the
      shares of the inversion, and its error grows with this variance. Of mechanisms within 2 % the
      one with the simplest reports is taken;
    - numbers by the distance that the posterior of the recommended estimate states for the expected
      tally, see :func:`warner.design.proposal.expected_at_once`;
    - places by simulated estimates.

    Numbers with nonresponse are judged by the distribution among those who answered, nine in ten.

    Without an epsilon, the least one of ``epsilons`` is proposed at which the interval of a share
    has the wanted width, and that of the mean of numbers at most the same part of the range. If
    none has, the largest is proposed, and ``meets`` is False. Where ``epsilons`` is left out, they
    are 0.5, 1, 2 and 3, and one between two of them that comes near the wanted width.

    Source: METHODS 5, 6.

    ``propose(domain, n, epsilons=(0.5, 1, 2)).plot("people.svg")`` draws how the width depends on
    the number of people and on epsilon.

    Numbers and places can take a minute: ``with warner.results.progress():`` shows how far it is.

    Shapes: share (0, 1), width (0, 1), theta (K,).

    >>> from warner import Categorical, Integers
    >>> answer = propose(Categorical(["no", "yes"]), n=2000, epsilon=1.0)
    >>> answer.best.name, round(answer.best.expected.share, 2), round(answer.best.odds.factor, 1)
    ('RandomizedResponse', 0.09, 2.7)
    >>> propose(Integers(0, 59), n=2000, epsilon=1.0).best.name
    'SquareWave'
    """
    require_domain(domain)
    integer("n", n, 1, MAX_PEOPLE)
    confidence_level(level)
    for name, given in (("share", share), ("width", width)):
        probability(name, given)
    guess = None if theta is None else distribution("theta", theta, domain.size)
    near = bool(measured(domain).dimension)
    makers = dict(candidates(domain, sensitive, None, None, near))
    if among is not None:
        makers = dict(among)
    tried_steps = EPSILON_STEPS if epsilons is None else sorted(epsilons)
    if not tried_steps:
        raise ArgumentError("epsilons", "must have at least one epsilon", "an empty list")
    budgets = tried_steps if epsilon is None else [epsilon]
    tried = scenarios_of(domain, guess, share, level)
    offers = [
        _offer(makers, tried, n, budget, width) for budget in steps(budgets, "trying epsilons")
    ]
    is_free = epsilon is None and epsilons is None
    between = _between(offers, domain, width) if is_free else None
    if between is not None:
        offers.append(_offer(makers, tried, n, between, width))
        offers.sort(key=lambda offer: offer.epsilon)
    meeting = [offer for offer in offers if _too_wide(offer, domain, width) <= 1]
    best = meeting[0] if meeting else offers[-1]
    scenarios = scenarios_of(domain, guess, share, level, best.mechanism.sensitive_mask)
    return Proposal(domain, n, level, share, width, best, tuple(offers), bool(meeting), scenarios)


def around(
    mechanism: Mechanism, n: int, share: float = 0.1, width: float = DEFAULT_WIDTH
) -> Proposal:
    """What is proposed at half, once and twice the epsilon of a mechanism, for its values."""
    if mechanism.distance_unit is not None or mechanism.guarantee.delta is not None:
        why = "its epsilon depends on the distance of two answers"
        if mechanism.distance_unit is None:
            why = "it has a delta"
        rule = f"cannot show this mechanism, because {why}"
        raise ArgumentError("plot", rule, type(mechanism).__name__, _NO_PICTURE)
    mask, epsilon = mechanism.sensitive_mask, mechanism.requested
    labels = mechanism.domain.labels
    sensitive = None if mask is None else [labels[x] for x in np.flatnonzero(mask)]
    budgets = [epsilon * times for times in (0.5, 1.0, 2.0)]
    return propose(
        mechanism.domain, n, sensitive=sensitive, share=share, width=width, epsilons=budgets
    )


def _too_wide(offer: Offer, domain: Domain, width: float) -> float:
    """How many times as wide as wanted the expected intervals are; inf where there is none."""
    expectation = offer.expected
    times = math.inf if expectation.share is None else expectation.share / width
    if expectation.mean is not None:
        ((low, high),) = domain.answered.ends
        times = max(times, expectation.mean / (width * (high - low)))
    return times


def _between(offers: Sequence[Offer], domain: Domain, width: float) -> float | None:
    """An epsilon that is mostly at most .2 above the least one of the wanted width, in tenths."""
    for low, high in pairwise(offers):
        above, below = (math.log(_too_wide(each, domain, width)) for each in (low, high))
        if below <= 0 < above < math.inf:
            rise = (high.epsilon - low.epsilon) * above / (above - below)
            epsilon = math.ceil(10 * (low.epsilon + rise)) / 10
            return epsilon if low.epsilon < epsilon < high.epsilon else None
    return None


def _offer(
    makers: Mapping[str, Maker], scenarios: Scenarios, n: int, epsilon: float, width: float
) -> Offer:
    """The mechanism with the least error at one epsilon."""
    domain = scenarios[0].domain
    made: dict[str, Mechanism] = {}

    def judge(name: str, mechanism: Mechanism) -> tuple[str, float]:
        made[name] = mechanism
        return name, _error(mechanism, scenarios[0], n)

    compared = _compared(makers, domain)
    if measured(domain).dimension:
        compared = _promising(compared, scenarios[0], epsilon)
    judged, left_out = judged_mechanisms(compared, domain, epsilon, judge, (ArgumentError,))
    errors = dict(judged)
    least = min(errors.values())
    if domain.answered.is_ordered and len(scenarios) > 1:
        # Of numbers the order can depend on the distribution.
        near = [name for name in errors if errors[name] <= _NEAR * least]
        for name in near if len(near) > 1 else ():
            errors[name] = float(np.mean([_error(made[name], each, n) for each in scenarios]))
        least = min(errors[name] for name in near)
    alike = 1.0 if measured(domain).dimension else _ALIKE
    close = [name for name, error in errors.items() if error <= least * alike]
    name = min(close, key=lambda name: _complexity(name, domain.size, errors[name]))
    chosen = made[name]
    judged_at = tuple(_of_protected(each, chosen.sensitive_mask) for each in scenarios)
    expectation = expect(chosen, judged_at, n)
    return Offer(
        epsilon,
        name,
        chosen,
        options_of(makers[name]),
        expectation,
        people_for(chosen, judged_at, n, expectation, width),
        odds_of(chosen),
        {key: errors[key] for key in sorted(errors, key=lambda k: to_nine_digits(errors[k]))},
        left_out,
    )


def _compared(makers: Mapping[str, Maker], domain: Domain) -> dict[str, Maker]:
    """The candidates, without those that cannot be the best."""
    if len(makers) == 1:
        return dict(makers)
    left = _LEFT_OUT_OF_PLACES if domain.dimension > 1 else _LEFT_OUT
    few = not domain.answered.is_ordered or domain.size <= _FEW
    names = _OF_NUMBERS if not few and makers.keys() & {*_OF_NUMBERS} else makers
    return {name: makers[name] for name in names if name in makers and name not in left}


def _promising(makers: Mapping[str, Maker], scenario: Scenario, epsilon: float) -> dict[str, Maker]:
    """The candidates; of those that know no distance, and so err alike at all values, the best."""
    unbiased = {}
    for name in makers.keys() & TREAT_ALL_ALIKE:
        with suppress(WarnerError):  # what cannot be made is named where the others are judged
            mechanism = makers[name](scenario.domain, epsilon)
            unbiased[name] = expected_loss(mechanism, scenario.theta, 1)
    least = min(unbiased.values(), default=0.0)
    worse = {name for name, error in unbiased.items() if error > least * _ALIKE}
    return {name: make for name, make in makers.items() if name not in worse}


def _complexity(name: str, size: int, error: float) -> tuple[int, float]:
    """Sorts mechanisms that err alike: those with the shortest reports first."""
    if name in ("RandomizedResponse", "UtilityOptimizedRR"):
        return 0, error  # one value
    short = name in ("HadamardResponse", "ProjectiveGeometryResponse")  # one number
    return 1 if short and size > _FEW else 2, error


def _error(mechanism: Mechanism, scenario: Scenario, n: int) -> float:
    """The error that a mechanism is ranked by."""
    domain = scenario.domain
    if domain.answered.is_ordered:
        at_once = expected_at_once(mechanism, scenario, n, frozenset({"error"}))
        return (at_once or expected(mechanism, scenario, n, _FEWER)).error
    if can_simulate(domain):
        return simulated_error(domain, mechanism, scenario.theta, n, _FEWER)[0]
    return expected_loss(mechanism, scenario.theta, n, "l2")


def expect(mechanism: Mechanism, scenarios: Scenarios, n: int) -> Expected:
    """The error and the widths of one mechanism, on average over the distributions."""
    domain, size = scenarios[0].domain, scenarios[0].domain.size
    if can_simulate(domain) and not domain.answered.is_ordered:
        # The default intervals of places are score intervals.
        scenario = scenarios[0]
        error, standard_error = simulated_error(domain, mechanism, scenario.theta, n, _FEWER)
        width = score_width(mechanism.channel(), scenario, n)
        return Expected(error, standard_error, width, None, "none" if width is None else "score")
    runs = _RUNS if size <= 512 else _FEWER if size <= 4096 else _LEAST
    if size > 4096:
        return expected(mechanism, scenarios[0], n, runs)
    expectation = [
        (expected_at_once(mechanism, q, n) if domain.answered.is_ordered else None)
        or expected(mechanism, q, n, max(_LEAST, runs // len(scenarios)))
        for q in scenarios
    ]
    return Expected(
        float(np.mean([each.error for each in expectation])),
        math.hypot(*(each.standard_error for each in expectation)) / len(expectation),
        _mean_of([each.share for each in expectation]),
        _mean_of([each.mean for each in expectation]),
        expectation[0].kind,
    )


def _mean_of(widths: Iterable[float | None]) -> float | None:
    """The mean of those widths that are known."""
    widths_known = [width for width in widths if width is not None]
    return float(np.mean(widths_known)) if widths_known else None


def people_for(
    mechanism: Mechanism, scenarios: Scenarios, n: int, expectation: Expected, width: float
) -> int | None:
    """The people with whom the interval of the share has the wanted width.

    The secant through the last two (log n, log width) is followed to within 1 % of that width.
    """
    if not expectation.share:
        return None
    width_of = _share_widths(mechanism, scenarios[0], n, expectation)
    at, now, slope, log_width = math.log(n), math.log(expectation.share), -0.5, math.log(width)
    for _ in range(_SECANTS):
        there = max(0.0, at + float(np.clip((log_width - now) / slope, -4.0, 4.0)))
        if there > math.log(MAX_PEOPLE):
            return None
        if abs(now - log_width) < 0.01 or there == at:
            break
        again = width_of(round(math.exp(there)))
        if not again:
            return None
        slope = float(np.clip((math.log(again) - now) / (there - at), -1.0, -0.2))
        at, now = there, math.log(again)
    return math.ceil(math.exp(max(0.0, at + (log_width - now) / slope)))


def scenarios_of(
    domain: Domain,
    theta: np.ndarray | None,
    share: float,
    level: float,
    sensitive: np.ndarray | None = None,
) -> Scenarios:
    """The distributions that a mechanism is judged at: a guess theta (K,), or made ones.

    The made distributions are, of numbers, :func:`warner.design.planning.made_shares`, its mirror
    image and one with two humps; of places the first of these; of labels, shares that fall as
    1 / rank, equal shares and shares that fall as 0.7^rank. Where nonresponse is a value beside
    numbers, one person in ten is silent.
    """
    numbers = domain.answered
    if theta is not None:
        guesses = [theta]
    elif can_simulate(domain) or numbers.is_ordered:
        early = made_shares(numbers)
        guesses = [early]
        if numbers.is_ordered:
            late = early[::-1]
            guesses += [late, (early + np.roll(late, -(numbers.size // 8)) + 1e-9) / 2]
        guesses = [with_silent(guess, domain) for guess in guesses]
    else:
        ranks = np.arange(domain.size)
        guesses = [1 / (1 + ranks), np.ones(domain.size), 0.7**ranks + 1e-3 / domain.size]
    if domain.size == 2:
        guesses = guesses[:1]
    return tuple(
        _of_protected(Scenario(domain, guess / guess.sum(), share, 0, level), sensitive)
        for guess in guesses
    )


def _of_protected(scenario: Scenario, sensitive: np.ndarray | None) -> Scenario:
    """The scenario of a label that is protected, and has the judged share."""
    domain, theta, share = scenario.domain, scenario.theta, scenario.share
    if domain.answered.is_ordered or domain.size < 2:
        return scenario
    near = np.abs(theta - share)
    if sensitive is not None:
        near = np.where(sensitive, near, np.inf)
    x = int(np.argmin(near))
    return replace(scenario, theta=with_share(theta, x, share), value=x)
