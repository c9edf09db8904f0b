"""Noise added to numbers: the published means, variances and scales."""

from __future__ import annotations

import math

import numpy as np
import pytest

import warner
from warner import Geometric, Integers, Interval, Laplace
from warner.mechanisms import TruncatedGeometric


@pytest.mark.parametrize("epsilon", [0.003, 0.1, 1.0, 6.0])
def test_geometric_noise_has_the_published_mean_and_variance(epsilon: float) -> None:
    """Variance 2 a / (1 - a)^2 [P4 eq 21] within 6.5 sd; the wrong program has noise on one side
    only, or half the scale.
    """
    n = 400_000
    mechanism = Geometric(Integers(0, 9), epsilon)
    noise = (
        mechanism.randomize([4] * n, np.random.default_rng(1)).columns["report"].astype(float)
        - mechanism.reach
        - 4
    )
    a = math.exp(-epsilon)
    variance = 2 * a / (1 - a) ** 2
    fourth = (2 * a * (1 + 10 * a + a**2)) / (1 - a) ** 4
    limit = 6.5 * math.sqrt((fourth - variance**2) / n)
    assert abs(noise.mean()) < 6.5 * math.sqrt(variance / n)
    assert abs((noise**2).mean() - variance) < limit
    half = 2 * math.sqrt(a) / (1 - math.sqrt(a)) ** 2
    assert abs((noise**2).mean() - half) > limit and abs(np.abs(noise).mean()) > 6.5 * math.sqrt(
        variance / n
    )


def test_laplace_has_the_published_scale() -> None:
    """Noise of variance 2 (range / epsilon)^2, up to the grid's own; numbers between grid points
    are right on average.
    """
    n, rng = 400_000, np.random.default_rng(2)
    mechanism = Laplace(Interval(10, 20, 5), 2.0)
    report = mechanism.randomize(np.full(n, 13.21), rng).columns["report"].astype(float)
    value = 10 + (report - mechanism.reach) * 10 / 256
    assert abs(value.mean() - 13.21) < 6.5 * math.sqrt(50 / n)
    assert value.var() == pytest.approx(2 * (10 / 2.0) ** 2, rel=0.02)


def test_the_degree_of_a_node_is_hidden_edge_by_edge() -> None:
    degree = Laplace(Integers(0, 60), 1.0, sensitivity=1)
    assert (
        degree.guarantee == warner.privacy.MetricLDP(degree.epsilon, 60.0)
        and 1 - 1e-9 < degree.epsilon <= 1
    )
    same = Geometric(Integers(0, 60), 1.0)
    assert degree.channel().dense() == pytest.approx(same.channel().dense())
    wider = Laplace(Integers(0, 60), 1.0, sensitivity=3)  # two values three apart at one nat
    assert (
        wider.guarantee.epsilon == pytest.approx(1 / 3, abs=1e-9) and 1 - 1e-9 < wider.epsilon <= 1
    )
    assert isinstance(Laplace(Integers(0, 60), 1.0).guarantee, warner.LDP)
    rng = np.random.default_rng(0)
    degrees = rng.binomial(60, 0.2, 20_000)
    mean = warner.estimate(degree.tally(degree.randomize(degrees, rng)), warner.SampleMean()).mean()
    assert abs(mean - degrees.mean()) < 6.5 * math.sqrt(
        (2 / (1 - math.exp(-1)) ** 2 * math.exp(-1)) / 20_000
    )


def test_folded_reports_say_as_much() -> None:
    """Reports beyond the values, taken together with the end: the same likelihood up to a constant,
    the same inversion and variance.
    """
    wide, narrow = (
        Geometric(Integers(0, 7), 0.5, reach=9).channel(),
        TruncatedGeometric(Integers(0, 7), 0.5).channel(),
    )
    theta, w = (
        np.random.default_rng(0).dirichlet(np.ones(8)),
        np.random.default_rng(1).dirichlet(np.ones(26)),
    )
    folded, rows = wide.merge_proportional_rows() or (None, None)
    assert folded is not None and rows is not None
    small = np.bincount(rows, w)
    assert folded.dense() == pytest.approx(narrow.dense())
    other = np.random.default_rng(2).dirichlet(np.ones(8))
    long, short = ((c, v) for c, v in ((wide, w), (narrow, small)))
    difference = [float(v @ np.log(c.matvec(theta) / c.matvec(other))) for c, v in (long, short)]
    assert difference[0] == pytest.approx(difference[1], rel=1e-12)
    assert wide.invert(w) == pytest.approx(narrow.invert(small)) and wide.variance(
        theta
    ) == pytest.approx(narrow.variance(theta))


def test_audits_of_noise_at_another_sensitivity_are_in_its_unit() -> None:
    for sensitivity in (0.25, 3, 7.5):
        mechanism = Laplace(Integers(0, 20), 1.0, sensitivity=sensitivity, reach=3)
        result = warner.audit(mechanism)
        assert result.holds and result.epsilon == pytest.approx(1.0, abs=1e-9)
    looser = Laplace(Integers(0, 20), 2.7, sensitivity=3, reach=3)
    mechanism = Laplace(Integers(0, 20), 1.0, sensitivity=3, reach=3)
    mechanism.probabilities = looser.probabilities  # type: ignore[method-assign]
    assert not warner.audit(mechanism).holds
