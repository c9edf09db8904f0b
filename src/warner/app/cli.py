"""The command line: each command a filter from files or standard input to files or standard output."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from warner import io as files
from warner._core.atomic_files import (
    write_whole,
)
from warner._core.errors import (
    ArgumentError,
    MismatchError,
    WarnerError,
    message,
)
from warner._core.sampling import Source
from warner.app.background_files import backgrounds
from warner.app.methods import METHODS, method
from warner.app.study import Study
from warner.app.terminal import (
    console,
    csv_of,
    grid,
    in_people,
    plural,
    progress,
    show_comparison,
    show_estimate,
    show_plan,
    show_redistributed,
)
from warner.design.auditing import audit as audit_mechanism
from warner.design.comparison import compare as compare_methods
from warner.design.planning import plan as make_plan
from warner.domains import Tagged
from warner.estimators import Estimator
from warner.mechanisms import Mechanism, from_header
from warner.privacy.guarantees import LDP, OSLDP, ULDP, MetricLDP
from warner.reports.tally import (
    Tally,
    dump_tallies,
    load_tallies,
    parse_tallies,
    require_same_origin,
    save_tallies,
)
from warner.results.estimate import Estimate
from warner.results.estimate import estimate as estimate_tally
from warner.results.redistribution import redistribute

_TARGETS = click.Choice(["population", "respondents"])
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
)  # what users would try
_TOGETHER_HELP = (
    "Of attributes plural together (warner tally --ways): these, jointly; may be repeated."
)
_EQUAL_HELP = "Add inputs with equal counts: they are of different people, and equal by chance."
_SIMULATED_HELP = "Add simulated reports to real ones; the sum counts as simulated."
_METHOD_HELP = f"Estimator: {', '.join(METHODS)} (em takes steps or auto: em:100, em:auto). Default: the recommended one."


class _Group(click.Group):
    """Errors of warner and of the file system end in one line and exit status 1, never in a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        with contextlib.suppress(
            ValueError
        ):  # not in the main thread: then nobody ends us by a signal either
            signal.signal(
                signal.SIGTERM, lambda *_: sys.exit(143)
            )  # so that unfinished files are taken away
        try:
            return super().invoke(ctx)
        except WarnerError as error:
            raise click.ClickException(str(error)) from None
        except MemoryError:
            raise click.ClickException(
                message(
                    "memory",
                    "is not enough for this",
                    None,
                    "Use fewer values, seeds or attributes",
                )
            ) from None
        except BrokenPipeError:
            sys.stderr.close()
            raise SystemExit(1) from None
        except OSError as error:
            raise click.ClickException(
                message(str(error.filename or "file"), error.strerror or type(error).__name__)
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
    help="Report file, .parquet or .csv; default CSV on standard output.",
)
@click.option(
    "--bare", is_flag=True, help="The values have no header line; columns are in the study's order."
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    help="For simulations only: repeatable randomness. Real answers need the default.",
)
@click.option(
    "--keep-order",
    is_flag=True,
    help="Write people in the order of VALUES. Their order can say who answered what.",
)
def randomize(
    study: str, values: str, output: str, bare: bool, seed: int | None, keep_order: bool
) -> None:
    """Randomise the answers in VALUES (CSV or Parquet; - is CSV on standard input) as STUDY says.

    An answer outside its domain stops everything and nothing is written. An empty line is a row of empty cells. The reports
    are written in random order, because the order of people can say who answered what. Randomising the same answers again
    spends the budget again.

    \b
        warner randomize study.toml answers.csv -o reports.parquet
        echo yes | warner randomize study.toml --bare
    """
    plan = Study.load(study)
    _not_over(output, study, values)
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
            "A simulation: whoever knows the seed can undo the randomisation. The reports say so.",
            err=True,
        )


