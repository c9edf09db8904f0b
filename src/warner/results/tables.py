"""Estimates as rows: for tables, JSON and data frames."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from warner._core import html
from warner._core.checks import choice
from warner._core.table import frame_of_rows
from warner._core.text import visible
from warner.domains import Domain
from warner.io.csv_format import of_rows
from warner.results import summaries
from warner.results.conditional import answered, key_rows
from warner.results.intervals import (
    TARGETS,
    at_every_look,
    available_kind,
    intervals_of_table,
    share_row,
    with_plan,
)
from warner.results.solution import Solution


def reports_of(n: int, simulated: bool) -> str:
    """The number of reports in words, with the mark of a simulation.

    >>> reports_of(1200, True)
    '1,200 simulated reports'
    """
    return f"{n:,} {'simulated ' * simulated}report{'s' * (n != 1)}"


def rows(
    solution: Solution,
    level: float = 0.95,
    target: str = "population",
    kind: str | None = None,
) -> list[dict[str, Any]]:
    """The shares of all values: see :meth:`warner.Estimate.rows`."""
    if solution.fit.probabilities is None:
        return []
    bounds, alone = intervals_of_table(solution, level, target, kind)
    shares = zip(solution.domain.labels, solution.probabilities, bounds, alone, strict=True)
    return [
        share_row(value, share, limits, solution.n)
        | {"shrunk_from": None if np.isnan(unbiased) else float(unbiased)}
        for value, share, limits, unbiased in shares
    ]


def means(
    solution: Solution,
    level: float = 0.95,
    target: str = "population",
    kind: str | None = None,
) -> list[dict[str, float]]:
    """The mean for each coordinate of the values: see :meth:`warner.Estimate.means`."""
    mean = summaries.mean(solution)
    coordinates = mean if isinstance(mean, tuple) else (mean,)
    bounds = [value.interval(level, target, at_every_look(kind)) for value in coordinates]
    return [
        {"estimate": float(value), "low": float(low), "high": float(high)}
        for value, (low, high) in zip(coordinates, bounds, strict=True)
    ]


def to_json(
    solution: Solution,
    level: float = 0.95,
    target: str = "population",
    kind: str | None = None,
) -> dict[str, Any]:
    """The estimate as JSON data: see :meth:`warner.Estimate.to_json`."""
    keys, planned = key_rows(solution, level, target), with_plan(kind)[1]
    return {
        "format": "warner-estimate",
        "schema": 1,
        "attribute": solution.attribute,
        "method": solution.method,
        "method_text": solution.estimator.summary,
        "n": solution.n,
        **(
            {"reports_per_person": solution.reports_per_person}
            if solution.reports_per_person > 1
            else {}
        ),
        **({"simulated": True} if solution.data.simulated else {}),
        "status": solution.status.name.lower(),
        "status_text": solution.status.value,
        "gap": solution.gap,
        "iterations": solution.iterations,
        "log_likelihood": solution.log_likelihood,
        "likelihood": solution.fit.likelihood,
        "unique": solution.fit.unique,
        **(
            {} if solution.bic is None else {"components": solution.components, "bic": solution.bic}
        ),
        "interval": {
            "kind": available_kind(solution, target, kind),
            **({} if planned is None else {"planned": planned}),
            "level": level,
            "target": choice("target", target, TARGETS),
        },
        "domain": solution.domain.spec(),
        "shares": rows(solution, level, target, kind),
        **({} if solution.fit.mean is None else {"mean": means(solution, level, target, kind)}),
        **({"keys": keys} if keys else {}),
        **_given(solution, level, target, at_every_look(kind)),
    }


def _given(solution: Solution, level: float, target: str, kind: str | None) -> dict[str, Any]:
    """The share of people who answered and the shares among them; {} without nonresponse."""
    if solution.domain.nonresponse is None or solution.fit.probabilities is None:
        return {}
    given = answered(solution)
    return {
        "answered": given.row(level, target, kind) | {"shares": given.rows(level, target, kind)},
    }


def to_frame(
    solution: Solution,
    backend: str = "pyarrow",
    level: float = 0.95,
    target: str = "population",
    columns: Mapping[str, Any] | None = None,
) -> Any:
    """The rows as a data frame: see :meth:`warner.Estimate.to_frame`."""
    if solution.fit.keys is not None:
        table = key_rows(solution, level, target)
    else:  # a column of numbers, also where no share is shrunk out of its interval
        table = [
            row | {"shrunk_from": math.nan if row["shrunk_from"] is None else row["shrunk_from"]}
            for row in rows(solution, level, target)
        ]
    if len({type(row["value"]) for row in table}) > 1:  # numbers, and nonresponse
        table = [{**row, "value": as_text(row["value"])} for row in table]
    return frame_of_rows(table, backend, columns)


def as_text(value: Any) -> str:
    """A value of a domain as a label: a string as it is, any other value as JSON.

    >>> as_text("x"), as_text(3), as_text((1, 2))
    ('x', '3', '[1, 2]')
    """
    return value if isinstance(value, str) else json.dumps(value)


def name_of(value: Any, domain: Domain | None = None) -> str:
    """A value of a domain as a reader sees it.

    >>> name_of("often"), name_of(0.25), name_of({"a": "x", "b": 2})
    ('often', '0.25', 'x, 2')
    """
    if domain is not None and domain.raster is not None and not isinstance(value, str):
        return f"row {value[0]}, column {value[1]}"
    if isinstance(value, dict):
        return ", ".join(name_of(part) for part in value.values())
    return f"{value:.6g}" if isinstance(value, float) else visible(as_text(value))


# -----------------------------------------------------------------------------------------------
# Results as they show themselves in a notebook: a table with a small picture in each row.


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
