"""Days, weeks and months of the calendar, for public columns."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np

from warner._core.checks import choice, kind
from warner._core.errors import ArgumentTypeError, ValuesError
from warner.domains.answers import sequence
from warner.domains.base import Domain

UNITS = ("day", "week", "month")
_EPOCH = datetime.date(1970, 1, 1).toordinal() - 1  # days before numpy's first day
_MONTHS = (1970 - 1) * 12  # months before numpy's first month
_LAST = datetime.date.max
_SIZES = {"day": _LAST.toordinal(), "week": -(-_LAST.toordinal() // 7), "month": 12 * _LAST.year}
_RULE = "must be an ISO date such as 2024-05-31"
_LABELS = {
    "week": re.compile(r"([0-9]{4})-W([0-9]{2})"),
    "month": re.compile(r"([0-9]{4})-([0-9]{2})"),
}


class Dates(Domain):
    """The days, ISO weeks or months of the years 1 to 9999, in their order.

    A date is coarsened to the unit that holds it. Labels are ISO 8601 texts: 2024-05-31 for a day,
    2024-W22 for the week that begins on a Monday, 2024-05 for a month. It is a domain of public
    columns; as answers that are randomised it would have far too many values.

    Args:
        unit: ``day``, ``week`` or ``month``.

    Raises:
        ArgumentError: another unit.

    >>> week = Dates("week")
    >>> week.decode(week.encode(["2024-05-31", "2024-06-02", "2024-W23"]))
    ['2024-W22', '2024-W22', '2024-W23']
    """

    kind = "dates"
    noun = "dates"
    remedy = "write dates as 2024-05-31"
    is_ordered = True

    def __init__(self, unit: str) -> None:
        self.unit: str = choice("unit", unit, UNITS)
        self.size = _SIZES[self.unit]

    def encode(self, values: Any) -> np.ndarray:
        """The index (n,) of the unit that holds each date."""
        dates = sequence(values)
        if isinstance(dates, np.ndarray) and dates.dtype.kind == "M" and dates.ndim == 1:
            return self._of_numpy(dates)
        if isinstance(dates, np.ndarray) and dates.ndim != 1:
            rule = "must be one-dimensional"
            raise ArgumentTypeError("values", rule, f"shape {dates.shape}")
        known: dict[Any, int] = {}
        index = np.empty(len(dates), dtype=np.int64)
        for i, date in enumerate(dates):
            place = known.get(date) if type(date) is str else None
            if place is None:
                place = self._place(date)
                if place is None:
                    got = "an empty text" if date == "" else kind(date)
                    raise ValuesError(i, _RULE, got, self.remedy[0].upper() + self.remedy[1:])
                if type(date) is str:
                    known[date] = place
            index[i] = place
        return index

    def _of_numpy(self, dates: np.ndarray) -> np.ndarray:
        """Indices of numpy's dates (n,)."""
        days = dates.astype("datetime64[D]")
        place = days.astype(np.int64) + _EPOCH
        outside = np.isnat(days) | (place < 0) | (place >= _SIZES["day"])
        if outside.any():
            raise ValuesError(int(np.argmax(outside)), _RULE, "no date of the years 1 to 9999")
        if self.unit == "month":
            return np.asarray(days.astype("datetime64[M]").astype(np.int64) + _MONTHS)
        return np.asarray(place // 7 if self.unit == "week" else place)

    def _place(self, date: Any) -> int | None:
        """The index of the unit of one date; None for what is no date."""
        if isinstance(date, np.datetime64):
            return None if np.isnat(date) else int(self._of_numpy(np.array([date]))[0])
        if isinstance(date, str):
            date = self._parsed(date)
        elif isinstance(date, datetime.datetime):
            date = date.date()
        if not isinstance(date, datetime.date):
            return None
        if self.unit == "month":
            return (date.year - 1) * 12 + date.month - 1
        day = date.toordinal() - 1  # the first day of the calendar is a Monday
        return day // 7 if self.unit == "week" else day

    def _parsed(self, text: str) -> datetime.date | None:
        """The date in an ISO text, or the first day of the unit whose label it is."""
        try:
            if re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
                return datetime.date.fromisoformat(text)
            found = _LABELS[self.unit].fullmatch(text) if self.unit in _LABELS else None
            if found is None:
                return None
            first, second = int(found[1]), int(found[2])
            if self.unit == "week":
                return datetime.date.fromisocalendar(first, second, 1)
            return datetime.date(first, second, 1)
        except ValueError:
            return None

    def decode(self, index: Any) -> list[str]:
        different, place = np.unique(self._index(index), return_inverse=True)
        labels = [self._label(i) for i in different.tolist()]
        return [labels[i] for i in place.ravel().tolist()]

    def _label(self, i: int) -> str:
        if self.unit == "month":
            return f"{i // 12 + 1:04d}-{i % 12 + 1:02d}"
        if self.unit == "week":
            year, week, _ = datetime.date.fromordinal(7 * i + 1).isocalendar()
            return f"{year:04d}-W{week:02d}"
        return datetime.date.fromordinal(i + 1).isoformat()

    def spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "unit": self.unit}

    @classmethod
    def from_spec(
        cls, spec: Mapping[str, Any], build: Callable[[Mapping[str, Any]], Domain]
    ) -> Self:
        return cls(spec["unit"])
