"""Claim: tallies keep whole reports of bits where the default estimate then errs at least 5 % less.

Shares are those of Zipf's law. The same reports are tallied as bit sums and as whole reports. A
cell is a mechanism, K values and an epsilon. Predicted is the gain at equal shares, by which tallies decide. The gain
is one minus the ratio of mean squared errors, with its standard error over 16 runs.

    python bench/whole_reports_gain.py
"""

from __future__ import annotations

import time

import numpy as np

from _measure import SEED, claim
from warner import Categorical, SubsetSelection, UnaryEncoding, estimate
from warner.mechanisms import Mechanism, UtilityOptimizedRappor

RUNS, PEOPLE = 16, 20_000
SIZES, EPSILONS = (4, 16, 64, 256), (1.0, 2.0, 4.0, 6.0)


def mechanisms(size: int, epsilon: float) -> dict[str, Mechanism]:
    domain = Categorical(range(size))
    sensitive = list(range(max(2, size // 4)))
    return {
        "SUE": UnaryEncoding(domain, epsilon, "sue"),
        "OUE": UnaryEncoding(domain, epsilon, "oue"),
        "uRAP": UtilityOptimizedRappor(domain, epsilon, sensitive=sensitive),
        "subsets": SubsetSelection(domain, epsilon),
    }


def cell(mechanism: Mechanism, rng: np.random.Generator) -> tuple[float, float, float]:
    """The gain, its standard error, and the seconds of the slowest estimate of whole reports."""
    size = mechanism.domain.size
    truth = 1 / np.arange(1, size + 1)
    truth /= truth.sum()
    errors, seconds = [], 0.0
    for _ in range(RUNS):
        reports = mechanism.randomize(rng.choice(size, PEOPLE, p=truth), rng)
        pair = []
        for keeps in (False, True):
            tally = mechanism.tally(reports, keep_reports=keeps)
            start = time.perf_counter()
            pair.append(float(((estimate(tally).probabilities - truth) ** 2).sum()))
            seconds = max(seconds, time.perf_counter() - start)
        errors.append(pair)
    sums, whole = np.array(errors).T
    ratio = whole.mean() / sums.mean()
    deviation = float(np.std(whole - ratio * sums, ddof=1) / np.sqrt(RUNS) / sums.mean())
    return float(1 - ratio), deviation, seconds


def main() -> None:
    rng = np.random.default_rng([SEED, 34])
    gains = []
    print("  K    epsilon  mechanism  kept  predicted   gain    error  seconds")
    for size in SIZES:
        for epsilon in EPSILONS:
            for name, mechanism in mechanisms(size, epsilon).items():
                predicted = mechanism.channel().gain_of_whole_reports
                keeps = mechanism.keeps_reports(PEOPLE)
                if not keeps and predicted < 0.02:
                    continue
                gain, deviation, seconds = cell(mechanism, rng)
                gains.append((keeps, gain, deviation))
                print(
                    f"  {size:<4} {epsilon:<8g} {name:<10} {keeps!s:<5} {predicted:>8.1%} {gain:>8.1%}"
                    f" {deviation:>7.1%} {seconds:>7.2f}",
                    flush=True,
                )
    kept = [(gain, deviation) for keeps, gain, deviation in gains if keeps]
    less = sum(gain > 2 * deviation for gain, deviation in kept)
    more = sum(gain < -2 * deviation for gain, deviation in kept)
    claim(
        "where reports are kept, the estimate errs less, beyond two standard errors, in 90 % of cells",
        less >= 0.9 * len(kept),
        f"{less} of {len(kept)}; more in {more}; the gain is {np.mean([g for g, _ in kept]):.1%} on "
        f"average, and at least 5 % in {sum(g >= 0.05 for g, _ in kept)}",
    )


if __name__ == "__main__":
    main()
