"""Counts of designs on the command line, in tables and in studies."""

from __future__ import annotations

import csv
import html
import io
import json
import math
import re
from pathlib import Path

import numpy as np
import openpyxl
import pytest
from click.testing import CliRunner

import warner
from tests.spec.app._command import run
from warner.app.cli import main
from warner.design.paper_plans import designs_of_width
from warner.designs import from_text
from warner.designs.texts import BY_DEVICE
from warner.errors import ArgumentError, StudyError
from warner.io.counts_by_hand import refuse_one_column

STUDY = """
[attributes.cannabis]
values = ["no", "yes"]
design = "crosswise:1/4"

[attributes.cheated]
values = ["no", "yes"]
design = "forced:1/6,1/6"

[public.ward]
values = ["north", "south"]
"""


def _run(*arguments: str, fails: bool = False) -> str:
    done = CliRunner().invoke(main, list(arguments), env={"COLUMNS": "80"})
    assert (done.exit_code != 0) == fails, done.output
    return done.output


def test_the_first_result_is_one_line_of_input() -> None:
    out = _run("estimate", "--design", "crosswise:1/4", "--counts", "same=680,different=320")
    assert out.startswith("crosswise:1/4: 1,000 people, 680 same, 320 different\n")
    assert "yes      14.0 %   8.3 to 19.9 %" in out
    assert "assumes that people followed the card" in out
    assert max(map(len, out.splitlines())) <= 80
    asked = ["--design", "kuk:4/5,1/4,2", "--counts", "0=5,1=3,2=2", "--json"]
    data = json.loads(_run("estimate", *asked))[0]
    assert data["attribute"] == "kuk:4/5,1/4,2" and data["interval"]["kind"] == "likelihood"
    assert "0: 5, 1: 3, 2: 2" in _run("estimate", *asked[:-1])


def test_exchanged_words_and_chances_can_be_seen() -> None:
    few = ("estimate", "--design", "crosswise:1/4", "--counts")
    out = _run(*few, "same=0,different=30")
    assert (
        'of 100 people whose answer is "no", 75 say "same"; of 100 people whose answer is "yes", 25'
        in out.replace("\n", " ")
    )
    assert "doubtful: only 1 in 2,800 surveys with this card" in out.replace("\n", " ")
    assert "doubtful" not in _run(*few, "same=4,different=26")
    refused = _run(*few, "same=20,different=280", fails=True)
    assert 'With this card, 25 to 75 of 100 people say "same". Here 7 do' in refused
    assert "so the estimated share of yes is 136.7 %. Was another card used" in refused


@pytest.mark.parametrize(
    ("design", "counts", "said"),
    [
        (
            "triangular:1/4",
            "either=100,neither=900",
            "With the two counts exchanged, the estimate would be 86",
        ),
        (
            "triangular:3/4",
            "either=500,neither=500",
            "With triangular:1/4, the estimate would be 33.3",
        ),
        (
            "unrelated:1/3,1/4",
            "yes=200,no=1800",
            "With unrelated:2/3,1/4, the estimate would be 2.5",
        ),
        # Chances that were exchanged come before a chance that was read as its rest.
        (
            "unrelated:1/4,2/3",
            "yes=264,no=536",
            "exchanged, the estimate would be 68.0 %, with unrelated:2/3,1/4 37.0 %, with unrelated:3/4,2/3",
        ),
    ],
)
def test_a_refusal_says_which_slip_explains_the_counts(design: str, counts: str, said: str) -> None:
    """Rejects a message that names all slips, also those that do not make the counts possible."""
    refused = _run("estimate", "--design", design, "--counts", counts, fails=True)
    assert said in refused


def test_crosswise_with_the_other_chance_is_seen() -> None:
    """3/4 in place of 1/4 makes 86 % of 14 %, which is as possible; few surveys mean it."""
    line = "With crosswise:1/4, the same counts would give 14.0 % yes: check that 3/4 is the"
    mirrored, right = (
        _run("estimate", "--design", f"crosswise:{p}", "--counts", "same=680,different=320")
        for p in ("3/4", "1/4")
    )
    assert line in " ".join(mirrored.split()) and "the same counts" not in right
    # Counts that are just possible with the other chance mean no share below 0.
    assert "would give 0.0 % yes" in warner.designs.Crosswise("3/4").mirrored(np.array([24, 76]))


def test_wide_lines_have_standard_errors(tmp_path: Path) -> None:
    """Rejects: errors that stand in files alone, and those of answers without the card."""
    counts = ("estimate", "--design", "crosswise:1/4", "--counts", "same=680,different=320")
    narrow, wide = _run(*counts), _run(*counts, "--wide")
    assert "standard error" not in narrow and "standard error" in wide
    # sqrt(.68 * .32 / 1000) / (1 - 2 / 4)
    assert all("3.0 %" in line for line in wide.splitlines()[3:5])
    path = _table(
        tmp_path / "c.xlsx", [["ward", "same", "different"], ["n", 70, 30], ["s", 60, 40]]
    )
    groups = _run("estimate", path, "--design", "crosswise:1/4", "--by", "ward", "--wide")
    assert "standard error" in groups and "9.2 %" in groups and "9.8 %" in groups


def test_a_share_below_zero_is_said() -> None:
    out = _run("estimate", "--design", "crosswise:1/4", "--counts", "same=780,different=220")
    assert "The calculation gives -6.0 % for yes" in " ".join(out.split())


@pytest.mark.parametrize("target", ["population", "respondents"])
def test_fewer_yes_than_the_card_makes_are_said_in_the_table_and_on_the_page(
    target: str, tmp_path: Path
) -> None:
    """Rejects a page without the calculation, and a short interval that looks like a sure one."""
    counts = ("--design", "forced:1/6,1/6", "--counts", "no=30,yes=0", "--target", target)
    page = tmp_path / f"{target}.html"
    _run("report", *counts, "--short", "-o", str(page))
    for text in (_run("estimate", *counts), html.unescape(page.read_text())):
        said = " ".join(text.replace("\N{NO-BREAK SPACE}", " ").split())
        assert (
            "The calculation gives -25.0 % for yes. The table shows the nearest possible share. "
            'Fewer people said what points to "yes" than the card alone makes, which makes the '
            "interval look short." in said
        )
    # Where the counts are doubtful, another card is the likelier reason.
    doubtful = _run("estimate", *counts[:2], "--counts", "no=60,yes=0")
    assert "look short" not in doubtful and "The calculation gives -25.0 %" in doubtful


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        (
            ["--design", "crosswise:1/4", "--counts", "yes=680,no=320"],
            "must have the words 'different' and 'same'; got 'yes'. With the card, of 100 people "
            'whose answer is "no", 75 say "same"; of 100 people whose answer is "yes", 25 say',
        ),
        (["--design", "crosswise:1/4", "--counts", "680,320"], "must say how many people said"),
        (["--design", "crosswise:1/4", "--counts", "same=1,same=2"], "twice"),
        (
            ["--design", "crosswise:1/4", "--counts", "same=1;different=2"],
            "commas; got 'same=1;different=2'. Write --counts same=1,different=2.",
        ),
        (
            ["\N{EM DASH}design", "crosswise:1/4", "--counts", "same=1,different=2"],
            "begins with a dash in place of two hyphens. Type --design",
        ),
        (
            ["\N{EN DASH}-design=crosswise:1/4", "--counts", "same=1,different=2"],
            "begins with a dash in place of two hyphens. Type --design",
        ),
        *(
            (["--design", "crosswise:1/4", "--counts", counts], f"Write --counts {meant}.")
            for counts, meant in (
                ("same:680,different:320", "same=680,different=320"),
                ("same=1,680,different=320", "same=1680,different=320"),
                ("same=1.680,different=320", "same=1680,different=320"),
                ("same=1 680,different=1 320", "same=1680,different=1320"),
            )
        ),
        (
            [
                "--design",
                "crosswise:1/4",
                "--counts",
                *["same", "=", "680,", "different", "=", "320"],
            ],
            "no space between its words. Write --counts same=680,different=320.",
        ),
        (
            ["--design", "crosswise", "1/4", "--counts", "same=680,different=320"],
            "must have a colon and no space. Write --design crosswise:1/4.",
        ),
        (
            [
                "--design",
                "\N{LEFT DOUBLE QUOTATION MARK}crosswise:1/4\N{RIGHT DOUBLE QUOTATION MARK}",
            ],
            'has curly quotes, as Word writes them. Type straight quotes: "crosswise:1/4".',
        ),
        (["-design", "crosswise:1/4"], "Long options have two hyphens: --design"),
        (["--designcrosswise:1/4"], "Type a space behind --design."),
        (["~$counts.xlsx"], "Save and close counts.xlsx there, and type counts.xlsx."),
        ([".~lock.counts.ods#"], "Save and close counts.ods there, and type counts.ods."),
        (["--design", "crosswise:1/4", "--counts", "same=1"], "different=0"),
        (["--design", "crosswise:1/4"], "needs --counts"),
        (["--counts", "same=1,different=2"], "needs --design"),
        (["t.json", "--design", "mangat:2/3", "--counts", "yes=1,no=2"], "with a file"),
        (["--design", "crossways:1/4", "--counts", "same=1,different=2"], "'crosswise' meant"),
    ],
)
def test_what_does_not_go_together_is_refused(arguments: list[str], wrong: str) -> None:
    assert wrong in _run("estimate", *arguments, fails=True)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("c.csv", "ward;same;different\nn;1.000;120\n", "Write only digits, such as 1200."),
        ("c.csv", "ward;same;different\nn;380,5;120\n", "Write only digits, such as 1200."),
        ("c.csv", "ward;same;different\nn;60,5;39,5\n", "not a percentage."),
        ("c.ods", "PK\3\4", "is a spreadsheet of LibreOffice. In LibreOffice, save it as .xlsx"),
        ("c.numbers", "PK\3\4", "is a spreadsheet of Numbers. In Numbers, export it as Excel"),
        ("c.docx", "PK\3\4", "is a document of Word. Copy the table into Excel"),
    ],
)
def test_tables_of_other_programs_are_refused_with_the_way_on(
    name: str, content: str, said: str, tmp_path: Path
) -> None:
    """Rejects a thousand people, written 1.000 as in German, that are counted as one."""
    (tmp_path / name).write_text(content)
    command = ("estimate", str(tmp_path / name), "--design", "crosswise:1/4")
    assert said in " ".join(_run(*command, fails=True).split())


