"""The collector's half of a mechanism: checks of reports, tallies and channels."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from warner._core.checks import kind
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    EmptyError,
    MismatchError,
    ReportError,
    message,
)
from warner._core.foreign_tables import ColumnNames, foreign_table
from warner.channels import Channel, LikelihoodOperator
from warner.domains import Domain, Product
from warner.mechanisms.description import Description
from warner.reports.grouped_tally import GroupedTally, require_room
from warner.reports.marginal_tables import attribute_names
from warner.reports.public_columns import Groups, group_people
from warner.reports.reports import Reports
from warner.reports.schema import columns_from, each_group
from warner.reports.tally import Tally, require_same


class Collector(Description):
    """Counts reports and says how they depend on values. Abstract: a subclass has a channel.

    Attributes:
        has_report_channel: whether single reports have a channel, see :meth:`channel_of_reports`.
    """

    has_report_channel = True

    @abstractmethod
    def channel(self) -> Channel:
        """The channel from K values to the rows of counts of this mechanism's tallies."""

    def reports(self, outputs: Any, column: ColumnNames = None) -> Reports:
        """Check reports that were made elsewhere, and give them this mechanism's header.

        Args:
            outputs: one integer column, a dict of columns, or for bit reports an (n, K) array of
                zeros and ones. Or a data frame of any library, eager or lazy.
            column: of a frame, the column of a report of one number; the beginning of the names of
                several columns; or {name in the schema: name in the frame}. None looks for the
                names of the schema and of report files.

        Returns:
            Reports: the checked reports, with this mechanism's header.

        Raises:
            ReportError: outputs that this mechanism cannot have sent, or a frame without the
                columns of its reports.
            ArgumentError: a column of something that is no frame.

        >>> from warner import Categorical, RandomizedResponse
        >>> import pyarrow
        >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
        >>> answers = pyarrow.table({"week": [1, 1, 2], "said": [0, 1, 1]})
        >>> coin.reports(answers, column="said")
        Reports(RandomizedResponse, n=3)
        """
        table = foreign_table(outputs)
        if table is not None:
            found: Reports = table.reports(self, column)
            return found
        refuse_column(column)
        return Reports(self.header, columns_from(self.schema, outputs))

    def check(self, reports: Reports) -> None:
        """Refuse reports of another mechanism, or reports that this mechanism cannot have sent.

        Args:
            reports: anything.

        Raises:
            ArgumentTypeError: not Reports.
            MismatchError: another mechanism, budget, domain, version or law.
            EmptyError: no reports.
            ReportError: wrong columns, or values that cannot be sent.
        """
        if not isinstance(reports, Reports):
            raise ArgumentTypeError(
                message(
                    "reports",
                    "must be Reports",
                    kind(reports),
                    "Pass mechanism.reports(outputs), or a data frame with a column of them",
                )
            )
        require_same(self.header, reports.header, "mechanism and reports")
        if len(reports) == 0:
            raise EmptyError(message("reports", "must not be empty"))
        expected = self.schema.empty(0)
        if reports.columns.keys() != expected.keys():
            raise ReportError(
                message("reports", f"must have the columns {', '.join(expected)} and no others")
            )
        for name, column in expected.items():
            found = reports.columns[name]
            if found.dtype != column.dtype or found.shape[1:] != column.shape[1:]:
                raise ReportError(
                    message(
                        "reports",
                        f"column {name!r} must be {column.dtype} of shape (n, *{column.shape[1:]})",
                    )
                )
        self.schema.check(reports.columns)

    def tally(
        self, reports: Any, keep_reports: bool = False, *, column: ColumnNames = None
    ) -> Tally:
        """Count reports. The tallies of batches add up exactly to the tally of all reports.

        Args:
            reports: n reports made by this mechanism. Or a data frame with such reports, eager or
                lazy, of any library: it is counted by its own GROUP BY.
            keep_reports: whether to keep the distinct reports of K bits instead of their bit sums.
                Estimates can then use the likelihood of whole reports, but the tally grows with n.
                Tallies of other reports do not change.
            column: of a frame, the columns of the reports; as in :meth:`reports`. A frame does not
                say which mechanism made them: only their ranges are checked.

        Returns:
            Tally: the counts.

        Raises:
            MismatchError: reports of another mechanism, budget, domain or version.
            ReportError: reports that this mechanism cannot have sent, or a frame without the
                columns of its reports.
            ArgumentError: a column of something that is no frame.

        >>> from warner import Categorical, RandomizedResponse
        >>> import pyarrow
        >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
        >>> coin.tally(pyarrow.table({"week": [1, 1, 2], "said": [0, 1, 1]}), column="said").n
        3
        """
        table = foreign_table(reports)
        if table is not None:
            found: Tally = table.tally(self, column, keep_reports, None)
            return found
        refuse_column(column)
        self.check(reports)
        if keep_reports and self.schema.can_keep_reports:
            counted = self.schema.count_distinct(reports.columns)
            return Tally(self.header, *counted).marked(reports.simulated)
        return self.tally_columns(reports.columns).marked(reports.simulated)

    def tally_by(
        self,
        reports: Any,
        by: Any,
        keep_reports: bool = False,
        ways: int | None = None,
        *,
        column: ColumnNames = None,
    ) -> GroupedTally:
        """Count the reports of each group of people, by public columns such as a ward or a week.

        Args:
            reports: n reports made by this mechanism, or a data frame with them; as in
                :meth:`tally`.
            by: {name: values}, n values of each public column in the order of the reports. They are
                texts, integers, booleans or dates, or a
                :class:`~warner.reports.public_columns.PublicColumn` with its domain. Of a frame
                also the name of one of its columns, several names, or {name: domain}.
            keep_reports: as in :meth:`tally`.
            ways: for PerAttribute, the number of attributes that each table combines.
            column: of a frame, the columns of the reports; as in :meth:`reports`.

        Returns:
            GroupedTally: {values of the public columns: Tally}. Those of batches add up exactly.

        Raises:
            MismatchError, ReportError: as :meth:`tally`. ReportError also for public values of a
                frame that are missing or were never declared.
            ValuesError: a public value that is missing or was never declared, by its position.
            ArgumentError: no columns, columns of another length, or more groups than there is
                memory for.

        >>> from warner import Categorical, RandomizedResponse
        >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
        >>> groups = coin.tally_by(coin.randomize(["no", "yes", "no"]), {"year": [1, 1, 2]})
        >>> {key: tally.n for key, tally in groups.items()}
        {(1,): 2, (2,): 1}
        >>> import pyarrow
        >>> table = pyarrow.table({"week": [1, 1, 2], "said": [0, 1, 1]})
        >>> list(coin.tally_by(table, "week", column="said"))
        [(1,), (2,)]
        """
        table = foreign_table(reports)
        if table is not None:
            found: GroupedTally = table.tally_by(self, by, column, keep_reports, ways)
            return found
        refuse_column(column)
        self.check(reports)
        groups = group_people(by, len(reports))
        counted = self.tally_groups(reports.columns, groups, None, ways, keep_reports)
        return counted.marked(reports.simulated)

    def tally_groups(
        self,
        columns: Mapping[str, np.ndarray],
        groups: Groups,
        repeats: np.ndarray | None = None,
        ways: int | None = None,
        keep_reports: bool = False,
    ) -> GroupedTally:
        """Count the reports of groups, given as columns and already checked.

        Args:
            columns: the schema's columns, n rows.
            groups: the group of each report.
            repeats: int64 (n,), how often each report counts; None to count every report once.
            ways: as in :meth:`tally_columns`.
            keep_reports: as in :meth:`tally`.

        Raises:
            ArgumentError: as :meth:`tally_columns`, or more groups than there is memory for.
        """
        n = len(groups.keys)
        if ways is not None:
            self.tally_columns({name: c[:0] for name, c in columns.items()}, None, ways)
        if keep_reports and self.schema.can_keep_reports and repeats is None:
            found = each_group(
                lambda part, _: Tally(self.header, *self.schema.count_distinct(part)),
                columns,
                groups.place,
                n,
            )
            return GroupedTally.of(found, groups)
        require_room(n, self.schema.cells)
        counted = self.schema.count_groups(columns, groups.place, n, repeats)
        return GroupedTally(self.header, groups.columns, groups.keys, counted)

    def tally_columns(
        self,
        columns: Mapping[str, np.ndarray],
        repeats: np.ndarray | None = None,
        ways: int | None = None,
    ) -> Tally:
        """Count reports that are given as columns and already checked.

        Args:
            columns: the schema's columns, n rows.
            repeats: int64 (n,), how often each report counts; None to count every report once.
            ways: for PerAttribute, the number of attributes that each table combines.

        Returns:
            Tally: the counts.

        Raises:
            ArgumentError: ``ways`` for a mechanism of a single report.
        """
        if ways is not None:
            raise ArgumentError(
                message(
                    "ways",
                    "goes with reports of several attributes",
                    type(self).__name__,
                    "Leave it out",
                )
            )
        return Tally(self.header, *self.schema.count(columns, repeats))

    def channel_for(
        self, tally: Tally, attributes: Sequence[str] | None = None
    ) -> tuple[LikelihoodOperator, np.ndarray, Domain]:
        """The estimation problem of a tally.

        Args:
            tally: a tally of this mechanism's reports.
            attributes: the names of the attributes to estimate, in order; None for all.
                PerAttribute has its own version, for attributes that are randomised separately.

        Returns:
            The channel (m, K), how often each of its rows occurred (m,), and the K values.

        Raises:
            ArgumentError: ``attributes`` of a domain that has none, or attributes that can only be
                estimated together with the others.
            MismatchError: a tally of marginal tables, which only PerAttribute makes, or counts that
                no reports have.
        """
        if attributes is not None and self.attribute_domains:
            return marginal_problem(self.channel_for(tally), self.attribute_domains, attributes)
        if attributes is not None:
            raise ArgumentError(
                message(
                    "attributes",
                    "go with reports of several",
                    type(self).__name__,
                    "Leave them out, or tally tuples: PerAttribute, --ways 2",
                )
            )
        if tally.rows is not None:
            return self.report_channel(tally.rows), tally.counts, self.domain
        if tally.ways is not None:
            raise MismatchError(
                message(
                    "tally",
                    f"of tuples does not go with {type(self).__name__}",
                    str(tally.kind),
                    "Was the file altered?",
                )
            )
        if not self.schema.may_have(tally.counts, tally.n):
            rule = f"has counts that no reports of {type(self).__name__} have"
            raise MismatchError(message("tally", rule, None, "Was the file altered?"))
        return self.channel(), tally.row_counts, self.domain

    def report_channel(self, rows: np.ndarray) -> LikelihoodOperator:
        """The channel whose rows are the given reports.

        Args:
            rows: uint8 (m, bytes), the distinct reports that a tally keeps, as in ``tally.rows``.
                Each row of the array holds the bytes of one report.

        Returns:
            The channel (m, K). Its row i is proportional to Pr(report i | value).

        Raises:
            MismatchError: a mechanism whose tallies keep no reports.
        """
        raise MismatchError(
            message("tally", f"of single reports does not go with {type(self).__name__}")
        )

    def channel_of_reports(
        self, columns: Mapping[str, np.ndarray]
    ) -> tuple[LikelihoodOperator, np.ndarray]:
        """A channel whose rows are whole reports, and the row of each report.

        It exists only where ``has_report_channel`` is True.

        Args:
            columns: the schema's columns, n rows.

        Returns:
            The channel (m, K), and the row number of each report, (n,) in 0..m-1.
        """
        return self.channel(), self.schema.index(columns)

    def reports_about(
        self, columns: Mapping[str, np.ndarray], attribute: str
    ) -> tuple[Collector, Mapping[str, np.ndarray]]:
        """The reports about one of several attributes that are randomised separately.

        Args:
            columns: the schema's columns, n rows.
            attribute: the name of the attribute.

        Returns:
            The attribute's mechanism, and the columns of its schema, n rows.

        Raises:
            ArgumentError: no such attribute is randomised by itself.
        """
        rule = "goes with reports of several attributes that are randomised separately"
        raise ArgumentError(message("attribute", rule, type(self).__name__, "Leave it out"))


