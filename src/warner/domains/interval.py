"""Numbers in order, in bins or one by one, and dates as numbers."""

from __future__ import annotations

import datetime
import re
from functools import cached_property
from typing import Any

import numpy as np

from warner._core.checks import another, choice, integer, kind, real, show
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    FrameWarning,
    ValuesError,
    warn,
)
from warner.domains.base import (
    INTEGER_TYPES,
    LARGEST_SIZE,
    NUMBER_TYPES,
    WITHOUT_ANSWER,
    Domain,
    StudyEntry,
    TextForm,
    numbers,
    sequence,
)

_NUMBER = r"^-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$"


class Interval(Domain):
    """Real numbers in [low, high], whose distribution is estimated in equal bins.

    ``encode`` gives bins and ``decode`` their centres. Numeric mechanisms take the numbers
    themselves and do not see the bins. Means hold for any numbers; shares and quantiles suppose
    that numbers are spread evenly over each bin, so use :class:`Integers` for whole numbers.

    Args:
        low: the lower limit, included.
        high: the upper limit, included, greater than ``low``.
        bins: the number K of bins, from 2 to 2^26.
        clip: whether a number beyond a limit is taken as the limit. Otherwise it is refused.

    Raises:
        ArgumentError: limits in the wrong order, not finite, or too far apart for a float.
        ArgumentTypeError: an argument of another type.

    >>> Interval(0, 1, 4).encode([0.0, 0.3, 1.0]).tolist()
    [0, 1, 3]
    """

    kind = "interval"
    _stated, _at_times = ("low", "high", "bins"), ("clip",)
    study = StudyEntry(
        "interval",
        "numbers from low to high, grouped in bins",
        {"low": (float, ...), "high": (float, ...), "bins": (int, ...), "clip": (bool, False)},
        "interval = { low = 0, high = 60, bins = 30 }",
    )
    noun = "numbers"
    usual_mechanism = "Laplace"
    remedy = (
        "Correct the answers, or widen the limits. To take the nearest limit in place of such "
        "answers, declare the question with clip=True, or clip = true in a study file"
    )
    is_ordered = True
    is_numeric = True
    is_binned = True
    dimension = 1

    def __init__(self, low: float, high: float, bins: int, clip: bool = False) -> None:
        self.low, self.high = real("low", low), real("high", high)
        if not self.low < self.high:
            raise ArgumentError("high", f"must be greater than low = {self.low!r}", show(high))
        self.size = self.bins = integer("bins", bins, 2, LARGEST_SIZE)
        self.clip: bool = choice("clip", clip, (False, True))
        real("high - low", self.high - self.low, "Choose limits that are closer together")

    @cached_property
    def points(self) -> np.ndarray:
        centres, span = np.arange(self.size) + 0.5, self.high - self.low
        # The product of a range near the largest float and a bin's number is no float.
        inside = centres * span / self.size if span < 1e300 else centres / self.size * span
        return (self.low + inside)[:, None]

    @property
    def ends(self) -> list[tuple[float, float]]:
        return [(self.low, self.high)]

    @property
    def bin_width(self) -> float:
        return (self.high - self.low) / self.size

    @property
    def edges(self) -> np.ndarray:
        return np.linspace(self.low, self.high, self.size + 1)

    @property
    def text(self) -> TextForm:
        return TextForm(pattern=_NUMBER, number=float, rule="must be a number")

    def encode(self, values: Any) -> np.ndarray:
        share = (self._numbers(values) - self.low) / (self.high - self.low)
        return np.asarray(np.minimum((share * self.size).astype(np.int64), self.size - 1))

    def position(self, values: Any) -> np.ndarray:
        array = self._numbers(values)
        # Of one person or a few, a warning would tell whoever sees it what the answers are like.
        if len(array) >= _MANY and self._are_whole(array):
            low, high = int(self.low), int(self.high)
            clipped = (
                f" Integers refuses numbers outside {low} to {high}, which clip allows "
                "here. Replace such numbers by the nearest limit first."
            )
            warn(
                f"All of these answers are whole numbers from {low} to {high}. Estimates of ranges "
                "and quantiles can be wrong, because they assume that numbers are spread evenly "
                f"over each of the {self.size} bins. Use {self.integers}."
                f"{clipped if self.clip else ''}",
                FrameWarning,
            )
        share = array - self.low
        share /= self.high - self.low
        return np.asarray(np.clip(share, 0.0, 1.0, out=share))

    @property
    def integers(self) -> str:
        """The domain of the whole numbers between the limits as it is written; "" of too many."""
        if self.low % 1 or self.high % 1 or self.high - self.low > _MOST_WHOLE:
            return ""
        low, high = int(self.low), int(self.high)
        return f"Integers({low}, {high}), which is integers = [{low}, {high}] in a study"

    def _are_whole(self, array: np.ndarray) -> bool:
        """Whether answers are whole numbers, and not all at a limit or in the middle of a bin."""
        # Of other numbers the first ones tell.
        if not self.integers or (array[:_MANY] % 1).any() or (array % 1).any():
            return False
        between = array[(array > self.low) & (array < self.high)] - self.low
        return bool((between / self.bin_width % 1 != 0.5).any())

    def _numbers(self, values: Any) -> np.ndarray:
        """Answers as float64 within the limits; a narrower type could not hold the limits."""
        array = numbers(values, NUMBER_TYPES, "a one-dimensional array of numbers")
        array = array.astype(np.float64, copy=False)
        if self.low <= array.min() and array.max() <= self.high:  # and none is NaN
            return array
        self._refuse(np.isnan(array), "NaN", WITHOUT_ANSWER)
        if self.clip:
            self._refuse(np.isinf(array), "infinity")
            inside = np.clip(array, self.low, self.high)
            # Of one person or a few, a warning would tell whoever sees it what the answer is.
            if len(array) >= _BATCH and (inside != array).mean() > _MOST:
                warn(
                    f"Most of these answers lie outside the limits {self.low:g} and {self.high:g}. "
                    "Each of them is taken as the nearest limit, because clip is true. Are the "
                    "answers in the same unit as the limits?",
                    FrameWarning,
                )
            return np.asarray(inside)
        self._refuse((array < self.low) | (array > self.high), "a number outside these limits")
        return array

    def decode(self, index: Any) -> list[float]:
        centres: list[float] = self.points[self._index(index), 0].tolist()
        return centres

    def spec(self) -> dict[str, Any]:
        limits = {"kind": self.kind, "low": self.low, "high": self.high, "bins": self.size}
        return {**limits, "clip": True} if self.clip else limits