def test_a_file_that_is_not_there_is_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects a wrong folder and a mistyped name without what to do next."""
    monkeypatch.chdir(tmp_path)
    Path("counts.csv").write_text("same,different\n680,320\n")
    for name, way in (
        ("count.csv", "Is 'counts.csv' meant?"),
        ("counts", "Is 'counts.csv' meant?"),
        ("counts.xlsx", "Is 'counts.csv' meant?"),
        ("other/counts.csv", "If the file is in another folder, go to this folder first: cd"),
        ("zz.csv", "If the file is in another folder, go to this folder first: cd FOLDER."),
        (".", "Give one file in this folder."),
    ):
        said = _run("estimate", name, "--design", "crosswise:1/4", fails=True)
        assert way in " ".join(said.split()), name


def test_percentages_and_numbers_of_days_in_a_table_are_doubted(tmp_path: Path) -> None:
    """Rejects groups of 100 people each, and days as Excel counts them, without a word."""
    path = _table(tmp_path / "c.csv", [["day", "same", "different"], [45292, 76, 24]])
    command = ("estimate", path, "--design", "crosswise:1/4", "--by", "day")
    said = " ".join(_run(*command).split())
    assert "45292 is 2024-01-01" in said and "exactly 100" not in said
    _table(tmp_path / "c.csv", [["day", "same", "different"], ["a", 76, 24], ["b", 60, 40]])
    said = " ".join(_run(*command).split())
    assert "Each group has exactly 100 people." in said and "Excel" not in said


def _tallied(tmp_path: Path, table: str, fails: bool = False) -> str:
    (tmp_path / "study.toml").write_text(STUDY)
    (tmp_path / "counts.csv").write_text(table)
    options = ["--study", str(tmp_path / "study.toml"), "-o", str(tmp_path / "tally.json")]
    return _run("tally", "--counts", str(tmp_path / "counts.csv"), *options, fails=fails)


def test_a_row_of_sums_under_counts_is_named(tmp_path: Path) -> None:
    said = " ".join(_tallied(tmp_path, f"{COUNTED}Summe;;2000\n", fails=True).split())
    assert "line 6: has a sum of other rows; got 'Summe'. Delete this row" in said


@pytest.mark.parametrize("word", ["Total", ""])
def test_a_row_of_sums_and_blank_rows_in_excel_are_no_missing_entries(
    word: str, tmp_path: Path
) -> None:
    """Rejects the advice to write 0 into a blank row, or an entry into a row of sums."""
    (tmp_path / "study.toml").write_text(STUDY)
    names, *rows = [line.split(";") for line in COUNTED.splitlines()]
    counted = [[*cells, int(n)] for *cells, n in rows]
    options = ["--study", str(tmp_path / "study.toml"), "-o", str(tmp_path / "tally.json")]
    path = _table(tmp_path / "c.xlsx", [names, *counted[:2], [], *counted[2:], [], []])
    _run("tally", "--counts", path, *options)
    path = _table(tmp_path / "c.xlsx", [names, *counted, [], [None, word or None, 2000]])
    said = " ".join(_run("tally", "--counts", path, *options, fails=True).split())
    assert "has a sum of other rows" in said and "Delete this row" in said


def test_counts_without_a_study_or_a_design_are_asked_for_one(tmp_path: Path) -> None:
    """Rejects three remedies for a table whose sheet has a study."""
    (tmp_path / "counts.csv").write_text(COUNTED)
    said = _run("estimate", str(tmp_path / "counts.csv"), fails=True)
    assert "Add the study of the printed sheet: --study study.toml." in " ".join(said.split())


def test_a_tally_takes_no_design(tmp_path: Path) -> None:
    """Rejects a tally of phones that is called a file without answers."""
    _tallied(tmp_path, COUNTED)
    tally = str(tmp_path / "tally.json")
    said = _run("estimate", tally, "--design", "forced:1/6,1/6", fails=True)
    assert "is a tally" in said and "Leave out --design." in " ".join(said.split())


COUNTED = """attribute;value;count
cannabis;same;680
cannabis;B;320
cheated;YES;400
cheated;no;600
"""


def test_tables_of_counts_are_read(tmp_path: Path) -> None:
    _tallied(tmp_path, COUNTED)
    out = _run("estimate", str(tmp_path / "tally.json"))
    assert "cannabis (crosswise:1/4): 1,000 people, 680 same, 320 different" in out
    assert "cheated (forced:yes=1/6,no=1/6): 1,000 people, 400 yes, 600 no" in out


def test_tables_of_counts_have_groups(tmp_path: Path) -> None:
    """Rejects counts that are put to the wrong group."""
    wards = [line.split(";") for line in COUNTED.splitlines()[1:]]
    rows = [
        f"{attribute},{value},{int(count) + extra},{ward}"
        for ward, extra in (("south", 1), ("north", 0))
        for attribute, value, count in wards
    ]
    _tallied(tmp_path, "\n".join(["attribute,value,count,ward", *rows]))
    tally = warner.reports.tally.load_tallies(tmp_path / "tally.json")["cannabis"]
    assert tally["north"].counts.tolist() == [320, 680]
    assert tally["south"].counts.tolist() == [321, 681]
    slip = "\n".join(["attribute,value,count,ward", *rows]).replace("south", "suoth")
    said = _tallied(tmp_path, slip, fails=True)
    assert "line 2: column 'ward'" in said and "Is 'south' meant?" in said and "suoth" not in said


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        (("cannabis;same", "cannabis;yes"), "line 2: report: must be different or same"),
        (("cannabis;B", "canabis;B"), "Is 'cannabis' meant"),
        ((";680", ";1.200"), "whole number of people"),
        (("cannabis;B", "cannabis;A"), "counts a word a second time"),
        (("cannabis;B;320\n", ""), "'cannabis': has no count of 'different'"),
        (("attribute;value;count", "attribute;value;count;town"), "too few cells"),
    ],
)
def test_tables_that_are_wrong_are_refused(
    tmp_path: Path, change: tuple[str, str], wrong: str
) -> None:
    assert wrong in _tallied(tmp_path, COUNTED.replace(*change), fails=True)


def test_each_group_needs_all_its_lines(tmp_path: Path) -> None:
    """Rejects a line that one ward lacks and counts as 0: "same" of the south was 0 of 320."""
    lines = [f"{line},{ward}" for ward in ("north", "south") for line in COUNTED.split()[1:]]
    table = "\n".join(["attribute;value;count;ward", *lines]).replace(",", ";")
    said = _tallied(tmp_path, table.replace("cannabis;same;680;south\n", ""), fails=True)
    words = " ".join(said.split())
    assert "'cannabis': has no count of 'same' where ward is south. Write 0 if" in words
    # A ward without any line of a question has nobody there.
    table = table.replace("cannabis;same;680;south\n", "").replace("cannabis;B;320;south\n", "")
    _tallied(tmp_path, table)
    tally = warner.reports.tally.load_tallies(tmp_path / "tally.json")["cannabis"]
    assert tally["north"].counts.tolist() == [320, 680]


def test_a_check_says_which_answer_is_the_yes_of_the_card(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(STUDY.replace('["no", "yes"]', '["nie", "schon mal"]', 1))
    said = _run("study", "check", str(tmp_path / "s.toml"))
    assert 'cannabis: "yes" on the card means schon mal.' in said and "cheated:" not in said


SAID = "cannabis,cheated\nsame,yes\nB,no\n SAME ,yes\nsame,no\n"


@pytest.mark.parametrize("text", [SAID, "cannabis,cheated\n1,1\n0,0\n1,1\n1,0\n"])
def test_files_of_what_people_said_are_read_in_words(tmp_path: Path, text: str) -> None:
    """Rejects words that are read by the order in which they occur."""
    (tmp_path / "study.toml").write_text(STUDY)
    (tmp_path / "said.csv").write_text(text)
    options = ["--study", str(tmp_path / "study.toml"), "-o", str(tmp_path / "tally.json")]
    _run("tally", str(tmp_path / "said.csv"), *options)
    tallies = warner.reports.tally.load_tallies(tmp_path / "tally.json")
    assert tallies["cannabis"].counts.tolist() == [1, 3]
    assert tallies["cheated"].counts.tolist() == [2, 2]


def test_another_word_in_a_file_is_refused_by_its_row(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY)
    (tmp_path / "said.csv").write_text(SAID.replace("B,", "perhaps,"))
    options = ["--study", str(tmp_path / "study.toml"), "-o", str(tmp_path / "tally.json")]
    out = _run("tally", str(tmp_path / "said.csv"), *options, fails=True)
    assert (
        "line 3: column 'cannabis': must be one of different, same, A, B; got another word" in out
    )
    assert "perhaps" not in out


def test_a_study_states_designs() -> None:
    study = warner.Study.parse(STUDY)
    assert study.mechanisms["cannabis"] == warner.designs.Crosswise("1/4")
    assert study.epsilon == pytest.approx(2.70805, abs=1e-5)


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        (
            ('"crosswise:1/4"', '"crosswise:1/4"\nepsilon = 1.0'),
            "cannabis.epsilon: cannot be used with",
        ),
        (
            ('"crosswise:1/4"', '"crosswise:1/4"\nmissing = "drop"'),
            "cannot be 'drop' with the key \"design\", because tables have what people said. Leave "
            'out the key "missing". Leave the cells of these people empty, and add --drop-missing',
        ),
        (
            ('"crosswise:1/4"', '"crosswise:1/4"\nempty = ["-99"]'),
            'cannot be used with the key "design", because tables have what people said',
        ),
        (('"crosswise:1/4"', '"crossways:1/4"'), "Is 'crosswise' meant"),
        (('"crosswise:1/4"', '"crosswise:1/2"'), "make all reports useless"),
        (('["no", "yes"]\ndesign = "cross', '["yes", "no"]\ndesign = "cross'), "no first"),
        (('["no", "yes"]\ndesign = "cross', '["a", "b", "c"]\ndesign = "cross'), "two answers"),
        (
            ("[public.ward]", '[ask]\neach = "one"\nepsilon = 1\n[public.ward]'),
            "cannot be used with [ask]",
        ),
        (("[attributes.cannabis]", "budget = 2.0\n[attributes.cannabis]"), "is exceeded"),
    ],
)
def test_designs_of_a_study_that_are_wrong_are_refused(change: tuple[str, str], wrong: str) -> None:
    with pytest.raises(StudyError) as error:
        warner.Study.parse(STUDY.replace(*change))
    assert wrong in str(error.value)


def test_a_plan_of_a_design_names_people_and_the_best_that_protects_as_much() -> None:
    said = run("plan", "--design", "crosswise:1/4", "--people", "300").stdout
    # The width leads, and nothing is simulated at shares that nobody asked for.
    title, first, *_ = said.splitlines()
    assert title == "crosswise:1/4: 2 values, epsilon 1.099, 300 people"
    assert first.startswith("With 300 people, the 95 % interval of a share of 50 % is about")
    assert "default" not in said and "1/3" not in said
    # 1.96 sqrt(1/4 / 300 / (1 - 2/4)^2) = .113
    assert "the 95 % interval of a share of 50 % is about ±11 points" in said
    # ±5 points by default: (1.96 / .05)^2 (1/4) / (1/2)^2 = 1,537
    assert "For ±5 points about 1,540 people are needed (--width 0.1)" in said
    said = run("plan", "--design", "crosswise:1/4", "--width", "0.06").stdout
    assert "For ±3 points about 4,270 people are needed" in said
    assert "No other way of randomising with the same protection has a smaller error" in said
    table = said.partition("sum of squared errors")[2].partition("Columns not shown")[0]
    assert max(map(len, table.splitlines())) <= 100
    # lambda = .2 (2/3) + .25 / 3 of yes; its variance over (2/3)^2: 1.96 sqrt(.1697 / 800 / .4444)
    unrelated = ("--design", "unrelated:2/3,1/4", "--people", "800")
    said = run("plan", *unrelated, "--share", "0.2", "--width", "0.08", "--sizes", "200").stdout
    assert "the 95 % interval of a share of 20 % is about ±4.3 points" in said
    assert "another share" not in said and "For another share, add --share." in first
    assert "In a group of 200 people, the interval is about ±8.6 points." in said
    assert "For ±4 points about 917 people are needed" in said
    # Rejects a plan of ±6 points of 2 % that does not say what it means.
    rare = ("plan", "--design", "crosswise:1/4", "--people", "800", "--share")
    assert "a share of 2 % can hardly be told from 0 %." in " ".join(
        run(*rare, "0.02").stdout.split()
    )
    assert "hardly be told" not in " ".join(run(*rare, "0.2").stdout.split())
    # Several in one table, the fewest people first; at 50 % the order is another one.
    both = (*unrelated, "--design", "forced:yes=1/6,no=1/12", "--width", "0.08")
    first, second = run("plan", *both, "--share", "0.2", "--groups", "4").stdout.splitlines()[3:5]
    assert first.startswith("unrelated:2/3,1/4") and first.endswith(" 917")
    assert "±8.6" in first and second.endswith(" 924")
    first = run("plan", *both, "--share", "0.5").stdout.splitlines()[3]
    assert first.startswith("forced:yes") and first.endswith("1,060")
    some = ("--design", "triangular:1/4", "--design", "warner:2/3", "--difference", "0.1")
    assert "yes only" in run("plan", *some).stdout
    said = run("plan", "--design", "kuk:0.8,0.3,3", "--people", "300", "--difference", "0.1").stdout
    assert (
        "Kuk (the design)" in said
        and "RandomizedResponse protects people as much as this design, and has a smaller error"
        in said
        # Three draws: (.8 / .3)^3 = 512/27 to 1 against (.7 / .2)^3 = 343/8 to 1
        and "On paper it is the design warner:343/351." in said
    )
    data = json.loads(run("plan", "--design", "triangular:1/4", "--json").stdout)
    assert [row["mechanism"] for row in data["triangular:1/4"]["results"]] == ["Triangular"]
    data = json.loads(run("plan", "--design", "crosswise:1/4", "--width", "0.06", "--json").stdout)
    (row,) = csv.DictReader(
        io.StringIO(run("plan", "--design", "crosswise:1/4", "--width", "0.06", "--csv").stdout)
    )
    for planned in (data["crosswise:1/4"], row):  # 1.96 standard errors of lambda / (2 p - 1)
        assert float(planned["width"]) == pytest.approx(2 * 1.96 * 0.5 / 0.5 / 100, rel=0.01)
        assert float(planned["people_for_width"]) == pytest.approx((2 * 1.96 / 0.06) ** 2, rel=0.01)
    assert "" not in row.values() and "people" not in row
    for wrong, remedy in (
        (["--design", "cheating:1/4,3/4"], "one card for everybody"),
        (["--design", "kuk"], "kuk:4/5,1/5"),
        (["--design", "warner", "--people", "100", "--width", "0.05"], "without any protection"),
        (["--design", "crosswise:1/4", "--n", "80"], "Did you mean --people?"),
        (["--design", "crosswise:1/4", "--sizes", "9,9", "--groups", "3"], "each of 3 groups"),
        (["--design", "warner:2/3", "--sizes", "9", "--difference", "0.1"], "two groups or more"),
        ([], "--design crosswise:1/4"),
        (["--design", "crosswise:1/4", "--write", "x.toml"], "--write: is for a study file"),
        (["--design", "crosswise:1/4", "--loss", "w1"], "must be l1 or l2"),
        (
            ["--design", "forced:a=1/10,b=3/20,c=1/20", "--share", "0.2", "--difference", "0.1"],
            "two answers",
        ),
        (["--design", "crosswise:1/4", "--width", "3"], "Write 0.06 for ±3 points."),
        (["--design", "crosswise:1/4", "--difference", "2"], "Write 0.02 for 2 points."),
    ):
        assert remedy in run("plan", *wrong, ok=False).output


def test_widths_of_more_than_two_answers_are_the_widest() -> None:
    """Rejects equal shares, and a plan without --sizes and --width for several answers."""
    words = ("never", "yearly", "monthly", "weekly", "daily")
    five = "forced:" + ",".join(f"{word}=1/12" for word in words)
    options = ("--design", five, "--people", "600", "--sizes", "200,100")
    shown = run("plan", *options, "--width", "0.12").stdout

    def half(people: int) -> float:  # half of the reports are of the answer
        return 1.96 * math.sqrt(0.5 * 0.5 / people) / (7 / 12)

    assert "600 people, the 95 % interval of a share of 71.4 % is at most about" in shown
    assert f"at most about ±{100 * half(600):.1f} points, if the other answers are" in shown
    assert f"In a group of 200 people, the interval is about ±{100 * half(200):.0f} p" in shown
    (row,) = csv.DictReader(io.StringIO(run("plan", *options, "--csv").stdout))
    assert float(row["share"]) == pytest.approx(5 / 7)
    assert float(row["width_100"]) == pytest.approx(2 * half(100), rel=1e-3)
    # Where chances differ, the widest interval; another design on paper is not looked for.
    uneven = run("plan", "--design", "forced:a=1/10,b=3/20,c=1/20", "--people", "600").stdout
    widest = 1.96 * math.sqrt(0.5 * 0.5 / 600) / 0.7
    assert f"at most about ±{100 * widest:.1f} points, if the other" in uneven
    for option in (("--sizes", "200,100"), ("--width", "0.1")):
        refused = run("plan", "--design", five, "--loss", "l1", *option, ok=False).stderr
        assert f"{option[0]}: cannot be used with --loss l1, because intervals" in refused


def test_a_device_lists_designs_that_a_sheet_draws_with_it() -> None:
    """Rejects chances under a device for which the sheet asks for another one."""
    for device, texts in BY_DEVICE.items():
        rows = run("plan", "--design", device, "--wide").stdout
        for text in texts:
            design = from_text(text)
            assert design.card().brings == design.card(by=device).brings
            assert design.text in rows
    said = run("plan", "--design", "birthday", "--design", "die", "--wide").stdout
    row = next(line for line in said.splitlines() if line.startswith("crosswise:90/365"))
    # 90 of 365 days and 1 - 90/365 = 75 of 100; (1.96 / .05)^2 (1/4) / (1 - 180/365)^2 = 1,500
    assert "from 1 January to 31 March  " in row and "75, 25 same" in row
    assert row.endswith(" 1,500")
    assert "the die shows 1, or the die shows 2  " in said and "17, 83 yes" in said
    refused = run("new", "--secret", "q", "--design", "q=die", ok=False).stderr
    assert "For example forced:1/6,1/6. To see others, run: warner plan --design die" in refused


def test_a_file_of_planned_designs_has_the_columns_of_the_table(tmp_path: Path) -> None:
    path = tmp_path / "compare.csv"
    options = ("--design", "crosswise:1/4", "--design", "forced:yes=1/6,no=1/12", "--people", "800")
    run("plan", *options, "--share", "0.2", "--sizes", "400,150", "-o", str(path))
    rows = list(csv.DictReader(io.StringIO(path.read_text())))
    assert [row["design"] for row in rows] == ["forced:yes=1/6,no=1/12", "crosswise:1/4"]
    assert list(rows[0]) == [
        *("design", "epsilon", "draw", "of_hundred", "share", "width", "width_400", "width_150"),
        *("wanted_width", "people_for_width"),
    ]
    assert float(rows[1]["epsilon"]) == pytest.approx(math.log(3))
    # lambda = .25 + .5 * .2 = .35
    half = 1.96 * math.sqrt(0.35 * 0.65 / 400) / 0.5
    assert float(rows[1]["width_400"]) == pytest.approx(2 * half, rel=1e-3)


def test_chances_are_found_for_a_wanted_interval() -> None:
    """Chances of another draw, or ones that are larger or smaller than needed, are rejected."""
    options = ("--people", "800", "--share", "0.2", "--width", "0.08", "--csv")

    def half(p: float, people: float = 800) -> float:
        says = p * 0.2 + (1 - p) * 0.8
        return 1.96 * math.sqrt(says * (1 - says) / people) / abs(1 - 2 * p)

    text = run("plan", "--design", "crosswise", *options).stdout
    found = {row["by"]: row for row in csv.DictReader(io.StringIO(text))}
    assert found["birthday"]["design"] == "crosswise:42/365" and "die" not in found
    assert half(42 / 365) < 0.04 < half(43 / 365) and half(1 / 9) < 0.04 < half(2 / 17)
    assert found["cards"]["design"] == "crosswise:1/9"
    text = run("plan", "--design", "crosswise", *options, "--design-effect", "1.3").stdout
    found = {row["by"]: row for row in csv.DictReader(io.StringIO(text))}
    number = int(found["birthday"]["design"].removeprefix("crosswise:").removesuffix("/365"))
    assert half(number / 365, 800 / 1.3) < 0.04 < half((number + 1) / 365, 800 / 1.3)
    for name, at_die in (
        ("warner", "5/6"),
        ("forced", "yes=1/6,no=1/6"),
        ("unrelated", "2/3,1/2"),
        ("mangat", "5/6"),
        ("triangular", "1/6"),
    ):
        assert dict(designs_of_width(name, 0.1, 800, 0.2))["die"].text == f"{name}:{at_die}"


def test_people_without_an_answer_are_left_out_and_counted(tmp_path: Path) -> None:
    rows = [*_PEOPLE, [9, "50+", ""], [9, "18-29", "NA"], [9, "50+", "-"]]
    table = _table(tmp_path / "people.csv", rows)
    options = ("--design", "said=crosswise:1/4", "--by", "age")
    assert "add --drop-missing" in run("estimate", table, *options, ok=False).stderr
    whole = run("estimate", _table(tmp_path / "whole.csv", _PEOPLE), *options, "--csv").stdout
    left = run("estimate", table, *options, "--drop-missing", "--csv")
    assert left.stdout == whole
    assert "3 of 1,503 people have no answer and are left out (50+: 2; 18-29: 1)" in left.stderr
    typo = _table(tmp_path / "typo.csv", [*rows, [9, "50+", "smae"]])
    said = run("estimate", typo, *options, "--drop-missing", ok=False).stderr
    assert "something else in 1 of 1,504 rows, first in line 1,505. Is 'same' meant?" in said
    counts = ("--design", "crosswise:1/4", "--counts", "same=680,different=320")
    assert "only people who answered" in run("estimate", *counts, "--drop-missing", ok=False).stderr


_STUDY = '[attributes.said]\nvalues = ["no", "yes"]\ndesign = "{}"\n[public.age]\nvalues = ["18-29", "30-49", "50+"]\n'


@pytest.mark.crossed(3)
@pytest.mark.parametrize("command", ["estimate", "report", "regress"])
def test_a_design_that_contradicts_the_study_is_refused(tmp_path: Path, command: str) -> None:
    """Rejects a share of crosswise:1/4, and its promise, where the study says crosswise:1/6."""
    study, page = tmp_path / "study.toml", ("-o", str(tmp_path / "r.html"))
    table = _table(tmp_path / "people.csv", [*_PEOPLE, [9, "50+", ""]])
    more = {"estimate": ("--json",), "report": page, "regress": ("said ~ age", "--json")}[command]
    options = (command, table, *more, "--study", str(study), "--drop-missing")
    result = lambda *design: (
        run(*options, *design).stdout,
        *map(Path.read_bytes, tmp_path.glob("*.html")),
    )
    study.write_text(_STUDY.format("crosswise:1/6"))
    for design in ("crosswise:1/4", "said=crosswise:1/4", "forced:1/6,1/6"):
        if command == "regress" or "forced" not in design:
            refused = run(*options, "--design", design, ok=False).stderr
            assert "the study states for 'said': crosswise:1/6; got" in " ".join(refused.split())
    study.write_text(_STUDY.format("crosswise:1/4"))
    # The study alone is enough, and the same chance in another form is no contradiction.
    assert result() == result("--design", "crosswise:0.25")
    study.write_text(
        _STUDY.format("crosswise:1/4").replace(
            'design = "crosswise:1/4"', 'mechanism = "RandomizedResponse"\nepsilon = 1'
        )
    )
    refused = run(*options, "--design", "crosswise:1/4", ok=False).stderr
    assert "'said': RandomizedResponse; got crosswise:1/4" in " ".join(refused.split())


def _words_of(page: Path) -> str:
    """The text of a page."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page.read_text("utf-8"))).split())


