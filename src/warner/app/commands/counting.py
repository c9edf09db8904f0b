"""The files that the command tally counts: single files, and data sets of many."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import click

from warner import io as files
from warner._core.errors import (
    ArgumentError,
    EmptyError,
    FileError,
    MismatchError,
    WarnerError,
)
from warner._core.progress import stage
from warner._core.text import in_one_line
from warner.app.checkpoint import Checkpoint
from warner.app.command_files import add_tallies, as_file, require_study, warn_of_simulation
from warner.app.commands.foreign import CountedFile, count_foreign, say_foreign
from warner.app.terminal import plural
from warner.reports.tally import Tally, require_same
from warner.studies.study import Study

_NO_CHANCE = 1e-9  # the probability below which equal counts are those of the same reports


@dataclass(frozen=True)
class Wanted:
    """What is to be counted, and how.

    Attributes:
        plan: the study, or None.
        columns: the columns of reports, as the option --column names them.
        by: the public columns that group people, or None.
        ways: the number of attributes of each marginal table, or None.
        keep_reports: whether to keep the distinct reports of bits.
        allow_equal: whether files may have equal counts.
        allow_simulated: whether simulated reports may be added to real ones.
    """

    plan: Study | None
    columns: Mapping[str, Any]
    by: Sequence[str] | None
    ways: int | None
    keep_reports: bool
    allow_equal: bool = False
    allow_simulated: bool = False

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


Totals = dict[str | None, dict[str, Tally]]
"""{group of the study: {attribute: tally}}."""


def count_all(paths: Sequence[str], wanted: Wanted, checkpoint: str | None) -> Totals:
    """The sum of the tallies of files and data sets."""
    sources = {path: _files(path) for path in dict.fromkeys(paths)}
    _refuse_alike(sources)
    _refuse_repeated(paths, sources)
    found = [(path, file) for path, own in sources.items() for file in own]
    if checkpoint is not None and "-" in sources:
        rule, remedy = "does not go with standard input", "Name a file"
        raise ArgumentError("--checkpoint", rule, None, remedy)
    states = {file.path: (0, 0) if file.path == "-" else file.state() for _, file in found}
    files_alone = [file for _, file in found]
    kept = (
        nullcontext() if checkpoint is None else Checkpoint(checkpoint, wanted.asked, files_alone)
    )
    several = files.one_database() if len(found) > 1 else nullcontext()
    sums = {path: _Sums(in_one_line(files.shown(path)), wanted.allow_simulated) for path in sources}
    before = _Before([sums[path].path for path in sources], wanted, len(found))
    whole = sum(size for size, _ in states.values())
    with several, kept as memory, stage("counting bytes", whole) as tell:
        if memory is not None:
            # What was counted before comes first, so that it is the new file that is refused.
            found.sort(key=lambda pair: not memory.knows(pair[1]))
        done = 0
        for path, file in found:
            own = sums[path]
            state = file.state() if memory is not None else None
            counted = _counted(file, wanted, memory, existed=states[file.path] != (0, 0))
            if not counted.tallies:  # a file without rows is read again, which costs nothing
                own.empty.append(file.name)
                continue
            before.require_other(own.path, file.name, file.path == path, counted)
            own.add(file.name, counted)
            if memory is not None and state is not None and not memory.knows(file):
                memory.add(file, state, counted)
            done += states[file.path][0]
            tell(done)
        parts: dict[str | None, dict[str, dict[str, Tally]]] = {}
        for one in sums.values():
            if not one.totals:
                raise EmptyError(one.path, "holds no reports")
            for group, tallies in one.said():
                parts.setdefault(group, {})[one.path] = tallies
        try:
            return {
                group: add_tallies(part, wanted.allow_equal, wanted.allow_simulated)
                for group, part in parts.items()
            }
        except WarnerError:
            if memory is not None:
                memory.undo()  # either argument can then be left out
            raise


def _files(path: str) -> list[files.DataFile]:
    """The files of an argument."""
    if not files.is_data_set(path):
        return [files.DataFile(path)]
    left_out: list[str] = []
    found = files.files_of(path, left_out)
    if left_out:
        name = in_one_line(files.shown(path))
        many = plural(len(left_out), "file was", "files were")
        whose = "its ending" if len(left_out) == 1 else "their endings"
        first = in_one_line(files.shown(left_out[0]))
        click.echo(f"{name}: {many} left out because of {whose}, the first is {first}.", err=True)
    return found


def _refuse_alike(sources: Mapping[str, Sequence[files.DataFile]]) -> None:
    """Refuse different addresses that have one name without their queries and passwords."""
    for paths in (sources, {file.path for found in sources.values() for file in found}):
        named: dict[str, str] = {}
        for path in paths:
            if named.setdefault(files.shown(path), path) != path:
                rule = "is the name of several addresses, but for queries and passwords"
                raise ArgumentError(files.shown(path), rule, None, "Count them apart")


def _refuse_repeated(paths: Sequence[str], sources: Mapping[str, Sequence[files.DataFile]]) -> None:
    """Refuse a file that is named twice: by one argument, by two, or under two names."""
    for path in sources:
        if paths.count(path) > 1:
            rule = "is named twice, and is not counted twice"
            raise ArgumentError(files.shown(path), rule, None, "Name it once")
    seen: dict[str, tuple[str, str]] = {}
    for path, found in sources.items():
        for file in found:
            first, other = seen.setdefault(file.place, (path, file.name))
            if first != path:
                got = f"{files.shown(first)} and {files.shown(path)}"
                rule = f"is named by two arguments, {got}, and is not counted twice"
                raise ArgumentError(file.name, rule, None, "Name it once")
            if other != file.name:
                rule = f"is the same file as {other}, and is not counted twice"
                raise ArgumentError(file.name, rule, None, "Remove one of the names")


@dataclass
class _Before:
    """All files that were counted before, against which each file is checked.

    Equal counts of two files named one by one are refused. In folders, two small files may have
    equal counts by chance. They are refused where chance cannot explain it: with m files there are
    m (m - 1) / 2 pairs, and the chance that any of them is equal is at most their number times the
    chance of one pair (the union bound). That of a pair is at most that of its least likely
    attribute. A million reports of 16 values have 1e-22, those of one question with yes and no have
    1e-3. So copies of such files are not noticed by their counts.

    Attributes:
        paths: the arguments of the command.
        wanted: what is counted.
        many: the number of files.
        seals: {digest of the content: file}.
        counts: {group and digests of the tallies: the file, and whether it was named by itself}.
        firsts: {group: the argument and the tallies of the first file}.
        checked: the groups and arguments whose first file was compared.
    """

    paths: Sequence[str]
    wanted: Wanted
    many: int
    seals: dict[str, str] = field(default_factory=dict)
    counts: dict[tuple[str | None, str], tuple[str, bool]] = field(default_factory=dict)
    firsts: dict[str | None, tuple[str, dict[str, Tally]]] = field(default_factory=dict)
    checked: set[tuple[str | None, str]] = field(default_factory=set)

    def require_other(self, path: str, name: str, alone: bool, counted: CountedFile) -> None:
        """Refuse a file that does not go with those before it."""
        other = self.seals.setdefault(counted.seal, name)
        if other != name:
            rule = f"has the same content as {other}, and is not counted twice"
            raise ArgumentError(name, rule, None, "Remove one of them")
        first, tallies = self.firsts.setdefault(counted.group, (path, counted.tallies))
        if first != path and (counted.group, path) not in self.checked:
            self.checked.add((counted.group, path))
            both = {first: tallies, path: counted.tallies}
            add_tallies(both, True, self.wanted.allow_simulated, self.paths)
        if not self.wanted.allow_equal:
            self._require_other_counts(name, alone, counted)

    def _require_other_counts(self, name: str, alone: bool, counted: CountedFile) -> None:
        """Refuse a file whose counts are equal to those of another, and not by chance."""
        digests = ",".join(f"{a!r}:{t.digest}" for a, t in sorted(counted.tallies.items()))
        other, both = self.counts.setdefault((counted.group, digests), (name, alone))
        if other == name:
            return
        chance = min(t.total().chance_of_a_twin for t in counted.tallies.values())
        if (both and alone) or chance * self.many * (self.many - 1) / 2 < _NO_CHANCE:
            got = f"{other} and {name}, whose counts are equal"
            remedy = "Leave one out; if they are of different people, say --allow-equal"
            raise ArgumentError("reports", "must not be counted twice", got, remedy)


def _counted(
    file: files.DataFile, wanted: Wanted, memory: Checkpoint | None, existed: bool
) -> CountedFile:
    """The tallies of a file, from the checkpoint if it has them."""
    try:
        known = None if memory is None else memory.found(file)
        return _count(file, wanted) if known is None else known
    except WarnerError as error:
        if not (existed and file.is_gone):
            # Such a name may have line ends, and a message is one line.
            error.args = tuple(
                part.replace(file.path, in_one_line(file.path)) if isinstance(part, str) else part
                for part in error.args
            )
            raise
    except Exception:
        # The errors of a database or a file system, each of its own class.
        if not (existed and file.is_gone):
            raise
    rule = "was removed while it was counted"
    raise FileError(file.name, rule, None, "Run the command again")


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
    found = files.tally_file(
        opened, wanted.by or (), ways=wanted.ways, keep_reports=wanted.keep_reports
    )
    return CountedFile(opened.group, opened.end["sha256"], found, False)


@dataclass
class _Sums:
    """The sums of the files of an argument, by the group of the study.

    Attributes:
        path: the argument.
        allow_simulated: whether simulated reports may be added to real ones.
        totals: {group: {attribute: the sum so far}}.
        firsts: {group: the first file}.
        foreign: {a file that another program wrote: the number of its rows}.
        own: the number of reports of each report file of warner.
        named: whether all reports of the files of another program are texts that name the study.
        empty: the files without rows, which add nothing.
    """

    path: str
    allow_simulated: bool
    totals: dict[str | None, dict[str, Tally]] = field(default_factory=dict)
    firsts: dict[str | None, str] = field(default_factory=dict)
    foreign: dict[str, int] = field(default_factory=dict)
    own: list[int] = field(default_factory=list)
    named: bool = True
    empty: list[str] = field(default_factory=list)

    def add(self, path: str, counted: CountedFile) -> None:
        """Add the tallies of a file."""
        rows = next(iter(counted.tallies.values())).n
        if not counted.foreign:
            self.own.append(rows)
        else:
            self.foreign[path] = rows
            self.named = self.named and counted.named
        first = self.firsts.setdefault(counted.group, path)
        known = self.totals.get(counted.group)
        if known is None:
            self.totals[counted.group] = dict(counted.tallies)
            return
        if known.keys() != counted.tallies.keys():
            got = f"{', '.join(known)} in {first}, {', '.join(counted.tallies)} in {path}"
            rule, remedy = "are of different attributes", "Count them apart"
            raise MismatchError("files", rule, got, remedy)
        for name, tally in counted.tallies.items():
            require_same(known[name].header, tally.header, f"{name!r} in {first} and in {path}")
            marks = {known[name].simulated, tally.simulated}
            if len(marks) > 1 and not self.allow_simulated:
                rule = f"hold simulated reports beside real ones; got {first} and {path}"
                remedy = "Count them apart, or say --allow-simulated to count all as simulated"
                raise MismatchError("files", rule, None, remedy)
            known[name] = known[name].marked(any(marks)) + tally.marked(any(marks))

    def said(self) -> Iterator[tuple[str | None, dict[str, Tally]]]:
        """The sums of each group, after what is to be said of the files."""
        if self.empty:
            many = plural(len(self.empty), "file without rows adds", "files without rows add")
            click.echo(f"{self.path}: {many} nothing, the first is {self.empty[0]}.", err=True)
        if self.foreign:
            say_foreign(
                self.path, sum(self.foreign.values()), len(self.foreign), self.named, self.own
            )
        if any(t.simulated for tallies in self.totals.values() for t in tallies.values()):
            warn_of_simulation(self.path)
        yield from self.totals.items()
