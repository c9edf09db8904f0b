r"""One table for every result: rows of plain data, and how people read them.

The rows hold data: shares are fractions, and a missing number is None. A column says in which unit
people read it, so that no number in percent stands without its sign.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from textwrap import TextWrapper
from typing import Any, NamedTuple, cast

from warner._core import html
from warner._core.checks import show
from warner._core.errors import ArgumentError, EmptyError
from warner._core.extras import imported, pa, pq
from warner._core.foreign_tables import FrameSource
from warner._core.html import Bar, Markup
from warner._core.names import Hinting, explained as with_hints
from warner._core.text import (
    decimals_beside_0,
    decimals_of_number,
    decimals_of_percent,
    duration,
    meant,
    number,
    outwards,
    visible,
)

Row = Mapping[str, Any]

WIDTH = 80  # characters of a line of text
MOST = 50  # rows that a table shows of itself; files have all of them
_EXCEL_ROWS = 2**20  # of a sheet of Excel
_EXCEL_DIGITS = 10**15  # from here on Excel rounds whole numbers
_EXCEL_FORMATS = {"share": "0.0 %", "points": "+0.0 %;-0.0 %;0.0 %"}  # of fractions
_EXCEL_OF_UNIT = {  # of fractions in all rows, and of other numbers
    "probability": '[<0.0001]"< 0.0001";0.0000',
    "level": "0.0 %",
    "half_width": "0.0 %",
    "width_in_points": "0.0 %",
    "people": "#,##0",
}
_EXCEL_NUMBER = 8  # characters of a number as it is shown
_EXCEL_WIDTH = 60  # characters of the widest column
_GAP = "  "
_PICTURE = 20  # characters of a picture on a line of text
_LEAST_FOLDED = 12  # characters that a folded column keeps
_ERRORS = ("error", "standard_error")  # the keys of columns of standard errors
_EXACT_POINTS = 2  # decimals of points in papers that have all columns
_IN_HEADINGS = ("points", "width_in_points")  # units that papers write above the column
_MOST_IN_PAPERS = 2  # the priority of columns
_MOST_DECIMALS = 6  # of ratios, and of ends of intervals beside no effect
_NO_EFFECT = {"ratio": 1.0, "fixed": 0.0}
_LARGE_RATIO = 1e7  # from here on ratios have a power of ten
_PAPER = 72  # characters of a line below a table of LaTeX, which folds none itself
_NB = "\N{NO-BREAK SPACE}"
_MINUS = "\N{MINUS SIGN}"

# -----------------------------------------------------------------------------------------------
# Units: how a number of a column is written for people.


def _percent(value: float, decimals: int) -> str:
    return number(100 * value, decimals)


def _signed(value: float, decimals: int) -> str:
    text = number(100 * value, decimals)
    return f"+{text}" if value > 0 and float(text.replace(",", "")) != 0 else text


def _plain(value: float, decimals: int) -> str:
    """A number in four digits, or whole with marks of thousands.

    >>> _plain(0.123456, 0), _plain(12345.6, 0), _plain(1200, 0)
    ('0.1235', '12,346', '1,200')
    """
    if isinstance(value, int) or 1e4 <= abs(value) < 1e9:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def _ratio(value: float, decimals: int) -> str:
    """A ratio in two digits at least.

    >>> _ratio(1.5, 2), _ratio(0.00078, 2), _ratio(7.2e-8, 2)
    ('1.50', '0.00078', '7.2e-08')
    """
    if not 10.0**-_MOST_DECIMALS <= value < _LARGE_RATIO:
        return f"{value:.2g}"
    return number(value, max(decimals, 1 - math.floor(math.log10(value))))


def _decimals_of_end(value: float, decimals: int, unit: str) -> int:
    """The decimals of an end of an interval, of which none is written as no effect that is not.

    >>> [_decimals_of_end(value, 2, "ratio") for value in (1.12, 1.0004, 1.0)]
    [2, 4, 2]
    """
    none = _NO_EFFECT.get(unit)
    while none is not None and round(value, decimals) == none != round(value, _MOST_DECIMALS):
        decimals += 1
    return decimals


def _decimals_of_ratio(low: float | None, high: float | None) -> int:
    """The decimals of a ratio that tell the width of its interval in two digits.

    >>> _decimals_of_ratio(0.5, 4.5), _decimals_of_ratio(0.969, 1.03), _decimals_of_ratio(12, 189)
    (2, 3, 0)
    """
    if low is None or high is None or not 0 < high - low < math.inf:
        return 2
    needed = 1 - math.floor(math.log10(high - low))
    return min(max(needed, 2 if high < 100 else 0), _MOST_DECIMALS)


def _excel_format(unit: str, values: Sequence[Any]) -> str:
    """How Excel shows the numbers of a column, which keep all their digits.

    >>> _excel_format("number", [39.98567, 4.1]), _excel_format("number", [12345.6])
    ('#,##0.00', '#,##0')
    """
    if unit in _EXCEL_OF_UNIT:
        return _EXCEL_OF_UNIT[unit]
    sizes = [abs(value) for value in values if isinstance(value, float) and 0 < abs(value) < 1e300]
    if not sizes:
        return "General"
    decimals = min(max(3 - math.floor(math.log10(max(sizes))), 0), 9)
    return "#,##0" + f".{'0' * decimals}" * (decimals > 0)


class Unit(NamedTuple):
    """How numbers of a unit are written, by ``write(value, decimals)``, and what follows them."""

    write: Callable[[float, int], str]
    suffix: str = ""


UNITS = {
    "share": Unit(_percent, f"{_NB}%"),
    "points": Unit(_signed, f"{_NB}points"),
    "half_width": Unit(lambda value, _: f"\N{PLUS-MINUS SIGN}{50 * value:.2g}"),  # in points
    "people": Unit(lambda value, _: number(value, 0)),
    "number": Unit(_plain),
    "estimate": Unit(number),  # with the decimals that its interval warrants
    # The widths of intervals of a share, a fraction, and of a number.
    "width_in_points": Unit(lambda value, _: f"{100 * value:.3g}", f"{_NB}points"),
    "width": Unit(lambda value, _: f"{value:.3g}", f"{_NB}wide"),
    "epsilon": Unit(lambda value, _: f"{value:.4g}"),
    "level": Unit(lambda value, _: f"{100 * value:.4g}", f"{_NB}%"),
    "probability": Unit(lambda value, _: "< 0.0001" if value < 1e-4 else f"{value:.4f}"),
    "fixed": Unit(number),  # with the decimals of the column
    "ratio": Unit(_ratio),  # with the decimals that each interval needs
    "times": Unit(lambda value, _: f"{value:.3g}", f"{_NB}times"),
    "seconds": Unit(lambda value, _: duration(value)),
}
# text: as it is; data: for files and frames alone; bar: a picture, for people alone.
WITHOUT_NUMBERS = ("text", "data", "bar")


@dataclass(frozen=True)
class Column:
    """A column of a :class:`Table`.

    Attributes:
        key: where its data stand in a row.
        title: what stands above it; None for the key.
        unit: a name in :data:`UNITS`; "text" for labels and values of a domain; "data" for a column
            of files and frames alone; "bar" for a picture of the share ``key`` with its ends.
        priority: 0 for a column that always stands; of the others, those with the largest number
            are left out first where a line of text is too short. Papers leave out 3 and more.
        ends: the keys of the two ends of an interval, which then stand in one cell.
        has_value: whether the value at ``key`` stands in the same cell before them: "2 (1 to 3)".
        decimals: those of shares and points; None for as many as the column needs.
        shown: where the text stands in a row that people read in place of the data, as where a
            column has shares and other numbers; "" for the data as the unit writes them.
    """

    key: str
    title: str | None = None
    unit: str = "text"
    priority: int = 0
    ends: tuple[str, str] | None = None
    decimals: int | None = None
    has_value: bool = False
    shown: str = ""

    @property
    def heading(self) -> str:
        """What stands above the column."""
        return self.key if self.title is None else self.title

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of its data in files and frames."""
        if self.unit == "bar":
            return ()
        value = (self.key,) if self.ends is None or self.has_value else ()
        return (*value, *(self.ends or ()))

    @property
    def headings(self) -> tuple[str, ...]:
        """What stands above the data of each key where people read them in a spreadsheet.

        >>> Column("interval", "95 % interval", ends=("low", "high")).headings
        ('95 % interval, from', '95 % interval, to')
        >>> Column("people_about").headings
        ('people about',)
        """
        title = (self.title or self.key.replace("_", " ")).removesuffix(" (interval)")
        if self.unit == "half_width":  # whose title is a number of people, of whole widths in files
            title = f"width with {title} people"
        ends = () if self.ends is None else (f"{title}, from", f"{title}, to")
        return (*((title,) if self.ends is None or self.has_value else ()), *ends)

    @property
    def is_read(self) -> bool:
        """Whether people read it as text."""
        return self.unit not in ("data", "bar")

    @property
    def is_number(self) -> bool:
        """Whether cells are aligned on the right."""
        return self.unit not in WITHOUT_NUMBERS

    def cells(self, rows: Sequence[Row], decimals: int | None = None) -> list[str]:
        """The cells for people; shares and points have ``decimals``, or as many as they need."""
        if self.shown:
            return [row[self.shown] for row in rows]
        if not self.is_number:
            return [entry(row[self.key]) for row in rows]
        if self.decimals is not None:
            decimals = self.decimals
        digits = self.needed_decimals(rows) if decimals is None else decimals
        if self.key in _ERRORS:  # which are a fraction of the interval beside them
            digits = max(1, digits)
        each = [digits] * len(rows)
        if self.ends is not None:
            low, high = self.ends
            if self.unit == "ratio" and self.decimals is None:
                each = [_decimals_of_ratio(row[low], row[high]) for row in rows]
            intervals = [
                self._interval(row[low], row[high], digits)
                for row, digits in zip(rows, each, strict=True)
            ]
            if not self.has_value:
                return intervals
        values = [
            self._written(row[self.key], digits) for row, digits in zip(rows, each, strict=True)
        ]
        if self.ends is not None:
            return [f"{v} ({i})" if i else v for v, i in zip(values, intervals, strict=True)]
        return values

    def needed_decimals(self, rows: Sequence[Row]) -> int:
        """As many as the narrowest interval warrants, or three digits of the largest number."""
        if self.ends is not None:
            low, high = self.ends
            ends = [(row[low], row[high]) for row in rows]
            widths = [b - a for a, b in ends if not (_is_missing(a) or _is_missing(b))]
            if self.unit == "estimate":
                return decimals_of_number(min(widths, default=1.0))
            return decimals_of_percent(widths)
        numbers = (row[self.key] for row in rows)
        largest = max((abs(v) for v in numbers if isinstance(v, float)), default=1.0)
        if not 0 < largest < 0.1:
            return 1
        return min(-math.floor(math.log10(largest)), 6)

    def _written(self, value: Any, decimals: int) -> str:
        if _is_missing(value) or isinstance(value, str):
            return value if isinstance(value, str) else ""
        unit = UNITS[self.unit]
        return f"{unit.write(value, decimals)}{unit.suffix}"

    def _interval(self, low: Any, high: Any, decimals: int) -> str:
        if _is_missing(low) or _is_missing(high):
            return ""
        unit = UNITS[self.unit]
        if self.unit == "points":
            decimals = decimals_beside_0(100 * low, 100 * high, decimals)
        if self.unit in ("share", "points"):  # outwards, so that it stays at least as wide
            low, high = outwards(low, high, decimals + 2)
        if self.unit == "estimate":
            low, high = outwards(low, high, decimals)
        if isinstance(low, int) and low == high:  # a rank
            return unit.write(low, decimals)
        written = [
            unit.write(end, _decimals_of_end(end, decimals, self.unit)) for end in (low, high)
        ]
        return f"{' to '.join(written)}{unit.suffix}"


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def as_text(value: Any) -> str:
    """A value of a domain as a label: a string as it is, any other value as JSON.

    >>> as_text("x"), as_text(3), as_text((1, 2))
    ('x', '3', '[1, 2]')
    """
    return value if isinstance(value, str) else json.dumps(value)


