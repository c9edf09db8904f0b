"""Several attributes of one person, each randomised on its own: the Kronecker product of their channels [P5 sec 3.3]."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial, reduce
from math import prod

import numpy as np

from warner.channels.base import Channel
from warner.channels.simulated_tables import marked_table, whole_table

_SMALL = 2**10  # entries


class KroneckerChannel(Channel):
    """A = A_1 x ... x A_d on tuples of values in C order, rows likewise tuples of rows; not formed where that is work.

    Products, the inverse and its moments work along one axis after the other, O(prod K times sum of the factors' costs / K_i).
    Where a factor's report counts for several rows, a tuple counts for their product.
    """

    def __init__(self, channels: Sequence[Channel]) -> None:
        self.channels = tuple(channels)
        self.shape = (prod(c.shape[0] for c in channels), prod(c.shape[1] for c in channels))
        self.rows_per_report = prod(c.rows_per_report for c in channels)

    def _along(
        self, v: np.ndarray, sizes: list[int], jobs: Sequence[Callable[[np.ndarray], np.ndarray]]
    ) -> np.ndarray:
        """Each of ``jobs``, a linear map along the first axis, applied along its own axis of ``v`` (prod of sizes, ...)."""
        trailing = v.shape[1:]
        out = v.reshape(*sizes, -1)
        for axis, job in enumerate(jobs):
            moved = np.moveaxis(out, axis, 0)
            flat = job(np.ascontiguousarray(moved).reshape(moved.shape[0], -1))
            out = np.moveaxis(flat.reshape(-1, *moved.shape[1:]), 0, axis)
        return np.ascontiguousarray(out).reshape(-1, *trailing)

    @property
    def _values(self) -> list[int]:
        return [c.shape[1] for c in self.channels]

    @property
    def _reports(self) -> list[int]:
        return [c.shape[0] for c in self.channels]

    @cached_property
    def _small(self) -> np.ndarray | None:
        """The product formed after all, where it is so small that a dozen calls take longer than multiplying by it."""
        if self.shape[0] * self.shape[1] > _SMALL:
            return None
        return reduce(np.kron, [channel.dense() for channel in self.channels])

    def matvec(self, theta: np.ndarray) -> np.ndarray:
        if self._small is not None:
            return self._small @ theta
        return self._along(theta, self._values, [c.matvec for c in self.channels])

    def rmatvec(self, r: np.ndarray) -> np.ndarray:
        if self._small is not None:
            return self._small.T @ r
        return self._along(r, self._reports, [c.rmatvec for c in self.channels])

    def invert(self, w: np.ndarray) -> np.ndarray:
        return self._along(w, self._reports, [c.invert for c in self.channels])

    def influence(self, c: np.ndarray) -> np.ndarray:
        return self._along(c, self._values, [channel.influence for channel in self.channels])

    def inverse_moments(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The inverse's weights multiply over attributes, and so do their squares' sums."""
        firsts = [partial(_first, channel.inverse_moments) for channel in self.channels]
        total = self._along(theta, self._values, firsts)
        own = np.ones(1)
        for channel in self.channels:
            own = np.multiply.outer(
                own, channel.inverse_moments(np.full(channel.shape[1], 1 / channel.shape[1]))[1]
            ).ravel()
        return total, own

    def simulate(self, theta: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        if self.rows_per_report == 1:
            return super().simulate(theta, n, rng)
        return self.simulate_from_values(rng.multinomial(n, theta / theta.sum()), rng)

    def simulate_from_values(self, people: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        draw = whole_table if self.rows_per_report == 1 else marked_table
        table = draw(self.channels, people.reshape(self._values), rng).ravel()
        return table / table.sum()


def _first(
    pair_of: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]], vector: np.ndarray
) -> np.ndarray:
    """The first of the two arrays that ``pair_of`` makes of a vector."""
    return pair_of(vector)[0]
