"""Claim: warner.design.proposal predicts what a survey will give.

    labels K in {2, 4, 12, 40, 150}, numbers K in {5, 20, 60, 120}
    x n in {500, 2000, 20,000} x epsilon in {0.5, 1, 2, 3}

A cell is a question with a truth that the proposal does not know. The truth is one of three that no
rule of the proposal was chosen on, in turn.

- Widths: the mean width of the 95 % interval over ``RUNS`` simulated tallies is compared with the
  predicted one, for the proposed mechanism and for another candidate, in turn. The intervals are of
  a share of 10 % and, for numbers, of the mean. ``told``: the prediction knows the truth.
  ``untold``: it has the made distribution that the proposal takes. Bar: 90 % of the predictions are
  within 10 % of the simulated mean.
- Mechanisms: every candidate of warner.plan is simulated at the truth, with the recommended
  estimator, on the same people; mechanisms whose reports say the same count once. Those that may be
  the best after a few tallies get more, and are judged on the last ones alone. The loss is w1 for
  numbers and l2 for labels. Bars: the error of the proposed mechanism is within 5 % of the least in
  85 % of the cells, and within 5 % or two standard errors of the ratio in 97 %. The least of
  several noisy means is too small, so the second bar is the one without that chance.

Every cell is one line of bench/results/plan_predictions.jsonl. Cells that are there are not done
again, so the script may be stopped at any time. ``--minutes`` stops it after the cell under way.
``--predict`` makes the predictions of stored cells anew and keeps what was simulated.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from _measure import SEED, claim
from warner import Categorical, Integers
from warner.design.planning import candidates, is_same_law, law_of
from warner.design.proposal import Expected, Scenario, expect, propose, scenarios_of
from warner.domains import Domain
from warner.errors import WarnerError
from warner.estimators.base import LikelihoodData
from warner.mechanisms import Mechanism
from warner.results.recommend import recommended_fit
from warner.theory import expected_loss

FILE = Path(__file__).parent / "results" / "plan_predictions.jsonl"
SIZES = {"labels": (2, 4, 12, 40, 150), "numbers": (5, 20, 60, 120)}
PEOPLE = (500, 2000, 20_000)
EPSILONS = (0.5, 1.0, 2.0, 3.0)
RUNS, LEVEL, SHARE = 16, 0.95, 0.1
# Simulated tallies for all mechanisms, for those that may still be the best, and for the verdict.
STAGES: dict[str, Callable[[int], tuple[int, int, int]]] = {
    "labels": lambda size: (16, 60, 800 if size <= 12 else 240),
    "numbers": lambda size: (8, 24, 96),
}
_LONG = {"LocalHashing"}  # takes a hundred times as long as optimised bits, and errs as much
_NEAR = 1.02  # errors within 2 % of the least are tried to the end


def truth_of(kind: str, size: int, number: int) -> tuple[str, np.ndarray]:
    """The truth of a cell: its name and its shares (K,)."""
    x = (np.arange(size) + 0.5) / size
    made = {
        "labels": {
            "geometric": 0.8 ** np.arange(size) + 1e-4,
            "drawn": np.random.default_rng([SEED, size]).dirichlet(np.ones(size)),
            "two large": np.where(np.arange(size) < 2, 0.3, 0.4 / max(1, size - 2)),
        },
        "numbers": {
            "two humps": np.exp(-(((x - 0.35) / 0.12) ** 2) / 2)
            + 0.5 * np.exp(-(((x - 0.8) / 0.07) ** 2) / 2),
            "exponential": np.exp(-4 * x),
            "late": x**3 * (1.02 - x) ** 1.2,
        },
    }[kind]
    name = list(made)[number % 3]
    return name, made[name] / made[name].sum()


def cell(kind: str, size: int, n: int, epsilon: float, number: int) -> dict[str, Any]:
    """Predictions and simulations of one question."""
    domain, truth, name = question(kind, size, number)
    found = propose(domain, n, epsilon)
    every = makers(domain, epsilon)
    others = [m for m in every if m not in {found.best.name} | _LONG]
    other = others[number % len(others)]
    row: dict[str, Any] = {
        "kind": kind, "K": size, "n": n, "epsilon": epsilon, "truth": name, "number": number,
        "widths": [
            {"name": each, "simulated": simulated_widths(every[each], truth, n, RUNS, number)}
            for each in (found.best.name, other)
        ],
        "errors": ranked(every, found.best.name, truth, n, number),
    }  # fmt: skip
    return predicted(row)


def question(kind: str, size: int, number: int) -> tuple[Domain, Scenario, str]:
    """The domain, the truth and its name."""
    domain: Domain = (
        Categorical([f"v{i}" for i in range(size)]) if kind == "labels" else Integers(0, size - 1)
    )
    name, theta = truth_of(kind, size, number)
    (truth,) = scenarios_of(domain, theta, SHARE, LEVEL)
    return domain, truth, name


def predicted(row: dict[str, Any]) -> dict[str, Any]:
    """A cell with the predictions that are made today."""
    domain, truth, _ = question(row["kind"], row["K"], row["number"])
    n, epsilon = row["n"], row["epsilon"]
    made = scenarios_of(domain, None, SHARE, LEVEL)
    start = time.process_time()
    found = propose(domain, n, epsilon)
    seconds = round(time.process_time() - start, 2)
    every = makers(domain, epsilon)
    widths = [
        each
        | {
            "told": pair(expect(every[each["name"]], (truth,), n)),
            "untold": pair(expect(every[each["name"]], made, n)),
        }
        for each in row["widths"]
    ]
    errors = row["errors"]
    proposed = same_as(found.best.name, errors["names"], every)
    if proposed is None:
        proposed = found.best.name
        errors = ranked(every, proposed, truth, n, row["number"])
    proposal = {"proposed": proposed, "seconds": seconds}
    return row | proposal | {"widths": widths, "errors": errors}


def same_as(name: str, among: list[str], every: dict[str, Mechanism]) -> str | None:
    """The name itself, or that of another mechanism whose reports say the same, or None."""
    law = law_of(every[name])
    for other in among:
        if other == name or is_same_law(law, law_of(every[other])):
            return other
    return None


def makers(domain: Domain, epsilon: float) -> dict[str, Mechanism]:
    """All candidates of a plan that can be made."""
    found = {}
    for name, make in candidates(domain, None, None, None, bool(domain.dimension)):
        try:
            found[name] = make(domain, epsilon)
        except WarnerError:
            continue
    return found


def pair(found: Expected) -> list[float | None]:
    """The widths of a share and of the mean."""
    return [None if w is None else float(f"{w:.5g}") for w in (found.share, found.mean)]


def simulated_widths(
    mechanism: Mechanism, truth: Scenario, n: int, runs: int, number: int
) -> list[float | None]:
    """The mean widths of the intervals that ``estimate`` prints."""
    rows = []
    for solution in truth.estimates(mechanism, n, runs, np.random.default_rng([SEED, number])):
        rows.append(truth.widths(solution))
    shares = [share for share, _ in rows if share is not None]
    means = [mean for _, mean in rows if mean is not None]
    return [float(f"{np.mean(w):.5g}") if w else None for w in (shares, means)]


def ranked(
    every: dict[str, Mechanism], proposed: str, truth: Scenario, n: int, number: int
) -> dict[str, Any]:
    """Mean errors of the mechanisms that may be the best, with the covariances of these means.

    All mechanisms are tried on the same people, so differences have their own standard errors, and
    mechanisms whose reports say the same are tried once. Of labels the known mean of the unbiased
    estimate's error takes a part of the chance away: it varies with the error that is judged.
    """
    kind = "numbers" if truth.domain.is_ordered else "labels"
    left = [name for name in different(every, proposed) if name not in _LONG]
    stages = STAGES[kind](len(truth.theta))
    for stage, runs in enumerate(stages):
        losses = np.stack([adjusted(every[name], truth, n, runs, [number, stage]) for name in left])
        means, best = losses.mean(axis=1), int(np.argmin(losses.mean(axis=1)))
        excess = losses - losses[best]
        spread = excess.std(axis=1, ddof=1) / math.sqrt(runs)
        if stage < len(stages) - 1:
            near = (excess.mean(axis=1) <= 3 * spread) | (means <= _NEAR * means[best])
            left = [n for n, is_near in zip(left, near, strict=True) if is_near or n == proposed]
    covariance = np.atleast_2d(np.cov(losses)) / runs
    return {
        "names": left, "runs": runs, "means": rounded(means), "covariance": [rounded(c) for c in covariance],
    }  # fmt: skip


def different(every: dict[str, Mechanism], proposed: str) -> list[str]:
    """The names of mechanisms, one for each law; of equal ones the proposed one."""
    names: list[str] = []
    laws = {name: law_of(every[name]) for name in every}
    for name in [proposed, *every]:
        if name not in names and not any(is_same_law(laws[name], laws[one]) for one in names):
            names.append(name)
    return names


def adjusted(
    mechanism: Mechanism, truth: Scenario, n: int, runs: int, stream: list[int]
) -> np.ndarray:
    """The losses (runs,) of the recommended estimate, with less chance and the same mean."""
    losses, known = [], []
    channel, unbiased = mechanism.channel(), not truth.domain.is_ordered
    for run in range(runs):
        rng = np.random.default_rng([SEED, *stream, run])
        people = rng.multinomial(n, truth.theta)
        operator, weights = channel.simulate_tally(truth.theta, n, rng, people)
        _, fit = recommended_fit(LikelihoodData(operator, weights, n, truth.domain))
        losses.append(truth.loss(fit.shares, truth.theta))
        if unbiased:
            known.append(truth.loss(operator.invert(weights), truth.theta))
    if not unbiased:
        return np.array(losses)
    chance = np.array(known) - expected_loss(mechanism, truth.theta, n)
    slope = np.polyfit(chance, losses, 1)[0]
    return np.asarray(np.array(losses) - slope * chance)


def rounded(numbers: np.ndarray) -> list[float]:
    """Five digits of each."""
    return [float(f"{number:.5g}") for number in numbers]


def excess_of(errors: dict[str, Any], proposed: str) -> tuple[float, float]:
    """The error of the proposed mechanism over the least one, and the ratio's standard error."""
    means, covariance = np.array(errors["means"]), np.array(errors["covariance"])
    one, best = errors["names"].index(proposed), int(np.argmin(means))
    ratio = means[one] / means[best]
    slope = np.zeros(len(means))
    slope[one] += 1 / means[best]
    slope[best] -= ratio / means[best]
    return float(ratio), math.sqrt(max(0.0, slope @ covariance @ slope))


