"""A survey of seven questions, and its graphical model."""

from __future__ import annotations

from functools import cache

import numpy as np

from warner import Categorical, PerAttribute, Product, RandomizedResponse, Tally
from warner.results.graphical_model import GraphicalModel, graphical_model

NAMES = [f"q{i}" for i in range(7)]
N = 20_000


def survey() -> PerAttribute:
    """Seven questions with the answers no and yes, each randomised on its own."""
    product = Product(**dict.fromkeys(NAMES, Categorical(["no", "yes"])))
    return PerAttribute(product, dict.fromkeys(NAMES, lambda d: RandomizedResponse(d, 3.0)))


@cache
def tally(ways: int = 2) -> Tally:
    """A chain of six questions, each like the one before for 4 people of 5; the last is alone."""
    rng = np.random.default_rng(3)
    people = np.zeros((N, 7), dtype=np.int64)
    for axis in range(7):
        fresh = (rng.random(N) < 0.4).astype(np.int64)
        alike = (rng.random(N) < 0.8) & (0 < axis < 6)
        people[:, axis] = np.where(alike, people[:, axis - 1], fresh)
    answers = {name: np.array(["no", "yes"])[people[:, i]] for i, name in enumerate(NAMES)}
    return survey().tally(survey().randomize(answers, rng), ways=ways)


@cache
def model() -> GraphicalModel:
    """The model of all seven."""
    return graphical_model(tally())
