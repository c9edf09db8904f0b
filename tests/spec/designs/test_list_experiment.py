"""List experiments: what R's ``list`` prints, edges, refusals, tables."""

from __future__ import annotations

import json
import pickle
from functools import cache

import numpy as np
import pytest

from tests.refusals import refused
from tests.spec.designs._by_r import DIFFERENCES, EFFECTS, LISTS
from warner.designs import DesignEffect, ListExperiment, ListShares
from warner.errors import ArgumentError, ArgumentTypeError, EmptyError


@cache
def _estimated(name: str, *args: str, **options: bool) -> ListShares:
    items, counts = LISTS[name]
    return ListExperiment(items).estimate(counts, *args, **options)


def _effect(name: str, **options: bool) -> DesignEffect:
    items, counts = LISTS[name]
    return ListExperiment(items).design_effect(counts, **options)


@pytest.mark.parametrize("name", DIFFERENCES)
def test_differences_are_those_of_ictreg(name: str) -> None:
    # ictreg's HC3 variances have n - 1 twice, the unbiased variance of a mean has n (n - 1).
    result = _estimated(name)
    share, error = DIFFERENCES[name]
    assert result["yes"] == pytest.approx(share, rel=1e-9) == pytest.approx(result.difference)
    variances = []
    for c in result.counts:
        y, n = np.arange(len(c)), c.sum()
        variances.append(float(c @ (y - c @ y / n) ** 2) / (n - 1) / n)
    assert result["yes"].error == pytest.approx(sum(variances) ** 0.5, rel=1e-12)
    hc3 = sum(v * n / (n - 1) for v, n in zip(variances, map(np.sum, result.counts), strict=True))
    assert hc3**0.5 == pytest.approx(error, rel=1e-9)
    assert round(result["yes"].error, 3) == round(error, 3)


def test_the_binomial_maximum_is_at_least_as_high_as_that_of_ictreg() -> None:
    # list 9.2.6, y ~ 1, method "ml", constrained.
    result = _estimated("A", "binomial")
    assert result.maximum is not None and result.log_likelihood is not None
    assert result.log_likelihood >= -2665.21001304423
    assert result.maximum.estimate == pytest.approx(
        [-0.265019471175744, -0.240244343327947], abs=1e-3
    )
    errors = np.sqrt(result.maximum.covariance.diagonal())
    assert errors == pytest.approx([0.164605040347082, 0.0365081521454287], rel=1e-4)
    # The gradient is 0 where ictreg stops short of it.
    assert np.abs(result.maximum.model.value_and_gradient(result.maximum.estimate)[1]).max() < 1e-5


def test_correlated_items_are_estimated_where_ictreg_fails() -> None:
    # ictreg, overdispersed: "system is exactly singular".
    plain, spread = _estimated("A", "binomial"), _estimated("A", "beta-binomial")
    assert plain.log_likelihood is not None and spread.log_likelihood is not None
    assert spread.log_likelihood >= plain.log_likelihood
    low, high = spread["correlation"].interval()
    assert low == 0 and 0.01 < high < 0.1
    # Where the items are correlated, the wrong program says that half of the people carry it.
    rng = np.random.default_rng(1)
    share, n = 0.1, 4000
    items = rng.binomial(4, rng.beta(0.5, 0.5, 2 * n))
    carries = rng.random(n) < share
    counts = [np.bincount(items[:n], minlength=5), np.bincount(items[n:] + carries, minlength=6)]
    design = ListExperiment(4)
    given = [dict(enumerate(c.tolist())) for c in counts]
    low, high = design.estimate(given, "beta-binomial")["yes"].interval()
    assert low <= share <= high
    assert design.estimate(given, "binomial")["yes"].interval()[0] > share


def test_a_ceiling_is_noticed() -> None:
    # Half of those to whom all items hold hide it: without a ceiling the share is too small.
    plain, ceiling = _estimated("D", "binomial"), _estimated("D", "binomial", ceiling=True)
    both = _estimated("D", "binomial", floor=True, ceiling=True)
    assert plain.log_likelihood is not None and ceiling.log_likelihood is not None
    assert ceiling.log_likelihood > plain.log_likelihood + 5
    low, high = ceiling["ceiling"].interval()
    assert low < 0.5 < high and low > 0.1
    assert ceiling["yes"] > plain["yes"]
    assert both["floor"].interval()[0] == 0
    assert both.log_likelihood is not None and both.log_likelihood >= ceiling.log_likelihood


