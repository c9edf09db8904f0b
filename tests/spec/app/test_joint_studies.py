"""Attributes that are randomised or counted together, and keys with values."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import warner
from tests.spec.app._command import run
from warner import Categorical, PerAttribute, Product, RandomizedResponse, Study
from warner.app.cli import main
from warner.errors import ArgumentError, StudyError
from warner.io import open_reports, read_values, tally_file
from warner.mechanisms import Repeated
from warner.reports.tally import load_tallies
from warner.studies.mechanisms import share

STUDY = """
[attributes.a]
values = ["x", "y"]
[attributes.c]
values = ["p", "q", "r"]
mechanism = "RandomizedResponse"
epsilon = 2.0
[attributes.b]
integers = [0, 2]
[[joint]]
attributes = ["a", "b"]
mechanism = "RandomizedResponse"
epsilon = 3.0
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY)
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 6000)
    b = np.where(rng.random(6000) < 0.8, 2 * a, 1)
    c = rng.choice(3, 6000, p=[0.5, 0.3, 0.2])
    rows = [f"{'xy'[i]},{j},{'pqr'[k]}\n" for i, j, k in zip(a, b, c, strict=True)]
    Path("answers.csv").write_text("a,b,c\n" + "".join(rows))
    return tmp_path


def test_answers_keep_one_column_for_each_attribute(here: Path) -> None:
    study = Study.load("study.toml")
    assert list(study.mechanisms) == ["a x b", "c"] and study.answer_columns == ["a", "b", "c"]
    assert study.domains["a x b"].shape == (2, 3) and study.epsilon == pytest.approx(5.0)
    Path("few.csv").write_text("c,b,a\nq,1,y\np,0,x\n")
    (batch,) = read_values("few.csv", study.mechanisms)
    assert batch["a x b"].tolist() == [4, 0] and batch["c"].tolist() == [1, 0]
    said = run("randomize", "study.toml", text="a,b,c\nx,1,p\ny,7,p\n", ok=False).output
    assert (
        "column 'b', data row 2: must be one of the 3 values; got an integer outside 0 to 2."
        in said
    )


def test_estimates_come_under_the_attributes_own_names(here: Path) -> None:
    run("randomize", "study.toml", "answers.csv", "-o", "r.parquet")
    run("tally", "r.parquet", "--study", "study.toml", "-o", "t.json")
    shown = json.loads(run("estimate", "t.json", "--json", "-m", "project").stdout)
    assert [part["attribute"] for part in shown] == ["a x b", "a", "b", "c"]
    assert shown[2]["shares"][2]["value"] == 2
    only = json.loads(run("estimate", "t.json", "--json", "--only", "b").stdout)
    assert [part["attribute"] for part in only] == ["b"]
    joint = json.loads(run("estimate", "t.json", "--json", "--joint", "b,a").stdout)
    assert joint[0]["attribute"] == "b x a" and joint[0]["shares"][1]["value"] == {"b": 0, "a": "y"}
    assert joint[0]["shares"][1]["estimate"] == pytest.approx(0.0, abs=0.05)
    assert "'a x b', 'c', 'a', 'b'" in run("estimate", "t.json", "--only", "z", ok=False).stderr
    rows = list(csv.DictReader(io.StringIO(run("estimate", "t.json", "--csv").stdout)))
    assert {row["attribute"] for row in rows} == {"a x b", "a", "b", "c"}


def test_attributes_of_different_groups_are_estimated_from_tables(here: Path) -> None:
    run("randomize", "study.toml", "answers.csv", "-o", "r.csv")
    run("tally", "r.csv", "--ways", "2", "--study", "study.toml", "-o", "pairs.json")
    for names in ("a,c", "c,b", "a,b,c", "c,b,a", "b"):
        found = json.loads(run("estimate", "pairs.json", "--joint", names, "--json").stdout)
        assert found[0]["attribute"] == " x ".join(names.split(","))
    tally = load_tallies("pairs.json")["joint"]
    assert warner.design.clusters(tally, 0.3) == (("a", "b"), ("c",))
    assert run("plan", "pairs.json", "--threshold", "0.3").stdout == "a, b\nc\n"
    assert json.loads(run("plan", "pairs.json", "--largest", "5", "--json").stdout) == {
        "joint": [["a"], ["b"], ["c"]]
    }
    assert (
        warner.estimate(tally).cramers_v("a", "c")
        < 0.2
        < warner.estimate(tally).cramers_v("a", "b")
    )


