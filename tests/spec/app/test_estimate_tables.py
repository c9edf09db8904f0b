"""What a terminal shows of estimates: shares, summaries, missing answers, many values."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import warner
from tests.spec._labels import _estimate
from tests.spec.app._command import run
from warner._core.text import unreadable, visible
from warner.app.cli import main
from warner.app.show_estimates import show_estimate
from warner.reports.tally import load_tallies, save_tallies
from warner.results.named_summaries import DECLARE_CODES, SINGLE_CODES

STUDY = """
[attributes.smokes]
values = ["never", "often"]
mechanism = "SubsetSelection"
epsilon = 3.0
missing = "answer"
empty = ["", "NA"]
[attributes.units]
integers = [0, 3]
mechanism = "{mechanism}"
epsilon = 3.0
missing = "{missing}"
"""


@pytest.fixture
def here_of_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY.format(mechanism="SubsetSelection", missing="answer"))
    rows = ["never,1", "often,2", ",", "NA,2", "never,"] * 300
    Path("answers.csv").write_text("smokes,units\n" + "\n".join(rows) + "\n")
    return tmp_path


def test_shares_are_shown_of_all_people_and_of_those_who_answered(here_of_missing: Path) -> None:
    said = run("randomize", "study.toml", "answers.csv", "-o", "r.parquet", "--seed", "1").output
    assert "1,500 people" in said and "left out" not in said
    run("tally", "r.parquet", "-o", "t.json")
    shown = run("estimate", "t.json", "-o", "e.csv", "-o", "e.json", "-o", "-").output
    assert re.search(r"\(no answer\) +[34]\d\.\d %", shown)
    assert re.search(r"[56]\d[.\d]*\s% \(\d.* %\) of all people answered", shown)
    assert re.search(r"mean, of those who answered +1", shown)
    rows = list(csv.DictReader(io.StringIO(Path("e.csv").read_text())))
    by = {(row["attribute"], row["measure"], row["value"]): row for row in rows}
    given = float(by["smokes", "share", "(answered)"]["estimate"])
    assert given + float(by["smokes", "share", "(no answer)"]["estimate"]) == pytest.approx(1)
    share = float(by["smokes", "share of those who answered", "never"]["estimate"])
    assert share * given == pytest.approx(float(by["smokes", "share", "never"]["estimate"]))
    run("estimate", "t.json", "--summary", "units=above:1", "-o", "above.csv")
    (above,) = [
        row
        for row in csv.DictReader(Path("above.csv").read_text().splitlines())
        if row["measure"] == "above:1"
    ]
    answered = float(by["units", "share", "(answered)"]["people_about"])
    assert float(above["people_about"]) == pytest.approx(float(above["estimate"]) * answered)
    smokes, units = json.loads(Path("e.json").read_text())
    assert smokes["answered"]["estimate"] == given and units["answered"]["low"] < 0.6
    assert [row["value"] for row in units["answered"]["shares"]] == [0, 1, 2, 3]
    assert sum(row["estimate"] for row in units["answered"]["shares"]) == pytest.approx(1)
    shown = run("estimate", "t.json", "--only", "units", "--summary", "mean,above:1").output
    assert "mean, of those who answered" in shown and "share above 1, of those who" in shown


def test_shares_of_those_who_answered_are_written_for_each_group(here_of_missing: Path) -> None:
    """Rejects shares of those who answered that stand in the page of a report alone."""
    study = '[public.ward]\nvalues = ["north", "south"]\n' + Path("study.toml").read_text()
    Path("study.toml").write_text(study)
    rows = [f"{('north', 'south')[i % 2]},{('never', 'often', '')[i % 3]},1" for i in range(3000)]
    Path("answers.csv").write_text("\n".join(["ward,smokes,units", *rows]) + "\n")
    run("randomize", "study.toml", "answers.csv", "-o", "r.parquet", "--seed", "1")
    run("tally", "r.parquet", "--by", "ward", "-o", "t.json")
    files = [word for form in ("csv", "xlsx", "tex", "json") for word in ("-o", f"e.{form}")]
    shown = run("estimate", "t.json", "--by", "ward", "--total", "--only", "smokes", *files, "-o",
                "-").stdout  # fmt: skip
    written = list(csv.DictReader(Path("e.csv").read_text().splitlines()))
    of = {(row["ward"], row["measure"], row["value"]): row for row in written}
    alone = warner.estimate(load_tallies("t.json")["smokes"])["south"].answered()
    for row in alone.rows():
        south = of["south", "share of those who answered", row["value"]]
        assert float(south["low"]) == pytest.approx(row["low"]) and south["status"] == "alone"
    assert float(of["south", "share", "(answered)"]["estimate"]) == pytest.approx(alone.frequency)
    everybody = of["all people", "share of those who answered", "often"]
    assert everybody["status"] == "together" and everybody["n"] == "3000"
    (data,) = json.loads(Path("e.json").read_text())
    assert [each["ward"] for each in data["answered"]] == ["north", "south", "all people"]
    assert data["answered"][1]["shares"] == alone.rows()
    for text in (shown, Path("e.tex").read_text()):
        assert "shares among the people who answered" in text and "of those who answered" in text
    pooled = run("estimate", "t.json", "--by", "ward", "--pool", "partial", "--only", "smokes")
    assert "who answered" not in pooled.stdout


def test_a_word_drops_people_and_the_terminal_says_what_that_tells(here_of_missing: Path) -> None:
    Path("study.toml").write_text(STUDY.format(mechanism="SquareWave", missing="drop"))
    said = run("randomize", "study.toml", "answers.csv", "-o", "r.parquet", "--seed", "1").output
    assert "900 people" in said and "Left out with all their answers" in said
    assert "the study): 600 of 1,500 people." in said
    assert "The collector can see who sent no report" in said
    run("tally", "r.parquet", "-o", "t.json")
    assert "answered" not in json.loads(run("estimate", "t.json", "--json").stdout)[1]


def test_a_missing_answer_is_refused_with_the_policies_as_remedy(here_of_missing: Path) -> None:
    Path("study.toml").write_text(STUDY.format(mechanism="SquareWave", missing="refuse"))
    said = run("randomize", "study.toml", "answers.csv", "-o", "r.parquet", ok=False).stderr
    assert "column 'units', data row 3" in said and "in 599 more data rows: 5, 8" in said
    assert 'missing = "answer"' in said and not Path("r.parquet").exists()


@pytest.mark.parametrize(
    "mechanism, that_works",
    [
        ("Geometric", "SquareWave"),
        ("TruncatedGeometric", "SquareWave"),
        ("PlanarLaplace", "SubsetSelection"),
    ],
)
def test_a_metric_mechanism_refuses_nonresponse_and_names_what_works(
    mechanism: str, that_works: str
) -> None:
    text = STUDY.format(mechanism=mechanism, missing="answer")
    if mechanism == "PlanarLaplace":
        text = text.replace("integers = [0, 3]", "grid = { rows = 2, columns = 2 }")
    with pytest.raises(warner.errors.StudyError, match=r"attributes\.units\.missing") as caught:
        warner.Study.parse(text)
    assert that_works in str(caught.value)
    warner.Study.parse(text.replace(f'"{mechanism}"', f'"{that_works}"'))


@pytest.mark.parametrize("mechanism", ["SquareWave", "Piecewise", "StochasticRounding", "Laplace"])
def test_a_mechanism_of_numbers_has_nonresponse_beside_it(
    here_of_missing: Path, mechanism: str
) -> None:
    Path("study.toml").write_text(STUDY.format(mechanism=mechanism, missing="answer"))
    study = warner.Study.load("study.toml")
    found = study.mechanisms["units"]
    assert isinstance(found, warner.mechanisms.WithNonresponse) and found.epsilon <= 3.0
    said = run("randomize", "study.toml", "answers.csv", "-o", "r.parquet", "--seed", "1").output
    assert "1,500 people" in said and "left out" not in said
    run("tally", "r.parquet", "-o", "t.json")
    _, units = json.loads(run("estimate", "t.json", "-m", "mle", "--json").stdout)
    # 600 of 1500 people gave no number; StochasticRounding tells the mean alone.
    if mechanism != "StochasticRounding":
        assert units["answered"]["estimate"] == pytest.approx(0.6, abs=0.1)


@pytest.mark.parametrize("more", ["", "reports = 2", 'tags = ["home"]'])
def test_nonresponse_must_be_sensitive_where_some_answers_are_not(more: str) -> None:
    """Otherwise a report shows who gave no answer, and the study promises to protect it."""
    text = """
    [attributes.smokes]
    values = ["never", "often"]
    mechanism = "UtilityOptimizedRR"
    epsilon = 1.0
    missing = "answer"
    sensitive = ["often"%s]
    """
    with pytest.raises(warner.errors.StudyError, match=r"sensitive: must list '.no answer.'"):
        warner.Study.parse(text % "" + more)
    study = warner.Study.parse(text % ', "(no answer)"' + more)
    assert not study.mechanisms["smokes"].shows_nonresponse


def test_keys_of_a_study_are_checked(here_of_missing: Path) -> None:
    for old, new, said in (
        ('missing = "answer"', 'missing = "ignore"', "missing"),
        ('empty = ["", "NA"]', 'empty = "NA"', "empty"),
        ('empty = ["", "NA"]', 'empty = ["never"]', "must not list an answer"),
        ('empty = ["", "NA"]', "empty = [1]", "empty"),
    ):
        with pytest.raises(warner.errors.StudyError, match=said):
            warner.Study.parse(Path("study.toml").read_text().replace(old, new, 1))


def test_a_study_without_the_keys_is_what_it_was() -> None:
    text = STUDY.format(mechanism="SquareWave", missing="refuse")
    bare = re.sub("(missing|empty) = .*\n", "", text)
    before, now = warner.Study.parse(bare), warner.Study.parse(text.replace('"answer"', '"drop"'))
    assert before.digest == now.digest
    # Nonresponse as a value makes another question.
    assert warner.Study.parse(text).digest != before.digest


def test_pairs_leave_people_out_or_need_a_key_for_nonresponse() -> None:
    text = """
    [attributes.pay]
    keys = ["a", "b"]
    interval = { low = 0, high = 1, bins = 4 }
    mechanism = "KeyValue"
    epsilon = 1.0
    missing = "%s"
    """
    study = warner.Study.parse(text % "drop")
    assert study.answer_columns == ["pay_key", "pay_value"]
    with pytest.raises(warner.errors.StudyError, match='add "no answer" to the list "keys"'):
        warner.Study.parse(text % "answer")


def test_the_largest_shares_alone_can_be_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    codes = warner.Categorical([f"E{i}" for i in range(9)])
    mechanism = warner.RandomizedResponse(codes, 4.0)
    answers = ["E7"] * 400 + ["E2"] * 200 + ["E4"] * 100
    mechanism.tally(mechanism.randomize(answers, rng=np.random.default_rng(1))).save("t.json")
    shown = run("estimate", "t.json", "--top", "2").stdout
    assert [line.split()[0] for line in shown.splitlines()[3:5]] == ["E7", "E2"]
    assert "These are the 2 largest of 9 shares." in shown and "E4" not in shown


def test_the_largest_single_numbers_can_be_printed_in_place_of_bands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects a smooth estimate of codes, in which code 60 has no share."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    codes = warner.SubsetSelection(warner.Integers(1, 120), 2.0)
    answers = rng.permutation([17] * 2400 + [90] * 1500 + [60] * 900 + [*range(1, 121)] * 10)
    codes.tally(codes.randomize(answers, rng=rng)).save("t.json")
    options = "estimate", "t.json", "--allow-simulated"
    shown = run(*options, "--top", "3").stdout
    assert [line.split()[0] for line in shown.splitlines()[3:6]] == ["17", "90", "60"]
    assert (
        "These are the 3 largest of 120 shares." in shown
        and "as if the numbers were labels" in shown
    )
    assert "in bands" not in shown and "mean" in shown
    of_labels = run(*options, "--method", "eb", "--top", "3").stdout
    assert of_labels.splitlines()[3:6] == shown.splitlines()[3:6]
    assert "in bands" in run(*options).stdout


def test_integers_that_may_be_codes_are_compared_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects a default of bands with --top, and smooth shares of codes, other than of labels."""
    monkeypatch.chdir(tmp_path)
    rng, rows = np.random.default_rng(5), {}
    numbers = warner.Integers(1, 40)
    for domain in (numbers, warner.Categorical([*numbers.labels])):
        mechanism = warner.RandomizedResponse(domain, 4.0)
        weeks = {}
        for week, common in (("49", 17), ("50", 30)):
            answers = [common] * 400 + [9] * 600 + [*range(1, 41)] * 5
            reports = mechanism.randomize(answers, np.random.default_rng(int(week)))
            weeks[week] = mechanism.tally(reports)
            if domain is numbers:
                weeks[week].save(f"{week}.json")
        rows[domain.kind] = warner.compare_groups(weeks, reference="49", of="shares").rows()
        assert warner.compare_groups(weeks, reference="49", of="codes").rows() == rows[domain.kind]
    assert rows["integers"] == rows["categorical"]
    weeks_of = "estimate", "49.json", "50.json", "--compare-groups", "--allow-simulated"
    by_bands = run(*weeks_of).stdout
    assert "median" in by_bands and SINGLE_CODES in by_bands
    one_by_one = run(*weeks_of, "--top", "3").stdout
    lines = [line.split()[0] for line in one_by_one.splitlines() if " points " in line]
    assert lines == ["9", "17", "30"] and "median" not in one_by_one
    # One remedy wherever codes are shown as numbers, and none that the reports do not allow.
    assert SINGLE_CODES in run("report", "49.json", "-o", "r.html").stderr
    assert SINGLE_CODES in " ".join(run("estimate", "49.json").stdout.split())
    assert warner.estimate(weeks["49"], "eb").estimator == warner.EmpiricalBayes()
    smooth = warner.SquareWave(numbers, 2.0)
    made = smooth.tally(smooth.randomize([*range(1, 41)] * 9, rng), by={"half": [1, 2] * 180})
    made.total().save("s.json")
    by_bands, of_codes = (warner.compare_groups(made, of=of).rows() for of in (None, "codes"))
    assert of_codes == by_bands  # its reports do not tell a number from its neighbours
    assert "codes" not in run("report", "s.json", "-o", "r.html").output
    shown = " ".join(run("estimate", "s.json").stdout.split())
    assert DECLARE_CODES in shown and SINGLE_CODES not in shown


