"""Domains: the possible answers to a question, and their indices 0..K-1 that mechanisms work on.

A domain refuses an answer that is not in it. The error message states the position and the type of
the answer, never the answer itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warner._core.checks import show
from warner._core.errors import ArgumentError
from warner.domains.base import (
    LARGEST_SIZE,
    NO_ANSWER,
    Domain,
    Missing,
    Raster,
    StudyEntry,
    TextForm,
)
from warner.domains.categorical import Categorical
from warner.domains.derived import Optional, Padded, Subset, Tagged, with_missing
from warner.domains.grid import Grid, Points
from warner.domains.interval import Integers, Interval
from warner.domains.items import Items
from warner.domains.product import Product
from warner.domains.words import Words

# Every class of domains. Study files list them in this order.
DOMAINS: tuple[type[Domain], ...] = (
    Categorical,
    Integers,
    Interval,
    Grid,
    Points,
    Items,
    Words,
    Product,
    Tagged,
    Padded,
    Subset,
    Optional,
)
_BY_KIND = {cls.kind: cls for cls in DOMAINS}


def from_spec(spec: Mapping[str, Any]) -> Domain:
    """Return the domain that ``spec`` describes.

    Args:
        spec: JSON data from :meth:`Domain.spec`.

    Raises:
        ArgumentError: an unknown kind, a missing key, or a value that the domain refuses.

    >>> from_spec({"kind": "integers", "low": 0, "high": 3}).size
    4
    """
    cls = _BY_KIND.get(spec.get("kind", ""))
    if cls is None:
        rule = f"must be one of {', '.join(_BY_KIND)}"
        raise ArgumentError("domain kind", rule, show(spec.get("kind")))
    try:
        return cls.from_spec(spec, from_spec)
    except KeyError as error:
        rule = f"of kind {spec['kind']!r} needs {error.args[0]!r}"
        raise ArgumentError("domain", rule) from None


__all__ = [
    "DOMAINS",
    "LARGEST_SIZE",
    "NO_ANSWER",
    "Categorical",
    "Domain",
    "Grid",
    "Integers",
    "Interval",
    "Items",
    "Missing",
    "Optional",
    "Padded",
    "Points",
    "Product",
    "Raster",
    "StudyEntry",
    "Subset",
    "Tagged",
    "TextForm",
    "Words",
    "from_spec",
    "with_missing",
]
