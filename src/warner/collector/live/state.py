"""What the live page shows: one published step, with the estimates of all questions.

A step is a picture of the tallies after at least B more reports than the step before; of groups by
public columns see :mod:`warner.collector.live.state`. Nothing that
a page, an event or a download says of reports comes from anywhere else, but how many are counted.
So of what happens between two steps only that number is seen, a few seconds late.
"""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any

from warner._core.errors import WarnerError
from warner.collector.collector import State
from warner.collector.survey_document import questions_of as asked_of
from warner.mechanisms import OneOf, from_header
from warner.reports.public_columns import SMALLEST_GROUP, Key
from warner.reports.tally import Tally, dump_tallies, parse_tallies
from warner.results.estimate import Estimate, estimate as estimate_tally
from warner.results.named_summaries import Named, applicable, parse, summary_rows
from warner.studies.public import number_of_groups
from warner.studies.study import Study

LEVEL, TARGET = 0.95, "population"
SUMMARIES = "mean,quantile:0.1,quantile:0.25,median,quantile:0.75,quantile:0.9"

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Row:
    """A row of a table that is shown."""

    cells: tuple[str, ...]
    # Estimate, low and high of the picture beside them; None for none.
    bar: tuple[float, float, float] | None = None


@dataclass(frozen=True)
class TableView:
    """A table that is shown, in the page and in the events alike."""

    caption: str  # the sentence above it
    head: tuple[str, ...]  # the names of its columns, without that of the pictures
    rows: tuple[Row, ...]
    largest: float = 0.0  # the number at the right end of the pictures; 0 where there are none
    is_long: bool = False  # whether it is folded away at first


@dataclass(frozen=True)
class Section:
    """What is shown of one question."""

    name: str
    heading: str
    tables: tuple[TableView, ...]
    notes: tuple[str, ...]  # sentences below them


@dataclass(frozen=True, eq=False)
class Question:
    """The result of one question in one step."""

    name: str  # the attribute; of attributes that are randomised together, theirs with " x "
    estimate: Estimate | None
    problem: str = ""  # why there is none, else ""
    # The summaries with intervals that hold at every look; () where none is known.
    summaries: tuple[Named, ...] = ()
    # The rows of the summaries, with None for the ends of unknown intervals.
    numbers: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, eq=False)
class Step:
    """One published step."""

    number: int  # 1 for the first step
    n: int  # the number of people whose reports are in it
    tallies: Mapping[str, Tally]  # {attribute: tally} of all reports in it
    # Whether it has everybody, also fewer than B new reports or few of a group, because the survey
    # was closed.
    is_rest: bool = False
    # Whether a step of this survey was such a rest, this one or one before it.
    rest_used: bool = False
    late_groups: bool = False  # whether groups are shown in the rest alone
    waiting: int = 0  # how many people were counted and are not in it

    @property
    def shows_groups(self) -> bool:
        """Whether tables by public columns are shown of it."""
        return self.is_rest or not self.late_groups

    def to_bytes(self) -> bytes:
        """The step as it is remembered over a restart.

        >>> Step.from_bytes(Step(3, 0, {}, rest_used=True).to_bytes()).rest_used
        True
        """
        data = {
            "number": self.number,
            "n": self.n,
            "is_rest": self.is_rest,
            "rest_used": self.rest_used,
            "late_groups": self.late_groups,
            "waiting": self.waiting,
            "tallies": dump_tallies(self.tallies) if self.tallies else "",
        }
        return json.dumps(data).encode()

    @classmethod
    def from_bytes(cls, text: bytes) -> Step:
        """The step that :meth:`to_bytes` wrote."""
        data = json.loads(text)
        stored = data.pop("tallies")
        tallies = parse_tallies(stored.encode(), "published step") if stored else {}
        return cls(tallies=tallies, **data)


def grouped(tallies: Mapping[str, Tally]) -> dict[str, Tally]:
    """Those of some tallies that are of groups."""
    return {name: tally for name, tally in tallies.items() if tally.columns}


