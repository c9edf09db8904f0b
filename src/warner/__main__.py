"""``python -m warner`` and ``warner`` are the command line."""

from __future__ import annotations

import sys

from warner._core.errors import MissingExtraError
from warner._core.extras import imported


def run(name: str = "warner") -> None:
    """Run the command line; without its packages, say how to install them."""
    try:
        for package in ("click", "rich"):
            imported(package, "the command line")
    except MissingExtraError as error:
        sys.exit(str(error))
    from warner.app.cli import main

    main(prog_name=name)


if __name__ == "__main__":
    run("python -m warner")
