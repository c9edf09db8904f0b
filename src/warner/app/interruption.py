"""Commands that are stopped: one line on what stands, and no temporary files."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator

import click

from warner._core.atomic_files import Written, recorded, remove_unfinished
from warner._core.text import visible

_CTRL_C = 130  # exit status: 128 and the number of the signal


class Interrupted(KeyboardInterrupt):
    """Ctrl-C in a command that knows better than the record of files what stands."""


class Signals:
    """What signals asked for.

    Code of other packages that runs in C can swallow the exception of a signal. So a command asks
    again after each step of its work.
    """

    def __init__(self) -> None:
        self._stop: KeyboardInterrupt | SystemExit | None = None

    def heard(self, number: int, frame: object) -> None:
        """Handle a signal: Ctrl-C as Python does, others as an end of the process."""
        stop = KeyboardInterrupt() if number == signal.SIGINT else SystemExit(128 + number)
        self._stop = stop
        raise stop

    def stop_if_asked(self) -> None:
        """Raise the exception of a signal that was heard, unless another one is on its way."""
        if self._stop is not None and sys.exc_info()[0] is None:
            raise self._stop


@contextlib.contextmanager
def stopped_cleanly() -> Iterator[Signals]:
    """Turn Ctrl-C within the block into one line on standard error and exit status 130.

    SIGTERM, and SIGHUP of a terminal that is closed, end the block too, without a line.
    """
    signals = Signals()
    with recorded() as written, _handled(signals):
        try:
            yield signals
        except KeyboardInterrupt as stop:
            with _deaf():
                remove_unfinished()
                knows = isinstance(stop, Interrupted)
                text = str(stop) if knows else _what_stands(written)
                click.echo(visible(f"Interrupted: {text}."), err=True)
                raise SystemExit(_CTRL_C) from None


@contextlib.contextmanager
def _handled(signals: Signals) -> Iterator[None]:
    """Handle signals within the block. One that is ignored, as nohup does, stays ignored."""
    usual = {"SIGINT": signal.default_int_handler, "SIGTERM": signal.SIG_DFL}
    usual["SIGHUP"] = signal.SIG_DFL
    before = {}
    for name, handler in usual.items():
        number = getattr(signal, name, None)  # not every system has SIGHUP
        if number is not None and signal.getsignal(number) == handler:
            with contextlib.suppress(ValueError):  # only the main thread can receive signals
                before[number] = signal.signal(number, signals.heard)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _deaf() -> Iterator[None]:
    """Ignore further Ctrl-C, which would stop the removal of files."""
    try:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    except ValueError:  # not the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _what_stands(written: Written) -> str:
    """What became of the files of a command, in words.

    >>> _what_stands(Written())
    'no file was written'
    >>> _what_stands(Written(["a.json"], ["b.csv"]))
    'a.json was written, and b.csv was not'
    """
    whole, stopped = (list(dict.fromkeys(names)) for names in (written.whole, written.stopped))
    if not whole:
        return f"{_were(stopped)} not written" if stopped else "no file was written"
    if not stopped:
        return f"{_were(whole)} written, and nothing else"
    verb = "was" if len(stopped) == 1 else "were"
    return f"{_were(whole)} written, and {', '.join(stopped)} {verb} not"


def _were(names: list[str]) -> str:
    return f"{', '.join(names)} {'was' if len(names) == 1 else 'were'}"
