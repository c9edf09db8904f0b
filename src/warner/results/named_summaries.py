"""Summaries that a text names, such as ``mean,median,above:14``, as the rows of a table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from warner._core.checks import show
from warner._core.errors import ArgumentError
from warner._core.text import meant
from warner.domains import Domain, Items
from warner.estimators.base import LikelihoodData, threads_for
from warner.results import summaries
from warner.results.intervals import at_every_look
from warner.results.solution import Solution
from warner.results.summaries import Quantity

_SEED = 0  # of the bootstrap: a table that is made again is the same table

# The number of limits behind each name.
_LIMITS = {
    "mean": 0,
    "variance": 0,
    "median": 0,
    "quantile": 1,
    "above": 1,
    "below": 1,
    "between": 2,
}
_OF_PLACES = ("mean", "variance")
_SHARES = ("above", "below", "between")
RULE = "must be mean, median, variance, quantile:Q, above:X, below:X or between:X:Y"


@dataclass(frozen=True)
class Named:
    """A summary of a distribution of numbers, as a text names it.

    >>> [named.text for named in parse("median, above:14,quantile:0.9")]
    ['median', 'share above 14', '90 % quantile']
    """

    kind: str  # the name before the colon
    limits: tuple[float, ...] = ()  # the numbers behind it

    @property
    def is_share(self) -> bool:
        """Whether the number is a share of people, and not a number of the domain."""
        return self.kind in _SHARES

    @property
    def code(self) -> str:
        """The name as it is written: ``above:14``."""
        return ":".join([self.kind, *(f"{limit:.10g}" for limit in self.limits)])

    @property
    def text(self) -> str:
        """The name in words."""
        shown = [f"{limit:.10g}" for limit in self.limits]
        if self.kind == "quantile":
            return f"{100 * self.limits[0]:.6g} % quantile"
        if self.kind == "between":
            return f"share from {shown[0]} to {shown[1]}"
        return f"share {self.kind} {shown[0]}" if self.is_share else self.kind

    def applies_to(self, domain: Domain) -> bool:
        """Whether a domain has values that can be summarised so: numbers, or places for a mean."""
        points = domain.answered.points
        return points is not None and (points.shape[1] == 1 or self.kind in _OF_PLACES)

    def of(self, estimate: Solution) -> tuple[Quantity, ...]:
        """The number; one for each coordinate of places."""
        numbers: Any
        if self.kind in _OF_PLACES:
            numbers = getattr(summaries, self.kind)(estimate)
        elif self.kind == "median":
            numbers = summaries.quantile(estimate, 0.5)
        elif self.kind == "quantile":
            numbers = summaries.quantile(estimate, *self.limits)
        elif self.kind == "between":
            numbers = summaries.mass(estimate, *self.limits)
        else:
            numbers = summaries.tail(estimate, self.limits[0], is_above=self.kind == "above")
        return numbers if isinstance(numbers, tuple) else (numbers,)


def parse(text: str) -> tuple[Named, ...]:
    """The summaries that a text with commas names, in its order.

    >>> parse("between:0:14")[0].limits
    (0.0, 14.0)
    """
    return tuple(dict.fromkeys(_one(name.strip()) for name in text.split(",")))


# -----------------------------------------------------------------------------------------------
# The bands of a question of numbers, such as ages by decades.


_MOST_BANDS = 12
_MOST_TOGETHER = 12  # combinations of answers in a table


def has_bands(domain: Domain) -> bool:
    """Whether values are numbers that are shown by bands: bins, or more than 12 numbers."""
    answered = domain.answered
    return answered.is_numeric and (answered.is_binned or answered.size > _MOST_BANDS)


def may_be_codes(domain: Domain) -> bool:
    """Whether numbers that are shown by bands may be codes, such as postcodes: whole numbers."""
    return has_bands(domain) and domain.answered.kind == "integers"


# What to do then: in a study, and with reports that tell a number from its neighbours.
DECLARE_CODES = (
    "If these numbers are only codes for answers, declare them in the study as values = [...]."
)
SINGLE_CODES = (
    f"{DECLARE_CODES} To see the share of each code in these reports, add --top 10 to warner "
    'estimate. In Python, use estimate(tally, "eb") or compare_groups(tally, of="codes").'
)


def is_by_question(data: LikelihoodData) -> bool:
    """Whether each of several questions is shown by itself: of many combinations, or with bins.

    So is each of a few items that people tick, where reports do not tell their combinations apart.
    """
    if data.channel.is_keyed or not data.domain.attributes:
        return False
    is_of_items = isinstance(data.domain, Items) and not data.channel.has_inverse()
    if not is_of_items and not has_many_combinations(data.domain):
        return False
    count = len(data.domain.attributes)
    return all(data.on_attributes([axis]) is not None for axis in range(count))


def has_many_combinations(domain: Domain) -> bool:
    """Whether values are combinations of several answers, more than a table has, or with bands."""
    questions = (domain.attributes or {}).values()
    return len(questions) > 1 and (domain.size > _MOST_TOGETHER or any(map(has_bands, questions)))


def bands_of(domain: Domain) -> tuple[Named, ...]:
    """The shares of the bands, as summaries."""
    return tuple(Named("between", (low, high)) for low, high, _ in bands(domain.answered))


def bins_in_words(domain: Domain) -> dict[Any, str]:
    """{middle of a bin: "0 to 50"}, of few bins; {} of all other values, which are their names."""
    if domain.edges is None or len(domain.labels) > _MOST_BANDS:
        return {}
    return dict(zip(domain.labels, (name for _, _, name in bands(domain)), strict=True))


def bands(domain: Domain) -> list[tuple[float, float, str]]:
    """At most 12 bands of the numbers of a domain, with limits that are round.

    >>> from warner import Integers, Interval
    >>> [label for _, _, label in bands(Interval(0, 60, 60))][:2]
    ['0 to 5', '5 to 10']
    >>> [label for _, _, label in bands(Integers(18, 90))][:2]
    ['18 to 19', '20 to 29']
    """
    first, last = domain.ends[0]
    if domain.edges is not None and domain.size <= _MOST_BANDS:
        edges = domain.edges.tolist()
        pairs = pairwise(edges)
        return [(low, high, f"{low:.6g} to {high:.6g}") for low, high in pairs]
    is_whole = domain.edges is None
    span = last - first + is_whole
    power = 10.0 ** math.floor(math.log10(span / _MOST_BANDS))
    step = next(
        s * power
        for s in (1, 2, 5, 10, 20, 50)
        if (not is_whole or s * power >= 1)
        and math.ceil(last / (s * power) + is_whole * 1e-9) - math.floor(first / (s * power))
        <= _MOST_BANDS
    )
    start = math.floor(first / step + 1e-9)
    parts = []
    while start * step <= last - (0 if is_whole else 1e-9 * span):
        low = max(first, start * step)
        high = min(last, (start + 1) * step - is_whole)
        parts.append((low, high, f"{low:.6g} to {high:.6g}" if high > low else f"{low:.6g}"))
        start += 1
    return parts


def summary_rows(
    estimate: Solution,
    summaries: Iterable[Named],
    level: float = 0.95,
    target: str = "population",
    kind: str | None = None,
) -> list[dict[str, Any]]:
    """Summaries of an estimate as a table; those that do not apply to its domain are left out.

    >>> from warner import Integers, RandomizedResponse, estimate
    >>> drinks = RandomizedResponse(Integers(0, 9), 4.0)
    >>> result = estimate(drinks.tally(drinks.randomize([2, 3, 4] * 500)))
    >>> rows = summary_rows(result, parse("median,above:2"))
    >>> rows[0]["estimate"], bool(rows[1]["low"] <= rows[1]["estimate"] <= rows[1]["high"])
    (3.0, True)
    """
    rows, looks = [], at_every_look(kind)
    for named in summaries:
        if not named.applies_to(estimate.domain):
            continue
        numbers = named.of(estimate)
        # The default of means and variances holds for every distribution and is about as narrow.
        used = kind if kind == "posterior" and named.kind not in _OF_PLACES else looks
        for i, number in enumerate(numbers):
            with threads_for(estimate.data):
                low, high = number.interval(level, target, used, rng=np.random.default_rng(_SEED))
            axis = of_coordinate(i, len(numbers))
            whose = "" if estimate.domain.nonresponse is None else ", of those who answered"
            rows.append(
                {
                    "summary": named.code,
                    "text": f"{named.text}{axis}{whose}",
                    "estimate": float(number),
                    "low": float(low),
                    "high": float(high),
                    "is_share": named.is_share,
                }
            )
    return rows


def of_coordinate(position: int, dimension: int) -> str:
    """What follows the name of a mean of places: which coordinate it is of; "" of numbers."""
    return f" of coordinate {position}" if dimension > 1 else ""


def _one(text: str) -> Named:
    """The summary that one name stands for."""
    kind, *limits = text.split(":")
    if _LIMITS.get(kind) != len(limits):
        near = None if kind in _LIMITS else meant(kind, _LIMITS)
        raise ArgumentError("summary", RULE, show(text), near)
    try:
        numbers = tuple(float(limit) for limit in limits)
    except ValueError:
        raise ArgumentError("summary", RULE, show(text)) from None
    if not np.isfinite(numbers).all() or sorted(numbers) != list(numbers):
        rule = "must have finite limits in increasing order"
        raise ArgumentError("summary", rule, show(text))
    if kind == "quantile" and not 0 <= numbers[0] <= 1:
        rule = "must have Q from 0 to 1 in quantile:Q"
        raise ArgumentError("summary", rule, show(text), "Write quantile:0.9 for 90 %")
    return Named(kind, numbers)


def applicable(domain: Domain, named_summaries: Sequence[Named]) -> tuple[Named, ...]:
    """Those of the summaries that apply to a domain."""
    return tuple(named for named in named_summaries if named.applies_to(domain))


# -----------------------------------------------------------------------------------------------
# Series of a chart, told apart by colour, dashes and shape, so that grey print shows them too.


_DASHES = [[1, 0], [6, 3], [2, 2], [8, 2, 2, 2], [10, 4], [4, 1, 1, 1], [3, 5], [1, 1]]
_SHAPES = [
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "cross",
    "triangle-down",
    "triangle-left",
    "triangle-right",
]


def encoded(column: str, order: list[Any], title: str | None, **legend: Any) -> dict[str, Any]:
    """The encodings of lines and points that tell series apart, with the title of their legend.

    A chart resolves the legend of dashes as independent: they would be drawn around the points.
    """
    from warner.results.drawing import SERIES, require_altair

    alt = require_altair()
    # Beyond the last shape, a shape comes again with another colour and other dashes.
    tones, dashes, shapes = (
        alt.Scale(
            domain=order,
            range=[looks[(i + i // len(_SHAPES) * shift) % len(looks)] for i in range(len(order))],
        )
        for looks, shift in ((SERIES, 1), (_DASHES, 1), (_SHAPES, 0))
    )
    field, shown = f"{column}:N", alt.Legend(title=title, **legend)
    return {
        "color": alt.Color(field, scale=tones, legend=shown),
        "strokeDash": alt.StrokeDash(field, scale=dashes, legend=None),
        "shape": alt.Shape(field, scale=shapes, legend=shown),
    }
