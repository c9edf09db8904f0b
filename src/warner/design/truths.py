"""The true distributions of a simulation, from shares or from a column of values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from warner._core.checks import distribution
from warner._core.errors import ArgumentError, ArgumentTypeError, ValuesError
from warner.domains import Domain

_SUM = 1e-6  # of shares, which people write with a few digits


def truths_of(truth: Any, domain: Domain) -> dict[str, np.ndarray]:
    """The distributions that an argument means, by name.

    Floats that are as many as the values are shares. Everything else is a column of values, whose
    shares are the truth. Another number of floats that sum to 1 is refused, because it is rather a
    truth of another domain than a few answers.

    Shapes: truth (K,) -> (K,).

    >>> from warner import Categorical
    >>> truths_of(["b", "a", "b", "b"], Categorical(["a", "b"]))
    {'truth': array([0.25, 0.75])}
    >>> truths_of({"even": [0.5, 0.5]}, Categorical(["a", "b"]))
    {'even': array([0.5, 0.5])}
    """
    if not isinstance(truth, Mapping):
        return {"truth": _shares("truth", truth, domain)}
    if not truth:
        raise ArgumentError("truth", "must hold at least one distribution")
    return {str(name): _shares(f"truth {name!r}", each, domain) for name, each in truth.items()}


def _shares(name: str, given: Any, domain: Domain) -> np.ndarray:
    """The shares (K,) of one truth."""
    floats = _floats(given)
    if floats is not None and _are_shares(floats, given, domain):
        shares = distribution(name, floats, domain.size, _SUM)
        return np.asarray(shares / shares.sum())
    return np.bincount(domain.encode(given), minlength=domain.size) / len(given)


def _are_shares(floats: np.ndarray, given: Any, domain: Domain) -> bool:
    """Whether floats are meant as shares, right or wrong ones."""
    if floats.ndim != 1:
        return False
    near = (floats >= 0).all() and abs(floats.sum() - 1) < _SUM
    if near or floats.size in (0, domain.size) or not domain.dimension:
        return True
    try:
        domain.encode(given)
    except ValuesError:  # numbers of the domain, some of which are outside
        return False
    except ArgumentTypeError:  # floats are no values here, so the message is on shares
        return True
    return False


def _floats(given: Any) -> np.ndarray | None:
    """The numbers of an array or a list of floats; None for anything else."""
    if isinstance(given, np.ndarray):
        return given.astype(np.float64) if given.dtype.kind == "f" else None
    if isinstance(given, list | tuple) and all(isinstance(v, float) for v in given):
        return np.array(given, dtype=np.float64)
    return None
