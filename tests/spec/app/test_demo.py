"""The demonstration: the files that it leaves, and the counts in its tables."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

import warner
from tests.spec.app._command import run
from warner import Categorical
from warner.app.demo import held
from warner.reports.tally import load_tallies
from warner.results import intervals


def test_the_demo_leaves_what_it_says(here: Path) -> None:
    text = run("demo", "-o", "d", "--seed", "4").stdout
    made = {
        "study.toml",
        "reports.parquet",
        "tally.json",
        "estimate.json",
        "estimate.csv",
        "shares.png",
    }
    assert {p.name for p in Path("d").iterdir()} == made
    assert "32,561 people" in text and text.count("Total variation from the truth") == 2
    distances = [float(d) for d in re.findall(r"truth (0\.\d+);", text)]
    # Expected TV is about 0.06 and 0.02; an estimator that returned the uniform distribution would
    # be at 0.5 and 0.5.
    assert distances[0] < 0.12 and distances[1] < 0.06
    assert load_tallies("d/tally.json")["education"].n == 32_561
    run("estimate", "d/reports.parquet")


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
    assert held(result, truth) == len(truth)
    assert int(((plain[:, 0] <= truth) & (truth <= plain[:, 1])).sum()) < len(truth)
    assert held(result, np.full(len(truth), 2.0)) == 0


def test_the_demo_replaces_only_an_earlier_demo(here: Path) -> None:
    Path("study.toml").write_text("title = 'mine'")
    said = run("demo", "-o", ".", ok=False)
    assert "must be a new folder, or one of an earlier demonstration" in said.output
    assert Path("study.toml").read_text() == "title = 'mine'"
    for seed in ("4", "5"):
        run("demo", "-o", "d", "--seed", seed)
