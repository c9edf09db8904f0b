"""Reading answers: files or standard input as indices, a batch at a time.

There is no loop over people: Arrow does the work on whole columns.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple

import numpy as np

from warner._core.atomic_files import unopened
from warner._core.errors import ArgumentError, EmptyError, FileError, ValuesError, WarnerError
from warner._core.extras import pa, pc
from warner._core.sampling import rows_at_a_time
from warner._core.text import canonical, meant, unreadable
from warner.domains import Categorical, Domain, Items
from warner.io.answer_column import DECIMAL_COMMA, EMPTY, AnswerColumn, as_whole
from warner.io.answer_tables import AGAIN, on_several_sheets
from warner.io.file_format import ROWS_PER_BATCH, AnswerTable, has_no_column, shown_as
from warner.io.formats import answer_batches, answers_in
from warner.mechanisms import Mechanism
from warner.mechanisms.one_of import as_rows

_RAGGED = re.compile(r"Row #([0-9]+): Expected ([0-9]+) columns, got ([0-9]+)")
_READ_BY = "\x1f"  # between an attribute and how it is read


def read_values(
    path: str | BinaryIO,
    domains: Mapping[str, Domain | Mechanism],
    bare: bool = False,
    watch: Callable[[pa.RecordBatch], object] | None = None,
    dropped: Callable[[int], object] | None = None,
) -> Iterator[dict[str, np.ndarray]]:
    """Return the answers in a file, a batch of rows at a time.

    All batches except the last have the same number of rows. The number depends on ``domains``
    and not on the file, so that batches do not tell how long the answers are. A blank line of CSV
    is a row of empty cells, unless only blank lines follow: these are of nobody.

    The answers of an attribute whose domain drops missing answers decide on whole rows: a person
    who gave none is left out, with all other answers.

    Args:
        path: the name of a file of CSV, Parquet, JSON, JSON lines, Feather or Excel, which is
            recognised by its content; an open file, or ``-`` for standard input.
        domains: the domain or the mechanism of each attribute to read. An attribute of pairs of a
            key and a value has two columns, ``name_key`` and ``name_value``. Attributes that are
            randomised together have one column each.
        bare: whether the file is CSV without a header line, with its columns in the order of
            ``domains``.
        watch: called with each batch as it was read and found right, for checks of whole columns.
        dropped: called with the number of people who are left out, for some rows at a time.

    Returns:
        For each batch {attribute: (rows,) array}: indices of a domain, or values as a
        mechanism takes them.

    Raises:
        ValuesError: answers outside their domain, with columns and rows. The whole file is read
            then, and all of them are named.
        EmptyError: no rows, or nobody who is not left out.
        FileError: another format, or a column is missing or occurs twice.
        MissingExtraError: an Excel file, without the extra ``excel``.
    """
    size = rows_at_a_time(
        sum(m.schema.bytes_per_report for m in domains.values() if isinstance(m, Mechanism)),
        ROWS_PER_BATCH,
    )
    held: dict[str, list[np.ndarray]] = {name: [] for name in domains}
    names = [column for name, taker in domains.items() for column in answer_columns(name, taker)]
    waiting, answered = 0, False
    for answers, rows in _answers(path, names, domains, domains, size, bare, watch, dropped):
        for name, column in answers.items():
            held[name].append(column if rows is None else column[rows])
        waiting += len(next(iter(answers.values()))) if rows is None else len(rows)
        answered = answered or waiting > 0
        while waiting >= size:
            yield _taken(held, size)
            waiting -= size
    if waiting:
        yield _joined(held)
    elif not answered:
        raise nobody(shown_as(path))


def _answers(
    path: str | BinaryIO,
    names: list[str],
    takers: Mapping[str, Domain | Mechanism],
    people: Mapping[str, Domain | Mechanism],
    size: int,
    bare: bool,
    watch: Callable[[pa.RecordBatch], object] | None,
    dropped: Callable[[int], object] | None,
) -> Iterator[tuple[dict[str, np.ndarray], np.ndarray | None]]:
    """The encoded answers of some rows, and the rows (k,) of people who are kept, None for all."""
    # Refused answers of the whole file are raised together, at its end. ``people`` are the
    # attributes whose missing answers leave a person out.
    refused = _Refused()
    for batch, row in _parts(path, names, size, bare):
        answers = {
            name: refused.collect(partial(_encoded, taker, batch, name.partition(_READ_BY)[0], row))
            for name, taker in takers.items()
        }
        if refused:
            continue
        rows = _kept(people, batch, row, dropped)
        if watch is not None:
            watch(batch)
        yield answers, rows
    refused.raise_them(names, bare)


def nobody(name: str) -> EmptyError:
    """The error of answers among which everybody is left out."""
    remedy = 'To count people without an answer, write missing = "answer" in the study'
    return EmptyError(name, "has no person who answered", None, remedy)


class _GroupNames(Categorical):
    """The names of a study's groups, as the answers of a public column."""

    noun = "names of groups"

    def __init__(self, names: list[str]) -> None:
        super().__init__(names)
        self.remedy = f"Name the group of each person as in the study: {', '.join(names)}"


