"""One question asked by phone and on paper: counts typed from sheets, wards, and all people."""

from __future__ import annotations

import json
from html import unescape
from pathlib import Path

import numpy as np
import pytest

import warner
from tests.spec.app._command import run
from warner.app.ways import about_ways
from warner.reports.tally import load_tallies

WARDS = '[public.ward]\nvalues = ["North", "Centre", "South"]\n'
DRUGS = '[attributes.drugs]\nvalues = ["no", "yes"]\n'
DRINKS = '[attributes.drinks]\nvalues = ["never", "weekly", "daily"]\n'
CARDS = 'design = "forced:never=1/6,weekly=1/6,daily=1/6"\n'
PHONE = f'{WARDS}{DRUGS}mechanism = "RandomizedResponse"\nepsilon = 1.4\n'
PAPER = f'{WARDS}{DRUGS}design = "forced:1/6,1/6"\n{DRINKS}{CARDS}'
SHEETS = {"North": (72, 156, 130, 60, 38), "Centre": (61, 132, 101, 52, 40), "South": (55, 124, 94, 50, 35)}  # fmt: skip


def _table(path: str, sheets: dict[str, tuple[int, ...]]) -> str:
    """The table of an office, with the counts of yes, no, never, weekly and daily of each ward."""
    words = [("drugs", "yes"), ("drugs", "no")]
    words += [("drinks", word) for word in ("never", "weekly", "daily")]
    lines = [
        f"{question},{ward},{word},{count}"
        for ward, counts in sheets.items()
        for (question, word), count in zip(words, counts, strict=True)
    ]
    Path(path).write_text("\n".join(["attribute,ward,value,count", *lines]) + "\n")
    return path


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("paper.toml").write_text(PAPER)
    Path("phone.toml").write_text(PHONE)
    people = [f"{ward},{said}" for ward in SHEETS for said in ["yes"] * 30 + ["no"] * 130]
    Path("answers.csv").write_text("\n".join(["ward,drugs", *people]) + "\n")
    run("randomize", "phone.toml", "answers.csv", "-o", "phones.parquet", "--seed", "1")
    run("tally", "phones.parquet", "--by", "ward", "-o", "phones.json")
    run("tally", "phones.parquet", "-o", "phones_all.json")


def _counted(sheets: dict[str, tuple[int, ...]], *more: str) -> str:
    """What `warner tally --counts` says of a table."""
    table = _table("counts.csv", sheets)
    study = ("--study", "paper.toml")
    tally = (*more, "tally", "--counts", table, *study, "--simulated", "-o", "paper.json")
    return run(*tally).stderr


def test_tallies_of_wards_also_give_all_people() -> None:
    """Rejects a program whose only answer to tallies by ward is the wards, in files too."""
    _counted(SHEETS)
    both = ("estimate", "phones.json", "paper.json", "--only", "drugs")
    said = run(*both, "-o", "wards.csv").stderr
    assert "The groups by ward are estimated separately. To estimate all people together" in said
    assert "add --total." in said
    assert len(Path("wards.csv").read_text().splitlines()) == 1 + 3 * 2

    shown = json.loads(run(*both, "--total", "--json").stdout)[0]
    parts = [load_tallies(path)["drugs"].total() for path in ("phones.json", "paper.json")]
    assert shown["shares"] == json.loads(json.dumps(warner.estimate(parts).to_json()))["shares"]
    run(*both, "--total", "-o", "total.csv")
    assert len(Path("total.csv").read_text().splitlines()) == 1 + 2

    run("report", "phones.json", "paper.json", "--only", "drugs", "-o", "page.html")
    yes = next(row for row in shown["shares"] if row["value"] == "yes")
    page = Path("page.html").read_text().replace("\N{NO-BREAK SPACE}", " ")
    assert f"“yes”: {100 * yes['estimate']:.1f} % (" in page


def test_all_people_of_wards_and_of_a_file_without_them() -> None:
    """Rejects a program that has no way to add a tally by ward to one without wards."""
    _counted(SHEETS)
    both = ("estimate", "phones_all.json", "paper.json", "--only", "drugs")
    assert "If you need no groups, run: warner estimate --total" in run(*both, ok=False).stderr
    of_wards = ("estimate", "phones.json", "paper.json", "--only", "drugs")
    assert run(*both, "--total", "--csv").stdout == run(*of_wards, "--total", "--csv").stdout


