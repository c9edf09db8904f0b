"""Answers in: CSV, Parquet or standard input to indices, a batch at a time, without a loop over people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from warner._check import (
    ArgumentError,
    EmptyError,
    FileError,
    ValuesError,
    message,
)
from warner.domain import Categorical, Domain, Integers, Interval

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS = 2**18  # people per batch
_BLOCK = 2**24  # bytes of CSV per batch


def read_values(path: str, domains: Mapping[str, Domain], bare: bool = False) -> Iterator[dict[str, np.ndarray]]:
    """Indices of the answers in a CSV or Parquet file, a batch at a time: {attribute: (rows,)}.

    Args:
        path: a file name, or ``-`` for CSV on standard input.
        domains: the columns to read, and what they may hold.
        bare: the file is CSV without a header line, its columns in the order of ``domains``.

    Raises:
        ValuesError: an answer outside its domain, by column and row.
        FileError: not CSV or Parquet, or a column is missing.
    """
    row = 0
    for batch in _value_batches(path, list(domains), bare):
        yield {name: _encode(domain, batch.column(name), name, row) for name, domain in domains.items()}
        row += batch.num_rows
    if row == 0:
        raise EmptyError(message(_shown(path), "holds no answers", None, "Pass at least one row"))


def _value_batches(path: str, names: list[str], bare: bool) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa
    from pyarrow import csv

    if path.endswith(".parquet"):
        import pyarrow.parquet as pq

        try:
            file = pq.ParquetFile(path)
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(path, error) from None
        _require_columns(path, names, file.schema_arrow.names)
        yield from file.iter_batches(_ROWS, columns=names)
        return
    # Everything is read as text and checked here: Arrow's own conversion errors would show an answer.
    convert = csv.ConvertOptions(include_columns=names, column_types={name: pa.string() for name in names}, strings_can_be_null=False, null_values=[])
    read = csv.ReadOptions(block_size=_BLOCK, column_names=names if bare else None)
    try:
        source: Any = _stdin() if path == "-" else path
        with csv.open_csv(source, read_options=read, convert_options=convert) as reader:
            yield from reader
    except KeyError:
        raise FileError(
            message(_shown(path), f"needs the column{'s' * (len(names) > 1)} {', '.join(names)}", None, "Name the columns in the first line")
        ) from None
    except (pa.ArrowInvalid, OSError, UnicodeDecodeError) as error:
        if "Empty CSV" in str(error):
            raise EmptyError(message(_shown(path), "is empty", None, "Pass at least one row")) from None
        raise _unreadable(path, error) from None


def _unreadable(path: str, error: Exception) -> Exception:
    """Why a file cannot be read, without the text that it could not read."""
    if isinstance(error, FileNotFoundError | IsADirectoryError | PermissionError):
        return FileError(message(_shown(path), "cannot be opened", type(error).__name__, "Check the path"))
    return FileError(
        message(_shown(path), "is not readable as CSV (UTF-8) or Parquet, or is truncated", None, "Every row must have the same columns")
    )


def _require_columns(path: str, names: list[str], found: list[str]) -> None:
    missing = [name for name in names if name not in found]
    if missing:
        raise FileError(message(_shown(path), f"has no column {missing[0]!r}", None, f"Needed: {', '.join(names)}"))


def _stdin() -> Any:
    import sys

    return sys.stdin.buffer


def _shown(path: str) -> str:
    return "standard input" if path == "-" else path


_INTEGER = r"^[+-]?[0-9]{1,18}$"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$"


def _encode(domain: Domain, column: Any, name: str, row: int) -> np.ndarray:
    """Indices of one Arrow column; ``row`` counts the rows before it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    where = f"column {name!r}, data row"  # counted from 1, as people count rows

    def refuse(bad: Any, rule: str, got: str) -> None:
        places = np.flatnonzero(bad.to_numpy(zero_copy_only=False))
        if places.size:
            raise ValuesError(int(places[0]) + row + 1, rule, got, "Correct the answers, or add a value to the domain that catches them", where)

    refuse(pc.is_null(column), f"not in the domain of {domain.size} values", "no answer")
    text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    if isinstance(domain, Categorical) and (text or pa.types.is_dictionary(column.type)):
        labels = [str(v).lower() if isinstance(v, bool) else str(v) for v in domain.labels]
        if len(set(labels)) < len(labels):
            raise ArgumentError(message(name, "labels must differ as text to be read from a file"))
        index = pc.index_in(pc.cast(column, pa.string()), value_set=pa.array(labels))
        refuse(pc.is_null(index), f"not in the domain of {domain.size} values", "a string")
        return index.to_numpy(zero_copy_only=False).astype(np.int64)
    if text and isinstance(domain, Integers | Interval):
        pattern, target, what = (_INTEGER, pa.int64(), "an integer") if isinstance(domain, Integers) else (_NUMBER, pa.float64(), "a number")
        refuse(pc.invert(pc.match_substring_regex(column, pattern)), f"must be {what}", "a string that is none")
        column = pc.cast(column, target)
    try:
        return domain.encode(column.to_numpy(zero_copy_only=False))
    except ValuesError as error:
        raise error.moved(where, row + 1) from None
