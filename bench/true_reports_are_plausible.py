"""Claim: true reports are hardly ever doubted, and never refused; answers and a wrong epsilon are.

Cells are mechanism x values x people x epsilon x truth. The reports of n people are simulated by
their law, with real randomness in none of them, and tested with the rest of ``estimate``. Of the
runs of true reports, a warning (p < 1e-4) may come in 1 of 3,750, an error (p < 1e-9) never. Then
answers are counted as reports, and reports of epsilon 3 as if it were 1. Last the time of the test,
beside that of the estimate.

    python bench/true_reports_are_plausible.py [runs]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

from _measure import SEED, alternate, claim
from warner import (
    Categorical,
    HadamardResponse,
    Integers,
    Interval,
    Laplace,
    LocalHashing,
    RandomizedResponse,
    SquareWave,
    SubsetSelection,
    UnaryEncoding,
    UtilityOptimizedRR,
    estimate,
)
from warner.channels import Channel
from warner.domains import Domain
from warner.estimators.base import LikelihoodData
from warner.estimators.plausibility import DOUBTFUL, IMPOSSIBLE, plausibility_of_data
from warner.mechanisms import (
    Exponential,
    Gaussian,
    Geometric,
    Mechanism,
    Piecewise,
    ProjectiveGeometryResponse,
    StochasticRounding,
    UtilityOptimizedRappor,
    UtilityOptimizedSubset,
)
from warner.results.from_tally import likelihood_data

RUNS = 30_000
SIZES, PEOPLE = (2, 3, 8, 16, 40, 200, 1000, 10_000), (30, 100, 300, 1000, 10**4, 10**5, 10**6)
EPSILONS = (0.3, 1.0, 3.0, 6.0)
DENSE = 1000  # values from which on a mechanism with a matrix is left out

Maker = Callable[[Domain, float], Mechanism]
MECHANISMS: dict[str, Maker] = {
    "RR": RandomizedResponse,
    "SUE": lambda d, e: UnaryEncoding(d, e, variant="sue"),
    "OUE": lambda d, e: UnaryEncoding(d, e, variant="oue"),
    "OLH": LocalHashing,
    "OLH of a pool": lambda d, e: LocalHashing(d, e, seeds=4096),
    "SS": SubsetSelection,
    "HR": HadamardResponse,
    "PG": ProjectiveGeometryResponse,
    "uRR": lambda d, e: UtilityOptimizedRR(d, e, sensitive=d.labels[::3]),
    "uRAP": lambda d, e: UtilityOptimizedRappor(d, e, sensitive=d.labels[::3]),
    "uSS": lambda d, e: UtilityOptimizedSubset(d, e, sensitive=d.labels[::2]),
    "SquareWave": SquareWave,
    "Piecewise": Piecewise,
    "StochasticRounding": StochasticRounding,
    "Laplace": Laplace,
    "Gaussian": lambda d, e: Gaussian(d, e, delta=1e-5),
    "Geometric": Geometric,
    "Exponential": Exponential,
}
MATRICES = {"Exponential", "Gaussian", "SquareWave", "Piecewise", "OLH of a pool"}


def truth(kind: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """Flat, everybody alike, Zipf, a few of all values, or anything."""
    if kind == 0:
        shares = np.ones(size)
    elif kind == 1:
        shares = np.eye(size)[rng.integers(size)]
    elif kind == 2:
        shares = rng.permutation(1 / np.arange(1.0, size + 1))
    else:
        shares = rng.gamma(0.05 if kind == 3 else 1.0, size=size) + 1e-30
    return np.asarray(shares / shares.sum())


def true_reports(runs: int) -> None:
    """How often true reports are doubted or refused."""
    rng = np.random.default_rng(SEED)
    cells = [
        (name, size, epsilon)
        for name in MECHANISMS
        for size in SIZES
        for epsilon in EPSILONS
        if size < DENSE or name not in MATRICES
    ]
    each, doubtful, refused, least = -(-runs // len(cells)), 0, 0, 1.0
    for name, size, epsilon in cells:
        mechanism = MECHANISMS[name](Integers(0, size - 1), epsilon)
        channel: Channel = mechanism.channel()
        for _ in range(each):
            n, theta = int(rng.choice(PEOPLE)), truth(int(rng.integers(5)), size, rng)
            weights = channel.simulate_tally(theta, n, rng)[1]
            p = plausibility_of_data(LikelihoodData(channel, weights, n, mechanism.domain)).p_value
            least, doubtful, refused = (
                min(least, p),
                doubtful + (p < DOUBTFUL),
                refused + (p < IMPOSSIBLE),
            )
            if p < DOUBTFUL:
                print(f"  {name}, K={size}, epsilon {epsilon}, n={n}: p = {p:.2g}", flush=True)
    total = each * len(cells)
    claim(
        "true reports hardly ever doubted",
        doubtful <= 8 * total / 30_000,
        f"{doubtful} of {total:,}",
    )
    claim("true reports never refused", refused == 0, f"least p {least:.2g}")


def numbers_in_bins(runs: int) -> None:
    """True reports of people who all have one number, which few bins say roughly."""
    rng, doubtful = np.random.default_rng(SEED + 3), 0
    for run in range(runs):
        bins, epsilon = int(rng.choice([2, 3, 5, 20])), float(rng.choice(EPSILONS))
        name = ("SquareWave", "Piecewise", "StochasticRounding", "Laplace", "Gaussian")[run % 5]
        mechanism = MECHANISMS[name](Interval(0.0, 1.0, bins), epsilon)
        answers = np.full(int(rng.choice([30, 300, 3000, 30_000])), rng.random())
        data = likelihood_data(mechanism.tally(mechanism.randomize(answers, rng)))
        doubtful += plausibility_of_data(data).p_value < DOUBTFUL
    claim("numbers in bins hardly ever doubted", doubtful <= 1, f"{doubtful} of {runs:,}")


def mistakes() -> None:
    """Answers as reports, and reports of another epsilon."""
    rng = np.random.default_rng(SEED + 1)
    settings: dict[str, tuple[Domain, Maker]] = {
        "RR of 3 values": (Categorical(["never", "sometimes", "often"]), RandomizedResponse),
        "RR of 16 values": (Integers(0, 15), RandomizedResponse),
        "SquareWave of 82": (Integers(0, 81), SquareWave),
        "Hadamard of 16": (Integers(0, 15), HadamardResponse),
    }
    for name, (domain, maker) in settings.items():
        mechanism, people = maker(domain, 1.0), 2000
        weights = np.exp(-np.arange(domain.size) / max(domain.size / 8, 1))
        shares = np.array([0.6, 0.25, 0.15]) if domain.size == 3 else weights / weights.sum()
        codes = np.repeat(np.arange(domain.size), rng.multinomial(people, shares))
        if domain.size == 3:
            codes = np.repeat(np.arange(3), [1200, 500, 300])
        answers = plausibility_of_data(likelihood_data(mechanism.tally(mechanism.reports(codes))))
        claim(
            f"answers as reports are refused, {name}",
            answers.p_value < IMPOSSIBLE,
            f"p = {answers.p_value:.2g}",
        )
        other = maker(domain, 3.0).randomize([domain.labels[i] for i in codes], rng)
        read = mechanism.reports(next(iter(other.columns.values())))
        epsilon = plausibility_of_data(likelihood_data(mechanism.tally(read)))
        claim(
            f"epsilon 3 read as 1 is doubted, {name}",
            epsilon.p_value < DOUBTFUL,
            f"p = {epsilon.p_value:.2g}",
        )


def times() -> None:
    """The test beside the estimate that it belongs to."""
    rng = np.random.default_rng(SEED + 2)
    slowest, part = 0.0, 0.0
    for name, maker in MECHANISMS.items():
        for size in (10, 1000, 10_000):
            if size >= DENSE and name in MATRICES - {"SquareWave"}:
                continue
            mechanism = maker(Integers(0, size - 1), 1.0)
            answers = rng.integers(0, size // 2 + 1, 20_000)
            tally = mechanism.tally(mechanism.randomize(answers, rng))
            data = likelihood_data(tally)
            plausibility_of_data(data)
            jobs = {"test": lambda data=data: plausibility_of_data(data)}
            taken = alternate(jobs)["test"]
            start = time.perf_counter()
            estimate(tally)
            whole = time.perf_counter() - start
            print(f"  {name}, K={size}: {1e3 * taken:.1f} ms of {1e3 * whole:.0f} ms", flush=True)
            if size <= 1000:
                slowest = max(slowest, taken)
            else:
                part = max(part, taken / whole)
    claim(
        "the test takes at most 15 ms up to 1,000 values",
        slowest <= 0.015,
        f"{1e3 * slowest:.1f} ms",
    )
    claim("the test takes at most 5 % of the estimate beyond", part <= 0.05, f"{part:.1%}")


if __name__ == "__main__":
    true_reports(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS)
    numbers_in_bins(1000)
    mistakes()
    times()
