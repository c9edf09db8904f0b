"""Where whole numbers are asked for, a fraction is refused with its column, its row and a remedy."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.spec.app._command import run

STUDY = """
[attributes.drinks]
integers = [0, 9]
mechanism = "RandomizedResponse"
epsilon = 1.0
"""


@pytest.fixture(autouse=True)
def _study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY)


@pytest.mark.parametrize("written", ["7.5", '"7,5"', "7.0", "7 glasses"])
def test_in_a_text_file(written: str) -> None:
    Path("a.csv").write_text(f"drinks\n2\n{written}\n")
    said = run("randomize", "study.toml", "a.csv", "-o", "r.csv", ok=False).stderr
    assert "column 'drinks', data row 2: must be a whole number" in said
    assert "as in 12, without a fraction" in said and "7" not in said
    assert not Path("r.csv").exists()


def test_in_a_column_of_floats() -> None:
    pq.write_table(pa.table({"drinks": [2.0, 7.5]}), "a.parquet")
    said = run("randomize", "study.toml", "a.parquet", "-o", "r.csv", ok=False).stderr
    assert "column 'drinks', data row 1" in said and "a column of double. Round the numbers" in said
    assert "7" not in said
