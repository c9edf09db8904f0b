"""Exact arithmetic for privacy laws: probabilities are integers over 2**64, budgets are logarithms of their ratios.

A sampler compares a uniform 64-bit integer U with an integer threshold T, so an event has probability exactly
T / 2**64. Rounding T to the side that protects more keeps the realised epsilon at or below the one asked for.
"""

from __future__ import annotations

import decimal
import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from functools import lru_cache

from warner._core.errors import (
    BudgetError,
    message,
)

ONE = 2**64
# One step of 2**-64 moves ln(probability) by 2**-64 / probability; at 5e-11 that is 1.1e-9 of epsilon, so this is
# the smallest probability at which "realised equals requested within 1e-9" can still be promised.
SMALLEST = Decimal("5e-11")
TOLERANCE = 1e-9
# exp(60) is far beyond 1/SMALLEST: larger budgets are refused before an exponential could overflow.
LARGEST_EPSILON = 60.0
# Below it estimates divide by differences of probabilities that double precision does not resolve, and no number of people
# that live would be enough.
SMALLEST_EPSILON = 1e-9

_CONTEXT = decimal.Context(prec=60)
_SHORT = decimal.Context(prec=30)


def exp(epsilon: float | Fraction) -> Decimal:
    """e**epsilon to 60 digits.

    >>> round(exp(1.0), 10)
    Decimal('2.7182818285')
    """
    return _CONTEXT.exp(rational(Fraction(epsilon)))


def divide(a: Decimal | int, b: Decimal | int) -> Decimal:
    """a / b to 60 digits."""
    return _CONTEXT.divide(Decimal(a), Decimal(b))


def down(probability: Decimal) -> int:
    """The largest integer T with T / 2**64 <= probability."""
    return int(_CONTEXT.multiply(probability, Decimal(ONE)).to_integral_value(ROUND_FLOOR))


def up(probability: Decimal) -> int:
    """The smallest integer T with T / 2**64 >= probability."""
    return int(_CONTEXT.multiply(probability, Decimal(ONE)).to_integral_value(ROUND_CEILING))


def rational(value: Fraction) -> Decimal:
    """A fraction to 60 digits."""
    return _CONTEXT.divide(Decimal(value.numerator), Decimal(value.denominator))


def natural(value: int | Fraction) -> float:
    """ln of a positive exact number that a float may not hold; the same on every machine.

    >>> natural(1)
    0.0
    """
    return float(_SHORT.ln(_SHORT.divide(Decimal(value.numerator), Decimal(value.denominator))))


def normal_masses(deviation: float, reach: int) -> list[Decimal]:
    """exp(-j^2 / (2 deviation^2)) for j = 0..reach, each from the one before, as q^(j^2) / q^((j-1)^2) = q^(2j - 1)."""
    q = exp(-1 / (2 * Fraction(deviation) ** 2))
    square, step, masses = _CONTEXT.multiply(q, q), q, [Decimal(1)]
    for _ in range(reach):
        masses.append(_CONTEXT.multiply(masses[-1], step))
        step = _CONTEXT.multiply(step, square)
    return masses


def share_of(part: Decimal, whole: Decimal, total: int) -> int:
    """part / whole of ``total``, rounded down."""
    digits = decimal.Context(prec=60 + len(str(total)))
    return int(digits.divide(digits.multiply(part, Decimal(total)), whole))


def log_ratio(high: int | Fraction, low: int | Fraction, times: float | Fraction = 1) -> float:
    """The smallest float that is >= times ln(high / low); infinity where low is 0.

    >>> log_ratio(3, 1) >= 1.0986122886681098 and log_ratio(5, 0)
    inf
    """
    ratio = Fraction(high) / Fraction(low) if low else None
    if ratio is None:
        return math.inf
    exact = _CONTEXT.multiply(_CONTEXT.ln(rational(ratio)), rational(Fraction(times)))
    nearest = float(exact)
    return nearest if Decimal(nearest) >= exact else math.nextafter(nearest, math.inf)


def check_representable(epsilon: float, smallest: Decimal, what: str) -> None:
    """Refuse a law whose smallest probability is too small for 64-bit thresholds (METHODS 8)."""
    if smallest < SMALLEST:
        raise BudgetError(
            message(
                "epsilon",
                f"is too large for exact 64-bit sampling: {what} would have probability {float(smallest):.3g}, below {float(SMALLEST):.0e}",
                repr(epsilon),
                "Pass a smaller epsilon or use a smaller domain",
            )
        )


def check_epsilon(epsilon: float) -> None:
    """Refuse a budget whose exponential has no use: so large that it may overflow, or hardly different from 1."""
    if epsilon < SMALLEST_EPSILON:
        raise BudgetError(
            message(
                "epsilon",
                f"is too small: below {SMALLEST_EPSILON:g} reports tell nothing",
                repr(epsilon),
                "Pass a larger epsilon",
            )
        )
    if epsilon > LARGEST_EPSILON:
        raise BudgetError(
            message(
                "epsilon",
                f"must be at most {LARGEST_EPSILON:g}: beyond it no 64-bit law exists",
                repr(epsilon),
                "Pass a smaller epsilon; RandomizedResponse with epsilon=inf is the way to ask for no protection",
            )
        )


def realise(
    requested: float, high: int | Fraction, low: int | Fraction, times: int | Fraction = 1
) -> float:
    """The epsilon of a law whose worst likelihood ratio is (high / low)^times, checked against what was asked."""
    if high <= low:
        raise BudgetError(
            message(
                "epsilon",
                "is too small: on the 64-bit grid the reports would not depend on the value at all",
                repr(requested),
                "Pass a larger epsilon or use a smaller domain",
            )
        )
    epsilon = log_ratio(high, low, times)
    if not requested - TOLERANCE <= epsilon <= requested:
        raise BudgetError(
            message(
                "epsilon",
                f"cannot be met on the 64-bit grid: the nearest law realises {epsilon!r}",
                repr(requested),
                "Pass a larger epsilon",
            )
        )
    return epsilon


@lru_cache(maxsize=512)
def doubling(ratio: int, digit: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """For G with Pr(G >= k) = a^k, a = ratio / 2**64, and step = 2^digit: Pr(that binary digit of G is 1), and Pr(G >= step).

    a^step / (1 + a^step) and a^step: the digits of G are independent, because a^G is a product over them. As words of 64 bits, most
    significant first; 256 bits are more than any number of draws will ask for.
    """
    wide = decimal.Context(prec=120)
    a = wide.divide(Decimal(ratio), Decimal(ONE))
    for _ in range(digit):
        a = wide.multiply(a, a)
    return words_of(wide.divide(a, wide.add(1, a)), 4), words_of(a, 4)


def words_of(probability: Decimal, count: int) -> tuple[int, ...]:
    """The first ``count`` words of 64 bits of a probability below 1, most significant first."""
    wide = decimal.Context(prec=len(probability.as_tuple().digits) + 20 * count + 2)
    whole = int(
        wide.multiply(probability, Decimal(ONE**count)).to_integral_value(ROUND_FLOOR, wide)
    )
    return tuple(whole >> 64 * (count - 1 - i) & ONE - 1 for i in range(count))