def read_groups(
    path: str | BinaryIO,
    column: str,
    groups: Mapping[str, Mapping[str, Mechanism]],
    bare: bool = False,
    public: Mapping[str, Domain] | None = None,
    watch: Callable[[pa.RecordBatch], object] | None = None,
    dropped: Callable[[int], object] | None = None,
) -> Iterator[dict[str, dict[str, np.ndarray]]]:
    """Return the answers in a file, a batch of rows at a time, by the group of each person."""
    first = next(iter(groups.values()))
    # Most groups read a column in the same way, which is then done once for all of them.
    takers: dict[str, Domain | Mechanism] = {**(public or {}), column: _GroupNames(list(groups))}
    columns = [c for name, taker in first.items() for c in answer_columns(name, taker)]
    names = list(dict.fromkeys([column, *(public or ()), *columns]))
    for mechanisms in groups.values():
        takers |= {_read_by(name, taker): taker for name, taker in mechanisms.items()}
    width = max(sum(m.schema.bytes_per_report for m in ms.values()) for ms in groups.values())
    size, answered = rows_at_a_time(width, ROWS_PER_BATCH), False
    for answers, rows in _answers(path, names, takers, first, size, bare, watch, dropped):
        batches: dict[str, dict[str, np.ndarray]] = {}
        for i, (group, mechanisms) in enumerate(groups.items()):
            people = np.flatnonzero(answers[column] == i)
            if rows is not None:
                people = np.intersect1d(people, rows)
            if people.size:
                batches[group] = {name: answers[name][people] for name in public or ()}
                for name, taker in mechanisms.items():
                    batches[group][name] = answers[_read_by(name, taker)][people]
        answered = answered or bool(batches)
        yield batches
    if not answered:
        raise nobody(shown_as(path))


def require_group(path: str, column: str, group: str) -> None:
    """Refuse a file whose column of the group names another group than ``group``."""

    # Standard input can be read once only; files that cannot be read are left to read_values.
    if path == "-":
        return
    row = 0
    # Arrow's errors quote the file; a file without the column is a KeyError or a FileError.
    with contextlib.suppress(pa.ArrowException, OSError, KeyError, UnicodeDecodeError, FileError):
        for batch in answer_batches(path, [column]):
            named = batch.column(column).cast(pa.string()).to_pylist()
            other = next((i for i, name in enumerate(named) if name != group), None)
            if other is not None:
                rule = f"must name the group {group!r}, as --group does"
                remedy = f"Leave out --group, or keep only people of {group!r} in the file"
                where = f"column {column!r}, data row"
                raise ValuesError(row + other + 1, rule, "another name", remedy, where)
            row += batch.num_rows


def _read_by(name: str, mechanism: Mechanism) -> str:
    """An attribute, and how a mechanism reads its column: equal where two read it alike."""
    reads_indices = not (mechanism.answer_parts or mechanism.domain.answered.is_numeric)
    return name + _READ_BY + ("" if reads_indices else canonical(mechanism.header))


def _parts(
    path: str | BinaryIO, names: list[str], size: int, bare: bool
) -> Iterator[tuple[pa.RecordBatch, int]]:
    """The rows of a file in parts, each with the number of rows before it."""
    shown = shown_as(path)
    batches = answer_batches(path, names, bare)
    row, problem = 0, None
    while True:
        # Arrow's errors quote the file. Ours is raised outside the handler, so that it does not
        # carry theirs as its context.
        try:
            batch = next(batches, None)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            problem = _problem(shown, error, bare)
        if problem is not None:
            raise problem
        if batch is None:
            break
        # Rows number k size and k size + 1 are never in one part, for whole k.
        start = 0
        while start < batch.num_rows:
            piece = batch.slice(start, size - row % size)
            yield piece, row
            start += piece.num_rows
            row += piece.num_rows
    if row == 0:
        raise EmptyError(shown, "holds no answers", None, "Give a file with at least one row")


