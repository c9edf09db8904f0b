"""What EM promises that chooses its number of steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warner
from tests.registry import MECHANISMS
from tests.spec.estimators.test_empirical_bayes import _reported
from tests.spec.results._attributes import DOMAIN, SHAPE, fitted, keep, seen
from warner import Grid, Integers, Interval, Product
from warner.channels import DenseChannel, KroneckerChannel
from warner.errors import ArgumentError, ArgumentTypeError, ImpossibleReportError
from warner.estimators import (
    ExpectationMaximization,
    Independent,
    Inversion,
    MaximumLikelihood,
    Observed,
    Status,
)
from warner.estimators.base import LikelihoodData
from warner.estimators.literature import SmoothedEM
from warner.mechanisms import PlanarLaplace
from warner.results.from_tally import likelihood_data
from warner.results.recommend import method


@pytest.mark.parametrize(
    "name", ["RandomizedResponse", "UnaryEncoding optimized", "LocalHashing optimized"]
)
def test_chosen_steps_are_repeatable_and_those_of_plain_em(name: str) -> None:
    data = _reported(MECHANISMS[name](Integers(1, 20), 2.0), np.arange(20) / 190, 5000)
    fit = ExpectationMaximization("auto").fit(data)
    again = ExpectationMaximization("auto").fit(data)
    assert fit.iterations == again.iterations
    assert fit.probabilities == pytest.approx(again.probabilities, abs=1e-12)
    assert fit.iterations is not None and fit.iterations > 1
    plain = ExpectationMaximization(fit.iterations).fit(data).probabilities
    assert warner.metrics.total_variation(fit.probabilities, plain) < 0.01
    whole = ExpectationMaximization("auto", keep_path=True).fit(data)
    assert whole.probabilities == pytest.approx(plain, abs=1e-12)
    assert whole.path is not None and len(whole.path) == fit.iterations + 1


def test_steps_are_chosen_for_reports_of_several_mechanisms_and_for_one_report() -> None:
    domain = Integers(1, 10)
    rng = np.random.default_rng(6)
    values = 1 + rng.choice(10, 3001, p=np.arange(10) / 45)
    mechanisms = [warner.RandomizedResponse(domain, 2.0), warner.UnaryEncoding(domain, 1.0)]
    tallies = [m.tally(m.randomize(values, rng)) for m in mechanisms]
    assert (warner.estimate(tallies, ExpectationMaximization("auto")).iterations or 0) > 1
    one = mechanisms[0].tally(mechanisms[0].randomize([3], rng))
    assert warner.estimate(one, ExpectationMaximization("auto")).iterations == 1


def test_no_sign_of_any_difference_takes_one_step() -> None:
    data = _reported(warner.RandomizedResponse(Integers(1, 50), 0.5), np.full(50, 0.02), 2000)
    assert ExpectationMaximization("auto").fit(data).iterations == 1


# EM: its steps, its start from independence, and when it ends.


@pytest.mark.parametrize("steps", [0, -1, 1.5, True, None])
def test_steps_must_be_a_positive_integer(steps: object) -> None:
    with pytest.raises((ArgumentError, ArgumentTypeError), match="steps"):
        warner.ExpectationMaximization(steps)


def test_no_step_from_independence_is_the_product_of_marginals_and_many_the_maximum() -> None:
    whole, theta = fitted(Inversion())
    start = Independent().fit(whole.data).shares
    few = warner.ExpectationMaximization(1, start="independent").fit(whole.data).shares
    many = warner.ExpectationMaximization(3000, start="independent").fit(whole.data)
    best = MaximumLikelihood().fit(whole.data)
    assert np.abs(few - start).sum() < 0.3 * np.abs(best.shares - start).sum()
    assert many.gap is not None and many.gap < 1e-4
    assert (
        repr(warner.ExpectationMaximization("auto", start="independent"))
        == "ExpectationMaximization(steps='auto', start='independent')"
    )
    independent = np.einsum(
        "i,j,k->ijk", *(theta.sum(axis=tuple({0, 1, 2} - {a})) for a in range(3))
    ).ravel()
    data = seen(KroneckerChannel([keep(d) for d in SHAPE]), independent, 20_000)
    found = warner.ExpectationMaximization("auto", start="independent").fit(data)
    assert found.iterations is not None
    assert warner.metrics.l1(found.shares, independent) < 0.5 * warner.metrics.l1(
        MaximumLikelihood().fit(data).shares, independent
    )


def test_a_start_from_independence_needs_no_inverse() -> None:
    """One attribute known by a single bit, whose channel has none; hashes of combinations, which
    tell no attributes apart.
    """
    bit = warner.mechanisms.StochasticRounding(Interval(0.0, 1.0, 4), 1.0).channel()
    pair = Product(a=Interval(0.0, 1.0, 4), b=Integers(0, 2))
    method = warner.ExpectationMaximization("auto", start="independent")
    data = seen(KroneckerChannel([bit, keep(3)]), np.full(12, 1 / 12), 5000, pair)
    assert method.fit(data).shares.sum() == pytest.approx(1)
    hashes = warner.LocalHashing(pair, 2.0, seeds=64)
    data = seen(hashes.channel(), np.full(12, 1 / 12), 5000, pair)
    plain = warner.ExpectationMaximization(5).fit(data).shares
    assert warner.ExpectationMaximization(5, start="independent").fit(data).shares == pytest.approx(
        plain
    )


def test_steps_from_independence_do_not_depend_on_the_order_of_attributes() -> None:
    whole, _ = fitted(warner.ExpectationMaximization("auto", start="independent"))
    order = [2, 0, 1]
    found = whole.data.channel.marginal(whole.data.weights, SHAPE, order)
    assert found is not None
    names = list(DOMAIN.attributes)
    turned = Product(**{names[axis]: DOMAIN.attributes[names[axis]] for axis in order})
    fit = whole.estimator.fit(LikelihoodData(found[0], found[1], whole.n, turned))
    assert fit.shares == pytest.approx(
        whole.probabilities.reshape(SHAPE).transpose(order).ravel(), rel=1e-9
    )


def test_em_ends_when_more_steps_gain_nothing() -> None:
    """Held-out likelihoods that rise for ever, but by nothing, used to cost 20,000 steps on four
    cells, and one step was then chosen.
    """

    class Counted(DenseChannel):
        products = 0

        def matvec(self, theta: np.ndarray) -> np.ndarray:
            type(self).products += 1
            return super().matvec(theta)

    mechanism, counts = PlanarLaplace(Grid(2, 2), 1.0), np.array([48, 45, 41, 66])
    data = LikelihoodData(Counted(mechanism.channel().dense()), counts / 200, 200, mechanism.domain)
    fit = warner.ExpectationMaximization("auto").fit(data)
    assert Counted.products < 10_000 and fit.iterations == 1


# Where expectation maximisation starts and where it stops.


FOUR = Integers(0, 3)


def _data(name: str = "RandomizedResponse", counts: tuple[int, ...] = (50, 30, 20, 0)) -> Any:
    mechanism = MECHANISMS[name](FOUR, 1.0)
    rng = np.random.default_rng(0)
    return likelihood_data(mechanism.tally(mechanism.randomize(np.repeat(range(4), counts), rng)))


def _of_reports(*reports: int) -> LikelihoodData:
    mechanism = warner.RandomizedResponse(FOUR, 1.0)
    return likelihood_data(mechanism.tally(mechanism.reports(list(reports))))


def _first(data: LikelihoodData, start: Any) -> np.ndarray:
    """The start itself, from the log-likelihood of the path's first point."""
    fit = ExpectationMaximization(1, start=start, keep_path=True).fit(data)
    assert fit.path is not None
    return fit.path[0]


