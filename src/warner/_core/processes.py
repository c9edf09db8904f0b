"""Processes that share work, and a file of JSON lines that keeps what is finished."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warner._core.atomic_files import write_whole
from warner._core.canonical_json import canonical
from warner._core.errors import ArgumentError, FileError, message

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class Workers:
    """Processes that live as long as the block; one process is this process.

    New processes start from nothing (``spawn``), so what they do must be importable.

    Args:
        count: the number of processes.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._pool: ProcessPoolExecutor | None = None
        self._processes: set[Any] = set()

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *problem: object) -> None:
        if self._pool is not None:
            if problem[0] is not None:
                # Nobody waits for the pieces of work that were begun.
                for process in self._processes:
                    process.terminate()
            self._pool.shutdown(cancel_futures=True)

    def work(
        self, function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]]
    ) -> Iterator[tuple[tuple[Any, ...], Any]]:
        """The finished pieces of work, as they come.

        Args:
            function: does a piece of work; of a module, not a lambda.
            tasks: the arguments of the function for each piece.

        Yields:
            The arguments, and what the function returned for them.

        Raises:
            ArgumentError: a process ended, as in a script that each process runs again.
        """
        if self._count == 1 or len(tasks) <= 1:
            for task in tasks:
                yield task, function(*task)
            return
        from concurrent.futures.process import BrokenProcessPool

        try:
            yield from self._in_processes(function, tasks)
        except BrokenProcessPool:
            rule = "ended before their work was done"
            remedy = (
                'In a script, put the call under if __name__ == "__main__":, or use one process'
            )
            raise ArgumentError(message("processes", rule, None, remedy)) from None

    def _in_processes(
        self, function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]]
    ) -> Iterator[tuple[tuple[Any, ...], Any]]:
        """The finished pieces of work of several processes."""
        from concurrent.futures import FIRST_COMPLETED, wait

        pool = self._started()
        pending: dict[Future[Any], tuple[Any, ...]] = {
            pool.submit(function, *task): task for task in tasks
        }
        while pending:
            finished, _ = wait(pending, return_when=FIRST_COMPLETED)
            for future in finished:
                yield pending.pop(future), future.result()

    def _started(self) -> ProcessPoolExecutor:
        if self._pool is None:
            # Imported here, because most users of the package start no process.
            import multiprocessing
            from concurrent.futures import ProcessPoolExecutor

            # Threads of linear algebra in each of several processes wait for each other. A new
            # process reads these settings when it starts.
            settings = {name: os.environ.get(name) for name in _ONE_THREAD}
            os.environ.update(_ONE_THREAD)
            others = set(multiprocessing.active_children())
            try:
                with _deferred_interrupts():
                    self._pool = ProcessPoolExecutor(
                        self._count,
                        mp_context=multiprocessing.get_context("spawn"),
                        initializer=_end_on_interrupt,
                    )
                    ready = [self._pool.submit(os.getpid) for _ in range(self._count)]
                    self._processes = set(multiprocessing.active_children()) - others
                for future in ready:
                    future.result()
            finally:
                for name, value in settings.items():
                    if value is None:
                        del os.environ[name]
                    else:
                        os.environ[name] = value
        return self._pool


@contextmanager
def _deferred_interrupts() -> Iterator[None]:
    """Hold Ctrl-C back in this thread, and in the processes that it starts until they allow it.

    While Python starts in a new process, Ctrl-C would print an error report.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_on_interrupt() -> None:
    """Let Ctrl-C end this process without a word. The process that started it says so."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


class JsonLines:
    """A file of finished work: a header, then one line of JSON for each piece.

    A line that was being written when a run was stopped has no end; it is left out. So is an empty
    file, which a run left that was stopped at once.

    Args:
        path: the file; its folder is made.
        header: what the work depends on.
        replace: whether a file with another header is replaced, because it is of other work.
            Otherwise it is refused.

    Raises:
        FileError: a file with another header that is not replaced, a folder, or a line that is no
            JSON.

    Attributes:
        path: the file.
        found: the pieces that were there before, in their order.
    """

    def __init__(self, path: Path, header: Mapping[str, Any], replace: bool = True) -> None:
        self.path = path
        self.found: list[dict[str, Any]] = []
        if path.is_dir():
            raise FileError(message(str(path), "is a folder", None, "Name a file in it"))
        path.parent.mkdir(parents=True, exist_ok=True)
        first = canonical(dict(header))
        text = path.read_text() if path.exists() else ""
        lines = text.split("\n") if text else []
        if lines and lines[0] == first:
            self.found = [self._piece(i, line) for i, line in enumerate(lines[1:-1], 2)]
            if lines[-1]:
                write_whole(path, "\n".join([*lines[:-1], ""]).encode())
        elif lines and not replace:
            rule, remedy = "is a file of another kind", "Name a file that does not exist yet"
            raise FileError(message(str(path), rule, None, remedy))
        else:
            write_whole(path, f"{first}\n".encode())

    def _piece(self, number: int, line: str) -> dict[str, Any]:
        """The piece of a line."""
        try:
            piece = json.loads(line)
        except ValueError:
            piece = None
        if not isinstance(piece, dict):
            rule, remedy = "is no finished piece of work", "Remove the line: its work is done again"
            raise FileError(message(f"{self.path}, line {number}", rule, None, remedy))
        return piece

    def add(self, piece: Mapping[str, Any]) -> None:
        """Keep a finished piece of work."""
        with self.path.open("a") as file:
            file.write(json.dumps(piece) + "\n")
