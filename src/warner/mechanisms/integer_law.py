"""The integer law of two widths, which several mechanisms sample from."""

from __future__ import annotations

from decimal import Decimal

from warner._core.exact import ONE, divide, down


def two_widths(other_share: Decimal, odds: Decimal) -> tuple[int, int]:
    """Widths of the cells of a 64-bit range: for the true outcome, and for each other outcome.

        other_width = floor(2^64 other_share),   true_width = floor(other_width * odds)

    So true_width / other_width <= odds, and misses it by at most one part in true_width. Numbers
    beyond all cells are drawn again.

    Args:
        other_share: the probability of each other outcome.
        odds: how much likelier the true outcome is.

    Returns:
        true_width, other_width.

    >>> two_widths(Decimal("0.25"), Decimal(3)) == (3 * 2**62, 2**62)
    True
    """
    other_width = down(other_share)
    return down(divide(other_width, ONE) * odds), other_width
