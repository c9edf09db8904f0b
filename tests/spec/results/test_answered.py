"""The distribution among those who answered, where nonresponse is a value."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import warner
from warner import Categorical, Grid, Integers, Interval, LogSpline, MaximumLikelihood
from warner.domains import Optional, with_missing
from warner.errors import ArgumentError, ArgumentTypeError
from warner.estimators.literature import SmoothedEM

UNITS = warner.SubsetSelection(Optional(Integers(0, 9)), 3.0)
ANSWERS = [*np.minimum(np.random.default_rng(5).poisson(3, 4000), 9).tolist(), *[None] * 1000]


def _estimate(method: warner.estimators.Estimator | None = None) -> warner.Estimate:
    return warner.estimate(UNITS.tally(UNITS.randomize(ANSWERS, np.random.default_rng(2))), method)


@pytest.mark.parametrize(
    "method", [None, MaximumLikelihood(), warner.Inversion("project")], ids=repr
)
def test_shares_mean_and_quantile_are_of_those_who_answered(
    method: warner.estimators.Estimator | None,
) -> None:
    result = _estimate(method)
    given = result.answered()
    assert given.domain == Integers(0, 9) and given.probabilities.sum() == pytest.approx(1)
    assert given.frequency == pytest.approx(0.8, abs=0.04)
    assert given.n == pytest.approx(5000 * given.frequency)
    shares = result.probabilities[:-1] / result.probabilities[:-1].sum()
    assert given.probabilities == pytest.approx(shares)
    assert given.mean() == pytest.approx(shares @ np.arange(10)) and given.mean() == result.mean()
    assert given.quantile(0.5) in (2, 3) and given.range(0, 9) == pytest.approx(1)
    rng = np.random.default_rng(0)
    for number, truth in (
        (given.mean(), 3.0),
        (result.mean(), 3.0),
        (given.range(0, 2), 0.423),
        (given.variance(), 3.0),
        (given.quantile(0.5), 3.0),
    ):
        low, high = number.interval(0.999, replicates=20, rng=rng)
        assert low <= number <= high and low - 0.05 <= truth <= high + 0.05
    row = given.row()
    assert row["low"] < 0.8 < row["high"] and row["high"] - row["low"] < 0.08
    assert len(given.rows()) == 10 and repr(given).startswith("Answered(")
    assert pickle.loads(pickle.dumps(result)).answered().rows() == given.rows()


def test_an_order_of_the_values_is_used_though_nonresponse_has_no_place_in_it() -> None:
    """A smooth fit moves mass between neighbours, and nonresponse is nobody's neighbour."""
    result = _estimate()
    assert result.method == "LogSpline()" and result.has_posterior_intervals
    rough = _estimate(MaximumLikelihood()).probabilities
    bend = [np.abs(np.diff(p[:-1], 2)).sum() for p in (result.probabilities, rough)]
    assert bend[0] < bend[1] and result.probabilities[-1] == pytest.approx(rough[-1], abs=0.01)


@pytest.mark.parametrize("method", [LogSpline(), SmoothedEM()], ids=repr)
@pytest.mark.parametrize("size", [12, 300])
def test_with_little_noise_the_answers_are_estimated_as_if_nobody_were_silent(
    method: warner.estimators.Estimator, size: int
) -> None:
    rng = np.random.default_rng(1)
    values = np.clip(rng.normal(size / 3, size / 10, 3000), 0, size - 1).astype(int).tolist()
    plain = warner.RandomizedResponse(Integers(0, size - 1), 14.0)
    silent = warner.RandomizedResponse(Optional(Integers(0, size - 1)), 14.0)
    alone = warner.estimate(plain.tally(plain.randomize(values, rng)), method)
    beside = warner.estimate(silent.tally(silent.randomize([*values, *[None] * 1000], rng)), method)
    given = beside.answered()
    assert given.frequency == pytest.approx(0.75, abs=0.005)
    assert np.abs(np.cumsum(given.probabilities - alone.probabilities)).max() < 0.01


def test_places_have_a_mean_of_two_coordinates() -> None:
    cells = warner.SubsetSelection(with_missing(Grid(2, 2), "answer"), 4.0)
    answers = [(0, 1), None, (1, 1)] * 500
    result = warner.estimate(cells.tally(cells.randomize(answers, np.random.default_rng(0))))
    down, right = result.answered().mean()  # type: ignore[misc]
    assert down == pytest.approx(0.5, abs=0.1) and right == pytest.approx(1, abs=0.1)
    low, high = down.interval()
    assert low < 0.5 < high


def test_labels_have_no_mean_and_other_domains_no_nonresponse() -> None:
    coin = warner.RandomizedResponse(Optional(Categorical(["no", "yes"])), 2.0)
    result = warner.estimate(coin.tally(coin.randomize(["no", "yes", None] * 50)))
    with pytest.raises(ArgumentTypeError, match="mean"):
        result.answered().mean()
    plain = warner.RandomizedResponse(Categorical(["no", "yes"]), 2.0)
    tally = plain.tally(plain.randomize(["no", "yes"] * 50))
    with pytest.raises(ArgumentTypeError, match="nonresponse as a value"):
        warner.estimate(tally).answered()


def test_tables_have_the_label_of_nonresponse() -> None:
    result = _estimate()
    assert result.rows()[-1]["value"] == "(no answer)"
    frame = result.to_frame()
    assert frame.column("value").to_pylist()[-2:] == ["9", "(no answer)"]
    assert result.to_json()["answered"]["n"] == pytest.approx(result.answered().n)


def test_a_log_spline_with_nonresponse_has_a_limit_that_it_names() -> None:
    many = warner.RandomizedResponse(Optional(Interval(0, 1, 3000)), 5.0)
    tally = many.tally(many.randomize([0.5, None] * 50, np.random.default_rng(0)))
    with pytest.raises(ArgumentError, match="2048"):
        warner.estimate(tally, LogSpline())
    assert warner.estimate(tally).method == "EmpiricalBayes()"
