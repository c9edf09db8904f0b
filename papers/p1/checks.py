"""Claims on the errors of methods, cell by cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from papers.experiment import Claim, Failure, Picture, Verdict
from papers.measure import Cell
from papers.measures import BiasAndVariance, EstimationError, People, Reporters
from papers.p1.common import (
    EM,
    LOSSES,
    PROPOSAL,
    SIX,
    THREE,
    people_of,
)
from papers.table import Table
from papers.verdicts import Check, ratios as ratios_of

QUICK_RUNS = 12
PAIR = f"{EM} and {PROPOSAL}"


def measure(reporters: Callable[[Cell, People], Reporters]) -> BiasAndVariance:
    return BiasAndVariance(
        EstimationError(people_of, reporters, SIX, LOSSES), losses=True, pair=(EM, PROPOSAL)
    )


def by_cell(
    table: Table, axes: Sequence[str], metric: str = "MSE", **where: Any
) -> dict[tuple[Any, ...], dict[str, float]]:
    """The mean of each method in each cell: {cell: {method: mean}}."""
    return {
        key: {method: rows.mean(method=method) for method in rows.distinct("method")}
        for key, rows in table.select(metric=metric, **where).groups(axes).items()
    }


def spread(ratios: Sequence[float]) -> str:
    return (
        f"{min(ratios):.2f} to {max(ratios):.2f}, below 1 in "
        f"{sum(r < 1 for r in ratios)} of {len(ratios)} cells"
    )


def ratios(
    table: Table, first: str, second: str, axes: Sequence[str], metric: str = "MSE", **where: Any
) -> list[float]:
    """The error of one method over that of another in each cell."""
    return ratios_of(table, first, second, axes, metric=metric, **where)


def least(found: dict[str, float]) -> str:
    """The method with the least error in a cell."""
    return min(found, key=lambda method: found[method])


def always_less(first: str, second: str, axes: Sequence[str], metric: str, **where: Any) -> Check:
    def check(table: Table) -> Verdict:
        found = ratios(table, first, second, axes, metric, **where)
        return Verdict(max(found) < 1, spread(found))

    return check


def mostly_less(first: str, second: str, axes: Sequence[str], metric: str, **where: Any) -> Check:
    def check(table: Table) -> Verdict:
        found = ratios(table, first, second, axes, metric, **where)
        return Verdict(sum(r < 1 for r in found) > 0.6 * len(found), spread(found))

    return check


def outperforms(
    axes: Sequence[str],
    cells: str,
    words: str,
    failures: Mapping[tuple[str, str], Failure],
    real: Sequence[tuple[str, str]] = (),
    **where: Any,
) -> tuple[Claim, ...]:
    """Claims that the proposal errs less than EM, for each loss and data set.

    Args:
        axes: the columns of the cells.
        cells: the cells in words.
        words: the paper's.
        failures: why it fails, for the pairs of loss and data set for which it does.
        real: the pairs that the made data or the few runs of the quick run do not decide.
        **where: only the rows with these values.
    """
    return tuple(
        Claim(
            f"{cells} Proposal has a smaller {metric} than EM in every cell of {name}.",
            always_less(PROPOSAL, EM, axes, metric, data=name, **where),
            held=(metric, name) not in failures,
            quick=(metric, name) not in real,
            words=words,
            failure=failures.get((metric, name)),
        )
        for metric in ("MSE", "JS")
        for name in THREE
    )


def line(x: str, metric: str, value: str, **where: Any) -> Picture:
    settings = "".join(f", {key} = {number}" for key, number in where.items())
    return Picture(
        "line",
        x,
        facet="data",
        where={"metric": metric, **where},
        log_y=True,
        value=value,
        name="-".join([metric.replace(" ", "-"), *(f"{k}-{v}" for k, v in where.items())]),
        title=f"{value[0].upper()}{value[1:]}, mean of all runs{settings}",
    )
