"""The command line: commands that read and write files, standard input and standard output."""

from __future__ import annotations

import errno
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from warner._core.atomic_files import unopened
from warner._core.errors import WarnerError, message
from warner._core.text import without_secrets
from warner.app.running import load_all, stopped_cleanly
from warner.app.terminal import (
    be_quiet,
    be_strict,
    progress_shown,
    require_no_warning,
    show,
    warning,
)

# The modules in warner.app.commands. A module is imported when a command of it is run.
_COMMANDS = {
    "new": "starting",
    "plan": "designing",
    "audit": "designing",
    "randomize": "collecting",
    "tally": "collecting",
    "estimate": "estimating",
    "regress": "regressing",
    "report": "reporting",
    "collect": "serving",
    "study": "starting",
    "sql": "collecting",
    "merge": "collecting",
    "benchmark": "comparing",
    "demo": "starting",
}


class _OneSentence(click.ClickException):
    """An error, in lines that fit a screen; a file or a pipe gets one line."""

    def show(self, file: Any = None) -> None:
        if sys.stderr.isatty():
            show(f"Error: {self.format_message()}", err=True)
        else:
            super().show(file)


class _TryLater(_OneSentence):
    """An error that passes by itself: the same command can be right a little later."""

    exit_code = 75  # EX_TEMPFAIL of sysexits.h


def _shown_once() -> Callable[..., None]:
    """What prints the warnings of the library as those of one command, each text once.

    A text has no line of the program; many estimates in one command can have the same.
    """
    shown: set[str] = set()

    def show_one(message: Warning | str, *_: Any, **__: Any) -> None:
        text = str(message)
        if text not in shown:
            shown.add(text)
            warning(text)

    return show_one


_COMMAND = "warner.app.cli.command"  # the context of the command, in what all contexts share


def _as_typed(text: str, shared: Mapping[str, Any]) -> str:
    """A message of Python, in which arguments are the options that stand for them.

    "Leave out the argument by" becomes "Leave out --by", and kind='score' "--interval score".
    """
    context: click.Context | None = shared.get(_COMMAND)
    if context is None:  # an error of the arguments, which have the names of options
        return text
    for option in (each for each in context.command.params if isinstance(each, click.Option)):
        typed = max(option.opts, key=len)
        argument = rf"(?:{typed.removeprefix('--').replace('-', '_')}|{option.name})"
        # Only those that were given: another name can be that of a question or a file.
        if context.get_parameter_source(str(option.name)) is ParameterSource.COMMANDLINE:
            text = re.sub(rf"\A{argument}(?=: )|the argument {argument}\b", typed, text)
        if not re.search("Python|in a command", text):  # which has both forms already
            text = re.sub(rf"(?<![\w.(]){argument}='([^' ]+)'", rf"{typed} \1", text)
        if typed == "--design":
            text = text.replace("run: warner estimate FILE --design", "add --design")
    return text


