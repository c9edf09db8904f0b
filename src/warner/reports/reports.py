"""Reports: typed columns, and the header of the mechanism that made them.

The wire format of reports is one byte string, which consists of:

- a magic line,
- the length of the head (4 bytes, little endian) and the head (JSON),
- the columns one after the other (C order, little endian),
- the SHA-256 of all previous bytes.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from warner._core.atomic_files import read_whole, require_ending, write_whole
from warner._core.checks import kind, same_length
from warner._core.errors import (
    MOST_POSITIONS,
    ArgumentTypeError,
    FileError,
    FrameWarning,
    ReportError,
    warn,
)
from warner._core.extras import pa
from warner._core.foreign_tables import header_of, index_of, names_rows, with_header
from warner._core.names import Hinting
from warner._core.sampling import Source, permutation
from warner._core.text import AS_WRITTEN, canonical
from warner.reports.public_columns import ColumnsOfFile
from warner.reports.schema import ReportSchema
from warner.reports.tally_kinds import way_to_question

SCHEMA = 1
MAGIC = b"warner-reports 1\n"
DIGEST_BYTES = 32  # of the SHA-256 at the end
_HEAD = len(MAGIC) + 4  # where the head begins


class Reports(Hinting):
    """n reports of one mechanism, as read-only columns, with the header that names it.

    ``mechanism.randomize`` and ``mechanism.reports`` make them. The constructor checks shapes. It
    does not check whether the mechanism can have sent the reports.

    Where a report is one number, reports are a column of numbers: ``reports[3]``,
    ``list(reports)``, ``numpy.asarray(reports)`` and ``frame.assign(report=reports)`` give them in
    the order of the answers. A frame that has another order since then must be joined by its index:
    ``frame.join(reports.to_frame("pandas"))``. :meth:`to_frame` has all columns of any reports.

    Attributes:
        header: the mechanism's header.
        columns: {name: column, (n, ...)}, in the order of the answers.
        simulated: whether the reports were made with a repeatable random generator. Such reports
            protect nobody.
        index: the pandas index of the answers, or None. Public columns of another order are put in
            this one. It may name people: it stays in memory, and no file, pickle or text has it.
        file: the public columns of the file that the reports were read from, or None. Columns from
            elsewhere are in another order, and are refused.

    Raises:
        ArgumentTypeError: a header or columns that are no mappings; or numbers are asked for where
            a report is more than one.
        ReportError: no columns, or columns of different lengths.

    >>> from warner import Categorical, RandomizedResponse
    >>> reports = RandomizedResponse(Categorical(["no", "yes"]), 1.0).randomize(["yes", "no"])
    >>> len(reports), list(reports.columns), reports.header["mechanism"]
    (2, ['report'], 'RandomizedResponse')
    """

    def __init__(
        self,
        header: Mapping[str, Any],
        columns: Mapping[str, np.ndarray],
        simulated: bool = False,
        index: Any = None,
        file: ColumnsOfFile | None = None,
    ) -> None:
        if not isinstance(header, Mapping) or not isinstance(columns, Mapping):
            rule, remedy = (
                "must be made from a header and columns",
                "Use mechanism.reports(outputs)",
            )
            wrong = columns if isinstance(header, Mapping) else header
            raise ArgumentTypeError("reports", rule, kind(wrong), remedy)
        if type(simulated) is not bool:
            raise ArgumentTypeError("simulated", "must be True or False", kind(simulated))
        self.simulated = simulated
        self.header = dict(header)
        self.columns = {name: _frozen(column) for name, column in columns.items()}
        if not self.columns:
            raise ReportError("reports", "must have at least one column")
        same_length("reports", self.columns, ReportError)
        # Rows of a frame may hold several reports.
        self.index = index if index is not None and len(index) == len(self) else None
        self.file = file

    def marked(self, simulated: bool = True) -> Reports:
        """The same reports, marked as simulated; False returns them as they are."""
        if not simulated or self.simulated:
            return self
        return Reports(self.header, self.columns, True, self.index, self.file)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __eq__(self, other: object) -> bool:
        """Reports of one mechanism that are the same in the same order are equal."""
        return (
            isinstance(other, Reports)
            and self.simulated == other.simulated
            and list(self.columns) == list(other.columns)
            and self.header == other.header
            and all(
                ours.dtype == theirs.dtype and np.array_equal(ours, theirs)
                for ours, theirs in zip(self.columns.values(), other.columns.values(), strict=True)
            )
        )

    def __hash__(self) -> int:
        digest = hashlib.sha256(canonical(self.header).encode())
        for column in self.columns.values():
            digest.update(np.ascontiguousarray(column).tobytes())
        return hash((digest.digest(), self.simulated))

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"index": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # Arrays come back from a pickle as ones that can be written to.
        self.columns = {name: _frozen(column) for name, column in self.columns.items()}

    def __repr__(self) -> str:
        mark = ", simulated" if self.simulated else ""
        epsilon = self.header.get("requested")
        about = f"{self.header.get('mechanism')}, epsilon={epsilon}, n={len(self)}"
        return f"Reports({about}{mark})"

    def __add__(self, other: object) -> Any:
        if not isinstance(other, Reports):
            return NotImplemented
        remedy = "Add their tallies: mechanism.tally(first) + mechanism.tally(second)"
        raise ArgumentTypeError("reports", "cannot be added", None, remedy)

    def __getitem__(self, rows: slice | int) -> Any:
        if isinstance(rows, int | np.integer):
            return self._numbers()[rows].item()
        if not isinstance(rows, slice):
            rule = "must be indexed by a number or a slice"
            remedy = way_to_question(self.header, rows) or (
                "For example reports[:10]. To choose by a mask, write "
                'mechanism.reports(reports.to_frame("pandas")[mask])'
            )
            raise ArgumentTypeError("reports", rule, kind(rows), remedy)
        columns = {name: column[rows] for name, column in self.columns.items()}
        index = None if self.index is None else self.index[rows]
        file = None if self.file is None else self.file[rows]
        return Reports(self.header, columns, self.simulated, index, file)

    def __iter__(self) -> Iterator[int]:
        return iter(self._numbers().tolist())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self._numbers(), dtype, copy=copy)

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        # Polars makes a column of this, and asks for no other array.
        numbers = pa.array(self._numbers())
        named = pa.field(next(iter(self.columns)), numbers.type)
        return named.__arrow_c_schema__(), numbers.__arrow_c_array__(requested_schema)[1]

    def _numbers(self) -> np.ndarray:
        """The only column, (n,), where a report is one number."""
        column, *more = self.columns.values()
        if more or column.ndim > 1:
            rule = "can be used as numbers only if each report is one number"
            got = f"{', '.join(self.columns)} of {self.header.get('mechanism')}"
            remedy = "Use reports.to_frame() for all columns, or reports[:1] for one report"
            raise ArgumentTypeError("reports", rule, got, remedy)
        return column

    def to_frame(
        self, backend: str = "pyarrow", attribute: str = "", keep_order: bool = True
    ) -> Any:
        """The reports as a data frame that says which mechanism made them.

        Counting compares that, and keeps the mark of a simulation. It stands in the metadata of
        PyArrow, in ``attrs`` of pandas, and in Parquet that these write. Frames of Polars cannot
        hold it: ``mechanism.reports(frame, simulated=True)`` marks simulated reports again.

        Args:
            backend: a library that Narwhals can use, such as pyarrow, polars or pandas.
            attribute: the attribute, with which the names of columns begin, such as
                ``smokes_report`` in a study; left out, the columns are named as in ``columns``.
            keep_order: False for a frame that is written to a file or given away. Its rows are in
                random order, as those of :meth:`to_bytes`, and it has no index. A column in the
                order of the people no longer fits beside it; a report file can hold such columns.

        Returns:
            The frame, n rows and a column for each number of a report. With ``keep_order`` the rows
            are in the order of the answers, and a frame of pandas has their index, so that columns
            can be put beside it. Both can say whose report a row is.

        Raises:
            ArgumentError: no such library is installed.
            FrameWarning: the frame cannot say that the reports are simulated, or it has an index
                that can name people.

        >>> from warner import Categorical, RandomizedResponse
        >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
        >>> frame = coin.randomize(["yes", "no"]).to_frame(attribute="smokes")
        >>> frame.column_names, coin.tally(frame).n
        (['smokes_report'], 2)
        """
        from warner._core.table import frame

        start = f"{attribute}_" if attribute else ""
        columns = self.columns if keep_order else self._columns_in_random_order()
        made = frame(columns_for_files(start, columns), backend)
        if keep_order and self.index is not None and index_of(made) is not None:
            made.index = self.index
            if names_rows(self.index):
                text = (
                    "The data frame has the index of the answers, which says whose report each row "
                    "is. Before you write the frame to a file or give it away, use "
                    f"to_frame({backend!r}, keep_order=False)."
                )
                warn(text, FrameWarning)
        more = {} if keep_order else {RANDOM_ORDER: True}
        stated = file_header({attribute: self.header}, self.simulated, more=more)
        made = with_header(made, stated)
        if self.simulated and header_of(made) is None:
            text = (
                f"A data frame of {backend} cannot say that its reports are simulated. Count it "
                "with mechanism.tally(mechanism.reports(frame, simulated=True))."
            )
            warn(text, FrameWarning)
        return made

    def record_array(self) -> np.ndarray:
        """Every report as bytes: the bytes of its columns, little endian, and nothing else.

        Returns:
            uint8 (n, bytes).
        """
        parts = [
            np.ascontiguousarray(_little(c))
            .view(np.uint8)
            .reshape(len(self), c.itemsize * math.prod(c.shape[1:]))
            for c in self.columns.values()
        ]
        return np.concatenate(parts, axis=1)

    def records(self) -> list[bytes]:
        """The rows of :meth:`record_array` as byte strings."""
        return [row.tobytes() for row in self.record_array()]

    def _columns_in_random_order(self) -> Mapping[str, np.ndarray]:
        """The columns, whose rows the operating system's randomness has put in another order."""
        if len(self) < 2:
            return self.columns
        order = permutation(Source(None), len(self))
        return {name: column[order] for name, column in self.columns.items()}

    def to_bytes(self, keep_order: bool = False) -> bytes:
        """The reports in the wire format, a self-describing byte string.

        Args:
            keep_order: whether to keep the order of the answers. This order can reveal whose report
                is whose, for example if the answers were sorted. Otherwise the reports are shuffled
                with the operating system's randomness.
        """
        columns = self.columns if keep_order else self._columns_in_random_order()
        schema = [[name, _little(c).dtype.str, list(c.shape[1:])] for name, c in columns.items()]
        mark = {"simulated": True} if self.simulated else {}
        head = canonical(
            {"schema": SCHEMA, "header": self.header, "n": len(self), "columns": schema, **mark}
        ).encode()
        body = b"".join(_little(c).tobytes() for c in columns.values())
        text = MAGIC + len(head).to_bytes(4, "little") + head + body
        return text + hashlib.sha256(text).digest()

    @classmethod
    def from_bytes(cls, data: bytes) -> Reports:
        """The reports that :meth:`to_bytes` wrote.

        Raises:
            FileError: bytes that are not exactly as they were written.
        """
        if not data.startswith(MAGIC):
            rule = "are not in the format that Reports.save writes"
            raise FileError("reports", rule, None, AS_WRITTEN)
        body, digest = data[:-DIGEST_BYTES], data[-DIGEST_BYTES:]
        if len(data) < _HEAD + DIGEST_BYTES or hashlib.sha256(body).digest() != digest:
            rule = "were changed after warner wrote them, or are not complete"
            raise FileError("reports", rule, None, AS_WRITTEN)
        head = WireHead.parse(data, len(data))
        columns = {
            column.name: np.frombuffer(
                data, column.dtype, head.n * math.prod(column.shape), column.offset
            )
            .reshape(head.n, *column.shape)
            .astype(np.dtype(column.dtype).newbyteorder("="), copy=False)
            for column in head.columns
        }
        try:
            return cls(head.header, columns, head.simulated)
        except (ArgumentTypeError, ReportError):
            pass
        raise _malformed()

    def save(self, path: str | os.PathLike[str], keep_order: bool = False) -> None:
        """Write the wire format to ``path``, whole or not at all.

        :meth:`load`, ``warner.io`` and the commands of ``warner`` read such a file. Its usual
        suffix is ``.warner``.

        Args:
            path: a new file. One that is there is refused: reports are made once.
            keep_order: as in :meth:`to_bytes`.

        Raises:
            FileError: a file that is there already.
            ArgumentError: a name that ends as another format does, such as ``.parquet``.
        """
        other = (
            "Let the name end in .warner, or write Parquet or CSV with "
            "warner.io.write_reports(reports, path)"
        )
        require_ending(path, ".warner", remedy=other)
        write_whole(path, self.to_bytes(keep_order), replace=False)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Reports:
        """The reports that :meth:`save` wrote. ``warner.io`` reads Parquet and CSV.

        Raises:
            FileError: a file that is not exactly as it was written.
        """
        return cls.from_bytes(read_whole(path))


