"""Mechanisms rebuilt from their headers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from warner._core.canonical_json import canonical
from warner._core.checks import show
from warner._core.errors import (
    MismatchError,
    WarnerError,
    message,
)
from warner.domains import from_spec
from warner.mechanisms.base import Mechanism
from warner.reports.tally import require_same

LARGEST_PARTS = 10_000  # reports of one person, in all
MECHANISMS: dict[str, type[Mechanism]] = {}  # filled in warner.mechanisms


def from_header(header: Mapping[str, Any]) -> Mechanism:
    """The mechanism that the header of reports or of a tally describes, with exactly its law.

    Args:
        header: JSON data, as ``mechanism.header``.

    Returns:
        Mechanism: a new one with the same law.

    Raises:
        MismatchError: not a header, or a mechanism, version or law that this version of warner
            cannot make. Or more than 10,000 reports of one person.

    >>> from warner import Categorical, RandomizedResponse
    >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    >>> from_header(coin.header).header == coin.header
    True
    """
    try:
        found = dict(header)
        if _parts(found) <= LARGEST_PARTS:
            return _from_header(canonical(found))
    except (TypeError, ValueError, AttributeError, RecursionError) as error:
        if isinstance(error, WarnerError):
            raise
    rule = (
        f"is not a mechanism's header, or asks for more than {LARGEST_PARTS} reports of one person"
    )
    raise MismatchError(message("header", rule, None, "Was the file altered?"))


def _parts(header: Mapping[str, Any]) -> int:
    """How many reports of one person a header asks for, counted before anything is built."""
    parts = (
        header["parameters"].get("parts") if isinstance(header.get("parameters"), dict) else None
    )
    if not isinstance(parts, list):
        return 1
    total = 0
    for first, second in parts:  # [header, times] or [name, header]
        inner, times = (first, second) if isinstance(first, dict) else (second, 1)
        total += _parts(inner) * times
    return total


@lru_cache(maxsize=64)
def _from_header(text: str) -> Mechanism:
    """Build and keep a mechanism: its header comes again with every file and estimate."""
    header = json.loads(text)
    name = header.get("mechanism")
    cls = MECHANISMS.get(name) if isinstance(name, str) else None
    if cls is None or header.get("version") != cls.version:
        raise MismatchError(
            message(
                "header",
                f"names a mechanism unknown here: {show(name)}, "
                f"version {show(header.get('version'))}",
                None,
                "Use the version that made it",
            )
        )
    try:
        requested = float("inf") if header["requested"] == "inf" else header["requested"]
        mechanism = cls._rebuild(from_spec(header["domain"]), requested, header["parameters"])
    except (
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        OverflowError,
        RecursionError,
        MemoryError,
    ) as error:
        why = f": {str(error).rstrip('.')}" if isinstance(error, WarnerError) else ""
        raise MismatchError(
            message(
                "header", f"does not describe a valid {name}{why}", None, "Was the file altered?"
            )
        ) from None
    require_same(mechanism.header, header, "header and the law it names")
    return mechanism
