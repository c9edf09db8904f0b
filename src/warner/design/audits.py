"""Audits: exact epsilons from integer laws and serialised reports, claims, bounds from samples."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from warner._core.checks import integer, kind, show
from warner._core.errors import ArgumentError, ArgumentTypeError
from warner._core.extras import scipy
from warner._core.names import explained
from warner._core.sampling import Source
from warner._core.table import Column, Table, Tabular, entry
from warner._core.text import canonical
from warner.design.charts import odds, table_of_odds
from warner.design.own_sampler import (
    Broken,
    NotApplicable,
    SamplerTests,
    honest,
    records_of,
    spread,
)
from warner.design.privacy_words import Example, example_of
from warner.design.shuffling import Shuffled, shuffled as of_crowd
from warner.mechanisms import Device, Mechanism
from warner.mechanisms.base import check_law, listed_probabilities, require_mechanism
from warner.mechanisms.composite import Combined
from warner.mechanisms.headers import DESIGNS, MECHANISMS, is_of_package
from warner.mechanisms.one_of import permanent_of
from warner.privacy.guarantees import ApproximateLDP, Guarantee
from warner.privacy.report_laws import (
    INFINITE,
    SLOPE_TOLERANCE,
    ExactTable,
    ambiguous_report,
    common_denominator,
    epsilon_of,
    fractions,
    hockey_stick,
    slope_exceeds,
    worst_ratio,
    worst_slope,
)
from warner.reports.counting import unique_rows
from warner.reports.reports import Reports
from warner.results.drawing import finished
from warner.theory.inversion import max_influence, total_influence

_SHARP = 0.5  # the part of the exact epsilon that samples show in a sharp test
_NO_COLUMNS = ("shuffled", "example", "of_law_alone")


@dataclass(frozen=True, repr=False)
class Audit(Tabular):
    """The result of an audit.

    Attributes:
        mechanism: the repr of the mechanism.
        requested: the requested epsilon in nats, between values ``unit`` apart.
        epsilon: the smallest epsilon that the reports satisfy, rounded up to a float, between
            values ``unit`` apart.
        holds: whether neither epsilon nor what samples show exceeds the request or the guarantee,
            the enumeration of reports (if they can be listed) agrees with the law, and samples (if
            they are drawn) do not depend on other people or on a fixed seed.
        method: how the mechanism was examined, in words.
        violation: how the guarantee is broken, in words; None where it holds.
        sampled_lower_bound: a lower bound on epsilon from samples, with confidence 1 - 1e-6, or
            None. One far below the exact epsilon is a weak test of the sampler.
        guarantee: the guarantee, in words; some mechanisms protect only some values.
        delta: of approximate privacy; None elsewhere.
        unit: the distance of two values that ``requested`` and ``epsilon`` are for, where privacy
            is metric; None where they are for any two values.
        total: the epsilon between any two values, at any distance, or what samples show if that is
            more. It is the budget in nats that one person spends in all.
        influence: the number of people by which one forged report changes the count of a value that
            ``Inversion()`` estimates, at most; None where reports have no unbiased estimate of
            counts. See :func:`warner.theory.inversion.max_influence`.
        influence_of_all: the same for the counts of all values, added up, or a bound of it. See
            :func:`warner.theory.inversion.total_influence`.
        shuffled: what is promised against who sees only the published counts of many people, with
            ``people``, ``delta``, ``epsilon``, ``rounds`` and ``local``, the epsilon against who
            sees the reports of a person arrive; None where it was not asked for.
        example: of labels, the report that tells two answers apart most, for :meth:`plot`; None
            where there is no such report.
        of_law_alone: whether a mechanism of your own was examined by its law, and its sampler was
            not run.
    """

    mechanism: str
    requested: float
    epsilon: float
    holds: bool
    method: str
    violation: str | None = None
    sampled_lower_bound: float | None = None
    guarantee: str = ""
    delta: float | None = None
    unit: float | None = None
    total: float | None = None
    influence: float | None = None
    influence_of_all: float | None = None
    shuffled: Shuffled | None = None
    example: Example | None = None
    of_law_alone: bool = False

    def rows(self) -> list[dict[str, Any]]:
        """The audit as a table of one row: the attributes by name."""
        crowd = {} if self.shuffled is None else vars(self.shuffled)
        of_crowd = {f"shuffled_{name}": value for name, value in crowd.items()}
        return [{k: v for k, v in vars(self).items() if k not in _NO_COLUMNS} | of_crowd]

    def table(self) -> Table:
        """The audit for people: the verdict, and all that was found."""
        in_title = ("mechanism", "holds", "violation", "example", "of_law_alone")
        rows = [
            {"name": name.replace("_", " "), "value": entry(value)}
            for name, value in vars(self).items()
            if name not in in_title and value not in (None, "")
        ]
        verdict = self._verdict if self.holds else f"BROKEN: {self.violation}"
        return Table([Column("name", self.mechanism), Column("value", verdict)], rows)

    @explained
    def plot(self, path: str | None = None, title: str | None = None) -> Any:
        """A picture for a consent form: of 100 people with an answer, how many send a report.

        There are 100 dots for each of the two answers that a report tells apart best, and below
        the title what somebody can conclude who sees the report. An .svg or .pdf can be printed; a
        screen reader reads its numbers.

        Args:
            path: the file to save the picture to (.png, .svg, .pdf, .html or .json); None saves no
                file.
            title: the title, such as the text of the question.

        Returns:
            The Altair chart.

        Raises:
            ArgumentError: no report is an example, as of numbers, of many labels and of several
                questions; or the path has another suffix.
            FileError: the file cannot be written.
            MissingExtraError: the extra 'plot' is not installed.

        >>> from warner import Categorical, RandomizedResponse, audit
        >>> audited = audit(RandomizedResponse(Categorical(["no", "yes"]), 1.0))
        >>> print(audited.example.conclusions()[0].partition(", is then ")[2])
        at most 73.2\N{NO-BREAK SPACE}% sure of \u201cyes\u201d: the odds are at most 2.72 to 1.
        """
        name, example = title or "What one report tells", self.example
        if example is None:
            rule = "cannot be drawn for this mechanism, which has no typical report to show"
            raise ArgumentError("plot", rule, self.mechanism, "Print the audit instead")
        return finished(odds({name: example}), lambda: [table_of_odds(name, example)], path)

    def __repr__(self) -> str:
        return (
            f"Audit({self.mechanism}, requested={self.requested:.10g}, "
            f"epsilon={self.epsilon:.10g}, {self._verdict})"
        )

    @property
    def _verdict(self) -> str:
        """The verdict in a word or two."""
        if not self.holds:
            return "BROKEN"
        return "holds by its law alone" if self.of_law_alone else "holds"

    def __str__(self) -> str:
        verdict = "The mechanism keeps its guarantee"
        if self.of_law_alone:
            verdict = "By its law alone, the mechanism keeps its guarantee"
        if not self.holds:
            verdict = f"The mechanism is BROKEN: {self.violation}. It does not keep its guarantee"
        bound = self.sampled_lower_bound
        # Reports that are not drawn by the law leave its epsilon a statement of the mechanism.
        is_stated = not self.holds and bound is not None
        said = [
            f"{verdict}: {self.guarantee}.",
            f"The mechanism was made for epsilon {self.requested:.10g}. Its "
            f"{'stated' if is_stated else 'exact'} epsilon is {self.epsilon:.10g}.",
            f"How it was checked: {self.method}.",
        ]
        if bound is not None:
            said.append(f"The samples show that epsilon is at least {bound:.4f}.")
            if bound < _SHARP * self.epsilon:
                said.append(
                    "This bound is far below the exact epsilon, so the samples can miss faults. "
                    "Draw more samples, and use warner.testing.check_mechanism, which tests every "
                    "probability."
                )
        if self.influence is not None:
            most = f"{self.influence:.4g} people"
            said.append(f"A person who lies changes an estimated count by at most {most}.")
        if self.shuffled is not None:
            said.append(f"If reports are shuffled, {self.shuffled}.")
        return "\n".join([*said, f"Mechanism: {self.mechanism}"])


# -----------------------------------------------------------------------------------------------
# Whether a mechanism keeps a guarantee that is claimed of it, by listing all its reports.


def audit_claim(mechanism: Mechanism, claim: Guarantee) -> Audit:
    """Check whether a mechanism keeps a claimed guarantee."""
    if not isinstance(claim, Guarantee):
        rule = "must be a guarantee: LDP, ULDP, OSLDP, MetricLDP or ApproximateLDP"
        raise ArgumentTypeError("claim", rule, kind(claim))
    if mechanism.represents_interval:
        rule = "cannot be checked for the values of an Interval, which are bins"
        remedy = "Leave out the argument claim, or use a mechanism on Integers"
        raise ArgumentError("claim", rule, None, remedy)
    if not mechanism.is_enumerable:
        rule = "cannot be checked, because there are too many possible reports to list"
        remedy = "Use a domain with fewer values"
        raise ArgumentError("claim", rule, None, remedy)
    table = listed_probabilities(mechanism)
    checked = claim.examine(table, mechanism.domain)
    return Audit(
        repr(mechanism),
        claim.epsilon,
        checked.epsilon,
        checked.violation is None,
        f"all {len(table)} reports enumerated against {claim}",
        checked.violation,
        guarantee=str(claim),
        delta=checked.delta,
    )


# -----------------------------------------------------------------------------------------------
# A lower bound on epsilon from samples: it examines the sampler itself, not its law.

_ERROR = 1e-6  # probability that the sampled lower bound is above the true epsilon


_TRIED = 64  # values of which a few reports are drawn first


@dataclass(frozen=True)
class Sampled:
    """A lower bound on epsilon from reports of two values, and which values these were."""

    bound: float
    samples: int
    pair: tuple[int, int]
    tried: int

    def __str__(self) -> str:
        """How the bound was found."""
        drawn = (
            f"{self.samples:,} reports each were drawn for value number {self.pair[0]} and value "
            f"number {self.pair[1]}"
        )
        if self.tried <= 2:
            return drawn
        return (
            f"{drawn}, whose reports differed most in a first, smaller draw for all {self.tried} "
            "values"
        )


def sampled_bound(
    mechanism: Mechanism, samples: int, draw: Callable[[np.ndarray], np.ndarray] | None = None
) -> Sampled:
    """A lower bound on epsilon from n reports of each of two values, which differ most in a few."""
    draw = draw or partial(records_of, mechanism, source=Source(None), sampler=honest)
    # A few reports choose two values. Half of the samples chooses an event, the other half bounds
    # its two probabilities (Clopper-Pearson), so neither choice biases the bound.
    half = samples // 2
    delta = mechanism.guarantee.delta or 0.0
    sensitive = mechanism.sensitive_mask
    values, other, one_sided = np.arange(mechanism.domain.size), mechanism.domain.size - 1, False
    if sensitive is not None and not sensitive.all():
        # The unprotected value may be named, so only events likelier under the protected one count.
        values, other, one_sided = np.flatnonzero(sensitive), int(np.argmin(sensitive)), True
    tried = spread(values, _TRIED)
    few = max(2, samples // len(tried))
    first, last = _most_different(mechanism, tried, other, few, one_sided, draw)
    a, b = (draw(np.full(samples, x)) for x in (first, last))
    bound = 0.0
    for likely, unlikely in _ways(a, b, one_sided):
        (mask, content), _ = _most_telling(likely[:half], unlikely[:half])
        hits = [
            int(((reports[half:] & mask) == content).all(axis=1).sum())
            for reports in (likely, unlikely)
        ]
        bound = max(bound, _log_bound(hits[0], hits[1], samples - half, delta))
    distances = mechanism.distances(np.array([first, last]))
    bound = bound if distances is None else bound / float(distances[0, 1])
    pair = min(first, last), max(first, last)
    return Sampled(bound, samples, pair, len({*tried.tolist(), other}))


def _ways(a: np.ndarray, b: np.ndarray, one_sided: bool) -> list[tuple[np.ndarray, np.ndarray]]:
    """In which reports an event should be frequent and in which rare: either way, or one alone."""
    return [(a, b)] if one_sided else [(a, b), (b, a)]


def _most_different(
    mechanism: Mechanism,
    values: np.ndarray,
    other: int,
    few: int,
    one_sided: bool,
    draw: Callable[[np.ndarray], np.ndarray],
) -> tuple[int, int]:
    """The value (T,) whose reports tell it best from another one, and that one.

    The other one is the last value, or the first for the last value itself.
    """
    pairs = [(int(x), other if x != other else int(values[0])) for x in values]
    if len(set(map(frozenset, pairs))) == 1:
        return pairs[0]
    reports = {x: draw(np.full(few, x)) for x in {x for pair in pairs for x in pair}}
    scores = [
        max(_most_telling(*way)[1] for way in _ways(reports[x], reports[y], one_sided))
        for x, y in pairs
    ]
    distances = mechanism.distances(np.append(values, other))
    if distances is not None:  # epsilon is per unit of distance
        position = {int(x): i for i, x in enumerate(np.append(values, other))}
        scores = [
            each / float(distances[position[x], position[y]])
            for each, (x, y) in zip(scores, pairs, strict=True)
        ]
    return pairs[int(np.argmax(scores))]


_Event = tuple[np.ndarray, np.ndarray]
"""That a serialised report equals the second, where the bits of the first are set: (bytes,)."""


def _most_telling(a: np.ndarray, b: np.ndarray) -> tuple[_Event, float]:
    """The event with the largest odds in a and b (n, bytes): a record, byte or bit; its odds."""
    width = a.shape[1]
    records, inverse = unique_rows(np.concatenate([a, b]))
    seen_a, seen_b = (
        np.bincount(reports, minlength=len(records))
        for reports in (inverse[: len(a)], inverse[len(a) :])
    )
    best = int(np.argmax(_cautious(seen_a, seen_b)))
    whole = np.full(width, 255, np.uint8), records[best]
    events = [(float(_cautious(seen_a[best], seen_b[best])), whole)]
    for i in range(width):
        histogram_a, histogram_b = (np.bincount(reports[:, i], minlength=256) for reports in (a, b))
        for mask in (255, *(1 << bit for bit in range(8))):
            bits = np.arange(256) & mask
            values = np.unique(bits)
            of_values = _cautious(
                *(np.bincount(bits, each)[values] for each in (histogram_a, histogram_b))
            )
            event = np.zeros(width, np.uint8), np.zeros(width, np.uint8)
            event[0][i], event[1][i] = mask, values[int(np.argmax(of_values))]
            events.append((float(of_values.max()), event))
    odds, event = max(events, key=lambda pair: pair[0])
    return event, odds


def _cautious(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Log odds of counts, each moved five standard deviations towards the other."""
    # Without it, some of many rare events would always look telling.
    return np.asarray(np.log(np.maximum(a - 5 * np.sqrt(a), 0.1)) - np.log(b + 5 * np.sqrt(b) + 25))