def refuse_column(column: ColumnNames) -> None:
    """Refuse the name of a column where there is no frame."""
    if column is not None:
        rule = "names a column of a data frame, and the reports are none"
        raise ArgumentError(message("column", rule, None, "Leave it out"))


def marginal_problem(
    problem: tuple[LikelihoodOperator, np.ndarray, Domain],
    known: Mapping[str, Domain],
    attributes: Sequence[str],
) -> tuple[LikelihoodOperator, np.ndarray, Domain]:
    """The estimation problem of some attributes, from the problem of all attributes.

    Args:
        problem: the channel (m, K), counts (m,) and domain of all ``known`` attributes.
        known: {attribute: domain}, in the order of the problem.
        attributes: the names of the attributes to keep, in the order of the result.

    Returns:
        The channel, counts and domain of the attributes that are kept.

    Raises:
        ArgumentError: an unknown name, or reports that have no marginal.
    """
    channel, counts, _ = problem
    names = list(known)
    asked = attribute_names(attributes, names)
    shape = [domain.size for domain in known.values()]
    found = channel.marginal(counts, shape, [names.index(name) for name in asked])
    if found is None:
        together = ", ".join(names)
        raise ArgumentError(
            message(
                "attributes",
                f"cannot be taken out of reports of {together} together",
                ", ".join(asked),
                "Estimate all of them, and take estimate.marginal([...])",
            )
        )
    return *found, Product(**known).select(asked)
