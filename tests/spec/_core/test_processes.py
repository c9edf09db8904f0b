"""Processes, threads and files that are whole."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info

import warner
from tests.refusals import refused
from tests.spec._core._subject import Subject
from warner._core import atomic_files, processes as _threads
from warner._core.atomic_files import (
    recorded,
    remove_unfinished,
    temporary_file,
    whole_file,
    write_whole,
)
from warner._core.errors import FileError
from warner._core.processes import BoundedProcess, JsonLines, Unfinished, Workers
from warner.channels import DirectChannel
from warner.design.proposal import propose
from warner.errors import ArgumentError
from warner.estimators import LogSpline
from warner.estimators.base import Fit, LikelihoodData
from warner.results import linear_limits, rough_posterior


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
    refused(FileError, "not a file of finished runs", JsonLines, path, {"of": "b"}, replace=False)
    assert JsonLines(path, {"of": "b"}).found == []


@contextmanager
def bounded(memory: int = 2**30, seconds: float = 60.0) -> Iterator[BoundedProcess]:
    process = BoundedProcess(Subject, (5,), memory, seconds)
    try:
        yield process
    finally:
        process.stop()


def test_a_bounded_process_answers_the_calls_of_one_object_until_it_is_stopped() -> None:
    with bounded() as process:
        (six, first), (eight, second) = process.call("add", 1), process.call("add", 2)
        assert (six, eight) == (6, 8) and first == second != os.getpid()
        refused(ArgumentError, "no", process.call, "refuse")
        # Stopping ends a call that waits.
        threading.Timer(0.2, process.stop).start()
        refused(Unfinished, "", process.call, "wait", 600.0)
        refused(Unfinished, "was stopped", process.call, "add", 1)


@pytest.mark.skipif(sys.platform != "linux", reason="the system has no such limit")
def test_a_call_beyond_its_memory_leaves_the_process_and_this_one() -> None:
    with bounded(memory=200 * 2**20) as process:
        _, before = process.call("add", 1)
        refused(Unfinished, r"^needs more than 200 MiB of memory$", process.call, "fill", 2**30)
        assert process.call("fill", 2**20) == 2**20
        assert process.call("add", 1) == (7, before)


def test_a_call_beyond_its_time_is_ended_and_the_next_is_answered() -> None:
    with bounded(seconds=0.1) as process:
        refused(Unfinished, r"^takes longer than 0.1 seconds$", process.call, "wait", 600.0)
        process._seconds = 60.0  # however slow the machine is
        assert process.call("wait", 0.0) is None


def test_a_call_whose_process_is_killed_is_made_once_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_threads, "_LONGEST_WAIT", 0.01)
    with bounded() as process:
        assert process.call("die", str(tmp_path), 1) == "alive"
        refused(Unfinished, r"^ended early \(signal 9\)$", process.call, "die", str(tmp_path), 3)
        assert process.call("die", str(tmp_path), 3) == "alive"


def test_no_process_is_left_when_this_one_is_killed(tmp_path: Path) -> None:
    """Standard output closes when nobody holds it any more, neither process."""
    script = tmp_path / "script.py"
    script.write_text(
        "import os, threading, signal\n"
        "from tests.spec._core._subject import Subject\n"
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


# Small fits run linear algebra on one thread, and leave the number of threads as it was.


class Library:
    """Stands for a library of linear algebra with four threads, and for the controller that limits
    it.
    """

    def __init__(self) -> None:
        self.threads = 4

    def limit(self, limits: int, user_api: str) -> Library:
        self.threads = limits
        return self

    def restore_original_limits(self) -> None:
        self.threads = 4


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    made = Library()
    monkeypatch.setattr(_threads, "_controller", lambda _: made)
    return made


class Watching(warner.estimators.Estimator):
    """Notes the number of threads during a fit, then fails."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.restrict_to_observed: list[int] = []

    def _fit(self, data: LikelihoodData) -> Any:
        self.restrict_to_observed.append(self.library.threads)
        raise RuntimeError("stop")


@pytest.mark.parametrize("size, threads", [(16, 4), (500, 1), (3000, 4)])
def test_small_fits_use_one_thread_and_large_fits_all(
    library: Library, size: int, threads: int
) -> None:
    """For the smallest fits nothing is set, as that can take longer than they do."""
    data = LikelihoodData(
        DirectChannel(size, 0.0, 1.0), np.full(size, 1 / size), 10**6, warner.Integers(1, size)
    )
    watching = Watching(library)
    refused(RuntimeError, "stop", watching.fit, data)
    assert watching.restrict_to_observed == [threads] and library.threads == 4


def test_the_outermost_user_restores_the_number_of_threads(library: Library) -> None:
    with _threads.one_thread():
        with _threads.one_thread():
            assert library.threads == 1
        assert library.threads == 1
    assert library.threads == 4


