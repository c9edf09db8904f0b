"""A terminal: tables that fit its width, and counts in words."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from warner._core.text import visible

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.table import Table

_BETWEEN = 3  # the width of what stands between two columns
_MOST_FOLDED = 2 / 3  # the part of its width that a column may lose by folding
Side = Literal["left", "right"]


def plural(n: int, one: str, many: str) -> str:
    """A number of things in words.

    >>> plural(1, "person", "people"), plural(2000, "person", "people")
    ('1 person', '2,000 people')
    """
    return f"{n:,} {one if n == 1 else many}"


def in_people(weight: float | None) -> str:
    """The weight of one report in words.

    >>> in_people(2.1640), in_people(1.0), in_people(None)
    ('2.164 people', '1 person', '')
    """
    return "" if weight is None else f"{weight:,.4g} {'person' if weight == 1 else 'people'}"


def console(**options: Any) -> Console:
    """Standard output, or standard error with ``stderr=True``.

    Files and pipes get whole lines, unless the variable COLUMNS states a width. Labels and names
    can come from files of other people, so text is printed without markup and made
    :func:`visible`.
    """
    from rich.console import Console

    class Screen(Console):
        def print(self, *objects: Any, **settings: Any) -> None:
            super().print(*(visible(o) if isinstance(o, str) else o for o in objects), **settings)

    screen = Screen(highlight=False, markup=False, emoji=False, **options)
    if not screen.is_terminal and not os.environ.get("COLUMNS", "").isdigit():
        screen.width = 260
    return screen


@dataclass(frozen=True)
class FittingTable:
    """A table that fits the width of the screen.

    Where it is too wide, the widest column folds. Where that would leave it less than a third of
    its width, each row is a block of lines: its first cell, and then "title: cell" for each other
    cell that is not empty.

    Attributes:
        columns: {title: the side on which the cells of the column are aligned}.
        rows: the cells as texts.
    """

    columns: Mapping[str, Side]
    rows: Sequence[Sequence[str]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.cells import cell_len
        from rich.padding import Padding
        from rich.text import Text

        cells = [[visible(cell) for cell in row] for row in self.rows]
        lines = [list(self.columns), *cells]
        widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
        excess = sum(widths) + _BETWEEN * len(widths) - options.max_width
        widest = max(widths)
        if excess <= 0 or excess <= _MOST_FOLDED * widest:
            yield self._grid(cells, widths.index(widest) if excess > 0 else None)
            return
        titles = [title.strip() for title in self.columns]
        for first, *others in cells:
            yield Text(f"{titles[0]}: {first}" if titles[0] else first)
            for title, cell in zip(titles[1:], others, strict=True):
                if cell:
                    yield Padding(
                        Text(f"{title}: {cell}" if title else cell), (0, 0, 0, 2), expand=False
                    )
        yield Text()

    def _grid(self, cells: Sequence[Sequence[str]], folds: int | None) -> Table:
        """The table with its columns beside each other, of which at most one folds."""
        from rich import box
        from rich.table import Table
        from rich.text import Text

        grid = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for i, (name, side) in enumerate(self.columns.items()):
            grid.add_column(
                name, justify=side, overflow="fold", no_wrap=folds is not None and i != folds
            )
        for row in cells:
            grid.add_row(*map(Text, row))
        return grid


def table(columns: Mapping[str, Side], rows: Sequence[Sequence[str]]) -> FittingTable:
    """A table for the screen."""
    return FittingTable(columns, rows)
