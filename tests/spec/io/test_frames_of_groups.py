"""Frames of reports: counted by group, with arrays as reports, and what is said of bad columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import warner
from warner import Categorical, Integers, RandomizedResponse, SubsetSelection, UnaryEncoding
from warner.errors import ArgumentError, ArgumentTypeError, ReportError, ValuesError

COIN = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
ROWS = {"week": [2, 1, 2, 1, 1], "ward": ["n", "n", "s", "s", "s"], "said": [0, 1, 1, 0, 1]}
LABELS = Categorical([f"s{i}" for i in range(20)])
BITS = UnaryEncoding(LABELS, 1.0)


@pytest.mark.parametrize("frame", [pl.DataFrame, pl.LazyFrame, pd.DataFrame, pa.table])
def test_groups_are_counted_from_frames(frame: Any) -> None:
    data = frame(ROWS)
    reports = COIN.reports(ROWS["said"])
    for by in (["week"], ["ward", "week"]):
        slow = COIN.tally(reports, {name: ROWS[name] for name in by})
        assert COIN.tally(data, by, column="said") == slow
        assert COIN.tally(data, {name: ROWS[name] for name in by}, column="said") == slow
    assert COIN.tally(data, "week", column="said") == COIN.tally(data, ["week"], column="said")
    declared = COIN.tally(data, {"week": Integers(1, 10)}, column="said")
    assert declared.columns == {"week": Integers(1, 10)} and declared.total().n == 5


@pytest.mark.parametrize("by", [[], "year", ["week", "year"], 3, {"year": None}])
def test_groups_of_frames_are_columns_of_the_frame(by: Any) -> None:
    with pytest.raises(ArgumentError, match=r"by: must .* (week, ward, said|public column)"):
        COIN.tally(pl.DataFrame(ROWS), by, column="said")


def test_reports_that_are_no_frame_have_no_columns() -> None:
    with pytest.raises(ArgumentError, match="be used only when the reports are"):
        COIN.tally(COIN.reports([0, 1]), {"week": [1, 2]}, column="said")


@pytest.mark.parametrize("mechanism", [BITS, SubsetSelection(LABELS, 1.0)])
@pytest.mark.parametrize("keep", [False, True])
def test_a_column_may_hold_an_array_for_each_report(mechanism: Any, keep: bool) -> None:
    reports = mechanism.randomize([f"s{i % 20}" for i in range(60)], np.random.default_rng(1))
    bits, weeks = reports.columns["bits"], [1, 2, 3] * 20
    arrays = pl.DataFrame({"week": weeks, "bits": bits})
    frames = [
        arrays,
        arrays.lazy(),
        arrays.with_columns(pl.col("bits").cast(pl.List(pl.UInt8))),
        arrays.to_arrow(),
        arrays.rename({"bits": "setting_bits"}),
    ]
    expected = mechanism.tally(
        mechanism.reports(np.unpackbits(bits, axis=1)[:, :20]), keep_reports=keep
    )
    groups = mechanism.tally(reports, {"week": weeks}, keep_reports=keep)
    for frame in frames:
        assert mechanism.tally(frame, keep_reports=keep) == expected
        assert mechanism.tally(frame, "week", keep_reports=keep).marked() == groups
    long = arrays.rename({"bits": "said"})
    assert mechanism.tally(long, keep_reports=keep, column="said") == expected


@pytest.mark.parametrize(
    "arrays, words",
    [
        (
            [[1, 0], [1, 0]],
            "must hold arrays of 20 numbers, as the mechanism makes them; got arrays of 2",
        ),
        ([[1, 0, 0], [1]], "equally long and without missing values"),
        ([[1, 0], [1, 0, 0, 0]], "equally long and without missing values"),
        ([[1, 0, 0], None], "equally long and without missing values"),
        ([[1, None, 0]], "equally long and without missing values"),
        ([[0.5, 1.0, 1.0]], "equally long and without missing values"),
        ([[256, 0, 0]], "must be from 0 to 255"),
        ([[0, 0, 1]], "padding"),
    ],
)
def test_arrays_that_are_no_reports_are_refused(arrays: Any, words: str) -> None:
    with pytest.raises(ReportError, match=words):
        BITS.tally(pl.DataFrame({"bits": arrays}))
    with pytest.raises(warner.errors.EmptyError):
        BITS.tally(pl.DataFrame({"bits": pl.Series([], dtype=pl.List(pl.UInt8))}))


@pytest.mark.parametrize(
    "column, words",
    [
        (pl.Series([0, None]), "got missing values. Leave out the rows"),
        (pl.Series([0.0, None]), "got missing values. Leave out the rows"),
        (pl.Series([0.0, 0.5]), "has numbers that are not whole; got Float64"),
        (pl.Series([0.0, float("nan")]), "must be from 0 to 1. Use the study or mechanism with"),
        (
            pl.Series(["0", "1"]),
            "must be a column of integers; got String. If these are answers, randomise them first",
        ),
        (pl.Series([0, 2]), "must be from 0 to 1. Use the study or mechanism with"),
    ],
)
def test_bad_columns_are_told_apart(column: Any, words: str) -> None:
    for read in (COIN.tally, COIN.reports):
        with pytest.raises(ReportError, match=words):
            read(pl.DataFrame({"said": column}))


def test_wide_integers_are_read() -> None:
    said = pl.Series([0, 1, 1], dtype=pl.Int128)
    assert COIN.tally(pl.DataFrame({"said": said})).counts.tolist() == [1, 2]


def test_a_column_is_named_by_a_text() -> None:
    frame = pl.DataFrame(ROWS)
    with pytest.raises(ArgumentTypeError, match=r"the name of a column, or a dict .*got a list"):
        COIN.tally(frame, column=["said"])  # type: ignore[arg-type]
    with pytest.raises(ReportError, match="the column sed or sed_report; got no"):
        COIN.tally(frame, column="sed")


@pytest.mark.parametrize("name", ["report", "said_report"])
def test_a_column_that_ends_in_report_is_named_once(name: str) -> None:
    """Rejects a message that asks for report_report."""
    frame = pl.DataFrame({"other": [0, 1]})
    with pytest.raises(ReportError, match=f"must have the column {name}; got no {name} among"):
        COIN.tally(frame, column=name)


def test_a_gap_in_a_public_column_is_named_by_its_place() -> None:
    reports = COIN.reports([0, 1, 1])
    with pytest.raises(ValuesError, match=r"data row 2: .*got no value"):
        COIN.tally(reports, {"week": pl.Series([1, None, 2])})
    gaps = pl.DataFrame({"said": [0, 1], "week": [1, None]})
    with pytest.raises(ReportError, match=r"'week'.* got no value"):
        COIN.tally(gaps, "week", column="said")
