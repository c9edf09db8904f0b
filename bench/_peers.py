"""The peers' clients and collectors, called as their documentation calls them: one Python call per
user.

multi-freq-ldpy compiles its clients for randomised response and unary encoding with numba; pure-ldp
is Python and NumPy.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the peers use what their dependencies have deprecated
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client
    from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client
    from pure_ldp.frequency_oracles.direct_encoding import DEClient
    from pure_ldp.frequency_oracles.local_hashing import (
        FastLHClient,
        FastLHServer,
        LHClient,
        LHServer,
    )
    from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

PURE, MULTI = "pure-ldp", "multi-freq-ldpy"


def _same(value: int) -> int:
    return value


def clients(kind: str, size: int, epsilon: float) -> dict[str, Callable[[int], Any]]:
    """Each peer's client for ``kind`` (GRR, OUE, SUE, OLH), from a value in 0..size-1 to a report."""
    if kind == "GRR":
        return {
            PURE: DEClient(epsilon, size, _same).privatise,
            MULTI: lambda value: GRR_Client(value, size, epsilon),
        }
    if kind == "OLH":
        return {
            PURE: LHClient(epsilon, size, use_olh=True, index_mapper=_same).privatise,
            MULTI: lambda value: LH_Client(value, size, epsilon, True),
        }
    optimal = kind == "OUE"
    return {
        PURE: UEClient(epsilon, size, use_oue=optimal, index_mapper=_same).privatise,
        MULTI: lambda value: UE_Client(value, size, epsilon, optimal),
    }


def collectors(kind: str, size: int, epsilon: float) -> dict[str, Callable[[list[Any]], Any]]:
    """Each peer's collector for ``kind`` (OUE, OLH), from a list of its own client's reports to an
    estimate.
    """

    def pure(reports: list[Any]) -> Any:
        make = UEServer if kind == "OUE" else LHServer
        options = {"use_oue": True} if kind == "OUE" else {"use_olh": True}
        return _serve(make(epsilon, size, index_mapper=_same, **options), reports, size)

    if kind == "OUE":
        return {PURE: pure, MULTI: lambda reports: UE_Aggregator_MI(reports, epsilon, True)}
    return {PURE: pure, MULTI: lambda reports: LH_Aggregator_MI(reports, size, epsilon, True)}


def pool_client(size: int, epsilon: float, pool: int) -> Callable[[int], Any]:
    """pure-ldp's fast local hashing: seeds from a pool, which it calls a heuristic variant of OLH."""
    return FastLHClient(epsilon, size, pool, use_olh=True, index_mapper=_same).privatise


def pool_collector(size: int, epsilon: float, pool: int) -> Callable[[list[Any]], Any]:
    """The collector of :func:`pool_client`; making its hash matrix is part of the work."""
    return lambda reports: _serve(
        FastLHServer(epsilon, size, pool, use_olh=True, index_mapper=_same), reports, size
    )


def _serve(server: Any, reports: list[Any], size: int) -> Any:
    server.aggregate_all(reports)
    return server.estimate_all(range(size), suppress_warnings=True)
