"""What the live page shows: one published step, with the estimates of all questions.

A step is a picture of the tallies after at least B more reports than the step before; of groups by
public columns see :mod:`warner.collector.live.release`. Nothing that
a page, an event or a download says of reports comes from anywhere else, but how many are counted.
So of what happens between two steps only that number is seen, a few seconds late.
"""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from warner._core.errors import WarnerError
from warner.reports.tally import Tally, dump_tallies, parse_tallies
from warner.results.estimate import Estimate
from warner.results.estimate import estimate as estimate_tally
from warner.results.named_summaries import Named, applicable, parse, summary_rows

LEVEL, TARGET = 0.95, "population"
SUMMARIES = "mean,quantile:0.1,quantile:0.25,median,quantile:0.75,quantile:0.9"

_LOG = logging.getLogger(__name__)


class State(Protocol):
    """Everything that was committed so far, as the collector tells it."""

    @property
    def n(self) -> int: ...

    @property
    def tallies(self) -> Mapping[str, Tally]: ...

    @property
    def rejects(self) -> Mapping[str, int]: ...

    @property
    def status(self) -> str: ...

    @property
    def version(self) -> int: ...


@dataclass(frozen=True)
class Row:
    """A row of a table that is shown.

    Attributes:
        cells: the texts of its cells.
        bar: estimate, low and high of the picture beside them; None for none.
    """

    cells: tuple[str, ...]
    bar: tuple[float, float, float] | None = None


@dataclass(frozen=True)
class TableView:
    """A table that is shown, in the page and in the events alike.

    Attributes:
        caption: the sentence above it.
        head: the names of its columns, without that of the pictures.
        rows: its rows.
        largest: the number at the right end of the pictures; 0 where there are none.
        is_long: whether it is folded away at first.
    """

    caption: str
    head: tuple[str, ...]
    rows: tuple[Row, ...]
    largest: float = 0.0
    is_long: bool = False


@dataclass(frozen=True)
class Section:
    """What is shown of one question.

    Attributes:
        name: the attribute.
        heading: the text of the question.
        tables: its tables.
        notes: sentences below them.
    """

    name: str
    heading: str
    tables: tuple[TableView, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Question:
    """The result of one question in one step.

    Attributes:
        name: the attribute; of attributes that are randomised together, theirs with " x ".
        estimate: the estimate; None where there is none.
        problem: why there is none, else "".
        summaries: the summaries with intervals that hold at every look; () where none is known.
        numbers: the rows of the summaries, with None for the ends of unknown intervals.
    """

    name: str
    estimate: Estimate | None
    problem: str = ""
    summaries: tuple[Named, ...] = ()
    numbers: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, eq=False)
class Step:
    """One published step.

    Attributes:
        number: 1 for the first step.
        n: the number of people whose reports are in it.
        tallies: {attribute: tally} of all reports in it.
        is_rest: whether it has everybody, also fewer than B new reports or few of a group, because
            the survey was closed.
        rest_used: whether a step of this survey was such a rest, this one or one before it.
        late_groups: whether groups are shown in the rest alone.
        waiting: how many people were counted and are not in it.
    """

    number: int
    n: int
    tallies: Mapping[str, Tally]
    is_rest: bool = False
    rest_used: bool = False
    late_groups: bool = False
    waiting: int = 0

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
    """What the live page knows at one moment.

    Attributes:
        version: grows with every change of what is shown.
        planned: the planned number of people.
        size: B, the number of reports of a step.
        status: "open", "closed" or "not_open".
        counted: the number of people who are counted, which says nothing of their answers.
        is_final: whether the survey is closed for good.
        rejects: {reason: number of refused requests}, refreshed at most once a minute.
        step: the last published step; None before the first.
        sections: what is shown of its questions.
        options: of ``warner estimate``, for the same summaries from its tally file.
        is_estimating: whether a newer step is being estimated.
        fewest: the fewest new people of a group that a step adds; 0 where nobody waits for others.
    """

    version: int
    planned: int
    size: int
    status: str
    counted: int = 0
    is_final: bool = False
    rejects: Mapping[str, int] = field(default_factory=dict)
    step: Step | None = None
    sections: tuple[Section, ...] = ()
    options: tuple[str, ...] = ()
    is_estimating: bool = False
    fewest: int = 0

    @property
    def n(self) -> int:
        """The number of people in the last published step."""
        return 0 if self.step is None else self.step.n


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
    """Estimate all questions, as ``warner estimate`` does.

    Attributes that are randomised together are followed by each of them alone.
    """
    for name, tally in tallies.items():
        own = [name]
        try:
            result = replace(estimate_tally(tally.total()), attribute=name)
            yield question_of(name, result, planned)
            for own_name in result.domain.attributes:
                own = [str(own_name)]
                yield question_of(own[0], result.marginal(own[0]), planned)
        except WarnerError as error:
            yield Question(own[0], None, str(error))
        except MemoryError:
            raise  # the process that estimates has a limit, which its caller knows
        except Exception as error:
            # One question that fails must not take the page from the others. The message of the
            # error could hold counts, so the log has the place alone.
            place = "".join(traceback.format_tb(error.__traceback__))
            _LOG.error("an estimate failed with %s at\n%s", type(error).__name__, place)
            yield Question(own[0], None, "The estimate failed; the log of the server says why.")


def _without_intervals(result: Estimate, asked: Sequence[Named]) -> Iterator[Mapping[str, Any]]:
    """The rows of numbers for which no interval is known."""
    for named in asked:
        for number in named.of(result):
            yield {"text": named.text, "estimate": float(number), "low": None, "high": None}


def question_of(name: str, result: Estimate, planned: int) -> Question:
    """The result of one question, with the numbers that sum it up."""
    asked = applicable(result.domain, parse(SUMMARIES))
    if result.fit.probabilities is None:
        asked = tuple(named for named in asked if named.kind == "mean")
    try:
        rows = summary_rows(result, asked, LEVEL, TARGET, kind_of_intervals(planned))
    except WarnerError:
        # Nothing bounds the numbers at every look, and other intervals would be wrong there.
        return Question(name, result, "", (), tuple(_without_intervals(result, asked)))
    return Question(name, result, "", asked, tuple(rows))
