"""What a file format is: everything that depends on how a file stores columns, in one class.

A report file has the columns of :mod:`warner.io.file_format`, a header and an end, both JSON. The
public columns of a study, if it has any, stand before those of reports. The header declares them,
and holds every attribute's mechanism, to the last bit of its law. The end holds the number of
reports and the digest of the file. A file that is not byte for byte as it was written is refused.
"""

from __future__ import annotations

import hashlib
import mmap
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, ClassVar, NamedTuple

import numpy as np

from warner._core.errors import FileError
from warner._core.extras import pa
from warner._core.progress import steps
from warner.domains import Domain
from warner.reports.schema import ReportSchema

# -----------------------------------------------------------------------------------------------
# The columns of a file that hold the reports of an attribute.
#
# A file has one column per report column and attribute, named ``attribute_column``. The bytes of a
# report of K bits are ``attribute_bits_0``, ``attribute_bits_1``, ..., and d digits are
# ``attribute_digits_0``, .... The columns of part ``p`` of a tuple are ``attribute_p.column``.
#
# A file of blocks has one column of bytes for each attribute, ``attribute_records``: each row
# holds the records of many reports, one behind the other.


def file_columns(attribute: str, schema: ReportSchema) -> dict[str, int]:
    """The columns of an attribute's reports in a file: {name: how many values it may take}.

    >>> from warner.reports.schema import BitVector
    >>> file_columns("age", BitVector(10))
    {'age_bits_0': 256, 'age_bits_1': 256}
    """
    return {f"{attribute}_{name}": size for name, size in schema.file_columns().items()}


def records_column(attribute: str) -> str:
    """The column of bytes of an attribute in a file of blocks.

    >>> records_column("age")
    'age_records'
    """
    return f"{attribute}_records"


