"""A survey of two attributes, and tallies of random people."""

from __future__ import annotations

from typing import Any

import numpy as np

from warner import Categorical, Integers, PerAttribute, Product, RandomizedResponse, UnaryEncoding
from warner.reports.tally import Tally

SEX, AGE = Categorical(["f", "m"]), Integers(0, 3)


BOTH = Product(sex=SEX, age=AGE)


def _survey(epsilon: float = 2.0) -> PerAttribute:
    return PerAttribute(
        BOTH,
        {
            "sex": lambda d: RandomizedResponse(d, epsilon),
            "age": lambda d: UnaryEncoding(d, epsilon),
        },
    )


def _tally(survey: PerAttribute, n: int = 2000, **how: Any) -> Tally:
    rng = np.random.default_rng(n)
    return survey.tally(
        survey.randomize(survey.domain.decode(rng.integers(0, survey.domain.size, n)), rng), **how
    )
