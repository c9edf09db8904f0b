"""The formats of files that warner reads and writes. A new format is a class and one line here."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from warner._core.atomic_files import remedy_of_no_file
from warner._core.errors import ArgumentError, FileError
from warner._core.extras import pa
from warner._core.progress import in_blocks
from warner._core.text import RANDOMISE, RANDOMISE_FIRST, canonical, series
from warner.io.csv_format import CsvFormat
from warner.io.file_format import (
    NO_PUBLIC,
    ROWS_PER_BATCH,
    AnswerTable,
    FileFormat,
    Public,
    refuse_repeated,
    require_columns,
    shown_as,
)
from warner.io.parquet_format import ParquetFormat, is_remote, redacted_address
from warner.reports.reports import DIGEST_BYTES, MAGIC, WireColumn, file_header, read_wire_head

# -----------------------------------------------------------------------------------------------
# Files in the wire format of reports, as ``Reports.save`` writes them.


_ATTRIBUTE = "value"  # a wire file has no name for its attribute
_BLOCK = 2**24  # bytes that are hashed at a time


class WireFormat(FileFormat):
    """The wire format: reports of one attribute, called ``value``. Names of files are free."""

    name = "wire format"
    suffix = ".warner"
    holds_answers = False
    is_writable = False

    def recognizes(self, path: str) -> bool:
        if super().recognizes(path):
            return True
        if not Path(path).is_file():
            return False
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC

    def read_ends(self, path: str) -> tuple[bytes, bytes]:
        with open(path, "rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                return b"", b""
            file.seek(max(len(MAGIC), file.seek(0, os.SEEK_END) - DIGEST_BYTES))
            digest = file.read().hex()
        if _digest(path) != digest:  # the head of an altered file may say anything
            return canonical(file_header({_ATTRIBUTE: {}}, False)).encode(), b""
        head = read_wire_head(path)
        end = {"n": head.n, "sha256": digest}
        header = file_header({_ATTRIBUTE: head.header}, head.simulated)
        return canonical(header).encode(), canonical(end).encode()

    def is_intact(self, path: str, end: Mapping[str, Any]) -> bool:
        """True: :meth:`read_ends` gives no end of a file that was altered."""
        return True

    def columns(self, path: str) -> dict[str, str]:
        return {
            name: np.dtype(column.dtype).name
            for column in read_wire_head(path).columns
            for name in _file_names(column)
        }

    def batches(
        self, path: str, columns: Mapping[str, int], public: Public = NO_PUBLIC
    ) -> Iterator[pa.RecordBatch]:
        head = read_wire_head(path)
        arrays = [
            np.memmap(path, column.dtype, "r", column.offset, (head.n, *column.shape))
            for column in head.columns
        ]
        for rows in in_blocks(head.n, ROWS_PER_BATCH):
            block = [array[rows] for array in arrays]
            parts = [piece.reshape(len(piece), -1).T for piece in block]
            yield pa.RecordBatch.from_arrays(
                [pa.array(np.ascontiguousarray(column)) for piece in parts for column in piece],
                list(columns),
            )


def _file_names(column: WireColumn) -> list[str]:
    """The columns of a report file that hold a column in the wire format."""
    name = f"{_ATTRIBUTE}_{column.name}"
    return [f"{name}_{i}" for i in range(column.shape[0])] if column.shape else [name]


def _digest(path: str) -> str:
    """The SHA-256 of all of a file except its last 32 bytes, in hexadecimal."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        left = file.seek(0, os.SEEK_END) - DIGEST_BYTES
        file.seek(0)
        while left > 0:
            block = file.read(min(_BLOCK, left))
            digest.update(block)
            left -= len(block)
    return digest.hexdigest()


# The first format that recognizes a file reads it. The wire format comes first, because it also
# recognizes files by their first bytes.
FORMATS: tuple[FileFormat, ...] = (WireFormat(), ParquetFormat(), CsvFormat())


