"""Steps of the live page: between two of them only the number of reports is shown, and of each
group a step adds nobody, or at least ten people.
"""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.spec.collector._live import ONE_IS_SMALL, STUDY, STUDY_TEXT, Memory, after, published
from warner.collector.live import publisher as live_publisher
from warner.collector.live.estimates import NotPublished, Shown, StepEstimates, tally_json
from warner.collector.live.publisher import FACT, LivePublisher, event_text
from warner.collector.live.state import LiveView, Step, grouped, groups_come_late, sizes_of
from warner.collector.live.tables import about_count, about_step, progress, tallies_by
from warner.collector.pages.live import live_page
from warner.reports.tally import parse_tallies
from warner.studies.study import Study


def event_of(view: LiveView) -> dict[str, Any]:
    event: dict[str, Any] = json.loads(event_text(view).split(b"data: ")[1])
    return event


def step_of(view: LiveView) -> Step:
    assert view.step is not None
    return view.step


def restarted(publisher: LivePublisher, study: Study = STUDY) -> LivePublisher:
    """Another publisher of the same collector, which knows the last step."""
    again = LivePublisher(publisher._collector, study)
    again._restore()
    return again


def test_nothing_is_shown_before_the_first_step() -> None:
    view = published(99).view()
    assert view.step is None and view.n == 0 and view.sections == () and view.options == ()
    assert progress(view) == (
        "No estimate yet: the first one is published after 100 reports of groups with at least 10."
    )
    event = event_of(view)
    assert event["counted"] == 99 and event["about_count"].startswith("Counted so far: 99 reports")
    assert event["n"] == event["step"] == 0 and not event["sections"]


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
        "Counted so far: 199 reports. The next result comes after 100 reports more of groups with "
        "at least 10 new ones each."
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


def test_a_restart_shows_the_same_step_and_no_smaller_one() -> None:
    publisher = published(130)
    back = Step.from_bytes(publisher._collector.facts[FACT])  # type: ignore[attr-defined]
    assert back.tallies == step_of(publisher.view()).tallies and (back.n, back.number) == (130, 1)
    again = restarted(publisher)
    view = after(again, 60)  # 190: a new publisher that knew nothing would show them
    assert (step_of(view).number, view.n) == (1, 130)
    assert "from 130 reports" in view.sections[0].tables[0].caption
    assert after(again, 40).n == 230


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
    class Broken:
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


def steps_of(memory: Memory, sent: list[int]) -> Iterator[Step]:
    """All that is published while people answer, with a restart after every third time."""
    publisher, seen = LivePublisher(memory, TWO), 0
    for i, people in enumerate(sent):
        step = after(publisher, people).step
        if step is not None and step.number > seen:
            seen = step.number
            yield step
        if i % 3 == 2:
            publisher = restarted(publisher, TWO)


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
    assert "There are no tables of groups yet." in page and "after the first closing" in page
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
    assert f"{step_of(view).waiting:,} more wait: of their groups" in about_step(view)
    assert "groups with at least 10 new ones each" in about_count(view)
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
