"""What a terminal shows: tables, a progress bar, counts in words."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from threading import Timer
from typing import TYPE_CHECKING, Any

from warner.estimate import Estimate, as_text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def counted(n: int, one: str, many: str) -> str:
    """A number of things in words.

    >>> counted(1, "person", "people"), counted(2000, "person", "people")
    ('1 person', '2,000 people')
    """
    return f"{n:,} {one if n == 1 else many}"


def console(**options: Any) -> Console:
    """Standard output, or standard error with ``stderr=True``; files and pipes get whole lines, not 80 columns."""
    from rich.console import Console

    screen = Console(highlight=False, **options)
    if not screen.is_terminal:
        screen.width = 200
    return screen


@contextlib.contextmanager
def progress(what: str) -> Iterator[Callable[[int, int | None], None]]:
    """A progress bar on standard error, only on a terminal and only after a second."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    screen = console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:,}"), TimeElapsedColumn())
    bar = Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal)
    task = bar.add_task(what, total=None)
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
        table.add_row(*map(Text, row))
    return table


def show_estimate(result: Estimate, level: float, target: str, truth: Any = None) -> None:
    """Print the table of one estimate and what to know about it."""
    columns: dict[str, Any] = {"value": "left", **({} if truth is None else {"truth": "right"})}
    columns |= {"estimate": "right", f"{100 * level:.4g} % interval": "right", "n": "right"}
    rows = []
    for i, row in enumerate(result.rows(level, target)):
        value = as_text(row["value"])
        known = [] if truth is None else [f"{truth[i]:.4f}"]
        rows.append([value, *known, f"{row['estimate']:.4f}", f"{row['low']:.4f} .. {row['high']:.4f}", f"{row['n']:,.0f}"])
    title = f"{result.attribute or 'value'}: {counted(result.n, 'report', 'reports')}, {result.method}"
    whom = "the population they were drawn from" if target == "population" else "these respondents"
    gap = "" if result.gap is None else f" Gap {result.gap:.1e} nats per report."
    console().print(title, style="bold", markup=False)
    console().print(grid(columns, rows))
    about = f"Intervals are for {whom}, around the unbiased estimate, each on its own."
    if not result.has_intervals:
        about = "There are no intervals: different distributions make the same reports."
    only = "" if result.unique is None else f"\nThe maximum is {result.unique}."
    console().print(f"{about}\n{result.status.value.capitalize()}.{gap}{only}\n")


def csv_of(estimates: list[Estimate], level: float, target: str) -> str:
    """The rows of several estimates as CSV."""
    import csv
    import io

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["attribute", "value", "estimate", "low", "high", "n", "level", "target"])
    for result in estimates:
        for row in result.rows(level, target):
            value = as_text(row["value"])
            writer.writerow([result.attribute, value, row["estimate"], row["low"], row["high"], row["n"], level, target])
    return out.getvalue()
