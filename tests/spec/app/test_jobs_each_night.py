"""What a job that counts each night is told of slips in its command."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.spec.app._command import run
from warner.app.terminal import warning
from warner.errors import WarnerError

STUDY = """
[public.week]
dates = "week"
[public.age]
integers = [18, 99]
[attributes.smokes]
values = ["no", "yes"]
mechanism = "RandomizedResponse"
epsilon = 1.0
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY)
    Path("lake").mkdir()
    table = {"smokes_report": [0, 1] * 20, "week": ["2026-W45"] * 40, "age": [30] * 40}
    pq.write_table(pa.table(table), "lake/a.parquet")


@pytest.mark.parametrize(
    ("column", "words", "said"),
    [
        ("week", "2026-W45..2026-Wxx", "Write the values of week as 2026-W45."),
        ("week", "W45..W46", "Write the values of week as 2026-W45."),
        ("age", "18..old", "Write the values of age as 18."),
        (
            "week",
            "2027-W02..2026-W52",
            "has a range whose first value is after its last; got '2027-W02..2026-W52'. "
            "Write week=2026-W52..2027-W02.",
        ),
    ],
)
def test_a_range_that_is_none_is_refused_before_the_first_byte(
    column: str, words: str, said: str
) -> None:
    """Rejects a check of the range after the count, and the form of another kind of column."""
    Path("lake/broken.parquet").write_bytes(b"PAR1")
    counted = ("tally", "lake", "--study", "study.toml", "--by", column, "-o", "t.json")
    done = run(*counted, "--expect-groups", f"{column}={words}", ok=False)
    assert said in done.stderr and "broken" not in done.stderr


def test_a_strict_command_ends_at_its_first_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rejects an end after the tally is written, and a warning that somebody caught and forgot."""
    counted = ("tally", "lake", "--study", "study.toml", "-o", "t.json")
    done = run("-q", "--strict", *counted, ok=False)
    assert done.exit_code == 1 and not Path("t.json").exists()
    warned, ended = done.stderr.splitlines()
    assert warned.startswith("WARNING: lake: written by another program")
    assert ended == (
        "Error: --strict: ends this command with an error, because of the warning above. Mend what "
        "the warning says, or run the command without --strict."
    )
    run("-q", "--strict", *counted, "--of-this-study")
    assert run("-q", *counted).exit_code == 0

    def caught(*_: object) -> None:
        with contextlib.suppress(WarnerError):
            warning("this may be wrong")

    monkeypatch.setattr("warner.app.commands.collecting.require_reports", caught)
    done = run("--strict", *counted, "--of-this-study", ok=False)
    assert "WARNING: this may be wrong" in done.stderr and "Error: --strict" in done.stderr


@pytest.mark.parametrize(
    "command",
    [
        ("tally", "counts.csv", "--study", "study.toml", "-o", "t.json"),
        ("estimate", "counts.csv"),
        ("merge", "counts.csv", "-o", "t.json"),
    ],
)
def test_a_result_of_sql_is_told_from_reports(command: tuple[str, ...]) -> None:
    """Rejects a message that takes it for answers, or asks which column has the reports."""
    Path("counts.csv").write_text('"attribute","part","value","reports"\n*,study 1,0,1\n')
    said = run(*command, ok=False).stderr
    assert 'counts.csv: is the result of a statement of "warner sql"' in said
    assert "Add --counts: warner tally --counts counts.csv --study STUDY -o tally.json." in said


def test_a_folder_is_no_tally_and_no_table() -> None:
    """Rejects "Check the path" of a folder that is there, and a table with the name of one."""
    for command in (("estimate", "lake/"), ("merge", "lake/", "-o", "t.json")):
        said = run(*command, ok=False).stderr
        assert "lake/: is a folder, but this command needs a tally" in said
        assert "warner tally lake/ -o tally.json" in said
    sql = ("sql", "study.toml", "--dialect", "duckdb", "--table", "lake/")
    assert "Write --table 'lake/*.parquet'." in run(*sql, ok=False).stderr


@pytest.mark.parametrize("name", ["-q", "--quiet"])
def test_an_option_of_all_commands_stands_before_their_names(name: str) -> None:
    """Rejects "No such option": the option is there, in another place."""
    done = run("tally", "lake", name, "--study", "study.toml", ok=False)
    said = f"{name} must stand before the name of the command: warner {name} tally ..."
    assert said in done.stderr and done.exit_code == 2


def test_tallies_may_be_a_pattern_as_reports_may() -> None:
    """Rejects a merge that takes a quoted pattern, which warner tally takes, for a file."""
    for day, reports in ((1, [0, 1] * 20), (2, [0, 1, 1] * 20)):
        pq.write_table(pa.table({"smokes_report": reports}), f"{day}.parquet")
        Path(f"day={day}").mkdir()
        counted = ("tally", f"{day}.parquet", "--study", "study.toml", "--of-this-study")
        run(*counted, "-o", f"day={day}/t.json")
    pattern = "day=*/t.json"
    assert "40 reports of day=1/t.json, 60 reports" in run("merge", pattern, "-o", "t.json").stderr
    for command in (("estimate",), ("benchmark", "--runs", "2", "-m", "Inversion")):
        assert "100 reports" in run(*command, pattern).stdout
    run("report", pattern, "-o", "report.html")
    assert "day=3" in run("merge", "day=3*/t.json", ok=False).stderr


def test_a_tally_is_printed_as_json_as_other_results_are() -> None:
    """Rejects: no such option, where the tally that is printed anyway is JSON."""
    counted = ("tally", "lake", "--study", "study.toml", "--of-this-study")
    printed = run(*counted, "--json").stdout
    assert json.loads(printed) == json.loads(run(*counted).stdout)
    Path("t.json").write_text(printed)
    assert json.loads(run("merge", "t.json", "--json").stdout)["format"] == "warner-tally"
    for more in (("-o", "both.json", "--json"), ("--json", "-o", "both.json")):
        assert not run(*counted, *more).stdout  # a file that is named is written
        assert json.loads(Path("both.json").read_text()) == json.loads(printed)
        Path("both.json").unlink()
