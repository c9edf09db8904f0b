"""Rows of the reported cells alone, against the products with all cells."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from warner.channels import planar

CASES = [
    (warner.Grid(5, 8, 1.0), 1.0, None, 300),
    (warner.Grid(9, 7, 0.5), 2.0, 12, 3_000),
    (warner.Grid(8, 10, 1.0), 3.0, 5, 2_000),
    (warner.Grid(4, 6, 1.0), 1.0, 1, 5_000),
    (warner.Grid(6, 6, 1.0, without=[(0, 0), (3, 2)]), 1.0, None, 400),
]


@pytest.mark.parametrize("transform", [0.5, 100])
@pytest.mark.parametrize(("grid", "epsilon", "reach", "n"), CASES)
def test_products_with_the_reported_cells_are_those_with_all(
    grid: warner.Grid,
    epsilon: float,
    reach: int | None,
    n: int,
    transform: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where the rectangle of reports ends close to the values, so that its border is reported.

    The time of a transform decides whether the products are a convolution or a matrix.
    """
    monkeypatch.setattr(planar, "_TRANSFORM", transform)
    channel = warner.PlanarGeometric(grid, epsilon, truncated=False, reach=reach).channel()
    rng = np.random.default_rng(0)
    theta = rng.dirichlet(np.ones(grid.size), 3).T
    w = channel.simulate(theta[:, 0], n, rng)
    rows, same = channel.restrict_to_observed(w)
    assert isinstance(rows, planar.ObservedPlaces) and same is w
    if transform < 1 and reach != 1:
        assert rows._near.size
    else:
        assert rows._far.size
    seen, whole = np.flatnonzero(w), channel.matvec(theta)
    found = rows.matvec(theta)
    assert found[seen] == pytest.approx(whole[seen], rel=1e-7, abs=1e-17)
    assert found.sum(axis=0) == pytest.approx(whole[seen].sum(axis=0))
    r = np.where(w > 0, 1 / np.maximum(w, 1e-9), 0.0)
    both = np.stack([r, w], axis=1)
    assert rows.rmatvec(both) == pytest.approx(channel.rmatvec(both), rel=1e-9)
    assert rows.rmatvec(r) == pytest.approx(channel.rmatvec(r), rel=1e-9)
    index = np.array([0, 3, grid.size - 1])
    assert rows.columns(index)[seen] == pytest.approx(
        channel.columns(index)[seen], rel=1e-7, abs=1e-16
    )
    matrix = rows.columns(np.arange(grid.size))
    assert rows.gram(w) == pytest.approx((matrix * w[:, None]).T @ matrix)
    alone, cells = rows.seen_rows() or (None, seen)
    assert alone is not None and (cells == seen).all() and alone.seen_rows() is None
    assert alone.matvec(theta) == pytest.approx(found[seen])
    assert alone.rmatvec(both[seen]) == pytest.approx(rows.rmatvec(both))
    assert alone.gram(w[seen]) == pytest.approx(rows.gram(w))
