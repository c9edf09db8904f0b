"""Regression of the shares of a hidden answer on public covariates, through the channel."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from warner._core.checks import show
from warner._core.errors import ArgumentError, WarnerError
from warner._core.foreign_tables import index_of
from warner._core.survey_design import DrawnSample
from warner._core.table import Column, Table, Tabular, as_text
from warner._core.text import meant
from warner.channels import FloatArray, IntArray
from warner.domains import Domain
from warner.regression.coefficients import Coefficients, Parameter, Solution, solved
from warner.regression.covariates import Design, check_independent
from warner.regression.likelihood import (
    Likelihood,
    Mixture,
    Pairs,
    Predictor,
    RandomIntercepts,
)
from warner.regression.people import Answers, Classes, Nuisance, People
from warner.regression.pieces import Binary, Choice, Piece, share_of, softmax
from warner.results.intervals import normal_quantile, share_columns
from warner.results.named_summaries import has_bands

_MOST_COEFFICIENTS = 1000  # beyond, a step takes minutes
_TINY = 1e-300  # a share that is 0 in floats, whose logarithm is finite
_LARGEST_LOG = 700.0  # whose exponential is a float
# The share at a sum of coefficients times covariates: the inverse of each link.
_SHARES_OF_SUMS = {
    "probit": "the normal distribution function of the sum",
    "cloglog": "1 - exp(-exp(sum))",
    "cauchit": "1/2 + arctan(sum) / pi",
}
_NODES = 40  # of a mean over random intercepts
_AT_THE_EDGE = 1e-3  # standard errors from 0, within which a deviation ends only at 0 itself


@dataclass(frozen=True, eq=False)
class Predictions(Tabular):
    """Predicted shares of the values at some covariates, with intervals.

    Attributes:
        values: (K,) the values, in the order of the domain.
        shares: (m, K) the shares at m rows of covariates.
        low: (m, K) lower ends of the intervals.
        high: (m, K) upper ends.
        level: coverage of each interval by itself.
        index: the pandas index of the covariates, or None. Frames of pandas have it; it may name
            people.
    """

    values: tuple[Any, ...]
    shares: FloatArray
    low: FloatArray
    high: FloatArray
    level: float
    index: Any = field(default=None, repr=False)

    def to_frame(self, backend: str = "pyarrow", **columns: Any) -> Any:
        """The rows as a data frame; one of pandas has the index of the covariates.

        So ``frame.join(predictions.to_frame("pandas"))`` puts the shares beside the covariates.
        """
        made = super().to_frame(backend, **columns)
        if self.index is not None and index_of(made) is not None:
            made.index = self.index.repeat(len(self.values))
        return made

    def rows(self) -> list[dict[str, Any]]:
        """One dict for each row of covariates and value: row, value, estimate, low, high."""
        return [
            {
                "row": i,
                "value": value,
                "estimate": float(self.shares[i, x]),
                "low": float(self.low[i, x]),
                "high": float(self.high[i, x]),
            }
            for i in range(len(self.shares))
            for x, value in enumerate(self.values)
        ]

    def table(self) -> Table:
        """The rows as a table."""
        row = Column("row", unit="number")
        return Table([row, *share_columns(self.level, None)], self.rows())


class Intercepts(NamedTuple):
    """Random intercepts of groups: how much they differ, and how surely that is estimated."""

    group: str  # the column with the groups
    groups: int  # their number
    deviation: float
    covariance: FloatArray  # (p + 1, p + 1) of the coefficients and the deviation


@dataclass(frozen=True, eq=False)
class Regression(Coefficients):
    """A multinomial logistic regression of the hidden answer; of two values, a logistic one.

        log(Pr(answer x | z) / Pr(reference | z)) = beta_x z

    With another link F, of two values, Pr(answer | z) = F(beta z). With random intercepts, people
    of one group have s u more, where u is standard normal and the same for all of them.

    Attributes:
        reference: the value that the odds are against.
        steps: the number of steps of Newton's method.
        values: (K,) the values, in the order of the domain.
        link: ``"logit"``, ``"probit"``, ``"cloglog"`` or ``"cauchit"``.
        intercepts: the random intercepts; None without any.
        coefficients, covariance, names, outcomes, n, errors, status, simulated, design, others: see
            :class:`Coefficients`. ``outcomes`` are the values other than the reference.
    """

    reference: Any
    steps: int
    values: tuple[Any, ...] = field(repr=False)
    link: str = "logit"
    intercepts: Intercepts | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        about = f"{len(self.outcomes)} x {len(self.names)} coefficients, n={self.n}"
        return f"Regression({about}, reference={self.reference!r}, status={self.status.name})"

    def predict(self, covariates: Any, level: float = 0.95) -> Predictions:
        """The shares of the values among people with some covariates.

        Intervals are from the delta method on the log-odds of each share, so they lie in [0, 1].
        With random intercepts the shares are means over the groups.

        Args:
            covariates: m rows, in the form of those of the fit. Their pandas index is that of
                ``to_frame("pandas")``.
            level: coverage of each interval by itself, in [0.5, 1).

        Raises:
            ArgumentError: covariates that do not fit, or a level outside [0.5, 1).
        """
        z = self.design.matrix(covariates)
        shares, slopes = self._shares_at(z)
        covariance = self.covariance if self.intercepts is None else self.intercepts.covariance
        variances = np.einsum("mxp,pq,mxq->mx", slopes, covariance, slopes, optimize=True)
        errors = np.sqrt(np.maximum(variances, 0.0))
        reach = normal_quantile(level, float(np.min(self.degrees))) * errors
        centre = np.log(np.maximum(shares, _TINY)) - np.log(np.maximum(1 - shares, _TINY))
        low = np.minimum(_expit(centre - reach), shares)
        high = np.maximum(_expit(centre + reach), shares)
        order = np.argsort([self.values.index(v) for v in (self.reference, *self.outcomes)])
        ends, index = (low[:, order], high[:, order]), index_of(covariates)
        return Predictions(self.values, shares[:, order], *ends, level, index)

    def _shares_at(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The shares (m, K) at covariates (m, p), and the slopes (m, K, P) of their log-odds."""
        eta = z @ self.coefficients.T
        if self._is_logit and self.intercepts is None:
            shares = softmax(eta)
            # d logit(pi_x) / d eta_e = ([x = e] - pi_e) / (1 - pi_x)
            others = np.maximum(shares @ (1 - np.eye(shares.shape[1])), _TINY)
            bends = (np.eye(shares.shape[1])[:, 1:] - shares[:, None, 1:]) / others[..., None]
            slopes = bends[..., None] * z[:, None, None, :]
            return shares, slopes.reshape(*shares.shape, -1)
        deviation = 0.0 if self.intercepts is None else self.intercepts.deviation
        nodes, masses = np.polynomial.hermite_e.hermegauss(_NODES)
        masses = masses / masses.sum()
        yes, density = share_of(eta + deviation * nodes, self.link)
        share, slope = yes @ masses, (density @ masses)[:, None] * z
        if self.intercepts is not None:
            slope = np.column_stack([slope, density @ (masses * nodes)])
        slope /= np.maximum(share * (1 - share), _TINY)[:, None]
        return np.stack([1 - share, share], axis=1), np.stack([-slope, slope], axis=1)

    def to_json(self, level: float = 0.95) -> dict[str, Any]:
        """The regression as JSON data.

        Args:
            level: coverage of the intervals, in [0.5, 1).
        """
        link = {} if self.link == "logit" else {"link": self.link}
        about = {"reference": self.reference, **link, "steps": self.steps}
        return about | super().to_json(level)

    @property
    def _compared_with(self) -> Mapping[str, Any]:
        return {"answer": as_text(self.reference), **super()._compared_with}

    @property
    def _is_logit(self) -> bool:
        return self.link == "logit"

    def _sentences(self, level: float) -> list[str]:
        if self.link == "logit":
            # A narrow table leaves out the column of values where there is only one.
            value = show(self.outcomes[0]) if len(self.outcomes) == 1 else "a value"
            meaning = (
                f"The odds compare {value} with {show(self.reference)}. One unit more of a "
                "covariate multiplies these odds by the odds ratio, if all other covariates stay "
                "equal."
            )
        else:
            meaning = (
                "Multiply each estimate by its covariate, and add up the products. The share of a "
                f"value, compared with {show(self.reference)}, is then "
                f"{_SHARES_OF_SUMS[self.link]}; the sum is the {self.link} of this share."
            )
        if self.intercepts is not None:
            name, groups = self.intercepts[:2]
            meaning += (
                f" Coefficients compare people with the same {name}. The intercepts of the "
                f"{groups:,} groups by {name} have the standard deviation sd({name})."
            )
        return [meaning, *super()._sentences(level)]


