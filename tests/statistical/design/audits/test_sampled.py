"""Bounds of epsilon from samples: below the exact epsilon, and above what a wrong sampler may spend."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from tests.registry import ALL, smallest
from tests.statistical.mechanisms._chi_square import Sampler, _honest
from tests.statistical.mechanisms._mutants import _olh_keeps_half, _rappor_never_clears
from warner._core.sampling import Source
from warner.design.audits import sampled_bound
from warner.mechanisms import Mechanism
from warner.mechanisms.composite import with_schema_types
from warner.reports.reports import Reports


@pytest.mark.parametrize("name", ALL)
def test_the_sampled_bound_is_below_the_exact_epsilon(name: str) -> None:
    mechanism = smallest(name)
    assert _bound(mechanism, 100_000) <= mechanism.guarantee.epsilon


def test_the_sampled_bound_is_close_where_there_is_little_to_see() -> None:
    assert 0.97 < _bound(warner.RandomizedResponse(warner.Integers(0, 1), 1.0), 10**6) <= 1.0
    assert (
        warner.audit(smallest("RandomizedResponse"), samples=2000).sampled_lower_bound is not None
    )


def _audited(name: str, sampler: Sampler, epsilon: float, samples: int = 100_000) -> float:
    return _bound(smallest(name, epsilon), samples, sampler)


def _bound(mechanism: Mechanism, samples: int, sampler: Sampler = _honest) -> float:
    source = Source(np.random.default_rng(3))

    def draw(index: np.ndarray) -> np.ndarray:
        return Reports(
            mechanism.header, with_schema_types(mechanism, sampler(mechanism, index, source))
        ).record_array()

    return sampled_bound(mechanism, samples, draw).bound


def test_audit_by_sampling_catches_rappor_that_never_clears() -> None:
    assert _audited("UnaryEncoding optimized", _rappor_never_clears, 1.0) > 3


def test_audit_by_sampling_catches_hashing_that_ignores_epsilon() -> None:
    assert (
        _audited("LocalHashing optimized", _olh_keeps_half, 0.5, 1_000_000) > 0.55
    )  # ln(g - 1) = 0.693 at a nominal 0.5


def test_audit_by_sampling_catches_the_order_of_a_subset() -> None:
    """multi-freq-ldpy's SS_Client puts the true value first: ln(w e (K-1)/(K-w)) = 4.59 at a
    nominal 1, K = 100.
    """
    mechanism = warner.SubsetSelection(warner.Integers(0, 99), 1.0)
    source = Source(np.random.default_rng(3))

    def ordered(index: np.ndarray) -> np.ndarray:
        members = np.unpackbits(mechanism.randomize_index(index, source)["bits"], axis=1)[:, :100]
        is_enumerable = np.nonzero(members)[1].reshape(len(index), -1)
        has = members[np.arange(len(index)), index] == 1
        first = np.argmax(is_enumerable == index[:, None], axis=1)
        rows = np.arange(len(index))
        is_enumerable[rows[has], first[has]], is_enumerable[rows[has], 0] = (
            is_enumerable[rows[has], 0],
            index[has],
        )
        return is_enumerable.astype(np.uint8)

    assert sampled_bound(mechanism, 50_000, ordered).bound > 3.5
    assert _bound(mechanism, 50_000) <= 1.0
