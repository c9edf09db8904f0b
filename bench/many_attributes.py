"""Graphical models of many attributes, judged on their margins: against asking for each alone.

    trees, mixtures of classes, Ising models x attributes in {12, 50} x n in {5000, 50000}
    x epsilon of each attribute in {1, 2}, randomised response on yes or no

The truth is a made-up population of 100,000 people. Reports are of n people drawn from it with
replacement. Errors are sums of squares over all pairs, and over 60 triples and 60 sets of four.
``model`` is ``graphical_model(tally)`` from a tally of pairs, and ``sample`` the law of its
synthetic people. ``alone`` is the default estimate of
the pair or triple from its own reports. ``tree`` allows no clique of more than two. ``independent``
is the product of the single attributes. ``--quick`` does a part.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from itertools import combinations, product
from time import process_time

import numpy as np

from _measure import SEED, claim
from warner import Categorical, PerAttribute, Product, RandomizedResponse, estimate
from warner.estimators.raked_tables import product_of
from warner.results.graphical_model import graphical_model

POPULATION, SUBSETS, SWEEPS = 100_000, 60, 30
Draw = Callable[[int, np.random.Generator], np.ndarray]


def tree(attributes: int, rng: np.random.Generator) -> np.ndarray:
    """Each attribute depends on one before it."""
    people = np.zeros((POPULATION, attributes), dtype=np.int64)
    for axis in range(attributes):
        above = people[:, rng.integers(axis)] if axis else people[:, 0]
        low, high = rng.uniform(0.1, 0.5), rng.uniform(0.4, 0.9)
        people[:, axis] = rng.random(POPULATION) < np.where(above == 1, high, low)
    return people


def mixture(attributes: int, rng: np.random.Generator) -> np.ndarray:
    """Three to five classes, in each of which attributes are independent."""
    classes = int(rng.integers(3, 6))
    which = rng.choice(classes, POPULATION, p=rng.dirichlet(np.full(classes, 3.0)))
    shares = rng.beta(1.0, 1.0, (classes, attributes))
    return (rng.random((POPULATION, attributes)) < shares[which]).astype(np.int64)


def ising(attributes: int, rng: np.random.Generator) -> np.ndarray:
    """Each attribute depends on about four others, drawn by Gibbs sampling."""
    strength = np.triu(rng.normal(0, 0.5, (attributes, attributes)), 1)
    strength *= rng.random(strength.shape) < 4 / attributes
    strength += strength.T
    field = rng.normal(0, 0.3, attributes)
    spins = rng.choice([-1.0, 1.0], (POPULATION, attributes))
    for _ in range(SWEEPS):
        for axis in range(attributes):
            chance = 1 / (1 + np.exp(-2 * (spins @ strength[axis] + field[axis])))
            spins[:, axis] = np.where(rng.random(POPULATION) < chance, 1.0, -1.0)
    return (spins > 0).astype(np.int64)


MODELS: dict[str, Draw] = {"tree": tree, "mixture": mixture, "Ising": ising}


def share(people: np.ndarray, axes: Sequence[int]) -> np.ndarray:
    """The table of some attributes of people."""
    number = np.ravel_multi_index(people[:, list(axes)].T, [2] * len(axes))
    return np.bincount(number, minlength=2 ** len(axes)).reshape([2] * len(axes)) / len(people)


def squared(found: np.ndarray, true: np.ndarray) -> float:
    """The squared error of a table."""
    return float(((found - true) ** 2).sum())


def judge(kind: str, attributes: int, n: int, epsilon: float) -> dict[str, dict[str, float]]:
    """Squared errors, {order of margins: {method: error}}, and seconds of the model."""
    rng = np.random.default_rng([SEED, sum(map(ord, kind)), attributes, n, round(10 * epsilon)])
    people = MODELS[kind](attributes, rng)
    names = [f"a{i:02}" for i in range(attributes)]
    yes_no = Categorical([0, 1])
    survey = PerAttribute(
        Product(**dict.fromkeys(names, yes_no)),
        dict.fromkeys(names, lambda domain: RandomizedResponse(domain, epsilon)),
    )
    asked = people[rng.integers(POPULATION, size=n)]
    reports = survey.randomize(dict(zip(names, asked.T, strict=True)), rng)
    tally = survey.tally(reports, ways=2)
    start = process_time()
    model = graphical_model(tally)
    errors: dict[str, dict[str, float]] = {"seconds": {"model": process_time() - start}}
    print(f"  {model}, largest clique {max(map(len, model.cliques))}")
    only_tree = graphical_model(tally, largest_clique=2)
    singles = [model.marginal(name) for name in names]
    triples = survey.tally(reports, ways=3)
    for order in (2, 3, 4):
        every = list(combinations(range(attributes), order))
        chosen = [every[i] for i in rng.permutation(len(every))[:SUBSETS]]
        found: dict[str, float] = {}
        for axes in chosen:
            wanted, true = [names[axis] for axis in axes], share(people, axes)
            tables = {
                "model": model.marginal(wanted),
                "sample": model.tree.marginal(axes),
                "tree": only_tree.tree.marginal(axes),
                "independent": product_of([singles[axis] for axis in axes]),
            }
            if order < 4:
                alone = estimate(triples, attributes=wanted)
                tables["alone"] = alone.probabilities.reshape(true.shape)
            for method, table in tables.items():
                found[method] = found.get(method, 0.0) + squared(table, true)
        errors[str(order)] = found
    return errors


def main() -> None:
    """Print errors over those of asking alone, and the claims."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="12 attributes only")
    quick = parser.parse_args().quick
    pairs, triples, longest = [], [], 0.0
    for kind, attributes, n, epsilon in product(
        MODELS, (12,) if quick else (12, 50), (5000, 50_000), (1.0, 2.0)
    ):
        errors = judge(kind, attributes, n, epsilon)
        seconds = errors.pop("seconds")["model"]
        longest = max(longest, seconds)
        print(f"{kind}, {attributes} attributes, n = {n}, epsilon {epsilon:g}: {seconds:.1f} s")
        for order, found in errors.items():
            base = "alone" if "alone" in found else "model"
            ratios = {method: error / found[base] for method, error in found.items()}
            text = ", ".join(f"{method} {ratio:.2f}" for method, ratio in ratios.items())
            print(f"  {order} attributes, over {base}: {text}", flush=True)
        pairs.append(errors["2"]["model"] / errors["2"]["alone"])
        triples.append(errors["3"]["model"] / errors["3"]["alone"])
    claim("a model takes less than 30 s", longest < 30, f"{longest:.1f} s")
    claim("pairs within 1.05 of asking alone", max(pairs) <= 1.05, f"worst {max(pairs):.3f}")
    mean = float(np.exp(np.log(triples).mean()))
    text = f"{mean:.2f}, {np.mean(np.array(triples) <= 1.05):.0%} within 1.05, worst {max(triples):.2f}"
    claim("triples err no more than asking alone, on the geometric mean", mean <= 1, text)


if __name__ == "__main__":
    main()