_BATCH = 20  # answers at once, of which a warning may tell how many lie outside
_MOST = 0.5  # the part of them above which it warns
_MANY = 1000  # answers at once, of which a warning may tell that all are whole numbers
_MOST_WHOLE = 2048  # whole numbers; more are near enough to numbers that are spread evenly


# -----------------------------------------------------------------------------------------------
# Integers between two limits.


class Integers(Domain):
    """The integers low..high, both included, at distance |x - x'|.

    Args:
        low: the smallest integer.
        high: the largest integer, greater than ``low``.

    Raises:
        ArgumentError: limits in the wrong order, or more than 2^26 integers.
        ArgumentTypeError: a limit that is not an integer.

    >>> Integers(18, 99).encode([18, 20]).tolist()
    [0, 2]
    """

    kind = "integers"
    _stated = ("low", "high")
    study = StudyEntry(
        "integers", "[low, high], both included", tuple[int, int], "integers = [0, 120]"
    )
    noun = "integers"
    usual_mechanism = "Geometric"
    remedy = "Correct the answers, or widen the limits"
    is_ordered = True
    is_numeric = True
    dimension = 1

    def __init__(self, low: int, high: int) -> None:
        self.low = integer("low", low, -(2**62), 2**62)
        if integer("high", high, -(2**62), 2**63) <= self.low:
            raise ArgumentError("high", f"must be greater than low = {self.low}", show(high))
        self.high = integer("high", high, self.low + 1, self.low + LARGEST_SIZE - 1)
        self.size = self.high - self.low + 1

    @cached_property
    def points(self) -> np.ndarray:
        if max(-self.low, self.high) > 2**53:
            rule = (
                "must not have whole numbers beyond 2^53, which a computer cannot compute with "
                "exactly"
            )
            remedy = "Subtract the same number from all values, or use Categorical"
            raise ArgumentError("domain", rule, show(self.high), remedy)
        return np.arange(self.low, self.high + 1, dtype=np.float64)[:, None]

    @property
    def ends(self) -> list[tuple[float, float]]:
        return [(float(self.low), float(self.high))]

    @property
    def text(self) -> TextForm:
        return TextForm(pattern=r"^-?[0-9]{1,18}$", number=int, rule="must be a whole number")

    def encode(self, values: Any) -> np.ndarray:
        array = numbers(values, INTEGER_TYPES, "a one-dimensional array of integers")
        # The ends are quicker to find than each answer outside.
        if int(array.min()) < self.low or int(array.max()) > self.high:
            self._refuse(
                (array < self.low) | (array > self.high),
                f"an integer outside {self.low} to {self.high}",
            )
        if self.low == 0 and array.dtype == np.int64:
            index: np.ndarray = array.view()
            index.setflags(write=False)  # it shares the memory of the answers
            return index
        return np.asarray(np.subtract(array, self.low, dtype=np.int64))

    def position(self, values: Any) -> np.ndarray:
        return np.asarray(self.encode(values) / (self.size - 1))

    def decode(self, index: Any) -> list[int]:
        integers: list[int] = (self._index(index) + self.low).tolist()
        return integers

    def spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "low": self.low, "high": self.high}


# -----------------------------------------------------------------------------------------------
# Days, weeks and months of the calendar, for public columns.


