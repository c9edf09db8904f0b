"""Tallies: sufficient statistics of reports, as plain data that adds up.

A tally holds integer counts, the number of reports, and the header of the mechanism that made them.
It is a table of groups of people, by public columns such as a ward or a week. Without public
columns all people are one group, whose key is the empty tuple.

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
from collections.abc import (
    ItemsView,
    Iterable,
    Iterator,
    KeysView,
    Mapping,
    Sequence,
    ValuesView,
)
from copy import copy
from functools import reduce
from itertools import chain, pairwise
from typing import Any

import numpy as np

from warner._core.atomic_files import read_whole, require_ending, write_whole
from warner._core.checks import integer, kind, legible, show, unknown
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    EmptyError,
    FileError,
    FrameWarning,
    MismatchError,
    WarnerError,
    warn,
)
from warner._core.names import Hinting
from warner._core.pickles import narrow
from warner._core.survey_design import ROLES, SurveyDesign
from warner._core.text import AS_WRITTEN, RANDOMISE_FIRST, canonical, meant, unreadable
from warner.domains import Domain
from warner.reports.counting import (
    are_in_order,
    count_rows_of_groups,
    require_room,
    sum_bits_of_groups,
)
from warner.reports.public_columns import (
    Groups,
    Key,
    PublicColumn,
    columns_of_both,
    domain_from_spec,
    group_people,
    order_of,
)
from warner.reports.tally_kinds import (
    BitSums,
    Counted,
    DistinctReports,
    Histogram,
    Sources,
    TallyKind,
    added_sources,
    collectors_of,
    new_source,
    of_collectors,
    require_different,
    source_of_others,
    tally_kind,
    united_sources,
    warn_of_equal,
    way_to_question,
)

SCHEMA = 6  # of tally files, the only one that is read
_COUNT_AGAIN = "Count the reports again with 'warner tally'"
MOST_PER_PERSON = 10_000  # reports of one person, in all
_MOST_PEOPLE = 2**53  # whose number is exact in double precision
_SHOWN = 20  # groups in a notebook
_MOST_FILES = 10_000  # that a tally remembers: 360 kB of its file
AND_OTHERS = "others"  # beside fingerprints of files: not all that were counted are known
_MARKS = (
    *("reports_per_person", "sources", "is_trusted", "round", "may_mix_rounds"),
    *("survey_design", "unchecked", "question", "files"),
)  # attributes of a tally beside its counts
_FIRST = 64  # counts of a group that are looked at first: few have a common factor


class Tally(Hinting):
    """Counts of reports, with the header of the mechanism that made them.

    Made by ``mechanism.tally(reports)``, and for each group of people by ``mechanism.tally(reports,
    by={"ward": wards})`` or ``warner tally --by ward``. A tally by public columns is read as a
    mapping {public values: Tally}. Groups are in the order of their values. A group without reports
    is not there.

    Args:
        header: the mechanism's header, as in its reports.
        counted: the counts of the groups.
        groups: the public columns and the values of each group; None for all people together.
        simulated: whether the reports were made with a generator that can be repeated. Such
            reports protect nobody.

    Attributes:
        header, simulated: as given.
        reports_per_person: the most reports that one person sent, see :meth:`per_person`.
        sources: marks of the tallies that this one is a sum of. No part of a tally's value.
        is_trusted: whether estimates take the counts as they are, see :meth:`trusted`. No part of
            a tally's value.
        kind: which statistic the counts of a group are, and so their shape: Histogram, BitSums,
            DigitCounts, DistinctReports or MarginalTables.
        round: which round of the same people the reports are of, see :meth:`of_round`; else None.
        may_mix_rounds: whether the tally is a sum of permanent reports that may be of several
            rounds of the same people, because not all of them said their round.
        survey_design: which public columns say how people were drawn, where the study says it, so
            that no estimate leaves it out unnoticed; else None. No part of a tally's value.
        unchecked: what nothing could check of the reports, in words, because a database or the file
            of another program does not say it; see :meth:`not_checked`. No part of its value.
        question: the name of the question in the study that counted it, for titles of tables and
            charts; "" where nothing says it. No part of its value, and not in files.
        files: fingerprints of the files that were counted, and of results of databases, so that a
            sum is known to hold their reports. No part of its value.
        columns: {name: domain} of the public columns, None where a column has no domain; empty
            where all people are together.
        counts: int64, read-only. With public columns (G, ...), the counts of each group along the
            first axis. Of the kind DistinctReports (M,), those of one group after the other.
        sizes: int64 (G,), the number of reports of each group.
        rows: the distinct reports, uint8 (M, bytes), of the kind DistinctReports; else None.

    Raises:
        ArgumentTypeError: parts that do not fit together.

    >>> from warner import Categorical, RandomizedResponse
    >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    >>> a, b = (coin.tally(coin.randomize(["yes"] * n)) for n in (3, 4))
    >>> (a + b).n, (a + b) == (b + a)
    (7, True)
    >>> a.kind
    Histogram()
    >>> reports = coin.randomize(["no", "yes", "no"])
    >>> groups = coin.tally(reports, {"ward": ["north", "south", "north"], "year": [1, 1, 2]})
    >>> list(groups)
    [('north', 1), ('north', 2), ('south', 1)]
    >>> groups["south", 1].n, groups.by("ward")["north",].n
    (1, 2)
    >>> groups.total() == coin.tally(reports)
    True
    """

    reports_per_person: int = 1
    is_trusted: bool = False
    round: int | None = None
    may_mix_rounds: bool = False
    survey_design: SurveyDesign | None = None
    unchecked: tuple[str, ...] = ()
    question: str = ""
    files: frozenset[str] = frozenset()

    def __init__(
        self,
        header: Mapping[str, Any],
        counted: Counted,
        groups: Groups | None = None,
        simulated: bool = False,
    ) -> None:
        keys: Sequence[Key] = [()] if groups is None else groups.keys
        self.columns: dict[str, Domain | None] = {} if groups is None else dict(groups.columns)
        self.simulated = simulated
        self.sources: Sources = new_source()
        if not (isinstance(header, Mapping) and self._fits(keys, counted)):
            rule = (
                "needs a header, a different key for each group, and integer counts of each group"
            )
            remedy = "Make one with mechanism.tally(reports)"
            raise ArgumentTypeError("tally", rule, None, remedy)
        self.header = dict(header)
        self.kind: TallyKind = counted.kind
        counts, sizes, rows, places = counted[1:]
        counts = counts.astype(np.int64, copy=False)
        sizes = sizes.astype(np.int64, copy=False)
        if self.columns:
            order = order_of(self.columns, keys)
            keys, sizes = [keys[i] for i in order.tolist()], sizes[order]
            if places is None:
                counts = counts[order]
            else:
                rank = np.empty(len(order), dtype=np.int64)
                rank[order] = np.arange(len(order))
                places = rank[places]
        if rows is not None and places is not None and not are_in_order(places, rows):
            places, rows, counts = count_rows_of_groups(places, rows, counts)
        self._keys: list[Key] = [tuple(key) for key in keys]
        self._place = {key: i for i, key in enumerate(self._keys)}
        self._table = _frozen(counts)
        self.sizes = _frozen(sizes)
        self.rows = None if rows is None else _frozen(rows)
        self._places = None if places is None else _frozen(places)

    def _fits(self, keys: Sequence[Key], counted: Counted) -> bool:
        """Whether the parts of a tally go together."""
        kind, counts, sizes, rows, places = counted
        numbers = counts.dtype.kind + sizes.dtype.kind
        if not isinstance(kind, TallyKind) or not set(numbers) <= set("iu"):
            return False
        if kind.keeps_reports:
            tables_fit = (
                isinstance(rows, np.ndarray)
                and isinstance(places, np.ndarray)
                and rows.dtype == np.uint8
                and rows.ndim == 2
                and (len(rows),) == places.shape == counts.shape
            )
        else:
            tables_fit = rows is None and len(counts) == len(keys)
        return (
            tables_fit
            and sizes.shape == (len(keys),)
            and bool((sizes >= 0).all())
            and all(len(key) == len(self.columns) for key in keys)
            and len(set(keys)) == len(keys)
            and type(self.simulated) is bool
        )

    @classmethod
    def from_counts(cls, mechanism: Any, counts: Mapping[Any, int]) -> Tally:
        """The tally of reports that were counted by hand, such as ticks on paper.

        Args:
            mechanism: of the reports, such as a design of :mod:`warner.designs`.
            counts: {word of a report: number of people}, for each of ``mechanism.report_words``.

        Returns:
            Tally: the same as of these reports one by one.

        Raises:
            ReportError: a word that the mechanism does not have; or a mechanism whose reports are
                no single words.
            ArgumentError: a word that is missing or there twice, or a negative number.
            ArgumentTypeError: no mapping, or a number of people that is no integer.
            EmptyError: no people.

        >>> from warner.designs import Crosswise
        >>> said = Tally.from_counts(Crosswise("1/4"), {"same": 680, "different": 320})
        >>> said.n, said.counts.tolist()
        (1000, [320, 680])
        """
        if not hasattr(counts, "items"):
            remedy = "Write {'yes': 40, 'no': 60}, with the words of the reports"
            raise ArgumentTypeError(
                "counts", "must be a dict {word: number of people}", kind(counts), remedy
            )
        people: dict[int, int] = {}
        for word, number in counts.items():
            code = mechanism.report_code(word)
            if code in people:
                rule, remedy = "must have each word once", "Add up the two counts of this word"
                twice = f"{show(mechanism.report_words[code])} twice"
                raise ArgumentError("counts", rule, twice, remedy)
            people[code] = integer(f"count of {word}", number, 0)
        for code, word in enumerate(mechanism.report_words):
            if code not in people:
                rule = f"lack the word {word!r}"
                remedy = f"Write {word}=0 if nobody said this word (in Python: {word!r}: 0)"
                raise ArgumentError("counts", rule, None, remedy)
        total = sum(people.values())
        if not total:
            raise EmptyError("counts", "must count at least one person")
        if total > _MOST_PEOPLE:
            raise ArgumentError("counts", f"must count at most {_MOST_PEOPLE} people", str(total))
        codes = np.arange(len(people))
        repeats = np.array([people[code] for code in range(len(people))], dtype=np.int64)
        tally: Tally = mechanism.count(mechanism.schema.parse(codes), repeats=repeats)
        return tally

    @classmethod
    def from_tallies(
        cls,
        names: str | Sequence[str],
        tallies: Mapping[Any, Tally] | Iterable[Tally],
        domain: Domain | None = None,
    ) -> Tally:
        """The tally of groups from one tally for each, such as one for each week.

        Args:
            names: the name of the public column, such as ``"week"``; or several names.
            tallies: {public value: tally}, where a key is a tuple if there are several columns; or
                a list, whose groups are numbered 1, 2, ....
            domain: of a single column, its domain; None for one without.

        Returns:
            Tally: ``estimate`` of it draws weeks towards those before and after, where ``time``
                names the column.

        Raises:
            EmptyError: no tallies.
            MismatchError: tallies of different mechanisms, or real ones among simulated ones.
            ArgumentTypeError: something that is no tally, or a tally that has groups.
            ArgumentError, ValuesError: a name or a value that a public column cannot have, or one
                tally in two groups.

        >>> from warner import Categorical, RandomizedResponse
        >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
        >>> weeks = [coin.tally(coin.randomize(["no", "yes"] * n)) for n in (3, 4)]
        >>> series = Tally.from_tallies("week", weeks)
        >>> {key: tally.n for key, tally in series.items()}
        {(1,): 6, (2,): 8}
        >>> list(Tally.from_tallies("week", {"2026-W02": weeks[1], "2026-W01": weeks[0]}))
        [('2026-W01',), ('2026-W02',)]
        """
        given = tallies if isinstance(tallies, Mapping) else dict(enumerate(tallies, 1))
        parts = list(given.values())
        if not parts:
            raise EmptyError("tallies", "must not be empty")
        for tally in parts:
            if not isinstance(tally, Tally) or tally.columns:
                rule, remedy = (
                    "must be tallies without groups, one for each new group",
                    'Pass {"north": tally, ...}',
                )
                raise ArgumentTypeError("tallies", rule, kind(tally), remedy)
        columns = [names] if isinstance(names, str) else list(names)
        keys = [key if isinstance(key, tuple) else (key,) for key in given]
        if any(len(key) != len(columns) for key in keys):
            rule = f"must have a value for each column in every key: {', '.join(columns)}"
            short = next(key for key in keys if len(key) != len(columns))
            raise ArgumentError("tallies", rule, show(short))
        values: dict[str, Any] = {
            name: [key[position] for key in keys] for position, name in enumerate(columns)
        }
        if domain is not None:
            values = {name: PublicColumn(domain, column) for name, column in values.items()}
        groups = group_people(values, len(parts))
        if len(groups.keys) < len(parts):
            rule = "must be of different groups"
            raise ArgumentError("tallies", rule, None, "Add up the tallies of each group first")
        require_different(keys, parts)
        position = {int(group): i for i, group in enumerate(groups.place)}
        return cls.side_by_side([parts[position[i]] for i in range(len(parts))], groups)

    @classmethod
    def side_by_side(cls, tallies: Sequence[Tally], groups: Groups) -> Tally:
        """The tally of groups from the tally of each, in the order of ``groups.keys``.

        Raises:
            EmptyError: no tallies.
            MismatchError: tallies of different kinds or mechanisms.
        """
        if not tallies:
            raise EmptyError("tallies", "must not be empty")
        for tally in tallies[1:]:
            require_same(tallies[0].header, tally.header, "tallies")
        tallies = _of_one_kind(tallies)
        first = tallies[0]
        for tally in tallies[1:]:
            if not first._adds_to(tally):
                got = f"{first.kind} and {tally.kind}"
                rule, remedy = (
                    "must be of the same kind to become groups",
                    "Count all reports in the same way",
                )
                raise MismatchError("tallies", rule, got, remedy)
        require_same_origin([t.simulated for t in tallies], "tallies")
        if first.rows is None:
            require_room(len(tallies), first.counts.size)
        parts = [(tally._counted(), np.array([i])) for i, tally in enumerate(tallies)]
        rounds = {tally.round for tally in tallies}
        made = cls(first.header, _added(parts, len(tallies)), groups, first.simulated)._but(
            reports_per_person=max(tally.reports_per_person for tally in tallies),
            sources=united_sources([tally.sources for tally in tallies]),
            is_trusted=all(tally.is_trusted for tally in tallies),
            round=first.round if len(rounds) == 1 else None,
            may_mix_rounds=any(tally.may_mix_rounds for tally in tallies),
            question=question_of(tallies),
        )
        return made.not_checked(chain(*(tally.unchecked for tally in tallies)))

    # A mapping of the public values of a group to its tally.

    def _place_of(self, key: Any) -> int:
        """The place of a group among all, by its public values or its only one."""
        if key not in self:
            columns = ", ".join(self.columns) or "no public columns"
            near = way_to_question(self.header, key)
            if not near and isinstance(key, str) and len(self.columns) == 1:
                near = meant(key, [str(only) for (only,) in self._keys]) or ""
            text = (
                f"There is no group {show(key)}. The groups are by {columns}. "
                f"{near or 'To see the groups, use list(tally)'}"
            )
            raise KeyError(text)
        return self._place[key if isinstance(key, tuple) else (key,)]

    def __getitem__(self, key: Any) -> Tally:
        i = self._place_of(key)
        counts, n, rows = self._table[i : i + 1], self.sizes[i : i + 1], None
        if self.rows is not None and self._places is not None:
            first, last = np.searchsorted(self._places, [i, i + 1])
            counts, rows = self._table[first:last].copy(), self.rows[first:last]
        places = None if rows is None else np.zeros(len(rows), dtype=np.int64)
        counted = Counted(self.kind, counts, n, rows, places)
        marks = frozenset([(self.sources, self._keys[i])]) if self.columns else self.sources
        one = self._like(counted, None)
        return one._but(sources=marks, survey_design=None, files=frozenset())

    def __iter__(self) -> Iterator[Key]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, key: object) -> bool:
        try:
            return (key if isinstance(key, tuple) else (key,)) in self._place
        except TypeError:
            return False

    def get(self, key: Any, default: Tally | None = None) -> Tally | None:
        """The tally of a group; the default where there is no such group."""
        if key not in self:
            return default
        return self[key]

    def keys(self) -> KeysView[Key]:
        """The public values of each group, in order; the empty tuple for all people together."""
        return self._place.keys()

    def values(self) -> ValuesView[Tally]:
        """The tally of each group, in the order of the keys."""
        return {key: self[key] for key in self._keys}.values()

    def items(self) -> ItemsView[Key, Tally]:
        """Pairs of public values and the tally of the group."""
        return {key: self[key] for key in self._keys}.items()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tally) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __getstate__(self) -> dict[str, Any]:
        """The attributes, with counts of few bytes."""
        return vars(self) | {"_table": narrow(self._table)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Arrays come back from a pickle as ones that can be written to.
        self.__dict__.update(state)
        self._table = self._table.astype(np.int64)
        for array in (self._table, self.sizes, self.rows, self._places):
            if array is not None:
                array.setflags(write=False)

    def __repr__(self) -> str:
        several = self.reports_per_person
        about = [
            f"{self.header.get('mechanism')}, epsilon={self.header.get('requested')}",
            *([f"by={list(self.names)}, groups={len(self)}"] if self.columns else []),
            f"n={self.n}",
            *([f"reports_per_person={several}"] if several > 1 else []),
            *(["simulated"] if self.simulated else []),
        ]
        return f"Tally({', '.join(about)})"

    def _repr_html_(self) -> str:
        from warner._core import html

        if not self.columns:
            rows = [["reports", f"{self.n:,}"], *_facts(self)]
            rows.append(["counts", f"{self.kind}, {' x '.join(map(str, self.counts.shape))}"])
            if self.counts.size:
                least, most = int(self.counts.min()), int(self.counts.max())
                rows.append(["least and largest count", f"{least:,} and {most:,}"])
            return html.table(["tally", ""], rows)
        rows = [
            [", ".join(map(str, key)), f"{size:,}"]
            for key, size in zip(self._keys[:_SHOWN], self.sizes[:_SHOWN].tolist(), strict=True)
        ]
        if len(self) > _SHOWN:
            rest = len(self) - _SHOWN
            rows.append([f"{rest:,} other groups", f"{int(self.sizes[_SHOWN:].sum()):,}"])
        about = f"{self.n:,} reports in {len(self):,} groups. " + "; ".join(
            f"{name}: {fact}" for name, fact in _facts(self)
        )
        return html.table([", ".join(self.names), "reports"], rows, about)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the public columns, in the order of the keys."""
        return tuple(self.columns)

    @property
    def n_groups(self) -> int:
        """The number of groups: 1 where all people are together."""
        return len(self)

    @property
    def n(self) -> int:
        """The number of reports of all groups."""
        return int(self.sizes.sum())

    @property
    def counts(self) -> np.ndarray:
        """The counts of each group along the first axis; without public columns those of all."""
        return self._table if self.columns or self.rows is not None else self._table[0]

    @property
    def ways(self) -> int | None:
        """The number of attributes of one marginal table; None for a tally of another kind."""
        return self.kind.ways

    @property
    def is_permanent(self) -> bool:
        """Whether devices keep the reports, and send them again in each round."""
        parts = self.header.get("parameters", {}).get("parts", ())
        stated = [self.header, *(one for each in parts for one in each if isinstance(one, dict))]
        return any(one.get("mechanism") == "Permanent" for one in stated)

    @property
    def row_counts(self) -> np.ndarray:
        """The number of times that every row of the mechanism's channel occurred, int64 (m,).

        The channel has m rows. Usually every row stands for one report, so a report counts once.
        Some tallies count the parts of reports instead. For reports of K bits there can be 2K rows:
        "bit j is 1" and "bit j is 0", for each j. A report then counts in K of them.
        """
        whole = self.total()
        return self.kind.row_counts(whole.counts, whole.n)

    @property
    def is_consistent(self) -> bool:
        """Whether the reports of each group can have its counts, as far as the kind alone says."""
        if self.rows is not None:
            return self.kind.is_consistent(self._table, self.n)
        pairs = zip(self._table, self.sizes.tolist(), strict=True)
        return all(self.kind.is_consistent(counts, n) for counts, n in pairs)

    def impossible(self) -> MismatchError:
        """The error of a tally that its mechanism cannot have made."""
        rule = f"has counts that {self.header['mechanism']} cannot have made"
        return MismatchError("tally", rule, None, AS_WRITTEN)

    # Sums.

    def total(self) -> Tally:
        """The tally of all people, whatever their group; equal to the tally without groups.

        Raises:
            EmptyError: no groups.
        """
        if not self.columns:
            return self
        if not self._keys:
            raise EmptyError("tally of groups", "has no groups")
        to = np.zeros(len(self), dtype=np.int64)
        return self._summed(to, 1, None)

    def by(self, *names: str) -> Tally:
        """Coarser groups: by some of the public columns, in the order given.

        Raises:
            ArgumentError: no names, a name twice, or no column of this tally.
        """
        if not names or len(set(names)) < len(names) or any(n not in self.columns for n in names):
            rule = "cannot be used: the tally has no public columns"
            if self.names:
                rule = f"must name public columns ({', '.join(self.names)}), each of them once"
            hints = [meant(str(name), self.names) for name in names if name not in self.names]
            remedy = next(filter(None, hints), None)
            if hints and self.names and remedy is None:
                by = ",".join(map(str, names))
                remedy = (
                    f"Count the reports by these columns (in a command: warner tally --by {by})"
                )
            raise ArgumentError("by", rule, ", ".join(map(show, names)) or "none", remedy)
        axes = [self.names.index(name) for name in names]
        coarse = [tuple(key[axis] for axis in axes) for key in self._keys]
        position = {key: i for i, key in enumerate(dict.fromkeys(coarse))}
        to = np.array([position[key] for key in coarse], dtype=np.int64)
        columns = {name: self.columns[name] for name in names}
        return self._summed(to, len(position), Groups(columns, list(position), to))

    def _summed(self, to: np.ndarray, size: int, groups: Groups | None) -> Tally:
        """The sums of the groups, each added to the one of ``size`` groups that ``to`` numbers."""
        made = self._like(_added([(self._counted(), to)], size), groups)
        if not self.is_permanent or ROUND not in self.columns:
            return made
        # Two rounds of a column are two tallies of the same people, as where tallies are added.
        axis = self.names.index(ROUND)
        rounds = {(i, key[axis]) for i, key in zip(to.tolist(), self._keys, strict=True)}
        return made._but(may_mix_rounds=True) if len(rounds) > len(set(to.tolist())) else made

    def among(self, name: str, values: Domain, value: str) -> Tally:
        """The same groups by one more public column, before the others: all people have one value.

        Rounds of the same people can then stand side by side, so the tally is of no round.
        """
        if name in self.columns:
            rule, remedy = (
                "must differ from the names of the columns of the groups",
                "Rename the column",
            )
            raise ArgumentError("column", rule, show(name), remedy)
        keys = [(value, *key) for key in self._keys]
        groups = Groups({name: values, **self.columns}, keys, np.arange(len(keys)))
        return self._like(self._counted(), groups).of_round(None)

    def sums(self) -> Tally:
        """The bit sums of a tally that keeps reports of bits; any other tally as it is.

        >>> from warner import Categorical, UnaryEncoding
        >>> bits = UnaryEncoding(Categorical(["a", "b", "c"]), 2.0)
        >>> reports = bits.randomize(["a", "b", "a"])
        >>> kept = bits.tally(reports, keep_reports=True)
        >>> kept.sums() == bits.tally(reports, keep_reports=False)
        True
        """
        bits = self.kind.bits if isinstance(self.kind, DistinctReports) else None
        if bits is None or self.rows is None or self._places is None:
            return self
        table = sum_bits_of_groups(self.rows, bits, self._places, len(self), self._table)
        keys = Groups(self.columns, self._keys, np.arange(len(self))) if self.columns else None
        return self._like(Counted(BitSums(), table, self.sizes), keys)

    def only(self, keys: Iterable[Any]) -> Tally:
        """The tally of some of the groups.

        Args:
            keys: their public values, as in ``tally[key]``.

        Raises:
            KeyError: a key that is no group of it.
        """
        places = np.array(sorted({self._place_of(key) for key in keys}), dtype=np.int64)
        rows, of, counts = self.rows, self._places, self._table
        if rows is None or of is None:
            counts = counts[places]
        else:
            is_chosen = np.isin(of, places)
            rows = rows[is_chosen]
            counts = counts[is_chosen]
            of = np.searchsorted(places, of[is_chosen])
        counted = Counted(self.kind, counts, self.sizes[places], rows, of)
        names = [self._keys[i] for i in places.tolist()]
        return self._like(counted, Groups(self.columns, names, places))

    def __add__(self, other: Any) -> Tally:
        if not isinstance(other, Tally):
            return NotImplemented
        made = merge_apart([self, other])
        warn_of_equal([self, other])
        warn_of_unknown_rounds([self, other])
        return made

    def _plus(self, other: Tally) -> Tally:
        """The sum, of which nobody is warned: parts of one count can be equal."""
        require_same(self.header, other.header, "tallies")
        require_same_origin([self.simulated, other.simulated], "tallies")
        require_one_round([self.round, other.round])
        if bool(self.columns) != bool(other.columns):
            rule = "a tally with groups and a tally without groups cannot be added"
            remedy = "Count both with the same groups, or use total() of the tally with groups"
            raise MismatchError("tallies", rule, None, remedy)
        columns = columns_of_both(self.columns, other.columns)
        if self.rows is not None or other.rows is not None:
            self, other = _of_one_kind([self, other])
        if not self._adds_to(other):
            got = f"{self.kind} and {other.kind}"
            rule, remedy = (
                "must be of the same kind to be added",
                "Count the reports of both in the same way",
            )
            raise MismatchError("tallies", rule, got, remedy)
        marks: dict[str, Any] = {
            "reports_per_person": max(self.reports_per_person, other.reports_per_person),
            "sources": added_sources(self.sources, other.sources),
            "is_trusted": self.is_trusted and other.is_trusted,
            "round": other.round if self.round is None else self.round,
            "may_mix_rounds": self.may_mix_rounds or other.may_mix_rounds,
            "survey_design": self.survey_design or other.survey_design,
            "unchecked": tuple(dict.fromkeys(self.unchecked + other.unchecked)),
            "question": question_of([self, other]),
            "files": files_together((one.n, one.files) for one in (self, other)),
        }
        if self.rows is None and self._keys == other._keys:  # the usual case, in which many add up
            return self._but(
                columns=columns,
                _table=_frozen(self._table + other._table),
                sizes=_frozen(self.sizes + other.sizes),
                **marks,
            )
        position = dict(self._place)
        for key in other._keys:
            position.setdefault(key, len(position))
        if self.rows is None:
            require_room(len(position), int(np.prod(self._table.shape[1:])))
        to = np.arange(len(self))
        their_to = np.array([position[key] for key in other._keys], dtype=np.int64)
        counted = _added([(self._counted(), to), (other._counted(), their_to)], len(position))
        groups = Groups(columns, list(position), their_to) if columns else None
        return self._like(counted, groups)._but(**marks)

    def __radd__(self, other: object) -> Tally:
        return self if other == 0 else NotImplemented  # so that sum(tallies) works

    def _adds_to(self, other: Tally) -> bool:
        """Whether the counts of two tallies are of one kind and of one shape."""
        widths = [None if tally.rows is None else tally.rows.shape[1] for tally in (self, other)]
        shapes = [tally._table.shape[1:] for tally in (self, other)]
        return self.kind == other.kind and widths[0] == widths[1] and shapes[0] == shapes[1]

    def _counted(self) -> Counted:
        return Counted(self.kind, self._table, self.sizes, self.rows, self._places)

    def _like(self, counted: Counted, groups: Groups | None) -> Tally:
        """A tally of other counts, and else like this one."""
        made = Tally(self.header, counted, groups, self.simulated)
        return made._but(**{name: getattr(self, name) for name in _MARKS})

    def _but(self, **attributes: Any) -> Tally:
        """The same tally with other attributes."""
        other = copy(self)
        vars(other).update(attributes)
        return other

    # Marks.

    def marked(self, simulated: bool = True) -> Tally:
        """The same counts, marked as those of simulated reports.

        Tallies of real and of simulated reports do not add. To add them anyway, mark the real one
        first; the sum is a simulation too.

        Args:
            simulated: False returns this tally as it is.
        """
        if not simulated or self.simulated:
            return self
        return self._but(simulated=True)

    def of_round(self, number: int | None) -> Tally:
        """The same counts, as those of one round of a study in which the same people report again.

        Tallies of different rounds do not add, because a sum counts people. Those of different
        people in one round do. What is counted with a study that says its round is marked so.

        Args:
            number: of the round, from 1; None for a tally that is of no round.

        >>> from warner import Categorical, RandomizedResponse
        >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
        >>> one, two = (coin.tally(coin.reports([0, 1])).of_round(n) for n in (1, 2))
        >>> one + two
        Traceback (most recent call last):
        ...
        warner._core.errors.MismatchError: tallies: come from the same people, ...
        """
        if number is None:
            return self._but(round=None)
        return self._but(round=integer("round", number, 1), may_mix_rounds=False)

    def of_any_rounds(self) -> Tally:
        """The same counts, of rows whose rounds nobody checked: permanent reports may be mixed."""
        is_known = self.round is not None or ROUND in self.columns
        return self._but(may_mix_rounds=self.is_permanent and not is_known)

    def of_survey(self, design: SurveyDesign | None) -> Tally:
        """The same counts, of people who were drawn as a study says; None where it says nothing."""
        return self._but(survey_design=design)

    def not_checked(self, what: Iterable[str]) -> Tally:
        """The same counts, with a record of what nothing could check of their reports.

        Args:
            what: clauses such as ``"which mechanism and epsilon made the reports"``.

        >>> from warner import Categorical, RandomizedResponse
        >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
        >>> tally = coin.tally(coin.reports([0, 1])).not_checked(["whether the file is complete"])
        >>> (tally + coin.tally(coin.reports([1]))).to_json()["unchecked"]
        ['whether the file is complete']
        """
        return self._but(unchecked=tuple(dict.fromkeys((*self.unchecked, *what))))

    def about(self, question: str) -> Tally:
        """The same counts, of a question with this name, which titles of tables have."""
        return self._but(question=question)

    def trusted(self) -> Tally:
        """The same counts, from which estimates are made even where no answers make them by chance.

        Estimates refuse counts that are far from all that the mechanism makes: they are usually
        answers that were not randomised, or reports of another epsilon. The trust is not kept in
        files.

        >>> from warner import Categorical, RandomizedResponse, estimate
        >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
        >>> answers = coin.tally(coin.reports([1] * 1000))
        >>> estimate(answers)
        Traceback (most recent call last):
        ...
        warner._core.errors.MismatchError: tally: has counts that chance cannot explain, ...
        >>> estimate(answers.trusted()).n
        1000
        """
        return self._but(is_trusted=True)

    def of_collectors(self, marks: Iterable[str]) -> Tally:
        """The same tally, as one that collectors of answers with these marks counted.

        Tallies with a mark in common are not added, and files keep the marks.

        Args:
            marks: random texts, one of each collector.
        """
        return self._but(sources=of_collectors(self.sources, marks))

    def of_files(self, fingerprints: Iterable[str]) -> Tally:
        """The same counts, as those of files with these fingerprints, of which 10,000 are kept."""
        return self._but(files=files_together([(self.n, frozenset(fingerprints))]))

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
        return self._but(sources=source_of_others())

    @property
    def chance_of_a_twin(self) -> float:
        """The largest probability that reports of other people have the same counts.

        Of all groups, whose people are different: see :meth:`chances_of_twins`, which is about the
        groups one by one.

        >>> from warner import Categorical, RandomizedResponse
        >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
        >>> 0 < coin.tally(coin.randomize(["no", "yes"] * 5000)).chance_of_a_twin < 0.01
        True
        """
        return float(self.chances_of_twins().prod())

    def chances_of_twins(self) -> np.ndarray:
        """The largest probability that reports of other people have a group's counts, (G,).

        For counts c of n reports it is sqrt(2 pi n) / prod sqrt(2 pi c), by Stirling's formula,
        under the law that makes them most probable. Of bits and digits, which depend on each other,
        the square root is taken, and of m tables of several attributes the m-th root. The people
        are others: where epsilon is large, the same answers have equal counts more often.
        """
        summed = self.sums()
        n = summed.sizes
        # Each distinct report that is kept is a count of its group.
        counts = summed._table.reshape(len(summed._table), -1)
        of = np.arange(len(n)) if summed._places is None else summed._places
        if summed.kind == BitSums():
            counts = np.hstack([counts, n[:, None] - counts])
        logs = np.bincount(of, _log_width(counts).sum(axis=1), minlength=len(n))
        tables = np.bincount(of, counts.sum(axis=1), minlength=len(n)) / np.maximum(n, 1)
        root = 1 if summed.kind.keeps_reports or summed.kind == Histogram() else 2
        roots = root if self.ways is None else np.maximum(tables, 1.0)
        return np.asarray(np.exp((tables * _log_width(n) - logs) / roots))

    def common_factors(self) -> np.ndarray:
        """The greatest common divisor of all counts of a group, (G,); 0 where all are 0.

        It is a multiple of d where each report was counted d times.
        """
        # The first few counts tell nearly always, of many values in a fraction of the time.
        table = self._table.reshape(len(self._table), -1)
        factors = np.gcd.reduce(table[:, :_FIRST], axis=1)
        rest = np.flatnonzero(factors != 1)
        factors[rest] = np.gcd.reduce(table[rest], axis=1)
        if self._places is None:
            return np.asarray(factors)
        of_groups = np.zeros(len(self), dtype=factors.dtype)
        np.gcd.at(of_groups, self._places, factors)
        return of_groups

    def contents(self) -> list[bytes]:
        """The counts of each group, or their bit sums, as bytes that are equal where they are."""
        summed = self.sums()
        if summed.rows is None or summed._places is None:
            return [counts.tobytes() for counts in summed._table]
        ends = np.searchsorted(summed._places, np.arange(len(self) + 1))
        return [
            summed.rows[start:stop].tobytes() + summed._table[start:stop].tobytes()
            for start, stop in pairwise(ends.tolist())
        ]

    def numbers_that_add_up(self) -> np.ndarray:
        """A number of the counts of each group, uint64 (G,): sums of tallies have their sums.

        Other counts have other numbers, but for a chance of about 2^-64.

        >>> from warner import Categorical, RandomizedResponse
        >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
        >>> a, b = (coin.tally(coin.randomize(["no", "yes"] * n)) for n in (50, 80))
        >>> bool((a + b).numbers_that_add_up() == a.numbers_that_add_up() + b.numbers_that_add_up())
        True
        """
        summed = self.sums()
        table = summed._table.reshape(len(summed._table), -1).astype(np.uint64)
        if summed.rows is None or summed._places is None:
            return np.asarray(table @ spread(np.arange(table.shape[1], dtype=np.uint64)))
        weights = np.zeros(len(table), dtype=np.uint64)
        for column in summed.rows.T:
            weights = spread(weights ^ column)
        numbers = np.zeros(len(self), dtype=np.uint64)
        np.add.at(numbers, summed._places, table[:, 0] * weights)
        return numbers

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
        if most > 1 and self.is_permanent:
            rule = "cannot be used for permanent reports, because a person's rounds share the noise"
            remedy = "Estimate each round by itself"
            raise ArgumentError("reports_per_person", rule, str(most), remedy)
        if most < self.reports_per_person:
            remedy = "Give the largest number of reports of one person"
            rule = f"must be at least {self.reports_per_person}, as the tally says already"
            raise ArgumentError("reports_per_person", rule, str(most), remedy)
        return self._but(reports_per_person=most)

    def times(self, weights: np.ndarray) -> Tally:
        """The same groups, in which each person counts as often as the weight of the group says.

        Args:
            weights: int64 (G,), in the order of the keys.
        """
        places = np.arange(len(self)) if self._places is None else self._places
        each = weights[places].reshape(-1, *(1,) * (self._table.ndim - 1))
        return self._but(_table=_frozen(self._table * each), sizes=_frozen(self.sizes * weights))

    # Files.

    @property
    def digest(self) -> str:
        """The SHA-256 checksum of the groups and their counts, as 64 hexadecimal digits.

        Equal tallies have equal digests.
        """
        parts = self._by(), self._keys, list(self._table.shape)
        mark = [self.simulated, self.reports_per_person]
        mark += [] if self.round is None else [self.round]
        mixed = ["may mix rounds"] if self.may_mix_rounds else []
        text = canonical([self.header, self.kind.name, *parts, *mark, *mixed]).encode()
        digest = hashlib.sha256(text)
        for array in (self.sizes, self._table, self._places):
            digest.update(b"" if array is None else array.astype("<i8").tobytes())
        digest.update(b"" if self.rows is None else self.rows.tobytes())
        return digest.hexdigest()

    def _by(self) -> list[list[Any]]:
        return [[name, None if d is None else d.spec()] for name, d in self.columns.items()]

    def to_json(self) -> dict[str, Any]:
        """The tally as JSON data, with its digest under ``"sha256"``."""
        distinct = {}
        if self.rows is not None and self._places is not None:
            rows = [row.tobytes().hex() for row in self.rows]
            distinct = {"rows": rows, "places": self._places.tolist()}
        several = self.reports_per_person
        return {
            "header": dict(self.header),
            "kind": self.kind.name,
            "by": self._by(),
            "groups": [list(key) for key in self._keys],
            "sizes": self.sizes.tolist(),
            "shape": list(self._table.shape),
            "counts": self._table.ravel().tolist(),
            **({"simulated": True} if self.simulated else {}),
            **({"reports_per_person": several} if several > 1 else {}),
            **({} if self.round is None else {"round": self.round}),
            **({"may_mix_rounds": True} if self.may_mix_rounds else {}),
            **({} if self.survey_design is None else {"survey": self.survey_design.roles}),
            **({"unchecked": [*self.unchecked]} if self.unchecked else {}),
            **distinct,
            "sha256": self.digest,
        }

    @classmethod
    def from_json(cls, data: Any) -> Tally:
        """The tally that :meth:`to_json` wrote.

        Raises:
            FileError: incomplete or altered data.
        """
        try:
            rows = places = None
            if "rows" in data:
                packed = np.frombuffer(bytes.fromhex("".join(data["rows"])), np.uint8)
                rows = packed.reshape(len(data["rows"]), -1)
                places = np.asarray(data["places"], dtype=np.int64)
            counted = Counted(
                tally_kind(data["kind"]),
                np.asarray(data["counts"], dtype=np.int64).reshape(data["shape"]),
                np.asarray(data["sizes"], dtype=np.int64),
                rows,
                places,
            )
            columns = {
                str(name): None if spec is None else domain_from_spec(spec)
                for name, spec in data["by"]
            }
            keys = [tuple(key) for key in data["groups"]]
            groups = Groups(columns, keys, np.arange(len(keys))) if columns else None
            tally = cls(data["header"], counted, groups, data.get("simulated", False))
            tally = tally.per_person(data.get("reports_per_person", 1))
            drawn = dict(data.get("survey", {}))
            design = SurveyDesign.of(*(drawn.get(role) for role in ROLES))
            tally = tally.of_round(data.get("round")).of_survey(design)
            tally = tally._but(may_mix_rounds=data.get("may_mix_rounds", False))
            tally = tally.not_checked(map(str, data.get("unchecked", ())))
            in_order = [list(key) for key in tally._keys] == data["groups"]
            intact = in_order and tally._by() == data["by"] and tally.digest == data["sha256"]
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError, IndexError):
            intact = False
        except WarnerError:
            intact = False
        if not intact:
            raise _altered("tally")
        return tally

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the tally as JSON to the file ``path``, whole or not at all.

        Raises:
            ArgumentError: a name that ends as another format does, such as ``.csv``.
            FileError: the file cannot be written.
        """
        save_tallies({"value": self}, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], question: str | None = None) -> Tally:
        """Read a tally of a file.

        Args:
            path: a file of :meth:`save`, or of ``warner tally``.
            question: whose tally, by its name in the study. Default: that of the only question.

        Raises:
            FileError: the file is not a tally or was altered; or it has several questions, and
                none was named.
            ArgumentError: the file has no tally of this question.
        """
        tallies = load_tallies(path)
        if question is not None:
            if question not in tallies:
                raise unknown("question", question, tallies, f"the questions of {path}")
            return tallies[question]
        if len(tallies) != 1:
            rule = f"has tallies of {len(tallies)} questions ({', '.join(tallies)})"
            remedy = f"Name one: Tally.load({str(path)!r}, {next(iter(tallies))!r})"
            raise FileError(str(path), rule, None, remedy)
        return next(iter(tallies.values()))


def _frozen(array: np.ndarray) -> np.ndarray:
    """A read-only view of the array."""
    view = array.view()
    view.setflags(write=False)
    return view


def files_together(parts: Iterable[tuple[int, frozenset[str]]]) -> frozenset[str]:
    """The fingerprints of the files in a sum, of the people and the fingerprints of its parts.

    They would be most of a tally file if many were kept. Where some are not known, AND_OTHERS says
    so, or a sum that has others too would look like a part of one that has all that it remembers.
    """
    files: set[str] = set()
    for people, of_part in parts:
        files |= of_part if of_part or not people else {AND_OTHERS}
    fingerprints = files - {AND_OTHERS}
    if len(fingerprints) > _MOST_FILES:
        fingerprints = set(sorted(fingerprints)[:_MOST_FILES])
    is_whole = not fingerprints or fingerprints == files
    return frozenset(fingerprints if is_whole else {*fingerprints, AND_OTHERS})


def spread(numbers: np.ndarray) -> np.ndarray:
    """As many numbers, uint64, that look random: those of SplitMix64."""
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))


def _facts(tally: Tally) -> list[list[str]]:
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
    rows += [["not checked", each] for each in tally.unchecked]
    return [*rows, ["simulated", "yes"]] if tally.simulated else rows


def _of_one_kind(tallies: Sequence[Tally]) -> Sequence[Tally]:
    """The same tallies, where some keep their reports of bits, with what all of them have."""
    # A sum has bit sums if a term has, and if it has become too large for tallies that were to keep
    # reports while they are few. Both hold of a sum as soon as they hold of a part of it, so the
    # order does not matter.
    kinds = {tally.kind for tally in tallies}
    keeping = {kind for kind in kinds if isinstance(kind, DistinctReports) and kind.bits}
    if (
        not keeping
        or len({kind.bits for kind in keeping}) > 1
        or not kinds - keeping <= {BitSums()}
    ):
        return tallies
    narrowest = max(keeping, key=lambda kind: kind.while_few)
    if kinds - keeping or not narrowest.keeps(sum(tally.n for tally in tallies)):
        return [tally.sums() for tally in tallies]
    return [tally._but(kind=narrowest) for tally in tallies]


def _log_width(counts: np.ndarray) -> np.ndarray:
    """log(c! / (c / e)^c) of each count c, within 0.005: that of sqrt(2 pi c), and 0 of 0."""
    c = np.maximum(counts, 1).astype(np.float64)
    return np.where(counts > 0, np.log(2 * np.pi * c) / 2 + 1 / (12 * c + 1), 0.0)


def _added(parts: Sequence[tuple[Counted, np.ndarray]], groups: int) -> Counted:
    """The sum of tables, each with the places of its groups in the sum."""
    first = parts[0][0]
    sizes = np.zeros(groups, dtype=np.int64)
    for counted, to in parts:
        np.add.at(sizes, to, counted.sizes)
    with_rows = [(c.counts, c.rows, to[c.places]) for c, to in parts if c.rows is not None]
    if with_rows:
        counts, rows, places = map(np.concatenate, zip(*with_rows, strict=True))
        return Counted(first.kind, counts, sizes, rows, places)
    table = np.zeros((groups, *first.counts.shape[1:]), dtype=np.int64)
    for counted, to in parts:
        if not len(to):
            continue
        order = np.argsort(to, kind="stable")
        different, start = np.unique(to[order], return_index=True)
        table[different] += np.add.reduceat(counted.counts[order], start, axis=0)
    return Counted(first.kind, table, sizes)


TalliesOfGroups = Tally | Mapping[Any, Tally] | Sequence[Tally]
"""A tally by public columns, several by the same columns, or {public values: tally}."""


def save_tallies(tallies: Mapping[str, Tally], path: str | os.PathLike[str]) -> None:
    """Write named tallies, one per attribute, to one JSON file, whole or not at all."""
    require_tally_ending(path)
    write_whole(path, dump_tallies(tallies).encode())


def require_tally_ending(path: str | os.PathLike[str]) -> None:
    """Refuse a name of a tally file whose ending says another format."""
    remedy = "Let the name end in .json. For CSV, run: warner estimate -o shares.csv"
    require_ending(path, ".json", remedy=remedy)


def dump_tallies(tallies: Mapping[str, Tally]) -> str:
    """Named tallies, one per attribute, as the text of a tally file."""
    for name in tallies:
        legible("name of a question", str(name))
    named = {name: tally.to_json() for name, tally in tallies.items()}
    collected = sorted({mark for t in tallies.values() for mark in collectors_of(t.sources)})
    counted = sorted(files_together((t.n, t.files) for t in tallies.values()))
    data = {
        "format": "warner-tally",
        "schema": SCHEMA,
        **({"collectors": collected} if collected else {}),
        **({"files": counted} if counted else {}),
        "attributes": named,
        "sha256": hashlib.sha256(canonical(named).encode()).hexdigest(),
    }
    return json.dumps(data, ensure_ascii=True) + "\n"


def load_tallies(path: str | os.PathLike[str]) -> dict[str, Tally]:
    """The named tallies of a file that :func:`save_tallies` or :meth:`Tally.save` wrote."""
    return parse_tallies(read_whole(path), str(path))


def parse_tallies(text: bytes, name: str) -> dict[str, Tally]:
    """The named tallies in the text of a tally file; ``name`` is the file's name in messages."""
    attributes, collected, counted = _content(text, name)
    try:
        tallies = {
            attribute: Tally.from_json(entry).of_collectors(collected).of_files(counted)
            for attribute, entry in attributes.items()
        }
        intact = dump_tallies(tallies).encode() == text
    except (FileError, RecursionError):
        intact = False
    if not intact:
        raise _altered(name)
    for attribute, tally in tallies.items():
        # The same content of the same file is the same tally.
        source = frozenset([(os.path.abspath(name), attribute, tally.digest)])
        tallies[attribute] = tally._but(sources=source).of_collectors(collected)
    return tallies


