"""The league table: every estimator of the papers and ours, on synthetic and real distributions,
same draws for all.

    {k-RR, OUE, OLH with 1024 seeds} x data sets x n in {10^3, 10^4, 10^5, all} x epsilon in {0.5, 1, 2, 4}, 30 runs

Reports are drawn from the channel, as tallies: with a named n its people are drawn from the data
set's shares, which are the truth; with "all" they are the data set's own, whose shares are the
truth. OUE is known by its bit sums. Beyond ``HASHED`` values methods that take seconds a fit are
left out (``SLOW``): P1's bootstrap, EM(auto) of OUE, and of OLH all that take many steps on whole
reports. Mean squared and mean absolute error are over values (METHODS 6b), with total variation and
Jensen-Shannon divergence.

Every cell is one line of bench/results/accuracy.jsonl; cells that are there are not done again, so
the script may be stopped at any time. ``--slice I/N`` does every N-th cell from the I-th; ``--runs
R`` and ``--small`` make a quick look. ``--synthetic`` keeps to the data sets that constants may be
chosen on, ``--real`` to those that judge them. ``--methods "EB,EB median"`` does the named columns
of the cells that are there anew, on the same draws, and writes them over the old (not while another
run adds cells). Then the table is printed: for every method the geometric mean over cells of its
error over the least of the cell, the share of cells within 10 % of that, and the worst. Uniform
data, on which the uniform distribution is the truth, are left out of these ratios, and so are the
two baselines. Last come the bars of the default, ``EB``, against the best of all other methods.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import sys
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from multiprocessing import Pool
from pathlib import Path
from time import perf_counter

import numpy as np

from _data import rows
from _measure import SEED, claim
from warner import (
    Categorical,
    EmpiricalBayes,
    ExpectationMaximization,
    Inversion,
    LocalHashing,
    MaximumLikelihood,
    RandomizedResponse,
    UnaryEncoding,
)
from warner._core.atomic_files import write_whole
from warner._core.progress import steps
from warner.app.terminal import progress_shown
from warner.channels import HashPool
from warner.domains import Domain
from warner.estimators import (
    Estimator,
    Observed,
    Uniform,
)
from warner.estimators.base import LikelihoodData
from warner.estimators.literature import BiasCorrection, MixtureReduction, WienerFilter
from warner.mechanisms import Mechanism
from warner.metrics import jensen_shannon, mean_absolute_error, mean_squared_error, total_variation

MAKERS: dict[str, Callable[[Domain, float], Mechanism]] = {
    "GRR": RandomizedResponse,
    "OUE": lambda d, e: UnaryEncoding(d, e, variant="oue"),
    "OLH": lambda d, e: LocalHashing(d, e, seeds=1024),
}
PEOPLE: tuple[int | None, ...] = (10**3, 10**4, 10**5, None)
EPSILONS = (0.5, 1.0, 2.0, 4.0)
RUNS = 30
# values up to which every method runs, on hashes of at most 10^4 people; beyond, not those that
# take seconds a fit there (SLOW)
HASHED = 100
METHODS: dict[str, Estimator] = {
    "inversion": Inversion(),
    "INV-N": Inversion("normalize"),
    "Norm-Sub": Inversion("project"),
    "Base-Cut": Inversion("base-cut"),
    "emp+thr": Inversion("threshold"),
    "MLE": MaximumLikelihood(1e-7),
    "EM(100)": ExpectationMaximization(100),
    "EM(1000)": ExpectationMaximization(1000),
    "EM(auto)": ExpectationMaximization("auto"),
    "MR": MixtureReduction(),
    "MR exact": MixtureReduction("mle"),
    "IIW": WienerFilter(),
    # The stored columns are of P1's equation 24 as printed, alpha of the bootstrap from 0 to 90.
    "P1": BiasCorrection(formula="printed"),
    "P1 bootstrap": BiasCorrection(alpha="bootstrap", formula="printed"),
    "EB": EmpiricalBayes(),
    "EB median": EmpiricalBayes("absolute"),
    "uniform": Uniform(),
    "ObfDat": Observed(),
}
SLOW = {
    "GRR": ("P1 bootstrap",),
    "OUE": ("P1 bootstrap", "EM(auto)"),
    "OLH": ("P1 bootstrap", "EM(auto)", "EM(1000)", "MR", "MR exact", "P1"),
}
BEYOND = {maker: [m for m in METHODS if m not in slow] for maker, slow in SLOW.items()}
BASELINES = ("uniform", "ObfDat")
SYNTHETIC = ("Zipf", "Dirichlet", "uniform", "normal-shaped", "log-normal")
LOSSES = ("MSE", "MAE", "TV", "JS", "top")
FILE = Path(__file__).parent / "results" / "accuracy.jsonl"


@cache
def data_sets() -> dict[str, np.ndarray]:
    """Counts of people per value."""
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
    found = {name: np.rint(300_000 * v / v.sum()).astype(np.int64) for name, v in shapes.items()}
    if (adult := rows("adult.csv.gz")) is not None:
        pairs = [f"{row['education']}, {row['occupation']}" for row in adult]
        found["Adult education x occupation"] = np.unique(pairs, return_counts=True)[1]
    if (retail := rows("retail_item_counts.csv.gz")) is not None:
        found["retail items"] = np.sort([int(row["baskets"]) for row in retail])[::-1][
            :1000
        ].astype(np.int64)
    if (papers := rows("mr_paper_histograms.csv.gz")) is not None:
        for name in ("sfc_union", "income_olh", "income_grr"):
            found[name] = np.array(
                [int(row["count"]) for row in papers if row["histogram"] == name]
            )
    if (tokyo := rows("foursquare_tokyo_grid20x20.csv.gz")) is not None:
        found["Tokyo 20 x 20"] = np.array([int(row["checkins"]) for row in tokyo])
    return found


Cell = tuple[str, str, int | None, float]


def cells() -> Iterator[Cell]:
    """Shuffled once and for all: a part of the league is a sample of it."""
    every = list(product(MAKERS, data_sets(), PEOPLE, EPSILONS))
    yield from (every[i] for i in np.random.default_rng(SEED).permutation(len(every)))


def judge(job: tuple[Cell, int, tuple[str, ...]]) -> dict[str, object]:
    """Mean losses and seconds of every method in one cell, or of those named. Draws depend on the
    cell alone: no method draws from ``rng``.
    """
    (maker, name, n, epsilon), runs, named = job
    counts = data_sets()[name]
    domain = Categorical([str(i) for i in range(len(counts))])
    channel = MAKERS[maker](domain, epsilon).channel()
    people = int(counts.sum()) if n is None else n
    truth = counts / counts.sum()
    top = int(np.argmax(truth))
    law = channel.average_support_law() if isinstance(channel, HashPool) else channel.support_law()
    assert law is not None
    supported = float(law.q[top] + law.gap[top] * truth[top])
    noise = math.sqrt(supported * (1 - supported) / people) / float(law.gap[top])
    rng = np.random.default_rng(
        [SEED, sum(map(ord, maker + name)), 0 if n is None else n, round(10 * epsilon)]
    )
    every = len(counts) <= HASHED and (maker != "OLH" or people <= 10**4)
    chosen = {
        m: METHODS[m] for m in (METHODS if every else BEYOND[maker]) if not named or m in named
    }
    losses: dict[str, list[list[float]]] = {m: [] for m in chosen}
    seconds = dict.fromkeys(chosen, 0.0)
    for _ in range(runs):
        w = (
            channel.simulate_from_values(counts, rng)
            if n is None
            else channel.simulate(truth, n, rng)
        )
        data = LikelihoodData(channel, w, people, domain)
        for method, estimator in chosen.items():
            start = perf_counter()
            theta = estimator.fit(data).shares
            seconds[method] += (perf_counter() - start) / runs
            shares = np.maximum(theta, 0.0)
            divergence = (
                jensen_shannon(truth, shares / shares.sum()) if shares.sum() > 0 else math.log(2)
            )
            losses[method].append(
                [
                    mean_squared_error(truth, theta),
                    mean_absolute_error(truth, theta),
                    total_variation(truth, theta),
                    divergence,
                    (theta[top] - truth[top]) / noise,
                ]
            )
    table = {
        m: {loss: float(v) for loss, v in zip(LOSSES, np.mean(found, axis=0), strict=True)}
        for m, found in losses.items()
    }
    return {"cell": [maker, name, n, epsilon], "runs": runs, "losses": table, "seconds": seconds}


def table(done: list[dict[str, object]]) -> None:
    """The league: geometric mean of the ratio to the least, share of cells within 10 %, the worst."""
    for loss in ("MSE", "MAE"):
        ratios: dict[str, list[float]] = {}
        for line in done:
            if line["cell"][1] == "uniform":  # type: ignore[index]
                continue
            found = {m: v[loss] for m, v in line["losses"].items() if m not in BASELINES}  # type: ignore[attr-defined]
            least = min(found.values())
            for method, value in found.items():
                ratios.setdefault(method, []).append(value / least)
        print(f"\n{loss}: {len(done)} cells")
        for method, values in sorted(
            ratios.items(), key=lambda item: float(np.mean(np.log(item[1])))
        ):
            v = np.array(values)
            print(
                f"  {method:14} {np.exp(np.log(v).mean()):6.2f}  within 10 % in {(v <= 1.1).mean():4.0%}  worst {v.max():7.2f}  cells {v.size}"
            )


def bars(done: list[dict[str, object]]) -> None:
    """The claims for the default: its squared error in each cell, and its bias of the largest share."""
    ratios, biases = [], []
    for line in done:
        losses = line["losses"]
        if line["cell"][1] == "uniform":  # type: ignore[index]
            continue
        others = [v["MSE"] for m, v in losses.items() if m not in ("EB", *BASELINES)]  # type: ignore[attr-defined]
        ratios.append(losses["EB"]["MSE"] / min(others))  # type: ignore[index]
        if "top" in losses["EB"]:  # type: ignore[index]
            biases.append(abs(losses["EB"]["top"]))  # type: ignore[index]
    if not ratios:
        return
    found, within = np.array(ratios), float(np.mean(np.array(ratios) <= 1.15))
    mean = float(np.exp(-np.log(found).mean()))
    claim(
        "geometric mean of the best other's squared error over the default's >= .97",
        mean >= 0.97,
        f"{mean:.3f}",
    )
    claim(
        "the default within 15 % of the best in 95 % of cells",
        within >= 0.95,
        f"{within:.1%} of {found.size}",
    )
    claim("the default at most 1.25 times the best", found.max() <= 1.25, f"{found.max():.3f}")
    if biases:
        small = float(np.mean(np.array(biases) <= 1))
        claim(
            "bias of the largest share within one standard error in 90 % of cells",
            small >= 0.9,
            f"{small:.1%} of {len(biases)}",
        )


def renew(done: list[dict[str, object]], fresh: dict[str, object]) -> None:
    """The columns of a cell that were done anew, in place of the old."""
    line = next(line for line in done if line["cell"] == fresh["cell"])
    for part in ("losses", "seconds"):
        line[part] = {**line[part], **fresh[part]}  # type: ignore[dict-item]
    save(done)


def save(done: list[dict[str, object]]) -> None:
    """Write the cells that are done: all lines, or the file stays as it was."""
    write_whole(FILE, "".join(json.dumps(line) + "\n" for line in done).encode())


def main() -> None:
    """Do what is left of the slice, or the named columns of what is there, then print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--slice", default="0/1", help="I/N: every N-th cell from the I-th")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--small", action="store_true", help="only n = 1000 and epsilon 1")
    parser.add_argument(
        "--methods", default="", help="columns to do anew in the cells that are there"
    )
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--synthetic", action="store_true", help="only made-up distributions")
    only.add_argument("--real", action="store_true", help="only real ones")
    arguments = parser.parse_args()
    named = tuple(filter(None, arguments.methods.split(",")))
    if wrong := set(named) - set(METHODS):
        parser.error(
            f"--methods: no column is named {', '.join(sorted(wrong))}; there are {', '.join(METHODS)}"
        )

    def wanted(cell: Cell) -> bool:
        small = not arguments.small or (cell[2], cell[3]) == (1000, 1.0)
        return (
            small
            and not (arguments.real and cell[1] in SYNTHETIC)
            and not (arguments.synthetic and cell[1] not in SYNTHETIC)
        )

    first, step = map(int, arguments.slice.split("/"))
    FILE.parent.mkdir(exist_ok=True)
    done = [json.loads(line) for line in FILE.read_text().splitlines()] if FILE.exists() else []
    there = {tuple(line["cell"]): line["runs"] for line in done}
    if named:
        jobs = [
            (cell, runs, named) for cell, runs in list(there.items())[first::step] if wanted(cell)
        ]
    else:
        jobs = [
            (cell, arguments.runs, ())
            for cell in list(cells())[first::step]
            if there.get(cell, 0) < arguments.runs and wanted(cell)
        ]
    processes = min(2, os.cpu_count() or 1)
    # Ctrl-C ends the processes too. This process alone says so.
    with (
        progress_shown(lambda: None),
        Pool(processes, signal.signal, (signal.SIGINT, signal.SIG_DFL)) as pool,
    ):
        for line in steps(pool.imap_unordered(judge, jobs), "cells", len(jobs)):
            if named:
                renew(done, line)
            else:
                done.append(line)
                save(done)
            slow = max(line["seconds"].items(), key=lambda item: item[1])  # type: ignore[attr-defined]
            print(*line["cell"], f"slowest {slow[0]} {slow[1]:.2f} s", flush=True)  # type: ignore[misc]
    shown = [line for line in done if wanted(tuple(line["cell"]))]
    table(shown)
    bars(shown)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        text = f"Interrupted: the cells in {FILE} stand, and the same command does the others."
        print(text, file=sys.stderr)
        sys.exit(130)
