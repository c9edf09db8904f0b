"""What a column of answers holds, and no more of it than is asked for.

:func:`kinds_of` says whether a column holds labels, whole numbers, numbers, dates, cells or truth
values. It returns no answer and no count. :func:`contents_of` returns labels and limits, which are
answers of people; it is only for callers who were told to copy them.
"""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from warner._core.errors import ArgumentError, FileError
from warner._core.text import unreadable
from warner.io.file_format import ROWS_PER_BATCH
from warner.io.read_answers import _parts
from warner.io.text_encodings import SEPARATOR

if TYPE_CHECKING:
    import pyarrow as pa

Kind = Literal["labels", "integers", "numbers", "dates", "cells", "booleans"]

# A kind is that of at least 9 in 10 answers. So one unusual answer does not change what is said of
# a column, unless the column is at the border already.
_MOST = 0.9
_MISSING = ["", "NA", "N/A", "n/a", "na", "NaN", "nan", "null", "NULL", "None", "-", "."]
_WHOLE = "(0|[1-9][0-9]{0,17})"  # 007 is a label
_PATTERNS: dict[Kind, str] = {
    "integers": f"^-?{_WHOLE}$",
    "numbers": f"^-?({_WHOLE}(\\.[0-9]*)?|\\.[0-9]+)([eE][+-]?[0-9]{{1,2}})?$",
    "dates": "^([0-9]{4}-[0-9]{2}-[0-9]{2}([T ].*)?|[0-9]{1,2}[./][0-9]{1,2}[./][0-9]{4})$",
    "cells": "^(\\[[0-9]{1,9}, ?[0-9]{1,9}\\]|[0-9]{1,9}, ?[0-9]{1,9})$",
}
_DELIMITERS = (",", ";", "\t")
_LONGEST_LINE = 2**20  # bytes
# 3,5 is a number with a decimal comma where another character is between the columns, unless such
# a word is in the name of the column. Else it is a cell.
_COMMA = _PATTERNS["numbers"].replace("\\.", ",")
_PLACES = ("cell", "place", "home", "grid", "location", "position", "square", "tile", "coord")


@dataclass(frozen=True)
class Contents:
    """Answers that stand in a column, to be copied only when told.

    Attributes:
        labels: the different answers, sorted; () for numbers.
        low, high: the smallest and the largest number; None for labels.
    """

    labels: tuple[str | bool, ...] = ()
    low: float | None = None
    high: float | None = None


def kinds_of(path: str, columns: Sequence[str]) -> dict[str, Kind]:
    """Return the kind of each column, which is that of at least 9 in 10 answers.

    The kinds of a Parquet file are those of its schema, except for texts. Empty cells and usual
    spellings of a missing answer do not count. A column without an answer holds labels.
    """
    patterns = _patterns(path, columns)
    counts = {name: dict.fromkeys(_PATTERNS, 0) for name in columns}
    answered = dict.fromkeys(columns, 0)
    known: dict[str, Kind] = {}
    for batch, _ in _parts(path, list(columns), ROWS_PER_BATCH, False):
        for name in columns:
            column = _plain(batch.column(name))
            stated = _kind_of_type(column)
            if stated is not None:
                known[name] = stated
                continue
            texts = _answered(column)
            answered[name] += len(texts)
            for kind, pattern in patterns[name].items():
                counts[name][kind] += _matches(texts, pattern)
    for name in columns:
        if name not in known:
            known[name] = _kind_of_texts(counts[name], answered[name])
    return {name: known[name] for name in columns}


def contents_of(
    path: str, columns: Mapping[str, Kind], most_labels: int = 64
) -> Iterator[tuple[str, Contents]]:
    """Return the labels, or the smallest and the largest number, of columns.

    THESE ARE ANSWERS OF PEOPLE. Call it only where the user asked for copies.
    """
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
                    rule = f"has more than {most_labels} different labels, so it may be free text"
                    remedy = "State its labels with --values"
                    raise ArgumentError(f"column {name!r}", rule, None, remedy)
    for name in columns:
        if any(isinstance(label, str) and unreadable(label) for label in labels[name]):
            rule = "has labels with characters that no screen shows"
            raise ArgumentError(f"column {name!r}", rule, None, "State its labels with --values")
        ends = limits[name]
        # Numbers of Parquet's decimal type are written as floats.
        low, high = (_number(min(ends)), _number(max(ends))) if ends else (None, None)
        yield name, Contents(tuple(sorted(labels[name], key=str)), low, high)


def other_columns(path: str, columns: Sequence[str]) -> list[str]:
    """Return the names of the other columns of a file of answers, in its order.

    A file without a line of names has answers there. So nothing is returned, and no name shown,
    unless all of ``columns`` are among the names.
    """
    _, names = _header(path, columns)
    lacking = [name for name in columns if name not in names]
    if lacking:
        known = {name.casefold(): name for name in names}
        # A name that differs by its case alone is the user's own word, and no answer.
        near = [known[name.casefold()] for name in lacking if name.casefold() in known]
        remedy = f"Is {near[0]!r} meant?" if near else "Name its columns in the first line"
        raise FileError(path, f"has no column {', '.join(lacking)}", None, remedy)
    return [name for name in names if name not in columns]


