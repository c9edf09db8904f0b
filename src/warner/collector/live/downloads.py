"""What the live page offers as files: always of the last published step, as the page itself.

After the survey closed, the last step holds all reports, see
:mod:`warner.collector.live.publisher`.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from warner._core.errors import WarnerError
from warner.collector.live.state import (
    LEVEL,
    TARGET,
    LiveView,
    Question,
    Step,
    kind_of_intervals,
)
from warner.collector.live.tables import tallies_by
from warner.reports.tally import dump_tallies
from warner.results.charts import chart, save
from warner.results.csv_table import csv_of
from warner.studies.public import declared
from warner.studies.study import Study


class NotPublished(WarnerError):
    """A file that does not exist yet, or never will.

    Attributes:
        name: ``no_estimate_yet``, ``groups_after_closing``, ``small_groups``, ``no_picture`` or
            ``estimate_failed``.
    """

    def __init__(self, name: str, what: str, rule: str, remedy: str | None = None) -> None:
        super().__init__(what, rule, None, remedy)
        self.name, self._parts = name, (what, rule, remedy)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.name, *self._parts)


def last_step(view: LiveView) -> Step:
    """The last published step."""
    if view.step is None:
        rule = f"is published first after {view.size:,} reports"
        raise NotPublished("no_estimate_yet", "result", rule, "Try again later")
    return view.step


def tally_json(view: LiveView, study: Study, by: str | None = None) -> str:
    """The tallies of all people as a tally file, or those by one public column."""
    step = last_step(view)
    if by is None:
        return dump_tallies({name: tally.total() for name, tally in step.tallies.items()})
    declared(study.public, by, "by")
    if not step.shows_groups:
        rule = "has too many groups for the planned people, and shows them after the closing"
        raise NotPublished("groups_after_closing", "result", rule, "Close the survey first")
    tallies = tallies_by(step, by)
    if not tallies:
        rule = "has too few people in each group"
        raise NotPublished("small_groups", "result", rule, "Try again later")
    return dump_tallies(tallies)


def _estimates_json(questions: Sequence[Question], study: Study) -> str:
    """The estimates as ``warner estimate --json`` writes them, with the options of the page."""
    kind, data = kind_of_intervals(study.collect.people), []
    for question in questions:
        if question.estimate is not None:
            found = question.estimate.to_json(LEVEL, TARGET, kind)
            numbers = {"summaries": list(question.numbers)} if question.summaries else {}
            data.append(found | numbers)
    return json.dumps(data, indent=1) + "\n"


def _estimates_csv(questions: Sequence[Question], study: Study) -> str:
    """The estimates as ``warner estimate --csv`` writes them, with the options of the page."""
    asked = {q.name: q.summaries for q in questions}
    return csv_of(
        [q.estimate for q in questions if q.estimate is not None],
        LEVEL,
        TARGET,
        (),
        kind_of_intervals(study.collect.people),
        lambda result: asked.get(str(result.attribute), ()),
    )


def _picture_png(questions: Sequence[Question], study: Study) -> bytes:
    """A chart of the shares of all questions, as a PNG."""
    estimates = [q.estimate for q in questions if q.estimate is not None]
    drawn = [result for result in estimates if result.fit.probabilities is not None]
    if not drawn:
        raise NotPublished("no_picture", "picture", "needs shares, and only means were estimated")
    title = study.title if study.title and len(drawn) > 1 else None
    kind = kind_of_intervals(study.collect.people)
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
