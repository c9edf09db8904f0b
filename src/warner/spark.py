"""Reports in a Spark cluster: counted there by the library's own counters, and made there.

A Spark frame can also be given to ``mechanism.tally``: it is then counted by one GROUP BY per
column, which needs nothing on the cluster. The functions here run the counters of warner in the
Python workers of the cluster, so warner must be installed there. They are faster for reports of
bits, and they count what no GROUP BY of columns counts: hashes, tuples and blocks of reports.

Spark Connect and Sail have the same frames. Needs ``pip install "warner[spark]"``.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from warner._core.atomic_files import read_whole, write_whole
from warner._core.checks import integer, kind, show, unknown
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    EmptyError,
    FileError,
    ReportError,
    WarnerError,
)
from warner._core.extras import pa
from warner._core.foreign_tables import ColumnNames
from warner._core.sampling import Source
from warner._core.text import canonical
from warner.collector.access import ID_BYTES
from warner.collector.refusals import Refused
from warner.collector.submissions import MOST, Batch, SubmissionFormat
from warner.domains import Domain
from warner.io.frames import FrameSource, ReportColumns, attribute_columns, together
from warner.io.public_values import holds_integers, to_arrow
from warner.io.read_answers import answer_columns, encoded_batch
from warner.mechanisms import Mechanism
from warner.reports.counting import require_room
from warner.reports.public_columns import Groups
from warner.reports.reports import Reports
from warner.reports.source import count
from warner.reports.tally import Tally, load_tallies, merge, save_tallies
from warner.reports.tally_kinds import Counted

__all__ = ["randomize", "read_submissions", "stream_tallies", "tally"]

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
            systems. It depends on how the frame is cut into partitions. The first partition draws
            as ``numpy.random.default_rng(seed)``: if the answers were made up with a seed, give
            another one here, or the noise depends on the answers.

    Returns:
        A Spark frame: the public columns of the study, and the reports.

    Raises:
        ArgumentTypeError: no study, or no Spark frame.
        ArgumentError: a study with groups, or blocks of no reports.
    """
    _require(study, frame)
    if blocks is not None:
        integer("blocks", blocks, 1, MOST_PER_BLOCK)
    if seed is not None:
        integer("seed", seed, 0, 2**63 - 1)
    job = _Randomizing(dict(study.mechanisms), dict(study.public), blocks, seed)
    return frame.select(*job.answers).mapInArrow(job.randomize, job.columns)


