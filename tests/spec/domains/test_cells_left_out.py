"""Grids of which cells are left out: they are no values, anywhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warner
from warner import Grid, RandomizedResponse, estimate
from warner.domains import from_spec

SHORE = Grid(3, 3, 0.5, without=[(1, 1), (0, 0)])


def test_values_are_numbered_without_the_cells_left_out() -> None:
    assert SHORE.size == 7 and SHORE.labels[:3] == [(0, 1), (0, 2), (1, 0)]
    assert SHORE.encode(SHORE.labels).tolist() == list(range(7))
    assert SHORE.points.tolist() == [[r * 0.5, c * 0.5] for r, c in SHORE.labels]
    assert SHORE.raster.values.tolist() == [[False, True, True], [True, False, True], [True] * 3]
    assert from_spec(json.loads(json.dumps(SHORE.spec()))) == SHORE
    assert SHORE == Grid(3, 3, 0.5, without=np.array([(0, 0), (1, 1)])) != Grid(3, 3, 0.5)
    assert Grid(3, 3, without=[]).spec() == Grid(3, 3).spec()


@pytest.mark.parametrize("answer", [(1, 1), (0, 0), (3, 0), (0, 3), (-1, 2)])
def test_answers_there_are_refused_without_naming_them(answer: tuple[int, int]) -> None:
    with pytest.raises(
        warner.errors.ValuesError, match="a cell outside the grid, or left out"
    ) as e:
        SHORE.encode([(0, 1), answer])
    assert e.value.position == 1 and str(answer) not in str(e.value)


@pytest.mark.parametrize(
    "without", [[(3, 0)], [(0, 0), (0, 0)], [(0,)], [(0.5, 1)], 3, "0,0", {(0, 0)}, None, [None]]
)
def test_cells_to_leave_out_that_are_none_are_refused(without: Any) -> None:
    with pytest.raises(warner.errors.WarnerError, match=r"without|cells|values"):
        Grid(3, 3, without=without)


def test_at_least_two_cells_are_left() -> None:
    with pytest.raises(warner.errors.ArgumentError, match="number of cells that are left"):
        Grid(2, 2, without=[(0, 0), (0, 1), (1, 0)])


def test_a_map_leaves_them_blank_and_keeps_empty_rows(tmp_path: Path) -> None:
    """Rejects a map whose axes hold only the rows and columns with values."""
    grid = Grid(4, 3, without=[(1, 0), (1, 1), (1, 2), (0, 0)])
    mechanism = RandomizedResponse(grid, 3.0)
    result = estimate(
        mechanism.tally(mechanism.randomize(grid.labels * 20, np.random.default_rng(0)))
    )
    drawn = result.plot().to_dict()
    panel = drawn["vconcat"][0]["hconcat"][0]
    assert panel["encoding"]["y"]["scale"]["domain"] == [0, 1, 2, 3]
    assert panel["encoding"]["x"]["scale"]["domain"] == [0, 1, 2]


def test_a_study_file_leaves_cells_out(tmp_path: Path) -> None:
    path = tmp_path / "city.toml"
    path.write_text(
        "[attributes.place]\n"
        "grid = { rows = 3, columns = 3, side = 0.5, without = [[0, 0], [1, 1]] }\n"
        'mechanism = "PlanarGeometric"\nepsilon = 1.0\n'
    )
    study = warner.Study.load(str(path))
    assert study.domains["place"] == SHORE
    assert study.mechanisms["place"].channel().shape == (7, 7)
