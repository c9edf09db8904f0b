"""Exact epsilon or delta of serialised reports, the bytes that an attacker has."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from warner.mechanisms import Mechanism
from warner.privacy.guarantees import Guarantee
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
