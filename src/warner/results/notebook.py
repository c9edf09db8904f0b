"""Results as they show themselves in a notebook: a table with a small picture in each row."""

from __future__ import annotations

from typing import Any

import numpy as np

from warner._core import html
from warner.io.tabular import of_rows
from warner.results import summaries
from warner.results.conditional import key_rows
from warner.results.intervals import available_kind
from warner.results.solution import Solution
from warner.results.tables import as_text, means, reports_of

_MOST = 20  # rows; of more values the largest shares are shown


def of_estimate(solution: Any) -> str:
    """An estimate as HTML."""
    if solution.fit.keys is not None:
        return of_rows(key_rows(solution), _caption(solution))
    if solution.fit.probabilities is None:
        return of_rows(means(solution), _caption(solution))
    return _shares(solution)


def _shares(solution: Any) -> str:
    """The shares of all values, or of those with the largest shares, with pictures."""
    shares, (bounds, alone) = solution.probabilities, solution.usual_intervals
    size = solution.domain.size
    places = np.arange(size)
    chosen = ""
    if size > _MOST:
        places = np.argsort(-shares, kind="stable")[:_MOST]
        chosen = f" The {_MOST} largest of {size:,} shares."
    largest = max(float(bounds[places].max()), float(shares[places].max()), 1e-12)
    rows = [
        [
            as_text(value),
            *share_cells(share, low, high),
            "" if np.isnan(unbiased) else f"{100 * unbiased:.2f} %",
            html.interval_bar(share, low, high, largest),
        ]
        for value, share, (low, high), unbiased in zip(
            solution.domain.decode(places),
            shares[places].tolist(),
            bounds[places].tolist(),
            alone[places].tolist(),
            strict=True,
        )
    ]
    kind = available_kind(solution)
    head = ["value", "share", "95 % from", "to", "shrunk from", ""]
    if np.isnan(alone[places]).all():
        head, rows = [*head[:4], ""], [[*row[:4], row[5]] for row in rows]
    caption = f"{_caption(solution)} Intervals: {kind}, population.{chosen}"
    return html.table(head, rows, caption + _mean(solution))


def share_cells(share: float, low: float, high: float) -> list[str]:
    """A share and its limits in per cent."""
    return [f"{100 * figure:.2f} %" for figure in (share, low, high)]


def _caption(solution: Solution) -> str:
    name = f"{solution.attribute}: " if solution.attribute else ""
    reports = reports_of(solution.n, solution.data.simulated)
    return f"{name}{reports}, {solution.method}, {solution.status.value}."


def _mean(solution: Solution) -> str:
    """The mean of numbers, in words; nothing for labels and places."""
    if solution.domain.dimension != 1 or solution.domain.points is None:
        return ""
    found = summaries.mean(solution)
    return "" if isinstance(found, tuple) else f" Mean {float(found):.4g}."
