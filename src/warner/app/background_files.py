"""Background knowledge about tags from CSV files, as ``--background TAG=FILE`` names them."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import Any

import numpy as np

from warner._core.atomic_files import (
    read_whole,
)
from warner._core.errors import (
    ArgumentError,
    FileError,
    message,
)
from warner.results.solution import Solution
from warner.results.tables import as_text


def backgrounds(estimates: Sequence[Solution], named: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """What is known of tags, {attribute: {tag: shares}}, from CSV files of value,share; values not named have share 0."""
    found: dict[str, dict[str, Any]] = {}
    domains = {str(e.attribute): e.domain for e in estimates if e.domain.tags}
    for item in named:
        name, equals, path = item.partition("=")
        attribute, dot, tag = name.rpartition(".")
        tag = tag.removeprefix("@")
        places = [a for a, d in domains.items() if tag in d.tags and (not dot or a == attribute)]
        if not equals or len(places) != 1 or tag in found.get(places[0], {}):
            tags = ", ".join(f"{a}.{t}" for a, d in domains.items() for t in d.tags) or "none here"
            raise ArgumentError(
                message(
                    "--background",
                    f"must be TAG=FILE, each tag once, with a tag among {tags}",
                    repr(item),
                )
            )
        plain = domains[places[0]].untagged
        labels = {as_text(value): i for i, value in enumerate(plain.labels)}
        shares = np.full(plain.size, np.nan)
        line, data = 1, read_whole(path)
        try:
            for row in csv.DictReader(data.decode("utf-8-sig").splitlines()):
                line += 1
                place = labels[row["value"]]
                if not np.isnan(shares[place]):
                    raise KeyError
                shares[place] = float(row["share"])
            problem = (
                None if line > 1 else message(path, "holds no shares", None, "Columns: value,share")
            )
        except (KeyError, TypeError, ValueError, csv.Error):
            problem = message(
                f"{path}, line {line}",
                "must have a value of the domain, once, and its share",
                None,
                "Columns: value,share",
            )
        if problem is not None:
            raise FileError(problem)
        found.setdefault(places[0], {})[tag] = np.nan_to_num(shares)
    return found
