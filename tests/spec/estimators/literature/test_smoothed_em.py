"""What smoothed EM promises."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warner
from tests.spec.estimators._shapes import _bell, _facts
from warner import Interval, SquareWave, Status
from warner.estimators.literature import SmoothedEM, smooth


@pytest.mark.parametrize(
    "wrong",
    [
        {"tolerance": -1e-9},
        {"tolerance": float("nan")},
        {"tolerance": None},
        {"steps": 0},
        {"steps": 1.5},
    ],
)
def test_stops_of_smoothing_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(
        (warner.errors.ArgumentError, warner.errors.ArgumentTypeError), match=next(iter(wrong))
    ):
        SmoothedEM(**wrong)


def test_smoothing_keeps_a_uniform_distribution_and_weighs_ends_by_thirds() -> None:
    assert smooth(np.full(7, 1 / 7)) == pytest.approx(np.full(7, 1 / 7), abs=1e-15)
    before = np.array([0.6, 0.3, 0.1, 0.0])
    after = np.array([0.6 * 2 / 3 + 0.3 / 3, 0.15 + 0.15 + 0.025, 0.075 + 0.05, 0.1 / 3])
    assert smooth(before) == pytest.approx(after / after.sum(), abs=1e-15)
    assert smooth(np.array([1.0, 0.0])) == pytest.approx([2 / 3, 1 / 3])


def test_smoothed_em_stops_when_the_likelihood_hardly_changes_and_says_that_it_stopped() -> None:
    data = _facts(SquareWave(Interval(0, 1, 64), 1.0), _bell(64), 20_000)
    loose, published, tight = (SmoothedEM(tolerance).fit(data) for tolerance in (1.0, 1e-3, 0.0))
    assert loose.status is published.status is Status.STOPPED
    assert (
        loose.iterations is not None
        and published.iterations is not None
        and tight.iterations is not None
    )
    assert (
        0 < loose.iterations < published.iterations <= tight.iterations < 10_000
    )  # at last a step moves theta by less than 1 / n
    assert published.gap is not None and published.gap > 0
    assert SmoothedEM(steps=3).fit(data).iterations == 3
