"""The one text of JSON data, for hashes and comparisons."""

from __future__ import annotations

import json
from typing import Any

# Beyond this many values neither a table of labels nor an estimate per value is sensible on one machine.
LARGEST_SIZE = 2**26


def canonical(value: Any) -> str:
    """The one JSON text of a value: sorted keys, no spaces. What hashes are taken of."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )
