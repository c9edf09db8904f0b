"""Estimates: what came out, and how far to trust it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from warner._check import ArgumentError, IdentifiabilityError, choice, message
from warner.channel import StackChannel
from warner.domain import Domain
from warner.evidence import Evidence

if TYPE_CHECKING:
    from warner.association import Association
    from warner.conditional import Conditional
    from warner.joint import Sums
    from warner.summaries import Quantity


class Status(Enum):
    """How an estimate came to its end; the text says the cause and the remedy."""

    EXACT = "exact: a closed form, nothing to iterate"
    CONVERGED = "converged: no distribution has a log-likelihood higher by more than the gap"
    PENALIZED = (
        "penalised maximum, the penalty chosen by marginal likelihood: smoother than the maximum of the likelihood, and the gap says how far "
        "below it at most; if values next to each other should not be alike, use MaximumLikelihood() instead"
    )
    STOPPED = (
        "stopped early, after the steps or at the tolerance asked for: a regularised estimate, not the maximum of the likelihood; "
        "the gap says how far it is"
    )
    NOT_MOVED = (
        "not moved: the steps left the start as it was, the uniform distribution unless another was named, so the estimate says nothing "
        "of the reports; allow more steps, or use MaximumLikelihood()"
    )
    REDUCED = "reduced: values of little weight share one estimate, or were left out; components says how many estimates there are"
    SHRUNK = (
        "posterior under a prior learnt from the shares themselves: pulled towards what is common, so that all shares together err least; "
        "for shares that are right on average one by one use Inversion()"
    )
    CORRECTED = (
        "corrected by a multiple of what P1 takes for its bias: a regularised estimate, not the maximum of the likelihood; "
        "for the maximum use MaximumLikelihood()"
    )
    INDEPENDENT = (
        "product of marginals, each estimated alone: right where the attributes, or groups, are independent, biased by their dependence elsewhere; "
        "for their joint distribution use another method"
    )
    STEP_LIMIT = "step limit reached before the gap asked for: allow more steps or a larger gap"
    OUTSIDE_SIMPLEX = (
        "outside the simplex: some estimates are negative or they do not sum to 1, which unbiased estimates may; "
        "use constraint='project' for a distribution"
    )
    NO_POSITIVE_MASS = "no estimate was positive, so nothing was left to normalise: the uniform distribution stands in; collect more reports"
    MEAN_ONLY = "the mean alone: nothing is said of shares; use another method for a distribution"
    KEY_MEANS = (
        "how frequent every key is and the mean of its values, alone: nothing is said of their distribution; "
        "for distributions use value='piecewise' and PerKey()"
    )
    PER_KEY = (
        "key by key: frequencies by inversion, projected, and given those the values of every key by the method named; no joint maximum of the "
        "likelihood, and the gap says how far below it at most"
    )
    KEY_ABSENT = (
        "nobody seems to have this key: nothing is known of its values, a placeholder stands in, and intervals hold all that is possible; "
        "collect more reports"
    )
    BASELINE = "a baseline for comparison: it does not undo the randomisation"


@dataclass(frozen=True, eq=False)
class Fit:
    """What an estimator found.

    Attributes:
        probabilities: (K,), or None where only the mean was estimated.
        status: how it ended.
        gap: nats per report by which the best distribution's log-likelihood can exceed this one's (METHODS 0); None where the
            estimator does not maximise a likelihood.
        iterations: steps taken, or None.
        log_likelihood: in nats over all n reports, or None.
        likelihood: which likelihood that is.
        components: how many estimates there are, where several values share one; None where every value has its own.
        path: log-likelihood and gap after every step of an early-stopped path, where it was asked for.
        unique: for a maximum, the text of whether it is the only one; see warner.estimators.uniqueness.
        seconds: how long an iterative method took.
        mean, mean_variance: where only the mean was estimated, it and the variance of one report's share in it, (d,).
        mean_bias: (d,) how far the mean can be off on average, which its intervals allow for; None for no bias.
        draws: (count, rng) -> (count, K) distributions from the posterior, where the estimator has one; rows belong together, so
            quantiles of a function over the rows are an interval for it.
        by_draws: whether intervals are made of them where no kind is asked for. A prior that the same reports suggested may leave shares
            that are unlike the rest uncovered, and then they are not.
        frequencies, key_means: where only those were estimated, of keys (d,) and of their values (d,); see warner.conditional.
    """

    probabilities: np.ndarray | None
    status: Status
    gap: float | None = None
    iterations: int | None = None
    log_likelihood: float | None = None
    likelihood: str | None = None
    unique: str | None = None
    components: int | None = None
    path: np.ndarray | None = field(default=None, repr=False)
    seconds: float | None = field(default=None, repr=False)
    draws: Callable[[int, np.random.Generator], np.ndarray] | None = field(default=None, repr=False)
    by_draws: bool = False
    mean: np.ndarray | None = None
    mean_variance: np.ndarray | None = field(default=None, repr=False)
    mean_bias: np.ndarray | None = field(default=None, repr=False)
    frequencies: np.ndarray | None = None
    key_means: np.ndarray | None = None

    def __post_init__(self) -> None:
        if self.probabilities is not None:
            self.probabilities.setflags(write=False)

    @property
    def shares(self) -> np.ndarray:
        """The probabilities, refused where there are none."""
        if self.probabilities is None:
            given = ".mean()" if self.frequencies is None else ".frequencies() and .conditional(key).mean()"
            raise IdentifiabilityError(message("probabilities", "were not estimated, the mean alone was", None, f"Use {given}, or another method"))
        return self.probabilities


@dataclass(frozen=True, eq=False)
class Estimate:
    """An estimated distribution over a domain.

    Attributes:
        probabilities: (K,) in the domain's order; for a Product, C order of its attributes.
        domain: the K values.
        n: number of reports.
        estimator: the estimator; ``method`` is its name, as it can be written again.
        status: how the estimator ended; its text says what to do.
        gap: optimality gap in nats per report, None where no likelihood is maximised.
        iterations, log_likelihood, likelihood, unique, components, seconds: see Fit.
        attribute: the name of what was asked, where there is one.
        sums: of a marginal, what it is sums of.

    >>> from warner import Categorical, RandomizedResponse, estimate
    >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 3.0)
    >>> result = estimate(coin.tally(coin.randomize(["yes"] * 900 + ["no"] * 100)))
    >>> result.n, bool(result.probabilities[1] > 0.8), result.interval().shape
    (1000, True, (2, 2))
    """

    fit: Fit = field(repr=False)
    evidence: Evidence = field(repr=False)
    estimator: Any
    attribute: str | None = None
    sums: Sums | None = field(default=None, repr=False)

    @property
    def probabilities(self) -> np.ndarray:
        return self.fit.shares

    @property
    def domain(self) -> Domain:
        return self.evidence.domain

    @property
    def method(self) -> str:
        return repr(self.estimator)

    @property
    def n(self) -> int:
        return self.evidence.n

    @property
    def status(self) -> Status:
        return self.fit.status

    @property
    def gap(self) -> float | None:
        return self.fit.gap

    @property
    def iterations(self) -> int | None:
        return self.fit.iterations

    @property
    def unique(self) -> str | None:
        return self.fit.unique

    @property
    def components(self) -> int | None:
        return self.fit.components

    @property
    def log_likelihood(self) -> float | None:
        return self.fit.log_likelihood

    @property
    def likelihood(self) -> str | None:
        return self.fit.likelihood

    @property
    def seconds(self) -> float | None:
        return self.fit.seconds

    def __repr__(self) -> str:
        gap = "" if self.gap is None else f", gap={self.gap:.2g}"
        return f"Estimate({self.method}, K={self.domain.size}, n={self.n}, status={self.status.name}{gap})"

    def interval(
        self,
        level: float = 0.95,
        target: str = "population",
        kind: str | None = None,
        weights: Any = None,
        replicates: int = 200,
        rng: np.random.Generator | None = None,
    ) -> np.ndarray:
        """Confidence intervals (K, 2) for the true shares, one at a time, or (r, 2) for functions of them.

        Args:
            level: coverage asked for, in (0, 1).
            target: ``"population"``, the distribution that the n people were drawn from, or ``"respondents"``, the shares
                among exactly these n people.
            kind: None for ``"posterior"`` where the estimator has one that covers and the target is the population, else
                ``"wald"``, widened to hold the estimate where that was shrunk out of it; or one of these. ``"wald"``, around
                the unbiased estimate (:func:`warner.intervals.wald`); ``"bootstrap"``, around this estimate and with its
                estimator (:func:`warner.intervals.bootstrap`); ``"fisher"``, around a maximum of the likelihood with no share
                at 0 (:func:`warner.intervals.fisher`); ``"posterior"``, where the estimator has a posterior
                (:func:`warner.intervals.posterior`).
            weights: not for wald. (r, K): intervals for weights @ shares, such as a marginal. For bootstrap and posterior also a
                function of the shares, (K,) -> (r,). Mean, variance, quantiles and ranges have intervals of their own: ``mean().interval()``.
            replicates, rng: of the bootstrap.
        """
        from warner.intervals import bootstrap, fisher, holding, posterior, wald  # an upward door, for the reader's convenience

        asked, kind = kind, self._kind(target) if kind is None else kind
        choice("kind", kind, ("wald", "bootstrap", "fisher", "posterior"))
        if self.sums is not None and kind in ("bootstrap", "fisher"):
            return self.sums.interval(level, target, kind, weights, replicates, rng)
        if kind == "bootstrap":
            return bootstrap(self, level, target, weights, replicates, rng)
        if kind == "posterior":
            return posterior(self, level, target, weights, rng)
        if kind == "fisher":
            return fisher(self, level, target, weights)
        choice("weights of wald intervals", weights, (None,))
        bounds = wald(self.evidence, level, target)
        if asked is None and self.fit.probabilities is not None:
            return holding(bounds, np.clip(self.probabilities, 0.0, 1.0))
        return bounds

    def mean(self) -> Quantity | tuple[Quantity, ...]:
        """sum_x theta_x points_x, a float with ``.interval()``; of a Grid one per coordinate. See :mod:`warner.summaries`."""
        from warner import summaries  # an upward door, for the reader's convenience

        return summaries.mean(self)

    def variance(self) -> Quantity | tuple[Quantity, ...]:
        """The variance of the values, a float with ``.interval()``; of a Grid one per coordinate. In a bin numbers are spread evenly."""
        from warner import summaries

        return summaries.variance(self)

    def quantile(self, q: float) -> Quantity:
        """The smallest value whose cumulative share reaches q, a float with ``.interval()``; in a bin numbers are spread evenly."""
        from warner import summaries

        return summaries.quantile(self, q)

    def range(self, low: float, high: float) -> Quantity:
        """The share of values from low to high, both included, a float with ``.interval()``; of a bin cut by a limit, the part inside."""
        from warner import summaries

        return summaries.mass(self, low, high)

    def marginal(self, names: str | Sequence[str]) -> Estimate:
        """The estimate of some attributes of a Product, as sums over the others; one name gives it on that attribute's own domain.

        Status, gap and likelihood stay those of the fit that was summed. Wald intervals are around the unbiased estimate of the marginal
        itself, and are what is given where none are asked for; the bootstrap refits the whole; there is no posterior of the sums. ``Inversion()`` is
        made anew of the reports on these attributes: sums over bits of others add noise that need not be there.

        Args:
            names: attributes in the order wanted, or one.

        >>> from warner import Categorical, Integers, Product, RandomizedResponse, estimate
        >>> both = RandomizedResponse(Product(sex=Categorical(["f", "m"]), age=Integers(0, 2)), 4.0)
        >>> found = estimate(both.tally(both.randomize([{"sex": "f", "age": 1}, {"sex": "m", "age": 2}] * 500)))
        >>> found.marginal("age").domain, found.marginal(["age", "sex"]).domain.shape, 1 < found.marginal("age").mean() < 2
        (Integers(low=0, high=2), (3, 2), True)
        """
        from warner import joint  # an upward door, for the reader's convenience

        return joint.marginal_estimate(self, names)

    def cramers_v(self, first: str, second: str) -> Association:
        """Cramer's V of two attributes of a Product, corrected for the noise, a float with ``.interval()``: see :mod:`warner.association`."""
        from warner import association

        return association.cramers_v(self.evidence, first, second)

    def conditional(self, key: Any) -> Conditional:
        """What is said of the second attribute among people whose first is ``key``, of a Product of two: see :mod:`warner.conditional`."""
        from warner.conditional import conditional  # an upward door, for the reader's convenience

        return conditional(self, key)

    def frequencies(self, level: float = 0.95, target: str = "population") -> list[dict[str, Any]]:
        """How frequent every value of the first attribute of two is, one dict each: value, estimate, low, high, n. See :mod:`warner.conditional`."""
        from warner.conditional import frequencies

        return frequencies(self, level, target)

    def key_rows(self, level: float = 0.95, target: str = "population") -> list[dict[str, Any]]:
        """The same rows with mean, mean_low, mean_high and status, where reports are of keys with values; else none."""
        from warner.conditional import key_rows

        return key_rows(self, level, target)

    def _kind(self, target: str) -> str:
        """Which intervals to give where none are asked for."""
        if self.fit.by_draws and target == "population":
            return "posterior"
        return "wald" if self.sums is None else self.sums.kind

    def interval_kind(self, target: str = "population") -> str:
        """Which intervals ``rows`` holds: ``"posterior"``, ``"wald"``, of some marginals ``"bootstrap"``, ``"none"`` where nothing bounds a share."""
        kind = self._kind(target)
        return kind if kind == "posterior" or self.fit.mean is not None or self.has_intervals else "none"

    @cached_property
    def has_intervals(self) -> bool:
        """Whether the channel has an inverse that can be formed, which Wald intervals are made from."""
        channel = self.evidence.channel
        try:
            channel.invert(self.evidence.weights)
            if isinstance(channel, StackChannel) and channel.together:
                channel.variance(np.full(channel.shape[1], 1 / channel.shape[1]))
        except IdentifiabilityError:
            return False
        except ArgumentError:
            if not isinstance(channel, StackChannel):
                raise
            return False
        return True

    def rows(self, level: float = 0.95, target: str = "population") -> list[dict[str, Any]]:
        """One dict per value: value, estimate, low, high, n (the number of people the share stands for).

        Where the channel has no inverse nothing bounds a share, and low, high are 0, 1.
        """
        if self.fit.probabilities is None:
            return []
        bounds = self.interval(level, target) if self.interval_kind(target) != "none" else np.tile([0.0, 1.0], (self.domain.size, 1))
        return [
            {"value": value, "estimate": float(p), "low": float(low), "high": float(high), "n": float(p * self.n)}
            for value, p, (low, high) in zip(self.domain.labels, self.probabilities, bounds, strict=True)
        ]

    def to_json(self, level: float = 0.95, target: str = "population") -> dict[str, Any]:
        """The estimate as JSON data."""
        return {
            "format": "warner-estimate",
            "schema": 1,
            "attribute": self.attribute,
            "method": self.method,
            "n": self.n,
            **({"simulated": True} if self.evidence.simulated else {}),
            "status": self.status.name.lower(),
            "status_text": self.status.value,
            "gap": self.gap,
            "iterations": self.iterations,
            "log_likelihood": self.log_likelihood,
            "likelihood": self.fit.likelihood,
            "unique": self.fit.unique,
            "interval": {
                "kind": self.interval_kind(target),
                "level": level,
                "target": choice("target", target, ("population", "respondents")),
            },
            "domain": self.domain.spec(),
            "shares": self.rows(level, target),
            **({} if self.fit.mean is None else {"mean": self.means(level, target)}),
            **({"keys": keys} if (keys := self.key_rows(level, target)) else {}),
        }

    def means(self, level: float = 0.95, target: str = "population") -> list[dict[str, float]]:
        """Mean and interval, one dict per coordinate of the values."""
        found = self.mean()
        each = found if isinstance(found, tuple) else (found,)
        bounds = [value.interval(level, target) for value in each]
        return [{"estimate": float(value), "low": float(low), "high": float(high)} for value, (low, high) in zip(each, bounds, strict=True)]

    def to_frame(self, backend: str = "pyarrow", level: float = 0.95, target: str = "population") -> Any:
        """The rows as a data frame of ``backend`` (any that Narwhals can make: pyarrow, polars, pandas, ...)."""
        from warner.files import frame

        rows = self.rows(level, target) if self.fit.frequencies is None else self.key_rows(level, target)
        columns: dict[str, list[Any]] = {key: [row[key] for row in rows] for key in rows[0]}
        if not isinstance(rows[0]["value"], str | int | float | bool):
            columns["value"] = [json.dumps(v) for v in columns["value"]]
        return frame(columns, backend)

    def plot(self, path: str | None = None, truth: Any = None, level: float = 0.95, target: str = "population") -> Any:
        """A chart of shares and intervals, saved to ``path`` (.png, .svg, .html, .json) if given: see :mod:`warner.plot`."""
        from warner.plot import chart, save  # an upward door, for the reader's convenience

        picture = chart([self], truth=None if truth is None else [truth], level=level, target=target)
        if path is not None:
            save(picture, path)
        return picture


def as_text(value: Any) -> str:
    """A value of a domain as a label: strings as they are, the rest as JSON.

    >>> as_text("x"), as_text(3), as_text((1, 2))
    ('x', '3', '[1, 2]')
    """
    return value if isinstance(value, str) else json.dumps(value)
