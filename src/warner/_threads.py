"""Linear algebra on one thread, for fits that make many small products.

OpenBLAS shares a product of a few hundred rows among all cores, and its threads wait for work by
spinning. Where other processes use the cores, a fit then takes about ten times the processor time.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock

# Multiplications in one product A' W A, up to which one thread does it in well under a second.
SMALL = 10**9

# Modules that are linked to NumPy's and SciPy's own copies of OpenBLAS.
_LINKED = ("numpy._core._multiarray_umath", "scipy.linalg._fblas")
_NAMES = [(f"{start}_get_num_threads{end}", f"{start}_set_num_threads{end}") for start in ("scipy_openblas", "openblas") for end in ("64_", "")]
_Control = tuple[Callable[[], int], Callable[[int], object]]

_lock = Lock()
_users = 0
_before: list[tuple[_Control, int]] = []


@cache
def _control(path: str) -> _Control | None:
    """Two functions that get and set the number of threads, or None where they are not found."""
    try:
        library = ctypes.CDLL(path)
    except OSError:
        return None
    for get, put in _NAMES:
        if hasattr(library, get) and hasattr(library, put):
            return getattr(library, get), getattr(library, put)
    return None


def _controls() -> list[_Control]:
    """Those of the libraries that are loaded. Other libraries than OpenBLAS are left alone."""
    paths = [getattr(sys.modules.get(name), "__file__", None) for name in _LINKED]
    return [found for path in paths if path and (found := _control(path)) is not None]


@contextmanager
def one_thread() -> Iterator[None]:
    """Within it, linear algebra runs on one thread; the numbers of threads before come back after it.

    The number belongs to the whole process. Where several threads of Python are inside, the last
    to leave restores it.
    """
    global _users
    with _lock:
        if _users == 0:
            _before[:] = [(control, control[0]()) for control in _controls()]
            for (_, put), _count in _before:
                put(1)
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                for (_, put), count in _before:
                    put(count)
