"""A graphical model of attributes that are too many for one table, from the tables of pairs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

from warner._core.checks import integer
from warner._core.errors import ArgumentError
from warner._core.names import explained
from warner._core.progress import steps
from warner.domains import Domain, Product
from warner.estimators.base import LikelihoodData
from warner.estimators.em import mixed_with_uniform
from warner.estimators.raked_tables import (
    Axes,
    JunctionTree,
    cliques_of,
    product_of,
    raked,
    raked_tree,
)
from warner.estimators.raking import supported_part
from warner.mechanisms import from_header
from warner.reports.product_schema import attribute_names
from warner.reports.tally import Tally, require_tally
from warner.results.from_tally import likelihood_data
from warner.results.recommend import recommended_fit
from warner.results.solution import positions

_LARGEST_MARGIN = 2**20  # cells of a marginal
_LARGEST_WORK = 2**25  # cells of any table on the way to it
_MOST_ROUNDS = 12  # in each, edges are added to the graph, and the model is fitted again
_PER_ROUND = 0.25  # edges that a round adds, over the number of attributes


@dataclass(frozen=True, eq=False)
class GraphicalModel:
    """The joint distribution of many attributes, as a graph of those that depend on each other.

        theta(x) = prod_C theta_C(x_C) / prod_S theta_S(x_S)

    C are the cliques of a junction tree, and S the separators between them. It is the distribution
    of largest entropy with the estimated tables of all pairs that are edges. Two attributes without
    an edge are independent given the others. There are no intervals. Those of one or two attributes
    are in ``estimate(tally, attributes=[...])``.

    Attributes:
        domain: the Product of all attributes.
        n: the number of reports.
        edges: the pairs of attributes that depend on each other directly, strongest first.
        cliques: the attributes of each clique of the junction tree.
        tree: the distribution on the cliques; attributes are their places in ``domain``.
        pairs: {(place, place): the table of two attributes, estimated from their reports alone}.
        targets: {(place, place): the table that larger marginals have of two attributes}. It is
            that of ``pairs`` for edges, and else between the model's and that of ``pairs``.
            Pairs that nobody was asked together are in neither; the model takes them as
            independent given the other attributes.

    Made by :func:`graphical_model`.

    >>> from warner import Categorical, PerAttribute, Product, RandomizedResponse, graphical_model
    >>> people = Product(**dict.fromkeys("abc", Categorical(["no", "yes"])))
    >>> survey = PerAttribute(people, dict.fromkeys("abc", lambda d: RandomizedResponse(d, 4.0)))
    >>> answers = [{"a": x, "b": x, "c": "no"} for x in ["no", "yes"] * 1000]
    >>> model = graphical_model(survey.tally(survey.randomize(answers), ways=2))
    >>> model.edges[0], model.summary()[0]["first"], model.marginal(["a", "b", "c"]).shape
    (('a', 'b'), 'a', (2, 2, 2))
    """

    domain: Domain
    n: int
    edges: tuple[tuple[str, str], ...]
    cliques: tuple[tuple[str, ...], ...] = field(repr=False)
    tree: JunctionTree = field(repr=False)
    pairs: Mapping[Axes, np.ndarray] = field(repr=False)
    targets: Mapping[Axes, np.ndarray] = field(repr=False)

    def __repr__(self) -> str:
        return (
            f"GraphicalModel({len(self.attributes)} attributes, {len(self.edges)} edges, "
            f"{len(self.cliques)} cliques, n={self.n})"
        )

    @property
    def attributes(self) -> list[str]:
        """The names of the attributes."""
        return list(self.domain.attributes)

    def marginal(self, names: str | Sequence[str]) -> np.ndarray:
        """The distribution of any attributes.

        One or two attributes are answered with their estimate from their reports alone. A larger
        table is the margin of the model, raked to

            m_ab = model_ab + c_ab (pair_ab - model_ab)

        for all pairs in it. c_ab is 1 for edges, and else the part of the difference that the
        reports support. So the margins of larger tables agree with each other on all pairs, and
        with the separate estimates on all edges and single attributes, as far as one table can
        have them all.

        Args:
            names: the attributes in the order of the result, or the name of one.

        Returns:
            Shares, with one axis for each attribute.

        Raises:
            ArgumentError: names that are not attributes, twice the same one, or more than 2^20
                combinations of values.
            ArgumentTypeError: no names.
        """
        axes = positions(self.domain, names)
        if len(axes) == 2 and tuple(sorted(axes)) in self.pairs:
            first, second = axes
            return self.pairs[axes] if first < second else self.pairs[(second, first)].T
        cells = prod(self.domain.shape[axis] for axis in axes)
        if cells > _LARGEST_MARGIN or self.tree.work(axes) > _LARGEST_WORK:
            rule = f"must have at most {_LARGEST_MARGIN:,} combinations of values"
            if cells <= _LARGEST_MARGIN:
                cells = self.tree.work(axes)
                rule = (
                    f"must have at most {_LARGEST_WORK:,} combinations of values, counted "
                    "together with all questions that the model links to these names"
                )
            remedy = "Name fewer questions"
            raise ArgumentError("names", rule, f"{cells:,}", remedy)
        if len(axes) == 1:
            return self.tree.marginal(axes)
        order = sorted(axes)
        targets: dict[Axes, np.ndarray] = {
            (i, j): self.targets[(order[i], order[j])]
            for i, j in combinations(range(len(order)), 2)
            if (order[i], order[j]) in self.targets
        }
        table = raked(self.tree.marginal(order), targets)
        return table.transpose([order.index(axis) for axis in axes])

    def sample(self, n: int, rng: np.random.Generator | None = None) -> dict[str, list[Any]]:
        """Draw synthetic people from the model.

        They are draws from the distribution on the junction tree, in which only edges are targets.
        No report of a person enters them other than
        through the tally.

        Args:
            n: the number of people.
            rng: the generator; None for fresh draws.

        Returns:
            {attribute: n values}, columns as ``PerAttribute.randomize`` and data frames take them.

        Raises:
            ArgumentError: n below 1.
            ArgumentTypeError: n is no whole number.
        """
        people = integer("n", n, 1)
        index = self.tree.sample(people, np.random.default_rng() if rng is None else rng)
        domains = self.domain.attributes.items()
        return {
            name: attribute.decode(index[:, axis]) for axis, (name, attribute) in enumerate(domains)
        }

    def summary(self) -> list[dict[str, Any]]:
        """The edges as a table, strongest first.

        Returns:
            One dict per edge, with the keys ``"first"`` and ``"second"``, the names, and
            ``"information"``, the mutual information of the estimated pair in nats.
        """
        names = self.attributes
        return [
            {
                "first": first,
                "second": second,
                "information": _information(self.pairs[(names.index(first), names.index(second))]),
            }
            for first, second in self.edges
        ]


@explained
def graphical_model(
    tally: Tally | Iterable[Tally],
    attributes: Sequence[str] | None = None,
    largest_clique: int = 2**10,
) -> GraphicalModel:
    """A graphical model of many attributes, from a tally of all pairs.

    Every attribute and every pair is estimated on its own by the recommended method, as
    ``estimate(tally, attributes=[...])`` does. The graph starts as the tree of largest mutual
    information (Chow and Liu 1968). Then pairs become edges that depend on each other beyond the
    model, strongest first, as long as the cliques stay small. The model is fitted again after each
    few edges. A pair is an edge only if the energy of its score exceeds what chance gives among all
    pairs (``warner.estimators.raking``). The pairs that are edges are met by iterative
    proportional fitting on the junction tree (``warner.estimators.raked_tables``).

    The model knows no dependence of three attributes beyond that of their pairs. Of attributes that
    nobody was asked together (:class:`warner.OneOf`) it knows what others say of both.

    Args:
        tally: one tally of several attributes, or several, with tables of two attributes at least,
            such as ``mechanism.tally(reports, ways=2)``.
        attributes: the names of those in the model; None for all.
        largest_clique: the most combinations of values of the attributes in a clique of three or
            more. Pairs are always allowed.

    Returns:
        GraphicalModel: ``marginal([...])`` of any attributes, ``sample(n)`` of synthetic people.

    Raises:
        ArgumentError: unknown attributes, fewer than two, tables of one attribute only, or reports
            without a likelihood.
        ArgumentTypeError: no tally, or ``largest_clique`` is no whole number.
        EmptyError: no reports.
        MismatchError: the tallies cannot be combined.

    Source: Chow and Liu (1968), Deming and Stephan (1940), Jirousek and Preucil (1995); METHODS 5.

    >>> from warner import Categorical, PerAttribute, Product, RandomizedResponse, graphical_model
    >>> names = [f"question {i}" for i in range(5)]
    >>> people = Product(**dict.fromkeys(names, Categorical(["no", "yes"])))
    >>> survey = PerAttribute(people, dict.fromkeys(names, lambda d: RandomizedResponse(d, 2.0)))
    >>> answers = [dict.fromkeys(names, word) for word in ["no", "yes"] * 1000]
    >>> model = graphical_model(survey.tally(survey.randomize(answers), ways=2))
    >>> model.marginal(names[:3]).shape, len(model.sample(5)["question 0"])
    ((2, 2, 2), 5)
    """
    most = integer("largest_clique", largest_clique, 1)
    tally = (
        tally if isinstance(tally, Tally | str) or not isinstance(tally, Iterable) else list(tally)
    )
    names = _names(tally, attributes)
    alone = [likelihood_data(tally, [name]) for name in names]
    singles = [_shares(data) for data in alone]
    domain = Product(**{n: data.domain for n, data in zip(names, alone, strict=True)})
    mechanism = from_header(_tallies(tally)[0].header)
    every: list[Axes] = [
        (i, j)
        for i, j in combinations(range(len(names)), 2)
        if mechanism.asks_together([names[i], names[j]])
    ]
    if not every:
        rule = "must include two questions that the same people were asked"
        remedy = 'Ask each person two questions: blocks="pairs"'
        raise ArgumentError("attributes", rule, ", ".join(names[:4]), remedy)
    reports: dict[Axes, LikelihoodData] = {}
    pairs: dict[Axes, np.ndarray] = {}
    for axes in steps(every, "pairs"):
        data = likelihood_data(tally, [names[axis] for axis in axes])
        table = _shares(data).reshape(data.domain.shape)
        reports[axes] = data
        pairs[axes] = raked(table, {(0,): singles[axes[0]], (1,): singles[axes[1]]})
    edges, tree = _grown(reports, singles, pairs, most)
    targets = {
        axes: table if axes in edges else _towards(tree, reports[axes], singles, axes, table)
        for axes, table in pairs.items()
    }
    names_in_order = list(domain.attributes)
    return GraphicalModel(
        domain,
        sum(one.n for one in _tallies(tally)),
        tuple((names_in_order[a], names_in_order[b]) for a, b in edges),
        tuple(tuple(names_in_order[axis] for axis in clique) for clique in tree.cliques),
        tree,
        pairs,
        targets,
    )


def _tallies(tally: Any) -> list[Tally]:
    """The tallies of the model."""
    tallies = (
        list(tally) if isinstance(tally, Iterable) and not isinstance(tally, Tally) else [tally]
    )
    if not tallies:
        require_tally(tally)
    for one in tallies:
        require_tally(one)
    return tallies


def _names(tally: Any, attributes: Sequence[str] | None) -> list[str]:
    """The attributes of the model."""
    tallies = _tallies(tally)
    names_in_order = list(from_header(tallies[0].header).attribute_domains)
    names = names_in_order if attributes is None else attribute_names(attributes, names_in_order)
    if len(names) < 2:
        rule = "must be two or more for a graphical model"
        raise ArgumentError("attributes", rule, str(len(names)), "Use estimate(tally)")
    return names


def _shares(data: LikelihoodData) -> np.ndarray:
    """The recommended estimate of one or two attributes."""
    if not data.channel.has_likelihood:
        rule = "counts each question by itself, but the model needs counts of all pairs"
        remedy = "Tally again with ways=2"
        raise ArgumentError("tally", rule, None, remedy)
    return recommended_fit(data)[1].shares


def _grown(
    reports: Mapping[Axes, LikelihoodData],
    singles: Sequence[np.ndarray],
    pairs: Mapping[Axes, np.ndarray],
    most: int,
) -> tuple[list[Axes], JunctionTree]:
    """The edges, strongest first, and the model: a tree, then edges while cliques are small."""
    positive = [mixed_with_uniform(single) for single in singles]
    shape = [single.size for single in singles]
    edges: list[Axes] = []
    tree = raked_tree(singles, {})
    for turn in range(_MOST_ROUNDS):
        strength: dict[Axes, float] = {}
        for axes, table in pairs.items():
            if axes in edges:
                continue
            base = tree.marginal(axes) if turn else product_of([singles[a] for a in axes])
            start = mixed_with_uniform(base.ravel())
            two = [positive[axis] for axis in axes]
            if supported_part(reports[axes], two, start, len(pairs)) > 0:
                strength[axes] = _divergence(table, base)
        ranked = sorted(strength, key=lambda axes: (-strength[axes], axes))
        chosen = (
            _forest(ranked, len(singles)) if turn == 0 else _affordable(ranked, edges, shape, most)
        )
        if not chosen:
            break
        edges += chosen
        tree = raked_tree(singles, {axes: pairs[axes] for axes in edges})
    edges.sort(key=lambda axes: (-_information(pairs[axes]), axes))
    return edges, tree


def _towards(
    tree: JunctionTree,
    reports: LikelihoodData,
    singles: Sequence[np.ndarray],
    axes: Axes,
    table: np.ndarray,
) -> np.ndarray:
    """A pair's table, shrunk towards that of the model as far as the reports allow."""
    base = tree.marginal(axes)
    two = [mixed_with_uniform(singles[axis]) for axis in axes]
    supported = supported_part(reports, two, mixed_with_uniform(base.ravel()))
    return np.asarray(base + supported * (table - base))


