"""Attributes are joined because they depend on each other, and not by their noise. Seeded."""

from __future__ import annotations

import numpy as np

from warner import Categorical, PerAttribute, Product, RandomizedResponse
from warner.design.schemes import clusters
from warner.estimators.base import LikelihoodData

RUNS, PEOPLE = 200, 3000
DOMAIN = Product(
    a=Categorical(["x", "y"]), b=Categorical(["p", "q", "r"]), c=Categorical(["u", "v", "w"])
)


def test_independent_attributes_stay_apart_and_others_are_joined() -> None:
    """Rejects the program that joins by Cramer's V alone: it joined some two in 59 % of runs."""
    survey = PerAttribute(DOMAIN, {k: lambda d: RandomizedResponse(d, 1.0) for k in "abc"})
    channel, rng = survey.channel(), np.random.default_rng(11)
    independent = np.multiply.outer([0.7, 0.3], [0.5, 0.3, 0.2])
    dependent = independent + 0.1 * np.array([[1, -1, 0], [-1, 1, 0]])
    joined: dict[str, float] = {}
    for name, pair in (("independent", independent), ("dependent", dependent)):
        theta = np.multiply.outer(pair, [0.4, 0.4, 0.2]).ravel()
        groups = [
            clusters(LikelihoodData(channel, channel.simulate(theta, PEOPLE, rng), PEOPLE, DOMAIN))
            for _ in range(RUNS)
        ]
        joined[name] = float(
            np.mean([any({"a", "b"} <= set(g) for g in found) for found in groups])
        )
        if name == "independent":
            joined["any"] = float(np.mean([len(found) < 3 for found in groups]))
    error = (0.05 * 0.95 / RUNS) ** 0.5
    assert joined["any"] < 0.05 + 3 * error
    assert joined["dependent"] > 0.95
