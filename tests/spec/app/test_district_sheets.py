"""Sheets of four districts, where people threw a die: tables of people and of counts, as typed."""

from __future__ import annotations

import itertools
import math
import re
from pathlib import Path

import pytest

from tests.spec.app._command import run

STUDY = """[attributes.drugs]
label = "Have you used an illegal drug?"
values = ["no", "yes"]
design = "forced:1/6,1/6"
[public.district]
values = ["Nord", "Süd", "Ost", "West"]
"""
PHONE = """[attributes.drugs]
values = ["no", "yes"]
mechanism = "RandomizedResponse"
epsilon = 1.6
[collect]
access = "open"
people = 300
"""
COUNTS = {"Nord": (88, 32), "Süd": (78, 32), "Ost": (65, 25), "West": (44, 36)}
ESTIMATE = ("--study", "drugs.toml", "--by", "district")


def _people(path: str, column: str = "drugs", written: dict[str, str] | None = None) -> str:
    """A row for each sheet, in the alphabetical order of districts."""
    rows = [
        f"{i},{(written or {}).get(name, name)},{word}"
        for name in sorted(COUNTS)
        for word, people in zip(("no", "yes"), COUNTS[name], strict=True)
        for i in range(people)
    ]
    return _written(path, f"id,district,{column}", *rows)


def _written(path: str, *lines: str) -> str:
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _counts(path: str, first: str, line: str) -> str:
    """A row for each district, with what ``line`` says of its counts."""
    rows = [line.format(name, *pair, sum(pair)) for name, pair in COUNTS.items()]
    return _written(path, first, *rows)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _written("drugs.toml", STUDY)


@pytest.mark.parametrize(
    ("first", "line"),
    [
        ("district,yes,n", "{0},{2},{3}"),
        ("district,N,yes", "{0},{3},{2}"),
        ("district,no,n", "{0},{1},{3}"),
        ("district,no,yes,n", "{0},{1},{2},{3}"),
        ("district,n,y,total", "{0},{1},{2},{3}"),  # beside a total, n is a short no
    ],
)
def test_n_beside_a_word_is_the_number_of_people(first: str, line: str) -> None:
    """Rejects a column n that is read as the people who said no and as all people at once."""
    plain = run("estimate", _counts("plain.csv", "district,no,yes", "{0},{1},{2}"), *ESTIMATE)
    assert run("estimate", _counts("counts.csv", first, line), *ESTIMATE).stdout == plain.stdout


def test_n_beside_y_is_refused_with_both_meanings() -> None:
    """Rejects a guess whether n stands for no or for all people, where y is short too."""
    table = _counts("counts.csv", "district,n,y", "{0},{1},{2}")
    refused = run("estimate", table, *ESTIMATE, ok=False).stderr
    assert (
        "column 'n' can mean the people who said 'no', or all people. Rename the column to 'no' or 'total'"
        in refused
    )
    alone = _counts("alone.csv", "district,n", "{0},{3}")
    assert "has no column with what people said" in run(
        "estimate", alone, "--design", "forced:1/6,1/6", ok=False
    ).stderr  # fmt: skip


def test_districts_of_people_are_checked_as_those_of_counts() -> None:
    """Rejects nord as a district beside Nord, and codes, where the study declares the districts."""
    for written in ({"Ost": "ost"}, dict(zip(COUNTS, "1234", strict=True))):
        table = _people("people.csv", written=written)
        refused = run("estimate", table, *ESTIMATE, ok=False).stderr
        assert "'district': must have a value that the study declares" in refused
        assert ("Write 'Ost', exactly as in the study" in refused) == (
            "Ost" in written and "ost" in written.values()
        )
    assert "people.csv: line 2: " in refused


def test_districts_of_people_come_in_the_order_of_the_study() -> None:
    """Rejects groups in alphabetical order, where the same sheets as counts have that of the

    study.
    """
    of_counts = run("estimate", _counts("c.csv", "district,no,yes", "{0},{1},{2}"), *ESTIMATE)
    of_people = run("estimate", _people("people.csv"), *ESTIMATE)
    assert of_people.stdout == of_counts.stdout
    assert of_people.stdout.index("Süd") < of_people.stdout.index("Ost")


def test_a_count_without_a_district_is_one_row() -> None:
    """Rejects a number of rows that counts each line once for each word, and advice to leave

    people out that a study then refuses.
    """
    table = _counts("counts.csv", "district,no,yes", "{0},{1},{2}")
    with open(table, "a") as file:
        file.write(",3,4\n")
    design = ("--design", "forced:1/6,1/6", "--by", "district")
    refused = run("estimate", table, *design, ok=False).stderr
    assert "got no entry in 1 of 5 rows, first in line 6" in refused
    refused = run("estimate", table, *ESTIMATE, ok=False).stderr
    assert "line 6: column 'district': must have an entry in every row; got an empty" in refused
    assert "merged cells" in refused and "--drop-missing" not in refused


