"""Steps along conjugate directions, against the maximum that plain EM takes long to reach."""

from __future__ import annotations

from itertools import combinations
from math import prod

import numpy as np
import pytest

from warner import Categorical, ExpectationMaximization, MaximumLikelihood, Product
from warner.channels import DirectChannel, KroneckerChannel
from warner.estimators.base import LikelihoodData
from warner.estimators.raked_tables import (
    Axes,
    JunctionTree,
    cliques_of,
    margin,
    margins,
    product_of,
    raked,
    raked_tree,
)
from warner.estimators.raking import (
    AscentState,
    ascend,
    ascent,
    held_out_ascent,
    start_ascent,
    supported_part,
)

CHANNEL = KroneckerChannel([DirectChannel(3, 0.25, 0.25), DirectChannel(4, 0.2, 0.2)])
EVEN = np.full(12, 1 / 12)


def _weights(theta: np.ndarray, n: int = 20_000) -> np.ndarray:
    return CHANNEL.simulate(theta, n, np.random.default_rng(3))


def test_a_few_dozen_steps_reach_the_maximum() -> None:
    w = _weights(np.random.default_rng(1).dirichlet(np.full(12, 0.5)))
    domain = Product(a=Categorical(list("abc")), b=Categorical(list("wxyz")))
    data = LikelihoodData(CHANNEL, w, 20_000, domain)
    best = MaximumLikelihood().fit(data).log_likelihood
    assert best is not None
    values: list[float] = []

    def observe(state: AscentState) -> None:
        values.append(state.value)

    run = ascent(CHANNEL, w, 20_000, EVEN, 1e-4, 200, observe)
    assert (np.diff(values) >= 0).all()
    assert run.state.theta.sum() == pytest.approx(1)
    reached = 20_000 * run.state.value
    level = best - reached
    plain = ExpectationMaximization(run.steps).fit(data).log_likelihood
    assert plain is not None
    assert level < 0.05 < best - plain


def test_the_first_step_is_the_steepest_with_the_length_of_newton() -> None:
    """Against ten values of the length: none is likelier by more than a third-order term."""
    w = _weights(EVEN)
    start = start_ascent(CHANNEL, w, EVEN)
    after = ascend(CHANNEL, w, start)
    assert after is not None
    way = after.theta - EVEN
    values = [float(w @ np.log(CHANNEL.matvec(EVEN + t * way))) for t in np.linspace(0.5, 1.5, 11)]
    assert max(values) - after.value < 0.01 * after.gain


def test_held_out_reports_of_the_base_itself_support_little() -> None:
    """At the true distribution there is nothing to learn; far from it there is."""
    theta = np.random.default_rng(1).dirichlet(np.full(12, 0.5))
    w = _weights(theta)
    stayed, _ = held_out_ascent(CHANNEL, w, 20_000, 0.99 * theta + 0.01 / 12, 20, 5)
    learnt, steps = held_out_ascent(CHANNEL, w, 20_000, EVEN, 20, 5)
    assert steps > 0
    assert np.abs(stayed - theta).sum() < np.abs(learnt - theta).sum()
    assert np.abs(learnt - theta).sum() < 0.5 * np.abs(EVEN - theta).sum()


# The supported part of a dependence, against the noise of the inversion (METHODS 10.3).


@pytest.mark.parametrize("sizes", [(2, 2), (3, 5), (2, 3, 4)])
def test_at_the_uniform_distribution_it_is_that_of_the_inverted_interaction(
    sizes: tuple[int, ...],
) -> None:
    """E|noise of T_S|^2 = (1/n) prod (1 - 1/d_a) / g_a^2, without the share's own square."""
    gains = [0.3, 0.5, 0.4][: len(sizes)]
    channel = KroneckerChannel(
        [DirectChannel(d, (1 - g) / d, g) for d, g in zip(sizes, gains, strict=True)]
    )
    n, rng = 5000, np.random.default_rng(0)
    domain = Product(**{f"a{i}": Categorical(list(range(d))) for i, d in enumerate(sizes)})
    for amount in (0.0, 0.05, 0.5):
        theta = rng.dirichlet(np.full(prod(sizes), 1.0))
        w = channel.simulate(amount * theta + (1 - amount) / theta.size, n, rng)
        inner = channel.invert(w).reshape(sizes)
        for axis in range(len(sizes)):
            inner = inner - inner.mean(axis=axis, keepdims=True)
        noise = prod((1 - 1 / d) / g**2 for d, g in zip(sizes, gains, strict=True)) / n
        freedom = prod(d - 1 for d in sizes)
        slow = max(0.0, 1 - freedom / (freedom + 1) * noise / float((inner**2).sum()))
        uniform = [np.full(d, 1 / d) for d in sizes]
        fast = supported_part(LikelihoodData(channel, w, n, domain), uniform)
        assert fast == pytest.approx(slow, abs=1e-9)


# Models on a junction tree against the full table.


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


# Sums over axes and raking in blocks, against slow twins.


def _slow_raking(
    table: np.ndarray, targets: dict[tuple[int, ...], np.ndarray], sweeps: int
) -> np.ndarray:
    """IPF as it is defined, with numpy's sums over axes."""
    for _ in range(sweeps):
        for axes, target in targets.items():
            others = tuple(axis for axis in range(table.ndim) if axis not in axes)
            old = table.sum(axis=others, keepdims=True)
            table = table * target.reshape(old.shape) / old
    return table


def test_margins_are_sums_over_the_other_axes() -> None:
    table = np.random.default_rng(0).random((2, 3, 1, 4, 2))
    for order in range(1, 6):
        for axes in combinations(range(5), order):
            others = tuple(axis for axis in range(5) if axis not in axes)
            assert margin(table, axes) == pytest.approx(table.sum(axis=others))


def test_margins_of_a_large_table_are_those_of_blocks() -> None:
    """3^9 cells: blocks of six and of four axes are summed first."""
    table = np.random.default_rng(0).random((3,) * 9)
    for order in (2, 3):
        wanted = list(combinations(range(9), order))[::5]
        found = margins(table, wanted)
        assert list(found) != [] and set(found) == set(wanted)
        for axes in wanted:
            assert found[axes] == pytest.approx(margin(table, axes))


@pytest.mark.parametrize("size", [2, 3])
def test_raking_in_blocks_has_the_limit_of_raking_in_turn(size: int) -> None:
    """8 axes: 256 cells are raked in turn, and 6561 in blocks of four axes."""
    rng = np.random.default_rng(1)
    base, other = rng.dirichlet(np.full(size**8, 2.0), 2).reshape(2, *(size,) * 8)
    targets = {axes: margin(other, axes) for axes in combinations(range(8), 2)}
    found = raked(base, targets)
    assert found == pytest.approx(_slow_raking(base, targets, 40), rel=1e-4, abs=1e-9)
    for axes, target in targets.items():
        assert margin(found, axes) == pytest.approx(target, abs=1e-6)
