"""The text of a first study file, with a comment for everything that is to be decided."""

from __future__ import annotations

import json
import math
import re
import textwrap
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from warner._core.checks import kind, show
from warner._core.errors import ArgumentError, StudyError
from warner._core.text import ALIKE, DIFFER, alike, at_most
from warner.io.read_answers import Kind
from warner.studies.problems import StudyProblems, located, problems_of
from warner.studies.schema import TO_DECIDE, UNDECIDED
from warner.studies.study import Study


def toml(value: object) -> str:
    """A value as TOML: text in quotes with escapes, a list, a table, a number or a truth value.

    >>> toml(["a", 1, True]), toml('"'), toml(0.5)
    ('["a", 1, true]', '"\\\\""', '0.5')
    >>> toml({"en": "no", "pt-BR": 1})
    '{ en = "no", pt-BR = 1 }'
    """
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{toml_key(key)} = {toml(inner)}" for key, inner in value.items())
        return f"{{ {pairs} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, str):
        # JSON leaves one control character as it is, which TOML does not allow.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, bool | int | float):
        return str(value).lower()
    raise StudyError("study", "has an option that cannot be written as TOML", kind(value))


def toml_key(name: str) -> str:
    """A name as a key of TOML.

    >>> toml_key("q-1"), toml_key("a b")
    ('q-1', '"a b"')
    """
    plain = name.isascii() and name.replace("_", "a").replace("-", "a").isalnum()
    return name if plain else toml(name)


# -----------------------------------------------------------------------------------------------
# One column of a first study: what is known of it, and how a study file states it.


_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_NUMBER = re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_GRID = re.compile(r"([0-9]{1,6})x([0-9]{1,6})(?::(.+))?")
_FROM_TO = re.compile(r"([0-9.]+) ?(?:-|\N{EN DASH}|to|[.]{2}|,) ?([0-9.]+)")
_MOST_CODES = 10_000  # that a range of labels stands for
_ONE_PAIR = 2  # items, of which there is one pair only
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
    """A column of a first study."""

    name: str  # the name of the column, and of the attribute
    kind: Kind  # what the answers are
    # the question as people read it; None where nobody has stated it
    text: str | Mapping[str, str] | None = None
    # the answers, where they are labels; None where nobody has stated them
    labels: tuple[str | int | bool, ...] | None = None
    # the smallest and the largest number, as they are written; None likewise
    limits: tuple[str, str] | None = None
    is_ticked: bool = False  # whether people tick as many of the labels as apply
    bins: int | None = None  # the number of parts of an interval, where it is stated
    # the rows, the columns and the side of a cell as they are written, where it is stated
    grid: tuple[str, str, str] | None = None
    is_copied: bool = False  # whether labels or limits are answers from a file
    # {key: value}, what else people read of the question, such as displayed answers
    shown: Mapping[str, object] = field(default_factory=dict)
    # {key: value}, further lines of its table; its mechanism too, where it is stated
    options: Mapping[str, object] = field(default_factory=dict)
    # its budget in nats as it is written; None for that of the other questions
    epsilon: str | None = None

    @property
    def is_decided(self) -> bool:
        """Whether the values that can be answered are known."""
        return self.domain != self._undecided

    @property
    def domain(self) -> str:
        """The line of a study file that states the domain of an attribute."""
        if self.labels is not None and self.is_ticked:
            return f"items = {toml([str(label) for label in self.labels])}"
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
        is_whole = self.limits is not None and self._is_whole
        if self.labels is not None or self.kind == "booleans" or is_whole:
            return self.domain
        if self.kind == "dates":
            return 'dates = "week"'
        return f"{'integers' if self.kind == 'integers' else 'values'} = {toml(TO_DECIDE)}"

    def mechanism(self, epsilon: float) -> tuple[str, str]:
        """The mechanism of an attribute, as lines of a study file, and the reason for it."""
        if "mechanism" in self.options:
            return f"mechanism = {toml(self.options['mechanism'])}", "as the form states it"
        if self.is_ticked:
            each = self.options.get("each", "pair" if len(self.labels or ()) > _ONE_PAIR else "one")
            about = {"pair": "two items", "one": "one item"}.get(str(each), "some items")
            return f"each = {toml(each)}", f"a person is asked {about}, drawn by chance"
        # Below this number randomised response errs less than a bit for each label (Wang et al.
        # 2017).
        few = 3 * math.exp(epsilon) + 2
        size: float = len(self.labels or ())
        if self.labels is None and self.grid is None:
            size = self._steps
            if size >= few and (self.limits is not None or self.kind in ("integers", "numbers")):
                return (
                    'mechanism = "SquareWave"',
                    "for numbers: numbers near the true one are sent more often",
                )
        if size >= few or self.kind == "cells":
            return (
                'mechanism = "UnaryEncoding"\nvariant = "oue"',
                "for many values: for each value a yes or a no is sent, which chance can change",
            )
        return (
            'mechanism = "RandomizedResponse"',
            "for few values: the true value is sent or, by chance, another value",
        )

    @property
    def _steps(self) -> float:
        """The number of values between the limits; infinity of numbers that are not whole."""
        if self.limits is not None and self._is_whole:
            return int(self.limits[1]) - int(self.limits[0]) + 1
        return math.inf if self.limits or self.kind in ("integers", "numbers") else 0


