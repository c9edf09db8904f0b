"""The mechanisms that fit a domain and a guarantee: the candidates of a plan."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from warner.domains import Domain
from warner.mechanisms import (
    Exponential,
    Gaussian,
    Geometric,
    HadamardResponse,
    Laplace,
    LocalHashing,
    Mechanism,
    Piecewise,
    PlanarGeometric,
    PlanarLaplace,
    ProjectiveGeometry,
    RandomizedResponse,
    SquareWave,
    SubsetSelection,
    TruncatedGeometric,
    UnaryEncoding,
    UtilityOptimizedRappor,
    UtilityOptimizedRR,
)

Maker = Callable[[Domain, float], Mechanism]

# Mechanisms that protect all values equally.
_PROTECT_ALL: dict[str, Maker] = {
    "RandomizedResponse": RandomizedResponse,
    "UnaryEncoding symmetric": UnaryEncoding,
    "UnaryEncoding optimized": partial(UnaryEncoding, keep="optimized"),
    "LocalHashing": LocalHashing,
    "SubsetSelection": SubsetSelection,
    "HadamardResponse": HadamardResponse,
    "ProjectiveGeometry": ProjectiveGeometry,
}
_LARGEST_PROJECTIVE = 2**24  # values, beyond which its tally could be too long
_PROTECT_SENSITIVE: dict[str, Callable[..., Mechanism]] = {
    "UtilityOptimizedRR": UtilityOptimizedRR,
    "UtilityOptimizedRappor": UtilityOptimizedRappor,
}
# Mechanisms of numbers whose epsilon is for any two values.
_NUMERIC: dict[str, Maker] = {
    "SquareWave": SquareWave,
    "Piecewise": Piecewise,
    "Laplace": Laplace,
}
# Mechanisms whose epsilon is for values one unit of distance apart.
_METRIC: dict[str, Maker] = {
    "Geometric": Geometric,
    "TruncatedGeometric": TruncatedGeometric,
    "PlanarGeometric": PlanarGeometric,
    "PlanarLaplace": PlanarLaplace,
    "Exponential": Exponential,
}


def candidates(
    domain: Domain,
    sensitive: Iterable[Any] | None,
    delta: float | None,
    distance: float | None,
    near: bool,
) -> Iterator[tuple[str, Maker]]:
    """The names and makers of mechanisms to compare.

    A maker refuses a domain that it does not fit.

    Args:
        domain: the values.
        sensitive: the values to protect; None for all.
        delta: of an approximate guarantee; None for a pure one.
        distance: the distance of two values that epsilon is for; None for any two values.
        near: whether to include mechanisms that use the distances of values.

    Returns:
        Pairs of a name and a function that makes the mechanism from a domain and a budget in nats.
    """
    if distance is not None:
        for name, make in _METRIC.items():
            yield name, _per_unit(make, distance)
        yield "Laplace", partial(Laplace, sensitivity=distance)
        return
    for name, make in _PROTECT_ALL.items():
        if name != "ProjectiveGeometry" or domain.size <= _LARGEST_PROJECTIVE:
            yield name, make
    if sensitive is not None:
        values = list(sensitive)
        for name, protect in _PROTECT_SENSITIVE.items():
            yield name, partial(protect, sensitive=values)
    if not near:
        return
    yield from _NUMERIC.items()
    for name, make in _METRIC.items():
        yield name, _over_all(make)
    if delta is not None:
        yield f"Gaussian with delta {delta:.3g}", partial(Gaussian, delta=delta)


def _per_unit(make: Maker, distance: float) -> Maker:
    """A maker for an epsilon that is for values ``distance`` apart."""
    return lambda domain, epsilon: make(domain, epsilon / distance)


def options_of(make: Maker) -> dict[str, Any]:
    """The options that a maker passes to its mechanism, as a study file states them.

    >>> options_of(_PROTECT_ALL["UnaryEncoding optimized"]), options_of(SquareWave)
    ({'keep': 'optimized'}, {})
    """
    return dict(getattr(make, "keywords", {}))


def _over_all(make: Maker) -> Maker:
    """A maker for an epsilon that is for any two values: that between the most distant ones."""

    def made(domain: Domain, epsilon: float) -> Mechanism:
        ends = domain.ends
        span = math.hypot(*(high - low for low, high in ends)) if ends else 1.0
        per_unit = epsilon / span
        # Rounding may spend more than epsilon, by its last digits.
        for _ in range(8):
            mechanism = make(domain, per_unit)
            if mechanism.guarantee.between_any_values().epsilon <= epsilon:
                return mechanism
            per_unit = float(np.nextafter(per_unit, 0.0))
        return mechanism

    return made
