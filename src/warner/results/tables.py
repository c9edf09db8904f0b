"""Estimates as rows: for tables, JSON and data frames."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from warner._core.checks import choice
from warner.io import frame_of_rows
from warner.results import summaries
from warner.results.conditional import answered, key_rows
from warner.results.intervals import TARGETS, available_kind, interval
from warner.results.share_rows import share_row
from warner.results.solution import Solution


def rows(
    solution: Solution,
    level: float = 0.95,
    target: str = "population",
    kind: str | None = None,
) -> list[dict[str, Any]]:
    """The shares of all values: see :meth:`warner.Estimate.rows`."""
    if solution.fit.probabilities is None:
        return []
    if available_kind(solution, target, kind) == "none":
        bounds = np.tile([0.0, 1.0], (solution.domain.size, 1))
    else:
        bounds = interval(solution, level, target, kind)
    shares = zip(solution.domain.labels, solution.probabilities, bounds, strict=True)
    return [share_row(value, share, limits, solution.n) for value, share, limits in shares]


def means(
    solution: Solution, level: float = 0.95, target: str = "population"
) -> list[dict[str, float]]:
    """The mean for each coordinate of the values: see :meth:`warner.Estimate.means`."""
    mean = summaries.mean(solution)
    coordinates = mean if isinstance(mean, tuple) else (mean,)
    bounds = [value.interval(level, target) for value in coordinates]
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
    keys = key_rows(solution, level, target)
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
            "level": level,
            "target": choice("target", target, TARGETS),
        },
        "domain": solution.domain.spec(),
        "shares": rows(solution, level, target, kind),
        **({} if solution.fit.mean is None else {"mean": means(solution, level, target)}),
        **({"keys": keys} if keys else {}),
        **_given(solution, level, target),
    }


def _given(solution: Solution, level: float, target: str) -> dict[str, Any]:
    """The share of people who answered and the shares among them; {} without silence."""
    if solution.domain.silence is None or solution.fit.probabilities is None:
        return {}
    given = answered(solution)
    return {
        "answered": given.row(level, target) | {"shares": given.rows(level, target)},
    }


def to_frame(
    solution: Solution,
    backend: str = "pyarrow",
    level: float = 0.95,
    target: str = "population",
    columns: Mapping[str, Any] | None = None,
) -> Any:
    """The rows as a data frame: see :meth:`warner.Estimate.to_frame`."""
    only_keys = solution.fit.keys is not None
    table = (key_rows if only_keys else rows)(solution, level, target)
    if len({type(row["value"]) for row in table}) > 1:  # numbers, and silence
        table = [{**row, "value": as_text(row["value"])} for row in table]
    return frame_of_rows(table, backend, columns)


def as_text(value: Any) -> str:
    """A value of a domain as a label: a string as it is, any other value as JSON.

    >>> as_text("x"), as_text(3), as_text((1, 2))
    ('x', '3', '[1, 2]')
    """
    return value if isinstance(value, str) else json.dumps(value)
