"""Claim: pooled estimates of groups err less than separate ones, and intervals and tests hold.

Real people are drawn from a table with replacement. Public columns make 5, 50 or 500 groups.
Separate estimates of a group are its projected inversion, and in fewer runs the method that
``estimate`` recommends. The error is the sum of squares over values: its mean over groups with
reports, and its mean over people. WARNER_DATA names the folder of the tables.

Differences and tests are those of one protected attribute of two or more groups, 4000 runs, at
shares of the table away from 0. The last part has 10^4 groups of 10^2 values.

    WARNER_DATA=folder python bench/groups_pooled.py
"""

from __future__ import annotations

import time

import numpy as np

from _data import rows
from _measure import SEED, claim, peak
from warner import (
    Categorical,
    Inversion,
    RandomizedResponse,
    Tally,
    UnaryEncoding,
    compare_groups,
    estimate,
)
from warner.domains import Product
from warner.estimators.base import LikelihoodData
from warner.mechanisms import Mechanism
from warner.metrics import project
from warner.reports.public_columns import Groups
from warner.reports.tally_kinds import Counted
from warner.results import goodness_of_fit, independence
from warner.results.estimate import Estimate

PEOPLE, EPSILONS, RUNS = (10_000, 100_000), (0.5, 1.0, 2.0), 30
DEFAULT_RUNS = {5: 30, 50: 5, 500: 1}
REPEATED = 4000  # the standard error of a size of 5 % is then 0.34 %


