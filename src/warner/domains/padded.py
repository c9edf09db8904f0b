"""One of several answers of a person, with padding for those who hold few."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np

from warner._core.checks import integer
from warner.domains.base import Domain
from warner.domains.tagged import Tagged


class Padded(Domain):
    """A value drawn at random from those that a person holds, and a placeholder for padding.

    A device draws one of max(pairs, number held) slots. The empty slots of a person who holds
    fewer than ``pairs`` values hold "@padding", index K. A share times ``pairs`` is the share of
    people who hold the value, if nobody holds more than ``pairs``.

    Args:
        domain: the domain of the values.
        pairs: the number of slots, 1 to 2^20.

    Raises:
        ArgumentError: ``pairs`` out of range.
        ArgumentTypeError: something else than a domain without tags.

    >>> from warner import Categorical
    >>> Padded(Categorical(["a", "b"]), 4).labels
    ['a', 'b', '@padding']
    """

    kind = "padded"
    pairs: int

    def __init__(self, domain: Domain, pairs: int) -> None:
        self._tagged = Tagged(domain, ["padding"])
        self.domain, self.size = domain, self._tagged.size
        self.pairs = integer("pairs", pairs, 1, 2**20)

    @property
    def placeholders(self) -> Mapping[str, int]:
        return self._tagged.placeholders

    @property
    def unpadded(self) -> Domain:
        return self.domain

    def encode(self, values: Any) -> np.ndarray:
        return self._tagged.encode(values)

    def decode(self, index: Any) -> list[Any]:
        return self._tagged.decode(index)

    def spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "domain": self.domain.spec(), "pairs": self.pairs}

    @classmethod
    def from_spec(
        cls, spec: Mapping[str, Any], build: Callable[[Mapping[str, Any]], Domain]
    ) -> Self:
        return cls(build(spec["domain"]), spec["pairs"])
