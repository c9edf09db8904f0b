"""Regressions: frames, formulas, means."""

from __future__ import annotations

import builtins
import json
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import warner
from tests.refusals import refused
from warner import (
    Categorical,
    Integers,
    Interval,
    PerAttribute,
    Product,
    RandomizedResponse,
    regress,
)
from warner.errors import (
    ArgumentError,
    ArgumentTypeError,
    EmptyError,
    IdentifiabilityError,
    MismatchError,
    MissingExtraError,
)
from warner.mechanisms import ProjectiveGeometryResponse
from warner.regression.lists import regress_list

OFTEN = Categorical(["never", "sometimes", "often"])
SECRET = "often"
N = 600


def _survey(epsilon: float = 3.0, n: int = N) -> tuple[warner.Reports, dict[str, Any]]:
    rng = np.random.default_rng(1)
    age, ward = rng.normal(50, 10, n), rng.choice(["east", "north", "south"], n)
    eta = np.stack([0 * age, (age - 50) / 20, (ward == "south") - 0.3], axis=1)
    p = np.exp(eta) / np.exp(eta).sum(axis=1, keepdims=True)
    values = (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    mechanism = RandomizedResponse(OFTEN, epsilon)
    return mechanism.randomize(OFTEN.decode(values), rng=rng), {"age": age, "ward": ward}


REPORTS, PEOPLE = _survey()


def test_frames_mappings_and_arrays_give_the_same_coefficients() -> None:
    found = regress(REPORTS, PEOPLE)
    assert found.names == ("Intercept", "age", "ward[T.north]", "ward[T.south]")
    assert (found.reference, found.outcomes) == ("never", ("sometimes", "often"))
    for frame in (pd.DataFrame(PEOPLE), pl.DataFrame(PEOPLE), pl.DataFrame(PEOPLE).lazy()):
        assert regress(REPORTS, frame).coefficients == pytest.approx(found.coefficients)
    wards = [(PEOPLE["ward"] == name).astype(int) for name in ("north", "south")]
    plain = regress(REPORTS, np.stack([PEOPLE["age"], *wards], axis=1))
    assert plain.names == ("Intercept", "x1", "x2", "x3")
    assert plain.coefficients == pytest.approx(found.coefficients)


def test_columns_of_objects_booleans_and_categories() -> None:
    ward = pd.Categorical(PEOPLE["ward"])
    frame = pd.DataFrame({"ward": ward, "old": PEOPLE["age"] > 50, "age": PEOPLE["age"]})
    found = regress(REPORTS, frame)
    assert found.names[1:] == ("ward[T.north]", "ward[T.south]", "old", "age")
    listed = {name: list(frame[name]) for name in frame.columns}
    listed["age"] = np.array(listed["age"], dtype=object)
    assert regress(REPORTS, listed).coefficients == pytest.approx(found.coefficients)


def test_predictions_have_the_index_of_the_covariates() -> None:
    fit = regress(REPORTS, PEOPLE)
    new = pd.DataFrame({"age": [40.0, 60.0], "ward": ["east", "south"]}, index=["ann", "bob"])
    predicted = fit.predict(new)
    frame = predicted.to_frame("pandas")
    assert list(frame.index) == ["ann"] * 3 + ["bob"] * 3
    beside = new.join(frame)
    assert list(beside["age"]) == [40.0] * 3 + [60.0] * 3
    assert list(beside["estimate"]) == pytest.approx(predicted.shares.ravel())
    assert "ann" not in repr(predicted) and predicted.to_frame("polars").columns[0] == "row"
    of_dict = fit.predict(new.to_dict("list")).to_frame("pandas")
    assert list(of_dict.index) == list(range(6))


def test_columns_that_the_formula_does_not_need_are_not_read() -> None:
    """Rejects: a column of lists that is complained about in predictions."""
    frame = pd.DataFrame(PEOPLE).assign(ticked=[["a"] * (i % 3) for i in range(N)])
    for formula in ("age + ward", "I(age**2) + ward"):
        fit = regress(REPORTS, frame, formula)
        for new in (frame, pl.from_pandas(frame)):
            assert len(fit.predict(new).shares) == N
        with pytest.raises(ArgumentError):
            fit.predict(frame.drop(columns="age"))
    with pytest.raises(ArgumentError, match="'ticked' must"):
        regress(REPORTS, frame)


def test_labels_are_in_the_order_that_categories_state() -> None:
    wards = ["south", "east", "west", "north"]  # nobody is in the west
    columns = (
        pd.Series(pd.Categorical(PEOPLE["ward"], wards)),
        pl.Series(PEOPLE["ward"].tolist(), dtype=pl.Enum(wards)),
    )
    listed = ("ward[T.east]", "ward[T.north]")
    for column in columns:
        people = {"ward": column, "age": PEOPLE["age"]}
        for frame in (people, type(column.to_frame())(people)):
            for formula in ("ward + age", "ward + I(age)"):
                found = regress(REPORTS, frame, formula)
                assert found.names[1:3] == listed
            other = regress(REPORTS, frame, "ward", baselines={"ward": "north"})
            assert other.names[1:] == ("ward[T.south]", "ward[T.east]")
    counts = np.arange(N) % 3
    some = regress_list(3, counts, np.arange(N) % 2, people, "ward", model="linear")
    assert some.names[1:] == listed


def test_labels_of_a_column_can_be_compared_with_another_one() -> None:
    first = regress(REPORTS, PEOPLE)
    for formula in (None, "age + ward", "I(age) + ward"):  # the last one is read by formulaic
        other = regress(REPORTS, PEOPLE, formula, "often", baselines={"ward": "south"})
        assert "ward[T.east]" in other.names and "ward[T.south]" not in other.names
        assert other.reference == "often"
        assert other.log_likelihood == pytest.approx(first.log_likelihood)
        new = {"age": [40.0, 60.0], "ward": ["east", "south"]}
        assert other.predict(new).shares == pytest.approx(first.predict(new).shares, abs=1e-6)
    refused(
        ArgumentError, "Is .south. meant", regress, REPORTS, PEOPLE, baselines={"ward": "South"}
    )
    refused(
        ArgumentError,
        "this column has numbers with decimals",
        regress,
        REPORTS,
        PEOPLE,
        baselines={"age": 40},
    )
    refused(
        ArgumentError,
        "must be one of the columns",
        regress,
        REPORTS,
        PEOPLE,
        baselines={"wards": "south"},
    )


def test_another_reference_is_the_same_model() -> None:
    first, other = regress(REPORTS, PEOPLE), regress(REPORTS, PEOPLE, reference="often")
    assert (other.reference, other.outcomes) == ("often", ("never", "sometimes"))
    assert other.log_likelihood == pytest.approx(first.log_likelihood)
    assert other.coefficients[0] == pytest.approx(-first.coefficients[1], abs=1e-6)
    assert other.standard_errors[0] == pytest.approx(first.standard_errors[1], rel=1e-5)
    new = {"age": [40.0, 60.0], "ward": ["east", "south"]}
    one, two = first.predict(new), other.predict(new)
    assert one.shares == pytest.approx(two.shares)
    assert one.low == pytest.approx(two.low, rel=1e-5)


def test_the_likelihood_without_covariates_is_that_of_the_shares() -> None:
    """A regression on one two-valued covariate fits the shares of each group."""
    ward = np.where(PEOPLE["ward"] == "south", "south", "other")
    found = regress(REPORTS, {"ward": ward})
    mechanism = RandomizedResponse(OFTEN, 3.0)
    shares = found.predict({"ward": ["other", "south"]}).shares
    for row, name in zip(shares, ("other", "south"), strict=True):
        part = mechanism.reports(REPORTS.columns["report"][ward == name])
        alone = warner.estimate(mechanism.tally(part), warner.MaximumLikelihood())
        assert row == pytest.approx(alone.probabilities, abs=1e-6)


def test_rows_tables_json_and_text() -> None:
    found = regress(REPORTS, PEOPLE)
    rows = found.rows()
    assert len(rows) == 8
    assert rows[1]["covariate"] == "age" and rows[1]["value"] == "sometimes"
    assert rows[1]["odds_ratio"] == pytest.approx(np.exp(rows[1]["estimate"]))
    assert rows[1]["odds_low"] == pytest.approx(np.exp(rows[1]["low"]))
    assert found.odds_ratios()[0, 1, 1] == pytest.approx(np.exp(rows[1]["low"]))
    assert rows[1]["z"] == pytest.approx(rows[1]["estimate"] / rows[1]["error"])
    assert found.interval(0.5)[0, 1, 1] < rows[1]["high"]
    assert found.to_frame().num_rows == 8
    assert found.predict({"age": [50], "ward": ["east"]}).to_frame("polars").shape == (3, 5)
    assert json.loads(json.dumps(found.to_json()))["simulated"] is True
    text = " ".join(str(found.table()).split())
    assert "ward: south" in text and "compare a value with 'never'" in text and "converged" in text
    assert "600 simulated reports" in text
    assert repr(found) == (
        "Regression(2 x 4 coefficients, n=600, reference='never', status=CONVERGED)"
    )


def test_wald_test_of_all_columns_of_a_covariate() -> None:
    found = regress(REPORTS, PEOPLE)
    ward = found.wald("ward")
    assert ward.degrees == 4
    assert found.wald(["ward[T.north]", "ward[T.south]"]) == ward
    one = found.wald("age")
    assert one.degrees == 2 and one.p_value > ward.p_value
    single = found.wald("ward[T.north]")
    z = found.z[:, found.names.index("ward[T.north]")]
    assert single.statistic > max(z**2) - 1e-9
    refused(
        ArgumentError, "names: must be one of the covariates: Intercept, age", found.wald, "height"
    )


def test_a_misspelt_covariate_beside_others_is_not_left_out_of_a_test() -> None:
    """Rejects a Wald test of those names alone that the regression has."""
    refused(
        ArgumentError, "got 'wrad'. Is 'ward' meant", regress(REPORTS, PEOPLE).wald, ["age", "wrad"]
    )


def test_a_mean_without_odds_is_not_sent_to_a_link() -> None:
    """Rejects the advice to pass a link, which a regression on a mean refuses."""
    visits = RandomizedResponse(Integers(0, 3), 2.0)
    reports = visits.randomize([0, 1, 2, 3] * 150, rng=np.random.default_rng(1))
    said = refused(ArgumentError, "", regress(reports, {"age": AGE}, kind="mean").odds_ratios)
    assert said == "odds_ratios: exist only in a regression of shares with link='logit'."


def test_one_attribute_of_several() -> None:
    rng = np.random.default_rng(2)
    people = Product(often=OFTEN, visits=Integers(0, 3))
    survey = PerAttribute(
        people,
        {
            "often": lambda d: RandomizedResponse(d, 2.0),
            "visits": lambda d: warner.UnaryEncoding(d, 2.0),
        },
    )
    z, visits = rng.normal(size=300), rng.integers(0, 4, 300)
    answers = {"often": rng.choice(OFTEN.labels, 300).tolist(), "visits": visits.tolist()}
    reports = survey.randomize(answers, rng=rng)
    assert regress(reports, z, attribute="visits").outcomes == (1, 2, 3)
    assert regress(reports, z, attribute="often").outcomes == ("sometimes", "often")
    refused(ArgumentError, "must be one of often, visits", regress, reports, z, attribute="age")
    refused(ArgumentError, "Name one question", regress, reports, z)
    refused(
        ArgumentError, "attribute: can be used only with", regress, REPORTS, PEOPLE, attribute="age"
    )


def test_several_questions_together_are_refused_before_minutes_of_work() -> None:
    """Rejects the odds of each of 72 pairs of answers, which nobody asks for; a remedy without the
    mean, where a question is of numbers; and reports of one question by a key without the way.
    """
    rng = np.random.default_rng(4)
    survey = PerAttribute(
        {
            "often": RandomizedResponse(OFTEN, 2.0),
            "minutes": warner.SquareWave(warner.Interval(0, 240, 24), 2.0),
        }
    )
    answers = {"often": rng.choice(OFTEN.labels, 300), "minutes": rng.uniform(0, 240, 300)}
    reports, z = survey.randomize(answers, rng), rng.normal(size=300)
    words = (
        "attribute: must name one question, because often and minutes have 72 combinations of "
        "answers. For example "
        "attribute='often', or attribute='minutes' with kind='mean'"
    )
    for kind in ("shares", "mean"):
        refused(ArgumentError, words, regress, reports, z, kind=kind)
    assert regress(reports, z, attribute="minutes", kind="mean").n == 300
    way = r"regress\(reports, covariates, attribute=\.\.\.\)"
    refused(ArgumentTypeError, way, reports.__getitem__, "minutes")
    refused(ArgumentTypeError, r"For example reports\[:10\]", reports.__getitem__, "hours")
    tally = survey.tally(reports)
    with pytest.raises(KeyError, match=r"estimate\(tally, attributes=\[\.\.\.\]\)"):
        tally["minutes"]
    with pytest.raises(KeyError, match=r"use list\(tally\)"):
        tally["hours"]


AGE = PEOPLE["age"]
BAD: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
    ({"age": AGE[:5]}, {}, ArgumentError, "a row for each of the 600 reports"),
    ({"age": np.where(AGE > 50, np.nan, AGE)}, {}, ArgumentError, "'age' must have a value"),
    ({"age": [None, *AGE[1:]]}, {}, ArgumentError, "'age' must have a value in every row"),
    ({"ward": [None, *PEOPLE["ward"][1:]]}, {}, ArgumentError, "'ward' must have a value"),
    ({"age": np.where(AGE > 50, np.inf, AGE)}, {}, ArgumentError, "must hold finite numbers"),
    (
        {"age": np.where(AGE > 50, 1e308, AGE)},
        {},
        ArgumentError,
        "got 1e\\+308. Write the column in another unit",
    ),
    ({"age": AGE, "one": np.ones(N)}, {}, ArgumentError, "'one' must not have the same value"),
    ({"age": AGE, "ward": ["x"] * N}, {}, ArgumentError, "'ward' must not have the same value"),
    ({"a": AGE, "b": 2 * AGE + 1}, {}, ArgumentError, "columns 'Intercept', 'a', 'b' are collin"),
    ({"a": AGE, "b": AGE[1:]}, {}, ArgumentError, "same number of rows in all columns; got "),
    ({}, {}, ArgumentError, "at least one column"),
    ({"day": np.array(["2020-01-01"] * N, dtype="M8[D]")}, {}, ArgumentTypeError, "numbers or tex"),
    (np.zeros((2, 2, 2)), {}, ArgumentTypeError, "must be a data frame"),
    # As labels, each number would have a coefficient of its own.
    (
        {"age": ["3,5", *["30", "31.5"] * (N // 2)][:N]},
        {},
        ArgumentError,
        "got 1 of 600 entries wi",
    ),
    ({"age": [10**400, *AGE[1:]]}, {}, ArgumentError, "infinity in 1 of 600 rows"),
    (np.ma.masked_less(AGE, 40), {}, ArgumentError, "must have no masked"),
    (7, {}, ArgumentTypeError, "must be a data frame"),
    (
        PEOPLE,
        {"reference": "daily"},
        ArgumentError,
        "reference: must be one of the values of the question",
    ),
    (PEOPLE, {"errors": "robust"}, ArgumentError, "errors: must be one of"),
]


@pytest.mark.parametrize(("covariates", "options", "error", "text"), BAD)
def test_bad_input_is_named(
    covariates: Any, options: dict[str, Any], error: type[Exception], text: str
) -> None:
    said = refused(error, text, regress, REPORTS, covariates, **options)
    assert SECRET not in said and "62." not in said


def test_missing_values_of_frames_are_named() -> None:
    for frame in (
        pl.DataFrame({"age": [None, *AGE[1:].tolist()]}),
        pl.DataFrame({"ward": [None, *PEOPLE["ward"][1:].tolist()]}),
        pd.DataFrame({"age": [None, *AGE[1:]]}),
    ):
        words = "must have a value in every row; got none in 1 of 600 rows"
        refused(ArgumentError, words, regress, REPORTS, frame)


def test_a_category_of_their_own_is_advised_for_labels_alone() -> None:
    """Rejects the advice to write 'not known' in a column of numbers, which then holds texts."""
    for column in (np.where(AGE > 50, np.nan, AGE), [None, *AGE[1:].tolist()]):
        remedy = "Leave these people out of both covariates and reports."
        assert str(refused(ArgumentError, "", regress, REPORTS, {"age": column})).endswith(remedy)
    labels = [None, *PEOPLE["ward"][1:].tolist()]
    refused(ArgumentError, "such as 'not known'", regress, REPORTS, {"ward": labels})


def test_reports_that_cannot_be_used() -> None:
    refused(EmptyError, "", regress, REPORTS[:0], {"age": AGE[:0]})
    with pytest.raises(ArgumentTypeError, match="must be Reports"):
        regress(["never"] * N, PEOPLE)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="'age' must not have the same value"):
        regress(REPORTS[:1], {"age": AGE[:1]})
    with pytest.raises(MismatchError):
        regress(warner.Reports({**REPORTS.header, "law": "other"}, REPORTS.columns), PEOPLE)
    keys = warner.KeyValue(Integers(0, 2), Integers(0, 2), 1.0)
    reports = keys.randomize([{"key": 0, "value": 1}] * 10)
    refused(ArgumentError, "key='direct'", regress, reports, np.arange(10.0))


def test_too_many_coefficients_are_refused() -> None:
    reports = RandomizedResponse(Integers(0, 999), 1.0).randomize([0, 1] * 50)
    with pytest.raises(ArgumentError, match="number of coefficients: must be at most 1000"):
        regress(reports, np.arange(100.0), kind="shares")


def test_shares_of_many_numbers_are_regressed_only_where_they_are_named() -> None:
    """Rejects minutes of work for 23 equations that nobody wanted of numbers in 24 bins."""
    rng = np.random.default_rng(5)
    minutes = warner.SquareWave(Interval(0, 120, bins=24), 2.0)
    reports, age = minutes.randomize(rng.uniform(0, 120, 200), rng), {"age": rng.normal(size=200)}
    words = "reports: are about numbers, and each of the 24 values would need an equation. For the "
    said = refused(ArgumentError, words, regress, reports, age)
    assert "kind='mean' (in a command, add --mean)" in said
    assert regress(reports, age, kind="mean").n == 200
    visits = RandomizedResponse(Integers(0, 3), 2.0).randomize([0, 1, 2, 3] * 50, rng)
    assert regress(visits, age).outcomes == regress(visits, age, kind="shares").outcomes
    open_ = RandomizedResponse(Integers(0, 3), float("inf")).reports([0, 1, 2, 3] * 50)
    split = regress(open_, {"odd": [0.0, 1.0] * 100})
    assert not split.status.is_final
    assert "pass kind='mean' (in a command, add --mean)" in " ".join(str(split.table()).split())


def test_a_left_side_is_refused_also_where_formulaic_is_not_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rejects the advice to install a library that then refuses the same formula."""
    monkeypatch.setitem(sys.modules, "formulaic", None)
    words = "must have the hidden question left of ~, or nothing; .* Write 'age'"
    refused(ArgumentError, words, regress, REPORTS, PEOPLE, "log(often) ~ age")


def test_the_left_side_of_a_formula_may_name_the_question() -> None:
    """Rejects a left side that is ignored: of two questions it says which one is meant."""
    alone = regress(REPORTS, PEOPLE, "age").coefficients
    assert (regress(REPORTS, PEOPLE, "habit ~ age").coefficients == alone).all()
    many, ill = RandomizedResponse(OFTEN, 3.0), RandomizedResponse(Categorical(["no", "yes"]), 3.0)
    answers = {"often": ["never", "often"] * 200, "ill": ["no", "no", "yes", "no"] * 100}
    reports = PerAttribute({"often": many, "ill": ill}).randomize(answers)
    covariates = {"age": PEOPLE["age"][:400]}
    by_name = regress(reports, covariates, "age", attribute="ill").coefficients
    assert (regress(reports, covariates, "ill ~ age").coefficients == by_name).all()
    each = {"often": many.randomize(answers["often"]), "ill": ill.randomize(answers["ill"])}
    of_ill = regress(each["ill"], covariates).coefficients
    assert (regress(each, covariates, "ill ~ age").coefficients == of_ill).all()
    for formula, text in (
        ("il ~ age", "one of the questions: often, ill; got 'il'. Is 'ill' meant"),
        ("ill ~ ", "needs a right side; got 'ill ~ '. Write 'ill ~ age'"),
    ):
        refused(ArgumentError, text, regress, each, covariates, formula)
    words = "must be the question left of ~ in the formula, 'ill'; got 'often'"
    refused(ArgumentError, words, regress, reports, covariates, "ill ~ age", attribute="often")
    words = "or nothing, but 'age' is a column of the covariates; .* use hidden=[.]{3}"
    refused(ArgumentError, words, regress, REPORTS, PEOPLE, "age ~ ward")


@pytest.mark.parametrize("mechanism", [RandomizedResponse, ProjectiveGeometryResponse])
def test_one_answer_is_compared_with_all_others(mechanism: Any) -> None:
    """Rejects the odds against a reference, whose slope here is 0.7, and its sign for the others."""
    rng, n = np.random.default_rng(3), 20_000
    z = rng.normal(size=n)
    of_often = 1 / (1 + np.exp(1 - z))
    others = np.where(rng.random(n) < 1 / (1 + np.exp(-2 * z)), "sometimes", "never")
    answers = np.where(rng.random(n) < of_often, "often", others)
    reports = mechanism(OFTEN, 3.0).randomize(answers, rng=rng)
    made = regress(reports, {"z": z}, outcome="often")
    assert (made.reference, made.outcomes) == ("other answers", ("often",))
    errors = np.sqrt(np.diag(made.covariance))
    assert np.abs(made.coefficients[0] - [-1, 1]).max() < 4 * errors.max() < 0.2
    sample = reports[:10]
    for formula in ("often ~ z", "habit == 'often' ~ z"):
        words = "Pass the formula 'z' and outcome='often'"
        refused(ArgumentError, words, regress, sample, {"z": z[:10]}, formula)
    refused(ArgumentError, "outcome=", regress, sample, z[:10], outcome="often", reference="never")
    refused(ArgumentError, "outcome", regress, sample, z[:10], outcome="oftn")
    bits = warner.UnaryEncoding(OFTEN, 3.0).randomize(answers[:10])
    refused(ArgumentError, "Leave out outcome", regress, bits, z[:10], outcome="often")
    words = "cannot be used with a mean"
    refused(ArgumentError, words, regress, sample, z[:10], kind="mean", outcome="often")


def test_one_of_two_answers_is_compared_with_the_other() -> None:
    answers = ["no", "yes", "yes", "no", "yes", "no"] * 50
    reports = RandomizedResponse(Categorical(["no", "yes"]), 3.0).randomize(answers)
    z = np.arange(300.0) % 7
    usual = regress(reports, z)
    assert (regress(reports, z, outcome="yes").coefficients == usual.coefficients).all()
    other = regress(reports, z, outcome="no")
    assert other.coefficients == pytest.approx(-usual.coefficients, abs=1e-6)


def test_a_question_inside_a_function_is_called_by_its_name() -> None:
    ill = RandomizedResponse(Categorical(["no", "yes"]), 3.0)
    reports = {"often": REPORTS, "ill": ill.randomize(["no", "yes"] * (N // 2))}
    refused(ArgumentError, "Write 'ill ~ age'", regress, reports, PEOPLE, "C(ill) ~ age")
    words = "Pass the formula 'often ~ age' and outcome='sometimes'"
    refused(ArgumentError, words, regress, reports, PEOPLE, "often == 'sometimes' ~ age")


def test_reports_beside_the_covariates_are_none() -> None:
    """Rejects the reports of a frame as covariates, which separate all answers."""
    survey = PerAttribute({"often": RandomizedResponse(OFTEN, 3.0)} | {"ill": _coin()})
    answers = {"often": ["never", "often"] * 100, "ill": ["no", "no", "yes", "no"] * 50}
    reports = survey.randomize(answers, np.random.default_rng(1))
    frame = reports.to_frame("pandas").assign(age=PEOPLE["age"][:200])
    made = regress(reports, frame, attribute="often")
    assert made.names == ("Intercept", "age")
    words = "must not be a column of the reports; got 'ill.report'. Leave 'ill.report' out"
    refused(ArgumentError, words, regress, reports, frame, "often ~ age + `ill.report`")
    alone = frame[["ill.report"]]
    refused(ArgumentError, "besides the reports", regress, reports, alone, attribute="often")


def _coin() -> RandomizedResponse:
    return RandomizedResponse(Categorical(["no", "yes"]), 3.0)


def test_only_the_columns_that_are_used_need_numbers_or_text() -> None:
    """Rejects a regression on age that is refused for a column of lists beside it."""
    age = {"age": PEOPLE["age"]}
    lists = [["a"], []] * 300
    gaps = [None, *PEOPLE["age"][1:]]
    for frame in (pl.DataFrame, pd.DataFrame, dict):
        people = frame(age | {"media": lists, "gaps": gaps})
        assert regress(REPORTS, people, "age").names == ("Intercept", "age")
        refused(ArgumentError, "column 'gaps'", regress, REPORTS, people, "age + gaps")
        words = "column '(media|gaps)'"
        refused((ArgumentError, ArgumentTypeError), words, regress, REPORTS, people)
        roles = {"formula": "age ~ often", "hidden": "often ~ gaps"}
        refused(ArgumentError, "column 'gaps'", regress, REPORTS, people, **roles)
        # Where no column is left, this says why, and not that there was none.
        refused(ArgumentError, "column 'gaps'", regress, REPORTS, frame({"gaps": gaps}), "1")


def test_the_mean_is_advised_only_where_it_can_be_computed() -> None:
    """Rejects advice to take the mean of labels that are numbers, which is refused."""
    age = {"age": np.repeat([0.0, 1.0], 300)}
    advice = "The mean of the numbers needs fewer coefficients. For the mean, pass"
    for domain, has_mean in ((Integers(1, 3), True), (Categorical([1, 2, 3]), False)):
        open_ = RandomizedResponse(domain, float("inf"))
        found = regress(open_.randomize([1] * 300 + [2] * 300), age)
        assert not found.status.is_final
        assert any(advice in doubt for doubt in found.doubts) is has_mean


def test_a_regression_is_drawn_as_a_forest() -> None:
    """Rejects odds ratios beside a line at 0, an intercept among them, and dots filled at random."""
    found = regress(REPORTS, PEOPLE)
    picture = found.plot(width=300).to_dict()
    assert [panel["title"]["text"] for panel in picture["vconcat"]] == [["sometimes"], ["often"]]
    assert "Compared with: answer never and ward east." in " ".join(picture["title"]["subtitle"])
    rows = [row for row in found.rows() if row["covariate"] != "Intercept"]
    for panel, value in zip(picture["vconcat"], found.outcomes, strict=True):
        assert panel["width"] == 300
        line, _, dots = panel["layer"]
        assert dots["encoding"]["x"]["scale"]["type"] == "log"
        assert json.loads(line["data"]["values"]) == [{"at": 1.0}]
        shown = json.loads(dots["data"]["values"])
        of_value = [row for row in rows if row["value"] == value]
        assert [row["pair"] for row in shown] == ["age", "ward: north", "ward: south"]
        for drawn, row in zip(shown, of_value, strict=True):
            assert drawn["difference"] == row["odds_ratio"] and drawn["low"] == row["odds_low"]
            assert drawn["differs"] == (row["p"] < 0.05)
    mean_of = RandomizedResponse(Integers(0, 2), 3.0).randomize(np.arange(N) % 3)
    mean = regress(mean_of, PEOPLE, kind="mean").plot().to_dict()["vconcat"][0]["layer"]
    assert json.loads(mean[0]["data"]["values"]) == [{"at": 0.0}]
    assert mean[2]["encoding"]["x"]["scale"]["type"] == "linear"
    refused(ArgumentError, "has no covariates", regress(REPORTS, PEOPLE, "~ 1").plot)


def test_arguments_in_another_order_are_named() -> None:
    """Rejects the error of pandas for a frame in place of the formula."""
    frame = pd.DataFrame(PEOPLE)
    refused(ArgumentTypeError, "covariates: must be a data frame", regress, REPORTS, "~ age", frame)
    refused(
        ArgumentTypeError,
        "formula: must be text such .* come before the formula",
        regress,
        REPORTS,
        frame,
        frame,
    )
    refused(ArgumentTypeError, r"mechanism.reports\(frame\)", regress, frame, frame, "age")


def _all_finite(found: warner.regression.answer.Regression) -> bool:
    parts = (found.coefficients, found.standard_errors, found.z, found.p_values, found.interval())
    predicted = found.predict({"age": [30.0, 70.0]})
    shares = (predicted.shares, predicted.low, predicted.high)
    is_ordered = bool((predicted.low <= predicted.high).all())
    return is_ordered and all(bool(np.isfinite(part).all()) for part in (*parts, *shares))


@pytest.mark.parametrize("epsilon", [0.01, 1.0, float("inf")])
def test_separation_has_a_status_and_finite_numbers(epsilon: float) -> None:
    """All reports alike; answers that a covariate determines; two people."""
    mechanism = RandomizedResponse(OFTEN, epsilon)
    age = {"age": AGE}
    alike = regress(mechanism.reports(np.ones(N, dtype=int)), age, trusted=True)
    assert alike.status.name in ("SEPARATED", "FLAT") and _all_finite(alike)
    split = regress(mechanism.reports(np.where(AGE < 50, 0, 2)), age, trusted=True)
    assert split.status.name in ("SEPARATED", "FLAT") and _all_finite(split)
    two = regress(mechanism.reports([0, 2]), {"age": AGE[:2]})
    assert two.status.name in ("SEPARATED", "FLAT") and _all_finite(two)
    if epsilon == float("inf"):
        assert split.status.name == "SEPARATED" and "grow without end" in split.status.value
        assert "WARNING: separated" in str(split.table())
        # Also where nobody prints: in frames and files, and there is no picture.
        assert set(split.to_frame("pandas")["status"]) == {"separated"}
        assert split.table().csv().splitlines()[1].endswith(",separated")
        refused(ArgumentError, "plot: separated", split.plot)
        assert split.predict({"age": [30.0, 70.0]}).shares[:, 1] == pytest.approx([0, 0], abs=1e-4)
        assert regress(REPORTS, age, errors="sandwich").status.name == "CONVERGED"


def test_reports_that_tell_too_little_have_a_status() -> None:
    """Two possible reports cannot determine the shares of five values."""
    rounding = warner.mechanisms.StochasticRounding(Integers(0, 4), 1.0)
    reports = rounding.randomize(np.arange(N) % 5)
    assert regress(reports, {"ward": PEOPLE["ward"]}).status.name in ("FLAT", "SEPARATED")


def test_scale_and_place_of_covariates_do_not_matter() -> None:
    """Seconds since 1970, and millionths."""
    first = regress(REPORTS, {"age": AGE})
    far = regress(REPORTS, {"age": 1.7e9 + 3600 * AGE, "tiny": 1e-9 * (PEOPLE["ward"] == "south")})
    both = regress(REPORTS, {"age": AGE, "south": (PEOPLE["ward"] == "south")})
    assert far.coefficients[:, 1] * 3600 == pytest.approx(both.coefficients[:, 1], rel=1e-5)
    assert far.z[:, 1:] == pytest.approx(both.z[:, 1:], rel=1e-4)
    assert first.names == ("Intercept", "age")


def test_new_people_must_fit_the_design() -> None:
    found = regress(REPORTS, PEOPLE)
    refused(ArgumentError, "must have the column 'ward'", found.predict, {"age": [50.0]})
    with pytest.raises(ArgumentError, match="in the regression; got 'west'"):
        found.predict({"age": [50.0], "ward": ["west"]})
    refused(ArgumentError, "must hold text", found.predict, {"age": [50.0], "ward": [3]})
    refused(ArgumentError, "must hold numbers", found.predict, {"age": ["old"], "ward": ["east"]})


def test_answers_of_several_attributes_and_mixed_labels() -> None:
    rng = np.random.default_rng(3)
    both = Product(sex=Categorical(["f", "m"]), old=Categorical([False, True]))
    reports = RandomizedResponse(both, 4.0).randomize(
        {"sex": rng.choice(["f", "m"], 500).tolist(), "old": (rng.random(500) < 0.5).tolist()},
        rng=rng,
    )
    found = regress(reports, rng.normal(size=500), reference=both.labels[2])
    assert found.outcomes == tuple(both.labels[i] for i in (0, 1, 3))
    assert found.predict([0.0]).shares[0] == pytest.approx([0.25] * 4, abs=0.1)
    assert found.predict([0.0]).to_frame().num_rows == 4 and "simulated" in str(found.table())
    mixed = RandomizedResponse(Categorical(["a", 1]), 4.0).randomize(["a", 1] * 50)
    table = regress(mixed, np.arange(100.0)).predict([1.0]).to_frame()
    assert table.column("value").to_pylist() == ['"a"', "1"]


# Formulas of regressions, as formulaic reads them.


RNG = np.random.default_rng(1)


def test_a_formula_is_the_plain_design_where_it_says_the_same() -> None:
    plain = regress(REPORTS, PEOPLE)
    found = regress(REPORTS, PEOPLE, "age + ward")
    assert set(found.names) == set(plain.names)
    order = [found.names.index(name) for name in plain.names]
    assert found.coefficients[:, order] == pytest.approx(plain.coefficients, rel=1e-6)
    new = {"age": [40.0, 60.0], "ward": ["north", "north"]}
    assert found.predict(new).shares == pytest.approx(plain.predict(new).shares)


def test_names_with_spaces_stand_in_backticks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rejects a sum of names that needs formulaic, and advice to install it that does not help."""
    spaced = {"age in years": PEOPLE["age"], "ward": PEOPLE["ward"]}
    plain = regress(REPORTS, PEOPLE, "age + ward")
    for formula in ("`age in years` + ward", "1 + `age in years` + C(ward)"):
        fit = regress(REPORTS, spaced, formula)
        assert sorted(fit.coefficients[0]) == pytest.approx(sorted(plain.coefficients[0]))
        assert "age in years" in " ".join(fit.names)
    monkeypatch.setitem(sys.modules, "formulaic", None)
    with pytest.raises(MissingExtraError, match="Or write 'ward', and --reference ward=VALUE"):
        regress(REPORTS, PEOPLE, "C(ward)")
    for formula in ("age in years + ward", "ward + age in years"):
        with pytest.raises(ArgumentError, match="must have backticks around 'age in years'"):
            regress(REPORTS, spaced, formula)


def test_interactions_functions_and_no_intercept() -> None:
    found = regress(REPORTS, PEOPLE, "~ 0 + ward + ward:np.log(age)")
    assert len(found.names) == 6 and "Intercept" not in found.names
    assert found.predict({"age": [40.0], "ward": ["east"]}).shares.shape == (1, 3)
    assert found.wald("ward").degrees == 6


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        ("log(answer) ~ age", "question left of ~, or nothing; .* Write 'age'\\.$"),
        ("log(aeg)", "covariates, which have no column 'aeg'; .* Is 'age' meant\\?$"),
        ("height", "must be one of the columns: age, ward; got 'height'"),
        ("height:age", "no column 'height'; .* For example 'age \\+ ward'\\.$"),
        ("C(ward, contr.sum(base='east')) + nothing(age)", "does not fit the covariates; got"),
        ("age + (1 | ward)", r"cannot have \|; .* pass random='ward' \(in a command --random\)"),
        ("age | ward", r"cannot have \|; .* pass random='ward'"),
        ("age +", "cannot be read"),
        ("relevel(ward, ref='A')", "To compare with the label A, add --reference ward=A"),
        ("age + i.ward", "To compare with the label VALUE, add --reference ward=VALUE"),
        ("np.log(age - 50)", "finite numbers in every row|does not fit"),
        ("age + I(2 * age)", "are collinear"),
    ],
)
def test_formulas_that_do_not_fit_are_refused(formula: str, text: str) -> None:
    with np.errstate(all="ignore"), pytest.raises(ArgumentError, match=text) as caught:
        regress(REPORTS, PEOPLE, formula)
    assert caught.value.__context__ is None or caught.value.__suppress_context__