@dataclass(frozen=True)
class WireColumn:
    """A column in the wire format."""

    name: str
    dtype: str  # numpy's name of the type and byte order, such as ``<u2``
    shape: tuple[int, ...]  # the shape of one report's entry; () for a number
    offset: int  # where the column begins, in bytes from the beginning


@dataclass(frozen=True)
class WireHead:
    """The head of reports in the wire format."""

    header: Any  # the mechanism's header
    n: int  # how many reports there are
    simulated: Any  # whether they are a simulation
    columns: tuple[WireColumn, ...]  # in order

    @classmethod
    def parse(cls, data: bytes, size: int) -> WireHead:
        """The head of reports in the wire format."""
        stop = _HEAD + int.from_bytes(data[len(MAGIC) : _HEAD], "little")
        columns: list[WireColumn] = []
        try:
            head = json.loads(data[_HEAD:stop])
            n = head["n"]
            if head["schema"] != SCHEMA or type(n) is not int or n < 0:
                raise ValueError
            for name, dtype, shape in head["columns"]:
                if not re.fullmatch("[<|][biuf][1248]", dtype) or any(
                    type(length) is not int or length < 0 for length in shape
                ):
                    raise ValueError
                columns.append(WireColumn(str(name), dtype, tuple(shape), stop))
                stop += n * math.prod(shape) * np.dtype(dtype).itemsize
            if stop == size - DIGEST_BYTES:
                return cls(head["header"], n, head.get("simulated", False), tuple(columns))
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError):
            pass
        raise _malformed()


