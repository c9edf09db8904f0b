"""Mechanisms: what runs on the device. Each file declares a family's law once; here they are listed by name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from warner._check import MismatchError, WarnerError, message, show
from warner.domain import canonical, from_spec
from warner.mechanisms._base import Mechanism, guarded
from warner.mechanisms.direct import ChannelMechanism, RandomizedResponse
from warner.mechanisms.exponential import Exponential
from warner.mechanisms.gaussian import Gaussian
from warner.mechanisms.hadamard import HadamardResponse
from warner.mechanisms.hashing import LocalHashing
from warner.mechanisms.noise import Geometric, Laplace, TruncatedGeometric
from warner.mechanisms.numeric import Piecewise, SquareWave, StochasticRounding
from warner.mechanisms.personal import Personalized
from warner.mechanisms.planar import PlanarGeometric, PlanarLaplace
from warner.mechanisms.subset import SubsetSelection
from warner.mechanisms.unary import UnaryEncoding
from warner.mechanisms.utility import UtilityOptimizedRappor, UtilityOptimizedRR
from warner.tally import require_same

# The registration of a mechanism: its name in headers and study files is its class's.
MECHANISMS: dict[str, type[Mechanism]] = {
    cls.__name__: cls
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
    )
}


def from_header(header: Mapping[str, Any]) -> Mechanism:
    """The mechanism that a report's or tally's header describes, with the same law to the last bit.

    Raises:
        MismatchError: a mechanism, version or law that this version of warner does not make.

    >>> from warner import Categorical
    >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    >>> from_header(coin.header).header == coin.header
    True
    """
    try:
        return _from_header(canonical(dict(header)))
    except (TypeError, ValueError, RecursionError) as error:
        if isinstance(error, WarnerError):
            raise
    raise MismatchError(message("header", "is not a mechanism's header", None, "Was the file altered?"))


@lru_cache(maxsize=64)
def _from_header(text: str) -> Mechanism:
    """Mechanisms are immutable, and their headers come again with every file and estimate."""
    header = json.loads(text)
    name = header.get("mechanism")
    cls = MECHANISMS.get(name) if isinstance(name, str) else None
    if cls is None or header.get("version") != cls.version:
        raise MismatchError(
            message(
                "header", f"names a mechanism unknown here: {show(name)}, version {show(header.get('version'))}", None, "Use the version that made it"
            )
        )
    try:
        requested = float("inf") if header["requested"] == "inf" else header["requested"]
        mechanism = cls._rebuild(from_spec(header["domain"]), requested, header["parameters"])
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError, MemoryError):
        raise MismatchError(message("header", f"does not describe a valid {name}", None, "Was the file altered?")) from None
    require_same(mechanism.header, header, "header and the law it names")
    return mechanism


__all__ = [*MECHANISMS, "MECHANISMS", "Mechanism", "Personalized", "from_header", "guarded"]
