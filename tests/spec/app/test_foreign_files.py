"""Report files that other programs wrote are counted as a study says, and what is missing is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from click.testing import CliRunner

from tests.spec.app._command import run
from warner import Categorical, RandomizedResponse, Reports, Study
from warner.app.cli import main
from warner.errors import ArgumentError, ArgumentTypeError, MismatchError, ReportError
from warner.io.foreign_files import open_foreign, tally_foreign
from warner.reports.tally import Tally, load_tallies

STUDY = """
[public.ward]
values = ["north", "south"]
[attributes.setting]
values = ["a", "b", "c"]
mechanism = "RandomizedResponse"
epsilon = 1.0
[attributes.long]
integers = [0, 20]
mechanism = "SubsetSelection"
epsilon = 1.0
"""
PLAN = Study.parse(STUDY)
N = 60
_RNG = np.random.default_rng(5)
REPORTS = {
    "setting": PLAN.mechanisms["setting"].randomize(["a", "b", "c"] * 20, _RNG),
    "long": PLAN.mechanisms["long"].randomize(np.arange(N) % 21, _RNG),
}
# What a Spark job writes: integers of 64 bits, and no header.
TABLE = pa.table(
    {
        "ward": ["north", "south", "south"] * 20,
        "said": pa.array(REPORTS["setting"].columns["report"], pa.int64()),
        **{f"long_bits_{i}": pa.array(REPORTS["long"].columns["bits"][:, i], pa.int64()) for i in range(3)},
    }
)  # fmt: skip


def _wanted() -> dict[str, Tally]:
    real = {a: Reports(r.header, r.columns) for a, r in REPORTS.items()}
    return {a: PLAN.mechanisms[a].tally(r) for a, r in real.items()}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path


def _write(table: Any) -> list[str]:
    """The same table as Parquet, as CSV with commas and semicolons, and as Spark's folder."""
    pa.parquet.write_table(table, "one.parquet")
    pa.csv.write_csv(table, "one.csv")
    pa.csv.write_csv(table, "semicolons.csv", pa.csv.WriteOptions(delimiter=";"))
    Path("spark.parquet").mkdir()
    for i, part in enumerate((table[:25], table[25:])):
        pa.parquet.write_table(part, f"spark.parquet/part-{i}.parquet")
    Path("spark.parquet/_SUCCESS").write_text("")
    return ["one.parquet", "one.csv", "semicolons.csv", "spark.parquet"]


def test_files_of_other_programs_are_counted_as_the_study_says(folder: Path) -> None:
    for path in _write(TABLE):
        done = run(
            "tally", path, "--study", "study.toml", "--column", "setting=said", "-o", "t.json"
        )
        assert done.exit_code == 0, done.output
        assert "written by another program, 60 rows" in done.stderr
        assert "Not checked, because the file" in done.stderr
        assert load_tallies("t.json") == _wanted(), path
    done = run("tally", path, "--study", "study.toml", "--column", "setting.report=said", "--by", "ward", "-o", "g.json")  # fmt: skip
    assert {key: t.n for key, t in load_tallies("g.json")["setting"].items()} == {
        ("north",): 20,
        ("south",): 40,
    }


def test_a_file_that_does_not_say_it_is_simulated_can_be_told(folder: Path) -> None:
    """Rejects a tally of simulated reports that passes for one of real people."""
    pa.parquet.write_table(TABLE, "plain.parquet")
    of_study = ("--study", "study.toml", "--column", "setting=said", "-o", "t.json")
    for more in ((), ("--checkpoint", "c.jsonl"), ("--checkpoint", "c.jsonl")):
        done = run("tally", "plain.parquet", *of_study, *more, "--simulated")
        assert "these reports are simulated, because they were made with a seed" in done.stderr
        assert "whether the reports are simulated" not in done.stderr
        assert load_tallies("t.json") == {a: t.marked() for a, t in _wanted().items()}
    run("tally", "plain.parquet", *of_study, "--checkpoint", "c.jsonl")
    assert load_tallies("t.json") == _wanted()
    settings = STUDY[: STUDY.index("[attributes.long]")]
    Path("setting.toml").write_text(settings)
    Path("counts.csv").write_text(
        "attribute,value,count\nsetting,a,30\nsetting,b,30\nsetting,c,9\n"
    )
    run("tally", "--counts", "counts.csv", "--study", "setting.toml", "--simulated", "-o", "t.json")
    assert load_tallies("t.json")["setting"].simulated


