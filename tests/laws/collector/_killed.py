"""A program that kills collectors at random moments, and then looks at what they have counted.

    python -m tests.laws.collector._killed ADDRESS SEED ROUNDS

It forks, so that a collector starts at once, and it has no threads of its own. One line of JSON for
each round: how it was killed, how many people had a reply, and what is counted before and after all
people sent again.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sqlite3
import sys
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

import numpy as np

from tests.laws.collector._survey import FailingStore, counted, sealed, study_of
from warner.collector import collector as module
from warner.collector.collector import Collector
from warner.collector.stores import PostgresStore, SQLiteStore, Store
from warner.collector.submissions import SubmissionFormat

BODIES, PEOPLE = 15, 4  # of a round
STUDY = study_of()
OPENED = datetime(2026, 1, 3, tzinfo=UTC)


def kill() -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


class _KilledSQLiteStore(SQLiteStore):
    """Kills the process in the middle of a statement, after so many steps of SQLite's machine."""

    steps = 0

    def _connect(self) -> sqlite3.Connection:
        connection = super()._connect()
        if self.steps:
            connection.set_progress_handler(kill, self.steps)
        return connection


class _KilledPostgresStore(PostgresStore):
    """Kills the process after so many statements."""

    steps = 0

    def _connect(self) -> Any:
        connection = super()._connect()
        execute, left = connection.execute, [self.steps // 20]

        def counting(*arguments: Any, **options: Any) -> Any:
            left[0] -= 1
            if not left[0]:
                kill()
            return execute(*arguments, **options)

        connection.execute = counting  # type: ignore[method-assign]
        return connection


class _KilledAfterCommit(FailingStore):
    """Kills the process between a commit and the reply."""

    def _lose(self) -> None:
        kill()


def store_at(address: str, steps: int = 0) -> Store:
    store: Any
    kind = _KilledPostgresStore if "://" in address else _KilledSQLiteStore
    store = kind(address)
    store.steps = steps
    return store  # type: ignore[no-any-return]


def collect(address: str, bodies: list[bytes], how: str, seed: int, write: int) -> None:
    """Send bodies, and write a byte for each reply, until the process is killed."""
    rng = random.Random(seed)
    store = store_at(address, rng.randint(200, 1000) if how == "inside" else 0)
    if how == "after":
        store = _KilledAfterCommit(store)
    collector = Collector(STUDY, store, clock=lambda: OPENED)
    if how == "after":
        assert isinstance(store, FailingStore)
        skip = rng.randint(0, BODIES // 2)
    start = 0
    while start < len(bodies):
        # One at a time, or several that wait together.
        some = range(
            start, min(len(bodies), start + (rng.randint(1, 5) if how == "any time" else 1))
        )
        if how == "after" and start == skip:
            store.after = 1  # type: ignore[attr-defined]
        futures = [collector.submit(collector.format.parse(bodies[i])) for i in some]
        for i, future in zip(some, futures, strict=True):
            future.result(20)
            os.write(write, bytes([i]))
        start = some.stop
    time.sleep(10)


def forked(work: Callable[[int], None]) -> tuple[int, int]:
    """A child that does some work; its process id, and the end of a pipe to read from."""
    read, write = os.pipe()
    child = os.fork()
    if child:
        os.close(write)
        return child, read
    os.close(read)
    try:
        work(write)
    except BaseException:
        traceback.print_exc()
    os._exit(0)


def prepare(address: str) -> None:
    """Import the driver of a database once, and not in every child."""
    if "://" in address:
        import psycopg  # noqa: F401


def all_of(read: int) -> bytes:
    """All bytes of a pipe."""
    parts = []
    while part := os.read(read, 65536):
        parts.append(part)
    os.close(read)
    return b"".join(parts)


def look(address: str, bodies: list[bytes], write: int) -> None:
    """What is counted, before and after all bodies are sent again."""
    collector = Collector(STUDY, store_at(address), clock=lambda: OPENED)
    before = counted(collector.state().tallies)
    for body in bodies:
        collector.submit(collector.format.parse(body)).result(20)
    after = counted(collector.state().tallies)
    collector.stop()
    os.write(write, json.dumps([before, after]).encode())


def main(address: str, seed: int, rounds: int) -> None:
    module.PACE = 0.0
    prepare(address)
    rng = random.Random(seed)
    form = SubmissionFormat(STUDY)
    everything: list[bytes] = []
    for i in range(rounds):
        first = i * BODIES * PEOPLE
        bodies = [
            sealed(form, range(start, start + PEOPLE))
            for start in range(first, first + BODIES * PEOPLE, PEOPLE)
        ]
        how = ("after", "inside", "any time")[i % 3]
        child, read = forked(partial(collect, address, bodies, how, rng.randrange(2**32)))
        if how == "any time":
            select.select([read], [], [])  # the first reply, or the end
            time.sleep(rng.uniform(0, 0.03))
            os.kill(child, signal.SIGKILL)
        replies = all_of(read)
        _, status = os.waitpid(child, 0)
        everything += bodies
        reader, found = forked(partial(look, address, list(everything)))
        before, after = json.loads(all_of(found))
        os.waitpid(reader, 0)
        line = {"how": how, "signal": os.WTERMSIG(status), "people": (i + 1) * BODIES * PEOPLE}
        replied = [*range(first), *(first + i * PEOPLE + j for i in replies for j in range(PEOPLE))]
        print(
            json.dumps({**line, "replied": replied, "before": before, "after": after}), flush=True
        )


if __name__ == "__main__":
    np.seterr(all="raise")
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