def test_the_histogram_of_k_rr_is_the_share_of_reports_that_name_each_value() -> None:
    data = _of_reports(*[0] * 5, *[1] * 3, *[2] * 2)
    shares = [0.5, 0.3, 0.2, 0.0]
    np.testing.assert_array_equal(_first(data, "histogram"), _first(data, shares))


def test_a_value_that_nobody_reported_stays_absent_as_at_the_maximum() -> None:
    data = _of_reports(*[0] * 5, *[1] * 3, *[2] * 2)
    fit = ExpectationMaximization(start="histogram", tolerance=1e-9).fit(data)
    assert fit.shares[3] == 0 and fit.gap is not None and fit.gap < 1e-3
    np.testing.assert_allclose(fit.shares, MaximumLikelihood().fit(data).shares, atol=1e-3)


def test_several_budgets_have_one_histogram_by_their_numbers_of_people() -> None:
    tallies = [
        mechanism.tally(mechanism.reports(reports))
        for mechanism, reports in (
            (warner.RandomizedResponse(FOUR, 0.5), [0] * 6),
            (warner.RandomizedResponse(FOUR, 2.0), [1, 2]),
        )
    ]
    data = likelihood_data(tallies)
    np.testing.assert_allclose(
        _first(data, "histogram"), _first(data, [0.75, 0.125, 0.125, 0.0]), rtol=1e-12
    )


def test_elsewhere_a_histogram_with_a_zero_gets_one_percent_everywhere() -> None:
    mechanism = warner.LocalHashing(FOUR, 1.0, seeds=64)
    data = likelihood_data(mechanism.tally(mechanism.randomize([0], np.random.default_rng(0))))
    shares = Observed().fit(data).shares
    assert (shares == 0).any()
    mixed = 0.99 * shares + 0.01 / 4
    np.testing.assert_allclose(_first(data, "histogram"), _first(data, mixed), rtol=1e-12)


def test_an_estimator_gives_its_shares_and_negative_ones_count_as_zero() -> None:
    data = _data(counts=(400, 50, 50, 0))
    kept = Inversion("threshold").fit(data).shares
    assert (kept > 0).all()
    np.testing.assert_array_equal(_first(data, Inversion("threshold")), _first(data, kept))
    raw = Inversion().fit(data).shares
    assert (raw < 0).any()
    clipped = np.maximum(raw, 0) / np.maximum(raw, 0).sum()
    np.testing.assert_allclose(
        _first(data, Inversion()), _first(data, 0.99 * clipped + 0.01 / 4), rtol=1e-12
    )


