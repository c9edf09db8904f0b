"""The populations that experiments of several papers ask.

Each reads a data set, or makes one of the same shape and difficulty where there is no folder. Made
data are the same in every run.
"""

from __future__ import annotations

from importlib.resources import files as resources

import numpy as np

from papers.data_sets import DataFolder
from papers.measures import People
from warner.domains import Categorical, Grid

_SEED = 1
_FLOW = "people_flow.txt"

_AGE_BIN, _AGE_BINS = 20, 5  # [P5 sec 4.3]: bins of 20 years


def adult_codes(data: DataFolder) -> dict[str, tuple[int, np.ndarray]]:
    """The categorical columns of Adult as codes, age in five bins of 20 years.

    Returns:
        {column: (number of values, codes (32561,))}, values in alphabetical order. Without a folder
        the columns that the package ships.
    """
    table = data.table("adult.csv.gz")
    assert table is not None
    codes = {}
    for name, texts in table.items():
        if name == "age":
            ages = np.array(texts, dtype=np.int64) // _AGE_BIN
            codes[name] = (_AGE_BINS, np.minimum(ages, _AGE_BINS - 1))
        elif name not in _NUMBERS_OF_ADULT:
            values, index = np.unique(texts, return_inverse=True)
            codes[name] = (values.size, index)
    return codes


_NUMBERS_OF_ADULT = {
    "fnlwgt",
    "education_num",
    "capital_gain",
    "capital_loss",
    "hours_per_week",
}


def people_flow(data: DataFolder) -> People:
    """People-flow: 303,916 people in 281 regions of Tokyo in 1998, from the shares of [P1 fig 11].

    The shares are printed to three digits. One is not legible and is what the others leave; 88
    regions are empty. Where the regions lie is lost, so they stand in a random order, always the
    same one.
    """
    text = (resources("papers") / "data" / _FLOW).read_text()
    counts = np.zeros(281)
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    known = np.array(" ".join(lines).split(), dtype=np.float64)
    counts[: known.size] = known
    return _labelled(np.random.default_rng(_SEED).permutation(counts))


def survey(data: DataFolder) -> People:
    """The General Social Survey in 400 cells of age, income, marital status and sex."""
    found = data.columns("gss_cells400.csv.gz", "count")
    made = np.random.default_rng(_SEED).dirichlet(np.full(400, 0.3))
    return _labelled(made if found is None else found["count"])


# Of the 221 records of the census of 1990 in its own coding, those under 20: {(age class, income
# class, marital status, sex): people}. Nobody of them is younger than one year.
_YOUNG = {(1, 0, 4, 0): 24, (1, 0, 4, 1): 21, (2, 0, 4, 0): 11, (2, 0, 4, 1): 6, (2, 1, 4, 1): 2}
_OF_ALL_AGES = 221
_TABLE = (8, 5, 5, 2)  # classes of age and of income, marital status, sex [P1 table 2]
_ADULT_CLASSES = [3, 4, 5, 6, 6, 7, 7]  # of P1, for the survey's 20-29, .., 60-64, 65-74, 75-


def census(data: DataFolder) -> People:
    """A census in the 400 cells of [P1 table 2]: age, income, marital status and sex.

    People under 20 are those of a sample of the census of 1990, 29 % of all; the others are as in
    the survey, which asks nobody under 18.
    """
    adults, young = np.zeros(_TABLE), np.zeros(_TABLE)
    groups = survey(data).counts.reshape(_TABLE)[1:]
    for place, group in zip(_ADULT_CLASSES, groups, strict=True):
        adults[place] += group
    for cell, people in _YOUNG.items():
        young[cell] = people
    share = young.sum() / _OF_ALL_AGES
    return _labelled((young / _OF_ALL_AGES + (1 - share) * adults / adults.sum()).ravel())


def cities(data: DataFolder) -> People:
    """The 415 busiest cells of the world by check-ins of Gowalla; made: cities by Zipf's law.

    Where the cells lie does not matter here, so they are in a random order, always the same one.
    """
    found = data.table("dpbench_2d_256x256_sparse.csv.gz")
    counts = 1 / np.arange(5.0, 420.0)  # about as even as the cells
    if found is not None:
        rows = zip(found["dataset"], found["count"], strict=True)
        counts = np.sort([float(n) for name, n in rows if name == "GOWALLA_WORLD"])[:-416:-1]
    return _labelled(np.random.default_rng(_SEED).permutation(counts))


