"""How a command runs: signals that stop it, and code from outside the package.

Code runs only where the person at the command line names it, or has installed a package that
declares it. Study files, report files and tally files load nothing.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import signal
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType

from warner._core.atomic_files import Written, recorded, remove_unfinished
from warner._core.errors import ArgumentError
from warner.app.terminal import note

_CTRL_C = 130  # exit status: 128 and the number of the signal


class Interrupted(KeyboardInterrupt):
    """Ctrl-C in a command that knows better than the record of files what stands."""


class Signals:
    """What signals asked for."""

    # Code of other packages in C can swallow the exception of a signal, so a command asks again
    # after each step of its work.

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
    """Turn Ctrl-C within the block into a line on standard error and exit status 130."""
    # SIGTERM, and SIGHUP of a terminal that is closed, end the block too, without a line.
    signals = Signals()
    with recorded() as written, _handled(signals):
        try:
            yield signals
        except KeyboardInterrupt as stop:
            with _deaf():
                remove_unfinished()
                knows = isinstance(stop, Interrupted)
                text = str(stop) if knows else _what_stands(written)
                note(f"Interrupted: {text}.")
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


# -----------------------------------------------------------------------------------------------
# Code from outside the package: files and modules that are named, and entry points.


GROUP = "warner"  # of entry points


@cache
def declared() -> tuple[EntryPoint, ...]:
    """The entry points of all installed packages, which are read once."""
    return tuple(entry_points(group=GROUP))


def load_all(names: Iterable[str]) -> None:
    """Import the entry points of the group ``warner``, then the named files and modules."""
    for point in declared():
        try:
            point.load()
        except Exception as problem:
            # It may belong to a package that this command does not need.
            text = (
                f"the extension {point.name!r} of an installed package cannot be loaded, and the "
                f"command goes on without it: {_reason(problem)}"
            )
            note(f"Warning: {text}")
    for name in names:
        load(name)


def load(name: str) -> ModuleType:
    """Import a file or a module, which registers its mechanisms and estimators."""
    try:
        return _file(Path(name)) if name.endswith(".py") else importlib.import_module(name)
    except Exception as problem:
        reason = _reason(problem)
    near = Path(f"{name}.py")
    remedy = f"Did you mean the file {near}?" if near.is_file() else None
    raise ArgumentError(f"--load {name}", "cannot be imported", reason, remedy)


def _file(path: Path) -> ModuleType:
    """The module of a file, imported once."""
    real_path = path.resolve()
    for loaded in list(sys.modules.values()):
        if getattr(loaded, "__file__", None) == str(real_path):
            return loaded
    if not real_path.is_file():
        raise FileNotFoundError("there is no such file")
    # A name of its own, so that no module of the same name is hidden.
    name = (
        real_path.stem if real_path.stem not in sys.modules else f"warner_loaded_{real_path.stem}"
    )
    spec = importlib.util.spec_from_file_location(name, real_path)
    if spec is None or spec.loader is None:
        raise ImportError("not a Python file")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(real_path.parent))  # as python does, for modules beside the file
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name], sys.path[0]
        raise
    return module


def _reason(problem: Exception) -> str:
    """The kind of a problem, its text, and the last line of code outside this package."""
    text = f"{type(problem).__name__}: {problem}"
    lines, at = [], problem.__traceback__
    while at is not None:
        lines.append((at.tb_frame.f_code.co_filename, at.tb_lineno))
        at = at.tb_next
    # Neither of this package nor of the import system.
    here = str(Path(__file__).parents[1])
    outside = [
        f"{Path(file).name}, line {line}"
        for file, line in lines
        if file.endswith(".py") and not file.startswith(here) and "importlib" not in file
    ]
    return f"{text} ({outside[-1]})" if outside else text
