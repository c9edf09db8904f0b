"""Long work on very many values says how far it is."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from warner import Categorical
from warner._core.progress import Stage, progress
from warner.mechanisms import base


def _heard(job: object) -> list[Stage]:
    found: list[Stage] = []
    with progress(lambda stages: found.extend(stages[-1:])):
        job()  # type: ignore[operator]
    return found


def test_counting_supports_tells_of_all_reports() -> None:
    mechanism = warner.LocalHashing(Categorical(range(20_000)), 2.0)
    reports = mechanism.randomize(np.arange(500), rng=np.random.default_rng(1))
    told = [s for s in _heard(lambda: mechanism.tally(reports)) if s.name == "counting supports"]
    assert told[0].done == 0 and told[-1].done == told[-1].total == 500
    assert told[0].seconds is not None and 0 < told[0].seconds < 1


def test_reports_of_very_many_bits_are_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = warner.UnaryEncoding(Categorical(range(80)), 2.0)
    values = np.arange(80).repeat(5)

    def draw() -> object:
        return mechanism.randomize(values, rng=np.random.default_rng(2))

    assert not _heard(draw)
    monkeypatch.setattr(base, "_BITS", 100.0)
    told = _heard(draw)
    assert told[0] == Stage("drawing 32,000 bits of reports", 0, 1, 320.0) and told[-1].done == 1


def test_the_prior_of_many_labels_tells_of_its_sweeps() -> None:
    mechanism = warner.RandomizedResponse(Categorical(range(300)), 3.0)
    tally = mechanism.tally(mechanism.randomize(np.arange(300), rng=np.random.default_rng(3)))
    assert "learning the prior" in {s.name for s in _heard(lambda: warner.estimate(tally))}
