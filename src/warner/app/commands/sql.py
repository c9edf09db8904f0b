"""Reports in a database or a warehouse: the statement that counts them there, and its result."""

from __future__ import annotations

from collections.abc import Sequence

import click

from warner import io as files
from warner._core.checks import show
from warner._core.errors import ArgumentError, EmptyError
from warner.app.command_files import refuse_repeated, warn_of_simulation
from warner.app.commands.foreign import column_names
from warner.app.terminal import plural
from warner.reports.tally import Tally
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
@click.option(
    "--simulated",
    is_flag=True,
    help="The reports are of a simulation, made with a seed. The result says so, and its tally is "
    "marked.",
)
def sql(
    study: str,
    dialect: str,
    table: str,
    by: str | None,
    columns: tuple[str, ...],
    simulated: bool,
) -> None:
    """Print one SQL statement that counts the reports in a table.

    The reports stay where they are. The result has a row for each value of each attribute, and
    the checks: rows without a report, rows with a value that is none, and rows of bits that the
    mechanism cannot have sent. It also says of which study it is, and warner tally --counts refuses
    another one. Save it as CSV with its line of names. The tally is the one that counting a file of
    these reports gives. A database does not know whether reports are simulated: say --simulated
    where they are.

    Columns of reports hold numbers. Cast truth values and texts in a view. Names are quoted. Plain
    names stand for those that the database makes of them without quotes: in capitals in Snowflake.
    There a --column in double quotes is taken as it is: --column 'age="age_report"'.

    The statement reads the table once. A table with a row for each person of one day, or one shard,
    has a result of its own, and warner tally --counts adds such results.

    \b
        warner sql study.toml --dialect duckdb --table reports > count.sql
        duckdb -csv survey.db < count.sql > counts.csv
        warner tally --counts counts.csv --study study.toml -o tally.json
    \b
        psql --csv -f count.sql > counts.csv
        bq --format=csv query --nouse_legacy_sql --max_rows=1000000 < count.sql > counts.csv
        snowsql -f count.sql -o output_format=csv -o friendly=false > counts.csv
        spark-sql --conf spark.sql.cli.print.header=true -f count.sql > counts.csv
    """
    plan = _whole(study, Study.load(study))
    names = [] if by is None else [name.strip() for name in by.split(",")]
    for name in names:
        declared(plan.public, name, "--by")
        if names.count(name) > 1:
            raise ArgumentError("--by", "names a column twice", show(name))
    named = column_names(columns)
    text = files.count_statement(
        plan.mechanisms,
        table,
        dialect,
        named,
        names,
        study=plan.digest,
        simulated=simulated,
    )
    click.echo(f"{text};")


def _whole(path: str, plan: Study) -> Study:
    """The study, which must have no groups: a table does not say of which group it is."""
    if plan.groups:
        rule = "has groups, and a table does not say of which group its rows are"
        remedy = "Count each group with a study file of its own"
        raise ArgumentError(path, rule, None, remedy)
    return plan


def tallies_of_counts(
    paths: Sequence[str], plan: Study | None, others: Sequence[str]
) -> dict[str, dict[str, Tally]]:
    """The tallies that the results of counting statements hold, and lines that say so."""
    if others:
        rule = f"does not go with {', '.join(others)}"
        raise ArgumentError("--counts", rule, None, "State them to warner sql")
    if plan is None:
        rule = "needs --study, which says what the reports are"
        raise ArgumentError("--counts", rule)
    refuse_repeated(paths)
    whole = _whole("--study", plan)
    found: dict[str, dict[str, Tally]] = {}
    for path in paths:
        try:
            tallies = files.read_counts(path).tallies(whole.mechanisms, whole.public, whole.digest)
        except EmptyError:
            if len(paths) == 1:
                raise
            click.echo(f"{path}: the table had no rows, so it adds nothing.", err=True)
            continue
        most = whole.rows_per_person
        found[path] = {name: tally.per_person(most) for name, tally in tallies.items()}
        first = next(iter(tallies.values()))
        unknown = "" if first.simulated else ", and whether they are simulated"
        click.echo(
            f"{path}: counted by a database, {plural(first.n, 'row', 'rows')}. The statement was "
            "of this study, every report is one that its mechanisms can send, and all counts "
            f"agree. Which mechanism and budget made the reports{unknown}, no database says, so it "
            "was not checked.",
            err=True,
        )
        if first.simulated:
            warn_of_simulation(path)
    if not found:
        raise EmptyError("--counts", "hold no reports: no table had rows")
    return found
