"""The tables and sentences of the live page, for the page itself and for its events."""

from __future__ import annotations

import shlex
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from warner._core.errors import WarnerError
from warner._core.text import (
    decimals_of_number,
    decimals_of_percent,
    number,
    outwards,
    percent,
    visible,
)
from warner.collector.live.state import (
    LEVEL,
    TARGET,
    LiveView,
    Question,
    Row,
    Section,
    Step,
    TableView,
    grouped,
    kind_of_intervals,
    questions_of,
    share_asked,
)
from warner.domains import Domain
from warner.estimators.base import Status
from warner.reports.public_columns import SMALLEST_GROUP, Key
from warner.reports.tally import Tally
from warner.results.estimate import Estimate
from warner.results.forged import moved_by_added
from warner.results.named_summaries import bands, bands_of, has_bands, summary_rows
from warner.results.tables import NO_INTERVALS, name_of
from warner.studies.public import declared
from warner.studies.study import Study

_LONG = 24  # rows of a table that is folded away at first
_MOST = 200  # rows of a table
_FEW = 200  # reports, below which coverage is not close to the level for every mechanism
_FORGED = 10  # reports, in the example of what forged reports can do
_NOTHING = 0.4  # how far the end of its interval is from a share of which nothing is known
_ALL = 99.5  # points, which are shown as all 100

STATUS = {
    "open": "Open: answers are counted.",
    "closed": "Closed: no more answers are counted.",
    "not_open": "Not open yet: no answers are counted.",
}

# What owners read of refused requests; see ``warner.collector.refusals`` for the names.
REJECTS = {
    "malformed": "not a report of this study: damaged, or made by other software",
    "other_study": "made with another version of the study",
    "not_open": "sent before the survey opened",
    "closed": "sent after the survey closed",
    "not_invited": "without a valid invitation code",
    "no_owner": "with a wrong token: perhaps a stranger tried to open the owner's page",
    "too_large": "larger than the collector accepts, or with too many reports at once",
    "type": "not sent by the survey page or by warner collect push",
    "too_many": (
        "too many from one internet address, or too many in all; the devices try again later"
    ),
    "busy": "more reports at once than the store can save; the devices try again later",
    "slow": "took too long to arrive; the devices try again later",
    "store_full": "no disk space was left for the counts; the devices try again later",
    "store_failed": "the counts could not be saved; the devices try again later",
    "too_many_groups": "more groups by public columns than fit into memory",
}


