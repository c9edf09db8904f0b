"""Domains: what a person can answer, and the bijection with indices 0..K-1 that mechanisms work on.

A domain refuses what is not in it. Its errors name the position and the kind of an answer, never the answer.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence, Set
from functools import cached_property
from typing import Any

import numpy as np

from warner._check import ArgumentError, ArgumentTypeError, EmptyError, ValuesError, as_float, choice, integer, kind, message, real, show

# Beyond this many values neither a table of labels nor an estimate per value is sensible on one machine.
LARGEST_SIZE = 2**26


def canonical(value: Any) -> str:
    """The one JSON text of a value: sorted keys, no spaces. What hashes are taken of."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


class Domain(ABC):
    """K possible answers. ``encode`` maps answers to indices, ``decode`` back.

    A domain with a geometry has ``points``, the coordinates of its values, shape (K, d); others have None.
    """

    size: int
    points: np.ndarray | None = None

    @abstractmethod
    def encode(self, values: Any) -> np.ndarray:
        """Indices (n,) int64 of ``values``; raises ValuesError, EmptyError or ArgumentTypeError."""

    @abstractmethod
    def decode(self, index: Any) -> list[Any]:
        """The values at ``index`` (n,), as Python objects that ``encode`` accepts."""

    def position(self, values: Any) -> np.ndarray:
        """Where ``values`` lie between the domain's two ends, (n,) in [0, 1]; for domains of numbers, refused like ``encode``."""
        raise ArgumentTypeError(message("domain", "must be Integers or Interval for a numeric mechanism", type(self).__name__))

    @abstractmethod
    def spec(self) -> dict[str, Any]:
        """The domain as JSON data, from which :func:`from_spec` rebuilds it."""

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON of ``spec``."""
        return hashlib.sha256(canonical(self.spec()).encode()).hexdigest()

    @property
    def labels(self) -> list[Any]:
        """All K values in index order."""
        return self.decode(np.arange(self.size))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Domain) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        inside = ", ".join(f"{k}={show(v)}" for k, v in self.spec().items() if k != "kind")
        return f"{type(self).__name__}({inside})"

    def _index(self, index: Any) -> np.ndarray:
        """``index`` checked to lie in 0..size-1."""
        try:
            array = np.asarray(index)
        except ValueError:
            array = np.asarray(None)
        if array.dtype.kind not in "iu" and array.size:
            raise ArgumentTypeError(message("index", "must be an array of integers", str(array.dtype)))
        if array.size and (array.min() < 0 or array.max() >= self.size):
            raise ArgumentError(message("index", f"must lie in 0..{self.size - 1}"))
        return array.astype(np.int64)

    def _refuse(self, bad: np.ndarray, what: str) -> None:
        """Raise for the positions at which ``bad`` (n,) is true."""
        where = np.flatnonzero(bad)
        if where.size:
            raise ValuesError(
                int(where[0]),
                f"not in the domain of {self.size} values",
                what,
                "Answers outside the domain are refused, not guessed: correct them or add a catch-all value",
            )


def _sequence(values: Any) -> Any:
    """``values`` as a list or a one-dimensional array, refused where it is a scalar or empty."""
    if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__len__"):
        if hasattr(values, "__iter__") and not isinstance(values, str | bytes | Mapping):
            values = list(values)
        else:
            raise ArgumentTypeError(message("values", "must be a list, an array or a column", kind(values), "Wrap a single answer in a list"))
    if np.ma.is_masked(values):
        raise ValuesError(int(np.argmax(np.ma.getmaskarray(values).ravel())), "must not be masked", "no answer")
    if not isinstance(values, list | tuple):
        values = np.asarray(values)
        if values.ndim == 0:
            raise ArgumentTypeError(message("values", "must be a list, an array or a column", "one value", "Wrap a single answer in a list"))
    if len(values) == 0:
        raise EmptyError(message("values", "must not be empty", None, "Pass at least one answer"))
    return values


def _wrong_type(values: Sequence[Any], allowed: tuple[type, ...], per: int = 1) -> None:
    """Refuse the first value whose type is not allowed (``per`` to an answer); booleans never count as integers."""
    strange = {
        t for t in set(map(type, values)) if not issubclass(t, allowed) or (issubclass(t, bool | np.bool_) and not {bool, np.bool_} & set(allowed))
    }
    if strange:
        where = next(i for i, v in enumerate(values) if type(v) in strange)
        wanted = " or ".join(sorted({{"integer": "int", "bool_": "bool", "str_": "str"}.get(t.__name__, t.__name__) for t in allowed}))
        raise ValuesError(where // per, f"must be {wanted}", kind(values[where]), "Convert the answers first")


class _Table(dict[Any, int]):
    def __missing__(self, key: Any) -> int:
        return -1


_LABEL_TYPES: dict[type, tuple[type, ...]] = {str: (str,), int: (int, np.integer), bool: (bool, np.bool_)}


class Categorical(Domain):
    """Values without order or distance: strings, integers or booleans.

    Args:
        values: the K >= 2 distinct labels; their order is the order of every estimate.

    Raises:
        ArgumentError: fewer than two labels, or a label twice.
        ArgumentTypeError: a label that is not a string, integer or boolean.

    >>> colour = Categorical(["red", "green", "blue"])
    >>> colour.encode(["blue", "red"]).tolist(), colour.decode([2])
    ([2, 0], ['blue'])
    """

    def __init__(self, values: Sequence[str | int | bool]) -> None:
        if isinstance(values, str | bytes | Mapping | Set) or not hasattr(values, "__iter__"):
            raise ArgumentTypeError(message("values", "must be a list of labels, in an order that stays", kind(values)))
        labels = [v.item() if isinstance(v, np.generic) else v for v in values]
        for i, label in enumerate(labels):
            if type(label) not in _LABEL_TYPES:
                raise ArgumentTypeError(message("values", f"label {i} must be a string, an integer or a boolean", kind(label)))
        self._table = _Table((label, i) for i, label in enumerate(labels))
        if len(self._table) < len(labels):
            raise ArgumentError(message("values", "labels must be distinct (1 and True count as the same)", f"{len(labels)} with repetitions"))
        integer("number of values", len(labels), 2, LARGEST_SIZE, "A domain of one value has nothing to learn")
        self.size = len(labels)
        self._labels = labels
        self._types = tuple({t for label in labels for t in _LABEL_TYPES[type(label)]})
        self._object = np.empty(self.size, dtype=object)
        self._object[:] = labels
        small = all(type(label) is int and abs(label) < 2**63 for label in labels)
        self._order = np.argsort(np.array(labels), kind="stable") if small else None

    def encode(self, values: Any) -> np.ndarray:
        values = _sequence(values)
        if isinstance(values, np.ndarray):
            if values.ndim != 1:
                raise ArgumentTypeError(message("values", "must be one-dimensional", f"shape {values.shape}"))
            if values.dtype.kind in "iu" and self._order is not None:
                return self._encode_integers(values)
            values = values.tolist()
        _wrong_type(values, self._types)
        index = np.fromiter(map(self._table.__getitem__, values), dtype=np.int64, count=len(values))
        if (index < 0).any():
            self._refuse(index < 0, kind(values[int(np.argmin(index >= 0))]))
        return index

    def _encode_integers(self, values: np.ndarray) -> np.ndarray:
        assert self._order is not None
        ordered = np.asarray(self._labels)[self._order]
        if ordered[-1] - ordered[0] == self.size - 1:  # consecutive: position is a subtraction
            outside = (values < ordered[0]) | (values > ordered[-1])
            self._refuse(outside, "an integer")
            place = (values.astype(np.int64) - ordered[0]) if ordered[0] else values.astype(np.int64)
        else:
            place = np.minimum(np.searchsorted(ordered, values), self.size - 1)
            self._refuse(ordered[place] != values, "an integer")
        return place if (self._order[1:] > self._order[:-1]).all() else self._order[place]

    def decode(self, index: Any) -> list[Any]:
        return self._object[self._index(index)].tolist()

    def spec(self) -> dict[str, Any]:
        return {"kind": "categorical", "values": self._labels}


class Integers(Domain):
    """The integers low..high, both included, at distance |x - x'|.

    >>> Integers(18, 99).encode([18, 20]).tolist()
    [0, 2]
    """

    def __init__(self, low: int, high: int) -> None:
        self.low = integer("low", low, -(2**62), 2**62)
        self.high = integer("high", high, self.low + 1, self.low + LARGEST_SIZE - 1)
        self.size = self.high - self.low + 1

    @cached_property
    def points(self) -> np.ndarray:  # type: ignore[override]
        return np.arange(self.low, self.high + 1, dtype=np.float64)[:, None]

    def encode(self, values: Any) -> np.ndarray:
        values = _sequence(values)
        if not isinstance(values, np.ndarray) or values.dtype == object:
            values = list(values)
            _wrong_type(values, (int, np.integer))
            if max(map(abs, values)) >= 2**63:  # an int that no array holds is outside any domain
                self._refuse(np.fromiter((abs(v) >= 2**63 for v in values), dtype=bool, count=len(values)), "an integer")
            values = np.asarray(values, dtype=np.int64)
        if values.ndim != 1 or values.dtype.kind not in "iu":
            raise ArgumentTypeError(message("values", "must be a one-dimensional array of integers", f"{values.dtype} of shape {values.shape}"))
        outside = (values < self.low) | (values > self.high)
        self._refuse(outside, "an integer")
        return values.astype(np.int64) - self.low

    def position(self, values: Any) -> np.ndarray:
        return self.encode(values) / (self.size - 1)

    def decode(self, index: Any) -> list[int]:
        return (self._index(index) + self.low).tolist()

    def spec(self) -> dict[str, Any]:
        return {"kind": "integers", "low": self.low, "high": self.high}


class Interval(Domain):
    """Real numbers in [low, high], in ``bins`` equal bins; ``decode`` gives bin centres.

    Args:
        low, high: the limits, both included.
        bins: in how many values the distribution is estimated. Numeric mechanisms do not see them.
        clip: take numbers beyond a limit as the limit, instead of refusing them.

    >>> Interval(0, 1, 4).encode([0.0, 0.3, 1.0]).tolist()
    [0, 1, 3]
    """

    def __init__(self, low: float, high: float, bins: int, clip: bool = False) -> None:
        self.low, self.high = real("low", low), real("high", high)
        if not self.low < self.high:
            raise ArgumentError(message("high", f"must be greater than low = {self.low!r}", show(high)))
        self.size = self.bins = integer("bins", bins, 2, LARGEST_SIZE)
        self.clip = choice("clip", clip, (False, True))
        real("high - low", self.high - self.low, "Choose narrower limits")

    @cached_property
    def points(self) -> np.ndarray:  # type: ignore[override]
        return (self.low + (np.arange(self.size) + 0.5) * (self.high - self.low) / self.size)[:, None]

    def encode(self, values: Any) -> np.ndarray:
        values = self._numbers(values)
        return np.minimum(((values - self.low) / (self.high - self.low) * self.size).astype(np.int64), self.size - 1)

    def position(self, values: Any) -> np.ndarray:
        return np.clip((self._numbers(values) - self.low) / (self.high - self.low), 0.0, 1.0)

    def _numbers(self, values: Any) -> np.ndarray:
        values = _sequence(values)
        if not isinstance(values, np.ndarray) or values.dtype == object:
            values = list(values)
            _wrong_type(values, (int, float, np.integer, np.floating))
            values = np.fromiter(map(as_float, values), dtype=np.float64, count=len(values))
        if values.ndim != 1 or values.dtype.kind not in "iuf":
            raise ArgumentTypeError(message("values", "must be a one-dimensional array of numbers", f"{values.dtype} of shape {values.shape}"))
        values = values.astype(np.float64)  # a narrower type could not hold the limits or the bins
        self._refuse(np.isnan(values), "NaN")
        if self.clip:
            self._refuse(np.isinf(values), "infinity")
            return np.clip(values, self.low, self.high)
        self._refuse((values < self.low) | (values > self.high), "a number outside [low, high]")
        return values

    def decode(self, index: Any) -> list[float]:
        return self.points[self._index(index), 0].tolist()

    def spec(self) -> dict[str, Any]:
        limits = {"kind": "interval", "low": self.low, "high": self.high, "bins": self.size}
        return {**limits, "clip": True} if self.clip else limits


class Grid(Domain):
    """Cells (row, column) of a rows x columns grid of squares with the given ``side``; index = row * columns + column.

    >>> Grid(2, 3).encode([(1, 2), (0, 1)]).tolist()
    [5, 1]
    """

    def __init__(self, rows: int, columns: int, side: float = 1.0) -> None:
        self.rows = integer("rows", rows, 1, LARGEST_SIZE)
        self.columns = integer("columns", columns, 1, LARGEST_SIZE)
        self.size = integer("rows * columns", self.rows * self.columns, 2, LARGEST_SIZE)
        self.side = real("side", side)
        if self.side <= 0:
            raise ArgumentError(message("side", "must be positive", show(side)))

    @cached_property
    def points(self) -> np.ndarray:  # type: ignore[override]
        return np.stack(np.divmod(np.arange(self.size), self.columns), axis=1) * self.side

    def encode(self, values: Any) -> np.ndarray:
        values = _sequence(values)
        if not isinstance(values, np.ndarray) or values.dtype == object:
            for i, cell in enumerate(values):
                if not isinstance(cell, list | tuple | np.ndarray) or len(cell) != 2:
                    raise ValuesError(i, "must be a (row, column) pair", kind(cell))
            _wrong_type([c for cell in values for c in cell], (int, np.integer), per=2)
            values = np.asarray([tuple(cell) for cell in values])
        if values.ndim != 2 or values.shape[1] != 2 or values.dtype.kind not in "iu":
            raise ArgumentTypeError(message("values", "must be integer (row, column) pairs, shape (n, 2)", f"{values.dtype} of shape {values.shape}"))
        values = values.astype(np.int64)
        outside = (values < 0).any(axis=1) | (values[:, 0] >= self.rows) | (values[:, 1] >= self.columns)
        self._refuse(outside, "a cell outside the grid")
        return values[:, 0] * self.columns + values[:, 1]

    def decode(self, index: Any) -> list[tuple[int, int]]:
        rows, columns = np.divmod(self._index(index), self.columns)
        return list(zip(rows.tolist(), columns.tolist(), strict=True))

    def spec(self) -> dict[str, Any]:
        return {"kind": "grid", "rows": self.rows, "columns": self.columns, "side": self.side}


class Product(Domain):
    """Several attributes answered together; index in C order, the last attribute varying fastest.

    ``values`` are a list of dicts, a dict of columns, or a frame with named columns. ``decode`` gives dicts.

    >>> both = Product(sex=Categorical(["f", "m"]), age=Integers(0, 2))
    >>> both.encode([{"sex": "m", "age": 0}]).tolist(), both.decode([5])
    ([3], [{'sex': 'm', 'age': 2}])
    """

    def __init__(self, **domains: Domain) -> None:
        if not domains:
            raise ArgumentError(message("domains", "must name at least one attribute"))
        for name, domain in domains.items():
            if not isinstance(domain, Domain):
                raise ArgumentTypeError(message(name, "must be a Domain", kind(domain)))
        self.domains = dict(domains)
        self.shape = tuple(d.size for d in domains.values())
        self.size = integer("product of the sizes", int(np.prod([float(d) for d in self.shape])), 2, LARGEST_SIZE)

    def encode(self, values: Any) -> np.ndarray:
        columns = self._columns(values)
        index = [domain.encode(columns[name]) for name, domain in self.domains.items()]
        if len({i.size for i in index}) != 1:
            raise ArgumentError(message("values", "columns must have one length", str([i.size for i in index])))
        return np.ravel_multi_index(index, self.shape).astype(np.int64)

    def _columns(self, values: Any) -> Any:
        """``values`` as something that maps every attribute's name to its column."""
        if isinstance(values, list | tuple):
            if not values:
                raise EmptyError(message("values", "must not be empty", None, "Pass at least one answer"))
            for i, row in enumerate(values):
                if not isinstance(row, Mapping) or row.keys() != self.domains.keys():
                    raise ValuesError(i, f"must be a dict with the keys {', '.join(self.domains)}", kind(row))
            return {name: [row[name] for row in values] for name in self.domains}
        names = values.keys() if isinstance(values, Mapping) else getattr(values, "column_names", getattr(values, "columns", None))
        if names is None:
            raise ArgumentTypeError(message("values", "must be a list of dicts, a dict of columns or a frame", kind(values)))
        missing = [name for name in self.domains if name not in list(names)]
        if missing:
            raise ArgumentError(message("values", f"has no column {missing[0]!r}", None, f"Needed: {', '.join(self.domains)}"))
        return values

    def decode(self, index: Any) -> list[dict[str, Any]]:
        parts = np.unravel_index(self._index(index), self.shape)
        columns = [domain.decode(part) for domain, part in zip(self.domains.values(), parts, strict=True)]
        return [dict(zip(self.domains, row, strict=True)) for row in zip(*columns, strict=True)]

    def spec(self) -> dict[str, Any]:
        return {"kind": "product", "domains": [[name, domain.spec()] for name, domain in self.domains.items()]}


