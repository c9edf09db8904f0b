"""Every estimator runs on every mechanism, or refuses with a named error."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import warner
from tests.laws.estimators._extremes import _extremes, _mechanism
from tests.refusals import refused
from tests.registry import BLIND, COMBINED, ESTIMATORS, KEYED, MECHANISMS, PLACES
from tests.sampling import drawn
from warner import Estimate, Integers
from warner.channels import Channel
from warner.errors import (
    ArgumentError,
    ArgumentTypeError,
    IdentifiabilityError,
    WarnerError,
)
from warner.estimators import Estimator, Status
from warner.estimators.base import WHOLE, LikelihoodData
from warner.results.from_tally import likelihood_data

TRUTH = np.array([0.6, 0.3, 0.1, 0.0])


@cache
def _tally(name: str) -> warner.Tally:
    """The tally of 20,000 people, which every estimator reads."""
    mechanism = MECHANISMS[name](warner.Integers(0, 3), 2.0)
    rng = np.random.default_rng(7)
    return mechanism.tally(mechanism.randomize(rng.choice(4, 20_000, p=TRUTH), rng))


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_what_is_no_data_is_refused_with_the_way_to_estimate(estimator: Estimator) -> None:
    """Rejects an error about an attribute that an integer, or a tally, does not have."""
    for wrong in (5, None, "tally.json", _tally("RandomizedResponse"), [0.5, 0.5]):
        refused(
            ArgumentTypeError,
            rf"data: must be LikelihoodData.*Write warner.estimate\(tally, {type(estimator).__name__}",
            estimator.fit,
            wrong,
        )


@pytest.mark.filterwarnings("ignore::warner.errors.MethodWarning")
@pytest.mark.crossed(100)
@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_every_estimator_runs_on_every_mechanism(
    name: str, estimator: warner.estimators.Estimator
) -> None:
    tally = _tally(name)
    if isinstance(estimator, warner.estimators.Observed) and name == "MatrixMechanism":
        refused(
            ArgumentError, "as many different reports as values", warner.estimate, tally, estimator
        )
        return
    inverts = isinstance(
        estimator,
        warner.Inversion
        | warner.estimators.literature.WienerFilter
        | warner.EmpiricalBayes
        | warner.estimators.Independent,
    )
    if inverts and name == "StochasticRounding":
        refused(IdentifiabilityError, "apart: different shares", warner.estimate, tally, estimator)
        return
    result = warner.estimate(tally, estimator)
    assert result.probabilities.shape == (4,)
    assert np.isfinite(result.probabilities).all()
    if not isinstance(estimator, warner.Inversion) or estimator.constraint in (
        "project",
        "normalize",
        "threshold",
    ):
        assert result.probabilities.sum() == pytest.approx(1, abs=1e-12)
        assert (result.probabilities >= 0).all()
    # Early-stopped and smoothed EM are far from the truth on four values, by design.
    if not isinstance(
        estimator,
        warner.estimators.Uniform
        | warner.estimators.Observed
        | warner.ExpectationMaximization
        | warner.estimators.literature.SmoothedEM,
    ):
        # Norm-Cut drops whatever would carry the sum above 1, here a share of 0.1 in half of all
        # runs.
        if name in BLIND:
            if isinstance(estimator, warner.MaximumLikelihood) and name == "StochasticRounding":
                assert str(result.unique).startswith("not unique")
            return
        assert result.probabilities == pytest.approx(
            TRUTH, abs=0.15 if estimator == warner.Inversion("norm-cut") else 0.08
        )
    if name == "StochasticRounding":
        assert not result.has_intervals
        if result.fit.posterior is not None:
            return
        assert {(row["low"], row["high"]) for row in result.rows()} == {(0.0, 1.0)}
        return
    bounds = result.interval()
    assert bounds.shape == (4, 2) and (bounds[:, 0] <= bounds[:, 1]).all()


@cache
def _tuples(name: str) -> tuple[np.ndarray, warner.Tally]:
    """Shares, and the tally of 20,000 people who send several reports each."""
    mechanism = COMBINED[name](3.0)
    rng = np.random.default_rng(3)
    theta = rng.dirichlet(np.full(mechanism.domain.size, 0.5))
    people = mechanism.domain.decode(rng.choice(theta.size, 20_000, p=theta))
    return theta, mechanism.tally(mechanism.randomize(people, rng))


# Every mechanism and every estimator where something is smallest, largest or absent: no warning,
# no NaN, sums of one, gaps that are true.


ROUNDING = 1e-12  # shares sum to one within this


EPSILONS = [1e-6, 1.0, 20.0]


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
            factors = np.broadcast_to(data.channel.log_factors, data.weights.shape)
            whole = own + float(data.weights @ factors)
            assert fit.log_likelihood == pytest.approx(data.n * whole, rel=1e-9, abs=1e-9)
    return Estimate(fit, data, method)


@pytest.mark.filterwarnings("error")
@pytest.mark.crossed(60)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", [*MECHANISMS, *PLACES, *KEYED])
def test_every_method_estimates_from_one_report_and_from_two_that_are_alike(
    name: str, epsilon: float
) -> None:
    """Rejects a projection that loses the 1 beside entries of 1e6, and a gap that is too small."""
    mechanism = _mechanism(name, 2, epsilon)
    methods = [
        *drawn(ESTIMATORS, 7, f"{name} {epsilon}"),
        *([warner.estimators.KeyMeans(), warner.estimators.PerKey()] if name in KEYED else []),
    ]
    for data in _extremes(mechanism):
        best = _likeliest(data.channel, data.weights)
        for method in methods:
            _holds(data, method, best)


@pytest.mark.filterwarnings("error")
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
        assert found.interval(kind="wald")[0] == pytest.approx([0, z2 / (n + z2)])
        assert found.interval(kind="wald")[1] == pytest.approx([n / (n + z2), 1])
        assert found.interval(target="respondents") == pytest.approx(
            np.array([[0, 0], [1, 1], [0, 0]]), abs=1e-7
        )


# Every estimator runs on several reports of one person.


@pytest.mark.crossed(24)
@pytest.mark.parametrize("name", ["RR x OUE x OLH", "RR three times", "RR, OUE, OLH"])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_estimators_run_on_tuples(name: str, estimator: warner.estimators.Estimator) -> None:
    """Or say why not; those that are neither baselines nor smooth find the truth."""
    theta, tally = _tuples(name)
    try:
        result = warner.estimate(tally, estimator)
    except (
        ArgumentError,
        ArgumentTypeError,
        IdentifiabilityError,
    ) as error:
        # Those seen of several bits are not simulated; a tuple of attributes has no order.
        simulated = (
            isinstance(estimator, warner.estimators.literature.BiasCorrection)
            and name == "RR, OUE, OLH"
        )
        assert simulated or isinstance(
            estimator,
            warner.estimators.Observed
            | warner.estimators.literature.SmoothedEM
            | warner.LogSpline
            | warner.estimators.literature.WienerFilter,
        ), error
        return
    assert result.probabilities.shape == theta.shape and np.isfinite(result.probabilities).all()
    if isinstance(
        estimator,
        warner.Inversion | warner.MaximumLikelihood | warner.estimators.literature.MixtureReduction,
    ):
        assert result.probabilities == pytest.approx(
            theta, abs=0.15 if estimator == warner.Inversion("norm-cut") else 0.06
        )
    bounds = result.interval()
    assert (bounds[:, 0] <= bounds[:, 1]).all()
