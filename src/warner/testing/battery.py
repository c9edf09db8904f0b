"""Properties that are checked one after the other, and what was found."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from warner._core.errors import WarnerError
from warner._core.progress import steps


class Broken(Exception):
    """A property does not hold; the text says how far it is from holding."""


class NotApplicable(Exception):
    """A property says nothing here; the text says why."""


@dataclass(frozen=True)
class Finding:
    """One property of a mechanism or of an estimator.

    Attributes:
        property: the property in words.
        holds: whether it holds; None where it does not apply.
        finding: what was measured, how far off it is, or why it does not apply.
    """

    property: str
    holds: bool | None
    finding: str

    def __str__(self) -> str:
        mark = {True: "holds", False: "FAILS", None: "does not apply"}[self.holds]
        return f"{self.property}: {mark}; {self.finding}"


@dataclass(frozen=True)
class Checked:
    """The properties that were checked.

    Attributes:
        subject: the mechanism or the estimator, as its repr.
        findings: one for each property, in the order in which they were checked.
    """

    subject: str
    findings: tuple[Finding, ...]

    @property
    def failures(self) -> tuple[Finding, ...]:
        """The properties that do not hold."""
        return tuple(each for each in self.findings if each.holds is False)

    def rows(self) -> list[dict[str, Any]]:
        """One dict for each property: ``property``, ``holds`` and ``finding``."""
        return [vars(each).copy() for each in self.findings]

    def __str__(self) -> str:
        return "\n".join([self.subject, *(f"  {each}" for each in self.findings)])


class PropertyError(AssertionError):
    """Properties that do not hold, each with how far it is from holding.

    Attributes:
        checked: all findings.
    """

    def __init__(self, checked: Checked) -> None:
        failed = "\n".join(f"  {each}" for each in checked.failures)
        count = f"{len(checked.failures)} of {len(checked.findings)} properties fail"
        super().__init__(f"{checked.subject}: {count}.\n{failed}")
        self.checked = checked


Property = tuple[str, Callable[[], str]]
"""A property in words, and a function that returns what it measured, or raises Broken."""


def checked(subject: str, properties: Iterable[Property]) -> Checked:
    """Check properties one after the other; one that fails does not stop the others."""
    found = Checked(subject, tuple(_finding(*each) for each in steps(list(properties), "checking")))
    if found.failures:
        raise PropertyError(found)
    return found


def _finding(name: str, check: Callable[[], str]) -> Finding:
    try:
        return Finding(name, True, check())
    except NotApplicable as reason:
        return Finding(name, None, str(reason))
    except Broken as problem:
        return Finding(name, False, str(problem))
    except WarnerError as problem:
        return Finding(name, False, f"refused: {problem}")
    except Exception as problem:  # of somebody's own code
        return Finding(name, False, f"raised {type(problem).__name__}: {problem}")


def require(holds: bool, otherwise: str) -> None:
    """Raise Broken with a text unless a condition holds."""
    if not holds:
        raise Broken(otherwise)
