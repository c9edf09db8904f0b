"""The command that compares mechanisms and estimators by simulation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import click

from warner import io as files
from warner._core.checks import choice
from warner._core.errors import ArgumentError
from warner._core.progress import steps
from warner.app import terminal
from warner.app.commands.options import (
    Loss,
    Output,
    additions,
    attributes,
    refuse_given,
    table_of_rows,
    tally_files,
    written,
)
from warner.app.draft import Draft, mechanism_of
from warner.app.requested import asked_tallies, that_were_asked
from warner.app.what_files_hold import one_or_all, read_totals, say_written, tallies_together
from warner.design.benchmark import benchmark as benchmark_of
from warner.design.benchmark_result import Benchmark
from warner.design.charts import ranking
from warner.design.comparison import LOSSES, Comparison, compare as compare_methods, usual_methods
from warner.domains import Domain
from warner.estimators import Estimator
from warner.mechanisms import Mechanism
from warner.reports.tally import Tally
from warner.results.drawing import FORMATS, save
from warner.results.intervals import KINDS
from warner.results.recommend import compared, method

_OF_STUDIES = ("mechanisms", "epsilons", "people", "seed", "store", "processes", "coverage")
_OF_TALLIES = ("every", "joint", "allow_equal", "allow_simulated")


@click.command()
@tally_files("paths", metavar="FILE...", required=True)
@click.option(
    "-m",
    "--method",
    "method_names",
    multiple=True,
    help='The name of a method of estimation to compare, as in "warner estimate --method". May be '
    "repeated. Default: the usual methods.",
)
@click.option(
    "--all",
    "every",
    is_flag=True,
    help="Compare all methods of estimation, also those that are used only in papers.",
)
@attributes
@click.option(
    "--loss",
    type=Loss(LOSSES),
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
    help="How many surveys are simulated with the estimated shares as the truth. Other shares "
    "that fit the data are also tried as the truth, each with a third as many surveys.",
)
@click.option(
    "--truth",
    metavar="VALUES",
    help="If FILE is a study: a file of made-up or public answers. Their shares are taken as the "
    "truth.",
)
@click.option(
    "--mechanism",
    "mechanisms",
    multiple=True,
    metavar="NAME",
    help="If FILE is a study: a way of randomising (mechanism) to compare, such as UnaryEncoding "
    "or \"UnaryEncoding variant='oue'\". May be repeated. Default: the mechanism of the study.",
)
@click.option(
    "--epsilon",
    "epsilons",
    type=click.FloatRange(0, min_open=True),
    multiple=True,
    help="If FILE is a study: an epsilon to try with each mechanism. May be repeated. Default: the "
    "epsilon of the study.",
)
@click.option(
    "--people",
    type=click.IntRange(1),
    multiple=True,
    default=(10_000,),
    show_default="10000",
    help="If FILE is a study: how many people answer. May be repeated.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    help="If FILE is a study: a number that starts all random numbers (the seed). The same "
    "seed gives the same results again.",
)
@click.option(
    "--store",
    metavar="FILE",
    help="If FILE is a study: save each finished simulation in this file. If you run the same "
    "command again, it does only the simulations that are missing.",
)
@click.option(
    "--processes",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="If FILE is a study: how many processes compute at the same time.",
)
@click.option(
    "--coverage",
    type=click.Choice(KINDS),
    metavar="KIND",
    help="If FILE is a study: also count how many of the 95 % intervals of this kind hold the true "
    "share. score: the intervals of the unbiased estimate. bootstrap: those of each method.",
)
@written
@click.option(
    "--plot",
    "plot_path",
    metavar="FILE",
    help=f"Draw the errors as a picture in this file: {FORMATS}.",
)
@additions
def benchmark(
    paths: tuple[str, ...], output: Output, plot_path: str | None, **choices: Any
) -> None:
    """Rank methods of estimation, or ways of randomising, by their error in simulated surveys.

    If FILE is a tally, its estimated shares are taken as the truth. The command simulates surveys
    with this truth, and compares the methods on these surveys. Several files must be from different
    people.

    \b
        warner benchmark tally.json --plot ranking.png
        warner benchmark tally.json -m mle -m eb -m em:auto --loss l1
        warner benchmark tally.json --all

    If FILE is a study, --truth names a file of answers that are not secret. The command draws
    people from these answers, and simulates their reports. It then compares ways of randomising
    (mechanisms), each with several methods of estimation. In Python, warner.benchmark takes several
    truths and several measures of error.

    \b
        warner benchmark study.toml --truth public.csv --only smokes --people 5000 \\
            --mechanism RandomizedResponse --mechanism UnaryEncoding --epsilon 1 --epsilon 2

    For an article, -o table.html writes the tables as a page that Word opens, -o table.tex as
    LaTeX, and -o table.typ as Typst.
    """
    output.check(*paths, *([choices["truth"]] if choices["truth"] else []), plot=plot_path)
    if choices["truth"] is not None:
        refuse_given(_OF_TALLIES, "cannot be used with --truth")
        _of_study(paths, output, plot_path, choices)
    else:
        refuse_given(_OF_STUDIES, "can be used only with a study and --truth", None)
        _of_tallies(paths, output, plot_path, choices)


def _of_tallies(
    paths: tuple[str, ...], output: Output, plot_path: str | None, choices: Mapping[str, Any]
) -> None:
    """Compare estimators on tallies that are simulated from an estimate."""
    equal, simulated = choices["allow_equal"], choices["allow_simulated"]
    with_truth = ". Or simulate a survey: add --truth FILE, a file of made-up or public answers"
    read = partial(read_totals, with_a_study=with_truth)
    loss, runs, only, joint = (choices[key] for key in ("loss", "runs", "only", "joint"))
    tallies = tallies_together(paths, read, equal, simulated, only=only)
    wished, _ = that_were_asked(asked_tallies(tallies, only, joint))
    rankings = {
        name: compare_methods(
            one_or_all(parts), _methods(choices, parts[0]), loss, runs, attributes=names
        )
        for name, parts, names in steps(wished, "comparing")
    }
    if plot_path is not None:
        save(ranking(rankings), plot_path)
        say_written(plot_path)
    _write(rankings, output)


def _write(results: Mapping[str, Comparison] | Mapping[str, Benchmark], output: Output) -> None:
    """Print or write the results of some attributes."""

    def show() -> None:
        for name, result in results.items():
            table = result.table()
            terminal.show(replace(table, title=f"{name}: {table.title}"), "")

    output.write(
        show,
        lambda: {name: result.to_json() for name, result in results.items()},
        lambda: table_of_rows(
            ({"attribute": name, **row} for name, r in results.items() for row in r.rows())
        ),
        lambda: [
            replace(result.table(), title=f"{name}: {result.table().title}")
            for name, result in results.items()
        ],
        lambda: "\n\n".join(f"% {name}\n{r.to_latex().rstrip()}" for name, r in results.items()),
    )


def _methods(choices: Mapping[str, Any], tally: Tally) -> list[Estimator]:
    """The methods named, all of them, or the usual ones for the reports of a tally and a loss."""
    if choices["every"] and choices["method_names"]:
        remedy = "Leave out --all or --method"
        raise ArgumentError("--all", "cannot be used with --method", None, remedy)
    usual = compared(None) if choices["every"] else usual_methods(tally, choices["loss"])
    return [method(name) for name in choices["method_names"] or usual]


def _of_study(
    paths: tuple[str, ...], output: Output, plot_path: str | None, choices: Mapping[str, Any]
) -> None:
    """Compare mechanisms with estimators on known answers."""
    if len(paths) > 1:
        raise ArgumentError(
            "--truth", "can be used with only one study at a time", ", ".join(paths)
        )
    draft = Draft.load(paths[0])
    mechanisms = draft.study.mechanisms
    for name in choices["only"]:
        choice("--only", name, tuple(mechanisms))
    answers = [dict(batch) for batch in files.read_values(choices["truth"], draft.study.domains)]
    if not answers:
        rule = "must name a file with at least one answer"
        raise ArgumentError("--truth", rule, choices["truth"])
    results = {}
    for name in choices["only"] or mechanisms:
        mechanism = mechanisms[name]
        columns = [mechanism.domain.decode(batch[name]) for batch in answers]
        truth = [value for column in columns for value in column]
        results[name] = benchmark_of(
            truth,
            mechanism.domain,
            choices["mechanisms"] or {type(mechanism).__name__: _maker(draft, name)},
            choices["method_names"] or ("project", "mle", "eb"),
            list(choices["epsilons"]) or mechanism.requested,
            list(choices["people"]),
            choices["runs"],
            choices["loss"],
            seed=choices["seed"],
            store=choices["store"],
            processes=choices["processes"],
            coverage=choices["coverage"] or False,
        )
    if plot_path is not None:
        if len(results) > 1:
            rule = "shows only one question at a time"
            remedy = f"Choose a question, such as --only {next(iter(results))}"
            raise ArgumentError("--plot", rule, ", ".join(results), remedy)
        next(iter(results.values())).plot(plot_path)
        say_written(plot_path)
    _write(results, output)


def _maker(draft: Draft, name: str) -> Callable[[Domain, float], Mechanism]:
    """A function that makes the mechanism of an attribute, with its options, at any budget."""
    table = draft.data["attributes"].get(name)
    if table is None:
        rule = "is randomised together with other questions, so it has no mechanism of its own"
        remedy = "Choose a mechanism, such as --mechanism RandomizedResponse"
        raise ArgumentError(name, rule, None, remedy)
    return partial(mechanism_of, name, {k: v for k, v in table.items() if k != "reports"})
