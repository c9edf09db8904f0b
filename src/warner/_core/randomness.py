"""Random bytes that nobody can repeat: the operating system's, and in bulk those of OpenSSL.

OpenSSL's generator (AES-256 in counter mode, NIST SP 800-90A) is seeded by the operating system,
seeded again while it is used and in a forked process, and cannot be seeded by hand. It is ten times
as fast. Fewer than :data:`BULK` bytes at a time come from the operating system itself, as for the
answers of one person to questions with few values: only the operating system notices that a virtual
machine was copied while it ran.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache

BULK = 4096  # bytes from which a draw is of many people, or of a simulation of them


@cache
def _bulk_bytes() -> Callable[[int], bytes]:
    """Where many bytes come from: OpenSSL, or the operating system where Python lacks it."""
    try:
        import ssl
    except ImportError:
        return os.urandom
    return ssl.RAND_bytes


def system_bytes(n: int) -> bytes:
    """n random bytes.

    >>> len(system_bytes(3)), len(system_bytes(BULK))
    (3, 4096)
    """
    return os.urandom(n) if n < BULK else _bulk_bytes()(n)
