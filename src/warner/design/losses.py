"""The losses that methods are compared by: one table for Python and the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from warner import metrics
from warner._core.checks import distribution
from warner._core.errors import ArgumentError, ArgumentTypeError, ValuesError
from warner.domains import Domain
from warner.estimators.fit import Fit
from warner.metrics.simplex import project
from warner.results.summaries import Quantile, cumulative_on

_WIDTHS = (0.1, 0.4)  # shares of the values that a range holds
_DECILES = np.arange(1, 10) / 10
_TOP = 0.1


@dataclass(frozen=True)
class Loss:
    """One way to measure how far an estimate is from the truth.

    Attributes:
        words: the loss in words, with its unit.
        error: a function of the truth (K,), the fit and the domain that returns the loss.
        axes: the requirement on the values: ``"any"``, ``"places"`` (with coordinates) or
            ``"line"``.
        of_mean: whether it is a loss of the mean. Methods without shares can then be compared too.
    """

    words: str
    error: Callable[[np.ndarray, Fit, Domain], float]
    axes: str = "any"
    of_mean: bool = False

    def require(self, name: str, domain: Domain) -> None:
        """Refuse a domain whose values do not meet the requirement of the loss."""
        points = domain.points
        if self.axes == "any" or (
            points is not None and (self.axes == "places" or points.shape[1] == 1)
        ):
            return
        rule = "values in an order" if self.axes == "line" else "values that are numbers or places"
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


def _mean(truth: np.ndarray, fit: Fit, domain: Domain) -> float:
    """The distance of the estimated mean from the true one."""
    points = np.asarray(domain.points)
    if fit.mean is None:
        return metrics.mean_error(truth, fit.shares, points)
    return float(np.linalg.norm(fit.mean.value - truth @ points))


def _variance(truth: np.ndarray, fit: Fit, domain: Domain) -> float:
    """The error of the variance. The spread within bins is the same in both."""
    return metrics.variance_error(truth, _distribution(fit), domain.points)


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
        raise ArgumentError(
            "loss",
            "'kl' is infinite where a method gives the share 0 to a value that people have",
            None,
            "Use 'js', which is always finite",
        )
    return divergence


def _top(truth: np.ndarray, estimate: np.ndarray) -> float:
    return metrics.mean_absolute_error(truth, estimate, top=_TOP)


LOSSES: dict[str, Loss] = {
    "l1": Loss("sum of absolute errors", _of_shares(metrics.l1)),
    "l2": Loss("sum of squared errors", _of_shares(metrics.sum_of_squares)),
    "w1": Loss("Wasserstein-1 distance, in values", _of_shares(metrics.wasserstein1), "line"),
    "kl": Loss("Kullback-Leibler divergence, in nats", _of_distribution(_kl)),
    "js": Loss("Jensen-Shannon divergence, in nats", _of_distribution(metrics.jensen_shannon)),
    "mae_top": Loss(
        "mean absolute error of the tenth of values with most people", _of_shares(_top)
    ),
    "mae_mean": Loss("absolute error of the mean", _mean, "places", of_mean=True),
    "mae_variance": Loss("absolute error of the variance", _variance, "line"),
    "mae_range": Loss("mean absolute error of shares of ranges", _range, "line"),
    "mae_quantile": Loss("mean absolute error of the nine deciles", _quantile, "line"),
}


# -----------------------------------------------------------------------------------------------
# The true distributions of a simulation, from shares or from a column of values.


_SUM = 1e-6  # of shares, which people write with a few digits


def truths_of(truth: Any, domain: Domain) -> dict[str, np.ndarray]:
    """The distributions that an argument means, by name.

    Floats that are as many as the values are shares. Everything else is a column of values, whose
    shares are the truth. Another number of floats that sum to 1 is refused, because it is rather a
    truth of another domain than a few answers.

    Shapes: truth (K,) -> (K,).

    >>> from warner import Categorical
    >>> truths_of(["b", "a", "b", "b"], Categorical(["a", "b"]))
    {'truth': array([0.25, 0.75])}
    >>> truths_of({"even": [0.5, 0.5]}, Categorical(["a", "b"]))
    {'even': array([0.5, 0.5])}
    """
    if not isinstance(truth, Mapping):
        return {"truth": _shares("truth", truth, domain)}
    if not truth:
        raise ArgumentError("truth", "must hold at least one distribution")
    return {str(name): _shares(f"truth {name!r}", each, domain) for name, each in truth.items()}


def _shares(name: str, given: Any, domain: Domain) -> np.ndarray:
    """The shares (K,) of one truth."""
    floats = _floats(given)
    if floats is not None and _are_shares(floats, given, domain):
        shares = distribution(name, floats, domain.size, _SUM)
        return np.asarray(shares / shares.sum())
    return np.bincount(domain.encode(given), minlength=domain.size) / len(given)


def _are_shares(floats: np.ndarray, given: Any, domain: Domain) -> bool:
    """Whether floats are meant as shares, right or wrong ones."""
    if floats.ndim != 1:
        return False
    near = (floats >= 0).all() and abs(floats.sum() - 1) < _SUM
    if near or floats.size in (0, domain.size) or not domain.dimension:
        return True
    try:
        domain.encode(given)
    except ValuesError:  # numbers of the domain, some of which are outside
        return False
    except ArgumentTypeError:  # floats are no values here, so the message is on shares
        return True
    return False


def _floats(given: Any) -> np.ndarray | None:
    """The numbers of an array or a list of floats; None for anything else."""
    if isinstance(given, np.ndarray):
        return given.astype(np.float64) if given.dtype.kind == "f" else None
    if isinstance(given, list | tuple) and all(isinstance(v, float) for v in given):
        return np.array(given, dtype=np.float64)
    return None
