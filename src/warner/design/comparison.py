"""Which method errs least for a question like this one: a ranking by parametric bootstrap."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from warner import metrics
from warner._core.checks import choice, distribution, integer, kind
from warner._core.errors import ArgumentError, ArgumentTypeError, IdentifiabilityError, ValuesError
from warner._core.names import LOSSES_ELSEWHERE, explained
from warner._core.progress import steps
from warner._core.table import Column
from warner.design.charts import ranking
from warner.design.ranking import Ranking, to_nine_digits
from warner.domains import Domain
from warner.estimators import Estimator, Inversion, MaximumLikelihood
from warner.estimators.base import Fit, LikelihoodData
from warner.mechanisms.headers import is_of_package
from warner.metrics import project
from warner.reports.tally import Tally
from warner.results.drawing import finished
from warner.results.from_tally import likelihood_data
from warner.results.recommend import (
    KEYS,
    MEANS,
    SHARES,
    advice,
    compared,
    estimators_of,
    recommended,
)
from warner.results.summaries import Quantile, cumulative_on

_WIDTHS = (0.1, 0.4)  # shares of the values that a range holds
_DECILES = np.arange(1, 10) / 10
_TOP = 0.1


@dataclass(frozen=True)
class Loss:
    """One way to measure how far an estimate is from the truth."""

    words: str  # the loss in words, with its unit
    # A function of the truth (K,), the fit and the domain that returns the loss.
    error: Callable[[np.ndarray, Fit, Domain], float]
    # The requirement on the values: ``"any"``, ``"places"`` (with coordinates) or ``"line"``.
    axes: str = "any"
    # Whether it is a loss of the mean. Methods without shares can then be compared too.
    of_mean: bool = False

    def require(self, name: str, domain: Domain) -> None:
        """Refuse a domain whose values do not meet the requirement of the loss."""
        points = domain.points
        if self.axes == "any" or (
            points is not None and (self.axes == "places" or points.shape[1] == 1)
        ):
            return
        rule = (
            "values that have an order"
            if self.axes == "line"
            else "values that are numbers or places"
        )
        raise ArgumentError(
            "loss", f"{name!r} needs {rule}", type(domain).__name__, "Use 'l1' or 'l2'"
        )


def _of_shares(
    function: Callable[[np.ndarray, np.ndarray], float],
) -> Callable[[np.ndarray, Fit, Domain], float]:
    """A loss of the shares as estimated, which may lie outside the simplex."""
    return lambda truth, fit, domain: function(truth, fit.shares)


def _of_distribution(
    function: Callable[[np.ndarray, np.ndarray], float],
) -> Callable[[np.ndarray, Fit, Domain], float]:
    """A loss of the shares, projected on the simplex where they lie outside."""
    return lambda truth, fit, domain: function(truth, _distribution(fit))


def _distribution(fit: Fit) -> np.ndarray:
    """The estimated shares; outside the simplex, their projection."""
    shares = fit.shares
    inside = (shares >= 0).all() and abs(shares.sum() - 1) <= 1e-9
    return shares if inside else project(shares)


def _mean_error(truth: np.ndarray, fit: Fit, domain: Domain) -> float:
    """The distance of the estimated mean from the true one."""
    points = np.asarray(domain.points)
    if fit.mean is None:
        return metrics.mean_error(truth, fit.shares, points)
    return float(np.linalg.norm(fit.mean.value - truth @ points))


def _wasserstein(truth: np.ndarray, fit: Fit, domain: Domain) -> float:
    """The Wasserstein-1 distance of two distributions: labels are 1 apart, bins their width."""
    return metrics.wasserstein1(truth, fit.shares, domain.bin_width or 1.0)


def _cumulative_error(truth: np.ndarray, fit: Fit, domain: Domain) -> float:
    """The sum over the steps of the distribution function of its squared errors."""
    difference = (fit.shares - truth)[cumulative_on(domain).order]
    return float(np.square(np.cumsum(difference)[:-1]).sum())


def _range(truth: np.ndarray, fit: Fit, domain: Domain) -> float:
    """The mean error of ranges of a tenth and of four tenths of the values [P3 sec VI-D]."""
    order = cumulative_on(domain).order
    truth, shares = truth[order], fit.shares[order]
    return float(np.mean([metrics.range_error(truth, shares, width) for width in _WIDTHS]))


def _quantile(truth: np.ndarray, fit: Fit, domain: Domain) -> float:
    """The mean error of the nine deciles, interpolated within bins."""
    line, shares = cumulative_on(domain), _distribution(fit)
    quantiles = [Quantile(line, float(q)) for q in _DECILES]
    return float(np.mean([abs(each(truth)[0] - each(shares)[0]) for each in quantiles]))


def _kl(truth: np.ndarray, estimate: np.ndarray) -> float:
    """The divergence, refused where it is infinite."""
    divergence = metrics.kullback_leibler(truth, estimate)
    if not np.isfinite(divergence):
        rule = "'kl' is infinite where a method gives the share 0 to a value that people have"
        remedy = "Use 'js', which is always finite"
        raise ArgumentError("loss", rule, None, remedy)
    return divergence


LOSSES: dict[str, Loss] = {
    "l1": Loss("sum of absolute errors", _of_shares(metrics.l1)),
    "l2": Loss("sum of squared errors", _of_shares(metrics.sum_of_squares)),
    "mae": Loss("mean absolute error of a share", _of_shares(metrics.mean_absolute_error)),
    "mse": Loss("mean squared error of a share", _of_shares(metrics.mean_squared_error)),
    "max": Loss("largest absolute error", _of_shares(lambda p, q: float(np.abs(p - q).max()))),
    "w1": Loss(
        "Wasserstein-1 distance, in the unit of the values",
        _wasserstein,
        "line",
    ),
    "cdf": Loss("sum of squared errors of the distribution function", _cumulative_error, "line"),
    "kl": Loss("Kullback-Leibler divergence, in nats", _of_distribution(_kl)),
    "js": Loss("Jensen-Shannon divergence, in nats", _of_distribution(metrics.jensen_shannon)),
    "mae_top": Loss(
        "mean absolute error of the tenth of values with most people",
        _of_shares(partial(metrics.mean_absolute_error, top=_TOP)),
    ),
    "mae_mean": Loss("absolute error of the mean", _mean_error, "places", of_mean=True),
    "mse_mean": Loss(
        "squared error of the mean",
        lambda truth, fit, domain: _mean_error(truth, fit, domain) ** 2,
        "places",
        of_mean=True,
    ),
    "mae_variance": Loss(
        "absolute error of the variance",
        # The spread within bins is the same in both.
        lambda truth, fit, domain: metrics.variance_error(truth, _distribution(fit), domain.points),
        "line",
    ),
    "mae_range": Loss("mean absolute error of shares of ranges", _range, "line"),
    "mae_quantile": Loss("mean absolute error of the nine deciles", _quantile, "line"),
}


# -----------------------------------------------------------------------------------------------
# The true distributions of a simulation, from shares or from a column of values.


_SUM = 1e-6  # of shares, which people write with a few digits


def truths_of(truth: Any, domain: Domain) -> dict[str, np.ndarray]:
    """The distributions (K,) that an argument means, by name: shares, or a column of values.

    >>> from warner import Categorical
    >>> truths_of(["b", "a", "b", "b"], Categorical(["a", "b"]))
    {'truth': array([0.25, 0.75])}
    >>> truths_of({"even": [0.5, 0.5]}, Categorical(["a", "b"]))
    {'even': array([0.5, 0.5])}
    """
    if not isinstance(truth, Mapping):
        return {"truth": _shares("truth", truth, domain)}
    if not truth:
        raise ArgumentError("truth", "must not be empty", None, "Pass at least one list of shares")
    return {str(name): _shares(f"truth {name!r}", each, domain) for name, each in truth.items()}


def _shares(name: str, given: Any, domain: Domain) -> np.ndarray:
    """The shares (K,) of one truth."""
    if not hasattr(given, "__len__"):
        rule = "must be a list of shares, or of answers"
        remedy = (
            "Pass one share for each answer, in the order of the domain, such as [0.5, 0.3, 0.2]. "
            "To compare several such lists, pass a dict with a name for each list"
        )
        raise ArgumentTypeError(name, rule, kind(given), remedy)
    floats = _floats(given)
    if floats is not None and _are_shares(floats, given, domain):
        shares = distribution(name, floats, domain.size, _SUM)
        return np.asarray(shares / shares.sum())
    if len(given) == domain.size and _are_counts(given):
        rule = f"has {domain.size} whole numbers, which could be answers or counts"
        remedy = "Pass the shares of the values: divide their counts by the number of people"
        raise ArgumentError(name, rule, None, remedy)
    return np.bincount(domain.encode(given), minlength=domain.size) / len(given)


def _are_counts(given: Any) -> bool:
    """Whether all of them are whole numbers."""
    listed = given.tolist() if isinstance(given, np.ndarray) else list(given)
    return all(isinstance(each, int) and not isinstance(each, bool) for each in listed)


def _are_shares(floats: np.ndarray, given: Any, domain: Domain) -> bool:
    """Whether floats are meant as shares, right or wrong ones."""
    if floats.ndim != 1:
        return False
    near = (floats >= 0).all() and abs(floats.sum() - 1) < _SUM
    if near or floats.size in (0, domain.size) or not domain.dimension:
        return True
    try:
        domain.encode(given)
    except ValuesError:  # numbers of the domain, some of which are outside, or too few shares
        return bool(((floats >= 0) & (floats <= 1)).all() and (floats % 1).any())
    except ArgumentTypeError:  # floats are no values here, so the message is on shares
        return True
    return False


def _floats(given: Any) -> np.ndarray | None:
    """The numbers of an array, a column of a frame or a list with floats; None for all else."""
    if hasattr(given, "to_numpy"):
        given = given.to_numpy()
    if isinstance(given, np.ndarray):
        return given.astype(np.float64) if given.dtype.kind == "f" else None
    if isinstance(given, list | tuple):
        types = {type(each) for each in given}
        if types <= {float, np.float64, int} and types != {int}:  # [0.7, 0.3, 0] are shares
            return np.array(given, dtype=np.float64)
    return None


# -----------------------------------------------------------------------------------------------
# Which method errs least for a question like this one: a ranking by parametric bootstrap.

# The largest domain on which the maximum of the likelihood and the inversion serve as truths; both
# may take seconds beyond.
_LARGEST_MAXIMUM = 1000
_SAME = 1e-3  # sum of absolute differences below which two truths are one


@dataclass(frozen=True)
class RankedMethod:
    """One estimator in a comparison.

    Attributes:
        method: the estimator.
        error: mean loss over the simulated tallies.
        standard_error: standard error of that mean.
        excess_error: mean over the same tallies of its loss minus that of the best method.
        excess_standard_error: standard error of that mean; both are 0 for the best method.
        best_share: share of the tallies on which no other method has a smaller loss.
        holds: share of the truths on which its mean loss is not less than that of the best method.
            Of the best method, the share of the truths on which no other has a smaller mean loss.
    """

    method: Estimator
    error: float
    standard_error: float
    excess_error: float
    excess_standard_error: float
    best_share: float
    holds: float = 1.0

    def row(self) -> dict[str, Any]:
        """The result as a dict: the attributes, with the method by its name."""
        return {**vars(self), "method": repr(self.method)}


@dataclass(frozen=True)
class Truth:
    """A distribution that tallies were simulated from, or several of one kind."""

    name: str  # where it comes from, in words
    runs: int  # number of simulated tallies
    errors: Mapping[str, float]  # {method: mean loss}, from the least to the largest


@dataclass(frozen=True, repr=False)
class Comparison(Ranking[RankedMethod]):
    """Estimators from the least error to the largest.

    Attributes:
        runs: number of simulated tallies.
        advice: {method: text}, what speaks against a method for these reports.
        truths: the truths, with the errors on each.
        results, loss, n, left_out: see :class:`warner.design.ranking.Ranking`.
    """

    COLUMNS = (
        Column("method"),
        Column("error", unit="number"),
        Column("standard_error", "standard error", "number"),
        Column("excess_error", "more than the best", "number", 1),
        Column("excess_standard_error", "its standard error", "number", 1),
        Column("best_share", "best on", "share", 2, decimals=0),
        Column("holds", "order holds on", "share", 2, decimals=0),
    )

    runs: int
    advice: Mapping[str, str]
    truths: tuple[Truth, ...]

    @property
    def loss_name(self) -> str:
        """The loss in words."""
        return LOSSES[self.loss].words

    def _title(self) -> str:
        of_people = f"{self.n:,} report{'s' * (self.n != 1)}"
        if len(self.truths) == 1:
            return f"{self.loss_name}, mean over {self.runs} simulated surveys of {of_people}"
        each = " + ".join(str(truth.runs) for truth in self.truths)
        return (
            f"{self.loss_name}, mean over {len(self.truths)} distributions of answers, from which "
            f"{each} surveys of {of_people} were simulated"
        )

    def _notes(self) -> list[str]:
        least = [(truth, next(iter(truth.errors))) for truth in self.truths]
        return [
            "Column 'best on': the share of surveys in which no other method has a smaller error. "
            "Column 'order holds on': the share of distributions for which the method of the first "
            "row is at least as good as the method of this row. In the first row, it is the share "
            "for which its method is at least as good as every other method.",
            *(
                f'If the distribution is "{t.name}", the method {name} has the smallest error: '
                f"{t.errors[name]:.4g}."
                for t, name in least
            ),
            *(f"Not advised. {text}" for text in self.advice.values()),
        ]

    def _excess(self, result: RankedMethod) -> tuple[float, float]:
        return result.excess_error, result.excess_standard_error

    @explained
    def plot(self, path: str | None = None) -> Any:
        """Draw the ranking; see :mod:`warner.results.charts`.

        Args:
            path: a file to save the chart to (.png, .svg, .pdf, .html or .json); None for none.

        Returns:
            The Altair chart.

        Raises:
            MissingExtraError: the extra 'plot' is not installed.
        """
        return finished(ranking({"methods compared": self}), lambda: [self.table()], path)


def compare(
    tally: Tally | Iterable[Tally],
    methods: Sequence[Estimator | str] | Literal["all"] | None = None,
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
        "cdf"           sum of squared errors of the distribution function
        "kl", "js"      Kullback-Leibler [P1 eq 7] and Jensen-Shannon [P1 eq 8] divergence, in nats
        "mae_top"       MAE over the tenth of the values that are most common in theta
        "mae_mean"      MAE of the mean, in the unit of the values; it ranks SampleMean() too
        "mse_mean"      mean squared error of the mean, in squared units; so does it
        "mae_variance"  MAE of the variance, in squared units
        "mae_range"     MAE of the shares of all ranges of a tenth and of four tenths of the values
        "mae_quantile"  MAE of the nine deciles, in the unit of the values

    Variances, quantiles and divergences are of distributions, so estimates outside the simplex are
    first projected on it. "kl" leaves out methods for which it is infinite.

    Args:
        tally: one tally, or several as for :func:`warner.estimate`.
        methods: the estimators to compare, at least one: objects, or names such as ``"mle"``. None
            for the usual ones, as :func:`usual_methods` lists them; ``"all"`` for every method
            that has a name, also those that only papers use.
        loss: one of the names above. "mae_mean" and "mse_mean" need values with coordinates; "w1",
            "cdf" and the last three need values in an order.
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

    Source: [P3 sec VII]; METHODS 5 and 6b.

    >>> from warner import Categorical, Inversion, RandomizedResponse
    >>> from warner.estimators import Uniform
    >>> coin = RandomizedResponse(Categorical(["a", "b", "c"]), 1.0)
    >>> tally = coin.tally(coin.randomize(["a", "b"] * 500))
    >>> ranking = compare(tally, [Inversion(), Inversion("project"), Uniform()])
    >>> len(ranking.results), ranking.results[0] is ranking.best, ranking.best.excess_error
    (3, True, 0.0)
    """
    measured = LOSSES[choice("loss", loss, tuple(LOSSES), LOSSES_ELSEWHERE)]
    integer("runs", runs, 2)
    if not isinstance(tally, Tally) and isinstance(tally, Iterable):
        tally = list(tally)
    data = likelihood_data(tally, attributes)
    if methods is None:
        methods = usual_methods(tally if isinstance(tally, Tally) else next(iter(tally)), loss)
    elif methods == "all":
        methods = compared(None)
    chosen = estimators_of(methods)
    measured.require(loss, data.domain)
    rng = np.random.default_rng(0) if rng is None else rng
    if truth is None:
        truths = _truths(data, runs, rng)
    else:
        truths = {
            name: np.tile(shares, (runs, 1))
            for name, shares in truths_of(truth, data.domain).items()
        }
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
        name, reason = next(iter(left_out.items()))
        remedy = f"The problem with {name} is: {reason.removesuffix('.')}"
        raise ArgumentError("methods", "none of them can be used with this tally", None, remedy)
    advised = {repr(each): text for each in errors if (text := advice(each, data)) is not None}
    shown = tuple(
        Truth(name, len(each), _by_error({m: float(errors[m][i].mean()) for m in errors}))
        for i, (name, each) in enumerate(truths.items())
    )
    settings = {
        "runs": len(every),
        "truths": [vars(each) | {"errors": dict(each.errors)} for each in shown],
        **({"advice": advised} if advised else {}),
    }
    return Comparison(
        _ranked(errors), loss, data.n, left_out, len(every), advised, shown, settings=settings
    )


