"""A program that collects on a disk that takes no more, until it does again.

    python -m tests.laws.collector._full_disk PATH WAY

``limit``: the system refuses to let files grow (RLIMIT_FSIZE). ``mounted``: the folder of the path
is a file system of 300 kB, which is filled and emptied. ``counted``: the store is told that its
disk is such a one.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from datetime import UTC, datetime

from tests.laws.collector._survey import counted, expected, sealed, study_of
from warner.collector import collector as module
from warner.collector.collector import Collector
from warner.collector.refusals import Refused
from warner.collector.stores import SQLiteStore

PEOPLE, STUDY, SIZE = 4, study_of(), 300 * 1024
OPENED = datetime(2026, 1, 3, tzinfo=UTC)


class Disk:
    """What a way of filling a disk does."""

    def __init__(self, path: str) -> None:
        self.path = path

    def store(self) -> SQLiteStore:
        return SQLiteStore(self.path)

    def fill(self) -> None: ...

    def empty(self) -> None: ...

    def check(self) -> None:
        """After each request."""


class LimitedDisk(Disk):
    """No file grows beyond what the log has."""

    def fill(self) -> None:
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        size = os.path.getsize(f"{self.path}-wal") + 2000
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))

    def empty(self) -> None:
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))


class MountedDisk(Disk):
    """A file system, on which another file takes all that is free."""

    def fill(self) -> None:
        with open(f"{self.path}.filler", "wb", buffering=0) as file:
            try:
                while file.write(b"x" * 512):
                    pass
            except OSError:
                pass

    def empty(self) -> None:
        os.remove(f"{self.path}.filler")


class CountedDisk(Disk):
    """A disk of which the store is told how much is free: the rest of 300 kB, or nothing."""

    is_full = False

    def store(self) -> SQLiteStore:
        disk = self

        class OnDisk(SQLiteStore):
            def _free_bytes(self) -> int:
                return 0 if disk.is_full else SIZE - disk.used()

        return OnDisk(self.path)

    def used(self) -> int:
        # In blocks, as a file system counts.
        ends = ("", "-wal", "-last")
        return sum(-(-os.path.getsize(f"{self.path}{end}") // 4096) * 4096 for end in ends)

    def fill(self) -> None:
        self.is_full, self._most = True, self.used()

    def empty(self) -> None:
        self.is_full = False

    def check(self) -> None:
        assert self.used() <= (self._most if self.is_full else SIZE)


def main(disk: Disk) -> None:
    module.PACE, module._QUIET = 0.0, 60.0

    def opened() -> Collector:
        return Collector(STUDY, disk.store(), clock=lambda: OPENED)

    collector = opened()
    kept: list[bytes] = []
    errors: list[str] = []
    values: list[int] = []
    refused: list[bytes] = []

    def sends(body: bytes) -> int:
        try:
            return collector.submit(collector.format.parse(body)).result(20).new
        finally:
            disk.check()

    for round_ in range(3):
        for i in range(12):
            if i == 3:
                disk.fill()
            if (round_, i) == (2, 6):  # a start on a full disk
                collector.stop()
                collector = opened()
            if i == 9:
                disk.empty()
            start = PEOPLE * (12 * round_ + i)
            body = sealed(collector.format, range(start, start + PEOPLE))
            kept.append(body)
            try:
                sends(body)
                values += range(start, start + PEOPLE)
            except Refused as error:
                errors.append(error.name)
                refused.append(body)
                assert i < 9
            assert counted(collector.state().tallies) == expected(values)
        for body in refused:
            assert sends(body) == PEOPLE
        refused.clear()
        values = list(range(PEOPLE * 12 * (round_ + 1)))
        assert counted(collector.state().tallies) == expected(values)
    collector.stop()
    collector = opened()
    assert counted(collector.state().tallies) == expected(values)
    for body in kept:
        assert sends(body) == 0
    collector.stop()
    print(json.dumps(errors))


if __name__ == "__main__":
    ways = {"limit": LimitedDisk, "mounted": MountedDisk, "counted": CountedDisk}
    main(ways[sys.argv[2]](sys.argv[1]))
