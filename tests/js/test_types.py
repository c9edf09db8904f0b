"""The types of the browser half, by TypeScript from the npm registry.

``make test-browser`` installs TypeScript into a folder that is not committed. Without it these tests
are skipped, or fail where services are required.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.js._node import HERE, MODULE, node

INSTALLED = HERE / ".npm"  # what is made here is not committed
PACKAGES = HERE.parent / "browser" / "node_modules"
COMPILER = PACKAGES / "typescript" / "bin" / "tsc"


@pytest.fixture(scope="module")
def compiler() -> Path:
    """The path of tsc."""
    if not COMPILER.is_file():
        remedy = "TypeScript is not installed. Run: make test-browser"
        if os.environ.get("WARNER_REQUIRE_SERVICES") == "1":
            pytest.fail(remedy)
        pytest.skip(remedy)
    return COMPILER


def test_types_check_and_the_declarations_are_those_of_the_source(compiler: Path) -> None:
    """Rejects: a declaration file that was not made anew after the module was changed."""
    node(str(compiler), "--project", str(HERE / "tsconfig.json"))
    made = (INSTALLED / "types" / "warner.d.ts").read_text()
    stored = (MODULE / "warner.d.ts").read_text()
    assert made == stored, f"copy {INSTALLED / 'types' / 'warner.d.ts'} over {MODULE}"


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
