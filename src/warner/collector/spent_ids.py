"""The ids of counted submissions: in memory a table of hashes, in the store sorted runs.

A b-tree of random ids cannot be kept durable at 200,000 reports a second, because each commit
would touch most of its pages. So the ids of one commit join the smallest page of the store. When
that page is full, most of its ids become a page of their own. Pages of one size are merged into
larger ones, as in a log-structured merge tree [O'Neil et al. 1996]. Pages are sorted, and their
keys are random.

What remains of the order in which people sent: while the survey runs, the pages of the store say
which ids came in about the same time, at least 250 of them together: 250 ids, drawn at random, stay
behind in the page that new ids join. Otherwise the newest id would at times stand alone in a page,
beside counts that differ from those of the last published step by its report. The number of ids of
a page doubles about eightfold with its age, up to about 250,000. When the survey closes, all ids
are sorted together, and nothing of the order remains, or the ids are dropped.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from warner.collector.submissions import ID_BYTES

Read = Callable[[Iterable[int]], Iterator[tuple[int, bytes]]]
"""Gives the contents of pages of the store with these keys."""

SMALL = 250  # ids: the fewest of a page, once there are so many; 4 kB of a disk page
FEWEST_MERGED = 8  # pages of one size, which are merged
LARGEST = 2**15  # ids: a page of so many is merged only when the survey closes
_SLOTS = 16  # ids of a bucket
_FIRST, _LAST = 2**10, 2**17  # buckets of the first table, and of all tables from some one on
_FULL = 0.6  # of the slots of a table, when the next one is begun


def words_of(ids: np.ndarray) -> np.ndarray:
    """Ids as pairs of numbers.

    Shapes: ids (n, 16) -> (n, 2).
    """
    return np.ascontiguousarray(ids).view("<u8").astype(np.uint64, copy=False)


def in_order(words: np.ndarray) -> np.ndarray:
    """The places (n,) of ids in the order of their numbers; equal ones as they stand."""
    return np.lexsort((words[:, 1], words[:, 0]))


class _Table:
    """Buckets of ids. An id that finds its bucket full goes into a set."""

    def __init__(self, buckets: int) -> None:
        self.room = int(_FULL * buckets * _SLOTS)
        self.used = 0
        self._shift = np.uint64(64 - (buckets.bit_length() - 1))
        # The two numbers of ids stand apart: of most ids only the first is looked at.
        self._first = np.zeros((buckets, _SLOTS), dtype=np.uint64)
        self._second = np.zeros((buckets, _SLOTS), dtype=np.uint64)
        self._filled = np.zeros(buckets, dtype=np.uint8)
        self._others: set[bytes] = set()

    def has(self, words: np.ndarray, hashes: np.ndarray) -> np.ndarray:
        """Which ids (n,) are in the table."""
        bucket = (hashes >> self._shift).astype(np.intp)
        equal = self._first[bucket] == words[:, :1]
        is_there = equal.any(axis=1)
        alike = np.flatnonzero(is_there)
        if alike.size:
            second = self._second[bucket[alike]] == words[alike, 1:]
            is_there[alike] = (equal[alike] & second).any(axis=1)
        if self._others:
            for i in np.flatnonzero(~is_there & (self._filled[bucket] == _SLOTS)).tolist():
                is_there[i] = words[i].tobytes() in self._others
        return np.asarray(is_there)

    def add(self, words: np.ndarray, hashes: np.ndarray) -> None:
        """Add ids that are different, and not in the table."""
        bucket = (hashes >> self._shift).astype(np.intp)
        order = np.argsort(bucket, kind="stable")
        bucket, words = bucket[order], words[order]
        first = np.flatnonzero(np.diff(bucket, prepend=-1))
        sizes = np.diff(np.append(first, len(bucket)))
        slot = np.arange(len(bucket)) - np.repeat(first, sizes)
        slot += self._filled[bucket]
        fits = slot < _SLOTS
        self._first[bucket[fits], slot[fits]] = words[fits, 0]
        self._second[bucket[fits], slot[fits]] = words[fits, 1]
        self._others.update(row.tobytes() for row in words[~fits])
        filled = self._filled[bucket[first]] + sizes
        self._filled[bucket[first]] = np.minimum(filled, _SLOTS)
        self.used += len(words)


class IdSet:
    """A set of ids of 16 bytes, asked for many at a time; about 30 bytes for each.

    >>> ids = IdSet()
    >>> ids.add(words_of(np.eye(3, 16, dtype=np.uint8)))
    >>> len(ids), ids.has(words_of(np.eye(4, 16, dtype=np.uint8))).tolist()
    (3, [True, True, True, False])
    """

    # Tables are added and never copied, so no request waits for a larger table. Hashes are keyed
    # with a secret of the process: nobody can choose ids that fall into one bucket.

    def __init__(self) -> None:
        self._tables: list[_Table] = []
        # An empty slot holds zeros. Ids are masked by a secret, so that none is stored as zeros.
        self._mask = np.frombuffer(secrets.token_bytes(ID_BYTES), np.uint64)
        odd = np.frombuffer(secrets.token_bytes(24), np.uint64) | np.uint64(1)
        self._first, self._second, self._last = odd

    def __len__(self) -> int:
        return sum(table.used for table in self._tables)

    def _hashed(self, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The ids as they are stored, and their hashes (n,)."""
        masked = words ^ self._mask
        hashes = masked[:, 0] * self._first ^ (masked[:, 1] >> np.uint64(7)) * self._second
        hashes ^= (hashes >> np.uint64(32)) ^ masked[:, 1]
        return masked, hashes * self._last

    def has(self, words: np.ndarray) -> np.ndarray:
        """Which of the ids are in the set.

        Shapes: words (n, 2) -> (n,).
        """
        masked, hashes = self._hashed(words)
        is_there = np.zeros(len(words), dtype=bool)
        for table in self._tables:
            is_there |= table.has(masked, hashes)
        return is_there

    def add(self, words: np.ndarray) -> None:
        """Add ids that are different, and not in the set.

        Shapes: words (n, 2).
        """
        masked, hashes = self._hashed(words)
        start = 0
        while start < len(words):
            if not self._tables or self._tables[-1].used >= self._tables[-1].room:
                self._tables.append(_Table(self._next_size(len(words) - start)))
            table = self._tables[-1]
            some = slice(start, start + table.room - table.used)
            table.add(masked[some], hashes[some])
            start = some.stop

    def _next_size(self, ids: int) -> int:
        """The number of buckets of the next table, a power of two."""
        most = min(_FIRST * 2 ** len(self._tables), _LAST)
        return int(max(most, 2 ** int(np.ceil(np.log2(ids / (_FULL * _SLOTS) + 1)))))


