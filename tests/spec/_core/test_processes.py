"""Processes that share work, and files of finished work."""

from __future__ import annotations

import os
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pytest

from warner._core.processes import JsonLines, Workers
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
