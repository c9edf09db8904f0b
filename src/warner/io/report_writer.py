"""Reports out, to a file in one of the formats, in parts, whole or not at all.

Apart from the reports and the public columns, everything in a file is a function of their number
and of the call's arguments. Rows are cut into row groups by count alone, whatever batches they came
in, and their order is drawn at random.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np

from warner._core.atomic_files import require_new, temporary_file, whole_file
from warner._core.checks import integer, legible, show
from warner._core.errors import ArgumentError, EmptyError, MismatchError, ReportError
from warner._core.foreign_tables import in_order_of, index_of
from warner._core.progress import stage
from warner._core.sampling import Pieces, Shuffle, Source, rows_at_a_time
from warner._core.text import FILE_NAME_RULE, can_name_a_file, canonical
from warner.domains import Domain
from warner.io.file_format import UNSEALED, ReportSink, file_columns, records_column, seal, to_file
from warner.io.formats import output_format
from warner.io.public_values import to_arrow
from warner.io.report_file import SCHEMA_OF_BLOCKS, SCHEMA_OF_PUBLIC
from warner.mechanisms import Mechanism, from_header
from warner.reports.public_columns import PublicColumn, check_name, require_domains
from warner.reports.reports import Reports, columns_of, file_header
from warner.reports.rules import smallest_dtype
from warner.reports.source import few
from warner.reports.tally import MOST_PER_PERSON

_ROW_GROUP = 2**20  # reports
_MOST_COLUMNS = 2**16  # beyond which the names of columns alone take minutes and gigabytes
BLOCK = 4096  # reports in a row of a file of blocks; fewer where they are long


class ReportWriter:
    """Writes reports of one or more attributes to one file, in parts, whole or not at all.

    On leaving the block the reports are put in random order and written, and the file is moved to
    its name. After an error no file is left.

    Args:
        path: a new file with the suffix of a format, or ``-`` for CSV on standard output. A file
            that is there is refused: reports are made once, and the answers may be gone.
        mechanisms: {attribute: mechanism}.
        simulation: mark the file as a simulation. Simulated reports mark the file without this flag
            too. With the flag, real reports may be among the simulated ones.
        keep_order: write people in the order they come in. That order can say whose report is
            whose, for example where the answers were sorted. Without it the order is drawn, and
            all reports of one person stay together.
        rng: draws the order of a simulation, so that it can be repeated; None for the operating
            system's randomness.
        group: the group that all these people belong to, where a study has groups. It is public,
            and the file names it.
        reports_per_person: the most reports of each attribute that one person sent; see
            :meth:`warner.reports.tally.Tally.per_person`. The file states it.
        public: {name: domain} of the public columns that travel beside the reports. They are not
            protected. The domains are Categorical, Integers or Dates.
        titles: {language: title} of the study, which is public. The file states it, so that reports
            of another survey with the same questions are noticed.
        of_round: the round of the study in which these people report; None where there is none.
            The file states it, so that two rounds of the same people are not added.
        blocks: write rows of 4,096 reports, in one column of bytes for each attribute; the last row
            is shorter. Engines such as Spark read bits several times faster so. Reports of more
            than 16 KiB stand in shorter rows. Only Parquet, and without public columns.

    Raises:
        ArgumentError: another suffix, blocks that cannot be written, too many columns, names of
            attributes that make equal names of columns, or a group that no file can be named after.
        FileError: a file that is there already.

    >>> import tempfile
    >>> from warner import Categorical, RandomizedResponse
    >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with ReportWriter(f"{folder}/reports.csv", {"smokes": coin}) as writer:
    ...         writer.write({"smokes": coin.randomize(["yes", "no"])})
    ...     Path(f"{folder}/reports.csv").read_text().splitlines()[1]
    '"smokes_report"'
    """

    def __init__(
        self,
        path: str,
        mechanisms: Mapping[str, Mechanism],
        simulation: bool = False,
        *,
        keep_order: bool = False,
        rng: np.random.Generator | None = None,
        group: str | None = None,
        reports_per_person: int = 1,
        public: Mapping[str, Domain] | None = None,
        titles: Mapping[str, str] | None = None,
        of_round: int | None = None,
        blocks: bool = False,
    ) -> None:
        self._titles = {language: title for language, title in (titles or {}).items() if title}
        self._mechanisms = dict(mechanisms)
        self._public = {
            check_name(n): PublicColumn(d, []).domain for n, d in (public or {}).items()
        }
        self._most = integer("reports_per_person", reports_per_person, 1, MOST_PER_PERSON)
        self._round = None if of_round is None else integer("of_round", of_round, 1)
        if group is not None and not can_name_a_file(group):
            raise ArgumentError("group", FILE_NAME_RULE, show(group))
        self._group = group
        self._format = output_format(path)
        rule = f"cannot be stored in this kind of file ({self._format.name})"
        if self._public and not self._format.holds_public:
            raise ArgumentError("public columns", rule, path, "Write a Parquet or CSV file")
        if blocks and not self._format.holds_blocks:
            remedy = "Write a Parquet file, such as reports.parquet"
            raise ArgumentError("blocks (--blocks)", rule, None, remedy)
        if blocks and self._public:
            rule = "cannot be used with public columns, because a block has reports of many people"
            named = ", ".join(self._public)
            remedy = f"Leave out blocks (--blocks), or remove {named} from the study"
            raise ArgumentError("blocks", rule, named, remedy)
        for attribute in self._mechanisms:
            legible("name of a question", attribute)
        width = sum(m.schema.file_width for m in self._mechanisms.values())
        if width > _MOST_COLUMNS and not blocks:
            rule = f"would need more than the {_MOST_COLUMNS:,} columns that a file can have"
            remedy = "Use fewer values, or a mechanism with short reports, such as SubsetSelection"
            raise ArgumentError("reports", rule, f"{width:,}", remedy)
        names = [name for a, m in self._mechanisms.items() for name in file_columns(a, m.schema)]
        for name in self._public:
            if name.casefold() in {taken.casefold() for taken in (*self._mechanisms, *names)}:
                rule = "must not have the name of a question, or of a column that holds its reports"
                raise ArgumentError(f"public column {name!r}", rule, None, "Rename the column")
        names += self._public
        for some in ([*self._mechanisms, *self._public], names):
            times = Counter(name.casefold() for name in some)
            if clashing := [name for name in some if times[name.casefold()] > 1]:
                rule = "must not have names that differ only in upper and lower case"
                raise ArgumentError("columns", rule, few(clashing), "Rename one of them")
        if path != "-":
            require_new(path)
        self._target: AbstractContextManager[str] = (
            _standard_output() if path == "-" else whole_file(path, replace=False)
        )
        self._source = Source(rng)
        self._marked = simulation or self._source.simulated
        self._simulated: bool | None = None  # whether reports written so far are simulated
        self._keep_order = keep_order
        self._width = sum(m.schema.bytes_per_report for m in self._mechanisms.values())
        self._width += sum(smallest_dtype(d.size).itemsize for d in self._public.values())
        # Of the width alone, as all that a file tells of itself.
        self._block = rows_at_a_time(self._width, BLOCK) if blocks else None
        group_size = rows_at_a_time(self._width, _ROW_GROUP)
        group_size -= group_size % (self._block or 1)
        self._pieces = Pieces(group_size, self._width, self._put)
        self._shuffle: Shuffle | None = None
        self._sink: ReportSink | None = None
        self._n = 0
        self._is_partial = False  # whether a batch was taken in partly
        self._is_finished = False

    def __enter__(self) -> Self:
        self._temporary = self._target.__enter__()
        if not self._keep_order:
            self._shuffle = Shuffle(self._width, self._source, str(Path(self._temporary).parent))
        return self

    def write(
        self, reports: Mapping[str, Reports], public: Mapping[str, np.ndarray] | None = None
    ) -> None:
        """Append one batch.

        Args:
            reports: {attribute: reports} of the same people in the same order.
            public: {name: (n,)}, the indices in their domains of the people's values in the public
                columns, as ``domain.encode(values)`` gives them.

        Raises:
            MismatchError: other attributes or public columns, unequal numbers, reports of other
                mechanisms, or real reports among simulated ones.
            ReportError: reports that their mechanism cannot have sent, or a batch before that was
                taken in partly.
        """
        if (
            reports.keys() != self._mechanisms.keys()
            or len({len(r) for r in reports.values()}) != 1
        ):
            rule = (
                f"must be given for each question ({', '.join(self._mechanisms)}), with the same "
                "number of rows"
            )
            raise MismatchError("reports", rule)
        index_of(reports)  # refuses reports in different orders
        parts = self._public_bytes(public or {}, len(next(iter(reports.values()))))
        for attribute, mechanism in self._mechanisms.items():
            given = reports[attribute]
            mechanism.check(given)
            self._mark(given.simulated)
            ordered = {name: given.columns[name] for name in mechanism.schema.empty(0)}
            parts.append(Reports(given.header, ordered).record_array())
        rows = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
        self._require_whole()
        self._is_partial = True
        self._n += len(rows)
        (self._pieces if self._shuffle is None else self._shuffle).add(rows)
        self._is_partial = False

    def _public_bytes(self, public: Mapping[str, np.ndarray], n: int) -> list[np.ndarray]:
        """The indices of public values as bytes, uint8 (n, bytes) for each column."""
        if public.keys() != self._public.keys() or any(len(c) != n for c in public.values()):
            rule = f"must be {', '.join(self._public) or 'none'}, each with {n} rows"
            got = ", ".join(f"{name} ({len(c)})" for name, c in public.items()) or "none"
            raise MismatchError("public columns", rule, got)
        parts = []
        for name, domain in self._public.items():
            index, size = np.asarray(public[name]), domain.size
            if index.dtype.kind not in "iu" or int(index.min()) < 0 or int(index.max()) >= size:
                rule = f"must hold the indices of its values, from 0 to {size - 1}"
                raise ArgumentError(f"public column {name!r}", rule)
            numbers = index.astype(smallest_dtype(size).newbyteorder("<"))
            parts.append(numbers.reshape(-1, 1).view(np.uint8))
        return parts

    def _require_whole(self) -> None:
        """Refuse to go on after a batch that Ctrl-C or an error stopped halfway."""
        if self._is_partial:
            rule = "was interrupted while writing, so its file would be incomplete"
            raise ReportError("writer", rule, None, "Write all reports with a new writer")

    def _mark(self, simulated: bool) -> None:
        """Note whether reports are simulated; refuse real ones among them in an unmarked file."""
        if self._simulated not in (None, simulated) and not self._marked:
            remedy = "Write two files, or pass simulation=True to mark all as simulated"
            rule = "must be all real or all simulated in one file"
            raise MismatchError("reports", rule, None, remedy)
        self._simulated = simulated or bool(self._simulated)

    def _put(self, rows: np.ndarray) -> None:
        """Write one row group, of rows of bytes."""
        if self._sink is None:
            public = [[name, d.spec()] for name, d in self._public.items()]
            more = {
                **({"titles": self._titles} if self._titles else {}),
                **({} if self._group is None else {"group": self._group}),
                **({"reports_per_person": self._most} if self._most > 1 else {}),
                **({} if self._round is None else {"round": self._round}),
                **({} if self._block is None else {"blocks": self._block}),
                **({"public": public} if public else {}),
            }
            headers = {a: m.header for a, m in self._mechanisms.items()}
            head = file_header(headers, self._marked or self._simulated, self._schema, more)
            # Not sorted: the order of attributes is that of columns.
            text = json.dumps(head, separators=(",", ":"), allow_nan=False)
            self._sink = self._opened(text)
        if self._block is not None:
            self._sink.write(self._blocks(rows, self._block))
            return
        columns: dict[str, Any] = {}
        start = 0
        for name, domain in self._public.items():
            dtype = smallest_dtype(domain.size).newbyteorder("<")
            stop = start + dtype.itemsize
            index = np.ascontiguousarray(rows[:, start:stop]).view(dtype).ravel()
            columns[name] = to_arrow(domain, index.astype(np.int64))
            start = stop
        for attribute, mechanism in self._mechanisms.items():
            schema = mechanism.schema
            stop = start + schema.bytes_per_report
            columns |= to_file(attribute, schema, columns_of(schema, rows[:, start:stop]))
            start = stop
        self._sink.write(columns)

    @property
    def _schema(self) -> int:
        """The lowest version of headers that knows all that this file holds."""
        if self._block is not None:
            return SCHEMA_OF_BLOCKS
        return SCHEMA_OF_PUBLIC if self._public else 1

    def _opened(self, header: str) -> ReportSink:
        """The file, with its header."""
        if self._block is not None:
            names = [records_column(attribute) for attribute in self._mechanisms]
            return self._format.block_sink(self._temporary, header, names)
        sizes = {
            name: size
            for a, m in self._mechanisms.items()
            for name, size in file_columns(a, m.schema).items()
        }
        beside = [self._public] if self._public else []
        return self._format.sink(self._temporary, header, sizes, *beside)

    def _blocks(self, rows: np.ndarray, size: int) -> dict[str, list[bytes]]:
        """The columns of a row group, in blocks of ``size`` reports; the last may be shorter."""
        columns: dict[str, list[bytes]] = {}
        start = 0
        for attribute, mechanism in self._mechanisms.items():
            stop = start + mechanism.schema.bytes_per_report
            columns[records_column(attribute)] = [
                rows[first : first + size, start:stop].tobytes()
                for first in range(0, len(rows), size)
            ]
            start = stop
        return columns

    def finish(self) -> None:
        """Write all that is held, and the end of the file, which gets its name after the block.

        Leaving the block does this too. Called before, it parts what can take long, or fail, from
        the moment at which the reports are there.

        Raises:
            EmptyError: no reports.
            ReportError: a batch before that was taken in partly.
        """
        if self._is_finished:
            return
        if self._n == 0:
            raise EmptyError("reports", "must not be empty")
        self._require_whole()
        if self._shuffle is not None:
            done = 0
            with stage("writing reports", self._n) as tell:
                for rows in self._shuffle.shuffled():
                    self._pieces.add(rows)
                    done += len(rows)
                    tell(done)
        self._pieces.flush()
        assert self._sink is not None
        sink, self._sink = self._sink, None
        sink.close(canonical({"n": self._n, "sha256": UNSEALED}))
        seal(self._temporary)
        self._is_finished = True

    def __exit__(self, kind: type[BaseException] | None, *rest: Any) -> None:
        try:
            try:
                if kind is None:
                    self.finish()
            finally:
                if self._shuffle is not None:
                    self._shuffle.close()
                if self._sink is not None:
                    self._sink.close(None)
        except BaseException:
            self._target.__exit__(*sys.exc_info())
            raise
        self._target.__exit__(kind, *rest)


@contextmanager
def _standard_output() -> Iterator[str]:
    """A temporary file that is copied to standard output when the block ends well."""
    with temporary_file(suffix=".csv") as path:
        yield path
        with open(path, "rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.flush()


def write_reports(
    reports: Reports | Mapping[str, Reports],
    path: str,
    simulation: bool = False,
    *,
    keep_order: bool = False,
    rng: np.random.Generator | None = None,
    group: str | None = None,
    reports_per_person: int = 1,
    public: Mapping[str, PublicColumn] | None = None,
    of_round: int | None = None,
    blocks: bool = False,
) -> None:
    """Write reports in memory to a file, in random order, whole or not at all.

    Args:
        reports: {attribute: reports} of the same people in the same order; one Reports is written
            as the attribute ``value``.
        path, simulation, keep_order, rng, group, reports_per_person, of_round, blocks: as in
            :class:`ReportWriter`.
        public: {name: column} of the public columns, with the values of the same people in the same
            order. They are not protected. Those of a study are ``study.public_columns(by)``, with
            ``by`` as of :meth:`warner.Study.tally`.

    Raises:
        ArgumentError, MismatchError, ReportError: as in :class:`ReportWriter`.
        EmptyError: no reports.
        FileError: a file that is there already.

    A file of each ward, in folders as engines write them, from which ``warner tally lake --by
    ward`` takes the ward too:

    >>> import tempfile
    >>> from pathlib import Path
    >>> import warner
    >>> study = warner.Study.parse('''
    ... [public.ward]
    ... values = ["north", "south"]
    ... [attributes.smokes]
    ... values = ["no", "yes"]
    ... mechanism = "RandomizedResponse"
    ... epsilon = 1.0
    ... ''')
    >>> smokes = study.mechanisms["smokes"]
    >>> with tempfile.TemporaryDirectory() as lake:
    ...     for ward, answers in {"north": ["no", "yes"], "south": ["no", "no", "yes"]}.items():
    ...         folder = Path(lake, f"ward={ward}")
    ...         folder.mkdir()
    ...         public = study.public_columns({"ward": [ward] * len(answers)})
    ...         reports = {"smokes": smokes.randomize(answers)}
    ...         write_reports(reports, str(folder / "part-0.parquet"), public=public)
    ...     warner.io.tally_file(str(folder / "part-0.parquet"), ["ward"])["smokes"].n
    3
    """
    named = {"value": reports} if isinstance(reports, Reports) else reports
    mechanisms, index = {a: from_header(r.header) for a, r in named.items()}, index_of(named)
    columns = {
        name: PublicColumn(column.domain, in_order_of(index, column.values, f"public {name!r}"))
        for name, column in require_domains(public).items()
    }
    for of_one in named.values() if columns else ():
        if of_one.file is not None:
            of_one.file.require("public", columns)
    with ReportWriter(
        path,
        mechanisms,
        simulation,
        keep_order=keep_order,
        rng=rng,
        group=group,
        reports_per_person=reports_per_person,
        public={name: column.domain for name, column in columns.items()},
        of_round=of_round,
        blocks=blocks,
    ) as writer:
        writer.write(named, {name: column.index for name, column in columns.items()})