class PlainErrors(click.Command):
    """A command whose errors are one line on standard error and exit status 1, no traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with (
                stopped_cleanly() as signals,
                progress_shown(signals.stop_if_asked),
                warnings.catch_warnings(),
            ):
                warnings.showwarning = _shown_once()
                result = super().invoke(ctx)
                require_no_warning()
                return result
        except WarnerError as error:
            passes = getattr(error, "passes", False)
            raise (_TryLater if passes else _OneSentence)(_as_typed(str(error), ctx.meta)) from None
        except click.BadParameter as error:
            if wrong := re.match("'(.*)' is not a valid (integer|float)", error.message):
                raise click.BadParameter(
                    _no_number(*wrong.groups()), error.ctx, error.param
                ) from None
            raise
        except click.NoSuchOption as error:
            name, context = error.option_name, error.ctx
            here = _OPTION_HERE.get(name)
            if here and context and any(here in p.opts for p in context.command.params):
                rule = f"There is no option {name!r}. Did you mean {here}?"
                raise click.UsageError(rule, context) from None
            root = None if context is None else context.find_root()
            if root and context and any(name in p.opts for p in root.command.params):
                command = context.command_path.removeprefix(str(root.info_name)).strip()
                rule = (
                    f"{name} must stand before the name of the command: warner {name} {command} ..."
                )
                raise click.UsageError(rule, context) from None
            if name == "--drop-missing" and context:
                rule = f"There is no option {name!r} here. {_LEFT_OUT}"
                raise click.UsageError(rule, context) from None
            if name == "--epsilon" and context:
                rule = f"There is no option {name!r} here. {_IN_THE_STUDY}"
                raise click.UsageError(rule, context) from None
            if (way := _two_hyphens(name, context)) is not None:
                raise click.UsageError(way, context) from None
            raise
        except MemoryError:
            remedy = "Use fewer questions or values, or a computer with more memory"
            raise click.ClickException(
                message("memory", "is too small for this task", None, remedy)
            ) from None
        except BrokenPipeError:
            sys.stderr.close()
            raise SystemExit(1) from None
        except OSError as error:
            is_full = error.errno == errno.ENOSPC
            # Of a file that gets its name at the end, the second name is the one that was typed.
            path = error.filename2 or error.filename or ("disk" if is_full else "file")
            if isinstance(error, FileNotFoundError) and error.filename is not None:
                raise click.ClickException(
                    str(unopened(without_secrets(str(path)), error))
                ) from None
            problem, remedy = (
                error.strerror or type(error).__name__,
                _REMEDIES.get(error.errno or 0, ""),
            )
            raise click.ClickException(
                message(without_secrets(str(path)), problem, None, remedy)
            ) from None


_REMEDIES = {
    errno.ENOSPC: "Make space on the disks of the output and of temporary files",
    errno.EISDIR: "Give one file in this folder",
    errno.EACCES: "If the file is open in another program, such as Excel, close it there",
}
# Word processors make a dash of two hyphens.
_DASHED = re.compile("[\N{EN DASH}\N{EM DASH}]-?([a-z][a-z-]+)(=.*)?")

_CURLY = "\N{LEFT DOUBLE QUOTATION MARK}\N{RIGHT DOUBLE QUOTATION MARK}"
_CURLY += "\N{DOUBLE LOW-9 QUOTATION MARK}\N{LEFT SINGLE QUOTATION MARK}"
_LOCKED = re.compile(r"~\$(.+)|\.~lock\.(.+)#")  # of Excel, and of LibreOffice


def _mistyped(word: str) -> str | None:
    """What is wrong with a word that a program changed, and what to type; None of other words."""
    if dashed := _DASHED.fullmatch(word):
        return f"{word!r} begins with a dash in place of two hyphens. Type --{dashed[1]}."
    plain = word.strip(_CURLY)
    if plain != word and not set(plain) & set(_CURLY):
        return f'{word!r} has curly quotes, as Word writes them. Type straight quotes: "{plain}".'
    if locked := _LOCKED.fullmatch(Path(word).name):
        table = locked[1] or locked[2]
        return (
            f"{word!r} only says that {table} is open in another program, such as Excel. Save and "
            f"close {table} there, and type {table}."
        )
    return None


def _two_hyphens(name: str, context: click.Context | None) -> str | None:
    """What to type for an option with one hyphen, or with no space behind it; None of others."""
    options = [] if context is None else [each for p in context.command.params for each in p.opts]
    long = [each for each in options if each.startswith("--")]
    if near := [each for each in long if each.startswith(f"-{name}")]:
        return f"There is no option {name!r}. Long options have two hyphens: {' or '.join(near)}."
    glued = [each for each in long if name.startswith(each) and len(name) > len(each) + 2]
    if glued and name[len(glued[0])] != "-":
        return f"There is no option {name!r}. Type a space behind {max(glued, key=len)}."
    return None


# Options under the names that other programs have for them.
_OPTION_HERE = {
    "--alpha": "--level",
    "--attribute": "--only",
    "--attributes": "--only",
    "--chart": "--plot",
    "--confidence": "--level",
    "--database": "--store",
    "--db": "--store",
    "--figure": "--plot",
    "--format": "--json",
    "--graph": "--plot",
    "--group-by": "--by",
    "--groups": "--by",
    "--model": "--method",
    "--n": "--people",
    "--picture": "--plot",
}


# Who gave no answer is left out, or kept, where answers are randomised: reports have no gaps.
_LEFT_OUT = (
    'To leave out people who gave no answer, write missing = "drop" into the study file, and then '
    "run warner randomize. For answers on paper, add --drop-missing to warner estimate, report or "
    "regress"
)

_IN_THE_STUDY = (
    "Epsilon stands in the study file. Write a line such as epsilon = 1.5 under the line "
    "[attributes.NAME] of each question"
)


def _no_number(typed: str, kind: str) -> str:
    """What is said of an option that needs a number, with the number that a comma hides."""
    sort, form, mark = "number", r"\d+,\d+", "."
    if kind == "integer":
        sort, form, mark = "whole number", r"\d{1,3}([., ]\d{3})+", ""
    remedy = f" Write {re.sub('[., ]', mark, typed)}." if re.fullmatch(form, typed) else ""
    return f"{typed!r} is not a {sort}.{remedy}"


# What is asked for under another name: words of older texts and of other programs.
_CALLED_HERE = {
    "groups": "estimate --by",
    "difference": "estimate --compare-groups",
    "compare": "benchmark",
    "clusters": "plan PILOT_TALLY",
    "count": "tally",
    "add": "merge",
    "analyse": "estimate",
    "analyze": "estimate",
    "perturb": "randomize",
    "init": "new",
    "validate": "study check",
    "version": "--version",
    "completion": "--help (its last lines are about completion)",
}

# The experiments of papers are repeated by a module of the repository, which stands in no package.
_OF_PAPERS = "reproduce", "reproduction", "papers"


class _Group(PlainErrors, click.Group):
    """The commands of warner, in the order in which they are needed."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        for rule in filter(None, map(_mistyped, args)):
            raise click.UsageError(rule, ctx)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in self.commands:
            groups = whole_commands().items()
            inner = (each for each, group in groups if name in getattr(group, "commands", ()))
            here = _CALLED_HERE.get(name) or next((f"{each} {name}" for each in inner), None)
            if here is not None:
                rule = f"There is no command {name!r}. Did you mean: warner {here}?"
                raise click.UsageError(rule, ctx)
            if name in _OF_PAPERS:
                is_clone = Path("papers/__main__.py").is_file()
                run = "Run" if is_clone else "In a git clone of warner, run"
                rule = f"There is no command {name!r}. {run}: python -m papers --list"
                raise click.UsageError(rule, ctx)
        return super().resolve_command(ctx, args)