def to_file(
    attribute: str, schema: ReportSchema, columns: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """The columns of a file, (n,) each, from the columns of an attribute's reports."""
    return {f"{attribute}_{name}": column for name, column in schema.to_file(columns).items()}


def from_file(
    attribute: str, schema: ReportSchema, columns: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """The columns (n,) of an attribute's reports from those of a file; undoes :func:`to_file`."""
    return schema.from_file(
        {name: columns[f"{attribute}_{name}"] for name in schema.file_columns()}
    )


# -----------------------------------------------------------------------------------------------
# The seal of a report file: a SHA-256 of the file that is written in the file itself.
#
# The digest is computed from the file with 64 zeros in the place of the digest.


_MARK, UNSEALED = b'"sha256":"', "0" * 64
_PIECE = 2**24  # bytes


def seal(path: str) -> None:
    """Replace the 64 zeros in the place of the digest by the digest."""
    digest, position = digest_of(path)
    with open(path, "r+b") as file:
        file.seek(position)
        file.write(digest.encode())


def digest_of(path: str) -> tuple[str, int]:
    """The digest that a file must state, in hexadecimal, and its position in the file."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        position = data.rfind(_MARK) + len(_MARK)
        if position < len(_MARK):
            return "", 0
        digest = hashlib.sha256()
        last = position + len(UNSEALED)
        # In pieces, between which Ctrl-C is heard.
        starts = range(0, len(data), _PIECE)
        for start in steps(starts, "computing the digest"):
            stop = start + _PIECE
            digest.update(data[start : min(stop, position)] if start < position else b"")
            digest.update(UNSEALED.encode() if start <= position < stop else b"")
            digest.update(data[max(start, last) : stop])
        return digest.hexdigest(), position


ROWS_PER_BATCH = 2**18  # people per batch, at most
Public = Mapping[str, Domain]  # {name: the values of a public column}
NO_PUBLIC: Public = MappingProxyType({})


class ReportSink(ABC):
    """A report file that is being written."""

    @abstractmethod
    def write(self, columns: Mapping[str, Any]) -> None:
        """Append rows, as columns (n,) of the file in its order; public columns are Arrow arrays of
        :func:`warner.io.public_values.arrow_type`.
        """

    @abstractmethod
    def close(self, end: str | None) -> None:
        """Write the end, unless it is None after an error, and close the file."""


class AnswerTable(NamedTuple):
    """A table of answers: the names of all columns, and the rows of those that are asked for."""

    names: list[str]
    batches: Callable[[], Iterator[pa.RecordBatch]]
    delimiter: str | None = None  # the character between the cells of CSV
    sheets: Mapping[str, AnswerTable] = {}  # those of a workbook that have rows, with all columns


class FileFormat(ABC):
    """A format of files of reports, and of files of answers where it can store them."""

    name: ClassVar[str]  # for messages
    suffix: ClassVar[str]  # how names of such files end
    groups = False  # whether files are Parquet, whose columns are counted by GROUP BY
    holds_answers = True  # whether :meth:`answers` reads answers from it
    is_writable = True  # whether :meth:`sink` writes such files
    # whether it can hold public columns; other formats are called without them
    holds_public = False
    # Whether a row can hold a block of reports, in one column of bytes for each attribute. Only
    # then :meth:`block_batches` and :meth:`block_sink` are called.
    holds_blocks = False

    def recognizes(self, path: str) -> bool:
        """Whether a file has this format, by its name or its first bytes; it need not exist."""
        return Path(path).suffix.lower() == self.suffix

    # Reports in.

    @abstractmethod
    def read_ends(self, path: str) -> tuple[bytes, bytes]:
        """The header and the end of a report file as JSON texts; empty where they are missing."""

    def is_intact(self, path: str, end: Mapping[str, Any]) -> bool:
        """Whether the file has the digest that its end states."""
        return digest_of(path)[0] == (end.get("sha256") or None)

    @abstractmethod
    def columns(self, path: str) -> dict[str, str]:
        """The columns of a report file: {name: its dtype as numpy calls it, "" for text}."""

    @abstractmethod
    def batches(
        self, path: str, columns: Mapping[str, int], public: Public = NO_PUBLIC
    ) -> Iterator[pa.RecordBatch]:
        """The reports of a file, a batch at a time, in their order."""

    def block_batches(self, path: str, names: list[str], rows: int) -> Iterator[pa.RecordBatch]:
        """The blocks of a file in batches of at most ``rows``; only where ``holds_blocks``."""
        raise NotImplementedError

    # Reports out.

    def sink(
        self, path: str, header: str, columns: Mapping[str, int], public: Public = NO_PUBLIC
    ) -> ReportSink:
        """A new report file; only where ``is_writable``."""
        raise NotImplementedError

    def block_sink(self, path: str, header: str, names: list[str]) -> ReportSink:
        """A new report file of blocks; only where ``holds_blocks``."""
        raise NotImplementedError

    # Answers in.

    def answers(self, path: str | BinaryIO, names: list[str], bare: bool = False) -> AnswerTable:
        """The table in a file of answers; only where ``holds_answers``."""
        raise NotImplementedError


def shown_as(path: str | BinaryIO) -> str:
    """A file of answers in messages."""
    return "standard input" if path == "-" else path if isinstance(path, str) else "the file"


def for_columns_of_items(missing: Sequence[str], columns: Sequence[str]) -> str:
    """What to do where columns such as services/bank stand for that of a question; else ""."""
    begun = [c[len(n)] for n in missing for c in columns if c[:-1].startswith(n)]
    marks = [mark for mark in begun if not mark.isalnum()]
    if not marks:
        return ""
    return f'If each item has its own column, write split = "{marks[0]}" in the study'


def has_no_column(names: Sequence[str]) -> str:
    """What is wrong with a file without some columns.

    >>> has_no_column(["age"]), has_no_column(["age", "pay"])
    ("has no column 'age'", "has no columns 'age', 'pay'")
    """
    return f"has no column{'s' * (len(names) > 1)} {', '.join(map(repr, names))}"


def require_columns(path: str, names: list[str], columns: list[str]) -> None:
    """Refuse a file of answers that lacks one of the columns ``names``."""
    missing = [name for name in names if name not in columns]
    if not missing:
        return
    alike = {name.strip().casefold(): name for name in columns}
    spelt = [name for name in missing if name.strip().casefold() in alike]
    remedy = f"The columns that are needed are {', '.join(names)}"
    if spelt:
        ours = ", ".join(alike[name.strip().casefold()] for name in spelt)
        remedy += f". The file has {ours}, which differs only in capital letters or spaces"
    elif of_items := for_columns_of_items(missing, columns):
        remedy += f". {of_items}"
    elif len(missing) == len(names):
        remedy = (
            f"Write {'this name' if len(names) == 1 else 'these names'} in the first line. Each "
            "question has a column, and each person has a row. To read a CSV file without names, "
            "add --bare"
        )
    raise FileError(path, has_no_column(missing), None, remedy)


def refuse_reports(path: str) -> None:
    """Refuse reports where answers are expected: they would be randomised twice."""
    rule, remedy = "holds reports, which are already randomised", "Give the file of answers"
    raise FileError(path, rule, None, remedy)


def refuse_repeated(names: list[str], columns: list[str]) -> None:
    """Refuse a file of answers in which one of the columns ``names`` occurs twice."""
    for name in names:
        if columns.count(name) > 1:
            remedy = "Keep only the column that holds the answers"
            raise FileError(f"column {name!r}", "occurs twice in the file", None, remedy)
