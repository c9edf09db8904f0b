"""A terminal: tables that fit its width, counts in words, and the progress of a command.

Progress is shown on standard error: bars on a terminal, lines for long work elsewhere. Work of
which more than ten seconds are left is announced in a line: before it starts where its stage states
an estimate, and else as soon as its first steps allow one. Work of unknown length says after ten
seconds how far it is.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, replace
from textwrap import fill
from threading import Lock, Timer
from typing import TYPE_CHECKING, TextIO

import click

from warner._core.progress import Stage, progress
from warner._core.table import Table
from warner._core.text import duration, visible

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

_WIDE = 100_000  # characters of a line with --wide
_PIPE = 260  # of a file or a pipe
_wide = ContextVar("wide", default=False)


def plural(n: int, one: str, many: str) -> str:
    """A number of things in words.

    >>> plural(1, "person", "people"), plural(2000, "person", "people")
    ('1 person', '2,000 people')
    """
    return f"{n:,} {one if n == 1 else many}"


def show(*blocks: Table | str, err: bool = False) -> None:
    """Print tables and paragraphs, in lines that fit the screen.

    Labels and names can come from files of other people, so texts are made :func:`visible`.
    """
    width = _line_width(sys.stderr if err else sys.stdout)
    for block in blocks:
        if isinstance(block, Table):
            if block.title:
                click.secho(_filled(block.title, width), bold=True, err=err)
            click.echo(replace(block, title="", notes=()).text(width), err=err)
        for text in block.notes if isinstance(block, Table) else [block]:
            click.echo(_filled(text, width), err=err)


def _filled(text: str, width: int) -> str:
    """A text in lines of at most some width; line ends stay."""
    lines = visible(text).split("\n")
    return "\n".join(fill(line, width, break_on_hyphens=False) for line in lines)


def _line_width(stream: TextIO) -> int:
    """The width of a screen. Files and pipes get whole lines, unless COLUMNS states a width."""
    columns = os.environ.get("COLUMNS", "")
    if _wide.get():
        return _WIDE
    if columns.isdigit():
        return int(columns)
    return shutil.get_terminal_size().columns if stream.isatty() else _PIPE


@contextlib.contextmanager
def whole_lines(wide: bool) -> Iterator[None]:
    """Print lines of any length within the block, if ``wide``."""
    token = _wide.set(wide)
    try:
        yield
    finally:
        _wide.reset(token)


# -----------------------------------------------------------------------------------------------
# Progress on standard error.


_LONG = 10.0  # seconds; longer work is announced
_SURE = 1.0  # seconds of steps after the first, from which the rest is estimated
_SURE_OF_ONE = 4.0  # seconds of the first step alone
_DELAY = 1.0  # seconds before bars appear
_NEWS = 60.0  # seconds between two lines where there is no terminal, after the first
_LEVELS = 3  # stages in a bar
_WIDTH = 30  # characters of a bar

Clock = Callable[[], float]


@dataclass
class _Begun:
    """When a stage began, its first step that was told of, and whether it was announced."""

    since: float
    first: tuple[int, float] | None = None
    announced: bool = False

    def left(self, stage: Stage, now: float) -> float | None:
        """The seconds that the rest takes, if it goes on as the steps so far; None if unknown."""
        if not stage.done or stage.total is None:
            return None
        self.first = self.first or (stage.done, now)
        done, then = self.first
        if stage.done > done and now - then >= _SURE:
            # Without the first step, which prepares and loads.
            seconds = (now - then) / (stage.done - done)
        elif then - self.since >= _SURE_OF_ONE:
            seconds = (then - self.since) / done
        else:
            return None
        return seconds * max(0, stage.total - stage.done)


class Notices:
    """Decides when work is announced.

    Args:
        clock: gives the time in seconds.

    >>> now = iter([0.0, 3.0, 4.0, 5.0])
    >>> notices = Notices(lambda: next(now))
    >>> for done in range(4):
    ...     print(notices.line((Stage("bootstrap", done, 20),)))
    None
    None
    bootstrap: 2 of 20. The rest takes about 18 s.
    None
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._begun: list[_Begun] = []

    def elapsed(self) -> float:
        """The seconds since the outermost stage began; 0 where there is none."""
        now = self._clock()
        return now - self._begun[0].since if self._begun else 0.0

    def left(self, stages: tuple[Stage, ...]) -> list[float | None]:
        """Estimates of the seconds that the rest of each stage takes; None where unknown."""
        now = self._clock()
        # A stage can begin or end while this runs in the thread that draws.
        return [
            begun.left(stage, now) for stage, begun in zip(stages, self._begun[:], strict=False)
        ]

    def line(self, stages: tuple[Stage, ...]) -> str | None:
        """The line that announces the work of these stages, or None."""
        now = self._clock()
        del self._begun[len(stages) :]
        self._begun += [_Begun(now) for _ in stages[len(self._begun) :]]
        for stage, begun in zip(stages, self._begun, strict=True):
            # What is inside an announced stage is a part of it.
            if begun.announced:
                return None
            if text := _announcement(stage, begun.left(stage, now)):
                begun.announced = True
                return text
        return None