def _spent(study: Study) -> str:
    open_ = [name for name, m in study.mechanisms.items() if m.guarantee.epsilon == float("inf")]
    if open_:
        return f"without limit: NO PROTECTION of {', '.join(open_)}, whose answers are sent as they are"
    some = [
        name
        for name, m in study.mechanisms.items()
        if m.sensitive_mask is not None and not m.sensitive_mask.all()
    ]
    scope = f" (of {', '.join(some)} only the sensitive values are protected)" if some else ""
    apart = [name for name, m in study.mechanisms.items() if isinstance(m.guarantee, MetricLDP)]
    scope += (
        f" (of {', '.join(apart)} between the values furthest apart, less between others)"
        if apart
        else ""
    )
    also = f", delta = {study.delta:.4g}" if study.delta else ""
    again = "; whoever randomises the same answers again spends as much again"
    return f"at most epsilon = {study.epsilon:.10g}{also} in all{scope}{again}"


def _not_over(output: str | None, *inputs: str) -> None:
    """Refuse to write over a file that is being read, by its name or as standard input."""
    if output in (None, "-") or not Path(str(output)).is_file():
        return
    target = Path(str(output)).stat()
    for path in inputs:
        try:
            same = os.path.samestat(
                target, os.fstat(sys.stdin.fileno()) if path == "-" else os.stat(path)
            )
        except (
            OSError,
            ValueError,
        ):  # no such file, or a standard input that is no file of the system
            same = False
        if same:
            raise ArgumentError(
                message(
                    "output", "must not be one of the inputs", str(output), "Choose another name"
                )
            )


def _apart(**outputs: str | None) -> None:
    """Refuse two results under one name, of which the second would replace the first."""
    seen: dict[Path, str] = {}
    for option, path in outputs.items():
        if path is None or path == "-" or (Path(path).exists() and not Path(path).is_file()):
            continue
        if (other := seen.setdefault(Path(path).resolve(), option)) != option:
            raise ArgumentError(
                message(
                    f"--{other} and --{option}",
                    "must not go to one file",
                    path,
                    "Choose another name",
                )
            )


def _generator(seed: int | None) -> Any:
    if seed is None:
        return None
    import numpy as np

    return np.random.default_rng(seed)


@main.command()
@click.argument("reports", nargs=-1, required=True)
@click.option("-o", "--output", default="-", help="Tally file (JSON); default standard output.")
@click.option(
    "--study",
    type=click.Path(dir_okay=False),
    help="Refuse reports that were not made as this study says.",
)
@click.option(
    "--ways",
    type=click.IntRange(1),
    help="Count attributes together: keep tables of every so many of them, for joint shares.",
)
@click.option("--allow-equal", is_flag=True, help=_EQUAL_HELP)
@click.option("--allow-simulated", is_flag=True, help=_SIMULATED_HELP)
def tally(
    reports: tuple[str, ...],
    output: str,
    study: str | None,
    ways: int | None,
    allow_equal: bool,
    allow_simulated: bool,
) -> None:
    """Count the reports in one or more files (.parquet or .csv; - is CSV on standard input).

    Files with the same content or equal counts are refused: they are most likely copies of the same reports.

    \b
        warner tally reports.parquet -o tally.json
        warner tally reports.parquet --ways 2 -o pairs.json     # then: warner estimate pairs.json --attributes sex,age
    """
    _not_over(output, *reports, *([study] if study else []))
    plan = None if study is None else Study.load(study)
    parts: dict[str, dict[str, Tally]] = {}
    seals = set()
    for path in reports:
        with _spooled(path) as file, progress(f"counting {path}") as step:
            opened = files.open_reports(file)
            if plan is not None:
                opened = _of_study(opened, plan, ways is not None)
            if opened.end["sha256"] in seals:
                raise ArgumentError(
                    message(
                        "reports",
                        "must not be plural twice",
                        f"{path}, whose content was given before",
                    )
                )
            seals.add(opened.end["sha256"])
            if opened.simulation:
                click.echo(f"{path}: reports of a simulation, made with a seed", err=True)
            parts[path] = files.tally_file(opened, step, ways)
    _write_tallies(_add(parts, allow_equal, allow_simulated), output)


