"""Dates are coarsened to days, weeks or months, and anything else is refused by its position."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pytest

from warner.domains.interval import UNITS, Dates
from warner.errors import ArgumentError, ArgumentTypeError, ValuesError

EDGES = ["0001-01-01", "1969-12-31", "1970-01-01", "2024-02-29", "2024-12-30", "9999-12-31"]


def test_labels_are_iso_texts() -> None:
    assert Dates("day").decode([0, 738885]) == ["0001-01-01", "2024-01-01"]
    assert Dates("week").decode(Dates("week").encode(["2024-12-30"])) == ["2025-W01"]
    assert Dates("month").decode(Dates("month").encode(["2024-12-30"])) == ["2024-12"]


@pytest.mark.parametrize("unit", UNITS)
def test_texts_dates_and_numpy_dates_are_one(unit: str) -> None:
    domain = Dates(unit)
    expected = domain.encode(EDGES).tolist()
    dates = [datetime.date.fromisoformat(text) for text in EDGES]
    assert domain.encode(dates).tolist() == expected
    assert domain.encode(np.array(EDGES, dtype="datetime64[D]")).tolist() == expected
    assert domain.encode([np.datetime64(text) for text in EDGES]).tolist() == expected
    assert expected[0] == 0 and expected[-1] == domain.size - 1
    assert domain.encode(domain.decode(expected)).tolist() == expected
    again = Dates.from_spec(domain.spec(), lambda _: domain)
    assert again == domain and again.is_ordered


def test_a_unit_holds_the_days_between_its_ends() -> None:
    start = datetime.date(2023, 12, 25).toordinal()
    days = [datetime.date.fromordinal(start + i) for i in range(400)]
    week, month = Dates("week").encode(days), Dates("month").encode(days)
    for day, before, w, v, m, k in zip(
        days[1:], days[:-1], week[1:], week[:-1], month[1:], month[:-1], strict=True
    ):
        assert w - v == (day.isocalendar()[:2] != before.isocalendar()[:2])
        assert m - k == (day.month != before.month)


@pytest.mark.parametrize(
    "bad",
    [
        *("2024-13-01", "2023-02-29", "31.05.2024", "2024-5-31", "20240531", "", " 2023-01-01"),
        *(None, 5, 1.5, float("nan"), True, b"2024-05-31", ["2024-05-31"], np.datetime64("NaT")),
    ],
)
def test_what_is_no_date_is_refused_by_its_position(bad: Any) -> None:
    for unit in UNITS:
        with pytest.raises(ValuesError) as caught:
            Dates(unit).encode(["2024-05-31", bad])
        assert caught.value.position == 1
        assert not isinstance(bad, str) or not bad.strip() or bad not in str(caught.value)


def test_other_units_and_shapes_are_refused() -> None:
    with pytest.raises(ArgumentError, match="day"):
        Dates("year")
    with pytest.raises(ArgumentTypeError):
        Dates("day").encode("2024-05-31")
    with pytest.raises(ArgumentTypeError):
        Dates("day").encode(np.array([["2024-05-31", "2024-06-01"]]))
    with pytest.raises(ValuesError):
        Dates("week").encode(["2024-05"])
    with pytest.raises(ValuesError, match="position 1"):
        Dates("day").encode(np.array(["2024-05-31", "NaT"], dtype="datetime64[D]"))
