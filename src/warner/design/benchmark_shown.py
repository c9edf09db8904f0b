"""Benchmarks as papers show them: tables in LaTeX, and charts."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from warner._core.table import latex_text
from warner.results.drawing import inline_data, require_altair, styled
from warner.results.named_summaries import encoded

# -----------------------------------------------------------------------------------------------
# The mean losses of a benchmark as tables in LaTeX.


def latex_table(
    rows: Sequence[Mapping[str, Any]],
    digits: int,
    errors: bool,
    bold: Collection[tuple[str, str, float, int]],
    weaker: Collection[str],
) -> str:
    """The rows of one truth as a table for the package booktabs.

    ``bold`` has the mechanism, method, epsilon and n of cells, and ``weaker`` the mechanisms with a
    dagger.
    """
    columns = list(dict.fromkeys((row["epsilon"], row["n"]) for row in rows))
    cells_of, exact_of = {}, {}
    for row in rows:
        key = row["mechanism"], row["method"], row["epsilon"], row["n"]
        exact_of[key] = row["exact"]
        text = number(row["mean"], digits)
        text = rf"\textbf{{{text}}}" if key in bold else text
        cells_of[key] = f"{text} ({number(row['standard_error'], 2)})" if errors else text
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
    last = None
    for mechanism, method in dict.fromkeys((row["mechanism"], row["method"]) for row in rows):
        if mechanism != last:
            lines.append(r"\midrule")
        cells = [cells_of.get((mechanism, method, *column), "--") for column in columns]
        dagger = r"$^\dagger$" * (mechanism in weaker)
        name = "" if mechanism == last else latex_text(mechanism) + dagger
        lines.append(rf"{name} & {latex_text(method)} & {' & '.join(cells)} \\")
        exact = [exact_of.get((mechanism, method, *column)) for column in columns]
        if any(each is not None for each in exact):
            texts = ["--" if each is None else number(each, digits) for each in exact]
            lines.append(rf" & {latex_text(method)}, in closed form & {' & '.join(texts)} \\")
        last = mechanism
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def number(value: float, digits: int) -> str:
    r"""A number with its significant digits, zeros at the end too.

    >>> print(number(0.21, 3), number(120.0, 3), number(0.0000123, 2))
    0.210 120 $1.2 \cdot 10^{-5}$
    """
    mantissa, _, power = f"{value:#.{digits}g}".partition("e")
    text = mantissa.removesuffix(".")
    return rf"${text} \cdot 10^{{{int(power)}}}$" if power else text


# -----------------------------------------------------------------------------------------------
# The chart of a benchmark: mean losses as lines, one panel for each mechanism and setting.

AXES = ("n", "epsilon", "mechanism")
LINES = ("mechanism", "method")
_PANELS = 3  # beside each other
_WIDTH, _HEIGHT = 240, 190
_BARS = "bars: 2 standard errors to each side"
_TITLE = 30  # letters of a line of the title of the vertical axis
_NAMES = {"n": "people", "epsilon": "epsilon (nats)", "mechanism": "mechanism", "truth": "truth"}


def chart(
    rows: Sequence[dict[str, Any]], loss: str, x: str | None, lines: str | None, note: str
) -> Any:
    """Draw rows of a benchmark, all of one loss. ``note`` explains a mark behind names."""
    alt = require_altair()
    counts = {key: len({row[key] for row in rows}) for key in (*AXES, "method", "truth")}
    axis = x or next((key for key in AXES if counts[key] > 1 and key != lines), "n")
    if lines is None:
        more = counts["mechanism"] > counts["method"] and axis != "mechanism"
        lines = "mechanism" if more else "method"
    # The first key with several values makes the columns of panels, the others their rows.
    keys = ("mechanism", "method", "epsilon", "n", "truth")
    varying = [key for key in keys if key not in (axis, lines) and counts[key] > 1]
    columns, others = (varying[0], varying[1:]) if varying else (None, [])
    positive = all(row["mean"] > 0 for row in rows)
    drawn = [_drawn(row, columns, others) for row in rows]
    base = alt.Chart()  # the data are of all panels
    log = alt.Scale(type="log", nice=False, padding=12)
    across = _across(alt, axis, rows, log)
    down = alt.Y(
        "mean:Q",
        title=[
            *textwrap.wrap(loss, _TITLE),
            f"mean of {rows[0]['runs']} runs",
            _BARS,
            *([note] if note else []),
        ],
        scale=log if positive else alt.Undefined,
        axis=alt.Axis(format="~g", grid=True),
    )
    series = encoded(lines, list(dict.fromkeys(row[lines] for row in rows)))
    dodge = {"xOffset": f"{lines}:N"} if axis == "mechanism" else {}
    bars = base.mark_rule().encode(
        x=across, y=alt.Y("low:Q"), y2="high:Q", color=series["color"], **dodge
    )
    if axis == "mechanism":
        marks = base.mark_point(filled=True, size=55, opacity=1)
        series = {key: value for key, value in series.items() if key != "strokeDash"}
    else:
        marks = base.mark_line(point=alt.OverlayMarkDef(filled=True, size=45))
    layers = alt.layer(bars, marks.encode(x=across, y=down, **series, **dodge))
    width = _WIDTH
    if axis == "mechanism":  # mechanisms need room for their methods
        methods = len({row["method"] for row in rows})
        width = max(_WIDTH, counts["mechanism"] * (12 * methods + 20))
    layers = layers.properties(width=width, height=_HEIGHT)
    facets: dict[str, Any] = {}
    if columns is not None and not others:
        facets |= {"facet": _facet(alt, "column", drawn, alt.Facet), "columns": _PANELS}
    elif columns is not None:
        facets["column"] = _facet(alt, "column", drawn, alt.Column)
    if others:
        facets["row"] = _facet(alt, "row", drawn, alt.Row)
    data = inline_data(drawn)
    whole = layers.facet(data=data, **facets) if facets else layers.properties(data=data)
    return styled(whole)


def _drawn(row: dict[str, Any], columns: str | None, others: list[str]) -> dict[str, Any]:
    """The fields of a row that the chart shows."""
    low = max(row["mean"] - 2 * row["standard_error"], row["mean"] / 10)
    named = {
        **({} if columns is None else {"column": _named(columns, row[columns])}),
        **({"row": ", ".join(_named(key, row[key]) for key in others)} if others else {}),
    }
    return {**row, "low": low, "high": row["mean"] + 2 * row["standard_error"], **named}


def _named(key: str, value: Any) -> str:
    """The heading of a panel."""
    if key == "n":
        return f"{value:,} people"
    return f"epsilon {value:g}" if key == "epsilon" else str(value)


def _facet(alt: Any, field: str, drawn: Sequence[dict[str, Any]], kind: Any) -> Any:
    """The panels of one field, in the order of the rows."""
    header = alt.Header(title=None, labelFontSize=12, labelLimit=_WIDTH)
    order = list(dict.fromkeys(row[field] for row in drawn))
    return kind(f"{field}:N", header=header, sort=order, title=None)


def _across(alt: Any, axis: str, rows: Sequence[dict[str, Any]], log: Any) -> Any:
    """The horizontal axis, with a tick at every value."""
    if axis == "mechanism":
        order = list(dict.fromkeys(row["mechanism"] for row in rows))
        return alt.X("mechanism:N", title=None, sort=order, axis=alt.Axis(labelAngle=-30))
    values = sorted({row[axis] for row in rows})
    ticks = alt.Axis(values=values, format="~s" if axis == "n" else "~g", labelOverlap=True)
    return alt.X(f"{axis}:Q", title=_NAMES[axis], scale=log, axis=ticks)
