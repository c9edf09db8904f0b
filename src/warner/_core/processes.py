"""Processes that share work, and a file of JSON lines that keeps what is finished."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from warner._core.atomic_files import write_whole
from warner._core.errors import ArgumentError, FileError
from warner._core.text import canonical

try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

_LONGEST_WAIT = 60.0  # seconds before a process that died again and again is started anew
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class Workers:
    """``count`` processes that live as long as the block; one process is this process.

    New processes start from nothing (``spawn``), so what they do must be importable.
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
        """The finished pieces of work, as they come."""
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
                "In a script, put the call under the line 'if __name__ == \"__main__\":', or pass "
                "processes=1"
            )
            raise ArgumentError("processes", rule, None, remedy) from None

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
            from concurrent.futures import ProcessPoolExecutor

            others = set(multiprocessing.active_children())
            with _one_thread_each():
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
        return self._pool


class Unfinished(Exception):
    """A call that another process did not finish; its text is why, as the end of a sentence."""


class BoundedProcess:
    """A process that answers the calls of one object, in limits of bytes and of seconds a call.

    It starts from nothing (``spawn``) at the first call, so ``make`` is of a module. Where it dies,
    as by the system, it is started again, and the call is made once more. It ends with this
    process, however that ends. All other work goes before it on a busy machine.
    """

    def __init__(
        self, make: Callable[..., object], arguments: tuple[Any, ...], memory: int, seconds: float
    ) -> None:
        self._made, self._memory, self._seconds = (make, arguments), memory, seconds
        self._one_at_a_time = threading.Lock()
        self._stopped = threading.Event()
        self._deaths = 0  # since the last call that was answered
        self._process: Any = None
        self._connection: Any = None

    @property
    def is_stopped(self) -> bool:
        """Whether :meth:`stop` was called."""
        return self._stopped.is_set()

    def call(self, method: str, *arguments: Any) -> Any:
        """What a method of the object returns, or raises."""
        with self._one_at_a_time:
            try:
                return self._answer(method, arguments)
            except _Died:
                return self._answer(method, arguments)

    def _answer(self, method: str, arguments: tuple[Any, ...]) -> Any:
        """What the process answers to one call."""
        try:
            self._start()
            self._connection.send((method, arguments))
            if not self._connection.poll(self._seconds):
                self._end(died=False)
                raise Unfinished(f"takes longer than {self._seconds:,.10g} seconds")
            is_result, result = self._connection.recv()
        except (EOFError, OSError):
            self._deaths += 1
            raise _Died(f"ended early ({self._end(died=True)})") from None
        self._deaths = 0
        if is_result:
            return result
        if isinstance(result, MemoryError):
            raise Unfinished(f"needs more than {_in_words(self._memory)} of memory")
        raise result

    def _start(self) -> None:
        """Have a process that runs; one that dies again and again is waited for before."""
        if self._process is not None:
            return
        if self._deaths > 1:
            self._stopped.wait(min(2.0 ** (self._deaths - 2), _LONGEST_WAIT))
        if self.is_stopped:
            raise Unfinished("was stopped")
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        arguments = (theirs, self._memory, *self._made)
        process = context.Process(target=_answer_calls, args=arguments, daemon=True)
        with theirs, _one_thread_each(), _deferred_interrupts():
            process.start()
        self._process = process
        if self.is_stopped:
            process.kill()
        self._connection.recv()  # it is ready, from when on a call takes its time

    def _end(self, died: bool) -> str:
        """End the process at once; how it ended, if it was before."""
        process, self._process = self._process, None
        if process is None:
            return "it could not start"
        if died:
            process.join(10)  # one that died needs a moment until it is seen
        code = process.exitcode
        process.kill()
        process.join()
        self._connection.close()
        return f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"

    def stop(self) -> None:
        """End the process, and a call that waits for it. There are no calls afterwards."""
        self._stopped.set()
        process = self._process
        if process is not None:
            process.kill()


class _Died(Unfinished):
    """The process ended before it answered."""


def _answer_calls(
    connection: Any, memory: int, make: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    """What a bounded process does: answer calls until the other end of the connection closes."""
    # What a terminal sends reaches this process too. The other one decides when it ends.
    for name in ("SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(10)
    if resource is not None:
        most = resource.getrlimit(resource.RLIMIT_DATA)[1]
        limit = memory if most == resource.RLIM_INFINITY else min(memory, most)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, most))
    made = make(*arguments)
    connection.send("ready")
    while True:
        answer: tuple[bool, object]
        try:
            method, given = connection.recv()
            answer = True, getattr(made, method)(*given)
        except EOFError:
            return
        except MemoryError:
            answer = False, MemoryError()
        except Exception as error:
            answer = False, error
        connection.send(answer)


