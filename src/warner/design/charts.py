"""Charts before a survey: methods by their errors, widths of intervals, odds for a consent form."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from warner._core.table import Column, Table
from warner._core.text import of_hundred, visible
from warner.design.privacy_words import Example
from warner.results.drawing import (
    CAPTION,
    INK,
    PLAIN,
    QUIET,
    TRUTH,
    WIDTH,
    apart,
    finished,
    folded,
    inline_data,
    labels as folded_labels,
    page,
    require_altair,
    spread,
    step,
    titled,
)
from warner.theory.inversion import MAX_PEOPLE

_HEIGHT = 260
_DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [1, 3])  # of lines of several epsilons
_TIMES = (0.1, 0.2, 0.5, 1, 2, 5, 10)  # of the number of people, in a picture of widths
_SAME = 0.01  # relative, of widths whose lines lie on each other
_MARGIN = 1.15  # of the axis of widths, above the widest and below the narrowest
_NAME = 15  # pixels of the name of a line
_LEADER = 22  # pixels from the end of a line to its name
_LEAST_DRAWN = 20  # people in that picture
_ROW = 20  # people in a row of the picture of odds
_APART = 11  # pixels between two of them


def ranking(comparisons: Mapping[str, Any]) -> Any:
    """A chart of comparisons: methods from the least error on, with bars of two standard errors."""
    return page([_ranked(name, comparison) for name, comparison in comparisons.items()])


def _ranked(name: str, comparison: Any) -> Any:
    """The panel of a :class:`warner.design.Comparison`."""
    alt = require_altair()
    methods = apart([row["method"] for row in comparison.rows()])
    rows = [
        {
            **row,
            "method": method,
            "low": max(row["error"] - 2 * row["standard_error"], row["error"] / 10),
            "high": row["error"] + 2 * row["standard_error"],
        }
        for row, method in zip(comparison.rows(), methods, strict=True)
    ]
    y = alt.Y("method:N", title=None, sort=alt.SortField("error"), axis=folded_labels())
    base = alt.Chart(inline_data(rows)).encode(y=y)
    scale = alt.Scale(type="log", nice=False, padding=12) if rows[0]["error"] > 0 else alt.Scale()
    axis = alt.Axis(format="~g", grid=True, labelOverlap="greedy", labelSeparation=10)
    bars = base.mark_rule(strokeWidth=2, color=QUIET)
    bars = bars.encode(x=alt.X("low:Q", scale=scale), x2="high:Q")
    measured = f"{comparison.loss_name}{' (logarithmic scale)' * (rows[0]['error'] > 0)}"
    dots = base.mark_point(filled=True, size=45, color=INK, opacity=1)
    dots = dots.encode(x=alt.X("error:Q", title=measured, scale=scale, axis=axis))
    about = [
        f"{comparison.runs} simulated surveys of {comparison.n:,} reports each, with shares like "
        "the estimated ones",
        "dots show the mean error, and bars two standard errors to each side",
        "differences between methods are more exact than the bars show, because all methods get "
        "the same surveys",
    ]
    title = titled(name, about)
    height = step(methods)
    return alt.layer(bars, dots).properties(title=title, width=WIDTH, height=height)


# -----------------------------------------------------------------------------------------------
# People, epsilon and the width of an interval: what a survey must be to say something.


def people_drawn(n: int) -> list[int]:
    """The numbers of people in a picture of widths, from a tenth of n to ten times as many."""
    return [min(max(_LEAST_DRAWN, round(times * n)), MAX_PEOPLE) for times in _TIMES]


@dataclass(frozen=True)
class DrawnWidths:
    """What a panel of widths draws."""

    rows: Sequence[Mapping[str, Any]]  # with people, width, and the line, such as an epsilon
    about: str
    n: int  # the planned number of people
    width: float  # the wanted one
    notes: Sequence[str] = ()  # below the table of the widths

    def table(self, title: str) -> Table:
        """The widths with a row for each number of people and a column for each line."""
        by_people: dict[int, dict[str, Any]] = {}
        for row in self.rows:
            line = by_people.setdefault(row["people"], {"people": f"{row['people']:,}"})
            line[row["line"]] = f"{100 * row['width']:.3g}"
        columns = [Column("people"), *(Column(line) for line in self.lines)]
        notes = ["Widths of the interval in percentage points.", *self.notes]
        return Table(columns, list(by_people.values()), notes, title)

    @property
    def lines(self) -> list[str]:
        return list(dict.fromkeys(row["line"] for row in self.rows))


def widths(drawn: DrawnWidths, title: str) -> Any:
    """The panel of one question: the width by the number of people, with a line per epsilon."""
    alt = require_altair()
    lines = _told_apart(drawn)
    data = [
        {"people": people, "points": points, "line": name}
        for name, line in lines.items()
        for people, points in line.items()
    ]
    # The axis is set here, because the places of the names are computed from it.
    shown = [100 * drawn.width, *(points for line in lines.values() for points in line.values())]
    low, high = min(shown) / _MARGIN, max(shown) * _MARGIN
    x = alt.X("people:Q", title=["people who answer the question", "(logarithmic scale)"])
    x = x.scale(type="log", nice=False)
    x = x.axis(format="~s", grid=True, labelOverlap="greedy", labelSeparation=8)
    y = alt.Y("points:Q", title=["width of the interval,", "percentage points (logarithmic)"])
    y = y.scale(type="log", nice=False, domain=[low, high])
    y = y.axis(format="~g", grid=True, labelOverlap="greedy")
    dashes = [_DASHES[i % len(_DASHES)] for i in range(len(lines))]
    look = alt.StrokeDash("line:N", legend=None).scale(domain=[*lines], range=dashes)
    ends = {name: line[max(line)] for name, line in lines.items()}
    pixels = math.log(high / low) / _HEIGHT
    places = spread([math.log(high / end) / pixels for end in ends.values()], _NAME, _HEIGHT)
    named = [
        {"line": name, "points": end, "name": high / math.exp(beside * pixels)}
        for (name, end), beside in zip(ends.items(), places, strict=True)
    ]
    base = alt.Chart(inline_data(data)).encode(x=x, y=y)
    layers = [
        base.mark_line(color=INK, strokeWidth=1.6).encode(strokeDash=look),
        base.mark_point(filled=True, size=22, color=INK, opacity=1),
    ]
    texts = alt.Chart(inline_data(named)).encode(x=alt.value("width"))
    leader = texts.mark_rule(color=INK, strokeWidth=1.6, xOffset=3, x2Offset=_LEADER)
    layers += [
        leader.encode(y="points:Q", y2="name:Q", x2=alt.value("width"), strokeDash=look),
        texts.mark_text(align="left", dx=_LEADER + 5, color=INK).encode(y="name:Q", text="line:N"),
    ]
    marks = [
        alt.Chart(inline_data([{"people": drawn.n}])).encode(x="people:Q"),
        alt.Chart(inline_data([{"points": 100 * drawn.width}])).encode(y="points:Q"),
    ]
    rules = [mark.mark_rule(color=TRUTH, strokeDash=[5, 3], strokeWidth=1.5) for mark in marks]
    return alt.layer(*rules, *layers).properties(
        title=titled(title, [drawn.about]), width=WIDTH, height=_HEIGHT
    )


def _told_apart(drawn: DrawnWidths) -> dict[str, dict[int, float]]:
    """{name: {people: points}} of lines; equal lines are one line, which has all their names."""
    lines: dict[str, dict[int, float]] = {}
    for row in drawn.rows:
        name = row["line"].replace("epsilon", "\N{GREEK SMALL LETTER EPSILON}")
        lines.setdefault(name, {})[row["people"]] = 100 * row["width"]
    names: dict[str, list[str]] = {}  # of each line that is drawn, by the first of its names
    for name, line in lines.items():
        same = (other for other in names if _is_on(line, lines[other]))
        names.setdefault(next(same, name), []).append(name)
    return {" and ".join(each): lines[first] for first, each in names.items()}


def _is_on(line: Mapping[int, float], other: Mapping[int, float]) -> bool:
    """Whether two lines of widths cannot be told apart in a picture."""
    if line.keys() != other.keys():
        return False
    return all(math.isclose(line[people], other[people], rel_tol=_SAME) for people in line)


def draw_widths(panels: Mapping[str, DrawnWidths], path: str | None = None) -> Any:
    """The picture of widths with a panel for each question, by its text."""
    picture = page([widths(each, title) for title, each in panels.items()])
    return finished(picture, lambda: [each.table(name) for name, each in panels.items()], path)


# -----------------------------------------------------------------------------------------------
# Odds for a consent form: of 100 people with an answer, how many send a report.


def odds(examples: Mapping[str, Example]) -> Any:
    """A picture for a consent form, with a panel for each question."""
    return page([_odds(question, example) for question, example in examples.items()])


def table_of_odds(question: str, example: Example) -> Table:
    """The numbers of the picture, and what somebody can conclude."""
    rows = [
        {"answer": example.answer, "people": of_hundred(example.sent)},
        {"answer": example.other, "people": of_hundred(example.sent_by_other)},
    ]
    columns = [Column("answer"), Column("people", f"of 100 people {example.act}")]
    return Table(columns, rows, example.conclusions(), question)


def _odds(question: str, example: Example) -> Any:
    """100 people with each of the two answers that a report tells apart best, as dots."""
    alt = require_altair()
    panels = []
    shares = (example.sent, example.sent_by_other)
    for said, sent in zip(example.sentences(), shares, strict=True):
        dots = [{"x": i % _ROW, "y": i // _ROW, "sends": i < round(100 * sent)} for i in range(100)]
        blank = {"axis": None, "scale": alt.Scale(padding=8)}
        x, y = alt.X("x:Q", **blank), alt.Y("y:Q", **blank).sort("descending")
        fill = alt.condition("datum.sends", alt.value(INK), alt.value(PLAIN))
        base = alt.Chart(inline_data(dots)).encode(x=x, y=y, fill=fill)
        drawn = base.mark_point(shape="circle", size=60, stroke=INK, strokeWidth=1.2, opacity=1)
        text = folded(visible(said), CAPTION).split("\n")
        title = alt.TitleParams(text, fontWeight="normal", anchor="start")
        size = {"width": _ROW * _APART, "height": 100 // _ROW * _APART}
        panels.append(drawn.properties(view={"stroke": None}, title=title, **size))
    legend = f"Filled dots: people who {example.act}. Hollow dots: people who do not."
    about = [legend, *example.conclusions()]
    return alt.vconcat(*panels, spacing=14).properties(title=titled(question, about))
