"""Which attributes to randomise together: groups of attributes that depend on each other."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from warner._core.checks import integer, real, show
from warner._core.errors import (
    ArgumentError,
    message,
)
from warner.channels import summed
from warner.domains import Product
from warner.estimators.likelihood_data import LikelihoodData
from warner.mechanisms import from_header
from warner.metrics import cramers_v as plain
from warner.reports.tally import Tally
from warner.results.association import cramers_v
from warner.results.from_tally import likelihood_data
from warner.results.marginals import places
from warner.results.solution import Solution


def clusters(
    subject: Solution | LikelihoodData | Tally, threshold: float = 0.1, largest: int = 100
) -> tuple[tuple[str, ...], ...]:
    """Groups of attributes that depend on each other, for RR-Clusters: from a pilot, since who randomises must know them.

    Pairs of attributes in order of their Cramer's V, the largest first; a pair with V of at least ``threshold`` brings the groups of its
    two attributes together if their values have at most ``largest`` combinations.

    Args:
        subject: an estimate, or evidence, on a Product; or a tally of PerAttribute that keeps pairs.
        threshold: in [0, 1].
        largest: combinations of values in a group.

    Source: Domingo-Ferrer and Soria-Comas (2022), algorithm 1; METHODS 3.
    """
    data = subject.data if isinstance(subject, Solution) else subject
    domain = from_header(data.header).domain if isinstance(data, Tally) else data.domain
    names = list(getattr(domain, "domains", {"": None}))
    places(domain, names)
    assert isinstance(domain, Product)

    def depend(i: int, j: int) -> float:
        pair = [names[i], names[j]]
        return cramers_v(likelihood_data(data, pair) if isinstance(data, Tally) else data, *pair)

    return grouped(names, domain.shape, depend, threshold, largest)


def clusters_of(
    domain: Product, theta: Any, threshold: float = 0.1, largest: int = 100
) -> tuple[tuple[str, ...], ...]:
    """The same from a known joint distribution (K,)."""
    shape = domain.shape
    table = np.asarray(theta, dtype=np.float64)

    def depend(i: int, j: int) -> float:
        return plain(summed(table, shape, [i, j]).reshape(shape[i], shape[j]))

    return grouped(list(domain.domains), shape, depend, threshold, largest)


def grouped(
    names: list[str],
    sizes: tuple[int, ...],
    dependence: Callable[[int, int], float],
    threshold: float,
    largest: int,
) -> tuple[tuple[str, ...], ...]:
    """Attributes brought together along their dependences, the strongest first."""
    if not 0 <= real("threshold", threshold) <= 1:
        raise ArgumentError(message("threshold", "must lie in [0, 1]", show(threshold)))
    integer("largest", largest, 1)
    pairs = [(dependence(i, j), i, j) for i in range(len(names)) for j in range(i)]
    group = list(range(len(names)))
    for strength, i, j in sorted(pairs, key=lambda pair: (-pair[0], pair[1:])):
        together = [k for k in range(len(names)) if group[k] in (group[i], group[j])]
        if (
            strength >= threshold
            and group[i] != group[j]
            and prod(sizes[k] for k in together) <= largest
        ):
            for k in together:
                group[k] = min(together)
    return tuple(
        tuple(names[k] for k in range(len(names)) if group[k] == head)
        for head in sorted(set(group))
    )
