"""The people of P3: numbers on [-1, 1], and counts of items.

P3's S-MN is made from its two normal laws. San Francisco's compensations (SFC) and the tax
statistics (Income) come from the data folder; without it they are made with a similar shape. The
people are fixed, as in P3, and their reports are drawn anew in every run.
"""

from __future__ import annotations

import numpy as np

from papers.data_sets import DataFolder
from papers.measures import People
from warner.domains import Integers, Interval

BINS = 1024  # [P3 sec VI-A]
SFC, INCOME = "SFC", "Income"
PAY, TAX = "sf_totalpay_standardized.csv.gz", "irs_soi_2013_zip.csv.gz"
HISTOGRAMS = "mr_paper_histograms.csv.gz"
_PEOPLE = {SFC: 43_386, INCOME: 149_762}
_CAP = 200_000.0  # of P3's code for Income, in thousand dollars
_ITEMS = {SFC: ("sfc_union", 60, 39_126), INCOME: ("income_olh", 222, 333_426)}
_SEED = 1


def apportioned(weights: np.ndarray, n: int) -> np.ndarray:
    """(K,) whole numbers in proportion to the weights that add up to n: largest remainders.

    >>> apportioned(np.array([1.0, 1.0, 2.0]), 10).tolist()
    [3, 2, 5]
    """
    exact = weights / weights.sum() * n
    counts: np.ndarray = np.floor(exact).astype(np.int64)
    last = np.argsort(counts - exact, kind="stable")[: n - int(counts.sum())]
    counts[last] += 1
    return counts


# Shares, means and deviations. P3's code passes sigma^2 = 0.35^2 where a deviation is meant.
NORMALS = {
    "S-MN": ((0.6, 0.7, 0.2), (0.4, 0.2, 0.1)),
    "S-MN of the code": ((0.6, 0.712, 0.35**2), (0.4, 0.4, 0.35**2)),
}


def two_normals(bins: int, name: str = "S-MN") -> np.ndarray:
    """(bins,) S-MN on [-1, 1], 0.6 N(0.7, 0.2^2) + 0.4 N(0.2, 0.1^2), at the middles of bins.

    Args:
        bins: the number of bins.
        name: ``"S-MN"`` as P3's text has it, or ``"S-MN of the code"``.
    """
    x = (2 * np.arange(bins) + 1) / bins - 1
    parts = [
        share * np.exp(-(((x - mean) / sd) ** 2) / 2) / sd for share, mean, sd in NORMALS[name]
    ]
    return np.asarray(sum(parts))


def numbers(name: str, n: int | None, data: DataFolder, bins: int = BINS) -> People:
    """People with a number on [-1, 1].

    Args:
        name: ``"S-MN"``, ``"S-MN of the code"``, ``"SFC"`` or ``"Income"``.
        n: the number of people; None for that of the paper or of the data.
        data: the data sets.
        bins: the number of bins.
    """
    if name in _PEOPLE:
        values = _pay(data) if name == SFC else _income(data)
        low, high = values.min(), values.max()
        weights = np.histogram(2 * (values - low) / (high - low) - 1, bins, (-1, 1))[0] + 0.0
        n = _PEOPLE[name] if n is None else n
    else:
        weights = two_normals(bins, name)
    assert n is not None
    return People(Interval(-1, 1, bins), apportioned(weights, n))


def _pay(data: DataFolder) -> np.ndarray:
    """The pay of San Francisco's employees, up to an affine map."""
    found = data.columns(PAY, "totalpay_standardized")
    if found is not None:
        return found["totalpay_standardized"]
    rng = np.random.default_rng(_SEED)
    return np.asarray(np.clip(rng.lognormal(11.3, 0.45, _PEOPLE[SFC]), 2e4, 3.5e5))


def _income(data: DataFolder) -> np.ndarray:
    """Total incomes above 0 of ZIP codes and size classes, in thousand dollars.

    P3's code replaces those above 200,000 by random numbers between 0 and half of that.
    """
    rng = np.random.default_rng(_SEED)
    found = data.columns(TAX, "A02650")
    if found is None:
        values = rng.lognormal(9.3, 1.7, _PEOPLE[INCOME])
    else:
        values = found["A02650"][found["A02650"] > 0]
    return np.where(values > _CAP, rng.uniform(0, _CAP / 2, values.size), values)


def items(name: str, data: DataFolder) -> People:
    """People with an item, in an order that says nothing of its frequency.

    Args:
        name: ``"SFC"`` (60 items) or ``"Income"`` (222), the histograms in the code of P3;
            ``"S-MN"`` (100 bins, 5,000 people); ``"uniform"`` (100, 50,000 people).
        data: the data sets.
    """
    if name in _ITEMS:
        histogram, size, n = _ITEMS[name]
        table = data.table(HISTOGRAMS)
        if table is None:
            counts = apportioned(1 / np.arange(1, size + 1) ** 1.2, n)
        else:
            rows = zip(table["histogram"], table["count"], strict=True)
            counts = np.array([int(count) for each, count in rows if each == histogram])
        counts = np.random.default_rng(_SEED).permutation(counts)
    elif name == "S-MN":
        counts = apportioned(two_normals(100), 5_000)
    else:
        counts = np.full(100, 500)
    return People(Integers(0, counts.size - 1), counts)
