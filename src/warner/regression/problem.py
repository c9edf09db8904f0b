"""From reports and covariates to the data of a regression."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from warner._core.checks import kind
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    ImpossibleReportError,
)
from warner.channels import FloatArray, IntArray, LikelihoodOperator
from warner.domains import Domain
from warner.mechanisms import from_header
from warner.mechanisms.base import Mechanism
from warner.regression.covariates import Design, design_of
from warner.reports.reports import Reports

_LARGEST_ROWS = 2**27  # entries of the likelihoods of the different reports


@dataclass(frozen=True, eq=False)
class Problem:
    """Reports as rows of a channel.

    Attributes:
        channel: A (m, K).
        row: (n,) the row of each report.
        domain: the K values.
    """

    channel: LikelihoodOperator
    row: IntArray
    domain: Domain

    @property
    def n(self) -> int:
        """The number of reports."""
        return len(self.row)

    @cached_property
    def _different(self) -> tuple[IntArray, IntArray]:
        """The rows that occur, (r,), and which of them each report has, (n,)."""
        used, report = np.unique(self.row, return_inverse=True)
        return used, report.astype(np.int64)

    @property
    def report(self) -> IntArray:
        """(n,) the place of each report among the different ones."""
        return self._different[1]

    def likelihoods(self) -> tuple[FloatArray, FloatArray]:
        """The likelihoods of the r different reports.

        Returns (r, K).
        """
        used = self._different[0]
        if used.size * self.domain.size > _LARGEST_ROWS:
            rule, got = "have too many different reports and values", f"{used.size:,}"
            raise ArgumentError("reports", rule, got, "Merge values, or use regress_mean")
        rows = self.channel.rows(used)
        scale = rows.max(axis=1)
        if (scale <= 0).any():
            rule = "hold a report that has probability 0 whatever the value is"
            raise ImpossibleReportError("reports", rule)
        logs = np.log(scale) + self.channel.log_factors_of(used)
        return rows / scale[:, None], np.asarray(logs)


def problem_of(reports: Reports, attribute: str | None) -> Problem:
    """The reports of one attribute as rows of a channel."""
    if not isinstance(reports, Reports):
        remedy = "Use mechanism.randomize, mechanism.reports or warner.io"
        rule = "must be Reports, one for each person"
        raise ArgumentTypeError("reports", rule, kind(reports), remedy)
    mechanism: Mechanism = from_header(reports.header)
    mechanism.check(reports)
    columns: Mapping[str, np.ndarray] = reports.columns
    if attribute is not None:
        mechanism, columns = mechanism.reports_about(columns, attribute)
    rule = "must be whole reports, each of which has a probability for every value"
    if not mechanism.has_report_channel:
        remedy = "Name one attribute of several (attribute=...), or send keys with key='direct'"
        raise ArgumentError("reports", rule, repr(mechanism), remedy)
    channel, row = mechanism.channel_of_reports(columns)
    return Problem(channel, np.asarray(row, dtype=np.int64), mechanism.domain)


def covariates_of(covariates: Any, formula: str | None, n: int) -> tuple[Design, FloatArray]:
    """The design of covariates, and its columns (n, p), one row for each report."""
    design, matrix = design_of(covariates, formula)
    if len(matrix) != n:
        rule, remedy = f"must have a row for each of the {n} reports, in their order", "Check both"
        raise ArgumentError("covariates", rule, f"{len(matrix)} rows", remedy)
    return design, matrix
