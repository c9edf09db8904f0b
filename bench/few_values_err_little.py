"""Claim: with at most 7 values, yes or no included, empirical Bayes errs little at every share.

Each risk, the expected squared error, is divided by that of the inversion projected on the
distributions, at the same distribution. Yes or no is one share t, so the risk is a sum over the
n + 1 possible counts, computed for t = 0, .0005, .., .1 and .105, .11, .., .5.

For 3, 5 and 7 values the risks are means over simulated tallies, the same for both, at a grid of the
simplex: all distributions of M equal parts over the values, and rare values of 1 to 4 standard
deviations of the noise beside one large value, or beside equal ones. The worst three of a grid are
simulated again with ten times the tallies, and count with these.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from _measure import SEED, claim
from warner import Categorical, EmpiricalBayes, Inversion, RandomizedResponse
from warner.channels import Channel
from warner.estimators import Estimator
from warner.estimators.base import LikelihoodData

PEOPLE = 2000
SHARES = np.concatenate([np.linspace(0, 0.1, 201), np.linspace(0.105, 0.5, 80)])
EPSILONS = (0.05, 0.1, 0.2, 0.5, 0.7, 1.0, 2.0, 4.0)
# values: M, the parts of one in a grid
GRIDS = {3: 10, 5: 6, 7: 5}
GRID_EPSILONS = (0.2, 0.5, 1.0, 2.0, 4.0)
GRID_RUNS, WORST = 40, 3


def bound(epsilon: float, values: int) -> float:
    """The bar of the largest ratio."""
    if epsilon < 0.5:
        return 1.4
    return 1.12 if values == 2 else 1.2


def risks(estimator: Estimator, epsilon: float) -> np.ndarray:
    """The risk at every share, from estimates at some counts and straight lines between them."""
    from scipy.stats import binom

    domain = Categorical(["yes", "no"])
    channel = RandomizedResponse(domain, epsilon).channel()
    keep = 1 / (1 + math.exp(-epsilon))
    low, high = binom.ppf(1e-7, PEOPLE, 1 - keep), binom.ppf(1 - 1e-7, PEOPLE, keep)
    # six counts to a standard deviation of the noise, where one of the shares may be near 0
    sd = math.sqrt(PEOPLE * keep * (1 - keep))
    near = np.arange(low, min(high, PEOPLE * (1 - keep) + 10 * sd), max(1.0, sd / 6))
    some = np.concatenate([near, PEOPLE - near, np.linspace(low, high, 60)]).astype(np.int64)
    some = np.unique(some[(some >= low) & (some <= high)])
    shares = [
        estimator.fit(
            LikelihoodData(channel, np.array([c, PEOPLE - c]) / PEOPLE, PEOPLE, domain)
        ).shares[0]
        for c in some
    ]
    counts = np.arange(low, high + 1)
    estimates = np.interp(counts, some, shares)
    yes = SHARES * keep + (1 - SHARES) * (1 - keep)
    return np.array(
        [
            binom.pmf(counts, PEOPLE, q) @ (estimates - t) ** 2
            for q, t in zip(yes, SHARES, strict=True)
        ]
    )


def yes_or_no() -> None:
    fits, largest, means = [], [], []
    print(f"yes or no, n = {PEOPLE}: risk of empirical Bayes / of the projected inversion")
    for epsilon in EPSILONS:
        ours, theirs = risks(EmpiricalBayes(), epsilon), risks(Inversion("project"), epsilon)
        ratio = ours / theirs
        at = int(np.argmax(ratio))
        fits.append(ratio[at] <= bound(epsilon, 2))
        largest.append(ratio[at])
        share = np.gradient(SHARES)
        means.append(share @ ours / (share @ theirs))
        print(
            f"  epsilon {epsilon:<5g} at one share up to {ratio[at]:.3f} (at {SHARES[at]:.4f}), at 0"
            f" {ratio[0]:.2f}   mean over all shares {means[-1]:.2f}",
            flush=True,
        )
    claim(
        "yes or no: at every share at most 1.12 times the projected inversion's (1.4 below epsilon .5)",
        all(fits),
        f"{max(largest):.3f}",
    )
    claim(
        "yes or no: mean risk over all shares at most 1.02 times the projected inversion's",
        max(means) <= 1.02,
        f"{max(means):.2f}, least {min(means):.2f}",
    )


def partitions(total: int, values: int, most: int) -> Iterator[tuple[int, ...]]:
    """All ways to give ``total`` parts to values, the largest first."""
    if values == 1:
        if total <= most:
            yield (total,)
        return
    for first in range(min(total, most), -1, -1):
        for rest in partitions(total - first, values - 1, first):
            yield (first, *rest)


def grid(values: int, parts: int, noise: float) -> Iterator[np.ndarray]:
    """Distributions over the simplex. The mechanism treats all values alike, so order is one."""
    for some in partitions(parts, values, parts):
        yield np.array(some) / parts
    for times in (1, 2, 3, 4):
        for rare in sorted({1, values // 2, values - 1}):
            left = 1 - rare * times * noise
            if left > rare * times * noise:
                for others in {1, values - rare}:
                    theta = np.zeros(values)
                    theta[-rare:] = times * noise
                    theta[:others] = left / others
                    yield theta


def ratio_at(
    theta: np.ndarray, channel: Channel, runs: int, rng: np.random.Generator
) -> tuple[float, float]:
    """The ratio of the risks at one distribution, and its standard error."""
    domain = Categorical([str(i) for i in range(theta.size)])
    errors = np.empty((2, runs))
    for run in range(runs):
        data = LikelihoodData(channel, channel.simulate(theta, PEOPLE, rng), PEOPLE, domain)
        for k, method in enumerate((EmpiricalBayes(), Inversion("project"))):
            errors[k, run] = ((method.fit(data).shares - theta) ** 2).sum()
    ours, theirs = errors.mean(axis=1)
    rest = errors[0] - ours / theirs * errors[1]
    return float(ours / theirs), float(rest.std(ddof=1) / math.sqrt(runs) / theirs)


def over_the_simplex() -> None:
    print(f"3, 5 and 7 values, n = {PEOPLE}: the same ratio over a grid of the simplex")
    fits, largest = [], []
    for values, parts in GRIDS.items():
        for epsilon in GRID_EPSILONS:
            rng = np.random.default_rng([SEED, values, round(10 * epsilon)])
            domain = Categorical([str(i) for i in range(values)])
            channel = RandomizedResponse(domain, epsilon).channel()
            even = np.full(values, 1 / values)
            noise = math.sqrt(float(channel.variance_at_zero(even).mean()) / PEOPLE)
            points = list(grid(values, parts, noise))
            rough = [ratio_at(theta, channel, GRID_RUNS, rng)[0] for theta in points]
            worst = [points[i] for i in np.argsort(rough)[-WORST:]]
            found = [ratio_at(theta, channel, 10 * GRID_RUNS, rng) for theta in worst]
            ratio, error = max(found)
            fits.append(ratio <= bound(epsilon, values) + 2 * error)
            largest.append(ratio)
            at = worst[found.index((ratio, error))]
            mean = np.exp(np.log(rough).mean())
            print(
                f"  {values} values, epsilon {epsilon:<4g} up to {ratio:.2f} +- {error:.2f} at"
                f" {' '.join(f'{t:.3g}' for t in at)}   geometric mean of {len(points)} {mean:.2f}",
                flush=True,
            )
    claim(
        "3 to 7 values: at most 1.2 times the projected inversion's (1.4 at epsilon .2) + 2 se",
        all(fits),
        f"{max(largest):.2f}",
    )


if __name__ == "__main__":
    yes_or_no()
    over_the_simplex()
