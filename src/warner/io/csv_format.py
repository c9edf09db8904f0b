"""CSV files."""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import os
import re
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain
from typing import Any, BinaryIO

from warner._core.errors import FileError
from warner._core.extras import arrow_csv, pa
from warner.io.answer_tables import answer_table
from warner.io.file_format import (
    NO_PUBLIC,
    AnswerTable,
    FileFormat,
    Public,
    ReportSink,
    refuse_reports,
    shown_as,
)
from warner.io.public_values import arrow_type
from warner.reports.reports import MAGIC
from warner.reports.rules import smallest_dtype

# -----------------------------------------------------------------------------------------------
# Encodings of text files, and files that are no text but end up where text is expected.


# The first bytes of files that people give in place of CSV, with what they are and what helps.
_SPREADSHEET = "Save it as CSV UTF-8: in Excel with File, Save As"
_STATA = "Save it as CSV: in Stata with export delimited"
_OTHERS = {
    b"PK\x03\x04": ("a spreadsheet (.xlsx or .ods) or another zip file", _SPREADSHEET),
    b"\xd0\xcf\x11\xe0": ("an Excel file (.xls)", _SPREADSHEET),
    b"PAR1": ("a Parquet file", "Give it a name that ends in .parquet"),
    b"ARROW1": ("a Feather file", "Save it as CSV or Parquet"),
    b"%PDF": ("a PDF file", "Export the table as CSV"),
    b"$FL": ("an SPSS file (.sav)", "Save it as CSV: in SPSS with File, Save As"),
    b"<stata_dta>": ("a Stata file (.dta)", _STATA),
    # Of Stata 8 to 12: the version, the order of bytes, and two bytes that are always so.
    **{
        bytes([version, order, 1, 0]): ("a Stata file (.dta)", _STATA)
        for version in (113, 114, 115)
        for order in (1, 2)
    },
    b"\x1f\x8b": ("a file that is compressed by gzip", "Give it a name that ends in .gz"),
}
_MARKS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_PIECE = 2**20
# Excel can name the delimiter in a line of its own, before the line of names.
SEPARATOR = re.compile(rb"\A(?:\xef\xbb\xbf)?sep=[,;\t]\r?\n")


def as_utf8(begin: bytes, stream: Any, shown: str) -> tuple[bytes, io.RawIOBase]:
    """A text in UTF-8, from UTF-8, from UTF-16 with its mark, or from Windows-1252."""
    for first, (what, remedy) in _OTHERS.items():
        if begin.startswith(first):
            raise FileError(shown, "must be CSV", what, remedy)
    pieces: Iterator[bytes] = chain([begin], iter(lambda: bytes(stream.read(_PIECE)), b""))
    encoding = next((name for mark, name in _MARKS.items() if begin.startswith(mark)), None)
    is_utf8 = False
    with contextlib.suppress(UnicodeDecodeError):  # it may end within a character
        codecs.getincrementaldecoder("utf-8")().decode(begin)
        is_utf8 = True
    if encoding is not None or not is_utf8:
        # Windows-1252 holds all printed characters of Latin-1. A letter that is thereby misread is
        # in no label, so that its answer is refused.
        pieces = _decoded(pieces, encoding or "cp1252")
    first = next(pieces, b"")
    return first, _Stream(_without_blank_end(chain([first], pieces)))


def _decoded(pieces: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    """A text in another encoding as UTF-8."""
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    yield decoder.decode(next(pieces)).removeprefix("\ufeff").encode()
    for piece in pieces:
        yield decoder.decode(piece).encode()


def _without_blank_end(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """A text without blank lines at its end, which are of nobody; within it they are of someone."""
    held = b""
    for piece in pieces:
        text = held + piece
        lines = text.rstrip(b"\r\n")
        held = text[len(lines) :]
        yield lines
    yield b"\n" if held else b""  # the only line of a text may be blank


class _Stream(io.RawIOBase):
    """Pieces of bytes as a file."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._left = pieces, b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        parts, length = [self._left], len(self._left)  # a short read would end a block of lines
        while (size < 0 or length < size) and (piece := next(self._pieces, None)) is not None:
            parts.append(piece)
            length += len(piece)
        whole = b"".join(parts)
        stop = size if size >= 0 else length
        self._left = whole[stop:]
        return whole[:stop]


_START, _END = b"#warner ", b"#end "  # the first and the last line of a report file
_BLOCK = 2**23  # bytes of reports per batch
_TAIL = 2**20  # bytes in which the last line begins
_ANSWER_BLOCK = 2**24  # bytes of answers that are read at a time
_DELIMITERS = (",", ";", "\t")
_BARE_LINES = 50  # lines that show the delimiter where there are no names


class CsvFormat(FileFormat):
    """CSV. The first line is ``#warner {header}``, the last line ``#end {end}``."""

    name = "CSV"
    suffix = ".csv"
    holds_public = True

    def read_ends(self, path: str) -> tuple[bytes, bytes]:
        with open(path, "rb") as file:
            head = file.readline()
            if not head.startswith(_START):
                return b"", b""
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL))
            tail = file.read().rstrip(b"\n").rsplit(b"\n", 1)[-1]
        return head[len(_START) :], tail[len(_END) :] if tail.startswith(_END) else b""

    def columns(self, path: str) -> dict[str, str]:
        """The names in the line after the header."""
        try:
            with open(path, newline="", encoding="utf-8") as file:
                file.readline()
                names = next(csv.reader(file, strict=True), [])
        except (csv.Error, UnicodeDecodeError):
            names = []
        if len(set(names)) < len(names):
            raise FileError(path, "has two columns with the same name. Rename one of them")
        return dict.fromkeys(names, "")

    def batches(
        self, path: str, columns: Mapping[str, int], public: Public = NO_PUBLIC
    ) -> Iterator[pa.RecordBatch]:
        """The lines between the header's and the end's."""
        types = {name: arrow_type(domain) for name, domain in public.items()} | {
            name: pa.from_numpy_dtype(smallest_dtype(size)) for name, size in columns.items()
        }
        convert = arrow_csv.ConvertOptions(
            column_types=types,
            include_columns=list(types),
            null_values=[""],
            strings_can_be_null=False,
        )
        # An empty line is a row without a report.
        parse = arrow_csv.ParseOptions(ignore_empty_lines=False)
        read = arrow_csv.ReadOptions(block_size=_BLOCK)
        with open(path, "rb") as file:
            start = max(0, file.seek(0, os.SEEK_END) - _TAIL)
            file.seek(start)
            stop = start + file.read().rindex(b"\n" + _END) + 1
            file.seek(0)
            file.readline()
            with arrow_csv.open_csv(
                _UpTo(file, stop), read_options=read, parse_options=parse, convert_options=convert
            ) as reader:
                yield from reader

    def sink(
        self, path: str, header: str, columns: Mapping[str, int], public: Public = NO_PUBLIC
    ) -> ReportSink:
        return _CsvSink(path, header)

    def answers(self, path: str | BinaryIO, names: list[str], bare: bool = False) -> AnswerTable:
        """The table in a file of CSV, or of another format that its first bytes show."""
        source, shown = pa.input_stream(sys.stdin.buffer if path == "-" else path), shown_as(path)
        first = source.read(_ANSWER_BLOCK)
        if first.startswith((_START, MAGIC)):
            refuse_reports(shown)
        if not bare:
            table = answer_table(first, source, shown, names)
            if table is not None:
                return table
            first = SEPARATOR.sub(b"", first, 1)
        begin, whole = as_utf8(first, source, shown)
        # The reader below takes the first of two columns of one name, so the first line is read on
        # its own.
        delimiter, columns = _delimiter(begin[:_TAIL], names, bare) if begin else (",", names)
        return AnswerTable(columns, partial(_rows, whole, delimiter, names, bare), delimiter)


