"""What a terminal shows: tables of results, counts in words."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from warner._core.errors import IdentifiabilityError
from warner._core.text import visible
from warner.design.audits import Audit
from warner.design.comparison import Comparison
from warner.design.differences import WantedDifference
from warner.design.planning import LOSS_NAMES, Plan, can_simulate
from warner.design.theory import expected_loss
from warner.estimators.fit import Status
from warner.mechanisms import Mechanism
from warner.privacy.composition import compose
from warner.reports.tally import Tally
from warner.results.conditional import Answered
from warner.results.csv_table import estimate_rows
from warner.results.estimate import Estimate
from warner.results.intervals import at_every_look
from warner.results.named_summaries import Named, applicable, parse, summary_rows
from warner.results.redistribution import Redistributed
from warner.results.tables import as_text

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.table import Table

_BETWEEN = 3  # the width of what stands between two columns
_MOST_FOLDED = 2 / 3  # the part of its width that a column may lose by folding
Side = Literal["left", "right"]

INTERVALS = {
    "wald": "Each is around the unbiased estimate. It holds for its value, not for all at once.",
    "average": (
        "Together they hold as many of the values' shares as the percentage says, on average over "
        "the values. A large share is missed more often than a small one, at most half of the "
        "time. Intervals of kind 'wald' hold for each value."
    ),
    "simultaneous": "They are around the unbiased estimates, and hold for all values at once.",
    "anytime": (
        "They are around the unbiased estimates. Each holds for its value at all numbers of "
        "reports together, for somebody who looks again and again."
    ),
    "bootstrap": "Each is from the bootstrap. It holds for its value, not for all at once.",
    "posterior": "Each is from the posterior. It holds for its value, not for all at once.",
}
NO_INTERVALS = "There are no intervals: different distributions make the same reports."
WEIGHT = (
    "The weight of one report is the number of people that a forged report can add to the "
    "estimated count of a value."
)


# Shares that are all shown. Of more values the largest are shown, for a table of thousands of lines
# takes long to draw and nobody finds the largest in it.
_LARGEST_SHOWN = 1000
_MOST_SHOWN = 50

_MEDIAN = parse("median")


def plural(n: int, one: str, many: str) -> str:
    """A number of things in words.

    Args:
        n: the number.
        one: the name of a single thing.
        many: the name of several things.

    >>> plural(1, "person", "people"), plural(2000, "person", "people")
    ('1 person', '2,000 people')
    """
    return f"{n:,} {one if n == 1 else many}"


def in_people(weight: float | None) -> str:
    """The weight of one report in words.

    Args:
        weight: the weight in people; None where it is not known.

    >>> in_people(2.1640), in_people(1.0), in_people(None)
    ('2.164 people', '1 person', '')
    """
    return "" if weight is None else f"{weight:,.4g} {'person' if weight == 1 else 'people'}"


def console(**options: Any) -> Console:
    """Standard output, or standard error with ``stderr=True``.

    Files and pipes get whole lines, unless the variable COLUMNS states a width. Labels and names
    can come from files of other people, so text is printed without markup and made
    :func:`visible`.
    """
    from rich.console import Console

    class Screen(Console):
        def print(self, *objects: Any, **settings: Any) -> None:
            super().print(*(visible(o) if isinstance(o, str) else o for o in objects), **settings)

    screen = Screen(highlight=False, markup=False, emoji=False, **options)
    if not screen.is_terminal and not os.environ.get("COLUMNS", "").isdigit():
        screen.width = 260
    return screen


@dataclass(frozen=True)
class FittingTable:
    """A table that fits the width of the screen.

    Where it is too wide, the widest column folds. Where that would leave it less than a third of
    its width, each row is a block of lines: its first cell, and then "title: cell" for each other
    cell that is not empty.

    Attributes:
        columns: {title: the side on which the cells of the column are aligned}.
        rows: the cells as texts.
    """

    columns: Mapping[str, Side]
    rows: Sequence[Sequence[str]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.cells import cell_len
        from rich.padding import Padding
        from rich.text import Text

        cells = [[visible(cell) for cell in row] for row in self.rows]
        lines = [list(self.columns), *cells]
        widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
        excess = sum(widths) + _BETWEEN * len(widths) - options.max_width
        widest = max(widths)
        if excess <= 0 or excess <= _MOST_FOLDED * widest:
            yield self._grid(cells, widths.index(widest) if excess > 0 else None)
            return
        titles = [title.strip() for title in self.columns]
        for first, *others in cells:
            yield Text(f"{titles[0]}: {first}" if titles[0] else first)
            for title, cell in zip(titles[1:], others, strict=True):
                if cell:
                    yield Padding(
                        Text(f"{title}: {cell}" if title else cell), (0, 0, 0, 2), expand=False
                    )
        yield Text()

    def _grid(self, cells: Sequence[Sequence[str]], folds: int | None) -> Table:
        """The table with its columns beside each other, of which at most one folds."""
        from rich import box
        from rich.table import Table
        from rich.text import Text

        grid = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for i, (name, side) in enumerate(self.columns.items()):
            grid.add_column(
                name, justify=side, overflow="fold", no_wrap=folds is not None and i != folds
            )
        for row in cells:
            grid.add_row(*map(Text, row))
        return grid


def table(columns: Mapping[str, Side], rows: Sequence[Sequence[str]]) -> FittingTable:
    """A table for the screen.

    Args:
        columns: {title: the side on which the cells of the column are aligned}.
        rows: the cells as texts.
    """
    return FittingTable(columns, rows)


def show_estimate(
    result: Estimate,
    level: float,
    target: str,
    truth: np.ndarray | None = None,
    kind: str | None = None,
) -> None:
    """Print the table of one estimate, its intervals and its status.

    Args:
        result: the estimate.
        level: coverage of the intervals.
        target: ``"population"`` or ``"respondents"``.
        truth: the true shares (K,), where they are known.
        kind: the kind of intervals of the shares; None for the default.
    """
    if keys := result.key_rows(level, target):
        return _show_keys(result, keys, level)
    columns: dict[str, Side] = {"value": "left"}
    if truth is not None:
        columns["truth"] = "right"
    columns |= {"estimate": "right", f"{100 * level:.4g} % interval": "right", "n": "right"}
    rows, every = [], list(result.rows(level, target, kind))
    largest = sorted(range(len(every)), key=lambda i: -every[i]["estimate"])[:_MOST_SHOWN]
    for i in range(len(every)) if len(every) <= _LARGEST_SHOWN else largest:
        row = every[i]
        known = [] if truth is None else [f"{truth[i]:.4f}"]
        interval = f"{row['low']:.4f} .. {row['high']:.4f}"
        share, n = f"{row['estimate']:.4f}", f"{row['n']:,.0f}"
        rows.append([as_text(row["value"]), *known, share, interval, n])
    out = console()
    out.print(_title(result), style="bold")
    if rows:
        out.print(table(columns, rows))
        if len(rows) < len(every):
            out.print(
                f"These are the {len(rows)} largest of {len(every):,} shares. "
                "--csv FILE writes all of them."
            )
        out.print(_about_intervals(result.interval_kind(target, kind), target))
        if result.domain.silence is not None:
            _show_answered(result.answered(), level, target, at_every_look(kind))
    if result.fit.mean is not None or (
        result.has_posterior_intervals and result.domain.answered.points is not None
    ):
        out.print(_means(result, level, at_every_look(kind)))
    gap = "" if result.gap is None else f" Gap {result.gap:.1e} nats per report."
    unique = "" if result.unique is None else f"\nThe maximum is {result.unique}."
    out.print(f"{_method_and_status(result)}{gap}{unique}\n")


def _show_answered(given: Answered, level: float, target: str, kind: str | None) -> None:
    """Print the share of people who answered, and the shares among them."""
    share = given.row(level, target, kind)
    columns: dict[str, Side] = {"value": "left", "of those who answered": "right"}
    columns |= {f"{100 * level:.4g} % interval": "right", "n": "right"}
    every = given.rows(level, target, kind)
    largest = sorted(range(len(every)), key=lambda i: -every[i]["estimate"])[:_MOST_SHOWN]
    rows = []
    for i in range(len(every)) if len(every) <= _LARGEST_SHOWN else largest:
        row = every[i]
        limits = f"{row['low']:.4f} .. {row['high']:.4f}"
        value = as_text(row["value"])
        rows.append([value, f"{row['estimate']:.4f}", limits, f"{row['n']:,.0f}"])
    out = console()
    about = f"{100 * level:.4g} % interval {share['low']:.4f} .. {share['high']:.4f}"
    out.print(f"{share['estimate']:.4f} of all people answered, {about}.", style="bold")
    out.print(table(columns, rows))
    out.print(
        "Each of these intervals holds for its value, not for all at once. They say nothing about "
        "what silent people would have answered."
    )


def show_groups(
    names: Sequence[str],
    estimates: Sequence[tuple[Sequence[Any], Estimate]],
    level: float,
    target: str,
    kind: str | None = None,
    summaries: Callable[[Estimate], Sequence[Named]] | None = None,
) -> None:
    """Print one table of the estimates of groups.

    Args:
        names: the names of the public columns.
        estimates: the public values of each group, and its estimate.
        level: coverage of the intervals.
        target: ``"population"`` or ``"respondents"``.
        kind: the kind of the intervals; None for the default of each estimate.
        summaries: the summaries of each estimate, in place of its shares where there are any.
    """
    columns: dict[str, Side] = dict.fromkeys(names, "left")
    columns |= {"attribute ": "left", "value ": "left", "estimate ": "right"}
    columns |= {f"{100 * level:.4g} % interval": "right", "reports": "right"}
    rows = []
    for key, result in estimates:
        asked = [] if summaries is None else list(summaries(result))
        for row in summary_rows(result, asked, level, target, kind):
            figures = [f"{row['estimate']:.4g}", f"{row['low']:.4g} .. {row['high']:.4g}"]
            about = [str(result.attribute), row["text"], *figures, f"{result.n:,}"]
            rows.append([*map(as_text, key), *about])
        shares = () if asked else estimate_rows(result, level, target, kind)
        for attribute, value, share, low, high, _ in shares:
            figures = [f"{share:.4f}", f"{low:.4f} .. {high:.4f}", f"{result.n:,}"]
            rows.append([*map(as_text, key), attribute, as_text(value), *figures])
    console().print(table(columns, rows))
    console().print(f"Each group was estimated alone. Intervals are of the {target}.")
    console().print(
        "All people together: in the report of warner report, or from a tally made without --by."
    )


def show_sources(tallies: Mapping[str, Sequence[Tally]]) -> None:
    """Print on standard error which reports are estimated together."""
    out = console(stderr=True)
    for name, parts in tallies.items():
        groups: dict[tuple[str, float | str], int] = {}
        for part in parts:
            key = (str(part.header["mechanism"]), part.header["requested"])
            groups[key] = groups.get(key, 0) + part.n
        reports = [
            f"{n:,} of {mechanism} at epsilon {epsilon:.6g}"
            if isinstance(epsilon, float | int)
            else f"{n:,} of {mechanism} without protection"
            for (mechanism, epsilon), n in groups.items()
        ]
        out.print(f"{name}: {', '.join(reports)}, estimated together")


def _title(result: Estimate) -> str:
    """The first line of a table: attribute, number of reports, method."""
    reports = plural(result.n, "report", "reports")
    if result.reports_per_person > 1:
        people = plural(result.data.least_people, "person", "people")
        reports += f" of {people} or more"
    return f"{result.attribute or 'value'}: {reports}, {result.method}"


def _about_intervals(kind: str, target: str) -> str:
    """The lines under a table that say which intervals it has."""
    if kind == "none":
        return NO_INTERVALS
    people = (
        "the population that these people were drawn from"
        if target == "population"
        else "these respondents"
    )
    return f"The intervals are for {people}. {INTERVALS[kind]}"


def _means(result: Estimate, level: float, kind: str | None) -> str:
    """The mean of the values with its interval, for each coordinate; also the median of numbers."""
    whose = "" if result.domain.silence is None else " of those who answered"
    lines = [
        f"Mean{whose} {'; '.join(_with_interval(m, level) for m in result.means(level, kind=kind))}"
    ]
    if result.has_posterior_intervals:
        (median,) = summary_rows(result, applicable(result.domain, _MEDIAN), level, kind=kind) or (
            None,
        )
        if median is not None:
            lines.append(f"Median{whose} {_with_interval(median, level)}")
    return "\n".join(
        f"{line}, for the population that these people were drawn from." for line in lines
    )


def _with_interval(row: Mapping[str, Any], level: float) -> str:
    interval = f"{row['low']:.6g} .. {row['high']:.6g}"
    return f"{row['estimate']:.6g}, {100 * level:.4g} % interval {interval}"


def _method_and_status(result: Estimate) -> str:
    """What the method computes, and how the fit ended, as sentences."""
    sentences = [text for text in (result.estimator.summary, result.status.value) if text]
    return " ".join(f"{text[0].upper()}{text[1:]}." for text in sentences)


def _show_keys(result: Estimate, keys: list[dict[str, Any]], level: float) -> None:
    """Print the frequency of every key and the mean of its values."""
    about = f"{100 * level:.4g} % interval"
    columns: dict[str, Side] = {
        "key": "left",
        "frequency": "right",
        about: "right",
        "mean": "right",
        f"{about} of the mean": "right",
        "n": "right",
    }
    rows = []
    for row in keys:
        absent = " (absent?)" if row["status"] == Status.KEY_ABSENT.name.lower() else ""
        rows.append(
            [
                as_text(row["value"]) + absent,
                f"{row['estimate']:.4f}",
                f"{row['low']:.4f} .. {row['high']:.4f}",
                f"{row['mean']:.6g}",
                f"{row['mean_low']:.6g} .. {row['mean_high']:.6g}",
                f"{row['n']:,.0f}",
            ]
        )
    out = console()
    out.print(_title(result), style="bold")
    out.print(table(columns, rows))
    out.print(
        "Each interval is around an unbiased estimate, and holds for its value, not for all at "
        "once. Where few people have a key, the interval of its mean can be as wide as all values."
    )
    out.print(f"{_method_and_status(result)}\n")


def show_redistributed(result: Redistributed) -> None:
    """Print the shares of values after the shares of tags were distributed over them."""
    rows = [
        [as_text(value), f"{p:.4f}"]
        for value, p in zip(result.domain.labels, result.probabilities, strict=True)
    ]
    tags = ", ".join(f"@{tag} {share:.4f}" for tag, share in result.tag_shares.items())
    attribute = result.estimate.attribute or "value"
    out = console()
    out.print(f"{attribute}: the shares of tags ({tags}) are given back to values", style="bold")
    out.print(table({"value": "left", "estimate": "right"}, rows))
    out.print(
        "Wrong knowledge of the values under a tag adds at most "
        f"{result.worst_case:.4f} to the sum of absolute errors.\n"
    )


def show_comparison(attribute: str, ranking: Comparison) -> None:
    """Print estimators from the least error to the largest."""
    reports = plural(ranking.n, "report", "reports")
    columns: dict[str, Side] = {
        "method": "left",
        "error": "right",
        "more than the best": "right",
        "best on": "right",
        "order holds on": "right",
    }
    rows = []
    for result in ranking.results:
        excess = f"{result.excess_error:.3g} +- {result.excess_margin:.1g}"
        rows.append(
            [
                repr(result.method),
                f"{result.error:.4g} +- {result.margin:.1g}",
                "" if result is ranking.best else excess,
                f"{result.best_share:.0%}",
                f"{result.holds * len(ranking.truths):.0f} of {len(ranking.truths)}",
            ]
        )
    out = console()
    tallies, truths = f"{ranking.runs} simulated tallies", len(ranking.truths)
    out.print(
        f"{attribute}: {ranking.loss_name}, mean over {tallies} of {reports}, from "
        f"{plural(truths, 'plausible truth', 'plausible truths')}",
        style="bold",
    )
    out.print(table(columns, rows))
    out.print(
        "The number after +- is a standard error. 'best on' is the share of the tallies on which "
        "no other method errs less. 'order holds on' counts the truths on which the method errs "
        "at least as much as the first; for the first, those on which no other errs less."
    )
    for truth in ranking.truths:
        least = next(iter(truth.errors))
        out.print(f"  Truth {truth.name}: {least} errs least, {truth.errors[least]:.4g}.")
    for text in ranking.advice.values():
        out.print(f"Advised against. {text}")
    _show_left_out(ranking.left_out)
    out.print()


def show_plan(attribute: str, ranking: Plan, chosen: Mechanism) -> None:
    """Print a ranking of mechanisms, with the study's own mechanism marked."""
    columns: dict[str, Side] = {
        "mechanism": "left",
        "expected error": "right",
        "compared with no protection": "right",
        "weight of one report": "right",
        "judged by": "left",
    }
    if ranking.no_protection.people is not None:
        columns["people needed"] = "right"
    if ranking.wanted is not None:
        columns[f"power with {ranking.n:,}"] = "right"
    rows = []
    is_listed = False
    for result in (*ranking.results, ranking.no_protection):
        is_own = result.mechanism is not None and result.mechanism.header == chosen.header
        is_listed = is_listed or is_own
        people = [f"{result.people:,}"] if result.people is not None else []
        people += [f"{result.power:.2f}"] if result.power is not None else []
        times = f"{result.error / ranking.no_protection.error:.3g} times"
        name = result.name + (" (in the study)" if is_own else "")
        margin = f" +- {result.margin:.1g}" if result.margin else ""
        error, weight = f"{result.error:.4g}{margin}", in_people(result.weight)
        rows.append([name, error, times, weight, result.judged, *people])
    sensitive = (
        ""
        if chosen.sensitive_mask is None
        else f", {int(chosen.sensitive_mask.sum())} of them sensitive"
    )
    out = console()
    out.print(
        f"{attribute}: {chosen.domain.size} values{sensitive}, epsilon {chosen.requested:.4g}, "
        f"{plural(ranking.n, 'person', 'people')}, {LOSS_NAMES[ranking.loss]}",
        style="bold",
    )
    out.print(table(columns, rows))
    if ranking.wanted is not None:
        _show_difference(out, ranking, ranking.wanted)
    if ranking.loss == "w1":
        out.print(
            "The error is that of the estimate that warner estimate makes, in the unit of the "
            "values. It is simulated at a made distribution with its mode at a quarter of the "
            "range; warner.plan(theta=...) takes another. The number after +- is a standard error."
        )
    elif not is_listed:
        out.print(_about_own(chosen, ranking))
    if can_simulate(chosen.domain) and ranking.loss != "w1":
        out.print(
            "This ranks by the unbiased estimate of each share, which warner estimate does not "
            "make of numbers and places. --loss w1 ranks by the estimate that it makes."
        )
    elif ranking.loss == "l1" and ranking.results[-1].error > 2:
        out.print(
            "Two distributions differ by at most 2. A mechanism with a larger expected error gives "
            "no useful estimate."
        )
    _show_left_out(ranking.left_out)


