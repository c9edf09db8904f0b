"""Every error that warner raises on purpose. All are refinements of :class:`WarnerError`.

It warns by :class:`MethodWarning`, :class:`FrameWarning` and :class:`SmallGroupWarning` alone.

WarnerError
  ArgumentError (ValueError)          an argument breaks a rule
    BudgetError                       a privacy parameter cannot be honoured
    MemoFullError                     a device reported on as many values as it may
    ValuesError                       an answer lies outside the domain
  ArgumentTypeError (TypeError)       an argument has the wrong type
  ReportError (ValueError)            the mechanism cannot have sent these reports
    ImpossibleReportError             a report has probability zero for every true value
  MismatchError (ValueError)          things that do not belong together
  FileError (ValueError)              a file is cut off, altered or in another format
  StudyError (ValueError)             a study file breaks a rule
  IdentifiabilityError (ValueError)   the reports do not determine what was asked for
  EmptyError (ValueError)             there is nothing to work on
  MissingExtraError (ImportError)     an optional dependency is not installed
"""

from __future__ import annotations

from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    BudgetError,
    EmptyError,
    FileError,
    FrameWarning,
    IdentifiabilityError,
    ImpossibleReportError,
    MemoFullError,
    MethodWarning,
    MismatchError,
    MissingExtraError,
    ReportError,
    SmallGroupWarning,
    StudyError,
    ValuesError,
    WarnerError,
)

__all__ = [
    "ArgumentError",
    "ArgumentTypeError",
    "BudgetError",
    "EmptyError",
    "FileError",
    "FrameWarning",
    "IdentifiabilityError",
    "ImpossibleReportError",
    "MemoFullError",
    "MethodWarning",
    "MismatchError",
    "MissingExtraError",
    "ReportError",
    "SmallGroupWarning",
    "StudyError",
    "ValuesError",
    "WarnerError",
]
