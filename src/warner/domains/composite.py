"""Domains made of others: several attributes together, values and tags."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from warner._core.checks import (
    integer,
    kind,
    legible,
    show,
)
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    EmptyError,
    ValuesError,
    message,
)
from warner.domains.base import LARGEST_SIZE, Domain, own_types, sequence
from warner.domains.simple import Categorical


class Product(Domain):
    """Several attributes answered together; index in C order, the last attribute varying fastest.

    ``values`` are a list of dicts, a dict of columns, or a frame with named columns. ``decode`` gives dicts.

    >>> from warner import Integers
    >>> both = Product(sex=Categorical(["f", "m"]), age=Integers(0, 2))
    >>> both.encode([{"sex": "m", "age": 0}]).tolist(), both.decode([5])
    ([3], [{'sex': 'm', 'age': 2}])
    """

    def __init__(self, /, **domains: Domain) -> None:
        if not domains:
            raise ArgumentError(message("domains", "must name at least one attribute"))
        for name, domain in domains.items():
            legible("name of an attribute", name)
            if not isinstance(domain, Domain):
                raise ArgumentTypeError(message(name, "must be a Domain", kind(domain)))
        self.domains = dict(domains)
        self.shape = tuple(d.size for d in domains.values())
        # Any number: PerAttribute asks many attributes at once; what is made for every tuple checks for itself.
        self.size = integer("product of the sizes", math.prod(self.shape), 2)

    def encode(self, values: Any) -> np.ndarray:
        columns = self.columns(values)
        if self.size > np.iinfo(np.int64).max:
            raise ArgumentError(
                message(
                    "domain",
                    "has too many tuples to number them",
                    f"{self.size:.3g}",
                    "Use PerAttribute, or fewer attributes",
                )
            )
        index = [domain.encode(columns[name]) for name, domain in self.domains.items()]
        if len({i.size for i in index}) != 1:
            raise ArgumentError(
                message("values", "columns must have one length", str([i.size for i in index]))
            )
        return np.ravel_multi_index(index, self.shape).astype(np.int64)

    def columns(self, values: Any) -> Any:
        """``values`` as something that maps every attribute's name to its column."""
        if isinstance(values, list | tuple):
            if not values:
                raise EmptyError(
                    message("values", "must not be empty", None, "Pass at least one answer")
                )
            for i, row in enumerate(values):
                if not isinstance(row, Mapping) or row.keys() != self.domains.keys():
                    missing = (
                        [name for name in self.domains if name not in row]
                        if isinstance(row, Mapping)
                        else []
                    )
                    got = (
                        kind(row)
                        if not isinstance(row, Mapping)
                        else f"one without {missing[0]!r}"
                        if missing
                        else "one with more keys"
                    )
                    raise ValuesError(
                        i, f"must be a dict with the keys {', '.join(self.domains)}", got
                    )
            return {name: [row[name] for row in values] for name in self.domains}
        names = (
            values.keys()
            if isinstance(values, Mapping)
            else getattr(values, "column_names", getattr(values, "columns", None))
        )
        if names is None:
            raise ArgumentTypeError(
                message(
                    "values", "must be a list of dicts, a dict of columns or a frame", kind(values)
                )
            )
        missing = [name for name in self.domains if name not in list(names)]
        if missing:
            raise ArgumentError(
                message(
                    "values",
                    f"has no column {missing[0]!r}",
                    None,
                    f"Needed: {', '.join(self.domains)}",
                )
            )
        return values

    def decode(self, index: Any) -> list[dict[str, Any]]:
        parts = np.unravel_index(self._index(index), self.shape)
        columns = [
            domain.decode(part) for domain, part in zip(self.domains.values(), parts, strict=True)
        ]
        return [dict(zip(self.domains, row, strict=True)) for row in zip(*columns, strict=True)]

    def spec(self) -> dict[str, Any]:
        return {
            "kind": "product",
            "domains": [[name, domain.spec()] for name, domain in self.domains.items()],
        }


