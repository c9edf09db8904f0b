"""The kinds of domains by name, and domains from their specifications."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from warner._core.checks import show
from warner._core.errors import ArgumentError
from warner.domains.base import Domain

# The module and the class of each kind. A module is imported when a domain of it is made. Study
# files list the kinds in this order.
_HOMES = {
    "categorical": "categorical.Categorical",
    "integers": "interval.Integers",
    "interval": "interval.Interval",
    "grid": "grid.Grid",
    "points": "grid.Points",
    "items": "items.Items",
    "words": "words.Words",
    "product": "product.Product",
    "tagged": "derived.Tagged",
    "padded": "derived.Padded",
    "subset": "derived.Subset",
    "optional": "derived.Optional",
}


def domain_classes() -> tuple[type[Domain], ...]:
    """Every class of domains, in the order of study files."""
    return tuple(map(_class, _HOMES))


def _class(kind: str) -> type[Domain]:
    module, name = _HOMES[kind].split(".")
    cls: type[Domain] = getattr(import_module(f"warner.domains.{module}"), name)
    return cls


def from_spec(spec: Mapping[str, Any]) -> Domain:
    """Return the domain that ``spec`` describes.

    Args:
        spec: JSON data from :meth:`Domain.spec`.

    Raises:
        ArgumentError: an unknown kind, a missing key, or a value that the domain refuses.

    >>> from_spec({"kind": "integers", "low": 0, "high": 3}).size
    4
    """
    kind = spec.get("kind", "")
    if kind not in _HOMES:
        rule = f"must be one of {', '.join(_HOMES)}"
        raise ArgumentError("domain kind", rule, show(spec.get("kind")))
    try:
        return _class(kind).from_spec(spec, from_spec)
    except KeyError as error:
        rule = f"must have the key {error.args[0]!r}, because its kind is {kind!r}"
        raise ArgumentError("domain", rule, None, f"Add {error.args[0]!r}") from None
