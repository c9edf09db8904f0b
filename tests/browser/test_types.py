"""The scripts of the survey page have types that are checked."""

from __future__ import annotations

from pathlib import Path

from tests.js._node import node

HERE = Path(__file__).parent


def test_the_scripts_of_the_page_have_types_that_fit() -> None:
    compiler = HERE / "node_modules" / "typescript" / "bin" / "tsc"
    assert compiler.is_file(), "TypeScript is not installed. Run: make test-browser"
    node(str(compiler), "--project", str(HERE / "tsconfig.json"))