def test_a_table_whose_question_has_another_name_is_told_which_column_is_missing() -> None:
    """Rejects the advice to randomise what people already randomised with a die, and the claim

    that a table with a row for each person is none.
    """
    table = _people("people.csv", column="Drug use?")
    lacks = "people.csv: has no column 'drugs' with what people said"
    for options in ((), ("--by", "district"), ("--drop-missing",)):
        refused = run("estimate", table, "--study", "drugs.toml", *options, ok=False).stderr
        assert lacks in refused and "randomise" not in refused
    tally = ("tally", table, "--study", "drugs.toml", "-o", "t.json")
    refused = run(*tally, ok=False).stderr
    assert "must have the column drugs" in refused and "randomise" not in refused
    # A table of counts misses its option.
    counts = _counts("counts.csv", "district,no,yes", "{0},{1},{2}")
    refused = run("tally", counts, "--study", "drugs.toml", "-o", "t.json", ok=False).stderr
    assert "If the table has counts, write --counts before the name of the file" in refused
    # Counts of yes and no are none of a card that says other words.
    crosswise = Path("drugs.toml").read_text().replace("forced:1/6,1/6", "crosswise:1/4")
    Path("crosswise.toml").write_text(crosswise)
    refused = run("estimate", counts, "--study", "crosswise.toml", ok=False).stderr
    assert "no columns 'different' and 'same' with the numbers of people who said so" in refused
    assert "In the study people had crosswise:1/4: if they had another card" in refused


def test_what_people_randomised_on_paper_is_not_randomised_again() -> None:
    """Rejects reports of sheets, which are randomised twice and estimated as if once."""
    table = _people("people.csv")
    refused = run("randomize", "drugs.toml", table, "-o", "reports.csv", ok=False).stderr
    assert "lets people randomise their answers to drugs themselves, on paper" in refused
    assert "run: warner estimate people.csv --study drugs.toml" in refused
    assert not Path("reports.csv").exists() and not Path("drugs.ledger").exists()
    run("randomize", "drugs.toml", table, "-o", "reports.csv", "--seed", "3")


def test_counts_with_a_space_are_shown_with_a_comma() -> None:
    """Rejects the second count taken for the name of a file."""
    design = ("--design", "forced:1/6,1/6")
    refused = run("estimate", *design, "--counts", "yes=125", "no=275", ok=False).stderr
    assert "Write --counts yes=125,no=275" in refused


def test_a_sheet_without_a_design_is_told_to_write_one() -> None:
    """Rejects the proposal of a mechanism, which a sheet on paper then refuses."""
    _written("none.toml", STUDY.replace('design = "forced:1/6,1/6"\n', ""))
    refused = run("study", "sheet", "none.toml", "-o", "form.html", ok=False).stderr
    assert 'write for example design = "forced:1/6,1/6"' in refused
    assert "RandomizedResponse" not in refused


def test_the_interviewer_has_a_line_for_each_district() -> None:
    """Rejects one line for yes and one for no, where four districts are counted separately."""
    run("study", "sheet", "drugs.toml", "-o", "form.html")
    cells = re.findall(r"<td[^>]*>(.*?)</td>", Path("form.html").read_text(encoding="utf-8"))
    pairs = {(box, name) for box, name in itertools.pairwise(cells) if name in COUNTS}
    assert pairs == set(itertools.product(("yes", "no"), COUNTS))


def test_a_poster_is_a_page() -> None:
    """Rejects HTML in a file that is called poster.pdf."""
    _written("online.toml", PHONE)
    refused = run("collect", "poster", "online.toml", "https://a.org", "-o", "p.pdf", ok=False)
    assert "p.pdf: must not end in .pdf" in refused.stderr and not Path("p.pdf").exists()
    run("collect", "poster", "online.toml", "https://a.org", "-o", "p.html")


def test_the_plan_of_a_study_says_how_wide_its_intervals_will_be() -> None:
    """Rejects a plan that compares mechanisms and says nothing of the interval of 300 people, or

    another one than ``warner estimate`` then prints.
    """
    _written("online.toml", PHONE)
    said = run("plan", "online.toml", "--people", "300").stdout
    width = re.search(r"expect a 95 % interval of \u00b1([0-9.]+) points for a share", said)
    assert width is not None
    chance = math.exp(1.6) / (1 + math.exp(1.6))
    error = math.sqrt(0.25 / 300) / (2 * chance - 1)  # of half of the people saying each word
    assert float(width[1]) == pytest.approx(100 * 1.96 * error, rel=0.05)
    assert said.index("±5 points about") < said.index("unbiased") and "next to nothing" not in said
    for few in (("online.toml",), ("--design", "crosswise:1/4")):
        said = run("plan", *few, "--people", "30").stdout
        assert said.index("next to nothing") < said.index("mechanism   ")


def test_a_picture_in_another_format_is_refused_by_its_option() -> None:
    """Rejects "path: must end in .png" to somebody who wrote --plot, after the file was read."""
    counts = _counts("counts.csv", "district,no,yes", "{0},{1},{2}")
    refused = run("estimate", counts, "--study", "drugs.toml", "--plot", "x.gif", ok=False)
    assert refused.stderr.startswith("Error: --plot: must end in .png")
