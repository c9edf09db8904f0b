"""The collector's store: what its log tells, bits that flip, clocks that jump, processes that die.

A case is a survey of some people. Each has a value of their own, and reports are the values
themselves, so what a store tells of a person can be seen.
"""

from __future__ import annotations

import shutil
import sqlite3
import struct
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import timedelta
from functools import cache
from itertools import pairwise
from pathlib import Path
from unittest import mock

import numpy as np

from tests.attack._frame import require
from tests.laws.collector._survey import TEXT, counted, expected, sealed, study_of
from tests.laws.collector.test_exactly_once import START
from tests.laws.collector.test_killed import killed
from warner import errors
from warner.collector import collector as module
from warner.collector.collector import Collector
from warner.collector.refusals import Refused
from warner.collector.restarts import Start
from warner.collector.stores import SQLiteStore
from warner.collector.submissions import SubmissionFormat
from warner.studies.study import Study

_STUDY = study_of()
_FORM = SubmissionFormat(_STUDY)
_FRAME = 24 + 4096  # bytes of the log for one disk page
_HEADER = 32  # bytes of a log without a frame, which says nothing of anybody
_COMMITS = 8  # the most in the log: they begin 20 ms apart, and it is emptied after a tenth second
_LONG = """
[attributes.smokes]
values = ["no", "yes"]
mechanism = "RandomizedResponse"
epsilon = 1.0
[attributes.town]
integers = [0, 99]
mechanism = "SubsetSelection"
epsilon = 1.0
"""


