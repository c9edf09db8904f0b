"""An experiment as data: its cells, its measure, the claims that are checked, and its pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import product
from typing import Any

from papers.measure import Cell, Cells, Measure
from papers.table import Table


def cells_of(**axes: Sequence[Any]) -> Cells:
    """All combinations of the values of some axes, the last axis fastest.

    Args:
        **axes: the values of each axis: texts, numbers or truth values, so that a cell can be
            written as JSON. An infinite number is written as the text ``"inf"``.

    >>> cells_of(data=["census"], epsilon=[0.5, 1.0])
    ({'data': 'census', 'epsilon': 0.5}, {'data': 'census', 'epsilon': 1.0})
    """
    return tuple(dict(zip(axes, values, strict=True)) for values in product(*axes.values()))


@dataclass(frozen=True)
class Verdict:
    """Whether a claim holds in a table, and the figure that decides it.

    Attributes:
        holds: whether it holds.
        figure: the numbers that decide, as text.
    """

    holds: bool
    figure: str


class Reason(Enum):
    """Why a claim fails."""

    MISPRINT = "misprint"
    DATA = "data"
    READING = "reading"
    REAL = "fails for real"
    UNSTATED = "not stated by the paper"


@dataclass(frozen=True)
class Failure:
    """Why a claim fails, and where a person can see it.

    Attributes:
        reason: the kind: a misprint of the paper; its data are not at hand; its words can be read
            in another way, in which the claim holds; it fails whatever the data and the reading; or
            the bar is stricter than the paper's words.
        because: what is behind it, in a sentence.
        shown: the heading of ``docs/papers/errata.md`` whose script shows it, such as
            ``"P5, figure 8"``. Empty for a claim of this package alone.
    """

    reason: Reason
    because: str
    shown: str = ""


@dataclass(frozen=True)
class Claim:
    """A statement of a paper, or of this package, that a table of results can decide.

    Attributes:
        text: the statement with our bar, which the check decides.
        check: the verdict on a table of results.
        held: whether the statement held in the full run that ``docs/papers`` shows; None for not
            known yet. A claim that held is asserted of every later run.
        quick: whether the quick run has the power to decide it.
        ours: whether the statement is this package's and not the paper's: also on data or a mode
            of the reports that the paper does not have.
        words: the paper's own words, with their place; every claim of a paper has them.
        failure: why it fails. A claim that fails without one breaks a run.
    """

    text: str
    check: Callable[[Table], Verdict]
    held: bool | None = None
    quick: bool = True
    ours: bool = False
    words: str = ""
    failure: Failure | None = None


@dataclass(frozen=True)
class Picture:
    """A chart of the means of a table.

    Attributes:
        kind: ``"line"``, ``"bar"``, ``"box"`` (over runs), ``"map"`` (cells of a grid) or
            ``"heat"`` (a table of two axes).
        x: the column of the horizontal axis; of a map the column of the grid.
        color: the column that tells the series apart; None for one series.
        y: the column of the vertical axis of a map or a heat map; the others have the value there.
        facet: the column with a panel for each value; None for one panel.
        where: only the rows with these values.
        log_x, log_y: whether an axis is logarithmic.
        title: the text above; None for the experiment's.
        value: the name of the value in words.
        name: the last part of the file name, for experiments of several pictures.
    """

    kind: str
    x: str
    color: str | None = "method"
    y: str | None = None
    facet: str | None = None
    where: Mapping[str, Any] = field(default_factory=dict)
    log_x: bool = False
    log_y: bool = False
    title: str | None = None
    value: str = "error"
    name: str = ""


@dataclass(frozen=True)
class Experiment:
    """A figure or table of a paper, as data for the runner.

    Attributes:
        name: the paper and the figure, such as ``"P2/fig6"``.
        title: one line.
        says: the statement of the paper, in plain words.
        measure: how a cell is measured; see :mod:`papers.measures`.
        cells: the cells of the full run.
        runs: the runs of each cell.
        quick_cells: the cells of the quick run; None for all.
        quick_runs: the runs of each cell of the quick run.
        runs_per_task: how many runs one process does at a time; None for all runs of a cell. A
            measure that needs all runs at once leaves it None.
        claims: the statements that are checked.
        pictures: the charts.
        data: the names of the data sets that are read where the folder is at hand.
        differs: the differences between the setting and that of the paper, in sentences.
        conclusion: "same or not, and why", in sentences, written after the full run.
        also: names of other figures that show the same numbers, such as ``"P1/fig13"``.
        revision: a number that is raised when the numbers of the experiment change, so that work
            kept from before is not used.
    """

    name: str
    title: str
    says: str
    measure: Measure
    cells: Cells
    runs: int
    quick_runs: int
    quick_cells: Cells | None = None
    runs_per_task: int | None = None
    claims: tuple[Claim, ...] = ()
    pictures: tuple[Picture, ...] = ()
    data: tuple[str, ...] = ()
    differs: str = ""
    conclusion: str = ""
    also: tuple[str, ...] = ()
    revision: int = 1

    @property
    def names(self) -> tuple[str, ...]:
        """Its name, and the other names by which it can be selected."""
        return (self.name, *self.also)

    @property
    def paper(self) -> str:
        """The paper, such as ``"P2"``."""
        return self.name.split("/")[0]

    def size(self, quick: bool) -> tuple[Cells, int]:
        """The cells of a run, and the runs of each cell."""
        if not quick:
            return self.cells, self.runs
        return (self.cells if self.quick_cells is None else self.quick_cells), self.quick_runs

    def tasks(self, quick: bool) -> list[tuple[Cell, range]]:
        """The work in pieces: a cell and consecutive runs of it."""
        cells, runs = self.size(quick)
        step = self.runs_per_task or runs
        return [
            (cell, range(first, min(first + step, runs)))
            for cell in cells
            for first in range(0, runs, step)
        ]


def all_hold(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict that all of several statements hold, with all their figures."""
    together = list(verdicts)
    return Verdict(all(v.holds for v in together), "; ".join(v.figure for v in together))
