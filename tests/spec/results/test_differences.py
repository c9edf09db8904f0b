"""Differences between groups, and tests of hypotheses."""

from __future__ import annotations

import csv
import io
import json
import math
import pickle
from statistics import NormalDist
from typing import Any

import numpy as np
import openpyxl
import pytest

import warner
from tests.refusals import refused
from tests.spec.results._tallies import MECHANISM, SHARES, drawn
from warner import (
    Categorical,
    Integers,
    Interval,
    OneOf,
    RandomizedResponse,
    UnaryEncoding,
    UtilityOptimizedRR,
    compare_groups,
    estimate,
)
from warner._core.table import Column
from warner.domains import Items, Product
from warner.domains.derived import Optional
from warner.errors import (
    ArgumentError,
    ArgumentTypeError,
    EmptyError,
    MismatchError,
    SmallGroupWarning,
)
from warner.mechanisms import Mechanism, Permanent, UtilityOptimizedRappor, WithNonresponse
from warner.results import goodness_of_fit, independence
from warner.results.differences import figures_of_difference, holm


def test_a_difference_of_shares_has_the_sum_of_both_variances() -> None:
    """Two mechanisms of different noise; the variance of each is its own."""
    a = estimate(drawn(1, [400])["a",])
    coarse = UnaryEncoding(Integers(0, 3), 0.5)
    b = estimate(drawn(2, [2000], coarse)["a",])
    row = compare_groups(a, b).rows()[0]
    T = [e.data.channel.invert(e.data.weights)[0] for e in (a, b)]
    assert row["difference"] == pytest.approx(T[0] - T[1])
    z = NormalDist().inv_cdf(0.975)
    variance = [
        float(e.data.channel.variance(np.array([t, *(1 - t) * np.ones(3) / 3]))[0] / e.n)
        for e, t in zip((a, b), T, strict=True)
    ]
    assert variance[1] > 3 * variance[0]
    assert row["high"] - row["difference"] == pytest.approx(z * sum(variance) ** 0.5, rel=0.02)
    assert row["p"] == pytest.approx(
        2 * NormalDist().cdf(-abs(row["difference"]) / sum(variance) ** 0.5), rel=0.1
    )


def test_of_two_groups_the_second_is_compared_with_the_first() -> None:
    """Rejects a growth from one week to the next that is shown as a fall."""
    groups = drawn(3, [500, 700])
    rows = compare_groups(groups).rows()
    assert {(row["group"], row["reference"]) for row in rows} == {("b", "a")}
    assert rows == compare_groups(groups, reference="a").rows()


def test_a_difference_is_looked_up_by_its_answer_as_a_share_is() -> None:
    groups = drawn(3, [500, 700, 600])
    differences = compare_groups(estimate(groups["b",]), estimate(groups["a",]))
    for row in differences.rows():
        change = differences[row["value"]]
        numbers = [float(change), change.low, change.high, change.p, change.p_holm]
        assert numbers == [row[key] for key in ("difference", "low", "high", "p", "p_holm")]
        assert repr(pickle.loads(pickle.dumps(change))) == repr(change)
    refused(ArgumentError, "one of the 4 values; got 'x'", lambda: differences["x"])
    refused(ArgumentError, "several pairs", lambda: compare_groups(groups)[row["value"]])


@pytest.mark.parametrize("of", ["shares", "mean", 0.5, 0.9])
def test_a_difference_turns_with_its_groups(of: Any) -> None:
    groups = drawn(3, [500, 700])
    one = compare_groups(groups, of=of).rows()
    two = compare_groups(dict(reversed(groups.items())), of=of).rows()
    for row, turned in zip(one, two, strict=True):
        assert row["difference"] == pytest.approx(-turned["difference"])
        assert row["low"] == pytest.approx(-turned["high"])
        assert row["p"] == pytest.approx(turned["p"])
        assert row["low"] <= row["difference"] <= row["high"]


def test_p_values_and_intervals_agree() -> None:
    rng = np.random.default_rng(5)
    line = RandomizedResponse(Interval(0, 10, 8), 2.0)
    for of in ("mean", 0.5):
        for shift in np.linspace(0, 3, 7):
            groups = {
                k: line.tally(
                    line.randomize(np.clip(rng.normal(4 + s, 2, 800), 0, 10).tolist(), rng=rng)
                )
                for k, s in (("a", 0.0), ("b", shift))
            }
            row = compare_groups(groups, of=of).rows()[0]
            assert (row["p"] < 0.05) == (row["low"] > 0 or row["high"] < 0), (of, shift)


def test_many_groups_are_compared_with_one_or_with_all_others() -> None:
    groups = drawn(4, [300, 400, 500])
    one = compare_groups(groups, reference="b")
    assert {(r["group"], r["reference"]) for r in one.rows()} == {("a", "b"), ("c", "b")}
    rest = compare_groups(groups)
    assert {r["reference"] for r in rest.rows()} == {"all other groups"}
    by_hand = compare_groups(
        {"a": groups["a",], "rest": groups["b",] + groups["c",]}, reference="rest"
    )
    for row, same in zip(rest.rows()[:4], by_hand.rows(), strict=True):
        for name in ("difference", "low", "high", "p"):
            assert row[name] == pytest.approx(same[name])
    assert one.test.statistic == rest.test.statistic and one.test.degrees == 6
    assert compare_groups(estimate(groups)).rows() == rest.rows()


