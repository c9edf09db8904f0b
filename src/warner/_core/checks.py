"""Checks of arguments."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np

from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    BudgetError,
    WarnerError,
    message,
)
from warner._core.text import unreadable


def show(value: Any) -> str:
    """A parameter for a message: its value, shortened, and its type where that is the point."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def legible(name: str, text: str) -> str:
    """``text``, a label or a name, if every page, picture and terminal can show it."""
    if (found := unreadable(text)) is not None:
        raise ArgumentError(
            message(name, f"must not hold {found}", show(text), "Write it in printable characters")
        )
    return text


def integer(
    name: str, value: Any, low: int, high: int | None = None, remedy: str | None = None
) -> int:
    """``value`` as an int within [low, high]; booleans and floats are refused."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Integral):
        raise ArgumentTypeError(
            message(name, "must be an integer", f"{show(value)} ({kind(value)})", remedy)
        )
    number = int(value)
    if number < low or (high is not None and number > high):
        rule = f"must be at least {low}" if high is None else f"must lie in {low}..{high}"
        raise ArgumentError(message(name, rule, show(number), remedy))
    return number


def real(name: str, value: Any, remedy: str | None = None) -> float:
    """``value`` as a finite float; booleans, strings and NaN are refused."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        raise ArgumentTypeError(
            message(name, "must be a number", f"{show(value)} ({kind(value)})", remedy)
        )
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
        raise ArgumentTypeError(
            message(
                name,
                "must be a number (nats)",
                f"{show(value)} ({kind(value)})",
                "Pass a positive number such as 1.0",
            )
        )
    number = as_float(value)
    if math.isnan(number) or number <= 0:
        raise BudgetError(
            message(
                name, "must be greater than 0", show(number), "Pass a positive number such as 1.0"
            )
        )
    if math.isinf(number) and value != number:  # a huge integer: not what is meant by no protection
        raise BudgetError(
            message(
                name, "is beyond every float", show(value), "Pass a positive number such as 1.0"
            )
        )
    if math.isinf(number) and not infinite:
        raise BudgetError(
            message(
                name,
                "must be finite for this mechanism",
                "inf",
                "RandomizedResponse is the one that allows no protection",
            )
        )
    return number


def choice(name: str, value: Any, allowed: tuple[Any, ...]) -> Any:
    """``value`` if it is one of ``allowed``."""
    if not any(value is item or (type(value) is type(item) and value == item) for item in allowed):
        raise ArgumentError(
            message(name, f"must be one of {', '.join(map(repr, allowed))}", show(value))
        )
    return value


def numbers_of(name: str, value: Any, rule: str = "must be an array of numbers") -> np.ndarray:
    """``value`` as a float array; masked entries and complex numbers are refused, because the mask and the imaginary part would be lost."""
    try:
        if np.ma.is_masked(value):
            raise ArgumentError(
                message(
                    name, "must have no masked entries", None, "Fill them in, or leave them out"
                )
            )
        array = np.asarray(value)
        if array.dtype.kind == "c":
            raise ArgumentTypeError(
                message(
                    name,
                    "must have real entries",
                    "complex numbers",
                    "Pass the real part if that is meant",
                )
            )
        return np.array(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        if isinstance(error, WarnerError):
            raise
    raise ArgumentTypeError(message(name, rule, kind(value)))


def distribution(
    name: str, value: Any, size: int | None = None, tolerance: float = 1e-9
) -> np.ndarray:
    """``value`` as a float array (K,) on the simplex: entries >= 0 that sum to 1 within ``tolerance``."""
    array = numbers_of(name, value)
    if array.ndim != 1 or (size is not None and array.size != size):
        raise ArgumentError(
            message(name, f"must have shape ({'K' if size is None else size},)", str(array.shape))
        )
    if not np.isfinite(array).all() or (array < 0).any() or abs(array.sum() - 1) > tolerance:
        raise ArgumentError(
            message(
                name, "must be a distribution: entries >= 0 that sum to 1", f"sum {array.sum():.6g}"
            )
        )
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
