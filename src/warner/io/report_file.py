"""Report files: their headers, and their reports read whole or a batch at a time.

One set of rules holds for every format. Before any report is read, the columns of the file must be
those of its header: the same names in the same order, and the same types where the format has
types.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice
from typing import Any

import numpy as np

from warner._core.checks import kind, show, unknown
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    EmptyError,
    FileError,
    MismatchError,
    ReportError,
)
from warner._core.extras import duckdb, pa
from warner._core.sampling import rows_at_a_time
from warner._core.text import AS_WRITTEN, RANDOMISE_FIRST, can_name_a_file, unreadable
from warner.domains import Domain
from warner.io.file_format import (
    ROWS_PER_BATCH,
    FileFormat,
    file_columns,
    from_file,
    records_column,
    to_file,
)
from warner.io.formats import report_format
from warner.io.frames import GroupedFrame, records_in, together
from warner.io.parquet_format import StreamedColumns, connection, interruptible, relation_in_sql
from warner.io.public_values import arrow_type, groups_in, indices_of
from warner.mechanisms import Mechanism, from_header
from warner.reports.product_schema import LARGEST
from warner.reports.public_columns import (
    ColumnsOfFile,
    Value,
    domains_stated,
    secret_column,
    warn_of_groups,
)
from warner.reports.reports import Reports
from warner.reports.rules import WholeNumbers, smallest_dtype
from warner.reports.source import Batch, By, Histograms, Progress, count
from warner.reports.tally import MOST_PER_PERSON, Tally, require_same

# Versions of the headers of report files, of which the lowest is written: 1 knows neither.
SCHEMA_OF_PUBLIC, SCHEMA_OF_BLOCKS = 2, 3
SCHEMA = SCHEMA_OF_BLOCKS
_OF_OTHERS = "If another program made the reports, run: warner tally FILE --study STUDY"
_MOST_PER_BLOCK = 2**12  # reports


@dataclass(frozen=True)
class ReportFile:
    """A report file whose header and end were read. Made by :func:`open_reports`.

    The digest of the file was found to be the one that its end states.

    Attributes:
        path: the file.
        format: its format.
        headers: {attribute: the header of its mechanism}, as they stand in the file.
        end: the last entry of the file, with the number of reports ``n``.
        simulation: whether the reports were made with a generator that can be repeated.
        group: the group that all people in the file belong to; None where none is named.
        reports_per_person: the most reports of each attribute that one person sent.
        known: {attribute: mechanism}, with which the headers were compared; None if they were not
            compared, so that the file alone names its mechanisms.
        public: {name: domain} of the public columns, which stand before those of reports.
        blocks: how many reports a row holds, in one column of bytes for each attribute; None for
            one report a row. The last row may hold fewer.
        titles: {language: title} of the study that the reports were made with, as far as the file
            states them.
        round: the round of the study in which these people report; None where none is stated.
    """

    path: str
    format: FileFormat
    headers: dict[str, Any]
    end: dict[str, Any]
    simulation: bool
    group: str | None = None
    reports_per_person: int = 1
    known: Mapping[str, Mechanism] | None = None
    public: Mapping[str, Domain] = field(default_factory=dict)
    blocks: int | None = None
    titles: Mapping[str, str] = field(default_factory=dict)
    round: int | None = None

    @cached_property
    def mechanisms(self) -> dict[str, Mechanism]:
        """The mechanisms of the attributes, made from their headers on first use."""
        if self.known is not None:
            return dict(self.known)
        return {attribute: from_header(header) for attribute, header in self.headers.items()}

    @property
    def n(self) -> int:
        """How many reports of every attribute the file holds, by its end."""
        return int(self.end["n"])

    def expected(
        self, mechanisms: Mapping[str, Mechanism], public: Mapping[str, Domain] | None = None
    ) -> ReportFile:
        """The same file, after a comparison of its headers with those of ``known`` mechanisms.

        Args:
            known: {attribute: mechanism}.
            public: {name: domain} of the public columns; None where any will do.

        Raises:
            MismatchError: other attributes or public columns, or another mechanism of one.
        """
        remedy = "Use the study that the reports were made with"
        if public is not None and list(public.items()) != list(self.public.items()):
            ours, expected = (", ".join(each) or "none" for each in (self.public, public))
            rule = f"has other public columns ({ours}) than the study ({expected})"
            if ours == expected:
                rule = f"has other values in its public columns ({ours}) than the study"
            raise MismatchError(self.path, rule, None, remedy)
        if self.headers.keys() != mechanisms.keys():
            ours, expected = (", ".join(each) for each in (self.headers, mechanisms))
            rule = f"has reports on other questions ({ours}) than the study ({expected})"
            raise MismatchError(self.path, rule, None, remedy)
        for name, mechanism in mechanisms.items():
            header = self.headers[name]
            require_same(
                mechanism.header,
                header if isinstance(header, dict) else {},
                f"{self.path}: reports of {name!r} and the study",
                ("the study has", "the reports have"),
                remedy,
            )
        return replace(self, known=dict(mechanisms))

    def other_title(self, titles: Mapping[str, str]) -> str | None:
        """What is wrong where the reports were made with a study of another title.

        Args:
            titles: {language: title} of the study that the reports are taken for, "" for none.

        Returns:
            Whose reports they are, in words; None where no language has two different titles.
        """
        for language, title in titles.items():
            stated = self.titles.get(language, "")
            if stated and title and stated != title:
                return f"reports for the study {show(stated)}, not for {show(title)}"
        return None

    @cached_property
    def columns(self) -> dict[str, int]:
        """The columns of reports of the file: {name: how many values it may take}.

        Of a file of blocks they are the columns into which :meth:`batches` unpacks them.

        Raises:
            FileError: columns that are not those of the header.
            ReportError: a column of another type.
        """
        stored = self.format.columns(self.path)
        if self.blocks is not None:
            # The columns into which blocks are unpacked.
            declared = dict.fromkeys(map(records_column, self.mechanisms), "binary")
            if list(stored.items()) != list(declared.items()):
                raise self._wrong_columns(len(declared), stored)
            return self._sizes()
        width = len(self.public) + sum(m.schema.file_width for m in self.mechanisms.values())
        # A header may ask for more columns than there is memory for their names. So the number is
        # compared first.
        if len(stored) == width:
            sizes = self._sizes()
            if list(stored) == [*self.public, *sizes]:
                types = {name: str(arrow_type(domain)) for name, domain in self.public.items()}
                types |= {name: smallest_dtype(size).name for name, size in sizes.items()}
                for name, dtype in types.items():  # the smallest, where the format has types
                    if stored[name] not in ("", dtype):
                        rule = f"column {name!r} must be of type {dtype}"
                        raise ReportError(self.path, rule, stored[name], AS_WRITTEN)
                return sizes
        raise self._wrong_columns(width, stored)

    def _sizes(self) -> dict[str, int]:
        """The columns of the reports of all attributes: {name: how many values it may take}."""
        return {
            name: size
            for attribute, mechanism in self.mechanisms.items()
            for name, size in file_columns(attribute, mechanism.schema).items()
        }

    def _wrong_columns(self, width: int, stored: Mapping[str, str]) -> FileError:
        """Make the error for a file with other columns than its header states."""
        first = ", ".join(map(repr, islice(stored, 4))) + ", ..." * (len(stored) > 4)
        rule = (
            f"must have the {width} column{'s' * (width > 1)} that its beginning states, in that "
            "order"
        )
        got = f"{len(stored)} ({first})"
        return FileError(self.path, rule, got, AS_WRITTEN)

    def batches(self) -> Iterator[dict[str, np.ndarray]]:
        """The file's columns, a batch at a time, as arrays of the smallest unsigned types.

        Public columns come as the indices of their values.

        Raises:
            FileError: rows that are no reports.
            ReportError: a row without a report, or a value beyond the column's size.
        """
        if self.blocks is not None:
            yield from self._unpacked(self.blocks)
            return
        beside = [self.public] if self.public else []
        row = 0
        for batch in self._safely(self.format.batches(self.path, self.columns, *beside)):
            yield {
                name: indices_of(self.path, name, domain, batch.column(name), row)
                for name, domain in self.public.items()
            } | {
                name: _checked(batch.column(name), f"{self.path}: column {name!r}", size)
                for name, size in self.columns.items()
            }
            row += batch.num_rows

    def _safely(self, source: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches of a source that are not empty, with its errors as those of a file."""
        while True:
            try:
                batch = next(source, None)
            except (pa.ArrowException, OSError, KeyError):
                rule = "has rows that cannot be read as reports"
                raise FileError(self.path, rule, None, AS_WRITTEN) from None
            if batch is None:
                return
            if batch.num_rows:
                yield batch

    def _unpacked(self, size: int) -> Iterator[dict[str, np.ndarray]]:
        """The reports of a file of blocks, a batch at a time."""
        order = self.columns  # refuses other columns before a row is read
        width = sum(m.schema.bytes_per_report for m in self.mechanisms.values())
        rows = max(1, rows_at_a_time(width, ROWS_PER_BATCH) // size)
        names = [records_column(attribute) for attribute in self.mechanisms]
        is_over = False
        for batch in self._safely(self.format.block_batches(self.path, names, rows)):
            columns: dict[str, np.ndarray] = {}
            first: np.ndarray | None = None
            for attribute, mechanism in self.mechanisms.items():
                name = records_column(attribute)
                reports, sizes = records_in(mechanism.schema, batch.column(name), name)
                first = sizes if first is None else first
                whole = (sizes[:-1] == size).all() and sizes[-1] <= size
                if is_over or not whole or not np.array_equal(sizes, first):
                    rule = (
                        f"must have {size:,} reports in each row; only the last row may have fewer"
                    )
                    raise FileError(self.path, rule, None, AS_WRITTEN)
                columns |= to_file(attribute, mechanism.schema, reports)
            is_over = first is not None and bool(first[-1] < size)
            yield {name: columns[name] for name in order}

    def wrong_number(self) -> FileError:
        """Make the error for a file whose number of reports is not the number in its end."""
        rule = f"must have {self.n} report{'s' * (self.n > 1)} on every question (attribute)"
        return FileError(self.path, rule, None, AS_WRITTEN)


def _checked(column: Any, where: str, size: int) -> np.ndarray:
    """An Arrow column as an array; refused unless it holds 0..size-1 in the smallest type."""
    if column.null_count:
        raise ReportError(where, "has rows without a report", None, AS_WRITTEN)
    # Arrow imports pandas, where it is installed, to make an array: DLPack does without.
    is_whole = pa.types.is_integer(column.type)
    array: np.ndarray = (
        np.from_dlpack(column) if is_whole else column.to_numpy(zero_copy_only=False)
    )
    dtype = smallest_dtype(size)
    if array.dtype != dtype:
        raise ReportError(where, f"must be of type {dtype}", str(array.dtype), AS_WRITTEN)
    if not WholeNumbers(size).holds(array):
        raise ReportError(where, WholeNumbers(size).text, None, AS_WRITTEN)
    return array


def open_reports(path: str | os.PathLike[str]) -> ReportFile:
    """Read the header and the end of a report file.

    No mechanism is made from the header yet. ``open_reports(path).expected(mechanisms)`` compares
    headers first, and lifts the limit on the memory that a header alone may ask for.

    Args:
        path: a file in one of the formats of :mod:`warner.io.formats`.

    Raises:
        ArgumentError: a suffix of no format.
        FileError: no report file, or one that is truncated or was altered.
    """
    if not isinstance(path, str | os.PathLike):
        remedy = "Tally each file, and add the tallies with warner.reports.tally.merge"
        raise ArgumentTypeError("path", "must be the name of one file", kind(path), remedy)
    path = os.fspath(path)
    form = report_format(path)
    first, last = form.read_ends(path)
    head = _parsed(path, first, "has a beginning that cannot be read")
    end = _parsed(path, last, "is not complete: its end is missing or damaged")
    # Parquet that was cut off is no Parquet: another program wrote a frame with its header.
    if form.suffix == ".parquet" and not last and b"warner-reports" in first:
        rule = "is a data frame of reports that another program saved"
        remedy = (
            "Run: warner tally FILE --study STUDY. In Python, count the data frame with "
            "mechanism.tally(frame), or save the reports with reports.save(FILE)"
        )
        raise FileError(path, rule, None, remedy)
    if (
        not isinstance(head, dict)
        or head.get("format") != "warner-reports"
        or not isinstance(head.get("attributes"), dict)
        or type(head.get("schema")) is not int
    ):
        with contextlib.suppress(OSError), open(path, "rb") as file:
            if b"warner-reports" in file.read(200):
                rule = (
                    "holds reports of warner, but was changed afterwards, for example saved by "
                    "another program"
                )
                raise FileError(path, rule, None, "Use the file as warner wrote it")
        remedy = f"{RANDOMISE_FIRST}. {_OF_OTHERS}"
        raise FileError(path, "is not a report file of warner", None, remedy)
    if head.get("schema") not in range(1, SCHEMA + 1):
        rule = (
            f"has format {head.get('schema')!r}, but this version of warner reads formats only up "
            f"to {SCHEMA}"
        )
        raise FileError(path, rule, None, "Use the version of warner that wrote the file")
    if not isinstance(end, dict) or type(end.get("n")) is not int or end["n"] < 1:
        remedy = f"{AS_WRITTEN}. {_OF_OTHERS}"
        raise FileError(path, "is not complete: its end is missing or damaged", None, remedy)
    if not form.is_intact(path, end):
        rule = "was changed after warner wrote it"
        raise FileError(path, rule, None, "Use the file as warner wrote it")
    for attribute in head["attributes"]:
        if (problem := unreadable(attribute)) is not None:
            rule = f"the name of a question contains {problem}"
            raise FileError(path, rule, show(attribute), AS_WRITTEN)
    wrong: list[tuple[str, str | None]] = []
    group = head.get("group")
    if group is not None and (not isinstance(group, str) or not can_name_a_file(group)):
        wrong.append(("has a group whose name cannot be part of the name of a file", show(group)))
    most = head.get("reports_per_person", 1)
    if type(most) is not int or not 1 <= most <= MOST_PER_PERSON:
        wrong.append((f"can have at most {MOST_PER_PERSON} reports of one person", show(most)))
    blocks = head.get("blocks")
    is_count = type(blocks) is int and 1 <= blocks <= _MOST_PER_BLOCK
    if blocks is not None and not (form.holds_blocks and is_count):
        wrong.append((f"can have at most {_MOST_PER_BLOCK:,} reports in one row", show(blocks)))
    titles = head.get("titles", {})
    if not isinstance(titles, dict) or not all(isinstance(t, str) for t in titles.values()):
        wrong.append(("has a title that is not text", None))
    of_round = head.get("round")
    if of_round is not None and (type(of_round) is not int or of_round < 1):
        wrong.append(("has a round that is not a whole number from 1 on", None))
    if wrong:
        rule, got = wrong[0]
        raise FileError(path, rule, got, AS_WRITTEN)
    simulation = bool(head.get("simulation"))
    public = domains_stated(path, head.get("public") if form.holds_public else None)
    return ReportFile(
        path,
        form,
        head["attributes"],
        end,
        simulation,
        group,
        most,
        public=public,
        blocks=blocks,
        titles=titles,
        round=of_round,
    )


def _parsed(path: str, text: bytes, rule: str) -> Any:
    """The JSON ``text`` of a header or end; None if it is empty, FileError with ``rule`` if bad."""
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError):
        pass
    raise FileError(path, rule, None, AS_WRITTEN)