def test_all_people_do_not_go_with_comparisons_and_margins() -> None:
    """Rejects a program that ignores one of two options that contradict each other."""
    margins = ("--by", "ward", "--margins", "census.csv")
    for way in (("--compare-groups",), margins):
        said = run("estimate", "phones.json", "--total", *way, ok=False).stderr
        assert f"--total: cannot be used with {way[-2:][0]}" in said
    assert "add --total" in run("estimate", "phones.json", "--background", "0.1", ok=False).stderr
    run("estimate", "phones.json", "--total", "--forged", "0.1")


def test_a_table_of_wards_ends_with_all_people() -> None:
    """Rejects a table of wards whose last row is not what --total alone estimates."""
    _counted(SHEETS)
    both = ("estimate", "phones.json", "paper.json", "--only", "drugs", "--total")
    with_total = (*both, "--by", "ward")
    alone = json.loads(run(*both, "--json").stdout)[0]["shares"]
    rows = json.loads(run(*with_total, "--json").stdout)[0]["shares"]
    same = ("value", "estimate", "low", "high")
    assert [[row[k] for k in same] for row in rows[-2:]] == [
        [row[k] for k in same] for row in alone
    ]
    assert [row["ward"] for row in rows[-3:]] == ["South", "all people", "all people"]
    assert [row["status"] for row in rows[-3:]] == ["alone", "together", "together"]
    lines = run(*with_total, "--csv").stdout.splitlines()
    assert len(lines) == 1 + 2 * (3 + 1) and lines[-1].startswith("drugs,all people,yes,share,")
    shown = " ".join(run(*with_total, "--pool", "none").stdout.split())
    assert "All people are estimated from all reports together." in shown
    for tally in ("phones.json", "paper.json"):
        grouped = load_tallies(tally)["drugs"]
        last = warner.estimate(grouped, total=True).rows()[-2:]
        whole = warner.estimate(grouped.total()).rows()
        assert [[row[k] for k in same] for row in last] == [[row[k] for k in same] for row in whole]
    drawn = ("estimate", "phones.json", "--strata", "ward", "--by", "ward", "--total", "--json")
    tally = load_tallies("phones.json")["drugs"]
    in_all = json.loads(json.dumps(warner.estimate(tally, strata="ward", by=()).rows()))
    last = json.loads(run(*drawn).stdout)[0]["shares"][-2:]
    assert [[row[k] for k in same] for row in last] == [[row[k] for k in same] for row in in_all]


def test_all_people_stand_below_means_of_groups_and_not_on_a_line_of_time() -> None:
    """Rejects a chart that draws all people as a week, or a table of means without them."""
    rng = np.random.default_rng(1)
    numbers = warner.RandomizedResponse(warner.Integers(0, 30), 3.0)
    weeks = {week: numbers.tally(numbers.reports(rng.integers(0, 31, 900))) for week in (1, 2)}
    result = warner.estimate(weeks, total=True)
    text = str(result)
    assert text.count("all people  mean") == 1 and "All people are estimated" in text
    assert str(warner.estimate(weeks)).count("all people") == 0
    coin = warner.RandomizedResponse(warner.Categorical(["no", "yes"]), 3.0)
    coins = {week: coin.tally(coin.reports([0, 1] * 300)) for week in (1, 2, 3)}
    series = warner.estimate(coins, time="week", total=True)
    assert series.to_frame("pyarrow")["week"].to_pylist()[-3:] == ["3", "all people", "all people"]
    assert "all people" not in json.dumps(series.plot().to_dict())
    assert "all people" in json.dumps(warner.estimate(coins, total=True).plot().to_dict())
    with pytest.raises(warner.errors.ArgumentTypeError, match="total: can be used only for groups"):
        warner.estimate(coins[1], total=True)


