"""Columns of the real data sets, where the folder that holds them is named in WARNER_DATA."""

from __future__ import annotations

import csv
import gzip
import os
from pathlib import Path

import numpy as np


def columns(name: str) -> dict[str, np.ndarray] | None:
    """Numeric columns of a data set by name, None where the folder is not named."""
    folder = os.environ.get("WARNER_DATA")
    if folder is None:
        return None
    with gzip.open(Path(folder) / name, "rt") as file:
        rows = list(csv.DictReader(file))
    return {key: np.array([float(row[key]) for row in rows]) for key in rows[0]}
