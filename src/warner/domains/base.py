"""Domains: their base class, how missing answers are recognised, and checks that all share.

Error messages state the position and the type of an answer, never the answer itself.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import ne
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from warner._core.checks import array_of, as_float, choice, kind, show
from warner._core.errors import ArgumentError, ArgumentTypeError, EmptyError, ValuesError
from warner._core.names import Hinting
from warner._core.pickles import without_cached
from warner._core.progress import in_blocks
from warner._core.text import canonical

_NOT_A_LIST = "must be a list, an array or a column"
_WRAP = "Put a single answer into a list"
_LISTED_AT_ONCE = 4096  # values of a domain that is listed
# What NumPy's types of scalars are called in messages.
_SCALARS = {"integer": "int", "floating": "float", "bool_": "bool", "str_": "str"}
WITHOUT_ANSWER = "For missing answers use warner.domains.with_missing"
_BUILT_IN = frozenset({str, int, bool, float})
_FLOATS = frozenset({float, np.float64, np.float32, np.float16})

INTEGER_TYPES = (int, np.integer)
NUMBER_TYPES = (int, float, np.integer, np.floating)


def sequence(values: Any, one_each: bool = True) -> list[Any] | tuple[Any, ...] | np.ndarray:
    """Return ``values`` as a list, a tuple or an array of at least one dimension.

    Shapes: one_each (n, 1).
    """
    if isinstance(getattr(values, "header", None), dict):  # that of a mechanism
        remedy = "To count reports, call mechanism.tally(reports)"
        raise ArgumentTypeError("values", "must be the answers of people", kind(values), remedy)
    if isinstance(values, Domain):
        rule = "must be a list of answers, not a domain"
        raise ArgumentTypeError("values", rule, kind(values), "Pass the answers of people")
    is_list = hasattr(values, "__len__") or hasattr(values, "__iter__")
    if isinstance(values, set | frozenset):
        remedy = "Pass a list or a column: a set holds equal answers of several people only once"
        raise ArgumentTypeError("values", _NOT_A_LIST, kind(values), remedy)
    if isinstance(values, str | bytes | Mapping) or not is_list:
        raise ArgumentTypeError("values", _NOT_A_LIST, kind(values), _WRAP)
    if not hasattr(values, "__len__"):
        values = list(values)
    if np.ma.is_masked(values):
        first = int(np.argmax(np.ma.getmaskarray(values).ravel()))
        remedy = "Leave out masked entries, for example with answers.compressed()"
        raise ValuesError(first, "must be an answer", "a masked entry of an array", remedy)
    answers = values if isinstance(values, list | tuple) else np.asarray(_local(values))
    if isinstance(answers, np.ndarray) and answers.ndim == 0:
        raise ArgumentTypeError("values", _NOT_A_LIST, "one value", _WRAP)
    if len(answers) == 0:
        raise EmptyError("values", "must not be empty", None, "Pass at least one answer")
    if one_each and isinstance(answers, np.ndarray) and answers.ndim == 2:
        if answers.shape[1] != 1:
            got, remedy = f"shape {answers.shape}", "Pass only the column with the answers"
            if answers.dtype.kind in "biuf" and np.isin(answers, [0, 1]).all():
                remedy = "Where people can tick several answers, use warner.domains.Items([...])"
                if (answers.sum(axis=1) == 1).all():
                    remedy = (
                        "Make one column with each person's answer, such as "
                        'frame.idxmax(axis="columns") in pandas'
                    )
            raise ArgumentTypeError("values", "must have one dimension or one column", got, remedy)
        answers = answers[:, 0]
    return answers


def _local(values: Any) -> Any:
    """Moments of Arrow and Polars as local times: NumPy would take those of their zone in UTC."""
    if getattr(getattr(values, "dtype", None), "time_zone", None):
        return values.dt.replace_time_zone(None)
    if getattr(getattr(values, "type", None), "tz", None):
        return values.to_pylist()
    return values


OF_DURATIONS = (
    "Convert the column to numbers first, such as minutes: column.dt.total_seconds() / 60"
)


def numbers(
    values: Any,
    allowed: tuple[type, ...],
    what: str,
    width: int | None = None,
    each: str = "",
) -> np.ndarray:
    """Return answers as one array, where each answer is a number or a fixed count of numbers.

    Returns (n,).
    """
    given = sequence(values, one_each=width is None)
    if isinstance(given, np.ndarray) and given.dtype.kind == "m":
        raise ArgumentTypeError("values", f"must be {what}", "durations (timedelta)", OF_DURATIONS)
    integers = np.floating not in allowed
    given = whole(given) if integers else given
    if not isinstance(given, np.ndarray) or given.dtype.kind not in "biuf":
        if width is not None:
            for i, answer in enumerate(given):
                if not _holds(answer, width):
                    raise ValuesError(i, each, kind(answer))
        flat: Sequence[Any] = (
            list(given) if width is None else [number for answer in given for number in answer]
        )
        flat = whole(flat) if integers else flat
        refuse_types(flat, allowed, width or 1)
        flat = built_in(flat)
        array = _integers(flat) if integers else np.asarray([as_float(number) for number in flat])
        given = array if width is None else array.reshape(-1, width)
    shape_fits = given.ndim == 1 if width is None else given.shape[1:] == (width,)
    if not shape_fits or given.dtype.kind not in ("iu" if integers else "iuf"):
        got = f"an array of {given.dtype} of shape {given.shape}"
        raise ArgumentTypeError("values", f"must be {what}", got)
    return given


def encoded_at(encode: Callable[[Any], np.ndarray], answers: Any, places: np.ndarray) -> np.ndarray:
    """What ``encode`` makes of the answers at ``places``; its errors name the place among all.

    Shapes: places (k,).
    """
    problem = None
    try:
        return encode(
            answers[places]
            if isinstance(answers, np.ndarray)
            else [answers[i] for i in places.tolist()]
        )
    except ValuesError as error:
        problem = error.reindexed(places)
    raise problem


def encoded_of(name: str, encode: Callable[[Any], Any], column: Any) -> Any:
    """What ``encode`` makes of the answers to one of several questions; its errors name it."""
    problem = None
    try:
        return encode(column)
    except ValuesError as error:
        problem = error.offset_by(f"{name}: position", 0)
    raise problem


def whole(answers: Any) -> Any:
    """Answers, a list or an array (n,), with 1 for 1.0, as pandas writes integers beside gaps.

    Other answers stay as they are.
    """
    if isinstance(answers, np.ndarray) and answers.dtype.kind == "f":
        if (np.abs(answers) <= 2**53).all() and (answers == np.rint(answers)).all():
            return answers.astype(np.int64)
        answers = list(answers)
    is_typed = isinstance(answers, np.ndarray) and answers.dtype != object
    if is_typed or _FLOATS.isdisjoint(map(type, answers)):
        return answers
    return [int(v) if type(v) in _FLOATS and abs(v) <= 2**53 and v % 1 == 0 else v for v in answers]


def _integers(parts: Sequence[Any]) -> np.ndarray:
    """Integers as int64. Those beyond 64 bits become the largest, which is in no domain."""
    if max(map(abs, parts)) >= 2**63:
        parts = [max(-(2**63), min(2**63 - 1, int(number))) for number in parts]
    return np.asarray(parts, dtype=np.int64)


def _holds(answer: Any, width: int) -> bool:
    """Whether one answer is a list, a tuple or an array of ``width`` entries."""
    if isinstance(answer, np.ndarray):
        return bool(answer.shape == (width,))
    return isinstance(answer, list | tuple) and len(answer) == width


def built_in(parts: Sequence[Any]) -> Sequence[Any]:
    """Return answers of classes derived from str, int and float as built-in types."""
    # A derived class may define operations whose error messages show the answer.
    if all(t in _BUILT_IN or t.__module__ == "numpy" for t in set(map(type, parts))):
        return parts
    return [_as_base(value) for value in parts]


def _as_base(value: Any) -> Any:
    """A value of a class derived from str, int or float by the operations of its base class."""
    if type(value) in _BUILT_IN or type(value).__module__ == "numpy":
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__index__(value)
    return float.__float__(value) if isinstance(value, float) else value


def refuse_types(parts: Sequence[Any], allowed: tuple[type, ...], per_answer: int = 1) -> None:
    """Refuse the first part of an answer whose type is not allowed; a boolean is no integer."""
    takes_booleans = bool({bool, np.bool_} & set(allowed))
    refused = {
        t
        for t in set(map(type, parts))
        if not issubclass(t, allowed) or (issubclass(t, bool | np.bool_) and not takes_booleans)
    }
    if refused:
        bad = [i for i, value in enumerate(parts) if type(value) in refused]
        names = sorted({_SCALARS.get(t.__name__, t.__name__) for t in allowed})
        rule, answer = f"must be {' or '.join(names)}", parts[bad[0]]
        got, remedy = kind(answer), f"Convert the answers to {names[0]} first"
        if got == "NaN" or type(answer).__name__ in _NONE:
            remedy = WITHOUT_ANSWER
        elif "int" in names and type(answer) in _FLOATS:
            remedy = "Round the answers first, for example 12.5 to 12"
        elif names == ["str"]:
            example = "column.map({0: 'no', 1: 'yes'})"
            remedy = f"Give each answer its label, such as {example}, because the labels are texts"
        elif isinstance(answer, str):
            remedy += ', such as "12,5" to 12.5' if "float" in names else ', such as "12" to 12'
        first, *more = dict.fromkeys(i // per_answer for i in bad)
        raise ValuesError(first, rule, got, remedy, more=more)


# -----------------------------------------------------------------------------------------------
# Descriptions of domains: their form in text files and study files, and the cells of grids.


class Raster(NamedTuple):
    """The shape of a grid of square cells.

    Attributes:
        rows, columns: the numbers of rows and columns.
        side: the side of a cell, in the unit of distances.
        places: (K,) row * columns + column of each value, increasing; None where all cells are
            values.
    """

    rows: int
    columns: int
    side: float
    places: np.ndarray | None = None

    @property
    def values(self) -> np.ndarray:
        """(rows, columns) booleans: which cells are values."""
        mask = np.full(self.rows * self.columns, self.places is None)
        if self.places is not None:
            mask[self.places] = True
        return mask.reshape(self.rows, self.columns)


@dataclass(frozen=True)
class TextForm:
    """How the answers of a domain are written in a column of text.

    Either ``labels`` lists the text of every answer, or ``pattern`` describes the texts. Regular
    expressions must be valid both in Python and in RE2.

    Attributes:
        labels: the text of each answer, (K,) in index order; None where ``pattern`` is used.
        any_case: whether upper and lower case of a label count as the same.
        pattern: a regular expression that every answer matches as a whole.
        number: int or float, the type of the numbers in an answer.
        parts: a regular expression with a named group for each number of an answer; None where the
            whole answer is one number.
        rule: what an answer must be, for messages, such as "must be an integer".
    """

    labels: list[str] | None = None
    any_case: bool = False
    pattern: str = ""
    number: type[int] | type[float] = int
    parts: str | None = None
    rule: str = ""


@dataclass(frozen=True)
class StudyEntry:
    """How a study file writes a domain.

    Attributes:
        key: the key of the attribute's table that states the domain.
        description: one line for the JSON schema.
        form: the type of the key's value, made of str, int, float, bool, list and tuple. For a
            table it is {field: (type, default)}, with ``...`` where there is no default.
        example: the key with a value, as a line of a study file; for messages.
    """

    key: str
    description: str
    form: Any | Mapping[str, tuple[Any, Any]]
    example: str = ""


# -----------------------------------------------------------------------------------------------
# Missing answers: how they are recognised, and what becomes of them.


POLICIES = ("refuse", "answer", "drop")
NO_ANSWER = "(no answer)"
# What pandas calls its missing values, which is no package of the device.
_NONE = frozenset({"NoneType", "NAType", "NaTType"})
_PLAIN = frozenset({str, int, float})


@dataclass(frozen=True)
class Missing:
    """Which answers are missing, and what becomes of the people who gave none.

    None, NaN, masked entries and pandas' missing values are always missing.

    Args:
        policy: ``"refuse"`` stops at the first missing answer. ``"answer"`` makes nonresponse a
            value of its own, which is randomised like any other. ``"drop"`` leaves the person out,
            which tells the collector how many were silent, and who sent no report.
        empty: the texts that are missing answers too, such as ``["", "NA"]``.

    Raises:
        ArgumentError: another policy, or a text twice.
        ArgumentTypeError: not a list of texts.

    >>> Missing("drop", ["", "NA"]).mask(["yes", "", None, "NA"]).tolist()
    [False, True, True, True]
    """

    policy: str = "refuse"
    empty: Sequence[str] = ("",)

    def __post_init__(self) -> None:
        choice("missing", self.policy, POLICIES)
        listed = self.empty if isinstance(self.empty, list | tuple) else None
        if listed is None or not all(isinstance(text, str) for text in listed):
            rule = 'must be a list of texts that stand for no answer, such as ["", "NA"]'
            raise ArgumentTypeError("empty", rule, show(self.empty))
        if len(set(listed)) < len(listed):
            raise ArgumentError("empty", "must not list a text twice", show(listed))
        object.__setattr__(self, "empty", tuple(listed))

    @property
    def numbers(self) -> tuple[float, ...]:
        """The texts of ``empty`` that are numbers, such as -9, as numbers."""
        return tuple(float(text) for text in self.empty if _is_number(text))

    def mask(self, values: Any) -> np.ndarray:
        """Which of n answers are missing.

        Args:
            values: a list, an array or a column of n answers.

        Returns:
            (n,) booleans.

        Raises:
            ArgumentTypeError: not a list of answers.
            EmptyError: no answers.
        """
        is_masked = np.ma.isMaskedArray(values)
        hidden = np.ma.getmaskarray(values) if is_masked else None
        answers = sequence(np.ma.getdata(values) if is_masked else values, one_each=False)
        if isinstance(answers, np.ndarray) and answers.dtype.kind in "iuf":
            missing = np.isnan(answers) | np.isin(answers, self.numbers)
        elif isinstance(answers, np.ndarray) and answers.dtype.kind == "U":
            missing = np.isin(answers, self.empty)
        elif isinstance(answers, np.ndarray) and answers.dtype.kind in "mM":
            missing = np.isnat(answers)
        elif isinstance(answers, np.ndarray):
            missing = self._among(list(answers.ravel())).reshape(answers.shape)
        else:
            missing = self._among(answers)
        if hidden is not None:
            missing = missing | hidden
        return np.asarray(missing.any(axis=tuple(range(1, missing.ndim))))

    def _among(self, answers: Sequence[Any]) -> np.ndarray:
        """Which of n answers of any classes are missing: (n,) booleans."""
        spelled = frozenset([*self.empty, *self.numbers])
        classes = set(map(type, answers))
        if classes <= {*_PLAIN, type(None)}:
            missing = np.fromiter(map({*spelled, None}.__contains__, answers), bool, len(answers))
            if float in classes:
                missing |= np.fromiter(map(ne, answers, answers), bool, len(answers))
            return missing

        def is_spelled(answer: Any) -> bool:
            # Operations of derived classes might show the answer in an error.
            return type(answer) in _PLAIN and (answer in spelled or answer != answer)

        def test(of: type) -> Callable[[Any], bool]:
            if of.__name__ in _NONE or of is type(np.ma.masked):
                return lambda answer: True
            if issubclass(of, np.generic):
                return lambda answer: bool(answer != answer) or is_spelled(answer.item())
            return is_spelled

        tests = {of: test(of) for of in classes}
        each = (tests[type(answer)](answer) for answer in answers)
        return np.fromiter(each, bool, len(answers))


def require_domain(domain: Any, name: str = "domain") -> None:
    """Refuse anything but a domain."""
    if not isinstance(domain, Domain):
        rule = "must be a domain: the values that an answer can have"
        remedy = (
            "Use Categorical([...]), Integers(low, high) or, with decimals, Interval(low, high)"
        )
        raise ArgumentTypeError(name, rule, kind(domain), remedy)


def _is_number(text: str) -> bool:
    """Whether a text is a finite number."""
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


# What a domain does where nothing else was said: no text is missing, so any text can be a label.
REFUSED = Missing("refuse", ())

# A table of labels, or an estimate for each value, is not sensible for more values than this.
LARGEST_SIZE = 2**26


class Domain(Hinting, ABC):
    """The K possible answers to one question, and their indices 0..K-1.

    A subclass implements ``encode``, ``decode``, ``spec`` and ``from_spec``, and overrides the
    capabilities that it has. Other modules test for a capability and never for a class.

    Attributes:
        size: K, the number of values.
        kind: the name of the class in ``spec``, and so in the headers of reports and tallies.
        study: how a study file writes the domain; None where it cannot.
        noun: what answers are called in messages, in the plural.
        usual_mechanism: the name of one that takes such values, for messages of those that do not.
        remedy: an action that helps against answers outside the domain, for messages.
        is_public: whether it is of a public column, so that a message may say which value is near.
        too_many: an action where a domain has more values than mechanisms take, for messages.
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
        nonresponse: the index of nonresponse, where it is a value of its own; else None.
    """

    size: int
    kind: ClassVar[str]
    _stated: ClassVar[tuple[str, ...]] = ()  # the entries of ``spec`` that are arguments, in order
    _at_times: ClassVar[tuple[str, ...]] = ()  # further ones, which a spec need not have
    study: ClassVar[StudyEntry | None] = None
    noun: ClassVar[str] = "labels of the study"
    usual_mechanism: ClassVar[str] = "RandomizedResponse"
    remedy: str = "Correct the answers, or allow one more value, such as 'other'"
    too_many: ClassVar[str] = "Use the mechanism PerAttribute"

    is_public: bool = False
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
    def from_spec(
        cls, spec: Mapping[str, Any], build: Callable[[Mapping[str, Any]], Domain]
    ) -> Self:
        """Return the domain that ``spec`` describes.

        Args:
            spec: JSON data from the method ``spec`` of this class.
            build: makes a domain of any kind, for domains made of others.
        """
        stated = {name: spec[name] for name in cls._stated}
        values = [build(each) if name == "domain" else each for name, each in stated.items()]
        return cls(*values, **{name: spec[name] for name in cls._at_times if name in spec})

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
        return cls(*entry) if isinstance(entry, tuple) else cls(entry)

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
        rule = "must be Integers or Interval for a mechanism of numbers"
        remedy = f"For {type(self).__name__} use a mechanism such as {self.usual_mechanism}"
        raise ArgumentTypeError("domain", rule, type(self).__name__, remedy)

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
    def rule(self) -> str:
        """What an answer must be, for messages."""
        if not self.is_binned:
            return f"must be one of the {self.size} values"
        ((low, high), *_) = self.ends
        return f"must be a number from {low:g} to {high:g}"

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
        rule = "must be a Product of several questions"
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
        """The domain of the people who answered; the domain itself without nonresponse."""
        return self

    @property
    def nonresponse(self) -> int | None:
        return None

    @property
    def unpadded(self) -> Domain:
        """The domain of the answers themselves, without the placeholder of padding."""
        return self

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON of ``spec``, in hexadecimal digits."""
        return hashlib.sha256(canonical(self.spec()).encode()).hexdigest()

    def __len__(self) -> int:
        """K, the number of values."""
        return self.size

    def __iter__(self) -> Iterator[Any]:
        """The values, in the order of their indices."""
        for some in in_blocks(self.size, _LISTED_AT_ONCE):
            yield from self.decode(np.arange(some.start, some.stop))

    def __getitem__(self, index: int | slice) -> Any:
        """The value of an index, or the list of those of a slice.

        >>> from warner import Categorical
        >>> smokes = Categorical(["never", "sometimes", "often"])
        >>> smokes[0], smokes[-2:], len(smokes), list(smokes)[1], "often" in smokes
        ('never', ['sometimes', 'often'], 3, 'sometimes', True)
        """
        indices = range(self.size)[index]
        if isinstance(indices, range):
            return list(self.decode(np.array(indices, dtype=np.int64)))
        return self.decode([indices])[0]

    def __contains__(self, value: object) -> bool:
        try:
            self.encode([value])
        except (ValuesError, ArgumentTypeError):
            return False
        return True

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
        array = array_of(index)
        if array.dtype.kind not in "iu" and array.size:
            rule = "must be an array of whole numbers"
            raise ArgumentTypeError("index", rule, str(array.dtype))
        if array.size and (array.min() < 0 or array.max() >= self.size):
            raise ArgumentError("index", f"must be from 0 to {self.size - 1}")
        return array.astype(np.int64)

    def _refuse(self, outside: np.ndarray, got: str, remedy: str | None = None) -> None:
        """Raise ValuesError for the positions at which ``outside`` (n,) is true."""
        where = np.flatnonzero(outside)
        if where.size:
            raise ValuesError(int(where[0]), self.rule, got, remedy or self.remedy, more=where[1:])
