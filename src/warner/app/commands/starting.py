"""The command before all others: new, which writes a first study file."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from warner._core.atomic_files import require_ending, write_whole
from warner._core.checks import choice, show, unknown
from warner._core.errors import ArgumentError
from warner._core.text import visible
from warner.app import demo as demonstration
from warner.app.commands.options import (
    GroupInWholeSentences,
    Output,
    force,
    generator,
    refuse_given,
    study_file,
    study_output,
    table_of_rows,
    written,
)
from warner.app.draft import LEAST_TO_ASK_ONE, Draft
from warner.app.new_study.dialogue import (
    as_public,
    ask_all,
    ask_title,
    ask_until,
    by_name,
    complete,
    copied,
    looked_at,
    names_in,
    split,
    stated,
    with_mechanisms,
)
from warner.app.new_study.text import COPIED, FirstStudy, Question, listed
from warner.app.new_study.xlsform import read_form
from warner.app.report.sheet import (
    COUNTS,
    EXCEL,
    counts_to_fill,
    questions_of,
    sheet as paper_sheet,
)
from warner.app.report.writers import require_typst, write_report
from warner.app.show_designs import show_meaning
from warner.app.terminal import note, plural, say
from warner.app.what_files_hold import refuse_overwriting, say_written, write_text
from warner.collector.scripts import integrity, packaged_files
from warner.collector.survey_document import survey_bytes, survey_digest
from warner.designs.chances import DEVICES
from warner.io.read_answers import other_columns
from warner.mechanisms import Optimal
from warner.studies.study import QUESTIONS, Study

_IN_ENGLISH = (
    "Instructions and consent are in English. To translate them, write the sheet as .html and edit "
    "this file."
)
_PER_COLUMN = ("kind", "label", "values", "range", "grid", "design")


def _joined(
    context: click.Context, parameter: click.Parameter, names: tuple[str, ...]
) -> str | None:
    """Names of an option that may be repeated, as one text."""
    return ",".join(names) or None


@click.command()
@click.argument("answers", type=click.Path(dir_okay=False), required=False)
@study_output
@click.option(
    "--secret",
    metavar="NAME,NAME,...",
    multiple=True,
    callback=_joined,
    help="The columns whose answers are to be protected. May be repeated.",
)
@click.option(
    "--public",
    metavar="NAME,NAME,...",
    multiple=True,
    callback=_joined,
    help="Columns that everybody may know, such as a ward or a week. They are written beside the "
    "reports without protection. May be repeated.",
)
@click.option("--title", help="The title of the study, as people read it.")
@click.option(
    "--label",
    metavar="NAME=TEXT",
    multiple=True,
    help="The text of a question, as people read it. May be repeated for other questions.",
)
@click.option(
    "--values",
    metavar="NAME=A,B,C",
    multiple=True,
    help="All answers that people can choose from, as in smokes=never,sometimes,often.",
)
@click.option(
    "--range",
    metavar="NAME=LOW:HIGH",
    multiple=True,
    help="If answers are numbers: the smallest and the largest, as in units=0:60. With "
    "units=0:60:30, shares are estimated for 30 equal parts of this range. For codes, such as "
    "the codes of errors, write --kind code=labels and --range code=0:299: these are the 300 "
    "labels from 0 to 299.",
)
@click.option(
    "--grid",
    metavar="NAME=ROWSxCOLUMNS",
    multiple=True,
    help="If answers are places: the rows and columns of a grid, as in home=24x16. An answer is a "
    "cell of the grid, written row,column. home=24x16:0.5 also gives the side of a cell, 0.5.",
)
@click.option(
    "--kind",
    metavar="NAME=KIND",
    multiple=True,
    help="The kind of answers: labels, integers, numbers, dates, cells or booleans. The command "
    "then does not look at the column.",
)
@click.option(
    "--design",
    metavar="NAME=DESIGN",
    multiple=True,
    help="For a question on paper: the design of the card with which people randomise their "
    "answers themselves, as in smokes=crosswise:1/4. If you have only counts, you need no study: "
    "run warner estimate --design.",
)
@click.option(
    "--values-from-data",
    is_flag=True,
    help="Copy labels, and the smallest and largest numbers, from ANSWERS into the study. Everyone "
    "who gets the study then sees these values, and each can be one person's answer.",
)
@click.option(
    "--copy",
    metavar="NAME,NAME,...",
    help="Copy labels, and the smallest and largest numbers, only from these columns of ANSWERS.",
)
@click.option(
    "--rounded", is_flag=True, help="Round copied numbers outwards, such as 3 and 57 to 0 and 60."
)
@click.option(
    "--epsilon",
    type=click.FloatRange(0, 700, min_open=True),
    default=1.0,
    show_default=True,
    help="How much a report on one question may reveal: a smaller epsilon protects more. If there "
    "are two questions, each person spends this epsilon twice. If there are more questions, each "
    "person is asked only one question, and spends epsilon once.",
)
@click.option(
    "--people",
    type=click.IntRange(1),
    help="How many people will answer. The command then chooses the best way of randomising for "
    'each question, as "warner plan" does. This takes seconds for each question. Default: a simple '
    "rule chooses.",
)
@click.option(
    "--ask/--no-ask",
    default=None,
    help="Ask on the terminal for everything that is not given as an option. Default: ask if there "
    "is a terminal.",
)
@force
def new(
    answers: str | None,
    output: str,
    secret: str | None,
    public: str | None,
    title: str | None,
    values_from_data: bool,
    copy: str | None,
    rounded: bool,
    epsilon: float,
    people: int | None,
    ask: bool | None,
    force: bool,
    **per_column: Any,
) -> None:
    """Write a first study file, which says what is asked and how answers are protected.

    The command looks at ANSWERS, a file with one row for each person, and asks questions on the
    terminal. Without ANSWERS and --secret it asks for everything.

    Without --values-from-data or --copy, no answer is copied into the study or a message. The study
    only states the kind of answers in each column: labels, whole numbers, numbers, dates, cells. At
    least 9 in 10 answers must be of the kind, so that one odd answer changes nothing. For a column
    with --kind, the command does not look at the answers.

    Give the possible answers with --values or --range, or on the terminal. Otherwise the study says
    TO DECIDE in their place, and warner audit lists the lines with TO DECIDE.

    \b
        warner new answers.csv -o study.toml --secret smokes,units --public hospital
        warner new answers.csv -o study.toml --secret smokes,units \\
            --values smokes=never,sometimes,often --range units=0:60
        warner new -o paper.toml --secret smokes --design smokes=crosswise:1/4
    """
    refuse_existing(output, answers, force)
    if answers is None:
        rule, remedy = (
            "can be used only with a file of answers",
            "Name the file: warner new ANSWERS",
        )
        refuse_given(["values_from_data", "copy", "rounded"], rule, remedy)
    asks = sys.stdin.isatty() if ask is None else ask
    questions: tuple[list[Question], list[Question]]
    left: list[str] = []
    named = [text.partition("=")[0] for texts in per_column.values() for text in texts]
    if answers is not None and secret is None and not Path(answers).exists():
        option = "-o" if answers.lower().endswith(".toml") else "--secret"
        remedy = f"Without such a file, write {option} {shlex.quote(answers)}"
        raise ArgumentError("ANSWERS", "must be a file of answers", show(answers), remedy)
    if secret is None and answers is None and public is None and not named:
        title = ask_title() if title is None else title
        questions = ask_all()
    else:
        names = names_in("--secret", secret)
        if not names and asks:
            prompt = "The columns whose answers are secret, separated by commas"
            names = ask_until(prompt, lambda text: [name for name in split(text) if name])
        beside = names_in("--public", public)
        if not names:
            rule = "must name the columns whose answers are to be protected"
            example = shlex.quote(named[0] if named else "smokes")
            raise ArgumentError("--secret", rule, None, f"For example --secret {example}")
        if answers is None and (texts := [name for name in names if "=" in name]):
            name, _, text = texts[0].partition("=")
            remedy = f"Write --secret {name} --label {shlex.quote(f'{name}={text}')}"
            raise ArgumentError("--secret", "must have names without =", show(texts[0]), remedy)
        if both := ", ".join(name for name in beside if name in names):
            rule = "must not name a column that --secret names too"
            remedy = f"Leave {both} out of --public, or out of --secret"
            raise ArgumentError("--public", rule, both, remedy)
        every = [*names, *beside]
        options = {key: by_name(f"--{key}", per_column[key], every) for key in _PER_COLUMN}
        left = [] if answers is None else other_columns(answers, every)
        kinds = looked_at(answers, every, options)
        all_questions = [
            as_public(q) if q.name in beside else q for q in stated(every, kinds, options)
        ]
        if answers is not None:
            may = every if values_from_data else names_in("--copy", copy)
            for name in may:
                if name not in every:
                    raise unknown("--copy", name, every, "the columns of --secret and --public")
            all_questions = copied(answers, all_questions, may, rounded)
        if asks:
            title = ask_title() if title is None else title
            all_questions = [complete(q, q.name in beside) for q in all_questions]
        questions = all_questions[: len(names)], all_questions[len(names) :]
    casefolded = {question.name.casefold() for question in questions[0]}
    study = FirstStudy(
        title or "",
        *questions,
        epsilon=repr(epsilon),
        asks_one=len(casefolded) >= LEAST_TO_ASK_ONE
        and QUESTIONS not in casefolded
        and not any("design" in question.options for question in questions[0]),
    )
    study = study if people is None else with_mechanisms(study, people)
    write_text(study.text(), output)
    why = "Columns left out, because you named them neither secret nor public"
    notes = [f"{why}: {listed(left)}."] if left else []
    tell(study, output, answers, [*notes, *filter(None, map(about_parts, questions[0]))])


def about_parts(question: Question) -> str:
    """The sentence on equal parts of whole numbers, which do not fill them evenly; else ""."""
    low, high = question.limits or ("", "")
    is_whole = low.lstrip("-").isdecimal() and high.lstrip("-").isdecimal()
    if question.bins is None or question.kind != "integers" or not is_whole:
        return ""
    return (
        f"WARNING: {question.name} has whole numbers. But its shares will be estimated as if the "
        f"answers in each of the {question.bins} parts were spread evenly, also between whole "
        f"numbers. So shares can be wrong. Write --range {question.name}={low}:{high}, without "
        f"the {question.bins} parts."
    )


def refuse_existing(output: str, answers: str | None, force: bool) -> None:
    """Refuse to replace a file, and the file of answers even if told to."""
    refuse_overwriting(output, *([answers] if answers else []))
    if output != "-" and Path(output).exists() and not force:
        rule, remedy = "already exists", "Choose another name, or replace it with --force"
        raise ArgumentError(output, rule, None, remedy)


def tell(study: FirstStudy, output: str, source: str | None, notes: Sequence[str]) -> None:
    """Say what the study has, what is to be decided and what was copied."""
    where = "The study" if output == "-" else output
    budget = "no total epsilon" if study.per_distance else f"epsilon {study.budget} for each person"
    if study.is_on_paper:
        budget = "on paper"
    said = [
        f"{where}: {plural(len(study.secret), 'question', 'questions')} and "
        f"{plural(len(study.public), 'public column', 'public columns')}; {budget}.",
        *notes,
    ]
    if study.copied:
        said.append(
            f"WARNING: values of {listed(study.copied)} were copied from {source}. {COPIED}"
        )
    if study.undecided:
        noun = "column" if {q.name for q in study.public} & {*study.undecided} else "question"
        noun += "s" * (len(study.undecided) > 1)
        said.append(
            f"Still to be decided: the values of the {noun} {listed(study.undecided)}. Write "
            "them where the study says TO DECIDE; warner audit lists these lines."
        )
    if study.untranslated:
        said.append(
            f"Still to be written: the texts of {listed(study.untranslated)} in all languages. The "
            "study says TO DECIDE in their place."
        )
    if not study.undecided and not study.untranslated:
        name = "STUDY" if output == "-" else output
        print_it = f"warner study sheet {name} -o sheet.pdf" if study.is_on_paper else ""
        said.append(f"Next: {print_it or f'warner audit {name}'}")
    for line in said:
        note(visible(line).replace("\n", " "))


@click.command()
@click.option(
    "-o",
    "--output",
    default="warner-demo",
    show_default=True,
    help="The folder for the files of the demonstration.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    help="A number: the same seed gives the same results again. Default: other results each time.",
)
def demo(output: str, seed: int | None) -> None:
    """Try all steps of a survey on answers of real people.

    The answers are the education and marital status of 32,561 people, from the public data set UCI
    Adult. Both are randomised with epsilon = 1.
    """
    demonstration.run(Path(output), generator(seed), simulation=seed is not None)


@click.group(cls=GroupInWholeSentences)
def study() -> None:
    """Check a study file, or make a paper sheet or files for a web page from it."""


@study.command()
@study_file
@click.option(
    "--rows",
    "shows_rows",
    is_flag=True,
    help="For questions with the mechanism Optimal: print only its rows of chances, as lines to "
    "copy into the study.",
)
@written
def check(study: str, output: Output, shows_rows: bool) -> None:
    """Check a study file, and show what it means: questions, values, mechanisms, budgets.

    All mistakes are listed with their lines. A draft may still lack mechanisms and epsilons, which
    say how answers are randomised and how much a report may reveal. The command "warner plan"
    proposes both. The command "warner audit" computes how well people are protected.

    The mechanism Optimal is computed as a list of rows of chances. Computers with different
    processors can compute different lists. All are equally good, but reports that were made with
    different lists cannot be added up. If several computers use the study, copy the lines that
    --rows prints into the study.

    \b
        warner study check study.toml
    """
    output.check(study)
    if shows_rows:
        for name, mechanism in Study.load(study).mechanisms.items():
            if isinstance(mechanism, Optimal):
                rows = ",\n".join(f'  "{row}"' for row in mechanism.stated_rows())
                click.echo(f"# under [attributes.{name}]\nrows = [\n{rows}\n]")
        return
    meaning = Draft.load(study).meaning()
    output.write(
        lambda: show_meaning(meaning), lambda: meaning, lambda: table_of_rows(meaning["questions"])
    )


@study.command()
@study_file
@click.option(
    "-o", "--output", required=True, metavar="FILE", help="The file for the sheet: .pdf or .html."
)
@click.option(
    "--counts",
    metavar="FILE",
    help="Also write an empty table, in which the interviewer fills in the counts: .csv, or .xlsx "
    "for Excel.",
)
@click.option(
    "--draw",
    "draws",
    metavar="[NAME=]DEVICE",
    multiple=True,
    help=f"What people draw with: {', '.join(DEVICES)}. Write NAME=DEVICE for the question NAME "
    "alone. May be repeated. Default: the first of these that can give the chances of the "
    "design.",
)
@click.option(
    "--language",
    metavar="TAG",
    help="The language of the study's own texts on the sheet, if the study has several languages. "
    f"{_IN_ENGLISH}",
)
@force
def sheet(
    study: str,
    output: str,
    counts: str | None,
    draws: tuple[str, ...],
    language: str | None,
    force: bool,
) -> None:
    """Write a paper questionnaire, with which people randomise their answers by dice or coins.

    The study must state a design for each question, such as design = "crosswise:1/4". The sheet has
    instructions for people, with exactly the chances of the design, and boxes to tick. The sheet
    says how much a tick tells about a person. The last page is for the interviewer: what to bring,
    how to count, and the commands to run.

    \b
        warner study sheet study.toml -o form.pdf --counts counts.csv
        warner tally --counts counts.csv --study study.toml -o tally.json
        warner estimate tally.json --study study.toml --plot shares.png
    """
    suffix = Path(output).suffix.lower()
    if suffix not in (".html", ".pdf"):
        remedy = None
        if suffix in (".csv", EXCEL):
            remedy = f"To get the empty table of counts, write -o sheet.pdf --counts {output}"
        raise ArgumentError("--output", "must end in .pdf or .html", output, remedy)
    if suffix == ".pdf":
        require_typst()
    for path in filter(None, [output, counts]):
        refuse_existing(path, study, force)
    if counts is not None:
        require_ending(
            counts,
            ".csv",
            EXCEL,
            remedy="Give it a name that ends in .csv or .xlsx",
        )
    for name, keys in Draft.load(study).missing.items():
        if "mechanism" in keys:
            rule = "has no design, which says how people randomise their answers"
            remedy = 'For a sheet write for example design = "forced:1/6,1/6"'
            raise ArgumentError(f"attributes.{name}", rule, None, remedy)
    stated = Study.load(study)
    chosen = choice("--language", language or stated.languages[0], stated.languages)
    devices = {}
    for text in draws:
        name, _, device = text.rpartition("=")
        if name and name not in stated.mechanisms:
            raise unknown("--draw", name, stated.mechanisms, "the questions")
        devices[name] = device
    asked_questions = questions_of(stated, study, chosen, devices)
    content = paper_sheet(stated, asked_questions, study, chosen, counts or COUNTS)
    write_report(content, output, suffix)
    if counts is not None:
        empty = counts_to_fill(stated, asked_questions)
        is_excel = counts.lower().endswith(EXCEL)
        write_whole(counts, empty.xlsx() if is_excel else empty.csv().encode())
        say_written(counts)
    on_sheet = [*(question.name for question in asked_questions), *stated.public]
    if names := [
        name for name in on_sheet if stated.texts.question(name, chosen) == name.replace("_", " ")
    ]:
        note(
            f"In place of a question, the sheet has only a name: {listed(names)}. Write the "
            f"question as the label in {study}."
        )
    if chosen.partition("-")[0] != "en":
        note(_IN_ENGLISH)


@study.command("from-xlsform")
@click.argument("form", type=click.Path(dir_okay=False))
@study_output
@click.option(
    "--epsilon",
    type=click.FloatRange(0, 700, min_open=True),
    default=1.0,
    show_default=True,
    help="The epsilon of all marked questions for which the form states no epsilon.",
)
@click.option(
    "--language",
    "languages",
    metavar="NAME=TAG",
    multiple=True,
    help="The short tag of a language that the form names without a tag, as in Swahili=sw. For "
    "texts without a language, write default=TAG. May be repeated.",
)
@force
def from_xlsform(
    form: str, output: str, epsilon: float, languages: tuple[str, ...], force: bool
) -> None:
    """Make a study file from a form of ODK or KoboToolbox (XLSForm: .xlsx, .xls, .csv or .md).

    First mark the questions to randomise: add a column warner_epsilon to the form's sheet "survey",
    and write there how much an answer may reveal, such as 1.0. A column warner_mechanism says how
    the answer is randomised. Write yes in a column warner_public for a question whose answers
    everybody may know.

    You can also add the columns warner_reports, warner_missing and warner_unit. With a mechanism,
    you can add columns for its options, such as warner_variant.

    The study takes marked questions of the types select_one, integer, decimal and range, with
    labels, hints and choices in all languages. The limits of numbers come from constraints such as
    . >= 18 and . <= 99. Where there are no such limits, the study says TO DECIDE. A question that
    is not required gets missing = "answer", so that "no answer" is protected too.

    All other questions are left out of the study, and are listed with the reason.

    Afterwards, delete from the form every question that is in the study. Otherwise the form would
    store the true answers to these questions.

    \b
        warner study from-xlsform form.xlsx -o study.toml
        warner study check study.toml
    """
    refuse_existing(output, form, force)
    tags = {}
    for text in languages:
        name, sign, tag = text.rpartition("=")
        if not (name and sign and tag):
            rule = "must be NAME=TAG"
            raise ArgumentError("--language", rule, show(text), "For example Swahili=sw")
        tags[name] = tag
    form_read = read_form(form, tags)
    first = form_read.study(epsilon)
    write_text(first.text(), output)
    notes = [
        f"Left out: {listed(names)}. Reason: {reason}." for reason, names in form_read.left.items()
    ]
    if form_read.always_asked:
        notes.append(
            f"The form asks only some people about {listed(form_read.always_asked)}, but the study "
            "asks everybody. If only some people were asked such a question, that would show "
            "their other answers."
        )
    if form_read.must_answer:
        notes.append(
            f"Everybody must answer {listed(form_read.must_answer)}, because the way of "
            "randomising it has no value for a missing answer."
        )
    names = listed([question.name for question in first.secret])
    noun = "question" if len(first.secret) == 1 else "questions"
    notes.append(
        f"Before you use the form, take the {noun} {names} out of it. Otherwise the form stores "
        "the true answers beside the reports."
    )
    tell(first, output, form, notes)


@study.command()
@study_file
@click.option(
    "-o",
    "--output",
    required=True,
    help="The folder for the files. If there is no such folder, the command makes it.",
)
@force
def embed(study: str, output: str, force: bool) -> None:
    """Write the files that a web page of your own needs to randomise answers in the browser.

    study.json has the questions, and warner.js randomises answers on people's devices. A page of a
    survey tool loads both, and writes the randomised answer as a report into a hidden field, never
    the true answer. The command prints the lines to put into the page. With these lines, the page
    accepts no other version of the files. Afterwards, export the reports from the tool, and
    count the column:

    \b
        warner study embed study.toml -o page
        warner tally export.csv --study study.toml --column smokes=q7_report -o tally.json

    A study with several rounds ([repeat]) needs two more files, memo.js and outbox.js. With these,
    the page draws a permanent report on each answer once, keeps it in the browser's storage, and
    makes the report of each round from it. Whoever deletes this storage, or answers in another
    browser, gets another permanent report, which reveals as much again. Write the files anew for
    each round, in the same place on the web.
    """
    planned = Study.load(study)
    served = survey_bytes(planned)
    folder = Path(output)
    repeats = planned.round is not None
    names = ["warner.js", *(["memo.js", "outbox.js"] if repeats else [])]
    parts = {folder / "study.json": served} | {
        folder / name: packaged_files()[name] for name in names
    }
    for path in filter(Path.exists, parts):
        refuse_existing(str(path), study, force)
    folder.mkdir(parents=True, exist_ok=True)
    for path, content in parts.items():
        write_whole(path, content)
    *first, last = map(str, parts)
    say(f"{', '.join(first)} and {last} were written.")
    say(f'Write into the script:\n  readSurvey(served, "{survey_digest(served)}")')
    for name in names:
        link = f'<link rel="modulepreload" href="{name}" integrity="{integrity(name)}">'
        say(f"Write into the page:\n  {link}")
    if repeats:
        note(
            "The study has several rounds: memo.js keeps the person's permanent reports in the "
            "browser's storage, and the page must pass these reports to randomize in every round. "
            "If the storage is deleted, the browser draws new permanent reports, which reveal as "
            "much again."
        )
