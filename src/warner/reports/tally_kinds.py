"""Kinds of tallies: which statistic of the reports the counts of a tally are.

A tally file names its kind by a string (``TallyKind.name``). These strings never change.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


class TallyKind(ABC):
    """Which statistic of n reports the ``counts`` of a tally are.

    Attributes:
        name: the kind in a tally file.
        keeps_reports: whether the tally holds the distinct reports beside their counts.
        ways: of how many attributes together the tables are; None except for marginal tables.
    """

    keeps_reports = False
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

    The rows of the channel are the K bits that are set, then the K bits that are not.

    >>> BitSums().row_counts(np.array([1, 4]), 5).tolist()
    [1, 4, 4, 1]
    """

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
    """The m distinct reports, sorted, and how often each occurred, (m,)."""

    keeps_reports = True

    @property
    def name(self) -> str:
        return "reports"


@dataclass(frozen=True)
class MarginalTables(TallyKind):
    """The contingency tables of all subsets of ``ways`` attributes, one after the other, (cells,).

    Attributes:
        ways: how many attributes a table has, at least 1.

    >>> str(MarginalTables(2))
    '2-way'
    """

    ways: int

    @property
    def name(self) -> str:
        return f"{self.ways}-way"


_PLAIN: dict[str, TallyKind] = {
    kind.name: kind for kind in (Histogram(), BitSums(), DigitCounts(), DistinctReports())
}


def tally_kind(name: str) -> TallyKind:
    """The kind that a tally file calls ``name``.

    >>> tally_kind("3-way")
    MarginalTables(ways=3)
    """
    if isinstance(name, str):
        if name in _PLAIN:
            return _PLAIN[name]
        if (match := re.fullmatch("([1-9][0-9]{0,5})-way", name)) is not None:
            return MarginalTables(int(match[1]))
    raise ValueError("no kind of tallies has this name")


class Counted(NamedTuple):
    """What counting the reports of G groups of people gives; all people together are one group.

    Attributes:
        kind: which statistic the counts of a group are.
        counts: int64. (G, ...), the counts of each of G groups; for kinds that keep reports (M,),
            the counts of the distinct reports of all groups.
        sizes: int64 (G,), the number of reports of each group.
        rows: uint8 (M, bytes), the distinct reports; None for kinds that do not keep them.
        places: int64 (M,), the group of each distinct report, in 0..G-1; None likewise.
    """

    kind: TallyKind
    counts: np.ndarray
    sizes: np.ndarray
    rows: np.ndarray | None = None
    places: np.ndarray | None = None

    @classmethod
    def together(
        cls, kind: TallyKind, counts: np.ndarray, n: int, rows: np.ndarray | None = None
    ) -> Counted:
        """The counts of n people who are one group."""
        sizes = np.array([n])
        if rows is None:
            return cls(kind, np.array(counts)[None], sizes)
        return cls(kind, counts, sizes, rows, np.zeros(len(rows), dtype=np.int64))
