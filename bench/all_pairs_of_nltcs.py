"""Claim: all 120 two-way tables of NLTCS's 16 yes-or-no attributes are estimated from one tally in
under 5 s.

Each of 21,574 people sends one tuple, every attribute randomised on its own. Tallying and
estimating are timed, the default method and the maximum of the likelihood, beside the naive way:
each pair's own tally of its own columns and the inverse of the pair's dense channel. The data are
read where WARNER_DATA names their folder; else as many people are drawn, of 16 attributes that
depend on each other.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from _data import columns
from _measure import SEED, alternate, claim
from warner import (
    Categorical,
    MaximumLikelihood,
    PerAttribute,
    Product,
    RandomizedResponse,
    Reports,
    Tally,
    UnaryEncoding,
    estimate,
)
from warner.metrics import total_variation

PEOPLE = 21_574


def people() -> dict[str, np.ndarray]:
    """16 attributes of zeros and ones."""
    found = columns("nltcs.csv.gz")
    if found is not None:
        return {name: column.astype(int) for name, column in found.items()}
    rng = np.random.default_rng(SEED)
    ability = rng.normal(size=PEOPLE)
    return {
        f"v{i}": (ability + rng.normal(size=PEOPLE) > 0.5 + i / 10).astype(int) for i in range(16)
    }


def naive(survey: PerAttribute, reports: Reports) -> list[np.ndarray]:
    """Every pair by itself: a loop over columns, and the inverse of a dense matrix."""
    out = []
    dense = {name: part.channel().dense() for name, part in survey.parts.items()}
    for a, b in combinations(survey.parts, 2):
        pair = 2 * reports.columns[f"{a}.report"].astype(int) + reports.columns[f"{b}.report"]
        out.append(
            np.linalg.solve(
                np.kron(dense[a], dense[b]), np.bincount(pair, minlength=4) / len(reports)
            )
        )
    return out


def main() -> None:
    """Timings, errors and the claims."""
    values = people()
    n, names = len(next(iter(values.values()))), list(values)
    product = Product(**dict.fromkeys(names, Categorical([0, 1])))
    pairs = list(combinations(names, 2))
    for title, make in (
        ("randomised response", RandomizedResponse),
        ("unary encoding", UnaryEncoding),
    ):
        survey = PerAttribute(
            product, {name: make(product.attributes[name], 2.0) for name in names}
        )
        reports = survey.randomize(values, np.random.default_rng(SEED))
        tally = survey.tally(reports, ways=2)

        def every(counted: Tally, method: MaximumLikelihood | None = None) -> list[np.ndarray]:
            return [estimate(counted, method, attributes=pair).probabilities for pair in pairs]

        jobs = {
            "tally": lambda s=survey, r=reports: s.tally(r, ways=2),
            "120 tables, default": lambda t=tally, e=every: e(t),
            "120 tables, likelihood": lambda t=tally, e=every: e(t, MaximumLikelihood()),
        }
        if make is RandomizedResponse:
            jobs["naive: dense inverse of each pair"] = lambda s=survey, r=reports: naive(s, r)
        seconds = alternate(jobs)
        print(
            f"{title}, {n:,} people, 16 attributes, epsilon 2 each: "
            + ", ".join(f"{k} {v:.3f} s" for k, v in seconds.items())
        )
        truth = [np.bincount(2 * values[a] + values[b], minlength=4) / n for a, b in pairs]
        errors = {name: np.mean([total_variation(e, t) for e, t in zip(found, truth, strict=True)])
                  for name, found in (("default", every(tally)), ("likelihood", every(tally, MaximumLikelihood())))}  # fmt: skip
        print("  mean total variation: " + ", ".join(f"{k} {v:.4f}" for k, v in errors.items()))
        whole = seconds["tally"] + seconds["120 tables, default"]
        claim(
            f"{title}: all 120 two-way tables in under 5 s from one tally",
            whole < 5,
            f"{whole:.2f} s",
        )


if __name__ == "__main__":
    main()
