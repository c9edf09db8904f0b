"""What a bounded process does in tests; it starts sooner where it imports no tests."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from warner._core.errors import ArgumentError


class Subject:
    """Counts, waits, fails and dies."""

    def __init__(self, first: int) -> None:
        self.count = first

    def add(self, more: int) -> tuple[int, int]:
        self.count += more
        return self.count, os.getpid()

    def fill(self, size: int) -> int:
        return len(bytearray(size))

    def wait(self, seconds: float) -> None:
        time.sleep(seconds)

    def refuse(self) -> None:
        raise ArgumentError("no")

    def die(self, folder: str, times: int) -> str:
        """End by a signal, the first times."""
        before = len(os.listdir(folder))
        if before < times:
            Path(folder, str(before)).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return "alive"
