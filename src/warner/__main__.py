"""``python -m warner`` and ``warner`` are the command line."""

from __future__ import annotations

import atexit
import os
import sys
from typing import NoReturn


def run(name: str = "warner") -> None:
    """Run the command line; without its packages, say how to install them."""
    try:
        from warner._core.errors import MissingExtraError
        from warner._core.extras import imported

        try:
            for package in ("click", "rich"):
                imported(package, "the command line")
        except MissingExtraError as error:
            sys.exit(str(error))
        from warner.app.cli import main
    except KeyboardInterrupt:  # a command says it by warner.app.running, which is not there yet
        sys.stderr.write("Interrupted: no file was written.\n")
        sys.exit(130)
    try:
        main(prog_name=name)
    except SystemExit as end:
        _leave(end.code)


def _leave(code: str | int | None) -> NoReturn:
    """End the process at once, with the exit status of a SystemExit."""
    # While the interpreter takes itself apart, a thread of Arrow that still reads ahead, or lets go
    # of what it read, would abort the process: after a right message, and with another status.
    if isinstance(code, str):
        print(code, file=sys.stderr)
    status = code if isinstance(code, int) else int(code is not None)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):  # a full disk, or a stream that is closed
            status = status or 1
    os._exit(status)


if __name__ == "__main__":
    run("python -m warner")