def _require(study: Any, frame: Any) -> None:
    """Refuse anything but a study and a Spark frame."""
    if not hasattr(frame, "mapInArrow"):
        raise ArgumentTypeError("frame", "must be a Spark frame", kind(frame))
    if not hasattr(study, "mechanisms"):
        raise ArgumentTypeError("study", "must be a Study", kind(study))


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
        if self.blocks is None:
            return _declared(_kinds(self.public, self.mechanisms))
        records = {f"{name}_records": "binary" for name in self.mechanisms}
        return _declared({**_kinds(self.public, {}), **records})

    def randomize(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The reports of a partition."""
        source = Source(None if self.seed is None else self._generator(self.seed))
        for batch in batches:
            if not batch.num_rows:
                continue
            answers, _ = encoded_batch({**self.public, **self.mechanisms}, batch)
            people = len(next(iter(answers.values())))
            if not people:
                continue
            reports = {
                name: Reports(m.header, m.randomize_encoded(answers[name], source))
                for name, m in self.mechanisms.items()
            }
            index = {name: answers[name] for name in self.public}
            if self.blocks is None:
                rows = _report_columns(self.public, self.mechanisms, reports, index)
                yield pa.RecordBatch.from_pydict(rows)
            else:
                yield self._blocks(reports, index, people)

    @staticmethod
    def _generator(seed: int) -> np.random.Generator:
        """The generator of this partition."""
        number = partition()
        if number is None:  # all partitions would draw the same numbers
            rule = (
                "cannot be used with this engine, which does not number its partitions as Spark "
                "does"
            )
            raise ArgumentError("seed", rule, None, "Leave out the argument seed")
        return np.random.default_rng([seed, number])

    def _blocks(
        self, reports: dict[str, Reports], index: dict[str, np.ndarray], people: int
    ) -> pa.RecordBatch:
        """Blocks of reports, each of people with the same public values."""

        assert self.blocks is not None
        group = np.zeros(people, dtype=np.int64)
        for codes in index.values():
            _, code = np.unique(codes, return_inverse=True)
            group = np.unique(group * (int(code.max()) + 1) + code.ravel(), return_inverse=True)[1]
        order = np.argsort(group, kind="stable")
        edges = np.flatnonzero(np.diff(group[order], prepend=-1))
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


def _kinds(public: Mapping[str, Domain], mechanisms: Mapping[str, Mechanism]) -> dict[str, str]:
    """The columns of public values and of reports, with the types as Spark calls them."""
    kinds = {name: "bigint" if holds_integers(d) else "string" for name, d in public.items()}
    for name, mechanism in mechanisms.items():
        for end, size in mechanism.schema.file_columns().items():
            kinds[f"{name}_{end}"] = "int" if size <= 2**31 else "bigint"
    return kinds


def _declared(kinds: Mapping[str, str]) -> str:
    """Columns as Spark declares them."""
    return ", ".join(f"`{name.replace('`', '``')}` {of}" for name, of in kinds.items())


def _report_columns(
    public: Mapping[str, Domain],
    mechanisms: Mapping[str, Mechanism],
    reports: Mapping[str, Reports],
    index: Mapping[str, np.ndarray],
) -> dict[str, pa.Array]:
    """Public values and reports as the columns of :func:`_kinds`."""
    columns = {name: to_arrow(public[name], i) for name, i in index.items()}
    for name, mechanism in mechanisms.items():
        stored = mechanism.schema.to_file(reports[name].columns)
        sizes = mechanism.schema.file_columns()
        for end, column in stored.items():
            of = pa.int32() if sizes[end] <= 2**31 else pa.int64()
            columns[f"{name}_{end}"] = pa.array(column, of)
    return columns


# -----------------------------------------------------------------------------------------------
# Submissions that devices sent, as a queue or a lake holds them, and their tallies while more come.


_ID, _REFUSED = "id", "refused"


def read_submissions(study: Any, frame: Any, column: str = "value") -> Any:
    """Read and check the bodies that devices send to a collector, in a Spark frame of bytes.

    A body is what a device sends with ``POST /reports``; a queue or a lake holds such bodies. The
    frame may be one of Structured Streaming. An id that stands twice is one submission that was
    sent twice: nothing is left out here.

    Args:
        study: the study, which asks everybody and has no groups.
        frame: a Spark frame; other columns than that of the bodies are left out.
        column: the column with one body in each row, ``value`` as in the frames of Kafka.

    Returns:
        A Spark frame with a row for each submission: ``id``, 16 bytes, the public columns of the
        study, and the reports in the columns of a report file, as :func:`tally` takes them. A body
        that a collector would refuse has one row: ``refused`` is the reason then, such as
        ``malformed``, the other columns are null, and the id is the first 16 bytes of the SHA-256
        of the body. ``tally`` refuses rows without a report, so choose those whose ``refused`` is
        null.

    Raises:
        ArgumentTypeError: no study, or no Spark frame.
        ArgumentError: a study with groups, or with columns that are called ``id`` or ``refused``.
    """
    _require(study, frame)
    if column not in frame.columns:
        raise ArgumentError("column", f"must be one of {', '.join(frame.columns)}", show(column))
    reading = _Reading(SubmissionFormat(study))
    kinds = _kinds(study.public, study.mechanisms)
    if taken := sorted({_ID, _REFUSED} & kinds.keys()):
        rule = (
            f"must have no column called {taken[0]}, because the result has its own column of this "
            "name"
        )
        raise ArgumentError("study", rule, None, f"Rename {taken[0]} in the study")
    columns = _declared({_ID: "binary", _REFUSED: "string", **kinds})
    return frame.select(column).mapInArrow(reading.read, columns)


@dataclass(frozen=True)
class _Reading:
    """What the workers check. It is sent to them."""

    form: SubmissionFormat

    def read(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The submissions of a partition."""
        for batch in batches:
            good: list[Batch] = []
            refused: list[tuple[bytes, str]] = []
            for value in batch.column(0):
                body = value.as_py() or b""
                try:
                    good.append(self.form.parse(bytes(body)))
                except Refused as error:
                    id_ = hashlib.sha256(body).digest()[:ID_BYTES]
                    refused.append((id_, error.name))
                if sum(map(len, good)) >= MOST:
                    yield self._rows(good, [])
                    good = []
            if good or refused:
                yield self._rows(good, refused)

    def _rows(self, good: list[Batch], refused: list[tuple[bytes, str]]) -> pa.RecordBatch:
        """Rows of submissions, and of bodies that are refused."""
        study, columns, ids = self.form.study, {}, [id_ for id_, _ in refused]
        if good:
            joined = self.form.join(good)
            ids = [row.tobytes() for row in joined.ids] + ids
            columns = _report_columns(study.public, study.mechanisms, joined.reports, joined.public)
        n, more = len(ids) - len(refused), pa.nulls(len(refused))
        filled = {name: pa.concat_arrays([c, more.cast(c.type)]) for name, c in columns.items()}
        for name, of in _kinds(study.public, study.mechanisms).items():
            types = {"string": pa.string(), "int": pa.int32(), "bigint": pa.int64()}
            filled.setdefault(name, pa.nulls(len(refused), types[of]))
        reasons = [None] * n + [reason for _, reason in refused]
        first = {_ID: pa.array(ids, pa.binary()), _REFUSED: pa.array(reasons, pa.string())}
        return pa.RecordBatch.from_pydict({**first, **filled})


def stream_tallies(
    study: Any, frame: Any, folder: str | os.PathLike[str], every: str = "1 minute"
) -> Any:
    """Count submissions in a stream of Spark, each id once, and write the tally at each trigger.

    The ids that were counted are in Spark's state, in the folder ``checkpoint``. The tallies of all
    submissions up to batch 12 are in ``tallies-000000012.json``, and how many bodies were refused,
    by reason, in ``refused-000000012.json``, which is written last. The files of the batch before
    stay too. A query that was killed goes on with its checkpoint: the batch that was not finished
    is read and counted again in place of what it had written. Spark must find its input as it was.

    It does not know invitations, nor when a survey opens and closes. Two tallies of different times
    show what came in between: keep them where the bodies are, and publish rarely.

    Args:
        study: the study, not one for which people are invited.
        frame: a frame of Structured Streaming as of :func:`read_submissions`, with a column
            ``value``.
        folder: a folder that the driver and the workers reach by the same path.
        every: the time between two tallies, as Spark writes it.

    Returns:
        Spark's ``StreamingQuery``.

    Raises:
        ArgumentTypeError: no study, or no frame of a stream.
        ArgumentError: as in :func:`read_submissions`; and people who are invited.
    """
    submissions = read_submissions(study, frame)
    if not frame.isStreaming:
        raise ArgumentTypeError(
            "frame", "must be a stream of Spark", None, "Count other frames with warner.spark.tally"
        )
    if study.collect.access == "invited":
        rule = "must not be by invitation, because Spark cannot check the codes of invited people"
        raise ArgumentError(
            "study", rule, None, "Collect the answers with the command: warner collect serve"
        )
    target = _Streamed(study, Path(folder))
    return (
        submissions.dropDuplicates([_ID, _REFUSED])
        .writeStream.foreachBatch(target.write)
        .option("checkpointLocation", str(target.folder / "checkpoint"))
        .trigger(processingTime=every)
        .start()
    )


@dataclass(frozen=True)
class _Streamed:
    """The files of the tallies of a stream."""

    study: Any
    folder: Path

    def write(self, frame: Any, batch: int) -> None:
        """Add a batch to the tallies of the batches before it, as often as Spark asks for it."""
        tallies, refused = self._before(batch)
        frame.persist()  # a batch is counted in several jobs
        try:
            rows = frame.groupBy(_REFUSED).count().collect()
            more = {row[0]: row[1] for row in rows}
            if more.pop(None, 0):
                by = list(self.study.public) or None
                new = tally(self.study, frame.filter(f"{_REFUSED} IS NULL"), by=by)
                # Two tallies of this stream have people in common, so they are not to be added.
                tallies = (
                    {name: merge([tallies[name], each]) for name, each in new.items()}
                    if tallies
                    else {n: t.of_collectors([secrets.token_hex(12)]) for n, t in new.items()}
                )
        finally:
            frame.unpersist()
        self.folder.mkdir(parents=True, exist_ok=True)
        if tallies:
            save_tallies(tallies, self._file("tallies", batch))
        counts = {name: refused.get(name, 0) + more.get(name, 0) for name in {*refused, *more}}
        write_whole(self._file("refused", batch), canonical(counts).encode())
        for name in ("tallies", "refused"):
            self._file(name, batch - 2).unlink(missing_ok=True)

    def _file(self, name: str, batch: int) -> Path:
        return self.folder / f"{name}-{batch:09d}.json"

    def _before(self, batch: int) -> tuple[dict[str, Tally], dict[str, int]]:
        """The tallies and the refusals up to the batch before."""
        if not batch:
            return {}, {}
        file = self._file("refused", batch - 1)
        if not file.exists():
            rule, remedy = (
                "is missing",
                "The stream needs this file and its checkpoint: restore both",
            )
            raise FileError(str(file), rule, None, remedy)
        refused = {str(name): int(n) for name, n in json.loads(read_whole(file)).items()}
        tallies = self._file("tallies", batch - 1)
        return (load_tallies(tallies) if tallies.exists() else {}), refused


# -----------------------------------------------------------------------------------------------
# Tallies of Spark frames: each partition is counted where it lies, and the counts are added up.
#
# Rows that one GROUP BY of the engine counts never reach Python, whose rows cost several times as
# much. Of all other reports, a partition gives one row for each count that is not zero. One small
# GROUP BY adds the rows of all partitions, so no more rows come to the driver than there are
# counts. A task that is lost is run again by Spark, and a task has no effect but its rows: nothing
# is counted twice.


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
        keep_reports: for reports of bits, keep the distinct reports. They come to the driver. Here
            they are kept only where that is asked for.

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
        rule, remedy = "must be a Spark frame", "Count other frames with mechanism.tally(frame)"
        raise ArgumentTypeError("frame", rule, kind(frame), remedy)
    studied = getattr(what, "mechanisms", None)
    mechanisms: dict[str, Mechanism] = {"value": what} if studied is None else dict(studied)
    given: dict[str, Any] = (
        {"value": columns} if studied is None else _of_attributes(columns, mechanisms)
    )
    public = _public(by, getattr(what, "public", None), frame.columns)
    places = _places(mechanisms, given, frame, studied is None)
    for mechanism in together(mechanisms, ways).values():
        # Refuses ways that do not fit, before Spark starts.
        mechanism.count(mechanism.schema.empty(0), ways=ways)
    tallies = _Job(mechanisms, places, public, ways, keep_reports).run(frame)
    if studied is None:
        return next(iter(tallies.values()))
    return {name: tally.per_person(what.rows_per_person) for name, tally in tallies.items()}


def _of_attributes(columns: Any, mechanisms: Mapping[str, Mechanism]) -> dict[str, ColumnNames]:
    """The columns of the attributes of a study, checked."""
    if not isinstance(columns, Mapping | None):
        rule = "must be a dict {attribute: its columns}"
        raise ArgumentTypeError("columns", rule, kind(columns))
    given = dict(columns or {})
    for name in given:
        if name not in mechanisms:
            raise unknown("columns", name, mechanisms, "the attributes of the study")
    return given


def _public(by: Any, declared: Any, columns: Iterable[str]) -> dict[str, Domain | None]:
    """The public columns as {name: domain or None}."""
    if by is None:
        return {}
    names = [by] if isinstance(by, str) else list(by)
    allowed = list(declared) if declared is not None else list(columns)
    if not names or any(name not in allowed for name in names):
        of = "columns of the frame" if declared is None else "public columns of the study"
        rule = f"must name {of}, which are: {', '.join(allowed) or 'none'}"
        raise ArgumentError("by", rule, show(by))
    if missing := [name for name in names if name not in set(columns)]:
        remedy = "Keep the public columns in the frame"
        raise ReportError("frame", f"has no public column {show(missing[0])}", None, remedy)
    if declared is not None:
        return {name: declared[name] for name in names}
    return dict(by) if isinstance(by, Mapping) else dict.fromkeys(names)


def _places(
    mechanisms: Mapping[str, Mechanism],
    given: Mapping[str, ColumnNames],
    frame: Any,
    is_alone: bool,
) -> dict[str, ReportColumns]:
    """Where the reports of each attribute are."""
    import narwhals.stable.v2 as nw

    kinds = {name: nw.Binary() if of == "binary" else nw.Int64() for name, of in frame.dtypes}
    columns = {}
    for name, mechanism in mechanisms.items():
        usual = None if is_alone else attribute_columns(name, mechanism)
        columns[name] = ReportColumns.find(mechanism.schema, kinds, given.get(name, usual))
    return columns


@dataclass(frozen=True)
class _Job:
    """What the workers count. It is sent to them.

    Attributes:
        mechanisms: {attribute: mechanism}.
        columns: where the reports of each attribute are.
        public: {name: domain or None} of the columns that group people.
        ways: the number of attributes of each marginal table, or None.
        keep_reports: whether to keep the distinct reports.
    """

    mechanisms: dict[str, Mechanism]
    columns: dict[str, ReportColumns]
    public: dict[str, Domain | None]
    ways: int | None = None
    keep_reports: bool = False

    @property
    def counted(self) -> dict[str, Mechanism]:
        """What is counted: each attribute, or all of them together."""
        return together(self.mechanisms, self.ways)

    @property
    def options(self) -> dict[str, Any]:
        """The options of :func:`warner.reports.source.count`."""
        return {"ways": self.ways, "keep_reports": self.keep_reports and self.ways is None}

    def run(self, frame: Any) -> dict[str, Tally]:
        """The tallies of a frame."""
        quick = {n: t for n in self.mechanisms if (t := self._by_engine(n, frame)) is not None}
        tallies = dict(quick)
        if slow := {name: m for name, m in self.mechanisms.items() if name not in quick}:
            tallies |= replace(self, mechanisms=slow)._by_workers(frame)
        if len({tally.n for tally in tallies.values()}) > 1:
            rule = "gives different rows each time that Spark computes it"
            remedy = "Write the frame to files once, and count the files"
            raise ReportError("frame", rule, None, remedy)
        return {name: tallies[name] for name in self.counted}

    def _by_engine(self, name: str, frame: Any) -> Tally | None:
        """The tally of an attribute by one GROUP BY of the engine; None where one is not enough.

        Also None where a row is no report: the workers say in which partition.
        """
        import narwhals.stable.v2 as nw

        schema = self.mechanisms[name].schema
        keeps = self.keep_reports and schema.can_keep_reports
        is_one = schema.group_bys == 1 and self.columns[name].form == "numbers"
        if not is_one or keeps or self.ways is not None:
            return None
        source = FrameSource(nw.from_native(frame).lazy(), {name: self.columns[name]})
        try:
            return count({name: self.mechanisms[name]}, source, self.public)[name]
        except ReportError:
            return None

    def _by_workers(self, frame: Any) -> dict[str, Tally]:
        """The tallies of a frame, counted in one pass by the workers."""
        places = [self.columns[name] for name in self.mechanisms]
        names = [name for columns in places for name in columns.names]
        some = frame.select(*dict.fromkeys([*self.public, *names]))
        binary = [columns.names[0] for columns in places if columns.form == "records"]
        with _batches_of(frame, some, binary):
            counts = some.mapInArrow(self.count, _ROWS)
            added = counts.groupBy("part", "people", "cell", "kept").agg({"reports": "sum"})
            rows = [tuple(row) for row in added.collect()]
        if wrong := sorted(bytes(row[3]).decode() for row in rows if row[2] == _WRONG):
            raise ReportError(f"frame: {wrong[0]}")
        if not rows:
            raise EmptyError("frame", "has no reports", None, "Count at least one report")
        return {
            name: self._tally(mechanism, [row for row in rows if row[0] == i])
            for i, (name, mechanism) in enumerate(self.counted.items())
        }

    def _tally(self, mechanism: Mechanism, rows: list[tuple[Any, ...]]) -> Tally:
        """The tally of an attribute from the sums of its counts."""
        texts = sorted({row[1] for row in rows})
        group_of = {text: i for i, text in enumerate(texts)}
        groups = None
        if self.public:
            keys = [tuple(json.loads(text)) for text in texts]
            groups = Groups(self.public, keys, np.arange(len(keys)))
        like = mechanism.count(mechanism.schema.empty(0), **self.options)
        sizes = np.zeros(len(texts), dtype=np.int64)
        for row in rows:
            if row[2] == _N:
                sizes[group_of[row[1]]] += row[4]
        if like.kind.keeps_reports:
            distinct = [row for row in rows if row[2] == _KEPT]
            records = np.frombuffer(b"".join(bytes(row[3]) for row in distinct), np.uint8)
            counted = Counted(
                like.kind,
                np.array([row[4] for row in distinct], dtype=np.int64),
                sizes,
                records.reshape(len(distinct), -1),
                np.array([group_of[row[1]] for row in distinct], dtype=np.int64),
            )
            return Tally(mechanism.header, counted, groups)
        require_room(len(texts), like.counts.size)
        table = np.zeros((len(texts), like.counts.size), dtype=np.int64)
        for _, text, cell, _, reports in rows:
            if cell >= 0:
                table[group_of[text], cell] += reports
        counted = Counted(like.kind, table.reshape(len(texts), *like.counts.shape), sizes)
        return Tally(mechanism.header, counted, groups)

    # What the workers run.

    def count(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The counts of a partition, as rows. An error is a row too: Spark tries errors again."""
        columns = {name: self.columns[name] for name in self.mechanisms}
        source = FrameSource(iter(batches), columns, names_rows=True)
        try:
            tallies = count(self.counted, source, self.public, **self.options)
        except EmptyError:
            return
        except WarnerError as error:
            number, text = partition(), str(error).removeprefix("data: ")
            text = text if number is None else f"partition {number}: {text}"
            yield _row_batch([(0, "", _WRONG, text.encode(), 1)])
            return
        rows = [row for i, tally in enumerate(tallies.values()) for row in _rows(i, tally)]
        for start in range(0, len(rows), _MOST_RECORDS):
            yield _row_batch(rows[start : start + _MOST_RECORDS])


_Row = tuple[int, str, int, bytes | None, int]


def _rows(attribute: int, tally: Tally) -> Iterator[_Row]:
    """The counts of a tally that are not zero, as rows of the schema _ROWS."""
    for key, of_group in tally.items():
        people = json.dumps(key)
        yield attribute, people, _N, None, of_group.n
        counts = of_group.counts.ravel()
        if of_group.rows is not None:
            for record, reports in zip(of_group.rows, counts.tolist(), strict=True):
                yield attribute, people, _KEPT, record.tobytes(), reports
            continue
        cells = np.flatnonzero(counts)
        for cell, reports in zip(cells.tolist(), counts[cells].tolist(), strict=True):
            yield attribute, people, cell, None, reports


def _row_batch(rows: list[_Row]) -> pa.RecordBatch:
    """Rows of the schema _ROWS as an Arrow batch."""

    types = [pa.int32(), pa.string(), pa.int64(), pa.binary(), pa.int64()]
    names = ["part", "people", "cell", "kept", "reports"]
    arrays = [pa.array([row[i] for row in rows], of) for i, of in enumerate(types)]
    return pa.RecordBatch.from_arrays(arrays, names)


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
