"""Intervals of marginals and associations hold the truth, and errors are what theory says. Seeded,
so that nothing flakes.
"""

from __future__ import annotations

import numpy as np
import pytest

from warner import Estimate, Integers, Inversion, Product
from warner.channels import DirectChannel, KroneckerChannel, summed
from warner.design.theory import inversion_squares
from warner.estimators import Independent
from warner.estimators.likelihood_data import LikelihoodData
from warner.metrics import cramers_v as plain
from warner.results.association import Pair, cramers_v
from warner.results.intervals import normal_quantile

LAMBDA = 1 / np.arange(2, 7) / (1 / np.arange(2, 7)).sum()  # [P5 sec 4.1]
PAIR = Product(a=Integers(1, 5), b=Integers(1, 5))
CHANNEL = KroneckerChannel([DirectChannel(5, 0.1, 0.5)] * 2)


def _family(v: float, marginal: np.ndarray = LAMBDA) -> np.ndarray:
    return ((1 - v) * np.outer(marginal, marginal) + v * np.diag(marginal)).ravel()


def _tallies(theta: np.ndarray, n: int, runs: int, seed: int) -> list[LikelihoodData]:
    rng = np.random.default_rng(seed)
    return [LikelihoodData(CHANNEL, CHANNEL.simulate(theta, n, rng), n, PAIR) for _ in range(runs)]


@pytest.mark.parametrize("method", [Inversion(), Inversion("project")], ids=repr)
def test_intervals_of_marginals_cover_what_they_say(method: Inversion) -> None:
    """2000 shares, within 6 sd (0.0049) of 0.95. The mutant that adds up the variances of cells is
    too wide.
    """
    theta = _family(0.5)
    truth = summed(theta, (5, 5), [1])
    hits, added = 0.0, 0.0
    data = _tallies(theta, 3000, 400, 1)
    for each in data:
        whole = Estimate(method.fit(each), each, method)
        part = whole.marginal("b")
        low, high = part.interval().T
        hits += ((low <= truth) & (truth <= high)).mean()
        half = normal_quantile(0.95) * np.sqrt(summed(CHANNEL.variance(theta), (5, 5), [1]) / 3000)
        added += (np.abs(part.probabilities - truth) <= half).mean()
    assert abs(hits / len(data) - 0.95) < 6 * 0.0049
    assert method.constraint is not None or added / len(data) > 0.95 + 6 * 0.0049


def test_bootstrap_of_a_marginal_covers_inside_the_simplex() -> None:
    """600 shares, within 6 sd (0.0097) of 0.94, what 60 replicates cover."""
    theta = (_family(0.3, np.full(5, 0.2)) + 0.04) / 2
    truth, hits = summed(theta, (5, 5), [0]), []
    rng = np.random.default_rng(0)
    for each in _tallies(theta, 200_000, 120, 2):
        bounds = (
            Estimate(Inversion("project").fit(each), each, Inversion("project"))
            .marginal("a")
            .interval(kind="bootstrap", replicates=60, rng=rng)
        )
        hits.append(((bounds[:, 0] <= truth) & (truth <= bounds[:, 1])).mean())
    assert abs(np.mean(hits) - 0.94) < 6 * 0.0097


@pytest.mark.parametrize("v", [0.0, 0.2, 0.6])
def test_the_corrected_square_of_an_association_is_right_on_average(v: float) -> None:
    """Over 400 tallies within 6 standard errors and 0.003. Mutants: the plain one of the projected
    shares, of the inversion, and Bergsma's correction for open answers, which knows nothing of the
    noise: all too large.
    """
    theta = _family(v)
    data = _tallies(theta, 20_000, 400, 3)
    found = np.array(
        [Pair(CHANNEL, each.weights, each.n, (5, 5)).square(each.weights) for each in data]
    )
    margin = 6 * found.std() / np.sqrt(len(data)) + 0.003
    assert abs(found.mean() - v**2) < margin
    if v == 0.0:
        projected = np.array(
            [plain(Inversion("project").fit(each).shares.reshape(5, 5)) ** 2 for each in data]
        )
        assert projected.mean() > margin and (projected - 16 / 20_000 / 4).mean() > margin


@pytest.mark.parametrize("v", [0.0, 0.5])
def test_intervals_of_an_association_cover_at_the_border_too(v: float) -> None:
    """40 tallies at 90 %: at least 0.9 less 4 sd (0.048). The mutant that reflects the plug-in V's
    bootstrap misses a V of 0 always.
    """
    rng = np.random.default_rng(4)
    found = []
    for each in _tallies(_family(v), 5000, 40, 5):
        low, high = cramers_v(each, "a", "b").interval(0.9, replicates=20, rng=rng)
        found.append((low, high))
    low, high = np.array(found).T
    assert ((low <= v + 1e-9) & (v - 1e-9 <= high)).mean() > 0.9 - 4 * 0.048
    assert np.median(high - low) < 0.35
    if v == 0.0:
        mutant = [
            plain(Inversion("project").fit(each).shares.reshape(5, 5))
            for each in _tallies(_family(v), 5000, 60, 5)
        ]
        assert min(mutant) > 0.02


@pytest.mark.parametrize("v", [0.0, 0.9])
def test_squared_errors_of_joint_inversion_are_the_closed_form(v: float) -> None:
    """Within 6 standard errors over 300 tallies. Mutants: one budget for both attributes together,
    and one report counted twice (2 n).
    """
    theta, epsilon = (
        _family(v),
        float(np.log(6)),
    )  # keep 0.5 of 5 values is epsilon = ln(1 + d) (METHODS 9.2)
    errors = np.array(
        [
            ((Inversion().fit(each).shares - theta) ** 2).sum()
            for each in _tallies(theta, 2000, 300, 6)
        ]
    )
    margin = 6 * errors.std() / np.sqrt(len(errors))
    assert (
        abs(errors.mean() - inversion_squares([5, 5], [epsilon, epsilon], 2000, theta @ theta))
        < margin
    )
    for mutant in (
        inversion_squares([25], [2 * epsilon], 2000, theta @ theta),
        inversion_squares([5, 5], [epsilon] * 2, 4000, theta @ theta),
    ):
        assert abs(errors.mean() - mutant) > margin


def test_dependence_is_an_error_of_independence_only() -> None:
    """[P5 fig 5]: absolute errors of RR-Ind-Joint are alike at V = 0 and 0.9; those of
    RR-Independent grow with V, however many people answer.
    """
    errors = {
        (v, name): np.mean(
            [
                np.abs(method.fit(each).shares - _family(v)).mean()
                for each in _tallies(_family(v), 50_000, 40, 7)
            ]
        )
        for v in (0.0, 0.45, 0.9)
        for name, method in (
            ("joint", Inversion()),
            ("independent", Independent(method=Inversion())),
        )
    }
    assert errors[0.9, "joint"] == pytest.approx(errors[0.0, "joint"], rel=0.15)
    assert errors[0.9, "independent"] == pytest.approx(2 * errors[0.45, "independent"], rel=0.05)
    assert errors[0.9, "independent"] > 10 * errors[0.0, "independent"]