def with_labels(question: Question, labels: Sequence[str], is_copied: bool = False) -> Question:
    """The question with its labels, as numbers or truth values where all of them are."""
    if len(set(labels)) < max(2, len(labels)) or not all(labels):
        rule = "must have two or more different labels, separated by commas"
        if is_copied:
            raise ArgumentError(question.name, rule)
        written = ", ".join(labels)
        listed_otherwise = ",".join(re.split(r"\s*[/;|]\s*", written))
        remedy = f"Write {listed_otherwise}" if listed_otherwise != written else None
        if limits := _FROM_TO.fullmatch(written):
            remedy = f"For numbers, give their range: {limits[1]}:{limits[2]}"
        raise ArgumentError(question.name, rule, show(written), remedy)
    if (pair := alike(labels)) is not None:
        raise ArgumentError(question.name, ALIKE, None if is_copied else pair, DIFFER)
    labels_read: tuple[str | int | bool, ...] = tuple(labels)
    if all(_INTEGER.fullmatch(label) for label in labels):
        labels_read = tuple(int(label) for label in labels)
    if question.kind == "booleans" and {label.lower() for label in labels} <= {"true", "false"}:
        labels_read = tuple(label.lower() == "true" for label in labels)
    return replace(question, labels=labels_read, is_copied=is_copied)


def with_range(question: Question, text: str, is_copied: bool = False) -> Question:
    """The question with its limits."""
    low, _, rest = text.replace(" ", "").partition(":")
    high, _, bins = rest.partition(":")
    numbers = _NUMBER.fullmatch(low) and _NUMBER.fullmatch(high)
    is_good = bool(numbers) and Decimal(low) < Decimal(high)
    if not is_good or (bins and not re.fullmatch("[1-9][0-9]{0,7}", bins)):
        rule = "must have two limits, the smaller limit first, such as 0:60"
        got = None if is_copied else show(text)
        both = _FROM_TO.fullmatch(text)
        remedy = f"Write {both[1]}:{both[2]}" if both else None
        if bins:
            remedy = "A third number says for how many equal parts shares are estimated: 0:60:30"
        raise ArgumentError(question.name, rule, got, remedy)
    if question.kind == "labels":
        are_whole = not bins and _INTEGER.fullmatch(low) and _INTEGER.fullmatch(high)
        if not are_whole or int(high) - int(low) >= _MOST_CODES:
            rule = (
                "must have only a first and a last code, such as 0:299, and at most "
                f"{_MOST_CODES:,} codes"
            )
            raise ArgumentError(question.name, rule, show(text), "Or list the codes with --values")
        return with_labels(question, [str(code) for code in range(int(low), int(high) + 1)])
    limits = (_as_toml(low), _as_toml(high))
    return replace(question, limits=limits, bins=int(bins) if bins else None, is_copied=is_copied)


