"""Argument checks and the errors of warner, in one message form.

WarnerError
├── ArgumentError (ValueError)          an argument breaks a rule
│   ├── BudgetError                     epsilon or another privacy parameter
│   └── ValuesError                     a person's answer: position and kind, never the value
├── ArgumentTypeError (TypeError)       an argument has the wrong type
├── ReportError (ValueError)            reports that the mechanism cannot have sent
│   └── ImpossibleReportError           a report with probability zero under the model
├── MismatchError (ValueError)          things that do not belong together
├── FileError (ValueError)              a file that is not whole, not ours or not unaltered
├── StudyError (ValueError)             a study file that breaks a rule
├── IdentifiabilityError (ValueError)   the reports do not determine what was asked for
├── EmptyError (ValueError)             nothing to work on
└── MissingExtraError (ImportError)     an optional dependency is not installed

Every message reads "name: rule; got ... . Remedy." Parameters are shown by value. A person's answer never is:
messages end up in logs.
"""

from __future__ import annotations

import math
import numbers
import re
from typing import Any

import numpy as np


class WarnerError(Exception):
    """Base of every error that warner raises on purpose."""


class ArgumentError(WarnerError, ValueError):
    """An argument breaks the rule that the message states."""


class BudgetError(ArgumentError):
    """A privacy parameter that cannot be honoured."""


class ValuesError(ArgumentError):
    """An answer outside the domain; the message gives its position and kind, never the answer.

    Attributes:
        position: of the first such answer, from 0.
    """

    def __init__(self, position: int, rule: str, got: str, remedy: str | None = None, where: str = "values: position") -> None:
        super().__init__(message(f"{where} {position}", rule, got, remedy))
        self.position = position
        self._parts = (rule, got, remedy)

    def moved(self, where: str, offset: int) -> ValuesError:
        """The same error at another place: ``where`` names it, ``offset`` is added to the position."""
        rule, got, remedy = self._parts
        return ValuesError(self.position + offset, rule, got, remedy, where)


class ArgumentTypeError(WarnerError, TypeError):
    """An argument has the wrong type."""


class ReportError(WarnerError, ValueError):
    """Reports that the mechanism cannot have sent."""


class ImpossibleReportError(ReportError):
    """A report that has probability zero whatever the true value is."""


class MismatchError(WarnerError, ValueError):
    """Reports, tallies or mechanisms that do not belong together."""


class FileError(WarnerError, ValueError):
    """A file that is truncated, altered, or not in the format expected."""


class StudyError(WarnerError, ValueError):
    """A study file that breaks a rule."""


class IdentifiabilityError(WarnerError, ValueError):
    """The reports do not determine what was asked for."""


class EmptyError(WarnerError, ValueError):
    """There is nothing to work on."""


class MissingExtraError(WarnerError, ImportError):
    """An optional dependency is not installed."""


def message(name: str, rule: str, got: str | None = None, remedy: str | None = None) -> str:
    """The one message form: ``name: rule; got this. Remedy.`` Parts may come from foreign files, so it is made :func:`visible`.

    >>> message("n", "must be positive", "-1", "Pass the number of people")
    'n: must be positive; got -1. Pass the number of people.'
    """
    text = f"{name}: {rule}"
    if got is not None:
        text += f"; got {got}"
    return visible(f"{text}." + (f" {remedy}" + ("" if remedy.endswith("?") else ".") if remedy else ""))


def show(value: Any) -> str:
    """A parameter for a message: its value, shortened, and its type where that is the point."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


# Characters that no page, picture or terminal shows as text: control characters (C0, DEL, C1), separators of lines and paragraphs,
# marks that turn the direction of text, halves of surrogate pairs, and code points that are no characters. The list is written
# out, so that it is the same with every version of Python's Unicode tables.
_UNREADABLE = re.compile(
    "[\\x00-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff\\ufdd0-\\ufdef"
    + "".join(chr(plane << 16 | last) for plane in range(17) for last in (0xFFFE, 0xFFFF))
    + "]"
)


def unreadable(text: str) -> str | None:
    """What ``text`` must not hold and holds, in words for a message; None where every character may be shown.

    >>> unreadable("<b>plain</b>"), unreadable("a\\x1b[2J")
    (None, 'the control character U+001B')
    """
    found = _UNREADABLE.search(text)
    if found is None:
        return None
    point = ord(found[0])
    if point < 0xA0:
        sort = "control character"
    elif 0xD800 <= point < 0xE000:
        sort = "surrogate"
    elif point >= 0xFDD0:
        sort = "noncharacter"
    else:
        sort = "line separator" if point in (0x2028, 0x2029) else "direction mark"
    return f"the {sort} U+{point:04X}"


def legible(name: str, text: str) -> str:
    """``text``, a label or a name, if every page, picture and terminal can show it."""
    if (found := unreadable(text)) is not None:
        raise ArgumentError(message(name, f"must not hold {found}", show(text), "Write it in printable characters"))
    return text


def visible(text: str) -> str:
    """``text`` for a screen: what :func:`unreadable` names is written as an escape. Line ends stay.

    >>> visible("a\\x1b[2J\\n")
    'a\\\\x1b[2J\\n'
    """
    return _UNREADABLE.sub(lambda found: found[0] if found[0] == "\n" else found[0].encode("unicode_escape").decode(), text)


def integer(name: str, value: Any, low: int, high: int | None = None, remedy: str | None = None) -> int:
    """``value`` as an int within [low, high]; booleans and floats are refused."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Integral):
        raise ArgumentTypeError(message(name, "must be an integer", f"{show(value)} ({kind(value)})", remedy))
    number = int(value)
    if number < low or (high is not None and number > high):
        rule = f"must be at least {low}" if high is None else f"must lie in {low}..{high}"
        raise ArgumentError(message(name, rule, show(number), remedy))
    return number


