"""Stores: ids that are taken once, counts that add up, and files that are damaged."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.refusals import refused
from tests.services import postgres_address
from warner.collector import stores
from warner.collector.refusals import Refused
from warner.collector.stores import INVITED, SPENT, PostgresStore, SQLiteStore, Store
from warner.collector.submissions import new_ids

Make = Callable[[], Store]


@pytest.fixture(params=["sqlite", "postgresql"])
def make(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Makes stores at one address."""
    monkeypatch.setattr(stores, "_PATIENCE", 0.1)
    if request.param == "sqlite":
        return lambda: SQLiteStore(tmp_path / "survey.db")
    address = postgres_address()
    return lambda: PostgresStore(address)


def write(store: Store, ids: np.ndarray | None = None, **facts: bytes) -> None:
    """One transaction: ids with a count of each, and facts."""
    with store.changing():
        if ids is not None:
            fresh = store.claim(SPENT, ids)
            store.add({b"n": int(fresh.sum()), b"m": 1})
        store.put(facts)


def test_a_change_is_kept_as_it_was_written(make: Make) -> None:
    store = make()
    assert store.open() is True
    assert store.open() is False
    assert store.read().commits == store.commits() == 0
    large, ids = os.urandom(3_000_000), new_ids(5)
    with store.changing():
        store.put({"a": b"1", "b": b"", "c": large})
        store.add({b"x": 3, b"y": 2**40})
        assert store.claim(INVITED, ids).all()
    with store.changing():
        store.put({"a": b"2"})
        store.add({b"x": 4})
    with store.changing():
        store.facts("a")  # what writes nothing is no commit
    for _ in range(2):
        contents = store.read()
        assert contents.commits == store.commits() == 2
        assert {n: contents.facts[n] for n in "abc"} == {"a": b"2", "b": b"", "c": large}
        assert store.facts("a", "other") == {"a": b"2"}
        assert contents.counts == {b"x": 7, b"y": 2**40}
        assert (store.size(SPENT), store.size(INVITED)) == (0, 5)
        store.rewrite()
        store.close()
        store = make()
        store.open()
    store.close()
    refused(Refused, "not open", store.read)


def test_each_id_is_taken_once(make: Make) -> None:
    store = make()
    store.open()
    ids = new_ids(700)
    with store.changing():
        assert store.claim(SPENT, ids[:300]).all()
        assert store.claim(SPENT, ids[:0]).shape == store.has(SPENT, ids[:0]).shape == (0,)
    with store.changing():
        asked = ids[[299, 300, 300, 0, 699, 299, 699]]
        assert store.claim(SPENT, asked).tolist() == [0, 1, 0, 0, 1, 0, 0]
    assert store.has(SPENT, ids).tolist() == [True] * 301 + [False] * 398 + [True]
    assert not store.has(INVITED, ids).any()
    # Ids that differ in one bit, or are zeros, are ids like others.
    alike = np.concatenate([np.packbits(np.eye(128, dtype=np.uint8), axis=1), ids[:1] * 0])
    with store.changing():
        assert store.claim(SPENT, alike[::2]).all()
    assert store.has(SPENT, alike).tolist() == [True, False] * 64 + [True]
    with store.changing():
        store.drop_ids()
    assert not store.has(SPENT, ids).any()
    store.close()


def test_a_second_process_is_refused_a_file_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "_PATIENCE", 0.1)
    first, second = (SQLiteStore(tmp_path / "survey.db") for _ in range(2))
    first.open()
    with pytest.raises(Refused) as refused:
        second.open()
    assert refused.value.name == "store_in_use"
    first.close()
    second.open()
    second.close()


def test_processes_share_a_database_and_count_in_shards() -> None:
    address, ids = postgres_address(), new_ids(60)
    first, second = PostgresStore(address), PostgresStore(address)
    for store in (first, second):
        store.open()
    assert {first.shard, second.shard} == {0, 1}
    write(first, ids[:40])
    write(second, ids[20:])
    for store in (first, second):
        contents = store.read()
        assert contents.counts == {b"n": 60, b"m": 2}
        assert (contents.commits, store.size(SPENT)) == (2, 60)
    # A shard that is free is taken again: their number is that of processes at one time.
    first.close()
    first.open()
    assert first.shard == 0
    for store in (first, second):
        store.close()


