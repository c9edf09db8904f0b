"""The budget of key-value reports against the ratio over all their reports."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from warner._core.exact import log_ratio
from warner.mechanisms.key_value import KeyValueDistribution
from warner.privacy.report_laws import TwoProbabilities


def _ratio(law: KeyValueDistribution, keys: int) -> Fraction:
    """The worst ratio over all reports and pairs of answers, a value standing on any of the cells."""
    dummy = law.other / law.cells
    own = [
        [law.keep * (law.value.high if y == v else law.value.low) for y in range(law.cells)]
        for v in range(law.cells)
    ]
    answers = list(product(range(keys), range(law.cells)))
    worst = Fraction(1)
    everything = (
        product(range(law.cells + 1), repeat=keys)
        if law.separate
        else product(range(keys), range(law.cells))
    )
    for report in everything:  # a digit of 0 is nothing
        chances = []
        for k, v in answers:
            if not law.separate:
                chances.append(own[v][report[1]] if report[0] == k else dummy)
                continue
            chance = Fraction(1)
            for j, digit in enumerate(report):
                mine, other = (
                    (1 - law.keep, 1 - law.other) if digit == 0 else (own[v][digit - 1], dummy)
                )
                chance *= mine if j == k else other
            chances.append(chance)
        worst = max(worst, max(chances) / min(chances))
    return worst


def _law(
    epsilon: float, second: float, first: float, keys: int, cells: int, apart: bool
) -> KeyValueDistribution:
    """Key-value reports with a window of one cell at epsilon_2 ``second`` and keys at epsilon_1
    ``first``.
    """
    e, one = Fraction(np.exp(second)), Fraction(np.exp(first))
    value = TwoProbabilities(e / (e + cells - 1), 1 / (e + cells - 1))
    keep, other = (
        (Fraction(1, 2), 1 / (one + 1)) if apart else (one / (one + keys - 1), 1 / (one + keys - 1))
    )
    return KeyValueDistribution(keep, other, value, cells, apart)


@pytest.mark.parametrize("apart", [True, False])
@pytest.mark.parametrize("keys", [2, 3, 4])
@pytest.mark.parametrize("cells", [2, 3])
def test_the_ratio_of_a_law_is_that_of_all_its_reports(apart: bool, keys: int, cells: int) -> None:
    for second, first in ((0.5, 0.7), (1.0, 0.2), (2.0, 0.1), (0.1, 1.5)):
        law = _law(1.0, second, first, keys, cells, apart)
        assert law.ratio() == _ratio(law, keys)


@pytest.mark.parametrize("apart", [True, False])
def test_wrong_budgets_are_seen(apart: bool) -> None:
    """epsilon = 1 = epsilon_2: keys at epsilon_1 = epsilon break it, at epsilon - epsilon_2 they
    waste it, and so do other slips.
    """
    cells = 3
    peak = float(_law(1.0, 1.0, 1.0, 3, cells, apart).value.high * cells)
    right = log_ratio(_law(1.0, 1.0, 1.0 - np.log(peak), 3, cells, apart).ratio(), 1)
    assert right == pytest.approx(1.0, abs=1e-12)
    wrong = log_ratio(_law(1.0, 1.0, 1.0, 3, cells, apart).ratio(), 1)
    assert wrong == pytest.approx(1.0 + np.log(peak), abs=1e-12) and wrong > 1.3
    half = _law(1.0, 0.5, 0.5, 3, cells, apart)
    assert (
        log_ratio(half.ratio(), 1) < 0.85
    )  # epsilon_1 = epsilon - epsilon_2 spends less than it may


def test_direct_keys_as_if_they_carried_no_value_break_the_budget() -> None:
    """The mutant that keeps keys w.p. e / (e + d - 1), randomised response over d and not over 2d."""
    law = _law(1.0, 1.0, 1.0, 4, 2, False)
    assert log_ratio(law.ratio(), 1) == pytest.approx(1 + np.log(2 * np.e / (np.e + 1)), abs=1e-12)
