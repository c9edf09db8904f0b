"""Counts of distinct reports, for mechanisms whose tally is a list of these.

That is several reports of one value: their tally holds each tuple of reports that occurred, in
sorted order, and how often it occurred. It is the only tally that grows with the number of people.
A page of the store holds one tuple of one group and its count. The key of a page is a hash of the
tuple, so nothing says when it was written.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

_NUMBER = 8  # bytes


class Row(NamedTuple):
    """A distinct report.

    Attributes:
        attribute: the place of the attribute in the study.
        group: the number of the group of people.
        report: the bytes of the report.
    """

    attribute: int
    group: int
    report: bytes

    @property
    def key(self) -> int:
        """The key at which a page of it is looked for first."""
        head = b"".join(part.to_bytes(_NUMBER, "little") for part in self[:2])
        return int.from_bytes(hashlib.sha256(head + self.report).digest()[:_NUMBER], "little") >> 2


class DistinctCounts:
    """How often each distinct report occurred.

    >>> counts = DistinctCounts()
    >>> pages = counts.pages({Row(0, 5, b"ab"): 2})
    >>> counts.add({Row(0, 5, b"ab"): 2})
    >>> again = DistinctCounts()
    >>> again.load(pages.items())
    >>> list(again.of(0))
    [(Row(attribute=0, group=5, report=b'ab'), 2)]
    """

    def __init__(self) -> None:
        self._counts: dict[Row, int] = {}
        self._keys: dict[Row, int] = {}
        self._rows: dict[int, Row] = {}

    def load(self, pages: Iterable[tuple[int, bytes]]) -> None:
        """Take the counts from the pages of a store."""
        for key, content in pages:
            start = [int.from_bytes(content[i : i + _NUMBER], "little") for i in (0, 8, 16)]
            row = Row(start[0], start[1], content[24:])
            self._counts[row], self._keys[row], self._rows[key] = start[2], key, row

    def pages(self, times: Mapping[Row, int]) -> dict[int, bytes | None]:
        """The pages of the store after more reports; nothing is changed yet."""
        found: dict[int, bytes | None] = {}
        for row, more in times.items():
            key = self._key(row, found)
            numbers = (row.attribute, row.group, self._counts.get(row, 0) + more)
            head = b"".join(number.to_bytes(_NUMBER, "little") for number in numbers)
            found[key] = head + row.report
        return found

    def _key(self, row: Row, taken: Mapping[int, object]) -> int:
        """The key of the page of a report: its hash, or the next one that is free."""
        if row in self._keys:
            return self._keys[row]
        key = row.key
        while key in taken or key in self._rows:
            key += 1
        return key

    def add(self, times: Mapping[Row, int]) -> None:
        """Count more reports, after the store has them."""
        for key, row in zip(self.pages(times), times, strict=True):
            self._counts[row] = self._counts.get(row, 0) + times[row]
            self._keys[row], self._rows[key] = key, row

    def of(self, attribute: int) -> Iterator[tuple[Row, int]]:
        """The distinct reports on an attribute, and how often each occurred."""
        return ((row, n) for row, n in self._counts.items() if row.attribute == attribute)
