"""Projective geometry response: its options, its limits and large domains."""

from __future__ import annotations

import time

import numpy as np
import pytest

import warner
from warner import Integers
from warner.errors import ArgumentError, ArgumentTypeError, BudgetError


@pytest.mark.parametrize(
    "size, options, words",
    [
        (10, {"prime": 4}, "prime: must.*Pass 5"),
        (10, {"prime": 1}, r"prime: must.*2\.\."),
        (10, {"prime": 2**25 + 1}, r"prime: must.*2\.\."),
        (10, {"prime": True}, "prime"),
        (2**25 + 5, {}, r"domain: .*33554432.*HadamardResponse"),
        (10**5, {"prime": 9973}, r"prime: .*33554432.*Leave it out"),
        (10, {"blocks": 0}, r"blocks: must.*1\.\.10"),
        (10, {"blocks": 11}, r"blocks: must.*1\.\.10"),
        # Of 4 blocks for 5 values, each has room for 2, so 3 are filled. The rest only adds noise.
        (5, {"prime": 2, "blocks": 4}, r"5 values fill 3; got 4\. Pass 3"),
    ],
)
def test_primes_and_blocks_that_do_not_fit_are_refused_with_those_that_do(
    size: int, options: dict[str, int], words: str
) -> None:
    with pytest.raises((ArgumentError, ArgumentTypeError), match=words):
        warner.mechanisms.ProjectiveGeometryResponse(Integers(1, size), 1.0, **options)


@pytest.mark.parametrize("epsilon", [40.0, 60.0])
def test_a_huge_budget_is_refused_at_once(epsilon: float) -> None:
    start = time.perf_counter()
    with pytest.raises(BudgetError, match="too large"):
        warner.mechanisms.ProjectiveGeometryResponse(Integers(1, 10**6), epsilon, prime=1009)
    assert time.perf_counter() - start < 1


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 5.0, 12.0, 20.0])
def test_few_reports_more_than_values_are_never_needed_beyond_the_prime(epsilon: float) -> None:
    size = 1000
    mechanism = warner.mechanisms.ProjectiveGeometryResponse(Integers(1, size), epsilon)
    assert size <= mechanism.n_reports <= size * mechanism.prime + 1


def test_the_header_names_the_prime_that_was_chosen() -> None:
    mechanism = warner.mechanisms.ProjectiveGeometryResponse(Integers(1, 100), 1.5)
    assert mechanism.parameters() == {"prime": 5}
    again = warner.mechanisms.ProjectiveGeometryResponse(Integers(1, 100), 1.5, prime=5)
    assert again.header == mechanism.header


def test_a_hundred_thousand_values() -> None:
    """Randomised, counted and inverted, with intervals, in a second or so."""
    size, n = 10**5, 2 * 10**5
    rng = np.random.default_rng(7)
    mechanism = warner.mechanisms.ProjectiveGeometryResponse(Integers(0, size - 1), 2.0)
    answers = np.where(rng.random(n) < 0.5, 77, rng.integers(0, size, n))
    tally = mechanism.tally(mechanism.randomize(answers, rng=rng))
    result = warner.estimate(tally, warner.Inversion())
    shares = result.probabilities
    error = np.sqrt(mechanism.channel().variance(np.full(size, 1 / size))[0] / n)
    assert shares.argmax() == 77 and abs(shares[77] - 0.5) < 5 * error
    others = np.delete(shares, 77)
    # The sum over all values of the squared error is the theory's, within five standard errors.
    assert np.mean(others**2) == pytest.approx(error**2, rel=0.05)


def test_a_plan_ranks_it_between_subset_selection_and_hadamard_response() -> None:
    plan = warner.plan(Integers(1, 3000), 2.0, loss="l2", n=10**5)
    names = [result.name for result in plan.results]
    order = [names.index(name) for name in ("SubsetSelection", "ProjectiveGeometryResponse")]
    assert order[0] < order[1] < names.index("HadamardResponse")


def test_several_blocks_serve_where_one_block_fits_badly() -> None:
    """With 10^5 values, the best prime at e = 8103 makes more than 2^25 reports in one block."""
    domain, epsilon = Integers(1, 10**5), 9.0
    one, best = (
        warner.mechanisms.ProjectiveGeometryResponse(domain, epsilon, blocks=h) for h in (1, None)
    )
    assert best.blocks > 1 and best.n_reports < 2**25
    even = np.full(10**5, 1e-5)
    assert one.channel().variance(even).sum() > 1.5 * best.channel().variance(even).sum()
    assert best.parameters() == {"prime": best.prime, "blocks": best.blocks}


def test_one_block_is_kept_where_several_save_little() -> None:
    assert warner.mechanisms.ProjectiveGeometryResponse(Integers(1, 3000), 2.0).blocks == 1
    assert (
        warner.mechanisms.ProjectiveGeometryResponse(Integers(1, 5), 1.0, prime=2, blocks=3).blocks
        == 3
    )


def test_values_in_blocks_are_estimated_without_bias() -> None:
    """A wrong inverse that forgets the share of the block is 40 standard errors off."""
    mechanism = warner.mechanisms.ProjectiveGeometryResponse(
        Integers(1, 40), 2.0, prime=3, blocks=2
    )
    rng, n = np.random.default_rng(5), 200_000
    answers = np.where(rng.random(n) < 0.7, rng.integers(1, 6, n), 30)
    tally = mechanism.tally(mechanism.randomize(answers, rng=rng))
    shares = warner.estimate(tally, warner.Inversion()).probabilities
    truth = np.bincount(answers - 1, minlength=40) / n
    error = np.sqrt(mechanism.channel().variance(truth) / n)
    assert (abs(shares - truth) < 5 * error).all()
    posterior = warner.estimate(tally).probabilities
    assert ((posterior - truth) ** 2).sum() < ((shares - truth) ** 2).sum()
