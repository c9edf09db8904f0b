"""Rankings by the losses of a mean, a variance, ranges, quantiles, common values, divergences."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import warner
from warner import (
    Categorical,
    EmpiricalBayes,
    Grid,
    Integers,
    Interval,
    Inversion,
    LogSpline,
    MaximumLikelihood,
    RandomizedResponse,
    SampleMean,
)
from warner.app.cli import main
from warner.design.comparison import LOSSES, Comparison, _truths
from warner.estimators import Uniform
from warner.metrics import project
from warner.results.from_tally import likelihood_data
from warner.results.recommend import recommended
from warner.results.summaries import variance_of_shares

BINS = Interval(0.0, 10.0, 40)
OF_SUMMARIES = ("mae_mean", "mae_variance", "mae_range", "mae_quantile")


def _tally(domain: warner.Domain = BINS, n: int = 3000) -> warner.Tally:
    mechanism = warner.mechanisms.Piecewise(domain, 2.0, cells=256)
    rng = np.random.default_rng(0)
    return mechanism.tally(mechanism.randomize(10 * rng.beta(2, 4, n), rng))


def _labels(n: int = 3000) -> warner.Tally:
    domain, rng = Categorical([f"v{i}" for i in range(30)]), np.random.default_rng(1)
    coin = RandomizedResponse(domain, 1.0)
    index = rng.choice(30, n, p=rng.dirichlet(np.full(30, 0.5)))
    return coin.tally(coin.randomize(domain.decode(index), rng))


def _errors(found: Comparison) -> dict[str, float]:
    """The errors on tallies that are simulated from the recommended estimate."""
    return dict(found.truths[0].errors)


@pytest.mark.parametrize("loss", OF_SUMMARIES)
def test_the_losses_are_those_of_the_numbers_that_an_estimate_gives(loss: str) -> None:
    """One run after the other: the mean, variance, ranges and quantiles of the shares themselves."""
    tally = _tally()
    methods = [LogSpline(), MaximumLikelihood(), Uniform()]
    found = _errors(warner.compare(tally, methods, loss=loss, runs=2))
    data, rng = likelihood_data(tally), np.random.default_rng(0)
    truth = _truths(data, 2, rng)["the recommended estimate"][0]
    drawn = [data.channel.simulate_tally(truth, data.n, rng) for _ in range(2)]
    simulated = [replace(data, channel=channel, weights=w) for channel, w in drawn]

    def numbers(shares: np.ndarray) -> np.ndarray:
        fit = replace(Uniform().fit(data), probabilities=shares)
        solution = warner.Estimate(fit, data, Uniform())
        if loss == "mae_mean":
            return np.array([solution.mean()])
        if loss == "mae_variance":
            return np.array([variance_of_shares(solution)])
        if loss == "mae_quantile":
            return np.array([solution.quantile(k / 10) for k in range(1, 10)])
        # 37 ranges of 4 bins of 40, and 25 of 16, each width with half the weight.
        edges = np.linspace(0, 10, 41)
        return np.array([solution.range(edges[i], edges[i + 4]) for i in range(37)]), np.array(
            [solution.range(edges[i], edges[i + 16]) for i in range(25)]
        )

    for method in methods:
        errors = []
        for each in simulated:
            a, b = numbers(truth), numbers(method.fit(each).shares)
            pairs = zip(a, b, strict=True) if loss == "mae_range" else [(a, b)]
            errors.append(np.mean([np.abs(x - y).mean() for x, y in pairs]))
        assert found[repr(method)] == pytest.approx(np.mean(errors), rel=1e-9)


def test_the_sample_mean_is_ranked_by_the_error_of_the_mean_alone() -> None:
    """Its error is sqrt(2 / pi) of its standard error, within four standard errors of 200 runs."""
    tally = _tally()
    found = warner.compare(tally, [SampleMean()], loss="mae_mean", runs=200)
    line = found.best
    assert not found.left_out and "mean" in found.loss_name
    fit = SampleMean().fit(likelihood_data(tally)).mean
    assert fit is not None
    expected = np.sqrt(2 / np.pi * fit.variance[0] / tally.n)
    assert abs(line.error - expected) < 4 * line.margin + 0.03 * expected
    for loss in ("l2", "mae_variance", "kl"):
        assert (
            "SampleMean()"
            in warner.compare(tally, [SampleMean(), Uniform()], loss=loss, runs=2).left_out
        )


def test_reports_that_tell_the_mean_alone_are_compared_by_it() -> None:
    mechanism = warner.mechanisms.StochasticRounding(Interval(0, 10, 8), 1.0)
    tally = mechanism.tally(
        mechanism.randomize([2.5] * 900 + [7.0] * 100, np.random.default_rng(2))
    )
    found = warner.compare(tally, [SampleMean(), Inversion()], loss="mae_mean", runs=4)
    assert [line.method for line in found.results] == [SampleMean()]
    assert "Inversion(constraint=None)" in found.left_out


def test_places_have_means_and_no_quantiles() -> None:
    mechanism = warner.PlanarGeometric(Grid(4, 4), 2.0)
    cells = mechanism.domain.decode(np.arange(16).repeat(20))
    tally = mechanism.tally(mechanism.randomize(cells, np.random.default_rng(3)))
    found = warner.compare(tally, [MaximumLikelihood(), Uniform()], loss="mae_mean", runs=3)
    assert len(found.results) == 2 and all(line.error >= 0 for line in found.results)
    for loss in ("mae_variance", "mae_range", "mae_quantile", "w1"):
        with pytest.raises(warner.errors.ArgumentError, match="order"):
            warner.compare(tally, [Uniform()], loss=loss)
    with pytest.raises(warner.errors.ArgumentError, match="numbers or places"):
        warner.compare(_labels(), [Uniform()], loss="mae_mean")


def test_points_on_a_line_in_any_order_have_the_same_ranges_and_quantiles() -> None:
    """Integers, and the same numbers as points in another order, with the same reports."""
    rng = np.random.default_rng(4)
    mixed = rng.permutation(12)
    shares = rng.dirichlet(np.ones(12))
    estimate = rng.dirichlet(np.ones(12))
    fit = Uniform().fit(likelihood_data(_labels()))
    for loss in ("mae_range", "mae_quantile", "mae_variance", "mae_mean"):
        error = LOSSES[loss].error
        straight = error(shares, replace(fit, probabilities=estimate), Integers(0, 11))
        points = warner.Points(mixed[:, None].astype(float).tolist())
        other = error(shares[mixed], replace(fit, probabilities=estimate[mixed]), points)
        assert other == pytest.approx(straight)


def test_divergences_and_the_most_common_values() -> None:
    """A share of 0 makes the divergence infinite, so the method is left out and told why."""
    tally = _labels(n=1000)
    methods = [EmpiricalBayes(), Inversion("project"), Inversion(), Uniform()]
    found = warner.compare(tally, methods, loss="kl", runs=3)
    assert "infinite" in found.left_out["Inversion(constraint='project')"]
    assert "'js'" in found.left_out["Inversion(constraint='project')"]
    assert all(np.isfinite(line.error) and line.error > 0 for line in found.results)
    finite = warner.compare(tally, methods, loss="js", runs=3)
    assert len(finite.results) == 4 and not finite.left_out
    assert all(line.error < np.log(2) for line in finite.results)
    top = _errors(warner.compare(tally, [Inversion(), Uniform()], loss="mae_top", runs=40))
    # Three of 30 values; the inversion's errors there are alike, so they have its closed form.
    coin = RandomizedResponse(Categorical([f"v{i}" for i in range(30)]), 1.0)
    data = likelihood_data(tally)
    truth = project(recommended(data.domain, data.channel).fit(data).shares)
    common = np.argsort(-truth)[:3]
    expected = np.sqrt(2 / np.pi * coin.channel().variance(truth)[common] / tally.n).mean()
    assert top["Inversion(constraint=None)"] == pytest.approx(expected, rel=0.25)
    assert top["Uniform()"] == pytest.approx((truth[common] - 1 / 30).mean())


def test_every_loss_has_words_and_a_place_in_the_command(tmp_path: Path) -> None:
    path = str(tmp_path / "t.json")
    _tally(n=400).save(path)
    runner = CliRunner()
    shown = "".join(runner.invoke(main, ["compare", "--help"]).output.split())
    for name, loss in LOSSES.items():
        assert f"{name}:{loss.words}".replace(" ", "") in shown
    done = runner.invoke(main, ["compare", path, "--loss", "mae_mean", "--runs", "2", "--json"])
    assert done.exit_code == 0
    (ranking,) = json.loads(done.output).values()
    assert ranking["loss"] == "mae_mean"
    assert "SampleMean()" in [line["method"] for line in ranking["results"]]
    done = runner.invoke(
        main, ["compare", path, "--loss", "mae_quantile", "-m", "mle", "--runs", "2"]
    )
    assert done.exit_code == 0 and "nine deciles" in done.output


def test_a_ranking_by_the_mean_is_drawn() -> None:
    found = warner.compare(_tally(), [SampleMean(), LogSpline()], loss="mae_mean", runs=3)
    assert "absolute error of the mean" in json.dumps(found.plot().to_dict())
