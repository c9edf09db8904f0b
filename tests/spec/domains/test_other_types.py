"""Labels that frames state, and answers of other types than the labels."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas
import polars
import pytest

from tests.refusals import refused
from warner import Categorical, Integers, Interval
from warner.domains import Domain
from warner.errors import ArgumentTypeError, ValuesError


def test_categories_of_pandas_and_polars_are_all_labels_in_their_order() -> None:
    """Rejects a domain of the labels that happen to occur, in the order in which they do."""
    dtype = pandas.CategoricalDtype(["low", "mid", "high"], ordered=True)
    column = pandas.Series(["high", "low", "high"], dtype=dtype)
    enum = polars.Series(["high", "low"], dtype=polars.Enum(["low", "mid", "high"]))
    for given in (dtype, column, column.unique(), column.cat.categories, enum):
        domain = Categorical(given)
        assert domain.labels == ["low", "mid", "high"]
        assert domain.encode(column).tolist() == [2, 0, 2]


@pytest.mark.parametrize(
    ("domain", "answer", "words"),
    [
        (Categorical(["a", "b"]), pandas.NA, "use warner.domains.with_missing"),
        (Categorical(["a", "b"]), datetime.date(2024, 5, 31), "because the labels are texts"),
        (Categorical(["a", "b"]), 1, "because the labels are texts"),
        (Categorical(["a", "b"]), True, "Give each answer its label, such as column.map"),
        (Integers(0, 9), "7", 'such as "12" to 12'),
        (Interval(0, 9, 3), "7,5", 'such as "12,5" to 12.5'),
        (Interval(0, 9, 3), np.str_("7,5"), 'such as "12,5" to 12.5'),
    ],
)
def test_an_answer_of_another_type_is_told_what_to_become(
    domain: Domain, answer: Any, words: str
) -> None:
    for answers in ([answer], np.array([answer])):
        with pytest.raises(ValuesError, match=words) as caught:
            domain.encode(answers)
        assert "7" not in str(caught.value) and "2024" not in str(caught.value)


@pytest.mark.parametrize(
    "domain", [Interval(0, 9, 3), Interval(0, 9, 3, clip=True), Integers(0, 9)]
)
def test_durations_are_no_numbers_of_an_unknown_unit(domain: Domain) -> None:
    """Rejects: minutes as numbers of nanoseconds, which clip = true takes as the upper limit, or an
    error of Python."""
    minutes = pandas.Series(pandas.to_timedelta([1, 2, 3], unit="m"))
    for column in (minutes, minutes.to_numpy(), polars.Series(minutes)):
        refused(ArgumentTypeError, r"column.dt.total_seconds\(\) / 60", domain.encode, column)
    assert domain.encode(minutes.dt.total_seconds() / 60).size == 3 or domain.kind == "integers"
