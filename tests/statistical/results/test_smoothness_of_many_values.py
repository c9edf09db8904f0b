"""Whether the default keeps the log-spline on very many values. Seeded, so that nothing flakes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

import warner
from warner import Integers, LogSpline, MaximumLikelihood
from warner._core.projective_space import ProjectiveBlocks
from warner.channels.geometry import ProjectiveBlocksChannel
from warner.estimators.base import LikelihoodData, certify
from warner.results.from_tally import likelihood_data
from warner.results.recommend import rules_out


@pytest.mark.parametrize(
    "make",
    [
        lambda d: warner.UnaryEncoding(d, 2.0, variant="oue"),
        lambda d: warner.RandomizedResponse(d, 8.0),
    ],
    ids=["bits", "values"],
)
def test_a_smooth_shape_is_not_ruled_out_and_a_rough_one_is(make: Any) -> None:
    """Rejected: the plain chi-square limit, which rules out smooth shapes of 50,000 values, and a
    rule that never rules out.
    """
    size, n = 50_000, 100_000
    channel = make(Integers(0, size - 1)).channel()
    x = (np.arange(size) + 0.5) / size
    smooth = np.exp(-((x - 0.4) ** 2) / 0.02)
    rough = np.where(np.arange(size) % 500 == 0, 1.0, 1e-6)
    for truth, expected in ((smooth, False), (rough, True)):
        w = channel.simulate(truth / truth.sum(), n, np.random.default_rng(6))
        data = LikelihoodData(channel, w, n, Integers(0, size - 1))
        assert rules_out(LogSpline().fit(data), MaximumLikelihood().fit(data)) is expected


@pytest.mark.parametrize("make", [partial(warner.LocalHashing, buckets=2), warner.HadamardResponse])
def test_smooth_shapes_of_a_thousand_values_are_not_ruled_out_by_chance(make: Any) -> None:
    """With a margin of 2.5 standard deviations, in each of 5 sets of reports.

    Rejected: the plain chi-square limit, which is four standard deviations off on average, so that
    one set in ten was called rough.
    """
    size, n = 1000, 100_000
    mechanism = make(Integers(0, size - 1), 2.0)
    x = (np.arange(size) + 0.5) / size
    shares = 0.6 * np.exp(-((x - 0.35) ** 2) / 0.0128) / 0.08
    shares += 0.4 * np.exp(-((x - 0.7) ** 2) / 0.02) / 0.1
    rng = np.random.default_rng(7)
    for _ in range(5):
        people = rng.choice(size, n, p=shares / shares.sum())
        data = likelihood_data(mechanism.tally(mechanism.randomize(people, rng=rng)))
        counted = data.for_test_of_smoothness()
        smooth, best = LogSpline().fit(data), MaximumLikelihood().fit(counted)
        value = certify(counted, smooth.shares, smooth.status, None).log_likelihood
        assert value is not None
        margin = 2.5 * np.sqrt(2 * np.count_nonzero(best.shares)) / 2
        assert not rules_out(replace(smooth, log_likelihood=value - margin), best)


def test_whole_reports_of_many_values_count_by_their_sums() -> None:
    """Smooth shapes only: spikes get the maximum of the likelihood of whole reports.

    Rejected: a test that never rejects, and the maximum of the likelihood of sums.
    """
    size, n = 600, 20_000
    mechanism = warner.LocalHashing(Integers(0, size - 1), 2.0)
    rng = np.random.default_rng(8)
    smooth = np.clip(rng.normal(0.4, 0.1, n) * size, 0, size - 1).astype(np.int64)
    data = likelihood_data(mechanism.tally(mechanism.randomize(smooth, rng=rng)))
    counted = data.by_sums()
    assert counted.channel.rows_are_bit_sums and counted.by_sums() is counted
    found, of_sums = LogSpline().fit(data).shares, LogSpline().fit(counted).shares
    np.testing.assert_allclose(found, of_sums, rtol=1e-9)
    few = replace(data, weights=np.eye(1, data.weights.size)[0])
    assert few.by_sums() is few

    spikes = rng.choice(np.arange(0, size, 60), n)
    rough = warner.estimate(mechanism.tally(mechanism.randomize(spikes, rng=rng)))
    assert rough.method == "MaximumLikelihood(gap=1e-09)"
    assert rough.fit.likelihood == "likelihood of the reports"


def test_reports_without_support_law_keep_their_likelihood() -> None:
    """Rejected: support counts of blocks of a projective space, which have no common law."""
    channel = ProjectiveBlocksChannel(600, ProjectiveBlocks(3, 6, 2, 600), 0.003, 0.001)
    w = channel.simulate(np.full(600, 1 / 600), 9000, np.random.default_rng(1))
    data = LikelihoodData(channel, w, 9000, Integers(0, 599))
    assert channel.supports_overlap_alike and data.for_test_of_smoothness() is data