@dataclass(frozen=True, eq=False)
class LiveView:
    """What the live page knows at one moment."""

    version: int  # grows with every change of what is shown
    planned: int
    size: int  # B, the number of reports of a step
    status: str  # "open", "closed" or "not_open"
    counted: int = 0  # the number of people who are counted, which says nothing of their answers
    is_final: bool = False  # whether the survey is closed for good
    # {reason: number of refused requests}, refreshed at most once a minute.
    rejects: Mapping[str, int] = field(default_factory=dict)
    step: Step | None = None  # the last published step; None before the first is estimated
    before: Step | None = None  # the step of before a restart, until it is estimated again
    sections: tuple[Section, ...] = ()
    # Of ``warner estimate``, for the same summaries from its tally file.
    options: tuple[str, ...] = ()
    is_estimating: bool = False  # whether a newer step is being estimated
    # The fewest new people of a group that a step adds; 0 where nobody waits for others.
    fewest: int = 0
    by: tuple[str, ...] = ()  # the public columns, which make the groups
    share: float = 1.0  # of people who are asked a question, on average of the questions

    @property
    def n(self) -> int:
        """The number of people in the last published step."""
        return 0 if self.published is None else self.published.n

    @property
    def published(self) -> Step | None:
        """The last published step, also where its estimates are still being computed."""
        return self.before if self.step is None else self.step


def share_asked(study: Study) -> float:
    """The share of people who are asked a question, on average of the questions.

    >>> study = Study.parse('''
    ... ask = { each = "one", epsilon = 1.0 }
    ... attributes = { smokes = { values = ["no", "yes"] }, age = { integers = [0, 9] } }
    ... ''')
    >>> share_asked(study)
    0.5
    """
    return fmean(question.share_asked for question in asked_of(study))


def kind_of_intervals(planned: int) -> str:
    """The kind of all intervals that are shown, see :func:`warner.results.intervals.with_plan`."""
    return f"anytime:{planned}"


def options(questions: Iterable[Question]) -> tuple[str, ...]:
    """The options of ``warner estimate`` that give the same summaries."""
    return tuple(
        f"--summary={q.name}={','.join(named.code for named in q.summaries)}"
        for q in questions
        if q.summaries
    )


def questions_of(tallies: Mapping[str, Tally], planned: int) -> Iterator[Question]:
    """Estimate all questions, those randomised together also one by one."""
    for name, tally in tallies.items():
        mechanism = from_header(tally.header)
        if isinstance(mechanism, OneOf):  # each person was asked some of its questions
            for attribute in mechanism.domain.attributes:
                yield from _estimated(attribute, tally, [attribute], planned)
        else:
            yield from _estimated(name, tally, None, planned)


def _estimated(
    name: str, tally: Tally, attributes: list[str] | None, planned: int
) -> Iterator[Question]:
    """Estimate one question, or several that were randomised together."""
    attribute = name
    try:
        # Forged reports are told beside the estimate, and do not take it from the page.
        estimated = estimate_tally(tally.total().trusted(), attributes=attributes)
        result = replace(estimated, attribute=name)
        yield question_of(name, result, planned)
        for attribute in map(str, result.domain.attributes):
            yield question_of(attribute, result.marginal(attribute), planned)
    except WarnerError as error:
        yield Question(attribute, None, str(error))
    except MemoryError:
        raise  # the process that estimates has a limit, which its caller knows
    except Exception as error:
        # One question that fails must not take the page from the others. The message of the
        # error could hold counts, so the log has the place alone.
        frames = "".join(traceback.format_tb(error.__traceback__))
        _LOG.error(
            "an estimate failed with %s. Please report this fault together with the following "
            "lines:\n%s",
            type(error).__name__,
            frames,
        )
        yield Question(attribute, None, "The estimate failed. The server's log says why.")


def question_of(name: str, result: Estimate, planned: int) -> Question:
    """The result of one question, with the numbers that sum it up."""
    summaries = applicable(result.domain, parse(SUMMARIES))
    if result.fit.probabilities is None:
        summaries = tuple(named for named in summaries if named.kind == "mean")
    try:
        rows = summary_rows(result, summaries, LEVEL, TARGET, kind_of_intervals(planned))
    except WarnerError:
        # Nothing bounds the numbers at every look, and other intervals would be wrong there.
        numbers = (
            {"text": named.text, "estimate": float(number), "low": None, "high": None}
            for named in summaries
            for number in named.of(result)
        )
        return Question(name, result, "", (), tuple(numbers))
    return Question(name, result, "", summaries, tuple(rows))


