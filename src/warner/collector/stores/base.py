"""What the collector asks of a store: named facts, and tables of pages, changed all or nothing.

A page is a byte string under an integer key. The collector decides what pages hold; a store keeps
them durably, and one change at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

COUNTS, DISTINCT, SPENT, INVITED = "counts", "distinct_reports", "spent", "invited"
TABLES = (COUNTS, DISTINCT, SPENT, INVITED)
NUMBER = "number"  # the fact that holds the number of the last change, 8 bytes, little endian

Pages = Mapping[int, bytes | None]
"""{key: content}; None deletes the page."""


@dataclass(frozen=True)
class Change:
    """What one transaction writes.

    Attributes:
        number: one more than the number of the change before. The store keeps it as a fact, so that
            it can be asked whether a change took place whose reply was lost.
        facts: {name: content} of the facts that change.
        pages: {table: pages} of the pages that change.
    """

    number: int
    facts: Mapping[str, bytes] = field(default_factory=dict)
    pages: Mapping[str, Pages] = field(default_factory=dict)

    @property
    def all_facts(self) -> dict[str, bytes]:
        """The facts that change, with the number of the change."""
        return {**self.facts, NUMBER: self.number.to_bytes(8, "little")}


class Store(Protocol):
    """A store that one collector has open. Every method raises :class:`Refused` where it fails.

    Attributes:
        rest: seconds after a change, until :meth:`tidy` is called; also while more changes follow.
    """

    rest: float

    @property
    def name(self) -> str:
        """How messages name it, without a password."""

    def open(self) -> bool:
        """Connect, keep all other processes out, and bring the tables up to date.

        Where the store is open already, nothing happens. After a failure that closed it, it is
        opened again.
        """

    def facts(self) -> dict[str, bytes]:
        """All facts."""

    def pages(self, table: str, keys: Iterable[int] | None = None) -> Iterator[tuple[int, bytes]]:
        """Pages of a table with their keys; all of them where no keys are given."""

    def commit(self, change: Change) -> None:
        """Write a change durably, all or nothing."""

    def tidy(self) -> None:
        """Give back space, and wipe older versions of pages as far as the store can."""

    def close(self) -> None:
        """Let other processes in."""


def number_of(facts: Mapping[str, bytes]) -> int:
    """The number of the last change; 0 for a new store."""
    return int.from_bytes(facts.get(NUMBER, b""), "little")
