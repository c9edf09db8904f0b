"""Fits of simulated reports that begin at the estimate, or are made together, against single fits."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from warner.channels import Channel, DirectChannel, KroneckerChannel, SupportChannel
from warner.estimators import ExpectationMaximization, MaximumLikelihood
from warner.estimators.base import LikelihoodData, gap, log_likelihood

PRODUCTS: dict[str, list[Channel]] = {
    "answers that are values": [DirectChannel(6, 0.1, 0.4), DirectChannel(5, 0.12, 0.4)],
    "bit sums": [SupportChannel(5, 0.2, 0.4), SupportChannel(4, 0.25, 0.3)],
    "three attributes": [DirectChannel(k, 0.5 / k, 0.5) for k in (2, 3, 4)],
}


def _several(channel: Channel, theta: np.ndarray, n: int, count: int) -> list[LikelihoodData]:
    domain = warner.Integers(0, channel.shape[1] - 1)
    drawn = channel.simulate_tallies(theta, n, np.random.default_rng(1), count)
    return [LikelihoodData(of, w, n, domain) for of, w in drawn]


@pytest.mark.parametrize("name", PRODUCTS)
def test_maxima_from_the_estimate_are_maxima_within_the_gap(name: str) -> None:
    """The log-likelihoods differ by no more than the certified gap, also from a start at the border."""
    channel, method = KroneckerChannel(PRODUCTS[name]), MaximumLikelihood()
    theta = np.random.default_rng(0).dirichlet(np.full(channel.shape[1], 0.3))
    corner = np.where(np.arange(theta.size) < 2, 0.5, 0.0)
    for data in _several(channel, theta, 3000, 4):
        usual = method.fit(data).shares
        for near in (theta, corner):
            shares = method.refit(data, near)
            assert gap(channel, data.weights, shares) <= method.gap
            values = [log_likelihood(channel, data.weights, v) for v in (usual, shares)]
            assert values[0] == pytest.approx(values[1], abs=2 * method.gap)


@pytest.mark.parametrize("steps", ["auto", 7])
@pytest.mark.parametrize("truncated", [True, False])
def test_em_of_several_sets_of_reports_is_em_of_each(steps: int | str, truncated: bool) -> None:
    """The numbers of steps are chosen for each set, so the mutant with one number for all fails."""
    grid = warner.Grid(4, 4, 1.0)
    channel = warner.PlanarGeometric(grid, 1.0, truncated=truncated).channel()
    theta = np.where(np.arange(grid.size) == 5, 0.7, 0.02)
    drawn = channel.simulate_tallies(theta, 300, np.random.default_rng(1), 4)
    several = [LikelihoodData(of, w, 300, grid) for of, w in drawn]
    method = ExpectationMaximization(steps)  # type: ignore[arg-type]
    found = list(method.refit_all(several, theta))
    each = [method.fit(data) for data in several]
    if steps == "auto":
        assert len({fit.iterations for fit in each}) > 1
    for shares, fit in zip(found, each, strict=True):
        assert shares == pytest.approx(fit.shares, abs=1e-9)


@pytest.mark.parametrize("start", ["uniform", "histogram"])
def test_em_of_bit_sums_and_of_other_starts_is_fitted_one_by_one(start: str) -> None:
    channel = SupportChannel(6, 0.2, 0.4)
    several = _several(channel, np.full(6, 1 / 6), 500, 3)
    method = ExpectationMaximization(5, start=start)  # type: ignore[arg-type]
    found = list(method.refit_all(several, np.full(6, 1 / 6)))
    for shares, data in zip(found, several, strict=True):
        assert (shares == method.fit(data).shares).all()
