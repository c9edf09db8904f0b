"""Audits: the exact epsilon of a mechanism over the whole serialised report, and a lower bound from samples."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from warner._check import ArgumentTypeError, integer, kind, message
from warner._exact import log_ratio
from warner._random import Source
from warner.law import INFINITE, OneHotBits
from warner.mechanisms import Mechanism
from warner.reports import Reports

# Small enough that all reports can be serialised and their exact probabilities compared.
_ENUMERABLE = 2**16
_ERROR = 1e-6  # probability that the sampled lower bound is above the true epsilon


@dataclass(frozen=True)
class Audit:
    """What an audit found.

    Attributes:
        mechanism: its repr.
        requested: epsilon asked for, nats.
        epsilon: the exact smallest epsilon that the reports satisfy, rounded up to a float.
        holds: whether epsilon <= requested, and enumeration (if small enough) agrees with the law.
        how: what was examined.
        breaks: what broke it, or None.
        sampled: lower bound on epsilon from samples, with confidence 1 - 1e-6, or None.
    """

    mechanism: str
    requested: float
    epsilon: float
    holds: bool
    how: str
    breaks: str | None = None
    sampled: float | None = None

    def __str__(self) -> str:
        verdict = "holds" if self.holds else f"BROKEN: {self.breaks}"
        lower = "" if self.sampled is None else f"; from samples at least {self.sampled:.4f}"
        return f"{self.mechanism}: requested {self.requested:.10g}, exact {self.epsilon:.10g}, {verdict} ({self.how}{lower})"


def audit(mechanism: Mechanism, samples: int | None = None) -> Audit:
    """The exact epsilon of ``mechanism`` over everything a report says, its length and order included.

        epsilon = max over reports y and values x, x' of ln Pr(y | x) / Pr(y | x')

    Computed from the integer thresholds that the sampler compares with, in exact arithmetic: bit by bit for unary encodings at any
    K, from the two levels of a pure law, from the table of a channel. Where there are few enough reports, every one is
    serialised besides, and the bytes' exact probabilities give epsilon a second time; the two must agree.

    Args:
        mechanism: any registered mechanism.
        samples: if given, also draw this many reports of each of two values and bound epsilon from below by what is seen
            (Clopper-Pearson), which examines the sampler itself rather than its law.

    >>> from warner import Categorical, RandomizedResponse
    >>> result = audit(RandomizedResponse(Categorical(["no", "yes"]), 1.0))
    >>> result.holds, round(result.epsilon, 9)
    (True, 1.0)
    """
    if not isinstance(mechanism, Mechanism):
        raise ArgumentTypeError(message("mechanism", "must be a Mechanism", kind(mechanism)))
    ratio = mechanism.law.ratio()
    epsilon = math.inf if ratio == INFINITE else log_ratio(ratio, 1)
    how = "bit by bit, exactly" if isinstance(mechanism.law, OneHotBits) else "exact odds of the law"
    breaks = None if epsilon <= mechanism.requested else f"epsilon {epsilon!r} exceeds {mechanism.requested!r}"
    cells = mechanism.alphabet * mechanism.domain.size
    if cells <= _ENUMERABLE:
        records = Reports(mechanism.header, mechanism.outputs()).records()
        listed, problem = enumerated(records, mechanism.probabilities())
        how += f", and all {len(records)} serialised reports enumerated"
        if breaks is None and problem is not None:
            breaks = problem
        elif breaks is None and listed != ratio:
            breaks = "the serialised reports' odds differ from the law's"
        # Whichever is worse is what an attacker has.
        epsilon = max(epsilon, math.inf if listed == INFINITE else log_ratio(listed, 1))
    sampled = None if samples is None else sampled_bound(mechanism, integer("samples", samples, 1))
    if breaks is None and sampled is not None and sampled > mechanism.requested:
        breaks = f"samples show an epsilon of at least {sampled:.4f}: the sampler does not follow the law"
    return Audit(repr(mechanism), mechanism.requested, epsilon, breaks is None, how, breaks, sampled)


def enumerated(records: list[bytes], probabilities: np.ndarray) -> tuple[Fraction, str | None]:
    """Worst likelihood ratio of serialised reports from their exact probabilities (m, K), and what is wrong with them, if anything.

    Reports that serialise alike are one report to whoever reads them, so their probabilities add.
    """
    if len({len(record) for record in records}) != 1:
        return INFINITE, "serialised reports differ in length"
    table: dict[bytes, np.ndarray] = {}
    for record, row in zip(records, probabilities, strict=True):
        table[record] = table[record] + row if record in table else row
    rows = np.stack(list(table.values()))
    if any(total != 1 for total in rows.sum(axis=0)):
        return INFINITE, "the probabilities of all reports do not sum to one"
    worst = Fraction(1)
    for high, low in zip(rows.max(axis=1), rows.min(axis=1), strict=True):
        if high and not low:
            return INFINITE, None
        if high:
            worst = max(worst, Fraction(high) / Fraction(low))
    return worst, None


def sampled_bound(mechanism: Mechanism, samples: int, source: Source | None = None, report: Any = None) -> float:
    """A lower bound on epsilon from ``samples`` reports of the first value and as many of the last.

    The first half of the samples picks the most telling event, a set of serialised reports; the second half bounds its two
    probabilities (Clopper-Pearson), so that the choice does not bias the bound. Where reports are too many to repeat, the event is
    about one byte of a report. ``report`` replaces the mechanism's sampler: index (n,) to records, for tests of wrong samplers.
    """
    source = source or Source(None)
    size = mechanism.domain.size

    def draw(x: int) -> list[bytes]:
        index = np.full(samples, x)
        if report is not None:
            return report(index)
        return Reports(mechanism.header, mechanism.randomize_index(index, source)).records()

    half = samples // 2
    one, other = draw(0), draw(size - 1)
    bound = 0.0
    for a, b in ((one, other), (other, one)):
        event = _telling(Counter(_features(a[:half])), Counter(_features(b[:half])))
        if event is not None:
            hits = [sum(_has(record, event) for record in part[half:]) for part in (a, b)]
            bound = max(bound, _log_bound(hits[0], hits[1], samples - half))
    return bound


_Event = tuple[int, bytes]  # byte position (-1: the whole record) and content


def _features(records: list[bytes]) -> Any:
    for record in records:
        yield (-1, record)
        for i in range(min(len(record), 64)):
            yield (i, record[i : i + 1])


def _has(record: bytes, event: _Event) -> bool:
    where, content = event
    return record == content if where < 0 else record[where : where + 1] == content


def _telling(a: Counter[_Event], b: Counter[_Event]) -> _Event | None:
    """The event whose odds a : b look largest, counted cautiously."""
    return max(a, key=lambda e: math.log((a[e] - 2 * math.sqrt(a[e]) + 0.5 if a[e] > 5 else 0.1) / (b[e] + 2 * math.sqrt(b[e]) + 2)), default=None)


def _log_bound(hits_a: int, hits_b: int, n: int) -> float:
    """ln of a lower bound for Pr(event | a) over an upper bound for Pr(event | b), each at half the error."""
    from scipy.stats import beta

    if hits_a == 0:
        return 0.0
    low = float(beta.ppf(_ERROR / 4, hits_a, n - hits_a + 1))
    high = 1.0 if hits_b == n else float(beta.ppf(1 - _ERROR / 4, hits_b + 1, n - hits_b))
    return max(0.0, math.log(low / high))
