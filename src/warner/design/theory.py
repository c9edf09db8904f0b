"""Expected losses in closed form: what an estimate will cost before anyone is asked (METHODS 6). Nothing here samples.

All losses are of the inversion ("empirical estimate") of reports of n people drawn independently from p. With V_x the
variance of one report's inversion,

    E l2^2 = sum_x V_x / n            exactly
    E l1   ~ sum_x sqrt(2 V_x / (n pi))   by the central limit theorem, the ratio going to 1 as n grows

For randomised response, RAPPOR and their utility-optimised forms these are [P2 eqs 12, 17, 46, 48].
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from warner._core.checks import (
    choice,
    distribution,
    integer,
    kind,
    real,
)
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    message,
)
from warner.domains import Domain
from warner.mechanisms import Mechanism

LOSSES = ("l1", "l2")
MOST = 10**15  # people


def expected_loss(mechanism: Mechanism | Domain, p: Any, n: int, loss: str = "l1") -> float:
    """Expected loss of the inversion at a distribution p.

    Args:
        mechanism: any mechanism with an inverse; a Domain for no protection at all, where reports are the values.
        p: (K,) the distribution that people are drawn from.
        n: how many people.
        loss: ``"l1"``, sum_x |error_x|, twice the total variation; ``"l2"``, sum_x error_x^2, which P1 and P2 call MSE.

    Raises:
        IdentifiabilityError: the channel has no inverse.

    Source: [P2 props 6, 9, 14, 17].

    >>> from warner import Integers, RandomizedResponse
    >>> 0 < expected_loss(Integers(0, 3), [0.25] * 4, 100) < expected_loss(RandomizedResponse(Integers(0, 3), 1.0), [0.25] * 4, 100)
    True
    """
    size = _domain(mechanism).size
    return _total(_variance(mechanism, distribution("p", p, size)), integer("n", n, 1, MOST), loss)


def worst_case_loss(
    mechanism: Mechanism | Domain, n: int, loss: str = "l1"
) -> tuple[float, np.ndarray]:
    """The largest expected loss over all distributions, and a distribution (K,) that has it.

    Both losses are concave in p, and values of one kind (sensitive, not sensitive) are interchangeable, so the maximum is
    uniform within each kind and one number w, the mass of the sensitive ones, is left: maximised by golden sections.

    Args:
        mechanism: one whose reports support values or not; a Domain for no protection.
        n: how many people.
        loss: ``"l1"`` or ``"l2"``, as in expected_loss.

    Raises:
        ArgumentError: a mechanism whose values differ in more than two ways.

    Source: [P2 props 7, 8, 10, 15, 16, 18], which give the maximiser where epsilon is small or large enough.

    >>> from warner import Integers, UtilityOptimizedRR
    >>> value, p = worst_case_loss(UtilityOptimizedRR(Integers(0, 9), 1.0, sensitive=[0]), 1000)
    >>> float(p[0])  # nobody has the sensitive value [P2 prop 7]
    0.0
    """
    choice("loss", loss, LOSSES)
    integer("n", n, 1, MOST)
    size = _domain(mechanism).size
    sensitive = np.ones(size, dtype=bool)
    if isinstance(mechanism, Mechanism):
        sensitive = sensitive if mechanism.sensitive_mask is None else mechanism.sensitive_mask
        if mechanism.channel().support_law() is None:
            raise ArgumentError(
                message(
                    "mechanism",
                    "must have reports that support values or not, all of a kind alike",
                    type(mechanism).__name__,
                )
            )
    inside, outside = int(sensitive.sum()), int((~sensitive).sum())

    if not outside:
        uniform = np.full(size, 1 / size)
        return _total(_variance(mechanism, uniform), n, loss), uniform

    def spread(w: float) -> np.ndarray:
        return np.where(sensitive, w / inside, (1 - w) / outside)

    def at(w: float) -> float:
        return _total(_variance(mechanism, spread(w)), n, loss)

    low, high = 0.0, 1.0
    golden = (math.sqrt(5) - 1) / 2
    while high - low > 1e-9:
        a, b = high - golden * (high - low), low + golden * (high - low)
        low, high = (a, high) if at(a) < at(b) else (low, b)
    best = max((0.0, (low + high) / 2, 1.0), key=at)
    return at(best), spread(best)


def minimax_rate(size: int, epsilon: float, n: int, loss: str = "l1") -> float:
    """The order, without its constant, of the least worst-case loss of any mechanism, for epsilon in (0, 1].

    size / sqrt(n epsilon^2) for l1, size / (n epsilon^2) for l2; ``size`` is K under LDP, the number of sensitive values under
    ULDP. [P2 sec 3.2] after Duchi, Jordan and Wainwright (2013).

    >>> minimax_rate(10, 0.5, 400)
    1.0
    """
    integer("size", size, 1)
    if not 0 < real("epsilon", epsilon) <= 1:
        raise ArgumentError(message("epsilon", "must lie in (0, 1]", repr(epsilon)))
    root = size / math.sqrt(integer("n", n, 1, MOST) * epsilon**2)
    return root if choice("loss", loss, LOSSES) == "l1" else root**2 / size


def inversion_squares(
    sizes: Sequence[int], epsilons: Sequence[float], n: int, squares: float = 0.0
) -> float:
    """Expected sum of squared errors of all cells, where attributes are randomised apart (RR-Ind-Joint), or one with all combinations (RR-Joint).

        (prod_k s_k - sum_x theta_x^2) / n,   s_k = ((e_k + d_k - 2)^2 + d_k - 1) / (e_k - 1)^2,   e_k = exp(epsilon_k)

    The inverse of randomised response has weights L[x, y] = ([x = y] - q) / (p - q), of which every report y has one with x = y and d - 1
    others: sum_x L[x, y]^2 = ((1 - q)^2 + (d - 1) q^2) / (p - q)^2 = s, with q = 1 / (e + d - 1), p - q = (e - 1) q. Weights of several
    attributes multiply, and so do the sums, whatever the reports' law: the error depends on theta by the sum of its squares
    alone, and not on how the attributes depend on each other. Divide by the number of cells for the mean over cells [P5].

    Args:
        sizes: d_k, the values of each attribute; of RR-Joint the one number of combinations.
        epsilons: budgets in nats, one for each.
        n: how many people.
        squares: sum of theta_x^2 over all cells, in [0, 1]; 0 gives an upper bound.

    Source: METHODS 3.

    >>> apart, together = inversion_squares([10, 10], [1.0, 1.0], 1000), inversion_squares([100], [2.0], 1000)
    >>> together < apart
    True
    """
    if len(sizes) != len(epsilons) or not len(sizes):
        raise ArgumentError(
            message(
                "epsilons", "must be one for each of sizes", f"{len(epsilons)} for {len(sizes)}"
            )
        )
    if not 0 <= real("squares", squares) <= 1:
        raise ArgumentError(message("squares", "must lie in [0, 1]", repr(squares)))
    product = 1.0
    for size, epsilon in zip(sizes, epsilons, strict=True):
        integer("size", size, 2)
        if real("epsilon", epsilon) <= 0:
            raise ArgumentError(message("epsilon", "must be positive", repr(epsilon)))
        # By t = exp(-epsilon), which no budget overflows.
        t = math.exp(-epsilon)
        product *= ((1 + (size - 2) * t) ** 2 + (size - 1) * t**2) / math.expm1(-epsilon) ** 2
    return (product - squares) / integer("n", n, 1, MOST)


def _domain(mechanism: Any) -> Domain:
    if isinstance(mechanism, Mechanism):
        return mechanism.domain
    if isinstance(mechanism, Domain):
        return mechanism
    raise ArgumentTypeError(
        message("mechanism", "must be a Mechanism, or a Domain for no protection", kind(mechanism))
    )


def _variance(mechanism: Mechanism | Domain, p: np.ndarray) -> np.ndarray:
    return mechanism.channel().variance(p) if isinstance(mechanism, Mechanism) else p * (1 - p)


def _total(variance: np.ndarray, n: int, loss: str) -> float:
    if choice("loss", loss, LOSSES) == "l2":
        return float(variance.sum() / n)
    return float(np.sqrt(2 * variance / (n * math.pi)).sum())