def _log_bound(hits_a: int, hits_b: int, n: int, delta: float = 0.0) -> float:
    """ln of a lower bound for Pr(event | a) - delta over an upper bound for Pr(event | b).

    There are two events with two bounds each, so every bound may err with a quarter of ``_ERROR``.
    """
    if hits_a == 0:
        return 0.0
    low = float(scipy.special.betaincinv(hits_a, n - hits_a + 1, _ERROR / 4))
    high = (
        1.0
        if hits_b == n
        else float(scipy.special.betaincinv(hits_b + 1, n - hits_b, 1 - _ERROR / 4))
    )
    return max(0.0, math.log((low - delta) / high)) if low > delta else 0.0


# -----------------------------------------------------------------------------------------------
# The exact epsilon of a mechanism from its integer law; of several reports, report by report.
# Exact epsilon or delta of serialised reports, the bytes that an attacker has.


def _measured(
    mechanism: Mechanism, table: np.ndarray, records: list[bytes], epsilon: float
) -> tuple[float, float | None, bool, str | None]:
    """Epsilon, delta, whether they exceed the law, and a problem; metric or approximate privacy."""
    promised, has_bins = mechanism.guarantee, mechanism.represents_interval
    value, problem = measure(records, table, promised, mechanism.distances())
    if promised.delta is None:
        return (
            epsilon if has_bins else min(value, epsilon),
            None,
            slope_exceeds(value, epsilon),
            problem,
        )
    delta = promised.delta if has_bins else min(value, promised.delta)
    return epsilon, delta, value > promised.delta, problem