def _taken(held: dict[str, list[np.ndarray]], size: int) -> dict[str, np.ndarray]:
    """The first ``size`` rows of each attribute; the rest stays in ``held``."""
    whole = _joined(held)
    for name, answers in whole.items():
        if len(answers) > size:
            held[name].append(answers[size:])
    return {name: answers[:size] for name, answers in whole.items()}


def _kept(
    takers: Mapping[str, Domain | Mechanism],
    batch: pa.RecordBatch,
    row: int,
    dropped: Callable[[int], object] | None,
) -> np.ndarray | None:
    """The rows (k,) of people who are not left out; None for all."""
    absent = [
        AnswerColumn(column, row, domain).absent(batch.column(column))
        for name, taker in takers.items()
        for column, domain in _single_columns(name, taker)
        if domain.missing.policy == "drop"
    ]
    if not absent:
        return None
    out = np.any(absent, axis=0)
    if dropped is not None:
        dropped(int(np.count_nonzero(out)))
    return np.flatnonzero(~out)


class _Refused:
    """The answers of a file that are refused, of all columns and batches."""

    def __init__(self) -> None:
        self._errors: dict[tuple[str, str, str], ValuesError] = {}
        self._first: set[tuple[tuple[str, str, str], int]] = set()  # each rule, and its position

    def __bool__(self) -> bool:
        return bool(self._errors)

    def collect(self, read: Callable[[], np.ndarray]) -> np.ndarray:
        """What ``read`` returns; nothing where it refuses answers, which are kept in mind."""
        try:
            return read()
        except ValuesError as error:
            for each in (error.with_other_errors([]), *error.others):
                # Two groups may read a column in two ways, and both refuse the same rows.
                if (each.rule, each.position) in self._first:
                    continue
                self._first.add((each.rule, each.position))
                earlier = self._errors.get(each.rule)
                self._errors[each.rule] = each if earlier is None else earlier.merged_with(each)
        return np.zeros(0)

    def raise_them(self, names: Sequence[str], bare: bool = False) -> None:
        """Raise one error for all of them, if any, in the order of columns; all are ``names``."""
        columns = [where for where, *_ in self._errors]
        in_order = sorted(self._errors.values(), key=lambda e: (columns.index(e.where), e.position))
        if in_order:
            error = in_order[0].with_other_errors(in_order[1:])
            if bare and any(1 in each.positions for each in in_order):
                error.args = (f"{error} If row 1 has the names of columns, leave out --bare.",)
            common = set.intersection(*(set(each.positions) for each in in_order))
            of_all = len({*columns}) == len(names)
            if common and of_all and all(each.rule[-1] == EMPTY for each in in_order):
                error.args = (f"{error} If data row {min(common):,} is a blank line, delete it.",)
            raise error


def _joined(held: dict[str, list[np.ndarray]]) -> dict[str, np.ndarray]:
    """The rows of each attribute as one array; the lists in ``held`` are emptied."""
    joined = {
        name: parts[0] if len(parts) == 1 else np.concatenate(parts) for name, parts in held.items()
    }
    for parts in held.values():
        parts.clear()
    return joined


_NAMES_FIRST = (
    "The first line must have the names of all columns. Delete any lines above these names"
)


def _problem(shown: str, error: Exception, bare: bool) -> WarnerError:
    """The error for a file that cannot be read; its message quotes nothing from the file."""
    if Path(shown).is_dir():
        return FileError(shown, "is a folder", None, "Give one file of answers")
    if isinstance(error, FileNotFoundError | IsADirectoryError | PermissionError):
        return unopened(shown, error)
    if "Empty CSV" in str(error):
        return EmptyError(shown, "is empty", None, "Give a file with at least one row")
    if ragged := _RAGGED.search(str(error)):
        row, width, cells = map(int, ragged.groups())
        counted = "1 cell" if cells == 1 else f"{cells} cells"
        rule = f"data row {row - (not bare):,} has {counted}, but the first line has {width}"
        in_quotes = "Put each cell that contains a comma into quotes"
        remedy = in_quotes if cells > width else AGAIN
        if width == 1 and not bare:
            remedy = f"{_NAMES_FIRST}. {in_quotes}"
        return FileError(shown, rule, None, remedy)
    return FileError(shown, "cannot be read as CSV in UTF-8 or as Parquet", None, AGAIN)


