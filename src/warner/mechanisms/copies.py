"""Whether people were counted twice, or equal reports left out: the chances that it only looks so.

The bounds hold whatever people answer. A report has at least a probability q, whatever the answer
is. So of many people, two send the same report, and each count is odd about every second time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from warner._core.errors import FrameWarning, warn
from warner._core.foreign_tables import ONE_COPY
from warner.privacy.report_laws import OneHotBits, TwoProbabilities
from warner.reports.schema import BitVector, IntegerColumns
from warner.reports.tally import Tally

NO_CHANCE = 1e-9  # the probability below which counts and rows are no chance
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
    def channel(self) -> Any:
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
        channel = mechanism.channel()
        is_whole = channel.shape == (schema.n_reports, size)
        return max(0.0, float(channel.dense().min())) if is_whole else 0.0
    if isinstance(schema, BitVector) and isinstance(law, OneHotBits):
        keep, raised = law.keep / law.whole, law.raised / law.whole
        return min(keep, 1 - keep) * min(raised, 1 - raised) ** (schema.width - 1)
    return math.exp(_log_least_of_subset(mechanism))


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


def log_chance_of_even(mechanism: Randomiser, people: np.ndarray) -> np.ndarray:
    """The logarithm of a bound of the probability that all counts of some people are even.

    Shapes: people (G,) -> (G,).

    >>> from warner import Categorical, RandomizedResponse
    >>> digits = RandomizedResponse(Categorical(range(50)), 1.0)
    >>> bool(np.exp(log_chance_of_even(digits, np.array([2000])))[0] < 1e-14)
    True
    """
    each = [_log_even_of_one(one, people) for one in mechanism.single_reports]
    return np.asarray(np.minimum(each, 0.0).sum(axis=0))


def _log_even_of_one(mechanism: Randomiser, people: np.ndarray) -> np.ndarray:
    """The same of a mechanism that sends a single report."""
    # All of m counts are even with the probability 2^-m sum_S E[(-1)^(number of reports in S)],
    # a sum over all sets S of reports. People are independent. One of them has a report in S with a
    # probability from q |S| to 1 - q (m - |S|). So each term is at most exp(-2 q n |S|), or that of
    # the reports that are not in S.
    schema, law = mechanism.schema, mechanism.law
    if isinstance(schema, BitVector) and isinstance(law, OneHotBits):
        # Of independent bits, each has its own factor.
        widest = max(abs(1 - 2 * chance / law.whole) for chance in (law.keep, law.raised))
        return np.asarray(schema.width * np.log((1 + widest**people) / 2))
    if (log_least := _log_least_of_subset(mechanism)) > -math.inf:
        # Of the sets with d of K bits, at least the share min(d, K - d) / K has an odd number of
        # bits in S, and an even one, unless S is empty or has all bits.
        share = min(schema.ones, schema.width - schema.ones) / schema.width
        mixed = -people * share * math.exp(log_least + _log_sets(schema.width, schema.ones))
        return np.asarray(np.logaddexp((1 - schema.width) * math.log(2), mixed))
    if not (least := _least_of_one(mechanism)):
        return np.zeros(len(people))
    odd = np.expm1(-2 * least * people) / 2
    return np.asarray(math.log(2) + schema.n_reports * np.log1p(odd))


def counted_twice(mechanisms: Mapping[str, Randomiser], tallies: Mapping[str, Tally]) -> str:
    """Which people were counted twice, by the look of the tallies: "all", or a group; else "".

    Where a table holds a copy of its rows, in any order, all counts are even.

    Args:
        mechanisms: {attribute: the mechanism that made its reports}.
        tallies: {attribute: the tally} of the same people, in the same groups.
    """
    first = next(iter(tallies.values()))
    even = np.logical_and.reduce([tally.are_even() for tally in tallies.values()])
    if not even.any():
        return ""
    chances = sum(
        log_chance_of_even(mechanisms[name], tally.sizes.astype(float))
        for name, tally in tallies.items()
    )
    keys = list(first)
    groups = {"all": np.ones(len(keys), dtype=bool)}
    for i, column in enumerate(first.columns):
        values = [key[i] for key in keys]
        for value in dict.fromkeys(values):
            groups[f"{column} {value}"] = np.array([each == value for each in values])
    for name, chosen in groups.items():
        chance = np.asarray(chances)[chosen].sum() + math.log(len(groups))
        if even[chosen].all() and chance < math.log(NO_CHANCE):
            return name
    return ""


def warn_of_copies(
    repeated: str, mechanisms: Mapping[str, Randomiser], tallies: Mapping[str, Tally]
) -> None:
    """Warn of people who were counted twice, by the order of rows, ``repeated``, or by counts."""
    if not repeated and (group := counted_twice(mechanisms, tallies)):
        who = "people" if group == "all" else group
        repeated = (
            f"All counts of {who} are even numbers, which by chance happens less than once in a "
            "billion times. Was each row copied? Then people are counted twice, and intervals are "
            f"too short. {ONE_COPY}"
        )
    if repeated:
        warn(repeated, FrameWarning)
