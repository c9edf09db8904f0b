"""One way to count: sources of reports give histograms or batches, and :func:`count` adds them.

A source is wherever reports stand: in a data frame, a file, the result of a query, a cluster. A new
one is a class with the members of :class:`ReportSource`; ``mechanism.tally(source, by)`` takes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from warner._core.checks import show
from warner._core.errors import ArgumentError, ArgumentTypeError, EmptyError, ReportError
from warner._core.foreign_tables import ColumnNames, register_reader
from warner._core.progress import stage
from warner._core.text import meant
from warner.domains import Domain
from warner.reports.public_columns import Groups
from warner.reports.rules import BitRule
from warner.reports.tally import Tally, merge

_SHOWN = 8  # names of columns that a message lists

By = Mapping[str, Domain | None]
"""The public columns that group people, with their domains; none for all people together."""

Progress = Callable[[int, int], object]
"""Called with (done, total) while reports are counted."""


class Histograms(Protocol):
    """Columns of reports in a database or a data frame, which counts them by GROUP BY."""

    def groups(self) -> Groups | None:
        """The groups of people, numbered as the first axis of counts; None for all together."""

    def counts(self, columns: Mapping[str, int]) -> np.ndarray:
        """The number of rows of each group with each tuple of values, (G, ...).

        Args:
            columns: {name: how many values it may take}.
        """

    def any_breaks(self, rule: BitRule, names: Sequence[str]) -> bool:
        """Whether any row breaks a rule of bits; ``names`` are the columns."""


class Batch(NamedTuple):
    """Some rows of a source.

    Attributes:
        columns: {attribute: the columns of its reports}, typed and checked, n rows each.
        groups: the group of each report; None for all people together.
        repeats: int64 (n,), how often each report counts; None for once.
    """

    columns: Mapping[str, Mapping[str, np.ndarray]]
    groups: Groups | None = None
    repeats: np.ndarray | None = None


@runtime_checkable
class ReportSource(Protocol):
    """Where reports stand, and how many of each attribute; None where only the end tells."""

    @property
    def n(self) -> int | None: ...

    def histograms(self, by: By) -> Histograms | None:
        """The columns, counted where they are stored; None where they can only be read."""

    def names(self, attribute: str) -> Sequence[str]:
        """The columns of an attribute's reports, in the order of ``schema.file_columns()``."""

    def batches(self, by: By) -> Iterator[Batch]:
        """All reports, some rows at a time."""

    def locate(self, error: ReportError) -> Exception:
        """The error of wrong reports that says where they stand: the file, and the row if known."""


class Counted(Protocol):
    """What a mechanism must know of its reports to have them counted."""

    @property
    def header(self) -> dict[str, Any]: ...

    @property
    def schema(self) -> Any: ...

    @property
    def count(self) -> Callable[..., Tally]: ...

    def keeps_reports(self, n: int) -> bool: ...


def count(
    mechanisms: Mapping[str, Counted],
    source: ReportSource,
    by: By | None = None,
    *,
    ways: int | None = None,
    keep_reports: bool | None = False,
    progress: Progress | None = None,
) -> dict[str, Tally]:
    """{attribute: Tally} of the reports of a source, of all people or of each group of people.

    A mechanism of tuples may stand for all attributes together, with marginal tables of ``ways`` of
    them. ``keep_reports`` keeps distinct reports of bits; None where each mechanism does for the
    number of reports that the source states. Wrong reports are a ReportError that says where.
    """
    public = by or {}
    keeps = dict.fromkeys(mechanisms, keep_reports)
    if keep_reports is None:
        # None tells a batch to keep its reports while all of them are few.
        few = ways is None and source.n is not None
        keeps = {
            name: None if few and m.keeps_reports(source.n or 0) else False
            for name, m in mechanisms.items()
        }
    try:
        by_columns = ways is None and all(
            m.schema.group_bys and not (keeps[name] is not False and m.schema.can_keep_reports)
            for name, m in mechanisms.items()
        )
        histograms = source.histograms(public) if by_columns else None
        tallies: dict[str, Tally] = {}
        if histograms is not None:
            total = sum(m.schema.group_bys for m in mechanisms.values())
            with _counting(total, source, progress) as advance:
                observed, groups = _Observed(histograms, advance), histograms.groups()
                for attribute, mechanism in mechanisms.items():
                    counted = mechanism.schema.count_histograms(observed, source.names(attribute))
                    tallies[attribute] = Tally(mechanism.header, counted, groups)
            return tallies
        with _counting(source.n or 0, source, progress) as advance:
            for batch in source.batches(public):
                for attribute, mechanism in mechanisms.items():
                    columns = batch.columns.get(attribute)
                    if columns is None:
                        columns = mechanism.schema.join(batch.columns)
                    options: dict[str, Any] = {"ways": ways, "keep_reports": keeps[attribute]}
                    tally = mechanism.count(columns, batch.groups, repeats=batch.repeats, **options)
                    before = [tallies[attribute]] if attribute in tallies else []
                    tallies[attribute] = merge([*before, tally])
                advance(tally.n)
    except ReportError as error:
        problem = source.locate(error)
    else:
        if not any(tally.n for tally in tallies.values()):
            raise EmptyError("data", "holds no reports")
        return tallies
    raise problem


