"""Log-splines against a general optimiser, dense formulas and numerical derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_t, norm

import warner
from tests.registry import MECHANISMS
from warner import Integers, Interval
from warner.estimators import LogSpline, log_spline
from warner.estimators.base import LikelihoodData
from warner.estimators.log_spline import (
    Cells,
    CoefficientPrior,
    Likelihood,
    _grid,
    cells_for,
    derivatives,
    design,
    fit_grid,
    maximize_penalized,
    posterior_of_models,
    softmax,
)
from warner.metrics import total_variation
from warner.results.from_tally import likelihood_data


def _window(bins: int = 48, epsilon: float = 1.0, n: int = 5_000) -> Likelihood:
    channel = warner.SquareWave(Interval(0, 1, bins), epsilon, cells=128).channel()
    x = (np.arange(bins) + 0.5) / bins
    truth = np.exp(-((x - 0.4) ** 2) / 0.03) + 0.1
    return Likelihood(
        channel, channel.simulate(truth / truth.sum(), n, np.random.default_rng(4)), n
    )


def _objective(likelihood: Likelihood, order: int, scale: float, basis: int) -> Any:
    """n l + log prior by dense formulas and SciPy's densities."""
    x = design(likelihood.rows.shape[1], basis, order)
    dense = likelihood.rows.dense()
    sizes = {group.stop - group.start for group in x.groups}
    laws = {size: multivariate_t(np.zeros(size), np.eye(size), df=1) for size in sizes}

    def value(phi: np.ndarray) -> float:
        heights = x.columns @ phi
        d = dense @ (np.exp(heights) / np.exp(heights).sum())
        seen = likelihood.weights > 0
        prior = norm.logpdf(phi[x.spline], scale=scale).sum()
        prior += sum(laws[phi[g].size].logpdf(phi[g]) for g in x.groups)
        return float(likelihood.count * likelihood.weights[seen] @ np.log(d[seen]) + prior)

    return value


@pytest.mark.parametrize("order, scale", [(1, 0.3), (2, 3.0), (3, 0.3)])
def test_newtons_optimum_is_the_general_optimisers(order: int, scale: float) -> None:
    likelihood = _window(bins=24)
    model = maximize_penalized(likelihood, design(24, 8, order), order, scale)
    value = _objective(likelihood, order, scale, 8)
    assert model.converged
    other = minimize(
        lambda phi: -value(phi), np.zeros(model.phi.size), method="BFGS", options={"gtol": 1e-4}
    )
    assert value(model.phi) >= -other.fun - 1e-4
    assert softmax(model.design.columns, other.x) == pytest.approx(model.theta, abs=1e-4)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_evidence_is_the_dense_formula(order: int) -> None:
    """log Z = objective + P/2 log 2 pi - 1/2 log det of a numerical Hessian."""
    likelihood, scale = _window(), 1.0
    model = maximize_penalized(likelihood, design(48, 8, order), order, scale)
    value = _objective(likelihood, order, scale, 8)
    p, step = model.phi.size, 1e-3
    e = np.eye(p) * step

    def mixed(a: np.ndarray, b: np.ndarray) -> float:
        at = model.phi
        return value(at + a + b) - value(at + a - b) - value(at - a + b) + value(at - a - b)

    numerical = np.array([[mixed(a, b) for b in e] for a in e])
    hessian = -numerical / (4 * step**2)
    # The factor is of the point before the last step.
    assert model.factor @ model.factor.T == pytest.approx(
        hessian, rel=1e-2, abs=1e-2 * np.abs(hessian).max()
    )
    assert model.evidence == pytest.approx(
        value(model.phi) + p / 2 * np.log(2 * np.pi) - np.linalg.slogdet(hessian)[1] / 2, abs=0.05
    )


def test_evidence_is_the_integral_where_that_can_be_had() -> None:
    """K = 2 has one coefficient: Laplace's formula against quadrature, to 0.02 nats."""
    from scipy.integrate import quad

    channel = warner.RandomizedResponse(Integers(0, 1), 1.0).channel()
    likelihood = Likelihood(channel, np.array([0.4, 0.6]), 2000)
    model = maximize_penalized(likelihood, design(2, 2, 1), 1, 1.0)
    value = _objective(likelihood, 1, 1.0, 2)
    top = value(model.phi)
    around = (float(model.phi[0]) - 2, float(model.phi[0]) + 2)
    integral = quad(lambda t: np.exp(value(np.array([t])) - top), *around, epsabs=1e-10, limit=200)[
        0
    ]
    assert model.evidence == pytest.approx(top + np.log(integral), abs=0.02)