def _odds(
    mechanism: Mechanism, table: np.ndarray, records: list[bytes], law_epsilon: float
) -> tuple[float, float | None, bool, str | None]:
    """The same where epsilon bounds the odds of all reports that are protected."""
    sensitive, ratio_of_law = mechanism.sensitive_mask, mechanism.law.ratio()
    protected = None if sensitive is None else mechanism.protected()
    ratio, problem = enumerated(records, table, sensitive, protected)
    if mechanism.guarantee.is_one_sided:
        problem = None  # one-sided privacy allows reports that several values make
    # The bytes may tell less than the law: a hash pool may never separate two labels. A bin
    # averages over its numbers, so reports distinguish single numbers better than bins.
    averaged = mechanism.represents_interval and ratio <= ratio_of_law
    epsilon = law_epsilon if averaged else epsilon_of(ratio)
    larger = epsilon > law_epsilon or (ratio > ratio_of_law and law_epsilon < math.inf)
    return epsilon, None, larger, problem


def enumerated(
    records: list[bytes],
    probabilities: np.ndarray,
    sensitive: np.ndarray | None = None,
    protected: np.ndarray | None = None,
) -> tuple[Fraction, str | None]:
    """The worst likelihood ratio of reports (m, K); both conditions of ULDP [P2 def 2]."""
    shares, total = common_denominator(probabilities)
    # Reports with equal bytes are one report to a reader, so their probabilities add.
    rows, safe, problem = _merged(records, shares, protected, total)
    if problem is not None:
        return INFINITE, problem
    if sensitive is None:
        return worst_ratio(rows), None
    broken = ambiguous_report(rows, sensitive, safe)
    if broken is None:
        return worst_ratio(rows[safe]), None
    # The one-sided ratio of OSLDP.
    return worst_ratio(rows, sensitive), broken


