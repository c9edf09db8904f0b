"""Which method errs least for a question like this one: a ranking by parametric bootstrap."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from warner._core import html
from warner._core.checks import choice, integer
from warner._core.errors import ArgumentError, ArgumentTypeError, IdentifiabilityError
from warner._core.progress import steps
from warner.design.losses import LOSSES, truths_of
from warner.estimators import Estimator, Inversion, MaximumLikelihood
from warner.estimators.likelihood_data import LikelihoodData
from warner.io.csv_format import Tabular, cell
from warner.mechanisms.headers import is_of_package
from warner.metrics.simplex import project
from warner.reports.tally import Tally
from warner.results.charts import ranking, save
from warner.results.from_tally import likelihood_data
from warner.results.recommend import advice, estimators_of, recommended

# -----------------------------------------------------------------------------------------------
# Rankings: results from the least error to the largest, as objects, rows and JSON.


class Ranked(Protocol):
    """One result of a ranking."""

    @property
    def error(self) -> float: ...

    def row(self) -> dict[str, Any]: ...


Result = TypeVar("Result", bound=Ranked)


@dataclass(frozen=True, repr=False)
class Ranking(Tabular, Generic[Result]):
    """Results from the least error to the largest.

    Attributes:
        results: one or more, sorted by error.
        loss: the name of the loss that ``error`` is a mean of, such as ``"l2"``.
        n: number of people.
        left_out: {name: reason}, the candidates that cannot be used here.
    """

    results: tuple[Result, ...]
    loss: str
    n: int
    left_out: Mapping[str, str]

    @property
    def best(self) -> Result:
        """The result with the least error."""
        return self.results[0]

    def rows(self) -> list[dict[str, Any]]:
        """One dict for each result, in the order of the ranking."""
        return [result.row() for result in self.results]

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def __repr__(self) -> str:
        first = next(iter(self.rows()[0].values()))
        return (
            f"{type(self).__name__}({len(self)} ranked by {self.loss}, n={self.n}, "
            f"best: {first}, error={self.best.error:.4g})"
        )

    def _repr_html_(self) -> str:
        rows = self.rows()
        margins = [2 * float(row.get("margin") or 0.0) for row in rows]
        # A column that says nothing of any result is left out: people that nobody asked for.
        names = [name for name in rows[0] if any(row[name] for row in rows)]
        ends = [result.error + margin for result, margin in zip(self, margins, strict=True)]
        largest = max([end for end in ends if math.isfinite(end)], default=0.0) or 1.0
        cells = []
        for result, row, margin in zip(self, rows, margins, strict=True):
            error = min(result.error, largest)
            bar = html.interval_bar(error, error - margin, error + margin, largest)
            cells.append([*(cell(row[name]) for name in names), bar])
        out = "".join(f" Left out: {name}, {why}." for name, why in self.left_out.items())
        caption = (
            f"Mean {self.loss} error for {self.n:,} people, from the least to the largest. The "
            f"pictures show it with two standard errors.{out}"
        )
        return html.table([*names, ""], cells, caption)

    def to_json(self) -> dict[str, Any]:
        """The ranking as JSON data: loss, n, settings, results and left_out."""
        return {
            "loss": self.loss,
            "n": self.n,
            **self._settings(),
            "results": self.rows(),
            "left_out": dict(self.left_out),
        }

    def _settings(self) -> dict[str, Any]:
        """What this kind of ranking adds to its JSON data."""
        return {}


def to_nine_digits(error: float) -> float:
    """Round an error to nine digits, to sort by it.

    Errors that differ by rounding errors alone are then equal on every machine.

    >>> to_nine_digits(0.1 + 0.2) == to_nine_digits(0.3)
    True
    """
    return float(f"{error:.9g}")


# The largest domain on which the maximum of the likelihood and the inversion serve as truths; both
# may take seconds beyond.
_LARGEST_MAXIMUM = 1000
_SAME = 1e-3  # sum of absolute differences below which two truths are one


# The methods that are compared where none is named: for keys with values, and for the rest.
_USUAL_KEYS = ("pckv", "per-key", "mle", "em:auto")
_USUAL = (
    "inversion",
    "project",
    "base-cut",
    "threshold",
    "mle",
    "em:100",
    "em:auto",
    "eb",
    "spline",
    "uniform",
)


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
        holds: share of the truths on which its mean loss is not less than that of the best method.
            Of the best method, the share of the truths on which no other has a smaller mean loss.
    """

    method: Estimator
    error: float
    margin: float
    excess_error: float
    excess_margin: float
    best_share: float
    holds: float = 1.0

    def row(self) -> dict[str, Any]:
        """The result as a dict: the attributes, with the method by its name."""
        return {**vars(self), "method": repr(self.method)}


@dataclass(frozen=True)
class Truth:
    """A distribution that tallies were simulated from, or several of one kind.

    Attributes:
        name: where it comes from, in words.
        runs: number of simulated tallies.
        errors: {method: mean loss}, from the least to the largest.
    """

    name: str
    runs: int
    errors: Mapping[str, float]


