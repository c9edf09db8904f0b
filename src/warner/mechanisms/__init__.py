"""Mechanisms: what runs on the device. Each file declares a family's law once; here they are listed by name."""

from __future__ import annotations

from warner.mechanisms._base import Mechanism, guarded
from warner.mechanisms._headers import MECHANISMS, from_header
from warner.mechanisms.attributes import PerAttribute
from warner.mechanisms.direct import ChannelMechanism, RandomizedResponse
from warner.mechanisms.exponential import Exponential
from warner.mechanisms.gaussian import Gaussian
from warner.mechanisms.hadamard import HadamardResponse
from warner.mechanisms.hashing import LocalHashing
from warner.mechanisms.keyvalue import KeyValue
from warner.mechanisms.noise import Geometric, Laplace, TruncatedGeometric
from warner.mechanisms.numeric import Piecewise, SquareWave, StochasticRounding
from warner.mechanisms.personal import Personalized
from warner.mechanisms.planar import PlanarGeometric, PlanarLaplace
from warner.mechanisms.repeated import Repeated
from warner.mechanisms.subset import SubsetSelection
from warner.mechanisms.unary import UnaryEncoding
from warner.mechanisms.utility import UtilityOptimizedRappor, UtilityOptimizedRR

# The registration of a mechanism: its name in headers and study files is its class's.
MECHANISMS.update(
    (cls.__name__, cls)
    for cls in (
        RandomizedResponse,
        UnaryEncoding,
        LocalHashing,
        SubsetSelection,
        HadamardResponse,
        ChannelMechanism,
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
    )
)


__all__ = [*MECHANISMS, "MECHANISMS", "Mechanism", "Personalized", "from_header", "guarded"]