@click.group(
    cls=_Group,
    epilog="The exit status of a command is 0 if all is done, 1 after an error or a failed audit, "
    "2 if the command line is wrong, and 130 after Ctrl-C. It is 75 if another run uses the same "
    "file of --checkpoint: try again later. To complete commands with the Tab key, run in bash:"
    ' eval "$(_WARNER_COMPLETE=bash_source warner)". In zsh or fish, write zsh_source or '
    "fish_source in place of bash_source.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(None, "-V", "--version", package_name="warner")
@click.option(
    "--load",
    "plug_ins",
    metavar="FILE.py",
    multiple=True,
    help="A Python file or module that is run first. With warner.register it can add your own ways "
    "of randomising and estimating. May be repeated.",
)
@click.option(
    "-q",
    "--quiet",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda context, option, quiet: be_quiet(quiet),
    help="Print only results, warnings and errors. Write -q before the name of the command.",
)
@click.option(
    "--strict",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda context, option, strict: be_strict(strict),
    help="End with an error at the first warning, for jobs whose output nobody reads. Nothing is "
    "written after the warning. Write --strict before the name of the command.",
)
def main(plug_ins: tuple[str, ...]) -> None:
    """Learn how common sensitive answers are, without collecting them.

    \b
    answers --randomize--> reports --tally--> tally --estimate--> shares with intervals
    answers counted on paper --estimate (with --design)--> shares with intervals

    A study file (TOML) says what is asked, which answers are possible and how they are randomised.
    """
    load_all(plug_ins)


class _Later(click.Command):
    """A command that is imported when it is run. Until then its source tells what it is for."""

    def __init__(self, name: str, module: str) -> None:
        super().__init__(name)
        self._module = f"warner.app.commands.{module}"

    def whole(self) -> click.Command:
        """The command itself."""
        command: click.Command = getattr(import_module(self._module), str(self.name))
        return command

    def get_short_help_str(self, limit: int = 45) -> str:
        """The first sentence of the docstring, whole: the list of commands wraps it."""
        source = find_spec(self._module).loader.get_source(self._module)  # type: ignore[union-attr]
        sentence = re.search(
            rf'^def {self.name}\(.*?"""(.*?)(?:"""|\n)', source, re.MULTILINE | re.DOTALL
        )
        return click.Command(None, help=sentence[1] if sentence else None).get_short_help_str(200)

    def make_context(
        self, info_name: str | None, args: list[str], *rest: Any, **more: Any
    ) -> click.Context:
        """The context of the command itself."""
        with stopped_cleanly():  # imports take a while
            command = self.whole()
        _refuse_repeated(command, args, info_name, more.get("parent"))
        context = command.make_context(info_name, args, *rest, **more)
        context.meta[_COMMAND] = context
        return context


def _refuse_repeated(
    command: click.Command, args: list[str], name: str | None, parent: click.Context | None
) -> None:
    """Refuse an option of one value that is given twice: click would drop the first in silence."""
    context = click.Context(command, parent, name)
    try:
        _, rest, order = command.make_parser(context).parse_args(list(args))
    except click.UsageError:
        return  # it is said where the command itself reads the arguments
    for param, times in Counter(order).items():
        is_option = isinstance(param, click.Option) and not (param.is_flag or param.count)
        if times > 1 and is_option and not param.multiple:
            rule = f"{' / '.join(param.opts)} can be given only once, and was given {times} times."
            if name == "estimate" and "--design" in param.opts:
                rule += (
                    " If people had two cards, make a tally of each table with the study of its "
                    "card (warner tally --study), and name all tallies."
                )
            if (param.metavar or "").endswith(",..."):
                parts = [(*arg.partition("="), after) for arg, after in pairwise([*args, ""])]
                values = [
                    v if sign else after for name, sign, v, after in parts if name in param.opts
                ]
                rule += f" Write {max(param.opts, key=len)} {','.join(values)}."
            raise click.UsageError(rule, context)
    if isinstance(command, click.Group) and rest:
        below = command.get_command(context, rest[0])
        if below is not None:
            _refuse_repeated(below, rest[1:], rest[0], context)


_LATER = {name: _Later(name, module) for name, module in _COMMANDS.items()}
for _command in _LATER.values():
    main.add_command(_command)


@main.command("help")
@click.argument("names", metavar="[COMMAND]...", nargs=-1)
@click.pass_context
def help_of(context: click.Context, names: tuple[str, ...]) -> None:
    """Show the help of a command, or the list of all commands."""
    page = context.parent
    assert page is not None
    for name in names:
        group = page.command
        if not isinstance(group, click.Group):
            rule = f"There is no command {name!r}. To list all commands, run: warner help"
            raise click.UsageError(rule, page)
        inner = group.resolve_command(page, [name])[1]
        assert inner is not None
        command = inner.whole() if isinstance(inner, _Later) else inner
        page = click.Context(command, page, info_name=name)
    click.echo(page.get_help())


def whole_commands() -> dict[str, click.Command]:
    """All commands, imported, by their names.

    >>> whole_commands()["tally"].help.partition(".")[0]
    'Count the reports in one or more files (- is a file on standard input)'
    """
    return {name: later.whole() for name, later in _LATER.items()} | {"help": help_of}


if __name__ == "__main__":
    main()