def measure(
    records: list[bytes],
    probabilities: np.ndarray,
    guarantee: Guarantee,
    distances: np.ndarray | None,
) -> tuple[float, str | None]:
    """Epsilon per unit of distance (K, K), or delta, of reports with probabilities (m, K)."""
    shares, total = common_denominator(probabilities)
    masses, _, problem = _merged(records, shares, None, total)
    if problem is not None:
        return math.inf, problem
    rows = fractions(masses, total)
    if guarantee.delta is not None:
        return hockey_stick(rows, guarantee.epsilon), None
    assert distances is not None
    return worst_slope(rows, distances).epsilon, None


def _merged(
    records: list[bytes], shares: np.ndarray, protected: np.ndarray | None, total: int
) -> tuple[np.ndarray, np.ndarray, str | None]:
    """Shares over ``total`` of the different records, which of them are protected, and an error."""
    row_of = {record: i for i, record in enumerate(dict.fromkeys(records))}
    rows = np.zeros((len(row_of), shares.shape[1]), dtype=object)
    safe = np.ones(len(row_of), dtype=bool)
    if len({len(record) for record in records}) != 1:
        return (
            rows,
            safe,
            "written reports have different lengths, and a length can reveal the answer",
        )
    for i, (record, row) in enumerate(zip(records, shares, strict=True)):
        rows[row_of[record]] += row
        safe[row_of[record]] &= protected is None or bool(protected[i])
    sums = rows.sum(axis=0)
    for x in np.flatnonzero(sums != total)[:1]:
        whole = float(Fraction(sums[x], total))
        problem = f"the probabilities of all reports of value number {x} sum to {whole:.9g}, not 1"
        return rows, safe, problem
    return rows, safe, None


