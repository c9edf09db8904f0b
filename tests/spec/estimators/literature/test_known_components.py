"""Prior knowledge of mixture reduction, its pre-merge, and the BIC that it tells."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import warner
from warner import Categorical, Integers
from warner.errors import ArgumentError, ArgumentTypeError, ImpossibleReportError
from warner.estimators.literature import MixtureReduction
from warner.results.from_tally import likelihood_data

LABELS = Categorical([f"v{i}" for i in range(40)])


def _tally(epsilon: float = 1.0) -> Any:
    mechanism = warner.RandomizedResponse(LABELS, epsilon)
    rng = np.random.default_rng(0)
    theta = np.array([0.4, 0.3, 0.2, *[0.1 / 37] * 37])
    index = rng.choice(40, 2000, p=theta)
    return mechanism.tally(mechanism.randomize(LABELS.decode(index), rng))


def test_the_reduction_goes_on_from_known_components() -> None:
    method = MixtureReduction(groups=[["v0", "v1"]], absent=["v39", "v38"])
    result = warner.estimate(_tally(), method)
    shares = result.probabilities
    assert shares[0] == shares[1] and shares[38:].tolist() == [0, 0]
    assert result.components is not None and 10 <= result.components < 37


def test_tiny_estimates_are_merged_before_the_first_fit_too() -> None:
    """The wrong program merges the same values whatever ``tiny`` is."""
    data = likelihood_data(_tally())
    apart = [
        len(np.unique(MixtureReduction(premerge=True, tiny=tiny, k_min=40).fit(data).shares))
        for tiny in (0.0, 0.5, 1.5)
    ]
    assert 40 > apart[0] > apart[1] > apart[2] > 2


def test_a_premerge_leaves_known_components_as_they_are() -> None:
    data = likelihood_data(_tally(4.0))
    low = int(np.argmin(data.channel.invert(data.weights)))
    method = MixtureReduction(premerge=True, k_min=40, groups=[["v0", f"v{low}"]])
    shares = method.fit(data).shares
    assert shares[low] == shares[0] > 0.1


def test_the_bic_stands_in_the_estimate_and_its_json() -> None:
    result = warner.estimate(_tally(), MixtureReduction())
    assert result.bic is not None and result.log_likelihood is not None and result.components
    expected = -2 * result.log_likelihood + result.components * np.log(2000)
    assert result.bic == pytest.approx(expected, rel=1e-12)
    written = json.loads(json.dumps(result.to_json()))
    assert written["bic"] == result.bic and written["components"] == result.components
    plain = warner.estimate(_tally(), warner.MaximumLikelihood())
    assert plain.bic is None and "bic" not in plain.to_json()


def test_a_lower_bic_is_why_fewer_components_were_kept() -> None:
    data = likelihood_data(_tally())
    reduced = MixtureReduction().fit(data)
    alone = MixtureReduction(operation=None).fit(data)
    assert reduced.bic is not None and alone.bic is not None and reduced.bic < alone.bic


def test_an_absent_value_that_was_reported_truthfully_is_refused() -> None:
    domain = Integers(0, 3)
    mechanism = warner.UtilityOptimizedRR(domain, 1.0, sensitive=[0])
    data = likelihood_data(mechanism.tally(mechanism.reports([0, 1, 2, 3])))
    with pytest.raises(ImpossibleReportError, match="absent: names values without which"):
        MixtureReduction(absent=[3]).fit(data)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"groups": [["v0", "v1"], ["v1", "v2"]]}, "groups: must name a value in one place only"),
        ({"groups": [["v0", "v1"]], "absent": ["v1"]}, "absent: must name a value in one place"),
        ({"groups": [["v0", "w"]]}, "groups: must be values of the domain of 40; got 'w'"),
        ({"absent": LABELS.labels}, "absent: must leave a value"),
    ],
)
def test_knowledge_that_contradicts_itself_or_the_domain_is_refused(
    arguments: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ArgumentError, match=complaint):
        MixtureReduction(**arguments).fit(likelihood_data(_tally()))


@pytest.mark.parametrize(
    ("arguments", "error", "complaint"),
    [
        ({"groups": "ab"}, ArgumentTypeError, "groups: must be lists of values"),
        ({"groups": ["ab"]}, ArgumentTypeError, "groups: must be lists of values"),
        ({"absent": "a"}, ArgumentTypeError, "absent: must be a list of values"),
        ({"tiny": 1.0}, ArgumentError, "tiny: goes with premerge"),
        ({"tiny": -1.0, "premerge": True}, ArgumentError, "tiny: must not be negative"),
    ],
)
def test_forms_are_checked_at_once(
    arguments: dict[str, Any], error: type[Exception], complaint: str
) -> None:
    with pytest.raises(error, match=complaint):
        MixtureReduction(**arguments)
