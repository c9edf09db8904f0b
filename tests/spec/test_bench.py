"""The benchmark runner runs every benchmark."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
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


def test_the_ten_lines_of_numpy_count_what_this_package_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rejects a comparison with a program that does other work, or whose client hides nothing."""
    monkeypatch.syspath_prepend(str(BENCH))
    side = importlib.import_module("side_by_side")
    for name, kind in side.KINDS.items():
        mechanism, rng = kind.make(16), np.random.default_rng(0)
        values = np.full(20_000, 0.2 if name == "square wave" else 3)
        tally = mechanism.tally(reports := mechanism.randomize(values, rng))
        if kind.hand.counts is not None:
            counts = kind.hand.counts(dict(reports.columns), mechanism)
            if counts.shape == tally.counts.shape:
                assert counts.tolist() == tally.counts.tolist(), name
            else:  # tallies of whole reports hold more
                assert np.argmax(counts) == 3, name
        if kind.hand.client is not None:
            made = kind.hand.client(values, mechanism, rng)
            first = made[-1] if isinstance(made, tuple) else made
            assert len(first) == len(values) and len(np.unique(first, axis=0)) > 1


def test_the_table_has_slopes_and_claims_of_its_rows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(BENCH))
    side = importlib.import_module("side_by_side")

    def row(work: str, n: int, **seconds: float) -> Any:
        return side.Row(work, "k-RR", n, 256, {"warner": n * 1e-8, **seconds})

    rows = [
        row("client", 10**4, floor=1e-4),
        row("client", 10**6, floor=5e-3, NumPy=0.02, seeded=0.03),
        row("tally", 10**6, floor=1e-2),
    ]
    assert side.slope("client", "k-RR", rows, "n").endswith("10,000 to 1,000,000: 1.00")
    assert side.slope("client", "k-RR", rows, "size") is None
    side.claims(rows)
    claims = capsys.readouterr().out.splitlines()
    assert ["holds" in claim for claim in claims] == [True, False, True]
    assert "-" in side.line(rows[0]) and len(side.heading()) == len(side.line(rows[0]))