def test_the_largest_shares_of_numbers_that_reports_do_not_tell_apart_come_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects a channel without an inverse that is taken for one that tells numbers apart."""
    monkeypatch.chdir(tmp_path)
    wave = warner.SquareWave(warner.Integers(0, 999), 1.0)
    wave.tally(wave.randomize([*range(1000)] * 2)).save("t.json")
    shown = run("estimate", "t.json", "--top", "2").stdout
    assert "hardly distinguish neighbouring numbers" in shown
    assert "codes" not in run("report", "t.json", "-o", "r.html").output


def test_more_than_fifty_of_the_largest_can_be_printed(tmp_path: Path) -> None:
    domain = warner.Categorical([f"E{i:03}" for i in range(90)])
    mechanism = warner.RandomizedResponse(domain, 6.0)
    tally = mechanism.tally(mechanism.randomize(domain.labels * 9, np.random.default_rng(1)))
    tally.save(tmp_path / "t.json")
    shown = run("estimate", str(tmp_path / "t.json"), "--top", "70").stdout
    assert "These are the 70 largest of 90 shares." in shown


def test_the_largest_shares_of_groups_need_the_groups_named(tmp_path: Path) -> None:
    coin = warner.RandomizedResponse(warner.Categorical(["no", "yes"]), 2.0)
    reports = coin.randomize(["no", "yes"] * 40, np.random.default_rng(1))
    coin.tally(reports, by={"ward": ["a", "b"] * 40}).save(tmp_path / "t.json")
    options = "estimate", str(tmp_path / "t.json"), "--allow-simulated", "--top", "1"
    assert "Add --by ward" in run(*options, ok=False).stderr


def test_the_joint_shares_of_attributes_have_nonresponse(here_of_missing: Path) -> None:
    text = STUDY.format(mechanism="X", missing="answer")
    text = re.sub("(mechanism|epsilon) = .*\n", "", text)
    Path("study.toml").write_text(
        text + '[[joint]]\nattributes = ["smokes", "units"]\n'
        'mechanism = "RandomizedResponse"\nepsilon = 5.0\n'
    )
    run("randomize", "study.toml", "answers.csv", "-o", "r.parquet", "--seed", "1")
    run("tally", "r.parquet", "-o", "t.json")
    data = json.loads(run("estimate", "t.json", "--only", "units", "--json").stdout)
    assert data[0]["attribute"] == "units" and 0.5 < data[0]["answered"]["estimate"] < 0.7


@pytest.fixture
def tally(here: Path) -> str:
    run("randomize", "study.toml", "answers.csv", "-o", "r.csv")
    run("tally", "r.csv", "-o", "t.json")
    return "t.json"


def test_summaries_stand_in_place_of_shares_on_the_screen_and_beside_them_in_files(
    tally: str,
) -> None:
    args = ("--summary", "mean,above:4", "-o", "e.csv", "-o", "e.json", "-o", "-")
    shown = run("estimate", tally, *args).stdout
    assert "share above 4" in shown and "smokes" in shown and "\nyes " in shown
    rows = list(csv.DictReader(Path("e.csv").read_text().splitlines()))
    about = {(row["attribute"], row["measure"]): row for row in rows}
    assert len(rows) == 2 + 10 + 2
    by_hand = sum(
        float(r["estimate"])
        for r in rows
        if r["attribute"] == "age" and r["measure"] == "share" and int(r["value"]) > 4
    )
    assert float(about["age", "above:4"]["estimate"]) == pytest.approx(by_hand)
    age = next(e for e in json.loads(Path("e.json").read_text()) if e["attribute"] == "age")
    assert [row["summary"] for row in age["summaries"]] == ["mean", "above:4"]
    assert age["summaries"][0]["estimate"] == float(about["age", "mean"]["estimate"])


def test_an_attribute_can_have_summaries_of_its_own(tally: str) -> None:
    shown = run("estimate", tally, "--summary", "mean", "--summary", "age=median").stdout
    assert "median" in shown and "mean " not in shown.partition("age:")[2].partition("Each")[0]


def test_summaries_of_no_attribute_are_refused(tally: str) -> None:
    for text, problem in (
        ("smokes=mean", "needs a question whose values are numbers; got smokes"),
        ("weight=mean", "must be one of the questions: smokes, age; got 'weight"),
        ("mode", "--summary: must be mean"),
        ("above:14", "must be from 0 to 9; got 14"),
    ):
        assert problem in run("estimate", tally, "--summary", text, ok=False).stderr
    only = run("estimate", tally, "--only", "smokes", "--summary", "mean", ok=False)
    assert "needs a question whose values are numbers" in only.stderr


def test_the_files_without_the_option_are_as_before(tally: str) -> None:
    run("estimate", tally, "-o", "e.csv", "-o", "e.json")
    assert len(Path("e.csv").read_text().splitlines()) == 1 + 2 + 10
    assert all("summaries" not in e for e in json.loads(Path("e.json").read_text()))


def test_of_thousands_of_values_the_largest_are_shown(tmp_path: Path) -> None:
    domain = warner.Categorical([f"page {i}" for i in range(1500)])
    mechanism = warner.HadamardResponse(domain, 4.0)
    answers = ["page 1234"] * 900 + ["page 7"] * 600
    mechanism.tally(mechanism.randomize(answers, np.random.default_rng(1))).save(
        tmp_path / "t.json"
    )
    shown = run(
        "estimate", str(tmp_path / "t.json"), "-o", str(tmp_path / "all.csv"), "-o", "-"
    ).output
    assert shown.index("page 1234 ") < shown.index("page 7 ")
    assert "These are the 50 largest of 1,500 shares. To see all shares, add -o FILE.csv" in shown
    assert len((tmp_path / "all.csv").read_text().splitlines()) == 1501


def test_a_level_in_per_cent_is_answered_with_the_level() -> None:
    mechanism = warner.RandomizedResponse(warner.Categorical(["yes", "no"]), 1.0)
    tally = mechanism.tally(mechanism.randomize(["yes"] * 50, np.random.default_rng(1)))
    with pytest.raises(warner.errors.ArgumentError, match=r"Write 0\.95 for 95 %"):
        warner.estimate(tally).interval(95)


def test_nothing_raw_reaches_the_terminal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    show_estimate(
        _estimate(["[bold]x[/bold]", "y[/]"], "\x1b[2J\u202ename [red]"), 0.95, "population"
    )
    shown = capsys.readouterr().out
    assert unreadable(shown.replace("\n", "")) is None
    assert "\\x1b[2J\\u202ename [red]" in shown and "[bold]x[/bold]" in shown
    # A key of a foreign study, in a message.
    (tmp_path / "study.toml").write_text(
        '"\\u001b[31mkey" = 1\n[attributes.a]\nvalues = [1, 2]\nmechanism = "RandomizedResponse"\nepsilon = 1.0\n'
    )
    result = CliRunner().invoke(main, ["audit", str(tmp_path / "study.toml")])
    assert (
        result.exit_code == 1
        and "\\x1b[31mkey" in result.output
        and unreadable(result.output.replace("\n", "")) is None
    )
    assert visible("plain\ntext") == "plain\ntext"


def test_the_largest_numbers_of_a_mechanism_for_numbers_are_doubted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects codes 6, 7 and 8 as the most frequent where 7 alone is, without a word."""
    monkeypatch.chdir(tmp_path)
    mechanism = warner.SquareWave(warner.Integers(0, 99), 2.0)
    reports = mechanism.randomize([7] * 500 + list(range(100)) * 5, rng=np.random.default_rng(1))
    save_tallies({"error": mechanism.tally(reports)}, "t.json")
    shown = run("estimate", "t.json", "--top", "5").stdout
    assert "hardly distinguish neighbouring numbers" in shown
    assert "hardly tell" not in run("estimate", "t.json").stdout


def test_the_largest_codes_are_the_same_on_the_screen_and_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects a file of the smooth estimate beside a screen of the estimate of labels."""
    monkeypatch.chdir(tmp_path)
    mechanism = warner.SubsetSelection(warner.Integers(0, 99), 3.0)
    reports = mechanism.randomize([7] * 900 + list(range(100)) * 9, rng=np.random.default_rng(1))
    save_tallies({"error": mechanism.tally(reports)}, "t.json")
    shown = run("estimate", "t.json", "--top", "1", "-o", "-", "-o", "t.csv").stdout
    assert "as if the numbers were labels" in shown
    rows = list(csv.DictReader(Path("t.csv").read_text().splitlines()))
    (row,) = (r for r in rows if r["value"] == "7" and r["measure"] == "share")
    assert f"{100 * float(row['estimate']):.1f} %" in shown
    assert float(row["low"]) < float(row["estimate"]) < float(row["high"])
