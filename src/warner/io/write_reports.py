"""Reports out: to Parquet or CSV in parts, whole or not at all.

Apart from the reports, everything in a file is a function of their number and of what is asked: reports are cut into row groups by
count alone, whatever batches they came in, and their order is drawn at random.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from warner._core.atomic_files import (
    whole_file,
)
from warner._core.canonical_json import (
    canonical,
)
from warner._core.checks import legible
from warner._core.errors import (
    ArgumentError,
    EmptyError,
    MismatchError,
    message,
)
from warner._core.sampling import Source
from warner._core.shuffle import Pieces, Shuffle, rows_at_a_time
from warner.io.seal import (
    CSV_END,
    CSV_START,
    FORMATS,
    SCHEMA,
    UNSEALED,
    file_columns,
    seal,
    to_file,
)
from warner.mechanisms import Mechanism, from_header
from warner.reports.reports import Reports, columns_of
from warner.reports.schema import (
    smallest_dtype,
    width,
)

_ROW_GROUP = 2**20  # rows


class ReportWriter:
    """Writes reports of one or more attributes to one file, in parts, whole or not at all.

        with ReportWriter(path, {"education": mechanism}) as writer:
            writer.write({"education": reports})

    On leaving the block the reports are put in random order and written, then the end of the file, and the file is moved to its
    name; after an error nothing is left. ``path`` ends in .parquet or .csv, or is ``-`` for CSV on standard output.
    """

    def __init__(
        self,
        path: str,
        mechanisms: Mapping[str, Mechanism],
        simulation: bool = False,
        *,
        keep_order: bool = False,
        rng: np.random.Generator | None = None,
    ) -> None:
        """What to write, and where.

        Args:
            path: .parquet, .csv or ``-``.
            mechanisms: {attribute: Mechanism}.
            simulation: mark the file as a simulation. Simulated reports mark it themselves; with this flag real ones may stand
                among them.
            keep_order: write people in the order they come in. That order can say whose report is whose, for example where
                the answers were sorted. Without it the order is drawn, and all reports of one person stay together.
            rng: draws the order of a simulation, so that it can be repeated; None for the operating system's randomness.
        """
        self._mechanisms = dict(mechanisms)
        self._suffix = ".csv" if path == "-" else Path(path).suffix
        if self._suffix not in FORMATS:
            raise ArgumentError(message("path", f"must end in {' or '.join(FORMATS)}", path))
        for attribute in self._mechanisms:
            legible("name of an attribute", attribute)
        names = [name for a, m in self._mechanisms.items() for name in file_columns(a, m.schema)]
        if len({name.casefold() for name in names}) < len(names):
            raise ArgumentError(
                message(
                    "attributes",
                    "must differ by more than upper and lower case",
                    ", ".join(self._mechanisms),
                )
            )
        self._target: AbstractContextManager[str] = (
            _standard_output() if path == "-" else whole_file(path)
        )
        self._source = Source(rng)
        self._marked = simulation or self._source.simulated
        self._simulated: bool | None = None  # what the reports say
        self._keep_order = keep_order
        self._width = sum(width(m.schema) for m in self._mechanisms.values())
        self._pieces = Pieces(rows_at_a_time(self._width, _ROW_GROUP), self._width, self._put)
        self._shuffle: Shuffle | None = None
        self._sink: _ParquetSink | _CsvSink | None = None
        self._n = 0

    def __enter__(self) -> Self:
        self._temporary = self._target.__enter__()
        if not self._keep_order:
            self._shuffle = Shuffle(self._width, self._source, str(Path(self._temporary).parent))
        return self

    def write(self, reports: Mapping[str, Reports]) -> None:
        """Append one batch: reports of every attribute, of the same people in the same order."""
        if (
            reports.keys() != self._mechanisms.keys()
            or len({len(r) for r in reports.values()}) != 1
        ):
            raise MismatchError(
                message(
                    "reports", f"must be equally many for each of {', '.join(self._mechanisms)}"
                )
            )
        parts = []
        for attribute, mechanism in self._mechanisms.items():
            found = reports[attribute]
            mechanism.check(found)
            self._mark(found.simulated)
            parts.append(
                Reports(
                    found.header, {c: found.columns[c] for c in mechanism.schema.empty(0)}
                ).record_array()
            )
        rows = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
        self._n += len(rows)
        (self._pieces if self._shuffle is None else self._shuffle).add(rows)

    def _mark(self, simulated: bool) -> None:
        """Note what the reports are; real ones among simulated ones are refused unless the file is marked anyway."""
        if self._simulated not in (None, simulated) and not self._marked:
            remedy = "Write two files, or pass simulation=True to mark all as simulated"
            raise MismatchError(
                message(
                    "reports",
                    "of real people and of a simulation do not go into one file",
                    None,
                    remedy,
                )
            )
        self._simulated = simulated or bool(self._simulated)

    def _put(self, rows: np.ndarray) -> None:
        """Write one row group, of rows of bytes."""
        if self._sink is None:
            head = {
                "format": "warner-reports",
                "schema": SCHEMA,
                "simulation": self._marked or bool(self._simulated),
                "attributes": {a: m.header for a, m in self._mechanisms.items()},
            }
            # Not sorted: the order of attributes is that of columns.
            text = json.dumps(head, separators=(",", ":"), allow_nan=False)
            self._sink = (_ParquetSink if self._suffix == ".parquet" else _CsvSink)(
                self._temporary, text, self._mechanisms
            )
        columns: dict[str, np.ndarray] = {}
        start = 0
        for attribute, mechanism in self._mechanisms.items():
            stop = start + width(mechanism.schema)
            columns |= to_file(
                attribute, mechanism.schema, columns_of(mechanism.schema, rows[:, start:stop])
            )
            start = stop
        self._sink.write(columns)

    def _finish(self) -> None:
        """Write all that is held, and the end of the file."""
        if self._n == 0:
            raise EmptyError(message("reports", "must not be empty"))
        if self._shuffle is not None:
            for rows in self._shuffle.shuffled():
                self._pieces.add(rows)
        self._pieces.flush()
        assert self._sink is not None
        sink, self._sink = self._sink, None
        sink.close(canonical({"n": self._n, "sha256": UNSEALED}))
        seal(self._temporary)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            try:
                if kind is None:
                    self._finish()
            finally:
                if self._shuffle is not None:
                    self._shuffle.close()
                if self._sink is not None:
                    self._sink.close(None)
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
            for name, size in file_columns(attribute, mechanism.schema).items()
        ]
        self._schema = pa.schema(fields, metadata={"warner": head})
        # Noise does not compress, but Parquet stores a byte in four unless a dictionary says how few values there are.
        self._writer = pq.ParquetWriter(
            path, self._schema, compression="zstd", use_dictionary=True, write_page_checksum=True
        )

    def write(self, columns: Mapping[str, np.ndarray]) -> None:
        import pyarrow as pa

        arrays = [
            pa.array(columns[field.name].astype(field.type.to_pandas_dtype(), copy=False))
            for field in self._schema
        ]
        table = pa.Table.from_arrays(arrays, schema=self._schema)
        self._writer.write_table(table, row_group_size=max(1, table.num_rows))

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

        csv.write_csv(
            pa.table(dict(columns)), self._file, csv.WriteOptions(include_header=self._first)
        )
        self._first = False

    def close(self, end: str | None) -> None:
        if end is not None:
            self._file.write(CSV_END + end.encode() + b"\n")
        self._file.close()


def write_reports(
    reports: Reports | Mapping[str, Reports],
    path: str,
    simulation: bool = False,
    *,
    keep_order: bool = False,
    rng: np.random.Generator | None = None,
) -> None:
    """Write reports in memory to a .parquet or .csv file, in random order; one Reports is written as the attribute ``value``.

    ``simulation``, ``keep_order`` and ``rng`` are those of :class:`ReportWriter`.
    """
    named = {"value": reports} if isinstance(reports, Reports) else reports
    mechanisms = {a: from_header(r.header) for a, r in named.items()}
    with ReportWriter(path, mechanisms, simulation, keep_order=keep_order, rng=rng) as writer:
        writer.write(named)
