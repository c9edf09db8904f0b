"""The command line: commands that read and write files, standard input and standard output."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from warner import io as files
from warner._core.errors import WarnerError, message
from warner.app import demo as demonstration
from warner.app.commands.collecting import merge, randomize, tally
from warner.app.commands.designing import audit, clusters, plan
from warner.app.commands.estimating import compare, estimate
from warner.app.commands.grouping import differences, groups
from warner.app.commands.options import generator
from warner.app.commands.reporting import report
from warner.app.commands.serving import invite, pull, push, serve
from warner.app.commands.sql import sql
from warner.app.commands.starting import new
from warner.app.commands.study_files import study
from warner.app.interruption import stopped_cleanly
from warner.app.plug_ins import load_all
from warner.app.progress_bar import shown
from warner.app.reproduce import reproduce


class _Group(click.Group):
    """Commands whose errors are one line on standard error and exit status 1, without traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with stopped_cleanly() as signals, shown(signals.stop_if_asked):
                return super().invoke(ctx)
        except WarnerError as error:
            raise click.ClickException(str(error)) from None
        except MemoryError:
            remedy = "Use fewer values, seeds or attributes"
            raise click.ClickException(
                message("memory", "is not enough for this task", None, remedy)
            ) from None
        except BrokenPipeError:
            sys.stderr.close()
            raise SystemExit(1) from None
        except OSError as error:
            name = files.shown(str(error.filename or "file"))
            raise click.ClickException(
                message(name, error.strerror or type(error).__name__)
            ) from None


@click.group(
    cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
@click.version_option(package_name="warner")
@click.option(
    "--load",
    "plug_ins",
    metavar="FILE.py",
    multiple=True,
    help="Run this file of Python first: it registers mechanisms and estimators of your own "
    "(warner.register). Also the name of a module. May be repeated.",
)
def main(plug_ins: tuple[str, ...]) -> None:
    """Learn the distribution of sensitive answers without collecting them.

    \b
    values --randomize--> reports --tally--> tally --estimate--> shares with intervals

    A study file (TOML) names the attributes, their domains, mechanisms and budgets.
    """
    load_all(plug_ins)


@main.command()
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
    help="Repeatable randomness, instead of that of the operating system.",
)
def demo(output: str, seed: int | None) -> None:
    """Run all steps on real answers.

    The answers are education and marital status of 32,561 people (UCI Adult), each at epsilon = 1.
    """
    demonstration.run(Path(output), generator(seed), simulation=seed is not None)


_COMMANDS = (
    new,
    randomize,
    tally,
    sql,
    merge,
    estimate,
    groups,
    differences,
    report,
    compare,
    plan,
    clusters,
    audit,
    serve,
    invite,
    pull,
    push,
)
for _command in (*_COMMANDS, study, reproduce):
    main.add_command(_command)


if __name__ == "__main__":
    main()
