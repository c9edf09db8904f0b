"""Of which tallies a tally is a sum, so that no person is counted twice.

Every tally in memory has a random mark, and a sum has the marks of all that it is a sum of. This is
no part of a tally's value, and files do not hold it. A collector of answers has a mark of its own,
which files do hold: its tallies of two days have most people in common, and their counts differ.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from warner._core.checks import show
from warner._core.errors import ArgumentError

_OTHERS = "of others"  # in the marks of tallies whose counts may be equal to those of others
_COLLECTOR = "of a collector"  # in the marks of tallies that a collector counted
_NO_CHANCE = 1e-12  # the probability below which equal counts are those of the same people
_MOST_SOURCES = 1000  # tallies that a sum remembers; a sum of more counts as one new tally
Sources = frozenset[Hashable]
"""Marks of the tallies that a tally is a sum of."""


class OfPeople(Protocol):
    """A tally, as far as its people are concerned."""

    @property
    def n(self) -> int:
        """The number of reports."""

    @property
    def counts(self) -> np.ndarray:
        """The counts."""

    @property
    def sources(self) -> Sources:
        """The marks of the tallies that it is a sum of."""

    @property
    def chance_of_a_twin(self) -> float:
        """The probability that reports of other people have the same counts."""


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
        got = "a tally and itself" if ours == theirs else "two that have a tally in common"
        remedy = "Leave one out; if they are counts of other people, add tally.of_others()"
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
    place: dict[Hashable, int] = {}
    alike: dict[Hashable, int] = {}
    for i, tally in enumerate(tallies):
        if not tally.n:
            continue
        first = min(place.setdefault(mark, i) for mark in tally.sources)
        if first < i:
            rule = "must be of different people: no tally may be in two groups"
            raise _same_people(keys, rule, "one tally", first, i)
        if any(isinstance(mark, tuple) and mark[0] == _OTHERS for mark in tally.sources):
            continue
        first = alike.setdefault((tally.n, tally.counts.tobytes()), i)
        if first < i and tally.chance_of_a_twin < _NO_CHANCE:
            rule = "must be of different people, whose counts are never all equal"
            raise _same_people(keys, rule, "equal counts", first, i)


def _same_people(keys: Sequence[Any], rule: str, what: str, first: int, second: int) -> Exception:
    """The error of two groups with the same reports."""
    names = [show(k[0] if isinstance(k, tuple) and len(k) == 1 else k) for k in keys]
    got = f"{what} in {names[first]} and {names[second]}"
    remedy = "Count each group's own reports; if they are of other people, pass tally.of_others()"
    return ArgumentError("groups", rule, got, remedy)
