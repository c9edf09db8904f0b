"""Claim: empirical Bayes errs less than every other method over all.

Cells are laws x mechanism x K x n x epsilon, drawn with a seed that nothing was designed on; errors
are means over repetitions. The best of ten methods is chosen for each cell by its error, which
nobody can know; "over all" is the geometric mean over the cells of the ratio to it. The table also
says in how many cells a method is within 10 % of that best, and its worst. Squared error with
posterior means, absolute error with posterior medians.
"""

from __future__ import annotations

import numpy as np

from _measure import SEED, claim
from warner import (
    EmpiricalBayes,
    Integers,
    Inversion,
    LocalHashing,
    MaximumLikelihood,
    RandomizedResponse,
    UnaryEncoding,
)
from warner.channels import Channel
from warner.estimators.base import LikelihoodData, safe_divide
from warner.mechanisms import Mechanism

CELLS = 84
SIZES = (5, 12, 60, 250, 1000)
PEOPLE = (10**3, 10**4, 10**5, 10**6)
EPSILONS = (0.5, 1.0, 2.0, 4.0)
STEPS = (10, 100, 1000)


def law(kind: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """Zipf, Dirichlet, normal-shaped, log-normal, blocks, a third on one value, few values present,
    two levels.
    """
    rank, place = np.arange(1.0, size + 1), (np.arange(size) + 0.5) / size
    if kind < 3:
        v = rank ** -(0.5, 1.1, 2.0)[kind]
    elif kind < 7:
        v = rng.gamma((0.05, 0.3, 1.0, 10.0)[kind - 3], size=size) + 1e-30
    elif kind == 7:
        v = np.exp(-((place - 0.5) ** 2) / 0.0288)
    elif kind == 8:
        v = np.exp(-((np.log(10 * place) - 0.5) ** 2) / 0.72) / place
    elif kind == 9:
        v = np.repeat(rng.gamma(0.5, size=5) + 0.02, -(-size // 5))[:size]
    elif kind < 12:
        rest = rng.dirichlet(np.ones(size - 1)) if kind == 10 else np.full(size - 1, 1 / (size - 1))
        v = np.append(rest * 2, 1.0)
    elif kind == 12:
        v = np.zeros(size)
        v[: max(2, size // 10)] = rng.dirichlet(np.full(max(2, size // 10), 2.0))
    else:
        v = np.where(rank <= max(1, size // 5), 6.0, 1.0)
    return v / v.sum()


def rivals(channel: Channel, weights: np.ndarray, n: int) -> dict[str, np.ndarray]:
    """Every other method's estimates (K, B) of the weights (m, B)."""
    size, count = channel.shape[1], weights.shape[1]
    data = [LikelihoodData(channel, w, n, Integers(1, size)) for w in weights.T]
    methods = {
        str(c): Inversion(c) for c in (None, "project", "base-cut", "normalize", "threshold")
    } | {"mle": MaximumLikelihood()}
    found = {
        name: np.stack([method.fit(f).probabilities for f in data], axis=1)
        for name, method in methods.items()
    }
    raw, shares = found["None"], found["project"]
    noise = np.stack([channel.variance(p).mean() for p in shares.T]) / n
    kept = np.clip(1 - noise / ((raw - 1 / size) ** 2).mean(axis=0), 0, 1)
    found["linear shrinkage"] = 1 / size + kept * (shares - 1 / size)
    theta = np.full((size, count), 1 / size)
    for step in range(1, STEPS[-1] + 1):
        theta = theta * channel.rmatvec(safe_divide(weights, channel.matvec(theta)))
        if step in STEPS:
            found[f"em:{step}"] = theta
        if step == 100 and channel.shape[0] > 2 * size:
            break  # whole reports: a hundred steps are many
    return found


def mechanism(kind: int, size: int, epsilon: float) -> Mechanism:
    """k-RR, OUE, OLH."""
    domain = Integers(1, size)
    if kind == 0:
        return RandomizedResponse(domain, epsilon)
    return (
        UnaryEncoding(domain, epsilon, variant="oue")
        if kind == 1
        else LocalHashing(domain, epsilon, seeds=256)
    )


def main() -> None:
    """The table over all cells, and the claims."""
    rng = np.random.default_rng(SEED)
    ratios: dict[tuple[str, str], list[float]] = {}
    for cell in range(CELLS):
        kind = cell % 3
        size = int(rng.choice(SIZES if kind < 2 else SIZES[:3]))
        n = int(rng.choice(PEOPLE if kind < 2 else PEOPLE[:2]))
        epsilon = float(rng.choice(EPSILONS))
        theta = law((cell // 3) % 14, size, rng)
        channel = mechanism(kind, size, epsilon).channel()
        weights = np.stack(
            [
                channel.simulate(theta, n, rng)
                for _ in range(int(np.clip(1200 / size, 8, 60)) if kind < 2 else 20)
            ],
            axis=1,
        )
        others = rivals(channel, weights, n)
        for loss, error in (("squared", np.square), ("absolute", np.abs)):
            ours = [
                EmpiricalBayes(loss)
                .fit(LikelihoodData(channel, w, n, Integers(1, size)))
                .probabilities
                for w in weights.T
            ]
            errors = {name: float(error(p - theta[:, None]).mean()) for name, p in others.items()}
            best = min(errors.values())
            errors["empirical Bayes"] = float(error(np.stack(ours, axis=1) - theta[:, None]).mean())
            for name, value in errors.items():
                ratios.setdefault((loss, name), []).append(value / best)
    for loss in ("squared", "absolute"):
        table = {name: np.array(r) for (which, name), r in ratios.items() if which == loss}
        print(f"{loss} error over that of the best rival of the cell, {CELLS} cells")
        for name, r in sorted(table.items(), key=lambda item: float(np.log(item[1]).mean())):
            print(
                f"  {name:<18} geometric mean {np.exp(np.log(r).mean()):>7.2f}   within 10 % in {np.mean(r <= 1.1):>4.0%}   at most {r.max():>9.2f}",
                flush=True,
            )
        ours = table.pop("empirical Bayes")
        full = {name: r for name, r in table.items() if r.size == CELLS}
        least = min(float(np.exp(np.log(r).mean())) for r in full.values())
        mean = float(np.exp(np.log(ours).mean()))
        claim(
            f"{loss} error below that of every single rival over all",
            mean < least,
            f"{mean:.2f} against {least:.2f} times the best of each cell",
        )


if __name__ == "__main__":
    main()
