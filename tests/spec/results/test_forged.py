"""Bounds if reports were made up: against a linear program, and against what forgers can do."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

import warner
from tests.spec.app._command import STUDY, run
from warner.domains import Product
from warner.errors import ArgumentError
from warner.mechanisms import MatrixMechanism, Mechanism, OneOf, SubsetSelection, UnaryEncoding
from warner.reports.tally import save_tallies
from warner.results.forged import moved_by_added

_LABELS = warner.Categorical(["a", "b", "c"])
_SMOKING = warner.RandomizedResponse(_LABELS, 1.0)
_MECHANISMS: dict[str, Mechanism] = {
    "labels": _SMOKING,
    "subsets": SubsetSelection(warner.Categorical(list("abcde")), 1.0, size=2),
    "bits": UnaryEncoding(_LABELS, 1.0),
    "a matrix": MatrixMechanism(_LABELS, [[0.6, 0.2, 0.2], [0.2, 0.5, 0.3], [0.2, 0.3, 0.5]], 2.0),
}


def _inverse(mechanism: Mechanism) -> np.ndarray:
    """L (K, m): what each report adds to the unbiased shares."""
    outputs = warner.Reports(mechanism.header, mechanism.outputs())
    columns = []
    for i in range(len(outputs)):
        tally = mechanism.tally(outputs[i : i + 1], keep_reports=False)
        channel, seen, _ = mechanism.channel_for(tally)
        columns.append(channel.invert(seen / seen.sum()))
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("name", _MECHANISMS)
def test_the_ends_move_as_far_as_a_linear_program_says(name: str) -> None:
    """Over all frequencies z of forged reports: min of (l - L z) / (1 - eta), and max for h."""
    # Rejects a program that moves the ends of the interval without widening it, and one that moves
    # both ends equally far.
    mechanism, eta, rng = _MECHANISMS[name], 0.02, np.random.default_rng(1)
    labels = [v for v in mechanism.domain.labels for _ in range(400)]
    tally = mechanism.tally(mechanism.randomize(labels, rng=rng), keep_reports=False)
    result, inverse = warner.estimate(tally), _inverse(mechanism)
    bounds, intervals = result.if_forged(eta, kind="wald").bounds, result.interval(kind="wald")
    for x, row in enumerate(inverse):
        ends = []
        for end, sign in zip(intervals[x], (1, -1), strict=True):
            program = linprog(sign * -row, A_eq=np.ones((1, len(row))), b_eq=[eta])
            ends.append((end + sign * program.fun) / (1 - eta))
        assert bounds[x] == pytest.approx(np.clip(ends, 0, 1), abs=1e-7)


@pytest.mark.parametrize("target", range(3))
def test_forgers_cannot_leave_the_bounds(target: int) -> None:
    # Rejects a program whose bounds hold for forged answers, which are randomised, in place of
    # forged reports: 400 reports of one value move its share as 870 answers do.
    honest, n, forged = np.array([12_000, 6_000, 2_000]), 20_000, 400
    expected = (_SMOKING.probabilities().astype(float) @ honest).round().astype(int).tolist()
    counts = [c + forged * (x == target) for x, c in enumerate(expected)]
    reports = np.repeat(range(3), counts)
    result = warner.estimate(_SMOKING.tally(_SMOKING.reports(reports)))
    low, high = result.if_forged(forged / (n + forged)).bounds.T
    assert np.all(low <= honest / n) and np.all(honest / n <= high)
    wrong = result.interval()[target]
    assert not wrong[0] <= honest[target] / n <= wrong[1]


def test_a_number_of_reports_is_its_part_of_the_reports_about_a_question() -> None:
    """Rejects a number that is divided by the reports about another question, or by people twice."""
    names, yes_no = list("abcd"), warner.Categorical(["no", "yes"])
    survey = OneOf(Product(**dict.fromkeys(names, yes_no)), 2.0)
    answers = [dict.fromkeys(names, "no")] * 2_000
    tally = survey.tally(
        survey.randomize(answers, rng=np.random.default_rng(1)), keep_reports=False
    )
    result = warner.estimate(tally.marked(), attributes=["a"])
    by_number, by_part = result.if_forged(20), result.if_forged(0.01)
    assert by_number.bounds.tolist() == by_part.bounds.tolist()
    assert by_number.of_question == pytest.approx(20 / result.n)
    assert result.if_forged(result.n).bounds.tolist() == [[0, 1], [0, 1]]


@pytest.mark.parametrize("seed", range(8))
def test_forgers_who_choose_the_question_cannot_leave_the_bounds(seed: int) -> None:
    # Rejects a program that takes the part of all reports for that of the reports about the
    # question, of which there are fewer: its bounds missed the truth in 8 of 8 such tallies.
    rng, n, forged = np.random.default_rng(seed), 10_000, 100
    names, yes_no = list("abcdefgh"), warner.Categorical(["no", "yes"])
    survey = OneOf(Product(**dict.fromkeys(names, yes_no)), 2.0)
    answers = [{name: "yes" if rng.random() < 0.03 else "no" for name in names} for _ in range(n)]
    lies = survey.randomize([dict.fromkeys(names, "yes")] * 4_000, rng=rng)
    about = np.flatnonzero((lies.columns["block"] == 0) & (lies.columns["report"] == 1))
    tally = survey.tally(survey.randomize(answers, rng=rng), keep_reports=False)
    columns = {name: column[about[:forged]] for name, column in lies.columns.items()}
    made_up = survey.tally(warner.Reports(lies.header, columns), keep_reports=False)
    tally += made_up.marked()
    result = warner.estimate(tally, attributes=["a"])
    low, high = result.if_forged(0.01).bounds[1]
    assert low <= 0.03 <= high and not result.interval()[1][0] <= 0.03


def test_more_forged_reports_widen_the_bounds_up_to_everything() -> None:
    result = warner.estimate(_SMOKING.tally(_SMOKING.reports([0] * 480 + [1] * 300 + [2] * 220)))
    widths = [
        float(np.ptp(result.if_forged(eta).bounds, axis=1).sum()) for eta in (0.001, 0.01, 0.1)
    ]
    assert widths == sorted(widths)
    assert result.if_forged(0.9).bounds.tolist() == [[0, 1]] * 3
    assert "if up to 1 % of the reports were made up" in str(result.if_forged())
    for share in (0, 1, -0.1, 2.0):
        with pytest.raises(ArgumentError, match="above 0 and below 1"):
            result.if_forged(share)


def test_the_command_line_bounds_shares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rejects a comma that is left out: 0,05 would be 5 reports."""
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY, encoding="utf-8")
    answers = "smokes,age\n" + "".join(f"{v},{i % 10}\n" for i, v in enumerate(["no", "yes"] * 400))
    Path("answers.csv").write_text(answers, encoding="utf-8")
    run("randomize", "study.toml", "answers.csv", "-o", "reports.parquet")
    run("tally", "reports.parquet", "-o", "tally.json")
    said = run("estimate", "tally.json", "--forged", "1%").stdout
    assert said.count("if up to 1 % of the reports were made up") == 2
    data = json.loads(run("estimate", "tally.json", "--forged", "0.01", "--json").stdout)
    shares = data[0]["if_forged"]["shares"]
    for row, bound in zip(data[0]["shares"], shares, strict=True):
        assert bound["low"] <= row["low"] and row["high"] <= bound["high"]
    run("estimate", "tally.json", "--forged", "1%", "-o", "shares.csv")
    assert "share if forged" in Path("shares.csv").read_text(encoding="utf-8")
    said = run("estimate", "tally.json", "--forged", "8").stdout
    assert said.count("if up to 8 reports (1 %) were made up") == 2
    counted = json.loads(run("estimate", "tally.json", "--forged", "8", "--json").stdout)
    assert counted[0]["if_forged"] == data[0]["if_forged"] | {"reports": 8}
    one = run("estimate", "tally.json", "--forged", "1", ok=False).output
    assert "'1' could mean 1 report or all reports. Write a share such as 1%." in one
    for wrong in ("0,05", "1,5"):
        assert (
            "must be above 0 % and below 100 % of the reports"
            in run("estimate", "tally.json", "--forged", wrong, ok=False).output
        )


