"""Plans to detect a difference between groups."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.stats import norm

import warner
from warner import Integers, RandomizedResponse, plan
from warner.app.cli import main
from warner.errors import ArgumentError
from warner.theory import people_for_difference, power_for_difference

COIN = RandomizedResponse(Integers(0, 1), 1.0)


def test_two_groups_need_what_the_normal_test_needs() -> None:
    """m = (z_0.975 + z_0.8)^2 (V1 + V2) / d^2, up to the far tail and rounding up."""
    p = np.e / (1 + np.e)
    mu = 1 - p + (2 * p - 1) * np.array([0.49, 0.51])
    variances = mu * (1 - mu) / (2 * p - 1) ** 2
    m = (norm.ppf(0.975) + norm.ppf(0.8)) ** 2 * variances.sum() / 0.02**2
    found = people_for_difference(COIN, 0.02)
    assert found % 2 == 0 and found == pytest.approx(2 * m, abs=4)
    # Without protection, of proportions 0.49 and 0.51.
    plain = (norm.ppf(0.975) + norm.ppf(0.8)) ** 2 * 2 * 0.2499 / 0.02**2
    assert people_for_difference(Integers(0, 1), 0.02) == pytest.approx(2 * plain, abs=4)


def test_power_is_the_inverse_of_people() -> None:
    for groups in (2, 3, 10):
        n = people_for_difference(COIN, 0.05, [0.8, 0.2], groups, power=0.9)
        assert n % groups == 0
        assert power_for_difference(COIN, 0.05, n, [0.8, 0.2], groups) == pytest.approx(
            0.9, abs=1e-3
        )
        assert power_for_difference(COIN, 0.05, n - groups, [0.8, 0.2], groups) < 0.9
    assert people_for_difference(COIN, 0.05, groups=3) > people_for_difference(COIN, 0.05)


def test_the_noisiest_value_decides() -> None:
    protected = warner.UtilityOptimizedRR(Integers(0, 9), 1.0, sensitive=[0, 1])
    everyone = RandomizedResponse(Integers(0, 9), 1.0)
    some = people_for_difference(protected, 0.02)
    assert (
        people_for_difference(Integers(0, 9), 0.02) < some < people_for_difference(everyone, 0.02)
    )


def test_shares_stay_in_the_simplex() -> None:
    for share in (0.0, 0.001, 1.0):
        assert people_for_difference(COIN, 0.3, [1 - share, share]) > 0
    assert people_for_difference(Integers(0, 99), 0.9, groups=4) > 0
    assert people_for_difference(Integers(0, 1), 0.5, [1.0, 0.0], groups=3) > 0


def test_a_plan_sorts_by_people_and_says_what_epsilon_buys() -> None:
    found = plan(Integers(0, 9), 1.0, n=50_000, difference=0.02)
    people = [result.people for result in found.results]
    assert None not in people and people == sorted(people, key=lambda n: n or 0)
    assert [row.epsilon for row in found.by_epsilon] == [0.25, 0.5, 1.0, 2.0, 4.0]
    bought = [row.people for row in found.by_epsilon]
    assert bought == sorted(bought, reverse=True) and bought[2] == people[0]
    assert found.no_protection.people is not None and found.no_protection.people < bought[-1]
    assert found.best.power is not None and 0.05 < found.best.power < 0.8
    data = json.loads(json.dumps(found.to_json()))
    assert data["wanted"] == {"difference": 0.02, "groups": 2, "power": 0.8}
    assert data["by_epsilon"][2]["people"] == bought[2]
    assert "power" not in plan(Integers(0, 9), 1.0, n=10).best.row()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"difference": 0.0}, "difference: must lie in"),
        ({"difference": 1.0}, "difference: must lie in"),
        ({"difference": 1e-9}, "difference: would need more than"),
        ({"difference": 0.1, "groups": 1}, "groups: must lie in 2"),
        ({"difference": 0.1, "power": 1.0}, "power: must lie strictly"),
        ({"difference": 0.1, "power": 0.01}, "power: must be above"),
        ({"difference": 0.1, "error": 0.1}, "error: does not go with a wanted difference"),
        ({"difference": 0.1, "loss": "w1"}, "difference: goes with the losses"),
    ],
)
def test_wrong_questions_are_named(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ArgumentError, match=text):
        plan(Integers(0, 3), 1.0, n=100, **options)


def test_the_command_prints_both_tables(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(
        '[attributes.smokes]\nvalues = ["no", "yes"]\nmechanism = "RandomizedResponse"\n'
        "epsilon = 1.0\n[attributes.age]\nintegers = [0, 9]\nmechanism = "
        '"UnaryEncoding"\nepsilon = 1.0\n'
    )
    asked = ["plan", str(study), "--difference", "0.02", "--groups", "3", "--power", "0.9"]
    shown = CliRunner().invoke(main, asked)
    assert shown.exit_code == 0, shown.output
    assert "in 3 groups of equal size together" in shown.output
    n = people_for_difference(COIN, 0.02, groups=3, power=0.9)
    assert shown.output.count(f"{n:,}") >= 2 and "no protection" in shown.output
    data = json.loads(CliRunner().invoke(main, [*asked, "--json"]).output)
    assert data["age"]["wanted"]["groups"] == 3 and data["age"]["loss"] == "l2"
