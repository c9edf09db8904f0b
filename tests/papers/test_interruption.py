"""Runs of experiments that stop early: by Ctrl-C, and before the first work."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from papers import DataFolder, reproduce, select
from warner._core.processes import Workers
from warner.errors import FileError


def test_ctrl_c_ends_the_workers_without_a_word() -> None:
    with Workers(1) as workers:
        handler = workers._started().submit(signal.getsignal, signal.SIGINT).result()
    assert handler == signal.SIG_DFL


def test_a_missing_file_stops_a_run_before_its_first_experiment(tmp_path: Path) -> None:
    needs_none, needs_adult = select(["P5/fig5"]), select(["P5/table1"])
    results = reproduce(
        [*needs_none, *needs_adult], tmp_path / "out", DataFolder(str(tmp_path)), quick=True
    )
    with pytest.raises(FileError, match=r"adult\.csv\.gz: is missing"):
        next(results)
    assert not (tmp_path / "out").exists()


def test_an_interruption_waits_for_no_work_that_was_begun() -> None:
    """Rejects a program that ends only when its processes have done their work."""
    with pytest.raises(KeyboardInterrupt), Workers(1) as workers:
        workers._started().submit(time.sleep, 3600)
        raise KeyboardInterrupt
    assert [process.is_alive() for process in workers._processes] == [False]
