"""Dependence of attributes is an error of the independence estimate alone. Seeded, so that nothing flakes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.statistical.results._pairs import _family, _tallies
from warner import Inversion
from warner.estimators import Independent


def test_dependence_is_an_error_of_independence_only() -> None:
    """[P5 fig 5]: absolute errors of RR-Ind-Joint are alike at V = 0 and 0.9; those of
    RR-Independent grow with V, however many people answer.
    """
    errors = {
        (v, name): np.mean(
            [
                np.abs(method.fit(each).shares - _family(v)).mean()
                for each in _tallies(_family(v), 50_000, 40, 7)
            ]
        )
        for v in (0.0, 0.45, 0.9)
        for name, method in (
            ("joint", Inversion()),
            ("independent", Independent(method=Inversion())),
        )
    }
    assert errors[0.9, "joint"] == pytest.approx(errors[0.0, "joint"], rel=0.15)
    assert errors[0.9, "independent"] == pytest.approx(2 * errors[0.45, "independent"], rel=0.05)
    assert errors[0.9, "independent"] > 10 * errors[0.0, "independent"]
