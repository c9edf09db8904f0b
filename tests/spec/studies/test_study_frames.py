"""A study counts the groups of a data frame as it counts those of reports in memory."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from warner import Study
from warner.errors import ArgumentError, ArgumentTypeError, ReportError

STUDY = Study.parse("""
[public.week]
integers = [1, 10]
[public.ward]
values = ["n", "s"]
[attributes.smokes]
values = ["no", "yes"]
mechanism = "RandomizedResponse"
epsilon = 1.0
[attributes.drinks]
values = ["no", "yes", "often"]
mechanism = "RandomizedResponse"
epsilon = 1.0
""")
ROWS = {
    "week": [2, 1, 2, 1],
    "ward": ["n", "s", "s", "s"],
    "smokes_report": [0, 1, 1, 0],
    "drinks_report": [2, 1, 0, 0],
}
REPORTS = {
    name: STUDY.mechanisms[name].reports(ROWS[f"{name}_report"]) for name in STUDY.mechanisms
}


@pytest.mark.parametrize("frame", [pl.DataFrame, pl.LazyFrame])
def test_groups_are_counted_from_a_frame(frame: Any) -> None:
    slow = STUDY.tally(REPORTS, {"week": ROWS["week"]})
    for by in ("week", ["week"], {"week": ROWS["week"]}):
        assert STUDY.tally(frame(ROWS), by) == slow
    both = STUDY.tally(frame(ROWS), ["ward", "week"])["drinks"]
    assert list(both) == [("n", 2), ("s", 1), ("s", 2)]
    renamed = frame(ROWS).rename({"smokes_report": "said"})
    assert STUDY.tally(renamed, "week", columns={"smokes": "said"}) == slow


def test_what_does_not_belong_to_the_study_is_refused() -> None:
    frame = pl.DataFrame(ROWS)
    for by in ("year", ["week", "year"], 3, [["week"]]):
        with pytest.raises(ArgumentError, match="must be public columns of the study: week, ward"):
            STUDY.tally(frame, by)
    with pytest.raises(ArgumentTypeError, match=r"\{name: values\}; got a list"):
        STUDY.tally(REPORTS, ["week"])
    with pytest.raises(ReportError, match="'week': must hold declared values"):
        STUDY.tally(frame.with_columns(week=pl.lit(11)), "week")
    with pytest.raises(ArgumentError, match="must be attributes of the study"):
        STUDY.tally(frame, "week", columns={"eats": "smokes_report"})
    with pytest.raises(ReportError, match="no smokes_report among"):
        STUDY.tally(frame.drop("smokes_report"), "week")
    with pytest.raises(ArgumentTypeError, match="or a data frame; got a list"):
        STUDY.tally([1, 2], {"week": [1, 2]})
