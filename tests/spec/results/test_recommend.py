"""Methods: those recommended, advised against, named and registered."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from click.testing import CliRunner

import warner
from tests.refusals import refused
from tests.registry import MECHANISMS
from warner import (
    Categorical,
    EmpiricalBayes,
    ExpectationMaximization,
    Grid,
    Integers,
    Interval,
    Inversion,
    Laplace,
    LogSpline,
    MaximumLikelihood,
    RandomizedResponse,
    SquareWave,
)
from warner.app.cli import main
from warner.errors import ArgumentError, MethodWarning, WarnerError
from warner.estimators import SampleMean
from warner.mechanisms.exponential import Exponential
from warner.metrics import wasserstein1
from warner.results.recommend import METHODS, conditioning, method


@pytest.mark.parametrize("n", [500, 20_000])
def test_smooth_numbers_get_a_smooth_estimate(n: int) -> None:
    rng = np.random.default_rng(0)
    for mechanism, values in (
        (SquareWave(Interval(0, 1, 64), 1.0), rng.beta(2, 5, n)),
        (warner.RandomizedResponse(Integers(0, 40), 2.0), rng.binomial(40, 0.4, n)),
        (SquareWave(Interval(0, 1, 64), 2.0), 1 - np.abs(rng.random(n) - rng.random(n))),
    ):
        result = warner.estimate(mechanism.tally(mechanism.randomize(values, rng)))
        assert result.estimator == LogSpline() and result.interval_kind() == "posterior"


def test_numbers_that_come_in_threes_are_not_smoothed() -> None:
    """Degrees that are multiples of 3: the log-spline's mean was off and its interval held neither
    estimate nor truth.
    """
    rng = np.random.default_rng(0)
    degrees = np.minimum(3 * rng.zipf(2, 20_000), 399)
    mechanism = Laplace(Integers(0, 399), 1.0, sensitivity=1)
    tally = mechanism.tally(mechanism.randomize(degrees, rng))
    result = warner.estimate(tally)
    truth = np.bincount(degrees, minlength=400) / 20_000
    assert result.estimator == MaximumLikelihood()
    assert wasserstein1(result.probabilities, truth) < wasserstein1(
        warner.estimate(tally, LogSpline()).probabilities, truth
    )
    low, high = result.mean().interval(replicates=20, rng=rng)
    assert low < result.mean() < high


def test_places_are_not_inverted_and_labels_are_shrunk() -> None:
    rng = np.random.default_rng(1)
    city = warner.PlanarGeometric(Grid(6, 7), 0.5)
    cells = [
        (int(r), int(c))
        for r, c in zip(rng.binomial(5, 0.3, 5000), rng.binomial(6, 0.6, 5000), strict=True)
    ]
    tally = city.tally(city.randomize(cells, rng))
    result = warner.estimate(tally)
    truth = np.bincount(city.domain.encode(cells), minlength=42) / 5000
    assert result.estimator == ExpectationMaximization("auto")
    with pytest.warns(MethodWarning, match="ExpectationMaximization"):
        inverted = warner.estimate(tally, Inversion("project"))
    assert warner.metrics.earth_movers(
        result.probabilities, truth, city.domain.points
    ) < 0.9 * warner.metrics.earth_movers(inverted.probabilities, truth, city.domain.points)
    labels = warner.RandomizedResponse(Categorical(["a", "b"]), 1.0)
    assert warner.estimate(labels.tally(labels.randomize(["a", "b"]))).estimator == EmpiricalBayes()


def test_what_one_bit_leaves_open_is_said() -> None:
    mechanism = warner.mechanisms.StochasticRounding(Interval(0, 1, 16), 1.0)
    rng = np.random.default_rng(2)
    result = warner.estimate(mechanism.tally(mechanism.randomize(rng.random(2000), rng)))
    assert result.estimator == LogSpline() and str(result.unique).startswith("not unique")


# Names of methods on the command line.


@pytest.mark.parametrize("name", ["foo", "em", "em:x", "em:-1", "mle:3", "project:1", ""])
def test_unknown_methods_are_refused(name: str) -> None:
    rule = "must say when it stops" if name == "em" else "must name a method"
    refused(ArgumentError, f"method: {rule}", method, name)


def test_names_of_the_literature_are_methods_or_lead_to_them() -> None:
    """Rejects a list of all names, from which nobody learns that IBU's end is the maximum."""
    same = {"INV": "inversion", "IIW": "wiener", "INV-P": "project", "IBU:100": "em:100"}
    assert all(method(there) == method(here) for there, here in same.items())
    for name in ("IBU", "EM"):
        refused(ArgumentError, "To run the method to its end, write 'mle'", method, name)


def test_every_method_name_makes_an_estimator() -> None:
    mechanism = warner.RandomizedResponse(warner.Integers(0, 3), 1.0)  # some methods need an order
    tally = mechanism.tally(
        mechanism.randomize([0] * 600 + [1] * 300 + [2] * 100, np.random.default_rng(2))
    )
    pairs = warner.KeyValue(warner.Categorical(["a", "b"]), warner.Integers(0, 3), 1.0)
    keyed = pairs.tally(
        pairs.randomize({"key": ["a", "b"] * 500, "value": [1] * 1000}, np.random.default_rng(2))
    )
    for name in METHODS:
        chosen = method(f"{name}:7" if name == "em" else name)
        assert warner.estimate(
            keyed if name in ("pckv", "per-key") else tally, chosen
        ).method == repr(chosen)


