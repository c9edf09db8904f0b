"""The demonstration: the files that it leaves, and the counts in its tables."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warner
from tests.spec.app._command import run
from warner import Categorical
from warner.app import demo as demonstration
from warner.reports.tally import load_tallies
from warner.results import intervals
from warner.studies.study import Study


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of a demonstration, and what it said."""
    folder = tmp_path_factory.mktemp("demo") / "d"
    return folder, run("demo", "-o", str(folder), "--seed", "4").stdout


def test_the_demo_leaves_what_it_says(demo: tuple[Path, str]) -> None:
    folder, text = demo
    made = {
        "study.toml",
        "reports.parquet",
        "tally.json",
        "estimate.json",
        "estimate.csv",
        "shares.png",
    }
    assert {p.name for p in folder.iterdir()} == made
    assert "32,561 people" in text and "of 7 intervals contain the true share" in text
    # Married people are 46 %, known to two points; of the uniform distribution they were 14 %.
    assert re.search(r"Married-civ-spouse +46\.0 % +4[3-9]\.\d %", text)
    assert load_tallies(folder / "tally.json")["education"].n == 32_561
    run("estimate", str(folder / "reports.parquet"))


def test_the_picture_of_the_demo_has_the_texts_of_the_questions(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects the names of columns, such as marital_status, above the panels."""
    pictures: list[Any] = []
    monkeypatch.setattr(
        demonstration, "save", lambda picture, path: pictures.append(picture.to_dict())
    )
    run("demo", "-o", "d", "--seed", "4")
    titles = [" ".join(panel["title"]["text"]) for panel in pictures[0]["vconcat"]]
    assert titles == [*Study.load("d/study.toml").labels.values()]
    assert titles[1] == "What is your marital status?"


def test_the_intervals_that_are_counted_are_those_that_are_shown() -> None:
    """An estimate pulled far from the unbiased one widens the intervals shown; plain Wald intervals
    do not hold it.
    """
    mechanism = warner.RandomizedResponse(Categorical([str(i) for i in range(40)]), 4.0)
    answers = [str(i % 4) for i in range(3000)]
    result = warner.estimate(
        mechanism.tally(mechanism.randomize(answers, np.random.default_rng(2))),
        warner.estimators.Uniform(),
    )
    truth = result.probabilities
    plain = intervals.wald(result.data, 0.95, "respondents")
    assert demonstration.held(result, truth) == len(truth)
    assert int(((plain[:, 0] <= truth) & (truth <= plain[:, 1])).sum()) < len(truth)
    assert demonstration.held(result, np.full(len(truth), 2.0)) == 0


def test_the_demo_replaces_only_an_earlier_demo(here: Path, demo: tuple[Path, str]) -> None:
    Path("study.toml").write_text("title = 'mine'")
    said = run("demo", "-o", ".", ok=False)
    assert (
        "must be a new folder, or the folder of an earlier demonstration; got '.'." in said.output
    )
    assert Path("study.toml").read_text() == "title = 'mine'"
    shutil.copytree(demo[0], "d")
    run("demo", "-o", "d", "--seed", "5")
    assert Path("d/tally.json").read_bytes() != (demo[0] / "tally.json").read_bytes()