def judged(rows: list[dict[str, Any]]) -> None:
    """Print the shares of predictions and of mechanisms that meet their bars."""
    for told in ("told", "untold"):
        for kind in SIZES:
            ratios = [
                p / s
                for row in rows
                if row["kind"] == kind
                for w in row["widths"]
                for p, s in zip(w[told], w["simulated"], strict=True)
                if p and s
            ]
            if not ratios:
                continue
            near = np.mean([abs(r - 1) <= 0.1 for r in ratios])
            low, middle, high = np.quantile(ratios, [0.05, 0.5, 0.95])
            claim(
                f"{kind}, {told}: 90 % of predicted widths within 10 % of the simulated",
                bool(near >= 0.9),
                f"{near:.1%} of {len(ratios)}; 5, 50 and 95 % of the ratios: {low:.3f}, "
                f"{middle:.3f}, {high:.3f}",
            )
    for kind in SIZES:
        of_kind = [row for row in rows if row["kind"] == kind]
        if not of_kind:
            continue
        found = np.array([excess_of(row["errors"], row["proposed"]) for row in of_kind])
        near = found[:, 0] <= 1.05
        either = near | (found[:, 0] - 1 <= 2 * found[:, 1])
        figure = (
            f"{len(found)} cells; geometric mean of the ratios {np.exp(np.log(found[:, 0]).mean()):.4f}, "
            f"largest {found[:, 0].max():.3f}, largest standard error {found[:, 1].max():.3f}"
        )
        claim(
            f"{kind}: the proposed mechanism errs at most 5 % more than the best in 85 % of cells",
            bool(near.mean() >= 0.85),
            f"{near.mean():.1%} of {figure}",
        )
        claim(
            f"{kind}: within 5 % or two standard errors of the best in 97 % of cells",
            bool(either.mean() >= 0.97),
            f"{either.mean():.1%} of {len(found)} cells",
        )


