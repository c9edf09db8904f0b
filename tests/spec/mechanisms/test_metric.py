"""Mechanisms with a metric: every pair of values, and what no law can represent."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import warner
from tests.registry import LOOSE, METRIC, smallest
from warner import Geometric, Grid, Integers, Interval, Laplace, PlanarGeometric, Points
from warner.mechanisms import Exponential, PlanarLaplace
from warner.privacy.report_laws import worst_slope


@pytest.mark.parametrize("name", METRIC)
@pytest.mark.parametrize("epsilon", [0.05, 0.7, 2.0])
def test_every_pair_of_values_keeps_epsilon_times_their_distance(name: str, epsilon: float) -> None:
    mechanism = smallest(name, epsilon)
    table, distances = mechanism.probabilities(), mechanism.distances()
    assert distances is not None and set(table.sum(axis=0)) == {Fraction(1)}
    found = worst_slope(table, distances)[0]
    assert found <= epsilon * (1 + 1e-12) and found == pytest.approx(mechanism.epsilon, rel=1e-11)
    assert (
        isinstance(mechanism.guarantee, warner.privacy.MetricLDP) and warner.audit(mechanism).holds
    )
    if name not in LOOSE:
        assert found > epsilon - 1e-9
    assert warner.audit(mechanism, claim=mechanism.guarantee).holds
    assert not warner.audit(mechanism, claim=warner.privacy.MetricLDP(found * 0.99, 1.0)).holds
    assert not warner.audit(
        mechanism, claim=warner.LDP(epsilon)
    ).holds  # not at that price for distant values


def test_what_no_law_can_represent_is_refused_with_what_can() -> None:
    with pytest.raises(warner.errors.BudgetError, match="smallest for this grid is"):
        Geometric(Integers(0, 9), 1e-6)
    with pytest.raises(warner.errors.BudgetError, match=r"smallest is 0\.04"):
        PlanarGeometric(Grid(4, 4, 0.5), 0.03)
    assert PlanarGeometric(Grid(4, 4, 0.5), 0.04).epsilon <= 0.04
    with pytest.raises(warner.errors.BudgetError, match="at most 600 nats"):
        PlanarLaplace(Grid(40, 40), 20.0)
    with pytest.raises(warner.errors.BudgetError, match="at most 1200 nats"):
        Exponential(Integers(0, 99), 20.0)
    with pytest.raises(warner.errors.BudgetError, match="smallest for this grid is") as error:
        Laplace(Interval(0, 1, 8), 1e-3)
    smallest = float(str(error.value).split("for this grid is ")[1].split(";")[0])
    assert Laplace(Interval(0, 1, 8), smallest * 1.01).epsilon <= smallest * 1.01
    assert Laplace(Interval(0, 1, 8), 1e-3, cells=32).epsilon <= 1e-3
    for make in (PlanarGeometric, PlanarLaplace):
        for domain in (Integers(0, 9), Grid(1, 9), warner.Categorical(["a", "b"])):
            with pytest.raises(warner.errors.ArgumentTypeError, match="at least 2 rows"):
                make(domain, 1.0)
    for domain in (Interval(0, 1, 4), Grid(3, 3)):
        with pytest.raises(warner.errors.ArgumentTypeError, match="Integers"):
            Geometric(domain, 1.0)
    with pytest.raises(warner.errors.ArgumentTypeError, match="coordinates"):
        Exponential(warner.Categorical(["a", "b"]), 1.0)
    with pytest.raises(warner.errors.ArgumentTypeError, match="coordinates"):
        Exponential(
            Interval(0, 10, 20), 0.3
        )  # two numbers on either side of an edge are close, their bins are not
    with pytest.raises(warner.errors.ArgumentError, match="number of values"):
        Exponential(Integers(0, 2000), 0.1)
    with pytest.raises(warner.errors.BudgetError, match="closest values"):
        Exponential(Points([[0], [1e-25], [1]]), 1.0)
    with pytest.raises(warner.errors.ArgumentError, match="different distances"):
        Exponential(Points(np.random.default_rng(0).random((500, 2))), 1.0)
    with pytest.raises(warner.errors.ArgumentError, match="number of cells"):
        PlanarGeometric(Grid(1000, 1000), 1.0)
    with pytest.raises(warner.errors.ArgumentError, match="at most 2,097,152 values"):
        Geometric(Integers(0, 2**23), 1.0)
    for make in (lambda d: Exponential(d, 1.0), lambda d: PlanarGeometric(d, 1.0)):  # type: ignore[arg-type, return-value]
        with pytest.raises(warner.WarnerError):
            make(Integers(2**53 - 10, 2**53 + 10))
    for arguments in (
        {"sensitivity": 0},
        {"sensitivity": 99},
        {"sensitivity": 1, "cells": 5},
        {"cells": 0},
        {"reach": -1},
        {"sensitivity": "1"},
    ):
        with pytest.raises(warner.WarnerError):
            Laplace(Integers(0, 9), 1.0, **arguments)
    with pytest.raises(warner.errors.ArgumentError, match="sensitivity"):
        Laplace(Interval(0, 9, 4), 1.0, sensitivity=1)
