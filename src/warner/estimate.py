"""Estimates: what came out, and how far to trust it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np

from warner._check import IdentifiabilityError, choice
from warner.domain import Domain
from warner.evidence import Evidence


class Status(Enum):
    """How an estimate came to its end; the text says the cause and the remedy."""

    EXACT = "exact: a closed form, nothing to iterate"
    CONVERGED = "converged: no distribution has a log-likelihood higher by more than the gap"
    STOPPED = "stopped after the steps asked for: a regularised estimate, not the maximum of the likelihood; the gap says how far it is"
    SHRUNK = (
        "posterior under a prior learnt from the shares themselves: pulled towards what is common, so that all shares together err least; "
        "for shares that are right on average one by one use Inversion()"
    )
    STEP_LIMIT = "step limit reached before the gap asked for: allow more steps or a larger gap"
    OUTSIDE_SIMPLEX = (
        "outside the simplex: some estimates are negative or they do not sum to 1, which unbiased estimates may; "
        "use constraint='project' for a distribution"
    )
    NO_POSITIVE_MASS = "no estimate was positive, so nothing was left to normalise: the uniform distribution stands in; collect more reports"
    BASELINE = "a baseline for comparison: it does not undo the randomisation"


@dataclass(frozen=True, eq=False)
class Fit:
    """What an estimator found.

    Attributes:
        probabilities: (K,).
        status: how it ended.
        gap: nats per report by which the best distribution's log-likelihood can exceed this one's (METHODS 0); None where the
            estimator does not maximise a likelihood.
        iterations: steps taken, or None.
        log_likelihood: in nats over all n reports, or None.
        likelihood: which likelihood that is.
        path: log-likelihood and gap after every step of an early-stopped path, where it was asked for.
        unique: for a maximum, the text of whether it is the only one; see warner.estimators.uniqueness.
        seconds: how long an iterative method took.
        draws: (count, rng) -> (count, K) distributions from the posterior, where the estimator has one; rows belong together, so
            quantiles of a function over the rows are an interval for it.
    """

    probabilities: np.ndarray
    status: Status
    gap: float | None = None
    iterations: int | None = None
    log_likelihood: float | None = None
    likelihood: str | None = None
    unique: str | None = None
    path: np.ndarray | None = field(default=None, repr=False)
    seconds: float | None = field(default=None, repr=False)
    draws: Callable[[int, np.random.Generator], np.ndarray] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self.probabilities.setflags(write=False)


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
        iterations, log_likelihood, likelihood, unique, seconds: see Fit.
        attribute: the name of what was asked, where there is one.

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

    @property
    def probabilities(self) -> np.ndarray:
        return self.fit.probabilities

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
        kind: str = "wald",
        weights: Any = None,
        replicates: int = 200,
        rng: np.random.Generator | None = None,
    ) -> np.ndarray:
        """Confidence intervals (K, 2) for the true shares, one at a time, or (r, 2) for linear functions of them.

        Args:
            level: coverage asked for, in (0, 1).
            target: ``"population"``, the distribution that the n people were drawn from, or ``"respondents"``, the shares
                among exactly these n people.
            kind: ``"wald"``, around the unbiased estimate (:func:`warner.intervals.wald`); ``"bootstrap"``, around this
                estimate and with its estimator (:func:`warner.intervals.bootstrap`); ``"fisher"``, around a maximum of the
                likelihood with no share at 0 (:func:`warner.intervals.fisher`).
            weights: for bootstrap and fisher, (r, K): intervals for weights @ shares, such as a mean, the mass of a range or a marginal.
            replicates, rng: of the bootstrap.
        """
        from warner.intervals import bootstrap, fisher, wald  # an upward door, for the reader's convenience

        if choice("kind", kind, ("wald", "bootstrap", "fisher")) == "bootstrap":
            return bootstrap(self, level, target, weights, replicates, rng)
        if kind == "fisher":
            return fisher(self, level, target, weights)
        choice("weights of wald intervals", weights, (None,))
        return wald(self.evidence, level, target)

    @cached_property
    def has_intervals(self) -> bool:
        """Whether the channel has an inverse, which Wald intervals are made from."""
        try:
            self.evidence.channel.invert(self.evidence.weights)
        except IdentifiabilityError:
            return False
        return True

    def rows(self, level: float = 0.95, target: str = "population") -> list[dict[str, Any]]:
        """One dict per value: value, estimate, low, high, n (the number of people the share stands for).

        Where the channel has no inverse nothing bounds a share, and low, high are 0, 1.
        """
        bounds = self.interval(level, target) if self.has_intervals else np.tile([0.0, 1.0], (self.domain.size, 1))
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
            "status": self.status.name.lower(),
            "status_text": self.status.value,
            "gap": self.gap,
            "iterations": self.iterations,
            "log_likelihood": self.log_likelihood,
            "likelihood": self.fit.likelihood,
            "unique": self.fit.unique,
            "interval": {
                "kind": "wald" if self.has_intervals else "none",
                "level": level,
                "target": choice("target", target, ("population", "respondents")),
            },
            "domain": self.domain.spec(),
            "shares": self.rows(level, target),
        }

    def to_frame(self, backend: str = "pyarrow", level: float = 0.95, target: str = "population") -> Any:
        """The rows as a data frame of ``backend`` (any that Narwhals can make: pyarrow, polars, pandas, ...)."""
        from warner.files import frame

        rows = self.rows(level, target)
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
