"""Columns of the real data sets, where the folder that holds them is named in WARNER_DATA."""

from __future__ import annotations

import csv
import gzip
import os
from functools import cache
from pathlib import Path

import numpy as np

from _measure import SEED

SHIPPED = Path(__file__).parents[1] / "papers" / "data"


def rows(name: str) -> list[dict[str, str]] | None:
    """The rows of a data set, None where the folder is not named."""
    folder = os.environ.get("WARNER_DATA")
    return None if folder is None else _rows(Path(folder) / name)


def _rows(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt") as file:
        return list(csv.DictReader(file))


def columns(name: str) -> dict[str, np.ndarray] | None:
    """Numeric columns of a data set by name, None where the folder is not named."""
    found = rows(name)
    return (
        None
        if found is None
        else {key: np.array([float(row[key]) for row in found]) for key in found[0]}
    )


@cache
def adult() -> dict[str, np.ndarray]:
    """The columns of Adult that come with the package, as texts."""
    table = _rows(SHIPPED / "adult.csv.gz")
    return {key: np.array([row[key] for row in table]) for key in table[0]}


@cache
def data_sets() -> dict[str, np.ndarray]:
    """Counts of people per label: made-up distributions over 300, then real ones."""
    rng = np.random.default_rng(SEED)
    rank = np.arange(1.0, 301)
    place = (np.arange(300) + 0.5) / 300
    shapes = {
        "Zipf": rank**-1.1,
        "Dirichlet": rng.dirichlet(np.full(300, 0.3)),
        "uniform": np.ones(300),
        "normal-shaped": np.exp(-((place - 0.5) ** 2) / 0.0288),
        "log-normal": np.exp(-((np.log(10 * place) - 0.5) ** 2) / 0.72) / place,
    }
    counts = {name: np.rint(300_000 * v / v.sum()).astype(np.int64) for name, v in shapes.items()}
    pairs = np.char.add(np.char.add(adult()["education"], ", "), adult()["occupation"])
    counts["Adult education x occupation"] = np.unique(pairs, return_counts=True)[1]
    if (retail := rows("retail_item_counts.csv.gz")) is not None:
        baskets = np.sort([int(row["baskets"]) for row in retail])[::-1]
        counts["retail items"] = baskets[:1000].astype(np.int64)
    if (papers := rows("mr_paper_histograms.csv.gz")) is not None:
        for name in ("sfc_union", "income_olh", "income_grr"):
            counts[name] = np.array([int(r["count"]) for r in papers if r["histogram"] == name])
    if (tokyo := rows("foursquare_tokyo_grid20x20.csv.gz")) is not None:
        counts["Tokyo 20 x 20"] = np.array([int(row["checkins"]) for row in tokyo])
    return counts
