"""What a mechanism says of frames that it cannot read, and one column where one answer is each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from warner import (
    Categorical,
    Grid,
    Integers,
    LocalHashing,
    PerAttribute,
    Product,
    RandomizedResponse,
    UnaryEncoding,
)
from warner.domains.interval import Dates
from warner.errors import ArgumentError, ArgumentTypeError, ReportError

COIN = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
HASH = LocalHashing(Categorical(["a", "b", "c"]), 1.0, seeds=8)
BITS = UnaryEncoding(Integers(0, 9), 1.0)


def test_a_single_column_is_found_whatever_its_name() -> None:
    for name in ("report", "said", "week_report"):
        assert COIN.tally(pl.DataFrame({name: [0, 1, 1]})).counts.tolist() == [1, 2]
        assert COIN.reports(pd.DataFrame({name: [0, 1, 1]})).columns["report"].tolist() == [0, 1, 1]


def test_the_columns_of_a_schema_come_before_those_of_a_file() -> None:
    frame = pl.DataFrame({"report": [0, 1], "other_report": [1, 1]})
    assert COIN.tally(frame).counts.tolist() == [1, 1]
    assert COIN.tally(frame, column="other").counts.tolist() == [0, 2]
    two = pl.DataFrame({"a_report": [0], "b_report": [1]})
    with pytest.raises(ArgumentError, match="Pass one of a, b"):
        COIN.tally(two)


@pytest.mark.parametrize(
    "frame, column, error, words",
    [
        (pl.DataFrame({"x": [0], "y": [1]}), None, ReportError, "column report; got no report among x, y"),
        (pl.DataFrame({"x": [0], "y": [1]}), "z", ReportError, "no z among x, y"),
        (pl.DataFrame({"x": [0], "y": [1]}), {"size": "x"}, ArgumentError, "must be a dict whose keys are the columns of the reports: report"),
        (pl.DataFrame({"x": [0, None]}), None, ReportError, "must have a report in each row"),
        (pl.DataFrame({"x": ["0"]}), None, ReportError, "got String. If these are answers"),
        (pl.DataFrame({"x": [2]}), None, ReportError, "must be from 0 to 1"),
        (pl.DataFrame({"x": []}, schema={"x": pl.Int64}), None, Exception, "no reports"),
    ],
)  # fmt: skip
def test_frames_that_are_no_reports_are_refused(
    frame: Any, column: Any, error: Any, words: str
) -> None:
    for read in (COIN.tally, COIN.reports):
        with pytest.raises(error, match=words):
            read(frame, column=column)


def test_parts_of_reports_may_have_any_names() -> None:
    reports = HASH.randomize(["a", "b", "c"])
    columns = {name: column.astype(int) for name, column in reports.columns.items()}
    frame = pa.table({"s": columns["seed"], "bucket": columns["bucket"], "week": [1, 2, 3]})
    assert HASH.tally(frame, column={"seed": "s"}) == HASH.tally(reports)
    with pytest.raises(ReportError, match="no seed among s, bucket, week"):
        HASH.tally(frame)


def test_a_frame_with_a_column_for_each_bit_is_a_matrix() -> None:
    matrix = np.eye(10, dtype=int)
    frame = pl.DataFrame({f"bit {i}": column for i, column in enumerate(matrix)})
    assert BITS.tally(frame) == BITS.tally(BITS.reports(matrix))
    assert BITS.reports(frame.lazy()) == BITS.reports(matrix)
    kept = BITS.tally(frame, keep_reports=True)
    assert kept == BITS.tally(BITS.reports(matrix), keep_reports=True)


def test_tuples_are_counted_from_frames() -> None:
    people = Product(sex=Categorical(["f", "m"]), age=Integers(0, 2))
    both = PerAttribute(
        people, {n: RandomizedResponse(d, 1.0) for n, d in people.attributes.items()}
    )
    reports = both.randomize([{"sex": "f", "age": 1}, {"sex": "m", "age": 2}] * 5)
    frame = pl.DataFrame({f"p_{name}": column for name, column in reports.columns.items()})
    assert both.tally(frame, ways=2) == both.tally(reports, ways=2)
    with pytest.raises(ArgumentError):
        both.tally(frame, ways=9)


def test_only_frames_have_columns_by_name() -> None:
    for read, given in ((COIN.tally, COIN.randomize(["no"])), (COIN.reports, [0, 1])):
        with pytest.raises(ArgumentError, match="be used only when the reports are"):
            read(given, column="report")
    with pytest.raises(ArgumentTypeError, match="must be Reports"):
        COIN.tally([0, 1])


@pytest.mark.parametrize(
    "values", [pl.DataFrame({"x": ["no", "yes"]}), pd.DataFrame({"x": ["no", "yes"]}), pa.table({"x": ["no", "yes"]}), np.array([["no"], ["yes"]])]
)  # fmt: skip
def test_one_column_holds_one_answer_each(values: Any) -> None:
    assert COIN.domain.encode(values).tolist() == [0, 1]
    assert len(COIN.randomize(values)) == 2


def test_numbers_and_dates_come_in_one_column_too() -> None:
    assert Integers(0, 9).encode(pl.DataFrame({"x": [3, 4]})).tolist() == [3, 4]
    assert Integers(0, 9).encode(np.array([[3], [4]])).tolist() == [3, 4]
    assert len(Dates("day").encode(np.array([["2024-05-31"], ["2024-06-01"]]))) == 2


@pytest.mark.parametrize(
    "values", [pl.DataFrame({"x": ["no"], "y": ["no"]}), np.array([["no", "yes"]])]
)
def test_several_columns_are_no_answers(values: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="or one column; got shape"):
        COIN.randomize(values)


def test_places_keep_their_columns() -> None:
    grid = Grid(2, 2, side=1.0)
    frame = pl.DataFrame({"row": [0, 1], "column": [1, 0]})
    assert grid.encode(frame).tolist() == grid.encode([(0, 1), (1, 0)]).tolist()