def audit_law(mechanism: Mechanism, samples: int | None) -> Audit:
    """Audit a mechanism of one report: its law, and its serialised reports if they are few."""
    check_law(mechanism)
    law, delta = mechanism.epsilon_of_law(), mechanism.guarantee.delta
    epsilon, method = law, mechanism.law.audit_method
    violation = _over_budget(law, mechanism.requested)
    if mechanism.is_enumerable:
        table = listed_probabilities(mechanism)
        records = Reports(mechanism.header, mechanism.outputs()).records()
        examine = _odds if mechanism.guarantee.bounds_all_pairs else _measured
        epsilon, delta, larger, problem = examine(mechanism, table, records, law)
        if larger and problem is None:
            problem = "some written reports reveal more than the mechanism states"
        violation = violation or problem or _other_than_law(mechanism, table)
        method += f"; all {len(records)} possible reports were checked"
        if epsilon < law and not is_of_package(type(mechanism)):
            # Reports that are written alike tell less than the law; so does a wrong list of them.
            method += (
                f"; by probabilities() alone, epsilon would be {epsilon:.10g} and not {law:.10g}"
            )
            epsilon = law
    measured = mechanism.guarantee_at(epsilon)
    return _conclude(mechanism, samples, epsilon, delta, measured, method, violation)


