"""``warner estimate --design`` for designs of several groups, from counts alone."""

from __future__ import annotations

import json

import pytest

from tests.spec.app._command import run

CHEATING = ["estimate", "--design", "cheating:1/4,3/4"]
FIRST, SECOND = ["--counts", "yes=410,no=590"], ["--counts", "yes=752,no=248"]


def test_two_groups_are_estimated_from_their_counts() -> None:
    shown = run(*CHEATING, *FIRST, *SECOND).output
    assert "23.9 %" in shown and "7.7 %" in shown and "say no whatever the card says" in shown
    data = json.loads(run(*CHEATING, *FIRST, *SECOND, "--json").output)
    shares = {row["share"]: row["estimate"] for row in data["shares"]}
    assert shares["yes"] == pytest.approx(0.239) and shares["cheats"] == pytest.approx(0.077)
    wider = json.loads(run(*CHEATING, *FIRST, *SECOND, "--json", "--level", "0.99").output)
    assert wider["shares"][0]["high"] > data["shares"][0]["high"]


def test_lists_are_estimated_from_their_counts() -> None:
    counts = ["--counts", "0=179,1=398,2=321,3=87", "--counts", "0=101,1=323,2=355,3=196,4=40"]
    assert "43.4 %" in run("estimate", "--design", "list:3", *counts).output
    shown = run("estimate", "--design", "list:3", *counts, "--method", "binomial").output
    assert "a control item holds" in shown


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([*CHEATING, *FIRST], "each of 2 groups; got 1"),
        (CHEATING, "goes with --counts"),
        ([*CHEATING, *FIRST, "--counts", "same=1,no=2"], "each of 'no', 'yes' once"),
        ([*CHEATING, *SECOND, *FIRST], "--allow-implausible"),
        ([*CHEATING, *FIRST, *SECOND, "--summary", "mean"], "does not go with --design"),
        (
            ["estimate", "--design", "crosswise:1/4", "--counts", "same=1,different=2", *FIRST],
            "once",
        ),
    ],
)
def test_mistakes_are_said(words: list[str], said: str) -> None:
    assert said in " ".join(run(*words, ok=False).output.split())
