"""Cells of consecutive values, on which the log-spline of very many values is computed.

A cubic spline on S equal knots hardly changes within a cell that is much shorter than a knot's
distance. So the likelihood is computed with shares that are even within cells. The prior, the
spline itself and the estimate are those on all values.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from warner.channels import LikelihoodOperator

# Values up to which each is a cell of its own, and about the largest number of cells.
MOST_CELLS = 2048


@dataclass(frozen=True)
class Cells:
    """Cells of K consecutive values.

    Attributes:
        size: K.
        starts: the first value of each cell, C of them. The first and the last value are cells of
            their own, because they have atoms.
    """

    size: int
    starts: tuple[int, ...]

    @cached_property
    def index(self) -> np.ndarray:
        """The starts as an array (C,)."""
        return np.array(self.starts)

    @cached_property
    def sizes(self) -> np.ndarray:
        """The number of values in each cell, (C,)."""
        return np.diff(self.index, append=self.size)

    @cached_property
    def log_sizes(self) -> np.ndarray:
        out: np.ndarray = np.log(self.sizes)
        return out

    def averages(self, columns: Any) -> np.ndarray:
        """The means over the cells of the rows of an array or a sparse matrix (K, P), (C, P)."""
        from scipy.sparse import csr_array

        ends = np.append(self.index, self.size)
        entries = np.repeat(1 / self.sizes, self.sizes)
        matrix = csr_array((entries, np.arange(self.size), ends), shape=(len(ends) - 1, self.size))
        product = matrix @ columns
        out: np.ndarray = product if isinstance(product, np.ndarray) else product.toarray()
        return out

    def spread(self, rows: np.ndarray) -> np.ndarray:
        """Rows of cells (C, ...) repeated for each of their values, (K, ...)."""
        return np.repeat(rows, self.sizes, axis=0)


def cells_for(channel: LikelihoodOperator) -> Cells | None:
    """Cells on which the channel is small; None where there are few values.

    Args:
        channel: A (m, K).
    """
    size = channel.shape[1]
    if size <= MOST_CELLS:
        return None
    starts = channel.value_cells(MOST_CELLS)
    if starts is None:
        inner = np.linspace(1, size - 1, MOST_CELLS - 1).round().astype(np.int64)
        starts = np.unique(np.append(0, inner))
    return Cells(size, tuple(starts.tolist())) if len(starts) < size else None