def _other_than_law(mechanism: Mechanism, listed: np.ndarray) -> str | None:
    """How the listed probabilities differ from a law that lists them too; None if they do not."""
    law = mechanism.law
    if not isinstance(law, ExactTable):
        return None
    total = law.numerators.sum(axis=0)
    off = listed * total != law.numerators
    if not off.any():
        return None
    y, x = np.argwhere(off)[0]
    stated = float(Fraction(law.numerators[y, x]) / total[x])
    return (
        f"by probabilities(), report number {y} of value number {x} has the probability "
        f"{float(listed[y, x]):.6g}, but by the law {stated:.6g}"
    )


def audit_parts(mechanism: Combined, samples: int | None) -> Audit:
    """Audit several reports that are independent given the answer.

    The mechanism of every report is audited exactly, and the sum of the epsilons is rounded up. If
    there are few enough tuples of reports (``is_enumerable``), they are also listed.
    """
    parts = mechanism.parts
    # Equal mechanisms are audited once.
    different = {canonical(each.header): each for each in parts.values()}
    audited = {header: audit_exact(each) for header, each in different.items()}
    audits = {name: audited[canonical(each.header)] for name, each in parts.items()}
    total = mechanism.compose_guarantees(
        {
            name: each.guarantee_at(audits[name].epsilon)
            if (delta := audits[name].delta) is None
            else ApproximateLDP(audits[name].epsilon, delta)
            for name, each in parts.items()
        }
    )
    broken = (f"{name}: {each.violation}" for name, each in audits.items() if not each.holds)
    violation = next(broken, None)
    prefix = "part " if len(parts) > 1 else ""
    method = "; ".join(
        dict.fromkeys(
            f"{prefix}{type(each).__name__}: {audits[name].method}" for name, each in parts.items()
        )
    )
    if mechanism.is_enumerable:
        records = Reports(mechanism.header, mechanism.outputs()).records()
        method += f"; all {len(records)} possible sets of reports were checked"
        violation = violation or _tuples_violation(mechanism, total, records)
    some_are_protected = any(each.sensitive_mask is not None for each in parts.values())
    if samples is not None and some_are_protected and mechanism.sensitive_mask is None:
        rule = "cannot be drawn, because there are too many sets of reports to list"
        remedy = "Leave out the argument samples, or audit each mechanism of mechanism.parts alone"
        raise ArgumentError("samples", rule, None, remedy)
    return _conclude(mechanism, samples, total.epsilon, total.delta, total, method, violation)


def audit_exact(mechanism: Mechanism, samples: int | None = None) -> Audit:
    """Audit a mechanism of one report or of several."""
    if isinstance(mechanism, Combined):
        return audit_parts(mechanism, samples)
    return audit_law(mechanism, samples)


def audit_device(device: Device) -> Audit:
    """Audit the device of one person: the common mechanism, and what the device does with it."""
    common = audit_exact(device.mechanism)
    violation = common.violation or device.violation()
    # The exact epsilon of the device would reveal whether its owner has secrets, so that of the
    # common mechanism is given; only holds and violation depend on the secret map.
    return replace(
        common,
        mechanism=repr(device),
        holds=violation is None,
        violation=violation,
        method=(
            f"{common.method}; the reports of this device were checked too, for every answer of "
            "its owner"
        ),
        guarantee=f"{common.guarantee}; the secret values of this device are protected too",
    )


def _conclude(
    mechanism: Mechanism,
    samples: int | None,
    epsilon: float,
    delta: float | None,
    measured: Guarantee,
    method: str,
    violation: str | None,
) -> Audit:
    """Draw samples if asked for, compare with what is stated, and make the record."""
    bound, stated = None, mechanism.guarantee
    violation = violation or _over_budget(epsilon, mechanism.requested)
    if violation is None and exceeds(measured, stated):
        violation = f"epsilon {measured.epsilon:.9g} exceeds the guarantee, which is {stated}"
    if samples is not None:
        sampled = sampled_bound(mechanism, integer("samples", samples, 2))
        bound, method = sampled.bound, f"{method}; {sampled}"
        shown = mechanism.guarantee_at(bound)
        if violation is None and (bound > mechanism.requested or exceeds(shown, stated)):
            violation = (
                f"samples show an epsilon of at least {bound:.4f}: reports are not drawn with the "
                "probabilities that the mechanism states"
            )
        measured = max(measured, shown, key=lambda each: each.total)
        problem, tested = _dependence(mechanism, samples)
        violation, method = violation or problem, f"{method}; {tested}"
    return Audit(
        repr(mechanism),
        mechanism.requested,
        epsilon,
        violation is None,
        method,
        violation,
        bound,
        str(stated),
        delta,
        mechanism.distance_unit,
        measured.total,
        max_influence(mechanism),
        total_influence(mechanism),
    )


