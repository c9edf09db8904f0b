"""Series of weeks as they are read: keys, names, tables in a notebook, panels of chosen values."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import warner
from warner import Categorical, Estimate, RandomizedResponse, Tally, estimate
from warner.errors import ArgumentError

MANY = Categorical([f"s{i}" for i in range(60)])


def _tally(seed: int, domain: Categorical = MANY, times: int = 20) -> Tally:
    rng = np.random.default_rng(seed)
    mechanism = RandomizedResponse(domain, 3.0)
    return mechanism.tally(mechanism.randomize(list(domain.labels) * times, rng))


def _series(weeks: int, domain: Categorical = MANY) -> Estimate:
    tallies = {week: _tally(week, domain) for week in range(1, weeks + 1)}
    return estimate(tallies, time="week")


def _cells(text: str) -> list[list[str]]:
    """The cells of each row of a table."""
    rows = re.findall("<tr.*?</tr>", text, re.S)
    return [re.sub("<[^>]*>", " ", row).split() for row in rows[1:]]


def test_time_names_the_column_of_a_mapping() -> None:
    tallies = {week: _tally(week, Categorical(["a", "b", "c"])) for week in range(4)}
    series = estimate(tallies, time="week")
    same = estimate(Tally.from_tallies("week", tallies), time="week")
    assert series.names == ("week",) and series.groups.time == "week" and series.pool == "path"
    assert (series.probabilities == same.probabilities).all() and series.rows() == same.rows()
    assert estimate(tallies, time="group").names == ("group",)
    assert estimate(tallies).names == ("group",)
    for wrong in (
        lambda: estimate(Tally.from_tallies("week", tallies), time="day"),
        lambda: estimate({(1, week): tally for week, tally in tallies.items()}, time="week"),
        lambda: estimate(tallies, time="value"),
    ):
        with pytest.raises(ArgumentError, match="must be one of the public columns"):
            wrong()


def test_estimates_of_groups_are_gone_through_by_their_keys() -> None:
    series = _series(3, Categorical(["a", "b"]))
    assert list(series) == [(1,), (2,), (3,)] == list(series.keys)
    assert all(series[key].probabilities.shape == (2,) for key in series)
    assert 2 in series and (2,) in series and 9 not in series and "2" in series


def test_a_series_shows_the_weeks_of_one_value_together() -> None:
    shown = _cells(_series(4)._repr_html_())
    assert len(shown) == 20
    assert [row[0] for row in shown] == ["1", "2", "3", "4"] * 5
    assert [len({row[1] for row in shown[i : i + 4]}) for i in range(0, 20, 4)] == [1] * 5


def test_a_long_series_shows_whole_values() -> None:
    text = _series(30)._repr_html_()
    assert len(_cells(text)) == 90 and "The 3 values of 60 with the largest shares." in text
    groups = {f"g{i:02}": _tally(i) for i in range(25)}
    text = estimate(groups)._repr_html_()
    assert len(_cells(text)) == 100 and "The first 100 of 125 rows." in text


def test_panels_of_chosen_values() -> None:
    series = _series(3)
    text = json.dumps(series.plot(values=["s41", "s7"]).to_dict())
    assert '"s41"' in text and '"s7"' in text and '"s8"' not in text and "2 of 60 values" in text
    assert text.count("s41") >= 3 and text.index("s41") < text.index("s7")
    assert "1 of 60 values" in json.dumps(series.plot(values="s7").to_dict())
    for wrong in (["s60"], [], [3]):
        with pytest.raises(ArgumentError, match="values: must be values of the domain"):
            series.plot(values=wrong)


def test_of_many_differences_those_with_the_smallest_p_are_shown() -> None:
    rng = np.random.default_rng(4)
    mechanism = RandomizedResponse(MANY, 3.0)
    often = mechanism.tally(mechanism.randomize([*MANY.labels] * 20 + ["s55"] * 900, rng))
    found = warner.compare_groups({"before": _tally(1), "after": often}, reference="before")
    text = found._repr_html_()
    shown = _cells(text)
    assert len(shown) == 50 and shown[0][2] == "s55"
    assert "50 of 60 rows: those with the smallest p." in text
    few = warner.compare_groups(
        {"a": _tally(1, Categorical(["no", "yes"])), "b": _tally(2, Categorical(["no", "yes"]))}
    )
    assert [row[2] for row in _cells(few._repr_html_())][:2] == ["no", "yes"]
