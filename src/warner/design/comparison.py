"""Which method errs least for a question like this one: a ranking by parametric bootstrap."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from warner import metrics
from warner._core.checks import choice, integer, kind
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    IdentifiabilityError,
    message,
)
from warner.estimators import Estimator
from warner.metrics.simplex import project
from warner.reports.tally import Tally
from warner.results.charts import ranking, save
from warner.results.from_tally import likelihood_data
from warner.results.recommend import recommended

LOSSES = {
    "l2": ("sum of squared errors", metrics.sum_of_squares),
    "l1": ("sum of absolute errors", metrics.l1),
    "w1": ("Wasserstein-1, in values", metrics.wasserstein1),
}


@dataclass(frozen=True)
class Line:
    """One method in a comparison.

    Attributes:
        method: the estimator.
        error: mean loss over the simulated tallies.
        margin: standard error of that mean.
        behind: mean by which it errs more than the best method on the same tallies, and ``behind_margin`` its standard error; 0 for the best.
        wins: share of the tallies on which no other method erred less.
    """

    method: Estimator
    error: float
    margin: float
    behind: float
    behind_margin: float
    wins: float


@dataclass(frozen=True)
class Comparison:
    """Methods from the least error to the largest.

    Attributes:
        lines: sorted by error.
        loss, runs, n: what was measured, how often, and with how many people.
        left_out: {method: why} of those that cannot be used here.
    """

    lines: tuple[Line, ...]
    loss: str
    runs: int
    n: int
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def loss_name(self) -> str:
        """The loss in words."""
        return LOSSES[self.loss][0]

    @property
    def best(self) -> Line:
        return self.lines[0]

    def rows(self) -> list[dict[str, Any]]:
        """One dict per method."""
        names = ("error", "margin", "behind", "behind_margin", "wins")
        return [
            {"method": repr(line.method), **{name: getattr(line, name) for name in names}}
            for line in self.lines
        ]

    def to_json(self) -> dict[str, Any]:
        """The comparison as JSON data."""
        return {
            "loss": self.loss,
            "runs": self.runs,
            "n": self.n,
            "methods": self.rows(),
            "left_out": dict(self.left_out),
        }

    def plot(self, path: str | None = None) -> Any:
        """A chart of the ranking, saved to ``path`` (.png, .svg, .html, .json) if given: see :mod:`warner.results.charts`."""
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
    """Rank methods by their error on tallies simulated from an estimate of this one.

        theta_0 = recommended estimate;   error(m) = mean over runs of loss(m(tally* ~ theta_0, n), theta_0)

    Every method sees the same simulated tallies. A truth that one method made suits methods like it: differences of a few per cent say
    nothing, and a method that smooths is judged on a smooth truth.

    Args:
        tally: as for :func:`warner.estimate`.
        methods: estimators to compare, at least one.
        loss: ``"l2"``, ``"l1"``, or for values in order ``"w1"``.
        runs: how many tallies are simulated.
        rng: None for the same ones at every call.
        attributes: of tallies of tuples, which attributes' joint distribution; None for all.

    Raises:
        ArgumentError: no method can be used, or a tally whose reports cannot be simulated.

    Source: [P3 sec VII]; METHODS 5.

    >>> from warner import Categorical, Inversion, RandomizedResponse
    >>> from warner.estimators import Uniform
    >>> coin = RandomizedResponse(Categorical(["a", "b", "c"]), 1.0)
    >>> found = compare(coin.tally(coin.randomize(["a", "b"] * 50)), [Inversion(), Uniform()])
    >>> sorted(repr(line.method) for line in found.lines)
    ['Inversion(constraint=None)', 'Uniform()']
    """
    choice("loss", loss, tuple(LOSSES))
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
    points = data.domain.points
    if loss == "w1" and (points is None or points.shape[1] != 1):
        raise ArgumentError(
            message(
                "loss",
                "'w1' needs values in an order",
                type(data.domain).__name__,
                "Use 'l1' or 'l2'",
            )
        )
    rng = np.random.default_rng(0) if rng is None else rng
    truth = project(recommended(data.domain, data.channel).fit(data).shares)
    redrawn = [data.channel.simulate_tally(truth, data.n, rng) for _ in range(runs)]
    drawn = [replace(data, channel=channel, weights=weights) for channel, weights in redrawn]
    errors, left_out = {}, {}
    for method in dict.fromkeys(methods):
        try:
            errors[method] = np.array(
                [LOSSES[loss][1](method.fit(each).shares, truth) for each in drawn]
            )
        except (ArgumentError, ArgumentTypeError, IdentifiabilityError) as problem:
            left_out[repr(method)] = str(problem)
    if not errors:
        raise ArgumentError(
            message(
                "methods", "cannot be used here, none of them", None, next(iter(left_out.values()))
            )
        )
    return Comparison(_ranked(errors), loss, runs, data.n, left_out)


def _ranked(errors: Mapping[Estimator, np.ndarray]) -> tuple[Line, ...]:
    """Methods by mean error over the runs (runs,) of each."""
    # Errors that differ by rounding alone are equal: then the method named first stands first, on every machine.
    order = sorted(errors, key=lambda m: float(f"{errors[m].mean():.9g}"))
    best, least = errors[order[0]], np.min(list(errors.values()), axis=0)
    runs = len(best)
    lines = []
    for method in order:
        found = errors[method]
        behind = found - best
        margins = [float(v.std(ddof=1) / np.sqrt(runs)) for v in (found, behind)]
        wins = float((found <= least * (1 + 1e-9) + 1e-15).mean())
        lines.append(
            Line(method, float(found.mean()), margins[0], float(behind.mean()), margins[1], wins)
        )
    return tuple(lines)
