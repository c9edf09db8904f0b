"""Every mechanism, estimator and domain, once. What is listed here is tested against everything in
``laws``.

A new mechanism or estimator is tested by adding one line.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

import warner
from warner import Categorical, Grid, Integers, Interval, Product
from warner.domains import Domain
from warner.estimators import Estimator
from warner.mechanisms import Mechanism


def _ramp(domain: Domain, epsilon: float) -> np.ndarray:
    """A channel that no mechanism of its own makes: three reports more than values, worst log-odds
    exactly epsilon.
    """
    rng = np.random.default_rng(domain.size)
    weights = np.exp(epsilon * rng.random((domain.size + 3, domain.size)))
    return weights / weights.sum(axis=0)


# Name -> (domain, epsilon) -> mechanism. Variants of one mechanism that differ in law are listed
# apart.
MECHANISMS: dict[str, Callable[[Domain, float], Mechanism]] = {
    "RandomizedResponse": warner.RandomizedResponse,
    "UnaryEncoding symmetric": warner.UnaryEncoding,
    "UnaryEncoding optimized": lambda d, e: warner.UnaryEncoding(d, e, variant="oue"),
    "UnaryEncoding keep 0.8": lambda d, e: warner.UnaryEncoding(d, e, variant=0.8),
    "LocalHashing optimized": lambda d, e: warner.LocalHashing(d, e, seeds=max(12, 2 * d.size)),
    "LocalHashing binary": lambda d, e: warner.LocalHashing(
        d, e, buckets=2, seeds=max(16, 2 * d.size)
    ),
    "LocalHashing over a field": warner.LocalHashing,
    "LocalHashing counted by value": lambda d, e: warner.LocalHashing(d, e, whole_reports=False),
    "SubsetSelection": warner.SubsetSelection,
    "SubsetSelection of two": lambda d, e: warner.SubsetSelection(d, e, size=min(2, d.size - 1)),
    "HadamardResponse": warner.HadamardResponse,
    "ProjectiveGeometryResponse": warner.mechanisms.ProjectiveGeometryResponse,
    "ProjectiveGeometryResponse over five": lambda d, e: (
        warner.mechanisms.ProjectiveGeometryResponse(d, e, prime=5)
    ),
    "ProjectiveGeometryResponse in blocks": lambda d, e: (
        warner.mechanisms.ProjectiveGeometryResponse(d, e, prime=2, blocks=min(2, d.size))
    ),
    "UtilityOptimizedRR": lambda d, e: warner.UtilityOptimizedRR(d, e, sensitive=d.labels[::3]),
    "UtilityOptimizedRR, one sensitive": lambda d, e: warner.UtilityOptimizedRR(
        d, e, sensitive=d.labels[-1:]
    ),
    "UtilityOptimizedSubset": lambda d, e: warner.mechanisms.UtilityOptimizedSubset(
        d, e, sensitive=d.labels[: max(1, 2 * d.size // 3)]
    ),
    "UtilityOptimizedSubset of two": lambda d, e: warner.mechanisms.UtilityOptimizedSubset(
        d, e, sensitive=d.labels[:-1], size=min(2, max(1, d.size - 2))
    ),
    "UtilityOptimizedRappor": lambda d, e: warner.mechanisms.UtilityOptimizedRappor(
        d, e, sensitive=d.labels[::3]
    ),
    "UtilityOptimizedRappor keep 0.7": lambda d, e: warner.mechanisms.UtilityOptimizedRappor(
        d, e, sensitive=d.labels[1:3], variant=0.7
    ),
    "SquareWave": lambda d, e: warner.SquareWave(d, e, cells=256),
    "Piecewise": lambda d, e: warner.mechanisms.Piecewise(d, e, cells=256),
    "StochasticRounding": warner.mechanisms.StochasticRounding,
    "Laplace": lambda d, e: warner.Laplace(d, e, reach=3),
    "Laplace between cells": lambda d, e: warner.Laplace(d, e, cells=2 * d.size + 1, reach=2),
    "Laplace of neighbours": lambda d, e: warner.Laplace(d, e, sensitivity=1, reach=2),
    "Gaussian": lambda d, e: warner.mechanisms.Gaussian(d, e, delta=1e-3),
    "Geometric": lambda d, e: warner.mechanisms.Geometric(d, e, reach=2),
    "TruncatedGeometric": warner.mechanisms.TruncatedGeometric,
    "Exponential": warner.mechanisms.Exponential,
    "Permanent": lambda d, e: warner.mechanisms.Permanent(
        warner.RandomizedResponse(d, e), e + min(e, 1)
    ),
    "Permanent of subsets": lambda d, e: warner.mechanisms.Permanent(
        warner.SubsetSelection(d, e), e + min(e, 1), values=3
    ),
    "Permanent of bits": lambda d, e: warner.mechanisms.Permanent(
        warner.UnaryEncoding(d, e, variant="oue"), e + min(e, 1)
    ),
    "MatrixMechanism": lambda d, e: warner.MatrixMechanism(d, _ramp(d, e)),
    # Of many values another mechanism is the best.
    "Optimal": lambda d, e: (warner.Optimal if d.size <= 12 else warner.SubsetSelection)(d, e),
    "Optimal of some values": lambda d, e: (
        warner.Optimal(d, e, sensitive=d.labels[1:3])
        if d.size <= 12
        else warner.UtilityOptimizedRR(d, e, sensitive=d.labels[1:3])
    ),
}


def _with_a_hole(grid: Grid) -> Grid:
    """The grid without its second cell."""
    return Grid(grid.rows, grid.columns, grid.side, without=[(0, 1)] if grid.rows > 1 else [])


# Mechanisms of places: on a grid instead.
PLACES: dict[str, Callable[[Grid, float], Mechanism]] = {
    "PlanarGeometric": warner.PlanarGeometric,
    "PlanarLaplace": warner.mechanisms.PlanarLaplace,
    "PlanarGeometric with reports outside": lambda g, e: warner.PlanarGeometric(
        g, e, truncated=False, reach=1
    ),
    "PlanarGeometric with cells left out": lambda g, e: warner.PlanarGeometric(
        _with_a_hole(g), e, reach=1
    ),
    "PlanarLaplace with cells left out": lambda g, e: warner.mechanisms.PlanarLaplace(
        _with_a_hole(g), e, truncated=False, reach=1
    ),
}
# Whose epsilon is for values closer or farther than one unit of distance.
SENSITIVITIES: dict[str, Callable[[Domain, float], Mechanism]] = {
    f"Laplace at sensitivity {s:g}": partial(warner.Laplace, sensitivity=s, reach=1)
    for s in (0.25, 0.5, 1.5)
}
# Mechanisms of pairs of a key and a value: keys, values, epsilon.
KEYED: dict[str, Callable[[Domain, Domain, float], Mechanism]] = {
    "KeyValue unary rounding": warner.KeyValue,
    "KeyValue direct rounding": lambda k, v, e: warner.KeyValue(k, v, e, key="direct"),
    "KeyValue unary piecewise": lambda k, v, e: warner.KeyValue(
        k, v, e, value="piecewise", cells=5
    ),
    "KeyValue direct piecewise": lambda k, v, e: warner.KeyValue(
        k, v, e, key="direct", value="piecewise", cells=5
    ),
    "KeyValue of little for values": lambda k, v, e: warner.KeyValue(
        k, v, e, value="piecewise", value_epsilon=e / 2, cells=5
    ),
    "KeyValue of several pairs": lambda k, v, e: warner.KeyValue(
        k, v, e, key="direct", value="piecewise", cells=5, pairs=2
    ),
}
# Mechanisms of numbers with nonresponse beside them: of the numbers that can be answered, and epsilon.
SILENT: dict[str, Callable[[Domain, float], Mechanism]] = {
    name: lambda d, e, name=name: warner.mechanisms.WithNonresponse(  # type: ignore[misc]
        MECHANISMS[name](d, e)
    )
    for name in ("SquareWave", "Piecewise", "StochasticRounding", "Laplace")
}
SILENT = {f"{name} with nonresponse": make for name, make in SILENT.items()}
ALL = [*MECHANISMS, *PLACES, *KEYED, *SILENT]


def _each(**makers: tuple[Domain, Callable[[Domain], Mechanism]]) -> warner.PerAttribute:
    """An attribute of each domain, with the mechanism made of it."""
    return warner.PerAttribute(
        Product(**{k: d for k, (d, _) in makers.items()}),
        {k: make for k, (_, make) in makers.items()},
    )


_ABC, _FOUR, _BINS = Categorical(["a", "b", "c"]), Integers(0, 3), Interval(0.0, 1.0, 3)
# Several reports of one person, by epsilon of a part: each small enough to enumerate.
PER_ATTRIBUTE: dict[str, Callable[[float], warner.PerAttribute]] = {
    "RR x OUE x OLH": lambda e: _each(
        a=(_ABC, lambda d: warner.RandomizedResponse(d, e)),
        b=(Categorical(["n", "y"]), lambda d: warner.UnaryEncoding(d, e / 2, variant="oue")),
        c=(Categorical(["u", "v"]), lambda d: warner.LocalHashing(d, e, seeds=4, buckets=3)),
    ),
    "RR x SquareWave": lambda e: _each(
        a=(_ABC, lambda d: warner.RandomizedResponse(d, e)),
        b=(_FOUR, lambda d: warner.SquareWave(d, e, cells=12)),
    ),
    "RR x SquareWave of bins": lambda e: _each(
        a=(_ABC, lambda d: warner.RandomizedResponse(d, e)),
        b=(_BINS, lambda d: warner.SquareWave(d, e, cells=12)),
    ),
    "uRR x RR": lambda e: _each(
        a=(_FOUR, lambda d: warner.UtilityOptimizedRR(d, e, sensitive=[0, 1])),
        b=(_ABC, lambda d: warner.RandomizedResponse(d, e)),
    ),
    "uRAP x OUE": lambda e: _each(
        a=(_FOUR, lambda d: warner.mechanisms.UtilityOptimizedRappor(d, e, sensitive=[0, 1])),
        b=(_ABC, lambda d: warner.UnaryEncoding(d, e, variant="oue")),
    ),
    "subsets x RR": lambda e: _each(
        a=(_FOUR, lambda d: warner.SubsetSelection(d, e, size=2)),
        b=(_ABC, lambda d: warner.RandomizedResponse(d, e)),
    ),
    "geometric x RR": lambda e: _each(
        a=(_FOUR, lambda d: warner.mechanisms.TruncatedGeometric(d, e)),
        b=(_ABC, lambda d: warner.RandomizedResponse(d, e)),
    ),
    "Gaussian x RR": lambda e: _each(
        a=(Integers(0, 2), lambda d: warner.mechanisms.Gaussian(d, e, delta=1e-3)),
        b=(_ABC, lambda d: warner.RandomizedResponse(d, e)),
    ),
    "RR twice x OUE": lambda e: _each(
        a=(_ABC, lambda d: warner.mechanisms.Repeated(warner.RandomizedResponse(d, e), 2)),
        b=(_ABC, lambda d: warner.UnaryEncoding(d, e)),
    ),
    "RR x hashes of a field": lambda e: _each(
        a=(Categorical(["n", "y"]), lambda d: warner.RandomizedResponse(d, e)),
        b=(_ABC, lambda d: warner.LocalHashing(d, e, buckets=2)),
    ),
    "nonresponse x OUE": lambda e: _each(
        a=(warner.domains.Optional(Integers(0, 1)), lambda d: warner.SubsetSelection(d, e)),
        b=(_ABC, lambda d: warner.UnaryEncoding(d, e, variant="oue")),
    ),
    "SquareWave and nonresponse x RR": lambda e: _each(
        a=(
            warner.domains.Optional(Integers(0, 2)),
            lambda d: warner.mechanisms.with_nonresponse(
                warner.SquareWave(d.answered, e, cells=12), d
            ),
        ),
        b=(_ABC, lambda d: warner.RandomizedResponse(d, e)),
    ),
    "RR alone": lambda e: _each(a=(_ABC, lambda d: warner.RandomizedResponse(d, e))),
}
REPEATED: dict[str, Callable[[float], warner.mechanisms.Repeated]] = {
    "RR three times": lambda e: warner.mechanisms.Repeated(warner.RandomizedResponse(_FOUR, e), 3),
    "OUE twice": lambda e: warner.mechanisms.Repeated(
        warner.UnaryEncoding(_FOUR, e, variant="oue"), 2
    ),
    "RR, OUE, OLH": lambda e: warner.mechanisms.Repeated(
        [
            warner.RandomizedResponse(_FOUR, e),
            warner.UnaryEncoding(_FOUR, e),
            warner.LocalHashing(_FOUR, e, seeds=8, buckets=3),
        ]
    ),
    "hashes of a field twice": lambda e: warner.mechanisms.Repeated(
        warner.LocalHashing(Integers(0, 2), e, buckets=2), 2
    ),
    "RR, OUE, RR": lambda e: warner.mechanisms.Repeated(
        [
            warner.RandomizedResponse(_FOUR, e),
            warner.UnaryEncoding(_FOUR, e),
            warner.RandomizedResponse(_FOUR, e),
        ]
    ),
    "uRR twice": lambda e: warner.mechanisms.Repeated(
        warner.UtilityOptimizedRR(_FOUR, e, sensitive=[0, 1]), 2
    ),
    "uRR, RR": lambda e: warner.mechanisms.Repeated(
        [warner.UtilityOptimizedRR(_FOUR, e, sensitive=[0, 1]), warner.RandomizedResponse(_FOUR, e)]
    ),
    "geometric twice": lambda e: warner.mechanisms.Repeated(
        warner.mechanisms.TruncatedGeometric(_FOUR, e), 2
    ),
    "SquareWave twice": lambda e: warner.mechanisms.Repeated(
        warner.SquareWave(_BINS, e, cells=12), 2
    ),
    "RR once": lambda e: warner.mechanisms.Repeated(warner.RandomizedResponse(_FOUR, e), 1),
}
# One block of questions for each person.
_ASKED = Product(a=_ABC, b=Categorical(["n", "y"]))
_MORE = Product(a=_ABC, b=Categorical(["n", "y"]), c=Categorical(["u", "v"]))
ONE_OF: dict[str, Callable[[float], warner.OneOf]] = {
    "one of two": lambda e: warner.OneOf(_ASKED, e),
    "one of three pairs": lambda e: warner.OneOf(_MORE, e, "pairs"),
    "two of three": lambda e: warner.OneOf(_MORE, e, ask=2),
    "one of bits and hashes": lambda e: warner.OneOf(
        _ASKED,
        mechanisms={
            "a": lambda d: warner.UnaryEncoding(d, e, variant="oue"),
            "b": lambda d: warner.LocalHashing(d, e, seeds=4, buckets=3),
        },
    ),
    "one of a pair of bits and a number": lambda e: warner.OneOf(
        Product(a=_ABC, b=Categorical(["n", "y"]), c=_BINS),
        blocks=[("a", "b"), "c"],
        mechanisms={
            ("a", "b"): lambda d: warner.SubsetSelection(d, e, size=2),
            "c": lambda d: warner.SquareWave(d, e, cells=12),
        },
    ),
    "one of some sensitive values": lambda e: warner.OneOf(
        Product(a=_FOUR, b=_ABC),
        mechanisms={
            "a": lambda d: warner.UtilityOptimizedRR(d, e, sensitive=[0, 1]),
            "b": lambda d: warner.RandomizedResponse(d, e),
        },
    ),
}
# One of several questions answered, and the others by fakes.
HIDDEN: dict[str, Callable[[float], warner.mechanisms.HiddenQuestion]] = {
    "two questions, one hidden": lambda e: warner.mechanisms.HiddenQuestion(
        Product(a=_ABC, b=_FOUR), e
    ),
    "one hidden, public fakes": lambda e: warner.mechanisms.HiddenQuestion(
        Product(a=_ABC, b=Categorical(["n", "y"])),
        e,
        odds={"a": 2, "b": 1},
        fakes={"a": {"a": 0.6, "b": 0.3, "c": 0.1}},
    ),
    "one hidden, subsets": lambda e: warner.mechanisms.HiddenQuestion(
        Product(a=_FOUR, b=_ABC), e, lambda d, e: warner.SubsetSelection(d, e, size=2)
    ),
}
COMBINED: dict[str, Callable[[float], Mechanism]] = {**PER_ATTRIBUTE, **REPEATED, **ONE_OF}
SEVERAL: dict[str, Callable[[float], Mechanism]] = {**COMBINED, **HIDDEN}

# Whose channel has no inverse that double precision knows: two reports tell no more than a mean,
# normal noise not much more.
BLIND = ["StochasticRounding", "StochasticRounding with nonresponse", "Gaussian"]
SEEING = [name for name in MECHANISMS if name not in BLIND]
# Whose epsilon is not the one asked for but the one they have, or means nothing without a delta.
LOOSE = [
    "MatrixMechanism",
    "Exponential",
    "Gaussian",
    "PlanarLaplace",
    "PlanarLaplace with cells left out",
]
# Whose epsilon is per unit of distance.
METRIC = ["Laplace of neighbours", "Geometric", "TruncatedGeometric", "Exponential", *PLACES]
TIGHT = [name for name in MECHANISMS if name not in LOOSE]

ESTIMATORS: list[Estimator] = [
    warner.Inversion(),
    warner.Inversion("project"),
    warner.Inversion("normalize"),
    warner.Inversion("norm-cut"),
    warner.Inversion("threshold"),
    warner.MaximumLikelihood(),
    warner.ExpectationMaximization(20),
    warner.estimators.literature.SmoothedEM(),
    warner.LogSpline(),
    warner.estimators.literature.MixtureReduction(),
    warner.estimators.literature.MixtureReduction("mle", operation="prune"),
    warner.estimators.literature.WienerFilter(),
    warner.EmpiricalBayes(),
    warner.EmpiricalBayes("absolute", "normal"),
    warner.estimators.literature.BiasCorrection(),
    warner.estimators.literature.BiasCorrection(alpha="bootstrap"),
    warner.estimators.Independent(),
    warner.estimators.RakedJoint(),
    warner.estimators.Uniform(),
    warner.estimators.Observed(),
]

# Domain -> answers that it must refuse.
DOMAINS: list[tuple[Domain, list[Any]]] = [
    (
        Categorical(["no", "yes", "maybe"]),
        ["NO", "", 1, 1.0, True, None, float("nan"), b"no", ["no"]],
    ),
    (Categorical([3, 1, 2]), [0, 4, -1, 2.5, True, "1", None, float("nan"), 2**70]),
    (Categorical([True, False]), [2, "True", None]),
    (Categorical(["a", 1]), [True, "1", 2, 1.5, None]),
    (
        Integers(-2, 3),
        [-3, 4, 1.5, True, "0", None, float("nan"), float("inf"), 2**70, -(2**70)],
    ),
    (
        Interval(-1.0, 1.0, 5),
        [1.0000001, -2, float("nan"), float("inf"), -float("inf"), True, "0.5", None, 1j],
    ),
    (Grid(2, 3), [(2, 0), (0, 3), (-1, 0), (0.5, 1), (True, 1), (0,), (0, 1, 2), "01", None, 4]),
    (
        Grid(3, 3, 0.5, without=[(0, 0), (1, 1)]),
        [(0, 0), (1, 1), (3, 0), (-1, 0), (0.5, 1), (True, 1), "01", None, 4],
    ),
    (
        warner.domains.Subset(Integers(0, 5), [1, 2, 5]),
        [0, 3, 6, -1, 1.5, True, "1", None, float("nan"), 2**70],
    ),
    (
        warner.domains.Optional(Integers(0, 2), ["", "NA"]),
        [3, -1, 0.5, "0", "na", " ", True, b"", 2**70, float("inf"), [None]],
    ),
    (
        warner.domains.Optional(Grid(1, 3), []),
        [(0, 3), (0,), (0, None), "", "0,1", 4, True],
    ),
    (
        warner.domains.Items(["bank", "dentist", "post"]),
        [["bus"], "bus", "bank;bus", 3, None, ["bank", None], {"bank": 1}],
    ),
    (warner.domains.Words("a-c", 3), [1, 2.5, None, True, float("nan"), b"a", ["a"]]),
    (
        warner.domains.Words("a-c", 4, middle=2, left=["ab", "c"], right=["", "ca"]),
        [1, None, b"ab"],
    ),
    (
        Product(sex=Categorical(["f", "m"]), age=Integers(0, 2)),
        [
            {"sex": "f"},
            {"sex": "f", "age": 3},
            {"sex": "x", "age": 0},
            {"sex": "f", "age": 0, "more": 1},
            None,
            "f",
        ],
    ),
]

# Thresholds of 64-bit words: the ends, those on and off 16-bit tables, and one without a pattern.
BOUNDARY_THRESHOLDS = [
    0,
    1,
    2**47,
    2**48,
    2**48 - 1,
    2**63,
    2**63 + 1,
    3 * 2**62,
    2**64 // 3,
    2**64 - 2**48,
    2**64 - 1,
]

BAD_EPSILONS: list[Any] = [
    0,
    0.0,
    -1,
    -1e-9,
    float("nan"),
    float("inf"),
    -float("inf"),
    1e308,
    50.0,
    1e-30,
    True,
    "1",
    None,
    1j,
    [1.0],
]


@cache  # the names of tests ask for each of them many times
def smallest(name: str, epsilon: float = 1.0) -> Mechanism:
    """An instance small enough to enumerate all reports."""
    if name in KEYED:
        return KEYED[name](Categorical(["a", "b", "c"]), Integers(0, 2), epsilon)
    if name in SILENT:
        return SILENT[name](Integers(0, 3), epsilon)
    return (
        PLACES[name](Grid(3, 4), epsilon)
        if name in PLACES
        else MECHANISMS[name](Integers(0, 3), epsilon)
    )