def _expit(logs: FloatArray) -> FloatArray:
    """Shares at log-odds."""
    return np.asarray(1 / (1 + np.exp(np.clip(-logs, -_LARGEST_LOG, _LARGEST_LOG))))


# -----------------------------------------------------------------------------------------------
# From people to a likelihood.


class Parts:
    """The pieces of a :class:`Mixture` while it is put together, with their predictors."""

    def __init__(self) -> None:
        self.pieces: list[Piece] = []
        self.predictors: list[Predictor] = []
        self.starts: list[FloatArray] = []
        self.width = 0  # the number of coefficients

    def columns(self, start: Sequence[float] | FloatArray) -> IntArray:
        """The places of further coefficients, which a search begins at ``start``."""
        self.starts.append(np.asarray(start, dtype=np.float64))
        self.width += len(start)
        return np.arange(self.width - len(start), self.width)

    def hidden(self, classes: Classes, matrix: FloatArray, link: str) -> None:
        """The hidden answer on covariates (n, p), and what the design adds to it."""
        n, p = matrix.shape
        extra = len(classes.labels) - 1
        places = self.columns(np.zeros(extra * p)).reshape(extra, p)
        self.predictors += [Predictor(matrix, each) for each in places]
        one = np.zeros(len(classes.answer), dtype=np.int64)
        is_binary = extra == 1
        self.pieces.append(
            Binary(link, classes.answer, one) if is_binary else Choice(classes.answer, extra + 1)
        )
        for nuisance in classes.nuisances:
            self.pieces.append(Binary("logit", nuisance.label, one))
            self.predictors.append(Predictor(np.ones((n, 1)), self.columns([0.0])))

    def mixture(self, rows: FloatArray, weights: FloatArray) -> Mixture:
        """The likelihood of people with reports, (n, C), and weights (n,)."""
        start = np.concatenate(self.starts)
        return Mixture(rows, weights, self.predictors, self.pieces, start)


