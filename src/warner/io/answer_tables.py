"""Answers that are read whole: files of JSON, JSON lines, Feather and Excel, and data frames.

Cells become texts, as those of CSV are, except those of Feather and of frames, which have types.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import dropwhile
from pathlib import Path
from typing import Any, cast

from warner._core.checks import kind
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    EmptyError,
    FileError,
    ValuesError,
    WarnerError,
)
from warner._core.extras import feather, imported, pa, pc
from warner._core.foreign_tables import frame_of
from warner._core.text import meant
from warner.io.file_format import ROWS_PER_BATCH, AnswerTable, for_columns_of_items

_MOST_BYTES = 2**29  # of a file that is read whole, and of all that an Excel file unzips to
_JSON = re.compile(rb'(\xef\xbb\xbf)?\s*(\{\s*["}]|\[\s*(["\[{\]0-9-]|null|true|false))')
_FEATHER = (b"ARROW1", b"FEA1")
_PRINTED = re.compile(r"\S")
AGAIN = "The file may be damaged or cut off. Copy it here again, or save it again"


def answer_table(begin: bytes, rest: Any, shown: str, names: Sequence[str]) -> AnswerTable | None:
    """The table in a stream, of which ``begin`` was read; None for what is read as CSV."""
    # ``names`` are columns that are asked for: they choose the sheet of an Excel file.
    reader: Callable[[bytes, str, Sequence[str]], AnswerTable | None]
    if _JSON.match(begin):
        reader = _json
    elif begin.startswith(_FEATHER):
        reader = _feather
    elif begin.startswith(b"PK\x03\x04"):
        reader = _excel
    else:
        return None
    data = begin + bytes(rest.read(_MOST_BYTES))
    if len(data) > _MOST_BYTES:
        raise _too_large(shown)
    return reader(data, shown, names)


def _table(
    every: list[str], names: Sequence[str], read: Callable[[], Iterable[Any]]
) -> AnswerTable:
    """A table of which ``read`` gives the columns ``names``."""

    def batches() -> Iterator[pa.RecordBatch]:
        arrays = [_array(name, cells) for name, cells in zip(names, read(), strict=True)]
        yield from pa.table(arrays, list(names)).to_batches(ROWS_PER_BATCH)

    return AnswerTable(every, batches)


def _too_large(shown: str) -> FileError:
    rule = f"is too large, with more than {_MOST_BYTES >> 20} MiB"
    return FileError(shown, rule, None, "Save it as CSV or Parquet, which can be read in pieces")


def _array(name: str, cells: Any) -> Any:
    """A column as texts, except where it has a type."""
    if not isinstance(cells, list):
        # Polars writes texts that other columns of Arrow do not compare with.
        return pc.cast(cells, pa.string()) if pa.types.is_string_view(cells.type) else cells
    texts: list[str | None] = []
    for row, cell in enumerate(cells, 1):
        if isinstance(cell, list | dict):
            rule, remedy = "must be a single value", "Write one column for each question"
            raise ValuesError(row, rule, kind(cell), remedy, f"column {name!r}, data row")
        texts.append(_text(cell))
    return pa.array(texts, pa.string())


def _text(cell: Any) -> str | None:
    """A cell as it would stand in CSV: 1 for 1.0, and a date without the hour 0:00."""
    if cell is None or isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, datetime) and cell == datetime(cell.year, cell.month, cell.day):
        return cell.date().isoformat()
    return str(cell)


def _feather(data: bytes, shown: str, names: Sequence[str]) -> AnswerTable:
    """A table in the format of Feather, which is a file of Arrow."""
    with contextlib.suppress(pa.ArrowException, OSError, KeyError):
        table = feather.read_table(pa.BufferReader(data))
        return _table(table.column_names, names, lambda: map(table.column, names))
    raise FileError(shown, "cannot be read as Feather", None, AGAIN)


# -----------------------------------------------------------------------------------------------
# JSON: a list of objects, one for each person, the objects one after the other, or columns.


def _json(data: bytes, shown: str, names: Sequence[str]) -> AnswerTable:
    """The table in a text of JSON, or of JSON lines."""
    people, problem = [], None
    try:
        people = list(_json_values(data.decode("utf-8-sig")))
    except json.JSONDecodeError as error:  # its words quote nothing, but it holds the file
        problem = f" at line {error.lineno:,}"
    except (ValueError, RecursionError):
        problem = ""
    if problem is not None:
        raise FileError(shown, f"cannot be read as JSON{problem}", None, AGAIN)
    if len(people) == 1:
        people = _people(people[0], shown) if isinstance(people[0], dict) else people[0]
    for row, person in enumerate(people, 1):
        if not isinstance(person, dict):
            rule = f"must hold one object for each person, but data row {row:,} is something else"
            remedy = 'For example [{"smokes": "never"}, {"smokes": "often"}]'
            raise FileError(shown, rule, None, remedy)
    every = list(dict.fromkeys(name for person in people for name in person))
    return _table(every, names, lambda: ([p.get(name) for p in people] for name in names))


def _json_values(text: str) -> Iterator[Any]:
    """The values of a text, with numbers as they are written."""
    missing = {"NaN": None}  # which Python writes for a missing number
    decoder = json.JSONDecoder(
        parse_float=str, parse_int=str, parse_constant=lambda word: missing.get(word, word)
    )
    at = 0
    while start := _PRINTED.search(text, at):
        value, at = decoder.raw_decode(text, start.start())
        yield value


def _people(whole: dict[str, Any], shown: str) -> list[dict[str, Any]]:
    """One person, or the people of columns: of lists, or of {row: cell} as pandas writes them."""
    if str(whole.get("format")).startswith("warner-"):
        remedy = "Give the file of answers"
        raise FileError(shown, "was written by warner, but holds no answers", None, remedy)
    if not whole or not all(isinstance(cells, list | dict) for cells in whole.values()):
        return [whole]
    rows = {tuple(c) if isinstance(c, dict) else range(len(c)) for c in whole.values()}
    if len(rows) > 1:
        raise FileError(shown, "has columns that do not have the same rows", None, AGAIN)
    columns = [list(c.values()) if isinstance(c, dict) else c for c in whole.values()]
    return [dict(zip(whole, cells, strict=True)) for cells in zip(*columns, strict=True)]


# -----------------------------------------------------------------------------------------------
# Excel: the sheet whose first row has the names of the columns.


def _excel(data: bytes, shown: str, names: Sequence[str]) -> AnswerTable | None:
    """The table in a workbook; None in another zip file."""
    with contextlib.suppress(zipfile.BadZipFile), zipfile.ZipFile(io.BytesIO(data)) as parts:
        if "xl/workbook.xml" not in parts.namelist():
            return None
        if sum(member.file_size for member in parts.infolist()) > _MOST_BYTES:
            raise _too_large(shown)
    headers, filled = _safely(shown, partial(_headers, data))
    fits = [title for title, header in headers.items() if header and set(names) <= set(header)]

    def fit(title: str) -> tuple[int, bool, bool]:
        """How well a sheet fits: a note is a sheet of one column, or of a line alone."""
        of_sheet = set(headers[title]) - {""}
        return len(of_sheet & set(names)), title in filled, len(of_sheet) > 1

    def cells(title: str, columns: Sequence[str]) -> Iterable[Any]:
        read = partial(_cells, data, shown, title, headers[title], columns)
        return cast("Iterable[Any]", _safely(shown, read))

    def chosen() -> Iterable[Any]:
        if len(fits) > 1 and names:
            columns = f"column{'s' * (len(names) > 1)} {', '.join(names)}"
            raise on_several_sheets(shown, f"the {columns}", fits)
        return cells(title, names)

    title = max(headers, key=fit)  # the first of those that fit best
    each = {one: [name for name in headers[one] if name.strip()] for one in headers}
    sheets = {
        one: _table(headers[one], each[one], partial(cells, one, each[one])) for one in filled
    }
    return _table(headers[title], names, chosen)._replace(sheets=sheets)


def on_several_sheets(shown: str, what: str, titles: Sequence[str]) -> FileError:
    """The error of a workbook of which several sheets may be meant."""
    rule = f"has {what} on several sheets: {', '.join(titles)}"
    return FileError(shown, rule, None, "Keep only the sheet that is meant")


def _safely(shown: str, work: Callable[[], Any]) -> Any:
    """The result of reading a workbook; warnings and errors of openpyxl may quote cells."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return work()
        except WarnerError:
            raise
        except Exception:
            pass
    rule = "looks like an Excel file, but cannot be read"
    remedy = "Save it again in Excel, or as CSV UTF-8"
    if (of_other := _OF_OTHERS.get(Path(shown).suffix.lower())) is not None:
        rule, remedy = of_other
    raise FileError(shown, rule, None, remedy)


