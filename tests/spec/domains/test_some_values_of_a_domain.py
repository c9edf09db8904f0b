"""Some values of a domain are a domain of their own, with the coordinates of the whole one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warner
from warner import Categorical, Grid, Integers, PlanarGeometric
from warner.domains import Points, Subset, from_spec


@pytest.mark.parametrize(
    "domain",
    [
        Integers(0, 9),
        Categorical([f"v{i}" for i in range(10)]),
        Grid(5, 2, 0.5),
        Grid(4, 3, without=[(0, 0), (2, 2)]),
        Points(np.arange(20.0).reshape(10, 2)),
    ],
    ids=lambda d: type(d).__name__,
)
def test_values_keep_their_order_their_points_and_their_cells(domain: Any) -> None:
    kept = [7, 1, 4]
    some = Subset(domain, kept)
    assert some.labels == [domain.labels[i] for i in sorted(kept)]
    assert some.encode(some.labels).tolist() == [0, 1, 2]
    assert from_spec(some.spec()) == some
    if domain.points is not None:
        assert some.points is not None and (some.points == domain.points[[1, 4, 7]]).all()
    if domain.raster is not None:
        assert some.raster is not None
        places = np.flatnonzero(some.raster.values.ravel())
        assert np.stack(np.divmod(places, domain.columns), axis=1).tolist() == [
            list(cell) for cell in some.labels
        ]


def test_cells_kept_and_cells_not_left_out_have_one_law() -> None:
    some = Subset(Grid(3, 3), [0, 1, 4, 5, 8])
    rest = Grid(3, 3, without=[(0, 2), (1, 0), (2, 0), (2, 1)])
    first, second = (PlanarGeometric(domain, 1.0).channel().dense() for domain in (some, rest))
    assert (first == second).all()


@pytest.mark.parametrize("index", [[1], [], [1, 1], [0, 10], [-1, 2], [[0, 1]], [0.5, 1], 3])
def test_indices_that_are_no_two_values_are_refused(index: Any) -> None:
    with pytest.raises(warner.errors.WarnerError, match=r"index|number of values"):
        Subset(Integers(0, 9), index)


def test_messages_do_not_show_the_answer() -> None:
    with pytest.raises(warner.errors.ValuesError, match="a value that was not kept") as error:
        Subset(Categorical(["secret", "no", "yes"]), [1, 2]).encode(["no", "secret"])
    assert error.value.position == 1 and "secret" not in str(error.value)
