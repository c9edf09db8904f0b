"""Tables of several attributes, randomised as [P5] has it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np

from warner import Integers, Product
from warner.channels import DirectChannel, KroneckerChannel


def kept(sizes: Sequence[int], share: float = 0.5) -> KroneckerChannel:
    """Every attribute on its own: a value is kept with probability ``share``, else uniform over all
    (METHODS 9.2; eps = ln(1 + d) at 0.5).
    """
    return KroneckerChannel([DirectChannel(d, (1 - share) / d, share) for d in sizes])


def product(names: Sequence[str], sizes: Sequence[int]) -> Product:
    """A domain with these attributes."""
    return Product(**{name: Integers(1, size) for name, size in zip(names, sizes, strict=True)})


def coded(
    rows: Sequence[Mapping[str, str]], names: Sequence[str]
) -> dict[str, tuple[int, np.ndarray]]:
    """Columns of a data set as codes: {name: (number of values, (n,))}."""
    found = {name: np.unique([row[name] for row in rows], return_inverse=True) for name in names}
    return {name: (len(values), codes) for name, (values, codes) in found.items()}


def tables(
    columns: Mapping[str, tuple[int, np.ndarray]], ways: Sequence[int], largest: int
) -> Iterator[tuple[tuple[str, ...], list[int], np.ndarray]]:
    """Names, sizes and shares (K,) of all tables with so many ways and at most ``largest`` cells."""
    for way in ways:
        for names in combinations(columns, way):
            sizes = [columns[name][0] for name in names]
            if np.prod(sizes) <= largest:
                index = np.ravel_multi_index([columns[name][1] for name in names], sizes)
                yield names, sizes, np.bincount(index, minlength=int(np.prod(sizes))) / index.size


def family(size: int, v: float) -> np.ndarray:
    """[P5 sec 4.1]: both marginals l_a = c / a, a = 2 .. d + 1, and Cramer's V = v: (1 - v) l l' +
    v diag(l), (d^2,).
    """
    marginal = 1 / np.arange(2, size + 2)
    marginal /= marginal.sum()
    return ((1 - v) * np.outer(marginal, marginal) + v * np.diag(marginal)).ravel()
