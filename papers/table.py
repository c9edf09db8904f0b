"""The results of an experiment: one row for each cell, run, method and metric."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

Row = Mapping[str, Any]


class Table:
    """Rows with the columns of the cells, ``run``, those of the measure, and ``value``.

    Args:
        rows: the rows. Every row has a ``"value"``; NaN where nothing could be measured.

    >>> cells = [("a", 1), ("b", 2)]
    >>> table = Table({"method": m, "run": r, "value": v + r} for m, v in cells for r in (0, 1))
    >>> float(table.mean(method="b")), table.distinct("method"), table.ratio("b", "a", by="method")
    (2.5, ['a', 'b'], 1.6666666666666667)
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows: list[Row] = list(rows)

    def __len__(self) -> int:
        return len(self.rows)

    def select(self, **where: Any) -> Table:
        """The rows with these values. A list, tuple or set stands for any of its values."""
        wanted = {
            key: value if isinstance(value, (list, tuple, set, frozenset)) else (value,)
            for key, value in where.items()
        }
        return Table(
            row for row in self.rows if all(row.get(key) in of for key, of in wanted.items())
        )

    def values(self, **where: Any) -> np.ndarray:
        """The values of the rows with these values, in the order of the table: (rows,)."""
        return np.array([row["value"] for row in self.select(**where).rows], dtype=np.float64)

    def mean(self, **where: Any) -> float:
        """The mean of the values of the rows with these values.

        Raises:
            KeyError: there are no such rows.
        """
        values = self.values(**where)
        if not values.size:
            raise KeyError(f"no rows with {where}")
        return float(values.mean())

    def ratio(self, first: Any, second: Any, by: str = "method", **where: Any) -> float:
        """The mean of the rows where the column ``by`` is ``first``, over that of ``second``."""
        return self.mean(**{by: first}, **where) / self.mean(**{by: second}, **where)

    def distinct(self, column: str, **where: Any) -> list[Any]:
        """The values of a column in the order of their first row."""
        return list(
            dict.fromkeys(row[column] for row in self.select(**where).rows if column in row)
        )

    def columns(self) -> list[str]:
        """All columns in the order in which they appear, ``value`` last."""
        names = dict.fromkeys(name for row in self.rows for name in row)
        names.pop("value", None)
        return [*names, "value"]

    def groups(self, columns: Sequence[str]) -> dict[tuple[Any, ...], Table]:
        """The rows by their values in some columns, in the order of the table."""
        groups: dict[tuple[Any, ...], list[Row]] = {}
        for row in self.rows:
            groups.setdefault(tuple(row.get(name) for name in columns), []).append(row)
        return {key: Table(rows) for key, rows in groups.items()}

    def summary(self) -> list[dict[str, Any]]:
        """One row for each combination of all columns but ``run``: mean, deviation, count.

        Returns:
            Dicts with the columns, ``"mean"``, ``"sd"`` (over runs, 0 for one run), ``"se"``, the
            standard error of the mean, and ``"runs"``.
        """
        keys = [name for name in self.columns() if name not in ("run", "value")]
        result = []
        for key, group in self.groups(keys).items():
            values = group.values()
            sd = float(values.std(ddof=1)) if values.size > 1 else 0.0
            result.append(
                {
                    **{k: v for k, v in zip(keys, key, strict=True) if v is not None},
                    "mean": float(values.mean()),
                    "sd": sd,
                    "se": sd / math.sqrt(values.size),
                    "runs": int(values.size),
                }
            )
        return result

    def to_csv(self) -> str:
        """The summary as CSV text, one header line, numbers to nine digits."""
        rows = self.summary()
        names = list(dict.fromkeys(name for row in rows for name in row))
        statistics = ["mean", "sd", "se", "runs"]
        names = [*(n for n in names if n not in statistics), *statistics]
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(names)
        for row in rows:
            writer.writerow([_cell(row.get(name)) for name in names])
        return text.getvalue()


def _cell(value: Any) -> Any:
    """A value as it stands in the CSV file."""
    if value is None:
        return ""
    return f"{value:.9g}" if isinstance(value, float) else value