@dataclass(frozen=True, repr=False)
class Comparison(Ranking[RankedMethod]):
    """Estimators from the least error to the largest.

    Attributes:
        runs: number of simulated tallies.
        advice: {method: text}, what speaks against a method for these reports.
        truths: the truths, with the errors on each.
        results, loss, n, left_out: see :class:`warner.design.comparison.Ranking`.
    """

    runs: int
    advice: Mapping[str, str] = field(default_factory=dict)
    truths: tuple[Truth, ...] = ()

    @property
    def loss_name(self) -> str:
        """The loss in words."""
        return LOSSES[self.loss].words

    def __repr__(self) -> str:
        found = super().__repr__()
        return f"{found[:-1]}, left_out={len(self.left_out)})" if self.left_out else found

    def _settings(self) -> dict[str, Any]:
        return {
            "runs": self.runs,
            "truths": [vars(truth) | {"errors": dict(truth.errors)} for truth in self.truths],
            **({"advice": dict(self.advice)} if self.advice else {}),
        }

    def plot(self, path: str | None = None) -> Any:
        """Draw the ranking; see :mod:`warner.results.charts`.

        Args:
            path: a file to save the chart to (.png, .svg, .pdf, .html or .json); None for none.

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
    methods: Sequence[Estimator | str] | None = None,
    loss: str = "l2",
    runs: int = 20,
    rng: np.random.Generator | None = None,
    attributes: Sequence[str] | None = None,
    truth: Any = None,
) -> Comparison:
    """Rank estimators by their error on tallies simulated from plausible truths.

        error(m) = mean over truths theta of mean over runs of loss(m(tally*), theta)

    tally* is of n people drawn from theta. Every estimator gets the same simulated tallies. The
    truths are

    - the recommended estimate. If it is smooth or shrunk, it suits methods that smooth or shrink;
    - draws from its posterior, another one for each tally, where it has a posterior;
    - the projected inversion, which is rougher than the true distribution probably is. Not where it
      is badly conditioned, see :mod:`warner.results.recommend`;
    - the maximum of the likelihood, up to 1000 values.

    A truth that is nearly one of the others is left out. ``holds`` of each result says on which
    part of the truths the order is that of the ranking, and ``truths`` has the errors on each.
    Differences of a few per cent mean nothing.

    The losses, of which MAE is the mean absolute error [P3 sec VII]:

        "l2", "l1"      sums over values of squared and of absolute errors
        "w1"            Wasserstein-1 distance, in values
        "kl", "js"      Kullback-Leibler [P1 eq 7] and Jensen-Shannon [P1 eq 8] divergence, in nats
        "mae_top"       MAE over the tenth of the values that are most common in theta
        "mae_mean"      MAE of the mean, in the unit of the values; it ranks SampleMean() too
        "mae_variance"  MAE of the variance, in squared units
        "mae_range"     MAE of the shares of all ranges of a tenth and of four tenths of the values
        "mae_quantile"  MAE of the nine deciles, in the unit of the values

    Variances, quantiles and divergences are of distributions, so estimates outside the simplex are
    first projected on it. "kl" leaves out methods for which it is infinite.

    Args:
        tally: one tally, or several as for :func:`warner.estimate`.
        methods: the estimators to compare, at least one: objects, or names such as ``"mle"``. None
            for the usual ones, as :func:`usual_methods` lists them.
        loss: one of the names above. "mae_mean" needs values with coordinates; "w1" and the last
            three need values in an order.
        runs: number of tallies simulated from the recommended estimate, at least 2. From each
            other truth it is a third of them, at least 2. From a given truth it is all of them.
        rng: the source of the simulated tallies; None for the same tallies at every call.
        attributes: for tallies of several attributes, those whose joint distribution is wanted;
            None for all.
        truth: the distribution to simulate from in place of the truths above: (K,) shares, a column
            of values, or several by name, as for :func:`warner.benchmark`. The tally then says only
            which mechanism, and how many people there are.

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
    if not isinstance(tally, Tally) and isinstance(tally, Iterable):
        tally = list(tally)
    data = likelihood_data(tally, attributes)
    if methods is None:
        methods = usual_methods(tally if isinstance(tally, Tally) else next(iter(tally)), loss)
    chosen = estimators_of(methods)
    measured.require(loss, data.domain)
    rng = np.random.default_rng(0) if rng is None else rng
    given = None if truth is None else truths_of(truth, data.domain)
    if given is None:
        truths = _truths(data, runs, rng)
    else:
        truths = {name: np.tile(shares, (runs, 1)) for name, shares in given.items()}
    every = np.concatenate(list(truths.values()))
    simulated = list(zip(every, _simulated(data, every, rng), strict=True))
    ends = np.cumsum([len(each) for each in truths.values()])[:-1]
    errors: dict[Estimator, list[np.ndarray]] = {}
    left_out = {}
    for method in steps(dict.fromkeys(chosen), "comparing methods"):
        try:
            losses = [
                measured.error(truth, method.fit(each), data.domain)
                for truth, each in steps(simulated, "estimating")
            ]
            errors[method] = np.split(np.array(losses), ends)
        except (ArgumentError, ArgumentTypeError, IdentifiabilityError) as problem:
            left_out[repr(method)] = str(problem)
        except Exception as problem:
            if is_of_package(type(method)):
                raise
            left_out[repr(method)] = f"raised {type(problem).__name__}: {problem}"
    if not errors:
        reason = next(iter(left_out.values()))
        raise ArgumentError("methods", "cannot be used here, none of them", None, reason)
    against = {repr(method): advice(method, data) for method in errors}
    known = {name: text for name, text in against.items() if text is not None}
    total = sum(map(len, truths.values()))
    shown = tuple(
        Truth(name, len(each), _by_error({m: float(errors[m][i].mean()) for m in errors}))
        for i, (name, each) in enumerate(truths.items())
    )
    return Comparison(_ranked(errors), loss, data.n, left_out, total, known, shown)


