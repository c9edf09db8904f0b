"""Which attributes to randomise together: groups of attributes that depend on each other."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

from warner._core.checks import confidence_level, integer, real, show
from warner._core.errors import ArgumentError, ArgumentTypeError
from warner._core.progress import steps
from warner.channels import summed
from warner.domains import Product
from warner.estimators.likelihood_data import LikelihoodData
from warner.groups.hypotheses import independence
from warner.mechanisms import from_header
from warner.metrics import cramers_v as plain
from warner.reports.tally import Tally
from warner.results.association import cramers_v
from warner.results.from_tally import likelihood_data
from warner.results.marginals import attribute_names
from warner.results.solution import Solution


def clusters(
    subject: Solution | LikelihoodData | Tally,
    threshold: float = 0.1,
    largest: int = 100,
    level: float = 0.95,
) -> tuple[tuple[str, ...], ...]:
    """Groups of attributes that depend on each other, for RR-Clusters, from a pilot study.

    The pairs of attributes are taken in the order of Cramer's V, the largest first. A pair with V
    of at least ``threshold`` merges the groups of its two attributes, if the values of the merged
    group have at most ``largest`` combinations, and if :func:`warner.independence` of both is
    refuted: p is at most (1 - ``level``) divided by the number of pairs that could be merged. The
    groups must be known before people randomise.

    Args:
        subject: an estimate or its data, on a Product; or a tally of PerAttribute that keeps pairs.
        threshold: the least V, in [0, 1].
        largest: the most combinations of values in a group.
        level: the probability, in [0.5, 1), that no two attributes are merged where all are
            independent, whatever their number.

    Returns:
        The names in each group, in the order of the domain.

    Raises:
        ArgumentError: a threshold outside [0, 1], a level outside [0.5, 1), or data that do not
            determine Cramer's V.
        ArgumentTypeError: a domain that is not a Product.

    Source: Domingo-Ferrer and Soria-Comas (2022), algorithm 1; METHODS 3.
    """
    data = subject.data if isinstance(subject, Solution) else subject
    if isinstance(data, Tally):
        known = from_header(data.header).attribute_domains
        names, shape = list(known), tuple(domain.size for domain in known.values())
    else:
        names, shape = attribute_names(data.domain), data.domain.shape
    if not names:
        rule = "must be of several attributes, on a Product"
        remedy = "Tally the reports of PerAttribute, or of a study with warner tally --ways 2"
        raise ArgumentTypeError("subject", rule, None, remedy)

    alpha = 1 - confidence_level(level)
    pairs = sum(x * y <= largest for x, y in combinations(shape, 2))

    def dependence(i: int, j: int) -> float:
        """V, or -1 where both could not be merged or may be independent."""
        if shape[i] * shape[j] > largest:
            return -1.0
        pair = [names[i], names[j]]
        reports = likelihood_data(data, pair) if isinstance(data, Tally) else data
        v = cramers_v(reports, *pair)
        refuted = v >= threshold and independence(reports, *pair).p_value <= alpha / pairs
        return v if refuted else -1.0

    return grouped(names, shape, dependence, threshold, largest)


def clusters_of(
    domain: Product, theta: Any, threshold: float = 0.1, largest: int = 100
) -> tuple[tuple[str, ...], ...]:
    """The groups that :func:`clusters` forms, for a known joint distribution.

    Shapes: theta (K,).

    >>> from warner import Categorical
    >>> coin = Categorical(["heads", "tails"])
    >>> clusters_of(Product(a=coin, b=coin, c=coin), np.repeat([0.25, 0, 0, 0.25], 2))
    (('a', 'b'), ('c',))
    """
    shape = domain.shape
    table = np.asarray(theta, dtype=np.float64)

    def dependence(i: int, j: int) -> float:
        return plain(summed(table, shape, [i, j]).reshape(shape[i], shape[j]))

    return grouped(list(domain.attributes), shape, dependence, threshold, largest)


def grouped(
    names: list[str],
    sizes: tuple[int, ...],
    dependence: Callable[[int, int], float],
    threshold: float,
    largest: int,
) -> tuple[tuple[str, ...], ...]:
    """Groups of attributes that are merged pair by pair, the strongest dependence first."""
    if not 0 <= real("threshold", threshold) <= 1:
        raise ArgumentError("threshold", "must lie in [0, 1]", show(threshold))
    integer("largest", largest, 1)
    places = [(i, j) for i in range(len(names)) for j in range(i)]
    pairs = [(dependence(i, j), i, j) for i, j in steps(places, "comparing pairs of attributes")]
    group = list(range(len(names)))
    for strength, i, j in sorted(pairs, key=lambda pair: (-pair[0], pair[1:])):
        merged = [k for k in range(len(names)) if group[k] in (group[i], group[j])]
        if (
            strength >= threshold
            and group[i] != group[j]
            and prod(sizes[k] for k in merged) <= largest
        ):
            for k in merged:
                group[k] = min(merged)
    return tuple(
        tuple(names[k] for k in range(len(names)) if group[k] == head)
        for head in sorted(set(group))
    )
