"""Code from outside the package for the command line: what is named, and entry points.

Code runs only where the person at the command line names it, or has installed a package that
declares it. Study files, report files and tally files load nothing.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType

import click

from warner._core.errors import ArgumentError

GROUP = "warner"  # of entry points


@cache
def declared() -> tuple[EntryPoint, ...]:
    """The entry points of all installed packages, which are read once."""
    return tuple(entry_points(group=GROUP))


def load_all(names: Iterable[str]) -> None:
    """Import the entry points of the group ``warner``, then the files and modules that are named.

    An entry point that fails is left out with a line on standard error: it may belong to a package
    that this command does not need.
    """
    for point in declared():
        try:
            point.load()
        except Exception as problem:
            text = f"the entry point {point.name!r} is left out: {_reason(problem)}"
            click.echo(f"Warning: {text}", err=True)
    for name in names:
        load(name)


def load(name: str) -> ModuleType:
    """Import a file or a module, which registers its mechanisms and estimators."""
    try:
        return _file(Path(name)) if name.endswith(".py") else importlib.import_module(name)
    except Exception as problem:
        reason = _reason(problem)
    near = Path(f"{name}.py")
    remedy = f"Is the file {near} meant?" if near.is_file() else None
    raise ArgumentError(f"--load {name}", "cannot be imported", reason, remedy)


def _file(path: Path) -> ModuleType:
    """The module of a file, imported once."""
    place = path.resolve()
    for known in list(sys.modules.values()):
        if getattr(known, "__file__", None) == str(place):
            return known
    if not place.is_file():
        raise FileNotFoundError("there is no such file")
    # A name of its own, so that no module of the same name is hidden.
    name = place.stem if place.stem not in sys.modules else f"warner_loaded_{place.stem}"
    spec = importlib.util.spec_from_file_location(name, place)
    if spec is None or spec.loader is None:
        raise ImportError("not a file of Python")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _reason(problem: Exception) -> str:
    """The kind of a problem, its text, and the last line of code outside this package."""
    text = f"{type(problem).__name__}: {problem}"
    lines, at = [], problem.__traceback__
    while at is not None:
        lines.append((at.tb_frame.f_code.co_filename, at.tb_lineno))
        at = at.tb_next
    own = [f"{Path(file).name}, line {line}" for file, line in lines if _is_outside(file)]
    return f"{text} ({own[-1]})" if own else text


def _is_outside(file: str) -> bool:
    """Whether a line of code belongs neither to this package nor to the import system."""
    here = str(Path(__file__).parents[1])
    return file.endswith(".py") and not file.startswith(here) and "importlib" not in file