@main.command()
@click.argument("tallies", nargs=-1, required=True)
@click.option("-o", "--output", default="-", help="Tally file (JSON); default standard output.")
@click.option("--allow-equal", is_flag=True, help=_EQUAL_HELP)
@click.option("--allow-simulated", is_flag=True, help=_SIMULATED_HELP)
def merge(tallies: tuple[str, ...], output: str, allow_equal: bool, allow_simulated: bool) -> None:
    """Add tallies of the same study. Any order and any grouping gives the same tally, bit for bit.

    Equal tallies are refused: they are most likely copies of one. A tally that is already part of another cannot be recognised.
    """
    _not_over(output, *tallies)
    places = [str(Path(path).resolve()) for path in tallies]
    if len(set(places)) < len(places):
        raise ArgumentError(message("tallies", "must not be added twice", ", ".join(tallies)))
    _write_tallies(
        _add({path: _read_tallies(path) for path in tallies}, allow_equal, allow_simulated), output
    )


@main.command()
@click.argument("tally", default="-")
@click.option("-m", "--method", "name", help=_METHOD_HELP)
@click.option(
    "-a", "--attribute", "wanted", multiple=True, help="Only this attribute; may be repeated."
)
@click.option(
    "--attributes", "together", metavar="NAME,NAME,...", multiple=True, help=_TOGETHER_HELP
)
@click.option(
    "--level",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Coverage of the intervals.",
)
@click.option(
    "--target",
    type=_TARGETS,
    default="population",
    show_default=True,
    help="Whom the intervals are for.",
)
@click.option(
    "--json",
    "json_path",
    help="Write the estimates as JSON (- for standard output, instead of the table).",
)
@click.option(
    "--csv",
    "csv_path",
    help="Write the table as CSV (- for standard output, instead of the table); a ' stands before labels that spreadsheets would run.",
)
@click.option("--plot", "plot_path", help="Draw the shares: .png, .svg, .html or .json.")
@click.option(
    "--background",
    multiple=True,
    metavar="TAG=FILE",
    help="What people hide under a tag (or ATTRIBUTE.TAG): CSV of value,share.",
)
def estimate(
    tally: str,
    name: str | None,
    wanted: tuple[str, ...],
    together: tuple[str, ...],
    level: float,
    target: str,
    json_path: str | None,
    csv_path: str | None,
    plot_path: str | None,
    background: tuple[str, ...],
) -> None:
    """Estimate the shares behind TALLY (a tally file, a report file, or - for a tally on standard input).

    Shares of tags ("@home") are given back to values in a second table: by what --background says of a tag, else in proportion.
    """
    chosen = None if name is None else method(name)
    if json_path == csv_path == "-":
        raise ArgumentError(message("--json and --csv", "cannot both go to standard output"))
    for path in (json_path, csv_path, plot_path):
        _not_over(path, tally)
    _apart(json=json_path, csv=csv_path, plot=plot_path)
    tallies = (
        files.tally_file(tally) if Path(tally).suffix in files.FORMATS else _read_tallies(tally)
    )
    for attribute in wanted:
        if attribute not in tallies:
            raise ArgumentError(
                message("attribute", f"must be one of {', '.join(tallies)}", repr(attribute))
            )
    asked = _together(together)
    estimates = [
        _estimated(attribute if names is None else " x ".join(names), part, chosen, names)
        for attribute, part in tallies.items()
        if not wanted or attribute in wanted
        for names in asked
    ]
    if any(part.simulated for part in tallies.values()):
        click.echo(f"{tally}: reports of a simulation, made with a seed", err=True)
    known = backgrounds(estimates, background)
    tagged = {
        id(e): redistribute(e, known.get(str(e.attribute)))
        for e in estimates
        if isinstance(e.domain, Tagged)
    }
    if json_path is not None:
        _write(
            json.dumps(
                [
                    e.to_json(level, target) | (tagged[id(e)].to_json() if id(e) in tagged else {})
                    for e in estimates
                ],
                indent=1,
            )
            + "\n",
            json_path,
        )
    if csv_path is not None:
        _write(csv_of(estimates, level, target, list(tagged.values())), csv_path)
    if plot_path is not None:
        from warner.results.charts import chart, save

        save(chart(estimates, level=level, target=target), plot_path)
    if "-" not in (json_path, csv_path):
        for result in estimates:
            show_estimate(result, level, target)
            if id(result) in tagged:
                show_redistributed(tagged[id(result)])


