"""The level of the significance threshold, and where the rest of the mass goes."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

import warner
from warner import Integers, Status
from warner.errors import ArgumentError
from warner.estimators import Inversion
from warner.results.from_tally import likelihood_data


def _data() -> Any:
    mechanism = warner.RandomizedResponse(Integers(0, 9), 1.0)
    rng = np.random.default_rng(1)
    index = rng.choice(10, 4000, p=[0.5, 0.2, 0.08, 0.06, 0.05, 0.04, 0.03, 0.02, 0.01, 0.01])
    return likelihood_data(mechanism.tally(mechanism.randomize(index.tolist(), rng)))


def test_the_rest_is_discarded_and_the_kept_estimates_stay_unbiased() -> None:
    """[P2 sec 2.5]."""
    data = _data()
    raw = Inversion().fit(data).shares
    fit = Inversion("threshold", rest="discard").fit(data)
    kept = fit.shares > 0
    assert kept.sum() < 10 and fit.status is Status.OUTSIDE_SIMPLEX
    np.testing.assert_array_equal(fit.shares[kept], raw[kept])
    spread = Inversion("threshold").fit(data).shares
    np.testing.assert_array_equal(spread[kept], raw[kept])
    assert len(np.unique(spread[~kept])) == 1


def test_the_level_is_that_of_a_bonferroni_test() -> None:
    data = _data()
    raw = Inversion().fit(data).shares
    sd = np.sqrt(data.channel.variance_at_zero(Inversion("project").fit(data).shares) / data.n)
    for alpha in (0.001, 0.05, 0.5, 0.9):
        kept = Inversion("threshold", alpha=alpha, rest="discard").fit(data).shares > 0
        np.testing.assert_array_equal(kept, raw > NormalDist().inv_cdf(1 - alpha / 10) * sd)
    default = Inversion("threshold").fit(data).shares
    np.testing.assert_array_equal(default, Inversion("threshold", alpha=0.05).fit(data).shares)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"alpha": 0.01}, "alpha: belongs to the constraint 'threshold'"),
        ({"constraint": "project", "rest": "discard"}, "rest: belongs to the constraint"),
        ({"constraint": "threshold", "alpha": 1.0}, "alpha: must lie strictly between"),
        ({"constraint": "threshold", "rest": "keep"}, "rest: must be one of"),
    ],
)
def test_options_of_the_threshold_are_checked(arguments: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ArgumentError, match=complaint):
        Inversion(**arguments)


def test_the_name_tells_what_was_changed() -> None:
    assert repr(Inversion("emp+thr")) == "Inversion(constraint='threshold')"
    assert (
        repr(Inversion("emp+thr", weights="equal", alpha=0.1, rest="discard"))
        == "Inversion(constraint='threshold', weights='equal', alpha=0.1, rest='discard')"
    )
