"""True distributions: what is meant as shares, and what as answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from warner import Categorical, Integers, Interval
from warner.design.comparison import truths_of
from warner.errors import ArgumentError, ValuesError

UNIT = Interval(0.0, 1.0, 10)


@pytest.mark.parametrize("domain", [UNIT, Integers(0, 9), Categorical(list("abcdefghij"))])
@pytest.mark.parametrize(
    ("shares", "message"),
    [
        (np.full(10, 0.11), "sum 1.1"),
        (np.full(9, 1 / 9), r"must have shape \(10,\); got \(9,\)"),
        (np.r_[-0.1, np.full(9, 1.1 / 9)], "entries >= 0"),
        (np.full(10, np.nan), "must be a distribution"),
        ([], r"must have shape \(10,\)"),
    ],
)
def test_wrong_shares_are_refused_as_shares(domain: Any, shares: Any, message: str) -> None:
    """Rejects shares that count as answers: 10 shares of 0.11 were ten answers 0.11."""
    with pytest.raises(ArgumentError, match=message):
        truths_of({"mine": shares}, domain)


def test_answers_are_counted() -> None:
    answers = [0.05, 0.05, 0.95]
    assert truths_of(answers, UNIT)["truth"].tolist() == [2 / 3, *[0] * 8, 1 / 3]
    assert truths_of([0, 9], Integers(0, 9))["truth"][[0, 9]].tolist() == [0.5, 0.5]
    with pytest.raises(ValuesError, match="position 2"):
        truths_of([0.1, 0.2, 1.2], UNIT)
    with pytest.raises(ArgumentError, match=r"must have shape \(10,\)"):
        truths_of(np.array([3.0, 4.5]), Integers(0, 9))