@main.command()
@click.argument("tally_file", metavar="TALLY")
@click.option(
    "-m",
    "--method",
    "names",
    multiple=True,
    help="A method to compare; may be repeated. Default: those of the literature and ours.",
)
@click.option(
    "-a", "--attribute", "wanted", multiple=True, help="Only this attribute; may be repeated."
)
@click.option(
    "--attributes", "together", metavar="NAME,NAME,...", multiple=True, help=_TOGETHER_HELP
)
@click.option(
    "--loss",
    type=click.Choice(["l1", "l2", "w1"]),
    default="l2",
    show_default=True,
    help="l2: squared, l1: absolute, w1: Wasserstein-1.",
)
@click.option(
    "--runs",
    type=click.IntRange(2),
    default=20,
    show_default=True,
    help="How many tallies are simulated.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--plot", "plot_path", help="Draw the ranking: .png, .svg, .html or .json.")
def compare(
    tally_file: str,
    names: tuple[str, ...],
    wanted: tuple[str, ...],
    together: tuple[str, ...],
    loss: str,
    runs: int,
    as_json: bool,
    plot_path: str | None,
) -> None:
    """Rank methods by their error on tallies simulated from an estimate of TALLY.

    \b
        warner compare tally.json --plot ranking.png
        warner compare tally.json -m mle -m eb -m em:auto --loss l1
    """
    _not_over(plot_path, tally_file)
    tallies = _read_tallies(tally_file)
    unknown = [name for name in wanted if name not in tallies]
    if unknown:
        raise ArgumentError(
            message("attribute", f"must be one of {', '.join(tallies)}", ", ".join(unknown))
        )
    found = {
        name if some is None else " x ".join(some): compare_methods(
            part, _asked(names, part), loss, runs, attributes=some
        )
        for name, part in tallies.items()
        if not wanted or name in wanted
        for some in _together(together)
    }
    if plot_path is not None:
        from warner.results.charts import ranking, save

        save(ranking(found), plot_path)
    if as_json:
        click.echo(json.dumps({name: part.to_json() for name, part in found.items()}, indent=1))
        return
    for name, part in found.items():
        show_comparison(name, part)


def _asked(names: tuple[str, ...], part: Tally) -> list[Estimator]:
    """The methods named, or what users would try on such reports."""
    usual = _COMPARED_KEYS if part.header.get("mechanism") == "KeyValue" else _COMPARED
    return [method(name) for name in names or usual]


