"""Mechanisms: local randomisers, listed here by name.

A file declares one family: schema, law, sampler and channel. What every mechanism does with them
stands in :mod:`warner.mechanisms.base`.
"""

from __future__ import annotations

from warner.mechanisms.additive_noise import Geometric, Laplace, TruncatedGeometric
from warner.mechanisms.base import Mechanism
from warner.mechanisms.bit_vectors import SubsetSelection, UnaryEncoding
from warner.mechanisms.composite import PerAttribute, Repeated
from warner.mechanisms.direct import MatrixMechanism, RandomizedResponse
from warner.mechanisms.exponential import Exponential
from warner.mechanisms.gaussian import Gaussian
from warner.mechanisms.geometry import HadamardResponse, ProjectiveGeometryResponse
from warner.mechanisms.headers import MECHANISMS, from_header
from warner.mechanisms.key_value import KeyValue
from warner.mechanisms.local_hashing import LocalHashing
from warner.mechanisms.numeric import (
    Piecewise,
    SquareWave,
    StochasticRounding,
    WithNonresponse,
    with_nonresponse,
)
from warner.mechanisms.personalized import Device, PersonalizedULDP
from warner.mechanisms.planar import PlanarGeometric, PlanarLaplace
from warner.mechanisms.utility_optimized import UtilityOptimizedRappor, UtilityOptimizedRR

# The name of a mechanism in headers and study files is the name of its class.
MECHANISMS.update(
    (cls.__name__, cls)
    for cls in (
        RandomizedResponse,
        UnaryEncoding,
        LocalHashing,
        SubsetSelection,
        HadamardResponse,
        ProjectiveGeometryResponse,
        MatrixMechanism,
        UtilityOptimizedRR,
        UtilityOptimizedRappor,
        SquareWave,
        Piecewise,
        StochasticRounding,
        Laplace,
        Gaussian,
        Geometric,
        TruncatedGeometric,
        PlanarGeometric,
        PlanarLaplace,
        Exponential,
        PerAttribute,
        Repeated,
        KeyValue,
        WithNonresponse,
    )
)


__all__ = [
    "MatrixMechanism",
    "Device",
    "Exponential",
    "Gaussian",
    "Geometric",
    "HadamardResponse",
    "KeyValue",
    "Laplace",
    "LocalHashing",
    "MECHANISMS",
    "Mechanism",
    "PerAttribute",
    "PersonalizedULDP",
    "Piecewise",
    "PlanarGeometric",
    "PlanarLaplace",
    "ProjectiveGeometryResponse",
    "RandomizedResponse",
    "Repeated",
    "SquareWave",
    "StochasticRounding",
    "SubsetSelection",
    "TruncatedGeometric",
    "UnaryEncoding",
    "UtilityOptimizedRR",
    "UtilityOptimizedRappor",
    "WithNonresponse",
    "from_header",
    "with_nonresponse",
]