def encoded_batch(
    takers: Mapping[str, Domain | Mechanism], batch: pa.RecordBatch
) -> tuple[dict[str, np.ndarray], np.ndarray | None]:
    """The answers (m,) in a batch of rows, as mechanisms take them; the rows kept, None for all."""
    refused = _Refused()
    answers = {
        name: refused.collect(partial(_encoded, taker, batch, name, 0))
        for name, taker in takers.items()
    }
    refused.raise_them(batch.schema.names)
    rows = _kept(takers, batch, 0, None)
    if rows is not None:
        answers = {name: column[rows] for name, column in answers.items()}
    return answers, rows


def answer_columns(name: str, taker: Domain | Mechanism) -> list[str]:
    """Return the columns of a file that hold the answers to one attribute."""
    parts = {} if isinstance(taker, Domain) else taker.answer_parts
    if parts:
        return [f"{name}_{end}" for end in parts]
    if isinstance(items := _domain_of(taker), Items):
        return items.file_columns(name)
    return [
        c for attribute, inner in _takers(taker).items() for c in answer_columns(attribute, inner)
    ] or [name]


def _takers(taker: Domain | Mechanism) -> Mapping[str, Domain | Mechanism]:
    """What takes the answers to each of several attributes; {} of one attribute."""
    if isinstance(_domain_of(taker), Items):
        return {}  # one column of texts has all of them
    takers = {} if isinstance(taker, Domain) else taker.takers
    return takers or _domain_of(taker).attributes


def _domain_of(taker: Domain | Mechanism) -> Domain:
    return taker if isinstance(taker, Domain) else taker.domain


def _single_columns(name: str, taker: Domain | Mechanism) -> Iterator[tuple[str, Domain]]:
    """Each column that holds answers to one attribute, with the domain of these."""
    if not isinstance(taker, Domain) and taker.answer_parts:
        for column, of_end in zip(
            answer_columns(name, taker), taker.answer_parts.values(), strict=True
        ):
            yield from _single_columns(column, of_end)
        return
    for attribute, inner in _takers(taker).items():
        yield from _single_columns(attribute, inner)
    if not _takers(taker):
        yield name, _domain_of(taker)


def _encoded(
    taker: Domain | Mechanism, batch: pa.RecordBatch, name: str, row: int, is_asked: bool = False
) -> np.ndarray:
    """The answers of a batch to one attribute, after ``row`` earlier rows."""
    if not isinstance(taker, Domain) and taker.answer_parts:
        columns = zip(answer_columns(name, taker), taker.answer_parts.values(), strict=True)
        return np.stack([_encoded(domain, batch, c, row, True) for c, domain in columns], axis=1)
    is_asked = is_asked or not isinstance(taker, Domain)
    together = _domain_of(taker)
    if parts := _takers(taker):
        answers = {a: _encoded(inner, batch, a, row, is_asked) for a, inner in parts.items()}
        if not isinstance(taker, Domain) and taker.takers:
            return as_rows(answers)
        return np.ravel_multi_index(list(answers.values()), together.shape).astype(np.int64)
    marks = batch.schema.metadata or {}
    column = AnswerColumn(name, row, together, DECIMAL_COMMA in marks, is_asked)
    if isinstance(together, Items):
        if together.split is None:
            return taker.encode(column.ticked(batch.column(name), together))
        each = dict(zip(together.items, together.file_columns(name), strict=True))
        return taker.encode(
            {
                item: replace(column, name=c).of_item(batch.column(c), together)
                for item, c in each.items()
            }
        )
    # A mechanism of numbers takes them without bins; other mechanisms take indices.
    by_domain = isinstance(taker, Domain) or not together.answered.is_numeric
    encode = together.encode if by_domain else taker.encode
    return column.encoded(batch.column(name), encode)


# -----------------------------------------------------------------------------------------------
# What a column of answers holds, and no more of it than is asked for.
#
# :func:`kinds_of` says whether a column holds labels, whole numbers, numbers, dates, cells or
# truth values. It returns no answer and no count. :func:`contents_of` returns labels and limits,
# which are answers of people; it is only for callers who were told to copy them.


Kind = Literal["labels", "integers", "numbers", "dates", "cells", "booleans"]

