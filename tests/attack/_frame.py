"""Attacks and their cases: one case is a function of one random generator, and can be repeated by
its number.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Case = Callable[[np.random.Generator], str | None]


class Finding(Exception):
    """A defect that a case found."""


@dataclass(frozen=True)
class Attack:
    """Cases of one kind.

    Attributes:
        case: runs one case; it raises on a defect, and may return a line to report.
        about: one line on what is attacked.
        share: the part of the time that the attack gets, relative to the others.
        seconds: the longest that one case may take.
        memory: bytes of address space that the process of the attack may have.
    """

    case: Case
    about: str
    share: float = 1.0
    seconds: float = 60.0
    memory: int = 8 * 2**30


def generator(name: str, seed: int, number: int) -> np.random.Generator:
    """The randomness of one case: of its name, the seed of the run, and its number."""
    return np.random.default_rng([seed, zlib.crc32(name.encode()), number])


def require(fine: bool, text: str) -> None:
    """Raise a finding unless something is as it must be."""
    if not fine:
        raise Finding(text)
