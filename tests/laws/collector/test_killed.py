"""Collectors that are killed, or whose disk is full, lose nothing they have answered, and count
nothing twice.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.laws.collector._killed import BODIES, PEOPLE
from tests.services import postgres_address

ROUNDS = 6
ROOT = Path(__file__).parents[3]


def run(program: str, *arguments: str) -> list[Any]:
    """What a program beside this file prints, as JSON data of each line."""
    done = subprocess.run(
        [sys.executable, "-m", f"tests.laws.collector.{program}", *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def killed(address: str, seed: int = 7, times: int = ROUNDS) -> None:
    """Kill collectors of a store, and compare the counts with the replies of each round."""
    rounds = run("_killed", address, str(seed), str(times))
    assert len(rounds) == times
    assert {found["how"] for found in rounds} == {"after", "inside", "any time"}
    unanswered = 0
    for found in rounds:
        assert found["signal"] == 9
        before = Counter({int(v): n for ward in found["before"].values() for v, n in ward.items()})
        after = Counter({int(v): n for ward in found["after"].values() for v, n in ward.items()})
        assert set(before.values()) <= {1}  # nothing twice
        assert set(before) >= set(found["replied"])  # nothing answered is lost
        assert len(before) % PEOPLE == 0  # bodies are counted whole
        unanswered += len(before) - len(found["replied"])
        assert after == Counter(range(found["people"]))
    # Between a commit and its reply, one body is counted whose people do not know.
    assert unanswered >= PEOPLE * times // 3
    assert any(len(found["replied"]) < found["people"] for found in rounds)
    assert BODIES > 1


def test_killed_with_sqlite(tmp_path: Path) -> None:
    killed(str(tmp_path / "survey.db"))


def test_killed_with_postgresql() -> None:
    killed(postgres_address())


def test_two_processes_count_once_while_one_of_them_is_killed() -> None:
    rounds = run("_together", postgres_address(), "5", "6")
    for found in rounds:
        before = Counter({int(v): n for ward in found["before"].values() for v, n in ward.items()})
        after = Counter({int(v): n for ward in found["after"].values() for v, n in ward.items()})
        assert set(before.values()) <= {1}  # nothing twice
        assert set(before) >= set(found["replied"])  # nothing answered is lost
        assert found["new"] <= len(after)
        assert after == Counter(range(found["people"]))
    assert rounds[-1]["new"] > 0


def test_files_that_cannot_grow_refuse_and_lose_nothing(tmp_path: Path) -> None:
    (errors,) = run("_full_disk", str(tmp_path / "s.db"), "limit")
    assert len(errors) >= 3
    assert set(errors) <= {"store_full", "store_failed"}


def test_a_small_disk_that_was_full_takes_reports_again(tmp_path: Path) -> None:
    """Rejects a store whose log takes the space that it needs to be emptied: of the 300 kB the
    counts need 40.
    """
    (errors,) = run("_full_disk", str(tmp_path / "s.db"), "counted")
    assert len(errors) >= 9
    assert set(errors) == {"store_full"}


def test_a_small_file_system_that_was_full_takes_reports_again(tmp_path: Path) -> None:
    mounting = ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(tmp_path)]
    if not shutil.which("mount") or subprocess.run(mounting, capture_output=True).returncode:
        pytest.skip("needs a system that lets this user mount a small file system")
    try:
        (errors,) = run("_full_disk", str(tmp_path / "s.db"), "mounted")
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)
    assert len(errors) >= 9
    assert set(errors) == {"store_full"}