def test_a_file_that_does_not_say_its_study_is_a_warning_or_refused(folder: Path) -> None:
    """Also with --quiet, because reports of another epsilon would be counted."""
    pa.parquet.write_table(TABLE, "plain.parquet")
    counted = ("--study", "study.toml", "--column", "setting=said", "-o", "t.json")
    done = run("-q", "tally", "plain.parquet", *counted)
    assert "WARNING: plain.parquet: written by another program" in done.stderr
    Path("t.json").unlink()
    strict = ("--require-headers", "--checkpoint", "c.jsonl")
    for _ in range(2):
        done = run("tally", "plain.parquet", *counted, *strict, ok=False)
        assert (
            "plain.parquet: was written by another program, so it does not say whether its reports"
            in done.stderr
        )
        assert not Path("t.json").exists()


def test_raw_codes_are_refused_with_the_flag_and_warned_of_without(folder: Path) -> None:
    """Of few labels, the shares of raw answers may look like reports."""
    raw = TABLE.set_column(1, "said", pa.array([0, 1, 2] * 20, pa.int64()))
    pa.parquet.write_table(raw, "raw.parquet")
    counted = ("--study", "study.toml", "--column", "setting=said", "-o", "t.json")
    said = run("-q", "tally", "raw.parquet", *counted).stderr
    assert (
        "Answers that were not randomised can look the same. If you know that all these reports are of this study, add --of-this-study. To refuse files from other programs, add --require-headers"
        in said
    )
    assert "'setting' by RandomizedResponse with epsilon 1.0, where 0 = a" in said
    Path("t.json").unlink()
    refused = run("tally", "raw.parquet", *counted, "--require-headers", ok=False)
    assert refused.exit_code == 1 and not Path("t.json").exists()
    assert "write --of-this-study in place of --require-headers." in refused.stderr


def test_parquet_on_standard_input_is_counted_and_named(folder: Path) -> None:
    """Rejects a Parquet file that is taken for CSV, and a message about a temporary file."""
    pa.parquet.write_table(TABLE, "plain.parquet")
    counted = ["tally", "-", "--study", "study.toml", "--column", "setting=said", "-o", "t.json"]
    data = Path("plain.parquet").read_bytes()
    done = CliRunner().invoke(main, counted, input=data)
    assert done.exit_code == 0 and load_tallies("t.json")["setting"].n == TABLE.num_rows
    refused = CliRunner().invoke(main, counted, input=data[:-40])
    assert refused.exit_code == 1 and ".warner-" not in refused.stderr
    assert "standard input" in refused.stderr


def test_who_says_that_all_reports_are_of_the_study_is_not_warned_each_night(
    folder: Path,
) -> None:
    """Rejects a warning after the statement, and one by which counts are taken as they are."""
    pa.parquet.write_table(TABLE, "plain.parquet")
    columns = ("--column", "setting=said", "-o", "t.json")
    counted = ("--study", "study.toml", *columns)
    assert run("-q", "tally", "plain.parquet", *counted, "--of-this-study").stderr == ""
    assert load_tallies("t.json") == _wanted()
    unchecked = (
        "which mechanism and epsilon made the reports",
        "whether the reports are simulated",
        "whether the file is complete",
    )
    assert {tally.unchecked for tally in load_tallies("t.json").values()} == {unchecked}
    done = run("tally", "plain.parquet", *counted, "--of-this-study")
    assert "Not checked, because the file" in done.stderr and "WARNING" not in done.stderr
    done = run("tally", "plain.parquet", *columns, "--of-this-study", ok=False)
    assert "--of-this-study: needs --study" in done.stderr
    raw = TABLE.set_column(1, "said", pa.array([0] * 60, pa.int64()))
    pa.parquet.write_table(raw, "raw.parquet")
    done = run("tally", "raw.parquet", *counted, "--of-this-study", ok=False)
    assert "chance cannot explain" in done.stderr


