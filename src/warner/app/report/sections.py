"""The sections of a report: single questions with groups and differences, privacy, method."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np

from warner._core.errors import MethodWarning, WarnerError
from warner._core.progress import steps
from warner._core.survey_design import SurveyDesign
from warner._core.table import Column, Table
from warner._core.text import (
    canonical,
    decimals_of_percent,
    lead,
    percent,
    percent_interval,
    visible,
)
from warner.app.report.content import (
    Block,
    Points,
    Report,
    Row,
    Section,
    Shares,
    about_shrunk,
    answer_rows,
    shares_of,
    table_by_group,
    table_of_differences,
    table_of_shares,
    table_of_summaries,
    tables_of_keys,
)
from warner.app.requested import Wanted, were_asked
from warner.app.show_estimates import reports_in_words
from warner.app.terminal import plural
from warner.app.what_files_hold import one_or_all
from warner.design.privacy_words import (
    OPEN_TO_ALL,
    Strength,
    about_draw,
    about_public,
    largest,
    of_a_person,
    of_guarantee,
    of_mechanism,
    strength,
)
from warner.domains import Domain
from warner.estimators import Estimator
from warner.mechanisms import HiddenQuestion, Mechanism, OneOf, from_header
from warner.metrics import project
from warner.privacy.guarantees import Guarantee, compose
from warner.reports.tally import Tally
from warner.results.differences import Differences, compare_groups, sentence
from warner.results.estimate import Estimate, estimate
from warner.results.from_tally import by_group, label
from warner.results.named_summaries import Named, has_bands, summary_rows
from warner.results.shown import figures_of
from warner.results.tables import (
    FOLLOWED,
    INTERVALS,
    NO_INTERVALS,
    asked_in_words,
    design_effect_in_words,
    has_paper,
    index_of_yes,
    name_of,
    tells_nothing,
)

_MOST_GROUPS = 40
_MOST_ANSWERS = 6  # of tables by group
_MOST_DIFFERENCES = 40
_MOST_SENTENCES = 8
_MOST_COLUMNS = 3  # groups beside all people, on one page
_MOST_IN_SHORT = 3  # differences, and answers by group, of the summary
_MOST_GROUPS_IN_SHORT = 6
_LEVEL_OF_TESTS = 0.05
_SAME_SHARE = 5e-4  # of shares that are the same in a table


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
    forged: float | None = None  # the part of the reports that may be made up, in a table of bounds
    design: SurveyDesign | None = None  # how people were drawn; None where one by one
    is_short: bool = False  # whether the report is one page: results, differences and privacy


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
    cells: Tally | None = None  # of a survey with a design, the tally by its columns and the groups

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
    def is_bounded(self) -> bool:
        """Whether the reports bound the shares, so that there are intervals."""
        return self.interval_kind != "none"

    def in_short(self) -> str:
        """The result in one sentence, one where it says next to nothing, and those on groups."""
        nothing = tells_nothing(self.estimate, self._keys or self._shares.rows)
        unbounded = "" if self.is_bounded else "There are no intervals."
        parts = [self.lead, self._figures_in_short(), unbounded, nothing, *self._groups_in_short()]
        return " ".join(filter(None, parts))

    def _figures_in_short(self) -> str:
        """The numbers or the shares that sum up the result."""
        rows = self._keys or self._shares.rows
        if self._summary_rows:
            parts = [
                "{}: {} ({})".format(row["text"], *figures_of(row))
                for row in self._summary_rows[:3]
            ]
            return f"{_upper('; '.join(parts))}."
        if not rows:
            return "See the table below."
        if self.items_of and len(rows) == 2:
            return f"ticked by {_figures(rows[1], self.is_bounded)}."
        named = sorted(rows, key=lambda row: -row["estimate"])[:_MOST_IN_SHORT]
        if self._is_of_two:
            shown = {answer for _, answer in self.answers()}
            named = [row for row in rows if name_of(row["value"], self.domain) in shown]
        figures = [_figures(row, self.is_bounded) for row in named]
        names = [_quoted(name_of(row["value"])) for row in named]
        return f"{'; '.join(map(': '.join, zip(names, figures, strict=True)))}."

    @property
    def _is_of_two(self) -> bool:
        """Whether the share of one answer tells that of the other, so that one is shown."""
        return self.domain.size == 2 and not self._keys

    def _groups_in_short(self) -> list[str]:
        """The shares of groups, and their differences: of many, the largest and the clearest."""
        if not self._has_groups:
            return []
        compared = self._compared
        clear = [] if isinstance(compared, str) else self.clear_of(compared)[:_MOST_IN_SHORT]
        differing = {name_of(row["value"], self.domain) for row in clear}
        texts = [text for text in self._rows_by_group if text in differing]
        shown = [self._groups_of(text) for text in texts or list(self._rows_by_group)[:1]]
        if isinstance(compared, str):
            return shown
        differences = [visible(sentence(row, compared.level)) for row in clear]
        return [*shown, *(differences or [_NO_DIFFERENCE]), *self.whose_differences(compared)]

    def _groups_of(self, text: str) -> str:
        """One sentence with an answer or a summary in the groups, or in the largest of many."""
        every = self._rows_by_group[text]
        rows = sorted(every, key=lambda row: -row[1])[:_MOST_GROUPS_IN_SHORT]
        rows = [row for row in every if row in rows]
        few = f" (the {len(rows)} largest of {len(every):,} groups)" * (len(rows) < len(every))
        decimals = decimals_of_percent(row["high"] - row["low"] for _, _, row in rows)
        named = [
            f"{visible(name)} {_figures(row, self.is_bounded, decimals)}"
            if row["is_share"]
            else "{} {} ({})".format(visible(name), *figures_of(row))
            for name, _, row in rows
        ]
        what = text if self.summaries else _quoted(text)
        return f"{_upper(what)} by {self.columns}{few}: {'; '.join(named)}."

    def section(self) -> Section:
        """The section of the question."""
        level = self.settings.level
        blocks: list[Block] = [self._people()]
        if self.settings.design is not None:
            blocks.append(self._drawn(self.settings.design))
        if self.estimate.doubt:
            blocks.append(self.estimate.doubt)
        if self.settings.is_short:
            return Section(self.heading, (*blocks, *self._on_one_page()))
        blocks += tables_of_keys(self._keys, level) if self._keys else self._about_shares()
        if self._summary_rows:
            caption = "Numbers that sum up the answers"
            blocks.append(table_of_summaries(caption, self._summary_rows, level))
        return Section(self.heading, tuple(blocks), tuple(self._parts()))

    def _on_one_page(self) -> list[Block]:
        """One table with a column for each of few groups, and the clear differences."""
        by_answer = self._rows_by_group if self._has_groups else {}
        names = [name for name, _, _ in next(iter(by_answer.values()), [])]
        is_wide = len(names) > _MOST_COLUMNS
        columns = [Column("text", "answer"), Column("all", "all people")]
        columns += [Column(f"group {i}", visible(n)) for i, n in enumerate(names) if not is_wide]
        rows = []
        for text, row in self._shown().items():
            cells = [row, *(of_group for _, _, of_group in by_answer.get(text, []))]
            keys = ["all", *(f"group {i}" for i in range(len(names)))]
            rows.append({"text": text} | dict(zip(keys, map(self._cell, cells), strict=False)))
        of_groups = self._by_group() if is_wide else []
        blocks: list[Block] = [Table(columns, rows), *of_groups]
        if not self.is_bounded:
            blocks.append(_NO_BOUNDS)
        if self._has_groups:
            compared = self._compared
            if isinstance(compared, str):
                return [*blocks, compared]
            clear = [visible(sentence(row, compared.level)) for row in self.clear_of(compared)]
            differences = Points(tuple(clear[:_MOST_SENTENCES])) if clear else _NO_DIFFERENCE
            blocks += [differences, *self.whose_differences(compared)]
        return blocks

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

    def _cell(self, row: Row) -> str:
        """A share or a number with its interval."""
        return (
            _figures(row, self.is_bounded)
            if row["is_share"]
            else "{} ({})".format(*figures_of(row))
        )

    def _people(self) -> str:
        """How many people took part, and how many of them answered."""
        result = self.estimate
        people = plural(result.n, "person", "people")
        if words := asked_in_words(result.data):
            of_reports = f"Of {result.n:,} reports, " * (result.reports_per_person > 1)
            return f"{_upper(of_reports + words)}."
        if result.reports_per_person > 1:
            people = f"{result.n:,} reports of at least {result.data.least_people:,} people"
        if not self.has_nonresponse:
            return f"{people}." if result.reports_per_person > 1 else f"{people} answered."
        row = result.answered().row(self.settings.level, self.settings.target)
        hidden = "" if self.shows_nonresponse else " Who answered is hidden as well."
        return (
            f"{people} took part, and {_figures(row)} of them answered.{hidden} The shares "
            "are shares of those who answered; they say nothing about the others."
        )

    def _drawn(self, design: SurveyDesign) -> str:
        """How people were drawn, and what that costs."""
        sentences = [design_effect_in_words(self.estimate)]
        survey = self.estimate.data.survey
        if survey is not None and len(design.columns) > (design.weights is not None):
            sentences.insert(
                0, f"The intervals allow for how people were drawn, {survey.drawn.text}."
            )
        if design.weights is not None:
            sentences.insert(0, f"All numbers are weighted by the column {design.weights}.")
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
            caption = f"The {len(rows)} most frequent of {size:,} answers"
            rest = percent(max(1 - sum(row["estimate"] for row in rows), 0.0), 1)
            notes.append(f"The {size - len(rows):,} other answers together have a share of {rest}.")
            notes.append(
                "The intervals hold for all answers at once, although the largest shares were "
                "picked."
                if at_once
                else "The intervals do not allow for the fact that the largest shares were picked."
            )
        if not self.is_bounded:
            notes.append(_NO_BOUNDS)
        level = self.settings.level if self.is_bounded else None
        table = table_of_shares(caption, "answer", rows, level)
        return [table, *about_shrunk(rows), *notes, *self._if_forged(rows)]

    def _if_forged(self, rows: Sequence[Row]) -> list[Block]:
        """The table of bounds if a part of the reports was made up, where it is asked for."""
        share, level = self.settings.forged, self.settings.level
        if share is None:
            return []
        if self.settings.design is not None:
            return [
                "How far made-up reports could move these shares is not computed here, because a "
                "made-up report counts as much as its weight."
            ]
        bounds = self.estimate.if_forged(share, level, self.settings.target)
        names = [name_of(row["value"], self.domain) for row in bounds.rows()]
        listed = {
            name: {**row, "value": name} for name, row in zip(names, bounds.rows(), strict=True)
        }
        shown = [listed[row["value"]] for row in rows if row["value"] in listed]
        if not shown:
            return [
                "How far made-up reports could move shares is computed only for single "
                "answers, not for bands."
            ]
        caption = f"If up to {100 * share:g} % of the reports were made up, in any way"
        if self.domain.nonresponse is not None:
            caption += "; shares of all people asked"
        return [table_of_shares(caption, "answer", shown, level, "between"), *bounds.table().notes]

    def _parts(self) -> list[Section]:
        """The sections on groups and on their differences, where there are groups."""
        if not self._has_groups:
            return []
        compared = self._compared
        differences: list[Block] = [compared] if isinstance(compared, str) else []
        if isinstance(compared, Differences):
            differences = _differences(compared, self)
        return [
            Section(f"By {self.columns}", tuple(self._by_group())),
            Section(f"Differences by {self.columns}", tuple(differences)),
        ]

    @property
    def _has_groups(self) -> bool:
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

    @cached_property
    def _rows_by_group(self) -> dict[str, list[tuple[str, int, Row]]]:
        """{answer or summary: the name, the people and the row of each group that is shown}."""
        listed = list(self._asked_groups.items())
        if len(listed) > _MOST_GROUPS:
            sizes = {key: sum(tally.n for tally in tallies) for key, tallies in listed}
            least = sorted(sizes.values(), reverse=True)[_MOST_GROUPS - 1]
            listed = [group for group in listed if sizes[group[0]] >= least][:_MOST_GROUPS]
        level, target = self.settings.level, self.settings.target
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MethodWarning)
            if self.cells is None:
                alone = [
                    (
                        label(key),
                        estimate(one_or_all(tallies), self.settings.method, self.attributes),
                    )
                    for key, tallies in steps(listed, "estimating groups")
                ]
            else:
                of_all = estimate(self.cells, self.settings.method, self.attributes, **self._survey)
                alone = [(label(key), of_all[key]) for key, _ in listed]
        tables: dict[str, list[tuple[str, int, Row]]] = {}
        if self.summaries:
            for name, of_group in alone:
                for row in summary_rows(of_group, self.summaries, level, target):
                    tables.setdefault(row["text"], []).append((name, of_group.n, row))
            return tables
        of_one = _key_rows if self._keys else answer_rows
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

    def _by_group(self) -> list[Block]:
        """The tables of all groups, each estimated from its own reports."""
        columns, tables, groups = self.columns, self._rows_by_group, self._asked_groups
        blocks: list[Block] = [
            "Each group was estimated from its own reports alone. Smaller groups have wider "
            "intervals."
        ]
        if len(groups) < len(self._each_group):
            nobody = [visible(label(key)) for key in self._each_group if key not in groups]
            blocks.append(f"No reports: {'; '.join(nobody[:_MOST_GROUPS])}.")
        if len(groups) > _MOST_GROUPS:
            blocks.append(
                f"Of {len(self._each_group):,} groups, the {_MOST_GROUPS} with the most people "
                "are shown."
            )
        level = self.settings.level
        for text, rows in tables.items():
            if self.summaries:
                blocks.append(table_by_group(f"{_upper(text)}, by {columns}", columns, rows, level))
                continue
            caption = f"Share of {_quoted(text)}{self._whose}, by {columns}"
            bounded_at = level if self.is_bounded else None
            blocks.append(table_by_group(caption, columns, rows, bounded_at))
            blocks += about_shrunk([{**row, "value": visible(name)} for name, _, row in rows])
        return blocks

    @property
    def _survey(self) -> dict[str, Any]:
        """How people were drawn, and the columns of groups, as estimates take them."""
        if self.settings.design is None:
            return {}
        return {**self.settings.design.roles, "by": self.groups[0].names if self.groups else ()}

    def answers(self) -> list[tuple[int, str]]:
        """The answers that tables by group are about: of two "yes", of many the commonest."""
        if self._keys:
            rows = _key_rows(self.estimate, self.settings.level, self.settings.target)
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
            return "Differences are not tested for keys with values."
        if self.summaries and self.has_nonresponse:
            return "Numbers are not compared between groups where people may give no answer."
        # Of numbers in bands the mean, the median, the quartiles and the bands.
        of = None if has_bands(self.domain) else "mean" if self.summaries else "shares"
        try:
            return compare_groups(
                one_or_all(self.groups) if self.cells is None else self.cells,
                reference=self.settings.reference,
                of=of,
                level=self.settings.level,
                target=self.settings.target,
                attributes=self.attributes,
                **self._survey,
            )
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
        clear = [row for row in self.rows_of(result) if row["p_holm"] < _LEVEL_OF_TESTS]
        return sorted(clear, key=lambda row: row["p_holm"])

    def whose_differences(self, result: Differences) -> list[str]:
        """A sentence where shares are of those who answered, but differences are not."""
        return [_OF_ALL_PEOPLE] if self.has_nonresponse and result.of == "shares" else []


def _key_rows(result: Estimate, level: float, target: str) -> list[Row]:
    """The frequencies of all keys in the order of their domain."""
    return list(result.key_rows(level, target))


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
    blocks: list[Block] = []
    if clear:
        blocks.append(
            "These differences are larger than chance explains (p (Holm) below "
            f"{_LEVEL_OF_TESTS:g}):"
        )
        blocks.append(
            Points(tuple(visible(sentence(row, result.level)) for row in clear[:_MOST_SENTENCES]))
        )
    else:
        blocks.append(_NO_DIFFERENCE)
    blocks.append(
        f"With this many people, a difference is known to within about {', '.join(halves)}, up or "
        "down. Smaller differences cannot be seen, so the groups may still differ."
    )
    listed = shown_rows
    if len(shown_rows) > _MOST_DIFFERENCES:
        listed = sorted(shown_rows, key=lambda row: row["p_holm"])[:_MOST_DIFFERENCES]
    others = list(dict.fromkeys(row["reference"] for row in listed))
    whom = f", compared with {others[0]}" if len(others) == 1 else ""
    what = str(result.of)
    answers = question.answers()
    if result.of == "shares" and domain.size == 2:
        what = f"the share of {_quoted(answers[0][1])}"
    caption = f"Differences of {what} by {columns}{whom}"
    if len(listed) < len(shown_rows):
        caption += f": the {len(listed)} clearest of {len(shown_rows):,}"
    for is_share in (False, True):  # in different units
        if of_unit := [row for row in listed if row["is_share"] == is_share]:
            table = table_of_differences(result, of_unit, partial(name_of, domain=domain), caption)
            blocks.append(table)
    blocks += question.whose_differences(result)
    notes = [
        "p (Holm) is the probability that chance alone gives a difference at least as large. It is "
        "corrected by Holm's method for the number of comparisons in this question."
    ]
    if result.about_test:
        notes.append(result.about_test)
    notes.append(
        "Each difference is one estimate minus the other; its interval follows from both intervals."
        if result.of == "numbers"
        else _STEADIED
        if _is_steadied(question.estimate)
        else _FROM_COUNTS
    )
    if result.left_out:
        count = plural(len(result.left_out), "group", "groups")
        notes.append(f"Left out, because of fewer than 2 reports: {count}.")
    blocks.append(" ".join(notes))
    return blocks


_NO_BOUNDS = "Different shares can lead to the same reports, so there are no intervals."
_NO_DIFFERENCE = "No difference between the groups is larger than chance explains."
_OF_ALL_PEOPLE = "These differences count all people, including those who gave no answer."
_STEADIED = (
    "The differences are computed from estimates that are right on average. The shares of groups "
    "above have smaller errors but are not right on average, so the differences need not match "
    "these shares."
)
_FROM_COUNTS = (
    "The differences were computed before the shares were cut to 0 to 100 %, so they need not "
    "match the shares above."
)


def _is_steadied(result: Estimate) -> bool:
    """Whether shares are others than the unbiased ones, kept within their bounds."""
    if result.fit.probabilities is None:
        return False
    unbiased = project(result.data.channel.invert(result.data.weights))
    return bool(np.abs(unbiased - result.probabilities).max() > _SAME_SHARE)


def _half(rows: Sequence[Row]) -> float:
    """Half the median width of intervals; nan without rows."""
    return float(np.median([(row["high"] - row["low"]) / 2 for row in rows] or [math.nan]))


def _figures(row: Row, is_bounded: bool = True, decimals: int | None = None) -> str:
    """A share with its interval, where there is one, in one phrase."""
    if decimals is None:
        decimals = decimals_of_percent([row["high"] - row["low"]])
    if not is_bounded:
        return percent(row["estimate"], decimals)
    interval = percent_interval(row["low"], row["high"], decimals)
    return f"{percent(row['estimate'], decimals)} ({interval})"


def _quoted(text: str) -> str:
    return f"\N{LEFT DOUBLE QUOTATION MARK}{text}\N{RIGHT DOUBLE QUOTATION MARK}"


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


# -----------------------------------------------------------------------------------------------
# The report as a whole.


_SIMULATED = (
    "Simulation. These reports were made with a seed, and whoever knows it can undo the "
    "randomisation. They protect nobody, and the numbers are only a trial."
)
_IN_SEVERAL_WAYS = (
    "Answers to one question were randomised with different mechanisms or epsilons, and reports "
    "that tell more count more. This assumes that the people with each mechanism and epsilon have "
    "the same shares, within each group that is shown and for all people together."
)
# Intervals of a posterior hold under a prior, unlike the others.
_OF_POSTERIOR = (
    "The intervals of shares assume that neighbouring numbers are about equally frequent, except "
    "for peaks at round numbers and at both ends. The intervals can miss any other peak."
)


@dataclass(frozen=True)
class Source:
    """What a report is made of."""

    tallies: Mapping[str, Sequence[Tally]]  # {attribute: its tallies}, one of each file
    questions: Sequence[Question]  # the results
    title: str = ""  # the title; "" for one made of the questions
    date: str = ""  # the date to print; "" for none
    rounds: int = 1  # how often the survey is held with fresh reports of the same people
    version: str = ""  # of the program
    nobody: Sequence[str] = ()  # the questions that nobody was asked
    public: Sequence[str] = ()  # the columns that were sent unprotected
    is_open: bool = False  # whether one person could send several reports


def build(source: Source, settings: Settings) -> Report:
    """The report of some questions."""
    first = [parts[0] for parts in source.tallies.values()]
    people = max(sum(tally.n for tally in parts) for parts in source.tallies.values())
    randomized = " with randomised answers" if _is_randomized(source) else ""
    title = source.title or f"Results of a survey{randomized}"
    is_simulated = any(tally.simulated for parts in source.tallies.values() for tally in parts)
    reports = "reports" if any(tally.reports_per_person > 1 for tally in first) else "people"
    # Joint shares are of questions that stand alone, too, and items are of one question.
    single = [q for q in source.questions if len(q.attributes or ()) < 2] or source.questions
    count = len({q.items_of or q.name for q in single})
    about = [f"{people:,} {reports}, {plural(count, 'question', 'questions')}"]
    if settings.design is not None:
        about[0] += f", {visible(settings.design.text)}"
    if source.date:
        about.append(source.date)
    return Report(
        f"{visible(title)} (simulation)" if is_simulated else visible(title),
        tuple(about),
        _SIMULATED if is_simulated else "",
        tuple(_sections(source, settings, title)),
    )


def _sections(source: Source, settings: Settings, title: str) -> Iterator[Section]:
    """The sections of a report; of one page, the results and what a report tells of a person."""
    if settings.is_short:
        yield from (question.section() for question in source.questions)
        yield _privacy(source, settings)
        more = "The full report also says how the numbers were made, and what they do not say."
        yield Section("How to read the numbers", (*_about_limits(source, settings), more))
        return
    yield _in_short(source, settings)
    yield from (question.section() for question in source.questions)
    yield _privacy(source, settings)
    yield _meaning(source, settings)
    yield _method(source, settings)
    yield _citation(source, title)


def _in_short(source: Source, settings: Settings) -> Section:
    """The first section: one sentence for each question."""
    points = Points(tuple(question.in_short() for question in source.questions))
    return Section("In short", (points, *_about_limits(source, settings)))


def _about_limits(source: Source, settings: Settings) -> list[str]:
    """Who was not asked, and what the numbers in brackets are."""
    hidden = (
        "the answers of single people are hidden by chance, so each number"
        if _hidden(source) is Strength.STRONG
        else "each number"
    )
    about = f"{hidden} is known only within limits."
    if any(question.is_bounded for question in source.questions):
        about = f"The numbers in brackets are {100 * settings.level:.4g} % intervals: {about}"
    names = [visible(settings.labels.get(name, name)) for name in source.nobody]
    nobody = [f"Nobody was asked: {'; '.join(names)}."] if names else []
    return [*nobody, _upper(about)]


def _mechanisms(source: Source) -> list[dict[str, tuple[Mechanism, int]]]:
    """The mechanisms of each file, with the most reports that one person sent."""
    files = max(len(parts) for parts in source.tallies.values())
    return [
        {
            name: (from_header(parts[i].header), parts[i].reports_per_person)
            for name, parts in source.tallies.items()
            if i < len(parts)
        }
        for i in range(files)
    ]


def _guarantees(source: Source) -> list[Guarantee]:
    """What each question guarantees of all reports on it that one person sends in all rounds."""
    return [
        compose([mechanism.guarantee] * (count * source.rounds))
        for mechanisms in _mechanisms(source)
        for mechanism, count in mechanisms.values()
    ]


def _hidden(source: Source) -> Strength:
    """How well the answers to the question that is protected least are hidden."""
    promised = _guarantees(source)
    least = max(map(strength, promised))
    # Answers that are not sensitive are not hidden.
    return least if all(g.sensitive is None for g in promised) else max(least, Strength.WEAK)


def _has_several_ways(source: Source) -> bool:
    """Whether the answers to one question were randomised by several mechanisms or budgets."""
    return any(len({canonical(t.header) for t in parts}) > 1 for parts in source.tallies.values())


def _is_randomized(source: Source) -> bool:
    """Whether no question has an infinite epsilon."""
    return all(math.isfinite(promised.total) for promised in _guarantees(source))


def _privacy(source: Source, settings: Settings) -> Section:
    """What a report tells of a person: each question, all together, and all rounds."""
    most = "nearly everything" if _hidden(source) is Strength.NONE else "a lot"
    blocks: list[Block] = [
        "The answers of each person were randomised: chance kept or changed them. The results, "
        "called reports, were counted, and this document was made from reports alone. An answer "
        "that was never stored cannot be lost."
        if _hidden(source) is Strength.STRONG
        else "The answers of each person were randomised before they were counted. How much a "
        f"report tells about a person depends on the question and the answer; it can be {most}."
        if _is_randomized(source)
        else "Not all answers were randomised: some were counted as people gave them.",
        "The numbers below follow from the chances with which the reports were made.",
    ]
    if any(tally.simulated for parts in source.tallies.values() for tally in parts):
        blocks.append("They would be true of reports made without a seed.")
    texts: dict[str, dict[str, tuple[int, bool]]] = {}  # {text: {question: reports, on paper}}
    for of_all, parts in source.tallies.items():
        for tally in parts:
            whole = from_header(tally.header)
            if isinstance(whole, OneOf | HiddenQuestion):
                draw = about_draw(whole, visible(settings.labels.get(of_all, of_all)))
                blocks += [draw] if draw not in blocks else []
            for name, mechanism in _questions_of(of_all, whole):
                reports = texts.setdefault(" ".join(of_mechanism(mechanism)), {})
                heading = visible(settings.labels.get(name, name))
                before, _ = reports.get(heading, (0, False))
                reports[heading] = before + tally.n, mechanism.is_on_paper
    listed = [heading for reports in texts.values() for heading in reports]
    points = [
        lead(
            " / ".join(
                f"{heading} ({n:,} reports{' on paper' * on_paper})"
                if listed.count(heading) > 1
                else heading
                for heading, (n, on_paper) in reports.items()
            )
        )
        + f" {text}"
        for text, reports in texts.items()
    ]
    blocks.append(Points(tuple(points)))
    blocks += _totals(_mechanisms(source), source.rounds)
    if source.public:
        blocks.append(about_public([visible(name) for name in source.public]))
    if source.is_open:
        blocks.append(OPEN_TO_ALL)
    return Section("What a report tells of a person", tuple(blocks))


def _questions_of(name: str, mechanism: Mechanism) -> list[tuple[str, Mechanism]]:
    """The mechanism of each question, where people are asked one by one; else the whole."""
    if isinstance(mechanism, OneOf) and max(map(len, mechanism.blocks)) == 1:
        return list(mechanism.parts.items())
    return [(name, mechanism)]


def _totals(files: Sequence[Mapping[str, tuple[Mechanism, int]]], rounds: int) -> list[Block]:
    """What all reports of one person tell together, and all rounds."""
    once: list[Guarantee] = []
    all_rounds: list[Guarantee] = []
    for of_file in files:
        most = max(count for _, count in of_file.values())
        mechanisms = {name: mechanism for name, (mechanism, _) in of_file.items()}
        one, several = of_a_person(mechanisms, most, rounds)
        if one is None or several is None:
            return ["The questions together have no single epsilon; see each question above."]
        once.append(one)
        all_rounds.append(several)
    questions = max(len(of_file) for of_file in files)
    blocks: list[Block] = []
    is_several = questions > 1 or any(
        count > 1 for of_file in files for _, count in of_file.values()
    )
    if is_several:
        guarantee = largest(once)
        sentences = of_guarantee(guarantee, "all reports of one person", questions > 1)
        blocks.append(
            "All reports of one person together tell more than each report alone. "
            f"{' '.join(sentences)} The total epsilon is {guarantee.total:.4g}."
        )
    if rounds > 1:
        guarantee = largest(all_rounds)
        seen = f"what one person sends in all {rounds} rounds"
        sentences = of_guarantee(guarantee, seen, questions > 1)
        blocks.append(
            f"If the same people send fresh reports in {rounds} rounds, each round tells more. "
            f"{' '.join(sentences)} The total epsilon is {guarantee.total:.4g}."
        )
    else:
        blocks.append(
            "This is for one round. If the same people are asked again with fresh reports, "
            "each round tells more."
        )
    return blocks


def _meaning(source: Source, settings: Settings) -> Section:
    """What the intervals say and what they do not."""
    level = f"{100 * settings.level:.4g}"
    whom = (
        "the population that these people were drawn from"
        if settings.target == "population"
        else "the people who answered"
    )
    says = [
        f"The {level} % intervals are for {whom}. If 100 surveys were made in this way, the "
        f"interval of a number would contain the true number in about {level} of them or more.",
        *(
            f"{question.lead} {_OF_POSTERIOR}"
            for question in source.questions
            if question.interval_kind == "posterior"
        ),
        "The intervals allow for the chance by which reports differ from answers"
        + (
            " and for the chance by which people were drawn."
            if settings.target == "population"
            else "."
        ),
        "The ends of an interval are rounded outwards, so that it does not become shorter.",
        "Each interval holds for its own number, unless the table says that all hold at once. Of "
        "many intervals, some miss the true number.",
    ]
    dropped = [visible(settings.labels.get(name, name)) for name in settings.dropped]
    says_not = [
        "The intervals do not allow for untrue answers, for people who did not answer, or for a "
        "choice of people that is not random.",
        *(
            [
                "People who did not answer one of these questions were left out with all their "
                "answers: " + "; ".join(dropped)
            ]
            if dropped
            else []
        ),
        *([FOLLOWED] if any(has_paper(q.estimate.data.channel) for q in source.questions) else []),
        *([_IN_SEVERAL_WAYS] if _has_several_ways(source) else []),
        "An interval that begins at 0 does not show that nobody gives this answer.",
        "Two intervals that overlap do not show that two groups are alike. Differences have "
        "intervals of their own.",
        *(
            ["No number in this report is about a single person."]
            if _hidden(source) < Strength.NONE
            else []
        ),
    ]
    return Section(
        "What the numbers say, and what they do not",
        ("They say:", Points(tuple(says)), "Keep in mind:", Points(tuple(says_not))),
    )


def _method(source: Source, settings: Settings) -> Section:
    """How reports were made and how shares were estimated."""
    rows = []
    each = [
        (name, mechanism, count)
        for mechanisms in _mechanisms(source)
        for of_all, (whole, count) in mechanisms.items()
        for name, mechanism in _questions_of(of_all, whole)
    ]
    for name, mechanism, count in each:
        values = f"{mechanism.domain.size:,} " + (
            "bins" if mechanism.domain.is_binned else "values"
        )
        if isinstance(mechanism, OneOf | HiddenQuestion):
            values = f"one of {len(mechanism.blocks):,}"
        kind = type(mechanism).__name__ + (f", {count} of a person" if count > 1 else "")
        epsilon = mechanism.guarantee.epsilon
        rows.append((f"{visible(name)} ({values})", kind, f"{epsilon:.6g}"))
    head = ("attribute", "mechanism", "epsilon")
    listed = [dict(zip(head, row, strict=True)) for row in dict.fromkeys(rows)]
    who = (
        "The answers"
        if _is_randomized(source)
        else "For questions with a finite epsilon, the answers"
    )
    on_paper = {mechanism.is_on_paper for _, mechanism, _ in each}
    how = (
        f"{who} of each person were randomised before they were counted (local differential "
        "privacy). Epsilon was computed exactly, from the whole numbers with which devices draw"
    )
    if on_paper == {True, False}:
        how += (
            ". On paper people randomised their answers themselves, with a card, and epsilon "
            "follows from the chances on the card"
        )
    elif on_paper == {True}:
        how = (
            "People randomised their answers themselves, with a card (randomised response). The "
            "epsilon follows from the chances on the card"
        )
    blocks: list[Block] = [
        f"{how}. Epsilon limits how sure somebody can be, as said above: at most "
        "e^epsilon / (1 + e^epsilon) sure of one of two answers that were equally likely before.",
        Table(head, listed, title="How reports were randomised"),
    ]
    notes: dict[str, list[str]] = {}
    for question in source.questions:
        result = question.estimate
        kind = question.interval_kind
        about = NO_INTERVALS if kind == "none" else INTERVALS.get(kind, "")
        about = f"Intervals of shares: {about[:1].lower()}{about[1:]}" if about else ""
        summary = _sentences(result.estimator.summary)
        text = f"{summary} {about} Method in the program: {result.method}."
        notes.setdefault(text.strip(), []).append(visible(question.name))
    if said := [
        visible(f"{counted}. {chances}".strip())
        for name, parts in source.tallies.items()
        for counted, chances in [reports_in_words(name, parts)]
        if counted
    ]:
        blocks += ["What people ticked:", Points(tuple(said))]
    blocks.append("Shares were estimated from the counts of reports:")
    blocks.append(Points(tuple(f"{', '.join(names)}: {text}" for text, names in notes.items())))
    prints = [
        f"{visible(name)}: " + ", ".join(tally.digest[:16] for tally in parts)
        for name, parts in source.tallies.items()
    ]
    blocks.append("Fingerprints of the counts (the first digits of SHA-256):")
    blocks.append(Points(tuple(prints)))
    return Section("Method", tuple(blocks))


def _sentences(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _citation(source: Source, title: str) -> Section:
    """How to cite the report and the methods."""
    version = f", version {source.version}" if source.version else ""
    date = f" {source.date}." if source.date else ""
    program = f"warner{version}: learning the distribution of sensitive answers without collecting "
    return Section(
        "How to cite",
        (
            Points(
                (
                    f"This report: {visible(title)}.{date}",
                    f"The program: The warner developers, {program}them.",
                    "Randomised response: S. L. Warner, Randomized response: a survey technique "
                    "for eliminating evasive answer bias. Journal of the American Statistical "
                    "Association 60 (1965), 63-69.",
                    "Local differential privacy: S. P. Kasiviswanathan, H. K. Lee, K. Nissim, "
                    "S. Raskhodnikova and A. Smith, What can we learn privately? SIAM Journal on "
                    "Computing 40 (2011), 793-826.",
                )
            ),
        ),
    )
