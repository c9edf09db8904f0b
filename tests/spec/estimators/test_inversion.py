"""Names of the constraints of an inversion."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

import warner
from tests.refusals import refused
from tests.spec.estimators._shapes import BOTH, _bell, _simulated
from tests.spec.results._attributes import SHAPE, fitted, keep, seen
from warner import (
    Estimate,
    Grid,
    Integers,
    Interval,
    Laplace,
    LogSpline,
    PlanarGeometric,
    Product,
    RandomizedResponse,
    SquareWave,
)
from warner.channels import KroneckerChannel, StackChannel
from warner.errors import (
    ArgumentError,
    ArgumentTypeError,
    IdentifiabilityError,
    ImpossibleReportError,
)
from warner.estimators import Estimator, Independent, Inversion, SampleMean, Status
from warner.estimators.base import LikelihoodData
from warner.estimators.literature import SmoothedEM
from warner.mechanisms import Gaussian, Geometric, Piecewise, StochasticRounding
from warner.results.from_tally import likelihood_data
from warner.results.recommend import method


def test_established_names_are_accepted() -> None:
    assert warner.Inversion("norm-sub") == warner.Inversion("project") == method("Norm-Sub")
    assert warner.Inversion("normalise") == warner.Inversion("normalize")
    assert warner.Inversion("emp+thr") == warner.Inversion("threshold")
    assert warner.Inversion("none") == warner.Inversion(None) == method("inversion")


def test_names_of_wang_et_al_mean_what_they_mean_there() -> None:
    """Rejects Norm-Cut under the name of Base-Cut, which cuts at a threshold, and Norm as Norm-Mul.

    Norm leaves negative estimates, and Base-Pos a sum above 1.
    """
    assert warner.Inversion("norm-mul") == method("Norm-Mul") == warner.Inversion("normalize")
    assert method("Norm-Cut") == warner.Inversion("norm-cut")
    raw = _data().channel.invert(_data().weights)
    shares = warner.Inversion("norm-cut").fit(_data()).shares
    assert set(shares[shares > 0]) < set(raw) and shares.sum() < 1
    assert raw[shares == 0].max() + shares.sum() > 1
    for name, here in (
        ("Base-Cut", "Base-Cut of Wang et al. (2020) is Inversion('threshold', rest='discard')"),
        ("norm", "'norm-sub' sets those to 0, and adds the same number to all others"),
        ("base-pos", "'norm-mul' does the same, and then divides all estimates by their sum"),
    ):
        for call in (warner.Inversion, method):
            with pytest.raises(ArgumentError, match=re.escape(here)):
                call(name)


# The level of the significance threshold, and where the rest of the mass goes.


def _data() -> Any:
    mechanism = warner.RandomizedResponse(Integers(0, 9), 1.0)
    rng = np.random.default_rng(1)
    index = rng.choice(10, 4000, p=[0.5, 0.2, 0.08, 0.06, 0.05, 0.04, 0.03, 0.02, 0.01, 0.01])
    return likelihood_data(mechanism.tally(mechanism.randomize(index.tolist(), rng)))


def test_the_rest_is_discarded_and_the_kept_estimates_stay_unbiased() -> None:
    """[P2 sec 2.5]."""
    data = _data()
    raw = Inversion().fit(data).shares
    fit = Inversion("threshold", rest="discard").fit(data)
    kept = fit.shares > 0
    assert kept.sum() < 10 and fit.status is Status.OUTSIDE_SIMPLEX
    np.testing.assert_array_equal(fit.shares[kept], raw[kept])
    spread = Inversion("threshold").fit(data).shares
    np.testing.assert_array_equal(spread[kept], raw[kept])
    assert len(np.unique(spread[~kept])) == 1


def test_the_level_is_that_of_a_bonferroni_test() -> None:
    data = _data()
    raw = Inversion().fit(data).shares
    sd = np.sqrt(data.channel.variance_at_zero(Inversion("project").fit(data).shares) / data.n)
    for alpha in (0.001, 0.05, 0.5, 0.9):
        kept = Inversion("threshold", alpha=alpha, rest="discard").fit(data).shares > 0
        np.testing.assert_array_equal(kept, raw > NormalDist().inv_cdf(1 - alpha / 10) * sd)
    default = Inversion("threshold").fit(data).shares
    np.testing.assert_array_equal(default, Inversion("threshold", alpha=0.05).fit(data).shares)


def test_the_name_tells_what_was_changed() -> None:
    assert repr(Inversion("emp+thr")) == "Inversion(constraint='threshold')"
    assert (
        repr(Inversion("emp+thr", weights="equal", alpha=0.1, rest="discard"))
        == "Inversion(constraint='threshold', weights='equal', alpha=0.1, rest='discard')"
    )


# Estimates that take attributes, or groups of them, as independent.


def test_the_worked_example_of_p5_gives_what_its_formula_gives() -> None:
    """METHODS 9.1: 0.45, 0.05, 0.05, 0.45, and a MAE of 0.075; the paper prints 0.375, 0.075,
    0.275, 0.375, which sums to 1.1.
    """
    pair = Product(a=Integers(1, 2), b=Integers(1, 2))
    data = LikelihoodData(
        KroneckerChannel([keep(2), keep(2)]), np.array([0.3, 0.2, 0.2, 0.3]), 10, pair
    )
    joint = Inversion().fit(data).shares
    assert joint == pytest.approx([0.45, 0.05, 0.05, 0.45], abs=1e-12)
    truth = np.array([0.4, 0.0, 0.2, 0.4])
    assert warner.metrics.mean_absolute_error(truth, joint) == pytest.approx(0.075)
    assert Independent(method=Inversion()).fit(data).shares == pytest.approx(np.full(4, 0.25))
    assert warner.metrics.mean_absolute_error(truth, np.full(4, 0.25)) == pytest.approx(0.15)


def test_groups_are_estimated_jointly_and_the_rest_alone() -> None:
    whole, _ = fitted(Inversion())
    found = Independent([["pay", "sex"]], Inversion()).fit(whole.data).shares.reshape(SHAPE)
    grouped = whole.marginal(["sex", "pay"]).probabilities.reshape(2, 3)
    age = whole.marginal("age").probabilities
    assert found == pytest.approx(grouped[:, None, :] * age[None, :, None])
    assert Independent([["sex", "age", "pay"]], Inversion()).fit(
        whole.data
    ).shares == pytest.approx(whole.probabilities)


@pytest.mark.parametrize(
    "groups", [[["sex", "sex"]], [["sex"], ["sex", "age"]], [[]], [["weight"]], "sex", ["sex"]]
)
def test_groups_that_are_none_are_refused(groups: object) -> None:
    with pytest.raises((ArgumentError, ArgumentTypeError)):
        Independent(groups).fit(fitted(Inversion())[0].data)  # type: ignore[arg-type]


def test_products_of_marginals_say_that_they_take_attributes_as_independent() -> None:
    fit = fitted(Independent())[0].fit
    assert fit.status is Status.EXACT and fit.shares.sum() == pytest.approx(1)


def test_people_of_different_budgets_are_summed_group_by_group() -> None:
    theta = np.random.default_rng(1).dirichlet(np.ones(24))
    stack = StackChannel(
        [KroneckerChannel([keep(d, s) for d in SHAPE]) for s in (0.5, 0.8)], [10_000, 5_000]
    )
    data = seen(stack, theta, 15_000)
    age = Estimate(Inversion().fit(data), data, Inversion()).marginal("age")
    assert isinstance(age.data.channel, StackChannel) and age.data.weights.sum() == pytest.approx(1)
    bounds = age.interval(0.9999)
    truth = theta.reshape(SHAPE).sum(axis=(0, 2))
    assert (bounds[:, 0] <= truth).all() and (truth <= bounds[:, 1]).all()


# The mean alone.


MAKERS = {
    "StochasticRounding": lambda d: StochasticRounding(d, 1.5),
    "Piecewise": lambda d: Piecewise(d, 1.5),
    "SquareWave": lambda d: SquareWave(d, 1.5),
    "Laplace": lambda d: Laplace(d, 1.5),
    "Gaussian": lambda d: Gaussian(d, 1.5, 1e-4),
}


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("domain", [Interval(-3, 7, 16), Integers(0, 9)], ids=repr)
def test_the_mean_of_exact_frequencies_is_the_mean(
    name: str, domain: warner.domains.Domain
) -> None:
    """Unbiased: the mean of the exact law of reports under theta is that of theta, for every value
    alone too.
    """
    mechanism = MAKERS[name](domain)
    channel, points = mechanism.channel(), domain.points
    assert points is not None
    data = likelihood_data(mechanism.tally(mechanism.randomize(domain.labels)))
    for theta in (
        *np.eye(domain.size)[::5],
        np.random.default_rng(0).dirichlet(np.ones(domain.size)),
    ):
        law = type(data)(channel, channel.matvec(theta), data.n, domain)
        mean = SampleMean().fit(law).mean
        assert mean is not None
        assert mean.value[0] == pytest.approx(theta @ points[:, 0], abs=1e-7 * np.ptp(points))


@pytest.mark.parametrize("name", MAKERS)
def test_intervals_of_the_mean_cover(name: str) -> None:
    """95 % in 150 runs: sd 1.78 %, limits 6 sd. The wrong program forgets to rescale: its interval
    covers in no run.
    """
    mechanism = MAKERS[name](Interval(0, 100, 2))
    rng = np.random.default_rng(3)
    n = 2000
    hits = 0
    wrong = 0
    for _ in range(150):
        values = rng.beta(2, 5, n) * 100
        tally = mechanism.tally(mechanism.randomize(values, rng))
        data = likelihood_data(tally)
        low, high = Estimate(SampleMean().fit(data), data, SampleMean()).mean().interval()
        hits += int(low <= 200 / 7 <= high)
        raw = np.arange(mechanism.n_reports) @ tally.counts / n / (mechanism.n_reports - 1) * 100
        wrong += int(abs(raw - 200 / 7) < (high - low) / 2)
    assert abs(hits / 150 - 0.95) < 6 * 0.0178
    assert wrong / 150 < 0.95 - 6 * 0.0178


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_stochastic_rounding_is_as_published(epsilon: float) -> None:
    """Pr(+) = (e - 1) x / (2 e + 2) + 1/2; reports stand for +-(e + 1) / (e - 1), variance C^2 -
    x^2; the wrong program leaves out C.
    """
    mechanism, e = StochasticRounding(Interval(-1, 1, 4), epsilon), math.exp(epsilon)
    rng, n = np.random.default_rng(0), 200_000
    for x in (-1.0, -0.3, 0.1, 0.8):
        report = mechanism.randomize(np.full(n, x), rng).columns["report"]
        p = (e - 1) * x / (2 * e + 2) + 0.5
        assert abs(report.mean() - p) < 6.5 * math.sqrt(p * (1 - p) / n)
        fit = warner.estimate(mechanism.tally(mechanism.reports(report)), SampleMean()).fit
        assert fit.mean is not None
        c = (e + 1) / (e - 1)
        assert fit.mean.variance[0] == pytest.approx(c**2 - fit.mean.value[0] ** 2, rel=2e-5)


def test_rounding_identifies_the_mean_and_says_that_it_identifies_nothing_else() -> None:
    mechanism, rng = StochasticRounding(Integers(0, 9), 2.0), np.random.default_rng(1)
    tally = mechanism.tally(mechanism.randomize(rng.integers(0, 5, 50_000), rng))
    result = warner.estimate(tally, warner.MaximumLikelihood())
    assert str(result.unique).startswith("not unique") and not result.has_intervals
    assert result.mean() == pytest.approx(warner.estimate(tally, SampleMean()).mean(), abs=1e-6)
    refused(IdentifiabilityError, "", warner.estimate, tally, warner.Inversion())


def test_a_mean_has_no_shares() -> None:
    mechanism = Piecewise(Interval(0, 1, 4), 1.0)
    result = warner.estimate(mechanism.tally(mechanism.randomize([0.2] * 500)), SampleMean())
    assert result.status is warner.estimators.Status.EXACT and result.rows() == []
    with pytest.raises(IdentifiabilityError, match="only the mean"):
        _ = result.probabilities
    refused(IdentifiabilityError, "", result.variance)
    refused(ArgumentError, "only a mean", result.plot)
    data = result.to_json()
    assert data["shares"] == []
    assert data["mean"][0]["low"] <= data["mean"][0]["estimate"] <= data["mean"][0]["high"]
    refused(ArgumentError, "", result.mean().interval, kind="bootstrap")


def test_means_of_places_and_of_categories() -> None:
    places = PlanarGeometric(Grid(5, 6, 0.5), 2.0)
    rng = np.random.default_rng(0)
    values = [
        (int(r), int(c))
        for r, c in zip(rng.integers(0, 5, 40_000), rng.integers(0, 6, 40_000), strict=True)
    ]
    down, right = warner.estimate(places.tally(places.randomize(values, rng)), SampleMean()).mean()
    assert down == pytest.approx(1.0, abs=0.1) and right == pytest.approx(1.25, abs=0.1)
    assert isinstance(
        warner.estimate(
            Geometric(Integers(0, 9), 1.0).tally(Geometric(Integers(0, 9), 1.0).randomize([3])),
            SampleMean(),
        ).mean(),
        float,
    )
    labels = warner.RandomizedResponse(warner.Categorical(["a", "b"]), 1.0)
    with pytest.raises(ArgumentTypeError, match="numbers or places"):
        warner.estimate(labels.tally(labels.randomize(["a"])), SampleMean())
    bits = warner.UnaryEncoding(Integers(0, 3), 1.0)
    with pytest.raises(IdentifiabilityError, match="counts of each bit"):
        warner.estimate(bits.tally(bits.randomize([1])), SampleMean())


def test_bins_do_not_bound_the_mean() -> None:
    """Everybody at 1.0 in two bins of width 5, whose centres are 2.5 and 7.5: the interval holds
    1.0.
    """
    mechanism, rng, hits = StochasticRounding(Interval(0, 10, 2), 2.0), np.random.default_rng(0), 0
    for _ in range(100):
        low, high = (
            warner.estimate(
                mechanism.tally(mechanism.randomize(np.full(500, 1.0), rng)), SampleMean()
            )
            .mean()
            .interval()
        )
        hits += int(low <= 1.0 <= high)
    assert hits >= 82  # 6 sd below 95


def test_one_report_says_nothing_and_a_flat_axis_nothing_wrong() -> None:
    mechanism = Piecewise(Interval(0, 1, 4), 1.0)
    low, high = (
        warner.estimate(mechanism.tally(mechanism.randomize([0.2])), SampleMean()).mean().interval()
    )
    assert (low, high) == (0.0, 1.0)
    line = Gaussian(warner.domains.Points([[0, 0], [0, 1.0]]), 1.0, 1e-4)
    x, y = warner.estimate(line.tally(line.randomize([(0, 1)] * 5000)), SampleMean()).mean()
    assert x == 0 and y == pytest.approx(1.0, abs=0.5)


def test_a_mean_that_is_only_nearly_affine_is_not_taken_as_such() -> None:
    """Of the truncated geometric mechanism the mean report bends by 1 % at the ends: the inversion
    is right where a line is not.
    """
    mechanism = warner.mechanisms.TruncatedGeometric(Integers(0, 19), 2.0)
    channel = mechanism.channel()
    theta = np.eye(20)[0]
    data = likelihood_data(mechanism.tally(mechanism.randomize([0])))
    mean = SampleMean().fit(type(data)(channel, channel.matvec(theta), 100, mechanism.domain)).mean
    assert mean is not None and mean.value[0] == pytest.approx(0, abs=1e-9)


PLACES = np.random.default_rng(0).random((30, 2))


@pytest.mark.parametrize(
    "domain",
    [warner.domains.Points(PLACES), Grid(3, 7)],
    ids=["points that are no lattice", "a grid that is none of the device's"],
)
def test_the_mean_of_places_with_noise_added_needs_no_inverse(
    domain: warner.domains.Domain,
) -> None:
    """The device rounds places to its grid. The wrong program inverts the channel then: its means
    are off by thousands of diameters.
    """
    points = domain.points
    assert points is not None
    mechanism, rng = Gaussian(domain, 1.0, delta=1e-6), np.random.default_rng(1)
    index = rng.integers(0, domain.size, 10_000)
    result = warner.estimate(
        mechanism.tally(mechanism.randomize(domain.decode(index), rng)), SampleMean()
    )
    means = result.mean()
    assert isinstance(means, tuple)
    for found, truth in zip(means, points[index].mean(axis=0), strict=True):
        low, high = found.interval(level=1 - 1e-9)
        assert abs(found - truth) < 6.2 * mechanism.sigma / math.sqrt(10_000) + np.ptp(points) / 64
        assert low <= truth <= high
        assert (
            found.interval()[0] <= found <= found.interval()[1]
            or not points.min() <= found <= points.max()
        )
    assert result.fit.mean is not None
    assert (result.fit.mean.bias <= np.ptp(points, axis=0).max() / 64).all()


def test_the_bias_of_rounded_places_is_at_most_what_intervals_are_widened_by() -> None:
    """Exact frequencies of every place alone: the mean is off by no more than the bias that is
    stated, and some place by all of it.
    """
    mechanism = Gaussian(warner.domains.Points(PLACES), 1.0, delta=1e-6)
    channel = mechanism.channel()
    off = []
    for x in range(30):
        fit = SampleMean().fit(
            LikelihoodData(channel, channel.matvec(np.eye(30)[x]), 10_000, mechanism.domain)
        )
        assert fit.mean is not None
        off.append(np.abs(fit.mean.value - PLACES[x]) / fit.mean.bias)
    assert np.max(off, axis=0) == pytest.approx(np.ones(2), abs=1e-6)


def test_an_inverse_is_taken_where_rounding_matters_more_than_noise() -> None:
    """Three places far apart against the noise and very many people: without the bias. The wrong
    program never inverts.
    """
    places = np.array([[0.0, 0.0], [1.0, 0.003], [0.503, 1.0]])
    mechanism = Gaussian(warner.domains.Points(places), 8.0, delta=1e-3)
    channel = mechanism.channel()
    theta = np.array([0.1, 0.2, 0.7])
    few, many = (
        SampleMean().fit(LikelihoodData(channel, channel.matvec(theta), n, mechanism.domain))
        for n in (100, 10**9)
    )
    assert few.mean is not None and (few.mean.bias > 0).any()
    assert many.mean is not None and (many.mean.bias == 0).any()
    assert many.mean.value == pytest.approx(theta @ places, abs=1e-7)


# What every estimator for values in order promises.


@pytest.mark.parametrize("estimator", BOTH, ids=repr)
@pytest.mark.parametrize(
    "domain",
    [
        warner.Categorical(["a", "b", "c"]),
        warner.Grid(2, 2),
        warner.Product(a=Integers(0, 1), b=Integers(0, 2)),
    ],
)
def test_values_without_order_are_refused(
    estimator: Estimator, domain: warner.domains.Domain
) -> None:
    mechanism = RandomizedResponse(domain, 1.0)
    with pytest.raises(
        ArgumentError,
        match=f"domain: must have numbers as values for {type(estimator).__name__}; got",
    ):
        estimator.fit(_simulated(mechanism, np.full(domain.size, 1 / domain.size), 100))


@pytest.mark.parametrize("estimator", BOTH, ids=repr)
def test_impossible_reports_are_refused(estimator: Estimator) -> None:
    channel = warner.channels.DenseChannel(np.array([[0.5, 0.5], [0.5, 0.5], [0.0, 0.0]]))
    with pytest.raises(ImpossibleReportError):
        estimator.fit(LikelihoodData(channel, np.array([0.5, 0.4, 0.1]), 10, Integers(0, 1)))


@pytest.mark.parametrize("estimator", BOTH, ids=repr)
def test_results_are_deterministic(estimator: Estimator) -> None:
    data = _simulated(SquareWave(Interval(0, 1, 64), 1.0), _bell(64), 5_000)
    assert estimator.fit(data).probabilities == pytest.approx(
        estimator.fit(data).probabilities, abs=1e-12
    )


@pytest.mark.crossed(8)
@pytest.mark.parametrize("size", [2, 3, 8, 64])
@pytest.mark.parametrize("report", [0, 500, 1023])
@pytest.mark.parametrize("n", [1, 10**6])
def test_one_report_or_one_kind_of_report_gives_a_distribution(
    size: int, report: int, n: int
) -> None:
    mechanism = SquareWave(Interval(0, 1, size), 1.0)
    w = np.zeros(1024)
    w[report] = 1.0
    for estimator in BOTH:
        fit = estimator.fit(LikelihoodData(mechanism.channel(), w, n, mechanism.domain))
        assert np.isfinite(fit.probabilities).all() and (fit.probabilities >= 0).all()
        assert fit.probabilities.sum() == pytest.approx(1, abs=1e-12)
    assert fit.status is Status.COMPLETED


def test_draws_are_distributions_and_belong_to_the_generator_given() -> None:
    data = _simulated(SquareWave(Interval(0, 1, 64), 1.0), _bell(64), 20_000)
    fit = LogSpline().fit(data)
    assert fit.posterior is not None and SmoothedEM().fit(data).posterior is None
    first, again = (fit.posterior.draws(50, np.random.default_rng(1)) for _ in range(2))
    assert first.shape == (50, 64) and (first >= 0).all() and first.sum(axis=1) == pytest.approx(1)
    assert first == pytest.approx(again, abs=1e-12)
    assert first.mean(axis=0) == pytest.approx(fit.probabilities, abs=0.01)
    fewer = LogSpline().fit(replace(data, n=200)).posterior
    assert fewer is not None
    at = np.arange(64)
    assert (fewer.draws(200, np.random.default_rng(1)) @ at).std() > 3 * (
        fit.posterior.draws(200, np.random.default_rng(1)) @ at
    ).std()


def test_the_error_of_a_mean_of_few_people_is_that_of_their_reports() -> None:
    """Of n numbers that each report stands for, the standard error is s / sqrt(n), s^2 with the
    denominator n - 1. Rejects the denominator n, which is too small for few people.
    """
    mechanism = StochasticRounding(Interval(-1, 1, 2), 1.0)
    fit = warner.estimate(mechanism.tally(mechanism.reports([0, 1, 1])), SampleMean()).fit
    stand_for = (math.e + 1) / (math.e - 1)
    numbers = stand_for * np.array([-1, 1, 1])
    assert fit.mean is not None
    assert fit.mean.value == pytest.approx([numbers.mean()])
    assert fit.mean.variance == pytest.approx([numbers.var(ddof=1)])
