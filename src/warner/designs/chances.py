"""Chances as exact fractions, and the dice, coins, cards or birthdays that have them."""

from __future__ import annotations

import itertools
import math
import numbers
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from fractions import Fraction
from typing import Any

import numpy as np

from warner._core.checks import choice, kind, show
from warner._core.errors import ArgumentError, ArgumentTypeError
from warner._core.text import series

_SIMPLE = 1000  # the largest denominator that a float is taken for
_MOST_CARDS = 100
_FEW_CARDS = 20  # in a pack for chances that are searched for
DEVICES = ("coin", "die", "dice", "birthday", "cards", "spinner")


def chance(name: str, value: Any, *, none: bool = False, certain: bool = False) -> Fraction:
    """A chance as an exact fraction.

    A float stands for the fraction with a denominator of at most 1000 that has the same float, and
    otherwise for its decimal digits.

    Args:
        name: of the argument, for messages.
        value: a Fraction, an int, a float, or a text such as ``"1/4"``, ``"0.25"`` or ``"25 %"``.
        none: whether 0 is allowed.
        certain: whether 1 is allowed.

    Raises:
        ArgumentTypeError: no number.
        ArgumentError: a text that is no number, or a chance outside [0, 1], or at its ends where
            they are not allowed.

    >>> chance("p", "1/4"), chance("p", 0.25), chance("p", 1 / 6), chance("p", "25 %")
    (Fraction(1, 4), Fraction(1, 4), Fraction(1, 6), Fraction(1, 4))
    """
    remedy = "Write it as 1/4 or 0.25"
    if isinstance(value, bool | np.bool_) or not isinstance(value, str | numbers.Real):
        raise ArgumentTypeError(name, "must be a chance", f"{show(value)} ({kind(value)})", remedy)
    try:
        exact = _fraction(value)
    except (ValueError, ZeroDivisionError, OverflowError):
        raise ArgumentError(name, "must be a chance", show(value), remedy) from None
    low_fits = exact > 0 or (none and exact == 0)
    high_fits = exact < 1 or (certain and exact == 1)
    if not (low_fits and high_fits):
        ends = f"{'from' if none else 'above'} 0 {'to' if certain else 'and below'} 1"
        percent = f"{float(exact):g} %"
        meant = f"If {percent} is meant, write {percent!r}" if 1 < exact < 100 else None
        raise ArgumentError(name, f"must be a chance {ends}", show(value), meant)
    return exact


def _fraction(value: str | numbers.Real) -> Fraction:
    """The exact number that a text, a float or a fraction states."""
    if isinstance(value, str):
        text = value.strip()
        return Fraction(text[:-1].strip()) / 100 if text.endswith("%") else Fraction(text)
    if isinstance(value, numbers.Rational):
        return Fraction(value)
    number = float(value)
    near = Fraction(number).limit_denominator(_SIMPLE)
    return near if float(near) == number else Fraction(repr(number))


@dataclass(frozen=True)
class Draw:
    """A draw that a person makes in secret, and how its outcomes read.

    Attributes:
        what: what the person does, as a sentence.
        when: an outcome for each chance, as a clause: ``"the die shows 1 or 2"``.
        otherwise: the clause of all other outcomes.
        brings: what the interviewer brings, or says beforehand, as a sentence.
    """

    what: str
    when: tuple[str, ...]
    otherwise: str
    brings: str

    @property
    def asked(self) -> str:
        """The first outcome as a question: "did both tosses show heads?"."""
        subject, verb, rest = re.split(r" (shows?|stops|is) ", self.when[0], maxsplit=1)
        if verb == "is":
            return f"is {subject} {rest}?"
        return f"did {subject} {verb.removesuffix('s')} {rest}?"

    def after(self, words: str) -> str:
        """What the person does, behind words in the same sentence: "now throw a die"."""
        return f"{words} {self.what[0].lower()}{self.what[1:]}"

    @property
    def is_birthday(self) -> bool:
        """Whether the outcome is no draw but stays: each person has one birthday."""
        return "birthday" in self.when[0]

    def of_another(self) -> Draw:
        """The same chances for a second draw: a birthday is that of another person."""

        what = self.what.replace("a person", "another person").replace("mother", "father")
        return replace(self, what=what)


