"""Regression of the sensitive item of a list experiment on public covariates.

    Pr(Z = 1 | z) = expit(beta z),   Y | z ~ Binomial(J, expit(gamma z))

Z is whether the sensitive item holds, and Y the number of the J control items that do. The linear
model has E(report | z) = gamma z of the controls, and gamma z + beta z of the treated.

Source: Imai (2011); Blair and Imai (2012); METHODS 10.11.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from warner._core.checks import choice, numbers_of, show
from warner._core.errors import ArgumentError, EmptyError
from warner.channels import FloatArray
from warner.designs.latent_classes import EstimatedShare
from warner.designs.list_experiment import ListExperiment, ListModel
from warner.regression.coefficients import NORMAL, Coefficients, one_unit_more
from warner.regression.covariates import (
    check_independent,
    columns_of,
    design_of,
    doubts_of_columns,
    levels_stated,
    words_of,
)
from warner.regression.likelihood import Ending

MODELS = ("binomial", "beta-binomial", "linear")
_OUTCOMES = ("sensitive item", "control items", "control items of carriers")
_SHARES = {
    "floor": "the share who say 0, among the people for whom only the sensitive item is true",
    "ceiling": "the share who leave out one item, among the people for whom all items are true",
    "correlation": "between two control items",
}
_FAR = 15.0  # log-odds that stand for a share of 0 or 1
_LEAST = 2  # people of a group more than coefficients


@dataclass(frozen=True, eq=False)
class ListRegression(Coefficients):
    """A regression of the sensitive item of a list experiment, and of the control items.

    The first equation is that of the sensitive item; all else is as in :class:`Coefficients`.
    """

    model: str  # "binomial", "beta-binomial" or "linear"
    shares: Mapping[str, EstimatedShare] = field(repr=False)  # "floor", "ceiling", "correlation"

    def __repr__(self) -> str:
        about = f"{self.model}, {len(self.outcomes)} x {len(self.names)} coefficients, n={self.n}"
        return f"ListRegression({about}, status={self.status.name})"

    def predict(self, covariates: Any, level: float = 0.95) -> FloatArray:
        """The share of people with some covariates to whom the sensitive item holds.

        Args:
            covariates: m rows, in the form of those of the fit.
            level: coverage of each interval by itself, in [0.5, 1).

        Returns:
            (m, 3): the estimate and the ends of its interval, by the delta method.

        Raises:
            ArgumentError: covariates that do not fit, or a level outside [0.5, 1).
        """
        ends = self.line(covariates, level)
        return ends if self.model == "linear" else np.asarray(1 / (1 + np.exp(-ends)))

    @property
    def _tested(self) -> tuple[Any, ...]:
        return self.outcomes[:1]  # nobody asks whether control items depend on a covariate

    @property
    def _method(self) -> str:
        by_squares = "Method: least squares in each of the two groups of people."
        return by_squares if self.model == "linear" else super()._method

    @property
    def _about_errors(self) -> str:
        by_squares = "The standard errors are robust (HC3)."
        return by_squares if self.model == "linear" else super()._about_errors

    def _sentences(self, level: float) -> list[str]:
        if self.model == "linear":
            larger = "the share of the sensitive item is"
        else:
            larger = "the log-odds of an item are"
        shares = [
            f"{name} {100 * share:.1f} % "
            + (
                f"(error {100 * share.error:.1f} %)"
                if share.error > 0
                else f"(the {'smallest' if share < 0.5 else 'largest'} possible)"
            )
            + f": {_SHARES[name]}."
            for name, share in self.shares.items()
        ]
        return [one_unit_more(larger), *shares, *super()._sentences(level)]


def regress_list(
    items: int,
    reports: ArrayLike,
    treated: ArrayLike,
    covariates: Any,
    formula: str | None = None,
    *,
    model: str = "binomial",
    same: bool = True,
    floor: bool = False,
    ceiling: bool = False,
) -> ListRegression:
    """Regress the sensitive item of a list experiment on public covariates.

    Args:
        items: J, the number of items that both groups see.
        reports: (n,) the number of items that each person reported.
        treated: (n,) 1 or True for those who saw the sensitive item too, else 0.
        covariates: n rows, as for :func:`warner.regress`.
        formula: the right side of a formula.
        model: ``"binomial"`` or ``"beta-binomial"`` for the maximum of the likelihood, ``"linear"``
            for least squares in each group, with the errors HC3 that R's ``ictreg`` has.
        same, floor, ceiling: of a likelihood, as for
            :meth:`warner.designs.ListExperiment.estimate`.

    Returns:
        ListRegression: ``coefficients[0]`` has the coefficients of the sensitive item.

    Raises:
        ArgumentError: reports of other numbers of items, covariates that do not fit or are
            collinear, or options that do not go together.
        EmptyError: fewer people in a group than coefficients and two.

    >>> rng = np.random.default_rng(1)
    >>> age, treated = rng.normal(size=4000), np.arange(4000) % 2
    >>> holds = rng.random(4000) < 1 / (1 + np.exp(0.5 - age))
    >>> reports = rng.binomial(3, 0.5, 4000) + treated * holds
    >>> result = regress_list(3, reports, treated, {"age": age})
    >>> result.names, bool(abs(result.coefficients[0, 1] - 1) < 0.5)
    (('Intercept', 'age'), True)
    """
    size = ListExperiment(items).items
    choice("model", model, MODELS)
    group = numbers_of("treated", treated).ravel()
    if not np.isin(group, (0, 1)).all():
        raise ArgumentError(
            "treated", "must be 1 for people in the treated group, and 0 for all other people"
        )
    is_treated = group == 1
    count = numbers_of("reports", reports).ravel()
    if count.shape != is_treated.shape:
        rule = f"must have one number for each of the {is_treated.size} people"
        raise ArgumentError("reports", rule, show(count.size))
    if ((count != np.round(count)) | (count < 0) | (count > size + is_treated)).any():
        rule = f"must be whole numbers from 0 to {size}, or to {size + 1} in the treated group"
        raise ArgumentError("reports", rule)
    columns = columns_of(covariates)
    if len(next(iter(columns.values()))) != count.size:
        rule = f"must have a row for each of the {count.size} people, in their order"
        rows = len(next(iter(columns.values())))
        raise ArgumentError("covariates", rule, f"{rows} row{'s' * (rows != 1)}")
    design, matrix = design_of(columns, formula, levels_stated(covariates, columns))
    width = matrix.shape[1]
    for name, some in (("control group", ~is_treated), ("treated group", is_treated)):
        if some.sum() < width + _LEAST:
            rule = f"must have at least {width + _LEAST} people"
            remedy = "Use fewer covariates"
            if not some.any():
                remedy = "In treated, pass 1 for people in the treated group, and 0 for all others"
            raise EmptyError(name, rule, str(int(some.sum())), remedy)
        check_independent(design.names, np.linalg.qr(matrix[some])[1])
    if model == "linear":
        for name, given in (("floor", floor), ("ceiling", ceiling), ("same=False", not same)):
            if given:
                rule = "cannot be used with model='linear'"
                raise ArgumentError(name, rule, None, "Use model='binomial'")
        coefficients, covariance = _by_least_squares(count, is_treated, matrix)
        maximum, ending = None, Ending.EXACT
    else:
        maximum = ListModel(
            size,
            count.astype(np.int64),
            is_treated,
            matrix,
            np.ones(count.size),
            spread=model == "beta-binomial",
            same=same,
            floor=floor,
            ceiling=ceiling,
        ).maximum()
        equations = maximum.model.equations * width
        coefficients = maximum.estimate[:equations].reshape(-1, width)
        covariance = maximum.covariance[:equations, :equations]
        is_far = np.abs(matrix @ coefficients.T).max() > _FAR
        ending = Ending.SEPARATED if is_far else Ending.CONVERGED
    return ListRegression(
        coefficients=coefficients,
        covariance=covariance,
        names=design.names,
        outcomes=_OUTCOMES[: len(coefficients)],
        n=count.size,
        errors="sandwich" if maximum is None else "observed",
        status=ending,
        simulated=False,
        design=design,
        survey=None,
        independent=None,
        degrees=NORMAL,
        others=(),
        doubts=doubts_of_columns(columns, columns if formula is None else words_of(formula)),
        model=model,
        log_likelihood=None if maximum is None else maximum.value,
        shares={} if maximum is None else maximum.shares_of_numbers(),
    )


def _by_least_squares(
    count: FloatArray, treated: np.ndarray, matrix: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The coefficients (2, p) of the sensitive item and of the controls, and their covariance."""
    slopes, errors = [], []
    for some in (~treated, treated):
        z, y = matrix[some], count[some]
        inverse = np.linalg.inv(z.T @ z)
        slope = inverse @ (z.T @ y)
        leverage = np.einsum("ni,ij,nj->n", z, inverse, z)
        scores = z * ((y - z @ slope) / np.maximum(1 - leverage, 1e-12))[:, None]
        slopes.append(slope)
        errors.append(inverse @ (scores.T @ scores) @ inverse)
    control, whole = errors
    covariance = np.block([[whole + control, -control], [-control, control]])
    return np.stack([slopes[1] - slopes[0], slopes[0]]), covariance
