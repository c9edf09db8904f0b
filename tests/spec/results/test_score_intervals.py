"""Score intervals: what they promise, and where a table says that an estimate is shrunk."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from click.testing import CliRunner

import warner
from tests.registry import MECHANISMS, SEEING
from warner import Categorical, EmpiricalBayes, Integers, Inversion, RandomizedResponse
from warner.app.cli import main
from warner.app.report.sections import Question, Settings
from warner.estimators.base import LikelihoodData
from warner.reports.tally_kinds import Counted, Histogram
from warner.results.estimate import Estimate
from warner.results.intervals import score, wald
from warner.results.named_summaries import csv_of

SIZE, PEOPLE, RUNS = 60, 1500, 100
ZIPF = 1 / np.arange(1.0, SIZE + 1)
ZIPF /= ZIPF.sum()
MANY = RandomizedResponse(Categorical([f"j{i:02}" for i in range(SIZE)]), 1.0)


def _tallies(seed: int, runs: int = RUNS) -> list[Estimate]:
    """Default estimates of simulated surveys with shares that fall like 1 / x."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(runs):
        weights = MANY.channel().simulate(ZIPF, PEOPLE, rng)
        data = LikelihoodData(MANY.channel(), weights, PEOPLE, MANY.domain)
        found.append(Estimate(EmpiricalBayes().fit(data), data, EmpiricalBayes()))
    return found


def test_the_largest_share_and_the_one_reported_as_largest_are_held() -> None:
    """Rejects intervals that hold on average, and Wald's: they held the share that was reported as
    largest in about half of these surveys.
    """
    truly = reported = plain = 0
    for result in _tallies(1):
        bounds, first = result.interval(), int(result.probabilities.argmax())
        truly += bounds[0, 0] <= ZIPF[0] <= bounds[0, 1]
        reported += bounds[first, 0] <= ZIPF[first] <= bounds[first, 1]
        low, high = result.interval(kind="wald")[first]
        plain += low <= ZIPF[first] <= high
    assert min(truly, reported) >= 0.93 * RUNS - 2 * (RUNS * 0.95 * 0.05) ** 0.5
    assert plain < 0.8 * RUNS


def test_an_estimate_that_its_own_reports_exclude_is_marked_with_what_they_say() -> None:
    """Rejects a table that shows a share shrunk far below its reports without a word."""
    marked = 0
    for result in _tallies(1, 20):
        row, (low, high) = result.rows()[0], result.interval(kind="wald")[0]
        assert row["low"] <= row["estimate"] <= row["high"]
        if row["shrunk_from"] is None:
            assert row["estimate"] > low - 0.02
            continue
        marked += 1
        assert low <= row["shrunk_from"] <= high and row["estimate"] < row["shrunk_from"]
        assert f"shrunk from {row['shrunk_from']:.4g}" in repr(result["j00"])
        assert result["j00"].shrunk_from == row["shrunk_from"]
        assert "shrunk from" in result._repr_html_()
    assert marked >= 5


def test_the_mark_is_in_tables_files_and_reports(tmp_path_factory: pytest.TempPathFactory) -> None:
    result = next(r for r in _tallies(1, 20) if r.rows()[0]["shrunk_from"] is not None)
    counts = np.round(result.data.weights * PEOPLE).astype(np.int64)
    tally = warner.Tally(MANY.header, Counted.together(Histogram(), counts, PEOPLE))
    path = tmp_path_factory.mktemp("shrunk") / "t.json"
    tally.save(path)
    unbiased = result.rows()[0]["shrunk_from"]
    shown = CliRunner().invoke(main, ["estimate", str(path)]).output
    assert "* Shrunk towards the other shares" in shown and f"j00 {100 * unbiased:.1f}" in shown
    assert f"{100 * result.probabilities[0]:.1f} %  *" in shown
    lines = list(csv.DictReader(io.StringIO(csv_of([result], 0.95, "population"))))
    assert float(lines[0]["shrunk_from"]) == unbiased and lines[30]["shrunk_from"] == ""
    frame = result.to_frame().to_pylist()
    assert frame[0]["shrunk_from"] == unbiased and np.isnan(frame[30]["shrunk_from"])
    blocks = str(Question(result, Settings(top=100)).section().blocks)
    assert "drawn towards the others" in blocks and f"j00: {100 * unbiased:.1f}" in blocks