def read_wire_head(path: str) -> WireHead:
    """The head of a file in the wire format."""
    with open(path, "rb") as file:
        start = file.read(_HEAD)
        if not start.startswith(MAGIC):
            raise _malformed()
        head = file.read(int.from_bytes(start[len(MAGIC) :], "little"))
        return WireHead.parse(start + head, file.seek(0, os.SEEK_END))


RANDOM_ORDER = "random_order"
"""The key of a frame's header that says that its rows are not in the order of the answers."""


def file_header(
    attributes: Mapping[str, Any],
    simulated: Any,
    schema: int = SCHEMA,
    more: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The header of a file or a frame of reports, from those of mechanisms, as JSON data."""
    return {
        "format": "warner-reports",
        "schema": schema,
        "simulation": bool(simulated),
        **(more or {}),
        "attributes": dict(attributes),
    }


def columns_for_files(start: str, columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The columns of a file or a frame, (n,) each: one for each number of a report."""
    return {
        f"{start}{name}{end}": np.ascontiguousarray(numbers)
        for name, column in columns.items()
        for end, numbers in (
            [("", column)] if column.ndim == 1 else [(f"_{i}", c) for i, c in enumerate(column.T)]
        )
    }


def _malformed() -> FileError:
    """The error of reports whose checksum is right and whose form is wrong."""
    rule = "are complete, but in a format that this version of warner does not know"
    return FileError("reports", rule, None, "Use the version of warner that wrote them")


def _little(column: np.ndarray) -> np.ndarray:
    """The column with little endian numbers."""
    return column.astype(column.dtype.newbyteorder("<"), copy=False)


def _frozen(column: np.ndarray) -> np.ndarray:
    """A read-only view of the column."""
    view = np.asarray(column).view()
    view.setflags(write=False)
    return view


def columns_of(schema: ReportSchema, records: np.ndarray) -> dict[str, np.ndarray]:
    """The columns of reports from their bytes."""
    columns, start = {}, 0
    for name, empty in schema.empty(1).items():
        chunk = np.ascontiguousarray(records[:, start : start + empty.nbytes])
        start += empty.nbytes
        if chunk.shape[1] != empty.nbytes:
            break
        columns[name] = (
            chunk.view(empty.dtype.newbyteorder("<"))
            .reshape(len(records), *empty.shape[1:])
            .astype(empty.dtype)
        )
    if start != records.shape[1]:
        rule = f"must have {schema.bytes_per_report} bytes each for this mechanism"
        raise ReportError("reports", rule, f"{records.shape[1]} bytes")
    return columns


# -----------------------------------------------------------------------------------------------
# Single reports as texts, which survey tools carry in a hidden field.
#
# The text of a report is ``wr1-STUDY-NUMBER-RECORD``: the first 16 hexadecimal digits of the
# study's layout, the number of the question in the study's order, from 1, and the bytes of the
# report's columns (:meth:`warner.Reports.record_array`) in hexadecimal digits. So a text says which
# study and which question it is of, no spreadsheet takes it for a number, and one that is cut off
# is noticed.


START = "wr1-"
_DIGITS = 16  # of the study's digest: two studies share them with probability 2**-64
_FORM = re.compile(r"wr1-([0-9a-f]{16})-([1-9][0-9]{0,5})-((?:[0-9a-f]{2})+)")

# Why a cell holds no report that can be counted, in the order in which they are told.
_EMPTY = "nothing"
_NO_TEXT = "a text that is not a complete report"
_OTHER_STUDY = "a report of another study, or of another version of this study,"
_OTHER_QUESTION = "a report on another question"
_OTHER_LENGTH = "a report that was cut off or altered"
_IMPOSSIBLE = "a report that the mechanism cannot send"
_REASONS = (_EMPTY, _NO_TEXT, _OTHER_STUDY, _OTHER_QUESTION, _OTHER_LENGTH, _IMPOSSIBLE)


def text_start(layout: str, number: int) -> str:
    """The beginning of the texts of all reports on one question.

    >>> text_start("0123456789abcdef0123", 2)
    'wr1-0123456789abcdef-2-'
    """
    return f"{START}{layout[:_DIGITS]}-{number}-"


def to_texts(reports: Reports, start: str) -> list[str]:
    """The texts of n reports on one question.

    >>> from warner import Categorical, RandomizedResponse
    >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    >>> to_texts(coin.reports([0, 1]), text_start("0" * 64, 1))
    ['wr1-0000000000000000-1-00', 'wr1-0000000000000000-1-01']
    """
    return [start + record.hex() for record in reports.records()]


def from_texts(
    texts: Sequence[str | None], start: str, schema: ReportSchema, where: str
) -> dict[str, np.ndarray]:
    """The columns of n reports from their texts."""
    wrong: dict[int, str] = {}
    records: list[bytes] = []
    rows: list[int] = []
    length = sum(column.nbytes for column in schema.empty(1).values())
    for row, text in enumerate(texts, 1):
        record, reason = _record((text or "").strip().lower(), start, length)
        if reason:
            wrong[row] = reason
        else:
            records.append(record)
            rows.append(row)
    matrix = np.frombuffer(b"".join(records), np.uint8).reshape(len(records), length)
    columns = columns_of(schema, matrix)
    if not _can_be_sent(schema, columns):
        for i, row in enumerate(rows):
            if not _can_be_sent(schema, {name: c[i : i + 1] for name, c in columns.items()}):
                wrong[row] = _IMPOSSIBLE
    if wrong:
        raise ReportError(_told(wrong, len(texts), where))
    return columns


def _record(text: str, start: str, length: int) -> tuple[bytes, str]:
    """The bytes of a report, or the reason why a text holds none."""
    if not text:
        return b"", _EMPTY
    match = _FORM.fullmatch(text)
    if match is None:
        return b"", _NO_TEXT
    if not text.startswith(start):
        ours = text.startswith(start[: len(START) + _DIGITS + 1])
        return b"", _OTHER_QUESTION if ours else _OTHER_STUDY
    record = bytes.fromhex(match[3])
    return (record, "") if len(record) == length else (b"", _OTHER_LENGTH)


def _can_be_sent(schema: ReportSchema, columns: Mapping[str, np.ndarray]) -> bool:
    """Whether a mechanism of this schema can send all of some reports."""
    try:
        schema.check(columns)
    except ReportError:
        return False
    return True


def _told(wrong: Mapping[int, str], n: int, where: str) -> str:
    """All cells without a report, by reason."""
    parts = [
        f"{reason} in {_listed([row for row, why in wrong.items() if why == reason])}"
        for reason in _REASONS
        if reason in wrong.values()
    ]
    remedy = "Leave out rows of people who sent no report, and export the column unchanged"
    return f"{where}: must hold a report in each of {n:,} rows; got {'; '.join(parts)}. {remedy}."


def _listed(rows: Iterable[int]) -> str:
    """Rows in words.

    >>> _listed([3]), _listed([3, 4])
    ('row 3', 'rows 3, 4')
    """
    all_rows = list(rows)
    shown = ", ".join(f"{row:,}" for row in all_rows[:MOST_POSITIONS])
    more = len(all_rows) - MOST_POSITIONS
    return f"row{'s' * (len(all_rows) > 1)} {shown}{f' and {more:,} more' if more > 0 else ''}"
