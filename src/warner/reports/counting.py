"""How often values, bits and whole reports occur in arrays: exact counts of integers."""

from __future__ import annotations

import numpy as np

from warner._core.errors import ArgumentError

LARGEST = 2**26  # counts of all groups together
# 255 bits are the most that a byte counts without a carry.
_LANES = 255
_BLOCK = 2**18  # bytes of reports at a time, so that the arrays fit the cache
_COLUMNS = 2**10  # bytes of a report at a time
# How many bytes there must be for each count of a table that counts so many of them together.
_PER_CELL = {2: 1.5, 3: 10.0, 4: 10.0}
_MANY = 2**15  # bytes from which on several are counted together
# Every second pair, the lower half of every four bits, and of every byte.
_EVERY = {1: 0x5555555555555555, 2: 0x3333333333333333, 4: 0x0F0F0F0F0F0F0F0F}


def count_values(index: np.ndarray, size: int, repeats: np.ndarray | None = None) -> np.ndarray:
    """How often each of 0..size-1 occurs.

    Shapes: index (n,), repeats (n,).

    >>> count_values(np.array([2, 0, 2]), 4).tolist()
    [1, 0, 2, 0]
    >>> count_values(np.array([2, 0, 2]), 4, np.array([1, 1, 10])).tolist()
    [1, 0, 11, 0]
    """
    if repeats is None:
        if index.dtype == np.uint8 and size > 1:
            return _count_bytes(index, size)
        return np.bincount(index, minlength=size)
    total = np.zeros(size, dtype=np.int64)
    np.add.at(total, index, repeats)
    return total


def _count_bytes(values: np.ndarray, size: int) -> np.ndarray:
    """How often each of 0..size-1 occurs among bytes, int64 (size,)."""
    # Up to four bytes at a time are one number, so that there are fewer steps than bytes.
    most = {r: min(2**16, len(values) / least) for r, least in _PER_CELL.items()}
    together = max((r for r in most if size**r <= most[r]), default=1)
    if together == 1 or len(values) < _MANY:
        return np.bincount(values, minlength=size)
    steps = len(values) // together
    joined = values[:steps].astype(np.uint16)
    for first in range(steps, together * steps, steps):
        joined *= np.uint16(size)
        joined += values[first : first + steps]
    table = np.bincount(joined, minlength=size**together)
    total = np.bincount(values[together * steps :], minlength=size)
    for _ in range(together):
        table = table.reshape(size, -1)
        total += table.sum(axis=1)
        table = table.sum(axis=0)
    return total


