"""The types of the browser half, by TypeScript, which ``make test-browser`` installs.

Without it these tests are skipped, or fail where services are required.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.js._node import HERE, node

COMPILER = HERE.parent / "browser" / "node_modules" / "typescript" / "bin" / "tsc"
_MISSING = "TypeScript is not installed. Run: make test-browser"


@pytest.fixture(scope="module")
def compiler() -> Path:
    """The path of tsc."""
    if not COMPILER.is_file() and os.environ.get("WARNER_REQUIRE_SERVICES") == "1":
        pytest.fail(_MISSING)
    if not COMPILER.is_file():
        pytest.skip(_MISSING)
    return COMPILER


def test_the_types_of_the_modules_fit(compiler: Path) -> None:
    node(str(compiler), "--project", str(HERE / "tsconfig.json"))
