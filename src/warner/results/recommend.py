"""The method that is recommended for a domain and a channel."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from warner._core.errors import ArgumentError
from warner.channels import LikelihoodOperator
from warner.domains import Domain
from warner.estimators import (
    EmpiricalBayes,
    Estimator,
    ExpectationMaximization,
    Inversion,
    KeyMeans,
    LogSpline,
    MaximumLikelihood,
    PerKey,
    RakedJoint,
)
from warner.estimators.fit import Fit
from warner.estimators.likelihood_data import LikelihoodData
from warner.estimators.mle.objective import certify

_MOST_VALUES = 2**20  # the recommended methods need about a kilobyte of memory for each value
_MOST_WITH_SILENCE = 2048  # values and silence, up to which a log-spline has silence beside it
# Standard deviations of twice the difference of two log-likelihoods that smoothness may cost.
_ALLOWED = 6
# Values above which the largest errors alone stay above 0.
_MANY = 512


def rules_out(smooth: Fit, best: Fit) -> bool:
    """Whether the reports contradict a smooth distribution.

    The test statistic is twice the difference of the log-likelihoods of the best fit and a smooth
    fit. With m shares above 0, and a smooth true distribution, it would be about chi-square with m
    degrees of freedom: mean m, standard deviation sqrt(2 m). The answer is whether it exceeds the
    mean by six standard deviations. For smooth distributions it stayed within five, for every
    mechanism and number of people tried.

    Of many values only the m largest errors of K stay above 0. With the normal quantile c of
    1 - m / K an error z > c contributes z^2 - c^2, whose mean is above 1. Above 512 values the
    mean and the variance of these contributions are used. Without them, smooth shapes of 1000
    values are five standard deviations off on average.
    """
    free = int(np.count_nonzero(best.shares))
    rise = 2 * ((best.log_likelihood or 0.0) - (smooth.log_likelihood or 0.0))
    mean, variance = float(free), 2.0 * free
    if best.shares.size > _MANY and 0 < 2 * free < best.shares.size:
        tail = free / best.shares.size
        c = NormalDist().inv_cdf(1 - tail)
        height = NormalDist().pdf(c)
        mean = free * (1 - c**2 + c * height / tail)
        fourth = 3 + (c**3 + 3 * c) * height / tail
        variance = free * (fourth - 2 * c**2 * (1 + c * height / tail) + c**4)
    return rise > mean + _ALLOWED * float(np.sqrt(variance))


def recommended(domain: Domain, channel: LikelihoodOperator | None = None) -> Estimator:
    """Return the estimator that :func:`warner.estimate` uses where none is named.

    - Numbers in order (Integers, Interval): ``LogSpline()``, because neighbouring values have
      similar shares. It errs less than smoothed EM and maximum likelihood, except on a few isolated
      spikes (bench/logspline_against_smoothed_em). With 500 to 5000 people and epsilon up to 1 its
      Wasserstein distance from Adult's ages was 0.97 to 1.15 times that of smoothed EM, and from
      weekly hours 0.73 to 1.02 times. If the reports contradict a smooth distribution,
      :func:`warner.estimate` takes ``MaximumLikelihood()`` instead. Where silence is a value of
      its own, it stands beside the smooth shares.
    - Places (Grid, Points): ``ExpectationMaximization("auto")``, because noise between places that
      are close cannot be inverted. It errs less than inversion and maximum likelihood
      (experiments P4/fig9 to P4/fig11).
    - Keys with values: ``PerKey()``, or ``KeyMeans()`` where values are rounded, because such
      reports identify means only.
    - Several attributes that are randomised separately: ``RakedJoint()``, with the recommended
      method for each single attribute. Its margins of one and two attributes are those of separate
      estimates, as far as one table can have them all. It errs less than maximum likelihood and
      than early-stopped EM on the whole table (bench/joint_margins).
    - Several attributes in one report of a Product: ``EmpiricalBayes(order=False)``.
    - Labels: ``EmpiricalBayes()``, which learns from all shares how large shares are, and from
      their order where the reports show that neighbours are alike. In the league (bench/accuracy)
      its squared error is within 10 % of the best method's in nine cells of ten. Up to 7 values it
      is the exact posterior under a mixture of Dirichlet distributions. For yes or no, its squared
      error is 0.4 to 1.01 times that of the projected inversion on average over all shares. At a
      share that the noise just hides it can be 1.3 times as large, and 1.9 times at a share of 0
      (bench/few_values_err_little).
    - Answers that were sent unchanged: ``Inversion("project")``, which gives the answers' shares.

    >>> from warner import Categorical, Grid, Interval
    >>> recommended(Interval(0, 1, 64)), recommended(Grid(4, 4))
    (LogSpline(), ExpectationMaximization(steps='auto'))
    >>> recommended(Categorical(["a", "b"])) == EmpiricalBayes()
    True
    """
    if channel is not None and channel.sends_true_values():
        return Inversion("project")
    if channel is not None and channel.is_keyed:
        return KeyMeans() if channel.tells_means_only else PerKey()
    if domain.is_ordered or (domain.answered.is_ordered and domain.size <= _MOST_WITH_SILENCE):
        return LogSpline()
    if domain.attributes:
        if channel is not None and all(
            group.factors(domain.shape) is None for group in channel.groups()
        ):
            return EmpiricalBayes(order=False)
        return RakedJoint(single=fit_alone)
    return ExpectationMaximization("auto") if domain.dimension else EmpiricalBayes()


def recommended_fit(data: LikelihoodData) -> tuple[Estimator, Fit]:
    """The recommended estimator for the data, and its fit."""
    if data.domain.size > _MOST_VALUES:
        raise ArgumentError(
            "domain",
            f"must have at most {_MOST_VALUES} values for the recommended method",
            str(data.domain.size),
            "Name a method: Inversion('project'), -m project",
        )
    smooth = recommended(data.domain, data.channel)
    fit = smooth.fit(data)
    if smooth == LogSpline():
        # Some counts are not smooth, such as ages that people round to tens. Where the likelihood
        # rules smoothness out, its maximum is the estimate.
        sharp, counted = MaximumLikelihood(), data.for_test_of_smoothness()
        best = sharp.fit(counted)
        of_sums = fit if counted is data else certify(counted, fit.shares, fit.status, None)
        if rules_out(of_sums, best):
            return sharp, best if counted is data else sharp.fit(data)
    return smooth, fit


def fit_alone(data: LikelihoodData) -> Fit:
    """The recommended fit of one attribute, as ``RakedJoint`` takes it."""
    return recommended_fit(data)[1]
