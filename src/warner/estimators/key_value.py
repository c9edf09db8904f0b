"""Estimates from pairs of a key and a value: PCKV's own, and any method for values applied to every key."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from warner._core.checks import choice, kind
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    message,
)
from warner.channels import Channel, StackChannel, TiedChannel, groups_of
from warner.domains import Domain, Interval, Product
from warner.estimators.base import Estimator
from warner.estimators.fit import Fit, KeyFit, Status, status_of_parts
from warner.estimators.likelihood_data import LikelihoodData
from warner.estimators.log_spline import LogSpline
from warner.estimators.mle.objective import certify
from warner.estimators.sample_mean import carried
from warner.metrics.simplex import project

_MORE = 4  # about z^2 of an interval of 95 %, as by Agresti and Coull (1998)


@dataclass(frozen=True, eq=False)
class Moments:
    """Unbiased estimates of every key's frequency f and of the sum of its values per person, N = f times their mean.

    Attributes:
        frequency, total: (d,).
        variance: (d, 2, 2) of (N, f).
        ends: the least and the largest value.
    """

    frequency: np.ndarray
    total: np.ndarray
    variance: np.ndarray
    ends: tuple[float, float]


def is_keyed(channel: Channel) -> bool:
    """Whether all reports are of keys and values."""
    return all(isinstance(part, TiedChannel) for part in groups_of(channel))


def parts_of(
    data: LikelihoodData, name: str
) -> tuple[list[tuple[TiedChannel, np.ndarray, int]], Domain, Domain]:
    """The mechanisms' channels, weights and people, and the domains of keys and values; other reports are refused."""
    channel, domain = data.channel, data.domain
    if not (is_keyed(channel) and isinstance(domain, Product) and len(domain.domains) == 2):
        raise ArgumentError(
            message(
                "method",
                f"{name} needs reports of keys and values",
                type(domain).__name__,
                "Collect them with KeyValue, or use another method",
            )
        )
    keys, values = domain.domains.values()
    if isinstance(channel, StackChannel):
        split = zip(
            channel.channels,
            channel.split(data.weights),
            channel.shares,
            channel.people,
            strict=True,
        )
        return (
            [(c, w / share, int(n)) for c, w, share, n in split if isinstance(c, TiedChannel)],
            keys,
            values,
        )
    assert isinstance(channel, TiedChannel)
    return [(channel, data.weights, data.n)], keys, values


def of_keys(data: LikelihoodData, name: str = "this") -> LikelihoodData:
    """What the reports say of keys alone."""
    parts, keys, _ = parts_of(data, name)
    return _stacked([(*channel.of_keys(w), n) for channel, w, n in parts], keys)


def of_values(
    data: LikelihoodData, key: int, frequency: float, name: str = "this"
) -> LikelihoodData | None:
    """What the reports of one key say of its values where its frequency is known; None where there are none."""
    parts, _, values = parts_of(data, name)
    found = []
    for channel, w, n in parts:
        seen = channel.each(w)[key, 1:]
        if people := round(n * float(seen.sum())):
            found.append((channel.of_values(frequency)[0], seen / seen.sum(), people))
    return _stacked(found, values) if found else None


def _stacked(parts: list[tuple[Channel, np.ndarray, int]], domain: Domain) -> LikelihoodData:
    if len(parts) == 1:
        return LikelihoodData(*parts[0], domain)
    channel = StackChannel([c for c, _, _ in parts], [n for _, _, n in parts])
    return LikelihoodData(
        channel, channel.stack([w for _, w, _ in parts]), sum(n for _, _, n in parts), domain
    )