def read_public(path: str | os.PathLike[str]) -> dict[str, list[Value]]:
    """The values of the public columns of a report file, in the order of its reports.

    Args:
        path: a file in one of the formats of :mod:`warner.io.formats`.

    Returns:
        {name: values}, n values each, in the order of :func:`read_reports`; {} for a file without
        public columns.

    Raises:
        ArgumentError: a suffix of no format.
        FileError: no report file, or one that is truncated or was altered.
        ReportError: a value that is missing or was never declared.
    """
    file = open_reports(path)
    batches = list(file.batches()) if file.public else []
    return {
        name: domain.decode(np.concatenate([batch[name] for batch in batches]))
        for name, domain in file.public.items()
    }


def read_reports(path: str | os.PathLike[str]) -> dict[str, Reports]:
    """All reports of a file in memory, checked as :func:`warner.io.tally_file` checks them.

    The public columns of the file are read by :func:`read_public`. Columns from elsewhere, such as
    those of the answers, are in another order: beside these reports they are refused.

    Args:
        path: a file in one of the formats of :mod:`warner.io.formats`.

    Returns:
        {attribute: Reports}; a file in the wire format has the attribute ``value``.

    Raises:
        ArgumentError: a suffix of no format.
        FileError: no report file, or one that is truncated or was altered.
        ReportError: a report that its mechanism cannot have sent.
    """
    file = open_reports(path)
    batches = list(file.batches())
    columns = {
        name: np.concatenate([batch[name] for batch in batches])
        for name in ((*file.public, *file.columns) if batches else ())
    }
    if not columns or len(next(iter(columns.values()))) != file.n:
        raise file.wrong_number()
    reports = {}
    remedy = f"Use the columns of warner.io.read_public({file.path!r})"
    index = {name: columns[name] for name in file.public}
    public = ColumnsOfFile(file.path, remedy, file.public, index)
    for attribute, mechanism in file.mechanisms.items():
        own_columns = from_file(attribute, mechanism.schema, columns)
        reports[attribute] = Reports(mechanism.header, own_columns, file.simulation, file=public)
        try:
            mechanism.schema.check(own_columns)
        except ReportError as error:
            raise ReportError(f"{file.path}: {error}") from None
    return reports


