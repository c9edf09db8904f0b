"""Counts that people write by hand: a table of attribute, value and count, in words of reports.

    attribute,value,count
    cannabis,same,680
    cannabis,different,320

Further columns are public columns, such as the ward, and make a tally for each group. Where a study
asks one question, the column ``attribute`` may be left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from warner._core.checks import show
from warner._core.errors import EmptyError, FileError, ReportError
from warner._core.extras import pa
from warner._core.text import meant
from warner.domains import Domain
from warner.io.public_values import groups_in, indices_of
from warner.mechanisms import Mechanism
from warner.reports.tally import Tally
from warner.reports.tally_kinds import Counted

VALUE, COUNT, ATTRIBUTE = "value", "count", "attribute"


class _Line(NamedTuple):
    """A line of the table: its number in the file, and its entries."""

    number: int
    attribute: str
    word: str
    people: int
    key: tuple[str, ...]


class CountsByHand:
    """A table of counts by hand. Made by :func:`~warner.io.read_counts`.

    Args:
        path: the file.
        names: the names of the columns.
        lines: the number of each line, and its cells.

    Raises:
        FileError: a line with too few cells, or whose count is no whole number.
    """

    by_hand = True

    def __init__(
        self, path: str, names: Sequence[str], lines: Sequence[tuple[int, list[str]]]
    ) -> None:
        self.path = path
        lower = [name.strip().lower() for name in names]
        self.by = tuple(
            name.strip()
            for name, each in zip(names, lower, strict=True)
            if each not in (VALUE, COUNT, ATTRIBUTE)
        )
        self._lines: list[_Line] = []
        for number, cells in lines:
            where = f"{path}: line {number}"
            if len(cells) < len(names):
                raise FileError(where, "has too few cells")
            of = dict(zip(lower, (cell.strip() for cell in cells), strict=False))
            if not (of[COUNT].isascii() and of[COUNT].isdecimal()):
                rule = "count must be a whole number of people"
                raise FileError(where, rule, None, "Write it without points and blanks: 1200")
            key = tuple(of[name.lower()] for name in self.by)
            count = int(of[COUNT])
            self._lines.append(_Line(number, of.get(ATTRIBUTE, ""), of[VALUE], count, key))

    def tallies(
        self, mechanisms: Mapping[str, Mechanism], public: Mapping[str, Domain], study: str
    ) -> dict[str, Tally]:
        """The tallies of all attributes: see :meth:`warner.io.sql_counts.CountsTable.tallies`.

        Raises:
            EmptyError: no people.
            FileError: a column, an attribute or a public value that the study does not have; a
                count that is there twice; or a report that no line counts, in a group that has
                lines of its attribute.
            ReportError: a word that is no report.
        """
        if unknown := [name for name in self.by if name not in public]:
            rule = f"has a column {show(unknown[0])}, which is no public column of the study"
            remedy = meant(unknown[0], [ATTRIBUTE, *public]) or f"Declare it: [public.{unknown[0]}]"
            raise FileError(self.path, rule, None, remedy)
        keys = list(dict.fromkeys(line.key for line in self._lines))
        groups = None
        number_of = dict.fromkeys(keys, 0)
        if self.by:
            columns = {name: pa.array([key[i] for key in keys]) for i, name in enumerate(self.by)}
            of = {name: public[name] for name in self.by}
            rule = "holds values that the study does not declare"
            indices = {n: indices_of(self.path, n, of[n], c, rule=rule) for n, c in columns.items()}
            groups = groups_in(of, indices)
            number_of = dict(zip(keys, groups.place.tolist(), strict=True))
        size = 1 if groups is None else len(groups.keys)
        tables = {}
        for name, mechanism in mechanisms.items():
            if not mechanism.report_words:
                rule = f"cannot count {name!r}, whose reports are no words"
                raise FileError(self.path, rule, None, "Give the reports themselves")
            tables[name] = np.full((size, mechanism.n_reports), -1, dtype=np.int64)
        for line in self._lines:
            name, code = self._read(line, mechanisms)
            if tables[name][number_of[line.key], code] >= 0:
                raise FileError(self._where(line), "counts a report twice", None, "Add them up")
            tables[name][number_of[line.key], code] = line.people
        if not sum(line.people for line in self._lines):
            raise EmptyError(self.path, "counts nobody")
        tallies = {}
        for name, mechanism in mechanisms.items():
            lacks = tables[name] < 0
            # A group without any line of the attribute has no people in it.
            lacks &= ~lacks.all(axis=1, keepdims=True) | lacks.all()
            for group, missing in np.argwhere(lacks):
                rule = f"has no count of {mechanism.report_words[missing]!r} of {name!r}"
                if self.by and not lacks.all():
                    key = next(key for key in keys if number_of[key] == group)
                    pairs = zip(self.by, key, strict=True)
                    rule += (
                        f" where {' and '.join(f'{by} is {show(value)}' for by, value in pairs)}"
                    )
                raise FileError(self.path, rule, None, "Write 0 if nobody said it")
            table = np.maximum(tables[name], 0)
            counted = Counted(mechanism.schema.tally_kind, table, table.sum(axis=1))
            tallies[name] = Tally(mechanism.header, counted, groups)
        return tallies

    def _read(self, line: _Line, mechanisms: Mapping[str, Mechanism]) -> tuple[str, int]:
        """The attribute and the report of a line."""
        name = line.attribute or next(iter(mechanisms))
        if name not in mechanisms or (not line.attribute and len(mechanisms) > 1):
            rule = f"must be of an attribute of the study: {', '.join(mechanisms)}"
            near = meant(line.attribute, mechanisms)
            raise FileError(self._where(line), rule, show(line.attribute), near)
        problem = None
        try:
            return name, mechanisms[name].report_code(line.word)
        except ReportError as error:
            problem = f"{self._where(line)}: {error}"
        raise ReportError(problem)

    def _where(self, line: _Line) -> str:
        return f"{self.path}: line {line.number}"


def is_by_hand(names: Sequence[str]) -> bool:
    """Whether the names of columns are those of counts by hand.

    >>> is_by_hand(["Attribute", "value", "count"]), is_by_hand(["attribute", "part", "value"])
    (True, False)
    """
    return {VALUE, COUNT} <= {name.strip().lower() for name in names}
