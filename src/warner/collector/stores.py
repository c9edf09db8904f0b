"""Where the collector keeps counts and spent ids: in one SQLite file, or in PostgreSQL.

A store has named facts, and tables of pages. A page is a byte string under an integer key. The
collector decides what pages hold; a store keeps them durably, one change at a time, all or nothing.
"""

from __future__ import annotations

import os
import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from warner._core.errors import ArgumentError, MissingExtraError
from warner.collector.refusals import Refused

if TYPE_CHECKING:
    import psycopg

COUNTS, DISTINCT, SPENT, INVITED = "counts", "distinct_reports", "spent", "invited"
TABLES = (COUNTS, DISTINCT, SPENT, INVITED)
NUMBER = "number"  # the fact that holds the number of the last change, 8 bytes, little endian
_PATIENCE = 1.0  # seconds to wait for another process that is ending

Pages = Mapping[int, bytes | None]
"""{key: content}; None deletes the page."""

_Connection = TypeVar("_Connection")
_T = TypeVar("_T")


@dataclass(frozen=True)
class Change:
    """What one transaction writes."""

    # One more than the number of the change before. The store keeps it as a fact, so that it can be
    # asked whether a change took place whose reply was lost.
    number: int
    # {name: content} of the facts that change.
    facts: Mapping[str, bytes] = field(default_factory=dict)
    # {table: pages} of the pages that change.
    pages: Mapping[str, Pages] = field(default_factory=dict)

    @property
    def all_facts(self) -> dict[str, bytes]:
        """The facts that change, with the number of the change."""
        return {**self.facts, NUMBER: self.number.to_bytes(8, "little")}


def number_of(facts: Mapping[str, bytes]) -> int:
    """The number of the last change; 0 for a new store."""
    return int.from_bytes(facts.get(NUMBER, b""), "little")


