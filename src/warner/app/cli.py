"""The command line: commands that read and write files, standard input and standard output."""

from __future__ import annotations

import contextlib
import json
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click
import numpy as np

from warner import io as files
from warner._core.errors import ArgumentError, WarnerError, message
from warner._core.sampling import Source
from warner.app import demo as demonstration
from warner.app.background_files import backgrounds
from warner.app.command_files import (
    add_tallies,
    as_file,
    mechanisms_of,
    read_or_count_tallies,
    read_tallies,
    refuse_overwriting,
    refuse_shared_outputs,
    require_study,
    write_tallies,
    write_text,
)
from warner.app.csv_table import csv_of
from warner.app.methods import METHODS, method
from warner.app.reproduce import reproduce
from warner.app.study import Study
from warner.app.terminal import (
    WEIGHT,
    plural,
    progress,
    show_audits,
    show_comparison,
    show_estimate,
    show_plan,
    show_redistributed,
)
from warner.design.audits import audit as audit_mechanism
from warner.design.comparison import compare as compare_methods
from warner.design.losses import LOSSES
from warner.design.planning import plan as make_plan
from warner.estimators import Estimator
from warner.reports.tally import Tally
from warner.results.charts import chart, ranking, save
from warner.results.estimate import Estimate
from warner.results.estimate import estimate as estimate_tally
from warner.results.redistribution import Redistributed, has_tags, redistribute

# The methods that ``compare`` tries where none is named: for keys with values, and for the rest.
_COMPARED_KEYS = ("pckv", "per-key", "mle", "em:auto")
_COMPARED = (
    "inversion",
    "project",
    "base-cut",
    "threshold",
    "mle",
    "em:100",
    "em:auto",
    "eb",
    "spline",
    "uniform",
)
_METHOD_HELP = (
    f"The estimator: {', '.join(METHODS)}. em takes a number of steps, auto or a start: em:100, "
    "em:auto, em:histogram. Default: the recommended one."
)

Command = TypeVar("Command", bound=Callable[..., None])


