"""Descriptions of domains: their form in text files and study files, and the cells of grids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np


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
