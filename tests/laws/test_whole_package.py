"""Statements about the package as a whole: named errors for extreme numbers, results that cannot be changed."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from tests.registry import smallest
from warner import Integers
from warner.errors import WarnerError


def test_numbers_beyond_every_float_and_narrow_floats() -> None:
    builds = (
        lambda: warner.RandomizedResponse(Integers(0, 1), 10**400),
        lambda: warner.Interval(0, 10**400, 3),
        lambda: warner.Interval(-1e308, 1e308, 4),
        lambda: warner.MaximumLikelihood(10**400),
        lambda: warner.Interval(0.0, 1.0, 4).encode([10**400]),
        lambda: warner.Interval(0, 1e5, 4).encode(np.array([np.inf], np.float16)),
        lambda: warner.LDP(-1.0),
        lambda: warner.LDP(float("nan")),
        lambda: warner.LDP("1"),
        lambda: warner.privacy.compose(5),
        lambda: warner.privacy.compose([]),
        lambda: warner.privacy.compose([1.0]),
        lambda: Integers(0, 3).decode([4]),
        lambda: warner.Categorical(["a", "b"]).decode([-1]),
        lambda: warner.Categorical(["a", "b"]).decode([0.5]),
        lambda: warner.Categorical({"a", "b"}),
        lambda: warner.Categorical(["a", "b"]).encode(np.ma.masked_array(["a", "b"], [0, 1])),
        lambda: warner.Tally.load("no such file"),
        lambda: warner.Reports.load("no such file"),
        lambda: warner.metrics.wasserstein1([1], [1], spacing=-3),
        lambda: warner.MatrixMechanism(Integers(0, 3), np.full((2, 4), 0.5)),
        lambda: warner.estimate(5),
        lambda: warner.estimate(smallest("RandomizedResponse").randomize([0])),
    )
    for i, build in enumerate(builds):
        with pytest.raises(WarnerError):
            pytest.fail(f"case {i} gave {build()!r}")
    assert warner.Interval(0.0, 1.0, 2**20).encode(np.array([0.25], np.float16)).tolist() == [2**18]
    assert warner.Categorical([2**63, 2**63 + 1]).encode(
        np.array([2**63 + 1], np.uint64)
    ).tolist() == [1]


def test_what_came_out_cannot_be_changed() -> None:
    mechanism = smallest("RandomizedResponse")
    reports = mechanism.randomize([0, 1])
    tally = mechanism.tally(reports)
    result = warner.estimate(tally)
    for array in (reports.columns["report"], tally.counts, result.probabilities):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(AttributeError):
        mechanism.epsilon = 9.0