# A kind is that of at least 9 in 10 answers. So one unusual answer does not change what is said of
# a column, unless the column is at the border already.
_MOST = 0.9
_IN_ORDER: tuple[Kind, ...] = ("integers", "numbers", "dates", "cells")  # the first that fits
MISSING = ["", "#N/A", "NA", "N/A", "n/a", "na", "NaN", "nan", "null", "NULL", "None", "-", "."]
_WHOLE = "(0|[1-9][0-9]{0,17})"  # 007 is a label
_PATTERNS: dict[Kind, str] = {
    "integers": f"^-?{_WHOLE}([.]0{{0,2}})?$",
    "numbers": f"^-?({_WHOLE}(\\.[0-9]*)?|\\.[0-9]+)([eE][+-]?[0-9]{{1,2}})?$",
    "dates": "^([0-9]{4}-[0-9]{2}-[0-9]{2}([T ].*)?|[0-9]{1,2}[./][0-9]{1,2}[./][0-9]{4})$",
    "cells": "^(\\[[0-9]{1,9}, ?[0-9]{1,9}\\]|[0-9]{1,9}, ?[0-9]{1,9})$",
}
# 3,5 is a number with a decimal comma where another character is between the columns, unless such
# a word is in the name of the column. Else it is a cell.
_COMMA = _PATTERNS["numbers"].replace("\\.", ",")
_PLACES = ("cell", "place", "home", "grid", "location", "position", "square", "tile", "coord")


@dataclass(frozen=True)
class Contents:
    """Answers that stand in a column, to be copied only when told."""

    labels: tuple[str | bool, ...] = ()  # the different answers, sorted; () for numbers
    low: float | None = None  # the limits of numbers; None for labels
    high: float | None = None


def kinds_of(path: str, columns: Sequence[str]) -> dict[str, Kind]:
    """Return the kind of each column: that of at least 9 in 10 answers, or of a Parquet schema."""
    # Empty cells and usual spellings of a missing answer do not count. A column without an answer
    # holds labels.
    patterns = _patterns(path, columns)
    counts = {name: dict.fromkeys(_PATTERNS, 0) for name in columns}
    answered = dict.fromkeys(columns, 0)
    kinds: dict[str, Kind] = {}
    for batch, _ in _parts(path, list(columns), ROWS_PER_BATCH, False):
        for name in columns:
            column = _plain(batch.column(name))
            stated = _kind_of_type(column)
            if stated is not None:
                kinds[name] = stated
                continue
            texts = _answered(column)
            answered[name] += len(texts)
            for kind, pattern in patterns[name].items():
                fits = pc.sum(pc.match_substring_regex(texts, pattern)).as_py()
                counts[name][kind] += fits or 0
    for name in columns:
        if name not in kinds:
            enough = [k for k in _IN_ORDER if 0 < _MOST * answered[name] <= counts[name][k]]
            kinds[name] = enough[0] if enough else "labels"
    return {name: kinds[name] for name in columns}


def contents_of(
    path: str, columns: Mapping[str, Kind], most_labels: int = 64
) -> Iterator[tuple[str, Contents]]:
    """Return the labels, or the smallest and the largest number, of columns."""
    # THESE ARE ANSWERS OF PEOPLE. Call it only where the user asked for copies.
    labels: dict[str, set[str | bool]] = {name: set() for name in columns}
    limits: dict[str, list[float]] = {name: [] for name in columns}
    patterns = _patterns(path, list(columns))
    for batch, _ in _parts(path, list(columns), ROWS_PER_BATCH, False):
        for name, kind in columns.items():
            column = _plain(batch.column(name))
            if kind in ("integers", "numbers"):
                limits[name] += _ends(column, patterns[name][kind])
            else:
                labels[name].update(_distinct(column, name))
                if len(labels[name]) > most_labels:
                    raise _too_many_labels(name, labels[name], most_labels)
    for name in columns:
        if any(isinstance(label, str) and unreadable(label) for label in labels[name]):
            rule = "has values with characters that a screen cannot show"
            remedy = f"To state the values yourself, add --values {name}=A,B,C"
            raise ArgumentError(f"column {name!r}", rule, None, remedy)
        ends = limits[name]
        # Numbers of Parquet's decimal type are written as floats.
        low, high = (_number(min(ends)), _number(max(ends))) if ends else (None, None)
        yield name, Contents(tuple(sorted(labels[name], key=str)), low, high)


