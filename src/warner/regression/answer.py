"""Regression of hidden answers, and on them, through the channel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, overload

from warner._core.checks import choice, show
from warner._core.errors import ArgumentError
from warner._core.names import explained
from warner._core.survey_design import SurveyDesign
from warner.regression.means import MeanRegression, mean_of
from warner.regression.people import People
from warner.regression.pieces import LINKS
from warner.regression.predictor import PredictorRegression, hidden_predictor_of
from warner.regression.shares import Regression, shares_of
from warner.reports.reports import Reports


@overload
def regress(
    reports: Reports | Sequence[Reports],
    covariates: Any,
    formula: str | None = None,
    reference: Any = None,
    errors: str | None = None,
    attribute: str | None = None,
    kind: Literal["shares"] | None = None,
    trusted: bool = False,
    weights: str | None = None,
    cluster: str | None = None,
    strata: str | None = None,
    *,
    link: str = "logit",
    random: str | None = None,
    outcome: Any = None,
    hidden: None = None,
    baselines: Mapping[str, Any] | None = None,
) -> Regression: ...


@overload
def regress(
    reports: Reports | Sequence[Reports],
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
    baselines: Mapping[str, Any] | None = None,
) -> MeanRegression: ...


@overload
def regress(
    reports: Reports | Sequence[Reports] | Mapping[str, Reports],
    covariates: Any,
    formula: str,
    reference: Any = None,
    errors: str | None = None,
    *,
    hidden: str,
    trusted: bool = False,
    weights: str | None = None,
    cluster: str | None = None,
    strata: str | None = None,
    link: str = "logit",
    random: str | None = None,
    baselines: Mapping[str, Any] | None = None,
) -> PredictorRegression: ...


@explained
def regress(
    reports: Any,
    covariates: Any,
    formula: str | None = None,
    reference: Any = None,
    errors: str | None = None,
    attribute: str | None = None,
    kind: str | None = None,
    trusted: bool = False,
    weights: str | None = None,
    cluster: str | None = None,
    strata: str | None = None,
    *,
    link: str = "logit",
    random: str | None = None,
    outcome: Any = None,
    hidden: str | None = None,
    baselines: Mapping[str, Any] | None = None,
) -> Regression | MeanRegression | PredictorRegression:
    """Regress the hidden answer on public covariates, or what is seen on the hidden answer.

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

    With ``hidden=``, an outcome o that is seen, such as an income, on a hidden answer and other
    covariates:

        l(beta, gamma) = sum_i log sum_x A[y_i, x] softmax(beta z_i)_x f(o_i | gamma w(x, i))

    w(x, i) are the covariates of person i with the answer x among them. f is the normal density of
    a number with the mean gamma w, or the probability of one of two values, by the link. Both parts
    are estimated together, so the errors know that answers are not.

    With ``random=``, people of one group, such as a school, are alike: the log-odds, or the mean of
    what is seen, have s u_j more in group j, where u_j is standard normal. The mean of the
    likelihood over u_j is by adaptive Gauss-Hermite quadrature with 30 nodes for each group.

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
        reports: n reports of one mechanism, or ``{name: reports}`` of several questions to the
            same people, which the formula or ``hidden=`` names. A list has the reports of groups
            that were asked the same question by different mechanisms, one group after the other.
            What people said in the groups of a design on paper comes from its method ``said``.
        covariates: n rows: a frame of any library that Narwhals knows, a mapping of columns, or an
            array (n,) or (n, p). Without a formula, all columns but the reports are used: an
            intercept, numbers as they are, and text as one column for each level but the first in
            alphabetical order.
        formula: a sum of names, or what formulaic reads, such as ``"age + ward:sex"``. The question
            may stand on its left, ``"smokes ~ age"``, and says which of several is meant. With
            ``hidden=`` the outcome stands there: ``"income ~ smokes + age"``.
        reference: the value that odds are against, or the hidden answer with which others are
            compared; None for the first one of the domain. Not for the mean.
        errors: ``"observed"``, the inverse of the observed information; ``"sandwich"``, which holds
            also where the model is wrong. Those of the mean are always of the second kind. None is
            the first, or that of the survey design where there is one.
        attribute: of reports of several attributes that are randomised separately, the name of the
            one to regress; None for all together, of at most 12 combinations. How far long work is,
            :func:`warner.results.progress` shows.
        kind: ``"shares"`` or ``"mean"``. None is the first, but for numbers in bins and more than
            12 numbers, where each value would have an equation of its own, the kind must be named.
        trusted: whether to take reports that no answers make by chance, see
            :meth:`warner.Tally.trusted`.
        weights, cluster, strata: of a survey, the names of the columns of ``covariates`` with the
            weight of each person, the cluster that was drawn, and the stratum. They are no
            covariates, unless the formula names them.
        link: of a question, or an outcome, with two values: ``"logit"``, ``"probit"``,
            ``"cloglog"`` or ``"cauchit"``.
        random: the name of the column with groups that have random intercepts. It is no covariate,
            unless the formula names it. In a survey groups lie within the clusters; a group then
            has the mean weight of its people.
        outcome: one of three answers or more, or of two, whose share against all others together is
            regressed. Reports with which this answer is equally likely are then one. Needs a
            mechanism as RandomizedResponse is, with which the others are not told apart by that.
        hidden: the name by which the formula calls the hidden answer, and the covariates that its
            own shares depend on: ``"smokes"`` for the other covariates of the formula, or
            ``"smokes ~ age"``, or ``"smokes ~ 1"`` for none. Several are ``"smokes + drinks ~ 1"``.
        baselines: ``{"ward": "south"}``, the label of a column with which its others are compared;
            without it, the first label of the alphabet, or of the categories of a column that has
            an order of them. A column of few whole numbers that is named here holds labels.

    Returns:
        Regression: coefficients, errors, tests and predictions. Its status says whether the maximum
        exists. Of the mean a MeanRegression, whose coefficients are in the unit of the numbers.
        With ``hidden=`` a PredictorRegression, with the regression of the hidden answer in it.

    Raises:
        ArgumentError: covariates with missing or infinite values, of another length, constant or
            collinear; an unknown reference, kind of errors or attribute; too many coefficients; for
            the mean a reference, or no more reports than coefficients; weights that are not
            positive, a single cluster in a stratum, clusters in several strata, or no more clusters
            than coefficients; shares of many numbers without kind; a link or random intercepts for
            more than two answers; a formula without the outcome or the hidden answer.
        ArgumentTypeError: no Reports, no covariates, or a mean of values that are not numbers.
        EmptyError: no reports.
        ReportError: reports that the mechanism cannot have sent.
        MismatchError: reports that no answers make by chance; groups with different values.
        IdentifiabilityError: the reports do not determine the mean without bias.
        MissingExtraError: a formula beyond a sum of names, where formulaic is not installed.

    Source: METHODS 10.6, 10.10; Blair, Imai and Zhou (2015); Heck and Moshagen (2018); Fox, Veen
    and Klotzke (2019).

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
    >>> reports = smokes.randomize(answers)
    >>> income = [1.0, 2.0] * 150 + [3.0, 4.0] * 350 + [1.0, 2.0] * 350 + [3.0, 4.0] * 150
    >>> fit = regress(reports, {"income": income}, "income ~ smokes", hidden="smokes")
    >>> fit.names, bool(abs(fit.coefficients[0, 1] + 2) < 0.5)
    (('Intercept', 'smokes[T.yes]'), True)
    """
    survey = SurveyDesign.of(weights, cluster, strata)
    choice("errors", errors, (None, "observed", "sandwich"))
    choice("link", link, LINKS)
    if survey is not None and errors is not None:
        rule = "cannot be chosen with a survey design, which has its own way to compute errors"
        raise ArgumentError("errors", rule, show(errors), "Leave out the argument errors")
    if choice("kind", kind, ("shares", "mean", None)) == "mean":
        given = {"hidden": hidden, "random": random, "link": None if link == "logit" else link}
        given["outcome"] = outcome
        for name, value in given.items():
            if value is not None:
                rule = "cannot be used with a mean"
                raise ArgumentError(name, rule, show(value), "Use kind='shares'")
        if reference is not None:
            rule = "cannot be used with a mean, which has no odds"
            raise ArgumentError("reference", rule, show(reference), "Use kind='shares'")
        people = People.of(reports, covariates, formula, survey, None, baselines)
        return mean_of(*people.about(attribute), trusted)
    if outcome is not None and reference is not None:
        rule = "cannot be used together with outcome=..., which is compared with all other answers"
        raise ArgumentError("reference", rule, show(reference), "Leave out the argument reference")
    if hidden is not None:
        if outcome is not None:
            rule = "cannot be used together with hidden=..., whose outcome stands in the formula"
            raise ArgumentError("outcome", rule, show(outcome), "Leave out the argument outcome")
        if attribute is not None:
            rule = "cannot be used together with hidden=..., which names the questions"
            raise ArgumentError(
                "attribute", rule, show(attribute), "Leave out the argument attribute"
            )
        people = People.of(reports, covariates, formula, survey, random, baselines, hidden)
        return hidden_predictor_of(people, hidden, reference, errors, trusted, link)
    people = People.of(reports, covariates, formula, survey, random, baselines)
    is_named = kind is not None
    asked_about = people.about(attribute)
    return shares_of(*asked_about, reference, errors, trusted, link, is_named, outcome)