def test_a_library_that_is_loaded_within_the_block_is_limited_too(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SciPy brings a library of its own, and is imported by the first fit that needs it."""
    monkeypatch.delitem(sys.modules, "scipy.linalg", raising=False)
    late = Library()
    monkeypatch.setattr(_threads, "_controller", lambda has_scipy: late if has_scipy else library)
    with _threads.one_thread():
        monkeypatch.setitem(sys.modules, "scipy.linalg", sys)
        with _threads.one_thread():
            assert (library.threads, late.threads) == (1, 1)
    assert (library.threads, late.threads) == (4, 4)


def test_intervals_of_numbers_are_made_on_one_thread(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On several threads, on two busy cores, they took six to ten times as much of the processor."""
    threads: dict[str, list[int]] = {"posterior": [], "covariance": []}

    def watched(name: str, call: Any) -> Any:
        def watch(*arguments: Any) -> Any:
            threads[name].append(library.threads)
            return call(*arguments)

        return watch

    monkeypatch.setattr(
        rough_posterior, "_with_atoms", watched("posterior", rough_posterior._with_atoms)
    )
    monkeypatch.setattr(
        linear_limits, "covariance_of", watched("covariance", linear_limits.covariance_of)
    )
    device = warner.SquareWave(warner.Interval(0, 40, 40), 1.0)
    answers = np.random.default_rng(0).uniform(0, 20, 500)
    result = warner.estimate(device.tally(device.randomize(answers, np.random.default_rng(1))))
    result.mean().interval()
    result.range(0, 5).interval()
    assert all(each and set(each) == {1} for each in threads.values()) and library.threads == 4


def test_plans_and_proposals_are_simulated_on_one_thread(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On several threads, on a busy machine, they took ten times as much of the processor."""
    fits: list[int] = []
    fit = LogSpline._fit

    def watched(self: LogSpline, data: LikelihoodData) -> Fit:
        fits.append(library.threads)
        return fit(self, data)

    monkeypatch.setattr(LogSpline, "_fit", watched)
    domain = warner.Interval(0, 1, 8)
    warner.plan(domain, 1.0, 1000, runs=2)
    many = len(fits)
    propose(domain, 1000, 1.0).widths(500)
    assert 0 < many < len(fits) and set(fits) == {1}
    assert library.threads == 4


def test_the_numbers_of_real_libraries_come_back() -> None:
    """There may be none: what is not found is left alone."""
    before = [found["num_threads"] for found in threadpool_info() if found["user_api"] == "blas"]
    with _threads.one_thread():
        assert all(
            found["num_threads"] == 1 for found in threadpool_info() if found["user_api"] == "blas"
        )
    assert [
        found["num_threads"] for found in threadpool_info() if found["user_api"] == "blas"
    ] == before


# Files are whole or not there, whenever the writing is stopped.


def test_an_interruption_keeps_the_old_file_and_leaves_no_other(tmp_path: Path) -> None:
    write_whole(tmp_path / "old.json", b"old")
    for name in ("old.json", "new.json"):
        with recorded() as written, pytest.raises(KeyboardInterrupt):
            write_whole(tmp_path / "first.json", b"first")
            with whole_file(tmp_path / name) as temporary:
                Path(temporary).write_bytes(b"half")
                raise KeyboardInterrupt
        assert written.whole == [str(tmp_path / "first.json")]
        assert written.stopped == [str(tmp_path / name)]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["first.json", "old.json"]
    assert (tmp_path / "old.json").read_bytes() == b"old"


@pytest.mark.parametrize("function", ["open", "close", "chmod", "fsync", "replace", "link"])
def test_no_step_of_writing_leaves_a_temporary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    """Ctrl-C right after any of the calls. Rejects a name that is known only once the file exists."""
    usual = getattr(os, function)

    def interrupted(*args: object, **options: object) -> object:
        usual(*args, **options)
        raise KeyboardInterrupt

    gc.disable()  # what other tests have left could be closed meanwhile, by the same functions
    try:
        monkeypatch.setattr(atomic_files.os, function, interrupted)
        with recorded() as written, pytest.raises(KeyboardInterrupt):
            write_whole(tmp_path / "a.json", b"whole", replace=function != "link")
    finally:
        monkeypatch.undo()
        gc.enable()
    left = [path.name for path in tmp_path.iterdir()]
    assert left == (["a.json"] if function in ("replace", "link") else [])
    assert len(written.whole) == len(left)


def test_a_file_that_is_left_is_removed_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second Ctrl-C while the first one removes the file."""

    def again(path: Path, missing_ok: bool) -> None:
        raise KeyboardInterrupt

    patched = monkeypatch.context()
    with pytest.raises(KeyboardInterrupt), patched as patch, temporary_file(tmp_path):
        patch.setattr(Path, "unlink", again)
        raise KeyboardInterrupt
    assert len(list(tmp_path.iterdir())) == 1
    remove_unfinished()
    assert list(tmp_path.iterdir()) == []


def test_temporary_files_are_private(tmp_path: Path) -> None:
    with temporary_file(tmp_path, ".csv") as path:
        assert Path(path).stat().st_mode & 0o777 == 0o600 and path.endswith(".csv")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork")
def test_a_forked_process_leaves_the_files_of_its_parent(tmp_path: Path) -> None:
    """The end of a worker removed the file that its parent was still writing."""
    with whole_file(tmp_path / "new.json") as temporary:
        Path(temporary).write_bytes(b"whole")
        child = os.fork()
        if not child:
            remove_unfinished()
            os._exit(0)
        os.waitpid(child, 0)
    assert (tmp_path / "new.json").read_bytes() == b"whole"


@pytest.mark.parametrize("links", [True, False])
def test_of_two_who_write_a_file_that_is_made_once_the_first_one_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    """Rejects a program that looks whether the file is there, and replaces it later."""
    if not links:
        monkeypatch.setattr(os, "link", lambda a, b: (_ for _ in ()).throw(PermissionError()))
    path = tmp_path / "r.csv"
    with (
        pytest.raises(FileError, match=r"already exists.*choose another name"),
        whole_file(path, replace=False) as temporary,
    ):
        Path(temporary).write_bytes(b"second")
        write_whole(path, b"first", replace=False)
    refused(FileError, "already exists", write_whole, path, b"third", replace=False)
    assert [p.name for p in tmp_path.iterdir()] == ["r.csv"] and path.read_bytes() == b"first"
