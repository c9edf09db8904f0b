"""Checks of claims that compare the means of a table."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from papers.experiment import Verdict, all_hold
from papers.table import Table

Check = Callable[[Table], Verdict]


def ratios(
    table: Table, first: Any, second: Any, within: Sequence[str], by: str = "method", **where: Any
) -> list[float]:
    """The mean of ``first`` over the mean of ``second`` in each group of cells.

    Args:
        table: the results.
        first: the value of the column ``by`` in the numerator.
        second: the value of the column ``by`` in the denominator.
        within: the columns whose combinations are the groups.
        by: the column that tells the two apart.
        **where: only the rows with these values.

    Raises:
        KeyError: there are no such rows.
    """
    groups = table.select(**where).groups(within)
    if not groups:
        raise KeyError(f"no rows with {where}")
    return [group.ratio(first, second, by) for group in groups.values()]


def ratios_in(
    low: float,
    high: float,
    first: Any,
    second: Any,
    within: Sequence[str] = ("epsilon",),
    by: str = "method",
    **where: Any,
) -> Check:
    """The check that all :func:`ratios` are above ``low`` and below ``high``.

    >>> rows = [{"method": m, "epsilon": 1, "value": v} for m, v in (("a", 1), ("b", 2))]
    >>> ratios_in(0, 1, "a", "b")(Table(rows)).figure
    '0.500 times in 1 cell'
    """

    def check(table: Table) -> Verdict:
        each = ratios(table, first, second, within, by, **where)
        return Verdict(all(low < ratio < high for ratio in each), spread(each))

    return check


def less(
    first: Any,
    second: Any,
    within: Sequence[str] = ("epsilon",),
    by: str = "method",
    factor: float = 1.0,
    **where: Any,
) -> Check:
    """The check that ``first`` is less than ``1 / factor`` times ``second`` in every group."""
    return ratios_in(0.0, 1.0 / factor, first, second, within, by, **where)


def more(
    first: Any,
    second: Any,
    within: Sequence[str] = ("epsilon",),
    by: str = "method",
    factor: float = 1.0,
    **where: Any,
) -> Check:
    """The check that ``first`` is more than ``factor`` times ``second`` in every group."""
    return ratios_in(factor, math.inf, first, second, within, by, **where)


def all_of(*checks: Check) -> Check:
    """The check that several checks hold, with all their figures."""
    return lambda table: all_hold(check(table) for check in checks)


def geometric_mean(each: Sequence[float]) -> float:
    """The geometric mean of some ratios.

    >>> geometric_mean([0.5, 2.0])
    1.0
    """
    return float(np.exp(np.mean(np.log(each))))


def mean_ratio_in(
    low: float,
    high: float,
    first: Any,
    second: Any,
    within: Sequence[str] = ("epsilon",),
    by: str = "method",
    **where: Any,
) -> Check:
    """The check that the geometric mean of all :func:`ratios` lies between two numbers."""

    def check(table: Table) -> Verdict:
        each = ratios(table, first, second, within, by, **where)
        middle = geometric_mean(each)
        return Verdict(low <= middle <= high, f"geometric mean {middle:.3f}, {spread(each)}")

    return check


def spread(each: Sequence[float]) -> str:
    """The least and the largest of some ratios as text.

    >>> spread([0.5, 2.0])
    '0.500 to 2.000 times in 2 cells'
    """
    low, high = min(each), max(each)
    cells = "1 cell" if len(each) == 1 else f"{len(each)} cells"
    figures = f"{low:.3f}" if len(each) == 1 else f"{low:.3f} to {high:.3f}"
    return f"{figures} times in {cells}"
