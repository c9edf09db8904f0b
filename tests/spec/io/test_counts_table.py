"""Results of counting statements: of which study they are, in which forms they come, and sums."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from tests.spec.io._people import run
from warner import Study
from warner.errors import FileError
from warner.io import count_statement, read_counts
from warner.reports.tally import load_tallies

STUDY = """
[public.ward]
values = ["north", "south"]
[attributes.smokes]
values = ["no", "yes"]
mechanism = "RandomizedResponse"
epsilon = 1.0
"""
PLAN = Study.parse(STUDY)
WARDS = ["north", "south", "north", "north", "south"]
REPORTS = [0, 1, 1, 0, 1]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY)


def _counts(
    path: str, reports: list[int], wards: list[str] | None = None, study: str = STUDY, *more: str
) -> str:
    """The result of the statement that `warner sql` prints, in a file."""
    Path("of.toml").write_text(study)
    by = [] if wards is None else ["--by", "ward"]
    text = run("sql", "of.toml", "--dialect", "duckdb", "--table", "reports", *by, *more).stdout
    with duckdb.connect(":memory:") as database:
        columns = {"smokes_report": pa.array(reports, pa.int16())}
        columns |= {} if wards is None else {"ward": pa.array(wards)}
        database.register("reports", pa.table(columns))
        found = database.execute(text)
        with open(path, "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([[c[0] for c in found.description], *found.fetchall()])
    return path


def _tally(*paths: str, ok: bool = True) -> str:
    """What `warner tally --counts` says on standard error."""
    done = run("tally", "--counts", *paths, "--study", "study.toml", "-o", "t.json", ok=ok)
    assert ok or not Path("t.json").exists()
    return done.stderr


@pytest.mark.parametrize(
    "other",
    [
        STUDY.replace("epsilon = 1.0", "epsilon = 2.0"),
        f"rows_per_person = 2\n{STUDY}",
        STUDY.replace('["no", "yes"]', '["yes", "no"]'),
        STUDY.replace('"south"', '"east"'),
        STUDY.replace("[attributes.smokes]", "[attributes.drinks]"),
    ],
    ids=["epsilon", "rows of a person", "order of values", "public values", "attribute"],
)
def test_counts_of_another_study_are_refused(other: str) -> None:
    column = ("--column", "drinks=smokes_report") if "drinks" in other else ()
    said = _tally(_counts("c.csv", REPORTS, None, other, *column), ok=False)
    assert (
        "c.csv: line 2: belongs to another study, or to another version of this study, or was "
        "altered" in said
    )
    assert "Use the study file that the statement was made from." in said


def test_texts_for_people_may_change_between_the_statement_and_the_tally() -> None:
    spelt = STUDY.replace("[attributes.smokes]", '[attributes.smokes]\nlabel = "Do you smoke?"')
    assert "5 rows. The command checked that the statement was made for this study" in _tally(
        _counts("c.csv", REPORTS, None, spelt)
    )


def _replaced(old: str, new: str) -> Callable[[str], str]:
    return lambda text: text.replace(old, new)


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda t: "\n".join(x for x in t.splitlines() if "study" not in x), "does not say to which study it belongs"),
        (_replaced("study ", "study 0"), "was altered"),
        (_replaced("simulated study ", "study "), "was altered"),
        (lambda t: t + t.splitlines()[1].replace("simulated study ", "study ") + "\n", "was altered"),
        (lambda t: t + t.splitlines()[1] + "\n", "repeats an earlier count"),
        (lambda t: t + t, "line 6: repeats the names"),
    ],
    ids=["none", "digits", "simulation", "two", "twice", "two files"],
)  # fmt: skip
def test_an_altered_mark_is_refused(change: Callable[[str], str], words: str) -> None:
    path = Path(_counts("c.csv", REPORTS, None, STUDY, "--simulated"))
    path.write_text(change(path.read_text()))
    assert words in _tally("c.csv", ok=False)


def test_a_simulation_stays_one_and_is_not_added_to_real_reports() -> None:
    _counts("real.csv", REPORTS)
    _counts("simulated.csv", [1, 1, 0], None, STUDY, "--simulated")
    assert "made the reports, whether they are simulated" in _tally("real.csv")
    assert not load_tallies("t.json")["smokes"].simulated
    Path("t.json").unlink()
    assert "--allow-simulated" in _tally("real.csv", "simulated.csv", ok=False)
    _tally("real.csv", "simulated.csv", "--allow-simulated")
    assert load_tallies("t.json")["smokes"].simulated
    said = _tally("simulated.csv")
    assert "simulated.csv: these reports are simulated" in said
    assert "whether they are simulated" not in said
    assert load_tallies("t.json")["smokes"].simulated


def test_results_of_several_tables_are_added() -> None:
    _counts("a.csv", REPORTS)
    _counts("b.csv", [1, 1])
    _counts("none.csv", [])
    said = _tally("a.csv", "b.csv", "none.csv")
    assert "none.csv: the table had no rows, so it adds nothing." in said
    together = load_tallies("t.json")
    assert together["smokes"].counts.tolist() == [2, 5]
    _tally(_counts("all.csv", [*REPORTS, 1, 1]))
    assert load_tallies("t.json") == together
    done = run("tally", "--counts", "a.csv", "--counts", "b.csv", "--study", "study.toml")
    assert '"counts": [2, 5]' in done.stdout
    _counts("g.csv", REPORTS, WARDS)
    _counts("h.csv", [0, 1], ["south", "south"])
    _tally("g.csv", "h.csv")
    assert load_tallies("t.json")["smokes"].total().counts.tolist() == [3, 4]
    Path("t.json").unlink()
    assert "MismatchError" not in _tally("a.csv", "g.csv", ok=False)


def test_a_result_is_read_from_standard_input() -> None:
    text = Path(_counts("c.csv", REPORTS)).read_text()
    run("tally", "--counts", "-", "--study", "study.toml", "-o", "t.json", text=text)
    assert load_tallies("t.json")["smokes"].counts.tolist() == [2, 3]


def test_a_result_given_twice_is_refused() -> None:
    _counts("a.csv", REPORTS)
    Path("copy.csv").write_bytes(Path("a.csv").read_bytes())
    assert "must not be added twice" in _tally("a.csv", "a.csv", ok=False)
    assert "a.csv and copy.csv, which have equal counts" in _tally("a.csv", "copy.csv", ok=False)
    _tally("a.csv", "copy.csv", "--allow-equal")
    assert load_tallies("t.json")["smokes"].n == 10


def test_a_group_of_two_results_is_refused() -> None:
    """Rejects one result of all wards, and one of a single ward, whose people are in the first."""
    study = STUDY.replace('["no", "yes"]', str([f"v{i}" for i in range(64)]))
    Path("study.toml").write_text(study)
    reports = [7 * i % 64 for i in range(1501)]
    wards = ["north" if i % 3 else "south" for i in range(1501)]
    south = [r for r, w in zip(reports, wards, strict=True) if w == "south"]
    both = (
        _counts("all.csv", reports, wards, study),
        _counts("s.csv", south, ["south"] * 501, study),
    )
    said = " ".join(_tally(*both, ok=False).split())
    assert (
        "all.csv and s.csv, which have equal counts in the group south: must not be counted twice. Leave out one"
        in said
    )
    _tally(*both, "--allow-equal")
    assert load_tallies("t.json")["smokes"].n == 2002
    for name in both:
        run("tally", "--counts", name, "--study", "study.toml", "-o", f"{name}.json")
    refused = ("estimate", "all.csv.json", "s.csv.json", "--by", "ward")
    assert "in the group south" in run(*refused, ok=False).stderr
    run(*refused, "--allow-equal")


def test_a_file_that_a_pattern_counts_twice_is_refused() -> None:
    """Rejects twice as many people in a week, of whom a copy of its file was counted too."""
    study = STUDY.replace('["no", "yes"]', str([f"v{i}" for i in range(64)]))
    Path("study.toml").write_text(study)
    reports = [i % 64 for i in range(1500)]
    wards = ["north" if i % 3 else "south" for i in range(1500)]
    south = [(r, w) for r, w in zip(reports, wards, strict=True) if w == "south"]
    more = [*reports, *(r for r, _ in south)], [*wards, *(w for _, w in south)]
    _tally(_counts("once.csv", reports, wards, study))
    said = _tally(_counts("south.csv", *more, study), "--allow-equal")
    assert "a report is in the table twice" in " ".join(said.split())
    Path("t.json").unlink()
    refused = _tally("south.csv", ok=False)
    assert "all counts of ward south are even numbers" in refused and "--allow-equal" in refused
    assert "all counts are even numbers. Look for files that were loaded twice" in _tally(
        _counts("all.csv", reports * 2, None, study), ok=False
    )
    thrice = _tally(_counts("thrice.csv", reports * 3, None, study), ok=False)
    assert "hold each report 3 times, because all counts are multiples of 3." in thrice


def test_a_part_that_a_table_holds_under_two_names_is_refused() -> None:
    """Rejects a table of which the rows of one ward were loaded as another one too."""
    study = STUDY.replace('["no", "yes"]', str([f"v{i}" for i in range(64)]))
    Path("study.toml").write_text(study)
    mechanism = Study.parse(study).mechanisms["smokes"]
    values = [f"v{i}" for i in range(64)] * 20
    reports = mechanism.randomize(values, np.random.default_rng(5)).columns["report"].tolist()
    wards = ["north"] * len(reports) + ["south"] * len(reports)
    path = _counts("c.csv", reports * 2, wards, study)
    Path("c.csv").write_text(Path(path).read_text())
    refused = _tally("c.csv", ok=False)
    assert "of c.csv and the group" in refused and "which have equal counts" in refused


def test_a_table_without_rows_is_said_to_be_one() -> None:
    for wards in (None, []):
        said = _tally(_counts("none.csv", [], wards), ok=False)
        assert "none.csv: holds no reports, because the table has no rows" in said
    assert "no table has rows" in _tally("none.csv", _counts("b.csv", []), ok=False)


def _rows(text: str, mark: str, quote: str = '"', null: str = "") -> str:
    """The same table with another delimiter, all cells quoted, and NULL spelt."""
    cells = [[cell or null for cell in row] for row in csv.reader(text.splitlines())]
    return "".join(mark.join(f"{quote}{c}{quote}" for c in row) + "\n" for row in cells)


FORMS: dict[str, Callable[[str], bytes]] = {
    "psql --csv": lambda t: t.encode(),
    "psql -A": lambda t: (_rows(t, "|", "") + "(6 rows)\n").encode(),
    "bq": lambda t: f"\nWaiting on bqjob_r1 ... (0s) Current status: DONE   \n{t}".encode(),
    "snowsql": lambda t: (
        f"* SnowSQL * v1.2.28\nType SQL statements or !help\n{_rows(t.upper().partition(chr(10))[0], ',')}"
        f"{_rows(t.partition(chr(10))[2], ',')}6 Row(s) produced. Time Elapsed: 0.532s\n"
    ).encode(),
    "spark-sql": lambda t: (
        _rows(t, "\t", "", "NULL") + "Time taken: 1.2 seconds, Fetched 6 row(s)\n"
    ).encode(),
    "COPY INTO": lambda t: _rows(t, ",", '"', "\\N").encode(),
    "Excel": lambda t: b"\xef\xbb\xbf" + _rows(t, ";", "").replace("\n", "\r\n").encode(),
    "PowerShell": lambda t: t.replace("\n", "\r\n").encode("utf-16"),
}  # fmt: skip


@pytest.mark.parametrize("tool", list(FORMS))
def test_results_are_read_as_each_tool_writes_them(tool: str) -> None:
    _counts("c.csv", REPORTS, WARDS)
    _tally("c.csv")
    wanted = load_tallies("t.json")
    Path("of tool.csv").write_bytes(FORMS[tool](Path("c.csv").read_text().replace("\r", "")))
    _tally("of tool.csv")
    assert load_tallies("t.json") == wanted


@pytest.mark.parametrize(
    "content, words",
    [
        (b"\x1f\x8b\x08\x00", "is compressed by gzip. Unpack the file with gunzip."),
        (b"PAR1\x15\x04", "is a Parquet file, not the result"),
        (b"PK\x03\x04abc", "looks like an Excel file, but cannot be read"),
        (b"", "must have the columns attribute, part, value, reports"),
        (b" attribute | part | value\n-----+---\n", "must have the columns"),
        (b'attribute,part,value,reports\n"a,b\n', "cannot be read as CSV"),
    ],
)
def test_other_files_are_refused_with_the_remedy(content: bytes, words: str) -> None:
    Path("x.csv").write_bytes(content)
    assert words in _tally("x.csv", ok=False)


def test_counts_of_checks_that_were_cut_off_are_refused() -> None:
    """A check that counts fewer rows than the table has did not look at every row."""
    plan = Study.parse("""
        [attributes.age]
        integers = [0, 20]
        mechanism = "SubsetSelection"
        epsilon = 1.0
    """)
    reports = plan.mechanisms["age"].randomize([0, 7, 20])
    columns = plan.mechanisms["age"].schema.to_file(reports.columns)
    text = count_statement(plan.mechanisms, "reports", "duckdb", study=plan.digest)
    with duckdb.connect(":memory:") as database:
        database.register("reports", pa.table({f"age_{n}": c for n, c in columns.items()}))
        rows = [list(map(str, row)) for row in database.execute(text).fetchall()]
    next(row for row in rows if row[1].startswith("check"))[3] = "2"
    lines = [["attribute", "part", "value", "reports"], *rows]
    Path("c.csv").write_text("".join(",".join(line) + "\n" for line in lines))
    with pytest.raises(FileError, match="counts 2 reports, but the table has 3 rows"):
        read_counts("c.csv").tallies(plan.mechanisms, plan.public, plan.digest)


def test_a_group_of_answers_that_were_not_randomised_is_named_among_many_people() -> None:
    """Rejects a test of the sum alone, in which the raw answers of one week are lost."""
    study = STUDY.replace('["no", "yes"]', '["no", "rarely", "yes"]')
    study = study.replace('["north", "south"]', '["north", "south", "east"]')
    Path("study.toml").write_text(study)
    mechanism = Study.parse(study).mechanisms["smokes"]
    honest = mechanism.randomize(["no", "rarely", "yes"] * 10_000, np.random.default_rng(3))
    raw = [0] * 300
    reports = [*honest.columns["report"].tolist(), *raw]
    wards = ["north"] * 15_000 + ["south"] * 15_000 + ["east"] * len(raw)
    path = _counts("c.csv", reports, wards, study)
    refused = _tally(path, ok=False)
    assert "group 'east' of 'smokes' in c.csv: has counts that chance cannot explain" in refused
    _tally(path, "--allow-implausible")
    Path("t.json").unlink()
    _tally(_counts("d.csv", reports[: -len(raw)], wards[: -len(raw)], study))
    Path("t.json").unlink()
    # Of several files each is tested alone: in the sum of the two nobody sees the raw answers.
    other = _counts("e.csv", raw, None, study)
    refused = _tally(_counts("f.csv", reports[: -len(raw)], None, study), other, ok=False)
    assert "'smokes' in e.csv: has counts that chance cannot explain" in refused
