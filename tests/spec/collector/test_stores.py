"""What a store promises, of SQLite and PostgreSQL alike: all or nothing, one process, versions."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.services import postgres_address
from warner.collector import stores
from warner.collector.refusals import Refused
from warner.collector.stores import TABLES, Change, PostgresStore, SQLiteStore, Store, number_of

Make = Callable[[], Store]


@pytest.fixture(params=["sqlite", "postgresql"])
def make(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Makes stores at one address."""
    monkeypatch.setattr(stores, "_PATIENCE", 0.1)
    if request.param == "sqlite":
        return lambda: SQLiteStore(tmp_path / "survey.db")
    address = postgres_address()
    return lambda: PostgresStore(address)


def test_a_change_is_kept_as_it_was_written(make: Make) -> None:
    store = make()
    assert store.open() is True
    assert store.open() is False
    assert number_of(store.facts()) == 0
    large = os.urandom(3_000_000)
    store.commit(Change(1, {"a": b"1", "b": b""}, {"counts": {1: b"x", 2: large, 2**62: b"y"}}))
    store.commit(Change(2, {"a": b"2"}, {"counts": {1: None, 2**62: b"z"}, "spent": {5: b"s"}}))
    for _ in range(2):
        facts = store.facts()
        assert (facts["a"], facts["b"], number_of(facts)) == (b"2", b"", 2)
        assert dict(store.pages("counts")) == {2: large, 2**62: b"z"}
        assert dict(store.pages("counts", [2**62, 77])) == {2**62: b"z"}
        assert dict(store.pages("spent")) == {5: b"s"}
        assert [dict(store.pages(table)) for table in TABLES[3:]] == [{}]
        store.tidy()
        store.close()
        store = make()
        store.open()
    store.close()
    with pytest.raises(Refused, match="not open"):
        store.facts()


def test_many_pages_are_read_by_key(make: Make) -> None:
    store = make()
    store.open()
    pages: dict[int, bytes | None] = {key: b"%d" % key for key in range(1300)}
    store.commit(Change(1, {}, {"spent": pages}))
    assert dict(store.pages("spent", range(1, 1200))) == {k: b"%d" % k for k in range(1, 1200)}
    assert dict(store.pages("spent")) == pages
    store.close()


def test_a_second_one_is_refused_by_name(make: Make) -> None:
    first, second = make(), make()
    first.open()
    with pytest.raises(Refused) as refused:
        second.open()
    assert refused.value.name == "store_in_use"
    first.close()
    second.open()
    second.close()


def test_a_change_that_fails_leaves_nothing(make: Make) -> None:
    store = make()
    store.open()
    store.commit(Change(1, {"a": b"1"}, {"counts": {1: b"x"}}))
    with pytest.raises(Exception):  # noqa: B017 - a key that no store can hold
        store.commit(Change(2, {"a": b"2"}, {"counts": {3: b"y", 2**70: b"z"}}))
    store.open()
    assert (store.facts()["a"], number_of(store.facts())) == (b"1", 1)
    assert dict(store.pages("counts")) == {1: b"x"}
    store.commit(Change(2, {"a": b"3"}))
    assert store.facts()["a"] == b"3"
    store.close()


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    text, other, folder = tmp_path / "a.db", tmp_path / "b.db", tmp_path / "none" / "c.db"
    text.write_bytes(b"smokes,yes\n" * 100)
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE people (name)")
    connection.close()
    for path in (text, other, folder):
        before = path.read_bytes() if path.exists() else b""
        with pytest.raises(Refused) as refused:
            SQLiteStore(path).open()
        assert refused.value.name == "store_failed"
        assert str(path) in str(refused.value)
        assert path == other or before == (path.read_bytes() if path.exists() else b"")
    with sqlite3.connect(other) as connection:
        assert connection.execute("SELECT count(*) FROM people").fetchone() == (0,)
    connection.close()


def test_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "survey.db"
    store = SQLiteStore(path)
    store.open()
    store.close()
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (len(stores._SQLITE_STEPS),)
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(Refused) as refused:
        store.open()
    assert refused.value.name == "store_too_new"


def test_a_newer_version_is_refused_by_postgresql() -> None:
    import psycopg

    address = postgres_address()
    store = PostgresStore(address)
    store.open()
    store.close()
    with psycopg.connect(address) as connection:
        connection.execute("UPDATE warner_facts SET content = '99' WHERE name = 'schema'")
    with pytest.raises(Refused) as refused:
        store.open()
    assert refused.value.name == "store_too_new"


def test_a_server_that_is_away_is_named_without_its_address() -> None:
    store = PostgresStore("postgresql://user:secret@127.0.0.1:1/none")
    with pytest.raises(Refused) as refused:
        store.open()
    assert refused.value.name == "store_failed"
    assert "secret" not in str(refused.value) + repr(store)


def test_a_schema_that_does_not_exist_is_named_as_such() -> None:
    with pytest.raises(Refused, match="no schema that exists"):
        PostgresStore(f"{postgres_address()}x").open()


def test_steps_bring_an_older_file_up_to_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SQLiteStore(tmp_path / "survey.db")
    store.open()
    store.commit(Change(1, {"a": b"1"}))
    store.close()
    steps = (*stores._SQLITE_STEPS, ("CREATE TABLE more (key INTEGER PRIMARY KEY)",))
    monkeypatch.setattr(stores, "_SQLITE_STEPS", steps)
    for _ in range(2):
        store.open()
        assert store.facts()["a"] == b"1"
        store.close()
    with sqlite3.connect(store.path) as connection:
        assert connection.execute("SELECT count(*) FROM more").fetchone() == (0,)
    connection.close()


def test_only_its_user_may_read_the_file_and_its_log_is_emptied(tmp_path: Path) -> None:
    path = tmp_path / "survey.db"
    store = SQLiteStore(path)
    store.open()
    store.commit(Change(1, {}, {"spent": {1: b"x" * 10_000}}))
    log = Path(f"{path}-wal")
    assert log.stat().st_size > 10_000
    for file in (path, log):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    store.commit(Change(2, {}, {"spent": {1: None}}))
    store.tidy()
    assert log.stat().st_size == 0
    assert b"x" * 50 not in path.read_bytes()  # freed pages are overwritten
    store.close()


def test_commits_reach_the_disk_before_they_return(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "survey.db")
    store.open()
    connection = store._opened()
    for name, value in {"synchronous": 2, "secure_delete": 1, "locking_mode": "exclusive"}.items():
        assert connection.execute(f"PRAGMA {name}").fetchone() == (value,)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    store.close()


def test_a_process_of_its_own_is_refused(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "survey.db")
    store.open()
    code = (
        "import sys, sqlite3\n"
        "c = sqlite3.connect(sys.argv[1], timeout=0)\n"
        "try: c.execute('SELECT * FROM facts'); print('read')\n"
        "except sqlite3.OperationalError as error: print(error)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, store.path], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "database is locked"
    store.close()
