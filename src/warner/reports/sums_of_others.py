"""Files whose counts add up to those of other files, as where files were compacted and left there.

Sums of counts are compared by one number each, which adds up where counts do. Of up to 12 files all
sets are compared. Of more, those are that follow each other by name or by size, with and without
the largest of them: a compacted file can stand between the files that it was made of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from warner._core.text import canonical
from warner.reports.public_columns import Key
from warner.reports.tally import Tally, spread

_ALL_BITS = 2**64 - 1
_ALL_SETS = 12  # files of which all sets are compared
_RUNS = 2**17  # sets of files that follow each other, in one order: of all people, and of groups
_TELLING = 3  # groups that make a file tell together, of which none does so alone


class EqualSums(NamedTuple):
    """Two sets of files without a file in common, which have the same counts together."""

    few: list[str]
    many: list[str]
    key: Key  # the group that has these counts; () for all people


class SumsOfFiles:
    """The counts of files, of each group of people, to be compared with sums of each other."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._groups: dict[Key, int] = {}  # {the public values of a group: its number}
        # of each file: its groups, the reports of each, the number that adds up, and the logarithm
        # of the chance that other people have these counts
        self._rows: list[tuple[np.ndarray, ...]] = []

    def add(self, name: str, tallies: Mapping[str, Tally]) -> None:
        """Add the tallies of a file."""
        counts: dict[Key, tuple[int, int, float]] = {}
        for attribute, tally in tallies.items():
            # Reports of two attributes, or mechanisms, are of different noise, and no sums.
            weight = hash((attribute, canonical(tally.header))) | 1
            for each in [tally.total(), tally] if tally.columns and len(tally) else [tally]:
                chances = np.log(np.maximum(each.chances_of_twins(), np.finfo(float).tiny))
                of_groups = each.sizes, each.numbers_that_add_up(), chances
                for key, n, number, chance in zip(
                    each, *(of.tolist() for of in of_groups), strict=True
                ):
                    before = counts.get(key, (0, 0, 0.0))
                    so_far = before[1] + number * weight & _ALL_BITS
                    counts[key] = before[0] + n, so_far, before[2] + chance
        if not counts:
            return
        groups = [self._groups.setdefault(key, len(self._groups)) for key in counts]
        columns = zip((int, np.uint64, float), zip(*counts.values(), strict=True), strict=True)
        self._rows.append((np.array(groups), *(np.array(of, dtype) for dtype, of in columns)))
        self._names.append(name)

    def equal(self, most: float) -> EqualSums | None:
        """Two sets with the same counts that have less than the chance ``most``; None without any.

        Sizes are no chance: so only sets with as many reports as another one are compared, and the
        chance is that of one file of the two sets in each group, times the pairs that were
        compared. The noise of different questions and of different people is independent, so
        their chances are multiplied.
        """
        if len(self._names) < 3:
            return None
        looks = [look for look in self._looks() if look.least < np.log(most)]
        compared = 0.0
        equal: list[tuple[float, EqualSums]] = []
        of_groups = sum(look.key != () for look in looks)
        for look in looks:
            # Many groups are compared in the time of two.
            runs = _RUNS // of_groups if look.key else _RUNS
            names = [self._names[i] for i in look.files.tolist()]
            # Only files that are not equal to others by chance tell sets apart.
            telling = look.chances < np.log(most) / min(len(look.groups), _TELLING)
            marks = np.where(telling, spread(np.arange(len(names), dtype=np.uint64)), np.uint64(0))
            sets = _sets_of(names, look.sizes, look.sizes_by_group, look.numbers, marks, runs)
            compared += sets.pairs_of_one_size()
            for few, many in sets.equal():
                chance = self._chance(look, [*few, *many])
                first, second = ([names[i] for i in side] for side in (few, many))
                equal.append((chance, EqualSums(first, second, look.key)))
        refused = (two for chance, two in equal if chance + np.log(compared) < np.log(most))
        return min(refused, key=lambda two: len(two.few), default=None)

    def _looks(self) -> Iterator[_Look]:
        """What is compared: all people, each group, and all groups at once."""
        groups, sizes, numbers, chances = map(np.concatenate, zip(*self._rows, strict=True))
        files = np.repeat(range(len(self._rows)), [len(row[0]) for row in self._rows])
        order = np.lexsort((files, groups))
        files, groups, sizes, numbers, chances = (
            column[order] for column in (files, groups, sizes, numbers, chances)
        )
        keys = list(self._groups)
        ends = [0, *(np.flatnonzero(np.diff(groups)) + 1).tolist(), len(groups)]
        for start, stop in pairwise(ends):
            if stop - start > 2:
                those = slice(start, stop)
                n = sizes[those]
                yield _Look(
                    keys[groups[start]],
                    groups[start : start + 1],
                    files[those],
                    n,
                    n.astype(np.uint64),
                    numbers[those],
                    chances[those],
                    chances[those].min(),
                )
        # A file of each group has its counts once more in a compacted file: no group of three files
        # tells it, and each pair of groups can be equal by chance, but not all of them.
        is_group = groups != self._groups.get((), -1)
        of_groups = np.unique(groups[is_group])
        if len(of_groups) < 2:
            return
        files, groups, sizes, numbers, chances = (
            column[is_group] for column in (files, groups, sizes, numbers, chances)
        )
        members, at = np.unique(files, return_inverse=True)
        weights = spread(groups.astype(np.uint64))
        summed = np.zeros((2, len(members)), dtype=np.uint64)
        np.add.at(summed[0], at, weights * sizes.astype(np.uint64))
        np.add.at(summed[1], at, weights * numbers)
        people = np.bincount(at, sizes).astype(np.int64)
        least = np.zeros(len(keys))
        np.minimum.at(least, groups, chances)
        yield _Look(
            (),
            of_groups,
            members,
            people,
            summed[0],
            summed[1],
            np.bincount(at, chances),
            least.sum(),
        )

    def _chance(self, look: _Look, members: list[int]) -> float:
        """The logarithm of the chance of equal counts of these files of a look."""
        rows = [self._rows[look.files[i]] for i in members]
        groups, _, _, chances = map(np.concatenate, zip(*rows, strict=True))
        least = np.zeros(len(self._groups))
        np.minimum.at(least, groups, chances)
        return float(least[look.groups].sum())