def test_a_page_says_who_was_left_out_and_what_it_was_made_from(tmp_path: Path) -> None:
    """Rejects "1,500 people answered" of 1,503, and "counts alone" of a table of single people."""
    page, study = tmp_path / "r.html", tmp_path / "study.toml"
    study.write_text(_STUDY.format("crosswise:1/4"))
    rows = [*_PEOPLE, [9, "50+", ""], [9, "18-29", "NA"], [9, "", "same"]]
    options = ("--study", str(study), "--by", "age", "-o", str(page))
    for short in ((), ("--short",)):
        gaps = _table(tmp_path / "gaps.csv", rows)
        said = run("report", gaps, *options, "--drop-missing", *short).stderr
        words = _words_of(page)
        for sentence in (
            "2 of 1,503 people have no answer and are left out (50+: 1; 18-29: 1).",
            "1 of 1,503 people are left out, because they have no entry in a column that is used "
            "(1 in age).",
        ):
            assert sentence in words and sentence in " ".join(said.split())
        assert "1,500 people are counted. 2 of" in words and "people answered" not in words
        assert "made from a file with a row for each person" in words
        assert "counts of reports alone" not in words
        assert "with all their answers" not in words
    whole, tally = _table(tmp_path / "whole.csv", _PEOPLE), str(tmp_path / "t.json")
    run("report", whole, *options, "--drop-missing")
    assert "1,500 people answered." in _words_of(page) and "left out" not in _words_of(page)
    run("tally", whole, "--study", str(study), "--by", "age", "-o", tally)
    for counts in (tally, _table(tmp_path / "counts.csv", _WIDE)):
        design = () if counts == tally else ("--design", "said=crosswise:1/4")
        run("report", counts, *options, *design)
        assert "made from counts of reports alone" in _words_of(page)


