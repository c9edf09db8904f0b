"""Spent ids: the set in memory, the pages in the store, and what remains of the order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pytest

from warner.collector import spent_ids
from warner.collector.spent_ids import (
    FEWEST_MERGED,
    SMALL,
    IdSet,
    Runs,
    first_of_each,
    load,
    words_of,
)
from warner.collector.submissions import new_ids


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
