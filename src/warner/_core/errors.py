"""The errors that warner raises on purpose.

WarnerError
├── ArgumentError (ValueError)          an argument breaks a rule
│   ├── BudgetError                     epsilon or another privacy parameter
│   ├── MemoFullError                   a device that reported on as many values as it may
│   └── ValuesError                     a person's answer: position and kind, never the value
├── ArgumentTypeError (TypeError)       an argument has the wrong type
├── ReportError (ValueError)            reports that the mechanism cannot have sent
│   └── ImpossibleReportError           a report with probability zero under the model
├── MismatchError (ValueError)          objects that do not belong together
├── FileError (ValueError)              a file that is truncated, altered or in another format
├── StudyError (ValueError)             a study file that breaks a rule
├── IdentifiabilityError (ValueError)   the reports do not determine the result
├── EmptyError (ValueError)             no data
└── MissingExtraError (ImportError)     an optional dependency is not installed

and the warnings

MethodWarning (UserWarning)             a method that is advised against for these reports
FrameWarning (UserWarning)              reports of unknown origin, or perhaps counted twice;
                                        numbers that perhaps have another unit than the study
SmallGroupWarning (UserWarning)         groups so small that they can point at a person

Every message has the form "name: rule; got ... . Remedy." Parameters are shown by value. A person's
answer is shown by its position and kind alone, because messages end up in logs.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from warner._core.text import in_one_line, visible

if TYPE_CHECKING:
    import numpy as np

MOST_POSITIONS = 20  # in one message


def message(name: str, rule: str, got: str | None = None, remedy: str | None = None) -> str:
    """Return a message in the form ``name: rule; got this. Remedy.``

    Parts may come from files of others, so characters that screens cannot show are escaped. In a
    name line ends are escaped too.

    >>> message("n", "must be positive", "-1", "Pass the number of people")
    'n: must be positive; got -1. Pass the number of people.'
    """
    text = f"{in_one_line(name)}: {rule}"
    if got is not None:
        text += f"; got {got}"
    return visible(
        f"{text}." + (f" {remedy}" + ("" if remedy.endswith("?") else ".") if remedy else "")
    )


class WarnerError(Exception):
    """Base of every error that warner raises on purpose.

    Args:
        name: the argument, file or place that breaks a rule; without a rule, the whole message.
        rule: the rule.
        got: the value or its kind, where that helps.
        remedy: an action that helps the caller.

    >>> raise ArgumentError("n", "must be positive", "-1", "Pass the number of people")
    Traceback (most recent call last):
    warner._core.errors.ArgumentError: n: must be positive; got -1. Pass the number of people.
    """

    def __init__(
        self, name: str, rule: str | None = None, got: str | None = None, remedy: str | None = None
    ) -> None:
        # A copy of an error, as from another process, is made of its whole message.
        super().__init__(name if rule is None else message(name, rule, got, remedy))


class ArgumentError(WarnerError, ValueError):
    """An argument breaks the rule that the message states."""


class BudgetError(ArgumentError):
    """A privacy parameter for which no mechanism exists."""


class MemoFullError(ArgumentError):
    """A device that has reported on as many different values as it may, and is given another."""


class ValuesError(ArgumentError):
    """Answers outside the domain; the message has positions and kinds, never an answer.

    Attributes:
        position: the position of the first such answer, from 0; in a table its data row, from 1.
        positions: the first 20 positions at which the same rule is broken, as far as was looked.
        count: the number of all of them.
        where: the name of the input, such as ``"values: position"``.
        others: the errors of other rules or other columns, which the message has too.
    """

    def __init__(
        self,
        position: int,
        rule: str,
        got: str,
        remedy: str | None = None,
        where: str = "values: position",
        more: Sequence[int] | np.ndarray = (),
        count: int | None = None,
    ) -> None:
        self.count = 1 + len(more) if count is None else count
        self.positions = (position, *(int(other) for other in more[: MOST_POSITIONS - 1]))
        self.position, self.where = position, where
        self.others: tuple[ValuesError, ...] = ()
        self._parts = (rule, got, remedy)
        text = message(f"{where} {position}", rule, got, remedy)
        super().__init__(f"{text}{_listed(where, self.positions[1:], self.count - 1)}")

    def __reduce__(self) -> tuple[Any, ...]:
        more = self.positions[1:]
        arguments = (self.position, *self._parts, self.where, more, self.count)
        return (ValuesError, arguments, vars(self) | {"args": self.args})

    @property
    def rule(self) -> tuple[str, str, str]:
        """The input, the rule and the kind of answer: errors alike in these can be joined."""
        return (self.where, *self._parts[:2])

    def reindexed(self, places: Any) -> ValuesError:
        """Return the same error, with positions among more answers than were checked.

        Args:
            places: the position among all answers of each answer that was checked.
        """
        return self._at([int(places[i]) for i in self.positions], self.where).with_other_errors(
            [other.reindexed(places) for other in self.others]
        )

    def offset_by(self, where: str, offset: int) -> ValuesError:
        """Return the same error, with its positions counted from the start of a larger input.

        Answers are checked in batches. The error of a batch knows positions in the batch alone.

        Args:
            where: the name of the larger input, such as ``"answers.csv: row"``.
            offset: the number of answers before the batch, which is added to the positions.
        """
        return self._at([i + offset for i in self.positions], where).with_other_errors(
            [other.offset_by(where, offset) for other in self.others]
        )

    def merged_with(self, other: ValuesError) -> ValuesError:
        """Return the error of two parts of one input, with the positions of both."""
        return self._at([*self.positions, *other.positions], self.where, self.count + other.count)

    def with_other_errors(self, others: Sequence[ValuesError]) -> ValuesError:
        """Return this error alone, with ``others`` in its message instead, one in a line."""
        error = self._at(self.positions, self.where)
        if others:
            error.others = tuple(others)
            error.args = ("\n".join(map(str, (error, *others))),)
        return error

    def _at(self, positions: Sequence[int], where: str, count: int | None = None) -> ValuesError:
        """This error, without others, at other positions."""
        rule, got, remedy = self._parts
        count = self.count if count is None else count
        return ValuesError(positions[0], rule, got, remedy, where, positions[1:], count)


def _listed(where: str, more: Sequence[int], count: int) -> str:
    """The sentence on further positions where the same rule is broken."""
    if not count:
        return ""
    noun = where.rpartition(":")[2].rpartition(",")[2].strip()
    shown = ", ".join(map(str, more)) + (", ..." if count > len(more) else "")
    return f" The same error is in {count:,} more {noun}{'s' * (count > 1)}: {shown}."


class ArgumentTypeError(WarnerError, TypeError):
    """An argument has the wrong type."""


class ReportError(WarnerError, ValueError):
    """Reports that the mechanism cannot have sent."""


class ImpossibleReportError(ReportError):
    """A report that has probability zero whatever the true value is."""


class MismatchError(WarnerError, ValueError):
    """Reports, tallies or mechanisms that cannot be combined, such as those of two domains."""


class FileError(WarnerError, ValueError):
    """A file that is truncated, altered, or not in the format expected."""


class StudyError(WarnerError, ValueError):
    """A study file that breaks a rule."""


class IdentifiabilityError(WarnerError, ValueError):
    """The reports do not determine the requested result."""


class EmptyError(WarnerError, ValueError):
    """There are no data."""


class MissingExtraError(WarnerError, ImportError):
    """An optional dependency is not installed."""


class MethodWarning(UserWarning):
    """A method that is advised against for the reports or the domain; it names a better one."""


class FrameWarning(UserWarning):
    """Data that may not be what they should be, such as reports that may be counted twice."""


class SmallGroupWarning(UserWarning):
    """Groups of people by public columns that are so small that they can point at a person."""


def warn(text: str, category: type[UserWarning]) -> None:
    """Warn of the line that called this package, however deep inside it that was noticed."""
    level, here = 2, sys._getframe(1)
    while here.f_globals.get("__name__", "").startswith("warner.") and here.f_back is not None:
        level, here = level + 1, here.f_back
    warnings.warn(text, category, level)
