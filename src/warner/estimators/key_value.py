"""Estimates from reports about keys with values.

:class:`KeyMeans` is the published estimator of PCKV. :class:`PerKey` applies an estimator of
distributions to the values of every key.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, TypeAlias

import numpy as np

from warner._core.checks import choice, kind
from warner._core.errors import ArgumentError, ArgumentTypeError
from warner.channels import (
    FloatArray,
    LikelihoodOperator,
    TiedChannel,
    keyed_groups,
    stacked,
)
from warner.domains import Domain
from warner.estimators.base import (
    Estimator,
    Fit,
    KeyFit,
    LikelihoodData,
    Status,
    certify,
    status_of_parts,
)
from warner.estimators.inversion import Inversion, unbiased_scores
from warner.estimators.log_spline import LogSpline
from warner.metrics import normalize

KeyedGroup: TypeAlias = tuple[TiedChannel, FloatArray, int]


def groups_of(data: LikelihoodData, name: str) -> tuple[list[KeyedGroup], Domain, Domain]:
    """The groups of people in the data, and the domains of keys and of values."""
    groups = keyed_groups(data.channel, data.weights, data.n)
    domain = data.domain
    if groups is None or len(domain.attributes) != 2:
        rule = f"{name} needs reports of the mechanism KeyValue, of keys and values"
        remedy = "Use another method"
        raise ArgumentError("method", rule, type(domain).__name__, remedy)
    keys, values = domain.attributes.values()
    return groups, keys, values


def of_keys(data: LikelihoodData, name: str = "this") -> LikelihoodData:
    """The reports about keys alone, as data on the domain of keys."""
    groups, keys, _ = groups_of(data, name)
    of_keys = _stacked_data([(*channel.of_keys(w), n) for channel, w, n in groups], keys)
    return replace(of_keys, reports_per_person=data.reports_per_person)


def of_values(
    data: LikelihoodData, key: int, frequency: float, name: str = "this"
) -> LikelihoodData | None:
    """The reports of the values of one key, as data on the domain of values."""
    groups, _, values = groups_of(data, name)
    observed: list[tuple[LikelihoodOperator, FloatArray, int]] = []
    for channel, w, n in groups:
        reported = channel.by_key(w)[key, 1:]
        if people := round(n * float(reported.sum())):
            inner = channel.of_values(frequency)[0]
            observed.append((inner, reported / reported.sum(), people))
    return _stacked_data(observed, values) if observed else None


def _stacked_data(
    groups: list[tuple[LikelihoodOperator, FloatArray, int]], domain: Domain
) -> LikelihoodData:
    """The groups' reports together."""
    if len(groups) == 1:
        return LikelihoodData(*groups[0], domain)
    channel = stacked([c for c, _, _ in groups], [n for _, _, n in groups])
    weights = channel.stack([w for _, w, _ in groups])
    return LikelihoodData(channel, weights, sum(n for _, _, n in groups), domain)


_ADDED = 4  # added reports, about z^2 of an interval of 95 %, as by Agresti and Coull (1998)


@dataclass(frozen=True, eq=False)
class KeyMoments:
    """Unbiased estimates of every key's frequency f, and of N = f times the mean of its values."""

    frequency: FloatArray  # f (d,), the share of people who have each of d keys
    total: FloatArray  # N (d,), in the units of the values
    variance: FloatArray  # (d, 2, 2), the covariance matrix of (N, f) for each key
    ends: tuple[float, float]  # the least and the largest value


