"""The intervals of the live page hold at every step of a survey. Seeded."""

from __future__ import annotations

import numpy as np

from warner import Categorical, Integers, Inversion, RandomizedResponse, UnaryEncoding
from warner.collector.live.state import LEVEL, TARGET, kind_of_intervals
from warner.estimators.base import LikelihoodData
from warner.mechanisms import Mechanism
from warner.results.estimate import Estimate
from warner.results.intervals import (
    anytime_factor,
    anytime_of_functions,
    normal_quantile,
    wald,
)
from warner.results.named_summaries import parse, summary_rows

STEP, STEPS, PLANNED, PATHS = 50, 12, 600, 50
Z = normal_quantile(LEVEL)


def _path(mechanism: Mechanism, shares: np.ndarray, rng: np.random.Generator) -> list[Estimate]:
    """The estimates of all steps of one survey."""
    channel, found = mechanism.channel(), []
    counts = np.zeros(channel.shape[0])
    for i in range(1, STEPS + 1):
        counts = counts + STEP * channel.simulate_tally(shares, STEP, rng)[1]
        data = LikelihoodData(channel, counts / (i * STEP), i * STEP, mechanism.domain)
        found.append(Estimate(Inversion().fit(data), data, Inversion()))
    return found


def test_shares_of_labels_and_of_bits_hold_at_all_steps_of_a_survey() -> None:
    """Wald intervals, each for one number of reports, miss on more than a fifth of the surveys."""
    rng, kind = np.random.default_rng(5), kind_of_intervals(PLANNED)
    labels = RandomizedResponse(Categorical(["a", "b", "c"]), 1.0)
    bits = UnaryEncoding(Categorical(["a", "b", "c", "d"]), 2.0, variant="oue")
    for mechanism, shares in ((labels, [0.6, 0.3, 0.1]), (bits, [0.5, 0.3, 0.15, 0.05])):
        truth = np.array(shares)
        held = np.ones((PATHS, 2), dtype=bool)  # of the first value, which is the hardest
        for path in held:
            for result in _path(mechanism, truth, rng):
                rows = result.rows(LEVEL, TARGET, kind)
                path[0] &= rows[0]["low"] <= truth[0] <= rows[0]["high"]
                low, high = wald(result.data)[0]
                path[1] &= bool(low <= truth[0] <= high)
        always, once = held.mean(axis=0)
        assert always > 0.92 and once < 0.88


def test_means_and_quantiles_hold_at_all_steps_of_a_survey() -> None:
    """Intervals for one number of reports are the same ones, of z in place of b deviations."""
    mechanism, shares = UnaryEncoding(Integers(0, 5), 3.0, variant="oue"), [0.4, 0.2, 0.2, 0.1]
    truth, rng = np.array([*shares, 0.06, 0.04]), np.random.default_rng(8)
    true = {"mean": truth @ np.arange(6), "median": 1.0, "quantile:0.9": 3.0}
    held = {name: np.ones(PATHS, dtype=bool) for name in true}
    once = np.ones(PATHS, dtype=bool)
    asked = parse(",".join(true))
    for path in range(PATHS):
        for result in _path(mechanism, truth, rng):
            for row in summary_rows(result, asked, LEVEL, TARGET, kind_of_intervals(PLANNED)):
                value = true[row["summary"]]
                held[row["summary"]][path] &= row["low"] - 1e-9 <= value <= row["high"] + 1e-9
                assert row["low"] <= row["estimate"] <= row["high"]
            low, high = anytime_of_functions(result.data, np.arange(6), PLANNED)[0]
            half = (high - low) / 2 * Z / anytime_factor(result.n, PLANNED)
            once[path] &= abs((low + high) / 2 - true["mean"]) <= half
    assert all(kept.mean() > 0.92 for kept in held.values())
    assert once.mean() < 0.88