@pytest.mark.parametrize(
    "change, complaint",
    [
        (
            ('["a", "b"]', '["a", "z"]'),
            "joint[1].attributes: must name questions of the study: a, c, b",
        ),
        (('["a", "b"]', '["a", "a"]'), "joint[1].attributes: names 'a' twice"),
        (('["a", "b"]', '["a"]'), "joint[1].attributes: must have 2 or more entries"),
        (('["a", "b"]', '["a", "c"]'), "attributes.c.mechanism: must be written in [[joint]]"),
        (
            ("epsilon = 3.0", "epsilon = 3.0\nvariant = 0.5"),
            "joint a x b.variant: is not an option",
        ),
        (('"RandomizedResponse"\nepsilon = 3.0', '"SquareWave"\nepsilon = 3.0'), "joint a x b: "),
        (('["a", "b"]\n', '["a", "b"]\ntags = ["home"]\n'), "joint a x b.tags"),
    ],
)
def test_joint_tables_are_checked_in_words(change: tuple[str, str], complaint: str) -> None:
    assert change[0] in STUDY
    with pytest.raises(StudyError) as caught:
        Study.parse(STUDY.replace(*change))
    assert complaint in str(caught.value)


def test_attributes_of_a_group_have_their_own_names_in_python() -> None:
    a, b, c = Categorical(["x", "y"]), Categorical([0, 1, 2]), Categorical(["p", "q", "r"])
    people = Product(ab=Product(a=a, b=b), c=c)
    survey = PerAttribute(
        people, {name: lambda d: RandomizedResponse(d, 3.0) for name in people.attributes}
    )
    rng = np.random.default_rng(1)
    answers = {
        "ab": [{"a": "xy"[i % 2], "b": i % 2} for i in range(3000)],
        "c": rng.choice(["p", "q", "r"], 3000),
    }
    tally = survey.tally(survey.randomize(answers, rng))
    result = warner.estimate(tally)
    assert list(result.domain.attributes) == ["a", "b", "c"]
    assert result.domain.decode([4]) == [{"a": "x", "b": 1, "c": "q"}]
    assert result.marginal(["b", "a"]).probabilities.reshape(3, 2)[1, 1] == pytest.approx(
        0.5, abs=0.05
    )
    assert float(result.cramers_v("a", "b")) == pytest.approx(1.0, abs=0.05)
    assert float(result.cramers_v("c", "a")) < 0.1
    assert result.marginal("a").interval().shape == (2, 2)
    # The name of a group stands for its attributes.
    assert list(warner.estimate(tally, attributes=["c", "ab"]).domain.attributes) == ["c", "a", "b"]
    with pytest.raises(ArgumentError, match="must name questions"):
        warner.estimate(tally, attributes=["ab", "a"])


def test_two_groups_with_one_name_keep_the_names_of_the_groups() -> None:
    inner = Product(a=Categorical(["x", "y"]), b=Categorical(["x", "y"]))
    people = Product(first=inner, second=inner)
    survey = PerAttribute(
        people, {name: lambda d: RandomizedResponse(d, 2.0) for name in people.attributes}
    )
    assert list(survey.attribute_domains) == ["first", "second"]


def test_several_reports_share_the_budget_of_the_attribute(here: Path) -> None:
    text = STUDY[STUDY.index("[attributes.c]") : STUDY.index("[attributes.b]")]
    for epsilon, times in ((2.0, 3), (0.3, 3), (1.0, 7), (0.1, 10)):
        stated = text.replace("epsilon = 2.0", f"reports = {times}\nepsilon = {epsilon}")
        study = Study.parse(f"budget = {epsilon}\n{stated}")
        daily = study.mechanisms["c"]
        assert type(daily) is Repeated and len(daily.parts) == times
        assert study.epsilon <= epsilon and study.epsilon == pytest.approx(epsilon, rel=1e-12)
        assert warner.audit(daily).holds
    assert share(0.3, 3) * 3 <= 0.3 and share(1e-300, 7) > 0
    Path("daily.toml").write_text(text.replace("epsilon = 2.0", "reports = 3\nepsilon = 9.0"))
    run("randomize", "daily.toml", "answers.csv", "-o", "r.parquet")
    run("tally", "r.parquet", "--study", "daily.toml", "-o", "t.json")
    assert load_tallies("t.json")["c"].kind.keeps_reports
    shares = json.loads(run("estimate", "t.json", "--json").stdout)[0]["shares"]
    assert [row["estimate"] for row in shares] == pytest.approx([0.5, 0.3, 0.2], abs=0.05)
    with pytest.raises(StudyError, match=r"attributes.c.reports"):
        Study.parse(text + "reports = 0\n")


