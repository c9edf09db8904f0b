"""Every mechanism and every estimator where something is smallest, largest or absent: no warning,
no NaN, sums of one, gaps that are true.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pytest

import warner
from tests.registry import ESTIMATORS, KEYED, MECHANISMS, PLACES
from warner import Categorical, Estimate, Grid, Integers, Status, WarnerError
from warner.channels import Channel
from warner.design.comparison import compare
from warner.design.theory import expected_loss
from warner.estimators import Estimator
from warner.estimators.likelihood_data import LikelihoodData
from warner.estimators.mle.objective import WHOLE
from warner.mechanisms import Mechanism
from warner.metrics import earth_movers, quantiles, sum_of_squares
from warner.results.from_tally import likelihood_data

pytestmark = pytest.mark.filterwarnings("error")
ROUNDING = 1e-12  # shares sum to one within this
SLOW = (warner.estimators.literature.BiasCorrection, warner.LogSpline)  # their bootstraps
EPSILONS = [1e-6, 1.0, 20.0]


def _mechanism(name: str, size: int, epsilon: float) -> Mechanism | None:
    """None where the mechanism refuses the budget, with an error of its own."""
    domain = Integers(0, size - 1)
    if name == "LocalHashing optimized":
        epsilon = min(epsilon, 5.0)  # beyond, the pool has hundreds of thousands of cells
    if name in ("Gaussian", "Laplace"):
        epsilon = max(epsilon, 0.01)  # below, reports reach far out
    try:
        if name in KEYED:
            return KEYED[name](Categorical(["a", "b"]), domain, epsilon)
        return (
            PLACES[name](Grid(1, size), epsilon)
            if name in PLACES
            else MECHANISMS[name](domain, epsilon)
        )
    except WarnerError:
        return None


def _extremes(mechanism: Mechanism) -> Iterator[LikelihoodData]:
    """One report; two reports of one value, which everybody has."""
    for n, value in ((1, mechanism.domain.labels[-1]), (2, mechanism.domain.labels[0])):
        yield likelihood_data(
            mechanism.tally(mechanism.randomize([value] * n, np.random.default_rng(n)))
        )


def _likeliest(channel: Channel, w: np.ndarray) -> float:
    """A lower bound of the maximum in nats per report, by plain EM on the matrix and all
    distributions of one value: no code of ours.
    """
    rows = channel.dense()[w > 0] * channel.rows_per_report
    seen = w[w > 0]

    def value(theta: np.ndarray) -> float:
        d = rows @ theta
        return float(channel.rows_per_report * (seen @ np.log(d))) if (d > 0).all() else -np.inf

    theta = np.full(rows.shape[1], 1 / rows.shape[1])
    for _ in range(15):
        theta = theta * (rows.T @ (seen / (rows @ theta)))
        theta /= theta.sum()
    return max([value(theta), *(value(one) for one in np.eye(theta.size))])


def _holds(data: LikelihoodData, method: Estimator, best: float) -> Estimate | None:
    """What every estimate must be; None where the method refuses the evidence, with an error of its
    own.
    """
    try:
        fit = method.fit(data)
    except WarnerError:
        return None
    if fit.probabilities is None:
        assert fit.mean is not None or fit.keys is not None
        return Estimate(fit, data, method)
    theta = fit.probabilities
    assert np.isfinite(theta).all(), method
    if fit.status is not Status.OUTSIDE_SIMPLEX:
        assert (theta >= 0).all() and abs(theta.sum() - 1) <= ROUNDING, (
            method,
            fit.status,
            theta.sum() - 1,
        )
    if fit.gap is not None:
        assert np.isfinite(fit.gap) and fit.gap >= 0, method
        own = data.channel.rows_per_report * (
            data.weights[data.weights > 0]
            @ np.log(data.channel.rows_per_report * data.channel.matvec(theta)[data.weights > 0])
        )
        assert best - own <= fit.gap + 1e-12 * max(1.0, abs(best)), (method, best - own, fit.gap)
        if fit.likelihood == WHOLE and fit.log_likelihood is not None:
            assert fit.log_likelihood == pytest.approx(data.n * own, rel=1e-9, abs=1e-9)
    return Estimate(fit, data, method)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", [*MECHANISMS, *PLACES, *KEYED])
def test_every_method_estimates_from_one_report_and_from_two_that_are_alike(
    name: str, epsilon: float
) -> None:
    """Rejects a projection that loses the 1 beside entries of 1e6, and a gap that is too small."""
    mechanism = _mechanism(name, 2, epsilon)
    if mechanism is None:
        return
    methods = [
        *ESTIMATORS,
        *([warner.estimators.KeyMeans(), warner.estimators.PerKey()] if name in KEYED else []),
    ]
    for data in _extremes(mechanism):
        best = _likeliest(data.channel, data.weights)
        for method in methods:
            _holds(data, method, best)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(
    "name",
    ["RandomizedResponse", "UnaryEncoding optimized", "HadamardResponse", "SquareWave", "Laplace"],
)
def test_what_is_said_of_such_estimates_is_finite_and_in_order(name: str, epsilon: float) -> None:
    """Intervals of all kinds, summaries and JSON. Rejects a bootstrap that divides by the sum of
    unbiased estimates, which may be 0.
    """
    mechanism = _mechanism(name, 3, epsilon)
    if mechanism is None:
        return
    for data in _extremes(mechanism):
        for method in (
            warner.Inversion(),
            warner.Inversion("base-cut"),
            warner.MaximumLikelihood(),
            warner.EmpiricalBayes(),
        ):
            try:
                found = Estimate(method.fit(data), data, method)
            except warner.errors.IdentifiabilityError:
                continue
            json.dumps(found.to_json(), allow_nan=False)
            bounds = [found.interval(target=target) for target in ("population", "respondents")]
            if isinstance(method, warner.Inversion):
                rng = np.random.default_rng(0)
                bounds += [
                    found.interval(kind="bootstrap", replicates=20, rng=rng),
                    found.mean().interval(replicates=20, rng=rng)[None],
                ]
                bounds += [
                    found.variance().interval(replicates=20, rng=rng)[None],
                    found.quantile(0.5).interval(replicates=20, rng=rng)[None],
                ]
            if found.fit.posterior is not None:
                bounds.append(found.interval(kind="posterior"))
            for each in bounds:
                assert np.isfinite(each).all() and (each[:, 0] <= each[:, 1]).all(), (method, each)
            said = [
                found.mean(),
                found.variance(),
                *(found.quantile(q) for q in (0.0, 0.5, 1.0)),
                found.range(0, 0),
                found.range(0, 2),
            ]
            assert np.isfinite(np.array(said, dtype=float)).all()
            if found.status is not Status.OUTSIDE_SIMPLEX:
                assert np.isfinite(quantiles(found.probabilities, [0.0, 1.0], [0, 1, 2])).all()


def test_without_protection_one_report_is_known_and_says_little_of_others() -> None:
    """Rejects a Wald interval [0, 0] for what nobody of one person reported; Wilson's goes to z^2 /
    (1 + z^2).
    """
    open_ = warner.RandomizedResponse(Integers(0, 2), float("inf"))
    data = likelihood_data(open_.tally(open_.randomize([1])))
    for method in ESTIMATORS:
        found = _holds(data, method, 0.0)
        assert (
            found is None
            or found.fit.log_likelihood is None
            or np.isfinite(found.fit.log_likelihood)
        )
    for n in (1, 2, 10):
        found = warner.estimate(open_.tally(open_.randomize([1] * n)), warner.Inversion())
        z2 = 1.959963984540054**2
        assert found.interval()[0] == pytest.approx([0, z2 / (n + z2)]) and found.interval()[
            1
        ] == pytest.approx([n / (n + z2), 1])
        assert found.interval(target="respondents") == pytest.approx(
            np.array([[0, 0], [1, 1], [0, 0]]), abs=1e-7
        )


def test_unbiased_estimates_that_are_all_zero_have_a_bootstrap() -> None:
    """As many reports for every value as against it. Rejects a plug-in that is the estimate divided
    by its sum.
    """
    mechanism = warner.HadamardResponse(Integers(0, 2), 1.0)
    channel = mechanism.channel()
    data = LikelihoodData(
        channel, np.full(channel.shape[0], 1 / channel.shape[0]), 4, mechanism.domain
    )
    found = Estimate(warner.Inversion().fit(data), data, warner.Inversion())
    assert found.probabilities.tolist() == [0, 0, 0] and found.status is Status.OUTSIDE_SIMPLEX
    assert np.isfinite(
        found.interval(kind="bootstrap", replicates=20, rng=np.random.default_rng(0))
    ).all()


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_methods_are_compared_on_two_reports(epsilon: float) -> None:
    coin = warner.RandomizedResponse(Integers(0, 1), epsilon)
    found = compare(
        coin.tally(coin.randomize([0, 0], np.random.default_rng(0))),
        [m for m in ESTIMATORS if not isinstance(m, SLOW)][:8],
        runs=2,
    )
    json.dumps(found.to_json(), allow_nan=False)
    assert all(
        np.isfinite([line.error, line.margin, line.excess_error]).all() for line in found.results
    )


def test_methods_that_differ_by_rounding_alone_win_alike() -> None:
    """With one report a value the maximum of the likelihood and the projection are both the corner.
    Rejects wins that are decided by rounding.
    """
    coin = warner.RandomizedResponse(Integers(0, 1), 1.0)
    found = compare(
        coin.tally(coin.randomize([0] * 50, np.random.default_rng(0))),
        [warner.MaximumLikelihood(), warner.Inversion("project")],
        runs=5,
    )
    assert [line.best_share for line in found.results] == [1.0, 1.0]
    assert [line.method for line in found.results] == [
        warner.MaximumLikelihood(),
        warner.Inversion("project"),
    ]


def test_metrics_take_shares_that_sum_to_one_within_rounding() -> None:
    theta = np.full(3, 1 / 3) * (1 + 9e-13)
    assert sum_of_squares(theta, np.full(3, 1 / 3)) < 1e-20 and quantiles(
        theta, [1.0], [0, 1, 2]
    ).tolist() == [2.0]
    assert earth_movers(theta, np.full(3, 1 / 3), [0, 1, 2]) < 1e-11
    assert expected_loss(Integers(0, 2), theta, 10) > 0
