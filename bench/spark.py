"""Claim: a Spark cluster of two executors counts 2 10^8 k-RR reports within 1.2 times its own bare
GROUP BY, and 2 10^7 OUE reports (K = 128) in blocks at least three times as fast as 16 GROUP BYs.

    tests/spark/.venv/bin/python bench/spark.py [--scale 0.01]

It needs the environment of ``make test-spark``, and Java. Each way is run once to warm up, and then
several times in turn. Reports per second and core, and the memory of the driver before and after:
of its Python, and of its Java.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from _measure import EPSILON, SEED, claim, record, resident

PARTS, BLOCK, CHUNK = 16, 4096, 2**18
SIZES = {"krr": 2 * 10**8, "oue": 2 * 10**7}
CORES = 2


def write(kind: str, folder: Path, n: int) -> Any:
    """Reports in rows, as bytes, and in blocks; the mechanism."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    from warner import Integers, RandomizedResponse, UnaryEncoding

    size, of = (16, RandomizedResponse) if kind == "krr" else (128, UnaryEncoding)
    mechanism = of(Integers(0, size - 1), EPSILON)
    rng = np.random.default_rng(SEED)
    reports = mechanism.randomize(rng.integers(0, size, min(CHUNK, n)), rng)
    records = reports.record_array()
    rows = {
        f"q_{name}": pa.array(c) for name, c in mechanism.schema.to_file(reports.columns).items()
    }
    each = pa.array([row.tobytes() for row in records], pa.binary())
    whole = len(records) // BLOCK * BLOCK or len(records)
    blocks = [records[i : i + BLOCK].tobytes() for i in range(0, whole, BLOCK)]
    layouts = {
        "rows": (pa.table(rows), len(records)),
        "bytes": (pa.table({"q_records": each}), len(records)),
        "blocks": (pa.table({"q_records": pa.array(blocks, pa.binary())}), whole),
    }
    for name, (table, held) in layouts.items():
        (folder / name).mkdir(parents=True)
        for i in range(PARTS):
            with pq.ParquetWriter(folder / name / f"{i}.parquet", table.schema) as writer:
                for _ in range(max(1, round(n / PARTS / held))):
                    writer.write_table(table)
    return mechanism


def driver() -> list[int]:
    """The resident megabytes of this process, and of the Java process that it started."""
    mine = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            fields = (place / "stat").read_text().rpartition(")")[2].split()
            if int(fields[1]) == os.getpid() and (place / "comm").read_text() == "java\n":
                mine.append(int((place / "statm").read_text().split()[1]))
        except OSError:  # it has ended
            continue
    return [round(resident()), round(sum(mine) * os.sysconf("SC_PAGE_SIZE") / 1e6)]


def session() -> Any:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    root = Path(__file__).parents[1]
    return (
        SparkSession.builder.master(f"local-cluster[{CORES},1,2048]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.executorEnv.PYTHONPATH", str(root / "src"))
        .config("spark.executorEnv.OPENBLAS_NUM_THREADS", "1")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )


def group_bys(frame: Any) -> int:
    """The bare GROUP BY of every column, which checks nothing."""
    for name in frame.columns:
        rows = frame.groupBy(name).count().collect()
    return sum(row["count"] for row in rows)


def main(scale: float, turns: int) -> None:
    """Both kinds, every way in turn; the claims."""
    import warner.spark

    spark = session()
    try:
        for kind, most in SIZES.items():
            n = int(most * scale)
            folder = Path(tempfile.mkdtemp(prefix="warner-spark-"))
            try:
                mechanism = write(kind, folder, n)
                frames = {
                    name: spark.read.parquet(str(folder / name))
                    for name in ("rows", "bytes", "blocks")
                }
                ways = {
                    "bare GROUP BYs": lambda f=frames: group_bys(f["rows"]),
                    "mechanism.tally": lambda f=frames, m=mechanism: (
                        m.tally(f["rows"], column="q").n
                    ),
                    **{
                        f"warner.spark.tally, {name}": lambda f=frame, m=mechanism: (
                            warner.spark.tally(m, f, "q").n
                        )
                        for name, frame in frames.items()
                    },
                }
                counted = {name: way() for name, way in ways.items()}
                before = driver()
                seconds: dict[str, list[float]] = {name: [] for name in ways}
                for turn in range(turns):
                    for name in list(ways) if turn % 2 == 0 else reversed(list(ways)):
                        start = time.perf_counter()
                        ways[name]()
                        seconds[name].append(time.perf_counter() - start)
                after = driver()
                print(
                    f"{kind}: driver, Python and Java: {before} MB before, {after} after",
                    flush=True,
                )
                taken = {name: median(all_) for name, all_ in seconds.items()}
                for name, own in taken.items():
                    rate = counted[name] / own / CORES / 1e6
                    print(
                        f"  {name:<28} {counted[name]:>12,} {own:>8.2f} s  {rate:>7.3f} M/s and core"
                    )
                entry = {"kind": kind, "n": counted["bare GROUP BYs"], "executors": CORES}
                entry |= {"turns": turns, "driver_mb": {"before": before, "after": after}}
                entry["seconds"] = {name: round(own, 2) for name, own in taken.items()}
                record("spark", entry, ("pyspark", "pyarrow", "numpy", "pandas"))
                if scale == 1 and kind == "krr":
                    ratio = taken["mechanism.tally"] / taken["bare GROUP BYs"]
                    claim("k-RR within 1.2 of the bare GROUP BY", ratio <= 1.2, f"{ratio:.2f}")
                elif scale == 1:
                    ratio = taken["bare GROUP BYs"] / taken["warner.spark.tally, blocks"]
                    claim(
                        "blocks at least three times as fast as GROUP BYs",
                        ratio >= 3,
                        f"{ratio:.2f}",
                    )
            finally:
                shutil.rmtree(folder, ignore_errors=True)
    finally:
        spark.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--turns", type=int, default=3)
    given = parser.parse_args()
    main(given.scale, given.turns)
