"""The published estimator of PCKV: frequencies of keys and means of their values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from warner._core.checks import choice
from warner.estimators.base import Estimator
from warner.estimators.fit import Fit, KeyFit, Status
from warner.estimators.key_value.moments import key_moments
from warner.estimators.likelihood_data import LikelihoodData


@dataclass(frozen=True)
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
    >>> answers = {"key": ["a", "b"] * 5000, "value": [2.0, 8.0] * 5000}
    >>> result = estimate(pay.tally(pay.randomize(answers)), KeyMeans())
    >>> bool(abs(result.conditional("a").mean() - 2) < 1)
    True
    >>> bool(abs(result.frequencies()[1]["estimate"] - 0.5) < 0.1)
    True
    """

    references = ("gu2020",)

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
