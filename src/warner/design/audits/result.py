"""The record that an audit returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from warner._core import html
from warner._core.checks import kind
from warner._core.errors import ArgumentError, ArgumentTypeError
from warner.io.csv_format import Tabular, cell
from warner.mechanisms import Mechanism
from warner.privacy.guarantees import Guarantee


@dataclass(frozen=True, repr=False)
class Audit(Tabular):
    """The result of an audit.

    Attributes:
        mechanism: the repr of the mechanism.
        requested: the requested epsilon in nats, between values ``unit`` apart.
        epsilon: the smallest epsilon that the reports satisfy, rounded up to a float, between
            values ``unit`` apart.
        holds: whether epsilon <= requested, and the enumeration of reports (if they can be listed)
            agrees with the law.
        method: how the mechanism was examined, in words.
        violation: how the guarantee is broken, in words; None where it holds.
        sampled_lower_bound: a lower bound on epsilon from samples, with confidence 1 - 1e-6, or
            None.
        guarantee: the guarantee, in words; some mechanisms protect only some values.
        delta: of approximate privacy; None elsewhere.
        unit: the distance of two values that ``requested`` and ``epsilon`` are for, where privacy
            is metric; None where they are for any two values.
        total: the epsilon between any two values, at any distance. It is the budget in nats that
            one person spends in all.
        weight: the number of people by which one forged report changes the count of a value that
            ``Inversion()`` estimates, at most; None where reports have no unbiased estimate of
            counts. See :func:`warner.design.report_weight.report_weight`.
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
    weight: float | None = None

    def rows(self) -> list[dict[str, Any]]:
        """The audit as a table of one row: the attributes by name."""
        return [dict(vars(self))]

    def _repr_html_(self) -> str:
        verdict = "holds" if self.holds else f"BROKEN: {self.violation}"
        rows = [[name.replace("_", " "), cell(entry)] for name, entry in self.rows()[0].items()]
        kept = [row for row in rows if row[1] and row[0] not in ("mechanism", "holds", "violation")]
        return html.table([self.mechanism, verdict], kept)

    def __repr__(self) -> str:
        verdict = "holds" if self.holds else "BROKEN"
        return (
            f"Audit({self.mechanism}, requested={self.requested:.10g}, "
            f"epsilon={self.epsilon:.10g}, {verdict})"
        )

    def __str__(self) -> str:
        verdict = "holds" if self.holds else f"BROKEN: {self.violation}"
        bound = self.sampled_lower_bound
        lower = "" if bound is None else f"; from samples at least {bound:.4f}"
        weight = (
            "" if self.weight is None else f"; one report weighs at most {self.weight:.4g} people"
        )
        found = f"requested {self.requested:.10g}, exact {self.epsilon:.10g}, {verdict}"
        return f"{self.mechanism}: {found}; {self.guarantee} ({self.method}{lower}){weight}"


# -----------------------------------------------------------------------------------------------
# Whether a mechanism keeps a guarantee that is claimed of it, by listing all its reports.


def audit_claim(mechanism: Mechanism, claim: Guarantee) -> Audit:
    """Check whether a mechanism keeps a claimed guarantee."""
    if not isinstance(claim, Guarantee):
        raise ArgumentTypeError(
            "claim", "must be LDP, ULDP, OSLDP, MetricLDP or ApproximateLDP", kind(claim)
        )
    if mechanism.represents_interval:
        raise ArgumentError(
            "claim",
            "is checked value by value, and a bin stands for many",
            None,
            "Audit without a claim, or state it for Integers",
        )
    if not mechanism.is_enumerable:
        raise ArgumentError(
            "claim",
            "is checked report by report, and these are too many to list",
            None,
            "Audit a smaller instance",
        )
    table = mechanism.probabilities()
    found = claim.examine(table, mechanism.domain)
    return Audit(
        repr(mechanism),
        claim.epsilon,
        found.epsilon,
        found.violation is None,
        f"all {len(table)} reports enumerated against {claim}",
        found.violation,
        guarantee=str(claim),
        delta=found.delta,
    )
