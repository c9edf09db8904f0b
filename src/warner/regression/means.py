"""Linear regression of the mean of a hidden number on public covariates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from warner._core.errors import ArgumentError, ArgumentTypeError
from warner.channels import FloatArray
from warner.estimators.inversion import unbiased_scores
from warner.regression.coefficients import NORMAL, Coefficients, diagonal_of, one_unit_more
from warner.regression.covariates import check_independent
from warner.regression.likelihood import Ending
from warner.regression.people import People, are_on_paper, doubts_of


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
        return self.line(covariates, level)

    @property
    def _method(self) -> str:
        numbers = (
            "Method: least squares. Each answer is replaced by a number that is computed from the "
            "report. On average over the random changes of the answer, this number is right."
        )
        small = f"n / (n - p), for n people and p = {len(self.names)} coefficients"
        squared = f"Squared standard errors include the factor {small}."
        return numbers if self.survey is not None else f"{numbers} {squared}"

    def _sentences(self, level: float) -> list[str]:
        return [
            one_unit_more("the mean is"),
            *super()._sentences(level),
        ]


def mean_of(people: People, attribute: str | None, trusted: bool) -> MeanRegression:
    """The regression of the mean: see :func:`warner.regress`."""
    problems = people.problems(attribute, trusted)
    points = problems[0].domain.points
    if points is None or points.shape[1] != 1:
        rule, got = "needs values that are numbers", type(problems[0].domain).__name__
        raise ArgumentTypeError("kind", f"'mean' {rule}", got, "Use kind='shares'")
    rows = np.concatenate([problem.people for problem in problems])
    design, matrix = people.design()
    n, matrix = len(rows), matrix[rows]
    drawn = people.sample(rows, matrix.shape[1])
    weights = np.ones(n) if drawn is None else drawn.weights
    q, triangle = np.linalg.qr(matrix * np.sqrt(weights)[:, None])
    check_independent(design.names, triangle)
    width = matrix.shape[1]
    if n <= width:
        rule = f"must be more than {width}, the number of coefficients"
        raise ArgumentError("reports", rule, str(n), "Use fewer covariates")
    # An affine function of the report has less variance than the inverse of the channel.
    numbers = np.concatenate([unbiased_scores(p.channel, points[:, 0])[p.row] for p in problems])
    numbers = numbers * np.sqrt(weights)
    gamma = q.T @ numbers
    residuals = numbers - q @ gamma
    inverse = np.linalg.inv(triangle)
    small = n / (n - width)
    # sqrt(w_i) times the residual and the covariates of the person, which have the factor too.
    scores = q * residuals[:, None]
    if drawn is None:
        meat, independent, degrees = scores.T @ scores * small, None, NORMAL
    else:
        root = drawn.root(drawn.summed(scores))
        degrees = np.full(width, float(drawn.degrees))
        for i, row in enumerate(inverse if drawn.design.cluster is not None else ()):
            v = drawn.summed(q * (q @ row)[:, None])
            degrees[i] = drawn.moments_of(np.column_stack([v @ row, v]), np.eye(width))[0]
        alone = scores / np.sqrt(weights)[:, None]
        drawn.require_spread(root.T @ root)
        meat, independent = root.T @ root, diagonal_of(inverse, alone.T @ alone * small)
    return MeanRegression(
        coefficients=(inverse @ gamma)[None, :],
        covariance=inverse @ meat @ inverse.T,
        survey=drawn,
        independent=independent,
        degrees=degrees,
        names=design.names,
        outcomes=("mean",),
        n=n,
        errors="sandwich" if drawn is None else "linearised",
        status=Ending.EXACT,
        simulated=people.simulated,
        design=design,
        others=(),
        doubts=(*people.doubts(drawn), *doubts_of(problems)),
        on_paper=are_on_paper(problems),
    )
