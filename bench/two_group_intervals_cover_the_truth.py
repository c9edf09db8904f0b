"""Claim: intervals of two groups and of lists cover the truth, also where nobody carries it.

Surveys of 200 and 2,000 people, half in each group, whose true share of "yes" is 0, .02 or .3, with
and without cheaters, liars or rare unrelated answers. A cell is 1,000 surveys (standard error of a
coverage of 95 %: .7 %). The claim: each covers in at least 93.6 %, and in at most 98 % at a share of
.3. Each line of bench/results/two_groups.jsonl is a cell; cells that are there are not done again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from statistics import NormalDist

import numpy as np

from _measure import SEED, claim
from warner import designs
from warner.designs import LatentClasses
from warner.designs.list_experiment import METHODS

OUT = Path(__file__).parent / "results" / "two_groups.jsonl"
RUNS, LEVEL = 1000, 0.95
SHARES, PEOPLE = (0.0, 0.02, 0.3), (200, 2000)
CHEATING = designs.Cheating("1/4", "3/4")
CARDS = designs.SymmetricCheating("1/2", "1/10", "1/10", "1/2")
DETECTOR = designs.StochasticLieDetector("1/6", "5/6")
UNRELATED = designs.UnrelatedUnknown("7/10", "1/5")
CROSSWISE = designs.ExtendedCrosswise("1/4")
LIST = designs.ListExperiment(4)


def cells(share: float) -> Iterator[tuple[str, LatentClasses, list[float], str]]:
    """A name, the design, the shares of its classes, and the share that is asked for."""
    yes, no = share, 1 - share
    for gamma in (0.0, 0.05, 0.2):
        classes = [no - gamma, yes, gamma]
        yield f"cheating, {gamma:g} cheat", CHEATING, classes, "yes"
        yield f"cheating, {gamma:g} cheat: cheats", CHEATING, classes, "cheats"
    yield "symmetric cheating, 0.1 cheat", CARDS, [no - 0.1, yes, 0.1], "yes"
    for honest in (1.0, 0.8, 0.5):
        classes = [no, yes * honest, yes * (1 - honest)]
        yield f"lie detector, {honest:g} honest", DETECTOR, classes, "yes"
    yield "lie detector, 0.8 honest: honest", DETECTOR, [no, yes * 0.8, yes * 0.2], "honest"
    for other in (0.02, 0.2, 0.6):
        classes = [no * (1 - other), no * other, yes * (1 - other), yes * other]
        yield f"unrelated, {other:g} yes", UNRELATED, classes, "yes"
    yield "extended crosswise", CROSSWISE, [no, yes], "yes"


def coverage(
    design: LatentClasses, classes: list[float], name: str, n: int, rng: np.random.Generator
) -> float:
    """The part of the surveys whose interval holds the true share."""
    theta = np.array(classes)
    counted, among = (
        np.array([float(each in names) for each in design.classes])
        for names in (design.shares[name].classes, design.shares[name].among or design.classes)
    )
    truth = float(counted @ theta / (among @ theta))
    hits = 0
    for _ in range(RUNS):
        counts = [
            dict(zip(group.words, rng.multinomial(n // 2, group.matrix @ theta), strict=True))
            for group in design.groups
        ]
        hits += design.estimate(counts).accepts(name, truth, LEVEL)
    return hits / RUNS


def coverage_of_list(share: float, method: str, n: int, rng: np.random.Generator) -> float:
    """The same of a list experiment."""
    quantile = NormalDist().inv_cdf((1 + LEVEL) / 2) ** 2
    hits = 0
    for _ in range(RUNS):
        items = rng.binomial(LIST.items, 0.45, n)
        items[n // 2 :] += rng.random(n - n // 2) < share
        counts = [
            dict(enumerate(np.bincount(group, minlength=LIST.items + 1 + i).tolist()))
            for i, group in enumerate(np.split(items, [n // 2]))
        ]
        result = LIST.estimate(counts, method)
        if result.maximum is None:
            low, high = result["yes"].interval(LEVEL)
            hits += low <= share <= high
        else:
            hits += result.maximum.lacking(0, share) <= quantile
    return hits / RUNS


def main() -> None:
    """The coverage of all cells, and the claim."""
    OUT.touch()
    rows = [json.loads(line) for line in OUT.read_text().splitlines()]
    done = {(row["cell"], row["share"], row["n"]) for row in rows}
    for share, n, method in product(SHARES, PEOPLE, METHODS[:2]):
        cell = f"list, {method}"
        if (cell, share, n) not in done:
            rng = np.random.default_rng([SEED, n, round(100 * share)])
            covered = coverage_of_list(share, method, n, rng)
            rows.append({"cell": cell, "share": share, "n": n, "covered": covered})
            with OUT.open("a") as file:
                file.write(json.dumps(rows[-1]) + "\n")
    for share in SHARES:
        for cell, design, classes, name in cells(share):
            for n in PEOPLE:
                if (cell, share, n) in done or (name == "honest" and share == 0):
                    continue
                rng = np.random.default_rng([SEED, n, round(100 * share)])
                covered = coverage(design, classes, name, n, rng)
                rows.append({"cell": cell, "share": share, "n": n, "covered": covered})
                with OUT.open("a") as file:
                    file.write(json.dumps(rows[-1]) + "\n")
    for row in rows:
        print(f"{row['covered']:.3f}  {row['share']:<4g}  {row['n']:5,d}  {row['cell']}")
    least = min(row["covered"] for row in rows)
    most = max(row["covered"] for row in rows if row["share"] == SHARES[-1])
    claim(
        "intervals of two groups and lists cover at least 93.6 % of truths, and at most 98 % at .3",
        least >= 0.936 and most <= 0.98,
        f"{least:.3f} at least, {most:.3f} at most",
    )


if __name__ == "__main__":
    main()
