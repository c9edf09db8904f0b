"""What joint estimates say of the dependence of two attributes."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from tests.spec.results._attributes import DOMAIN, family, fitted, keep, seen
from warner import Estimate, Integers, Inversion, Product
from warner.channels import KroneckerChannel
from warner.metrics import cramers_v


def test_the_test_family_has_the_association_that_it_is_named_for() -> None:
    marginal = np.array([0.5, 0.3, 0.2])
    for v in (0.0, 0.3, 1.0):
        assert cramers_v(family(marginal, v)) == pytest.approx(v, abs=1e-12)
    assert cramers_v([[0, 5, 5], [0, 5, 5]]) == 0


@pytest.mark.parametrize(
    "table",
    [[[1.0, 2.0]], [1.0, 2.0], [[0, 0], [0, 0]], [[1, -1], [1, 1]], [[1, float("nan")], [1, 1]]],
)
def test_tables_without_an_association_are_refused(table: object) -> None:
    with pytest.raises(warner.errors.ArgumentError):
        cramers_v(table)


def test_association_of_answers_that_were_not_randomised_is_the_tables_up_to_its_correction() -> (
    None
):
    marginal = np.array([0.5, 0.3, 0.2])
    pair = Product(a=Integers(0, 2), b=Integers(0, 2))
    data = seen(KroneckerChannel([keep(3, 1.0)] * 2), family(marginal, 0.4).ravel(), 10**6, pair)
    table = data.weights.reshape(3, 3)
    v = Estimate(Inversion().fit(data), data, Inversion()).cramers_v("a", "b")
    assert v == pytest.approx(cramers_v(table), abs=1e-4)
    low, high = v.interval(replicates=20, rng=np.random.default_rng(0))
    assert 0.39 < low < v < high < 0.41


def test_association_is_refused_where_it_cannot_be_known() -> None:
    whole, _ = fitted(Inversion())
    with pytest.raises(warner.errors.ArgumentError, match="distinct"):
        whole.cramers_v("sex", "sex")
    with pytest.raises(warner.errors.ArgumentError, match="respondents"):
        whole.cramers_v("sex", "age").interval(target="respondents")
    bits = warner.UnaryEncoding(DOMAIN, 2.0)
    known_by_sums = warner.estimate(bits.tally(bits.randomize(DOMAIN.decode(np.arange(24)))))
    with pytest.raises(warner.errors.ArgumentError, match="whole reports"):
        known_by_sums.cramers_v("sex", "age")
