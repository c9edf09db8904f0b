"""How a cell of an experiment is measured.

Most figures show the error of estimators on reports that are simulated from a known distribution:
:class:`EstimationError`. Others, such as surfaces of a likelihood, are small functions of a cell
and a generator: :class:`PerRun`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from warner import metrics
from warner._core.errors import WarnerError
from warner.channels import Channel, StackChannel
from warner.domains import Domain
from warner.estimators import Estimator
from warner.estimators.likelihood_data import LikelihoodData
from warner.experiments.data_sets import DataFolder
from warner.experiments.measure import Cell, Runs
from warner.experiments.table import Row
from warner.mechanisms import Mechanism
from warner.results.estimate import Estimate

Loss = Callable[[Estimate, "People"], float]
Methods = Mapping[str, Estimator]


@dataclass(frozen=True)
class PerRun:
    """A measure that is a function of one run.

    Attributes:
        function: the rows of a run, without ``"run"``, from the cell, the run's generator and the
            data sets.
    """

    function: Callable[[Cell, np.random.Generator, DataFolder], Sequence[Row]]

    def rows(self, cell: Cell, runs: Runs, data: DataFolder) -> list[Row]:
        """See :class:`Measure`."""
        return [{"run": run, **row} for run, rng in runs for row in self.function(cell, rng, data)]


@dataclass(frozen=True, eq=False)
class People:
    """The people of a simulation.

    Attributes:
        domain: the K values.
        counts: (K,) how many people have each value, or their relative frequencies.
        n: how many of them report; None for all.
    """

    domain: Domain
    counts: np.ndarray
    n: int | None = None

    @property
    def shares(self) -> np.ndarray:
        """(K,) the true distribution."""
        counts = np.asarray(self.counts, dtype=np.float64)
        shares: np.ndarray = counts / counts.sum()
        return shares

    @property
    def reporting(self) -> int:
        """The number of people who report."""
        return int(np.sum(self.counts)) if self.n is None else self.n


Reporters = Sequence[tuple[Mechanism, int]]
"""Mechanisms, and the number of people who use each."""


def of_shares(distance: Callable[[np.ndarray, np.ndarray], float]) -> Loss:
    """The loss ``distance(true shares, estimated shares)``."""

    def loss(estimate: Estimate, people: People) -> float:
        return float(distance(people.shares, estimate.probabilities))

    return loss


def seconds(estimate: Estimate, people: People) -> float:
    """The seconds of the fit."""
    return float("nan") if estimate.fit.seconds is None else estimate.fit.seconds


@dataclass(frozen=True)
class EstimationError:
    """The losses of estimators on simulated reports; all methods get the same reports.

    In every run people draw their values, devices randomise them, and each method estimates:

        values ~ sampling(people),  reports ~ mechanism(values),  loss(method(reports), people)

    Attributes:
        people: the people of a cell.
        reporters: the mechanisms of a cell, with the number of people who use each.
        methods: {name: estimator} of a cell, or the same mapping for all cells.
        losses: {metric: loss}, for all cells.
        sampling: ``"population"``, values drawn independently from the shares; ``"respondents"``,
            drawn without replacement from the counts; ``"everyone"``, the counts as they are.
        refusals: whether a method that refuses a cell gives NaN and not an error.
    """

    people: Callable[[Cell, DataFolder], People]
    reporters: Callable[[Cell, People], Reporters]
    methods: Callable[[Cell], Methods] | Methods
    losses: Mapping[str, Loss]
    sampling: str = "population"
    refusals: bool = False

    def rows(self, cell: Cell, runs: Runs, data: DataFolder) -> list[Row]:
        """See :class:`Measure`."""
        people = self.people(cell, data)
        rows: list[Row] = []
        for run, rng, estimates in self.estimates(cell, runs, people):
            del rng
            for method, estimate in estimates.items():
                for metric, loss in self.losses.items():
                    value = float("nan") if estimate is None else loss(estimate, people)
                    rows.append({"run": run, "method": method, "metric": metric, "value": value})
        return rows

    def estimates(
        self, cell: Cell, runs: Runs, people: People
    ) -> list[tuple[int, np.random.Generator, dict[str, Estimate | None]]]:
        """The estimates of every run by every method; None where a method refuses."""
        simulate = _simulation(self.reporters(cell, people), people, self.sampling)
        methods = self.methods(cell) if callable(self.methods) else self.methods
        result = []
        for run, rng in runs:
            data = simulate(rng)
            result.append(
                (run, rng, {name: self._estimate(m, data) for name, m in methods.items()})
            )
        return result

    def _estimate(self, method: Estimator, data: LikelihoodData) -> Estimate | None:
        try:
            return Estimate(method.fit(data), data, method)
        except WarnerError:
            if not self.refusals:
                raise
            return None


def _simulation(
    reporters: Reporters, people: People, sampling: str
) -> Callable[[np.random.Generator], LikelihoodData]:
    """A function that draws the reports of all people."""
    used = [(mechanism.channel(), n) for mechanism, n in reporters if n]
    channel: Channel = used[0][0]
    if len(used) > 1:
        channel = StackChannel([c for c, _ in used], [n for _, n in used])
    n = sum(count for _, count in used)

    def draw(rng: np.random.Generator) -> LikelihoodData:
        if sampling == "population":
            weights = channel.simulate(people.shares, n, rng)
        else:
            counts = np.asarray(people.counts, dtype=np.int64)
            if sampling == "respondents":
                counts = rng.multivariate_hypergeometric(counts, n)
            weights = channel.simulate_from_values(counts, rng)
        return LikelihoodData(channel, weights, n, people.domain)

    return draw


@dataclass(frozen=True)
class BiasAndVariance:
    """The squared bias and the variance of estimators over runs, summed over values [P1 eqs 4-6].

        sum_x (mean over runs of p_x - theta_x)^2,   sum_x variance over runs of p_x

    Both are unbiased: the variance has the divisor runs - 1, and variance / runs is taken from the
    squared bias. The experiment leaves ``runs_per_task`` None, so that all runs are at hand.

    Attributes:
        of: the error whose parts are measured; its losses are not used.
    """

    of: EstimationError

    def rows(self, cell: Cell, runs: Runs, data: DataFolder) -> list[Row]:
        """See :class:`Measure`."""
        people = self.of.people(cell, data)
        shares: dict[str, list[np.ndarray]] = {}
        for _, _, estimates in self.of.estimates(cell, runs, people):
            for method, estimate in estimates.items():
                if estimate is not None:
                    shares.setdefault(method, []).append(estimate.probabilities)
        rows: list[Row] = []
        for method, each in shares.items():
            stacked = np.stack(each)
            variance = float(stacked.var(axis=0, ddof=1).sum())
            distance = metrics.sum_of_squares(people.shares, stacked.mean(axis=0))
            parts = {
                "squared bias": distance - variance / len(each),
                "variance": variance,
                "mean squared error": float(
                    np.mean([metrics.sum_of_squares(people.shares, p) for p in each])
                ),
            }
            rows += [
                {"run": 0, "method": method, "metric": metric, "value": value}
                for metric, value in parts.items()
            ]
        return rows


@dataclass(frozen=True)
class Timed:
    """The seconds of a function of a cell, the least of several calls.

    Attributes:
        jobs: {method: function to time} of a cell.
        calls: how often each is called.
    """

    jobs: Callable[[Cell, np.random.Generator, DataFolder], Mapping[str, Callable[[], Any]]]
    calls: int = 3

    def rows(self, cell: Cell, runs: Runs, data: DataFolder) -> list[Row]:
        """See :class:`Measure`."""
        rows: list[Row] = []
        for run, rng in runs:
            for method, job in self.jobs(cell, rng, data).items():
                taken = []
                for _ in range(self.calls):
                    start = time.perf_counter()
                    job()
                    taken.append(time.perf_counter() - start)
                rows.append(
                    {"run": run, "method": method, "metric": "seconds", "value": min(taken)}
                )
        return rows


@dataclass(frozen=True)
class Redrawn:
    """An error whose setting is drawn anew in every run, such as which values are sensitive.

    Attributes:
        of: the error of a cell, from the cell, the run's generator and the data sets.
    """

    of: Callable[[Cell, np.random.Generator, DataFolder], EstimationError]

    def rows(self, cell: Cell, runs: Runs, data: DataFolder) -> list[Row]:
        """See :class:`Measure`."""
        return [
            row
            for run, rng in runs
            for row in self.of(cell, rng, data).rows(cell, [(run, rng)], data)
        ]
