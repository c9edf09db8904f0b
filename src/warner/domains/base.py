"""What a domain is, and the checks that all of them share."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from warner._core.canonical_json import canonical
from warner._core.checks import kind, show
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    EmptyError,
    ValuesError,
    message,
)

# Beyond this many values neither a table of labels nor an estimate per value is sensible on one machine.
LARGEST_SIZE = 2**26


class Domain(ABC):
    """K possible answers. ``encode`` maps answers to indices, ``decode`` back.

    A domain with a geometry has ``points``, the coordinates of its values, shape (K, d); others have None.
    """

    size: int
    points: np.ndarray | None = None

    @abstractmethod
    def encode(self, values: Any) -> np.ndarray:
        """Indices (n,) int64 of ``values``; raises ValuesError, EmptyError or ArgumentTypeError."""

    @abstractmethod
    def decode(self, index: Any) -> list[Any]:
        """The values at ``index`` (n,), as Python objects that ``encode`` accepts."""

    def position(self, values: Any) -> np.ndarray:
        """Where ``values`` lie between the domain's two ends, (n,) in [0, 1]; for domains of numbers, refused like ``encode``."""
        raise ArgumentTypeError(
            message(
                "domain",
                "must be Integers or Interval for a numeric mechanism",
                type(self).__name__,
            )
        )

    @abstractmethod
    def spec(self) -> dict[str, Any]:
        """The domain as JSON data, from which :func:`from_spec` rebuilds it."""

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON of ``spec``."""
        return hashlib.sha256(canonical(self.spec()).encode()).hexdigest()

    @property
    def labels(self) -> list[Any]:
        """All K values in index order."""
        return self.decode(np.arange(self.size))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Domain) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        inside = ", ".join(f"{k}={show(v)}" for k, v in self.spec().items() if k != "kind")
        return f"{type(self).__name__}({inside})"

    def _index(self, index: Any) -> np.ndarray:
        """``index`` checked to lie in 0..size-1."""
        try:
            array = np.asarray(index)
        except ValueError:
            array = np.asarray(None)
        if array.dtype.kind not in "iu" and array.size:
            raise ArgumentTypeError(
                message("index", "must be an array of integers", str(array.dtype))
            )
        if array.size and (array.min() < 0 or array.max() >= self.size):
            raise ArgumentError(message("index", f"must lie in 0..{self.size - 1}"))
        return array.astype(np.int64)

    remedy = "correct them or add a catch-all value"

    def _refuse(self, bad: np.ndarray, what: str) -> None:
        """Raise for the positions at which ``bad`` (n,) is true."""
        where = np.flatnonzero(bad)
        if where.size:
            raise ValuesError(
                int(where[0]),
                f"not in the domain of {self.size} values",
                what,
                f"Answers outside the domain are refused, not guessed: {self.remedy}",
            )


def sequence(values: Any) -> Any:
    """``values`` as a list or a one-dimensional array, refused where it is a scalar or empty."""
    if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__len__"):
        if hasattr(values, "__iter__") and not isinstance(values, str | bytes | Mapping):
            values = list(values)
        else:
            raise ArgumentTypeError(
                message(
                    "values",
                    "must be a list, an array or a column",
                    kind(values),
                    "Wrap a single answer in a list",
                )
            )
    if np.ma.is_masked(values):
        raise ValuesError(
            int(np.argmax(np.ma.getmaskarray(values).ravel())), "must not be masked", "no answer"
        )
    if not isinstance(values, list | tuple):
        values = np.asarray(values)
        if values.ndim == 0:
            raise ArgumentTypeError(
                message(
                    "values",
                    "must be a list, an array or a column",
                    "one value",
                    "Wrap a single answer in a list",
                )
            )
    if len(values) == 0:
        raise EmptyError(message("values", "must not be empty", None, "Pass at least one answer"))
    return values


_BUILTIN = frozenset({str, int, bool, float})


def own_types(values: Any) -> Any:
    """Answers of classes derived from str, int and float as Python's own; all others as they are.

    A derived class may have operations of its own, whose errors can show the answer. Only the base
    class's are used.
    """
    if all(t in _BUILTIN or t.__module__ == "numpy" for t in set(map(type, values))):
        return values
    return [_plain(value) for value in values]


def _plain(value: Any) -> Any:
    if type(value) in _BUILTIN or type(value).__module__ == "numpy":
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__index__(value)
    return float.__float__(value) if isinstance(value, float) else value


def flat(value: Any, width: int) -> bool:
    """Whether one answer is a list, a tuple or an array of ``width`` single things."""
    if isinstance(value, np.ndarray):
        return value.shape == (width,)
    return isinstance(value, list | tuple) and len(value) == width


def wrong_type(values: Sequence[Any], allowed: tuple[type, ...], per: int = 1) -> None:
    """Refuse the first value whose type is not allowed (``per`` to an answer); booleans never count as integers."""
    strange = {
        t
        for t in set(map(type, values))
        if not issubclass(t, allowed)
        or (issubclass(t, bool | np.bool_) and not {bool, np.bool_} & set(allowed))
    }
    if strange:
        where = next(i for i, v in enumerate(values) if type(v) in strange)
        plain = {"integer": "int", "floating": "float", "bool_": "bool", "str_": "str"}
        wanted = " or ".join(sorted({plain.get(t.__name__, t.__name__) for t in allowed}))
        raise ValuesError(
            where // per, f"must be {wanted}", kind(values[where]), "Convert the answers first"
        )
