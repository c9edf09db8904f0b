"""Audits: the exact epsilon of a mechanism over the whole serialised report, and a lower bound from samples."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from warner._core.canonical_json import (
    canonical,
)
from warner._core.checks import integer, kind
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    message,
)
from warner._core.sampling import Source
from warner.design.report_weight import report_weight
from warner.mechanisms import Mechanism, sensitive_mask
from warner.mechanisms.composite import Combined
from warner.privacy.guarantees import LDP, OSLDP, ULDP, ApproximateLDP, Guarantee, MetricLDP
from warner.privacy.report_laws import (
    INFINITE,
    Displacements,
    apart,
    epsilon_of,
    image,
    log_worst,
    violation,
    whole,
    worst_pair,
    worst_ratio,
    worst_slope,
)
from warner.reports.reports import Reports
from warner.reports.tally import kinds

_TWICE = 1e-12  # nats: slopes are found from rounded logarithms, and rounded up, so what they are held to may be that much below
_ERROR = 1e-6  # probability that the sampled lower bound is above the true epsilon


@dataclass(frozen=True)
class Audit:
    """What an audit found.

    Attributes:
        mechanism: its repr.
        requested: epsilon asked for, nats, between values ``unit`` apart.
        epsilon: the exact smallest epsilon that the reports satisfy, rounded up to a float, between values ``unit`` apart.
        holds: whether epsilon <= requested, and enumeration (if small enough) agrees with the law.
        how: what was examined.
        breaks: what broke it, or None.
        sampled: lower bound on epsilon from samples, with confidence 1 - 1e-6, or None.
        delta: of approximate privacy, None elsewhere.
        guarantee: what is guaranteed, and to whom: not every value is protected by every mechanism.
        unit: the distance of two values that ``requested`` and ``epsilon`` are for, where privacy is metric; None where they
            are for any two values.
        total: epsilon between any two values, however far apart: nats that one person spends in all.
        weight: how many people the estimated count of a value changes by, at most, when one report is forged; None where
            reports have no unbiased estimate of counts. See warner.design.report_weight.report_weight.
    """

    mechanism: str
    requested: float
    epsilon: float
    holds: bool
    how: str
    breaks: str | None = None
    sampled: float | None = None
    guarantee: str = ""
    delta: float | None = None
    unit: float | None = None
    total: float | None = None
    weight: float | None = None

    def __str__(self) -> str:
        verdict = "holds" if self.holds else f"BROKEN: {self.breaks}"
        lower = "" if self.sampled is None else f"; from samples at least {self.sampled:.4f}"
        weight = (
            "" if self.weight is None else f"; one report weighs at most {self.weight:.4g} people"
        )
        found = f"requested {self.requested:.10g}, exact {self.epsilon:.10g}, {verdict}"
        return f"{self.mechanism}: {found}; {self.guarantee} ({self.how}{lower}){weight}"


def audit(
    mechanism: Mechanism, samples: int | None = None, claim: Guarantee | None = None
) -> Audit:
    """The exact epsilon of ``mechanism`` over everything a report says, its length and order included.

        epsilon = max over reports y and values x, x' of ln Pr(y | x) / Pr(y | x')

    per unit of distance between x and x' where the guarantee is metric. Where it is approximate, delta is the largest hockey-stick
    divergence sum_y max(0, Pr(y | x) - exp(epsilon) Pr(y | x')) at the epsilon asked for.

    Computed from the integer thresholds that the sampler compares with, in exact arithmetic: bit by bit for unary encodings at any
    K, from the two levels of a pure law, from the table of a channel. Where there are few enough reports, every one is
    serialised besides, and the bytes' exact probabilities give epsilon a second time; the two must agree.

    Args:
        mechanism: any registered mechanism.
        samples: if given, also draw this many reports of each of two values and bound epsilon from below by what is seen
            (Clopper-Pearson), which examines the sampler itself rather than its law.
        claim: a guarantee of any kind to hold the mechanism to instead of its own, by enumeration. What breaks it is named: the
            unprotected report that does not name one value, or the report and the two values.

    Raises:
        ArgumentError: a claim about a mechanism with too many reports to enumerate, or about values that it does not have.

    >>> from warner import Categorical, RandomizedResponse
    >>> result = audit(RandomizedResponse(Categorical(["no", "yes"]), 1.0))
    >>> result.holds, round(result.epsilon, 9)
    (True, 1.0)
    """
    if not isinstance(mechanism, Mechanism):
        raise ArgumentTypeError(message("mechanism", "must be a Mechanism", kind(mechanism)))
    if claim is not None:
        if samples is not None:
            raise ArgumentError(
                message(
                    "samples",
                    "do not go with a claim, which is checked by enumeration",
                    None,
                    "Ask for one of the two",
                )
            )
        return _held_to(mechanism, claim)
    if isinstance(mechanism, Combined):
        return _by_parts(mechanism, samples)
    promised = mechanism.guarantee
    delta = promised.delta if isinstance(promised, ApproximateLDP) else None
    measured = delta is not None or mechanism.distance_unit is not None
    law = epsilon = (
        promised.epsilon
        if delta is not None
        else _stated(mechanism)
        if measured
        else log_worst(mechanism.law)
    )
    how = mechanism.law.examined
    breaks = (
        None
        if epsilon <= mechanism.requested
        else f"epsilon {epsilon!r} exceeds {mechanism.requested!r}"
    )
    if mechanism.is_enumerable:
        records = Reports(mechanism.header, mechanism.outputs()).records()
        how += f", and all {len(records)} serialised reports enumerated"
        if measured:
            found, problem = _measured(
                records, mechanism.probabilities(), promised, mechanism.distances()
            )
            larger = found > (delta if delta is not None else law + _TWICE * (1 + law))
            if not mechanism.represents_interval:
                epsilon, delta = (
                    (min(found, epsilon), None) if delta is None else (epsilon, min(found, delta))
                )
        else:
            sensitive, ratio = mechanism.sensitive_mask, mechanism.law.ratio()
            is_enumerable, problem = enumerated(
                records,
                mechanism.probabilities(),
                sensitive,
                None if sensitive is None else mechanism.protected(),
            )
            if isinstance(promised, OSLDP):
                problem = None  # that reports blur values together is what one-sidedness allows
            # The bytes are what an attacker has. They may tell less than the law: a pool whose hashes never separate two labels.
            # A bin is the average of its numbers, so reports tell single numbers apart better than they tell bins.
            epsilon = (
                law
                if mechanism.represents_interval and is_enumerable <= ratio
                else epsilon_of(is_enumerable)
            )
            larger = epsilon > law or (is_enumerable > ratio and law < math.inf)
        if breaks is None:
            breaks = problem or (
                "some serialised reports have larger odds than the law allows" if larger else None
            )
    sampled = None if samples is None else sampled_bound(mechanism, integer("samples", samples, 2))
    if breaks is None and sampled is not None and sampled > mechanism.requested:
        breaks = f"samples show an epsilon of at least {sampled:.4f}: the sampler does not follow the law"
    total, weight = mechanism.promised_at(epsilon).total, report_weight(mechanism)
    return Audit(
        repr(mechanism),
        mechanism.requested,
        epsilon,
        breaks is None,
        how,
        breaks,
        sampled,
        str(promised),
        delta,
        mechanism.distance_unit,
        total,
        weight,
    )


def _stated(mechanism: Mechanism) -> float:
    """The epsilon that a mechanism with a metric states for values ``unit`` apart; of a large grid, found from all pairs of its cells."""
    law = mechanism.law
    if isinstance(law, Displacements) and not law.few:
        assert mechanism.domain.raster is not None
        return math.nextafter(law.slope() / mechanism.domain.raster.side, math.inf)
    return mechanism.epsilon


def _by_parts(mechanism: Combined, samples: int | None) -> Audit:
    """Reports of several parts, independent given what was asked: each part exactly, the sum rounded up, and all tuples where they are few."""
    different = {canonical(part.header): part for part in mechanism.parts.values()}
    audits = {key: audit(part) for key, part in different.items()}
    found = {name: audits[canonical(part.header)] for name, part in mechanism.parts.items()}
    exact = {}
    for name, part in mechanism.parts.items():
        delta = found[name].delta
        # Epsilons per different distances do not add: ``promised_at`` converts them to the guarantee's own unit first.
        exact[name] = (
            part.promised_at(found[name].epsilon)
            if delta is None
            else ApproximateLDP(found[name].epsilon, delta)
        )
    total = mechanism.spent(exact)
    breaks = next(
        (f"{name}: {result.breaks}" for name, result in found.items() if result.breaks is not None),
        None,
    )
    if breaks is None and total.epsilon > mechanism.requested:
        breaks = f"epsilon {total.epsilon!r} exceeds {mechanism.requested!r}"
    how = "; ".join(
        dict.fromkeys(
            f"{'part ' if len(found) > 1 else ''}{type(p).__name__}: {found[name].how}"
            for name, p in mechanism.parts.items()
        )
    )
    if mechanism.is_enumerable:
        records = Reports(mechanism.header, mechanism.outputs()).records()
        how += f"; all {len(records)} serialised tuples enumerated"
        problem = _together(mechanism, total, records)
        if breaks is None:
            breaks = problem
    unknown = mechanism.sensitive_mask is None and any(
        part.sensitive_mask is not None for part in mechanism.parts.values()
    )
    if samples is not None and unknown:
        raise ArgumentError(
            message(
                "samples",
                "are not drawn of so many tuples, only some of them protected",
                None,
                "Audit the parts one by one",
            )
        )
    sampled = None if samples is None else sampled_bound(mechanism, integer("samples", samples, 2))
    if breaks is None and sampled is not None and sampled > mechanism.requested:
        breaks = f"samples show an epsilon of at least {sampled:.4f}: the sampler does not follow the law"
    delta = total.delta if isinstance(total, ApproximateLDP) else None
    shown, weight = str(mechanism.guarantee), report_weight(mechanism)
    return Audit(
        repr(mechanism),
        mechanism.requested,
        total.epsilon,
        breaks is None,
        how,
        breaks,
        sampled,
        shown,
        delta,
        mechanism.distance_unit,
        total.total,
        weight,
    )


def _together(mechanism: Combined, total: Guarantee, records: list[bytes]) -> str | None:
    """What is wrong with serialised tuples of reports, if they have more than the total of their parts."""
    table = mechanism.probabilities()
    if isinstance(total, MetricLDP | ApproximateLDP):
        found, problem = _measured(records, table, total, mechanism.distances())
        most = (
            total.delta
            if isinstance(total, ApproximateLDP)
            else total.epsilon + _TWICE * (1 + total.epsilon)
        )
        if problem is not None or found <= most:
            return problem
        return f"serialised tuples have {'delta' if isinstance(total, ApproximateLDP) else 'epsilon'} {found:.6g}, above that of the parts together"
    protected = None if mechanism.sensitive_mask is None else mechanism.protected()
    ratio, problem = enumerated(records, table, mechanism.sensitive_mask, protected)
    law = mechanism.law.ratio()
    if law != INFINITE and (ratio == INFINITE or ratio > law):
        return "some serialised tuples have larger odds than the parts' laws together allow"
    if epsilon_of(ratio) > total.epsilon:
        return f"serialised tuples have epsilon {epsilon_of(ratio):.6g}, above that of the parts together"
    # That reports blur values together is what one-sidedness allows.
    return None if isinstance(total, OSLDP) else problem


def _measured(
    records: list[bytes],
    probabilities: np.ndarray,
    promised: Guarantee,
    distances: np.ndarray | None,
) -> tuple[float, str | None]:
    """Of serialised reports: epsilon per unit of distance, or delta, and what is wrong with them."""
    rows, _, problem = _merged(records, probabilities, None)
    if problem is not None:
        return math.inf, problem
    if isinstance(promised, ApproximateLDP):
        return hockey_stick(rows, promised.epsilon), None
    assert distances is not None
    return worst_slope(rows, distances)[0], None


def hockey_stick(table: np.ndarray, epsilon: float) -> float:
    """The least delta, rounded up: max over x, x' of sum_y max(0, A[y, x] - exp(epsilon) A[y, x']), of exact probabilities (m, K)."""
    # Nearest floats of the probabilities are off by parts in 2^53 of each, which is paid for by as much of their sum.
    rows = table.astype(np.float64)
    worst = max(
        float(np.maximum(rows[:, [x]] - math.exp(epsilon) * rows, 0.0).sum(axis=0).max())
        for x in range(rows.shape[1])
    )
    return min(1.0, worst * (1 + 1e-12) + 1e-15)


def _held_to(mechanism: Mechanism, claim: Any) -> Audit:
    """Whether the mechanism keeps a guarantee, and what breaks it."""
    if not isinstance(claim, Guarantee):
        raise ArgumentTypeError(
            message("claim", "must be LDP, ULDP, OSLDP, MetricLDP or ApproximateLDP", kind(claim))
        )
    if mechanism.represents_interval:
        raise ArgumentError(
            message(
                "claim",
                "is checked value by value, and a bin stands for many",
                None,
                "Audit without a claim, or state it for Integers",
            )
        )
    if not mechanism.is_enumerable:
        raise ArgumentError(
            message(
                "claim",
                "is checked report by report, and these are too many to list",
                None,
                "Audit a smaller instance",
            )
        )
    rows = mechanism.probabilities()
    how = f"all {len(rows)} reports enumerated against {claim}"
    if isinstance(claim, ApproximateLDP):
        delta = hockey_stick(rows, claim.epsilon)
        wrong = (
            None if delta <= claim.delta else f"delta is {delta:.6g} at epsilon {claim.epsilon:.6g}"
        )
        return Audit(
            repr(mechanism),
            claim.epsilon,
            claim.epsilon,
            wrong is None,
            how,
            wrong,
            None,
            str(claim),
            delta,
        )
    if isinstance(claim, MetricLDP):
        return _held_to_distance(mechanism, claim, rows, how)
    values = (
        np.ones(mechanism.domain.size, dtype=bool)
        if isinstance(claim, LDP)
        else sensitive_mask(mechanism.domain, claim.sensitive)
    )
    bounded, breaks = np.ones(len(rows), dtype=bool), None
    names = [repr(label) for label in mechanism.domain.labels]
    if isinstance(claim, ULDP):
        bounded = image(rows, values)
        breaks = violation(rows, values, bounded, names)
    above = values if isinstance(claim, OSLDP) else np.ones_like(values)
    ratio, y, high, low = worst_pair(rows[bounded], above)
    epsilon = epsilon_of(ratio) if breaks is None else math.inf
    if breaks is None and epsilon > claim.epsilon:
        odds = "but never" if ratio == INFINITE else f"{float(ratio):.6g} times as likely as"
        breaks = f"report {np.flatnonzero(bounded)[y]} comes from {names[high]}, {odds} from {names[low]}"
    return Audit(
        repr(mechanism), claim.epsilon, epsilon, breaks is None, how, breaks, guarantee=str(claim)
    )


def _held_to_distance(mechanism: Mechanism, claim: MetricLDP, rows: np.ndarray, how: str) -> Audit:
    points = mechanism.domain.points
    if points is None:
        raise ArgumentError(
            message(
                "claim",
                "of metric privacy needs values with coordinates",
                type(mechanism.domain).__name__,
            )
        )
    epsilon, y, high, low = worst_slope(rows, apart(points))
    breaks = None
    if epsilon > claim.epsilon + _TWICE * (1 + claim.epsilon):
        names = mechanism.domain.labels
        breaks = f"report {y} tells {names[high]!r} from {names[low]!r} at {epsilon:.6g} nats per unit of distance"
    return Audit(
        repr(mechanism), claim.epsilon, epsilon, breaks is None, how, breaks, guarantee=str(claim)
    )


def enumerated(
    records: list[bytes],
    probabilities: np.ndarray,
    sensitive: np.ndarray | None = None,
    protected: np.ndarray | None = None,
) -> tuple[Fraction, str | None]:
    """Worst likelihood ratio of serialised reports from their exact probabilities (m, K), and what is wrong with them, if anything.

    Reports that serialise alike are one report to whoever reads them, so their probabilities add. With ``sensitive`` values (K,)
    and ``protected`` reports (m,), both conditions of ULDP are examined [P2 def 2]: every unprotected report names one
    non-sensitive value, and the ratio is that of the protected ones. Where the first fails the ratio is the one-sided one, of OSLDP.
    """
    shares, total = whole(probabilities)
    rows, safe, problem = _merged(records, shares, protected, total)
    if problem is not None:
        return INFINITE, problem
    if sensitive is None:
        return worst_ratio(rows), None
    broken = violation(rows, sensitive, safe)
    return (
        (worst_ratio(rows[safe]), None)
        if broken is None
        else (worst_ratio(rows, sensitive), broken)
    )


def _merged(
    records: list[bytes], probabilities: np.ndarray, protected: np.ndarray | None, one: int = 1
) -> tuple[np.ndarray, np.ndarray, str | None]:
    """Probabilities of the different records, which of them are protected, and what is wrong. Certainty is ``one``."""
    place = {record: i for i, record in enumerate(dict.fromkeys(records))}
    rows = np.full(
        (len(place), probabilities.shape[1]), Fraction(0) if one == 1 else 0, dtype=object
    )
    safe = np.ones(len(place), dtype=bool)
    if len({len(record) for record in records}) != 1:
        return rows, safe, "serialised reports differ in length"
    for i, (record, row) in enumerate(zip(records, probabilities, strict=True)):
        rows[place[record]] += row
        safe[place[record]] &= protected is None or bool(protected[i])
    wrong = any(total != one for total in rows.sum(axis=0))
    return rows, safe, "the probabilities of all reports do not sum to one" if wrong else None


def sampled_bound(
    mechanism: Mechanism, samples: int, draw: Callable[[np.ndarray], np.ndarray] | None = None
) -> float:
    """A lower bound on epsilon from ``samples`` reports of the first value and as many of the last.

    Where only some values are protected, one of those stands against one that is not, whose reports may name it: only what is
    likelier under the protected value counts then.

    Half of the samples picks the most telling event: one serialised report, one byte or one bit of it. The other half
    bounds its two probabilities (Clopper-Pearson), so that the choice does not bias the bound.

    Args:
        draw: takes indices (n,) to serialised reports (n, bytes); default the mechanism's own sampler. Tests pass wrong ones.
    """
    if draw is None:

        def draw(index: np.ndarray) -> np.ndarray:
            return Reports(
                mechanism.header, mechanism.randomize_index(index, Source(None))
            ).record_array()

    half = samples // 2
    delta = mechanism.guarantee.delta if isinstance(mechanism.guarantee, ApproximateLDP) else 0.0
    sensitive = mechanism.sensitive_mask
    first, last, one_sided = 0, mechanism.domain.size - 1, False
    if sensitive is not None and not sensitive.all():
        first, last, one_sided = int(np.argmax(sensitive)), int(np.argmin(sensitive)), True
    one, other = (draw(np.full(samples, x)) for x in (first, last))
    bound = 0.0
    for a, b in ((one, other),) if one_sided else ((one, other), (other, one)):
        event = _most_telling(a[:half], b[:half])
        hits = [int(np.count_nonzero(event(part[half:]))) for part in (a, b)]
        bound = max(bound, _log_bound(hits[0], hits[1], samples - half, delta))
    distances = mechanism.distances([first, last])
    return bound if distances is None else bound / float(distances[0, 1])


@dataclass(frozen=True)
class _Event:
    """Something a serialised report may show: that it equals ``content`` where ``mask`` is set."""

    mask: np.ndarray  # (bytes,) uint8
    content: np.ndarray  # (bytes,) uint8

    def __call__(self, records: np.ndarray) -> np.ndarray:
        return ((records & self.mask) == self.content).all(axis=1)


def _most_telling(a: np.ndarray, b: np.ndarray) -> _Event:
    """The event whose odds under a and b look largest: one whole record, one byte or one bit of it."""
    width = a.shape[1]
    records, inverse = kinds(np.concatenate([a, b]))
    seen_a, seen_b = (
        np.bincount(part, minlength=len(records)) for part in (inverse[: len(a)], inverse[len(a) :])
    )
    best = int(np.argmax(_cautious(seen_a, seen_b)))
    found = [
        (
            float(_cautious(seen_a[best], seen_b[best])),
            _Event(np.full(width, 255, np.uint8), records[best]),
        )
    ]
    for i in range(width):
        histogram_a, histogram_b = (np.bincount(part[:, i], minlength=256) for part in (a, b))
        for mask in (255, *(1 << bit for bit in range(8))):
            for value in np.unique(np.arange(256) & mask):
                same = np.arange(256) & mask == value
                odds = float(_cautious(histogram_a[same].sum(), histogram_b[same].sum()))
                event = _Event(np.zeros(width, np.uint8), np.zeros(width, np.uint8))
                event.mask[i], event.content[i] = mask, value
                found.append((odds, event))
    return max(found, key=lambda pair: pair[0])[1]


def _cautious(a: Any, b: Any) -> Any:
    """Log odds of two counts, each moved five standard deviations towards the other: one of many rare events always looks odd."""
    return np.log(np.maximum(a - 5 * np.sqrt(a), 0.1)) - np.log(b + 5 * np.sqrt(b) + 25)


def _log_bound(hits_a: int, hits_b: int, n: int, delta: float = 0.0) -> float:
    """ln of a lower bound for Pr(event | a) - delta over an upper bound for Pr(event | b); two events, two sides: an error of a quarter each."""
    from scipy.stats import beta

    if hits_a == 0:
        return 0.0
    low = float(beta.ppf(_ERROR / 4, hits_a, n - hits_a + 1))
    high = 1.0 if hits_b == n else float(beta.ppf(1 - _ERROR / 4, hits_b + 1, n - hits_b))
    return max(0.0, math.log((low - delta) / high)) if low > delta else 0.0