@pytest.mark.parametrize("by", [(), ("--by", "day")], ids=["all", "by day"])
@pytest.mark.parametrize("damaged", ["said", "day"])
@pytest.mark.parametrize("kind", ["int32", "float32"])
def test_a_page_that_does_not_fit_its_checksum_is_refused(
    folder: Path, by: tuple[str, ...], damaged: str, kind: str
) -> None:
    """Rejects counts of reports that were changed on a disk or on their way, bit by bit."""
    said = np.array(REPORTS["setting"].columns["report"]).astype(kind)
    days = np.arange(len(said), dtype=np.int32) % 7 + 20_000
    table = pa.table({"said": said, "day": pa.array(days).cast(pa.date32())})
    options: dict[str, Any] = {"compression": "none", "use_dictionary": False}
    counted = ("--study", "setting.toml", "--column", "setting=said", *by, "-o", "t.json")
    questions = STUDY[: STUDY.index("[attributes.long]")]
    Path("setting.toml").write_text(f'{questions}[public.day]\ndates = "day"\n')
    pa.parquet.write_table(table, "whole.parquet", write_page_checksum=True, **options)
    run("tally", "whole.parquet", *counted)
    data = bytearray(Path("whole.parquet").read_bytes())
    place = data.index((said if damaged == "said" else days).tobytes())
    # Another report that somebody can send, or another day.
    if damaged == "day":
        data[place] ^= 1
    else:
        other = place + 4 * int(np.flatnonzero(said != said[0])[0])
        data[place : place + 4] = data[other : other + 4]
    Path("changed.parquet").write_bytes(data)
    done = run("tally", "changed.parquet", *counted, ok=bool(damaged == "day" and not by))
    is_seen = "changed.parquet: has a part that was damaged" in done.stderr
    assert is_seen is (damaged == "said" or bool(by))


def test_a_damaged_page_is_refused_where_rows_are_read_in_parts(folder: Path) -> None:
    """Rejects a comparison of checksums only where columns are counted in the database."""
    Path("long.toml").write_text(STUDY.replace(STUDY[: STUDY.index("[attributes.long]")], ""))
    columns = [f"long_bits_{i}" for i in range(3)]
    options: dict[str, Any] = {"compression": "none", "use_dictionary": False}
    pa.parquet.write_table(
        TABLE.select(columns), "whole.parquet", write_page_checksum=True, **options
    )
    data = bytearray(Path("whole.parquet").read_bytes())
    place = data.index(TABLE["long_bits_0"].to_numpy().tobytes())
    for number in range(N):  # reports of the same number of ones
        start = place + 8 * number
        data[start] = int(f"{data[start]:08b}"[::-1], 2)
    Path("changed.parquet").write_bytes(data)
    counted = ("--study", "long.toml", "--keep-reports", "-o", "t.json")
    run("tally", "whole.parquet", *counted)
    said = run("tally", "changed.parquet", *counted, ok=False).stderr
    assert "changed.parquet: has a part that was damaged" in said


def test_a_missing_whole_number_of_pandas_is_no_damage(folder: Path) -> None:
    """Rejects the advice to copy a file again whose column of reports has NaN."""
    gaps = np.array(REPORTS["setting"].columns["report"], dtype=np.float64)
    gaps[3] = np.nan
    pa.parquet.write_table(TABLE.set_column(1, "said", pa.array(gaps)), "gaps.parquet")
    counted = ("--study", "study.toml", "--column", "setting=said", "-o", "t.json")
    refused = run("tally", "gaps.parquet", *counted, ok=False).stderr
    assert (
        "must have only whole numbers in its columns of reports, and not NaN" in refused
        and "damaged" not in refused
    )


