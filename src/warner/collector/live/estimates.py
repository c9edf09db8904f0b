"""The estimates of a published step and their files, in a process of their own.

The process that takes reports holds counts and the tables that are shown, and estimates nothing: an
estimate of very many values could take its memory, or hold its lock while people wait. Files are
always of the last published step, as the page itself.
"""

from __future__ import annotations

import json
import logging
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from warner._core.errors import WarnerError
from warner._core.processes import BoundedProcess, Unfinished
from warner.collector.live.state import (
    LEVEL,
    TARGET,
    LiveView,
    Question,
    Section,
    Step,
    kind_of_intervals,
    options,
    questions_of,
)
from warner.collector.live.tables import (
    GroupsView,
    Wording,
    groups_of,
    planned_of,
    sections_of,
    tallies_by,
    time_of_first,
)
from warner.collector.survey_document import draw_of
from warner.reports.tally import Tally, dump_tallies
from warner.results.charts import chart
from warner.results.drawing import save
from warner.results.result_files import table_of_estimates
from warner.studies.public import declared
from warner.studies.study import Study


class NotPublished(WarnerError):
    """A file that does not exist yet, or never will."""

    # ``name`` is no_estimate_yet, estimating, groups_after_closing, small_groups, no_picture or
    # estimate_failed.

    def __init__(self, name: str, what: str, rule: str, remedy: str | None = None) -> None:
        super().__init__(what, rule, None, remedy)
        self.name, self._parts = name, (what, rule, remedy)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.name, *self._parts)


def last_step(view: LiveView) -> Step:
    """The last published step."""
    if view.published is None:
        rule = f"is first published {time_of_first(view)}"
        raise NotPublished("no_estimate_yet", "result", rule, "Try again later")
    return view.published


def estimated_step(view: LiveView) -> Step:
    """The last published step, refused while its estimates are being computed after a restart."""
    step = last_step(view)
    if view.step is None:
        rule = "is being computed again, because the server was restarted"
        raise NotPublished("estimating", "result", rule, "Try again in a minute")
    return step


def tally_json(view: LiveView, study: Study, by: str | None = None) -> str:
    """The tallies of all people as a tally file, or those by one public column."""
    step = last_step(view)
    if by is None:
        every = {name: tally.total() for name, tally in step.tallies.items()}
        return dump_tallies(study.of_round(every))
    declared(study.public, by, "by")
    if not step.shows_groups:
        rule = (
            "cannot be shown by groups before the closing, because there are too many groups for "
            "the planned number of people"
        )
        raise NotPublished(
            "groups_after_closing", "result", rule, "To see the groups, close the survey"
        )
    tallies = tallies_by(step, by)
    if not tallies:
        rule = "has too few people in each group"
        raise NotPublished("small_groups", "result", rule, "Try again later")
    return dump_tallies(study.of_round(tallies))


def _estimates_json(questions: Sequence[Question], study: Study) -> str:
    """The estimates as ``warner estimate --json`` writes them, with the options of the page."""
    kind, data = kind_of_intervals(planned_of(study)), []
    for question in questions:
        if question.estimate is not None:
            content = question.estimate.to_json(LEVEL, TARGET, kind)
            numbers = {"summaries": list(question.numbers)} if question.summaries else {}
            data.append(content | numbers)
    return json.dumps(data, indent=1) + "\n"


def _estimates_csv(questions: Sequence[Question], study: Study) -> str:
    """The estimates as ``warner estimate --csv`` writes them, with the options of the page."""
    summaries = {q.name: q.summaries for q in questions}
    estimates = [q.estimate for q in questions if q.estimate is not None]
    named = lambda result: summaries.get(str(result.attribute), ())
    kind = kind_of_intervals(planned_of(study))
    return table_of_estimates(estimates, LEVEL, TARGET, (), kind, named).csv()


def _picture_png(questions: Sequence[Question], study: Study) -> bytes:
    """A chart of the shares of all questions, as a PNG."""
    estimates = [q.estimate for q in questions if q.estimate is not None]
    drawn = [result for result in estimates if result.fit.probabilities is not None]
    if not drawn:
        rule = "cannot be drawn: pictures show shares, but only means were estimated"
        raise NotPublished("no_picture", "picture", rule)
    title = study.title if study.title and len(drawn) > 1 else None
    kind = kind_of_intervals(planned_of(study))
    picture = chart(drawn, level=LEVEL, target=TARGET, title=title, kind=kind)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "picture.png"
        save(picture, str(path))
        return path.read_bytes()


ESTIMATES: Mapping[str, Callable[[Sequence[Question], Study], str | bytes]] = {
    "estimates.json": _estimates_json,
    "estimates.csv": _estimates_csv,
    "picture.png": _picture_png,
}
"""The files of estimates, by name: what makes each from the results of a step."""


MEMORY = 2**30  # bytes of data of the process that estimates
SECONDS = 300.0  # that one question of a step may take, or a table of groups, or a file
_RETRY_SECONDS = 10.0  # after which a question is tried again first
MOST_VALUES = 2**18  # of a question; more take minutes for each step, and megabytes in the store

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Shown:
    """What is shown of a question."""

    # Its tables; of attributes that are randomised together, those of each as well.
    sections: tuple[Section, ...]
    options: tuple[str, ...] = ()  # of ``warner estimate``, for the same summaries


