"""The table of record (bench/leaderboard) on one setting: that the default is among the best, that
only what was changed is measured again, and that the page says what the lines hold.
"""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from warner.estimators import ExpectationMaximization

BENCH = Path(__file__).parents[2] / "bench"
MECHANISMS = ("RandomizedResponse", "UnaryEncoding", "SubsetSelection")
SETTING = ("race", 1_000, 1.0)


@pytest.fixture
def board(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script with few runs and a few mechanisms, and without a folder of data."""
    monkeypatch.syspath_prepend(str(BENCH))
    monkeypatch.delenv("WARNER_DATA", raising=False)
    script = import_module("leaderboard")
    for each in (script.questions, script.mechanisms, script.law_of):
        each.cache_clear()
    monkeypatch.setattr(script, "RUNS", (8, 2, 2))
    monkeypatch.setattr(script, "FRESH", (12, 3, 3))
    candidates = script.candidates

    def few(*question: Any) -> dict[str, Any]:
        return {name: make for name, make in candidates(*question) if name in MECHANISMS}

    monkeypatch.setattr(script, "candidates", few)
    return script


def test_one_setting_is_measured_shown_and_measured_again_where_it_changed(
    board: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight runs: the default errs at most 1.3 times as much as the best estimator, of which some
    err twice as much; an estimate that were not shrunk would not.
    """
    file = tmp_path / "lines.jsonl"
    lines = board.measure("race", file, only=[SETTING])
    errors = {
        line["cell"][3]: line["errors"]["RandomizedResponse"]["l2"]
        for line in lines
        if line["cell"][3] in board.ESTIMATORS
    }
    assert {"default", "mle", "inversion"} <= set(errors) and not {"spline", "eb"} & set(errors)
    assert errors["default"] <= 1.3 * min(errors.values()) < 0.65 * max(errors.values())

    # The best of the round of fresh draws, its relative error and the bounds, by hand.
    page = board.page(json.loads(json.dumps(lines)))
    fresh = next(line["errors"]["l2"] for line in lines if line["cell"][3] == "fresh")
    best = min(fresh, key=lambda pair: fresh[pair][0])
    mean, margin, excess, _ = fresh[best]
    unbiased, of_any, is_sharp = next(line for line in lines if line["cell"][3] == "bound")[
        "least"
    ]["l2"]
    row = next(line for line in page.splitlines() if line.startswith("| shares | 1,000 | 1 "))
    assert best in row and f"{mean:.2g} ± {margin / mean:.0%}" in row and excess == 0
    assert is_sharp and f"| {mean / unbiased:.2f} " in row and f"| {mean / of_any:.3g} " in row
    assert f"`{best.split(' + ')[0]}`" in page

    before = file.read_text()
    board.measure("race", file, only=[SETTING])
    assert file.read_text() == before
    monkeypatch.setitem(board.ESTIMATORS, "em:100", ExpectationMaximization(90))
    board.measure("race", file, only=[SETTING])
    old, new = (
        {json.loads(line)["cell"][3]: line for line in text.splitlines()}
        for text in (before, file.read_text())
    )
    changed = {name for name in new if new[name] != old[name]}
    assert "em:100" in changed <= {"em:100", "fresh"}
