"""Estimates as rows: for tables, JSON and data frames."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from warner._core.checks import choice
from warner.io import frame
from warner.results import summaries
from warner.results.conditional import key_rows
from warner.results.intervals import TARGETS, available_kind, interval
from warner.results.solution import Solution


def rows(
    solution: Solution, level: float = 0.95, target: str = "population"
) -> list[dict[str, Any]]:
    """One dict per value: value, estimate, low, high, n (the number of people the share stands for).

    Where the channel has no inverse nothing bounds a share, and low, high are 0, 1.
    """
    if solution.fit.probabilities is None:
        return []
    bounds = (
        interval(solution, level, target)
        if available_kind(solution, target) != "none"
        else np.tile([0.0, 1.0], (solution.domain.size, 1))
    )
    return [
        {
            "value": value,
            "estimate": float(p),
            "low": float(low),
            "high": float(high),
            "n": float(p * solution.n),
        }
        for value, p, (low, high) in zip(
            solution.domain.labels, solution.probabilities, bounds, strict=True
        )
    ]


def means(
    solution: Solution, level: float = 0.95, target: str = "population"
) -> list[dict[str, float]]:
    """Mean and interval, one dict per coordinate of the values."""
    found = summaries.mean(solution)
    each = found if isinstance(found, tuple) else (found,)
    bounds = [value.interval(level, target) for value in each]
    return [
        {"estimate": float(value), "low": float(low), "high": float(high)}
        for value, (low, high) in zip(each, bounds, strict=True)
    ]


def to_json(solution: Solution, level: float = 0.95, target: str = "population") -> dict[str, Any]:
    """The estimate as JSON data."""
    return {
        "format": "warner-estimate",
        "schema": 1,
        "attribute": solution.attribute,
        "method": solution.method,
        "method_text": solution.estimator.summary,
        "n": solution.n,
        **({"simulated": True} if solution.data.simulated else {}),
        "status": solution.status.name.lower(),
        "status_text": solution.status.value,
        "gap": solution.gap,
        "iterations": solution.iterations,
        "log_likelihood": solution.log_likelihood,
        "likelihood": solution.fit.likelihood,
        "unique": solution.fit.unique,
        "interval": {
            "kind": available_kind(solution, target),
            "level": level,
            "target": choice("target", target, TARGETS),
        },
        "domain": solution.domain.spec(),
        "shares": rows(solution, level, target),
        **({} if solution.fit.mean is None else {"mean": means(solution, level, target)}),
        **({"keys": keys} if (keys := key_rows(solution, level, target)) else {}),
    }


def to_frame(
    solution: Solution, backend: str = "pyarrow", level: float = 0.95, target: str = "population"
) -> Any:
    """The rows as a data frame of ``backend`` (any that Narwhals can make: pyarrow, polars, pandas, ...)."""
    found = (
        rows(solution, level, target)
        if solution.fit.keys is None
        else key_rows(solution, level, target)
    )
    columns: dict[str, list[Any]] = {key: [row[key] for row in found] for key in found[0]}
    if not isinstance(found[0]["value"], str | int | float | bool):
        columns["value"] = [json.dumps(v) for v in columns["value"]]
    return frame(columns, backend)


def as_text(value: Any) -> str:
    """A value of a domain as a label: strings as they are, the rest as JSON.

    >>> as_text("x"), as_text(3), as_text((1, 2))
    ('x', '3', '[1, 2]')
    """
    return value if isinstance(value, str) else json.dumps(value)