@pytest.mark.parametrize("name", MECHANISMS)
def test_derivatives_are_numerical_ones_on_every_channel(name: str) -> None:
    mechanism = MECHANISMS[name](Integers(0, 9), 1.5)
    rng = np.random.default_rng(2)
    data = likelihood_data(mechanism.tally(mechanism.randomize(rng.choice(10, 3_000), rng)))
    rows, weights = data.channel.restrict_to_observed(data.weights)
    likelihood = Likelihood(rows, weights, data.n * rows.rows_per_report)
    columns = design(10, 10, 2).columns
    phi = rng.normal(size=columns.shape[1]) / 3

    def at(v: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        theta = softmax(columns, v)
        d, value = likelihood.value(theta)
        gradient, informed, rest = derivatives(
            Likelihood(rows, weights, likelihood.count), columns, theta, d
        )
        return value, gradient, rest - informed

    _, gradient, hessian = at(phi)
    step = 1e-4
    for i, e in enumerate(np.eye(phi.size) * step):
        (up, g_up, _), (down, g_down, _) = at(phi + e), at(phi - e)
        assert gradient[i] == pytest.approx((up - down) / (2 * step), rel=1e-4, abs=1e-3)
        # The Gram matrix of bits is in single precision.
        assert hessian[i] == pytest.approx(
            (g_up - g_down) / (2 * step), rel=1e-3, abs=1e-3 * np.abs(hessian).max()
        )


@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_penalty_leaves_polynomials_alone_and_its_scale_does_not_depend_on_the_basis(
    order: int,
) -> None:
    coarse, fine = design(200, 40, order), design(200, 80, order)
    x = (np.arange(200) + 0.5) / 200
    for found in (coarse, fine):
        smooth = found.columns[:, : order - 1]
        powers = np.vander(x, order)
        assert smooth - powers @ np.linalg.lstsq(powers, smooth, rcond=None)[0] == pytest.approx(
            np.zeros_like(smooth), abs=1e-9
        )
        assert (found.columns[:, found.spline] ** 2).sum(axis=1).mean() == pytest.approx(1)
    covariance = [
        found.columns[:, found.spline] @ found.columns[:, found.spline].T
        for found in (coarse, fine)
    ]
    assert np.abs(covariance[0] - covariance[1]).max() < 0.1 * np.abs(covariance[1]).max()


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_many_reports_of_bits_are_expanded_without_loss(epsilon: float) -> None:
    """Against the likelihood itself: the same estimate to 1 % in total variation, which is far less
    than its error.
    """
    mechanism = warner.SubsetSelection(Integers(0, 15), epsilon)
    truth = np.exp(-((np.arange(16) - 5) ** 2) / 20)
    rng = np.random.default_rng(5)
    values = rng.choice(16, 3_000, p=truth / truth.sum())
    data = likelihood_data(mechanism.tally(mechanism.randomize(values, rng), keep_reports=True))
    rows, weights = data.channel.restrict_to_observed(data.weights)
    assert rows.shape[0] > 4 * 16
    models = fit_grid(Likelihood(rows, weights, data.n))
    slow = posterior_of_models(models) @ np.stack([m.theta for m in models])
    assert warner.metrics.total_variation(warner.LogSpline().fit(data).probabilities, slow) < 0.01


def test_the_prior_is_normal_and_cauchy() -> None:
    x = design(60, 20, 3)
    phi = np.random.default_rng(0).normal(size=x.columns.shape[1])
    expected = norm(0, 2.0).logpdf(phi[x.spline]).sum()
    expected += sum(
        multivariate_t(np.zeros(phi[g].size), np.eye(phi[g].size), df=1).logpdf(phi[g])
        for g in x.groups
    )
    assert CoefficientPrior(x, 2.0).value(phi) == pytest.approx(expected)


def test_a_finer_basis_is_the_same_model_where_the_truth_is_smooth() -> None:
    likelihood = _window(bins=128, n=20_000)
    thetas, evidences = [], []
    for basis in (40, 80):
        models = _grid(likelihood, basis, None, False)
        thetas.append(posterior_of_models(models) @ np.stack([m.theta for m in models]))
        evidences.append(max(m.evidence for m in models))
    assert warner.metrics.total_variation(*thetas) < 0.01
    assert evidences[0] == pytest.approx(evidences[1], abs=0.5)


# Log-splines on cells of values, against the same computation with every value.


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


# Draws of log-splines a few values at a time, against all draws at once.


@pytest.mark.parametrize("size", [60, 3000])
def test_draws_in_blocks_are_those_of_all_values(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Normalised sums, orders of draws, and quantiles."""
    mechanism = warner.RandomizedResponse(warner.Integers(0, size - 1), 2.0)
    rng = np.random.default_rng(1)
    values = np.clip(rng.normal(0.4, 0.2, 4000) * size, 0, size - 1).astype(np.int64)
    tally = mechanism.tally(mechanism.randomize(values, rng=rng))
    result = warner.estimate(tally, LogSpline())
    posterior = result.fit.posterior
    assert posterior is not None
    whole = posterior.draws(1000, np.random.default_rng(0))
    assert whole.shape == (1000, size)
    np.testing.assert_allclose(whole.sum(axis=1), 1.0, rtol=1e-12)
    one_by_one = posterior.one_by_one(1000, np.random.default_rng(0))
    for drawn, row in zip(one_by_one, whole, strict=True):
        np.testing.assert_array_equal(drawn, row)

    monkeypatch.setattr(log_spline, "_BLOCK", 17 * 1000)
    blocks = list(posterior.blocks(1000, np.random.default_rng(0)))
    assert all(drawn.shape[0] <= 17 for _, drawn in blocks)
    together = np.concatenate([drawn for _, drawn in blocks])
    np.testing.assert_array_equal(np.sort(together, axis=1), np.sort(whole.T, axis=1))
    # A draw is one distribution: its values stand in one column of every block.
    np.testing.assert_allclose(together.sum(axis=0), 1.0, rtol=1e-12)
