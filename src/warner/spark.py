"""Reports in a Spark cluster: counted there by the library's own counters, and made there.

A Spark frame can also be given to ``mechanism.tally``: it is then counted by one GROUP BY per
column, which needs nothing on the cluster. The functions here run the counters of warner in the
Python workers of the cluster, so warner must be installed there. They are faster for reports of
bits, and they count what no GROUP BY of columns counts: hashes, tuples and blocks of reports.

Spark Connect and Sail have the same frames. Needs ``pip install "warner[spark]"``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np

from warner._core.checks import integer, kind, show
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    EmptyError,
    ReportError,
    WarnerError,
    message,
)
from warner._core.foreign_tables import ColumnNames
from warner._core.sampling import Source
from warner.domains import Domain
from warner.io.frames import (
    attribute_columns,
    count_frame,
    is_counted_by_columns,
    records_column,
    records_in,
    report_columns,
)
from warner.io.grouped_frame import checked_groups
from warner.io.public_values import holds_integers, to_arrow
from warner.io.read_answers import answer_columns, encoded_batch
from warner.mechanisms import Mechanism
from warner.mechanisms.composite import PerAttribute
from warner.reports.counting import require_room
from warner.reports.public_columns import Groups
from warner.reports.reports import Reports
from warner.reports.schema import smallest_dtype
from warner.reports.tally import Tally
from warner.reports.tally_kinds import Counted

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["randomize", "tally"]

# -----------------------------------------------------------------------------------------------
# Which partition a worker works on.


def partition() -> int | None:
    """The number of the partition of this worker; None outside Spark, and where it is not known.

    >>> partition() is None
    True
    """
    try:
        from pyspark import TaskContext

        context = TaskContext.get()
        return None if context is None else int(context.partitionId())
    except Exception:  # pyspark is not there, or the engine has no such context
        return None


# -----------------------------------------------------------------------------------------------
# Answers in a Spark frame to reports, by the library's own samplers in the workers.


MOST_PER_BLOCK = 2**16  # reports


def randomize(study: Any, frame: Any, blocks: int | None = None, seed: int | None = None) -> Any:
    """Randomise answers in a Spark frame, in its own workers.

    For simulations, and for devices that live in a cluster: whoever runs the cluster sees the
    answers. Rows of reports stand in the order of the answers in their partition, which can say
    whose they are.

    A Spark frame is a recipe: each action computes it anew, and randomises the same answers anew,
    which spends the budget again. Write the result once, and read what was written.

    Args:
        study: the study, without groups.
        frame: a Spark frame with one row for each person and a column for each answer. Other
            columns are left out.
        blocks: how many reports a row holds. Each attribute has one column of bytes then,
            ``smokes_records``. None for one report a row, in the columns of a report file.
        seed: repeatable randomness, for simulations only; None for that of the workers' operating
            systems. It depends on how the frame is cut into partitions.

    Returns:
        A Spark frame: the public columns of the study, and the reports.

    Raises:
        ArgumentTypeError: no study, or no Spark frame.
        ArgumentError: a study with groups, or blocks of no reports.
    """
    if not hasattr(frame, "mapInArrow"):
        raise ArgumentTypeError("frame", "must be a Spark frame", kind(frame))
    if not hasattr(study, "mechanisms"):
        raise ArgumentTypeError("study", "must be a Study", kind(study))
    if blocks is not None:
        integer("blocks", blocks, 1, MOST_PER_BLOCK)
    if seed is not None:
        integer("seed", seed, 0, 2**63 - 1)
    job = _Randomizing(dict(study.mechanisms), dict(study.public), blocks, seed)
    return frame.select(*job.answers).mapInArrow(job.randomize, job.columns)


@dataclass(frozen=True)
class _Randomizing:
    """What the workers make. It is sent to them."""

    mechanisms: dict[str, Mechanism]
    public: dict[str, Any]
    blocks: int | None
    seed: int | None

    @property
    def answers(self) -> list[str]:
        """The columns of answers and the public columns."""
        names = [c for name, m in self.mechanisms.items() for c in answer_columns(name, m)]
        return list(dict.fromkeys([*self.public, *names]))

    @property
    def columns(self) -> str:
        """The columns of the result, as Spark declares them."""
        kinds = {n: "bigint" if holds_integers(d) else "string" for n, d in self.public.items()}
        for name, mechanism in self.mechanisms.items():
            if self.blocks is not None:
                kinds[f"{name}_records"] = "binary"
                continue
            for part, size in mechanism.schema.file_columns().items():
                kinds[f"{name}_{part}"] = "int" if size <= 2**31 else "bigint"
        return ", ".join(f"`{name.replace('`', '``')}` {of}" for name, of in kinds.items())

    def randomize(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The reports of a partition."""
        source = Source(None if self.seed is None else self._generator(self.seed))
        for batch in batches:
            if not batch.num_rows:
                continue
            found = encoded_batch({**self.public, **self.mechanisms}, batch)
            people = len(next(iter(found.values())))
            if not people:
                continue
            reports = {
                name: Reports(m.header, m.randomize_encoded(found[name], source))
                for name, m in self.mechanisms.items()
            }
            index = {name: found[name] for name in self.public}
            yield (
                self._rows(reports, index)
                if self.blocks is None
                else self._blocks(reports, index, people)
            )

    @staticmethod
    def _generator(seed: int) -> np.random.Generator:
        """The generator of this partition."""
        number = partition()
        if number is None:  # all partitions would draw the same numbers
            rule = "needs an engine that numbers its partitions, as Spark does"
            raise ArgumentError("seed", rule, None, "Leave it out")
        return np.random.default_rng([seed, number])

    def _rows(self, reports: dict[str, Reports], index: dict[str, np.ndarray]) -> pa.RecordBatch:
        """One report a row."""
        import pyarrow as pa

        columns = {name: to_arrow(self.public[name], i) for name, i in index.items()}
        for name, mechanism in self.mechanisms.items():
            stored = mechanism.schema.to_file(reports[name].columns)
            sizes = mechanism.schema.file_columns()
            for part, column in stored.items():
                of = pa.int32() if sizes[part] <= 2**31 else pa.int64()
                columns[f"{name}_{part}"] = pa.array(column, of)
        return pa.RecordBatch.from_pydict(columns)

    def _blocks(
        self, reports: dict[str, Reports], index: dict[str, np.ndarray], people: int
    ) -> pa.RecordBatch:
        """Blocks of reports, each of people with the same public values."""
        import pyarrow as pa

        assert self.blocks is not None
        place = np.zeros(people, dtype=np.int64)
        for codes in index.values():
            _, own = np.unique(codes, return_inverse=True)
            place = np.unique(place * (int(own.max()) + 1) + own.ravel(), return_inverse=True)[1]
        order = np.argsort(place, kind="stable")
        edges = np.flatnonzero(np.diff(place[order], prepend=-1))
        cuts = [
            order[first : min(first + self.blocks, stop)]
            for start, stop in zip(edges, [*edges[1:], people], strict=True)
            for first in range(start, stop, self.blocks)
        ]
        firsts = np.array([cut[0] for cut in cuts])
        columns = {name: to_arrow(self.public[name], i[firsts]) for name, i in index.items()}
        for name in self.mechanisms:
            records = reports[name].record_array()
            blocks = [records[cut].tobytes() for cut in cuts]
            columns[f"{name}_records"] = pa.array(blocks, pa.binary())
        return pa.RecordBatch.from_pydict(columns)