def tables() -> dict[str, tuple[dict[str, np.ndarray], dict[int, np.ndarray]]]:
    """{table: ({attribute: values}, {number of groups: groups})}, all as numbers from 0."""
    found = {}
    adult = rows("adult.csv.gz")
    if adult is not None:
        age = np.array([int(row["age"]) for row in adult])
        sex, work = (np.array([row[name] for row in adult]) for name in ("sex", "workclass"))
        few = np.where(np.isin(work, ["Private", "?"]), work, np.char.partition(work, "-")[:, 0])
        band = np.digitize(age, [26, 36, 46, 56])
        asked = ("education", "marital_status", "income")
        found["adult"] = (
            {name: codes(np.array([row[name] for row in adult])) for name in asked},
            {5: codes(band), 50: codes(sex, band, few), 500: codes(sex, age // 2, work)},
        )
    wages = rows("gss_wages.csv.gz")
    if wages is not None:
        asked = ("wrkstat", "maritalcat", "educcat")
        kept = [row for row in wages if all(row[name] for name in (*asked, "age", "gender"))]
        age, year = (np.array([int(float(row[name])) for row in kept]) for name in ("age", "year"))
        sex = np.array([row["gender"] for row in kept])
        band = np.digitize(age, [30, 40, 50, 65])
        decade = np.digitize(year, [1980, 1990, 2000, 2010])
        found["gss_wages"] = (
            {name: codes(np.array([row[name] for row in kept])) for name in asked},
            {5: codes(band), 50: codes(sex, band, decade), 500: codes(sex, age // 8, year)},
        )
    return found


def codes(*columns: np.ndarray) -> np.ndarray:
    """The combinations of columns as numbers from 0."""
    table = np.stack([column.astype(str) for column in columns], axis=1)
    return np.unique(table, axis=0, return_inverse=True)[1].ravel()


def tallies(template: Tally, counts: np.ndarray) -> Tally:
    """The tally of groups whose histograms are the rows of counts (G, m)."""
    groups = Groups({"group": None}, [(g,) for g in range(len(counts))], np.arange(len(counts)))
    counted = Counted(template.kind, counts, counts.sum(axis=1))
    return Tally(template.header, counted, groups, template.simulated)


def squared(shares: np.ndarray, truth: np.ndarray) -> np.ndarray:
    return ((shares - truth) ** 2).sum(axis=1)


def pooled_errs_less() -> None:
    rng = np.random.default_rng([SEED, 18])
    ratios: dict[str, list[float]] = {"group": [], "person": [], "default": []}
    sure: dict[str, list[float]] = {"group": [], "person": []}
    covered: list[float] = []
    print(
        "  table        attribute       groups  people  eps   by group  by person  /default  covered"
    )
    for table, (attributes, groupings) in tables().items():
        for attribute, values in attributes.items():
            for number, groups in groupings.items():
                joint = np.zeros((groups.max() + 1, values.max() + 1))
                np.add.at(joint, (groups, values), 1)
                for people in PEOPLE:
                    for epsilon in EPSILONS:
                        found = cell(joint, people, epsilon, DEFAULT_RUNS[number], rng)
                        by_group, by_person, default, hits, errors = found
                        sure["group"].append(beyond_chance(errors[:, 0], errors[:, 1]))
                        sure["person"].append(beyond_chance(errors[:, 2], errors[:, 3]))
                        ratios["group"].append(by_group)
                        ratios["person"].append(by_person)
                        ratios["default"].append(default)
                        covered.append(hits)
                        print(
                            f"  {table:<12} {attribute:<15} {len(joint):>6} {people:>7} {epsilon:>4g}"
                            f" {by_group:>10.3f} {by_person:>10.3f} {default:>9.3f} {hits:>8.3f}",
                            flush=True,
                        )
    for name, text in (("group", "mean over groups"), ("person", "mean over people")):
        all_of = np.array(ratios[name])
        claim(
            f"pooled estimates err less than separate projected ones in 90 % of cells, {text}",
            bool((all_of < 1).mean() >= 0.9),
            f"{(all_of < 1).mean():.1%} of {all_of.size}, median {np.median(all_of):.2f}; beyond two "
            f"standard errors less in {np.mean(np.array(sure[name]) < -2):.1%} and more in "
            f"{np.mean(np.array(sure[name]) > 2):.1%}",
        )
        claim(
            f"pooled estimates never err more than 1.1 times as much, {text}",
            bool(all_of.max() <= 1.1),
            f"{all_of.max():.3f}",
        )
    default = np.array(ratios["default"])
    claim(
        "pooled estimates err less than the recommended method for each group, in 90 % of cells",
        bool((default < 1).mean() >= 0.9),
        f"{(default < 1).mean():.1%}, largest {default.max():.3f}, median {np.median(default):.2f}",
    )
    claim(
        "posterior intervals cover 93 to 97 % of the shares of all groups on average over cells",
        0.93 <= float(np.mean(covered)) <= 0.97,
        f"{np.mean(covered):.3f}, from {min(covered):.3f} to {max(covered):.3f}",
    )


def beyond_chance(ours: np.ndarray, theirs: np.ndarray) -> float:
    """The mean difference of errors of the same reports, in standard errors."""
    away = ours - theirs
    return float(away.mean() / (away.std(ddof=1) / np.sqrt(away.size)))


def cell(
    joint: np.ndarray, people: int, epsilon: float, default_runs: int, rng: np.random.Generator
) -> tuple[float, float, float, float, np.ndarray]:
    """Errors of pooled estimates relative to separate ones, the coverage of their intervals, and
    the errors of all runs (RUNS, 4).
    """
    truth = joint / joint.sum(axis=1, keepdims=True)
    weights = joint.sum(axis=1) / joint.sum()
    mechanism = RandomizedResponse(Categorical([str(x) for x in range(joint.shape[1])]), epsilon)
    channel = mechanism.channel()
    chances = np.maximum(channel.matvec(truth.T).T, 0)
    chances /= chances.sum(axis=1, keepdims=True)
    template = mechanism.tally(mechanism.randomize(["0"], rng=rng))
    errors, defaults, hits = [], [], []
    for run in range(RUNS):
        counts = rng.multinomial(rng.multinomial(people, weights), chances)
        used = counts.sum(axis=1) > 0
        groups = tallies(template, counts)
        found = estimate(groups, pool="partial")
        own = np.full(truth.shape, 1 / truth.shape[1])
        own[used] = project(found.groups.table.shares[used].T).T
        ours, theirs = squared(found.probabilities, truth), squared(own, truth)
        errors.append([ours[used].mean(), theirs[used].mean(), weights @ ours, weights @ theirs])
        bounds = found.interval()
        inside = (bounds[..., 0] <= truth) & (truth <= bounds[..., 1])
        hits.append(inside[used].mean())
        if run < default_runs:
            alone = estimate(groups, pool="none")
            defaults.append([ours[used].mean(), squared(alone.probabilities, truth)[used].mean()])
    a, b, c, d = np.mean(errors, axis=0)
    e, f = np.mean(defaults, axis=0)
    return float(a / b), float(c / d), float(e / f), float(np.mean(hits)), np.array(errors)


PATHS = ("flat", "line", "wave", "step", "walk")
WEEKS, OF_PATH = 12, 60


def path_of(kind: str, rng: np.random.Generator) -> np.ndarray:
    """Shares (WEEKS, 5) over time, made up."""
    week = np.linspace(0, 1, WEEKS)[:, None]
    start, end = np.log(rng.dirichlet(np.full(5, 2.0), 2))
    moves = {
        "flat": 0 * week,
        "line": week,
        "wave": (1 - np.cos(2 * np.pi * week)) / 2,
        "step": (week > 0.5) * 0.7,
        "walk": np.cumsum(rng.normal(0, 0.15, (WEEKS, 1)), axis=0),
    }[kind]
    shares = np.exp(start + moves * (end - start))
    return shares / shares.sum(axis=1, keepdims=True)


def bands_over_time_hold() -> None:
    rng = np.random.default_rng([SEED, 21])
    covered: dict[tuple[str, int, float], list[float]] = {}
    for kind in PATHS:
        for people in (500, 5000):
            for epsilon in EPSILONS:
                mechanism = RandomizedResponse(Categorical(list("abcde")), epsilon)
                template = mechanism.tally(mechanism.randomize(["a"], rng=rng))
                channel = mechanism.channel()
                hits = covered.setdefault((kind, people, epsilon), [])
                for _ in range(OF_PATH):
                    truth = path_of(kind, rng)
                    chances = channel.matvec(truth.T).T
                    counts = rng.multinomial(people, chances / chances.sum(axis=1, keepdims=True))
                    found = estimate(tallies(template, counts), time="group")
                    low, high = np.moveaxis(found.interval(), -1, 0)
                    hits.append(float(((low <= truth) & (truth <= high)).mean()))
    for kind in PATHS:
        of_kind = {key: np.mean(hits) for key, hits in covered.items() if key[0] == kind}
        claim(
            f"{kind}: bands over 12 weeks hold 93 % of the shares, each by itself, in every cell",
            min(of_kind.values()) >= 0.93,
            f"{np.mean(list(of_kind.values())):.3f}, least {min(of_kind.values()):.3f}",
        )


def drawn(mechanism: Mechanism, shares: np.ndarray, n: int, rng: np.random.Generator) -> Estimate:
    """An estimate from a simulated tally."""
    channel = mechanism.channel()
    data = LikelihoodData(channel, channel.simulate(shares, n, rng), n, mechanism.domain, True)
    return Estimate(Inversion().fit(data), data, Inversion())


def differences_and_tests_hold() -> None:
    rng = np.random.default_rng([SEED, 19])
    shares = {"north": np.array([0.3, 0.25, 0.2, 0.15, 0.1]), "south": np.full(5, 0.2)}
    domain = Categorical(list("abcde"))
    pairs = Product(a=Categorical(list("xyz")), b=Categorical(list("pq")))
    even = np.multiply.outer([0.4, 0.35, 0.25], [0.6, 0.4]).ravel()
    for name, make in (
        ("RandomizedResponse", RandomizedResponse),
        ("UnaryEncoding", UnaryEncoding),
    ):
        for epsilon in EPSILONS:
            first, second = make(domain, epsilon), make(domain, 2 * epsilon)
            covered, sizes, fits, separate = [], [], [], []
            for _ in range(REPEATED):
                a = drawn(first, shares["north"], 4000, rng)
                b = drawn(second, shares["south"], 2000, rng)
                truth = shares["north"] - shares["south"]
                low, high = (
                    np.array([row[end] for row in compare_groups(a, b).rows()])
                    for end in ("low", "high")
                )
                covered.append(((low <= truth) & (truth <= high)).mean())
                same = drawn(second, shares["north"], 2000, rng)
                sizes.append(compare_groups(a, same).test.p_value < 0.05)
                fits.append(goodness_of_fit(a, shares["north"]).p_value < 0.05)
                if make is RandomizedResponse:
                    both = drawn(make(pairs, epsilon), even, 4000, rng)
                    separate.append(independence(both, "a", "b").p_value < 0.05)
            claim(
                f"{name}, epsilon {epsilon:g}: intervals of differences cover 93 to 97 %",
                0.93 <= np.mean(covered) <= 0.97,
                f"{np.mean(covered):.3f}",
            )
            tests = {"no difference": sizes, "goodness of fit": fits, "independence": separate}
            for test, rejected in tests.items():
                if rejected:
                    claim(
                        f"{name}, epsilon {epsilon:g}: the test of {test} has size 4 to 6 %",
                        0.04 <= np.mean(rejected) <= 0.06,
                        f"{np.mean(rejected):.3f}",
                    )


def ten_thousand_groups() -> None:
    rng = np.random.default_rng([SEED, 20])
    size, number = 100, 10_000
    mechanism = RandomizedResponse(Categorical([f"v{x}" for x in range(size)]), 1.0)
    template = mechanism.tally(mechanism.randomize(["v0"], rng=rng))
    mean = rng.dirichlet(np.ones(size))
    truth = rng.dirichlet(20 * mean + 1e-3, number)
    chances = mechanism.channel().matvec(truth.T).T
    chances /= chances.sum(axis=1, keepdims=True)
    groups = tallies(template, rng.multinomial(rng.poisson(300, number), chances))
    before, start = peak(), time.process_time()
    found = estimate(groups, pool="partial")
    bounds = found.interval()
    seconds = time.process_time() - start
    claim(
        "10^4 groups of 10^2 values: pooled estimates and intervals within 10 s of one thread",
        seconds < 10 and bounds.shape == (number, size, 2),
        f"{seconds:.1f} s",
    )
    claim("and within 1 GB", peak() < 1000, f"{peak():.0f} MB, {before:.0f} MB before")


def main() -> None:
    ten_thousand_groups()
    differences_and_tests_hold()
    bands_over_time_hold()
    pooled_errs_less()


if __name__ == "__main__":
    main()
