"""The test of plausibility beside G at the best distribution, found by a general solver."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import binom, chi2

from warner import Integers, RandomizedResponse, SquareWave, UnaryEncoding
from warner.estimators.plausibility import plausibility_of_data
from warner.mechanisms import Mechanism
from warner.results.from_tally import likelihood_data


def _least_g(law: np.ndarray, seen: np.ndarray, n: int) -> tuple[float, np.ndarray]:
    """G and the expected frequencies of cells at its least, over distributions of the answers."""

    def g(logits: np.ndarray) -> float:
        shares = np.exp(logits - logits.max())
        expected = law @ (shares / shares.sum())
        return float(2 * n * (seen[seen > 0] * np.log(seen[seen > 0] / expected[seen > 0])).sum())

    starts = [np.zeros(law.shape[1]), np.linspace(-1, 1, law.shape[1])]
    best = min((minimize(g, s, method="BFGS") for s in starts), key=lambda found: found.fun)
    shares = np.exp(best.x - best.x.max())
    return best.fun, law @ (shares / shares.sum())


@pytest.mark.parametrize(
    ("mechanism", "codes"),
    [
        (RandomizedResponse(Integers(0, 2), 1.0), [0] * 230 + [1] * 90 + [2] * 62),
        # Some shares make just these counts; the least is below its standard error.
        (RandomizedResponse(Integers(0, 2), 1.0), [0] * 180 + [1] * 110 + [2] * 82),
        (RandomizedResponse(Integers(0, 4), 2.0), [0] * 90 + [1] * 70 + [3] * 40),
        (SquareWave(Integers(0, 5), 1.0, cells=24), [*range(24)] * 9 + [3] * 20),
    ],
)
def test_cells_against_a_general_solver(mechanism: Mechanism, codes: list[int]) -> None:
    data = likelihood_data(mechanism.tally(mechanism.reports(codes)))
    g, expected = _least_g(data.channel.unrounded().dense(), data.weights, data.n)
    free = len(expected) - 1
    correction = 1 + np.minimum(1 / (data.n * expected), 1).sum() / (6 * free)
    slow = float(chi2.sf(g / correction, max(free, 2)))
    assert plausibility_of_data(data).p_value == pytest.approx(slow, rel=0.02)


def test_supports_against_binomial_tails() -> None:
    # Bits of 300 people, of whom fewer set the last one than would if nobody had answered it.
    mechanism = UnaryEncoding(Integers(0, 3), 1.0, variant="sue")
    bits = np.zeros((300, 4), dtype=int)
    for value, count in enumerate([150, 130, 112, 60]):
        bits[:count, value] = 1
    data = likelihood_data(mechanism.tally(mechanism.reports(bits)))
    law = data.channel.support_law()
    assert law is not None
    tails = binom.cdf([150, 130, 112, 60], 300, law.q[0])
    # Two tests were made: of each bit, and of all bits together, which says less here.
    assert plausibility_of_data(data).p_value == pytest.approx(2 * 5 * tails.min(), rel=1e-9)