def with_intercepts(
    mixture: Mixture,
    shifted: Sequence[int],
    people: People,
    rows: IntArray,
    drawn: DrawnSample | None,
) -> RandomIntercepts:
    """The likelihood of people whose groups have random intercepts.

    The weight of a group is the mean weight of its people, and weights within it have the mean 1.
    """
    group, name = people.groups(rows), people.random
    sizes = np.bincount(group)
    if drawn is None:
        return RandomIntercepts.of(mixture, shifted, group, np.ones(len(sizes)))
    if drawn.design.cluster is None:
        rule = f"is needed together with random={name!r}, because the survey design has no clusters"
        raise ArgumentError(
            "cluster", rule, None, f"Write cluster={name!r} if these groups were drawn"
        )
    cluster = np.zeros(len(sizes), dtype=np.int64)
    cluster[group] = drawn.unit
    if (cluster[group] != drawn.unit).any():
        rule = f"must each lie within one cluster of {drawn.design.cluster!r}"
        remedy = f"Pass random={drawn.design.cluster!r}, the column of the clusters"
        got = "groups that lie in several clusters"
        raise ArgumentError(f"groups of random={name!r}", rule, got, remedy)
    means = np.bincount(group, mixture.weights) / sizes
    within = replace(mixture, weights=mixture.weights / means[group])
    return RandomIntercepts.of(within, shifted, group, means)