# -----------------------------------------------------------------------------------------------
# Tallies of Spark frames: each partition is counted where it lies, and the counts are added up.
#
# Rows that one GROUP BY of the engine counts never reach Python, whose rows cost several times as
# much. Of all other reports, a partition gives one row for each count that is not zero. One small
# GROUP BY adds the rows of all partitions, so no more rows come to the driver than there are
# counts. A task that is lost is run again by Spark, and a task has no effect but its rows: nothing
# is counted twice.


_JOINT = "joint"
_N, _KEPT, _WRONG = -1, -2, -3  # cells: the number of reports, a kept report, a message
_ROWS = "part int, people string, cell bigint, kept binary, reports bigint"
_BYTES = 2**24  # bytes of a batch that Spark hands to Python, about
_MOST_RECORDS = 10_000  # rows of such a batch
_SETTING = "spark.sql.execution.arrow.maxRecordsPerBatch"


def tally(
    what: Any,
    frame: Any,
    columns: ColumnNames | Mapping[str, ColumnNames] = None,
    by: Mapping[str, Domain | None] | str | Iterable[str] | None = None,
    ways: int | None = None,
    keep_reports: bool = False,
) -> Any:
    """Count the reports in a Spark frame, where it lies.

    Reports of one integer, or of a small table of two, are counted by one GROUP BY of each
    attribute, and all others in one pass of the Python workers. Each of these computes the frame
    anew. So write a frame that is costly, or random, and count what was written.

    Args:
        what: a mechanism, or a study.
        frame: a Spark frame with one row for each person; or with bytes, where each row holds one
            record or a block of them. Columns of bytes are called ``records``, or of a study
            ``smokes_records``.
        columns: of a mechanism its columns, as in :meth:`warner.mechanisms.Mechanism.tally`; of a
            study {attribute: its columns}. Left out, a study's are named as in a report file.
        by: the public columns that group people: names, or {name: domain}. Of a study, columns
            that it declares.
        ways: the number of attributes of each marginal table, for tuples of reports.
        keep_reports: for reports of bits, keep the distinct reports. They come to the driver.

    Returns:
        Of a mechanism its Tally. Of a study {attribute: tally}; with
        ``ways`` and several attributes {"joint": tally}.

    Raises:
        ArgumentError: unknown attributes, columns or groups.
        ArgumentTypeError: no Spark frame.
        EmptyError: no reports.
        ReportError: a missing column, a gap, or reports that cannot have been sent. The message
            names the partition.
    """
    if not hasattr(frame, "mapInArrow"):
        rule, remedy = "must be a Spark frame", "Other frames: mechanism.tally(frame)"
        raise ArgumentTypeError("frame", rule, kind(frame), remedy)
    studied = getattr(what, "mechanisms", None)
    mechanisms: dict[str, Mechanism] = {"value": what} if studied is None else dict(studied)
    given: dict[str, Any] = (
        {"value": columns} if studied is None else _of_attributes(columns, mechanisms)
    )
    public = _public(by, getattr(what, "public", None), frame.columns)
    places = _places(mechanisms, given, frame, studied is None)
    job = _Job.of(mechanisms, places, public, ways, keep_reports)
    found = job.run(frame)
    if studied is None:
        return next(iter(found.values()))
    return {name: tally.per_person(what.rows_per_person) for name, tally in found.items()}


