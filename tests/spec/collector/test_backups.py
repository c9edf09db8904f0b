"""Backups of a collector that runs, and what may become of them."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Thread
from urllib.parse import unquote

import pytest

from tests.laws.collector._survey import WARDS, counted, expected, sealed, study_of
from tests.refusals import refused
from tests.services import postgres_address, postgres_program
from warner._core.errors import FileError
from warner.collector import collector as module
from warner.collector.collector import Collector
from warner.collector.refusals import Refused
from warner.collector.stores import SPENT, PostgresStore, SQLiteStore, Store

STUDY = study_of()
OPENED = datetime(2026, 1, 3, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PACE", 0.0)


def collector_of(store: Store) -> Collector:
    """The collector of a store."""
    return Collector(STUDY, store, clock=lambda: OPENED)


def values_in(collector: Collector) -> set[int]:
    """The people who are counted, each of whom must be counted once in all tables."""
    values = {int(v) for of_ward in counted(collector.state().tallies).values() for v in of_ward}
    assert counted(collector.state().tallies) == expected(sorted(values))
    return values


def test_a_backup_under_load_is_of_one_moment(tmp_path: Path) -> None:
    """Rejects a copy of the file beside its log, which lacks reports that were accepted, and one
    that is made in pieces, whose ids and counts are of two moments.
    """
    collector = collector_of(SQLiteStore(tmp_path / "survey.db"))
    sent, accepted, enough, stop = set[int](), set[int](), Event(), Event()

    def send(first: int) -> None:
        for value in range(first, 1200, 3):
            if stop.is_set():
                return
            sent.add(value)
            collector.submit(collector.format.parse(sealed(collector.format, [value]))).result(20)
            accepted.add(value)
            if len(accepted) > 60:
                enough.set()

    threads = [Thread(target=send, args=(i,)) for i in range(len(WARDS))]
    for thread in threads:
        thread.start()
    assert enough.wait(60)
    copies: list[tuple[set[int], set[int], Path]] = []
    for i in range(3):
        before = set(accepted)
        assert collector.backup() == "survey.db-backup"
        after, copy = set(sent), tmp_path / f"copy{i}"
        (tmp_path / "survey.db-backup").rename(copy)
        copies.append((before, after, copy))
    stop.set()
    for thread in threads:
        thread.join()
    assert values_in(collector) == accepted
    collector.stop()
    for i, (before, after, copy) in enumerate(copies):
        assert copy.stat().st_mode & 0o777 == 0o600
        with sqlite3.connect(copy) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            # No order of arrival: rewritten in the order of its keys, it is the same
            # file, but for the number of the version in its head.
            connection.execute("VACUUM INTO ?", [str(tmp_path / f"again{i}")])
        connection.close()
        assert (tmp_path / f"again{i}").read_bytes()[100:] == copy.read_bytes()[100:]
        store = SQLiteStore(tmp_path / f"restored{i}.db")
        store.restore(copy)
        restored = collector_of(SQLiteStore(store.path, may_be_copy=True))
        assert before <= values_in(restored) <= after
        restored.stop()


def test_a_copy_is_used_by_nobody_who_does_not_know_it(tmp_path: Path) -> None:
    """Rejects a collector that goes on with a backup without a word."""
    collector = collector_of(SQLiteStore(tmp_path / "survey.db"))
    bodies = [sealed(collector.format, [value]) for value in range(4)]
    for i, body in enumerate(bodies):
        collector.submit(collector.format.parse(body)).result(20)
        if i == 1:
            collector.backup()
    collector.stop()
    backup = tmp_path / "survey.db-backup"
    # As somebody would do it by hand, and by the command.
    shutil.copy(backup, tmp_path / "copied.db")
    restored = SQLiteStore(tmp_path / "restored.db")
    restored.restore(backup)
    for store in (SQLiteStore(tmp_path / "copied.db"), restored):
        for _ in range(2):
            error = refused(
                Refused,
                "is an old copy, which lacks the reports that were counted later",
                lambda s=store: collector_of(s),
            )
            assert "--restored" in error and "2 ids of reports" in error
        again = collector_of(SQLiteStore(store.path, may_be_copy=True))
        # Who was lost is counted once when sent again, and who was not is not counted again.
        new = [again.submit(again.format.parse(body)).result(20).new for body in bodies]
        assert new == [0, 0, 1, 1] and values_in(again) == {0, 1, 2, 3}
        again.stop()
        collector_of(SQLiteStore(store.path)).stop()  # it is said once
    # The store and the file beside it may be moved together.
    for end in ("", "-last"):
        shutil.move(f"{restored.path}{end}", f"{tmp_path / 'moved.db'}{end}")
    moved = collector_of(SQLiteStore(tmp_path / "moved.db"))
    assert values_in(moved) == {0, 1, 2, 3}
    moved.stop()


def test_only_a_whole_backup_is_restored_and_nothing_is_replaced(tmp_path: Path) -> None:
    collector = collector_of(SQLiteStore(tmp_path / "survey.db"))
    for value in range(40):
        collector.submit(collector.format.parse(sealed(collector.format, [value]))).result(20)
    collector.backup()
    collector.stop()
    backup = tmp_path / "survey.db-backup"
    content = backup.read_bytes()
    damaged = bytearray(content)
    damaged[content.index(STUDY.digest.encode())] ^= 1
    (tmp_path / "damaged").write_bytes(damaged)
    (tmp_path / "cut").write_bytes(content[: len(content) // 2])
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "text").write_text("no database, but as long as the head of one " * 9)
    for name in ("damaged", "cut", "empty", "text", "nowhere"):
        store = SQLiteStore(tmp_path / "new.db")
        with pytest.raises(Refused):
            store.restore(tmp_path / name)
        assert not list(tmp_path.glob("new.db*"))
    for end in ("", "-wal", "-last"):
        (tmp_path / f"new.db{end}").write_bytes(b"of another store")
        refused(
            FileError,
            "already exists, and an existing store is never replaced",
            lambda: SQLiteStore(tmp_path / "new.db").restore(backup),
        )
        (tmp_path / f"new.db{end}").unlink()


def test_a_backup_that_fails_leaves_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SQLiteStore(tmp_path / "survey.db")
    collector = collector_of(store)
    collector.backup()
    before = (tmp_path / "survey.db-backup").read_bytes()
    collector.submit(collector.format.parse(sealed(collector.format, [1]))).result(20)

    def full(*arguments: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "replace", full)
    refused(Refused, "cannot be copied .No space left on device", collector.backup)
    assert (tmp_path / "survey.db-backup").read_bytes() == before
    assert values_in(collector) == {1}
    collector.stop()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "survey.db",
        "survey.db-backup",
        "survey.db-last",
    ]


def test_a_dump_of_a_database_is_used_by_nobody_who_does_not_know_it() -> None:
    """The commands of docs/collector.md, while reports come. Rejects a store that does not know
    that its tables were loaded from a dump.
    """
    address = postgres_address()
    collector = collector_of(PostgresStore(address))
    refused(Refused, "is a database, which warner cannot copy", collector.backup)
    bodies = [sealed(collector.format, [value]) for value in range(40)]
    for body in bodies[:20]:
        collector.submit(collector.format.parse(body)).result(20)
    base, _, schema = unquote(address).partition("&options=-csearch_path=")
    dump = [postgres_program("pg_dump"), base, "--schema", schema, "--format", "custom"]
    made = subprocess.run(dump, capture_output=True, check=True).stdout
    for body in bodies[20:]:
        collector.submit(collector.format.parse(body)).result(20)
    drop = ["psql", base, "-c", f"DROP SCHEMA {schema} CASCADE"]
    # While a collector runs, another start of one of them goes on as usual.
    collector_of(PostgresStore(address)).stop()
    subprocess.run([postgres_program(drop[0]), *drop[1:]], capture_output=True, check=True)
    load = [postgres_program("pg_restore"), "--dbname", base, "--exit-on-error"]
    subprocess.run(load, input=made, capture_output=True, check=True)
    # Neither the collector that still runs goes on with it, nor one that starts.
    sent = collector.submit(collector.format.parse(sealed(collector.format, [50])))
    assert isinstance(sent.exception(20), Refused)
    collector.stop()
    refused(
        Refused,
        "is an old copy, which lacks the reports that were counted later",
        lambda: collector_of(PostgresStore(address)),
    )
    again = collector_of(PostgresStore(address, may_be_copy=True))
    assert values_in(again) == set(range(20)) and again._store.size(SPENT) == 20
    new = [again.submit(again.format.parse(body)).result(20).new for body in bodies]
    assert new == [0] * 20 + [1] * 20
    again.stop()
    collector_of(PostgresStore(address)).stop()  # it is said once