def real(name: str, value: Any, remedy: str | None = None) -> float:
    """``value`` as a finite float; booleans, strings and NaN are refused."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        raise ArgumentTypeError(message(name, "must be a number", f"{show(value)} ({kind(value)})", remedy))
    number = as_float(value)
    if not math.isfinite(number):
        raise ArgumentError(message(name, "must be finite", show(number), remedy))
    return number


def as_float(value: Any) -> float:
    """float(value), infinite where an integer is beyond every float."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def probability(name: str, value: Any) -> float:
    """``value`` as a float strictly between 0 and 1."""
    number = real(name, value)
    if not 0 < number < 1:
        raise ArgumentError(message(name, "must lie strictly between 0 and 1", show(number)))
    return number


def budget(value: Any, name: str = "epsilon", infinite: bool = False) -> float:
    """``value`` as a privacy budget in nats: a positive number, infinite only where that is allowed."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        raise ArgumentTypeError(message(name, "must be a number (nats)", f"{show(value)} ({kind(value)})", "Pass a positive number such as 1.0"))
    number = as_float(value)
    if math.isnan(number) or number <= 0:
        raise BudgetError(message(name, "must be greater than 0", show(number), "Pass a positive number such as 1.0"))
    if math.isinf(number) and value != number:  # a huge integer: not what is meant by no protection
        raise BudgetError(message(name, "is beyond every float", show(value), "Pass a positive number such as 1.0"))
    if math.isinf(number) and not infinite:
        raise BudgetError(message(name, "must be finite for this mechanism", "inf", "RandomizedResponse is the one that allows no protection"))
    return number


def choice(name: str, value: Any, allowed: tuple[Any, ...]) -> Any:
    """``value`` if it is one of ``allowed``."""
    if not any(value is item or (type(value) is type(item) and value == item) for item in allowed):
        raise ArgumentError(message(name, f"must be one of {', '.join(map(repr, allowed))}", show(value)))
    return value


def numbers_of(name: str, value: Any, rule: str = "must be an array of numbers") -> np.ndarray:
    """``value`` as a float array; masked entries and complex numbers are refused, because the mask and the imaginary part would be lost."""
    try:
        if np.ma.is_masked(value):
            raise ArgumentError(message(name, "must have no masked entries", None, "Fill them in, or leave them out"))
        array = np.asarray(value)
        if array.dtype.kind == "c":
            raise ArgumentTypeError(message(name, "must have real entries", "complex numbers", "Pass the real part if that is meant"))
        return np.array(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        if isinstance(error, WarnerError):
            raise
    raise ArgumentTypeError(message(name, rule, kind(value)))


def distribution(name: str, value: Any, size: int | None = None, tolerance: float = 1e-9) -> np.ndarray:
    """``value`` as a float array (K,) on the simplex: entries >= 0 that sum to 1 within ``tolerance``."""
    array = numbers_of(name, value)
    if array.ndim != 1 or (size is not None and array.size != size):
        raise ArgumentError(message(name, f"must have shape ({'K' if size is None else size},)", str(array.shape)))
    if not np.isfinite(array).all() or (array < 0).any() or abs(array.sum() - 1) > tolerance:
        raise ArgumentError(message(name, "must be a distribution: entries >= 0 that sum to 1", f"sum {array.sum():.6g}"))
    return array


def kind(value: Any) -> str:
    """What sort of thing a value is, in words that give nothing of the value away.

    >>> kind(None), kind("secret"), kind(float("nan")), kind(-3)
    ('None', 'a string', 'NaN', 'an integer')
    """
    if value is None:
        return "None"
    if isinstance(value, bool | np.bool_):
        return "a boolean"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, bytes):
        return "bytes"
    if isinstance(value, numbers.Integral):
        return "an integer"
    if isinstance(value, numbers.Real):
        return "NaN" if math.isnan(value) else "a number"
    return f"a {type(value).__name__}"