def test_numbers_and_pairs_have_several_reports_too(here: Path) -> None:
    Path("n.toml").write_text(
        "budget = 5.0\n[attributes.pay]\nintegers = [0, 9]\n"
        'mechanism = "Laplace"\nsensitivity = 3\nreports = 2\nepsilon = 1.0\n'
        "[attributes.q]\ninterval = { low = 0, high = 9, bins = 3 }\n"
        'keys = ["k", "l"]\nmechanism = "KeyValue"\nkey = "direct"\nreports = 2\nepsilon = 2.0\n'
    )
    study = Study.load("n.toml")
    assert study.answer_columns == ["pay", "q_key", "q_value"]
    assert study.epsilon <= 5.0  # Laplace at 1 for each 3 units spends 3 over 9 units
    run("randomize", "n.toml", "-o", "r.csv", text="pay,q_key,q_value\n" + "1,k,2\n8,l,3.5\n" * 20)
    assert open_reports("r.csv").n > 20
    run("tally", "r.csv", "--study", "n.toml", "-o", "t.json")
    assert "pay: " in run("estimate", "t.json", "-m", "mle", "--only", "pay").stdout


def test_whole_reports_can_be_kept(here: Path) -> None:
    Path("bits.toml").write_text(
        STUDY[STUDY.index("[attributes.c]") : STUDY.index("[attributes.b]")].replace(
            "RandomizedResponse", "UnaryEncoding"
        )
    )
    run("randomize", "bits.toml", "answers.csv", "-o", "r.csv")
    run("tally", "r.csv", "--keep-reports", "-o", "kept.json")
    run("tally", "r.csv", "--no-keep-reports", "-o", "sums.json")
    kept, sums = load_tallies("kept.json")["c"], load_tallies("sums.json")["c"]
    assert kept.kind.keeps_reports and not sums.kind.keeps_reports and kept.n == sums.n == 6000
    assert tally_file("r.csv", keep_reports=True)["c"] == kept
    assert len(kept.counts) <= 8 and int(kept.counts.sum()) == 6000
    run("estimate", "kept.json", "-m", "mle")
    said = run("tally", "r.csv", "--keep-reports", "--ways", "1", ok=False).stderr
    assert "--keep-reports: cannot be used with ways, which" in said


STUDY_TUPLES = """
[attributes.sex]
values = ["f", "m"]
mechanism = "RandomizedResponse"
epsilon = 2.0
[attributes.age]
integers = [0, 3]
mechanism = "UnaryEncoding"
epsilon = 2.0
[attributes.x]
interval = { low = 0, high = 1, bins = 4 }
mechanism = "SquareWave"
cells = 32
epsilon = 2.0
"""


def test_a_studys_attributes_are_counted_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def run(*args: str, ok: bool = True) -> str:
        result = CliRunner().invoke(main, list(args))
        assert (result.exit_code == 0) is ok and "Traceback" not in result.output, result.output
        return result.output

    Path("study.toml").write_text(STUDY_TUPLES)
    rng = np.random.default_rng(0)
    sex = rng.integers(0, 2, 4000)
    lines = [
        f"{'fm'[s]},{a},{x}\n"
        for s, a, x in zip(
            sex, np.where(sex, 3, rng.integers(0, 3, 4000)), rng.random(4000), strict=True
        )
    ]
    Path("a.csv").write_text("sex,age,x\n" + "".join(lines))
    for suffix in ("parquet", "csv"):
        run("randomize", "study.toml", "a.csv", "-o", f"r.{suffix}", "--seed", "1")
        run("tally", f"r.{suffix}", "--ways", "2", "-o", f"{suffix}.json", "--study", "study.toml")
    assert load_tallies("parquet.json") == load_tallies("csv.json") == tally_file("r.csv", ways=2)
    assert (
        warner.Study.load("study.toml").together.header == load_tallies("csv.json")["joint"].header
    )
    said = run("estimate", "csv.json", "--joint", "age,sex", "--json")
    assert said.startswith("csv.json: these reports are simulated")
    shares = json.loads(said[said.index("[") :])[0]
    assert shares["attribute"] == "age x sex" and [v["value"] for v in shares["shares"]][:2] == [
        {"age": 0, "sex": "f"},
        {"age": 0, "sex": "m"},
    ]
    assert shares["shares"][-1]["estimate"] == pytest.approx(0.5, abs=0.06)
    assert (
        run("estimate", "csv.json", "--joint", "sex", "--joint", "age").count(
            "4,000 simulated reports"
        )
        == 2
    )
    assert "3-way" not in run("estimate", "csv.json", ok=False) and "ways=3" in run(
        "estimate", "csv.json", ok=False
    )
    assert "sex x age" in run(
        "benchmark", "csv.json", "--joint", "sex,age", "--runs", "2", "-m", "project"
    )
    assert "PerAttribute" in run("audit", "csv.json", ok=False)  # of a simulation
    assert "--allow-equal" in run("merge", "csv.json", "parquet.json", ok=False)
    run("merge", "csv.json", "parquet.json", "--allow-equal", "-o", "m.json")
    run("tally", "r.csv", "-o", "one.json")
    run("merge", "csv.json", "one.json", "-o", "m2.json", ok=False)
    run("tally", "r.csv", "--ways", "4", ok=False)
    said = run("estimate", "one.json", "--joint", "sex", ok=False)
    assert "--joint: must name several questions; got sex. For one question, write --only" in said