@pytest.mark.parametrize("name", SEEING)
def test_limits_are_shares_around_the_estimates_of_every_mechanism(name: str) -> None:
    """Rejects limits of respondents that cross where reports have hardly any noise."""
    for n, epsilon in ((1, 1.0), (2, 1.0), (50, 1.0), (10**6, 1.0), (1000, 20.0)):
        if "Hashing" in name:
            epsilon = min(epsilon, 7.0)  # there are about e^epsilon buckets
        channel = MECHANISMS[name](Integers(0, 7), epsilon).channel()
        weights = channel.simulate(np.arange(8) / 28, n, np.random.default_rng(n))
        data = LikelihoodData(channel, weights, n, Integers(0, 7))
        centre = np.clip(channel.invert(weights), 0.0, 1.0)
        for target in ("population", "respondents"):
            alone, chosen = score(data, None, 0.95, target), score(data, centre, 0.95, target)
            for low, high in (alone.T, chosen.T):
                assert ((low >= 0) & (low <= centre + 1e-9)).all()
                assert ((high <= 1) & (high >= centre - 1e-9)).all()
            assert (alone[:, 1] == chosen[:, 1]).all()
            assert (chosen[:, 0] <= alone[:, 0] + 1e-9).all()


def test_of_two_values_nothing_was_chosen_and_without_noise_it_is_wilsons_interval() -> None:
    """8 of 10 people: 0.4902 to 0.9433 (Wilson 1927). Of the respondents it is 0.8 itself."""
    coin = RandomizedResponse(Categorical(["no", "yes"]), np.inf)
    for yes, limits in ((8, (0.4902, 0.9433)), (0, (0.0, 0.2775)), (10, (0.7225, 1.0))):
        tally = warner.Tally(
            coin.header, Counted.together(Histogram(), np.array([10 - yes, yes]), 10)
        )
        result = warner.estimate(tally, Inversion())
        assert result.interval()[1] == pytest.approx(limits, abs=1e-4)
        assert result.interval()[0] == pytest.approx(1 - result.interval()[1][::-1])
        assert result.interval(target="respondents")[1] == pytest.approx(yes / 10)
    assert warner.estimate(tally).rows()[1]["shrunk_from"] is None


def test_with_many_people_it_is_walds_interval_but_for_the_rank() -> None:
    """The r-th of K estimates has the lower level r alpha / (2 (K - 1))."""
    channel, n = MANY.channel(), 10**8
    data = LikelihoodData(channel, channel.matvec(ZIPF), n, MANY.domain)
    plain, each = score(data), wald(data)
    assert plain == pytest.approx(each, abs=1e-6)
    below = (ZIPF - score(data, ZIPF)[:, 0]) / (ZIPF - each[:, 0])
    normal = 3.3378  # Phi(-3.3378) = 0.025 / 59
    assert below[0] == pytest.approx(normal / 1.95996, abs=2e-3)
    assert below[-1] == pytest.approx(1, abs=1e-3) and (np.diff(below) < 1e-6).all()


def test_equal_estimates_have_equal_intervals_and_the_order_of_values_does_not_matter() -> None:
    rng = np.random.default_rng(4)
    channel = MANY.channel()
    data = LikelihoodData(channel, np.full(SIZE, 1 / SIZE), PEOPLE, MANY.domain)
    assert np.ptp(score(data, np.full(SIZE, 1 / SIZE)), axis=0) == pytest.approx(0, abs=1e-12)
    weights, order = channel.simulate(ZIPF, PEOPLE, rng), rng.permutation(SIZE)
    data, turned = (
        LikelihoodData(channel, w, PEOPLE, MANY.domain) for w in (weights, weights[order])
    )
    assert score(turned, weights[order]) == pytest.approx(score(data, weights)[order], abs=1e-12)


def test_every_table_of_shares_has_them_by_default() -> None:
    """Margins, groups, keys with values and tables of weights, and channels without an inverse."""
    rng = np.random.default_rng(0)
    people = warner.Product(a=Integers(0, 5), b=Integers(0, 5))
    joint = RandomizedResponse(people, 3.0)
    answers = people.decode(rng.choice(36, 3000))
    margin = warner.estimate(joint.tally(joint.randomize(answers, rng))).marginal("a")
    assert margin.interval_kind() == "score"
    assert (margin.interval() == margin.interval(kind="score")).all()
    groups = {
        name: MANY.tally(MANY.randomize(rng.choice(MANY.domain.labels, 300, p=ZIPF).tolist(), rng))
        for name in ("north", "south", "west")
    }
    pooled = warner.estimate(groups)
    assert pooled.interval_kind("respondents") == "score"
    score_of, wald_of = (pooled.interval(kind=kind) for kind in ("score", "wald"))
    assert score_of.shape == wald_of.shape and (score_of != wald_of).any()
    blind = warner.MatrixMechanism(Integers(0, 2), [[0.5, 0.5, 0.2], [0.5, 0.5, 0.8]])
    flat = warner.estimate(blind.tally(blind.randomize([0, 1, 2] * 50, rng)), "mle")
    assert flat.interval_kind() == "none"
    assert {(row["low"], row["high"], row["shrunk_from"]) for row in flat.rows()} == {
        (0.0, 1.0, None)
    }
