"""The commands on study files: study from-xlsform, and study embed."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import click

from warner._core.atomic_files import write_whole
from warner._core.checks import show
from warner._core.errors import ArgumentError
from warner.app.command_files import write_text
from warner.app.commands.starting import refuse_existing, tell
from warner.app.new_study.text import listed
from warner.app.new_study.xlsform import read_form
from warner.collector.survey_document import integrity, survey_bytes, survey_digest
from warner.studies.study import Study


@click.group()
def study() -> None:
    """Make study files from forms of other programs, and files for pages of your own."""


@study.command("from-xlsform")
@click.argument("form", type=click.Path(dir_okay=False))
@click.option(
    "-o", "--output", default="-", help="The study file to write. Default: standard output."
)
@click.option(
    "--epsilon",
    type=click.FloatRange(0, 700, min_open=True),
    default=1.0,
    show_default=True,
    help="The budget of questions that are marked without one.",
)
@click.option(
    "--language",
    "languages",
    metavar="NAME=TAG",
    multiple=True,
    help="The tag of a language that the form names without one, as in Swahili=sw. Texts without "
    "a language are default=TAG. May be repeated.",
)
@click.option("--force", is_flag=True, help="Replace the output file if it exists.")
def from_xlsform(
    form: str, output: str, epsilon: float, languages: tuple[str, ...], force: bool
) -> None:
    """Make a study from an XLSForm of ODK or KoboToolbox (.xlsx, .xls, .csv or .md).

    Columns of the sheet survey mark the questions that are to be randomised: warner_epsilon, the
    budget; warner_mechanism; warner_reports, warner_missing, warner_unit and options of the
    mechanism, such as warner_keep. warner_public = yes marks a public column.

    Taken are select_one, integer, decimal and range, with labels, hints and choices in all
    languages. Limits come from constraints such as . >= 18 and . <= 99. Without them the study says
    TO DECIDE. A question that is not required has missing = "answer": silence is protected too.

    All other questions are left out, and named with the reason. They stay in the form. A question
    that goes through warner must not stay there: the form would store the answer itself.

    \b
        warner study from-xlsform form.xlsx -o study.toml
        warner audit study.toml
    """
    refuse_existing(output, form, force)
    tags = {}
    for text in languages:
        name, sign, tag = text.rpartition("=")
        if not (name and sign and tag):
            rule = "must be NAME=TAG"
            raise ArgumentError("--language", rule, show(text), "As in Swahili=sw")
        tags[name] = tag
    found = read_form(form, tags)
    first = found.study(epsilon)
    write_text(first.text(), output)
    notes = [f"Left out, {reason}: {listed(names)}." for reason, names in found.left.items()]
    if found.always_asked:
        notes.append(
            f"Asked of everybody in the study, and not in the form: {listed(found.always_asked)}. "
            "Whom a question is asked would show other answers."
        )
    if found.must_answer:
        notes.append(
            f"Everybody must answer {listed(found.must_answer)}: the mechanism has no value for "
            "silence."
        )
    names = listed([question.name for question in first.secret])
    notes.append(
        f"Take {names} out of the form, or it stores the answers themselves beside the reports."
    )
    tell(first, output, form, notes)


@study.command()
@click.argument("study", type=click.Path(dir_okay=False))
@click.option(
    "-o", "--output", required=True, help="The folder for study.json and warner.js; made if needed."
)
@click.option("--force", is_flag=True, help="Replace these files if they exist.")
def embed(study: str, output: str, force: bool) -> None:
    """Write what a page of your own needs to randomise answers in the browser.

    study.json holds the questions, and warner.js is the device's half. A page of a survey tool
    loads both, writes the text of a report into a hidden field, and never the answer. The command
    prints what the page must state, so that it runs with these two files and no others. Then
    export the answers of the tool, and count the column:

    \b
        warner study embed study.toml -o page
        warner tally export.csv --study study.toml --column smokes=q7_report -o tally.json
    """
    served = survey_bytes(Study.load(study))
    folder = Path(output)
    script = resources.files("warner").joinpath("browser", "warner.js").read_bytes()
    parts = {folder / "study.json": served, folder / "warner.js": script}
    for path in parts:
        refuse_existing(str(path), study, force)
    folder.mkdir(parents=True, exist_ok=True)
    for path, content in parts.items():
        write_whole(path, content)
    click.echo(f"{' and '.join(map(str, parts))} were written.", err=True)
    click.echo(f'In the script: readSurvey(served, "{survey_digest(served)}")', err=True)
    digest = integrity("browser", "warner.js")
    link = f'<link rel="modulepreload" href="warner.js" integrity="{digest}">'
    click.echo(f"In the page: {link}", err=True)
