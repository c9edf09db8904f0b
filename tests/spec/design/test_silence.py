"""Plans and proposals where some people give no answer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import warner
from tests.spec.app._command import run
from warner import Integers, Interval
from warner.design.candidates import candidates
from warner.design.planning import can_simulate, made_shares
from warner.design.proposal import propose, questions_of
from warner.design.proposal_widths import distance_of_values
from warner.domains import Optional

_SILENT = Optional(Interval(0.0, 10.0, bins=8))


def test_a_made_distribution_has_one_silent_person_in_ten() -> None:
    for question in questions_of(_SILENT, None, 0.1, 0.95):
        assert question.theta.sum() == pytest.approx(1) and question.theta[-1] == pytest.approx(0.1)
    shares = made_shares(_SILENT)
    assert shares[:-1] / 0.9 == pytest.approx(made_shares(_SILENT.answered))
    assert can_simulate(_SILENT) and not can_simulate(Optional(warner.Grid(2, 2)))


def test_the_distance_is_that_of_those_who_answered() -> None:
    p, q = np.array([0.2, 0.0, 0.8]), np.array([0.0, 0.5, 0.5])
    assert distance_of_values(p, q, Optional(Integers(3, 4))) == 1.0


def test_weights_of_a_question_are_those_of_the_ratio() -> None:
    """By differences: the share of the largest numbers and the mean, of those who answered."""
    question = questions_of(_SILENT, None, 0.1, 0.95)[0]
    plain = questions_of(_SILENT.answered, None, 0.1, 0.95)[0].functions
    theta, step = question.theta, 1e-6

    def ratios(shares: np.ndarray) -> np.ndarray:
        return np.asarray(plain @ shares[:-1] / shares[:-1].sum())

    for x in range(9):
        moved = theta + step * (np.eye(9)[x] - theta)
        slope = (ratios(moved) - ratios(theta)) / step
        expected = question.functions[:, x] - question.functions @ theta
        assert slope == pytest.approx(expected, abs=1e-4)


def test_a_proposal_for_numbers_with_silence_is_of_numbers() -> None:
    domain = Optional(Interval(0.0, 10.0, bins=20))
    found, plain = (
        propose(d, 2000, 1.0, among={k: every[k] for k in ("SquareWave", "SubsetSelection")})
        for d in (domain, domain.answered)
        for every in [dict(candidates(d, None, None, None, True))]
    )
    assert found.best.name == plain.best.name == "SquareWave" and not found.best.options
    assert isinstance(found.mechanism, warner.mechanisms.WithSilence)
    # Silence costs reports, so intervals are wider than where everybody answers.
    ours, theirs = found.best.expected.mean, plain.best.expected.mean
    assert ours is not None and theirs is not None and theirs < ours < 2 * theirs


def test_a_draft_with_silence_is_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    assert isinstance(mechanism, warner.mechanisms.WithSilence)
    assert warner.audit(mechanism).holds