def test_a_table_without_the_column_of_groups_says_the_way() -> None:
    """Rejects an office that is stopped by --by and not told how all people are estimated."""
    Path("bare.csv").write_text("no,yes\n204,196\n")
    Path("people.csv").write_text("drugs\n" + "yes\nno\n" * 40)
    for table in ("bare.csv", "people.csv"):
        way = ("--design", "drugs=forced:1/6,1/6", "--by", "ward")
        said = run("estimate", table, *way, ok=False).stderr
        assert (
            "has no column 'ward'. Add the column 'ward' to the table, or leave out 'ward'" in said
        )
        assert "Without --by, all people are estimated together" in said
    Path("one.toml").write_text(f'{WARDS}{DRUGS}design = "forced:1/6,1/6"\n')
    by_ward = ("--study", "one.toml", "--by", "ward")
    said = run("estimate", "bare.csv", *by_ward, ok=False).stderr
    assert "The table needs the column ward. For all people together, leave out --by." in said
    said = run("report", "bare.csv", *by_ward, "-o", "r.html", ok=False).stderr
    assert "For all people together, leave out --by." in said
    Path("sums.csv").write_text("ward,no,yes\nNorth,120,80\nSouth,84,116\nTotal,204,196\n")
    said = run("estimate", "sums.csv", *by_ward, ok=False).stderr
    assert "If the line adds up other lines, delete it" in said and "declare it" not in said


def test_all_people_of_a_survey_with_a_design() -> None:
    """Rejects a program that estimates groups, or forgets the strata, where --total is given."""
    run("tally", "phones.parquet", "--by", "ward", "-o", "t.json")
    in_strata = ("estimate", "t.json", "--strata", "ward", "--total", "--json")
    shown = json.loads(run(*in_strata).stdout)[0]
    tally = load_tallies("t.json")["drugs"]
    in_all = warner.estimate(tally, strata="ward", by=())
    assert shown["shares"] == json.loads(json.dumps(in_all.to_json()))["shares"]


def test_a_ward_with_more_sheets_for_one_question_is_named() -> None:
    """Rejects a program that takes 172 for 72, or says so of all wards together alone."""
    assert "WARNING" not in _counted(SHEETS)
    mistyped = SHEETS | {"North": (172, *SHEETS["North"][1:])}
    said = _counted(mistyped, "--quiet")
    assert "counts.csv: The questions have different numbers of sheets: North: drugs 328, " in said
    assert "drinks 228. Check whether a count is mistyped." in said and "Centre" not in said
    # The ward that is most out of step comes first, and an error that two wards hide is seen.
    north, centre = SHEETS["North"], SHEETS["Centre"]
    hidden = {"North": (north[0] + 1, *north[1:]), "Centre": (centre[0] - 1, *centre[1:])}
    said = _counted({**hidden, "South": SHEETS["South"]})
    assert "sheets: Centre: drugs 192, drinks 193; North: drugs 229, drinks 228." in said


def test_a_declared_ward_without_counts_is_named() -> None:
    """Rejects a program that takes two wards for all three, and one that blames each table."""
    two = {ward: SHEETS[ward] for ward in ("North", "Centre")}
    said = _counted(two, "--quiet")
    assert "The study declares 3 groups by ward, and 1 of them has no count: South." in said
    for ward, counts in SHEETS.items():
        _table(f"{ward}.csv", {ward: counts})
    tables = [f"{ward}.csv" for ward in SHEETS]
    study = ("--study", "paper.toml")
    assert "declares" not in run("tally", "--counts", *tables, *study, "-o", "t.json").stderr
    assert "declares" not in _counted({**two, "South": (0, 0, 0, 0, 0)})
    Path("all.csv").write_text(
        "attribute,value,count\ndrugs,yes,9\ndrugs,no,20\ndrinks,never,9\ndrinks,weekly,8\n"
        "drinks,daily,12\n"
    )
    assert "declares" not in run("tally", "--counts", "all.csv", *study, "-o", "t.json").stderr


def _about_ways() -> str:
    """What the page says of the people who answered in each way."""
    run("report", "phones.json", "paper.json", "--only", "drugs", "--short", "-o", "page.html")
    lines = Path("page.html").read_text().replace("\N{NO-BREAK SPACE}", " ").splitlines()
    return next(line for line in lines if "by phone or computer, and" in line)


