"""The true value leaves no trace in how subset selection draws its words."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from warner._core import sampling
from warner._core.sampling import Source


@pytest.mark.parametrize(("size", "members"), [(300, 80), (300, 5), (300, 290), (257, 1)])
def test_true_values_change_places_with_the_last_value_only(size: int, members: int) -> None:
    """With the same words, the subset of a value is that of the last value, with the two exchanged.

    So the words do not depend on the value, in either method, nor does their number.
    """
    mechanism = warner.SubsetSelection(warner.Integers(1, size), 1.0, size=members)
    n, last = 50, size - 1
    words, found = [], []
    for value in (last, 0, 7, 8, 131, last - 1):
        rng = np.random.default_rng(9)
        packed = mechanism._sample(np.full(n, value), Source(rng))["bits"]
        bits = np.unpackbits(packed, axis=1, count=size)
        bits[:, [value, last]] = bits[:, [last, value]]
        found.append(bits)
        words.append(rng.bit_generator.state)
    assert (found[0].sum(axis=1) == members).all()
    for bits, state in zip(found, words, strict=True):
        assert np.array_equal(bits, found[0])
        assert state == words[0]


def test_batches_are_independent_draws_of_one_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports do not repeat from one batch to the next, and all batches are filled."""
    mechanism = warner.SubsetSelection(warner.Integers(1, 300), 1.0)
    monkeypatch.setattr(sampling, "_SET_BYTES", 1)
    monkeypatch.setattr(sampling, "_SETS", (7, 7))
    packed = mechanism._sample(np.arange(100) * 3, Source(np.random.default_rng(1)))["bits"]
    assert (np.bitwise_count(packed).sum(axis=1) == mechanism.subset).all()
    assert len(np.unique(packed, axis=0)) == 100
