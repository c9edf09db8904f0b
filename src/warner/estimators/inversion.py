"""Estimates without a likelihood: inversion of the channel, and two baselines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from warner._core.checks import choice, kind, probability, show
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    IdentifiabilityError,
)
from warner._core.names import CONSTRAINTS_ELSEWHERE
from warner.channels import FloatArray, IndependentParts, LikelihoodOperator, summed
from warner.domains import Domain
from warner.estimators.base import (
    Estimator,
    Fit,
    LikelihoodData,
    MeanFit,
    Status,
    inverted,
    status_of_parts,
)
from warner.metrics import norm_cut, normalize, project, threshold

# Established names of the constraints.
SYNONYMS = {
    "norm-sub": "project",
    "cls": "project",
    "projection": "project",
    "normalise": "normalize",
    "norm-mul": "normalize",
    "emp+thr": "threshold",
    "significance": "threshold",
    "none": None,
}
_CONSTRAINTS = (None, "normalize", "project", "norm-cut", "threshold")
_SOURCES: dict[str | None, tuple[str, ...]] = {
    "normalize": ("kairouz2016",),
    "project": ("kairouz2016", "wang2020"),
    "norm-cut": ("wang2020",),
    "threshold": ("P2",),
}


_CONSTRAINED = (
    "the effect of the randomisation is removed (inverted), and the result is changed so that no "
    "share is negative. The shares are then no longer right on average (unbiased)"
)


@dataclass(frozen=True, repr=False)
class Inversion(Estimator):
    """The linear unbiased estimate from the inverse of the channel, with or without a constraint.

        theta = L w,   L A = I

    A (m, K) is the channel, L (K, m) its left inverse, and w (m,) the frequencies of its rows.

    Args:
        constraint: what is done to the unbiased estimate, whose entries may be negative. None
            leaves it unbiased. ``"project"`` takes the Euclidean projection on the simplex
            (Norm-Sub). ``"normalize"`` sets negative entries to 0 and divides by the sum
            (Norm-Mul). ``"norm-cut"`` keeps the largest entries while their sum is at most 1.
            ``"threshold"`` keeps the entries that a Bonferroni test at the level ``alpha`` finds
            above 0; with ``rest="discard"`` this is Base-Cut.
        weights: how groups of people with different mechanisms or budgets are combined.
            ``"inverse-variance"`` has the least variance. ``"equal"`` takes the plain mean of the
            groups' inversions [P1 eq 13]. A single group is not affected.
        alpha: for ``"threshold"``, the largest probability, in (0, 1), that any absent value is
            kept. [P2] takes 0.05.
        rest: for ``"threshold"``, the shares of the values that are not kept. ``"spread"`` divides
            the remaining mass evenly among them [P2 sec 6]. ``"discard"`` gives them 0 and leaves
            the kept entries unbiased, so that they need not sum to 1 [P2 sec 2.5].

    Raises:
        ArgumentError: an unknown constraint, unknown weights or an unknown rest; or ``alpha`` or
            ``rest`` without ``"threshold"``.
        IdentifiabilityError: different distributions make the same reports, so A has no left
            inverse.

    Source: [P1 eqs 12, 13], [P2 sec 2.5, sec 6], [P4 sec IX]; the projection and the normalised
    estimate of Kairouz, Bonawitz and Ramage (2016); Norm-Sub, Norm-Mul, Norm-Cut and
    Base-Cut of Wang et al. (2020); METHODS 5.

    >>> Inversion("norm-sub"), Inversion("threshold", alpha=0.01)
    (Inversion(constraint='project'), Inversion(constraint='threshold', alpha=0.01))
    """

    references = ("P1", "P2", "wang2017", "kairouz2016", "wang2020", "P4")

    summary: ClassVar[str] = (
        "the effect of the randomisation is removed (inverted). The shares are right on average "
        "(unbiased)"
    )

    always_shown: ClassVar[tuple[str, ...]] = ("constraint",)

    constraint: str | None = None
    weights: str = "inverse-variance"
    alpha: float = 0.05
    rest: str = "spread"

    def __post_init__(self) -> None:
        constraint = self.constraint
        if isinstance(constraint, str):
            constraint = SYNONYMS.get(constraint.lower(), constraint.lower())
        object.__setattr__(
            self,
            "constraint",
            choice("constraint", constraint, _CONSTRAINTS, CONSTRAINTS_ELSEWHERE),
        )
        if constraint is not None:
            object.__setattr__(self, "summary", _CONSTRAINED)
        choice("weights", self.weights, ("inverse-variance", "equal"))
        probability("alpha", self.alpha)
        choice("rest", self.rest, ("spread", "discard"))
        for name in ("alpha", "rest"):
            if self.constraint != "threshold" and getattr(self, name) != getattr(Inversion, name):
                rule = "can be used only with constraint='threshold'"
                remedy = f"Leave out the argument {name}, or pass constraint='threshold', too"
                raise ArgumentError(name, rule, None, remedy)

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources of the constraint and of the inversion itself."""
        equal = ("P1",) if self.constraint is None or self.weights == "equal" else ()
        cut = ("wang2020",) if self.rest == "discard" else ()
        return (*_SOURCES.get(self.constraint, ()), *cut, "wang2017", *equal)

    @property
    def inverts(self) -> bool:
        """Unconstrained estimates are unbiased, as promised, however large their noise is."""
        return self.constraint is not None

    def _fit(self, data: LikelihoodData) -> Fit:
        channel = data.channel
        if self.weights == "equal":
            channel = channel.with_equal_groups()
        raw = channel.invert(data.weights)
        if self.constraint is None:
            return unprojected(raw)
        if self.constraint == "project":
            return Fit(project(raw), Status.EXACT)
        if self.constraint == "normalize":
            return Fit(normalize(raw), Status.EXACT if (raw > 0).any() else Status.NO_POSITIVE_MASS)
        if self.constraint == "norm-cut":
            return unprojected(norm_cut(raw))
        sd = np.sqrt(channel.variance_at_zero(project(raw)) / data.n)
        shares = threshold(raw, sd, self.alpha, self.rest)
        return unprojected(shares) if self.rest == "discard" else Fit(shares, Status.EXACT)

    def refit_all(
        self, several: Sequence[LikelihoodData], near: np.ndarray
    ) -> Iterator[np.ndarray]:
        """All sets of reports together, where each is only inverted and projected."""
        plain = self.weights != "equal" and self.constraint in (None, "project")
        if not plain or type(self) is not Inversion:  # a derived class has a fit of its own
            yield from super().refit_all(several, near)
            return
        raw = inverted(several)
        yield from raw if self.constraint is None else project(raw.T).T