def _content(text: bytes, name: str) -> tuple[dict[str, Any], list[str], list[str]]:
    """The entries of the attributes in a tally file, and marks of collectors and of files."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        if b'"warner-tally"' in text[:200]:
            if getattr(error, "msg", "") == "Extra data" and text.count(b'"warner-tally"') > 1:
                rule = "holds several tallies, one behind the other"
                remedy = "Add them with 'warner merge', which takes the file of each"
                raise FileError(name, rule, None, remedy) from None
            raise FileError(name, "is cut off", None, _COUNT_AGAIN) from None
        data = None
    if (
        not isinstance(data, dict)
        or data.get("format") != "warner-tally"
        or not isinstance(data.get("attributes"), dict)
    ):
        remedy = f"{RANDOMISE_FIRST}. If these are reports, run: warner tally FILE"
        raise FileError(name, "is not a tally file", None, remedy)
    if data.get("schema") != SCHEMA:
        rule = f"must have format {SCHEMA} for this version of warner"
        got = show(data["schema"]) if "schema" in data else "none"
        remedy = f"{_COUNT_AGAIN}, or use the version that wrote the file"
        raise FileError(name, rule, got, remedy)
    if not data["attributes"]:
        raise EmptyError(name, "holds no tally", None, _COUNT_AGAIN)
    for attribute in data["attributes"]:
        if (problem := unreadable(attribute)) is not None:
            rule = f"the name of a question contains {problem}"
            raise FileError(name, rule, show(attribute), AS_WRITTEN)
    marks = data.get("collectors", []), data.get("files", [])
    if not all(isinstance(of, list) and all(isinstance(m, str) for m in of) for of in marks):
        raise _altered(name)
    return data["attributes"], *marks


def _altered(name: str) -> FileError:
    """The error of a tally or tally file whose checksum is wrong."""
    rule = "was changed after warner wrote it, or is not complete"
    return FileError(name, rule, None, _COUNT_AGAIN)


def require_tally(tally: Any) -> None:
    """Refuse anything but a tally."""
    if not isinstance(tally, Tally):
        remedy = "Count reports first: mechanism.tally(reports)"
        raise ArgumentTypeError("tally", "must be a tally", kind(tally), remedy)


def question_of(tallies: Iterable[Tally]) -> str:
    """The name of the question that all tallies are of; "" where they do not say one."""
    names = {tally.question for tally in tallies}
    return names.pop() if len(names) == 1 else ""


def merge(tallies: Iterable[Tally]) -> Tally:
    """The sum of tallies of one mechanism."""
    parts = list(tallies)
    if not parts:
        raise EmptyError("tallies", "must not be empty")
    return reduce(Tally._plus, parts)


def merge_apart(tallies: Sequence[Tally]) -> Tally:
    """The sum of tallies that were counted apart, marked where they may be of several rounds."""
    made = merge(tallies)
    return made._but(may_mix_rounds=True) if _may_mix_rounds(tallies) else made


def require_same_origin(simulated: Iterable[bool], name: str) -> None:
    """Refuse real reports among simulated ones."""
    if len(set(simulated)) > 1:
        rule = "must not combine real and simulated reports"
        remedy = (
            "Leave out the simulated reports, or mark all reports as simulated, with "
            "tally.marked() in Python and --allow-simulated in a command"
        )
        raise MismatchError(name, rule, None, remedy)


def require_one_round(rounds: Iterable[int | None]) -> None:
    """Refuse tallies of several rounds, which are of the same people."""
    first, *others = dict.fromkeys(number for number in rounds if number is not None) or [None]
    if others:
        rule = (
            f"come from the same people, in rounds {first} and {others[0]}, so their sum would "
            "count each person twice"
        )
        remedy = (
            "Estimate each round by itself (in a command: --by file, without --total). To compare "
            "two rounds, use --compare-groups --same-people (in Python: "
            "compare_groups(same_people=True))"
        )
        raise MismatchError("tallies", rule, None, remedy)


ROUND = "round"
"""The column of a table that says in which round of the same people each row was reported."""

OF_TWO_ROUNDS = (
    "If they are of two rounds, the same people are counted twice, and intervals are too short."
)
"""What is said of permanent reports that are added without their rounds."""


def warn_of_unknown_rounds(tallies: Sequence[Tally], by: Sequence[str] = ()) -> None:
    """Warn of permanent reports that are added and may be of several rounds of the same people.

    ``by`` are the public columns that make the groups; none for all that the tallies have.
    """
    if _may_mix_rounds(tallies, by):
        text = (
            "Permanent reports were added as if all came from different people, but they may be "
            f"of several rounds. {OF_TWO_ROUNDS} If they are of one round, say which: "
            "tally.of_round(1) in Python, or warner tally with --round 1."
        )
        warn(text, FrameWarning)


def _may_mix_rounds(tallies: Sequence[Tally], by: Sequence[str] = ()) -> bool:
    """Whether a sum can have two rounds of the same people: in a group of several tallies."""
    if any(tally.may_mix_rounds for tally in tallies):
        return True
    if not any(
        tally.is_permanent and tally.round is None and ROUND not in (by or tally.names)
        for tally in tallies
    ):
        return False
    keys = []  # of the groups of each tally, which stand side by side where no two have the same
    for tally in tallies:
        names = [name for name in by or tally.names if name in tally.names]
        places = [tally.names.index(name) for name in names]
        keys.append({tuple(key[i] for i in places) for key in tally})
    return sum(map(len, keys)) > len(set().union(*keys))


def total_of_round(
    tallies: Mapping[str, Tally], of_rounds: Mapping[str, Domain], source: str
) -> dict[str, Tally]:
    """{attribute: tally} of the one round in columns ``of_rounds`` by which people were counted.

    Several rounds of the same people are a MismatchError.
    """
    (column,) = of_rounds
    one = next(iter(tallies.values()))
    rounds = dict.fromkeys(n for tally in tallies.values() for (n,) in tally.by(column))
    first, *others = rounds
    if others:
        rule = (
            f"has several rounds of the same people in its column {column}, so their sum would "
            "count each person more than once"
        )
        remedy = (
            "Count the rows of each round by themselves. To have the rounds side by side, declare "
            f"the column in the study, as [public.{column}], and count by it"
        )
        raise MismatchError(source, rule, f"rounds {first} and {others[0]}", remedy)
    beside = [name for name in one.names if name != column]
    totals = {n: tally.by(*beside) if beside else tally.total() for n, tally in tallies.items()}
    if not isinstance(first, int):  # a study may have its own names of rounds
        return totals
    return {name: tally.of_round(first) for name, tally in totals.items()}


def of_one_round(
    tallies: Mapping[str, Tally], number: int, who: str, remedy: str, source: str = "reports"
) -> dict[str, Tally]:
    """The same {attribute: tally}, of a round as ``who``; tallies of another are refused."""
    for tally in tallies.values():
        if tally.round not in (None, number):
            rule, got = f"must be of round {number}, as {who}", f"round {tally.round}"
            raise MismatchError(source, rule, got, remedy)
    return {name: tally.of_round(number) for name, tally in tallies.items()}


_NAMED = {"mechanism": "the mechanism", "version": "version", "requested": "epsilon"}
"""Entries of headers whose values messages show, and what they are called there."""


def _same_in_another_order(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two different domains, as data, list the same labels."""
    listed = [sorted(map(repr, domain.get("values", ()))) for domain in (one, other)]
    return bool(listed[0]) and listed[0] == listed[1]


