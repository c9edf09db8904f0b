"""A terminal: tables that fit its width, counts in words, and the progress of a command."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from textwrap import fill, wrap
from typing import Any, TextIO

import click

from warner._core.errors import ArgumentError
from warner._core.progress import Bars, Lines, Stage, progress
from warner._core.table import Column, Table
from warner._core.text import visible

_WIDE = 100_000  # characters of a line with --wide
_PIPE = 260  # of a sentence in a file or a pipe
_wide: ContextVar[bool | None] = ContextVar("wide", default=None)  # None: no such option
_explain = ContextVar("explain", default=False)
_quiet = ContextVar("quiet", default=False)
# the warnings of a command that ends at the first; None where it goes on
_warned: ContextVar[list[str] | None] = ContextVar("warned", default=None)


def plural(n: int, one: str, many: str) -> str:
    """A number of things in words.

    >>> plural(1, "person", "people"), plural(2000, "person", "people")
    ('1 person', '2,000 people')
    """
    return f"{n:,} {one if n == 1 else many}"


def be_quiet(quiet: bool) -> None:
    """Whether only results, warnings and errors are printed from now on."""
    _quiet.set(quiet)


def be_strict(strict: bool) -> None:
    """Whether a command ends at its first warning from now on."""
    _warned.set([] if strict else None)


def note(text: str) -> None:
    """Say on standard error, also where the command is to be quiet.

    On a screen sentences are folded, but not lines that begin with a space: they are to be copied.
    """
    lines = visible(text).split("\n")
    if sys.stderr.isatty():
        # Addresses stay whole.
        fold = partial(
            fill, width=_line_width(sys.stderr), break_on_hyphens=False, break_long_words=False
        )
        lines = [line if line[:1] == " " else fold(line) for line in lines]
    click.echo("\n".join(lines), err=True)


def warning(text: str) -> None:
    """Say on standard error what may be wrong, and end a command that is to be strict."""
    note(f"WARNING: {text}")
    if (warned := _warned.get()) is not None:
        warned.append(text)
        require_no_warning()


def require_no_warning() -> None:
    """End a command that is to be strict and had a warning, also one that somebody caught."""
    if _warned.get():
        rule = "ends this command with an error, because of the warning above"
        remedy = "Mend what the warning says, or run the command without --strict"
        raise ArgumentError("--strict", rule, None, remedy)


def say(text: str) -> None:
    """Say on standard error what was done, unless the command is to be quiet."""
    if not _quiet.get():
        note(text)


class _Events(io.TextIOBase):
    """A stream whose lines become events in JSON, one on each line of another stream."""

    encoding, errors = "utf-8", "backslashreplace"

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._line = stream, ""

    def write(self, text: str) -> int:
        # A line to be copied, which begins with spaces, ends the sentence before it.
        *lines, self._line = re.sub(r"\n +(?=\S)", " ", self._line + text).split("\n")
        for line in filter(str.strip, lines):
            level, _, rest = line.partition(": ")
            is_logged = level in ("INFO", "WARNING", "ERROR", "CRITICAL")
            event = {
                "time": datetime.now(UTC).isoformat(timespec="seconds"),
                "level": level.lower() if is_logged else "info",
                "event": rest if is_logged else line,
            }
            self._stream.write(json.dumps(event) + "\n")
        self._stream.flush()
        return len(text)


@contextlib.contextmanager
def events_as_json() -> Iterator[None]:
    """Write each line on standard error as an event in JSON within the block."""
    with contextlib.redirect_stderr(_Events(sys.stderr)):
        yield


def show(*blocks: Table | str, err: bool = False) -> None:
    """Print tables and paragraphs in lines that fit the screen, made :func:`visible`.

    In a file or a pipe a table is as wide as on a screen of 80 columns, and sentences are whole.
    """
    width = _line_width(sys.stderr if err else sys.stdout)
    # Labels and names can come from files of other people, so texts are made visible.
    for block in blocks:
        if isinstance(block, str):
            for line in visible(block).split("\n"):
                click.echo(fill(line, width, break_on_hyphens=False), err=err)
            continue
        if _wide.get():
            block = with_errors(block)
        of_table = None if width == _PIPE else width
        to_see_all = "To see all columns, add --wide." if _wide.get() is not None else ""
        lines = block.text(of_table, None, _explain.get(), width, to_see_all).split("\n")
        titles = len(wrap(visible(block.title), width, break_on_hyphens=False))
        for i, line in enumerate(lines):
            click.secho(line, bold=i < titles, err=err)


_OF_UNBIASED = (
    "those of the unbiased estimates, from which the intervals are made too. The shares can differ "
    "from these estimates, because the method moves them or keeps them between 0 and 100 %."
)


def with_errors(table: Table, in_article: bool = False) -> Table:
    """The table with its standard errors; in an article design effects are numbers alone."""
    from warner.results.intervals import DESIGN_EFFECT, STANDARD_ERROR

    columns = [c if isinstance(c, Column) else Column(c) for c in table.columns]
    difference = next((c.unit for c in columns if c.key == "difference"), "")
    of_error = {"": "share", "points": "width_in_points"}.get(difference, "number")
    units: list[tuple[Column, dict[str, Any]]] = [(STANDARD_ERROR, {"unit": of_error})]
    if in_article:  # without the word times, and with equal decimals
        units.append((DESIGN_EFFECT, {"unit": "fixed", "decimals": 2}))
    shown = [
        next(
            (replace(c, **unit) for of, unit in units if replace(c, priority=of.priority) == of),
            c,
        )
        for c in columns
    ]
    has_errors = any(row.get(STANDARD_ERROR.key) is not None for row in table.rows)
    if not has_errors or difference or STANDARD_ERROR not in columns:
        return replace(table, columns=shown)
    if in_article:
        summary = [*table.summary, ("Standard errors", _OF_UNBIASED)]
        return replace(table, columns=shown, summary=summary)
    notes = [*table.notes, f"The standard errors are {_OF_UNBIASED}"]
    return replace(table, columns=shown, notes=notes)


def explain(text: str) -> None:
    """Print a paragraph for readers who ask how numbers were computed."""
    if _explain.get():
        show(text)


def _line_width(stream: TextIO) -> int:
    """The width of a screen. Files and pipes get whole lines, unless COLUMNS states a width."""
    columns = os.environ.get("COLUMNS", "")
    if _wide.get():
        return _WIDE
    if columns.isdigit():
        return int(columns)
    return shutil.get_terminal_size().columns if stream.isatty() else _PIPE


@contextlib.contextmanager
def shown_with(wide: bool, explain: bool) -> Iterator[None]:
    """Print lines of any length within the block, and how numbers were computed."""
    tokens = _wide.set(wide), _explain.set(explain)
    try:
        yield
    finally:
        _wide.reset(tokens[0])
        _explain.reset(tokens[1])


@contextlib.contextmanager
def progress_shown(before: Callable[[], object]) -> Iterator[None]:
    """Show the progress of the block, unless -q is given; ``before`` is called before each step."""
    is_screen = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    watcher = None if _quiet.get() else Bars() if is_screen else Lines()

    def told(stages: tuple[Stage, ...]) -> None:
        before()
        if watcher is not None:
            watcher(stages)

    try:
        with progress(told):
            yield
    finally:
        if watcher is not None:
            watcher.close()
