"""A program that collects on a disk that takes no more, until it does again.

    python -m tests.laws.collector._full_disk PATH [limit]

With ``limit`` the system refuses to let files grow (RLIMIT_FSIZE). Without it the folder of the
path is a small file system, which is filled and emptied.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Callable
from datetime import UTC, datetime

from tests.laws.collector._survey import counted, expected, sealed, study_of
from warner.collector import collector as module
from warner.collector.collector import Collector
from warner.collector.refusals import Refused
from warner.collector.stores import SQLiteStore

PEOPLE, STUDY = 4, study_of()
OPENED = datetime(2026, 1, 3, tzinfo=UTC)


def limited(path: str) -> None:
    """Let no file grow beyond what the log has now."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize(f"{path}-wal") + 2000, hard))


def unlimited(path: str) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))


def filled(path: str) -> None:
    """Fill the file system."""
    with open(f"{path}.filler", "wb", buffering=0) as file:
        try:
            while file.write(b"x" * 512):
                pass
        except OSError:
            pass


def emptied(path: str) -> None:
    os.remove(f"{path}.filler")


def main(path: str, fill: Callable[[str], None], empty: Callable[[str], None]) -> None:
    module.PACE, module._QUIET = 0.0, 60.0
    collector = Collector(STUDY, SQLiteStore(path), clock=lambda: OPENED)
    kept: list[bytes] = []
    errors: list[str] = []
    values: list[int] = []
    refused: list[bytes] = []
    for round_ in range(3):
        for i in range(12):
            if i == 3:
                fill(path)
            if i == 9:
                empty(path)
            start = PEOPLE * (12 * round_ + i)
            body = sealed(collector.format, range(start, start + PEOPLE))
            kept.append(body)
            try:
                collector.submit(collector.format.parse(body)).result(20)
                values += range(start, start + PEOPLE)
            except Refused as error:
                errors.append(error.name)
                refused.append(body)
            assert counted(collector.state().tallies) == expected(values)
        for body in refused:
            assert collector.submit(collector.format.parse(body)).result(20).new == PEOPLE
        refused.clear()
        values = list(range(PEOPLE * 12 * (round_ + 1)))
        assert counted(collector.state().tallies) == expected(values)
    collector.stop()
    again = Collector(STUDY, SQLiteStore(path), clock=lambda: OPENED)
    assert counted(again.state().tallies) == expected(values)
    for body in kept:
        assert again.submit(again.format.parse(body)).result(20).new == 0
    again.stop()
    print(json.dumps(errors))


if __name__ == "__main__":
    if sys.argv[2:] == ["limit"]:
        main(sys.argv[1], limited, unlimited)
    else:
        main(sys.argv[1], filled, emptied)
