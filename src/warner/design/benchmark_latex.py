r"""The mean losses of a benchmark as tables in LaTeX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_SPECIAL = {each: f"\\{each}" for each in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


def tables(rows: Sequence[Mapping[str, Any]], digits: int) -> str:
    """One table for each truth, for the package booktabs."""
    truths = dict.fromkeys(row["truth"] for row in rows)
    parts = []
    for truth in truths:
        title = f"% {truth}\n" if len(truths) > 1 else ""
        parts.append(title + _table([row for row in rows if row["truth"] == truth], digits))
    return "\n\n".join(parts)


def _table(rows: Sequence[Mapping[str, Any]], digits: int) -> str:
    columns = list(dict.fromkeys((row["epsilon"], row["n"]) for row in rows))
    means = {
        (row["mechanism"], row["method"], row["epsilon"], row["n"]): number(row["mean"], digits)
        for row in rows
    }
    least = {
        column: number(min(r["mean"] for r in rows if (r["epsilon"], r["n"]) == column), digits)
        for column in columns
    }
    budgets = dict.fromkeys(epsilon for epsilon, _ in columns)
    spans = {e: sum(epsilon == e for epsilon, _ in columns) for e in budgets}
    head = "".join(
        rf" & \multicolumn{{{span}}}{{c}}{{$\varepsilon = {e:g}$}}" for e, span in spans.items()
    )
    lines = [
        rf"\begin{{tabular}}{{ll{'r' * len(columns)}}}",
        r"\toprule",
        rf" &{head} \\",
        rf"mechanism & method{''.join(f' & $n = {n}$' for _, n in columns)} \\",
    ]
    last = None
    for mechanism, method in dict.fromkeys((row["mechanism"], row["method"]) for row in rows):
        if mechanism != last:
            lines.append(r"\midrule")
        cells = []
        for column in columns:
            text = means.get((mechanism, method, *column), "--")
            cells.append(rf"\textbf{{{text}}}" if text == least[column] else text)
        name = "" if mechanism == last else escaped(mechanism)
        lines.append(rf"{name} & {escaped(method)} & {' & '.join(cells)} \\")
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


def escaped(text: str) -> str:
    r"""A text with the characters escaped that LaTeX reads as commands.

    >>> print(escaped("em:100 50% a_b"))
    em:100 50\% a\_b
    """
    return "".join(_SPECIAL.get(each, each) for each in text)
