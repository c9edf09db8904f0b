"""Stores, and the ids that tell repeats."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.refusals import refused
from tests.services import postgres_address
from warner.collector import spent_ids, stores
from warner.collector.refusals import Refused
from warner.collector.spent_ids import (
    FEWEST_MERGED,
    SMALL,
    IdSet,
    Runs,
    first_of_each,
    load,
    words_of,
)
from warner.collector.stores import TABLES, Change, PostgresStore, SQLiteStore, Store, number_of
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
    refused(Refused, "not open", store.facts)


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
    refused(Refused, "no schema that exists", PostgresStore(f"{postgres_address()}x").open)


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


# Spent ids: the set in memory, the pages in the store, and what remains of the order.


class Pages:
    """A store in a dictionary, which counts what is written."""

    def __init__(self) -> None:
        self.kept: dict[int, bytes] = {}
        self.written = 0

    def read(self, keys: Iterable[int]) -> Iterator[tuple[int, bytes]]:
        return iter([(key, self.kept[key]) for key in keys])

    def write(self, pages: dict[int, bytes | None]) -> None:
        for key, content in pages.items():
            if content is None:
                del self.kept[key]
            else:
                self.kept[key] = content
                self.written += len(content)

    def ids(self) -> set[bytes]:
        return {c[i : i + 16] for c in self.kept.values() for i in range(0, len(c), 16)}


def grown(sizes: Iterable[int]) -> tuple[Pages, Runs, list[np.ndarray]]:
    """The pages after commits of these sizes."""
    pages, runs, given = Pages(), Runs(), []
    for size in sizes:
        given.append(words_of(new_ids(size)))
        runs, changed = runs.with_ids(given[-1], pages.read)
        pages.write(changed)
        assert runs.sizes == {key: len(content) // 16 for key, content in pages.kept.items()}
    return pages, runs, given


@pytest.mark.parametrize("sizes", [[1] * 300, [100, 3, 249, 250, 251], [2000] * 20, [33_000] * 2])
def test_pages_hold_every_id_once(sizes: list[int]) -> None:
    pages, runs, given = grown(sizes)
    everything = np.concatenate(given)
    assert pages.ids() == {row.tobytes() for row in everything}
    assert sum(runs.sizes.values()) == len(everything)
    ids, found = load(pages.kept.items())
    assert found.sizes == runs.sizes
    assert len(ids) == len(everything)
    assert ids.has(everything).all()
    assert not ids.has(words_of(new_ids(1000))).any()


def test_pages_are_sorted_so_the_order_within_a_page_is_lost() -> None:
    pages, _, _ = grown([1] * (SMALL - 1))
    (content,) = pages.kept.values()
    rows = np.frombuffer(content, "<u8").reshape(-1, 2).tolist()
    assert rows == sorted(rows)
    assert len(rows) == SMALL - 1


@pytest.mark.parametrize("sizes", [[1] * 1100, [SMALL, 1, 1], [2 * SMALL, 1], [9000, 1, 40, 1]])
def test_no_page_is_of_fewer_ids_than_is_said(sizes: list[int]) -> None:
    """Otherwise the newest id is told, beside counts that differ by its report."""
    pages, runs = Pages(), Runs()
    for i, size in enumerate(sizes):
        runs, changed = runs.with_ids(words_of(new_ids(size)), pages.read)
        pages.write(changed)
        assert min(runs.sizes.values()) >= min(SMALL, sum(sizes[: i + 1]))
        if i % 3 == 2:  # the survey is closed and opened, or its collector started again
            runs, changed = runs.in_one_order(pages.read) if i % 2 else (Runs.of(runs.sizes), {})
            pages.write(changed)


def test_the_ids_that_stay_behind_do_not_tell_the_newest() -> None:
    """Those of the lowest numbers would: a new id of a high number stands out among them."""
    pages, runs, _ = grown([2 * SMALL + 1])
    content = pages.kept[runs.small or 0]
    highest = np.frombuffer(content, "<u8").reshape(-1, 2)[:, 0].max()
    assert highest > 0.8 * 2**64


def test_few_pages_stand_for_many_commits_and_ids_are_rarely_written() -> None:
    pages, runs, _ = grown([1000] * 200)
    assert len(runs.sizes) < 2 * FEWEST_MERGED
    assert pages.written < 4 * 16 * 200_000


def test_nothing_of_the_order_remains_after_closing() -> None:
    pages, runs, given = grown([5000] * 9 + [1] * 20)
    runs, changed = runs.in_one_order(pages.read)
    pages.write(changed)
    assert pages.ids() == {row.tobytes() for row in np.concatenate(given)}
    rows = [r for key in sorted(pages.kept) for r in spent_ids._words(pages.kept[key]).tolist()]
    assert rows == sorted(rows)
    # Once more changes nothing, and ids can be added afterwards.
    again, changed = runs.in_one_order(pages.read)
    pages.write(changed)
    assert again == runs
    runs, changed = runs.with_ids(words_of(new_ids(3)), pages.read)
    pages.write(changed)
    assert len(pages.ids()) == 45_023


def test_the_first_of_equal_ids_is_taken() -> None:
    words = words_of(new_ids(5))[[0, 1, 0, 2, 1, 1, 3, 4]]
    assert first_of_each(words).tolist() == [1, 1, 0, 1, 0, 0, 1, 1]


def test_ids_that_differ_in_one_bit_are_different() -> None:
    words = words_of(np.packbits(np.eye(128, dtype=np.uint8), axis=1))
    ids = IdSet()
    ids.add(words[::2])
    assert ids.has(words).tolist() == [True, False] * 64
    zero = words_of(np.zeros((1, 16), dtype=np.uint8))
    assert not ids.has(zero).any()
    ids.add(zero)
    assert ids.has(zero).all()


def test_ids_that_agree_in_one_half_are_different() -> None:
    halves = words_of(new_ids(40))
    words = np.array([[a, b] for a in halves[:6, 0] for b in halves[:6, 1]], dtype=np.uint64)
    ids = IdSet()
    ids.add(words[::2])
    assert ids.has(words).tolist() == [True, False] * 18


def test_full_buckets_are_no_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    """With tables filled to the brim, ids stand in the sets beside them."""
    monkeypatch.setattr(spent_ids, "_FULL", 1.0)
    monkeypatch.setattr(spent_ids, "_LAST", 2**6)
    monkeypatch.setattr(spent_ids, "_FIRST", 2**6)
    ids, given = IdSet(), []
    for size in (1, 7, 900, 500, 2000):
        words = words_of(new_ids(size))
        assert not ids.has(words).any()
        ids.add(words)
        given.append(words)
        assert ids.has(np.concatenate(given)).all()
    assert len(ids) == 3408
    assert len(ids._tables) > 2
    assert any(table._others for table in ids._tables)


def test_keys_of_pages_say_nothing() -> None:
    keys = [spent_ids.new_key() for _ in range(100)]
    assert len(set(keys)) == 100
    assert keys != sorted(keys)
    assert max(keys) < 2**63
