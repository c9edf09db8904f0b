"""Values at places on one axis or two, as device programs state them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from warner.domains import Domain
from warner.mechanisms.device_program import ANY, NEIGHBOURS, odds
from warner.privacy.report_laws import euclidean_distances


@dataclass(frozen=True, eq=False)
class Places:
    """Values at the crossings of rows and columns.

    The distance of two values is a function of a class of their rows and a class of their columns.
    Rows i and j have the class |i - j|, unless double precision tells differences apart that should
    be equal.

    Attributes:
        rows, columns: the coordinates of the rows and columns.
        cells: (K,) row * columns + column of each value.
    """

    rows: np.ndarray
    columns: np.ndarray
    cells: np.ndarray

    @classmethod
    def of(cls, domain: Domain) -> Places | None:
        """The places of numbers on a line or of cells of a grid; None for other domains."""
        points, raster = domain.points, domain.raster
        if points is None:
            return None
        if raster is not None:
            rows, columns = (np.arange(n) * raster.side for n in (raster.rows, raster.columns))
            found = np.arange(len(points)) if raster.places is None else raster.places
            return cls(rows, columns, found)
        if points.shape[1] > 1 or not domain.is_numeric:
            return None
        return cls(np.zeros(1), points[:, 0], np.arange(len(points)))

    @staticmethod
    def _classes(axis: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
        """The squared distances of each class, the classes (m, m), and whether they are |i - j|."""
        squares = (axis[:, None] - axis[None, :]) ** 2
        steps = np.abs(np.arange(len(axis))[:, None] - np.arange(len(axis))[None, :])
        if (squares[0][steps] == squares).all():
            return squares[0], steps, True
        known, place = np.unique(squares, return_inverse=True)
        return known, place.reshape(squares.shape), False

    def distances(self) -> np.ndarray:
        """The distance of values by their classes of rows and of columns."""
        rows, columns = (self._classes(axis)[0] for axis in (self.rows, self.columns))
        out: np.ndarray = np.sqrt(rows[:, None] + columns[None, :])
        return out

    def fields(self) -> dict[str, Any]:
        """The entries of a program: the shape, and what is not by rule."""
        out: dict[str, Any] = {"shape": [len(self.rows), len(self.columns)]}
        if len(self.cells) < len(self.rows) * len(self.columns):
            out["places"] = self.cells.tolist()
        for name, axis in (("row_classes", self.rows), ("column_classes", self.columns)):
            _, classes, plain = self._classes(axis)
            if not plain:
                out[name] = classes.tolist()
        return out

    def neighbours(self) -> np.ndarray:
        """The pairs (p, 2) of values that lie next to each other on one axis."""
        wide = len(self.columns)
        index = np.full(len(self.rows) * wide, -1)
        index[self.cells] = np.arange(len(self.cells))
        grid = index.reshape(len(self.rows), wide)
        across = np.stack([grid[:, :-1].ravel(), grid[:, 1:].ravel()], axis=1)
        down = np.stack([grid[:-1].ravel(), grid[1:].ravel()], axis=1)
        pairs = np.concatenate([across, down])
        return np.asarray(pairs[(pairs >= 0).all(axis=1)])


def odds_of_neighbours(numerators: np.ndarray, domain: Domain, epsilon: float) -> dict[str, Any]:
    """The odds of a table with metric privacy: of neighbours, or of any two values without them.

    Shapes: numerators (m, K).
    """
    places, points = Places.of(domain), domain.points
    assert points is not None
    pairs = np.empty((0, 2), dtype=np.int64) if places is None else places.neighbours()
    if not len(pairs):
        rows = [max(row) for row in numerators.tolist()], [min(row) for row in numerators.tolist()]
        ratio = max(Fraction(high, low) for high, low in zip(*rows, strict=True))
        return odds(ratio, Fraction(epsilon) * Fraction(euclidean_distances(points).max()), ANY)
    unit = float(np.abs(points[pairs[:, 0]] - points[pairs[:, 1]]).max())
    left, right = numerators[:, pairs[:, 0]], numerators[:, pairs[:, 1]]
    ratio = largest_quotient(np.concatenate([left, right]), np.concatenate([right, left]))
    return odds(ratio, Fraction(epsilon) * Fraction(unit), NEIGHBOURS)


def largest_quotient(left: np.ndarray, right: np.ndarray) -> Fraction:
    """The largest quotient of positive integers at the same places, exactly.

    Quotients that double precision cannot tell from the largest one are compared as fractions.
    """
    near = (left / right).astype(np.float64)
    candidates = np.flatnonzero((near >= near.max() * (1 - 1e-12)).ravel())
    pairs = {(left.ravel()[i], right.ravel()[i]) for i in candidates}
    return max(Fraction(a, b) for a, b in pairs)
