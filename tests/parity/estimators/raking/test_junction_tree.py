"""Models on a junction tree against the full table."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from warner.estimators.raked_tables import (
    Axes,
    JunctionTree,
    cliques_of,
    margin,
    product_of,
    raked,
    raked_tree,
)

CIRCLE = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)]
GRAPHS: dict[str, tuple[tuple[int, ...], list[Axes]]] = {
    "none": ((2, 3, 2), []),
    "circle and one alone": ((2, 3, 2, 2, 3, 2), list(CIRCLE)),
    "two parts": ((3, 2, 2, 2, 2, 2, 2), [(0, 1), (1, 2), (0, 2), (4, 5), (5, 6)]),
    "all": ((2, 2, 3, 2), list(combinations(range(4), 2))),
    "grid": (
        (2,) * 8,
        [(0, 1), (1, 2), (2, 3), (4, 5), (5, 6), (6, 7), (0, 4), (1, 5), (2, 6), (3, 7)],
    ),
}


def fitted(name: str) -> tuple[JunctionTree, np.ndarray]:
    """The model, and its full table by raking the product of the single attributes."""
    shape, edges = GRAPHS[name]
    truth = np.random.default_rng(5).dirichlet(np.full(np.prod(shape), 0.5)).reshape(shape)
    singles = [margin(truth, [axis]) for axis in range(len(shape))]
    targets = {axes: margin(truth, axes) for axes in edges}
    return raked_tree(singles, targets), raked(product_of(singles), targets, 400)


@pytest.mark.parametrize("name", GRAPHS)
def test_every_margin_is_that_of_the_full_table(name: str) -> None:
    tree, whole = fitted(name)
    for order in range(1, whole.ndim + 1):
        for axes in combinations(range(whole.ndim), order):
            assert tree.marginal(axes) == pytest.approx(margin(whole, axes), abs=1e-7)
    turned = tuple(reversed(range(whole.ndim)))
    assert tree.marginal(turned) == pytest.approx(whole.T, abs=1e-7)


@pytest.mark.parametrize("name", GRAPHS)
def test_cliques_hold_the_edges_and_meet_in_their_separators(name: str) -> None:
    shape, edges = GRAPHS[name]
    tree, _ = fitted(name)
    assert all(any(set(edge) <= set(clique) for clique in tree.cliques) for edge in edges)
    assert set(tree.cliques) == set(cliques_of(shape, edges))
    for place in range(1, len(tree.cliques)):
        # Running intersection: what a clique shares with all before it, it shares with one.
        before = {axis for clique in tree.cliques[:place] for axis in clique}
        assert before & set(tree.cliques[place]) == set(tree.separator(place))
        assert tree.parents[place] < place


def test_targets_that_contradict_each_other_give_a_distribution() -> None:
    half, alike = np.full(2, 0.5), np.array([[0.49, 0.01], [0.01, 0.49]])
    tree = raked_tree([half] * 3, {(0, 1): alike, (1, 2): alike, (0, 2): alike[::-1]})
    whole = tree.marginal((0, 1, 2))
    assert whole.sum() == pytest.approx(1) and (whole >= 0).all()