def test_a_file_that_holds_each_report_twice_is_refused_in_any_order(folder: Path) -> None:
    values = [str(i) for i in range(40)]
    Path("many.toml").write_text(
        f'[attributes.code]\nvalues = {values}\nmechanism = "RandomizedResponse"\nepsilon = 1.0\n'
    )
    mechanism = RandomizedResponse(Categorical(values), 1.0)
    codes = mechanism.randomize(values * 50, np.random.default_rng(1)).columns["report"]
    twice = np.random.default_rng(2).permutation(np.concatenate([codes, codes]))
    pa.parquet.write_table(pa.table({"code_report": pa.array(twice, pa.int64())}), "twice.parquet")
    counted = ("tally", "twice.parquet", "--study", "many.toml", "-o", "t.json")
    refused = run(*counted, ok=False)
    assert "twice.parquet: seems to hold each report twice" in refused.stderr
    assert "all counts are even numbers." in refused.stderr and not Path("t.json").exists()
    assert run(*counted, "--allow-equal").exit_code == 0


def test_even_counts_that_chance_hardly_makes_are_a_warning(folder: Path) -> None:
    """Rejects silence on 20 even counts, and a warning of 5, or of one file in a thousand."""
    Path("apps.toml").write_text(
        '[attributes.app]\nvalues = ["a", "b", "c", "d", "e"]\nmechanism = "RandomizedResponse"\n'
        'epsilon = 1.0\n[public]\nregion = { values = ["n", "s", "e", "w"] }\n'
        "half = { values = [1, 2] }\n"
    )
    Path("lake").mkdir()
    rng = np.random.default_rng(3)
    columns = {"app_report": 5, "region": list("nsew"), "half": [1, 2]}
    rows = pa.table({name: rng.choice(values, 4000) for name, values in columns.items()})
    pa.parquet.write_table(pa.concat_tables([rows, rows]), "lake/0.parquet")
    counted = ("tally", "lake", "--study", "apps.toml", "--of-this-study", "-o", "t.json")
    strict = ("-q", "--strict", *counted)
    may = "may hold each report twice, because all counts are even numbers. Chance makes such"
    said = run("-q", *counted, "--by", "region").stderr
    assert said.count(f"WARNING: lake {may}") == said.count("WARNING") == 1
    assert may in run(*strict, "--by", "region", ok=False).stderr
    assert run(*strict, "--by", "region", "--allow-equal").stderr == ""
    assert run(*strict).stderr == ""
    for i in (1, 2):  # of other files, the sum is odd
        pa.parquet.write_table(rows.slice(i, 1001 * i), f"lake/{i}.parquet")
    assert run(*strict, "--by", "region").stderr == ""
    said = run("-q", *counted, "--by", "region,half").stderr
    assert said.count(f"lake/0.parquet {may}") == said.count("WARNING") == 1


def test_columns_that_are_missing_are_named_beside_those_that_are_there(folder: Path) -> None:
    _write(TABLE)
    done = run("tally", "one.parquet", "--study", "study.toml", ok=False)
    assert done.exit_code == 1
    assert (
        "no setting_report among ward, said, long_bits_0, long_bits_1, long_bits_2" in done.stderr
    )
    # The first line of a text file may hold answers by mistake.
    done = run("tally", "one.csv", "--study", "study.toml", ok=False)
    assert "no setting_report among the 5 names in its first line" in done.stderr
    assert "said" not in done.stderr


