"""Intervals of coefficients hold the truth as often as they say."""

from __future__ import annotations

import numpy as np

import warner
from warner import Integers, regress
from warner.designs import Warner
from warner.regression.answer import Regression

RUNS, FEW, N = 80, 20, 3000
BETA = np.array([[0.0, 0.0, 0.0], [-0.4, 0.8, 0.3], [-0.2, -0.5, 0.5]])


def _people(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    z = np.stack([np.ones(N), rng.integers(0, 2, N), rng.integers(-1, 2, N)], axis=1)
    p = np.exp(z @ BETA.T)
    p /= p.sum(axis=1, keepdims=True)
    return z, (p.cumsum(axis=1) > rng.random((N, 1))).argmax(axis=1)


def _covered(found: Regression, errors: np.ndarray) -> np.ndarray:
    return np.abs(found.coefficients - BETA[1:]) <= 1.96 * errors


def test_coefficients_are_covered() -> None:
    """Rejects the programs that take reports for answers, and that take the information of the
    answers for that of the reports. Both have far too narrow or shifted intervals.

    The mean coverage of six coefficients over 80 runs has a standard error below 1.8 %. The wrong
    programs need a quarter of them.
    """
    rng = np.random.default_rng(8)
    domain = Integers(0, 2)
    mechanism = warner.RandomizedResponse(domain, 1.5)
    unprotected = warner.RandomizedResponse(domain, float("inf"))
    hits = np.zeros((4, 2, 3))
    narrow = None
    for run in range(RUNS):
        z, values = _people(rng)
        rows = mechanism.channel().sample_rows(values, rng)
        found = regress(mechanism.reports(rows), z[:, 1:])
        assert found.status.name == "CONVERGED"
        hits[0] += _covered(found, found.standard_errors)
        if run < FEW:
            mutant = regress(unprotected.reports(rows), z[:, 1:])
            hits[1] += _covered(mutant, mutant.standard_errors)
        if narrow is None:  # the errors that would hold if the answers were known
            narrow = regress(unprotected.reports(values), z[:, 1:]).standard_errors
        hits[2] += _covered(found, narrow)
        robust = regress(mechanism.reports(rows), z[:, 1:], errors="sandwich")
        hits[3] += _covered(found, robust.standard_errors)
    coverage = hits / np.array([RUNS, FEW, RUNS, RUNS])[:, None, None]
    for right in (coverage[0], coverage[3]):
        assert 0.91 < right.mean() < 0.985 and right.min() > 0.88
    assert coverage[1].mean() < 0.8
    assert coverage[2].mean() < 0.8


def test_joint_tests_of_labels_that_make_no_difference_have_their_size() -> None:
    """Rejects the program that takes the statistic for a chi-square of 1 degree and errs in 28 %.

    5 % of 300 surveys have a standard error of 1.3 %.
    """
    rng, card = np.random.default_rng(10), Warner("3/4")
    wards, errs, wrong = np.arange(800) % 4, 0, 0
    names = np.array(list("abcd"))[wards]
    for _ in range(300):
        answers = np.where(rng.random(800) < 0.3, "yes", "no").tolist()
        found = regress(card.randomize(answers, rng), {"ward": names})
        test = found.joint_tests()["ward"]
        assert test.degrees == 3
        errs += test.p_value < 0.05
        wrong += test.statistic > 1.96**2
    assert 0.05 - 3 * 0.0126 < errs / 300 < 0.05 + 3 * 0.0126 < wrong / 300


def test_slopes_of_a_mean_are_covered() -> None:
    """Rejects the program that takes reports for answers: its slope is shrunk."""
    rng = np.random.default_rng(9)
    mechanism = warner.UnaryEncoding(Integers(0, 4), 2.0)
    direct = warner.RandomizedResponse(Integers(0, 4), 1.0)
    unprotected = warner.RandomizedResponse(Integers(0, 4), float("inf"))
    hits, wrong = 0, 0
    for _ in range(RUNS):
        z = rng.normal(size=800)
        values = np.where(rng.random(800) < 1 / (1 + np.exp(-z)), 3, 1)
        # E(value | z) is not linear. The best line has the slope E[z E(value | z)].
        slope = 2 * 0.20662096414190704
        reports = mechanism.randomize(values, rng=rng)
        low, high = regress(reports, z, kind="mean").interval()[0, 1]
        hits += low <= slope <= high
        rows = direct.channel().sample_rows(values, rng)
        low, high = regress(unprotected.reports(rows), z, kind="mean").interval()[0, 1]
        wrong += low <= slope <= high
    assert 0.91 < hits / RUNS < 0.99
    assert wrong / RUNS < 0.5


def test_a_hidden_predictor_is_covered() -> None:
    """Rejects the program that takes reports for answers: the effect on the number is shrunk, and
    that of the other covariate takes some of it. A quarter of the runs is enough for that.
    """
    rng = np.random.default_rng(12)
    design, known = Warner("4/5"), warner.RandomizedResponse(Warner("4/5").domain, float("inf"))
    hits, wrong = np.zeros(3), np.zeros(3)
    truth = np.array([1.0, 1.2, 0.5])
    for run in range(RUNS):
        age = rng.normal(size=1500)
        yes = rng.random(1500) < 1 / (1 + np.exp(0.5 - 0.8 * age))
        seen = {"age": age, "income": truth @ [np.ones(1500), yes, age] + rng.normal(size=1500)}
        reports = design.randomize(np.where(yes, "yes", "no"), rng=rng)
        model = "income ~ smokes + age"
        ends = regress(reports, seen, model, hidden="smokes").interval()[0]
        hits += (ends[:, 0] <= truth) & (truth <= ends[:, 1])
        if run >= FEW:
            continue
        ends = regress(
            known.reports(reports.columns["report"]), seen, model, hidden="smokes"
        ).interval()[0]
        wrong += (ends[:, 0] <= truth) & (truth <= ends[:, 1])
    assert 0.91 < hits.mean() / RUNS < 0.985 and hits.min() / RUNS > 0.86
    assert wrong.max() / FEW < 0.2


def test_random_intercepts_are_covered() -> None:
    """Rejects the program that takes pupils of a school for strangers: its errors of a covariate of
    schools are too small.
    """
    rng = np.random.default_rng(13)
    design = Warner("9/10")
    school = np.repeat(np.arange(30), 12)
    names = np.array([f"s{i}" for i in school])
    hits, wrong = np.zeros(3), 0
    for _ in range(RUNS // 2):
        urban = (np.arange(30) % 2)[school].astype(float)
        shift = 1.5 * rng.normal(size=30)[school]
        yes = rng.random(school.size) < 1 / (1 + np.exp(0.5 - 0.8 * urban - shift))
        reports = design.randomize(np.where(yes, "yes", "no"), rng=rng)
        given = {"urban": urban, "school": names}
        fit = regress(reports, given, random="school")
        low, high = fit.others[0].interval()
        ends = fit.interval()[0]
        truth = np.array([-0.5, 0.8])
        hits[:2] += (ends[:, 0] <= truth) & (truth <= ends[:, 1])
        hits[2] += low <= 1.5 <= high
        low, high = regress(reports, {"urban": urban}).interval()[0, 1]
        wrong += low <= 0.8 <= high
    assert hits.min() > 0.8 * RUNS // 2
    assert wrong < 0.75 * RUNS // 2