def sum_bits(packed: np.ndarray, width: int) -> np.ndarray:
    """How many of n packed reports set each bit."""
    n, size = packed.shape
    if size > _COLUMNS:
        parts = (packed[:, start : start + _COLUMNS] for start in range(0, size, _COLUMNS))
        return np.concatenate([sum_bits(chunk, 8 * chunk.shape[1]) for chunk in parts])[:width]
    total = np.zeros((size, 8), dtype=np.int64)
    block = max(1, _BLOCK // (size * _LANES)) * _LANES
    for start in range(0, n, block):
        chunk = np.ascontiguousarray(packed[start : start + block])
        # Narrow reports stand side by side in a lane. Those that are left over stand alone.
        rows = len(chunk) // _LANES * _LANES
        if rows:
            total += _lane_sums(chunk[:rows].reshape(_LANES, -1), size)
        if rows < len(chunk):
            total += _lane_sums(chunk[rows:], size)
    return total.ravel()[:width]


def sum_bits_of_groups(
    packed: np.ndarray,
    width: int,
    group: np.ndarray,
    groups: int,
    repeats: np.ndarray | None = None,
) -> np.ndarray:
    """How many reports of each group set each bit, (groups, width).

    Shapes: packed (n, bytes), group (n,), repeats (n,).

    >>> packed = np.array([[0b10000000], [0b11000000]], dtype=np.uint8)
    >>> sum_bits_of_groups(packed, 2, np.array([1, 1]), 2, np.array([5, 1])).tolist()
    [[0, 0], [6, 1]]
    """
    sizes = count_values(group, groups)
    order = np.argsort(group, kind="stable")
    different = np.flatnonzero(sizes)
    start = np.cumsum(sizes[different]) - sizes[different]
    sums = np.zeros((groups, width), dtype=np.int64)
    if not len(order):
        return sums
    for i in range(packed.shape[1]):
        bits = np.unpackbits(packed[order, i][:, None], axis=1)
        if repeats is not None:
            bits = bits * repeats[order, None]
        of_byte = np.add.reduceat(bits, start, axis=0, dtype=np.int64)
        sums[different, 8 * i : 8 * i + 8] = of_byte[:, : width - 8 * i]
    return sums


def _lane_sums(lanes: np.ndarray, size: int) -> np.ndarray:
    """How often each bit of a report is 1, int64 (size, 8)."""
    r, width = lanes.shape
    if width % 8 or r % 15:
        padded = np.zeros((-(-r // 15) * 15, -(-width // 8) * 8), dtype=np.uint8)
        padded[:r, :width] = lanes
        lanes = padded
    parts = [lanes.view(np.uint64).ravel()]
    # Two bits hold the sum of 3 reports, four bits that of 15, and a byte that of 255. So bits are
    # added in place, 64 at a time: every second bit first, then every fourth and every eighth.
    for bits, rows in ((1, 3), (2, 5), (4, len(lanes) // 15)):
        mask = np.uint64(_EVERY[bits])
        split = [words >> np.uint64(shift) & mask for words in parts for shift in (0, bits)]
        # Any 3 rows may be added, such as one of each third.
        parts = [np.add.reduce(words.reshape(rows, -1), axis=0) for words in split]
    # The parts are those of the bits 0, 4, 2, 6, 1, 5, 3, 7 of a byte.
    out = np.empty((size, 8), dtype=np.int64)
    for bit, words in zip((0, 4, 2, 6, 1, 5, 3, 7), parts, strict=True):
        ones = words.view(np.uint8).ravel()[:width].reshape(-1, size)
        out[:, 7 - bit] = ones.sum(axis=0, dtype=np.int64)
    return out


def count_rows(rows: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different rows, and how often each occurs in total.

    Shapes: counts (n,).

    >>> rows, counts = count_rows(np.array([[2], [1], [2]], dtype=np.uint8), np.array([1, 1, 5]))
    >>> rows.tolist(), counts.tolist()
    ([[1], [2]], [1, 6])
    """
    different, rank = unique_rows(rows)
    total = np.zeros(len(different), dtype=np.int64)
    np.add.at(total, rank, counts)
    return different, total


def unique_rows(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different rows of an array of bytes, and the place of every row among them."""
    n, width = rows.shape
    padded = np.zeros((n, -(-width // 8) * 8), dtype=np.uint8)
    padded[:, :width] = rows
    different, rank = np.zeros(min(n, 1)), np.zeros(n, dtype=np.int64)
    # Sorting eight bytes as a number is many times faster than sorting byte strings.
    for i, words in enumerate(padded.view(">u8").T):
        numbers = words.astype(np.uint64)
        if i:
            # Numbers of pairs stay below n^2, and pairs are in the order of the bytes.
            different, inverse = np.unique(numbers, return_inverse=True)
            numbers = rank.astype(np.uint64) * np.uint64(different.size)
            numbers += inverse.ravel().astype(np.uint64)
        different, inverse = np.unique(numbers, return_inverse=True)
        rank = inverse.ravel()
    # Any of several equal rows may stand for them, and to look for the first takes a slower sort.
    some = np.empty(different.size, dtype=np.int64)
    some[rank] = np.arange(n)
    return np.ascontiguousarray(rows[some]), rank


def count_rows_of_groups(
    places: np.ndarray, rows: np.ndarray, counts: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The different rows of each group, sorted by group and then as byte strings, and their counts.

    Shapes: places (n,), rows (n, bytes), counts (n,) -> (M,), (M, bytes), (M,).
    """
    if not places.any():  # all are of one group
        different, total = count_rows(rows, counts)
        return np.zeros(len(different), dtype=np.int64), different, total
    head = places.astype(">i8").reshape(-1, 1).view(np.uint8)
    different, total = count_rows(np.concatenate([head, rows], axis=1), counts)
    where = np.ascontiguousarray(different[:, :8]).view(">i8").ravel().astype(np.int64)
    return where, np.ascontiguousarray(different[:, 8:]), total


def are_in_order(places: np.ndarray, rows: np.ndarray) -> bool:
    """Whether rows are different in each group, and sorted as :func:`count_rows_of_groups` does."""
    differs = rows[1:] != rows[:-1]
    first = np.arange(len(differs)), differs.argmax(axis=1)
    # Where two rows are equal, the first byte is no larger in the second one.
    larger = rows[1:][first] > rows[:-1][first]
    steps = np.diff(places)
    return bool(((steps > 0) | ((steps == 0) & larger)).all())


def require_room(groups: int, cells: int) -> None:
    """Refuse more groups than there is memory for."""
    if groups > 1 and groups * cells > LARGEST:
        rule = f"{groups:,} groups with {cells:,} counts each would be more than {LARGEST:,} counts"
        remedy = "Group by fewer columns, or by coarser values"
        raise ArgumentError("by", rule, None, remedy)