class _Look(NamedTuple):
    """Files whose counts of some groups are compared."""

    key: Key  # the group; () of all people, and of all groups at once
    groups: np.ndarray  # the numbers of the groups
    files: np.ndarray
    sizes: np.ndarray  # the reports of each file
    sizes_by_group: np.ndarray  # a number that adds up, and is equal where all groups are as large
    numbers: np.ndarray  # the same of all counts
    chances: np.ndarray  # the logarithm of the chance of the counts of each file
    least: float  # the same of the least likely file of each group


class _Sets(NamedTuple):
    """Sets of files."""

    members: Callable[[int], set[int]]  # the files of a set
    sizes: np.ndarray  # equal where the sets have as many reports in each group
    numbers: np.ndarray  # the sum of the numbers of its files
    marks: np.ndarray  # the sum of the marks of those of its files that tell it apart

    def pairs_of_one_size(self) -> float:
        """How many pairs of sets have the same number of reports."""
        _, many = np.unique(self.sizes, return_counts=True)
        return float((many * (many - 1.0) / 2).sum())

    def equal(self) -> Iterator[tuple[list[int], list[int]]]:
        """The files in which two sets with the same counts differ, more than one by one."""
        order = np.lexsort((self.marks, self.numbers, self.sizes))
        same = [np.diff(each[order]) == 0 for each in (self.sizes, self.numbers, self.marks)]
        for i in np.flatnonzero(same[0] & same[1] & ~same[2]).tolist():
            one, other = (self.members(k) for k in order[i : i + 2].tolist())
            few, many = sorted((sorted(one - other), sorted(other - one)), key=len)
            if few and len(many) > 1:
                yield few, many


def _sets_of(
    names: list[str],
    reports: np.ndarray,
    sizes: np.ndarray,
    numbers: np.ndarray,
    marks: np.ndarray,
    runs: int,
) -> _Sets:
    """The sets of files that are compared, about so many of files that follow each other."""
    m = len(names)
    if m <= _ALL_SETS:
        inside = np.arange(1, 2**m)[:, None] >> np.arange(m) & 1
        summed = (inside.astype(of.dtype) @ of for of in (sizes, numbers, marks))
        return _Sets(lambda i: set(np.flatnonzero(inside[i]).tolist()), *summed)
    by_name = sorted(range(m), key=names.__getitem__)
    files = np.concatenate([by_name, np.argsort(reports, kind="stable")])  # two orders of all files
    nothing = 2 * m  # where a number is zero
    values = [np.append(of[files], of.dtype.type(0)) for of in (sizes, numbers, marks)]
    reports = reports[files]
    starts, stops, without = [], [], []
    largest = np.arange(2 * m)  # of each run, by where it starts
    for length in range(1, min(m, max(runs // m, 2)) + 1):
        last = np.arange(length - 1, 2 * m)
        largest = largest[: len(last)]
        largest = np.where(reports[last] > reports[largest], last, largest)
        start = np.flatnonzero(np.arange(len(last)) % m + length <= m)
        for left_out in [np.full(len(start), nothing), largest[start]][: 1 + (length > 1)]:
            starts.append(start)
            stops.append(start + length)
            without.append(left_out)
    begin, end, left = map(np.concatenate, (starts, stops, without))
    sums = []
    for of in values:
        before = np.concatenate([of[nothing:], np.cumsum(of)])
        sums.append(before[end] - before[begin] - of[left])

    def members(i: int) -> set[int]:
        left_out = set(files[left[i] : left[i] + 1].tolist())
        return set(files[begin[i] : end[i]].tolist()) - left_out

    return _Sets(members, *sums)
