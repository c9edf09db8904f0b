"""Intervals of people who send several reports each hold the truth as often as they say.

The values of a person are all alike, which is the hardest case. The wrong program counts each
report as that of another person: its intervals are then too narrow.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binom

from tests.statistical.mechanisms._chi_square import ALPHA
from warner import (
    Categorical,
    Integers,
    Interval,
    KeyValue,
    Product,
    RandomizedResponse,
    UnaryEncoding,
    estimate,
)
from warner.estimators import Inversion, MaximumLikelihood, SampleMean
from warner.reports.tally import Tally

TIMES, PEOPLE, RUNS = 16, 120, 60
THETA = np.array([0.5, 0.3, 0.2])
JOINT = np.array([[0.1, 0.2, 0.3], [0.1, 0.1, 0.2]])

Case = Callable[[np.random.Generator], list[Tally]]
Bounds = Callable[[list[Tally], np.random.Generator], np.ndarray]


def _of_persons(shares: np.ndarray, people: int, rng: np.random.Generator) -> np.ndarray:
    """The values of all reports, one person after the other."""
    return np.repeat(rng.choice(shares.size, people, p=shares), TIMES)


PLAIN = RandomizedResponse(Integers(0, 2), 2.0)
BITS = UnaryEncoding(Integers(0, 2), 2.0)
PAIRS = RandomizedResponse(Product(k=Categorical(["a", "b"]), v=Integers(0, 2)), 4.0)
KEYS = KeyValue(Categorical(["a", "b"]), Interval(0, 10, bins=4), 6.0, value="piecewise")


def _plain(rng: np.random.Generator) -> list[Tally]:
    return [PLAIN.tally(PLAIN.randomize(_of_persons(THETA, PEOPLE, rng), rng))]


def _two_mechanisms(rng: np.random.Generator) -> list[Tally]:
    bits = BITS.tally(BITS.randomize(_of_persons(THETA, PEOPLE // 3, rng), rng))
    return [*_plain(rng), bits]


def _pairs(rng: np.random.Generator) -> list[Tally]:
    cells = _of_persons(JOINT.ravel(), PEOPLE, rng)
    return [
        PAIRS.tally(PAIRS.randomize([{"k": "ab"[c // 3], "v": int(c % 3)} for c in cells], rng))
    ]


def _keys(rng: np.random.Generator) -> list[Tally]:
    keys = _of_persons(np.array([0.4, 0.6]), PEOPLE, rng)
    values = np.repeat(rng.choice([1.0, 9.0], PEOPLE), TIMES)
    return [KEYS.tally(KEYS.randomize({"key": ["ab"[k] for k in keys], "value": values}, rng))]


def _bootstrap(tallies: list[Tally], rng: np.random.Generator) -> np.ndarray:
    fit = estimate(tallies, MaximumLikelihood())
    return fit.interval(kind="bootstrap", replicates=30, rng=rng)


def _frequencies(tallies: list[Tally], rng: np.random.Generator) -> np.ndarray:
    rows = estimate(tallies, Inversion()).frequencies()
    return np.array([[row["low"], row["high"]] for row in rows])


# Case, intervals, truth.
INTERVALS: dict[str, tuple[Case, Bounds, np.ndarray]] = {
    "wald": (_plain, lambda t, _: estimate(t, Inversion()).interval(), THETA),
    "fisher": (
        _plain,
        lambda t, _: estimate(t, MaximumLikelihood()).interval(kind="fisher"),
        THETA,
    ),
    "bootstrap": (_plain, _bootstrap, THETA),
    "sample mean": (
        _plain,
        lambda t, _: estimate(t, SampleMean()).mean().interval()[None],  # type: ignore[union-attr]
        np.array([0.7]),
    ),
    "two mechanisms": (
        _two_mechanisms,
        lambda t, _: estimate(t, Inversion()).interval(),
        THETA,
    ),
    "marginal": (
        _pairs,
        lambda t, _: estimate(t, Inversion()).marginal("v").interval(),
        JOINT.sum(axis=0),
    ),
    "given a key": (
        _pairs,
        lambda t, _: estimate(t, Inversion()).conditional("a").interval(),
        JOINT[0] / JOINT[0].sum(),
    ),
    "keys": (_keys, _frequencies, np.array([0.4, 0.6])),
    "mean of a key": (
        _keys,
        lambda t, _: estimate(t, Inversion()).conditional("a").mean().interval()[None],
        np.array([5.0]),
    ),
}


@pytest.mark.parametrize("name", INTERVALS)
def test_intervals_count_people(name: str) -> None:
    """The first share is covered as often as it says. Where reports are counted as people, it is
    not.
    """
    case, bounds, truth = INTERVALS[name]
    rng = np.random.default_rng(5)
    hits = dict.fromkeys(("people", "reports"), 0)
    for _ in range(RUNS):
        tallies = case(rng)
        counted = {"people": [t.per_person(TIMES) for t in tallies], "reports": tallies}
        for how, given in counted.items():
            low, high = bounds(given, rng)[0]
            hits[how] += int(low <= truth[0] <= high)
    enough = binom.ppf(ALPHA, RUNS, 0.95)
    assert hits["people"] >= enough
    assert hits["reports"] < enough


def test_intervals_for_respondents_do_not_depend_on_who_sent_the_reports() -> None:
    """Their noise is independent, whoever sends them. An interval that counts people for
    respondents too would cover too often, and is rejected.
    """
    rng = np.random.default_rng(6)
    hits = wide = 0
    for _ in range(RUNS):
        values = _of_persons(THETA, PEOPLE, rng)
        tally = PLAIN.tally(PLAIN.randomize(values, rng))
        found = estimate(tally.per_person(TIMES), Inversion())
        truth = np.mean(values == 0)
        low, high = found.interval(target="respondents")[0]
        hits += int(low <= truth <= high)
        low, high = found.interval()[0]
        wide += int(low <= truth <= high)
    assert binom.ppf(ALPHA, RUNS, 0.95) <= hits <= binom.ppf(1 - ALPHA, RUNS, 0.95)
    assert wide > binom.ppf(0.95, RUNS, 0.95)
