"""The sections of a report on single questions: all people, groups, and their differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from warner._core.errors import WarnerError
from warner._core.text import visible
from warner.app.report.content import Block, Points, Section
from warner.app.report.figures import decimals_of_percent, percent, percent_interval
from warner.app.report.tables import (
    Row,
    figures_of,
    name_of,
    share_rows,
    table_by_group,
    table_of_differences,
    table_of_shares,
    table_of_summaries,
    tables_of_keys,
)
from warner.app.summary_options import Wanted
from warner.app.terminal import plural
from warner.groups.differences import Differences, difference, sentence
from warner.groups.estimates import estimate as estimate_groups
from warner.groups.table import label
from warner.reports.tally import Tally
from warner.results.estimate import Estimate
from warner.results.named_summaries import Named, summary_rows

_MOST_GROUPS = 40
_MOST_ANSWERS = 6  # of tables by group
_MOST_DIFFERENCES = 40
_MOST_SENTENCES = 8
_LEVEL_OF_TESTS = 0.05


@dataclass(frozen=True)
class Settings:
    """How a report shows results.

    Attributes:
        level: coverage of the intervals.
        target: ``"population"`` or ``"respondents"``.
        top: the most answers of one table.
        wanted: the summaries of numbers.
        reference: the group that others are compared with; None for all others together.
        labels: {attribute: the text of its question}.
    """

    level: float = 0.95
    target: str = "population"
    top: int = 20
    wanted: Wanted = field(default_factory=Wanted)
    reference: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Question:
    """One question with its results.

    Attributes:
        estimate: of all people.
        groups: {public values: tally} where the tally has groups, else None.
        attributes: for tallies of several attributes, the one that is asked for; else None.
    """

    estimate: Estimate
    groups: Mapping[Any, Tally] | None = None
    attributes: tuple[str, ...] | None = None

    @property
    def name(self) -> str:
        return str(self.estimate.attribute)

    def heading(self, settings: Settings) -> str:
        """The text of the question, or the name of the attribute."""
        return visible(settings.labels.get(self.name, self.name))

    def lead(self, settings: Settings) -> str:
        """The heading before a sentence."""
        return lead(self.heading(settings))

    def summaries(self, settings: Settings) -> tuple[Named, ...]:
        """The summaries that are shown; of an estimate of means alone, the mean."""
        asked = settings.wanted.named(self.estimate)
        if self.estimate.fit.probabilities is None:
            return tuple(named for named in asked if named.kind == "mean")
        return asked

    def in_short(self, settings: Settings) -> str:
        """The result in one sentence."""
        rows = summary_rows(
            self.estimate, self.summaries(settings), settings.level, settings.target
        )
        if rows:
            parts = ["{}: {} ({})".format(row["text"], *figures_of(row)) for row in rows[:3]]
            return f"{self.lead(settings)} {_upper('; '.join(parts))}."
        shares, _ = share_rows(self.estimate, settings.level, settings.target, settings.top)
        if not shares:
            return f"{self.lead(settings)} See the table below."
        named = [f"{_quoted(row['value'])}: {_figures(row)}" for row in _to_name(shares)]
        return f"{self.lead(settings)} {'; '.join(named)}."

    def section(self, settings: Settings) -> Section:
        """The section of the question."""
        blocks: list[Block] = [_people(self.estimate)]
        blocks += self._shares(settings)
        rows = summary_rows(
            self.estimate, self.summaries(settings), settings.level, settings.target
        )
        if rows:
            blocks.append(
                table_of_summaries("Numbers that sum up the answers", rows, settings.level)
            )
        return Section(self.heading(settings), tuple(blocks), tuple(self._parts(settings)))

    def _shares(self, settings: Settings) -> list[Block]:
        """The table of the shares, or those of keys with their means."""
        level, target = settings.level, settings.target
        keys = tables_of_keys(self.estimate, level, target, settings.top)
        if keys:
            return keys
        rows, is_chosen = share_rows(self.estimate, level, target, settings.top)
        if not rows:
            return []
        caption = "Estimated share of people with each answer"
        blocks: list[Block] = []
        if is_chosen:
            size = self.estimate.domain.size
            caption = f"The {len(rows)} most frequent of {size:,} answers"
            rest = percent(max(1 - sum(row["estimate"] for row in rows), 0.0), 1)
            blocks.append(f"The {size - len(rows):,} other answers have {rest} together.")
            if self.estimate.has_intervals:
                blocks.append(
                    "The intervals hold for all answers at once, also for the choice of the "
                    "largest."
                )
        blocks.insert(0, table_of_shares(caption, "answer", rows, level))
        if not self.estimate.has_posterior_intervals and not self.estimate.has_intervals:
            blocks.append(
                "Different distributions make the same reports. So the reports bound no share."
            )
        return blocks

    def _parts(self, settings: Settings) -> list[Section]:
        """The sections on groups and on their differences, where there are groups."""
        if self.groups is None or len(self.groups) < 2:
            return []
        columns = ", ".join(visible(name) for name in getattr(self.groups, "names", ("group",)))
        return [
            Section(f"By {columns}", tuple(self._by_group(settings, columns))),
            Section(f"Differences by {columns}", tuple(self._differences(settings, columns))),
        ]

    def _by_group(self, settings: Settings, columns: str) -> list[Block]:
        """The tables of all groups, each estimated from its own reports."""
        assert self.groups is not None
        result = estimate_groups(self.groups, attributes=self.attributes, pool="none")
        listed = list(zip(result.keys, result.sizes.tolist(), result.alone, strict=True))
        blocks: list[Block] = [
            "Each group was estimated from its own reports alone. Fewer people make wider "
            "intervals."
        ]
        if len(listed) > _MOST_GROUPS:
            largest = sorted(listed, key=lambda group: -group[1])[:_MOST_GROUPS]
            listed = [group for group in listed if group in largest]
            blocks.append(
                f"Of {len(result.keys):,} groups, the {_MOST_GROUPS} with the most people "
                "are shown."
            )
        level, target = settings.level, settings.target
        summaries = self.summaries(settings)
        if summaries:
            tables: dict[str, list[tuple[str, int, Row]]] = {}
            for key, n, own in listed:
                if own is not None:
                    for row in summary_rows(own, summaries, level, target):
                        tables.setdefault(row["text"], []).append((label(key), n, row))
            for text, rows in tables.items():
                blocks.append(table_by_group(f"{_upper(text)}, by {columns}", columns, rows, level))
            return blocks
        bounds = result.interval(level, target)
        places = {key: g for g, key in enumerate(result.keys)}
        for x in self._answers():
            value = name_of(self.estimate.domain.labels[x], self.estimate.domain)
            rows = []
            for key, n, _ in listed:
                g = places[key]
                low, high = bounds[g, x]
                share = float(np.clip(result.probabilities[g, x], 0, 1))
                row = {"estimate": share, "low": low, "high": high, "is_share": True}
                rows.append((label(key), n, row))
            caption = f"Share of {_quoted(value)}, by {columns}"
            blocks.append(table_by_group(caption, columns, rows, level))
        return blocks

    def _answers(self) -> list[int]:
        """The answers that tables by group are about: of two the rarer, of many the commonest."""
        shares = self.estimate.probabilities
        if shares.size == 2:
            return [int(np.argmin(shares))]
        largest = np.argsort(-shares, kind="stable")[:_MOST_ANSWERS]
        return sorted(largest.tolist())

    def _differences(self, settings: Settings, columns: str) -> list[Block]:
        """What is known of differences: sentences, and a table for shares or for the mean."""
        assert self.groups is not None
        of = "mean" if self.summaries(settings) else "shares"
        try:
            found = difference(
                self.groups,
                reference=settings.reference,
                of=of,
                level=settings.level,
                target=settings.target,
                attributes=self.attributes,
            )
        except WarnerError as error:
            return [f"Differences cannot be computed. {error}"]
        return _about_differences(found, self, columns)


def _about_differences(found: Differences, question: Question, columns: str) -> list[Block]:
    """The differences in words and as a table."""
    domain = question.estimate.domain
    rows = found.rows()
    if found.of == "shares":
        shown = {name_of(domain.labels[x], domain) for x in question._answers()}
        kept = [row for row in rows if name_of(row["value"], domain) in shown]
    else:
        kept = rows
    clear = sorted(
        (row for row in kept if row["p_holm"] < _LEVEL_OF_TESTS), key=lambda row: row["p_holm"]
    )
    scale, unit = (100.0, " points") if found.of == "shares" else (1.0, "")
    half = float(np.median([(row["high"] - row["low"]) / 2 for row in kept])) * scale
    blocks: list[Block] = []
    if clear:
        blocks.append(
            "These differences are larger than chance explains (corrected p below "
            f"{_LEVEL_OF_TESTS:g}):"
        )
        blocks.append(
            Points(
                tuple(
                    visible(sentence(row, found.of, found.level)) for row in clear[:_MOST_SENTENCES]
                )
            )
        )
    else:
        blocks.append("No difference between the groups is larger than chance explains.")
    blocks.append(
        f"With these numbers of people, a difference is known to about {half:.2g}{unit}, up or "
        "down. A smaller one cannot be seen; that does not show that the groups are alike."
    )
    listed = kept
    if len(kept) > _MOST_DIFFERENCES:
        listed = sorted(kept, key=lambda row: row["p_holm"])[:_MOST_DIFFERENCES]
    others = list(dict.fromkeys(row["reference"] for row in listed))
    whom = f", compared with {others[0]}" if len(others) == 1 else ""
    what = "shares" if found.of == "shares" else str(found.of)
    answers = question._answers()
    if found.of == "shares" and domain.size == 2:
        what = f"the share of {_quoted(name_of(domain.labels[answers[0]], domain))}"
    caption = f"Differences of {what} by {columns}{whom}"
    if len(listed) < len(kept):
        caption += f": the {len(listed)} clearest of {len(kept):,}"
    blocks.append(
        table_of_differences(found, listed, lambda value: name_of(value, domain), caption)
    )
    notes = [
        "p (Holm) is the probability of a difference at least as large where there is none, "
        "corrected for the number of comparisons of this question by Holm's method."
    ]
    if found.of == "shares":
        notes.append(found.test.text)
    if found.left_out:
        count = plural(len(found.left_out), "group", "groups")
        notes.append(f"Left out, with fewer than 2 reports: {count}.")
    blocks.append(" ".join(notes))
    return blocks


def _people(result: Estimate) -> str:
    """How many people answered."""
    if result.reports_per_person > 1:
        least = result.data.least_people
        return f"{result.n:,} reports of at least {least:,} people."
    return f"{plural(result.n, 'person', 'people')} answered."


def _to_name(rows: Sequence[Row]) -> list[Row]:
    """The answers that a summary names: of two the rarer, else the three most frequent."""
    ordered = sorted(rows, key=lambda row: -row["estimate"])
    return ordered[1:] if len(rows) == 2 else ordered[:3]


def lead(heading: str) -> str:
    """A heading before a sentence.

    >>> lead("Do you smoke?"), lead("smokes")
    ('Do you smoke?', 'smokes:')
    """
    return heading if heading[-1:] in "?.!:" else f"{heading}:"


def _figures(row: Row) -> str:
    """A share with its interval in one phrase."""
    decimals = decimals_of_percent([row["high"] - row["low"]])
    interval = percent_interval(row["low"], row["high"], decimals)
    return f"{percent(row['estimate'], decimals)} ({interval})"


def _quoted(text: str) -> str:
    return f"\N{LEFT DOUBLE QUOTATION MARK}{text}\N{RIGHT DOUBLE QUOTATION MARK}"


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]