class Wording:
    """The texts of a study as the live page shows them."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.language = study.languages[0]

    def heading(self, name: str) -> str:
        """The text of a question."""
        return visible(self.study.labels.get(name, name))

    def answers(self, name: str, domain: Domain) -> list[str]:
        """The displayed texts of all values of an attribute."""
        if domain.edges is not None and domain.nonresponse is None:
            return [f"{a:.6g} to {b:.6g}" for a, b in pairwise(domain.edges.tolist())]
        if domain.points is None and not domain.attributes:
            with suppress(WarnerError):
                shown = [visible(text) for text in self.study.texts.answers(name, self.language)]
                if len(shown) == domain.size:
                    return shown
        return [name_of(label, domain) for label in domain.labels]

    def section(self, question: Question, planned: int) -> Section:
        """What is shown of one question."""
        result = question.estimate
        heading = self.heading(question.name)
        if result is None:
            return Section(question.name, heading, (), (f"No estimate: {question.problem}",))
        shares = sorted(self._shares(question, result, planned), key=lambda table: table.is_long)
        reach = float(np.median(_reaches(shares[0]) or [0.0])) if shares else 0.0
        if reach >= _NOTHING:
            # Without it 87 % of 10 people would look like a result.
            warning = (
                f"So few reports tell almost nothing: shares can be wrong by {100 * reach:.0f} "
                "percentage points."
            )
            shares[0] = replace(shares[0], caption=f"{shares[0].caption} {warning}")
        notes = tuple(self._notes(question, result))
        return Section(question.name, heading, (*shares, *_numbers(question)), notes)

    def _shares(self, question: Question, result: Estimate, planned: int) -> Iterator[TableView]:
        """The tables of the shares: of all people, and of those who answered."""
        if result.fit.probabilities is None:
            return
        kind = kind_of_intervals(planned)
        tables: list[tuple[str, Any]] = [
            (f"Estimated share of each answer, from {result.n:,} reports", result)
        ]
        if result.domain.nonresponse is not None:
            given = result.answered()
            row = given.row(LEVEL, TARGET, kind)
            share, low, high = _percents([row], True)[0]
            about = (
                "Share of each answer among the people who answered. Of all people, an estimated "
                f"{share} answered, with an interval from {low} to {high}"
            )
            tables.append((about, given))
        for about, shares in tables:
            labels = self.answers(question.name, shares.domain)
            rows = shares.rows(LEVEL, TARGET, kind)
            table = shares_table(about, labels, rows, result.has_intervals)
            by_bands = has_bands(shares.domain) and shares.domain.nonresponse is None
            limits = bands(shares.domain) if by_bands else []
            if question.summaries and 0 < len(limits) < len(labels):
                summed = summary_rows(result, bands_of(result.domain), LEVEL, TARGET, kind)
                yield shares_table(
                    f"In bands: {about[:1].lower()}{about[1:]}",
                    [each[2] for each in limits],
                    summed,
                    True,
                )
                table = replace(table, is_long=True)
            yield table

    def _notes(self, question: Question, result: Estimate) -> Iterator[str]:
        """Sentences about the estimates of one question."""
        if result.doubt:
            yield result.doubt
        if result.fit.probabilities is not None and not result.has_intervals:
            yield NO_INTERVALS
        share = moved_by_added(result, _FORGED)
        if share is not None:
            points = 100 * share
            moved = f"by up to about {points:.2g} percentage points"
            yield (
                f"Somebody who sends {_FORGED} forged reports can move an estimated share "
                f"{moved if points < _ALL else 'to anything'}. This holds for estimates that are "
                "right on average (unbiased). Other estimates can move further."
            )
        if result.data.simulated:
            yield "These reports are simulated: a program made them, and nobody sent them."
        summary = result.estimator.summary or f"computed by {result.method}"
        yield f"{summary[:1].upper()}{summary[1:]}."
        if result.status not in (Status.EXACT, Status.CONVERGED, Status.COMPLETED):
            yield f"Note on the calculation: {result.status.value}."


def _percents(rows: Sequence[Mapping[str, Any]], has_intervals: bool) -> list[tuple[str, ...]]:
    """The share of each row, and the ends of its interval, with the decimals that it warrants."""
    if not has_intervals:
        return [(percent(row["estimate"], 2),) for row in rows]
    decimals = decimals_of_percent(row["high"] - row["low"] for row in rows)
    return [
        tuple(
            percent(share, decimals)
            for share in (row["estimate"], *outwards(row["low"], row["high"], decimals + 2))
        )
        for row in rows
    ]


def shares_table(
    about: str, labels: Sequence[str], rows: Sequence[Mapping[str, Any]], has_intervals: bool
) -> TableView:
    """A table of shares in the order of the values; of very many values the largest shares."""
    picked: Sequence[int] = range(len(rows))
    if len(rows) > _MOST:
        picked = sorted(picked, key=lambda i: -float(rows[i]["estimate"]))[:_MOST]
        about += (
            f": the {_MOST} largest of {len(rows):,}. Their intervals are less reliable, because "
            "the largest shares were picked"
        )
    keys = ("estimate", "low", "high") if has_intervals else ("estimate",)
    # The line in a picture has no length where no interval is known.
    ends = keys[1:] or ("estimate", "estimate")
    percents = _percents(rows, has_intervals)
    shown = tuple(
        Row(
            (labels[i], *percents[i]),
            (rows[i]["estimate"], float(rows[i][ends[0]]), float(rows[i][ends[1]])),
        )
        for i in picked
    )
    largest_shown = max((max(row.bar or (0.0,)) for row in shown), default=1.0)
    head = ("answer", "share", f"{100 * LEVEL:g} % from", "to")[: len(keys) + 1]
    return TableView(f"{about}.", head, shown, max(largest_shown, 1e-12), len(rows) > _LONG)


def _numbers(question: Question) -> Iterator[TableView]:
    """The table of the numbers that sum up the answers, where there are any."""
    if not question.numbers:
        return
    if not question.summaries:
        rows = [Row((row["text"], f"{row['estimate']:.4g}")) for row in question.numbers]
        about = (
            "Means and other summaries of the answers. These numbers have no intervals: no known "
            "method gives intervals that stay valid however often you look."
        )
        yield TableView(about, ("number", "estimate"), tuple(rows))
        return
    rows = []
    for row in question.numbers:
        ends = [row[key] for key in ("estimate", "low", "high")]
        whole = all(float(value).is_integer() for value in ends)
        decimals = 0 if whole else decimals_of_number(row["high"] - row["low"])
        figures = [number(value, decimals) for value in ends]
        rows.append(Row((row["text"], *figures)))
    head = ("number", "estimate", f"{100 * LEVEL:g} % from", "to")
    yield TableView("Means and other summaries of the answers.", head, tuple(rows))


def _reaches(table: TableView) -> list[float]:
    """The distances of the shares of a table from the farther ends of their intervals."""
    # An interval is cut off at 0 and 100 %, so half of its width says too little beside them.
    bars = [row.bar for row in table.rows if row.bar]
    return [max(share - low, high - share) for share, low, high in bars]


def progress(view: LiveView) -> str:
    """How far the survey is, in one sentence.

    >>> progress(LiveView(1, 1000, 50, "open"))
    'No result yet: the first result is published after 50 reports.'
    >>> progress(LiveView(1, 1000, 50, "open", 190))
    'The first result is being computed.'
    """
    if view.step is None:
        if view.before is not None:
            return (
                f"The result from {_reports(view.n)} is being computed again, because the "
                "server was restarted."
            )
        if view.status == "closed" and not view.counted:
            return "No result: no report was counted."
        if view.status == "closed":
            return f"The result from {_reports(view.counted)} is being computed."
        if view.is_estimating or (view.fewest <= 1 and view.counted >= view.size):
            return "The first result is being computed."
        return f"No result yet: the first result is published {time_of_first(view)}."
    people = f"{view.n:,} of {view.planned:,}"
    tables = [section.tables[0] for section in view.sections if section.tables]
    widths = [100 * reach for table in tables for reach in _reaches(table) if reach > 0]
    if not widths:
        return f"{people} reports."
    least, most = (f"{width:.2g}" for width in (min(widths), max(widths)))
    about = least if least == most else f"{least} to {most}"
    return (
        f"{people} reports; shares are now uncertain by about \N{PLUS-MINUS SIGN}{about} "
        "percentage points."
    )


def time_of_first(view: LiveView) -> str:
    """When the first result is published.

    >>> time_of_first(LiveView(1, 1000, 50, "open", fewest=10, by=("ward",)))
    'after 50 reports from groups of at least 10 people (by ward)'
    """
    if view.fewest <= 1:
        return f"after {_reports(view.size)}"
    return (
        f"after {_reports(view.size)} from groups of at least {view.fewest} people (by "
        f"{' and '.join(view.by)})"
    )


def about_count(view: LiveView) -> str:
    """How many reports are counted, the newest ones too, and how many a step still lacks.

    >>> about_count(LiveView(1, 1000, 50, "open", 3))
    'Counted so far: 3 reports. The next result comes after 47 more reports.'
    """
    text = f"Counted so far: {_reports(view.counted)}."
    missing = view.n + view.size - view.counted
    if view.fewest > 1:
        # How many of a group wait is not said, and what the first result needs is in ``progress``.
        missing = 0
        if view.step is not None and view.status == "open" and not view.is_estimating:
            text = (
                f"{text[:-1]}, of which {view.n:,} are in this result. The next result adds at "
                f"least {view.size:,} reports, from groups with at least {view.fewest} new "
                "reports each."
            )
    if view.status == "closed" or view.is_estimating or missing <= 0 or view.size == 1:
        return text
    return f"{text} The next result comes after {_reports(missing, ' more')}."


def about_small_steps(size: int) -> str:
    """What steps of few reports give up.

    >>> about_small_steps(1)[:58]
    'Use such small steps only for trials: the page shows a new'
    """
    return (
        "Use such small steps only for trials: the page shows a new result after "
        f"{_reports(size)}, so whoever watches the page can link a report to the person who has "
        "just sent it. Then only the random change on the device protects each answer."
    )


def _reports(n: int, more: str = "") -> str:
    return f"{n:,}{more} {'report' if n == 1 else 'reports'}"


def about_step(view: LiveView) -> str:
    """Which step is shown, and when the next one comes."""
    small = f" {about_small_steps(view.size)}" if view.size < SMALLEST_GROUP else ""
    if view.step is None:
        return small.lstrip() or (
            "Results are published in steps, so that nobody sees what a single report changed. To "
            "see each report at once, in a trial with invented answers, run: warner collect serve "
            "STUDY --step 1 --store trial.sqlite."
        )
    text = f"Step {view.step.number:,} has {_reports(view.step.n)}."
    if view.step.waiting:
        one = view.step.waiting == 1
        wait = "1 more report waits" if one else f"{view.step.waiting:,} more reports wait"
        text += (
            f" {wait}, from groups with so few new people that somebody could be recognised. "
            "These reports are not in any table or file yet. If people in such groups answer "
            "differently, the result is inaccurate until these reports are included."
        )
    if view.is_estimating:
        return f"{text} The result of the next step is being computed."
    if view.status == "closed":
        if view.step.is_rest:
            text += " This last step has all reports that were counted when the survey closed."
        elif view.step.rest_used:
            text += (
                " The reports that arrived after this step are too few for another step, so they "
                "are in no result. A smaller step is published only once, at the first closing."
            )
        return text
    if view.size == 1:
        return f"{text} Each new report makes a new step.{small}"
    return text + small


def about_intervals(view: LiveView) -> str:
    """What the intervals hold."""
    of_one = " on a question" if view.share < 1 else ""
    text = (
        f"With {100 * LEVEL:g} % probability, the intervals of a share, a mean or a quantile "
        "contain the true value in the population at every step, however often you look. This is "
        "true of each number by itself, not of all numbers together. The intervals are made for "
        f"the planned number of about {_planned(view):,} reports{of_one}. With far fewer or far "
        "more reports, they are wider than necessary. An estimate lies in its interval, but not "
        'always in the middle. At the end, the commands "warner estimate" and "warner report" '
        "usually give narrower intervals from the same counts. They hold if the time of the end "
        "was fixed beforehand, even if you looked at this page before."
    )
    if view.fewest > 1:
        text += (
            " The intervals are about the people whose reports are in the step. People whose "
            "reports still wait may have answered differently."
        )
    if 0 < view.n * view.share < _FEW:
        text += f" With fewer than {_FEW} reports{of_one}, the intervals are only approximate."
    return text


def _planned(view: LiveView) -> int:
    """The planned number of reports on a question."""
    return max(1, round(view.planned * view.share))


def command(view: LiveView) -> str:
    """The command that gives the numbers of the page from its tally file."""
    interval = f"--interval={kind_of_intervals(_planned(view))}"
    return shlex.join(["warner", "estimate", "tally.json", interval, *view.options])


def reject_rows(rejects: Mapping[str, int]) -> list[tuple[str, int]]:
    """Refused requests in plain words, the most frequent first."""
    counted = sorted(rejects.items(), key=lambda item: (-item[1], item[0]))
    return [(REJECTS.get(name, name.replace("_", " ")), count) for name, count in counted if count]


def event_of(view: LiveView) -> dict[str, Any]:
    """What an event says: the JSON data from which the page is drawn again."""
    return {
        "version": view.version,
        "status": view.status,
        "status_text": STATUS.get(view.status, view.status),
        "step": 0 if view.step is None else view.step.number,
        "n": view.n,
        "planned": view.planned,
        "counted": view.counted,
        "is_final": view.is_final,
        "about_count": about_count(view),
        "progress": progress(view),
        "about_step": about_step(view),
        "about_intervals": about_intervals(view),
        "command": command(view),
        "sections": [asdict(section) for section in view.sections],
        "rejects": [list(row) for row in reject_rows(view.rejects)],
    }


def sections_of(
    questions: Iterable[Question], wording: Wording, planned: int
) -> tuple[Section, ...]:
    """What is shown of all questions; of one that cannot be shown the reason."""
    sections = []
    for question in questions:
        try:
            sections.append(wording.section(question, planned))
        except WarnerError as error:
            reason = Question(question.name, None, str(error))
            sections.append(wording.section(reason, planned))
    return tuple(sections)


# -----------------------------------------------------------------------------------------------
# Tables by a public column for the live page: each group alone, small groups hidden.


_K = TypeVar("_K", bound=Hashable)
_MOST_GROUPS = 50
_USUAL = 20  # groups, the most by which the planned number of people is divided


@dataclass(frozen=True, eq=False)
class GroupsView:
    """The tables of all groups of one public column."""

    step: int  # the number of the step that they are of
    column: str
    planned: int  # the planned number of people of a group, for the intervals
    # The name, the size and the sections of each group that is shown.
    groups: tuple[tuple[str, int, tuple[Section, ...]], ...]
    hidden: int  # how many groups are hidden
    hidden_people: int  # how many people they have together
    problem: str = ""  # why no group could be estimated, else ""


def hidden_groups(sizes: Mapping[_K, int]) -> set[_K]:
    """The groups that are not shown: those of few people, and what would give them away."""
    order = sorted(sizes, key=lambda key: (sizes[key], str(key)))
    hidden = [key for key in order if sizes[key] < SMALLEST_GROUP]
    rest = order[len(hidden) :]
    # All people together are shown too, so the hidden groups together are known as the difference.
    # Where these are few, the smallest of the other groups is hidden as well.
    while hidden and rest and sum(sizes[key] for key in hidden) < SMALLEST_GROUP:
        hidden.append(rest.pop(0))
    return set(hidden)


def shown_groups(tally: Tally, column: str) -> tuple[Tally | None, int, int]:
    """The tally by one public column, without the groups that are hidden."""
    coarse = tally.by(column)
    hidden = hidden_groups(dict(zip(coarse, coarse.sizes.tolist(), strict=True)))
    shown = coarse.only(key for key in coarse if key not in hidden)
    return shown if len(shown) else None, len(hidden), coarse.n - shown.n


def tallies_by(step: Step, column: str) -> dict[str, Tally]:
    """The tallies of all attributes by one public column, without the groups that are hidden."""
    shown = {name: shown_groups(t, column)[0] for name, t in grouped(step.tallies).items()}
    return {name: tally for name, tally in shown.items() if tally is not None}


def planned_of(study: Study, column: str | None = None) -> int:
    """The planned reports on a question, also of a group; where intervals are narrowest."""
    # It must be fixed before the first look.
    people = round(study.collect.people * share_asked(study))
    groups = 1 if column is None else declared(study.public, column, "by").size
    return max(1, people // min(groups, _USUAL))


def groups_of(step: Step, column: str, study: Study, wording: Wording) -> GroupsView:
    """Estimate each group of one public column by itself."""
    planned = planned_of(study, column)
    tallies = grouped(step.tallies)
    shown = {name: shown_groups(tally, column) for name, tally in tallies.items()}
    _, hidden, people = next(iter(shown.values()), (None, 0, 0))
    of_groups: dict[Key, list[Question]] = {}
    sizes: dict[Key, int] = {}
    for name, (tally, _, _) in shown.items():
        for key in () if tally is None else largest_groups(tally):
            sizes[key] = tally[key].n if tally else 0
            questions = list(questions_of({name: tally[key]}, planned)) if tally else []
            of_groups.setdefault(key, []).extend(questions)
    names = group_names(column, list(of_groups), study)
    groups = tuple(
        (names[key], sizes[key], sections_of(questions, wording, planned))
        for key, questions in of_groups.items()
    )
    return GroupsView(step.number, column, planned, groups, hidden, people)


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
    text_of = {str(label): text for label, text in zip(domain.labels, shown, strict=True)}
    return {key: visible(text_of.get(str(key[0]), str(key[0]))) for key in keys}
