"""The populations that experiments of several papers ask.

Each reads a data set, or makes one of the same shape and difficulty where there is no folder. Made
data are the same in every run.
"""

from __future__ import annotations

import numpy as np

from warner.domains import Grid
from warner.experiments.data_sets import DataFolder

_SEED = 1


def drawn(counts: np.ndarray, n: int) -> np.ndarray:
    """(K,) the counts of n people drawn with replacement, always the same ones.

    Values that nobody has stay so.
    """
    draw = np.random.default_rng(_SEED).multinomial(n, counts / counts.sum())
    return np.asarray(draw, dtype=np.int64)


def made_clusters(
    rows: int, columns: int, centres: int, n: int, width: float, corner: float = 1.0
) -> np.ndarray:
    """(rows * columns,) people around some centres of a city, made.

    Args:
        rows: the rows of the grid.
        columns: its columns.
        centres: the number of centres.
        n: the number of people; those outside the grid are left out.
        width: the standard deviation of people around their centre, in cells.
        corner: below 1 the centres lie towards the last row and column.
    """
    rng = np.random.default_rng(_SEED)
    size = np.array([rows, columns])
    middles = rng.random((centres, 2)) ** corner * size
    chosen = rng.choice(centres, n, p=rng.dirichlet(np.full(centres, 0.5)))
    places = middles[chosen] + rng.normal(0, width, (n, 2))
    inside = places[((places >= 0) & (places < size)).all(axis=1)].astype(int)
    return np.bincount(inside[:, 0] * columns + inside[:, 1], minlength=rows * columns)


def gowalla(data: DataFolder, n: int = 123_273) -> tuple[Grid, np.ndarray]:
    """Check-ins in the north of San Francisco: 16 x 24 cells of half a kilometre [P4 sec IX-B].

    Of the 123,273 check-ins of P4 the folder has 49,681; n of them are drawn with replacement.

    Returns:
        The grid, row 0 in the south, and the counts (384,).
    """
    grid = Grid(16, 24, side=0.5)
    found = data.columns("gowalla_sf_grid24x16.csv.gz", "row", "col", "checkins")
    if found is None:
        return grid, drawn(made_clusters(16, 24, 40, 50_000, 0.4, 0.5), n)
    counts = np.zeros((16, 24))
    counts[found["row"].astype(int), found["col"].astype(int)] = found["checkins"]
    return grid, drawn(counts.ravel(), n)
