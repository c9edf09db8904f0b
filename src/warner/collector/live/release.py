"""Whose reports a published step holds, in a study with public columns.

A group is everybody with the same values in all public columns. The rule:

    a step adds at least B people in all;
    of each group it adds nobody, or at least 10 new people (at least B, where B is below 10);
    all tables and files are of the same people: the whole is the sum of its groups.

Those of whom a group has fewer wait, in all tables at once. Everything that is published is a sum
over groups of what the steps added. So whatever is computed from all tables of all steps together
is a combination of sums over at least 10 people each. Two steps whose difference is one known
person cannot occur, nor can the whole less its groups give away those who wait, nor tables by two
columns the people that have a value of both.

If the whole were published at once and its groups later, it would not hold: with one person who
waits, the whole less the groups is that person's report.

The first closing publishes everybody, and there groups of few new people are in the step. It
happens once, as with steps of fewer than B people.

Who waits is missing from the results, at most 9 people of each group. Where groups are many, that
is most of the survey. So if fewer than 50 people are planned for each group, groups are shown after
the closing only. Until then only all people together are published, at each step of B, and nobody
waits. The first step decides this for good. Otherwise the difference of a step by one rule and a
step by the other could be one person.
"""

from __future__ import annotations

from collections.abc import Mapping

from warner.collector.live.state import State, Step, grouped
from warner.reports.public_columns import Key
from warner.reports.tally import Tally
from warner.studies.public import SMALLEST_GROUP, number_of_groups
from warner.studies.study import Study

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

    With public columns a step may be due that :func:`next_step` then refuses, because too many
    people wait.

    >>> step_due(99, "open", Step(1, 50, {}), 50), step_due(100, "open", Step(1, 50, {}), 50)
    ('', 'step')
    >>> step_due(99, "closed", Step(1, 50, {}), 50)
    'rest'
    """
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
    found: dict[str, Tally] = {}
    for name, tally in grouped(tallies).items():
        newest = tally.only(ready)
        old = before.get(name)
        waiting = None if old is None else old.only(key for key in old if key not in ready)
        # Not two sums with people in common: each group is taken from one of them.
        found[name] = waiting.of_others() + newest if waiting else newest
    return found