@dataclass(frozen=True)
class Runs:
    """Which pages of the store hold ids."""

    sizes: Mapping[int, int] = field(default_factory=dict)  # {key: the number of ids of the page}
    # The key of the page that is written anew in the next commit; None without pages.
    small: int | None = None

    @classmethod
    def of(cls, sizes: Mapping[int, int]) -> Runs:
        """The pages of a store."""
        return cls(dict(sizes), min(sizes, key=lambda key: sizes[key], default=None))

    def with_ids(self, words: np.ndarray, read: Read) -> tuple[Runs, dict[int, bytes | None]]:
        """The pages after ids were added, and those that are to be written.

        Shapes: words (n, 2).
        """
        sizes, gone = dict(self.sizes), []
        if self.small is not None:
            sizes.pop(self.small)
            words = np.concatenate([words, *_contents(read([self.small]))])
        small = new_key() if self.small is None else self.small
        if len(words) <= 2 * SMALL:
            return Runs({**sizes, small: len(words)}, small), {small: _content(words)}
        words = np.random.default_rng().permutation(words)
        behind, words = words[:SMALL], words[SMALL:]
        size = len(words)
        # A page of 8 or more of one size joins all of that size, as often as that makes another 8.
        while size < LARGEST:
            alike = [
                key
                for key, other in sizes.items()
                if other < LARGEST and _level(other) == _level(size)
            ]
            if len(alike) < FEWEST_MERGED - 1:
                break
            gone += alike
            size += sum(sizes.pop(key) for key in alike)
        pages: dict[int, bytes | None] = dict.fromkeys(gone)
        key = new_key()
        pages[key] = _content(np.concatenate([words, *_contents(read(gone))]))
        pages[small] = _content(behind)
        return Runs({**sizes, key: size, small: SMALL}, small), pages

    def in_one_order(self, read: Read) -> tuple[Runs, dict[int, bytes | None]]:
        """All ids sorted together, in pages whose keys are in the order of the ids."""
        pages: dict[int, bytes | None] = dict.fromkeys(self.sizes)
        whole = np.concatenate([np.zeros((0, 2), np.uint64), *_contents(read(self.sizes))])
        cuts = range(0, len(whole), LARGEST)
        # Of one size, so that none of few ids is there for a survey that is opened again.
        parts = np.array_split(whole[in_order(whole)], len(cuts)) if cuts else []
        pages |= {key: page.astype("<u8").tobytes() for key, page in enumerate(parts)}
        return Runs.of({key: len(page) for key, page in enumerate(parts)}), pages


def new_key() -> int:
    """A random key of a page, which says nothing about when it was written."""
    return 2**40 + secrets.randbits(61)


def _level(size: int) -> int:
    """Sizes within a factor of eight have one level, from SMALL on."""
    level = 0
    while size >= SMALL * FEWEST_MERGED:
        size //= FEWEST_MERGED
        level += 1
    return level


def _contents(pages: Iterable[tuple[int, bytes]]) -> list[np.ndarray]:
    """The ids of pages, uint64 (n, 2) each."""
    return [_words(content) for _, content in pages]


def _words(content: bytes) -> np.ndarray:
    """The ids in a page, uint64 (n, 2)."""
    return np.frombuffer(content, "<u8").reshape(-1, 2).astype(np.uint64, copy=False)


def _content(words: np.ndarray) -> bytes:
    """A page of ids, sorted."""
    return bytes(words[in_order(words)].astype("<u8").tobytes())


def load(pages: Iterable[tuple[int, bytes]]) -> tuple[IdSet, Runs]:
    """The ids in the pages of a store, and the pages."""
    ids, sizes, parts = IdSet(), {}, []
    for key, content in pages:
        sizes[key] = len(content) // ID_BYTES
        parts.append(_words(content))
    if parts:
        ids.add(np.concatenate(parts))
    return ids, Runs.of(sizes)


def first_of_each(words: np.ndarray) -> np.ndarray:
    """Which ids (n,) are the first of their value."""
    order = in_order(words)
    ordered = words[order]
    repeats = np.zeros(len(words), dtype=bool)
    repeats[order[1:]] = (ordered[1:] == ordered[:-1]).all(axis=1)
    return ~repeats
