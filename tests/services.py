"""Services that tests start themselves: PostgreSQL and MariaDB servers in temporary folders."""

from __future__ import annotations

import atexit
import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import pytest

from warner.collector import collector, stores

_REMEDY = (
    "Install PostgreSQL: apt-get install postgresql, and psycopg: pip install 'warner[postgres]'"
)


class PostgresServer:
    """A server of its own on a socket. It does not flush to disk, and ends with the tests."""

    def __init__(self, binaries: Path) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="warner-pg-", dir="/tmp"))
        self._user: str | None = None
        if os.geteuid() == 0:  # the server refuses to be run by root
            self._user = "postgres" if _has_user("postgres") else "nobody"
            os.chown(self._folder, pwd.getpwnam(self._user).pw_uid, -1)
        self._binaries, data = binaries, self._folder / "data"
        make = [binaries / "initdb", "-D", data, "-A", "trust", "-U", "warner", "--no-sync"]
        made = subprocess.run(
            [*make, "-E", "UTF8", "--locale=C"],
            user=self._user,
            env=self._environment,
            cwd=self._folder,
            capture_output=True,
            check=False,
        )
        if made.returncode:
            raise RuntimeError(made.stderr.decode())
        self._process_id = os.getpid()
        atexit.register(self.stop)
        self._start()

    @property
    def _environment(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "LC_ALL": "C"}

    def _start(self) -> None:
        """Start the server, and wait until it answers."""
        options = ["-c", "fsync=off", "-c", "listen_addresses=", "-c", "max_connections=20"]
        data = self._folder / "data"
        self._process = subprocess.Popen(
            [self._binaries / "postgres", "-D", data, "-k", self._folder, *options],
            user=self._user,
            env=self._environment,
            cwd=self._folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._wait()

    def restart(self, at_once: bool) -> None:
        """End the server, at once as after a crash or in its own way, and start it again."""
        self._process.send_signal(signal.SIGQUIT if at_once else signal.SIGINT)
        self._process.wait()
        self._start()

    def _wait(self) -> None:
        """Wait until the server answers."""
        import psycopg

        for _ in range(300):
            try:
                psycopg.connect(self._base).close()
                return
            except psycopg.OperationalError:
                time.sleep(0.05)
        raise RuntimeError("the PostgreSQL server does not answer")

    @property
    def _base(self) -> str:
        return f"postgresql://warner@/postgres?host={self._folder}"

    def address(self) -> str:
        """The address of a new, empty schema."""
        import psycopg

        schema = f"s{uuid.uuid4().hex}"
        with psycopg.connect(self._base, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {schema}".encode())
        return f"{self._base}&options=-csearch_path%3D{schema}"

    def files(self) -> bytes:
        """All bytes of its files, after what it holds in memory was written to them."""
        import psycopg

        with psycopg.connect(self._base, autocommit=True) as connection:
            connection.execute("CHECKPOINT")
            query = "SELECT oid FROM pg_database WHERE datname = current_database()"
            (oid,) = connection.execute(query).fetchone() or (0,)
        folders = [self._folder / "data" / name for name in (f"base/{oid}", "pg_wal")]
        return b"".join(
            path.read_bytes() for f in folders for path in f.rglob("*") if path.is_file()
        )

    def stop(self) -> None:
        """End the server; a process that was forked from this one leaves it alone."""
        if os.getpid() != self._process_id:
            return
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


def _has_user(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


def _folders() -> list[Path]:
    """The folders of PostgreSQL's programs, the newest version first."""
    on_path = shutil.which("initdb")
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return folders + ([Path(on_path).parent] if on_path else [])


def postgres_program(name: str) -> str:
    """The path of a program of the version of the server."""
    return str(_folders()[0] / name)


@cache
def _server() -> PostgresServer | str:
    """The server of this process, or why there is none."""
    folders = _folders()
    if not folders:
        return "PostgreSQL is not installed"
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return "psycopg is not installed"
    return PostgresServer(folders[0])


def postgres_address() -> str:
    """The address of a new, empty schema. The test is skipped where there is no PostgreSQL.

    With WARNER_REQUIRE_SERVICES=1 it fails instead.
    """
    server = _server()
    if isinstance(server, str):
        missing(f"{server}. {_REMEDY}")
    return server.address()


def restart_postgres(at_once: bool) -> None:
    """End the server of :func:`postgres_address`, and start it again."""
    server = _server()
    assert not isinstance(server, str)
    server.restart(at_once)


def missing(words: str) -> NoReturn:
    """Skip the test that needs what is missing; with WARNER_REQUIRE_SERVICES=1 it fails.

    What only `make test-sql` sets up fails with WARNER_REQUIRE_SERVICES=sql alone.
    """
    required = os.environ.get("WARNER_REQUIRE_SERVICES")
    if required == "sql" or (required == "1" and "make test-sql" not in words):
        pytest.fail(f"{words}.")
    pytest.skip(words)


def postgres_files() -> bytes:
    """All bytes of the server's files: tables and its log."""
    server = _server()
    assert not isinstance(server, str)
    return server.files()


@cache
def _mariadb() -> Path | str:
    """The socket of a MariaDB server of this process, or why there is none."""
    server = shutil.which("mariadbd") or shutil.which("mariadbd", path="/usr/sbin")
    if server is None:
        return "MariaDB is not installed"
    folder = Path(tempfile.mkdtemp(prefix="warner-maria-", dir="/tmp"))
    user = "mysql" if os.geteuid() == 0 and _has_user("mysql") else None
    if user is not None:
        os.chown(folder, pwd.getpwnam(user).pw_uid, -1)
    plain = ["--no-defaults", f"--datadir={folder / 'data'}"]
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    make = ["mariadb-install-db", *plain, "--auth-root-authentication-method=normal"]
    subprocess.run(make, user=user, cwd=folder, check=True, **quiet)
    socket = folder / "socket"
    options = [f"--socket={socket}", f"--pid-file={folder / 'pid'}", "--skip-networking"]
    process = subprocess.Popen([server, *plain, *options], user=user, cwd=folder, **quiet)
    started_by = os.getpid()

    def stop() -> None:
        if os.getpid() == started_by:
            process.kill()
            process.wait()
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(stop)
    for _ in range(600):
        with contextlib.suppress(RuntimeError):
            in_mariadb("CREATE DATABASE t", socket, "")
            return socket
        time.sleep(0.05)
    raise RuntimeError("the MariaDB server does not answer")


def in_mariadb(script: str, socket: Path, database: str = "t") -> str:
    """What the command line of MariaDB prints of a script: cells between tabs."""
    command = ["mariadb", "--no-defaults", f"--socket={socket}", "-uroot", "--batch", "--raw"]
    command += ["--default-character-set=utf8mb4", database]
    done = subprocess.run(command, input=script.encode(), capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.decode())
    return done.stdout.decode()


def mariadb_socket() -> Path:
    """The socket of a MariaDB server. The test is skipped, or fails, as by postgres_address."""
    socket = _mariadb()
    if isinstance(socket, str):
        missing(f"{socket}. Run make test-sql")
    return socket


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stores in files do not flush to disk either, and commits do not wait for others.

    ``monkeypatch.undo()`` in a test lets them.
    """
    monkeypatch.setattr(collector, "PACE", 0.0)
    full, off = "synchronous = FULL", "synchronous = OFF"
    assert full in stores._PRAGMAS
    pragmas = tuple(off if pragma == full else pragma for pragma in stores._PRAGMAS)
    monkeypatch.setattr(stores, "_PRAGMAS", pragmas)
