"""Claim: randomising many answers takes a small part of the time that the best peer's clients take.

At K = 256 and epsilon = 1, at least 20 times as fast for randomised response (GRR), 8 times for
unary encoding (OUE, SUE) and 20 times for optimised local hashing (OLH), with the operating
system's randomness, which real answers need. The figure with a seeded generator, which is what
every peer uses, is printed beside it.

The peers' clients take one value at a time, so theirs is a loop over users. Both sides turn n
values into n reports: ours in packed columns, theirs in a list, as their collectors take them. "Not
kept" is their loop with every report dropped at once, which spares them the memory for the list;
the claims are about the faster of the two.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from _measure import EPSILON, SEED, K, alternate, faster, row
from _peers import clients
from warner import Integers, LocalHashing, RandomizedResponse, UnaryEncoding

BARS = {"GRR": 20, "OUE": 8, "SUE": 8, "OLH": 20}
MOST = {
    "GRR": 1_000_000,
    "OUE": 100_000,
    "SUE": 100_000,
    "OLH": 100_000,
}  # users that peers are timed with; more are scaled
SIZES = (100_000, 1_000_000)


def keep(client: Callable[[int], Any], values: list[int]) -> list[Any]:
    """Reports of all users, in a list."""
    return [client(value) for value in values]


def drop(client: Callable[[int], Any], values: list[int]) -> None:
    """Reports of all users, each forgotten at once."""
    deque(map(client, values), maxlen=0)


def main() -> None:
    """Time every client at every size, then state the claims."""
    domain = Integers(0, K - 1)
    ours = {
        "GRR": RandomizedResponse(domain, EPSILON),
        "OUE": UnaryEncoding(domain, EPSILON, "optimized"),
        "SUE": UnaryEncoding(domain, EPSILON, "symmetric"),
        "OLH": LocalHashing(domain, EPSILON),
    }
    verdicts = []
    for n in SIZES:
        values = np.random.default_rng(SEED).integers(0, K, n)
        for kind, mechanism in ours.items():
            rng = np.random.default_rng(SEED)
            few = values[: min(n, MOST[kind])].tolist()
            theirs = clients(kind, K, EPSILON)
            jobs: dict[str, Callable[[], Any]] = {
                "warner, operating system's randomness": lambda m=mechanism, v=values: m.randomize(
                    v
                ),
                "warner, seeded generator": lambda m=mechanism, v=values, r=rng: m.randomize(v, r),
            }
            names = list(jobs)
            for peer, client in theirs.items():
                keep(client, few[:1000])  # numba compiles here
                jobs[f"{peer}, a list of reports"] = lambda c=client, v=few: keep(c, v)
                jobs[f"{peer}, not kept"] = lambda c=client, v=few: drop(c, v)
            for name in names:
                jobs[name]()
            print(f"{kind} clients, K = {K}, epsilon = {EPSILON:g}, n = {n:,}")
            seconds = alternate(jobs, 5 if kind == "GRR" else 3)
            scale = n / len(few)
            for name in jobs:
                if name not in names:
                    seconds[name] *= scale
                note = (
                    f"timed at {len(few):,} and scaled" if name not in names and scale > 1 else ""
                )
                row(name, seconds[name], n, note)
            best = min((name for name in jobs if name not in names), key=seconds.__getitem__)
            print(
                f"  best peer: {best}; {seconds[best] / seconds[names[0]]:.1f} times and, seeded, {seconds[best] / seconds[names[1]]:.1f} times ours"
            )
            verdicts.append(
                (f"{kind} client, n = {n:,}:", seconds[names[0]], seconds[best], BARS[kind])
            )
    for verdict in verdicts:
        faster(*verdict)


if __name__ == "__main__":
    main()