def _end_with_parent() -> None:
    """End this process with the one that started it, also while it is at work."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(0)


def _in_words(size: int) -> str:
    """A number of bytes in words.

    >>> _in_words(2**30), _in_words(3 * 2**19)
    ('1 GiB', '1.5 MiB')
    """
    name, unit = ("GiB", 2**30) if size >= 2**30 else ("MiB", 2**20)
    return f"{size / unit:.4g} {name}"


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """New processes use one thread of linear algebra: threads of several wait for each other."""
    settings = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ.update(_ONE_THREAD)
    try:
        yield
    finally:
        for name, value in settings.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


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
    """A file of finished work: a header that says what it depends on, and a line of JSON each.

    A line that was being written when a run was stopped has no end; it is left out, and so is an
    empty file. A file with another header is of other work: it is replaced with ``replace``, and
    else a FileError. ``found`` are the pieces that were there before, in their order.
    """

    def __init__(self, path: Path, header: Mapping[str, Any], replace: bool = True) -> None:
        self.path = path
        self.found: list[dict[str, Any]] = []
        if path.is_dir():
            raise FileError(str(path), "is a folder", None, "Name a file in it")
        path.parent.mkdir(parents=True, exist_ok=True)
        first = canonical(dict(header))
        text = path.read_text() if path.exists() else ""
        lines = text.split("\n") if text else []
        if lines and lines[0] == first:
            self.found = [self._piece(i, line) for i, line in enumerate(lines[1:-1], 2)]
            if lines[-1]:
                write_whole(path, "\n".join([*lines[:-1], ""]).encode())
        elif lines and not replace:
            rule, remedy = (
                "already exists, and is not a file of finished runs",
                "Name a file that does not exist yet",
            )
            raise FileError(str(path), rule, None, remedy)
        else:
            write_whole(path, f"{first}\n".encode())

    def _piece(self, number: int, line: str) -> dict[str, Any]:
        """The piece of a line."""
        try:
            piece = json.loads(line)
        except ValueError:
            piece = None
        if not isinstance(piece, dict):
            rule = "cannot be read as the result of a finished run"
            remedy = "Remove this line from the file. The run is then done again"
            raise FileError(f"{self.path}, line {number}", rule, None, remedy)
        return piece

    def add(self, piece: Mapping[str, Any]) -> None:
        """Keep a finished piece of work."""
        with self.path.open("a") as file:
            file.write(json.dumps(piece) + "\n")


# -----------------------------------------------------------------------------------------------
# Linear algebra on one thread, for fits that make many small products.
#
# OpenBLAS divides a product of a few hundred rows among all cores, and its threads wait for work
# in a busy loop. Where other processes use the cores, a fit then takes about ten times the
# processor time.


# The number of multiplications in one product A' W A that one thread does in under a second. Up to
# there, threads gain less in these products than other small ones lose on busy cores.
SMALL = 10**10

# Up to here OpenBLAS makes products and factorisations on one thread itself (measured: all of 16
# rows and values; from 32 on, eigenvalues are computed on several).
TINY = 2**14

_lock = Lock()
_users = 0
_limits: dict[bool, Any] = {}  # of the libraries without SciPy's, and with it


@cache
def _controller(with_scipy: bool) -> Any:
    """The loaded libraries of linear algebra.

    SciPy loads another one, so the libraries are searched again after SciPy is imported.
    """
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None  # it is optional: the results are the same, slower beside other busy processes
    return ThreadpoolController()


@contextmanager
def one_thread() -> Iterator[None]:
    """Run linear algebra on one thread in the block: the first of several Python threads that enter
    such blocks sets the number of the process, and the last to leave restores it.
    """
    global _users
    with _lock:
        has_scipy = "scipy.linalg" in sys.modules
        controller = None if has_scipy in _limits else _controller(has_scipy)
        if controller is not None:
            _limits[has_scipy] = controller.limit(limits=1, user_api="blas")
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            while _users == 0 and _limits:
                _limits.popitem()[1].restore_original_limits()  # the last first
