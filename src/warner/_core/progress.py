"""The progress of long work: what is under way, how far it is, and who is told.

Code that takes long opens a :func:`stage`, or goes through its work with :func:`steps`. A caller
listens with :func:`progress`. Between the two no function passes anything on: the listener is a
context variable. Without a listener nothing is counted. Threads and processes that the work starts
tell nobody.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from threading import Lock, Timer
from typing import TYPE_CHECKING, TypeVar

from warner._core.checks import kind
from warner._core.errors import ArgumentTypeError
from warner._core.text import duration, visible

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live
    from rich.progress import Progress

Item = TypeVar("Item")


@dataclass(frozen=True)
class Stage:
    """One piece of work that is under way.

    Attributes:
        name: the work, such as ``"bootstrap"``.
        done: the number of steps done.
        total: the number of all steps; None where it is not known before the end.
        seconds: an estimate, from sizes, of the time that all steps take; None where there is none.

    >>> print(Stage("bootstrap", 40, 200), Stage("iterations", 7), sep="; ")
    bootstrap: 40 of 200; iterations: 7
    """

    name: str
    done: int = 0
    total: int | None = None
    seconds: float | None = None

    def __str__(self) -> str:
        of = "" if self.total is None else f" of {self.total:,}"
        return f"{self.name}: {self.done:,}{of}"


Listener = Callable[[tuple[Stage, ...]], object]
Tell = Callable[[int], None]


class _Told:
    """A listener and the stages that are open, the outermost first."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._failed = False
        self._open: list[Stage] = []

    @contextmanager
    def stage(self, first: Stage) -> Iterator[Tell]:
        depth = len(self._open)

        def tell(done: int) -> None:
            self._set(depth, replace(first, done=done))

        try:
            tell(first.done)
            yield tell
        finally:
            self._set(depth)
            if not depth:
                self._failed = False  # the next work tells again

    def _set(self, depth: int, *stages: Stage) -> None:
        """Put stages in place of those from a depth on, and tell of it."""
        self._open[depth:] = stages
        if not self._failed:
            self._failed = True  # until the listener returns
            self._listener(tuple(self._open))
            self._failed = False


_TOLD: ContextVar[_Told | None] = ContextVar("progress", default=None)


@contextmanager
def progress(listener: Listener | bool = True) -> Iterator[None]:
    """Show how far long work is, or tell a function, within the block.

    ``with progress():`` draws a bar on standard error, in a terminal or a notebook, once work takes
    a second. The package rich draws it; without rich there is none.

    The function is called with a tuple of the stages that are under way, the outermost first: when
    a stage begins, after each of its steps, and when it ends. At the end of all work the tuple is
    empty. Each stage has ``name``, ``done``, ``total`` (None where unknown) and ``seconds`` (an
    estimate of its time from sizes, None where there is none). ``str(stage)`` is a line to print.

    An exception of the function stops the work and reaches the caller, as Ctrl-C does. Neither
    changes reports, tallies or estimates, and no file is left half written.

    Args:
        listener: True for the bar, and False for nothing. Or a function that takes the tuple of
            stages. It is called often, so it should be quick. An inner block replaces the listener
            of an outer one.

    Raises:
        ArgumentTypeError: the listener cannot be called.

    >>> import warner
    >>> coin = warner.RandomizedResponse(warner.Categorical(["no", "yes"]), 1.0)
    >>> result = warner.estimate(coin.tally(coin.randomize(["no", "yes"] * 50)))
    >>> with warner.results.progress(lambda stages: print(*stages[:1])):
    ...     bounds = result.interval(kind="bootstrap", replicates=20)  # doctest: +ELLIPSIS
    bootstrap: 0 of 20
    ...
    bootstrap: 20 of 20
    <BLANKLINE>
    """
    if listener is False:
        with _told_to(None):
            yield
        return
    if listener is True:
        bars = Bars(announces=False)
        try:
            with _told_to(_Told(bars) if find_spec("rich") is not None else None):
                yield
        finally:
            bars.close()
        return
    if not callable(listener):
        rule = "must be True, or a function that is called with the list of running stages"
        raise ArgumentTypeError("listener", rule, kind(listener), "For example progress(print)")
    with _told_to(_Told(listener)):
        yield


@contextmanager
def _told_to(listener: _Told | None) -> Iterator[None]:
    token = _TOLD.set(listener)
    try:
        yield
    finally:
        _TOLD.reset(token)


@contextmanager
def stage(name: str, total: int | None = None, seconds: float | None = None) -> Iterator[Tell]:
    """Open a stage of long work, whose steps the block counts.

    The command line announces a stage before it starts if ``seconds`` exceeds ten.

    >>> with progress(print), stage("sum", 2) as tell:
    ...     tell(1)
    (Stage(name='sum', done=0, total=2, seconds=None),)
    (Stage(name='sum', done=1, total=2, seconds=None),)
    ()
    """
    listener = _TOLD.get()
    if listener is None:
        yield _nobody
        return
    with listener.stage(Stage(name, 0, total, seconds)) as tell:
        yield tell


def _nobody(done: int) -> None:
    """Tell nobody."""


