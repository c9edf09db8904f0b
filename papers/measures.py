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

from papers.data_sets import DataFolder
from papers.measure import Cell, Runs
from papers.table import Row, Table
from warner import metrics
from warner._core.sampling import Source
from warner.channels import Channel, StackChannel
from warner.domains import Domain
from warner.estimators import Estimator
from warner.estimators.base import LikelihoodData
from warner.mechanisms import Mechanism
from warner.reports.reports import Reports
from warner.results.estimate import Estimate
from warner.results.from_tally import likelihood_data

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
    """Make a loss from a distance between the true and the estimated shares.

    Args:
        distance: a function of the true shares (K,) and the estimated shares (K,).
    """

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
        sampling: a key of :data:`SAMPLING`, or the key of a cell.
    """

    people: Callable[[Cell, DataFolder], People]
    reporters: Callable[[Cell, People], Reporters]
    methods: Callable[[Cell], Methods] | Methods
    losses: Mapping[str, Loss]
    sampling: str | Callable[[Cell], str] = "population"

    def rows(self, cell: Cell, runs: Runs, data: DataFolder) -> list[Row]:
        """See :class:`Measure`."""
        people = self.people(cell, data)
        return [
            row
            for run, estimates in self.estimates(cell, runs, people)
            for row in self.losses_of(run, estimates, people)
        ]

    def losses_of(self, run: int, estimates: Mapping[str, Estimate], people: People) -> list[Row]:
        """The losses of the estimates of one run."""
        return [
            {
                "run": run,
                "method": method,
                "metric": metric,
                "value": loss(estimate, people),
            }
            for method, estimate in estimates.items()
            for metric, loss in self.losses.items()
        ]

    def estimates(
        self, cell: Cell, runs: Runs, people: People
    ) -> list[tuple[int, dict[str, Estimate]]]:
        """The estimates of every run by every method.

        Where reports are not random, all runs are the same, and the first alone is done.
        """
        sampling = self.sampling(cell) if callable(self.sampling) else self.sampling
        draw, random = SAMPLING[sampling]
        simulate = _simulation(self.reporters(cell, people), people, draw)
        methods = self.methods(cell) if callable(self.methods) else self.methods
        result = []
        for run, rng in runs if random else runs[:1]:
            data = simulate(rng)
            estimates = {name: Estimate(m.fit(data), data, m) for name, m in methods.items()}
            result.append((run, estimates))
        return result


def whole_reports(
    mechanism: Mechanism, people: np.ndarray, rng: np.random.Generator
) -> LikelihoodData:
    """Reports of bits that are kept whole, and not as the sums of their bits.

    Args:
        mechanism: the mechanism.
        people: (K,) how many people have each value.
        rng: the generator.
    """
    values = np.repeat(np.arange(people.size), people)
    drawn = mechanism.randomize_encoded(values, Source(rng))
    return likelihood_data(mechanism.tally(Reports(mechanism.header, drawn), keep_reports=True))


Draw = Callable[[Channel, People, int, np.random.Generator], np.ndarray]


def _simulation(
    reporters: Reporters, people: People, draw: Draw
) -> Callable[[np.random.Generator], LikelihoodData]:
    """A function that draws the reports of all people."""
    used = [(mechanism.channel(), n) for mechanism, n in reporters if n]
    channel: Channel = used[0][0]
    if len(used) > 1:
        channel = StackChannel([c for c, _ in used], [n for _, n in used])
    n = sum(count for _, count in used)
    return lambda rng: LikelihoodData(channel, draw(channel, people, n, rng), n, people.domain)


def _from_population(
    channel: Channel, people: People, n: int, rng: np.random.Generator
) -> np.ndarray:
    return channel.simulate(people.shares, n, rng)


def _from_respondents(
    channel: Channel, people: People, n: int, rng: np.random.Generator
) -> np.ndarray:
    counts = np.asarray(people.counts, dtype=np.int64)
    return channel.simulate_from_values(rng.multivariate_hypergeometric(counts, n), rng)


def _from_everyone(
    channel: Channel, people: People, n: int, rng: np.random.Generator
) -> np.ndarray:
    return channel.simulate_from_values(np.asarray(people.counts, dtype=np.int64), rng)


def _expected(channel: Channel, people: People, n: int, rng: np.random.Generator) -> np.ndarray:
    return channel.matvec(people.shares)


def _rounded(channel: Channel, people: People, n: int, rng: np.random.Generator) -> np.ndarray:
    # Counts that differ from a half by the rounding of floats alone are a half on every machine.
    return np.rint(np.round(n * channel.matvec(people.shares), 9)) / n


def _apportioned(channel: Channel, people: People, n: int, rng: np.random.Generator) -> np.ndarray:
    return whole_counts(channel.matvec(people.shares), n) / n


SAMPLING: Mapping[str, tuple[Draw, bool]] = {
    "population": (_from_population, True),
    "respondents": (_from_respondents, True),
    "everyone": (_from_everyone, True),
    "exact": (_expected, False),
    "rounded": (_rounded, False),
    "apportioned": (_apportioned, False),
}
"""How the reports of people come about, and whether they are random.

