"""A bar of progress in one line of text, for terminals and notebooks."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Protocol, TextIO

from warner._core.text import duration, visible

_WIDTH = 24  # characters of the bar
_LINE = 79  # characters of a line; what is longer would not be overwritten
_OFTEN = 0.1  # seconds between two drawings
_DELAY = 0.5  # seconds before the first


class Stage(Protocol):
    """A stage of work: see :class:`warner._core.progress.Stage`."""

    @property
    def name(self) -> str: ...

    @property
    def done(self) -> int: ...

    @property
    def total(self) -> int | None: ...


class TextBar:
    """Draws the outermost stage that knows its length, and removes the line when work ends.

    Args:
        screen: where to draw; None for standard error.
        clock: gives the time in seconds.

    >>> import io
    >>> from warner._core.progress import Stage
    >>> screen, now = io.StringIO(), iter([0.0, 5.0, 10.0])
    >>> bar = TextBar(screen, lambda: next(now))
    >>> for done in (0, 1, 2):
    ...     bar((Stage("bootstrap", done, 4),))
    >>> print(screen.getvalue().split("\\r")[-1].rstrip())
    bootstrap  ############............  2 of 4, 10 s, about 10 s left
    >>> bar(())
    >>> screen.getvalue().endswith("\\r")
    True
    """

    def __init__(
        self, screen: TextIO | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._screen = screen
        self._clock = clock
        self._since: float | None = None
        self._drawn: float | None = None

    def __call__(self, stages: tuple[Stage, ...]) -> None:
        if not stages:
            self.close()
            return
        now = self._clock()
        self._since = now if self._since is None else self._since
        last = self._since + _DELAY - _OFTEN if self._drawn is None else self._drawn
        if now - last >= _OFTEN:
            self._drawn = now
            self._write(self._line(stages, now - self._since).ljust(_LINE))

    def _line(self, stages: tuple[Stage, ...], elapsed: float) -> str:
        """The line of text: the outermost stage of several steps, and what is inside it."""
        main = next((stage for stage in stages if stage.total and stage.total > 1), stages[0])
        name = visible(main.name).replace("\n", " ")[:_WIDTH]
        inside = stages[-1]
        more = "" if inside is main else f" ({visible(str(inside))})"
        if not main.total:
            return f"{name}  {main.done:,}, {duration(elapsed)}{more}"[:_LINE]
        part = min(main.done / main.total, 1.0)
        full = int(_WIDTH * part)
        left = f", about {duration(elapsed / part - elapsed)} left" if 0 < part < 1 else ""
        bar = "#" * full + "." * (_WIDTH - full)
        counted = f"{main.done:,} of {main.total:,}, {duration(elapsed)}"
        text = f"{name}  {bar}  {counted}{left}"
        return (text if len(text + more) > _LINE else text + more)[:_LINE]

    def close(self) -> None:
        """Remove the line."""
        if self._drawn is not None:
            self._write(" " * _LINE + "\r")
        self._since = self._drawn = None

    def _write(self, text: str) -> None:
        screen = sys.stderr if self._screen is None else self._screen
        screen.write(f"\r{text}")
        screen.flush()
