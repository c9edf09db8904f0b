"""A hidden answer as predictor, random intercepts, links, groups, and correlations."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import warner
from tests.refusals import refused
from warner import Categorical, Integers, PerAttribute, Product, RandomizedResponse, regress
from warner.designs import Cheating, Crosswise, ExtendedCrosswise, StochasticLieDetector, Warner
from warner.errors import ArgumentError, ArgumentTypeError, MismatchError
from warner.regression.correlation import correlate
from warner.regression.lists import regress_list
from warner.results.tables import FOLLOWED

N = 900
RNG = np.random.default_rng(11)
AGE = RNG.normal(size=N)
SCHOOL = np.array([f"s{i}" for i in RNG.integers(0, 30, N)])
REGION = np.where(np.isin(SCHOOL, [f"s{i}" for i in range(15)]), "east", "west")
TRUE = RNG.random(N) < 1 / (1 + np.exp(0.5 - 0.8 * AGE))
OTHER = RNG.random(N) < np.where(TRUE, 0.7, 0.3)
INCOME = 2 + 1.5 * TRUE + 0.5 * AGE + RNG.normal(size=N)
DESIGN = Warner("5/6")
SMOKES = DESIGN.randomize(np.where(TRUE, "yes", "no"), rng=np.random.default_rng(1))
DRINKS = Crosswise("1/6").randomize(np.where(OTHER, "yes", "no"), rng=np.random.default_rng(2))
PEOPLE: dict[str, Any] = {"age": AGE, "income": INCOME, "school": SCHOOL, "region": REGION}
BOTH = {"smokes": SMOKES, "drinks": DRINKS}


def test_known_answers_are_ordinary_covariates() -> None:
    """Without protection the coefficients are those of least squares, and its errors too."""
    known = RandomizedResponse(Categorical(["no", "yes"]), float("inf"))
    reports = known.reports(TRUE.astype(int))
    found = regress(reports, PEOPLE, "income ~ smokes + age", hidden="smokes")
    design = np.stack([np.ones(N), TRUE, AGE], axis=1)
    best, rest, *_ = np.linalg.lstsq(design, INCOME)
    assert found.names == ("Intercept", "smokes[T.yes]", "age")
    assert found.coefficients[0] == pytest.approx(best, abs=1e-7)
    deviation = np.sqrt(float(rest[0]) / N)
    assert found.others[0].estimate == pytest.approx(deviation, rel=1e-6)
    errors = deviation * np.sqrt(np.linalg.inv(design.T @ design).diagonal())
    assert found.standard_errors[0] == pytest.approx(errors, rel=1e-6)
    alone = regress(reports, {"age": AGE})
    assert found.hidden.coefficients == pytest.approx(alone.coefficients, abs=1e-6)


def test_a_predictor_has_a_table_json_and_predictions() -> None:
    found = regress(SMOKES, PEOPLE, "income ~ smokes + age", hidden="smokes")
    assert repr(found) == "PredictorRegression('income', 3 coefficients, n=900, status=CONVERGED)"
    rows = found.rows()
    assert [row["value"] for row in rows] == ["income"] * 4 + ["smokes: yes"] * 2
    assert [row["covariate"] for row in rows[3:5]] == ["sd(residual)", "Intercept"]
    assert rows[0]["odds_ratio"] is None and rows[5]["odds_ratio"] > 1
    text = " ".join(str(found.table()).split())
    assert (
        "the mean of income is larger by the estimate" in text
        and "compared with smokes: no" in text
    )
    whole = json.loads(json.dumps(found.to_json()))
    assert (whole["outcome"], whole["hidden"], whole["simulated"]) == ("income", ["smokes"], True)
    low, high = (found.predict({"age": [0.0], "smokes": [x]})[0] for x in ("no", "yes"))
    assert high[0] - low[0] == pytest.approx(found.coefficients[0, 1])
    assert low[1] < low[0] < low[2]
    assert abs(found.coefficients[0, 1] - 1.5) < 4 * found.standard_errors[0, 1]


def test_formulas_references_and_shares_of_a_predictor() -> None:
    plain = regress(SMOKES, PEOPLE, "income ~ smokes + age", hidden="smokes")
    other = regress(SMOKES, PEOPLE, "income ~ smokes + age", "yes", hidden="smokes ~ age")
    assert other.names[1] == "smokes[T.no]"
    assert other.coefficients[0, 1] == pytest.approx(-plain.coefficients[0, 1], abs=1e-6)
    assert other.hidden.reference == "yes"
    product = regress(SMOKES, PEOPLE, "income ~ smokes * age", hidden="smokes ~ age")
    assert "smokes[T.yes]:age" in product.names
    assert product.log_likelihood >= plain.log_likelihood
    constant = regress(SMOKES, PEOPLE, "income ~ smokes", hidden="smokes")
    assert constant.hidden.names == ("Intercept",)


def test_an_outcome_of_two_values_and_a_number_among_the_answers() -> None:
    rich = np.where(INCOME > 3, "yes", "no")
    found = regress(SMOKES, {"rich": rich, "age": AGE}, "rich ~ smokes + age", hidden="smokes")
    assert found.family == "logit" and found.rows()[0]["value"] == "rich: yes"
    assert "log-odds of rich" in " ".join(str(found.table()).split())
    one = found.predict({"age": [0.0], "smokes": ["yes"]})[0]
    assert 0 < one[1] < one[0] < one[2] < 1
    zero_one = regress(
        SMOKES, {"rich": INCOME > 3, "age": AGE}, "rich ~ smokes + age", hidden="smokes"
    )
    assert zero_one.coefficients == pytest.approx(found.coefficients, abs=1e-6)
    probit = regress(
        SMOKES, {"rich": rich, "age": AGE}, "rich ~ smokes + age", hidden="smokes", link="probit"
    )
    assert "the probit of rich" in " ".join(str(probit.table()).split())
    visits = warner.RandomizedResponse(Integers(0, 3), 3.0).randomize(TRUE + 2 * OTHER, rng=RNG)
    number = regress(visits, PEOPLE, "income ~ visits + age", hidden="visits")
    assert number.names == ("Intercept", "visits", "age")


def test_several_hidden_predictors_and_questions_in_one_report() -> None:
    found = regress(BOTH, PEOPLE, "income ~ smokes + drinks", hidden="smokes + drinks ~ 1")
    assert found.names == ("Intercept", "smokes[T.yes]", "drinks[T.yes]")
    assert found.hidden.outcomes == (("no", "yes"), ("yes", "no"), ("yes", "yes"))
    assert found.rows()[-1]["value"] == "smokes: yes, drinks: yes"
    answers = Categorical(["no", "yes"])
    survey = PerAttribute(
        Product(smokes=answers, drinks=answers),
        {name: lambda d: RandomizedResponse(d, 3.0) for name in ("smokes", "drinks")},
    )
    texts = {n: np.where(x, "yes", "no").tolist() for n, x in (("smokes", TRUE), ("drinks", OTHER))}
    reports = survey.randomize(texts, rng=np.random.default_rng(3))
    one = regress(reports, PEOPLE, "income ~ smokes", hidden="smokes")
    assert one.n == N
    two = regress(reports, PEOPLE, "income ~ smokes + drinks", hidden="smokes + drinks ~ 1")
    assert two.names == found.names
    r = correlate(reports, {"income": INCOME})
    assert r.names == ("smokes", "drinks", "income")


def test_random_intercepts_have_a_deviation_and_predictions() -> None:
    rng = np.random.default_rng(5)
    shift = dict(zip(np.unique(SCHOOL), rng.normal(size=30), strict=True))
    eta = -0.3 + AGE + np.array([shift[s] for s in SCHOOL])
    yes = rng.random(N) < 1 / (1 + np.exp(-eta))
    reports = DESIGN.randomize(np.where(yes, "yes", "no"), rng=rng)
    given = {"age": AGE, "school": SCHOOL}
    found = regress(reports, given, random="school")
    assert found.names == ("Intercept", "age")
    (deviation,) = found.others
    assert deviation.name == "sd(school)" and deviation.p is not None and deviation.p < 1e-4
    assert deviation.interval()[0] < 1 < deviation.interval()[1]
    assert found.rows()[-1] == {
        **dict.fromkeys(found.rows()[0]),
        **deviation.row(0.95),
        "status": "converged",
    }
    text = " ".join(str(found.table()).split())
    assert "The intercepts of the 30 groups by school" in text
    # Shares are means over schools, so that they are nearer to a half than in a middle school.
    high = found.predict({"age": [3.0]})
    middle = 1 / (1 + np.exp(-(found.coefficients[0] @ [1, 3])))
    assert 0.5 < high.shares[0, 1] < middle and high.low[0, 1] < high.shares[0, 1] < high.high[0, 1]
    same = regress(reports, given, "age", random="school")
    assert same.coefficients == pytest.approx(found.coefficients)
    robust = regress(reports, given, random="school", errors="sandwich")
    assert robust.standard_errors == pytest.approx(found.standard_errors, rel=0.5)


def test_groups_that_do_not_differ_have_no_deviation() -> None:
    reports = DESIGN.randomize(["yes"] * 300 + ["no"] * 600, rng=np.random.default_rng(8))
    mixed = np.arange(N) % 9
    found = regress(reports, {"g": [f"g{i}" for i in mixed]}, "1", random="g")
    alone = regress(reports, {"g": [f"g{i}" for i in mixed]}, "1")
    (deviation,) = found.others
    assert deviation.interval()[0] == 0.0 and (deviation.p or 0) > 0.05
    assert found.log_likelihood >= alone.log_likelihood - 1e-9


@pytest.mark.parametrize("errors", ["observed", "sandwich", "design"])
def test_a_deviation_at_the_edge_has_no_interval_of_rounding(errors: str) -> None:
    """Rejects 4e-13 to 2e-12: at 0 the scores of groups are 0, and no square of them is an error."""
    reports = DESIGN.randomize(["yes"] * 300 + ["no"] * 600, rng=np.random.default_rng(8))
    groups = np.arange(N) % 9
    given = {"g": [f"g{i}" for i in groups], "stratum": [f"h{i % 2}" for i in groups]}
    drawn: Any = {"cluster": "g", "strata": "stratum"} if errors == "design" else {"errors": errors}
    found = regress(reports, given, "1", random="g", **drawn)
    (deviation,) = found.others
    row = found.rows()[-1]
    assert deviation.estimate == row["estimate"] == 0
    assert "sd(g) is estimated at 0, the smallest possible value" in " ".join(
        str(found.table()).split()
    )
    if errors == "observed":  # its curvature is that of the log-likelihood
        assert row["low"] == 0 and row["high"] > 0.1
    else:
        assert row["error"] is row["low"] is row["high"] is None
    json.loads(json.dumps(found.to_json(), allow_nan=False))


def test_json_has_the_covariance_of_the_coefficients() -> None:
    """Rejects a matrix without the names of its rows, and one that is not that of the errors."""
    two = regress(SMOKES, PEOPLE, "age + region").to_json()["covariance"]
    assert two["names"] == ["Intercept", "age", "region[T.west]"]
    found = regress(SMOKES, PEOPLE, "age + region")
    assert np.sqrt(np.diag(two["matrix"])) == pytest.approx(found.standard_errors[0])
    three = Categorical(["a", "b", "c"])
    reports = RandomizedResponse(three, 3.0).randomize(
        np.array(["a", "b", "c"])[np.arange(N) % 3], rng=np.random.default_rng(4)
    )
    of_three = regress(reports, {"age": AGE}).to_json()["covariance"]
    assert of_three["names"] == ["b:Intercept", "b:age", "c:Intercept", "c:age"]
    assert np.shape(of_three["matrix"]) == (4, 4)


def test_random_intercepts_in_a_survey() -> None:
    given = {**PEOPLE, "w": np.where(REGION == "east", 1.0, 3.0)}
    formula = {"formula": "age", "random": "school"}
    found = regress(
        SMOKES,
        given,
        weights="w",
        cluster="school",
        strata="region",
        **formula,  # type: ignore[call-overload]
    )
    assert found.errors == "linearised" and found.others[0].p is None
    # Weights that are equal change nothing but the kind of errors.
    equal = regress(
        SMOKES, {**given, "w": 2 * np.ones(N)}, weights="w", cluster="school", **formula
    )  # type: ignore[call-overload]
    plain = regress(SMOKES, given, **formula)  # type: ignore[call-overload]
    assert equal.coefficients == pytest.approx(plain.coefficients, abs=1e-6)
    for roles, said in (
        ({"weights": "w"}, "Write cluster='school' if these groups were drawn"),
        ({"cluster": "region"}, "more clusters than strata, for the 2 coefficients"),
        ({"cluster": "pair"}, "must each lie within one cluster of 'pair'"),
    ):
        pair = np.array([f"p{i}" for i in np.arange(N) % 40])
        refused(ArgumentError, said, regress, SMOKES, {**given, "pair": pair}, **roles, **formula)


def test_a_predictor_in_a_survey() -> None:
    given = {**PEOPLE, "w": np.where(REGION == "east", 1.0, 3.0)}
    roles = {"weights": "w", "cluster": "school", "strata": "region"}
    model = {"formula": "income ~ smokes + age", "hidden": "smokes"}
    found = regress(SMOKES, given, **model, **roles)  # type: ignore[call-overload]
    assert found.errors == "linearised" and found.design_effects.min() > 0
    assert (found.degrees <= 28).all()
    # Half of the people twice is all of them with half the weight.
    half = regress(SMOKES[:450], {k: v[:450] for k, v in PEOPLE.items()}, **model)  # type: ignore[call-overload]
    twice = regress(
        [SMOKES[:450]] * 2, {k: np.tile(v[:450], 2) for k, v in PEOPLE.items()}, **model
    )  # type: ignore[call-overload]
    assert twice.coefficients == pytest.approx(half.coefficients, abs=1e-6)
    assert twice.standard_errors * np.sqrt(2) == pytest.approx(half.standard_errors, rel=1e-5)


def test_links_other_than_the_logit_have_no_odds() -> None:
    """Rejects odds ratios of a probit, and a share that is called the probit of the sum."""
    probit = regress(SMOKES, {"age": AGE}, link="probit")
    assert "odds_ratio" not in probit.rows()[0] and probit.to_json()["link"] == "probit"
    assert "odds" not in str(probit.table())
    # A probit is the inverse of the distribution function, and so is every link.
    for link, share in (
        ("probit", "is then the normal distribution function of the sum; the sum is the probit of"),
        ("cloglog", "is then 1 - exp(-exp(sum)); the sum is the cloglog of this share."),
        ("cauchit", "is then 1/2 + arctan(sum) / pi; the sum is the cauchit of this share."),
    ):
        words = " ".join(str(regress(SMOKES, {"age": AGE}, link=link).table()).split())
        assert f"The share of a value, compared with 'no', {share}" in words
    logit = regress(SMOKES, {"age": AGE})
    assert "The odds compare 'yes' with 'no'. One unit more" in str(logit.table())
    new = {"age": [-1.0, 0.0, 1.0]}
    assert probit.predict(new).shares == pytest.approx(logit.predict(new).shares, abs=0.02)
    assert probit.predict(new).low == pytest.approx(logit.predict(new).low, abs=0.03)
    refused(ArgumentError, "got link='probit'. Regress again with link='logit'", probit.odds_ratios)


def test_groups_with_cards_of_their_own() -> None:
    """The shares of both groups are known only together, and two cards are two mechanisms."""
    first, second = (
        SMOKES[:400],
        Warner("2/3").randomize(np.where(TRUE[400:], "yes", "no"), rng=RNG),
    )
    found = regress([first, second], {"age": AGE})
    assert found.n == N and abs(found.coefficients[0, 1] - 0.8) < 4 * found.standard_errors[0, 1]
    mean = regress(
        [RandomizedResponse(Integers(0, 1), e).randomize(TRUE[a:b].astype(int), rng=RNG)
         for e, a, b in ((1.0, 0, 400), (2.0, 400, N))],
        {"age": AGE}, kind="mean",
    )  # fmt: skip
    assert mean.n == N
    other = RandomizedResponse(Integers(0, 1), 1.0).reports([0, 1])
    refused(
        MismatchError, "must all be of one question", regress, [first, other], {"age": AGE[:402]}
    )


def test_designs_of_two_groups_say_what_they_add() -> None:
    rng = np.random.default_rng(9)
    card = 1 + (np.arange(N) % 2)
    told = rng.random(N) < np.where(card == 1, 0.25, 0.75)
    cheats = rng.random(N) < 0.1
    words = np.where((told | TRUE) & ~cheats, "yes", "no").tolist()
    said = Cheating("1/4", "3/4").said(words, card)
    found = regress(said, {"age": AGE})
    assert found.outcomes == ("yes",) and [other.name for other in found.others] == ["cheats"]
    assert abs(found.coefficients[0, 1] - 0.8) < 4 * found.standard_errors[0, 1]
    text = " ".join(str(found.table()).split())
    assert "cheats is the share of people who say no whatever the card says. Shares and" in text
    low, high = found.others[0].interval()
    assert 0 < low < found.others[0].estimate < high < 1
    frame = pd.DataFrame({"age": AGE})
    assert regress(said, frame, link="probit").others[0].estimate == pytest.approx(
        found.others[0].estimate, abs=0.03
    )
    refused(
        ArgumentError,
        "cannot be 'smokes': some people say no whatever the card says, and this design gives no "
        "answer for them. Make 'smokes' the outcome: leave out hidden, and write for example formula='income'",
        regress, said, PEOPLE, "income ~ smokes", hidden="smokes",
    )  # fmt: skip
    refused(
        ArgumentError,
        "cannot be correlated: some people say no whatever the card says",
        correlate,
        {"smokes": said, "drinks": DRINKS},
    )
    same = np.where(rng.random(N) < np.where(card == 1, 0.25, 0.75), TRUE, ~TRUE)
    design = ExtendedCrosswise("1/4")
    crosswise = design.said(np.where(same, "same", "different"), card)
    assert regress(crosswise, {"age": AGE}).others == ()
    refused(MismatchError, "cannot be explained by chance", regress,
            StochasticLieDetector("1/10", "9/10").said(["no" if c == 1 else "yes" for c in card], card),
            {"age": AGE})  # fmt: skip


BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"hidden": "smokes"}, ArgumentError, "must have the outcome left of ~"),
    ({"formula": "income ~ age", "hidden": "smokes"}, ArgumentError, "one of the predictors"),
    ({"formula": "income ~ smokes", "hidden": 3}, ArgumentError, "must name the hidden answer"),
    (
        {"formula": "income ~ smokes * age", "hidden": "smokes"},
        ArgumentError,
        "For example 'smokes ~ age', or 'smokes ~ 1' if this share depends on nothing",
    ),
    (
        {"formula": "income ~ smokes", "hidden": "smokes ~ income"},
        ArgumentError,
        "must not depend on the outcome '.*'; got",
    ),
    (
        {"formula": "income ~ age", "hidden": "age"},
        ArgumentError,
        "must not also be the name of a cov",
    ),
    ({"formula": "money ~ smokes", "hidden": "smokes"}, ArgumentError, "left of the formula"),
    ({"formula": "school ~ smokes", "hidden": "smokes"}, ArgumentTypeError, "have two values"),
    (
        {"formula": "income ~ smokes", "hidden": "smokes", "link": "probit"},
        ArgumentError,
        "can be used only for an outcome with two values",
    ),
    (
        {"formula": "income ~ smokes + drinks", "hidden": "smokes + drinks ~ 1"},
        ArgumentError,
        "the reports are of one question. Pass",
    ),
    (
        {"formula": "income ~ smokes", "hidden": "smokes", "attribute": "x"},
        ArgumentError,
        "hidden=..., which names the questions",
    ),
    (
        {"kind": "mean", "random": "school"},
        ArgumentError,
        "cannot be used with a mean",
    ),
    ({"random": "scool"}, ArgumentError, "Is 'school' meant"),
    ({"formula": "age", "random": "one"}, ArgumentError, "must have at least 2 groups"),
    ({"link": "log"}, ArgumentError, "link: must be one of"),
]


@pytest.mark.parametrize(("options", "error", "said"), BAD)
def test_mistakes_are_said_in_the_words_of_users(
    options: dict[str, Any], error: type[Exception], said: str
) -> None:
    given = {**PEOPLE, "one": ["x"] * N}
    refused(error, said, regress, SMOKES, given, **options)


def test_several_questions_without_a_predictor_are_refused() -> None:
    """Rejects the program that regresses the first of them."""
    refused(ArgumentError, "must be of one question, unless hidden=", regress, BOTH, {"age": AGE})
    short = {"smokes": SMOKES, "drinks": DRINKS[:5]}
    refused(
        ArgumentError, "other numbers of reports for 'drinks' than for 'smokes'", regress, short, PEOPLE,
        "income ~ smokes + drinks", hidden="smokes + drinks ~ 1",
    )  # fmt: skip


def test_links_and_intercepts_of_three_answers_are_refused() -> None:
    often = RandomizedResponse(Categorical(["never", "sometimes", "often"]), 2.0)
    reports = often.randomize(["never", "often", "sometimes"] * 300, rng=RNG)
    for options in ({"link": "probit"}, {"random": "school"}):
        refused(
            ArgumentError, "can be used only for a question with two answers", regress, reports,
            {"age": AGE, "school": SCHOOL}, **options,
        )  # fmt: skip


# Correlations.


def test_correlations_of_known_answers_are_ordinary_ones() -> None:
    known = RandomizedResponse(Categorical(["no", "yes"]), float("inf"))
    hidden = {"smokes": known.reports(TRUE.astype(int)), "drinks": known.reports(OTHER.astype(int))}
    r = correlate(hidden, {"income": INCOME, "age": AGE})
    assert r.values == pytest.approx(np.corrcoef([TRUE, OTHER, INCOME, AGE]))
    assert r.errors[2, 3] == 0 and r.errors[0, 1] > 0
    both = correlate(hidden, method="likelihood")
    assert both.values[0, 1] == pytest.approx(r.values[0, 1], abs=1e-6)
    # The interval of Fisher's z and that of the likelihood, with 900 known answers.
    assert both.interval()[0, 1] == pytest.approx(r.interval()[0, 1], abs=0.01)


def test_correlations_have_rows_a_table_and_json() -> None:
    r = correlate(
        BOTH, {"income": INCOME, "w": np.ones(N), "school": SCHOOL}, weights="w", cluster="school"
    )
    assert r.names == ("smokes", "drinks", "income")
    assert len(r.rows()) == 3 and r.to_frame().num_rows == 3
    text = " ".join(str(r.table()).split())
    assert "900 simulated reports, weighted by w, in clusters by school: 30 clusters" in text
    assert json.loads(json.dumps(r.to_json()))["survey"]["columns"]["cluster"] == "school"
    plain = correlate(BOTH, {"income": INCOME})
    assert plain.values == pytest.approx(r.values)
    assert plain.errors == pytest.approx(r.errors, rel=0.5)
    assert (r.interval(0.9)[..., 1] <= r.interval(0.99)[..., 1]).all()


def test_a_correlation_of_one_answer_with_itself_is_at_its_limit() -> None:
    again = Warner("5/6").randomize(np.where(TRUE, "yes", "no"), rng=np.random.default_rng(4))
    r = correlate({"smokes": SMOKES, "again": again}, method="likelihood")
    assert r.values[0, 1] > 0.8 and r.interval()[0, 1, 1] == 1.0
    turned = Warner("5/6").randomize(np.where(TRUE, "no", "yes"), rng=np.random.default_rng(4))
    r = correlate({"smokes": SMOKES, "turned": turned}, method="likelihood")
    assert r.values[0, 1] < -0.8 and r.interval()[0, 1, 0] == -1.0


def test_what_has_no_correlation_is_refused() -> None:
    refused(ArgumentError, "must be of two questions", correlate, {"smokes": SMOKES})
    refused(ArgumentError, "must be of several questions", correlate, SMOKES, {"age": AGE})
    refused(ArgumentTypeError, "must hold numbers", correlate, {"smokes": SMOKES}, {"s": SCHOOL})
    nobody = DESIGN.reports(np.arange(N) % 7 == 0)
    refused(
        ArgumentError, "estimated variance of 0 or less",
        correlate, {"smokes": SMOKES, "rare": nobody},
    )  # fmt: skip
    refused(
        ArgumentError, "drawn one by one with equal probabilities", correlate, BOTH, {"w": np.ones(N)},
        "likelihood", weights="w",
    )  # fmt: skip
    often = RandomizedResponse(Categorical(["never", "some", "often"]), 2.0)
    labels = often.randomize(["never", "often", "some"] * 300, rng=RNG)
    refused(ArgumentError, "values that are numbers", correlate, {"a": labels, "b": SMOKES})


def test_an_answer_of_everybody_has_no_correlation() -> None:
    # Rejects r = 1 with the error 0: a share of 1 was divided by, and the result cut to 1.
    card = np.arange(600) % 2 + 1
    said = StochasticLieDetector("1/10", "9/10").said(["yes"] * 600, card.tolist())
    refused(
        ArgumentError, "has no correlation", correlate, {"smokes": said}, {"y": np.arange(600) % 7}
    )


def test_the_likelihood_has_a_correlation_where_moments_have_none() -> None:
    # Rejects "Use method='likelihood'" as the answer to method='likelihood'.
    design = Crosswise("1/4")
    few = design.reports(
        [design.report_code("same")] * 170 + [design.report_code("different")] * 30
    )
    other = design.reports([design.report_code(w) for w in ["same", "different"] * 100])
    refused(ArgumentError, "variance of 0 or less", correlate, {"a": few, "b": other})
    r = correlate({"a": few, "b": other}, method="likelihood")
    low, high = r.interval()[0, 1]
    assert -1 <= low <= r.values[0, 1] <= high <= 1
    # Rejects NaN in a file of JSON.
    assert r.to_json()["correlations"][0]["error"] is None


def test_a_group_whose_reports_are_all_alike_does_not_outweigh_the_other() -> None:
    # Rejects r = 0 with the error 0, and NaN: the weight of a group was 1 / (variance of reports).
    rng = np.random.default_rng(5)
    card, smokes = np.repeat([1, 2], 1500), rng.random(3000) < 0.7
    yes = smokes | (card == 1) | (rng.random(3000) < 0.1)
    design = StochasticLieDetector("1/10000", "9/10")
    answers = design.said(np.where(yes, "yes", "no").tolist(), card.tolist())
    r = correlate({"smokes": answers}, {"y": smokes + rng.normal(size=3000)})
    assert 0.3 < r.values[0, 1] < 0.5 and 0.01 < r.errors[0, 1] < 0.05


def test_a_regression_says_whether_people_followed_a_design_that_tests_itself() -> None:
    design = ExtendedCrosswise("1/4")
    words = ["different"] * 250 + ["same"] * 750 + ["different"] * 550 + ["same"] * 450
    card = [1] * 1000 + [2] * 1000
    said = design.said(words, card)
    alone = design.estimate(said.counts())
    columns = {"age": [18, 25, 39, 60] * 500, "w": [1, 2] * 1000, "school": [*range(100)] * 20}
    fit = regress(said, columns, "age")
    assert alone.fit_test is not None
    assert alone.about_test in " ".join(str(fit.table()).split())
    assert fit.to_json()["fit_tests"] == [alone.fit_test._asdict()]
    weighted = " ".join(str(regress(said, columns, "age", weights="w").table()).split())
    assert alone.about_test in weighted and "counts each person once" in weighted
    of_age = regress(said, columns, "age ~ asked", hidden="asked ~ 1")
    assert alone.about_test in " ".join(str(of_age.table()).split())
    drawn = regress(said, columns, "age", cluster="school")
    assert "not tested" in str(drawn.table()) and "fit_tests" not in drawn.to_json()
    honest = Cheating("1/4", "3/4").said(["yes", "no", "no"] * 100, [1, 2, 1] * 100)
    assert "Test of" not in str(regress(honest, {"age": [18, 25, 39] * 100}, trusted=True).table())


def test_a_product_is_tested_without_its_factors() -> None:
    """Rejects the test that a ward makes no difference without the coefficients of its products.

    Also rejects a product with no test, one with those of its factors, and 0 for a slope as such.
    """
    wards = {"age": AGE, "ward": np.array(["n", "s", "w"])[np.arange(N) % 3], "region": REGION}
    assert list(regress(SMOKES, wards, "ward + region").joint_tests()) == ["ward"]
    for product, columns in (("ward * region", 2), ("ward * age", 2)):
        found = regress(SMOKES, wards, product)
        term = product.replace(" * ", ":")
        ((name, test),) = found.joint_tests().items()
        assert name == term and test.degrees == columns
        at = [i for i, each in enumerate(found.names) if ":" in each]
        b, inverse = found.coefficients[0][at], np.linalg.inv(found.covariance[np.ix_(at, at)])
        assert test.statistic == pytest.approx(b @ inverse @ b)
        words = (
            f"Wald test that the product of {product.replace(' * ', ' and ')} makes no difference"
        )
        assert words in " ".join(str(found.table()).split())
    for slopes in ("ward + ward:age", "0 + ward", "0 + ward:region"):
        assert not regress(SMOKES, wards, slopes).joint_tests()


def test_tests_of_a_list_experiment_are_about_the_sensitive_item() -> None:
    """Rejects the test that ward makes no difference, of the control items among others."""
    rng, treated = np.random.default_rng(6), np.arange(N) % 2
    ward = np.array(["n", "s", "w"])[rng.integers(0, 3, N)]
    # The control items depend on the ward, and the sensitive item does not.
    controls = rng.binomial(3, np.where(ward == "n", 0.2, 0.6))
    count = controls + treated * (rng.random(N) < 0.4)
    found = regress_list(3, count, treated, {"ward": ward}, model="linear")
    test = found.joint_tests()["ward"]
    b, inverse = found.coefficients[0, 1:], np.linalg.inv(found.covariance[1:3, 1:3])
    assert test.degrees == 2 and test.statistic == pytest.approx(b @ inverse @ b)
    assert found.wald("ward", found.outcomes).degrees == 4
    assert found.wald("ward", ["control items"]).statistic > 100
    refused(ArgumentError, "outcomes: must be one of 'sensitive", found.wald, "ward", ["controls"])
    assert found.to_json()["tested"] == ["sensitive item"]
    table = found.table()
    for words in (" ".join(str(table).split()), " ".join(name for name, _ in table.summary)):
        assert "Wald test that ward makes no difference to the sensitive item" in words
        assert "Wald test that no covariate makes a difference to the sensitive item" in words


def test_without_an_intercept_no_test_says_that_covariates_make_no_difference() -> None:
    """Rejects the test of shares of a half under the name of the test of equal shares."""
    wards = {"age": AGE, "ward": np.array(["n", "s", "w"])[np.arange(N) % 3]}
    without = regress(SMOKES, wards, "0 + ward + age")
    assert without.model_test() is None and without.to_json()["model_test"] is None
    assert "no covariate makes a difference" not in " ".join(str(without.table()).split())
    with_one = regress(SMOKES, wards, "ward + age").model_test()
    assert with_one is not None and with_one.degrees == 3


def test_answers_on_paper_assume_that_people_followed_the_card() -> None:
    """Rejects slopes, correlations and differences without the assumption that shares state."""
    by_phone = RandomizedResponse(Categorical(["no", "yes"]), 2.0)
    sent = by_phone.randomize(np.where(TRUE, "yes", "no"), rng=np.random.default_rng(3))
    for reports, times in ((SMOKES, 1), (sent, 0)):
        mechanism = DESIGN if times else by_phone
        tally = mechanism.tally(reports, by={"region": REGION.tolist()})
        results = [
            regress(reports, {"age": AGE}),
            regress(reports, PEOPLE, "income ~ smokes", hidden="smokes"),
            correlate({"smokes": reports}, {"age": AGE}),
            warner.compare_groups(tally),
            warner.estimate(tally.total()),
        ]
        for result in results:
            assert " ".join(str(result.table()).split()).count(FOLLOWED) == times, result
    numbers = Warner("5/6", Integers(0, 1))
    scores = numbers.randomize(TRUE.astype(int).tolist(), rng=np.random.default_rng(1))
    assert FOLLOWED in " ".join(str(regress(scores, {"age": AGE}, kind="mean").table()).split())
