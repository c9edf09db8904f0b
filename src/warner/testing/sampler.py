"""Tests of samplers against their law, with a stated power.

Reports of one value are compared with the law by a chi-square test over whole serialised reports,
at a false alarm rate of 1e-9. Reports that cannot occur are rejected at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from warner._core.errors import WarnerError
from warner._core.progress import steps
from warner._core.sampling import Source
from warner.mechanisms import Mechanism
from warner.reports.counting import count_rows
from warner.reports.reports import Reports

ALPHA = 1e-9  # the probability with which a right sampler is rejected
_FEW = 5.0  # expected reports; cells with fewer count as one

Sampler = Callable[[Mechanism, np.ndarray, Source], dict[str, np.ndarray]]


def honest(mechanism: Mechanism, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
    """The mechanism's sampler."""
    return mechanism.randomize_index(index, source)


def one_by_one(sampler: Sampler) -> Sampler:
    """A sampler that makes each report alone, as the device of one person does."""

    def alone(mechanism: Mechanism, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        parts = [sampler(mechanism, index[i : i + 1], source) for i in range(len(index))]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

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
    """The least p-value over values, by a test of all reports or of the rows of the channel."""
    records = Reports(mechanism.header, mechanism.outputs()).records()
    place = {record: i for i, record in enumerate(records)}
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
            if record.tobytes() not in place:
                return 0.0, 1, f"value number {x} made a report that outputs() does not list"
            observed[place[record.tobytes()]] = n
        p, freedom, row = p_value(observed, law[:, x], draws)
        share = f"report number {row} occurred {observed[row] / draws:.5f} of the time"
        worst = min(worst, (p, freedom, f"of value number {x}, {share}; law {law[row, x]:.5f}"))
    return worst


def p_value(observed: np.ndarray, law: np.ndarray, n: int) -> tuple[float, int, int]:
    """The chi-square test of counts against probabilities; far tails count as one cell.

    Shapes: observed (m,), law (m,).
    """
    from scipy.special import chdtrc  # scipy.stats takes seconds to import

    expected = law * n
    impossible = observed * (law == 0)
    if impossible.any():
        return 0.0, 1, int(np.argmax(impossible))
    off = np.abs(observed - expected) / np.sqrt(np.maximum(expected, 1e-300))
    row = int(np.argmax(off))
    rare = expected <= _FEW
    seen, wanted = (np.append(v[~rare], v[rare].sum()) for v in (observed, expected))
    if wanted[-1] <= _FEW:
        seen, wanted = seen[:-1], wanted[:-1] * (seen[:-1].sum() / wanted[:-1].sum())
    if len(seen) < 2:
        return 1.0, 1, row
    statistic = float(((seen - wanted) ** 2 / wanted).sum())
    return float(chdtrc(len(seen) - 1, statistic)), len(seen) - 1, row


def detectable(draws: int, freedom: int) -> float:
    """The error of one probability that is found with a probability of 99 %.

    If the probability of a report is off by d, the non-centrality is at least 4 n d^2. The power of
    a chi-square test is that of the normal approximation of the non-central distribution.

    Here n is ``draws``.

    >>> round(detectable(100_000, 3), 3)
    0.015
    """
    from scipy.special import chdtri

    critical = float(chdtri(freedom, ALPHA))
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
    found = Checked(subject, tuple(_finding(*each) for each in steps(list(properties), "checking")))
    if found.failures:
        raise PropertyError(found)
    return found


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