class Store(ABC, Generic[_Connection]):
    """A store that one collector has open, by one connection; where it fails, :class:`Refused`."""

    # The errors of a database can hold what was written, so no refusal has one as its context.

    name: str  # as messages name it, without a password
    rest: float  # seconds after a change until `tidy` is called, also while more changes follow
    _errors: type[Exception]
    _connection: _Connection | None = None

    def open(self) -> bool:
        """Connect, keep other processes out and update the tables; False where it is open."""
        if self._is_open():
            return False
        self._connection = self._named(self._connect)
        return True

    def facts(self) -> dict[str, bytes]:
        """All facts."""
        return self._named(lambda: self._facts(self._opened()))

    def pages(self, table: str, keys: Iterable[int] | None = None) -> Iterator[tuple[int, bytes]]:
        """Pages of a table with their keys; all of them where no keys are given."""
        assert table in TABLES
        try:
            yield from self._pages(self._opened(), table, None if keys is None else list(keys))
            return
        except self._errors as error:
            refused = self._failed(error)
        raise refused

    def commit(self, change: Change) -> None:
        """Write a change durably, all or nothing."""
        assert change.pages.keys() <= set(TABLES)
        self._named(lambda: self._write(self._opened(), change))

    def tidy(self) -> None:
        """Give back space, and wipe older versions of pages as far as the store can."""
        self._named(lambda: self._clean(self._opened()))

    def close(self) -> None:
        """Let other processes in."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(self._errors):
                connection.close()  # type: ignore[attr-defined]

    def _named(self, action: Callable[[], _T]) -> _T:
        """The result of an action, whose errors become refusals."""
        try:
            return action()
        except self._errors as error:
            refused = self._failed(error)
        raise refused

    def _opened(self) -> _Connection:
        if self._connection is None or not self._is_open():
            raise Refused("store_failed", self.name, "is not open")
        return self._connection

    def _is_open(self) -> bool:
        return self._connection is not None

    def _too_new(self, version: int, newest: int) -> Refused:
        rule = f"must be of version {newest} at most"
        remedy = "Use the version of warner that wrote it"
        return Refused("store_too_new", self.name, rule, str(version), remedy)

    def _in_use(self) -> Refused:
        rule, remedy = "is open in another process", "Stop the other one first"
        return Refused("store_in_use", self.name, rule, None, remedy)

    def _full(self) -> Refused:
        rule, remedy = "has no space left", "Free space on its disk; devices send again"
        return Refused("store_full", self.name, rule, None, remedy)

    @abstractmethod
    def _connect(self) -> _Connection:
        """A connection that keeps others out, to a store with all tables."""

    @abstractmethod
    def _facts(self, connection: _Connection) -> dict[str, bytes]: ...

    @abstractmethod
    def _pages(
        self, connection: _Connection, table: str, keys: list[int] | None
    ) -> Iterator[tuple[int, bytes]]: ...

    @abstractmethod
    def _write(self, connection: _Connection, change: Change) -> None: ...

    @abstractmethod
    def _clean(self, connection: _Connection) -> None: ...

    @abstractmethod
    def _failed(self, error: Any) -> Refused:
        """The refusal of an error, after which the connection is as before or closed."""


# -----------------------------------------------------------------------------------------------
# SQLite, by the standard library.
#
# Write-ahead log, a full flush to disk in each commit, and an exclusive lock: a second process is
# refused. Pages that are freed are overwritten with zeros. Between two calls of ``tidy`` the log
# holds older versions of pages; ``tidy`` empties it. That takes about as long as a commit. The
# blocks that an emptied log leaves to the file system are not overwritten.
#
# A log that was damaged ends, for SQLite, at its first frame that is not whole: what was committed
# after it is lost without a word. As the log is emptied so often, those are few commits.


_APPLICATION = 0x57524E31  # "WRN1", the application id of the file
_KEYS = 500  # in one statement
_PRAGMAS = (
    "locking_mode = EXCLUSIVE",  # the lock that the first transaction takes is kept
    "synchronous = FULL",
    "secure_delete = ON",
    "cache_size = -16384",
    "journal_size_limit = 4194304",
    "journal_mode = WAL",
)
# Step i brings a file of version i to version i + 1. Steps never change once they are released.
_SQLITE_STEPS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE facts (name TEXT PRIMARY KEY, content BLOB NOT NULL) WITHOUT ROWID",
        *(f"CREATE TABLE {t} (key INTEGER PRIMARY KEY, content BLOB NOT NULL)" for t in TABLES),
    ),
)


class SQLiteStore(Store[sqlite3.Connection]):
    """A store in the file ``path``, with ``path-wal`` and at times ``path-journal`` beside it.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = SQLiteStore(Path(folder) / "survey.db")
    ...     opened = store.open()
    ...     store.commit(Change(1, {"study": b"..."}, {"counts": {7: b"12"}}))
    ...     print(store.facts()["study"], list(store.pages("counts")))
    ...     store.close()
    b'...' [(7, b'12')]
    """

    rest = 0.1  # after each commit it would cost a tenth of the submissions in a second
    _errors = sqlite3.Error

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.name = self.path = os.fspath(path)

    def _connect(self) -> sqlite3.Connection:
        problem = None
        try:
            # Only the owner of the file may read it.
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
        except OSError as error:
            problem = f"cannot be opened ({error.strerror})"
        if problem is not None:
            raise Refused("store_failed", self.path, problem)
        connection = sqlite3.connect(
            self.path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
        )
        try:
            for pragma in _PRAGMAS:
                connection.execute(f"PRAGMA {pragma}")
            connection.execute("BEGIN IMMEDIATE")
            self._migrate(connection)
            connection.execute("COMMIT")
        except BaseException:
            connection.close()
            raise
        return connection

    def _migrate(self, connection: sqlite3.Connection) -> None:
        """Bring the tables up to date; within a transaction."""
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        application = int(connection.execute("PRAGMA application_id").fetchone()[0])
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if application != _APPLICATION and (tables or version):
            rule = "is a database, and no store of warner"
            raise Refused("store_failed", self.path, rule, None, "Name another file")
        if version > len(_SQLITE_STEPS):
            raise self._too_new(version, len(_SQLITE_STEPS))
        for step in _SQLITE_STEPS[version:]:
            for statement in step:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        connection.execute(f"PRAGMA user_version = {len(_SQLITE_STEPS)}")

    def _facts(self, connection: sqlite3.Connection) -> dict[str, bytes]:
        return dict(connection.execute("SELECT name, content FROM facts").fetchall())

    def _pages(
        self, connection: sqlite3.Connection, table: str, keys: list[int] | None
    ) -> Iterator[tuple[int, bytes]]:
        if keys is None:
            # By map: a reader that stops half-way would close a cursor of a closed store.
            yield from map(tuple, connection.execute(f"SELECT key, content FROM {table}"))
            return
        for start in range(0, len(keys), _KEYS):
            some = keys[start : start + _KEYS]
            marks = ", ".join("?" * len(some))
            query = f"SELECT key, content FROM {table} WHERE key IN ({marks})"
            yield from connection.execute(query, some)

    def _write(self, connection: sqlite3.Connection, change: Change) -> None:
        try:
            connection.execute("BEGIN IMMEDIATE")
            for table, pages in change.pages.items():
                deleted = [(key,) for key, content in pages.items() if content is None]
                written = [(key, content) for key, content in pages.items() if content is not None]
                connection.executemany(f"DELETE FROM {table} WHERE key = ?", deleted)
                connection.executemany(self._upsert(table, "key"), written)
            connection.executemany(self._upsert("facts", "name"), change.all_facts.items())
            connection.execute("COMMIT")
        except sqlite3.Error:
            raise
        except BaseException:
            self.close()  # which rolls back
            raise

    @staticmethod
    def _upsert(table: str, key: str) -> str:
        """The statement that writes one row, whether or not it is there."""
        return (
            f"INSERT INTO {table} ({key}, content) VALUES (?, ?) "
            f"ON CONFLICT ({key}) DO UPDATE SET content = excluded.content"
        )

    def _clean(self, connection: sqlite3.Connection) -> None:
        # Copies the log into the file and empties it.
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

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
        return Refused("store_failed", self.path, f"cannot be read or written ({name})")


# -----------------------------------------------------------------------------------------------
# PostgreSQL, by psycopg 3.
#
# The tables stand in the first schema of the connection's search path; several surveys share a
# database in several schemas, ``postgresql://host/db?options=-csearch_path%3Dsurvey7``. An advisory
# lock of the session keeps other collectors out. Each commit waits until the server has written it
# to disk.
#
# PostgreSQL keeps older versions of rows until it cleans them up (``VACUUM``), and its log holds
# each change. So who reads the files of the server while the survey runs can see which ids came in
# about the same time, and by which counts commits differ. A backup of the log keeps that.


_TIMEOUT = 5  # seconds to wait for a connection
# Commits wait for the disk, and the server soon notices that a collector has vanished.
_SETTINGS = (
    "synchronous_commit = on",
    "tcp_keepalives_idle = 10",
    "tcp_keepalives_interval = 5",
    "tcp_keepalives_count = 3",
)
_LOCK = "hashtext('warner'), hashtext(current_schema())"
_POSTGRES_STEPS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE warner_facts (name text PRIMARY KEY, content bytea NOT NULL)",
        *(
            f"CREATE TABLE warner_{t} (key bigint PRIMARY KEY, content bytea NOT NULL)"
            for t in TABLES
        ),
    ),
)
_SCHEMA = "schema"  # the fact that holds the version of the tables


class PostgresStore(Store["psycopg.Connection[Any]"]):
    """A store in the database at an address."""

    rest = 1.0
    name = "store"  # not the address, which may hold a password

    def __init__(self, address: str) -> None:
        try:
            import psycopg
        except ImportError:
            rule, remedy = "is not installed", 'pip install "warner[postgres]"'
            missing = MissingExtraError("psycopg", rule, None, remedy)
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
            self._address, autocommit=True, connect_timeout=_TIMEOUT, application_name="warner"
        )
        try:
            if connection.execute("SELECT current_schema()").fetchone() == (None,):
                rule, remedy = "names no schema that exists", "CREATE SCHEMA, or name another"
                raise Refused("store_failed", self.name, rule, None, remedy)
            if not self._locked(connection):
                raise self._in_use()
            for setting in _SETTINGS:
                connection.execute(f"SET {setting}".encode())
            with connection.transaction():
                self._migrate(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    @staticmethod
    def _locked(connection: psycopg.Connection[Any]) -> bool:
        """Whether the connection has the lock. A session that was lost keeps it for a moment."""
        until = time.monotonic() + _PATIENCE
        while True:
            query = f"SELECT pg_try_advisory_lock({_LOCK})".encode()
            if connection.execute(query).fetchone() == (True,):
                return True
            if time.monotonic() > until:
                return False
            time.sleep(0.02)

    def _migrate(self, connection: psycopg.Connection[Any]) -> None:
        """Bring the tables up to date; within a transaction."""
        exists = connection.execute("SELECT to_regclass('warner_facts') IS NOT NULL").fetchone()
        version = 0
        if exists == (True,):
            query = "SELECT content FROM warner_facts WHERE name = %s"
            row = connection.execute(query, [_SCHEMA]).fetchone()
            version = int(bytes(row[0])) if row else 0
        newest = len(_POSTGRES_STEPS)
        if version > newest:
            raise self._too_new(version, newest)
        for step in _POSTGRES_STEPS[version:]:
            for statement in step:
                connection.execute(statement.encode())
        if version < newest:
            self._upsert(connection, "facts", "name text", {_SCHEMA: b"%d" % newest})

    def _facts(self, connection: psycopg.Connection[Any]) -> dict[str, bytes]:
        rows = connection.execute("SELECT name, content FROM warner_facts").fetchall()
        return {name: bytes(content) for name, content in rows if name != _SCHEMA}

    def _pages(
        self, connection: psycopg.Connection[Any], table: str, keys: list[int] | None
    ) -> Iterator[tuple[int, bytes]]:
        query = f"SELECT key, content FROM warner_{table}"
        if keys is not None:
            rows = connection.execute(f"{query} WHERE key = ANY(%s)".encode(), [keys])
            yield from ((key, bytes(content)) for key, content in rows)
            return
        with connection.transaction(), connection.cursor("warner_pages") as cursor:
            cursor.itersize = 64
            for key, content in cursor.execute(query.encode()):
                yield key, bytes(content)

    def _write(self, connection: psycopg.Connection[Any], change: Change) -> None:
        with connection.transaction():
            for table, pages in change.pages.items():
                deleted = [key for key, content in pages.items() if content is None]
                written = {key: content for key, content in pages.items() if content is not None}
                if deleted:
                    delete = f"DELETE FROM warner_{table} WHERE key = ANY(%s)"
                    connection.execute(delete.encode(), [deleted])
                if written:
                    self._upsert(connection, table, "key bigint", written)
            self._upsert(connection, "facts", "name text", change.all_facts)

    @staticmethod
    def _upsert(
        connection: psycopg.Connection[Any], table: str, key: str, rows: Mapping[Any, bytes]
    ) -> None:
        """Write rows, whether or not they are there; ``key`` has the name and the type."""
        name, kind = key.split()
        statement = (
            f"INSERT INTO warner_{table} ({name}, content) "
            f"SELECT * FROM unnest(%s::{kind}[], %s::bytea[]) "
            f"ON CONFLICT ({name}) DO UPDATE SET content = excluded.content"
        )
        connection.execute(statement.encode(), [list(rows), list(rows.values())])

    def _clean(self, connection: psycopg.Connection[Any]) -> None:
        # The server cleans up the old versions of rows.
        for table in ("facts", *TABLES):
            connection.execute(f"VACUUM warner_{table}".encode())

    def _failed(self, error: psycopg.Error) -> Refused:
        connection = self._connection
        if connection is not None and (connection.closed or error.sqlstate is None):
            self.close()  # it is lost
        # Only the code is shown: 53100 disk_full, 53200 out_of_memory, 54000 limits of the server.
        code = error.sqlstate or "no connection"
        if code == "53100":
            return self._full()
        remedy = "Is the server running, and may the user create tables?"
        return Refused(
            "store_failed", self.name, f"cannot be read or written ({code})", None, remedy
        )


# -----------------------------------------------------------------------------------------------
# The store that an address names.


ENDING = ".counts.sqlite"
_POSTGRES = ("postgresql://", "postgres://")
# Folders that web servers publish by custom.
_PUBLISHED = frozenset(["htdocs", "public_html", "www", "wwwroot"])


def usual_store(study: str | os.PathLike[str]) -> str:
    """The file beside a study file in which its counts are kept.

    >>> usual_store("surveys/smoking.toml")
    'surveys/smoking.counts.sqlite'
    """
    path = Path(study)
    return str(path.with_name(path.stem + ENDING))


def shown_store(address: str | None, study: str | os.PathLike[str]) -> str:
    """A store as messages name it: the address of a database may hold a password.

    >>> shown_store(None, "smoking.toml"), shown_store("postgresql://me:secret@host/db", "x.toml")
    ('smoking.counts.sqlite', 'postgresql://...')
    """
    if address is not None and address.startswith(_POSTGRES):
        return f"{_POSTGRES[0]}..."
    return address or usual_store(study)


def store_at(address: str) -> Store[Any]:
    """The store at an address, which is not opened yet."""
    if address.startswith(_POSTGRES):
        return PostgresStore(address)
    folders = {name.lower() for name in Path(address).resolve().parent.parts}
    if published := sorted(folders & _PUBLISHED):
        rule = f"must not lie in a folder that web servers publish ({published[0]})"
        remedy = "Name a file elsewhere with --store"
        raise ArgumentError(address, rule, None, remedy)
    return SQLiteStore(address)
