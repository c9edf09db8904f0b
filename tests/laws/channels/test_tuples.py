"""Channels of several reports of one person are the law of the tuples: for everything in COMBINED."""

from __future__ import annotations

import numpy as np
import pytest

from tests.registry import COMBINED, PER_ATTRIBUTE, REPEATED
from warner import Reports
from warner.results.from_tally import likelihood_data
from warner.testing.mechanisms import rows_of_reports


@pytest.mark.parametrize("name", [n for n in PER_ATTRIBUTE if n != "Gaussian x RR"])
def test_inverse_of_tuples_is_unbiased_with_the_variance_it_says(name: str) -> None:
    mechanism = COMBINED[name](1.0)
    channel = mechanism.channel()
    theta = np.random.default_rng(1).dirichlet(np.ones(mechanism.domain.size))
    single = np.stack([channel.invert(row) for row in rows_of_reports(mechanism)])
    law = mechanism.probabilities().astype(float) @ theta
    assert law @ single == pytest.approx(theta, abs=1e-10)
    assert channel.variance(theta) == pytest.approx(law @ single**2 - theta**2, rel=1e-8)


@pytest.mark.parametrize("name", REPEATED)
def test_rows_of_repeated_reports_are_the_law(name: str) -> None:
    """Every tuple's row is proportional to its exact probabilities, whatever order equal mechanisms
    reported in; inversion is unbiased.
    """
    mechanism = COMBINED[name](1.0)
    outputs, exact = (
        Reports(mechanism.header, mechanism.outputs()),
        mechanism.probabilities().astype(float),
    )
    theta = np.random.default_rng(1).dirichlet(np.ones(mechanism.domain.size))
    total, square = np.zeros(theta.size), np.zeros(theta.size)
    for i in (
        range(0, len(outputs), max(1, len(outputs) // 300))
        if len(outputs) > 600
        else range(len(outputs))
    ):
        if not exact[i].any():
            continue  # two values that are not sensitive: one person names one
        data = likelihood_data(mechanism.tally(outputs[i : i + 1]))
        row = data.channel.dense()[0]
        assert row == pytest.approx(exact[i] / exact[i].max(), rel=1e-9)
        single = data.channel.invert(data.weights)
        total, square = total + exact[i] @ theta * single, square + exact[i] @ theta * single**2
    if len(outputs) <= 600:
        assert total == pytest.approx(theta, abs=1e-10)
        assert data.channel.variance(theta) == pytest.approx(square - theta**2, rel=1e-8)