class Tagged(Domain):
    """A domain and one more value, "@" and its name, for every tag: what stands in for a value that is secret to one person [P2 sec 5].

    Indices 0..K-1 are the domain's, the tags follow in order.

    >>> from warner import Integers
    >>> Tagged(Integers(0, 2), ["home", "work"]).encode([1, "@work"]).tolist()
    [1, 4]
    """

    def __init__(self, domain: Domain, tags: Sequence[str]) -> None:
        if not isinstance(domain, Domain) or isinstance(domain, Tagged):
            raise ArgumentTypeError(
                message("domain", "must be a Domain without tags", kind(domain))
            )
        if isinstance(tags, str) or not hasattr(tags, "__iter__"):
            raise ArgumentTypeError(message("tags", "must be a list of names", kind(tags)))
        names = list(tags)
        if (
            not names
            or not all(isinstance(t, str) and t for t in names)
            or len(set(names)) < len(names)
        ):
            raise ArgumentError(
                message("tags", "must be distinct names, at least one", show(names))
            )
        for t in names:
            legible("tags", t)
        if any(
            t != t.strip() or t.startswith("@") or not t.isprintable() or set("=.") & set(t)
            for t in names
        ):
            raise ArgumentError(
                message(
                    "tags",
                    "must not begin with '@' or hold '=', '.', control characters or spaces around",
                    show(names),
                )
            )
        self.domain, self.tags = domain, tuple(names)
        self._bots = {f"@{t}": domain.size + k for k, t in enumerate(names)}
        if isinstance(domain, Categorical) and (taken := set(self._bots) & set(domain.labels)):
            raise ArgumentError(
                message("tags", "must not look like a value of the domain", show(sorted(taken)[0]))
            )
        self.size = integer("values and tags", domain.size + len(names), 2, LARGEST_SIZE)

    def encode(self, values: Any) -> np.ndarray:
        values = sequence(values)
        if isinstance(values, np.ndarray) and values.dtype.kind not in "OU":
            return self.domain.encode(values)
        values = list(own_types(values))
        bots = np.fromiter(
            (self._bots.get(v, -1) if isinstance(v, str) else -1 for v in values),
            dtype=np.int64,
            count=len(values),
        )
        plain = np.flatnonzero(bots < 0)
        if plain.size:
            problem = None
            try:
                bots[plain] = self.domain.encode([values[i] for i in plain])
            except ValuesError as error:
                problem = error.moved(
                    "values: position", int(plain[error.position]) - error.position
                )
            if problem is not None:
                raise problem
        return bots

    def decode(self, index: Any) -> list[Any]:
        index = self._index(index)
        out = np.empty(index.size, dtype=object)
        plain = index < self.domain.size
        for i, value in zip(np.flatnonzero(plain), self.domain.decode(index[plain]), strict=True):
            out[i] = value
        names = list(self._bots)
        for i in np.flatnonzero(~plain):
            out[i] = names[index[i] - self.domain.size]
        return list(out)

    def spec(self) -> dict[str, Any]:
        return {"kind": "tagged", "domain": self.domain.spec(), "tags": list(self.tags)}


class Padded(Domain):
    """Values of which a person holds several: one of ``pairs`` drawn from hers, which "@padding", index K, fills up to so many.

    Shares are of draws: a share times ``pairs`` is the share of people who hold the value, where nobody holds more than ``pairs``.

    >>> from warner import Categorical
    >>> Padded(Categorical(["a", "b"]), 4).labels
    ['a', 'b', '@padding']
    """

    def __init__(self, domain: Domain, pairs: int) -> None:
        self._tagged = Tagged(domain, ["padding"])
        self.domain, self.size = domain, self._tagged.size
        self.pairs = integer("pairs", pairs, 1, 2**20)

    def encode(self, values: Any) -> np.ndarray:
        return self._tagged.encode(values)

    def decode(self, index: Any) -> list[Any]:
        return self._tagged.decode(index)

    def spec(self) -> dict[str, Any]:
        return {"kind": "padded", "domain": self.domain.spec(), "pairs": self.pairs}
