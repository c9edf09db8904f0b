"""An executor and a Python worker are killed in the middle of a count: the tally is the same."""

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

PARTS, ROWS = 8, 500
MECHANISM = UnaryEncoding(Integers(0, 19), 1.0)
_MADE = MECHANISM.randomize(np.arange(PARTS * ROWS) % 20, np.random.default_rng(3))
REPORTS = Reports(_MADE.header, _MADE.columns)


class Slow:
    """Hands rows on after a while, and leaves a file that names its own process."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        name = f"{time.time_ns()}-{os.getpid()}"
        Path(self.folder, name).write_text(f"{os.getpid()} {_executor()}")
        time.sleep(1.5)
        yield from batches


def _executor() -> int:
    """The process that a Python worker works for: the parent of Spark's daemon of workers."""
    fields = Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()
    return int(fields[1])


def _is_ours(process: int) -> bool:
    """Whether a process descends from this one."""
    while process > 1:
        if process == os.getpid():
            return True
        try:
            text = Path(f"/proc/{process}/stat").read_text()
        except OSError:
            return False
        process = int(text.rpartition(")")[2].split()[1])
    return False


def _at_work(folder: Path, seconds: float = 120.0) -> list[tuple[int, int]]:
    """The (worker, executor) of tasks, once two executors are at work."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pairs = [tuple(map(int, p.read_text().split())) for p in sorted(folder.iterdir())]
        pairs = [pair for pair in pairs if len(pair) == 2]
        if len({executor for _, executor in pairs}) > 1:
            return pairs  # type: ignore[return-value]
        time.sleep(0.02)
    raise AssertionError("two executors were not at work in time")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found in /proc")
def test_an_executor_and_a_worker_are_killed(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    (tmp_path / "seen").mkdir()
    stored = MECHANISM.schema.to_file(REPORTS.columns)
    table = pa.table({f"q_{n}": pa.array(c, pa.int32()) for n, c in stored.items()})
    for i in range(PARTS):
        pq.write_table(table[i * ROWS : (i + 1) * ROWS], tmp_path / "lake" / f"{i}.parquet")
    frame = spark.read.parquet(str(tmp_path / "lake")).repartition(PARTS)
    kinds = ", ".join(f"{name} int" for name in frame.columns)
    slow = frame.mapInArrow(Slow(str(tmp_path / "seen")), kinds)
    found: list[Any] = []
    count = threading.Thread(
        target=lambda: found.append(warner.spark.tally(MECHANISM, slow, "q")), daemon=True
    )
    count.start()
    pairs = _at_work(tmp_path / "seen")
    executor = pairs[-1][1]
    other = next(own for own in reversed(pairs) if own[1] != executor)[0]
    killed = 0
    for process in (executor, other):
        if _is_ours(process):
            os.kill(process, signal.SIGKILL)
            killed += 1
    count.join(240)
    assert killed == 2 and found == [MECHANISM.tally(REPORTS)]
    # More tasks were begun than there are partitions: the killed ones were run again.
    assert len(list((tmp_path / "seen").iterdir())) > PARTS
