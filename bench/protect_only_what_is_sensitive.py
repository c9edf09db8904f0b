"""Claim: where few values are sensitive, utility-optimised mechanisms err an order of magnitude
less [P2 fig 5, table 1].

Total variation of the estimate, mean over runs, for half of the people of a data set as reporters
and all of them as the truth. With the folder of the data sets in WARNER_DATA: check-ins on a 25 x
25 grid of Manhattan (Foursquare) with 15 regions drawn as the sensitive ones (the data do not say
where hospitals are), and 400 cells of age, income, marital status and sex (General Social Survey),
the divorced being sensitive. Without it: synthetic counts of the same sizes. The personalised
mechanism maps what people report from home or work to bots; its background knowledge is none, the
places tagged so, or the truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from _data import columns
from _measure import SEED, claim
from warner import (
    Categorical,
    Inversion,
    MaximumLikelihood,
    Personalized,
    RandomizedResponse,
    UnaryEncoding,
    UtilityOptimizedRappor,
    UtilityOptimizedRR,
    redistribute,
)
from warner.design.theory import expected_loss
from warner.estimators import Estimator
from warner.estimators.likelihood_data import LikelihoodData
from warner.mechanisms import Mechanism
from warner.metrics import total_variation
from warner.results.estimate import Estimate

RUNS, TABLE_RUNS = 20, 100
METHODS: dict[str, Estimator] = {
    "emp": Inversion(),
    "emp+thr": Inversion("threshold"),
    "MLE": MaximumLikelihood(1e-7),
}
MAKERS: dict[str, Callable[[Categorical, float, list[int]], Mechanism]] = {
    "RR": lambda d, e, s: RandomizedResponse(d, e),
    "RAPPOR": lambda d, e, s: UnaryEncoding(d, e),
    "uRR": UtilityOptimizedRR,
    "uRAP": UtilityOptimizedRappor,
}


def _sets(rng: np.random.Generator) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Counts of people and the sensitive values."""
    places, survey = (
        columns("foursquare_manhattan_grid25x25.csv.gz"),
        columns("gss_cells400.csv.gz"),
    )
    if places is None or survey is None:
        heavy = rng.permutation(100_000 / np.arange(1, 626) ** 1.1)
        return {
            "synthetic, 625 values": (heavy.astype(int), rng.choice(625, 15, replace=False)),
            "synthetic, 400 values": (
                rng.multinomial(60_000, rng.dirichlet(np.full(400, 0.5))),
                np.arange(70),
            ),
        }
    divorced = np.flatnonzero((survey["marital_id"] == 2) & (survey["age_id"] >= 1))
    counts = places["fsq_global_us_checkins"].astype(int)
    return {
        "Manhattan, 625 regions": (counts, rng.choice(625, 15, replace=False)),
        "survey, 400 cells": (survey["count"].astype(int), divorced),
    }


def _estimate(
    mechanism: Mechanism, people: np.ndarray, method: Estimator, rng: np.random.Generator
) -> Estimate:
    channel = mechanism.channel()
    data = LikelihoodData(
        channel, channel.simulate_from_values(people, rng), int(people.sum()), mechanism.domain
    )
    return Estimate(method.fit(data), data, method)


def common(rng: np.random.Generator) -> None:
    """[P2 fig 5]"""
    for name, (counts, sensitive) in _sets(rng).items():
        size, n = counts.size, int(counts.sum()) // 2
        truth, domain = counts / counts.sum(), Categorical(list(range(counts.size)))
        few = size > 10 * len(sensitive)
        print(f"{name}: {len(sensitive)} sensitive, {n:,} people report; total variation")
        budgets = {"0.1": 0.1, "1": 1.0, "ln K": math.log(size), "10": 10.0}
        found: dict[tuple[str, str, str], float] = {}
        samples = [rng.multivariate_hypergeometric(counts, n) for _ in range(RUNS)]
        open_ = float(np.mean([total_variation(s / n, truth) for s in samples]))
        for budget, epsilon in budgets.items():
            for kind, make in MAKERS.items():
                mechanism = make(domain, epsilon, sensitive.tolist())
                for method, estimator in METHODS.items():
                    losses = [
                        total_variation(
                            _estimate(mechanism, s, estimator, rng).probabilities, truth
                        )
                        for s in samples
                    ]
                    found[budget, kind, method] = float(np.mean(losses))
            row = "  ".join(
                f"{kind} " + " / ".join(f"{found[budget, kind, m]:.4f}" for m in METHODS)
                for kind in MAKERS
            )
            print(f"  epsilon {budget:<5} {row}  (emp / emp+thr / MLE)", flush=True)
        print(f"  no privacy    {open_:.4f}")
        for method in METHODS:
            ratios = [
                min(found[b, "RR", method], found[b, "RAPPOR", method])
                / min(found[b, "uRR", method], found[b, "uRAP", method])
                for b in ("0.1", "1")
            ]
            if few and method == "emp":
                claim(
                    f"{name}: ten times less error at epsilon 0.1 and 1, {method}",
                    min(ratios) >= 10,
                    f"{ratios[0]:.1f} and {ratios[1]:.1f} times",
                )
            else:
                print(
                    f"  {method}: {ratios[0]:.1f} and {ratios[1]:.1f} times less error at epsilon 0.1 and 1"
                )
        best = found["ln K", "uRR", "MLE"] / open_
        if few:
            claim(
                f"{name}: uRR meets the non-private line at epsilon = ln K, within 10 %",
                best < 1.1,
                f"{best:.3f} times",
            )
        else:
            mechanism = UtilityOptimizedRR(domain, math.log(size), sensitive.tolist())
            theory = expected_loss(mechanism, truth, n, "l1") / expected_loss(
                domain, truth, n, "l1"
            )
            print(
                f"  uRR at epsilon = ln K: {best:.3f} times the non-private line (theory of emp, without the finite population: {theory:.3f})"
            )


