"""Report files that other programs wrote: Parquet or CSV without a header of warner.

A study says what the reports are. What is checked: every column is there, has no gaps, and holds
only reports that the mechanism can send. What cannot be checked, because such a file does not say
it: which mechanism and budget made the reports, whether they are simulated, and whether the file is
whole.

Survey tools carry reports as texts in a hidden field (:mod:`warner.reports.reports`). A text
says which study and which question it is of, so that is checked too.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import json
import os
import re
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any
from zoneinfo import ZoneInfo

from warner._core.atomic_files import temporary_file
from warner._core.checks import show
from warner._core.errors import EmptyError, FileError, ReportError, message
from warner._core.extras import duckdb, pa
from warner._core.foreign_tables import ColumnNames, header_of
from warner._core.progress import steps
from warner._core.text import RANDOMISE, RANDOMISE_FIRST, series
from warner.domains import Domain
from warner.domains.interval import Dates
from warner.io.answer_column import as_whole_weights
from warner.io.answer_tables import AGAIN
from warner.io.csv_format import CsvFormat
from warner.io.data_sets import state_of
from warner.io.formats import refuse_unread, report_format
from warner.io.frames import (
    JOINT,
    RECORDS,
    Columns,
    FrameSource,
    GroupedFrame,
    Mechanisms,
    ReportColumns,
    attribute_columns,
    batches,
    by_days,
    checked_groups,
    entries,
    records_column,
    report_columns,
    require_questions,
    together,
)
from warner.io.parquet_format import (
    ParquetFormat,
    column_in_sql,
    connection,
    ending,
    file_name_in_sql,
    interruptible,
    is_remote,
    redacted_address,
    refuse_damaged,
    rows_of,
)
from warner.io.public_values import holds_integers, remedy_of
from warner.io.report_file import open_reports
from warner.io.stated_headers import StatedHeader
from warner.mechanisms import Mechanism
from warner.reports.public_columns import Key
from warner.reports.reports import START, from_texts
from warner.reports.source import By, count
from warner.reports.tally import Tally

# -----------------------------------------------------------------------------------------------
# What is wrong with a file that another program wrote. A failed count asks for it.


WHOLE = r" *-?[0-9]+(\.0*)? *"  # other programs write whole numbers beside gaps as 1.0
_BEGIN = 2**10
_PARQUET = (b"PAR1", b"PARE")
_DELIMITERS = ",;\t|"
_TEXT = re.compile(rb"[^\x00-\x08\x0e-\x1f]*")


def require_content(path: str, suffix: str) -> None:
    """Refuse a file that is empty, or whose content does not agree with its ending."""
    with open(path, "rb") as file:
        begin = file.read(_BEGIN)
    is_parquet = begin.startswith(_PARQUET)
    if not begin:
        raise FileError(path, "is empty", None, "Copy it here again, or remove it")
    refuse_unread(path)
    if suffix == CsvFormat.suffix and is_parquet:
        rule = f"is a Parquet file, but its name ends in {suffix}"
        rename = f"Rename the file, so that its name ends in {ParquetFormat.suffix}"
        raise FileError(path, rule, None, rename)
    if suffix == ParquetFormat.suffix and not is_parquet and _TEXT.fullmatch(begin):
        rule = f"is text such as CSV, but its name ends in {suffix}"
        of_text = f"If it is CSV, rename the file, so that its name ends in {CsvFormat.suffix}"
        raise FileError(path, rule, None, of_text)


def refuse_ragged(path: str) -> None:
    """Refuse a CSV file with a row of more or fewer fields than its first line."""
    # The whole file is read, so this is asked only where it could not be counted.
    with open(path, newline="", encoding="utf-8-sig") as file:
        try:
            line = file.readline()
            delimiter = max(_DELIMITERS, key=line.count)
            file.seek(0)
            rows = csv.reader(file, delimiter=delimiter)
            width = len(next(rows, []))
            counted = ((i, len(cells)) for i, cells in enumerate(rows, 1))
            wrong = next(((i, n) for i, n in counted if n not in (0, width)), None)
        except (csv.Error, UnicodeDecodeError):
            return
    if wrong is not None and width > 1:
        fields = "1 field" if wrong[1] == 1 else f"{wrong[1]} fields"
        rule = f"data row {wrong[0]:,} has {fields}, but the first line has {width}"
        raise FileError(path, rule, None, AGAIN)


def no_number(cells: Mapping[str, str | None]) -> str | None:
    """The first column of a row of CSV whose cell has a text that is no whole number.

    >>> no_number({"a_report": "1.0", "b_report": None, "c_report": "two"})
    'c_report'
    """
    texts = {name: cell for name, cell in cells.items() if cell is not None and cell.strip()}
    return next((name for name, cell in texts.items() if not re.fullmatch(WHOLE, cell)), None)


_PIECE = 2**20  # bytes
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"  # how a folder says that a value is missing
_INTEGER = re.compile(r"-?[0-9]{1,18}")
_MOMENTS = ("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS")
_MOST_DAYS = 400  # of a column that are asked one by one whether clocks are changed
_OFFSET = re.compile(r"([+-])([0-9]{2}):?([0-9]{2})")  # of a time zone without a name
_SUFFIXES = (ParquetFormat.suffix, CsvFormat.suffix)


@dataclass(frozen=True)
class ForeignFile:
    """A file, or a folder of files, with reports that another program wrote."""

    path: str
    names: tuple[str, ...]  # the names of its columns
    is_text: bool  # CSV; its first line may hold answers by mistake, so messages do not show it
    parts: tuple[str, ...]  # the files of a folder; else the file itself
    streams: tuple[str, ...]  # the Parquet files of this machine that hold its columns as they are
    _table: str
    _files: tuple[str, ...] = ()  # the files of this machine
    _texts: frozenset[str] = frozenset()  # the columns of texts
    _bytes: frozenset[str] = frozenset()  # the columns of bytes
    _headers: tuple[dict[str, Any] | None, ...] = ()  # of the frames that it was written from
    # {column of moments: the time zones that its files name}
    _zones: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def columns(
        self, mechanism: Mechanism, column: ColumnNames, attribute: str = "NAME"
    ) -> dict[str, str]:
        """The columns of the reports of one attribute, as ``report_columns`` finds them."""
        problem, columns = None, {}
        option = f"--column {attribute}=COLUMN"
        remedy = f"Say which column has the reports: {option}"
        if mechanism.is_on_paper:
            remedy = (
                f"Say which column has what people said: {option}. If the table has counts, write "
                "--counts before the name of the file"
            )
        # A column that is called after a question holds its answers.
        if not {attribute, *(mechanism.attribute_domains or ())}.isdisjoint(self.names):
            of_others = f"If another program made the reports, say which column has them: {option}"
            remedy = f"{RANDOMISE_FIRST if mechanism.is_on_paper else RANDOMISE}. {of_others}"
        try:
            columns = report_columns(mechanism.schema, self.names, column, self.is_text, remedy)
        except ReportError as error:
            problem = f"{self.path}: {str(error).removeprefix('data: ')}"
        if problem is not None:
            self.refuse_damage()
            raise ReportError(problem)
        return columns

    def stated(
        self, mechanisms: Mechanisms, columns: Mapping[str, Mapping[str, str]]
    ) -> StatedHeader:
        """What the file says about reports in some columns, compared with their mechanisms."""
        where = {name: list(names.values()) for name, names in columns.items()}
        of = [
            StatedHeader.compared(header, mechanisms, where, self.names, self.path)
            for header in self._headers
        ]
        simulated, most = any(s.simulated for s in of), max(s.reports_per_person for s in of)
        return StatedHeader(simulated, most, tuple(name for s in of for name in s.silent_on))

    def refuse_damage(self) -> None:
        """Refuse a file that was removed, or whose rows of text differ in their fields."""
        for name in self._files:
            if not Path(name).exists():
                rule = "was removed while it was counted"
                raise FileError(name, rule, None, "Run the command again")
            if self.is_text:
                refuse_ragged(name)

    def records(self, mechanisms: Mechanisms, columns: Columns) -> dict[str, str]:
        """The columns of bytes that hold whole reports: {attribute: column}; see ``records_in``."""
        column_of = {
            name: records_column(m.schema, columns[name], self.names, sorted(self._bytes))
            for name, m in mechanisms.items()
        }
        return {name: column for name, column in column_of.items() if column is not None}


def is_foreign(path: str) -> bool:
    """Whether a file has no header of warner. A folder of files, as Spark writes it, has none."""
    if is_remote(path) or (Path(path).suffix in _SUFFIXES and Path(path).is_dir()):
        return True
    form = report_format(path)
    if form.suffix not in _SUFFIXES:
        return False
    require_content(path, form.suffix)
    header, end = form.read_ends(path)
    # Another program wrote a frame with its header. Parquet that was cut off is no Parquet.
    return not header or (form.suffix == ParquetFormat.suffix and not end)


def open_foreign(path: str) -> ForeignFile:
    """Read the names of the columns of a file that another program wrote."""
    suffix = ending(path)
    parts = _parts(path, suffix)
    local = () if any(map(is_remote, parts)) else tuple(parts)
    for name in local:
        require_content(name, suffix)
    files = ", ".join(map(file_name_in_sql, parts))
    is_text = suffix == CsvFormat.suffix
    options = "header=true, all_varchar=true" if is_text else "filename=false"
    read = "read_csv" if is_text else "read_parquet"
    table = f"{read}([{files}], hive_partitioning=false, {options})"
    bare = ForeignFile(path, (), is_text, tuple(parts), (), table, local)
    metadata: list[dict[bytes, bytes]] = [{}]
    with connection() as database:
        query = f"DESCRIBE SELECT * FROM {table}"
        described = _safely(bare, lambda: database.execute(query).fetchall())
        if not is_text:
            metadata = _metadata(bare, database, files, len(parts))
    different = {json.dumps(header_of(of_file)) for of_file in metadata}
    names = tuple(row[0] for row in described)
    texts = frozenset(row[0] for row in described if row[1] == "VARCHAR")
    binary = frozenset(row[0] for row in described if row[1] == "BLOB")
    streams = () if is_text else local
    moments = [row[0] for row in described if row[1] in _MOMENTS]
    return replace(
        bare,
        names=names,
        streams=streams,
        _texts=texts,
        _bytes=binary,
        _headers=tuple(map(json.loads, different)),
        _zones=_zones(moments, metadata) if moments else {},
    )


def _metadata(file: ForeignFile, database: Any, names: str, many: int) -> list[dict[bytes, bytes]]:
    """What Parquet files say of themselves and of the frames that they were written from."""
    query = (
        f"SELECT file_name, key, value FROM parquet_kv_metadata([{names}]) "
        "WHERE decode(key) IN ('warner', 'PANDAS_ATTRS', 'ARROW:schema')"
    )
    stated: dict[str, dict[bytes, bytes]] = {}
    for name, key, value in _safely(file, lambda: database.execute(query).fetchall()):
        stated.setdefault(name, {})[key] = value
    return [*stated.values(), *[{}] * (many - len(stated))]


def _zones(
    moments: Sequence[str], metadata: Iterable[Mapping[bytes, bytes]]
) -> dict[str, list[str]]:
    """The time zones of columns of moments: Parquet has them in UTC, and Arrow names theirs."""
    zones: dict[str, set[str]] = {name: set() for name in moments}
    for of_file in metadata:
        schema = pa.schema([])
        if b"ARROW:schema" in of_file:
            with contextlib.suppress(pa.ArrowException, ValueError):  # of a later Arrow
                schema = pa.ipc.read_schema(pa.py_buffer(b64decode(of_file[b"ARROW:schema"])))
        types = dict(zip(schema.names, schema.types, strict=True))
        for name, of_column in zones.items():
            of_column.add(getattr(types.get(name), "tz", None) or "UTC")
    return {name: sorted(of_column) for name, of_column in zones.items()}


def _local_in_sql(file: ForeignFile, column: str, zone: str) -> str:
    """Moments as the dates and times of the clocks in a time zone, whatever the machine's is."""
    moment = f"epoch_us(CAST({column} AS TIMESTAMPTZ))"
    if (ahead := _ahead(file, moment, zone)) is not None:  # which takes a fifth of the time
        return f"make_timestamp({moment} + {ahead // timedelta(microseconds=1)})"
    name = zone.replace("'", "''")
    return f"timezone('{name}', {column})"


