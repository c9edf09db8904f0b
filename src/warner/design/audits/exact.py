"""The exact epsilon of a mechanism from its integer law; of several reports, report by report."""

from __future__ import annotations

from dataclasses import replace

from warner._core.canonical_json import canonical
from warner._core.checks import integer
from warner._core.errors import ArgumentError
from warner.design.audits.result import Audit
from warner.design.audits.sampled import sampled_bound
from warner.design.audits.serialised import enumerate_reports, enumerated, measure
from warner.design.report_weight import report_weight
from warner.mechanisms import Device, Mechanism
from warner.mechanisms.composite import Combined
from warner.privacy.guarantees import ApproximateLDP, Guarantee
from warner.privacy.likelihood_ratios import INFINITE, epsilon_of, slope_exceeds
from warner.reports.reports import Reports


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