class StepEstimates:
    """Estimates in this process, which keeps those of the last step for its files."""

    def __init__(self, study: Study) -> None:
        self._study, self._wording, self._planned = study, Wording(study), planned_of(study)
        self._number = 0
        self._questions: dict[str, tuple[Question, ...]] = {}

    def shown(self, step: Step, name: str) -> Shown:
        """What is shown of one question of a step."""
        result = self._of(step.number, name, step.tallies[name])
        return Shown(sections_of(result, self._wording, self._planned), options(result))

    def _of(self, number: int, name: str, tally: Tally) -> tuple[Question, ...]:
        """The results of one question of a step."""
        if number != self._number:
            self._number, self._questions = number, {}
        if name not in self._questions:
            self._questions[name] = tuple(questions_of({name: tally}, self._planned))
        return self._questions[name]

    def groups(self, step: Step, column: str) -> GroupsView:
        """The tables by one public column, see :func:`warner.collector.live.tables.groups_of`."""
        return groups_of(step, column, self._study, self._wording)

    def file(self, step: Step, name: str) -> str | bytes:
        """A file of all estimates of a step."""
        each = (
            self._of(step.number, attribute, tally) for attribute, tally in step.tallies.items()
        )
        return ESTIMATES[name]([question for some in each for question in some], self._study)

    def retry_is_due(self) -> bool:
        """Never, because an estimate that fails here fails again."""
        return False

    def stop(self) -> None:
        """Nothing is to be ended."""


class BoundedEstimates:
    """Estimates in another process, which has a limit of memory and of time."""

    # A question that fails is shown with the reason, and tried again after 10, 20, 40, ... seconds,
    # so that it does not keep the machine busy. It stands on the page where the process was only
    # killed.

    def __init__(self, study: Study, memory: int = MEMORY, seconds: float = SECONDS) -> None:
        self._study, self._wording = study, Wording(study)
        self._process = BoundedProcess(StepEstimates, (study,), memory, seconds)
        self._left_out: dict[str, _LeftOut] = {
            name: _LeftOut(about_many_values(size)) for name, size in too_large(study).items()
        }

    def shown(self, step: Step, name: str) -> Shown:
        """What is shown of one question of a step, or why it has no estimate."""
        before = self._left_out.get(name, _LeftOut(""))
        if before.reason and not before.is_due(step.is_rest):
            return self._without(name, before.reason)
        alone = replace(step, tallies={name: step.tallies[name]})
        try:
            result: Shown = self._process.call("shown", alone, name)
        except Unfinished as error:
            if self._process.is_stopped:
                raise
            values = values_of(self._study)[name]
            reason = f"the live estimate of its {values:,} values {error}"
            _LOG.error("question %s: %s", name, reason)
            again = time.monotonic() + _RETRY_SECONDS * 2**before.times
            self._left_out[name] = _LeftOut(reason, before.times + 1, again)
            return self._without(name, reason)
        self._left_out.pop(name, None)
        return result

    def retry_is_due(self) -> bool:
        """Whether it is time to try a question again of which there is no estimate."""
        return any(left.is_due() for left in self._left_out.values())

    def _without(self, name: str, reason: str) -> Shown:
        """The section of a question without an estimate."""
        note = (
            f'No estimate: {reason}. Download the file "Tally" below, and run: warner estimate '
            "FILE."
        )
        return Shown((Section(name, self._wording.heading(name), (), (note,)),))

    def groups(self, step: Step, column: str) -> GroupsView:
        """The tables by one public column, or why there are none."""
        try:
            view: GroupsView = self._process.call("groups", self._estimated(step), column)
        except Unfinished as error:
            reason = f"the live estimate of these groups {error}"
            _LOG.error("column %s: %s", column, reason)
            planned = planned_of(self._study, column)
            return GroupsView(step.number, column, planned, (), 0, 0, reason)
        return view

    def file(self, step: Step, name: str) -> str | bytes:
        """A file of the estimates of a step, as :meth:`StepEstimates.file`."""
        try:
            content: str | bytes = self._process.call("file", self._estimated(step), name)
        except Unfinished as error:
            _LOG.error("the file %s could not be made: the live estimate %s", name, error)
            rule = f"cannot be made: the live estimate {error}"
            raise NotPublished(
                "estimate_failed",
                name,
                rule,
                'Download the file "Tally" of the live page, and run: warner estimate FILE',
            ) from None
        return content

    def _estimated(self, step: Step) -> Step:
        """A step without the questions that are left out."""
        tallies = {name: t for name, t in step.tallies.items() if name not in self._left_out}
        return replace(step, tallies=tallies)

    def stop(self) -> None:
        """End the process, and a call that waits for it."""
        self._process.stop()


@dataclass(frozen=True)
class _LeftOut:
    """Why a question is left out, how often in a row it failed, and when it is tried again."""

    reason: str
    times: int = 0
    again: float | None = None  # None for never

    def is_due(self, is_last: bool = False) -> bool:
        return self.again is not None and (is_last or time.monotonic() >= self.again)


def too_large(study: Study) -> Mapping[str, int]:
    """The number of values of each question that the live page does not estimate, by its name."""
    return {name: size for name, size in values_of(study).items() if size > MOST_VALUES}


def values_of(study: Study) -> Mapping[str, int]:
    """The most values that are estimated together, by mechanism; drawn questions one by one."""
    if (draw := draw_of(study)) is not None:
        most = max(domain.size for domain in draw.domain.attributes.values())
        return dict.fromkeys(study.mechanisms, most)
    return {name: mechanism.domain.size for name, mechanism in study.mechanisms.items()}


def about_many_values(size: int) -> str:
    """Why a question of very many values has no live estimate."""
    return (
        f"the question has {size:,} values, but the live page estimates only questions with up to "
        f"{MOST_VALUES:,} values"
    )
