"""Processes that share work, and files of finished work."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from warner._core.processes import BoundedProcess, JsonLines, Unfinished, Workers
from warner.errors import ArgumentError, FileError


def test_one_process_is_this_one_and_keeps_the_order() -> None:
    with Workers(1) as workers:
        found = list(workers.work(pow, [(2, 3), (3, 2)]))
        (pid,) = [result for _, result in workers.work(os.getpid, [()])]
    assert found == [((2, 3), 8), ((3, 2), 9)] and pid == os.getpid()


def test_a_process_that_ends_is_reported_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(self: Workers, function: Any, tasks: Any) -> Any:
        raise BrokenProcessPool

    monkeypatch.setattr(Workers, "_in_processes", ended)
    with Workers(2) as workers, pytest.raises(ArgumentError, match="__main__"):
        list(workers.work(os.getpid, [(), ()]))


def test_lines_are_kept_and_a_torn_one_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "work.jsonl"
    file = JsonLines(path, {"of": "a"})
    file.add({"run": 1})
    file.add({"run": 2})
    path.write_text(path.read_text()[:-4])
    assert JsonLines(path, {"of": "a"}).found == [{"run": 1}]
    assert JsonLines(path, {"of": "a"}).found == [{"run": 1}]
    with pytest.raises(FileError, match="another kind"):
        JsonLines(path, {"of": "b"}, replace=False)
    assert JsonLines(path, {"of": "b"}).found == []


class Subject:
    """What a bounded process does in these tests."""

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


@contextmanager
def bounded(memory: int = 2**30, seconds: float = 60.0) -> Iterator[BoundedProcess]:
    process = BoundedProcess(Subject, (5,), memory, seconds)
    try:
        yield process
    finally:
        process.stop()


def test_a_bounded_process_answers_the_calls_of_one_object() -> None:
    with bounded() as process:
        (six, first), (eight, second) = process.call("add", 1), process.call("add", 2)
        assert (six, eight) == (6, 8) and first == second != os.getpid()
        with pytest.raises(ArgumentError, match="no"):
            process.call("refuse")


@pytest.mark.skipif(sys.platform != "linux", reason="the system has no such limit")
def test_a_call_beyond_its_memory_leaves_the_process_and_this_one() -> None:
    with bounded(memory=200 * 2**20) as process:
        _, before = process.call("add", 1)
        with pytest.raises(Unfinished, match=r"^needs more than 200 MiB of memory$"):
            process.call("fill", 2**30)
        assert process.call("fill", 2**20) == 2**20
        assert process.call("add", 1) == (7, before)


def test_a_call_beyond_its_time_is_ended_and_the_next_is_answered() -> None:
    with bounded(seconds=5) as process:
        with pytest.raises(Unfinished, match=r"^takes longer than 5 seconds$"):
            process.call("wait", 600.0)
        assert process.call("wait", 0.0) is None


def test_a_call_whose_process_is_killed_is_made_once_more(tmp_path: Path) -> None:
    with bounded() as process:
        assert process.call("die", str(tmp_path), 1) == "alive"
        with pytest.raises(Unfinished, match=r"^ended early \(signal 9\)$"):
            process.call("die", str(tmp_path), 3)
        assert process.call("die", str(tmp_path), 3) == "alive"


def test_stopping_ends_a_call_that_waits() -> None:
    with bounded() as process:
        process.call("add", 1)
        threading.Timer(0.2, process.stop).start()
        with pytest.raises(Unfinished):
            process.call("wait", 600.0)
        with pytest.raises(Unfinished, match="was stopped"):
            process.call("add", 1)


def test_no_process_is_left_when_this_one_is_killed(tmp_path: Path) -> None:
    """Standard output closes when nobody holds it any more, neither process."""
    script = tmp_path / "script.py"
    script.write_text(
        "import os, threading, signal\n"
        "from tests.spec._core.test_processes import Subject\n"
        "from warner._core.processes import BoundedProcess\n"
        'if __name__ == "__main__":\n'
        "    process = BoundedProcess(Subject, (5,), 2**30, 900.0)\n"
        '    print(process.call("add", 1)[0], flush=True)\n'
        "    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGKILL)).start()\n"
        '    process.call("wait", 600.0)\n'
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, str(script)], stdout=subprocess.PIPE, timeout=300, env=environment
    )
    assert done.stdout == b"6\n" and done.returncode == -signal.SIGKILL
