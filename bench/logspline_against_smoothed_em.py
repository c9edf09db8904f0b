"""Claim: log-splines are closer to the truth than EM with smoothing (EMS), the published estimator
for numeric reports.

Wasserstein-1 distance (in shares of the domain's length) of LogSpline() and SmoothedEM() from the
truth, on the same draws: 20 runs for each shape, n, epsilon, mechanism and number of bins, 1024
report cells. A run is the histogram of n reports drawn straight from the channel, of people drawn
independently from the shape on the bins. The bar: LogSpline's mean is at most EMS's in 80 % of
cells and nowhere above 1.15 times it. SmoothedEM stops as published (1e-3 nats). MaximumLikelihood,
on the first 5 runs, is there for context.

The shapes judged on are not those developed on, which were: Student-t (3 degrees of freedom),
triangle, two unequal blocks, sawtooth, three spikes, Weibull, Weibull clipped at the upper limit,
normal clipped at the lower, Laplace, gamma. With WARNER_DATA naming the data folder, real columns
are judged too: pay in Chicago and San Francisco, New York taxi trips' hour and miles, the histogram
of a column being the truth.

From few to many people (500, 2000 and 20,000, epsilon .5, 1 and 2, square wave, 256 bins) the bar is
on 15 data sets and 10 runs, the same reports for both: the geometric mean over the cells of the
ratio of mean distances is at most .90, over all cells and over those of at most 2000 people and
epsilon up to 1, and no ratio is above 1.10 by more than two of its standard errors. To the shapes
above, two are added in which 60 % of people round to every fifth or tenth value; the real columns
are those above, and Adult's age and weekly hours. With WARNER_PEOPLE=few only these are judged. Each
cell is one line of bench/results/numbers_of_few_people.jsonl. Cells that are there are not done again.
What concerns few people was developed on other shapes: uniform, triangle, Student-t, Weibull,
Laplace, two bells, two blocks, spikes with and without a smooth part, a normal and a Weibull shape
that were rounded, and a spike at 0 with a gamma shape. WARNER_PEOPLE=made judges on these instead,
and keeps nothing.

The bar is met over all cells, and missed with few people: 0.98 instead of .90. docs/estimators.md
lists what was tried there without success: smoothed EM on other cells, averages with it, and exact
posterior means and medians of a scale mixture of penalties, also with atoms at the ends and heaps.
"""

from __future__ import annotations

import json
import multiprocessing
import os
from collections.abc import Callable
from itertools import product
from multiprocessing.pool import Pool
from pathlib import Path
from typing import Any

import numpy as np

from _data import rows
from _measure import SEED, claim
from warner import Interval, LogSpline, MaximumLikelihood, SquareWave
from warner.estimators.base import LikelihoodData
from warner.estimators.literature import SmoothedEM
from warner.mechanisms import Piecewise
from warner.metrics import wasserstein1

RUNS, CONTEXT = 20, 5
SIZES, EPSILONS, BINS = (2_000, 20_000, 200_000), (0.5, 1.0, 2.0), (256, 1024)
MAKERS = {"SquareWave": SquareWave, "Piecewise": Piecewise}
ATMOST, SHARE = 1.15, 0.8
FEW_SIZES, FEW_EPSILONS, FEW_BINS, FEW_RUNS = (500, 2_000, 20_000), (0.5, 1.0, 2.0), 256, 10
FEW_MEAN, FEW_ATMOST = 0.90, 1.10
FILE = Path(__file__).parent / "results" / "numbers_of_few_people.jsonl"
# (column of Adult, lowest and highest value)
FEW_COLUMNS = {"adult age": ("age", 17, 90), "adult hours": ("hours_per_week", 1, 99)}
# (file, column, lower and upper limit, beyond which values are clipped)
COLUMNS = {
    "chicago pay": ("chicago_salaries", "annualized_pay", 0.0, 200_000.0),
    "san francisco pay": ("sf_totalpay_standardized", "totalpay_standardized", -2.0, 4.0),
    "taxi time of day": ("nyc_green_taxi_2022_01", "pickup_sec", 0.0, 86_400.0),
    "taxi miles": ("nyc_green_taxi_2022_01", "trip_miles", 0.0, 15.0),
}


