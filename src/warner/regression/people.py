"""The people of a regression: their reports, and the columns that stand beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from warner._core.checks import kind, show
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    ImpossibleReportError,
    MismatchError,
)
from warner._core.foreign_tables import in_order_of
from warner._core.survey_design import DrawnSample, SurveyDesign
from warner._core.text import meant
from warner.channels import FloatArray, IntArray, LikelihoodOperator
from warner.domains import Domain
from warner.mechanisms import from_header
from warner.mechanisms.base import Mechanism
from warner.regression.covariates import Column, Design, columns_of, design_of
from warner.reports.reports import Reports
from warner.results.from_tally import likelihood_data, tested

_LARGEST_ROWS = 2**27  # entries of the likelihoods of the different reports


@dataclass(frozen=True, eq=False)
class Problem:
    """Reports as rows of a channel.

    Attributes:
        channel: A (m, K).
        row: (n,) the row of each report.
        domain: the K values.
        people: (n,) whose reports they are; fewer than all who sent one where each person was asked
            some questions only.
    """

    channel: LikelihoodOperator
    row: IntArray
    domain: Domain
    people: IntArray

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
            raise ArgumentError("reports", rule, got, "Merge values, or use kind='mean'")
        rows = self.channel.rows(used)
        scale = rows.max(axis=1)
        if (scale <= 0).any():
            rule = "hold a report that has probability 0 whatever the value is"
            raise ImpossibleReportError("reports", rule)
        logs = np.log(scale) + self.channel.log_factors_of(used)
        return rows / scale[:, None], np.asarray(logs)


def problem_of(reports: Reports, attribute: str | None, trusted: bool) -> Problem:
    """The reports of one attribute as rows of a channel, refused where no answers make them."""
    mechanism: Mechanism = from_header(reports.header)
    mechanism.check(reports)
    if attribute is None:
        mechanism.require_whole_reports()
        channel, row = mechanism.channel_of_reports(reports.columns)
        people, domain = np.arange(len(row)), mechanism.domain
        counts, data = mechanism.count(reports.columns), None
    else:
        channel, row, people = mechanism.reports_about(reports.columns, attribute)
        domain = mechanism.attribute_domains[attribute]
        counts = mechanism.count(reports.columns, ways=1)
        data = likelihood_data(counts, [attribute])
    tested(counts.trusted() if trusted else counts, data, "reports")
    return Problem(channel, np.asarray(row, dtype=np.int64), domain, people)


@dataclass(frozen=True, eq=False)
class Answers:
    """The reports of n people as likelihoods of the K values.

    Attributes:
        rows: (r, K) the likelihoods of the different reports, each up to a factor.
        logs: (r,) the logarithms of these factors.
        report: (n,) the place of the report of each person.
        domain: the K values.
        people: (n,) who the people are, among all who reported.
    """

    rows: FloatArray
    logs: FloatArray
    report: IntArray
    domain: Domain
    people: IntArray

    @classmethod
    def of(cls, problems: Sequence[Problem]) -> Answers:
        """The reports of groups of people, one after the other."""
        rows, logs = zip(*(problem.likelihoods() for problem in problems), strict=True)
        starts = np.cumsum([0, *(len(each) for each in rows)])
        reports = [p.report + start for p, start in zip(problems, starts, strict=False)]
        people = np.concatenate([problem.people for problem in problems])
        stacked = np.concatenate(rows), np.concatenate(logs), np.concatenate(reports)
        return cls(*stacked, problems[0].domain, people)


def _listed(reports: Any) -> tuple[Reports, ...]:
    """Reports, or a list of them, as a tuple."""
    listed = reports if isinstance(reports, list | tuple) and reports else [reports]
    for each in listed:
        if not isinstance(each, Reports):
            remedy = "Use mechanism.randomize, mechanism.reports or warner.io"
            rule = "must be Reports, one for each person"
            raise ArgumentTypeError("reports", rule, kind(each), remedy)
    return tuple(listed)


@dataclass(frozen=True, eq=False)
class People:
    """People with their reports, and the public columns beside them.

    Attributes:
        sources: the reports; of people in groups that were asked differently those of each group.
        covariates: columns with a row for each of these reports, one group after the other.
        formula: the right side of a formula; None for all columns.
        survey: the columns that say how people were drawn.
        random: the column with groups whose people are alike.
        named: {question: reports, as ``sources``} of several questions to the same people.
    """

    sources: tuple[Reports, ...]
    covariates: Any
    formula: str | None
    survey: SurveyDesign | None = None
    random: str | None = None
    named: Mapping[str, tuple[Reports, ...]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        reports: Any,
        covariates: Any,
        formula: str | None,
        survey: SurveyDesign | None = None,
        random: str | None = None,
    ) -> People:
        """People with reports, with a list of the reports of groups, or with several questions."""
        if isinstance(reports, Mapping) and reports:
            named = {str(name): _listed(each) for name, each in reports.items()}
            sources = next(iter(named.values()))
            for name, each in named.items():
                if list(map(len, each)) != list(map(len, sources)):
                    rule = "must have a report of each person to each question"
                    raise ArgumentError("reports", rule, f"another number to {name!r}")
            return cls(sources, covariates, formula, survey, random, named)
        return cls(_listed(reports), covariates, formula, survey, random)

    @property
    def total(self) -> int:
        """The number of people."""
        return sum(map(len, self.sources))

    @property
    def simulated(self) -> bool:
        """Whether any reports are a simulation."""
        return any(reports.simulated for reports in self.sources)

    @property
    def attributes(self) -> list[str]:
        """The questions in one report of a person; of one question none."""
        return list(from_header(self.sources[0].header).attribute_domains)

    def problems(
        self, attribute: str | None, trusted: bool, named: str | None = None
    ) -> list[Problem]:
        """The reports of each group as rows of its channel, of the question that is named."""
        problems: list[Problem] = []
        start = 0
        for reports in self.sources if named is None else self.named[named]:
            problem = problem_of(reports, attribute, trusted)
            problems.append(replace(problem, people=problem.people + start))
            start += len(reports)
            if problem.domain != problems[0].domain:
                rule, got = "must be of one question, with the same values", show(problem.domain)
                raise MismatchError("reports", rule, got)
        return problems

    @cached_property
    def columns(self) -> dict[str, Column]:
        """All columns, in the order of the reports."""
        index = self.sources[0].index if len(self.sources) == 1 else None
        columns = columns_of(in_order_of(index, self.covariates, "covariates"))
        if (length := len(next(iter(columns.values())))) != self.total:
            rule = f"must have a row for each of the {self.total} reports, in their order"
            raise ArgumentError("covariates", rule, f"{length} rows", "Check both")
        if self.survey is not None:
            self.survey.require_columns(columns, "the covariates")
        if self.random is not None:
            self.column("random", self.random, columns)
        return columns

    def column(self, role: str, name: Any, columns: dict[str, Column] | None = None) -> Column:
        """A column that an argument names."""
        columns = self.columns if columns is None else columns
        if name not in columns:
            rule = f"must be the name of a column: {', '.join(columns)}"
            raise ArgumentError(role, rule, show(name), meant(str(name), list(columns)))
        return columns[name]

    def of_each(self, attribute: str | None, trusted: bool, named: str | None) -> Answers:
        """The answers of all people; whoever was not asked has a report that tells nothing."""
        answers = Answers.of(self.problems(attribute, trusted, named))
        if len(answers.people) == self.total:
            return answers
        report = np.full(self.total, len(answers.rows))
        report[answers.people] = answers.report
        rows = np.concatenate([answers.rows, np.ones((1, answers.domain.size))])
        logs = np.append(answers.logs, 0.0)
        return Answers(rows, logs, report, answers.domain, np.arange(self.total))

    @property
    def set_aside(self) -> set[str]:
        """The columns that are no covariates, unless a formula names them."""
        drawn = () if self.survey is None else self.survey.columns
        return {*drawn, *(() if self.random is None else (self.random,))}

    def sample(self, asked: IntArray, most: int) -> DrawnSample | None:
        """How the people were drawn who were asked, refused for more coefficients than clusters."""
        if self.survey is None:
            return None
        drawn = self.survey.sample(self.columns, np.ones(self.total)).of_rows(asked)
        if drawn.degrees + 1 <= most:
            rule = f"must be more than the {most} coefficients of an equation"
            got = str(drawn.degrees + 1)
            raise ArgumentError("clusters, less strata, and 1", rule, got, "Use fewer covariates")
        return drawn

    def design(self) -> tuple[Design, FloatArray]:
        """How the covariates become columns, and these columns (n, p) of all people."""
        columns = self.columns
        if self.formula is None:
            columns = {name: c for name, c in columns.items() if name not in self.set_aside}
            if not columns:
                rule = "must have a column beside those of the survey design and of random="
                raise ArgumentError("covariates", rule, None, "Pass formula='1' for the intercept")
        return design_of(columns, self.formula)

    def groups(self, asked: IntArray) -> IntArray:
        """(n,) the number of the group, of those with random intercepts, of each person asked."""
        different, group = np.unique(self.columns[str(self.random)][asked], return_inverse=True)
        if not 2 <= len(different) < len(asked):
            rule = "must have several groups, and several people in a group"
            got = f"{len(different)} groups of {len(asked)} people"
            raise ArgumentError(f"random {self.random!r}", rule, got)
        return np.asarray(group.ravel(), dtype=np.int64)
