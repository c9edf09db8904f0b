"""Tests that cross everything with everything run a sample of their cells.

A test of every estimator on every mechanism has a thousand cells, nearly all of which would fail
together. ``@pytest.mark.crossed(budget)`` runs ``budget`` of them, among which every value of every
parameter stands at least once. Which others are drawn follows from the variable WARNER_SAMPLE; the
word "all" runs every cell.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest

ALL = "all"


def sampled(cells: Mapping[str, Mapping[str, int]], budget: int, seed: str = "") -> Sequence[str]:
    """The names of the cells that run, in their order.

    Args:
        cells: {name of a cell: {parameter: which of its values}}.
        budget: how many run at least, and at most where so many hold every value.
        seed: what the draw depends on.

    >>> cells = {f"{a}{b}": {"a": a, "b": b} for a in range(4) for b in range(4)}
    >>> some = sampled(cells, 6)
    >>> len(some), {cells[name]["a"] for name in some} == {cells[name]["b"] for name in some}
    (6, True)
    """
    drawn = sorted(cells, key=lambda name: hashlib.sha256(f"{seed} {name}".encode()).digest())
    missing = {pair for cell in cells.values() for pair in cell.items()}
    chosen = {}
    # First the cells that show most values which did not run yet, then those that show fewer.
    for new in range(max(map(len, cells.values()), default=0), 0, -1):
        for name in drawn:
            if len(cells[name].items() & missing) >= new:
                missing -= cells[name].items()
                chosen[name] = True
    for name in drawn:
        if len(chosen) >= budget:
            break
        chosen[name] = True
    return [name for name in cells if name in chosen]


def drawn(values: Sequence[Any], count: int, name: str) -> list[Any]:
    """Some of the values that a test goes through, in their order; all with WARNER_SAMPLE=all.

    ``name`` tells the draws of several tests apart.
    """
    seed = os.environ.get("WARNER_SAMPLE", "")
    if seed == ALL:
        return list(values)
    cells = {str(i): {"": 0} for i in range(len(values))}
    return [values[int(i)] for i in sampled(cells, count, f"{seed} {name}")]


def left_out(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """The cells that do not run, of all tests that are crossed."""
    seed = os.environ.get("WARNER_SAMPLE", "")
    if seed == ALL:
        return []
    crossed: dict[str, dict[str, pytest.Function]] = {}
    for item in items:
        if isinstance(item, pytest.Function) and item.get_closest_marker("crossed"):
            crossed.setdefault(item.nodeid.split("[")[0], {})[item.nodeid] = item
    others = []
    for cells in crossed.values():
        marker = next(iter(cells.values())).get_closest_marker("crossed")
        assert marker is not None
        (budget,) = marker.args
        # A value is known by its identity: cells share it, and it need not be comparable.
        values = {
            name: {each: id(value) for each, value in cell.callspec.params.items()}
            for name, cell in cells.items()
        }
        chosen = set(sampled(values, budget, seed))
        others += [cell for name, cell in cells.items() if name not in chosen]
    return others
