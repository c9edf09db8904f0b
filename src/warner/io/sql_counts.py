"""The result of a counting statement, as a database exports it, and the tallies that it holds.

The statement, and what its result says, is in :mod:`~warner.io.sql_statements`. Counts come in many
spellings: ``12``, ``12.0``, ``1.2E+1``. Names of columns may be in capitals. Command lines of
databases print lines before the names and behind the last count, which are left out. The mark says
of which study the statement was made, and whether that was of simulated reports. What the file does
not say: which mechanism made the reports in the table.
"""

from __future__ import annotations

import contextlib
import csv
import io
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import partial
from math import prod
from typing import Any, NamedTuple

import numpy as np

from warner._core.checks import show
from warner._core.errors import ArgumentError, EmptyError, FileError, ReportError
from warner.domains import Domain
from warner.io.counts_by_hand import CountsByHand, as_long, has_said, refuse_one_column, words_of
from warner.io.csv_format import as_utf8
from warner.io.public_values import groups_in, indices_of_groups
from warner.io.read_answers import table_cells
from warner.io.sql_statements import (
    BY,
    COLUMNS,
    EVERYTHING,
    ROWS,
    SIMULATED,
    STUDY,
    check_of,
    mark_of,
    parts_of,
)
from warner.mechanisms import Mechanism
from warner.reports.counting import require_room
from warner.reports.public_columns import Groups
from warner.reports.rules import BEYOND, GAP, BitRule
from warner.reports.source import Batch, By, Histograms, count
from warner.reports.tally import ROUND, Tally

_DELIMITERS = ",;\t|"
_WHOLE = re.compile(r"[+-]?[0-9]+([.][0-9]*)?([eE][+-]?[0-9]{1,2})?")
_LARGEST = 2**63
_AS_CSV = "Export CSV, for example with psql --csv or duckdb -csv"
_WHOLE_RESULT = "Export all rows of the result. With bq, set --max_rows for this"
_OF_THE_STUDY = "Use the study file that the statement was made from"
_BEFORE = 50  # lines that a command line may print before the names
_BEGIN = 2**10
_EXCEL = b"PK\x03\x04"
_OTHERS = {
    b"\x1f\x8b": ("is compressed by gzip", "Unpack the file with gunzip"),
    b"PAR1": ("is a Parquet file, not the result of a statement as CSV", _AS_CSV),
}
# How many rows there are, as psql, snowsql and spark-sql say it behind the last one.
_SUMMARY = re.compile(
    r"\(?[0-9,]+ rows?\)?|[0-9,]+ Row\(s\) produced.*|Time( taken|:| Elapsed).*", re.I
)
_NULLS = ("", "\\N", "NULL", "null", "None")


class _Row(NamedTuple):
    """A row of the table: its line in the file, and its entries."""

    line: int
    attribute: str
    part: str
    value: int
    reports: int
    key: tuple[str, ...]


