"""Places: the default against a smooth distribution over the cells of the grid, and their average.

    default      ``recommended``, expectation maximisation with the number of steps chosen
    log density  the average of penalised maxima of ``_log_density``
    half         the mean of both
    average      0.7 default + 0.3 log density

Total variation (TV) and the earth mover's distance (EMD, in cells) from the truth, on the same
draws of reports. A cell is a map, a mechanism, epsilon per side of a cell, and n. The bar: in each
of both, the mean over runs is at most the default's in 80 % of the cells, and nowhere above 1.1
times it. CPU seconds are on one thread.

Constants were chosen on other maps (two bells, straight streets, a square with holes, a few hot
spots, Zipf's law in chance order) and at other epsilons. The maps here were looked at once: three
bells, a ring road, a coast, spikes on a bell, a rough field, a city with empty cells, and the flat
map. With WARNER_DATA naming the data folder, real ones are judged too: check-ins in San Francisco,
Manhattan and Tokyo, and visits in Tokyo, with blocks of cells added up.

Two other ways were tried on the maps of the choice, and err more. With independent coefficients for
single cells added to the smooth ones, the evidence prefers a few spikes where noise blurs the
cells, up to 2.9 times the default's TV. EM on a dictionary of bells of widths 0, 1, 2 and 4, with
the number of steps chosen, has 1.01 times its TV on the geometric mean, and up to 2.0 times.

The average meets the bar on 56 made-up and 32 real cells of 64 to 144 squares; the log density alone
does not. It is not the default, because of its time: it needs about a hundred factorisations of a
matrix with up to as many rows as squares. On a grid of 24 x 16 it took 3 to 16 s of CPU, with 60 to
200 of the 383 columns, and the default 0.05 to 2.8 s. Of hot spots and streets, fewer columns made
its TV up to 2.6 times the default's. Larger grids were not judged.

Every cell is one line of bench/results/places.jsonl. Cells that are there are not done again, so
the script may be stopped at any time. New cells need the extra ``emd``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from time import process_time
from zlib import crc32

import numpy as np
from scipy.fft import idctn

from _data import columns
from _log_density import log_density
from _measure import SEED, claim
from warner import Grid, PlanarGeometric, RandomizedResponse
from warner.estimators.base import LikelihoodData
from warner.mechanisms import Mechanism, PlanarLaplace
from warner.metrics import earth_movers, total_variation
from warner.results.recommend import recommended

FILE = Path(__file__).parent / "results" / "places.jsonl"
RUNS = 2
MECHANISMS: dict[str, Callable[[Grid, float], Mechanism]] = {
    "planar geometric": PlanarGeometric,
    "planar Laplace": PlanarLaplace,
    "k-RR": RandomizedResponse,
}
BUDGETS = (
    ("planar geometric", 0.3),
    ("planar Laplace", 0.6),
    ("planar geometric", 1.2),
    ("k-RR", 3.0),
)
# Rows, columns and n of made-up maps.
SIZES = ((8, 8, 500), (10, 10, 10_000))
# Real maps: file, rows, columns, column of counts, and the side of the blocks that are added up.
REAL = {
    "San Francisco": ("gowalla_sf_grid24x16", 16, 24, "checkins", 2),
    "Manhattan": ("foursquare_manhattan_grid25x25", 25, 25, "fsq_global_us_checkins", 2),
    "Tokyo": ("foursquare_tokyo_grid20x20", 20, 20, "checkins", 2),
    "central Tokyo": ("peopleflow_tokyo_grid32x32", 32, 32, "visits", 3),
}
REAL_PEOPLE = (500, 20_000)
AVERAGES = {"log density": 1.0, "half": 0.5, "average": 0.3}  # the weight of the log density
ATMOST, SHARE = 1.1, 0.8

Cell = tuple[str, int, int, str, float, int]  # map, rows, columns, mechanism, epsilon, n


def _bell(
    y: np.ndarray, x: np.ndarray, at: tuple[float, float], sd: tuple[float, float], rho: float = 0
) -> np.ndarray:
    a, b = (y - at[0]) / sd[0], (x - at[1]) / sd[1]
    square = (a * a - 2 * rho * a * b + b * b) / (1 - rho**2)
    return np.asarray(np.exp(-square / 2) / (sd[0] * sd[1] * np.sqrt(1 - rho**2)))


def _field(shape: tuple[int, int], length: float, rng: np.random.Generator) -> np.ndarray:
    """A random field with mean 0, variance 1, and this length in shares of the side."""
    i, j = np.mgrid[: shape[0], : shape[1]]
    spectrum = 1 / (1 + (np.pi * length) ** 2 * (i**2 + j**2))
    field = idctn(rng.standard_normal(shape) * spectrum, norm="ortho")
    return np.asarray((field - field.mean()) / field.std())


def made_up(rows: int, count: int) -> dict[str, np.ndarray]:
    """The maps that judge, (rows, count) each, of any sum."""
    rng, shape = np.random.default_rng(77), (rows, count)
    i, j = np.mgrid[:rows, :count]
    y, x = (i + 0.5) / rows, (j + 0.5) / count
    r, width = np.hypot(y - 0.5, x - 0.5), 0.6 / min(shape)
    bells = 0.4 * _bell(y, x, (0.25, 0.65), (0.08, 0.08))
    bells += 0.4 * _bell(y, x, (0.6, 0.35), (0.2, 0.12), 0.6)
    bells += 0.2 * _bell(y, x, (0.8, 0.8), (0.05, 0.1))
    ring = 0.08 + 1.5 * (np.abs(r - 0.33) < width) + 0.4 * np.exp(-r * r / 0.08)
    ring += 1.2 * (np.abs(y - 0.5) < width) * (x > 0.4)
    sea = y + 0.5 * x - 0.62
    spikes = np.zeros(shape)
    spikes.ravel()[rng.choice(spikes.size, 8, replace=False)] = rng.dirichlet(np.full(8, 2.0))
    bell = _bell(y, x, (0.5, 0.5), (0.25, 0.25))
    inhabited = _field(shape, 0.2, rng) > -0.3
    rough = _field(shape, 0.1, rng) + 1.2 * rng.standard_normal(shape)
    return {
        "three bells": bells,
        "ring road": ring,
        "coast": (sea > 0) * np.exp(-2.5 * sea),
        "spikes on a bell": 0.6 * bell / bell.sum() + 0.4 * spikes,
        "rough field": np.exp(1.5 * _field(shape, 0.15, rng)),
        "city": inhabited * np.exp(rough),
        "flat": np.ones(shape),
    }


def real(name: str) -> np.ndarray | None:
    """The counts of a real map; None where the folder of data is not named."""
    file, rows, count, column, side = REAL[name]
    found = columns(f"{file}.csv.gz")
    if found is None:
        return None
    counts = np.zeros(rows * count)
    counts[found["cell"].astype(np.int64)] = found[column]
    high, wide = rows // side, count // side
    kept = counts.reshape(rows, count)[: high * side, : wide * side]
    return np.asarray(kept.reshape(high, side, wide, side).sum(axis=(1, 3)))


def cells() -> Iterator[tuple[Cell, np.ndarray]]:
    """Every cell with its map (rows, columns)."""
    for rows, count, n in SIZES:
        maps = made_up(rows, count)
        for name, (mechanism, epsilon) in product(maps, BUDGETS):
            yield (name, rows, count, mechanism, epsilon, n), maps[name]
    for name, n, (mechanism, epsilon) in product(REAL, REAL_PEOPLE, BUDGETS):
        counts = real(name)
        if counts is not None:
            yield (name, *counts.shape, mechanism, epsilon, n), counts


def judge(cell: Cell, counts: np.ndarray, runs: int) -> dict[str, object]:
    """The mean distances from the truth, and CPU seconds."""
    _, rows, count, name, epsilon, n = cell
    grid, theta = Grid(rows, count), counts.ravel() / counts.sum()
    channel = MECHANISMS[name](grid, epsilon).channel()
    rng = np.random.default_rng([SEED, crc32(repr(cell).encode())])
    method, matrix = recommended(grid, channel), channel.dense()
    tv: dict[str, list[float]] = {each: [] for each in ("default", *AVERAGES)}
    emd: dict[str, list[float]] = {each: [] for each in tv}
    seconds: dict[str, list[float]] = {"default": [], "log density": []}
    for _ in range(runs):
        weights = channel.simulate(theta, n, rng)
        start = process_time()
        found = {"default": method.fit(LikelihoodData(channel, weights, n, grid)).shares}
        between = process_time()
        smooth = log_density(matrix, weights, n, (rows, count))
        seconds["default"].append(between - start)
        seconds["log density"].append(process_time() - between)
        for each, part in AVERAGES.items():
            found[each] = part * smooth + (1 - part) * found["default"]
        for each, shares in found.items():
            shares = shares / shares.sum()
            tv[each].append(total_variation(shares, theta))
            emd[each].append(earth_movers(shares, theta, grid.points))
    means = {
        key: {each: round(float(np.mean(v)), 6) for each, v in part.items()}
        for key, part in (("tv", tv), ("emd", emd), ("seconds", seconds))
    }
    return {"cell": list(cell), "runs": runs, **means}


def verdict(title: str, done: list[dict[str, dict[str, float]]]) -> None:
    """A table of the ratios to the default, and the claims."""
    print(f"{title}: {len(done)} cells, ratios to the default")
    for each in AVERAGES:
        for key in ("tv", "emd"):
            ratios = np.array([line[key][each] / line[key]["default"] for line in done])
            worst = done[int(ratios.argmax())]["cell"]
            print(
                f"  {each:<12}{key:<4} geometric mean {np.exp(np.log(ratios).mean()):.3f}, at most"
                f" 1 in {(ratios <= 1).mean():.0%}, above {ATMOST} in {(ratios > ATMOST).mean():.0%},"
                f" worst {ratios.max():.2f} at {worst}"
            )
            if each == "average":
                claim(
                    f"{title}: the average errs at most as much as the default in {SHARE:.0%}, never above {ATMOST}, {key}",
                    bool((ratios <= 1).mean() >= SHARE and ratios.max() <= ATMOST),
                    f"{(ratios <= 1).mean():.0%}, worst {ratios.max():.2f}",
                )
    for each in ("default", "log density"):
        taken = np.array([line["seconds"][each] for line in done])
        print(f"  CPU seconds of {each}: median {np.median(taken):.3f}, most {taken.max():.2f}")


def main() -> None:
    """Do the cells that are left, then print the tables and the claims."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=RUNS)
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--synthetic", action="store_true", help="only made-up maps")
    only.add_argument("--real", action="store_true", help="only real ones")
    arguments = parser.parse_args()
    FILE.parent.mkdir(exist_ok=True)
    done = [json.loads(line) for line in FILE.read_text().splitlines()] if FILE.exists() else []
    there = {tuple(line["cell"]) for line in done}
    for cell, counts in cells():
        skipped = arguments.synthetic if cell[0] in REAL else arguments.real
        if skipped or cell in there:
            continue
        done.append(judge(cell, counts, arguments.runs))
        with FILE.open("a") as file:
            file.write(json.dumps(done[-1]) + "\n")
        print(*cell, done[-1]["tv"], flush=True)
    for title, is_real in (("made-up maps", False), ("real maps", True)):
        part = [line for line in done if (line["cell"][0] in REAL) is is_real]
        if part:
            verdict(title, part)


if __name__ == "__main__":
    main()
