"""Sums over axes and raking in blocks, against slow twins."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from warner.estimators.raked_tables import margin, margins, raked


def _slow_raking(
    table: np.ndarray, targets: dict[tuple[int, ...], np.ndarray], sweeps: int
) -> np.ndarray:
    """IPF as it is defined, with numpy's sums over axes."""
    for _ in range(sweeps):
        for axes, target in targets.items():
            others = tuple(axis for axis in range(table.ndim) if axis not in axes)
            old = table.sum(axis=others, keepdims=True)
            table = table * target.reshape(old.shape) / old
    return table


def test_margins_are_sums_over_the_other_axes() -> None:
    table = np.random.default_rng(0).random((2, 3, 1, 4, 2))
    for order in range(1, 6):
        for axes in combinations(range(5), order):
            others = tuple(axis for axis in range(5) if axis not in axes)
            assert margin(table, axes) == pytest.approx(table.sum(axis=others))


def test_margins_of_a_large_table_are_those_of_blocks() -> None:
    """3^9 cells: blocks of six and of four axes are summed first."""
    table = np.random.default_rng(0).random((3,) * 9)
    for order in (2, 3):
        wanted = list(combinations(range(9), order))[::5]
        found = margins(table, wanted)
        assert list(found) != [] and set(found) == set(wanted)
        for axes in wanted:
            assert found[axes] == pytest.approx(margin(table, axes))


@pytest.mark.parametrize("size", [2, 3])
def test_raking_in_blocks_has_the_limit_of_raking_in_turn(size: int) -> None:
    """8 axes: 256 cells are raked in turn, and 6561 in blocks of four axes."""
    rng = np.random.default_rng(1)
    base, other = rng.dirichlet(np.full(size**8, 2.0), 2).reshape(2, *(size,) * 8)
    targets = {axes: margin(other, axes) for axes in combinations(range(8), 2)}
    found = raked(base, targets)
    assert found == pytest.approx(_slow_raking(base, targets, 40), rel=1e-4, abs=1e-9)
    for axes, target in targets.items():
        assert margin(found, axes) == pytest.approx(target, abs=1e-6)
