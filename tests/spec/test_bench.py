"""The benchmark runner runs every benchmark."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture
def runner() -> ModuleType:
    spec = importlib.util.spec_from_file_location("run_all", BENCH / "run_all.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_runner_names_every_benchmark_of_its_folder_and_no_other(runner: ModuleType) -> None:
    there = {
        path.stem
        for path in BENCH.glob("*.py")
        if not path.stem.startswith("_") and path.stem != "run_all"
    }
    assert not set(runner.SCRIPTS) & runner.ELSEWHERE
    assert set(runner.SCRIPTS) | runner.ELSEWHERE == there
    assert set(runner.SCRIPTS.values()) <= {runner.ONE, runner.ALL}


def test_every_benchmark_runs_when_it_is_called() -> None:
    for path in BENCH.glob("*.py"):
        if not path.stem.startswith("_"):
            assert '__name__ == "__main__"' in path.read_text(), path.name
