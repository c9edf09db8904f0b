"""The types of the browser half, by TypeScript from the npm registry.

TypeScript is installed into a folder that is not committed: by ``make test-browser``, and where
services are required. Without it these tests are skipped.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.js._node import HERE, MODULE, node

TYPESCRIPT = "typescript@7.0.2"
INSTALLED = HERE / ".npm"
COMPILER = INSTALLED / "node_modules" / "typescript" / "bin" / "tsc"


@pytest.fixture(scope="module")
def compiler() -> Path:
    """The path of tsc, installed where it has to be."""
    if not COMPILER.is_file() and os.environ.get("WARNER_REQUIRE_SERVICES") != "1":
        pytest.skip("TypeScript is not installed. Run: make test-browser")
    if not COMPILER.is_file():
        npm = shutil.which("npm")
        if npm is None:
            pytest.fail("npm is not installed. Install it: apt-get install npm")
        INSTALLED.mkdir(exist_ok=True)
        where = ["--prefix", str(INSTALLED), "--no-package-lock", "--no-fund", "--no-audit"]
        done = subprocess.run(
            [npm, "install", *where, TYPESCRIPT], capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stdout + done.stderr
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
