"""The command line and study files, as a user meets them."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

import warner
from warner.app.cli import main
from warner.io import (
    ReportWriter,
    open_reports,
    read_reports,
    read_values,
    tally_file,
    write_reports,
)
from warner.io.file_seal import seal
from warner.reports.tally import load_tallies

STUDY = """
title = "test"
budget = 3.0
[attributes.smokes]
values = ["no", "yes"]
mechanism = "RandomizedResponse"
epsilon = 1.0
[attributes.age]
integers = [0, 9]
mechanism = "UnaryEncoding"
keep = "optimized"
epsilon = 1.5
"""
SECRET = "secret-7391"


def run(*args: str, text: str | None = None, ok: bool = True) -> Result:
    result = CliRunner().invoke(main, list(args), input=text)
    assert (result.exit_code == 0) is ok, result.output + str(result.exception)
    assert ok or result.exception is None or isinstance(result.exception, SystemExit), (
        result.exception
    )
    assert "Traceback" not in result.output
    return result


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY)
    rng = np.random.default_rng(0)
    smokes = np.where(rng.random(3000) < 0.3, "yes", "no")
    Path("answers.csv").write_text(
        "age,smokes,other\n"
        + "".join(f"{a},{s},x\n" for a, s in zip(rng.integers(0, 10, 3000), smokes, strict=True))
    )
    return tmp_path


def test_answers_become_shares_through_files_and_pipes(here: Path) -> None:
    for suffix in ("csv", "parquet"):
        run("randomize", "study.toml", "answers.csv", "-o", f"r.{suffix}")
        run("tally", f"r.{suffix}", "-o", f"{suffix}.json", "--study", "study.toml")
    run("merge", "csv.json", "parquet.json", "-o", "all.json")
    tallies = load_tallies("all.json")
    assert {name: t.n for name, t in tallies.items()} == {"smokes": 6000, "age": 6000}
    table = run("estimate", "all.json").stdout
    assert re.search(r"yes +0\.[23]\d+ +0\.\d+ \.\. 0\.\d+ +[12],\d+", table)
    assert "population that these people were drawn from" in table and "95 % interval" in table
    # The same through standard input and output.
    reports = run("randomize", "study.toml", text=Path("answers.csv").read_text()).stdout
    piped = run("tally", "-", text=reports).stdout
    shares = json.loads(
        run(
            "estimate", "-", "--json", "-", "-m", "mle", "--target", "respondents", text=piped
        ).stdout
    )
    assert [e["attribute"] for e in shares] == ["smokes", "age"] and shares[0]["interval"][
        "target"
    ] == "respondents"
    rows = list(
        csv.DictReader(
            io.StringIO(run("estimate", "r.parquet", "--csv", "-", "--only", "age").stdout)
        )
    )
    assert [r["value"] for r in rows] == [str(i) for i in range(10)]


def test_answers_may_come_from_parquet_or_as_bare_lines(here: Path) -> None:
    pq.write_table(
        pa.table(
            {
                "smokes": pa.array(["no", "yes"]).dictionary_encode(),
                "age": pa.array([1, 2], pa.int8()),
            }
        ),
        "a.parquet",
    )
    run("randomize", "study.toml", "a.parquet", "-o", "r.parquet")
    assert len(read_reports("r.parquet")["smokes"]) == 2
    Path("one.toml").write_text(
        '[attributes.q]\nvalues = ["no", "yes"]\nmechanism = "RandomizedResponse"\nepsilon = 1.0\n'
    )
    assert "2 people" in run("randomize", "one.toml", "--bare", text="no\nyes\n").stderr
    Path("n.toml").write_text(
        '[attributes.x]\ninterval = { low = 0, high = 1, bins = 4 }\nmechanism = "HadamardResponse"\nepsilon = 1\n'
        '[attributes.b]\nvalues = [true, false]\nmechanism = "LocalHashing"\nseeds = 16\nepsilon = 1\n'
        '[attributes.k]\nvalues = [3, 1]\nmechanism = "SubsetSelection"\nepsilon = 1\n'
        '[attributes.c]\nvalues = ["u", "v"]\nmechanism = "ChannelMechanism"\nmatrix = [[0.6, 0.4], [0.4, 0.6]]\nepsilon = 1\n'
    )
    run("randomize", "n.toml", "-o", "n.parquet", text="x,b,k,c\n0.25,true,3,u\n1e0,False,1,v\n")
    assert run("audit", "n.parquet").stdout.count(" yes ") == 4


def test_audit_reads_studies_reports_and_tallies(here: Path) -> None:
    run("randomize", "study.toml", "answers.csv", "-o", "r.csv")
    run("tally", "r.csv", "-o", "t.json")
    for file in ("study.toml", "r.csv", "t.json"):
        data = json.loads(run("audit", file, "--json", "--samples", "2000").stdout)
        assert data["smokes"]["holds"] and data["age"]["epsilon"] == pytest.approx(1.5, abs=1e-9)


BAD_LINES = [
    *(f"3,{SECRET}", f"{SECRET},no", f"3,no,{SECRET}", "3"),
    *(
        "10,no",
        "-1,no",
        "3.0,no",
        ",no",
        "3,",
        "nan,no",
        "3,NO",
        "99999999999999999999,no",
        "+7391,no",
        "+3,no",
        "0x3,no",
        " 3,no",
    ),
]


@pytest.mark.parametrize("line", BAD_LINES)
def test_a_bad_answer_stops_everything_and_is_not_shown(here: Path, line: str) -> None:
    before = sorted(p.name for p in here.iterdir())
    text = "age,smokes\n" + "1,yes\n" * 5 + line + "\n"
    for output in ("r.csv", "r.parquet", "-"):
        result = run("randomize", "study.toml", "-o", output, text=text, ok=False)
        assert result.stdout == "" and result.stderr.startswith("Error: ")
        assert (
            SECRET not in result.output
            and "99999999" not in result.output
            and "7391" not in result.output
        )
        if line.count(",") == 1:
            assert "data row 6" in result.stderr
    assert sorted(p.name for p in here.iterdir()) == before


def test_bad_files_end_in_one_line(here: Path) -> None:
    run("randomize", "study.toml", "answers.csv", "-o", "r.csv")
    run("tally", "r.csv", "-o", "t.json")
    Path("empty.csv").write_text("")
    Path("header.csv").write_text("age,smokes\n")
    Path("latin.csv").write_bytes(b"age,smokes\n1,\xe9\n")
    Path("cut.json").write_text(Path("t.json").read_text()[:500])
    Path("other.toml").write_text(STUDY.replace("1.5", "1.6"))
    Path("fake.parquet").write_text("not parquet")
    cases = [
        ("randomize", "none.toml", "answers.csv"),
        ("randomize", "study.toml", "none.csv"),
        ("randomize", "study.toml", "empty.csv"),
        ("randomize", "study.toml", "header.csv"),
        ("randomize", "study.toml", "latin.csv"),
        ("randomize", "study.toml", "fake.parquet"),
        ("randomize", "study.toml", "answers.csv", "-o", "r.txt"),
        ("randomize", "study.toml", "answers.csv", "-o", "no/folder/r.csv"),
        ("tally", "none.csv"),
        ("tally", "answers.csv"),
        ("tally", "fake.parquet"),
        ("tally", "study.toml"),
        ("tally", "r.csv", "--study", "other.toml"),
        ("merge", "t.json", "cut.json"),
        ("merge", "none.json"),
        ("estimate", "study.toml"),
        ("estimate", "t.json", "-m", "best"),
        ("estimate", "t.json", "--only", "weight"),
        ("estimate", "t.json", "--level", "1"),
        ("estimate", "t.json", "--plot", "p.gif"),
        ("audit", "none"),
        ("audit", "answers.csv"),
    ]
    for case in cases:
        result = run(*case, ok=False)
        assert result.stdout == "" and "Error: " in result.stderr, case
    assert not Path("r.txt").exists() and not Path("p.gif").exists()


def test_tallies_of_other_studies_do_not_merge(here: Path) -> None:
    Path("other.toml").write_text(STUDY.replace("epsilon = 1.5", "epsilon = 1.6"))
    for name in ("study", "other"):
        run("randomize", f"{name}.toml", "answers.csv", "-o", f"{name}.csv")
        run("tally", f"{name}.csv", "-o", f"{name}.json")
    result = run("merge", "study.json", "other.json", ok=False)
    assert "different requested: 1.5 and 1.6" in result.stderr


@pytest.mark.parametrize("line", [f"3,no,{SECRET}", f"3,{SECRET}", f"{SECRET},no", f"+{SECRET},no"])
def test_no_error_carries_an_answer_with_it(here: Path, line: str) -> None:
    """Not in its text, its attributes, nor in the error that it arose from: a traceback would print
    them all.
    """
    Path("bad.csv").write_text(f"age,smokes\n1,yes\n{line}\n")
    with pytest.raises(warner.WarnerError) as caught:
        list(read_values("bad.csv", warner.Study.load("study.toml").domains))
    error: BaseException | None = caught.value
    while error is not None:
        assert SECRET not in f"{error} {error.args} {vars(error)}"
        error = error.__context__


def test_columns_of_other_types_are_refused_by_place(here: Path) -> None:
    domains = {"age": warner.Integers(0, 9)}
    for column in (
        pa.array([1.0, 2.0]),
        pa.array([True, False]),
        pa.array([1, 2], pa.timestamp("s")),
        pa.array([1, None]),
        pa.array([[1], [2]]),
    ):
        pq.write_table(pa.table({"age": column}), "typed.parquet")
        with pytest.raises(warner.errors.ValuesError, match=r"column 'age', data row [12]: "):
            list(read_values("typed.parquet", domains))
    for column in (
        pa.array([1, 2], pa.uint8()),
        pa.array(["1", "2"]).dictionary_encode(),
        pa.array(["1", "2"], pa.large_string()),
    ):
        pq.write_table(pa.table({"age": column}), "typed.parquet")
        assert [batch["age"].tolist() for batch in read_values("typed.parquet", domains)] == [
            [1, 2]
        ]


def _resealed(path: str, change: tuple[str, str]) -> None:
    """Edit a CSV report file and put a checksum that fits: an attack that the seal is not meant to
    stop.
    """
    text = Path(path).read_text()
    assert change[0] in text
    text = re.sub(
        r'"sha256":"[0-9a-f]{64}"(?=}\n$)', '"sha256":"' + "0" * 64 + '"', text.replace(*change)
    )
    Path(path).write_text(text)
    seal(path)


def test_what_a_seal_does_not_stop_the_law_does(here: Path) -> None:
    domain = warner.Integers(0, 9)
    mechanisms = {
        "n": warner.RandomizedResponse(domain, 9.0),
        "range": warner.RandomizedResponse(domain, 9.0),
        "padding": warner.UnaryEncoding(domain, 9.0),
        "size": warner.SubsetSelection(domain, 9.0),
    }
    changes = {
        "n": ('"n":3', '"n":4'),
        "range": ("\n3\n", "\n10\n"),
        "padding": ("\n16,0\n", "\n16,1\n"),
        "size": ("\n16,0\n", "\n48,0\n"),
    }
    words = {
        "n": "must hold 4 reports",
        "range": r"must lie in 0\.\.9",
        "padding": "padding bits must be 0",
        "size": "1 bits set",
    }
    for name, mechanism in mechanisms.items():
        write_reports(
            mechanism.reports(
                {
                    c: np.array([[16, 0]] * 3) if c == "bits" else np.array([3] * 3)
                    for c in mechanism.schema.empty(0)
                }
            ),
            "f.csv",
        )
        assert tally_file("f.csv")["value"].n == 3
        _resealed("f.csv", changes[name])
        with pytest.raises((warner.errors.ReportError, warner.errors.FileError), match=words[name]):
            tally_file("f.csv")
        with pytest.raises((warner.errors.ReportError, warner.errors.FileError)):
            read_reports("f.csv")


def test_file_names_are_names_not_patterns(here: Path) -> None:
    mechanism = warner.RandomizedResponse(warner.Integers(0, 1), 1.0)
    for suffix in ("csv", "parquet"):
        plain, odd = f"r1.{suffix}", f"r[1]*? '.{suffix}"
        write_reports(mechanism.reports([0, 0, 0]), plain)
        write_reports(mechanism.reports([1, 1]), odd)
        assert tally_file(odd)["value"].counts.tolist() == [0, 2]


def test_large_subsets_are_counted(here: Path) -> None:
    mechanism = warner.SubsetSelection(warner.Integers(1, 900), 0.5)
    assert mechanism.subset > 256
    reports = mechanism.randomize([1, 2, 900])
    write_reports(reports, "s.parquet")
    assert tally_file("s.parquet")["value"] == mechanism.tally(reports)


def test_outputs_never_replace_inputs_links_or_devices(here: Path) -> None:
    run("randomize", "study.toml", "answers.csv", "-o", "r.csv")
    run("tally", "r.csv", "-o", "t.json")
    Path("link.csv").symlink_to("answers.csv")
    for case in (
        ("randomize", "study.toml", "answers.csv", "-o", "answers.csv"),
        ("randomize", "study.toml", "answers.csv", "-o", "link.csv"),
        ("tally", "r.csv", "-o", "r.csv"),
        ("tally", "r.csv", "--study", "study.toml", "-o", "study.toml"),
        ("merge", "t.json", "-o", "./t.json"),
        ("estimate", "t.json", "--csv", "t.json"),
    ):
        assert "must not be one of the inputs" in run(*case, ok=False).stderr
    Path("target.json").write_text("old")
    Path("target.json").chmod(0o640)
    Path("link.json").symlink_to("target.json")
    run("tally", "r.csv", "-o", "link.json")
    assert (
        Path("link.json").is_symlink()
        and load_tallies("target.json")
        and Path("target.json").stat().st_mode & 0o777 == 0o640
    )
    run("tally", "r.csv", "-o", "/dev/null")
    assert Path("/dev/null").is_char_device()


def test_nothing_is_counted_twice(here: Path) -> None:
    run("randomize", "study.toml", "answers.csv", "-o", "r.csv")
    Path("copy.csv").write_bytes(Path("r.csv").read_bytes())
    assert "counted twice" in run("tally", "r.csv", "copy.csv", ok=False).stderr
    run("tally", "r.csv", "-o", "t.json")
    assert "added twice" in run("merge", "t.json", "./t.json", ok=False).stderr


def test_simulations_and_missing_protection_say_so(here: Path) -> None:
    assert (
        "This is a simulation"
        in run("randomize", "study.toml", "answers.csv", "-o", "s.csv", "--seed", "1").stderr
    )
    assert (
        open_reports("s.csv").simulation
        and "reports of a simulation" in run("tally", "s.csv").stderr
    )
    Path("open.toml").write_text(
        STUDY.replace("epsilon = 1.0", "epsilon = inf").replace("budget = 3.0", "")
    )
    assert (
        "NO PROTECTION of smokes"
        in run("randomize", "open.toml", "answers.csv", "-o", "o.csv").stderr
    )


def test_attributes_that_differ_only_in_case_are_refused_before_anything_is_written(
    here: Path,
) -> None:
    mechanism = warner.RandomizedResponse(warner.Integers(0, 1), 1.0)
    with pytest.raises(warner.errors.ArgumentError, match="upper and lower case"):
        write_reports({"Age": mechanism.reports([0]), "age": mechanism.reports([1])}, "c.csv")
    with pytest.raises(warner.errors.StudyError, match="upper and lower case"):
        warner.Study.parse(STUDY.replace("smokes", "Age"))
    assert not Path("c.csv").exists()


def test_a_seed_repeats_and_its_absence_does_not(here: Path) -> None:
    def reports(*more: str) -> str:
        return run("randomize", "study.toml", "answers.csv", *more).stdout

    assert reports("--seed", "1") == reports("--seed", "1")
    assert reports() != reports()


def test_a_broken_writer_leaves_nothing(here: Path) -> None:
    study = warner.Study.load("study.toml")
    for path in ("w.csv", "w.parquet"):
        with pytest.raises(RuntimeError), ReportWriter(path, study.mechanisms) as writer:
            writer.write(
                {name: m.randomize(m.domain.labels[:1] * 3) for name, m in study.mechanisms.items()}
            )
            raise RuntimeError
        with pytest.raises(warner.errors.EmptyError), ReportWriter(path, study.mechanisms):
            pass
        with (
            pytest.raises(warner.errors.MismatchError),
            ReportWriter(path, study.mechanisms) as writer,
        ):
            writer.write({"smokes": study.mechanisms["smokes"].randomize(["no"])})
    assert not [p for p in here.iterdir() if p.name.startswith((".", "w."))]


def test_the_report_file_says_what_made_it(here: Path) -> None:
    run("randomize", "study.toml", "answers.csv", "-o", "r.parquet")
    file = open_reports("r.parquet")
    assert {a: m.header for a, m in file.mechanisms.items()} == {
        a: m.header for a, m in warner.Study.load("study.toml").mechanisms.items()
    }
    assert list(file.columns) == ["smokes_report", "age_bits_0", "age_bits_1"]


def test_help_names_every_command_and_option() -> None:
    text = run("--help").stdout
    for name, command in main.commands.items():
        assert name in text
        assert command.help
        page = run(name, "--help").stdout
        for option in command.params:
            assert option.param_type_name == "argument" or option.help, (
                f"{name} {option.name} has no help"
            )
            assert (
                option.param_type_name == "argument" or f"--{option.opts[-1].lstrip('-')}" in page
            )


def test_the_demo_leaves_what_it_says(here: Path) -> None:
    text = run("demo", "-o", "d", "--seed", "4").stdout
    made = {
        "study.toml",
        "reports.parquet",
        "tally.json",
        "estimate.json",
        "estimate.csv",
        "shares.png",
    }
    assert {p.name for p in Path("d").iterdir()} == made
    assert "32,561 people" in text and text.count("Total variation from the truth") == 2
    distances = [float(d) for d in re.findall(r"truth (0\.\d+);", text)]
    # Expected TV is about 0.06 and 0.02; an estimator that returned the uniform distribution would
    # be at 0.5 and 0.5.
    assert distances[0] < 0.12 and distances[1] < 0.06
    assert load_tallies("d/tally.json")["education"].n == 32_561
    run("estimate", "d/reports.parquet")


@pytest.mark.parametrize(
    "change, complaint",
    [
        (("[attributes.age]", "[attributes.age"), "not valid TOML"),
        (
            ('values = ["no", "yes"]', ""),
            "attributes.smokes: must have exactly one of values, integers, interval",
        ),
        (('values = ["no", "yes"]', "values = []"), "attributes.smokes"),
        (
            ('values = ["no", "yes"]', 'values = ["no", "no"]'),
            "attributes.smokes: values: labels must be distinct",
        ),
        (('values = ["no", "yes"]', "values = [1.5, 2]"), "attributes.smokes.values"),
        (("integers = [0, 9]", "integers = [9, 0]"), "attributes.age"),
        (("epsilon = 1.0", "epsilon = -1"), "attributes.smokes: epsilon: must be greater than 0"),
        (("epsilon = 1.0", "epsilon = nan"), "attributes.smokes: epsilon"),
        (("epsilon = 1.0", 'epsilon = "1"'), "attributes.smokes.epsilon"),
        (("epsilon = 1.0", "epsilon = true"), "attributes.smokes.epsilon"),
        (('values = ["no", "yes"]', 'values = ["1", 1]'), "labels must differ as text"),
        (
            ("RandomizedResponse", "ChannelMechanism"),
            "attributes.smokes.matrix: is needed by ChannelMechanism",
        ),
        (("epsilon = 1.0", ""), "attributes.smokes.epsilon: Field required"),
        (
            ("RandomizedResponse", "RandomisedResponse"),
            "attributes.smokes.mechanism: must be one of RandomizedResponse",
        ),
        (('keep = "optimized"', 'keep = "best"'), "attributes.age: keep: must be"),
        (
            ('keep = "optimized"', "kept = 0.5"),
            "attributes.age.kept: is not an option of UnaryEncoding: its options are keep",
        ),
        (
            ("budget = 3.0", "budget = 2.0"),
            "budget: is exceeded: the attributes spend 2.5 together",
        ),
        (("budget = 3.0", "budgit = 3.0"), "budgit"),
        (("[attributes.smokes]", '[attributes."smo.kes"]'), "attributes.smo.kes: names must not"),
    ],
)
def test_study_files_are_checked_in_words(change: tuple[str, str], complaint: str) -> None:
    with pytest.raises(warner.errors.StudyError) as caught:
        warner.Study.parse(STUDY.replace(*change))
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_studies_travel_as_json_with_their_digest() -> None:
    study = warner.Study.parse(STUDY)
    again = warner.Study.parse(study.to_json())
    assert again.digest == study.digest and again.title == "test"
    with pytest.raises(warner.errors.StudyError, match="altered"):
        warner.Study.parse(study.to_json().replace("1.5", "1.4"))
    assert "attributes" in warner.Study.schema()["properties"]


UTILITY = """
[attributes.place]
values = ["clinic", "park", "school", "shop"]
mechanism = "UtilityOptimizedRR"
sensitive = ["clinic"]
tags = ["home"]
epsilon = 2.0
"""


def test_tags_go_through_files_and_are_given_back(here: Path) -> None:
    Path("city.toml").write_text(UTILITY)
    Path("places.csv").write_text("place\n" + "park\n@home\nclinic\nschool\n@home\n" * 400)
    result = run("randomize", "city.toml", "places.csv", "-o", "r.parquet")
    assert "Of place, only the sensitive values are protected" in result.output
    run("tally", "r.parquet", "-o", "t.json", "--study", "city.toml")
    shown = run("estimate", "t.json").output
    assert "@home" in shown and "given back" in shown and "adds at most" in shown
    Path("home.csv").write_text("value,share\nshop,1\n")
    found = json.loads(
        run("estimate", "t.json", "--background", "home=home.csv", "--json", "-").output
    )[0]["redistributed"]
    shares = {row["value"]: row["estimate"] for row in found["shares"]}
    assert shares["shop"] == pytest.approx(found["tags"]["home"], abs=0.01) and found["tags"][
        "home"
    ] == pytest.approx(0.4, abs=0.1)
    assert found["worst_case"] == pytest.approx(2 * found["tags"]["home"])
    for text, rule in (
        ("moon,1", "bad.csv, line 2"),
        ("shop,x", "bad.csv, line 2"),
        ("shop,0.4", "distribution"),
        ("shop,0\nshop,1", "line 3"),
    ):
        Path("bad.csv").write_text(f"value,share\n{text}\n")
        assert rule in run("estimate", "t.json", "--background", "home=bad.csv", ok=False).output
    assert (
        "the tags are place.home"
        in run("estimate", "t.json", "--background", "gym=home.csv", ok=False).output
    )
    assert (
        "cannot be opened"
        in run("estimate", "t.json", "--background", "home=nowhere.csv", ok=False).output
    )
    run("randomize", "study.toml", "answers.csv", "-o", "plain.parquet")
    run("tally", "plain.parquet", "-o", "plain.json")
    assert (
        "none here"
        in run("estimate", "plain.json", "--background", "home=home.csv", ok=False).output
    )
    for wrong in (["home"], ["home=home.csv", "@home=home.csv"], ["other.home=home.csv"]):
        flags = [part for item in wrong for part in ("--background", item)]
        assert "must be TAG=FILE" in run("estimate", "t.json", *flags, ok=False).output
    lines = run(
        "estimate", "t.json", "--background", "place.@home=home.csv", "--csv", "-"
    ).output.splitlines()
    assert sum(line.startswith("place (tags given back)") for line in lines) == 4
    Path("long.csv").write_text("value,share\n" + "x" * 200_000 + ",1\n")
    assert "long.csv" in run("estimate", "t.json", "--background", "home=long.csv", ok=False).output
    shown = run("audit", "city.toml").output
    assert "2 sensitive values" in shown and "reveal the value they name" in shown


def test_a_plan_ranks_what_a_study_could_use(here: Path) -> None:
    Path("city.toml").write_text(UTILITY.replace('tags = ["home"]\n', ""))
    shown = run("plan", "city.toml", "--people", "5000", "--error", "0.05").output
    lines = [line for line in shown.splitlines() if "times" in line]
    assert (
        "UtilityOptimizedRR (in the study)" in lines[0]
        and "no protection" in lines[-1]
        and "people needed" in shown
    )
    data = json.loads(run("plan", "city.toml", "--json", "--loss", "l2").output)["place"]
    errors = [row["error"] for row in data["results"]]
    assert errors == sorted(errors) and data["loss"] == "l2" and data["n"] == 10_000
    Path("open.toml").write_text(
        '[attributes.q]\nvalues = ["a", "b"]\nmechanism = "RandomizedResponse"\nepsilon = inf\n'
    )
    assert "not protected" in run("plan", "open.toml", ok=False).output
    for wrong in (["--people", "0"], ["--error", "-1"], ["--loss", "l3"]):
        run("plan", "city.toml", *wrong, ok=False)


@pytest.mark.parametrize(
    "domain, plain, bad",
    [
        ("integers = [0, 9]", "7", "77"),
        ("interval = { low = 0, high = 1, bins = 4 }", "0.5", "1.5"),
        ("values = [0, 1, 2, 7]", "2", "77"),
    ],
)
def test_tags_stand_among_numbers_in_a_text_column(
    here: Path, domain: str, plain: str, bad: str
) -> None:
    values = "0.125" if domain.startswith("interval") else "0"
    study = f'[attributes.q]\n{domain}\nmechanism = "UtilityOptimizedRR"\nsensitive = [{values}]\ntags = ["home"]\nepsilon = 20\n'
    Path("numbers.toml").write_text(study)
    run(
        "randomize",
        "numbers.toml",
        "--keep-order",
        "-o",
        "r.csv",
        text=f"q\n{plain}\n@home\n{plain}\n",
    )
    reports = read_reports("r.csv")["q"].columns["report"].tolist()
    size = 10 if domain.startswith("integers") else 4
    assert reports == [7 if size == 10 else 2, size, 7 if size == 10 else 2]
    refused = run("randomize", "numbers.toml", text=f"q\n@home\n{bad}\n", ok=False).output
    assert "data row 2" in refused and bad not in refused
    assert (
        "data row 3"
        in run("randomize", "numbers.toml", text="q\n@home\n@home\n@away\n", ok=False).output
    )
