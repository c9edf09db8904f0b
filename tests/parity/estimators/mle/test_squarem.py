"""Extrapolated EM against EM."""

from __future__ import annotations

import numpy as np

from warner.channels import GeometricChannel
from warner.estimators.base import gap, log_likelihood, score
from warner.estimators.newton import accelerated


def test_em_extrapolated_beats_em_and_never_falls_below_its_first_step() -> None:
    """Few hundred products reach what plain EM misses after thousands; a case that needs the
    fallback to plain steps too.
    """
    channel = GeometricChannel(60, 0.6)
    rng = np.random.default_rng(0)
    w = channel.simulate(rng.dirichlet(np.full(60, 0.3)), 50_000, rng)
    theta, products, reached = accelerated(channel, w, 1e-6)
    assert reached
    plain = np.full(60, 1 / 60)
    for _ in range(products):
        plain = plain * score(channel, w, plain)
    assert (
        log_likelihood(channel, w, theta) > log_likelihood(channel, w, plain)
        and gap(channel, w, plain) > 1e-6
    )
