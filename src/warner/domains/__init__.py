"""Domains: what a person can answer, and the bijection with indices 0..K-1 that mechanisms work on.

A domain refuses what is not in it. Its errors name the position and the kind of an answer, never the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warner._core.canonical_json import (
    canonical,
)
from warner._core.checks import show
from warner._core.errors import (
    ArgumentError,
    message,
)
from warner.domains.base import LARGEST_SIZE, Domain
from warner.domains.composite import Padded, Product, Tagged
from warner.domains.simple import Categorical, Grid, Integers, Interval, Points

_KINDS: dict[str, Any] = {
    "padded": lambda s: Padded(from_spec(s["domain"]), s["pairs"]),
    "tagged": lambda s: Tagged(from_spec(s["domain"]), s["tags"]),
    "categorical": lambda s: Categorical(s["values"]),
    "integers": lambda s: Integers(s["low"], s["high"]),
    "interval": lambda s: Interval(s["low"], s["high"], s["bins"], s.get("clip", False)),
    "grid": lambda s: Grid(s["rows"], s["columns"], s["side"]),
    "points": lambda s: Points(s["points"]),
    "product": lambda s: Product(**{name: from_spec(d) for name, d in s["domains"]}),
}


def from_spec(spec: Mapping[str, Any]) -> Domain:
    """The domain that ``spec`` describes.

    >>> from_spec({"kind": "integers", "low": 0, "high": 3}).size
    4
    """
    build = _KINDS.get(spec.get("kind", ""))
    if build is None:
        raise ArgumentError(
            message("domain kind", f"must be one of {', '.join(_KINDS)}", show(spec.get("kind")))
        )
    try:
        return build(spec)
    except KeyError as error:
        raise ArgumentError(
            message("domain", f"of kind {spec['kind']!r} needs {error.args[0]!r}")
        ) from None


__all__ = [
    "LARGEST_SIZE",
    "Categorical",
    "Domain",
    "Grid",
    "Integers",
    "Interval",
    "Padded",
    "Points",
    "Product",
    "Tagged",
    "canonical",
    "from_spec",
]
