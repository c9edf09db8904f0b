"""Benchmarks as papers show them: tables in LaTeX, and charts."""

from __future__ import annotations

import io
import json
import math
import re
import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from warner._core.checks import choice, real
from warner._core.errors import ArgumentError
from warner._core.table import latex_text
from warner.results.drawing import inline_data, require_altair, styled, titled
from warner.results.named_summaries import encoded

_ZERO = 1e-14  # a mean loss up to which it is the rounding error of shares that are right

COVERAGE = "coverage"  # the part of intervals that hold the truth, beside the losses

# -----------------------------------------------------------------------------------------------
# The mean losses of a benchmark as tables in LaTeX.

MARK = "\N{DOUBLE DAGGER}"  # of a mechanism that spends less than the budget of its row
_LEAST, _LARGEST = 1e-4, 1e6  # what is written without a power of ten


def latex_table(
    rows: Sequence[Mapping[str, Any]],
    settings: Iterable[tuple[float, int]],
    digits: int,
    errors: bool,
    bold: Collection[tuple[str, str, float, int]],
    weaker: Collection[tuple[str, float, int]],
    marks: Mapping[str, str],
    power: int | None,
) -> str:
    """The rows of one truth as a table for the package booktabs.

    ``settings`` has the epsilon and n of columns; those without a row are left out. Means that are
    written as one in ``bold`` are bold, too, but for mechanisms of ``weaker``, which promise less.
    """
    filled = {(row["epsilon"], row["n"]) for row in rows}
    columns = [column for column in dict.fromkeys(settings) if column in filled]
    powers = {column: _power_of(rows, *column) if power is None else power for column in columns}
    cells_of, exact_of, texts_of = {}, {}, {}
    for row in rows:
        key = row["mechanism"], row["method"], row["epsilon"], row["n"]
        numbers = [row["mean"], row["standard_error"] if errors else None, row["exact"]]
        mean, error, exact_of[key] = alike(numbers, powers[row["epsilon"], row["n"]], digits)
        texts_of[key] = mean, error
    bold_texts = {(texts_of[key][0], *key[2:]) for key in texts_of if key in bold}
    for key, (mean, error) in texts_of.items():
        if (mean, *key[2:]) in bold_texts and (key[0], *key[2:]) not in weaker:
            math = r"\boldmath" if mean.startswith("$") else ""
            mean = rf"\textbf{{{math}{mean}}}"
        cells_of[key] = f"{mean} ({error})" if errors else mean
    budgets = dict.fromkeys(epsilon for epsilon, _ in columns)
    spans = {e: sum(epsilon == e for epsilon, _ in columns) for e in budgets}
    lines = [rf"\begin{{tabular}}{{ll{'r' * len(columns)}}}", r"\toprule"]
    if len({n for _, n in columns}) > 1:
        head = "".join(
            rf" & \multicolumn{{{span}}}{{c}}{{$\varepsilon = {e:g}$}}" for e, span in spans.items()
        )
        lines.append(rf" &{head} \\")
        names = [f"$n = {n}$" for _, n in columns]
    else:
        names = [rf"$\varepsilon = {e:g}$" for e, _ in columns]
    lines.append(rf"mechanism & method & {' & '.join(names)} \\")
    if any(powers.values()):
        units = [f"$10^{{{power}}}$" if power else "1" for power in powers.values()]
        lines.append(rf"\multicolumn{{2}}{{l}}{{in units of}} & {' & '.join(units)} \\")
    last = None
    for mechanism, method in dict.fromkeys((row["mechanism"], row["method"]) for row in rows):
        if mechanism != last:
            lines.append(r"\midrule")
        cells = [cells_of.get((mechanism, method, *column), "--") for column in columns]
        name = "" if mechanism == last else latex_text(mechanism) + marks.get(mechanism, "")
        lines.append(rf"{name} & {latex_text(method)} & {' & '.join(cells)} \\")
        exact = [exact_of.get((mechanism, method, *column)) for column in columns]
        if any(exact):
            texts = [each or "--" for each in exact]
            lines.append(rf" & {latex_text(method)}, in closed form & {' & '.join(texts)} \\")
        last = mechanism
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def _power_of(rows: Sequence[Mapping[str, Any]], epsilon: float, n: int) -> int:
    """The power of ten of a column, with which its least mean is from 1 to 10; 0 of coverage."""
    means = [
        row["mean"]
        for row in rows
        if (row["epsilon"], row["n"]) == (epsilon, n) and row["loss"] != COVERAGE
    ]
    return min((exponent(mean) for mean in means if not is_zero(mean)), default=0)