def draw_with(chances: Sequence[Fraction], by: str | None = None) -> Draw:
    """The draw whose outcomes have exactly the given chances.

    Args:
        chances: of one outcome, or of several that exclude each other; their sum is at most 1.
        by: ``"coin"``, ``"die"``, ``"dice"`` (two of them, added), ``"birthday"``, ``"cards"`` or
            ``"spinner"``; None for the first of them that has these chances.

    Raises:
        ArgumentError: a device that does not have these chances.

    >>> draw_with([Fraction(1, 4)]).when
    ('both tosses show heads',)
    >>> draw_with([Fraction(1, 6), Fraction(1, 6)]).when
    ('the die shows 1', 'the die shows 2')
    >>> draw_with([Fraction(91, 365)]).when
    ('that birthday is from 1 January to 1 April',)
    """
    makers = {
        "coin": _coins,
        "die": _die,
        "dice": _two_dice,
        "birthday": _birthday,
        "cards": _cards,
        "spinner": _spinner,
    }
    if by is not None:
        draw = makers[choice("by", by, DEVICES)](chances)
        if draw is None:
            texts = f"chance{'s' * (len(chances) > 1)} {' and '.join(map(str, chances))}"
            able = [name for name, make in makers.items() if make(chances) is not None]
            near = _near_birthday(chances) if by == "birthday" else ""
            remedy = f"Use {' or '.join(map(repr, able))}{near}"
            raise ArgumentError("by", f"{by!r} cannot give exactly the {texts}", None, remedy)
        return draw
    return next(draw for make in makers.values() if (draw := make(chances)) is not None)


def usual_chances(by: str) -> list[Fraction]:
    """The chances that a device gives without effort; none of a spinner, which has any.

    >>> usual_chances("coin")
    [Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)]
    """
    if by == "dice":
        return [Fraction(n, 36) for n in _AT_MOST[:-1]]
    if by == "cards":
        return sorted({Fraction(n, of) for of in range(2, _FEW_CARDS + 1) for n in range(1, of)})
    of = {"coin": 4, "die": 6, "birthday": 365}.get(by, 1)
    return [Fraction(n, of) for n in range(1, of)]


def _faces(chances: Sequence[Fraction], total: int) -> list[tuple[int, int]] | None:
    """The first and last of ``total`` numbered faces for each chance; None where none fit."""
    counts = [each * total for each in chances]
    if any(each.denominator > 1 for each in counts):
        return None
    ends = list(itertools.accumulate(map(int, counts)))
    return [(end - int(n) + 1, end) for end, n in zip(ends, counts, strict=True)]


def _numbers(first: int, last: int) -> str:
    """Consecutive numbers in words: "3", "3 or 4", "1, 2 or 3", "1 to 9"."""
    if last - first > 2:
        return f"{first} to {last}"
    return series([str(n) for n in range(first, last + 1)], "or")


def _coins(chances: Sequence[Fraction]) -> Draw | None:
    """One coin or two tosses of one, for outcomes that are all of the same chance."""
    bring = "Bring a coin for each person. A coin shows heads with the chance 1/2."
    secret = "so that nobody else sees it"
    if list(chances) == [Fraction(1, 2)]:
        return Draw(f"Toss a coin, {secret}.", ("the coin shows heads",), "it shows tails", bring)
    quarters = {
        (Fraction(1, 4),): ("both tosses show heads",),
        (Fraction(3, 4),): ("at least one toss shows heads",),
        (Fraction(1, 4), Fraction(1, 4)): ("both tosses show heads", "both tosses show tails"),
        (Fraction(1, 2), Fraction(1, 4)): ("the first toss shows heads", "both tosses show tails"),
        (Fraction(1, 4), Fraction(1, 2)): ("both tosses show heads", "the first toss shows tails"),
    }
    when = quarters.get(tuple(chances))
    if when is None:
        return None
    return Draw(f"Toss a coin twice, {secret}.", when, "the tosses show anything else", bring)


def _die(chances: Sequence[Fraction]) -> Draw | None:
    """One throw of a die."""
    faces = _faces(chances, 6)
    if faces is None or not all(chances):
        return None
    when = tuple(f"the die shows {_numbers(*face)}" for face in faces)
    rest = f"it shows {_numbers(faces[-1][1] + 1, 6)}" if faces[-1][1] < 6 else ""
    bring = "Bring a die for each person. Each number has the chance 1/6."
    return Draw("Throw a die, so that nobody else sees it.", when, rest, bring)


