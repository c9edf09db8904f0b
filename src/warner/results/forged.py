"""What an estimate can still say if some of the reports were made up by somebody."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np

from warner._core.checks import real
from warner._core.errors import ArgumentError, IdentifiabilityError, MismatchError
from warner._core.table import Column, Table, Tabular
from warner.results.intervals import intervals_of_table
from warner.results.solution import Solution


@dataclass(frozen=True, eq=False, repr=False)
class ForgedBounds(Tabular):
    """The shares of honest people if some of all reports were made up.

    Attributes:
        estimate: the estimate.
        share: the largest part of all reports that was made up.
        reports: their largest number, where it was given; else None.
        of_question: the part of the reports about this question that is then made up at most, eta.
            It is larger where each person is asked some questions: who makes reports up can choose
            the question.
        level: the coverage of the intervals that the bounds contain.
        bounds: (K, 2) the least and the largest share of each value.
    """

    estimate: Solution
    share: float
    reports: int | None
    of_question: float
    level: float
    bounds: np.ndarray

    __repr__ = Tabular.__str__

    @property
    def in_words(self) -> str:
        """How many reports may be made up, as a clause."""
        if self.reports is None:
            return f"up to {100 * self.share:g} % of the reports were made up"
        return f"up to {self.reports:,} reports ({100 * self.share:.3g} %) were made up"

    def rows(self) -> list[dict[str, Any]]:
        """A row for each value: value, estimate, low and high."""
        each = (self.estimate.domain.labels, self.estimate.probabilities.tolist())
        return [
            {"value": value, "estimate": share, "low": float(low), "high": float(high)}
            for value, share, (low, high) in zip(*each, self.bounds, strict=True)
        ]

    def table(self) -> Table:
        """The bounds for people."""
        name = self.estimate.attribute or "value"
        notes = [
            'The limits under "between" hold whatever the made-up reports say. They contain the '
            f"true share as often as a {100 * self.level:g} % interval does without such reports."
        ]
        if self.of_question > self.share:
            notes.append(
                "Whoever makes up reports can choose the question. All made-up reports may be "
                f"about this question: then they are {100 * self.of_question:.3g} % of its reports."
            )
        columns = [
            Column("value"),
            Column("estimate", unit="share"),
            Column("bounds", "between", "share", ends=("low", "high")),
        ]
        title = f"{name}: if {self.in_words}"
        return Table(columns, self.rows(), notes, title, self.estimate.data.simulated)

    def to_json(self) -> dict[str, Any]:
        """The bounds as JSON data."""
        about = {"share": self.share, "of_question": self.of_question, "level": self.level}
        about |= {} if self.reports is None else {"reports": self.reports}
        return {"if_forged": {**about, "shares": self.rows()}}


def moved_by_added(solution: Solution, reports: int) -> float | None:
    """The most by which added forged reports move the unbiased share of a value.

    A share is the mean of what each report adds to it, so k reports beside n change it by
    k / (n + k) times the difference between what they add, L[x, y], and the share. It is that of
    the value that moves most; None where no unbiased shares are known.
    """
    extremes = _extremes(solution)
    if extremes is None:
        return None
    least, most = extremes
    shares = solution.data.channel.invert(solution.data.weights)
    largest = float(np.maximum(most - shares, shares - least).max())
    return reports / (solution.data.n + reports) * largest


def _extremes(solution: Solution) -> tuple[np.ndarray, np.ndarray] | None:
    """The least and the most that one report adds to the unbiased share of each value."""
    if solution.fit.probabilities is None or solution.data.survey is not None:
        return None
    try:
        return solution.data.channel.inverse_range()
    except (IdentifiabilityError, ArgumentError):
        return None


def forged_bounds(
    solution: Solution, made_up: float, level: float, target: str, kind: str | None
) -> ForgedBounds:
    """The bounds of :meth:`warner.Estimate.if_forged`."""
    sent = solution.data.sent or solution.data.n
    reports = None
    # Whoever writes 1 may mean one report, one in a hundred or all: it is refused.
    if isinstance(made_up, numbers.Integral) and made_up > 1:
        reports = int(made_up)
        share = min(1.0, reports / sent)
    else:
        remedy = "Write 0.01 for one report in a hundred, or a whole number of reports from 2"
        share = real("made_up", made_up, remedy, above=0, below=1)
    if solution.data.survey is not None:
        rule = (
            "cannot be taken into account with a survey design, in which each report counts by its "
            "weight"
        )
        raise MismatchError("forged reports", rule, None, "Leave out weights, clusters and strata")
    extremes = _extremes(solution)
    if extremes is None:
        rule = "has no unbiased shares, from which the effect of forged reports is computed"
        remedy = "Estimate one question, from reports of one mechanism"
        raise MismatchError("estimate", rule, None, remedy)
    # Of the report frequencies w = (1 - eta) honest + eta forged, the honest people's share is
    # (L w - eta L forged) / (1 - eta). It is linear in what was forged, so its extremes are those
    # of one report: the program's corners. Honest reports are fewer, so the noise grows as well.
    least, most = extremes
    data = solution.data
    eta = min(1.0, share * sent / data.n)
    bounds = np.tile([0.0, 1.0], (solution.domain.size, 1))  # where all reports may be made up
    if eta < 1:
        low, high = intervals_of_table(solution, level, target, kind)[0].T
        moved = np.stack([low - eta * most, high - eta * least], axis=1) / (1 - eta)
        bounds = np.clip(moved, 0.0, 1.0)
    return ForgedBounds(solution, share, reports, eta, level, bounds)
