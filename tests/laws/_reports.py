"""Random reports of everything registered."""

from __future__ import annotations

import numpy as np

from warner import Reports
from warner.mechanisms import Mechanism


def _reports(mechanism: Mechanism, n: int = 500) -> Reports:
    rng = np.random.default_rng(n)
    return mechanism.randomize(
        mechanism.domain.decode(rng.integers(0, mechanism.domain.size, n)), rng
    )
