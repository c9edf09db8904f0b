"""A domain for one of several answers of a person, with padding for people who hold few."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np

from warner._core.checks import integer
from warner.domains.base import Domain
from warner.domains.tagged import Tagged


class Padded(Domain):
    """The values that a person may hold several of, and a placeholder for padding.

    A device draws one slot at random. A person with k values has max(pairs, k) slots. The slots
    without a value hold the placeholder "@padding", whose index is K. If nobody holds more than
    ``pairs`` values, the share of a value times ``pairs`` is the share of people who hold it.

    Args:
        domain: the domain of the values.
        pairs: the number of slots, 1 to 2^20.

    Raises:
        ArgumentError: ``pairs`` out of range.
        ArgumentTypeError: not a domain, or a domain with tags.

    >>> from warner import Categorical
    >>> Padded(Categorical(["a", "b"]), 4).labels
    ['a', 'b', '@padding']
    """

    kind = "padded"
    pairs: int

    def __init__(self, domain: Domain, pairs: int) -> None:
        self._tagged = Tagged(domain, ["padding"])
        self.domain, self.size = domain, self._tagged.size
        self.missing = domain.missing
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