# -----------------------------------------------------------------------------------------------
# Tallies of report files in constant memory: by columns where the format can, else in batches.


_QUERIES = 2**10  # file columns that are counted one by one; more are counted in one pass


def tally_file(
    path: str | os.PathLike[str] | ReportFile,
    by: Sequence[str] = (),
    *,
    progress: Progress | None = None,
    ways: int | None = None,
    keep_reports: bool | None = None,
) -> dict[str, Tally]:
    """Count the reports in a file, of all people or of each group of people.

    Args:
        path: a file that ``warner randomize``, ReportWriter, write_reports or Reports.save wrote;
            or the result of open_reports.
        by: the names of public columns of the file that make groups, in the order of the keys.
        progress: called with (done, total) while the file is counted, beside
            :func:`warner.results.progress`.
        ways: the number of attributes of each marginal table, or None. None counts every attribute
            of the file by itself. A number needs a file of PerAttribute's reports, or a file of
            several attributes in which a row holds the reports of one person.
        keep_reports: for reports of bits, keep the distinct reports instead of their bit sums; see
            :meth:`warner.mechanisms.Mechanism.tally`. The tally then grows with n. None keeps them
            where they are few and say more.

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
    if file.known is None:
        _require_affordable(file)
    if ways is not None and keep_reports:
        rule = "cannot be used with ways, which counts several questions together"
        raise ArgumentError("keep_reports", rule, None, "Leave out one of the two")
    mechanisms = together(file.mechanisms, ways)
    options: dict[str, Any] = {"ways": ways, "keep_reports": keep_reports, "progress": progress}
    tallies: dict[str, Tally] = {}
    with _readable(file.path), suppress(EmptyError):
        tallies = count(mechanisms, _FileSource(file), public, **options)
    if not tallies or any(tally.n != file.n for tally in tallies.values()):
        raise file.wrong_number()
    if by:
        warn_of_groups(next(iter(tallies.values())))
    tallies = {name: tally.marked(file.simulation).about(name) for name, tally in tallies.items()}
    most = file.reports_per_person
    return {name: tally.per_person(most).of_round(file.round) for name, tally in tallies.items()}


@contextmanager
def _readable(path: str) -> Iterator[None]:
    """Errors of the database, which may quote the file, as one that does not."""
    try:  # so that a file which needs no database does not import one
        with interruptible():
            yield
        return
    except duckdb.Error:
        pass
    raise FileError(path, "has rows that cannot be read as reports", None, AS_WRITTEN)


@dataclass(frozen=True)
class _FileSource:
    """The reports of all attributes of a report file; see ReportSource."""

    file: ReportFile

    @property
    def n(self) -> int:
        return self.file.n

    def histograms(self, by: By) -> Histograms | None:
        file = self.file
        if not file.format.groups or file.blocks is not None or len(file.columns) > _QUERIES:
            return None
        if by:  # one pass is as fast as a GROUP BY, and twice as fast for many columns or groups
            return None
        import narwhals.stable.v2 as nw

        table = connection().sql(f"SELECT * FROM {relation_in_sql(file.path)}")
        return StreamedColumns([file.path], GroupedFrame(nw.from_native(table).lazy()))

    def names(self, attribute: str) -> Sequence[str]:
        return list(file_columns(attribute, self.file.mechanisms[attribute].schema))

    def batches(self, by: By) -> Iterator[Batch]:
        public = {name: self.file.public[name] for name in by}
        for batch in self.file.batches():
            columns = {}
            for attribute, mechanism in self.file.mechanisms.items():
                columns[attribute] = from_file(attribute, mechanism.schema, batch)
                mechanism.schema.check(columns[attribute])
            yield Batch(columns, groups_in(public, batch) if public else None)

    def locate(self, error: ReportError) -> Exception:
        text = str(error)
        return ReportError(text if text.startswith(self.file.path) else f"{self.file.path}: {text}")


def _public_columns(file: ReportFile, by: Sequence[str]) -> dict[str, Domain]:
    """The public columns of a file that are asked for."""
    if isinstance(by, str) or not isinstance(by, Sequence):
        rule, remedy = "must be a list of names of public columns", "For example ['ward']"
        raise ArgumentTypeError("by", rule, kind(by), remedy)
    if len(set(by)) < len(by):
        rule = "must not name a public column twice"
        raise ArgumentError("by", rule, ", ".join(map(show, by)))
    for name in by:
        if name not in file.public:
            attributes = (m.domain.attributes for m in file.mechanisms.values())
            if name in {*file.mechanisms, *chain.from_iterable(attributes)}:
                raise secret_column("by", name, file.public)
            remedy = "Declare the column in the study before the answers are randomised"
            raise unknown("by", name, file.public, f"the public columns of {file.path}", remedy)
    return {name: file.public[name] for name in by}


def _require_affordable(file: ReportFile) -> None:
    """Refuse a header that asks for too many counts: a few bytes can ask for gigabytes."""
    cells = {attribute: m.schema.cells for attribute, m in file.mechanisms.items()}
    if sum(cells.values()) > LARGEST:
        most = max(cells, key=lambda name: cells[name])
        rule = (
            f"would need {sum(cells.values()):,} counts, most of them for {most!r}, "
            f"and without a study at most {LARGEST:,} are made"
        )
        remedy = "Give the study: --study, or open_reports(path).expected(study.mechanisms)"
        raise FileError(file.path, rule, None, remedy)