def unprojected(shares: np.ndarray) -> Fit:
    """The fit of shares (K,) that may be negative, and whose sum need not be 1."""
    if (shares >= 0).all() and abs(shares.sum() - 1) < 1e-9:
        return Fit(shares / shares.sum(), Status.EXACT)
    return Fit(shares, Status.OUTSIDE_SIMPLEX)


@dataclass(frozen=True)
class Uniform(Estimator):
    """The uniform distribution, 1 / K for each of the K values: a baseline that uses no report.

    >>> Uniform()
    Uniform()
    """

    references = ("P1",)

    summary: ClassVar[str] = "for comparison only: equal shares, which ignore the reports"
    is_consistent: ClassVar[bool] = False

    def _fit(self, data: LikelihoodData) -> Fit:
        size = data.domain.size
        return Fit(np.full(size, 1 / size), Status.EXACT)


@dataclass(frozen=True)
class Observed(Estimator):
    """The report histogram itself, not corrected (ObfDat): a baseline.

    It is the share of the reports that support each value, divided by the sum of these shares.

    Raises:
        ArgumentError: reports that are not values and do not support values.

    >>> Observed()
    Observed()
    """

    references = ("P1",)
    for_papers = True

    summary: ClassVar[str] = "for comparison only: reports are counted as if they were the answers"
    is_consistent: ClassVar[bool] = False

    def _fit(self, data: LikelihoodData) -> Fit:
        return Fit(data.channel.naive_estimate(data.weights), Status.EXACT)