def _dependence(mechanism: Mechanism, samples: int) -> tuple[str | None, str]:
    """How reports depend on other people or on a fixed seed, if they do; and how it was tested."""
    tests = SamplerTests(mechanism)
    try:
        tested = (
            f"{tests.source()}; no report was found to depend on others: {tests.persons(samples)}"
        )
    except Broken as problem:
        return str(problem), "reports of several devices and people were compared"
    except NotApplicable as reason:
        return None, f"reports of several people were not compared: {reason}"
    return None, tested


def exceeds(measured: Guarantee, stated: Guarantee) -> bool:
    """Whether a measured epsilon is above the stated one by more than rounding."""
    return measured.epsilon > stated.epsilon * (1 + SLOPE_TOLERANCE)


def _over_budget(epsilon: float, requested: float) -> str | None:
    if epsilon <= requested:
        return None
    short, limit = f"{epsilon:.6g}", f"{requested:.6g}"
    if short == limit:  # they differ in later digits
        short, limit = repr(epsilon), repr(requested)
    return f"epsilon {short} exceeds {limit}"


def is_from_outside(mechanism: Mechanism) -> bool:
    """Whether a mechanism, or one that it is made of, is not of the package."""
    return not is_of_package(type(mechanism)) or _names_outside(mechanism.header)


def _names_outside(header: Any) -> bool:
    """Whether a header, or one inside it, names a mechanism that is not of the package."""
    if isinstance(header, list):
        return any(map(_names_outside, header))
    if not isinstance(header, dict):
        return False
    name = header.get("mechanism")
    if isinstance(name, str):
        cls = MECHANISMS.get(name) or DESIGNS.get(name)
        if cls is None or not is_of_package(cls):
            return True
    return any(map(_names_outside, header.values()))


def _tuples_violation(mechanism: Combined, total: Guarantee, records: list[bytes]) -> str | None:
    """The violation, if serialised tuples of reports have more than ``total``; else None."""
    table = mechanism.probabilities()
    if not total.bounds_all_pairs:
        measured, problem = measure(records, table, total, mechanism.distances())
        if total.delta is not None:
            name, larger = "delta", measured > total.delta
        else:
            name, larger = "epsilon", slope_exceeds(measured, total.epsilon)
        if problem is not None or not larger:
            return problem
        return f"all reports of a person have {name} {measured:.6g}, more than the mechanisms allow"
    protected = None if mechanism.sensitive_mask is None else mechanism.protected()
    ratio, problem = enumerated(records, table, mechanism.sensitive_mask, protected)
    law, epsilon = mechanism.law.ratio(), epsilon_of(ratio)
    if law != INFINITE and (ratio == INFINITE or ratio > law):
        return "some sets of reports tell more than their mechanisms together allow"
    if epsilon > total.epsilon:
        return f"all reports of a person have epsilon {epsilon:.6g}, more than the mechanisms allow"
    # One-sided privacy allows tuples that several values make.
    return None if total.is_one_sided else problem


# -----------------------------------------------------------------------------------------------
# The public function of the audits.


