"""Exact arithmetic: probabilities are integers over 2^64, budgets are logarithms of ratios.

A sampler compares a uniform 64-bit integer U with an integer threshold T, so an event has exactly
the probability T / 2^64. T is rounded to the side that protects more, so the realised epsilon is at
most the requested one.
"""

from __future__ import annotations

import decimal
import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np

from warner._core.errors import BudgetError

ONE = 2**64
# One step of 2^-64 changes ln(probability) by 2^-64 / probability, which at 5e-11 is 1.1e-9. For
# smaller probabilities the realised epsilon may differ from the requested one by more than 1e-9.
SMALLEST = Decimal("5e-11")
TOLERANCE = 1e-9
# exp(60) is far beyond 1 / SMALLEST. Larger budgets are refused before an exponential overflows.
LARGEST_EPSILON = 60.0
# For smaller budgets estimates would divide by differences that double precision does not resolve.
SMALLEST_EPSILON = 1e-9

# ln 2 in two parts; the first has 33 binary digits, so that its product with an exponent is exact.
_LN_2, _LN_2_REST = float.fromhex("0x1.62e42feep-1"), float.fromhex("0x1.a39ef35793c76p-33")
_PER_LN_2 = 1.4426950408889634

_CONTEXT = decimal.Context(prec=60)
_SHORT = decimal.Context(prec=30)


def exp(epsilon: float | Fraction) -> Decimal:
    """Return exp(epsilon) to 60 digits.

    >>> round(exp(1.0), 10)
    Decimal('2.7182818285')
    """
    return _CONTEXT.exp(rational(Fraction(epsilon)))


def exp_above(nats: float | Fraction) -> Fraction:
    """Return a fraction at or just above exp(nats), with the denominator 2^64.

    >>> exp_above(0.0) - 1 <= Fraction(2, 2**64), 0 < exp_above(1.0) - Fraction(exp(1.0)) < 2**-63
    (True, True)
    """
    rounded = Fraction(exp(nats))
    # The 60 digits are within half a unit of the last one: add one unit, then round up.
    return Fraction(math.ceil(rounded * (1 + Fraction(1, 10**59)) * ONE), ONE)


def divide(a: Decimal | int, b: Decimal | int) -> Decimal:
    """Return a / b to 60 digits."""
    return _CONTEXT.divide(Decimal(a), Decimal(b))


def down(probability: Decimal) -> int:
    """Return the largest integer T with T / 2^64 <= probability."""
    return int(_CONTEXT.multiply(probability, Decimal(ONE)).to_integral_value(ROUND_FLOOR))


def up(probability: Decimal) -> int:
    """Return the smallest integer T with T / 2^64 >= probability."""
    return int(_CONTEXT.multiply(probability, Decimal(ONE)).to_integral_value(ROUND_CEILING))


def rational(value: Fraction) -> Decimal:
    """Return a fraction as a decimal of 60 digits."""
    return _CONTEXT.divide(Decimal(value.numerator), Decimal(value.denominator))


def natural(value: int | Fraction) -> float:
    """Return ln of a positive exact number, which may be beyond the range of floats.

    The result is the same on every machine.

    >>> natural(1)
    0.0
    """
    return float(_SHORT.ln(_SHORT.divide(Decimal(value.numerator), Decimal(value.denominator))))


def portable_exp(x: np.ndarray) -> np.ndarray:
    """exp(x) for x <= 0, the same on every machine, to 2 units of rounding.

    >>> float(portable_exp(np.array([-1.0]))[0]), math.exp(-1)
    (0.36787944117144233, 0.36787944117144233)
    """
    # Libraries' exponentials differ between processors. Here x = k ln 2 + r, and the Taylor sum of
    # exp(r) takes only operations that IEEE 754 rounds in one way.
    k = np.rint(x * _PER_LN_2)
    r = (x - k * _LN_2) - k * _LN_2_REST
    total = np.ones_like(r)
    for i in range(14, 0, -1):
        total = total * r / i + 1
    return np.asarray(np.ldexp(total, k.astype(np.int32)))


def normal_masses(deviation: float, reach: int) -> list[Decimal]:
    """Return q^(j^2) for j = 0..reach, with q = exp(-1 / (2 deviation^2)).

    Each mass comes from the previous mass: q^(j^2) = q^((j-1)^2) q^(2j - 1).
    """
    q = exp(-1 / (2 * Fraction(deviation) ** 2))
    square, step, masses = _CONTEXT.multiply(q, q), q, [Decimal(1)]
    for _ in range(reach):
        masses.append(_CONTEXT.multiply(masses[-1], step))
        step = _CONTEXT.multiply(step, square)
    return masses


def share_of(numerator: Decimal, whole: Decimal, total: int) -> int:
    """Return total * part / whole, rounded down."""
    digits = decimal.Context(prec=60 + len(str(total)))
    return int(digits.divide(digits.multiply(numerator, Decimal(total)), whole))


