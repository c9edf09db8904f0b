"""Surveys with weights, clusters and strata: what R says of them, and what is refused."""

from __future__ import annotations

import json
import math
import warnings
from typing import Any

import numpy as np
import pytest

import warner
from tests.refusals import refused
from tests.spec.results._survey_by_r import (
    BY_R,
    COLUMNS,
    DESIGNS,
    HIDDEN_LOG_LIKELIHOOD,
    HIDDEN_REGRESSION,
)
from warner import (
    Categorical,
    Integers,
    Laplace,
    PerAttribute,
    Product,
    RandomizedResponse,
    Tally,
    UnaryEncoding,
    compare_groups,
    estimate,
    regress,
)
from warner._core.survey_design import SurveyDesign
from warner.errors import ArgumentError, ArgumentTypeError, MismatchError, ValuesError
from warner.estimators.base import LikelihoodData
from warner.results import goodness_of_fit, trend
from warner.results.estimate import Estimate
from warner.results.from_tally import GroupTable
from warner.results.intervals import normal_quantile
from warner.results.ranks import ranks
from warner.results.share_noise import variances_of
from warner.results.wald_tests import independence

YES_NO = Categorical([0, 1])
KNOWN, WARNER = (RandomizedResponse(YES_NO, epsilon) for epsilon in (math.inf, math.log(3)))
AT_1 = 1e-8  # R prints 15 digits; its errors of regressions stop at 1e-7