def test_a_page_warns_of_small_groups_by_weight_and_cluster(tmp_path: Path) -> None:
    """Rejects silence about weights and clusters that together single out most people."""
    header, people = [*_PEOPLE[0], "w", "psu"], _PEOPLE[1:]
    rows = [[*row, f"{1 + i % 97 / 100:.2f}", i % 40] for i, row in enumerate(people)]
    page = tmp_path / "r.html"
    drawn = ("--weights", "w", "--cluster", "psu", "-o", str(page))
    for weight, is_small in ((None, True), (1, False)):
        table = [header, *([*row[:3], weight or row[3], row[4]] for row in rows)]
        path = _table(tmp_path / "people.csv", table)
        run("report", path, "--design", "said=crosswise:1/4", *drawn)
        shown = "What says how people were drawn (w and psu) is not protected either."
        assert (shown in _words_of(page)) == is_small
        assert "groups have fewer than" not in _words_of(page)


@pytest.mark.parametrize("row", [[9, "50+", ""], [9, "50+", "NA"], [9, "", "same"]])
def test_a_tally_of_a_table_with_gaps_says_how_to_leave_them_out(
    tmp_path: Path, row: list[object]
) -> None:
    """Rejects a list of the words of the card as all that is said of an empty cell."""
    (tmp_path / "study.toml").write_text(_STUDY.format("crosswise:1/4"))
    study = ("--study", str(tmp_path / "study.toml"), "--by", "age")
    table = _table(tmp_path / "people.csv", [*_PEOPLE, row])
    refused = " ".join(run("tally", table, *study, "-o", "t.json", ok=False).stderr.split())
    assert "people.csv: line 1,502: " in refused
    assert "give this table to warner estimate, with --study and --drop" in refused
    left = run("estimate", table, *study, "--drop-missing", "--json").stdout
    whole = _table(tmp_path / "whole.csv", _PEOPLE)
    assert left == run("estimate", whole, *study, "--json").stdout
    typo = _table(tmp_path / "typo.csv", [*_PEOPLE, [9, "50+", "smae"]])
    assert "--drop-missing" not in run("tally", typo, *study, "-o", "t.json", ok=False).stderr
    tally = str(tmp_path / "t.json")
    run("tally", whole, *study, "-o", tally)
    refused = run("estimate", tally, *study, "--drop-missing", ok=False).stderr
    assert (
        "--drop-missing: needs a table with a row for each person who answered on paper" in refused
    )


def test_a_question_of_the_study_without_a_column_is_named(tmp_path: Path) -> None:
    """Rejects a misspelt column of a table on paper that is left out in silence."""
    study = tmp_path / "study.toml"
    question = '[attributes.{}]\nvalues = ["no", "yes"]\ndesign = "crosswise:1/4"\n'
    study.write_text(question.format("said") + question.format("drinks"))
    table = _table(tmp_path / "people.csv", _PEOPLE)
    said = run("estimate", table, "--study", str(study)).stderr
    assert "The table has no column 'drinks', so this question of the study is left out" in said
    study.write_text(question.format("said"))
    assert "has no column" not in run("estimate", table, "--study", str(study)).stderr


@pytest.mark.parametrize(
    "table",
    [
        "attribute,value,count\nsaid,same,680\nsaid,different,320\n",
        "value,count\nsame,680\ndifferent,320\n",
        "different;same\n320;680\n",
        "age,same,different\nold,300,200\nyoung,380,120\n",
    ],
)
def test_a_table_of_counts_needs_no_design_beside_a_study(table: str, tmp_path: Path) -> None:
    """Rejects a program that takes rows of people with a study, and calls counts no reports."""
    study, of_design = tmp_path / "study.toml", ("--design", "said=crosswise:1/4", "--json")
    study.write_text(
        ('[public.age]\nvalues = ["old", "young"]\n' if "age" in table else "")
        + '[attributes.said]\nvalues = ["no", "yes"]\ndesign = "crosswise:1/4"\n'
    )
    counts, of_study = str(tmp_path / "counts.csv"), ("--study", str(study), "--json")
    Path(counts).write_text(table)
    for by in ((), ("--by", "age"))[: 1 + ("age" in table)]:
        (ours,) = json.loads(run("estimate", counts, *of_study, *by).stdout)
        (theirs,) = json.loads(run("estimate", counts, *of_design, *by).stdout)
        assert ours["shares"] == theirs["shares"]
    run("report", counts, "--study", str(study), "-o", str(tmp_path / "r.html"))


_IN_COLUMN_A = [
    'attribute,paper_design,value,count\n"said,""crosswise:1/4"",same,680"\n'
    '"said,""crosswise:1/4"",different,320"\n',
    'attribute,paper_design,value,count;\n"said,""crosswise:1/4"",same,";680\n'
    '"said,""crosswise:1/4"",different,";320\n',
    '"said,count"\n"same,680"\n"different,320"\n',
    '"said,count;"\n"same,680;"\n"different,320;"\n',
    "said,count;\nsame,;680\ndifferent,;320\n",
]


@pytest.mark.parametrize("table", _IN_COLUMN_A)
def test_lines_that_excel_did_not_split_are_refused_with_what_to_do(
    table: str, tmp_path: Path
) -> None:
    """Rejects an error that speaks of databases, and 2 people in place of 1,000 without a word."""
    study, counts = tmp_path / "study.toml", tmp_path / "counts.csv"
    study.write_text('[attributes.said]\nvalues = ["no", "yes"]\ndesign = "crosswise:1/4"\n')
    of_study, tally = ("--study", str(study)), ("-o", str(tmp_path / "t.json"))
    counts.write_text(table)
    for command in (
        ("tally", "--counts", str(counts), *of_study, *tally),
        ("estimate", str(counts), *of_study),
        ("estimate", str(counts), "--design", "crosswise:1/4"),
    ):
        said = run(*command, ok=False).stderr
        assert "has each line whole in column A" in said and "psql" not in said
        assert "Data > From Text/CSV" in said and ".xlsx" in said
    # Excel reads the file that it saves once the columns are split.
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["said", "count"], ["same", 680], ["different", 320]):
        book.active.append(row)
    book.save(tmp_path / "counts.xlsx")
    assert (
        "1,000" in run("tally", "--counts", str(tmp_path / "counts.xlsx"), *of_study, *tally).stderr
    )


@pytest.mark.parametrize(
    "table",
    [
        '"said","count"\n"same","680"\n"different","320"\n',
        '"said";"count"\n"same";"680"\n"different";"320"\n',
        "said;count;\nsame;680;\ndifferent;320;\n",
        '"said, on paper";"count"\n"A, same";680\n"B, different";320\n',
        '"said, on paper"\n"yes, often"\n"no, never"\n',
    ],
)
def test_quoted_cells_are_no_whole_lines(table: str) -> None:
    """Rejects a program that takes commas inside cells for lines that were not split."""
    refuse_one_column("counts.csv", table.splitlines(keepends=True))


def test_the_order_of_codes_is_printed_beside_blanks_and_words(tmp_path: Path) -> None:
    """Rejects silence about what 0 and 1 mean where a cell is empty, or where one is a word."""
    page = ("-o", str(tmp_path / "r.html"))
    options = ("--design", "said=crosswise:1/4", "--drop-missing")
    for last, is_told in (("", True), ("NA", True), ("same", True), (None, False)):
        rows = [*(_PEOPLE if last is None else _CODES), [9, "50+", last or ""]]
        table = _table(tmp_path / "people.csv", rows)
        for command in (("estimate", table), ("estimate", table, "--by", "age")):
            assert ("0 = different, 1 = same" in run(*command, *options).stderr) == is_told
        assert (
            "0 = different, 1 = same" in run("report", table, *page, *options).stderr
        ) == is_told
        regressed = run("regress", table, "said ~ age", *options)
        assert ("0 = different, 1 = same" in regressed.stderr) == is_told


def test_a_difference_is_planned_for_the_sizes_of_its_groups() -> None:
    options = ("--design", "crosswise:1/4", "--share", "0.2", "--difference", "0.1")
    equal = " ".join(run("plan", *options, "--people", "800").stdout.split())
    assert (
        "This assumes shares near 20 % (--share): 15 % in one group" in equal
        and "as you guessed" in equal
    )
    said = run("plan", *options, "--people", "800", "--sizes", "400,400").stdout
    power = warner.theory.power_for_difference
    design = warner.designs.from_text("crosswise:1/4")
    both = power(design, 0.1, 800, [0.8, 0.2])
    assert (
        f"In groups of 400 and 400 people: power {both:.2g}; " in said
        and "equally frequent" not in said
    )
    # 1/600 + 1/150 = 2/240: as two groups of 240
    said = run("plan", *options, "--people", "750", "--sizes", "600,150").stdout
    assert (
        f"In groups of 600 and 150 people: power {power(design, 0.1, 480, [0.8, 0.2]):.2g}; "
        in said
    )
    needed = warner.theory.people_for_difference(design, 0.1, [0.8, 0.2])
    assert f"{math.ceil(needed * 750 / 480):,} people needed in all" in said
    effect = run("plan", *options, "--people", "800", "--design-effect", "2", "--json").stdout
    planned = json.loads(effect)["crosswise:1/4"]
    assert planned["people"] == 2 * needed
    assert planned["power"] == pytest.approx(power(design, 0.1, 400, [0.8, 0.2]))


def test_a_plan_of_a_study_with_a_design_uses_the_share(tmp_path: Path) -> None:
    study, picture = tmp_path / "s.toml", tmp_path / "p.html"
    study.write_text('[attributes.a]\nvalues = ["no", "yes"]\ndesign = "crosswise:1/4"\n')
    options = ("--share", "0.2", "--people", "800", "--plot", str(picture))
    said = run("plan", str(study), *options).stdout
    assert "With 800 people, the 95 % interval of a share of 20 % is about ±6.6 points" in said
    page = picture.read_text()
    assert "crosswise:1/4" in page and "no protection" in page
    study.write_text("[attributes.a]\nvalues = [1, 2]\nepsilon = 1.0\n")
    said = run("plan", str(study), "--design-effect", "1.3", ok=False).output
    assert "--design-effect: can be used only with --design" in said