# -----------------------------------------------------------------------------------------------
# The mean alone: the estimate of a mean from reports of numbers, without a distribution.


_FLAT = 1e-9  # of the range of the report scores: a smaller range of their means is rounding
_ROUNDED = 1 / 64  # of the extent of all places: the most that a device's grid moves one, twice
_EXACT = 1e-6  # of the range of values, by which an inverse may miss them
_AFFINE = 1e-7  # of the range of means: more than far tails that are cut off leave


@dataclass(frozen=True)
class SampleMean(Estimator):
    """The unbiased estimate of the mean, from the mean of a function of the reports.

        mean = sum_y w_y g_y,   sum_y A[y, x] g_y = x for every value x

    A (m, K) is the channel, w (m,) the frequencies of its rows, and g (m,) the function. Each
    coordinate is estimated separately. For most mechanisms of numbers the mean report is an affine
    function of the value: stochastic rounding, piecewise, square wave, Laplace, Gaussian and
    geometric. Then g is the inverse of this function, which is the published estimator. Otherwise g
    comes from the inverse of the channel.

    The Gaussian mechanism on places rounds them to its grid before it adds noise. The bias b of the
    sample mean is then at most the largest rounding. The sample mean is returned while b^2 is less
    than its variance, or than that of the inverse, and intervals are wider by b.

    The standard error is sqrt((sum_y w_y g_y^2 - mean^2) / n) for the population. The same number,
    a little too large, is used for the respondents, because the reports need not determine the
    variance of the respondents' values.

    The estimate has no ``probabilities``; ``mean()`` is a number with ``interval()``.

    Raises:
        ArgumentTypeError: values without coordinates.
        IdentifiabilityError: reports do not determine the mean without bias.

    Source: [P3 sec II]; METHODS 2.

    >>> from warner import Interval, estimate
    >>> from warner.mechanisms import StochasticRounding
    >>> pay = StochasticRounding(Interval(0, 10, bins=2), 2.0)
    >>> mean = estimate(pay.tally(pay.randomize([2.5] * 40_000)), SampleMean()).mean()
    >>> bool(abs(mean - 2.5) < 0.5), mean.interval().shape
    (True, (2,))
    """

    references = ("duchi2013", "P3")

    summary: ClassVar[str] = "only the mean is estimated; for shares use another method"

    def _fit(self, data: LikelihoodData) -> Fit:
        points, w = data.domain.points, data.weights
        if points is None:
            rule = "SampleMean needs values that are numbers or places"
            remedy = "Use Integers, Interval, Grid or Points"
            raise ArgumentTypeError("method", rule, type(data.domain).__name__, remedy)
        if data.channel.rows_per_report != 1:
            rule = "has only the counts of each bit, but SampleMean needs complete reports"
            remedy = "Use Inversion() and the mean() of its estimate"
            raise IdentifiabilityError("tally", rule, None, remedy)
        extent = float(np.ptp(points, axis=0).max())
        scores = [_least_risk(data, c, extent) for c in points.T]
        g, bias = np.stack([g for g, _ in scores]), np.array([b for _, b in scores])
        mean = g @ w
        spread = np.maximum(g**2 @ w - mean**2, 0.0)
        # The variance is undefined for one report.
        variance = spread * data.n / (data.n - 1) if data.n > 1 else np.full(mean.shape, np.inf)
        return Fit(None, Status.EXACT, mean=MeanFit(mean, variance, bias))


