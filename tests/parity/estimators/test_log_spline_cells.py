"""Log-splines on cells of values, against the same computation with every value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warner
from warner import Integers, Interval, LogSpline
from warner.estimators import log_spline
from warner.estimators.base import LikelihoodData
from warner.estimators.log_spline import (
    Cells,
    Likelihood,
    cells_for,
    design,
    fit_grid,
    posterior_of_models,
    softmax,
)
from warner.metrics import total_variation

SIZE = 1300


def _cells(size: int) -> Cells:
    return Cells(size, (0, 1, *range(4, size - 1, 7), size - 1))


@pytest.mark.parametrize("order", [1, 2, 3])
def test_columns_on_cells_are_means_and_the_product_with_all_values_is_the_dense_one(
    order: int,
) -> None:
    size, basis = 700, 20
    cells = _cells(size)
    whole, found = design(size, basis, order), design(size, basis, order, cells)
    means = np.add.reduceat(whole.columns, cells.index, axis=0) / cells.sizes[:, None]
    assert found.columns == pytest.approx(means, abs=1e-9)
    assert (found.spline == whole.spline).all() and len(found.groups) == len(whole.groups)
    phi = np.random.default_rng(order).normal(size=whole.columns.shape[1])
    assert found.theta_of_values(phi) == pytest.approx(softmax(whole.columns, phi), rel=1e-9)


@pytest.mark.parametrize(
    "make",
    [
        warner.RandomizedResponse,
        warner.HadamardResponse,
        lambda d, e: warner.SquareWave(Interval(0, 1, SIZE), e, cells=512),
    ],
    ids=["values", "hadamard", "windows"],
)
def test_the_estimate_on_cells_is_nearly_that_on_values(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their distance is less than a tenth of the distance of both from the truth."""
    monkeypatch.setattr(log_spline, "MOST_CELLS", 450)
    mechanism = make(Integers(0, SIZE - 1), 2.0)
    channel, rng, n = mechanism.channel(), np.random.default_rng(8), 100_000
    cells = cells_for(channel)
    assert cells is not None and len(cells.starts) <= SIZE // 2 + 3
    x = np.arange(SIZE) / SIZE
    truth = np.exp(-((x - 0.35) ** 2) / 0.03) + 0.3 * np.exp(-((x - 0.7) ** 2) / 0.005)
    truth /= truth.sum()
    data = LikelihoodData(channel, channel.simulate(truth, n, rng), n, mechanism.domain)
    fit = LogSpline().fit(data)
    models = fit_grid(Likelihood(channel, data.weights, n * channel.rows_per_report))
    slow = posterior_of_models(models) @ np.stack([m.theta for m in models])
    away = total_variation(fit.shares, slow)
    assert fit.shares.sum() == pytest.approx(1) and away < total_variation(slow, truth) / 10
    assert fit.posterior is not None
    draws = fit.posterior.draws(20, rng)
    assert draws.shape == (20, SIZE) and draws.sum(axis=1) == pytest.approx(np.ones(20))
    # The draws are about the estimate: their mean is nearer to it than they are.
    spread = np.mean([total_variation(draw, fit.shares) for draw in draws])
    assert total_variation(draws.mean(axis=0), fit.shares) < spread


def test_few_values_are_their_own_cells() -> None:
    assert cells_for(warner.HadamardResponse(Integers(0, 1999), 1.0).channel()) is None


def test_very_many_values_in_order() -> None:
    """No matrix of K x K or of reports x K is made: it would not fit. The ends keep their atoms."""
    size, n = 60_000, 10**6
    truth = np.full(size, 0.6 / size)
    truth[0] += 0.1
    truth[-1] += 0.3
    channel = warner.HadamardResponse(Integers(0, size - 1), 3.0).channel()
    d = channel.matvec(truth)
    w = np.random.default_rng(0).multinomial(n, d / d.sum()) / n
    fit = LogSpline().fit(LikelihoodData(channel, w, n, Integers(0, size - 1)))
    assert fit.shares[[0, -1]] == pytest.approx([0.1, 0.3], abs=0.01)
    assert fit.shares[1:-1].max() < 0.01
