"""Tests of samplers against their law, with a stated power.

Reports of one value are compared with the law by a chi-square test over whole serialised reports,
at a false alarm rate of 1e-9. Reports that cannot occur are rejected at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np

from warner._core.checks import integer
from warner._core.errors import (
    ArgumentError,
    IdentifiabilityError,
    ReportError,
    WarnerError,
)
from warner._core.extras import scipy
from warner._core.progress import steps
from warner._core.sampling import Source
from warner.channels import Channel
from warner.design.audits import audit, spread
from warner.design.own_law import LARGEST, each_report, off_from_law
from warner.domains import Domain
from warner.mechanisms import HiddenQuestion, Mechanism, OneOf, from_header
from warner.mechanisms.base import require_mechanism
from warner.mechanisms.headers import DESIGNS, MECHANISMS
from warner.reports.counting import count_rows
from warner.reports.reports import Reports
from warner.reports.tally import Tally, merge
from warner.results.from_tally import likelihood_data

ALPHA = 1e-9  # the probability with which a right sampler is rejected
_BYTES = 64  # of a report, whose bits are compared with those of neighbours
_FAR = 4.0  # standard deviations, below which no p-value of a bit is computed
_FEW = 5.0  # expected reports; cells with fewer count as one

Sampler = Callable[[Mechanism, np.ndarray, Source], dict[str, np.ndarray]]


def honest(mechanism: Mechanism, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
    """The mechanism's sampler."""
    return mechanism.randomize_index(index, source)


