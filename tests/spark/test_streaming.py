"""A stream of submissions whose query is killed and goes on counts each id once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import warner.spark
from tests.spark.conftest import ROOT
from warner import Study
from warner._core.errors import ArgumentError, ArgumentTypeError, FileError
from warner.collector.submissions import Batch, SubmissionFormat
from warner.reports.tally import load_tallies

TEXT = """
[public.ward]
values = ["north", "south"]
[attributes.smokes]
values = ["no", "yes"]
mechanism = "RandomizedResponse"
epsilon = 1.0
[attributes.drinks]
integers = [0, 9]
mechanism = "UnaryEncoding"
epsilon = 1.0
[collect]
access = "open"
"""
STUDY = Study.parse(TEXT)
FORM = SubmissionFormat(STUDY)
SECONDS = 240.0
PEOPLE, FILES = 400, 12


def people() -> Batch:
    """What all people send, once."""
    rng = np.random.default_rng(3)
    wards = rng.choice(["north", "south"], PEOPLE)
    answers = {"smokes": rng.choice(["no", "yes"], PEOPLE), "drinks": rng.integers(0, 10, PEOPLE)}
    reports = {name: m.randomize(answers[name]) for name, m in STUDY.mechanisms.items()}
    return FORM.parse(FORM.seal(reports, {"ward": wards}))


def put(folder: Path, number: int, bodies: list[bytes | None]) -> None:
    """A file of the stream, whole from its first moment."""
    path = folder / "bodies" / f"{number:02d}.parquet"
    path.parent.mkdir(exist_ok=True)
    pq.write_table(pa.table({"value": pa.array(bodies, pa.binary())}), f"{path}.new")
    os.rename(f"{path}.new", path)


def query(folder: Path, *more: str) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])}
    command = [sys.executable, "-m", "tests.spark._stream", str(folder), *more]
    with open(folder / "log", "ab") as log:
        return subprocess.Popen(
            command, env=environment, stdout=log, stderr=log, start_new_session=True
        )


def wait_for(check: Callable[[], bool], process: subprocess.Popen[bytes], folder: Path) -> None:
    end = time.monotonic() + SECONDS
    while not check():
        assert time.monotonic() < end and process.poll() is None, (folder / "log").read_text()
        time.sleep(0.05)


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill Python and Java."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(60)


def test_a_query_that_is_killed_goes_on_and_counts_each_id_once(tmp_path: Path) -> None:
    """Rejects a job that adds a batch to its tallies again after it was killed, one that forgets
    the ids before a restart, and one that loses bodies which nobody could count.
    """
    (tmp_path / "study.toml").write_text(TEXT)
    batch = people()
    rng = np.random.default_rng(4)
    bad = [b"", b"WRN1 but short", FORM.head + bytes(FORM.length - 1)]
    other = b"WRN1" + bytes(32) + bytes(FORM.length)

    def bodies(number: int) -> list[bytes | None]:
        """A third of the people of each file was in files before; one body holds someone twice."""
        own = np.arange(PEOPLE)[number::FILES]
        again = rng.integers(0, PEOPLE, len(own) // 2)
        rows = [batch.rows[i : i + 1] for i in [*own, *again]]
        pairs = [np.concatenate([rows[0], rows[1], rows[0]])]
        sent: list[bytes | None] = [FORM.head + row.tobytes() for row in [*rows, *pairs]]
        return [*sent, bad[number % 3], bad[number % 3], other, None]

    for number in range(4):
        put(tmp_path, number, bodies(number))
    process = query(tmp_path, "1")  # it dies between two files of its second batch
    try:
        process.wait(SECONDS)
        kill(process)
        out = tmp_path / "out"
        assert (out / "tallies-000000001.json").exists()
        assert not (out / "refused-000000001.json").exists(), (tmp_path / "log").read_text()
        process = query(tmp_path)
        wait_for(lambda: bool([*out.glob("refused-00000000[2-9]*")]), process, tmp_path)
        for number in range(4, 8):
            put(tmp_path, number, bodies(number))
        time.sleep(rng.uniform(0, 1))
        kill(process)  # at any time
        process = query(tmp_path)
        for number in range(8, FILES):
            put(tmp_path, number, bodies(number))
        (tmp_path / "stop").touch()
        assert process.wait(SECONDS) == 0, (tmp_path / "log").read_text()
    finally:
        if process.poll() is None:
            kill(process)
    last = max(out.glob("tallies-*.json"))
    wards = np.array(["north", "south"])[batch.public["ward"]]
    slow = STUDY.tally(batch.reports, {"ward": wards})
    tallies = load_tallies(last)
    assert {name: t.of_others() for name, t in tallies.items()} == {
        name: t.of_others() for name, t in slow.items()
    }
    # Different bodies are counted, as ids are: three of them, the null one, and one of another
    # study; the empty and the null body are one.
    refused = json.loads(Path(str(last).replace("tallies", "refused")).read_text())
    assert refused == {"malformed": 3, "other_study": 1}
    assert len([*out.glob("*.json")]) <= 4
    with pytest.raises(Exception, match="must not be added twice"):
        tallies["smokes"] + tallies["smokes"]


def test_what_cannot_be_streamed_is_refused(spark: object, tmp_path: Path) -> None:
    frame = spark.createDataFrame([(b"",)], "value binary")  # type: ignore[attr-defined]
    with pytest.raises(ArgumentTypeError, match="must be a stream"):
        warner.spark.stream_tallies(STUDY, frame, tmp_path)
    with pytest.raises(ArgumentError, match="must be one of value"):
        warner.spark.read_submissions(STUDY, frame, "body")
    put(tmp_path, 0, [b""])
    schema = spark.readStream.schema("value binary")  # type: ignore[attr-defined]
    stream = schema.parquet(str(tmp_path / "bodies"))
    invited = Study.parse(TEXT.replace("open", "invited"))
    with pytest.raises(ArgumentError, match="must not be by invitation"):
        warner.spark.stream_tallies(invited, stream, tmp_path)
    # Tallies that are gone are not begun anew beside ids that are remembered.
    with pytest.raises(FileError, match=r"refused-000000006\.json: is missing"):
        warner.spark._Streamed(STUDY, tmp_path).write(frame, 7)
