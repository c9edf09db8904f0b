"""Reports out: to Parquet or CSV in parts, whole or not at all."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from warner._check import (
    ArgumentError,
    EmptyError,
    MismatchError,
    legible,
    message,
)
from warner.domain import canonical
from warner.files._format import CSV_END, CSV_START, FORMATS, SCHEMA, UNSEALED, file_columns, seal, to_file
from warner.mechanisms import Mechanism, from_header
from warner.reports import Reports, smallest_dtype, whole_file


class ReportWriter:
    """Writes reports of one or more attributes to one file, in parts, whole or not at all.

        with ReportWriter(path, {"education": mechanism}) as writer:
            writer.write({"education": reports})

    On leaving the block the end of the file is written and the file moved to its name; after an error nothing is left.
    ``path`` ends in .parquet or .csv, or is ``-`` for CSV on standard output.
    """

    def __init__(self, path: str, mechanisms: Mapping[str, Mechanism], simulation: bool = False) -> None:
        """``simulation``: the reports are made with a generator that can be repeated; the file then says so."""
        self._mechanisms = dict(mechanisms)
        self._suffix = ".csv" if path == "-" else Path(path).suffix
        if self._suffix not in FORMATS:
            raise ArgumentError(message("path", f"must end in {' or '.join(FORMATS)}", path))
        for attribute in self._mechanisms:
            legible("name of an attribute", attribute)
        names = [name for a, m in self._mechanisms.items() for name in file_columns(a, m.layout)]
        if len({name.casefold() for name in names}) < len(names):
            raise ArgumentError(message("attributes", "must differ by more than upper and lower case", ", ".join(self._mechanisms)))
        self._target: AbstractContextManager[str] = _standard_output() if path == "-" else whole_file(path)
        self._head = {
            "format": "warner-reports",
            "schema": SCHEMA,
            "simulation": simulation,
            "attributes": {a: m.header for a, m in self._mechanisms.items()},
        }
        self._n = 0

    def __enter__(self) -> Self:
        self._temporary = self._target.__enter__()
        # Not sorted: the order of attributes is that of columns.
        text = json.dumps(self._head, separators=(",", ":"), allow_nan=False)
        try:
            self._sink: Any = (_ParquetSink if self._suffix == ".parquet" else _CsvSink)(self._temporary, text, self._mechanisms)
        except BaseException:
            self._target.__exit__(*sys.exc_info())
            raise
        return self

    def write(self, reports: Mapping[str, Reports]) -> None:
        """Append one batch: reports of every attribute, of the same people in the same order."""
        if reports.keys() != self._mechanisms.keys() or len({len(r) for r in reports.values()}) != 1:
            raise MismatchError(message("reports", f"must be equally many for each of {', '.join(self._mechanisms)}"))
        columns: dict[str, np.ndarray] = {}
        for attribute, mechanism in self._mechanisms.items():
            mechanism.check(reports[attribute])
            columns |= to_file(attribute, mechanism.layout, reports[attribute].columns)
        self._n += len(next(iter(reports.values())))
        self._sink.write(columns)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            self._sink.close(None if kind or self._n == 0 else canonical({"n": self._n, "sha256": UNSEALED}))
            if kind is None and self._n == 0:
                raise EmptyError(message("reports", "must not be empty"))
            if kind is None:
                seal(self._temporary)
        except BaseException:
            self._target.__exit__(*sys.exc_info())
            raise
        self._target.__exit__(kind, error, trace)


@contextmanager
def _standard_output() -> Iterator[str]:
    """A temporary file that is copied to standard output when the block ends well."""
    with tempfile.TemporaryDirectory(prefix="warner-") as folder:
        path = str(Path(folder) / "reports.csv")
        yield path
        with open(path, "rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.flush()


class _ParquetSink:
    def __init__(self, path: str, head: str, mechanisms: Mapping[str, Mechanism]) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        fields = [
            (name, pa.from_numpy_dtype(smallest_dtype(size)))
            for attribute, mechanism in mechanisms.items()
            for name, size in file_columns(attribute, mechanism.layout).items()
        ]
        self._schema = pa.schema(fields, metadata={"warner": head})
        # Noise does not compress, but Parquet stores a byte in four unless a dictionary says how few values there are.
        self._writer = pq.ParquetWriter(path, self._schema, compression="zstd", use_dictionary=True, write_page_checksum=True)

    def write(self, columns: Mapping[str, np.ndarray]) -> None:
        import pyarrow as pa

        arrays = [pa.array(columns[field.name].astype(field.type.to_pandas_dtype(), copy=False)) for field in self._schema]
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema), row_group_size=2**20)

    def close(self, end: str | None) -> None:
        if end is not None:
            self._writer.add_key_value_metadata({"warner.end": end})
        self._writer.close()


class _CsvSink:
    def __init__(self, path: str, head: str, mechanisms: Mapping[str, Mechanism]) -> None:
        self._file = open(path, "wb")  # noqa: SIM115 - closed by close()
        self._file.write(CSV_START + head.encode() + b"\n")
        self._first = True

    def write(self, columns: Mapping[str, np.ndarray]) -> None:
        import pyarrow as pa
        from pyarrow import csv

        csv.write_csv(pa.table(dict(columns)), self._file, csv.WriteOptions(include_header=self._first))
        self._first = False

    def close(self, end: str | None) -> None:
        if end is not None:
            self._file.write(CSV_END + end.encode() + b"\n")
        self._file.close()


def write_reports(reports: Reports | Mapping[str, Reports], path: str) -> None:
    """Write reports in memory to a .parquet or .csv file; one Reports is written as the attribute ``value``."""
    named = {"value": reports} if isinstance(reports, Reports) else reports
    with ReportWriter(path, {a: from_header(r.header) for a, r in named.items()}) as writer:
        writer.write(named)
