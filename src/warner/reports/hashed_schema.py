"""The schemas of hashed reports over a prime field, whose counts are not those of whole columns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from warner._core.field_hash import FieldHash
from warner.reports.schema import IntegerColumns, each_group, refuse_reports
from warner.reports.tally_kinds import BitSums, TallyKind

COLUMNS = ("multiplier", "shift", "bucket")


@dataclass(frozen=True)
class HashedColumns(IntegerColumns):
    """A schema of reports (a - 1, b, z) of local hashing over a prime field. Abstract.

    Attributes:
        names, sizes: as in :class:`IntegerColumns`.
        hashes: the hash functions.
        width: K, the number of values.
    """

    hashes: FieldHash
    width: int

    group_bys = 0

    @classmethod
    def of(cls, hashes: FieldHash, width: int) -> Self:
        """The schema for hash functions and a number of values."""
        return cls(COLUMNS, (hashes.prime - 1, hashes.prime, hashes.buckets), hashes, width)

    def parts(self, columns: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """a, b and z of reports, int64 (n,)."""
        a, b, z = (columns[name].astype(np.int64) for name in self.names)
        return a + 1, b, z


@dataclass(frozen=True)
class WindowCounts(HashedColumns):
    """A schema of hashed reports, counted as whole reports.

    Reports that support the same residues are counted together, which loses nothing (see
    :attr:`FieldHash.window_shape <warner._core.field_hash.FieldHash.window_shape>`). The tally has
    about p^2 counts, instead of p (p - 1) g.

    >>> schema = WindowCounts.of(FieldHash(5, 4), 3)
    >>> schema.rows, schema.n_reports
    (20, 80)
    """

    @property
    def rows(self) -> int:
        return math.prod(self.hashes.window_shape)

    def index(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        """The window of every report, (n,) in 0..rows-1."""
        return self.hashes.windows(*self.parts(columns))

    @property
    def table_shape(self) -> tuple[int, ...]:
        return (self.rows,)


@dataclass(frozen=True)
class SupportCounts(HashedColumns):
    """A schema of hashed reports, counted by the values they support.

    A tally has one count for each value: the number of reports whose bucket z is that of the value
    under (a, b). It adds up over batches, and does not grow with the number of reports. With
    ``keep_reports`` a tally keeps the distinct reports.

    >>> schema = SupportCounts.of(FieldHash(5, 2), 3)
    >>> columns = schema.parse({"multiplier": [0, 0], "shift": [0, 1], "bucket": [1, 1]})
    >>> schema.count(columns).counts[0].tolist()
    [1, 1, 1]
    """

    rows_are_reports = False
    can_keep_reports = True

    @property
    def rows(self) -> int:
        """2 K: "supports x" for every x, then "does not support x" for every x."""
        return 2 * self.width

    @property
    def rows_per_report(self) -> int:  # type: ignore[override]
        return self.width

    @property
    def cells(self) -> int:
        return self.width

    @cached_property
    def _points(self) -> np.ndarray:
        return self.hashes.points(np.arange(self.width))

    @property
    def tally_kind(self) -> TallyKind:
        return BitSums()

    def table(
        self,
        columns: Mapping[str, np.ndarray],
        place: np.ndarray | None,
        groups: int,
        repeats: np.ndarray | None,
    ) -> np.ndarray:
        """How many reports of each group support every value, (groups, K)."""
        if place is not None:
            return each_group(self.table, columns, place, groups, repeats)
        counts = self.hashes.support_counts(*self.parts(columns), repeats)
        return np.asarray(counts[self._points][None])

    def may_have(self, counts: np.ndarray, n: int) -> bool:
        """A report supports all residues of its bucket, of which p - K are no values."""
        sizes, others = self.hashes.sizes, self.hashes.prime - self.width
        least = n * max(0, int(sizes.min()) - others)
        return least <= int(counts.sum()) <= n * min(int(sizes.max()), self.width)

    def pack(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        """Reports as bytes, one after the other with the highest byte first, uint8 (n, bytes)."""
        return np.concatenate(
            [
                columns[name].astype(column.dtype.newbyteorder(">")).view(np.uint8).reshape(-1, w)
                for name, column in self.empty(0).items()
                for w in (column.dtype.itemsize,)
            ],
            axis=1,
        )

    def unpack(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """The columns of reports from :meth:`pack`."""
        refuse_reports(
            np.full(len(rows), rows.shape[1] != self.bytes_per_report),
            f"must have {self.bytes_per_report} bytes",
        )
        columns, start = {}, 0
        for name, column in self.empty(0).items():
            end = start + column.dtype.itemsize
            part = np.ascontiguousarray(rows[:, start:end])
            columns[name] = part.view(column.dtype.newbyteorder(">"))[:, 0].astype(column.dtype)
            start = end
        self.check(columns)
        return columns

    def indicators(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        """Which values every report supports, and a last column of ones, (n, K + 1)."""
        a, b, z = (part[:, None] for part in self.parts(columns))
        out = np.ones((len(a), self.width + 1), dtype=np.uint8)
        step = max(1, 2**20 // self.width)
        for start in range(0, len(a), step):
            rows = slice(start, start + step)
            bucket = self.hashes.bucket_of(a[rows], b[rows], np.arange(self.width)[None, :])
            out[rows, : self.width] = bucket == z[rows]
        return out

    def indicators_to_rows(self, table: np.ndarray, axis: int) -> np.ndarray:
        """Counts of support, then of no support."""
        support, everyone = np.split(table, [table.shape[axis] - 1], axis=axis)
        return np.concatenate([support, everyone - support], axis=axis)
