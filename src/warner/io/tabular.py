"""Results that are tables: rows, the same as a data frame, and as HTML for notebooks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from warner._core import html
from warner.io.frames import frame_of_rows


class Tabular:
    """A result with rows. A base of classes that have ``rows``."""

    def rows(self) -> list[dict[str, Any]]:
        """One dict for each row, all with the same keys."""
        raise NotImplementedError

    def to_frame(self, backend: str = "pyarrow", **columns: Any) -> Any:
        """The rows as a data frame.

        Args:
            backend: a library that Narwhals can use, such as pyarrow, polars or pandas.
            columns: columns that stand before the others, with one value for all rows, such as
                ``week=3``.

        Raises:
            ArgumentError: no such library is installed, or a column of the table by that name.
            EmptyError: no rows.
        """
        return frame_of_rows(self.rows(), backend, columns)

    def _repr_html_(self) -> str:
        return of_rows(self.rows(), repr(self))


def of_rows(rows: Iterable[Mapping[str, Any]], caption: str, most: int = 50) -> str:
    """Rows of a table as HTML, the first of them where there are many."""
    table = list(rows)
    if not table:
        return f"<p>{html.text(caption)}</p>"
    if len(table) > most:
        caption = f"{caption} The first {most} of {len(table):,} rows."
    cells: list[Sequence[str]] = [[cell(entry) for entry in row.values()] for row in table[:most]]
    return html.table(list(table[0]), cells, caption)


def cell(entry: Any) -> str:
    """An entry of a table as text.

    >>> cell(0.123456), cell(None), cell(True), cell(1200), cell("a")
    ('0.1235', '', 'yes', '1,200', 'a')
    """
    if entry is None:
        return ""
    if isinstance(entry, bool):
        return "yes" if entry else "no"
    if isinstance(entry, int | np.integer):
        return f"{entry:,}"
    if isinstance(entry, float):
        return f"{entry:.4g}"
    return entry if isinstance(entry, str) else json.dumps(entry)
