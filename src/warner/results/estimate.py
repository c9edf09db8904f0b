"""``estimate``: the one call from tallies to an estimate, and all that can be asked of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from warner._core.checks import kind
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    message,
)
from warner.estimators import Estimator, LogSpline, MaximumLikelihood
from warner.reports.tally import Tally
from warner.results import charts as plot
from warner.results import conditional, intervals, summaries, tables
from warner.results import marginals as joint
from warner.results.association import Association, cramers_v
from warner.results.from_tally import likelihood_data
from warner.results.recommend import recommended, rules_out
from warner.results.solution import Solution
from warner.results.summaries import Quantity

_VALUES = 2**20  # values for which there is memory where no method is named


@dataclass(frozen=True, eq=False)
class Estimate(Solution):
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
                the unbiased estimate (:func:`warner.results.intervals.wald`); ``"bootstrap"``, around this estimate and with its
                estimator (:func:`warner.results.intervals.bootstrap`); ``"fisher"``, around a maximum of the likelihood with no share
                at 0 (:func:`warner.results.intervals.fisher`); ``"posterior"``, where the estimator has a posterior
                (:func:`warner.results.intervals.posterior`).
            weights: not for wald. (r, K): intervals for weights @ shares, such as a marginal. For bootstrap and posterior also a
                function of the shares, (K,) -> (r,). Mean, variance, quantiles and ranges have intervals of their own: ``mean().interval()``.
            replicates, rng: of the bootstrap.
        """
        return intervals.interval(self, level, target, kind, weights, replicates, rng)

    def mean(self) -> Quantity | tuple[Quantity, ...]:
        """sum_x theta_x points_x, a float with ``.interval()``; of a Grid one per coordinate. See :mod:`warner.results.summaries`."""
        return summaries.mean(self)

    def variance(self) -> Quantity | tuple[Quantity, ...]:
        """The variance of the values, a float with ``.interval()``; of a Grid one per coordinate. In a bin numbers are spread evenly."""
        return summaries.variance(self)

    def quantile(self, q: float) -> Quantity:
        """The smallest value whose cumulative share reaches q, a float with ``.interval()``; in a bin numbers are spread evenly."""
        return summaries.quantile(self, q)

    def range(self, low: float, high: float) -> Quantity:
        """The share of values from low to high, both included, a float with ``.interval()``; of a bin cut by a limit, the part inside."""
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
        found = joint.marginal_estimate(self, names)
        if found is self:
            return self
        return Estimate(found.fit, found.data, found.estimator, found.attribute, found.sums)

    def cramers_v(self, first: str, second: str) -> Association:
        """Cramer's V of two attributes of a Product, corrected for the noise, a float with ``.interval()``: see :mod:`warner.results.association`."""
        return cramers_v(self.data, first, second)

    def conditional(self, key: Any) -> conditional.Conditional:
        """What is said of the second attribute among people whose first is ``key``, of a Product of two: see :mod:`warner.results.conditional`."""
        return conditional.conditional(self, key)

    def frequencies(self, level: float = 0.95, target: str = "population") -> list[dict[str, Any]]:
        """How frequent every value of the first attribute of two is, one dict each: value, estimate, low, high, n. See :mod:`warner.results.conditional`."""
        return conditional.frequencies(self, level, target)

    def key_rows(self, level: float = 0.95, target: str = "population") -> list[dict[str, Any]]:
        """The same rows with mean, mean_low, mean_high and status, where reports are of keys with values; else none."""
        return conditional.key_rows(self, level, target)

    def interval_kind(self, target: str = "population") -> str:
        """Which intervals ``rows`` holds: ``"posterior"``, ``"wald"``, of some marginals ``"bootstrap"``, ``"none"`` where nothing bounds a share."""
        return intervals.available_kind(self, target)

    def rows(self, level: float = 0.95, target: str = "population") -> list[dict[str, Any]]:
        """One dict per value: value, estimate, low, high, n (the number of people the share stands for).

        Where the channel has no inverse nothing bounds a share, and low, high are 0, 1.
        """
        return tables.rows(self, level, target)

    def to_json(self, level: float = 0.95, target: str = "population") -> dict[str, Any]:
        """The estimate as JSON data."""
        return tables.to_json(self, level, target)

    def means(self, level: float = 0.95, target: str = "population") -> list[dict[str, float]]:
        """Mean and interval, one dict per coordinate of the values."""
        return tables.means(self, level, target)

    def to_frame(
        self, backend: str = "pyarrow", level: float = 0.95, target: str = "population"
    ) -> Any:
        """The rows as a data frame of ``backend`` (any that Narwhals can make: pyarrow, polars, pandas, ...)."""
        return tables.to_frame(self, backend, level, target)

    def plot(
        self,
        path: str | None = None,
        truth: Any = None,
        level: float = 0.95,
        target: str = "population",
    ) -> Any:
        """A chart of shares and intervals, saved to ``path`` (.png, .svg, .html, .json) if given: see :mod:`warner.results.charts`."""
        picture = plot.chart(
            [self], truth=None if truth is None else [truth], level=level, target=target
        )
        if path is not None:
            plot.save(picture, path)
        return picture


def estimate(
    tally: Tally | Iterable[Tally],
    method: Estimator | None = None,
    attributes: Sequence[str] | None = None,
) -> Estimate:
    """Estimate the distribution of the true values from the tally of their reports.

    Args:
        tally: a tally, or several: those of one mechanism are added, those of different mechanisms or budgets on one
            domain are estimated from together.
        method: an estimator such as ``MaximumLikelihood()``; None for the recommended one, see :func:`recommended`.
        attributes: of tallies of tuples (PerAttribute), which attributes' joint distribution, in this order; None for all.

    Returns:
        Estimate: probabilities (K,) in the domain's order, with status, gap where a likelihood was maximised, and intervals.

    Raises:
        MismatchError: tallies that do not belong together.
        EmptyError: no reports.
        IdentifiabilityError: the method inverts the channel and it has no inverse.

    >>> from warner import Integers, UnaryEncoding
    >>> oue = UnaryEncoding(Integers(0, 3), 2.0, keep="optimized")
    >>> estimate(oue.tally(oue.randomize([0, 1, 2, 3] * 500))).probabilities.shape
    (4,)
    """
    if not isinstance(method, Estimator | None):
        raise ArgumentTypeError(
            message(
                "method",
                "must be an estimator object",
                kind(method),
                "For example MaximumLikelihood()",
            )
        )
    data = likelihood_data(tally, attributes)
    if method is not None:
        return Estimate(method.fit(data), data, method)
    if data.domain.size > _VALUES:
        rule = f"must have at most {_VALUES} values for the recommended method, which takes a kilobyte for each"
        raise ArgumentError(
            message(
                "domain",
                rule,
                str(data.domain.size),
                "Name a method: Inversion('project'), -m project",
            )
        )
    chosen = recommended(data.domain, data.channel)
    fit = chosen.fit(data)
    if isinstance(chosen, LogSpline):
        # Whole numbers that come in threes, heaped ages: where the likelihood rules smoothness out, it decides alone.
        sharp = MaximumLikelihood()
        best = sharp.fit(data)
        if rules_out(fit, best):
            chosen, fit = sharp, best
    return Estimate(fit, data, chosen)
