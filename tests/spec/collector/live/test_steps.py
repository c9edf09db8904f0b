"""The live page's steps, estimates and downloads."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import os
import re
import shlex
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.spec.app._command import run
from tests.spec.collector._estimates import Endless, Hungry
from tests.spec.collector._live import ONE_IS_SMALL, STUDY, STUDY_TEXT, Memory, after, published
from tests.spec.collector._web import KIND, Client, site
from warner._core import processes
from warner.collector.counts import Counts
from warner.collector.live import estimates as live_estimates, publisher as live_publisher
from warner.collector.live.estimates import (
    BoundedEstimates,
    NotPublished,
    Shown,
    StepEstimates,
    tally_json,
    too_large,
)
from warner.collector.live.publisher import FACT, LivePublisher, event_text
from warner.collector.live.state import (
    LiveView,
    Section,
    Step,
    grouped,
    groups_come_late,
    share_asked,
    sizes_of,
)
from warner.collector.live.tables import (
    about_count,
    about_intervals,
    about_step,
    command,
    progress,
    tallies_by,
)
from warner.collector.pages.live import live_page
from warner.collector.submissions import SubmissionFormat
from warner.errors import MissingExtraError
from warner.reports.tally import load_tallies, parse_tallies
from warner.results.estimate import estimate
from warner.results.forged import moved_by_added
from warner.studies.study import Study


def event_of(view: LiveView) -> dict[str, Any]:
    event: dict[str, Any] = json.loads(event_text(view).split(b"data: ")[1])
    return event


def step_of(view: LiveView) -> Step:
    assert view.step is not None
    return view.step


def restarted(
    publisher: LivePublisher, study: Study = STUDY, estimates: StepEstimates | None = None
) -> LivePublisher:
    """Another publisher of the same collector, which knows the last step."""
    again = LivePublisher(publisher._collector, study, estimates)
    again._follow()
    return again


def test_nothing_is_shown_before_the_first_step() -> None:
    """Rejects a second line that says of the first result how many "more" reports it needs."""
    view = published(99).view()
    assert view.step is None and view.n == 0 and view.sections == () and view.options == ()
    assert progress(view) == (
        "No result yet: the first result is published after 100 reports from groups of at least "
        "10 people (by ward)."
    )
    event = event_of(view)
    assert event["counted"] == 99 and event["about_count"] == "Counted so far: 99 reports."
    assert event["n"] == event["step"] == 0 and not event["sections"]


def test_publishers_of_two_processes_show_one_sequence_of_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Otherwise their steps would differ by the few people who came between their looks."""
    first = published(100)
    second = restarted(first)
    assert step_of(second.view()).n == 100
    assert after(first, 150).n == 250
    first._collector.send(3)  # type: ignore[attr-defined]
    assert after(second).n == 250
    # One that decides at the same moment shows what the other has published.
    first._collector.send(150)  # type: ignore[attr-defined]
    follow = LivePublisher._follow

    def other_first(publisher: LivePublisher) -> None:
        follow(publisher)
        monkeypatch.undo()
        assert after(first).n == 403
        first._collector.send(9)  # type: ignore[attr-defined]

    monkeypatch.setattr(LivePublisher, "_follow", other_first)
    second.look()
    assert step_of(second.view()).n == 403


def test_two_steps_differ_by_at_least_b_people() -> None:
    """Steps at multiples of B would differ by 60 people at 140 and 200 reports."""
    publisher = published(0)
    shown = [after(publisher, people).n for people in (40, 100, 60, 30, 20, 250, 1)]
    assert shown == [0, 140, 140, 140, 250, 500, 500]