def usual_methods(tally: Tally, loss: str = "l2") -> tuple[str, ...]:
    """The names of the methods that are compared where none is named.

    >>> from warner import Categorical, RandomizedResponse
    >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    >>> usual_methods(coin.tally(coin.randomize(["no"])))[:3]
    ('inversion', 'project', 'norm-cut')
    """
    kind = KEYS if tally.header.get("mechanism") == "KeyValue" else SHARES
    return compared({kind, MEANS} if LOSSES[loss].of_mean else {kind})


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


def _mean(errors: Sequence[np.ndarray]) -> float:
    """The mean over truths of the mean over tallies."""
    return float(np.mean([each.mean() for each in errors]))


def _margin(errors: Sequence[np.ndarray]) -> float:
    """The standard error of :func:`_mean`, the truths taken as given."""
    return float(np.sqrt(sum(each.var(ddof=1) / each.size for each in errors)) / len(errors))


def _ranked(errors: Mapping[Estimator, list[np.ndarray]]) -> tuple[RankedMethod, ...]:
    """Results by mean error, from the errors (runs,) of each method on each truth."""
    # Equal errors keep the order in which the methods were named.
    order = sorted(errors, key=lambda method: to_nine_digits(_mean(errors[method])))
    best, count = errors[order[0]], len(errors[order[0]])
    least = [np.min([errors[method][i] for method in order], axis=0) for i in range(count)]
    results = []
    for method in order:
        error = errors[method]
        excess = [losses - first for losses, first in zip(error, best, strict=True)]
        wins = [each <= low * (1 + 1e-9) + 1e-15 for each, low in zip(error, least, strict=True)]
        # The best method is compared with all others, and each other with the best.
        rivals = order[1:] if method is order[0] else order[:1]
        sign = 1 if method is order[0] else -1
        is_kept = [
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
                max(_mean(excess), 0.0),  # without the rounding of equal errors
                _margin(excess),
                _mean([won.astype(np.float64) for won in wins]),
                float(np.mean(is_kept)),
            )
        )
    return tuple(results)
