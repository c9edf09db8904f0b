"""Intervals of means, variances, quantiles and ranges hold the truth as often as they say. Seeded,
so that nothing flakes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

import warner
from warner.estimators.base import Fit, LikelihoodData, PosteriorFit
from warner.reports.tally_kinds import Counted, Histogram

PROJECTED = warner.Inversion("project")


SIX = np.array([0.1, 0.15, 0.25, 0.25, 0.15, 0.1])


ASKED: list[Callable[[warner.Estimate], float]] = [
    lambda e: e.mean(),  # type: ignore[dict-item, return-value, list-item]
    lambda e: e.variance(),  # type: ignore[dict-item, return-value, list-item]
    lambda e: e.quantile(0.45),
    lambda e: e.range(1, 3),
]


@dataclass(frozen=True)
class Remembered(warner.estimators.Estimator):
    """An estimator that fits equal tallies once: several intervals share their replicates."""

    inner: warner.estimators.Estimator
    fits: dict[bytes, Fit] = field(default_factory=dict)

    def _fit(self, data: LikelihoodData) -> Fit:
        key = data.weights.tobytes()
        if key not in self.fits:
            self.fits[key] = self.inner.fit(data)
        return self.fits[key]


def _covered(
    mechanism: warner.mechanisms.Mechanism,
    runs: int,
    target: str,
    interval: Callable[[warner.Estimate, float, np.random.Generator], np.ndarray],
    people: int = 2000,
    theta: np.ndarray = SIX,
    method: warner.estimators.Estimator = PROJECTED,
    asked: list[Callable[[warner.Estimate], float]] = ASKED,
) -> np.ndarray:
    """How often intervals hold the truth, over whole runs from people to interval, for each that is
    asked.

    The truth is the same summary of the true shares; people of a bin are spread evenly in it. All
    intervals of a run are made of the same replicates.
    """
    domain, rng = mechanism.domain, np.random.default_rng(12)
    hits = np.zeros(len(asked))
    for run in range(runs):
        index = rng.choice(domain.size, people, p=theta)
        values = np.asarray(domain.decode(index))
        if isinstance(domain, warner.Interval):
            values = values + (rng.random(people) - 0.5) * (domain.high - domain.low) / domain.size
        result = warner.estimate(
            mechanism.tally(mechanism.randomize(values, rng)), Remembered(method)
        )
        shares = (
            theta if target == "population" else np.bincount(index, minlength=domain.size) / people
        )
        true = warner.Estimate(Fit(shares.copy(), result.status), result.data, result.estimator)
        for i, ask in enumerate(asked):
            low, high = interval(result, ask(result), np.random.default_rng([12, run]))
            hits[i] += low - 1e-12 <= ask(true) <= high + 1e-12
    return hits / runs


def _asked(
    target: str, replicates: int
) -> Callable[
    [warner.Estimate, warner.results.summaries.Quantity, np.random.Generator], np.ndarray
]:
    return lambda _, quantity, rng: quantity.interval(0.95, target, replicates=replicates, rng=rng)


RR = {
    "Integers": warner.RandomizedResponse(warner.Integers(0, 5), 4.0),
    "Interval": warner.RandomizedResponse(warner.Interval(0, 6, 6), 4.0),
}


@pytest.mark.parametrize("target", ["population", "respondents"])
@pytest.mark.parametrize("name", RR)
def test_intervals_of_summaries_cover_what_they_say(name: str, target: str) -> None:
    """100 runs, within 6 sd (0.024) of 0.94, what 60 replicates cover; a quantile of integers,
    which jumps, at least that.

    Population's intervals claimed for respondents cover them more often, respondents' claimed for
    the population less often. Integers differ from bins in their quantiles alone.
    """
    if name == "Integers":
        found = _covered(RR[name], 100, target, _asked(target, 60), asked=ASKED[2:3])
        assert found[0] > 0.94 - 6 * 0.024
        return
    found = _covered(RR[name], 100, target, _asked(target, 60))
    assert (np.abs(found - 0.94) < 6 * 0.024).all()
    other = "respondents" if target == "population" else "population"
    wrong = _covered(RR[name], 100, target, _asked(other, 60), asked=ASKED[:1])[0]
    # Respondents' intervals are about half as wide as the population's here.
    assert (wrong < 0.94 - 6 * 0.024) if other == "respondents" else (wrong > 0.975)


def test_intervals_of_summaries_cover_by_maximum_likelihood_of_a_numeric_mechanism() -> None:
    """60 runs of the square wave: within 6 sd (0.033) of 0.93, and not all; a third of the width
    falls below that.
    """
    domain = warner.Interval(0, 6, 6)
    mechanism = warner.SquareWave(domain, 3.0, cells=252)
    seen: list[np.ndarray] = []

    def remembered(
        result: warner.Estimate, quantity: float, rng: np.random.Generator
    ) -> np.ndarray:
        seen.append(_asked("population", 40)(result, quantity, rng))  # type: ignore[arg-type]
        return seen[-1]

    right = _covered(
        mechanism,
        60,
        "population",
        remembered,
        20_000,
        method=warner.MaximumLikelihood(),
    )
    assert (right > 0.93 - 6 * 0.033).all() and right[[0, 1, 3]].mean() < 0.999
    low, high = np.array(seen[:: len(ASKED)]).T
    assert domain.points is not None
    third = np.abs(SIX @ domain.points[:, 0] - (low + high) / 2) <= (high - low) / 6
    assert third.mean() < 0.93 - 6 * 0.033


def test_an_interval_of_a_quantile_that_may_jump_is_not_reflected() -> None:
    """F(1) = 0.51: the median is 1, its estimate often 2. The wrong program that bootstraps the
    median itself then says 2..3.
    """
    theta = np.array([0.25, 0.26, 0.24, 0.15, 0.1])
    mechanism = warner.RandomizedResponse(warner.Integers(0, 4), 3.0)
    asked: list[Callable[[warner.Estimate], float]] = [lambda e: e.quantile(0.5)]

    def reflected(result: warner.Estimate, _: float, rng: np.random.Generator) -> np.ndarray:
        return result.interval(
            kind="bootstrap",
            weights=lambda t: warner.metrics.quantiles(t, 0.5, np.arange(5)),
            replicates=60,
            rng=rng,
        )[0]

    # 150 runs, sd 0.0194.
    assert (
        _covered(mechanism, 150, "population", _asked("population", 60), theta=theta, asked=asked)[
            0
        ]
        > 0.94 - 6 * 0.0194
    )
    assert (
        _covered(mechanism, 150, "population", reflected, theta=theta, asked=asked)[0]
        < 0.94 - 6 * 0.0194
    )


def test_posterior_intervals_of_summaries_cover_what_they_say() -> None:
    """A Dirichlet posterior of answers sent as they are, 60 runs: within 6 sd (0.028) of 0.95; one
    of ten times the weight covers 0.46.
    """
    domain, n, rng = warner.Integers(0, 5), 500, np.random.default_rng(13)
    open_ = warner.RandomizedResponse(domain, float("inf"))
    hits = np.zeros(3)
    for _ in range(60):
        counts = rng.multinomial(n, SIX)
        plain = warner.estimate(
            warner.Tally(open_.header, Counted.together(Histogram(), counts, n)),
            warner.Inversion("project"),
        )
        true = warner.Estimate(Fit(SIX.copy(), plain.status), plain.data, plain.estimator)
        for j, (weight, ask) in enumerate(((1, ASKED[0]), (1, ASKED[2]), (10, ASKED[0]))):
            fit = Fit(
                plain.probabilities.copy(),
                plain.status,
                posterior=PosteriorFit(
                    lambda b, g, c=counts * weight: g.dirichlet(c + 1, b), for_intervals=True
                ),
            )  # type: ignore[misc]
            number = ask(warner.Estimate(fit, plain.data, plain.estimator))
            low, high = number.interval(kind="posterior", rng=rng)  # type: ignore[attr-defined]
            hits[j] += low <= ask(true) <= high
    mean, median, confident = hits / 60
    assert mean > 0.95 - 6 * 0.028 and median > 0.95 - 6 * 0.028
    assert confident < 0.95 - 6 * 0.028