def _two_dice(chances: Sequence[Fraction]) -> Draw | None:
    """The sum of two dice: the smallest sums for the first chance, the largest for the second."""
    below = {Fraction(n, 36): total for total, n in zip(range(2, 13), _AT_MOST, strict=True)}
    if len(chances) > 2 or not all(each in below for each in chances):
        return None
    ends = [(2, below[chances[0]])]
    if len(chances) == 2:
        ends.append((14 - below[chances[1]], 12))
        if ends[1][0] <= ends[0][1]:
            return None
    when = tuple(f"the sum is {_numbers(*end)}" for end in ends)
    left = (ends[0][1] + 1, ends[1][0] - 1 if len(ends) == 2 else 12)
    rest = f"it is {_numbers(*left)}" if left[0] <= left[1] else ""
    bring = (
        "Bring two dice for each person. The sums 2 to 12 have the chances 1, 2, 3, 4, 5, 6, 5, 4, "
        "3, 2 and 1 in 36."
    )
    what = "Throw two dice, so that nobody else sees them, and add them."
    return Draw(what, when, rest, bring)


_AT_MOST = list(itertools.accumulate([1, 2, 3, 4, 5, 6, 5, 4, 3, 2, 1]))  # of 36, sums up to 2..12


def _birthday(chances: Sequence[Fraction]) -> Draw | None:
    """The birthday of a relative within so many days of the 365."""
    faces = _faces(chances, 365)
    if faces is None or not all(chances) or math.lcm(*(c.denominator for c in chances)) < 73:
        return None
    when = tuple(f"that birthday is from {_day(first)} to {_day(last)}" for first, last in faces)
    bring = (
        "You do not need to bring anything. The chances assume that all 365 days are equally "
        "likely; in most countries births differ by a few per cent from month to month."
    )
    what = "Think of the birthday of a person whom nobody here knows, such as your mother."
    return Draw(what, when, "it is on any other day", bring)


def _near_birthday(chances: Sequence[Fraction]) -> str:
    """The remedy that names the chances of so many days: to the end of a month, if one is near."""
    days = [max(1, round(each * 365)) for each in chances]
    if len(days) == 1:
        ends = [end for end in _ENDS if abs(end - days[0]) <= _NEAR_END]
        days = ends or days
    faces = _faces([Fraction(n, 365) for n in days], 365) or []
    when = " and ".join(f"from {_day(first)} to {_day(last)}" for first, last in faces)
    texts = " and ".join(f"{n}/365" for n in days)
    return (
        f". To keep the birthday, write {texts} in the design (a birthday {when}), and use the new "
        "design for the estimate too"
    )


_ENDS = (31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)  # the last days of months
_NEAR_END = 2  # days


def _day(number: int) -> str:
    """A day of a year of 365 days, from 1: "1 April"."""
    day = date(2001, 1, 1) + timedelta(days=number - 1)
    return f"{day.day} {_MONTHS[day.month - 1]}"


_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)


def _cards(chances: Sequence[Fraction]) -> Draw | None:
    """A card from a numbered pack."""
    total = math.lcm(*(each.denominator for each in chances))
    faces = _faces(chances, total)
    if faces is None or total > _MOST_CARDS or not all(chances):
        return None
    when = tuple(f"the number is {_numbers(*face)}" for face in faces)
    rest = f"it is {_numbers(faces[-1][1] + 1, total)}" if faces[-1][1] < total else ""
    what = "Draw a card, so that nobody else sees it. Read its number, and put it back."
    return Draw(what, when, rest, f"Bring {total} cards, numbered 1 to {total}, and shuffle them.")


def _spinner(chances: Sequence[Fraction]) -> Draw:
    """A spinner, with a sector for each chance."""
    colours = ("red", "blue", "green", "yellow", "brown", "black", "grey", "orange")
    names = [colours[i] if i < len(colours) else f"colour {i + 1}" for i in range(len(chances))]
    when = tuple(f"it stops on {name}" for name in names)
    sectors = " and ".join(
        f"{float(360 * each):.5g} degrees {name}" for name, each in zip(names, chances, strict=True)
    )
    what = "Spin the arrow, so that nobody else sees it."
    bring = f"Bring a white disc with an arrow that spins. On the disc, colour {sectors}."
    return Draw(what, when, "it stops on white", bring)
