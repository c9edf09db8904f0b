"""An estimator of distributions, applied to the values of every key."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from warner._core.checks import kind
from warner._core.errors import ArgumentTypeError, message
from warner.estimators.base import Estimator
from warner.estimators.fit import Fit, Status, status_of_parts
from warner.estimators.inversion import Inversion
from warner.estimators.key_value.data import of_keys, of_values
from warner.estimators.key_value.key_means import KeyMeans
from warner.estimators.likelihood_data import LikelihoodData
from warner.estimators.log_spline import LogSpline
from warner.estimators.mle.objective import certify
from warner.metrics.simplex import normalize


@dataclass(frozen=True)
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
        "key by key: frequencies, by inversion and projection unless another method is named, and "
        "given them the values of every key by the method named; not a joint maximum of the "
        "likelihood"
    )

    method: Estimator = field(default_factory=LogSpline)
    frequencies: Estimator = field(default=Inversion("project"))

    def __post_init__(self) -> None:
        for name, example in (("method", LogSpline()), ("frequencies", Inversion("project"))):
            estimator = getattr(self, name)
            if not isinstance(estimator, Estimator) or isinstance(estimator, PerKey | KeyMeans):
                raise ArgumentTypeError(
                    message(
                        name,
                        "must be an estimator object of distributions",
                        kind(estimator),
                        f"For example {example!r}",
                    )
                )

    def __repr__(self) -> str:
        changed = self.frequencies != Inversion("project")
        frequencies = f", frequencies={self.frequencies!r}" if changed else ""
        return f"PerKey(method={self.method!r}{frequencies})"

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
