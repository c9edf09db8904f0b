"""Claim: turning reports into an estimate takes a small part of the time that the best peer's
collector takes.

At K = 256 and epsilon = 1, at least 50 times as fast for optimised local hashing (OLH) and 3 times
for unary encoding (OUE).

Ours is ``estimate(mechanism.tally(reports))``: the reports checked, tallied, inverted and projected
on the simplex. A peer aggregates the reports of its own clients and estimates every value, without
a projection. Our OLH collector hashes its public pool of seeds once and keeps that; *cold* is with
nothing kept, as in a fresh process, *warm* is any later estimate.

pure-ldp also has a variant with a pool of seeds, which it calls a heuristic: its estimator takes
the pool's collisions to be 1/g. It is shown beside ours with the same pools, for information.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from _measure import EPSILON, SEED, K, alternate, faster, row
from _peers import clients, collectors, pool_client, pool_collector
from warner import Integers, LocalHashing, UnaryEncoding, estimate
from warner.channels.hashed import _bucket_table, _collisions, _places, _support_inverse

SIZES = (100_000, 1_000_000)
PEERS_OUE, PEERS_OLH = 100_000, 20_000  # users that peers are timed with; more are scaled
POOLS = (1024, 2**16)


def forget() -> None:
    """Drop what an earlier estimate has hashed."""
    _places.cache_clear()
    _bucket_table.cache_clear()
    _collisions.cache_clear()
    _support_inverse.cache_clear()


def ours(mechanism: Any, values: np.ndarray) -> Callable[[], Any]:
    """Our collector, with reports to work on."""
    reports = mechanism.randomize(values, np.random.default_rng(SEED))
    return lambda: estimate(mechanism.tally(reports))


def peers(kind: str, values: list[int]) -> dict[str, Callable[[], Any]]:
    """The peers' collectors, each with reports of its own client."""
    jobs = {}
    makers = clients(kind, K, EPSILON)
    for name, collector in collectors(kind, K, EPSILON).items():
        reports = [makers[name](value) for value in values]
        jobs[name] = lambda c=collector, r=reports: c(r)
    return jobs


def unary(values: np.ndarray, verdicts: list[Any]) -> None:
    """OUE at every size."""
    mechanism = UnaryEncoding(Integers(0, K - 1), EPSILON, "optimized")
    theirs = peers("OUE", values[:PEERS_OUE].tolist())
    for n in SIZES:
        print(f"OUE collectors, K = {K}, epsilon = {EPSILON:g}, n = {n:,}")
        jobs = {"warner": ours(mechanism, values[:n]), **theirs}
        jobs["warner"]()
        seconds = alternate(jobs)
        for name in theirs:
            seconds[name] *= n / PEERS_OUE
        for name in jobs:
            row(
                name,
                seconds[name],
                n,
                f"timed at {PEERS_OUE:,} and scaled" if name in theirs and n > PEERS_OUE else "",
            )
        verdicts.append(
            (
                f"OUE collector, n = {n:,}:",
                seconds["warner"],
                min(seconds[name] for name in theirs),
                3,
            )
        )


def hashing(values: np.ndarray, verdicts: list[Any]) -> None:
    """OLH at every size, cold and warm."""
    mechanism = LocalHashing(Integers(0, K - 1), EPSILON)
    theirs = peers("OLH", values[:PEERS_OLH].tolist())
    for n in SIZES:
        print(
            f"OLH collectors, K = {K}, epsilon = {EPSILON:g}, n = {n:,}; over {mechanism.prime} residues"
        )
        work = ours(mechanism, values[:n])
        work()  # so that warm is warm and cold differs by what is kept only
        jobs = {"warner, cold": work, "warner, warm": work, **theirs}
        seconds = alternate(jobs, before={"warner, cold": forget, "warner, warm": work})
        for name in theirs:
            seconds[name] *= n / PEERS_OLH
        for name in jobs:
            row(
                name,
                seconds[name],
                n,
                f"timed at {PEERS_OLH:,} and scaled" if name in theirs else "",
            )
        best = min(seconds[name] for name in theirs)
        for state in ("cold", "warm"):
            verdicts.append(
                (f"OLH collector, n = {n:,}, {state}:", seconds[f"warner, {state}"], best, 50)
            )


def pools(values: np.ndarray) -> None:
    """OLH with the same pool of seeds on both sides, everything cold."""
    n = PEERS_OUE
    for pool in POOLS:
        print(f"OLH with a pool of {pool:,} seeds on both sides, cold, n = {n:,} (for information)")
        mechanism = LocalHashing(Integers(0, K - 1), EPSILON, seeds=pool)
        client = pool_client(K, EPSILON, pool)
        reports = [client(value) for value in values[:n].tolist()]
        collector = pool_collector(K, EPSILON, pool)
        jobs = {
            "warner": ours(mechanism, values[:n]),
            "pure-ldp, FastLHServer": lambda c=collector, r=reports: c(r),
        }
        seconds = alternate(jobs, before={"warner": forget})
        for name in jobs:
            row(name, seconds[name], n)
        print(f"  {seconds['pure-ldp, FastLHServer'] / seconds['warner']:.1f} times as fast")


def main() -> None:
    """Time every collector at every size, then state the claims."""
    values = np.random.default_rng(SEED).integers(0, K, max(SIZES))
    verdicts: list[Any] = []
    unary(values, verdicts)
    hashing(values, verdicts)
    pools(values)
    for verdict in verdicts:
        faster(*verdict)


if __name__ == "__main__":
    main()
