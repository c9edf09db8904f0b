"""Arguments of mechanisms, and what they count."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warner
from tests.spec.io._sealed import COIN
from warner import Integers


def test_mechanism_options_are_checked() -> None:
    domain = warner.Integers(0, 9)
    for build in (
        lambda: warner.UnaryEncoding(domain, 1.0, variant="best"),
        lambda: warner.UnaryEncoding(domain, 1.0, variant=1.0),
        lambda: warner.UnaryEncoding(domain, 1.0, variant=0.0),
        lambda: warner.UnaryEncoding(domain, 1.0, variant=None),
        lambda: warner.LocalHashing(domain, 1.0, buckets=1),
        lambda: warner.LocalHashing(domain, 1.0, seeds=0),
        lambda: warner.LocalHashing(domain, 1.0, seeds=1.5),
        lambda: warner.LocalHashing(domain, 1.0, seeds=2**40),
        lambda: warner.SubsetSelection(domain, 1.0, size=10),
        lambda: warner.SubsetSelection(domain, 1.0, size=0),
        lambda: warner.MatrixMechanism(domain, np.eye(9)),
        lambda: warner.MatrixMechanism(domain, np.full((2, 10), 0.4)),
        lambda: warner.MatrixMechanism(domain, "matrix"),
        lambda: warner.MatrixMechanism(domain, np.full((2, 10), np.nan)),
        lambda: warner.MatrixMechanism(warner.Integers(0, 1), [[1e-12, 0.5], [1 - 1e-12, 0.5]]),
        lambda: warner.RandomizedResponse(["a", "b"], 1.0),
        lambda: warner.Categorical(["a"]),
        lambda: warner.Categorical(["a", "a"]),
        lambda: warner.Categorical([1, True]),
        lambda: warner.Categorical([1.5, 2.5]),
        lambda: warner.Categorical("abc"),
        lambda: warner.Integers(3, 3),
        lambda: warner.Interval(1, 0, 4),
        lambda: warner.Interval(0, 1, 1),
        lambda: warner.Interval(0, float("inf"), 4),
        lambda: warner.Grid(1, 1),
        lambda: warner.Grid(2, 2, side=0),
        lambda: warner.Product(),
        lambda: warner.Product(a=3),
    ):
        with pytest.raises(
            (warner.errors.ArgumentError, warner.errors.ArgumentTypeError)
        ) as caught:
            build()
        assert ": " in str(caught.value) and str(caught.value).endswith(".")


def test_a_channel_keeps_the_budget_it_is_given() -> None:
    domain, matrix = warner.Integers(0, 1), [[0.75, 0.25], [0.25, 0.75]]
    assert warner.MatrixMechanism(domain, matrix, epsilon=1.2).requested == 1.2
    with pytest.raises(warner.errors.BudgetError, match=r"needs epsilon 1\.09"):
        warner.MatrixMechanism(domain, matrix, epsilon=1.0)
    certain = warner.MatrixMechanism(domain, [[1.0, 0.5], [0.0, 0.5]])
    assert (
        certain.epsilon == float("inf") and certain.randomize([0] * 50).columns["report"].max() == 0
    )


def test_messages_state_name_rule_value_and_remedy() -> None:
    with pytest.raises(warner.errors.BudgetError) as caught:
        warner.RandomizedResponse(warner.Integers(0, 1), -1)
    assert (
        str(caught.value)
        == "epsilon: must be greater than 0; got -1.0. Pass a positive number such as 1.0."
    )
    with pytest.raises(warner.errors.ValuesError) as told:
        warner.Categorical(["no", "yes"]).encode(["no", "perhaps"])
    assert str(told.value) == (
        "values: position 1: not in the domain of 2 values; got a string. "
        "Answers outside the domain are refused, not guessed: correct them or add a catch-all value."
    )


def test_outputs_of_other_packages_are_taken_where_they_are_exact() -> None:
    unary, coin = warner.UnaryEncoding(Integers(0, 2), 1.0), COIN
    bits = np.array([[0, 1, 1], [1, 0, 0]])
    wanted = unary.reports(bits).columns["bits"].tolist()
    for dtype in (bool, np.float32, np.float64, np.float16, np.int8, np.uint64):
        assert unary.reports(bits.astype(dtype)).columns["bits"].tolist() == wanted
        assert coin.reports(bits[0].astype(dtype)).columns["report"].tolist() == [0, 1, 1]
    assert coin.reports([0.0, 1.0]).columns["report"].tolist() == [0, 1]
    for outputs in ([0.5, 1], [float("nan"), 1], [float("inf"), 0], [1 - 2**-53, 0]):
        with pytest.raises(
            warner.errors.ReportError, match=r"1 of 2 float64 values.*zeros and ones"
        ):
            coin.reports(outputs)
    with pytest.raises(warner.errors.ReportError, match="Convert it"):
        coin.reports(["0", "1"])
    with pytest.raises(warner.errors.ReportError, match=r"0\.\.1"):
        coin.reports([2.0, 0.0])


def test_matrices_that_would_lose_a_part_are_refused() -> None:
    plain = np.array([[0.7, 0.3], [0.3, 0.7]])
    domain = warner.Integers(0, 1)
    wrong: list[tuple[Any, str]] = [
        (plain + 1j * np.array([[1, 1], [-1, -1]]), "real entries"),
        ([[0.7 + 1j, 0.3], [0.3, 0.7]], "real entries"),
        (np.ma.array(plain, mask=[[True, False], [False, False]]), "masked entries"),
        ([["a", "b"], ["c", "d"]], "array of numbers"),
    ]
    for matrix, rule in wrong:
        with pytest.raises(warner.errors.WarnerError, match=f"matrix: must .*{rule}"):
            warner.MatrixMechanism(domain, matrix)
        with pytest.raises(warner.errors.WarnerError, match=f"matrix: must .*{rule}"):
            warner.privacy.postprocessing.decompose(matrix, [True, False])
    assert (
        warner.MatrixMechanism(domain, np.ma.array(plain)).header
        == warner.MatrixMechanism(domain, plain).header
    )
