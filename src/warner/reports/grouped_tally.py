"""Tallies of groups: one tally for each tuple of public values, in one table of counts."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np

from warner._core import html
from warner._core.atomic_files import read_whole, write_whole
from warner._core.canonical_json import canonical
from warner._core.checks import integer, kind, show
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    EmptyError,
    FileError,
    MismatchError,
    WarnerError,
)
from warner._core.pickles import narrow
from warner.domains import Domain
from warner.reports.counting import count_rows
from warner.reports.public_columns import (
    Groups,
    Key,
    PublicColumn,
    domain_from_spec,
    group_people,
    order_of,
    require_same_columns,
)
from warner.reports.tally import (
    MOST_PER_PERSON,
    Tally,
    dump_tallies,
    facts,
    kept_rows,
    marks,
    parse_entries,
    require_same,
    require_same_origin,
)
from warner.reports.tally_kinds import CountedGroups, TallyKind, tally_kind
from warner.reports.tally_sources import (
    Sources,
    added_sources,
    new_source,
    of_collectors,
    require_different,
    united_sources,
)

LARGEST = 2**26  # counts of all groups together
_SHOWN = 20  # groups in a notebook
FILE_SCHEMA = 4  # of tally files: the first that knows groups


class GroupedTally(Mapping[Key, Tally]):
    """One tally for each group of people, as a mapping {public values: Tally}.

    Made by ``mechanism.tally_by(reports, {"ward": wards})`` and by ``warner tally --by ward``. The
    counts of all groups are one table. Groups are in the order of their values. A group without
    reports is not there.

    Args:
        header: the mechanism's header.
        columns: {name: domain} of the public columns, None where a column has no domain.
        keys: the values of each of G groups, one for each column.
        counted: the counts of the groups.
        simulated: whether the reports were made with a generator that can be repeated.
        reports_per_person: the most reports that one person sent.
        sources: marks of the tallies that this one is a sum of; none for a new tally.

    Attributes:
        header, simulated, reports_per_person, sources: as given.
        names: the names of the public columns, in the order of the keys.
        kind: which statistic the counts of a group are.
        counts: int64, read-only. (G, ...), the counts of each group along the first axis. For the
            kind DistinctReports (M,), those of one group after the other.
        sizes: int64 (G,), the number of reports of each group.

    Raises:
        ArgumentTypeError: parts that do not fit together.

    >>> from warner import Categorical, RandomizedResponse
    >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    >>> reports = coin.randomize(["no", "yes", "no"])
    >>> groups = coin.tally_by(reports, {"ward": ["north", "south", "north"], "year": [1, 1, 2]})
    >>> list(groups)
    [('north', 1), ('north', 2), ('south', 1)]
    >>> groups["south", 1].n, groups.by("ward")["north",].n
    (1, 2)
    >>> groups.total() == coin.tally(reports)
    True
    """

    def __init__(
        self,
        header: Mapping[str, Any],
        columns: Mapping[str, Domain | None],
        keys: Sequence[Key],
        counted: CountedGroups,
        simulated: bool = False,
        reports_per_person: int = 1,
        sources: Sources = frozenset(),
    ) -> None:
        self.header = dict(header)
        self.sources = sources or new_source()
        self._columns = dict(columns)
        self.kind: TallyKind = counted.kind
        self.simulated = simulated
        self.reports_per_person = reports_per_person
        if not self._fits(keys, counted):
            rule = "needs columns, different keys, and integer counts of each group"
            remedy = "Make one with mechanism.tally_by(reports, by)"
            raise ArgumentTypeError("tally of groups", rule, None, remedy)
        order = order_of(self._columns, keys)
        self._keys: list[Key] = [tuple(keys[i]) for i in order.tolist()]
        self._place = {key: i for i, key in enumerate(self._keys)}
        counts, sizes, rows, places = counted[1:]
        if rows is not None:
            rank = np.empty(len(order), dtype=np.int64)
            rank[order] = np.arange(len(order))
            places, rows, counts = _kept_in_order(rank[places], rows, counts)
        elif len(order) and (order[1:] < order[:-1]).any():
            counts = counts[order]
        self.counts = _frozen(counts)
        self.sizes = _frozen(sizes[order])
        self._rows = None if rows is None else _frozen(rows)
        self._places = None if places is None else _frozen(places)

    def _fits(self, keys: Sequence[Key], counted: CountedGroups) -> bool:
        """Whether the parts of a tally of groups go together."""
        _, counts, sizes, rows, places = counted
        kept = (
            rows is not None
            and places is not None
            and rows.ndim == 2
            and len(rows) == len(places) == len(counts)
            and counts.ndim == 1
        )
        return (
            bool(self._columns)
            and isinstance(self.kind, TallyKind)
            and sizes.shape == (len(keys),)
            and all(len(key) == len(self._columns) for key in keys)
            and len(set(keys)) == len(keys)
            and (kept if self.kind.keeps_reports else len(counts) == len(keys) and rows is None)
            and counts.dtype == sizes.dtype == np.int64
            and type(self.simulated) is bool
            and type(self.reports_per_person) is int
            and 1 <= self.reports_per_person <= MOST_PER_PERSON
        )

    @classmethod
    def of(cls, tallies: Sequence[Tally], groups: Groups) -> Self:
        """The tally of groups from the tally of each, in the order of ``groups.keys``.

        Raises:
            EmptyError: no tallies.
            MismatchError: tallies of different kinds or mechanisms.
        """
        if not tallies:
            raise EmptyError("tallies", "must not be empty")
        first = tallies[0]
        for tally in tallies[1:]:
            require_same(first.header, tally.header, "tallies")
            if tally.kind != first.kind or (
                tally.rows is None and tally.counts.shape != first.counts.shape
            ):
                got = f"{first.kind} and {tally.kind}"
                raise MismatchError("tallies", "of different kinds are no groups", got)
        require_same_origin([t.simulated for t in tallies], "tallies")
        sizes = np.array([t.n for t in tallies], dtype=np.int64)
        rows, places = None, None
        if first.rows is not None:
            counts = np.concatenate([t.counts for t in tallies])
            rows = np.concatenate([t.rows for t in tallies if t.rows is not None])
            places = np.repeat(np.arange(len(tallies)), [len(t.counts) for t in tallies])
        else:
            require_room(len(tallies), first.counts.size)
            counts = np.stack([t.counts for t in tallies])
        most = max(t.reports_per_person for t in tallies)
        counted = CountedGroups(first.kind, counts, sizes, rows, places)
        sources = united_sources([tally.sources for tally in tallies])
        by, marked = groups.columns, first.simulated
        return cls(first.header, by, groups.keys, counted, marked, most, sources)

    @classmethod
    def from_tallies(
        cls,
        names: str | Sequence[str],
        tallies: Mapping[Any, Tally] | Iterable[Tally],
        domain: Domain | None = None,
    ) -> Self:
        """The tally of groups from one tally for each, such as one for each week.

        Args:
            names: the name of the public column, such as ``"week"``; or several names.
            tallies: {public value: tally}, where a key is a tuple if there are several columns; or
                a list, whose groups are numbered 1, 2, ....
            domain: of a single column, its domain; None for one without.

        Returns:
            GroupedTally: ``estimate`` of it draws weeks towards those before and after, where
            ``time`` names the column.

        Raises:
            EmptyError: no tallies.
            MismatchError: tallies of different mechanisms, or real ones among simulated ones.
            ArgumentTypeError: something that is no tally.
            ArgumentError, ValuesError: a name or a value that a public column cannot have, or one
                tally in two groups.

        >>> from warner import Categorical, RandomizedResponse
        >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
        >>> weeks = [coin.tally(coin.randomize(["no", "yes"] * n)) for n in (3, 4)]
        >>> series = GroupedTally.from_tallies("week", weeks)
        >>> {key: tally.n for key, tally in series.items()}
        {(1,): 6, (2,): 8}
        >>> list(GroupedTally.from_tallies("week", {"2026-W02": weeks[1], "2026-W01": weeks[0]}))
        [('2026-W01',), ('2026-W02',)]
        """
        given = tallies if isinstance(tallies, Mapping) else dict(enumerate(tallies, 1))
        parts = list(given.values())
        if not parts:
            raise EmptyError("tallies", "must not be empty")
        for part in parts:
            if not isinstance(part, Tally):
                rule, remedy = "must be tallies, one for each group", "mechanism.tally(reports)"
                raise ArgumentTypeError("tallies", rule, kind(part), remedy)
        columns = [names] if isinstance(names, str) else list(names)
        keys = [key if isinstance(key, tuple) else (key,) for key in given]
        if any(len(key) != len(columns) for key in keys):
            rule = f"must have {len(columns)} values in each key, one for each name"
            raise ArgumentError("tallies", rule)
        values: dict[str, Any] = {
            name: [key[place] for key in keys] for place, name in enumerate(columns)
        }
        if domain is not None:
            values = {name: PublicColumn(domain, column) for name, column in values.items()}
        groups = group_people(values, len(parts))
        if len(groups.keys) < len(parts):
            rule = "must be of different groups"
            raise ArgumentError("tallies", rule, None, "Add those of one group first")
        require_different(keys, parts)
        place = {int(group): i for i, group in enumerate(groups.place)}
        return cls.of([parts[place[i]] for i in range(len(parts))], groups)

    # A mapping of tuples to tallies.

    def __getitem__(self, key: Any) -> Tally:
        place = self._place[key if isinstance(key, tuple) else (key,)]
        rows = None
        if self._rows is None or self._places is None:
            counts = self.counts[place].copy()
        else:
            first, last = np.searchsorted(self._places, [place, place + 1])
            counts, rows = self.counts[first:last].copy(), self._rows[first:last]
        return Tally(
            self.header,
            self.kind,
            counts,
            int(self.sizes[place]),
            rows,
            self.simulated,
            self.reports_per_person,
            frozenset([(self.sources, self._keys[place])]),
        )

    def __iter__(self) -> Iterator[Key]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, key: object) -> bool:
        try:
            return (key if isinstance(key, tuple) else (key,)) in self._place
        except TypeError:
            return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GroupedTally) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __getstate__(self) -> dict[str, Any]:
        """The attributes, with counts of few bytes."""
        return vars(self) | {"counts": narrow(self.counts)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Arrays come back from a pickle as ones that can be written to.
        self.__dict__.update(state)
        self.counts = self.counts.astype(np.int64)
        for array in (self.counts, self.sizes, self._rows, self._places):
            if array is not None:
                array.setflags(write=False)

    def __repr__(self) -> str:
        mechanism = self.header.get("mechanism")
        return f"GroupedTally({mechanism}, by={list(self.names)}, groups={len(self)}, n={self.n})"

    def _repr_html_(self) -> str:
        rows: list[list[str]] = [
            [", ".join(map(str, key)), f"{size:,}"]
            for key, size in zip(self._keys[:_SHOWN], self.sizes[:_SHOWN].tolist(), strict=True)
        ]
        if len(self) > _SHOWN:
            rest = len(self) - _SHOWN
            rows.append([f"{rest:,} other groups", f"{int(self.sizes[_SHOWN:].sum()):,}"])
        about = f"{self.n:,} reports in {len(self):,} groups. " + "; ".join(
            f"{name}: {fact}" for name, fact in facts(self)
        )
        return html.table([", ".join(self.names), "reports"], rows, about)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the public columns, in the order of the keys."""
        return tuple(self._columns)

    @property
    def n_groups(self) -> int:
        """The number of groups."""
        return len(self)

    @property
    def columns(self) -> dict[str, Domain | None]:
        """{name: domain} of the public columns; None where a column has no domain."""
        return dict(self._columns)

    @property
    def n(self) -> int:
        """The number of reports of all groups."""
        return int(self.sizes.sum())

    # Sums.

    def total(self) -> Tally:
        """The tally of all people, whatever their group; equal to the tally without groups.

        Raises:
            EmptyError: no groups.
        """
        if not self:
            raise EmptyError("tally of groups", "has no groups")
        rows = None
        if self._rows is None:
            counts = self.counts.sum(axis=0, dtype=np.int64)
        else:
            rows, counts = count_rows(self._rows, self.counts)
        most = self.reports_per_person
        marked, sources = self.simulated, self.sources
        return Tally(self.header, self.kind, counts, self.n, rows, marked, most, sources)

    def by(self, *names: str) -> GroupedTally:
        """Coarser groups: by some of the public columns, in the order given.

        Raises:
            ArgumentError: no names, a name twice, or no column of this tally.
        """
        if not names or len(set(names)) < len(names) or any(n not in self._columns for n in names):
            rule = f"must be different names among {', '.join(self.names)}"
            raise ArgumentError("by", rule, ", ".join(map(show, names)) or "none")
        axes = [self.names.index(name) for name in names]
        coarse = [tuple(key[axis] for axis in axes) for key in self._keys]
        place = {key: i for i, key in enumerate(dict.fromkeys(coarse))}
        to = np.array([place[key] for key in coarse], dtype=np.int64)
        return GroupedTally(
            self.header,
            {name: self._columns[name] for name in names},
            list(place),
            _added([(self._counted(), to)], len(place)),
            self.simulated,
            self.reports_per_person,
            self.sources,
        )

    def only(self, keys: Iterable[Key]) -> GroupedTally:
        """The tally of some of the groups; keys that are no groups of it are left out.

        Args:
            keys: their public values.
        """
        wanted = [self._place[key] for key in dict.fromkeys(keys) if key in self._place]
        places = np.array(sorted(wanted), dtype=np.int64)
        rows, of, counts = self._rows, self._places, self.counts
        if rows is None or of is None:
            counts = counts[places]
        else:
            kept = np.isin(of, places)
            rows, counts, of = rows[kept], counts[kept], np.searchsorted(places, of[kept])
        counted = CountedGroups(self.kind, counts, self.sizes[places], rows, of)
        names = [self._keys[i] for i in places.tolist()]
        most, own = self.reports_per_person, self.sources
        return GroupedTally(self.header, self._columns, names, counted, self.simulated, most, own)

    def __add__(self, other: Any) -> GroupedTally:
        if not isinstance(other, GroupedTally):
            if isinstance(other, Tally):
                raise _ungrouped()
            return NotImplemented
        require_same(self.header, other.header, "tallies")
        require_same_origin([self.simulated, other.simulated], "tallies")
        require_same_columns(self._columns, other._columns)
        sources = added_sources(self.sources, other.sources)
        ours, theirs = self._counted(), other._counted()
        width = None if self._rows is None else self._rows.shape[1]
        other_width = None if other._rows is None else other._rows.shape[1]
        shape, other_shape = ours.counts.shape[1:], theirs.counts.shape[1:]
        if self.kind != other.kind or (width, shape) != (other_width, other_shape):
            got = f"{self.kind} and {other.kind}"
            raise MismatchError("tallies", "of different kinds do not add", got)
        place = dict(self._place)
        for key in other._keys:
            place.setdefault(key, len(place))
        if width is None:
            require_room(len(place), int(np.prod(shape)))
        to = np.arange(len(self))
        their_to = np.array([place[key] for key in other._keys], dtype=np.int64)
        counted = _added([(ours, to), (theirs, their_to)], len(place))
        most = max(self.reports_per_person, other.reports_per_person)
        return GroupedTally(
            self.header, self._columns, list(place), counted, self.simulated, most, sources
        )

    def __radd__(self, other: Any) -> GroupedTally:
        if isinstance(other, Tally):
            raise _ungrouped()
        return self if other == 0 else NotImplemented  # so that sum(tallies) works

    def _counted(self) -> CountedGroups:
        return CountedGroups(self.kind, self.counts, self.sizes, self._rows, self._places)

    def marked(self, simulated: bool = True) -> GroupedTally:
        """The same counts, marked as those of simulated reports; see :meth:`Tally.marked`."""
        if not simulated or self.simulated:
            return self
        return self._with(True, self.reports_per_person)

    def per_person(self, most: int) -> GroupedTally:
        """The same counts, where one person sent up to ``most`` reports.

        See :meth:`Tally.per_person`.

        Raises:
            ArgumentError: less than before, or more than 10,000.
        """
        integer("reports_per_person", most, self.reports_per_person, MOST_PER_PERSON)
        return self._with(self.simulated, most)

    def of_others(self) -> GroupedTally:
        """The same counts, as those of other people; see :meth:`Tally.of_others`."""
        return self._with(self.simulated, self.reports_per_person, new_source())

    def from_source(self, mark: Hashable) -> GroupedTally:
        """The same tally, which is not to be added twice with another one of this mark."""
        return self._with(self.simulated, self.reports_per_person, frozenset([mark]))

    def of_collectors(self, marks: Iterable[str]) -> GroupedTally:
        """The same tally, as one that collectors with these marks counted."""
        own = of_collectors(self.sources, marks)
        return self._with(self.simulated, self.reports_per_person, own)

    def _with(self, simulated: bool, most: int, sources: Sources | None = None) -> GroupedTally:
        counted, own = self._counted(), self.sources if sources is None else sources
        return GroupedTally(self.header, self._columns, self._keys, counted, simulated, most, own)

    def smaller_than(self, size: int) -> list[Key]:
        """The groups of fewer reports than ``size``, which can point at a person."""
        return [self._keys[i] for i in np.flatnonzero(self.sizes < size).tolist()]

    # Files.

    @property
    def file_schema(self) -> int:
        """The lowest schema of tally files that can hold this tally."""
        return FILE_SCHEMA

    @property
    def digest(self) -> str:
        """The SHA-256 checksum of the groups and their counts. Equal tallies have equal digests."""
        parts = self._by(), self._keys, list(self.counts.shape)
        mark = [self.simulated, self.reports_per_person]
        text = canonical([self.header, self.kind.name, *parts, *mark]).encode()
        digest = hashlib.sha256(text)
        for array in (self.sizes, self.counts, self._places):
            digest.update(b"" if array is None else array.astype("<i8").tobytes())
        digest.update(b"" if self._rows is None else self._rows.tobytes())
        return digest.hexdigest()

    def _by(self) -> list[list[Any]]:
        return [[n, None if d is None else d.spec()] for n, d in self._columns.items()]

    def to_json(self) -> dict[str, Any]:
        """The tally as JSON data, with its digest under ``"sha256"``."""
        kept = {}
        if self._rows is not None and self._places is not None:
            rows = [row.tobytes().hex() for row in self._rows]
            kept = {"rows": rows, "places": self._places.tolist()}
        return {
            "header": dict(self.header),
            "kind": self.kind.name,
            "by": self._by(),
            "groups": [list(key) for key in self._keys],
            "sizes": self.sizes.tolist(),
            "shape": list(self.counts.shape),
            "counts": self.counts.ravel().tolist(),
            **marks(self.simulated, self.reports_per_person),
            **kept,
            "sha256": self.digest,
        }

    @classmethod
    def from_json(cls, data: Any) -> GroupedTally:
        """The tally that :meth:`to_json` wrote.

        Raises:
            FileError: incomplete or altered data.
        """
        try:
            rows = kept_rows(data)
            places = None if rows is None else np.asarray(data["places"], dtype=np.int64)
            counted = CountedGroups(
                tally_kind(data["kind"]),
                np.asarray(data["counts"], dtype=np.int64).reshape(data["shape"]),
                np.asarray(data["sizes"], dtype=np.int64),
                rows,
                places,
            )
            tally = cls(
                data["header"],
                {
                    str(name): None if spec is None else domain_from_spec(spec)
                    for name, spec in data["by"]
                },
                [tuple(key) for key in data["groups"]],
                counted,
                data.get("simulated", False),
                data.get("reports_per_person", 1),
            )
            in_order = [list(key) for key in tally._keys] == data["groups"]
            intact = in_order and tally.digest == data["sha256"]
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError, IndexError):
            intact = False
        except WarnerError:
            intact = False
        if not intact:
            rule = "is incomplete or was altered: its checksum does not match"
            raise FileError("tally of groups", rule, None, "Tally the reports again")
        return tally

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the tally as JSON to the file ``path``, whole or not at all.

        Raises:
            FileError: the file cannot be written.
        """
        save_any_tallies({"value": self}, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> GroupedTally:
        """Read the only tally of groups of a file.

        Raises:
            FileError: the file is no tally of groups or was altered; or it holds several
                attributes, which :func:`load_grouped` reads.
        """
        tallies = load_grouped(path)
        if len(tallies) != 1:
            rule = f"holds {len(tallies)} tallies ({', '.join(tallies)})"
            remedy = "Use warner.reports.grouped_tally.load_grouped"
            raise FileError(str(path), rule, None, remedy)
        return next(iter(tallies.values()))


def _frozen(array: np.ndarray) -> np.ndarray:
    """A read-only view of the array."""
    view = array.view()
    view.setflags(write=False)
    return view


def _ungrouped() -> MismatchError:
    rule = "with groups and without do not add"
    remedy = "Tally both with the same groups, or add the total() of one"
    return MismatchError("tallies", rule, None, remedy)


def require_room(groups: int, cells: int) -> None:
    """Refuse more groups than there is memory for."""
    if groups * cells > LARGEST:
        rule = f"{groups} groups of {cells} counts would be more than {LARGEST} counts"
        remedy = "Group by fewer columns, or by coarser values"
        raise ArgumentError("by", rule, None, remedy)


def _kept_in_order(
    places: np.ndarray, rows: np.ndarray, counts: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distinct reports of all groups, sorted by group and then as byte strings, and added up.

    Shapes: places (M,), counts (M,).
    """
    head = places.astype(">i8").reshape(-1, 1).view(np.uint8)
    found, total = count_rows(np.concatenate([head, rows], axis=1), counts)
    where = np.ascontiguousarray(found[:, :8]).view(">i8").ravel().astype(np.int64)
    return where, np.ascontiguousarray(found[:, 8:]), total