def usual_methods(tally: Tally, loss: str = "l2") -> tuple[str, ...]:
    """The names of the methods that are compared where none is named.

    >>> from warner import Categorical, RandomizedResponse
    >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    >>> usual_methods(coin.tally(coin.randomize(["no"])))[:3]
    ('inversion', 'project', 'base-cut')
    """
    usual = _USUAL_KEYS if tally.header.get("mechanism") == "KeyValue" else _USUAL
    return (*usual, *(("mean",) if LOSSES[loss].of_mean else ()))


def _truths(data: LikelihoodData, runs: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """The plausible truths, (tallies, K) distributions for each kind, by their names."""
    fit = recommended(data.domain, data.channel).fit(data)
    first = project(fit.shares)
    few = max(2, runs // 3)
    truths = {"the recommended estimate": np.tile(first, (runs, 1))}
    for name, method in (
        ("the projected inversion", Inversion("project")),
        ("the maximum of the likelihood", MaximumLikelihood()),
    ):
        if advice(method, data) is not None or data.domain.size > _LARGEST_MAXIMUM:
            continue
        try:
            shares = project(method.fit(data).shares)
        except (ArgumentError, IdentifiabilityError):
            continue
        others = [each[0] for each in truths.values()]
        if all(np.abs(shares - other).sum() > _SAME for other in others):
            truths[name] = np.tile(shares, (few, 1))
    if fit.posterior is not None:
        truths["draws from the posterior of the recommended estimate"] = fit.posterior.draws(
            few, rng
        )
    return truths


def _simulated(
    data: LikelihoodData, truths: np.ndarray, rng: np.random.Generator
) -> list[LikelihoodData]:
    """Data of tallies like this one, of as many people, one from each of the truths (R, K)."""
    drawn = [data.channel.simulate_tally(truth, data.n, rng) for truth in truths]
    return [replace(data, channel=channel, weights=weights) for channel, weights in drawn]


def _by_error(means: Mapping[Estimator, float]) -> dict[str, float]:
    """Methods by name, from the least mean loss to the largest."""
    order = sorted(means, key=lambda method: to_nine_digits(means[method]))
    return {repr(method): means[method] for method in order}


def _mean(parts: Sequence[np.ndarray]) -> float:
    """The mean over truths of the mean over tallies."""
    return float(np.mean([part.mean() for part in parts]))


def _margin(parts: Sequence[np.ndarray]) -> float:
    """The standard error of :func:`_mean`, the truths taken as given."""
    return float(np.sqrt(sum(part.var(ddof=1) / part.size for part in parts)) / len(parts))


def _ranked(errors: Mapping[Estimator, list[np.ndarray]]) -> tuple[RankedMethod, ...]:
    """Results by mean error, from the errors (runs,) of each method on each truth."""
    # Equal errors keep the order in which the methods were named.
    order = sorted(errors, key=lambda method: to_nine_digits(_mean(errors[method])))
    best, count = errors[order[0]], len(errors[order[0]])
    least = [np.min([errors[method][i] for method in order], axis=0) for i in range(count)]
    results = []
    for method in order:
        error = errors[method]
        excess = [own - first for own, first in zip(error, best, strict=True)]
        wins = [(own <= low * (1 + 1e-9) + 1e-15) for own, low in zip(error, least, strict=True)]
        # The best method is compared with all others, and each other with the best.
        rivals = order[1:] if method is order[0] else order[:1]
        sign = 1 if method is order[0] else -1
        kept = [
            all(
                sign * (to_nine_digits(error[i].mean()) - to_nine_digits(errors[m][i].mean())) <= 0
                for m in rivals
            )
            for i in range(count)
        ]
        results.append(
            RankedMethod(
                method,
                _mean(error),
                _margin(error),
                _mean(excess),
                _margin(excess),
                _mean([won.astype(np.float64) for won in wins]),
                float(np.mean(kept)),
            )
        )
    return tuple(results)
