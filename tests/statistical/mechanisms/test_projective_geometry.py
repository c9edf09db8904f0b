"""The sampler of projective geometry response, and wrong samplers that the test rejects."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import chisquare

import warner
from warner._core.sampling import Source

MECHANISM = warner.mechanisms.ProjectiveGeometryResponse(warner.Integers(0, 12), 1.5, prime=3)
PEOPLE = 40_000
Sampler = Callable[[np.ndarray, Source], np.ndarray]


def _honest(index: np.ndarray, source: Source) -> np.ndarray:
    return MECHANISM._sample(index, source)["report"]


def _digit_is_not_negated(index: np.ndarray, source: Source) -> np.ndarray:
    """The digit that the equation gives has the wrong sign: 2 - u in place of u."""
    y = _honest(index, source)
    return np.where(y > 0, (y - 1) // 3 * 3 + 1 + (-(y - 1)) % 3, y)


def _value_is_not_read_backwards(index: np.ndarray, source: Source) -> np.ndarray:
    space = MECHANISM._points.space
    numbers = space.numbers(index)
    digits = np.stack([numbers // 3**k % 3 for k in range(space.dimension)])
    first = np.argmax(digits > 0, axis=0)
    scaled = digits * digits[first, np.arange(len(index))] % 3  # 2 is its inverse modulo 3
    backwards = sum(scaled[k] * 3 ** (space.dimension - 1 - k) for k in range(space.dimension))
    return _honest(space.index_of(np.asarray(backwards)), source)


def _other_side_may_be_orthogonal(index: np.ndarray, source: Source) -> np.ndarray:
    """The textbook shortcut: any point instead of one that does not support the value."""
    space, n = MECHANISM._points.space, len(index)
    include = source.below(MECHANISM._include, n)
    on = space.draw(index, np.ones(n, dtype=bool), source)
    return np.where(include, on, source.uniform(space.points, n))


def _p_value(sampler: Sampler) -> float:
    """The least p-value of chi-square tests of all values, times their number."""
    source, law = Source(np.random.default_rng(3)), MECHANISM.probabilities().astype(np.float64)
    least = 1.0
    for x in range(MECHANISM.domain.size):
        counts = np.bincount(sampler(np.full(PEOPLE, x), source), minlength=len(law))
        least = min(least, float(chisquare(counts, PEOPLE * law[:, x]).pvalue))
    return least * MECHANISM.domain.size


def test_reports_have_their_law() -> None:
    assert _p_value(_honest) > 1e-3


@pytest.mark.parametrize(
    "wrong", [_digit_is_not_negated, _value_is_not_read_backwards, _other_side_may_be_orthogonal]
)
def test_wrong_samplers_are_rejected(wrong: Sampler) -> None:
    assert _p_value(wrong) < 1e-9
