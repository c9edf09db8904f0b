"""The influence of one report, and what forged reports do."""

from __future__ import annotations

import math

import numpy as np
import pytest

import warner
from tests.registry import ALL, BLIND, COMBINED, smallest
from warner.reports.tally_kinds import Counted
from warner.theory.inversion import max_influence


@pytest.mark.parametrize(
    "name", [n for n in ALL if n not in BLIND and not n.startswith("KeyValue")]
)
def test_the_weight_is_the_largest_change_of_a_count_by_one_report(name: str) -> None:
    """By the estimate of 50 reports and the same with one of them replaced, for every pair of
    reports.
    """
    mechanism = smallest(name)
    weight = max_influence(mechanism)
    outputs = warner.Reports(mechanism.header, mechanism.outputs())
    rows = range(0, len(outputs), max(1, len(outputs) // 40))
    counts = []
    for i in rows:
        channel, seen, _ = mechanism.channel_for(mechanism.tally(outputs[i : i + 1]))
        counts.append(channel.invert(seen / seen.sum()))
    found = float(np.ptp(np.stack(counts), axis=0).max())
    assert weight is not None and found <= weight * (1 + 1e-9)
    if len(rows) == len(outputs):
        assert found == pytest.approx(weight, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_weight_of_pure_mechanisms_is_one_over_the_difference_of_two_probabilities(
    epsilon: float,
) -> None:
    domain, e = warner.Integers(0, 99), math.exp(epsilon)
    assert max_influence(warner.RandomizedResponse(domain, epsilon)) == pytest.approx(
        (e + 99) / (e - 1)
    )
    assert max_influence(warner.UnaryEncoding(domain, epsilon, variant="oue")) == pytest.approx(
        1 / (0.5 - 1 / (e + 1))
    )
    hashed = warner.LocalHashing(domain, epsilon)
    p, other = e / (e + hashed.buckets - 1), 1 / (e + hashed.buckets - 1)
    assert hashed.prime == 101
    whole, rest = divmod(101, hashed.buckets)
    together = rest * (whole + 1) * whole + (hashed.buckets - rest) * whole * (whole - 1)
    assert max_influence(hashed) == pytest.approx(1 / ((p - other) * (1 - together / (101 * 100))))
    assert max_influence(warner.RandomizedResponse(domain, math.inf)) == 1.0


def test_the_weight_of_keys_tuples_and_blind_channels() -> None:
    keyed = warner.KeyValue(warner.Categorical(["a", "b"]), warner.Interval(0, 1, 4), 1.0)
    keys = float(keyed.law.keep - keyed.law.other)
    assert max_influence(keyed) == pytest.approx(1 / keys)
    several = warner.KeyValue(
        warner.Categorical(["a", "b"]), warner.Interval(0, 1, 4), 1.0, pairs=3
    )
    assert max_influence(several) == pytest.approx(3 / keys)
    assert max_influence(warner.mechanisms.Gaussian(warner.Integers(0, 9), 1.0, delta=1e-5)) is None
    assert max_influence(warner.mechanisms.StochasticRounding(warner.Integers(0, 9), 1.0)) is None
    both = COMBINED["subsets x RR"](1.0)
    outputs = warner.Reports(both.header, both.outputs())
    counts = []
    for i in range(len(outputs)):
        channel, seen, _ = both.channel_for(both.tally(outputs[i : i + 1]))
        counts.append(channel.invert(seen / seen.sum()))
    weight = max_influence(both)
    assert weight is not None and 0.5 * weight < float(
        np.ptp(np.stack(counts), axis=0).max()
    ) <= weight * (1 + 1e-9)
    with pytest.raises(warner.errors.ArgumentTypeError, match="must be a Mechanism"):
        max_influence("RandomizedResponse")  # type: ignore[arg-type]
    assert warner.audit(several).influence == max_influence(several)
    ranking = warner.plan(warner.Integers(0, 9), 1.0, 1000)
    assert (
        all(option.influence == max_influence(option.mechanism) for option in ranking.results)
        and ranking.no_protection.influence == 1
    )
    assert all(line["influence"] >= 1 for line in ranking.to_json()["results"])


def _counted(mechanism: warner.RandomizedResponse, counts: np.ndarray) -> warner.Tally:
    like = mechanism.tally(mechanism.randomize(["0"]))
    return warner.Tally(like.header, Counted.together(like.kind, counts, int(counts.sum())))


def test_the_default_estimate_moves_by_more_than_the_weight_and_the_inverse_never() -> None:
    """As the documents say; "it is the most for every estimate" would be wrong."""
    mechanism = warner.RandomizedResponse(warner.Categorical(list("0123456789")), 1.0)
    counts = np.array([24, 15, 19, 20, 14, 21, 26, 33, 20, 8])
    before = _counted(mechanism, counts)
    counts[[7, 2]] += [-1, 1]
    after = _counted(mechanism, counts)

    def moved(*method: object) -> float:
        shares = [warner.estimate(tally, *method).probabilities for tally in (before, after)]
        return float(200 * np.abs(shares[1] - shares[0]).max())

    weight = max_influence(mechanism)
    assert weight == pytest.approx(6.820, abs=1e-3)
    assert moved(warner.Inversion()) <= weight * (1 + 1e-9)
    assert moved() > 9 > weight


def test_few_forged_reports_among_many_do_much() -> None:
    """500 among 50,000 move a share of 2 % to 60 %, as the documents say."""
    domain = warner.Categorical([str(i) for i in range(100)])
    mechanism = warner.RandomizedResponse(domain, 1.0)
    shares = 1 / np.arange(1, 101)
    honest = np.rint(49_500 * mechanism.channel().dense() @ (shares / shares.sum())).astype(int)
    for method in (), (warner.Inversion(),):
        found = []
        for forged in (0, 500):
            counts = honest.copy()
            counts[7] += forged
            found.append(warner.estimate(_counted(mechanism, counts), *method).probabilities[7])
        assert found[0] == pytest.approx(0.02, abs=0.01)
        assert found[1] == pytest.approx(0.6, abs=0.05)
