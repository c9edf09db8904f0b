"""EM and mixture reduction with the stops of P3's code; the paper names none."""

from __future__ import annotations

import math

from warner.estimators import Estimator, ExpectationMaximization, Inversion
from warner.estimators.literature import MixtureReduction


def em(tolerance: float) -> Estimator:
    """EM from the uniform start until a step raises the log-likelihood by less than this."""
    return ExpectationMaximization(tolerance=tolerance)


def reduction(tolerance: float) -> Estimator:
    """Mixture reduction with the same stop in every round."""
    return MixtureReduction("em", tolerance=tolerance)


def stop(epsilon: float, protocol: str = "") -> float:
    """The stop of mixture reduction in P3's code, in nats over all reports.

    For OLH it is that of more than 100,000 people. With fewer people the code stops ten times
    earlier: it starts at Norm-Sub, see :func:`from_norm_sub`. From the uniform start that stop is
    met at once.
    """
    return (1e-2 if protocol == "OLH" else 1e-3) * math.exp(epsilon)


def from_norm_sub(epsilon: float, n: int) -> Estimator:
    """EM with the start and the stop of OLH's mixture reduction in P3's code; nothing is merged."""
    tolerance = (0.1 if n <= 100_000 else 0.01) * math.exp(epsilon)
    return ExpectationMaximization(start=Inversion("norm-sub"), tolerance=tolerance)
