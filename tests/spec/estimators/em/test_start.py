"""Where expectation maximisation starts and where it stops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warner
from tests.registry import MECHANISMS
from warner import Integers, Status
from warner.errors import ArgumentError, ArgumentTypeError, ImpossibleReportError
from warner.estimators import ExpectationMaximization, Inversion, MaximumLikelihood, Observed
from warner.estimators.base import LikelihoodData
from warner.estimators.literature import SmoothedEM
from warner.results.from_tally import likelihood_data
from warner.results.recommend import method

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
    with pytest.raises(ImpossibleReportError, match="start: gives a report"):
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


@pytest.mark.parametrize(
    ("arguments", "error", "complaint"),
    [
        ({}, ArgumentError, "steps: must be given where there is no tolerance"),
        ({"tolerance": 0.0}, ArgumentError, "tolerance: must be positive"),
        ({"steps": "auto", "tolerance": 1.0}, ArgumentError, "does not go with steps='auto'"),
        ({"steps": 5, "start": "thr"}, ArgumentError, "start: must be one of 'uniform'"),
        ({"steps": 5, "start": 3}, ArgumentTypeError, "an estimator or a distribution"),
        ({"steps": 5, "start": [0.5, 0.6]}, ArgumentError, "start: must be a distribution"),
    ],
)
def test_options_are_checked(
    arguments: dict[str, Any], error: type[Exception], complaint: str
) -> None:
    with pytest.raises(error, match=complaint):
        ExpectationMaximization(**arguments)


def test_a_start_of_another_length_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"start: must have shape \(4,\)"):
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
