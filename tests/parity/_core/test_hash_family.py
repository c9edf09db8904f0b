"""The hash family against whole integers and known answers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from hypothesis import given, settings, strategies as st

from tests.parity._core._hash import _hash_slowly
from warner._core import hashing


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**26), st.integers(2, 2**16 - 1))
@settings(max_examples=200, deadline=None)
def test_hash_in_whole_integers(seed: int, x: int, g: int) -> None:
    assert int(hashing.buckets(np.array([seed]), np.array([x]), g)[0]) == _hash_slowly(seed, x, g)


def test_hash_known_answers() -> None:
    """The vectors that any other implementation of the family must reproduce."""
    vectors = json.loads((Path(__file__).parent / "hash_vectors.json").read_text())
    assert vectors["family"] == hashing.MIXED_FAMILY
    assert len(vectors["vectors"]) >= 64
    for seed, index, g, bucket in vectors["vectors"]:
        assert (
            int(hashing.buckets(np.array([seed]), np.array([index]), g)[0])
            == bucket
            == _hash_slowly(seed, index, g)
        )
