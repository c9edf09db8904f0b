"""Kinds of tallies: which statistic of the reports the counts of a tally are.

A tally file names its kind by a string (``TallyKind.name``). These strings never change.
"""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from warner._core.checks import show
from warner._core.errors import ArgumentError, FrameWarning, warn
from warner._core.text import canonical


class TallyKind(ABC):
    """Which statistic of n reports the ``counts`` of a tally are."""

    keeps_reports = False  # whether the tally holds the distinct reports beside their counts
    # of how many attributes together the tables are; None except for marginal tables
    ways: int | None = None

    @property
    @abstractmethod
    def name(self) -> str:
        """The kind in a tally file."""

    def __str__(self) -> str:
        return self.name

    def row_counts(self, counts: np.ndarray, n: int) -> np.ndarray:
        """How often every row of the mechanism's channel occurred, as one vector."""
        return counts.ravel()

    def is_consistent(self, counts: np.ndarray, n: int) -> bool:
        """Whether n reports can have ``counts``, as far as the kind alone can say."""
        return True


@dataclass(frozen=True)
class Histogram(TallyKind):
    """How often every possible report occurred; counts have the shape of the reports' columns.

    >>> Histogram().row_counts(np.array([[1, 2], [3, 4]]), 10).tolist()
    [1, 2, 3, 4]
    """

    @property
    def name(self) -> str:
        return "histogram"


@dataclass(frozen=True)
class BitSums(TallyKind):
    """How many reports of K bits set every bit, (K,).

    >>> BitSums().row_counts(np.array([1, 4]), 5).tolist()
    [1, 4, 4, 1]
    """

    # The rows of the channel are the K bits that are set, then the K bits that are not.

    @property
    def name(self) -> str:
        return "bitsums"

    def row_counts(self, counts: np.ndarray, n: int) -> np.ndarray:
        set_bits = counts.ravel()
        return np.concatenate([set_bits, n - set_bits])


@dataclass(frozen=True)
class DigitCounts(TallyKind):
    """How often every one of d keys had every digit, (d, base).

    >>> DigitCounts().is_consistent(np.array([[2, 1], [3, 1]]), 3)
    False
    """

    @property
    def name(self) -> str:
        return "digits"

    def is_consistent(self, counts: np.ndarray, n: int) -> bool:
        return bool((counts.sum(axis=-1) == n).all())


