""""""

from __future__ import annotations

import cvxpy as cp
import numpy as np

import warner
from tests.registry import MECHANISMS
from warner import Categorical
from warner.channels import Channel
from warner.domains import Domain
from warner.estimators.base import LikelihoodData
from warner.mechanisms import Mechanism
from warner.results.from_tally import likelihood_data


def _evidence(name: str, size: int, n: int, epsilon: float, seed: int = 0) -> LikelihoodData:
    mechanism = MECHANISMS[name](warner.Integers(1, size), epsilon)
    rng = np.random.default_rng(seed)
    values = 1 + rng.choice(size, n, p=rng.dirichlet(np.full(size, 0.3)))
    return likelihood_data(mechanism.tally(mechanism.randomize(values, rng)))


def _oracle(channel: Channel, w: np.ndarray) -> float:
    """max l in nats per report, by Clarabel."""
    theta = cp.Variable(channel.shape[1])
    seen = w > 0
    rows = channel.dense()[seen] * channel.rows_per_report
    problem = cp.Problem(
        cp.Maximize(w[seen] @ cp.log(rows @ theta)), [theta >= 0, cp.sum(theta) == 1]
    )
    factors = w[seen] @ np.broadcast_to(channel.log_factors, w.shape)[seen]
    return channel.rows_per_report * (problem.solve(solver=cp.CLARABEL) + factors)


BITS = [
    "UnaryEncoding symmetric",
    "UnaryEncoding optimized",
    "SubsetSelection",
    "UtilityOptimizedRappor",
    "UtilityOptimizedRappor keep 0.7",
]


def _kept(name: str, size: int, n: int, epsilon: float) -> tuple[LikelihoodData, np.ndarray]:
    """Evidence of whole reports, and their exact law up to a factor per row, one report at a time."""
    mechanism = MECHANISMS[name](warner.Integers(1, size), epsilon)
    rng = np.random.default_rng(4)
    tally = mechanism.tally(
        mechanism.randomize(1 + rng.choice(size, n, p=rng.dirichlet(np.full(size, 0.3))), rng),
        keep_reports=True,
    )
    outputs = [row.tobytes() for row in mechanism.outputs()["bits"]]
    assert tally.rows is not None
    return likelihood_data(tally), mechanism.probabilities().astype(float)[
        [outputs.index(row.tobytes()) for row in tally.rows]
    ]


def _groups(
    makers: list[str], epsilons: list[float], size: int = 6, n: int = 400
) -> list[warner.Tally]:
    rng = np.random.default_rng(6)
    theta = rng.dirichlet(np.full(size, 0.4))
    mechanisms = [
        MECHANISMS[name](warner.Integers(1, size), epsilon)
        for name, epsilon in zip(makers, epsilons, strict=True)
    ]
    return [
        m.tally(m.randomize(1 + rng.choice(size, n * (i + 1), p=theta), rng), keep_reports=False)
        for i, m in enumerate(mechanisms)
    ]


MIXED = [
    (["RandomizedResponse"] * 4, [0.1, 2.0, np.log(6), np.inf]),
    (["RandomizedResponse", "UnaryEncoding optimized"], [1.0, 0.5]),
    (["LocalHashing optimized", "HadamardResponse", "SubsetSelection"], [1.0, 2.0, 0.5]),
    (["MatrixMechanism", "UnaryEncoding symmetric"], [2.0, 2.0]),
]


def _simulated(mechanism: Mechanism, n: int, seed: int = 0, kept: bool = False) -> LikelihoodData:
    rng = np.random.default_rng(seed)
    labels = mechanism.domain.labels
    shares = rng.dirichlet(np.full(len(labels), 0.3))
    values = [labels[i] for i in rng.choice(len(labels), n, p=shares)]
    return likelihood_data(mechanism.tally(mechanism.randomize(values, rng), keep_reports=kept))


def _unordered(size: int) -> Domain:
    return Categorical([f"v{x}" for x in range(size)])