def test_each_group_has_the_bounds_of_its_own_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects a refusal of groups, and one bound of all people for each of them."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    answers = rng.choice(["a", "b", "c"], 3000, p=[0.6, 0.3, 0.1])
    wards = np.where(np.arange(3000) < 400, "north", "south")
    tally = _SMOKING.tally(_SMOKING.randomize(answers, rng), {"ward": wards})
    save_tallies({"smokes": tally}, "t.json")
    said = run("estimate", "t.json", "--forged", "2%")
    assert "north, smokes: if up to 2 % of the reports were made up" in said.stdout
    assert "But whoever makes up reports can choose the group" in said.stderr
    said = run("estimate", "t.json", "--forged", "20")
    assert "north, smokes: if up to 20 reports (5 %) were made up" in said.stdout
    assert "choose the group" not in said.stderr  # all 20 are in each group already
    run("estimate", "t.json", "--forged", "2%", "-o", "e.json", "-o", "e.csv")
    with open("e.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["measure"] == "share if forged"]
    for group in json.loads(Path("e.json").read_text()):
        ward = group["group"]["ward"]
        bounds = warner.estimate(tally[ward,]).if_forged(0.02).bounds
        read = [[row["low"], row["high"]] for row in group["if_forged"]["shares"]]
        assert np.array(read) == pytest.approx(bounds)
        in_table = [[row["low"], row["high"]] for row in rows if row["ward"] == ward]
        assert np.array(in_table, dtype=float) == pytest.approx(bounds, abs=1e-6)
    said = run("estimate", "t.json", "--by", "ward", "--forged", "2%", ok=False)
    assert "made-up reports of one group can move the shares of other groups" in said.stderr
    assert "Leave out --by: the limits of each group are then printed" in said.stderr


def test_added_reports_move_a_share_by_what_the_estimate_says_anew() -> None:
    """Rejects 10 weights of a report among n, which leaves the added reports out of the mean."""
    answers = ["a"] * 60 + ["b"] * 20 + ["c"] * 6
    tally = _SMOKING.tally(_SMOKING.randomize(answers, np.random.default_rng(1)))
    before = warner.estimate(tally, method="inversion")
    anew = tally.counts.ravel() + 10 * np.eye(3)
    after = [_SMOKING.channel().invert(counts / counts.sum()) for counts in anew]
    moved = np.abs(np.array(after) - before.probabilities).max()
    assert moved_by_added(before, 10) == pytest.approx(moved)
    # The unbiased estimate moves as far, whichever estimate stands beside the sentence.
    assert moved_by_added(warner.estimate(tally), 10) == pytest.approx(moved)
