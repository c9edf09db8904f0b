"""Intervals that hold at every look, of shares, means, quantiles and those who answered."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.spec.app._command import run
from warner import Categorical, Integers, Interval, RandomizedResponse, SubsetSelection, estimate
from warner.domains import with_missing
from warner.errors import ArgumentError
from warner.estimators import Inversion
from warner.mechanisms import Laplace
from warner.results import summaries
from warner.results.charts import chart
from warner.results.estimate import Estimate
from warner.results.intervals import anytime_factor, anytime_of_functions, normal_quantile

KIND = "anytime:1000"


def _drinks(method: object = None, nonresponse: bool = False) -> Estimate:
    domain = Integers(0, 5)
    asked = with_missing(domain, "answer") if nonresponse else domain
    mechanism = SubsetSelection(asked, 3.0)
    rng = np.random.default_rng(2)
    answers = rng.choice(6, p=[0.4, 0.2, 0.2, 0.1, 0.06, 0.04], size=900).tolist()
    given = [None if nonresponse and i % 5 == 0 else x for i, x in enumerate(answers)]
    tally = mechanism.tally(mechanism.randomize(given, rng=rng))
    return estimate(tally) if method is None else estimate(tally, method)  # type: ignore[arg-type]


def test_a_mean_is_its_unbiased_estimate_with_b_deviations() -> None:
    """The same interval as that of a share, where the function is a share."""
    result = _drinks(Inversion())
    low, high = result.mean().interval(kind=KIND)
    data, weights = result.data, np.arange(6.0)
    variance = weights @ data.channel.covariance(result.probabilities) @ weights / data.n
    assert (low + high) / 2 == pytest.approx(float(result.mean()))
    assert (high - low) / 2 == pytest.approx(
        anytime_factor(900, 1000) * np.sqrt(variance), rel=0.02
    )
    shares = anytime_of_functions(data, np.eye(6), 1000)
    usual = result.interval(kind=KIND)
    inside = (usual[:, 0] > 0) & (usual[:, 1] < 1)
    np.testing.assert_allclose(shares[inside], usual[inside], atol=2e-3)


def test_reports_of_one_person_widen_the_interval_of_a_mean() -> None:
    result = _drinks(Inversion())
    mechanism = SubsetSelection(Integers(0, 5), 3.0)
    reports = mechanism.randomize([1, 2, 3] * 300, rng=np.random.default_rng(3))
    once, seven = (
        np.ptp(
            estimate(mechanism.tally(reports).per_person(t), Inversion()).mean().interval(kind=KIND)
        )
        for t in (1, 4)
    )
    assert seven == pytest.approx(2 * once, rel=1e-6) and result.n == 900


@pytest.mark.parametrize("nonresponse", [False, True])
def test_every_number_of_a_default_estimate_lies_in_its_interval(nonresponse: bool) -> None:
    result = _drinks(nonresponse=nonresponse)
    numbers = [result.mean(), *(result.quantile(q) for q in (0.1, 0.5, 0.9)), result.range(2, 4)]
    for number in numbers:
        low, high = number.interval(kind="anytime", planned=1000)
        assert low <= float(number) <= high
    for row in result.rows(kind=KIND):
        assert row["low"] <= row["estimate"] <= row["high"]


def test_a_quantile_is_where_the_cumulative_share_can_pass() -> None:
    result = _drinks(Inversion())
    low, high = result.quantile(0.5).interval(kind=KIND)
    bounds = anytime_of_functions(result.data, np.tril(np.ones((6, 6))), 1000)
    can_reach = [v for v in range(6) if bounds[v, 1] >= 0.5 and (v == 0 or bounds[v - 1, 0] < 0.5)]
    assert (low, high) == (can_reach[0], can_reach[-1])


def test_a_quantile_of_many_values_is_bounded_a_little_further_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The interval from few cumulative shares holds that from all, and is one cell wider."""
    mechanism = RandomizedResponse(Integers(0, 299), 6.0)
    answers = np.random.default_rng(5).integers(80, 240, 3000)
    result = estimate(mechanism.tally(mechanism.randomize(answers, np.random.default_rng(6))))
    for q in (0.1, 0.5, 0.9):
        number = result.quantile(q)
        exact = number.interval(kind=KIND)
        with monkeypatch.context() as few:
            few.setattr(summaries, "_LOOKED", 0)
            few.setattr(summaries, "_FEWEST_LOOKED", 30)
            few.setattr(summaries, "_AT_A_TIME", 1000)
            coarse = number.interval(kind=KIND)
        assert exact[0] - 10 <= coarse[0] <= exact[0] and exact[1] <= coarse[1] <= exact[1] + 10
        assert coarse[1] - coarse[0] < 299