def _added(parts: Sequence[tuple[CountedGroups, np.ndarray]], groups: int) -> CountedGroups:
    """The sum of tables of groups."""
    first = parts[0][0]
    sizes = np.zeros(groups, dtype=np.int64)
    for part, to in parts:
        np.add.at(sizes, to, part.sizes)
    kept = [(part, to) for part, to in parts if part.rows is not None]
    if kept:
        rows = np.concatenate([part.rows for part, _ in kept if part.rows is not None])
        places = np.concatenate([to[part.places] for part, to in kept])
        counts = np.concatenate([part.counts for part, _ in kept])
        return CountedGroups(first.kind, counts, sizes, rows, places)
    table = np.zeros((groups, *first.counts.shape[1:]), dtype=np.int64)
    for part, to in parts:
        if not len(to):
            continue
        order = np.argsort(to, kind="stable")
        different, start = np.unique(to[order], return_index=True)
        table[different] += np.add.reduceat(part.counts[order], start, axis=0)
    return CountedGroups(first.kind, table, sizes)


AnyTally = Tally | GroupedTally
"""A tally of all people together, or of groups."""


def load_grouped(path: str | os.PathLike[str]) -> dict[str, GroupedTally]:
    """The named tallies of groups in a file, one for each attribute."""
    found = parse_any_tallies(read_whole(path), str(path))
    grouped = {name: tally for name, tally in found.items() if isinstance(tally, GroupedTally)}
    if len(grouped) < len(found):
        rule, remedy = "holds tallies without groups", "Use warner.reports.tally.load_tallies"
        raise FileError(str(path), rule, None, remedy)
    return grouped


def load_any_tallies(path: str | os.PathLike[str]) -> dict[str, AnyTally]:
    """The named tallies of a file, with groups or without."""
    return parse_any_tallies(read_whole(path), str(path))


def parse_any_tallies(text: bytes, name: str) -> dict[str, AnyTally]:
    """The same from the ``text`` of a file; ``name`` is the file's name in messages."""

    def read(entry: Any) -> AnyTally:
        is_grouped = isinstance(entry, dict) and "by" in entry
        return GroupedTally.from_json(entry) if is_grouped else Tally.from_json(entry)

    return parse_entries(text, name, read)


def save_any_tallies(tallies: Mapping[str, AnyTally], path: str | os.PathLike[str]) -> None:
    """Write named tallies, with groups or without, to one JSON file, whole or not at all."""
    write_whole(path, dump_tallies(tallies).encode())


def by_sort(tallies: Iterable[AnyTally]) -> tuple[list[Tally], list[GroupedTally]]:
    """Tallies without groups, and tallies of groups."""
    flat, grouped = [], []
    for tally in tallies:
        if isinstance(tally, GroupedTally):
            grouped.append(tally)
        else:
            flat.append(tally)
    return flat, grouped
