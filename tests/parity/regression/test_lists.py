"""Regressions of list experiments against R's ``list`` 9.2.6, on simulated sets."""

from __future__ import annotations

import csv
import gzip
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.refusals import refused
from warner.errors import ArgumentError, EmptyError
from warner.regression.likelihood import Ending
from warner.regression.lists import ListRegression, regress_list

ITEMS = {"A": 3, "B": 4, "D": 3}
# ictreg(y ~ x1 + x2): coefficients and errors of the sensitive item, then of the control items.
LINEAR = {
    "A": (
        [
            [0.422772322165867, 0.118097644461948, 0.050963946250639],
            [1.31496087823086, 0.211546467957694, 0.00839989636772838],
        ],
        [
            [0.0569574241538679, 0.0400239108071038, 0.0806445372983354],
            [0.0385798170974565, 0.027828025309313, 0.0542149011390092],
        ],
    ),
    "B": (
        [
            [0.234484355826701, 0.120175097630383, 0.202287144959876],
            [1.90335029547271, 0.293268156119055, -0.0943463137180906],
        ],
        [
            [0.0766060707318872, 0.0538380369539021, 0.109778261756799],
            [0.0529425681474553, 0.036201645011875, 0.0742228801349795],
        ],
    ),
}
# The same likelihood maximised again by R, to a gradient of 1e-7.
LIKELIHOODS = {
    "A": (
        -2580.11263140888,
        [
            [-0.370499490223756, 0.561780649021315, 0.252905618665807],
            [-0.246387126169116, 0.284442504750195, 0.00551350732471035],
        ],
        [
            [0.28127214854541, 0.212723974951903, 0.382788788591157],
            [0.0564799223088256, 0.0400572532658085, 0.0779764061587182],
        ],
    ),
    "B": (
        -2183.54532186544,
        [
            [-1.55178157338704, 0.762144035268815, 1.30699017648859],
            [-0.0831281935921838, 0.293934684397726, -0.117607047151383],
        ],
        [
            [0.487415633557565, 0.300780987586382, 0.560151525287057],
            [0.0471415596969033, 0.0341487816091324, 0.0682088694630277],
        ],
    ),
}


@cache
def _data(name: str) -> tuple[list[int], list[int], dict[str, list[float]]]:
    with gzip.open(Path(__file__).parent / "by_r" / "list_ictreg.csv.gz", "rt") as file:
        rows = [row for row in csv.DictReader(file) if row["set"] == name]
    covariates = {x: [float(row[x]) for row in rows] for x in ("x1", "x2")}
    return [int(row["y"]) for row in rows], [int(row["treat"]) for row in rows], covariates


@cache
def _fitted(name: str, **options: Any) -> ListRegression:
    return regress_list(ITEMS[name], *_data(name), **options)


@pytest.mark.parametrize("name", LINEAR)
def test_linear_models_are_those_of_ictreg(name: str) -> None:
    fitted = _fitted(name, model="linear")
    coefficients, errors = LINEAR[name]
    assert fitted.coefficients.tolist() == [pytest.approx(row, rel=1e-9) for row in coefficients]
    assert fitted.standard_errors.tolist() == [pytest.approx(row, rel=1e-9) for row in errors]
    text = " ".join(str(fitted.table()).split())
    assert fitted.status is Ending.EXACT and "the share of the sensitive item is larger" in text


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_maxima_are_those_that_r_finds(name: str) -> None:
    value, coefficients, errors = LIKELIHOODS[name]
    fitted = _fitted(name)
    assert fitted.log_likelihood is not None and fitted.log_likelihood >= value - 1e-8
    assert fitted.coefficients.tolist() == [pytest.approx(row, abs=1e-6) for row in coefficients]
    assert fitted.standard_errors.tolist() == [pytest.approx(row, rel=1e-5) for row in errors]


def test_maxima_are_no_lower_than_where_ictreg_stops() -> None:
    # Unconstrained; with a ceiling; with a floor, whose errors ictreg prints as NaN.
    for value, fitted in (
        (-2578.16408044647, _fitted("A", same=False)),
        (-3125.02861473417, _fitted("D", ceiling=True)),
        (-3144.06581810812, _fitted("D", floor=True)),
        (-3144.06581815606, _fitted("D")),
    ):
        assert fitted.log_likelihood is not None and fitted.log_likelihood >= value
        assert np.isfinite(fitted.standard_errors).all()
    different, ceiling = _fitted("A", same=False), _fitted("D", ceiling=True)
    assert different.coefficients[1] == pytest.approx([-0.189869, 0.258652, 0.032313], abs=1e-3)
    assert ceiling.coefficients[0] == pytest.approx([-0.681321, 0.345677, 0.870597], abs=1e-3)
    assert np.log(ceiling.shares["ceiling"] / (1 - ceiling.shares["ceiling"])) == pytest.approx(
        0.16731607585411, abs=1e-3
    )
    floor = _fitted("D", floor=True).shares["floor"]
    assert floor == 0 and np.isnan(floor.error)


def test_correlated_items_are_fitted_where_ictreg_fails() -> None:
    # ictreg, overdispersed: "system is exactly singular".
    fitted, plain = _fitted("A", model="beta-binomial"), _fitted("A")
    assert fitted.shares["correlation"] == 0
    assert fitted.log_likelihood == pytest.approx(plain.log_likelihood, abs=1e-9)
    assert "correlation 0.0 % (the smallest possible): between two" in str(fitted.table())


def test_predictions_are_shares() -> None:
    fitted = _fitted("A")
    share, low, high = fitted.predict({"x1": [0.0], "x2": [1.0]})[0]
    odds = fitted.coefficients[0, 0] + fitted.coefficients[0, 2]
    assert share == pytest.approx(1 / (1 + np.exp(-odds))) and 0 < low < share < high < 1
    linear = _fitted("A", model="linear").predict({"x1": [0.0], "x2": [0.0]})[0]
    assert linear[0] == pytest.approx(LINEAR["A"][0][0][0])


def test_mistakes_are_refused() -> None:
    y, treated, covariates = _data("A")
    refused(
        ArgumentError,
        "1 for people in the treated group",
        regress_list,
        3,
        y,
        [2] * len(y),
        covariates,
    )
    refused(
        ArgumentError,
        "from 0 to 2, or to 3 in the treated group",
        regress_list,
        2,
        y,
        treated,
        covariates,
    )
    refused(ArgumentError, "one number for each", regress_list, 3, y[:-1], treated, covariates)
    refused(ArgumentError, "a row for each", regress_list, 3, y, treated, {"x1": [1.0]})
    nobody, few, x = [0] * 9, [0] * 8 + [1], {"x": range(9)}
    refused(EmptyError, "got 0. In treated, pass 1", regress_list, 3, [1] * 9, nobody, x)
    refused(EmptyError, "got 1. Use fewer", regress_list, 3, [1] * 9, few, x)
    both = {**covariates, "x3": covariates["x1"]}
    refused(ArgumentError, "collinear", regress_list, 3, y, treated, both)
    refused(
        ArgumentError,
        "model='binomial'",
        regress_list,
        3,
        y,
        treated,
        covariates,
        model="linear",
        floor=True,
    )
