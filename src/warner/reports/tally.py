"""Tallies: sufficient statistics of reports, as plain data that adds up.

A ``histogram`` counts how often each possible report was seen. ``bitsums`` counts, for reports made of K bits, how many
reports set each bit, beside the number of reports n. ``digits`` counts, for reports of one digit for each of d keys, how often each
key had each digit. None of these grows with n. ``reports`` keeps the distinct reports of K bits
themselves, sorted, with their counts, for the likelihood of whole reports. ``w-way`` counts, for tuples of reports, what every
subset of w attributes needs, one table after the other (see warner.reports.marginal_tables). Merging is addition of integers: associative,
commutative, the same bit for bit in any order.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np

from warner._core.atomic_files import (
    read_whole,
    write_whole,
)
from warner._core.canonical_json import (
    canonical,
)
from warner._core.checks import legible, show
from warner._core.errors import (
    ArgumentTypeError,
    EmptyError,
    FileError,
    MismatchError,
    message,
)
from warner._core.text import (
    unreadable,
)
from warner.reports.schema import BitVector, DigitVector, IntegerColumns

SCHEMA = 2  # 1 knows no tables of tuples; what needs none is still written as 1
# 255 bytes of 0 or 1 are the most that a byte-wide lane holds without a carry.
_LANES = 255


@dataclass(frozen=True, eq=False)
class Tally:
    """Counts of reports, with the header of the mechanism that made them.

    Attributes:
        header: the mechanism's header, as in its reports.
        kind: ``"histogram"``, ``"bitsums"``, ``"digits"``, ``"reports"``, or ``"2-way"`` and the like.
        counts: int64; shape of the report alphabet for a histogram, (K,) for bit sums, (d, base) for digits, (m,) for distinct reports,
            (cells,) for tables.
        n: how many reports were counted.
        rows: (m, ceil(K / 8)) uint8, the distinct reports; None for the other kinds.
        simulated: whether reports were made with a generator that can be repeated, so that privacy does not hold for them.

    >>> from warner import Categorical, RandomizedResponse
    >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    >>> a, b = (coin.tally(coin.randomize(["yes"] * n)) for n in (3, 4))
    >>> (a + b).n, (a + b) == (b + a)
    (7, True)
    """

    header: Mapping[str, Any]
    kind: str
    counts: np.ndarray = field(repr=False)
    n: int
    rows: np.ndarray | None = field(default=None, repr=False)
    simulated: bool = False

    def __post_init__(self) -> None:
        fine = (
            isinstance(self.header, Mapping)
            and isinstance(self.kind, str)
            and (
                self.kind in ("histogram", "bitsums", "digits", "reports") or self.ways is not None
            )
            and isinstance(self.counts, np.ndarray)
            and self.counts.dtype.kind in "iu"
            and type(self.n) is int
            and 0 <= self.n < 2**63
            and (self.kind == "reports") == (self.rows is not None)
            and (
                self.rows is None
                or (
                    isinstance(self.rows, np.ndarray)
                    and self.rows.dtype == np.uint8
                    and self.rows.ndim == 2
                )
            )
            and (self.rows is None or self.counts.shape == self.rows.shape[:1])
            and type(self.simulated) is bool
        )
        if not fine:
            raise ArgumentTypeError(
                message(
                    "tally",
                    "needs a header, a kind, integer counts and n",
                    None,
                    "Make one with mechanism.tally(reports)",
                )
            )
        counts = self.counts.astype(np.int64)
        counts.setflags(write=False)
        object.__setattr__(self, "counts", counts)
        if self.rows is not None:
            rows = self.rows.copy()
            rows.setflags(write=False)
            object.__setattr__(self, "rows", rows)

    def __add__(self, other: Tally) -> Tally:
        if not isinstance(other, Tally):
            return NotImplemented
        require_same(self.header, other.header, "tallies")
        require_same_origin([self.simulated, other.simulated], "tallies")
        if (
            self.rows is not None
            and other.rows is not None
            and self.rows.shape[1] == other.rows.shape[1]
        ):
            rows, counts = distinct(
                np.concatenate([self.rows, other.rows]), np.concatenate([self.counts, other.counts])
            )
            return Tally(self.header, self.kind, counts, self.n + other.n, rows, self.simulated)
        if self.kind != other.kind or self.counts.shape != other.counts.shape:
            raise MismatchError(
                message("tallies", "of different kinds do not add", f"{self.kind} and {other.kind}")
            )
        return Tally(
            self.header,
            self.kind,
            self.counts + other.counts,
            self.n + other.n,
            None,
            self.simulated,
        )

    def __radd__(self, other: object) -> Tally:
        return self if other == 0 else NotImplemented  # so that sum(tallies) works

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tally) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    @property
    def ways(self) -> int | None:
        """Of tuples of how many attributes the tables are; None for the other kinds."""
        found = re.fullmatch("([1-9][0-9]{0,5})-way", self.kind)
        return None if found is None else int(found[1])

    def marked(self, simulated: bool = True) -> Tally:
        """The same counts, marked as those of simulated reports; or, with False, as they are.

        Tallies of real and of simulated reports do not add. Mark the real one first, and the sum is a simulation too.
        """
        return replace(self, simulated=True) if simulated and not self.simulated else self

    @property
    def digest(self) -> str:
        """SHA-256 of header, kind, counts, n and mark: equal tallies have equal digests."""
        mark = ["simulated"] if self.simulated else []
        text = canonical([self.header, self.kind, list(self.counts.shape), self.n, *mark]).encode()
        rows = b"" if self.rows is None else self.rows.tobytes()
        return hashlib.sha256(text + self.counts.astype("<i8").tobytes() + rows).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """The tally as JSON data, digest included."""
        return {
            "header": dict(self.header),
            "kind": self.kind,
            "shape": list(self.counts.shape),
            "counts": self.counts.ravel().tolist(),
            "n": self.n,
            **({"simulated": True} if self.simulated else {}),
            **({} if self.rows is None else {"rows": [row.tobytes().hex() for row in self.rows]}),
            "sha256": self.digest,
        }

    @classmethod
    def from_json(cls, data: Any) -> Tally:
        """The tally that :meth:`to_json` wrote; FileError unless it is whole and unaltered."""
        try:
            counts = np.asarray(data["counts"], dtype=np.int64).reshape(data["shape"])
            rows = None
            if "rows" in data:
                rows = np.frombuffer(bytes.fromhex("".join(data["rows"])), np.uint8).reshape(
                    len(data["rows"]), -1
                )
            tally = cls(
                data["header"], data["kind"], counts, data["n"], rows, data.get("simulated", False)
            )
            intact = tally.digest == data["sha256"] and data["shape"] == list(counts.shape)
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError):
            intact = False
        if not intact:
            raise FileError(
                message(
                    "tally",
                    "is incomplete or was altered: its checksum does not match",
                    None,
                    "Tally the reports again",
                )
            )
        return tally

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the tally as JSON to ``path``, whole or not at all."""
        save_tallies({"value": self}, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Tally:
        """Read the one tally of a file; a file with several attributes is read by :func:`load_tallies`."""
        tallies = load_tallies(path)
        if len(tallies) != 1:
            raise FileError(
                message(
                    str(path),
                    f"holds {len(tallies)} tallies ({', '.join(tallies)})",
                    None,
                    "Use warner.reports.tally.load_tallies",
                )
            )
        return next(iter(tallies.values()))


def save_tallies(tallies: Mapping[str, Tally], path: str | os.PathLike[str]) -> None:
    """Write named tallies, one per attribute, to one JSON file."""
    write_whole(path, dump_tallies(tallies).encode())


def dump_tallies(tallies: Mapping[str, Tally]) -> str:
    """Named tallies as the text of a tally file."""
    for name in tallies:
        legible("name of an attribute", str(name))
    named = {name: t.to_json() for name, t in tallies.items()}
    digest = hashlib.sha256(canonical(named).encode()).hexdigest()
    schema = SCHEMA if any(t.ways is not None for t in tallies.values()) else 1
    return (
        json.dumps(
            {"format": "warner-tally", "schema": schema, "attributes": named, "sha256": digest},
            ensure_ascii=True,
        )
        + "\n"
    )


def load_tallies(path: str | os.PathLike[str]) -> dict[str, Tally]:
    """The named tallies of a file written by :func:`save_tallies` or :meth:`Tally.save`."""
    return parse_tallies(read_whole(path), str(path))


def parse_tallies(text: bytes, name: str) -> dict[str, Tally]:
    """The named tallies in the ``text`` of a tally file; ``name`` is what messages call it."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise FileError(
            message(name, "is not a tally file, or is truncated", None, "Tally the reports again")
        ) from None
    if (
        not isinstance(data, dict)
        or data.get("format") != "warner-tally"
        or not isinstance(data.get("attributes"), dict)
    ):
        raise FileError(
            message(name, "is not a warner tally", None, "Make one with 'warner tally'")
        )
    if data.get("schema") not in range(1, SCHEMA + 1):
        raise FileError(
            message(
                name,
                f"schema must be at most {SCHEMA}",
                repr(data.get("schema")),
                "Use the version of warner that wrote it",
            )
        )
    if not data["attributes"]:
        raise EmptyError(message(name, "holds no tally"))
    for attribute in data["attributes"]:
        if (found := unreadable(attribute)) is not None:
            raise FileError(
                message(
                    name,
                    f"names an attribute that holds {found}",
                    show(attribute),
                    "Names must be printable",
                )
            )
    try:
        tallies = {
            attribute: Tally.from_json(entry) for attribute, entry in data["attributes"].items()
        }
        intact = dump_tallies(tallies).encode() == text
    except (FileError, RecursionError):
        intact = False
    if not intact:
        raise FileError(
            message(
                name,
                "is incomplete or was altered: its checksum does not match",
                None,
                "Tally the reports again",
            )
        )
    return tallies


def merge(tallies: Iterable[Tally]) -> Tally:
    """The sum of tallies of one mechanism."""
    parts = list(tallies)
    if not parts:
        raise EmptyError(message("tallies", "must not be empty"))
    return reduce(Tally.__add__, parts)


def require_same_origin(simulated: Iterable[bool], what: str) -> None:
    """Refuse real reports among simulated ones; ``simulated`` says of each which it is."""
    if len(set(simulated)) > 1:
        raise MismatchError(
            message(
                what,
                "of real and of simulated reports do not belong together",
                None,
                "Leave the simulation out, or mark all as simulated: tally.marked(), --allow-simulated",
            )
        )


def require_same(ours: Mapping[str, Any], theirs: Mapping[str, Any], what: str) -> None:
    """Refuse headers that differ, naming the first thing that does."""
    for key in ("mechanism", "version", "requested", "parameters", "thresholds", "domain"):
        if ours.get(key) != theirs.get(key):
            shown = (
                ""
                if key in ("domain", "thresholds", "parameters")
                else f": {ours.get(key)!r} and {theirs.get(key)!r}"
            )
            raise MismatchError(
                message(
                    what,
                    f"do not belong together: different {key}{shown}",
                    None,
                    "Combine only what one and the same mechanism made",
                )
            )
    if dict(ours) != dict(theirs):
        raise MismatchError(message(what, "do not belong together: headers differ"))


def count(
    schema: IntegerColumns | BitVector | DigitVector,
    columns: Mapping[str, np.ndarray],
    seen: np.ndarray | None = None,
) -> tuple[str, np.ndarray]:
    """Kind and counts of checked columns, each row as often as ``seen`` (n,) says."""
    if isinstance(schema, BitVector):
        if seen is None:
            return "bitsums", bit_sums(columns["bits"], schema.width)
        return "bitsums", seen @ np.unpackbits(columns["bits"], axis=1, count=schema.width).astype(
            np.int64
        )
    if isinstance(schema, DigitVector):
        return "digits", np.stack(
            [bins(digits, schema.base, seen) for digits in columns["digits"].T]
        )
    return "histogram", bins(schema.index(columns), schema.rows, seen).reshape(schema.sizes)


def bins(index: np.ndarray, size: int, seen: np.ndarray | None = None) -> np.ndarray:
    """How often each of 0..size-1 occurs in ``index`` (n,), each row as often as ``seen`` says: int64 (size,)."""
    if seen is None:
        return np.bincount(index, minlength=size)
    total = np.zeros(size, dtype=np.int64)
    np.add.at(total, index, seen)
    return total


def distinct(rows: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different rows (m, bytes), sorted as byte strings, and the sum of ``counts`` (int64) of each."""
    found, place = kinds(rows)
    total = np.zeros(len(found), dtype=np.int64)
    np.add.at(total, place, counts)
    return found, total


def kinds(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different rows (m, bytes) of bytes (n, bytes), sorted as byte strings, and which of them each row is, (n,).

    Eight bytes at a time are sorted as a number, which is many times faster than to sort byte strings.

    >>> kinds(np.array([[2, 1], [1, 9], [2, 1]], dtype=np.uint8))[1].tolist()
    [1, 0, 1]
    """
    n, width = rows.shape
    padded = np.zeros((n, -(-width // 8) * 8), dtype=np.uint8)
    padded[:, :width] = rows
    first, place = np.zeros(min(n, 1), dtype=np.int64), np.zeros(n, dtype=np.int64)
    for i, words in enumerate(padded.view(">u8").T):
        numbers = words.astype(np.uint64)
        if i:
            # Numbers of pairs stay below n^2, and pairs are in the order of the bytes.
            different, inverse = np.unique(numbers, return_inverse=True)
            numbers = place.astype(np.uint64) * np.uint64(different.size) + inverse.ravel().astype(
                np.uint64
            )
        _, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
        place = inverse.ravel()
    return np.ascontiguousarray(rows[first]), place


def bit_sums(packed: np.ndarray, width: int) -> np.ndarray:
    """How many of the n packed reports (n, bytes) set each of the ``width`` bits: int64 (width,).

    The eight bits of a byte are added in byte-wide lanes, 255 reports at a time, for many reports at once.
    """
    n, size = packed.shape
    total = np.zeros((size, 8), dtype=np.int64)
    block = max(1, 2**18 // (size * _LANES)) * _LANES
    for start in range(0, n, block):
        part = np.ascontiguousarray(packed[start : start + block])
        rows = len(part) // _LANES * _LANES
        if rows:
            lanes = part[:rows].reshape(_LANES, -1)
            for bit in range(8):
                ones = _lane_sums(lanes, bit)
                total[:, 7 - bit] += ones.reshape(-1, size).sum(axis=0, dtype=np.int64)
        if rows < len(part):
            total += np.unpackbits(part[rows:], axis=1).sum(axis=0, dtype=np.int64).reshape(size, 8)
    return total.ravel()[:width]


def _lane_sums(lanes: np.ndarray, bit: int) -> np.ndarray:
    """Column sums (uint8, at most 255) of one bit of every byte of ``lanes`` (255, width)."""
    if lanes.shape[1] % 8 == 0:
        words = lanes.view(np.uint64)
        mask = np.uint64(0x0101010101010101)
        return np.add.reduce((words >> np.uint64(bit)) & mask, axis=0).view(np.uint8)
    return np.add.reduce((lanes >> np.uint8(bit)) & np.uint8(1), axis=0, dtype=np.uint8)
