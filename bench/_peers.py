"""The peers' clients and collectors, called as their documentation calls them: one Python call per
user.

multi-freq-ldpy compiles its clients for randomised response and unary encoding with numba; pure-ldp
is Python and NumPy.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

PURE, MULTI = "pure-ldp", "multi-freq-ldpy"
PEERS = (PURE, MULTI)
MISSING: list[str] = []
"""The peers that are not installed, which then have no clients and no collectors."""

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the peers use what their dependencies have deprecated
    try:
        from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client
        from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client
        from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client
    except ImportError:
        MISSING.append(MULTI)
    try:
        from pure_ldp.frequency_oracles.direct_encoding import DEClient
        from pure_ldp.frequency_oracles.local_hashing import (
            FastLHClient,
            FastLHServer,
            LHClient,
            LHServer,
        )
        from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer
    except ImportError:
        MISSING.append(PURE)


def _same(value: int) -> int:
    return value


POOL = 1024  # seeds of a pool


def clients(kind: str, size: int, epsilon: float) -> dict[str, Callable[[int], Any]]:
    """Each peer's client for a kind, from a value in 0..size-1 to a report.

    The kinds are GRR, OUE, SUE, OLH, and FLH: local hashing with a pool of :data:`POOL` seeds, which
    pure-ldp calls a heuristic variant of OLH.
    """
    optimal = kind == "OUE"
    pure: dict[str, Callable[[], Any]] = {
        "GRR": lambda: DEClient(epsilon, size, _same),
        "OUE": lambda: UEClient(epsilon, size, use_oue=optimal, index_mapper=_same),
        "OLH": lambda: LHClient(epsilon, size, use_olh=True, index_mapper=_same),
        "FLH": lambda: FastLHClient(epsilon, size, POOL, use_olh=True, index_mapper=_same),
    }
    pure["SUE"] = pure["OUE"]
    multi: dict[str, Callable[[int], Any]] = {
        "GRR": lambda value: GRR_Client(value, size, epsilon),
        "OUE": lambda value: UE_Client(value, size, epsilon, optimal),
        "OLH": lambda value: LH_Client(value, size, epsilon, True),
    }
    multi["SUE"] = multi["OUE"]
    return _present({PURE: lambda: pure[kind]().privatise, MULTI: lambda: multi.get(kind)})


def collectors(kind: str, size: int, epsilon: float) -> dict[str, Callable[[list[Any]], Any]]:
    """Each peer's collector for a kind (OUE, OLH, FLH), from a list of its own client's reports to an
    estimate. To make the matrix of a pool is a part of the work.
    """
    pure: dict[str, Callable[[], Any]] = {
        "OUE": lambda: UEServer(epsilon, size, index_mapper=_same, use_oue=True),
        "OLH": lambda: LHServer(epsilon, size, index_mapper=_same, use_olh=True),
        "FLH": lambda: FastLHServer(epsilon, size, POOL, use_olh=True, index_mapper=_same),
    }
    multi: dict[str, Callable[[list[Any]], Any]] = {
        "OUE": lambda reports: UE_Aggregator_MI(reports, epsilon, True),
        "OLH": lambda reports: LH_Aggregator_MI(reports, size, epsilon, True),
    }

    def serve(reports: list[Any]) -> Any:
        server = pure[kind]()
        server.aggregate_all(reports)
        return server.estimate_all(range(size), suppress_warnings=True)

    return _present({PURE: lambda: serve, MULTI: lambda: multi.get(kind)})


def _present(make: dict[str, Callable[[], Any]]) -> dict[str, Callable[..., Any]]:
    """What the peers that are installed have."""
    made = {peer: one() for peer, one in make.items() if peer not in MISSING}
    return {peer: one for peer, one in made.items() if one is not None}
