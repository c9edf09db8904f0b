"""Report files a batch at a time: CSV, and statistics that no GROUP BY makes in constant memory."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from warner._core.errors import (
    FileError,
    ReportError,
    message,
)
from warner.io.seal import CSV_END
from warner.reports.schema import smallest_dtype

_ROWS = 2**18  # people per batch, at most
_CELLS = 2**24  # entries per batch, about
_BLOCK = 2**23  # bytes of CSV per batch
_TAIL = 2**20  # bytes in which the last line begins


class _Upto(io.RawIOBase):
    """A file from where it stands to ``end``."""

    def __init__(self, file: Any, end: int) -> None:
        self._file, self._end = file, end

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self._end - self._file.tell()
        data = self._file.read(min(len(buffer), left)) if left > 0 else b""
        buffer[: len(data)] = data
        return len(data)


def batches(path: str, columns: Mapping[str, int]) -> Iterator[dict[str, np.ndarray]]:
    """The columns of a report file that was opened and found whole, as arrays of the dtypes of their sizes.

    Args:
        path: .parquet or .csv.
        columns: {name: how many values it may take}, found to be those of the file.

    Raises:
        FileError: rows that are no reports.
        ReportError: a row without a report, or a value beyond the column's size.
    """
    import pyarrow as pa

    source = _parquet(path, list(columns)) if path.endswith(".parquet") else _csv(path, columns)
    while True:
        try:
            batch = next(source, None)
        except (pa.ArrowException, OSError, KeyError):
            raise FileError(
                message(
                    path,
                    "has rows that cannot be read as reports",
                    None,
                    "Was it written by warner?",
                )
            ) from None
        if batch is None:
            return
        out = {}
        for name, size in columns.items():
            column = batch.column(name)
            if column.null_count:
                raise ReportError(message("reports", f"{name} has rows without a report"))
            array = column.to_numpy(zero_copy_only=False)
            if array.dtype != smallest_dtype(size):
                raise ReportError(
                    message(
                        "reports",
                        f"{name} must be of type {smallest_dtype(size)}",
                        str(array.dtype),
                    )
                )
            if array.size and int(array.max()) >= size:
                raise ReportError(message("reports", f"{name} must lie in 0..{size - 1}"))
            out[name] = array
        if batch.num_rows:
            yield out


def _parquet(path: str, names: list[str]) -> Iterator[Any]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(
        os.path.abspath(path)
    ) as file:  # not a name such as s3:..., which would be a network's
        yield from file.iter_batches(max(1, min(_ROWS, _CELLS // len(names))), columns=names)


def _csv(path: str, columns: Mapping[str, int]) -> Iterator[Any]:
    """What lies between the line of the header and that of the end."""
    import pyarrow as pa
    from pyarrow import csv

    with open(path, "rb") as file:
        start = max(0, file.seek(0, 2) - _TAIL)
        file.seek(start)
        end = start + file.read().rindex(b"\n" + CSV_END) + 1
        file.seek(0)
        file.readline()
        types = {name: pa.from_numpy_dtype(smallest_dtype(size)) for name, size in columns.items()}
        convert = csv.ConvertOptions(
            column_types=types,
            include_columns=list(columns),
            null_values=[""],
            strings_can_be_null=False,
        )
        parse = csv.ParseOptions(
            ignore_empty_lines=False
        )  # an empty line is a row without a report
        read = csv.ReadOptions(block_size=_BLOCK)
        with csv.open_csv(
            _Upto(file, end), read_options=read, parse_options=parse, convert_options=convert
        ) as reader:
            yield from reader
