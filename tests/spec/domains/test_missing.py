"""Which answers are missing, and what a policy makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.refusals import refused
from warner import Categorical, Grid, Integers, Interval, Product
from warner.domains import (
    Missing,
    Optional,
    Padded,
    Points,
    Subset,
    Tagged,
    from_spec,
    with_missing,
)
from warner.errors import ArgumentError, ArgumentTypeError, EmptyError, ValuesError


@pytest.mark.parametrize(
    "values",
    [
        [1, None, 2],
        (1, float("nan"), 2),
        [1, np.float64("nan"), 2],
        [1, "NA", 2],
        [1, -9, 2],
        ["1", "-9", "2"],
        np.array([1.0, np.nan, 2.0]),
        np.array([1, -9, 2]),
        np.array(["1", "NA", "2"]),
        np.array([1, None, 2], dtype=object),
        np.ma.array([1, 5, 2], mask=[False, True, False]),
        np.array([[1.0], [np.nan], [2.0]]),
        pd.Series([1, None, 2]),
        pd.Series([1, None, 2], dtype="Int64"),
        pd.DataFrame({"x": ["1", None, "2"]}),
        pl.Series([1, None, 2]),
        pa.array([1, None, 2]),
        pa.array(["1", None, "2"]),
    ],
    ids=lambda v: f"{type(v).__module__}.{type(v).__name__}",
)
def test_missing_answers_are_recognised_in_every_container(values: Any) -> None:
    assert Missing("drop", ["", "NA", "-9"]).mask(values).tolist() == [False, True, False]


@pytest.mark.parametrize(
    "values",
    [
        [1, None, 2],
        np.array([1.0, np.nan, 2.0]),
        np.ma.array([1, 5, 2], mask=[False, True, False]),
        pd.Series([1, None, 2]),
        pd.Series([1, None, 2], dtype="Int64"),
        pl.Series([1, None, 2]),
        pa.array([1, None, 2]),
        iter([1, None, 2]),
    ],
    ids=lambda v: f"{type(v).__module__}.{type(v).__name__}",
)
def test_nonresponse_is_encoded_as_the_last_value(values: Any) -> None:
    assert Optional(Integers(0, 3)).encode(values).tolist() == [1, 4, 2]


def test_each_answer_is_missing_or_not_by_its_class() -> None:
    class Text(str):
        """Whose operations would show the answer."""

        def __eq__(self, other: object) -> bool:
            raise AssertionError(str(self))

        __hash__ = str.__hash__

    missing = [None, "NA", float("nan"), -9, -9.0, np.float64(-9), np.int8(-9), np.float32("nan")]
    missing += [np.str_("NA"), pd.NA, pd.NaT, np.ma.masked]
    present = ["na", "-9.0", 9, True, False, np.bool_(True), Text("NA"), 0.0, np.int64(9), b"NA"]
    present += [10**400, 1j, (-9,), [-9], np.str_("x"), np.float64("inf"), {"NA"}]
    found = Missing("drop", ["NA", "-9"]).mask([*missing, *present])
    assert found.tolist() == [True] * len(missing) + [False] * len(present)
    plain = [None, "NA", float("nan"), -9, -9.0, "na", "-9.0", 9, 0.0, 10**400, float("-inf")]
    found = Missing("drop", ["NA", "-9"]).mask(plain)
    assert found.tolist() == [True] * 5 + [False] * 6


def test_nonresponse_goes_with_every_domain_of_one_question() -> None:
    for domain, answer in (
        (Categorical(["no", "yes"]), "yes"),
        (Categorical([True, False]), False),
        (Interval(0, 1, 4), 0.3),
        (Grid(2, 2), (0, 1)),
        (Points([[0.0, 1.0], [2.0, 3.0]]), (2.0, 3.0)),
        (Subset(Integers(0, 9), [1, 2, 5]), 2),
    ):
        silent = Optional(domain)
        index = silent.encode([answer, None, answer])
        assert index[1] == silent.nonresponse == domain.size and index[0] == index[2] < domain.size
        assert silent.answered == domain and from_spec(silent.spec()) == silent
        assert silent.points is None and not silent.is_ordered and not silent.is_numeric
        assert Tagged(silent, ["home"]).encode([None, "@home", answer]).tolist() == [
            domain.size,
            domain.size + 1,
            int(index[0]),
        ]


def test_a_refused_answer_keeps_its_position_among_silent_people() -> None:
    with pytest.raises(
        ValuesError, match=r"position 2: .* The same error is in 1 more position: 4"
    ):
        Optional(Integers(0, 3)).encode([None, 1, 9, None, 8])
    with pytest.raises(ValuesError, match=r"position 1: must be str; got None. .*with_missing"):
        Categorical(["no", "yes"]).encode(["no", None])


def test_at_most_twenty_positions_are_listed_and_all_are_counted() -> None:
    with pytest.raises(ValuesError) as caught:
        Integers(0, 3).encode([9] * 50)
    text = str(caught.value)
    assert "The same error is in 49 more positions: 1, 2, 3," in text and "19, ..." in text
    assert ", 20" not in text and caught.value.count == 50 and len(caught.value.positions) == 20


@pytest.mark.parametrize(
    "domain, empty",
    [
        (Categorical(["", "yes"]), [""]),
        (Categorical([1, 2]), ["NA", "2"]),
        (Categorical([True, False]), ["FALSE"]),
        (Integers(-9, 9), ["-9"]),
        (Interval(0, 9, 3, clip=True), ["99"]),
        (Grid(2, 2), ["0,1"]),
        (Categorical(["(no answer)", "yes"]), []),
    ],
    ids=repr,
)
def test_a_spelling_that_is_an_answer_is_refused(domain: Any, empty: list[str]) -> None:
    with pytest.raises(ArgumentError, match="empty: must not list an answer"):
        with_missing(domain, "answer", empty)


def test_policies_that_do_not_exist_or_do_not_fit_are_refused() -> None:
    refused(ArgumentError, "missing", with_missing, Integers(0, 3), "ignore")
    with pytest.raises(ArgumentTypeError, match=r"empty: must be a list of texts.*; got \[1\]"):
        with_missing(Integers(0, 3), "drop", [1])  # type: ignore[list-item]
    refused(ArgumentError, "twice", with_missing, Integers(0, 3), "drop", ["a", "a"])
    for domain in (
        Product(a=Integers(0, 1)),
        Tagged(Integers(0, 1), ["home"]),
        Padded(Integers(0, 1), 2),
        Optional(Integers(0, 1)),
        "no domain",
    ):
        with pytest.raises(ArgumentTypeError, match="the domain of one question"):
            with_missing(domain, "answer")  # type: ignore[arg-type]
    refused(EmptyError, "", Missing().mask, [])


def test_dropping_and_refusing_leave_the_domain_as_it_is() -> None:
    domain = Integers(0, 3)
    dropping = with_missing(domain, "drop", ["NA"])
    assert dropping == domain and dropping.digest == domain.digest
    assert dropping.missing == Missing("drop", ["NA"]) and domain.missing.policy == "refuse"
    refused(ValuesError, "", dropping.encode, [1, None])


def test_nonresponse_is_encoded_by_the_path_of_an_answer() -> None:
    """Rejects the program that encodes answers alone: nonresponse took 13 % less time."""
    numbers, asked = Optional(Interval(0, 8, 4)), []

    def encode(answers: Any) -> np.ndarray:
        asked.append(list(answers))
        return numbers.domain.encode(answers)

    for answers, given, index in (
        ([5.0], [[5.0]], [2]),
        ([None], [[1.0]], [-1]),
        ([None, 5.0, "", 7.0], [[5.0, 7.0], [1.0]], [-1, 2, -1, 3]),
    ):
        asked.clear()
        assert numbers.encode_with(encode, answers, -1).tolist() == index
        assert asked == given
