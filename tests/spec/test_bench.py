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


def test_the_digest_of_code_changes_with_constants_and_not_with_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A constant of a module that is imported counts; comments and docstrings do not, nor does what
    is imported from other rooms.
    """
    monkeypatch.syspath_prepend(str(BENCH))
    measure = importlib.import_module("_measure")
    monkeypatch.setattr(measure, "SRC", tmp_path)

    def digest(**texts: str) -> str:
        for name, text in texts.items():
            path = tmp_path / "warner" / name.replace("_", "/", 1)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.with_suffix(".py").write_text(text)
        measure._parsed.cache_clear()
        return str(measure.code_of("warner.estimators.one", rooms=("estimators",)))

    first = digest(
        estimators_one='"""One."""\nfrom warner.estimators.two import A\nfrom warner.io import b\n',
        estimators_two="A = 1\n",
        io_b="B = 1\n",
    )
    assert digest(estimators_one=(tmp_path / "warner/estimators/one.py").read_text()) == first
    assert digest(estimators_two='"""Two."""\nA = 1  # the first\n') == first
    assert digest(io_b="B = 2\n") == first
    assert digest(estimators_two="A = 2\n") != first


def test_cells_are_resumed_and_done_again_where_what_made_them_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(BENCH))
    resume = importlib.import_module("_measure").resume
    file, done, version = tmp_path / "lines.jsonl", [], {"a": "1", "b": "1"}

    def work(name: str, n: int) -> dict[str, int] | None:
        done.append((name, n))
        return None if name == "missing" else {"twice": 2 * n}

    cells = [("a", 1), ("b", 2), ("missing", 3)]
    assert [line["twice"] for line in resume(file, cells, work)] == [2, 4]
    assert len(resume(file, cells[:2], work)) == 2 and len(done) == 3

    made_of = lambda name, n: version[name]
    resume(file, cells[:2], work, made_of)
    assert done[3:] == cells[:2]
    version["b"] = "2"
    lines = resume(file, cells[:2], work, made_of)
    assert done[5:] == [("b", 2)] and [line["of"] for line in lines] == ["1", "2"]
    assert len(file.read_text().splitlines()) == 2


def test_every_benchmark_runs_when_it_is_called() -> None:
    for path in BENCH.glob("*.py"):
        if not path.stem.startswith("_"):
            assert '__name__ == "__main__"' in path.read_text(), path.name