UNITS = ("day", "week", "month")
_EPOCH = datetime.date(1970, 1, 1).toordinal() - 1  # days before numpy's first day
_MONTHS = (1970 - 1) * 12  # months before numpy's first month
_LAST = datetime.date.max
_SIZES = {"day": _LAST.toordinal(), "week": -(-_LAST.toordinal() // 7), "month": 12 * _LAST.year}
_LABELS = {
    "week": re.compile(r"([0-9]{4})-W([0-9]{2})"),
    "month": re.compile(r"([0-9]{4})-([0-9]{2})"),
}


class Dates(Domain):
    """The days, ISO weeks or months of the years 1 to 9999, in order, for public columns.

    >>> week = Dates("week")
    >>> week.decode(week.encode(["2024-05-31", "2024-06-02", "2024-W23"]))
    ['2024-W22', '2024-W22', '2024-W23']
    """

    # Labels are ISO 8601 texts: 2024-05-31 for a day, 2024-W22 for the week that begins on a
    # Monday, 2024-05 for a month. As answers that are randomised it would have far too many values.

    kind = "dates"
    _stated = ("unit",)
    noun = "dates"
    remedy = "Write dates as 2024-05-31"
    is_ordered = True

    def __init__(self, unit: str) -> None:
        self.unit: str = choice("unit", unit, UNITS)
        self.size = _SIZES[self.unit]

    @property
    def form(self) -> str:
        """How a value is written, in words."""
        return {
            "day": "a date such as 2026-12-28",
            "week": "a date such as 2026-12-28 or a week such as 2026-W53",
            "month": "a date such as 2026-12-28 or a month such as 2026-12",
        }[self.unit]

    @property
    def rule(self) -> str:
        return f"must be {self.form}"

    def remedy_of(self, value: Any) -> str | None:
        """What to do about a value that is no date, where it says so.

        >>> Dates("week").remedy_of("2025-W53")
        'The last week of 2025 is 2025-W52'
        """
        text = value if isinstance(value, str) else ""
        match = _LABELS["week"].fullmatch(text)
        if match and self.unit == "week" and 1 <= int(match[1]) <= _LAST.year:
            last = datetime.date(int(match[1]), 12, 28).isocalendar().week  # always in the last
            return f"The last week of {match[1]} is {match[1]}-W{last}"
        if re.match("[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]", text):
            return "Write the date without the time"
        return None

    def encode(self, values: Any) -> np.ndarray:
        """The index (n,) of the unit that holds each date."""
        dates = sequence(values)
        if isinstance(dates, np.ndarray) and dates.dtype.kind == "M" and dates.ndim == 1:
            return self._of_numpy(dates)
        if isinstance(dates, np.ndarray) and dates.ndim != 1:
            rule = "must be one-dimensional"
            raise ArgumentTypeError("values", rule, f"shape {dates.shape}")
        cache: dict[Any, int] = {}
        index = np.empty(len(dates), dtype=np.int64)
        for i, date in enumerate(dates):
            position = cache.get(date) if type(date) is str else None
            if position is None:
                position = self._place(date)
                if position is None:
                    got = another(date) if date and isinstance(date, str) else kind(date)
                    got = "an empty text" if date == "" else got
                    raise ValuesError(i, self.rule, got, self.remedy_of(date) or self.remedy)
                if type(date) is str:
                    cache[date] = position
            index[i] = position
        return index

    def _of_numpy(self, dates: np.ndarray) -> np.ndarray:
        """Indices of numpy's dates (n,)."""
        days = dates.astype("datetime64[D]")
        day = days.astype(np.int64) + _EPOCH
        outside = np.isnat(days) | (day < 0) | (day >= _SIZES["day"])
        if outside.any():
            got = "a missing date, or one outside the years 1 to 9999"
            raise ValuesError(int(np.argmax(outside)), self.rule, got)
        if self.unit == "month":
            return np.asarray(days.astype("datetime64[M]").astype(np.int64) + _MONTHS)
        return np.asarray(day // 7 if self.unit == "week" else day)

    def _place(self, date: Any) -> int | None:
        """The index of the unit of one date; None for what is no date."""
        if isinstance(date, np.datetime64):
            return None if np.isnat(date) else int(self._of_numpy(np.array([date]))[0])
        if isinstance(date, str):
            date = self._parsed(date)
        elif isinstance(date, datetime.datetime):
            # pandas has times of other years, which have no date.
            date = date.date() if 1 <= date.year <= _LAST.year else None
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
            match = _LABELS[self.unit].fullmatch(text) if self.unit in _LABELS else None
            if match is None:
                return None
            first, second = int(match[1]), int(match[2])
            if self.unit == "week":
                return datetime.date.fromisocalendar(first, second, 1)
            return datetime.date(first, second, 1)
        except ValueError:
            return None

    def decode(self, index: Any) -> list[str]:
        different, inverse = np.unique(self._index(index), return_inverse=True)
        labels = [self._label(i) for i in different.tolist()]
        return [labels[i] for i in inverse.ravel().tolist()]

    def _label(self, i: int) -> str:
        if self.unit == "month":
            return f"{i // 12 + 1:04d}-{i % 12 + 1:02d}"
        if self.unit == "week":
            year, week, _ = datetime.date.fromordinal(7 * i + 1).isocalendar()
            return f"{year:04d}-W{week:02d}"
        return datetime.date.fromordinal(i + 1).isoformat()

    def spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "unit": self.unit}
