"""Data frames of other libraries, which an upper room reads for the rooms below it.

A device needs numpy alone, so the rooms of a device know no data frames. A reader of frames is
registered here when it is imported. A function that is given an object asks whether a reader knows
it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

ColumnNames = str | Mapping[str, str] | None
"""Which columns hold reports: one name, {name in the schema: name in the frame}, or None."""


class ForeignTable(Protocol):
    """A data frame, eager or lazy, or a stream of rows that can be read once."""

    def reports(self, mechanisms: Mapping[str, Any], columns: Mapping[str, ColumnNames]) -> Any:
        """{attribute: its reports in the frame, in its order}, checked as the mechanisms'."""

    def tally(
        self,
        mechanisms: Mapping[str, Any],
        columns: Mapping[str, ColumnNames],
        by: Any,
        **options: Any,
    ) -> Any:
        """{attribute: its tally}, by columns of the frame or by values beside it."""


Reader = Callable[[Any], ForeignTable | None]
"""Returns the table that an object is, or None for an object of another sort."""

_READERS: list[Reader] = []


def register_reader(reader: Reader) -> None:
    """Let a reader be asked about objects that are given where reports are expected."""
    _READERS.append(reader)


def foreign_table(data: Any) -> ForeignTable | None:
    """The data frame that an object is; None for anything else.

    >>> foreign_table([1, 2]) is None
    True
    """
    for reader in _READERS:
        if (table := reader(data)) is not None:
            return table
    return None
