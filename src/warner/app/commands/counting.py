"""The files that the command tally counts: single files, and data sets of many."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import click

from warner import io as files
from warner._core.errors import ArgumentError, EmptyError, MismatchError, message
from warner._core.progress import stage
from warner.app.checkpoint import Checkpoint
from warner.app.command_files import as_file, require_study, warn_of_simulation
from warner.app.commands.foreign import CountedFile, count_foreign, say_foreign
from warner.app.terminal import plural
from warner.reports.grouped_tally import AnyTally
from warner.reports.tally import require_same
from warner.studies.study import Study


@dataclass(frozen=True)
class Wanted:
    """What is to be counted, and how.

    Attributes:
        plan: the study, or None.
        columns: the columns of reports, as the option --column names them.
        by: the public columns that group people, or None.
        ways: the number of attributes of each marginal table, or None.
        keep_reports: whether to keep the distinct reports of bits.
    """

    plan: Study | None
    columns: Mapping[str, Any]
    by: Sequence[str] | None
    ways: int | None
    keep_reports: bool

    @property
    def asked(self) -> dict[str, Any]:
        """What a checkpoint must agree with, as JSON data."""
        study = None if self.plan is None else [self.plan.digest, self.plan.rows_per_person]
        by = None if self.by is None else list(self.by)
        return {
            "study": study,
            "columns": dict(self.columns),
            "by": by,
            "ways": self.ways,
            "keep_reports": self.keep_reports,
        }


Parts = dict[str | None, dict[str, dict[str, AnyTally]]]
"""{group of the study: {argument of the command: {attribute: tally}}}."""


def count_all(paths: Sequence[str], wanted: Wanted, checkpoint: str | None) -> Parts:
    """The tallies of files and data sets.

    Args:
        paths: the arguments of the command: files, folders, patterns and addresses.
        wanted: what is counted.
        checkpoint: the file of a checkpoint, or None.

    Raises:
        ArgumentError: two files with the same content.
        EmptyError: a file or a data set without rows.
        MismatchError: files of a data set that different mechanisms made.
        FileError, ReportError: a file that cannot be read, or reports that cannot have been sent.
    """
    sources = {path: _files(path) for path in dict.fromkeys(paths)}
    repeated = [path for path in sources if paths.count(path) > 1]
    names = [file.name for found in sources.values() for file in found]
    _refuse_alike(sources)
    if checkpoint is not None and "-" in names:
        rule, remedy = "does not go with standard input", "Name a file"
        raise ArgumentError(message("--checkpoint", rule, None, remedy))
    parts: Parts = {}
    seals: dict[str, str] = {}
    sizes = {f.path: 0 if f.path == "-" else f.state()[0] for v in sources.values() for f in v}
    kept = nullcontext() if checkpoint is None else Checkpoint(checkpoint, wanted.asked, names)
    several = files.one_database() if len(names) > 1 else nullcontext()
    with several, kept as memory, stage("counting bytes", sum(sizes.values())) as tell:
        done = 0
        for path, found in sources.items():
            sums = _Sums(files.shown(path))
            for file in found:
                counted = _counted(file, wanted, memory)
                if not counted.tallies:
                    sums.empty.append(file.name)
                    continue
                if counted.seal in seals or path in repeated:
                    got = f"{file.name}, whose content was given before"
                    raise ArgumentError(message("reports", "must not be counted twice", got))
                seals[counted.seal] = file.name
                sums.add(file.name, counted)
                done += sizes[file.path]
                tell(done)
            if not sums.totals:
                raise EmptyError(message(sums.path, "holds no reports"))
            for group, tallies in sums.said():
                parts.setdefault(group, {})[sums.path] = tallies
    return parts


def _files(path: str) -> list[files.DataFile]:
    """The files of an argument."""
    return files.files_of(path) if files.is_data_set(path) else [files.DataFile(path)]


def _refuse_alike(sources: Mapping[str, Sequence[files.DataFile]]) -> None:
    """Refuse different addresses that have one name without their queries and passwords."""
    for paths in (sources, {file.path for found in sources.values() for file in found}):
        named: dict[str, str] = {}
        for path in paths:
            if named.setdefault(files.shown(path), path) != path:
                rule = "is the name of several addresses, but for queries and passwords"
                raise ArgumentError(message(files.shown(path), rule, None, "Count them apart"))


def _counted(file: files.DataFile, wanted: Wanted, memory: Checkpoint | None) -> CountedFile:
    """The tallies of a file, from the checkpoint if it has them."""
    if memory is None:
        return _count(file, wanted)
    known = memory.found(file)
    if known is not None:
        return known
    before = file.state()
    counted = _count(file, wanted)
    if counted.tallies:  # a file without rows is read again, which costs nothing
        memory.add(file, before, counted)
    return counted


def _count(file: files.DataFile, wanted: Wanted) -> CountedFile:
    """The tallies of a file."""
    with as_file(file.path) as path:
        if wanted.plan is not None and files.is_foreign(path):
            return count_foreign(
                file, path, wanted.plan, wanted.columns, wanted.by, wanted.ways, wanted.keep_reports
            )
        return _count_own(path, wanted)


def _count_own(path: str, wanted: Wanted) -> CountedFile:
    """The tallies of a report file of warner."""
    opened = files.open_reports(path)
    if wanted.plan is not None:
        opened = require_study(opened, wanted.plan, wanted.ways is not None)
    found: Mapping[str, AnyTally] = (
        files.tally_file(opened, None, wanted.ways, wanted.keep_reports)
        if wanted.by is None
        else files.tally_file_by(opened, wanted.by, None, wanted.ways, wanted.keep_reports)
    )
    return CountedFile(opened.group, opened.end["sha256"], dict(found), False)


@dataclass
class _Sums:
    """The sums of the files of an argument, by the group of the study.

    Attributes:
        path: the argument.
        totals: {group: {attribute: the sum so far}}.
        firsts: {group: the first file}.
        foreign: {a file that another program wrote: the number of its rows}.
        named: whether all reports of these files are texts that name the study.
        empty: the files without rows, which add nothing.
    """

    path: str
    totals: dict[str | None, dict[str, AnyTally]] = field(default_factory=dict)
    firsts: dict[str | None, str] = field(default_factory=dict)
    foreign: dict[str, int] = field(default_factory=dict)
    named: bool = True
    empty: list[str] = field(default_factory=list)

    def add(self, path: str, counted: CountedFile) -> None:
        """Add the tallies of a file.

        Raises:
            MismatchError: a file of other attributes or mechanisms than the first of its group.
        """
        if counted.foreign:
            self.foreign[path] = next(iter(counted.tallies.values())).n
            self.named = self.named and counted.named
        first = self.firsts.setdefault(counted.group, path)
        known = self.totals.get(counted.group)
        if known is None:
            self.totals[counted.group] = dict(counted.tallies)
            return
        if known.keys() != counted.tallies.keys():
            got = f"{', '.join(known)} in {first}, {', '.join(counted.tallies)} in {path}"
            rule, remedy = "are of different attributes", "Count them apart"
            raise MismatchError(message("files", rule, got, remedy))
        for name, tally in counted.tallies.items():
            require_same(known[name].header, tally.header, f"{name!r} in {first} and in {path}")
            if known[name].simulated != tally.simulated:
                rule = "hold simulated reports beside real ones"
                raise MismatchError(
                    message("files", rule, f"{first} and {path}", "Count them apart")
                )
            known[name] = known[name] + tally

    def said(self) -> Iterator[tuple[str | None, dict[str, AnyTally]]]:
        """The sums of each group, after what is to be said of the files."""
        if self.empty:
            many = plural(len(self.empty), "file without rows adds", "files without rows add")
            click.echo(f"{self.path}: {many} nothing, the first is {self.empty[0]}.", err=True)
        if self.foreign:
            say_foreign(self.path, sum(self.foreign.values()), len(self.foreign), self.named)
        if any(t.simulated for tallies in self.totals.values() for t in tallies.values()):
            warn_of_simulation(self.path)
        yield from self.totals.items()
