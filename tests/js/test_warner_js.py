"""The browser half equals Python's reference bit for bit, and refuses what it must: node's own tests."""

from __future__ import annotations

import json
import re

import pytest

from tests.js._node import HERE, MODULE, node

FILES = sorted(path.name for path in HERE.glob("*.test.mjs"))


@pytest.mark.parametrize("file", FILES)
def test_node_passes(file: str) -> None:
    told = node("--test", "--test-reporter=tap", str(HERE / file))
    passed = re.search(r"^# pass (\d+)$", told, flags=re.M)
    assert passed is not None and int(passed[1]) >= 10, told


def test_the_package_is_of_the_files_that_it_names() -> None:
    package = json.loads((MODULE / "package.json").read_text())
    assert package["type"] == "module" and package["license"] == "Apache-2.0"
    assert "dependencies" not in package and "scripts" not in package
    stated = {package["types"], *package["exports"]["."].values()}
    assert stated == {"./warner.js", "./warner.d.ts"}
    assert {path.removeprefix("./") for path in stated} < set(package["files"])
    assert {path.name for path in MODULE.iterdir() if path.is_file()} == {
        "package.json",
        *package["files"],
    }


def test_the_module_loads_nothing() -> None:
    text = (MODULE / "warner.js").read_text()
    assert not re.search(r"^\s*import\b|\bimport\(|https?://", text, flags=re.M)
    assert max(map(len, text.splitlines())) <= 100