@explained
def audit(
    mechanism: Mechanism | Device,
    samples: int | None = None,
    claim: Guarantee | None = None,
    shuffled: int | None = None,
    delta: float = 1e-6,
    rounds: int = 1,
) -> Audit:
    """The exact epsilon of a mechanism over whole reports, their length and order included.

        epsilon = max over reports y and values x, x' of ln Pr(y | x) / Pr(y | x')

    If the guarantee is metric, epsilon is per unit of distance between x and x'. If the guarantee
    is approximate, delta is the largest hockey-stick divergence at the requested epsilon:

        delta = max over x, x' of sum_y max(0, Pr(y | x) - exp(epsilon) Pr(y | x'))

    Epsilon is computed in exact arithmetic from the integer thresholds that the sampler uses. Unary
    encodings are examined bit by bit, for any number K of values. A law with two probabilities is
    examined by these two, and any other channel by its table. If the mechanism has few enough
    possible reports (``is_enumerable``), each of them is also serialised. The exact probabilities
    of the bytes then give a second epsilon, which must agree with the first. All this is computed
    from the law. Whether the sampler follows it is tested for the mechanisms of the package; run
    that of your own mechanism with ``samples``, or by ``warner.testing.check_mechanism``.

    Args:
        mechanism: any mechanism, or the device of one person. The audit of a device shows whether
            it keeps its promise to its owner: ULDP of the values that are sensitive for everybody
            and of the owner's secret values [P2 prop 11]. The numbers and words of the result are
            those of the common mechanism, so they are the same whatever the secrets are.
        samples: if given, also draw this many reports of each of two values and bound epsilon from
            below by the events that occur (Clopper-Pearson). The two are those whose reports differ
            most when a few reports of up to 64 values are drawn; the method says which they are.
            Then the reports of one person must not depend on those of others, and two devices must
            not send the same reports, as where a seed is fixed: these are tests of
            :func:`warner.testing.check_mechanism`.
        claim: check this guarantee, by enumeration, instead of the one that the mechanism states.
            The result names the violation: an unprotected report that does not name one value, or a
            report and two values.
        shuffled: how many people's reports are counted together. The result then also says what is
            promised against who sees only the published counts, and neither who sent which report
            nor when: a smaller epsilon, which may fail with probability ``delta`` [wang2024].
        delta: of that promise, below one in the people.
        rounds: how often the same people report, each time with new randomness.

    Returns:
        Audit: epsilon, whether it holds, and the method of the audit.

    Raises:
        ArgumentTypeError: not a mechanism, or a claim that is no guarantee; samples or a claim for
            a device, because both compare chosen values.
        ArgumentError: a claim about a mechanism with too many reports to list, or about values that
            it does not have; samples or shuffled beside a claim; shuffled where some values are not
            protected, or not surely; a delta that is not below one in the people.

    >>> from warner import Categorical, RandomizedResponse
    >>> result = audit(RandomizedResponse(Categorical(["no", "yes"]), 1.0))
    >>> result.holds, round(result.epsilon, 9)
    (True, 1.0)
    >>> four = RandomizedResponse(Categorical(["a", "b", "c", "d"]), 1.0)
    >>> round(audit(four, shuffled=300).shuffled.epsilon, 4)
    0.2272
    """
    if isinstance(mechanism, Device):
        options = {"samples": samples, "claim": claim, "shuffled": shuffled}
        if given := " and ".join(name for name, each in options.items() if each is not None):
            rule = f"cannot be audited with {given}"
            remedy = f"Leave out {given}, or audit device.mechanism"
            raise ArgumentTypeError("device", rule, None, remedy)
        return audit_device(mechanism)
    if names := list(getattr(mechanism, "mechanisms", ())):  # of a study
        rule, got = "must be the mechanism of one question", f"a study of {', '.join(names)}"
        remedy = (
            f"Write warner.audit(study.mechanisms[{names[0]!r}]). To audit all questions of a "
            "study file, run: warner audit study.toml"
        )
        raise ArgumentTypeError("mechanism", rule, got, remedy)
    require_mechanism(mechanism)
    if claim is None:
        if shuffled is not None and rounds > 1 and permanent_of("", mechanism):
            rule = (
                "must be 1 beside shuffled= for a Permanent mechanism, because all its rounds use "
                "one permanent report"
            )
            remedy = f"For {rounds} rounds without shuffling, see mechanism.of_rounds({rounds})"
            raise ArgumentError("rounds", rule, show(rounds), remedy)
        crowd = None if shuffled is None else of_crowd(mechanism, shuffled, delta, rounds)
        audited = audit_exact(mechanism, samples)
        if samples is None and is_from_outside(mechanism):
            not_run = "; no reports were drawn as a test: to draw some, pass samples=1_000_000"
            audited = replace(audited, method=audited.method + not_run, of_law_alone=True)
        return replace(audited, shuffled=crowd, example=example_of(mechanism))
    for name, value in (("samples", samples), ("shuffled", shuffled)):
        if value is not None:
            rule = "cannot be used together with a claim"
            raise ArgumentError(name, rule, None, f"Leave out {name} or claim")
    return audit_claim(mechanism, claim)
