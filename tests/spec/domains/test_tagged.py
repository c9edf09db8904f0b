"""Domains with tags encode and decode."""

from __future__ import annotations

import numpy as np
import pytest

import warner
from warner import Integers
from warner.domains import Tagged, from_spec


def test_tagged_domains_encode_and_decode() -> None:
    tagged = Tagged(warner.Grid(2, 2), ["home"])
    assert tagged.encode([(1, 1), "@home", (0, 1)]).tolist() == [3, 4, 1] and tagged.decode(
        [4, 0]
    ) == ["@home", (0, 0)]
    assert from_spec(tagged.spec()) == tagged
    with pytest.raises(warner.errors.ValuesError) as error:
        tagged.encode([(0, 0), "@home", (5, 5)])
    assert error.value.position == 2 and error.value.__context__ is None
    numbers = Tagged(Integers(0, 3), ["home"])
    assert numbers.encode(np.array([1, 2])).tolist() == [1, 2]
    with pytest.raises(warner.errors.ArgumentTypeError):
        Tagged(numbers, ["work"])
