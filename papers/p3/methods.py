"""EM and mixture reduction with the stops of P3's code; the paper names none."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from warner.estimators import Estimator, ExpectationMaximization, Inversion
from warner.estimators.base import Fit, LikelihoodData
from warner.estimators.literature import MixtureReduction, WienerFilter

IIW = WienerFilter(100, constraint=None)


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


@dataclass(frozen=True, repr=False)
class MiscountedWienerFilter(Estimator):
    """IIW as P3's code calls it for GRR: the sum of the report values in place of their number.

    The noise of the counts is then the variance of one report times that sum, as if there were
    n / (mean of the report values) reports. The reports must be the values 0..K-1.
    """

    summary: ClassVar[str] = "a Wiener filter with the sum of the reports in place of their number"

    def _fit(self, data: LikelihoodData) -> Fit:
        mean = float(data.weights @ np.arange(data.weights.size))
        return IIW._fit(replace(data, n=round(data.n / mean)))