# Files of other programs that begin as a file of Excel does.
_OF_OTHERS = {
    ".ods": ("is a spreadsheet of LibreOffice", "In LibreOffice, save it as .xlsx or .csv"),
    ".numbers": ("is a spreadsheet of Numbers", "In Numbers, export it as Excel or CSV"),
    ".docx": ("is a document of Word", "Copy the table into Excel, and save it as .xlsx"),
}


def _headers(data: bytes) -> tuple[dict[str, list[str]], list[str]]:
    """The names in the first row of each sheet, and the sheets with rows below it."""
    headers, filled = {}, []
    for sheet in _workbook(data).worksheets:
        rows = _rows(sheet)
        headers[sheet.title] = [_text(value) or "" for value in next(rows, ())]
        if any(value is not None for row in rows for value in row):
            filled.append(sheet.title)
    return headers, filled


def _cells(
    data: bytes, shown: str, title: str, header: list[str], names: Sequence[str]
) -> list[list[Any]]:
    """Columns of a sheet. Empty rows at its end are of nobody."""
    places = {name: header.index(name) for name in names}
    rows = list(_rows(_workbook(data)[title], len(header)))[1:]
    if any(row[position] is None for row in rows for position in places.values()):
        _refuse_formulas(data, shown, title, places)
    while rows and not any(value is not None for value in rows[-1]):
        rows.pop()
    return [[row[position] for row in rows] for position in places.values()]


