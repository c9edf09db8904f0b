"""The files that commands about groups read: a tally file for each group, and margins."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from warner._core.checks import show
from warner._core.errors import ArgumentError, FileError
from warner.app.command_files import apart, read_or_count, tallies_together
from warner.reports.tally import TalliesOfGroups


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