def _too_many_labels(name: str, labels: Iterable[str | bool], most: int) -> ArgumentError:
    """The error of a column with too many labels to copy, which none of them is in."""
    if all(re.search(_PATTERNS["numbers"], str(label)) for label in labels):
        rule = f"has more than {most} different numbers, too many to copy as labels"
        remedy = (
            "If they are amounts, divide them into a few ranges in the file, such as 0-9 and "
            f"10-19. If they are codes, add --kind {name}=labels --range {name}=0:299"
        )
    else:
        rule = f"has more than {most} different values, and may be free text"
        remedy = (
            "In the file, put rare values together as one, such as 'other'. Or list all values "
            f"with --values {name}=A,B,C"
        )
    return ArgumentError(f"column {name!r}", rule, None, remedy)


class LeftOut(NamedTuple):
    """Who is left out of a table, because a cell is empty or says that nothing is known."""

    people: int
    among: int  # all people of the table
    columns: Mapping[str, int]  # how many of them have no entry in each column

    @property
    def text(self) -> str:
        """How many people they are, and what is assumed of them."""
        if not self.people:
            return f"all {self.among:,} people have an entry in the columns that are used"
        cells = ", ".join(f"{count:,} in {name}" for name, count in self.columns.items() if count)
        return (
            f"{self.people:,} of {self.among:,} people are left out, because they have no entry in "
            f"a column that is used ({cells}). This assumes that these people do not differ "
            "from other people with the same values in these columns"
        )


def read_columns(
    path: str, columns: Sequence[str], texts: Sequence[str], drop_missing: bool = False
) -> tuple[dict[str, np.ndarray], LeftOut]:
    """Columns (n,) of a table in whole, without blank lines, and who is left out.

    Columns are numbers where all cells are, and else texts, as are all that ``texts`` names. A file
    whose cells are not separated by commas may write numbers with a decimal comma.
    """
    parts: dict[str, list[str]] = {name: [] for name in (*columns, *other_columns(path, columns))}
    for batch, _ in _parts(path, list(parts), ROWS_PER_BATCH, False):
        for name in parts:
            cells = _plain(batch.column(name)).to_pylist()
            parts[name] += ["" if cell is None else str(cell).strip() for cell in cells]
    blank = np.logical_and.reduce([np.array(cells) == "" for cells in parts.values()])
    lacking = {name: have_no_entry(parts[name]) & ~blank for name in columns}
    if not drop_missing:
        for name, without in lacking.items():
            require_entries(f"{path}: column {name!r}", without, parts[name])
    dropped, left_out = rows_left_out(lacking, ~blank)
    people = ~blank & ~dropped
    if not people.any():
        raise EmptyError(path, f"has nobody with an entry in {' and '.join(map(repr, columns))}")
    comma = has_decimal_comma(path, columns)
    made = {}
    for name in columns:
        made[name] = np.array(parts[name])[people]
        if name not in texts:
            numbers = [as_number(cell, comma) for cell in made[name]]
            if None not in numbers:
                made[name] = np.array(numbers, dtype=np.float64)
            elif np.mean([as_number(cell, True) is not None for cell in made[name]]) >= _MOST:
                # As labels, each number would be a group of its own.
                rule, where = "must have a number in every row", np.zeros_like(blank)
                where[people] = [number is None for number in numbers]
                remedy = "Write numbers like 42.5, and leave out the people without a number"
                raise ArgumentError(f"column {name!r}", rule, _rows_of("text", where), remedy)
    return made, left_out


# "None" and "-" can be labels, as where somebody has no religion.
_NO_ENTRY = [text for text in MISSING if text not in ("None", "-")]


def have_no_entry(cells: Sequence[str]) -> np.ndarray:
    """Which cells (n,) of a public column are empty or say that nothing is known, as NA does."""
    return np.isin(cells, _NO_ENTRY)


def rows_left_out(gaps: Mapping[str, np.ndarray], people: np.ndarray) -> tuple[np.ndarray, LeftOut]:
    """Which rows (n,) have a gap in some column, and who that is, by the ``people`` of each row."""
    dropped = np.logical_or.reduce([np.zeros(len(people), dtype=bool), *gaps.values()])
    counts = {name: int(people[without].sum()) for name, without in gaps.items()}
    return dropped, LeftOut(int(people[dropped].sum()), int(people.sum()), counts)


