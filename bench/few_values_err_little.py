"""Claim: with at most 7 values, yes or no included, empirical Bayes errs little everywhere.

Yes or no is one share t, so the risk E (estimate - t)^2 is a sum over the n + 1 possible counts.
It is computed for t = 0, .001, .., .5 and for ten budgets, and compared with the risk of the
inversion that is projected on [0, 1]. The table has the ratio of both largest risks over t, which
stand at different shares, the largest ratio at one t, and the ratio of both means over t. The flat
prior alone would have the least mean, by definition.

For 2 to 7 values the laws and rivals are those of bench/shrinkage_errs_least.py, with other draws.
"""

from __future__ import annotations

import math

import numpy as np

from _measure import SEED, claim
from shrinkage_errs_least import law, rivals
from warner import Categorical, EmpiricalBayes, Inversion, RandomizedResponse
from warner.estimators import Estimator
from warner.estimators.base import LikelihoodData

PEOPLE, SHARES = 2000, np.linspace(0, 0.5, 501)
EPSILONS = (0.03, 0.05, 0.1, 0.15, 0.2, 0.4, 0.7, 1.0, 2.0, 4.0)
CELLS, RUNS = 120, 20


def risks(estimator: Estimator, epsilon: float) -> np.ndarray:
    """The risk at every share, from estimates at 150 counts and straight lines between them."""
    from scipy.stats import binom

    domain = Categorical(["yes", "no"])
    channel = RandomizedResponse(domain, epsilon).channel()
    counts, keep = np.arange(PEOPLE + 1), 1 / (1 + math.exp(-epsilon))
    low, high = binom.ppf(1e-6, PEOPLE, 1 - keep), binom.ppf(1 - 1e-6, PEOPLE, keep)
    some = np.unique(np.linspace(low, high, 150).astype(np.int64))
    shares = [
        estimator.fit(
            LikelihoodData(channel, np.array([c, PEOPLE - c]) / PEOPLE, PEOPLE, domain)
        ).shares[0]
        for c in some
    ]
    estimates = np.interp(counts, some, shares)
    yes = SHARES * keep + (1 - SHARES) * (1 - keep)
    return np.array(
        [
            binom.pmf(counts, PEOPLE, q) @ (estimates - t) ** 2
            for q, t in zip(yes, SHARES, strict=True)
        ]
    )


def yes_or_no() -> None:
    largest, means = [], []
    print(f"yes or no, n = {PEOPLE}: risk of empirical Bayes / of the projected inversion")
    for epsilon in EPSILONS:
        ours, theirs = risks(EmpiricalBayes(), epsilon), risks(Inversion("project"), epsilon)
        largest.append(ours.max() / theirs.max())
        at = int(np.argmax(ours / theirs))
        means.append(ours.mean() / theirs.mean())
        print(
            f"  epsilon {epsilon:<5g} largest {largest[-1]:.2f}   mean over all shares {means[-1]:.2f}"
            f"   at one share up to {ours[at] / theirs[at]:.2f} (at {SHARES[at]:.3f})"
        )
    claim(
        "yes or no: largest risk over all shares at most 1.2 times the largest of the projected inversion",
        max(largest) <= 1.2,
        f"{max(largest):.2f}",
    )
    claim(
        "yes or no: mean risk over all shares at most 1.02 times the projected inversion's",
        max(means) <= 1.02,
        f"{max(means):.2f}, least {min(means):.2f}",
    )


def few_values() -> None:
    rng = np.random.default_rng([SEED, 7])
    ratios: dict[str, list[float]] = {}
    for _ in range(CELLS):
        size, n = int(rng.integers(2, 8)), int(rng.choice([300, 1000, 10_000, 100_000]))
        epsilon = float(rng.choice([0.25, 0.5, 1.0, 2.0, 4.0]))
        theta = law(int(rng.integers(14)), size, rng)
        theta = rng.permutation(theta / theta.sum())
        domain = Categorical([str(i) for i in range(size)])
        channel = RandomizedResponse(domain, epsilon).channel()
        weights = np.stack([channel.simulate(theta, n, rng) for _ in range(RUNS)], axis=1)
        errors = {
            name: float(np.square(p - theta[:, None]).mean())
            for name, p in rivals(channel, weights, n).items()
        }
        best = min(errors.values())
        ours = [EmpiricalBayes().fit(LikelihoodData(channel, w, n, domain)) for w in weights.T]
        errors["empirical Bayes"] = float(
            np.square(np.stack([fit.shares for fit in ours], axis=1) - theta[:, None]).mean()
        )
        for name, value in errors.items():
            ratios.setdefault(name, []).append(value / best)
    print(f"2 to 7 values, {CELLS} cells: squared error over that of the best rival of the cell")
    means = {name: float(np.exp(np.log(r).mean())) for name, r in ratios.items()}
    for name in sorted(means, key=means.__getitem__):
        r = np.array(ratios[name])
        print(
            f"  {name:<18} geometric mean {means[name]:6.2f}   within 10 % in {np.mean(r <= 1.1):4.0%}"
            f"   19 of 20 below {np.quantile(r, 0.95):6.2f}   at most {r.max():8.2f}"
        )
    mean = means.pop("empirical Bayes")
    least = min(means[name] for name, r in ratios.items() if name in means and len(r) == CELLS)
    claim(
        "2 to 7 values: squared error below that of every single rival over all",
        mean < least,
        f"{mean:.2f} against {least:.2f} times the best of each cell",
    )


if __name__ == "__main__":
    yes_or_no()
    few_values()
