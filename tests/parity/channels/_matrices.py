"""Structured channels, each with the same law written out entry by entry."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
from scipy.integrate import quad

from warner.channels import (
    BandChannel,
    Channel,
    DenseChannel,
    DirectChannel,
    GeometricChannel,
    HadamardChannel,
    HashChannel,
    KroneckerChannel,
    PlanarChannel,
    StackChannel,
    SupportChannel,
    TiedChannel,
    windows,
)

REACH = 80  # displacements that matter at the budgets below


def _window(outputs: int, width: int, size: int) -> tuple[BandChannel, np.ndarray]:
    high, low = 3 / (3 * width + outputs - width), 1 / (3 * width + outputs - width)
    dense = np.full((outputs, size), low)
    starts = outputs - width
    for x, k in product(range(size), range(starts + 1)):
        edges = [x * starts / size, (x + 1) * starts / size]
        share = quad(
            lambda s, k=k: max(0.0, 1 - abs(s - k)),
            *edges,
            points=[p for p in (k - 1, k, k + 1) if edges[0] < p < edges[1]],
        )[0]
        dense[k : k + width, x] += (high - low) * share * size / starts
    return windows(outputs, width, size, low, high - low), dense


def _geometric(
    size: int, ratio: float, before: int, after: int
) -> tuple[GeometricChannel, np.ndarray]:
    dense = np.zeros((size + before + after, size))
    for x, z in product(range(size), range(-2000, 2000)):
        dense[min(max(z, -before), size - 1 + after) + before, x] += (
            (1 - ratio) / (1 + ratio) * ratio ** abs(z - x)
        )
    return GeometricChannel(size, ratio, before, after), dense


def _planar(height: int, width: int, epsilon: float) -> tuple[PlanarChannel, np.ndarray]:
    steps = np.arange(-REACH, REACH + 1)
    law = np.exp(-epsilon * np.hypot(steps[:, None], steps[None, :]))
    law /= law.sum()
    dense = np.zeros((height * width,) * 2)
    for r, c in product(range(height), range(width)):
        rows, columns = np.clip(r + steps, 0, height - 1), np.clip(c + steps, 0, width - 1)
        np.add.at(
            dense[:, r * width + c], (rows[:, None] * width + columns[None, :]).ravel(), law.ravel()
        )
    quarter = law[REACH:, REACH:]
    down = np.cumsum(quarter[::-1], axis=0)[::-1]
    right = np.cumsum(quarter[:, ::-1], axis=1)[:, ::-1]
    both = np.cumsum(down[:, ::-1], axis=1)[:, ::-1]
    # Tails that start at 0 or below hold both signs; only >= 0 is asked for, and the channel asks
    # at distances >= 0.
    cut = (slice(height), slice(width))
    return PlanarChannel(quarter[cut], down[cut], right[cut], both[cut]), dense


def _tied(keys: int, nothing: bool) -> tuple[TiedChannel, np.ndarray]:
    rng = np.random.default_rng(keys)
    inner = rng.dirichlet(np.ones(4), 3).T
    if nothing:
        other = rng.dirichlet(np.ones(5))
        own = np.concatenate([np.full((1, 3), 0.4), 0.6 * inner])
    else:
        other = rng.dirichlet(np.ones(4)) * 0.4 / (keys - 1)
        own = 0.6 * inner
    dense = np.zeros((keys * len(other), keys * 3))
    for k, j in product(range(keys), repeat=2):
        dense[k * len(other) : (k + 1) * len(other), j * 3 : (j + 1) * 3] = (
            own if k == j else other[:, None]
        )
    return TiedChannel(keys, DenseChannel(inner), 0.6, other, nothing), dense / (
        keys if nothing else 1
    )


def _utility(size: int, sensitive: int, epsilon: float) -> tuple[DirectChannel, np.ndarray]:
    """METHODS 1: c1, c2, c3 on values of which the first few are sensitive."""
    e = np.exp(epsilon)
    c1, c2, c3 = np.array([e, 1, e - 1]) / (sensitive + e - 1)
    dense = np.zeros((size, size))
    dense[:sensitive] = c2
    for x in range(size):
        dense[x, x] = c1 if x < sensitive else c3
    return DirectChannel(size, np.where(np.arange(size) < sensitive, c2, 0.0), c3), dense


def _rappor(size: int, sensitive: int, epsilon: float) -> tuple[SupportChannel, np.ndarray]:
    e = np.exp(epsilon)
    t = np.exp(epsilon / 2) / (np.exp(epsilon / 2) + 1)
    raised, dropped = t / ((1 - t) * e + t), ((1 - t) * e + t) / e
    secret = np.arange(size) < sensitive
    ones = np.where(
        np.eye(size, dtype=bool),
        np.where(secret, t, 1 - dropped)[:, None],
        np.where(secret, raised, 0.0)[:, None],
    )
    gap = np.where(secret, t - raised, 1 - dropped)
    return SupportChannel(size, np.where(secret, raised, 0.0), gap), np.concatenate(
        [ones, 1 - ones]
    ) / size


def _kronecker() -> tuple[KroneckerChannel, np.ndarray]:
    parts: list[Channel] = [
        DirectChannel(2, 0.2, 0.6),
        SupportChannel(3, 0.3, 0.3),
        HadamardChannel(2, 4, 0.5),
        HashChannel(2, 5, 2, 0.3, 0.4),
    ]
    dense = np.ones((1, 1))
    for part in parts:
        dense = np.kron(dense, part.dense())
    return KroneckerChannel(parts), dense


def _kronecker_whole() -> tuple[KroneckerChannel, np.ndarray]:
    parts: list[Channel] = [
        _utility(3, 1, 1.0)[0],
        _geometric(4, 0.5, 0, 1)[0],
        HadamardChannel(2, 4, 0.5),
    ]
    return KroneckerChannel(parts), np.kron(
        np.kron(parts[0].dense(), parts[1].dense()), parts[2].dense()
    )


def _stack() -> tuple[StackChannel, np.ndarray]:
    parts: list[Channel] = [
        DirectChannel(4, 0.2, 0.2),
        SupportChannel(4, 0.3, 0.3),
        DirectChannel(4, 0.0, 1.0),
    ]
    return StackChannel(parts, [10, 20, 5]), np.concatenate(
        [s * p.dense() for s, p in zip([10 / 95, 80 / 95, 5 / 95], parts, strict=True)]
    )


CHANNELS: dict[str, Callable[[], tuple[Channel, np.ndarray]]] = {
    "window, narrow": lambda: _window(40, 7, 10),
    "window, wide": lambda: _window(16, 9, 20),
    "window of one cell a start": lambda: _window(30, 10, 20),
    "geometric, truncated": lambda: _geometric(9, 0.7, 0, 0),
    "geometric, wider reports": lambda: _geometric(6, 0.5, 3, 2),
    "geometric, flat": lambda: _geometric(5, 0.97, 0, 0),
    "planar": lambda: _planar(5, 4, 0.7),
    "planar, thin": lambda: _planar(2, 7, 1.2),
    "planar, smallest": lambda: _planar(2, 2, 1.0),
    "tied, one key sent": lambda: _tied(4, False),
    "tied, all keys sent": lambda: _tied(3, True),
    "direct, utility-optimised": lambda: _utility(7, 3, 1.0),
    "supports, utility-optimised": lambda: _rappor(6, 2, 1.5),
    "kronecker": _kronecker,
    "kronecker of whole reports": _kronecker_whole,
    "stack": _stack,
}