def _least_risk(
    data: LikelihoodData, points: FloatArray, extent: float
) -> tuple[FloatArray, float]:
    """The number g (m,) that each report stands for, and the largest bias |A'g - points|."""
    # Unbiased, except for places that a device rounded to its grid: there the affine function of
    # the report is taken if its squared bias is at most its variance, or if the unbiased g errs no
    # less, for the mean of n reports at the uniform distribution.
    channel = data.channel
    if (exactly_affine := affine(channel, points)) is not None:
        return exactly_affine, 0.0
    if not isinstance(channel, IndependentParts):
        return unbiased_scores(channel, points), 0.0
    g, bias = _nearly_affine(channel, points)
    if bias > _ROUNDED * extent:
        return unbiased_scores(channel, points), 0.0
    d = channel.matvec(np.full(channel.shape[1], 1 / channel.shape[1]))
    noise = float(d @ g**2 - (d @ g) ** 2) / data.n
    if bias**2 <= noise:
        return g, bias
    try:
        inverse = channel.influence(points)
    except (IdentifiabilityError, ArgumentError):
        # Some places make the same reports, or there are too many reports.
        return g, bias
    error = float(np.abs(channel.rmatvec(inverse) - points).max())
    is_exact = error <= _EXACT * float(np.ptp(points))
    has_less_risk = float(d @ inverse**2 - (d @ inverse) ** 2) / data.n < noise + bias**2
    return (inverse, 0.0) if is_exact and has_less_risk else (g, bias)


def _nearly_affine(channel: LikelihoodOperator, points: FloatArray) -> tuple[FloatArray, float]:
    """The affine function (m,) of a report score whose means are nearest to the points (K,)."""
    candidates = []
    for numbers in channel.report_scores():
        means = channel.rmatvec(numbers)
        flat = float(np.ptp(means)) <= _FLAT * float(np.ptp(numbers))
        slope = 0.0 if flat else float(np.cov(means, points, bias=True)[0, 1] / np.var(means))
        g = slope * (numbers - means.mean()) + points.mean()
        distances = np.abs(slope * (means - means.mean()) + points.mean() - points)
        candidates.append((g, float(distances.max())))
    return min(candidates, key=lambda pair: pair[1])


def unbiased_scores(channel: LikelihoodOperator, points: FloatArray) -> FloatArray:
    """g (m,) of a report, whose mean estimates the mean of the points (K,) without bias."""
    scores = affine(channel, points)
    return channel.influence(points) if scores is None else scores


def affine(channel: LikelihoodOperator, points: FloatArray) -> FloatArray | None:
    """The g (m,) of :func:`unbiased_scores` that is an affine function of a report score."""
    first, last = int(np.argmin(points)), int(np.argmax(points))
    if first == last:
        return np.full(channel.shape[0], points[0])
    for numbers in channel.report_scores():
        means = channel.rmatvec(numbers)
        if abs(means[last] - means[first]) <= _FLAT * np.ptp(numbers):
            # The means differ by rounding alone.
            continue
        slope = (means[last] - means[first]) / (points[last] - points[first])
        error = np.abs(means - means[first] - slope * (points - points[first])).max()
        if error <= _AFFINE * abs(means[last] - means[first]):
            return np.asarray((numbers - means[first]) / slope + points[first])
    return None


# -----------------------------------------------------------------------------------------------
# Independent attributes: the product of their marginals (RR-Independent, RR-Clusters).