``"population"``: values drawn independently from the shares; ``"respondents"``: values drawn
without replacement from the counts; ``"everyone"``: the values of the counts as they are;
``"exact"``: reports exactly as often as expected; ``"rounded"``: each expected count rounded by
itself, as [P5 sec 3.3] does, so that their sum may differ from n; ``"apportioned"``: the expected
counts rounded to whole reports with the sum n.
"""


def whole_counts(shares: np.ndarray, n: int) -> np.ndarray:
    """Shares as whole numbers with the sum n, none further than 1 from n times its share.

    The numbers are rounded down, and the values with the largest remainders get one more each, of
    equal remainders the first.

    Args:
        shares: (m,) with the sum 1.
        n: the sum.

    >>> whole_counts(np.array([0.2875, 0.1625, 0.2625, 0.2875]), 10)  # as printed in [P5 sec 3.3]
    array([3, 2, 2, 3])
    """
    wanted = n * shares
    counts = np.floor(wanted + 1e-9).astype(np.int64)
    # Remainders that differ by the rounding of floats alone are equal on every machine.
    largest = np.argsort(-np.round(wanted - counts, 9), kind="stable")
    counts[largest[: n - int(counts.sum())]] += 1
    return counts


@dataclass(frozen=True)
class EstimatedShares:
    """The shares that estimators give to each value, and the true ones as the method ``"truth"``.

    Attributes:
        of: the error whose estimates are measured; its losses are not used.
        labels: the columns of each of the K values of a domain; None for one value to leave it
            out.
    """

    of: EstimationError
    labels: Callable[[Domain], Sequence[Row | None]]

    def rows(self, cell: Cell, runs: Runs, data: DataFolder) -> list[Row]:
        """See :class:`Measure`."""
        people = self.of.people(cell, data)
        labels = self.labels(people.domain)
        kept: list[tuple[int, str, np.ndarray]] = [(0, "truth", people.shares)]
        for run, estimates in self.of.estimates(cell, runs, people):
            kept += [(run, method, each.probabilities) for method, each in estimates.items()]
        return [
            {"run": run, "method": method, **label, "value": float(share)}
            for run, method, shares in kept
            for label, share in zip(labels, shares, strict=True)
            if label is not None
        ]


@dataclass(frozen=True)
class BiasAndVariance:
    """The squared bias and the variance of estimators over runs, summed over values [P1 eqs 4-6].

        sum_x (mean over runs of p_x - theta_x)^2,   sum_x variance over runs of p_x

    p_x is the estimate and theta_x the true share of value x. Both terms are unbiased: the variance
    has the divisor runs - 1, and variance / runs is subtracted from the squared bias. The
    experiment must leave ``runs_per_task`` at None, so that one task has all runs.

    Attributes:
        of: the error whose bias and variance are measured.
        losses: whether the losses of every run are given too.
        pair: two methods whose losses in the same runs are compared, the first loss of ``of``:
            Pearson's ``"correlation"`` and the ``"p-value"`` of the paired t-test [P1 fig 9].
    """

    of: EstimationError
    losses: bool = False
    pair: tuple[str, str] | None = None

    def rows(self, cell: Cell, runs: Runs, data: DataFolder) -> list[Row]:
        """See :class:`Measure`."""
        people = self.of.people(cell, data)
        shares: dict[str, list[np.ndarray]] = {}
        losses: list[Row] = []
        for run, estimates in self.of.estimates(cell, runs, people):
            losses += self.of.losses_of(run, estimates, people)
            for method, estimate in estimates.items():
                shares.setdefault(method, []).append(estimate.probabilities)
        rows: list[Row] = [
            {"run": 0, "method": method, "metric": metric, "value": value}
            for method, each in shares.items()
            for metric, value in _parts(people.shares, np.stack(each)).items()
        ]
        if self.pair is not None:
            rows += self._paired(Table(losses), *self.pair)
        return [*losses, *rows] if self.losses else rows

    def _paired(self, losses: Table, first: str, second: str) -> list[Row]:
        """The comparison of two methods over the same runs."""
        metric = next(iter(self.of.losses))
        found = metrics.paired_errors(
            losses.values(method=first, metric=metric), losses.values(method=second, metric=metric)
        )
        values = {"correlation": found.correlation, "p-value": found.p_value}
        return [
            {"run": 0, "method": f"{first} and {second}", "metric": name, "value": value}
            for name, value in values.items()
        ]


def _parts(truth: np.ndarray, estimates: np.ndarray) -> dict[str, float]:
    """Squared bias, variance and mean squared error of estimates (runs, K)."""
    found = metrics.bias_variance(truth, estimates, unbiased=True)
    return {
        "squared bias": found.squared_bias,
        "variance": found.variance,
        "mean squared error": found.error,
    }


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
