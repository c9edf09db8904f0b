"""Uniform random subsets as packed bits, by exact integer arithmetic on random words.

Two methods draw subsets of m of N items. Both are exactly uniform, and a rule of cost chooses.

- Floyd's algorithm takes one step for each member, for all subsets at once.
- For many members, each item enters on its own with a probability slightly below m / N, and items
  drawn uniformly fill the subset up. A subset with too many members is drawn again. No step prefers
  one item to another, so given its size the subset is uniform, whatever the probability is.
"""

from __future__ import annotations

import math

import numpy as np

from warner._core.sampling import Source

_BLOCK = 2**18  # bytes of subsets at a time, so that they fit the cache
_ROWS = 2**8, 2**13  # subsets at a time, where they are large: filled up, and by Floyd's algorithm
_MASKS = (128 >> np.arange(8)).astype(np.uint8)
# How far the expected number of members lies below the wanted one, in standard deviations.
_MARGIN = 2.0
# Measured costs of one byte of independent bits and of one item that fills up, in steps of Floyd's
# algorithm for one subset; and of the calls of one step, and of filling up, whatever n is.
_BYTE, _FILL = 0.19, 3.9
_STEP_CALLS, _FILL_CALLS = 900, 15_000


def uniform_subsets(
    source: Source, total: int, size: int, fewer: np.ndarray, width: int
) -> np.ndarray:
    """Return subsets of the items 0..total-1 as packed bits, uint8 (n, width).

    Shapes: fewer (n,).

    >>> rng = np.random.default_rng(1)
    >>> found = uniform_subsets(Source(rng), 10, 4, np.array([False, True]), 2)
    >>> np.unpackbits(found, axis=1).sum(axis=1).tolist()
    [4, 3]
    """
    if 2 * size > total + 1:
        # The complements are smaller: total - size members, or one more.
        others = uniform_subsets(source, total, total - size + 1, ~fewer, width)
        others ^= _items(total, width)
        return others
    n = len(fewer)
    packed = np.zeros((n, width), dtype=np.uint8)
    fills = not source.one_at_a_time and _fills_up(total, size, n)
    draw = _fill_up if fills else _floyd
    rows = max(_ROWS[not fills], _BLOCK // width)
    for start in range(0, n, rows):
        part = slice(start, start + rows)
        draw(source, total, size, fewer[part], packed[part])
    return packed


def _items(total: int, width: int) -> np.ndarray:
    """The set of all items as packed bits (width,)."""
    return np.packbits(np.arange(8 * width) < total)


def _spread(total: int, size: int) -> float:
    """The standard deviation of the number of members where items enter on their own."""
    return math.sqrt(size * (total - size) / total)


def _fills_up(total: int, size: int, n: int) -> bool:
    """Whether independent bits, filled up, cost less than Floyd's algorithm for n subsets."""
    missing = _MARGIN * _spread(total, size) + 1
    floyd = size * (1 + _STEP_CALLS / max(1, min(n, _ROWS[1])))
    filling = total / 8 * _BYTE + missing * _FILL + _FILL_CALLS / max(1, n)
    return missing < size and filling < floyd


def _floyd(source: Source, total: int, size: int, fewer: np.ndarray, packed: np.ndarray) -> None:
    """Floyd's algorithm, in place: ``size`` steps, or one less for subsets with one member less."""
    n, width = packed.shape
    flat, base = packed.reshape(-1), np.arange(n) * width
    for step in range(size):
        top = total - size + step
        rows = np.flatnonzero(~fewer) if step == 0 else slice(None)
        start = base[rows]
        drawn = source.uniform(top + 1, len(start))
        where, mask = start + (drawn >> 3), _MASKS[drawn & 7]
        before = flat[where]
        flat[where] = before | mask
        # Where the item is a member already, the last item enters instead.
        flat[start[before & mask != 0] + (top >> 3)] |= _MASKS[top & 7]


def _fill_up(source: Source, total: int, size: int, fewer: np.ndarray, packed: np.ndarray) -> None:
    """Independent bits, which uniform items fill up to the wanted sizes, in place."""
    n, width = packed.shape
    words = -(-width // 8)
    wanted = size - fewer.astype(np.int64)
    below = size - 1 - _MARGIN * _spread(total, size)
    threshold = (int(below * 2**16) << 48) // total
    items = _items(total, 8 * words).view(np.uint64)
    sets = np.empty((n, words), dtype=np.uint64)
    missing = np.full(n, -1, dtype=np.int64)
    while (redo := np.flatnonzero(missing < 0)).size:
        bits = source.bits(threshold, redo.size * words * 8).view(np.uint64).reshape(-1, words)
        bits &= items
        sets[redo] = bits
        missing[redo] = wanted[redo] - _sizes(bits)
    flat = sets.view(np.uint8).reshape(-1)
    while (short := np.flatnonzero(missing)).size:
        # As many items as are missing at most enter, so a set never has too many.
        start = np.repeat(short * (8 * words), missing[short])
        _enter(flat, start, source.uniform(total, len(start)))
        missing[short] = wanted[short] - _sizes(sets[short])
    packed[:] = sets.view(np.uint8)[:, :width]


def _enter(flat: np.ndarray, start: np.ndarray, drawn: np.ndarray) -> None:
    """Enter items into sets that begin at the bytes ``start``; an item may be drawn twice.

    Items at the same place within their bytes are entered together: then those that share a byte
    are the same item, and none is lost.
    """
    where, place = start + (drawn >> 3), (drawn & 7).astype(np.uint8)
    for bit in range(8):
        flat[where[place == bit]] |= _MASKS[bit]


def _sizes(sets: np.ndarray) -> np.ndarray:
    """The numbers of members (m,) of sets as 64-bit words (m, words)."""
    out: np.ndarray = np.bitwise_count(sets).sum(axis=1, dtype=np.int64)
    return out
