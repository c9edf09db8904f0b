"""Running node: where it is missing a test is skipped, or fails where services are required."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
MODULE = HERE.parents[1] / "src" / "warner" / "browser"
VECTORS = HERE.parent / "vectors"
_MISSING = "node is not installed. Install it: apt-get install nodejs"


def node(*arguments: str, text: str | None = None, timeout: float = 120) -> str:
    """What node prints.

    Args:
        arguments: of node.
        text: its standard input.
        timeout: in seconds.
    """
    found = shutil.which("node")
    if found is None and os.environ.get("WARNER_REQUIRE_SERVICES") == "1":
        pytest.fail(_MISSING)
    if found is None:
        pytest.skip(_MISSING)
    done = subprocess.run(
        [found, *arguments], input=text, capture_output=True, text=True, timeout=timeout
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