# -----------------------------------------------------------------------------------------------
# Whose reports a published step holds, in a study with public columns.
#
# A group is everybody with the same values in all public columns. The rule:
#
#     a step adds at least B people in all;
#     of each group it adds nobody, or at least 10 new people (at least B, where B is below 10);
#     all tables and files are of the same people: the whole is the sum of its groups.
#
# Those of whom a group has fewer wait, in all tables at once. Everything that is published is a
# sum over groups of what the steps added. So whatever is computed from all tables of all steps
# together is a combination of sums over at least 10 people each. Two steps whose difference is one
# known person cannot occur, nor can the whole less its groups give away those who wait, nor tables
# by two columns the people that have a value of both.
#
# If the whole were published at once and its groups later, it would not hold: with one person who
# waits, the whole less the groups is that person's report.
#
# The first closing publishes everybody, and there groups of few new people are in the step. It
# happens once, as with steps of fewer than B people.
#
# Who waits is missing from the results, at most 9 people of each group. Where groups are many,
# that is most of the survey. So if fewer than 50 people are planned for each group, groups are
# shown after the closing only. Until then only all people together are published, at each step of
# B, and nobody waits. The first step decides this for good. Otherwise the difference of a step by
# one rule and a step by the other could be one person.


PLANNED_FOR_EACH = 50  # people of a group: fewer than a fifth of them ever wait


def fewest_new(size: int) -> int:
    """The fewest new people of a group that a step adds.

    >>> fewest_new(50), fewest_new(1)
    (10, 1)
    """
    return min(size, SMALLEST_GROUP)


def groups_come_late(study: Study) -> bool:
    """Whether the groups of a study are shown after the closing only."""
    if not study.public or fewest_new(study.collect.step) < SMALLEST_GROUP:
        return False
    return number_of_groups(study.public) * PLANNED_FOR_EACH > study.collect.people


def step_due(n: int, status: str, last: Step | None, size: int, has_groups: bool = False) -> str:
    """Whether a step may be due: "step", "rest" at the first closing, or "".

    >>> step_due(99, "open", Step(1, 50, {}), 50), step_due(100, "open", Step(1, 50, {}), 50)
    ('', 'step')
    >>> step_due(99, "closed", Step(1, 50, {}), 50)
    'rest'
    """
    # With public columns :func:`next_step` may still refuse it, because too many people wait.
    fresh = n - (0 if last is None else last.n)
    closes = status == "closed" and not (last is not None and last.rest_used)
    if closes and has_groups and last is not None and not last.shows_groups:
        return "rest"
    if closes and fresh > 0 and (has_groups or fresh < size):
        return "rest"
    return "step" if fresh >= size else ""


def next_step(state: State, last: Step | None, study: Study, is_rest: bool = False) -> Step | None:
    """The step that is published now, if one is."""
    late = groups_come_late(study) if last is None else last.late_groups
    tallies: Mapping[str, Tally] = state.tallies
    size, n = study.collect.step, state.n
    if study.public and not is_rest and not late:
        before = {} if last is None else sizes_of(last.tallies)
        new = {key: now - before.get(key, 0) for key, now in sizes_of(tallies).items()}
        ready = {key: fresh for key, fresh in new.items() if fresh >= fewest_new(size)}
        added = sum(ready.values())
        if added < size:
            return None
        n = (0 if last is None else last.n) + added
        tallies = _with_groups(last, tallies, ready)
    number = 1 if last is None else last.number + 1
    rest_used = is_rest or (last is not None and last.rest_used)
    return Step(number, n, dict(tallies), is_rest, rest_used, late, state.n - n)


def sizes_of(tallies: Mapping[str, Tally]) -> dict[Key, int]:
    """{public values: people}; all attributes are of the same people."""
    for tally in grouped(tallies).values():
        return dict(zip(tally, tally.sizes.tolist(), strict=True))
    return {}


def _with_groups(
    last: Step | None, tallies: Mapping[str, Tally], ready: Mapping[Key, int]
) -> dict[str, Tally]:
    """The tallies of the last step, with the newest counts of the groups that are ready."""
    before = {} if last is None else grouped(last.tallies)
    published: dict[str, Tally] = {}
    for name, tally in grouped(tallies).items():
        newest = tally.only(key for key in tally if key in ready)
        old = before.get(name)
        waiting = None if old is None else old.only(key for key in old if key not in ready)
        # Not two sums with people in common: each group is taken from one of them.
        published[name] = waiting.of_others() + newest if waiting else newest
    return published
