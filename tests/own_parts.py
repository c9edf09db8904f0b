"""A mechanism and an estimator from outside the package, as a user writes them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from warner.channels import DenseChannel
from warner.domains import Domain
from warner.estimators import Estimator
from warner.estimators.base import Fit, LikelihoodData, Status
from warner.mechanisms import Mechanism
from warner.metrics import project
from warner.privacy.report_laws import ExactTable, fractions
from warner.reports.schema import IntegerColumns

ONE = 2**64


class Forced(Mechanism):
    """A die decides between the truth and a forced answer; each answer has a weight.

        Pr(report y | value x) = (1 - p) f_y + p [x = y],   p / (1 - p) = (e^epsilon - 1) min f

    Args:
        domain: K values.
        epsilon: budget in nats.
        weights: (K,) f, how often each answer is forced; None for equal weights.
    """

    def __init__(self, domain: Domain, epsilon: float, weights: Any = None) -> None:
        super().__init__(domain, epsilon)
        f = np.full(domain.size, 1 / domain.size) if weights is None else np.array(weights)
        self._weights = weights
        odds = math.expm1(self.requested) * (1 - 1e-12) * f.min()
        self._forced = [math.ceil(ONE * w / (1 + odds)) for w in f.tolist()]
        self._true = ONE - sum(self._forced)
        table = np.array([[w] * domain.size for w in self._forced], dtype=object)
        for x in range(domain.size):
            table[x, x] += self._true
        self.law = ExactTable(table)
        self.schema = IntegerColumns(("report",), (domain.size,))
        self.check_realisable()

    def parameters(self) -> dict[str, Any]:
        return {} if self._weights is None else {"weights": list(self._weights)}

    def thresholds(self) -> dict[str, str]:
        return {f"forced {i}": hex(width) for i, width in enumerate(self._forced)}

    def _sample(self, index: np.ndarray, source: Any) -> dict[str, np.ndarray]:
        edges = np.cumsum(np.array(self._forced, dtype=np.uint64))
        forced = np.searchsorted(edges, source.words(len(index), np.uint64), side="right")
        return {"report": np.where(forced == self.domain.size, index, forced)}

    def channel(self) -> DenseChannel:
        return DenseChannel((self.law.numerators / ONE).astype(np.float64))

    def probabilities(self) -> np.ndarray:
        return fractions(self.law.numerators, ONE)


@dataclass(frozen=True)
class Shrunk(Estimator):
    """The projected inversion, drawn towards the uniform distribution by a share of the way."""

    summary = "projected inversion, drawn towards the uniform distribution"
    is_consistent = False

    part: float = 0.1

    def _fit(self, data: LikelihoodData) -> Fit:
        shares = project(data.channel.invert(data.weights))
        return Fit((1 - self.part) * shares + self.part / shares.size, Status.COMPLETED)
