"""Several attributes that are answered together."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from warner._core.checks import integer, kind, legible, same_length
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    EmptyError,
    ValuesError,
)
from warner._core.text import magnitude
from warner.domains.base import Domain, require_domain


def require_product(product: Any, least: int = 1) -> Product:
    """Return a Product of so many attributes; anything else is refused."""
    if not isinstance(product, Product) or len(product.attributes) < least:
        rule = f"must be a Product of {'two or more' if least > 1 else 'named'} questions"
        remedy = "For one question, use its mechanism alone"
        got = "one question" if isinstance(product, Product) else kind(product)
        raise ArgumentTypeError("product", rule, got, remedy)
    return product


class Product(Domain):
    """Several attributes answered together; a value is a tuple of one value per attribute.

    The index of a tuple is in C order: the last attribute varies fastest. Answers are a list of
    dicts, a dict of columns, or a frame with named columns. ``decode`` gives dicts. The number of
    tuples is not limited, because PerAttribute takes many attributes without listing the tuples.

    Args:
        attributes: {name: domain}, for names that are no keywords.
        domains: the domain of each attribute, as a keyword argument with the attribute's name.

    Raises:
        ArgumentError: no attributes, or a name with characters that no screen shows.
        ArgumentTypeError: an argument that is not a domain.

    >>> from warner import Categorical, Integers
    >>> both = Product(sex=Categorical(["f", "m"]), age=Integers(0, 2))
    >>> both.encode([{"sex": "m", "age": 0}]).tolist(), both.decode([5])
    ([3], [{'sex': 'm', 'age': 2}])
    >>> Product({"age group": Integers(0, 2)})
    Product(domains=[['age group', {'kind': 'integers', 'low': 0, 'high': 2}]])
    """

    kind = "product"
    usual_mechanism = "PerAttribute"

    def __init__(
        self, attributes: Mapping[str, Domain] | None = None, /, **domains: Domain
    ) -> None:
        if attributes is not None:
            if not isinstance(attributes, Mapping):
                remedy = "Write Product({name: domain}) or Product(name=domain)"
                raise ArgumentTypeError("domains", "must have names", kind(attributes), remedy)
            domains = {**attributes, **domains}
        if not domains:
            remedy = "Write Product({name: domain}) or Product(name=domain)"
            raise ArgumentError("domains", "must name at least one question", None, remedy)
        for name, domain in domains.items():
            legible("name of a question", name)
            require_domain(domain, name)
        self._attributes = dict(domains)
        self._shape = tuple(domain.size for domain in domains.values())
        self.size = integer("product of the sizes", math.prod(self._shape), 2)

    @property
    def attributes(self) -> Mapping[str, Domain]:
        return self._attributes

    @property
    def shape(self) -> tuple[int, ...]:
        return self._shape

    def select(self, names: Sequence[str]) -> Domain:
        """Return the Product of the named attributes, in this order; for one name, its domain.

        >>> from warner import Categorical, Integers
        >>> both = Product(sex=Categorical(["f", "m"]), age=Integers(0, 2))
        >>> both.select(["age"])
        Integers(low=0, high=2)
        """
        if len(names) == 1:
            return self.attributes[names[0]]
        return Product(**{name: self.attributes[name] for name in names})

    def encode(self, values: Any) -> np.ndarray:
        columns = self.columns(values)
        if self.size > np.iinfo(np.int64).max:
            rule, remedy = "has too many combinations of values", "Use the mechanism PerAttribute"
            raise ArgumentError(
                "domain", rule, magnitude(self.size), f"{remedy}, or fewer questions"
            )
        index = {name: domain.encode(columns[name]) for name, domain in self.attributes.items()}
        same_length("values", index)
        return np.ravel_multi_index(list(index.values()), self.shape).astype(np.int64)

    def columns(self, values: Any) -> Any:
        """Return answers as an object that maps the name of each attribute to its column.

        Args:
            values: a list of dicts, a dict of columns, or a frame with named columns.

        Raises:
            EmptyError: an empty list.
            ValuesError: a row of a list that is no dict of all attributes.
            ArgumentError: a missing column.
            ArgumentTypeError: ``values`` is none of these three.
        """
        if isinstance(values, list | tuple):
            return self._columns_of_rows(values)
        names = (
            values.keys()
            if isinstance(values, Mapping)
            else getattr(values, "column_names", getattr(values, "columns", None))
        )
        if names is None:
            rule = "must be a list of dicts, a dict of columns or a frame"
            remedy = "For example pandas.DataFrame(values, columns=[...])"
            raise ArgumentTypeError("values", rule, kind(values), remedy)
        missing = [name for name in self.attributes if name not in list(names)]
        if missing:
            needed = f"The columns that are needed are {', '.join(self.attributes)}"
            lacking = self.attributes[missing[0]]
            if spelled := getattr(lacking, "spelled", ""):  # of items that people tick
                needed += f". {spelled}"
            raise ArgumentError("values", f"have no column {missing[0]!r}", None, needed)
        return values

    def _columns_of_rows(self, rows: Sequence[Any]) -> dict[str, list[Any]]:
        """Rows, one dict for each person, as columns."""
        if not rows:
            remedy = "Pass at least one answer"
            raise EmptyError("values", "must not be empty", None, remedy)
        for i, row in enumerate(rows):
            if not isinstance(row, Mapping) or row.keys() != self.attributes.keys():
                rule = f"must be a dict with the keys {', '.join(self.attributes)}"
                raise ValuesError(i, rule, self._difference(row))
        return {name: [row[name] for row in rows] for name in self.attributes}

    def _difference(self, row: Any) -> str:
        """How a row differs from a dict of all attributes, in words without its values."""
        if not isinstance(row, Mapping):
            return kind(row)
        missing = [name for name in self.attributes if name not in row]
        return f"a dict without the key {missing[0]!r}" if missing else "a dict with other keys too"

    def decode(self, index: Any) -> list[dict[str, Any]]:
        parts = np.unravel_index(self._index(index), self.shape)
        domains = self.attributes.values()
        columns = [domain.decode(column) for domain, column in zip(domains, parts, strict=True)]
        rows = zip(*columns, strict=True)
        return [dict(zip(self.attributes, row, strict=True)) for row in rows]

    def spec(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "domains": [[name, domain.spec()] for name, domain in self.attributes.items()],
        }

    @classmethod
    def from_spec(
        cls, spec: Mapping[str, Any], build: Callable[[Mapping[str, Any]], Domain]
    ) -> Self:
        return cls(**{name: build(domain) for name, domain in spec["domains"]})