def key_moments(data: LikelihoodData, name: str = "this") -> Moments:
    """f and N of every key, from the mean of what each report says of it.

        f_k = mean of h(z),   h = ([z > 0] - b) / (a - b);   N_k = mean of ([z > 0] G_z - b (1 - h) G_dummy) / a

    z is what the report says of key k, 0 for nothing; G_z the number that value z carries, right on average, G_dummy its mean over dummies.
    Several mechanisms are mixed by the inverse variance of f at even frequencies, which depends on no report.
    """
    parts, _, values = parts_of(data, name)
    if values.points is None or values.points.shape[1] != 1:
        raise ArgumentTypeError(
            message(
                "values",
                "must be numbers for their means",
                type(values).__name__,
                "Use Interval or Integers",
            )
        )
    points = values.points[:, 0]
    precision = np.array([n / _even_variance(channel) for channel, _, n in parts])
    means, variance = 0.0, 0.0
    for (channel, w, n), share in zip(parts, precision / precision.sum(), strict=True):
        a, b, seen = channel.keep, channel.sent, channel.each(w)
        numbers = np.append(0.0, carried(channel.inner, points))
        h = ((np.arange(numbers.size) > 0) - b) / (a - b)
        g = (numbers - (1 - h) * float(channel.dummy @ numbers[1:])) / a
        both = np.stack([g, h], axis=1)
        means = means + share * (seen @ both)
        # Few reports that are all alike have no variance of their own, so _MORE are added to them, as a uniform distribution makes them.
        even = channel.each(channel.matvec(np.full(channel.shape[1], 1 / channel.shape[1])))
        law = (n * seen + _MORE * even) / (n + _MORE)
        mean = law @ both
        squares = np.einsum("ky,yi,yj->kij", law, both, both) - np.einsum("ki,kj->kij", mean, mean)
        variance = variance + share**2 * squares / n
    low, high = (
        (values.low, values.high)
        if isinstance(values, Interval)
        else (float(points.min()), float(points.max()))
    )
    assert isinstance(means, np.ndarray) and isinstance(variance, np.ndarray)
    return Moments(means[:, 1], means[:, 0], variance, (low, high))


def _even_variance(channel: TiedChannel) -> float:
    """Variance per report of a key's frequency where all are alike."""
    share = channel.sent + (channel.keep - channel.sent) / channel.keys
    return share * (1 - share) / (channel.keep - channel.sent) ** 2


@dataclass(frozen=True)
class KeyMeans(Estimator):
    """Frequencies of keys and means of their values, and nothing else: PCKV's own estimator.

        f_k = (n_k / n - b) / (a - b),   m_k = N_k / f_k

    n_k of n reports have key k, kept w.p. a and raised w.p. b; N_k is the unbiased estimate of the values' sum per person: with stochastic
    rounding to a sign kept w.p. p, N_k = (n_k+ - n_k-) / (n a (2p - 1)). It works for every mechanism for values that tells means.

    The estimate has no ``probabilities``; ask for ``frequencies()`` and ``conditional(key).mean()``.

    Args:
        clip: as published: f_k into [1/n, 1]; what of f_k is at either end of the range, (f_k +- N_k) / 2 in units of [-1, 1], into [0, f_k]. Without
            it both are unbiased, f_k and N_k, and a mean can be anywhere; where f_k is 0 or less, the middle of the range stands in for it.

    Raises:
        ArgumentError: reports that are not of keys and values.
        IdentifiabilityError: reports do not determine the means without bias.

    Source: Gu et al. (2020), sec 5.3; METHODS 2.

    >>> from warner import Categorical, Interval, KeyValue, estimate
    >>> pay = KeyValue(Categorical(["a", "b"]), Interval(0, 10, bins=2), 4.0)
    >>> found = estimate(pay.tally(pay.randomize({"key": ["a", "b"] * 5000, "value": [2.0, 8.0] * 5000})), KeyMeans())
    >>> bool(abs(found.conditional("a").mean() - 2) < 1), bool(abs(found.frequencies()[1]["estimate"] - 0.5) < 0.1)
    (True, True)
    """

    summary: ClassVar[str] = (
        "the frequency of every key and the mean of its values: their distribution is not "
        "estimated; for distributions use value='piecewise' and PerKey()"
    )

    clip: bool = True

    def __post_init__(self) -> None:
        choice("clip", self.clip, (True, False))

    def __repr__(self) -> str:
        return "KeyMeans()" if self.clip else "KeyMeans(clip=False)"

    def _fit(self, data: LikelihoodData) -> Fit:
        found = key_moments(data, "KeyMeans")
        low, high = found.ends
        raw = found.frequency
        if not self.clip:
            means = np.divide(
                found.total, raw, out=np.full(raw.size, (low + high) / 2), where=raw > 0
            )
            return Fit(None, Status.EXACT, keys=KeyFit(raw, means))
        f = np.clip(raw, 1 / data.n, 1.0)
        upper = (found.total - low * raw) / (high - low)
        upper, lower = np.clip(upper, 0.0, f), np.clip(raw - upper, 0.0, f)
        means = (low + high) / 2 + (high - low) / 2 * (upper - lower) / f
        return Fit(None, Status.EXACT, keys=KeyFit(f, means))


