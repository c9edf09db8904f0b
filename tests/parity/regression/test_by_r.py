"""Regressions of simulated people, as the packages RRreg, GLMMRR and rr of R print them.

Estimates agree with the same likelihoods, maximised to a gradient of 1e-8, to 1e-6, and with what a
package prints as far as the package is from its maximum. Where a package estimates something else,
our likelihood is at least as high.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warner
from warner import Integers, regress
from warner.designs import (
    Cheating,
    Crosswise,
    ForcedResponse,
    Kuk,
    LatentClasses,
    Mangat,
    PaperDesign,
    StochasticLieDetector,
    SymmetricCheating,
    Triangular,
    Unrelated,
    UnrelatedUnknown,
    Warner,
)
from warner.regression.coefficients import Coefficients
from warner.regression.correlation import correlate

HERE = Path(__file__).parent / "by_r"
NUMBERS: dict[str, Any] = json.loads((HERE / "numbers.json").read_text())
LOGISTIC = ("x1", "x2")


@cache
def people(name: str) -> dict[str, np.ndarray]:
    """The columns of a file of simulated people."""
    text = gzip.decompress((HERE / f"{name}.csv.gz").read_bytes()).decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    return {column: np.array([float(row[column]) for row in rows]) for column in rows[0]}


def test_the_tables_beside_the_guide_are_the_same_people() -> None:
    """Rejects a guide that can be followed in a copy of the source alone, or with other people."""
    guides = Path(__file__).parents[3] / "docs" / "guides"
    assert "by_r" not in (guides / "coming_from_rrreg.md").read_text()
    words = {"same": 1, "different": 0, "yes": 1, "no": 0, "red": 1, "black": 0}
    names = {"said": "crosswise", "ticked": "warner", "colour": "kuk_b"}
    for table, name in (("rrreg_people", "rrreg_models"), ("rrreg_schools", "rrreg_mixed")):
        rows = list(csv.DictReader((guides / f"{table}.csv").read_text().splitlines()))
        for column in rows[0]:
            numbers = [float(words.get(row[column], row[column])) for row in rows]
            assert numbers == people(name)[names.get(column, column)].tolist()


DESIGNS: dict[str, PaperDesign] = {
    "warner": Warner(0.75),
    "uqt_known": Unrelated(0.7, 0.3),
    "fr": ForcedResponse(no=0.15, yes=0.1),
    "crosswise": Crosswise(0.25),
    "triangular": Triangular(0.3),
    "mangat": Mangat(0.65),
    "kuk": Kuk(0.8, 0.25),
    "kuk_b": Kuk(0.85, 0.2),
}
OF_TWO_GROUPS: dict[str, LatentClasses] = {
    "uqt_unknown": UnrelatedUnknown("4/5", "3/10"),
    "sld": StochasticLieDetector("1/5", "4/5"),
    "cdm": Cheating("1/4", "3/4"),
    "cdm_sym": SymmetricCheating("2/5", "1/10", "3/20", "7/20"),
}
THREE = ForcedResponse(answers=[(0, 0.1), (1, 0.15), (2, 0.05)], domain=Integers(0, 2))


def reports(name: str) -> warner.Reports:
    """The reports of a column of the models."""
    design = THREE if name == "fr3" else DESIGNS[name]
    return design.reports(people("rrreg_models")[name].astype(int))


def columns(*names: str, of: str = "rrreg_models") -> dict[str, np.ndarray]:
    return {name: people(of)[name] for name in names}


def said(name: str) -> Any:
    """What the people of two groups said."""
    data = people("rrreg_models")
    words = ["yes" if each else "no" for each in data[name]]
    return OF_TWO_GROUPS[name].said(words, data["group"].astype(int))


def agrees(found: Coefficients, best: dict[str, Any], first: int = 0) -> None:
    """Whether coefficients, errors and likelihood are those of the maximum in R."""
    estimate, se = (list(best[key].values())[first:] for key in ("estimate", "se"))
    width = len(found.names)
    assert found.status.name == "CONVERGED"
    assert found.coefficients[0] == pytest.approx(estimate[:width], abs=1e-6)
    assert found.standard_errors[0] == pytest.approx(se[:width], rel=1e-5)
    assert found.log_likelihood == pytest.approx(best["logLik"], abs=1e-7)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "name", ["warner", "uqt_known", "fr", "crosswise", "triangular", "mangat", "kuk"]
)
def test_a_hidden_outcome_as_in_rrlog(name: str) -> None:
    agrees(regress(reports(name), columns(*LOGISTIC)), NUMBERS["RRlog"][name]["best"])


@pytest.mark.parametrize("name", ["uqt_unknown", "sld"])
def test_designs_of_two_groups_as_in_rrlog(name: str) -> None:
    found = regress(said(name), columns(*LOGISTIC))
    best = NUMBERS["RRlog"][name]["best"]
    agrees(found, best)
    (share,) = found.others
    assert share.estimate == pytest.approx(list(best["estimate"].values())[3], abs=1e-6)
    assert share.error == pytest.approx(list(best["se"].values())[3], rel=1e-5)


@pytest.mark.parametrize("name", ["cdm", "cdm_sym"])
def test_cheaters_have_a_likelihood_which_rrlog_forgets(name: str) -> None:
    """RRlog leaves the cheaters out, so that their share stays where its search begins, without an
    error. Here their share has one, and the likelihood is higher.
    """
    found = regress(said(name), columns(*LOGISTIC))
    assert found.status.name == "CONVERGED"
    assert found.log_likelihood > NUMBERS["RRlog"][name]["logLik"] + 0.1
    (cheats,) = found.others
    assert cheats.name == "cheats" and 0 < cheats.error < 0.08
    alone = OF_TWO_GROUPS[name].estimate(said(name).counts())
    assert abs(cheats.estimate - alone["cheats"]) < cheats.error


def test_a_direct_question_and_a_design_in_one_sample() -> None:
    data = people("rrreg_models")
    randomised = data["format"] == 1
    order = np.argsort(~randomised, kind="stable")
    answers = data["direct_or_warner"].astype(int)
    direct = warner.RandomizedResponse(Warner(0.8).domain, float("inf"))
    groups = [Warner(0.8).reports(answers[randomised]), direct.reports(answers[~randomised])]
    covariates = {name: data[name][order] for name in ("x1", "x2", "format")}
    agrees(regress(groups, covariates), NUMBERS["RRlog"]["direct_or_warner"]["best"])


def test_four_questions_to_each_person() -> None:
    data = people("rrreg_models")
    yes = data["warner_sum4"].astype(int)
    answers = np.concatenate([[1] * k + [0] * (4 - k) for k in yes]).astype(int)
    found = regress(
        Warner(0.75).reports(answers), {name: np.repeat(data[name], 4) for name in LOGISTIC}
    )
    best = dict(NUMBERS["RRlog"]["warner_sum4"]["best"])
    best["logLik"] -= sum(math.log(math.comb(4, k)) for k in yes)
    agrees(found, best)


@pytest.mark.parametrize("case", NUMBERS["RRglm"], ids=lambda c: f"{c['response']}, {c['link']}")
def test_links_as_in_glmmrr(case: dict[str, Any]) -> None:
    """Its errors are from the expected information, ours from the observed one."""
    found = regress(reports(case["response"]), columns(*LOGISTIC), link=case["link"])
    assert found.status.name == "CONVERGED"
    assert found.coefficients[0] == pytest.approx(list(case["coef"].values()), abs=1e-4)
    assert found.standard_errors[0] == pytest.approx(list(case["se"].values()), rel=0.07)
    assert case["logLik"] - 1e-8 <= found.log_likelihood < case["logLik"] + 1e-6


@pytest.mark.parametrize("name", ["forced", "mirrored", "disguised", "unrelated"])
def test_a_hidden_outcome_as_in_rr(name: str) -> None:
    designs = {
        "forced": ForcedResponse("1/6", "1/6"),
        "mirrored": Warner(0.7),
        "disguised": Warner(0.75),
        "unrelated": Unrelated(0.7, 0.25),
    }
    data = people("rr_rrreg")
    found = regress(
        designs[name].reports(data[name].astype(int)), columns("x1", "x2", of="rr_rrreg")
    )
    agrees(found, NUMBERS["rrreg"][name]["best"])


@pytest.mark.parametrize(
    "name",
    ["warner", "warner_covariate", "crosswise_covariate", "fr_three_answers", "warner_and_kuk"],
)
def test_a_hidden_predictor_as_in_rrlin(name: str) -> None:
    case = NUMBERS["RRlin"][name]
    outcome, _, right = case["formula"].partition(" ~ ")
    terms = right.split(" + ")
    hidden = [term for term in terms if term != "x1"]
    found = regress(
        {each: reports(each) for each in hidden},
        columns(outcome, "x1"),
        case["formula"],
        hidden=" + ".join(hidden) + " ~ 1",
    )
    best = case["best"]
    order = [found.names.index(n) for n in _named(case["beta"], found.names)]
    estimate, se = list(best["estimate"].values()), list(best["se"].values())
    assert found.status.name == "CONVERGED"
    assert found.coefficients[0, order] == pytest.approx(estimate[: len(order)], abs=1e-6)
    assert found.standard_errors[0, order] == pytest.approx(se[: len(order)], rel=1e-5)
    (rest,) = found.others
    assert math.log(rest.estimate) == pytest.approx(best["estimate"]["log_sigma"], abs=1e-6)
    assert rest.error / rest.estimate == pytest.approx(best["se"]["log_sigma"], rel=1e-5)
    assert found.log_likelihood == pytest.approx(best["logLik"], abs=1e-7)
    assert found.log_likelihood >= case["logLik"] - 1e-9
    shares = found.hidden.predict({"x1": [0.0]}).shares[0]
    assert shares[:-1] == pytest.approx(estimate[len(order) + 1 :], abs=1e-6)


def _named(beta: dict[str, float], names: tuple[str, ...]) -> list[str]:
    """Our names of the coefficients of R."""
    return [
        next(n for n in names if n == name.strip("()") or n.startswith(f"{name}[")) for name in beta
    ]


@pytest.mark.parametrize("name", ["uqt_unknown", "sld"])
def test_a_predictor_of_two_groups_is_estimated_with_its_design(name: str) -> None:
    """RRlin estimates the second share of the design first, and holds it fixed."""
    case = NUMBERS["RRlin"][f"{name}_group"]
    found = regress(said(name), columns("y1", "x1"), case["formula"], hidden=f"{name} ~ 1")
    assert found.status.name == "CONVERGED"
    assert found.log_likelihood > case["logLik"]
    order = [found.names.index(n) for n in _named(case["beta"], found.names)]
    errors = np.array(list(case["beta_se"].values()))
    difference = found.coefficients[0, order] - list(case["beta"].values())
    assert np.abs(difference / errors).max() < 0.5
    # With that share as a chance of one card for each group, the estimates are those of RRlin.
    fixed = next(value for value in case["fixed"].values())
    data = people("rrreg_models")
    cards = {
        "uqt_unknown": [
            [[1 - (1 - p) * fixed, 1 - p - (1 - p) * fixed], [(1 - p) * fixed, p + (1 - p) * fixed]]
            for p in (0.8, 0.3)
        ],
        "sld": [[[p, 1 - fixed], [1 - p, fixed]] for p in (0.2, 0.8)],
    }[name]
    groups = [
        warner.MatrixMechanism(Integers(0, 1), card).reports(
            data[name][data["group"] == g].astype(int)
        )
        for g, card in enumerate(cards, 1)
    ]
    held = regress(groups, columns("y1", "x1"), case["formula"], hidden=f"{name} ~ 1")
    agrees(held, case["best"])


@pytest.mark.parametrize("family", ["bayesglm_default", "glm_hessian_se"])
def test_a_hidden_predictor_of_two_values_as_in_rr(family: str) -> None:
    """The default fit of rr is penalised, and its search stops near its maximum."""
    case = NUMBERS["rrreg_predictor"][family]
    data = people("rr_rrreg")
    coded = ForcedResponse("1/6", "1/6").reports(data["forced"].astype(int))
    given = columns("x1", "x2", "outcome", of="rr_rrreg")
    found = regress(coded, given, "outcome ~ x1 + x2 + forced", hidden="forced")
    assert found.names == ("Intercept", "x1", "x2", "forced[T.yes]")
    if "best" in case:
        best = case["best"]
        agrees(found, best, first=3)
        assert found.hidden.coefficients[0] == pytest.approx(
            list(best["estimate"].values())[:3], abs=1e-6
        )
        assert found.log_likelihood > case["logLik"]
    for fit, of in ((found, "outcome"), (found.hidden, "sensitive")):
        printed = np.array(list(case[f"{of}_coef"].values()))
        errors = np.array(list(case[f"{of}_se"].values()))
        assert np.abs((fit.coefficients[0] - printed) / errors).max() < 0.25


@pytest.mark.parametrize("name", [n for n in NUMBERS["RRcor"] if n != "sld_group"])
def test_correlations_as_in_rrcor(name: str) -> None:
    case = NUMBERS["RRcor"][name]
    hidden = {n: reports(n) for n in case["columns"] if n not in ("y1", "y3")}
    seen = columns(*[n for n in case["columns"] if n not in hidden])
    found = correlate(hidden, seen or None)
    assert list(found.names) == case["columns"]
    assert found.values == pytest.approx(np.array(case["r"]), abs=1e-9)
    errors = np.array(case["se"], dtype=float)
    above = np.triu_indices(len(errors), 1)
    assert found.errors[above] == pytest.approx(errors[above], rel=0.2)  # of 200 bootstrap samples


def test_a_correlation_of_a_design_of_two_groups_as_in_rrcor() -> None:
    case = NUMBERS["RRcor"]["sld_group"]
    found = correlate({"sld": said("sld")}, columns("y1"))
    assert found.values[0, 1] == pytest.approx(case["r"][0][1], abs=1e-7)
    assert found.errors[0, 1] == pytest.approx(case["se"][0][1], rel=0.2)


MIXED = {
    "warner": Warner(0.8),
    "fr": ForcedResponse(yes=0.15, no=0.1),
    "crosswise": Crosswise(0.2),
    "uqt_known": Unrelated(0.75, 0.3),
}


@pytest.mark.parametrize("name", MIXED)
def test_random_intercepts_as_in_rrmixed(name: str) -> None:
    """Targets are by 60 points of quadrature; lme4 does not converge for Warner's design, and by
    Laplace's method it errs up to 0.05.
    """
    case = NUMBERS["RRmixed"][name]
    coded = MIXED[name].reports(people("rrreg_mixed")[name].astype(int))
    found = regress(coded, columns("x", "cluster", of="rrreg_mixed"), random="cluster")
    best = case["best"]
    agrees(found, best)
    (deviation,) = found.others
    assert math.log(deviation.estimate) == pytest.approx(
        best["estimate"]["log_sd_cluster"], abs=1e-6
    )
    relative = deviation.error / deviation.estimate
    assert relative == pytest.approx(best["se"]["log_sd_cluster"], rel=1e-5)
    assert found.log_likelihood > case["logLik"]
    assert found.coefficients[0] == pytest.approx(list(case["coef"].values()), abs=0.06)
    if name in NUMBERS["RRglmer"]:
        other = NUMBERS["RRglmer"][name]
        assert found.log_likelihood > other["logLik"]
        assert deviation.estimate == pytest.approx(other["sd_cluster"], abs=0.06)
