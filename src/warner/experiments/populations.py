"""The people of the papers' data sets, and made people of the same shape.

Each function reads the folder of real data. Where there is none it makes people of the same
number of values and a similar difficulty, always the same ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from warner.domains import Domain, Grid, Integers
from warner.experiments.data_sets import DataFolder
from warner.experiments.measures import People

_SEED = 1


@dataclass(frozen=True, eq=False)
class Sensitive:
    """People, and what is sensitive for them.

    Attributes:
        domain: the K values.
        counts: (K,) how many people have each value, whole numbers.
        sensitive: (S,) the indices of the values that are sensitive for everyone.
        hidden: {tag: (K,) how many of the people hide each value under the tag}.
        tagged: {tag: (K,) public background knowledge, such as the number of homes in a region}.
    """

    domain: Domain
    counts: np.ndarray
    sensitive: np.ndarray
    hidden: Mapping[str, np.ndarray] = field(default_factory=dict)
    tagged: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def half(self) -> People:
        """The people, of whom one half report [P2 sec 6.1]."""
        return People(self.domain, self.counts, int(self.counts.sum()) // 2)


def drawn(counts: np.ndarray, n: int) -> np.ndarray:
    """(K,) the counts of n people drawn with replacement, always the same ones.

    Values that nobody has stay so.
    """
    draw = np.random.default_rng(_SEED).multinomial(n, counts / counts.sum())
    return np.asarray(draw, dtype=np.int64)


def made_clusters(rows: int, columns: int, centres: int, n: int, width: float) -> np.ndarray:
    """(rows * columns,) people around some centres of a city, made."""
    rng = np.random.default_rng(_SEED)
    size = np.array([rows, columns])
    middles = rng.random((centres, 2)) * size
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
        return grid, drawn(made_clusters(16, 24, 30, 50_000, 0.6), n)
    counts = np.zeros((16, 24))
    counts[found["row"].astype(int), found["col"].astype(int)] = found["checkins"]
    return grid, drawn(counts.ravel(), n)
