"""What is said of one attribute given another: how frequent keys are, and what values go with each.

    theta_(v | k) = theta_kv / f_k,   f_k = sum_v theta_kv;   mean_k = N_k / f_k,   N_k = sum_v theta_kv c_v

Both are ratios of estimated numbers. Where f_k is not clear of 0 no ratio to it is known: intervals of means and shares are Fieller's, which are
then all that is possible. They are around the unbiased estimates, whatever method made the point estimate, like Wald intervals of shares.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from warner._core.checks import choice, show
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    ValuesError,
    message,
)
from warner.domains import Domain, Padded, Product
from warner.estimators.fit import Status
from warner.estimators.key_value import Moments, PerKey, is_keyed, key_moments, of_keys
from warner.results.given import shares_given
from warner.results.intervals import TARGETS, holding, interval, normal_quantile, wald
from warner.results.marginals import marginal_estimate
from warner.results.solution import Solution
from warner.results.summaries import Cumulative, Quantile, Quantity, Ratio, mean, quantile, variance


@dataclass(frozen=True, eq=False)
class Conditional:
    """An estimated distribution of values among the people who have one key.

    Attributes:
        key: which.
        domain: the values.
        frequency: the key's estimated share; of draws, where people hold several pairs.
        status: how the estimate ended, or that nobody seems to have the key.
        probabilities: (V,); even where the key's frequency is 0.

    >>> from warner import Categorical, Interval, KeyValue, estimate
    >>> pay = KeyValue(Categorical(["a", "b"]), Interval(0, 10, bins=8), 4.0, value="piecewise")
    >>> found = estimate(pay.tally(pay.randomize({"key": ["a", "b"] * 5000, "value": [2.0, 8.0] * 5000})))
    >>> one = found.conditional("a")
    >>> bool(abs(one.mean() - 2) < 1), one.mean().interval().shape, one.probabilities.shape
    (True, (2,), (8,))
    """

    estimate: Solution
    key: Any
    index: int

    def __repr__(self) -> str:
        return f"Conditional({self.key!r}, {self.estimate.method}, K={self.domain.size}, n={self.n:.0f}, status={self.status.name})"

    @property
    def domain(self) -> Domain:
        return _attributes(self.estimate)[1]

    @property
    def method(self) -> str:
        return self.estimate.method

    @property
    def frequency(self) -> float:
        return float(_shares(self.estimate)[self.index])

    @property
    def n(self) -> float:
        """The number of people (or draws) that have the key, estimated."""
        return self.frequency * self.estimate.n

    @property
    def status(self) -> Status:
        absent = self.frequency <= 0 or (
            self._moments is not None and self._moments.frequency[self.index] <= 0
        )
        return Status.KEY_ABSENT if absent else self.estimate.status

    @property
    def probabilities(self) -> np.ndarray:
        return _part(self.estimate.probabilities, self._block)

    def mean(self) -> Quantity:
        """The mean of the key's values, a float with ``.interval()``."""
        moments, fit = self._moments, self.estimate.fit
        if moments is None:
            return self._asked(mean)
        value = (
            float(fit.keys.means[self.index]) if fit.keys is not None else float(self._asked(mean))
        )
        k = self.index
        return Quantity(
            value,
            self.estimate,
            Ratio(
                float(moments.total[k]),
                float(moments.frequency[k]),
                moments.variance[k],
                moments.ends,
            ),
        )

    def variance(self) -> Quantity:
        """The variance of the key's values, a float with ``.interval()``, of the bootstrap."""
        return self._asked(variance)

    def quantile(self, q: float) -> Quantity:
        """The smallest value whose cumulative share reaches q, a float with ``.interval()``, of the bootstrap."""
        return self._asked(quantile, q)

    def interval(self, level: float = 0.95, target: str = "population") -> np.ndarray:
        """Confidence intervals (V, 2) for the shares of the key's values, one at a time; (0, 1) where no share is ruled out.

        They are Fieller's, with the variance at the share that is tested: see :mod:`warner.results.given`. They are widened to hold the estimates.
        """
        z = normal_quantile(level)
        respondents = choice("target", target, TARGETS) == "respondents"
        shape = (_attributes(self.estimate)[0].size, self.domain.size)
        bounds = shares_given(self.estimate.data, self.index, shape, z, respondents)
        if self.estimate.fit.probabilities is None:
            return bounds
        return holding(bounds, np.clip(self.probabilities, 0.0, 1.0))

    def rows(self, level: float = 0.95, target: str = "population") -> list[dict[str, Any]]:
        """One dict per value: value, estimate, low, high, n."""
        if self.estimate.fit.probabilities is None:
            return []
        found = zip(
            self.domain.labels, self.probabilities, self.interval(level, target), strict=True
        )
        return [
            {
                "value": v,
                "estimate": float(p),
                "low": float(low),
                "high": float(high),
                "n": float(p * self.n),
            }
            for v, p, (low, high) in found
        ]

    @property
    def _block(self) -> slice:
        return slice(self.index * self.domain.size, (self.index + 1) * self.domain.size)

    @cached_property
    def _moments(self) -> Moments | None:
        """Unbiased frequency and sum of values, where reports are of keys with values."""
        return key_moments(self.estimate.data) if is_keyed(self.estimate.data.channel) else None

    def _asked(self, summary: Any, *arguments: Any) -> Quantity:
        """A summary of the key's values alone, its interval by what it does to the shares of all."""
        found = summary(_Alone(self.probabilities, self.domain, self.estimate), *arguments)
        if not isinstance(found, Quantity):
            raise ArgumentTypeError(
                message(
                    "values",
                    "must be on a line",
                    type(self.domain).__name__,
                    "Use Interval or Integers",
                )
            )
        whole, method = self.estimate, self.estimate.estimator
        if isinstance(method, PerKey):
            whole = replace(whole, estimator=method.alone(self.index))
        return Quantity(float(found), whole, _Given(found._of, self._block))