def with_grid(question: Question, text: str) -> Question:
    """The question with its grid, ``ROWSxCOLUMNS`` or ``ROWSxCOLUMNS:SIDE``."""
    sizes = _GRID.fullmatch(text.replace(" ", ""))
    side = (sizes[3] or "1.0") if sizes else ""
    if sizes is None or not _NUMBER.fullmatch(side):
        rule = (
            "must have a grid ROWSxCOLUMNS, such as 24x16, or 24x16:0.5 if 0.5 is the side of a "
            "cell"
        )
        raise ArgumentError(question.name, rule, show(text))
    grid = (str(int(sizes[1])), str(int(sizes[2])), _as_toml(side))
    return replace(question, kind="cells", grid=grid)


def _as_toml(number: str) -> str:
    """A number as TOML writes it: digits on both sides of the point."""
    if _INTEGER.fullmatch(number):
        return number
    return repr(float(number)).replace("inf", "1e308")


def nice_bins(low: str, high: str) -> int:
    """About 30 bins of an interval, of a width that is 1, 2 or 5 times a power of 10, else 30.

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


COPIED = (
    "Everyone receives the study, and a label or a limit in it can be one person's answer. Keep "
    "only labels that you could have listed before you asked these people, and make limits wider, "
    "to round numbers."
)
_WIDTH = 96
_SHOWN, _IN_TITLE = 30, 6  # names that are listed


@dataclass(frozen=True)
class FirstStudy:
    """What a first study asks."""

    # the name of the study; "" for one that names the questions. Also by language
    title: str | Mapping[str, str]
    secret: Sequence[Question]  # the questions whose answers are protected, at least one
    public: Sequence[Question]  # the columns that travel in the clear
    epsilon: str  # the budget of each question in nats, as it is written
    # {question: lines of the file, and a comment}, where they are not by the rule
    mechanisms: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    # those of the texts, the default one first; () for one that nobody names
    languages: Sequence[str] = ()
    # the questions whose epsilon is for values at one distance. The sum of epsilons is no budget
    # where there are any, and the study states none
    per_distance: Sequence[str] = ()
    asks_one: bool = False  # whether each person is asked one of the questions, drawn by chance

    @property
    def budget(self) -> str:
        """What a person spends in all, in decimals: the sum of the epsilons, or one of them."""
        if self.asks_one:
            return self.epsilon
        total = sum((Decimal(self.epsilon_of(q)) for q in self.secret), Decimal(0))
        number = format(total.normalize(), "f")
        return number if "." in number else f"{number}.0"

    def epsilon_of(self, question: Question) -> str:
        """The budget of one question in nats, as it is written."""
        return question.epsilon or self.epsilon

    @property
    def untranslated(self) -> list[str]:
        """The columns that still need a text in some language."""
        return [q.name for q in (*self.secret, *self.public) if _is_open([q.text, q.shown])]

    @property
    def undecided(self) -> list[str]:
        """The columns whose values are still to be decided."""
        return [
            *(q.name for q in self.secret if not q.is_decided),
            *(q.name for q in self.public if "TO DECIDE" in q.public),
        ]

    @property
    def copied(self) -> list[str]:
        """The columns whose labels or limits are answers from a file."""
        return [q.name for q in (*self.secret, *self.public) if q.is_copied]

    def text(self) -> str:
        """The study file."""
        written = "\n".join(self._lines()) + "\n"
        try:
            Study(tomllib.loads(written))
        except StudyError as error:
            left = [problem for problem in problems_of(error) if UNDECIDED not in problem.text]
            if left:
                raise located(StudyProblems(left), "the new study", written) from None
        return written

    def _lines(self) -> Iterator[str]:
        yield from _comment(
            "A first study file. Read it, decide the points below, and then check it with: warner "
            "audit"
        )
        for decision in self._decisions():
            first, *rest = textwrap.wrap(decision, _WIDTH - 4)
            yield from (f"#  - {first}", *(f"#    {line}" for line in rest))
        yield ""
        if self.languages:
            yield f"languages = {toml(self.languages)}"
        names = [question.name for question in self.secret]
        named = ", ".join(names) if len(names) <= _IN_TITLE else f"{len(names):,} questions"
        yield f"title = {toml(self.title or f'A survey of {named}')}"
        yield from self._ask() if self.asks_one else self._budget()
        for question in self.secret:
            yield from self._attribute(question)
        for question in self.public:
            yield from _public(question)

    @property
    def is_on_paper(self) -> bool:
        """Whether people randomise answers themselves, by the design of a card."""
        return any("design" in question.options for question in self.secret)

    def _budget(self) -> Iterator[str]:
        if self.is_on_paper:
            return
        if self.per_distance:
            yield from _comment(
                f"The study states no budget, because the epsilon of {listed(self.per_distance)} "
                "is for two answers that are 1 unit apart. To see what a person spends in all, "
                "run: warner audit"
            )
            return
        yield from _comment(
            "The budget limits what all reports of one person reveal together. They change the "
            f"odds between any two answers by at most a factor of e^budget. For {self.budget}, "
            f"this factor is {_factor(self.budget)}. The budget is the sum of the epsilons below. "
            "Asking the same people again spends the budget again."
        )
        yield f"budget = {self.budget}"

    def _ask(self) -> Iterator[str]:
        many = len(self.secret)
        yield ""
        yield from _comment(
            f"Each person is asked one of these {many} questions, drawn by chance, and spends all "
            f"of epsilon on it. The errors of the shares are then smaller than with 1/{many} of "
            "epsilon on each question. To see how the answers to two questions go together, write "
            'each = "pair", and delete the lines with mechanisms: each person is then asked two '
            'questions. If you write each = "all", everybody is asked all questions, and each '
            "question needs an epsilon.",
            "Epsilon limits what the report of one person reveals. The report changes the odds "
            f"between any two answers by at most a factor of e^epsilon. For {self.budget}, this "
            f"factor is {_factor(self.budget)}. Asking the same people again spends epsilon again.",
        )
        yield "[ask]"
        yield 'each = "one"'
        yield f"epsilon = {self.epsilon}"

    def _decisions(self) -> Iterator[str]:
        if self.undecided:
            yield f"The possible answers in these columns: {listed(self.undecided)}."
        if self.untranslated:
            yield f"The texts of these columns, in all languages: {listed(self.untranslated)}."
        unasked = [q.name for q in self.secret if q.text is None]
        if unasked:
            yield f"The text (label) of these questions: {listed(unasked)}."
        if unnamed := [q.name for q in self.public if q.text is None]:
            yield (
                f"The text (label) of these public columns, as people read it: {listed(unnamed)}."
            )
        if self.is_on_paper:
            yield (
                "Whether people can make the draw that their card asks for, such as with a die. To "
                "see the draw, run: warner study sheet"
            )
            return
        which = "The" if self.asks_one else "Each"
        yield (
            f"{which} epsilon: a smaller epsilon protects people more, a larger one makes "
            "intervals narrower. To see how wide intervals will be, and which mechanisms fit, run: "
            "warner plan"
        )
        drop = (
            '. If you write missing = "drop", the person is left out, which the collector sees. '
            "With neither line"
        )
        yield (
            "What an empty answer means. "
            'If you write missing = "answer" under a question, "no answer" is one more answer, '
            f"which is protected too{'. Without this line' if self.asks_one else drop}, a file "
            "with empty answers is refused."
        )
        yield (
            "For a survey on a web page: who may answer. Add a table [collect] at the end of this "
            'file, with access = "invited" or access = "open". If people are invited, each has a '
            "code that counts once. If access is open, one person can send several reports."
        )
        if self.public:
            names = listed([q.name for q in self.public])
            yield (
                f"Whether everybody may know this about each person: {names}. Public columns are "
                "not protected."
            )
        if self.copied:
            names = listed(self.copied)
            values = f"the values of {names}, which are copied from answers"
            yield f"Whether everybody may see {values}. {COPIED}"

    def _attribute(self, question: Question) -> Iterator[str]:
        yield ""
        yield f"[attributes.{toml_key(question.name)}]"
        label = question.name.replace("_", " ") if question.text is None else question.text
        yield f"label = {toml(label)}" + (
            "  # the question as people read it" * (not question.text)
        )
        yield from (f"{key} = {toml(value)}" for key, value in question.shown.items())
        yield from _comment(*_about(question))
        yield question.domain
        if "design" in question.options:
            design = toml(question.options["design"])
            yield f"design = {design}  # the kind of card; to print it, run: warner study sheet"
            return
        epsilon = self.epsilon_of(question)
        by_rule = question.mechanism(float(epsilon))
        mechanism, reason = self.mechanisms.get(question.name, by_rule)
        first, *options = mechanism.split("\n")
        yield f"{first}  # {reason}"
        stated = {key: value for key, value in question.options.items() if key != "mechanism"}
        if question.is_ticked:
            stated.pop("each", None)
        yield from (line for line in options if line.partition(" ")[0] not in stated)
        yield from (f"{toml_key(key)} = {toml(value)}" for key, value in stated.items())
        if not self.asks_one:
            odds = (
                f"a report changes the odds of an answer by at most a factor of {_factor(epsilon)}"
            )
            yield f"epsilon = {epsilon}  # at {epsilon}, {odds}"


def _is_open(texts: object) -> bool:
    """Whether a text, or one of several, is still to be written."""
    if isinstance(texts, Mapping):
        return any(map(_is_open, texts.values()))
    return any(map(_is_open, texts)) if isinstance(texts, list | tuple) else texts == TO_DECIDE


def _about(question: Question) -> Iterator[str]:
    """What to say of the values of a question."""
    if question.is_copied:
        copied = f"These {WORDS[question.kind]} are copied from the file of answers."
        yield f"{copied} Everyone who gets the study sees them."
    elif question.kind == "dates" and not question.is_decided:
        yield (
            "Dates have too many different values. Ask for the year as a whole number: integers = "
            "[1900, 2020]. Or ask for the month as a label."
        )
    elif question.kind == "cells" and not question.is_decided:
        yield (
            "Answers are cells of a grid, written row,column. Replace TO DECIDE by a line with "
            "your own numbers: grid = { rows = 24, columns = 16, side = 0.5 }"
        )
    elif not question.is_decided:
        yield {
            "integers": "For whole numbers, write integers = [0, 60], with limits that hold for "
            'everyone. For codes without an order, write values = ["1", "2", "3"].',
            "numbers": "For numbers, write interval = { low = 0, high = 60, bins = 30 }. Shares "
            "are then estimated for 30 equal parts, called bins.",
        }.get(question.kind, 'Write all possible answers: values = ["never", "often"].')
    if question.name.casefold() in _COORDINATES:
        yield (
            "One coordinate alone does not say where somebody is. To ask where people are, use one "
            "column with cells of a grid, written row,column."
        )


_COORDINATES = ("lat", "lon", "lng", "latitude", "longitude", "x", "y", "easting", "northing")


def _public(question: Question) -> Iterator[str]:
    """The lines of a public column."""
    yield ""
    yield f"[public.{toml_key(question.name)}]"
    if question.text is not None:
        yield f"label = {toml(question.text)}"
    yield from (f"{key} = {toml(value)}" for key, value in question.shown.items())
    if question.is_copied:
        yield from _comment(
            "These values are copied from the file of answers. Everyone who gets the study sees "
            "them."
        )
    elif question.public.startswith("dates"):
        yield from _comment(
            'Dates such as 2024-05-31 are grouped by "day", "week" or "month". Longer times make '
            "larger groups, which hide people better."
        )
    elif "TO DECIDE" in question.public:
        yield from _comment(
            'Write the values of the column: values = ["north", "south"], integers = [1, 12] or '
            'dates = "week".'
        )
    yield question.public


def _comment(*texts: str) -> Iterator[str]:
    for text in texts:
        yield from (f"# {line}" for line in textwrap.wrap(text, _WIDTH))


def listed(names: Sequence[str], most: int = _SHOWN) -> str:
    """Names in one line, not more than some of them.

    >>> listed(["a", "b\\n"]), listed(["q"] * 40, 2)
    ('a, "b\\\\n"', 'q, q, and 38 more')
    """
    shown = [name if name.isprintable() and name else toml(name) for name in names[:most]]
    more = [f"and {len(names) - most:,} more"] if len(names) > most else []
    return ", ".join(shown + more)


def _factor(epsilon: str) -> str:
    """exp(epsilon) for readers.

    >>> _factor("1.0"), _factor("3.0"), _factor("20")
    ('2.72', '20.1', '490,000,000')
    """
    nats = float(epsilon)
    if nats > 700:
        return "more than any number here"
    return at_most(math.exp(nats)) if nats < 16 else f"{float(f'{math.exp(nats):.2g}'):,.0f}"
