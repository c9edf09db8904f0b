"""Checks of answers that all domains share.

Error messages state the position and the type of an answer, never the answer itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from warner._core.checks import as_float, kind
from warner._core.errors import ArgumentTypeError, EmptyError, ValuesError

_NOT_A_LIST = "must be a list, an array or a column"
_WRAP = "Wrap a single answer in a list"
# What NumPy's types of scalars are called in messages.
_SCALARS = {"integer": "int", "floating": "float", "bool_": "bool", "str_": "str"}
WITHOUT_ANSWER = "warner.domains.with_missing says what a missing answer means"
_BUILT_IN = frozenset({str, int, bool, float})

INTEGER_TYPES = (int, np.integer)
NUMBER_TYPES = (int, float, np.integer, np.floating)


def sequence(values: Any, one_each: bool = True) -> list[Any] | tuple[Any, ...] | np.ndarray:
    """Return ``values`` as a list, a tuple or an array of at least one dimension.

    Shapes: one_each (n, 1).
    """
    is_list = hasattr(values, "__len__") or hasattr(values, "__iter__")
    if isinstance(values, str | bytes | Mapping) or not is_list:
        raise ArgumentTypeError("values", _NOT_A_LIST, kind(values), _WRAP)
    if not hasattr(values, "__len__"):
        values = list(values)
    if np.ma.is_masked(values):
        first = int(np.argmax(np.ma.getmaskarray(values).ravel()))
        raise ValuesError(first, "must not be masked", "no answer")
    found = values if isinstance(values, list | tuple) else np.asarray(values)
    if isinstance(found, np.ndarray) and found.ndim == 0:
        raise ArgumentTypeError("values", _NOT_A_LIST, "one value", _WRAP)
    if len(found) == 0:
        raise EmptyError("values", "must not be empty", None, "Pass at least one answer")
    if one_each and isinstance(found, np.ndarray) and found.ndim == 2:
        if found.shape[1] != 1:
            got, remedy = f"shape {found.shape}", "Pass the column with the answers"
            raise ArgumentTypeError("values", "must be one-dimensional or one column", got, remedy)
        found = found[:, 0]
    return found


def numbers(
    values: Any,
    allowed: tuple[type, ...],
    rule: str,
    width: int | None = None,
    each: str = "",
) -> np.ndarray:
    """Return answers as one array, where each answer is a number or a fixed count of numbers.

    Returns (n,).
    """
    found = sequence(values, one_each=width is None)
    whole = np.floating not in allowed
    if not isinstance(found, np.ndarray) or found.dtype == object:
        if width is not None:
            for i, answer in enumerate(found):
                if not _holds(answer, width):
                    raise ValuesError(i, each, kind(answer))
        flat: Sequence[Any] = (
            list(found) if width is None else [part for answer in found for part in answer]
        )
        refuse_types(flat, allowed, width or 1)
        flat = built_in(flat)
        array = _integers(flat) if whole else np.asarray([as_float(part) for part in flat])
        found = array if width is None else array.reshape(-1, width)
    shape_fits = found.ndim == 1 if width is None else found.shape[1:] == (width,)
    if not shape_fits or found.dtype.kind not in ("iu" if whole else "iuf"):
        got = f"{found.dtype} of shape {found.shape}"
        raise ArgumentTypeError("values", f"must be {rule}", got)
    return found


def encoded_at(encode: Callable[[Any], np.ndarray], answers: Any, places: np.ndarray) -> np.ndarray:
    """What ``encode`` makes of the answers at ``places``; its errors name the place among all.

    Shapes: places (k,).
    """
    problem = None
    try:
        return encode(
            answers[places]
            if isinstance(answers, np.ndarray)
            else [answers[i] for i in places.tolist()]
        )
    except ValuesError as error:
        problem = error.among(places)
    raise problem


def _integers(parts: Sequence[Any]) -> np.ndarray:
    """Integers as int64. Those beyond 64 bits become the largest, which is in no domain."""
    if max(map(abs, parts)) >= 2**63:
        parts = [max(-(2**63), min(2**63 - 1, int(part))) for part in parts]
    return np.asarray(parts, dtype=np.int64)


def _holds(answer: Any, width: int) -> bool:
    """Whether one answer is a list, a tuple or an array of ``width`` entries."""
    if isinstance(answer, np.ndarray):
        return bool(answer.shape == (width,))
    return isinstance(answer, list | tuple) and len(answer) == width


def built_in(parts: Sequence[Any]) -> Sequence[Any]:
    """Return answers of classes derived from str, int and float as built-in types.

    A derived class may define operations whose error messages show the answer. After the conversion
    only operations of built-in types are used. All other answers stay as they are.
    """
    if all(t in _BUILT_IN or t.__module__ == "numpy" for t in set(map(type, parts))):
        return parts
    return [_as_base(part) for part in parts]


def _as_base(value: Any) -> Any:
    """A value of a class derived from str, int or float by the operations of its base class."""
    if type(value) in _BUILT_IN or type(value).__module__ == "numpy":
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__index__(value)
    return float.__float__(value) if isinstance(value, float) else value


def refuse_types(parts: Sequence[Any], allowed: tuple[type, ...], per_answer: int = 1) -> None:
    """Refuse the first part of an answer whose type is not allowed.

    A boolean counts as an integer only where booleans are allowed.
    """
    takes_booleans = bool({bool, np.bool_} & set(allowed))
    refused = {
        t
        for t in set(map(type, parts))
        if not issubclass(t, allowed) or (issubclass(t, bool | np.bool_) and not takes_booleans)
    }
    if refused:
        bad = [i for i, part in enumerate(parts) if type(part) in refused]
        names = sorted({_SCALARS.get(t.__name__, t.__name__) for t in allowed})
        rule, remedy = f"must be {' or '.join(names)}", "Convert the answers first"
        got = kind(parts[bad[0]])
        if got in ("None", "NaN"):
            remedy = WITHOUT_ANSWER
        first, *more = dict.fromkeys(i // per_answer for i in bad)
        raise ValuesError(first, rule, got, remedy, more=more)


# -----------------------------------------------------------------------------------------------
# Descriptions of domains: their form in text files and study files, and the cells of grids.


class Raster(NamedTuple):
    """The shape of a grid of square cells.

    Attributes:
        rows, columns: the numbers of rows and columns.
        side: the side of a cell, in the unit of distances.
        places: (K,) row * columns + column of each value, increasing; None where all cells are
            values.
    """

    rows: int
    columns: int
    side: float
    places: np.ndarray | None = None

    @property
    def values(self) -> np.ndarray:
        """(rows, columns) booleans: which cells are values."""
        mask = np.full(self.rows * self.columns, self.places is None)
        if self.places is not None:
            mask[self.places] = True
        return mask.reshape(self.rows, self.columns)


@dataclass(frozen=True)
class TextForm:
    """How the answers of a domain are written in a column of text.

    Either ``labels`` lists the text of every answer, or ``pattern`` describes the texts. Regular
    expressions must be valid both in Python and in RE2.

    Attributes:
        labels: the text of each answer, (K,) in index order; None where ``pattern`` is used.
        any_case: whether upper and lower case of a label count as the same.
        pattern: a regular expression that every answer matches as a whole.
        number: int or float, the type of the numbers in an answer.
        parts: a regular expression with a named group for each number of an answer; None where the
            whole answer is one number.
        rule: what an answer must be, for messages, such as "must be an integer".
    """

    labels: list[str] | None = None
    any_case: bool = False
    pattern: str = ""
    number: type[int] | type[float] = int
    parts: str | None = None
    rule: str = ""


@dataclass(frozen=True)
class StudyEntry:
    """How a study file writes a domain.

    Attributes:
        key: the key of the attribute's table that states the domain.
        description: one line for the JSON schema.
        form: the type of the key's value, made of str, int, float, bool, list and tuple. For a
            table it is {field: (type, default)}, with ``...`` where there is no default.
        example: the key with a value, as a line of a study file; for messages.
    """

    key: str
    description: str
    form: Any | Mapping[str, tuple[Any, Any]]
    example: str = ""
