"""The row of one value in a table of shares."""

from __future__ import annotations

from typing import Any

import numpy as np


def share_row(value: Any, share: float, limits: np.ndarray, n: float) -> dict[str, Any]:
    """The row of one value in a table of shares.

    Shapes: limits (2,).

    >>> share_row("a", 0.25, np.array([0.125, 0.5]), 100)
    {'value': 'a', 'estimate': 0.25, 'low': 0.125, 'high': 0.5, 'n': 25.0}
    """
    low, high = limits
    return {
        "value": value,
        "estimate": float(share),
        "low": float(low),
        "high": float(high),
        "n": float(share * n),
    }
