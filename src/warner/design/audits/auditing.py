"""The public function of the audits."""

from __future__ import annotations

from warner._core.checks import kind
from warner._core.errors import ArgumentError, ArgumentTypeError
from warner.design.audits.exact import audit_device, audit_exact
from warner.design.audits.result import Audit, audit_claim
from warner.mechanisms import Device, Mechanism
from warner.privacy.guarantees import Guarantee


def audit(
    mechanism: Mechanism | Device, samples: int | None = None, claim: Guarantee | None = None
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
    of the bytes then give a second epsilon, which must agree with the first.

    Args:
        mechanism: any mechanism, or the device of one person. The audit of a device shows whether
            it keeps its promise to its owner: ULDP of the values that are sensitive for everybody
            and of the owner's secret values [P2 prop 11]. The numbers and words of the result are
            those of the common mechanism, so they are the same whatever the secrets are.
        samples: if given, also draw this many reports of each of two values and bound epsilon from
            below by the events that occur (Clopper-Pearson).
        claim: check this guarantee, by enumeration, instead of the one that the mechanism states.
            The result names the violation: an unprotected report that does not name one value, or a
            report and two values.

    Returns:
        Audit: epsilon, whether it holds, and the method of the audit.

    Raises:
        ArgumentTypeError: not a mechanism, or a claim that is no guarantee; samples or a claim for
            a device, because both compare chosen values.
        ArgumentError: a claim about a mechanism with too many reports to list, or about values that
            it does not have; samples beside a claim.

    >>> from warner import Categorical, RandomizedResponse
    >>> result = audit(RandomizedResponse(Categorical(["no", "yes"]), 1.0))
    >>> result.holds, round(result.epsilon, 9)
    (True, 1.0)
    """
    if isinstance(mechanism, Device):
        if samples is not None or claim is not None:
            rule = "is audited without samples and without a claim: both compare chosen values"
            raise ArgumentTypeError("device", rule, None, "Audit the common mechanism")
        return audit_device(mechanism)
    if not isinstance(mechanism, Mechanism):
        raise ArgumentTypeError("mechanism", "must be a Mechanism", kind(mechanism))
    if claim is None:
        return audit_exact(mechanism, samples)
    if samples is not None:
        raise ArgumentError(
            "samples",
            "do not go with a claim, which is checked by enumeration",
            None,
            "Ask for one of the two",
        )
    return audit_claim(mechanism, claim)
