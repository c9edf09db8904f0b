"""Raking: the table closest to a given one among those with given margins.

    min sum theta log(theta / base)   subject to   margin_S(theta) = target_S for all S

The minimum is the I-projection of ``base``. Iterative proportional fitting (IPF) finds it: it
multiplies the table by target_S / margin_S, for one S after another (Deming and Stephan 1940;
Csiszar 1975). No share becomes negative, and interactions that no target names stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, combinations

import numpy as np

Axes = tuple[int, ...]
Targets = Mapping[Axes, np.ndarray]

# Raking ends where a sweep moves no margin by more than this, in l1.
_CLOSE = 1e-9
# Targets that still move margins by more than this after the last sweep contradict each other.
_APART = 1e-6
_MOST_SWEEPS = 60
_SWEEPS_OF_A_BLOCK = 10  # each time that its turn comes
_NOTHING = 1e-200  # shares that are lost: targets that contradict each other drive cells to 0
# Cells above which axes are raked in blocks, and cells that all sweeps may visit.
_SMALL = 2**12
_WORK = 1e8


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


def blocks_of(ndim: int, order: int) -> list[Axes]:
    """Sets of axes that together hold every subset of ``order`` axes, each about half of the axes.

    Args:
        ndim: the number of axes.
        order: the number of axes in a subset.

    >>> blocks_of(3, 2), blocks_of(8, 2)[:2]
    ([(0, 1, 2)], [(0, 1, 2, 3), (0, 1, 4, 5)])
    """
    if ndim <= 2 * order:
        return [tuple(range(ndim))]
    parts = [tuple(map(int, part)) for part in np.array_split(np.arange(ndim), 2 * order)]
    return [tuple(chain.from_iterable(chosen)) for chosen in combinations(parts, order)]


def margins(table: np.ndarray, wanted: Iterable[Axes]) -> dict[Axes, np.ndarray]:
    """Several margins of a table. Large tables are first summed to blocks that hold several.

    Args:
        table: one axis for each attribute.
        wanted: sets of axes, each increasing.

    Returns:
        {axes: the margin of these axes}.
    """
    left = dict.fromkeys(wanted)
    order = max(map(len, left), default=0)
    if table.size <= _SMALL or table.ndim <= 2 * order:
        return {axes: margin(table, axes) for axes in left}
    found: dict[Axes, np.ndarray] = {}
    for block in blocks_of(table.ndim, order):
        inside = [axes for axes in left if set(axes) <= set(block)]
        part = margin(table, block) if inside else table
        for axes in inside:
            del left[axes]
            found[axes] = margin(part, [block.index(axis) for axis in axes])
    return found


def raked(table: np.ndarray, targets: Targets, sweeps: int | None = None) -> np.ndarray:
    """Rake a table to margins.

    Targets that no table has together cannot all be met. IPF then goes round in a circle. The
    result is the mean of the tables of one round, which comes close to all targets.

    Args:
        table: shares, one axis for each attribute.
        targets: {axes, increasing: the margin of these axes}.
        sweeps: the largest number of times that all targets are met in turn. None for 60, or
            fewer for large tables: then all sweeps together visit 10^8 cells, at least twice
            each target.

    Returns:
        The raked table. Cells that are 0 stay 0.

    >>> table = np.array([[0.4, 0.1], [0.1, 0.4]])
    >>> raked(table, {(0,): np.array([0.2, 0.8]), (1,): np.array([0.5, 0.5])}).sum(axis=1).round(6)
    array([0.2, 0.8])
    """
    if not targets:
        return table
    order = max(map(len, targets))
    if table.size <= _SMALL or table.ndim <= 2 * order:
        return _in_turn(table, {axes: {axes: target} for axes, target in targets.items()}, sweeps)
    left = dict(targets)
    blocks: dict[Axes, Targets] = {}
    for block in blocks_of(table.ndim, order):
        inside = {axes: left.pop(axes) for axes in list(left) if set(axes) <= set(block)}
        if inside:
            blocks[block] = inside
    return _in_turn(table, blocks, sweeps)


def _in_turn(table: np.ndarray, blocks: Mapping[Axes, Targets], sweeps: int | None) -> np.ndarray:
    """IPF, one block of axes after another: its margin is raked to the targets inside it."""
    if sweeps is None:
        sweeps = int(np.clip(_WORK / (table.size * len(blocks)), 2, _MOST_SWEEPS))
    out, total = table, np.zeros(1)
    moved = 0.0
    for sweep in range(sweeps):
        moved = 0.0
        for axes, targets in blocks.items():
            old = margin(out, axes)
            new = _block_raked(old, axes, targets)
            moved = max(moved, float(np.abs(old - new).sum()))
            out = out * spread(_ratio(new, old), axes, table.ndim)
            if sweep == sweeps - 1:
                total = total + out
        if moved < _CLOSE:
            return out
    return total / len(blocks) if moved > _APART else out


def _block_raked(old: np.ndarray, block: Axes, targets: Targets) -> np.ndarray:
    """The margin of a block, raked to targets whose axes are those of the whole table."""
    if block in targets:
        return targets[block]
    place = {axis: i for i, axis in enumerate(block)}
    inside = {tuple(place[a] for a in axes): target for axes, target in targets.items()}
    return raked(old, inside, _SWEEPS_OF_A_BLOCK)


def _ratio(new: np.ndarray, old: np.ndarray) -> np.ndarray:
    """new / old, and 0 where old is as good as 0."""
    out: np.ndarray = np.divide(new, old, out=np.zeros_like(old), where=old > _NOTHING)
    return out
