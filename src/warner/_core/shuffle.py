"""Uniform random orders of rows, in memory or on disk.

The order of the rows in a file can tell whose report is whose, so reports are written in a random
order. All orders are exactly equally likely. The random words drawn and the bytes stored and read
depend on the number of rows and their width, never on their contents.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator

import numpy as np

from warner._core.sampling import Source

_ROWS = 2**21  # rows in memory at a time
_PERMUTED = 2**18  # rows from a file that are permuted at a time, so that they fit the cache
_BYTES = 2**26  # bytes in memory at a time
_BUCKETS = 2**12  # random parts into which the rows of a file are divided


def rows_at_a_time(width: int, most: int) -> int:
    """Return the number of rows of ``width`` bytes to hold at a time, from 1 to ``most``."""
    return max(1, min(most, _BYTES // max(width, 1)))


def permutation(source: Source, n: int) -> np.ndarray:
    """Return a uniform permutation of 0..n-1, (n,).

    Each index gets one of 2^32 places, drawn uniformly. The indices are sorted by place, and
    indices with the same place are permuted again.
    """
    low, high = source.words(n, np.uint16), source.words(n, np.uint16)
    # Integers of 16 bits are sorted by their bytes, in a time that does not depend on them.
    order = np.argsort(low, kind="stable")
    order = order[np.argsort(high[order], kind="stable")]
    place = (high.astype(np.uint32) << 16 | low)[order]
    shared = np.flatnonzero(place[1:] == place[:-1])
    if shared.size:
        first = shared[np.diff(shared, prepend=-2) > 1]
        for start in first.tolist():
            stop = int(np.searchsorted(place, place[start], side="right"))
            order[start:stop] = order[start:stop][permutation(source, stop - start)]
    return order


class Pieces:
    """Collects rows and passes them on in pieces of a fixed size, and the rest at the end."""

    def __init__(self, rows: int, width: int, take: Callable[[np.ndarray], None]) -> None:
        """Make an empty collector."""
        self._take = take
        self._rows = rows
        self._held = np.empty((0, width), np.uint8)
        self._filled = 0

    @property
    def rest(self) -> np.ndarray:
        """The rows that were not passed on yet, fewer than a piece."""
        return self._held[: self._filled]

    def add(self, rows: np.ndarray) -> None:
        """Collect rows, (n, width) uint8."""
        done = 0
        while done < len(rows):
            step = min(self._rows - self._filled, len(rows) - done)
            self._grow(self._filled + step)
            self._held[self._filled : self._filled + step] = rows[done : done + step]
            self._filled += step
            done += step
            if self._filled == self._rows:
                self._take(self._held)
                self._filled = 0

    def _grow(self, needed: int) -> None:
        """Make room for ``needed`` rows, by doubling, so that few rows need little memory."""
        if needed > len(self._held):
            larger = np.empty(
                (min(self._rows, max(needed, 2 * len(self._held))), self._held.shape[1]), np.uint8
            )
            larger[: self._filled] = self.rest
            self._held = larger

    def flush(self) -> None:
        """Pass the rest on."""
        if self._filled:
            self._take(self.rest)
            self._filled = 0


class Shuffle:
    """Takes rows of bytes and gives them back in a uniformly random order.

    Each row of a piece that fills the memory gets a uniformly random bucket. The piece is sorted by
    bucket and written to an unnamed temporary file. At the end a few buckets at a time are read
    from all pieces, and their rows are permuted in memory.
    """

    def __init__(self, width: int, source: Source, folder: str) -> None:
        """Make an empty shuffle."""
        self._width = width
        self._source = source
        self._folder = folder
        self._rows = rows_at_a_time(width, _ROWS)
        self._pieces = Pieces(self._rows, width, self._store)
        self._file: tempfile._TemporaryFileWrapper[bytes] | None = None
        # The position of each piece in the file.
        self._starts: list[int] = []
        # For each piece the first row of each bucket, (buckets + 1,).
        self._bounds: list[np.ndarray] = []

    def add(self, rows: np.ndarray) -> None:
        """Take in rows, (n, width) uint8."""
        self._pieces.add(rows)

    def _store(self, rows: np.ndarray) -> None:
        """Write a piece to the file, sorted by random buckets."""
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self._folder, prefix=".warner-")  # type: ignore[assignment]  # noqa: SIM115
        assert self._file is not None
        bucket = self._source.words(len(rows), np.uint16) & (_BUCKETS - 1)
        order = np.argsort(bucket, kind="stable")
        self._starts.append(self._file.tell())
        sizes = np.bincount(bucket, minlength=_BUCKETS)
        self._bounds.append(np.concatenate([[0], np.cumsum(sizes)]).astype(np.uint32))
        self._file.write(rows[order].data)

    def shuffled(self) -> Iterator[np.ndarray]:
        """Return all rows in a uniformly random order, in parts (m, width) uint8 for the memory."""
        if self._file is None:
            rest = self._pieces.rest
            if len(rest):
                yield rest[permutation(self._source, len(rest))]
            return
        self._pieces.flush()
        bounds = np.array(self._bounds, dtype=np.int64)
        total = bounds.sum(axis=0)
        most = rows_at_a_time(self._width, _PERMUTED)
        first = 0
        while first < _BUCKETS:
            last = max(
                first + 1, int(np.searchsorted(total, total[first] + most, side="right")) - 1
            )
            part = np.empty((int(total[last] - total[first]), self._width), np.uint8)
            filled = 0
            for start, bound in zip(self._starts, bounds, strict=True):
                size = int(bound[last] - bound[first])
                self._file.seek(start + int(bound[first]) * self._width)
                part[filled : filled + size] = np.frombuffer(
                    self._file.read(size * self._width), np.uint8
                ).reshape(size, self._width)
                filled += size
            yield part[permutation(self._source, len(part))]
            first = last

    def close(self) -> None:
        """Remove the temporary file."""
        if self._file is not None:
            self._file.close()
            self._file = None
