"""Intervals of shares given a key against Fieller's equation."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from warner.metrics import project


@pytest.mark.parametrize("key", ["unary", "direct"])
def test_ends_of_intervals_of_shares_given_a_key_solve_fiellers_equation(key: str) -> None:
    """(mean of g - r h)^2 = z^2 variance / n at either end r, g and h what each report adds to the
    share and to the frequency.

    The variance is that of the distribution whose share is r, the other values of the key keeping
    their proportions.
    """
    mechanism = warner.KeyValue(
        warner.Categorical(["a", "b"]),
        warner.Integers(0, 2),
        4.0,
        key=key,
        value="piecewise",
        cells=5,
    )
    rng = np.random.default_rng(1)
    people = {"key": ["a", "a", "b"] * 10_000, "value": rng.integers(0, 3, 30_000)}
    found = warner.estimate(mechanism.tally(mechanism.randomize(people, rng)))
    channel, checked = found.data.channel, 0
    plug = project(channel.invert(found.data.weights)).reshape(2, 3)
    seen = channel.by_key(found.data.weights)[1]
    h = ((np.arange(seen.size) > 0) - channel.sent) / (channel.keep - channel.sent)
    for v, (g, ends) in enumerate(
        zip(channel.per_report, found.conditional("b").interval(), strict=True)
    ):
        for r in ends[(ends > 0) & (ends < 1)]:
            theta = plug.copy()
            others = np.arange(3) != v
            theta[1, v], theta[1, others] = (
                r * plug[1].sum(),
                (1 - r) * plug[1].sum() * plug[1, others] / plug[1, others].sum(),
            )
            each, law = g - r * h, channel.by_key(channel.matvec(theta.ravel()))[1]
            assert float(law @ each) == pytest.approx(0, abs=1e-12)
            assert float(seen @ each) ** 2 == pytest.approx(
                1.959963984540054**2 * float(law @ each**2) / found.n, rel=1e-6
            )
            checked += 1
    assert checked >= 4