class Tagged(Domain):
    """A domain and one more value, "@" and its name, for every tag: what stands in for a value that is secret to one person [P2 sec 5].

    Indices 0..K-1 are the domain's, the tags follow in order.

    >>> Tagged(Integers(0, 2), ["home", "work"]).encode([1, "@work"]).tolist()
    [1, 4]
    """

    def __init__(self, domain: Domain, tags: Sequence[str]) -> None:
        if not isinstance(domain, Domain) or isinstance(domain, Tagged):
            raise ArgumentTypeError(message("domain", "must be a Domain without tags", kind(domain)))
        if isinstance(tags, str) or not hasattr(tags, "__iter__"):
            raise ArgumentTypeError(message("tags", "must be a list of names", kind(tags)))
        names = list(tags)
        if not names or not all(isinstance(t, str) and t for t in names) or len(set(names)) < len(names):
            raise ArgumentError(message("tags", "must be distinct names, at least one", show(names)))
        if any(t != t.strip() or t.startswith("@") or not t.isprintable() or set("=.") & set(t) for t in names):
            raise ArgumentError(message("tags", "must not begin with '@' or hold '=', '.', control characters or spaces around", show(names)))
        self.domain, self.tags = domain, tuple(names)
        self._bots = {f"@{t}": domain.size + k for k, t in enumerate(names)}
        if isinstance(domain, Categorical) and (taken := set(self._bots) & set(domain.labels)):
            raise ArgumentError(message("tags", "must not look like a value of the domain", show(sorted(taken)[0])))
        self.size = integer("values and tags", domain.size + len(names), 2, LARGEST_SIZE)

    def encode(self, values: Any) -> np.ndarray:
        values = _sequence(values)
        if isinstance(values, np.ndarray) and values.dtype.kind not in "OU":
            return self.domain.encode(values)
        values = list(values)
        bots = np.fromiter((self._bots.get(v, -1) if isinstance(v, str) else -1 for v in values), dtype=np.int64, count=len(values))
        plain = np.flatnonzero(bots < 0)
        if plain.size:
            problem = None
            try:
                bots[plain] = self.domain.encode([values[i] for i in plain])
            except ValuesError as error:
                problem = error.moved("values: position", int(plain[error.position]) - error.position)
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


_KINDS: dict[str, Any] = {
    "tagged": lambda s: Tagged(from_spec(s["domain"]), s["tags"]),
    "categorical": lambda s: Categorical(s["values"]),
    "integers": lambda s: Integers(s["low"], s["high"]),
    "interval": lambda s: Interval(s["low"], s["high"], s["bins"], s.get("clip", False)),
    "grid": lambda s: Grid(s["rows"], s["columns"], s["side"]),
    "product": lambda s: Product(**{name: from_spec(d) for name, d in s["domains"]}),
}


def from_spec(spec: Mapping[str, Any]) -> Domain:
    """The domain that ``spec`` describes.

    >>> from_spec({"kind": "integers", "low": 0, "high": 3}).size
    4
    """
    build = _KINDS.get(spec.get("kind", ""))
    if build is None:
        raise ArgumentError(message("domain kind", f"must be one of {', '.join(_KINDS)}", show(spec.get("kind"))))
    try:
        return build(spec)
    except KeyError as error:
        raise ArgumentError(message("domain", f"of kind {spec['kind']!r} needs {error.args[0]!r}")) from None
