"""A table of very many shares shows the largest, and says where the others are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import warner
from tests.spec.app._command import run


def test_of_thousands_of_values_the_largest_are_shown(tmp_path: Path) -> None:
    domain = warner.Categorical([f"page {i}" for i in range(1500)])
    mechanism = warner.HadamardResponse(domain, 4.0)
    answers = ["page 1234"] * 900 + ["page 7"] * 600
    mechanism.tally(mechanism.randomize(answers, np.random.default_rng(1))).save(
        tmp_path / "t.json"
    )
    shown = run(
        "estimate", str(tmp_path / "t.json"), "-o", str(tmp_path / "all.csv"), "-o", "-"
    ).output
    assert shown.index("page 1234 ") < shown.index("page 7 ")
    assert "These are the 50 largest of 1,500 shares. -o FILE.csv writes all of them." in shown
    assert len((tmp_path / "all.csv").read_text().splitlines()) == 1501


def test_a_level_in_per_cent_is_answered_with_the_level() -> None:
    mechanism = warner.RandomizedResponse(warner.Categorical(["yes", "no"]), 1.0)
    tally = mechanism.tally(mechanism.randomize(["yes"] * 50, np.random.default_rng(1)))
    with pytest.raises(warner.errors.ArgumentError, match=r"Pass 0\.95 for 95 %"):
        warner.estimate(tally).interval(95)
