"""A question of a report: its shares and numbers, groups and differences."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from warner._core.errors import MethodWarning, MissingExtraError, WarnerError
from warner._core.progress import steps
from warner._core.survey_design import SurveyDesign
from warner._core.table import Column, Table
from warner._core.text import decimals_of_percent, lead, percent, percent_interval, visible
from warner.app.report.content import (
    Block,
    Picture,
    Points,
    Row,
    Section,
    Shares,
    about_shrunk,
    answer_rows,
    picture_of,
    shares_of,
    table_by_group,
    table_of_differences,
    table_of_shares,
    table_of_summaries,
    tables_of_keys,
)
from warner.app.requested import Wanted, were_asked
from warner.app.show_estimates import reports_in_words
from warner.app.terminal import note, plural
from warner.app.ways import LEVEL_OF_TESTS, about_ways, by_way, p_of_two
from warner.app.what_files_hold import one_or_all
from warner.design.privacy_words import quoted
from warner.domains import Domain
from warner.estimators import Estimator
from warner.reports.tally import Tally
from warner.results.charts_of_groups import MOST_PANELS, axis_of_numbers, facets, time_among
from warner.results.differences import Differences, compare_groups, holm, sentence
from warner.results.drawing import drawn_together, svg_of
from warner.results.estimate import Estimate, estimate
from warner.results.from_tally import by_group, label
from warner.results.named_summaries import Named, bands, has_bands, summary_rows
from warner.results.tables import (
    NO_INTERVALS,
    about_bins,
    about_steadied,
    asked_in_words,
    below_zero,
    design_effect_in_words,
    drawn_to_the_middle,
    figures_of,
    index_of_yes,
    name_of,
    tells_nothing,
)
from warner.results.wald_tests import shown_p

_MOST_GROUPS = 40
_MOST_ANSWERS = 6  # of tables by group
_MOST_DIFFERENCES = 40
_MOST_SENTENCES = 8
_MOST_COLUMNS = 3  # groups beside all people, on one page
_MOST_BESIDE = 2  # the same, where one answer is shown: more groups have a row each
_MOST_IN_SHORT = 3  # differences, and answers by group, of the summary
_MOST_GROUPS_IN_SHORT = 6
_FEWEST_TESTED = 30  # people of a group who answered in each way: of fewer, the test is too rough


@dataclass(frozen=True)
class Settings:
    """How a report shows results."""

    level: float = 0.95  # coverage of the intervals
    target: str = "population"  # ``"population"`` or ``"respondents"``
    top: int = 20  # the most answers of one table
    wanted: Wanted = field(default_factory=Wanted)  # the summaries of numbers
    # the group that others are compared with; None for all others together
    reference: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)  # {attribute: the text of its question}
    method: Estimator | None = None  # the estimator of groups; None for the default of each
    dropped: tuple[str, ...] = ()  # the attributes at which people without an answer were left out
    # the part of the reports that may be made up, or their number, in a table of bounds
    forged: float | None = None
    design: SurveyDesign | None = None  # how people were drawn; None where one by one
    is_short: bool = False  # whether the report is one page: results, differences and privacy
    # {question of a table on paper: who was left out when it was counted, in sentences}
    left_out: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Question:
    """One question with its results."""

    estimate: Estimate  # of all people
    settings: Settings  # how results are shown
    groups: Sequence[Tally] = ()  # by public columns, one of each mechanism; () without groups
    # for tallies of several attributes, the one that is asked for; else None
    attributes: tuple[str, ...] | None = None
    shows_nonresponse: bool = False  # whether a report can show that its sender gave no answer
    items_of: str = ""  # the question of which people tick items, of which this is one; else ""
    cells: Sequence[Tally] = ()  # of a survey with a design, the tallies by its columns and groups
    parts: Sequence[Tally] = ()  # of all people, one of each mechanism; () for those of the groups

    @property
    def name(self) -> str:
        return str(self.estimate.attribute)

    @property
    def domain(self) -> Domain:
        """The values, without nonresponse."""
        return self.estimate.domain.answered

    @property
    def has_nonresponse(self) -> bool:
        """Whether nonresponse is a value of its own; shares are then of those who answered."""
        return self.estimate.domain.nonresponse is not None

    @property
    def _whose(self) -> str:
        return " among those who answered" if self.has_nonresponse else ""

    @property
    def heading(self) -> str:
        """The text of the question, or the name of the attribute."""
        return visible(self.settings.labels.get(self.name, self.name))

    @property
    def lead(self) -> str:
        """The heading before a sentence."""
        return lead(self.heading)

    @cached_property
    def summaries(self) -> tuple[Named, ...]:
        """The summaries that are shown: of an estimate of means alone, the mean."""
        applicable_ones = self.settings.wanted.named(self.estimate)
        # A bootstrap of places takes minutes, so the user names their summaries.
        if len(self.domain.ends) > 1 and self.name not in self.settings.wanted.own:
            return ()
        if self.estimate.fit.probabilities is None:
            return tuple(named for named in applicable_ones if named.kind == "mean")
        return applicable_ones

    @cached_property
    def _summary_rows(self) -> Sequence[Row]:
        level, target = self.settings.level, self.settings.target
        return summary_rows(self.estimate, self.summaries, level, target)

    @cached_property
    def _keys(self) -> list[Row]:
        """The frequencies of keys and the means of their values; [] for other questions."""
        rows: Sequence[Row] = self.estimate.key_rows(self.settings.level, self.settings.target)
        return sorted(rows, key=lambda row: -row["estimate"])[: self.settings.top]

    @cached_property
    def _shares(self) -> Shares:
        """The shares that are shown."""
        return shares_of(
            self.estimate, self.settings.level, self.settings.target, self.settings.top
        )

    @property
    def interval_kind(self) -> str:
        """The kind of the intervals of the shares that are shown."""
        if not self._keys and self._shares.at_once:
            return "simultaneous"
        return self.estimate.interval_kind(self.settings.target)

    @property
    def has_bands(self) -> bool:
        """Whether intervals are of shares of several neighbouring numbers."""
        is_several = has_bands(self.domain) and self.domain.size > len(bands(self.domain))
        return is_several and self.is_bounded and bool(self._shares.rows)

    @property
    def is_bounded(self) -> bool:
        """Whether the reports bound the shares, so that there are intervals."""
        return self.interval_kind != "none"

    def in_short(self) -> str:
        """The result in one sentence, one where it says next to nothing, and those on groups."""
        nothing = tells_nothing(self.estimate, self._keys or self._shares.rows)
        unbounded = "" if self.is_bounded else "There are no intervals."
        few = drawn_to_the_middle([self.estimate]) if self._summary_rows else ""
        doubt = f"WARNING: {self.estimate.doubt}" if self.estimate.doubt else ""
        figures = [self._figures_in_short(), doubt, unbounded, nothing, few]
        parts = [self.lead, *figures, *self._groups_in_short()]
        return " ".join(filter(None, parts))

    def _figures_in_short(self) -> str:
        """The numbers or the shares that sum up the result."""
        rows = self._keys or self._shares.rows
        if self._summary_rows:
            parts = [
                "{}: {} ({})".format(row["text"], *figures_of(row))
                for row in self._summary_rows[:3]
            ]
            return f"{upper('; '.join(parts))}."
        if not rows:
            return "The table below has the result."
        if self.items_of and len(rows) == 2:
            return f"ticked by {_figures(rows[1], rows, self.is_bounded)}."
        named = sorted(rows, key=lambda row: -row["estimate"])[:_MOST_IN_SHORT]
        if self._is_of_two:
            shown = {answer for _, answer in self.answers()}
            named = [row for row in rows if name_of(row["value"], self.domain) in shown]
        figures = [_figures(row, rows, self.is_bounded) for row in named]
        names = [quoted(name_of(row["value"])) for row in named]
        return f"{'; '.join(map(': '.join, zip(names, figures, strict=True)))}."

    @property
    def _is_of_two(self) -> bool:
        """Whether the share of one answer tells that of the other, so that one is shown."""
        return self.domain.size == 2 and not self._keys

    def _groups_in_short(self) -> list[str]:
        """The shares of groups, and their differences: of many, the largest and the clearest."""
        if not self.has_groups:
            return []
        compared = self._compared
        clear = [] if isinstance(compared, str) else self.clear_of(compared)[:_MOST_IN_SHORT]
        differing = {name_of(row["value"], self.domain) for row in clear}
        texts = [text for text in self._rows_by_group if text in differing]
        shown = [self._groups_of(text) for text in texts or list(self._rows_by_group)[:1]]
        if isinstance(compared, str):
            return shown
        differences = self.clear_in_words(compared)[:_MOST_IN_SHORT]
        return [*shown, *(differences or [_no_difference(compared)])]

    def _groups_of(self, text: str) -> str:
        """One sentence with an answer or a summary in the groups, or in the largest of many."""
        every = self._rows_by_group[text]
        rows = sorted(every, key=lambda row: -row[1])[:_MOST_GROUPS_IN_SHORT]
        rows = [row for row in every if row in rows]
        few = f" (the {len(rows)} largest of {len(every):,} groups)" * (len(rows) < len(every))
        named = [
            f"{visible(name)} {self._cell(row, self._rows_of_groups)}" for name, _, row in rows
        ]
        what = text if self.summaries else quoted(text)
        return f"{upper(what)} by {self.columns}{few}: {'; '.join(named)}."

    def section(self) -> Section:
        """The section of the question."""
        level = self.settings.level
        verb = "people took part" if self.has_nonresponse else "people answered"
        verb = "reports came" if self.estimate.reports_per_person > 1 else verb
        counted = about_ways(self.parts, self.attributes, self.groups, self.settings.target, verb)
        of_ways = "".join(f" {visible(text)}" for text in [*counted, *self._ways_by_group()])
        blocks: list[Block] = [self._people() + of_ways]
        blocks += [] if self.settings.design is None else [self._drawn(self.settings.design)]
        compared = self._compared if self.has_groups else ""
        of_groups = "" if isinstance(compared, str) else compared.doubt
        doubt = of_groups or self.estimate.doubt
        about = f"WARNING: {doubt}" if doubt else self.estimate.hint
        blocks += filter(None, (about, " ".join(below_zero(self.estimate))))
        if self.settings.is_short:
            said, chances = reports_in_words(self.name, self.parts)
            blocks += [visible(f"{said}. {chances}".strip())] * bool(said)
            return Section(self.heading, (*blocks, *self._on_one_page()))
        blocks += tables_of_keys(self._keys, level) if self._keys else self._about_shares()
        if self._summary_rows:
            caption = "Numbers that sum up the answers"
            blocks.append(table_of_summaries(caption, self._summary_rows, level))
            of_numbers = drawn_to_the_middle([self.estimate]), about_bins([self.estimate])
            blocks += filter(None, of_numbers)
        return Section(self.heading, tuple(blocks), tuple(self._parts()))

    def _on_one_page(self) -> list[Block]:
        """The shares of all people and of each group, and the clear differences."""
        by_answer = self._rows_by_group if self.has_groups else {}
        blocks = self._by_group() if self._is_listed else self._side_by_side(by_answer)
        if not self.is_bounded:
            blocks.append(NO_INTERVALS)
        if self.has_groups:
            compared = self._compared
            if isinstance(compared, str):
                return [*blocks, compared]
            clear = self.clear_in_words(compared)
            sentences = Points(tuple(clear[:_MOST_SENTENCES]))
            blocks.append(sentences if clear else _no_difference(compared))
        return blocks

    @property
    def _is_listed(self) -> bool:
        """Whether a short report has a row for each group: of one answer, where groups are many."""
        by_answer = self._rows_by_group if self.has_groups and self.settings.is_short else {}
        is_of_one = len(by_answer) == 1 and not self.summaries
        return is_of_one and len(self._groups_alone) > _MOST_BESIDE

    def _side_by_side(self, by_answer: Mapping[str, Sequence[tuple[str, int, Row]]]) -> list[Block]:
        """One table of several answers, with a column for each of few groups."""
        names = [f"{visible(name)} ({n:,})" for name, n, _ in next(iter(by_answer.values()), [])]
        is_wide = len(names) > _MOST_COLUMNS
        headings = ["all people"] if is_wide else ["all people", *names]
        keys = [f"column {i}" for i in range(len(headings))]
        columns = [Column("text", "answer"), *map(Column, keys, headings)]
        rows = []
        for text, row in self._shown().items():
            of_groups = [] if is_wide else [each for _, _, each in by_answer.get(text, [])]
            cells = [self._cell(row, list(self._shown().values()))]
            cells += [self._cell(each, self._rows_of_groups) for each in of_groups]
            rows.append({**row, "text": text} | dict(zip(keys, cells, strict=False)))
        if rows and all(row["is_share"] for row in rows):
            drawn = picture_of(rows, is_share=True, is_bounded=self.is_bounded)
            columns.append(replace(drawn, title=f"all people, {drawn.title}"))
        return [Table(columns, rows), *(self._by_group() if is_wide else [])]

    def _shown(self) -> dict[str, Row]:
        """The summaries of numbers, or the shares of the answers that are shown, by their texts."""
        if self.summaries:
            return {row["text"]: {"is_share": False, **row} for row in self._summary_rows}
        answers = {answer for _, answer in self.answers()}
        rows = self._keys or self._shares.rows
        named: dict[str, Row] = {
            name_of(row["value"], self.domain): {**row, "is_share": True} for row in rows
        }
        return {name: row for name, row in named.items() if name in answers} or named

    def _cell(self, row: Row, beside: Sequence[Row]) -> str:
        """A share or a number with its interval."""
        if row["is_share"]:
            return _figures(row, beside, self.is_bounded)
        return "{} ({})".format(*figures_of(row))

    def _people(self) -> str:
        """How many people took part, and how many of them answered."""
        result = self.estimate
        people = plural(result.n, "person", "people")
        if words := asked_in_words(result.data):
            of_reports = f"Of {result.n:,} reports, " * (result.reports_per_person > 1)
            return f"{upper(of_reports + words)}."
        if result.reports_per_person > 1:
            people = f"{result.n:,} reports of at least {result.data.least_people:,} people"
        if left_out := self.settings.left_out.get(self.name):
            verb = "is" if result.n == 1 else "are"
            return " ".join([f"{people} {verb} counted.", *map(visible, left_out)])
        if not self.has_nonresponse:
            return f"{people}." if result.reports_per_person > 1 else f"{people} answered."
        row = result.answered().row(self.settings.level, self.settings.target)
        hidden = "" if self.shows_nonresponse else " Whether a person answered is hidden, too."
        return (
            f"{people} took part, and {_figures(row, [row])} of them answered.{hidden} All shares "
            "are of the people who answered, and say nothing about the others."
        )

    def _ways_by_group(self) -> list[str]:
        """In which groups the shares of the ways differ, after Holm; [] where in none."""
        p_values: dict[str, float] = {}
        for key, tallies in by_group(self.groups).items() if self.groups else ():
            ways = by_way(tallies, self.attributes)
            fewest = min((sum(tally.n for tally in of) for of in ways.values()), default=0)
            if len(ways) == 2 and fewest >= _FEWEST_TESTED:
                with suppress(WarnerError):
                    p_values[label(key)] = p_of_two(ways, self.attributes, self.settings.target)
        corrected = holm(np.array(list(p_values.values())))
        differ = [
            f"{name} (corrected {shown_p(p)})"
            for name, p in zip(p_values, corrected.tolist(), strict=True)
            if p < LEVEL_OF_TESTS
        ]
        return [f"By {self.columns}, the two ways differ in {', '.join(differ)}."] if differ else []

    def _drawn(self, design: SurveyDesign) -> str:
        """How people were drawn, and what that costs."""
        sentences = [design_effect_in_words(self.estimate)]
        survey = self.estimate.data.survey
        if survey is not None and len(design.columns) > (design.weights is not None):
            drawn = f"how people were drawn for the survey ({survey.drawn.text})."
            sentences = [f"The intervals allow for {drawn}", *sentences]
        if design.weights is not None:
            weighed = f"each person counts as much as the column {design.weights} says."
            sentences = [f"In all numbers, {weighed}", *sentences]
        return visible(" ".join(sentences))

    def _about_shares(self) -> list[Block]:
        """The table of the shares, and what it leaves out."""
        rows, is_chosen, at_once = self._shares
        if not rows:
            return []
        caption = f"Estimated share of people with each answer{self._whose}"
        notes: list[Block] = []
        if is_chosen:
            size = self.domain.size
            caption = f"The {len(rows)} most frequent of {size:,} possible answers"
            rest = percent(max(1 - sum(row["estimate"] for row in rows), 0.0), 1)
            notes += [
                f"The {size - len(rows):,} other possible answers together have a share of {rest}.",
                "The intervals are for all answers at once, so they can be trusted although these "
                "answers were picked for their large shares."
                if at_once
                else "These answers were picked for their large shares. The intervals do not allow "
                "for that, so they miss more true shares.",
            ]
        notes += [] if self.is_bounded else [NO_INTERVALS]
        level = self.settings.level if self.is_bounded else None
        table = table_of_shares(caption, "answer", rows, level)
        return [table, *about_shrunk(rows), *notes, *self._if_forged(rows)]

    def _if_forged(self, rows: Sequence[Row]) -> list[Block]:
        """The table of bounds if a part of the reports was made up, where it is asked for."""
        made_up, level = self.settings.forged, self.settings.level
        if made_up is None:
            return []
        if self.settings.design is not None:
            return [
                "It was not computed how far made-up reports could move these shares, because "
                "people have weights: a made-up report counts as much as its weight."
            ]
        bounds = self.estimate.if_forged(made_up, level, self.settings.target)
        names = [name_of(row["value"], self.domain) for row in bounds.rows()]
        listed = {
            name: {**row, "value": name} for name, row in zip(names, bounds.rows(), strict=True)
        }
        shown = [listed[row["value"]] for row in rows if row["value"] in listed]
        if not shown:
            return [
                "It was not computed how far made-up reports could move these shares, because they "
                "are shares of ranges of answers."
            ]
        caption = f"Shares if {bounds.in_words}"
        if self.domain.nonresponse is not None:
            caption += "; shares of all people asked"
        return [table_of_shares(caption, "answer", shown, level, "between"), *bounds.table().notes]

    def _parts(self) -> list[Section]:
        """The sections on groups and on their differences, where there are groups."""
        if not self.has_groups:
            return []
        compared = self._compared
        differences = [compared] if isinstance(compared, str) else _differences(compared, self)
        return [
            Section(f"By {self.columns}", tuple(self._by_group())),
            Section(f"Differences by {self.columns}", tuple(differences)),
        ]

    @property
    def has_groups(self) -> bool:
        """Whether groups of people are shown."""
        return len(self._each_group) > 1

    @cached_property
    def _each_group(self) -> dict[Any, list[Tally]]:
        """The tallies of each group of people, one of each mechanism."""
        return by_group(self.groups) if self.groups else {}

    @property
    def columns(self) -> str:
        """The public columns that make the groups."""
        return ", ".join(visible(name) for name in self.groups[0].names)

    @cached_property
    def _asked_groups(self) -> dict[Any, list[Tally]]:
        """The groups that have reports on this question."""
        names = None if self.attributes is None else list(self.attributes)
        return {
            key: tallies
            for key, tallies in self._each_group.items()
            if any(tally.n for tally in tallies) and were_asked(tallies, names)
        }

    @property
    def group_sizes(self) -> np.ndarray:
        """The reports of each group with reports; none where there are no groups."""
        groups = self._asked_groups.values() if self.has_groups else ()
        return np.array([sum(tally.n for tally in tallies) for tallies in groups])

    @property
    def has_single_people(self) -> bool:
        """Whether a number may be about one person: all of them, or a group."""
        groups = self._asked_groups.values() if self.has_groups else ()
        of_one = [max(tally.reports_per_person for tally in tallies) for tallies in groups]
        return self.estimate.n <= 1 or bool((self.group_sizes <= of_one).any())

    @cached_property
    def _groups_alone(self) -> list[tuple[str, Estimate]]:
        """The name of each group that is shown, and its estimate."""
        listed = list(self._asked_groups.items())
        if len(listed) > _MOST_GROUPS:
            sizes = {key: sum(tally.n for tally in tallies) for key, tallies in listed}
            least = sorted(sizes.values(), reverse=True)[_MOST_GROUPS - 1]
            listed = [group for group in listed if sizes[group[0]] >= least][:_MOST_GROUPS]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MethodWarning)
            how = self.settings.method, self.attributes
            if not self.cells:
                return [
                    (label(key), estimate(one_or_all(tallies), *how))
                    for key, tallies in steps(listed, "estimating groups")
                ]
            of_all = estimate(one_or_all(self.cells), *how, **self._survey)
            return [(label(key), of_all[key]) for key, _ in listed]

    @cached_property
    def _rows_by_group(self) -> dict[str, list[tuple[str, int, Row]]]:
        """{answer or summary: the name, the people and the row of each group that is shown}."""
        alone, level, target = self._groups_alone, self.settings.level, self.settings.target
        tables: dict[str, list[tuple[str, int, Row]]] = {}
        if self.summaries:
            for name, of_group in alone:
                for row in summary_rows(of_group, self.summaries, level, target):
                    tables.setdefault(row["text"], []).append((name, of_group.n, row))
            return tables
        of_one = Estimate.key_rows if self._keys else answer_rows
        # Of drawn questions, the people who were asked this one, or all that stand together.
        by_name = [
            (name, of_group.data.n_of_all, of_one(of_group, level, target))
            for name, of_group in alone
        ]
        for x, answer in self.answers():
            tables[answer] = [
                (name, n, {**values[x], "is_share": True}) for name, n, values in by_name
            ]
        return tables

    @property
    def _rows_of_groups(self) -> list[Row]:
        """The rows of all groups, which have equally many decimals."""
        return [row for rows in self._rows_by_group.values() for _, _, row in rows]

    def _by_group(self) -> list[Block]:
        """The tables of all groups, each estimated from its own reports."""
        columns, tables, groups = self.columns, self._rows_by_group, self._asked_groups
        blocks: list[Block] = []
        if self.summaries:
            few = drawn_to_the_middle(one for _, one in self._groups_alone)
            blocks += [few] if few else []
        if len(groups) < len(self._each_group):
            nobody = [visible(label(key)) for key in self._each_group if key not in groups]
            blocks.append(f"No reports: {'; '.join(nobody[:_MOST_GROUPS])}.")
        if len(groups) > _MOST_GROUPS:
            blocks.append(
                f"Of {len(self._each_group):,} groups, the {_MOST_GROUPS} with the most people "
                "are shown."
            )
        blocks += self._over_time()
        level = self.settings.level
        for text, rows in tables.items():
            if self.summaries:
                blocks.append(table_by_group(f"{upper(text)}, by {columns}", columns, rows, level))
                continue
            caption = f"Share of {quoted(text)}{self._whose}, by {columns}"
            bounded_at = level if self.is_bounded else None
            if self._is_listed:
                of_all = self._shown()[text]
                rows = [("all people", self.estimate.data.n_of_all, of_all), *rows]
            blocks.append(table_by_group(caption, columns, rows, bounded_at))
            blocks += about_shrunk([{**row, "value": visible(name)} for name, _, row in rows])
        alone = (
            "The shares of each group were estimated from its own reports alone. Smaller groups "
            "have wider intervals."
        )
        return [*blocks, *[alone] * (not self.settings.is_short)]

    def _over_time(self) -> list[Block]:
        """A line for each answer or number over the dates of the groups, where they have dates."""
        names, keys = self.groups[0].names, {label(key): key for key in self._asked_groups}
        keys = {name: keys[name] for name, _ in self._groups_alone}
        time = time_among(names, list(keys.values())) if self.is_bounded else None
        every = [
            {**row, "value": text, "reports": n, **dict(zip(names, keys[name], strict=True))}
            for text, rows in self._rows_by_group.items()
            for name, n, row in rows
        ]
        rows = [row for row in every if row["is_share"] != bool(self.summaries)]
        if time is None or not rows:
            return []
        heading = f"{'Numbers' if self.summaries else 'Shares'} by {self.columns}"
        about = f"{100 * self.settings.level:.4g} % intervals of each group"
        try:
            axis = axis_of_numbers(self.heading) if self.summaries else None
            lines = facets(rows, names, time, heading, about, MOST_PANELS, axis)
            drawn = svg_of(drawn_together([lines])[0].to_dict(validate=False), [])
        except MissingExtraError as error:
            note(f"The report has the table by {self.columns} and no line over time. {error}")
            return []
        return [Picture(drawn, f"{heading}, over time, with {about}. The tables have the numbers.")]

    @property
    def _survey(self) -> dict[str, Any]:
        """How people were drawn, and the columns of groups, as estimates take them."""
        if self.settings.design is None:
            return {}
        return {**self.settings.design.roles, "by": self.groups[0].names if self.groups else ()}

    def answers(self) -> list[tuple[int, str]]:
        """The answers that tables by group are about: of two "yes", of many the commonest."""
        if self._keys:
            rows = self.estimate.key_rows(self.settings.level, self.settings.target)
            shares = np.array([row["estimate"] for row in rows])
            names = [name_of(row["value"]) for row in rows]
        else:
            shares = self.estimate.probabilities[: self.domain.size]
            names = [name_of(label, self.domain) for label in self.domain.labels]
        if self.items_of:
            return [(1, names[1])]
        if self._is_of_two:
            return [(x, names[x]) for x in [index_of_yes(self.domain)]]
        largest = sorted(np.argsort(-shares, kind="stable")[:_MOST_ANSWERS].tolist())
        return [(x, names[x]) for x in largest]

    @cached_property
    def _compared(self) -> Differences | str:
        """The differences of the groups, or a sentence that says why there are none."""
        if self._keys:
            return _NOT_OF_KEYS
        if self.summaries and self.has_nonresponse:
            return _NOT_OF_ANSWERED
        # Of numbers in bands the mean, the median, the quartiles and the bands.
        of = None if has_bands(self.domain) else "mean" if self.summaries else "shares"
        of = "answered" if self.has_nonresponse and of == "shares" else of
        if of is None and len(self._each_group) > _MOST_GROUPS:
            # Fifteen rows of each of many groups take minutes, and are too many to read.
            of = "mean"
        try:
            compared: Differences = compare_groups(
                one_or_all(self.cells or self.groups),
                reference=self.settings.reference,
                of=of,
                level=self.settings.level,
                target=self.settings.target,
                attributes=self.attributes,
                **self._survey,
            )
            return compared
        except WarnerError as error:
            return f"Differences cannot be computed. {error}"

    def rows_of(self, result: Differences) -> list[Row]:
        """The differences that are shown: of shares, those of the answers that are shown."""
        if result.of != "shares":
            return list(result.rows())
        shown = {answer for _, answer in self.answers()}
        return [row for row in result.rows() if name_of(row["value"], self.domain) in shown]

    def clear_of(self, result: Differences) -> list[Row]:
        """The differences that are larger than chance explains, the clearest first."""
        clear = [row for row in self.rows_of(result) if row["p_holm"] < LEVEL_OF_TESTS]
        return sorted(clear, key=lambda row: row["p_holm"])

    def clear_in_words(self, result: Differences) -> list[str]:
        """A sentence for each of these differences, with its corrected p-value."""
        clear = self.clear_of(result)
        return [visible(sentence(row, result.level, False, result.whose)) for row in clear]

    @cached_property
    def about_unbiased(self) -> str:
        """The sentence on differences that need not be those of the shares that are shown."""
        is_of_numbers = isinstance(self._compared, str) or self._compared.of == "numbers"
        return "" if is_of_numbers else about_steadied(each for _, each in self._groups_alone)

    @property
    def shows_differences(self) -> bool:
        """Whether the summary has differences between groups."""
        compared = self._compared if self.has_groups else ""
        return not isinstance(compared, str) and bool(self.clear_of(compared))


def _differences(result: Differences, question: Question) -> list[Block]:
    """The differences in words and as a table."""
    domain, columns = question.domain, question.columns
    shown_rows, clear = question.rows_of(result), question.clear_of(result)
    halves = [f"{_half([row for row in shown_rows if not row['is_share']]):.2g}"]
    shares = [row for row in shown_rows if row["is_share"]]
    if result.of == "numbers":
        halves = [f"{half} for the mean and quantiles" for half in halves]
    if shares:
        points = f"{100 * _half(shares):.2g} points"
        halves = [*halves, f"{points} for shares"] if result.of == "numbers" else [points]
    blocks: list[Block] = [_no_difference(result)]
    if clear:
        blocks = [
            "These differences are larger than chance explains (their p (Holm) in the table is "
            f"below {LEVEL_OF_TESTS:g}):",
            Points(tuple(question.clear_in_words(result)[:_MOST_SENTENCES])),
        ]
    blocks.append(
        f"With so many people, each difference is uncertain by about {', '.join(halves)}, up or "
        "down. Groups may still differ by less than that."
    )
    listed = shown_rows
    if len(shown_rows) > _MOST_DIFFERENCES:
        listed = sorted(shown_rows, key=lambda row: row["p_holm"])[:_MOST_DIFFERENCES]
    others = list(dict.fromkeys(row["reference"] for row in listed))
    whom = f", compared with {others[0]}" if len(others) == 1 else ""
    what = str(result.of)
    answers = question.answers()
    if result.of == "shares" and domain.size == 2:
        what = f"the share of {quoted(answers[0][1])}"
    caption = f"Differences of {what}{result.whose} by {columns}{whom}"
    if len(listed) < len(shown_rows):
        caption += f": the {len(listed)} clearest of {len(shown_rows):,}"
    for is_share in (False, True):  # in different units
        if of_unit := [row for row in listed if row["is_share"] == is_share]:
            table = table_of_differences(result, of_unit, partial(name_of, domain=domain), caption)
            blocks.append(table)
    of_kind = " of means, of quantiles, or of ranges" if result.of == "numbers" else ""
    of_means_alone = (
        f"There are more than {_MOST_GROUPS} groups, so only their means are compared. To compare "
        "medians and ranges too, run: warner estimate TALLY --compare-groups."
    )
    notes = [
        "p (Holm) says how easily chance alone gives a difference at least as large. A small p "
        f"speaks for a real difference. Among several comparisons{of_kind}, chance makes a large "
        "difference more likely. Holm's method makes p larger to allow for that.",
        result.about_test,
        _FROM_INTERVALS if result.of == "numbers" else question.about_unbiased or _FROM_COUNTS,
        of_means_alone if result.of == "mean" and has_bands(domain) else "",
    ]
    if result.left_out:
        count = plural(len(result.left_out), "group", "groups")
        notes.append(f"Left out: {count}, because fewer than 2 reports came from each.")
    blocks.append(" ".join(filter(None, notes)))
    return blocks


def _no_difference(result: Differences) -> str:
    """What is said where no difference is clear by itself: the test of all groups may be."""
    if result.about_test and result.test is not None and result.test.p_value < LEVEL_OF_TESTS:
        return (
            "No single difference between the groups is larger than chance explains. But a test of "
            "all groups together shows that the groups do not all have the same "
            f"{'shares' if result.of == 'shares' else 'mean'} ({shown_p(result.test.p_value)})."
        )
    if any(row["p"] < LEVEL_OF_TESTS for row in result.rows()):
        return (
            "No difference between the groups is larger than chance explains, after correction for "
            "the number of comparisons."
        )
    return "No difference between the groups is larger than chance explains."


_NOT_OF_KEYS = (
    "Differences between groups are not computed for this kind of question (keys with values)."
)
_NOT_OF_ANSWERED = (
    "These numbers are not compared between groups, because some people may have given no answer."
)
_FROM_INTERVALS = (
    "Each difference is one estimate minus another. Its interval follows from the intervals of the "
    "two estimates."
)
_FROM_COUNTS = (
    "Chance can bring an estimate below 0 % or above 100 %, and the tables of shares cut such "
    "estimates off. The differences were computed without this cut, so they need not match the "
    "shares above."
)


def _half(rows: Sequence[Row]) -> float:
    """Half the median width of intervals; nan without rows."""
    return float(np.median([(row["high"] - row["low"]) / 2 for row in rows] or [math.nan]))


def _figures(row: Row, beside: Iterable[Row], is_bounded: bool = True) -> str:
    """A share with its interval, in one phrase, with the decimals of the rows of its table."""
    decimals = decimals_of_percent(each["high"] - each["low"] for each in beside)
    if not is_bounded:
        return percent(row["estimate"], decimals)
    interval = percent_interval(row["low"], row["high"], decimals)
    return f"{percent(row['estimate'], decimals)} ({interval})"


def upper(text: str) -> str:
    """The text with a capital first."""
    return text[:1].upper() + text[1:]