# Tables without a study: counts, or a row for each person.


def _table(path: Path, rows: list[list[object]], delimiter: str = ",") -> str:
    """A table as CSV, or as Excel by the name of the file, behind an empty row and with notes."""
    if path.suffix == ".xlsx":
        book = openpyxl.Workbook()
        for row in [[], *rows]:
            book.active.append(row)
        book.create_sheet("notes").append(["about", "the table"])
        book.save(path)
    else:
        path.write_text("\n".join(delimiter.join(map(str, row)) for row in rows) + "\n")
    return str(path)


_BY_AGE = {"18-29": (380, 120), "30-49": (310, 190), "50+": (300, 200)}
_LONG = [["age", "value", "count"]] + [
    [age, word, n]
    for age, counts in _BY_AGE.items()
    for word, n in zip(("same", "different"), counts, strict=True)
]
_WIDE = [["age", "same", "different"], *([age, *n] for age, n in _BY_AGE.items())]
_WITH_TOTALS = [["n", "age", "Same"], *([sum(n), age, n[0]] for age, n in _BY_AGE.items())]
_WITH_SUMS = [
    ["age", "different", "same", "Sum", "% same", "Share", "All people"],
    *(
        [age, b, a, a + b, f"{100 * a / (a + b):.1f}", f"{b / (a + b):.2f}", a + b]
        for age, (a, b) in _BY_AGE.items()
    ),
]
_PEOPLE = [["id", "age", "said"]] + [
    [i, age, word]
    for i, (age, word) in enumerate(
        (age, word)
        for age, (same, different) in _BY_AGE.items()
        for word in ["same"] * same + ["different"] * different
    )
]
_CODES = [_PEOPLE[0], *([i, age, int(word == "same")] for i, age, word in _PEOPLE[1:])]
_ONE_TWO = [_PEOPLE[0], *([i, age, 2 - (word == "same")] for i, age, word in _PEOPLE[1:])]
_WRONG = [_PEOPLE[0], *([i, age, f"hiv{i}" if i % 3 else w] for i, age, w in _PEOPLE[1:])]


@pytest.mark.crossed(5)
@pytest.mark.parametrize("name", ["counts.csv", "counts.xlsx"])
@pytest.mark.parametrize(
    "rows",
    [_LONG, _WIDE, _WITH_TOTALS, _WITH_SUMS, _PEOPLE, _CODES],
    ids=["long", "wide", "n", "sums", "people", "01"],
)
def test_a_table_by_group_gives_the_estimates_of_its_groups(
    tmp_path: Path, rows: list[list[object]], name: str
) -> None:
    """Rejects counts of another group or word, and a group that is left out."""
    path = _table(tmp_path / name, rows)
    design = ["--design", "said=crosswise:1/4" if len(rows) > 9 else "crosswise:1/4"]
    shown = _run("estimate", path, *design, "--by", "age", "--json")
    (groups,) = json.loads(shown[shown.index("[") :])
    for row in groups["shares"]:
        same, different = _BY_AGE[row["age"]]
        assert row["reports"] == same + different
        no = 2 * same / (same + different) - 0.5  # 3/4 of no and 1/4 of yes say same
        unbiased = {"no": no, "yes": 1 - no}[row["value"]]
        assert row["estimate"] == pytest.approx(min(max(unbiased, 0), 1), abs=0.02)
    together = _run("estimate", path, *design)
    assert "1,500 people, 990 same, 510 different" in together
    assert "not used" not in together or "not used: age." in together
    assert ("0 = different, 1 = same" in together) == (rows is _CODES)
    compared = _run("estimate", path, *design, "--by", "age", "--compare-groups")
    assert "18-29" in compared and "chi-square" in compared


def test_sums_and_percentages_beside_the_counts_of_a_study_are_set_aside(tmp_path: Path) -> None:
    """Rejects a column of other numbers that is taken for them, and a public one that is lost."""
    (tmp_path / "study.toml").write_text(
        '[attributes.said]\nvalues = ["no", "yes"]\ndesign = "crosswise:1/4"\n'
        '[collect]\npeople = 1499\n[public.age]\nvalues = ["18-29", "30-49", "50+"]\n'
    )
    options = ["--study", str(tmp_path / "study.toml"), "--by", "age"]
    path = _table(tmp_path / "counts.xlsx", _WITH_SUMS)
    shown = _run("estimate", path, *options)
    assert "3 groups, 1,500 reports" in shown
    assert "WARNING: said: 1,500 reports, but" in shown and "states people = 1,499 in" in shown
    wrong = [list(row) for row in _WITH_SUMS]
    wrong[1][4] = "77.0"  # in place of 76.0
    refused = _run("estimate", _table(tmp_path / "wrong.csv", wrong), *options, fails=True)
    assert "has a column '% same', which is not a public column" in refused
    assert 'or declare it in the study, as [public."% same"]' in refused
    wrong[1][3] = 5000
    refused = _run("estimate", _table(tmp_path / "wrong.csv", wrong), *options, fails=True)
    assert "different + same is 500, but Sum, the number of all people, is 5,000" in refused
    study = tmp_path / "study.toml"
    study.write_text(
        study.read_text().replace("1499", "1500") + '[public."% same"]\nvalues = [76, 62, 60]\n'
    )
    public = [[row[i] for i in (0, 1, 2, 4)] for row in _WITH_SUMS]
    public = [public[0], *([*row[:3], round(float(row[3]))] for row in public[1:])]
    by = ["--study", str(study), "--by", "age,% same"]
    shown = _run("estimate", _table(tmp_path / "public.csv", public), *by)
    assert "% same" in shown and "WARNING" not in shown


def test_counts_on_paper_with_the_study_of_the_phones_are_refused_by_this_name(
    tmp_path: Path,
) -> None:
    """Rejects advice to add --design that the next error says to leave out."""
    study = tmp_path / "phones.toml"
    law = 'mechanism = "RandomizedResponse"\nepsilon = 1.6'
    study.write_text(STUDY.replace('design = "crosswise:1/4"', law).replace("design =", "# "))
    study.write_text(study.read_text().replace('"forced:1/6,1/6"', f"\n{law}"))
    counts = ["estimate", _table(tmp_path / "counts.csv", _LONG), "--study", str(study)]
    refused = _run(*counts, fails=True)
    assert "the study has no card. Give the study of the printed sheet." in refused
    refused = _run(*counts, "--design", "crosswise:1/4", fails=True)
    assert "give the study of the sheet, or no --study" in refused
    assert "Leave out --design" not in refused


def test_a_report_page_is_written_from_counts_and_from_a_table(tmp_path: Path) -> None:
    """Rejects a page of all people in place of groups, and one without what the card does."""
    page = str(tmp_path / "page.html")
    design = ["--design", "drugs=crosswise:1/4"]
    _run("report", *design, "--counts", "same=680,different=320", "-o", page)
    written = Path(page).read_text(encoding="utf-8")
    assert (
        "14.0\N{NO-BREAK SPACE}% (8.3 to 19.9\N{NO-BREAK SPACE}%)" in written
        and "1,000 people" in written
    )
    assert "75 with “yes” and 25 with “no” tick “different”" in written
    _run("report", _table(tmp_path / "c.csv", _LONG), *design, "--by", "age", "-o", page)
    assert "Share of “yes”, by age" in Path(page).read_text(encoding="utf-8")
    for wrong, said in [
        ([*design], "needs --counts: how many people said 'different' and 'same'"),
        (["--design", "list:3"], "one card for everybody"),
        ([], "Missing argument"),
    ]:
        if wrong[1:] == ["list:3"]:
            wrong += ["--counts", "0=3,1=4"]
        assert said in _run("report", *wrong, "-o", page, fails=True)


_IF_NONE = "If this means no answer, empty these cells: --drop-missing then leaves these people out"


@pytest.mark.parametrize(
    ("rows", "options", "said"),
    [
        ([*_WIDE, ["Total", 990, 510]], [], "has totals of other rows, where age is Total"),
        ([*_WIDE, ["alle", 990, 510]], [], "has totals of other rows, where age is alle"),
        ([*_WIDE, ["60+", "62%", "38%"]], [], "line 5: same must be a whole number of people"),
        ([*_WIDE, ["60+", 62, ""]], [], "line 5: different must be a whole number of people"),
        ([*_WIDE, ["60+", "1.200", 3]], [], "Write only digits, such as 1200"),
        ([*_LONG, ["60+", "same", 3]], [], "no count of 'different' where age is 60+"),
        ([*_LONG, _LONG[1]], [], "several counts of 'same' where age is 18-29"),
        ([["age", "yes", "no"], ["old", 3, 4]], [], "has no column with what people said"),
        ([*_WITH_TOTALS, [3, "60+", 4]], [], "Same is 4, but n, the number of all people, is 3"),
        (_WIDE, ["--by", "aeg"], "has no column 'aeg'. Is 'age' meant?"),
        (_PEOPLE, ["--by", "Age"], "has no column 'Age'. Is 'age' meant?"),
        (
            [*_PEOPLE, [9, "old", ""]],
            [],
            "what people said in every row; got an empty cell in 1 of 1,501 rows, first in line 1,502",
        ),
        ([*_PEOPLE, [9, "old", "NA"]], [], "got no answer in 1 of 1,501 rows, first in line 1,502"),
        (
            [*_PEOPLE, [9, "old", "?"]],
            [],
            "first in line 1,502. To leave out these people, delete these rows",
        ),
        (
            [*_PEOPLE, [9, "old", "smae"]],
            [],
            "first in line 1,502. Is 'same' meant? Correct the words",
        ),
        (
            [*_PEOPLE, [8, "old", "diff"], [9, "old", "saem"], [10, "old", "hiv+"]],
            [],
            "in 3 of 1,503 rows, in lines 1,502, 1,503 and 1,504. Is this meant: 'different' in "
            "line 1,502, and 'same' in line 1,503? Then correct the words. To leave out the people "
            "of the other rows, delete those rows",
        ),
        (
            _ONE_TWO,
            [],
            "got something else in 510 of 1,500 rows, first in line 382. These rows have one other value",
        ),
        (
            _ONE_TWO,
            [],
            "If it is a code, write the word for it: different or same. Only these codes are understood: 0 for",
        ),
        (_WRONG, ["--design", "said=crosswise:1/4"], f"1,000 other values. {_IF_NONE}. If they"),
        (
            [*_PEOPLE, *[[9, "old", "-99"]] * 200],
            ["--design", "said=crosswise:1/4", "--drop-missing"],
            f"in 200 of 1,700 rows, first in line 1,502. {_IF_NONE}.",
        ),
        # Of Stata; 'a' is near to a word of this card.
        (
            [["said"], *[["A"]] * 500, *[["B"]] * 500, *[[".a"]] * 20],
            ["--design", "said=crosswise:1/4"],
            f"in 20 of 1,020 rows, first in line 1,002. {_IF_NONE}.",
        ),
        (
            [*_PEOPLE, *[[9, "old", "k.A."]] * 200],
            ["--design", "said=crosswise:1/4", "--drop-missing"],
            f"These rows have one other value. {_IF_NONE}. If it is a code, write the word for",
        ),
        (
            [["id", "said"], *([i, "TRUE" if i % 3 else "FALSE"] for i in range(60))],
            ["--design", "said=crosswise:1/4"],
            "These cells are TRUE and FALSE. Write the words of the card: different or same",
        ),
        (_LONG, ["--weights", "count"], "a table of counts takes no weights"),
        (_WITH_TOTALS, ["--weights", "n"], "a table of counts takes no weights"),
        ([*_WIDE, ["60+", 60.5, 39.5]], [], "Write the number of people, not a percentage"),
        ([*_WIDE, ["60+", 0.605, 0.395]], [], "Write the number of people, not a percentage"),
        (_PEOPLE, ["--design", "said=crosswise:0,25"], "Write a decimal point: crosswise:0.25"),
        ([["a", "b"], ["same", "same"]], [], "Choose one: --design a=DESIGN or --design b=DESIGN"),
        (_LONG[:1], [], "holds no answers"),
    ],
)
def test_tables_without_a_study_that_are_wrong_are_refused(
    tmp_path: Path, rows: list[list[object]], options: list[str], said: str
) -> None:
    """Rejects, among others, words of a card that the table does not use, such as A or B."""
    path = _table(tmp_path / "counts.csv", rows, ";")
    design = [] if "--design" in options else ["--design", "crosswise:1/4"]
    shown = _run("estimate", path, *design, *options, fails=True)
    assert said in " ".join(shown.split()) and "hiv" not in shown


