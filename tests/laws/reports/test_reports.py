"""Reports whose bytes or columns do not belong to their mechanism are refused."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from tests.registry import smallest
from warner.errors import ArgumentTypeError, FileError, ReportError


def test_a_wire_with_a_good_checksum_and_bad_content_is_refused() -> None:
    import hashlib
    import json

    good = smallest("RandomizedResponse").randomize([0, 1, 2])
    data = good.to_bytes()[:-32]
    start = data.index(b"\n") + 1
    length = int.from_bytes(data[start : start + 4], "little")
    head, body = json.loads(data[start + 4 : start + 4 + length]), data[start + 4 + length :]
    for forged in (
        {**head, "schema": 2},
        {**head, "n": 4},
        {**head, "n": -1},
        {**head, "n": 10**30},
        {**head, "columns": 5},
        {**head, "columns": [["report", "|O", []]]},
        {**head, "columns": []},
        {**head, "header": 3},
        [],
        5,
    ):
        text = json.dumps(forged).encode()
        raw = data[:start] + len(text).to_bytes(4, "little") + text + body
        with pytest.raises((FileError, ReportError, ArgumentTypeError)):
            warner.Reports.from_bytes(raw + hashlib.sha256(raw).digest())
    with pytest.raises(FileError):
        warner.Reports.from_bytes(data[: start + 2] + hashlib.sha256(data[: start + 2]).digest())


def test_reports_carry_no_column_of_their_own() -> None:
    mechanism = smallest("RandomizedResponse")
    reports = mechanism.randomize([0, 1])
    smuggled = warner.Reports(reports.header, {**reports.columns, "answer": np.array([0, 1])})
    with pytest.raises(ReportError, match="and no others"):
        mechanism.tally(smuggled)
