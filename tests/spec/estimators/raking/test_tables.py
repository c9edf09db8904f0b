"""Raking meets margins and changes nothing else."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from warner.estimators.raked_tables import blocks_of, margin, product_of, raked


def test_margins_are_met_and_further_dependence_stays() -> None:
    rng = np.random.default_rng(0)
    base, other = rng.dirichlet(np.ones(24), 2).reshape(2, 2, 3, 4)
    targets = {axes: margin(other, axes) for axes in [(0,), (1, 2)]}
    found = raked(base, targets)
    for axes, target in targets.items():
        assert margin(found, axes) == pytest.approx(target, abs=1e-9)
    # The ratio to the base is a product of a factor of axis 0 and one of axes 1 and 2.
    ratio = np.log(found / base).reshape(2, 12)
    ratio -= ratio.mean(axis=0) + ratio.mean(axis=1, keepdims=True) - ratio.mean()
    assert np.abs(ratio).max() < 1e-9


def test_a_share_of_zero_stays_and_targets_that_contradict_each_other_end() -> None:
    base = np.array([[0.0, 0.5], [0.25, 0.25]])
    found = raked(base, {(0,): np.array([0.3, 0.7])})
    assert found[0, 0] == 0
    assert found.sum(axis=1) == pytest.approx([0.3, 0.7])
    against = {(0,): np.array([0.3, 0.7]), (0, 1): np.full((2, 2), 0.25)}
    between = raked(np.full((2, 2), 0.25), against).sum(axis=1)
    assert between == pytest.approx([0.4, 0.6])
    assert (raked(base, {}) == base).all()


@pytest.mark.parametrize("ndim", [2, 4, 5, 9, 20])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_blocks_hold_every_subset(ndim: int, order: int) -> None:
    blocks = blocks_of(ndim, order)
    for axes in combinations(range(ndim), order):
        assert any(set(axes) <= set(block) for block in blocks)
    longest = order * -(-ndim // (2 * order))
    assert all(len(block) <= max(2 * order, longest) for block in blocks)


def test_independent_attributes_have_no_dependence() -> None:
    parts = [np.array([0.2, 0.8]), np.array([0.5, 0.3, 0.2])]
    assert product_of(parts) == pytest.approx(np.outer(*parts))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("ndim", [3, 13])
def test_pairs_that_no_table_has_give_a_distribution(ndim: int) -> None:
    """Neighbours are alike, and yet the first is unlike the last: cells are driven towards 0."""
    alike = np.array([[0.5, 0.0], [0.0, 0.5]])
    targets = {(i, i + 1): alike for i in range(ndim - 1)}
    targets[(0, ndim - 1)] = alike[::-1]
    found = raked(np.full((2,) * ndim, 0.5**ndim), targets)
    assert np.isfinite(found).all()
    assert (found >= 0).all()
    almost = {pair: 0.99 * target + 0.0025 for pair, target in targets.items()}
    found = raked(np.full((2,) * ndim, 0.5**ndim), almost)
    assert found.sum() == pytest.approx(1, abs=0.01)
    assert margin(found, (0, 1))[0, 0] > 0.3
