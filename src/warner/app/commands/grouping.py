"""Commands about groups of people: groups and difference."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import click

from warner._core.errors import ArgumentError
from warner._core.progress import steps
from warner.app.commands.options import as_json, of_intervals, options
from warner.app.terminal import Side, console, table
from warner.app.what_files_hold import (
    group_and_file,
    read_groups,
    read_margins,
    refuse_overwriting,
    refuse_shared_outputs,
    say_written,
    write_text,
)
from warner.groups.differences import Differences, difference as differences_of
from warner.groups.estimates import POOLS, GroupEstimates, estimate
from warner.groups.hypotheses import shown_p
from warner.groups.weights import WeightedEstimate, weighted
from warner.reports.tally import TalliesOfGroups, Tally
from warner.results.charts import FORMATS
from warner.results.csv_table import as_cell, as_csv
from warner.results.tables import as_text, reports_of

_COMMON = options(
    click.option(
        "--by",
        metavar="NAME,NAME,...",
        help="Some public columns of a tally of groups, for coarser groups. Default: all.",
    ),
    click.option("--only", metavar="NAME", help="Only this attribute."),
    of_intervals,
    click.option("--json", "json_path", help="Write JSON to this file; - is standard output."),
    click.option("--csv", "csv_path", help="Write CSV to this file; - is standard output."),
    click.option("--allow-simulated", is_flag=True, help="Mix simulated and real reports."),
)


@click.command("groups")
@click.argument("tallies", metavar="[NAME=]TALLY...", nargs=-1, required=True)
@click.option(
    "--pool",
    type=click.Choice(POOLS),
    help="partial: each group is drawn towards the mean as the reports warrant. path: towards the "
    "groups before and after in time. none: each alone. Default: partial from three groups on.",
)
@click.option(
    "--margins",
    metavar="FILE",
    help="Numbers of the population, to weight groups by: a "
    "CSV file with the columns value,number or column,value,number.",
)
@click.option("--time", metavar="NAME", help="The public column with the time, for --pool path.")
@click.option("--plot", "plot_path", help=f"Draw the shares: {FORMATS}.")
@_COMMON
def groups(
    tallies: tuple[str, ...],
    pool: str | None,
    margins: str | None,
    time: str | None,
    plot_path: str | None,
    by: str | None,
    only: str | None,
    level: float,
    target: str,
    json_path: str | None,
    csv_path: str | None,
    allow_simulated: bool,
) -> None:
    """Estimate the shares of groups of people.

    TALLY is a tally of groups, of warner tally --by; several are added. Or it is a tally or report
    file for each group, which is called NAME, or as its file: tally.north.json is north.

    \b
        warner groups tally.json --pool path --time week --plot weeks.png
        warner groups tally.north.json tally.south.json tally.east.json
        warner groups 2023=a.json 2024=b.json 2025=c.json --pool path --plot path.png
        warner groups tally.*.json --margins census.csv
    """
    outputs = {"json": json_path, "csv": csv_path, "plot": plot_path}
    inputs = [group_and_file(text)[1] for text in tallies] + ([margins] if margins else [])
    _check_files(outputs, inputs)
    found = _asked(read_groups(tallies, allow_simulated, _names(by)), only)
    results = {
        name: estimate(_by_time(parts) if pool == "path" else parts, pool=pool, time=time)
        for name, parts in steps(list(found.items()), "estimating")
    }
    totals: dict[str, WeightedEstimate] = {}
    if margins is not None:
        totals = {
            name: weighted(parts, read_margins(margins, parts)) for name, parts in found.items()
        }
    if plot_path is not None:
        if len(results) > 1:
            rule = "shows one attribute"
            raise ArgumentError("--plot", rule, ", ".join(results), "Name it by --only")
        next(iter(results.values())).plot(plot_path, level, target)
        say_written(plot_path)
    _write(
        outputs,
        lambda: [
            {
                "attribute": name,
                **result.to_json(level, target),
                **({"weighted": totals[name].to_json(level, target)} if name in totals else {}),
            }
            for name, result in results.items()
        ],
        lambda: _rows_of_groups(results, totals, level, target),
        any(result.table.whole.simulated for result in results.values()),
    )
    if "-" not in (json_path, csv_path):
        for name, result in results.items():
            _show_groups(name, result, level, target)
            if name in totals:
                _show_weighted(totals[name], level, target)


@click.command()
@click.argument("tallies", metavar="[NAME=]TALLY...", nargs=-1, required=True)
@click.option(
    "--reference",
    metavar="NAME",
    help="Compare each group with this one. Default: with all others together.",
)
@click.option(
    "--of",
    "quantity",
    default="shares",
    show_default=True,
    metavar="shares|mean|Q",
    help="The shares of all values, the mean, or the quantile Q, 0.5 for the median.",
)
@_COMMON
def difference(
    tallies: tuple[str, ...],
    reference: str | None,
    quantity: str,
    by: str | None,
    only: str | None,
    level: float,
    target: str,
    json_path: str | None,
    csv_path: str | None,
    allow_simulated: bool,
) -> None:
    """Compare groups of different people.

    TALLY is a tally of groups, of warner tally --by; several are added. Or it is a tally or report
    file for each group, which is called NAME, or as its file: tally.north.json is north.

    Each difference has an interval and a p-value, which is also corrected by Holm's method for all
    comparisons of the table. A test of no difference at all stands below.

    \b
        warner difference tally.json --by ward --reference north
        warner difference before=spring.json after=autumn.json
        warner difference tally.*.json --reference north --of mean
    """
    outputs = {"json": json_path, "csv": csv_path}
    _check_files(outputs, [group_and_file(text)[1] for text in tallies])
    of = _quantity(quantity)
    found = {
        name: differences_of(parts, reference=reference, of=of, level=level, target=target)
        for name, parts in _asked(read_groups(tallies, allow_simulated, _names(by)), only).items()
    }
    _write(
        outputs,
        lambda: [{"attribute": name, **result.to_json()} for name, result in found.items()],
        lambda: ({"attribute": name, **row} for name, r in found.items() for row in r.rows()),
        any(result.simulated for result in found.values()),
    )
    if "-" not in (json_path, csv_path):
        for name, result in found.items():
            _show_differences(name, result)


def _check_files(outputs: Mapping[str, str | None], inputs: Sequence[str]) -> None:
    """Refuse outputs that would replace an input or each other."""
    if outputs["json"] == outputs["csv"] == "-":
        raise ArgumentError("--json and --csv", "cannot both go to standard output")
    for path in outputs.values():
        refuse_overwriting(path, *inputs)
    refuse_shared_outputs(outputs)


def _asked(found: dict[str, TalliesOfGroups], only: str | None) -> dict[str, TalliesOfGroups]:
    """The groups of the attribute that --only names, or of all."""
    if only is None:
        return found
    if only not in found:
        raise ArgumentError("--only", f"must be one of {', '.join(found)}", only)
    return {only: found[only]}


def _names(text: str | None) -> list[str]:
    """The names in a list with commas."""
    return [] if text is None else [name.strip() for name in text.split(",")]


def _by_time(parts: TalliesOfGroups) -> TalliesOfGroups:
    """Groups whose names are numbers, with these numbers; public columns have their own values."""
    if isinstance(parts, Tally):
        return parts
    try:
        return {(_number(key[0]),): tally for key, tally in parts.items()}
    except ValueError:
        return parts


def _number(text: str) -> int | float:
    number = float(text)
    return int(number) if number.is_integer() else number


def _quantity(text: str) -> str | float:
    """What --of names."""
    if text in ("shares", "mean"):
        return text
    try:
        return float(text)
    except ValueError:
        rule = "must be shares, mean, or a number between 0 and 1"
        raise ArgumentError("--of", rule, text) from None


def _write(
    outputs: Mapping[str, str | None],
    data: Callable[[], Any],
    rows: Callable[[], Any],
    simulated: bool,
) -> None:
    """Write JSON and CSV where they are asked for."""
    if (path := outputs["json"]) is not None:
        write_text(as_json(data()) + "\n", path)
    if (path := outputs["csv"]) is not None:
        write_text(_csv(rows(), simulated), path)


def _csv(rows: Iterable[Mapping[str, Any]], simulated: bool) -> str:
    """Rows as CSV, with texts that no spreadsheet runs."""
    listed = list(rows)
    header = list(dict.fromkeys(key for row in listed for key in row))
    cells = (
        [
            "" if c is None else c if isinstance(c, float) else as_cell(c)
            for c in map(row.get, header)
        ]
        for row in listed
    )
    return as_csv([as_cell(name) for name in header], cells, simulated)


def _rows_of_groups(
    results: Mapping[str, GroupEstimates],
    totals: Mapping[str, WeightedEstimate],
    level: float,
    target: str,
) -> Iterator[dict[str, Any]]:
    """The rows of all attributes; a weighted population is a group of its own."""
    for name, result in results.items():
        for row in result.rows(level, target):
            yield {"attribute": name, **row}
        if name in totals:
            for row in totals[name].rows(level, target):
                shares = {key: row[key] for key in ("value", "estimate", "low", "high")}
                yield {"attribute": name, "group": "all, weighted", **shares}


def _show_groups(name: str, result: GroupEstimates, level: float, target: str) -> None:
    """Print the table of the groups of one attribute."""
    columns: dict[str, Side] = dict.fromkeys(result.names, "left")
    columns |= {"value": "left", "estimate": "right", f"{100 * level:.4g} % interval": "right"}
    columns["reports"] = "right"
    cells = [
        [
            *(str(row[column]) for column in result.names),
            as_text(row["value"]),
            "" if row["estimate"] is None else f"{row['estimate']:.4f}",
            f"{row['low']:.4f} to {row['high']:.4f}",
            f"{row['reports']:,}",
        ]
        for row in result.rows(level, target)
    ]
    screen = console()
    reports = reports_of(result.n, result.table.whole.simulated)
    screen.print(f"{name}: {len(result)} groups, {reports}, pool {result.pool}")
    screen.print(table(columns, cells))
    if result.interval_kind(target) == "posterior":
        screen.print("Intervals hold on average over groups. A group unlike the others is missed")
        screen.print("more often; --pool none has intervals that hold for every group.")
    else:
        screen.print("Intervals hold for every group by itself.")


def _show_weighted(result: WeightedEstimate, level: float, target: str) -> None:
    """Print the table of a weighted population."""
    columns: dict[str, Side] = {"value": "left", "estimate": "right"}
    columns[f"{100 * level:.4g} % interval"] = "right"
    cells = [
        [as_text(row["value"]), f"{row['estimate']:.4f}", f"{row['low']:.4f} to {row['high']:.4f}"]
        for row in result.rows(level, target)
    ]
    screen = console()
    screen.print(result.text)
    screen.print(table(columns, cells))


def _show_differences(name: str, result: Differences) -> None:
    """Print the differences of one attribute and the test of all."""
    scale, unit = (100, ", points") if result.of == "shares" else (1, "")
    columns: dict[str, Side] = {"group": "left", "reference": "left", "value": "left"}
    columns |= {f"difference{unit}": "right", f"{100 * result.level:.4g} % interval": "right"}
    columns |= {"p": "right", "p (Holm)": "right"}
    cells = [
        [
            row["group"],
            row["reference"],
            as_text(row["value"]),
            f"{scale * row['difference']:.3f}",
            f"{scale * row['low']:.3f} to {scale * row['high']:.3f}",
            *(shown_p(row[key]).removeprefix("p ").removeprefix("= ") for key in ("p", "p_holm")),
        ]
        for row in result.rows()
    ]
    screen = console()
    mark = ", of simulated reports" if result.simulated else ""
    screen.print(f"{name}: the group less the reference{mark}")
    screen.print(table(columns, cells))
    if result.left_out:
        screen.print(f"Left out, with fewer than 2 reports: {', '.join(result.left_out)}.")
    screen.print(result.test.text)
