"""Tables of tuples against a loop over people."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from warner.reports.product_schema import marginal_tables, n_cells, table_of
from warner.reports.schema import BitVector, IntegerColumns

PARTS = {
    "a": IntegerColumns(("seed", "bucket"), (3, 2)),
    "b": BitVector(3),
    "c": IntegerColumns(("report",), (4,)),
    "d": BitVector(9),
}


def _columns(n: int) -> dict[str, dict[str, np.ndarray]]:
    rng = np.random.default_rng(n)
    return {
        "a": {
            "seed": rng.integers(0, 3, n).astype(np.uint8),
            "bucket": rng.integers(0, 2, n).astype(np.uint8),
        },
        "b": {"bits": np.packbits(rng.random((n, 3)) < 0.4, axis=1)},
        "c": {"report": rng.integers(0, 4, n).astype(np.uint8)},
        "d": {"bits": np.packbits(rng.random((n, 9)) < 0.4, axis=1)},
    }


def _rows_of(name: str, columns: dict[str, np.ndarray], i: int) -> list[int]:
    """The rows that person i's report of one attribute counts for."""
    schema = PARTS[name]
    if isinstance(schema, BitVector):
        bits = np.unpackbits(columns["bits"][i])[: schema.width]
        return [k if bit else schema.width + k for k, bit in enumerate(bits)]
    return [int(np.ravel_multi_index([columns[c][i] for c in schema.names], schema.sizes))]


@pytest.mark.parametrize("ways", [1, 2, 3, 4])
@pytest.mark.parametrize("n", [1, 60])
def test_tables_are_those_of_a_loop_over_people(ways: int, n: int) -> None:
    columns, seen = _columns(n), np.random.default_rng(0).integers(1, 5, n)
    for weight in (None, seen):
        slow = []
        for names in combinations(PARTS, ways):
            table = np.zeros([PARTS[name].rows for name in names], dtype=np.int64)
            for i in range(n):
                table[np.ix_(*(_rows_of(name, columns[name], i) for name in names))] += (
                    1 if weight is None else weight[i]
                )
            slow.append(table.ravel())
        fast = marginal_tables(PARTS, columns, ways, weight)
        assert fast.tolist() == np.concatenate(slow).tolist() and fast.size == n_cells(PARTS, ways)


@pytest.mark.parametrize("ways", [2, 3, 4])
def test_a_table_of_fewer_is_summed_from_one_of_more(ways: int) -> None:
    columns = _columns(40)
    counts = marginal_tables(PARTS, columns, ways)
    for wanted in (["a"], ["d"], ["c", "a"], ["d", "b"], ["b", "c"]):
        table = table_of(PARTS, counts, ways, wanted)
        direct = table_of(
            {name: PARTS[name] for name in wanted},
            marginal_tables({name: PARTS[name] for name in wanted}, columns, len(wanted)),
            len(wanted),
            wanted,
        )
        assert table is not None and direct is not None and table.tolist() == direct.tolist()
    assert (
        table_of(PARTS, counts[:-1], ways, ["a"]) is None
        and table_of(PARTS, counts, 5, ["a"]) is None
    )