def test_a_change_that_fails_leaves_nothing(make: Make) -> None:
    store = make()
    store.open()
    write(store, new_ids(3), a=b"1")
    before = store.read()
    for problem in (OverflowError, ZeroDivisionError):
        with pytest.raises((Refused, problem)), store.changing():
            store.claim(SPENT, new_ids(2))
            store.put({"a": b"2"})
            store.add({b"z": 2**70 if problem is OverflowError else 1})
            raise problem
        store.open()
        assert store.read() == before
    write(store, a=b"3")
    assert store.facts("a")["a"] == b"3"
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


def test_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "survey.db"
    store = SQLiteStore(path)
    store.open()
    store.close()
    for version, name in ((99, "store_too_new"), (1, "store_too_old")):
        with sqlite3.connect(path) as connection:
            connection.execute(f"PRAGMA user_version = {version}")
        connection.close()
        with pytest.raises(Refused) as refused:
            store.open()
        assert refused.value.name == name


def test_another_version_is_refused_by_postgresql() -> None:
    import psycopg

    address = postgres_address()
    store = PostgresStore(address)
    store.open()
    store.close()
    for version, name in (("99", "store_too_new"), ("1", "store_too_old")):
        with psycopg.connect(address) as connection:
            update = "UPDATE warner_facts SET content = %s WHERE name = 'schema'"
            connection.execute(update, [version.encode()])
        with pytest.raises(Refused) as refused:
            store.open()
        assert refused.value.name == name


def test_a_server_that_is_away_is_named_without_its_address() -> None:
    store = PostgresStore("postgresql://user:secret@127.0.0.1:1/none")
    with pytest.raises(Refused) as refused:
        store.open()
    assert refused.value.name == "store_failed"
    assert "secret" not in str(refused.value) + repr(store)


def test_a_schema_that_does_not_exist_is_named_as_such() -> None:
    refused(Refused, "no schema that exists", PostgresStore(f"{postgres_address()}x").open)


def test_only_its_user_may_read_the_files_and_the_log_is_emptied(tmp_path: Path) -> None:
    path = tmp_path / "survey.db"
    store = SQLiteStore(path)
    store.open()
    write(store, a=b"x" * 10_000)
    log, last = Path(f"{path}-wal"), Path(f"{path}-last")
    assert log.stat().st_size > 10_000
    for file in (path, log, last):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    write(store, a=b"")
    store.tidy()
    assert log.stat().st_size == 0
    assert b"x" * 50 not in path.read_bytes()  # freed pages are overwritten
    store.close()


def test_a_file_that_was_rewritten_shows_no_order(tmp_path: Path) -> None:
    """Without rewriting, equal ids that came in two orders make two different files."""
    ids = new_ids(2000)
    orders = (np.arange(2000), np.argsort(ids[:, 3], kind="stable"))
    contents: list[list[bytes]] = [[], []]
    for number, order in enumerate(orders):
        store = SQLiteStore(tmp_path / f"{number}.db")
        store.open()
        for some in np.array_split(ids[order], 40):
            write(store, some)
        for _ in range(2):
            store._clean()
            contents[number].append(Path(store.path).read_bytes()[100:])  # after the header
            store.rewrite()
        store.close()
    assert contents[0][0] != contents[1][0]
    assert contents[0][1] == contents[1][1]


def test_a_database_that_was_rewritten_shows_no_order() -> None:
    store = PostgresStore(postgres_address())
    store.open()
    for some in np.array_split(new_ids(500), 20):
        write(store, some)
    order = "SELECT id, xmin::text FROM warner_spent ORDER BY ctid"
    for is_sorted in (False, True):
        rows = store._run(order)
        assert len(rows) == 500
        assert (rows == sorted(rows)) is is_sorted
        assert (len({row[1] for row in rows}) == 1) is is_sorted
        store.rewrite()
    store.close()


