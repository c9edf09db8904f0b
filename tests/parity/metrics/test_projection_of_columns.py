"""The projection of several columns against that of each."""

from __future__ import annotations

import numpy as np

from warner.metrics import project


def test_several_columns_are_projected_as_each_alone() -> None:
    columns = np.random.default_rng(0).normal(0.1, 0.4, (7, 20))
    columns[:, 3] = columns[0, 3]  # ties
    each = np.stack([project(column) for column in columns.T], axis=1)
    assert (project(columns) == each).all() and np.allclose(each.sum(axis=0), 1)
