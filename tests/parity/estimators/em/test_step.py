"""Steps of EM on bit sums against steps of EM on the whole reports that were summed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import warner
from warner import ExpectationMaximization, Integers, Status
from warner.channels import SupportChannel
from warner.estimators.base import LikelihoodData
from warner.estimators.literature import SmoothedEM
from warner.mechanisms import Mechanism
from warner.results.from_tally import likelihood_data

BITS: dict[str, Callable[[Integers, float], Mechanism]] = {
    "OUE": lambda domain, epsilon: warner.UnaryEncoding(domain, epsilon, variant="oue"),
    "SUE": warner.UnaryEncoding,
    "subsets": warner.SubsetSelection,
}


def _both(
    name: str, shares: np.ndarray, n: int, epsilon: float, seed: int
) -> tuple[LikelihoodData, LikelihoodData]:
    """Evidence of the same reports, known by their bit sums and whole."""
    mechanism, rng = BITS[name](Integers(0, shares.size - 1), epsilon), np.random.default_rng(seed)
    reports = mechanism.randomize(rng.choice(shares.size, n, p=shares), rng)
    return likelihood_data(mechanism.tally(reports)), likelihood_data(
        mechanism.tally(reports, keep_reports=True)
    )


@pytest.mark.parametrize("name", BITS)
@pytest.mark.parametrize("size, epsilon", [(8, 0.5), (16, 1.0), (16, 2.0)])
def test_a_number_of_steps_on_bit_sums_is_worth_as_many_on_whole_reports(
    name: str, size: int, epsilon: float
) -> None:
    """Squared errors after 1 to 300 steps within a factor 1.6 of each other, on the mean of 4 runs;
    measured at most 1.3.

    The wrong program takes every row of a bit for a report of its own. Its errors after 30 steps
    are more than twice as large.
    """
    shares = 1 / np.arange(1, size + 1)
    shares /= shares.sum()
    data = [_both(name, shares, 2000, epsilon, seed) for seed in range(4)]

    def error(steps: int, kept: bool) -> float:
        fits = [ExpectationMaximization(steps).fit(pair[kept]).shares for pair in data]
        return float(np.mean([((fit - shares) ** 2).sum() for fit in fits]))

    for steps in (1, 3, 10, 30, 100, 300):
        assert 1 / 1.6 < error(steps, False) / error(steps, True) < 1.6
    sums = data[0][0]
    plain = np.full(size, 1 / size)
    for _ in range(30 if epsilon < 1 else 10):
        plain = plain * sums.channel.rmatvec(sums.weights / sums.channel.matvec(plain))
    assert ((plain - shares) ** 2).sum() > 1.05 * error(30 if epsilon < 1 else 10, True)


@pytest.mark.parametrize("name", BITS)
def test_smoothed_steps_on_bit_sums_lead_away_from_the_uniform_distribution(name: str) -> None:
    """100 values, 20,000 people: the squared error is that of whole reports within a tenth, and a
    fifth of the uniform's.

    The wrong program stops after one step and returns the uniform distribution.
    """
    shares = np.exp(-((np.arange(100) - 39.5) ** 2) / 200)
    shares /= shares.sum()
    sums, kept = _both(name, shares, 20_000, 1.0, 0)
    for method in (SmoothedEM(), SmoothedEM(tolerance=0.0)):
        fit = method.fit(sums)
        assert fit.status is Status.STOPPED and fit.iterations is not None and fit.iterations > 100
        error = ((fit.shares - shares) ** 2).sum()
        assert error < ((0.01 - shares) ** 2).sum() / 5
    whole = ((SmoothedEM(steps=300).fit(kept).shares - shares) ** 2).sum()
    assert ((SmoothedEM(steps=300).fit(sums).shares - shares) ** 2).sum() == pytest.approx(
        whole, rel=0.1
    )


def test_longer_steps_never_lower_the_quasi_likelihood_nor_leave_the_simplex() -> None:
    """Keep probabilities near 1 and few people: steps as long as on whole reports overshoot, and
    are shortened.
    """
    for seed, variant in ((0, 0.99), (1, 0.9), (2, 0.5)):
        mechanism, rng = (
            warner.UnaryEncoding(Integers(0, 3), 6.0, variant=variant),
            np.random.default_rng(seed),
        )
        data = likelihood_data(mechanism.tally(mechanism.randomize([0] * 9 + [1], rng)))
        path = ExpectationMaximization(200, keep_path=True).fit(data).path
        assert path is not None and (np.diff(path[:, 0]) >= -1e-10).all()
        fit = ExpectationMaximization(200).fit(data)
        assert fit.shares.sum() == pytest.approx(1, abs=1e-12) and (fit.shares >= 0).all()


def test_one_and_the_same_step_for_stacks_of_bit_sums_and_values() -> None:
    """Groups of bits and of values: to first order the step is the mean of the groups' own steps,
    by people.

    The wrong program weighs groups by rows, so that the bits of 1000 people outweigh the values of
    3000.
    """
    domain = Integers(0, 9)
    values, bits = warner.RandomizedResponse(domain, 1.0), warner.UnaryEncoding(domain, 1.0)
    rng = np.random.default_rng(0)
    tallies = [
        values.tally(values.randomize([3] * 3000, rng)),
        bits.tally(bits.randomize([7] * 1000, rng)),
    ]
    one = ExpectationMaximization(1)
    alone = [warner.estimate(tally, one).probabilities - 0.1 for tally in tallies]
    assert warner.estimate(tallies, one).probabilities - 0.1 == pytest.approx(
        0.75 * alone[0] + 0.25 * alone[1], abs=1e-12
    )


def test_the_number_of_steps_that_the_data_choose_is_that_of_whole_reports() -> None:
    """Within a factor 3: held-out bits are not held-out reports. The wrong program takes as many
    times more as there are values, 16.
    """
    shares = 1 / np.arange(1, 17)
    sums, kept = _both("OUE", shares / shares.sum(), 4000, 1.0, 0)
    found, whole = (
        ExpectationMaximization("auto").fit(data).iterations or 0 for data in (sums, kept)
    )
    assert whole / 3 < found < 3 * whole


def test_a_method_that_has_not_moved_from_its_start_says_so() -> None:
    domain = Integers(0, 99)
    channel = SupportChannel(100, 0.5, 1e-5)
    rng = np.random.default_rng(0)
    data = LikelihoodData(channel, channel.simulate(np.eye(100)[3], 10_000, rng), 10_000, domain)
    for method in (SmoothedEM(), ExpectationMaximization(3)):
        fit = method.fit(data)
        assert fit.status is Status.NOT_MOVED and "MaximumLikelihood" in fit.status.value
        assert fit.shares == pytest.approx(np.full(100, 0.01), abs=1e-4)
    exact = SupportChannel(4, 0.25, 0.5)
    even = LikelihoodData(exact, exact.matvec(np.full(4, 0.25)), 1000, Integers(0, 3))
    assert SmoothedEM().fit(even).status is Status.STOPPED, (
        "where the start is the maximum, there is nowhere to move"
    )
