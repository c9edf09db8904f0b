"""The guess from neighbours: fast paths against slow ones, derivatives against differences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from warner import Categorical, EmpiricalBayes, UnaryEncoding
from warner.estimators.base import LikelihoodData
from warner.estimators.empirical_bayes import noise as noise_module, prior as neighbours
from warner.estimators.empirical_bayes.noise import EstimateNoise
from warner.estimators.empirical_bayes.prior import SETTINGS


def test_gains_are_those_of_the_loop_over_frequencies() -> None:
    """The sums over near frequencies by cumulative sums, against sums written out."""
    p = np.random.default_rng(0).exponential(1 + 50 / np.arange(1.0, 41) ** 2)
    keep = 1 / (
        1 + np.concatenate([[0.0], 2.0 ** np.arange(-3, max(4, int(np.log2(p.max()) + 2)))])
    )
    base = np.array([0.5] + [0.5 / (keep.size - 1)] * (keep.size - 1))
    posteriors = np.array([keep * np.exp(-v * keep) * base for v in p])
    posteriors /= posteriors.sum(axis=1, keepdims=True)
    for _ in range(SETTINGS.power_sweeps):
        moved = np.empty_like(posteriors)
        for k in range(40):
            others = [j for j in range(40) if j != k]
            near = [j for j in others if 1 / 1.5 <= (j + 1) / (k + 1) <= 1.5]
            here = posteriors[near].sum(axis=0) * min(1.0, 4 / len(near)) if near else 0.0
            moved[k] = (
                keep
                * np.exp(-p[k] * keep)
                * ((posteriors[others].sum(axis=0) + 2 * base) / 41 + here)
            )
            moved[k] /= moved[k].sum()
        done = np.abs(moved - posteriors).max() < 1e-3
        posteriors = moved
        if done:
            break
    gain, slope = neighbours.gains(p)
    assert gain == pytest.approx(posteriors @ (1 - keep), abs=1e-12)
    assert slope == pytest.approx(posteriors @ (1 - keep) ** 2 - gain**2, abs=1e-12)


def test_what_each_value_adds_to_its_own_is_the_filters_derivative(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With the prior of powers held, by central differences; sizes with and without a real highest
    frequency.
    """
    prior = np.array([0.5, 0.2, 0.2, 0.1])
    keep = np.array([1.0, 0.5, 0.1, 0.01])

    def held(p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        posteriors = prior * keep * np.exp(-p[:, None] * keep)
        posteriors /= posteriors.sum(axis=1, keepdims=True)
        mean = posteriors @ (1 - keep)
        return mean, posteriors @ (1 - keep) ** 2 - mean**2

    monkeypatch.setattr(neighbours, "gains", held)
    for size in (24, 25):
        d = np.random.default_rng(1).normal(size=size) / np.sqrt(size)
        d -= d.mean()
        rows = 1e-5 * np.eye(size)
        rise = [
            neighbours.filtered(d + row, 1.0)[0][x] - neighbours.filtered(d - row, 1.0)[0][x]
            for x, row in enumerate(rows)
        ]
        assert neighbours.filtered(d, 1.0)[1] == pytest.approx(np.mean(rise) / 2e-5, abs=1e-8)


def test_a_guess_changes_rows_apart_by_little() -> None:
    """Values whose counts and guesses hardly differ are one row of the prior's data: the estimate
    with a row each is the same to a twentieth of the noise.
    """
    rng = np.random.default_rng(4)
    theta = np.exp(np.sin(np.arange(120) / 12))
    theta /= theta.sum()
    channel = UnaryEncoding(Categorical([str(i) for i in range(120)]), 2.0, variant="oue").channel()
    w = channel.simulate(theta, 20_000, rng)
    noise = EstimateNoise.of(
        LikelihoodData(channel, w, 20_000, Categorical([str(i) for i in range(120)])), "binomial"
    ).with_neighbours()
    assert noise.prediction is not None
    whole = EmpiricalBayes()
    coarse = whole._posterior(noise).shares
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(noise_module, "SETTINGS", replace(SETTINGS, row_width=1e-6))
        fine = whole._posterior(noise).shares
    assert coarse == pytest.approx(fine, abs=float(np.sqrt(noise.variance(theta)).min()) / 20)
