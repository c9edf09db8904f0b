"""The mechanisms that fit a domain and a guarantee: the candidates of a plan."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from warner._core.errors import ArgumentTypeError, BudgetError
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
    with_silence,
)
from warner.mechanisms.headers import added_mechanisms

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
    """
    if distance is not None:
        for name, make in _METRIC.items():
            yield name, _per_unit(make, distance)
        yield "Laplace", partial(Laplace, sensitivity=distance)
        yield from _added(distance, near)
        return
    for name, make in _PROTECT_ALL.items():
        if name != "ProjectiveGeometry" or domain.size <= _LARGEST_PROJECTIVE:
            yield name, make
    if sensitive is not None:
        values = list(sensitive)
        for name, protect in _PROTECT_SENSITIVE.items():
            yield name, partial(protect, sensitive=values)
    yield from _added(distance, near)
    if not near:
        return
    for name, make in _NUMERIC.items():
        yield name, make if domain.silence is None else _with_silence(make)
    for name, make in _METRIC.items():
        yield name, _over_all(make)
    if delta is not None:
        yield f"Gaussian with delta {delta:.3g}", partial(Gaussian, delta=delta)


def _added(distance: float | None, near: bool) -> Iterator[tuple[str, Maker]]:
    """The registered mechanisms from outside the package that a domain and a budget make."""
    for name, cls in added_mechanisms().items():
        needed = [p for p in inspect.signature(cls).parameters.values() if p.default is p.empty]
        if [p.name for p in needed] == ["domain", "epsilon"]:
            yield name, partial(_of_kind, cls, distance, near)


def _of_kind(
    cls: type[Mechanism], distance: float | None, near: bool, domain: Domain, epsilon: float
) -> Mechanism:
    """A mechanism from outside the package, if its guarantee is of the kind that is asked for."""

    def made(domain: Domain, epsilon: float) -> Mechanism:
        try:
            return cls(domain, epsilon)
        except Exception as problem:
            rule = f"cannot be made on this domain: {str(problem).rstrip('.')}"
            raise BudgetError(cls.__name__, rule) from problem

    found = made(domain, epsilon)
    is_metric = found.distance_unit is not None
    if is_metric != (distance is not None) and not (is_metric and near):
        raise ArgumentTypeError(cls.__name__, "has a guarantee of another kind")
    if found.guarantee.delta is not None or found.sensitive_mask is not None:
        raise ArgumentTypeError(cls.__name__, "has a guarantee of another kind")
    if not is_metric:
        return found
    change = _over_all(made) if distance is None else _per_unit(made, distance)
    return change(domain, epsilon)


def _with_silence(make: Maker) -> Maker:
    """A maker for a domain in which silence is a value, from one for the answers."""
    return lambda domain, epsilon: with_silence(make(domain.answered, epsilon), domain)


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