def _tally(mechanism: RandomizedResponse, answer: str, **more: Any) -> Tally:
    """The reports of R's survey by the columns of its designs."""
    by = {name: COLUMNS[name] for name in ("weight", "cluster", "stratum", "female")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reports = mechanism.reports(COLUMNS[answer])
        return mechanism.tally(reports, by | more).trusted()


TALLIES = {"answer": _tally(KNOWN, "answer"), "warner": _tally(WARNER, "warner")}


def _data(answer: str, design: dict[str, str], by: Any = ()) -> LikelihoodData:
    return estimate(TALLIES[answer], "inversion", by=by, **design).data


def _error(data: LikelihoodData) -> float:
    assert data.survey is not None
    return float(np.sqrt(variances_of(data, data.survey.unbiased, "population")[1]))


@pytest.mark.parametrize("name", DESIGNS)
def test_shares_have_the_errors_and_design_effects_that_r_prints(name: str) -> None:
    known, hidden = (_data(answer, DESIGNS[name]) for answer in TALLIES)
    share, error, effect = BY_R[name]["share"]
    assert known.survey is not None and hidden.survey is not None
    assert known.survey.unbiased[1] == pytest.approx(share, rel=AT_1)
    assert _error(known) == pytest.approx(error, rel=AT_1)
    assert known.design_effects[1] == pytest.approx(effect, rel=AT_1)
    assert known.survey.drawn.degrees == BY_R[name]["degrees"]
    share, error = BY_R[name]["hidden"]
    assert hidden.survey.unbiased[1] == pytest.approx(share, rel=AT_1)
    assert _error(hidden) == pytest.approx(error, rel=AT_1)


@pytest.mark.parametrize("name", DESIGNS)
def test_groups_that_share_clusters_differ_as_r_says(name: str) -> None:
    found = estimate(TALLIES["warner"], "inversion", by="female", **DESIGNS[name])
    assert found.groups is not None
    men, women = found.groups.table.parts
    assert men is not None and women is not None and men.survey is not None
    share, error = BY_R[name]["men"]
    assert men.survey.unbiased[1] == pytest.approx(share, rel=AT_1)
    assert _error(men) == pytest.approx(error, rel=AT_1)
    rows = compare_groups(found, reference=0).rows()
    difference, error = BY_R[name]["difference"]
    z = normal_quantile(0.95, men.survey.moments(women.survey)[0])
    assert rows[1]["difference"] == pytest.approx(difference, rel=AT_1)
    assert rows[1]["high"] - rows[1]["low"] == pytest.approx(2 * z * error, rel=AT_1)
    same = compare_groups(TALLIES["warner"], reference=0, by="female", **DESIGNS[name])
    assert same.rows() == rows


@pytest.mark.parametrize(
    ("name", "by", "f", "first", "second", "p"),
    [
        ("weights_only", "female", 14.5561, 1, 982, 1.44545e-4),
        ("weights_only", "stratum", 2.76533, 2.85306, 2801.71, 0.0431950),
        ("strata_weights", "stratum", 2.75676, 2.85294, 2793.03, 0.0436809),
    ],
)
def test_groups_are_equal_as_the_svychisq_of_r_says(
    name: str, by: str, f: float, first: float, second: float, p: float
) -> None:
    test = compare_groups(TALLIES["warner"], by=by, **DESIGNS[name]).test
    assert test is not None
    # Half a person of each value stands in the common shares, so F differs in the fourth digit.
    assert test.statistic / test.degrees == pytest.approx(f, rel=2e-3)
    assert test.f_degrees == pytest.approx((first, second), rel=1e-5)
    assert test.p_value == pytest.approx(p, rel=2e-2)
    assert f"F({round(first, 2):g}, {second:.0f}) = " in test.text


@pytest.mark.parametrize("name", ["weights_only", "strata_weights"])
def test_two_groups_of_a_survey_differ_as_among_all_groups(name: str) -> None:
    """Rejects a survey of the two groups alone, and others who are outside of those named."""
    design = {"by": "stratum", **DESIGNS[name]}
    tally = TALLIES["warner"]
    of_all = compare_groups(tally, reference=1, **design)
    of_two = compare_groups(tally, between=[1, 2], **design)
    for row, same in zip(of_two.rows(), of_all.rows(), strict=False):
        assert row == same | {"p_holm": row["p_holm"]} and row["p_holm"] <= same["p_holm"]
    others = tally.only([key for key in tally if key[tally.names.index("stratum")] in (2, 3)])
    survey = estimate(others, "inversion", by=(), weights="weight").data.survey
    assert survey is not None
    first = compare_groups(tally, between=[1, 2, 3], **design).rows()[1]
    assert first["reference_estimate"] == pytest.approx(survey.unbiased[1])
    # All people of the groups that are named, also where several cards are weighted together.
    table = GroupTable.surveyed(tally, SurveyDesign("weight"), "stratum")
    assert table.only([2, 3]).whole.n == others.total().n < table.whole.n


@pytest.mark.parametrize("name", DESIGNS)
def test_a_regression_of_known_answers_is_that_of_svyglm(name: str) -> None:
    used = ["x", "female", *DESIGNS[name].values()]
    covariates = {column: COLUMNS[column] for column in used}
    reports = KNOWN.reports(COLUMNS["answer"])
    found = regress(reports, covariates, trusted=True, **DESIGNS[name])
    coefficients, errors = BY_R[name]["logistic"]
    assert found.names == ("Intercept", "x", "female")
    assert found.coefficients[0] == pytest.approx(coefficients, rel=1e-6)
    assert found.standard_errors[0] == pytest.approx(errors, rel=1e-5)
    assert (found.degrees <= BY_R[name]["degrees"]).all()


def test_a_regression_of_hidden_answers_is_that_of_r() -> None:
    design = DESIGNS["strata_clusters_weights"]
    covariates = {name: COLUMNS[name] for name in ("x", "female", *design.values())}
    found = regress(WARNER.reports(COLUMNS["warner"]), covariates, **design)
    coefficients, errors = HIDDEN_REGRESSION
    assert found.coefficients[0] == pytest.approx(coefficients, rel=1e-6)
    assert found.standard_errors[0] == pytest.approx(errors, rel=1e-6)
    assert found.log_likelihood == pytest.approx(HIDDEN_LOG_LIKELIHOOD, rel=1e-10)
    row = found.rows()[1]
    assert row["design_effect"] > 0.5 and 20 < row["degrees"] <= 36
    assert "40 clusters in 4 strata" in found.table().text()
    assert found.to_json()["survey"]["columns"] == design
    assert found.wald("x").f_degrees == pytest.approx((1, row["degrees"]))


SMALL = {
    "w": np.tile([1.0, 2.5], 60),
    "school": np.repeat(np.arange(12), 10),
    "region": np.repeat(["n", "s"], 60),
    "sex": np.tile(["f", "m", "m"], 40),
}
DRINKS = Categorical(["never", "sometimes", "often"])


def _small(mechanism: Any, answers: Any, seed: int = 3, **by: Any) -> Tally:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return mechanism.tally(mechanism.randomize(answers, np.random.default_rng(seed)), by)


def _drinks(**by: Any) -> Tally:
    answers = [["never", "often", "sometimes"][i % 3] for i in range(120)]
    return _small(RandomizedResponse(DRINKS, 2.0), answers, **(by or SMALL))


ALL = {"weights": "w", "cluster": "school", "strata": "region"}


def test_groups_are_by_the_columns_that_the_design_does_not_name() -> None:
    found = estimate(_drinks(), **ALL)
    assert (found.names, found.keys, found.pool) == (("sex",), (("f",), ("m",)), "none")
    assert {"design_effect", "sex", "status"} <= set(found.rows()[0])
    assert estimate(_drinks(), by=(), **ALL).names == ()
    by_region = estimate(_drinks(), by="region", **ALL)
    assert by_region.keys == (("n",), ("s",))
    drawn = "weighted by w, in clusters by school, in strata by region: 12 clusters in 2 strata"
    assert drawn in " ".join(by_region.table().text().split())


def test_an_estimate_says_its_design_effect_everywhere() -> None:
    found = estimate(_drinks(), by=(), **ALL)
    written = json.loads(json.dumps(found.to_json()))
    assert written["survey"]["columns"] == ALL
    assert written["survey"]["clusters"] == 12 and written["survey"]["degrees"] == 10
    assert written["effective_n"] == pytest.approx(120 / written["design_effect"])
    assert all(row["design_effect"] > 0 for row in written["shares"])
    assert "design effect" in found.table().text()
    assert "design_effect" in found.to_frame().column_names
    assert found.interval_kind() == "score"


def test_equal_weights_leave_the_shares_as_they_are() -> None:
    weighted = estimate(_drinks(w=np.full(120, 7.5), sex=SMALL["sex"]), by=(), weights="w")
    plain = estimate(_drinks(sex=SMALL["sex"]).total())
    assert weighted.probabilities == pytest.approx(plain.probabilities, abs=1e-3)
    assert weighted.data.design_effect == pytest.approx(1, abs=0.02)
    narrow, wide = (float(np.ptp(e.interval(), axis=1).sum()) for e in (plain, weighted))
    assert narrow == pytest.approx(wide, rel=0.03)


def test_copies_of_a_cluster_add_no_information() -> None:
    # Fifty people of one answer each in 12 schools tell as much as one of each school.
    copies = [["never", "often"][i % 2] for i in range(12) for _ in range(50)]
    tally = _small(KNOWN_DRINKS, copies, school=np.repeat(np.arange(12), 50)).trusted()
    found = estimate(tally, "inversion", cluster="school")
    assert found.data.effective_n == pytest.approx(11, abs=0.1)
    assert goodness_of_fit(tally, [0.7, 0, 0.3], cluster="school").p_value > 0.1
    assert goodness_of_fit(tally.total(), [0.7, 0, 0.3]).p_value < 1e-9


KNOWN_DRINKS = RandomizedResponse(DRINKS, math.inf)


def test_a_survey_of_numbers_has_means_and_quantiles_with_its_errors() -> None:
    ages = UnaryEncoding(Integers(0, 19), 3.0, variant="oue")
    centre = np.repeat(np.arange(12), 40)
    answers = np.clip(centre + np.tile([-2, -1, 0, 1, 2], 96), 0, 19).tolist()
    tally = _small(ages, answers, school=centre)
    clustered = estimate(tally, cluster="school")
    alone = estimate(tally.total())
    for name in ("mean", "variance"):
        wide, narrow = (np.ptp(getattr(e, name)().interval()) for e in (clustered, alone))
        assert wide > 1.5 * narrow
    assert np.ptp(clustered.quantile(0.5).interval()) > np.ptp(alone.quantile(0.5).interval())
    young = clustered.range(0, 5).interval()
    assert young[0] <= 0.5 <= young[1]


def test_attributes_that_are_randomised_together_have_the_noise_of_the_design() -> None:
    both = RandomizedResponse(Product(a=YES_NO, b=YES_NO), 4.0)
    answers = [{"a": i // 10 % 2, "b": i % 2} for i in range(120)]
    tally = _small(both, answers, **SMALL)
    joint = estimate(tally, by=(), **ALL)
    one = joint.marginal("a")
    assert one.data.survey is not None
    assert 1 < one.data.design_effect < 12
    assert joint.marginal("b").data.design_effect < one.data.design_effect
    assert independence(tally, "a", "b", **ALL).f_degrees[1] < 10.1
    assert independence(joint, "a", "b") == independence(tally, "a", "b", **ALL)
    coin = RandomizedResponse(YES_NO, 2.0)
    each = PerAttribute(Product(a=YES_NO, b=YES_NO), {"a": coin, "b": coin})
    apart = _small(each, answers, **SMALL)
    assert estimate(apart, attributes=["a"], by=(), **ALL).data.design_effect > 1


def test_nonresponse_keeps_the_noise_of_the_design() -> None:
    domain = warner.domains.with_missing(DRINKS, "answer")
    answers = [["never", "often", None][i // 10 % 3] for i in range(120)]
    tally = _small(RandomizedResponse(domain, 4.0), answers, **SMALL)
    found = estimate(tally, by=(), cluster="school")
    given = found.answered()
    plain = estimate(tally.total()).answered()
    assert np.ptp(given.interval(), axis=1).sum() > np.ptp(plain.interval(), axis=1).sum()


def test_a_trend_over_ordered_groups_beats_the_test_of_any_difference() -> None:
    years = np.repeat(np.arange(2020, 2026), 200)
    answers = ["often" if i % 200 < 60 + 8 * (i // 200) else "never" for i in range(1200)]
    tally = _small(RandomizedResponse(DRINKS, 2.0), answers, year=years)
    found = trend(tally)
    often = found.rows()[2]
    assert often["low"] <= 0.04 <= often["high"] and found.test.degrees == 2
    assert found.test.p_value < compare_groups(tally).test.p_value
    assert "rises by" in found.text and found.to_json()["scores"]["2020"] == 2020
    same = trend(tally, scores=[0, 1, 2, 3, 4, 5]).rows()
    assert same[2]["slope"] == pytest.approx(often["slope"])
    assert trend(tally, {(year,): year for year in range(2020, 2026)}).rows() == found.rows()


def test_a_trend_of_clusters_and_of_a_mean() -> None:
    counts = Integers(0, 4)
    answers = [min(4, i // 40) for i in range(120)]
    by = {"wave": np.repeat(["a", "b", "c"], 40), "school": SMALL["school"]}
    tally = _small(RandomizedResponse(counts, 4.0), answers, **by)
    found = trend(tally, of="mean", cluster="school")
    (row,) = found.rows()
    assert row["low"] <= 1 <= row["high"] and found.test.f_degrees is not None
    assert row["p"] == pytest.approx(found.test.p_value, rel=0.5)
    assert "mean" in found.table().text()


@pytest.mark.parametrize(
    "groups, options, words",
    [
        (_drinks(), {}, "scores: must be given, because the groups are formed by w, school"),
        (_drinks(sex=SMALL["sex"]), {}, "groups: must be at least 3"),
        (_drinks(school=SMALL["school"]), {"scores": [1, 2]}, "one for each of the 12"),
        (_drinks(school=SMALL["school"]), {"scores": [1] * 12}, "must not be equal in all groups"),
        (_drinks(school=SMALL["school"]), {"scores": {(1,): 3}}, "none for 0"),
        (_drinks(school=SMALL["school"]), {"of": "median"}, "of: "),
    ],
)
def test_trends_are_refused(groups: Tally, options: Any, words: str) -> None:
    refused(ArgumentError, words, trend, groups, **options)


def _with(**columns: Any) -> Tally:
    return _drinks(**{**SMALL, **columns})


CROSSING = np.where(np.arange(120) == 7, "s", SMALL["region"])
MANY = 0.5 + np.arange(120) / 100
LONELY = np.repeat(["n", "s"], [110, 10])


@pytest.mark.parametrize(
    "tally, options, words",
    [
        (
            _with(),
            {"cluster": "schol"},
            "cluster: must be one of the public columns of the tally: .* Is 'school'",
        ),
        (_with(), {"cluster": 3}, "cluster: must be the name of a public column; got 3"),
        (
            _with(),
            {"cluster": "school", "strata": "school"},
            "must name different public columns; got school, school",
        ),
        (_with(w=np.tile([-1.0, 1], 60)), {"weights": "w"}, "'w': must hold positive numbers"),
        (
            _with(w=np.tile([0, 1], 60)),
            {"weights": "w"},
            "got 0 for 60 of 120 people. .* stand for nobody",
        ),
        (
            _with(w=[""] + ["2.5"] * 119),
            {"weights": "w"},
            "got an empty entry for 1 of 120 people",
        ),
        (
            _with(),
            {"weights": "sex"},
            "'sex': must hold positive numbers; got labels alone. Name the column that says how",
        ),
        (
            _with(w=MANY),
            {"weights": "region", "strata": "w"},
            "'region': must hold positive numbers; got labels alone. Are two columns exchanged.*"
            "name 'w' as the weights, and 'region' as the strata",
        ),
        (
            _with(w=MANY),
            {"weights": "school", "cluster": "w"},
            "cluster 'w': .* many people share; got 120 different decimals. Are two columns",
        ),
        (_with(w=MANY), {"strata": "w"}, "got 120 different decimals. If 'w' holds weights, name"),
        (
            _with(school=np.ones(120, int)),
            {"cluster": "school"},
            "at least 2 clusters, .*1 cluster in",
        ),
        (
            _with(region=LONELY),
            {"cluster": "school", "strata": "region"},
            "at least 2 clusters in each stratum of 'region'.*; got 1 cluster in s",
        ),
        (
            _with(region=CROSSING),
            {"cluster": "school", "strata": "region"},
            "column 'school': must have all people of a cluster in one stratum of 'region'; got cluster 0 in several",
        ),
        (
            _with(),
            {"cluster": "region", "strata": "school"},
            "Are two columns exchanged. Then name 'school' as the cluster, and 'region' as the str",
        ),
        (_with(), {"cluster": "school", "by": "age"}, "by: must name public columns"),
        (
            _with(),
            {"cluster": "school", "pool": "partial"},
            "pool: cannot be used with this survey design; got",
        ),
        (_with(), {"cluster": "school", "values": ["never", "often"]}, "values: cannot be used"),
        (_with(), {"by": "sex"}, "by: can be used only with a survey design"),
    ],
)
def test_designs_that_do_not_fit_are_refused(tally: Tally, options: Any, words: str) -> None:
    refused((ArgumentError, ArgumentTypeError), words, estimate, tally, **options)


def test_weights_without_a_value_are_refused_by_position() -> None:
    weights = np.where(np.arange(120) == 5, np.nan, 1.0)
    refused(ValuesError, "'w', position 5: .*no value", _with, w=weights)


def test_what_knows_nothing_of_designs_is_refused() -> None:
    found = estimate(_drinks(), by=(), **ALL)
    for kind in ("bootstrap", "average", "posterior", "anytime:200"):
        refused(ArgumentError, "drawn one by one with equal", found.interval, kind=kind)
    refused(ArgumentError, "ranks: needs people who were drawn one by one", ranks, found)
    refused(ArgumentTypeError, "must be one tally", estimate, {"n": _drinks()}, cluster="school")
    refused(
        ArgumentTypeError,
        "can be used only for groups|must be",
        estimate,
        _drinks().total(),
        time="sex",
    )
    with pytest.raises(ArgumentError, match="public columns of the tally, but there are none"):
        estimate(_drinks().total(), cluster="school")
    plain = estimate(_drinks().total())
    refused(
        MismatchError,
        "tested together if only some have a survey design",
        compare_groups,
        found,
        plain,
    )


@pytest.mark.parametrize(
    "columns, options, words",
    [
        ({}, {"cluster": "class"}, "cluster: must be one of the public columns of the covariates"),
        ({"w": np.zeros(120)}, {"weights": "w"}, "'w': must hold positive numbers"),
        ({"w": np.full(120, np.nan)}, {"weights": "w"}, "'w' must have a value in every row"),
        ({"school": np.ones(120)}, {"cluster": "school"}, "at least 2 clusters"),
        ({"region": CROSSING}, {"cluster": "school", "strata": "region"}, "one stratum"),
        (
            {},
            {"cluster": "school", "errors": "sandwich"},
            "errors: cannot be chosen with a survey design",
        ),
        (
            {"school": SMALL["school"] % 2},
            {"cluster": "school"},
            "needs at least 2 more clusters than strata, for the 2 coefficients",
        ),
    ],
)
def test_regressions_with_designs_that_do_not_fit_are_refused(
    columns: Any, options: Any, words: str
) -> None:
    covariates = {"z": np.arange(120.0), "school": SMALL["school"], **columns}
    reports = RandomizedResponse(YES_NO, 2.0).randomize([0, 1] * 60)
    refused(ArgumentError, words, regress, reports, covariates, **options)


def test_a_mean_of_clusters_is_weighted_least_squares_with_their_errors() -> None:
    counts = Laplace(Integers(0, 10), 8.0)
    answers = np.clip(SMALL["school"], 0, 10)
    reports = counts.randomize(answers.tolist(), np.random.default_rng(4))
    z = np.arange(120) % 7.0
    columns = {"z": z, "school": SMALL["school"], "w": SMALL["w"]}
    found = regress(reports, columns, kind="mean", weights="w", cluster="school")
    numbers = np.asarray(regress(reports, {"z": z}, kind="mean").coefficients)
    assert found.coefficients.shape == numbers.shape == (1, 2)
    alone = regress(reports, {"z": z}, kind="mean")
    assert found.standard_errors[0, 0] > 1.5 * alone.standard_errors[0, 0]
    assert found.design_effects is not None and found.design_effects[0, 0] > 2
    assert found.errors == "linearised" and (found.degrees <= 11).all()
    means = found.predict({"z": [0.0, 3.0]})
    assert (means[:, 1] < means[:, 0]).all() and (means[:, 0] < means[:, 2]).all()


@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_weights_of_any_scale_are_compared(scale: float) -> None:
    """Rejects squares of weights that overflow, or that are all 0."""
    columns = {"w": scale * np.array([1.0, 2.0, 3.0, 4.0])}
    drawn = SurveyDesign.of("w", None, None).sample(columns, np.ones(4))
    assert drawn.weights == pytest.approx([0.4, 0.8, 1.2, 1.6])


def test_pickled_estimates_keep_their_design() -> None:
    import pickle

    found = estimate(_drinks(), by=(), **ALL)
    again: Estimate = pickle.loads(pickle.dumps(found))
    assert again.rows() == found.rows() and again.data.design_effect == found.data.design_effect


def test_a_group_that_lies_in_one_cluster_is_refused() -> None:
    # Rejects errors of 0, and p-values below 0.0001, for groups of one cluster without any effect.
    rng = np.random.default_rng(1)
    scale = warner.RandomizedResponse(warner.Integers(0, 1), 2.0)
    school = np.repeat(np.arange(12), 20)
    of_one = np.where(school == 0, "private", "state")
    reports = scale.randomize(rng.integers(0, 2, 240).tolist(), rng)
    tally = scale.tally(reports, by={"school": school.tolist(), "type": of_one.tolist()})
    for call in (estimate, warner.compare_groups):
        words = "at least 2 clusters .* got 1 cluster in the group private"
        refused(ArgumentError, words, call, tally, cluster="school", by="type")
    assert estimate(tally, cluster="school", by=()).n == 240
    for labels in (of_one, np.where(school == 0, "z", "a")):
        covariates = {"type": labels, "school": school}
        for kind in ("shares", "mean"):
            words, options = "with each value of a covariate", {"cluster": "school", "kind": kind}
            refused(ArgumentError, words, warner.regress, reports, covariates, "type", **options)
