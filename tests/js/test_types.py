"""The types of the browser half, by TypeScript, which ``make test-browser`` installs.

Without it these tests are skipped, or fail where services are required.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.js._node import HERE, MODULE, node

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


def test_types_check_and_the_declarations_are_those_of_the_source(
    compiler: Path, tmp_path: Path
) -> None:
    """Rejects: a declaration file that was not made anew after the module was changed."""
    node(str(compiler), "--project", str(HERE / "tsconfig.json"), "--outDir", str(tmp_path))
    made = (tmp_path / "warner.d.ts").read_text()
    stored = (MODULE / "warner.d.ts").read_text()
    remedy = f"{COMPILER} --project {HERE / 'tsconfig.json'} --outDir {MODULE}"
    assert made == stored, f"make it anew: {remedy}"


WRONG = """
import { readSurvey, seal } from "{module}";
const survey = await readSurvey("no bytes");
await seal(survey, { answers: ["yes"] });
survey.questions = [];
"""


def test_wrong_calls_are_type_errors(compiler: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.ts"
    wrong.write_text(WRONG.replace("{module}", (MODULE / "warner.js").as_posix()))
    options = ["--ignoreConfig", "--strict", "--noEmit", "--allowJs", "--target", "es2022"]
    libraries = ["--lib", "es2022,dom", "--module", "esnext", "--moduleResolution", "bundler"]
    with pytest.raises(AssertionError) as told:
        node(str(compiler), *options, *libraries, "--types", "", str(wrong))
    for code in ("TS2345", "TS2540"):  # an argument of another type; an entry that stays as it is
        assert code in str(told.value)
