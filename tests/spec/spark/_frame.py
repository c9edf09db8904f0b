"""A frame with the few methods of Spark's that warner calls, in this process and in partitions.

The engines themselves are in tests/spark, which have an environment of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import pyarrow as pa

_KINDS = {"binary": "binary", "large_binary": "binary", "string": "string", "int32": "int"}
_TYPES = {"int": pa.int32(), "bigint": pa.int64(), "string": pa.string(), "binary": pa.binary()}


class Frame:
    """Partitions of rows."""

    def __init__(self, parts: list[pa.Table], rows: int = 10_000) -> None:
        self._parts, self._rows = parts, rows
        self.settings: dict[str, str] = {}
        self.sparkSession = SimpleNamespace(conf=self)

    @classmethod
    def of(cls, columns: dict[str, Any], parts: int = 4, rows: int = 37) -> Frame:
        """A table in several partitions, which are handed over in batches of some rows."""
        table = pa.table(columns)
        size = max(1, -(-len(table) // parts))
        return cls([table[i * size : (i + 1) * size] for i in range(parts)], rows)

    # Spark's.

    @property
    def columns(self) -> list[str]:
        return list(self._parts[0].column_names)

    @property
    def dtypes(self) -> list[tuple[str, str]]:
        schema = self._parts[0].schema
        return [(f.name, _KINDS.get(str(f.type), str(f.type))) for f in schema]

    def get(self, name: str, default: str) -> str:
        return self.settings.get(name, default)

    def set(self, name: str, value: str) -> None:
        self.settings[name] = value

    def select(self, *names: str) -> Frame:
        found = Frame([part.select(list(names)) for part in self._parts], self._rows)
        found.settings = self.settings
        return found

    def first(self) -> tuple[Any, ...] | None:
        rows = self.collect()
        return rows[0] if rows else None

    def mapInArrow(
        self, work: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]], schema: str
    ) -> Frame:
        fields = [field.rsplit(" ", 1) for field in schema.split(", ")]
        kinds = pa.schema([(name.strip("`"), _TYPES[of]) for name, of in fields])
        done = []
        for part in self._parts:
            batches = list(work(iter(part.to_batches(max_chunksize=self._rows))))
            done.append(pa.Table.from_batches(batches, kinds) if batches else kinds.empty_table())
        return Frame(done, self._rows)

    def groupBy(self, *names: str) -> Frame:
        self._by = list(names)
        return self

    def agg(self, wanted: dict[str, str]) -> Frame:
        whole = pa.concat_tables(self._parts)
        sums = list(wanted.items())
        return Frame([whole.group_by(self._by).aggregate(sums)])

    def collect(self) -> list[tuple[Any, ...]]:
        return [tuple(r.values()) for part in self._parts for r in part.to_pylist()]

    def table(self) -> pa.Table:
        return pa.concat_tables(self._parts)