def _forest(ranked: Sequence[Axes], attributes: int) -> list[Axes]:
    """The spanning forest of largest strength: each pair in turn that closes no circle."""
    group = list(range(attributes))
    chosen: list[Axes] = []
    for first, second in ranked:
        if group[first] != group[second]:
            chosen.append((first, second))
            old, new = group[second], group[first]
            group = [new if one == old else one for one in group]
    return chosen


def _affordable(
    ranked: Sequence[Axes], edges: Sequence[Axes], shape: Sequence[int], most: int
) -> list[Axes]:
    """The strongest pairs that keep cliques small, as many as a round adds."""
    chosen: list[Axes] = []
    for axes in ranked:
        cliques = cliques_of(shape, [*edges, *chosen, axes])
        if all(len(c) < 3 or prod(shape[axis] for axis in c) <= most for c in cliques):
            chosen.append(axes)
        if len(chosen) >= max(1, round(_PER_ROUND * len(shape))):
            break
    return chosen


def _information(table: np.ndarray) -> float:
    """The mutual information of a table of two attributes, in nats."""
    return _divergence(table, np.outer(table.sum(axis=1), table.sum(axis=0)))


def _divergence(table: np.ndarray, base: np.ndarray) -> float:
    """sum table log(table / base), in nats."""
    there = (table > 0) & (base > 0)
    return float(table[there] @ np.log(table[there] / base[there]))
