"""The questionnaire on paper: true odds, the words that are counted later, and what is refused."""

from __future__ import annotations

import json
import re
import shlex
from fractions import Fraction
from html import unescape
from pathlib import Path

import openpyxl
import pytest

from tests.spec.app._command import STUDY, run
from warner.app.report.sheet import questions_of, who_ticks
from warner.designs import ExtendedCrosswise, from_text
from warner.designs.texts import EXAMPLES
from warner.studies.study import Study

CLASS = """
title = "Homework"
introduction = "For the school newspaper."
[public.class]
label = "Your class"
values = ["7a", "7b"]
[attributes.copied]
label = "Have you copied homework this week?"
help = "With permission counts, too."
values = ["no", "yes"]
design = "crosswise:1/4"
[attributes.stole]
label = "Did you ever steal?"
values = ["no", "yes"]
design = "triangular:1/4"
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("class.toml").write_text(CLASS)
    return tmp_path


def _page(*options: str) -> str:
    run("study", "sheet", "class.toml", "-o", "form.html", *options)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", Path("form.html").read_text())))


def test_people_read_the_question_the_draw_the_boxes_and_the_odds(here: Path) -> None:
    page = _page()
    for words in (
        "For the school newspaper.",
        "Your class 7a 7b",
        "Question 1 of 2 With permission counts, too. Question A: Have you copied homework",
        "Question B (only you know it): did both tosses show heads?",
        "A, same yes to both questions, or no to both B, different yes to one question",
        'Of 100 people whose answer is "yes", 25 tick "A, same" and 75 tick "B, different".',
        'Of 100 people whose answer is "no", 75 tick "A, neither" and 25 tick "B, either".',
        'Of 100 people whose answer is "yes", 100 tick "B, either".',
        'The box "neither" shows that your answer is not "yes".',
        "can be at most 75.0 % sure of one of the two (question 1) and "
        'at most 80.0 % sure that my answer is "yes" (question 2).',
    ):
        assert words in page.replace("\N{NO-BREAK SPACE}", " "), words
    assert "All my ticks together can tell more. People are protected only if" in page
    assert "can be at most 92.4 % sure of the sensitive ones" in page.replace("\xa0", " ")
    # What only the interviewer reads comes after everything else, on a page of its own.
    people, interviewer = Path("form.html").read_text().split('<section class="page">')
    assert "counts.csv" in interviewer and "counts.csv" not in people and "epsilon" not in people


def test_the_numbers_of_people_are_those_of_the_formula() -> None:
    """Rejects boxes in the order of the report codes: "same" is the second code and the first box."""
    p = Fraction(1, 6)
    study = Study.parse('[attributes.q]\nvalues = ["no", "yes"]\ndesign = "crosswise:1/6"\n')
    (question,) = questions_of(study, "study", "en", {})
    no, yes = who_ticks(question)
    assert yes.endswith(
        f'{round(100 * p)} tick "A, same" and {round(100 * (1 - p))} tick "B, different".'
    )
    assert no.endswith(
        f'{round(100 * (1 - p))} tick "A, same" and {round(100 * p)} tick "B, different".'
    )


def _who_ticks(values: str, design: str) -> tuple[str, ...]:
    study = Study.parse(f'[attributes.q]\nvalues = {values}\ndesign = "{design}"\n')
    return who_ticks(*questions_of(study, "study", "en", {}))


def test_the_numbers_of_an_answer_make_up_100() -> None:
    """Rejects numbers that are rounded one by one: 67, 17 and 17 of 100."""
    for sentence in _who_ticks('["a", "b", "c"]', "forced:1/6"):
        assert sorted(map(int, re.findall(r"(\d+) tick", sentence))) == [17, 17, 66]
    for sentence in _who_ticks('["no", "yes"]', "kuk:4/5,1/4,3"):
        numbers = [float(n) for n in re.findall(r"([\d.]+) tick", sentence)]
        assert (len(numbers) == 4 and sum(n for n in numbers if n >= 1) == 100) or min(numbers) < 1


def test_equal_chances_are_equal_numbers() -> None:
    """Rejects 9 and 8 of 100 people, which make up 100 but say that the chances differ."""
    *_, often = _who_ticks('["nie", "manchmal", "oft"]', "forced:nie=1/12,manchmal=1/12,oft=1/6")
    assert often == (
        'Of 100 people whose answer is "oft", about 8 tick "nie", about 8 tick "manchmal" and '
        'about 83 tick "oft".'
    )


@pytest.mark.parametrize(
    ("design", "sentence"),
    [
        ("forced:1/6,1/6", 'If the die shows 1, your box is "Ja, schon", whatever the truth is.'),
        ("warner:2/3", 'give the opposite: "Nein" for "Ja, schon", and "Ja, schon" for "Nein".'),
        ("mangat:2/3", 'The box "Nein" shows that your answer is not "Ja, schon".'),
        ("kuk:4/5,1/4", 'If your true answer is "Ja, schon", draw a card from pack 1.'),
        ("unrelated:2/3,1/6", "Tick one box: Ja, schon Nein No box shows your answer"),
        ("triangular:1/4", 'at most 80.0 % sure that my answer is "Ja, schon"'),
    ],
)
def test_a_sheet_shows_the_answers_of_its_language(design: str, sentence: str, here: Path) -> None:
    """Rejects boxes "yes" and "no" below a question in German, and the values of the file."""
    Path("class.toml").write_text(
        'languages = ["de"]\n[attributes.q]\nvalues = ["no", "yes"]\n'
        f'answers = {{de = ["Nein", "Ja, schon"]}}\ndesign = "{design}"\n'
    )
    page = _page("--counts", "counts.csv")
    if design[0] == "t":
        assert 'whose answer is "Nein", 75 tick "A, neither"' in page
    assert sentence in page.replace("\N{NO-BREAK SPACE}", " ")
    assert 'whose answer is "Ja, schon"' in page and 'is "yes"' not in page
    # The counts keep the words of the design, which are read in any language.
    are_answers = design[0] not in "kt"
    assert ('The table says yes for "Ja, schon" and no for "Nein".' in page) == are_answers
    assert (",yes," in Path("counts.csv").read_text()) == are_answers


def test_a_sheet_in_another_language_says_what_stays_in_english(here: Path) -> None:
    for language, is_told in (("en-GB", False), ("de", True)):
        Path("class.toml").write_text(f'languages = ["{language}"]\n{CLASS}')
        said = run("study", "sheet", "class.toml", "-o", f"{language}.html").stderr
        assert ("Instructions and consent are in English. To translate them," in said) == is_told


def test_a_sheet_that_asks_a_mere_name_says_so(here: Path) -> None:
    """Rejects a sheet for people that asks "seldom used", without a word to who prints it."""
    card = ("--secret", "seldom_used", "--design", "seldom_used=crosswise:1/4")
    public = ("--public", "ward,site", "--values", "ward=n,s", "--values", "site=a,b")
    run("new", "-o", "paper.toml", *card, *public, "--label", "site=Your site")
    said = run("study", "sheet", "paper.toml", "-o", "paper.html").stderr
    assert "only a name: seldom_used, ward. Write the question as the label" in said
    assert "as in a whole school, add --target respondents" in Path("paper.html").read_text()
    assert "only a name" not in run("study", "sheet", "class.toml", "-o", "class.html").stderr


def test_one_birthday_does_not_hide_two_questions(here: Path) -> None:
    """Rejects one B for two questions: boxes that differ would show that the answers differ."""
    days = CLASS.replace("crosswise:1/4", "crosswise:91/365")
    Path("class.toml").write_text(days.replace("triangular:1/4", "crosswise:31/365"))
    said = run("study", "sheet", "class.toml", "-o", "f.html", ok=False).stderr
    assert "the same birthday for copied and stole" in said and "--draw stole=spinner" in " ".join(
        said.split()
    )
    assert "mother" in _page("--draw", "stole=spinner")


@pytest.mark.parametrize("text", EXAMPLES.values())
def test_each_design_has_a_sheet_whose_boxes_are_its_reports(text: str, here: Path) -> None:
    Path("class.toml").write_text(f'[attributes.q]\nvalues = ["no", "yes"]\ndesign = "{text}"\n')
    page = _page("--counts", "counts.csv")
    (question,) = questions_of(Study.load("class.toml"), "study", "en", {})
    assert sorted(question.words) == sorted(question.design.report_words)
    design = question.design.text
    written = f'"{design}"' if "," in design else design
    lines = [f"q,{written},{word}," for word in question.words]
    header, *template = Path("counts.csv").read_text().splitlines()
    assert header == "attribute,paper_design,value,count" and template == lines
    assert " ".join(lines) in page and f"q: {question.design.text}, epsilon" in page
    for word, (box, _) in zip(question.words, question.card.boxes, strict=True):
        assert word in box
    # Counts of the sheet are not read with another card, nor as reports of a device.
    Path("counts.csv").write_text("\n".join([header, *(f"{line}7" for line in lines)]))
    run("tally", "--counts", "counts.csv", "--study", "class.toml", "-o", "t.json")
    device = '[attributes.q]\nvalues = ["no", "yes"]\nmechanism = "RandomizedResponse"\n'
    Path("device.toml").write_text(f"{device}epsilon = 1.0\n")
    other = "warner:3/5" if text != "warner:3/5" else "warner:2/3"
    Path("other.toml").write_text(f'[attributes.q]\nvalues = ["no", "yes"]\ndesign = "{other}"\n')
    for study in ("device.toml", "other.toml"):
        refused = run("tally", "--counts", "counts.csv", "--study", study, ok=False).output
        assert "line 2: was counted from a sheet with" in refused and design in refused
    assert "from a sheet" in run("estimate", "counts.csv", "--design", other, ok=False).output


def test_the_draw_can_be_chosen_for_each_question(here: Path) -> None:
    page = _page("--draw", "cards", "--draw", "stole=coin")
    assert "is the number 1?" in page and "did both tosses show heads?" in page
    said = run("study", "sheet", "class.toml", "-o", "f.html", "--draw", "die", ok=False).stderr
    assert (
        "--draw for 'copied': 'die' cannot give exactly the chance 1/4" in said
        and "Use 'coin' or" in said
    )
    said = run(
        "study", "sheet", "class.toml", "-o", "f.html", "--draw", "stol=die", ok=False
    ).stderr
    assert "must be one of the questions" in said and "stole" in said


def test_counts_by_public_columns_are_asked_for(here: Path) -> None:
    page = _page("--counts", "counts.csv")
    header, *lines = Path("counts.csv").read_text().splitlines()
    assert header == "attribute,paper_design,class,value,count"
    card = "copied,crosswise:1/4"
    assert lines[:2] == [f"{card},7a,same,", f"{card},7a,different,"]
    assert lines[4] == f"{card},7b,same,"
    assert "Count separately for each class." in page
    assert "box on the sheet 7a 7b Have you copied" in page  # a blank for each class
    assert "estimate class_tally.json --study class.toml --by class --only stole" in page


WEIGHTED = """
[public.region]
values = ["North", "South"]
[public.age]
integers = [18, 99]
[public.weight]
label = "Number on the list"
integers = [1, 1000]
[design]
weights = "weight"
[attributes.undeclared]
values = ["no", "yes"]
design = "crosswise:46/365"
"""


def test_columns_of_numbers_are_typed_by_sheet_and_nobody_is_asked_for_a_weight(here: Path) -> None:
    """Rejects counts for each group where there are none, and kilograms in place of weights."""
    Path("class.toml").write_text(WEIGHTED)
    page = _page("--counts", "counts.csv")
    people, office = page.split("For the interviewer: do not")
    assert "age" in people and "Number on the list" not in people
    # Weights are made when all sheets are there, and typed into their column.
    assert "Number on the list: ____" not in page and "undeclared: same, different" in office
    assert Path("counts.csv").read_text() == "region,age,weight,undeclared\n"
    # True answers that are typed in place of ticks can look like chance, and are noticed by nobody.
    assert "type the word that is ticked, also where you believe that the true answer" in office
    assert "Fill in the column weight when the weights are computed." in office
    estimate, regress = re.findall(r"warner [a-z]+ [^_]*?(?= warner| The shares are)", office)
    assert regress.endswith("--design undeclared=crosswise:46/365 --weights weight")
    rows = [f"{'NS'[i % 5 % 2]}orth,{18 + i % 70},{1.5 + i % 3},same" for i in range(400)]
    rows = [row.replace("Sorth", "South") for row in rows]
    rows[::4] = [row.replace("same", "different") for row in rows[::4]]
    with Path("counts.csv").open("a") as file:
        file.write("\n".join(rows) + "\n")
    for command in (
        estimate.replace("--plot shares.png", "-o shares.csv"),
        regress,
    ):  # weights have decimals
        run(*shlex.split(command)[1:])


def test_counts_whose_design_has_a_comma_without_quotes_name_the_quotes(here: Path) -> None:
    """Rejects "count must be a whole number" of a line that has one, a column further on."""
    Path("counts.csv").write_text(
        "attribute,paper_design,value,count\ncopied,forced:yes=1/6,no=1/6,yes,24\n"
    )
    said = run("tally", "--counts", "counts.csv", "--study", "class.toml", "-o", "t.json", ok=False)
    words = " ".join(said.stderr.split())
    assert "line 2: has 5 cells, but the first line has 4" in words and "into quotes" in words


def test_a_number_for_each_word_is_no_table_of_people(here: Path) -> None:
    """Rejects 40 people, 50 % yes: each ward has one row for each word, whatever was counted."""
    for name in ("sheets", "Anzahl"):
        rows = [
            f"w{i},{word},{n}" for i in range(20) for word, n in (("same", 14), ("different", 6))
        ]
        Path("wards.csv").write_text("\n".join([f"ward,box,{name}", *rows]))
        how = ("estimate", "wards.csv", "--design", "crosswise:90/365")
        if name == "sheets":  # as the table on the sheet calls them
            shown = run(*how).stdout
            assert "crosswise:90/365: 400 people, 280 same, 120 different" in shown  # not 18/73
        else:
            said = " ".join(run(*how, ok=False).stderr.split())
            assert "has the column 'Anzahl', with one number for each word" in said
    Path("people.csv").write_text("age,box\n34,same\n29,different\n29,same\n34,same\n")
    assert "4 people, 3 same, 1 different" in run("estimate", "people.csv", *how[2:]).stdout


def test_an_unclear_question_does_not_lose_the_other_answers_of_a_sheet(here: Path) -> None:
    """Rejects a sheet without a row for one question without a tick, and "live?: ____"."""
    text = CLASS.replace('values = ["7a", "7b"]', "integers = [1, 500]")
    asked = text.replace("Your class", "Which class is it?") + '[design]\ncluster = "class"\n'
    Path("class.toml").write_text(asked)
    page = _page()
    assert "no tick or several ticks on a sheet, leave its cell empty" in page
    assert "Then add --drop-missing" in page and "gets no row" not in page
    assert "Which class is it? ____" in page
    Path("counts.csv").write_text(
        "class,copied,stole\n"
        + "".join(f"{i % 20 + 1},same,\n{i % 20 + 1},different,either\n" for i in range(40))
    )
    command = ("estimate", "counts.csv", "--study", "class.toml", "--drop-missing", "--json")
    sizes = {each["attribute"]: each["n"] for each in json.loads(run(*command).stdout)}
    assert sizes == {"copied": 80, "stole": 40}
    first, _, _ = asked.partition("[attributes.stole]")
    Path("class.toml").write_text(first + '[design]\ncluster = "class"\n')
    page = _page("--force")
    assert "no tick or several ticks gets no row" in page
    # Rejects a page on which sheets without consent are counted.
    assert 'without a tick under "Your consent": nothing on them is counted' in unescape(page)
    assert "I agree. I have read who ticks which box." in " ".join(unescape(page).split())


def test_a_design_of_two_cards_says_how_its_two_sheets_are_made(here: Path) -> None:
    """Rejects a refusal alone, and sheets whose chances are not those of the design."""
    for p in ("1/4", "91/365"):
        of_groups = CLASS.replace("crosswise:1/4", f"extended-crosswise:{p}")
        Path("class.toml").write_text(of_groups)
        sheet = ("study", "sheet", "class.toml", "-o", "form.html", "--force")
        refused = run(*sheet, ok=False).output
        words = " ".join(refused.split())
        match = re.search(
            "in the design alone, (\\S+) and (\\S+), and run warner study sheet", words
        )
        assert match is not None and f"--design extended-crosswise:{p} --group" in words
        for text, group in zip(match.groups(), ExtendedCrosswise(p).groups, strict=True):
            card = from_text(text)
            assert card.report_words == group.words
            assert [list(row) for row in card.probabilities()] == [list(row) for row in group.table]
            Path("class.toml").write_text(CLASS.replace("crosswise:1/4", text))
            run(*sheet)


def test_a_birthday_is_no_draw(here: Path) -> None:
    Path("class.toml").write_text(WEIGHTED)
    page = _page()
    assert "A birthday that only you know helps" in page and "draw" not in page
    assert "You do not need to bring anything." in page and "invented birthday" in page
    Path("class.toml").write_text(CLASS.replace("crosswise:1/4", "crosswise:91/365"))
    assert "A birthday that only you know or a draw that only you see helps" in _page("--force")


def test_equal_studies_are_equal_files(here: Path) -> None:
    run("study", "sheet", "class.toml", "-o", "a.pdf")
    run("study", "sheet", "class.toml", "-o", "b.pdf")
    assert Path("a.pdf").read_bytes() == Path("b.pdf").read_bytes()
    assert Path("a.pdf").read_bytes().startswith(b"%PDF")


def test_the_table_to_fill_in_may_be_of_excel(here: Path) -> None:
    """Rejects a table whose names Excel shows otherwise than the commands read them."""
    page = _page("--counts", "counts.xlsx")
    assert "Type the numbers into the table counts.xlsx, with Excel, and save it." in page
    assert "save it as CSV" not in page and "warner tally --counts counts.xlsx" in page
    run("study", "sheet", "class.toml", "-o", "again.html", "--counts", "counts.csv")
    book = openpyxl.load_workbook("counts.xlsx")
    header, *rows = [list(row) for row in book.active.iter_rows(values_only=True)]
    template = Path("counts.csv").read_text().splitlines()
    assert [",".join(each or "" for each in row) for row in (header, *rows)] == template
    for i in range(2, len(rows) + 2):
        book.active.cell(i, len(header)).value = i
    book.save("counts.xlsx")
    Path("counts.csv").write_text(
        "\n".join([template[0], *(f"{line}{i}" for i, line in enumerate(template[1:], 2))])
    )
    for name in ("counts.xlsx", "counts.csv"):
        run("tally", "--counts", name, "--study", "class.toml", "-o", f"{name}.json")
    assert Path("counts.xlsx.json").read_text() == Path("counts.csv.json").read_text()


def test_what_cannot_be_a_sheet_is_refused(here: Path) -> None:
    Path("device.toml").write_text(STUDY)
    for arguments, words in (
        (
            ["device.toml", "-o", "f.pdf"],
            'with a sheet people make a draw.*design = "crosswise:1/4"',
        ),
        (["class.toml", "-o", "f.docx"], "must end in .pdf or .html"),
        (["class.toml", "-o", "f.html", "--language", "de"], "--language"),
        (["class.toml", "-o", "class.toml"], "must end in"),
        (
            ["class.toml", "-o", "f.html", "--counts", "c.ods"],
            "Give it a name that ends in .csv or .xlsx",
        ),
        (["class.toml", "-o", "c.xlsx"], "write -o sheet.pdf --counts c.xlsx"),
    ):
        assert re.search(words, run("study", "sheet", *arguments, ok=False).stderr), words
    run("study", "sheet", "class.toml", "-o", "f.html")
    assert "already exists" in run("study", "sheet", "class.toml", "-o", "f.html", ok=False).stderr
    assert sorted(path.name for path in here.iterdir()) == ["class.toml", "device.toml", "f.html"]


@pytest.mark.parametrize(
    "design, is_telling",
    [
        ("warner:19/20", False),
        ("warner:20/21", True),
        ("mangat:18/19", False),
        ("mangat:19/20", True),
        ("forced:1/100,1/100", True),
    ],
)
def test_a_sheet_whose_ticks_tell_much_says_so(design: str, is_telling: bool, here: Path) -> None:
    """Rejects a sheet that says that no box shows an answer of which a tick makes 99 % sure."""
    Path("class.toml").write_text(
        f'[attributes.drank]\nvalues = ["no", "yes"]\ndesign = "{design}"\n'
    )
    page = _page()
    assert ("can be more than 95 % sure which of two answers you gave" in page) is is_telling
    assert ("No box shows" in page) is not is_telling


def test_sheets_and_phones_of_one_folder_have_a_tally_each(here: Path) -> None:
    """Rejects one file for both, of which the second command replaces the first."""
    page = _page()
    assert "-o class_tally.json" in page and " tally.json" not in page
