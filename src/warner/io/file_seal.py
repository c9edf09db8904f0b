"""The seal of a report file: a SHA-256 of the file that is written in the file itself.

The digest is computed from the file with 64 zeros in the place of the digest.
"""

from __future__ import annotations

import hashlib
import mmap

from warner._core.progress import steps

_MARK, UNSEALED = b'"sha256":"', "0" * 64
_PIECE = 2**24  # bytes


def seal(path: str) -> None:
    """Replace the 64 zeros in the place of the digest by the digest."""
    digest, place = digest_of(path)
    with open(path, "r+b") as file:
        file.seek(place)
        file.write(digest.encode())


def digest_of(path: str) -> tuple[str, int]:
    """The digest that a file must state, in hexadecimal, and its position in the file."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        place = data.rfind(_MARK) + len(_MARK)
        if place < len(_MARK):
            return "", 0
        digest = hashlib.sha256()
        last = place + len(UNSEALED)
        # In pieces, between which Ctrl-C is heard.
        starts = range(0, len(data), _PIECE)
        for start in steps(starts, "computing the digest"):
            stop = start + _PIECE
            digest.update(data[start : min(stop, place)] if start < place else b"")
            digest.update(UNSEALED.encode() if start <= place < stop else b"")
            digest.update(data[max(start, last) : stop])
        return digest.hexdigest(), place