@contextmanager
def _counting(
    total: int, source: ReportSource, progress: Progress | None
) -> Iterator[Callable[[int], None]]:
    """The stage of counts: a function that is called with the number of further steps done."""
    if source.n is None:
        yield lambda more: None
        return
    done = 0
    with stage("counting", total) as tell:

        def advance(more: int) -> None:
            nonlocal done
            done += more
            tell(done)
            if progress is not None:
                progress(done, total)

        yield advance


class _Observed:
    """Histograms that say when one is done; see Histograms."""

    def __init__(self, histograms: Histograms, advance: Callable[[int], None]) -> None:
        self._histograms, self._advance = histograms, advance
        self.groups, self.any_breaks = histograms.groups, histograms.any_breaks

    def counts(self, columns: Mapping[str, int]) -> np.ndarray:
        table = self._histograms.counts(columns)
        self._advance(1)
        return table


@dataclass(frozen=True)
class _SourceTable:
    """A source where a mechanism expects reports: see ``warner._core.foreign_tables``."""

    source: ReportSource
    names: Sequence[str] = ()  # a source answers for the columns that it is asked for

    def reports(self, mechanisms: Mapping[str, Counted], columns: Mapping[str, ColumnNames]) -> Any:
        rule, remedy = (
            "must be in memory to be listed one by one",
            "Count them with mechanism.tally(source)",
        )
        raise ArgumentTypeError("reports", rule, f"a {type(self.source).__name__}", remedy)

    def tally(
        self,
        mechanisms: Mapping[str, Counted],
        columns: Mapping[str, ColumnNames],
        by: Any,
        **options: Any,
    ) -> dict[str, Tally]:
        if any(named is not None for named in columns.values()):
            rule = (
                f"must be left out, because a {type(self.source).__name__} names its columns itself"
            )
            raise ArgumentError("column", rule, show(next(iter(columns.values()))))
        public = {} if by is None else public_columns(by)
        if public is None:
            rule, remedy = "must be names of public columns", "For example by=['ward']"
            raise ArgumentTypeError("by", rule, "values", remedy)
        return count(mechanisms, self.source, public, **options)


def public_columns(by: Any, names: Sequence[str] | None = None) -> dict[str, Domain | None] | None:
    """{name: domain or None} of public columns; None where values are given instead of names.

    ``names`` are the columns that there are; None where the source knows them.
    """
    if isinstance(by, Mapping) and not all(isinstance(of, Domain | None) for of in by.values()):
        return None
    public: dict[str, Domain | None] = {}
    if isinstance(by, Mapping):
        public = dict(by)
    elif isinstance(by, str):
        public = {by: None}
    elif isinstance(by, Sequence) and all(isinstance(name, str) for name in by):
        public = dict.fromkeys(by)
    wrong = [] if names is None else [name for name in public if name not in names]
    if not public or wrong:
        what = "public column" if names is None else "column of the frame"
        rule = f"must be a {what}, a list of columns, or {{name: values}}"
        hints = [meant(name, names or ()) for name in wrong]
        listed = [] if names is None else [f"Columns: {few(names)}"]
        remedy = " ".join([*filter(None, hints), *listed]) or None
        raise ArgumentError("by", rule, ", ".join(map(show, wrong)) or show(by), remedy)
    return public


def few(names: Sequence[str]) -> str:
    """Names of columns for a message, not more than eight."""
    more = f", ... ({len(names)} in all)" if len(names) > _SHOWN else ""
    return ", ".join(map(str, names[:_SHOWN])) + more


register_reader(lambda data: _SourceTable(data) if isinstance(data, ReportSource) else None)
