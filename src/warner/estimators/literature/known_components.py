"""Components of a mixture that are known beforehand: values that share one, and absent values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from warner._core.checks import show
from warner._core.errors import ArgumentError, ImpossibleReportError, ValuesError
from warner.channels import MergedChannel
from warner.domains import Domain


def is_list(values: Any) -> bool:
    """Whether an argument is a list of values; a text is not a list."""
    return isinstance(values, Sequence | np.ndarray) and not isinstance(values, str | bytes)


def known_components(
    domain: Domain, groups: Sequence[Sequence[Any]], absent: Sequence[Any]
) -> np.ndarray:
    """The number of the component of every value, from prior knowledge.

    Returns (K,).

    >>> from warner import Integers
    >>> known_components(Integers(0, 4), [[1, 2]], [4]).tolist()
    [0, 1, 1, 2, -1]
    """
    labels = np.arange(domain.size)
    taken = np.zeros(domain.size, dtype=bool)
    named = [("groups", group) for group in groups] + [("absent", absent)]
    for name, values in named:
        if not len(values):
            continue
        index = np.unique(_places(domain, name, values))
        if taken[index].any():
            raise ArgumentError(name, "must name a value in one place only", show(list(values)))
        taken[index] = True
        labels[index] = index[0] if name == "groups" else -1
    if (labels < 0).all():
        raise ArgumentError("absent", "must leave a value", f"all {domain.size}")
    return numbered(labels)


def _places(domain: Domain, name: str, values: Sequence[Any]) -> np.ndarray:
    """The indices of values that an analyst names."""
    try:
        return domain.encode(list(values))
    except ValuesError as error:
        value = values[error.position]
        rule = f"must be values of the domain of {domain.size}"
    raise ArgumentError(name, rule, show(value))


def numbered(labels: np.ndarray) -> np.ndarray:
    """Labels (K,) numbered 0, 1, .. in their order; negative ones become -1."""
    used, numbers = np.unique(labels, return_inverse=True)
    return numbers - int(used[0] < 0)


def require_present(merged: MergedChannel, weights: np.ndarray) -> None:
    """Refuse absent values without which an observed report is impossible.

    Shapes: weights (m,).
    """
    if ((weights > 0) & (merged.matvec(np.ones(merged.shape[1])) <= 0)).any():
        raise ImpossibleReportError(
            "absent",
            "names values without which a report that was seen is impossible",
            None,
            "Leave out fewer values",
        )
