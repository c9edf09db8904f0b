"""The base class of domains: the operations and capabilities that other modules rely on."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from warner._core.canonical_json import canonical
from warner._core.checks import show
from warner._core.errors import ArgumentError, ArgumentTypeError, ValuesError
from warner._core.pickles import without_cached
from warner.domains.declarations import Raster, StudyEntry, TextForm
from warner.domains.missing import REFUSED, Missing

# A table of labels, or an estimate for each value, is not sensible for more values than this.
LARGEST_SIZE = 2**26


class Domain(ABC):
    """The K possible answers to one question, and their indices 0..K-1.

    A subclass implements ``encode``, ``decode``, ``spec`` and ``from_spec``, and overrides the
    capabilities that it has. Other modules test for a capability and never for a class.

    Attributes:
        size: K, the number of values.
        kind: the name of the class in ``spec``, and so in the headers of reports and tallies.
        study: how a study file writes the domain; None where it cannot.
        noun: what answers are called in messages, in the plural.
        remedy: an action that helps against answers outside the domain, for messages.
        is_ordered: whether the index is an order in which neighbouring values are alike.
        is_numeric: whether values are equally spaced numbers, or bins of an interval. Then
            ``position`` works, and mechanisms of numbers take the domain.
        is_binned: whether a value stands for a bin of numbers. Numeric mechanisms randomise the
            numbers themselves, not the bins.
        bin_width: the width h of a bin, in the unit of the values; 0 where values are points.
        dimension: the number d of coordinates of a value; 0 for labels, which have none.
        raster: rows, columns, side and places where the values are cells of a grid; else None.
        pairs: for people who hold several values, the number of slots that an answer is drawn from;
            None where a person holds one value.
        tags: the names of tags, each with a placeholder among the values.
        missing: which answers are missing, and what becomes of them; see
            :func:`warner.domains.with_missing`.
        silence: the index of silence, where it is a value of its own; else None.
    """

    size: int
    kind: ClassVar[str]
    study: ClassVar[StudyEntry | None] = None
    noun: ClassVar[str] = "labels of the domain"
    remedy: str = "correct them or add a catch-all value"

    is_ordered: bool = False
    is_numeric: bool = False
    is_binned: bool = False
    dimension: int = 0
    pairs: int | None = None
    tags: tuple[str, ...] = ()
    missing: Missing = REFUSED

    @abstractmethod
    def encode(self, values: Any) -> np.ndarray:
        """Return the indices of answers.

        Args:
            values: a list or an array of n answers.

        Returns:
            (n,) int64, each in 0..K-1.

        Raises:
            ValuesError: an answer outside the domain. The message states its position and its
                type, such as "a string", but not the answer.
            EmptyError: no answers.
            ArgumentTypeError: not a list of answers.
        """

    @abstractmethod
    def decode(self, index: Any) -> list[Any]:
        """Return the values at ``index`` (n,) as Python objects that ``encode`` accepts."""

    @abstractmethod
    def spec(self) -> dict[str, Any]:
        """Return the domain as JSON data; :func:`warner.domains.from_spec` rebuilds it."""

    @classmethod
    @abstractmethod
    def from_spec(
        cls, spec: Mapping[str, Any], build: Callable[[Mapping[str, Any]], Domain]
    ) -> Self:
        """Return the domain that ``spec`` describes.

        Args:
            spec: JSON data from the method ``spec`` of this class.
            build: makes a domain of any kind, for domains made of others.
        """

    @classmethod
    def from_study(cls, entry: Any) -> Self:
        """Return the domain for the value of its key in a study file.

        The constructor receives the entries of a table as arguments by name, and those of a tuple
        as arguments by position. Any other value becomes its only argument.

        Args:
            entry: the value of the key that states the domain.
        """
        if isinstance(entry, dict):
            return cls(**entry)
        return cls(*entry) if isinstance(entry, tuple) else cls(entry)  # type: ignore[call-arg]

    def position(self, values: Any) -> np.ndarray:
        """Return (v - low) / (high - low) for numbers v between the two ends of the domain.

        Args:
            values: a list or an array of n numbers.

        Returns:
            (n,) in [0, 1].

        Raises:
            ArgumentTypeError: the domain is not numeric.
            ValuesError: a number outside the domain.
        """
        rule = "must be Integers or Interval for a numeric mechanism"
        raise ArgumentTypeError("domain", rule, type(self).__name__)

    @property
    def points(self) -> np.ndarray | None:
        """The coordinates (K, d) of the values, the centres of bins; None for labels."""
        return None

    @property
    def ends(self) -> list[tuple[float, float]]:
        """The least and the largest number of the domain on each of its d axes; [] for labels."""
        points = self.points
        if points is None:
            return []
        return [(float(axis.min()), float(axis.max())) for axis in points.T]

    @property
    def bin_width(self) -> float:
        return 0.0

    @property
    def edges(self) -> np.ndarray | None:
        """The edges (K + 1,) of the bins, increasing; None where values are points or labels."""
        return None

    @property
    def raster(self) -> Raster | None:
        return None

    @property
    def text(self) -> TextForm | None:
        """How answers are written in a column of text; None where no text can hold them."""
        return None

    @property
    def attributes(self) -> Mapping[str, Domain]:
        """The domain of each attribute, as {name: domain}; {} for a single question."""
        return {}

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of values of each attribute; (K,) for a single question."""
        return (self.size,)

    def select(self, names: Sequence[str]) -> Domain:
        """Return the Product of the named attributes, in this order; for one name, its domain.

        Raises:
            ArgumentTypeError: the domain has no attributes.
        """
        rule = "must be a Product, of several attributes"
        raise ArgumentTypeError("domain", rule, type(self).__name__)

    @property
    def placeholders(self) -> Mapping[str, int]:
        """The placeholders of the domain, as {label: index}; {} where it has none.

        A device sends a placeholder in place of an answer, for example of a secret answer.
        """
        return {}

    @property
    def untagged(self) -> Domain:
        """The domain of the answers alone.

        A device of a personalised mechanism sends a placeholder, such as ``"@home"``, in place of
        an answer that is secret for its owner. The placeholders are values of the mechanism's
        domain, after the answers. This domain leaves them out. Without placeholders it is the
        domain itself.
        """
        return self

    @property
    def answered(self) -> Domain:
        """The domain of the people who answered; the domain itself where silence is no value."""
        return self

    @property
    def silence(self) -> int | None:
        return None

    @property
    def unpadded(self) -> Domain:
        """The domain of the answers themselves, without the placeholder of padding."""
        return self

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON of ``spec``, in hexadecimal digits."""
        return hashlib.sha256(canonical(self.spec()).encode()).hexdigest()

    @property
    def labels(self) -> list[Any]:
        """All K values in the order of their indices."""
        return self.decode(np.arange(self.size))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Domain) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __getstate__(self) -> dict[str, Any]:
        """The attributes without those that are computed from others on first use."""
        return without_cached(self)

    def __repr__(self) -> str:
        inside = ", ".join(f"{k}={show(v)}" for k, v in self.spec().items() if k != "kind")
        return f"{type(self).__name__}({inside})"

    def _index(self, index: Any) -> np.ndarray:
        """``index`` as int64, refused where it is outside 0..K-1."""
        try:
            array = np.asarray(index)
        except ValueError:
            array = np.asarray(None)
        if array.dtype.kind not in "iu" and array.size:
            rule = "must be an array of integers"
            raise ArgumentTypeError("index", rule, str(array.dtype))
        if array.size and (array.min() < 0 or array.max() >= self.size):
            raise ArgumentError("index", f"must lie in 0..{self.size - 1}")
        return array.astype(np.int64)

    def _refuse(self, outside: np.ndarray, got: str, remedy: str | None = None) -> None:
        """Raise ValuesError for the positions at which ``outside`` (n,) is true."""
        where = np.flatnonzero(outside)
        if where.size:
            rule = f"not in the domain of {self.size} values"
            usual = f"Answers outside the domain are refused, not guessed: {self.remedy}"
            raise ValuesError(int(where[0]), rule, got, remedy or usual, more=where[1:])
