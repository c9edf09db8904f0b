"""Split reports about keys with values: into data about keys, and about the values of one key."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from warner._core.errors import ArgumentError, message
from warner.channels import (
    FloatArray,
    LikelihoodOperator,
    TiedChannel,
    keyed_groups,
    stacked,
)
from warner.domains import Domain
from warner.estimators.likelihood_data import LikelihoodData

KeyedGroup: TypeAlias = tuple[TiedChannel, FloatArray, int]


def groups_of(data: LikelihoodData, name: str) -> tuple[list[KeyedGroup], Domain, Domain]:
    """The groups of people in the data, and the domains of keys and of values.

    Args:
        data: reports about keys with values.
        name: the name of the method that needs the groups, for the error message.

    Returns:
        The groups, the domain of keys and the domain of values.

    Raises:
        ArgumentError: reports that are not about keys with values.
    """
    groups = keyed_groups(data.channel, data.weights, data.n)
    domain = data.domain
    if groups is None or len(domain.attributes) != 2:
        raise ArgumentError(
            message(
                "method",
                f"{name} needs reports of keys and values",
                type(domain).__name__,
                "Collect them with KeyValue, or use another method",
            )
        )
    keys, values = domain.attributes.values()
    return groups, keys, values


def of_keys(data: LikelihoodData, name: str = "this") -> LikelihoodData:
    """The reports about keys alone, as data on the domain of keys.

    Args:
        data: reports about keys with values.
        name: the name of the calling method, for the error message.

    Raises:
        ArgumentError: reports that are not about keys with values.
    """
    groups, keys, _ = groups_of(data, name)
    found = _stacked_data([(*channel.of_keys(w), n) for channel, w, n in groups], keys)
    return replace(found, reports_per_person=data.reports_per_person)


def of_values(
    data: LikelihoodData, key: int, frequency: float, name: str = "this"
) -> LikelihoodData | None:
    """The reports of the values of one key, as data on the domain of values.

    Args:
        data: reports about keys with values.
        key: the position of the key.
        frequency: the share of people who have the key.
        name: the name of the calling method, for the error message.

    Returns:
        The data, or None if no report is about the key.

    Raises:
        ArgumentError: reports that are not about keys with values.
    """
    groups, _, values = groups_of(data, name)
    observed: list[tuple[LikelihoodOperator, FloatArray, int]] = []
    for channel, w, n in groups:
        reported = channel.by_key(w)[key, 1:]
        if people := round(n * float(reported.sum())):
            inner = channel.of_values(frequency)[0]
            observed.append((inner, reported / reported.sum(), people))
    return _stacked_data(observed, values) if observed else None


def _stacked_data(
    groups: list[tuple[LikelihoodOperator, FloatArray, int]], domain: Domain
) -> LikelihoodData:
    """The groups' reports together."""
    if len(groups) == 1:
        return LikelihoodData(*groups[0], domain)
    channel = stacked([c for c, _, _ in groups], [n for _, _, n in groups])
    weights = channel.stack([w for _, w, _ in groups])
    return LikelihoodData(channel, weights, sum(n for _, _, n in groups), domain)
