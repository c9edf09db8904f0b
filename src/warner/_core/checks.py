"""Checks of arguments, which return the argument in one type or raise an error."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    BudgetError,
    WarnerError,
)
from warner._core.foreign_tables import index_of, names_rows
from warner._core.text import meant, unreadable


def show(value: Any) -> str:
    """Return the ``repr`` of a parameter for a message, at most 60 characters long."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _with_kind(value: Any) -> str:
    """A parameter of a wrong type for a message: 'None', or its text and its kind."""
    return "None" if value is None else f"{show(value)} ({kind(value)})"


def legible(name: str, text: str) -> str:
    """Return a label or a name, refused where a page or a terminal cannot show it."""
    if (character := unreadable(text)) is not None:
        raise ArgumentError(
            name, f"must not contain {character}", show(text), "Remove that character"
        )
    return text


def integer(
    name: str, value: Any, low: int, high: int | None = None, remedy: str | None = None
) -> int:
    """Return ``value`` as an int within [low, high]; booleans and floats are refused."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Integral):
        whole = isinstance(value, float) and value.is_integer()
        written = f"Write {int(value):_}" if whole else remedy
        raise ArgumentTypeError(name, "must be a whole number", _with_kind(value), written)
    number = int(value)
    if number < low or (high is not None and number > high):
        rule = f"must be at least {low}" if high is None else f"must be from {low} to {high}"
        raise ArgumentError(name, rule, show(number), remedy)
    return number


def real(
    name: str,
    value: Any,
    remedy: str | None = None,
    *,
    above: float = -math.inf,
    least: float = -math.inf,
    below: float = math.inf,
    most: float = math.inf,
) -> float:
    """Return ``value`` as a finite float within limits; booleans, strings and NaN are refused."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        raise ArgumentTypeError(name, "must be a number", _with_kind(value), remedy)
    number = as_float(value)
    if not math.isfinite(number):
        raise ArgumentError(name, "must be a finite number", show(number), remedy)
    if not (above < number < below and least <= number <= most):
        limits = {"above": above, "at least": least, "below": below, "at most": most}
        words = [f"{word} {limit:g}" for word, limit in limits.items() if math.isfinite(limit)]
        rule = f"must be {' and '.join(words)}"
        raise ArgumentError(name, rule, repr(number).removesuffix(".0"), remedy)
    return number


def as_float(value: Any) -> float:
    """Return float(value); infinity for an integer beyond the range of floats."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def probability(name: str, value: Any) -> float:
    """Return ``value`` as a float strictly between 0 and 1."""
    number = real(name, value)
    remedy = f"Write {number / 100:g} for {number:g} %" if 1 < number < 100 else None
    return real(name, value, remedy, above=0, below=1)


def confidence_level(value: Any, name: str = "level") -> float:
    """Return the level of an interval or a test as a float in [0.5, 1)."""
    if isinstance(value, str):
        remedy = "For the interval of one value, call result[value].interval()"
        raise ArgumentTypeError(name, "must be a number such as 0.95", show(value), remedy)
    level = real(name, value)
    error_in = level / 100 if 1 <= level <= 50 else level  # of 5 %, or of .05
    if 0 < error_in <= 0.5 and level != 0.5:
        rule = (
            "must be at least 0.5 and below 1, because it is the chance that an interval contains "
            "the true value"
        )
        raise ArgumentError(name, rule, show(level), f"Did you mean {1 - error_in:g}?")
    return probability(name, level)


def budget(value: Any, name: str = "epsilon", infinite: bool = False) -> float:
    """Return ``value`` as a privacy budget in nats."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        remedy = "Pass a positive number such as 1.0"
        raise ArgumentTypeError(name, "must be a number", _with_kind(value), remedy)
    number = as_float(value)
    if math.isnan(number) or number <= 0:
        raise BudgetError(
            name, "must be above 0", show(number), "Pass a positive number such as 1.0"
        )
    # An integer beyond the range of floats does not mean infinity.
    if math.isinf(number) and value != number:
        raise BudgetError(
            name, "is too large to compute with", show(value), "Pass a smaller number, such as 1.0"
        )
    if math.isinf(number) and not infinite:
        rule = "must be a finite number for this mechanism"
        remedy = "To send answers without any protection, use RandomizedResponse with epsilon=inf"
        raise BudgetError(name, rule, "inf", remedy)
    return number


