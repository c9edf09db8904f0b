"""Linear algebra on one thread, for fits that make many small products.

OpenBLAS shares a product of a few hundred rows among all cores, and its threads wait for work by
spinning. Where other processes use the cores, a fit then takes about ten times the processor time.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

# Multiplications in one product A' W A, up to which one thread does it in well under a second.
SMALL = 10**9

_lock = Lock()
_users = 0
_limit: Any = None


@cache
def _controller(with_scipy: bool) -> Any:
    """The libraries of linear algebra that are loaded; SciPy brings one of its own, so they are looked for again then."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def one_thread() -> Iterator[None]:
    """Within it, linear algebra runs on one thread; the numbers of threads before come back after it.

    The number belongs to the whole process. Where several threads of Python are inside, the first to
    enter sets it and the last to leave restores it.
    """
    global _users, _limit
    with _lock:
        if _users == 0:
            _limit = _controller("scipy.linalg" in sys.modules).limit(limits=1, user_api="blas")
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _limit.restore_original_limits()