def test_a_page_names_the_ward_in_which_phones_and_paper_differ() -> None:
    """Rejects a page that says that the two ways differ, but not where."""
    _counted(SHEETS)
    assert "differ by no more than chance explains" in _about_ways()
    assert "By ward" not in _about_ways()
    north = (172, 56, *SHEETS["North"][2:])
    _counted(SHEETS | {"North": north})
    said = _about_ways()
    assert "By ward, the two ways differ in North (corrected p &lt; 0.0001)." in said
    assert "Centre" not in said
    # Errors in opposite directions leave all people alike, and the wards are named.
    centre = (40, 153, *SHEETS["Centre"][2:])
    _counted({"North": (110, 118, *north[2:]), "Centre": centre, "South": SHEETS["South"]})
    said = _about_ways()
    assert "differ by no more than" in said and "By ward, the two ways differ in North (" in said
    # Of few people the test is too rough, so that no ward is named.
    _counted(SHEETS | {"North": (29, 0, 10, 10, 9)})
    assert "By ward" not in _about_ways()


def test_a_ward_whose_people_answered_by_phone_alone_is_named() -> None:
    """Rejects a page, and an estimate, that show it beside wards of both ways without a word."""
    _counted({ward: SHEETS[ward] for ward in ("North", "Centre")})
    assert "on paper. Nobody in South answered on paper. The shares" in _about_ways()
    both = ("estimate", "phones.json", "paper.json", "--only", "drugs")
    for by in ((), ("--by", "ward")):
        assert "drugs: Nobody in South answered on paper." in run(*both, *by).stderr
    _counted(SHEETS)
    assert "Nobody" not in _about_ways() + run(*both).stderr


def test_the_ways_are_compared_for_the_target_of_the_estimate() -> None:
    """Rejects one p-value for both targets, unlike the one of --compare-groups."""
    Path("die.toml").write_text(f'{DRUGS}design = "forced:1/6,1/6"\n')
    Path("coin.toml").write_text(f'{DRUGS}design = "crosswise:1/4"\n')
    for name, counts in (("die", ("yes,10", "no,20")), ("coin", ("same,14", "different,16"))):
        lines = [f"drugs,{line}" for line in counts]
        Path("c.csv").write_text("\n".join(["attribute,value,count", *lines]))
        run("tally", "--counts", "c.csv", "--study", f"{name}.toml", "-o", f"{name}.json")
    files, p_values = ("die.json", "coin.json"), []
    for target in ("population", "respondents"):
        said = run("estimate", *files, "--total", "--target", target).stderr
        compared = run(
            "estimate", *files, "--by", "file", "--compare-groups", "--target", target
        ).stdout
        p_values.append(said.partition("chance explains (")[2].partition(")")[0])
        assert p_values[-1].startswith("p = ") and f"{p_values[-1]} (chi-square" in compared
    assert p_values[0] != p_values[1]


def test_people_with_two_cards_are_compared_before_they_are_put_together() -> None:
    """Rejects a sum of two cards that blames the card where the people differ, and says whom."""
    for name, design, counts in (
        ("class", "forced:1/6,1/6", {"yes": 24, "no": 6}),
        ("clinic", "crosswise:1/4", {"same": 272, "different": 128}),
    ):
        asked = '[attributes.stole]\nvalues = ["no", "yes"]\n'
        Path(f"{name}.toml").write_text(f'{asked}design = "{design}"\n')
        lines = [f"stole,{word},{n}" for word, n in counts.items()]
        Path(f"{name}.csv").write_text("\n".join(["attribute,value,count", *lines]))
        study = ("--study", f"{name}.toml")
        run("tally", "--counts", f"{name}.csv", *study, "-o", f"{name}.json")
    files = ("class.json", "clinic.json")
    cards = "30 people answered with forced:yes=1/6,no=1/6, and 400 with crosswise:1/4."
    differ = "The shares of these two groups differ by more than chance explains (p < 0.0001), so"
    said = run("estimate", *files, "--total")
    assert cards in said.stderr and differ in said.stderr
    assert "if the people of all cards have the same shares" in " ".join(said.output.split())
    run("report", *files, "--short", "-o", "page.html")
    page = unescape(Path("page.html").read_text()).replace("\N{NO-BREAK SPACE}", " ")
    assert f"{cards} {differ}" in page and "Whoever answered twice counts as two people" in page


def test_a_short_page_says_for_whom_its_intervals_are() -> None:
    """Rejects two pages whose intervals differ without a word that says why."""
    _counted(SHEETS)
    pages = []
    for target in ("population", "respondents"):
        run("report", "paper.json", "--short", "--target", target, "-o", f"{target}.html")
        pages.append(Path(f"{target}.html").read_text().replace("\N{NO-BREAK SPACE}", " "))
    assert "because single answers are hidden by chance." in pages[1]
    drawn = "people who were not chosen at random"
    assert "for the population that these people were drawn from" in pages[0] and drawn in pages[0]
    assert "for the people who answered and for nobody else" in pages[1] and drawn not in pages[1]