def choice(
    name: str, value: Any, allowed: tuple[Any, ...], elsewhere: Mapping[str, str] | None = None
) -> Any:
    """Return ``value`` if it is one of ``allowed``; ArgumentError otherwise.

    ``elsewhere`` has what to say of words of the literature, by the word in small letters.
    """
    if not any(value is item or (type(value) is type(item) and value == item) for item in allowed):
        # "MSE" is a word of elsewhere only where "mse" is none of the allowed.
        is_other = _is_text(value) and value.lower() not in allowed
        near = (elsewhere or {}).get(value.lower()) if is_other else None
        if near is None and _is_text(value):
            near = meant(value, filter(_is_text, allowed))
        one_of = "one of " if len(allowed) > 1 else ""
        rule = f"must be {one_of}{', '.join(map(repr, allowed))}"
        raise ArgumentError(name, rule, show(value), near)
    return value


def unknown(
    name: str, given: Any, allowed: Iterable[Any], what: str = "", remedy: str | None = None
) -> ArgumentError:
    """The refusal of a name that is not allowed, with the nearest one, or else a remedy."""
    words = [str(word) for word in allowed]
    listed = ", ".join(words)
    rule = f"must be one of {what}: {listed}" if what else f"must be one of {listed}"
    if not words:
        rule = f"must be one of {what}, but there are none"
    return ArgumentError(name, rule, show(given), meant(str(given), words) or remedy)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def array_of(values: Any) -> np.ndarray:
    """``values`` as an array; that of None where lists have other lengths, which has no numbers."""
    try:
        return np.asarray(values)
    except ValueError:
        return np.asarray(None)


def numbers_of(name: str, value: Any, rule: str = "must be an array of numbers") -> np.ndarray:
    """Return ``value`` as a float array; masked entries and complex numbers are refused."""
    try:
        if np.ma.is_masked(value):
            raise ArgumentError(
                name,
                "must have no masked (missing) entries",
                None,
                "Fill in these entries, or leave out their rows",
            )
        array = np.asarray(value)
        if array.dtype.kind == "c":
            raise ArgumentTypeError(
                name,
                "must have real numbers",
                "complex numbers",
                "If only their real parts are meant, pass array.real",
            )
        return np.array(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        if isinstance(error, WarnerError):
            raise
    raise ArgumentTypeError(name, rule, kind(value))


def refuse_labels(name: str, shares: Any) -> None:
    """Refuse a pandas series with labels, such as of ``value_counts``, where positions count."""
    if names_rows(index_of(shares)):
        rule = "must have numbers in the order of the values, without labels"
        remedy = "Write series.reindex(domain.labels, fill_value=0).to_numpy()"
        raise ArgumentTypeError(name, rule, kind(shares), remedy)


def distribution(
    name: str, value: Any, size: int | None = None, tolerance: float = 1e-9
) -> np.ndarray:
    """Return ``value`` as a distribution (K,): entries >= 0 that sum to 1 within ``tolerance``."""
    refuse_labels(name, value)
    array = numbers_of(name, value)
    if array.ndim != 1 or (size is not None and array.size != size):
        rule = "must be a list of numbers" if size is None else f"must be a list of {size} numbers"
        got = f"{array.size} numbers" if array.ndim == 1 else f"an array of shape {array.shape}"
        raise ArgumentError(name, rule, got)
    if not np.isfinite(array).all() or (array < 0).any() or abs(array.sum() - 1) > tolerance:
        least = f" and the smallest number {array.min():.6g}" if (array < 0).any() else ""
        rule = "must be shares: numbers of at least 0 that add up to 1"
        raise ArgumentError(name, rule, f"the sum {array.sum():.6g}{least}")
    return array


def same_length(
    name: str, columns: Mapping[str, Any], error: type[WarnerError] = ArgumentError
) -> None:
    """Refuse columns of which one has more rows than another."""
    lengths = {column: len(values) for column, values in columns.items()}
    if len(set(lengths.values())) > 1:
        first = {length: column for column, length in reversed(lengths.items())}
        got = " and ".join(f"{n:,} in {first[n]!r}" for n in dict.fromkeys(lengths.values()))
        raise error(name, "must have the same number of rows in all columns", got)


_LIBRARIES = ("pandas", "polars", "pyarrow", "pyspark")


def another(value: Any) -> str:
    """The kind of a value where values of this kind are expected, but not this one.

    >>> another("secret"), another(7)
    ('another string', 'another integer')
    """
    return f"another {kind(value).partition(' ')[2] or 'value'}"


def kind(value: Any) -> str:
    """Return the kind of a value in words that do not tell the value.

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
    if isinstance(value, type):
        return "a class"  # whose name can be anything, where it stands for an answer
    name = type(value).__name__
    # The frames of most libraries are called DataFrame.
    library = type(value).__module__.partition(".")[0]
    if library in _LIBRARIES:
        return f"a {library} {name}"
    return f"{'an' if name[0] in 'AEIOaeio' or name[:3] == 'Unr' else 'a'} {name}"
