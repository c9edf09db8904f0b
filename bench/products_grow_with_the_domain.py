"""Claim: multiplying by the channels of ordered domains costs O(K), planar ones O(K log K), for K =
2^8 .. 2^16.

One product A theta and one adjoint A' r each. From K = 2^12 to 2^16 sixteen times as much is
linear, 21.3 times is K log K, 256 times is a matrix.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from _measure import alternate, claim
from warner import Grid, Integers, Interval, Laplace, PlanarGeometric, SquareWave
from warner.channels import Channel
from warner.mechanisms import Geometric, Piecewise

SIZES = [2**k for k in range(8, 17, 2)]
MAKERS: dict[str, Callable[[int], Channel]] = {
    "square wave": lambda k: SquareWave(Interval(0, 1, k), 1.0, cells=k).channel(),
    "piecewise": lambda k: Piecewise(Interval(0, 1, k), 1.0, cells=k).channel(),
    "geometric": lambda k: Geometric(Integers(1, k), 1.0).channel(),
    "Laplace": lambda k: Laplace(Integers(1, k), 1.0, sensitivity=1).channel(),
    "planar geometric": lambda k: PlanarGeometric(
        Grid(math.isqrt(k), math.isqrt(k)), 0.5
    ).channel(),
}


def main() -> None:
    """One claim per channel."""
    rng = np.random.default_rng(0)
    for name, make in MAKERS.items():
        jobs: dict[str, Callable[[], object]] = {}
        for size in SIZES:
            channel = make(size)
            theta, r = rng.dirichlet(np.ones(size)), rng.random(channel.shape[0])
            jobs[str(size)] = lambda c=channel, t=theta, r=r: (c.matvec(t), c.rmatvec(r))  # type: ignore[misc]
        seconds = alternate(jobs)
        print(
            f"{name:17}"
            + "".join(
                f"  K 2^{round(math.log2(int(k)))}: {1e3 * s:.3f} ms" for k, s in seconds.items()
            )
        )
        order, limit = ("K log K", 16 * 16 / 12) if name.startswith("planar") else ("K", 16.0)
        growth = seconds[str(2**16)] / seconds[str(2**12)]
        # Half as much again is left to caches that 2^16 numbers no longer fit.
        claim(
            f"{name} products cost O({order})",
            growth <= 1.5 * limit,
            f"{growth:.1f} times from 2^12 to 2^16, {limit:.1f} is {order}",
        )


if __name__ == "__main__":
    main()