def test_counts_that_do_not_name_their_design_say_which_one_is_taken() -> None:
    """Rejects a program that reads counts of other sheets by the study's design without a word."""
    said = _counted(SHEETS)
    assert "counts.csv: the table has no column paper_design" in said
    assert "'drugs' forced:yes=1/6,no=1/6; 'drinks' forced:never=1/6,weekly=1/6,daily=1/6." in said
    run("study", "sheet", "paper.toml", "-o", "sheet.html", "--counts", "form.csv")
    filled = [
        line + "50" * line.endswith(",") for line in Path("form.csv").read_text().splitlines()
    ]
    Path("form.csv").write_text("\n".join(filled) + "\n")
    tally = ("tally", "--counts", "form.csv", "--study", "paper.toml", "-o", "t.json")
    assert "has no column paper_design" not in run(*tally).stderr
    Path("paper.toml").write_text(PAPER.replace("forced:1/6,1/6", "forced:1/12,1/12"))
    assert "but you gave the design" in run(*tally, ok=False).stderr


def test_a_file_that_does_not_exist_is_named_before_a_form() -> None:
    """Rejects a program whose remedy for a misspelt tally is to write the result over its name."""
    said = run("estimate", "phones_all.json", "missing.json", "--csv", ok=False).stderr
    assert "Error: missing.json: does not exist. Correct its name." in said
    assert "-o missing.json" not in said


def test_a_study_of_another_card_or_epsilon_is_refused_beside_a_tally() -> None:
    """Rejects a program that shows the words and odds of a study whose reports were others."""
    _counted(SHEETS)
    both, out = ("phones.json", "paper.json", "--only", "drugs"), ("-o", "page.html")
    Path("cards.toml").write_text(PAPER.replace("forced:1/6,1/6", "forced:yes=1/6,no=1/3"))
    Path("more.toml").write_text(PHONE.replace("1.4", "2.4"))
    Path("coin.toml").write_text(f"{WARDS}{DRUGS}mechanism = 'UnaryEncoding'\nepsilon = 1.4\n")
    for tally, study, ours, theirs in (
        ("paper.json", "cards.toml", "forced:yes=1/6,no=1/3", "forced:yes=1/6,no=1/6"),
        ("phones.json", "more.toml", "Response at epsilon 2.4", "Response at epsilon 1.4"),
        ("phones.json", "coin.toml", "UnaryEncoding at epsilon 1.4", "Response at epsilon 1.4"),
    ):
        for command in (
            ("report", tally, *out),
            ("estimate", tally, "--total"),
            ("estimate", tally, "--by", "ward"),
            ("estimate", tally, "--compare-groups"),
        ):
            said = run(*command, "--study", study, ok=False).stderr
            assert f"{study}: states " in said and f"{ours} for 'drugs', but the reports" in said
            assert theirs in said and "Name the study of these reports" in said
    # Of one question that was asked in two ways, a study states one.
    for study in ("paper.toml", "phone.toml"):
        run("report", *both, "--study", study, *out)
        for more in (("--total",), ("--by", "ward"), ("--by", "ward", "--compare-groups")):
            run("estimate", *both, "--study", study, *more)
    assert "'drugs'" in run("report", *both, "--study", "cards.toml", *out, ok=False).stderr


def test_several_cards_and_one_person_are_counted_in_words() -> None:
    """Rejects "and 80 with one and 50 with the other", and "1 people"."""
    designs = ("forced:1/6,1/6", "crosswise:1/4", "forced:yes=1/3,no=1/6")
    cards = [warner.designs.from_text(text) for text in designs]
    counted = [
        warner.Tally.from_counts(
            card, dict.fromkeys(card.report_words, n) | {card.report_words[0]: 1}
        )
        for card, n in zip(cards, (0, 79, 49), strict=True)
    ]
    said = "1 person answered with forced:yes=1/6,no=1/6, 80 with crosswise:1/4, and 50 with "
    assert about_ways(counted, None, counted, "population") == [f"{said}forced:yes=1/3,no=1/6."]
