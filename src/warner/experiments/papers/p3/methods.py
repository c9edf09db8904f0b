"""EM and mixture reduction with the stops of P3's code; the paper names none."""

from __future__ import annotations

import math

from warner.estimators import Estimator
from warner.estimators.literature import MixtureReduction


def em(tolerance: float) -> Estimator:
    """EM from the uniform start until a step raises the log-likelihood by less than this."""
    return MixtureReduction("em", operation=None, tolerance=tolerance)


def reduction(tolerance: float) -> Estimator:
    """Mixture reduction with the same stop in every round."""
    return MixtureReduction("em", tolerance=tolerance)


def stop(epsilon: float, protocol: str = "") -> float:
    """The stop of mixture reduction in P3's code, in nats over all reports.

    For OLH it is that of more than 100,000 people. Its code starts OLH near the estimate, and
    with fewer people stops ten times earlier; from the uniform start that is at once.
    """
    return (1e-2 if protocol == "OLH" else 1e-3) * math.exp(epsilon)
