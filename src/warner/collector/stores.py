"""Where the collector keeps spent ids and counts: in one SQLite file, or in PostgreSQL.

Two tables, and beside them named facts. ``spent`` has the id of each report that is counted, under
a unique index; ``invited`` has the ids that invitation codes make in the same way. ``counts`` has
the counts in shards, one for each process that writes: processes that count at the same time do not
wait for each other's rows. One transaction adds the new ids of some reports and what they count.

A transaction whose reply is lost is simply done again: its ids are there, so nothing is new in it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np

from warner._core.atomic_files import temporary_file, to_disk
from warner._core.errors import ArgumentError, FileError
from warner._core.extras import not_installed
from warner.collector.access import ID_BYTES
from warner.collector.refusals import Refused

if TYPE_CHECKING:
    import psycopg

SPENT, INVITED = "spent", "invited"
_IDS = (SPENT, INVITED)
_PATIENCE = 1.0  # seconds to wait for another process that is ending
_SHARE = 50  # to rewrite the tables takes at most one second in so many
_AGAIN = 10.0  # seconds after which it is tried again
_LONG = 0.02  # seconds; what takes longer to rewrite waits for a quiet moment

_Connection = TypeVar("_Connection")
_T = TypeVar("_T")

# Ids are handed over as one string of bytes, in order, which statements cut.
_CUT = (
    "WITH RECURSIVE place (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM place WHERE i + 1 < ?), "
    f"given (id) AS (SELECT substr(?, {ID_BYTES} * i + 1, {ID_BYTES}) FROM place) "
)


@dataclass(frozen=True)
class Contents:
    """What a store holds at one moment, without the ids."""

    commits: int  # how many transactions were written, by all processes
    facts: Mapping[str, bytes]
    counts: Mapping[bytes, int]  # {cell: count} over all shards


@dataclass(frozen=True)
class AboutStore:
    """What a store is to those who operate it."""

    engine: str
    size: int  # bytes on its disk
    free_bytes: int | None  # left on its disk; None where it is not seen from here
    others: int  # other processes that have it open


class Store(ABC, Generic[_Connection]):
    """A store that one collector has open, by one connection; where it fails, :class:`Refused`."""

    # The errors of a database can hold what was written, so no refusal has one as its context.

    name: str  # as messages name it, without a password
    rest: float  # seconds after a change until `tidy` is called, also while more changes follow
    is_shared: bool  # whether other processes may have it open too
    _may_be_copy = False  # whether the owner knows that it may be a copy, and lacks reports
    was_copy = False  # whether it was one when it was opened
    _begin: ClassVar[str]  # the statement that begins a transaction
    _errors: type[Exception]
    _connection: _Connection | None = None
    shard = 0  # in which this process counts
    _pause: float  # seconds between two times that the tables are rewritten, at least
    _writes = False  # whether the transaction has changed something
    _has_older = True  # whether the log, or the tables, have older versions of rows
    _cost = 0.0  # seconds that it took to rewrite the tables
    _rewritten = 0.0  # when they may be rewritten next, by the monotonic clock
    written = 0  # transactions of this object

    # Opening and closing.

    def open(self) -> bool:
        """Connect, take a shard and make the tables; False where it is open."""
        if self._is_open():
            return False
        self._connection = self._named(self._connect)
        self._cost, self._rewritten = 0.0, time.monotonic() + self._pause
        return True

    def close(self) -> None:
        """Let other processes in."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(self._errors):
                connection.close()  # type: ignore[attr-defined]

    # Reading.

    def read(self) -> Contents:
        """All that is there but the ids. What is written meanwhile may be in it."""
        # The counts come after the facts: if these say that the survey is closed, those are final.
        commits = self.commits()
        facts = self._named(self._run, "SELECT name, content FROM warner_facts")
        query = "SELECT cell, sum(n) FROM warner_counts GROUP BY cell"
        return Contents(
            commits,
            {name: bytes(content) for name, content in facts},
            {bytes(cell): int(n) for cell, n in self._named(self._run, query)},
        )

    def size(self, table: str) -> int:
        """How many ids a table has."""
        return int(self._named(self._run, f"SELECT count(*) FROM warner_{table}")[0][0])

    @abstractmethod
    def exists(self) -> bool:
        """Whether it was made."""

    @abstractmethod
    def about(self) -> AboutStore:
        """What those who operate it ask of it."""

    def facts(self, *names: str) -> dict[str, bytes]:
        """The facts of these names."""
        marks = ", ".join("?" * len(names))
        query = f"SELECT name, content FROM warner_facts WHERE name IN ({marks})"
        return {name: bytes(content) for name, content in self._named(self._run, query, *names)}

    def commits(self) -> int:
        """How many transactions were written, by all processes."""
        query = "SELECT coalesce(sum(commits), 0) FROM warner_shards"
        return int(self._named(self._run, query)[0][0])

    def has(self, table: str, ids: np.ndarray) -> np.ndarray:
        """Which ids (n, 16) are in a table, (n,)."""
        if not len(ids):
            return np.zeros(0, dtype=bool)
        places = _places(ids)
        query = (
            f"{_CUT} SELECT id FROM given WHERE EXISTS "
            f"(SELECT 1 FROM warner_{table} AS t WHERE t.id = given.id)"
        )
        rows = self._named(self._run, query, len(places), b"".join(sorted(places)))
        there = {bytes(row[0]) for row in rows}
        content = ids.tobytes()
        starts = range(0, len(content), ID_BYTES)
        return np.array([content[i : i + ID_BYTES] in there for i in starts], dtype=bool)

    # Writing.

    @contextmanager
    def changing(self, alone: bool = False) -> Iterator[None]:
        """A transaction: all that is written in the block is on disk after it, or nothing is.

        Transactions of several processes run beside each other, but no other one beside one that
        is ``alone``.
        """
        self._writes = False
        try:
            self._make_room()
            self._run(self._begin)
            self._keep_out(alone)
            yield
            self._finish()
            return
        except self._errors as error:
            refused = self._failed(error)
        except BaseException:
            try:
                if self._is_open():
                    self._run("ROLLBACK")
            except self._errors:
                self.close()
            raise
        raise refused

    def claim(self, table: str, ids: np.ndarray) -> np.ndarray:
        """Add ids (n, 16) to a table; which of them are new, (n,): of equal ones the first is."""
        if not len(ids):
            return np.zeros(0, dtype=bool)
        places = _places(ids)
        statement = (
            f"{_CUT} INSERT INTO warner_{table} (id) SELECT id FROM given WHERE true "
            "ON CONFLICT DO NOTHING RETURNING id"
        )
        rows = self._run(statement, len(places), b"".join(sorted(places)))
        self._writes |= bool(rows)
        fresh = np.zeros(len(ids), dtype=bool)
        fresh[[places[bytes(row[0])] for row in rows]] = True
        return fresh

    def add(self, counts: Mapping[bytes, int]) -> None:
        """Add to counts, {cell: how many more}."""
        self._writes = True
        self._add(counts)

    def put(self, facts: Mapping[str, bytes]) -> None:
        """Write facts, whether or not they are there."""
        self._writes = True
        statement = (
            "INSERT INTO warner_facts (name, content) VALUES (?, ?) "
            "ON CONFLICT (name) DO UPDATE SET content = excluded.content"
        )
        for fact in facts.items():
            self._run(statement, *fact)

    def drop_ids(self) -> None:
        """Delete all ids."""
        self._writes = True
        for table in _IDS:
            self._run(f"DELETE FROM warner_{table}")

    def backup(self) -> str:
        """Write a whole copy of the store as of one moment; the name of its file."""
        rule = "is a database, which warner cannot copy"
        remedy = "Whoever runs the database can copy it with pg_dump"
        raise Refused("no_backup", self.name, rule, None, remedy)

    def tidy(self, is_quiet: bool = True) -> bool:
        """Empty the log, and rewrite the tables if it is time; whether nothing is left to do."""
        if self._has_older:
            self._named(self._clean)
            self._has_older = False
        if time.monotonic() < self._rewritten or (self._cost > _LONG and not is_quiet):
            return False
        self.rewrite()
        return True

    def rewrite(self) -> None:
        """Write all tables anew in the order of their keys: no order of arrival is left in them."""
        start = time.monotonic()
        # Where it fails, as on a full disk, its part of the log is given back soon after.
        self._rewritten, self._has_older = start + _AGAIN, True
        self._named(self._sort)
        self._named(self._clean)
        self._has_older, end = False, time.monotonic()
        self._cost = end - start
        self._rewritten = end + max(self._pause, _SHARE * self._cost)

    # What the engines have in common.

    def _named(self, action: Callable[..., _T], *arguments: Any) -> _T:
        """The result of an action, whose errors become refusals."""
        try:
            return action(*arguments)
        except self._errors as error:
            refused = self._failed(error)
        raise refused

    def _opened(self) -> _Connection:
        if self._connection is None or not self._is_open():
            raise Refused("store_failed", self.name, "is not open", None, "Try again later")
        return self._connection

    def _is_open(self) -> bool:
        return self._connection is not None

    def _make_room(self) -> None:
        """Give back space on a disk that is nearly full, before a transaction."""

    def _finish(self) -> None:
        """End a transaction; what changed nothing is no write."""
        if not self._writes:
            self._run("ROLLBACK")
            return
        statement = (
            "INSERT INTO warner_shards (shard, commits) VALUES (?, 1) "
            "ON CONFLICT (shard) DO UPDATE SET commits = warner_shards.commits + 1"
        )
        self._run(statement, self.shard)
        self._has_older = True
        self._run("COMMIT")
        self.written += 1

    def _of_another_version(self, version: int) -> Refused:
        """The refusal of tables of another version of warner."""
        tables = f"its tables have version {version}, not {_VERSION}"
        if version > _VERSION:
            rule = f"was written by a newer version of warner: {tables}"
            remedy = "Start the version of warner that wrote the store"
            return Refused("store_too_new", self.name, rule, None, remedy)
        rule = f"was written by an older version of warner: {tables}"
        remedy = (
            "Finish the survey with the version of warner that wrote the store. Or save its tally "
            'with that version, continue in a new store, and add the tallies with "warner merge"'
        )
        return Refused("store_too_old", self.name, rule, None, remedy)

    def _take_copy(self, got: str) -> None:
        """Go on with a store that is a copy, where the owner knows that."""
        # Who has answered since then and answers again tells twice as much. Only the owner can
        # weigh that against an end of the survey.
        if not self._may_be_copy:
            rule = "is an old copy, which lacks the reports that were counted later"
            remedy = (
                "To go on without these reports, run: warner collect serve STUDY --restored. The "
                "people who sent these reports can then answer again, but two reports of a person "
                "tell more about this person than one"
            )
            raise Refused("store_restored", self.name, rule, got, remedy)
        self._may_be_copy, self.was_copy = False, True

    def _in_use(self) -> Refused:
        rule, remedy = "is open in another process", "Stop that process first"
        return Refused("store_in_use", self.name, rule, None, remedy)

    def _full(self) -> Refused:
        rule = "has no space left"
        remedy = "Make space on its disk. The devices then send their reports again"
        return Refused("store_full", self.name, rule, None, remedy)

    @abstractmethod
    def _connect(self) -> _Connection:
        """A connection to a store with all tables."""

    @abstractmethod
    def _run(self, statement: str, *values: Any) -> list[Any]:
        """The rows that a statement gives."""

    @abstractmethod
    def _keep_out(self, alone: bool) -> None:
        """Wait for transactions that may not run beside this one."""

    @abstractmethod
    def _add(self, counts: Mapping[bytes, int]) -> None: ...

    @abstractmethod
    def _clean(self) -> None:
        """Wipe older versions of rows as far as the engine can."""

    @abstractmethod
    def _sort(self) -> None:
        """Write all rows anew in the order of their keys."""

    @abstractmethod
    def _failed(self, error: Any) -> Refused:
        """The refusal of an error, after which no transaction is open."""


