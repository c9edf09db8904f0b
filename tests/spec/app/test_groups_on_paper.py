"""``warner estimate --design`` for designs of several groups, from counts alone."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import openpyxl
import pytest

import warner
from tests.spec.app._command import run
from warner.io import read_counts
from warner.studies.study import Study

CHEATING = ["estimate", "--design", "cheating:1/4,3/4"]
FIRST, SECOND = ["--counts", "yes=410,no=590"], ["--counts", "yes=752,no=248"]


@cache
def of_counts() -> str:
    """What is shown of the counts of both groups."""
    return run(*CHEATING, *FIRST, *SECOND).output


def test_two_groups_are_estimated_from_their_counts() -> None:
    shown = of_counts()
    assert "23.9 %" in shown and "7.7 %" in shown and "say no whatever the card says" in shown
    data = json.loads(run(*CHEATING, *FIRST, *SECOND, "--json").output)
    shares = {row["share"]: row["estimate"] for row in data["shares"]}
    assert shares["yes"] == pytest.approx(0.239) and shares["cheats"] == pytest.approx(0.077)
    wider = json.loads(run(*CHEATING, *FIRST, *SECOND, "--json", "--level", "0.99").output)
    assert wider["shares"][0]["high"] > data["shares"][0]["high"]


def test_lists_are_estimated_from_their_counts() -> None:
    counts = ["--counts", "0=179,1=398,2=321,3=87", "--counts", "0=101,1=323,2=355,3=196,4=40"]
    assert "43.4 %" in run("estimate", "--design", "list:3", *counts).output
    shown = run("estimate", "--design", "list:3", *counts, "--method", "binomial").output
    assert "a control item is" in shown


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([*CHEATING, *FIRST], "each of the 2 groups; got 1"),
        (CHEATING, "needs --counts"),
        (
            [*CHEATING, *FIRST, *SECOND, "--group", "card"],
            "--group: cannot be used with --counts. Leave out --group.",
        ),
        ([*CHEATING, *FIRST, "--counts", "same=1,no=2"], "each of the words 'no', 'yes' once"),
        ([*CHEATING, *SECOND, *FIRST], "--allow-implausible"),
        ([*CHEATING, *FIRST, *SECOND, "--summary", "mean"], "cannot be used with --design"),
        (
            ["estimate", "--design", "crosswise:1/4", "--counts", "same=1,different=2", *FIRST],
            "once",
        ),
    ],
)
def test_mistakes_are_said(words: list[str], said: str) -> None:
    assert said in " ".join(run(*words, ok=False).output.split())


_COUNTS = [("first", "yes", 410), ("first", "no", 590), ("Second", "yes", 752)]
_COUNTS += [("Second", "no", 248)]
_TABLES = {
    "counts": "card,value,count\n" + "".join(f"{g},{w},{n}\n" for g, w, n in _COUNTS),
    "wide": "card,Yes,No\nsecond,752,248\nfirst,410,590\n",
    "people": "age;said;card\n" + "".join(f"7;{w};{g}\n" * n for g, w, n in _COUNTS),
}


@pytest.mark.parametrize("form", list(_TABLES))
def test_a_table_is_read_as_the_counts_of_both_groups(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects groups in the order of the table, which would exchange the two cards."""
    monkeypatch.chdir(tmp_path)
    Path("said.csv").write_text(_TABLES[form])
    table = [*CHEATING, "said.csv", "--group", "card=first,second"]
    assert run(*table).output == of_counts()
    assert "--allow-implausible" in run(*table[:-1], "card=second,first", ok=False).output
    said = " ".join(run(*table[:-1], "card", ok=False).output.split())
    assert "2 other entries. Say how the table names the groups: --group card=FIRST,SECOND" in said
    assert "needs --group" in run(*table[:-2], ok=False).output
    assert "has no column 'cart'" in run(*table[:-1], "cart=first,second", ok=False).output


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("card,value,count\n1,yes,410\n1,no,590\n2,yes,752\n", "no count of 'no' in group '2'"),
        (
            "card,value,count\n1,yes,4\n1,yes,5\n1,no,5\n2,yes,7\n2,no,1\n",
            "counts a word a second time",
        ),
        (
            "card,said\n1,yes\n2,no\n2,maybe\n",
            "line 4: the word must be 'no' or 'yes' in group '2'",
        ),
        ("card,age\n1,30\n2,40\n", "has no column with what people said, no or yes"),
    ],
)
def test_a_table_with_gaps_is_refused(
    text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("said.csv").write_text(text)
    assert said in run(*CHEATING, "said.csv", "--group", "card", ok=False).output


def test_a_list_has_numbers_for_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("list.csv").write_text("sheet,0,1,2,3,4\na,179,398,321,87,0\nb,101,323,355,196,40\n")
    shown = run("estimate", "--design", "list:3", "list.csv", "--group", "sheet=a,b").output
    assert "43.4 %" in shown


def test_a_report_page_is_made_of_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    design = ["--design", "smokes=crosswise:1/4"]
    run("report", *design, "--counts", "same=680,different=320", "-o", "one.html")
    page = Path("one.html").read_text()
    assert "smokes: “yes”: 14.0\xa0% (8.3 to 19.9\xa0%)" in re.sub("<[^>]*>", "", page)
    Path("said.csv").write_text("ward,same,different\nn,340,160\ns,340,160\n")
    run("report", "--design", "crosswise:1/4", "said.csv", "-o", "two.html")
    assert "14.0\xa0% (8.3 to 19.9\xa0%)" in Path("two.html").read_text()
    assert "Missing argument" in run("report", "-o", "x.html", ok=False).output
    more = [*design, "--counts", "same=1,different=2", "said.csv", "-o", "x.html"]
    assert "--counts: cannot be used with a file" in run("report", *more, ok=False).output
    said = run("report", *CHEATING[1:], *FIRST, *SECOND, "-o", "x.html", ok=False).output
    assert "one card for everybody" in said


def test_a_new_study_of_designs_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rejects a study with an epsilon or a budget beside a design, which no study may state."""
    monkeypatch.chdir(tmp_path)
    options = ["--secret", "smokes,age", "--design", "smokes=crosswise:1/4"]
    more = ["--design", "age=forced:1/10", "--values", "age=young,old,older"]
    said = run("new", *options, *more, "-o", "paper.toml").stderr
    assert "Next: warner study sheet paper.toml" in said
    run("study", "sheet", "paper.toml", "-o", "sheet.html")
    study = Study.load("paper.toml")
    assert [type(m).__name__ for m in study.mechanisms.values()] == ["Crosswise", "ForcedResponse"]
    refused = run("new", *options[:2], "--design", "crosswise:1/4", ok=False).output
    assert "Write --design smokes=crosswise:1/4" in refused


_OPPOSITE = {"same": "different", "different": "same"}


@pytest.mark.parametrize(
    "options",
    [
        ["--by", "ward"],
        ["--weights", "w"],
        ["--weights", "w", "--by", "ward", "--compare-groups"],
        ["--interval", "wald"],
    ],
)
def test_the_extended_crosswise_design_has_groups_and_weights(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects estimates that differ from those of one card whose second half is read opposite."""
    monkeypatch.chdir(tmp_path)
    people = [
        (ward, card, said, w)
        for ward, same in (("n", 17), ("s", 13))
        for card, n in (("red", same), ("blue", 40 - same))
        for i, said in enumerate(["same"] * n + ["different"] * (40 - n))
        for w in [(1, 0.5, 2.5)[i % 3]]
    ]
    rows = ["ward,card,said,w", *(",".join(map(str, row)) for row in people)]
    Path("two.csv").write_text("\n".join(rows))
    once = [",".join((a, b if c == "red" else _OPPOSITE[b], str(w))) for a, c, b, w in people]
    Path("one.csv").write_text("\n".join(["ward,said,w", *once]))
    two = ["two.csv", "--design", "extended-crosswise:1/4", "--group", "card=red,blue"]
    shown = run("estimate", *two, *options, "--csv")
    assert (
        shown.stdout
        == run("estimate", "one.csv", "--design", "crosswise:1/4", *options, "--csv").stdout
    )
    test = json.loads(run("estimate", *two, "--json").stdout)["fit_test"]
    assert f"chi-square {test['statistic']:.3g} with 1 degree of freedom" in shown.stderr
    assert (
        "card red had the card crosswise:1/4, and people with card blue had the opposite card"
        in shown.stderr
    )
    lacking = run("estimate", *two[:3], *options, ok=False).output
    assert "needs --group" in lacking


def test_the_extended_crosswise_design_reads_counts_and_leaves_people_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c.csv").write_text("ward,card,same,n\nn,1,30,100\nn,2,66,90\ns,1,40,100\ns,2,55,90\n")
    design = ["--design", "extended-crosswise:1/4", "--group", "card"]
    rows = json.loads(run("estimate", "c.csv", *design, "--by", "ward", "--json").stdout)[0]
    yes = [row["estimate"] for row in rows["shares"] if row["value"] == "yes"]
    # Of 190 people (30 + 24) and (40 + 35) are read as "same": (1 - 1/4 - share) / (1 - 1/2).
    assert yes == pytest.approx([2 * (0.75 - 54 / 190), 2 * (0.75 - 75 / 190)], abs=1e-6)
    Path("p.csv").write_text(
        "card,said\n" + "1,same\n1,different\n2,same\n2,different\n" * 9 + "2,NA\n"
    )
    shown = run("estimate", "p.csv", *design, "--drop-missing")
    assert "1 of 37 people have no answer and are left out (2: 1)" in shown.stderr
    other = run("estimate", "p.csv", *design[:3], "card=1,3", "--drop-missing", ok=False).output
    assert (
        "must have only the entries '1' and '3', which name the first and the second group" in other
    )


def test_the_test_of_the_extended_crosswise_design_stands_in_every_form(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects a failed test in one line on stderr alone, and one that ignores the clusters."""
    monkeypatch.chdir(tmp_path)
    rows = [
        f"{card},{'ns'[i % 2]},v{i % 30},{said}"
        for card, same in (("red", 110), ("blue", 90))
        for i, said in enumerate(["same"] * same + ["different"] * (150 - same))
    ]
    Path("t.csv").write_text("\n".join(["card,ward,village,said", *rows]))
    command = ["estimate", "t.csv", "--design", "extended-crosswise:1/4"]
    command += ["--group", "card=red,blue"]
    files = [f"-oe.{ending}" for ending in ("txt", "tex", "typ", "xlsx", "json", "csv")]
    failed = "Do not rely on the share then."
    for options in ([], ["--by", "ward"], ["--by", "ward", "--compare-groups"]):
        drawn = ["--cluster", "village"]
        said = run(*command, *options, *drawn, *files).stderr
        assert failed in said
        for name in ("e.txt", "e.tex", "e.typ"):
            assert failed in " ".join(Path(name).read_text().split())
        assert "multicolumn" in Path("e.tex").read_text().split("Test of the design")[-2][-40:]
        sheet = openpyxl.load_workbook("e.xlsx")["notes"]
        assert failed in " ".join(str(row[0].value) for row in sheet)
        (test,) = json.loads(Path("e.json").read_text())[0]["fit_tests"]
        assert test["p"] < 0.01 and test["f_degrees"][1] < 30  # of 30 villages
        assert "allows for the clusters" in said
    one_card = [line for line in Path("t.csv").read_text().splitlines() if "blue" not in line]
    Path("one.csv").write_text("\n".join(one_card))
    few = run("estimate", "one.csv", *command[2:], "--cluster", "village", "--json").stdout
    assert "fit_tests" not in few
    alone = run(*command, "--by", "ward")
    shown = " ".join(alone.stdout.split())
    assert "counts each person once" in shown and failed in shown and failed not in alone.stderr


def test_the_extended_crosswise_design_is_planned_as_one_card() -> None:
    options = ["--people", "800", "--share", "0.1", "--json"]
    of_two = json.loads(run("plan", "--design", "extended-crosswise:1/4", *options).stdout)
    of_one = json.loads(run("plan", "--design", "crosswise:1/4", *options).stdout)
    two, one = of_two["extended-crosswise:1/4"], of_one["crosswise:1/4"]
    assert two | {"design": ""} == one | {"design": ""} and two["design"] in of_two
    shown = run("plan", "--design", "extended-crosswise", "--people", "2000").stdout
    assert "extended-crosswise:1/4" in shown and shown.count("half of the people") == 1


_PAPER = "ward,same,different\nn,380,220\nr,260,240\no,210,190\n"


def test_columns_of_counts_that_make_groups_are_named_and_a_page_has_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects a page of the table without the wards that the page of its tally has."""
    monkeypatch.chdir(tmp_path)
    Path("paper.csv").write_text(_PAPER)
    unused = (
        "paper.csv: Columns that are not used: ward. To compare groups of people by these columns, "
    )
    card = ("paper.csv", "--design", "crosswise:1/4")
    assert "not used" not in run("report", *card, "-o", "p.html").stderr
    assert "By ward" in Path("p.html").read_text()
    study = '[attributes.said]\nvalues = ["no", "yes"]\ndesign = "crosswise:1/4"\n'
    Path("s.toml").write_text(study + '[public.ward]\nvalues = ["o", "n", "r"]\n')
    run("tally", "--counts", "paper.csv", "--study", "s.toml", "-o", "paper.json")
    for file in ("paper.csv", "paper.json"):
        run("report", file, "--study", "s.toml", "-o", f"{file}.html")
    of_table, of_tally = (Path(f"paper.{each}.html").read_text() for each in ("csv", "json"))
    assert "By ward" in of_tally and of_table == of_tally
    assert f"{unused}add --by ward." in run("estimate", *card).stderr
    for more in (["--by", "ward"], ["--total"]):
        assert "not used" not in run("estimate", *card, *more).stderr


def test_a_table_of_counts_is_regressed_as_its_people(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects: "is not a report file of warner", of the table that warner wrote for its sheet."""
    monkeypatch.chdir(tmp_path)
    Path("paper.csv").write_text(_PAPER)
    rows, long = ["said,ward"], ["attribute,ward,value,count"]
    for ward, *counts in (line.split(",") for line in _PAPER.splitlines()[1:]):
        for word, count in zip(("same", "different"), counts, strict=True):
            rows += [f"{word},{ward}"] * int(count)
            long.append(f"said,{ward},{word},{count}")
    Path("rows.csv").write_text("\n".join(rows) + "\n")
    Path("long.csv").write_text("\n".join(long) + "\n")
    Path("s.toml").write_text(
        '[attributes.said]\nvalues = ["no", "yes"]\ndesign = "crosswise:1/4"\n'
        '[public.ward]\nvalues = ["n", "o", "r"]\n'
    )
    card = ("--design", "crosswise:1/4")
    of_rows = run("regress", "rows.csv", "said ~ ward", *card).output
    assert run("regress", "paper.csv", "said ~ ward", *card).output == of_rows
    assert run("regress", "long.csv", "said ~ ward", "--study", "s.toml").output == of_rows
    said = run("regress", "long.csv", "other ~ ward", *card, ok=False).output
    assert "must be one of the questions of long.csv: said; got 'other'" in said
    said = run("regress", "long.csv", "said ~ ward", *card, "--drop-missing", ok=False).output
    assert "--drop-missing: needs a table with a row for each person, and not counts" in said


def test_a_column_of_counts_that_makes_no_group_is_named_beside_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects counts of two groups that are added up without a word."""
    monkeypatch.chdir(tmp_path)
    rows = ["district,sex,yes,no", "North,female,120,280", "South,female,130,220"]
    Path("wide.csv").write_text("\n".join([*rows, "North,male,130,270", "South,male,110,240"]))
    command = ["estimate", "wide.csv", "--design", "forced:1/6,1/6", "--by"]
    said = run(*command, "district").stderr
    assert "Columns that are not used: sex." in said
    assert "add --by district,sex." in said
    assert "not used" not in run(*command, "district,sex").stderr


def test_counts_of_two_questions_are_never_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects counts of two questions that are added up, in a table, on a page and in Python."""
    monkeypatch.chdir(tmp_path)
    rows = ["district,Question,yes,no", "North,drugs,120,280", "South,drugs,130,220"]
    Path("wide.csv").write_text("\n".join([*rows, "North,tested,130,270", "South,tested,110,240"]))
    of_both = ["--design", "forced:1/6,1/6", "--by", "district"]
    for command in (["estimate"], ["report", "-o", "page.html"]):
        said = run(*command, "wide.csv", *of_both, ok=False).stderr
        assert "has counts of several questions, which must not be added" in said
        assert "got 'drugs', 'tested'" in said
        assert "Choose a question: --design drugs=forced:yes=1/6,no=1/6." in said
    assert not Path("page.html").exists()
    chosen = "drugs=forced:1/6,1/6"
    shown = run("estimate", "wide.csv", "--design", chosen, "--by", "district").stdout
    assert "drugs: 2 groups, 750 reports" in shown
    each = run("estimate", "wide.csv", *of_both[:-1], "Question,district").stdout
    assert "4 groups, 1,500 reports" in each
    question = '[attributes.{}]\nvalues = ["no", "yes"]\ndesign = "forced:1/6,1/6"\n'
    public = '[public.district]\nvalues = ["North", "South"]\n'
    Path("one.toml").write_text(question.format("drugs") + public)
    Path("two.toml").write_text(question.format("drugs") + question.format("tested") + public)
    shown = run("estimate", "wide.csv", "--study", "two.toml", "--by", "district").stdout
    assert "drugs: 2 groups, 750 reports" in shown and "tested: 2 groups, 750 reports" in shown
    said = run("estimate", "wide.csv", "--study", "one.toml", ok=False).stderr
    assert "line 4: must name a question of the study: drugs; got 'tested'. Delete the rows" in said
    study = Study.load("one.toml")
    with pytest.raises(warner.errors.FileError, match="must name a question of the study: drugs"):
        read_counts("wide.csv", study.mechanisms.values()).tallies(
            study.mechanisms, study.public, study.digest
        )
    Path("wide.csv").write_text(Path("wide.csv").read_text().replace("Question", "topic"))
    said = run("estimate", "wide.csv", "--study", "two.toml", ok=False).stderr
    assert "Rename the column 'topic' to 'question'." in said


def test_rows_of_people_about_two_questions_are_never_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects what people said to two questions that is counted as one."""
    monkeypatch.chdir(tmp_path)
    Path("said.csv").write_text("question,said\n" + "drugs,yes\ntested,no\n" * 60)
    command = ["estimate", "said.csv", "--design", "forced:1/6,1/6"]
    said = run(*command, ok=False).stderr
    assert "has rows of several questions in column 'question', which must not be added" in said
    assert "name question in --by." in said
    assert "2 groups, 120 reports" in run(*command, "--by", "question").stdout
