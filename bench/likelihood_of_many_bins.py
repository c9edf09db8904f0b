"""Claim: on 1024 bins the exact likelihood of square-wave and piecewise reports takes milliseconds,
plain EM seconds.

Both laws are a window of likely cells among 1024 (METHODS 2). EM is run as the literature runs it,
until the total log-likelihood changes by less than 1e-3: once through the matrix, and once through
the same fast products that ours uses.
"""

from __future__ import annotations

import numpy as np

from _measure import SEED, alternate, claim
from warner import Integers, MaximumLikelihood
from warner.channels import BandChannel, windows
from warner.estimators.base import LikelihoodData, log_likelihood

BINS, N = 1024, 10**5
STOP = 1e-3


def square_wave(epsilon: float) -> BandChannel:
    e = np.exp(epsilon)
    b = (epsilon * e - e + 1) / (2 * e * (e - 1 - epsilon))
    return _window(2 * b / (1 + 2 * b), e)


def piecewise(epsilon: float) -> BandChannel:
    return _window(1 / (np.exp(epsilon / 2) + 1), np.exp(epsilon))


def _window(share: float, e: float) -> BandChannel:
    width = round(share * BINS)
    low = 1 / (width * e + BINS - width)
    return windows(BINS, width, BINS, low, low * (e - 1))


def main() -> None:
    """One claim per mechanism."""
    rng = np.random.default_rng(SEED)
    x = (np.arange(BINS) + 0.5) / BINS
    truth = np.exp(-((x - 0.4) ** 2) / 0.02)
    truth /= truth.sum()
    for make in (square_wave, piecewise):
        slowest, smallest, smallest_same, largest, worse = 0.0, np.inf, np.inf, 0.0, -np.inf
        for epsilon in (0.5, 1.0, 2.0):
            channel = make(epsilon)
            w = channel.simulate(truth, N, rng)
            data = LikelihoodData(channel, w, N, Integers(1, BINS))
            matrix = channel.dense()
            found: dict[str, tuple[np.ndarray, int]] = {}

            def through_matrix(
                a: np.ndarray = matrix,
                w: np.ndarray = w,
                found: dict[str, tuple[np.ndarray, int]] = found,
            ) -> None:
                found["matrix"] = _em(lambda v: a @ v, lambda v: v @ a, w)

            def through_products(
                c: BandChannel = channel,
                w: np.ndarray = w,
                found: dict[str, tuple[np.ndarray, int]] = found,
            ) -> None:
                found["products"] = _em(c.matvec, c.rmatvec, w)

            seconds = alternate(
                {
                    "exact": lambda f=data: MaximumLikelihood(1e-6).fit(f),
                    "matrix": through_matrix,
                    "products": through_products,
                },
                3,
            )
            fit = MaximumLikelihood(1e-6).fit(data)
            behind = N * (
                log_likelihood(channel, w, found["matrix"][0])
                - log_likelihood(channel, w, fit.probabilities)
            )
            print(
                f"  {make.__name__}, epsilon {epsilon}: exact {seconds['exact'] * 1e3:.1f} ms (gap {fit.gap:.1e}); EM, {found['matrix'][1]} steps: "
                f"{seconds['matrix'] * 1e3:.0f} ms by the matrix, {seconds['products'] * 1e3:.0f} ms by fast products, {-behind:.3f} nats short"
            )
            slowest, largest = max(slowest, seconds["exact"]), max(largest, fit.gap or 0.0)
            smallest = min(smallest, seconds["matrix"] / seconds["exact"])
            smallest_same = min(smallest_same, seconds["products"] / seconds["exact"])
            worse = max(worse, behind)
        name = f"{make.__name__}, {BINS} bins"
        claim(
            f"{name}: gap at most 1e-6 in less than 50 ms",
            slowest < 0.05 and largest <= 1e-6,
            f"{slowest * 1e3:.1f} ms, gap {largest:.1e}",
        )
        claim(
            f"{name}: at least 50 times as fast as plain EM",
            smallest >= 50,
            f"{smallest:.0f} times; {smallest_same:.1f} times EM by fast products",
        )
        claim(f"{name}: no worse in likelihood", worse <= 0, f"EM at least {-worse:.3f} nats short")


def _em(matvec, rmatvec, w: np.ndarray) -> tuple[np.ndarray, int]:  # type: ignore[no-untyped-def]
    """EM from the uniform start until the total log-likelihood rises by less than STOP."""
    theta, last, seen = np.full(BINS, 1 / BINS), -np.inf, w > 0
    for step in range(10**6):
        d = matvec(theta)
        value = N * float(w[seen] @ np.log(d[seen]))
        if value - last < STOP:
            return theta, step
        theta, last = theta * rmatvec(w / d), value
    raise RuntimeError("EM did not stop")


if __name__ == "__main__":
    main()