def alike(numbers: Sequence[float | None], power: int, digits: int) -> list[str]:
    r"""A mean, its error and its expectation over a power of ten, with the same decimals.

    >>> alike([0.0123456, 0.00066, 0.0123], -2, 3), alike([0.0123456, 0.000003, None], -2, 3)
    (['1.23', '0.07', '1.23'], ['1.2346', '0.0003', ''])
    >>> print(*alike([3e-31, 1e-31], -2, 2))  # beyond what is written without a power of ten
    $3.0 \cdot 10^{-29}$ $1.0 \cdot 10^{-29}$
    """
    scaled = [None if number is None else number / 10.0**power for number in numbers]
    mean, error, *_ = scaled
    if mean and not _LEAST < mean < _LARGEST:
        halves = ["" if each is None else f"{each:.{digits - 1}e}" for each in scaled]
        parts = [half.partition("e") for half in halves]
        return [rf"${text} \cdot 10^{{{int(tens)}}}$" if text else "" for text, _, tens in parts]
    decimals = digits - 1 - (exponent(mean) if mean else 0)
    if mean and error and error > _LEAST * mean:
        decimals = max(decimals, -exponent(error))
    decimals = max(0, decimals)
    return ["" if each is None else f"{each:.{decimals}f}" for each in scaled]


def exponent(value: float) -> int:
    """The power of ten of the first digit of a number.

    >>> exponent(0.00123), exponent(9.99), exponent(10.0)
    (-3, 0, 1)
    """
    return int(f"{value:e}".partition("e")[2])


def is_zero(mean: float) -> bool:
    """Whether a mean loss is 0, or the rounding error of shares that are right."""
    return mean <= _ZERO


# -----------------------------------------------------------------------------------------------
# The chart of a benchmark: mean losses as lines, one panel for each mechanism and setting.

AXES = ("n", "epsilon", "mechanism")
LINES = ("mechanism", "method")
_PANELS = 3  # beside each other
_WIDTH, _HEIGHT = 240, 190
_TICKS = 8  # at most, of an axis of many decades
_SUPERSCRIPTS = str.maketrans("-0123456789", "\N{SUPERSCRIPT MINUS}⁰¹²³⁴⁵⁶⁷⁸⁹")
_SMALL = 1e-3  # the least tick that is written without a power of ten
WIDTHS = {"column": 240.0, "text": 505.0}  # in points, of a paper with two columns
_NARROW = 60  # the least width of a panel, in points
_LETTER_OF_ROW = 4.5  # points of a letter of the label of a row of panels
_LEGEND = (24, 4.5)  # points of an entry of a legend, and of each letter of its name
_APART = 0.04  # of the range of a logarithmic axis: lines from each other
_FEW = 5  # times the least value, up to which an axis has the ticks of the program that draws
_TITLE = 30  # letters of a line of the title of the vertical axis
_NAMES = {"n": "people", "epsilon": "epsilon (nats)", "mechanism": "mechanism", "truth": "truth"}