def _places(ids: np.ndarray) -> dict[bytes, int]:
    """{id: the first row of ids (n, 16) in which it stands}."""
    content = ids.tobytes()
    places: dict[bytes, int] = {}
    for start in range(0, len(content), ID_BYTES):
        places.setdefault(content[start : start + ID_BYTES], start // ID_BYTES)
    return places


_VERSION = 2  # of the tables


def _tables(blob: str, number: str, more: str = "") -> Iterator[str]:
    """The statements that make the tables, by the engine's names of types."""
    yield f"CREATE TABLE warner_facts (name text PRIMARY KEY, content {blob} NOT NULL){more}"
    for table in _IDS:
        yield f"CREATE TABLE warner_{table} (id {blob} NOT NULL PRIMARY KEY){more}"
    yield (
        f"CREATE TABLE warner_counts (shard {number} NOT NULL, cell {blob} NOT NULL, "
        f"n {number} NOT NULL, PRIMARY KEY (shard, cell)){more}"
    )
    yield (
        f"CREATE TABLE warner_shards (shard {number} NOT NULL PRIMARY KEY, "
        f"commits {number} NOT NULL){more}"
    )


# -----------------------------------------------------------------------------------------------
# SQLite, by the standard library.
#
# Write-ahead log, a full flush to disk in each commit, and an exclusive lock: a second process is
# refused. The tables are b-trees in the order of their keys (``WITHOUT ROWID``). Within a page of
# a b-tree, and by pages that are half full, it shows which ids came last. So the file is rewritten
# (``VACUUM``) and the log emptied: as soon as nobody has sent for a moment, if fifty times as long
# as it takes has passed. The blocks that an emptied log leaves to the file system are not
# overwritten.
#
# A bit that flips on the disk: the table of checks has one sum over all rows, which each commit
# brings up to date and each start compares. A log that was damaged ends, for SQLite, at its first
# frame that is not whole, and commits after it are lost without a word. So a small file beside the
# store says how many commits there were. A backup has no such file: it is known as a copy.
#
# A full disk: a log can be emptied only while the file has space to grow by what the log holds. A
# log that took the last space would keep it for good. So where little is free, the log is emptied
# before each transaction, and one that would leave too little for the file is refused.


_APPLICATION = 0x57524E31  # "WRN1", the application id of the file
_PRAGMAS = (
    "locking_mode = EXCLUSIVE",  # the lock that the first transaction takes is kept
    "synchronous = FULL",
    "secure_delete = ON",
    "temp_store = MEMORY",  # nothing of the store lies elsewhere while it is rewritten
    "cache_size = -65536",
    "journal_size_limit = 4194304",
    "journal_mode = WAL",
)
_PRIME = 2**61 - 1  # checks are sums modulo this prime, so no flip of one bit leaves them alike
_SPREAD = 0x5851F42D4C957F2D % _PRIME
_QUICKLY = 10**6  # ids, the most that are summed at each start
_RATE = 5e7  # bytes of a file that are rewritten in a second, as a first guess
_FRAME = 4096 + 24  # bytes of the log for a page of the file
_FEW = 512  # pages that a transaction changes, besides two for each row
_TIGHT = 2**26  # bytes; where fewer are free, the log is emptied before each transaction


def _row_check(content: bytes) -> int:
    """What a row adds to the sum of all rows."""
    return (int.from_bytes(content, "big") * _SPREAD + 1) % _PRIME


def _ids_check(content: bytes) -> int:
    """What ids add, one after the other in ``content``; the sum of :func:`_row_check`."""
    words = np.frombuffer(content, ">u4").reshape(-1, ID_BYTES // 4)
    total = 0
    for column in words.sum(axis=0, dtype=np.uint64).tolist():
        total = (total << 32) + column
    return (total * _SPREAD + len(words)) % _PRIME


def _counts_check(counts: Iterable[tuple[bytes, int]]) -> int:
    """What counts add."""
    return sum(n * _row_check(cell) for cell, n in counts) % _PRIME


def _fact_check(name: str, content: bytes) -> int:
    """What a fact adds."""
    return _row_check(hashlib.blake2b(name.encode() + b"\0" + content, digest_size=8).digest())


class SQLiteStore(Store[sqlite3.Connection]):
    """A store in the file ``path``, with ``path-wal`` and ``path-last`` beside it.

    >>> import tempfile
    >>> from pathlib import Path
    >>> ids = np.eye(2, 16, dtype=np.uint8)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = SQLiteStore(Path(folder) / "survey.db")
    ...     opened = store.open()
    ...     for attempt in range(2):
    ...         with store.changing():
    ...             store.claim("spent", ids).tolist()
    ...     with store.changing():
    ...         store.add({b"yes": 3})
    ...     print(store.read().counts, store.has("spent", ids).tolist())
    ...     store.close()
    [True, True]
    [False, False]
    {b'yes': 3} [True, True]
    """

    rest = 0.1  # after each commit it would cost a tenth of the submissions in a second
    is_shared = False
    _pause = 0.0
    _begin = "BEGIN IMMEDIATE"
    _errors = sqlite3.Error
    _more = 0  # what the transaction adds to the sum of all rows
    _rows = 0  # that were changed before the transaction

    def __init__(self, path: str | os.PathLike[str], may_be_copy: bool = False) -> None:
        self.name = self.path = os.fspath(path)
        self._may_be_copy = may_be_copy
        self._last_path = f"{self.path}-last"
        self._folder = os.path.dirname(os.path.abspath(self.path))

    def _connect(self) -> sqlite3.Connection:
        problem = None
        try:
            for path in (self.path, self._last_path):
                # Only the owner of the file may read it.
                os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            size = os.path.getsize(self.path)
            connection = self._checked()
        except OSError as error:
            problem = f"cannot be opened ({error.strerror})"
        if problem is not None:
            remedy = "Check the path, and who may write there"
            raise Refused("store_failed", self.path, problem, None, remedy)
        self._pause = _SHARE * size / _RATE
        return connection

    def _checked(self) -> sqlite3.Connection:
        """A connection to the file, whose tables are there and hold what was written."""
        connection = sqlite3.connect(
            self.path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
        )
        try:
            for pragma in _PRAGMAS:
                connection.execute(f"PRAGMA {pragma}")
            connection.execute("BEGIN IMMEDIATE")
            self._migrate(connection)
            self._check(connection)
            connection.execute("COMMIT")
        except BaseException:
            connection.close()
            raise
        return connection

    def _migrate(self, connection: sqlite3.Connection) -> None:
        """Make the tables of a new file; within a transaction."""
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        application = int(connection.execute("PRAGMA application_id").fetchone()[0])
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if application != _APPLICATION and (tables or version):
            rule = "is a database of another program, not a store of warner"
            raise Refused("store_failed", self.path, rule, None, "Choose another file")
        if tables and version != _VERSION:
            raise self._of_another_version(version)
        if tables:
            return
        for statement in _tables("blob", "integer", " WITHOUT ROWID"):
            connection.execute(statement)
        connection.execute("CREATE TABLE warner_checks (key integer PRIMARY KEY, total integer)")
        connection.execute("INSERT INTO warner_checks VALUES (0, 0)")
        self._seal(0)  # there may be one of a store that was deleted
        connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        connection.execute(f"PRAGMA user_version = {_VERSION}")

    # Checks.

    def _check(self, connection: sqlite3.Connection) -> None:
        """Refuse a file whose rows are not those that were written, or that lacks the last ones."""
        remedy = "A disk fault or a bad copy has changed the store. Continue with an earlier backup"
        with open(self._last_path, "rb") as file:
            content = file.read()
        spent, invited = (
            connection.execute(f"SELECT count(*) FROM warner_{table}").fetchone()[0]
            for table in _IDS
        )
        total = connection.execute("SELECT key, total FROM warner_checks").fetchall()
        is_summed = spent + invited <= _QUICKLY or not content
        if is_summed and total != [(0, self._total(connection))]:
            rule = "no longer holds exactly what warner wrote"
            raise Refused("store_damaged", self.path, rule, None, remedy)
        commits = connection.execute("SELECT sum(commits) FROM warner_shards").fetchone()[0] or 0
        last = int.from_bytes(content[:8], "big")
        is_behind = content == _sealed(last) and last > commits
        if content and not is_behind:
            return
        if is_behind and not self._may_be_copy:
            rule = "has lost some of what was saved before, perhaps reports"
            remedy = (
                "A file of the store was damaged or cut off. Continue with a good copy. To go on "
                "without the missing reports, run: warner collect serve STUDY --restored"
            )
            raise Refused(
                "store_damaged", self.path, rule, f"{commits:,} of {last:,} changes", remedy
            )
        self._take_copy(f"{spent:,} ids of reports")
        self._seal(commits)

    def _seal(self, commits: int) -> None:
        """Write how many commits there are, and wait until it is on disk."""
        with open(self._last_path, "r+b") as file:
            file.write(_sealed(commits))
            file.truncate()
            os.fsync(file.fileno())

    @staticmethod
    def _total(connection: sqlite3.Connection) -> int:
        """The sum over all rows."""
        total = 0
        for table in _IDS:
            cursor = connection.execute(f"SELECT id FROM warner_{table}")
            while rows := cursor.fetchmany(10_000):
                total += _ids_check(b"".join(row[0] for row in rows))
        total += _counts_check(connection.execute("SELECT cell, n FROM warner_counts"))
        facts = connection.execute("SELECT name, content FROM warner_facts")
        return (total + sum(_fact_check(*fact) for fact in facts)) % _PRIME

    def claim(self, table: str, ids: np.ndarray) -> np.ndarray:
        fresh = super().claim(table, ids)
        self._more += _ids_check(ids[fresh].tobytes())
        return fresh

    def put(self, facts: Mapping[str, bytes]) -> None:
        old = self.facts(*facts)
        super().put(facts)
        self._more += sum(_fact_check(*fact) for fact in facts.items())
        self._more -= sum(_fact_check(*fact) for fact in old.items())

    def drop_ids(self) -> None:
        super().drop_ids()
        self._more = 0
        total = self._total(self._opened())
        self._run("UPDATE warner_checks SET total = ?", total)

    def _finish(self) -> None:
        more, self._more = self._more % _PRIME, 0
        if more:
            self._run(f"UPDATE warner_checks SET total = (total + ?) % {_PRIME}", more)
        if self._writes:
            self._require_room()
        super()._finish()
        if self._writes:
            # Not flushed: it is a witness against the log, which may be behind after a power cut.
            with suppress(OSError), open(self._last_path, "r+b", buffering=0) as file:
                file.write(_sealed(self.commits()))

    # A disk that is nearly full.

    def _free_bytes(self) -> int:
        """How many bytes the disk has left."""
        return shutil.disk_usage(self._folder).free

    def _make_room(self) -> None:
        self._rows = self._opened().total_changes
        if self._free_bytes() < _TIGHT and os.path.getsize(f"{self.path}-wal"):
            with suppress(sqlite3.Error):  # what only reads needs no space
                self._clean()

    def _require_room(self) -> None:
        """Refuse a transaction after which the log could not be emptied into the file."""
        pages = self._run("PRAGMA page_count")[0][0]
        changed = min(pages, 2 * (self._opened().total_changes - self._rows) + _FEW)
        growth = 4096 * pages - os.path.getsize(self.path)
        if self._free_bytes() < _FRAME * changed + max(growth, 0):
            raise self._full()

    # The engine.

    def _run(self, statement: str, *values: Any) -> list[Any]:
        return self._opened().execute(statement, values).fetchall()

    def _keep_out(self, alone: bool) -> None:
        self._more = 0  # and the file is locked

    def _add(self, counts: Mapping[bytes, int]) -> None:
        statement = (
            f"INSERT INTO warner_counts (shard, cell, n) VALUES ({self.shard}, ?, ?) "
            "ON CONFLICT (shard, cell) DO UPDATE SET n = n + excluded.n"
        )
        self._opened().executemany(statement, counts.items())
        self._more += _counts_check(counts.items())

    def _clean(self) -> None:
        self._run("PRAGMA wal_checkpoint(TRUNCATE)")  # copies the log into the file and empties it

    def _sort(self) -> None:
        # The log has the whole file for a moment.
        if self._free_bytes() < _FRAME * (self._run("PRAGMA page_count")[0][0] + 1):
            raise self._full()
        self._run("VACUUM")

    def exists(self) -> bool:
        return os.path.exists(self.path)

    def about(self) -> AboutStore:
        size = sum(os.path.getsize(f"{self.path}{end}") for end in ("", "-wal"))
        return AboutStore("SQLite", size, self._free_bytes(), 0)

    def backup(self) -> str:
        path, problem = f"{self.path}-backup", None
        try:
            with temporary_file(self._folder) as temporary:
                # Rows come into a new file in the order of their keys, so it shows no order of
                # arrival, as a copy of the pages would.
                self._named(self._run, "VACUUM INTO ?", temporary)
                to_disk(temporary)
                os.replace(temporary, path)
                to_disk(self._folder)
        except OSError as error:
            problem = f"cannot be copied ({error.strerror})"
        if problem is not None:
            raise Refused("store_failed", self.path, problem, None, "Check the disk of the store")
        return os.path.basename(path)

    def restore(self, backup: str | os.PathLike[str]) -> None:
        """Make the file from a backup, which is checked; the collector still refuses it."""
        for end in ("", "-wal", "-last"):
            if os.path.lexists(path := f"{self.path}{end}"):
                rule = "already exists, and an existing store is never replaced"
                remedy = "Move the files of the old store away first"
                raise FileError(path, rule, None, remedy)
        failed = Refused(
            "store_failed",
            self.path,
            "cannot be restored, because the backup is not a store of warner",
            None,
            'Name a copy that "warner collect backup" made',
        )
        try:
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            shutil.copyfile(backup, self.path)
            to_disk(self.path)
            self.open()
        except OSError as error:
            rule = f"cannot be made from {os.fspath(backup)} ({error.strerror})"
            failed = Refused("store_failed", self.path, rule, None, "Check the two paths")
        except Refused as refused:
            if refused.name == "store_restored":  # everything else was found to be right
                return
            failed = refused
        self.close()
        for end in ("", "-last"):
            Path(f"{self.path}{end}").unlink(missing_ok=True)
        raise failed

    def _failed(self, error: sqlite3.Error) -> Refused:
        connection = self._connection
        if connection is not None:
            with suppress(sqlite3.Error):
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
            if connection.in_transaction or not isinstance(error, sqlite3.OperationalError):
                self.close()
        # Of the error only the name is shown.
        name = getattr(error, "sqlite_errorname", "") or "SQLITE_ERROR"
        if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            return self._in_use()
        if name == "SQLITE_FULL":
            return self._full()
        rule = f"cannot be read or written ({name})"
        remedy = "Check the disk, and who may write the file"
        return Refused("store_failed", self.path, rule, None, remedy)


def _sealed(commits: int) -> bytes:
    """A number of commits with a check of it, 16 bytes."""
    content = commits.to_bytes(8, "big")
    return content + hashlib.blake2b(content, digest_size=8).digest()


# -----------------------------------------------------------------------------------------------
# PostgreSQL, by psycopg 3, for any number of processes.
#
# The tables stand in the first schema of the connection's search path; several surveys share a
# database in several schemas, ``postgresql://host/db?options=-csearch_path%3Dsurvey7``. Each
# process counts in a shard of its own, which an advisory lock of its session keeps. Each commit
# waits until the server has written it to disk. Each transaction takes a second lock together with
# the others; who closes the survey takes it alone.
#
# PostgreSQL keeps older versions of rows until it cleans them up (``VACUUM``), and its log holds
# each change. A table has its rows as they came, each with the number of its transaction, also
# after ``VACUUM FULL``. So the ids are written into an empty table in their order: at most once a
# minute, and at closing. Who reads the files of the server before sees in which order they came. A
# backup of the log keeps that.


_TIMEOUT = 5  # seconds to wait for a connection
# Commits wait for the disk, and the server soon notices that a collector has vanished.
_SETTINGS = (
    "synchronous_commit = on",
    "tcp_keepalives_idle = 10",
    "tcp_keepalives_interval = 5",
    "tcp_keepalives_count = 3",
)
_UNANSWERED = 15_000  # milliseconds, after which a network that a commit waits for is cut
_SHARDS = 1000
_SCHEMA = "schema"  # the fact that holds the version of the tables
# The fact that holds the server and the number of the table that has it. A table that a dump makes
# has another one. Servers that copy each other's files, as a standby does, count as one.
_HOME = "home"
_TABLE = "'warner_facts'::regclass::oid::bigint"
_HERE = (
    f"SELECT {_TABLE}, convert_to(system_identifier || ' ' || {_TABLE}, 'UTF8') "
    "FROM pg_control_system()"
).encode()
# Locks have two numbers: of the schema, and of a shard or of all together.
_LOCK = "hashtext('warner ' || current_schema())"
_ALL = -1
# Each process has the lock of a shard.
_OTHERS = (
    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 2 "
    "AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) "
    f"AND classid::bigint = ({_LOCK})::bigint & 4294967295 AND objid::bigint < {_SHARDS} "
    "AND pid <> pg_backend_pid()"
)


class PostgresStore(Store["psycopg.Connection[Any]"]):
    """A store in the database at an address."""

    rest = 1.0
    is_shared = True
    name = "store"  # not the address, which may hold a password
    _pause = 60.0
    _begin = "BEGIN"
    _table = 0  # the number of a table, by which it is known that a dump was loaded

    def __init__(self, address: str, may_be_copy: bool = False) -> None:
        self._may_be_copy = may_be_copy
        try:
            import psycopg
        except ImportError:
            missing = not_installed("psycopg", "a store in PostgreSQL")
        else:
            self._connect_to, self._errors, self._address = psycopg.connect, psycopg.Error, address
            return
        raise missing

    def __repr__(self) -> str:
        return "PostgresStore()"  # the address may hold a password

    def _is_open(self) -> bool:
        return self._connection is not None and not self._connection.closed

    def _connect(self) -> psycopg.Connection[Any]:
        connection = self._connect_to(
            self._address,
            autocommit=True,
            connect_timeout=_TIMEOUT,
            application_name="warner",
            keepalives_idle=5,
            keepalives_interval=5,
            keepalives_count=2,
            tcp_user_timeout=_UNANSWERED,
        )
        try:
            if connection.execute("SELECT current_schema()").fetchone() == (None,):
                rule, remedy = "names no schema that exists", "CREATE SCHEMA, or name another"
                raise Refused("store_failed", self.name, rule, None, remedy)
            for setting in _SETTINGS:
                connection.execute(f"SET {setting}".encode())
            with connection.transaction():
                connection.execute(f"SELECT pg_advisory_xact_lock({_LOCK}, {_ALL})".encode())
                self._migrate(connection)
            self.shard = self._locked(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _locked(self, connection: psycopg.Connection[Any]) -> int:
        """The number of a shard that no other process has, from now on locked."""
        # First the one before: the server may keep a session that was lost for a moment.
        until = time.monotonic() + _PATIENCE
        query = f"SELECT pg_try_advisory_lock({_LOCK}, %s::integer)".encode()
        shards = [self.shard] if self.written else range(_SHARDS)
        while True:
            for shard in shards:
                if connection.execute(query, [shard]).fetchone() == (True,):
                    return shard
            if time.monotonic() > until:
                shards = range(_SHARDS)
            time.sleep(0.02)

    def _migrate(self, connection: psycopg.Connection[Any]) -> None:
        """Make the tables in an empty schema; within a transaction that is alone."""
        exists = connection.execute("SELECT to_regclass('warner_facts') IS NOT NULL").fetchone()
        if exists != (True,):
            for statement in _tables("bytea", "bigint"):
                connection.execute(statement.encode())
            connection.execute("ALTER TABLE warner_counts SET (fillfactor = 50)")
            insert = "INSERT INTO warner_facts VALUES (%s, %s)"
            connection.execute(insert, [_SCHEMA, b"%d" % _VERSION])
        query = "SELECT content FROM warner_facts WHERE name = %s"
        row = connection.execute(query, [_SCHEMA]).fetchone()
        version = int(row[0]) if row is not None else 0
        if version != _VERSION:
            raise self._of_another_version(version)
        self._table, *here = connection.execute(_HERE).fetchone() or (0,)
        row = connection.execute(query, [_HOME]).fetchone()
        if row == tuple(here):
            return
        if row is not None:  # as a dump has it that was loaded elsewhere
            ids = connection.execute(f"SELECT count(*) FROM warner_{SPENT}".encode()).fetchone()
            self._take_copy(f"{(ids or (0,))[0]:,} ids of reports")
        put = "INSERT INTO warner_facts VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET content = "
        connection.execute(f"{put} excluded.content".encode(), [_HOME, *here])

    def _run(self, statement: str, *values: Any) -> list[Any]:
        query = statement.replace("?", "%b").encode()
        cursor = self._opened().execute(query, values or None, binary=True)
        return cursor.fetchall() if cursor.description else []

    def _keep_out(self, alone: bool) -> None:
        shared = "" if alone else "_shared"
        query = f"SELECT {_TABLE}, pg_advisory_xact_lock{shared}({_LOCK}, {_ALL})"
        if self._run(query)[0][0] != self._table:
            self.close()
            rule = "was replaced by another store while the server was running"
            remedy = "Stop the server, and start it again"
            raise Refused("store_failed", self.name, rule, None, remedy)

    def _add(self, counts: Mapping[bytes, int]) -> None:
        statement = (
            f"INSERT INTO warner_counts (shard, cell, n) SELECT {self.shard}, cell, n "
            "FROM unnest(?::bytea[], ?::bigint[]) AS more (cell, n) "
            "ON CONFLICT (shard, cell) DO UPDATE SET n = warner_counts.n + excluded.n"
        )
        self._run(statement, list(counts), list(counts.values()))

    def _clean(self) -> None:
        # The server cleans up the old versions of rows.
        for table in ("facts", "counts", "shards", *_IDS):
            self._run(f"VACUUM warner_{table}")

    def _sort(self) -> None:
        self._run("BEGIN")
        self._keep_out(alone=True)
        for table in _IDS:
            copy = f"SELECT id FROM warner_{table}"
            self._run(f"CREATE TEMPORARY TABLE warner_copy ON COMMIT DROP AS {copy}")
            self._run(f"TRUNCATE warner_{table}")
            self._run(f"INSERT INTO warner_{table} SELECT id FROM warner_copy ORDER BY id")
            self._run("DROP TABLE warner_copy")
        self._run("COMMIT")

    def exists(self) -> bool:
        def asked() -> bool:
            with self._connect_to(self._address, connect_timeout=_TIMEOUT) as connection:
                query = "SELECT to_regclass('warner_facts') IS NOT NULL"
                return connection.execute(query).fetchone() == (True,)

        return self._named(asked)

    def about(self) -> AboutStore:
        tables = ", ".join(f"('warner_{t}')" for t in ("facts", "counts", "shards", *_IDS))
        query = (
            f"SELECT sum(pg_total_relation_size(t::regclass))::bigint FROM (VALUES {tables}) v (t)"
        )
        size = int(self._named(self._run, query)[0][0])
        others = int(self._named(self._run, _OTHERS)[0][0])
        return AboutStore("PostgreSQL", size, None, others)

    def _failed(self, error: psycopg.Error) -> Refused:
        connection = self._connection
        if connection is not None and not connection.closed and error.sqlstate is not None:
            with suppress(self._errors):
                connection.rollback()
        if connection is not None and (connection.closed or error.sqlstate is None):
            self.close()  # it is lost
        # Only the code is shown: 53100 disk_full, 53200 out_of_memory, 54000 limits of the server.
        code = error.sqlstate or "no connection"
        if code == "53100":
            return self._full()
        remedy = "Is the database server running, and may its user create tables?"
        return Refused(
            "store_failed", self.name, f"cannot be read or written ({code})", None, remedy
        )


# -----------------------------------------------------------------------------------------------
# The store that an address names.


ENDING, _CODES_ENDING = ".counts.sqlite", ".codes.sqlite"
_POSTGRES = ("postgresql://", "postgres://")
# Folders that web servers publish by custom.
_PUBLISHED = frozenset(["htdocs", "public_html", "www", "wwwroot"])


def usual_store(study: str | os.PathLike[str], issues: bool = False) -> str:
    """The file beside a study file in which its counts are kept, or an issuer's hashes of codes.

    >>> usual_store("surveys/smoking.toml")
    'surveys/smoking.counts.sqlite'
    """
    path = Path(study)
    return str(path.with_name(path.stem + (_CODES_ENDING if issues else ENDING)))


def is_database(address: str) -> bool:
    """Whether the address of a store is that of a database, and no name of a file."""
    return address.startswith(_POSTGRES)


def shown_store(address: str | None, study: str | os.PathLike[str]) -> str:
    """A store as messages name it: the address of a database may hold a password.

    >>> shown_store(None, "smoking.toml"), shown_store("postgresql://me:secret@host/db", "x.toml")
    ('smoking.counts.sqlite', 'postgresql://...')
    """
    if address is not None and is_database(address):
        return f"{_POSTGRES[0]}..."
    return address or usual_store(study)


def store_at(address: str, may_be_copy: bool = False) -> Store[Any]:
    """The store at an address, which is not opened yet.

    It goes on as a copy, which lacks reports, only where the owner knows that it may be one.
    """
    if is_database(address):
        return PostgresStore(address, may_be_copy)
    folders = {name.lower() for name in Path(address).resolve().parent.parts}
    if published := sorted(folders & _PUBLISHED):
        rule = f"must not be in a folder that web servers publish ({published[0]})"
        remedy = "Choose a file elsewhere with --store"
        raise ArgumentError(address, rule, None, remedy)
    return SQLiteStore(address, may_be_copy)