@dataclass(frozen=True)
class DistinctReports(TallyKind):
    """The m distinct reports, sorted, and how often each occurred, (m,).

    >>> str(DistinctReports(256, while_few=True))
    'few reports of 256 bits'
    >>> DistinctReports(256, while_few=True).keeps(10**5), DistinctReports(256).keeps(10**9)
    (True, True)
    """

    bits: int | None = None  # of reports of bits, how many, so that they can be summed
    while_few: bool = False  # whether a tally of many reports has their bit sums instead

    keeps_reports = True

    @property
    def name(self) -> str:
        return f"{'few ' * self.while_few}reports{f' of {self.bits} bits' * bool(self.bits)}"

    def keeps(self, n: int) -> bool:
        """Whether a tally of n reports still keeps them."""
        # It depends on n alone, so that sums are the same in any order. The memory is that of the
        # reports, their counts and their groups. Of more reports the default method takes the sums.
        if self.bits is None or not self.while_few:
            return True
        return n * (-(-self.bits // 8) + 16) <= _BYTES_KEPT and n * self.bits**2 <= _WORK_KEPT


_BYTES_KEPT = 2**24  # of the reports that a tally keeps where nobody asked it to
_WORK_KEPT = 10**10  # of an estimate from them, in multiplications


@dataclass(frozen=True)
class MarginalTables(TallyKind):
    """The contingency tables of all subsets of ``ways`` attributes, one after the other, (cells,).

    >>> str(MarginalTables(2))
    '2-way'
    """

    ways: int

    @property
    def name(self) -> str:
        return f"{self.ways}-way"


@dataclass(frozen=True)
class BlockTables(TallyKind):
    """Of each block of attributes the number of its reports, then the counts of its own tally.

    >>> str(BlockTables(2))
    '2-way blocks'
    """

    ways: int  # the most attributes of a block

    @property
    def name(self) -> str:
        return f"{self.ways}-way blocks"


_PLAIN: dict[str, TallyKind] = {
    kind.name: kind for kind in (Histogram(), BitSums(), DigitCounts(), DistinctReports())
}


def tally_kind(name: str) -> TallyKind:
    """The kind that a tally file calls ``name``."""
    if isinstance(name, str):
        if name in _PLAIN:
            return _PLAIN[name]
        if (match := re.fullmatch("([1-9][0-9]{0,5})-way( blocks)?", name)) is not None:
            return (BlockTables if match[2] else MarginalTables)(int(match[1]))
        if (match := re.fullmatch("(few )?reports of ([1-9][0-9]{0,8}) bits", name)) is not None:
            return DistinctReports(int(match[2]), match[1] is not None)
    raise ValueError("no kind of tallies has this name")


class Counted(NamedTuple):
    """What counting the reports of G groups of people gives; all people together are one group."""

    kind: TallyKind
    # int64 (G, ...), of each group; for kinds that keep reports (M,), of the distinct reports of
    # all groups
    counts: np.ndarray
    sizes: np.ndarray  # int64 (G,), the number of reports of each group
    # uint8 (M, bytes), the distinct reports, where the kind keeps them
    rows: np.ndarray | None = None
    places: np.ndarray | None = None  # int64 (M,), the group of each distinct report, in 0..G-1

    @classmethod
    def together(
        cls, kind: TallyKind, counts: np.ndarray, n: int, rows: np.ndarray | None = None
    ) -> Counted:
        """The counts of n people who are one group."""
        sizes = np.array([n])
        if rows is None:
            return cls(kind, np.array(counts)[None], sizes)
        return cls(kind, counts, sizes, rows, np.zeros(len(rows), dtype=np.int64))


# -----------------------------------------------------------------------------------------------
# Of which tallies a tally is a sum, so that no person is counted twice.
#
# Every tally in memory has a random mark, and a sum has the marks of all that it is a sum of. This
# is no part of a tally's value, and files do not hold it. A collector of answers has a mark of its
# own, which files do hold: its tallies of two days have most people in common, and their counts
# differ.


_OTHERS = "of others"  # in the marks of tallies whose counts may be equal to those of others
_COLLECTOR = "of a collector"  # in the marks of tallies that a collector counted
_NO_CHANCE = 1e-12  # the probability below which equal counts are those of the same people
_DOUBTFUL = 1e-3  # the probability below which equal counts are warned of
_MOST_SOURCES = 1000  # tallies that a sum remembers; a sum of more counts as one new tally
Sources = frozenset[Hashable]
"""Marks of the tallies that a tally is a sum of."""


class OfPeople(Protocol):
    """A tally, as far as its people are concerned."""

    header: dict[str, Any]
    sizes: np.ndarray
    sources: Sources

    @property
    def n(self) -> int:
        """The number of reports."""

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """The public values of its groups."""

    def contents(self) -> Sequence[bytes]:
        """The counts of each group, as bytes that are equal where the counts are."""

    def chances_of_twins(self) -> np.ndarray:
        """The probability that reports of other people have the same counts, of each group."""

    @property
    def chance_of_a_twin(self) -> float:
        """The probability that reports of other people have the same counts in all groups."""


def new_source() -> Sources:
    """The mark of a tally that is no sum of others: random, so that it says nothing."""
    return frozenset([os.urandom(12)])


def source_of_others() -> Sources:
    """The mark of a tally whose counts may be equal to those of another tally."""
    return frozenset([(_OTHERS, os.urandom(12))])


def of_collectors(sources: Sources, marks: Iterable[str]) -> Sources:
    """Marks of a tally that these collectors counted, from those that it has."""
    return sources | {(_COLLECTOR, mark) for mark in marks}


def collectors_of(sources: Sources) -> list[str]:
    """The collectors that counted a tally, by their marks, in order."""
    return sorted(m[1] for m in sources if isinstance(m, tuple) and m[0] == _COLLECTOR)


def added_sources(ours: Sources, theirs: Sources) -> Sources:
    """The marks of a sum."""
    if not ours.isdisjoint(theirs):
        rule = "must not be added twice"
        got = "a tally and itself" if ours == theirs else "two sums that both hold the same tally"
        remedy = (
            "Leave out one of the two. If they count different people, add tally.of_others() for "
            "one of them"
        )
        raise ArgumentError("tallies", rule, got, remedy)
    # A stream of a million tallies is not slowed down by the memory of all of them.
    if len(ours) + len(theirs) <= _MOST_SOURCES:
        return ours | theirs
    return of_collectors(new_source(), collectors_of(ours | theirs))


def united_sources(groups: Sequence[Sources]) -> Sources:
    """The marks of the tallies of all groups; none of more groups than are remembered."""
    return frozenset().union(*groups) if len(groups) <= _MOST_SOURCES else frozenset()


def require_different(keys: Sequence[Any], tallies: Sequence[OfPeople]) -> None:
    """Refuse reports that stand for two groups: one tally, or counts that are no chance."""
    group_of: dict[Hashable, int] = {}
    for i, tally in enumerate(tallies):
        if not tally.n:
            continue
        first = min(group_of.setdefault(mark, i) for mark in tally.sources)
        if first < i:
            rule = "must be of different people, but two groups have the same tally"
            raise _same_people(keys, rule, "one tally", first, i)
    for twins in twins_among(tallies):
        if twins.chance < _NO_CHANCE:
            rule = "must be of different people, but all their counts are equal"
            raise _same_people(keys, rule, "equal counts", twins.first, twins.second)
    warn_of_equal(tallies)


def warn_of_equal(tallies: Sequence[OfPeople]) -> None:
    """Warn of two tallies whose counts are hardly equal by chance, in all groups or in some."""
    pairs = len(tallies) * (len(tallies) - 1) / 2  # one of which is equal by chance: a union bound
    for twins in twins_among(tallies):
        first, second = tallies[twins.first], tallies[twins.second]
        is_one = not first.sources.isdisjoint(second.sources)  # which is refused
        if not is_one and pairs * twins.chance < _DOUBTFUL:
            tally = f"Two tallies of {second.n:,} reports have equal counts"
            groups = f"Two tallies have equal counts in {twins.groups}"
            text = (
                f"{groups if twins.groups else tally}. With different people, that happens less "
                "than once in 1,000 times. Were the same reports counted twice? Then intervals are "
                "too short. If the people differ, use tally.of_others() for one of the two tallies."
            )
            return warn(text, FrameWarning)


class Twins(NamedTuple):
    """Two tallies with equal counts, by their places in a list."""

    first: int
    second: int
    groups: str  # those with equal counts, in words; "" where the tallies are equal altogether
    chance: float  # about the largest that reports of other people have these counts


def twins_among(tallies: Sequence[OfPeople]) -> Iterator[Twins]:
    """Tallies with equal counts in a group, unless they are said to be of other people."""
    sizes: list[dict[tuple[Any, ...], int]] = []
    for tally in tallies:
        is_of_others = any(isinstance(m, tuple) and m[0] == _OTHERS for m in tally.sources)
        people = zip(tally, tally.sizes.tolist(), strict=True)
        sizes.append({} if is_of_others else {key: n for key, n in people if n})
    alike = Counter(item for of_tally in sizes for item in of_tally.items())
    seen: dict[Hashable, int] = {}
    for i, tally in enumerate(tallies):
        if not any(alike[item] > 1 for item in sizes[i].items()):
            continue
        equal: dict[int, list[int]] = {}
        mechanism = canonical(tally.header)  # reports of another one are not the same
        for group, (key, content) in enumerate(zip(tally, tally.contents(), strict=True)):
            if key in sizes[i] and alike[key, sizes[i][key]] > 1:
                first = seen.setdefault((mechanism, key, content), i)
                equal.setdefault(first, []).append(group)
        for first, places in equal.items():
            if first < i:
                yield _twins(tallies, sizes, first, i, places)


def _twins(
    tallies: Sequence[OfPeople],
    sizes: Sequence[dict[tuple[Any, ...], int]],
    first: int,
    second: int,
    places: Sequence[int],
) -> Twins:
    """Two tallies, of which groups at these places of the second one are equal."""
    tally = tallies[second]
    many = len(sizes[first].items() & sizes[second].items())
    # Of m groups that may be equal, each with a chance p of it or less, 1 - 1/m + 1/(m p) for an
    # equal one and 1 - 1/m for another have a product that is 1 or less on average. So it is
    # 1 / chance or more with at most that chance, by Markov's inequality.
    rest = (many - len(places)) * np.log1p(-1 / many) if many > len(places) else 0.0
    chances = np.maximum(tally.chances_of_twins()[places], np.finfo(float).tiny)
    odds = np.log1p((1 / chances - 1) / many).sum() + rest
    chance = float(np.exp(-max(odds, 0.0)))
    if len(places) == len(sizes[first]) == len(sizes[second]):
        return Twins(first, second, "", min(chance, tally.chance_of_a_twin))
    keys = list(tally)
    groups = f"the group {', '.join(map(str, keys[places[0]]))}"
    if len(places) > 1:
        groups += f" and in {len(places) - 1:,} more"
    return Twins(first, second, groups, chance)


def _same_people(keys: Sequence[Any], rule: str, what: str, first: int, second: int) -> Exception:
    """The error of two groups with the same reports."""
    names = [show(k[0] if isinstance(k, tuple) and len(k) == 1 else k) for k in keys]
    got = f"{what} in {names[first]} and {names[second]}"
    remedy = (
        "Count the reports of each group alone. If the groups have different people, pass "
        "tally.of_others() for one of them"
    )
    return ArgumentError("groups", rule, got, remedy)


def way_to_question(header: Mapping[str, Any], key: Any) -> str:
    """How one of several questions is chosen, where a key is its name; "" of another key."""
    questions = [name for name, _ in header["domain"].get("domains", ())]
    if not isinstance(key, str) or key not in questions:
        return ""
    return (
        "A question is chosen where it is used: estimate(tally, attributes=[...]), "
        "compare_groups(tally, attributes=[...]) or regress(reports, covariates, attribute=...)"
    )
