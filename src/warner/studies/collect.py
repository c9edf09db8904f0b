"""How the answers of a study are collected from people: the table ``[collect]``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any

from warner._core.checks import show
from warner._core.text import unreadable
from warner.studies.problems import Found, Problem, broken

ACCESS = ("open", "invited")
KEEP_IDS = ("closed", "always")
PEOPLE = 1000  # planned, where the study does not say
_FEWEST_IN_A_STEP = 50
_STEPS = 100  # a step is 1 % of the planned people, where that is more


@dataclass(frozen=True)
class Collect:
    """How answers are collected, with the defaults filled in.

    Attributes:
        people: n, the planned number of people.
        opens: when the survey opens, with its offset from UTC; None: as soon as it is served.
        closes: when it closes; None: when its owner closes it.
        step: B, the number of reports after which a new result is published.
        access: "open" to everyone with the address, or "invited" by a code that works once; None
            where the study does not say, which cannot be served.
        contact: whom people can ask, "" where the study does not say.
        keep_ids: "closed": the ids that tell repeats are dropped when the survey closes;
            "always": they are kept.
        weak_protection: whether reports may tell more than odds of 22,027, which is epsilon 10, of
            any two answers. The survey page then says so.

    >>> Collect.of({"people": 20_000}).step, Collect.of({}).step, Collect.of({"people": 10}).step
    (200, 50, 10)
    """

    people: int = PEOPLE
    opens: datetime | None = None
    closes: datetime | None = None
    step: int = _FEWEST_IN_A_STEP
    access: str | None = None
    contact: str = ""
    keep_ids: str = "closed"
    weak_protection: bool = False

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> Collect:
        """The table of a study, which was checked.

        Args:
            table: ``[collect]``; {} where the study has none.
        """
        stated = {key: value for key, value in table.items() if value is not None}
        for key in ("opens", "closes"):
            if key in stated:  # a text, where the study was JSON
                stated[key] = _moment(stated[key])
        people = stated.get("people", PEOPLE)
        usual = min(people, max(_FEWEST_IN_A_STEP, math.ceil(people / _STEPS)))
        return cls(**{"step": usual, **stated})


def collect_problems(table: Any) -> list[Problem]:
    """Everything that is wrong with the table, beyond its types, which the schema checks."""
    found = Found()
    if not isinstance(table, Mapping):
        return []
    moments = {key: _checked(key, table.get(key), found) for key in ("opens", "closes")}
    opens, closes = moments["opens"], moments["closes"]
    if opens is not None and closes is not None and opens >= closes:
        rule = f"must be later than opens, {opens.isoformat()}"
        found.keep(broken(("collect", "closes"), rule, closes.isoformat()).problems)
    people, step = _count(table.get("people", PEOPLE)), _count(table.get("step"))
    if people is not None and step is not None and step > people >= 1:
        rule = f"must be at most people, {people:,}; otherwise no result is ever published"
        found.keep(broken(("collect", "step"), rule, f"{step:,}").problems)
    contact = table.get("contact")
    if isinstance(contact, str) and (strange := unreadable(contact)) is not None:
        rule, remedy = f"must be one line, without {strange}", "Use printable characters"
        found.keep(broken(("collect", "contact"), rule, None, remedy).problems)
    return found.problems


def _count(value: Any) -> int | None:
    """A number of people; None for what the schema refuses."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _checked(key: str, value: Any, found: Found) -> datetime | None:
    """The moment that the file states; None where it states none, or none that can be used."""
    if value is None:
        return None
    moment = None
    if isinstance(value, str | datetime):
        moment = _moment(value)
    if moment is not None and moment.utcoffset() is not None:
        return moment
    rule = "must be a date and a time with an offset from UTC"
    got = value.isoformat() if isinstance(value, date | time) else show(value)
    remedy = f"It is written {key} = 2026-05-31T18:00:00+02:00, without quotes"
    found.keep(broken(("collect", key), rule, got, remedy).problems)
    return None


def _moment(value: str | datetime) -> datetime | None:
    """The moment that a value states; None for a text that is none."""
    if isinstance(value, datetime):
        return value
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return None