def entry(value: Any) -> str:
    """A cell of a column of texts.

    >>> entry("a"), entry(None), entry(True), entry(3), entry((1, 2))
    ('a', '', 'yes', '3', '[1, 2]')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else as_text(value)


# -----------------------------------------------------------------------------------------------
# The table.


@dataclass(frozen=True, repr=False)
class Table(FrameSource, Hinting):
    """Rows of plain data with columns that say how people read them.

    Attributes:
        columns: the columns, as :class:`Column` or by their keys alone.
        rows: one dict for each row.
        notes: sentences below the table that everybody reads.
        title: a sentence above it.
        simulated: whether the data are of a simulation; every form of the table says so.
        explained: sentences on how the numbers were computed, for readers who ask.
        summary: (name, value) of what holds for all rows, such as the number of people. It stands
            below the rows in papers, where notes are comments; elsewhere the notes say it.

    >>> shares = [{"value": "yes", "share": 0.561, "low": 0.5, "high": 0.62}]
    >>> interval = Column("interval", "95 % interval", "share", ends=("low", "high"))
    >>> table = Table(["value", Column("share", unit="share"), interval], shares, title="Smokers")
    >>> print(table)
    Smokers
    value   share   95 % interval
    -----  ------  --------------
    yes    56.1 %  50.0 to 62.0 %
    >>> print(table.csv(), end="")
    value,share,low,high
    yes,0.561,0.5,0.62
    """

    columns: Sequence[Column | str]
    rows: Sequence[Row]
    notes: Sequence[str] = ()
    title: str = ""
    simulated: bool = False
    explained: Sequence[str] = ()
    summary: Sequence[tuple[str, str]] = ()

    def __post_init__(self) -> None:
        columns = tuple(Column(c) if isinstance(c, str) else c for c in self.columns)
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "rows", tuple(self.rows))
        for name in ("notes", "explained"):
            object.__setattr__(self, name, tuple(note for note in getattr(self, name) if note))

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __str__(self) -> str:
        return self.text(most=MOST)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.html(most=MOST)

    @property
    def _columns(self) -> tuple[Column, ...]:
        return cast(tuple[Column, ...], self.columns)

    @property
    def _sentences(self) -> list[str]:
        """The notes, with the mark of a simulation that neither they nor the title have."""
        said = " ".join([self.title, *self.notes]).lower()
        mark = ["The reports are simulated."] if self.simulated and "simulated" not in said else []
        return [*mark, *self.notes]

    @property
    def _in_notes(self) -> list[str]:
        """The sentences of papers: what the summary in the table says is not said again."""
        said = {f"{name}: {text}." for name, text in self.summary}
        return [sentence for sentence in self._sentences if sentence not in said]

    def _cells(self, rows: Sequence[Row], of_points: int = 0) -> dict[Column, list[str]]:
        """The cells of each column; a share has the decimals of the interval beside it."""
        intervals = {c.unit: c for c in self._columns if c.ends is not None and c.is_number}
        decimals = {unit: c.needed_decimals(rows) for unit, c in intervals.items()}
        if "points" in decimals:
            decimals["points"] = max(decimals["points"], of_points)
        return {c: c.cells(rows, decimals.get(c.unit)) for c in self._columns if c.unit != "bar"}

    def _shown(self, most: int | None) -> tuple[Sequence[Row], list[str]]:
        """The first rows, and the notes, which say how many rows there are."""
        if most is None or len(self.rows) <= most:
            return self.rows, self._sentences
        count = (
            f"The first {most} of {len(self.rows):,} rows are shown. To see all, call to_frame()."
        )
        return self.rows[:most], [count, *self._sentences]

    def text(
        self,
        width: int | None = None,
        most: int | None = None,
        explain: bool = False,
        sentences: int | None = None,
        to_see_all: str = "",
    ) -> str:
        """The table as lines of plain text.

        Where it is too wide, pictures are left out, then columns by their priority until the others
        fit. Of the columns that were left out, each that has room after all comes back, and a note
        names the rest. Then the widest column of texts folds.

        Args:
            width: characters of a line; None for 80.
            most: how many rows at most; None for all.
            explain: whether the sentences on how the numbers were computed follow.
            sentences: characters of a line of title and notes; None for ``width``.
            to_see_all: what to do to see all columns, as a sentence; "" where nothing helps.
        """
        width = WIDTH if width is None else width
        sentences = width if sentences is None else sentences
        rows, notes = self._shown(most)
        if explain:
            notes = [*notes, *self.explained]
        columns, written = [c for c in self._columns if c.is_read], self._cells(rows)
        lines_of = {c: [c.heading, *written[c]] for c in columns}
        shares = {c.key for c in columns if c.unit in ("share", "points")}
        drawn = [c for c in self._columns if c.unit == "bar" and rows]
        pictures = {c: _pictures(c, rows, c.key in shares) for c in drawn}
        cells = {
            c: [visible(line).replace(_NB, " ") for line in lines]
            for c, lines in (lines_of | pictures).items()
        }
        columns += pictures
        widths = {c: max(map(display_width, lines)) for c, lines in cells.items()}

        def excess() -> int:
            return sum(widths[c] for c in columns) + len(_GAP) * (len(columns) - 1) - width

        if excess() > 0:
            columns = [c for c in columns if c not in pictures]
        left_out: list[Column] = []
        for column in sorted(columns, key=lambda c: -c.priority):
            if excess() > 0 and column.priority:
                columns.remove(column)
                left_out.append(column)
        if excess() <= 0:  # a narrow column may have room where a wide one had none
            for column in reversed(left_out):
                if excess() + widths[column] + len(_GAP) <= 0:
                    columns = [c for c in cells if c in columns or c is column]
        left_out = [c for c in left_out if c not in columns]
        if excess() > 0:
            texts = [c for c in columns if not c.is_number] or columns
            widest = max(texts, key=lambda c: widths[c])
            least = max(_LEAST_FOLDED, widths[widest] - excess())
            widths[widest] = min(widths[widest], least)
        if left_out:
            names = ", ".join(c.heading for c in self._columns if c in left_out)
            notes = [*notes, f"Columns not shown here: {names}. {to_see_all}".rstrip()]
        head, *lines = [
            _lines(columns, [cells[c][i] for c in columns], widths) for i in range(len(rows) + 1)
        ]
        rule = _GAP.join("-" * widths[c] for c in columns)
        body = [line for block in lines for line in block]
        about = [line for note in notes for line in _folded(visible(note), sentences)]
        title = _folded(visible(self.title), sentences) if self.title else []
        return "\n".join([*title, *head, rule, *body, *about]).replace(_NB, " ")

    def html(self, most: int | None = None) -> html.Markup:
        """The table as HTML, with a bar for each row where a column is one."""
        rows, notes = self._shown(most)
        columns = [c for c in self._columns if c.unit != "data"]
        written = self._cells(rows)
        drawn: list[Sequence[str]] = [
            list(map(html.interval_bar, bars(c, rows))) if c.unit == "bar" else written[c]
            for c in columns
        ]
        cells: Iterable[Sequence[object]] = zip(*drawn, strict=True)
        table = html.table([c.heading for c in columns], cells, self.title)
        return html.Markup("\n".join([table, *(f"<p>{html.text(note)}</p>" for note in notes)]))

    @with_hints
    def csv(self) -> str:
        """The data as CSV that spreadsheets show and do not run.

        A text that a spreadsheet takes for a formula gets a ``'`` in front, see :func:`as_cell`. Of
        a simulation each row says so, in one more column.
        """
        names, rows = self._data()
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(map(as_cell, names))
        cell = lru_cache(as_cell)  # most texts stand in every row
        writer.writerows(
            [cell(value) if type(value) is str else _raw(value) for value in row] for row in rows
        )
        return out.getvalue()

    @with_hints
    def xlsx(self, *, shown: Sequence[Table] = ()) -> bytes:
        """The data as an Excel workbook, with the columns of :meth:`csv` under headings for people.

        Numbers are numbers, shares are shown in per cent, and every text is a text, also one that
        begins with ``=``. A title and notes stand on the last sheet. It needs the extra ``excel``.

        Args:
            shown: the same result as articles print it. These tables, with the columns of an
                article, stand on a sheet of their own before that of the data.

        Returns:
            the bytes of the file; ``Path("shares.xlsx").write_bytes(table.xlsx())`` writes it.

        Raises:
            ArgumentError: more rows than a sheet of Excel has.
            MissingExtraError: openpyxl is not installed.
        """
        openpyxl = imported("openpyxl", "an Excel file")
        rows = max(len(self), sum(len(table) + 3 for table in shown))
        if rows >= _EXCEL_ROWS:
            rule = f"must have fewer than {_EXCEL_ROWS:,} rows for Excel"
            raise ArgumentError("table", rule, f"{rows:,} rows", "Write a .csv file instead")
        book = openpyxl.Workbook()
        book.remove(book.active)
        if shown:
            sheet, line = book.create_sheet("tables"), 1
            for table in shown:
                line = table._fill(sheet, line, for_papers=True) + 1
        sheet = book.create_sheet("results")
        sheet.freeze_panes = "A2"
        replace(self, title="")._fill(sheet, 1)
        if sentences := [text for text in [self.title, *self._sentences] if text]:
            notes = book.create_sheet("notes")
            notes.column_dimensions["A"].width = 2 * _EXCEL_WIDTH
            for i, sentence in enumerate(sentences, 1):
                _write_row(notes, i, [sentence])
                notes.cell(i, 1).alignment = openpyxl.styles.Alignment(wrap_text=True)
        out = io.BytesIO()
        book.save(out)
        return out.getvalue()

    def _fill(self, sheet: Any, first: int, for_papers: bool = False) -> int:
        """Write the table into a sheet of Excel, for papers as articles print it; the next line."""
        bold = imported("openpyxl", "an Excel file").styles.Font(bold=True)
        columns, rows = self._columns, self.rows
        if for_papers:
            columns = tuple(c for c in columns if c.is_read and c.priority <= _MOST_IN_PAPERS)
            texts = {c.key: c.shown for c in columns if c.shown and not c.is_number}
            rows = [{**row, **{key: row[shown] for key, shown in texts.items()}} for row in rows]
        names, lines = replace(self, columns=columns, rows=rows)._data()
        headings = {k: h for c in columns for k, h in zip(c.keys, c.headings, strict=False)}
        if self.title:
            _write_row(sheet, first, [self.title])
            sheet.cell(first, 1).font = bold
            first += 1
        for i, line in enumerate([[headings.get(name, name) for name in names], *lines], first):
            _write_row(sheet, i, line)
        units = {key: each.unit for each in columns for key in each.keys}
        for i, name in enumerate(names):
            of_share = _EXCEL_FORMATS.get(units.get(name, ""))
            of_number = _excel_format(units.get(name, ""), [line[i] for line in lines])
            cells = [sheet.cell(line, i + 1) for line in range(first, first + len(lines) + 1)]
            for cell, entries in zip(cells[1:], rows, strict=True):
                if isinstance(cell.value, int | float):
                    is_share = of_share and entries.get("is_share", True)
                    cell.number_format = of_share if is_share else of_number
            cells[0].font = bold
            lengths = [len(cell.value) for cell in cells if isinstance(cell.value, str)]
            width = min(max([_EXCEL_NUMBER, *lengths]), _EXCEL_WIDTH) + 2
            letter, widths = cells[0].column_letter, sheet.column_dimensions
            widths[letter].width = max(width, widths[letter].width if letter in widths else 0)
        return first + len(lines) + 1

    def _data(self) -> tuple[list[str], list[list[Any]]]:
        """The names and rows of the data in files. Of a simulation each row says so."""
        names = [key for column in self._columns for key in column.keys]
        mark = {"simulated": "yes"} if self.simulated and "simulated" not in names else {}
        return [*names, *mark], [
            [*map(row.__getitem__, names), *mark.values()] for row in self.rows
        ]

    @with_hints
    def parquet(self) -> bytes:
        """The data as a Parquet file, with the columns of :meth:`csv` and their types.

        Columns hold whole numbers, numbers, truth values or texts. A column of numbers keeps its
        type where no row has one. It needs the extra ``files``.

        Returns:
            the bytes of the file.

        Raises:
            MissingExtraError: pyarrow is not installed.

        >>> import io, pyarrow.parquet
        >>> table = Table(["value", Column("low", unit="share")], [{"value": "yes", "low": None}])
        >>> pyarrow.parquet.read_table(io.BytesIO(table.parquet())).schema.types
        [DataType(string), DataType(double)]
        """
        imported("pyarrow", "a Parquet file")
        names, rows = self._data()
        numbers = {key for c in self._columns if c.is_number for key in c.keys}
        data = {}
        for i, name in enumerate(names):
            entries = [row[i] for row in rows]
            kinds = {type(each) for each in entries if each is not None}
            if kinds <= {int, float} and (kinds or name in numbers):
                typed = pa.array(entries, pa.int64() if kinds == {int} else pa.float64())
            elif kinds == {bool}:
                typed = pa.array(entries, pa.bool_())
            else:
                texts = [None if each is None else as_text(each) for each in entries]
                typed = pa.array(texts, pa.string())
            data[name] = typed
        out = io.BytesIO()
        pq.write_table(pa.table(data), out)
        return out.getvalue()

    @with_hints
    def latex(self, wide: bool = False) -> str:
        r"""The table for LaTeX with the package booktabs.

        Args:
            wide: whether it has all columns. Otherwise those that a paper hardly has room for, such
                as degrees of freedom, are left out, and a comment names them.

        >>> print(Table(["a_b", Column("p", unit="points")], [{"a_b": "x&y", "p": -0.5}]).latex())
        % This table needs \usepackage{booktabs}.
        \begin{tabular}{lr}
        \toprule
        a\_b & p (points) \\
        \midrule
        x\&y & $-$50.0 \\
        \bottomrule
        \end{tabular}
        """
        columns, lines, summary, left_out = self._in_papers(wide)
        sides = "".join("r" if c.is_number else "l" for c in columns)
        head, *body = [" & ".join(map(latex_text, line)) + r" \\" for line in lines]
        begin = rf"\begin{{tabular}}{{{sides}}}"
        needed = r"This table needs \usepackage{booktabs}."
        about = [self.title, *self._in_notes, left_out, needed]
        comments = [f"% {visible(text)}" for text in about if text]
        # Across all columns: a name in the first one would make it as wide as the name.
        below = [
            rf"\multicolumn{{{len(columns)}}}{{l}}{{{latex_text(line)}}} \\"
            for text in summary
            for line in _folded(text, _PAPER)
        ]
        below = [r"\midrule", *below] if below else []
        rules = [begin, r"\toprule", head, r"\midrule", *body, *below, r"\bottomrule"]
        return "\n".join([*comments, *rules, r"\end{tabular}"])

    @with_hints
    def typst(self, wide: bool = False) -> str:
        """The table for Typst. All texts are strings, so that none of them is markup.

        Args:
            wide: whether it has all columns, as for :meth:`latex`.
        """
        columns, lines, summary, left_out = self._in_papers(wide)
        sides = ", ".join("right" if c.is_number else "left" for c in columns)
        head, *body = [", ".join(map(_typst_text, line)) for line in lines]
        table = [
            "#table(",
            f"  columns: {len(columns)},",
            f"  align: ({sides},),",
            f"  table.header({head}),",
            *(f"  {line}," for line in body),
            *(
                f"  table.cell(colspan: {len(columns)}, align: left, {_typst_text(text)}),"
                for text in summary
            ),
            ")",
        ]
        above = [f"#strong({_typst_text(self.title)})"] if self.title else []
        below = [f"// {visible(left_out)}"] if left_out else []
        below += [f"#par({_typst_text(_with_minus(note))})" for note in self._in_notes]
        return "\n".join([*above, *table, *below])

    @with_hints
    def document(self, wide: bool = False) -> Markup:
        """The table as HTML that word processors such as Word open and take from the clipboard.

        Args:
            wide: whether it has all columns, as for :meth:`latex`.
        """
        columns, lines, summary, left_out = self._in_papers(wide)
        sides = ["right" if c.is_number else "left" for c in columns]

        def row(line: Sequence[str], tag: str) -> str:
            cells = zip(line, sides, strict=True)
            written = [f'<{tag} align="{side}">{html.text(cell)}</{tag}>' for cell, side in cells]
            return f"<tr>{''.join(written)}</tr>"

        above = [f"<p><b>{html.text(visible(self.title))}</b></p>"] if self.title else []
        below = [
            f'<tr><td colspan="{len(columns)}">{html.text(line)}</td></tr>' for line in summary
        ]
        notes = [_with_minus(visible(note)) for note in [*self._in_notes, left_out] if note]
        return Markup(
            "\n".join(
                [
                    *above,
                    "<table>",
                    row(lines[0], "th"),
                    *(row(line, "td") for line in lines[1:]),
                    *below,
                    "</table>",
                    *(f"<p>{html.text(note)}</p>" for note in notes),
                ]
            )
        )

    def printed(
        self, most: float = math.inf, of_points: int = 0
    ) -> tuple[list[Column], list[list[str]]]:
        """The columns for people up to a priority, and the lines of their titles and cells.

        Differences in points have at least so many decimals.
        """
        columns = [c for c in self._columns if c.is_read and c.priority <= most]
        written = self._cells(self.rows, of_points)
        cells = [[visible(text) for text in (c.heading, *written[c])] for c in columns]
        return columns, [list(line) for line in zip(*cells, strict=True)]

    def _in_papers(self, wide: bool) -> tuple[list[Column], list[list[str]], list[str], str]:
        """What :meth:`printed` gives, the summary in lines, and a sentence on what is left out.

        Numbers have a real minus.
        """
        # Who asks for everything can round what is printed.
        shown = (math.inf, _EXACT_POINTS) if wide else (_MOST_IN_PAPERS, 0)
        columns, (head, *body) = self.printed(*shown)
        names = [c.heading for c in self._columns if c.is_read and c not in columns]
        left_out = (
            f"Columns not shown here: {', '.join(names)}. To see all columns, pass wide=True (in a "
            "command: --wide)."
        )
        # Once above the column, where lines are short.
        units = [
            UNITS[c.unit].suffix if c.unit in _IN_HEADINGS and not c.shown else "" for c in columns
        ]
        head = [
            f"{text} ({unit.strip()})" if unit else text
            for text, unit in zip(head, units, strict=True)
        ]
        lines = [
            [
                _with_minus(text.removesuffix(unit)) if c.is_number else text
                for c, unit, text in zip(columns, units, line, strict=True)
            ]
            for line in body
        ]
        summary = [f"{visible(name)}: {_with_minus(value)}" for name, value in self.summary]
        return columns, [head, *lines], summary, left_out if names else ""

    def pictures(self) -> dict[str, list[Bar]]:
        """The pictures of all rows, by the headings of their columns."""
        return {c.heading: bars(c, self.rows) for c in self._columns if c.unit == "bar"}

    def to_frame(self, backend: str = "pyarrow", **columns: Any) -> Any:
        """The data as a data frame.

        Args:
            backend: a library that Narwhals can use, such as pyarrow, polars or pandas. A table of
                pyarrow has no ``head``; ``to_frame("pandas").head()`` shows the first rows.
            columns: columns that stand before the others, with one value for all rows, such as
                ``week=3``.

        Raises:
            ArgumentError: no such library is installed, or a column of the table by that name.
            EmptyError: no rows.
        """
        names = [key for column in self._columns for key in column.keys]
        return frame_of_rows([{n: row[n] for n in names} for row in self.rows], backend, columns)

    def read_as(self, tables: Iterable[Table], more: Iterable[str] = ()) -> Table:
        """The data with the headings, units and sentences of the tables that people read."""
        sentences: dict[str, None] = dict.fromkeys(more)
        of_key: dict[str, tuple[str, str]] = {}
        for table in tables:
            for text in [table.title, *table.notes]:
                sentences[_OF_FILES.sub("", text).strip()] = None
            for column in table._columns:
                unit = "width_in_points" if column.unit == "half_width" else column.unit
                for key, title in zip(column.keys, column.headings, strict=False):
                    of_key.setdefault(key, (title, unit))  # its heading says that it is whole
        columns = []
        for column in self._columns:
            title, unit = of_key.get(column.key, ("", column.unit))
            if column.unit != "text" or unit == "data":
                unit = column.unit
            is_one = column.ends is None and column.unit != "bar"
            titled = (column.title or title or None) if is_one else column.title
            columns.append(replace(column, title=titled, unit=unit))
        sentences.pop(self.title, None)
        return replace(self, columns=columns, notes=[*(sentences | dict.fromkeys(self.notes))])

    def beside(self, columns: Sequence[str], values: Sequence[Any]) -> Table:
        """The table with more columns before the others, of one value each.

        >>> Table(["a"], [{"a": 1}]).beside(["ward"], ["north"]).rows
        ({'ward': 'north', 'a': 1},)
        """
        more = dict(zip(columns, values, strict=True))
        rows = [{**more, **row} for row in self.rows]
        return replace(self, columns=(*columns, *self.columns), rows=rows)


class Tabular(FrameSource, Hinting):
    """A result that is a table. A base of classes with a method ``table``."""

    def table(self) -> Table:
        """The result as a table for people, pages and files."""
        raise NotImplementedError

    def __str__(self) -> str:
        return str(self.table())

    def rows(self) -> list[dict[str, Any]]:
        """One dict for each row, all with the same keys."""
        return [dict(row) for row in self.table().rows]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.rows())

    def to_frame(self, backend: str = "pyarrow", **columns: Any) -> Any:
        """The rows as a data frame: see :meth:`Table.to_frame`."""
        return frame_of_rows(self.rows(), backend, columns)

    def _repr_html_(self) -> str:
        return self.table().html(most=MOST)


# -----------------------------------------------------------------------------------------------
# Lines of text.


def display_width(text: str) -> int:
    """The columns of a terminal that a text takes.

    >>> display_width("abc"), display_width("\u6771\u4eac"), display_width("e\u0301")
    (3, 4, 1)
    """
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(unicodedata.combining(c) > 0 for c in text)


def _folded(text: str, width: int) -> list[str]:
    """A text as lines of some width; line ends stay."""
    wrap = _Wrapper(width, break_on_hyphens=False).wrap
    return [folded for line in text.split("\n") for folded in wrap(line) or [""]]


class _Wrapper(TextWrapper):
    # Also behind the comma of "forced:yes=1/12,no=1/12", and never within 1,234 or before %.
    wordsep_simple_re = re.compile(r"(\s+(?!%)|(?<=,)(?=[^\d\s]))")


def _lines(
    columns: Sequence[Column], cells: Sequence[str], widths: Mapping[Column, int]
) -> list[str]:
    """The lines of one row, several where a cell folds."""
    stacks = [
        [text]
        if display_width(text) <= widths[c] and "\n" not in text
        else _folded(text, widths[c])
        for c, text in zip(columns, cells, strict=True)
    ]
    lines = []
    for i in range(max(map(len, stacks))):
        line = []
        for column, stack in zip(columns, stacks, strict=True):
            text = stack[i] if i < len(stack) else ""
            blank = " " * (widths[column] - display_width(text))
            is_right = column.is_number or column.unit == "bar"
            line.append(f"{blank}{text}" if is_right else f"{text}{blank}")
        lines.append(_GAP.join(line).rstrip())
    return lines


# -----------------------------------------------------------------------------------------------
# Cells of pages, files and frames.


def bars(column: Column, rows: Sequence[Row]) -> list[Bar]:
    """A picture of each number with its interval, all on one scale, with 0 where it begins."""
    low, high = column.ends or (column.key, column.key)

    def at(row: Row, key: str) -> float:
        return 0.0 if _is_missing(row[key]) else float(row[key])

    drawn = [(at(row, column.key), at(row, low), at(row, high)) for row in rows]
    end = scale_end([abs(value) for line in drawn for value in line])
    start = -end if any(value < 0 for line in drawn for value in line) else 0.0
    return [Bar(*line, end, start) for line in drawn]


def _pictures(column: Column, rows: Sequence[Row], are_shares: bool) -> list[str]:
    """The scale of a column of pictures, and a picture of each estimate and its interval."""
    drawn = bars(column, rows)
    start, end = drawn[0].start, drawn[0].end
    line, point = list(_glyphs())

    def at(value: float) -> int:
        share = (value - start) / (end - start)
        return round(min(max(share, 0.0), 1.0) * (_PICTURE - 1))

    left, right = (f"{100 * x:.4g} %" if are_shares else f"{x:.4g}" for x in (start, end))
    pictures = [left + right.rjust(_PICTURE - len(left))]
    for row, bar in zip(rows, drawn, strict=True):
        if _is_missing(row[column.key]):
            pictures.append("")
            continue
        spots = [" "] * _PICTURE
        if column.ends is not None:
            spots[at(bar.low) : at(bar.high) + 1] = line * (at(bar.high) - at(bar.low) + 1)
        spots[at(bar.estimate)] = point
        pictures.append("".join(spots))
    return pictures


def _glyphs() -> str:
    """The line and the point of a picture, in letters that standard output can write."""
    glyphs = "\N{BOX DRAWINGS LIGHT HORIZONTAL}\N{BLACK CIRCLE}"
    try:
        glyphs.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return "-o"
    return glyphs


def scale_end(highs: Iterable[float]) -> float:
    """A round number at the end of a scale that holds all numbers.

    >>> scale_end([0.12, 0.571]), scale_end([0.0031]), scale_end([0.97]), scale_end([])
    (0.6, 0.004, 1.0, 1.0)
    """
    most = max(highs, default=0.0)
    if most <= 0:
        return 1.0
    unit = 10.0 ** math.floor(math.log10(most))
    steps = (1, 1.5, 2, 3, 4, 5, 6, 8, 10)
    return float(f"{next(s for s in steps if s * unit >= most * (1 - 1e-9)) * unit:.12g}")


# What a table that is printed says of one in a file.
_OF_FILES = re.compile(r"([^.]* shown in bands\. )?[^.]*\badd -o FILE\.csv[^.]*\.")

# Spreadsheets take a cell for a formula that starts like this, in full width too. A number is none.
_FORMULA = re.compile(r"'*\s*[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]")
_PLAIN_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?")


def as_cell(value: Any) -> str:
    """A value of a domain, or a name, as a cell that no spreadsheet takes for a formula.

    >>> as_cell("=1+1"), as_cell("@home"), as_cell(-5), as_cell("-5"), as_cell("a-b")
    ("'=1+1", "'@home", '-5', '-5', 'a-b')
    """
    text = visible(as_text(value))
    # The label is the cell without its first quotation mark. Numbers stay as they are.
    return f"'{text}" if _FORMULA.match(text) and not _PLAIN_NUMBER.fullmatch(text) else text


def _raw(value: Any) -> Any:
    """An entry of a CSV file: numbers as they are, all else as a cell without formulas."""
    if value is None or isinstance(value, float) or type(value) is int:
        return value
    return as_cell(value)


def _write_row(sheet: Any, number: int, values: Iterable[Any]) -> None:
    """Write a row of a sheet of Excel: what is no number is a text, and no formula."""
    for column, value in enumerate(values, 1):
        if _is_missing(value):
            continue
        cell = sheet.cell(number, column)
        if isinstance(value, int | float) and abs(value) < _EXCEL_DIGITS:
            cell.value = value
        else:
            cell.value = str(value) if isinstance(value, float) else visible(as_text(value))
            cell.data_type = "s"


_LATEX = {each: f"\\{each}" for each in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    _NB: "~",
    _MINUS: "$-$",
}


def _with_minus(text: str) -> str:
    """A text whose negative numbers have a minus in place of a hyphen.

    >>> print(_with_minus("-0.5 to -0.2, of 2020-2021"))
    \u22120.5 to \u22120.2, of 2020-2021
    """
    return re.sub(r"(?<![\w-])-(?=[0-9]|inf)", _MINUS, text)


def latex_text(text: str) -> str:
    r"""A text with the characters escaped that LaTeX reads as commands.

    >>> print(latex_text("em:100 50% a_b < 1"))
    em:100 50\% a\_b \textless{} 1
    """
    return "".join(_LATEX.get(each, each) for each in text)


def _typst_text(text: str) -> str:
    r"""A string of Typst.

    >>> print(_typst_text('say "#x"'))
    "say \"#x\""
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def frame(columns: Mapping[str, Any], backend: str = "pyarrow") -> Any:
    """Columns {name: (n,)} as a data frame of the library ``backend``."""
    nw = imported("narwhals.stable.v2")

    try:
        return nw.from_dict(dict(columns), backend=cast(Any, backend)).to_native()
    except (ValueError, TypeError, ModuleNotFoundError):
        rule = "must name a library of data frames that is installed here, such as 'pyarrow'"
        known_names = ("pandas", "polars", "pyarrow")
        remedy = meant("pandas" if backend == "pd" else str(backend), known_names) or None
        if backend in known_names:
            remedy = f"Run: pip install {backend}"
        error = ArgumentError("backend", rule, repr(backend), remedy)
    raise error


def frame_of_rows(
    rows: Sequence[Row],
    backend: str = "pyarrow",
    columns: Mapping[str, Any] | None = None,
) -> Any:
    """The rows of a table, with the same keys, as a data frame after constant ``columns``."""
    if not rows:
        raise EmptyError("table", "has no rows")
    more = dict(columns or {})
    if taken := [name for name in more if name in rows[0]]:
        rule, remedy = "must have names that the table does not have yet", "Choose another name"
        raise ArgumentError("columns", rule, show(taken[0]), remedy)
    data = {name: [value] * len(rows) for name, value in more.items()}
    for name in rows[0]:
        entries = [row[name] for row in rows]
        kinds = {type(each) for each in entries if each is not None}
        # Texts, numbers and truth values are kept; any other column holds JSON.
        if kinds <= {int, float} and (kinds != {int} or None in entries):
            # A missing number is NaN in frames of all libraries. Polars takes one type alone.
            data[name] = [math.nan if each is None else float(each) for each in entries]
            continue
        is_plain = len(kinds) == 1 and kinds <= {int, str, bool}
        data[name] = entries if is_plain else [json.dumps(each) for each in entries]
    return frame(data, backend)
