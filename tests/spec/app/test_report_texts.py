"""Survey tools carry reports as texts: they are counted, and every row without one is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from tests.spec.app._command import run
from warner import Reports, Study
from warner.reports.reports import text_start, to_texts
from warner.reports.tally import Tally, load_tallies

STUDY = """
[public.ward]
values = ["north", "south"]
[attributes.smokes]
values = ["a", "b", "c"]
mechanism = "RandomizedResponse"
epsilon = 1.0
[attributes.units]
integers = [0, 20]
mechanism = "SubsetSelection"
epsilon = 1.0
[attributes.weight]
interval = { low = 0, high = 1, bins = 8 }
mechanism = "LocalHashing"
epsilon = 1.0
"""
PLAN = Study.parse(STUDY)
N = 60
_RNG = np.random.default_rng(7)
_ANSWERS = {"smokes": ["a", "b", "c"] * 20, "units": np.arange(N) % 21, "weight": np.arange(N) / N}
REPORTS = {name: PLAN.mechanisms[name].randomize(a, _RNG) for name, a in _ANSWERS.items()}
TEXTS = {
    name: to_texts(reports, text_start(PLAN.layout, i))
    for i, (name, reports) in enumerate(REPORTS.items(), 1)
}
ASK = [
    "--study", "study.toml", "--column", "smokes=q7_report", "--column", "units=q8", "-o", "t.json"
]  # fmt: skip


def _table(**changed: Any) -> Any:
    columns = {
        "id": [f"R_{i}" for i in range(N)],
        "ward": ["north", "south", "south"] * 20,
        "q7_report": TEXTS["smokes"],
        "q8": TEXTS["units"],
        "weight_report": TEXTS["weight"],
    }
    return pa.table(columns | changed)


def _wanted() -> dict[str, Tally]:
    real = {a: Reports(r.header, r.columns) for a, r in REPORTS.items()}
    return {a: PLAN.mechanisms[a].tally(r) for a, r in real.items()}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path


def _write(table: Any) -> list[str]:
    pa.csv.write_csv(table, "export.csv")
    pa.csv.write_csv(table, "semicolons.csv", pa.csv.WriteOptions(delimiter=";"))
    pa.parquet.write_table(table, "export.parquet")
    return ["export.csv", "semicolons.csv", "export.parquet"]


@pytest.mark.usefixtures("folder")
def test_reports_in_hidden_fields_are_counted_as_the_device_sent_them() -> None:
    upper = [f" {text.upper()}" for text in TEXTS["smokes"]]  # as some tools change texts
    for path in _write(_table(q7_report=upper)):
        done = run("tally", path, *ASK)
        assert done.exit_code == 0, done.output
        assert load_tallies("t.json") == _wanted(), path
        assert "Every report belongs to this study and is one that" in done.stderr
        assert "WARNING" not in done.stderr


@pytest.mark.usefixtures("folder")
def test_texts_go_with_groups_pairs_and_columns_of_numbers() -> None:
    _write(_table(q7_report=pa.array(REPORTS["smokes"].columns["report"], pa.int64())))
    done = run("tally", "export.csv", *ASK, "--by", "ward")
    assert done.exit_code == 0 and "which mechanism and epsilon made the reports" in done.stderr
    found = load_tallies("t.json")
    assert {key: tally.n for key, tally in found["units"].items()} == {
        ("north",): 20,
        ("south",): 40,
    }
    grouped = {
        name: PLAN.mechanisms[name].tally(
            Reports(r.header, r.columns), {"ward": ["north", "south", "south"] * 20}
        )
        for name, r in REPORTS.items()
    }
    for name, groups in grouped.items():
        assert {k: t.counts.tolist() for k, t in groups.items()} == {
            k: t.counts.tolist() for k, t in found[name].items()
        }
    assert run("tally", "export.csv", *ASK, "--ways", "2").exit_code == 0


@pytest.mark.usefixtures("folder")
def test_all_rows_without_a_report_are_named_in_one_message_and_none_is_shown() -> None:
    other = Study.parse(STUDY.replace("epsilon = 1.0", "epsilon = 2.0"))
    bad = list(TEXTS["smokes"])
    start = text_start(PLAN.layout, 1)
    bad[2] = bad[4] = ""
    bad[5] = "CANARY"
    bad[6] = text_start(other.digest, 1) + "00"
    bad[7] = TEXTS["units"][7]
    bad[8] = start + "0000"
    bad[9] = start + "7f"
    bad[10] = "12e4"
    for i in range(20, 45):
        bad[i] = start[:-3]
    cut = [text[:-2] for text in TEXTS["units"]]
    for path in _write(_table(q7_report=bad, q8=cut)):
        done = run("tally", path, *ASK, ok=False)
        said = done.stderr
        assert done.exit_code == 1 and not Path("t.json").exists()
        assert f"{path}: the column of smokes: must hold a report in each of 60 rows" in said
        for part in (
            "got nothing in rows 3, 5; ",
            "a text that is not a complete report in rows 6, 11, 21, 22, ",
            "38 and 7 more; ",
            "a report of another study, or of another version of this study, in row 7",
            "a report on another question in row 8",
            "a report that was cut off or altered in row 9",
            "a report that the mechanism cannot send in row 10",
            "the column of units: must hold a report in each of 60 rows; got a report that ",
        ):
            assert part in said, part
        assert "CANARY" not in said and "wr1" not in said and "12e4" not in said


@pytest.mark.usefixtures("folder")
def test_a_column_of_the_answers_beside_the_reports_is_warned_of() -> None:
    _write(_table(smokes=["CANARY"] * N))
    done = run("tally", "export.csv", *ASK)
    assert "WARNING: export.csv has a column 'smokes' beside the reports on 'smo" in done.stderr
    assert "CANARY" not in done.stderr


def test_texts_of_different_questions_and_studies_differ() -> None:
    starts = {text_start(PLAN.layout, i) for i in (1, 2)} | {text_start("f" * 64, 1)}
    assert len(starts) == 3 and all(start.isascii() and " " not in start for start in starts)
