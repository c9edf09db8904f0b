"""The exact epsilon of a mechanism from its integer law; of several reports, report by report."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from warner._core.canonical_json import canonical
from warner._core.checks import integer
from warner._core.errors import ArgumentError
from warner.design.audits.result import Audit
from warner.design.audits.sampled import sampled_bound
from warner.design.report_weight import report_weight
from warner.mechanisms import Device, Mechanism
from warner.mechanisms.per_attribute import Combined
from warner.privacy.guarantees import ApproximateLDP, Guarantee
from warner.privacy.likelihood_ratios import (
    INFINITE,
    ambiguous_report,
    common_denominator,
    epsilon_of,
    hockey_stick,
    slope_exceeds,
    worst_ratio,
    worst_slope,
)
from warner.reports.reports import Reports

# -----------------------------------------------------------------------------------------------
# Exact epsilon or delta of serialised reports, the bytes that an attacker has.


class Enumerated(NamedTuple):
    """The results from the list of all serialised reports.

    Attributes:
        n_reports: the number of reports listed.
        epsilon: nats, between values ``distance_unit`` apart.
        delta: of approximate privacy; None elsewhere.
        violation: the error in the reports, in words, or None.
    """

    n_reports: int
    epsilon: float
    delta: float | None
    violation: str | None


def enumerate_reports(mechanism: Mechanism, epsilon_of_law: float) -> Enumerated:
    """List all serialised reports of a mechanism and compare them with its law."""
    records = Reports(mechanism.header, mechanism.outputs()).records()
    promised = mechanism.guarantee
    if promised.bounds_all_pairs:
        epsilon, delta, larger, problem = _odds(mechanism, records, epsilon_of_law)
    else:
        epsilon, delta, larger, problem = _measured(mechanism, records, epsilon_of_law)
    if problem is None and larger:
        problem = "some serialised reports have larger odds than the law allows"
    return Enumerated(len(records), epsilon, delta, problem)


def _measured(
    mechanism: Mechanism, records: list[bytes], epsilon: float
) -> tuple[float, float | None, bool, str | None]:
    """Epsilon, delta, whether they exceed the law, and a problem; metric or approximate privacy."""
    promised = mechanism.guarantee
    found, problem = measure(records, mechanism.probabilities(), promised, mechanism.distances())
    if promised.delta is not None:
        delta = promised.delta if mechanism.represents_interval else min(found, promised.delta)
        return epsilon, delta, found > promised.delta, problem
    larger = slope_exceeds(found, epsilon)
    return (
        (epsilon if mechanism.represents_interval else min(found, epsilon)),
        None,
        larger,
        problem,
    )


def _odds(
    mechanism: Mechanism, records: list[bytes], law_epsilon: float
) -> tuple[float, float | None, bool, str | None]:
    """The same where epsilon bounds the odds of all reports that are protected."""
    sensitive, ratio = mechanism.sensitive_mask, mechanism.law.ratio()
    protected = None if sensitive is None else mechanism.protected()
    found, problem = enumerated(records, mechanism.probabilities(), sensitive, protected)
    if mechanism.guarantee.is_one_sided:
        problem = None  # one-sided privacy allows reports that several values make
    # The bytes may tell less than the law: a hash pool may never separate two labels. A bin
    # averages over its numbers, so reports distinguish single numbers better than bins.
    averaged = mechanism.represents_interval and found <= ratio
    epsilon = law_epsilon if averaged else epsilon_of(found)
    larger = epsilon > law_epsilon or (found > ratio and law_epsilon < math.inf)
    return epsilon, None, larger, problem


def enumerated(
    records: list[bytes],
    probabilities: np.ndarray,
    sensitive: np.ndarray | None = None,
    protected: np.ndarray | None = None,
) -> tuple[Fraction, str | None]:
    """The worst likelihood ratio of serialised reports.

    Reports with equal bytes are one report to a reader, so their probabilities add. With
    sensitive values both conditions of ULDP are examined [P2 def 2]: every unprotected report names
    one non-sensitive value, and the ratio is that of the protected reports. Where the first
    condition fails, the ratio is the one-sided one of OSLDP.

    Shapes: probabilities (m, K), sensitive (K,), protected (m,).
    """
    shares, total = common_denominator(probabilities)
    rows, safe, problem = _merged(records, shares, protected, total)
    if problem is not None:
        return INFINITE, problem
    if sensitive is None:
        return worst_ratio(rows), None
    broken = ambiguous_report(rows, sensitive, safe)
    if broken is None:
        return worst_ratio(rows[safe]), None
    return worst_ratio(rows, sensitive), broken


def measure(
    records: list[bytes],
    probabilities: np.ndarray,
    guarantee: Guarantee,
    distances: np.ndarray | None,
) -> tuple[float, str | None]:
    """Epsilon per unit of distance, or delta, of serialised reports.

    Shapes: probabilities (m, K), distances (K, K).
    """
    rows, _, problem = _merged(records, probabilities, None)
    if problem is not None:
        return math.inf, problem
    if guarantee.delta is not None:
        return hockey_stick(rows, guarantee.epsilon), None
    assert distances is not None
    return worst_slope(rows, distances).epsilon, None


def _merged(
    records: list[bytes], probabilities: np.ndarray, protected: np.ndarray | None, one: int = 1
) -> tuple[np.ndarray, np.ndarray, str | None]:
    """Probabilities of the different records, which of them are protected, and an error.

    ``one`` is the number that stands for certainty.
    """
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


def audit_law(mechanism: Mechanism, samples: int | None) -> Audit:
    """Audit a mechanism of one report: its law, and its serialised reports if they are few."""
    epsilon, delta = mechanism.epsilon_of_law(), mechanism.guarantee.delta
    method, violation = mechanism.law.audit_method, _over_budget(epsilon, mechanism.requested)
    if mechanism.is_enumerable:
        found = enumerate_reports(mechanism, epsilon)
        method += f", and all {found.n_reports} serialised reports enumerated"
        epsilon, delta = found.epsilon, found.delta
        violation = violation or found.violation
    total = mechanism.guarantee_at(epsilon).total
    return _conclude(mechanism, samples, epsilon, delta, total, method, violation)


def audit_parts(mechanism: Combined, samples: int | None) -> Audit:
    """Audit several reports that are independent given the answer.

    The mechanism of every report is audited exactly, and the sum of the epsilons is rounded up. If
    there are few enough tuples of reports (``is_enumerable``), they are also listed.
    """
    different = {canonical(part.header): part for part in mechanism.parts.values()}
    audits = {key: audit_exact(part) for key, part in different.items()}
    found = {name: audits[canonical(part.header)] for name, part in mechanism.parts.items()}
    total = mechanism.compose_guarantees(
        {name: _found_guarantee(part, found[name]) for name, part in mechanism.parts.items()}
    )
    violation = next(
        (f"{name}: {result.violation}" for name, result in found.items() if not result.holds),
        None,
    )
    violation = violation or _over_budget(total.epsilon, mechanism.requested)
    method = "; ".join(
        dict.fromkeys(
            f"{'part ' if len(found) > 1 else ''}{type(part).__name__}: {found[name].method}"
            for name, part in mechanism.parts.items()
        )
    )
    if mechanism.is_enumerable:
        records = Reports(mechanism.header, mechanism.outputs()).records()
        method += f"; all {len(records)} serialised tuples enumerated"
        violation = violation or _tuples_violation(mechanism, total, records)
    if samples is not None and _some_are_unprotected(mechanism):
        raise ArgumentError(
            "samples",
            "cannot be drawn: the tuples are too many to say which of them are protected",
            None,
            "Audit the parts one by one",
        )
    return _conclude(mechanism, samples, total.epsilon, total.delta, total.total, method, violation)


def audit_exact(mechanism: Mechanism, samples: int | None = None) -> Audit:
    """Audit a mechanism of one report or of several."""
    if isinstance(mechanism, Combined):
        return audit_parts(mechanism, samples)
    return audit_law(mechanism, samples)


def audit_device(device: Device) -> Audit:
    """Audit the device of one person: the common mechanism, and what the device does with it.

    Nothing in the result but ``holds`` and ``violation`` depends on the secret map. The epsilon is
    that of the common mechanism. The exact epsilon of the device alone would reveal whether its
    owner has secrets. For an owner without secrets, all protected reports of randomised response
    are equally likely.
    """
    common = audit_exact(device.mechanism)
    violation = common.violation or device.violation()
    return replace(
        common,
        mechanism=repr(device),
        holds=violation is None,
        violation=violation,
        method=f"{common.method}; and this device's reports under all answers of its owner",
        guarantee=f"{common.guarantee}; this device's secret values are sensitive too",
    )


def _conclude(
    mechanism: Mechanism,
    samples: int | None,
    epsilon: float,
    delta: float | None,
    total: float,
    method: str,
    violation: str | None,
) -> Audit:
    """Draw samples if asked for, and make the record."""
    bound = None if samples is None else sampled_bound(mechanism, integer("samples", samples, 2))
    if violation is None and bound is not None and bound > mechanism.requested:
        violation = (
            f"samples show an epsilon of at least {bound:.4f}: the sampler does not follow the law"
        )
    return Audit(
        repr(mechanism),
        mechanism.requested,
        epsilon,
        violation is None,
        method,
        violation,
        bound,
        str(mechanism.guarantee),
        delta,
        mechanism.distance_unit,
        total,
        report_weight(mechanism),
    )


def _over_budget(epsilon: float, requested: float) -> str | None:
    return None if epsilon <= requested else f"epsilon {epsilon!r} exceeds {requested!r}"


def _found_guarantee(part: Mechanism, found: Audit) -> Guarantee:
    """The guarantee that the audit of a part found, in nats per unit of distance where metric."""
    if found.delta is not None:
        return ApproximateLDP(found.epsilon, found.delta)
    return part.guarantee_at(found.epsilon)


def _some_are_unprotected(mechanism: Combined) -> bool:
    """Whether parts protect only some values while the tuples are too many to say which."""
    masks = [part.sensitive_mask for part in mechanism.parts.values()]
    return mechanism.sensitive_mask is None and any(mask is not None for mask in masks)


def _tuples_violation(mechanism: Combined, total: Guarantee, records: list[bytes]) -> str | None:
    """The violation, if serialised tuples of reports have more than ``total``; else None."""
    table = mechanism.probabilities()
    if not total.bounds_all_pairs:
        found, problem = measure(records, table, total, mechanism.distances())
        if total.delta is not None:
            name, larger = "delta", found > total.delta
        else:
            name, larger = "epsilon", slope_exceeds(found, total.epsilon)
        if problem is not None or not larger:
            return problem
        return f"serialised tuples have {name} {found:.6g}, above that of the parts together"
    protected = None if mechanism.sensitive_mask is None else mechanism.protected()
    ratio, problem = enumerated(records, table, mechanism.sensitive_mask, protected)
    law, epsilon = mechanism.law.ratio(), epsilon_of(ratio)
    if law != INFINITE and (ratio == INFINITE or ratio > law):
        return "some serialised tuples have larger odds than the parts' laws together allow"
    if epsilon > total.epsilon:
        return f"serialised tuples have epsilon {epsilon:.6g}, above that of the parts together"
    # One-sided privacy allows tuples that several values make.
    return None if total.is_one_sided else problem