def test_names_on_the_command_line() -> None:
    assert method("eb") == EmpiricalBayes() and method("eb-median") == EmpiricalBayes("absolute")
    assert method("em:auto") == ExpectationMaximization("auto") and method("EM:AUTO") == method(
        "em:auto"
    )
    for wrong in ("eb:auto", "em:best", "mle:auto"):
        refused(ArgumentError, "em:auto", method, wrong)
    refused(ArgumentError, "'auto'", ExpectationMaximization, "best")


# Methods that do not suit the reports are advised against, with a better one's name.


LABELS = Categorical(list("abcdefgh"))
WAVE = SquareWave(Interval(0, 1, 32), 1.0)


def _tally(mechanism: warner.Mechanism, values: object) -> warner.Tally:
    return mechanism.tally(mechanism.randomize(values, np.random.default_rng(0)))


@pytest.fixture(scope="module")
def wave() -> warner.Tally:
    return _tally(WAVE, np.random.default_rng(1).beta(2, 5, 2000))


def test_shrinking_reports_of_a_wave_share_by_share_is_advised_against(wave: warner.Tally) -> None:
    for other in (EmpiricalBayes(), Inversion("project"), Inversion("normalize")):
        with pytest.warns(MethodWarning, match=r"very uncertain estimates.*Use LogSpline\(\)\.$"):
            result = warner.estimate(wave, other)
        assert result.advice is not None and repr(other) in result.advice


def test_methods_that_do_what_they_promise_are_not(wave: warner.Tally) -> None:
    for other in (None, LogSpline(), MaximumLikelihood(), SampleMean(), Inversion()):
        assert warner.estimate(wave, other).advice is None


def _takes_labels(name: str) -> bool:
    try:
        MECHANISMS[name](LABELS, 1.0)
    except WarnerError:
        return False
    return True


@pytest.mark.parametrize("name", [name for name in MECHANISMS if _takes_labels(name)])
def test_no_default_and_no_method_for_labels_is_advised_against(name: str) -> None:
    mechanism = MECHANISMS[name](LABELS, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for method in (None, EmpiricalBayes()):
            warner.estimate(_tally(mechanism, list("abcdefgh") * 30), method)


def test_the_ratio_is_that_of_the_eigenvalues() -> None:
    """The mean variance times the mean information, on vectors that sum to 0; 1 for support counts.

    Of numbers in bins the inverse has a little more variance than the information has it.
    """
    channel, size = WAVE.channel(), 32
    found = conditioning(channel, WAVE.domain)
    even = np.full(size, 1 / size)
    g = channel.influence(np.eye(size))
    covariance = g.T @ (channel.matvec(even)[:, None] * g) - np.outer(even, even)
    values = np.linalg.eigvalsh(covariance)[1:]
    matrix, zero_sum = channel.dense(), np.eye(size) - 1 / size
    information = zero_sum @ matrix.T @ (matrix / channel.matvec(even)[:, None]) @ zero_sum
    each = np.linalg.eigvalsh(information)[1:]
    assert found == pytest.approx(values.mean() * each.mean(), rel=1e-6)
    assert np.sort(1 / values)[:-1] == pytest.approx(each[:-1], rel=0.05)
    assert conditioning(RandomizedResponse(Integers(0, 9), 1.0).channel(), Integers(0, 9)) == 1


def test_the_ratio_of_attributes_is_the_largest_and_of_groups_the_smallest() -> None:
    grid = Exponential(Grid(3, 3), 0.5)
    alone = conditioning(grid.channel(), grid.domain)
    assert alone is not None and alone > 2
    people = warner.Product(place=Grid(3, 3), sex=Categorical(["f", "m"]))
    both = warner.PerAttribute(
        people, {"place": grid, "sex": RandomizedResponse(Categorical(["f", "m"]), 1.0)}
    )
    tally = _tally(both, [{"place": [0, 0], "sex": "f"}, {"place": [2, 2], "sex": "m"}] * 50)
    result = warner.estimate(tally, MaximumLikelihood())
    assert conditioning(result.data.channel, result.domain) == pytest.approx(alone)
    clear = Exponential(Grid(3, 3), 9.0)
    tallies = [_tally(m, [[0, 0], [1, 2]] * 50) for m in (grid, clear)]
    together = warner.estimate(tallies, MaximumLikelihood())
    least = conditioning(clear.channel(), clear.domain)
    assert conditioning(together.data.channel, together.domain) == pytest.approx(least)


def test_comparisons_and_the_command_line_show_it(
    wave: warner.Tally, tmp_path_factory: pytest.TempPathFactory
) -> None:
    found = warner.design.compare(wave, [LogSpline(), EmpiricalBayes()], "w1", runs=2)
    assert set(found.advice) == {"EmpiricalBayes()"}
    assert "LogSpline" in found.to_json()["advice"]["EmpiricalBayes()"]
    assert "advice" not in warner.design.compare(wave, [LogSpline()], "w1", runs=2).to_json()
    path = tmp_path_factory.mktemp("advice") / "tally.json"
    wave.save(path)
    shown = CliRunner().invoke(main, ["estimate", str(path), "-m", "eb", "--allow-simulated"])
    assert shown.exit_code == 0, shown.output
    assert "Use LogSpline()." in shown.output
    shown = CliRunner().invoke(main, ["estimate", str(path), "--allow-simulated"])
    assert "very uncertain estimates" not in shown.output
    shown = CliRunner().invoke(
        main, ["benchmark", str(path), "-m", "eb", "-m", "spline", "--runs", "2"]
    )
    assert shown.exit_code == 0 and "Not advised." in shown.output
