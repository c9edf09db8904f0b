"""What those who operate a collector ask of it: whether it collects, and how its store is.

Of people there is only what the live page says too: how many are counted, and how many of them are
published. The minute of the last report is known to a server that runs; no store keeps it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from warner._core.text import visible
from warner.collector.collector import Collector
from warner.collector.deployment_card import software_version
from warner.collector.live.publisher import FACT, LivePublisher
from warner.collector.live.state import Step
from warner.studies.study import Study


@dataclass(frozen=True)
class Deed:
    """Something that an owner did."""

    when: str  # a minute of UTC
    what: str  # "opened", "closed" or "copied"
    by: str  # whose token was used, "" for that of the owner


@dataclass(frozen=True)
class Status:
    """The state of a collector."""

    survey: str  # "open", "closed" or "not_open"
    changed: Deed | None  # when it was opened or closed by hand or by its date, the last time
    people: int  # who are counted
    published: int  # of them, in the last published step
    simulated: bool  # whether a program made their reports
    planned: int | None  # as the study states it; None where it does not
    refused: Mapping[str, int]  # {reason: requests}
    last_report: str | None  # a minute of UTC; None where it is not known
    copied: Deed | None  # the last backup of a file
    engine: str
    store_bytes: int
    free_bytes: int | None  # on its disk; None where it is not seen from here
    servers: int  # and other processes that have the store open
    version: str
    is_estimating: bool = False  # whether the next result is being computed

    def to_json(self) -> str:
        """The state as JSON."""
        return json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: bytes) -> Status:
        """The state that :meth:`to_json` wrote; ValueError, TypeError or LookupError where none."""
        data: dict[str, Any] = json.loads(text)
        numbers = {
            name: int(data[name]) for name in ("people", "published", "store_bytes", "servers")
        }
        free = None if data["free_bytes"] is None else int(data["free_bytes"])
        # An older collector does not say these, or what is planned.
        flags = {name: bool(data.get(name, False)) for name in ("simulated", "is_estimating")}
        planned = None if data.get("planned") is None else int(data["planned"])
        deeds = {
            name: None if data[name] is None else Deed(**{k: str(v) for k, v in data[name].items()})
            for name in ("changed", "copied")
        }
        refused = {str(name): int(count) for name, count in data["refused"].items()}
        last = None if data["last_report"] is None else str(data["last_report"])
        texts = {name: str(data[name]) for name in ("survey", "engine", "version")}
        more: dict[str, Any] = {**numbers, **texts, **deeds, **flags, "planned": planned}
        return cls(**more, refused=refused, last_report=last, free_bytes=free)

    def lines(self) -> Iterator[str]:
        """The state as a person reads it."""
        # A stranger's server may have written the texts.
        for name, text in self._rows():
            yield f"{name:13}{visible(text)}"

    def _rows(self) -> Iterator[tuple[str, str]]:
        survey, changed = self.survey.replace("_", " "), self.changed
        if changed is not None:
            before = "" if changed.what == survey else f"{survey}, "
            survey = f"{before}{changed.what} {_said(changed)}"
        yield "Survey", survey
        planned = "" if self.planned is None else f", {self.planned:,} planned"
        counted = "counted (simulated)" if self.simulated else "counted"
        people = f"{self.people:,} {counted}, {self.published:,} in published results"
        yield "People", people + planned
        unknown = "not known: no report came since this server started"
        yield "Last report", unknown if self.last_report is None else f"{self.last_report} UTC"
        reasons = ", ".join(f"{n:,} {name}" for name, n in self.refused.items()) or "no requests"
        yield "Refused", reasons + " (the last minute may be missing)" * (self.servers > 0)
        is_file = self.engine == "SQLite"
        unseen = "not known: warner cannot see copies that pg_dump made"
        none = "none was made" if is_file else unseen
        yield "Backup", none if self.copied is None else _said(self.copied)
        free = "" if self.free_bytes is None else f"; {_size(self.free_bytes)} free on its disk"
        yield "Store", f"{self.engine}, {_size(self.store_bytes)}{free}"
        yield "Open in", f"{self.servers} process{'' if self.servers == 1 else 'es'}"
        yield "Version", f"warner {self.version}"


def _said(deed: Deed) -> str:
    by = {"": "by the owner's token", "its date": "by its date"}
    return f"{deed.when} UTC, {by.get(deed.by, f'by the token of {deed.by}')}"


def _size(count: float) -> str:
    """A number of bytes as a person reads it.

    >>> _size(999), _size(61_440), _size(2.5e9)
    ('999 B', '61.4 kB', '2.5 GB')
    """
    units = ["B", "kB", "MB", "GB", "TB"]
    while count >= 1000 and len(units) > 1:
        count /= 1000
        units.pop(0)
    return f"{count:.0f} B" if units[0] == "B" else f"{count:.1f} {units[0]}"


def status_of(study: Study, collector: Collector, live: LivePublisher | None = None) -> Status:
    """The state of a study's collector; ``live`` is its live page, where a server runs."""
    if live is None:
        step = collector.remembered(FACT)
        published = 0 if step is None else Step.from_bytes(step).n
        people, refused, last = collector.n, collector.state().rejects, None
        is_estimating = False
    else:
        view, last = live.view(), live.last_report
        people, published, refused = view.counted, view.n, view.rejects
        # Of groups, people may wait although they are as many as a step.
        is_due = not view.fewest and people - published >= view.size
        is_estimating = view.is_estimating or is_due
    store = collector.about_store()
    done = [Deed(*each) for each in collector.record]
    changed = [deed for deed in done if deed.what in ("closed", "opened")]
    copied = [deed for deed in done if deed.what == "copied"]
    return Status(
        survey=collector.status(),
        changed=changed[-1] if changed else None,
        people=people,
        published=published,
        simulated=collector.is_simulated,
        planned=study.collect.planned,
        refused=dict(refused),
        last_report=last,
        copied=copied[-1] if copied else None,
        engine=store.engine,
        store_bytes=store.size,
        free_bytes=store.free_bytes,
        servers=store.others + (live is not None),
        version=software_version(),
        is_estimating=is_estimating,
    )