@main.command()
@click.argument("study", type=click.Path(dir_okay=False))
@click.option(
    "--people",
    type=click.IntRange(1),
    default=10_000,
    show_default=True,
    help="How many people will answer.",
)
@click.option(
    "--error",
    type=click.FloatRange(0, min_open=True),
    help="A wanted expected error: says how many people it needs.",
)
@click.option(
    "--loss",
    type=click.Choice(["l1", "l2"]),
    default="l1",
    show_default=True,
    help="l1: twice the total variation; l2: sum of squares.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def plan(study: str, people: int, error: float | None, loss: str, as_json: bool) -> None:
    """Rank the mechanisms for every attribute of STUDY by expected error, at its budget and with its sensitive values.

    The error is that of the unbiased estimate where answers are spread evenly; a guess of theirs can be given in Python (warner.plan).
    The weight of one report is how many people a forged one can add to the estimated count of a value.
    """
    chosen = Study.load(study).mechanisms
    plans = {}
    for attribute, mechanism in chosen.items():
        if not isinstance(mechanism.guarantee, LDP | ULDP | OSLDP):
            click.echo(
                f"{attribute} is left out: its privacy is {mechanism.guarantee}, which the mechanisms compared here do not have",
                err=True,
            )
            continue
        if mechanism.epsilon == float("inf"):
            raise ArgumentError(
                message(
                    f"attributes.{attribute}", "is not protected, so there is nothing to choose"
                )
            )
        sensitive = getattr(mechanism.guarantee, "sensitive", None)
        plans[attribute] = make_plan(
            mechanism.domain, mechanism.requested, people, sensitive, error, loss
        )
    if as_json:
        click.echo(
            json.dumps(
                {attribute: ranking.to_json() for attribute, ranking in plans.items()}, indent=1
            )
        )
        return
    for attribute, ranking in plans.items():
        show_plan(attribute, ranking, chosen[attribute])


def _together(named: tuple[str, ...]) -> list[list[str] | None]:
    """Which attributes to look at jointly, one list after the other; None for all."""
    return [[name.strip() for name in names.split(",")] for names in named] or [None]


def _estimated(attribute: str, part: Tally, chosen: Any, names: list[str] | None) -> Estimate:
    result = estimate_tally(part, chosen, names)
    return Estimate(result.fit, result.data, result.estimator, attribute)


@main.command()
@click.argument("file", type=click.Path(dir_okay=False))
@click.option(
    "--samples",
    type=click.IntRange(1000),
    help="Also draw this many reports per value and bound epsilon from below by what is seen.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def audit(file: str, samples: int | None, as_json: bool) -> None:
    """Compute the exact epsilon of every mechanism in FILE: a study, a report file or a tally.

    The weight of one report is how many people a forged one can add to the estimated count of a value.

    Exit status 1 if any mechanism spends more than was asked for, or the reports in FILE are simulated with a seed.
    """
    mechanisms, simulated = _mechanisms_of(file)
    results = {attribute: audit_mechanism(m, samples) for attribute, m in mechanisms.items()}
    if simulated:
        seeded = "the reports are simulated: whoever knows the seed can undo the randomisation"
        results = {
            attribute: replace(result, holds=False, breaks=seeded)
            for attribute, result in results.items()
        }
    if as_json:
        data = {
            a: {k: ("inf" if v == float("inf") else v) for k, v in vars(r).items()}
            for a, r in results.items()
        }
        click.echo(json.dumps(data, indent=1))
    else:
        sides = ("left", "left", "right", "right", "left", "right", "left", "left")
        names = (
            "attribute",
            "mechanism",
            "requested",
            "exact epsilon",
            "holds",
            "weight",
            "guarantee",
            "examined",
        )
        columns = dict(zip(names, sides, strict=True))
        rows = []
        for attribute, result in results.items():
            seen = (
                ""
                if result.sampled is None
                else f"; {samples:,} samples show at least {result.sampled:.4f}"
            )
            mechanism = result.mechanism.partition("(")[0]
            verdict = "yes" if result.holds else f"NO: {result.breaks}"
            numbers = f"{result.requested:.10g}", f"{result.epsilon:.10g}"
            rows.append(
                [
                    attribute,
                    mechanism,
                    *numbers,
                    verdict,
                    in_people(result.weight),
                    result.guarantee,
                    result.how + seen,
                ]
            )
        console().print(grid(columns, rows))
        console().print(
            "The weight of one report is how many people a forged one can add to the estimated count of a value."
        )
    if not all(result.holds for result in results.values()):
        raise SystemExit(1)


@main.command()
@click.option(
    "-o",
    "--output",
    default="warner-demo",
    show_default=True,
    help="Folder for what the demo makes.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    help="Repeatable randomness instead of the operating system's.",
)
def demo(output: str, seed: int | None) -> None:
    """Run everything on real answers: education and marital status of 32,561 people (UCI Adult), at epsilon = 1 each."""
    from warner.app.demo import run

    run(Path(output), _generator(seed), simulation=seed is not None)


# Reading and writing


def _read_tallies(path: str) -> dict[str, Tally]:
    if path == "-":
        return parse_tallies(sys.stdin.buffer.read(), "standard input")
    return load_tallies(path)


def _write_tallies(tallies: dict[str, Tally], path: str) -> None:
    if path == "-":
        click.echo(dump_tallies(tallies), nl=False)
    else:
        save_tallies(tallies, path)
    click.echo(plural(next(iter(tallies.values())).n, "report", "reports"), err=True)


def _write(text: str, path: str) -> None:
    if path == "-":
        click.echo(text, nl=False)
    else:
        write_whole(path, text.encode())


def _add(
    parts: dict[str, dict[str, Tally]], allow_equal: bool, allow_simulated: bool
) -> dict[str, Tally]:
    """The sum of the tallies of several inputs, {path: tallies}; refused where two are equal, or some of them simulated."""
    marks = [part.simulated for tallies in parts.values() for part in tallies.values()]
    if allow_simulated:
        parts = {
            path: {name: part.marked(any(marks)) for name, part in tallies.items()}
            for path, tallies in parts.items()
        }
    else:
        require_same_origin(marks, "tallies")
    total: dict[str, Tally] = {}
    seen: dict[str, str] = {}
    for path, part in parts.items():
        if total and part.keys() != total.keys():
            raise MismatchError(
                message(
                    "tallies",
                    "are of different attributes",
                    f"{', '.join(total)} and {', '.join(part)}",
                )
            )
        content = ",".join(f"{name!r}:{t.digest}" for name, t in sorted(part.items()))
        if not allow_equal and content in seen:
            rule, got = (
                "must not be added twice",
                f"{seen[content]} and {path}, whose counts are equal",
            )
            raise ArgumentError(
                message(
                    "tallies",
                    rule,
                    got,
                    "Leave one out; if they are of different people, say --allow-equal",
                )
            )
        seen[content] = path
        total = {name: total[name] + t if total else t for name, t in part.items()}
    return total


def _of_study(file: files.ReportFile, study: Study, together: bool) -> files.ReportFile:
    """The file, once its headers are found to be the study's; nothing is built before."""
    known: dict[str, Mechanism] = dict(study.mechanisms)
    if together and len(known) > 1 and len(file.headers) == 1:
        known = dict.fromkeys(
            file.headers, study.together
        )  # reports of PerAttribute, written as one attribute
    return file.expected(known)


def _mechanisms_of(path: str) -> tuple[dict[str, Mechanism], bool]:
    """The mechanisms that a study, report or tally file names, and whether its reports are simulated."""
    suffix = Path(path).suffix
    if suffix in files.FORMATS:
        opened = files.open_reports(path)
        return opened.mechanisms, opened.simulation
    if (
        suffix == ".json"
        and '"warner-tally"' in Path(path).read_text(encoding="utf-8", errors="replace")[:200]
    ):
        tallies = load_tallies(path)
        return {name: from_header(t.header) for name, t in tallies.items()}, any(
            t.simulated for t in tallies.values()
        )
    return Study.load(path).mechanisms, False


@contextlib.contextmanager
def _spooled(path: str) -> Iterator[str]:
    """A file name for ``path``; standard input is copied to a temporary file, because a report file is read twice."""
    if path != "-":
        yield path
        return
    import shutil
    import tempfile

    with tempfile.NamedTemporaryFile(suffix=".csv") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
        file.flush()
        yield file.name


if __name__ == "__main__":
    main()
