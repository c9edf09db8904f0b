"""Tallies of report files in constant memory: by columns where the format can, else in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

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
from warner.io.file_format import GroupedRows, file_columns, from_file
from warner.io.public_values import groups_in
from warner.io.report_file import ReportFile, open_reports
from warner.mechanisms import Mechanism, PerAttribute
from warner.reports.product_schema import LARGEST
from warner.reports.public_columns import Groups
from warner.reports.schema import BitRule, GroupedColumns
from warner.reports.tally import Tally
from warner.reports.tally_kinds import Counted

JOINT = "joint"  # the name in a tally file of the tables of several attributes together
_QUERIES = 2**10  # file columns that are counted one by one; more are counted in one pass

Progress = Callable[[int, int], object]
"""Called with (done, total) while a file is counted."""

_Convert = Callable[[Mapping[str, np.ndarray]], dict[str, np.ndarray]]
"""Makes columns of reports from columns of a file."""


def tally_file(
    path: str | ReportFile,
    by: Sequence[str] = (),
    *,
    progress: Progress | None = None,
    ways: int | None = None,
    keep_reports: bool = False,
) -> dict[str, Tally]:
    """Count the reports in a file, of all people or of each group of people.

    Args:
        path: a file that ``warner randomize``, ReportWriter, write_reports or Reports.save wrote;
            or the result of open_reports.
        by: the names of public columns of the file that make groups, in the order of the keys.
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
            message then says which ``ways`` fit. Also a public column that the file does not have,
            or more groups than there is memory for.
        FileError: the file is not a report file, is truncated, or was altered.
        ReportError: a report that its mechanism cannot have sent, or a public value that is missing
            or was never declared.
    """
    file = path if isinstance(path, ReportFile) else open_reports(path)
    public = _public_columns(file, by)
    _check_options(file, ways, keep_reports)
    if _by_database(file, ways, keep_reports):
        counted = _tally_where_stored(file, public, progress)
    else:
        counted = _tally_batches(file, public, ways, keep_reports, progress)
    return {name: tally.per_person(file.reports_per_person) for name, tally in counted.items()}


def _public_columns(file: ReportFile, by: Sequence[str]) -> dict[str, Domain]:
    """The public columns of a file that are asked for."""
    if isinstance(by, str) or not isinstance(by, Sequence):
        rule, remedy = "must be a list of public columns", "For example ['ward']"
        raise ArgumentTypeError("by", rule, kind(by), remedy)
    if len(set(by)) < len(by):
        rule = "must be different names of public columns"
        raise ArgumentError("by", rule, ", ".join(map(show, by)))
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


def _tally_where_stored(
    file: ReportFile, by: Mapping[str, Domain], progress: Progress | None
) -> dict[str, Tally]:
    """Tallies of the attributes of a file, by GROUP BY."""
    tallies = {}
    with file.format.grouped(file.path, by) as columns:
        groups = _groups(file, columns)
        for attribute, mechanism, counted in _database_counts(file, columns, progress):
            tallies[attribute] = Tally(mechanism.header, counted, groups, file.simulation)
    if any(tally.n != file.n for tally in tallies.values()):
        raise file.wrong_number()
    return tallies


def _groups(file: ReportFile, columns: GroupedRows) -> Groups | None:
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
) -> Iterator[tuple[str, Mechanism, Counted]]:
    """The counts of each attribute of a file, by its columns."""
    steps = sum(mechanism.schema.group_bys for mechanism in file.mechanisms.values())
    with _counting(steps, progress) as told:
        source = _WithProgress(columns, told)
        for attribute, mechanism in file.mechanisms.items():
            names = list(file_columns(attribute, mechanism.schema))
            try:
                counted = mechanism.schema.count_where_stored(source, names)
            except ReportError as error:
                raise ReportError(f"{file.path}: {error}") from None
            yield attribute, mechanism, counted


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
    file: ReportFile,
    by: Mapping[str, Domain],
    ways: int | None,
    keep_reports: bool,
    progress: Progress | None,
) -> dict[str, Tally]:
    """Tallies in one pass, a batch at a time, each batch checked as reports in memory are."""
    total: dict[str, Tally] = {}
    wanted = _wanted(file, ways)
    with _counting(file.n, progress) as told:
        for batch in file.batches():
            groups = groups_in(by, batch) if by else None
            for name, (mechanism, convert) in wanted.items():
                columns = convert(batch)
                try:
                    mechanism.schema.check(columns)
                except ReportError as error:
                    raise ReportError(f"{file.path}: {error}") from None
                keep = keep_reports and mechanism.schema.can_keep_reports
                tally = mechanism.count(columns, groups, ways=ways, keep_reports=keep)
                total[name] = total[name] + tally if name in total else tally
            told(next(iter(total.values())).n)
    if not total or any(tally.n != file.n for tally in total.values()):
        raise file.wrong_number()
    return {name: tally.marked(file.simulation) for name, tally in total.items()}
