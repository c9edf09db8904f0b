"""The information of sets of values against the sum over all sets."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from warner import Integers, SubsetSelection, UnaryEncoding, UtilityOptimizedRappor
from warner.channels import DenseChannel

DOMAIN = Integers(0, 5)
SETS = {
    "symmetric": UnaryEncoding,
    "optimized": lambda d, e: UnaryEncoding(d, e, variant="oue"),
    "keep 0.9": lambda d, e: UnaryEncoding(d, e, variant=0.9),
    "subsets": SubsetSelection,
    "subsets of four": lambda d, e: SubsetSelection(d, e, size=4),
    "sensitive": lambda d, e: UtilityOptimizedRappor(d, e, sensitive=[0, 1]),
}


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_the_integral_is_the_sum_over_all_sets(name: str, epsilon: float) -> None:
    """Also where shares are 0, and where a report then has the probability 0."""
    mechanism = SETS[name](DOMAIN, epsilon)
    listed = DenseChannel(mechanism.probabilities().astype(np.float64))
    rng = np.random.default_rng(0)
    for theta in (rng.dirichlet(np.ones(6)), np.array([0.5, 0, 0.2, 0, 0, 0.3]), np.eye(6)[3]):
        finite, infinite = mechanism.channel().information(theta)
        expected, others = listed.information(theta)
        np.testing.assert_allclose(finite, expected, rtol=1e-10)
        assert np.array_equal(infinite.any(axis=0), others.any(axis=0))


def test_the_information_of_many_values_has_the_share_identity() -> None:
    """I theta = 1 for every channel, since theta's = 1 for every report."""
    rng = np.random.default_rng(1)
    for size, mechanism in ((200, UnaryEncoding), (40, SubsetSelection)):
        theta = rng.dirichlet(np.full(size, 0.5))
        finite, _ = mechanism(Integers(0, size - 1), 1.5).channel().information(theta)
        np.testing.assert_allclose(finite @ theta, 1, rtol=1e-9)
        np.testing.assert_allclose(finite, finite.T, rtol=1e-9)


def test_too_many_values_are_refused() -> None:
    huge = SubsetSelection(Integers(0, 2999), 1.0).channel()
    with pytest.raises(warner.errors.ArgumentError, match="too many values"):
        huge.information(np.full(3000, 1 / 3000))