def require_entries(
    where: str, without: np.ndarray, cells: Sequence[str], lines: Sequence[int] = ()
) -> None:
    """Refuse a column in which some cells (n,) are no entry; ``lines`` are theirs in the file."""
    if without.any():
        remedy = "To leave out the people without an entry, add --drop-missing"
        # Each is one of a few fixed words, such as NA.
        words = [cell for cell, is_gap in zip(cells, without, strict=True) if is_gap and cell]
        if words:
            remedy += f". If {words[0]} is the name of a group, write the name in full"
        got = _rows_of("no entry", without, lines)
        raise ArgumentError(where, "must have an entry in every row", got, remedy)


Cells = tuple[list[str], list[tuple[int, list[str]]]]  # names, and lines with their numbers


def table_cells(
    path: str, columns: Sequence[str] = (), is_meant: Callable[[Cells], bool] | None = None
) -> Cells:
    """The names of all columns of a table, and the cells of each line with its number.

    Of the sheets of a workbook that have most of the ``columns``, the one that ``is_meant`` counts.
    """
    table = _table_of(path, columns)
    raw = list(columns) if table is None else table.names
    sheets = {} if table is None or is_meant is None else table.sheets
    shared = {title: len({*columns} & {*sheet.names}) for title, sheet in sheets.items()}
    titles = [title for title, count in shared.items() if count == max(shared.values())]
    if len(titles) > 1 and is_meant is not None:
        cells: dict[str, Cells] = {}
        for title in titles:
            with contextlib.suppress(WarnerError):  # a sheet of something else, as of formulas
                cells[title] = _cells_of(path, sheets[title].names, sheets[title])
        fitting = [title for title, of_sheet in cells.items() if is_meant(of_sheet)]
        if len(fitting) > 1:
            raise on_several_sheets(path, "what people said", fitting)
        for title in [*fitting, *cells]:  # where none fits, what reads the first one says so
            return cells[title]
    _refuse_title(path, raw, columns)
    return _cells_of(path, raw, None)


def sheets_of(path: str) -> list[str]:
    """The sheets of a workbook that have rows; none of another file."""
    table = _table_of(path, ())
    return [] if table is None else list(table.sheets)


def _cells_of(path: str, raw: Sequence[str], sheet: AnswerTable | None) -> Cells:
    """The names and the lines of a table, or of one sheet of it."""
    names = [name.strip() for name in raw]
    for name in names:
        if names.count(name) > 1 and name:
            raise FileError(f"{path}: column {name!r}", "occurs twice", None, "Rename one of them")
    titled = [name for name in raw if name.strip()]
    lines: list[tuple[int, list[str]]] = []
    batches = (
        (batch for batch, _ in _parts(path, titled, ROWS_PER_BATCH, False))
        if sheet is None
        else sheet.batches()
    )
    for batch in batches:
        cells = [_plain(batch.column(name)).to_pylist() for name in titled]
        lines += [
            (number, ["" if cell is None else str(cell).strip() for cell in row])
            for number, row in enumerate(zip(*cells, strict=True), len(lines) + 2)
        ]
    return [name for name in names if name], lines


def as_number(cell: str, comma: bool) -> float | None:
    """The number that a cell states, with a decimal comma where the cells may have it."""
    with contextlib.suppress(ValueError):
        return float(cell.replace(",", ".") if comma else cell)
    return None


def _rows_of(what: str, rows: np.ndarray, lines: Sequence[int] = ()) -> str:
    """Something that is in some rows (n,), and the first of them, by its line if that is given."""
    count, first = np.count_nonzero(rows), int(np.argmax(rows))
    row = f"line {lines[first]:,}" if lines else f"data row {first + 1:,}"
    return f"{what} in {count:,} of {len(rows):,} rows, first in {row}"


def other_columns(path: str, columns: Sequence[str], further: Iterable[str] = ()) -> list[str]:
    """The other columns of a file of answers; one of ``further`` shows that it has names."""
    further = list(further)
    table = _table_of(path, [*columns, *further])  # which are all looked for in a workbook
    names = list(columns) if table is None else table.names
    if not Path(path).exists() and path != "-":
        raise unopened(path, FileNotFoundError())
    _refuse_title(path, names, columns)
    # A file without a line of names has answers there, so no name is shown unless all columns are
    # named.
    lacking = [name for name in columns if name not in names]
    if lacking:
        spellings = {name.casefold(): name for name in names}
        # A name that differs by its case alone is the user's own word, and no answer.
        near = [spellings[name.casefold()] for name in lacking if name.casefold() in spellings]
        remedy = f"Is {near[0]!r} meant?" if near else "Check the names in the first line"
        if not near and any(name in names for name in (*columns, *further)):
            remedy = meant(lacking[0], names) or remedy
        raise FileError(path, has_no_column(lacking), None, remedy)
    return [name for name in names if name not in columns]


