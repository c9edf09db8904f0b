"""Tables of several attributes, randomised as [P5] has it."""

from __future__ import annotations

from collections.abc import Sequence

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
