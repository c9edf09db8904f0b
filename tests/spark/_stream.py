"""A program that counts a folder of submissions as a stream, until it is told to stop.

    python -m tests.spark._stream FOLDER [BATCH]

With a batch it dies when the tallies of that batch are written, and Spark does not know yet.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import warner.spark
from warner import Study


def main(folder: Path, dies_at: int | None) -> None:
    if dies_at is not None:
        save = warner.spark.save_tallies

        def dying(tallies: Any, path: Path) -> None:
            save(tallies, path)
            if path.name == f"tallies-{dies_at:09d}.json":
                os.kill(os.getpid(), signal.SIGKILL)

        warner.spark.save_tallies = dying
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )
    bodies = spark.readStream.schema("value binary").option("maxFilesPerTrigger", 1)
    study = Study.load(folder / "study.toml")
    frame = bodies.parquet(str(folder / "bodies"))
    query = warner.spark.stream_tallies(study, frame, folder / "out", "100 milliseconds")
    while not (folder / "stop").exists():
        if (problem := query.exception()) is not None:
            raise problem
        time.sleep(0.05)
    query.processAllAvailable()
    query.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if sys.argv[2:] else None)
