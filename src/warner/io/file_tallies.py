"""Tallies of report files in constant memory: by GROUP BY where the format can, else in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

import numpy as np

from warner._core.errors import ArgumentError, FileError, ReportError, message
from warner._core.progress import stage
from warner.domains import Product
from warner.io.file_columns import file_columns, from_file
from warner.io.report_file import ReportFile, open_reports
from warner.mechanisms import Mechanism, PerAttribute
from warner.reports.bit_rules import BitRule
from warner.reports.marginal_tables import LARGEST
from warner.reports.schema import GroupedColumns
from warner.reports.tally import Tally

JOINT = "joint"  # the name in a tally file of the tables of several attributes together
_QUERIES = 2**10  # file columns that are counted by GROUP BY; more are counted in one pass

Progress = Callable[[int, int], object]
"""Called with (done, total) while a file is counted."""

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
    counted = _counted(file, progress, ways, keep_reports)
    return {name: tally.per_person(file.reports_per_person) for name, tally in counted.items()}


def _counted(
    file: ReportFile, progress: Progress | None, ways: int | None, keep_reports: bool
) -> dict[str, Tally]:
    """The counts of a file, in the way that suits its format and mechanisms."""
    if file.known is None:
        _require_affordable(file)
    if ways is not None:
        if keep_reports:
            rule = "does not go with tables of several attributes"
            remedy = "Leave it out, or leave out --ways"
            raise ArgumentError(message("keep_reports", rule, None, remedy))
        return _tally_jointly(file, ways, progress)
    if keep_reports:
        return _tally_batches(file, _separately(file), progress, keep_reports=True)
    schemas = [mechanism.schema for mechanism in file.mechanisms.values()]
    if (
        file.format.groups
        and len(file.columns) <= _QUERIES
        and all(schema.group_bys for schema in schemas)
    ):
        return _tally_grouped(file, progress)
    return _tally_batches(file, _separately(file), progress)


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
        raise FileError(message(file.path, rule, None, remedy))


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
    """Tallies of the attributes of a file, by GROUP BY."""
    tallies = {}
    steps = sum(mechanism.schema.group_bys for mechanism in file.mechanisms.values())
    with file.format.grouped(file.path) as columns, _counting(steps, progress) as told:
        source = _WithProgress(columns, told)
        for attribute, mechanism in file.mechanisms.items():
            names = list(file_columns(attribute, mechanism.schema))
            try:
                counted = mechanism.schema.count_grouped(source, names)
            except ReportError as error:
                raise ReportError(f"{file.path}: {error}") from None
            tallies[attribute] = Tally(mechanism.header, *counted).marked(file.simulation)
    if any(tally.n != file.n for tally in tallies.values()):
        raise file.wrong_number()
    return tallies


def _separately(file: ReportFile) -> dict[str, tuple[Mechanism, _Convert]]:
    """The attributes of a file, and how to make the columns of their reports."""
    return {a: (m, partial(from_file, a, m.schema)) for a, m in file.mechanisms.items()}


def _tally_jointly(file: ReportFile, ways: int, progress: Progress | None) -> dict[str, Tally]:
    """Marginal tables of the attributes of a file."""
    parts = file.mechanisms
    if len(parts) == 1:  # one attribute whose reports may be tuples; other mechanisms refuse ways
        return _tally_batches(file, _separately(file), progress, ways)
    whole = PerAttribute(Product(**{a: m.domain for a, m in parts.items()}), parts)

    def join(batch: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return whole.schema.join({a: from_file(a, m.schema, batch) for a, m in parts.items()})

    return _tally_batches(file, {JOINT: (whole, join)}, progress, ways)


def _tally_batches(
    file: ReportFile,
    wanted: Mapping[str, tuple[Mechanism, _Convert]],
    progress: Progress | None = None,
    ways: int | None = None,
    keep_reports: bool = False,
) -> dict[str, Tally]:
    """Tallies in one pass, a batch at a time, each batch checked as reports in memory are."""
    total: dict[str, Tally] = {}
    with _counting(file.n, progress) as told:
        for batch in file.batches():
            for name, (mechanism, convert) in wanted.items():
                columns = convert(batch)
                try:
                    mechanism.schema.check(columns)
                except ReportError as error:
                    raise ReportError(f"{file.path}: {error}") from None
                tally = (
                    Tally(mechanism.header, *mechanism.schema.count_distinct(columns))
                    if keep_reports and mechanism.schema.can_keep_reports
                    else mechanism.tally_columns(columns, ways=ways)
                )
                total[name] = total[name] + tally if name in total else tally
            told(next(iter(total.values())).n)
    if not total or any(tally.n != file.n for tally in total.values()):
        raise file.wrong_number()
    return {name: tally.marked(file.simulation) for name, tally in total.items()}
