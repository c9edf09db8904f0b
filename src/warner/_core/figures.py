"""Numbers as a report writes them: with as many digits as their intervals warrant."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal


def decimals_of_percent(widths: Iterable[float]) -> int:
    """The decimals of percentages, from the widths of their intervals as shares.

    An interval of several points needs no decimals.

    >>> decimals_of_percent([0.1, 0.3]), decimals_of_percent([0.004]), decimals_of_percent([1e-9])
    (0, 1, 3)
    """
    least = min((width for width in widths if width > 0), default=1.0)
    return 0 if least >= 0.02 else 1 if least >= 0.002 else 2 if least >= 0.0002 else 3


def percent(share: float, decimals: int) -> str:
    """A share in percent, with a space before the sign that no line ends at.

    >>> percent(0.4987, 0) == "50\N{NO-BREAK SPACE}%"
    True
    """
    return f"{number(100 * share, decimals)}\N{NO-BREAK SPACE}%"


def percent_interval(low: float, high: float, decimals: int) -> str:
    """An interval of a share, rounded outwards so that it stays at least as wide.

    >>> percent_interval(0.4438, 0.5615, 0) == "44 to 57\N{NO-BREAK SPACE}%"
    True
    """
    unit = 10 ** (decimals + 2)
    down = math.floor(low * unit + 1e-7) / unit
    up = math.ceil(high * unit - 1e-7) / unit
    return f"{number(100 * down, decimals)} to {percent(up, decimals)}"


def decimals_of_number(width: float) -> int:
    """The decimals of a number, from the width of its interval: two digits of the width.

    >>> decimals_of_number(4.38), decimals_of_number(0.05), decimals_of_number(1234.0)
    (1, 3, 0)
    """
    if not (math.isfinite(width) and width > 0):
        return 2
    return min(max(1 - math.floor(math.log10(width)), 0), 6)


def number(value: float, decimals: int) -> str:
    """A number with a decimal point and marks of thousands.

    >>> number(1234.567, 1), number(-0.001, 1)
    ('1,234.6', '0.0')
    """
    shown = f"{value:,.{decimals}f}"
    return shown.removeprefix("-") if float(shown.replace(",", "")) == 0 else shown


def magnitude(n: int) -> str:
    """A whole number of any size, in three digits.

    >>> magnitude(12), magnitude(2**30), magnitude(2**10_000)
    ('12', '1.07e+9', '2.00e+3010')
    """
    return f"{Decimal(n):.3g}"


def at_most(value: float, digits: int = 3) -> str:
    """A number rounded up to some digits, for claims of the form "at most".

    >>> at_most(2.71828), at_most(8103.08), at_most(22026.5), at_most(1.0)
    ('2.72', '8,110', '22,100', '1')
    >>> at_most(math.inf), at_most(1.2e9), at_most(1.01e-6)
    ('infinitely many', '1.2e+09', '1.1e-06')
    """
    if math.isinf(value):
        return "infinitely many"
    if value >= 1e7 or 0 < value < 1e-3:
        exponent = math.floor(math.log10(value))
        up = math.ceil(value / 10.0 ** (exponent - 1) - 1e-9) * 10.0 ** (exponent - 1)
        return f"{up:.1e}"
    exponent = math.floor(math.log10(value)) if value > 0 else 0
    unit = 10.0 ** (digits - 1 - exponent)
    up = math.ceil(value * unit - 1e-9) / unit
    return f"{up:,.{max(digits - 1 - exponent, 0)}f}".removesuffix(".00")


def of_hundred(share: float) -> str:
    """A share as a number of 100 people, with decimals only near 0 and 100.

    >>> of_hundred(0.7311), of_hundred(0.004), of_hundred(0.9991), of_hundred(1.0)
    ('73', '0.4', '99.91', '100')
    """
    if share in (0.0, 1.0):
        return f"{100 * share:.0f}"
    away = 100 * min(share, 1 - share)
    decimals = 0 if away >= 1 else min(1 + math.floor(-math.log10(away)), 9)
    return f"{100 * share:.{decimals}f}"
