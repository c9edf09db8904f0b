"""Rows of several reports of one person are products of the rows of each."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import warner
from tests.registry import MECHANISMS
from warner.channels import DirectChannel, RepeatedRows
from warner.results.from_tally import likelihood_data


@pytest.mark.parametrize(
    "name", ["RandomizedResponse", "LocalHashing optimized", "HadamardResponse", "MatrixMechanism"]
)
def test_rows_of_several_reports_of_one_person_are_products(name: str) -> None:
    size, times = 4, 3
    channel = MECHANISMS[name](warner.Integers(1, size), 1.0).channel()
    other = DirectChannel(size, 0.15, 0.4)
    channels = [channel, channel, other]
    reports = np.array(
        list(product(range(min(channel.shape[0], 7)), range(min(channel.shape[0], 7)), range(size)))
    )
    rows = RepeatedRows(channels, reports)
    exact = np.prod([c.dense()[reports[:, t]] for t, c in enumerate(channels)], axis=0)
    assert rows.dense() == pytest.approx(exact / exact.max(axis=1, keepdims=True), abs=1e-12)
    rng = np.random.default_rng(0)
    theta, r = rng.random(size), rng.random(len(reports))
    assert rows.matvec(theta) == pytest.approx(rows.dense() @ theta)
    assert rows.rmatvec(r) == pytest.approx(rows.dense().T @ r)
    # Over all tuples the mean inversion is unbiased and has the variance it says.
    every = np.array(list(product(*(range(c.shape[0]) for c in channels))))
    rows = RepeatedRows(channels, every)
    law = np.prod([c.dense()[every[:, t]] for t, c in enumerate(channels)], axis=0)
    theta = rng.dirichlet(np.ones(size))
    single = np.mean(
        [
            np.stack([c.invert(unit) for unit in np.eye(c.shape[0])])[every[:, t]]
            for t, c in enumerate(channels)
        ],
        axis=0,
    )
    assert rows.invert(law @ theta) == pytest.approx(theta, abs=1e-10)
    assert rows.inverse_moments(theta)[0] == pytest.approx((law @ theta) @ single**2, rel=1e-9)
    assert rows.inverse_moments(theta)[1] == pytest.approx((law * single**2).sum(axis=0), rel=1e-9)
    assert times == rows.reports.shape[1]


def test_many_reports_of_one_person_do_not_underflow() -> None:
    """A thousand reports at epsilon = 8 have a probability that no float holds."""
    channel = DirectChannel(3, 1 / (np.exp(8) + 2), (np.exp(8) - 1) / (np.exp(8) + 2))
    rows = RepeatedRows([channel] * 1000, np.full((1, 1000), 1))
    assert rows.matvec(np.array([0.0, 1.0, 0.0])).tolist() == [1.0]


def test_the_order_of_equal_reports_is_not_kept() -> None:
    mechanism = warner.Repeated(warner.RandomizedResponse(warner.Integers(0, 3), 1.0), 3)
    a = mechanism.reports({"1": [0, 3], "2": [1, 3], "3": [2, 0]})
    b = mechanism.reports({"1": [2, 0], "2": [0, 3], "3": [1, 3]})
    assert mechanism.tally(a) == mechanism.tally(b)
    assert likelihood_data(mechanism.tally(a)).channel.dense() == pytest.approx(
        likelihood_data(mechanism.tally(b)).channel.dense()
    )
