"""What a terminal shows: tables, a progress bar, counts in words."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from threading import Timer
from typing import TYPE_CHECKING, Any

import numpy as np

from warner._core.errors import (
    IdentifiabilityError,
)
from warner._core.text import (
    visible,
)
from warner.design.comparison import LOSSES, Comparison
from warner.design.planning import Plan
from warner.design.theory import expected_loss
from warner.mechanisms import Mechanism
from warner.results.estimate import Estimate
from warner.results.redistribution import Redistributed
from warner.results.tables import as_text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def plural(n: int, one: str, many: str) -> str:
    """A number of things in words.

    >>> plural(1, "person", "people"), plural(2000, "person", "people")
    ('1 person', '2,000 people')
    """
    return f"{n:,} {one if n == 1 else many}"


def console(**options: Any) -> Console:
    """Standard output, or standard error with ``stderr=True``; files and pipes get whole lines, not 80 columns.

    Labels and names come from files of others: text is printed as it is, without markup, and made :func:`visible`.
    """
    from rich.console import Console

    class Screen(Console):
        def print(self, *objects: Any, **settings: Any) -> None:
            super().print(*(visible(o) if isinstance(o, str) else o for o in objects), **settings)

    screen = Screen(highlight=False, markup=False, emoji=False, **options)
    if not screen.is_terminal:
        screen.width = 260
    return screen


@contextlib.contextmanager
def progress(what: str) -> Iterator[Callable[[int, int | None], None]]:
    """A progress bar on standard error, only on a terminal and only after a second."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    screen = console(stderr=True)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.completed:,}"),
        TimeElapsedColumn(),
    )
    bar = Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal)
    task = bar.add_task(visible(what), total=None)
    timer = Timer(1.0, bar.start)
    timer.daemon = True
    timer.start()

    def step(done: int, total: int | None) -> None:
        bar.update(task, completed=done, total=total)

    try:
        yield step
    finally:
        timer.cancel()
        timer.join()
        bar.stop()


def grid(columns: dict[str, Any], rows: list[list[str]]) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name, justify in columns.items():
        table.add_column(name, justify=justify, overflow="fold")
    for row in rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    return table


def show_estimate(result: Estimate, level: float, target: str, truth: Any = None) -> None:
    """Print the table of one estimate and what to know about it."""
    if keys := result.key_rows(level, target):
        return _show_keys(result, keys, level)
    columns: dict[str, Any] = {"value": "left", **({} if truth is None else {"truth": "right"})}
    columns |= {"estimate": "right", f"{100 * level:.4g} % interval": "right", "n": "right"}
    rows = []
    for i, row in enumerate(result.rows(level, target)):
        value = as_text(row["value"])
        known = [] if truth is None else [f"{truth[i]:.4f}"]
        rows.append(
            [
                value,
                *known,
                f"{row['estimate']:.4f}",
                f"{row['low']:.4f} .. {row['high']:.4f}",
                f"{row['n']:,.0f}",
            ]
        )
    title = (
        f"{result.attribute or 'value'}: {plural(result.n, 'report', 'reports')}, {result.method}"
    )
    whom = "the population they were drawn from" if target == "population" else "these respondents"
    gap = "" if result.gap is None else f" Gap {result.gap:.1e} nats per report."
    console().print(title, style="bold")
    if rows:
        console().print(grid(columns, rows))
    kinds = {
        "wald": f"Intervals are for {whom}, around the unbiased estimate, each on its own.\n",
        "posterior": f"Intervals are for {whom}, of the estimator's own posterior, each on its own.\n",
        "none": "There are no intervals: different distributions make the same reports.\n",
    }
    about = kinds[result.interval_kind(target)] if rows else ""
    if result.fit.mean is not None or (result.fit.by_draws and result.domain.points is not None):
        each = [
            f"{m['estimate']:.6g}, {100 * level:.4g} % interval {m['low']:.6g} .. {m['high']:.6g}"
            for m in result.means(level)
        ]
        about += f"Mean {'; '.join(each)}, for the population they were drawn from.\n"
    only = "" if result.unique is None else f"\nThe maximum is {result.unique}."
    console().print(f"{about}{_method_and_status(result)}{gap}{only}\n")


