"""What a report file says besides the reports: nothing but their number and the study."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import warner
from tests.attack.metamorphic import besides_reports
from tests.spec.io._people import COIN, LONG, ONE, STUDY, N, _sorted_people, run
from warner import Study
from warner._core import randomness, sampling
from warner._core.atomic_files import write_whole
from warner._core.progress import Stage
from warner._core.sampling import Shuffle, Source, rows_at_a_time
from warner.io import (
    ReportWriter,
    csv_format,
    read_answers,
    read_reports,
    read_values,
    report_writer,
    tally_file,
    write_reports,
)
from warner.reports.reports import Reports


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY)
    Path("one.toml").write_text(ONE)
    return tmp_path


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few thousand people are as many for this program as some millions for the real one."""
    monkeypatch.setattr(csv_format, "_ANSWER_BLOCK", 2**14)
    monkeypatch.setattr(read_answers, "ROWS_PER_BATCH", 1000)
    monkeypatch.setattr(report_writer, "_ROW_GROUP", 700)
    monkeypatch.setattr(sampling, "_SHUFFLED", 1500)
    monkeypatch.setattr(sampling, "_PERMUTED", 300)


def _raw_files() -> list[str]:
    """Files of equal n with other answers, widths, columns, orders of columns and line ends."""
    rows = {
        "short.csv": [("no", 7)] * N,
        "long.csv": [(LONG, 12)] * N,
        "sorted.csv": [("no", 5)] * (N // 3) + [(LONG, 99)] * (N - N // 3),
    }
    for name, people in rows.items():
        Path(name).write_text("smokes,age\n" + "".join(f'"{s}",{a}\n' for s, a in people))
    Path("wide.csv").write_bytes(
        b"age,name,smokes\r\n"
        + b"".join(b'%d,%s,"no"\r\n' % (i % 100, b"x" * (i % 200)) for i in range(N))
    )
    table = pa.table({"other": [b"y" * 50] * N, "age": [3] * N, "smokes": ["no"] * N})
    pq.write_table(table, "raw.parquet", row_group_size=321)
    return [*rows, "wide.csv", "raw.parquet"]


@pytest.mark.parametrize("order", [(), ("--keep-order",)])
@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_all_but_the_reports_is_the_same_whatever_the_answers(
    here: Path, small: None, monkeypatch: pytest.MonkeyPatch, suffix: str, order: tuple[str, ...]
) -> None:
    """With the same random words: the file but for the reports, temporary files and progress at
    every step.

    Rejects a program that writes a row group, or anything else, for every block of the raw file.
    """
    seen = []
    for raw in _raw_files():
        words = np.random.default_rng(7)
        monkeypatch.setattr(randomness, "system_bytes", lambda n, words=words: words.bytes(n))
        steps: list[Any] = []
        stored: list[tuple[int, int]] = []

        class Watched(Shuffle):
            def _store(self, rows: np.ndarray, stored: list[tuple[int, int]] = stored) -> None:
                super()._store(rows)
                assert self._file is not None
                stored.append((len(rows), self._file.tell()))

        class Watcher:
            def __call__(self, stages: tuple[Stage, ...], steps: list[Any] = steps) -> None:
                for stage in stages:
                    # Later the temporary file grows by reports, whose texts have lengths.
                    is_early = stage.name == "randomising"
                    hidden = [p for p in here.iterdir() if is_early and p.name.startswith(".")]
                    sizes = [p.stat().st_size for p in hidden]
                    steps.append((stage.name, stage.done, sizes))

            def close(self) -> None:
                pass

        monkeypatch.setattr(report_writer, "Shuffle", Watched)
        monkeypatch.setattr("warner.app.terminal.Lines", Watcher)
        for name in (f"r.{suffix}", "study.ledger"):
            Path(name).unlink(missing_ok=True)
        said = run("randomize", "study.toml", raw, "-o", f"r.{suffix}", *order)
        if order and suffix == "csv":
            # The text of a row group of reports has a length of its own.
            steps = [(name, done, len(sizes)) for name, done, sizes in steps]
        elif order:
            steps = [(name, done, [size > 4 for size in sizes]) for name, done, sizes in steps]
        seen.append((besides_reports(f"r.{suffix}"), steps, stored, said.output))
    assert all(data == seen[0] for data in seen)
    randomised = [done for name, done, _ in seen[0][1] if name == "randomising"]
    assert randomised == [0, 1000, 2000, 3000, 4000, 5000]
    if suffix == "parquet":
        assert seen[0][0][3] == [700] * 7 + [100]
    if not order:
        assert [rows for rows, _ in seen[0][2]] == [1500, 1500, 1500, 500]
    assert sum(tally_file(f"r.{suffix}")["smokes"].counts) == N


@pytest.mark.parametrize("order", [(), ("--keep-order",)])
@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_files_of_equal_reports_are_equal_whatever_the_answers(
    here: Path, small: None, monkeypatch: pytest.MonkeyPatch, suffix: str, order: tuple[str, ...]
) -> None:
    """Reports of row i are a function of i alone here, so that every byte of the file must be."""

    done = 0

    def forced(self: Study, batch: Mapping[str, Any], source: Source) -> dict[str, Reports]:
        nonlocal done
        n = len(batch["age"])
        rows = np.arange(done, done + n)
        done += n
        bits = (rows[:, None] * np.arange(1, 101) % 7 == 0).astype(np.uint8)
        outputs = {"smokes": rows % 2, "age": bits}
        return {name: m.reports(outputs[name]) for name, m in self.mechanisms.items()}

    monkeypatch.setattr(Study, "randomize_encoded", forced)
    written = []
    for raw in _raw_files():
        done, words = 0, np.random.default_rng(7)
        monkeypatch.setattr(randomness, "system_bytes", lambda n, words=words: words.bytes(n))
        run("randomize", "study.toml", raw, "-o", f"r.{suffix}", *order)
        written.append(Path(f"r.{suffix}").read_bytes())
        Path(f"r.{suffix}").unlink()
    assert all(data == written[0] for data in written)


def test_batches_have_a_size_that_the_study_alone_gives(
    here: Path, small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    _raw_files()
    for raw in ("short.csv", "long.csv", "wide.csv", "raw.parquet"):
        sizes = [
            len(batch["age"]) for batch in read_values(raw, Study.load("study.toml").mechanisms)
        ]
        assert sizes == [1000] * 5
    monkeypatch.setattr(sampling, "_BYTES", 14 * 300)  # a report has 1 + 13 bytes
    sizes = [
        len(batch["age"]) for batch in read_values("long.csv", Study.load("study.toml").mechanisms)
    ]
    assert sizes == [300] * 16 + [200]
    assert rows_at_a_time(14, 10**6) == 300 and rows_at_a_time(10**9, 10**6) == 1


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
@pytest.mark.parametrize("rows", [300, 2**21])
def test_people_are_written_in_random_order_each_with_all_her_reports(
    here: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, rows: int
) -> None:
    monkeypatch.setattr(sampling, "_SHUFFLED", rows)
    path, people = f"r.{suffix}", _sorted_people()
    mechanisms = open_mechanisms(people)
    write_reports(people, path)
    first = read_reports(path)["a"].columns["report"]
    Path(path).unlink()
    with ReportWriter(path, mechanisms) as writer:
        for start in range(0, 2000, 77):
            writer.write({name: r[start : start + 77] for name, r in people.items()})
    a, b = (read_reports(path)[name].columns["report"] for name in ("a", "b"))
    assert (a == b).all() and sorted(a.tolist()) == list(range(2000)) == sorted(first.tolist())
    for order in (a, first):
        # In a random order half of all neighbours ascend, give or take 13 (one standard deviation).
        assert abs(int((np.diff(order.astype(int)) > 0).sum()) - 1000) < 100
    assert (a != first).any()
    write_reports(people, f"kept.{suffix}", keep_order=True)
    assert read_reports(f"kept.{suffix}")["a"].columns["report"].tolist() == list(range(2000))


def open_mechanisms(people: dict[str, Reports]) -> dict[str, warner.mechanisms.Mechanism]:
    return {
        name: warner.RandomizedResponse(warner.Integers(0, 1999), float("inf")) for name in people
    }


def test_saved_reports_are_in_random_order_unless_asked(here: Path) -> None:
    reports = _sorted_people()["a"]
    reports.save("r.warner")
    for copy in (Reports.load("r.warner"), Reports.from_bytes(reports.to_bytes())):
        order = copy.columns["report"].astype(int)
        assert sorted(order.tolist()) == list(range(2000))
        assert abs(int((np.diff(order) > 0).sum()) - 1000) < 100
    reports.save("kept.warner", keep_order=True)
    assert Reports.load("kept.warner").columns["report"].tolist() == list(range(2000))


def test_the_command_line_keeps_the_order_only_where_asked(here: Path) -> None:
    text = "q\n" + "no\n" * 1000 + "yes\n" * 1000
    Path("a.csv").write_text(text)
    kept = run("randomize", "one.toml", "a.csv", "--keep-order").stdout.splitlines()[2:-1]
    drawn = run("randomize", "one.toml", "a.csv", "--again").stdout.splitlines()[2:-1]
    assert kept == ["1"] * 1000 + ["2"] * 1000 and sorted(drawn) == kept
    assert 350 < drawn[:1000].count("1") < 650
    again = [run("randomize", "one.toml", "a.csv", "--seed", "3").stdout for _ in range(2)]
    assert again[0] == again[1]
    assert "who answered what" in run("randomize", "--help").stdout


def test_an_error_leaves_no_temporary_file(here: Path, small: None) -> None:
    before = sorted(p.name for p in here.iterdir())
    text = "q\n" + "no\n" * 4000 + "other\n"
    for output in ("r.parquet", "r.csv"):
        assert (
            "data row 4001"
            in run("randomize", "one.toml", "-o", output, text=text, ok=False).stderr
        )
    assert sorted(p.name for p in here.iterdir()) == before


def test_content_reaches_the_disk_before_the_name_does(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def kind(handle: int) -> str:
        return "folder" if os.path.samestat(os.fstat(handle), os.stat(here)) else "file"

    synced, replaced, linked = os.fsync, os.replace, os.link
    monkeypatch.setattr(os, "fsync", lambda handle: (done.append(kind(handle)), synced(handle)))
    monkeypatch.setattr(os, "replace", lambda a, b: (done.append("rename"), replaced(a, b)))
    monkeypatch.setattr(os, "link", lambda a, b: (done.append("rename"), linked(a, b)))
    write_whole("x", b"content")
    write_reports(COIN.randomize([0, 1]), "r.parquet")
    assert done == ["file", "rename", "folder"] * 2


def test_a_writer_that_took_in_a_part_of_a_batch_writes_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that catches Ctrl-C and goes on loses no report silently."""

    def stop(self: Shuffle, rows: np.ndarray) -> None:
        raise KeyboardInterrupt

    reports = {"coin": COIN.randomize([0, 1] * 5)}
    path = tmp_path / "r.csv"
    with (
        pytest.raises(warner.errors.ReportError, match="was interrupted while writing"),
        ReportWriter(str(path), {"coin": COIN}) as writer,
    ):
        writer.write(reports)
        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr(Shuffle, "add", stop)
            writer.write(reports)
        with pytest.raises(warner.errors.ReportError):
            writer.write(reports)
    assert list(tmp_path.iterdir()) == []


def test_reports_of_too_many_columns_are_refused_before_anything_is_made(here: Path) -> None:
    """Rejects a writer that names millions of columns, for minutes and gigabytes."""
    long = warner.UnaryEncoding(warner.Integers(0, 2**26 - 1), 1.0)
    for name in ("a.csv", "a.parquet"):
        with pytest.raises(warner.errors.ArgumentError, match=r"65,536 columns.*got 8,388,608"):
            ReportWriter(name, {"a": long})
        assert not (here / name).exists()


def test_reports_never_replace_a_file(here: Path) -> None:
    Path("a.csv").write_text("q\n" + "no\nyes\n" * 50)
    reports = COIN.randomize([0, 1])
    for name in ("r.parquet", "r.csv", "r.warner"):
        Path(name).write_bytes(b"old")
        with pytest.raises(warner.errors.FileError, match=r"already exists.*another"):
            if name == "r.warner":
                reports.save(name)
            else:
                write_reports(reports, name)
        if name != "r.warner":
            said = run("randomize", "one.toml", "a.csv", "-o", name, ok=False)
            assert (
                f"{name}: already exists, and warner never overwrites a report file" in said.output
            )
        assert Path(name).read_bytes() == b"old"
