"""Forged tallies end in named errors."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.refusals import refused
from tests.spec.io._sealed import COIN
from warner.errors import WarnerError
from warner.reports.tally import Tally


def test_forged_tallies_are_named_errors(tmp_path: Path) -> None:
    """Entries of a tally file replaced by all kinds of JSON: never another error than the library's
    own.
    """
    COIN.tally(COIN.reports([0, 1])).save(tmp_path / "t.json")
    text = (tmp_path / "t.json").read_text()
    strange = [
        None,
        True,
        -1,
        2**70,
        1.5,
        "x",
        "\ud800",
        [],
        [[]],
        {},
        {"a": 1},
        [2**60],
        ["1", "2"],
        [[1, 2], [3]],
    ]
    depth = sys.getrecursionlimit()
    for key in ("header", "kind", "by", "groups", "sizes", "shape", "counts", "rows", "sha256"):
        for value in strange:
            data = json.loads(text)
            if data["attributes"]["value"].get(key) == value:
                continue
            data["attributes"]["value"][key] = value
            refused(WarnerError, "", Tally.from_json, data["attributes"]["value"])
            (tmp_path / "u.json").write_text(json.dumps(data))
            refused(WarnerError, "", Tally.load, tmp_path / "u.json")
    for levels in (depth // 2, depth, 10 * depth):
        deep = "[" * levels + "]" * levels
        (tmp_path / "u.json").write_text(text.replace('"kind": "histogram"', f'"kind": {deep}'))
        refused(WarnerError, "", Tally.load, tmp_path / "u.json")