def _announcement(stage: Stage, left: float | None) -> str | None:
    """The line that announces a stage, if it is long."""
    if stage.seconds is not None:
        if stage.seconds <= _LONG:
            return None
        size = "" if stage.total is None else f", {stage.total:,} steps"
        return f"{stage.name}{size}: about {duration(stage.seconds)}, estimated from the size."
    if left is None or left <= _LONG:
        return None
    return f"{stage}. The rest takes about {duration(left)}."


class Lines:
    """Prints lines, for pipes and files: announcements, and news of what takes minutes."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._notices = Notices(clock)
        self._told = 0.0

    def __call__(self, stages: tuple[Stage, ...]) -> None:
        text = self._notices.line(stages)
        elapsed = self._notices.elapsed()
        is_open = bool(stages) and stages[-1].total is None and not self._told
        if text is None and stages and elapsed - self._told >= (_LONG if is_open else _NEWS):
            text = f"{', '.join(map(str, stages))}, after {duration(elapsed)}."
        if text is not None:
            click.echo(visible(text), err=True)
        if text is not None or not stages:
            self._told = elapsed

    def close(self) -> None:
        """Nothing is left to do."""


class Bars:
    """Draws a bar for each stage, once work takes a second, and removes them when it ends."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        from rich.console import Console

        self._notices = Notices(clock)
        self._screen = Console(stderr=True, highlight=False, markup=False, emoji=False)
        self._stages: tuple[Stage, ...] = ()
        self._lock = Lock()
        self._timer: Timer | None = None
        self._live: Live | None = None

    def __call__(self, stages: tuple[Stage, ...]) -> None:
        if (text := self._notices.line(stages)) is not None:
            self._screen.print(visible(text))
        before, self._stages = self._stages, stages
        if not stages:
            self.close()
        elif not before:
            self._timer = Timer(_DELAY, self._start)
            self._timer.daemon = True
            self._timer.start()

    def _start(self) -> None:
        from rich.live import Live

        with self._lock:
            if self._stages and self._live is None:
                self._live = Live(
                    get_renderable=self._drawn,
                    console=self._screen,
                    transient=True,
                    refresh_per_second=8,
                    redirect_stdout=False,
                )
                self._live.start()

    def _drawn(self) -> RenderableType:
        """The bars as they are now."""
        from rich.progress_bar import ProgressBar
        from rich.table import Table as Grid
        from rich.text import Text

        grid = Grid.grid(padding=(0, 1))
        stages, elapsed = self._stages[:_LEVELS], duration(self._notices.elapsed())
        left = [*self._notices.left(stages), *[None] * _LEVELS]
        for depth, stage in enumerate(stages):
            of = "" if stage.total is None else f" of {stage.total:,}"
            rest = left[depth]
            times = ["" if depth else elapsed, f"about {duration(rest)} left" if rest else ""]
            grid.add_row(
                Text("  " * depth + visible(stage.name)),
                ProgressBar(stage.total, min(stage.done, stage.total or stage.done), _WIDTH),
                Text(f"{stage.done:,}{of}"),
                Text(", ".join(filter(None, times))),
            )
        return grid

    def close(self) -> None:
        """Remove the bars."""
        self._stages = ()
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            if self._live is not None:
                self._live.stop()
                self._live = None


@contextlib.contextmanager
def progress_shown(before: Callable[[], object]) -> Iterator[None]:
    """Show the progress of the work in the block.

    Args:
        before: called after each step of the work, before it is shown.
    """
    is_screen = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    watcher = Bars() if is_screen else Lines()

    def told(stages: tuple[Stage, ...]) -> None:
        before()
        watcher(stages)

    try:
        with progress(told):
            yield
    finally:
        watcher.close()
