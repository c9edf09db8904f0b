"""The progress of long work: what is under way, how far it is, and who is told.

Code that takes long opens a :func:`stage`, or goes through its work with :func:`steps`. A caller
listens with :func:`progress`. Between the two no function passes anything on: the listener is a
context variable. Without a listener nothing is counted. Threads and processes that the work starts
tell nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TypeVar

from warner._core.checks import kind
from warner._core.errors import ArgumentTypeError

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
    half a second.

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
    >>> with warner.progress(lambda stages: print(*stages[:1])):
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
        from warner._core.text_bar import TextBar

        bar = TextBar()
        try:
            with _told_to(_Told(bar)):
                yield
        finally:
            bar.close()
        return
    if not callable(listener):
        rule = "must be True, or a function of the stages that are under way"
        raise ArgumentTypeError("listener", rule, kind(listener), "For example progress(print)")
    with _told_to(_Told(listener)):
        yield


@contextmanager
def _told_to(told: _Told | None) -> Iterator[None]:
    token = _TOLD.set(told)
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
    told = _TOLD.get()
    if told is None:
        yield _nobody
        return
    with told.stage(Stage(name, 0, total, seconds)) as tell:
        yield tell


def _nobody(done: int) -> None:
    """Tell nobody."""


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