def _method_and_status(result: Estimate) -> str:
    """What the method computes, and how the fit ended, as sentences."""
    sentences = [text for text in (result.estimator.summary, result.status.value) if text]
    return " ".join(f"{text[0].upper()}{text[1:]}." for text in sentences)


def _show_keys(result: Estimate, keys: list[dict[str, Any]], level: float) -> None:
    """Print how frequent every key is and the mean of its values."""
    about = f"{100 * level:.4g} % interval"
    columns = {
        "key": "left",
        "frequency": "right",
        about: "right",
        "mean": "right",
        f"{about} of the mean": "right",
        "n": "right",
    }
    rows = []
    for row in keys:
        name = as_text(row["value"]) + (" (absent?)" if row["status"] == "key_absent" else "")
        share, mean = (
            f"{row['low']:.4f} .. {row['high']:.4f}",
            f"{row['mean_low']:.6g} .. {row['mean_high']:.6g}",
        )
        rows.append(
            [name, f"{row['estimate']:.4f}", share, f"{row['mean']:.6g}", mean, f"{row['n']:,.0f}"]
        )
    console().print(
        f"{result.attribute or 'value'}: {plural(result.n, 'report', 'reports')}, {result.method}",
        style="bold",
    )
    console().print(grid(columns, rows))
    console().print(
        "Intervals are around the unbiased estimates, each on its own; of a mean they are all that is possible where few have the key."
    )
    console().print(f"{_method_and_status(result)}\n")


def show_redistributed(result: Redistributed) -> None:
    """Print the shares of values after the tags' were given back."""
    rows = [
        [as_text(value), f"{p:.4f}"]
        for value, p in zip(result.domain.labels, result.probabilities, strict=True)
    ]
    tags = ", ".join(f"@{tag} {share:.4f}" for tag, share in result.bots.items())
    console().print(
        f"{result.estimate.attribute or 'value'}: with the shares of tags ({tags}) given back",
        style="bold",
    )
    console().print(grid({"value": "left", "estimate": "right"}, rows))
    console().print(
        f"Where what people hide under a tag is not known, this can add up to {result.worst_case:.4f} to the sum of absolute errors.\n"
    )


def show_comparison(attribute: str, found: Comparison) -> None:
    """Print methods from the least error to the largest."""
    about, _ = LOSSES[found.loss]
    console().print(
        f"{attribute}: {about} on {found.runs} tallies like this one of {plural(found.n, 'report', 'reports')}",
        style="bold",
    )
    columns: dict[str, Any] = {
        "method": "left",
        "error": "right",
        "more than the best": "right",
        "best on": "right",
    }
    rows = []
    for line in found.lines:
        more = "" if line is found.best else f"{line.behind:.3g} +- {line.behind_margin:.1g}"
        rows.append(
            [repr(line.method), f"{line.error:.4g} +- {line.margin:.1g}", more, f"{line.wins:.0%}"]
        )
    console().print(grid(columns, rows))
    for name, why in found.left_out.items():
        console().print(f"{name} is left out: {why}")


def in_people(weight: float | None) -> str:
    """The weight of one report in words.

    >>> in_people(2.1640), in_people(1.0), in_people(None)
    ('2.164 people', '1 person', '')
    """
    return "" if weight is None else f"{weight:,.4g} {'person' if weight == 1 else 'people'}"