def test_a_formula_is_text_and_needs_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ArgumentTypeError, match="formula: must be text"):
        regress(REPORTS, PEOPLE, 3)  # type: ignore[arg-type]
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.partition(".")[0] == "formulaic":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"pip install .warner\[formula\]"):
        regress(REPORTS, PEOPLE, "age:ward")
    assert regress(REPORTS, PEOPLE, "age + ward").coefficients == pytest.approx(
        regress(REPORTS, PEOPLE).coefficients
    )
    assert regress(REPORTS, PEOPLE, "1").names == ("Intercept",)


def test_means_take_formulas_too() -> None:
    from warner import Integers, Laplace

    reports = Laplace(Integers(0, 10), 4.0).randomize((PEOPLE["age"] // 10).astype(int), rng=RNG)
    assert regress(reports, PEOPLE, "age", kind="mean").names == ("Intercept", "age")


# Linear regression of the mean of a hidden number.


VISITORS = 400
SCALED_AGE = RNG.normal(size=VISITORS)
VISITS = np.clip(np.round(4 + SCALED_AGE + RNG.normal(size=VISITORS)), 0, 9).astype(int)


def test_without_protection_it_is_least_squares() -> None:
    reports = warner.RandomizedResponse(Integers(0, 9), float("inf")).reports(VISITS)
    found = regress(reports, SCALED_AGE, kind="mean")
    z = np.stack([np.ones(VISITORS), SCALED_AGE], axis=1)
    best, *_ = np.linalg.lstsq(z, VISITS.astype(float))
    assert found.coefficients[0] == pytest.approx(best)
    rest = VISITS - z @ best
    inverse = np.linalg.inv(z.T @ z)
    robust = inverse @ (z.T @ (z * rest[:, None] ** 2)) @ inverse * VISITORS / (VISITORS - 2)
    assert found.covariance == pytest.approx(robust)
    assert found.outcomes == ("mean",) and found.status.name == "EXACT"
    estimate, low, high = found.predict([0.5])[0]
    assert estimate == pytest.approx(best @ [1, 0.5]) and low < estimate < high
    assert "the mean is larger by the estimate" in " ".join(str(found.table()).split())
    assert repr(found) == "MeanRegression(2 coefficients, n=400)"


DOMAIN = Integers(0, 9)
MAKERS = {
    "k-RR": warner.RandomizedResponse(DOMAIN, 6.0),
    "OUE": warner.UnaryEncoding(DOMAIN, 6.0),
    "OLH": warner.LocalHashing(DOMAIN, 6.0, seeds=64),
    "Laplace": warner.Laplace(DOMAIN, 20.0),
    "square wave": warner.SquareWave(DOMAIN, 6.0),
    "stochastic rounding": warner.mechanisms.StochasticRounding(DOMAIN, 6.0),
    "twice OUE": warner.mechanisms.Repeated(warner.UnaryEncoding(DOMAIN, 6.0), 2),
    "Laplace of numbers": warner.Laplace(Interval(0, 9, 16), 20.0),
}


@pytest.mark.filterwarnings("ignore:All of these answers are whole numbers from 0 to 9")
@pytest.mark.parametrize("name", MAKERS)
def test_noise_is_averaged_out(name: str) -> None:
    rng = np.random.default_rng(3)
    numbers = VISITS if name != "Laplace of numbers" else VISITS.astype(float)
    reports = MAKERS[name].randomize(np.tile(numbers, 10), rng=rng)
    found = regress(reports, np.tile(SCALED_AGE, 10), kind="mean")
    best, *_ = np.linalg.lstsq(
        np.stack([np.ones(VISITORS), SCALED_AGE], axis=1), VISITS.astype(float)
    )
    assert np.abs((found.coefficients[0] - best) / found.standard_errors[0]).max() < 4
    assert found.standard_errors.max() < 0.25


def test_bad_input_of_a_mean_is_named() -> None:
    labels = warner.RandomizedResponse(Categorical(["a", "b"]), 1.0).randomize(["a", "b"])
    with pytest.raises(ArgumentTypeError, match="needs values that are numbers"):
        regress(labels, [1.0, 2.0], kind="mean")
    reports = warner.RandomizedResponse(DOMAIN, 1.0).randomize([1, 2])
    with pytest.raises(
        ArgumentError, match="must be more than 2, the number of coefficients; got 2"
    ):
        regress(reports, [1.0, 2.0], kind="mean")
    twice = warner.mechanisms.Repeated(warner.mechanisms.StochasticRounding(DOMAIN, 1.0), 2)
    with pytest.raises(IdentifiabilityError):
        regress(twice.randomize([1, 2, 3]), [1.0, 2.0, 4.0], kind="mean")


def test_an_exact_fit_has_no_nan() -> None:
    """Errors of 0: the ratios are infinite, or 0 for coefficients of 0."""
    reports = warner.RandomizedResponse(DOMAIN, float("inf")).reports([3] * 10)
    found = regress(reports, np.arange(10.0), kind="mean")
    assert not np.isnan(found.z).any() and not np.isnan(found.p_values).any()


def test_codes_of_categories_are_compared_with_the_one_that_is_named() -> None:
    """Rejects a slope for numbers of wards, and a refusal that needs the library formulaic."""
    codes = {"ward": np.array([1.0, 2.0, 10.0])[np.arange(len(PEOPLE["ward"])) % 3]}
    texts = {"ward": [f"w{n:02.0f}" for n in codes["ward"]]}
    found = regress(REPORTS, codes, baselines={"ward": 2})
    same = regress(REPORTS, texts, baselines={"ward": "w02"})
    assert found.names == ("Intercept", "ward[T.1]", "ward[T.10]")
    assert found.coefficients == pytest.approx(same.coefficients)
    new = found.predict({"ward": [10, 1]}).shares
    assert new == pytest.approx(same.predict({"ward": ["w10", "w01"]}).shares)
    with pytest.raises(ArgumentError, match="must be one of"):
        regress(REPORTS, codes, baselines={"ward": 3})


def test_a_formula_states_the_labels_that_others_are_compared_with() -> None:
    """Rejects a paper that names the reference of the answer alone."""
    found = regress(REPORTS, PEOPLE, "C(ward) + I(age / 10)")
    summary = dict(found.table().summary)
    assert "C(ward) east" in summary["Compared with"] and "age" not in summary["Compared with"]
    assert (
        "C(ward)"
        not in dict(regress(REPORTS, PEOPLE, "0 + C(ward)").table().summary)["Compared with"]
    )
