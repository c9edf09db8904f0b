"""Tallies: sufficient statistics of reports, as plain data that adds up.

A tally holds integer counts, the number of reports, and the header of the mechanism that made them.
:mod:`warner.reports.tally_kinds` lists the kinds of counts. Only the tally of distinct reports
grows with the number of reports. Merging is addition of integers: it is associative and
commutative, and gives the same tally bit for bit in any order.

A tally in memory knows of which tallies it is a sum, so that one is not added twice. This is no
part of its value: equal tallies may be of different people, and files do not hold it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, ClassVar, Protocol, Self, TypeVar

import numpy as np

from warner._core import html
from warner._core.atomic_files import read_whole, write_whole
from warner._core.canonical_json import canonical
from warner._core.checks import integer, legible, show
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    EmptyError,
    FileError,
    MismatchError,
)
from warner._core.pickles import narrow
from warner._core.text import unreadable
from warner.domains import Domain
from warner.reports.counting import count_rows
from warner.reports.tally_kinds import TallyKind, tally_kind
from warner.reports.tally_sources import (
    Sources,
    added_sources,
    collectors_of,
    new_source,
    of_collectors,
    source_of_others,
)

# 1 knows no marginal tables, 2 no people with several reports, 3 no groups, 4 no marks of
# collectors; the lowest is written
SCHEMA = 5
MOST_PER_PERSON = 10_000  # reports of one person, in all
_COLLECTED = 5  # the schema of a tally that a collector of answers counted
_SEVERAL = 3  # the schema of a tally of people with several reports


class Storable(Protocol):
    """A tally that a file can hold."""

    @property
    def file_schema(self) -> int:
        """The lowest schema of tally files that can hold this tally."""

    def to_json(self) -> dict[str, Any]:
        """The tally as JSON data."""

    @property
    def digest(self) -> str:
        """The checksum of all attributes."""

    @property
    def sources(self) -> Sources:
        """Marks of the tallies that this one is a sum of."""

    def from_source(self, mark: Hashable) -> Self:
        """The same tally, which is not to be added twice with another one of this mark."""

    def of_collectors(self, marks: Iterable[str]) -> Self:
        """The same tally, as one that collectors with these marks counted."""


_T = TypeVar("_T", bound=Storable)


@dataclass(frozen=True, eq=False)
class Tally:
    """Counts of reports, with the header of the mechanism that made them.

    Made by ``mechanism.tally(reports)``.

    Attributes:
        header: the mechanism's header, as in its reports.
        kind: which statistic the counts are, and so their shape: Histogram, BitSums, DigitCounts,
            DistinctReports or MarginalTables.
        counts: int64, read-only.
        n: how many reports were counted.
        rows: the distinct reports, uint8 (m, bytes), of the kind DistinctReports; else None.
        simulated: whether the reports were made with a generator that can be repeated. Such
            reports protect nobody.
        reports_per_person: the most reports that one person sent, see :meth:`per_person`.
        sources: marks of the tallies that this one is a sum of. They are no part of its value.

    >>> from warner import Categorical, RandomizedResponse
    >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    >>> a, b = (coin.tally(coin.randomize(["yes"] * n)) for n in (3, 4))
    >>> (a + b).n, (a + b) == (b + a)
    (7, True)
    >>> a.kind
    Histogram()
    """

    names: ClassVar[tuple[str, ...]] = ()
    """The public columns by which the reports are grouped: none. See GroupedTally."""

    n_groups: ClassVar[int] = 1
    """The number of groups: all people together are one."""

    header: Mapping[str, Any]
    kind: TallyKind
    counts: np.ndarray = field(repr=False)
    n: int
    rows: np.ndarray | None = field(default=None, repr=False)
    simulated: bool = False
    reports_per_person: int = 1
    sources: Sources = field(default_factory=frozenset, repr=False)

    def __post_init__(self) -> None:
        if not self.sources:
            object.__setattr__(self, "sources", new_source())
        if not (
            isinstance(self.header, Mapping)
            and isinstance(self.kind, TallyKind)
            and isinstance(self.counts, np.ndarray)
            and self.counts.dtype.kind in "iu"
            and type(self.n) is int
            and 0 <= self.n < 2**63
            and self._rows_fit()
            and type(self.simulated) is bool
            and type(self.reports_per_person) is int
            and 1 <= self.reports_per_person <= MOST_PER_PERSON
        ):
            rule = "needs a header, a kind, integer counts and n"
            remedy = "Make one with mechanism.tally(reports)"
            raise ArgumentTypeError("tally", rule, None, remedy)
        object.__setattr__(self, "counts", _frozen(self.counts.astype(np.int64)))
        if self.rows is not None:
            object.__setattr__(self, "rows", _frozen(self.rows.copy()))

    def _rows_fit(self) -> bool:
        """Whether there are rows exactly where the kind keeps reports, with one count for each."""
        if self.rows is None:
            return not self.kind.keeps_reports
        return (
            self.kind.keeps_reports
            and isinstance(self.rows, np.ndarray)
            and self.rows.dtype == np.uint8
            and self.rows.ndim == 2
            and self.counts.shape == self.rows.shape[:1]
        )

    def __add__(self, other: Tally) -> Tally:
        if not isinstance(other, Tally):
            return NotImplemented
        require_same(self.header, other.header, "tallies")
        require_same_origin([self.simulated, other.simulated], "tallies")
        sources = added_sources(self.sources, other.sources)
        n, most = self.n + other.n, max(self.reports_per_person, other.reports_per_person)
        if (
            self.rows is not None
            and other.rows is not None
            and self.rows.shape[1] == other.rows.shape[1]
        ):
            rows, counts = count_rows(
                np.concatenate([self.rows, other.rows]), np.concatenate([self.counts, other.counts])
            )
            return Tally(self.header, self.kind, counts, n, rows, self.simulated, most, sources)
        if self.kind != other.kind or self.counts.shape != other.counts.shape:
            got = f"{self.kind} and {other.kind}"
            raise MismatchError("tallies", "of different kinds do not add", got)
        counts = self.counts + other.counts
        return Tally(self.header, self.kind, counts, n, None, self.simulated, most, sources)

    def __radd__(self, other: object) -> Tally:
        return self if other == 0 else NotImplemented  # so that sum(tallies) works

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tally) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"Tally({', '.join(described(self))})"

    def _repr_html_(self) -> str:
        counts = self.counts.ravel()
        rows = [["reports", f"{self.n:,}"], *facts(self)]
        rows.append(["counts", f"{self.kind}, {' x '.join(map(str, self.counts.shape))}"])
        if counts.size:
            rows.append(["least and largest count", f"{counts.min():,} and {counts.max():,}"])
        return html.table(["tally", ""], rows)

    def __getstate__(self) -> dict[str, Any]:
        """The attributes, with counts of few bytes."""
        return vars(self) | {"counts": narrow(self.counts)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Arrays come back from a pickle as ones that can be written to.
        for name, value in state.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "counts", _frozen(self.counts.astype(np.int64)))
        if self.rows is not None:
            _frozen(self.rows)

    @property
    def ways(self) -> int | None:
        """The number of attributes of one marginal table; None for a tally of another kind."""
        return self.kind.ways

    @property
    def row_counts(self) -> np.ndarray:
        """The number of times that every row of the mechanism's channel occurred, int64 (m,).

        The channel has m rows. Usually every row stands for one report, so a report counts once.
        Some tallies count the parts of reports instead. For reports of K bits there can be 2K rows:
        "bit j is 1" and "bit j is 0", for each j. A report then counts in K of them.
        """
        return self.kind.row_counts(self.counts, self.n)

    @property
    def is_consistent(self) -> bool:
        """Whether ``n`` reports can have these counts. Only the kind is used to decide this."""
        return self.kind.is_consistent(self.counts, self.n)

    @property
    def columns(self) -> dict[str, Domain | None]:
        """The public columns by which the reports are grouped: none."""
        return {}

    @property
    def sizes(self) -> np.ndarray:
        """The number of reports of each group: of all people together, int64 (1,)."""
        return np.array([self.n], dtype=np.int64)

    def marked(self, simulated: bool = True) -> Tally:
        """The same counts, marked as those of simulated reports.

        Tallies of real and of simulated reports do not add. To add them anyway, mark the real one
        first; the sum is a simulation too.

        Args:
            simulated: False returns this tally as it is.
        """
        return replace(self, simulated=True) if simulated and not self.simulated else self

    def from_source(self, mark: Hashable) -> Tally:
        """The same tally, which is not to be added twice with another one of this mark."""
        return replace(self, sources=frozenset([mark]))

    def total(self) -> Tally:
        """The tally of all people together: this one, as of any tally without groups."""
        return self

    def of_collectors(self, marks: Iterable[str]) -> Tally:
        """The same tally, as one that collectors of answers with these marks counted.

        Tallies with a mark in common are not added, and files keep the marks.

        Args:
            marks: random texts, one of each collector.
        """
        return replace(self, sources=of_collectors(self.sources, marks))

    def of_others(self) -> Tally:
        """The same counts, as those of other people.

        A tally is not added twice: ``t + t`` and ``t + (s + t)`` are refused, as are two tallies
        that were loaded from one file. Where other people really sent reports with the same
        counts, or a simulation needs a multiple of a tally, add this one.

        >>> from warner import Categorical, RandomizedResponse
        >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
        >>> day = coin.tally(coin.randomize(["no", "yes", "no"]))
        >>> (day + day.of_others()).n
        6
        """
        return replace(self, sources=source_of_others())

    @property
    def chance_of_a_twin(self) -> float:
        """About the largest probability that reports of other people have the same counts.

        A count c of n is most probable where c / n is its expectation: 1 / sqrt(2 pi v) with
        v = c (1 - c / n), by Stirling's formula. Counts depend on each other, as the two of a coin
        do, so the square root of the product over all counts is taken. It is 1 for tables of
        several attributes, which count a report more than once, and for distinct reports.

        >>> from warner import Categorical, RandomizedResponse
        >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
        >>> 0 < coin.tally(coin.randomize(["no", "yes"] * 5000)).chance_of_a_twin < 0.01
        True
        """
        if self.rows is not None or self.ways is not None or self.n == 0:
            return 1.0
        counts = self.counts.ravel().astype(np.float64)
        variance = np.maximum(counts * (1 - counts / self.n), 1 / (2 * np.pi))
        return float(np.exp(-0.25 * np.log(2 * np.pi * variance).sum()))

    def per_person(self, most: int) -> Tally:
        """The same counts, where one person sent up to ``most`` reports of different values.

        Such a person answers with t values, for example the places of t days, each report at
        epsilon / t. The estimate is then of the shares of the values among all pairs of a person
        and an occasion. This method does not change the estimate, but it widens its intervals. The
        values of one person can be alike, so n reports may carry no more information than those of
        n / t people.

        ``most`` is the largest number of reports of any person, over all tallies that are estimated
        together. A sum of tallies keeps the largest number of its terms. If the terms are of the
        same people, state the number for the sum: ``sum(days).per_person(7)``.

        For t reports of the *same* value, use Repeated.

        Args:
            most: t, at least the number that was stated before.

        Returns:
            Tally: with ``reports_per_person`` = t.

        Raises:
            ArgumentError: less than 1, less than before, or more than 10,000.

        Source: [P1 sec 5.4]; [P2 sec 7]; METHODS 3.

        >>> from warner import Categorical, RandomizedResponse
        >>> place = RandomizedResponse(Categorical(["home", "work"]), 1.0 / 2)
        >>> days = [place.tally(place.randomize(["home"] * 50 + ["work"] * 50)) for _ in range(2)]
        >>> sum(days).per_person(2).reports_per_person
        2
        """
        integer("reports_per_person", most, 1, MOST_PER_PERSON)
        if most < self.reports_per_person:
            remedy = "State the most reports of one person"
            rule = f"must be at least {self.reports_per_person}, which was stated before"
            raise ArgumentError("reports_per_person", rule, str(most), remedy)
        return replace(self, reports_per_person=most)

    @property
    def file_schema(self) -> int:
        """The lowest schema of tally files that can hold this tally."""
        return _SEVERAL if self.reports_per_person > 1 else self.kind.file_schema

    @property
    def digest(self) -> str:
        """The SHA-256 checksum of all attributes, as 64 hexadecimal digits.

        Equal tallies have equal digests.
        """
        mark: list[Any] = ["simulated"] if self.simulated else []
        if self.reports_per_person > 1:
            mark.append(self.reports_per_person)
        shape = list(self.counts.shape)
        text = canonical([self.header, self.kind.name, shape, self.n, *mark]).encode()
        rows = b"" if self.rows is None else self.rows.tobytes()
        return hashlib.sha256(text + self.counts.astype("<i8").tobytes() + rows).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """The tally as JSON data, with its digest under ``"sha256"``."""
        return {
            "header": dict(self.header),
            "kind": self.kind.name,
            "shape": list(self.counts.shape),
            "counts": self.counts.ravel().tolist(),
            "n": self.n,
            **marks(self.simulated, self.reports_per_person),
            **({} if self.rows is None else {"rows": [row.tobytes().hex() for row in self.rows]}),
            "sha256": self.digest,
        }

    @classmethod
    def from_json(cls, data: Any) -> Tally:
        """The tally that :meth:`to_json` wrote.

        Raises:
            FileError: incomplete or altered data.
        """
        try:
            counts = np.asarray(data["counts"], dtype=np.int64).reshape(data["shape"])
            rows = kept_rows(data)
            kind, mark = tally_kind(data["kind"]), data.get("simulated", False)
            most = data.get("reports_per_person", 1)
            tally = cls(data["header"], kind, counts, data["n"], rows, mark, most)
            intact = tally.digest == data["sha256"] and data["shape"] == list(counts.shape)
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError):
            intact = False
        if not intact:
            raise _altered("tally")
        return tally

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the tally as JSON to the file ``path``.

        If writing fails, the file is left as it was.

        Raises:
            FileError: the file cannot be written.
        """
        save_tallies({"value": self}, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Tally:
        """Read the only tally of a file.

        Raises:
            FileError: the file is not a tally or was altered; or it holds the tallies of several
                attributes, which :func:`load_tallies` reads.
        """
        tallies = load_tallies(path)
        if len(tallies) != 1:
            rule = f"holds {len(tallies)} tallies ({', '.join(tallies)})"
            remedy = "Use warner.reports.tally.load_tallies"
            raise FileError(str(path), rule, None, remedy)
        return next(iter(tallies.values()))


def _frozen(array: np.ndarray) -> np.ndarray:
    """The array itself, made read-only."""
    array.setflags(write=False)
    return array


def facts(tally: Any) -> list[list[str]]:
    """What the header of a tally says, in pairs of words."""
    header = tally.header
    domain = header.get("domain", {})
    rows = [
        ["mechanism", str(header.get("mechanism"))],
        ["epsilon of a report", f"{header.get('epsilon')}"],
        ["values", str(domain.get("kind", "")) if isinstance(domain, Mapping) else ""],
    ]
    if tally.reports_per_person > 1:
        rows.append(["reports of one person, at most", f"{tally.reports_per_person:,}"])
    return [*rows, ["simulated", "yes"]] if tally.simulated else rows


def described(tally: Any) -> list[str]:
    """What a short repr of a tally says."""
    header = tally.header
    epsilon = header.get("requested")
    several = tally.reports_per_person
    return [
        f"{header.get('mechanism')}, epsilon={epsilon}",
        f"n={tally.n}",
        *([f"reports_per_person={several}"] if several > 1 else []),
        *(["simulated"] if tally.simulated else []),
    ]


def marks(simulated: bool, reports_per_person: int) -> dict[str, Any]:
    """The entries of a tally file that stand only where they are not the default."""
    several = {"reports_per_person": reports_per_person} if reports_per_person > 1 else {}
    return {**({"simulated": True} if simulated else {}), **several}


def kept_rows(data: Mapping[str, Any]) -> np.ndarray | None:
    """The distinct reports (m, bytes) of a tally file; None where it keeps none."""
    if "rows" not in data:
        return None
    packed = np.frombuffer(bytes.fromhex("".join(data["rows"])), np.uint8)
    return packed.reshape(len(data["rows"]), -1)


def _altered(name: str) -> FileError:
    """The error of a tally or tally file whose checksum is wrong."""
    rule = "is incomplete or was altered: its checksum does not match"
    return FileError(name, rule, None, "Tally the reports again")


def save_tallies(tallies: Mapping[str, Tally], path: str | os.PathLike[str]) -> None:
    """Write named tallies, one per attribute, to one JSON file, whole or not at all."""
    write_whole(path, dump_tallies(tallies).encode())


def dump_tallies(tallies: Mapping[str, Storable]) -> str:
    """Named tallies, one per attribute, as the text of a tally file."""
    for name in tallies:
        legible("name of an attribute", str(name))
    named = {name: t.to_json() for name, t in tallies.items()}
    schemas = [t.file_schema for t in tallies.values()]
    collected = sorted({mark for t in tallies.values() for mark in collectors_of(t.sources)})
    data = {
        "format": "warner-tally",
        "schema": max([*schemas, _COLLECTED if collected else 1]),
        **({"collectors": collected} if collected else {}),
        "attributes": named,
        "sha256": hashlib.sha256(canonical(named).encode()).hexdigest(),
    }
    return json.dumps(data, ensure_ascii=True) + "\n"


def load_tallies(path: str | os.PathLike[str]) -> dict[str, Tally]:
    """The named tallies of a file that :func:`save_tallies` or :meth:`Tally.save` wrote."""
    return parse_tallies(read_whole(path), str(path))


def parse_tallies(text: bytes, name: str) -> dict[str, Tally]:
    """The named tallies in the text of a tally file; ``name`` is the file's name in messages."""
    if any(isinstance(e, dict) and "by" in e for e in _content(text, name)[0].values()):
        rule = "holds tallies of groups of people"
        remedy = "warner estimate reads it; in Python warner.reports.grouped_tally.load_grouped"
        raise FileError(name, rule, None, remedy)
    return parse_entries(text, name, Tally.from_json)


def parse_entries(text: bytes, name: str, read: Callable[[Any], _T]) -> dict[str, _T]:
    """The named tallies in the ``text`` of a tally file, each made by ``read`` from its data."""
    attributes, collected = _content(text, name)
    try:
        tallies = {a: read(entry).of_collectors(collected) for a, entry in attributes.items()}
        intact = dump_tallies(tallies).encode() == text
    except (FileError, RecursionError):
        intact = False
    if not intact:
        raise _altered(name)
    # The same content of the same file is the same tally.
    place = os.path.abspath(name)
    return {
        attribute: tally.from_source((place, attribute, tally.digest)).of_collectors(collected)
        for attribute, tally in tallies.items()
    }


def _content(text: bytes, name: str) -> tuple[dict[str, Any], list[str]]:
    """The entries of the attributes in a tally file, not yet checked, and marks of collectors."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        rule = "is not a tally file, or is truncated"
        raise FileError(name, rule, None, "Tally the reports again") from None
    if (
        not isinstance(data, dict)
        or data.get("format") != "warner-tally"
        or not isinstance(data.get("attributes"), dict)
    ):
        remedy = "Make one with 'warner tally'"
        raise FileError(name, "is not a warner tally", None, remedy)
    if data.get("schema") not in range(1, SCHEMA + 1):
        rule, got = f"schema must be at most {SCHEMA}", repr(data.get("schema"))
        raise FileError(name, rule, got, "Use the version of warner that wrote it")
    if not data["attributes"]:
        raise EmptyError(name, "holds no tally")
    for attribute in data["attributes"]:
        if (problem := unreadable(attribute)) is not None:
            rule = f"names an attribute that holds {problem}"
            raise FileError(name, rule, show(attribute), "Names must be printable")
    collected = data.get("collectors", [])
    if not isinstance(collected, list) or not all(isinstance(mark, str) for mark in collected):
        raise _altered(name)
    return data["attributes"], collected


def merge(tallies: Iterable[Tally]) -> Tally:
    """The sum of tallies of one mechanism."""
    parts = list(tallies)
    if not parts:
        raise EmptyError("tallies", "must not be empty")
    return reduce(Tally.__add__, parts)


def require_same_origin(simulated: Iterable[bool], name: str) -> None:
    """Refuse real reports among simulated ones."""
    if len(set(simulated)) > 1:
        rule = "of real and of simulated reports do not belong together"
        remedy = (
            "Leave the simulation out, or mark all as simulated: tally.marked(), --allow-simulated"
        )
        raise MismatchError(name, rule, None, remedy)


_SHOWN = {"mechanism": "the mechanism", "version": "version", "requested": "epsilon"}
"""Entries of headers whose values messages show, and what they are called there."""


def require_same(
    ours: Mapping[str, Any],
    theirs: Mapping[str, Any],
    name: str,
    who: tuple[str, str] = ("the one has", "the other has"),
) -> None:
    """Refuse headers that differ; the message names the first difference."""
    for key in ("mechanism", "version", "requested", "parameters", "thresholds", "domain"):
        if ours.get(key) != theirs.get(key):
            said = f"different {key}"
            if key in _SHOWN:
                own, other = (show(header.get(key)) for header in (ours, theirs))
                said = f"{who[0]} {_SHOWN[key]} {own}, and {who[1]} {other}"
            rule = f"do not belong together: {said}"
            remedy = "Combine only reports of one and the same mechanism"
            raise MismatchError(name, rule, None, remedy)
    if dict(ours) != dict(theirs):
        raise MismatchError(name, "do not belong together: headers differ")
