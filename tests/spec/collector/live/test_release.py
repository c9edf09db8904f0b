"""Whose reports a step holds: of each group nobody new, or at least ten people."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.spec.collector._live import ONE_IS_SMALL, STUDY, STUDY_TEXT, Memory
from warner.collector.live import publisher as live_publisher
from warner.collector.live.estimates import NotPublished, tally_json
from warner.collector.live.publisher import FACT, LivePublisher
from warner.collector.live.state import Step, grouped, groups_come_late, sizes_of
from warner.collector.live.tables import about_count, about_step, tallies_by
from warner.collector.pages.live import live_page
from warner.reports.tally import parse_tallies
from warner.studies.study import Study

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
        cells = [CELLS[i] for i in self.rng.choice(6, size=people, p=OFTEN)]
        self.add(cells)

    def add(self, cells: list[tuple[str, str]]) -> None:
        answers = {"smokes": ["yes"] * len(cells), "drinks": [7] * len(cells)}
        made = {
            name: m.randomize(answers[name], rng=self.rng) for name, m in TWO.mechanisms.items()
        }
        by = {"ward": [ward for ward, _ in cells], "sex": [sex for _, sex in cells]}
        for name, tally in TWO.tally(made, by).items():
            known = self.tallies.get(name)
            self.tallies[name] = tally if known is None else known + tally
        self.n += len(cells)
        self.version += 1


def publisher_of(memory: Memory, study: Study = TWO) -> LivePublisher:
    return LivePublisher(memory, study)


def steps_of(memory: Memory, sent: list[int]) -> Iterator[Step]:
    """All that is published while people answer, with a restart after every third time."""
    publisher, seen = publisher_of(memory), 0
    for i, people in enumerate(sent):
        memory.send(people)
        publisher.look()
        step = publisher.view().step
        if step is not None and step.number > seen:
            seen = step.number
            yield step
        if i % 3 == 2:
            publisher = publisher_of(memory)
            publisher._restore()


def increments(steps: list[Step]) -> list[dict[Any, int]]:
    """How many people each step added to each group."""
    found, before = [], dict.fromkeys(CELLS, 0)
    for step in steps:
        now = {**dict.fromkeys(CELLS, 0), **sizes_of(step.tallies)}
        found.append({cell: now[cell] - before[cell] for cell in CELLS})
        before = now
    return found


def test_a_step_adds_of_each_group_nobody_or_ten_people_and_fifty_in_all() -> None:
    memory = People(TWO)
    sent = np.random.default_rng(3).integers(1, 40, size=45).tolist()
    steps = list(steps_of(memory, sent))
    added = increments(steps)
    assert len(steps) > 8
    for one in added:
        assert all(fresh == 0 or fresh >= 10 for fresh in one.values())
        assert sum(one.values()) >= 50
    # People of small groups wait, and no longer than until ten of them are there.
    assert any(step.waiting for step in steps)
    counted = sizes_of(memory.tallies)
    shown = sizes_of(steps[-1].tallies)
    assert all(n - shown.get(cell, 0) < 60 for cell, n in counted.items())
    # The whole is the sum of what the groups show, in each question and each file.
    for step in steps:
        assert {tally.total().n for tally in step.tallies.values()} == {step.n}
        for name, tally in grouped(step.tallies).items():
            assert tallies_by(step, "sex")[name].n == tally.n


def test_steps_of_all_people_would_show_single_ones() -> None:
    """The power of the test above: with the rule for all people alone it fails."""
    memory = People(TWO)
    shown, added = dict.fromkeys(CELLS, 0), []
    for people in np.random.default_rng(3).integers(1, 40, size=45).tolist():
        memory.send(people)
        if memory.n >= sum(shown.values()) + 50:
            now = {**dict.fromkeys(CELLS, 0), **sizes_of(memory.tallies)}
            added.append({cell: now[cell] - shown[cell] for cell in CELLS})
            shown = now
    assert sum(fresh == 1 for one in added for fresh in one.values()) > 3


def test_no_combination_of_tables_is_of_fewer_than_ten_people() -> None:
    """Where the whole came at once and groups later, the whole less the groups would be one person.

    Any linear combination of the tables is one of the people's weights. The weights are those of
    the increments, and each increment is of ten people or of none.
    """
    memory = People(TWO)
    publisher = publisher_of(memory)
    memory.add([("north", "f")] * 49 + [("west", "m")])
    publisher.look()
    assert publisher.view().step is None  # 49 of one group are no step of 50
    memory.add([("north", "f")])
    publisher.look()
    step = publisher.view().step
    assert step is not None and (step.n, step.waiting) == (50, 1)
    assert sizes_of(step.tallies) == {("north", "f"): 50}
    # 10 people of another ward and the other sex: the one who waits is not in "m" either.
    memory.add([("south", "m")] * 10 + [("north", "f")] * 40)
    publisher.look()
    view = publisher.view()
    assert view.step is not None and (view.step.n, view.step.waiting) == (100, 1)
    for by, of in (("ward", "west"), ("sex", "m")):
        tally = parse_tallies(tally_json(view, TWO, by).encode(), "t")["smokes"]
        sizes = dict(zip(tally, tally.sizes.tolist(), strict=True))  # type: ignore[arg-type, union-attr]
        assert sizes.get((of,), 0) == (0 if by == "ward" else 10)
    whole = parse_tallies(tally_json(view, TWO).encode(), "t")["smokes"]
    assert whole.n == 100


def test_closing_publishes_those_who_wait_once() -> None:
    memory = Memory(STUDY, wards=ONE_IS_SMALL)
    memory.send(420)
    publisher = publisher_of(memory, STUDY)
    publisher.look()
    assert 0 < publisher.view().step.waiting < 10  # type: ignore[union-attr]
    memory.now = "closed"
    publisher.look()
    step = publisher.view().step
    assert step is not None and (step.n, step.waiting, step.is_rest) == (420, 0, True)
    assert step.tallies == memory.tallies
    # Also where a whole step is new: those who wait come with it, not after it.
    again = Memory(STUDY, wards=ONE_IS_SMALL)
    again.send(130)
    publisher = publisher_of(again, STUDY)
    publisher.look()
    again.send(300)
    again.now = "closed"
    publisher.look()
    step = publisher.view().step
    assert step is not None and (step.number, step.n, step.is_rest) == (2, 430, True)
    # Opened and closed again: nobody is shown alone.
    again.now = "open"
    again.send(104)
    publisher.look()
    again.now = "closed"
    publisher.look()
    last = publisher.view().step
    assert last is not None and last.n + last.waiting == 534
    added = increments_of_wards(step, last)
    assert all(fresh == 0 or fresh >= 10 for fresh in added)


def increments_of_wards(before: Step, after: Step) -> list[int]:
    old = sizes_of(before.tallies)
    return [n - old.get(key, 0) for key, n in sizes_of(after.tallies).items()]


def test_groups_that_are_many_come_after_the_closing() -> None:
    text = STUDY_TEXT.replace("people = 1000", "people = 140").replace("step = 100", "step = 50")
    study = Study.parse(text)
    assert groups_come_late(study) and not groups_come_late(STUDY)
    memory = Memory(study, wards=ONE_IS_SMALL)
    memory.send(60)
    publisher = publisher_of(memory, study)
    publisher.look()
    view = publisher.view()
    assert view.step is not None and (view.step.n, view.step.waiting) == (60, 0)
    assert publisher.groups("ward") is None
    with pytest.raises(NotPublished) as refused:
        tally_json(view, study, "ward")
    assert refused.value.name == "groups_after_closing"
    page = live_page(view, study, "x", "ward", None)
    assert "There are no tables of groups yet." in page and "after the first closing" in page
    # More planned people do not bring them forward: two rules together would show few people.
    memory.now = "open"
    again = LivePublisher(memory, STUDY)
    again._restore()
    memory.send(110)
    again.look()
    assert again.view().n == 170 and again.groups("ward") is None
    memory.now = "closed"
    again.look()
    assert again.view().step.is_rest and again.groups("ward") is not None  # type: ignore[union-attr]
    assert parse_tallies(tally_json(again.view(), STUDY, "ward").encode(), "t")["smokes"].n
    # A second closing has no groups: the difference of the two could be one person.
    memory.now = "open"
    memory.send(150)
    again.look()
    memory.now = "closed"
    again.look()
    assert again.view().n == 320 and again.groups("ward") is None


def test_closing_shows_groups_also_where_nobody_is_new() -> None:
    study = Study.parse(STUDY_TEXT.replace("people = 1000", "people = 140"))
    memory = Memory(study, wards=ONE_IS_SMALL)
    memory.send(110)
    publisher = publisher_of(memory, study)
    publisher.look()
    memory.now = "closed"
    publisher.look()
    step = publisher.view().step
    assert step is not None and (step.number, step.n, step.shows_groups) == (2, 110, True)
    publisher.look()
    assert publisher.view().step is step


def test_trials_show_each_person_at_once() -> None:
    study = Study.parse(STUDY_TEXT.replace("step = 100", "step = 1"))
    memory = Memory(study, wards=ONE_IS_SMALL)
    publisher = publisher_of(memory, study)
    for n in range(1, 8):
        memory.send(1)
        publisher.look()
        assert publisher.view().n == n
    assert "can add a single person" in live_page(publisher.view(), study, "x")


def test_the_page_says_who_waits_and_why() -> None:
    memory = Memory(STUDY, wards=ONE_IS_SMALL)
    memory.send(420)
    publisher = LivePublisher(memory, STUDY)
    publisher.look()
    view = publisher.view()
    waiting = view.step.waiting  # type: ignore[union-attr]
    assert f"{waiting:,} more wait: of their groups" in about_step(view)
    assert "groups with at least 10 new ones each" in about_count(view)
    assert "none new" not in about_step(view)
    assert about_step(view) in live_page(view, STUDY, "x")


def test_a_step_of_an_earlier_version_is_taken_up() -> None:
    memory = People(TWO)
    memory.send(200)
    publisher = publisher_of(memory)
    publisher.look()
    data = json.loads(memory.facts[FACT])
    for name in ("late_groups", "waiting"):
        del data[name]
    memory.facts[FACT] = json.dumps(data).encode()
    again = publisher_of(memory)
    again._restore()
    memory.send(200)
    again.look()
    first, second = publisher.view().step, again.view().step
    assert first is not None and second is not None
    assert all(fresh == 0 or fresh >= 10 for fresh in increments([first, second])[1].values())


def test_counts_are_copied_every_few_seconds_at_most_while_people_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, asked = 1000.0, []
    monkeypatch.setattr(live_publisher.time, "monotonic", lambda: now)
    memory = People(TWO)
    state = memory.state
    monkeypatch.setattr(memory, "state", lambda: asked.append(now) or state())
    publisher = publisher_of(memory)
    for i, cell in enumerate(CELLS * 9):
        now = 1000.0 + i / 4
        memory.add([cell])
        publisher._look_in_time()
    assert asked == [1000.0] and publisher.view().step is None and memory.n == 54
    memory.add(CELLS)
    now += 5.0
    publisher._look_in_time()
    assert publisher.view().n == 60
