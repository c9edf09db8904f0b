"""The files that commands about groups read: a tally file for each group, and margins."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from warner._core.checks import show
from warner._core.errors import ArgumentError, FileError, message
from warner.app.command_files import read_or_count_tallies, tallies_together
from warner.reports.tally import Tally

Groups = dict[tuple[str, ...], Tally]


def read_groups(paths: Sequence[str], simulated: bool) -> dict[str, Groups]:
    """The tallies of groups, by attribute.

    Args:
        paths: a file for each group, ``NAME=FILE`` or a file whose name says the group.
        simulated: whether simulated reports may stand beside real ones.

    Returns:
        {attribute: {(group,): tally}}.

    Raises:
        ArgumentError: a single file, or two groups of one name.
        MismatchError: files of different attributes or domains.
    """
    if len(paths) < 2:
        rule = "must be at least 2, one for each group"
        raise ArgumentError(message("tallies", rule, str(len(paths)), "Tally by group"))
    named = [group_and_file(path) for path in paths]
    names = [name for name, _ in named]
    if len(set(names)) < len(names):
        rule, remedy = "must have different names", "Name them: north=tally.json"
        raise ArgumentError(message("groups", rule, ", ".join(names), remedy))
    # Groups can have equal counts by chance, since small groups have few reports.
    files = [file for _, file in named]
    found = tallies_together(files, read_or_count_tallies, True, simulated)
    return {
        attribute: {(name,): part for name, part in zip(names, parts, strict=True)}
        for attribute, parts in found.items()
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


def read_margins(path: str, columns: Sequence[str]) -> dict[str, dict[str, float]]:
    """The margins of a population in a CSV file with the columns column,value,number.

    Args:
        path: the file. With a single public column, ``column`` may be left out.
        columns: the public columns of the groups.

    Raises:
        FileError: another header, or a number that is none.
    """
    with open(path, newline="", encoding="utf-8-sig") as file:
        rows = list(csv.reader(file))
    header = [name.strip().lower() for name in rows[0]] if rows else []
    if header == ["value", "number"] and len(columns) == 1:
        rows = [["column", *rows[0]], *([columns[0], *row] for row in rows[1:] if row)]
    elif header != ["column", "value", "number"]:
        rule = "must have the columns column,value,number"
        raise FileError(message(path, rule, show(",".join(header))))
    margins: dict[str, dict[str, float]] = {}
    for line, row in enumerate(rows[1:], 2):
        if not row:
            continue
        try:
            column, value, number = (cell.strip() for cell in row)
            amount = float(number)
        except ValueError:
            rule = f"line {line} must have a column, a value and a number"
            raise FileError(message(path, rule)) from None
        if value in margins.setdefault(column, {}):
            raise FileError(message(path, f"line {line} has a value for the second time"))
        margins[column][value] = amount
    return margins
