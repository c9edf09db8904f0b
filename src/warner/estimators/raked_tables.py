"""Joint distributions with given margins: raked tables, as arrays and as junction trees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from math import prod

import numpy as np

from warner._core.progress import in_blocks

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
    sums = table.reshape(shape).sum(axis=tuple(summed))
    return np.asarray(sums).reshape([table.shape[axis] for axis in axes])


def spread(values: np.ndarray, axes: Sequence[int], ndim: int) -> np.ndarray:
    """A table of some axes, with axes of length 1 for the others.

    >>> spread(np.ones((2, 3)), (0, 2), 4).shape
    (2, 1, 3, 1)
    """
    shape = [1] * ndim
    for axis, size in zip(axes, values.shape, strict=True):
        shape[axis] = size
    return values.reshape(shape)


def product_of(singles: Sequence[np.ndarray]) -> np.ndarray:
    """The table of independent attributes with shares (K_a,) each, or of independent tables."""
    table = np.ones(())
    for single in singles:
        table = np.multiply.outer(table, single)
    return table


def blocks_of(ndim: int, order: int) -> list[Axes]:
    """Sets of about half of the axes that together hold every subset of ``order`` axes."""
    if ndim <= 2 * order:
        return [tuple(range(ndim))]
    runs = [tuple(map(int, run)) for run in np.array_split(np.arange(ndim), 2 * order)]
    return [tuple(chain.from_iterable(chosen)) for chosen in combinations(runs, order)]


def margins(table: np.ndarray, sets: Iterable[Axes]) -> dict[Axes, np.ndarray]:
    """Several margins of a table. Large tables are first summed to blocks that hold several."""
    left = dict.fromkeys(sets)
    order = max(map(len, left), default=0)
    if table.size <= _SMALL or table.ndim <= 2 * order:
        return {axes: margin(table, axes) for axes in left}
    sums: dict[Axes, np.ndarray] = {}
    for block in blocks_of(table.ndim, order):
        inside = [axes for axes in left if set(axes) <= set(block)]
        of_block = margin(table, block) if inside else table
        for axes in inside:
            del left[axes]
            sums[axes] = margin(of_block, [block.index(axis) for axis in axes])
    return sums


def raked(table: np.ndarray, targets: Targets, sweeps: int | None = None) -> np.ndarray:
    """Rake a table to margins.

    Targets that no table has together cannot all be met. IPF then goes round in a circle. The
    result is the mean of the tables of one round, which comes close to all targets.

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
    """The margin of a block, raked to targets with the axes of the whole table."""
    if block in targets:
        return targets[block]
    inner = {axis: i for i, axis in enumerate(block)}
    inside = {tuple(inner[a] for a in axes): target for axes, target in targets.items()}
    return raked(old, inside, _SWEEPS_OF_A_BLOCK)


def _ratio(new: np.ndarray, old: np.ndarray) -> np.ndarray:
    """new / old, and 0 where old is as good as 0."""
    if old.shape != new.shape:  # to broadcast costs more than the division of few numbers
        old = np.broadcast_to(old, new.shape)
    return np.asarray(np.divide(new, old, out=np.zeros_like(new), where=old > _NOTHING))


# IPF ends where one round moves no clique by more than this, in l1, or after this many rounds.
_MOST_ROUNDS = 60
_SWEEPS_OF_A_CLIQUE = 10  # each time that its turn comes
_BATCH = 2**16  # people who are drawn at a time


