"""A chi-square test of reports against their law, at a false alarm rate of 1e-9."""

from __future__ import annotations

import numpy as np

from warner.design.own_sampler import (
    ALPHA,
    Sampler,
    honest as _honest,
    worst_p_value,
)
from warner.mechanisms import Mechanism

N = 100_000

__all__ = ["ALPHA", "N", "Sampler", "_honest", "_p_value"]


def _p_value(mechanism: Mechanism, sampler: Sampler, values: np.ndarray | None = None) -> float:
    """The smallest chi-square p-value over the values a person can have, or over some of them."""
    return worst_p_value(mechanism, N, values, sampler)[0]