def one_by_one(sampler: Sampler) -> Sampler:
    """A sampler that makes each report alone, as the device of one person does."""

    def alone(mechanism: Mechanism, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        parts = [sampler(mechanism, index[i : i + 1], source) for i in range(len(index))]
        return {name: np.concatenate([report[name] for report in parts]) for name in parts[0]}

    return alone


def among_others(sampler: Sampler) -> Sampler:
    """A sampler that makes the reports together with as many of other values, in mixed order."""

    def mixed(mechanism: Mechanism, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        rng = np.random.default_rng(len(index))
        others = rng.integers(0, mechanism.domain.size, len(index))
        order = rng.permutation(2 * len(index))
        together = np.empty(2 * len(index), dtype=index.dtype)
        together[order] = np.concatenate([index, others])
        places = order[: len(index)]
        return {k: v[places] for k, v in sampler(mechanism, together, source).items()}

    return mixed


def worst_p_value(
    mechanism: Mechanism,
    draws: int,
    values: np.ndarray | None = None,
    sampler: Sampler = honest,
    seed: int = 0,
) -> tuple[float, int, str]:
    """The least p-value over values, by a test of all reports."""
    records = Reports(mechanism.header, mechanism.outputs()).records()
    row_of = {record: i for i, record in enumerate(records)}
    law = mechanism.probabilities().astype(float)
    worst = (1.0, 1, "")
    for x in range(mechanism.domain.size) if values is None else values:
        source = Source(np.random.default_rng(seed + int(x)))
        columns = typed(mechanism, sampler(mechanism, np.full(draws, x), source))
        seen, counts = count_rows(
            Reports(mechanism.header, columns).record_array(), np.ones(draws, dtype=np.int64)
        )
        observed = np.zeros(len(records))
        for record, n in zip(seen, counts, strict=True):
            if record.tobytes() not in row_of:
                return 0.0, 1, f"value number {x} made a report that outputs() does not list"
            observed[row_of[record.tobytes()]] = n
        p, freedom, row = p_value(observed, law[:, x], draws)
        share = f"report number {row} occurred {observed[row] / draws:.5f} of the time"
        worst = min(worst, (p, freedom, f"for value number {x}, {share}, not {law[row, x]:.5f}"))
    return worst


def p_value(observed: np.ndarray, law: np.ndarray, n: int) -> tuple[float, int, int]:
    """The chi-square test of counts against probabilities; far tails count as one cell.

    Shapes: observed (m,), law (m,).
    """
    expected = law * n
    impossible = observed * (law == 0)
    if impossible.any():
        return 0.0, 1, int(np.argmax(impossible))
    off = np.abs(observed - expected) / np.sqrt(np.maximum(expected, 1e-300))
    row = int(np.argmax(off))
    rare = expected <= _FEW
    seen, predicted = (np.append(v[~rare], v[rare].sum()) for v in (observed, expected))
    if predicted[-1] <= _FEW:
        seen, predicted = seen[:-1], predicted[:-1] * (seen[:-1].sum() / predicted[:-1].sum())
    if len(seen) < 2:
        return 1.0, 1, row
    statistic = float(((seen - predicted) ** 2 / predicted).sum())
    return float(scipy.special.chdtrc(len(seen) - 1, statistic)), len(seen) - 1, row


def neighbours_p_value(records: np.ndarray, lags: int) -> tuple[float, str]:
    """The least p-value of reports of equal answers that depend on each other, times all tests.

    Of reports ``lag`` apart, each bit is tested by Fisher's exact test. The pairs of one test share
    no report, so that they are independent where reports are, whatever the law is.

    Shapes: records uint8 (n, bytes).
    """
    bits = np.unpackbits(records[:, spread(np.arange(records.shape[1]), _BYTES)], axis=1)
    worst, tests = (1.0, ""), bits.shape[1] * lags * 2
    for lag in range(1, lags + 1):
        block = np.arange(len(bits) - lag) // lag % 2
        for first in (np.flatnonzero(block == 0), np.flatnonzero(block == 1)):
            a, b, n = bits[first], bits[first + lag], len(first)
            ones, others = (each.sum(axis=0, dtype=np.int64) for each in (a, b))
            both = (a & b).sum(axis=0, dtype=np.int64)
            variance = ones * (n - ones) / n * others * (n - others) / (n * max(1, n - 1))
            far = np.abs(both - ones * others / max(1, n)) > _FAR * np.sqrt(variance)
            for bit in np.flatnonzero(far):
                law = scipy.stats.hypergeom(n, int(ones[bit]), int(others[bit]))
                p = 2 * tests * float(min(law.cdf(both[bit]), law.sf(both[bit] - 1)))
                worst = min(worst, (p, f"reports of people {lag} apart depend on each other"))
    return worst


def detectable(draws: int, freedom: int) -> float:
    """The error of one probability that is found with a probability of 99 %.

    If the probability of a report is off by d, the non-centrality is at least 4 n d^2. The power of
    a chi-square test is that of the normal approximation of the non-central distribution.

    Here n is ``draws``.

    >>> round(detectable(100_000, 3), 3)
    0.015
    """
    critical = float(scipy.special.chdtri(freedom, ALPHA))
    excess = critical
    for _ in range(50):
        excess = critical - freedom + 2.33 * math.sqrt(2 * (freedom + 2 * excess))
    return math.sqrt(excess / (4 * draws))


def typed(mechanism: Mechanism, columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The columns with the types of the schema."""
    empty = mechanism.schema.empty(0)
    return {name: columns[name].astype(column.dtype) for name, column in empty.items()}


# -----------------------------------------------------------------------------------------------
# Properties that are checked one after the other, and what was found.


class Broken(Exception):
    """A property does not hold; the text says how far it is from holding."""


class NotApplicable(Exception):
    """A property says nothing here; the text says why."""


@dataclass(frozen=True)
class Finding:
    """One property of a mechanism or of an estimator.

    Attributes:
        property: the property in words.
        holds: whether it holds; None where it does not apply.
        finding: what was measured, how far off it is, or why it does not apply.
    """

    property: str
    holds: bool | None
    finding: str

    def __str__(self) -> str:
        mark = {True: "holds", False: "FAILS", None: "does not apply"}[self.holds]
        return f"{self.property}: {mark}; {self.finding}"


@dataclass(frozen=True)
class Checked:
    """The properties that were checked.

    Attributes:
        subject: the mechanism or the estimator, as its repr.
        findings: one for each property, in the order in which they were checked.
    """

    subject: str
    findings: tuple[Finding, ...]

    @property
    def failures(self) -> tuple[Finding, ...]:
        """The properties that do not hold."""
        return tuple(each for each in self.findings if each.holds is False)

    def rows(self) -> list[dict[str, Any]]:
        """One dict for each property: ``property``, ``holds`` and ``finding``."""
        return [vars(each).copy() for each in self.findings]

    def __str__(self) -> str:
        return "\n".join([self.subject, *(f"  {each}" for each in self.findings)])


class PropertyError(AssertionError):
    """Properties that do not hold, each with how far it is from holding.

    Attributes:
        checked: all findings.
    """

    def __init__(self, checked: Checked) -> None:
        failed = "\n".join(f"  {each}" for each in checked.failures)
        count = f"{len(checked.failures)} of {len(checked.findings)} properties fail"
        super().__init__(f"{checked.subject}: {count}.\n{failed}")
        self.checked = checked


Property = tuple[str, Callable[[], str]]
"""A property in words, and a function that returns what it measured, or raises Broken."""


def checked(subject: str, properties: Iterable[Property]) -> Checked:
    """Check properties one after the other; one that fails does not stop the others."""
    findings = Checked(
        subject, tuple(_finding(*each) for each in steps(list(properties), "checking"))
    )
    if findings.failures:
        raise PropertyError(findings)
    return findings


def _finding(name: str, check: Callable[[], str]) -> Finding:
    try:
        return Finding(name, True, check())
    except NotApplicable as reason:
        return Finding(name, None, str(reason))
    except Broken as problem:
        return Finding(name, False, str(problem))
    except WarnerError as problem:
        return Finding(name, False, f"refused: {problem}")
    except Exception as problem:  # of somebody's own code
        return Finding(name, False, f"raised {type(problem).__name__}: {problem}")


def require(holds: bool, otherwise: str) -> None:
    """Raise Broken with a text unless a condition holds."""
    if not holds:
        raise Broken(otherwise)


# -----------------------------------------------------------------------------------------------
# The properties of a mechanism: its law, its sampler, its channel, its reports and its tallies.


_VALUES = 8  # values that get all the reports of a draw, spread over the domain
_TESTED = 256  # values whose reports are drawn; the others share as many as the first ones get
_FEWEST = 1000  # reports of a value
_ALONE = 400  # reports that are made one by one, as on devices
_MIXED = 10_000  # reports that are made among those of other values
_LAGS = 16  # places between two people of a batch whose reports are compared
_REPEATED = 2_000  # reports that are made again by an equal generator
_PEOPLE = 300  # of the reports that are counted and written
_CLOSE = 1e-12
_ROWS = 300  # reports that are tallied alone where each has an operator of its own
# Beyond this condition number of the channel, rounding errors hide what the inverse does.
_CONDITION = 1e7


def check_mechanism(mechanism: Mechanism, draws: int = 100_000, seed: int = 0) -> Checked:
    """Check the properties that all of the package relies on, for a mechanism of your own.

    - The law sums to one for every value, exactly.
    - The audit finds no larger epsilon than the requested and the stated one.
    - The sampler follows the law, by a chi-square test of ``draws`` reports for each of eight
      values, and of fewer for each of the others, ``8 draws`` in all. Of more than 256 values 256
      are tested, and the finding says so. It states the error of a single probability that the test
      detects with a probability of 99 %. A right sampler fails with a probability of 1e-9 for each
      value.
    - A report depends on its own person alone: reports that are made one by one, and reports among
      those of other values, follow the law too. Reports of people up to 16 apart in one batch do
      not depend on each other, by Fisher's test of each bit.
    - The sampler draws from its source alone: equal generators make equal reports.
    - The channel has columns that sum to one, its products agree with each other, and its entries
      follow from the law.
    - The inversion is unbiased, and its variance follows from the law.
    - Bytes, columns of files, headers and tallies can be read back, and change nothing.
    - The tallies of parts add up to the tally of all reports.
    - Reports that the mechanism cannot send are refused.

    Properties that need all reports are checked where there are at most 2^16 pairs of a report and
    a value. So check a small instance first, such as one of four values.

    Args:
        mechanism: any mechanism. Its class must be registered, see :func:`warner.register`.
        draws: the number of reports of each of eight values in the test of the sampler.
        seed: of all random numbers, so that the result is the same at every call.

    Returns:
        Checked: a finding for each property; ``print`` shows them.

    Raises:
        PropertyError: some properties do not hold; the message says which, and how far they are
            from holding.
        ArgumentTypeError: not a mechanism.
        ArgumentError: its class is not registered.

    >>> from warner import Integers, SubsetSelection
    >>> found = check_mechanism(SubsetSelection(Integers(0, 4), 1.0), draws=20_000)
    >>> [each.holds for each in found.findings].count(False)
    0
    """
    require_mechanism(mechanism)
    name = type(mechanism).__name__
    if not (MECHANISMS.get(name) or DESIGNS.get(name)):
        remedy = f"Write @warner.register in the line above class {name}"
        raise ArgumentError("mechanism", "has a class that is not registered", name, remedy)
    integer("draws", draws, 1000)
    subject = _Subject(mechanism, draws, integer("seed", seed, 0))
    return checked(
        repr(mechanism),
        [
            ("the law sums to one", subject.law_sums_to_one),
            ("the audited epsilon is at most the requested and the stated one", subject.epsilon),
            ("the sampler follows the law", subject.sampler),
            ("a report depends on its own person alone", subject.persons),
            ("the sampler draws from its source alone", subject.source),
            ("matvec and rmatvec of the channel agree with its matrix", subject.products),
            ("the channel is the law", subject.channel_is_law),
            ("the inversion is unbiased", subject.inversion),
            ("the stated variance is the variance of the inversion", subject.variance),
            ("the header makes the mechanism again", subject.header),
            ("bytes and files of reports are read back", subject.reports_return),
            ("tallies add up and are read back", subject.tallies),
            ("reports that cannot be sent are refused", subject.refusals),
        ],
    )


def rows_of_reports(mechanism: Mechanism) -> np.ndarray:
    """The weights (reports, rows of the channel) that each possible report adds by itself."""
    return np.stack([weights for _, weights in each_report(mechanism)])


class _Subject:
    """A mechanism whose properties are checked; each check is a method that returns a figure."""

    def __init__(self, mechanism: Mechanism, draws: int, seed: int) -> None:
        self.mechanism, self.draws, self.seed = mechanism, draws, seed
        self.size = mechanism.domain.size

    # The law and the sampler

    @cached_property
    def table(self) -> np.ndarray:
        """The exact probabilities (m, K), where they can be listed."""
        mechanism = self.mechanism
        if not mechanism.is_enumerable:
            rule = (
                f"{self.size} values have too many different reports to list; check a mechanism of "
                "fewer values"
            )
            raise NotApplicable(rule)
        table = mechanism.probabilities()
        expected = (mechanism.n_reports, self.size)
        require(table.shape == expected, f"probabilities() has shape {table.shape}, not {expected}")
        return table

    def law_sums_to_one(self) -> str:
        sums = self.table.sum(axis=0)
        off = [(abs(total - 1), x) for x, total in enumerate(sums)]
        distance, x = max(off)
        require(distance == 0, f"the sum for value number {x} is off by {float(distance):.3g}")
        require(bool((self.table >= 0).all()), "a probability is negative")
        return f"exactly, for {self.size} values and {len(self.table)} reports"

    def epsilon(self) -> str:
        audited = audit(self.mechanism)
        require(audited.holds, f"{audited.violation}")
        return f"epsilon {audited.epsilon:.9g}, requested {audited.requested:.9g}"

    def sampler(self) -> str:
        bits = self.draws * self.mechanism.schema.bytes_per_report
        require(bits < 2**31, f"{self.draws} reports take {bits / 2**30:.0f} GiB; pass fewer draws")
        # A leak can be at any value, so none is left out where there are not very many.
        several = spread(np.arange(self.size), _TESTED)
        chosen = spread(several, _VALUES)
        others = np.setdiff1d(several, chosen)
        tested = [(self.draws, chosen)]
        if len(others):
            fewer = min(self.draws, max(_FEWEST, _VALUES * self.draws // len(others)))
            tested.append((fewer, others))
        results = [self._worst(drawn_for, draws, values) for draws, values in tested]
        p, _, worst = min(results)
        require(p >= ALPHA, f"the worst report: {worst} (chi-square p-value {p:.1g})")
        bound = max(
            detectable(draws, freedom)
            for (draws, _), (_, freedom, _) in zip(tested, results, strict=True)
        )
        counts = " and ".join(
            f"{draws:,} reports of each of {len(values)} {'others' if i else 'values'}"
            for i, (draws, values) in enumerate(tested)
        )
        untested = self.size - sum(len(values) for _, values in tested)
        return (
            f"no fault found: smallest p-value {p:.2g}, from {counts}; an error of {bound:.2g} in "
            "a probability would be found"
        ) + (f"; {untested:,} other values were not tested" if untested else "")

    def persons(self) -> str:
        ends = np.unique([0, self.size - 1])
        many = min(self.draws, _MIXED)
        for how, sampler, draws in (
            ("made one by one", one_by_one(drawn_for), _ALONE),
            ("among reports of other values", among_others(drawn_for), many),
        ):
            p, _, worst = self._worst(sampler, draws, ends)
            require(p >= ALPHA, f"reports {how}: {worst} (chi-square p-value {p:.1g})")
        for x in ends:
            source = Source(np.random.default_rng(self.seed + int(x)))
            columns = typed(self.mechanism, drawn_for(self.mechanism, np.full(many, x), source))
            records = Reports(self.mechanism.header, columns).record_array()
            p, worst = neighbours_p_value(records, _LAGS)
            require(p >= ALPHA, f"for value number {x}, {worst} (Fisher's p-value {p:.1g})")
        return (
            f"{_ALONE} reports made one by one, and {many:,} among reports of other values, each "
            f"of the first and the last value; {many:,} reports of each in one batch, people up to "
            f"{_LAGS} apart"
        )

    def _worst(self, sampler: Sampler, draws: int, values: np.ndarray) -> tuple[float, int, str]:
        """The least p-value over values, its degrees of freedom, and the worst report."""
        if self.mechanism.is_enumerable:
            return worst_p_value(self.mechanism, draws, values, sampler, self.seed)
        return min(self._rows_p_value(int(x), sampler, draws) for x in values)

    def _rows_p_value(self, x: int, sampler: Sampler, draws: int) -> tuple[float, int, str]:
        """The test of the rows of the channel, where reports are too many to list."""
        mechanism, channel = self.mechanism, self.channel
        source = Source(np.random.default_rng(self.seed + x))
        columns = sampler(mechanism, np.full(draws, x), source)
        tally = mechanism.count(columns)
        law = channel.columns(np.array([x]))[:, 0]
        if channel.rows_per_report == 1:
            p, freedom, row = p_value(tally.row_counts.astype(float), law, draws)
        else:
            p, freedom, row = _least_of_bits(tally, law * channel.rows_per_report, draws)
        share = tally.row_counts[row] / draws
        return p, freedom, f"row {row} of value number {x} has the share {share:.5f}"

    def source(self) -> str:
        mechanism = self.mechanism
        values = self._values(_REPEATED)
        first, again, other = (
            mechanism.randomize(values, np.random.default_rng(s)).records()
            for s in (self.seed, self.seed, self.seed + 1)
        )
        differ = sum(a != b for a, b in zip(first, again, strict=True))
        rule = f"{differ} of {_REPEATED} reports differ with two equal generators"
        require(not differ, f"{rule}: some randomness does not come from the source")
        require(first != other, "reports do not depend on the generator")
        with suppress(ArgumentError):  # where real answers go through a device
            require(
                not mechanism.randomize(values).simulated, "real reports are marked as simulated"
            )
        return "equal generators make equal reports"

    # The channel

    @cached_property
    def channel(self) -> Channel:
        try:
            channel = self.mechanism.channel()
        except ArgumentError as reason:
            raise NotApplicable(f"refused: {reason}") from None
        if channel.shape[0] * channel.shape[1] > LARGEST:
            raise NotApplicable(
                f"the channel is too large to check, {channel.shape}; check a mechanism of fewer "
                "values"
            )
        return channel

    @cached_property
    def is_counted_by_channel(self) -> bool:
        """Whether tallies count the rows of ``channel()``, and not only what was reported."""
        one = likelihood_data(self.mechanism.tally(self.reports[:1]))
        return one.channel.shape == self.channel.shape

    @cached_property
    def weights(self) -> np.ndarray:
        """The weights (reports, rows of the channel) that each report adds."""
        return rows_of_reports(self.mechanism)

    @cached_property
    def theta(self) -> np.ndarray:
        return np.random.default_rng(self.seed).dirichlet(np.ones(self.size))

    def products(self) -> str:
        channel = self.channel
        rows, size = channel.shape
        require(size == self.size, f"the channel has {size} values, but the domain has {self.size}")
        dense = channel.dense()
        require(
            dense.shape == channel.shape, f"dense() has shape {dense.shape}, not {channel.shape}"
        )
        rng = np.random.default_rng(self.seed)
        theta, r = rng.random((size, 2)), rng.random((rows, 2))
        adjoint = r[:, 0] @ channel.matvec(theta[:, 0]) - channel.rmatvec(r[:, 0]) @ theta[:, 0]
        errors = {
            "columns sum to one": np.abs(dense.sum(axis=0) - 1).max(),
            "entries are not negative": max(0.0, -dense.min()),
            "matvec is the product": np.abs(channel.matvec(theta) - dense @ theta).max(),
            "rmatvec is the adjoint product": np.abs(channel.rmatvec(r) - dense.T @ r).max(),
            "r' (A theta) = (A' r)' theta": np.abs(adjoint),
        }
        scale = 1 + dense.sum(axis=1).max()
        name, worst = max(errors.items(), key=lambda item: float(item[1]))
        require(worst <= _CLOSE * scale, f"{name}: off by {worst:.3g}")
        return _within(worst)

    @property
    def one_by_one(self) -> list[str] | None:
        """A question, where questions are estimated one by one; None where all are together."""
        if isinstance(self.mechanism, OneOf | HiddenQuestion):
            return list(self.mechanism.attribute_domains)[:1]
        return None

    def channel_is_law(self) -> str:
        if self.one_by_one is not None:
            raise NotApplicable("no report is about all questions; check each mechanism alone")
        exact = self.table.astype(float)
        try:
            by_channel = self.is_counted_by_channel
        except NotApplicable:
            by_channel = False
        if not by_channel:
            return self._rows_are_law(exact)
        off, problem = off_from_law(self.channel, self.weights, exact)
        require(problem is None, f"{problem}")
        return _within(off)

    def _rows_are_law(self, exact: np.ndarray) -> str:
        """The rows of single reports are proportional to their probabilities."""
        worst, step = 0.0, max(1, len(exact) // _ROWS)
        for i, (channel, weights) in enumerate(each_report(self.mechanism, step)):
            y = i * step
            if channel.rows_per_report != 1:
                raise NotApplicable("tallies keep parts of reports; check each mechanism alone")
            row, law = channel.rmatvec(weights), exact[y]
            if not law.any():
                continue  # a report that no value makes
            off = float(np.abs(row / row.max() - law / law.max()).max())
            worst = max(worst, off)
            require(off <= 1e-9, f"the likelihood of report {y} is off by {off:.3g} of its largest")
        return f"{_within(worst)}, report by report"

    def _require_inverse(self) -> None:
        dense = self.channel.dense()
        values = np.linalg.svd(dense, compute_uv=False)
        condition = values[0] / values[-1] if values[-1] > 0 else np.inf
        if condition > _CONDITION or len(values) < self.size:
            raise NotApplicable(
                f"the channel has no usable inverse (condition number {condition:.1g})"
            )

    def inversion(self) -> str:
        self._require_inverse()
        try:
            inverted = self.channel.invert(self.channel.matvec(self.theta))
        except IdentifiabilityError as reason:
            raise NotApplicable(f"refused: {reason}") from None
        off = float(np.abs(inverted - self.theta).max())
        require(off <= 1e-7, f"the expected estimate of a share is off by {off:.3g}")
        return _within(off)

    def variance(self) -> str:
        self._require_inverse()
        if not self.is_counted_by_channel:
            raise NotApplicable("tallies keep only what was reported; check each mechanism alone")
        channel, law = self.channel, self.table.astype(float) @ self.theta
        try:
            single = np.stack([channel.invert(row) for row in self.weights])
            claimed = channel.variance(self.theta)
        except (ArgumentError, IdentifiabilityError) as reason:
            raise NotApplicable(f"refused: {reason}") from None
        exact = law @ single**2 - self.theta**2
        off = float(np.abs(claimed / exact - 1).max())
        require(off <= 1e-6, f"the stated variance of a share is off by {off:.2%}")
        return f"{_within(off)}; against the variance over all reports"

    # Reports, headers and tallies

    def _values(self, n: int) -> list[Any]:
        index = np.random.default_rng(n).integers(0, self.size, n)
        return list(self.mechanism.domain.decode(index))

    @cached_property
    def reports(self) -> Reports:
        return self.mechanism.randomize(self._values(_PEOPLE), np.random.default_rng(self.seed))

    def header(self) -> str:
        mechanism = self.mechanism
        try:
            again = from_header(mechanism.header)
        except WarnerError as problem:
            raise Broken(f"no mechanism can be made from the header: {problem}") from None
        changed = [key for key, value in mechanism.header.items() if again.header[key] != value]
        require(not changed, f"the header makes another {', '.join(changed)}")
        require(type(again) is type(mechanism), f"the header makes a {type(again).__name__}")
        rule = "the same seed makes other reports after the header was read"
        drawn = again.randomize(self._values(_PEOPLE), np.random.default_rng(self.seed))
        require(drawn.records() == self.reports.records(), rule)
        return f"{type(mechanism).__name__}, version {mechanism.version}"

    def reports_return(self) -> str:
        mechanism, reports = self.mechanism, self.reports
        mechanism.check(reports)
        bytes_ = Reports.from_bytes(reports.to_bytes(keep_order=True))
        mechanism.check(bytes_)
        self._same(bytes_.columns, "bytes")
        schema = mechanism.schema
        written = schema.to_file(reports.columns)
        limits = schema.file_columns()
        require(set(written) == set(limits), "to_file() must return the columns of file_columns()")
        for name, column in written.items():
            rule = f"the column {name!r} of a file has values outside 0 to {limits[name] - 1}"
            require(bool((column >= 0).all() and (column < limits[name]).all()), rule)
        self._same(schema.from_file(written), "columns of a file")
        self._same(mechanism.reports(reports.columns).columns, "columns")
        return f"{_PEOPLE} reports of {schema.bytes_per_report} bytes"

    def _same(self, columns: Mapping[str, np.ndarray], form: str) -> None:
        """Require the columns of the reports, after they were read from another form."""
        for name, column in self.reports.columns.items():
            require(name in columns, f"the column {name!r} is lost in {form}")
            if columns[name].shape != column.shape:
                raise Broken(f"the column {name!r} has another shape after {form}")
            differ = int((columns[name] != column).reshape(len(column), -1).any(axis=1).sum())
            require(not differ, f"{differ} of {_PEOPLE} reports change in {form}")

    def tallies(self) -> str:
        mechanism, reports = self.mechanism, self.reports
        # Permanent reports add only where they are known to be of one round.
        whole = mechanism.tally(reports).of_round(1)
        cuts = (0, 1, _PEOPLE // 3, _PEOPLE)
        parts = [mechanism.tally(reports[a:b]).of_round(1) for a, b in pairwise(cuts)]
        total = merge(parts)
        off = int(np.abs(total.counts - whole.counts).sum())
        require(total == whole, f"the counts of three parts differ from those of all by {off}")
        require(
            Tally.from_json(whole.to_json()) == whole,
            "a tally differs after it was written to JSON and read",
        )
        each = np.arange(_PEOPLE) % 3
        groups = mechanism.tally(reports, {"group": each.tolist()}).of_round(1)
        by_group = sum(list(groups.values())[1:], next(iter(groups.values())))
        require(by_group == whole, "the tallies of groups do not add up to the tally of all")
        require(whole.n == _PEOPLE, f"a tally of {_PEOPLE} reports has n = {whole.n}")
        rows = likelihood_data(whole, self.one_by_one).weights.size
        return f"three parts, three groups and JSON give the same counts; {rows} rows"

    def refusals(self) -> str:
        mechanism = self.mechanism
        wrong = 0
        for name in self.reports.columns:
            for value in (-1, 2**40):
                columns = {n: c.astype(np.int64) for n, c in self.reports.columns.items()}
                columns[name].flat[0] = value
                if not _refused(partial(mechanism.reports, columns)):
                    raise Broken(f"reports with {value} in the column {name!r} are accepted")
                wrong += 1
        foreign = object()
        require(
            _refused(partial(mechanism.randomize, [foreign])), "an answer outside is randomised"
        )
        return f"{wrong} wrong reports and an answer outside the domain"


def _within(off: float) -> str:
    """How near two numbers are; the digits of rounding errors differ between machines."""
    return "up to rounding errors" if off <= 1e-12 else f"within {off:.1g}"


def _refused(call: Any) -> bool:
    """Whether a call is refused with an error of this package."""
    try:
        call()
    except (ReportError, WarnerError):
        return True
    return False


def drawn_for(mechanism: Mechanism, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
    """Reports of people with values index (n,); answers are uniform in the bins of an interval."""
    if not mechanism.represents_interval:
        return mechanism.randomize_index(index, source)
    answers = _answers(mechanism, mechanism.domain, index, source)
    return mechanism.randomize_encoded(mechanism.encode(answers), source)


def _answers(described: Any, domain: Domain, index: np.ndarray, source: Source) -> Any:
    """Answers (n,) of a mechanism or a domain; a dict of columns of several attributes."""
    if domain.attributes:
        parts = described.answer_parts or getattr(described, "parts", {})
        if parts.keys() != domain.attributes.keys():
            raise NotApplicable("answers are in bins; check each attribute alone")
        places = np.unravel_index(index, domain.shape)
        return {
            name: _answers(parts[name], each, index, source)
            for (name, each), index in zip(domain.attributes.items(), places, strict=True)
        }
    if not getattr(described, "represents_interval", False):
        return domain.decode(index)
    points = domain.answered.points
    assert points is not None
    inside = source.words(len(index), np.uint64) / 2**64 - 0.5
    silent = index == (domain.size if domain.nonresponse is None else domain.nonresponse)
    numbers = points[np.where(silent, 0, index), 0] + (points[1, 0] - points[0, 0]) * inside
    return np.where(silent, np.nan, numbers)


def _least_of_bits(tally: Tally, law: np.ndarray, n: int) -> tuple[float, int, int]:
    """The least p-value over rows in which a report counts at most once, times their number."""
    counts = tally.row_counts
    sd = np.sqrt(np.maximum(n * law * (1 - law), 1e-300))
    row = int(np.argmax(np.abs(counts - n * law) / sd))
    least = float(scipy.stats.binomtest(int(counts[row]), n, float(min(1.0, law[row]))).pvalue)
    return min(1.0, least * len(law)), 1, row
