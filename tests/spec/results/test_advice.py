"""Methods that do not suit the reports are advised against, with a better one's name."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from click.testing import CliRunner

import warner
from tests.registry import MECHANISMS
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
    SquareWave,
)
from warner.app.cli import main
from warner.errors import MethodWarning
from warner.estimators import SampleMean
from warner.mechanisms.exponential import Exponential
from warner.results.recommend import conditioning

LABELS = Categorical(list("abcdefgh"))
WAVE = SquareWave(Interval(0, 1, 32), 1.0)


def _tally(mechanism: warner.Mechanism, values: object) -> warner.Tally:
    return mechanism.tally(mechanism.randomize(values, np.random.default_rng(0)))


@pytest.fixture(scope="module")
def wave() -> warner.Tally:
    return _tally(WAVE, np.random.default_rng(1).beta(2, 5, 2000))


def test_shrinking_reports_of_a_wave_share_by_share_is_advised_against(wave: warner.Tally) -> None:
    for method in (EmpiricalBayes(), Inversion("project"), Inversion("normalize")):
        with pytest.warns(MethodWarning, match=r"badly conditioned.*Use LogSpline\(\)\.$"):
            result = warner.estimate(wave, method)
        assert result.advice is not None and repr(method) in result.advice


def test_methods_that_do_what_they_promise_are_not(wave: warner.Tally) -> None:
    for method in (None, LogSpline(), MaximumLikelihood(), SampleMean(), Inversion()):
        assert warner.estimate(wave, method).advice is None


def _takes_labels(name: str) -> bool:
    try:
        MECHANISMS[name](LABELS, 1.0)
    except warner.errors.WarnerError:
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
    """mean(v) mean(1 / v) of the covariance, on vectors that sum to 0; 1 for support counts."""
    channel, size = WAVE.channel(), 32
    found = conditioning(channel, WAVE.domain)
    even = np.full(size, 1 / size)
    g = channel.influence(np.eye(size))
    covariance = g.T @ (channel.matvec(even)[:, None] * g) - np.outer(even, even)
    values = np.linalg.eigvalsh(covariance)[1:]
    assert found == pytest.approx(values.mean() * (1 / values).mean(), rel=1e-6)
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
    assert "conditioned" not in shown.output
    shown = CliRunner().invoke(
        main, ["benchmark", str(path), "-m", "eb", "-m", "spline", "--runs", "2"]
    )
    assert shown.exit_code == 0 and "Advised against." in shown.output
