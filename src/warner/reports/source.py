"""One way to count: sources of reports give histograms or batches, and :func:`count` adds them.

A source is wherever reports stand: in a data frame, a file, the result of a query, a cluster. A new
one is a class with the four members of :class:`ReportSource`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

import numpy as np

from warner._core.errors import EmptyError, ReportError
from warner._core.progress import stage
from warner.domains import Domain
from warner.reports.public_columns import Groups
from warner.reports.rules import BitRule
from warner.reports.tally import Tally

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

    def any_breaks(self, rule: BitRule, masks: Mapping[str, int]) -> bool:
        """Whether any row breaks a rule of bits; ``masks`` are {column: mask}."""


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


class ReportSource(Protocol):
    """Where the reports of one or more attributes stand.

    Attributes:
        n: the number of reports of each attribute; None where it is known at the end only.
    """

    @property
    def n(self) -> int | None: ...

    def histograms(self, by: By) -> Histograms | None:
        """The columns, counted where they are stored; None where they can only be read."""

    def names(self, attribute: str) -> Sequence[str]:
        """The columns of an attribute's reports, in the order of ``schema.file_columns()``."""

    def batches(self, by: By) -> Iterator[Batch]:
        """All reports, some rows at a time."""

    def locate(self, error: ReportError, attribute: str | None) -> Exception:
        """The error of wrong reports that says where they stand: the file, the row."""


class Counted(Protocol):
    """What a mechanism must know of its reports to have them counted."""

    @property
    def header(self) -> dict[str, Any]: ...

    @property
    def schema(self) -> Any: ...

    def count(
        self,
        columns: Mapping[str, np.ndarray],
        groups: Groups | None = None,
        *,
        repeats: np.ndarray | None = None,
        ways: int | None = None,
        keep_reports: bool = False,
    ) -> Tally: ...


def count(
    mechanisms: Mapping[str, Counted],
    source: ReportSource,
    by: By | None = None,
    *,
    ways: int | None = None,
    keep_reports: bool = False,
    progress: Progress | None = None,
) -> dict[str, Tally]:
    """Count the reports of a source, of all people or of each group of people.

    Args:
        mechanisms: {attribute: the mechanism that made its reports}. A mechanism of tuples may
            stand for all attributes of the source together.
        source: where the reports stand.
        by: {public column: its domain or None}.
        ways: the number of attributes of each marginal table, for tuples.
        keep_reports: whether to keep the distinct reports of bits.
        progress: called with (done, total) where the source knows how many reports it has.

    Returns:
        {attribute: Tally}.

    Raises:
        EmptyError: no reports.
        ReportError: reports that the mechanism cannot have sent, as the source locates them.
    """
    public, attribute = by or {}, None
    try:
        by_columns = ways is None and all(
            m.schema.group_bys and not (keep_reports and m.schema.can_keep_reports)
            for m in mechanisms.values()
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
                    options: dict[str, Any] = {"ways": ways, "keep_reports": keep_reports}
                    tally = mechanism.count(columns, batch.groups, repeats=batch.repeats, **options)
                    tallies[attribute] = (
                        tallies[attribute] + tally if attribute in tallies else tally
                    )
                advance(tally.n)
    except ReportError as error:
        problem = source.locate(error, attribute)
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
