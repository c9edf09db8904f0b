"""Claim: P1's bias correction is shrinkage towards even shares, and early-stopped EM does that better [P1 figs 5-9, 13-15].

Randomised response with budgets 0.1, 2, ln K and infinity, N1, .., N4 people each, drawn from a distribution over K values anew in every
run; every method sees the same reports. [P1]'s data are not to be had; with WARNER_DATA naming the data folder: the General Social
Survey's 400 cells (for the census), Foursquare check-ins on a Tokyo grid (for People-flow), on half-degree squares of the USA (for
Foursquare's cities); else synthetic ones of the same sizes. How alpha is chosen by the bootstrap was settled on other, synthetic data.

MSE is P1's, the sum over the cells of the squared error, mean over runs; JS in nats. EM starts at the report histogram and stops where a step
raises the log-likelihood of all reports by less than 0.001 nats, P1 naming no stop; "corrected" has P1's choice of alpha.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from _data import columns
from _measure import SEED
from warner import BiasCorrection, Categorical, ExpectationMaximization, Inversion, MaximumLikelihood, Observed, RandomizedResponse, Uniform
from warner.channel import StackChannel
from warner.estimators import Estimator
from warner.evidence import Evidence
from warner.metrics import jensen_shannon, sum_of_squares

RUNS = 12
PEOPLE = {
    "fig 5": [(500, 500, 50, 0), (500, 500, 50, 20), (500, 500, 50, 50)],
    "fig 6": [(100, 100, 10, 10), (600, 600, 60, 60), (2000, 2000, 200, 200)],
    "fig 7": [(20_000, 500, 50, 20)],
    "fig 8": [(0, 1000, 0, 0), (0, 1000, 100, 0), (0, 0, 100, 0)],
}
EM, PUBLISHED, BOOTSTRAP, MAXIMUM = "EM", "corrected", "corrected, bootstrap", "maximum"
METHODS: Mapping[str, Estimator] = {
    "Uniform": Uniform(),
    "ObfDat": Observed(),
    "MatInv norm, equal weights": Inversion("normalize", weights="equal"),
    "MatInv proj, equal weights": Inversion("project", weights="equal"),
    "MatInv proj": Inversion("project"),
    EM: BiasCorrection(alpha=0),
    PUBLISHED: BiasCorrection(),
    BOOTSTRAP: BiasCorrection(alpha="bootstrap"),
    MAXIMUM: MaximumLikelihood(1e-8),
    "EM(1000)": ExpectationMaximization(1000),
    "EM(100)": ExpectationMaximization(100),
    "EM(30)": ExpectationMaximization(30),
}


def _truths(rng: np.random.Generator) -> dict[str, np.ndarray]:
    survey, tokyo, places = columns("gss_cells400.csv.gz"), columns("foursquare_tokyo_grid20x20.csv.gz"), columns("foursquare_us_poi.csv.gz")
    if survey is None or tokyo is None or places is None:
        side = np.linspace(-2.5, 2.5, 20)
        bell = np.exp(-(side[:, None] ** 2 + side**2)).ravel()
        found = {"Dirichlet(0.3)": rng.dirichlet(np.full(400, 0.3)), "bell on a grid": bell, "Zipf": rng.permutation(1 / np.arange(1, 137))}
    else:
        squares = np.unique(np.stack([np.floor(2 * places["lat"]), np.floor(2 * places["lon"])]), axis=1, return_inverse=True)[1].ravel()
        found = {"survey": survey["count"], "Tokyo": tokyo["checkins"][tokyo["checkins"] > 0], "USA": np.bincount(squares, places["users"])}
    return {f"{name}, K = {v.size}": v / v.sum() for name, v in found.items()}


def _fits(truth: np.ndarray, people: tuple[int, ...], rng: np.random.Generator) -> dict[str, np.ndarray]:
    """The estimates (runs, K) of every method."""
    domain = Categorical(list(range(truth.size)))
    used = [(RandomizedResponse(domain, e).channel(), n) for e, n in zip((0.1, 2.0, math.log(truth.size), math.inf), people, strict=True) if n]
    channel = StackChannel([c for c, _ in used], [n for _, n in used])
    found: dict[str, list[np.ndarray]] = {name: [] for name in METHODS}
    for _ in range(RUNS):
        facts = Evidence(channel, channel.simulate(truth, sum(people), rng), sum(people), domain)
        for name, method in METHODS.items():
            found[name].append(method.fit(facts).shares)
    return {name: np.stack(fits) for name, fits in found.items()}


def _summary(ratios: list[float]) -> str:
    low, high = min(ratios), max(ratios)
    return f"geometric mean {np.exp(np.mean(np.log(ratios))):.2f}, {low:.2f} to {high:.2f}, below 1 in {sum(r < 1 for r in ratios)} of {len(ratios)}"


def main() -> None:
    """Tables, ratios over all cells, claims."""
    from scipy.stats import ttest_rel

    rng = np.random.default_rng(SEED)
    mse: list[dict[str, float]] = []
    parts: list[tuple[float, float]] = []
    best: dict[str, int] = {}
    significant = [0, 0]
    for title, truth in _truths(rng).items():
        print(f"{title}: MSE x 1e3 / JS x 1e3, means of {RUNS} runs; fig 9's r and p between the squared errors of {EM} and {PUBLISHED}")
        for figure, cells in PEOPLE.items():
            for people in cells:
                fits = _fits(truth, people, rng)
                squares = {name: np.array([sum_of_squares(truth, p) for p in found]) for name, found in fits.items()}
                js = {name: float(np.mean([jensen_shannon(truth, p) for p in found])) for name, found in fits.items()}
                mse.append({name: float(losses.mean()) for name, losses in squares.items()})
                r = np.corrcoef(squares[EM], squares[PUBLISHED])[0, 1]
                p = ttest_rel(squares[EM], squares[PUBLISHED]).pvalue
                if p < 0.05:
                    significant[int(mse[-1][PUBLISHED] > mse[-1][EM])] += 1
                spread = {name: float(fits[name].var(axis=0, ddof=1).sum()) for name in (EM, PUBLISHED)}
                shift = {name: mse[-1][name] - spread[name] * (1 - 1 / RUNS) - spread[name] / RUNS for name in spread}  # unbiased for bias^2
                parts.append((spread[PUBLISHED] / spread[EM], shift[PUBLISHED] - shift[EM]))
                least = min(mse[-1], key=lambda name: mse[-1][name])
                best[least] = best.get(least, 0) + 1
                cells_text = "  ".join(f"{name} {1e3 * value:.3g} / {1e3 * js[name]:.3g}" for name, value in mse[-1].items())
                print(f"  {figure} {people}  {cells_text}  r {r:.2f} p {p:.2g}", flush=True)
    ratios = {(a, b): [cell[a] / cell[b] for cell in mse] for a in METHODS for b in METHODS}
    for a, b in [(PUBLISHED, EM), (BOOTSTRAP, EM), (PUBLISHED, MAXIMUM), (BOOTSTRAP, MAXIMUM), (EM, MAXIMUM)]:
        print(f"MSE of {a} / {b}: {_summary(ratios[a, b])}")
    for other in [name for name in METHODS if name.startswith("EM(")] + ["Uniform"]:
        for corrected in (PUBLISHED, BOOTSTRAP):
            print(f"MSE of {corrected} / {other}: {_summary(ratios[corrected, other])}")
    print(f"MSE of MatInv proj, equal weights / inverse variance: {_summary(ratios['MatInv proj, equal weights', 'MatInv proj'])}")
    print(f"least MSE: {', '.join(f'{name} in {count}' for name, count in best.items())} of {len(mse)}")
    lower = sum(v < 1 for v, _ in parts)
    larger = sum(b > 0 for _, b in parts)
    print(f"figs 13-15: the correction lowers EM's variance in {lower} and raises its squared bias in {larger} of {len(parts)}")
    print(f"fig 9: paired t-test below 0.05 for the correction in {significant[0]}, against it in {significant[1]} of {len(mse)}")


if __name__ == "__main__":
    main()
