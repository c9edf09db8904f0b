"""Forged columns of the wire format are refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

import warner
from tests.spec.io._sealed import COIN
from warner._core.text import canonical


@pytest.mark.parametrize(
    "dtype, shape",
    [(",", []), ("O", []), ("<U8", []), ("|u1", [-1]), ("|u1", [True]), ("|u1,|u1", []), (3, [])],
    ids=str,
)
def test_forged_columns_of_the_wire_format_are_refused(dtype: Any, shape: list[Any]) -> None:
    import hashlib

    data = COIN.reports([0, 1]).to_bytes()
    magic, size = data.split(b"\n", 1)[0] + b"\n", len(b"warner-reports 1\n")
    length = int.from_bytes(data[size : size + 4], "little")
    head = json.loads(data[size + 4 : size + 4 + length])
    head["columns"] = [["report", dtype, shape]]
    forged = canonical(head).encode()
    text = magic + len(forged).to_bytes(4, "little") + forged + data[size + 4 + length : -32]
    with pytest.raises(warner.errors.FileError):
        warner.Reports.from_bytes(text + hashlib.sha256(text).digest())
