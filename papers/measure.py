"""What a measure of an experiment is: rows from a cell, generators and data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from papers.data_sets import DataFolder
from papers.table import Row

Cell = Mapping[str, Any]
Cells = tuple[Cell, ...]
Runs = Sequence[tuple[int, np.random.Generator]]


class Measure(Protocol):
    """How a cell is measured."""

    def rows(self, cell: Cell, runs: Runs, data: DataFolder) -> list[Row]:
        """Measure some runs of a cell.

        Args:
            cell: the values of the axes.
            runs: the number of each run and its generator, which depends on the experiment, the
                cell and the number alone.
            data: the data sets.

        Returns:
            Rows with ``"run"``, ``"value"`` and columns that tell values apart, such as
            ``"method"`` and ``"metric"``. The runner adds the columns of the cell.
        """
        ...
