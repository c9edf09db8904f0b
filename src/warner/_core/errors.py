"""The errors that warner raises on purpose.

WarnerError
├── ArgumentError (ValueError)          an argument breaks a rule
│   ├── BudgetError                     epsilon or another privacy parameter
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

and the warning

MethodWarning (UserWarning)             a method that is advised against for these reports

Every message has the form "name: rule; got ... . Remedy." Parameters are shown by value. A person's
answer is shown by its position and kind alone, because messages end up in logs.
"""

from __future__ import annotations

from warner._core.text import visible


def message(name: str, rule: str, got: str | None = None, remedy: str | None = None) -> str:
    """Return a message in the form ``name: rule; got this. Remedy.``

    Parts may come from files of others, so characters that screens cannot show are escaped.

    Args:
        name: the argument, file or place that breaks a rule.
        rule: the rule.
        got: the value or its kind, where that helps.
        remedy: an action that helps the caller.

    >>> message("n", "must be positive", "-1", "Pass the number of people")
    'n: must be positive; got -1. Pass the number of people.'
    """
    text = f"{name}: {rule}"
    if got is not None:
        text += f"; got {got}"
    return visible(
        f"{text}." + (f" {remedy}" + ("" if remedy.endswith("?") else ".") if remedy else "")
    )


class WarnerError(Exception):
    """Base of every error that warner raises on purpose."""


class ArgumentError(WarnerError, ValueError):
    """An argument breaks the rule that the message states."""


class BudgetError(ArgumentError):
    """A privacy parameter for which no mechanism exists."""


class ValuesError(ArgumentError):
    """An answer outside the domain; the message has its position and kind, never the answer.

    Attributes:
        position: the position of the first such answer, from 0.
    """

    def __init__(
        self,
        position: int,
        rule: str,
        got: str,
        remedy: str | None = None,
        where: str = "values: position",
    ) -> None:
        super().__init__(message(f"{where} {position}", rule, got, remedy))
        self.position = position
        self._parts = (rule, got, remedy)

    def moved(self, where: str, offset: int) -> ValuesError:
        """Return the same error, with its position counted from the start of a larger input.

        Answers are checked in batches. The error of a batch knows the position in the batch alone.

        Args:
            where: the name of the larger input, such as ``"answers.csv: row"``.
            offset: the number of answers before the batch, which is added to the position.
        """
        rule, got, remedy = self._parts
        return ValuesError(self.position + offset, rule, got, remedy, where)


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