def _ahead(file: ForeignFile, moment: str, zone: str) -> timedelta | None:
    """How far clocks are ahead of UTC on all days of a column; None if they are changed."""
    if offset := _OFFSET.fullmatch("+00:00" if zone == "UTC" else zone):
        return int(offset[1] + "1") * timedelta(hours=int(offset[2]), minutes=int(offset[3]))
    query = f"SELECT min({moment}), max({moment}) FROM {file._table}"
    with contextlib.suppress(LookupError, TypeError, ValueError, OverflowError):
        ends = (rows_of(query) or [()])[0]  # none where the file cannot be read
        first, last = (datetime.fromtimestamp(end // 1_000_000, UTC) for end in ends)
        days, clock = (last - first).days + 2, ZoneInfo(zone)
        moments = (first + timedelta(day) for day in range(min(days, _MOST_DAYS)))
        ahead = {each.astimezone(clock).utcoffset() for each in moments}
        return ahead.pop() if len(ahead) == 1 and days < _MOST_DAYS else None
    return None


def _parts(path: str, suffix: str) -> list[str]:
    """The files of a folder in the order of their names; of a file the file itself."""
    if not Path(path).is_dir():
        return [path]
    names = sorted(name for name in os.listdir(path) if name.endswith(suffix))
    files = [str(Path(path) / name) for name in names if not name.startswith((".", "_"))]
    if not files:
        raise FileError(path, f"is a folder without {suffix} files", None, "Check the path")
    return files


@contextmanager
def digest_beside(file: ForeignFile) -> Iterator[Callable[[], str]]:
    """The SHA-256 of a file, by a function that waits: a thread computes it beside the block."""
    if any(map(is_remote, file.parts)):  # the state of an object is asked of this thread's database
        digest = _digest(file.parts)
        yield lambda: digest
        return
    stop = Event()
    with ThreadPoolExecutor(1) as pool:
        try:
            yield pool.submit(_digest, file.parts, stop.is_set).result
        finally:
            stop.set()  # after an error, or Ctrl-C


def _digest(parts: Sequence[str], is_over: Callable[[], bool] = lambda: False) -> str:
    """SHA-256 of the contents of files, one after the other, until nobody needs it."""
    digest = hashlib.sha256()
    buffer = memoryview(bytearray(_PIECE))  # one, because new memory costs as much as the digest
    for name in parts:
        if is_remote(name):
            # The content is not fetched twice.
            digest.update(repr((redacted_address(name), *state_of(name))).encode())
            continue
        with open(name, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            for _ in steps(range(0, max(size, 1), _PIECE), "computing the digest"):
                if is_over():
                    return ""
                digest.update(buffer[: file.readinto(buffer)])
    return digest.hexdigest()


def content_digest(path: str) -> str:
    """The digest that a warner file states, or that of all bytes: no file is counted twice."""
    return _digest([path]) if is_foreign(path) else str(open_reports(path).end["sha256"])


def _safely(file: ForeignFile, work: Callable[[], Any]) -> Any:
    """The result of work in the database, whose errors may quote the file and are not shown."""
    rule, remedy = "cannot be read as a table of reports", AGAIN
    if file.is_text:
        remedy = "Save it as CSV in UTF-8, with the names of the columns in the first line"
    try:
        with interruptible():
            return work()
    except duckdb.ConversionException:  # pandas writes NaN for whole numbers that are missing
        rule = "must have only whole numbers in its columns of reports, and not NaN"
        remedy = "Leave out the rows without a report, and write the column as integers"
    except duckdb.Error:
        pass
    file.refuse_damage()
    raise FileError(redacted_address(file.path), rule, None, remedy)


def tally_foreign(
    file: ForeignFile,
    mechanisms: Mechanisms,
    columns: Columns | None = None,
    by: Mapping[str, Domain] | None = None,
    ways: int | None = None,
    keep_reports: bool = False,
    values: Mapping[str, str] | None = None,
    starts: Mapping[str, str] | None = None,
) -> dict[str, Tally]:
    """Count the reports in a file that another program wrote, in constant memory."""
    # ``values`` are public values of all rows, as names of folders state them. ``starts`` are the
    # beginnings of texts, which are read into memory: 10 to 100 bytes for each person.
    given, stated_by = dict(columns or {}), dict(values or {})
    require_questions(given, mechanisms)
    texts = columns_of_texts(file, mechanisms, given) if starts else {}
    numbers = {name: m for name, m in mechanisms.items() if name not in texts}
    named = named_columns(file, numbers, given, ways)
    stated = file.stated(numbers, named)
    _require_public(file, by or {}, stated_by)
    beside = {name: v for name, v in stated_by.items() if name not in file.names}
    if texts and starts:
        of_texts = {a: mechanisms[a] for a in texts}
        decoded = _decoded(file, of_texts, texts, starts, named, by or {}, beside)
        beside = {}  # they are columns of the table
        file = replace(file, is_text=False, streams=(), _table=_DECODED, _zones={})
        named |= {a: _decoded_names(a, mechanisms[a]) for a in texts}
    counted = together(mechanisms, ways)
    if counted.keys() != mechanisms.keys():
        named = {JOINT: {f"{a}.{end}": name for a in mechanisms for end, name in named[a].items()}}
    used = [*(by or ()), *(column for names in named.values() for column in names.values())]
    tallies: dict[str, Tally] = {}
    with _near(file, used) as near, connection() as database:
        if texts and starts:
            database.register(_DECODED, decoded)
        by_column = [name for name in by or () if name in near.names]
        for path in near.streams if by_column else ():  # once, and not for each attribute
            refuse_damaged(path, by_column)
        for name, mechanism in steps(list(counted.items()), "counting attributes"):
            words = mechanism.code_of_look if mechanism.is_on_paper else {}
            read = partial(_relation, database, near, named[name], by or {}, beside, words)
            form: Any = "records" if RECORDS in named[name] else "numbers"
            ends = [RECORDS] if RECORDS in named[name] else mechanism.schema.file_columns()
            form_of_answers = mechanism.domain.text
            labels = [] if form_of_answers is None else form_of_answers.labels or []
            if words:
                labels = [*mechanism.report_words, *mechanism.reads_as]
            where = ReportColumns(mechanism.schema, [named[name][e] for e in ends], form)
            source = _ForeignSource(near, _safely(near, read), name, where, by or {}, labels, words)
            options: dict[str, Any] = {"ways": ways, "keep_reports": keep_reports}
            work = partial(count, {name: mechanism}, source, by, **options)
            tallies |= _safely(near, work)
    return {name: stated.of(tally) for name, tally in tallies.items()}


def named_columns(
    file: ForeignFile, mechanisms: Mechanisms, columns: Columns, ways: int | None = None
) -> dict[str, dict[str, str]]:
    """{attribute: {name in the schema: column}}; one of bytes has the name of records."""
    usual = {
        name: columns.get(name, _usual(file, name, m, mechanisms)) for name, m in mechanisms.items()
    }
    records = {} if ways is not None else file.records(mechanisms, usual)
    return {
        name: {RECORDS: records[name]}
        if name in records
        else file.columns(mechanism, usual[name], name)
        for name, mechanism in mechanisms.items()
    }


_LEAVE_OUT = (
    "To leave out people with an empty cell, give this table to warner estimate, with --study and "
    "--drop-missing"
)


class _ForeignSource(FrameSource):
    """The reports of one attribute in a file of another program; see ReportSource."""

    def __init__(
        self,
        file: ForeignFile,
        table: duckdb.DuckDBPyRelation,
        attribute: str,
        columns: ReportColumns,
        by: By,
        labels: Sequence[str],
        words: Mapping[str, int],
    ) -> None:
        import narwhals.stable.v2 as nw

        # The columns of words are read by SQL alone.
        streams = () if set(columns.names) & file._texts else file.streams
        super().__init__(nw.from_native(table).lazy(), {attribute: columns}, streams)
        self._file, self._by, self._labels, self._words = file, by, labels, words

    def locate(self, error: ReportError) -> Exception:
        from warner.io.read_answers import MISSING

        ((name, columns),) = self._columns.items()
        text = str(error).removeprefix("data: ")
        if text.startswith("reports: "):
            text = f"{name}: {text.removeprefix('reports: ')}"
        row = None
        if columns.form != "records":
            row = _safely(self._file, partial(_first_wrong, self._rows, columns, self._by))
        if self._words and text.startswith("public column "):  # the words are not to blame
            return ReportError(self._of_public(text, row))
        if self._words and row is not None:
            # The first line has the names.
            where = f"{self._file.path}: line {row + 2:,}: column {columns.names[0]!r}"
            rule = f"must be one of {', '.join(self._labels)}"
            if _entries(self._file, columns.names, row)[0] in MISSING:
                return ReportError(message(where, rule, "no answer", _LEAVE_OUT))
            return ReportError(message(where, rule, "another word", "Correct the word"))
        return ReportError(_located(self._file, columns.names, text, row, self._labels))

    def _of_public(self, text: str, row: int | None) -> str:
        """The message of a wrong public value: of the line, and of decimals by their name."""
        from warner.io.read_answers import have_no_entry

        if row is None:
            return f"{self._file.path}: {text}"
        where = f"{self._file.path}: line {row + 2:,}"
        names = [name for name in self._by if name in self._file.names]
        entries = _entries(self._file, names, row)
        for name, entry in zip(names, entries, strict=True):
            domain = self._by[name]
            is_whole = domain is not None and holds_integers(domain)
            if is_whole and re.fullmatch(r"\d*[.,]\d+", entry):
                rule = f"public column {name!r} must be a whole number, as the study declares"
                remedy = self._remedy_of_weights(name)
                return message(where, rule, "a number with decimals", remedy)
        return f"{where}: {text}" + f" {_LEAVE_OUT}." * bool(have_no_entry(entries).any())

    def _remedy_of_weights(self, name: str) -> str:
        """How the weights in a column become whole numbers."""
        cell = f"trim(CAST({column_in_sql(name)} AS VARCHAR))"
        behind = f"regexp_extract({cell}, '^[0-9]*[.,]([0-9]+)$', 1)"
        largest = f"max(TRY_CAST(replace({cell}, ',', '.') AS DOUBLE))"
        query = f"SELECT max(length(rtrim({behind}, '0'))), {largest} FROM {self._file._table}"
        with connection() as database:
            needed, most = _safely(self._file, lambda: database.execute(query).fetchone())
        return as_whole_weights(needed, most, self._by[name])


def _entries(file: ForeignFile, names: Sequence[str], row: int) -> list[str]:
    """What stands in some columns of a row, as texts without blanks around them."""
    cells = ", ".join(f"CAST({column_in_sql(name)} AS VARCHAR)" for name in names)
    with connection() as database:
        query = f"SELECT {cells or 0} FROM {file._table} LIMIT 1 OFFSET {row}"
        entries = _safely(file, lambda: database.execute(query).fetchone())
    return ["" if entry is None else str(entry).strip() for entry in entries[: len(names)]]


@contextmanager
def _near(file: ForeignFile, used: Sequence[str]) -> Iterator[ForeignFile]:
    """A file on this machine that holds some columns of one at an address, which is read once."""
    if not is_remote(file.path) or file._table == _DECODED:
        yield file
        return
    columns = ", ".join(column_in_sql(n) for n in dict.fromkeys(used) if n in file.names)
    with temporary_file(suffix=ParquetFormat.suffix) as copy, connection() as database:
        into = f"{file_name_in_sql(copy)} (FORMAT parquet)"
        query = f"COPY (SELECT {columns} FROM {file._table}) TO {into}"
        _safely(file, lambda: database.execute(query))
        table = f"read_parquet({file_name_in_sql(copy)}, hive_partitioning=false, filename=false)"
        yield replace(file, streams=() if file.is_text else (copy,), _table=table)


_DECODED = "decoded"  # the table in which texts are columns of reports


def columns_of_texts(
    file: ForeignFile, mechanisms: Mechanisms, columns: Columns | None = None
) -> dict[str, str]:
    """The columns that hold reports as texts."""
    named = {name: (columns or {}).get(name, f"{name}_report") for name in mechanisms}
    likely = {a: c for a, c in named.items() if isinstance(c, str) and c in file._texts}
    if not likely:
        return {}
    holds = ", ".join(
        f"bool_or(starts_with(lower(trim(CAST({column_in_sql(c)} AS VARCHAR))), '{START}'))"
        for c in likely.values()
    )
    with connection() as database:
        query = f"SELECT {holds} FROM {file._table}"
        row = _safely(file, lambda: database.execute(query).fetchone())
    return {name: c for (name, c), is_text in zip(likely.items(), row, strict=True) if is_text}


def _decoded(
    file: ForeignFile,
    mechanisms: Mechanisms,
    texts: Mapping[str, str],
    starts: Mapping[str, str],
    named: Mapping[str, Mapping[str, str]],
    by: Mapping[str, Domain],
    values: Mapping[str, str],
) -> pa.Table:
    """The columns that are counted, with those of texts as numbers."""
    others = {f"{a}.{name}": end for a, names in named.items() for name, end in names.items()}
    cells_of = _cells(file, others, by, values)
    cells = [f"CAST({column_in_sql(c)} AS VARCHAR)" for c in texts.values()]
    query = f"SELECT {', '.join([*cells, *cells_of.values()])} FROM {file._table}"
    with connection() as database:
        database.execute("SET preserve_insertion_order = true")  # rows are named by their numbers
        rows = _safely(file, lambda: database.sql(query).to_arrow_table())
    arrays = {name: rows.column(len(cells) + i) for i, name in enumerate(cells_of)}
    problems = []
    for i, (name, mechanism) in enumerate(mechanisms.items()):
        where = f"{file.path}: the column of {name}"
        try:
            reports = from_texts(rows.column(i).to_pylist(), starts[name], mechanism.schema, where)
        except ReportError as error:
            problems.append(str(error))
            continue
        for end, column in mechanism.schema.to_file(reports).items():
            arrays[_decoded_names(name, mechanism)[end]] = pa.array(column)
    if problems:
        raise ReportError("\n".join(problems))
    return pa.table(arrays)


def _decoded_names(name: str, mechanism: Mechanism) -> dict[str, str]:
    """{name in the schema: its column in the table of decoded texts}."""
    # A name of a column of a file never holds the separator of units, or is not asked for then.
    return {end: f"{name}\x1f{end}" for end in mechanism.schema.file_columns()}


def _require_public(file: ForeignFile, by: Mapping[str, Domain], values: Mapping[str, str]) -> None:
    """Refuse public values that are missing or not declared, or that a folder denies."""
    for name, domain in by.items():
        if len(zones := file._zones.get(name, ())) > 1:
            rule = f"has times of several time zones in the column {show(name)}"
            remedy = "Write dates such as 2026-12-28 into the column in place of the times"
            raise FileError(file.path, rule, series(zones, "and"), remedy)
        if name not in values:
            if name not in file.names:
                rule = f"has no public column {show(name)}"
                remedy = f"Add the column, or put the file into a folder {name}=VALUE"
                if f"{name}={_NO_VALUE}" in Path(file.path).parts:
                    rule = f"is in a folder for people whose {name} is missing (NULL)"
                    remedy = f"Move the file to a folder with a value, or count without {name}"
                raise ReportError(file.path, rule, None, remedy)
            continue
        keys = folder_keys(file.path, name, domain, values[name])
        if name in file.names:
            rows = _rows_elsewhere(file, name, domain, keys)
            require_folder(file.path, name, values[name], rows, ", or remove the column")


def folder_keys(path: str, name: str, domain: Domain, text: str) -> Sequence[Key]:
    """The group of a public column that a folder is named after, as keys of tallies have it."""
    folder: int | str = int(text) if holds_integers(domain) and _INTEGER.fullmatch(text) else text
    with contextlib.suppress(ReportError):
        return checked_groups({name: [folder]}, {name: domain}, 1).keys
    rule = f"folder {name}={text}: the study does not declare the value {text}"
    remedy = f"Declare it in [public.{name}], or rename the folder"
    if isinstance(domain, Dates):
        rule = f"folder {name}={text} must be named after {domain.form}"
        remedy = domain.remedy_of(text) or "Rename the folder"
        raise ReportError(path, rule, None, remedy)
    if (nearest := remedy_of(name, domain, text)) is not None:
        remedy = nearest
    raise ReportError(path, f"{rule} for {name}", None, remedy)


def require_folder(path: str, name: str, text: str, rows: int, or_else: str = "") -> None:
    """Refuse a file of which so many rows are of another group than their folder says."""
    if rows:
        many = "1 row" if rows == 1 else f"{rows:,} rows"
        rule = f"the folder says {name}={text}, but the column says something else in {many}"
        raise ReportError(path, rule, None, f"Move the file to the right folder{or_else}")


def _rows_elsewhere(file: ForeignFile, name: str, domain: Domain, here: Sequence[Key]) -> int:
    """How many rows are of another group of a public column than their folder says."""
    import narwhals.stable.v2 as nw

    by = {name: domain}
    with connection() as database:
        rows = _safely(file, lambda: _relation(database, file, {}, by, {}, {}))
        columns = GroupedFrame(nw.from_native(rows).lazy(), by)
        try:
            (counts, groups) = _safely(file, lambda: (columns.counts({}), columns.groups()))
        except (EmptyError, ReportError):
            # A value that is not declared is refused by its row.
            return 0
    return sum(n for key, n in zip(groups.keys, counts.tolist(), strict=True) if key not in here)


def _located(
    file: ForeignFile, names: Sequence[str], text: str, row: int | None, labels: Sequence[str]
) -> str:
    """The message of reports that are wrong, with their first row."""
    if row is None:
        return f"{file.path}: {text}"
    if file.is_text:
        texts = dict(zip(names, _entries(file, names, row), strict=True))
        if column := no_number(texts):
            if texts[column] in labels:
                rule = f"data row {row + 1:,} of column {column} has an answer instead of a report"
                remedy = "Randomise the answers first. Run: warner randomize STUDY FILE"
                return message(file.path, rule, None, remedy)
            rule = f"data row {row + 1:,} of column {column} has no whole number"
            return message(file.path, rule, None, AGAIN)
    return f"{file.path}: {text} The first wrong row is data row {row + 1:,}."


def _first_wrong(lazy: Any, columns: ReportColumns, by: By) -> int | None:
    """The first row that is no report or has undeclared public values, if one can be named."""

    def is_wrong(rows: Any) -> bool:
        try:
            columns.read(rows)
            if by and len(rows):
                checked_groups({name: entries(rows[name], name) for name in by}, by, len(rows))
        except ReportError:
            return True
        return False

    first = 0
    for rows in batches(by_days(lazy, by), list(dict.fromkeys([*by, *columns.names]))) or ():
        if is_wrong(rows[:0]):  # the type of a column, which no row is to blame for
            return None
        if is_wrong(rows):
            low, high = 0, len(rows)  # the first `low` rows are right, the first `high` are not
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (low, middle) if is_wrong(rows[:middle]) else (middle, high)
            return first + low
        first += len(rows)
    return None


def _usual(
    file: ForeignFile, name: str, mechanism: Mechanism, mechanisms: Mechanisms
) -> ColumnNames:
    """The columns of an attribute where nobody names them."""
    usual = attribute_columns(name, mechanism)
    alone = len(mechanisms) == 1 and not set(usual.values()) & set(file.names)
    is_bare = alone and set(usual) <= set(file.names)
    if mechanism.is_on_paper and not set(usual.values()) & set(file.names):
        # On paper, what stands under the name of a question is what people ticked.
        return None if is_bare and name not in file.names else name
    return None if is_bare else usual


def _relation(
    database: duckdb.DuckDBPyConnection,
    file: ForeignFile,
    names: Mapping[str, str],
    by: Mapping[str, Domain],
    values: Mapping[str, str],
    words: Mapping[str, int],
) -> duckdb.DuckDBPyRelation:
    """The public columns and those of reports; of CSV with numbers where numbers are expected."""
    cells_of = _cells(file, names, by, values)
    quoted = ((word.replace("'", "''"), code) for word, code in words.items())
    cases = " ".join(f"WHEN '{word}' THEN {code}" for word, code in quoted)
    for name in names.values() if words else ():
        if file.is_text or name in file._texts:
            column = column_in_sql(name)  # a word by its look, and NULL for another text
            cells_of[name] = f"CASE lower(trim({column})) {cases} END AS {column}"
    cells = ", ".join(cells_of.values())
    return database.sql(f"SELECT {cells} FROM {file._table}")


def _cells(
    file: ForeignFile, names: Mapping[str, str], by: Mapping[str, Domain], values: Mapping[str, str]
) -> dict[str, str]:
    """{column: how it is read in SQL} of the public columns and those of reports."""
    parts = {}
    for name in dict.fromkeys([*by, *names.values()]):
        column = column_in_sql(name)
        is_number = name not in by or by[name].is_numeric
        if name in by and name in values:
            text = "'" + values[name].replace("'", "''") + "'"
            cast = f"TRY_CAST({text} AS BIGINT)" if holds_integers(by[name]) else text
            parts[name] = f"{cast} AS {column}"
            continue
        # What is no whole number becomes a gap, which is refused without showing it. The database
        # itself would round 0.4 to 0, and take answers for reports.
        is_whole = f"regexp_full_match({column}, '{WHOLE}')"
        cast = f"CASE WHEN {is_whole} THEN TRY_CAST({column} AS BIGINT) END AS {column}"
        parts[name] = cast if file.is_text and is_number else column
        if name in by and name in file._zones:
            parts[name] = f"{_local_in_sql(file, column, file._zones[name][0])} AS {column}"
    return parts
