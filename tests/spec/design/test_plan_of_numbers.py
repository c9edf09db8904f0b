"""Plans for numbers and places: which mechanisms are compared, and by what."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import warner
from warner import Categorical, Grid, Integers, Interval, plan
from warner.app.cli import main
from warner.design.planning import can_simulate, candidates, made_shares, simulated_error
from warner.errors import ArgumentError


def _made(
    domain: warner.Domain, epsilon: float, **kwargs: object
) -> dict[str, warner.mechanisms.Mechanism]:
    """The candidates that fit, by name."""
    options = {"sensitive": None, "delta": None, "distance": None, "near": True} | kwargs
    found = {}
    for name, make in candidates(domain, **options):  # type: ignore[arg-type]
        try:
            found[name] = make(domain, epsilon)
        except warner.errors.ArgumentTypeError:
            continue
    return found


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.7])
@pytest.mark.parametrize("domain", [Integers(3, 17), Interval(0, 9, 6), Grid(3, 5, 0.7)])
def test_every_candidate_keeps_the_budget_between_any_two_values(
    domain: warner.Domain, epsilon: float
) -> None:
    """Wrong programs: an epsilon per unit of distance without division by the diameter."""
    found = _made(domain, epsilon)
    for name, mechanism in found.items():
        assert mechanism.guarantee.between_any_values().epsilon <= epsilon, name
    wanted = {
        Integers: {
            "SquareWave",
            "Piecewise",
            "Laplace",
            "Geometric",
            "TruncatedGeometric",
            "Exponential",
        },
        Interval: {"SquareWave", "Piecewise", "Laplace"},
        Grid: {"PlanarGeometric", "PlanarLaplace", "Exponential"},
    }[type(domain)]
    assert wanted <= found.keys() and "RandomizedResponse" in found
    for other in {"PlanarGeometric", "Geometric", "SquareWave", "Exponential"} - wanted:
        assert other not in found


def test_metric_candidates_keep_the_epsilon_of_their_distance() -> None:
    for distance in (1.0, 2.5):
        for domain in (Integers(0, 15), Grid(4, 4)):
            found = _made(domain, 1.0, distance=distance)
            assert len(found) >= 3 and "RandomizedResponse" not in found
            for name, mechanism in found.items():
                guarantee = mechanism.guarantee
                assert guarantee.is_metric and guarantee.epsilon * distance <= 1 + 1e-9, name


def test_numbers_are_judged_by_simulated_estimates() -> None:
    domain = Integers(0, 7)
    ranking = plan(domain, 1.0, 10_000, loss="w1", runs=2, error=0.1)
    names = [result.name for result in ranking.results]
    assert {"SquareWave", "Geometric", "UnaryEncoding optimized"} <= set(names)
    first = ranking.best
    assert first.judged == "LogSpline(), 2 simulated tallies" and 0 < first.margin < first.error
    assert first.people == pytest.approx(10_000 * (first.error / 0.1) ** 2, rel=1e-3)
    assert ranking.no_protection.error < 0.2


def test_what_uses_the_order_of_many_numbers_errs_less() -> None:
    """Means of 4 runs with standard errors: 0.44 +- 0.05 against 2.3 +- 0.4."""
    domain = Integers(0, 31)
    wave, response = (
        simulated_error(domain, make(domain, 1.0), made_shares(domain), 10_000, 4)
        for make in (warner.SquareWave, warner.RandomizedResponse)
    )
    assert wave[0] + 4 * (wave[1] + response[1]) < 2 * response[0] and wave[0] < response[0] / 2


def test_the_error_of_no_protection_is_that_of_shares() -> None:
    """E W1 = h sum_x E |F_n(x) - F(x)|, with E |.| = sqrt(2 F (1 - F) / (pi n)) for large n."""
    domain = Interval(0, 50, 10)
    below = np.cumsum(made_shares(domain))[:-1]
    expected = 5 * np.sqrt(2 * below * (1 - below) / (np.pi * 4000)).sum()
    error, margin, _ = simulated_error(domain, None, made_shares(domain), 4000, 400)
    assert abs(error - expected) < 4 * margin and margin < 0.05 * expected


def test_losses_and_guarantees_that_values_do_not_have_are_refused() -> None:
    labels = Categorical(["a", "b", "c"])
    assert not can_simulate(labels) and not can_simulate(Integers(0, 5000))
    for kwargs, rule in (
        ({"loss": "w1"}, "needs values with coordinates"),
        ({"delta": 0.1}, "goes with the loss 'w1'"),
        ({"distance": 1.0}, "goes with the loss 'w1'"),
    ):
        with pytest.raises(ArgumentError, match=rule):
            plan(labels, 1.0, 100, **kwargs)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="number of values"):
        plan(Integers(0, 5000), 1.0, 100, loss="w1")
    for kwargs in ({"distance": 0.0}, {"delta": 1.0}, {"runs": 1}):
        with pytest.raises(ArgumentError):
            plan(Integers(0, 9), 1.0, 100, loss="w1", **kwargs)  # type: ignore[arg-type]


def test_the_command_ranks_numbers_places_and_labels(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(
        '[attributes.q]\nvalues = ["a", "b", "c"]\nmechanism = "RandomizedResponse"\nepsilon = 1.0\n'
        '[attributes.x]\nintegers = [0, 3]\nmechanism = "UnaryEncoding"\nvariant = 0.7\nepsilon = 1.0\n'
        "[attributes.place]\ngrid = { rows = 3, columns = 3 }\n"
        'mechanism = "PlanarGeometric"\nepsilon = 0.5\n'
        '[attributes.noisy]\nintegers = [0, 3]\nmechanism = "Gaussian"\ndelta = 1e-3\nepsilon = 1.0\n'
    )

    def run(*args: str) -> str:
        result = CliRunner().invoke(main, ["plan", str(study), "--runs", "2", *args])
        assert result.exit_code == 0, result.output
        return result.stdout

    shown = run()
    assert "the unbiased estimate, in closed form" in shown and "Wasserstein-1 distance" in shown
    assert "PlanarGeometric (in the study)" in shown and "UnaryEncoding (in the study)" in shown
    assert "Gaussian (in the study)" in shown and "TruncatedGeometric" in shown
    closed = json.loads(run("--json", "--loss", "l2"))
    assert list(closed) == ["q", "x"] and closed["x"]["results"][0]["margin"] == 0
