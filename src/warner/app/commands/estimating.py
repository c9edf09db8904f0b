"""Commands that estimate shares, and that compare ways to do so: estimate and compare."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import click

from warner._core.errors import ArgumentError
from warner._core.progress import steps
from warner.app.commands.options import additions, as_json as to_json, attributes, of_intervals
from warner.app.requested import (
    Wanted,
    asked_tallies,
    backgrounds,
    chosen_tallies,
    estimates_of,
    method_option,
    summary,
)
from warner.app.show_designs import show_comparison
from warner.app.show_estimates import (
    show_estimate,
    show_groups,
    show_redistributed,
    show_sources,
    show_summaries,
)
from warner.app.what_files_hold import (
    apart,
    one_or_all,
    read_or_count,
    read_totals,
    refuse_overwriting,
    refuse_shared_outputs,
    say_written,
    tallies_together,
    warn_of_simulation,
    write_text,
)
from warner.design.comparison import LOSSES, compare as compare_methods, usual_methods
from warner.estimators import Estimator
from warner.reports.public_columns import Key
from warner.reports.tally import Tally
from warner.results.charts import FORMATS, chart, ranking, save
from warner.results.csv_table import csv_of, csv_of_groups
from warner.results.estimate import Estimate
from warner.results.intervals import at_every_look, with_plan
from warner.results.named_summaries import summary_rows
from warner.results.recommend import method
from warner.results.redistribution import has_tags, redistribute


class IntervalKind(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4
    """A kind of intervals: one of three words, or anytime:N."""

    name = "interval"
    _kinds = ("score", "wald", "average", "simultaneous")

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """What the help shows in place of the value."""
        return f"[{'|'.join(self._kinds)}|anytime:N]"

    def convert(self, value: str, param: Any, ctx: Any) -> str:
        """The kind as it was written; refused where there is no such kind."""
        try:
            known = value in self._kinds or with_plan(value)[1] is not None
        except ArgumentError:
            known = False
        if not known:
            kinds = ", ".join(self._kinds)
            self.fail(f"{value!r} is not one of {kinds}, or anytime:N with N reports.", param, ctx)
        return value


@click.command()
@click.argument("tallies", metavar="[TALLY]...", nargs=-1)
@method_option
@attributes
@of_intervals
@click.option(
    "--interval",
    "kind",
    type=IntervalKind(),
    help="What the intervals hold: score each share, also the largest ones; wald each share by "
    "itself, around its unbiased estimate; average the stated part of all shares on average; "
    "simultaneous all shares together; anytime:N each share, mean and quantile at every look while "
    "reports come in, of which N were planned. Charts have anytime:N or the default. Default: "
    "posterior for smooth numbers, else score.",
)
@summary
@click.option(
    "--json",
    "json_path",
    help="Write the estimates as JSON to this file; - is standard output, instead of the table.",
)
@click.option(
    "--csv",
    "csv_path",
    help="Write the table as CSV to this file; - is standard output, instead of the table. A ' "
    "stands before each label that a spreadsheet would run.",
)
@click.option("--plot", "plot_path", help=f"Draw the shares: {FORMATS}.")
@click.option(
    "--top",
    type=click.IntRange(1),
    help="Draw this many of the largest shares, and the others together. Default: all, and 20 of "
    "more than 60 labels.",
)
@click.option("--title", metavar="TEXT", help="The title of the picture.")
@click.option(
    "--background",
    multiple=True,
    metavar="TAG=FILE",
    help="The distribution of the values that people hide under a tag (or ATTRIBUTE.TAG): a CSV "
    "file with the columns value,share.",
)
@additions
def estimate(
    tallies: tuple[str, ...],
    method_name: str | None,
    only: tuple[str, ...],
    joint: tuple[str, ...],
    level: float,
    target: str,
    kind: str | None,
    summaries: tuple[str, ...],
    json_path: str | None,
    csv_path: str | None,
    plot_path: str | None,
    top: int | None,
    title: str | None,
    background: tuple[str, ...],
    allow_equal: bool,
    allow_simulated: bool,
) -> None:
    """Estimate the shares of all values from TALLY, or from several together.

    TALLY is a tally file or a report file; - is a tally on standard input, and the default.

    Several files are of different people, whose budgets or mechanisms may differ. The values must
    be the same: each person's report counts as its mechanism says.

    \b
        warner estimate low.json high.json
        warner estimate tally.*.json

    A tally of groups (warner tally --by) gives a table with the estimates of each group.

    With --summary, an attribute of numbers is shown by its summaries in place of its shares. Files
    get both.

    \b
        warner estimate tally.json --only alcohol --summary mean,median,above:14

    The shares of tags ("@home") are given back to values in a second table: as --background says,
    and otherwise in proportion to the values that are not sensitive.
    """
    chosen = None if method_name is None else method(method_name)
    paths = tallies or ("-",)
    wanted = Wanted.of_options(summaries)
    if json_path == csv_path == "-":
        raise ArgumentError("--json and --csv", "cannot both go to standard output")
    for path in (json_path, csv_path, plot_path):
        refuse_overwriting(path, *paths)
    refuse_shared_outputs({"json": json_path, "csv": csv_path, "plot": plot_path})
    for option, given in (("--top", top), ("--title", title)):
        if given is not None and plot_path is None:
            raise ArgumentError(option, "goes with --plot")
    known_tallies = tallies_together(paths, read_or_count, allow_equal, allow_simulated)
    found, grouped = apart(known_tallies)
    if any(part.simulated for parts in known_tallies.values() for part in parts):
        warn_of_simulation(", ".join(paths))
    if grouped:
        if plot_path is not None or background:
            rule = "do not go with a tally of groups"
            raise ArgumentError("--plot and --background", rule)
        shown = Shown(level, target, kind, json_path, csv_path, wanted)
        _show_groups(grouped, chosen, only, joint, shown)
        return
    estimates = [
        result
        for name, part, names in steps(list(asked_tallies(found, only, joint)), "estimating")
        for result in estimates_of(name, part, chosen, names, only)
    ]
    wanted.check(estimates)
    if len(paths) > 1:
        show_sources(chosen_tallies(found, only))
    known = backgrounds(estimates, background)
    given_back = {
        i: redistribute(result, known.get(str(result.attribute)))
        for i, result in enumerate(estimates)
        if has_tags(result)
    }
    if json_path is not None:
        data = [
            _json_of(result, level, target, kind, wanted)
            | (given_back[i].to_json() if i in given_back else {})
            for i, result in enumerate(estimates)
        ]
        write_text(to_json(data) + "\n", json_path)
    if csv_path is not None:
        shares = list(given_back.values())
        write_text(csv_of(estimates, level, target, shares, kind, wanted.named), csv_path)
    if plot_path is not None:
        looks = at_every_look(kind)
        picture = chart(estimates, level=level, target=target, top=top, title=title, kind=looks)
        save(picture, plot_path)
        say_written(plot_path)
    if "-" not in (json_path, csv_path):
        for i, result in enumerate(estimates):
            if asked := wanted.named(result):
                show_summaries(result, asked, level, target, kind)
            else:
                show_estimate(result, level, target, kind=kind)
            if i in given_back:
                show_redistributed(given_back[i])


class Shown(NamedTuple):
    """How estimates are shown: see the options of the command."""

    level: float
    target: str
    kind: str | None
    json_path: str | None
    csv_path: str | None
    wanted: Wanted


def _show_groups(
    grouped: Mapping[str, Sequence[Tally]],
    chosen: Estimator | None,
    only: tuple[str, ...],
    joint: tuple[str, ...],
    shown: Shown,
) -> None:
    """Write and print the estimates of the groups of all attributes."""
    found = [
        (key, result)
        for name, parts, names in asked_tallies(grouped, only, joint)
        for key, result in _estimates_of_groups(name, parts, chosen, names, only)
    ]
    columns = next(iter(grouped.values()))[0].names
    level, target, kind, json_path, csv_path, wanted = shown
    wanted.check([result for _, result in found])
    if json_path is not None:
        data = [
            {"group": dict(zip(columns, key, strict=True))}
            | _json_of(result, level, target, kind, wanted)
            for key, result in found
        ]
        write_text(to_json(data) + "\n", json_path)
    if csv_path is not None:
        write_text(csv_of_groups(columns, found, level, target, kind, wanted.named), csv_path)
    if "-" not in (json_path, csv_path):
        show_groups(columns, found, level, target, kind, wanted.named)


def _estimates_of_groups(
    name: str,
    parts: Sequence[Tally],
    chosen: Estimator | None,
    names: list[str] | None,
    only: tuple[str, ...],
) -> Iterator[tuple[Key, Estimate]]:
    """The estimates of each group of people: here each group alone, by the default method."""
    tallies: dict[Key, list[Tally]] = {}
    for part in parts:
        for key, tally in part.items():
            tallies.setdefault(key, []).append(tally)
    for key, own in steps(list(tallies.items()), "estimating groups"):
        for result in estimates_of(name, own, chosen, names, only):
            yield key, result


def _json_of(
    result: Estimate, level: float, target: str, kind: str | None, wanted: Wanted
) -> dict[str, Any]:
    """An estimate as JSON data, with the summaries that were asked for."""
    asked = wanted.named(result)
    rows = summary_rows(result, asked, level, target, kind)
    return result.to_json(level, target, kind) | ({"summaries": rows} if asked else {})


@click.command()
@click.argument("tallies", metavar="TALLY...", nargs=-1, required=True)
@click.option(
    "-m",
    "--method",
    "method_names",
    multiple=True,
    help="An estimator to compare, named as for warner estimate. May be repeated. "
    "Default: the usual ones.",
)
@attributes
@click.option(
    "--loss",
    type=click.Choice(tuple(LOSSES)),
    metavar="LOSS",
    default="l2",
    show_default=True,
    help=" ".join(f"{name}: {loss.words}." for name, loss in LOSSES.items()),
)
@click.option(
    "--runs",
    type=click.IntRange(2),
    default=20,
    show_default=True,
    help="Number of simulated tallies.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--plot", "plot_path", help=f"Draw the ranking: {FORMATS}.")
@additions
def compare(
    tallies: tuple[str, ...],
    method_names: tuple[str, ...],
    only: tuple[str, ...],
    joint: tuple[str, ...],
    loss: str,
    runs: int,
    as_json: bool,
    plot_path: str | None,
    allow_equal: bool,
    allow_simulated: bool,
) -> None:
    """Rank estimators by their error on tallies that are simulated from an estimate of TALLY.

    Several files are of different people, as for warner estimate.

    \b
        warner compare tally.json --plot ranking.png
        warner compare tally.json -m mle -m eb -m em:auto --loss l1
    """
    refuse_overwriting(plot_path, *tallies)
    found = tallies_together(tallies, read_totals, allow_equal, allow_simulated)
    rankings = {
        name: compare_methods(
            one_or_all(parts), _methods(method_names, parts[0], loss), loss, runs, attributes=names
        )
        for name, parts, names in steps(list(asked_tallies(found, only, joint)), "comparing")
    }
    if plot_path is not None:
        save(ranking(rankings), plot_path)
        say_written(plot_path)
    if as_json:
        click.echo(to_json({name: result.to_json() for name, result in rankings.items()}))
        return
    for name, result in rankings.items():
        show_comparison(name, result)


def _methods(names: tuple[str, ...], part: Tally, loss: str) -> list[Estimator]:
    """The methods named, or the usual ones for the reports of a tally and a loss."""
    return [method(name) for name in names or usual_methods(part, loss)]