_OF_GROUPS = [["smoker", "said", "count"], ["no", "no", 300], ["no", "yes", 100],
              ["yes", "no", 200], ["yes", "yes", 200]]  # fmt: skip
_AB = [["arm", "said", "count"], ["A", "same", 300], ["A", "different", 100],
       ["B", "same", 200], ["B", "different", 200]]  # fmt: skip
_CODE_OF = {"same": 1, "different": 0}
_AB_CODES = [[arm, _CODE_OF.get(said, said), n] for arm, said, n in _AB]
_AB_WIDE = [["arm", "n", "same"], ["A", 400, 300], ["B", 400, 200]]


@pytest.mark.crossed(4)
@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize(
    ("rows", "card"),
    [
        (_OF_GROUPS, "forced:1/6,1/6"),
        (_AB, "crosswise:1/4"),
        (_AB_CODES, "crosswise:1/4"),
        (_AB_WIDE, "crosswise:1/4"),
    ],
    ids=["words", "letters", "codes", "n"],
)
def test_groups_whose_labels_are_words_of_the_card_are_groups(
    tmp_path: Path, rows: list[list[object]], card: str, named: bool
) -> None:
    """Rejects a count that is ignored, so that each line is one person, and exchanged columns."""
    path, by = _table(tmp_path / "c.csv", rows), str(rows[0][0])
    design = ["--design", f"said={card}" if named else card]
    shown = _run("estimate", path, *design, "--by", by, "--json")
    (groups,) = json.loads(shown[shown.index("[") :])
    of_yes = [row["estimate"] for row in groups["shares"] if row["value"] == "yes"]
    likely = (0.125, 0.5)  # of 100 and of 200 people among 400 who say yes
    expected = likely if card[0] == "f" else (0.0, 0.5)
    assert of_yes == pytest.approx(expected, abs=0.02)
    assert {row["reports"] for row in groups["shares"]} == {400}
    if named:
        assert "800 people" in _run("estimate", path, *design)
        _run("report", path, *design, "--by", by, "-o", str(tmp_path / "page.html"))
        of_regression = _run("regress", path, f"said ~ {by}", "--design", card)
        assert "800 reports" in of_regression and f"{by}: {rows[-1][0]}" in of_regression


_MERGED = [["ward", "said", "count"], ["north", "same", 200], ["", "different", 210],
           ["south", "same", 220], ["", "different", 170]]  # fmt: skip
_NOBODY = [["ward", "said", "count"]] + [
    [ward, word, n]
    for ward in ("north", "south")
    for word, n in (("same", 200), ("different", 210), ("NA", 3))
]


@pytest.mark.parametrize(
    ("rows", "card", "said"),
    [
        (_OF_GROUPS, "forced:1/6,1/6", "has the column 'count', with one number for each word"),
        (_OF_GROUPS, "forced:1/6,1/6", "several columns: 'smoker' and 'said'. If the numbers say"),
        (_MERGED, "crosswise:1/4", "empty cell in column 'ward' in line 3. Where cells were"),
        (
            [[row[1], row[0], row[2]] for row in _MERGED],
            "crosswise:1/4",
            "empty cell in column 'ward' in line 3",
        ),
        (
            [["said", "ward", "count"], ["same", "a1", 9], ["", "b1", 8], ["different", "a1", 7],
             ["", "b1", 6]],
            "crosswise:1/4",
            "empty cell in column 'said' in line 3",
        ),
        (_NOBODY, "crosswise:1/4", "has counts of people without an answer, first in line 4"),
    ],
)  # fmt: skip
def test_counts_are_never_taken_for_rows_of_people(
    tmp_path: Path, rows: list[list[object]], card: str, said: str
) -> None:
    """Rejects 800 people who become 2, because --drop-missing made people of the lines."""
    path = _table(tmp_path / "c.csv", rows)
    for options in ([], ["--drop-missing"]):
        assert said in " ".join(
            _run("estimate", path, "--design", card, *options, fails=True).split()
        )
    two = ["--design", f"said={card}", "--design", f"smoker={card}", "--correlation"]
    if rows is _OF_GROUPS:
        refused = _run("regress", path, "said + smoker", *two, fails=True)
        assert "several columns: 'smoker' and 'said'" in " ".join(refused.split())


def test_a_report_of_a_card_has_what_was_ticked_and_what_is_assumed(tmp_path: Path) -> None:
    """Rejects a page that has no observed count, and a method that begins with a program's name."""
    study, tally, page = (str(tmp_path / name) for name in ("s.toml", "t.json", "r.html"))
    Path(study).write_text('[attributes.said]\nvalues = ["no", "yes"]\ndesign = "crosswise:1/4"\n')
    _run("tally", _table(tmp_path / "p.csv", _PEOPLE), "--study", study, "-o", tally)
    _run("report", tally, "--study", study, "-o", page)
    words = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", Path(page).read_text())).split())
    assert "said (crosswise:1/4): 1,500 people, 990 same, 510 different." in words
    assert (
        'With the card, of 100 people whose answer is "no", 75 say "same"; of 100 people whose'
        in words
    )
    assert "All of this assumes that people followed the card" in words
    assert "said: Maximum of the likelihood." in words and "said: MaximumLikelihood" not in words


@pytest.mark.crossed(2)
@pytest.mark.parametrize("notes", [["Fieldwork in May."], ["Fieldwork in May.", "Two schools."]])
@pytest.mark.parametrize("rows", [_WIDE, _PEOPLE], ids=["counts", "people"])
def test_a_note_on_the_first_sheet_is_no_table(
    tmp_path: Path, notes: list[str], rows: list[list[object]]
) -> None:
    """Rejects "holds no answers" of a workbook whose second sheet has them."""
    book = openpyxl.Workbook()
    for note in notes:
        book.active.append([note])
    answers = book.create_sheet("answers")
    for row in rows:
        answers.append(row)
    path = str(tmp_path / "survey.xlsx")
    book.save(path)
    for options in ([], ["--by", "age"]):
        shown = _run("estimate", path, "--design", "crosswise:1/4", *options)
        assert "18-29" in shown if options else "1,500 people, 990 same, 510 different" in shown