def in_blocks(rows: int, most: int, each: int = 1) -> Iterator[slice]:
    """Slices of all rows of ``each`` entries, with at most ``most`` entries where a row has fewer.

    >>> list(in_blocks(5, 7, 3))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, most // each)
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))


def steps(
    items: Iterable[Item], name: str, total: int | None = None, seconds: float | None = None
) -> Iterator[Item]:
    """The items one after the other, each a step of a stage; see :func:`stage`.

    >>> with progress(lambda stages: print(*stages)):
    ...     squares = [x * x for x in steps([1, 2], "squares")]
    squares: 0 of 2
    squares: 1 of 2
    squares: 2 of 2
    <BLANKLINE>
    """
    if _TOLD.get() is None:
        yield from items
        return
    if total is None and isinstance(items, Sized):
        total = len(items)
    with stage(name, total, seconds) as tell:
        for done, item in enumerate(items, 1):
            yield item
            tell(done)


# -----------------------------------------------------------------------------------------------
# Progress on standard error: bars on a terminal, lines for long work elsewhere.
#
# Work of which more than ten seconds are left is announced in a line: before it starts where its
# stage states an estimate, and else as soon as its first steps allow one. Work of unknown length
# says after ten seconds how far it is.


_LONG = 10.0  # seconds; longer work is announced
_SURE = 1.0  # seconds of steps after the first, from which the rest is estimated
_SURE_OF_ONE = 4.0  # seconds of the first step alone
_DELAY = 1.0  # seconds before bars appear
_NEWS = 60.0  # seconds between two lines where there is no terminal, after the first
_LEVELS = 3  # bars at a time
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
        return f"{stage.name}{size}: this will take about {duration(stage.seconds)}."
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
            # What has no end within a stage that has one does not say how far the work is.
            of_known = [each for each in stages if each.total is not None]
            text = f"{', '.join(map(str, of_known or stages))}, after {duration(elapsed)}."
        if text is not None:
            print(visible(text), file=sys.stderr, flush=True)
        if text is not None or not stages:
            self._told = elapsed

    def close(self) -> None:
        """Nothing is left to do."""


class Bars:
    """A bar of rich for each stage. They appear once work takes a second, and leave nothing behind.

    ``announces`` says whether long work is announced in a line, which stays.
    """

    def __init__(self, clock: Clock = time.monotonic, announces: bool = True) -> None:
        self._clock = clock
        self._notices = Notices(clock) if announces else None
        self._stages: tuple[Stage, ...] = ()
        self._lock = Lock()
        self._timer: Timer | None = None
        self._live: Live | None = None
        self._levels, self._names = _LEVELS, list[str]()

    def __call__(self, stages: tuple[Stage, ...]) -> None:
        if self._notices is not None and (text := self._notices.line(stages)) is not None:
            if self._live is None:
                print(visible(text), file=sys.stderr, flush=True)
            else:
                self._live.console.print(visible(text))
        before, self._stages = self._stages, stages
        if not stages:
            self.close()
        elif not before:
            self._timer = Timer(_DELAY, self._start)
            self._timer.daemon = True
            self._timer.start()

    def _start(self) -> None:
        from rich.console import Console
        from rich.live import Live

        screen = Console(stderr=True, markup=False, highlight=False, emoji=False)
        if Console().is_jupyter:
            # A notebook overwrites one line of text; more would need the package ipywidgets.
            self._levels = 1
            screen = Console(stderr=True, force_jupyter=False, force_terminal=True, width=100)
        with self._lock:
            if self._stages and self._live is None and screen.is_terminal:
                self._live = Live(
                    get_renderable=self._drawn,
                    console=screen,
                    transient=True,
                    refresh_per_second=8,
                    redirect_stdout=False,
                )
                self._live.start()

    @cached_property
    def _bars(self) -> Progress:
        from rich.progress import (
            BarColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        name = TextColumn("{task.description}", markup=False)
        steps = TextColumn("{task.fields[steps]}")
        times = TimeElapsedColumn(), TimeRemainingColumn()
        return Progress(name, BarColumn(_WIDTH), steps, *times, get_time=self._clock)

    def _drawn(self) -> RenderableType:
        """The bars as they are now."""
        stages = self._stages[: self._levels]
        # The bar of a stage that has ended goes, with those inside it.
        same = [stage.name == name for stage, name in zip(stages, self._names, strict=False)]
        first = (*same, False).index(False)
        for task in self._bars.task_ids[first:]:
            self._bars.remove_task(task)
        self._names[first:] = [stage.name for stage in stages[first:]]
        for depth, name in enumerate(self._names[first:], first):
            self._bars.add_task("  " * depth + visible(name), total=None, steps="")
        for task, stage in zip(self._bars.task_ids, stages, strict=True):
            of = "" if stage.total is None else f" of {stage.total:,}"
            steps = f"{stage.done:,}{of}"
            self._bars.update(task, total=stage.total, completed=stage.done, steps=steps)
        return self._bars

    def close(self) -> None:
        """Remove the bars."""
        self._stages = ()
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            if self._live is not None:
                self._live.stop()
                self._live = None