def decayed(tmp_path: Path) -> tuple[SQLiteStore, stores.Contents, np.ndarray]:
    """A store of many commits with a log, closed by a kill: its files are copied while it is open."""
    store, ids = SQLiteStore(tmp_path / "open.db"), new_ids(600)
    store.open()
    write(store, ids[:300], study=b"s" * 300)
    store.rewrite()
    for some in np.array_split(ids[300:], 30):
        write(store, some)
    contents = store.read()
    copy = SQLiteStore(tmp_path / "copy.db")
    for end in ("", "-wal", "-last"):
        shutil.copy(f"{store.path}{end}", f"{copy.path}{end}.whole")
    store.close()
    return copy, contents, ids


def restored(store: SQLiteStore) -> None:
    for end in ("", "-wal", "-last"):
        shutil.copy(f"{store.path}{end}.whole", f"{store.path}{end}")
    Path(f"{store.path}-shm").unlink(missing_ok=True)


def outcome(store: SQLiteStore, contents: stores.Contents, ids: np.ndarray) -> str:
    """The name of the refusal of a store; ``same`` where it holds what was written."""
    try:
        store.open()
        try:
            assert store.read() == contents
            assert store.has(SPENT, ids).all()
        finally:
            store.close()
    except Refused as error:
        return error.name
    return "same"


def test_a_bit_that_flips_is_told_or_changes_nothing(tmp_path: Path) -> None:
    """Without the sum over all rows, some of these stores open with other counts."""
    store, contents, ids = decayed(tmp_path)
    restored(store)
    assert outcome(store, contents, ids) == "same"
    whole, rng, outcomes = Path(store.path).read_bytes(), np.random.default_rng(6), []
    for bit in rng.integers(0, 8 * len(whole), 60).tolist():
        restored(store)
        Path(f"{store.path}-wal").write_bytes(b"")
        Path(f"{store.path}-last").write_bytes(stores._sealed(0))
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        Path(store.path).write_bytes(flipped)
        outcomes.append(outcome(store, contents, ids))
    assert {"store_damaged", "same"} & set(outcomes)
    assert set(outcomes) <= {"store_damaged", "store_failed", "store_too_new", "same"}


def test_a_log_that_lost_its_end_is_told(tmp_path: Path) -> None:
    """Without the number of commits beside it, such a store opens with fewer reports."""
    store, contents, ids = decayed(tmp_path)
    restored(store)
    whole, rng = Path(f"{store.path}-wal").read_bytes(), np.random.default_rng(7)
    outcomes = []
    for i, bit in enumerate(rng.integers(0, 8 * len(whole), 35).tolist()):
        restored(store)
        changed = bytearray(whole)
        if i % 5 == 0:
            del changed[bit // 8 :]
        else:
            changed[bit // 8] ^= 1 << bit % 8
        Path(f"{store.path}-wal").write_bytes(changed)
        outcomes.append(outcome(store, contents, ids))
    assert outcomes.count("store_damaged") > 20
    assert set(outcomes) <= {"store_damaged", "same"}
    restored(store)
    Path(f"{store.path}-wal").write_bytes(b"")
    refused(Refused, "has lost some of what was saved", store.open)
    store = SQLiteStore(store.path, may_be_copy=True)  # as the message says
    assert store.open() and store.was_copy
    store.close()
    store = SQLiteStore(store.path)
    assert store.open() and not store.was_copy  # it is said once
    store.close()
    # Who deletes a store starts anew, although the file beside it is left.
    restored(store)
    for end in ("", "-wal"):
        Path(f"{store.path}{end}").unlink()
    store.open()
    assert store.read().commits == 0
    store.close()


def test_commits_reach_the_disk_before_they_return(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()  # of what other tests save themselves
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
        "try: c.execute('SELECT * FROM warner_facts'); print('read')\n"
        "except sqlite3.OperationalError as error: print(error)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, store.path], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "database is locked"
    store.close()
