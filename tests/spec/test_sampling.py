"""A crossed test runs a sample in which every value of every parameter stands."""

from __future__ import annotations

from itertools import product

import pytest

from tests.sampling import sampled

CELLS = {f"{a}-{b}": {"a": a, "b": b} for a, b in product(range(30), range(12))}


@pytest.mark.parametrize("budget", [1, 30, 100])
@pytest.mark.parametrize("seed", ["", "0", "another"])
def test_every_value_runs_and_no_more_cells_than_needed(budget, seed):
    chosen = sampled(CELLS, budget, seed)
    assert {CELLS[name]["a"] for name in chosen} == set(range(30))
    assert {CELLS[name]["b"] for name in chosen} == set(range(12))
    assert len(chosen) == max(budget, 30)
    assert list(chosen) == [name for name in CELLS if name in set(chosen)]


def test_a_seed_gives_one_sample_and_others_give_others():
    assert sampled(CELLS, 50, "1") == sampled(CELLS, 50, "1") != sampled(CELLS, 50, "2")
    everything = set().union(*(sampled(CELLS, 50, str(seed)) for seed in range(100)))
    assert everything == set(CELLS)


def test_a_single_cell_and_a_large_budget_run():
    assert sampled({"x": {"a": 3}}, 5) == ["x"]
    assert sampled(CELLS, 1000) == list(CELLS)
