"""The command line: commands that read and write files, standard input and standard output."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import click

from warner._core.errors import WarnerError, message
from warner._core.text import without_secrets
from warner.app.running import load_all, stopped_cleanly
from warner.app.terminal import shown

# The module in warner.app.commands, and the line in the list of commands. A module is imported when
# a command of it is run.
_COMMANDS = {
    "audit": (
        "designing",
        "Compute the exact epsilon of every mechanism in FILE: a study, a report file or a tally.",
    ),
    "clusters": (
        "designing",
        "Group attributes that depend on each other, to be randomised together.",
    ),
    "compare": (
        "estimating",
        "Rank estimators by their error on tallies that are simulated from an estimate of TALLY.",
    ),
    "demo": (
        "starting",
        "Run all steps on real answers.",
    ),
    "difference": (
        "grouping",
        "Compare groups of different people.",
    ),
    "estimate": (
        "estimating",
        "Estimate the shares of all values from TALLY, or from several together.",
    ),
    "groups": (
        "grouping",
        "Estimate the shares of groups of people.",
    ),
    "invite": (
        "serving",
        "Make invitation codes for STUDY, each good for one report.",
    ),
    "merge": (
        "collecting",
        "Add tallies of the same study, or of the same group of a study.",
    ),
    "new": (
        "starting",
        "Write a first study file, with comments on what to decide.",
    ),
    "plan": (
        "designing",
        "Propose mechanisms and epsilons for a draft, or rank mechanisms for a complete STUDY.",
    ),
    "pull": (
        "serving",
        "Fetch the tally of the collector at URL: the counts of its last published step.",
    ),
    "push": (
        "serving",
        "Send the reports in the file REPORTS to the collector at URL, 1,000 at a time.",
    ),
    "randomize": (
        "collecting",
        "Randomise the answers in VALUES as the study file STUDY says.",
    ),
    "report": (
        "reporting",
        "Write a report for readers from TALLY, as one HTML or PDF file.",
    ),
    "serve": (
        "serving",
        "Ask the questions of STUDY on a web page, and count the answers of real people.",
    ),
    "sql": (
        "collecting",
        "Print one SQL statement that counts the reports in a table.",
    ),
    "study": (
        "starting",
        "Make study files from forms of other programs, and files for pages of your own.",
    ),
    "tally": (
        "collecting",
        "Count the reports in one or more files (- is a file on standard input).",
    ),
}


class PlainErrors(click.Command):
    """A command whose errors are one line on standard error and exit status 1, no traceback."""

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
            name = without_secrets(str(error.filename or "file"))
            raise click.ClickException(
                message(name, error.strerror or type(error).__name__)
            ) from None


class _Group(PlainErrors, click.Group):
    """The commands of warner."""


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


class _Later(click.Command):
    """A command that is imported when it is run. Until then its name and its summary are known."""

    def __init__(self, name: str, module: str, summary: str) -> None:
        super().__init__(name, help=summary)
        self._module = module

    def whole(self) -> click.Command:
        """The command itself."""
        module = import_module(f"warner.app.commands.{self._module}")
        command: click.Command = getattr(module, str(self.name))
        return command

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **more: Any,
    ) -> click.Context:
        """The context of the command itself."""
        return self.whole().make_context(info_name, args, parent, **more)


_LATER = {name: _Later(name, *about) for name, about in _COMMANDS.items()}
for _command in _LATER.values():
    main.add_command(_command)


def whole_commands() -> dict[str, click.Command]:
    """All commands, imported, by their names.

    >>> whole_commands()["tally"].help.partition(".")[0]
    'Count the reports in one or more files (- is a file on standard input)'
    """
    return {name: later.whole() for name, later in sorted(_LATER.items())}


if __name__ == "__main__":
    main()
