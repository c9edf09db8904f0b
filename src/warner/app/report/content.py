"""What a report says, without any format: sections of paragraphs, lists and tables with bars.

All texts are plain. A writer makes them safe for its format.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Bar:
    """A share with its interval as a picture: a bar from 0, with the interval as a line.

    The numbers stand in the cells beside it.

    Attributes:
        estimate: the length of the bar.
        low, high: the interval.
        largest: the number at the right end of the picture, the same for all rows of a table.
    """

    estimate: float
    low: float
    high: float
    largest: float

    @property
    def ends(self) -> tuple[float, float]:
        """The numbers at the two ends of the picture."""
        return 0.0, self.largest


@dataclass(frozen=True)
class Shift(Bar):
    """A difference with its interval: a bar from the middle, which is 0, to either side."""

    @property
    def ends(self) -> tuple[float, float]:
        return -self.largest, self.largest


Cell = str | Bar


@dataclass(frozen=True)
class Table:
    """A table whose first column names its rows.

    Attributes:
        caption: a sentence above it.
        head: the names of the columns.
        rows: as long as ``head``; a bar stands in the last cell only.
    """

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class Points:
    """A list of sentences."""

    items: tuple[str, ...]


Block = str | Points | Table


@dataclass(frozen=True)
class Section:
    """A section with a heading.

    Attributes:
        title: the heading.
        blocks: paragraphs, lists and tables, in their order.
        parts: sections inside it.
    """

    title: str
    blocks: tuple[Block, ...] = ()
    parts: tuple[Section, ...] = ()


@dataclass(frozen=True)
class Report:
    """A whole report.

    Attributes:
        title: the heading of the report.
        about: lines below the title.
        notice: what stands in a frame above all else; "" for nothing.
        sections: the sections.
    """

    title: str
    about: tuple[str, ...]
    notice: str
    sections: tuple[Section, ...]


def scale_end(highs: Sequence[float]) -> float:
    """A round number at the end of a scale that holds all numbers.

    >>> scale_end([0.12, 0.571]), scale_end([0.0031]), scale_end([0.97]), scale_end([])
    (0.6, 0.004, 1.0, 1.0)
    """
    most = max(highs, default=0.0)
    if most <= 0:
        return 1.0
    unit = 1.0
    while unit > most:
        unit /= 10
    while unit * 10 < most:
        unit *= 10
    steps = next(
        step for step in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if step * unit >= most * (1 - 1e-9)
    )
    return float(f"{steps * unit:.12g}")
