"""Tallies of report files in constant memory: by columns where the format can, else in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

import numpy as np

from warner._core.checks import kind, show
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    FileError,
    ReportError,
)
from warner._core.progress import stage
from warner.domains import Domain
from warner.io.file_columns import file_columns, from_file
from warner.io.file_format import GroupedRows
from warner.io.public_values import groups_in
from warner.io.report_file import ReportFile, open_reports
from warner.mechanisms import Mechanism, PerAttribute
from warner.reports.bit_rules import BitRule
from warner.reports.grouped_tally import GroupedTally
from warner.reports.marginal_tables import LARGEST
from warner.reports.public_columns import Groups
from warner.reports.schema import GroupedColumns
from warner.reports.tally import Tally
from warner.reports.tally_kinds import CountedGroups

JOINT = "joint"  # the name in a tally file of the tables of several attributes together
_QUERIES = 2**10  # file columns that are counted one by one; more are counted in one pass

Progress = Callable[[int, int], object]
"""Called with (done, total) while a file is counted."""

_T = TypeVar("_T", Tally, GroupedTally)
_Out = TypeVar("_Out", covariant=True)


class _Way(Protocol[_Out]):
    """How the reports of a batch are counted."""

    @property
    def ways(self) -> int | None:
        """The number of attributes of each marginal table, or None."""

    def count(
        self,
        mechanism: Mechanism,
        columns: Mapping[str, np.ndarray],
        batch: Mapping[str, np.ndarray],
        /,
    ) -> _Out:
        """The tally of checked columns of reports, from a batch of columns of the file."""


_Convert = Callable[[Mapping[str, np.ndarray]], dict[str, np.ndarray]]
"""Makes columns of reports from columns of a file."""


def tally_file(
    path: str | ReportFile,
    progress: Progress | None = None,
    ways: int | None = None,
    keep_reports: bool = False,
) -> dict[str, Tally]:
    """Count the reports in a file.

    Args:
        path: a file that ``warner randomize``, ReportWriter, write_reports or Reports.save wrote;
            or the result of open_reports.
        progress: called with (done, total) while the file is counted. :func:`warner.progress` hears
            of it too.
        ways: the number of attributes of each marginal table, or None. None counts every attribute
            of the file by itself. A number needs a file of PerAttribute's reports, or a file of
            several attributes in which a row holds the reports of one person.
        keep_reports: for reports of bits, keep the distinct reports instead of their bit sums; see
            :meth:`warner.mechanisms.Mechanism.tally`. The tally then grows with n.

    Returns:
        {attribute: Tally}. For ``ways`` and a file of several attributes, it is {"joint": Tally}.

    Raises:
        ArgumentError: the suffix of the file names no format; ``ways`` for reports on a single
            attribute, or together with ``keep_reports``; or the tables would be too large. The
            message then says which ``ways`` fit.
        FileError: the file is not a report file, is truncated, or was altered.
        ReportError: a report that its mechanism cannot have sent.
    """
    file = path if isinstance(path, ReportFile) else open_reports(path)
    _check_options(file, ways, keep_reports)
    if _by_database(file, ways, keep_reports):
        counted = _tally_grouped(file, progress)
    else:
        counted = _tally_batches(file, _Ungrouped(ways, keep_reports), progress)
    return {name: tally.per_person(file.reports_per_person) for name, tally in counted.items()}


def tally_file_by(
    path: str | ReportFile,
    by: Sequence[str],
    progress: Progress | None = None,
    ways: int | None = None,
    keep_reports: bool = False,
) -> dict[str, GroupedTally]:
    """Count the reports in a file for each group of people, by its public columns.

    Args:
        path, progress, ways, keep_reports: as in :func:`tally_file`.
        by: the names of public columns of the file, in the order of the keys.

    Returns:
        {attribute: GroupedTally}. For ``ways`` and a file of several attributes, it is
        {"joint": GroupedTally}.

    Raises:
        ArgumentError: no names, a column that the file does not have, or more groups than there is
            memory for; and as in :func:`tally_file`.
        FileError, ReportError: as in :func:`tally_file`; also a public value that is missing or was
            never declared.
    """
    file = path if isinstance(path, ReportFile) else open_reports(path)
    columns = _public_columns(file, by)
    _check_options(file, ways, keep_reports)
    if _by_database(file, ways, keep_reports):
        counted = _tally_grouped_by(file, columns, progress)
    else:
        counted = _tally_batches(file, _ByGroups(columns, ways, keep_reports), progress)
    return {name: tally.per_person(file.reports_per_person) for name, tally in counted.items()}


def _public_columns(file: ReportFile, by: Sequence[str]) -> dict[str, Domain]:
    """The public columns of a file that are asked for."""
    if isinstance(by, str) or not isinstance(by, Sequence):
        rule, remedy = "must be a list of public columns", "For example ['ward']"
        raise ArgumentTypeError("by", rule, kind(by), remedy)
    if not by or len(set(by)) < len(by):
        rule = "must be different names of public columns, at least one"
        raise ArgumentError("by", rule, ", ".join(map(show, by)) or "none")
    for name in by:
        if name not in file.public:
            known = ", ".join(file.public) or "none"
            rule = f"must be public columns of {file.path}, which has {known}"
            remedy = "Declare them in the study before the answers are randomised"
            raise ArgumentError("by", rule, show(name), remedy)
    return {name: file.public[name] for name in by}


def _check_options(file: ReportFile, ways: int | None, keep_reports: bool) -> None:
    """Refuse options that do not go together, and headers that ask for too much."""
    if file.known is None:
        _require_affordable(file)
    if ways is not None and keep_reports:
        rule = "does not go with tables of several attributes"
        remedy = "Leave it out, or leave out --ways"
        raise ArgumentError("keep_reports", rule, None, remedy)


def _by_database(file: ReportFile, ways: int | None, keep_reports: bool) -> bool:
    """Whether the columns of the file are counted one by one, and not whole reports in batches."""
    return (
        ways is None
        and not keep_reports
        and file.format.groups
        and file.blocks is None
        and len(file.columns) <= _QUERIES
        and all(mechanism.schema.group_bys for mechanism in file.mechanisms.values())
    )


def _require_affordable(file: ReportFile) -> None:
    """Refuse a header that asks for too many counts: a few bytes can ask for gigabytes."""
    asked = {attribute: m.schema.cells for attribute, m in file.mechanisms.items()}
    if sum(asked.values()) > LARGEST:
        most = max(asked, key=lambda name: asked[name])
        rule = (
            f"would need {sum(asked.values())} counts, most of them for {most!r}, "
            f"and a header alone may ask for {LARGEST}"
        )
        remedy = "Name the mechanisms: --study, or open_reports(path).expected(mechanisms)"
        raise FileError(file.path, rule, None, remedy)


@contextmanager
def _counting(total: int, progress: Progress | None) -> Iterator[Callable[[int], None]]:
    """The stage of the counts of a file, of which a function can be told as well."""
    with stage("counting", total) as tell:

        def told(done: int) -> None:
            tell(done)
            if progress is not None:
                progress(done, total)

        yield told


class _WithProgress:
    """Grouped columns that report progress; see GroupedColumns."""

    def __init__(self, source: GroupedColumns, told: Callable[[int], None]) -> None:
        self._source, self._told, self._done = source, told, 0

    def counts(self, columns: Mapping[str, int]) -> np.ndarray:
        table = self._source.counts(columns)
        self._done += 1
        self._told(self._done)
        return table

    def any_breaks(self, rule: BitRule, masks: Mapping[str, int]) -> bool:
        return self._source.any_breaks(rule, masks)


def _tally_grouped(file: ReportFile, progress: Progress | None) -> dict[str, Tally]:
    """Tallies of the attributes of a file, by its columns."""
    with file.format.ungrouped(file.path) as columns:
        tallies = {
            attribute: Tally(mechanism.header, *counted.only()).marked(file.simulation)
            for attribute, mechanism, counted in _database_counts(file, columns, progress)
        }
    if any(tally.n != file.n for tally in tallies.values()):
        raise file.wrong_number()
    return tallies


def _tally_grouped_by(
    file: ReportFile, by: Mapping[str, Domain], progress: Progress | None
) -> dict[str, GroupedTally]:
    """Tallies of groups, by GROUP BY with the public columns."""
    tallies = {}
    with file.format.grouped(file.path, by) as columns:
        groups = _groups(file, columns)
        for attribute, mechanism, counted in _database_counts(file, columns, progress):
            tallies[attribute] = GroupedTally(
                mechanism.header, groups.columns, groups.keys, counted, file.simulation
            )
    if any(tally.n != file.n for tally in tallies.values()):
        raise file.wrong_number()
    return tallies


def _groups(file: ReportFile, columns: GroupedRows) -> Groups:
    """The groups of a file; the error of a wrong public value names its row."""
    problem = None
    try:
        return columns.groups()
    except ReportError as error:
        problem = error
    for _ in file.batches():  # the database does not know the rows of a file
        pass
    raise problem


def _database_counts(
    file: ReportFile, columns: GroupedColumns, progress: Progress | None
) -> Iterator[tuple[str, Mechanism, CountedGroups]]:
    """The counts of each attribute of a file, by its columns."""
    steps = sum(mechanism.schema.group_bys for mechanism in file.mechanisms.values())
    with _counting(steps, progress) as told:
        source = _WithProgress(columns, told)
        for attribute, mechanism in file.mechanisms.items():
            names = list(file_columns(attribute, mechanism.schema))
            try:
                counted = mechanism.schema.count_grouped(source, names)
            except ReportError as error:
                raise ReportError(f"{file.path}: {error}") from None
            yield attribute, mechanism, counted


@dataclass(frozen=True)
class _Ungrouped:
    """Counts the reports of a batch together."""

    ways: int | None
    keep_reports: bool

    def count(
        self, mechanism: Mechanism, columns: Mapping[str, np.ndarray], _: Mapping[str, np.ndarray]
    ) -> Tally:
        if self.keep_reports and mechanism.schema.can_keep_reports:
            return Tally(mechanism.header, *mechanism.schema.count_distinct(columns))
        return mechanism.tally_columns(columns, ways=self.ways)


@dataclass(frozen=True)
class _ByGroups:
    """Counts the reports of a batch for each group of people."""

    by: Mapping[str, Domain]
    ways: int | None
    keep_reports: bool

    def count(
        self,
        mechanism: Mechanism,
        columns: Mapping[str, np.ndarray],
        batch: Mapping[str, np.ndarray],
    ) -> GroupedTally:
        groups = groups_in(self.by, batch)
        return mechanism.tally_groups(columns, groups, None, self.ways, self.keep_reports)


def _wanted(file: ReportFile, ways: int | None) -> dict[str, tuple[Mechanism, _Convert]]:
    """What to count, and how to make the columns of its reports.

    Without ``ways``, each attribute. Otherwise all attributes of the file together; the reports of
    a single attribute may be tuples, and other mechanisms refuse ``ways``.
    """
    parts = file.mechanisms
    if ways is None or len(parts) == 1:
        return {a: (m, partial(from_file, a, m.schema)) for a, m in parts.items()}
    whole = PerAttribute.of(parts)

    def join(batch: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return whole.schema.join({a: from_file(a, m.schema, batch) for a, m in parts.items()})

    return {JOINT: (whole, join)}


def _tally_batches(
    file: ReportFile, way: _Way[_T], progress: Progress | None = None
) -> dict[str, _T]:
    """Tallies in one pass, a batch at a time, each batch checked as reports in memory are."""
    total: dict[str, _T] = {}
    wanted = _wanted(file, way.ways)
    with _counting(file.n, progress) as told:
        for batch in file.batches():
            for name, (mechanism, convert) in wanted.items():
                columns = convert(batch)
                try:
                    mechanism.schema.check(columns)
                except ReportError as error:
                    raise ReportError(f"{file.path}: {error}") from None
                tally = way.count(mechanism, columns, batch)
                total[name] = total[name] + tally if name in total else tally
            told(next(iter(total.values())).n)
    if not total or any(tally.n != file.n for tally in total.values()):
        raise file.wrong_number()
    return {name: tally.marked(file.simulation) for name, tally in total.items()}