def test_items_may_differ_between_carriers_and_others() -> None:
    result = _estimated("A", "binomial", same=False)
    together = _estimated("A", "binomial")
    assert list(result) == ["yes", "items of no", "items of yes"]
    assert result.log_likelihood is not None and together.log_likelihood is not None
    assert result.log_likelihood >= together.log_likelihood


@pytest.mark.parametrize("name", EFFECTS)
def test_the_test_of_design_effects_is_that_of_list(name: str) -> None:
    p, shares, errors = EFFECTS[name]
    effect = _effect(name)
    assert effect.shares.round(4).tolist() == pytest.approx(shares, abs=1e-12)
    assert effect.errors.round(4).tolist() == pytest.approx(errors, abs=1e-12)
    assert effect.p == pytest.approx(p, abs=1e-3) and (p > 1e-3 or effect.p == pytest.approx(p))


def test_all_shares_together_are_tested_too() -> None:
    assert _effect("C", select=False).p == pytest.approx(1.09045639741327e-08)
    assert _effect("D").p == _effect("D", select=False).p == 1.0
    # list compares with the spread of the three estimates, and so tests the first one alone: .0443.
    # One standard error is no sign that a share is surely positive.
    assert _effect("race").p == pytest.approx(0.154, abs=1e-3)


def test_estimates_at_the_edge_have_intervals() -> None:
    nobody = [{0: 50, 1: 100, 2: 50}, {0: 50, 1: 100, 2: 50, 3: 0}]
    design = ListExperiment(2)
    for method in ("difference", "binomial", "beta-binomial"):
        share = design.estimate(nobody, method)["yes"]
        low, high = share.interval()
        assert share == pytest.approx(0.0, abs=1e-9) and low == 0 and 0.01 < high < 0.3
    everybody = [{0: 50, 1: 100, 2: 50}, {0: 0, 1: 50, 2: 100, 3: 50}]
    for method in ("difference", "binomial"):
        share = design.estimate(everybody, method)["yes"]
        low, high = share.interval()
        assert share == pytest.approx(1.0, abs=1e-9) and high == 1 and 0.7 < low < 0.99


def test_results_are_tables_and_pickles() -> None:
    result = _estimated("A")
    text = str(result.table())
    assert "List of 3 + 1 items, 985 people in the control group and 1,015 in" in text
    assert "Method: difference of the means." in text and "43.4 %" in text
    assert json.loads(json.dumps(result.to_json()))["interval"]["kind"] == "wald"
    # The test of the list is printed below the share that it speaks for or against.
    for name in ("A", "C"):
        shares, effect = _estimated(name), _effect(name)
        assert f"Test of the list: {effect.text}" in " ".join(str(shares.table()).split())
        assert shares.to_json()["design_effect"] == {"p": effect.p}
    likely = _estimated("A", "binomial")
    again = pickle.loads(pickle.dumps(likely["yes"]))
    assert again.interval().tolist() == likely["yes"].interval().tolist()
    assert "p = 4.27e-09. Some shares are so far below 0" in str(_effect("C").table())
    assert "there is no sign" in str(_effect("A").table())


def test_mistakes_are_refused() -> None:
    design = ListExperiment(2)
    control, treated = {0: 5, 1: 5, 2: 5}, {0: 5, 1: 5, 2: 5, 3: 5}
    refused(ArgumentError, "items", ListExperiment, 0)
    refused(ArgumentTypeError, "control group and for the treated", design.estimate, control)
    refused(ArgumentError, "two groups", design.estimate, [control])
    refused(
        ArgumentError,
        "each of the words '0', '1', '2' once, and no other word; got '3'",
        design.estimate,
        [treated, control],
    )
    refused(ArgumentError, "a count for '3'", design.estimate, [control, control])
    refused(EmptyError, "treated group", design.estimate, [control, dict.fromkeys(range(4), 0)])
    refused(ArgumentError, "difference", design.estimate, [control, treated], "lm")
    for options in ({"floor": True}, {"ceiling": True}, {"same": False}):
        refused(ArgumentError, "method='binomial'", design.estimate, [control, treated], **options)
    result = design.estimate([control, treated])
    refused(ArgumentError, "yes", result.__getitem__, "items")


def test_numbers_that_nobody_reports_do_not_end_the_test_of_a_list() -> None:
    """Rejects a matrix that is not positive definite, where two shares are one and the same."""
    design = ListExperiment(2)
    assert design.design_effect([{0: 0, 1: 0, 2: 30}, {0: 20, 1: 0, 2: 0, 3: 10}]).p < 1e-6
    assert design.design_effect([{0: 20, 1: 0, 2: 10}, {0: 14, 1: 6, 2: 8, 3: 2}]).p > 0.05
