"""Folders of report files as other programs write them, for tests of the command tally."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.spec.app._command import run

STUDY = """
[public.ward]
values = ["north", "south"]
[attributes.smokes]
values = ["no", "yes", "often"]
mechanism = "RandomizedResponse"
epsilon = 1.0
[attributes.item]
integers = [0, 15]
mechanism = "UnaryEncoding"
epsilon = 1.0
"""
_RNG = np.random.default_rng(11)


def rows(n: int) -> pa.Table:
    """Reports of n people."""
    bits = np.packbits(
        _RNG.random((n, 16)) < 0.3928, axis=1
    )  # as often 1 as those of the mechanism
    columns = {
        "smokes_report": _RNG.integers(0, 3, n),
        "item_bits_0": bits[:, 0],
        "item_bits_1": bits[:, 1],
        "ward": ["north", "south"] * (n // 2),
    }
    return pa.table(columns)


def tally(*options: str, ok: bool = True) -> Any:
    """Run the command with the study."""
    return run("tally", *options, "--study", "study.toml", "-o", "t.json", ok=ok)


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two files of 40 people each."""
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY)
    Path("lake").mkdir()
    for name in ("a", "b"):
        pq.write_table(rows(40), f"lake/{name}.parquet")
    return Path("lake")
