"""One column of a first study: what is known of it, and how a study file states it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from warner._core.checks import show
from warner._core.errors import ArgumentError
from warner._core.text import ALIKE, DIFFER, alike
from warner.app.toml_text import toml
from warner.io.answer_kinds import Kind
from warner.studies.schema import TO_DECIDE

_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_NUMBER = re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_GRID = re.compile(r"([0-9]{1,6})x([0-9]{1,6})(?::(.+))?")
_BINS = 30  # about so many parts of an interval

# How answers of each kind are called in comments.
WORDS: dict[Kind, str] = {
    "labels": "labels",
    "integers": "whole numbers",
    "numbers": "numbers",
    "dates": "dates",
    "cells": "cells of a grid",
    "booleans": "true or false",
}


@dataclass(frozen=True)
class Question:
    """A column of a first study.

    Attributes:
        name: the name of the column, and of the attribute.
        kind: what the answers are.
        text: the question as people read it; None where nobody has stated it.
        labels: the answers, where they are labels; None where nobody has stated them.
        limits: the smallest and the largest number, as they are written; None likewise.
        bins: the number of parts of an interval, where it is stated.
        grid: the rows, the columns and the side of a cell as they are written, where it is stated.
        is_copied: whether labels or limits are answers from a file.
        shown: {key: value}, what else people read of the question, such as displayed answers.
        options: {key: value}, further lines of its table; its mechanism too, where it is stated.
        epsilon: its budget in nats as it is written; None for that of the other questions.
    """

    name: str
    kind: Kind
    text: str | Mapping[str, str] | None = None
    labels: tuple[str | int | bool, ...] | None = None
    limits: tuple[str, str] | None = None
    bins: int | None = None
    grid: tuple[str, str, str] | None = None
    is_copied: bool = False
    shown: Mapping[str, object] = field(default_factory=dict)
    options: Mapping[str, object] = field(default_factory=dict)
    epsilon: str | None = None

    @property
    def is_decided(self) -> bool:
        """Whether the values that can be answered are known."""
        return self.domain != self._undecided

    @property
    def domain(self) -> str:
        """The line of a study file that states the domain of an attribute."""
        if self.labels is not None:
            return f"values = {toml(self.labels)}"
        if self.grid is not None:
            rows, columns, side = self.grid
            return f"grid = {{ rows = {rows}, columns = {columns}, side = {side} }}"
        if self.limits is not None:
            low, high = self.limits
            if self._is_whole:
                return f"integers = [{low}, {high}]"
            bins = nice_bins(low, high) if self.bins is None else self.bins
            return f"interval = {{ low = {low}, high = {high}, bins = {bins} }}"
        return "values = [false, true]" if self.kind == "booleans" else self._undecided

    @property
    def _is_whole(self) -> bool:
        """Whether the answers are whole numbers, which the limits must be then."""
        whole = all(_INTEGER.fullmatch(limit) for limit in self.limits or ())
        return whole and self.kind != "numbers" and self.bins is None

    @property
    def _undecided(self) -> str:
        keys = {"integers": "integers", "numbers": "interval", "cells": "grid"}
        return f"{keys.get(self.kind, 'values')} = {toml(TO_DECIDE)}"

    @property
    def public(self) -> str:
        """The line of a study file that states a public column."""
        if self.labels is not None or self.kind == "booleans":
            return self.domain
        if self.kind == "dates":
            return 'dates = "week"'
        if self.limits is not None and self._is_whole:
            return self.domain
        return f"{'integers' if self.kind == 'integers' else 'values'} = {toml(TO_DECIDE)}"

    def mechanism(self, epsilon: float) -> tuple[str, str]:
        """The mechanism of an attribute, as lines of a study file, and the reason for it.

        For K labels randomised response errs less than a bit for each label, as long as
        K < 3 exp(epsilon) + 2 (Wang et al. 2017). Numbers of more values have SquareWave.
        """
        if "mechanism" in self.options:
            return f"mechanism = {toml(self.options['mechanism'])}", "as it was stated"
        few = 3 * math.exp(epsilon) + 2
        size: float = len(self.labels or ())
        if self.labels is None and self.grid is None:
            size = self._steps
            if size >= few and (self.limits is not None or self.kind in ("integers", "numbers")):
                return 'mechanism = "SquareWave"', "for numbers: near ones are sent more often"
        if size >= few or self.kind == "cells":
            unary = 'mechanism = "UnaryEncoding"\nkeep = "optimized"'
            return unary, "for many values: one bit for each"
        return 'mechanism = "RandomizedResponse"', "for few values: the true one, or another one"

    @property
    def _steps(self) -> float:
        """The number of values between the limits; infinity of numbers that are not whole."""
        if self.limits is not None and self._is_whole:
            return int(self.limits[1]) - int(self.limits[0]) + 1
        return math.inf if self.limits or self.kind in ("integers", "numbers") else 0


def with_labels(question: Question, labels: Sequence[str], is_copied: bool = False) -> Question:
    """The question with its labels.

    Labels that are all whole numbers become numbers, and those of truth values truth values.
    """
    if len(set(labels)) < max(2, len(labels)) or not all(labels):
        rule = "must be two or more different labels, separated by commas"
        got = None if is_copied else show(", ".join(labels))
        raise ArgumentError(question.name, rule, got)
    if (pair := alike(labels)) is not None:
        raise ArgumentError(question.name, ALIKE, None if is_copied else pair, DIFFER)
    found: tuple[str | int | bool, ...] = tuple(labels)
    if all(_INTEGER.fullmatch(label) for label in labels):
        found = tuple(int(label) for label in labels)
    if question.kind == "booleans" and {label.lower() for label in labels} <= {"true", "false"}:
        found = tuple(label.lower() == "true" for label in labels)
    return replace(question, labels=found, is_copied=is_copied)


def with_range(question: Question, text: str, is_copied: bool = False) -> Question:
    """The question with its limits."""
    low, _, rest = text.replace(" ", "").partition(":")
    high, _, bins = rest.partition(":")
    numbers = _NUMBER.fullmatch(low) and _NUMBER.fullmatch(high)
    is_good = bool(numbers) and Decimal(low) < Decimal(high)
    if not is_good or (bins and not re.fullmatch("[1-9][0-9]{0,7}", bins)):
        rule = "must be two limits, the smaller one first, such as 0:60"
        got = None if is_copied else show(text)
        remedy = "A third number says into how many parts estimates divide them: 0:60:30"
        raise ArgumentError(question.name, rule, got, remedy)
    limits = (_as_toml(low), _as_toml(high))
    return replace(question, limits=limits, bins=int(bins) if bins else None, is_copied=is_copied)


def with_grid(question: Question, text: str) -> Question:
    """The question with its grid, ``ROWSxCOLUMNS`` or ``ROWSxCOLUMNS:SIDE``."""
    found = _GRID.fullmatch(text.replace(" ", ""))
    side = (found[3] or "1.0") if found else ""
    if found is None or not _NUMBER.fullmatch(side):
        rule = "must be rows x columns, such as 24x16, or 24x16:0.5 with the side of a cell"
        raise ArgumentError(question.name, rule, show(text))
    grid = (str(int(found[1])), str(int(found[2])), _as_toml(side))
    return replace(question, kind="cells", grid=grid)


def _as_toml(number: str) -> str:
    """A number as TOML writes it: digits on both sides of the point."""
    if _INTEGER.fullmatch(number):
        return number
    return repr(float(number)).replace("inf", "1e308")


def nice_bins(low: str, high: str) -> int:
    """The number of bins of an interval: about 30, each of a width that is 1, 2 or 5 times a power
    of 10.

    Where no such width divides the interval, the bins are 30.

    >>> nice_bins("0", "60"), nice_bins("0", "100"), nice_bins("1.5", "3.7")
    (30, 20, 22)
    """
    span = Decimal(high) - Decimal(low)
    widths = [Decimal(f"{k}e{span.adjusted() - j}") for j in (3, 2, 1, 0) for k in (1, 2, 5)]
    counts = [int(span / width) for width in widths if span % width == 0]
    near = [count for count in counts if _BINS / 2 <= count <= 2 * _BINS]
    return min(near, key=lambda count: (abs(math.log(count / _BINS)), count), default=_BINS)


def rounded_outwards(low: float, high: float) -> tuple[float, float]:
    """Limits with one digit, at or beyond those given.

    >>> rounded_outwards(3, 57), rounded_outwards(0.12, 0.87), rounded_outwards(18, 18)
    ((0, 60), (0.1, 0.9), (10, 20))
    """
    largest = Decimal(repr(max(abs(low), abs(high)))) or Decimal(1)
    step = Decimal(f"1e{largest.adjusted()}")
    first = (Decimal(repr(low)) / step).to_integral_value("ROUND_FLOOR") * step
    last = (Decimal(repr(high)) / step).to_integral_value("ROUND_CEILING") * step
    last = last + step if last == first else last
    number = float if step < 1 else int
    return number(first), number(last)
