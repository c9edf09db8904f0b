"""The command line as a test calls it, and a study."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from warner.app.cli import main

STUDY = """
title = "test"
budget = 3.0
[attributes.smokes]
values = ["no", "yes"]
mechanism = "RandomizedResponse"
epsilon = 1.0
[attributes.age]
integers = [0, 9]
mechanism = "UnaryEncoding"
variant = "oue"
epsilon = 1.5
"""


SECRET = "secret-7391"


def run(*args: str, text: str | None = None, ok: bool = True) -> Result:
    result = CliRunner().invoke(main, list(args), input=text)
    assert (result.exit_code == 0) is ok, result.output + str(result.exception)
    assert ok or result.exception is None or isinstance(result.exception, SystemExit), (
        result.exception
    )
    assert "Traceback" not in result.output
    return result


def whatever_file(path: str) -> dict[str, Any]:
    """What a tally file says, but for the fingerprints of the files that were counted."""
    data: dict[str, Any] = json.loads(Path(path).read_text())
    return {key: value for key, value in data.items() if key not in ("files", "sha256")}


UTILITY = """
[attributes.place]
values = ["clinic", "park", "school", "shop"]
mechanism = "UtilityOptimizedRR"
sensitive = ["clinic"]
tags = ["home"]
epsilon = 2.0
"""