@pytest.mark.parametrize(
    "bad, rule",
    [(3, "must be from 0 to 2"), (None, "must have a report in each row"), (-1, "must be from")],
)
def test_reports_that_nobody_can_have_sent_are_refused(
    folder: Path, bad: int | None, rule: str
) -> None:
    said = [*TABLE["said"].to_pylist()[:-1], bad]
    for path in _write(TABLE.set_column(1, "said", pa.array(said, pa.int64())))[:2]:
        done = run(
            "tally",
            path,
            "--study",
            "study.toml",
            "--column",
            "setting=said",
            "-o",
            "t.json",
            ok=False,
        )
        assert done.exit_code == 1 and rule in done.stderr and not Path("t.json").exists()


def test_numbers_that_are_not_whole_are_no_reports(tmp_path: Path) -> None:
    """The database rounds 0.4 to 0, and so would count answers as reports."""
    coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    path = tmp_path / "a.csv"
    path.write_text("report,day\n0,1\n 1,2\n1.0,3\n")
    assert tally_foreign(open_foreign(str(path)), {"q": coin})["q"].n == 3
    for text in ("0.4", "1e0", "0x1", "1_0", "one", ""):
        path.write_text(f"report,day\n0,1\n{text},2\n")
        words = (
            "data row 2 of column report has no whole number. The file may be damaged"
            if text
            else "must have a report in each row"
        )
        with pytest.raises(ReportError, match=words) as caught:
            tally_foreign(open_foreign(str(path)), {"q": coin})
        assert not text or f"got {text}" not in str(caught.value), text


def test_answers_given_by_mistake_are_not_shown(folder: Path) -> None:
    Path("answers.csv").write_text("secretone,secrettwo\nsecretthree,secretfour\n")
    Path("more.csv").write_text("said,long_bits_0,long_bits_1,long_bits_2\nsecretthree,1,2,3\n")
    for path in ("answers.csv", "more.csv"):
        done = run("tally", path, "--study", "study.toml", "--column", "setting=said", ok=False)
        assert done.exit_code == 1 and "secret" not in done.output


def test_files_without_a_header_need_a_study_and_count_once(folder: Path) -> None:
    _write(TABLE)
    for path in ("one.parquet", "spark.parquet"):
        assert "--study" in run("tally", path, ok=False).stderr
        done = run("tally", path, "--column", "setting=said", ok=False)
        assert "--column: needs --study, which says what the reports are" in done.stderr
    Path("copy.parquet").write_bytes(Path("one.parquet").read_bytes())
    done = run(
        "tally",
        "one.parquet",
        "copy.parquet",
        "--study",
        "study.toml",
        "--column",
        "setting=said",
        ok=False,
    )
    assert done.exit_code == 1 and "counted twice" in done.stderr
    for text in ("said", "colour=said", "=said"):
        done = run("tally", "one.parquet", "--study", "study.toml", "--column", text, ok=False)
        assert done.exit_code == 1 and "column" in done.stderr


def test_a_study_tallies_frames_and_reports() -> None:
    assert PLAN.tally(TABLE, columns={"setting": "said"}) == _wanted()
    assert {a: t.marked() for a, t in _wanted().items()} == PLAN.tally(REPORTS)
    with pytest.raises(ReportError, match="no setting_report among ward, said"):
        PLAN.tally(TABLE)
    with pytest.raises(ArgumentError, match="attributes of the study"):
        PLAN.tally(TABLE, columns={"colour": "said"})
    with pytest.raises(ArgumentTypeError, match="a data frame"):
        PLAN.tally([1, 2])
    with pytest.raises(MismatchError):
        PLAN.tally({"setting": REPORTS["long"]})


