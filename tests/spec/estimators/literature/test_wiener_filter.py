"""What Wiener filtering promises."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from tests.spec.estimators.literature._data import _facts
from warner import Integers, Status
from warner.estimators.literature import WienerFilter
from warner.metrics import mean_squared_error

STEEP = 0.6 ** np.arange(20)


def test_filter_arguments_are_refused_by_name() -> None:
    for arguments in ({"steps": 0}, {"steps": 1.5}, {"constraint": "norm"}):
        with pytest.raises(
            (warner.errors.ArgumentError, warner.errors.ArgumentTypeError),
            match=next(iter(arguments)),
        ):
            WienerFilter(**arguments)  # type: ignore[arg-type]


def test_the_filter_helps_neighbours_that_are_alike_and_not_their_shuffle() -> None:
    """Smooth shares in order: less than a third of the projection's error; the same shares
    shuffled: more than half of it.
    """
    smooth = 1.2 + np.cos(2 * np.pi * np.arange(64) / 64)
    shuffled = smooth[np.random.default_rng(5).permutation(64)]
    for shares, low, high in ((smooth, 0.0, 1 / 3), (shuffled, 1 / 2, np.inf)):
        data = _facts(shares, n=500_000, domain=Integers(0, 63), seed=1)
        truth = shares / shares.sum()
        ours = mean_squared_error(WienerFilter().fit(data).probabilities, truth)
        plain = mean_squared_error(warner.Inversion("project").fit(data).probabilities, truth)
        assert low < ours / plain < high


def test_an_unprojected_filter_says_that_shares_are_negative() -> None:
    data = _facts(STEEP, epsilon=0.5, n=3000)
    raw, shares = WienerFilter(constraint=None).fit(data), WienerFilter().fit(data)
    assert raw.status is Status.OUTSIDE_SIMPLEX and raw.probabilities.min() < 0
    assert shares.status is Status.EXACT and shares.probabilities.min() >= 0
