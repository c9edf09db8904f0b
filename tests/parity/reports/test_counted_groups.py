"""Counts of all groups at once against counts of one group after the other."""

from __future__ import annotations

import numpy as np
import pytest

from warner.reports.public_columns import Groups
from warner.reports.schema import BitVector, DigitVector, IntegerColumns, ReportSchema

SCHEMAS: list[ReportSchema] = [
    IntegerColumns(("report",), (5,)),
    IntegerColumns(("seed", "bucket"), (3, 4)),
    BitVector(5),
    BitVector(16),
    BitVector(19),
    DigitVector(3, 4),
]


def _columns(schema: ReportSchema, n: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(4)
    if isinstance(schema, BitVector):
        return schema.parse(rng.integers(0, 2, (n, schema.width)))
    if isinstance(schema, DigitVector):
        return schema.parse(rng.integers(0, schema.base, (n, schema.width)))
    assert isinstance(schema, IntegerColumns)
    sizes = zip(schema.names, schema.sizes, strict=True)
    return schema.parse({name: rng.integers(0, size, n) for name, size in sizes})


@pytest.mark.parametrize("schema", SCHEMAS, ids=repr)
@pytest.mark.parametrize("groups", [1, 3, 100])
@pytest.mark.parametrize("repeated", [False, True])
def test_each_group_has_the_counts_of_its_own_reports(
    schema: ReportSchema, groups: int, repeated: bool
) -> None:
    n, rng = 700, np.random.default_rng(5)
    columns = _columns(schema, n)
    # Some groups have one report, and some have none.
    place = np.minimum(rng.integers(0, groups, n), rng.integers(0, groups, n))
    repeats = rng.integers(0, 4, n) if repeated else None
    people = Groups({"group": None}, [(g,) for g in range(groups)], place)
    found = schema.count(columns, people, repeats)
    assert found.sizes.sum() == (n if repeats is None else repeats.sum())
    for group in range(groups):
        rows = np.flatnonzero(place == group)
        part = {name: column[rows] for name, column in columns.items()}
        one = schema.count(part, None, None if repeats is None else repeats[rows])
        assert found.kind == one.kind and found.sizes[group] == one.sizes[0]
        assert found.counts[group].tolist() == one.counts[0].tolist()
