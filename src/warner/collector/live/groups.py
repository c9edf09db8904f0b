"""Tables by a public column for the live page: each group alone, small groups hidden."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from warner._core.text import visible
from warner.collector.live.state import Question, Section, Step, grouped, questions_of
from warner.collector.live.tables import Wording, sections_of
from warner.reports.public_columns import Key
from warner.reports.tally import Tally
from warner.studies.public import SMALLEST_GROUP, declared
from warner.studies.study import Study

_K = TypeVar("_K", bound=Hashable)
_MOST_GROUPS = 50
_USUAL = 20  # groups, the most by which the planned number of people is divided


@dataclass(frozen=True, eq=False)
class GroupsView:
    """The tables of all groups of one public column.

    Attributes:
        step: the number of the step that they are of.
        column: its name.
        planned: the planned number of people of a group, for the intervals.
        groups: the name, the size and the sections of each group that is shown.
        hidden: how many groups are hidden.
        hidden_people: how many people they have together.
        problem: why no group could be estimated, else "".
    """

    step: int
    column: str
    planned: int
    groups: tuple[tuple[str, int, tuple[Section, ...]], ...]
    hidden: int
    hidden_people: int
    problem: str = ""


def hidden_groups(sizes: Mapping[_K, int], smallest: int = SMALLEST_GROUP) -> set[_K]:
    """The groups that are not shown: those of few people, and what would give them away.

    All people together are shown too. So the people of the hidden groups together are known, as
    the difference. Where these are few, the smallest of the other groups is hidden as well.

    >>> sorted(hidden_groups({"a": 50, "b": 12, "c": 30}))
    []
    >>> sorted(hidden_groups({"a": 50, "b": 12, "c": 3}))
    ['b', 'c']
    """
    order = sorted(sizes, key=lambda key: (sizes[key], str(key)))
    hidden = [key for key in order if sizes[key] < smallest]
    rest = order[len(hidden) :]
    while hidden and rest and sum(sizes[key] for key in hidden) < smallest:
        hidden.append(rest.pop(0))
    return set(hidden)


def shown_groups(tally: Tally, column: str) -> tuple[Tally | None, int, int]:
    """The tally by one public column, without the groups that are hidden."""
    coarse = tally.by(column)
    hidden = hidden_groups(dict(zip(coarse, coarse.sizes.tolist(), strict=True)))
    kept = coarse.only(key for key in coarse if key not in hidden)
    return kept if len(kept) else None, len(hidden), coarse.n - kept.n


def tallies_by(step: Step, column: str) -> dict[str, Tally]:
    """The tallies of all attributes by one public column, without the groups that are hidden."""
    found = {name: shown_groups(t, column)[0] for name, t in grouped(step.tallies).items()}
    return {name: tally for name, tally in found.items() if tally is not None}


def planned_of(study: Study, column: str) -> int:
    """The planned number of people of one group, which only decides where intervals are narrowest.

    It must be fixed before the first look, so it is the planned number of all people, divided by
    the number of groups, or by 20 of more.
    """
    domain = declared(study.public, column, "by")
    return max(1, study.collect.people // min(domain.size, _USUAL))


def groups_of(step: Step, column: str, study: Study, wording: Wording) -> GroupsView:
    """Estimate each group of one public column by itself."""
    planned = planned_of(study, column)
    tallies = grouped(step.tallies)
    found = {name: shown_groups(tally, column) for name, tally in tallies.items()}
    _, hidden, people = next(iter(found.values()), (None, 0, 0))
    of_groups: dict[Key, list[Question]] = {}
    for name, (tally, _, _) in found.items():
        for key in () if tally is None else largest_groups(tally):
            questions = list(questions_of({name: tally[key]}, planned)) if tally else []
            of_groups.setdefault(key, []).extend(questions)
    names = group_names(column, list(of_groups), study)
    groups = tuple(
        (names[key], _size(questions), sections_of(questions, wording, planned))
        for key, questions in of_groups.items()
    )
    return GroupsView(step.number, column, planned, groups, hidden, people)


def _size(questions: Sequence[Question]) -> int:
    """The number of people in a group."""
    return max((q.estimate.n for q in questions if q.estimate is not None), default=0)


def largest_groups(tally: Tally) -> list[Key]:
    """The groups with the most people, in their order; all of them where they are few."""
    sizes = dict(zip(tally, tally.sizes.tolist(), strict=True))
    chosen = set(sorted(sizes, key=lambda key: -sizes[key])[:_MOST_GROUPS])
    return [key for key in tally if key in chosen]


def group_names(column: str, keys: Sequence[Key], study: Study) -> dict[Key, str]:
    """The displayed names of groups."""
    domain, language = study.public[column], study.languages[0]
    if domain.size > len(keys) * 100:  # dates: a text for each day of centuries
        return {key: visible(str(key[0])) for key in keys}
    shown = study.texts.answers(column, language)
    known = {str(label): text for label, text in zip(domain.labels, shown, strict=True)}
    return {key: visible(known.get(str(key[0]), str(key[0]))) for key in keys}
