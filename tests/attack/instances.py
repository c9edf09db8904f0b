"""Random instances of every mechanism, small enough to enumerate."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import warner
from warner.domains import Domain
from warner.mechanisms import Mechanism
from warner.mechanisms.utility_optimized import UtilityOptimized

Make = Callable[[np.random.Generator], Mechanism]


def epsilon(rng: np.random.Generator, low: float = 0.02, high: float = 6.0) -> float:
    return float(np.exp(rng.uniform(math.log(low), math.log(high))))


def labels(rng: np.random.Generator, most: int = 6) -> Domain:
    size = int(rng.integers(2, most + 1))
    if rng.random() < 0.5:
        return warner.Categorical([f"label {i}" for i in range(size)])
    low = int(rng.integers(-5, 5))
    return warner.Integers(low, low + size - 1)


def integers(rng: np.random.Generator, most: int = 6) -> Domain:
    low = int(rng.integers(-5, 5))
    return warner.Integers(low, low + int(rng.integers(1, most)))


def numbers(rng: np.random.Generator) -> Domain:
    if rng.random() < 0.5:
        return integers(rng)
    return warner.Interval(0.0, 1.0, bins=int(rng.integers(2, 6)))


def grid(rng: np.random.Generator) -> Domain:
    rows, columns = (int(rng.integers(2, 5)) for _ in range(2))
    return warner.Grid(rows, columns, side=float(rng.choice([0.5, 1.0, 3.0])))


def holed(rng: np.random.Generator) -> warner.Grid:
    """A grid of which about a third of the cells are left out, and at least one."""
    rows, columns = (int(rng.integers(2, 5)) for _ in range(2))
    order = rng.permutation(rows * columns)[: max(1, min(rows * columns // 3, rows * columns - 2))]
    out = [(int(cell) // columns, int(cell) % columns) for cell in order]
    return warner.Grid(rows, columns, side=float(rng.choice([0.5, 1.0, 3.0])), without=out)


def places(rng: np.random.Generator) -> Domain:
    kind = rng.integers(3)
    if kind == 0:
        return integers(rng)
    if kind == 1:
        return grid(rng)
    return warner.domains.Points(
        rng.normal(size=(int(rng.integers(2, 6)), int(rng.integers(1, 3))))
    )


def _some(rng: np.random.Generator, domain: Domain) -> list[Any]:
    mask = rng.random(domain.size) < 0.5
    mask[rng.integers(domain.size)] = True
    return domain.decode(np.flatnonzero(mask))


def _unary(rng: np.random.Generator) -> Mechanism:
    variant = ["sue", "oue", float(rng.uniform(0.2, 0.95))][rng.integers(3)]
    return warner.UnaryEncoding(labels(rng), epsilon(rng), variant=variant)


def _hashing(rng: np.random.Generator) -> Mechanism:
    buckets, domain, budget = [None, 2, 3][rng.integers(3)], labels(rng), epsilon(rng, high=2.5)
    if rng.random() < 0.5:
        whole = bool(rng.random() < 0.5)
        return warner.LocalHashing(domain, budget, buckets=buckets, whole_reports=whole)
    return warner.LocalHashing(domain, budget, buckets=buckets, seeds=int(rng.integers(1, 12)))


def _subsets(rng: np.random.Generator) -> Mechanism:
    domain = labels(rng)
    size = [None, int(rng.integers(1, domain.size))][rng.integers(2)]
    return warner.SubsetSelection(domain, epsilon(rng), size=size)


def _projective(rng: np.random.Generator) -> Mechanism:
    prime = [None, 2, 3, 5][rng.integers(4)]
    domain = labels(rng, 12)
    each = int(rng.integers(1, domain.size + 1))  # values of a block; no block is without values
    blocks = [None, -(-domain.size // each)][rng.integers(2)]
    return warner.mechanisms.ProjectiveGeometryResponse(
        domain, epsilon(rng, 1e-4, 15), prime=prime, blocks=blocks
    )


def _utility_rr(rng: np.random.Generator) -> Mechanism:
    domain = labels(rng)
    return warner.UtilityOptimizedRR(domain, epsilon(rng), sensitive=_some(rng, domain))


def _utility_rappor(rng: np.random.Generator) -> Mechanism:
    domain = labels(rng)
    variant = ["sue", "oue", 0.6][rng.integers(3)]
    return warner.mechanisms.UtilityOptimizedRappor(
        domain, epsilon(rng), sensitive=_some(rng, domain), variant=variant
    )


def _utility_subset(rng: np.random.Generator) -> Mechanism:
    domain = labels(rng)
    sensitive = _some(rng, domain)
    size = int(rng.integers(1, max(len(sensitive), 2))) if rng.random() < 0.7 else None
    return warner.mechanisms.UtilityOptimizedSubset(domain, epsilon(rng), sensitive, size)


def _personalized(rng: np.random.Generator) -> Mechanism:
    common = (_utility_rr, _utility_rappor, _utility_subset)[rng.integers(3)](rng)
    assert isinstance(common, UtilityOptimized)
    return warner.mechanisms.PersonalizedULDP(
        common, ["home", "work"][: rng.integers(1, 3)]
    ).mechanism


def _laplace(rng: np.random.Generator) -> Mechanism:
    reach = int(rng.integers(0, 4))
    if rng.random() < 0.5:
        domain = integers(rng)
        sensitivity = float(rng.choice([0.25, 0.5, 1.0, 1.5, 2.0, 3.0]))
        return warner.Laplace(domain, epsilon(rng), sensitivity=sensitivity, reach=reach)
    return warner.Laplace(numbers(rng), epsilon(rng), cells=int(rng.integers(1, 9)), reach=reach)


def _gaussian(rng: np.random.Generator) -> Mechanism:
    domain = warner.Integers(0, int(rng.integers(1, 3)))
    return warner.mechanisms.Gaussian(
        domain, epsilon(rng, 0.3, 3.0), delta=float(10 ** rng.uniform(-6, -1.5))
    )


def _matrix(rng: np.random.Generator) -> Mechanism:
    domain = labels(rng)
    weights = np.exp(rng.normal(0, 1.5, (int(rng.integers(2, 7)), domain.size)))
    sensitive = None
    if rng.random() < 0.4:
        weights[rng.random(weights.shape) < 0.2] = 0
        weights[0] = np.maximum(weights[0], 0.1)
        sensitive = _some(rng, domain) if rng.random() < 0.5 else None
    return warner.MatrixMechanism(domain, weights / weights.sum(axis=0), sensitive=sensitive)


def _keyed(rng: np.random.Generator) -> Mechanism:
    keys = labels(rng, 3)
    values = integers(rng, 3) if rng.random() < 0.6 else warner.Interval(0.0, 1.0, bins=2)
    total = epsilon(rng, 0.2)
    options: dict[str, Any] = {"key": ["unary", "direct"][rng.integers(2)]}
    if rng.random() < 0.5:
        options |= {"value": "piecewise", "cells": int(rng.integers(2, 6))}
    if rng.random() < 0.5:
        options["value_epsilon"] = total * float(rng.uniform(0.2, 1))
    if rng.random() < 0.3:
        options["pairs"] = int(rng.integers(1, 3))
    return warner.KeyValue(keys, values, total, **options)


def _with_nonresponse(rng: np.random.Generator) -> Mechanism:
    while True:
        makers = ("SquareWave", "Piecewise", "StochasticRounding", "Laplace")
        inner = SINGLE[str(rng.choice(makers))](rng)
        if inner.dummies() is not None:
            return warner.mechanisms.WithNonresponse(inner)


SINGLE: dict[str, Make] = {
    "RandomizedResponse": lambda r: warner.RandomizedResponse(labels(r, 12), epsilon(r, 1e-4, 15)),
    "UnaryEncoding": _unary,
    "LocalHashing": _hashing,
    "SubsetSelection": _subsets,
    "HadamardResponse": lambda r: warner.HadamardResponse(labels(r), epsilon(r, 1e-4, 15)),
    "ProjectiveGeometryResponse": _projective,
    "UtilityOptimizedRR": _utility_rr,
    "UtilityOptimizedRappor": _utility_rappor,
    "UtilityOptimizedSubset": _utility_subset,
    "PersonalizedULDP": _personalized,
    "SquareWave": lambda r: warner.SquareWave(numbers(r), epsilon(r), cells=int(r.integers(2, 20))),
    "Piecewise": lambda r: warner.mechanisms.Piecewise(
        numbers(r), epsilon(r), cells=int(r.integers(2, 20))
    ),
    "StochasticRounding": lambda r: warner.mechanisms.StochasticRounding(numbers(r), epsilon(r)),
    "Laplace": _laplace,
    "Gaussian": _gaussian,
    "Geometric": lambda r: warner.mechanisms.Geometric(
        integers(r), epsilon(r), reach=int(r.integers(0, 4))
    ),
    "TruncatedGeometric": lambda r: warner.mechanisms.TruncatedGeometric(integers(r), epsilon(r)),
    "PlanarGeometric": lambda r: warner.PlanarGeometric(grid(r), epsilon(r, 0.1, 2.0)),
    "PlanarLaplace": lambda r: warner.mechanisms.PlanarLaplace(grid(r), epsilon(r, 0.1, 2.0)),
    "PlanarGeometric anywhere": lambda r: warner.PlanarGeometric(
        holed(r), epsilon(r, 0.1, 2.0), bool(r.integers(2)), int(r.integers(3))
    ),
    "PlanarLaplace anywhere": lambda r: warner.mechanisms.PlanarLaplace(
        holed(r), epsilon(r, 0.1, 2.0), bool(r.integers(2)), int(r.integers(3))
    ),
    "Exponential": lambda r: warner.mechanisms.Exponential(places(r), epsilon(r, 0.1, 3.0)),
    "MatrixMechanism": _matrix,
    "Optimal": lambda r: warner.Optimal(integers(r), epsilon(r, 1e-4, 15), "distribution"),
    "KeyValue": _keyed,
}


def _tuple(rng: np.random.Generator) -> Mechanism:
    """Reports of two or three attributes, of mechanisms drawn at random."""
    parts = {f"part{i}": single(rng) for i in range(rng.integers(1, 4))}
    product = warner.Product(**{name: part.domain for name, part in parts.items()})
    return warner.PerAttribute(product, parts)


def _repeated(rng: np.random.Generator) -> Mechanism:
    """Several reports of one value, of one mechanism, or of the mechanisms of a list."""
    first = single(rng)
    if rng.random() < 0.5:
        return warner.mechanisms.Repeated(first, int(rng.integers(1, 4)))
    return warner.mechanisms.Repeated(
        [first, warner.RandomizedResponse(first.domain, epsilon(rng)), first]
    )


def _with_fakes(rng: np.random.Generator) -> Mechanism:
    inner = _subsets(rng) if rng.random() < 0.5 else SINGLE["RandomizedResponse"](rng)
    fakes = None
    if isinstance(inner, warner.RandomizedResponse) and rng.random() < 0.5:
        edges = sorted(int(e) for e in rng.integers(1, 2**62, inner.domain.size - 1))
        fakes = [b - a for a, b in itertools.pairwise([0, *edges, 2**64])]
    return warner.mechanisms.WithFakes(inner, int(rng.integers(2**60, 2**63)), fakes)


def _permanent(rng: np.random.Generator) -> Mechanism:
    """Randomised response, subsets, signs, points, hashes or bits that are kept and degraded."""
    makers = ("RandomizedResponse", "UnaryEncoding", "SubsetSelection", "HadamardResponse")
    makers += ("ProjectiveGeometryResponse", "LocalHashing")
    inner = SINGLE[str(rng.choice(makers))](rng)
    more = float(rng.uniform(1.05, 1.4))
    return warner.mechanisms.Permanent(inner, more * inner.requested, int(rng.integers(1, 4)))


def _one_of(rng: np.random.Generator) -> Mechanism:
    """One question of three, or a pair of them."""
    domains = {f"part{i}": labels(rng, 4) for i in range(3)}
    blocks = "pairs" if rng.random() < 0.5 else "attributes"
    return warner.OneOf(warner.Product(**domains), epsilon(rng), blocks)


def _hidden(rng: np.random.Generator) -> Mechanism:
    """Two or three questions, one of them answered."""
    domains = {f"part{i}": labels(rng, 4) for i in range(rng.integers(2, 4))}
    odds = {name: float(rng.uniform(0.2, 1)) for name in domains}
    some = next(iter(domains))
    shares = rng.dirichlet(np.ones(domains[some].size)) * 0.9 + 0.1 / domains[some].size
    fakes = {some: dict(zip(domains[some].labels, shares.tolist(), strict=True))}
    return warner.mechanisms.HiddenQuestion(
        warner.Product(**domains),
        epsilon(rng),
        odds=odds if rng.random() < 0.5 else None,
        fakes=fakes if rng.random() < 0.5 else None,
    )


def single(rng: np.random.Generator) -> Mechanism:
    names = list(SINGLE)
    return SINGLE[names[rng.integers(len(names))]](rng)


ALL: dict[str, Make] = {
    **SINGLE,
    "WithNonresponse": _with_nonresponse,
    "WithFakes": _with_fakes,
    "Permanent": _permanent,
    "PerAttribute": _tuple,
    "OneOf": _one_of,
    "HiddenQuestion": _hidden,
    "Repeated": _repeated,
}