@pytest.mark.parametrize(
    "command", ["tally", "tally --study study.toml", "estimate", "merge", "audit"]
)
@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl", "xlsx"])
def test_answers_in_place_of_reports_are_to_be_randomised_first(
    folder: Path, command: str, ending: str
) -> None:
    answers = pa.table({"setting": ["a", "b"] * 9, "long": [7, 8] * 9})
    with open("answers", "wb") as file:
        if ending == "csv":
            pyarrow.csv.write_csv(answers, file)
        elif ending == "parquet":
            pyarrow.parquet.write_table(answers, file)
        else:
            file.write(b'{"setting": "a", "long": 7}\n{"setting": "b", "long": 8}\n')
    name = str(Path("answers").rename(f"answers.{ending}"))
    if command == "audit" and ending in ("jsonl", "xlsx"):
        return  # any other file is taken for a study there
    first, *rest = command.split()
    output = ["-o", "out.json"] if first in ("tally", "merge") else []
    said = run(first, name, *rest, *output, ok=False).stderr
    hint = "If these are answers, randomise them first. Run: warner randomize STUDY FILE"
    assert hint in said.split("program")[0]
    assert not Path("out.json").exists()


def test_a_study_without_a_card_gets_no_advice_on_cards(folder: Path) -> None:
    """Rejects a list of what else the file might be, where the study says how people answered."""
    Path("x.csv").write_text("setting,long\na,7\n")
    refused = run("tally", "x.csv", "--study", "study.toml", "-o", "t.json", ok=False).stderr
    assert "randomise them first" in refused and "card" not in refused


def test_labels_in_a_column_of_reports_are_answers(folder: Path) -> None:
    Path("x.csv").write_text("said,long_bits_0,long_bits_1,long_bits_2\na,1,1,1\n")
    count = ("tally", "x.csv", "--study", "study.toml", "--column", "setting=said", "-o", "t.json")
    assert (
        "data row 1 of column said has an answer instead of a report"
        in run(*count, ok=False).stderr
    )
    Path("x.csv").write_text("said,long_bits_0,long_bits_1,long_bits_2\nz,1,1,1\n")
    assert "data row 1 of column said has no whole number" in run(*count, ok=False).stderr


def test_ten_files_have_one_note(folder: Path) -> None:
    names = [f"{i}.parquet" for i in range(10)]
    for i, name in enumerate(names):
        pa.parquet.write_table(TABLE[: 50 + i], name)
    count = ("--study", "study.toml", "--column", "setting=said", "-o", "t.json", "--allow-equal")
    said = run("tally", *names, *count).stderr
    assert (
        said.count("written by another program") == 1 == said.count("Not checked, because the file")
    )
    assert "0.parquet and 9 others: written by another program, 545 rows in 10 files" in said
    said = run("tally", *names[:2], *count).stderr
    assert "0.parquet and 1.parquet: written by another program, 101 rows in 2 files" in said


def test_a_report_file_that_a_spreadsheet_saved_is_no_file_of_answers(folder: Path) -> None:
    Path("saved.csv").write_text('"#warner {""format"":""warner-reports""","schema:2"\nx\n0\n')
    said = run("tally", "saved.csv", "-o", "t.json", ok=False).stderr
    assert "saved by another program. Use the file as warner wrote" in said


def test_a_file_of_counts_may_leave_out_questions_without_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects a refusal of the counts of a question because of one that the file does not count."""
    monkeypatch.chdir(tmp_path)
    theme = (
        '[attributes.theme]\nvalues = ["a", "b"]\nmechanism = "RandomizedResponse"\nepsilon = 1.0\n'
    )
    Path("two.toml").write_text(
        theme + theme.replace("theme", "error").replace("RandomizedResponse", "UnaryEncoding")
    )
    Path("counts.csv").write_text("attribute,value,count\ntheme,a,300\ntheme,b,310\n")
    run("tally", "--counts", "counts.csv", "--study", "two.toml", "-o", "t.json")
    assert {name: t.n for name, t in load_tallies("t.json").items()} == {"theme": 610}
    Path("counts.csv").write_text("attribute,value,count\ntheme,a,300\ntheme,b,310\nerror,a,1\n")
    said = run("tally", "--counts", "counts.csv", "--study", "two.toml", "-o", "t.json", ok=False)
    assert "cannot have counts of 'error', whose reports are not single words" in said.stderr
