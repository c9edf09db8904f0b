"""A study, a collector in memory and published views, for tests of the live page."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

from warner.collector.live.publisher import LivePublisher
from warner.collector.live.state import LiveView
from warner.studies.study import Study

STUDY_TEXT = """
title = "Habits & <health>"
[collect]
people = 1000
step = 100
contact = "survey@example.org"
[public.ward]
values = ["north", "south", "west"]
[attributes.smokes]
label = "Do you smoke?"
values = ["no", "<b>yes</b>"]
mechanism = "RandomizedResponse"
epsilon = 1.0
[attributes.alcohol]
integers = [0, 9]
mechanism = "UnaryEncoding"
variant = "oue"
epsilon = 1.5
"""
STUDY = Study.parse(STUDY_TEXT)
ANSWERS = {"smokes": [0.7, 0.3], "alcohol": [0.3, 0.2, 0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.03, 0.02]}
WARDS = (0.6, 0.4, 0.0)
ONE_IS_SMALL = (0.6, 0.38, 0.02)


@dataclass
class Memory:
    """What a collector does, without its store: counts, and facts that outlive a publisher."""

    study: Study
    answers: dict[str, list[float]] = field(default_factory=lambda: dict(ANSWERS))
    wards: tuple[float, ...] = WARDS
    seed: int = 1
    now: str = "open"
    facts: dict[str, bytes] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    tallies: dict[str, Any] = field(default_factory=dict)
    n: int = 0
    is_final: bool = False
    version: int = 0

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        self.changed = threading.Condition()

    def send(self, people: int) -> None:
        """Reports of ``people`` more people."""
        wards = self.rng.choice(WARDS_OF, size=people, p=self.wards).tolist()
        reports = {}
        for name, mechanism in self.study.mechanisms.items():
            labels = mechanism.domain.labels
            places = self.rng.choice(len(labels), size=people, p=self.answers[name])
            given = [labels[place] for place in places]
            reports[name] = mechanism.randomize(given, rng=self.rng)
        added: dict[str, Any]
        if self.study.public:
            added = dict(self.study.tally(reports, {"ward": wards}))
        else:
            added = dict(self.study.tally(reports))
        with self.changed:
            for name, tally in added.items():
                known = self.tallies.get(name)
                self.tallies[name] = tally if known is None else known + tally
            self.n += people
            self.version += 1
            self.changed.notify_all()

    def state(self) -> Any:
        found = {name: getattr(self, name) for name in ("n", "tallies", "version")}
        return SimpleNamespace(**found, rejects=dict(self.refused), status=self.now)

    def status(self) -> str:
        return self.now

    def wait_for(self, version: int, timeout: float | None = None) -> bool:
        with self.changed:
            return self.changed.wait_for(lambda: self.version > version, timeout)

    def remembered(self, name: str) -> bytes | None:
        return self.facts.get(name)

    def replace(self, name: str, before: bytes | None, content: bytes) -> bool:
        is_next = self.facts.get(name) == before
        if is_next:
            self.facts[name] = content
        return is_next


WARDS_OF = ["north", "south", "west"]


def published(people: int, study: Study = STUDY, **facts: Any) -> LivePublisher:
    """A publisher that looked once at the reports of some people."""
    memory = Memory(study, **facts)
    if people:
        memory.send(people)
    publisher = LivePublisher(memory, study)
    publisher.look()
    return publisher


def after(publisher: LivePublisher, people: int = 0, now: str | None = None) -> LiveView:
    """What is shown after more people have answered, or the owner has opened or closed."""
    memory: Any = publisher._collector
    if people:
        memory.send(people)
    memory.now = now or memory.now
    publisher.look()
    return publisher.view()
