"""The properties of a mechanism: its law, its sampler, its channel, its reports and its tallies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
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
from warner._core.progress import steps
from warner.channels import Channel
from warner.design.audits import audit
from warner.design.own_law import each_report, off_from_law
from warner.design.own_sampler import (
    FEW,
    FEWEST,
    Broken,
    NotApplicable,
    SamplerTests,
    detectable,
    drawn_for,
    require,
    settled,
    some_answers,
    spread,
    usable_channel,
)
from warner.mechanisms import HiddenQuestion, Mechanism, OneOf, from_header
from warner.mechanisms.base import listed_probabilities, require_mechanism
from warner.mechanisms.headers import DESIGNS, MECHANISMS
from warner.reports.reports import Reports
from warner.reports.tally import Tally, merge
from warner.results.from_tally import likelihood_data

# -----------------------------------------------------------------------------------------------
# Properties that are checked one after the other, and what was found.


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


# -----------------------------------------------------------------------------------------------
# The properties of a mechanism: its law, its sampler, its channel, its reports and its tallies.


_VALUES = 8  # values that get all the reports of a draw, spread over the domain
_TESTED = 256  # values whose reports are drawn; the others share as many as the first ones get
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
      detects with a probability of 99 %: of a rare report, and of the report that needs the largest
      one. Where a p-value, times the number of values, is below 0.001, four times as many reports
      are drawn anew, until no doubt is left: a right sampler fails with a probability below 1e-8.
    - A report depends on its own person alone: reports that are made one by one, and reports among
      those of other values, follow the law too. Reports of people in one batch, any number of
      places up to half of the batch apart, do not depend on each other, by Fisher's test of each
      bit. The finding states the part of copied reports that the test detects.
    - The sampler draws from its source alone: equal generators make equal reports. It seeds no
      generator of its own with fewer than 128 bits, which can be guessed, for all reports together.
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
    tests = subject.tests
    return checked(
        repr(mechanism),
        [
            ("the law sums to one", subject.law_sums_to_one),
            ("the audited epsilon is at most the requested and the stated one", subject.epsilon),
            ("the sampler follows the law", subject.sampler),
            ("a report depends on its own person alone", partial(tests.persons, draws)),
            ("the sampler draws from its source alone", tests.source),
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
        self.tests = SamplerTests(mechanism, seed)
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
        return listed_probabilities(mechanism)

    def law_sums_to_one(self) -> str:
        distance, x = max((abs(total - 1), x) for x, total in enumerate(self.table.sum(axis=0)))
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
            fewer = min(self.draws, max(FEWEST, _VALUES * self.draws // len(others)))
            tested.append((fewer, others))
        results = [
            settled(partial(self.tests.worst, drawn_for, values), draws, self.seed, "chi-square")
            for draws, values in tested
        ]
        p, *_ = min(result for result, *_ in results)
        bounds = [
            detectable(draws, freedom, chance, len(values))
            for (draws, values), ((_, freedom, _), *_) in zip(tested, results, strict=True)
            for chance in self.chances(several, draws)
        ]
        counts = " and ".join(
            f"{draws:,} reports of each of {len(values)} {'others' if i else 'values'}{history}"
            for i, ((_, values), (_, draws, history)) in enumerate(
                zip(tested, results, strict=True)
            )
        )
        least, most = (f"{each:.2g}" for each in (min(bounds), max(bounds)))
        of_rare = f", and of a rare report an error of {least}" if least != most else ""
        untested = self.size - sum(len(values) for _, values in tested)
        return (
            f"no fault found: p-value {p:.2g}, of all values together, from {counts}; an error of "
            f"{most} in a probability would be found{of_rare}"
        ) + (f"; {untested:,} other values were not tested" if untested else "")

    def chances(self, values: np.ndarray, draws: int) -> list[float]:
        """The least probability that is tested alone and the one nearest to 1/2, where listed."""
        if not self.mechanism.is_enumerable:
            return [0.5]
        listed = self.table[:, values].astype(float)
        alone = listed[(listed * draws > FEW) & (listed < 1)]
        spreads = alone * (1 - alone)
        return (
            [float(alone[i]) for i in (spreads.argmin(), spreads.argmax())] if alone.size else [0.5]
        )

    # The channel

    @cached_property
    def channel(self) -> Channel:
        return usable_channel(self.mechanism)

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
                raise NotApplicable("its tallies count the parts of reports, not whole reports")
            row, law = channel.rmatvec(weights), exact[y]
            if not law.any():
                continue  # a report that no value makes
            off = float(np.abs(row / row.max() - law / law.max()).max())
            worst = max(worst, off)
            require(off <= 1e-9, f"the likelihood of report {y} is off by {off:.3g} of its largest")
        return f"{_within(worst)}, report by report"

    def _require_inverse(self) -> None:
        values = np.linalg.svd(self.channel.dense(), compute_uv=False)
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
            raise NotApplicable("its tallies count only the reports that were sent")
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

    @cached_property
    def reports(self) -> Reports:
        return self.mechanism.randomize(
            some_answers(self.mechanism, _PEOPLE), np.random.default_rng(self.seed)
        )

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
        drawn = again.randomize(
            some_answers(self.mechanism, _PEOPLE), np.random.default_rng(self.seed)
        )
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
        for name in self.reports.columns:
            for value in (-1, 2**40):
                columns = {n: c.astype(np.int64) for n, c in self.reports.columns.items()}
                columns[name].flat[0] = value
                if not _refused(partial(mechanism.reports, columns)):
                    raise Broken(f"reports with {value} in the column {name!r} are accepted")
        is_refused = _refused(partial(mechanism.randomize, [object()]))
        require(is_refused, "an answer outside is randomised")
        return f"{2 * len(self.reports.columns)} wrong reports and an answer outside the domain"


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
