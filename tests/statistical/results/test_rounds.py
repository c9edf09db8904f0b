"""Differences between rounds that the same people have answered."""

from __future__ import annotations

import numpy as np
import pytest

from tests.statistical.results._estimates import _estimated
from warner import Categorical, RandomizedResponse, SubsetSelection, compare_groups
from warner.estimators import Inversion
from warner.mechanisms import Permanent

RUNS, PEOPLE = 400, 500
DOMAIN = Categorical(["a", "b", "c", "d", "e", "f"])


@pytest.mark.parametrize("of", [SubsetSelection, RandomizedResponse])
def test_intervals_of_rounds_hold_at_both_ends(of: type) -> None:
    """It rejects rounds taken as of different people (their interval is a third too wide where all
    answered alike) and the shared noise taken for granted (too short where all changed)."""
    rng = np.random.default_rng(5)
    weekly = Permanent(of(DOMAIN, 1.5), 2.5, values=2)
    held = {"kept": [0, 0, 0.0], "changed": [0, 0, 0.0]}
    theta = np.array([0.4, 0.2, 0.1, 0.1, 0.1, 0.1])
    for _ in range(RUNS):
        first = rng.choice(6, PEOPLE, p=theta)
        memo = weekly.memo.randomize_encoded(first, _source(rng))
        for name, second in (("kept", first), ("changed", rng.choice(6, PEOPLE, p=theta))):
            again = memo
            if name == "changed":
                again = weekly.memo.randomize_encoded(second, _source(rng))
            # The interval is that of the unbiased estimates, whatever method there is.
            rounds = [
                _estimated(weekly.tally(_reports(weekly, kept, rng)), Inversion())
                for kept in (memo, again)
            ]
            row = compare_groups(*rounds, same_people=True).rows()[0]
            counts = held[name]
            counts[0] += row["low"] <= 0 <= row["high"]
            counts[1] += row["low_if_kept"] <= 0 <= row["high_if_kept"]
            counts[2] += (row["high"] - row["low"]) / (row["high_if_kept"] - row["low_if_kept"])
    kept, changed = held["kept"], held["changed"]
    # Of 400 runs 380 are due; 4 standard errors are 17.
    assert kept[0] >= 394 and 363 <= kept[1] <= 397
    assert 363 <= changed[0] <= 397 and changed[1] <= 372
    assert kept[2] / RUNS > 1.2


def _source(rng: np.random.Generator):  # type: ignore[no-untyped-def]
    from warner._core.sampling import Source

    return Source(rng)


def _reports(weekly: Permanent, memo: dict[str, np.ndarray], rng: np.random.Generator):  # type: ignore[no-untyped-def]
    from warner.reports.reports import Reports

    return Reports(weekly.header, weekly.degrade(memo, _source(rng)), True)