class _WatchedStore(SQLiteStore):
    """Copies the files of the store whenever its log is fullest: before it is emptied."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.copies: list[Path] = []

    def tidy(self, is_quiet: bool = True) -> bool:
        self.copies.append(_copy(Path(self.path), len(self.copies)))
        return super().tidy(is_quiet)


@contextmanager
def _collecting(study: Study, store: SQLiteStore) -> Iterator[Collector]:
    collector = Collector(study, store, clock=lambda: START)
    try:
        yield collector
    finally:
        collector.stop()


def _copy(file: Path, number: int) -> Path:
    """The store and its log as a thief takes them, or as a killed process leaves them."""
    folder = file.parent / str(number)
    folder.mkdir()
    for end in ("", "-wal", "-last"):
        if (path := Path(f"{file}{end}")).exists():
            shutil.copy(path, folder / f"s.db{end}")
    return folder / "s.db"


def steps_of(file: Path) -> list[tuple[int, int]]:
    """What each commit of a log tells: how many ids are new in it, and how many people."""
    log = Path(f"{file}-wal").read_bytes() if Path(f"{file}-wal").exists() else b""
    salt = log[16:24]
    starts = [
        place
        for place in range(_HEADER, len(log) - _FRAME + 1, _FRAME)
        if log[place + 8 : place + 16] == salt
    ]
    commits = [p + _FRAME for p in starts if struct.unpack(">I", log[p + 4 : p + 8])[0]]
    states = []
    for end in [0, *commits]:
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(file, Path(folder) / "s.db")
            (Path(folder) / "s.db-wal").write_bytes(log[:end])
            with closing(sqlite3.connect(Path(folder) / "s.db")) as connection:
                if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                    continue  # the log makes the tables
                spent = connection.execute("SELECT id FROM warner_spent").fetchall()
                counts = connection.execute("SELECT n FROM warner_counts").fetchall()
        states.append((set(spent), sum(n for (n,) in counts)))
    return [
        (len(new - old), more - less) for (old, less), (new, more) in pairwise(states) if new != old
    ]


def logs(rng: np.random.Generator) -> str:
    """People send one by one or at once: the log shows few of them, and is soon empty."""
    with tempfile.TemporaryDirectory() as folder:
        store = _WatchedStore(Path(folder) / "s.db")
        value = 0
        with _collecting(_STUDY, store) as collector:
            for _ in range(int(rng.integers(5, 30))):
                futures = []
                for people in rng.integers(1, 3, int(rng.integers(1, 5))).tolist():
                    body = sealed(_FORM, range(value, value + people))
                    futures.append(collector.submit(_FORM.parse(body)))
                    value += people
                for future in futures:
                    future.result(20)
            log, end = Path(f"{store.path}-wal"), time.monotonic() + 20
            while log.stat().st_size > _HEADER and time.monotonic() < end:
                time.sleep(0.02)
            size = log.stat().st_size
        most = max(len(steps_of(copy)) for copy in store.copies)
        require(most <= _COMMITS, f"the log shows {most} commits one after the other")
        require(size <= _HEADER, f"the log of {size:,} bytes is not emptied after a burst")
        # A process that was killed before it emptied the log, and the next start.
        copy = store.copies[int(rng.integers(len(store.copies)))]
        with _collecting(_STUDY, SQLiteStore(copy)):
            left = Path(f"{copy}-wal").stat().st_size
            require(left == 0, f"the log of {left:,} bytes is not emptied at the start")
        return f"{len(store.copies)} copies, at most {most} commits in a log"


@cache
def _decaying() -> tuple[Study, bytes, np.ndarray, np.ndarray]:
    """A study, its store after 700 people, and the counts of its questions."""
    study = Study.parse(_LONG)
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        with _collecting(study, SQLiteStore(Path(folder) / "s.db")) as collector:
            Start(collector, study, "study.toml").keep()
            for n in (300, 1, 399):
                answers = {"smokes": ["no"] * n, "town": rng.integers(0, 100, n).tolist()}
                reports = {name: m.randomize(answers[name]) for name, m in study.mechanisms.items()}
                body = collector.format.seal(reports)
                collector.submit(collector.format.parse(body)).result(20)
            tallies = collector.state().tallies
        content = (Path(folder) / "s.db").read_bytes()
    return study, content, tallies["smokes"].counts, tallies["town"].counts  # type: ignore[union-attr]


def decay(rng: np.random.Generator) -> str:
    """One to three bits of a store flip: it is refused by name, or holds what was written."""
    study, content, smokes, town = _decaying()
    flipped = bytearray(content)
    flips = int(rng.integers(1, 4))
    for bit in rng.integers(0, 8 * len(content), flips):
        flipped[bit // 8] ^= 1 << bit % 8
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "s.db"
        file.write_bytes(bytes(flipped))
        try:
            with _collecting(study, SQLiteStore(file)) as collector:
                with suppress(Refused, errors.ArgumentError):
                    Start(collector, study, "study.toml").check()
                state = collector.state()
        except Refused as error:
            return error.name
    shown = state.tallies["smokes"].counts, state.tallies["town"].counts  # type: ignore[union-attr]
    require(np.array_equal(shown[0], smokes) and np.array_equal(shown[1], town), "wrong counts")
    return "the same"


def clocks(rng: np.random.Generator) -> None:
    """A clock jumps by years while the collector runs, stops and starts: nothing is closed."""
    now = [START]
    values: list[int] = []
    bodies: list[bytes] = []
    study = study_of(TEXT.replace('keep_ids = "always"', ""))
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(module, "PACE", 0.0):

        def started() -> Collector:
            return Collector(study, SQLiteStore(Path(folder) / "s.db"), clock=lambda: now[0])

        collector = started()
        for _ in range(int(rng.integers(3, 12))):
            now[0] = START + timedelta(days=int(rng.choice([0, 0, 1, 4000, -4000])))
            if rng.random() < 0.4:
                collector.stop()
                collector = started()
            body = sealed(collector.format, [len(bodies)])
            try:
                collector.submit(collector.format.parse(body)).result(20)
            except Refused as error:
                require(now[0] != START, f"refused while open: {error.name}")
            else:
                require(now[0] == START, "counted while closed")
                values.append(len(bodies))
            bodies.append(body)
        now[0] = START
        collector.stop()
        collector = started()
        for value, body in enumerate(bodies):
            new = collector.submit(collector.format.parse(body)).result(20).new
            require(new == (value not in values), "counted twice, or lost")
        require(counted(collector.state().tallies) == expected(range(len(bodies))), "other counts")
        collector.stop()


def kills(rng: np.random.Generator) -> None:
    """Processes are killed under load: nothing acknowledged is lost, nothing counted twice."""
    with tempfile.TemporaryDirectory() as folder:
        killed(str(Path(folder) / "s.db"), int(rng.integers(2**31)), 6)
