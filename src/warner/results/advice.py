"""Advice against a method that does not suit the reports."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from warner._core.errors import IdentifiabilityError, message
from warner.channels import LikelihoodOperator
from warner.domains import Domain
from warner.estimators import Estimator, MaximumLikelihood
from warner.estimators.likelihood_data import LikelihoodData
from warner.results.recommend import recommended

# On a smooth made-up distribution with a peak, 16 and 64 bins and 20,000 people, projected
# inversion and empirical Bayes had at most 1.3 times the Wasserstein-1 error of the default where
# the ratio was below 10. Above, they had 1.2 to 54 times, and mostly more than 4.
_TOO_LARGE = 10.0
_MOST_ENTRIES = 2**22  # of a channel whose ratio is computed, a fraction of a second


def advice(estimator: Estimator, data: LikelihoodData) -> str | None:
    """Why another estimator suits the reports better, and which.

    A method that starts from the unbiased estimates of single shares is advised against where the
    channel is badly conditioned, see :func:`conditioning`. The recommended method is never advised
    against.
    """
    if not estimator.inverts:
        return None
    better = recommended(data.domain, data.channel)
    ratio = None if better == estimator else conditioning(data.channel, data.domain)
    if ratio is None or ratio < _TOO_LARGE:
        return None
    if better.inverts:
        better = MaximumLikelihood()
    rule = (
        "starts from estimates of single shares, which are badly conditioned here: their variance "
        f"is {ratio:.2g} times that of reports with as much information about every share"
    )
    return message("method", rule, repr(estimator), f"Use {better!r}")


def conditioning(channel: LikelihoodOperator, domain: Domain) -> float | None:
    """How much larger the variance of the inverse is than the information suggests.

        ratio = mean(variance) mean(information),   at equal shares

    The mean variance is that of the unbiased estimates of one report, and the mean information that
    of the Fisher information of one report, each over the K - 1 directions of vectors that sum to
    0. If the covariance of the estimates has the eigenvalues v_i, this is mean(v_i) mean(1 / v_i)
    for an efficient inverse. It is 1 where the noise is the same in all directions, as that of
    support counts nearly is. It is large where some directions are nearly lost, as the differences
    of neighbours are in noise on a line. Methods that work share by share then drown in these
    directions; those that use the likelihood or smoothness do not.
    """
    groups = channel.groups()
    if len(groups) > 1:
        return _chosen(min, [conditioning(group, domain) for group in groups])
    factors = channel.factors(domain.shape) if domain.attributes else None
    if factors is not None:
        parts = [domain.select([name]) for name in domain.attributes]
        pairs = zip(factors, parts, strict=True)
        return _chosen(max, [conditioning(factor, part) for factor, part in pairs])
    rows, size = channel.shape
    if size < 2 or channel.average_support_law() is not None:
        return 1.0
    unknown = channel.rows_per_report != 1 or channel.is_keyed or not channel.lists_all_reports
    if unknown or rows * size > _MOST_ENTRIES:
        return None
    even = np.full(size, 1 / size)
    try:
        variance = float(channel.variance(even).sum())
    except IdentifiabilityError:
        return None
    expected, information = channel.matvec(even), 0.0
    for place, block in channel.blocks():
        d = expected[place]
        information += float((block[d > 0] ** 2 / d[d > 0, None]).sum())
    # In the direction of equal shares the information is 1' I 1 / K = K.
    return variance * (information - size) / (size - 1) ** 2


def _chosen(choose: Callable[[list[float]], float], ratios: list[float | None]) -> float | None:
    """The smallest or largest of the ratios; None where one is not known."""
    known = [ratio for ratio in ratios if ratio is not None]
    return choose(known) if len(known) == len(ratios) else None