def _of_attributes(columns: Any, known: Mapping[str, Mechanism]) -> dict[str, ColumnNames]:
    """The columns of the attributes of a study, checked."""
    if not isinstance(columns, Mapping | None):
        rule = "must be {attribute: its columns}"
        raise ArgumentTypeError("columns", rule, kind(columns))
    given = dict(columns or {})
    if unknown := [name for name in given if name not in known]:
        rule = f"must be of attributes of the study: {', '.join(known)}"
        raise ArgumentError("columns", rule, show(unknown[0]))
    return given


def _public(by: Any, declared: Any, found: Iterable[str]) -> dict[str, Domain | None]:
    """The public columns as {name: domain or None}."""
    if by is None:
        return {}
    names = [by] if isinstance(by, str) else list(by)
    known = list(declared) if declared is not None else list(found)
    if not names or any(name not in known for name in names):
        rule = f"must be public columns: {', '.join(known) or 'none'}"
        raise ArgumentError("by", rule, show(by))
    if missing := [name for name in names if name not in set(found)]:
        raise ReportError("frame", f"has no public column {show(missing[0])}")
    if declared is not None:
        return {name: declared[name] for name in names}
    return dict(by) if isinstance(by, Mapping) else dict.fromkeys(names)


@dataclass(frozen=True)
class _Place:
    """Where the reports of an attribute are: in one column of bytes, or in {part: column}."""

    records: str | None
    names: Mapping[str, str]

    @property
    def columns(self) -> list[str]:
        return [self.records] if self.records is not None else list(self.names.values())


def _places(
    mechanisms: Mapping[str, Mechanism],
    given: Mapping[str, ColumnNames],
    frame: Any,
    is_alone: bool,
) -> dict[str, _Place]:
    """Where the reports of each attribute are."""
    found, binary = list(frame.columns), [n for n, t in frame.dtypes if t == "binary"]
    places = {}
    for name, mechanism in mechanisms.items():
        usual = None if is_alone else attribute_columns(name, mechanism)
        column = given.get(name, usual)
        records = records_column(mechanism.schema, column, found, binary)
        names = {} if records else report_columns(mechanism.schema, found, column)
        places[name] = _Place(records, names)
    return places


