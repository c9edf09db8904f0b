"""Layouts: which columns a mechanism's report has and which values they may take.

From a layout follow the dtypes, the checks of foreign input, the serialised form, the columns of a file and the way reports are counted:

    empty(n)        n rows of every column, for their dtypes and shapes
    check           refuses typed columns that the mechanism cannot have sent
    taken           foreign outputs as typed columns, checked
    file_columns    the columns of a file and how many values each may take; to_file, from_file
    file_width      how many columns of a file that is, without making their names
    cells           how many counts a tally of such reports has
    rows, copies    how many rows of a channel a tally of such reports has, and for how many of them one report counts
    listing         whether such a row is a whole report, which ``index`` then numbers; else rows are counted from ``marks``
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from warner._core.checks import kind
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    EmptyError,
    ReportError,
    message,
)


def smallest_dtype(size: int) -> np.dtype[Any]:
    """The smallest unsigned dtype that holds 0..size-1."""
    return np.min_scalar_type(size - 1)


@dataclass(frozen=True)
class IntegerColumns:
    """A report is a tuple of integers: column ``names[i]`` takes values 0..sizes[i]-1."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]

    rows_are_reports = True
    rows_per_report = 1

    @property
    def rows(self) -> int:
        return math.prod(self.sizes)

    def empty(self, n: int) -> dict[str, np.ndarray]:
        return {
            name: np.empty(n, smallest_dtype(size))
            for name, size in zip(self.names, self.sizes, strict=True)
        }

    def check(self, columns: Mapping[str, np.ndarray]) -> None:
        """Refuse values that the mechanism cannot have sent."""
        for name, size in zip(self.names, self.sizes, strict=True):
            if size <= np.iinfo(columns[name].dtype).max:
                refuse_reports(columns[name] >= size, f"{name} must lie in 0..{size - 1}")

    def parse(self, outputs: Any) -> dict[str, np.ndarray]:
        if not isinstance(outputs, Mapping):
            if len(self.names) > 1:
                raise ArgumentTypeError(
                    message(
                        "outputs",
                        f"must be a dict with the columns {', '.join(self.names)}",
                        kind(outputs),
                    )
                )
            outputs = {self.names[0]: outputs}
        columns = {}
        for name, size in zip(self.names, self.sizes, strict=True):
            if name not in outputs:
                raise ReportError(message("outputs", f"has no column {name!r}"))
            array = _integers(name, outputs[name])
            if array.ndim != 1:
                raise ReportError(message(name, "must be one-dimensional", str(array.shape)))
            refuse_reports((array < 0) | (array >= size), f"{name} must lie in 0..{size - 1}")
            columns[name] = array.astype(smallest_dtype(size))
        return columns

    def index(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        """Which of the ``rows`` possible reports each is, (n,), in C order of the columns."""
        flat = columns[self.names[0]].astype(np.intp, copy=False)
        for name, size in zip(self.names[1:], self.sizes[1:], strict=True):
            flat = flat * size + columns[name]
        return flat

    @property
    def cells(self) -> int:
        return self.rows

    @property
    def file_width(self) -> int:
        return len(self.names)

    def file_columns(self) -> dict[str, int]:
        return dict(zip(self.names, self.sizes, strict=True))

    def to_file(self, columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return dict(columns)

    def from_file(self, columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {name: columns[name] for name in self.names}


class _Array:
    """Reports that are rows of one array, ``array`` by name, of which each column is a column of a file."""

    array: ClassVar[str]

    def file_columns(self) -> dict[str, int]:
        raise NotImplementedError

    def to_file(self, columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {
            name: np.ascontiguousarray(columns[self.array][:, i])
            for i, name in enumerate(self.file_columns())
        }

    def from_file(self, columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {self.array: np.stack([columns[name] for name in self.file_columns()], axis=1)}


@dataclass(frozen=True)
class BitVector(_Array):
    """A report is ``width`` bits, packed 8 to a byte with the most significant bit first; the padding bits are 0.

    ``ones``: how many bits are set in every report, or None where that varies. ``exclusive_mask``: a mask of packed bytes, of whose bits at
    most one is set.
    """

    width: int
    ones: int | None = None
    exclusive_mask: bytes = b""

    array = "bits"
    rows_are_reports = False

    @property
    def rows(self) -> int:
        return 2 * self.width

    @property
    def rows_per_report(self) -> int:
        return self.width

    @property
    def bytes(self) -> int:
        return -(-self.width // 8)

    @property
    def padding(self) -> int:
        """Bits of the last byte that carry nothing."""
        return -self.width % 8

    def empty(self, n: int) -> dict[str, np.ndarray]:
        return {"bits": np.empty((n, self.bytes), np.uint8)}

    def check(self, columns: Mapping[str, np.ndarray]) -> None:
        """Refuse padding bits that are set, and reports with the wrong number of ones."""
        packed = columns["bits"]
        if self.padding:
            refuse_reports(packed[:, -1] & (2**self.padding - 1) != 0, "padding bits must be 0")
        if self.ones is not None:
            set_bits = np.bitwise_count(packed).sum(axis=1, dtype=np.int64)
            refuse_reports(set_bits != self.ones, f"every report must have {self.ones} bits set")
        if self.exclusive_mask:
            named = np.bitwise_count(packed & np.frombuffer(self.exclusive_mask, np.uint8)).sum(
                axis=1, dtype=np.int64
            )
            refuse_reports(named > 1, "at most one bit of a non-sensitive value may be set")

    def parse(self, outputs: Any) -> dict[str, np.ndarray]:
        packed = isinstance(outputs, Mapping)
        if packed and "bits" not in outputs:
            raise ReportError(message("outputs", "has no column 'bits'"))
        array = _integers("outputs", outputs["bits"] if packed else outputs)
        if (
            array.ndim != 2
            or array.shape[1] not in (self.width, self.bytes)
            or (packed and array.shape[1] != self.bytes)
        ):
            raise ReportError(
                message(
                    "outputs",
                    f"must have shape (n, {self.width}), or (n, {self.bytes}) packed as {{'bits': ...}}",
                    str(array.shape),
                )
            )
        if packed:
            refuse_reports(
                np.any((array < 0) | (array > 255), axis=1), "packed bytes must lie in 0..255"
            )
            return {"bits": array.astype(np.uint8)}
        refuse_reports(np.any((array != 0) & (array != 1), axis=1), "bits must be 0 or 1")
        return {"bits": np.packbits(array.astype(np.uint8), axis=1)}

    def indicators(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        """The bits of each report and a last one that is always set, (n, K + 1): what all ``rows`` are counted from."""
        bits = np.unpackbits(columns["bits"], axis=1, count=self.width)
        return np.concatenate([bits, np.ones((len(bits), 1), dtype=np.uint8)], axis=1)

    @property
    def cells(self) -> int:
        return self.width

    @property
    def file_width(self) -> int:
        return self.bytes

    def file_columns(self) -> dict[str, int]:
        return {f"bits_{i}": 256 for i in range(self.bytes)}


@dataclass(frozen=True)
class DigitVector(_Array):
    """A report is ``width`` digits 0..base-1, one for each of so many keys; 0 is nothing."""

    width: int
    base: int

    array = "digits"
    rows_are_reports = False

    @property
    def rows(self) -> int:
        return self.width * self.base

    @property
    def rows_per_report(self) -> int:
        return self.width

    def empty(self, n: int) -> dict[str, np.ndarray]:
        return {"digits": np.empty((n, self.width), smallest_dtype(self.base))}

    def check(self, columns: Mapping[str, np.ndarray]) -> None:
        """Refuse digits that the mechanism cannot have sent."""
        refuse_reports(
            np.any(columns["digits"] >= self.base, axis=1), f"digits must lie in 0..{self.base - 1}"
        )

    def parse(self, outputs: Any) -> dict[str, np.ndarray]:
        if isinstance(outputs, Mapping) and "digits" not in outputs:
            raise ReportError(message("outputs", "has no column 'digits'"))
        array = _integers("outputs", outputs["digits"] if isinstance(outputs, Mapping) else outputs)
        if array.ndim != 2 or array.shape[1] != self.width:
            raise ReportError(
                message(
                    "outputs",
                    f"must have shape (n, {self.width}), a digit for each key",
                    str(array.shape),
                )
            )
        refuse_reports(
            np.any((array < 0) | (array >= self.base), axis=1),
            f"digits must lie in 0..{self.base - 1}",
        )
        return {"digits": array.astype(smallest_dtype(self.base))}

    def indicators(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        """Which of the ``rows`` rows (key, digit), in C order, each report counts for, (n, width base) zeros and ones."""
        return np.asarray(
            (columns["digits"][:, :, None] == np.arange(self.base))
            .reshape(len(columns["digits"]), -1)
            .astype(np.uint8)
        )

    @property
    def cells(self) -> int:
        return self.rows

    @property
    def file_width(self) -> int:
        return self.width

    def file_columns(self) -> dict[str, int]:
        return {f"digits_{i}": self.base for i in range(self.width)}


@dataclass(frozen=True)
class ProductSchema:
    """A report is one report of every part: column ``c`` of part ``p`` is the column ``p.c``.

    All is left to the parts. A part missing in a report is refused.
    """

    parts: Mapping[str, ReportSchema]

    def __post_init__(self) -> None:
        names = [
            f"{name}.{column}" for name, part in self.parts.items() for column in part.empty(0)
        ]
        if len(set(names)) < len(names):
            raise ArgumentError(
                message(
                    "names",
                    "must not make two columns of one name",
                    ", ".join(self.parts),
                    "Rename a part",
                )
            )

    @property
    def rows_are_reports(self) -> bool:
        return all(part.rows_are_reports for part in self.parts.values())

    @property
    def rows(self) -> int:
        return math.prod(part.rows for part in self.parts.values())

    @property
    def rows_per_report(self) -> int:
        return math.prod(part.rows_per_report for part in self.parts.values())

    def split(self, columns: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Each part's own columns, of those that are there."""
        return {
            name: {
                column: columns[f"{name}.{column}"]
                for column in part.empty(0)
                if f"{name}.{column}" in columns
            }
            for name, part in self.parts.items()
        }

    def join(self, columns: Mapping[str, Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
        """The columns of the whole from each part's own."""
        return {
            f"{name}.{column}": array
            for name in self.parts
            for column, array in columns[name].items()
        }

    def empty(self, n: int) -> dict[str, np.ndarray]:
        return self.join({name: part.empty(n) for name, part in self.parts.items()})

    def check(self, columns: Mapping[str, np.ndarray]) -> None:
        """Refuse what any part cannot have sent."""
        for name, own in self.split(columns).items():
            _named(name, self.parts[name].check, own)

    def parse(self, outputs: Any) -> dict[str, np.ndarray]:
        """Of the columns of the whole, or of {part: its outputs}."""
        if not isinstance(outputs, Mapping):
            raise ArgumentTypeError(
                message(
                    "outputs",
                    f"must be a dict with reports of {', '.join(self.parts)}",
                    kind(outputs),
                )
            )
        given = outputs if self.parts.keys() <= outputs.keys() else self.split(outputs)
        found = {name: _named(name, part.parse, given[name]) for name, part in self.parts.items()}
        columns = self.join(found)
        if len({len(column) for column in columns.values()}) != 1:
            raise ReportError(
                message("outputs", f"must be equally many for each of {', '.join(self.parts)}")
            )
        return columns

    def index(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        """Which of the ``rows`` possible reports each is, (n,), in C order of the parts."""
        flat = np.zeros(1, dtype=np.intp)
        for name, own in self.split(columns).items():
            part = self.parts[name]
            assert not isinstance(part, BitVector | DigitVector)
            flat = flat * part.rows + part.index(own)
        return flat

    @property
    def cells(self) -> int:
        return (
            0  # a tally of tuples keeps the tuples that occur, or tables with a bound of their own
        )

    @property
    def file_width(self) -> int:
        return sum(part.file_width for part in self.parts.values())

    def file_columns(self) -> dict[str, int]:
        return {
            f"{name}.{column}": size
            for name, part in self.parts.items()
            for column, size in part.file_columns().items()
        }

    def to_file(self, columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        own = self.split(columns)
        return self.join({name: part.to_file(own[name]) for name, part in self.parts.items()})

    def from_file(self, columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        own = {
            name: {column: columns[f"{name}.{column}"] for column in part.file_columns()}
            for name, part in self.parts.items()
        }
        return self.join({name: part.from_file(own[name]) for name, part in self.parts.items()})


ReportSchema = IntegerColumns | BitVector | DigitVector | ProductSchema


def width(schema: ReportSchema) -> int:
    """How many bytes a report of this layout has."""
    return sum(column.nbytes for column in schema.empty(1).values())


def _named(name: str, job: Callable[[Any], Any], argument: Any) -> Any:
    """What a part's ``job`` makes, its complaint naming the part."""
    try:
        return job(argument)
    except (ReportError, ArgumentTypeError) as error:
        problem = type(error)(f"{name}: {error}")
    raise problem


def refuse_reports(bad: np.ndarray, rule: str) -> None:
    """Raise ReportError for the rows at which ``bad`` (n,) is true."""
    where = np.flatnonzero(bad)
    if where.size:
        raise ReportError(
            message(
                "reports",
                f"row {where[0]}: {rule}",
                f"{where.size} such rows",
                "Were they made by this mechanism?",
            )
        )


def columns_from(schema: ReportSchema, outputs: Any) -> dict[str, np.ndarray]:
    """Foreign outputs as the layout's columns, checked: a dict of integer columns, one column, or (n, K) zeros and ones."""
    columns = schema.parse(outputs)
    if len(next(iter(columns.values()))) == 0:
        raise EmptyError(message("outputs", "must not be empty", None, "Pass at least one report"))
    schema.check(columns)
    return columns


def _integers(name: str, values: Any) -> np.ndarray:
    """``values`` as int64: integers, booleans, and floats that are whole numbers."""
    try:
        array = np.asarray(values)
    except ValueError:
        array = np.asarray(None)
    if not array.size:
        return array.reshape(array.shape).astype(np.int64)
    if array.dtype.kind == "f":
        # 2^53 is the last whole number up to which floats hold every one.
        with np.errstate(invalid="ignore"):
            wrong = np.count_nonzero(
                ~((array == np.floor(array)) & (np.abs(array.astype(np.float64)) <= 2**53))
            )
        if wrong:
            rule, got = (
                "must be whole numbers",
                f"{wrong} of {array.size} {array.dtype} values that are none",
            )
            raise ReportError(
                message(
                    name,
                    rule,
                    got,
                    "Pass the reports themselves: zeros and ones, or indices, as integers",
                )
            )
    elif array.dtype.kind not in "biu":
        rule, remedy = (
            "must be an array of integers",
            "Convert it, for example with numpy.asarray(outputs, dtype=int)",
        )
        raise ReportError(message(name, rule, str(array.dtype), remedy))
    return array.astype(np.int64, copy=False)
