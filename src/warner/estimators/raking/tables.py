"""Raking: the table closest to a given one among those with given margins.

    min sum theta log(theta / base)   subject to   margin_S(theta) = target_S for all S

The minimum is the I-projection of ``base``. Iterative proportional fitting (IPF) finds it: it
multiplies the table by target_S / margin_S, for one S after another (Deming and Stephan 1940;
Csiszar 1975). No share becomes negative, and interactions that no target names stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

Axes = tuple[int, ...]
Targets = Mapping[Axes, np.ndarray]

# Raking ends where a sweep moves no margin by more than this, in l1.
_CLOSE = 1e-9
_MOST_SWEEPS = 200
# Cells above which axes are raked in blocks, and cells that all sweeps may visit.
_SMALL = 2**12
_WORK = 2e8
_BLOCKS = 4


def margin(table: np.ndarray, axes: Sequence[int]) -> np.ndarray:
    """The sums of a table over all other axes.

    Args:
        table: one axis for each attribute.
        axes: the axes that are kept, increasing.

    >>> margin(np.arange(6).reshape(2, 3), [0]).tolist()
    [3, 12]
    """
    # Neighbouring axes are joined first: sums over few long axes are faster.
    shape: list[int] = []
    summed: list[int] = []
    joined = False
    for axis, size in enumerate(table.shape):
        if axis in axes:
            shape.append(size)
        elif joined:
            shape[-1] *= size
        else:
            shape.append(size)
            summed.append(len(shape) - 1)
        joined = axis not in axes
    kept = [table.shape[axis] for axis in axes]
    return np.asarray(table.reshape(shape).sum(axis=tuple(summed))).reshape(kept)


def spread(values: np.ndarray, axes: Sequence[int], ndim: int) -> np.ndarray:
    """A table of some axes, with axes of length 1 for the others.

    Args:
        values: one axis for each of ``axes``.
        axes: places of these axes, increasing.
        ndim: the number of all axes.

    >>> spread(np.ones((2, 3)), (0, 2), 4).shape
    (2, 1, 3, 1)
    """
    shape = [1] * ndim
    for axis, size in zip(axes, values.shape, strict=True):
        shape[axis] = size
    return values.reshape(shape)


def product_of(parts: Sequence[np.ndarray]) -> np.ndarray:
    """The table of independent attributes.

    Args:
        parts: the distribution (K_a,) of each attribute.

    >>> product_of([np.array([0.5, 0.5]), np.array([0.2, 0.8])]).tolist()
    [[0.1, 0.4], [0.1, 0.4]]
    """
    table = np.ones(())
    for part in parts:
        table = np.multiply.outer(table, part)
    return table


def pair_blocks(ndim: int) -> list[Axes]:
    """Sets of axes that together hold every pair, each with about half of the axes.

    Args:
        ndim: the number of axes.

    >>> pair_blocks(3), pair_blocks(8)[:2]
    ([(0, 1, 2)], [(0, 1, 2, 3), (0, 1, 4, 5)])
    """
    if ndim <= _BLOCKS:
        return [tuple(range(ndim))]
    blocks = [tuple(map(int, block)) for block in np.array_split(np.arange(ndim), _BLOCKS)]
    return [first + second for first, second in combinations(blocks, 2)]


def raked(table: np.ndarray, targets: Targets, sweeps: int | None = None) -> np.ndarray:
    """Rake a table to margins.

    Targets that no table has together cannot all be met. The result then meets the last ones, and
    comes close to the others.

    Args:
        table: shares, one axis for each attribute.
        targets: {axes, increasing: the margin of these axes}, of one or two axes each.
        sweeps: the largest number of times that all targets are met in turn. None for 200, or
            fewer for large tables: then all sweeps together visit 2 10^8 cells, at least twice
            each target.

    Returns:
        The raked table. A margin whose target is 0 everywhere but where the table is 0 cannot be
        met, and such cells stay 0.

    >>> table = np.array([[0.4, 0.1], [0.1, 0.4]])
    >>> raked(table, {(0,): np.array([0.2, 0.8]), (1,): np.array([0.5, 0.5])}).sum(axis=1).round(6)
    array([0.2, 0.8])
    """
    if not targets:
        return table
    if table.size <= _SMALL or table.ndim <= _BLOCKS:
        return _in_turn(table, targets, sweeps or _sweeps(table.size, len(targets)))
    blocks = {
        block: {axes: target for axes, target in targets.items() if set(axes) <= set(block)}
        for block in pair_blocks(table.ndim)
    }
    blocks = {block: found for block, found in blocks.items() if found}
    out = table
    for _ in range(sweeps or _sweeps(table.size, len(blocks))):
        moved = 0.0
        for block, found in blocks.items():
            old = margin(out, block)
            place = {axis: i for i, axis in enumerate(block)}
            inside = {tuple(place[a] for a in axes): target for axes, target in found.items()}
            new = raked(old, inside)
            moved = max(moved, float(np.abs(new - old).sum()))
            out = out * spread(_ratio(new, old), block, table.ndim)
        if moved < _CLOSE:
            break
    return out


def _sweeps(cells: int, targets: int) -> int:
    """How often all targets are met in turn at most."""
    return int(np.clip(_WORK / (cells * targets), 2, _MOST_SWEEPS))


def _in_turn(table: np.ndarray, targets: Targets, sweeps: int) -> np.ndarray:
    """IPF, one target after another."""
    out = table
    for _ in range(sweeps):
        moved = 0.0
        for axes, target in targets.items():
            found = margin(out, axes)
            moved = max(moved, float(np.abs(found - target).sum()))
            out = out * spread(_ratio(target, found), axes, table.ndim)
        if moved < _CLOSE:
            break
    return out


def _ratio(new: np.ndarray, old: np.ndarray) -> np.ndarray:
    """new / old, and 0 where old is 0."""
    out: np.ndarray = np.divide(new, old, out=np.zeros_like(old), where=old > 0)
    return out
