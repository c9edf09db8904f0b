"""alpha of the bias correction, from a simulation with the uniform distribution as the truth."""

from __future__ import annotations

import hashlib

import numpy as np

import warner
from warner import Integers
from warner.estimators import ExpectationMaximization
from warner.estimators.base import LikelihoodData
from warner.estimators.literature import BiasCorrection, second_order
from warner.metrics import normalize
from warner.results.from_tally import likelihood_data

COUNTS = np.array([3450, 530, 520, 500])


def _data(counts: np.ndarray) -> LikelihoodData:
    mechanism = warner.RandomizedResponse(Integers(0, 3), 2.0)
    return likelihood_data(mechanism.tally(mechanism.reports(np.repeat(np.arange(4), counts))))


def test_alpha_from_a_uniform_truth_is_the_least_error_of_one_simulation() -> None:
    """[P1 sec 4.3]. The wrong program takes the report histogram for the truth: it chooses 1e-10,
    because shrinking spoils a histogram with one large share.
    """
    data = _data(COUNTS)
    seed = hashlib.blake2b(COUNTS.astype("<i8").tobytes(), digest_size=16).digest()
    rng = np.random.default_rng(int.from_bytes(seed, "little"))
    simulated = _data(rng.multinomial(5000, np.full(4, 0.25)))
    em = ExpectationMaximization(start="histogram", tolerance=1e-3).fit(simulated).shares
    bias = second_order(simulated.channel, simulated.weights, em, 5000)
    alphas = [c * 10.0**-k for k in range(10, 0, -1) for c in range(1, 10)]
    losses = [((normalize(em - alpha * bias) - 0.25) ** 2).sum() for alpha in alphas]
    chosen = BiasCorrection(alpha="uniform").weight(data)
    assert chosen == alphas[int(np.argmin(losses))]
    assert chosen != BiasCorrection(alpha="published").weight(data)
