"""The option --summary: on the screen, in CSV and in JSON, of groups and of single attributes."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.spec.app._command import run


@pytest.fixture
def tally(here: Path) -> str:
    run("randomize", "study.toml", "answers.csv", "-o", "r.csv")
    run("tally", "r.csv", "-o", "t.json")
    return "t.json"


def test_summaries_stand_in_place_of_shares_on_the_screen_and_beside_them_in_files(
    tally: str,
) -> None:
    args = ("--summary", "mean,above:4", "-o", "e.csv", "-o", "e.json", "-o", "-")
    shown = run("estimate", tally, *args).stdout
    assert "share above 4" in shown and "smokes" in shown and "\nyes " in shown
    rows = list(csv.DictReader(Path("e.csv").read_text().splitlines()))
    about = {row["attribute"]: row for row in rows}
    assert len(rows) == 2 + 10 + 2
    by_hand = sum(
        float(r["estimate"]) for r in rows if r["attribute"] == "age" and int(r["value"]) > 4
    )
    assert float(about["age (share above 4)"]["estimate"]) == pytest.approx(by_hand)
    age = next(e for e in json.loads(Path("e.json").read_text()) if e["attribute"] == "age")
    assert [row["summary"] for row in age["summaries"]] == ["mean", "above:4"]
    assert age["summaries"][0]["estimate"] == float(about["age (mean)"]["estimate"])


def test_an_attribute_can_have_summaries_of_its_own(tally: str) -> None:
    shown = run("estimate", tally, "--summary", "mean", "--summary", "age=median").stdout
    assert "median" in shown and "mean " not in shown.partition("age:")[2].partition("Each")[0]


def test_summaries_of_no_attribute_are_refused(tally: str) -> None:
    for text, problem in (
        ("smokes=mean", "needs an attribute whose values are numbers; got smokes"),
        ("weight=mean", "must be of one of smokes, age; got weight"),
        ("mode", "summary: must be mean"),
        ("above:14", "must lie in the domain, 0..9; got 14"),
    ):
        assert problem in run("estimate", tally, "--summary", text, ok=False).stderr
    only = run("estimate", tally, "--only", "smokes", "--summary", "mean", ok=False)
    assert "needs an attribute whose values are numbers" in only.stderr


def test_the_files_without_the_option_are_as_before(tally: str) -> None:
    run("estimate", tally, "-o", "e.csv", "-o", "e.json")
    assert len(Path("e.csv").read_text().splitlines()) == 1 + 2 + 10
    assert all("summaries" not in e for e in json.loads(Path("e.json").read_text()))
