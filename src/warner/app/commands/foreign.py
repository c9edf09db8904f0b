"""Report files that other programs wrote, on the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import click

from warner import io as files
from warner._core.checks import show
from warner._core.errors import ArgumentError, EmptyError
from warner.app.terminal import plural
from warner.io.foreign_files import columns_of_texts
from warner.reports.reports import text_start
from warner.reports.tally import Tally
from warner.studies.public import declared
from warner.studies.study import Study


class CountedFile(NamedTuple):
    """What was counted in a file.

    Attributes:
        group: the group of the study that its people belong to; None where there is none.
        seal: the digest of its content.
        tallies: {attribute: tally}; empty for a file without rows.
        foreign: whether another program wrote the file.
        named: whether all its reports are texts that name the study.
    """

    group: str | None
    seal: str
    tallies: dict[str, Tally]
    foreign: bool
    named: bool = False


def column_names(stated: Sequence[str]) -> dict[str, Any]:
    """The columns that the option --column names.

    >>> column_names(["age=report", "place.seed=s", "place.bucket=b"])
    {'age': 'report', 'place': {'seed': 's', 'bucket': 'b'}}
    """
    found: dict[str, Any] = {}
    for text in stated:
        name, sign, column = text.partition("=")
        attribute, dot, part = name.partition(".")
        if not (sign and attribute and column):
            rule = "must name an attribute and a column"
            raise ArgumentError("--column", rule, show(text), "For example age=report")
        known = found.setdefault(attribute, {} if dot else column)
        if dot and isinstance(known, dict) and part not in known:
            known[part] = column
        elif dot or text != f"{attribute}={known}" or stated.count(text) > 1:
            raise ArgumentError("--column", "names an attribute twice", show(text))
    return found


def count_foreign(
    source: files.DataFile,
    path: str,
    plan: Study,
    columns: Mapping[str, Any],
    by: Sequence[str] | None,
    ways: int | None,
    keep_reports: bool,
) -> CountedFile:
    """The tallies of a file that another program wrote."""
    if plan.groups:
        rule = "does not say of which group of the study it is"
        remedy = "Count each group with a study file of its own"
        raise ArgumentError(source.name, rule, None, remedy)
    grouped = {name: declared(plan.public, name, "--by") for name in by or ()}
    opened = files.open_foreign(path)
    layout, names = plan.layout, list(plan.mechanisms)
    starts = {name: text_start(layout, i) for i, name in enumerate(names, 1)}
    try:
        found = files.tally_foreign(
            opened, plan.mechanisms, columns, grouped, ways, keep_reports, source.values, starts
        )
    except EmptyError:  # engines write files without rows; their columns were checked
        return CountedFile(None, opened.digest, {}, True)
    most = plan.rows_per_person
    tallies = {name: tally.per_person(most) for name, tally in found.items()}
    texts = columns_of_texts(opened, plan.mechanisms, columns)
    for name, column in texts.items():
        if name in opened.names and name != column:
            click.echo(
                f"WARNING: {source.name} has a column {name!r} beside the reports on it. If it "
                "holds the answers, nothing protects them: the question must not be one of that "
                "program.",
                err=True,
            )
    return CountedFile(None, opened.digest, tallies, True, len(texts) == len(names))


def say_foreign(path: str, rows: int, many: int, named: bool, own: Sequence[int] = ()) -> None:
    """Say what was checked of files that another program wrote, and what was not."""
    where = f" in {many:,} files" if many > 1 else ""
    whole, say = ("the files are", "files do") if many > 1 else ("the file is", "file does")
    checked, made = (
        ("is of this study and ", "Whether they are")
        if named
        else ("", "Which mechanism and budget made them, whether they are")
    )
    beside = ""
    if own:
        is_are = "is 1 report file" if len(own) == 1 else f"are {len(own):,} report files"
        beside = f" Beside {'them' if many > 1 else 'it'} {is_are} of warner with "
        beside += f"{plural(sum(own), 'report', 'reports')}."
    click.echo(
        f"{path}: written by another program, {plural(rows, 'row', 'rows')}{where}. Every report "
        f"{checked}is one that the study's mechanisms can send. {made} simulated and whether "
        f"{whole} whole: this the {say} not say, so it was not checked.{beside}",
        err=True,
    )