def tokyo_grid(data: DataFolder) -> People:
    """Check-ins in a 20 x 20 grid of Tokyo, row 0 in the south."""
    found = data.columns("foursquare_tokyo_grid20x20.csv.gz", "cell", "checkins")
    if found is None:
        side = np.linspace(-2.5, 2.5, 20)
        bell = np.exp(-(side[:, None] ** 2 + side**2)).ravel()
        return People(Grid(20, 20), bell * np.random.default_rng(_SEED).lognormal(0, 1, 400))
    counts = np.zeros(400)
    counts[found["cell"].astype(np.int64)] = found["checkins"]
    return People(Grid(20, 20), counts)


def tokyo_check_ins(data: DataFolder) -> People:
    """The non-empty cells of :func:`tokyo_grid`, labelled ``"row column"``."""
    counts = tokyo_grid(data).counts
    cells = np.flatnonzero(counts)
    return People(Categorical([f"{cell // 20} {cell % 20}" for cell in cells]), counts[cells])


def _labelled(counts: np.ndarray) -> People:
    """People with labels in place of names."""
    return People(Categorical(list(range(counts.size))), counts)


def drawn(counts: np.ndarray, n: int) -> np.ndarray:
    """Draw n people with replacement from given counts, the same people at every call.

    Args:
        counts: (K,) how many people have each value.
        n: the number of people to draw.

    Returns:
        The counts (K,) of the people drawn. A value with count 0 keeps it.
    """
    draw = np.random.default_rng(_SEED).multinomial(n, counts / counts.sum())
    return np.asarray(draw, dtype=np.int64)


def made_clusters(
    rows: int, columns: int, centres: int, n: int, width: float, corner: float = 1.0
) -> np.ndarray:
    """Made counts of people around some centres of a city, in the cells of a grid.

    Args:
        rows: the rows of the grid.
        columns: its columns.
        centres: the number of centres.
        n: the number of people; those outside the grid are left out.
        width: the standard deviation of people around their centre, in cells.
        corner: below 1 the centres lie towards the last row and column.

    Returns:
        The counts (rows * columns,), row by row.
    """
    rng = np.random.default_rng(_SEED)
    size = np.array([rows, columns])
    middles = rng.random((centres, 2)) ** corner * size
    chosen = rng.choice(centres, n, p=rng.dirichlet(np.full(centres, 0.5)))
    places = middles[chosen] + rng.normal(0, width, (n, 2))
    inside = places[((places >= 0) & (places < size)).all(axis=1)].astype(int)
    return np.bincount(inside[:, 0] * columns + inside[:, 1], minlength=rows * columns)


def gowalla(data: DataFolder, n: int = 123_273, spread: float = 0.0) -> tuple[Grid, np.ndarray]:
    """Check-ins in the north of San Francisco: 16 x 24 cells of half a kilometre [P4 sec IX-B].

    Of the 123,273 check-ins of P4 the folder has 49,681; n of them are drawn with replacement.

    Args:
        data: the data sets.
        n: the number of check-ins.
        spread: the share of each cell's check-ins that is spread evenly over the cell and its
            neighbours, because P4's check-ins lie in more cells than those at hand.

    Returns:
        The grid, row 0 in the south, and the counts (384,).
    """
    grid = Grid(16, 24, side=0.5)
    found = data.columns("gowalla_sf_grid24x16.csv.gz", "row", "col", "checkins")
    counts = np.zeros((16, 24))
    if found is None:
        counts += made_clusters(16, 24, 40, 50_000, 0.4, 0.5).reshape(16, 24)
    else:
        counts[found["row"].astype(int), found["col"].astype(int)] = found["checkins"]
    return grid, drawn((1 - spread) * counts.ravel() + spread * _over_neighbours(counts).ravel(), n)


def _over_neighbours(counts: np.ndarray) -> np.ndarray:
    """The counts (rows, columns), each shared evenly with its neighbours, corners too."""
    rows, columns = counts.shape
    inside = np.pad(np.ones(counts.shape), 1)
    shifts = [(i, j) for i in range(3) for j in range(3)]
    cells = sum(inside[i : i + rows, j : j + columns] for i, j in shifts)
    padded = np.pad(counts / cells, 1)
    return np.asarray(sum(padded[i : i + rows, j : j + columns] for i, j in shifts))