def _of(cdf: Callable[[np.ndarray], np.ndarray], bins: int) -> np.ndarray:
    """Shares of bins on [0, 1]; what lies beyond is clipped to the ends."""
    at = cdf(np.linspace(0, 1, bins + 1))
    at[0], at[-1] = 0.0, 1.0
    return np.diff(at)


def shapes(bins: int) -> dict[str, np.ndarray]:
    """The distributions judged on."""
    from scipy import stats

    bells = [(0.12, 0.01), (0.35, 0.006), (0.6, 0.012), (0.88, 0.008)]
    found = {
        "normal": _of(stats.norm(0.5, 0.12).cdf, bins),
        "beta(2, 5)": _of(stats.beta(2, 5).cdf, bins),
        "log-normal, clipped": _of(stats.lognorm(0.9, scale=0.45).cdf, bins),
        "two bells": 0.6 * _of(stats.norm(0.3, 0.07).cdf, bins)
        + 0.4 * _of(stats.norm(0.7, 0.1).cdf, bins),
        "uniform block": _of(stats.uniform(0.3, 0.35).cdf, bins),
        "four narrow spikes": np.mean([_of(stats.norm(m, s).cdf, bins) for m, s in bells], axis=0),
        "exponential": _of(stats.truncexpon(6, scale=1 / 6).cdf, bins),
    }
    return found | columns(bins)


def few_shapes(bins: int) -> dict[str, np.ndarray]:
    """The distributions judged on with few people: those of :func:`shapes`, and rounded values."""
    found = shapes(bins)
    found["beta(2, 5), rounded to 5"] = _rounded(found["beta(2, 5)"], 5, 0.6)
    found["two bells, rounded to 10"] = _rounded(found["two bells"], 10, 0.6)
    for name, (column, low, high) in FEW_COLUMNS.items():
        if (table := rows("adult.csv.gz")) is not None:
            values = np.array([int(line[column]) for line in table]) - low
            found[name] = np.bincount(values, minlength=high - low + 1) / len(values)
    return found


def made_up_shapes(bins: int) -> dict[str, np.ndarray]:
    """The distributions on which the estimate of few people was developed."""
    from scipy import stats

    bells = [(0.2, 0.01), (0.45, 0.008), (0.8, 0.01)]
    spikes = np.mean([_of(stats.norm(m, s).cdf, bins) for m, s in bells], axis=0)
    blocks = 0.7 * _of(stats.uniform(0.1, 0.2).cdf, bins)
    weibull = _of(stats.weibull_min(1.5, scale=0.4).cdf, bins)
    at_zero = np.zeros(bins)
    at_zero[0] = 1.0
    return {
        "uniform": np.full(bins, 1 / bins),
        "triangle": _of(stats.triang(0.3).cdf, bins),
        "Student-t": _of(stats.t(3, 0.5, 0.08).cdf, bins),
        "Weibull": weibull,
        "Laplace": _of(stats.laplace(0.4, 0.1).cdf, bins),
        "bells": 0.5 * _of(stats.norm(0.25, 0.05).cdf, bins)
        + 0.5 * _of(stats.norm(0.6, 0.12).cdf, bins),
        "two blocks": blocks + 0.3 * _of(stats.uniform(0.5, 0.3).cdf, bins),
        "spikes": spikes,
        "spikes on a bell": 0.5 * spikes + 0.5 * _of(stats.norm(0.5, 0.2).cdf, bins),
        "normal, rounded to 8": _rounded(_of(stats.norm(0.45, 0.15).cdf, bins), 8, 0.6),
        "Weibull, rounded to 5": _rounded(weibull, 5, 0.6),
        "gamma and zeros": 0.3 * at_zero + 0.7 * _of(stats.gamma(2, scale=0.12).cdf, bins),
    }


