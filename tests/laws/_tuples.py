"""Random reports of several parts, and the ways to count them."""

from __future__ import annotations

from typing import Any

import numpy as np

import warner
from warner import Reports
from warner.mechanisms import Mechanism


def _reports(mechanism: Mechanism, n: int = 400) -> Reports:
    rng = np.random.default_rng(n)
    return mechanism.randomize(
        mechanism.domain.decode(rng.integers(0, mechanism.domain.size, n)), rng
    )


def _ways(mechanism: Mechanism) -> list[dict[str, Any]]:
    """What a tally can be asked to keep."""
    return (
        [{"ways": w + 1} for w in range(len(mechanism.parts))]
        if isinstance(mechanism, warner.PerAttribute)
        else [{}]
    )
