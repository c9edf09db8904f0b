"""Linear regression of the mean of a hidden number on public covariates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from warner._core.errors import ArgumentError, ArgumentTypeError
from warner.channels import FloatArray
from warner.estimators.inversion import unbiased_scores
from warner.regression.coefficients import Coefficients, covariates_of, problem_of
from warner.regression.covariates import check_independent
from warner.regression.likelihood import Ending
from warner.reports.reports import Reports
from warner.results.intervals import normal_quantile


@dataclass(frozen=True, eq=False)
class MeanRegression(Coefficients):
    """A linear regression of the mean of a hidden number.

        E(number | z) = beta z

    Attributes:
        coefficients, covariance, names, outcomes, n, errors, status, simulated, design: see
            :class:`Coefficients`. There is one equation, and its outcome is ``"mean"``.
    """

    def __repr__(self) -> str:
        return f"MeanRegression({len(self.names)} coefficients, n={self.n})"

    def predict(self, covariates: Any, level: float = 0.95) -> FloatArray:
        """The mean among people with some covariates.

        Args:
            covariates: m rows, in the form of those of the fit.
            level: coverage of each interval by itself, in [0.5, 1).

        Returns:
            (m, 3): the estimate and the ends of its interval, in the unit of the numbers.

        Raises:
            ArgumentError: covariates that do not fit, or a level outside [0.5, 1).
        """
        z = self.design.matrix(covariates)
        means = z @ self.coefficients[0]
        variances = np.einsum("mi,ij,mj->m", z, self.covariance, z)
        reach = normal_quantile(level) * np.sqrt(np.maximum(variances, 0.0))
        return np.stack([means, means - reach, means + reach], axis=1)

    def _sentences(self, level: float) -> list[str]:
        return [
            "One unit more of a covariate adds the estimate to the mean, with equal other "
            "covariates.",
            *super()._sentences(level),
        ]


def regress_mean(
    reports: Reports,
    covariates: Any,
    formula: str | None = None,
    attribute: str | None = None,
) -> MeanRegression:
    """Regress the mean of a hidden number on public covariates, by least squares.

        E(number | z) = beta z,   beta = argmin sum_i (g(y_i) - beta z_i)^2

    g(y) is a number for each report y with sum_y A[y, x] g(y) = x for every value x, as in
    :class:`warner.SampleMean`. So g(y_i) is an unbiased, noisy copy of the number of person i. Its
    variance depends on the number, so errors are from the sandwich formula, times n / (n - p).

    Covariates must be in the order of the reports, and are public: see :func:`warner.regress`.

    Args:
        reports: n reports of numbers.
        covariates: n rows, as in :func:`warner.regress`.
        formula: the right side of a formula, as in :func:`warner.regress`.
        attribute: of reports of several attributes, the name of the one to regress.

    Returns:
        MeanRegression: coefficients in the unit of the numbers, errors, tests and predictions.

    Raises:
        ArgumentError: covariates that :func:`warner.regress` refuses, or no more reports than
            coefficients.
        ArgumentTypeError: no Reports, or values that are not numbers.
        EmptyError: no reports.
        IdentifiabilityError: the reports do not determine the mean without bias.
        MissingExtraError: a formula, where formulaic is not installed.

    Source: METHODS 10.6.

    >>> from warner import Integers, Laplace
    >>> visits = Laplace(Integers(0, 10), 4.0)
    >>> reports = visits.randomize([2] * 500 + [5] * 500)
    >>> found = regress_mean(reports, {"ward": ["north"] * 500 + ["south"] * 500})
    >>> bool(abs(found.coefficients[0, 1] - 3) < 2)
    True
    """
    problem = problem_of(reports, attribute)
    points = problem.domain.points
    if points is None or points.shape[1] != 1:
        rule, got = "needs values that are numbers", type(problem.domain).__name__
        raise ArgumentTypeError("regress_mean", rule, got, "Use regress")
    design, matrix = covariates_of(covariates, formula, problem.n)
    q, triangle = np.linalg.qr(matrix)
    check_independent(design.names, triangle)
    width = matrix.shape[1]
    if problem.n <= width:
        rule = f"must be more than the {width} coefficients"
        raise ArgumentError("reports", rule, str(problem.n))
    # An affine function of the report has less variance than the inverse of the channel.
    numbers = unbiased_scores(problem.channel, points[:, 0])[problem.row]
    gamma = q.T @ numbers
    scores = q * (numbers - q @ gamma)[:, None]
    inverse = np.linalg.inv(triangle)
    meat = scores.T @ scores * (problem.n / (problem.n - width))
    return MeanRegression(
        coefficients=(inverse @ gamma)[None, :],
        covariance=inverse @ meat @ inverse.T,
        names=design.names,
        outcomes=("mean",),
        n=problem.n,
        errors="sandwich",
        status=Ending.EXACT,
        simulated=reports.simulated,
        design=design,
    )
