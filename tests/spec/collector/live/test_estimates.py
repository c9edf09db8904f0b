"""Estimates of the live page in a process of their own, which may die and has limits."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.spec.collector._live import STUDY, Memory
from tests.spec.collector._web import KIND, Client, site
from warner._core import processes
from warner.collector.live import estimates as live_estimates
from warner.collector.live.estimates import (
    BoundedEstimates,
    NotPublished,
    Shown,
    StepEstimates,
    too_large,
)
from warner.collector.live.publisher import LivePublisher
from warner.collector.live.state import Step
from warner.collector.pages.live import live_page
from warner.studies.study import Study

MANY = Study.parse(
    """
[attributes.income]
integers = [0, 999_999]
mechanism = "RandomizedResponse"
epsilon = 1.0
"""
)


class Hungry(StepEstimates):
    """Takes far more memory than it may for one question."""

    def shown(self, step: Step, name: str) -> Shown:
        if name == "smokes":
            bytearray(2**31)
        return super().shown(step, name)

    def file(self, step: Step, name: str) -> str | bytes:
        return str(list(step.tallies))


class Endless(StepEstimates):
    """Never ends."""

    def shown(self, step: Step, name: str) -> Shown:
        time.sleep(600)
        raise AssertionError

    groups = file = shown  # type: ignore[assignment]


@contextmanager
def bounded(study: Study = STUDY, **limits: Any) -> Iterator[BoundedEstimates]:
    estimates = BoundedEstimates(study, **limits)
    try:
        yield estimates
    finally:
        estimates.stop()


def _step(number: int = 1, is_rest: bool = False) -> Step:
    memory = Memory(STUDY)
    memory.send(300)
    return Step(number, 300, memory.tallies, is_rest)


def test_another_process_shows_what_this_one_shows() -> None:
    step, here = _step(), StepEstimates(STUDY)
    with bounded() as there:
        for name in step.tallies:
            assert there.shown(step, name) == here.shown(step, name)
        for name in ("estimates.json", "estimates.csv"):
            assert there.file(step, name) == here.file(step, name)


def test_groups_are_those_of_this_process() -> None:
    step, here = _step(), StepEstimates(STUDY).groups(_step(), "ward")
    with bounded() as estimates:
        there = estimates.groups(step, "ward")
    assert there.groups == here.groups and len(there.groups) == 2
    assert (there.planned, there.hidden, there.problem) == (here.planned, here.hidden, "")


@pytest.mark.skipif(sys.platform != "linux", reason="the system has no such limit")
def test_a_question_beyond_the_memory_is_named_and_the_others_are_shown(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is left out for a while, but of the last step. Rejects a page that shows nothing."""
    monkeypatch.setattr(live_estimates, "StepEstimates", Hungry)
    monkeypatch.setattr(live_estimates, "_RETRY_SECONDS", 3600)  # however slow the machine is
    said = "the live estimate of its 2 values needs more than 768 MiB of memory"
    with bounded(memory=3 * 2**28) as estimates:
        publisher = LivePublisher(Memory(STUDY), STUDY, estimates)
        publisher._show(_step())
        smokes, alcohol = publisher.view().sections
        assert smokes.notes == (
            f"No estimate here: {said}. Load the tally below, and use warner estimate.",
        )
        assert said in live_page(publisher.view(), STUDY, "x")
        assert alcohol.tables and f"question smokes: {said}" in caplog.text
        assert publisher.file("estimates.json") == "['alcohol']"
        caplog.clear()
        assert estimates.shown(_step(2), "smokes").sections[0] == smokes
        assert "question smokes" not in caplog.text and not estimates.retry_is_due()
        estimates.shown(_step(3, is_rest=True), "smokes")
        assert "question smokes" in caplog.text
        caplog.clear()
        hours = time.monotonic() + 7200
        monkeypatch.setattr(live_estimates.time, "monotonic", lambda: hours)
        assert estimates.retry_is_due()
        estimates.shown(_step(4), "smokes")
        assert "question smokes" in caplog.text and not estimates.retry_is_due()


def test_a_question_that_takes_too_long_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_estimates, "StepEstimates", Endless)
    with bounded(seconds=0.01) as estimates:
        (section,) = estimates.shown(_step(), "smokes").sections
        found = estimates.groups(_step(), "ward")
        with pytest.raises(NotPublished, match="the live estimate takes longer") as caught:
            estimates.file(_step(), "estimates.csv")
    assert "its 2 values takes longer than 0.01 seconds" in section.notes[0]
    assert found.groups == () and "takes longer than 0.01 seconds" in found.problem
    assert caught.value.name == "estimate_failed"


def test_a_question_of_too_many_values_is_never_estimated() -> None:
    assert too_large(MANY) == {"income": 1_000_000} and not too_large(STUDY)
    with bounded(MANY) as estimates:
        step = Step(1, 10, {"income": MANY.mechanisms["income"].tally(_reports(MANY, 10))})
        (section,) = estimates.shown(step, "income").sections
        assert "it has 1,000,000 values, and the live page estimates" in section.notes[0]
        assert estimates._process._process is None


def _reports(study: Study, n: int) -> Any:
    return study.mechanisms["income"].randomize(np.arange(n))


def test_reports_are_counted_while_the_estimating_process_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects a collector that waits for estimates, and a page that stays behind."""
    monkeypatch.setattr(processes, "_LONGEST_WAIT", 1.0)
    rng = np.random.default_rng(7)
    with site(tmp_path / "store.sqlite") as here, Client(here.application) as client:
        estimates = BoundedEstimates(here.study)
        live = LivePublisher(here.collector, here.study, estimates)
        live.start()
        done = threading.Event()

        def kill() -> None:
            while not done.wait(rng.uniform(0.05, 0.6)):
                process = estimates._process._process
                if process is not None and process.pid is not None:
                    with suppress(ProcessLookupError):
                        os.kill(process.pid, signal.SIGKILL)

        killing = threading.Thread(target=kill)
        killing.start()
        try:
            for _ in range(60):
                answer = client.post("/reports", content=here.body(5), headers=KIND)
                assert answer.status_code == 202
                time.sleep(0.05)
        finally:
            done.set()
            killing.join()
        assert here.collector.n == 300
        here.collector.close_survey()
        end = time.monotonic() + 120
        while not _is_shown(live) and time.monotonic() < end:
            time.sleep(0.1)
        live.stop()
        assert _is_shown(live)


def _is_shown(live: LivePublisher) -> bool:
    """Whether everybody is in tables."""
    return live.view().n == 300 and all(section.tables for section in live.view().sections)
