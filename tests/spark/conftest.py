"""The engines: Spark with two executors of its own, and Sail, which speaks Spark Connect.

A process has sessions of one of them only: pyspark does not mix the two. WARNER_SPARK names it.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
# The ordinary environment has no Spark. In its own environment nothing is left out.
collect_ignore_glob = (
    [] if os.environ.get("WARNER_SPARK") or importlib.util.find_spec("pyspark") else ["test_*.py"]
)


@pytest.fixture(scope="session")
def engine(request: Any) -> Any:
    """The session of the engine of this process."""
    return request.getfixturevalue(os.environ.get("WARNER_SPARK", "spark"))


def _java() -> None:
    if shutil.which("java") is None:
        pytest.fail("Spark needs Java 17 or later: apt-get install openjdk-17-jre-headless")


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """Spark with two executors in processes of their own, as a cluster has them."""
    _java()
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    session = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.default.parallelism", "4")
        .config("spark.executorEnv.PYTHONPATH", path)
        .config("spark.executorEnv.OPENBLAS_NUM_THREADS", "1")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )
    yield session
    session.stop()


@pytest.fixture(scope="session")
def sail() -> Iterator[Any]:
    """Sail in this process, spoken to as Spark Connect."""
    from pysail.spark import SparkConnectServer
    from pyspark.sql import SparkSession

    server = SparkConnectServer()
    server.start(background=True)
    _, port = server.listening_address
    session = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").create()
    yield session
    session.stop()
    server.stop()
