"""Claim: several reports of one person say more together than as if each had a person of her own;
one report at their budget says most.

Total variation of the estimate, mean over 60 runs, of 5,000 people with one of 20 values who send t
reports each: by the maximum of the likelihood of each person's reports together [P4 sec V], by that
of all reports as if each came from a person of her own, and by inversion, which is the same either
way. Beside them one report at the t-fold budget. Wald intervals of the shares are counted too:
where reports say much, those that take reports for people are too narrow, because people are fewer
than reports.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from _measure import SEED, claim
from warner import Integers, Inversion, MaximumLikelihood, RandomizedResponse, estimate
from warner.mechanisms import Mechanism, Repeated, TruncatedGeometric
from warner.metrics import total_variation

PEOPLE, VALUES, RUNS = 5_000, 20, 60
TIMES = (2, 4, 8)
_HIGHEST = MaximumLikelihood(1e-7)


def run(
    part: Mechanism, once: Mechanism, times: int, theta: np.ndarray, rng: np.random.Generator
) -> dict[str, tuple[float, float]]:
    """Error, and share of values that intervals cover (NaN where there are none), by method."""
    values = rng.choice(VALUES, PEOPLE, p=theta)
    several = Repeated(part, times)
    reports = several.randomize(values, rng)
    together = several.tally(reports)
    apart = sum(part.tally(part.reports(column)) for column in reports.columns.values())
    single = once.tally(once.randomize(values, rng))
    found = {
        "together": estimate(together, _HIGHEST),
        "as if apart": estimate(apart, _HIGHEST),
        "inversion": estimate(together, Inversion("project")),
        "one report at the whole budget": estimate(single, _HIGHEST),
    }
    out = {}
    for name, result in found.items():
        bounds = result.interval()
        out[name] = (
            total_variation(result.probabilities, theta),
            float(((bounds[:, 0] <= theta) & (theta <= bounds[:, 1])).mean()),
        )
    return out


def main() -> None:
    """Tables and claims."""
    domain = Integers(0, VALUES - 1)
    shapes = {
        "Zipf": 1 / np.arange(1, VALUES + 1),
        "normal": np.array([NormalDist(8, 3).pdf(x) for x in range(VALUES)]),
    }
    makers = {
        "RR, 2 a report": (RandomizedResponse, 2.0),
        "RR, 0.75 a report": (RandomizedResponse, 0.75),
        "truncated geometric, 0.2 a report": (TruncatedGeometric, 0.2),
    }
    together, apart, whole, covered = [], [], [], []
    for shape, weights in shapes.items():
        theta = weights / weights.sum()
        for title, (make, epsilon) in makers.items():
            for times in TIMES:
                rng = np.random.default_rng(SEED + times)
                found = [
                    run(make(domain, epsilon), make(domain, epsilon * times), times, theta, rng)
                    for _ in range(RUNS)
                ]
                print(
                    f"{shape}, {title}, t = {times}: total variation (share of values covered at 95 %)"
                )
                errors = {name: float(np.mean([f[name][0] for f in found])) for name in found[0]}
                covers = {name: float(np.mean([f[name][1] for f in found])) for name in found[0]}
                print(
                    "  "
                    + ", ".join(
                        f"{name} {errors[name]:.4f} ({covers[name]:.2f})" for name in errors
                    )
                )
                together.append(errors["together"])
                apart.append(errors["as if apart"])
                whole.append(errors["one report at the whole budget"])
                covered.append((covers["together"], covers["as if apart"]))
    ratio, cost = np.array(apart) / together, np.array(together) / whole
    spread = f"{ratio.mean():.2f} times, {ratio.min():.2f} to {ratio.max():.2f} by case"
    claim(
        "several reports err less together than as if apart, on the mean of the cases",
        ratio.mean() > 1,
        spread,
    )
    spread = f"{cost.mean():.2f} times, {cost.min():.2f} to {cost.max():.2f} by case"
    claim(
        "one report at the whole budget errs less still, on the mean of the cases",
        cost.mean() > 1,
        spread,
    )
    mine, theirs = min(c[0] for c in covered), min(c[1] for c in covered)
    claim(
        "intervals of people's reports together cover 93 % or more",
        mine >= 0.93,
        f"at least {mine:.2f}; as if apart at least {theirs:.2f}",
    )


if __name__ == "__main__":
    main()