def _rows(
    text: io.RawIOBase, delimiter: str, names: list[str], bare: bool
) -> Iterator[pa.RecordBatch]:
    """The columns ``names`` as text, a batch at a time; a blank line holds empty cells."""
    from warner.io.answer_column import DECIMAL_COMMA

    # Without empty lines, the numbers of all rows after them would shift.
    parse = arrow_csv.ParseOptions(delimiter=delimiter, ignore_empty_lines=False)
    # Everything is read as text and checked later: Arrow's own conversions would guess.
    convert = arrow_csv.ConvertOptions(
        include_columns=names,
        column_types={name: pa.string() for name in names},
        strings_can_be_null=False,
        null_values=[],
    )
    # Errors name a row only where one thread counts the rows.
    read = arrow_csv.ReadOptions(
        block_size=_ANSWER_BLOCK, column_names=names if bare else None, use_threads=False
    )
    # In a file with semicolons or tabs, numbers may have decimal commas.
    marks = None if delimiter == "," else {DECIMAL_COMMA: b"1"}
    with arrow_csv.open_csv(
        pa.PythonFile(text, "r"), read_options=read, parse_options=parse, convert_options=convert
    ) as reader:
        for batch in reader:
            yield batch.replace_schema_metadata(marks)


class _UpTo(io.RawIOBase):
    """A file from its current position to ``stop``."""

    def __init__(self, file: Any, stop: int) -> None:
        self._file, self._stop = file, stop

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self._stop - self._file.tell()
        data = self._file.read(min(len(buffer), left)) if left > 0 else b""
        buffer[: len(data)] = data
        return len(data)


def _delimiter(begin: bytes, names: list[str], bare: bool) -> tuple[str, list[str]]:
    """The character between the cells of a file, and the cells of its first line."""

    # A comma, unless the first line has more of the columns with another. Without names, the first
    # lines must have as many cells as there are columns.
    read = arrow_csv.ReadOptions(column_names=names if bare else None, use_threads=False)
    lines = b"\n".join(begin.splitlines()[: _BARE_LINES if bare else 1]) + b"\n"
    best, cells, most = _DELIMITERS[0], [""], (-1, -1)
    for delimiter in _DELIMITERS:
        parse = arrow_csv.ParseOptions(delimiter=delimiter, ignore_empty_lines=False)
        with contextlib.suppress(pa.ArrowInvalid):  # the reader of the whole file says the same
            # A buffer of Arrow's own: its threads would wait for Python's lock at each read.
            source = pa.BufferReader(lines)
            table = arrow_csv.read_csv(source, read_options=read, parse_options=parse)
            columns = set(table.column_names)
            count = len(set(names) & columns), len(columns)
            if count > most:
                best, cells, most = delimiter, table.column_names, count
    return best, cells


class _CsvSink(ReportSink):
    """A CSV file that is being written."""

    def __init__(self, path: str, header: str) -> None:
        self._file = open(path, "wb")  # noqa: SIM115 - closed by close()
        self._file.write(_START + header.encode() + b"\n")
        self._first = True

    def write(self, columns: Mapping[str, Any]) -> None:
        options = arrow_csv.WriteOptions(include_header=self._first)
        arrow_csv.write_csv(pa.table(dict(columns)), self._file, options)
        self._first = False

    def close(self, end: str | None) -> None:
        if end is not None:
            self._file.write(_END + end.encode() + b"\n")
        self._file.close()
