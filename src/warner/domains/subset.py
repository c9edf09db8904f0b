"""Some values of a domain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from warner._core.checks import integer, kind
from warner._core.errors import ArgumentError, ArgumentTypeError
from warner.domains.answers import Raster, TextForm
from warner.domains.base import LARGEST_SIZE, Domain


class Subset(Domain):
    """Some values of another domain, in its order; all other answers are refused.

    :func:`warner.estimate` returns an estimate on such a domain if some values are excluded. A
    value of an Interval is then the centre of its bin.

    Args:
        domain: the domain of all values, of a single question.
        index: (k,) the indices in ``domain`` of the k >= 2 distinct values to keep.

    Raises:
        ArgumentError: indices outside the domain, twice, or fewer than two.
        ArgumentTypeError: not a domain, or indices that are no integers.

    >>> from warner import Integers
    >>> even = Subset(Integers(0, 9), [0, 2, 4, 6, 8])
    >>> even.labels, even.encode([4, 0]).tolist()
    ([0, 2, 4, 6, 8], [2, 0])
    """

    kind = "subset"
    noun = "values that were kept"

    def __init__(self, domain: Domain, index: Any) -> None:
        if not isinstance(domain, Domain):
            raise ArgumentTypeError("domain", "must be a Domain", kind(domain))
        found = np.unique(domain._index(index))
        if len(found) != np.size(index) or np.ndim(index) != 1:
            raise ArgumentError("index", "must be a list of distinct indices")
        self.size = integer("number of values", len(found), 2, LARGEST_SIZE)
        self.domain, self._members = domain, found
        self.is_ordered, self.dimension = domain.is_ordered, domain.dimension

    @cached_property
    def points(self) -> np.ndarray | None:
        points = self.domain.points
        return None if points is None else points[self._members]

    @property
    def raster(self) -> Raster | None:
        """The grid of the domain, without the cells that were not kept."""
        cells = self.domain.raster
        if cells is None:
            return None
        places = self._members if cells.places is None else cells.places[self._members]
        return cells._replace(places=places)

    @property
    def text(self) -> TextForm | None:
        form = self.domain.text
        if form is None or form.labels is None:
            return form
        return replace(form, labels=[form.labels[i] for i in self._members])

    def encode(self, values: Any) -> np.ndarray:
        index = self.domain.encode(values)
        place = np.minimum(np.searchsorted(self._members, index), self.size - 1)
        self._refuse(self._members[place] != index, "a value that was not kept")
        return place

    def decode(self, index: Any) -> list[Any]:
        return self.domain.decode(self._members[self._index(index)])

    def spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "domain": self.domain.spec(), "index": self._members.tolist()}

    @classmethod
    def from_spec(
        cls, spec: Mapping[str, Any], build: Callable[[Mapping[str, Any]], Domain]
    ) -> Self:
        return cls(build(spec["domain"]), spec["index"])
