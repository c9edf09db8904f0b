"""In the kernels that run the pages: commands of ``warner``, and charts as pictures.

A cell whose first line is ``%%console`` holds commands, one a line. Those of ``warner`` run in this
process, because starting Python for each would take most of the build's time.
"""

from __future__ import annotations

import builtins
import contextlib
import math
import shlex
import subprocess
from collections.abc import Iterator
from typing import Any

from click.testing import CliRunner


@contextlib.contextmanager
def _terminal() -> Iterator[None]:
    """Print as on a terminal that is never slow.

    In a kernel tables would become HTML, and lines on progress depend on the machine.
    """
    from warner._core import progress

    long, progress._LONG = progress._LONG, math.inf
    shell = builtins.__dict__.pop("get_ipython", None)
    try:
        yield
    finally:
        progress._LONG = long
        if shell is not None:
            builtins.get_ipython = shell


def _run(command: str) -> tuple[str, int]:
    words = shlex.split(command)
    if words[0] == "warner":
        from warner.app.cli import main

        with _terminal():
            done = CliRunner().invoke(main, words[1:])
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done.output, done.exit_code
    shell = subprocess.run(
        command, shell=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    return shell.stdout, shell.returncode


def console(line: str, cell: str) -> None:
    """Run the commands of a cell, and print what they print.

    Args:
        line: ``fails`` where the last command must end with an error; else empty.
        cell: one command a line; a line that ends with a backslash goes on.

    Raises:
        RuntimeError: a command that failed, or one that should have.
    """
    commands = [c for c in cell.replace("\\\n", " ").splitlines() if c.strip()]
    for number, command in enumerate(commands, start=1):
        output, status = _run(command)
        print("\n".join(part.rstrip() for part in output.strip("\n").splitlines()))
        should_fail = line.strip() == "fails" and number == len(commands)
        if (status != 0) != should_fail:
            raise RuntimeError(f"{command}: ended with exit status {status}")


def _picture(chart: Any, **_: Any) -> tuple[dict[str, str], dict[str, str]]:
    """A chart as SVG. Its own form for notebooks would load scripts from other hosts."""
    import vl_convert

    return {"image/svg+xml": vl_convert.vegalite_to_svg(chart.to_dict())}, {}


def load_ipython_extension(shell: Any) -> None:
    shell.register_magic_function(console, magic_kind="cell")
    bundles = shell.display_formatter.mimebundle_formatter
    bundles.for_type_by_name("altair.vegalite.v6.api", "TopLevelMixin", _picture)
