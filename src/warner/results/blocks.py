"""Functions of the shares within a block of values, such as the values of people with one key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from warner.domains import Domain
from warner.estimators.fit import Fit
from warner.results.solution import Solution


@dataclass(frozen=True, eq=False)
class BlockShares:
    """The attributes of a solution that summaries read, for one block of values.

    Attributes:
        probabilities: (V,) the shares within the block.
        domain: the V values.
        whole: the solution on all values.
    """

    probabilities: np.ndarray
    domain: Domain
    whole: Solution

    @property
    def fit(self) -> Fit:
        """The fit of all values."""
        return self.whole.fit


class WithinBlock:
    """A function of the shares of a block of values, as a function of the shares of all values.

    Args:
        of: a function (V,) -> (1,) of a distribution on the block, with ``limits``.
        block: the places of the block's values among all values.
    """

    def __init__(self, of: Any, block: slice) -> None:
        self.of, self.block, self.limits = of, block, of.limits
        if self.limits is None:
            self.limits = (float(of.weights.min()), float(of.weights.max()))
        if hasattr(of, "cumulative"):
            self.cumulative = WithinBlock(of.cumulative, block)
            self.q = of.q
        if hasattr(of, "invert"):
            self.invert = of.invert

    def __call__(self, theta: np.ndarray) -> np.ndarray:
        value: np.ndarray = self.of(within(theta, self.block))
        return value


def within(theta: np.ndarray, block: slice) -> np.ndarray:
    """The shares of a block, divided by their sum; uniform where the sum is not positive.

    Shapes: theta (K,) -> (V,).
    """
    shares = theta[block]
    total = float(shares.sum())
    return shares / total if total > 0 else np.full(shares.size, 1 / shares.size)
