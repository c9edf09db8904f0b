"""Random reports of everything registered, and the ways to count them."""

from __future__ import annotations

from typing import Any

import numpy as np

import warner
from tests.registry import ALL, COMBINED, smallest
from warner import Reports
from warner.mechanisms import Mechanism

EVERY = [*ALL, *COMBINED]


def _mechanism(name: str) -> Mechanism:
    return COMBINED[name](1.0) if name in COMBINED else smallest(name)


def _reports(mechanism: Mechanism, n: int = 500) -> Reports:
    rng = np.random.default_rng(n)
    return mechanism.randomize(
        mechanism.domain.decode(rng.integers(0, mechanism.domain.size, n)), rng
    )


def _ways(mechanism: Mechanism) -> list[dict[str, Any]]:
    """What a tally can be asked to keep."""
    if isinstance(mechanism, warner.PerAttribute):
        return [{"ways": w + 1} for w in range(len(mechanism.parts))]
    return [{}, {"keep_reports": True}]
