"""Mechanisms rebuilt from their headers."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from functools import lru_cache
from importlib import import_module
from typing import Any

from warner._core.checks import kind, show
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    MismatchError,
    WarnerError,
)
from warner._core.text import AS_WRITTEN, canonical
from warner.domains import from_spec
from warner.mechanisms.base import Mechanism
from warner.reports.tally import require_same

LARGEST_PARTS = 10_000  # reports of one person, in all


class _Registry(MutableMapping[str, type[Mechanism]]):
    """Mechanisms by the names of their classes. One of the package is imported when asked for."""

    def __init__(self, home: str, names: Iterable[str]) -> None:
        self._home = home
        self._classes: dict[str, type[Mechanism] | None] = dict.fromkeys(names)

    def __getitem__(self, name: str) -> type[Mechanism]:
        cls = self._classes[name]
        if cls is None:
            cls = self._classes[name] = getattr(import_module(self._home), name)
        return cls

    def __setitem__(self, name: str, cls: type[Mechanism]) -> None:
        self._classes[name] = cls

    def __delitem__(self, name: str) -> None:
        del self._classes[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._classes)

    def __len__(self) -> int:
        return len(self._classes)

    def added(self) -> dict[str, type[Mechanism]]:
        """The mechanisms from outside the package."""
        imported = {name: cls for name, cls in self._classes.items() if cls is not None}
        return {name: cls for name, cls in imported.items() if not is_of_package(cls)}


# The name of a mechanism in headers and study files is the name of its class.
MECHANISMS = _Registry(
    "warner.mechanisms",
    (
        "RandomizedResponse",
        "UnaryEncoding",
        "LocalHashing",
        "SubsetSelection",
        "HadamardResponse",
        "ProjectiveGeometryResponse",
        "MatrixMechanism",
        "Optimal",
        "UtilityOptimizedRR",
        "UtilityOptimizedRappor",
        "UtilityOptimizedSubset",
        "SquareWave",
        "Piecewise",
        "StochasticRounding",
        "Laplace",
        "Gaussian",
        "Geometric",
        "TruncatedGeometric",
        "PlanarGeometric",
        "PlanarLaplace",
        "Exponential",
        "OneOf",
        "PerAttribute",
        "HiddenQuestion",
        "WithFakes",
        "Repeated",
        "Permanent",
        "KeyValue",
        "WithNonresponse",
    ),
)

# Designs for paper. Headers name them by their classes; a study says design = "crosswise:1/4".
DESIGNS = _Registry(
    "warner.designs",
    ("Warner", "ForcedResponse", "Crosswise", "Triangular", "Unrelated", "Kuk", "Mangat"),
)


def add_mechanism(cls: type[Mechanism]) -> None:
    """Let headers and study files name a mechanism, by the name of its class."""
    if not isinstance(cls, type) or not issubclass(cls, Mechanism):
        rule = "must be a subclass of warner.mechanisms.Mechanism"
        raise ArgumentTypeError("mechanism", rule, kind(cls))
    name = cls.__name__
    if inspect.isabstract(cls):
        lacking = ", ".join(sorted(cls.__abstractmethods__))
        raise ArgumentTypeError(name, f"must define {lacking}")
    version: object = cls.version
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        rule, remedy = "must have a version: an integer, 1 or larger", "Write version = 1"
        raise ArgumentTypeError(name, rule, kind(version), remedy)
    registered = MECHANISMS.get(name)
    if registered is not None and not same_definition(registered, cls):
        rule = f"is already the name of another mechanism, in {registered.__module__}"
        raise ArgumentError(name, rule, None, "Rename the class")
    MECHANISMS[name] = cls
    forget_built()


def forget_built() -> None:
    """Forget the mechanisms that were built from headers, after the names have changed."""
    _from_header.cache_clear()


def is_of_package(definition: Any) -> bool:
    """Whether a class or a function is defined in this package."""
    return str(getattr(definition, "__module__", "")).partition(".")[0] == "warner"


def same_definition(first: Any, second: Any) -> bool:
    """Whether two classes or functions come from one place in one module, outside the package."""
    places = [
        (getattr(each, "__module__", None), getattr(each, "__qualname__", None))
        for each in (first, second)
    ]
    # One that is defined again, as when a cell of a notebook runs twice, is the same.
    return first is second or (
        places[0] == places[1] and None not in places[0] and not is_of_package(first)
    )


def from_header(header: Mapping[str, Any]) -> Mechanism:
    """The mechanism that the header of reports or of a tally describes, with exactly its law.

    Args:
        header: JSON data, as ``mechanism.header``.

    Returns:
        Mechanism: a new one with the same law.

    Raises:
        MismatchError: not a header, or a mechanism, version or law that this version of warner
            cannot make. Or more than 10,000 reports of one person.

    >>> from warner import Categorical, RandomizedResponse
    >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    >>> from_header(coin.header).header == coin.header
    True
    """
    try:
        fields = dict(header)
        if _parts(fields) <= LARGEST_PARTS:
            return _from_header(canonical(fields))
    except (TypeError, ValueError, AttributeError, RecursionError) as error:
        if isinstance(error, WarnerError):
            raise
        # Of what it holds nothing is said: a file may have put anything there.
        rule = "does not describe a mechanism"
        raise MismatchError("header", rule, kind(header), AS_WRITTEN) from None
    rule = f"must describe a mechanism with at most {LARGEST_PARTS} reports of one person"
    raise MismatchError("header", rule, None, AS_WRITTEN)


def _parts(header: Mapping[str, Any]) -> int:
    """How many reports of one person a header asks for, counted before anything is built."""
    parts = (
        header["parameters"].get("parts") if isinstance(header.get("parameters"), dict) else None
    )
    if not isinstance(parts, list):
        return 1
    total = 0
    for first, second in parts:  # [header, times] or [name, header]
        inner, times = (first, second) if isinstance(first, dict) else (second, 1)
        total += _parts(inner) * times
    return total


@lru_cache(maxsize=64)
def _from_header(text: str) -> Mechanism:
    """Build and keep a mechanism: its header comes again with every file and estimate."""
    header = json.loads(text)
    name = header.get("mechanism")
    cls = (MECHANISMS.get(name) or DESIGNS.get(name)) if isinstance(name, str) else None
    if cls is None or header.get("version") != cls.version:
        raise _unknown(name, header.get("version"), cls)
    remedy = AS_WRITTEN
    if not is_of_package(cls):
        remedy = f"parameters() of {name} must have all arguments that its __init__ takes"
    try:
        requested = float("inf") if header["requested"] == "inf" else header["requested"]
        mechanism = cls._rebuild(from_spec(header["domain"]), requested, header["parameters"])
    except (
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        OverflowError,
        RecursionError,
        MemoryError,
    ) as error:
        why = f": {str(error).rstrip('.')}" if isinstance(error, WarnerError) else ""
        rule = f"does not describe a possible {name}{why}"
        raise MismatchError("header", rule, None, remedy) from None
    who = ("the mechanism has", "the header has")
    require_same(mechanism.header, header, "mechanism and header", who, remedy)
    return mechanism


def _unknown(name: Any, version: Any, cls: type[Mechanism] | None) -> MismatchError:
    """The error of a header whose mechanism, or whose version of it, is not known."""
    if cls is not None:
        rule = (
            f"has version {show(version)} in this file, but the installed warner has version "
            f"{cls.version}"
        )
        remedy = "Use the version of warner that made the reports"
        return MismatchError(f"mechanism {show(name)}", rule, None, remedy)
    remedy = (
        "Load the file that defines the mechanism with warner --load FILE.py, or use the version "
        "of warner that made the reports"
    )
    return MismatchError(f"mechanism {show(name)}", "is unknown here", None, remedy)
