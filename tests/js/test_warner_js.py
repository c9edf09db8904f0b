"""The browser half equals Python's reference bit for bit, and refuses what it must: node's own tests."""

from __future__ import annotations

import json
import re
import tomllib

import pytest

from tests.js._node import HERE, MODULE, node

FILES = sorted(path.name for path in HERE.glob("*.test.mjs"))
_LEAST = {"tokens.test.mjs": 2}  # tests of a file; 10 of the others


@pytest.mark.parametrize("file", FILES)
def test_node_passes(file: str) -> None:
    told = node("--test", "--test-reporter=tap", str(HERE / file))
    passed = re.search(r"^# pass (\d+)$", told, flags=re.M)
    written = len(re.findall(r"^test\(", (HERE / file).read_text(), flags=re.M))
    assert passed is not None and int(passed[1]) >= max(written, _LEAST.get(file, 10)), told


def test_the_package_has_the_version_of_the_project() -> None:
    package = json.loads((MODULE / "package.json").read_text())
    assert package["type"] == "module" and package["license"] == "Apache-2.0"
    project = tomllib.loads((HERE.parents[1] / "pyproject.toml").read_text())["project"]
    assert package["version"] == project["version"]


def test_the_module_loads_nothing() -> None:
    text = (MODULE / "warner.js").read_text()
    assert not re.search(r"^\s*import\b|\bimport\(|https?://", text, flags=re.M)
    sources = [path.read_text() for path in (MODULE / "modules").iterdir()]
    assert max(len(line) for source in sources for line in source.splitlines()) <= 100