def test_an_event_between_two_steps_says_only_how_many_are_counted() -> None:
    publisher = published(100)
    shown = publisher.view()
    before = event_of(shown)
    publisher._collector.send(99)  # type: ignore[attr-defined]
    publisher.look(refresh_count=False)
    assert event_of(publisher.view()) == before
    event = event_of(after(publisher))
    changed = {key for key in event if event[key] != before[key]}
    assert changed == {"version", "counted", "about_count"}
    assert event["counted"] == 199 and publisher.view().n == 100
    assert event["about_count"] == (
        "Counted so far: 199 reports, of which 100 are in this result. The next result adds at "
        "least 100 reports, from groups with at least 10 new reports each."
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
    assert (
        "Use such small steps only for trials: the page shows a new result after 1 report,"
    ) in about_step(view)
    view = replace(view, step=Step(2, 2, {}), counted=2)
    assert about_step(view).startswith("Step 2 has 2 reports. Each new report makes a new step.")
    assert "only for trials" in about_step(view)
    usual = replace(view, size=50)
    assert "trial" not in about_step(usual) and "--step 1" in about_step(replace(usual, step=None))


def test_a_restart_shows_the_same_step_and_no_smaller_one() -> None:
    publisher = published(130)
    back = Step.from_bytes(publisher._collector.facts[FACT])  # type: ignore[attr-defined]
    assert back.tallies == step_of(publisher.view()).tallies and (back.n, back.number) == (130, 1)
    again = restarted(publisher)
    view = after(again, 60)  # 190: a new publisher that knew nothing would show them
    assert (step_of(view).number, view.n) == (1, 130)
    assert "from 130 reports" in view.sections[0].tables[0].caption
    assert after(again, 40).n == 230


def test_the_numbers_of_before_a_restart_are_shown_while_results_are_estimated() -> None:
    """Rejects a server that says for some seconds that nothing is published or was refused."""
    publisher = published(130)
    again = LivePublisher(publisher._collector, STUDY)
    again._take_up()
    view = again.view()
    assert (view.n, view.counted, view.step, view.is_estimating) == (130, 130, None, True)
    assert view.rejects == publisher._collector.state().rejects
    for status in ("open", "closed"):
        assert progress(replace(view, status=status)) == (
            "The result from 130 reports is being computed again, because the server was restarted."
        )
    # Rejects: "not published yet" of a tally that was published before the restart.
    for by in (None, "ward"):
        assert tally_json(view, STUDY, by) == tally_json(publisher.view(), STUDY, by)
    with pytest.raises(NotPublished, match="computed again, because the server was") as caught:
        again.file("estimates.json")
    assert caught.value.name == "estimating"
    again._follow()
    assert again.view().n == 130 and not again.view().is_estimating
    new = published(99)
    new._take_up()
    assert new.view().n == 0 and "No result yet" in progress(new.view())


def test_the_headline_reaches_as_far_as_the_widest_interval_of_the_tables() -> None:
    """Rejects a headline of medians, or of half widths that are cut off at 0 and 100 %."""
    view = after(published(130), 200)
    tables = [section.tables[0] for section in view.sections]
    farthest = [
        100 * max(share - low, high - share)
        for table in tables
        for share, low, high in (row.bar for row in table.rows if row.bar)
    ]
    assert len(farthest) > 2 and max(farthest) > min(farthest) > 0
    said = progress(view).partition("\N{PLUS-MINUS SIGN}")[2].partition(" percentage")[0]
    assert said.split(" to ") == [f"{width:.2g}" for width in (min(farthest), max(farthest))]


def test_closing_publishes_the_rest_once() -> None:
    publisher = published(120)
    step = step_of(after(publisher, 7, "closed"))
    assert (step.n, step.is_rest) == (127, True)
    # Opened and closed again after one more report: that report is not shown alone.
    after(publisher, 1, "open")
    view = after(publisher, 0, "closed")
    assert (view.n, view.status) == (127, "closed")
    again = restarted(publisher)  # nor after a restart
    assert after(again).n == 127
    last = step_of(after(again, 100))
    assert (last.n, last.is_rest, last.rest_used) == (228, False, True)


def test_a_status_is_shown_at_once_and_rejects_without_a_step() -> None:
    memory = Memory(STUDY, refused={"closed": 3})
    publisher = LivePublisher(memory, STUDY)
    assert after(publisher).rejects == {"closed": 3}
    memory.now = "closed"
    memory.refused["closed"] = 4
    publisher.look(refresh_rejects=False)
    assert (publisher.view().status, publisher.view().rejects) == ("closed", {"closed": 3})


def test_a_slow_estimate_does_not_hold_up_reports_and_the_newest_step_is_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(live_publisher, "_COUNT_SECONDS", 0.01)
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
    end = time.monotonic() + 10
    while publisher.view().counted < 400 and time.monotonic() < end:
        time.sleep(0.01)
    assert publisher.view().counted == 400  # the page counts on meanwhile
    assert publisher.view().is_estimating and publisher.view().step is None
    go_on.set()
    end = time.monotonic() + 10
    while publisher.view().n < 400 and time.monotonic() < end:
        time.sleep(0.01)
    publisher.stop()
    assert seen == [100, 400] and publisher.view().n == 400


DRAWN = """
[collect]
people = 900
step = 100
[ask]
each = "one"
epsilon = 2.0
[attributes.smokes]
label = "Do you smoke?"
values = ["no", "yes"]
[attributes.drinks]
integers = [0, 12]
[attributes.town]
values = ["north", "south", "west"]
[public.place]
values = ["here", "there"]
"""


def test_questions_that_are_drawn_are_shown_one_by_one() -> None:
    """Rejects one table of all answers together, which nobody gave, and a group's size that is that
    of one question.
    """
    study = Study.parse(DRAWN)
    people = [{"smokes": "yes", "drinks": i % 13, "town": "west"} for i in range(600)]
    form, counts = SubmissionFormat(study), Counts(SubmissionFormat(study))
    public = {"place": ["here", "there"] * 300}
    draw = study.draw
    assert draw is not None
    batch = form.parse(form.seal({"questions": draw.randomize(people)}, public))
    counts.add(counts.added(batch))
    step, estimates = Step(1, 600, counts.tallies()), StepEstimates(study)
    sections = estimates.shown(step, "questions").sections
    assert [section.heading for section in sections] == ["Do you smoke?", "drinks", "town"]
    of_blocks = draw.block_tallies(counts.tallies()["questions"].total())
    for section, tally in zip(sections, of_blocks.values(), strict=True):
        assert f"from {tally.n} reports" in section.tables[0].caption
    asked = next(iter(of_blocks.values()))
    (said,) = (note for note in sections[0].notes if "10 forged reports" in note)
    (said,) = re.findall(r"up to about ([0-9.]+) percentage points", said)
    moved = moved_by_added(estimate(asked), 10)  # of the people asked, not of all people
    assert moved is not None and said == f"{100 * moved:.2g}"
    groups = estimates.groups(step, "place").groups
    assert [(name, n, len(shown)) for name, n, shown in groups] == [
        ("here", 300, 3),
        ("there", 300, 3),
    ]
    view = LiveView(1, 900, 100, "open", 600, step=step, share=share_asked(study))
    assert "--interval=anytime:300" in command(view)
    assert "made for the planned number of about 300 reports on a question" in about_intervals(view)
    # Of tables of bands, some intervals of one look are not narrower.
    assert '"warner report" usually give narrower intervals' in about_intervals(view)


def test_a_question_that_fails_leaves_the_others(caplog: Any) -> None:
    class Broken:
        header = STUDY.mechanisms["smokes"].header

        def total(self) -> None:
            raise RuntimeError("se" + "cret")

    memory = Memory(STUDY)
    memory.send(100)
    memory.tallies["smokes"] = Broken()
    publisher = LivePublisher(memory, STUDY)
    publisher._change(step=Step(1, 100, memory.tallies))
    publisher._show(Step(1, 100, memory.tallies))
    first, second = publisher.view().sections
    assert "The estimate failed" in first.notes[0] and not first.tables and second.tables
    assert "secret" not in caplog.text and "RuntimeError" in caplog.text


# -----------------------------------------------------------------------------------------------
# Whose reports a step holds where there are public columns.


TWO = Study.parse(
    """
[collect]
people = 1000
step = 50
[public.ward]
values = ["north", "south", "west"]
[public.sex]
values = ["f", "m"]
[attributes.smokes]
values = ["no", "yes"]
mechanism = "RandomizedResponse"
epsilon = 1.0
[attributes.drinks]
integers = [0, 400]
mechanism = "SubsetSelection"
epsilon = 1.0
"""
)
CELLS = [*itertools.product(["north", "south", "west"], ["f", "m"])]
OFTEN = [0.45, 0.3, 0.2, 0.03, 0.019, 0.001]


class People(Memory):
    """People of two public columns who answer one after the other."""

    def send(self, people: int) -> None:
        self.add([CELLS[i] for i in self.rng.choice(6, size=people, p=OFTEN)])

    def add(self, cells: list[tuple[str, str]]) -> None:
        answers = {"smokes": ["yes"] * len(cells), "drinks": [7] * len(cells)}
        made = {
            name: m.randomize(answers[name], rng=self.rng) for name, m in TWO.mechanisms.items()
        }
        by = {"ward": [ward for ward, _ in cells], "sex": [sex for _, sex in cells]}
        for name, tally in TWO.tally(made, by).items():
            before = self.tallies.get(name)
            self.tallies[name] = tally if before is None else before + tally
        self.n += len(cells)
        self.version += 1


class Without(StepEstimates):
    """No estimates, where it matters only whose reports a step holds."""

    def shown(self, step: Step, name: str) -> Shown:
        return Shown(())


def steps_of(memory: Memory, sent: list[int]) -> Iterator[Step]:
    """All that is published while people answer, with a restart after every third time."""
    publisher, seen = LivePublisher(memory, TWO, Without(TWO)), 0
    for i, people in enumerate(sent):
        step = after(publisher, people).step
        if step is not None and step.number > seen:
            seen = step.number
            yield step
        if i % 3 == 2:
            publisher = restarted(publisher, TWO, Without(TWO))


def new_people(before: Step | None, now: Any) -> dict[Any, int]:
    """How many people of each group have come since a step."""
    old = {} if before is None else sizes_of(before.tallies)
    return {cell: n - old.get(cell, 0) for cell, n in sizes_of(now).items()}


def test_a_step_adds_of_each_group_nobody_or_ten_people_and_fifty_in_all() -> None:
    memory = People(TWO)
    sent = np.random.default_rng(3).integers(1, 40, size=45).tolist()
    steps = list(steps_of(memory, sent))
    assert len(steps) > 8
    for before, step in zip([None, *steps], steps, strict=False):
        added = new_people(before, step.tallies).values()
        assert all(fresh == 0 or fresh >= 10 for fresh in added) and sum(added) >= 50
    # People of small groups wait, and no longer than until ten of them are there.
    assert any(step.waiting for step in steps)
    assert all(n < 60 for n in new_people(steps[-1], memory.tallies).values())
    # The whole is the sum of what the groups show, in each question and each file.
    for step in steps:
        assert {tally.total().n for tally in step.tallies.values()} == {step.n}
        for name, tally in grouped(step.tallies).items():
            assert tallies_by(step, "sex")[name].n == tally.n


def test_steps_of_all_people_would_show_single_ones() -> None:
    """The power of the test above: with the rule for all people alone it fails."""
    memory, last, alone = People(TWO), Step(0, 0, {}), 0
    for people in np.random.default_rng(3).integers(1, 40, size=45).tolist():
        memory.send(people)
        if memory.n >= last.n + 50:
            alone += [*new_people(last, memory.tallies).values()].count(1)
            last = Step(1, memory.n, dict(memory.tallies))
    assert alone > 3


def test_no_combination_of_tables_is_of_fewer_than_ten_people() -> None:
    """Where the whole came at once and groups later, the whole less the groups would be one person.

    Any linear combination of the tables is one of the people's weights. The weights are those of
    the increments, and each increment is of ten people or of none.
    """
    memory = People(TWO)
    publisher = LivePublisher(memory, TWO)
    memory.add([("north", "f")] * 49 + [("west", "m")])
    assert after(publisher).step is None  # 49 of one group are no step of 50
    memory.add([("north", "f")])
    step = step_of(after(publisher))
    assert (step.n, step.waiting) == (50, 1)
    assert sizes_of(step.tallies) == {("north", "f"): 50}
    # 10 people of another ward and the other sex: the one who waits is not in "m" either.
    memory.add([("south", "m")] * 10 + [("north", "f")] * 40)
    view = after(publisher)
    assert (view.n, step_of(view).waiting) == (100, 1)
    for by, value in (("ward", "west"), ("sex", "m")):
        tally = parse_tallies(tally_json(view, TWO, by).encode(), "t")["smokes"]
        sizes = dict(zip(tally, tally.sizes.tolist(), strict=True))
        assert sizes.get((value,), 0) == (0 if by == "ward" else 10)
    assert parse_tallies(tally_json(view, TWO).encode(), "t")["smokes"].n == 100


def test_closing_publishes_those_who_wait_once() -> None:
    publisher = published(420, wards=ONE_IS_SMALL)
    assert 0 < step_of(publisher.view()).waiting < 10
    step = step_of(after(publisher, 0, "closed"))
    assert (step.n, step.waiting, step.is_rest) == (420, 0, True)
    assert step.tallies == publisher._collector.tallies  # type: ignore[attr-defined]
    # Also where a whole step is new: those who wait come with it, not after it.
    again = published(130, wards=ONE_IS_SMALL)
    step = step_of(after(again, 300, "closed"))
    assert (step.number, step.n, step.is_rest) == (2, 430, True)
    # Opened and closed again: nobody is shown alone.
    after(again, 104, "open")
    last = step_of(after(again, 0, "closed"))
    assert last.n + last.waiting == 534
    assert all(fresh == 0 or fresh >= 10 for fresh in new_people(step, last.tallies).values())


def test_groups_that_are_many_come_after_the_closing() -> None:
    text = STUDY_TEXT.replace("people = 1000", "people = 140").replace("step = 100", "step = 50")
    study = Study.parse(text)
    assert groups_come_late(study) and not groups_come_late(STUDY)
    publisher = published(60, study, wards=ONE_IS_SMALL)
    view = publisher.view()
    assert (view.n, step_of(view).waiting) == (60, 0)
    assert publisher.groups("ward") is None
    with pytest.raises(NotPublished) as refused:
        tally_json(view, study, "ward")
    assert refused.value.name == "groups_after_closing"
    page = live_page(view, study, "x", "ward", None)
    assert "There are no tables of groups yet." in page and "the survey has closed once" in page
    # More planned people do not bring them forward: two rules together would show few people.
    again = restarted(publisher)
    assert after(again, 110).n == 170 and again.groups("ward") is None
    assert step_of(after(again, 0, "closed")).is_rest and again.groups("ward") is not None
    assert parse_tallies(tally_json(again.view(), STUDY, "ward").encode(), "t")["smokes"].n
    # A second closing has no groups: the difference of the two could be one person.
    after(again, 150, "open")
    assert after(again, 0, "closed").n == 320 and again.groups("ward") is None


def test_closing_shows_groups_also_where_nobody_is_new() -> None:
    study = Study.parse(STUDY_TEXT.replace("people = 1000", "people = 140"))
    publisher = published(110, study, wards=ONE_IS_SMALL)
    step = step_of(after(publisher, 0, "closed"))
    assert (step.number, step.n, step.shows_groups) == (2, 110, True)
    assert after(publisher).step is step


def test_trials_show_each_person_at_once() -> None:
    study = Study.parse(STUDY_TEXT.replace("step = 100", "step = 1"))
    publisher = published(0, study, wards=ONE_IS_SMALL)
    assert [after(publisher, 1).n for _ in range(7)] == [*range(1, 8)]
    assert "can add a single person" in live_page(publisher.view(), study, "x")


def test_the_page_says_who_waits_and_why() -> None:
    view = published(420, wards=ONE_IS_SMALL).view()
    assert f"{step_of(view).waiting:,} more reports wait, from groups" in about_step(view)
    assert "groups with at least 10 new reports each" in about_count(view)
    assert "none new" not in about_step(view)
    assert about_step(view) in live_page(view, STUDY, "x")


def test_counts_are_copied_every_few_seconds_at_most_while_people_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, copied = 1000.0, []
    monkeypatch.setattr(live_publisher.time, "monotonic", lambda: now)
    memory = People(TWO)
    state = memory.state
    monkeypatch.setattr(memory, "state", lambda: copied.append(now) or state())
    publisher = LivePublisher(memory, TWO)
    for i, cell in enumerate(CELLS * 9):
        now = 1000.0 + i / 4
        memory.add([cell])
        publisher._look_in_time()
    assert copied == [1000.0] and publisher.view().step is None and memory.n == 54
    memory.add(CELLS)
    now += 5.0
    publisher._look_in_time()
    assert publisher.view().n == 60


# Estimates of the live page in a process of their own, which may die and has limits.


MANY = Study.parse(
    """
[attributes.income]
integers = [0, 999_999]
mechanism = "RandomizedResponse"
epsilon = 1.0
"""
)


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
    of_groups = here.groups(step, "ward")
    with bounded() as there:
        for name in step.tallies:
            assert there.shown(step, name) == here.shown(step, name)
        for name in ("estimates.json", "estimates.csv"):
            assert there.file(step, name) == here.file(step, name)
        groups = there.groups(step, "ward")
    assert groups.groups == of_groups.groups and len(groups.groups) == 2
    assert (groups.planned, groups.hidden) == (of_groups.planned, of_groups.hidden)
    assert groups.problem == ""


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
            f'No estimate: {said}. Download the file "Tally" below, and run: warner estimate FILE.',
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
    assert "its 2 values takes longer than 0.01 seconds" in section.notes[0]


def test_groups_and_files_that_take_too_long_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_long(process: processes.BoundedProcess, *call: object) -> None:
        raise processes.Unfinished("takes longer than 5 seconds")

    monkeypatch.setattr(processes.BoundedProcess, "call", too_long)
    with bounded() as estimates:
        found = estimates.groups(_step(), "ward")
        with pytest.raises(NotPublished, match="the live estimate takes longer") as caught:
            estimates.file(_step(), "estimates.csv")
    assert found.groups == () and "takes longer than 5 seconds" in found.problem
    assert caught.value.name == "estimate_failed"


def test_a_question_of_too_many_values_is_never_estimated() -> None:
    assert too_large(MANY) == {"income": 1_000_000} and not too_large(STUDY)
    with bounded(MANY) as estimates:
        step = Step(1, 10, {"income": MANY.mechanisms["income"].tally(_reports(MANY, 10))})
        (section,) = estimates.shown(step, "income").sections
        assert (
            "the question has 1,000,000 values, but the live page estimates only"
            in section.notes[0]
        )
        assert estimates._process._process is None


def _reports(study: Study, n: int) -> Any:
    return study.mechanisms["income"].randomize(np.arange(n))


def test_reports_are_counted_while_the_estimating_process_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects a collector that waits for estimates, and a page that stays behind."""
    monkeypatch.setattr(processes, "_LONGEST_WAIT", 0.1)
    monkeypatch.setattr(live_estimates, "_RETRY_SECONDS", 0.1)
    rng = np.random.default_rng(7)
    with site(tmp_path / "store.sqlite") as here, Client(here.application) as client:
        estimates = BoundedEstimates(here.study)
        live = LivePublisher(here.collector, here.study, estimates)
        live.start()
        done, killed = threading.Event(), set()

        def kill() -> None:
            while not done.wait(rng.uniform(0.05, 0.3)):
                process = estimates._process._process
                if process is not None and process.pid is not None:
                    with suppress(ProcessLookupError):
                        os.kill(process.pid, signal.SIGKILL)
                        killed.add(process.pid)

        killing = threading.Thread(target=kill)
        killing.start()
        end = time.monotonic() + 120
        try:
            for number in range(60):
                answer = client.post("/reports", content=here.body(5), headers=KIND)
                assert answer.status_code == 202
                while len(killed) < number // 20 and time.monotonic() < end:
                    time.sleep(0.01)
        finally:
            done.set()
            killing.join()
        assert here.collector.n == 300 and len(killed) > 1
        here.collector.close_survey()
        while not _is_shown(live) and time.monotonic() < end:
            time.sleep(0.01)
        live.stop()
        assert _is_shown(live)


def _is_shown(live: LivePublisher) -> bool:
    """Whether everybody is in tables."""
    return live.view().n == 300 and all(section.tables for section in live.view().sections)


# The files of the live page say what the page says, and what ``warner estimate`` says of them.


SILENT = Study.parse(
    """
[collect]
step = 50
[attributes.pills]
integers = [0, 5]
missing = "answer"
mechanism = "SubsetSelection"
epsilon = 2.0
[attributes.place]
values = ["home", "work", "out"]
[attributes.pet]
values = ["cat", "dog"]
[[joint]]
attributes = ["place", "pet"]
mechanism = "RandomizedResponse"
epsilon = 2.0
[attributes.weight]
interval = { low = 0, high = 100, bins = 32 }
mechanism = "SquareWave"
epsilon = 2.0
"""
)


@pytest.mark.parametrize("study", [STUDY, SILENT])
def test_warner_estimate_writes_the_same_files_from_the_tally(study: Study, tmp_path: Path) -> None:
    """The whole of both files is equal, save for the last digits of floats."""
    publisher = _publisher(study)
    view = publisher.view()
    (tmp_path / "tally.json").write_text(tally_json(view, study))
    out, table = tmp_path / "out.json", tmp_path / "out.csv"
    tally = str(tmp_path / "tally.json")
    options = shlex.split(command(view))[3:]
    run("estimate", tally, *options, "-o", str(out), "-o", str(table))
    _close(json.loads(out.read_text()), json.loads(publisher.file("estimates.json")))
    ours, theirs = (
        list(csv.reader(io.StringIO(str(text))))
        for text in (publisher.file("estimates.csv"), table.read_text())
    )
    assert [row[:3] for row in ours] == [row[:3] for row in theirs]
    for mine, other in zip(ours[1:], theirs[1:], strict=True):
        # A mean has no number of people.
        figures = [[float(cell or "nan") for cell in row[3:8]] for row in (mine, other)]
        np.testing.assert_allclose(*figures, rtol=1e-9, atol=1e-12)
    shares = {data["attribute"]: data["shares"] for data in json.loads(out.read_text())}
    for section in view.sections:
        _are_shown(section, shares[section.name])


def _are_shown(section: Section, shares: list[dict[str, float]]) -> None:
    """A table of the page has the shares of a file, with the decimals of its narrowest interval."""
    whole = next(one for one in section.tables if not one.caption.startswith("In bands"))
    width = min(row["high"] - row["low"] for row in shares)
    decimals = 0 if width >= 0.2 else 1
    unit = 10**decimals
    for row, shown in zip(shares, whole.rows, strict=True):
        low = math.floor(100 * row["low"] * unit + 1e-7) / unit
        high = math.ceil(100 * row["high"] * unit - 1e-7) / unit
        values = (100 * row["estimate"], low, high)
        figures = [f"{value:.{decimals}f}\N{NO-BREAK SPACE}%" for value in values]
        assert list(shown.cells[1:]) == figures


def _publisher(study: Study) -> LivePublisher:
    if study is STUDY:
        return published(450)
    memory = Memory(study, answers={}, seed=3)
    reports = {}
    for name, mechanism in study.mechanisms.items():
        labels = mechanism.domain.labels
        given = [labels[place] for place in memory.rng.integers(len(labels), size=600)]
        if name == "pills":
            given = [None if value == labels[-1] else value for value in given]
        reports[name] = mechanism.randomize(given, rng=memory.rng)
    memory.tallies, memory.n = dict(study.tally(reports)), 600
    publisher = LivePublisher(memory, study)
    publisher.look()
    return publisher


def _close(a: object, b: object) -> None:
    """Two JSON values are equal, floats up to their last digits."""
    if isinstance(a, float):
        assert isinstance(b, float | int)
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
    elif isinstance(a, dict):
        assert isinstance(b, dict) and a.keys() == b.keys()
        for key in a:
            _close(a[key], b[key])
    elif isinstance(a, list):
        assert isinstance(b, list) and len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            _close(x, y)
    else:
        assert a == b


def test_files_are_of_the_last_step_and_not_of_what_came_since() -> None:
    memory = Memory(STUDY)
    memory.send(100)
    publisher = LivePublisher(memory, STUDY)
    publisher.look()
    before = [file(publisher) for file in _FILES]
    memory.send(99)
    publisher.look()
    assert [file(publisher) for file in _FILES] == before


_FILES: tuple[Callable[[LivePublisher], object], ...] = (
    lambda live: tally_json(live.view(), STUDY),
    lambda live: tally_json(live.view(), STUDY, "ward"),
    lambda live: live.file("estimates.json"),
    lambda live: live.file("estimates.csv"),
)


@pytest.mark.parametrize("file", [*_FILES, lambda live: live.file("picture.png")])
def test_before_the_first_step_there_are_no_files(file: Callable[[LivePublisher], object]) -> None:
    """Rejects a refusal that says "after 100 reports" where groups have to be large enough too."""
    publisher = published(99)
    with pytest.raises(
        NotPublished, match="published after 100 reports from groups of at least 10"
    ) as caught:
        file(publisher)
    assert caught.value.name == "no_estimate_yet"


def test_the_tally_of_all_has_no_groups_and_that_of_groups_hides_small_ones(
    tmp_path: Path,
) -> None:
    publisher = published(450, wards=ONE_IS_SMALL, now="closed")
    path = tmp_path / "tally.json"
    path.write_text(tally_json(publisher.view(), STUDY))
    assert {tally.n for tally in load_tallies(path).values()} == {450}
    path.write_text(tally_json(publisher.view(), STUDY, "ward"))
    for tally in load_tallies(path).values():
        hidden = 450 - tally.n
        assert min(tally.sizes) >= 10 and (hidden == 0 or hidden >= 10)


def test_tables_of_groups_are_those_of_the_tally_of_groups(tmp_path: Path) -> None:
    publisher = published(450)
    groups = publisher.groups("ward")
    assert groups is not None and publisher.groups("ward") is groups
    path = tmp_path / "tally.json"
    path.write_text(tally_json(publisher.view(), STUDY, "ward"))
    out = tmp_path / "out.json"
    kind = f"anytime:{groups.planned}"
    run("estimate", str(path), "--interval", kind, "-o", str(out))
    found = {
        (tuple(data["group"].values()), data["attribute"]): data
        for data in json.loads(out.read_text())
    }
    for name, n, sections in groups.groups:
        for section in sections:
            data = found[(name,), section.name]
            assert data["n"] == n
            _are_shown(section, data["shares"])


def test_a_picture_is_a_png_or_a_named_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    publisher = published(150)
    picture = publisher.file("picture.png")
    assert isinstance(picture, bytes) and picture.startswith(b"\x89PNG")
    monkeypatch.setitem(__import__("sys").modules, "altair", None)
    with pytest.raises(MissingExtraError, match=re.escape("warner[plot]")):
        publisher.file("picture.png")
