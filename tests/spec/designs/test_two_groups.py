"""Designs of two groups: what R's packages print, refusals, tables."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

from tests.refusals import refused
from tests.spec.designs._by_r import AT_THE_EDGE, INSIDE, TwoGroups, word_counts
from warner import Categorical, MatrixMechanism, Tally, designs, estimate
from warner.errors import (
    ArgumentError,
    ArgumentTypeError,
    EmptyError,
    IdentifiabilityError,
    MismatchError,
)


@pytest.mark.parametrize("case", INSIDE.values(), ids=INSIDE)
def test_estimates_and_errors_are_those_of_rrreg(case: TwoGroups) -> None:
    result = case.design.estimate(case.counts)
    for name, number in case.estimates.items():
        assert result[name] == pytest.approx(number, abs=1e-9)
    for name, number in case.errors.items():
        assert result[name].error == pytest.approx(number, rel=1e-9)


@pytest.mark.parametrize(("case", "log_likelihood"), AT_THE_EDGE.values(), ids=AT_THE_EDGE)
def test_no_likelihood_is_higher_where_rrreg_has_no_number(
    case: TwoGroups, log_likelihood: float
) -> None:
    result = case.design.estimate(case.counts)
    assert result.log_likelihood >= log_likelihood - 1e-10
    for name, number in case.estimates.items():
        assert result[name] == pytest.approx(number, abs=1e-6)
        low, high = result[name].interval()
        assert low <= result[name] <= high
        assert (low == 0) == (number == 0) and (high == 1) == (number == 1)


def test_one_group_read_as_warners_design_is_plausible_and_wrong() -> None:
    # The wrong program ignores the second card: its interval misses the share by 20 errors.
    coin = MatrixMechanism(Categorical(["no", "yes"]), [[5 / 6, 1 / 6], [1 / 6, 5 / 6]])
    reports = coin.reports([1] * 771 + [0] * 485)
    alone = 1 - estimate(coin.tally(reports))["yes"]
    both = INSIDE["minarets"].design.estimate(INSIDE["minarets"].counts)["yes"]
    assert round(alone, 3) == 0.329 and round(both, 3) == 0.871


def test_symmetric_cheating_without_a_forced_no_is_cheating() -> None:
    case = INSIDE["cdm"]
    same = designs.SymmetricCheating("1/4", 0, "3/4", 0).estimate(case.counts)
    assert same.rows() == case.design.estimate(case.counts).rows()


def test_the_extended_crosswise_design_tells_who_follows_the_card() -> None:
    design = designs.ExtendedCrosswise("1/4")
    honest = design.estimate(word_counts(design, [[350, 650], [650, 350]]))
    always_same = design.estimate(word_counts(design, [[250, 750], [550, 450]]))
    assert honest["yes"] == pytest.approx(0.2) == pytest.approx(always_same["yes"])
    assert honest.fit_test is not None and always_same.fit_test is not None
    assert honest.fit_test.degrees == 1 and honest.fit_test.p == pytest.approx(1.0)
    # sum n log(f / expected): 20 % of all reports differ by .1 from .35 and .65
    free = sum(n * np.log(n / 1000) for n in (550, 450, 250, 750))
    under = sum(n * np.log(p) for n, p in ((250, 0.35), (750, 0.65), (550, 0.65), (450, 0.35)))
    assert always_same.fit_test.statistic == pytest.approx(2 * (free - under))
    assert "Test of the design: if people" in str(always_same.table())


def test_shares_of_nobody_are_not_known() -> None:
    design = designs.StochasticLieDetector("1/6", "5/6")
    result = design.estimate([{"yes": 500, "no": 100}, {"yes": 100, "no": 500}])
    assert result["yes"] == pytest.approx(0.0, abs=1e-9)
    assert np.isnan(result["honest"]) and result["honest"].interval().tolist() == [0, 1]
    assert result.rows()[1]["estimate"] is None and json.dumps(result.to_json())


def test_intervals_widen_with_the_level_and_hold_the_estimate() -> None:
    result = INSIDE["cdm_seed1"].design.estimate(INSIDE["cdm_seed1"].counts)
    for name in result:
        narrow, wide = result[name].interval(0.8), result[name].interval(0.99)
        assert wide[0] < narrow[0] < result[name] < narrow[1] < wide[1]
    assert result.accepts("cheats", 0.08) and not result.accepts("cheats", 0.2)


def test_results_are_tables_and_pickles() -> None:
    result = INSIDE["minarets"].design.estimate(INSIDE["minarets"].counts)
    text = str(result.table())
    assert "StochasticLieDetector(1/6, 5/6), with groups of 564 and 692 people" in text
    assert (
        "87.1 %" in text
        and "The design assumes that people say no if their true answer is no." in text
    )
    again = pickle.loads(pickle.dumps(result["yes"]))
    assert again == result["yes"] and again.interval().tolist() == result["yes"].interval().tolist()
    assert result.to_frame().column_names[:3] == ["share", "estimate", "error"]
    assert result.to_json()["groups"] == [564, 692]


def test_mistakes_are_refused() -> None:
    cheating = designs.Cheating("1/4", "3/4")
    refused(ArgumentError, "must differ", designs.Cheating, "1/4", "0.25")
    refused(ArgumentError, "must differ", designs.ExtendedCrosswise, "1/2")
    refused(ArgumentError, "tell the truth", designs.SymmetricCheating, 0.5, 0.5, 0.1, 0.1)
    refused(IdentifiabilityError, "'cheats'|'yes'", designs.SymmetricCheating, 0.2, 0.1, 0.1, 0.55)
    one = {"yes": 10, "no": 20}
    refused(ArgumentError, "2 groups", cheating.estimate, [one])
    refused(ArgumentTypeError, "list", cheating.estimate, one)
    refused(
        ArgumentError,
        "each of the words 'no', 'yes' once, and no other word; got 'same'",
        cheating.estimate,
        [one, {"same": 1}],
    )
    refused(ArgumentTypeError, "a whole number", cheating.estimate, [one, {"yes": 0.5, "no": 1}])
    refused(ArgumentError, "at least 0", cheating.estimate, [one, {"yes": -1, "no": 1}])
    refused(ArgumentError, "Write 0 where nobody said 'no'", cheating.estimate, [one, {"yes": 1}])
    refused(EmptyError, "group 2", cheating.estimate, [one, {"yes": 0, "no": 0}])
    result = cheating.estimate([{"yes": 41, "no": 59}, {"yes": 75, "no": 25}])
    refused(ArgumentError, "'cheats'", result.__getitem__, "cheaters")
    refused(ArgumentError, "level", result["yes"].interval, 95)


def test_groups_in_the_wrong_order_are_noticed() -> None:
    # More yes where fewer are told to say yes: no people make such counts.
    cheating = designs.Cheating("1/4", "3/4")
    refused(
        MismatchError,
        "order that the design states",
        cheating.estimate,
        [{"yes": 752, "no": 248}, {"yes": 410, "no": 590}],
    )
    doubtful = cheating.estimate([{"yes": 480, "no": 520}, {"yes": 370, "no": 630}])
    assert "almost no" not in doubtful.doubt and "order that the design states" in str(
        doubtful.table()
    )


def test_tallies_of_the_cards_are_counts_too() -> None:
    case = INSIDE["cdm_seed1"]
    cards = [designs.ForcedResponse(yes=p, no=0) for p in ("1/4", "3/4")]
    tallies = [Tally.from_counts(card, c) for card, c in zip(cards, case.counts, strict=True)]
    assert case.design.estimate(tallies).rows() == case.design.estimate(case.counts).rows()
    refused(
        MismatchError,
        "with the card of this group; got Forced",
        case.design.estimate,
        tallies[::-1],
    )
    pair = designs.ExtendedCrosswise("1/4")
    first, second = (designs.Crosswise(p) for p in ("1/4", "3/4"))
    said = {"same": 34, "different": 66}, {"same": 60, "different": 40}
    crosswise = [Tally.from_counts(c, s) for c, s in zip((first, second), said, strict=True)]
    assert pair.estimate(crosswise)["yes"] == pair.estimate(said)["yes"]


def test_designs_have_texts() -> None:
    for text, shown in {
        "cheating:1/4,3/4": "Cheating(1/4, 3/4)",
        "Cheating: p2=75 %, p1=0.25": "Cheating(1/4, 3/4)",
        "symmetric-cheating:2/5,1/10,3/20,7/20": "SymmetricCheating(2/5, 1/10, 3/20, 7/20)",
        "lie-detector:2/12,10/12": "StochasticLieDetector(1/6, 5/6)",
        "unrelated-unknown:0.7,0.2": "UnrelatedUnknown(7/10, 1/5)",
        "extended-crosswise:1/4": "ExtendedCrosswise(1/4)",
        "list:3": "ListExperiment(3)",
    }.items():
        assert repr(designs.groups_from_text(text)) == shown
    refused(ArgumentError, "groups_from_text", designs.from_text, "cheating:1/4,3/4")
    # Without chances, no design that was not written is named.
    refused(ArgumentError, "groups_from_text", designs.from_text, "extended-crosswise")
    refused(ArgumentError, "p1 and p2", designs.groups_from_text, "cheating:1/4")
    refused(ArgumentError, "must be one of cheating", designs.groups_from_text, "crosswise:1/4")
    refused(ArgumentError, "number of items", designs.groups_from_text, "list:three")
