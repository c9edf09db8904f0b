"""Linear algebra on one thread, for fits that make many small products.

OpenBLAS divides a product of a few hundred rows among all cores, and its threads wait for work in a
busy loop. Where other processes use the cores, a fit then takes about ten times the processor time.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

# The number of multiplications in one product A' W A that one thread does in under a second. Up to
# there, threads gain less in these products than other small ones lose on busy cores.
SMALL = 10**10

_lock = Lock()
_users = 0
_limit: Any = None


@cache
def _controller(with_scipy: bool) -> Any:
    """The loaded libraries of linear algebra.

    SciPy loads another one, so the libraries are searched again after SciPy is imported.
    """
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def one_thread() -> Iterator[None]:
    """Run linear algebra on one thread within the block, and restore the number afterwards.

    The number of threads belongs to the whole process. Where several Python threads are in such
    blocks, the first to enter sets the number and the last to leave restores it.
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
