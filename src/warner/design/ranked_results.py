"""Rankings: results from the least error to the largest, as objects, rows and JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar


class Ranked(Protocol):
    """One result of a ranking."""

    @property
    def error(self) -> float: ...

    def row(self) -> dict[str, Any]: ...


Result = TypeVar("Result", bound=Ranked)


@dataclass(frozen=True)
class Ranking(Generic[Result]):
    """Results from the least error to the largest.

    Attributes:
        results: one or more, sorted by error.
        loss: the name of the loss that ``error`` is a mean of, such as ``"l2"``.
        n: number of people.
        left_out: {name: reason}, the candidates that cannot be used here.
    """

    results: tuple[Result, ...]
    loss: str
    n: int
    left_out: Mapping[str, str]

    @property
    def best(self) -> Result:
        """The result with the least error."""
        return self.results[0]

    def rows(self) -> list[dict[str, Any]]:
        """One dict for each result, in the order of the ranking."""
        return [result.row() for result in self.results]

    def to_json(self) -> dict[str, Any]:
        """The ranking as JSON data: loss, n, settings, results and left_out."""
        return {
            "loss": self.loss,
            "n": self.n,
            **self._settings(),
            "results": self.rows(),
            "left_out": dict(self.left_out),
        }

    def _settings(self) -> dict[str, Any]:
        """What this kind of ranking adds to its JSON data."""
        return {}


def to_nine_digits(error: float) -> float:
    """Round an error to nine digits, to sort by it.

    Errors that differ by rounding errors alone are then equal on every machine.

    Args:
        error: the error.

    >>> to_nine_digits(0.1 + 0.2) == to_nine_digits(0.3)
    True
    """
    return float(f"{error:.9g}")
