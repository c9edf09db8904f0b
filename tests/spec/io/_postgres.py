"""A PostgreSQL of the tests' own: in a temporary folder, on a socket, ended with the tests."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_FOLDERS = [*sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)]


def _programs() -> Path:
    """The folder of PostgreSQL's programs; without them the test is skipped, or fails in CI."""
    beside = shutil.which("initdb")
    found = [Path(beside).parent] if beside else [f for f in _FOLDERS if (f / "initdb").is_file()]
    if found:
        return found[0]
    remedy = "PostgreSQL is not installed: apt-get install postgresql"
    if os.environ.get("WARNER_REQUIRE_SERVICES") == "1":
        pytest.fail(remedy)
    pytest.skip(remedy)


def _nobody() -> dict[str, int]:
    """PostgreSQL refuses to run as root, so another user runs it."""
    if os.getuid():
        return {}
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = names.get("postgres", names["nobody"])
    return {"user": entry.pw_uid, "group": entry.pw_gid}


@contextmanager
def postgres() -> Iterator[str]:
    """A running server, as the text by which psycopg connects to it."""
    programs, who = _programs(), _nobody()
    folder = tempfile.mkdtemp(prefix="wpg", dir="/tmp")  # names of sockets are short
    try:
        if who:
            os.chown(folder, who["user"], who["group"])
        data = f"{folder}/data"
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": "/", **who}
        make = [programs / "initdb", "-D", data, "-U", "warner", "-A", "trust", "-E", "UTF8", "-N"]
        subprocess.run([*make, "--no-locale"], check=True, **quiet)  # type: ignore[call-overload]
        options = f"-c listen_addresses='' -k {folder} -c fsync=off"
        server = [programs / "pg_ctl", "-D", data, "-w", "-o", options]
        subprocess.run([*server, "start"], check=True, **quiet)  # type: ignore[call-overload]
        try:
            yield f"host={folder} user=warner dbname=postgres"
        finally:
            stop = [*server, "-m", "immediate", "stop"]
            subprocess.run(stop, check=True, **quiet)  # type: ignore[call-overload]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