def log_ratio(high: int | Fraction, low: int | Fraction, times: float | Fraction = 1) -> float:
    """Return the smallest float >= times ln(high / low); infinity where low is 0.

    >>> log_ratio(3, 1) >= 1.0986122886681098 and log_ratio(5, 0)
    inf
    """
    ratio = Fraction(high) / Fraction(low) if low else None
    if ratio is None:
        return math.inf
    exact = _CONTEXT.multiply(_CONTEXT.ln(rational(ratio)), rational(Fraction(times)))
    nearest = float(exact)
    return nearest if Decimal(nearest) >= exact else math.nextafter(nearest, math.inf)


_FIXED = 512  # binary digits of a power that is rounded


def power_below(base: Fraction, times: int) -> Fraction:
    """Return base^times of a base in [0, 1], or a fraction less than 2^-500 below it.

    >>> power_below(Fraction(1, 3), 2), 0 < power_below(Fraction(1, 2), 10**4) + Fraction(1, 2**500)
    (Fraction(1, 9), True)
    """
    if times * base.denominator.bit_length() <= 64 * _FIXED:
        return base**times
    # Products of numbers that were rounded down, each rounded down.
    square, power = (base.numerator << _FIXED) // base.denominator, 1 << _FIXED
    while times:
        if times & 1:
            power = power * square >> _FIXED
        square, times = square * square >> _FIXED, times >> 1
    return Fraction(power, 1 << _FIXED)


def check_representable(epsilon: float, smallest: Decimal) -> None:
    """Refuse probabilities that are too small for 64-bit thresholds (METHODS 8)."""
    if smallest < SMALLEST:
        rule = f"is too large: it needs a probability of {float(smallest):.3g}"
        rule = f"{rule}, and 64-bit random numbers allow at least {float(SMALLEST):.0e}"
        remedy = "Pass a smaller epsilon, or use fewer values"
        raise BudgetError("epsilon", rule, repr(epsilon), remedy)


def check_epsilon(epsilon: float) -> None:
    """Refuse a budget outside [1e-9, 60] with BudgetError."""
    if epsilon < SMALLEST_EPSILON:
        rule = f"must be at least {SMALLEST_EPSILON:g}, because with less, reports tell nothing"
        raise BudgetError("epsilon", rule, repr(epsilon), "Pass a larger epsilon")
    if epsilon > LARGEST_EPSILON:
        rule = f"must be at most {LARGEST_EPSILON:g}, because 64-bit random numbers allow no more"
        remedy = (
            "Pass a smaller epsilon. To send answers without any protection, use "
            "RandomizedResponse with epsilon=inf"
        )
        raise BudgetError("epsilon", rule, repr(epsilon), remedy)


def realise(
    requested: float,
    high: int | Fraction,
    low: int | Fraction,
    times: int | Fraction = 1,
    whose: str = "the mechanism",
) -> float:
    """Return the realised epsilon, times ln(high / low), rounded up, of the law of ``whose``."""
    if high <= low:
        rule = (
            f"cannot be spent: with 64-bit random numbers, {whose} makes each report equally often "
            "for every answer, so reports tell nothing"
        )
        remedy = (
            "Are the columns of its law equal? If not, pass a larger epsilon or use fewer values"
        )
        raise BudgetError("epsilon", rule, repr(requested), remedy)
    epsilon = log_ratio(high, low, times)
    if not requested - TOLERANCE <= epsilon <= requested:
        # Rounded thresholds miss the budget by a few steps of 2^-64; a wrong formula by far more.
        if abs(epsilon - requested) > max(1e-6, math.exp(requested) / 2**54):
            spent = (
                f"{epsilon:.6g}, which is more" if epsilon > requested else f"only {epsilon:.6g}"
            )
            rule = f"is {requested:g}, but the probabilities of {whose} spend {spent}"
            raise BudgetError("epsilon", rule, None, f"Check the probabilities of {whose}")
        rule = (
            "is not possible with 64-bit random numbers: the nearest possible epsilon is "
            f"{epsilon!r}"
        )
        raise BudgetError("epsilon", rule, repr(requested), "Pass a larger epsilon")
    return epsilon


@lru_cache(maxsize=512)
def doubling(ratio: int, digit: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return two probabilities for G with Pr(G >= k) = a^k, a = ratio / 2^64, and s = 2^digit.

        Pr(the binary digit of G is 1) = a^s / (1 + a^s),   Pr(G >= s) = a^s

    The binary digits of G are independent, because a^G is a product over them.
    """
    wide = decimal.Context(prec=120)
    a = wide.divide(Decimal(ratio), Decimal(ONE))
    for _ in range(digit):
        a = wide.multiply(a, a)
    return words_of(wide.divide(a, wide.add(1, a)), 4), words_of(a, 4)


def words_of(probability: Decimal, count: int) -> tuple[int, ...]:
    """Return the first ``count`` 64-bit words of a probability below 1, most significant first."""
    wide = decimal.Context(prec=len(probability.as_tuple().digits) + 20 * count + 2)
    whole = int(
        wide.multiply(probability, Decimal(ONE**count)).to_integral_value(ROUND_FLOOR, wide)
    )
    return tuple(whole >> 64 * (count - 1 - i) & ONE - 1 for i in range(count))