@dataclass
class _Job:
    """What the workers count. It is sent to them.

    Attributes:
        mechanisms: {attribute: mechanism}.
        places: where the reports of each attribute are.
        public: {name: domain or None} of the columns that group people.
        ways: the number of attributes of each marginal table, or None.
        together: the mechanism of the tuples, where attributes are counted together.
        keep_reports: whether to keep the distinct reports.
    """

    mechanisms: dict[str, Mechanism]
    places: dict[str, _Place]
    public: dict[str, Domain | None]
    ways: int | None
    together: Mechanism | None = None
    keep_reports: bool = False

    @classmethod
    def of(
        cls,
        mechanisms: dict[str, Mechanism],
        places: dict[str, _Place],
        public: dict[str, Domain | None],
        ways: int | None,
        keep_reports: bool,
    ) -> _Job:
        whole = None
        if ways is not None and len(mechanisms) > 1:
            whole = PerAttribute.of(mechanisms)
        job = cls(mechanisms, places, public, ways, whole, keep_reports)
        for mechanism in job.counted.values():  # refuses ways that do not fit, before Spark starts
            mechanism.count(mechanism.schema.empty(0), ways=ways)
        return job

    @property
    def counted(self) -> dict[str, Mechanism]:
        """What is counted: each attribute, or all of them together."""
        return self.mechanisms if self.together is None else {_JOINT: self.together}

    def run(self, frame: Any) -> dict[str, Tally]:
        """The tallies of a frame."""
        quick = {n: t for n in self.mechanisms if (t := self._by_engine(n, frame)) is not None}
        rest = [name for name in self.mechanisms if name not in quick]
        counted = quick
        if rest:
            slow = replace(self, mechanisms={name: self.mechanisms[name] for name in rest})
            counted = quick | slow._by_workers(frame)
        if len({tally.n for tally in counted.values()}) > 1:
            rule = "gives other rows each time that Spark computes it"
            raise ReportError("frame", rule, None, "Write it once, and count that")
        return {name: counted[name] for name in self.counted}

    def _by_engine(self, name: str, frame: Any) -> Tally | None:
        """The tally of an attribute by one GROUP BY of the engine; None where one is not enough.

        Also None where a row is no report: the workers say in which partition.
        """
        mechanism, place = self.mechanisms[name], self.places[name]
        is_one = is_counted_by_columns(mechanism, self.ways, self.keep_reports)
        if place.records is not None or not is_one or mechanism.schema.group_bys > 1:
            return None
        try:
            return count_frame(mechanism, frame, place.names, self.public)
        except ReportError:
            return None

    def _by_workers(self, frame: Any) -> dict[str, Tally]:
        """The tallies of a frame, counted in one pass by the workers."""
        places = [self.places[name] for name in self.mechanisms]
        names = [column for place in places for column in place.columns]
        some = frame.select(*dict.fromkeys([*self.public, *names]))
        binary = [p.records for p in places if p.records is not None]
        with _batches_of(frame, some, binary):
            counts = some.mapInArrow(self.count, _ROWS)
            added = counts.groupBy("part", "people", "cell", "kept").agg({"reports": "sum"})
            rows = [tuple(row) for row in added.collect()]
        if wrong := sorted(bytes(row[3]).decode() for row in rows if row[2] == _WRONG):
            raise ReportError(f"frame: {wrong[0]}")
        if not rows:
            raise EmptyError("frame", "holds no reports")
        return {
            name: self._tally(mechanism, [row for row in rows if row[0] == i])
            for i, (name, mechanism) in enumerate(self.counted.items())
        }

    def _tally(self, mechanism: Mechanism, rows: list[tuple[Any, ...]]) -> Tally:
        """The tally of an attribute from the sums of its counts."""
        texts = sorted({row[1] for row in rows})
        groups, place = self._groups(texts)
        n = 1 if groups is None else len(groups.keys)
        empty = self._one(mechanism, mechanism.schema.empty(0))
        sizes = np.zeros(n, dtype=np.int64)
        kept = [row for row in rows if row[2] == _KEPT]
        for _, text, cell, _, reports in rows:
            if cell == _N:
                sizes[place[text]] += reports
        if empty.kind.keeps_reports:
            counts = np.array([row[4] for row in kept], dtype=np.int64)
            records = np.frombuffer(b"".join(bytes(row[3]) for row in kept), np.uint8)
            places = np.array([place[row[1]] for row in kept], dtype=np.int64)
            distinct = records.reshape(len(kept), -1)
            counted = Counted(empty.kind, counts, sizes, distinct, places)
            return Tally(mechanism.header, counted, groups)
        require_room(n, empty.counts.size)
        table = np.zeros((n, empty.counts.size), dtype=np.int64)
        for _, text, cell, _, reports in rows:
            if cell >= 0:
                table[place[text], cell] += reports
        counted = Counted(empty.kind, table.reshape(n, *empty.counts.shape), sizes)
        return Tally(mechanism.header, counted, groups)

    def _groups(self, texts: list[str]) -> tuple[Groups | None, dict[str, int]]:
        """The groups of people, and the place of each tuple of raw values."""
        if not self.public:
            return None, {"": 0}
        raw = [[_value(entry) for entry in json.loads(text)] for text in texts]
        values = {name: [row[i] for row in raw] for i, name in enumerate(self.public)}
        groups = checked_groups(values, self.public, len(raw))
        return groups, dict(zip(texts, groups.place.tolist(), strict=True))

    # What the workers run.

    def count(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The counts of a partition, as rows. An error is a row too: Spark tries errors again."""
        import pyarrow as pa

        sums = _Sums()
        try:
            row = 0
            for batch in batches:
                if batch.num_rows:
                    self._add(pa.Table.from_batches([batch]), sums, row)
                row += batch.num_rows
            yield from sums.rows()
            return
        except WarnerError as error:
            number = partition()
            text = f"{error}" if number is None else f"partition {number}: {error}"
        yield _row_batch([(0, "", _WRONG, text.encode(), 1)])

    def _add(self, rows: pa.Table, sums: _Sums, row: int) -> None:
        """Add the counts of a batch; ``row`` is the number of rows of the partition before it."""
        columns, many = {}, None
        for name, mechanism in self.mechanisms.items():
            columns[name], own = _columns(mechanism, self.places[name], rows, row)
            if many is not None and not np.array_equal(own, many):
                rule = "must be equally many for each attribute, in every row"
                raise ReportError("reports", rule)
            many = own
        assert many is not None
        place, texts = _people(rows, list(self.public))
        place = np.repeat(place, many)
        wanted = columns
        if self.together is not None:
            joined = {f"{a}.{n}": c for a, own in columns.items() for n, c in own.items()}
            wanted = {_JOINT: joined}
        for i, (name, mechanism) in enumerate(self.counted.items()):
            own_columns = wanted[name]
            for group, text in enumerate(texts):
                mine = own_columns
                if len(texts) > 1:
                    mine = {n: c[place == group] for n, c in own_columns.items()}
                sums.add(i, text, self._one(mechanism, mine))

    def _one(self, mechanism: Mechanism, columns: Mapping[str, np.ndarray]) -> Tally:
        """The tally of checked reports."""
        keep = self.keep_reports and mechanism.schema.can_keep_reports and self.ways is None
        return mechanism.count(columns, ways=self.ways, keep_reports=keep)


@dataclass
class _Sums:
    """The counts of a partition so far.

    Attributes:
        counts: {(attribute, group): the counts}.
        sizes: {(attribute, group): the number of reports}.
        kept: {(attribute, group, report): how often}.
    """

    counts: dict[tuple[int, str], np.ndarray] = field(default_factory=dict)
    sizes: dict[tuple[int, str], int] = field(default_factory=dict)
    kept: dict[tuple[int, str, bytes], int] = field(default_factory=dict)

    def add(self, part: int, people: str, tally: Tally) -> None:
        """Add a tally."""
        key = part, people
        self.sizes[key] = self.sizes.get(key, 0) + tally.n
        if tally.rows is not None:
            for record, reports in zip(tally.rows, tally.counts.tolist(), strict=True):
                own = (*key, record.tobytes())
                self.kept[own] = self.kept.get(own, 0) + reports
            return
        counts = tally.counts.ravel()
        self.counts[key] = self.counts[key] + counts if key in self.counts else counts

    def rows(self) -> Iterator[pa.RecordBatch]:
        """The counts that are not zero."""
        rows: list[tuple[int, str, int, bytes | None, int]] = []
        rows += [(*key, _N, None, n) for key, n in self.sizes.items()]
        rows += [(part, people, _KEPT, own, n) for (part, people, own), n in self.kept.items()]
        for key, counts in self.counts.items():
            some = np.flatnonzero(counts)
            rows += [
                (*key, c, None, n)
                for c, n in zip(some.tolist(), counts[some].tolist(), strict=True)
            ]
        for start in range(0, len(rows), _MOST_RECORDS):
            yield _row_batch(rows[start : start + _MOST_RECORDS])


def _row_batch(rows: list[tuple[int, str, int, bytes | None, int]]) -> pa.RecordBatch:
    """Rows of the schema _ROWS as an Arrow batch."""
    import pyarrow as pa

    types = [pa.int32(), pa.string(), pa.int64(), pa.binary(), pa.int64()]
    names = ["part", "people", "cell", "kept", "reports"]
    arrays = [pa.array([row[i] for row in rows], of) for i, of in enumerate(types)]
    return pa.RecordBatch.from_arrays(arrays, names)


def _columns(
    mechanism: Mechanism, place: _Place, rows: pa.Table, row: int
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """The checked columns of the reports in some rows, and how many reports each row holds."""
    schema = mechanism.schema
    if place.records is not None:
        return records_in(schema, rows.column(place.records), place.records)
    sizes = schema.file_columns()
    arrays = {
        part: _array(rows.column(own), own, sizes[part], row) for part, own in place.names.items()
    }
    columns = schema.from_file(arrays)
    schema.check(columns)
    return columns, np.ones(rows.num_rows, dtype=np.int64)


def _array(column: pa.ChunkedArray, name: str, size: int, row: int) -> np.ndarray:
    """An Arrow column as an array of the smallest type, refused unless it holds 0..size-1."""
    import pyarrow as pa

    rule = "must be a column of integers without gaps"
    if column.null_count:
        got = f"{column.type} with missing values"
        raise ReportError(name, rule, got, "Leave out the rows without a report")
    tests = (pa.types.is_integer, pa.types.is_decimal, pa.types.is_floating)
    values, of = None, str(column.type)
    if not any(is_one(column.type) for is_one in tests):
        rule = "must be a column of integers"
        raise ReportError(name, rule, of, "Cast it to integers")
    with suppress(pa.ArrowInvalid):  # a number that is not whole, or a huge one
        values = column.cast(pa.int64()).to_numpy()
    if values is None:
        rule, remedy = "holds numbers that are not whole, or huge", "Is it a column of reports?"
        raise ReportError(name, rule, of, remedy)
    if len(values) and (int(values.min()) < 0 or int(values.max()) >= size):
        first = row + int(np.flatnonzero((values < 0) | (values >= size))[0])
        remedy = "Were the reports made for other values?"
        text = message(
            name, f"must lie in 0..{size - 1}", f"row {first} of the partition beyond it", remedy
        )
        raise ReportError(text)
    found: np.ndarray = values.astype(smallest_dtype(size))
    return found


def _people(rows: pa.Table, by: list[str]) -> tuple[np.ndarray, list[str]]:
    """The group of each row by its raw public values, (n,), and the text of each group."""
    if not by:
        return np.zeros(rows.num_rows, dtype=np.int64), [""]
    place = np.zeros(rows.num_rows, dtype=np.int64)
    tables = []
    for name in by:
        coded = rows.column(name).combine_chunks().dictionary_encode(null_encoding="encode")
        values = coded.dictionary.to_pylist()
        tables.append(values)
        place = place * len(values) + coded.indices.to_numpy(zero_copy_only=False)
    groups, place = np.unique(place, return_inverse=True)
    texts = []
    for index in groups.tolist():
        key: list[Any] = []
        for values in reversed(tables):
            index, own = divmod(index, len(values))
            key.insert(0, _plain(values[own]))
        texts.append(json.dumps(key))
    return place, texts


def _plain(value: Any) -> Any:
    """A public value as JSON data."""
    return {"date": value.isoformat()} if isinstance(value, date) else value


def _value(entry: Any) -> Any:
    """A public value from :func:`_plain`."""
    return date.fromisoformat(entry["date"][:10]) if isinstance(entry, dict) else entry


@contextmanager
def _batches_of(frame: Any, some: Any, binary: list[str]) -> Iterator[None]:
    """Let Spark hand over few rows at a time where each holds a block of reports."""
    first = some.select(*binary).first() if binary else None
    longest = max((len(value) for value in first or () if value is not None), default=0)
    if longest * _MOST_RECORDS <= _BYTES:
        yield
        return
    settings = frame.sparkSession.conf
    before = settings.get(_SETTING, str(_MOST_RECORDS))
    try:
        settings.set(_SETTING, str(max(1, _BYTES // longest)))
    except Exception:  # an engine without this setting cuts batches itself
        yield
        return
    try:
        yield
    finally:
        settings.set(_SETTING, before)