def _refuse_formulas(data: bytes, shown: str, title: str, places: Mapping[str, int]) -> None:
    """Refuse formulas that no program has computed: their cells look as if they were empty."""
    width = max(places.values()) + 1
    both = (_rows(_workbook(data, is_value)[title], width, False) for is_value in (True, False))
    for number, (row, formulas) in enumerate(zip(*both, strict=False)):  # 0 has the names
        for name, position in places.items():
            value, is_formula = row[position], formulas[position].data_type == "f"
            # The type "str" is that of a formula whose value is an empty text.
            if is_formula and value.value is None and value.data_type != "str":
                rule = "must have a value in the file"
                remedy = "Open the file in Excel, and save it again"
                where = f"{shown}: column {name!r}, data row"
                raise ValuesError(number, rule, "only a formula", remedy, where)


def _workbook(data: bytes, data_only: bool = True) -> Any:
    """A workbook whose rows are read one by one, with values or with formulas."""
    openpyxl = imported("openpyxl", "an Excel file")
    return openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=data_only)


def _rows(sheet: Any, width: int | None = None, as_values: bool = True) -> Iterator[Sequence[Any]]:
    """The rows of a sheet from the first that is not empty, as values or as cells."""
    sheet.reset_dimensions()  # other programs state a size that is too small
    rows = sheet.iter_rows(max_col=width, values_only=as_values)
    return dropwhile(lambda row: all(getattr(c, "value", c) is None for c in row), rows)


def answer_batch(answers: Any, names: Sequence[str]) -> pa.RecordBatch:
    """The columns of these names, of a data frame of any library or a dict of columns."""
    imported("narwhals.stable.v2")

    columns: dict[str, Any]
    if isinstance(answers, Mapping):
        columns = dict(answers)
        others = [name for name in columns if name not in names]
    else:
        frame = None
        with contextlib.suppress(TypeError):
            frame = frame_of(answers, "answers").lazy()
        if frame is None:
            rule = "must be a data frame or a dict of columns"
            raise ArgumentTypeError("answers", rule, kind(answers))
        in_frame = frame.collect_schema().names()
        present = [name for name in names if name in in_frame]
        others = [name for name in in_frame if name not in names]
        collected = frame.select(present).collect()
        columns = {name: collected[name] for name in present}
    if lacking := [name for name in names if name not in columns]:
        rule = f"have no column {lacking[0]!r}"
        remedy = for_columns_of_items(lacking, others) or meant(lacking[0], others)
        needed = f"The columns that are needed are {', '.join(names)}"
        raise ArgumentError("answers", rule, None, remedy or needed)
    arrays = {name: _as_arrow(name, columns[name]) for name in names}
    if len({len(array) for array in arrays.values()}) > 1:
        rule = "must have one row for each person in every column"
        raise ArgumentError("answers", rule, "columns of different lengths")
    if not len(next(iter(arrays.values()))):
        raise EmptyError("answers", "must not be empty", None, "Pass at least one row")
    return pa.RecordBatch.from_pydict(arrays)


def _as_arrow(name: str, column: Any) -> pa.Array:
    """A column of answers as an array of Arrow, whose errors may quote answers."""
    array = None
    with contextlib.suppress(pa.ArrowException, TypeError, ValueError):
        array = column.to_arrow() if hasattr(column, "to_arrow") else pa.array(column)
    if array is None:
        rule = "must hold answers of one type, such as text or numbers"
        raise ArgumentTypeError(f"column {name!r}", rule, None, "Convert all answers to text")
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
