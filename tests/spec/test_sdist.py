"""The source distribution: what a release is made of, with tests that can be run from it."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = (".ci", "bench", "docs", "src", "tests")
MADE = {"__pycache__", "_build", "node_modules", "out", ".venv"}  # by running what stands there


def test_the_tests_can_be_collected_from_the_source_distribution(tmp_path: Path) -> None:
    """Rejects a distribution without the pages and examples that its tests read."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(tmp_path, filter="data")
    (unpacked,) = (path for path in tmp_path.iterdir() if path.is_dir())
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            inside = path.relative_to(ROOT)
            if path.is_file() and not MADE & set(inside.parts):
                assert (unpacked / inside).is_file(), inside
    tests = ["tests/docs", "tests/spec/test_house.py"]
    collect = [sys.executable, "-m", "pytest", "--collect-only", "-p", "no:cacheprovider", *tests]
    collect.append("--assert=plain")  # nothing is asserted, and nothing is compiled twice
    own = {"PYTHONPATH": str(unpacked / "src"), "PYTEST_ADDOPTS": ""}
    done = subprocess.run(
        collect, cwd=unpacked, env={**os.environ, **own}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