def key_moments(data: LikelihoodData, name: str = "this") -> KeyMoments:
    """Estimate f and N of every key without bias, from means over the reports."""
    # With a, b the probabilities of reporting one's own and another key, z the part about key k (0
    # if about another key), G_z the unbiased estimate of a value and G_dummy its mean over dummies:
    #     f_k = mean of h(z),   h = ([z > 0] - b) / (a - b)
    #     N_k = mean of ([z > 0] G_z - b (1 - h) G_dummy) / a
    # Mechanisms are combined by the variance of f at equal frequencies, so weights depend on no
    # report. With up to t reports a person, (t - 1) / n times a bound of the values' variance is
    # added.
    groups, _, values = groups_of(data, name)
    if values.points is None or values.dimension != 1:
        rule = "must be numbers, because only numbers have a mean"
        remedy = "Use Interval or Integers"
        raise ArgumentTypeError("values", rule, type(values).__name__, remedy)
    points = values.points[:, 0]
    precision = np.array([n / _even_variance(channel) for channel, _, n in groups])
    means = np.zeros(())
    variance = np.zeros(())
    weight = 0.0
    for (channel, w, n), share in zip(groups, precision / precision.sum(), strict=True):
        a, b, observed = channel.keep, channel.sent, channel.by_key(w)
        numbers = np.append(0.0, unbiased_scores(channel.inner, points))
        h = ((np.arange(numbers.size) > 0) - b) / (a - b)
        g = (numbers - (1 - h) * float(channel.dummy @ numbers[1:])) / a
        both = np.stack([g, h], axis=1)
        means = means + share * (observed @ both)
        # A few equal reports have no variance, so reports of a uniform distribution are added.
        even = channel.by_key(channel.matvec(np.full(channel.shape[1], 1 / channel.shape[1])))
        frequencies = (n * observed + _ADDED * even) / (n + _ADDED)
        mean = frequencies @ both
        squares = np.einsum("ky,yi,yj->kij", frequencies, both, both)
        squares = squares - np.einsum("ki,kj->kij", mean, mean)
        variance = variance + share**2 * squares / n
        weight = weight + share**2 / n
    if (t := data.reports_per_person) > 1:
        least = _ADDED * t / data.n
        of_values = _variance_of_values(means[:, 1], means[:, 0], values.ends[0], least)
        variance = variance + (t - 1) * weight * of_values
    return KeyMoments(means[:, 1], means[:, 0], variance, values.ends[0])


def _variance_of_values(
    frequency: FloatArray, total: FloatArray, ends: tuple[float, float], least: float
) -> FloatArray:
    """An upper bound (d, 2, 2) of the covariance of (c [key = k], [key = k]) over the pairs."""
    # c^2 <= (low + high) c - low high. The frequency is kept ``least`` from 0 and 1, as that of a
    # rare key is uncertain.
    low, high = ends
    least = min(least, 0.5)
    f = np.clip(frequency, least, 1 - least)
    n = np.clip(total, low * f, high * f)
    square = (low + high) * n - low * high * f
    mixed = n * (1 - f)
    rows = [np.stack([square - n**2, mixed], axis=-1), np.stack([mixed, f - f**2], axis=-1)]
    return np.stack(rows, axis=-2)


def _even_variance(channel: TiedChannel) -> float:
    """The variance per report of a key's frequency where all frequencies are equal."""
    share = channel.sent + (channel.keep - channel.sent) / channel.keys
    return share * (1 - share) / (channel.keep - channel.sent) ** 2


@dataclass(frozen=True, repr=False)
class KeyMeans(Estimator):
    """The frequencies of keys and the means of their values, by the estimator of PCKV.

        f_k = (n_k / n - b) / (a - b),   m_k = N_k / f_k

    f_k is the frequency of key k, and m_k the mean of its values. n_k of n reports have key k. A
    person's own key is reported with probability a, and any other key with probability b. N_k is
    the unbiased estimate of the sum of the values of key k, divided by the number of people. With
    stochastic rounding to a sign that is kept with probability p, N_k is
    (n_k+ - n_k-) / (n a (2p - 1)), where n_k+ and n_k- count the reports with each sign. The
    method works for every value mechanism whose reports determine means.

    The estimate has no ``probabilities``; use ``frequencies()`` and ``conditional(key).mean()``.

    Args:
        clip: whether to clip as published. f_k is clipped to [1/n, 1]. The shares of people at the
            two ends of the range are clipped to [0, f_k]. They are (f_k +- N_k) / 2, with values
            scaled to [-1, 1]. Without clipping f_k and N_k are unbiased, and a mean can have any
            value. If f_k <= 0, the middle of the range is returned as the mean.

    Raises:
        ArgumentError: reports that are not about keys with values.
        IdentifiabilityError: reports do not determine the means without bias.

    Source: Gu et al. (2020), sec 5.3; METHODS 2.

    >>> from warner import Categorical, Interval, KeyValue, estimate
    >>> pay = KeyValue(Categorical(["a", "b"]), Interval(0, 10, bins=2), 4.0)
    >>> answers = {"key": ["a", "b"] * 5000, "value": [2.1, 8.0] * 5000}
    >>> result = estimate(pay.tally(pay.randomize(answers)), KeyMeans())
    >>> bool(abs(result.conditional("a").mean() - 2) < 1)
    True
    >>> bool(abs(result.frequencies()[1]["estimate"] - 0.5) < 0.1)
    True
    """

    references = ("gu2020",)

    summary: ClassVar[str] = (
        "the frequency of every key and the mean of its values, but not the shares of the values. "
        "To estimate these shares, collect with value='piecewise' and use PerKey()"
    )

    clip: bool = True

    def __post_init__(self) -> None:
        choice("clip", self.clip, (True, False))

    def _fit(self, data: LikelihoodData) -> Fit:
        moments = key_moments(data, "KeyMeans")
        low, high = moments.ends
        raw = moments.frequency
        if not self.clip:
            means = np.divide(
                moments.total, raw, out=np.full(raw.size, (low + high) / 2), where=raw > 0
            )
            return Fit(None, Status.EXACT, keys=KeyFit(raw, means))
        f = np.clip(raw, 1 / data.n, 1.0)
        upper = (moments.total - low * raw) / (high - low)
        upper, lower = np.clip(upper, 0.0, f), np.clip(raw - upper, 0.0, f)
        means = (low + high) / 2 + (high - low) / 2 * (upper - lower) / f
        return Fit(None, Status.EXACT, keys=KeyFit(f, means))


