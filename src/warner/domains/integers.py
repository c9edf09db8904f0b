"""Integers between two limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Self

import numpy as np

from warner._core.checks import integer, show
from warner._core.errors import ArgumentError
from warner.domains.answers import INTEGER_TYPES, numbers
from warner.domains.base import LARGEST_SIZE, Domain
from warner.domains.declarations import StudyEntry, TextForm


class Integers(Domain):
    """The integers low..high, both included, at distance |x - x'|.

    Args:
        low: the smallest integer.
        high: the largest integer, greater than ``low``.

    Raises:
        ArgumentError: limits in the wrong order, or more than 2^26 integers.
        ArgumentTypeError: a limit that is not an integer.

    >>> Integers(18, 99).encode([18, 20]).tolist()
    [0, 2]
    """

    kind = "integers"
    study = StudyEntry(
        "integers", "[low, high], both included", tuple[int, int], "integers = [0, 120]"
    )
    noun = "integers"
    remedy = "correct them or widen the limits"
    is_ordered = True
    is_numeric = True
    dimension = 1

    def __init__(self, low: int, high: int) -> None:
        self.low = integer("low", low, -(2**62), 2**62)
        self.high = integer("high", high, self.low + 1, self.low + LARGEST_SIZE - 1)
        self.size = self.high - self.low + 1

    @cached_property
    def points(self) -> np.ndarray:
        if max(-self.low, self.high) > 2**53:
            rule = "has integers beyond 2^53, which are no exact coordinates"
            remedy = "Subtract a common number, or use Categorical"
            raise ArgumentError("domain", rule, show(self.high), remedy)
        return np.arange(self.low, self.high + 1, dtype=np.float64)[:, None]

    @property
    def ends(self) -> list[tuple[float, float]]:
        return [(float(self.low), float(self.high))]

    @property
    def text(self) -> TextForm:
        return TextForm(pattern=r"^-?[0-9]{1,18}$", number=int, rule="must be a whole number")

    def encode(self, values: Any) -> np.ndarray:
        found = numbers(values, INTEGER_TYPES, "a one-dimensional array of integers")
        self._refuse((found < self.low) | (found > self.high), "an integer")
        return np.asarray(found.astype(np.int64) - self.low)

    def position(self, values: Any) -> np.ndarray:
        return np.asarray(self.encode(values) / (self.size - 1))

    def decode(self, index: Any) -> list[int]:
        found: list[int] = (self._index(index) + self.low).tolist()
        return found

    def spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "low": self.low, "high": self.high}

    @classmethod
    def from_spec(
        cls, spec: Mapping[str, Any], build: Callable[[Mapping[str, Any]], Domain]
    ) -> Self:
        return cls(spec["low"], spec["high"])
