"""Whether a mechanism keeps a guarantee that is claimed of it, by listing all its reports."""

from __future__ import annotations

from warner._core.checks import kind
from warner._core.errors import ArgumentError, ArgumentTypeError
from warner.design.audits.result import Audit
from warner.mechanisms import Mechanism
from warner.privacy.guarantees import Guarantee


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
