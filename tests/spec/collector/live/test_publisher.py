"""Steps of the live page: between two of them only the number of reports is shown."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from typing import Any

import pytest

from tests.spec.collector._live import STUDY, Memory, published
from warner.collector.live import publisher as live_publisher
from warner.collector.live.estimates import Shown, StepEstimates
from warner.collector.live.publisher import FACT, LivePublisher, event_text
from warner.collector.live.state import LiveView, Step
from warner.collector.live.tables import about_step, progress


def test_nothing_is_shown_before_the_first_step() -> None:
    view = published(99).view()
    assert view.step is None and view.n == 0 and view.sections == () and view.options == ()
    assert progress(view) == (
        "No estimate yet: the first one is published after 100 reports of groups with at least 10."
    )
    event = json.loads(event_text(view).split(b"data: ")[1])
    assert event["counted"] == 99 and event["about_count"].startswith("Counted so far: 99 reports")
    assert event["n"] == event["step"] == 0 and not event["sections"]


def test_two_steps_differ_by_at_least_b_people() -> None:
    """Steps at multiples of B would differ by 60 people at 140 and 200 reports."""
    memory = Memory(STUDY)
    publisher, shown = LivePublisher(memory, STUDY), []
    for people in (40, 100, 60, 30, 20, 250, 1):
        memory.send(people)
        publisher.look()
        shown.append(publisher.view().n)
    assert shown == [0, 140, 140, 140, 250, 500, 500]


def test_an_event_between_two_steps_says_only_how_many_are_counted() -> None:
    memory = Memory(STUDY)
    publisher = LivePublisher(memory, STUDY)
    memory.send(100)
    publisher.look()
    before, shown = _event(publisher), publisher.view()
    memory.send(99)
    publisher.look(refresh_count=False)
    assert _event(publisher) == before
    publisher.look()
    after = _event(publisher)
    changed = {key for key in after if after[key] != before[key]}
    assert changed == {"version", "counted", "about_count"}
    assert after["counted"] == 199 and publisher.view().n == 100
    assert (
        after["about_count"] == "Counted so far: 199 reports. The next result comes after 100 "
        "reports more of groups with at least 10 new ones each."
    )
    # Nothing was estimated for it.
    assert publisher.view().sections is shown.sections


def test_the_number_of_reports_is_refreshed_every_few_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 1000.0
    monkeypatch.setattr(live_publisher.time, "monotonic", lambda: now)
    memory = Memory(STUDY)
    publisher, shown = LivePublisher(memory, STUDY), []
    for seconds in (0.0, 1.0, 3.0, 4.9, 5.0, 9.9, 10.0):
        now = 1000.0 + seconds
        memory.send(1)
        publisher._look_in_time()
        shown.append(publisher.view().counted)
    assert shown == [1, 1, 1, 1, 5, 5, 7]


def test_steps_of_few_reports_say_what_they_give_up() -> None:
    view = LiveView(1, 3, 1, "open")
    assert "This is for trials" in about_step(view) and "as few as 1 report." in about_step(view)
    view = replace(view, step=Step(2, 2, {}), counted=2)
    assert about_step(view).startswith(
        "Step 2, of 2 reports. The next step comes after each report"
    )
    assert "This is for trials" in about_step(view)
    usual = replace(view, size=50)
    assert "trial" not in about_step(usual) and "--step 1" in about_step(replace(usual, step=None))


def _event(publisher: LivePublisher) -> dict[str, Any]:
    event: dict[str, Any] = json.loads(event_text(publisher.view()).split(b"data: ")[1])
    return event


def test_a_restart_shows_the_same_step_and_no_smaller_one() -> None:
    memory = Memory(STUDY)
    memory.send(130)
    LivePublisher(memory, STUDY).look()
    memory.send(60)  # 190: a new publisher that knew nothing would show them
    again = LivePublisher(memory, STUDY)
    again._restore()
    again.look()
    step = again.view().step
    assert step is not None and (step.number, step.n) == (1, 130)
    assert "from 130 reports" in again.view().sections[0].tables[0].caption
    memory.send(40)
    again.look()
    assert again.view().n == 230


def test_a_step_that_is_remembered_is_the_same() -> None:
    memory = Memory(STUDY)
    memory.send(100)
    publisher = LivePublisher(memory, STUDY)
    publisher.look()
    step = publisher.view().step
    assert step is not None
    back = Step.from_bytes(memory.facts[FACT])
    assert back.tallies == step.tallies and (back.n, back.number) == (step.n, step.number)


def test_closing_publishes_the_rest_once() -> None:
    memory = Memory(STUDY)
    memory.send(120)
    publisher = LivePublisher(memory, STUDY)
    publisher.look()
    memory.send(7)
    memory.now = "closed"
    publisher.look()
    step = publisher.view().step
    assert step is not None and (step.n, step.is_rest) == (127, True)
    # Opened and closed again after one more report: that report is not shown alone.
    memory.now = "open"
    memory.send(1)
    publisher.look()
    memory.now = "closed"
    publisher.look()
    assert publisher.view().n == 127 and publisher.view().status == "closed"
    again = LivePublisher(memory, STUDY)  # nor after a restart
    again._restore()
    again.look()
    assert again.view().n == 127
    memory.send(100)
    again.look()
    last = again.view().step
    assert last is not None and (last.n, last.is_rest, last.rest_used) == (228, False, True)


def test_a_status_is_shown_at_once_and_rejects_without_a_step() -> None:
    memory = Memory(STUDY, refused={"closed": 3})
    publisher = LivePublisher(memory, STUDY)
    publisher.look()
    assert publisher.view().rejects == {"closed": 3}
    memory.now = "closed"
    memory.refused["closed"] = 4
    publisher.look(refresh_rejects=False)
    assert (publisher.view().status, publisher.view().rejects) == ("closed", {"closed": 3})


def test_a_slow_estimate_does_not_hold_up_reports_and_the_newest_step_is_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(live_publisher, "_COUNT_SECONDS", 0.0)
    memory, at_work, go_on, seen = Memory(STUDY), threading.Event(), threading.Event(), []

    class Slow(StepEstimates):
        def shown(self, step: Step, name: str) -> Shown:
            if name == "smokes":
                seen.append(step.tallies[name].n)
                at_work.set()
                assert go_on.wait(10)
            return Shown(())

    publisher = LivePublisher(memory, STUDY, Slow(STUDY))
    publisher.start()
    memory.send(100)
    assert at_work.wait(10)
    for _ in range(3):
        memory.send(100)  # returns although an estimate is at work
    assert publisher.view().is_estimating and publisher.view().step is None
    go_on.set()
    end = time.monotonic() + 10
    while publisher.view().n < 400 and time.monotonic() < end:
        time.sleep(0.01)
    publisher.stop()
    assert seen == [100, 400] and publisher.view().n == 400


def test_a_question_that_fails_leaves_the_others(caplog: Any) -> None:
    memory = Memory(STUDY)
    memory.send(100)
    broken = memory.tallies["smokes"]
    memory.tallies["smokes"] = _Broken()
    publisher = LivePublisher(memory, STUDY)
    publisher._change(step=Step(1, 100, memory.tallies))
    publisher._show(Step(1, 100, memory.tallies))
    first, second = publisher.view().sections
    assert "The estimate failed" in first.notes[0] and not first.tables
    assert second.tables and broken.n == 100
    assert "secret" not in caplog.text and "RuntimeError" in caplog.text


class _Broken:
    def total(self) -> None:
        raise RuntimeError("se" + "cret")
