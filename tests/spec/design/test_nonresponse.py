"""Plans and proposals where some people give no answer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import warner
from tests.spec.app._command import run
from warner import Integers, Interval
from warner.design.planning import (
    can_simulate,
    candidates,
    distance_of_values,
    made_shares,
    options_of,
)
from warner.design.proposal import scenarios_of
from warner.domains import Optional

_SILENT = Optional(Interval(0.0, 10.0, bins=8))


def test_a_made_distribution_has_one_silent_person_in_ten() -> None:
    for scenario in scenarios_of(_SILENT, None, 0.1, 0.95):
        assert scenario.theta.sum() == pytest.approx(1) and scenario.theta[-1] == pytest.approx(0.1)
    shares = made_shares(_SILENT)
    assert shares[:-1] / 0.9 == pytest.approx(made_shares(_SILENT.answered))
    assert can_simulate(_SILENT) and not can_simulate(Optional(warner.Grid(2, 2)))


def test_the_distance_is_that_of_those_who_answered() -> None:
    p, q = np.array([0.2, 0.0, 0.8]), np.array([0.0, 0.5, 0.5])
    assert distance_of_values(p, q, Optional(Integers(3, 4))) == 1.0


def test_candidates_for_numbers_have_nonresponse_beside_them() -> None:
    makers = dict(candidates(_SILENT, None, None, None, True))
    for name in ("SquareWave", "Piecewise", "Laplace"):
        made = makers[name](_SILENT, 1.0)
        assert isinstance(made, warner.mechanisms.WithNonresponse) and made.domain == _SILENT
        assert options_of(makers[name]) == {}  # a study names the mechanism of numbers alone


def test_a_draft_with_nonresponse_is_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    draft = """
[attributes.units]
interval = { low = 0, high = 10, bins = 20 }
missing = "answer"
epsilon = 2.0
"""
    Path("draft.toml").write_text(draft)
    shown = run("plan", "draft.toml", "--people", "2000", "--write", "study.toml").output
    assert "mechanism = SquareWave" in shown and "of the mean" in shown
    (mechanism,) = warner.Study.load("study.toml").mechanisms.values()
    assert isinstance(mechanism, warner.mechanisms.WithNonresponse)
    assert warner.audit(mechanism).holds