def test_reports_without_a_histogram_are_refused_with_a_remedy() -> None:
    data = _data("MatrixMechanism")
    with pytest.raises(ArgumentError, match=r"start: 'histogram' needs .* Use start='uniform'"):
        ExpectationMaximization(5, start="histogram").fit(data)


def test_the_limit_depends_on_the_start_where_the_maximum_is_not_unique() -> None:
    """[P4 sec III-B] with its matrix (7): every theta with theta_1 = theta_3 is a maximum."""
    mechanism = warner.MatrixMechanism(
        Integers(0, 2), np.array([[1 / 2, 1 / 3, 1 / 6], [1 / 3] * 3, [1 / 6, 1 / 3, 1 / 2]]).T
    )
    data = likelihood_data(mechanism.tally(mechanism.reports([0, 1, 2] * 100)))
    limits = [
        ExpectationMaximization(start=start, tolerance=1e-10).fit(data).shares
        for start in ("uniform", [0.1, 0.8, 0.1], [0.5, 0.1, 0.4])
    ]
    for limit, middle in zip(limits, (1 / 3, 0.8, 0.1), strict=True):
        assert limit[1] == pytest.approx(middle, abs=1e-3)
        assert limit[0] == pytest.approx(limit[2], abs=1e-3)


def test_a_share_of_zero_leaves_a_value_out() -> None:
    fit = ExpectationMaximization(50, start=[0.5, 0.5, 0.0, 0.0]).fit(_data())
    assert fit.shares[2:].tolist() == [0, 0] and fit.gap is not None and fit.gap > 0


def test_a_start_under_which_a_report_is_impossible_is_refused() -> None:
    mechanism = warner.UtilityOptimizedRR(FOUR, 1.0, sensitive=[0])
    data = likelihood_data(mechanism.tally(mechanism.reports([0, 1, 2, 3])))
    with pytest.raises(
        ImpossibleReportError, match="start: makes one of the reports impossible: all values"
    ):
        ExpectationMaximization(5, start=[0.5, 0.5, 0.0, 0.0]).fit(data)


def test_a_tolerance_ends_the_steps_and_its_step_is_the_first_small_one() -> None:
    fit = ExpectationMaximization(tolerance=0.01, keep_path=True).fit(_data())
    assert fit.status is Status.STOPPED and fit.path is not None
    rises = np.diff(fit.path[:, 0])
    assert rises[-1] < 0.01 and (rises[:-1] >= 0.01).all()


def test_too_few_steps_for_the_tolerance_are_said() -> None:
    fit = ExpectationMaximization(3, tolerance=1e-9).fit(_data())
    assert fit.status is Status.STEP_LIMIT and fit.iterations == 3


def test_held_out_reports_choose_the_steps_from_any_start() -> None:
    for start in ("histogram", Inversion("threshold"), [0.4, 0.3, 0.2, 0.1]):
        fit = ExpectationMaximization("auto", start=start).fit(_data())
        again = ExpectationMaximization("auto", start=start).fit(_data())
        assert fit.iterations is not None and fit.shares.tolist() == again.shares.tolist()


def test_a_start_that_fits_already_is_not_called_unmoved() -> None:
    """``NOT_MOVED`` says that the estimate says nothing of the reports, which a histogram does."""
    data = _data()
    start = ExpectationMaximization(start="histogram", tolerance=1e9).fit(data)
    assert start.iterations == 1 and start.status is Status.STOPPED


def test_a_start_of_another_length_is_refused() -> None:
    with pytest.raises(ArgumentError, match="start: must be a list of 4 numbers"):
        ExpectationMaximization(5, start=[0.5, 0.5]).fit(_data())


def test_methods_with_a_start_can_be_compared_and_printed() -> None:
    start = np.array([0.5, 0.5])
    one, two = (ExpectationMaximization(5, start=start) for _ in range(2))
    start[0] = 0.9
    assert one == two and hash(one) == hash(two)
    assert repr(one) == "ExpectationMaximization(steps=5, start=(0.5, 0.5))"
    many = ExpectationMaximization(5, start=np.full(100, 0.01))
    assert repr(many) == "ExpectationMaximization(steps=5, start=<100 shares>)"


def test_the_command_line_names_two_starts() -> None:
    assert method("em:histogram") == ExpectationMaximization(start="histogram", tolerance=0.001)
    assert method("em:threshold") == ExpectationMaximization(
        start=Inversion("threshold"), tolerance=0.001
    )


def test_smoothed_em_takes_the_same_starts() -> None:
    data = _data()
    fits = [
        SmoothedEM(start=start).fit(data)
        for start in ("uniform", "histogram", [0.1, 0.2, 0.3, 0.4])
    ]
    for fit in fits[1:]:
        np.testing.assert_allclose(fit.shares, fits[0].shares, atol=0.05)
    assert len({fit.shares.tobytes() for fit in fits}) == 3
    with pytest.raises(ArgumentError, match="start: must be one of 'uniform', 'histogram'"):
        SmoothedEM(start="independent")