def deviation_of(
    people: People, solution: Solution, likelihood: RandomIntercepts, errors: str
) -> Parameter:
    """How much the groups of random intercepts differ: the last coefficient.

    Without a survey design it is tested by the likelihood ratio against no difference, whose law is
    a chi-square with one degree of freedom, or 0 with the chance 1/2 [Self and Liang 1987]. At 0
    the score of every group is 0, so that a sum of their squares says nothing of the error.
    """
    p, meaning, name = None, "", f"sd({people.random})"
    estimate = abs(float(solution.theta[-1]))
    error = float(np.sqrt(max(solution.covariance[-1, -1], 0.0)))
    best = solution.best
    if abs(best.beta[-1]) < _AT_THE_EDGE * np.sqrt(best.covariance[-1, -1]):
        estimate = 0.0
        meaning = (
            f"{name} is estimated at 0, the smallest possible value: groups by {people.random} do "
            "not differ more than by chance"
        )
        if errors != "observed":
            error = math.nan
            meaning += ", so it has no standard error and no interval"
        meaning += "."
    if errors != "linearised":
        ratio = 2 * (best.point.value - likelihood.alone.point.value)
        p = math.erfc(math.sqrt(ratio / 2)) / 2 if ratio > 0 else 1.0
    degrees = solution.degrees_at(-1)
    return Parameter(name, estimate, error, False, p=p, degrees=degrees, meaning=meaning)


def shares_of(
    people: People,
    attribute: str | None,
    reference: Any,
    errors: str | None,
    trusted: bool,
    link: str,
    is_named: bool,
    outcome: Any = None,
) -> Regression:
    """The regression of the shares, which somebody named or not: see :func:`warner.regress`."""
    problems = people.problems(attribute, trusted)
    if outcome is not None:
        outcome = label_of(problems[0].domain, outcome, "outcome")
        problems = [problem.of_outcome(outcome) for problem in problems]
        reference = next(x for x in problems[0].domain.labels if x != outcome)
    domain = problems[0].domain
    if not is_named and has_bands(domain):
        rule = f"are about numbers, and each of the {domain.size:,} values would need an equation"
        remedy = (
            "For the mean of the numbers, pass kind='mean' (in a command, add --mean). For all "
            "equations, pass kind='shares'"
        )
        raise ArgumentError("reports", rule, None, remedy)
    answers = Answers.of(problems)
    classes, values = answers.classes, answers.classes.labels
    classes = classes.with_reference(label_of(domain, reference))
    design, matrix = people.design()
    matrix = matrix[answers.people]
    drawn = people.sample(answers.people, matrix.shape[1])
    extra = len(classes.labels) - 1
    require_few(extra * matrix.shape[1])
    require_two_answers(classes, link, people.random)
    weights = np.ones(len(matrix)) if drawn is None else drawn.weights
    turn = orthonormal(matrix, weights, design.names)
    likelihood: Likelihood
    if link == "logit" and people.random is None and not classes.nuisances:
        rows = np.empty_like(answers.rows)
        rows[:, classes.answer] = answers.rows
        likelihood = Pairs.of(rows, answers.report, matrix, weights).turned(turn)
    else:
        parts = Parts()
        parts.hidden(classes, matrix @ turn, link)
        likelihood = parts.mixture(answers.rows[answers.report], weights)
        if people.random is not None:
            likelihood = with_intercepts(likelihood, [0], people, answers.people, drawn)
    # Log-odds are (Z T) gamma' = Z beta', so beta = gamma T'.
    whole = np.eye(len(likelihood.start))
    size = extra * matrix.shape[1]
    whole[:size, :size] = np.kron(np.eye(extra), turn)
    solution = solved(likelihood, whole, errors, drawn)
    used = "linearised" if drawn is not None else errors or "observed"
    others = [
        share_parameter(n, classes, solution, size + i) for i, n in enumerate(classes.nuisances)
    ]
    intercepts = None
    if isinstance(likelihood, RandomIntercepts):
        deviation = deviation_of(people, solution, likelihood, used)
        others.append(deviation)
        places = [*range(size), len(whole) - 1]
        sign = np.append(np.ones(size), np.copysign(1.0, solution.theta[-1]))
        joint = solution.covariance[np.ix_(places, places)] * np.outer(sign, sign)
        groups = len(likelihood.weights)
        intercepts = Intercepts(str(people.random), groups, deviation.estimate, joint)
    constant = float(np.average(answers.logs[answers.report], weights=weights))
    doubts = [*people.doubts(drawn), *answers.doubts]
    has_mean = domain.is_numeric and link == "logit" and people.random is None
    if has_mean and not solution.best.ending.is_final:
        doubts.append(
            "The mean of the numbers needs fewer coefficients. For the mean, pass kind='mean' (in "
            "a command, add --mean)."
        )
    return Regression(
        **fields_of(solution, slice(0, size), design, classes.labels[1:], others),
        survey=drawn,
        in_groups=people.in_groups,
        doubts=tuple(doubts),
        on_paper=answers.on_paper,
        n=len(matrix),
        errors=used,
        simulated=people.simulated,
        reference=classes.labels[0],
        log_likelihood=solution.best.point.value + len(matrix) * constant,
        steps=solution.best.steps,
        values=values,
        link=link,
        intercepts=intercepts,
    )


