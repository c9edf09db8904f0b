"""Which method errs least for a question like this one: a ranking by parametric bootstrap."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from warner._core.checks import choice, integer, kind
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    IdentifiabilityError,
    message,
)
from warner.design.losses import LOSSES
from warner.design.ranked_results import Ranking, to_nine_digits
from warner.estimators import Estimator
from warner.estimators.likelihood_data import LikelihoodData
from warner.metrics.simplex import project
from warner.reports.tally import Tally
from warner.results.advice import advice
from warner.results.charts import ranking, save
from warner.results.from_tally import likelihood_data
from warner.results.recommend import recommended


@dataclass(frozen=True)
class RankedMethod:
    """One estimator in a comparison.

    Attributes:
        method: the estimator.
        error: mean loss over the simulated tallies.
        margin: standard error of that mean.
        excess_error: mean over the same tallies of its loss minus that of the best method.
        excess_margin: standard error of that mean; both are 0 for the best method.
        best_share: share of the tallies on which no other method has a smaller loss.
    """

    method: Estimator
    error: float
    margin: float
    excess_error: float
    excess_margin: float
    best_share: float

    def row(self) -> dict[str, Any]:
        """The result as a dict: the attributes, with the method by its name."""
        return {**vars(self), "method": repr(self.method)}


@dataclass(frozen=True)
class Comparison(Ranking[RankedMethod]):
    """Estimators from the least error to the largest.

    Attributes:
        runs: number of simulated tallies.
        advice: {method: text}, what speaks against a method for these reports.
        results, loss, n, left_out: see :class:`warner.design.ranked_results.Ranking`.
    """

    runs: int
    advice: Mapping[str, str] = field(default_factory=dict)

    @property
    def loss_name(self) -> str:
        """The loss in words."""
        return LOSSES[self.loss].words

    def _settings(self) -> dict[str, Any]:
        return {"runs": self.runs, **({"advice": dict(self.advice)} if self.advice else {})}

    def plot(self, path: str | None = None) -> Any:
        """Draw the ranking; see :mod:`warner.results.charts`.

        Args:
            path: a file to save the chart to (.png, .svg, .html or .json); None for none.

        Returns:
            The Altair chart.

        Raises:
            MissingExtraError: the extra 'plot' is not installed.
        """
        picture = ranking({"methods compared": self})
        if path is not None:
            save(picture, path)
        return picture


def compare(
    tally: Tally | Iterable[Tally],
    methods: Sequence[Estimator],
    loss: str = "l2",
    runs: int = 20,
    rng: np.random.Generator | None = None,
    attributes: Sequence[str] | None = None,
) -> Comparison:
    """Rank estimators by their error on tallies that are simulated from an estimate of this one.

        theta_0 = the recommended estimate
        error(m) = mean over runs of loss(m(tally*), theta_0),   tally* of n people from theta_0

    Every estimator gets the same simulated tallies. The truth theta_0 was made by one method,
    and it suits methods that are like it. Differences of a few per cent therefore mean nothing,
    and a method that smooths is tried on a smooth truth.

    The losses, of which MAE is the mean absolute error [P3 sec VII]:

        "l2", "l1"      sums over values of squared and of absolute errors
        "w1"            Wasserstein-1 distance, in values
        "kl", "js"      Kullback-Leibler [P1 eq 7] and Jensen-Shannon [P1 eq 8] divergence, in nats
        "mae_top"       MAE over the tenth of the values that are most common in theta_0
        "mae_mean"      MAE of the mean, in the unit of the values; it ranks SampleMean() too
        "mae_variance"  MAE of the variance, in squared units
        "mae_range"     MAE of the shares of all ranges of a tenth and of four tenths of the values
        "mae_quantile"  MAE of the nine deciles, in the unit of the values

    Variances, quantiles and divergences are of distributions, so estimates outside the simplex are
    first projected on it. "kl" leaves out methods for which it is infinite.

    Args:
        tally: one tally, or several as for :func:`warner.estimate`.
        methods: the estimators to compare, at least one.
        loss: one of the names above. "mae_mean" needs values with coordinates; "w1" and the last
            three need values in an order.
        runs: number of simulated tallies, at least 2.
        rng: the source of the simulated tallies; None for the same tallies at every call.
        attributes: for tallies of several attributes, those whose joint distribution is wanted;
            None for all.

    Returns:
        Comparison: the estimators from the least error to the largest.

    Raises:
        ArgumentError: no method can be used here, or the reports of the tally cannot be simulated.

    Source: [P3 sec VII]; METHODS 5.

    >>> from warner import Categorical, Inversion, RandomizedResponse
    >>> from warner.estimators import Uniform
    >>> coin = RandomizedResponse(Categorical(["a", "b", "c"]), 1.0)
    >>> tally = coin.tally(coin.randomize(["a", "b"] * 500))
    >>> ranking = compare(tally, [Inversion(), Inversion("project"), Uniform()])
    >>> len(ranking.results), ranking.results[0] is ranking.best, ranking.best.excess_error
    (3, True, 0.0)
    """
    measured = LOSSES[choice("loss", loss, tuple(LOSSES))]
    integer("runs", runs, 2)
    if isinstance(methods, Estimator) or not isinstance(methods, Sequence) or not methods:
        raise ArgumentTypeError(
            message(
                "methods",
                "must be a list of estimators",
                kind(methods),
                "For example [MaximumLikelihood(), Inversion()]",
            )
        )
    for method in methods:
        if not isinstance(method, Estimator):
            raise ArgumentTypeError(message("methods", "must all be estimators", kind(method)))
    data = likelihood_data(tally, attributes)
    measured.require(loss, data.domain)
    rng = np.random.default_rng(0) if rng is None else rng
    truth = project(recommended(data.domain, data.channel).fit(data).shares)
    simulated = _simulated(data, truth, runs, rng)
    errors, left_out = {}, {}
    for method in dict.fromkeys(methods):
        try:
            errors[method] = np.array(
                [measured.error(truth, method.fit(each), data.domain) for each in simulated]
            )
        except (ArgumentError, ArgumentTypeError, IdentifiabilityError) as problem:
            left_out[repr(method)] = str(problem)
    if not errors:
        reason = next(iter(left_out.values()))
        raise ArgumentError(message("methods", "cannot be used here, none of them", None, reason))
    against = {repr(method): advice(method, data) for method in errors}
    known = {name: text for name, text in against.items() if text is not None}
    return Comparison(_ranked(errors), loss, data.n, left_out, runs, known)


def _simulated(
    data: LikelihoodData, truth: np.ndarray, runs: int, rng: np.random.Generator
) -> list[LikelihoodData]:
    """Data of tallies like this one, of as many people, simulated from ``truth`` (K,)."""
    drawn = [data.channel.simulate_tally(truth, data.n, rng) for _ in range(runs)]
    return [replace(data, channel=channel, weights=weights) for channel, weights in drawn]


def _ranked(errors: Mapping[Estimator, np.ndarray]) -> tuple[RankedMethod, ...]:
    """Results by mean error, from the errors (runs,) of each method."""
    # Equal errors keep the order in which the methods were named.
    order = sorted(errors, key=lambda method: to_nine_digits(errors[method].mean()))
    best, least = errors[order[0]], np.min(list(errors.values()), axis=0)
    results = []
    for method in order:
        error = errors[method]
        excess = error - best
        margin, excess_margin = (float(v.std(ddof=1) / np.sqrt(len(best))) for v in (error, excess))
        best_share = float((error <= least * (1 + 1e-9) + 1e-15).mean())
        results.append(
            RankedMethod(
                method,
                float(error.mean()),
                margin,
                float(excess.mean()),
                excess_margin,
                best_share,
            )
        )
    return tuple(results)