def main() -> None:
    """Do the cells that are missing, then judge all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=math.inf)
    parser.add_argument("--kinds", nargs="*", default=list(SIZES))
    parser.add_argument("--predict", action="store_true")
    options = parser.parse_args()
    rows = [json.loads(line) for line in FILE.read_text().splitlines()] if FILE.exists() else []
    if options.predict:
        rows = [predicted(row) for row in rows]
        FILE.write_text("".join(json.dumps(row) + "\n" for row in rows))
    known = {(r["kind"], r["K"], r["n"], r["epsilon"]) for r in rows}
    end = time.monotonic() + 60 * options.minutes
    cells = [(k, *c) for k in SIZES for c in product(SIZES[k], PEOPLE, EPSILONS)]
    # In chance order, so that a part of the cells speaks for all.
    for at in np.random.default_rng(SEED).permutation(len(cells)):
        kind, size, n, epsilon = cells[at]
        if (kind, size, n, epsilon) in known or kind not in options.kinds:
            continue
        if time.monotonic() > end:
            break
        row = cell(kind, size, n, epsilon, int(at))
        rows.append(row)
        with FILE.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(
            kind, size, n, epsilon, row["truth"], row["proposed"], row["seconds"],
            excess_of(row["errors"], row["proposed"]), flush=True,
        )  # fmt: skip
    judged(rows)


if __name__ == "__main__":
    main()