def _show_difference(out: Console, ranking: Plan, wanted: WantedDifference) -> None:
    """What the numbers of people are for, and what other budgets buy."""
    out.print(
        f"People needed, in {wanted.groups} groups of equal size together: to detect, with "
        f"probability {wanted.power:.4g} and by a test of size 5 %, that the share of a value "
        f"differs by {wanted.difference:.4g} between two groups. All values are equally frequent."
    )
    rows = [[f"{row.epsilon:.4g}", row.mechanism, f"{row.people:,}"] for row in ranking.by_epsilon]
    rows.append(["no protection", "", f"{ranking.no_protection.people:,}"])
    columns: dict[str, Side] = {"epsilon": "right", "mechanism": "left", "people needed": "right"}
    out.print(table(columns, rows))


def _about_own(chosen: Mechanism, ranking: Plan) -> str:
    """The line on the study's own mechanism where it is not one of those compared."""
    name = type(chosen).__name__
    if can_simulate(chosen.domain):
        return f"The {name} of the study is not ranked by this loss."
    uniform = np.full(chosen.domain.size, 1 / chosen.domain.size)
    try:
        error = expected_loss(chosen, uniform, ranking.n, ranking.loss)
    except IdentifiabilityError:
        return f"The {name} of the study has no unbiased estimate of shares to compare."
    if len(several := {type(single).__name__ for single in chosen.single_reports}) == 1:
        (single,), count = several, len(chosen.single_reports)
        if count > 1:
            return f"The {count} reports of {single} in the study have expected error {error:.4g}."
    return f"The {name} of the study has expected error {error:.4g}."


