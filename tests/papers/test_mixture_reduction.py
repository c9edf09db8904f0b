"""The experiments of P3: their people, their methods, and claims that can fail."""

from __future__ import annotations

import math

import numpy as np
import pytest

from papers import DataFolder, Table, select
from papers.p3.data import apportioned, items, numbers
from papers.p3.methods import em, stop
from papers.p3.times import PRINTED
from warner.estimators.base import LikelihoodData
from warner.estimators.literature import MixtureReduction
from warner.mechanisms import RandomizedResponse

MADE = DataFolder()


def test_apportioned_counts_add_up_and_are_within_one_of_their_shares() -> None:
    weights = np.random.default_rng(0).random(50)
    counts = apportioned(weights, 1_234)
    assert counts.sum() == 1_234
    assert np.abs(counts - weights / weights.sum() * 1_234).max() < 1


@pytest.mark.parametrize(("name", "n"), [("S-MN", 1_000), ("SFC", 43_386), ("Income", 149_762)])
def test_the_people_of_numbers_are_as_many_as_said(name: str, n: int) -> None:
    people = numbers(name, 1_000 if name == "S-MN" else None, MADE)
    assert people.domain.size == people.counts.size == 1024
    assert people.reporting == n
    assert people.counts.min() >= 0


def test_the_mean_of_the_two_normals_is_that_of_their_laws() -> None:
    people = numbers("S-MN", 100_000, MADE)
    points = people.domain.points
    assert points is not None
    # The upper law is cut at 1, where it loses 7 % of its people.
    upper = 0.7 - 0.2 * math.exp(-(1.5**2) / 2) / math.sqrt(2 * math.pi) / 0.9331928
    mass = 0.6 * 0.9331928 / (0.6 * 0.9331928 + 0.4)
    expected = mass * upper + (1 - mass) * 0.2
    assert float(people.shares @ points[:, 0]) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(("name", "size"), [("SFC", 60), ("Income", 222), ("uniform", 100)])
def test_made_items_have_the_sizes_of_the_paper(name: str, size: int) -> None:
    assert items(name, MADE).domain.size == size


def test_em_is_the_inner_fit_of_mixture_reduction_without_any_reduction() -> None:
    people = items("SFC", MADE)
    mechanism = RandomizedResponse(people.domain, 1.0)
    channel = mechanism.channel()
    weights = channel.simulate_from_values(people.counts, np.random.default_rng(1))
    data = LikelihoodData(channel, weights, people.reporting, people.domain)
    plain = em(stop(1.0)).fit(data)
    inner = MixtureReduction("em", operation=None, tolerance=stop(1.0)).fit(data)
    assert plain.iterations == inner.iterations
    np.testing.assert_allclose(plain.shares, inner.shares, atol=1e-12)


def test_the_claim_of_ten_percent_accepts_and_refuses_what_it_says() -> None:
    claim = select(["P3/fig4"])[0].claims[0]

    def table(ratio: float) -> Table:
        cell = {"data": "SFC", "protocol": "GRR", "epsilon": 1.0, "metric": "MAE"}
        errors = {"EM": 1.0, "MR": ratio}
        return Table({**cell, "method": name, "value": value} for name, value in errors.items())

    assert claim.check(table(0.85)).holds
    assert not claim.check(table(0.95)).holds


def test_the_printed_seconds_stand_beside_ours_at_every_budget() -> None:
    experiment = select(["P3/table2"])[0]
    for cell in experiment.cells:
        assert (cell["data"], cell["protocol"]) in PRINTED
    assert all(len(each) == 4 for row in PRINTED.values() for each in row)
