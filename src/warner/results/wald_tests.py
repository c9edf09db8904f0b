"""Tests of hypotheses about shares and means, from the exact covariance of the unbiased estimates.

A statistic (T - theta_0)' V^+ (T - theta_0) is compared with a chi-square law, whose degrees of
freedom are the rank of the covariance V. V is taken at the shares of the hypothesis, and V^+ is
its pseudo-inverse. The tests are asymptotic: they keep their level where some hundred reports
were made, and where no share of the hypothesis is so small that hardly a report supports it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from warner._core.checks import distribution
from warner._core.errors import ArgumentError, ArgumentTypeError, EmptyError, MismatchError
from warner._core.extras import scipy
from warner._core.survey_design import SurveyDesign
from warner.channels import LARGEST_DENSE, LikelihoodOperator
from warner.domains import Domain
from warner.estimators.base import LikelihoodData
from warner.estimators.survey_noise import with_sum_one
from warner.metrics import project
from warner.reports.tally import Tally
from warner.results.from_tally import GroupTable, likelihood_data
from warner.results.intervals import normal_quantile
from warner.results.named_summaries import parse, summary_rows
from warner.results.pooling import Coordinates
from warner.results.samples import LEAST_REPORTS, Sample, mean_in
from warner.results.share_noise import covariance_of
from warner.results.solution import Solution, positions

_LEVEL = 0.95  # of the intervals from which a test takes errors
_MOST_CONTRASTS = 2000  # of groups of a survey, whose covariance matrix is formed
_TRACE = 1e-9  # of noise, where respondents have none
_LEAST_NOISE = 1e-6  # of a group, in units of that of all groups
_RANK = 1e-9  # relative size of an eigenvalue that counts as 0
_IMPOSSIBLE = 1e-15  # a report's probability by that at even shares; the rounding of a share of 0


@dataclass(frozen=True)
class WaldTest:
    """The result of a chi-square test, of groups as of the coefficients of a regression.

    Attributes:
        hypothesis: what was tested, in words.
        statistic: chi-square; it is near ``degrees`` where the hypothesis holds, and infinite where
            the reports rule it out.
        degrees: the degrees of freedom.
        p_value: the probability of as large a statistic where the hypothesis holds.
        n: the number of reports.
        f_degrees: of a survey with a design, both degrees of freedom of the F distribution that p
            is of; F is ``statistic / degrees``. Else None.

    >>> print(WaldTest("a and b are alike", 9.2, 2, 0.01, 500).text)
    ... # doctest: +NORMALIZE_WHITESPACE
    Test whether a and b are alike. If so, chance alone can hardly explain the reports: they speak
    against it as much as here, or more, with probability p = 0.01 (chi-square 9.20 on 2 degrees of
    freedom).
    >>> print(WaldTest("a and b are alike", 1.68, 2, 0.43, 800, (1.92, 1527.0)).text)
    ... # doctest: +NORMALIZE_WHITESPACE
    Test whether a and b are alike. If so, chance alone can explain the reports: they speak against
    it as much as here, or more, with probability p = 0.43 (F(1.92, 1527) = 0.84).
    """

    hypothesis: str
    statistic: float
    degrees: int
    p_value: float
    n: int
    f_degrees: tuple[float, float] | None = None

    @classmethod
    def of(
        cls,
        hypothesis: str,
        statistic: float,
        degrees: int,
        n: int,
        moments: tuple[float, float] | None = None,
        of_noise: float = np.inf,
    ) -> WaldTest:
        """The test, with the p-value of a chi-square that has these moments times a number.

        Where the covariance has been estimated with few degrees of freedom ``of_noise``, p is that
        of an F distribution with as many times those of the chi-square below.

        Args:
            hypothesis, statistic, degrees, n: of the test.
            moments: mean and variance where the hypothesis holds; None for ``degrees`` and twice
                that.
            of_noise: the degrees of freedom of the covariance.
        """
        mean, variance = moments or (degrees, 2.0 * degrees)
        if variance <= _RANK * mean**2:  # the statistic cannot be another one by chance
            p = float(statistic <= mean * (1 + _RANK))
            return cls(hypothesis, statistic, degrees, p, n)
        freedom = 2 * mean**2 / variance
        ratio = max(statistic, 0.0) / mean  # floats can leave a little less than 0
        # Not scipy.stats, whose import takes a second of everybody who compares groups.
        if np.isfinite(of_noise):
            f_degrees = freedom, freedom * of_noise
            p = float(scipy.special.fdtrc(*f_degrees, ratio))
            return cls(hypothesis, statistic, degrees, p, n, f_degrees)
        p = float(scipy.special.chdtrc(freedom, ratio * freedom))
        return cls(hypothesis, statistic, degrees, p, n)

    @classmethod
    def of_design(
        cls,
        hypothesis: str,
        statistic: float,
        degrees: int,
        n: int,
        covariance: np.ndarray,
        of_noise: float,
    ) -> WaldTest:
        """The test of a survey with a design, from z'z of normal z with a covariance (J, J).

        The statistic is divided by its mean, so that it is near ``degrees`` where the hypothesis
        holds. The covariance is that of the design, in units of people drawn one by one.
        """
        mean = float(np.trace(covariance))
        if not (mean > 0 and np.isfinite(statistic)):
            p = float(statistic <= 0)
            return cls(hypothesis, np.inf if statistic > 0 else 0.0, degrees, p, n)
        scale = degrees / mean
        variance = 2 * scale**2 * float((covariance * covariance.T).sum())
        moments = float(degrees), variance
        return cls.of(hypothesis, statistic * scale, degrees, n, moments, of_noise)

    @property
    def text(self) -> str:
        """The hypothesis and the result in words."""
        can = "can" if self.p_value >= 1 - _LEVEL else "can hardly"
        return (
            f"Test whether {self.hypothesis}. If so, chance alone {can} explain the reports: they "
            "speak against it as much as here, or more, with probability "
            f"{shown_p(self.p_value)} ({self._statistic_in_words})."
        )

    @property
    def law(self) -> str:
        """The statistic and p in words."""
        return f"{self._statistic_in_words}, {shown_p(self.p_value)}"

    @property
    def _statistic_in_words(self) -> str:
        if self.f_degrees is not None:
            first, second = self.f_degrees
            second = round(second, 0 if second >= 100 else 1)
            return f"F({round(first, 2):g}, {second:.10g}) = {self.statistic / self.degrees:.2f}"
        freedom = "1 degree" if self.degrees == 1 else f"{self.degrees:,} degrees"
        return f"chi-square {self.statistic:.2f} on {freedom} of freedom"

    @property
    def explained(self) -> str:
        """How the test was computed, in words."""
        if self.f_degrees is None:
            return "The test of all groups is the Wald test of their unbiased estimates."
        return (
            "The test whether the groups have the same shares corrects the chi-square of the "
            "weighted shares for the survey design, and compares the result with an F distribution "
            "(Rao and Scott 1984; Thomas and Rao 1987)."
        )

    def rows(self) -> list[dict[str, Any]]:
        """The result as a table of one row."""
        return [
            {
                "hypothesis": self.hypothesis,
                "statistic": self.statistic,
                "degrees": self.degrees,
                **({} if self.f_degrees is None else {"f_degrees": list(self.f_degrees)}),
                "p": self.p_value,
                "n": self.n,
            }
        ]

    def to_json(self) -> dict[str, Any]:
        """The result as JSON data."""
        (row,) = self.rows()
        if np.isinf(self.statistic):
            row["statistic"] = None  # JSON has no infinity
        return {"format": "warner-test", "schema": 1, **row, "text": self.text}


def shown_p(p: float) -> str:
    """A p-value as a text.

    >>> shown_p(0.0312), shown_p(0.00001)
    ('p = 0.031', 'p < 0.0001')
    """
    return "p < 0.0001" if p < 0.0001 else f"p = {p:.2g}"


def data_of(
    result: Solution | LikelihoodData | Tally | Iterable[Tally],
    survey: SurveyDesign | None = None,
) -> LikelihoodData:
    """The reports of an estimate, or of tallies; of a survey weighted, with its noise."""
    if survey is not None:
        return GroupTable.surveyed(result, survey, ()).whole
    data = result if isinstance(result, LikelihoodData) else getattr(result, "data", None)
    if data is None:
        data = likelihood_data(result)  # type: ignore[arg-type]
    elif getattr(result, "sums", None) is not None:
        rule = "must be made of all questions together, or of these questions alone"
        remedy = "Estimate them from the tally: estimate(tally, attributes=[...])"
        raise ArgumentError("estimate", rule, "a part of a larger estimate", remedy)
    if data.n < LEAST_REPORTS:
        raise EmptyError("reports", "must be at least 2 for a test", str(data.n))
    return data


def goodness_of_fit(
    result: Solution | Tally | Iterable[Tally],
    shares: ArrayLike,
    *,
    weights: str | None = None,
    cluster: str | None = None,
    strata: str | None = None,
) -> WaldTest:
    """Test whether the true shares are given ones.

        n (T - theta_0)' C(theta_0)^+ (T - theta_0),   chi-square on K - 1 degrees of freedom

    T is the unbiased estimate, and C the exact covariance of one report's contribution where the
    shares are theta_0. Where one person sent several reports, C is that for alike values. If there
    are reports that cannot be made where the shares are theta_0, such as those of a value of share
    0 that needs no protection, the statistic is infinite and p is 0.

    Args:
        result: an estimate or a tally. The method of an estimate does not matter.
        shares: theta_0 (K,), a distribution.
        weights, cluster, strata: of a survey, the public columns of the tally that say how people
            were drawn, as for :func:`warner.estimate`. An estimate knows its own. The statistic is
            then compared with the law that it has with the covariance of the design
            [Rao and Scott 1984].

    Returns:
        WaldTest.

    Raises:
        ArgumentError: not a distribution of K shares.
        EmptyError: fewer than two reports.
        IdentifiabilityError: the channel has no inverse.

    Source: METHODS 10.5.

    >>> from warner import Categorical, RandomizedResponse
    >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 2.0)
    >>> tally = coin.tally(coin.randomize(["no"] * 2000 + ["yes"] * 6000))
    >>> goodness_of_fit(tally, [0.5, 0.5]).p_value < 1e-6
    True
    """
    data = data_of(result, SurveyDesign.of(weights, cluster, strata))
    expected = distribution("shares", shares, data.domain.size, tolerance=1e-6)
    expected = expected / expected.sum()
    alone = replace(data, survey=None)
    coordinates = Coordinates.of(expected, covariance_of(alone, expected))
    z = coordinates.to(data.channel.invert(data.weights)[None])[0]
    statistic = np.inf if _excluded(data, expected) else float(data.n * (z @ z))
    name = "the shares are those given"
    if data.survey is None:
        return WaldTest.of(name, statistic, coordinates.rank, data.n)
    noise = coordinates.along(covariance_of(data, expected))
    return WaldTest.of_design(name, statistic, coordinates.rank, data.n, noise, data.degrees)


def _excluded(data: LikelihoodData, shares: np.ndarray) -> bool:
    """Whether some of the reports are impossible at these shares."""
    even = np.full(shares.size, 1 / shares.size)
    least = _IMPOSSIBLE * data.channel.matvec(even)
    return bool((data.weights[data.channel.matvec(shares) <= least] > 0).any())


def independence(
    result: Solution | LikelihoodData | Tally | Iterable[Tally],
    first: str,
    second: str,
    *,
    weights: str | None = None,
    cluster: str | None = None,
    strata: str | None = None,
) -> WaldTest:
    """Test whether two protected attributes are independent.

        n d' S^+ d,   d the entries of D = T - a b',   chi-square on (r - 1)(c - 1) degrees

    T (r, c) is the unbiased estimate of the joint shares, with the marginals a and b. S is the
    exact covariance of one report's contribution to (I - a 1') T (I - b 1')', where the shares are
    a b'. How strong the dependence is, ``estimate.cramers_v`` says.

    Args:
        result: a joint estimate or a tally of both attributes.
        first, second: names of two attributes.
        weights, cluster, strata: as for :func:`goodness_of_fit`.

    Returns:
        WaldTest.

    Raises:
        ArgumentError: not two attributes of the domain, or reports whose noise is not listed.
        EmptyError: fewer than two reports.

    Source: METHODS 10.5.

    >>> from warner import Categorical, Product, RandomizedResponse
    >>> domain = Product(a=Categorical(["x", "y"]), b=Categorical(["p", "q"]))
    >>> both = RandomizedResponse(domain, 3.0)
    >>> answers = [{"a": "x", "b": "p"}, {"a": "y", "b": "q"}] * 500
    >>> independence(both.tally(both.randomize(answers)), "a", "b").p_value < 1e-6
    True
    """
    from warner.results.association import pair_of

    data = data_of(result, SurveyDesign.of(weights, cluster, strata))
    pair = pair_of(data, first, second)
    table = pair.channel.invert(pair.weights).reshape(pair.shape)
    sides = [project(table.sum(axis=1 - side)) for side in (0, 1)]
    # A cell that nobody has would have no variance under the hypothesis.
    sides = [(pair.n * side + 0.5) / (pair.n + 0.5 * side.size) for side in sides]
    contrasts = [np.eye(side.size) - side[:, None] for side in sides]
    d = contrasts[0] @ table @ contrasts[1].T
    degrees = (pair.shape[0] - 1) * (pair.shape[1] - 1)
    name = f"{first} and {second} are independent"
    if data.survey is not None:
        keep = positions(data.domain, [first, second], least=2)
        on_pair = data.survey.on_attributes(data.domain.shape, keep)
        noise = on_pair.covariance(pair.channel, lambda one, at: one.covariance(at))
        even = np.multiply.outer(*sides).ravel()
        contrast = np.kron(*contrasts)
        alone = contrast @ pair.channel.covariance(even) @ contrast.T
        root = root_of_inverse(alone, degrees)
        z = root.T @ d.ravel()
        turned = pair.n * root.T @ contrast @ noise @ contrast.T @ root
        statistic = pair.n * float(z @ z)
        return WaldTest.of_design(name, statistic, degrees, pair.n, turned, data.degrees)
    channels = pair.channel.factors(pair.shape)
    if channels is not None and data.reports_per_person == 1:
        # Attributes that were randomised separately: S is the Kronecker product of both noises.
        for side, contrast, channel in zip(sides, contrasts, channels, strict=True):
            noise = contrast @ channel.covariance(side) @ contrast.T
            d = Coordinates.of(side, noise).to(d.T + side)
        statistic = float((d**2).sum())
    else:
        even = np.multiply.outer(*sides).ravel()
        covariance = pair.channel.covariance(even)
        if data.reports_per_person > 1:
            more = data.reports_per_person - 1
            covariance = covariance + more * (np.diag(even) - np.multiply.outer(even, even))
        contrast = np.kron(*contrasts)
        statistic = quadratic(d.ravel(), contrast @ covariance @ contrast.T, degrees)
    return WaldTest.of(name, pair.n * statistic, degrees, pair.n)


def quadratic(d: np.ndarray, covariance: np.ndarray, rank: int) -> float:
    """d' V^+ d, with the ``rank`` largest eigenvalues of V (J, J)."""
    z = root_of_inverse(covariance, rank).T @ d
    return float(z @ z)


def root_of_inverse(covariance: np.ndarray, rank: int) -> np.ndarray:
    """R (J, r) with V^+ = R R', with the ``rank`` largest eigenvalues of V (J, J)."""
    scale = np.sqrt(np.maximum(covariance.diagonal(), 0.0))
    scale = np.where(scale > 0, scale, 1.0)
    size, vectors = np.linalg.eigh(covariance / np.multiply.outer(scale, scale))
    is_large = size > _RANK * max(float(size[-1]), 1e-300)
    is_large[: size.size - rank] = False
    return np.asarray(vectors[:, is_large] / np.sqrt(size[is_large]) / scale[:, None])


def name_of_mean(domain: Domain) -> str:
    return "mean" if domain.nonresponse is None else "mean of those who answered"


def numbers_of_values(domain: Domain) -> np.ndarray:
    """The numbers (K,) that the values stand for."""
    if domain.points is None or domain.points.shape[1] != 1:
        rule = "'mean' needs values that are numbers, such as Integers or Interval"
        raise ArgumentTypeError("of", rule, type(domain).__name__, "Use of='shares'")
    return np.asarray(domain.points[:, 0], dtype=np.float64)


def _are_alike(samples: Sequence[Sample], what: str) -> str:
    """The hypothesis that all groups have the same of something, in words."""
    of_two = f"{samples[0].name} and {samples[-1].name}"
    return f"{of_two if len(samples) == 2 else f'{len(samples)} groups'} have the same {what}"


def equal_means(samples: Sequence[Sample], domain: Domain, way: str) -> WaldTest:
    """The test that all groups have the same mean.

        sum_g (m_g - mu)^2 / v_g,   chi-square on G - 1 degrees of freedom

    mu is the mean of all groups, weighted by precision. The way "bands" has the middle of each
    group's interval, which is z sqrt(v_g) from its ends. A group whose mean is not known says
    nothing.
    """
    name, n = _are_alike(samples, name_of_mean(domain)), sum(s.data.n for s in samples)
    if way == "bands":
        # The estimates themselves are nearer to the middle of the range, the fewer the reports.
        rows = [summary_rows(s.solution, parse("mean"), _LEVEL, s.target)[0] for s in samples]
        low, high = np.array([[row["low"], row["high"]] for row in rows]).T
        m = (low + high) / 2
        v = _positive(((high - low) / 2 / normal_quantile(_LEVEL)) ** 2)
        statistic = float(((m - (m / v).sum() / (1 / v).sum()) ** 2 / v).sum())
        return WaldTest.of(name, statistic, len(samples) - 1, n)
    points = numbers_of_values(domain.answered)
    means = [(s, *m_and_g) for s in samples if (m_and_g := mean_in(s, points)) is not None]
    if len(means) < 2:
        return WaldTest.of(name, 0.0, 1, n)
    m = np.array([mean for _, mean, _ in means])
    v = _positive(np.array([g @ s.covariance() @ g for s, _, g in means]))
    # The deviations from mu, in units of their errors.
    contrast = (np.eye(m.size) - (1 / v) / (1 / v).sum()) / np.sqrt(v)[:, None]
    statistic, degrees = float(((contrast @ m) ** 2).sum()), m.size - 1
    if means[0][0].data.survey is None:
        return WaldTest.of(name, statistic, degrees, n)
    noise = np.diag(v)
    for i, (one, _, g) in enumerate(means):
        for j, (other, _, h) in enumerate(means[:i]):
            noise[i, j] = noise[j, i] = g @ one.shared_with(other) @ h
    # The variance of a group of few clusters is estimated too small.
    surveyed = [s.data.survey for s, *_ in means if s.data.survey is not None]  # all of them
    scales = np.sqrt([survey.moments()[1] for survey in surveyed])
    noise = contrast @ (noise / np.multiply.outer(scales, scales)) @ contrast.T
    of_noise = min(one.degrees_with(other) for one in samples for other in samples if other != one)
    return WaldTest.of_design(name, statistic, degrees, n, noise, of_noise)


def _positive(variances: np.ndarray) -> np.ndarray:
    """Variances of which none is 0, as of a mean at the end of its range."""
    return np.asarray(np.maximum(variances, np.finfo(float).tiny))


def no_difference(samples: Sequence[Sample]) -> WaldTest:
    """The Wald test that all groups have the same shares."""
    surveyed = [s.data.survey for s in samples if s.data.survey is not None]
    if surveyed and len(surveyed) < len(samples):
        rule = "cannot be tested together if only some have a survey design"
        raise MismatchError("groups", rule, None, "Give the survey design of all groups")
    sizes = np.array([s.data.n for s in samples], dtype=np.float64)
    name = _are_alike(samples, "shares")
    groups, n = len(samples), int(sizes.sum())
    if surveyed:
        return _no_difference_of_survey(name, samples)
    if _same_channel([s.data.channel for s in samples]):
        pooled_at, moments = _pooled_noise(samples, sizes)
        z = pooled_at.to(np.stack([s.shares for s in samples]))
        statistic = float(sizes @ ((z - sizes @ z / n) ** 2).sum(axis=1))
        return WaldTest.of(name, statistic, (groups - 1) * pooled_at.rank, n, moments)
    # Weights at common shares: a group whose reports happen to agree is not the more precise.
    mu = _mean_of(samples, sizes)
    noise = np.array([s.data.channel.variance(mu).mean() for s in samples])
    mu = _mean_of(samples, sizes / noise)
    precisions, pulls = [], []
    for s in samples:
        coordinates = Coordinates.of(mu, _noise_at(s, mu))
        z = coordinates.to(s.shares[None])[0]
        # The last share is 1 less the others, so K - 1 shares determine the rest.
        inverse = np.linalg.pinv(coordinates.basis[:-1])
        precisions.append(s.data.n * inverse.T @ inverse)
        pulls.append((coordinates.basis @ z)[:-1])
    together = sum(precisions)
    middle = np.linalg.solve(together, sum(p @ d for p, d in zip(precisions, pulls, strict=True)))
    statistic = sum(
        float((d - middle) @ p @ (d - middle)) for p, d in zip(precisions, pulls, strict=True)
    )
    return WaldTest.of(name, float(statistic), (groups - 1) * (mu.size - 1), n)


def no_difference_of_answered(samples: Sequence[Sample]) -> WaldTest | None:
    """The Wald test that all groups have the same shares among those who answered.

        sum_g (r_g - rho)' V_g^+ (r_g - rho),   chi-square on (G - 1)(V - 1) degrees of freedom

    r_g (V,) are ratios, and V_g is their covariance to first order at the shares that all groups
    have together, rho, and at the part f_g of the group that answered. None of a survey with a
    design, and where the reports do not tell whether anybody answered.
    """
    mu = _mean_of(samples, np.array([s.data.n for s in samples], dtype=np.float64))
    size = mu.size - 1
    rho = mu[:size] / mu[:size].sum()
    is_value = np.eye(size)[0]
    is_known = all(mean_in(s, is_value) is not None for s in samples)
    if size < 2 or not is_known or any(s.data.survey is not None for s in samples):
        return None
    precisions, pulls = [], []
    for s in samples:
        answered = min(float(s.shares[:size].sum()), 1.0)
        slopes = (np.eye(size) - rho[:, None]) / answered
        noise = _noise_at(s, np.append(answered * rho, 1 - answered))[:size, :size] / s.data.n
        # The last share is 1 less the others.
        precisions.append(np.linalg.pinv((slopes @ noise @ slopes.T)[:-1, :-1]))
        pulls.append((s.shares[:size] / s.shares[:size].sum() - rho)[:-1])
    middle = np.linalg.pinv(sum(precisions)) @ sum(
        p @ d for p, d in zip(precisions, pulls, strict=True)
    )
    away = [d - middle for d in pulls]
    statistic = sum(float(d @ p @ d) for p, d in zip(precisions, away, strict=True))
    name = f"{_are_alike(samples, 'shares')} among those who answered"
    n = sum(s.data.n for s in samples)
    return WaldTest.of(name, statistic, (len(samples) - 1) * (size - 1), n)


def _no_difference_of_survey(name: str, samples: Sequence[Sample]) -> WaldTest:
    """The same test for groups of a survey, whose clusters or strata can lie in several groups.

    The statistic is that of people who were drawn one by one, from weighted shares and weighted
    numbers of people. It is compared with the law that it has with the covariance of the design.

    Source: Rao and Scott (1984); Thomas and Rao (1987).
    """
    n = sum(s.data.n for s in samples)
    surveyed = [s.data.survey for s in samples if s.data.survey is not None]  # all of them
    sizes = np.array([survey.people for survey in surveyed])
    sizes = sizes * (n / sizes.sum())
    mu = _mean_of(samples, sizes)
    coordinates = Coordinates.of(mu, _noise_at(samples[0].one_by_one, mu))
    rank, groups = coordinates.rank, len(samples)
    if rank * groups > _MOST_CONTRASTS:
        rule, got = "must be at most 2,000", f"{groups} x {rank}"
        raise ArgumentError("groups times values", rule, got, "Compare fewer groups")
    z = coordinates.to(np.stack([s.shares for s in samples]))
    statistic = float(sizes @ ((z - sizes @ z / n) ** 2).sum(axis=1))
    # The variance of a group of few clusters is estimated too small, and the statistic adds such.
    scales = np.sqrt(sizes / np.array([survey.moments()[1] for survey in surveyed]))
    roots = _roots_of_noise(samples, coordinates)
    inverses = np.linalg.inv(roots)
    blocks = np.empty((groups, rank, groups, rank))
    for g, one in enumerate(samples):
        for h, other in enumerate(samples[: g + 1]):
            noise = coordinates.along(one.covariance() if g == h else one.shared_with(other))
            blocks[g, :, h] = scales[g] * scales[h] * inverses[g] @ noise @ inverses[h].T
            blocks[h, :, g] = blocks[g, :, h].T
    flat = blocks.reshape(groups * rank, groups * rank)
    # What all groups have in common is taken out, so that contrasts between groups are left.
    common = np.sqrt(sizes)[:, None, None] * roots.transpose(0, 2, 1)
    common = np.linalg.qr(common.reshape(groups * rank, rank))[0]
    flat = flat - common @ (common.T @ flat)
    flat = flat - (flat @ common) @ common.T
    degrees = min(one.degrees_with(other) for one in samples for other in samples if other != one)
    return WaldTest.of_design(name, statistic, (groups - 1) * rank, n, flat, degrees)


def _roots_of_noise(samples: Sequence[Sample], coordinates: Coordinates) -> np.ndarray:
    """L (G, J, J), L L' the noise of one report of each group at its own shares.

    Where the reports of a group are all alike they do not show it, and groups of several mechanisms
    have other noise of the same shares: all groups then have the noise of the coordinates.
    """
    common = np.tile(np.eye(coordinates.rank), (len(samples), 1, 1))
    several = len({s.data.reports_per_person for s in samples}) > 1
    if several or not _same_channel([s.data.channel for s in samples]):
        return common
    roots = np.empty_like(common)
    for root, sample in zip(roots, samples, strict=True):
        noise = coordinates.along(_noise_at(sample.one_by_one, with_sum_one(sample.shares)))
        if np.linalg.eigvalsh(noise)[0] < _LEAST_NOISE:
            return common
        root[:] = np.linalg.cholesky(noise)
    return roots


def _same_channel(channels: Sequence[LikelihoodOperator]) -> bool:
    """Whether all channels are one, by the reports that they expect of uneven shares."""
    first, size = channels[0], channels[0].shape[1]
    probe = 1 / np.arange(1.0, size + 1)
    expected = first.matvec(probe)
    return all(
        c is first or (c.shape == first.shape and np.array_equal(c.matvec(probe), expected))
        for c in channels[1:]
    )


def _mean_of(samples: Sequence[Sample], weights: np.ndarray) -> np.ndarray:
    """The mean (K,) of the groups' shares, with half a person for every value."""
    n = sum(s.data.n for s in samples)
    mean = sum(w * s.shares for w, s in zip(weights, samples, strict=True)) / weights.sum()
    return np.asarray((n * project(np.asarray(mean)) + 0.5) / (n + 0.5 * np.size(mean)))


def _noise_at(sample: Sample, mu: np.ndarray) -> np.ndarray:
    """The covariance (K, K) of a report at mu; respondents without noise get a trace of it."""
    noise = covariance_of(sample.data, mu, sample.target)
    if sample.target == "respondents":
        trace = _TRACE * max(float(noise.diagonal().max()), 1.0)
        noise = noise + trace * (np.eye(mu.size) - 1 / mu.size)
    return noise


def _pooled_noise(
    samples: Sequence[Sample], sizes: np.ndarray
) -> tuple[Coordinates, tuple[float, float] | None]:
    """Coordinates at the noise of the reports of all groups, and moments of the statistic.

    With whole reports, each of another person, the noise is that of the reports themselves. So
    values that hardly anybody has are given no people, and the moments are known.
    """
    first = samples[0].data
    channel = first.channel
    if (
        samples[0].target == "respondents"
        or any(s.data.reports_per_person > 1 for s in samples)
        or channel.rows_per_report > 1
        or len(channel.groups()) > 1
        or channel.shape[0] * channel.shape[1] > LARGEST_DENSE
    ):
        mu = _mean_of(samples, sizes)
        return Coordinates.of(mu, _noise_at(samples[0], mu)), None
    pooled = sizes @ np.stack([s.data.weights for s in samples]) / sizes.sum()
    seen = pooled > 0
    terms, shares = channel.influence(np.eye(channel.shape[1]))[seen], pooled[seen]
    centre = shares @ terms
    covariance = (terms.T * shares) @ terms - np.multiply.outer(centre, centre)
    coordinates = Coordinates.of(centre, covariance)
    lengths = (coordinates.to(terms) ** 2).sum(axis=1)
    return coordinates, dealt_moments(sizes, shares, lengths)


def dealt_moments(
    sizes: np.ndarray, shares: np.ndarray, lengths: np.ndarray
) -> tuple[float, float] | None:
    """Mean and variance of the statistic over all ways to deal N reports to groups of sizes (G,).

    The statistic is tr(H K), where H (N, N) projects on the means of the groups less that of all,
    and K holds the inner products of the reports' coordinates; shares and lengths are (m,).

    Source: Kazi-Aoual, Hitier, Sabatier and Lebreton (1995).
    """
    n, groups = float(sizes.sum()), sizes.size
    if n < 4:
        return None
    rank = float(shares @ lengths)
    h, h_diagonal = groups - 1.0, float((1 / sizes).sum()) - (2 * groups - 1) / n
    k, k_square, k_diagonal = n * rank, n**2 * rank, n * float(shares @ lengths**2)
    even = ((n - 1) * h - h**2) * ((n - 1) * k_square - k**2) / ((n - 1) ** 2 * (n + 1) * (n - 2))
    uneven = n * (n + 1) * h_diagonal - (n - 1) * (h**2 + 2 * h)
    uneven *= n * (n + 1) * k_diagonal - (n - 1) * (k**2 + 2 * k_square)
    variance = 2 * even + uneven / ((n + 1) * n * (n - 1) * (n - 2) * (n - 3))
    return h * k / (n - 1), variance