@dataclass(frozen=True, eq=False)
class JunctionTree:
    """A distribution as the margins of cliques, in a tree."""

    shape: tuple[int, ...]  # the number of values of each attribute
    cliques: tuple[Axes, ...]  # the attributes of each clique, increasing
    # the place of the clique above each clique, which is before it; -1 for the first
    parents: tuple[int, ...]
    tables: tuple[np.ndarray, ...]  # the margin of each clique, one axis for each of its attributes

    def separator(self, clique: int) -> Axes:
        """The attributes that a clique shares with the one above it."""
        return _separator(self.cliques, self.parents, clique)

    def work(self, axes: Sequence[int]) -> int:
        """The most cells of a table on the way to a margin, which keeps each of the axes."""
        wide = [{*clique, *axes} for clique in self.cliques]
        return max(prod(self.shape[axis] for axis in each) for each in wide)

    def marginal(self, axes: Sequence[int]) -> np.ndarray:
        """The margin of any attributes: others are summed out, from the leaves of the tree up."""
        target_axes = set(axes)
        # For each clique the factors from below: their attributes and tables.
        below: list[list[tuple[Axes, np.ndarray]]] = [[] for _ in self.cliques]
        for number in reversed(range(len(self.cliques))):
            names, table = self.cliques[number], self.tables[number]
            for others, factor in below[number]:
                joined = (*names, *(axis for axis in others if axis not in names))
                table, names = _einsum([(names, table), (others, factor)], joined), joined
            if target_axes <= set(names):
                return _einsum([(names, table)], tuple(axes))
            separator = self.separator(number)
            fresh = tuple(axis for axis in names if axis in target_axes and axis not in separator)
            if fresh:
                left = (*separator, *fresh)
                factor = _einsum([(names, table)], left)
                whole = spread(
                    margin(self.tables[number], _places(self.cliques[number], separator)),
                    tuple(range(len(separator))),
                    len(left),
                )
                below[self.parents[number]].append((left, _ratio(factor, whole)))
        raise AssertionError("the first clique receives every attribute")

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Draw people: one clique after another, given what it shares with the one above it."""
        out = np.empty((n, len(self.shape)), dtype=np.int64)
        for number, clique in enumerate(self.cliques):
            separator = self.separator(number)
            fresh = tuple(axis for axis in clique if axis not in separator)
            table = _einsum([(clique, self.tables[number])], (*separator, *fresh))
            rows = prod(self.shape[axis] for axis in separator)
            cumulated = _cumulated(table.reshape(rows, -1))
            for people in in_blocks(n, _BATCH):
                given = _number(out[people], separator, self.shape)
                drawn = _drawn(cumulated, given, rng)
                values = np.unravel_index(drawn, [self.shape[axis] for axis in fresh])
                for axis, column in zip(fresh, values, strict=True):
                    out[people, axis] = column
        return out


def cliques_of(shape: Sequence[int], edges: Iterable[Axes]) -> tuple[Axes, ...]:
    """The cliques of a chordal graph that holds the edges, by elimination with least fill-in.

    >>> cliques_of((2, 2, 2, 2, 2), [(0, 1), (1, 2), (2, 3), (0, 3)])
    ((4,), (0, 1, 3), (1, 2, 3))
    """
    near: dict[int, set[int]] = {axis: set() for axis in range(len(shape))}
    for first, second in edges:
        near[first].add(second)
        near[second].add(first)
    cliques: list[Axes] = []

    def cost(axis: int) -> tuple[int, int, int]:
        around = near[axis]
        missing = sum(b not in near[a] for a, b in combinations(around, 2))
        return missing, prod(shape[other] for other in around), axis

    costs = {axis: cost(axis) for axis in near}
    while near:
        axis = min(costs, key=costs.__getitem__)
        around = near.pop(axis)
        del costs[axis]
        if not any({axis, *around} <= set(clique) for clique in cliques):
            cliques.append(tuple(sorted({axis, *around})))
        for other in around:
            near[other] |= around - {other}
            near[other].discard(axis)
        changed = around.union(*(near[other] for other in around))
        costs.update({other: cost(other) for other in changed})
    return tuple(cliques)


def raked_tree(singles: Sequence[np.ndarray], targets: Targets) -> JunctionTree:
    """The distribution of largest entropy with given margins, relative to independence."""
    shape = tuple(single.size for single in singles)
    cliques, parents = _joined(cliques_of(shape, targets))
    tables = [product_of([singles[axis] for axis in clique]) for clique in cliques]
    inside: list[dict[Axes, np.ndarray]] = [{} for _ in cliques]
    for axes, target in targets.items():
        home = next(i for i, clique in enumerate(cliques) if set(axes) <= set(clique))
        inside[home][_places(cliques[home], axes)] = target
    shared = [
        product_of([singles[axis] for axis in _separator(cliques, parents, number)])
        for number in range(len(cliques))
    ]

    def carry(sender: int, receiver: int) -> None:
        """Carry the change of a separator to the next clique."""
        lower = max(sender, receiver)
        separator = _separator(cliques, parents, lower)
        new = margin(tables[sender], _places(cliques[sender], separator))
        axes = _places(cliques[receiver], separator)
        ratio = _ratio(new, shared[lower])
        tables[receiver] = tables[receiver] * spread(ratio, axes, len(cliques[receiver]))
        shared[lower] = new

    def rake(number: int) -> float:
        """Rake one clique, and say how far it moved."""
        old = tables[number]
        tables[number] = raked(old, inside[number], _SWEEPS_OF_A_CLIQUE)
        return float(np.abs(tables[number] - old).sum())

    tour = _tour(parents)
    for _ in range(_MOST_ROUNDS):
        moved = rake(0)
        for sender, receiver in tour:
            carry(sender, receiver)
            moved = max(moved, rake(receiver))
        if moved < _CLOSE:
            break
    # The tour ended at the first clique, whose table is right. It makes the others right.
    for number in range(1, len(cliques)):
        carry(parents[number], number)
    total = tables[0].sum()
    return JunctionTree(shape, cliques, parents, tuple(table / total for table in tables))


def _joined(cliques: Sequence[Axes]) -> tuple[tuple[Axes, ...], tuple[int, ...]]:
    """Cliques in a tree of largest separators, and the number of the clique above each."""
    order, parents = [cliques[0]], [-1]
    best = [(len(set(cliques[0]) & set(clique)), 0) for clique in cliques]
    left = list(range(1, len(cliques)))
    while left:
        number = max(left, key=lambda i: best[i][0])
        left.remove(number)
        parents.append(best[number][1])
        order.append(cliques[number])
        for other in left:
            common = len(set(cliques[number]) & set(cliques[other]))
            if common > best[other][0]:
                best[other] = (common, len(order) - 1)
    return tuple(order), tuple(parents)


def _tour(parents: Sequence[int]) -> list[tuple[int, int]]:
    """Steps along the tree that visit every clique and end at the first one."""
    children: list[list[int]] = [[] for _ in parents]
    for number, above in enumerate(parents[1:], 1):
        children[above].append(number)
    steps: list[tuple[int, int]] = []
    path = [0]
    while path:
        here = path[-1]
        if children[here]:
            path.append(children[here].pop())
            steps.append((here, path[-1]))
        else:
            path.pop()
            if path:
                steps.append((here, path[-1]))
    return steps


def _separator(cliques: Sequence[Axes], parents: Sequence[int], clique: int) -> Axes:
    if parents[clique] < 0:
        return ()
    above = cliques[parents[clique]]
    return tuple(axis for axis in cliques[clique] if axis in above)


def _places(clique: Axes, axes: Sequence[int]) -> Axes:
    """Where attributes stand in a clique."""
    return tuple(clique.index(axis) for axis in axes)


def _einsum(factors: Sequence[tuple[Axes, np.ndarray]], left: Axes) -> np.ndarray:
    """The product of tables, summed over all attributes that are not left."""
    letters = {axis: i for i, axis in enumerate(dict.fromkeys(a for f in factors for a in f[0]))}
    operands: list[object] = []
    for axes, table in factors:
        operands += [table, [letters[axis] for axis in axes]]
    return np.asarray(np.einsum(*operands, [letters[axis] for axis in left]))  # type: ignore[call-overload]


def _number(values: np.ndarray, axes: Axes, shape: Sequence[int]) -> np.ndarray:
    """The number (n,) of each person's values of some attributes, in C order."""
    number = np.zeros(len(values), dtype=np.int64)
    for axis in axes:
        number = number * shape[axis] + values[:, axis]
    return number


def _cumulated(rows: np.ndarray) -> np.ndarray:
    """Cumulative shares (r, c) of each row. From the last value with a share on they are inf.

    A row without any share, which nobody has, takes its first value.
    """
    out: np.ndarray = np.cumsum(rows, axis=1)
    total = out[:, -1:]
    out = np.divide(out, total, out=np.ones_like(out), where=total > 0)
    out[out >= out[:, -1:]] = np.inf
    return out


def _drawn(cumulated: np.ndarray, given: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One column for each person: the first whose cumulative share exceeds a uniform number."""
    uniform = rng.random(given.size)
    low = np.zeros(given.size, dtype=np.int64)
    high = np.full(given.size, cumulated.shape[1] - 1)
    for _ in range(cumulated.shape[1].bit_length()):
        middle = (low + high) // 2
        right = cumulated[given, middle] > uniform
        high = np.where(right, middle, high)
        low = np.where(right, low, np.minimum(middle + 1, high))
    return low