def test_holm_spans_every_pair_of_groups() -> None:
    """Rejects the correction of each reference alone, which counts two comparisons of three."""
    device, rng = RandomizedResponse(Categorical(["no", "yes"]), 1.0), np.random.default_rng(3)
    groups = {
        name: device.tally(device.randomize(rng.choice(["no", "yes"], 900, p=[1 - p, p]), rng))
        for name, p in (("a", 0.2), ("b", 0.3), ("c", 0.4))
    }
    pairs = compare_groups(groups, reference="pairs")
    named = [(row["group"], row["reference"]) for row in pairs.rows()[::2]]
    assert named == [("b", "a"), ("c", "a"), ("c", "b")]
    for row in pairs.rows():
        alone = compare_groups(groups, between=[row["reference"], row["group"]])[row["value"]]
        assert (row["difference"], row["p"]) == pytest.approx((alone, alone.p))
    p_values = np.array([row["p"] for row in pairs.rows()[::2]])
    assert [row["p_holm"] for row in pairs.rows()[::2]] == pytest.approx(holm(p_values))
    assert pairs.test.p_value == compare_groups(groups).test.p_value
    groups["pairs"] = groups.pop("c")  # a group of this name is meant
    assert len(compare_groups(groups, reference="pairs").rows()) == 4


@pytest.mark.parametrize("of", ["shares", "mean", 0.5])
def test_groups_that_are_named_are_compared_as_if_there_were_no_others(of: Any) -> None:
    """Rejects tests, corrections and "all others" that count a group which was not named."""
    groups = drawn(4, [300, 400, 500, 600])

    def picked(*names: str) -> dict[tuple[str], Any]:
        return {(name,): groups[name,] for name in names}

    two = compare_groups(groups, between=["d", "b"], of=of)
    alone = compare_groups(picked("d", "b"), of=of)
    assert two.rows() == alone.rows() and two.test == alone.test
    assert {(row["group"], row["reference"]) for row in two.rows()} == {("b", "d")}
    some = compare_groups(estimate(groups), between=[("a",), "b", "d"], of=of)
    of_three = compare_groups(picked("a", "b", "d"), of=of)
    for row, same in zip(some.rows(), of_three.rows(), strict=True):
        assert [*row.values()][:3] == [*same.values()][:3]
        assert [*row.values()][4:] == pytest.approx([*same.values()][4:], rel=1e-9)
    assert some.test.statistic == pytest.approx(of_three.test.statistic)
    assert "Compared: a, b and d." in some.table().notes
    assert compare_groups(groups, between=["a", "b"], reference="b", of=of).rows() == (
        compare_groups(picked("a", "b"), reference="b", of=of).rows()
    )


def test_the_test_of_no_difference_is_the_same_by_precisions() -> None:
    """Groups of one mechanism take a fast path; the slow one sums the groups' precisions."""
    groups = drawn(6, [300, 900])
    fast = compare_groups(groups).test
    slow = compare_groups(*(estimate(t) for t in groups.values())).test
    assert slow.degrees == fast.degrees == 3
    assert slow.statistic == pytest.approx(fast.statistic, rel=0.02)
    bits = UnaryEncoding(Integers(0, 3), 1.0)
    groups = drawn(6, [300, 900], bits)
    fast, slow = compare_groups(groups).test, compare_groups(*map(estimate, groups.values())).test
    assert slow.statistic == pytest.approx(fast.statistic, rel=0.05)


def test_holm_corrects_for_all_rows() -> None:
    assert holm(np.array([0.02, 0.001, 0.5])).tolist() == pytest.approx([0.04, 0.003, 0.5])
    assert holm(np.array([0.9, 0.8])).tolist() == [1.0, 1.0]


