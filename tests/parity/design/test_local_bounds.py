"""The local bound: no mechanism is below it, and some mechanism reaches it where that is said."""

from __future__ import annotations

import itertools
from math import exp

import numpy as np
import pytest

from tests.refusals import refused
from warner import (
    Categorical,
    Integers,
    RandomizedResponse,
    SquareWave,
    SubsetSelection,
    UnaryEncoding,
    UtilityOptimizedRR,
)
from warner.errors import ArgumentError, ArgumentTypeError
from warner.mechanisms.row_bounds import most_information, of_many_values
from warner.mechanisms.row_design import Problem, best_design, lower_bound
from warner.theory import cramer_rao, local_bound

SKEWED = 0.7 ** np.arange(24)


def _variance(mechanism: object, shares: np.ndarray, loss: str) -> float:
    """The loss of the Cramer-Rao bound of one report."""
    size = shares.size
    functions = {
        "shares": np.eye(size),
        "distribution": np.tril(np.ones((size, size)))[:-1],
        "mean": np.arange(1.0, size + 1)[None],
    }[loss]
    return float(cramer_rao(mechanism, shares, 1, functions).sum())


@pytest.mark.crossed(3)
@pytest.mark.parametrize("size", [3, 11, 40])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_subset_selection_reaches_the_bound_of_equal_shares(size: int, epsilon: float) -> None:
    domain, even = Integers(1, size), np.full(size, 1 / size)
    bound = local_bound(domain, epsilon, even, 1)
    rival = min(
        _variance(SubsetSelection(domain, epsilon, size=d), even, "shares")
        for d in range(1, min(size, 25))
    )
    assert bound.is_sharp
    assert bound.unbiased == pytest.approx(rival, rel=1e-3)
    assert bound.unbiased <= rival * (1 + 1e-9)


@pytest.mark.crossed(3)
@pytest.mark.parametrize("loss", ["shares", "distribution", "mean"])
@pytest.mark.parametrize("size", [8, 24])
def test_no_mechanism_is_below(loss: str, size: int) -> None:
    # Rejects the bound of equal shares, which lies above what mechanisms reach at skewed ones.
    domain, shares = Integers(1, size), SKEWED[:size] / SKEWED[:size].sum()
    for epsilon in (0.5, 2.0):
        bound = local_bound(domain, epsilon, shares, 1, loss)
        rivals = [
            RandomizedResponse(domain, epsilon),
            UnaryEncoding(domain, epsilon),
            *(SubsetSelection(domain, epsilon, size=d) for d in (1, 2, 3, 5)),
        ]
        if size == 8:
            rivals.append(SquareWave(domain, epsilon))
        least = min(_variance(rival, shares, loss) for rival in rivals)
        assert 0 < bound.any_estimate < bound.unbiased <= least
        assert bound.unbiased > (0.3 if size == 8 else 0.1) * least


@pytest.mark.parametrize("loss", ["shares", "distribution"])
def test_the_closed_form_is_below_the_best_channel(loss: str) -> None:
    # Rejects one that leaves out how rows differ at skewed shares.
    size = 9
    root = np.eye(size) if loss == "shares" else np.tril(np.ones((size, size)))[:-1]
    for shares in (np.ones(size), SKEWED[:size], 1 / np.arange(1.0, size + 1)):
        theta = shares / shares.sum()
        for epsilon in (0.5, 1.0, 4.0):
            problem = Problem.of(
                exp(epsilon), theta[None], root.T @ root, np.zeros(size, dtype=bool)
            )
            least = lower_bound(problem, *best_design(problem))
            assert 0.6 * least < of_many_values(problem).value <= least * (1 + 1e-6)


def test_every_row_keeps_the_inequality_of_the_closed_form() -> None:
    # The slow twin: all rows, each with the best of the multipliers.
    size, rng = 7, np.random.default_rng(3)
    for epsilon in (0.3, 1.0, 4.0):
        e = exp(epsilon)
        rows = np.array(list(itertools.product([1.0, e], repeat=size)))
        for theta in (rng.dirichlet(np.ones(size)), rng.dirichlet(np.full(size, 0.2))):
            for slope in (0.0, 3.0, 40.0):
                spread = 1 + slope * theta
                matrix = np.diag(spread) - np.outer(spread, spread) / spread.sum()
                form = np.square(rows @ matrix).sum(axis=1) / (rows @ theta)
                most = most_information(theta, e, slope)
                slopes = np.array([-0.98, -0.7, -0.4, 0.0, 1.0]) / theta.max()
                multipliers = [(1 + b * theta) / (size + b) for b in slopes]
                needed = min((form / (rows @ each)).max() for each in multipliers)
                assert needed <= most <= 1.3 * needed


def test_any_estimate_counts_what_is_known_before() -> None:
    # A guess of 1/2 for shares within 0..1 errs by less than the unbiased bound of two people.
    domain, even = Integers(0, 1), [0.5, 0.5]
    few, many = local_bound(domain, 1.0, even, 2), local_bound(domain, 1.0, even, 10**7)
    spread_of_the_prior = 0.5 * 0.25  # two shares, each with the variance of a ball's density
    assert few.any_estimate < spread_of_the_prior < few.unbiased
    assert many.any_estimate > 0.98 * many.unbiased


def test_people_who_are_fixed() -> None:
    domain, shares = Integers(1, 6), SKEWED[:6] / SKEWED[:6].sum()
    drawn = local_bound(domain, 1.0, shares, 1000)
    fixed = local_bound(domain, 1.0, shares, 1000, fixed=True)
    sampling = (1 - float(shares @ shares)) / 1000
    assert drawn.unbiased - fixed.unbiased == pytest.approx(sampling, rel=1e-9)
    assert fixed.any_estimate < drawn.any_estimate


def test_sensitive_values_leave_less_to_lose() -> None:
    domain, even, sensitive = Integers(1, 8), np.full(8, 1 / 8), [1, 2]
    bound = local_bound(domain, 1.0, even, 1, sensitive=sensitive)
    rival = _variance(UtilityOptimizedRR(domain, 1.0, sensitive), even, "shares")
    assert bound.is_sharp
    assert bound.unbiased == pytest.approx(rival, rel=1e-3)
    assert bound.unbiased < local_bound(domain, 1.0, even, 1).unbiased
    wide = Integers(1, 20)
    weak = local_bound(wide, 1.0, np.full(20, 0.05), 1, sensitive=[1, 2])
    other = _variance(UtilityOptimizedRR(wide, 1.0, [1, 2]), np.full(20, 0.05), "shares")
    assert not weak.is_sharp
    assert weak.unbiased <= other


def test_refusals() -> None:
    labels, five = Categorical(["a", "b", "c"]), Integers(1, 5)
    even = [0.2] * 5
    refused(
        ArgumentTypeError, "domain: must be numbers", local_bound, labels, 1.0, [1, 0, 0], 9, "mean"
    )
    refused(ArgumentError, "epsilon: must be above 0", local_bound, five, 0.0, even, 9)
    refused(
        ArgumentError,
        "theta: must not have a share of 0 for a value that is not sensitive",
        local_bound,
        five,
        1.0,
        [1, 0, 0, 0, 0],
        9,
        sensitive=[1],
    )
