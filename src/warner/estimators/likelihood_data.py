"""Evidence: what reports say, in the one form that estimators read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from warner.channels import Channel
from warner.domains import Domain


@dataclass(frozen=True, eq=False)
class LikelihoodData:
    """Reports of n people, as frequencies of a channel's rows.

    Attributes:
        channel: A (m, K).
        weights: w (m,), frequencies of the rows, summing to 1.
        n: number of reports.
        domain: the K values.
        simulated: whether the reports were made with a generator that can be repeated.
    """

    channel: Channel
    weights: np.ndarray
    n: int
    domain: Domain
    simulated: bool = False