@dataclass(frozen=True, repr=False)
class Independent(Estimator):
    """The joint distribution of independent attributes: the product of estimated marginals.

        theta(x_1, .., x_d) = theta_1(x_1) .. theta_d(x_d)

    theta_k is the marginal of attribute k of d, and each marginal is estimated separately. If each
    attribute has K values, d (K - 1) numbers are estimated instead of K^d - 1. The error is
    smaller than that of a joint estimate if attributes are nearly independent, or if there are few
    people for K^d shares. The bias is the dependence of the attributes. More people do not reduce
    it.

    Marginals are estimated from summed report frequencies if the attributes were randomised
    separately, or together by randomised response. Then only the result has the size of the
    product. Otherwise ``method`` estimates the joint distribution, which is summed. On a domain
    that is not a Product, the result is that of ``method``.

    Args:
        groups: attributes that are estimated jointly, such as [["age", "sex"]]. Every other
            attribute is a group of its own. None if no attributes are estimated jointly.
        method: the estimator of each marginal.

    Raises:
        ArgumentError: groups that name an attribute twice, or one that the domain does not have.
        ArgumentTypeError: groups that are not lists of names, or a method that is no estimator.

    Source: [P5 alg 2]; groups: Domingo-Ferrer and Soria-Comas (2022); METHODS 3.

    >>> Independent(), Independent([["age", "sex"]], Inversion())
    (Independent(), Independent(groups=(('age', 'sex'),), method=Inversion(constraint=None)))
    """

    references = ("P5", "domingo2022")

    summary: ClassVar[str] = (
        "questions are estimated separately, and their shares are multiplied. So combinations are "
        "wrong where questions depend on each other; for such questions, use another method"
    )
    is_consistent: ClassVar[bool] = False

    groups: Sequence[Sequence[str]] | None = None
    method: Estimator = field(default=Inversion("project"))

    def __post_init__(self) -> None:
        if not isinstance(self.method, Estimator):
            rule = "must be an estimator"
            remedy = "For example Inversion('project')"
            raise ArgumentTypeError("method", rule, kind(self.method), remedy)
        if self.groups is None:
            return
        if isinstance(self.groups, str) or not all(
            isinstance(g, Sequence) and not isinstance(g, str) for g in self.groups
        ):
            rule = "must be lists of names"
            remedy = "For example [['age', 'sex']]"
            raise ArgumentTypeError("groups", rule, kind(self.groups), remedy)
        groups = tuple(tuple(group) for group in self.groups)
        names = [name for group in groups for name in group]
        if not all(isinstance(name, str) for name in names):
            raise ArgumentTypeError("groups", "must be lists of names", "entries that are not text")
        if len(set(names)) < len(names) or not all(groups):
            rule = "must be lists of one question or more, and no question may stand twice"
            raise ArgumentError("groups", rule, show([list(g) for g in groups]))
        object.__setattr__(self, "groups", groups)

    def _fit(self, data: LikelihoodData) -> Fit:
        from warner.estimators.raked_tables import product_of

        domain = data.domain
        if not domain.attributes:
            return self.method.fit(data)
        shape = domain.shape
        together = data.channel.clusters(shape) if self.groups is None else None
        groups = together or self.places(domain)
        if len(groups) == 1:
            return self.method.fit(data)
        marginals, statuses = [], []
        for axes in groups:
            of_group = data.on_attributes(axes)
            fit = self.method.fit(data if of_group is None else of_group)
            shares = summed(fit.shares, shape, axes) if of_group is None else fit.shares
            marginals.append(shares.reshape([shape[axis] for axis in axes]))
            statuses.append(fit.status)
        order = np.argsort([axis for axes in groups for axis in axes])
        table = product_of(marginals).transpose(order)
        return Fit(np.ascontiguousarray(table).ravel(), status_of_parts(statuses))

    def places(self, domain: Domain) -> list[list[int]]:
        """The groups as positions of their attributes, in the order of the domain.

        Args:
            domain: a Product with the attributes that the groups name.

        Returns:
            One list of positions for each group.

        Raises:
            ArgumentError: a group names an attribute that the domain does not have.
        """
        names = list(domain.attributes)
        groups = [list(group) for group in self.groups or ()]
        unknown = [name for group in groups for name in group if name not in names]
        if unknown:
            rule = f"must name only the questions {', '.join(names)}"
            raise ArgumentError("groups", rule, show(unknown[0]))
        named = {name for group in groups for name in group}
        groups += [[name] for name in names if name not in named]
        return sorted(sorted(names.index(name) for name in group) for group in groups)
