"""What the experiments of P4 share: its methods, and errors together with estimated shares."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from papers.data_sets import DataFolder
from papers.measure import Cell, Runs
from papers.measures import EstimationError, People
from papers.table import Row
from warner.estimators import Estimator, ExpectationMaximization, Inversion, MaximumLikelihood

STOP = 0.1  # nats: the delta of [P4 alg 1], for which P4 gives no number
EM = "EM"  # algorithm 1 with this delta
MLE = "MLE"


def stopped(delta: float) -> Estimator:
    """EM from the uniform distribution until |L_t - L_(t-1)| < delta [P4 alg 1]."""
    return ExpectationMaximization(tolerance=delta)


METHODS: Mapping[str, Estimator] = {
    "INV-N": Inversion("normalize"),
    "INV-P": Inversion("project"),
    EM: stopped(STOP),
    MLE: MaximumLikelihood(1e-6),
}

Labels = Callable[[People], Mapping[str, Sequence[Any]]]


@dataclass(frozen=True)
class ErrorsAndShares:
    """The losses of estimators, and the shares that they give to each value in the first run.

    A share has the metric ``"share"`` and the series ``"estimate"`` or ``"true"``. The true shares
    stand beside those of each method, and as the method ``"true"``.

    Attributes:
        of: the error.
        labels: {column: its (K,) values} of the K values of a domain.
    """

    of: EstimationError
    labels: Labels

    def rows(self, cell: Cell, runs: Runs, data: DataFolder) -> list[Row]:
        """See :class:`Measure`."""
        people = self.of.people(cell, data)
        rows: list[Row] = []
        for run, estimates in self.of.estimates(cell, runs, people):
            rows += self.of.losses_of(run, estimates, people)
            if run == 0:
                shares = {name: each.probabilities for name, each in estimates.items()}
                rows += share_rows(self.labels(people), people.shares, shares)
        return rows


def share_rows(
    labels: Mapping[str, Sequence[Any]], truth: np.ndarray, shares: Mapping[str, np.ndarray]
) -> list[Row]:
    """The rows of estimated and true shares of :class:`ErrorsAndShares`."""
    shown = [("true", "estimate", truth)]
    for method, each in shares.items():
        shown += [(method, "estimate", each), (method, "true", truth)]
    columns = [
        dict(zip(labels, values, strict=True)) for values in zip(*labels.values(), strict=True)
    ]
    return [
        {
            "run": 0,
            "method": method,
            "metric": "share",
            "series": series,
            **column,
            "value": float(share),
        }
        for method, series, each in shown
        for column, share in zip(columns, each, strict=True)
    ]
