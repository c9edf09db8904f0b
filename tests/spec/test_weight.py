"""The weight of one report, budgets as decimals, and arguments that are refused by name."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import warner
from tests.registry import ALL, BLIND, COMBINED, smallest
from warner.app.cli import main
from warner.design.report_weight import report_weight


@pytest.mark.parametrize(
    "name", [n for n in ALL if n not in BLIND and not n.startswith("KeyValue")]
)
def test_the_weight_is_the_largest_change_of_a_count_by_one_report(name: str) -> None:
    """By the estimate of 50 reports and the same with one of them replaced, for every pair of
    reports.
    """
    mechanism = smallest(name)
    weight = report_weight(mechanism)
    outputs = warner.Reports(mechanism.header, mechanism.outputs())
    rows = range(0, len(outputs), max(1, len(outputs) // 40))
    counts = []
    for i in rows:
        channel, seen, _ = mechanism.channel_for(mechanism.tally(outputs[i : i + 1]))
        counts.append(channel.invert(seen / seen.sum()))
    found = float(np.ptp(np.stack(counts), axis=0).max())
    assert weight is not None and found <= weight * (1 + 1e-9)
    if len(rows) == len(outputs):
        assert found == pytest.approx(weight, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_weight_of_pure_mechanisms_is_one_over_the_difference_of_two_probabilities(
    epsilon: float,
) -> None:
    domain, e = warner.Integers(0, 99), math.exp(epsilon)
    assert report_weight(warner.RandomizedResponse(domain, epsilon)) == pytest.approx(
        (e + 99) / (e - 1)
    )
    assert report_weight(warner.UnaryEncoding(domain, epsilon, keep="optimized")) == pytest.approx(
        1 / (0.5 - 1 / (e + 1))
    )
    hashed = warner.LocalHashing(domain, epsilon)
    p, g = e / (e + hashed.buckets - 1), hashed.buckets
    assert report_weight(hashed) == pytest.approx(1 / (p - 1 / g))
    assert report_weight(warner.RandomizedResponse(domain, math.inf)) == 1.0


def test_the_weight_of_keys_tuples_and_blind_channels() -> None:
    keyed = warner.KeyValue(warner.Categorical(["a", "b"]), warner.Interval(0, 1, 4), 1.0)
    keys = float(keyed.law.keep - keyed.law.other)
    assert report_weight(keyed) == pytest.approx(1 / keys)
    several = warner.KeyValue(
        warner.Categorical(["a", "b"]), warner.Interval(0, 1, 4), 1.0, pairs=3
    )
    assert report_weight(several) == pytest.approx(3 / keys)
    assert report_weight(warner.mechanisms.Gaussian(warner.Integers(0, 9), 1.0, delta=1e-5)) is None
    assert report_weight(warner.mechanisms.StochasticRounding(warner.Integers(0, 9), 1.0)) is None
    both = COMBINED["subsets x RR"](1.0)
    outputs = warner.Reports(both.header, both.outputs())
    counts = []
    for i in range(len(outputs)):
        channel, seen, _ = both.channel_for(both.tally(outputs[i : i + 1]))
        counts.append(channel.invert(seen / seen.sum()))
    weight = report_weight(both)
    assert weight is not None and 0.5 * weight < float(
        np.ptp(np.stack(counts), axis=0).max()
    ) <= weight * (1 + 1e-9)
    with pytest.raises(warner.errors.ArgumentTypeError, match="must be a Mechanism"):
        report_weight("RandomizedResponse")  # type: ignore[arg-type]
    assert warner.audit(several).weight == report_weight(several)
    ranking = warner.plan(warner.Integers(0, 9), 1.0, 1000)
    assert (
        all(option.weight == report_weight(option.mechanism) for option in ranking.results)
        and ranking.no_protection.weight == 1
    )
    assert all(line["weight"] >= 1 for line in ranking.to_json()["results"])


def _study(
    budget: str,
    epsilons: list[str],
    more: str = 'values = ["no", "yes"]\nmechanism = "RandomizedResponse"',
) -> warner.Study:
    parts = [
        f"[attributes.a{i}]\n{more}\nepsilon = {epsilon}" for i, epsilon in enumerate(epsilons)
    ]
    return warner.Study.parse("\n".join([f"budget = {budget}", *parts]))


@pytest.mark.parametrize(
    "budget, epsilons",
    [
        ("0.3", ["0.1", "0.2"]),
        ("1.0", ["0.1"] * 10),
        ("0.3", ["0.25", "0.05"]),
        ("0.7", ["0.1"] * 7),
        ("1", ["0.7", "0.3"]),
    ],
)
def test_budgets_that_add_up_as_decimals_are_met(budget: str, epsilons: list[str]) -> None:
    """And what is really spent is never above the budget, neither as a decimal nor as a float."""
    study = _study(budget, epsilons)
    spent = sum(Fraction(m.epsilon) for m in study.mechanisms.values())
    assert (
        spent <= Fraction(budget)
        and spent <= Fraction(float(budget))
        and study.epsilon <= float(budget)
    )
    for mechanism, written in zip(study.mechanisms.values(), epsilons, strict=True):
        assert mechanism.epsilon <= float(written) and mechanism.requested == pytest.approx(
            float(written), abs=1e-15
        )
        assert warner.audit(mechanism).holds
    assert warner.Study.parse(study.to_json()).digest == study.digest


def test_metric_budgets_add_up_as_decimals_too() -> None:
    study = _study("10.0", ["0.1"] * 10, 'integers = [0, 10]\nmechanism = "Geometric"')
    assert study.epsilon <= 10
    assert (
        _study(
            "1.0", ["0.1", "0.2"], 'integers = [0, 10]\nmechanism = "Laplace"\nsensitivity = 3'
        ).epsilon
        <= 1.0
    )


@pytest.mark.parametrize(
    "budget, epsilons, spent",
    [
        ("0.3", ["0.1", "0.2000001"], "0.3000001"),
        ("0.3", ["0.1", "0.20000000000000004"], "0.30000000000000004"),
    ],
)
def test_budgets_that_are_exceeded_say_by_how_much(
    budget: str, epsilons: list[str], spent: str
) -> None:
    with pytest.raises(warner.errors.StudyError) as error:
        _study(budget, epsilons)
    assert f"the attributes spend {spent} together; got {budget}." in str(error.value)


def test_matrices_that_would_lose_a_part_are_refused() -> None:
    plain = np.array([[0.7, 0.3], [0.3, 0.7]])
    domain = warner.Integers(0, 1)
    wrong: list[tuple[Any, str]] = [
        (plain + 1j * np.array([[1, 1], [-1, -1]]), "real entries"),
        ([[0.7 + 1j, 0.3], [0.3, 0.7]], "real entries"),
        (np.ma.array(plain, mask=[[True, False], [False, False]]), "masked entries"),
        ([["a", "b"], ["c", "d"]], "array of numbers"),
    ]
    for matrix, rule in wrong:
        with pytest.raises(warner.WarnerError, match=f"matrix: must .*{rule}"):
            warner.ChannelMechanism(domain, matrix)
        with pytest.raises(warner.WarnerError, match=f"matrix: must .*{rule}"):
            warner.privacy.postprocessing.decompose(matrix, [True, False])
    assert (
        warner.ChannelMechanism(domain, np.ma.array(plain)).header
        == warner.ChannelMechanism(domain, plain).header
    )


def test_an_answer_whose_hash_raises_is_not_shown() -> None:
    class Odd(str):
        def __hash__(self) -> int:
            raise TypeError("CANARY-1234")

        def __eq__(self, other: object) -> bool:
            raise TypeError("CANARY-1234")

        def __str__(self) -> str:
            raise TypeError("CANARY-1234")

    domain = warner.Categorical(["a", "b"])
    assert domain.encode([Odd("a"), "b", np.str_("b")]).tolist() == [0, 1, 1]
    with pytest.raises(warner.errors.ValuesError, match="position 1") as error:
        domain.encode(["a", Odd("CANARY-1234")])
    assert "CANARY" not in str(error.value)
    assert warner.Categorical([1, 2]).encode([np.int64(2), 1]).tolist() == [1, 0]


def test_gaussian_noise_beyond_every_float_is_refused() -> None:
    with pytest.raises(warner.errors.BudgetError, match="domain: is too wide"):
        warner.mechanisms.Gaussian(warner.Interval(0, 1e308, 4), 1.0, delta=1e-5)
    assert (
        warner.mechanisms.Gaussian(warner.Interval(0, 1e200, 4), 1.0, delta=1e-5).guarantee.epsilon
        == 1.0
    )


def test_the_commands_say_the_weight_and_that_answers_randomised_again_spend_again(
    tmp_path: Path,
) -> None:
    text = 'budget = 0.3\n[attributes.a]\nvalues = ["no", "yes"]\nmechanism = "RandomizedResponse"\nepsilon = 0.1\n'
    (tmp_path / "s.toml").write_text(
        text + text.removeprefix("budget = 0.3\n").replace(".a]", ".b]").replace("0.1", "0.2")
    )
    (tmp_path / "x.csv").write_text("a,b\n" + "no,yes\n" * 3)
    run = CliRunner().invoke
    spent = run(
        main,
        [
            "randomize",
            str(tmp_path / "s.toml"),
            str(tmp_path / "x.csv"),
            "-o",
            str(tmp_path / "r.csv"),
        ],
    )
    assert spent.exit_code == 0, spent.output
    assert (
        "epsilon = 0.3 in all. Randomising the same answers again spends as much again"
        in spent.stderr
    )
    for command in ("audit", "plan"):
        shown = run(main, [command, str(tmp_path / "s.toml")])
        assert shown.exit_code == 0 and "weight of one report" in shown.output
        assert (
            "20.02 people" in shown.output and "10.03 people" in shown.output
        )  # (e + 1) / (e - 1)
        data = json.loads(run(main, [command, str(tmp_path / "s.toml"), "--json"]).stdout)
        assert set(data) == {"a", "b"}
