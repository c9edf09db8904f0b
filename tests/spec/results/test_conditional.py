"""Shares and means given a key, with their intervals."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from tests.spec.mechanisms._key_value import PAY, _make, _people, _theta
from warner import Categorical, Integers
from warner.estimators import PerKey
from warner.results.intervals import normal_quantile
from warner.results.summaries import Ratio


def test_the_values_of_a_key_are_a_distribution_with_intervals() -> None:
    mechanism = _make("direct", "piecewise", 4.0)
    tally = mechanism.tally(mechanism.randomize(_people(40_000), np.random.default_rng(2)))
    found = warner.estimate(tally, PerKey(warner.estimators.literature.SmoothedEM())).conditional(
        "b"
    )
    assert found.probabilities.sum() == pytest.approx(1) and found.frequency == pytest.approx(
        0.35, abs=0.03
    )
    truth = _theta().reshape(4, 8)[1] / 0.35
    bounds = found.interval(0.999)
    assert (
        bounds.shape == (8, 2) and (bounds[:, 0] <= truth).all() and (truth <= bounds[:, 1]).all()
    )
    low, high = found.quantile(0.5).interval(replicates=20, rng=np.random.default_rng(0))
    assert PAY.low <= low <= found.quantile(0.5) <= high <= PAY.high
    low, high = found.variance().interval(replicates=20, rng=np.random.default_rng(0))
    assert 0 < low < high < 1 and len(found.rows()) == 8


def test_fiellers_interval_is_all_there_is_where_the_denominator_may_be_zero() -> None:
    z = normal_quantile(0.95)
    variance = np.diag([0.01, 0.0004])
    assert Ratio(0.05, 0.1, variance, (-1, 1)).around(z)[1] == 1
    assert Ratio(0.05, 0.03, variance, (-1, 1)).around(z).tolist() == [-1, 1]
    tight = Ratio(0.3, 0.6, variance * 1e-6, (-1, 1)).around(z)
    assert tight == pytest.approx([0.5, 0.5], abs=1e-3) and tight[0] < 0.5 < tight[1]


def test_a_distribution_of_two_attributes_is_conditioned_whatever_made_it() -> None:
    both = warner.Product(key=Categorical(["x", "y"]), value=Integers(0, 2))
    coin = warner.RandomizedResponse(both, 4.0)
    answers = [{"key": "x", "value": 0}, {"key": "x", "value": 2}, {"key": "y", "value": 1}] * 3000
    found = warner.estimate(coin.tally(coin.randomize(answers, np.random.default_rng(0))))
    one = found.conditional("x")
    assert one.probabilities == pytest.approx(
        [0.5, 0, 0.5], abs=0.05
    ) and one.mean() == pytest.approx(1, abs=0.1)
    low, high = one.mean().interval(replicates=20, rng=np.random.default_rng(0))
    assert low < 1 < high and one.interval().shape == (3, 2)
    rows = found.frequencies()
    assert [row["estimate"] for row in rows] == pytest.approx([2 / 3, 1 / 3], abs=0.05)
    # Frequencies and shares have closed intervals: no bootstrap, whose limits at a share of 0 are
    # both 0.
    assert [[row["low"], row["high"]] for row in rows] == found.marginal("key").interval().tolist()
    low, high = one.interval()[1]
    assert low == 0 and high > 0.002
    assert one.interval(target="respondents")[0].tolist() != one.interval()[0].tolist()