STUDY_KEY_VALUE = """
[attributes.pay]
keys = ["a", "b"]
interval = { low = -1, high = 1, bins = 8 }
mechanism = "KeyValue"
epsilon = 4.0
"""


@pytest.mark.parametrize(
    "options",
    [
        "",
        'key = "direct"',
        'value = "piecewise"\ncells = 31',
        'key = "direct"\nvalue = "piecewise"\nvalue_epsilon = 2.0',
    ],
)
def test_a_study_asks_for_keys_and_values(options: str, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY_KEY_VALUE + options)
    (tmp_path / "answers.csv").write_text("pay_value,pay_key\n" + "0.5,a\n-0.5,b\n" * 4000)
    run = CliRunner()
    for command in (
        ["randomize", "study.toml", "answers.csv", "-o", "reports.parquet"],
        ["tally", "reports.parquet", "-o", "tally.json", "--study", "study.toml"],
        ["audit", "study.toml"],
    ):
        done = run.invoke(main, [str(tmp_path / part) if "." in part else part for part in command])
        assert done.exit_code == 0, done.output
    shown = run.invoke(main, ["estimate", str(tmp_path / "tally.json")]).output
    assert "frequency" in shown and "mean" in shown
    rows = [
        line.split(",")
        for line in run.invoke(
            main, ["estimate", str(tmp_path / "tally.json"), "--csv"]
        ).stdout.splitlines()
    ]
    means = {row[1]: float(row[3]) for row in rows if row[2] == "mean of key"}
    assert means == pytest.approx({"a": 0.5, "b": -0.5}, abs=0.2)


def test_answers_in_files_are_refused_by_column_and_row(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY_KEY_VALUE)
    for text, problem in (
        ("pay_key,pay_value\na,0\nb,7.25\n", "column 'pay_value', data row 2"),
        ("pay_key,pay_value\nsecret,0\n", "column 'pay_key', data row 1"),
        ("key,value\na,0\n", "has no columns 'pay_key', 'pay_value'"),
    ):
        (tmp_path / "answers.csv").write_text(text)
        done = CliRunner().invoke(
            main, ["randomize", str(tmp_path / "study.toml"), str(tmp_path / "answers.csv")]
        )
        assert (
            done.exit_code != 0
            and problem in done.output
            and "secret" not in done.output
            and "7.25" not in done.output
        )


@pytest.mark.parametrize(
    "text, place",
    [
        (STUDY_KEY_VALUE.replace('keys = ["a", "b"]', ""), "pay.keys"),
        (STUDY_KEY_VALUE.replace("KeyValue", "Piecewise"), "pay.keys"),
        (STUDY_KEY_VALUE + "pairs = 2", "pay.pairs"),
        (STUDY_KEY_VALUE + "value_epsilon = 9.0", "value_epsilon"),
        (
            STUDY_KEY_VALUE.replace(
                "interval = { low = -1, high = 1, bins = 8 }", 'values = ["x", "y"]'
            ),
            "pay",
        ),
    ],
)
def test_a_study_that_breaks_a_rule_says_where(text: str, place: str) -> None:
    with pytest.raises(warner.errors.StudyError, match=place):
        warner.Study.parse(text)


def test_a_study_in_which_two_attributes_would_be_read_from_one_column_is_refused() -> None:
    """The command line ended in Arrow's own KeyError."""
    text = """
[attributes.pay]
keys = ["a", "b"]
integers = [0, 1]
mechanism = "KeyValue"
epsilon = 1.0
[attributes.pay_key]
values = ["a", "b"]
mechanism = "RandomizedResponse"
epsilon = 1.0
"""
    with pytest.raises(warner.errors.StudyError, match="pay_key"):
        warner.Study.parse(text)
