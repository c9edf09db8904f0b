"""Claim: the exact likelihood takes the same time from 10^4 people as from 10^9, from simulated
tallies.

Square-wave reports are the exception: more people show more bins, so the maximum sits on more of
them, and the time grows until the domain bounds it. It stays below 50 ms.
"""

from __future__ import annotations

import numpy as np

from _measure import SEED, alternate, claim
from warner import Integers, LocalHashing, MaximumLikelihood, RandomizedResponse
from warner.channels import Channel, GeometricChannel, windows
from warner.estimators.base import LikelihoodData


def main() -> None:
    """One claim per channel."""
    rng = np.random.default_rng(SEED)
    gap, level = 1.1, 1 / (87 * np.e + 256 - 87)
    cases: dict[str, tuple[Channel, float]] = {
        "randomised response, K = 400": (RandomizedResponse(Integers(0, 399), 1.0).channel(), 1e-9),
        "local hashing with 1024 seeds, K = 100": (
            LocalHashing(Integers(0, 99), 1.0, seeds=1024).channel(),
            1e-8,
        ),
        "square wave, 256 bins": (windows(256, 87, 256, level, level * (np.e - 1)), 1e-8),
        "geometric, K = 100": (GeometricChannel(100, float(np.exp(-gap))), 1e-8),
    }
    for name, (channel, target) in cases.items():
        theta = 1 / np.arange(1, channel.shape[1] + 1) ** 1.1
        theta /= theta.sum()
        jobs = {}
        for power in range(4, 10):
            n = 10**power
            data = LikelihoodData(
                channel, channel.simulate(theta, n, rng), n, Integers(1, theta.size)
            )
            jobs[f"10^{power}"] = lambda f=data, t=target: MaximumLikelihood(t).fit(f)
        seconds = alternate(jobs, 5)
        print(f"{name}, seconds by n: " + ", ".join(f"{n} {s:.2g}" for n, s in seconds.items()))
        if name.startswith("square"):
            # More people show more bins, so the maximum sits on 20 of them at 10^4 and on 200 at
            # 10^9: the domain bounds the time.
            claim(
                f"{name}: below 50 ms from 10^4 to 10^9 people",
                max(seconds.values()) < 0.05,
                f"at most {max(seconds.values()) * 1e3:.0f} ms",
            )
            continue
        ratio = seconds["10^9"] / max(seconds["10^4"], seconds["10^5"])
        claim(
            f"{name}: 10^9 people take no longer than 10^4 or 10^5, within a factor of 2",
            ratio < 2,
            f"{ratio:.2f} times",
        )


if __name__ == "__main__":
    main()