def fields_of(
    solution: Solution,
    places: slice,
    design: Design,
    outcomes: Sequence[Any],
    others: Sequence[Parameter],
) -> dict[str, Any]:
    """The fields of :class:`Coefficients` from the coefficients at some places of a solution."""
    independent, degrees = solution.independent, solution.degrees
    return {
        "coefficients": solution.theta[places].reshape(len(outcomes), -1),
        "covariance": solution.covariance[places, places].copy(),
        "independent": None if independent is None else independent[places],
        "degrees": degrees if degrees.size == 1 and degrees.ndim == 0 else degrees[places],
        "names": design.names,
        "outcomes": tuple(outcomes),
        "status": solution.best.ending,
        "design": design,
        "others": tuple(others),
    }


def share_parameter(
    nuisance: Nuisance, classes: Classes, solution: Solution, column: int
) -> Parameter:
    """The share of a nuisance, whose log-odds are one of the coefficients."""
    share = float(_expit(solution.theta[column]))
    error = share * (1 - share) * float(np.sqrt(max(solution.covariance[column, column], 0.0)))
    meaning = f"{nuisance.name} is the share of people who {nuisance.meaning}."
    if (nuisance.label >= 0).all() and (classes.answer < 0).any():
        meaning += " Shares and odds are about the other people."
    degrees = solution.degrees_at(column)
    return Parameter(nuisance.name, share, error, True, degrees=degrees, meaning=meaning)


def require_few(coefficients: int) -> None:
    """Refuse so many coefficients that a step takes minutes."""
    if coefficients > _MOST_COEFFICIENTS:
        rule, got = f"must be at most {_MOST_COEFFICIENTS}", str(coefficients)
        remedy = "Use fewer covariates, or merge values"
        raise ArgumentError("number of coefficients", rule, got, remedy)


def require_two_answers(classes: Classes, link: str, random: str | None) -> None:
    """Refuse links and random intercepts of more than two answers."""
    if len(classes.labels) > 2 and (link != "logit" or random is not None):
        what = f"link={link!r}" if link != "logit" else f"random={random!r}"
        rule, got = "can be used only for a question with two answers", f"{len(classes.labels)}"
        raise ArgumentError(what, rule, got, f"Merge answers, or leave out {what}")


def orthonormal(matrix: FloatArray, weights: FloatArray, names: tuple[str, ...]) -> FloatArray:
    """T (p, p), for which the columns of Z T, Z (n, p), have length sqrt(n) and are orthogonal."""
    _, triangle = np.linalg.qr(matrix * np.sqrt(weights)[:, None])
    check_independent(names, triangle)
    return np.asarray(np.linalg.inv(triangle) * np.sqrt(weights.sum()))


def label_of(domain: Domain, value: Any, role: str = "reference") -> Any:
    """The label of a value that the argument ``role`` names; None for None."""
    if value is None:
        return None
    try:
        return domain.labels[int(domain.encode([value])[0])]
    except WarnerError:
        rule = "must be one of the values of the question"
        near = meant(str(value), map(str, domain.labels))
        raise ArgumentError(role, rule, show(value), near) from None
