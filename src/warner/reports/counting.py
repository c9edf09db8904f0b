"""How often values, bits and whole reports occur in arrays: exact counts of integers."""

from __future__ import annotations

import numpy as np

# 255 bytes of 0 or 1 are the most that a byte-wide lane holds without a carry.
_LANES = 255


def count_values(index: np.ndarray, size: int, repeats: np.ndarray | None = None) -> np.ndarray:
    """How often each of 0..size-1 occurs.

    Args:
        index: integers in 0..size-1, (n,).
        size: how many different values there are.
        repeats: how often each row counts, int64 (n,); None for once each.

    Returns:
        int64 (size,).

    >>> count_values(np.array([2, 0, 2]), 4).tolist()
    [1, 0, 2, 0]
    >>> count_values(np.array([2, 0, 2]), 4, np.array([1, 1, 10])).tolist()
    [1, 0, 11, 0]
    """
    if repeats is None:
        return np.bincount(index, minlength=size)
    total = np.zeros(size, dtype=np.int64)
    np.add.at(total, index, repeats)
    return total


def sum_bits(packed: np.ndarray, width: int) -> np.ndarray:
    """How many of n packed reports set each bit.

    The eight bits of a byte are added in byte-wide lanes, 255 reports at a time.

    Args:
        packed: bits packed 8 to a byte, most significant bit first, uint8 (n, bytes).
        width: how many bits a report has.

    Returns:
        int64 (width,).

    >>> sum_bits(np.array([[0b10100000], [0b10000000]], dtype=np.uint8), 3).tolist()
    [2, 0, 1]
    """
    n, size = packed.shape
    total = np.zeros((size, 8), dtype=np.int64)
    block = max(1, 2**18 // (size * _LANES)) * _LANES
    for start in range(0, n, block):
        part = np.ascontiguousarray(packed[start : start + block])
        rows = len(part) // _LANES * _LANES
        if rows:
            lanes = part[:rows].reshape(_LANES, -1)
            for bit in range(8):
                ones = _lane_sums(lanes, bit)
                total[:, 7 - bit] += ones.reshape(-1, size).sum(axis=0, dtype=np.int64)
        if rows < len(part):
            total += np.unpackbits(part[rows:], axis=1).sum(axis=0, dtype=np.int64).reshape(size, 8)
    return total.ravel()[:width]


def _lane_sums(lanes: np.ndarray, bit: int) -> np.ndarray:
    """Column sums (uint8, at most 255) of one bit of every byte of ``lanes`` (255, width)."""
    sums: np.ndarray
    if lanes.shape[1] % 8 == 0:
        words = lanes.view(np.uint64)
        mask = np.uint64(0x0101010101010101)
        sums = np.add.reduce((words >> np.uint64(bit)) & mask, axis=0).view(np.uint8)
    else:
        sums = np.add.reduce((lanes >> np.uint8(bit)) & np.uint8(1), axis=0, dtype=np.uint8)
    return sums


def count_rows(rows: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different rows, and how often each occurs in total.

    Args:
        rows: rows of bytes, uint8 (n, bytes).
        counts: how often each row counts, int64 (n,).

    Returns:
        The m different rows (m, bytes), sorted as byte strings, and int64 (m,).

    >>> rows, counts = count_rows(np.array([[2], [1], [2]], dtype=np.uint8), np.array([1, 1, 5]))
    >>> rows.tolist(), counts.tolist()
    ([[1], [2]], [1, 6])
    """
    different, place = unique_rows(rows)
    total = np.zeros(len(different), dtype=np.int64)
    np.add.at(total, place, counts)
    return different, total


def unique_rows(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different rows of an array of bytes, and the place of every row among them.

    Eight bytes at a time are sorted as a number. This is many times faster than sorting byte
    strings.

    Args:
        rows: uint8 (n, bytes).

    Returns:
        The m different rows (m, bytes), sorted as byte strings, and int64 (n,) in 0..m-1.

    >>> unique_rows(np.array([[2, 1], [1, 9], [2, 1]], dtype=np.uint8))[1].tolist()
    [1, 0, 1]
    """
    n, width = rows.shape
    padded = np.zeros((n, -(-width // 8) * 8), dtype=np.uint8)
    padded[:, :width] = rows
    first, place = np.zeros(min(n, 1), dtype=np.int64), np.zeros(n, dtype=np.int64)
    for i, words in enumerate(padded.view(">u8").T):
        numbers = words.astype(np.uint64)
        if i:
            # Numbers of pairs stay below n^2, and pairs are in the order of the bytes.
            different, inverse = np.unique(numbers, return_inverse=True)
            numbers = place.astype(np.uint64) * np.uint64(different.size)
            numbers += inverse.ravel().astype(np.uint64)
        _, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
        place = inverse.ravel()
    return np.ascontiguousarray(rows[first]), place