def _show_left_out(left_out: Mapping[str, str]) -> None:
    """Print why candidates are not in a ranking."""
    for name, reason in left_out.items():
        console().print(f"{name} is left out: {reason.removesuffix('.')}.")


# Below the first, the odds of an answer change by less than 1 in 20; above the second, one report
# changes them more than a hundred times.
_TINY, _LARGE = 0.05, 5.0


def unusual_budgets(mechanisms: Mapping[str, Mechanism], rows: int = 1) -> list[str]:
    """One line on the attributes with a uselessly small epsilon, and one on those with a large one.

    Args:
        mechanisms: {attribute: mechanism}.
        rows: the most rows of answers of one person.
    """
    nats = {
        name: compose([m.guarantee] * rows).between_any_values().epsilon
        for name, m in mechanisms.items()
    }
    tiny = [name for name, epsilon in nats.items() if epsilon < _TINY]
    large = [name for name, epsilon in nats.items() if epsilon > _LARGE]
    said = []
    if tiny:
        said.append(
            f"{', '.join(tiny)}: an epsilon below {_TINY:g} tells almost nothing. warner plan says "
            "how wide intervals are."
        )
    if large:
        said.append(
            f"{', '.join(large)}: an epsilon above {_LARGE:g} protects little. The reports of one "
            f"person can change the odds of an answer {math.exp(_LARGE):.0f} times and more."
        )
    return [visible(line) for line in said]


def show_audits(results: Mapping[str, Audit], samples: int | None) -> None:
    """Print the exact epsilon of every mechanism, and how it was computed."""
    columns: dict[str, Side] = {
        "attribute": "left",
        "mechanism": "left",
        "requested": "right",
        "exact epsilon": "right",
        "holds": "left",
        "weight": "right",
        "guarantee": "left",
        "how it was computed": "left",
    }
    rows = []
    for attribute, result in results.items():
        sampled = (
            ""
            if result.sampled_lower_bound is None
            else f"; {samples:,} samples show at least {result.sampled_lower_bound:.4f}"
        )
        rows.append(
            [
                attribute,
                result.mechanism.partition("(")[0],
                f"{result.requested:.10g}",
                f"{result.epsilon:.10g}",
                "yes" if result.holds else f"NO: {result.violation}",
                in_people(result.weight),
                result.guarantee,
                result.method + sampled,
            ]
        )
    out = console()
    out.print(table(columns, rows))
    out.print(WEIGHT)
