"""The table of the largest shares holds as a whole, though the reports chose which values it shows."""

from __future__ import annotations

import numpy as np
import pytest

from warner import Categorical, Inversion, RandomizedResponse, estimate

VALUES, SHOWN, TALLIES = 24, 6, 40


def test_intervals_and_ranks_of_the_largest_shares_hold_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rejects intervals that hold one share each: the largest of equal shares are overestimated.

    All shares are 1/24, so every rank is possible and the choice is of noise alone. If the table
    holds with probability 0.95, it fails 8 times or more in 40 with probability 0.001. Intervals of
    single shares fail in two of five tallies, so they fail fewer than 8 times with probability
    0.002.
    """
    monkeypatch.setattr("warner.results.share_noise._DRAWS", 200)  # enough for this question
    rng = np.random.default_rng(11)
    mechanism = RandomizedResponse(Categorical([f"s{i}" for i in range(VALUES)]), 1.0)
    truth, failed, alone = 1 / VALUES, 0, 0
    for _ in range(TALLIES):
        reports = mechanism.randomize(
            np.array(mechanism.domain.labels)[rng.integers(0, VALUES, 2000)], rng
        )
        result = estimate(mechanism.tally(reports), Inversion())
        top = result.top(SHOWN)
        # Rank 1 and rank 24 are both right for equal shares: low is 1 and high is 24.
        holds = (top.bounds[:, 0] <= truth) & (truth <= top.bounds[:, 1])
        failed += not (holds.all() and (top.ranks == [1, VALUES]).all())
        single = result.interval(kind="wald")[top.places]
        alone += not ((single[:, 0] <= truth) & (truth <= single[:, 1])).all()
    assert failed < 8
    assert alone > 12
