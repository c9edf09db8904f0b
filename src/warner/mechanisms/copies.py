"""Whether people were counted twice, or equal reports left out: the chances that it only looks so.

The bounds hold whatever people answer. A report has at least a probability q, whatever the answer
is. So of many people, two send the same report, and each count is odd about every second time, and
a multiple of 3 every third time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from warner._core.errors import FrameWarning, warn
from warner._core.foreign_tables import NO_CHANCE, ONE_COPY
from warner.privacy.report_laws import OneHotBits, TwoProbabilities
from warner.reports.schema import BitVector, IntegerColumns
from warner.reports.tally import Tally

_NO_TWINS = 1e-6  # the probability below which reports that all differ are no chance
_MOST_PEOPLE = 2**20  # of whom it is computed that no two send the same report
_MOST_REPORTS = 2**64  # different ones, of which hardly two people send the same
_MOST_ENTRIES = 2**22  # of a channel that is looked through


class Randomiser(Protocol):
    """A mechanism, as far as the probabilities of its reports are concerned."""

    schema: Any
    law: Any

    @property
    def domain(self) -> Any:
        """The values that a person can answer."""

    @property
    def n_reports(self) -> int:
        """The number of different reports."""

    @property
    def single_reports(self) -> Sequence[Randomiser]:
        """The mechanisms of the single reports that one person sends."""

    @property
    def checked_channel(self) -> Any:
        """Makes the matrix of the probabilities."""


def least_probability(mechanism: Randomiser) -> float:
    """A probability that each report has at least, under any value; 0.0 where none is known.

    >>> from warner import Categorical, RandomizedResponse
    >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    >>> round(least_probability(coin), 3)
    0.269
    """
    return math.prod(map(_least_of_one, mechanism.single_reports))


def _least_of_one(mechanism: Randomiser) -> float:
    """The same of a mechanism that sends a single report."""
    schema, law, size = mechanism.schema, mechanism.law, mechanism.domain.size
    # Reports of other columns of integers have a seed, of which the channel does not know.
    if type(schema) is IntegerColumns:
        if schema.n_reports * size > _MOST_ENTRIES:
            return 0.0
        channel = mechanism.checked_channel()
        is_whole = channel.shape == (schema.n_reports, size)
        return max(0.0, float(channel.dense().min())) if is_whole else 0.0
    if isinstance(schema, BitVector) and isinstance(law, OneHotBits):
        keep, raised = law.keep / law.whole, law.raised / law.whole
        return min(keep, 1 - keep) * min(raised, 1 - raised) ** (schema.width - 1)
    return math.exp(_log_least_of_subset(mechanism))


def log_chance_of_rows(mechanism: Randomiser, people: int) -> float:
    """The logarithm of a bound of the probability that people send certain reports in one order.

    >>> from warner import Categorical, RandomizedResponse
    >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    >>> round(math.exp(log_chance_of_rows(coin, 2)), 3)
    0.534
    """
    least = least_probability(mechanism)
    return people * math.log1p(-least * (mechanism.n_reports - 1)) if least else 0.0


def _log_least_of_subset(mechanism: Randomiser) -> float:
    """The logarithm of the least probability of a set of d values; -inf for other reports."""
    schema, law = mechanism.schema, mechanism.law
    is_of_sets = isinstance(schema, BitVector) and isinstance(law, TwoProbabilities)
    if not is_of_sets or not schema.ones or schema.ones == schema.width or not law.low:
        return -math.inf
    # Only where these are the probabilities of all sets of d values do they add up to 1.
    high, low = (math.log(chance) + law.log_scale for chance in (law.high, law.low))
    others = schema.width - 1
    with_value, without = _log_sets(others, schema.ones - 1), _log_sets(others, schema.ones)
    whole = np.logaddexp(high + with_value, low + without)
    return min(high, low) if abs(whole) < 1e-6 else -math.inf


def _log_sets(values: int, size: int) -> float:
    """The logarithm of the number of sets of a size."""
    return math.lgamma(values + 1) - math.lgamma(size + 1) - math.lgamma(values - size + 1)


def log_chance_of_multiples(mechanism: Randomiser, people: np.ndarray, d: int) -> np.ndarray:
    """The logarithm of a bound of the probability that all counts of people are multiples of d.

    Shapes: people (G,) -> (G,).

    >>> from warner import Categorical, RandomizedResponse
    >>> digits = RandomizedResponse(Categorical(range(50)), 1.0)
    >>> bool(np.exp(log_chance_of_multiples(digits, np.array([2000]), 2))[0] < 1e-14)
    True
    """
    each = [_log_multiples_of_one(one, people, d) for one in mechanism.single_reports]
    return np.asarray(np.minimum(each, 0.0).sum(axis=0))


def _log_multiples_of_one(mechanism: Randomiser, people: np.ndarray, d: int) -> np.ndarray:
    """The same of a mechanism that sends a single report."""
    # All of m counts are multiples of d with the probability d^-m sum_a E[w^(sum_y a_y c_y)], a
    # sum over all a in {0, ..., d - 1}^m, with w = exp(2 pi i / d). People are independent. The
    # mean of w^a_y over one person's report is at most 1 - q m + q |sum_y w^a_y|. Of the s reports
    # whose a_y is not the most frequent one, at least s / 2 find a partner with another a_y, and
    # |1 + w^k| <= 2 cos(pi / d). So each term is at most exp(-(1 - cos(pi / d)) q n s), and for
    # d <= 3, where s find one or lose as much, at most the square of this.
    schema, law = mechanism.schema, mechanism.law
    nearest = 1 - math.cos(math.pi / d)
    if isinstance(schema, BitVector) and isinstance(law, OneHotBits):
        # Of independent bits, each has its own factor.
        chances = np.array([law.keep / law.whole, law.raised / law.whole])
        turned = np.sqrt(1 - 2 * chances * (1 - chances) * (1 - math.cos(2 * math.pi / d)))
        return np.asarray(schema.width * np.log((1 + (d - 1) * turned.max() ** people) / d))
    if (log_least := _log_least_of_subset(mechanism)) > -math.inf:
        # Of the sets with k of K bits, at least the share min(k, K - k) / K has one of two bits
        # with different a, and not the other.
        share = min(schema.ones, schema.width - schema.ones) / schema.width
        mixed = (
            -people * share * nearest * math.exp(log_least + _log_sets(schema.width, schema.ones))
        )
        return np.asarray(np.logaddexp((1 - schema.width) * math.log(d), mixed))
    if not (least := _least_of_one(mechanism)):
        return np.zeros(len(people))
    rate = nearest * (2 if d <= 3 else 1)
    other = np.expm1(-rate * least * people) * (d - 1) / d
    return np.asarray(math.log(d) + schema.n_reports * np.log1p(other))


def log_chance_of_no_twins(mechanisms: Iterable[Randomiser], sizes: np.ndarray) -> float:
    """The logarithm of a bound of the probability that no two people of a group send one report.

    >>> from warner import Categorical, RandomizedResponse
    >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    >>> round(math.exp(log_chance_of_no_twins([coin], np.array([2, 1]))), 3)
    0.607
    """
    each = list(mechanisms)
    reports = float(min(math.prod(one.n_reports for one in each), 2 * _MOST_REPORTS))
    if reports > _MOST_REPORTS or not (least := math.prod(map(least_probability, each))):
        return 0.0
    # A report is drawn evenly from all m with the probability m q, and else by the answer. The s
    # of n that are drawn evenly differ from each other and from the rest with the probability
    # prod_{i = n - s}^{n - 1} (1 - i / m).
    evenly = min(least * reports, 1 - 1e-12)
    most = int(min(sizes.max(initial=0), _MOST_PEOPLE, reports))
    differ = np.append(0.0, np.log1p(-np.arange(most) / reports).cumsum())
    factorials = np.append(0.0, np.log(np.arange(1, most + 1)).cumsum())
    total = 0.0
    for n, groups in zip(
        *np.unique(np.minimum(sizes, _MOST_PEOPLE), return_counts=True), strict=True
    ):
        if n > reports:
            return -math.inf
        s = np.arange(n + 1)
        terms = factorials[n] - factorials[s] - factorials[n - s] + differ[n] - differ[n - s]
        terms += s * math.log(evenly) + (n - s) * math.log1p(-evenly)
        total += groups * min(0.0, float(np.logaddexp.reduce(terms)))
    return total


def about_dropped(
    mechanisms: Iterable[Randomiser], sizes: np.ndarray, by: Sequence[str] = ()
) -> str:
    """What is said of groups of these sizes, in which no two reports are the same; "" for nothing.

    Shapes: sizes (G,).
    """
    if log_chance_of_no_twins(mechanisms, sizes) >= math.log(_NO_TWINS):
        return ""
    same = " with the same " + " and ".join(by) if by else ""
    return (
        f"Of {sizes.sum():,} people, no two{same} have the same reports. Among so many people, "
        "some reports should be the same. Were duplicates dropped? Then the shares are wrong. "
        "Count the reports as they were before."
    )


class Copies(NamedTuple):
    """Whose reports were counted several times."""

    group: str  # "all", or a group
    times: int  # how often each was counted

    @property
    def seen_by(self) -> str:
        """What all counts are."""
        return "even numbers" if self.times == 2 else f"multiples of {self.times}"


_TIMES = (2, 3, 5, 7)  # of 4 or 6 copies all counts are even


def counted_twice(
    mechanisms: Mapping[str, Randomiser],
    tallies: Mapping[str, Tally],
    rare: float = NO_CHANCE,
) -> Copies | None:
    """Which people were counted twice or more often, where chance makes such tallies this rarely.

    Where a table holds each row d times, in any order, all counts are multiples of d.
    """
    first = next(iter(tallies.values()))
    if any(list(tally) != list(first) for tally in tallies.values()):
        # Questions of other groups of people are looked at one by one.
        each = (counted_twice(mechanisms, {n: tally}, rare) for n, tally in tallies.items())
        return next(filter(None, each), None)
    factors = np.gcd.reduce([tally.common_factors() for tally in tallies.values()])
    if (factors == 1).all():
        return None
    keys = list(first)
    # What people have in common, and the number of that of each group: all, and each public value.
    wholes = [(["all"], np.zeros(len(keys), dtype=np.int64))]
    for i, column in enumerate(first.columns):
        numbers: dict[Any, int] = {}
        of_groups = np.array([numbers.setdefault(key[i], len(numbers)) for key in keys])
        wholes.append(([f"{column} {value}" for value in numbers], of_groups))
    looks = len(_TIMES) * (len(keys) + sum(len(names) for names, _ in wholes))
    most = math.log(rare / looks)
    for times in _TIMES:
        multiples = factors % times == 0
        if not multiples.any():
            continue
        chances = np.asarray(
            sum(
                log_chance_of_multiples(mechanisms[name], tally.sizes.astype(float), times)
                for name, tally in tallies.items()
            )
        )
        for names, of_groups in wholes:
            others = np.bincount(of_groups, ~multiples, minlength=len(names))
            whole = np.bincount(of_groups, chances, minlength=len(names))
            for i in np.flatnonzero((others == 0) & (whole < most)).tolist():
                return Copies(names[i], times)
        # One group of several columns, such as a region in a week.
        for i in np.flatnonzero(multiples & (chances < most)).tolist():
            pairs = zip(first.columns, keys[i], strict=True)
            return Copies(", ".join(f"{column} {value}" for column, value in pairs), times)
    return None


def warn_of_copies(
    said: str, mechanisms: Mapping[str, Randomiser], tallies: Mapping[str, Tally]
) -> None:
    """Warn of people counted twice or left out: what was ``said`` of rows, or what counts say."""
    said = said or next(filter(None, map(_about_counts, mechanisms.values(), tallies.values())), "")
    if not said and (copies := counted_twice(mechanisms, tallies)):
        who = "people" if copies.group == "all" else copies.group
        said = (
            f"All counts of {who} are {copies.seen_by}, which by chance happens less than once in "
            "a billion times. Was each row copied? Then people are counted more than once, and "
            f"intervals are too short. {ONE_COPY}"
        )
    if said:
        warn(said, FrameWarning)


def _about_counts(mechanism: Randomiser, tally: Tally) -> str:
    """What is said of a tally in which each report of a group stands once; "" for nothing."""
    has_twins = tally.counts.max(initial=0) > 1
    # Where the parts of a report are counted, no count tells that a whole report stands once.
    if has_twins or tally.ways is not None or tally.counts.sum() != tally.n:
        return ""
    return about_dropped([mechanism], tally.sizes, tally.names)
