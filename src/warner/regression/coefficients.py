"""The coefficients of a regression, their errors, tests and tables."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from warner._core.checks import kind
from warner._core.errors import ArgumentError, ArgumentTypeError, ImpossibleReportError
from warner._core.survey_design import DrawnSample, SurveyDesign
from warner._core.table import Column, Table, Tabular
from warner.channels import FloatArray, IntArray, LikelihoodOperator
from warner.domains import Domain
from warner.mechanisms import from_header
from warner.mechanisms.base import Mechanism
from warner.regression.covariates import Design, columns_of, design_of
from warner.regression.likelihood import Ending
from warner.reports.reports import Reports
from warner.results.from_tally import likelihood_data, tested
from warner.results.intervals import DESIGN_EFFECT, normal_quantile
from warner.results.tables import reports_of


@dataclass(frozen=True)
class WaldTest:
    """A Wald test of "all of these coefficients are 0".

    Attributes:
        statistic: chi-square.
        degrees: the degrees of freedom, the number of coefficients.
        p: the probability of a statistic as large, if all coefficients are 0.
        of_errors: those of the covariance, of a survey with a design; else infinite.
    """

    statistic: float
    degrees: int
    p: float
    of_errors: float = math.inf


@dataclass(frozen=True, eq=False)
class Coefficients(Tabular):
    """Estimated coefficients of E equations with p columns, and their covariance.

    Attributes:
        coefficients: (E, p).
        covariance: (E p, E p), of the coefficients in C order.
        names: (p,) the names of the columns; the intercept is ``Intercept``.
        outcomes: (E,) the value of each equation.
        n: the number of reports.
        errors: ``"observed"``, ``"sandwich"`` or ``"linearised"``, what the covariance is made of.
        status: how the fit ended. Its text says what to do.
        simulated: whether the reports are a simulation.
        design: how covariates become columns.
        survey: the weights, clusters and strata of the people; None without any.
        independent: (E p,) the variances that the coefficients would have of as many people who
            were drawn one by one with equal probabilities; None without a survey design.
        degrees: the degrees of freedom of the errors, infinite or (E p,) of a survey with a design.
            Tests and intervals then take Student's t in place of the normal distribution.
    """

    coefficients: FloatArray
    covariance: FloatArray = field(repr=False)
    names: tuple[str, ...]
    outcomes: tuple[Any, ...]
    n: int
    errors: str
    status: Ending
    simulated: bool
    design: Design = field(repr=False)
    survey: DrawnSample | None = field(repr=False)
    independent: FloatArray | None = field(repr=False)
    degrees: FloatArray = field(repr=False)

    def __post_init__(self) -> None:
        self.coefficients.setflags(write=False)
        self.covariance.setflags(write=False)

    @property
    def standard_errors(self) -> FloatArray:
        """The standard errors (E, p)."""
        variances = np.maximum(self.covariance.diagonal(), 0.0)
        return np.sqrt(variances).reshape(self.coefficients.shape)

    @property
    def z(self) -> FloatArray:
        """Coefficients divided by their standard errors, (E, p)."""
        errors = self.standard_errors
        safe = np.where(errors > 0, errors, 1.0)
        exact = np.where(self.coefficients == 0, 0.0, np.copysign(np.inf, self.coefficients))
        return np.where(errors > 0, self.coefficients / safe, exact)

    @property
    def design_effects(self) -> FloatArray | None:
        """By how much the survey design raises the variances, (E, p); None without a design.

        It compares with as many people who were drawn one by one with equal probabilities.
        """
        if self.independent is None:
            return None
        variances = self.covariance.diagonal() / self.independent
        return np.asarray(variances.reshape(self.coefficients.shape))

    @property
    def p_values(self) -> FloatArray:
        """Two-sided p-values (E, p) of "this coefficient is 0", see :attr:`degrees`."""
        z = np.abs(self.z)
        if self.survey is not None:
            from scipy.special import stdtr

            return np.asarray(2 * stdtr(self.degrees.reshape(z.shape), -z))
        tails = [math.erfc(value / math.sqrt(2)) for value in z.ravel()]
        return np.array(tails).reshape(z.shape)

    def interval(self, level: float = 0.95) -> FloatArray:
        """Confidence intervals (E, p, 2) of the coefficients, see :attr:`degrees`.

        Args:
            level: coverage of each interval by itself, in [0.5, 1).

        Raises:
            ArgumentError: a level outside [0.5, 1).
        """
        reaches = [normal_quantile(level, degrees) for degrees in self.degrees.ravel().tolist()]
        each = np.array(reaches).reshape(self.coefficients.shape if len(reaches) > 1 else 1)
        reach = each * self.standard_errors
        return np.stack([self.coefficients - reach, self.coefficients + reach], axis=-1)

    def wald(self, names: str | Iterable[str]) -> WaldTest:
        """Test whether the coefficients of some columns are 0 in all equations.

            b' V^-1 b, chi-square with as many degrees of freedom as coefficients

        Args:
            names: a name, or several. A covariate of text stands for all of its columns.

        Raises:
            ArgumentError: no such column.
        """
        listed = [names] if isinstance(names, str) else list(names)
        columns = [
            i
            for i, name in enumerate(self.names)
            if any(name == covariate or _is_level(name, covariate) for covariate in listed)
        ]
        if not columns:
            got = ", ".join(repr(name) for name in listed)
            raise ArgumentError("names", f"must be of {', '.join(self.names)}", got)
        from scipy.special import chdtrc, fdtrc

        width = len(self.names)
        places = [e * width + i for e in range(len(self.coefficients)) for i in columns]
        b = self.coefficients.ravel()[places]
        inverse = np.linalg.pinv(self.covariance[np.ix_(places, places)], hermitian=True)
        statistic = float(b @ inverse @ b)
        if self.survey is None:
            return WaldTest(statistic, len(places), float(chdtrc(len(places), statistic)))
        # The covariance is estimated as well: Hotelling's law.
        of_errors = float(self.degrees[places].min()) - len(places) + 1
        if of_errors < 1:
            rule = "are too many to test together with so few clusters"
            raise ArgumentError("names", rule, f"{len(places)} coefficients")
        fraction = of_errors / (of_errors + len(places) - 1)
        p = float(fdtrc(len(places), of_errors, fraction * statistic / len(places)))
        return WaldTest(statistic, len(places), p, of_errors)

    def rows(self, level: float = 0.95) -> list[dict[str, Any]]:
        """The coefficients as a table.

        Args:
            level: coverage of the intervals, in [0.5, 1).

        Returns:
            One dict for each coefficient. Its keys are ``"value"``, the value of the equation,
            ``"covariate"``, ``"estimate"``, ``"error"``, ``"z"``, ``"p"``, ``"low"`` and
            ``"high"``; of a survey with a design also ``"design_effect"`` and the ``"degrees"`` of
            freedom.
        """
        bounds, effects = self.interval(level), self.design_effects
        errors, z, p = self.standard_errors, self.z, self.p_values
        return [
            {
                "value": outcome,
                "covariate": name,
                "estimate": float(self.coefficients[e, i]),
                "error": float(errors[e, i]),
                "z": float(z[e, i]),
                "p": float(p[e, i]),
                "low": float(bounds[e, i, 0]),
                "high": float(bounds[e, i, 1]),
            }
            | (
                {}
                if effects is None
                else {
                    "design_effect": float(effects[e, i]),
                    "degrees": float(self.degrees[e * len(self.names) + i]),
                }
            )
            for e, outcome in enumerate(self.outcomes)
            for i, name in enumerate(self.names)
        ]

    def table(self, level: float = 0.95) -> Table:
        """The coefficients as a table, with sentences that say how to read it.

        Args:
            level: coverage of the intervals, in [0.5, 1).
        """
        sentences = [*self._sentences(level), f"Status: {self.status.value}."]
        columns = [
            Column("value"),
            Column("covariate"),
            *self._estimates,
            Column("error", unit="number", priority=1),
            Column("z", unit="number", priority=2),
            Column("p", unit="probability"),
            Column("interval", f"{100 * level:.4g} % interval", "number", ends=("low", "high")),
            *([] if self.survey is None else [DESIGN_EFFECT]),
        ]
        return Table(columns, self.rows(level), sentences, "", self.simulated)

    def to_json(self, level: float = 0.95) -> dict[str, Any]:
        """The regression as JSON data.

        Args:
            level: coverage of the intervals, in [0.5, 1).
        """
        return {
            "n": self.n,
            "status": self.status.name.lower(),
            "status_text": self.status.value,
            "errors": self.errors,
            **({"simulated": True} if self.simulated else {}),
            "level": level,
            **({} if self.survey is None else self.survey.to_json()),
            "coefficients": self.rows(level),
        }

    @property
    def _estimates(self) -> list[Column]:
        """The columns of what was estimated."""
        return [Column("estimate", unit="number")]

    def _sentences(self, level: float) -> list[str]:
        """What :meth:`table` says below its rows."""
        source = {
            "observed": "the observed information",
            "sandwich": "the sandwich formula, which holds also where the model is wrong",
            "linearised": "the sums over clusters, which hold also where the model is wrong",
        }[self.errors]
        drawn = "" if self.survey is None else f", {self.survey.text}"
        return [
            f"{reports_of(self.n, self.simulated)}{drawn}. Errors are from {source}. "
            f"The {100 * level:.4g} % intervals hold for each coefficient by itself."
        ]


def _is_level(name: str, covariate: str) -> bool:
    """Whether a column is that of a level of a covariate, alone."""
    return name.startswith(f"{covariate}[") and "]:" not in name


# -----------------------------------------------------------------------------------------------
# From reports and covariates to the data of a regression.


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
    if not isinstance(reports, Reports):
        remedy = "Use mechanism.randomize, mechanism.reports or warner.io"
        rule = "must be Reports, one for each person"
        raise ArgumentTypeError("reports", rule, kind(reports), remedy)
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


def covariates_of(
    covariates: Any,
    formula: str | None,
    reports: Reports,
    problem: Problem,
    survey: SurveyDesign | None = None,
) -> tuple[Design, FloatArray, DrawnSample | None]:
    """The design of covariates, its columns (n, p), one row for each report, and the sample.

    The columns of a survey design are no covariates, unless a formula names them.
    """
    n = len(reports)
    columns = columns_of(covariates)
    if (length := len(next(iter(columns.values())))) != n:
        rule, remedy = f"must have a row for each of the {n} reports, in their order", "Check both"
        raise ArgumentError("covariates", rule, f"{length} rows", remedy)
    drawn = None
    if survey is not None:
        survey.require_columns(columns, "the covariates")
        drawn = survey.sample(columns, np.ones(n)).of_rows(problem.people)
        if formula is None:
            columns = {name: c for name, c in columns.items() if name not in survey.columns}
            if not columns:
                rule = "must have a column beside those of the survey design"
                raise ArgumentError("covariates", rule, None, "Pass formula='1' for the intercept")
    design, matrix = design_of(columns, formula)
    if drawn is not None and drawn.degrees + 1 <= matrix.shape[1]:
        rule = f"must be more than the {matrix.shape[1]} coefficients of an equation"
        got = str(drawn.degrees + 1)
        raise ArgumentError("clusters, less strata, and 1", rule, got, "Use fewer covariates")
    return design, matrix[problem.people], drawn