class CountsTable:
    """The counts that a counting statement gave. Made by :func:`read_counts`.

    Attributes:
        path: the file.
        by: the public columns by which the reports are grouped.
    """

    by_hand = False

    def __init__(self, path: str, by: tuple[str, ...], rows: list[_Row]) -> None:
        self.path, self.by = path, by
        self._rows: dict[tuple[str, str], list[_Row]] = {}
        seen = set()
        for row in rows:
            same = row[1:4] + row[5:]
            if same in seen:
                remedy = "Export the result again, and only once"
                raise self._wrong(row, "repeats an earlier count", remedy)
            seen.add(same)
            self._rows.setdefault((row.attribute, row.part), []).append(row)

    def stated(self, study: str) -> tuple[bool, int | None]:
        """Whether the statement is for simulated reports of a study, and of which round they are.

        Args:
            study: the digest of the study.

        Raises:
            FileError: no mark, several, or that of another study.
        """
        marks = {name: rows[0] for (a, name), rows in self._rows.items() if _is_mark(a, name)}
        if not marks:
            rule = "does not say to which study it belongs"
            remedy = f"{_WHOLE_RESULT}. If that does not help, run warner sql for a new statement"
            raise FileError(self.path, rule, None, remedy)
        for mark, row in marks.items():
            _, sign, number = mark.partition(f" {ROUND} ")
            of_round = int(number) if sign and number.isdecimal() else None
            simulated = mark.startswith(SIMULATED)
            if mark != mark_of(study, simulated, of_round) or len(marks) > 1:
                rule = (
                    "belongs to another study, or to another version of this study, or was altered"
                )
                raise self._wrong(row, rule, _OF_THE_STUDY)
        return simulated, of_round

    def _wrong(self, row: _Row, rule: str, remedy: str | None = None) -> FileError:
        return FileError(f"{self.path}: line {row.line}", rule, None, remedy)

    def tallies(
        self, mechanisms: Mapping[str, Mechanism], public: Mapping[str, Domain], study: str
    ) -> dict[str, Tally]:
        """The tallies of all attributes.

        Args:
            mechanisms: {attribute: the mechanism that made its reports}.
            public: {name: domain} of the public columns that may group the reports.
            study: the digest of the study that says all this.

        Returns:
            {attribute: Tally}, of groups where the statement had public columns. They are marked as
            simulated where the statement says so, and as of one round. Permanent reports are marked
            as those of unknown rounds where the statement takes all rows together.

        Raises:
            ArgumentError: a public column that is not declared.
            EmptyError: no reports.
            FileError: another study; counts that are missing, or that do not add up to the number
                of rows.
            ReportError: rows without a report, with an impossible value, or that break a rule.
        """
        simulated, of_round = self.stated(study)
        # A warehouse may write names in capitals.
        spelt = {name.casefold(): name for name in public}
        if unknown := [name for name in self.by if name.casefold() not in spelt]:
            rule = f"is grouped by {show(unknown[0])}, which the study does not declare"
            raise ArgumentError(
                self.path, rule, None, f"Declare it in the study, as [public.{unknown[0]}]"
            )
        counted = {(a, ",".join(p)) for a, m in mechanisms.items() for p in parts_of(a, m)}
        counted |= {(a, check_of(r)) for a, m in mechanisms.items() for r in m.schema.row_rules}
        for (attribute, name), rows in self._rows.items():
            if (attribute, name) not in counted | {(EVERYTHING, ROWS)} and not _is_mark(
                attribute, name
            ):
                rule = (
                    f"counts {show(name)} for {show(attribute)}, but the study has no such counts"
                )
                raise self._wrong(rows[0], rule, _OF_THE_STUDY)
        if not sum(row.reports for rows in self._rows.values() for row in rows):
            rule = "holds no reports, because the table has no rows"
            remedy = "Check that the statement counts the right table"
            raise EmptyError(self.path, rule, None, remedy)
        everything = self._part(EVERYTHING, ROWS)
        groups, group_of = self._groups(
            everything,
            {name: public[name] for name in (spelt[name.casefold()] for name in self.by)},
        )
        sizes = np.zeros(len(groups.keys) if groups else 1, dtype=np.int64)
        for row in everything:
            sizes[group_of[row.key]] += row.reports
        tallies: dict[str, Tally] = {}
        for attribute, mechanism in mechanisms.items():
            names = list(mechanism.schema.file_columns())
            source = _Counts(self, attribute, names, groups, group_of, sizes)
            tallies |= count({attribute: mechanism}, source)
        tallies = {name: tally.marked(simulated) for name, tally in tallies.items()}
        if of_round is not None:
            return {name: tally.of_round(of_round) for name, tally in tallies.items()}
        return {name: tally.of_any_rounds() for name, tally in tallies.items()}

    def _part(self, attribute: str, name: str) -> list[_Row]:
        """The rows of a part."""
        rows = self._rows.get((attribute, name))
        if rows is None:
            rule = f"lacks the counts of {show(name)} for {show(attribute)}"
            raise FileError(self.path, rule, None, _WHOLE_RESULT)
        return rows

    def _groups(
        self, rows: list[_Row], by: Mapping[str, Domain]
    ) -> tuple[Groups | None, dict[tuple[str, ...], int]]:
        """The groups of people, and the place of each tuple of public values as it is written."""
        if not by:
            return None, {(): 0}
        first_lines = {row.key: row.line for row in reversed(rows) if row.reports}
        keys = list(dict.fromkeys(row.key for row in rows if row.reports))
        indices = {}
        for i, (name, domain) in enumerate(by.items()):
            nulls = set(_NULLS).difference(domain.spec().get("values", []))
            texts = [None if key[i] in nulls else key[i] for key in keys]
            if None in texts:
                rule = f"column {name!r} has rows without a value"
                raise ReportError(self.path, rule, None, "Leave these rows out of the table")
            lines = [first_lines[key] for key in keys]
            indices[name] = indices_of_groups(self.path, name, domain, texts, lines)
        groups = groups_in(by, indices)
        return groups, dict(zip(keys, groups.place.tolist(), strict=True))

    def codes(
        self, attribute: str, name: str, group_of: Mapping[tuple[str, ...], int], values: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The group, the value and the number of reports of each row of a part, (m,) each."""
        rows = self._part(attribute, name)
        where = f"{self.path}: {attribute}: {name}"
        for code, rule, what in (
            (GAP, "must have a report in each row", "without one"),
            (BEYOND, f"must have whole numbers from 0 to {values - 1}", "with other values"),
        ):
            if wrong := sum(row.reports for row in rows if row.value == code):
                raise ReportError(where, rule, f"{wrong:,} row{'s' * (wrong > 1)} {what}")
        for row in rows:
            if not 0 <= row.value < values:
                raise self._wrong(row, f"value must be from 0 to {values - 1}")
            if row.key not in group_of and row.reports:
                raise self._wrong(row, "counts a group that the rows of the table do not have")
        some = [row for row in rows if row.reports]
        return (
            np.array([group_of[row.key] for row in some], dtype=np.int64),
            np.array([row.value for row in some], dtype=np.int64),
            np.array([row.reports for row in some], dtype=np.int64),
        )

    def broken(
        self, attribute: str, rule: BitRule, group_of: Mapping[Any, int], sizes: np.ndarray
    ) -> int:
        """How many rows break a rule, by the statement, which has checked every row."""
        group, broken, reports = self.codes(attribute, check_of(rule), group_of, 2)
        self.require_all(attribute, check_of(rule), np.bincount(group, reports, len(sizes)), sizes)
        return int(reports[broken == 1].sum())

    def require_all(
        self, attribute: str, name: str, counted: np.ndarray, sizes: np.ndarray
    ) -> None:
        """Refuse counts of other numbers of rows than the table has."""
        if (counted != sizes).any():
            some, all_rows = int(counted.sum()), int(sizes.sum())
            where = f"{self.path}: {attribute}: {name}"
            if some == all_rows:
                rule = (
                    "has more or fewer reports in some groups than the lines that begin with *,rows"
                )
                remedy = "Correct the table in the database, and run the statement again"
                raise FileError(where, rule, None, remedy)
            rule = f"counts {some:,} reports, but the table has {all_rows:,} rows"
            raise FileError(where, rule, None, _WHOLE_RESULT)


def _is_mark(attribute: str, name: str) -> bool:
    """Whether a row names the study that was counted."""
    return attribute == EVERYTHING and name.startswith((STUDY, SIMULATED))


@dataclass(frozen=True)
class _Counts:
    """The counts of one attribute, which are histograms already; see ReportSource."""

    table: CountsTable
    attribute: str
    columns: list[str]
    people: Groups | None
    group_of: Mapping[Any, int]
    sizes: np.ndarray

    n = None

    def histograms(self, by: By) -> Histograms:
        return self

    def names(self, attribute: str) -> Sequence[str]:
        return self.columns

    def groups(self) -> Groups | None:
        return self.people

    def counts(self, columns: Mapping[str, int]) -> np.ndarray:
        values, groups = prod(columns.values()), len(self.sizes)
        require_room(groups, values)
        name = ",".join(columns)
        group, code, reports = self.table.codes(self.attribute, name, self.group_of, values)
        table = np.zeros((groups, values), dtype=np.int64)
        np.add.at(table, (group, code), reports)
        self.table.require_all(self.attribute, name, table.sum(axis=1), self.sizes)
        return table.reshape(groups, *columns.values())

    def any_breaks(self, rule: BitRule, names: Sequence[str]) -> bool:
        broken = self.table.broken(self.attribute, rule, self.group_of, self.sizes)
        if broken:
            where = f"{self.table.path}: {self.attribute}"
            raise ReportError(
                where, rule.text, f"{broken:,} wrong row{'s' * (broken > 1)}", rule.remedy
            )
        return False

    def batches(self, by: By) -> Iterator[Batch]:
        raise NotImplementedError

    def locate(self, error: ReportError) -> Exception:
        # Rules of one column are checked by code that knows no file.
        text = str(error).removeprefix("reports: ")
        is_here = text == str(error)
        return ReportError(text if is_here else f"{self.table.path}: {self.attribute}: {text}")


def read_counts(
    path: str, mechanisms: Iterable[Mechanism] = (), public: Sequence[str] = ()
) -> CountsTable | CountsByHand:
    """Read the result of a counting statement, or counts by hand.

    Args:
        path: a CSV file with a line of names, as a database or a warehouse exports it or as people
            write it, or ``-`` for standard input; the cells are separated by commas, semicolons,
            tabs or bars. Counts by hand may be in an Excel file.
        mechanisms: for whose words of reports counts by hand may have a column each.
        public: the names of public columns. Of counts by hand, other columns that have only the
            sums or the percentages of the counts are left out.

    Raises:
        FileError: another table, or a number that is no count, by its line.
    """
    words = words_of(mechanisms)
    if path != "-" and _begin(path).startswith(_EXCEL):
        names, cells_of = table_cells(path, (), partial(has_said, words))
        filled = [(line, cells) for line, cells in cells_of if "".join(cells).strip()]
        excel = as_long(path, names, filled, words, (), public)
        if excel is None:
            rule = (
                "must have the columns value and count, or a column for each word that people said"
            )
            raise FileError(path, rule, None, "Name the columns in the first line")
        return CountsByHand(path, *excel)
    text = _text(path)
    refuse_one_column(path, text[:_BEFORE])
    problem = None
    try:
        first = _line_of_names(text)
        delimiter = _delimiter(text[first])
        lines = csv.reader(
            io.StringIO("".join(text[first:]), newline=""), delimiter=delimiter, strict=True
        )
        names = [name.strip() for name in next(lines, [])]
        numbered = [(first + lines.line_num, cells) for cells in lines if "".join(cells).strip()]
        if "reports" not in map(str.lower, names) and (
            by_hand := as_long(path, names, numbered, words, (), public)
        ):
            return CountsByHand(path, *by_hand)
        places, by = _places(path, names)
        while numbered and _SUMMARY.fullmatch(delimiter.join(numbered[-1][1]).strip()):
            numbered.pop()
        rows = [_row(path, line, cells, places, names) for line, cells in numbered]
    except csv.Error:
        problem = FileError(path, "cannot be read as CSV", None, _AS_CSV)
    else:
        return CountsTable(path, by, rows)
    raise problem


def _begin(path: str) -> bytes:
    """The first bytes of a file."""
    with open(path, "rb") as file:
        return file.read(len(_EXCEL))


def _text(path: str) -> list[str]:
    """The lines of a file, or of standard input for ``-``. PowerShell writes UTF-16."""
    problem = None
    try:
        with contextlib.ExitStack() as opened:
            dash = path == "-"
            file = sys.stdin.buffer if dash else opened.enter_context(open(path, "rb"))
            begin = file.read(_BEGIN)
            for first, (rule, remedy) in _OTHERS.items():
                if begin.startswith(first):
                    raise FileError(path, rule, None, remedy)
            _, stream = as_utf8(begin, file, path)
            text = b"".join(iter(stream.read, b"")).decode("utf-8-sig")
    except UnicodeDecodeError:
        problem = FileError(path, "cannot be read as text in UTF-8", None, _AS_CSV)
    else:
        return text.splitlines(keepends=True) or [""]
    raise problem


def _delimiter(line: str) -> str:
    """The delimiter of a line of names."""
    return max(_DELIMITERS, key=line.count)


def _line_of_names(text: list[str]) -> int:
    """The number of the line of names, from 0; 0 where there is none."""
    for i, line in enumerate(text[:_BEFORE]):
        cells = [cell.strip(' "').lower() for cell in line.strip().split(_delimiter(line))]
        if set(COLUMNS) <= set(cells):
            return i
    return 0


def _places(path: str, names: list[str]) -> tuple[list[int], tuple[str, ...]]:
    """The places of COLUMNS and then of the public columns, and the names of the latter."""
    lower = [name.lower() for name in names]
    others = [i for i, name in enumerate(lower) if name not in COLUMNS]
    if (
        any(lower.count(name) != 1 for name in COLUMNS)
        or any(not lower[i].startswith(BY) for i in others)
        or len(set(lower)) < len(lower)
    ):
        rule = f"must have the columns {', '.join(COLUMNS)}, and {BY}NAME for public columns"
        remedy = (
            "Export the result of the statement that 'warner sql' prints, with the names of its "
            "columns. Counts that were made by hand need a column for each word of the card, or "
            "the columns attribute, value and count"
        )
        raise FileError(path, rule, None, remedy)
    by = tuple(names[i][len(BY) :] for i in others)
    return [*map(lower.index, COLUMNS), *others], by


def _row(path: str, line: int, cells: list[str], places: list[int], names: list[str]) -> _Row:
    """A row of the table from the cells of a line."""
    where = f"{path}: line {line}"
    if [cell.strip() for cell in cells] == names:
        rule, remedy = "repeats the names of the columns", "Give each result as a separate file"
        raise FileError(where, rule, None, remedy)
    if len(cells) <= max(places):
        raise FileError(where, "has too few cells", None, _AS_CSV)
    attribute, counted, value, reports, *key = (cells[i] for i in places)
    numbers = []
    for name, text in (("value", value), ("reports", reports)):
        number = _whole(text.strip())
        if number is None or (name == "reports" and number < 0):
            raise FileError(where, f"{name} must be a whole number")
        numbers.append(number)
    of_group = () if _is_mark(attribute, counted) else tuple(key)
    return _Row(line, attribute, counted, numbers[0], numbers[1], of_group)


def _whole(text: str) -> int | None:
    """A whole number, also where a database writes it as a decimal; None for another text.

    >>> [_whole(text) for text in ("12", "12.000", "1.2E+1", "-1", "0.5", "1e99", "x")]
    [12, 12, 12, -1, None, None, None]
    """
    if not _WHOLE.fullmatch(text):
        return None
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    whole = number == number.to_integral_value() and abs(number) < _LARGEST
    return int(number) if whole else None
