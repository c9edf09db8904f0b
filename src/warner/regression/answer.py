"""Regression of the hidden answer on public covariates, through the channel."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, overload

import numpy as np

from warner._core.checks import choice, show
from warner._core.errors import ArgumentError, ArgumentTypeError, WarnerError
from warner._core.foreign_tables import in_order_of
from warner._core.names import explained
from warner._core.survey_design import SurveyDesign
from warner._core.table import Column, Table, Tabular
from warner.channels import FloatArray
from warner.domains import Domain
from warner.estimators.inversion import unbiased_scores
from warner.regression.coefficients import Coefficients, covariates_of, problem_of
from warner.regression.covariates import Design, check_independent
from warner.regression.likelihood import Ending, Pairs, maximize, softmax
from warner.reports.reports import Reports
from warner.results.intervals import normal_quantile, share_columns

_MOST_COEFFICIENTS = 1000  # beyond, a step takes minutes
_TINY = 1e-300  # a share that is 0 in floats, whose logarithm is finite
_NORMAL = np.array(np.inf)  # degrees of freedom of errors from very many independent people
_LARGEST_LOG = 700.0  # whose exponential is a float


@dataclass(frozen=True, eq=False)
class Predictions(Tabular):
    """Predicted shares of the values at some covariates, with intervals.

    Attributes:
        values: (K,) the values, in the order of the domain.
        shares: (m, K) the shares at m rows of covariates.
        low: (m, K) lower ends of the intervals.
        high: (m, K) upper ends.
        level: coverage of each interval by itself.
    """

    values: tuple[Any, ...]
    shares: FloatArray
    low: FloatArray
    high: FloatArray
    level: float

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


@dataclass(frozen=True, eq=False)
class Regression(Coefficients):
    """A multinomial logistic regression of the hidden answer; of two values, a logistic one.

        log(Pr(answer x | z) / Pr(reference | z)) = beta_x z

    Attributes:
        reference: the value that the odds are against.
        log_likelihood: of the n reports, in nats.
        steps: the number of steps of Newton's method.
        values: (K,) the values, in the order of the domain.
        coefficients, covariance, names, outcomes, n, errors, status, simulated, design: see
            :class:`Coefficients`. ``outcomes`` are the values other than the reference.
    """

    reference: Any
    log_likelihood: float
    steps: int
    values: tuple[Any, ...] = field(repr=False)

    def __repr__(self) -> str:
        about = f"{len(self.outcomes)} x {len(self.names)} coefficients, n={self.n}"
        return f"Regression({about}, reference={self.reference!r}, status={self.status.name})"

    def odds_ratios(self, level: float = 0.95) -> FloatArray:
        """The factor by which one unit more of a covariate multiplies the odds, with its interval.

        The odds are those of a value against the reference, with equal other covariates.

        Args:
            level: coverage of each interval by itself, in [0.5, 1).

        Returns:
            (E, p, 3): exp of the coefficients, and of the ends of their intervals.
        """
        with np.errstate(over="ignore"):
            logs = np.concatenate([self.coefficients[..., None], self.interval(level)], axis=-1)
            return np.asarray(np.exp(logs))

    def rows(self, level: float = 0.95) -> list[dict[str, Any]]:
        """The rows of :class:`Coefficients`, with ``"odds_ratio"`` added.

        Args:
            level: coverage of the intervals, in [0.5, 1).
        """
        ratios = self.odds_ratios(level)[..., 0].ravel()
        pairs = zip(super().rows(level), ratios, strict=True)
        return [{**row, "odds_ratio": float(ratio)} for row, ratio in pairs]

    def predict(self, covariates: Any, level: float = 0.95) -> Predictions:
        """The shares of the values among people with some covariates.

        Intervals are from the delta method on the log-odds of each share, so they lie in [0, 1].

        Args:
            covariates: m rows, in the form of those of the fit.
            level: coverage of each interval by itself, in [0.5, 1).

        Raises:
            ArgumentError: covariates that do not fit, or a level outside [0.5, 1).
        """
        z = self.design.matrix(covariates)
        shares = softmax(z @ self.coefficients.T)
        extra, width = self.coefficients.shape
        blocks = self.covariance.reshape(extra, width, extra, width)
        # The covariance of the log-odds eta of each row: z' V_ef z.
        eta = np.einsum("mi,eifj,mj->mef", z, blocks, z, optimize=True)
        # d logit(pi_x) / d eta_e = ([x = e] - pi_e) / (1 - pi_x)
        others = np.maximum(1 - shares, _TINY)
        slopes = (np.eye(extra + 1)[:, 1:] - shares[:, None, 1:]) / others[:, :, None]
        errors = np.sqrt(np.maximum(np.einsum("mxe,mef,mxf->mx", slopes, eta, slopes), 0.0))
        reach = normal_quantile(level, float(np.min(self.degrees))) * errors
        logs = np.log(np.maximum(shares, _TINY)) - np.log(others)
        low = np.minimum(_expit(logs - reach), shares)
        high = np.maximum(_expit(logs + reach), shares)
        order = np.argsort([self._index(value) for value in (self.reference, *self.outcomes)])
        return Predictions(self.values, shares[:, order], low[:, order], high[:, order], level)

    def _index(self, value: Any) -> int:
        """The place of a value in the order of the domain."""
        return self.values.index(value)

    def to_json(self, level: float = 0.95) -> dict[str, Any]:
        """The regression as JSON data.

        Args:
            level: coverage of the intervals, in [0.5, 1).
        """
        about = super().to_json(level)
        return {
            "format": "warner-regression",
            "schema": 1,
            "reference": self.reference,
            "log_likelihood": self.log_likelihood,
            "steps": self.steps,
            **about,
        }

    @property
    def _estimates(self) -> list[Column]:
        return [*super()._estimates, Column("odds_ratio", "odds ratio", "times")]

    def _sentences(self, level: float) -> list[str]:
        return [
            f"The odds are those of a value against {show(self.reference)}. One unit more of a "
            "covariate multiplies them by the odds ratio, with equal other covariates.",
            *super()._sentences(level),
        ]


@overload
def regress(
    reports: Reports,
    covariates: Any,
    formula: str | None = None,
    reference: Any = None,
    errors: str | None = None,
    attribute: str | None = None,
    kind: Literal["shares"] = "shares",
    trusted: bool = False,
    weights: str | None = None,
    cluster: str | None = None,
    strata: str | None = None,
) -> Regression: ...


@overload
def regress(
    reports: Reports,
    covariates: Any,
    formula: str | None = None,
    reference: None = None,
    errors: str | None = None,
    attribute: str | None = None,
    *,
    kind: Literal["mean"],
    trusted: bool = False,
    weights: str | None = None,
    cluster: str | None = None,
    strata: str | None = None,
) -> MeanRegression: ...


@explained
def regress(
    reports: Reports,
    covariates: Any,
    formula: str | None = None,
    reference: Any = None,
    errors: str | None = None,
    attribute: str | None = None,
    kind: str = "shares",
    trusted: bool = False,
    weights: str | None = None,
    cluster: str | None = None,
    strata: str | None = None,
) -> Regression | MeanRegression:
    """Regress the hidden answer on public covariates.

    With ``kind="shares"``, by maximum likelihood through the channel:

        l(beta) = sum_i log sum_x A[y_i, x] softmax(beta z_i)_x

    A is the channel of the mechanism, y_i the report and z_i the covariates of person i. With
    unprotected answers this is ordinary multinomial logistic regression. The covariates are public:
    nothing protects them, and they stand beside the reports.

    With ``kind="mean"``, the mean of a hidden number, by least squares:

        E(number | z) = beta z,   beta = argmin sum_i (g(y_i) - beta z_i)^2

    g(y) is a number for each report y with sum_y A[y, x] g(y) = x for every value x, as in
    :class:`warner.estimators.SampleMean`. So g(y_i) is an unbiased, noisy copy of the number of
    person i. Its variance depends on the number, so errors are from the sandwich formula, times
    n / (n - p).

    People who were drawn with unequal weights, in clusters such as schools, or from strata are no
    simple random sample. Where ``weights``, ``cluster`` or ``strata`` name columns that say so, the
    log-likelihood or the sum of squares is weighted, and

        Var beta = H^-1 (sum_h G_h / (G_h - 1) sum_{g in h} (S_g - S_h) (S_g - S_h)') H^-1

    H is the weighted information, S_g = sum_{i in g} w_i s_i the score of cluster g, and S_h the
    mean over the G_h clusters of stratum h. Tests and intervals take Student's t, whose degrees of
    freedom are at most clusters - strata, and fewer where few clusters decide on a coefficient.
    Without ``cluster``, each person is one.

    Covariates must be in the order of the reports, or in pandas have the index of the answers that
    were randomised. Files of reports are shuffled when they are written, so the covariates must
    have been carried along.

    Args:
        reports: n reports of one mechanism.
        covariates: n rows: a frame of any library that Narwhals knows, a mapping of columns, or an
            array (n,) or (n, p). Without a formula, all columns are used: an intercept, numbers as
            they are, and text as one column for each level but the first in alphabetical order.
        formula: the right side of a formula such as ``"age + ward:sex"``, which formulaic reads.
        reference: the value that odds are against; None for the first one of the domain. Not for
            the mean.
        errors: ``"observed"``, the inverse of the observed information; ``"sandwich"``, which holds
            also where the model is wrong. Those of the mean are always of the second kind. None is
            the first, or that of the survey design where there is one.
        attribute: of reports of several attributes that are randomised separately, the name of the
            one to regress.
        kind: ``"shares"`` or ``"mean"``.
        trusted: whether to take reports that no answers make by chance, see
            :meth:`warner.Tally.trusted`.
        weights, cluster, strata: of a survey, the names of the columns of ``covariates`` with the
            weight of each person, the cluster that was drawn, and the stratum. They are no
            covariates, unless the formula names them.

    Returns:
        Regression: coefficients, errors, tests and predictions. Its status says whether the maximum
        exists. Of the mean a MeanRegression, whose coefficients are in the unit of the numbers.

    Raises:
        ArgumentError: covariates with missing or infinite values, of another length, constant or
            collinear; an unknown reference, kind of errors or attribute; too many coefficients; for
            the mean a reference, or no more reports than coefficients; weights that are not
            positive, a single cluster in a stratum, clusters in several strata, or no more clusters
            than coefficients.
        ArgumentTypeError: no Reports, no covariates, or a mean of values that are not numbers.
        EmptyError: no reports.
        ReportError: reports that the mechanism cannot have sent.
        MismatchError: reports that no answers make by chance.
        IdentifiabilityError: the reports do not determine the mean without bias.
        MissingExtraError: a formula, where formulaic is not installed.

    Source: METHODS 10.6, 10.10.

    >>> from warner import Categorical, RandomizedResponse
    >>> smokes = RandomizedResponse(Categorical(["no", "yes"]), 3.0)
    >>> answers = ["yes"] * 300 + ["no"] * 700 + ["yes"] * 700 + ["no"] * 300
    >>> reports = smokes.randomize(answers)
    >>> found = regress(reports, {"ward": ["north"] * 1000 + ["south"] * 1000})
    >>> found.names, found.outcomes, found.reference
    (('Intercept', 'ward[T.south]'), ('yes',), 'no')
    >>> bool(found.p_values[0, 1] < 0.01)
    True
    >>> from warner import Integers, Laplace
    >>> visits = Laplace(Integers(0, 10), 4.0)
    >>> reports = visits.randomize([2] * 500 + [5] * 500)
    >>> wards = {"ward": ["north"] * 500 + ["south"] * 500}
    >>> bool(abs(regress(reports, wards, kind="mean").coefficients[0, 1] - 3) < 2)
    True
    """
    survey = SurveyDesign.of(weights, cluster, strata)
    choice("errors", errors, (None, "observed", "sandwich"))
    if survey is not None and errors is not None:
        rule = "are those of the survey design"
        raise ArgumentError("errors", rule, show(errors), "Leave errors= out")
    if choice("kind", kind, ("shares", "mean")) == "mean":
        if reference is not None:
            rule = "is of odds, and a mean has none"
            raise ArgumentError("reference", rule, show(reference), "Use kind='shares'")
        return _regress_mean(reports, covariates, formula, attribute, trusted, survey)
    problem = problem_of(reports, attribute, trusted)
    labels, size = problem.domain.labels, problem.domain.size
    ordered = in_order_of(reports.index, covariates, "covariates")
    design, matrix, drawn = covariates_of(ordered, formula, reports, problem, survey)
    if (size - 1) * matrix.shape[1] > _MOST_COEFFICIENTS:
        rule, got = f"must be at most {_MOST_COEFFICIENTS}", str((size - 1) * matrix.shape[1])
        remedy = "Use fewer covariates, merge values, or use kind='mean'"
        raise ArgumentError("number of coefficients", rule, got, remedy)
    first = _reference(problem.domain, reference)
    order = np.concatenate([[first], np.delete(np.arange(size), first)])
    rows, logs = problem.likelihoods()
    of_people = None if drawn is None else drawn.weights
    pairs = Pairs.of(rows[:, order], problem.report, matrix, of_people)
    turn = _orthonormal(pairs, design)
    pairs = pairs.turned(turn)
    best = maximize(pairs)
    covariance = best.covariance
    if errors == "sandwich":
        covariance = covariance @ best.point.squared_scores() @ covariance
    if drawn is not None:
        sums = drawn.root(best.point.scores_of_clusters(drawn))
        whitened = sums @ np.linalg.cholesky(covariance)
        drawn.require_spread(whitened.T @ whitened)
        root = sums @ covariance
        covariance = root.T @ root
    # Log-odds are (Z T) gamma' = Z beta', so beta = gamma T'.
    whole = np.asarray(np.kron(np.eye(size - 1), turn), dtype=np.float64)
    return Regression(
        coefficients=best.beta @ turn.T,
        covariance=whole @ covariance @ whole.T,
        survey=drawn,
        independent=None if drawn is None else _diagonal(whole, best.covariance),
        degrees=_NORMAL if drawn is None else best.point.degrees(drawn, whole),
        names=design.names,
        outcomes=tuple(labels[x] for x in order[1:]),
        n=problem.n,
        errors="linearised" if drawn is not None else errors or "observed",
        status=best.ending,
        simulated=reports.simulated,
        design=design,
        reference=labels[first],
        log_likelihood=best.point.value
        + problem.n * float(np.average(logs[problem.report], weights=of_people)),
        steps=best.steps,
        values=tuple(labels),
    )


def _expit(logs: FloatArray) -> FloatArray:
    """Shares at log-odds."""
    return np.asarray(1 / (1 + np.exp(np.clip(-logs, -_LARGEST_LOG, _LARGEST_LOG))))


def _diagonal(turn: FloatArray, covariance: FloatArray) -> FloatArray:
    """The diagonal of T C T'."""
    return np.asarray(((turn @ covariance) * turn).sum(axis=1))


def _orthonormal(pairs: Pairs, design: Design) -> FloatArray:
    """T (p, p), for which the columns of Z T have length sqrt(n) and are orthogonal."""
    _, triangle = np.linalg.qr(pairs.covariates * np.sqrt(pairs.people)[:, None])
    check_independent(design.names, triangle)
    return np.asarray(np.linalg.inv(triangle) * np.sqrt(pairs.people.sum()))


def _reference(domain: Domain, reference: Any) -> int:
    """The index of the reference."""
    if reference is None:
        return 0
    try:
        return int(domain.encode([reference])[0])
    except WarnerError:
        pass
    raise ArgumentError("reference", "must be a value of the domain", show(reference))


# -----------------------------------------------------------------------------------------------
# Linear regression of the mean of a hidden number on public covariates.


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
        reach = normal_quantile(level, float(np.min(self.degrees))) * np.sqrt(
            np.maximum(variances, 0.0)
        )
        return np.stack([means, means - reach, means + reach], axis=1)

    def _sentences(self, level: float) -> list[str]:
        return [
            "One unit more of a covariate adds the estimate to the mean, with equal other "
            "covariates.",
            *super()._sentences(level),
        ]


def _regress_mean(
    reports: Reports,
    covariates: Any,
    formula: str | None,
    attribute: str | None,
    trusted: bool,
    survey: SurveyDesign | None,
) -> MeanRegression:
    """The regression of the mean: see :func:`regress`."""
    problem = problem_of(reports, attribute, trusted)
    points = problem.domain.points
    if points is None or points.shape[1] != 1:
        rule, got = "needs values that are numbers", type(problem.domain).__name__
        raise ArgumentTypeError("kind", f"'mean' {rule}", got, "Use kind='shares'")
    ordered = in_order_of(reports.index, covariates, "covariates")
    design, matrix, drawn = covariates_of(ordered, formula, reports, problem, survey)
    weights = np.ones(problem.n) if drawn is None else drawn.weights
    q, triangle = np.linalg.qr(matrix * np.sqrt(weights)[:, None])
    check_independent(design.names, triangle)
    width = matrix.shape[1]
    if problem.n <= width:
        rule = f"must be more than the {width} coefficients"
        raise ArgumentError("reports", rule, str(problem.n))
    # An affine function of the report has less variance than the inverse of the channel.
    numbers = unbiased_scores(problem.channel, points[:, 0])[problem.row]
    numbers = numbers * np.sqrt(weights)
    gamma = q.T @ numbers
    residuals = numbers - q @ gamma
    inverse = np.linalg.inv(triangle)
    small = problem.n / (problem.n - width)
    # sqrt(w_i) times the residual and the covariates of the person, which have the factor too.
    scores = q * residuals[:, None]
    if drawn is None:
        meat, independent, degrees = scores.T @ scores * small, None, _NORMAL
    else:
        root = drawn.root(drawn.summed(scores))
        degrees = np.full(width, float(drawn.degrees))
        for i, row in enumerate(inverse if drawn.design.cluster is not None else ()):
            v = drawn.summed(q * (q @ row)[:, None])
            degrees[i] = drawn.moments_of(np.column_stack([v @ row, v]), np.eye(width))[0]
        alone = scores / np.sqrt(weights)[:, None]
        drawn.require_spread(root.T @ root)
        meat, independent = root.T @ root, _diagonal(inverse, alone.T @ alone * small)
    return MeanRegression(
        coefficients=(inverse @ gamma)[None, :],
        covariance=inverse @ meat @ inverse.T,
        survey=drawn,
        independent=independent,
        degrees=degrees,
        names=design.names,
        outcomes=("mean",),
        n=problem.n,
        errors="sandwich" if drawn is None else "linearised",
        status=Ending.EXACT,
        simulated=reports.simulated,
        design=design,
    )