def show_plan(attribute: str, ranking: Plan, chosen: Mechanism) -> None:
    """Print a ranking of mechanisms; the study's own is marked."""
    columns: dict[str, Any] = {
        "mechanism": "left",
        "expected error": "right",
        "of no protection": "right",
        "weight of one report": "right",
    }
    wanted = ranking.open.people is not None
    if wanted:
        columns["people needed"] = "right"
    rows = []
    for option in (*ranking.options, ranking.open):
        own = option.mechanism is not None and option.mechanism.header == chosen.header
        more = [f"{option.people:,}"] if option.people is not None else []
        times = f"{option.error / ranking.open.error:.3g} times"
        rows.append(
            [
                option.name + (" (the study's)" if own else ""),
                f"{option.error:.4g}",
                times,
                in_people(option.weight),
                *more,
            ]
        )
    sensitive_mask = (
        ""
        if chosen.sensitive_mask is None
        else f", {int(chosen.sensitive_mask.sum())} of them sensitive"
    )
    about = f"{chosen.domain.size} values{sensitive_mask}, epsilon {chosen.requested:.4g}, {plural(ranking.n, 'person', 'people')}"
    console().print(f"{attribute}: {about}, {ranking.loss} loss", style="bold")
    console().print(grid(columns, rows))
    if not any(
        option.mechanism is not None and option.mechanism.header == chosen.header
        for option in ranking.options
    ):
        name = type(chosen).__name__
        try:
            value = expected_loss(
                chosen, np.full(chosen.domain.size, 1 / chosen.domain.size), ranking.n, ranking.loss
            )
            console().print(f"The study's own variant of {name}: expected error {value:.4g}")
        except IdentifiabilityError:
            console().print(
                f"The study's own {name} has no unbiased estimate of shares to compare."
            )
    if ranking.loss == "l1" and ranking.options[-1].error > 2:
        console().print(
            "An error above 2, the most that two distributions differ by, means that the estimate is of no use."
        )
    for name, why in ranking.left_out.items():
        console().print(f"{name} is left out: {why}")


# What makes a spreadsheet take a cell for a formula, also in full width, and a number, which is none.
_FORMULA = re.compile(r"'*\s*[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]")
_PLAIN_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?")


def as_cell(value: Any) -> str:
    """A value of a domain, or a name, as a cell of a CSV table that spreadsheets show and do not run.

    A text that starts with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return gets a ``'`` in front, after blanks and quotation
    marks too, so that a label is the cell without its first ``'``. Numbers stay as they are.

    >>> as_cell("=1+1"), as_cell("@home"), as_cell(-5), as_cell("-5"), as_cell("a-b")
    ("'=1+1", "'@home", '-5', '-5', 'a-b')
    """
    text = visible(as_text(value))
    return f"'{text}" if _FORMULA.match(text) and not _PLAIN_NUMBER.fullmatch(text) else text


def csv_of(
    estimates: list[Estimate],
    level: float,
    target: str,
    given_back: list[Redistributed] | None = None,
) -> str:
    """The rows of several estimates as CSV, and of those whose tags were given back, which have no intervals.

    Labels and names of attributes that a spreadsheet would take for a formula have a ``'`` in front: see :func:`as_cell`.
    """
    import csv
    import io

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["attribute", "value", "estimate", "low", "high", "n", "level", "target"])
    for result in estimates:
        name = result.attribute or ""
        for row in result.rows(level, target):
            value = as_cell(row["value"])
            writer.writerow(
                [
                    as_cell(name),
                    value,
                    row["estimate"],
                    row["low"],
                    row["high"],
                    row["n"],
                    level,
                    target,
                ]
            )
        for row in result.key_rows(level, target):
            value = as_cell(row["value"])
            writer.writerow(
                [
                    as_cell(f"{name} (key)"),
                    value,
                    row["estimate"],
                    row["low"],
                    row["high"],
                    row["n"],
                    level,
                    target,
                ]
            )
            writer.writerow(
                [
                    as_cell(f"{name} (mean of key)"),
                    value,
                    row["mean"],
                    row["mean_low"],
                    row["mean_high"],
                    row["n"],
                    level,
                    target,
                ]
            )
        for i, m in enumerate(result.means(level, target) if result.fit.mean is not None else []):
            axis = (
                f" of coordinate {i}"
                if result.fit.mean is not None and len(result.fit.mean.value) > 1
                else ""
            )
            writer.writerow(
                [
                    as_cell(f"{name} (mean{axis})"),
                    "",
                    m["estimate"],
                    m["low"],
                    m["high"],
                    result.n,
                    level,
                    target,
                ]
            )
    for shares in given_back or []:
        name, n = as_cell(f"{shares.estimate.attribute} (tags given back)"), shares.estimate.n
        for value, p in zip(shares.domain.labels, shares.probabilities.tolist(), strict=True):
            writer.writerow([name, as_cell(value), p, "", "", p * n, level, target])
    return out.getvalue()