def _rounded(shape: np.ndarray, step: int, share: float) -> np.ndarray:
    """The shape in which a share of the people gives the nearest multiple of ``step``."""
    out, size = shape * (1 - share), len(shape)
    nearest = np.minimum((np.arange(size) + step // 2) // step, (size - 1) // step) * step
    np.add.at(out, nearest, share * shape)
    return out


def columns(bins: int) -> dict[str, np.ndarray]:
    """Histograms of real columns, where there are any."""
    found: dict[str, np.ndarray] = {}
    for name, (file, column, low, high) in COLUMNS.items():
        table = rows(f"{file}.csv.gz")
        if table is None:
            return {}
        values = [float(line[column]) for line in table if line[column]]
        domain = Interval(low, high, bins, clip=True)
        found[name] = np.bincount(domain.encode(np.array(values)), minlength=bins) / len(values)
    return found


Cell = tuple[str, str, int, float, int]
Table = dict[Cell, tuple[list[float], list[float]]]  # mean distances and seconds, see judge


def judge(job: tuple[Cell, np.ndarray]) -> tuple[Cell, list[float], list[float]]:
    """Mean distances of EMS, LogSpline and, over the first runs, of EMS and maximum likelihood;
    mean seconds of the three.
    """
    (shape, maker, n, epsilon, bins), truth = job
    mechanism = MAKERS[maker](Interval(0, 1, bins), epsilon)
    channel = mechanism.channel()
    rng = np.random.default_rng(
        [SEED, n, int(10 * epsilon), bins, *shape.encode(), *maker.encode()]
    )
    rows, seconds = [], []
    for run in range(RUNS):
        data = LikelihoodData(channel, channel.simulate(truth, n, rng), n, mechanism.domain)
        methods = [SmoothedEM(), LogSpline()] + ([MaximumLikelihood(1e-6)] if run < CONTEXT else [])
        fits = [method.fit(data) for method in methods]
        distances = [wasserstein1(fit.probabilities, truth, 1 / bins) for fit in fits]
        rows.append(
            distances[:2] + ([distances[0], distances[2]] if run < CONTEXT else [np.nan] * 2)
        )
        seconds.append([fit.seconds or 0.0 for fit in fits] + ([] if run < CONTEXT else [np.nan]))
    return job[0], np.nanmean(rows, axis=0).tolist(), np.nanmean(seconds, axis=0).tolist()


def main() -> None:
    """A table for each shape, and the verdicts."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # for the processes started here
    people = os.environ.get("WARNER_PEOPLE", "")
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        if not people:
            _many(pool)
        _few(pool, people == "made")


def _many(pool: Pool) -> None:
    truths = {bins: shapes(bins) for bins in BINS}
    cells = [
        (s, m, n, e, b) for s, m, b, n, e in product(truths[BINS[0]], MAKERS, BINS, SIZES, EPSILONS)
    ]
    jobs = [(cell, truths[cell[4]][cell[0]]) for cell in cells]
    table: Table = {}
    for cell, distances, seconds in pool.imap(judge, jobs, chunksize=6):
        table[cell] = distances, seconds
        if len(table) % (len(MAKERS) * len(BINS) * len(SIZES) * len(EPSILONS)) == 0:
            _print(cell[0], table)
    _verdict("synthetic shapes", [c for c in cells if c[0] not in COLUMNS], table, ATMOST, SHARE)
    if os.environ.get("WARNER_DATA"):
        _verdict("real columns", [c for c in cells if c[0] in COLUMNS], table, ATMOST, SHARE)


def judge_few(job: tuple[Cell, np.ndarray]) -> dict[str, Any]:
    """The distances of EMS and LogSpline in each run, and mean seconds."""
    (shape, maker, n, epsilon, bins), truth = job
    mechanism = MAKERS[maker](Interval(0, 1, bins), epsilon)
    channel = mechanism.channel()
    rng = np.random.default_rng([SEED, n, int(10 * epsilon), bins, *shape.encode(), 1])
    distances: dict[str, list[float]] = {"ems": [], "spline": []}
    seconds = {"ems": 0.0, "spline": 0.0}
    for _ in range(FEW_RUNS):
        data = LikelihoodData(channel, channel.simulate(truth, n, rng), n, mechanism.domain)
        for name, method in (("ems", SmoothedEM()), ("spline", LogSpline())):
            fit = method.fit(data)
            distances[name].append(round(wasserstein1(fit.probabilities, truth, 1 / bins), 7))
            seconds[name] += (fit.seconds or 0.0) / FEW_RUNS
    return {"cell": list(job[0]), **distances, "seconds": seconds}


def ratio_and_error(line: dict[str, Any]) -> tuple[float, float]:
    """The ratio of the mean distances of a cell, and its standard error."""
    ems, spline = np.array(line["ems"]), np.array(line["spline"])
    ratio = spline.mean() / ems.mean()
    return ratio, float((spline - ratio * ems).std(ddof=1) / np.sqrt(ems.size) / ems.mean())


def _few(pool: Pool, made: bool) -> None:
    truths = made_up_shapes(FEW_BINS) if made else few_shapes(FEW_BINS)
    cells: list[Cell] = [
        (s, "SquareWave", n, e, len(truths[s]))
        for s, n, e in product(truths, FEW_SIZES, FEW_EPSILONS)
    ]
    kept = FILE.read_text().splitlines() if FILE.exists() and not made else []
    done = {tuple(line["cell"]): line for line in map(json.loads, kept)}
    jobs = [(cell, truths[cell[0]]) for cell in cells if cell not in done]
    for line in pool.imap(judge_few, jobs):
        done[tuple(line["cell"])] = line
        if not made:
            with FILE.open("a") as file:
                file.write(json.dumps(line) + "\n")
    print("mean W1 of LogSpline as a multiple of EMS's (standard error)")
    for shape in truths:
        found = [ratio_and_error(done[cell]) for cell in cells if cell[0] == shape]
        print(f"  {shape:<26}" + "  ".join(f"{r:.3f} ({e:.3f})" for r, e in found))
    settings = ", ".join(f"n {n}, eps {e}" for n, e in product(FEW_SIZES, FEW_EPSILONS))
    print(f"  ({settings})")
    ratios, errors = np.array([ratio_and_error(done[cell]) for cell in cells]).T
    for n, epsilon in product(FEW_SIZES, FEW_EPSILONS):
        part = [r for r, cell in zip(ratios, cells, strict=True) if cell[2:4] == (n, epsilon)]
        print(f"  n {n}, eps {epsilon}: geometric mean {np.exp(np.log(part).mean()):.3f}")
    few = np.array([cell[2] <= 2_000 and cell[3] <= 1 for cell in cells])
    for name, some in (("all cells", ~few | few), ("at most 2000 people, epsilon up to 1", few)):
        mean = float(np.exp(np.log(ratios[some]).mean()))
        text = f"{name}: geometric mean over {len(truths)} data sets at most {FEW_MEAN}"
        claim(text, mean <= FEW_MEAN, f"{mean:.3f} of {some.sum()} cells")
    above = (ratios - FEW_ATMOST) / errors
    worst = int(above.argmax())
    claim(
        f"no cell above {FEW_ATMOST} by more than two standard errors",
        bool(above.max() <= 2),
        f"{ratios[worst]:.3f} ({errors[worst]:.3f}) at {cells[worst]}",
    )


def _print(shape: str, table: Table) -> None:
    print(
        f"{shape}: mean W1 of LogSpline as a multiple of EMS's (EMS's own x 1000; maximum likelihood as a multiple of EMS's)"
    )
    print("  " + " " * 24 + "".join(f"n {n:>7,} eps {e:<9}" for n, e in product(SIZES, EPSILONS)))
    for maker, bins in product(MAKERS, BINS):
        line = []
        for n, epsilon in product(SIZES, EPSILONS):
            ems, spline, first, likelihood = table[shape, maker, n, epsilon, bins][0]
            line.append(f"{spline / ems:5.2f} ({ems * 1e3:5.1f}; {likelihood / first:4.2f})  ")
        times = (
            np.mean(
                [table[shape, maker, n, e, bins][1] for n, e in product(SIZES, EPSILONS)], axis=0
            )
            * 1e3
        )
        print(
            f"  {maker:<11}{bins:>5} bins  {' '.join(line)} ms: EMS {times[0]:.0f}, spline {times[1]:.0f}, likelihood {times[2]:.0f}",
            flush=True,
        )


def _verdict(name: str, cells: list[Cell], table: Table, atmost: float, share: float) -> None:
    ratios = {cell: table[cell][0][1] / table[cell][0][0] for cell in cells}
    values = np.array(list(ratios.values()))
    for cell, ratio in sorted(ratios.items(), key=lambda item: -item[1]):
        if ratio > atmost:
            print(f"  above {atmost}: {ratio:.2f} {cell}")
    print(f"{name}: geometric mean of the ratio {np.exp(np.log(values).mean()):.3f}")
    good = float((values <= 1).mean())
    claim(
        f"{name}: no farther from the truth than EMS in {share:.0%} of cells",
        good >= share,
        f"{good:.0%} of {len(cells)}",
    )
    worst = max(ratios, key=lambda cell: ratios[cell])
    claim(
        f"{name}: nowhere above {atmost} times EMS's distance",
        values.max() <= atmost,
        f"{values.max():.2f} at {worst}",
    )


if __name__ == "__main__":
    main()