@dataclass(frozen=True, eq=False)
class _Alone:
    """What summaries read of an estimate, for one key."""

    probabilities: np.ndarray
    domain: Domain
    whole: Solution

    @property
    def fit(self) -> Any:
        return self.whole.fit


class _Given:
    """A function of the values' shares, as one of all shares: of the key's part, made to sum to one."""

    def __init__(self, of: Any, block: slice) -> None:
        self.of, self.block, self.limits = of, block, of.limits
        if isinstance(of, Quantile):
            self.cumulative = _Given(of.cumulative, block)
            self.q = of.q
        if isinstance(of, Cumulative):
            self.invert = of.invert

    def __call__(self, theta: np.ndarray) -> np.ndarray:
        found: np.ndarray = self.of(_part(theta, self.block))
        return found


def _part(theta: np.ndarray, block: slice) -> np.ndarray:
    """The shares of a block among themselves; even where there are none."""
    part = theta[block]
    total = float(part.sum())
    return part / total if total > 0 else np.full(part.size, 1 / part.size)


def conditional(estimate: Solution, key: Any) -> Conditional:
    """See Estimate.conditional."""
    keys, _ = _attributes(estimate)
    try:
        index = int(keys.encode([key])[0])
    except (ValuesError, ArgumentTypeError):
        index = -1
    if index < 0:
        raise ArgumentError(
            message(
                "key",
                f"must be one of {', '.join(show(v) for v in keys.labels[:6])}{', ...' * (keys.size > 6)}",
                show(key),
            )
        )
    return Conditional(estimate, key, index)


def frequencies(
    estimate: Solution, level: float = 0.95, target: str = "population"
) -> list[dict[str, Any]]:
    """See Estimate.frequencies. Of people who hold several pairs, how many hold the key: shares of draws times the most pairs."""
    keys, _ = _attributes(estimate)
    shares, times = _shares(estimate), 1
    if is_keyed(estimate.data.channel):
        bounds = wald(of_keys(estimate.data), level, target)
    else:
        assert isinstance(estimate.domain, Product)
        bounds = interval(
            marginal_estimate(estimate, next(iter(estimate.domain.domains))), level, target
        )
    if isinstance(keys, Padded):
        times, shares, bounds = keys.pairs, shares[:-1], bounds[:-1]
        if estimate.fit.status is not Status.OUTSIDE_SIMPLEX:
            shares = np.clip(shares, 0.0, 1 / times)  # nobody holds a key more than once
    # Of methods that shrink, an estimate may lie outside the interval, which is around the unbiased one.
    found = zip(
        keys.labels,
        times * shares,
        np.clip(times * holding(bounds, shares), 0.0, 1.0),
        strict=False,
    )
    return [
        {
            "value": k,
            "estimate": float(f),
            "low": float(low),
            "high": float(high),
            "n": float(f * estimate.n),
        }
        for k, f, (low, high) in found
    ]


def key_rows(
    estimate: Solution, level: float = 0.95, target: str = "population"
) -> list[dict[str, Any]]:
    """See Estimate.key_rows."""
    if not is_keyed(estimate.data.channel):
        return []
    rows = frequencies(estimate, level, target)
    for index, row in enumerate(rows):
        one = Conditional(estimate, row["value"], index)
        low, high = one.mean().interval(level, target)
        row |= {
            "mean": float(one.mean()),
            "mean_low": float(low),
            "mean_high": float(high),
            "status": one.status.name.lower(),
        }
    return rows


def _attributes(estimate: Solution) -> tuple[Domain, Domain]:
    domain = estimate.domain
    if not isinstance(domain, Product) or len(domain.domains) != 2:
        raise ArgumentTypeError(
            message(
                "estimate",
                "must be of a key and a value",
                type(domain).__name__,
                "Collect them with KeyValue",
            )
        )
    keys, values = domain.domains.values()
    return keys, values


def _shares(estimate: Solution) -> np.ndarray:
    """The frequency of every key (d,), of draws where people hold several pairs."""
    if estimate.fit.keys is not None:
        return estimate.fit.keys.frequencies
    return np.asarray(estimate.probabilities.reshape(_attributes(estimate)[0].size, -1).sum(axis=1))
