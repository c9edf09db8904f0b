"""Few blocks of questions that hold every pair of questions."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from math import prod, sqrt

import numpy as np

from warner._core.checks import budget, integer
from warner.domains import Integers, Product
from warner.domains.product import require_product
from warner.mechanisms.one_of import Block, best_mechanism, variance_of_tables

FEW = 200  # people on a pair below which larger blocks are looked for
_MOST_CELLS = 2**12
_ORDERS = 16  # of the questions, in which blocks are grown; the cheapest cover is taken


def cover_of_pairs(
    product: Product, epsilon: float, people: int | None = None, largest: int = 4
) -> list[Block]:
    """Blocks of two to four questions such that each pair of questions is in exactly one of them.

    A person who answers three questions together, with one report on all combinations, tells
    something of three pairs. The noise is larger than that of one pair, but less than three pairs
    cost: the tables of 50 questions with two answers have 0.82 times the variance of
    ``blocks="pairs"`` at epsilon 1, 0.71 times at epsilon 2, 0.33 times at epsilon 4. Questions of
    four answers gain nothing up to epsilon 2. The sum of the variances of all pairs is

        (sum over blocks b of sqrt(V_b))^2 / n

    where V_b is the sum of the variances of the tables of two in b, and blocks are drawn with odds
    proportional to sqrt(V_b), the default. A block grows by one question as long as the sum of
    sqrt(V_b), over that of its pairs asked one by one, falls.

    Args:
        product: the questions and their domains.
        epsilon: the budget of one person, in nats.
        people: how many people take part. Where all pairs have at least 200 people each, these are
            the blocks. None takes larger blocks wherever they err less.
        largest: the most questions in a block, 2 or more.

    Returns:
        The blocks, for ``OneOf(product, epsilon, blocks)``.

    Raises:
        ArgumentError: ``people`` below 1, or ``largest`` below 2.
        ArgumentTypeError: no Product.

    Source: Zhang et al. (2018) cover pairs by larger blocks; the choice of their size is this
    package's.

    >>> from warner import Categorical, OneOf
    >>> yes_no = Categorical(["no", "yes"])
    >>> ten = Product(**dict.fromkeys("abcdefghij", yes_no))
    >>> blocks = cover_of_pairs(ten, 1.0)
    >>> len(blocks) < 45, max(map(len, blocks))
    (True, 3)
    >>> len(OneOf(ten, 1.0, blocks).blocks) == len(blocks)
    True
    >>> len(cover_of_pairs(ten, 1.0, people=50_000))
    45
    """
    require_product(product)
    epsilon, largest = budget(epsilon), integer("largest", largest, 2)
    names = list(product.attributes)
    pairs: list[Block] = list(combinations(names, 2))
    if people is not None and integer("people", people, 1) >= FEW * len(pairs):
        return pairs
    sizes = {name: domain.size for name, domain in product.attributes.items()}
    costs: dict[tuple[int, ...], float] = {}

    def cost(block: Block) -> float:
        """sqrt(V) of a block."""
        shape = tuple(sorted(sizes[name] for name in block))
        if shape not in costs:
            inner = best_mechanism(Integers(1, prod(shape)), epsilon)
            costs[shape] = sqrt(variance_of_tables(inner.channel(), shape))
        return costs[shape]

    def small(block: Block) -> bool:
        return len(block) <= largest and prod(sizes[name] for name in block) <= _MOST_CELLS

    rng = np.random.default_rng(len(names))
    orders = [
        list(names),
        *([names[i] for i in rng.permutation(len(names))] for _ in range(_ORDERS)),
    ]
    covers = [_grown(order, cost, small) for order in orders]
    position = {name: i for i, name in enumerate(names)}
    best = min(covers, key=lambda blocks: sum(map(cost, blocks)))
    ordered = [tuple(sorted(block, key=position.__getitem__)) for block in best]
    return sorted(ordered, key=lambda block: [position[name] for name in block])


def _grown(
    names: list[str], cost: Callable[[Block], float], small: Callable[[Block], bool]
) -> list[Block]:
    """Blocks that are grown from each pair that no block holds, by questions in this order."""
    left = {name: {other for other in names if other != name} for name in names}
    blocks = []
    for first, second in combinations(names, 2):
        if second not in left[first]:
            continue
        block: Block = (first, second)
        alone = cost(block)  # what the pairs in the block cost where each is asked for itself
        for name in names:
            wider = (*block, name)
            if not left[name].issuperset(block) or not small(wider):
                continue
            more = alone + sum(cost((one, name)) for one in block)
            if cost(wider) / more < cost(block) / alone:
                block, alone = wider, more
        for one in block:
            left[one].difference_update(block)
        blocks.append(block)
    return blocks