def chart(
    rows: Sequence[dict[str, Any]],
    loss: str,
    x: str | None,
    lines: str | None,
    note: str,
    points_wide: float | None,
    is_titled: bool,
) -> Any:
    """Draw rows of a benchmark, all of one loss. ``note`` explains a mark behind names."""
    alt = require_altair()
    counts = {key: len({row[key] for row in rows}) for key in (*AXES, "method", "truth")}
    numbers = [key for key in ("n", "epsilon") if counts[key] > 1]
    names = ["mechanism"] if counts["mechanism"] > 1 and lines != "mechanism" else ["n"]
    axis = x or max(numbers or names, key=lambda key: counts[key])  # the others make panels
    if lines is None:
        more = counts["mechanism"] > counts["method"] and axis != "mechanism"
        lines = "mechanism" if more else "method"
    # The first key with several values makes the columns of panels, the others their rows.
    keys = ("mechanism", "method", "epsilon", "n", "truth")
    varying = [key for key in keys if key not in (axis, lines) and counts[key] > 1]
    columns, others = (varying[0], varying[1:]) if varying else (None, [])
    is_loss = rows[0]["loss"] != COVERAGE
    positive = [row for row in rows if is_loss and not is_zero(row["mean"])]
    zeros = dict.fromkeys(
        f"{row['method']} with {row['mechanism']} at epsilon {row['epsilon']:g}"
        for row in rows
        if is_zero(row["mean"])
    )
    about = [f"Bars extend two standard errors to each side.{f' {note}.' if note else ''}"]
    if positive and zeros:
        about.append(
            "A logarithmic axis cannot show errors of 0, so these are left out: "
            f"{', '.join(zeros)}."
        )
    rows = positive or rows
    if has_forms := any(row["exact"] is not None for row in rows):
        is_of_lines = axis != "mechanism"
        said = f"{'Lines' if is_of_lines else 'Ticks'} of the method inversion show its expected "
        said += "loss, computed by a formula."
        if is_of_lines and any(row["exact"] is None for row in rows):
            said += " Other lines join simulated means."
        about.insert(0, said)
    drawn = [_drawn(row, columns, others) for row in rows]
    base = alt.Chart()  # the data are of all panels
    log = alt.Scale(type="log", nice=False, padding=12)
    across = _across(alt, axis, rows, log)
    if axis != "mechanism":
        _set_apart(drawn, axis, lines)
    down = alt.Y(
        "mean:Q",
        title=textwrap.wrap(loss, 18 if points_wide and points_wide < WIDTHS["text"] else _TITLE),
        scale=log if positive else alt.Scale(zero=is_loss),
        axis=alt.Axis(format="~g", grid=True, **(_labelled(_ticks(drawn)) if positive else {})),
    )
    series = encoded(lines, list(dict.fromkeys(row[lines] for row in rows)), lines)
    dodge = {"xOffset": f"{lines}:N"} if axis == "mechanism" else {}
    bars = base.mark_rule().encode(
        x=across, y=alt.Y("low:Q"), y2="high:Q", color=series["color"], **dodge
    )
    dash = series.pop("strokeDash")
    points = base.mark_point(filled=True, size=25 if points_wide else 55, opacity=1)
    layers = [bars, points.encode(x=across, y=down, **series, **dodge)]
    if axis == "mechanism":
        ticks = base.mark_tick(thickness=1.5, size=14).transform_filter("isValid(datum.exact)")
        forms = ticks.encode(x=across, y="exact:Q", color=series["color"], **dodge)
        layers += [forms] if has_forms else []
    else:
        line = base.mark_line(strokeWidth=1.2)
        line = line.encode(x=across, y="line:Q", color=series["color"], strokeDash=dash)
        layers = [line, *layers]
    panel = alt.layer(*layers).resolve_legend(strokeDash="independent")
    width: float = _WIDTH
    if axis == "mechanism":  # mechanisms need room for their methods
        width = max(_WIDTH, counts["mechanism"] * (12 * counts["method"] + 20))
    across_panels = _PANELS
    if points_wide is not None:
        panels = counts[columns] if columns else 1
        fitting = max(1, int(points_wide // (2 * _NARROW)))
        across_panels = panels if others else min(panels, _PANELS, fitting)

    def drawn_with(width: float, height: float) -> Any:
        sized = panel.properties(width=width, height=height)
        facets: dict[str, Any] = {}
        letters = 8 if points_wide else 12
        if columns is not None and not others:
            facets["facet"] = _facet(alt, "column", drawn, alt.Facet, letters)
            facets["columns"] = across_panels
        elif columns is not None:
            facets["column"] = _facet(alt, "column", drawn, alt.Column, letters)
        if others:
            facets["row"] = _facet(alt, "row", drawn, alt.Row, letters)
        data = inline_data(drawn)
        whole = sized.facet(data=data, **facets) if facets else sized.properties(data=data)
        if columns is not None and not others and counts[columns] % across_panels:
            # Otherwise columns that end one row earlier have their axis one row lower.
            whole = whole.resolve_axis(x="independent")
        name = f"Mean of {rows[0]['runs']} runs"
        if is_titled:
            whole = whole.properties(title=titled(name, about))
        else:
            whole = whole.properties(description=" ".join([f"{name}.", *about]))
        whole = styled(whole)
        if points_wide is not None:
            _small(whole, points_wide, [row[lines] for row in rows])
        return whole

    if points_wide is None:
        return drawn_with(width, _HEIGHT)
    # What stands beside the panels takes the same room at every width of a panel.
    first = points_wide / across_panels
    width = first + (points_wide - _drawn_width(drawn_with(first, first))) / across_panels
    # The label of a row of panels stands upright beside it, and would run into the next one.
    label = max((len(row["row"]) for row in drawn), default=0) if others else 0
    height = max(min(_HEIGHT, 0.8 * max(width, _NARROW)), _LETTER_OF_ROW * label)
    whole = drawn_with(max(width, _NARROW), height)
    if _drawn_width(whole) > points_wide + 1:
        rule = "is too small for the panels, the legend and the title"
        remedy = "Pass a larger width, or leave out the title with title=False"
        raise ArgumentError("width", rule, f"{points_wide:g} points", remedy)
    return whole


def points_of(width: float | str | None) -> float | None:
    """A width in points, from a number or a name."""
    if isinstance(width, str):
        return WIDTHS[choice("width", width, tuple(WIDTHS))]
    return None if width is None else real("width", width)


def _small(whole: Any, points_wide: float, names: Sequence[str]) -> None:
    """Give a chart the letters of a paper, and its legend below."""
    entry, letter = _LEGEND
    in_a_row = max(1, int(points_wide // (entry + letter * max(map(len, names)))))
    sizes = {"labelFontSize": 7, "titleFontSize": 8}
    for config, changed in (
        (whole.config.axis, {**sizes, "titlePadding": 3}),
        (whole.config.legend, {**sizes, "orient": "bottom", "columns": in_a_row, "symbolSize": 30}),
        (whole.config.title, {"fontSize": 9, "subtitleFontSize": 7}),
    ):
        for key, value in changed.items():
            config[key] = value
    whole.config.padding = 2
    whole.config.facet = {"spacing": 10}


def _drawn_width(whole: Any) -> float:
    """The width of a chart that is drawn, in points."""
    buffer = io.StringIO()
    whole.save(buffer, format="svg")
    return float(re.findall(r'<svg[^>]* width="([\d.]+)', buffer.getvalue())[0])


def _drawn(row: dict[str, Any], columns: str | None, others: list[str]) -> dict[str, Any]:
    """The fields of a row that the chart shows."""
    low = max(row["mean"] - 2 * row["standard_error"], row["mean"] / 10)
    named = {
        **({} if columns is None else {"column": in_words(columns, row[columns])}),
        **({"row": ", ".join(in_words(key, row[key]) for key in others)} if others else {}),
    }
    line = row["mean"] if row["exact"] is None else row["exact"]
    high = min(
        row["mean"] + 2 * row["standard_error"], 1.0 if row["loss"] == COVERAGE else math.inf
    )
    return {**row, "line": line, "low": low, "high": high, **named}


def _ticks(drawn: Sequence[dict[str, Any]]) -> Any:
    """The ticks of a logarithmic axis, each with a line of the grid, which must not merge."""
    low = min(min(row["low"], row["line"]) for row in drawn)
    high = max(max(row["high"], row["line"]) for row in drawn)
    if high < _FEW * low:
        return require_altair().Undefined  # its own
    first, last = exponent(low), exponent(high)
    digits = (1, 2, 5) if last - first <= 2 else (1,)
    step = 1 + (last - first) // _TICKS
    return [digit * 10.0**power for power in range(first, last + 1, step) for digit in digits]


def _labelled(ticks: Any) -> dict[str, Any]:
    """The ticks of an axis, as powers of ten where decimals would be long."""
    if not isinstance(ticks, list) or min(ticks) >= _SMALL:
        return {"values": ticks}
    labels = {}
    for tick in ticks:
        digit, _, power = f"{tick:.0e}".partition("e")
        ten = f"10{str(int(power)).translate(_SUPERSCRIPTS)}"
        key = f"{digit}e{int(power):+d}"
        labels[key] = ten if digit == "1" else f"{digit}\N{MIDDLE DOT}{ten}"
    return {"values": ticks, "labelExpr": f"{json.dumps(labels)}[format(datum.value, '.0e')]"}


def in_words(key: str, value: Any) -> str:
    """A value of an axis in words, such as "1,000 people"."""
    if key == "n":
        return f"{value:,} people"
    return f"epsilon {value:g}" if key == "epsilon" else str(value)


def _facet(alt: Any, field: str, drawn: Sequence[dict[str, Any]], kind: Any, letters: int) -> Any:
    """The panels of one field, in the order of the rows."""
    header = alt.Header(title=None, labelFontSize=letters, labelLimit=_WIDTH)
    order = list(dict.fromkeys(row[field] for row in drawn))
    return kind(f"{field}:N", header=header, sort=order, title=None)


def _across(alt: Any, axis: str, rows: Sequence[dict[str, Any]], log: Any) -> Any:
    """The horizontal axis, with a tick at every value."""
    if axis == "mechanism":
        order = list(dict.fromkeys(row["mechanism"] for row in rows))
        return alt.X("mechanism:N", title=None, sort=order, axis=alt.Axis(labelAngle=-30))
    values = sorted({row[axis] for row in rows})
    ticks = alt.Axis(values=values, format="~s" if axis == "n" else "~g", labelOverlap=True)
    return alt.X("across:Q", title=_NAMES[axis], scale=log, axis=ticks)


def _set_apart(drawn: Sequence[dict[str, Any]], axis: str, lines: str) -> None:
    """Move rows of one value of a logarithmic axis beside each other, so that bars are all seen."""
    names = list(dict.fromkeys(row[lines] for row in drawn))
    values = np.log(sorted({row[axis] for row in drawn}))
    gaps = [*np.diff(values), 1.0]
    step = min(_APART * (values[-1] - values[0] or 1.0), min(gaps) / (2 * len(names)))
    for row in drawn:
        steps = names.index(row[lines]) - (len(names) - 1) / 2
        row["across"] = row[axis] * math.exp(step * steps)