@dataclass(frozen=True, repr=False)
class PerKey(Estimator):
    """The frequencies of keys, then the distribution of every key's values by another estimator.

        f = projection of the unbiased estimate on the simplex, or another estimate
        law of the values in reports about key k = rho_k (A theta_k) + (1 - rho_k) (dummies)
        rho_k = a f_k / (a f_k + b (1 - f_k))

    f_k is the frequency of key k, theta_k the distribution of its values, and A the channel of the
    values. A person's own key is reported with probability a, and any other key, with a dummy
    value, with probability b. So the frequency of the key determines the weight 1 - rho_k of the
    dummies [P3 sec V-C].
    ``PerKey(ExpectationMaximization(steps))`` is PCKV-EM of P3, and ``PerKey(MixtureReduction())``
    is PCKV-MR, which merges values of one key ("PM components"). With
    ``frequencies=MixtureReduction()`` keys that seem rare share one frequency ("FO components").

    Args:
        method: an estimator of distributions, for the values of each key.
        frequencies: an estimator of distributions, for the keys, from the reports of keys alone. If
            its estimate has negative entries, they are set to 0 and the rest is divided by its sum.

    Raises:
        ArgumentError: reports that are not about keys with values.

    Source: [P3 sec V-C, app. D]; METHODS 2.

    >>> PerKey()
    PerKey(method=LogSpline())
    """

    references = ("P3", "gu2020")

    summary: ClassVar[str] = (
        "first the frequency of every key is estimated, then the values of every key. Other "
        "frequencies and values together may fit the reports better"
    )

    method: Estimator = field(default_factory=LogSpline)
    frequencies: Estimator = field(default=Inversion("project"))

    def __post_init__(self) -> None:
        for name, example in (("method", LogSpline()), ("frequencies", Inversion("project"))):
            estimator = getattr(self, name)
            if not isinstance(estimator, Estimator) or isinstance(estimator, PerKey | KeyMeans):
                rule = "must be an estimator object that estimates shares"
                remedy = f"For example {example!r}"
                raise ArgumentTypeError(name, rule, kind(estimator), remedy)

    def alone(self, key: int) -> Estimator:
        """Return an estimator that estimates the values of one key only.

        The values of all other keys are left uniform. The bootstrap of that key needs no more.

        Args:
            key: the position of the key.
        """
        return _OneKey(self, key)

    def _fit(self, data: LikelihoodData, only: int | None = None) -> Fit:
        of_key = self.frequencies.fit(of_keys(data, "PerKey"))
        frequencies = of_key.shares
        if of_key.status is Status.OUTSIDE_SIMPLEX:
            frequencies = normalize(frequencies)
        size = data.domain.size // frequencies.size
        theta = np.repeat(frequencies / size, size).reshape(-1, size)
        fits = []
        for k in np.flatnonzero(frequencies):
            if only not in (None, k):
                continue
            values = of_values(data, int(k), float(frequencies[k]))
            if values is not None:
                fits.append(self.method.fit(values))
                shares = np.maximum(fits[-1].shares, 0.0)
                theta[k] = frequencies[k] * (
                    shares / shares.sum() if shares.sum() > 0 else 1 / size
                )
        fit = certify(
            data,
            theta.ravel(),
            status_of_parts(f.status for f in (of_key, *fits)),
            sum(f.iterations or 0 for f in (of_key, *fits)) or None,
        )
        components = (
            sum(f.components or size for f in fits) if any(f.components for f in fits) else None
        )
        return replace(fit, components=components)


@dataclass(frozen=True)
class _OneKey(Estimator):
    """:class:`PerKey` for the values of one key."""

    whole: PerKey
    key: int

    def _fit(self, data: LikelihoodData) -> Fit:
        return self.whole._fit(data, self.key)