def _sheets(path: Path, sheets: dict[str, list[list[object]]]) -> str:
    """A workbook of these sheets."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        page = book.create_sheet(title)
        for row in rows:
            page.append(row)
    book.save(path)
    return str(path)


_SOURCES: list[list[object]] = [["item", "note"], ["drawn", "in May"], ["count", "by hand"]]


_HABITS: dict[str, tuple[list[list[object]], list[str], str]] = {
    "a cross table": (
        [["answer", "north", "south"], ["same", 140, 130], ["different", 60, 70]],
        [],
        "has counts in the columns north, south, and the words in the lines of 'answer'. Exchange",
    ),
    "a line of people who do not know": (
        [["age", "answer", "n"], *([age, word, 9] for age in ("young", "old")
                                   for word in ("same", "different", "don't know"))],
        [],
        "has counts of people without an answer, first in line 4. Delete these lines",
    ),
    "a total without a name": (
        [["age", "same", "different"], ["young", 3, 5], ["old", 7, 5], ["", 10, 10]],
        [],
        "has totals of other rows, where age is empty. Delete these rows",
    ),
    "two equal groups, of which one is all": (
        [["age", "same", "different"], ["young", 3, 5], ["All", 3, 5]],
        [],
        "has totals of other rows, where age is All. Delete these rows",
    ),
    "percentages beside counts": (
        [["age", "value", "count", "percent"], ["young", "same", 30, 75],
         ["young", "different", 10, 25], ["old", "same", 20, "62.5"], ["old", "different", 12, 37.5]],
        [],
        "has a column 'percent', whose numbers differ from word to word. Remove the column percent.",
    ),
    "a count that lacks in each group": (
        [["age", "sex", "value", "count"], ["young", "f", "same", 30], ["old", "f", "different", 9]],
        [],
        "has no count of 'same' where age is old and sex is f. Write 0 if nobody said",
    ),
    "a group of the answers": (
        [["id", "said"], *([i, ("same", "different")[i % 2]] for i in range(40))],
        ["--by", "said"],
        "column 'said' cannot be a public column, because it holds what people said",
    ),
    "truth values": (
        [["id", "said"], *([i, ("TRUE", "FALSE")[i % 2]] for i in range(40))],
        [],
        "These cells are TRUE and FALSE. Write the words of the card: different or same.",
    ),
    "a short word": (
        [["id", "said"], *([i, ("same", "diff")[i % 2]] for i in range(40))],
        [],
        "Is 'different' meant? Correct the words",
    ),
    "weights in per cent": (
        [["w", "said"], *([f"{i + 1}.5 %", ("same", "different")[i % 2]] for i in range(40))],
        ["--weights", "w"],
        "Write the numbers without %: only the proportions of the weights matter.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", _HABITS)
def test_tables_as_people_have_them_are_refused_with_what_to_do(tmp_path: Path, what: str) -> None:
    rows, options, words = _HABITS[what]
    table = _table(tmp_path / "c.csv", rows)
    assert words in _run("estimate", table, "--design", "crosswise:1/4", *options, fails=True)


def test_a_population_with_totals_or_percentages_is_refused_by_its_line(tmp_path: Path) -> None:
    """Rejects advice to join "Total" with another group."""
    table = _table(
        tmp_path / "c.csv", [["ward", "same", "different"], ["n", 90, 30], ["s", 80, 40]]
    )
    command = ["estimate", table, "--design", "crosswise:1/4", "--by", "ward", "--margins"]
    rows = [["ward", "number"], ["n", 30], ["s", 20], ["Total", 50]]
    refused = _run(*command, _table(tmp_path / "m.csv", rows), fails=True)
    assert "line 4 has a sum of other lines; got 'Total'. Delete this line." in refused
    rows = [["ward", "number"], ["n", "60%"], ["s", "40%"]]
    refused = _run(*command, _table(tmp_path / "m.csv", rows), fails=True)
    assert "line 2 must have a column, a value and a number. Write the number without %" in refused


def test_a_formula_that_begins_with_another_column_names_the_way_on(tmp_path: Path) -> None:
    """Rejects advice on codes and missing answers of a column without any word of the card."""
    refused = _run("regress", _table(tmp_path / "p.csv", _PEOPLE), "age ~ said", "--design",
                   "crosswise:1/4", fails=True)  # fmt: skip
    assert "In FORMULA, write the column with the words on the left of ~." in refused
    assert "the codes mean" not in refused and "--drop-missing" not in refused


def test_a_second_code_is_no_slip_of_the_pen(tmp_path: Path) -> None:
    """Rejects advice to delete all people with the code 2, of codes 1 and 2."""
    rows = [["id", "said"], *([i, 1 + i % 2] for i in range(40))]
    table = _table(tmp_path / "c.csv", rows)
    refused = _run("estimate", table, "--design", "said=crosswise:1/4", fails=True)
    assert "Only these codes are understood: 0 for different and 1 for same" in refused
    assert "delete these rows" not in refused


def test_counts_that_may_be_percentages_are_doubted(tmp_path: Path) -> None:
    """Rejects intervals as if 100 people had answered, of a table of percentages, in silence."""
    rows = [["age", "same", "different"], ["young", 70, 30], ["old", 65, 35]]
    design = ["--design", "crosswise:1/4"]
    for options in ([], ["--by", "age"]):
        said = _run("estimate", _table(tmp_path / "c.csv", rows), *design, *options)
        assert "Each group has exactly 100 people. If the numbers are percentages, write" in said
    rows[1] = ["young", 71, 30]
    assert "percentages" not in _run("estimate", _table(tmp_path / "c.csv", rows), *design)


@pytest.mark.parametrize(
    ("counts", "remedy"),
    [
        ("same=680 different=320", "Write --counts same=680,different=320."),
        ("same=680; different=320", "Write --counts same=680,different=320."),
        ("same:680,different:320", "Write --counts same=680,different=320."),
        ("same=1.200,different=320", "Write --counts same=1200,different=320."),
        ("same=1,200,different=320", "Write --counts same=1200,different=320."),
    ],
)
def test_counts_in_another_spelling_are_refused_with_their_own(counts: str, remedy: str) -> None:
    refused = _run("estimate", "--design", "crosswise:1/4", "--counts", counts, fails=True)
    assert remedy in refused


def test_wards_with_letters_are_no_answers_beside_codes(tmp_path: Path) -> None:
    """Rejects wards A and B that are taken for the boxes of the card, beside answers 0 and 1."""
    rows = [["ward", "said", "count"], ["A", 0, 60], ["A", 1, 140], ["B", 0, 70], ["B", 1, 130]]
    table = _table(tmp_path / "c.csv", rows)
    assert "400 people, 270 yes, 130 no" in _run("estimate", table, "--design", "warner:3/4")
    refused = _run("estimate", table, "--design", "crosswise:1/4", fails=True)
    assert "got 'ward', 'said'. Choose one: --design ward=DESIGN or --design said=DES" in refused
    for options in (["said=crosswise:1/4"], ["crosswise:1/4", "--by", "ward", "--total"]):
        shown = _run("estimate", table, "--design", *options)
        assert "no       85.0 %" in shown or "all people  no         85.0 %" in shown
    # A word says more than a code, as of the sex.
    rows = [["sex", "said", "count"], [0, "same", 60], [0, "different", 40], [1, "same", 70],
            [1, "different", 30]]  # fmt: skip
    shown = _run("estimate", _table(tmp_path / "w.csv", rows), "--design", "crosswise:1/4")
    assert "200 people, 130 same, 70 different" in shown


@pytest.mark.crossed(3)
@pytest.mark.parametrize("rows", [_WIDE, _PEOPLE], ids=["counts", "people"])
@pytest.mark.parametrize("options", [[], ["--by", "age"]], ids=["all", "by age"])
@pytest.mark.parametrize("is_study", [False, True])
def test_the_sheet_with_words_of_the_card_is_read(
    tmp_path: Path, rows: list[list[object]], options: list[str], is_study: bool
) -> None:
    """Rejects a table of notes on the first sheet, in place of the counts on the second."""
    path = _sheets(
        tmp_path / "s.xlsx", {"Notes": _SOURCES, "May": rows, "Codes": [["code"], ["x"]]}
    )
    study = tmp_path / "study.toml"
    study.write_text(
        '[public.age]\nvalues = ["18-29", "30-49", "50+"]\n'
        '[attributes.said]\nvalues = ["no", "yes"]\ndesign = "crosswise:1/4"\n'
    )
    design = ["--study", str(study)] if is_study else ["--design", "crosswise:1/4"]
    shown = _run("estimate", path, *design, *options)
    assert "18-29" in shown if options else "1,500 people, 990 same, 510 different" in shown


def test_sheets_that_fit_equally_well_or_not_at_all_are_named(tmp_path: Path) -> None:
    """Rejects the first of two sheets with counts, and an error that names no sheet."""
    path = _sheets(tmp_path / "s.xlsx", {"May": _WIDE, "June": _WIDE, "Notes": _SOURCES})
    refused = _run("estimate", path, "--design", "crosswise:1/4", fails=True)
    assert "has what people said on several sheets: May, June. Keep only the sheet" in refused
    refused = _run("estimate", path, "--design", "kuk:4/5,1/5", fails=True)
    assert "black or red, on any of its sheets May, June, Notes. Write these words" in refused


def test_people_without_an_entry_are_no_group(tmp_path: Path) -> None:
    """Rejects a missing age that is a group of its own, and so changes the test of all groups,

    and advice on NA to somebody whose cells are empty.
    """
    design = ("--design", "said=crosswise:1/4", "--by", "age")
    whole = _table(tmp_path / "whole.csv", _PEOPLE)
    for command in ("--compare-groups", "--csv"):
        shown = run("estimate", whole, *design, command).stdout
        for entry in ("", "NA", "."):
            table = _table(tmp_path / "gaps.csv", [*_PEOPLE, *[[9, entry, "same"]] * 27])
            refused = run("estimate", table, *design, command, ok=False).stderr
            assert "'age': must have an entry in every row; got no entry in 27 of 1,527" in refused
            assert "first in line 1,502. To leave out" in refused and "--drop-missing" in refused
            named = f". If {entry} is the name of a group, write the name in full"
            assert (named in refused) == (entry != "")
            left = run("estimate", table, *design, command, "--drop-missing")
            assert left.stdout == shown
            about = " ".join(left.stderr.split())
            assert (
                "27 of 1,527 people are left out, because they have no entry" in about
                and "(27 in age)" in about
            )
    # Counts by hand are the same: 27 is the number of people, and not of lines.
    counts = [["age", "same", "different"], ["young", 380, 120], ["old", 300, 200], ["NA", 20, 7]]
    table, clean = (_table(tmp_path / "c.csv", counts), _table(tmp_path / "d.csv", counts[:3]))
    by_hand = ("--design", "crosswise:1/4", "--by", "age", "--csv")
    assert "must have an entry in every row" in run("estimate", table, *by_hand, ok=False).stderr
    left = run("estimate", table, *by_hand, "--drop-missing")
    assert left.stdout == run("estimate", clean, *by_hand).stdout
    assert "27 of 1,027 people are left out, because they have no entry" in " ".join(
        left.stderr.split()
    )
    # Without --by all columns make groups; without groups the 27 are people like all others.
    compared = ("--design", "crosswise:1/4", "--compare-groups")
    assert "must have an entry in every row" in run("estimate", table, *compared, ok=False).stderr
    left = run("estimate", table, *compared, "--drop-missing").stdout
    assert left == run("estimate", clean, *compared).stdout
    assert "1,027 people" in run("estimate", table, "--design", "crosswise:1/4").stdout
    nobody = _table(tmp_path / "nobody.csv", [_PEOPLE[0], [1, "NA", "same"], [2, "", "same"]])
    assert (
        "has no row with an answer and an entry in 'age'"
        in run("estimate", nobody, *design, "--drop-missing", ok=False).stderr
    )


def test_groups_that_may_be_slips_of_the_pen_are_named(tmp_path: Path) -> None:
    """Rejects silence about "ashfield" beside "Ashfield", and a group of one."""
    rows = [["id", "ward", "said"]] + [
        [i, ward, "same" if i % 3 else "different"]
        for i, ward in enumerate(["Ashfield"] * 300 + ["Bray"] * 300 + ["ashfield"])
    ]
    path = _table(tmp_path / "people.csv", rows)
    design = ["--design", "said=crosswise:1/4"]
    weights = _table(tmp_path / "w.csv", [[*r, 2 * i or "w"] for i, r in enumerate(rows)])
    with_commas = Path(weights).read_text().replace(",", ";")
    semicolons = tmp_path / "semicolons.csv"
    semicolons.write_text(re.sub(r";(\d+)\n", r";\1,5\n", with_commas))
    assert "weighted by w" in _run("estimate", str(semicolons), *design, "--weights", "w")
    as_texts = [[*row, f'"{i},8"' if i else "w"] for i, row in enumerate(rows)]
    refused = _run("estimate", _table(tmp_path / "t.csv", as_texts), *design, "--weights", "w",
                   fails=True)  # fmt: skip
    assert "have a decimal comma, as in 1,8. Write a decimal point" in " ".join(refused.split())
    refused = _run("estimate", path, *design, "--by", "said", fails=True)
    assert "'said' cannot be a public column, because it holds what people said" in refused
    # Weights are no groups, though each person has another one.
    assert "single person" not in _run("estimate", weights, *design, "--weights", "w")
    shown = " ".join(_run("estimate", path, *design, "--by", "ward").split())
    assert (
        "'Ashfield' and 'ashfield' count as 2 groups, but differ only in capital letters" in shown
    )
    assert "These groups have only one person: 'ashfield'. Are their names mistyped?" in shown
    for wards, about in [
        (["Bray", "-99"], "ward is -99 for 1 of 601 people, and no number for all others."),
        (["7", "-99"], "ward is -99 for 1 of 601 people, far from all other numbers (1 to 7)."),
    ]:
        coded = [[i, {"Ashfield": "1"}.get(ward, wards[0]) if wards[0] == "7" else ward, word]
                 for i, ward, word in rows[1:-1]]  # fmt: skip
        table = _table(tmp_path / "coded.csv", [rows[0], *coded, [600, wards[1], "same"]])
        shown = " ".join(_run("estimate", table, *design, "--by", "ward").split())
        assert about in shown and f"{_IF_NONE}." in shown
    rows[-1][1] = "Bray"
    clean = _run("estimate", _table(tmp_path / "clean.csv", rows), *design, "--by", "ward")
    assert " differ by " not in clean and "single" not in clean


def test_people_who_stand_in_a_table_twice_are_warned_of(tmp_path: Path) -> None:
    """Rejects silence about rows that were pasted below each other, with the ids of the people."""
    people = [[i, 18 + i * i % 60, "different" if i * i % 7 == 2 else "same"] for i in range(200)]
    path = _table(tmp_path / "people.csv", [["id", "age", "said"], *people, *people])
    shown = " ".join(_run("--quiet", "estimate", path, "--design", "said=crosswise:1/4").split())
    assert "people.csv: the lines from 202 on repeat lines 2 to 201." in shown
    some = _table(tmp_path / "some.csv", [["id", "age", "said"], *people, people[7], people[70]])
    shown = " ".join(_run("--quiet", "estimate", some, "--design", "said=crosswise:1/4").split())
    assert "some.csv: line 202 repeats line 9, line 203 repeats line 72. If these are" in shown
    path = _table(tmp_path / "part.csv", [["id", "age", "said"], *people, *people[:40:-1]])
    shown = " ".join(_run("--quiet", "estimate", path, "--design", "said=crosswise:1/4").split())
    assert "line 204 repeats line 199, and 156 more lines repeat others." in shown
    without = [["age", "said"], *(row[1:] for row in people)]  # people who are alike
    shown = _run(
        "estimate", _table(tmp_path / "age.csv", without), "--design", "said=crosswise:1/4"
    )
    assert "repeat" not in shown
    once = _table(tmp_path / "once.csv", [["id", "age", "said"], *people])
    assert "repeat lines" not in _run("estimate", once, "--design", "said=crosswise:1/4")


def test_excel_files_of_what_people_said_are_counted(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(
        STUDY.replace('[attributes.cheated]\nvalues = ["no", "yes"]\ndesign = "forced:1/6,1/6"', "")
    )
    study = ["--study", str(tmp_path / "study.toml"), "-o", str(tmp_path / "tally.json")]
    people = [["cannabis", "ward"], ["same", "north"], ["B", "south"], ["SAME", "north"]]
    said = _run("tally", _table(tmp_path / "p.xlsx", people), *study, "--by", "ward")
    assert (
        "what 3 people said with the card of crosswise:1/4 (codes: 0 = different, 1 = same)" in said
    )
    tally = warner.reports.tally.load_tallies(tmp_path / "tally.json")["cannabis"]
    assert tally["north"].counts.tolist() == [0, 2] and tally["south"].counts.tolist() == [1, 0]
    wide = [["ward", "same", "different"], ["north", 7, 3], ["south", 5, 5]]
    _run("tally", "--counts", _table(tmp_path / "c.xlsx", wide), *study)
    tally = warner.reports.tally.load_tallies(tmp_path / "tally.json")["cannabis"]
    assert tally["north"].counts.tolist() == [3, 7] and tally["south"].counts.tolist() == [5, 5]
    wrong = [["cannabis"], ["same"], ["perhaps"]]
    out = _run("tally", _table(tmp_path / "w.xlsx", wrong), *study, fails=True)
    assert "w.xlsx: line 3: column 'cannabis': must be one of" in out and ".warner-" not in out


def test_reports_on_two_sheets_of_a_workbook_are_not_half_counted(tmp_path: Path) -> None:
    """Rejects the sheet with the most columns, as if the others had no reports."""
    path, study = (
        _table(tmp_path / "p.xlsx", [["cannabis", "id"], ["same", 1]]),
        tmp_path / "s.toml",
    )
    study.write_text(STUDY)
    book = openpyxl.load_workbook(path)
    book.create_sheet("later").append(["cannabis"])
    book["later"].append(["different"])
    book.create_sheet("notes").append(["by", "whom"])
    book.save(path)
    out = _run("tally", path, "--study", str(study), "-o", str(tmp_path / "t.json"), fails=True)
    assert "p.xlsx: has columns with the same name on several sheets: Sheet, later." in out


def test_shares_in_excel_files_are_shown_in_per_cent(tmp_path: Path) -> None:
    path = _table(tmp_path / "counts.csv", _WIDE)
    out = str(tmp_path / "shares.xlsx")
    for more in ([], ["--by", "age"]):
        _run("estimate", path, "--design", "crosswise:1/4", *more, "-o", out)
        names, *rows = openpyxl.load_workbook(out)["results"].rows
        at = [cell.value for cell in names].index("estimate")
        assert {row[at].number_format for row in rows} == {"0.0 %"}
        assert all(0 <= row[at].value <= 1 for row in rows)
        headings = [cell.value for cell in names]
        assert {"question", "answer", "95 % interval, from", "people (about)"} <= set(headings)
        assert {row[headings.index("level of the interval")].number_format for row in rows} == {
            "0.0 %"
        }
        notes = openpyxl.load_workbook(out)["notes"]
        assert "The intervals are for the population" in str(list(notes.values))


def test_a_column_that_numbers_people_is_no_covariate(tmp_path: Path) -> None:
    """Rejects an id that is a covariate because nobody named the columns."""
    for rows in (_PEOPLE, [_PEOPLE[0], *([f"p{i}", age, word] for i, age, word in _PEOPLE[1:])]):
        path = _table(tmp_path / "people.csv", rows)
        said = _run("regress", path, "said", "--design", "crosswise:1/4", fails=True)
        assert "column 'id' has a different value for every person" in " ".join(said.split())
    path = _table(tmp_path / "codes.csv", _CODES)
    of_words = _run("regress", path, "said ~ age", "--design", "crosswise:1/4")
    assert "said: the codes mean 0 = different, 1 = same." in of_words and "age: 50+" in of_words


def test_sheets_in_another_language_are_read(tmp_path: Path) -> None:
    """Rejects "ja" that is read in one command and not in another, and the order of columns."""
    path = _table(tmp_path / "c.csv", [["Klasse", "Nein", "ja"], ["10a", 17, 13], ["10b", 20, 9]])
    forced = ["--design", "forced:1/6,1/6"]
    assert "59 people, 22 yes, 37 no" in _run("estimate", path, *forced)
    people = _table(tmp_path / "p.csv", [["said"], *([["Ja"]] * 12), *([["nein"]] * 20)])
    assert "32 people, 12 yes, 20 no" in _run("estimate", people, *forced)
    study = tmp_path / "s.toml"
    study.write_text('[attributes.said]\nvalues = ["no", "yes"]\ndesign = "forced:1/6,1/6"\n')
    _run("tally", people, "--study", str(study), "-o", str(tmp_path / "t.json"))
    tally = warner.reports.tally.load_tallies(tmp_path / "t.json")["said"]
    assert tally.counts.tolist() == [20, 12]
    alone = _table(tmp_path / "y.csv", [["class", "yes"], ["10a", 0.43]])
    said = _run("estimate", alone, *forced, fails=True)
    assert "but no column 'no'. Add the column no, or a column n" in " ".join(said.split())


def test_a_page_takes_weights_for_no_groups(tmp_path: Path) -> None:
    """Rejects a page that compares a group for each weight, as if weights were wards."""
    study, path = tmp_path / "study.toml", str(tmp_path / "t.json")
    study.write_text(
        '[public.ward]\nvalues = ["north", "south"]\n[public.weight]\nintegers = [1, 99]\n'
        '[attributes.said]\nvalues = ["no", "yes"]\ndesign = "crosswise:1/4"\n'
    )
    rows = [["said", "ward", "weight"]]
    rows += [["same" if i % 3 else "different", ["north", "south"][i % 2], i % 97 + 1]
             for i in range(300)]  # fmt: skip
    table = _table(tmp_path / "p.csv", rows)
    _run("tally", table, "--study", str(study), "--by", "ward,weight", "-o", path)
    page = str(tmp_path / "r.html")
    said = _run("report", path, "-o", page, fails=True)
    assert "are too small to compare: fewer than 10 people. Name the columns that" in said
    _run("report", path, "--by", "ward", "-o", page)
    assert "north" in Path(page).read_text()


def test_a_public_column_that_is_wrong_is_not_taken_for_a_wrong_word(tmp_path: Path) -> None:
    """Rejects blame on "same" where a weight of 1.3 is no declared whole number."""
    (tmp_path / "study.toml").write_text(
        '[public.weight]\nintegers = [1, 9]\n[attributes.said]\nvalues = ["no", "yes"]\n'
        'design = "crosswise:1/4"\n'
    )
    rows = [["said", "weight"], *(["same" if i % 3 else "different", 1.3] for i in range(60))]
    command = ["tally", _table(tmp_path / "p.csv", rows), "--study", str(tmp_path / "study.toml")]
    refused = _run(*command, "--by", "weight", "-o", str(tmp_path / "t.json"), fails=True)
    assert "public column 'weight'" in refused and "word of the card" not in refused
    assert "line 2" in refused and "multiply all weights by 10." in " ".join(refused.split())
    assert "declare a range up to the largest new number" in " ".join(refused.split())


@pytest.mark.parametrize(
    "weights, advice",
    [
        ([1, 0.505, 2.5], "by 1,000. Only ratios of weights count, so the results stay the same."),
        ([50.5, 100, "7.50"], "by 10. Only"),
        ([0.25, 1.5, 3], "by 100. Only"),
        (
            [1 / 3, 2, 1],
            "by 1,000 and round them. Only ratios of weights count, so the results stay ne",
        ),
    ],
)
def test_weights_become_whole_numbers_by_the_power_of_ten_that_they_need(
    tmp_path: Path, weights: list[object], advice: str
) -> None:
    """Rejects "multiply all weights by 100", which 0.505 and then 50.5 do not follow to an end."""
    (tmp_path / "study.toml").write_text(
        '[public.weight]\nintegers = [1, 9999]\n[attributes.said]\nvalues = ["no", "yes"]\n'
        'design = "crosswise:1/4"\n'
    )
    rows = [["said", "weight"], *(["same" if i % 3 else "different", weights[i % 3]]
                                  for i in range(60))]  # fmt: skip
    command = ["tally", _table(tmp_path / "p.csv", rows), "--study", str(tmp_path / "study.toml")]
    refused = _run(*command, "--by", "weight", "-o", str(tmp_path / "t.json"), fails=True)
    words = " ".join(refused.split())
    assert f"multiply all weights {advice}" in words and "declare a range" not in words
    factor = float(advice.split()[1].rstrip(".").replace(",", ""))
    for row in rows[1:]:
        row[1] = round(float(str(row[1])) * factor)
    _run(*command[:1], _table(tmp_path / "p.csv", rows), *command[2:], "--by", "weight", "-o",
         str(tmp_path / "t.json"))  # fmt: skip


@pytest.mark.parametrize(
    ("text", "here"),
    [("UQTknown:0.7,0.2", "unrelated"), ("FR:.15,.10", "forced"), ("CDMsym", "symmetric-cheating")],
)
def test_names_of_rrreg_are_told_their_names_here(text: str, here: str) -> None:
    """Rejects a list of thirteen names, of which the reader has to find out the one."""
    name = text.partition(":")[0]
    with pytest.raises(ArgumentError, match=f"RRreg's {name} is for example {here}:"):
        from_text(text)


def test_articles_have_the_errors_of_differences_and_say_the_difference_of_a_plan(
    tmp_path: Path,
) -> None:
    """Rejects a difference without its standard error, and a power without its difference."""
    path = _table(tmp_path / "c.csv", _ALMOST_CLEAR)
    compared = ("estimate", path, "--design", "crosswise:1/4", "--by", "ward", "--compare-groups")
    tex, html = tmp_path / "t.tex", tmp_path / "t.html"
    _run(*compared, "-o", str(tex), "-o", str(html))
    assert "standard error (points) & 95 \\% interval (points)" in tex.read_text()
    assert "points" not in tex.read_text().split("\\midrule")[1]
    assert ">standard error (points)</th>" in html.read_text()
    _run("plan", "--design", "crosswise:1/4", "--difference", "10%", "-o", str(tex))
    assert "power for 10 points & people needed for 10 points" in tex.read_text()


def test_a_difference_that_correction_takes_away_is_said_to_be_corrected(tmp_path: Path) -> None:
    """Rejects "larger than chance explains" beside p = 0.03, without a word on the correction."""
    path, page = _table(tmp_path / "c.csv", _ALMOST_CLEAR), tmp_path / "r.html"
    drawn = ("--design", "crosswise:1/4", "--by", "ward")
    rows = csv.DictReader(
        io.StringIO(_run("estimate", path, *drawn, "--compare-groups", "--csv")),
    )
    smallest = min(rows, key=lambda row: float(row["p"]))
    assert float(smallest["p"]) < 0.05 < float(smallest["p_holm"])
    _run("report", path, *drawn, "-o", str(page))
    assert "chance explains, after correction for the number of comparisons." in _words_of(page)


_ALMOST_CLEAR = [
    ["ward", "same", "different"],
    ["north", 380, 220],
    ["south", 350, 250],
    ["east", 345, 255],
    ["west", 350, 250],
]