def test_a_mean_is_that_of_those_who_answered() -> None:
    """Without randomisation: the two means and their standard errors are those of the answers."""
    domain = Optional(Interval(0, 12, 4))
    plain = RandomizedResponse(domain, float("inf"))
    answers = {"a": [1.0, 4.0, 4.0, 11.0, None] * 80, "b": [1.0, 4.0, None, None, None] * 80}
    groups = {key: plain.tally(plain.randomize(given)) for key, given in answers.items()}
    (row,) = compare_groups(groups, of="mean", reference="b").rows()
    assert row["value"] == "mean of those who answered"
    known = {key: np.array([v for v in given if v is not None]) for key, given in answers.items()}
    centres = {key: (v // 3) * 3 + 1.5 for key, v in known.items()}
    assert row["estimate"] == pytest.approx(centres["a"].mean())
    assert row["reference_estimate"] == pytest.approx(centres["b"].mean())
    error = sum(v.var() / v.size for v in centres.values()) ** 0.5
    z = NormalDist().inv_cdf(0.975)
    assert (row["high"] - row["low"]) / 2 == pytest.approx(z * error, rel=0.02)
    refused(
        ArgumentTypeError,
        'quantiles are not known where "no answer"',
        compare_groups,
        groups,
        of=0.5,
    )
    silent = plain.tally(plain.randomize([None] * 400))
    (row,) = compare_groups({"a": groups["a"], "b": silent}, of="mean").rows()
    assert (row["low"], row["high"], row["p"]) == (-9, 9, 1.0)


def test_results_are_told_in_words_and_as_data() -> None:
    groups = drawn(7, [400, 400])
    for of, text, degrees in (
        ("shares", "The share of 0 is", 3),
        ("mean", "The mean is", 1),
        ("median", "The median", 3),
    ):
        found = compare_groups(groups, of=of)
        assert found.text.startswith(text)
        assert "95 % interval" in found.text and "in b than in a" in found.text
        title, head = str(found.table()).splitlines()[:2]
        assert title.startswith("The difference b minus a, of") and head.startswith("value")
        assert (
            json.loads(json.dumps(found.to_json(), allow_nan=False))["test"]["degrees"] == degrees
        )


def test_means_of_three_groups_are_tested_together() -> None:
    """Without randomisation: the sum over groups of the squared distance from the mean that weighs
    groups by precision, over the error of the group's mean.

    Rejects the test of equal shares, which has three times the degrees of freedom, and a mean that
    weighs groups by people.
    """
    plain = RandomizedResponse(Integers(0, 3), float("inf"))
    answers = {"a": [0, 1, 1, 2] * 90, "b": [1, 2, 3, 3] * 60, "c": [0, 0, 0, 3] * 200}
    groups = {key: plain.tally(plain.randomize(given)) for key, given in answers.items()}
    compared = compare_groups(groups, of="mean")
    means = np.array([np.mean(given) for given in answers.values()])
    precisions = np.array([len(given) / np.var(given) for given in answers.values()])
    middle = precisions @ means / precisions.sum()
    assert compared.test.statistic == pytest.approx(precisions @ (means - middle) ** 2, rel=0.02)
    assert compared.test.degrees == 2 and compared.test.n == 1400
    words = "Test whether 3 groups have the same mean. If so, chance alone can hardly explain the reports"
    assert str(compared.table()).splitlines()[0] == "Each group minus all other groups"
    assert words in compared.text and words in " ".join(str(compared.table()).split())
    assert compared.to_json()["test"]["hypothesis"] == "3 groups have the same mean"
    # Of two groups the row has the same p, and the table says it once.
    two = compare_groups({key: groups[key] for key in "ac"}, of="mean")
    assert two.test.p_value == pytest.approx(two.rows()[0]["p"])
    assert "Test whether" not in two.text


def test_a_group_of_whom_nobody_answered_says_nothing_of_means() -> None:
    """Rejects a group whose mean is unknown in the statistic, or among the degrees of freedom."""
    plain = RandomizedResponse(Optional(Integers(0, 3)), float("inf"))
    answers = {"a": [0, 1, None] * 80, "b": [1, 2, 3] * 80, "c": [None] * 90}
    groups = {key: plain.tally(plain.randomize(given)) for key, given in answers.items()}
    with_all = compare_groups(groups, of="mean").test
    known = {key: groups[key] for key in "ab"}
    assert with_all.statistic == pytest.approx(compare_groups(known, of="mean").test.statistic)
    assert with_all.degrees == 1
    silent = {key: plain.tally(plain.randomize([None] * n)) for key, n in (("c", 90), ("d", 80))}
    assert compare_groups(silent, of="mean").test.p_value == 1


def test_numbers_beside_nonresponse_are_compared_by_bands_of_those_who_answered() -> None:
    """Rejects a refusal of 'mean', which nobody asked for, and bands that do not say of whom."""
    hours = WithNonresponse(warner.SquareWave(Interval(0, 100, 20), 3.0))
    rng = np.random.default_rng(2)
    answers = [None if i % 3 == 0 else float(rng.uniform(0, 100)) for i in range(900)]
    reports = hours.randomize(answers, rng)
    compared = compare_groups(hours.tally(reports, by={"ward": list("ab") * 450}))
    values = [row["value"] for row in compared.rows()]
    assert values[0] == "mean, of those who answered"
    assert values[4] == "0 to 10, of those who answered" and len(values) == 14
    assert compared.test is not None and compared.test.p_value > 0.01


def test_means_of_many_numbers_are_tested_by_the_intervals_that_tables_show() -> None:
    """Rejects the test of equal shares of 40 bins, and one that says far more or less than the row
    of two groups.
    """
    minutes = warner.SquareWave(Interval(0, 240, 40), 2.0)
    rng = np.random.default_rng(4)
    groups = {
        key: minutes.tally(minutes.randomize(rng.gamma(2, scale, n).clip(0, 239), rng))
        for key, scale, n in (("a", 30, 900), ("b", 40, 600), ("c", 30, 1200))
    }
    for of in ("mean", "numbers"):
        compared = compare_groups(groups, of=of)
        assert compared.test.degrees == 2
        assert "3 groups have the same mean" in compared.text
    two = compare_groups({key: groups[key] for key in "ab"}, of="mean")
    assert two.test.p_value < 0.05 and two.rows()[0]["p"] < 0.05
    two = compare_groups({key: groups[key] for key in "ac"}, of="mean")
    assert two.test.p_value == pytest.approx(two.rows()[0]["p"], abs=0.1)


def test_the_test_of_means_of_a_survey_without_clusters_is_nearly_the_plain_one() -> None:
    """Rejects deviations from the common mean whose covariance is left out, which doubles p."""
    rng = np.random.default_rng(5)
    wards, given = np.repeat(["a", "b", "c"], 900), rng.binomial(3, 0.4, 2700)
    coin = RandomizedResponse(Integers(0, 3), 3.0)
    public = {"ward": wards, "w": np.where(np.arange(2700) % 2, "1", "2")}
    tally = coin.tally(coin.randomize(given, rng), public)
    even = coin.tally(coin.randomize(given, rng), {**public, "w": np.repeat("1", 2700)})
    weighted, plain = (
        compare_groups(even, of="mean", weights="w", by="ward").test,
        compare_groups(even.by("ward"), of="mean").test,
    )
    heading = str(compare_groups(even.by("ward"), of="mean").table()).splitlines()[0]
    assert heading == "Each group by ward minus all other groups, of simulated reports"
    assert weighted.f_degrees is not None and weighted.f_degrees[0] == pytest.approx(2, abs=0.01)
    assert weighted.statistic == pytest.approx(plain.statistic, rel=0.05)
    assert weighted.p_value == pytest.approx(plain.p_value, rel=0.05)
    assert compare_groups(tally, of="mean", weights="w", by="ward").test.degrees == 2


def test_groups_that_cannot_be_compared_are_refused() -> None:
    groups = drawn(8, [50, 60, 1, 0])
    two = {key: groups[key] for key in [("a",), ("b",)]}
    a = estimate(two["a",])
    words = RandomizedResponse(Categorical(["x", "y"]), 1.0)
    other = estimate(words.tally(words.randomize(["x"] * 40, rng=np.random.default_rng(1))))
    real = estimate(MECHANISM.tally(MECHANISM.randomize([0, 1] * 20)))
    cases: list[tuple[tuple[Any, ...], dict[str, Any], type[Exception], str]] = [
        ((groups,), {"reference": "c"}, EmptyError, "group c: has fewer than 2 reports"),
        ((estimate(groups["c",]), a), {}, EmptyError, "got 1 in the first group. Join the"),
        (
            ({"a": two["a",]},),
            {},
            EmptyError,
            "must be two or more; got 1",
        ),
        ((two,), {"reference": "nobody"}, ArgumentError, "one of the groups a; b"),
        ((groups,), {"between": ["a", "x"]}, ArgumentError, "between: must be one of the groups a"),
        ((groups,), {"between": ["a", "a"]}, ArgumentError, "must name two groups or more"),
        ((groups,), {"between": ["a", "b"], "reference": "d"}, ArgumentError, "of the groups a; b"),
        ((a, other), {"between": ["a", "b"]}, ArgumentError, "can be used only with groups"),
        (
            (two,),
            {"of": "mode"},
            ArgumentError,
            "must be 'shares', 'answered', 'numbers', 'mean', 'median'",
        ),
        ((two,), {"of": 1.5}, ArgumentError, "must be above 0 and below 1"),
        # Before the groups are looked at, which can take seconds.
        ((None,), {"of": "average"}, ArgumentError, "Is 'mean' meant?"),
        ((None,), {"of": "medain"}, ArgumentError, "Is 'median' meant?"),
        ((a, other), {}, MismatchError, "all be of one question"),
        ((a, real), {}, MismatchError, "simulated"),
        ((a, 3), {}, ArgumentTypeError, "must be two estimates"),
        ((a, a), {"reference": "x"}, ArgumentError, "can be used only with groups"),
        ((other, other), {"of": "mean"}, ArgumentTypeError, "numbers"),
        ((other, other), {"of": 0.5}, ArgumentTypeError, "numbers"),
    ]
    for args, options, error, text in cases:
        refused(error, text, compare_groups, *args, **options)
    found = compare_groups(groups)
    assert (len(found.rows()), found.left_out) == (4, ("c", "d"))
    assert "fewer than 2 reports: c, d." in found.text


def test_goodness_of_fit_is_the_chi_square_of_answers_without_noise() -> None:
    plain = RandomizedResponse(Integers(0, 3), float("inf"))
    tally = drawn(9, [1000], plain)["a",]
    found = goodness_of_fit(tally, SHARES)
    expected = 1000 * SHARES
    pearson = ((tally.counts - expected) ** 2 / expected).sum()
    assert (found.statistic, found.degrees) == (pytest.approx(pearson), 3)
    refused(ArgumentError, "must be shares", goodness_of_fit, tally, [0.5, 0.1, 0.1, 0.1])


SURE = Categorical(["a", "b", "c", "d"])
PEOPLE = ["a"] * 300 + ["b"] * 300 + ["c"] * 340 + ["d"] * 60


@pytest.mark.parametrize("keep_reports", [False, True])
@pytest.mark.parametrize(
    "mechanism",
    [
        UtilityOptimizedRR(SURE, 1.0, sensitive=["a", "b"]),
        UtilityOptimizedRappor(SURE, 1.0, sensitive=["a", "b"]),
        RandomizedResponse(SURE, math.inf),
    ],
    ids=lambda m: type(m).__name__,
)
def test_a_hypothesis_that_reports_rule_out_has_no_probability(
    mechanism: Mechanism, keep_reports: bool
) -> None:
    """Sixty people sent a value without protection whose share is to be 0.

    A report of the unary mechanism gives such a value away with probability 0.39: of sixty, one does.

    Rejects the program that drops the part of a difference on which the hypothesis has no variance:
    it said p = 0.69.
    """
    tally = mechanism.tally(mechanism.randomize(PEOPLE), keep_reports=keep_reports)
    for none in (0.0, 1.1e-16):  # the second is 0 with rounding
        found = goodness_of_fit(tally, [0.3, 0.3, 0.4, none])
        assert (found.statistic, found.p_value) == (math.inf, 0.0)
        assert json.loads(json.dumps(found.to_json(), allow_nan=False))["statistic"] is None
    assert goodness_of_fit(tally, [0.3, 0.3, 0.34, 0.06]).p_value > 1e-6


def test_tests_without_any_noise_are_sure_either_way() -> None:
    """No nan, where a hypothesis leaves nothing to chance."""
    plain = RandomizedResponse(Categorical(["a", "b"]), math.inf)
    some, every = (plain.tally(plain.randomize(x)) for x in (["a"] * 95 + ["b"] * 5, ["a"] * 95))
    again = plain.tally(plain.randomize(["a"] * 40))
    cases = [(some, [1, 0], 0.0), (some, [0.95, 0.05], 1.0), (every, [1, 0], 1.0)]
    for tally, shares, p in [*cases, (every, [0, 1], 0.0)]:
        assert goodness_of_fit(tally, shares).p_value == p
    for pair, p in (((every, some), 0.0), ((every, again), 1.0)):
        ways: list[tuple[Any, ...]] = [({"x": pair[0], "y": pair[1]},), tuple(map(estimate, pair))]
        for groups in ways:
            of_these = compare_groups(*groups, target="respondents")
            assert of_these.test.p_value == pytest.approx(p)
            assert "are for these respondents." in " ".join(str(of_these).split())
            drawn_people = compare_groups(*groups).test.p_value
            assert drawn_people == pytest.approx(1) if p else 0.01 < drawn_people < 0.1


def test_a_group_in_which_all_agree_is_not_the_more_precise() -> None:
    """95 of 95 against 95 of 100, by two mechanisms: Fisher's exact p is 0.06.

    Rejects the program that weights groups by the noise at their own shares: p was 0.00004.
    """
    a, b = (RandomizedResponse(Categorical(["a", "b"]), epsilon) for epsilon in (20.0, math.inf))
    every = a.tally(a.randomize(["a"] * 95))
    some = b.tally(b.randomize(["a"] * 95 + ["b"] * 5))
    p = compare_groups(estimate(every), estimate(some)).test.p_value
    assert 0.01 < p < 0.1


def test_independence_is_the_chi_square_of_a_table_without_noise() -> None:
    domain = Product(a=Categorical(["x", "y", "z"]), b=Categorical(["p", "q"]))
    plain = RandomizedResponse(domain, float("inf"))
    rng = np.random.default_rng(2)
    answers = [
        {"a": "xyz"[i], "b": "pq"[j]}
        for i, j in zip(rng.integers(0, 3, 600), rng.integers(0, 2, 600), strict=True)
    ]
    tally = plain.tally(plain.randomize(answers, rng=rng))
    found = independence(tally, "a", "b")
    from scipy.stats import chi2_contingency

    exact = chi2_contingency(tally.counts.reshape(3, 2), correction=False)
    assert found.degrees == exact.dof == 2
    assert found.statistic == pytest.approx(exact.statistic, rel=0.02)
    assert "a and b are independent" in found.text
    with pytest.raises(EmptyError, match="must be at least 2 for a test"):
        independence(plain.tally(plain.randomize(answers[:1])), "a", "b")


# Of yes and no, both rows of a difference are one comparison.


def test_holm_counts_yes_and_no_once() -> None:
    device = warner.RandomizedResponse(warner.Categorical(["no", "yes"]), 1.0)
    rng = np.random.default_rng(3)
    groups = {
        (name,): device.tally(device.randomize(rng.choice(["no", "yes"], 900, p=[1 - p, p]), rng))
        for name, p in (("a", 0.2), ("b", 0.3), ("c", 0.4))
    }
    two = warner.compare_groups({key: groups[key] for key in [("a",), ("b",)]}, reference="a")
    assert [row["p_holm"] for row in two.rows()] == pytest.approx([row["p"] for row in two.rows()])
    rows = warner.compare_groups(groups, reference="a").rows()
    least = min(row["p"] for row in rows)
    assert min(row["p_holm"] for row in rows) == pytest.approx(2 * least)


def test_holm_never_makes_a_p_value_smaller() -> None:
    """Rejects the p-value of no beside yes, where bits make both and they need not agree."""
    device, rng = UnaryEncoding(Categorical(["no", "yes"]), 1.0), np.random.default_rng(1)
    answers = rng.choice(["no", "yes"], 900)
    tally = device.tally(device.randomize(answers, rng), by={"ward": list("abc") * 300})
    rows = compare_groups(tally).rows()
    assert all(row["p_holm"] >= row["p"] for row in rows)
    assert [row["p_holm"] for row in rows] == pytest.approx(holm(np.array([r["p"] for r in rows])))


def test_ages_as_text_are_not_seventy_categories() -> None:
    device = warner.RandomizedResponse(warner.Categorical(["no", "yes"]), 1.0)
    reports = device.randomize(["no", "yes"] * 50, np.random.default_rng(1))
    ages = [str(18 + i % 50) for i in range(100)]
    refused(ArgumentError, r"'age' holds numbers.*Convert", warner.regress, reports, {"age": ages})


def _ages(shift: float, n: int, rng: np.random.Generator) -> Any:
    ages = warner.SquareWave(Integers(18, 89), 1.0)
    answers = np.clip(rng.normal(42 + shift, 14, n).round(), 18, 89).astype(int)
    return ages.tally(ages.randomize(answers.tolist(), rng))


def test_numbers_are_compared_by_mean_quantiles_and_bands_as_tables_show_them() -> None:
    """Rejects differences of unbiased estimates, of which a row said 15 points beside two of 1 %."""
    rng = np.random.default_rng(8)
    groups = {"north": _ages(0, 2000, rng), "south": _ages(6, 2000, rng)}
    found = compare_groups(groups, reference="south")
    rows = found.rows()
    assert found.of == "numbers" and len(rows) == 12
    assert [row["value"] for row in rows[:6]] == [
        "mean",
        "median",
        "25 % quantile",
        "75 % quantile",
        "18 to 19",
        "20 to 29",
    ]
    north, south = (estimate(tally) for tally in groups.values())
    own = [(e.mean(), e.quantile(0.5), e.range(20, 29)) for e in (north, south)]
    for row, a, b in zip((rows[0], rows[1], rows[5]), *own, strict=True):
        assert row["difference"] == row["estimate"] - row["reference_estimate"]
        assert (row["estimate"], row["reference_estimate"]) == (float(a), float(b))
        (a_low, a_high), (b_low, b_high) = a.interval(), b.interval()  # type: ignore[union-attr]
        assert a_low - b_high <= row["low"] <= row["difference"] <= row["high"] <= a_high - b_low
        assert (row["p"] < 0.05) == (row["low"] > 0 or row["high"] < 0)
    every = compare_groups(groups, of="shares").rows()
    assert len(every) == 72 and max(row["high"] - row["low"] for row in every) < 0.5
    assert "The share of 20 to 29 is" in found.text
    words = "numbers in bins, .*; got Integers with 4 values. Use of='shares'"
    refused(ArgumentTypeError, words, compare_groups, drawn(1, [40, 40]), of="numbers")


def test_an_exported_table_of_numbers_holds_numbers() -> None:
    """Rejects: texts such as '+1.9 to +8.1' in the cells of Excel, and 5.067 printed as +5.0."""
    rng = np.random.default_rng(8)
    groups = {"north": _ages(0, 2000, rng), "south": _ages(6, 2000, rng)}
    differences = compare_groups(groups, reference="south")
    rows, table = differences.rows(), differences.table()
    keys = ["value", "estimate", "reference_estimate", "difference", "low", "high", "p", "p_holm"]
    exported = list(csv.DictReader(io.StringIO(table.csv())))
    assert [*exported[0]][:8] == keys and "is_share" in exported[0]
    sheet = openpyxl.load_workbook(io.BytesIO(table.xlsx())).active
    cells = list(sheet.iter_rows(min_row=2))
    for row, of_csv, of_excel in zip(rows, exported, cells, strict=True):
        numbers = [row[key] for key in keys[1:]]
        assert [float(of_csv[key]) for key in keys[1:]] == numbers
        assert [cell.value for cell in of_excel[1:8]] == pytest.approx(numbers, abs=1e-12)
        assert ("%" in of_excel[1].number_format) == row["is_share"]
        assert figures_of_difference(row)[2] in str(table).replace("\n", " ")
        shown = figures_of_difference(row)[2].removesuffix(" points")
        decimals = len(shown.partition(".")[2])
        scale = 100 if row["is_share"] else 1
        assert float(shown) == round(scale * row["difference"], decimals)


@pytest.mark.parametrize("of", ["mean", 0.5, 0.25])
def test_a_table_of_means_rounds_as_its_sentences_do(of: Any) -> None:
    """Rejects a table with the interval -5.082 to 4.304 beside a sentence with -5.1 to 4.4."""
    for mechanism in (MECHANISM, RandomizedResponse(Integers(0, 30), 3.0)):
        groups = drawn(5, [300, 400], mechanism)
        both = [compare_groups(groups, of=of, reference=name) for name in ("a", "b")]
        assert all(text in str(found) for found in both for text in _texts(found))
        higher = max(both, key=lambda found: found.rows()[0]["difference"])
        assert _texts(higher)[3].replace("+", "") in higher.text


def test_an_interval_that_leaves_out_0_is_written_without_0() -> None:
    """Rejects -1.3 to +0.0 for -1.239 to -0.078, and other decimals in the next row."""
    means = {"estimate": 1.0, "reference_estimate": 1.66, "difference": -0.66, "is_share": False}
    assert figures_of_difference(means | {"low": -1.239, "high": -0.078})[3] == "-1.24 to -0.07"
    assert figures_of_difference(means | {"low": -1.239, "high": 0.0})[3] == "-1.3 to +0.0"
    share = {"estimate": 0.4, "reference_estimate": 0.5, "difference": -0.1, "is_share": True}
    assert figures_of_difference(share | {"low": -0.21, "high": -0.004})[3] == "-21.0 to -0.4"
    points = Column("interval", unit="points", ends=("low", "high"))
    assert points.cells([{"low": 0.002, "high": 0.31}]) == ["+0.2 to +31.0\N{NO-BREAK SPACE}points"]
    found = compare_groups(
        drawn(5, [300, 4000, 400], RandomizedResponse(Integers(0, 3), 3.0)), of="mean"
    )
    cells = [row for row in str(found).splitlines() if " to " in row and "mean" in row]
    assert len({len(cell.split()[-2].partition(".")[2]) for cell in cells}) == 1 < len(cells)


def test_calls_that_compare_some_groups_by_place_are_told_of_between() -> None:
    groups: Any = drawn(5, [300, 400])
    with pytest.raises(TypeError, match=r"write compare_groups\(a, between=\[\.\.\.\]\)"):
        compare_groups(groups, "a", "b")  # type: ignore[call-overload]


def _texts(found: Any) -> tuple[str, ...]:
    return figures_of_difference(found.rows()[0])


def test_a_mean_is_corrected_for_means_alone_as_where_means_are_compared() -> None:
    """Rejects one correction for a mean and a dozen bands, which hides what the mean shows."""
    rng = np.random.default_rng(10)
    groups = {name: _ages(shift, 500, rng) for name, shift in (("a", 0), ("b", 3), ("c", 1))}
    both = compare_groups(groups)
    means = [row["p_holm"] for row in both.rows() if row["value"] == "mean"]
    assert means == [row["p_holm"] for row in compare_groups(groups, of="mean").rows()]
    bands = [row for row in both.rows() if row["is_share"]]
    assert [row["p_holm"] for row in bands] == pytest.approx(
        holm(np.array([r["p"] for r in bands]))
    )
    assert "separately for means, for quantiles and for bands of numbers." in " ".join(
        str(both).split()
    )


def test_the_others_of_a_group_are_the_people_outside_it() -> None:
    rng = np.random.default_rng(9)
    groups = {name: _ages(shift, 600, rng) for name, shift in (("a", 0), ("b", 5), ("c", 9))}
    rest = compare_groups(groups, of="mean").rows()[0]
    by_hand = compare_groups(
        {"a": groups["a"], "rest": groups["b"] + groups["c"]}, reference="rest", of="mean"
    ).rows()[0]
    groups["d"] = _ages(30, 600, rng)
    named = compare_groups(groups, between=["a", "b", "c"], of="mean").rows()[0]
    for name in ("estimate", "reference_estimate", "low", "high", "p"):
        assert rest[name] == pytest.approx(by_hand[name], rel=1e-6)
        assert named[name] == pytest.approx(by_hand[name], rel=1e-6)


def test_rounds_of_the_same_people_have_two_intervals() -> None:
    weekly = Permanent(RandomizedResponse(Categorical(["no", "yes"]), 1.0), 2.0)
    rounds = [estimate(weekly.tally(weekly.reports([0] * a + [1] * (800 - a)))) for a in (500, 420)]
    apart, same = compare_groups(*rounds), compare_groups(*rounds, same_people=True)
    row, other = same.rows()[1], apart.rows()[1]
    assert (row["low"], row["high"], row["p"]) == (other["low"], other["high"], other["p"])
    # By hand: 2 (V of a round - V of a permanent report) / n.
    kept, shares = weekly.memo.channel(), [r.data.channel.invert(r.data.weights) for r in rounds]
    near = (shares[0] + shares[1]) / 2
    once = [weekly.channel().variance(each)[1] for each in shares]
    sd = math.sqrt((sum(once) - 2 * kept.variance(near)[1]) / 800)
    half = (row["high_if_kept"] - row["low_if_kept"]) / 2
    assert half == pytest.approx(NormalDist().inv_cdf(0.975) * sd, rel=1e-3)
    shown = " ".join(str(same.table()).split())
    assert "if nobody changed" in shown and "changed to the opposite answer" in shown
    assert "other people" not in shown and "right only if almost nobody changed the answer" in shown
    three = {name: weekly.tally(weekly.reports([0, 1] * 300)) for name in "abc"}
    said = lambda **options: compare_groups(three, same_people=True, **options)
    refused(ArgumentError, "only to compare two rounds", said)
    refused(ArgumentError, "only to compare two rounds", said, reference="a")
    ages = estimate(MECHANISM.tally(MECHANISM.randomize([0, 1] * 100)))
    refused(
        ArgumentError,
        "same_people: can be used only for shares",
        compare_groups,
        ages,
        ages,
        of=0.5,
        same_people=True,
    )


def test_a_narrow_table_keeps_the_corrected_p() -> None:
    coin = RandomizedResponse(Categorical(["never", "sometimes", "often"]), 3.0)
    groups = {
        f"the region in the {way}": coin.tally(coin.reports([0, 1, 2] * n))
        for way, n in (("north", 9), ("south", 7), ("east", 8))
    }
    shown = str(compare_groups(groups))
    assert "p (Holm)" in shown and "Columns not shown here: p." in shown


def test_mistakes_with_groups_are_told_from_each_other() -> None:
    """Rejects Python's own error for names, an empty dict that is called a dict, an advice to join
    the only group, and a key that no result has.
    """
    tally = MECHANISM.tally(MECHANISM.randomize([0, 1] * 100))
    wards = MECHANISM.tally(
        MECHANISM.randomize([0, 1] * 100), by={"ward": ["north", "south"] * 100}
    )
    both = [estimate(tally), estimate(tally)]
    for names in (("a",), "ab"):
        refused(ArgumentError, "names: must be two texts", compare_groups, *both, names=names)
    refused(EmptyError, "must be two or more; got 1. Add", compare_groups, {"north": tally})
    refused(ArgumentTypeError, "got an empty dict", warner.weighted, wards, margins={"ward": {}})
    refused(ArgumentError, r"for example result\['north'\]", estimate(wards).mean)
    refused(ArgumentError, r"name public columns \(ward\), each", wards.by, "ward", "ward")
    refused(ArgumentError, "must not name a value twice", estimate, tally, values=[0, 0, 1])


def test_differences_among_those_who_answered_are_of_ratios() -> None:
    """Rejects shares of all people, errors that take the number of answers as known, and p-values
    that are too small or too large."""
    domain = Optional(Categorical(["a", "b", "c"]))
    mechanism, rng = RandomizedResponse(domain, 2.0), np.random.default_rng(5)
    labels = np.array(["a", "b", "c", None], dtype=object)
    laws = {"x": [0.42, 0.21, 0.07, 0.3], "y": [0.54, 0.27, 0.09, 0.1]}  # alike: 6, 3, 1
    squares, p_values = [], []
    for _ in range(150):
        tallies = {
            name: mechanism.tally(mechanism.randomize(labels[rng.choice(4, 1500, p=law)], rng))
            for name, law in laws.items()
        }
        found = compare_groups(tallies, of="answered")
        assert [row["value"] for row in found.rows()] == ["a", "b", "c"]
        squares.append([(row["difference"] / row["error"]) ** 2 for row in found.rows()])
        assert found.test is not None and found.test.degrees == 2
        p_values.append(found.test.p_value)
    assert np.mean(squares, axis=0) == pytest.approx(np.ones(3), abs=0.4)
    assert np.mean(p_values) == pytest.approx(0.5, abs=0.1)
    shares = {n: estimate(t).data.channel.invert(t.counts / t.n) for n, t in tallies.items()}
    ratio = {name: T[0] / T[:3].sum() for name, T in shares.items()}
    assert found.rows()[0]["difference"] == pytest.approx(ratio["y"] - ratio["x"])
    assert "share of a among those who answered is" in found.text
    assert "among those who answered" in found.table().title and found.to_json()["answered"]
    with pytest.raises(ArgumentTypeError, match="'answered' needs a question"):
        compare_groups(drawn(3, [500, 700]), of="answered")


def test_an_estimate_is_not_compared_with_itself() -> None:
    """Rejects: a table of differences that are 0 because both groups are one."""
    one = estimate(drawn(1, [1000])[("a",)])
    refused(ArgumentError, "b: must be another estimate", compare_groups, one, one)
    ticks = OneOf(Items(["a", "b", "c"]), 4.0, blocks="pairs")
    items = estimate(ticks.tally(ticks.randomize([["a"], ["b", "c"]] * 300)))
    refused(ArgumentError, "b: must be another estimate", compare_groups, items, items)


def test_weeks_are_compared_within_each_platform() -> None:
    """Rejects a comparison over all platforms, and a platform of one week that stops the others."""
    rng = np.random.default_rng(5)
    device = RandomizedResponse(Categorical(["no", "yes"]), 2.0)
    said = device.randomize(rng.choice(["no", "yes"], 1200), rng)
    by = {"week": rng.choice(["W1", "W2"], 1200), "at": ["mac", "linux", "mac", "tv"] * 300}
    tally = device.tally(said, by)
    compared = compare_groups(tally, within="at")
    assert list(compared) == ["linux", "mac", "tv"]
    mac = {week: tally[week, "mac"] for week in ("W1", "W2")}
    assert compared["mac"].rows() == compare_groups(mac).rows()
    weeks = {week: tally.only([key for key in tally if key[0] == week]) for week in ("W1", "W2")}
    by_week = {week: of_week.by("at").of_others() for week, of_week in weeks.items()}
    of_mapping = compare_groups(by_week, within=["at"], reference="W1")
    assert of_mapping["mac"].rows() == compare_groups(mac, reference="W1").rows()
    # As one table it has the rows of all platforms, each named, and the test of each one.
    rows = [row["at"] for row in compared.rows()]
    assert (
        rows
        == ["linux"] * 2 + ["mac"] * 2 + ["tv"] * 2
        == list(compared.to_frame()["at"].to_pylist())
    )
    assert compared.rows()[2] == {"at": "mac", **compared["mac"].rows()[0]}
    assert "within each at" in str(compared).replace("\n", " ")
    for platform, result in compared.items():
        assert f"{platform}: {result.test.text}" in compared.table().notes
    few = tally.only([key for key in tally if key != ("W1", "tv")])
    for options in ({}, {"reference": "W1"}, {"between": ["W2", "W1"]}):
        with pytest.warns(SmallGroupWarning, match="Not compared, because .* enough reports: tv"):
            assert list(compare_groups(few, within="at", **options)) == ["linux", "mac"]
    for words, options in (
        ("one of the public columns: week, at; got 'att'. Is 'at' meant", {"within": "att"}),
        ("names all public columns", {"within": ["week", "at"]}),
        ("Pass tally.by", {"within": "at", "by": "week"}),
        ("leaves no table with 'W7' and another group", {"within": "at", "reference": "W7"}),
        ("leaves no table with 'W1' and 'W7' with", {"within": "at", "between": ["W1", "W7"]}),
    ):
        refused((ArgumentError, EmptyError), words, compare_groups, tally, **options)
    words = "must be tallies by public columns for within"
    refused(ArgumentTypeError, words, compare_groups, estimate(tally), within="at")
