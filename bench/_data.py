"""Columns of the real data sets, where the folder that holds them is named in WARNER_DATA."""

from __future__ import annotations

import csv
import gzip
import os
from pathlib import Path

import numpy as np


def rows(name: str) -> list[dict[str, str]] | None:
    """The rows of a data set, None where the folder is not named."""
    folder = os.environ.get("WARNER_DATA")
    if folder is None:
        return None
    with gzip.open(Path(folder) / name, "rt") as file:
        return list(csv.DictReader(file))


def columns(name: str) -> dict[str, np.ndarray] | None:
    """Numeric columns of a data set by name, None where the folder is not named."""
    found = rows(name)
    return (
        None
        if found is None
        else {key: np.array([float(row[key]) for row in found]) for key in found[0]}
    )
