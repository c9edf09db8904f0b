"""Estimates for simulations, without the test of whether reports are plausible."""

from __future__ import annotations

from collections.abc import Iterable

from warner.estimators import Estimator
from warner.reports.tally import Tally
from warner.results.estimate import Estimate
from warner.results.from_tally import likelihood_data


def _estimated(tally: Tally | Iterable[Tally], method: Estimator) -> Estimate:
    """The estimate without the test of whether the reports are plausible, which takes as long."""
    data = likelihood_data(tally)
    return Estimate(method.fit(data.for_fit()), data, method)
