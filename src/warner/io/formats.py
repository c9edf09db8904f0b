"""The formats of files that warner reads and writes. A new format is a class and one line here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from warner._core.errors import ArgumentError, FileError
from warner.io.addresses import shown
from warner.io.csv_format import CsvFormat
from warner.io.file_format import FileFormat
from warner.io.parquet_format import ParquetFormat, is_remote
from warner.io.wire_format import WireFormat

if TYPE_CHECKING:
    import pyarrow as pa

# The first format that recognizes a file reads it. The wire format comes first, because it also
# recognizes files by their first bytes.
FORMATS: tuple[FileFormat, ...] = (
    WireFormat(),
    ParquetFormat(),
    CsvFormat(),
)


def suffixes(writable: bool = False) -> str:
    """The suffixes of files of reports, for messages and help texts.

    Args:
        writable: only those of formats that :class:`~warner.io.ReportWriter` writes.

    >>> suffixes(writable=True)
    '.parquet or .csv'
    """
    names = [form.suffix for form in FORMATS if form.is_writable or not writable]
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def is_report_file(path: str) -> bool:
    """Whether a file has a format of reports, by its name or its first bytes; it need not exist."""
    return any(form.recognizes(path) for form in FORMATS)


def report_format(path: str) -> FileFormat:
    """The format of a file of reports."""
    if is_remote(path):
        rule = "is an address, and no report file of warner on this machine"
        remedy = "Count it with 'warner tally', and with --study if another program wrote it"
        raise FileError(shown(path), rule, None, remedy)
    for form in FORMATS:
        if form.recognizes(path):
            if not Path(path).is_file():
                break
            return form
    else:
        raise ArgumentError(path, f"must end in {suffixes()}")
    if Path(path).is_dir():
        remedy = "Count a folder that another program wrote with 'warner tally --study'"
        raise FileError(path, "is not a file but a folder", None, remedy)
    raise FileError(path, "is not a file", None, "Check the path")


def output_format(path: str) -> FileFormat:
    """The format in which a new file of reports is written, by its suffix; CSV for ``-``."""
    suffix = CsvFormat.suffix if path == "-" else Path(path).suffix
    for form in FORMATS:
        if form.suffix == suffix and form.is_writable:
            return form
    raise ArgumentError(path, f"must end in {suffixes(writable=True)}")


def answer_batches(
    path: str | BinaryIO, names: list[str], bare: bool = False
) -> Iterator[pa.RecordBatch]:
    """The columns ``names`` of a file of answers, a batch at a time."""
    known = [f for f in FORMATS if f.holds_answers and isinstance(path, str) and f.recognizes(path)]
    return (known[0] if known else CsvFormat()).answers(path, names, bare)
