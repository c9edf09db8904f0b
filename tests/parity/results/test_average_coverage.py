"""Accepted shares by two searches against the test of every share of the grid."""

from __future__ import annotations

import numpy as np
import pytest

from warner import Categorical, RandomizedResponse, UnaryEncoding
from warner.estimators.base import LikelihoodData
from warner.mechanisms import Mechanism
from warner.results.share_noise import ShareNoise, _alike, _Kind, _levels

SIZE = 50
LABELS = Categorical(list(range(SIZE)))


@pytest.mark.parametrize(
    "mechanism, n",
    [
        (RandomizedResponse(LABELS, 0.5), 1000),
        (RandomizedResponse(LABELS, 4.0), 20_000),
        (UnaryEncoding(LABELS, 2.0), 5000),
    ],
    ids=["noise", "clear", "bits"],
)
def test_intervals_reach_from_the_first_accepted_share_to_the_last(
    mechanism: Mechanism, n: int
) -> None:
    """Each end lies within two steps of the grid beyond the accepted shares, or at most one inside.

    A search of the end that looks at one border only ends elsewhere where tails are exchanged.
    """
    truth = np.arange(1.0, SIZE + 1) ** -1.2
    truth /= truth.sum()
    channel, rng = mechanism.channel(), np.random.default_rng(1)
    data = LikelihoodData(channel, channel.simulate(truth, n, rng), n, mechanism.domain)
    noise = ShareNoise.of(data, "population")
    (index,) = _alike(noise)
    kind = _Kind.of(noise, index, truth)
    levels = _levels([kind], 0.05, SIZE)
    low, high, _ = kind.tests(levels)
    found = kind.accepted(levels, noise.centre)
    for estimate, (first, last) in zip(noise.centre, found, strict=True):
        accepted = np.flatnonzero((low <= estimate) & (estimate <= high))
        if not accepted.size:
            continue
        ends = [kind.t[accepted[0]], kind.t[accepted[-1]]]
        places = [float(np.interp(v, kind.t, np.arange(kind.t.size))) for v in (first, last)]
        assert -1 - 1e-9 <= places[0] - accepted[0] <= 1e-9, (estimate, ends, first)
        assert -1e-9 <= places[1] - accepted[-1] <= 1 + 1e-9, (estimate, ends, last)
