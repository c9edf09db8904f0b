"""A crossed test runs a sample in which every value of every parameter stands."""

from __future__ import annotations

from itertools import product

import pytest

from tests.sampling import drawn, left_out, sampled

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


def test_values_of_a_loop_are_drawn_by_name_and_all_of_them_on_demand(monkeypatch):
    values = list(range(100, 140))
    monkeypatch.setenv("WARNER_SAMPLE", "1")
    some = drawn(values, 5, "a")
    assert len(some) == 5 and some == sorted(some) and set(some) <= set(values)
    assert some == drawn(values, 5, "a") != drawn(values, 5, "b")
    assert drawn(values, 100, "a") == values
    monkeypatch.setenv("WARNER_SAMPLE", "all")
    assert drawn(values, 5, "a") == values


def test_a_single_cell_and_a_large_budget_run():
    assert sampled({"x": {"a": 3}}, 5) == ["x"]
    assert sampled(CELLS, 1000) == list(CELLS)


@pytest.mark.crossed(6)
@pytest.mark.parametrize("a", range(6))
@pytest.mark.parametrize("b", ["x", "y", "z"])
def test_a_crossed_cell(a, b):
    assert f"{a}{b}" in {f"{number}{letter}" for number, letter in product(range(6), "xyz")}


def test_cells_that_pytest_gathers_are_left_out(request, monkeypatch):
    """Rejects values known by their place among the cells, which is another in every cell."""
    cells = [item for item in request.node.parent.collect() if "crossed_cell[" in item.nodeid]
    monkeypatch.setenv("WARNER_SAMPLE", "")
    others = left_out(cells)
    runs = [cell.callspec.params for cell in cells if cell not in others]
    assert (len(cells), len(runs)) == (18, 6)
    assert {each["a"] for each in runs} == set(range(6)) and {each["b"] for each in runs} == {
        *"xyz"
    }
    monkeypatch.setenv("WARNER_SAMPLE", "all")
    assert left_out(cells) == []
