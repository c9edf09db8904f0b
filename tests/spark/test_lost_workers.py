"""An executor and Python workers are killed in the middle of a count: the tally is the same.

The tasks wait in the middle of their rows until the test has killed, and not for some seconds. So a
slow machine makes the test slow, and does not change what it tests.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import warner.spark
from warner import Integers, Reports, UnaryEncoding

PARTS, ROWS = 4, 500
SECONDS = 120.0  # that a task or the test waits for the other, at most
GO = "go"  # the file for which the tasks wait


class Waiting:
    """Hands on half of the rows of a partition, and the rest after a file is there.

    While it waits, a file names its executor and the daemon of its Python workers.
    """

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            half = batch.num_rows // 2
            yield batch[:half]
            daemon = os.getppid()
            place = self.folder / f"{time.time_ns()}-{os.getpid()}"
            place.with_suffix(".new").write_text(f"{daemon} {_parent(daemon)}")
            place.with_suffix(".new").rename(place)  # whole or not at all
            _wait_for((self.folder / GO).exists)
            yield batch[half:]


def _parent(process: int) -> int:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return int(fields[1])


def _children(process: int) -> list[int]:
    found = []
    for place in Path("/proc").iterdir():
        try:
            if place.name.isdigit() and _parent(int(place.name)) == process:
                found.append(int(place.name))
        except OSError:  # it has ended
            continue
    return found


def _is_ours(process: int) -> bool:
    """Whether a process descends from this one."""
    while process > 1 and process != os.getpid():
        process = _parent(process)
    return process > 1


def _wait_for(check: Any) -> None:
    end = time.monotonic() + SECONDS
    while not check():
        if time.monotonic() > end:
            raise TimeoutError("the other side did not come in time")
        time.sleep(0.02)


def _waiting(folder: Path) -> dict[int, int]:
    """{executor: the daemon of its Python workers} of the tasks that wait, or have waited."""
    found = {}
    for place in folder.glob("*-*[0-9]"):
        daemon, executor = map(int, place.read_text().split())
        found[executor] = daemon
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found in /proc")
def test_an_executor_and_workers_are_killed(spark: Any, tmp_path: Path) -> None:
    mechanism = UnaryEncoding(Integers(0, 19), 1.0)
    made = mechanism.randomize(np.arange(PARTS * ROWS) % 20, np.random.default_rng(3))
    reports = Reports(made.header, made.columns)
    lake, seen = tmp_path / "lake", tmp_path / "seen"
    lake.mkdir()
    seen.mkdir()
    stored = mechanism.schema.to_file(reports.columns)
    table = pa.table({f"q_{n}": pa.array(c, pa.int32()) for n, c in stored.items()})
    for i in range(PARTS):
        pq.write_table(table[i * ROWS : (i + 1) * ROWS], lake / f"{i}.parquet")
    frame = spark.read.parquet(str(lake))
    kinds = ", ".join(f"{name} int" for name in frame.columns)
    waiting = frame.mapInArrow(Waiting(str(seen)), kinds)
    found: list[Any] = []
    count = threading.Thread(
        target=lambda: found.append(warner.spark.tally(mechanism, waiting, "q")), daemon=True
    )
    count.start()
    _wait_for(lambda: len(_waiting(seen)) == 2)
    (executor, _), (_, daemon) = _waiting(seen).items()
    workers = _children(daemon)
    assert workers and all(map(_is_ours, (executor, *workers)))
    before = len(list(seen.glob("*-*[0-9]")))
    for process in (*workers, executor):
        os.kill(process, signal.SIGKILL)
    (seen / GO).touch()
    count.join(SECONDS)
    assert found == [mechanism.tally(reports)]
    # The killed tasks were run again: they had handed on half of their rows.
    assert len(list(seen.glob("*-*[0-9]"))) == PARTS + before == PARTS + 2