def test_shares_of_those_who_answered_hold_at_every_look_too() -> None:
    """Their intervals of one look are narrower."""
    result = _drinks(nonresponse=True)
    given = result.answered()
    assert np.all(
        np.ptp(given.interval(kind=KIND), axis=1) > np.ptp(given.interval(), axis=1) * 0.99
    )
    wide, usual = given.row(kind=KIND), given.row()
    assert wide["high"] - wide["low"] > usual["high"] - usual["low"]
    data = result.to_json(kind=KIND)
    assert data["interval"] == {
        "kind": "anytime",
        "planned": 1000,
        "level": 0.95,
        "target": "population",
    }
    assert data["answered"]["low"] == wide["low"]


def test_a_mean_of_noisy_numbers_holds_at_every_look() -> None:
    mechanism = Laplace(Interval(0, 10, 4), 2.0)
    reports = mechanism.randomize([4.0, 6.0] * 1000, rng=np.random.default_rng(4))
    result = estimate(mechanism.tally(reports), "mean")
    (once,), (always,) = result.means(), result.means(kind="anytime:2000")
    assert result.fit.mean is not None
    deviation = np.sqrt(result.fit.mean.variance[0] / 2000)
    more = (anytime_factor(2000, 2000) - normal_quantile(0.95)) * deviation
    assert always["high"] - once["high"] == pytest.approx(more, rel=1e-6)
    assert once["low"] - always["low"] == pytest.approx(more, rel=1e-6)


def test_what_has_no_such_interval_says_so() -> None:
    result = _drinks()
    with pytest.raises(ArgumentError, match="kind: must be one of"):
        result.variance().interval(kind=KIND)
    for kind in (
        "anytime:",
        "anytime:0",
        "anytime:-5",
        "anytime:1e3",
        "anytime:\N{ARABIC-INDIC DIGIT TWO}",
    ):
        with pytest.raises(ArgumentError, match="a positive integer"):
            result.interval(kind=kind)
    with pytest.raises(ArgumentError, match="target of anytime intervals"):
        result.mean().interval(kind=KIND, target="respondents")


def test_a_chart_says_which_intervals_it_has() -> None:
    coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    result = estimate(coin.tally(coin.randomize(["no", "yes"] * 200)))
    drawn = json.loads(chart([result], kind="anytime:500").to_json())
    text = json.dumps(drawn, ensure_ascii=False)
    assert "of each value at every look" in text
    high = max(row["high"] for row in result.rows(kind="anytime:500"))
    assert repr(high) in text.replace("\\", "")


def test_the_command_line_writes_them(tmp_path: Path) -> None:
    mechanism = SubsetSelection(Integers(0, 5), 3.0)
    tally = mechanism.tally(mechanism.randomize([1, 2, 3] * 200))
    tally.save(tmp_path / "tally.json")
    path = str(tmp_path / "tally.json")
    shown = run("estimate", path, "--interval", "anytime:1000", "--summary", "median").output
    low, high = estimate(tally).quantile(0.5).interval(kind=KIND)
    assert f"{low:.2f} to {high:.2f}" in shown
    shown = run("estimate", path, "--interval", "anytime:1000").output
    assert "Each holds for its value at all numbers of reports together" in shown
    for wrong in ("anytime", "anytime:x", "bootstrap"):
        said = run("estimate", path, "--interval", wrong, ok=False).output
        assert "one of score, wald, average, simultaneous, or anytime:N" in " ".join(said.split())
