"""Background knowledge about tags from CSV files, as ``--background TAG=FILE`` names them."""

from __future__ import annotations

import csv
from collections.abc import Sequence

import numpy as np

from warner._core.atomic_files import read_whole
from warner._core.errors import ArgumentError, FileError, message
from warner.domains import Domain
from warner.results.solution import Solution
from warner.results.tables import as_text


def backgrounds(
    estimates: Sequence[Solution], options: tuple[str, ...]
) -> dict[str, dict[str, np.ndarray]]:
    """The distributions of the values that people hide under tags.

    Returns (K,).
    """
    found: dict[str, dict[str, np.ndarray]] = {}
    domains = {str(e.attribute): e.domain for e in estimates if e.domain.tags}
    for option in options:
        name, equals, path = option.partition("=")
        attribute, dot, tag = name.rpartition(".")
        tag = tag.removeprefix("@")
        places = [a for a, d in domains.items() if tag in d.tags and (not dot or a == attribute)]
        if not equals or len(places) != 1 or tag in found.get(places[0], {}):
            tags = ", ".join(f"{a}.{t}" for a, d in domains.items() for t in d.tags) or "none here"
            raise ArgumentError(
                "--background",
                f"must be TAG=FILE, with each tag at most once; the tags are {tags}",
                repr(option),
            )
        shares = _shares(path, domains[places[0]].untagged)
        found.setdefault(places[0], {})[tag] = shares
    return found


def _shares(path: str, domain: Domain) -> np.ndarray:
    """The shares (K,) in a CSV file with the columns value,share."""
    labels = {as_text(value): i for i, value in enumerate(domain.labels)}
    shares = np.full(domain.size, np.nan)
    line, data = 1, read_whole(path)
    problem = None
    try:
        for row in csv.DictReader(data.decode("utf-8-sig").splitlines()):
            line += 1
            place = labels[row["value"]]
            if not np.isnan(shares[place]):
                raise KeyError
            shares[place] = float(row["share"])
    except (KeyError, TypeError, ValueError, csv.Error):
        rule = "must have a value of the domain, once, and its share"
        problem = message(f"{path}, line {line}", rule, None, "Columns: value,share")
    if problem is None and line == 1:
        problem = message(path, "holds no shares", None, "Columns: value,share")
    if problem is not None:
        raise FileError(problem)  # outside the handler, whose exception would show a cell
    shares[np.isnan(shares)] = 0.0
    return shares
