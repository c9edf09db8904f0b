"""What submissions leave behind: no report in files, and nothing that refers to one in memory."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import numpy as np
import pytest

from tests.services import postgres_address, postgres_files
from warner.collector import collector as module
from warner.collector.collector import Collector
from warner.collector.refusals import Refused
from warner.collector.stores import PostgresStore, SQLiteStore, Store
from warner.collector.submissions import HEAD_BYTES, ID_BYTES
from warner.studies.study import Study

PEOPLE, BITS = 40, 2048
STUDY = Study.parse(f"""
[attributes.canary]
integers = [0, {BITS - 1}]
mechanism = "UnaryEncoding"
epsilon = 1.0
[collect]
keep_ids = "always"
""")


def _collected(store: Store) -> tuple[Collector, list[bytes]]:
    """A collector that has counted people one by one; their submissions."""
    collector = Collector(STUDY, store)
    rows = []
    for _ in range(PEOPLE):
        report = STUDY.mechanisms["canary"].randomize([7])
        body = collector.format.seal({"canary": report})
        collector.submit(collector.format.parse(body)).result(10)
        rows.append(body[HEAD_BYTES:])
    return collector, rows


def _pieces(rows: list[bytes]) -> set[bytes]:
    """Windows of reports of 12 bytes, which no chance makes twice."""
    return {row[at : at + 12] for row in rows for at in range(ID_BYTES, len(row) - 12, 48)}


def _found(pieces: set[bytes], content: bytes) -> int:
    return sum(piece in content for piece in pieces)


def test_no_report_is_in_the_files_of_sqlite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PACE", 0.0)
    monkeypatch.setattr(SQLiteStore, "tidy", lambda self: None)  # the log is not emptied
    collector, rows = _collected(SQLiteStore(tmp_path / "survey.db"))
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert len(files["survey.db-wal"]) > 100_000
    assert not any(_found(_pieces(rows), content) for content in files.values())
    # The search finds what is there: the ids, until the survey closes.
    assert any(rows[-1][:ID_BYTES] in content for content in files.values())
    collector.stop()
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert not _found(_pieces(rows), content)
    assert _found(_pieces(rows), content + rows[3]) >= 5


def test_no_report_is_in_the_files_of_postgresql(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PACE", 0.0)
    collector, rows = _collected(PostgresStore(postgres_address()))
    collector.stop()
    content = postgres_files()
    assert rows[-1][:ID_BYTES] in content
    assert not _found({row[40:56] for row in rows[::8]}, content)


def test_nothing_refers_to_a_submission_after_the_reply(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collector = Collector(STUDY, SQLiteStore(tmp_path / "survey.db"))
    study = collector.format.study

    def sent(failing: bool) -> weakref.ref[object]:
        report = study.mechanisms["canary"].randomize([7, 9])
        batch = collector.format.parse(collector.format.seal({"canary": report}))
        known = weakref.ref(batch)
        future = collector.submit(batch)
        if failing:
            assert isinstance(future.exception(10), Refused)
        else:
            assert future.result(10).new == 2
        futures.append(future)
        return known

    futures: list[object] = []
    known = [sent(False)]
    monkeypatch.setattr(collector._counts, "added", lambda batch: 1 // 0)
    known.append(sent(True))
    monkeypatch.undo()
    collector.remember("nothing", b"")  # the writer is through with them
    gc.collect()
    assert [one() for one in known] == [None, None]
    collector.stop()


def test_the_order_of_ids_is_not_in_a_file_after_closing(tmp_path: Path) -> None:
    collector, rows = _collected(SQLiteStore(tmp_path / "survey.db"))
    collector.close_survey()
    content = (tmp_path / "survey.db").read_bytes()
    places = [content.index(row[:ID_BYTES]) for row in rows]
    assert all(content.count(row[:ID_BYTES]) == 1 for row in rows)
    order = np.argsort(places).tolist()
    by_number = sorted(
        range(PEOPLE), key=lambda i: np.frombuffer(rows[i][:ID_BYTES], "<u8").tolist()
    )
    assert order == by_number
    assert (tmp_path / "survey.db-wal").stat().st_size == 0
    collector.stop()
