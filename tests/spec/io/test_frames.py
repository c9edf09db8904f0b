"""Frames of bits are grouped column by column, and streams of Arrow are read once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

import warner
from warner import Integers, Study
from warner.io.frames import GroupedFrame


def test_frames_of_bits_are_grouped_column_by_column(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of groups is at most 256 for each byte, and does not grow with the reports."""
    sizes = []

    class Watched(GroupedFrame):
        def rows(self, columns: Mapping[str, int], most: int | None = None) -> Any:
            found = super().rows(columns, most)
            sizes.append(len(found[1]))
            return found

    monkeypatch.setattr("warner.io.frames.GroupedFrame", Watched)
    for mechanism in (
        warner.UnaryEncoding(Integers(0, 29), 1.0),
        warner.SubsetSelection(Integers(0, 29), 1.0),
        warner.mechanisms.UtilityOptimizedRappor(Integers(0, 29), 1.0, sensitive=[1, 2]),
    ):
        sizes.clear()
        reports = mechanism.randomize(np.arange(3000) % 30, np.random.default_rng(5))
        frame = reports.to_frame()
        assert mechanism.tally(frame).marked() == mechanism.tally(reports, keep_reports=False)
        assert len(sizes) == 4 and max(sizes) <= 256


@pytest.mark.parametrize("lazy", [False, True])
def test_frames_of_bits_are_checked_as_whole_reports(lazy: bool) -> None:
    polars = pytest.importorskip("polars")
    kind = polars.LazyFrame if lazy else polars.DataFrame
    subset = warner.SubsetSelection(Integers(0, 8), 0.1, size=2)
    # Four ones in two reports, and 0 or more padding: right in sum, wrong in each.
    for rows, rule in (
        ([[0b11100000, 0], [0b10000000, 0]], "must have 2 bits set"),
        ([[0b11000000, 1]], "padding"),
    ):
        frame = kind({"value_bits_0": [r[0] for r in rows], "value_bits_1": [r[1] for r in rows]})
        with pytest.raises(warner.errors.ReportError, match=rule):
            subset.tally(frame)
    rappor = warner.mechanisms.UtilityOptimizedRappor(Integers(0, 8), 1.0, sensitive=[0])
    with pytest.raises(warner.errors.ReportError, match="non-sensitive"):
        rappor.tally(kind({"value_bits_0": [0b01100000], "value_bits_1": [0]}))


@pytest.mark.parametrize("stream", [pa.Table.to_reader, ds.dataset], ids=["reader", "data set"])
def test_streams_of_arrow_are_counted_in_one_pass(stream: Callable[[pa.Table], Any]) -> None:
    study = Study.parse(
        """
        [public.week]
        integers = [1, 2]
        [attributes.age]
        integers = [0, 9]
        mechanism = "UnaryEncoding"
        epsilon = 1.0
        [attributes.smokes]
        values = ["no", "yes"]
        mechanism = "RandomizedResponse"
        epsilon = 1.0
        """
    )
    answers = {"age": np.arange(60) % 10, "smokes": ["no", "yes"] * 30}
    made = {n: m.randomize(answers[n]) for n, m in study.mechanisms.items()}
    columns: dict[str, Any] = {"week": [1, 2, 2] * 20}
    for name, mechanism in study.mechanisms.items():
        stored = mechanism.schema.to_file(made[name].columns)
        columns |= {f"{name}_{end}": column for end, column in stored.items()}
    table = pa.table(columns)
    weeks = {"week": columns["week"]}
    assert study.tally(stream(table), "week") == study.tally(made, weeks)
    age = study.mechanisms["age"]
    assert age.reports(stream(table), column="age") == made["age"]
    assert age.tally(stream(table), weeks, column="age") == age.tally(made["age"], weeks)
    gap = pa.table({"smokes_report": pa.array([1, None])})
    with pytest.raises(
        warner.errors.ReportError, match=r"data: smokes_report: must have a report in each row"
    ):
        study.mechanisms["smokes"].tally(stream(gap))