def require_same(
    ours: Mapping[str, Any],
    theirs: Mapping[str, Any],
    name: str,
    who: tuple[str, str] = ("the first has", "the second has"),
    remedy: str = "",
) -> None:
    """Refuse headers that differ; the message names the first difference."""
    if ours == theirs:
        return
    remedy = remedy or "Combine only reports of one and the same mechanism"
    for key in ("mechanism", "version", "requested", "parameters", "thresholds", "domain"):
        if ours.get(key) != theirs.get(key):
            said = "different values" if key == "domain" else f"different {key}"
            if key == "domain" and _same_in_another_order(ours[key], theirs[key]):
                said = "the same values in another order"
            if key in _NAMED:
                our_value, other = (show(header.get(key)) for header in (ours, theirs))
                said = f"{who[0]} {_NAMED[key]} {our_value}, and {who[1]} {other}"
            if ours.get("mechanism") == "Optimal" and key == "parameters":
                said = "their tables of chances (Optimal) differ"
                remedy = (
                    "Estimate each tally by itself. In the next survey, put the rows that 'warner "
                    "study check --rows' prints into the study, so that all computers use one table"
                )
            raise MismatchError(name, f"do not belong together: {said}", None, remedy)
    rule = "do not belong together: their mechanisms or values differ"
    raise MismatchError(name, rule, None, remedy)