def _options(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several options as one decorator, in the order in which the help shows them."""

    def decorated(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorated


_tally_output = click.option(
    "-o",
    "--output",
    default="-",
    help="The tally file to write (JSON). Default: standard output.",
)
_additions = _options(
    click.option(
        "--allow-equal",
        is_flag=True,
        help="Add inputs with equal counts: they are of different people.",
    ),
    click.option(
        "--allow-simulated",
        is_flag=True,
        help="Add simulated reports to real ones. The sum counts as simulated.",
    ),
)
_attributes = _options(
    click.option(
        "--only",
        metavar="NAME",
        multiple=True,
        help="Only this attribute. May be repeated.",
    ),
    click.option(
        "--joint",
        metavar="NAME,NAME,...",
        multiple=True,
        help="Joint shares of these attributes; needs a tally made with --ways. May be repeated.",
    ),
)


class _Group(click.Group):
    """Commands whose errors are one line on standard error and exit status 1, without traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        # Unfinished files are removed on SIGTERM. Only the main thread can receive signals.
        with contextlib.suppress(ValueError):
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        try:
            return super().invoke(ctx)
        except WarnerError as error:
            raise click.ClickException(str(error)) from None
        except MemoryError:
            remedy = "Use fewer values, seeds or attributes"
            raise click.ClickException(
                message("memory", "is not enough for this task", None, remedy)
            ) from None
        except BrokenPipeError:
            sys.stderr.close()
            raise SystemExit(1) from None
        except OSError as error:
            name = str(error.filename or "file")
            raise click.ClickException(
                message(name, error.strerror or type(error).__name__)
            ) from None


@click.group(
    cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
@click.version_option(package_name="warner")
def main() -> None:
    """Learn the distribution of sensitive answers without collecting them.

    \b
    values --randomize--> reports --tally--> tally --estimate--> shares with intervals

    A study file (TOML) names the attributes, their domains, mechanisms and budgets.
    """


@main.command()
@click.argument("study", type=click.Path(dir_okay=False))
@click.argument("values", default="-")
@click.option(
    "-o",
    "--output",
    default="-",
    help=f"The report file to write, {files.suffixes(writable=True)}. "
    "Default: CSV on standard output.",
)
@click.option(
    "--bare",
    is_flag=True,
    help="VALUES has no header line. Its columns are in the order of the study.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    help="Repeatable randomness, for simulations only. Leave it out for real answers.",
)
@click.option(
    "--keep-order",
    is_flag=True,
    help="Write the reports in the order of VALUES. This order can reveal who answered what.",
)
def randomize(
    study: str, values: str, output: str, bare: bool, seed: int | None, keep_order: bool
) -> None:
    """Randomise the answers in VALUES as the study file STUDY says.

    VALUES is a CSV or Parquet file; - is CSV on standard input. An empty line is a row of empty
    cells. An answer outside its domain stops the command, and no file is written.

    The reports are written in random order, because the order of people can reveal who answered
    what. Randomising the same answers again spends the budget again.

    \b
        warner randomize study.toml answers.csv -o reports.parquet
        echo yes | warner randomize study.toml --bare
    """
    plan = Study.load(study)
    refuse_overwriting(output, study, values)
    rng = _generator(seed)
    source = Source(rng)
    with (
        files.ReportWriter(output, plan.mechanisms, keep_order=keep_order, rng=rng) as writer,
        progress("randomising") as step,
    ):
        done = 0
        for batch in files.read_values(values, plan.mechanisms, bare):
            writer.write(plan.randomize_encoded(batch, source))
            done += len(next(iter(batch.values())))
            step(done, None)
    click.echo(f"{plural(done, 'person', 'people')}, each spends {_spent(plan)}", err=True)
    if seed is not None:
        click.echo(
            "This is a simulation: the seed undoes the randomisation. The reports are marked as "
            "simulated.",
            err=True,
        )


def _spent(study: Study) -> str:
    """What one person spends, in words, and on which attributes it protects less than all."""
    mechanisms = study.mechanisms
    unprotected = [name for name, m in mechanisms.items() if m.guarantee.epsilon == float("inf")]
    if unprotected:
        names = ", ".join(unprotected)
        return f"without limit: NO PROTECTION of {names}. These answers are sent as they are."
    partial = [
        name
        for name, m in mechanisms.items()
        if m.sensitive_mask is not None and not m.sensitive_mask.all()
    ]
    metric = [name for name, m in mechanisms.items() if m.guarantee.is_metric]
    delta = f", delta = {study.delta:.4g}" if study.delta else ""
    spent = f"at most epsilon = {study.epsilon:.10g}{delta} in all."
    if partial:
        spent += f" Of {', '.join(partial)}, only the sensitive values are protected."
    if metric:
        spent += (
            f" For {', '.join(metric)} this is between the most distant values; closer values are "
            "protected more."
        )
    return f"{spent} Randomising the same answers again spends as much again."


def _generator(seed: int | None) -> np.random.Generator | None:
    return None if seed is None else np.random.default_rng(seed)


@main.command(epilog=f"Report files end in {files.suffixes()}.")
@click.argument("reports", nargs=-1, required=True)
@_tally_output
@click.option(
    "--study",
    type=click.Path(dir_okay=False),
    help="Refuse reports that were not made as this study file says.",
)
@click.option(
    "--ways",
    type=click.IntRange(1),
    help="Also count joint reports: keep tables of all sets of this many attributes (2: pairs).",
)
@_additions
def tally(
    reports: tuple[str, ...],
    output: str,
    study: str | None,
    ways: int | None,
    allow_equal: bool,
    allow_simulated: bool,
) -> None:
    """Count the reports in one or more files (- is a file on standard input).

    Files with the same content or with equal counts are refused. They are most likely copies of
    the same reports.

    \b
        warner tally reports.parquet -o tally.json
        warner tally reports.parquet --ways 2 -o pairs.json
        warner estimate pairs.json --joint sex,age
    """
    refuse_overwriting(output, *reports, *([study] if study else []))
    plan = None if study is None else Study.load(study)
    parts: dict[str, dict[str, Tally]] = {}
    seals = set()
    for path in reports:
        with as_file(path) as file, progress(f"counting {path}") as step:
            opened = files.open_reports(file)
            if plan is not None:
                opened = require_study(opened, plan, ways is not None)
            if opened.end["sha256"] in seals:
                raise ArgumentError(
                    message(
                        "reports",
                        "must not be counted twice",
                        f"{path}, whose content was given before",
                    )
                )
            seals.add(opened.end["sha256"])
            if opened.simulation:
                _warn_of_simulation(path)
            parts[path] = files.tally_file(opened, step, ways)
    write_tallies(add_tallies(parts, allow_equal, allow_simulated), output)


def _warn_of_simulation(path: str) -> None:
    click.echo(f"{path}: these are reports of a simulation, made with a seed", err=True)


@main.command()
@click.argument("tallies", nargs=-1, required=True)
@_tally_output
@_additions
def merge(tallies: tuple[str, ...], output: str, allow_equal: bool, allow_simulated: bool) -> None:
    """Add tallies of the same study.

    Any order and any grouping of the files gives the same tally, bit for bit. Equal tallies are
    refused, because they are most likely copies. A tally that is already part of another tally
    cannot be recognised.
    """
    refuse_overwriting(output, *tallies)
    places = [str(Path(path).resolve()) for path in tallies]
    if len(set(places)) < len(places):
        raise ArgumentError(message("tallies", "must not be added twice", ", ".join(tallies)))
    parts = {path: read_tallies(path) for path in tallies}
    write_tallies(add_tallies(parts, allow_equal, allow_simulated), output)


@main.command()
@click.argument("tally", default="-")
@click.option("-m", "--method", "method_name", help=_METHOD_HELP)
@_attributes
@click.option(
    "--level",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Coverage of the intervals.",
)
@click.option(
    "--target",
    type=click.Choice(["population", "respondents"]),
    default="population",
    show_default=True,
    help="Intervals for the population that people were drawn from, or for these respondents.",
)
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
@click.option("--plot", "plot_path", help="Draw the shares: .png, .svg, .html or .json.")
@click.option(
    "--background",
    multiple=True,
    metavar="TAG=FILE",
    help="The distribution of the values that people hide under a tag (or ATTRIBUTE.TAG): a CSV "
    "file with the columns value,share.",
)
def estimate(
    tally: str,
    method_name: str | None,
    only: tuple[str, ...],
    joint: tuple[str, ...],
    level: float,
    target: str,
    json_path: str | None,
    csv_path: str | None,
    plot_path: str | None,
    background: tuple[str, ...],
) -> None:
    """Estimate the shares of all values from TALLY.

    TALLY is a tally file or a report file; - is a tally on standard input.

    The shares of tags ("@home") are given back to values in a second table: as --background says,
    and otherwise in proportion to the values that are not sensitive.
    """
    chosen = None if method_name is None else method(method_name)
    if json_path == csv_path == "-":
        raise ArgumentError(message("--json and --csv", "cannot both go to standard output"))
    for path in (json_path, csv_path, plot_path):
        refuse_overwriting(path, tally)
    refuse_shared_outputs({"json": json_path, "csv": csv_path, "plot": plot_path})
    tallies = read_or_count_tallies(tally)
    estimates = [
        replace(estimate_tally(part, chosen, names), attribute=name)
        for name, part, names in _asked(tallies, only, joint)
    ]
    if any(part.simulated for part in tallies.values()):
        _warn_of_simulation(tally)
    known = backgrounds(estimates, background)
    given_back = {
        i: redistribute(result, known.get(str(result.attribute)))
        for i, result in enumerate(estimates)
        if has_tags(result)
    }
    if json_path is not None:
        write_text(_json_of(estimates, given_back, level, target), json_path)
    if csv_path is not None:
        write_text(csv_of(estimates, level, target, list(given_back.values())), csv_path)
    if plot_path is not None:
        save(chart(estimates, level=level, target=target), plot_path)
    if "-" not in (json_path, csv_path):
        for i, result in enumerate(estimates):
            show_estimate(result, level, target)
            if i in given_back:
                show_redistributed(given_back[i])


def _asked(
    tallies: Mapping[str, Tally], only: tuple[str, ...], joint: tuple[str, ...]
) -> Iterator[tuple[str, Tally, list[str] | None]]:
    """What to estimate, as the options say.

    Yields:
        A name for the result, the tally, and the attributes whose joint shares are wanted; None
        for all attributes of the tally.
    """
    unknown = [name for name in only if name not in tallies]
    if unknown:
        raise ArgumentError(
            message("--only", f"must be one of {', '.join(tallies)}", ", ".join(unknown))
        )
    for name, part in tallies.items():
        if only and name not in only:
            continue
        if not joint:
            yield name, part, None
        for names in joint:
            attributes = [attribute.strip() for attribute in names.split(",")]
            yield " x ".join(attributes), part, attributes


def _json_of(
    estimates: list[Estimate], given_back: Mapping[int, Redistributed], level: float, target: str
) -> str:
    """The estimates as JSON, with the shares of tags given back."""
    data = [
        result.to_json(level, target) | (given_back[i].to_json() if i in given_back else {})
        for i, result in enumerate(estimates)
    ]
    return _as_json(data) + "\n"


def _as_json(data: Any) -> str:
    return json.dumps(data, indent=1)


@main.command()
@click.argument("tally_file", metavar="TALLY")
@click.option(
    "-m",
    "--method",
    "method_names",
    multiple=True,
    help="An estimator to compare, named as for warner estimate. May be repeated. "
    "Default: the usual ones.",
)
@_attributes
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
@click.option("--plot", "plot_path", help="Draw the ranking: .png, .svg, .html or .json.")
def compare(
    tally_file: str,
    method_names: tuple[str, ...],
    only: tuple[str, ...],
    joint: tuple[str, ...],
    loss: str,
    runs: int,
    as_json: bool,
    plot_path: str | None,
) -> None:
    """Rank estimators by their error on tallies that are simulated from an estimate of TALLY.

    \b
        warner compare tally.json --plot ranking.png
        warner compare tally.json -m mle -m eb -m em:auto --loss l1
    """
    refuse_overwriting(plot_path, tally_file)
    rankings = {
        name: compare_methods(
            part, _methods(method_names, part, loss), loss, runs, attributes=names
        )
        for name, part, names in _asked(read_tallies(tally_file), only, joint)
    }
    if plot_path is not None:
        save(ranking(rankings), plot_path)
    if as_json:
        click.echo(_as_json({name: result.to_json() for name, result in rankings.items()}))
        return
    for name, result in rankings.items():
        show_comparison(name, result)


def _methods(names: tuple[str, ...], part: Tally, loss: str) -> list[Estimator]:
    """The methods named, or the usual ones for the reports of a tally and a loss."""
    usual = _COMPARED_KEYS if part.header.get("mechanism") == "KeyValue" else _COMPARED
    of_mean = ("mean",) if LOSSES[loss].of_mean else ()
    return [method(name) for name in names or (*usual, *of_mean)]


@main.command()
@click.argument("study", type=click.Path(dir_okay=False))
@click.option(
    "--people",
    type=click.IntRange(1),
    default=10_000,
    show_default=True,
    help="Number of people who will answer.",
)
@click.option(
    "--error",
    type=click.FloatRange(0, min_open=True),
    help="A wanted expected error. The table then says how many people it needs.",
)
@click.option(
    "--loss",
    type=click.Choice(["l1", "l2"]),
    default="l2",
    show_default=True,
    help="l2: sum of squared errors. l1: sum of absolute errors, twice the total variation.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def plan(study: str, people: int, error: float | None, loss: str, as_json: bool) -> None:
    """Rank the mechanisms for every attribute of STUDY by expected error.

    Each attribute keeps its budget and its sensitive values. The error is that of the unbiased
    estimate where all values are equally frequent. In Python, warner.plan takes another
    distribution.
    """
    chosen = Study.load(study).mechanisms
    plans = {}
    for attribute, mechanism in chosen.items():
        guarantee = mechanism.guarantee
        if not guarantee.bounds_all_pairs:
            click.echo(
                f"{attribute} is left out: its guarantee is {guarantee}, and the mechanisms "
                "compared here give LDP or ULDP",
                err=True,
            )
            continue
        if guarantee.epsilon == float("inf"):
            raise ArgumentError(
                message(
                    f"attributes.{attribute}", "is not protected, so there is nothing to choose"
                )
            )
        plans[attribute] = make_plan(
            mechanism.domain,
            mechanism.requested,
            people,
            guarantee.sensitive,
            loss=loss,
            error=error,
        )
    if as_json:
        click.echo(_as_json({name: result.to_json() for name, result in plans.items()}))
        return
    for attribute, result in plans.items():
        show_plan(attribute, result, chosen[attribute])
    if plans:
        click.echo(WEIGHT)


@main.command()
@click.argument("file", type=click.Path(dir_okay=False))
@click.option(
    "--samples",
    type=click.IntRange(1000),
    help="Also draw this many reports per value, for a lower bound of epsilon from samples.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def audit(file: str, samples: int | None, as_json: bool) -> None:
    """Compute the exact epsilon of every mechanism in FILE: a study, a report file or a tally.

    The exit status is 1 if any mechanism spends more than was requested, or if the reports in FILE
    are simulated with a seed.
    """
    mechanisms, simulated = mechanisms_of(file)
    results = {attribute: audit_mechanism(m, samples) for attribute, m in mechanisms.items()}
    if simulated:
        reason = "the reports are simulated, and the seed undoes the randomisation"
        results = {
            attribute: replace(result, holds=False, violation=reason)
            for attribute, result in results.items()
        }
    if as_json:
        data = {
            attribute: {k: ("inf" if v == float("inf") else v) for k, v in vars(result).items()}
            for attribute, result in results.items()
        }
        click.echo(_as_json(data))
    else:
        show_audits(results, samples)
    if not all(result.holds for result in results.values()):
        raise SystemExit(1)


@main.command()
@click.option(
    "-o",
    "--output",
    default="warner-demo",
    show_default=True,
    help="The folder for the files of the demonstration.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    help="Repeatable randomness, instead of that of the operating system.",
)
def demo(output: str, seed: int | None) -> None:
    """Run all steps on real answers.

    The answers are education and marital status of 32,561 people (UCI Adult), each at epsilon = 1.
    """
    demonstration.run(Path(output), _generator(seed), simulation=seed is not None)


main.add_command(reproduce)


if __name__ == "__main__":
    main()
