"""A plan ranks mechanisms and counts people."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from warner import Integers

DOMAIN = Integers(0, 9)


def test_a_plan_ranks_mechanisms_and_counts_people() -> None:
    ranking = warner.plan(Integers(1, 100), 1.0, 10_000, sensitive=[7, 8], loss="l1", error=0.1)
    errors = [option.error for option in ranking.results]
    assert (
        errors == sorted(errors)
        and ranking.no_protection.error < errors[0]
        and ranking.best.name == "UtilityOptimizedRR"
    )
    assert {
        "UtilityOptimizedRR",
        "UtilityOptimizedRappor",
        "RandomizedResponse",
        "LocalHashing",
    } <= {o.name for o in ranking.results}
    best = ranking.best
    assert best.people is not None and best.mechanism is not None
    uniform = np.full(100, 0.01)
    assert (
        warner.theory.expected_loss(best.mechanism, uniform, best.people, "l1")
        <= 0.1
        < warner.theory.expected_loss(best.mechanism, uniform, best.people - 1, "l1")
    )
    squares = warner.plan(Integers(1, 100), 1.0, 10_000, error=1e-3, loss="l2")
    option = squares.best
    assert (
        option.people is not None
        and option.mechanism is not None
        and squares.no_protection.people is not None
    )
    assert warner.theory.expected_loss(option.mechanism, uniform, option.people, "l2") <= 1e-3
    assert not any(o.name.startswith("Utility") for o in squares.results)
    many = warner.plan(Integers(1, 5000), 1.0, 10)
    assert "LocalHashing" in {option.name for option in many.results}
    for wrong in (
        {"n": 0},
        {"epsilon": -1},
        {"error": 0},
        {"loss": "l3"},
        {"theta": [1.0]},
        {"sensitive": []},
        {"epsilon": 59.0},
        {"error": 1e-300},
        {"n": 10**400},
    ):
        with pytest.raises(warner.WarnerError):
            warner.plan(**({"domain": DOMAIN, "epsilon": 1.0, "n": 10} | wrong))  # type: ignore[arg-type]
    with pytest.raises(warner.WarnerError):
        warner.plan(10, 1.0, 10)  # type: ignore[arg-type]