def _header(path: str, columns: Sequence[str]) -> tuple[str | None, list[str]]:
    """The character between the columns, None for no CSV; and the names of all columns."""
    if Path(path).suffix.lower() == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        with contextlib.suppress(pa.ArrowException, OSError):
            return None, list(pq.read_schema(path).names)
        return None, list(columns)  # what reads the answers says what is wrong with the file
    line = _first_line(path)
    if line is None:
        return None, list(columns)
    found = {d: _cells(line, d) for d in _DELIMITERS}
    return max(found.items(), key=lambda item: len(set(item[1]) & set(columns)))


def _cells(line: str, delimiter: str) -> list[str]:
    """The cells of a line; [] where its quotes do not fit together."""
    with contextlib.suppress(csv.Error):
        return next(csv.reader([line], delimiter=delimiter, strict=True), [])
    return []


def _first_line(path: str) -> str | None:
    """The first line of a text file; None for what is no text, or no file."""
    line = b"\0"
    with contextlib.suppress(OSError), open(path, "rb") as file:
        line = file.readline(_LONGEST_LINE)
        if SEPARATOR.fullmatch(line):
            line = file.readline(_LONGEST_LINE)
        line = line.rstrip(b"\r\n").split(b"\r")[0]
    if line[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return line.decode("utf-16", errors="ignore")
    if b"\0" in line:
        return None
    with contextlib.suppress(UnicodeDecodeError):
        return line.decode("utf-8-sig")
    return line.decode("cp1252", errors="replace")


def _plain(column: pa.Array) -> pa.Array:
    """A column without a dictionary, with texts of one type."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
    return pc.cast(column, pa.string()) if pa.types.is_large_string(column.type) else column


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
    if types.is_floating(kind) or types.is_decimal(kind):
        return "numbers"
    return "dates" if types.is_temporal(kind) else "labels"


def _patterns(path: str, columns: Sequence[str]) -> dict[str, Mapping[Kind, str]]:
    """{column: the patterns of its kinds}, for texts."""
    delimiter, _ = _header(path, columns)
    if delimiter in (None, ","):
        return dict.fromkeys(columns, _PATTERNS)
    commas: Mapping[Kind, str] = {**_PATTERNS, "numbers": f"{_PATTERNS['numbers']}|{_COMMA}"}
    are_places = {name: any(word in name.casefold() for word in _PLACES) for name in columns}
    return {name: _PATTERNS if are_places[name] else commas for name in columns}


def _kind_of_texts(counts: Mapping[Kind, int], answered: int) -> Kind:
    """The kind of a column of texts from the number of answers that each pattern fits."""
    order: tuple[Kind, ...] = ("integers", "numbers", "dates", "cells")
    fits = (kind for kind in order if 0 < _MOST * answered <= counts[kind])
    return next(fits, "labels")


def _answered(column: pa.Array) -> pa.Array:
    """The texts of a column without spaces around them, of those who answered."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = pc.utf8_trim_whitespace(pc.drop_null(column))
    return texts.filter(pc.invert(pc.is_in(texts, value_set=pa.array(_MISSING, texts.type))))


def _matches(texts: pa.Array, pattern: str) -> int:
    import pyarrow.compute as pc

    return pc.sum(pc.match_substring_regex(texts, pattern)).as_py() or 0


def _ends(column: pa.Array, pattern: str) -> list[float]:
    """The smallest and the largest number of a column; [] where there is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if _kind_of_type(column) is None:
        texts = _answered(column)
        texts = texts.filter(pc.match_substring_regex(texts, pattern))
        number = pa.int64() if pattern == _PATTERNS["integers"] else pa.float64()
        column = pc.cast(pc.replace_substring(texts, ",", "."), number)
    if pa.types.is_floating(column.type):
        column = column.filter(pc.is_finite(column))
    found = pc.min_max(column).as_py()
    return [] if found["min"] is None else [found["min"], found["max"]]


def _number(number: Any) -> float:
    """A number as an integer or a float."""
    return number if isinstance(number, int) else float(number)


def _distinct(column: pa.Array, name: str) -> list[str | bool]:
    """The different answers of a column of labels, as they are written."""
    import pyarrow as pa
    import pyarrow.compute as pc

    present = pc.drop_null(column)
    if _kind_of_type(column) is None:
        listed = pc.is_in(pc.utf8_trim_whitespace(present), value_set=pa.array(_MISSING))
        present = present.filter(pc.invert(listed))
    elif not pa.types.is_boolean(present.type):
        present = _as_texts(present)
    if present is None:
        rule, remedy = "has labels that are no texts", "State its labels with --values"
        raise ArgumentError(f"column {name!r}", rule, None, remedy)
    found: list[str | bool] = present.unique().to_pylist()
    return found


def _as_texts(column: pa.Array) -> pa.Array | None:
    """A column as texts; None where Arrow cannot do so. Its errors may quote answers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    with contextlib.suppress(pa.ArrowException):
        return pc.cast(column, pa.string())
    return None
