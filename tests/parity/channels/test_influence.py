"""What each observed report adds to an estimate, where the rows are those of observed reports."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from warner import Integers
from warner.mechanisms import Mechanism
from warner.results.from_tally import likelihood_data

DOMAIN = Integers(0, 3)
MECHANISMS: dict[str, Mechanism] = {
    "unary": warner.UnaryEncoding(DOMAIN, 1.0, variant="oue"),
    "uRAP": warner.UtilityOptimizedRappor(DOMAIN, 2.0, sensitive=[0, 1]),
    "k-RR twice": warner.Repeated(warner.RandomizedResponse(DOMAIN, 1.0), 2),
    "unary and hashes": warner.Repeated(
        [warner.UnaryEncoding(DOMAIN, 1.0), warner.LocalHashing(DOMAIN, 1.0, seeds=8)]
    ),
    "joint inverse": warner.Repeated(
        [
            warner.RandomizedResponse(DOMAIN, 1.0),
            warner.mechanisms.StochasticRounding(DOMAIN, 1.0),
        ]
    ),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_terms_of_reports_add_up_to_the_inversion(name: str) -> None:
    mechanism = MECHANISMS[name]
    rng = np.random.default_rng(5)
    reports = mechanism.randomize(rng.integers(0, 4, 500), rng=rng)
    data = likelihood_data(mechanism.tally(reports, keep_reports=True))
    c = rng.normal(size=(4, 2))
    g = data.channel.influence(c)
    assert g.T @ data.weights == pytest.approx(c.T @ data.channel.invert(data.weights))
    assert data.channel.influence(c[:, 0]) == pytest.approx(g[:, 0])
    channel, place = mechanism.channel_of_reports(reports.columns)
    each = channel.influence(c)[place].mean(axis=0)
    assert each == pytest.approx(c.T @ data.channel.invert(data.weights))


@pytest.mark.parametrize("name", [name for name in MECHANISMS if name != "joint inverse"])
def test_the_sample_mean_of_kept_reports_is_the_mean_of_the_inversion(name: str) -> None:
    """The numbers of observed rows are no scores: an affine function of them is not the mean."""
    mechanism = MECHANISMS[name]
    rng = np.random.default_rng(6)
    tally = mechanism.tally(mechanism.randomize(np.full(2000, 2), rng=rng), keep_reports=True)
    found = warner.estimate(tally, warner.SampleMean()).mean()
    assert float(found) == pytest.approx(float(warner.estimate(tally, warner.Inversion()).mean()))
    low, high = found.interval(0.9999)
    assert low < 2 < high
