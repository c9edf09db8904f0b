"""A store in one SQLite file, by the standard library.

Write-ahead log, a full flush to disk in each commit, and an exclusive lock: a second process is
refused. Pages that are freed are overwritten with zeros. Between two calls of ``tidy`` the log
holds older versions of pages; ``tidy`` empties it. That takes about as long as a commit. The blocks
that an emptied log leaves to the file system are not overwritten.

A log that was damaged ends, for SQLite, at its first frame that is not whole: what was committed
after it is lost without a word. As the log is emptied so often, those are few commits.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import suppress

from warner.collector.refusals import Refused
from warner.collector.stores.base import TABLES, Change

_MARK = 0x57524E31  # "WRN1", the application id of the file
_PATIENCE = 1.0  # seconds to wait for another process that is ending
_KEYS = 500  # in one statement

# Step i brings a file of version i to version i + 1. Steps never change once they are released.
_STEPS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE facts (name TEXT PRIMARY KEY, content BLOB NOT NULL) WITHOUT ROWID",
        *(f"CREATE TABLE {t} (key INTEGER PRIMARY KEY, content BLOB NOT NULL)" for t in TABLES),
    ),
)


class SQLiteStore:
    """A store in the file ``path``, which is made if it does not exist.

    Args:
        path: the file. Two more, ``path-wal`` and at times ``path-journal``, stand beside it.

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

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._connection: sqlite3.Connection | None = None

    @property
    def name(self) -> str:
        """The path of the file."""
        return self.path

    def open(self) -> bool:
        """As in :class:`~warner.collector.stores.base.Store`."""
        if self._connection is not None:
            return False
        try:
            # Only the owner of the file may read it.
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
        except OSError as error:
            rule = f"cannot be opened ({error.strerror})"
            refused = Refused("store_failed", self.path, rule)
        else:
            try:
                self._connection = self._connect()
                return True
            except sqlite3.Error as error:
                refused = self._refused(error)
        raise refused

    def _connect(self) -> sqlite3.Connection:
        """A connection that holds the only lock, to a file with all tables."""
        connection = sqlite3.connect(
            self.path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
        )
        try:
            # In this mode the lock that the first transaction takes is kept.
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("PRAGMA cache_size = -16384")
            connection.execute("PRAGMA journal_size_limit = 4194304")
            connection.execute("PRAGMA journal_mode = WAL")
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
        mark = int(connection.execute("PRAGMA application_id").fetchone()[0])
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if mark != _MARK and (tables or version):
            rule = "is a database, and no store of warner"
            raise Refused("store_failed", self.path, rule, None, "Name another file")
        if version > len(_STEPS):
            rule = f"must be of version {len(_STEPS)} at most"
            remedy = "Use the version of warner that wrote it"
            raise Refused("store_too_new", self.path, rule, str(version), remedy)
        for step in _STEPS[version:]:
            for statement in step:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {_MARK}")
        connection.execute(f"PRAGMA user_version = {len(_STEPS)}")

    def _refused(self, error: sqlite3.Error) -> Refused:
        """The named error of an error of SQLite, of which only the name is shown."""
        name = getattr(error, "sqlite_errorname", "") or "SQLITE_ERROR"
        if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            rule, remedy = "is open in another process", "Stop the other one first"
            return Refused("store_in_use", self.path, rule, None, remedy)
        if name == "SQLITE_FULL":
            rule, remedy = "has no space left", "Free space on its disk; devices send again"
            return Refused("store_full", self.path, rule, None, remedy)
        return Refused("store_failed", self.path, f"cannot be read or written ({name})")

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            raise Refused("store_failed", self.path, "is not open")
        return self._connection

    def facts(self) -> dict[str, bytes]:
        """As in :class:`~warner.collector.stores.base.Store`."""
        try:
            return dict(self._opened().execute("SELECT name, content FROM facts").fetchall())
        except sqlite3.Error as error:
            refused = self._failed(error)
        raise refused

    def pages(self, table: str, keys: Iterable[int] | None = None) -> Iterator[tuple[int, bytes]]:
        """As in :class:`~warner.collector.stores.base.Store`."""
        assert table in TABLES
        try:
            if keys is None:
                # By map: a reader that stops half-way would close a cursor of a closed store.
                yield from map(tuple, self._opened().execute(f"SELECT key, content FROM {table}"))
                return
            wanted = list(keys)
            for start in range(0, len(wanted), _KEYS):
                some = wanted[start : start + _KEYS]
                places = ", ".join("?" * len(some))
                query = f"SELECT key, content FROM {table} WHERE key IN ({places})"
                yield from self._opened().execute(query, some)
            return
        except sqlite3.Error as error:
            refused = self._failed(error)
        raise refused

    def commit(self, change: Change) -> None:
        """As in :class:`~warner.collector.stores.base.Store`."""
        connection = self._opened()
        try:
            connection.execute("BEGIN IMMEDIATE")
            for table, pages in change.pages.items():
                assert table in TABLES
                gone = [(key,) for key, content in pages.items() if content is None]
                kept = [(key, content) for key, content in pages.items() if content is not None]
                connection.executemany(f"DELETE FROM {table} WHERE key = ?", gone)
                connection.executemany(_upsert(table, "key"), kept)
            connection.executemany(_upsert("facts", "name"), change.all_facts.items())
            connection.execute("COMMIT")
            return
        except sqlite3.Error as error:
            refused = self._failed(error)
        except BaseException:
            self.close()  # which rolls back
            raise
        raise refused

    def _failed(self, error: sqlite3.Error) -> Refused:
        """The named error of a failure, after which the connection is as before or closed."""
        connection = self._connection
        if connection is not None:
            try:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
            except sqlite3.Error:
                pass
            if connection.in_transaction or not isinstance(error, sqlite3.OperationalError):
                self.close()
        return self._refused(error)

    def tidy(self) -> None:
        """Copy the log into the file and empty it; as in ``Store``."""
        try:
            self._opened().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            return
        except sqlite3.Error as error:
            refused = self._failed(error)
        raise refused

    def close(self) -> None:
        """As in :class:`~warner.collector.stores.base.Store`."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()


def _upsert(table: str, key: str) -> str:
    """The statement that writes one row, whether or not it is there."""
    return (
        f"INSERT INTO {table} ({key}, content) VALUES (?, ?) "
        f"ON CONFLICT ({key}) DO UPDATE SET content = excluded.content"
    )