def has_decimal_comma(path: str, columns: Sequence[str]) -> bool:
    """Whether a table may write numbers with a decimal comma: its cells are not separated by it."""
    table = _table_of(path, columns)
    return table is not None and table.delimiter not in (None, ",")


def _refuse_title(path: str, names: Sequence[str], columns: Sequence[str]) -> None:
    """Refuse a first line that has a title in place of the names of columns."""
    lacking = [column for column in columns if column not in names]
    titled = [name for name in names if name.strip()]
    # Of a table of one column, the only name is no title, unless it has several words.
    is_title = len(titled) == 1 and (len(names) > 1 or " " in titled[0].strip())
    if lacking and is_title and not meant(lacking[0], titled):
        rule = f"has no column {lacking[0]!r}, and its first line has text in one cell only"
        raise FileError(path, rule, None, _NAMES_FIRST)


def _table_of(path: str, columns: Sequence[str]) -> AnswerTable | None:
    """The table in a file; None where what reads the answers says what is wrong with the file."""
    with contextlib.suppress(pa.ArrowException, OSError):
        return answers_in(path, list(columns))
    return None


def _plain(column: pa.Array) -> pa.Array:
    """A column without a dictionary, with texts of one type, and floats as texts."""
    column = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
    # Integers beside gaps became floats, so these are looked at.
    as_text = pa.types.is_large_string(column.type) or pa.types.is_floating(column.type)
    return pc.cast(column, pa.string()) if as_text else column


def _kind_of_type(column: pa.Array) -> Kind | None:
    """The kind that the type of a column states; None for texts, which are looked at."""
    import pyarrow.types as types

    kind = column.type
    if types.is_string(kind):
        return None
    if types.is_boolean(kind):
        return "booleans"
    if types.is_integer(kind):
        return "integers"
    if types.is_decimal(kind):
        return "numbers"
    return "dates" if types.is_temporal(kind) else "labels"


def _patterns(path: str, columns: Sequence[str]) -> dict[str, Mapping[Kind, str]]:
    """{column: the patterns of its kinds}, for texts."""
    if not has_decimal_comma(path, columns):
        return dict.fromkeys(columns, _PATTERNS)
    commas: Mapping[Kind, str] = {**_PATTERNS, "numbers": f"{_PATTERNS['numbers']}|{_COMMA}"}
    are_places = {name: any(word in name.casefold() for word in _PLACES) for name in columns}
    return {name: _PATTERNS if are_places[name] else commas for name in columns}


def _answered(column: pa.Array) -> pa.Array:
    """The texts of a column without spaces around them, of those who answered."""
    texts = pc.utf8_trim_whitespace(pc.drop_null(column))
    return texts.filter(pc.invert(pc.is_in(texts, value_set=pa.array(MISSING, texts.type))))


def _ends(column: pa.Array, pattern: str) -> list[float]:
    """The smallest and the largest number of a column; [] where there is none."""
    if _kind_of_type(column) is None:
        texts = _answered(column)
        texts = texts.filter(pc.match_substring_regex(texts, pattern))
        number = pa.int64() if pattern == _PATTERNS["integers"] else pa.float64()
        column = pc.cast(as_whole(pc.replace_substring(texts, ",", ".")), number)
    ends = pc.min_max(column).as_py()
    return [] if ends["min"] is None else [ends["min"], ends["max"]]


def _number(number: Any) -> float:
    """A number as an integer or a float."""
    return number if isinstance(number, int) else float(number)


def _distinct(column: pa.Array, name: str) -> list[str | bool]:
    """The different answers of a column of labels, as they are written."""
    present = pc.drop_null(column)
    if _kind_of_type(column) is None:
        listed = pc.is_in(pc.utf8_trim_whitespace(present), value_set=pa.array(MISSING))
        present = present.filter(pc.invert(listed))
    elif not pa.types.is_boolean(present.type):
        texts = None
        with contextlib.suppress(pa.ArrowException):  # whose errors may quote answers
            texts = pc.cast(present, pa.string())
        if texts is None:
            rule = "has values that are not text"
            remedy = f"To state the values yourself, add --values {name}=A,B,C"
            raise ArgumentError(f"column {name!r}", rule, None, remedy)
        present = texts
    labels: list[str | bool] = present.unique().to_pylist()
    return labels
