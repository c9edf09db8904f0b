"""Reports in a database or a warehouse: the statement that counts them there, and its result."""

from __future__ import annotations

from collections.abc import Sequence

import click

from warner import io as files
from warner._core.errors import ArgumentError, message
from warner.app.commands.foreign import column_names
from warner.app.terminal import plural
from warner.reports.grouped_tally import AnyTally
from warner.studies.public import declared
from warner.studies.study import Study


@click.command()
@click.argument("study", type=click.Path(dir_okay=False))
@click.option(
    "--dialect",
    type=click.Choice(files.DIALECTS),
    required=True,
    help="The database that will run the statement.",
)
@click.option("--table", required=True, help="The table with one row for each person.")
@click.option(
    "--by",
    metavar="NAME,NAME,...",
    help="Count each group of people by these public columns, which the study declares.",
)
@click.option(
    "--column",
    "--columns",
    "columns",
    multiple=True,
    metavar="NAME=COLUMN",
    help="The column with the reports of this attribute, where it is not called NAME_report. Of "
    "reports with several columns, the beginning of their names, or NAME.PART=COLUMN for each.",
)
def sql(study: str, dialect: str, table: str, by: str | None, columns: tuple[str, ...]) -> None:
    """Print one SQL statement that counts the reports in a table.

    The reports stay where they are. The result has a row for each value of each attribute, and
    the checks: rows without a report, rows with a value that is none, and rows of bits that the
    mechanism cannot have sent. Save it as CSV with its line of names, and read it with
    warner tally --counts. The tally is the one that counting a file of these reports gives,
    without the mark of a simulation: a database does not say it.

    Names of columns are quoted, save plain ones in Snowflake, which are in capitals there.

    Run the statement once for a consistent picture: it reads the table several times, and a
    database in which rows arrive meanwhile needs a transaction or a snapshot. warner tally
    refuses counts that disagree.

    \b
        warner sql study.toml --dialect duckdb --table reports > count.sql
        duckdb -csv survey.db < count.sql > counts.csv
        warner tally --counts counts.csv --study study.toml -o tally.json
        warner sql study.toml --dialect postgres --table public.reports --by ward
    """
    plan = _whole(study, Study.load(study))
    names = [] if by is None else [name.strip() for name in by.split(",")]
    for name in names:
        declared(plan.public, name, "--by")
    named = column_names(columns)
    click.echo(files.count_statement(plan.mechanisms, table, dialect, named, names) + ";")


def _whole(path: str, plan: Study) -> Study:
    """The study, which must have no groups: a table does not say of which group it is."""
    if plan.groups:
        rule = "has groups, and a table does not say of which group its rows are"
        remedy = "Count each group with a study file of its own"
        raise ArgumentError(message(path, rule, None, remedy))
    return plan


def tallies_of_counts(path: str, plan: Study | None, others: Sequence[str]) -> dict[str, AnyTally]:
    """The tallies that the result of a counting statement holds, and a line that says so.

    Args:
        path: the file.
        plan: the study that the statement was made from.
        others: the options that were given and do not go with counts.

    Raises:
        ArgumentError: no study, one with groups, or other options.
        FileError, ReportError: as :class:`warner.io.CountsTable`.
    """
    if others:
        rule = f"does not go with {', '.join(others)}"
        raise ArgumentError(message("--counts", rule, None, "State them to warner sql"))
    if plan is None:
        rule = "needs --study, which says what the reports are"
        raise ArgumentError(message("--counts", rule))
    whole = _whole("--study", plan)
    found = files.read_counts(path).tallies(whole.mechanisms, whole.public)
    most = whole.rows_per_person
    tallies = {name: tally.per_person(most) for name, tally in found.items()}
    n = next(iter(tallies.values())).n
    click.echo(
        f"{path}: counted by a database, {plural(n, 'row', 'rows')}. Every report is one that the "
        "study's mechanisms can send, and all counts agree. Which mechanism and budget made them, "
        "and whether they are simulated, no database says, so it was not checked.",
        err=True,
    )
    return tallies
