"""What the options --only and --joint ask for: tallies, and the estimates made of them."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click
import numpy as np

from warner._core.atomic_files import read_whole
from warner._core.checks import show
from warner._core.errors import ArgumentError, FileError, MethodWarning, message
from warner.app.command_files import apart, one_or_all, read_or_count, tallies_together
from warner.domains import Domain
from warner.estimators import Estimator
from warner.mechanisms import from_header
from warner.reports.tally import TalliesOfGroups, Tally
from warner.results.estimate import Estimate
from warner.results.estimate import estimate as estimate_tally
from warner.results.solution import Solution
from warner.results.tables import as_text

_T = TypeVar("_T", bound=Tally)


def attributes_of(parts: Sequence[Tally]) -> list[str]:
    """The attributes that tallies of one domain are about; [] where they are of one question."""
    return list(from_header(parts[0].header).attribute_domains)


def chosen_tallies(
    tallies: Mapping[str, Sequence[_T]], only: tuple[str, ...]
) -> dict[str, Sequence[_T]]:
    """The tallies of the attributes that --only names, or that hold them; all without --only."""
    return {
        name: parts
        for name, parts in tallies.items()
        if not only or name in only or set(only) & set(attributes_of(parts))
    }


def asked_tallies(
    tallies: Mapping[str, Sequence[_T]], only: tuple[str, ...], joint: tuple[str, ...]
) -> Iterator[tuple[str, Sequence[_T], list[str] | None]]:
    """What to estimate, as the options say."""
    inside = {name: attributes_of(parts) for name, parts in tallies.items()}
    names = dict.fromkeys([*tallies, *(own for known in inside.values() for own in known)])
    unknown = [name for name in only if name not in names]
    if unknown:
        raise ArgumentError("--only", f"must be one of {', '.join(names)}", ", ".join(unknown))
    chosen = chosen_tallies(tallies, only)
    if not joint:
        for name, parts in chosen.items():
            yield name, parts, None
    for text in joint:
        attributes = [attribute.strip() for attribute in text.split(",")]
        if unknown := [name for name in attributes if name not in names]:
            rule = f"must be names among {', '.join(names)}"
            raise ArgumentError("--joint", rule, ", ".join(unknown))
        # The tallies that have all of them; where none has, the first says why.
        fits = [name for name in chosen if set(attributes) <= {name, *inside[name]}]
        if not fits and len(set(attributes)) > 1 and set(attributes) <= set(names):
            rule = "needs attributes whose reports are counted together"
            raise ArgumentError("--joint", rule, text, f"Tally them with --ways {len(attributes)}")
        for name in fits or list(chosen)[:1]:
            yield " x ".join(attributes), chosen[name], attributes


def estimates_of(
    name: str,
    parts: Sequence[Tally],
    chosen: Estimator | None,
    names: list[str] | None,
    only: tuple[str, ...],
) -> Iterator[Estimate]:
    """The estimate asked for, and of attributes that are randomised together also each alone."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MethodWarning)
        result = estimate_tally(one_or_all(parts), chosen, names)
    if result.advice is not None:
        click.echo(f"{name}: {result.advice}", err=True)
    if names is not None or not only or name in only:
        yield replace(result, attribute=name)
    known = [] if names is not None or parts[0].ways is not None else attributes_of(parts)
    for own in known:
        if not only or own in only:
            yield result.marginal(own)


# -----------------------------------------------------------------------------------------------
# The files that commands about groups read: a tally file for each group, and margins.


def read_groups(
    paths: Sequence[str], simulated: bool, by: Sequence[str] = ()
) -> dict[str, TalliesOfGroups]:
    """The tallies of groups, by attribute.

    Args:
        paths: files of tallies of groups, which are added. Or a file for each group, ``NAME=FILE``
            or a file whose name says the group.
        simulated: whether simulated reports may stand beside real ones.
        by: some of the public columns, for coarser groups; all where it is empty.

    Returns:
        {attribute: {public values: tally}}.

    Raises:
        ArgumentError: a single file without groups, or two groups of one name.
        MismatchError: files of different attributes, domains or public columns.
    """
    named = [group_and_file(path) for path in paths]
    files = [file for _, file in named]
    # Groups can have equal counts by chance, since small groups have few reports.
    flat, grouped = apart(tallies_together(files, read_or_count, len(files) > 1, simulated))
    if grouped:
        sums = {name: sum(parts[1:], start=parts[0]) for name, parts in grouped.items()}
        return {name: tally.by(*by) if by else tally for name, tally in sums.items()}
    if by:
        rule = "goes with a tally of groups, made by warner tally --by"
        raise ArgumentError("--by", rule, ", ".join(by))
    if len(paths) < 2:
        rule = "must be a tally of groups, or at least 2 files, one for each group"
        raise ArgumentError("tallies", rule, None, "Tally by group: warner tally --by")
    names = [name for name, _ in named]
    if len(set(names)) < len(names):
        rule, remedy = "must have different names", "Name them: north=tally.json"
        raise ArgumentError("groups", rule, ", ".join(names), remedy)
    return {
        attribute: {(name,): part for name, part in zip(names, parts, strict=True)}
        for attribute, parts in flat.items()
    }


def group_and_file(text: str) -> tuple[str, str]:
    """The name of a group and its file.

    >>> group_and_file("north=tally.json"), group_and_file("out/tally.clinic A.json")
    (('north', 'tally.json'), ('clinic A', 'out/tally.clinic A.json'))
    >>> group_and_file("south.json")
    ('south', 'south.json')
    """
    name, sign, file = text.partition("=")
    if sign and name and file and not Path(text).exists():
        return name, file
    stem = Path(text).stem
    return stem.partition(".")[2] or stem, text


def read_margins(path: str, groups: TalliesOfGroups) -> dict[str, dict[Any, float]]:
    """The margins of a population in a CSV file with the columns column,value,number."""
    columns = tuple(getattr(groups, "names", ("group",)))
    values = {column: {str(key[i]): key[i] for key in groups} for i, column in enumerate(columns)}
    with open(path, newline="", encoding="utf-8-sig") as file:
        rows = list(csv.reader(file))
    header = [name.strip().lower() for name in rows[0]] if rows else []
    if header == ["value", "number"] and len(columns) == 1:
        rows = [["column", *rows[0]], *([columns[0], *row] for row in rows[1:] if row)]
    elif header != ["column", "value", "number"]:
        rule = "must have the columns column,value,number"
        raise FileError(path, rule, show(",".join(header)))
    margins: dict[str, dict[Any, float]] = {}
    for line, row in enumerate(rows[1:], 2):
        if not row:
            continue
        try:
            column, text, number = (cell.strip() for cell in row)
            amount = float(number)
        except ValueError:
            rule = f"line {line} must have a column, a value and a number"
            raise FileError(path, rule) from None
        value = values.get(column, {}).get(text, text)
        if value in margins.setdefault(column, {}):
            raise FileError(path, f"line {line} has a value for the second time")
        margins[column][value] = amount
    return margins


# -----------------------------------------------------------------------------------------------
# Background knowledge about tags from CSV files, as ``--background TAG=FILE`` names them.


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
