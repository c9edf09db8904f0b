"""Canonical JSON, for hashes and comparisons."""

from __future__ import annotations

import json
from typing import Any


def canonical(value: Any) -> str:
    """Return the only JSON text of a value: sorted keys, no spaces, ASCII.

    >>> canonical({"b": 1, "a": [True, None]})
    '{"a":[true,null],"b":1}'
    """
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )
