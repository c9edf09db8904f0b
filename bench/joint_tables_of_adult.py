"""Claim: the maximum of the likelihood never errs more than plain inversion on tables of real
people, and less wherever it leaves the simplex.

Steps of EM from independence err less still over all, but on some table more than inversion.

All two- and three-way tables with at most 300 cells of Adult's categorical attributes and of age in
five bins; n = 32,561 people drawn from each table's shares, every attribute kept with probability
0.5, else uniform (METHODS 9.2). 30 tallies for each table, the same for every method; mean squared
error over that of the inversion. "Outside" are the tables where the inversion left the simplex in
more than half of the tallies. Needs the folder that WARNER_DATA names (adult.csv.gz; with
``--judge`` nltcs.csv.gz and uscensus1990_sample.csv.gz, on which nothing was designed, at other
budgets and numbers of people). ``--all`` adds empirical Bayes and EM from the uniform start,
``--tables`` a line for each table.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np

from _data import rows
from _joint import coded, kept, product, tables
from _measure import SEED, claim
from warner import EmpiricalBayes, ExpectationMaximization, Inversion, MaximumLikelihood
from warner.estimators import Estimator, Independent
from warner.estimators.likelihood_data import LikelihoodData

NAMES = (
    "workclass",
    "education",
    "marital_status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "native_country",
    "income",
)
LARGEST, PEOPLE, RUNS = 300, 32_561, 30
METHODS: dict[str, Estimator] = {
    "inversion": Inversion(),
    "projected": Inversion("project"),
    "maximum likelihood": MaximumLikelihood(),
    "independent": Independent(),
    "em:auto from independence": ExpectationMaximization("auto", start="independent"),
}
if "--all" in sys.argv:
    METHODS |= {"empirical Bayes": EmpiricalBayes(), "em:auto": ExpectationMaximization("auto")}

Table = tuple[tuple[str, ...], list[int], np.ndarray, int, float]


def adult() -> Iterator[Table]:
    """Adult's tables."""
    found = rows("adult.csv.gz")
    assert found is not None
    ages = np.clip(np.array([float(row["age"]) for row in found]) // 20, 0, 4).astype(np.int64)
    columns = coded(found, NAMES) | {"age": (5, ages)}
    for names, sizes, theta in tables(columns, (2, 3), LARGEST):
        yield names, sizes, theta, PEOPLE, 0.5


def others() -> Iterator[Table]:
    """Every seventh table of two other data sets, at other budgets and numbers of people."""
    count = 0
    for file in ("nltcs.csv.gz", "uscensus1990_sample.csv.gz"):
        found = rows(file)
        assert found is not None
        columns = {
            name: column
            for name, column in coded(found, list(found[0])).items()
            if 2 <= column[0] <= 17
        }
        first = dict(list(columns.items())[:14])
        for names, sizes, theta in tables(first, (2, 3), LARGEST):
            count += 1
            if count % 7 == 0:
                yield (
                    names,
                    sizes,
                    theta,
                    (2000, 20_000, 200_000)[count // 7 % 3],
                    (0.3, 0.5, 0.7)[count // 21 % 3],
                )


def errors(table: Table, runs: int, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """Mean squared errors (methods, runs), and the share of tallies whose inversion left the
    simplex.
    """
    names, sizes, theta, n, share = table
    channel, domain = kept(sizes, share), product(names, sizes)
    data = [
        LikelihoodData(channel, channel.simulate(theta, n, rng), n, domain) for _ in range(runs)
    ]
    found = [
        [float(((method.fit(each).shares - theta) ** 2).mean()) for each in data]
        for method in METHODS.values()
    ]
    return np.array(found), float(
        np.mean([(channel.invert(each.weights) < 0).any() for each in data])
    )


def report(name: str, found: list[Table], runs: int) -> tuple[np.ndarray, np.ndarray]:
    """The table of ratios to inversion; ratios (tables, methods) and outside (tables,)."""
    rng = np.random.default_rng(SEED)
    ratios, outside = [], []
    for table in found:
        each, left = errors(table, runs, rng)
        ratios.append(each.mean(axis=1) / each[0].mean())
        outside.append(left > 0.5)
        if "--tables" in sys.argv:
            print(
                f"  {'+'.join(table[0]):<44} n {table[3]:>6} keep {table[4]} "
                + " ".join(f"{r:.3f}" for r in ratios[-1]),
                flush=True,
            )
    array, leaves = np.array(ratios), np.array(outside)
    print(
        f"{name}: {len(found)} tables, {leaves.sum()} where inversion leaves the simplex; error over that of inversion"
    )
    for column, method in enumerate(METHODS):
        r = array[:, column]
        print(
            f"  {method:<26} geometric mean {np.exp(np.log(r).mean()):>7.3f}   at most {r.max():>8.3f}   worse in {np.sum(r > 1):>3}",
            flush=True,
        )
    return array, leaves


def main() -> None:
    """Adult's tables, or with ``--judge`` the others'."""
    if rows("adult.csv.gz") is None:
        print("WARNER_DATA does not name the folder with adult.csv.gz")
        return
    column = list(METHODS).index("em:auto from independence")
    likely = list(METHODS).index("maximum likelihood")
    for name, found, runs in [
        ("NLTCS and census", list(others()), RUNS // 3)
        if "--judge" in sys.argv
        else ("Adult", list(adult()), RUNS)
    ]:
        ratios, leaves = report(name, found, runs)
        r, steps = ratios[:, likely], ratios[:, column]
        claim(
            f"{name}: the maximum of the likelihood never worse than inversion",
            bool((r <= 1 + 1e-6).all()),
            f"at most {r.max():.6f} times",
        )
        claim(
            f"{name}: and better wherever that leaves the simplex",
            bool((r[leaves] < 1).all()),
            f"at most {r[leaves].max():.4f} times",
        )
        less = float(np.exp(np.log(steps / r).mean()))
        claim(
            f"{name}: steps from independence err less over all",
            less < 1,
            f"{less:.2f} times the maximum's, at most {steps.max():.3f} inversion's",
        )


if __name__ == "__main__":
    main()
