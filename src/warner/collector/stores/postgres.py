"""A store in PostgreSQL, by psycopg 3.

The tables stand in the first schema of the connection's search path; several surveys share a
database in several schemas, ``postgresql://host/db?options=-csearch_path%3Dsurvey7``. An advisory
lock of the session keeps other collectors out. Each commit waits until the server has written it
to disk.

PostgreSQL keeps older versions of rows until it cleans them up (``VACUUM``), and its log holds
each change. So who reads the files of the server while the survey runs can see which ids came in
about the same time, and by which counts commits differ. A backup of the log keeps that.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from warner._core.errors import MissingExtraError
from warner.collector.refusals import Refused
from warner.collector.stores.base import TABLES, Change

if TYPE_CHECKING:
    import psycopg

_TIMEOUT = 5  # seconds to wait for a connection
_PATIENCE = 1.0  # seconds to wait for another process that is ending
_PLACE = "store"
# Commits wait for the disk, and the server soon notices that a collector has vanished.
_SETTINGS = (
    "synchronous_commit = on",
    "tcp_keepalives_idle = 10",
    "tcp_keepalives_interval = 5",
    "tcp_keepalives_count = 3",
)
_LOCK = "hashtext('warner'), hashtext(current_schema())"

# Step i brings tables of version i to version i + 1. Steps never change once they are released.
_STEPS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE warner_facts (name text PRIMARY KEY, content bytea NOT NULL)",
        *(
            f"CREATE TABLE warner_{t} (key bigint PRIMARY KEY, content bytea NOT NULL)"
            for t in TABLES
        ),
    ),
)
_SCHEMA = "schema"  # the fact that holds the version of the tables


class PostgresStore:
    """A store in the database at an address.

    Args:
        address: ``postgresql://user@host/database``, or what else libpq takes.

    Raises:
        MissingExtraError: psycopg is not installed.
    """

    rest = 1.0

    def __init__(self, address: str) -> None:
        try:
            import psycopg
        except ImportError:
            rule, remedy = "is not installed", 'pip install "warner[postgres]"'
            missing = MissingExtraError("psycopg", rule, None, remedy)
        else:
            self._psycopg = psycopg
            self._address = address
            self._connection: psycopg.Connection[Any] | None = None
            return
        raise missing

    def __repr__(self) -> str:
        return "PostgresStore()"  # the address may hold a password

    @property
    def name(self) -> str:
        """Not the address, which may hold a password."""
        return _PLACE

    def open(self) -> bool:
        """As in :class:`~warner.collector.stores.base.Store`."""
        if self._connection is not None and not self._connection.closed:
            return False
        try:
            self._connection = self._connect()
            return True
        except self._psycopg.Error as error:
            refused = self._refused(error)
        raise refused

    def _connect(self) -> psycopg.Connection[Any]:
        """A connection that holds the lock, to a schema with all tables."""
        connection = self._psycopg.connect(
            self._address, autocommit=True, connect_timeout=_TIMEOUT, application_name="warner"
        )
        try:
            if connection.execute("SELECT current_schema()").fetchone() == (None,):
                rule, remedy = "names no schema that exists", "CREATE SCHEMA, or name another"
                raise Refused("store_failed", _PLACE, rule, None, remedy)
            if not self._locked(connection):
                rule, remedy = "is open in another process", "Stop the other one first"
                raise Refused("store_in_use", _PLACE, rule, None, remedy)
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

    @staticmethod
    def _migrate(connection: psycopg.Connection[Any]) -> None:
        """Bring the tables up to date; within a transaction."""
        there = connection.execute("SELECT to_regclass('warner_facts') IS NOT NULL").fetchone()
        version = 0
        if there == (True,):
            query = "SELECT content FROM warner_facts WHERE name = %s"
            row = connection.execute(query, [_SCHEMA]).fetchone()
            version = int(bytes(row[0])) if row else 0
        if version > len(_STEPS):
            rule = f"must be of version {len(_STEPS)} at most"
            remedy = "Use the version of warner that wrote it"
            raise Refused("store_too_new", _PLACE, rule, str(version), remedy)
        for step in _STEPS[version:]:
            for statement in step:
                connection.execute(statement.encode())
        if version < len(_STEPS):
            connection.execute(_upsert("facts", "name", "text"), [[_SCHEMA], [b"%d" % len(_STEPS)]])

    def _refused(self, error: psycopg.Error) -> Refused:
        """The named error of an error of PostgreSQL, of which only the code is shown."""
        code = error.sqlstate or "no connection"
        # 53100 disk_full, 53200 out_of_memory, 54000 and others: limits of the server.
        if code == "53100":
            rule, remedy = "has no space left", "Free space on its disk; devices send again"
            return Refused("store_full", _PLACE, rule, None, remedy)
        remedy = "Is the server running, and may the user create tables?"
        return Refused("store_failed", _PLACE, f"cannot be read or written ({code})", None, remedy)

    def _opened(self) -> psycopg.Connection[Any]:
        if self._connection is None or self._connection.closed:
            raise Refused("store_failed", _PLACE, "is not open")
        return self._connection

    def facts(self) -> dict[str, bytes]:
        """As in :class:`~warner.collector.stores.base.Store`."""
        try:
            rows = self._opened().execute("SELECT name, content FROM warner_facts").fetchall()
            return {name: bytes(content) for name, content in rows if name != _SCHEMA}
        except self._psycopg.Error as error:
            refused = self._failed(error)
        raise refused

    def pages(self, table: str, keys: Iterable[int] | None = None) -> Iterator[tuple[int, bytes]]:
        """As in :class:`~warner.collector.stores.base.Store`."""
        assert table in TABLES
        query = f"SELECT key, content FROM warner_{table}"
        try:
            connection = self._opened()
            if keys is not None:
                rows = connection.execute(f"{query} WHERE key = ANY(%s)".encode(), [list(keys)])
                yield from ((key, bytes(content)) for key, content in rows)
                return
            with connection.transaction(), connection.cursor("warner_pages") as cursor:
                cursor.itersize = 64
                for key, content in cursor.execute(query.encode()):
                    yield key, bytes(content)
            return
        except self._psycopg.Error as error:
            refused = self._failed(error)
        raise refused

    def commit(self, change: Change) -> None:
        """As in :class:`~warner.collector.stores.base.Store`."""
        connection = self._opened()
        try:
            with connection.transaction():
                for table, pages in change.pages.items():
                    assert table in TABLES
                    gone = [key for key, content in pages.items() if content is None]
                    kept = {key: content for key, content in pages.items() if content is not None}
                    if gone:
                        delete = f"DELETE FROM warner_{table} WHERE key = ANY(%s)"
                        connection.execute(delete.encode(), [gone])
                    if kept:
                        query = _upsert(table, "key", "bigint")
                        connection.execute(query, [list(kept), list(kept.values())])
                facts = change.all_facts
                query = _upsert("facts", "name", "text")
                connection.execute(query, [list(facts), list(facts.values())])
            return
        except self._psycopg.Error as error:
            refused = self._failed(error)
        raise refused

    def _failed(self, error: psycopg.Error) -> Refused:
        """The named error of a failure; a connection that is lost is closed."""
        connection = self._connection
        if connection is not None and (connection.closed or error.sqlstate is None):
            self.close()
        return self._refused(error)

    def tidy(self) -> None:
        """Let the server clean up the old versions of rows; as in ``Store``."""
        try:
            for table in ("facts", *TABLES):
                self._opened().execute(f"VACUUM warner_{table}".encode())
            return
        except self._psycopg.Error as error:
            refused = self._failed(error)
        raise refused

    def close(self) -> None:
        """As in :class:`~warner.collector.stores.base.Store`."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _upsert(table: str, key: str, kind: str) -> bytes:
    """The statement that writes rows, given as two lists, whether or not they are there."""
    return (
        f"INSERT INTO warner_{table} ({key}, content) "
        f"SELECT * FROM unnest(%s::{kind}[], %s::bytea[]) "
        f"ON CONFLICT ({key}) DO UPDATE SET content = excluded.content"
    ).encode()