def suffixes(writable: bool = False) -> str:
    """The suffixes of files of reports, or only of writable ones, for messages and help texts."""
    names = [form.suffix for form in FORMATS if form.is_writable or not writable]
    return series(names, "or")


def is_report_file(path: str) -> bool:
    """Whether a file has a format of reports, by its name or its first bytes; it need not exist."""
    return any(form.recognizes(path) for form in FORMATS)


_UNREAD = {  # by how they begin: what they are, and what to do
    b"\x1f\x8b": ("is compressed by gzip", "Unpack the file with gunzip"),
    b"\x28\xb5\x2f\xfd": ("is compressed by zstd", "Unpack the file with unzstd"),
    b"SQLite format 3\0": (
        "is a database of SQLite, such as the store of a collector",
        "Fetch the collector's tally: warner collect pull URL --token-file token.txt -o tally.json",
    ),
}
_NO_REPORTS = {
    ".toml": (
        "Give the study file with --study, as in: warner tally reports.parquet --study study.toml"
    ),
    ".json": f"If this is a tally, use 'warner estimate' or 'warner merge'. {RANDOMISE}",
}


def report_format(path: str) -> FileFormat:
    """The format of a file of reports."""
    if is_remote(path):
        rule = "is a web address, but here only a report file on this machine can be read"
        remedy = (
            "Use 'warner tally' to count the file, with --study if another program wrote the file"
        )
        raise FileError(redacted_address(path), rule, None, remedy)
    for form in FORMATS:
        if form.recognizes(path):
            if not Path(path).is_file():
                break
            return form
    else:
        if not Path(path).suffix and not Path(path).exists():
            raise FileError(path, "does not exist", None, remedy_of_no_file(path))
        if Path(path).is_file():
            refuse_unread(path)
        elif Path(path).exists() and not Path(path).is_dir():
            remedy = "Give what it holds on standard input: PROGRAM | warner tally - --study STUDY"
            raise FileError(path, "is a pipe or a device, not a file", None, remedy)
        usual = f"If these are reports, save them as Parquet or CSV. {RANDOMISE_FIRST}"
        remedy = _NO_REPORTS.get(Path(path).suffix, usual)
        rule = f"must be a file of reports ({suffixes()})"
        raise ArgumentError(path, rule, None, remedy)
    if Path(path).is_dir():
        remedy = "To count a folder that another program wrote, use 'warner tally --study'"
        raise FileError(path, "is a folder, not a file", None, remedy)
    raise FileError(path, "does not exist", None, remedy_of_no_file(path))


def refuse_unread(path: str) -> None:
    """Refuse a compressed file or a database."""
    with open(path, "rb") as file:
        begin = file.read(max(map(len, _UNREAD)))
    for first, about in _UNREAD.items():
        if begin.startswith(first):
            rule, remedy = about
            raise FileError(path, rule, None, remedy)


def output_format(path: str) -> FileFormat:
    """The format in which a new file of reports is written, by its suffix; CSV for ``-``."""
    suffix = CsvFormat.suffix if path == "-" else Path(path).suffix
    for form in FORMATS:
        if form.suffix == suffix and form.is_writable:
            return form
    raise ArgumentError(path, f"must end in {suffixes(writable=True)}")


def answers_in(path: str | BinaryIO, names: list[str], bare: bool = False) -> AnswerTable:
    """The table in a file of answers, to be asked for the columns ``names``."""
    fitting = [
        f for f in FORMATS if f.holds_answers and isinstance(path, str) and f.recognizes(path)
    ]
    return (fitting[0] if fitting else CsvFormat()).answers(path, names, bare)


def answer_batches(
    path: str | BinaryIO, names: list[str], bare: bool = False
) -> Iterator[pa.RecordBatch]:
    """The columns ``names`` of a file of answers, a batch at a time."""
    table = answers_in(path, names, bare)
    if not bare:
        refuse_repeated(names, table.names)
        require_columns(shown_as(path), names, table.names)
    yield from table.batches()
