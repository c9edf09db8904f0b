"""The integer law of two widths, which several mechanisms sample from."""

from __future__ import annotations

from decimal import Decimal

from warner._core.exact import ONE, divide, down


def two_widths(other_share: Decimal, odds: Decimal) -> tuple[int, int]:
    """Widths of the cells of a 64-bit range, for the true outcome and for each other outcome.

        other_width = floor(2^64 other_share),   true_width = floor(other_width * odds)

    A 64-bit random number selects the outcome in whose cell it lies. A number outside all cells is
    drawn again. The ratio true_width / other_width never exceeds ``odds``, and its relative error
    is about 1 / true_width.

    >>> two_widths(Decimal("0.25"), Decimal(3)) == (3 * 2**62, 2**62)
    True
    """
    other_width = down(other_share)
    return down(divide(other_width, ONE) * odds), other_width