@dataclass(frozen=True)
class PerKey(Estimator):
    """Frequencies first, then the distribution of every key's values by a method of one's choice, as of reports diluted with dummies.

        f = projection of the unbiased estimate;   reports of key k: rho_k inner theta_k + (1 - rho_k) dummies,
        rho_k = a f_k / (a f_k + b (1 - f_k))

    So the weight of the dummies is tied to the frequency of the key [P3 sec V-C]: ``PerKey(ExpectationMaximization(steps))`` is P3's PCKV-EM and
    ``PerKey(MixtureReduction())`` its PCKV-MR, which merges values of one key.

    Args:
        method: an estimator of distributions; None for LogSpline().

    Raises:
        ArgumentError: reports that are not of keys and values.

    Source: [P3 sec V-C, app. D]; METHODS 2.

    >>> PerKey()
    PerKey(method=LogSpline())
    """

    summary: ClassVar[str] = (
        "key by key: frequencies by inversion, projected, and given those the values of every key "
        "by the method named; not a joint maximum of the likelihood"
    )

    method: Any = field(default_factory=LogSpline)

    def __post_init__(self) -> None:
        if not isinstance(self.method, Estimator) or isinstance(self.method, PerKey | KeyMeans):
            raise ArgumentTypeError(
                message(
                    "method",
                    "must be an estimator object of distributions",
                    kind(self.method),
                    "For example LogSpline()",
                )
            )

    def alone(self, key: int) -> Estimator:
        """The same for one key's values, those of all others left even: what replicates of a bootstrap of that key need."""
        return _OneKey(self, key)

    def _fit(self, data: LikelihoodData, only: int | None = None) -> Fit:
        keys = of_keys(data, "PerKey")
        frequencies = project(keys.channel.invert(keys.weights))
        size = data.domain.size // frequencies.size
        theta = np.repeat(frequencies / size, size).reshape(-1, size)
        fits = []
        for k in np.flatnonzero(frequencies):
            if only not in (None, k):
                continue
            part = of_values(data, int(k), float(frequencies[k]))
            if part is not None:
                fits.append(self.method.fit(part))
                shares = np.maximum(fits[-1].shares, 0.0)
                theta[k] = frequencies[k] * (
                    shares / shares.sum() if shares.sum() > 0 else 1 / size
                )
        fit = certify(
            data,
            theta.ravel(),
            status_of_parts(f.status for f in fits),
            sum(f.iterations or 0 for f in fits) or None,
        )
        merged = (
            sum(f.components or size for f in fits) if any(f.components for f in fits) else None
        )
        return replace(fit, components=merged)


@dataclass(frozen=True)
class _OneKey(Estimator):
    """PerKey of one key's values."""

    whole: PerKey
    key: int

    def _fit(self, data: LikelihoodData) -> Fit:
        return self.whole._fit(data, self.key)