def personal(rng: np.random.Generator) -> None:
    """[P2 table 1]: l1(p) <= l1(r) + sum_k |r(bot k)| l1(pi_k)."""
    data = columns("foursquare_manhattan_grid25x25.csv.gz")
    if data is None:
        everyone = rng.multinomial(28_000, rng.dirichlet(np.full(625, 0.2)))
        at_home = rng.binomial(everyone, 0.1)
        hidden = {"home": at_home, "work": rng.binomial(everyone - at_home, 0.15)}
        tagged = {tag: rng.poisson(1 + 0.05 * counts) for tag, counts in hidden.items()}
    else:
        everyone = data["nyc193_checkins"].astype(int)
        hidden = {
            "home": data["nyc193_residence_checkins"].astype(int),
            "work": data["nyc193_professional_checkins"].astype(int),
        }
        tagged = {"home": data["nyc193_residence_pois"], "work": data["nyc193_professional_pois"]}
    size, sensitive = everyone.size, rng.choice(everyone.size, 15, replace=False)
    hidden = {
        tag: np.where(np.isin(np.arange(size), sensitive), 0, counts)
        for tag, counts in hidden.items()
    }
    mapped = np.concatenate(
        [everyone - sum(hidden.values()), [counts.sum() for counts in hidden.values()]]
    )
    truth, mapped_truth = everyone / everyone.sum(), mapped / mapped.sum()
    homes = {tag: counts / counts.sum() for tag, counts in hidden.items()}
    cases = {
        "none": None,
        "places": {tag: p / p.sum() for tag, p in tagged.items()},
        "truth": homes,
    }
    n, domain, worst = int(mapped.sum()) // 2, Categorical(list(range(size))), np.inf
    print(
        f"personalised, {n:,} people of {mapped.sum():,}, of whom {mapped[size]:,} at home and {mapped[size + 1]:,} at work; epsilon = ln K, MLE"
    )
    for make in (UtilityOptimizedRR, UtilityOptimizedRappor):
        city = Personalized(make(domain, math.log(size), sensitive.tolist()), list(hidden))
        results = [
            _estimate(
                city.mechanism,
                rng.multivariate_hypergeometric(mapped, n),
                MaximumLikelihood(1e-7),
                rng,
            )
            for _ in range(TABLE_RUNS)
        ]
        for case, background in cases.items():
            rows = []
            for result in results:
                shared = redistribute(result, background)
                wrong = {
                    tag: float(np.abs(shared.matrix[:, size + k] - homes[tag]).sum())
                    for k, tag in enumerate(hidden)
                }
                first = float(np.abs(result.probabilities - mapped_truth).sum())
                rows.append(
                    (
                        float(np.abs(shared.probabilities - truth).sum()),
                        first,
                        shared.bound(first, wrong) - first,
                        shared.worst_case,
                    )
                )
                worst = min(worst, shared.bound(first, wrong) - rows[-1][0])
            loss, first, second, most = np.mean(rows, axis=0)
            print(
                f"  {make.__name__:<22} knowledge: {case:<7} l1 {loss:.4f} <= {first:.4f} + {second:.4f} (at worst {first:.4f} + {most:.4f})"
            )
    claim(
        "theorem 1 holds for the personalised mechanism in every run",
        worst >= -1e-12,
        f"slack at least {worst:.2g}",
    )


def main() -> None:
    """Both experiments."""
    rng = np.random.default_rng(SEED)
    common(rng)
    personal(rng)


if __name__ == "__main__":
    main()
