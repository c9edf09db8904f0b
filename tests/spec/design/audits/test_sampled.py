"""Samples find parts that say too much."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warner
from tests.spec.mechanisms._survey import AGE, BOTH, SEX, _survey
from warner import PerAttribute, Product, RandomizedResponse


def test_samples_find_parts_that_say_too_much() -> None:
    class Blunt(RandomizedResponse):
        """Says the truth to everyone who asks twice."""

        def _sample(self, index: np.ndarray, source: Any) -> dict[str, np.ndarray]:
            return {"report": index}

    assert warner.audit(_survey(), samples=20_000).holds
    worse = warner.audit(
        PerAttribute(BOTH, {"sex": Blunt(SEX, 1.0), "age": RandomizedResponse(AGE, 1.0)}),
        samples=20_000,
    )
    assert not worse.holds and "samples show" in str(worse.violation)
    names = [f"q{i}" for i in range(9)]
    sensitive_mask = PerAttribute(
        Product(**dict.fromkeys(names, AGE)),
        {k: lambda d: warner.UtilityOptimizedRR(d, 1.0, [0]) for k in names},
    )
    assert warner.audit(sensitive_mask).holds
    with pytest.raises(warner.errors.ArgumentError, match="one by one"):
        warner.audit(sensitive_mask, samples=1000)
