"""``python -m papers``: the figures and tables of the five papers, from the command line."""

from __future__ import annotations

from pathlib import Path

import click

from papers import DataFolder, Experiment, Outcome, experiments, reproduce as run, select
from papers.pages import page, write
from warner._core.atomic_files import write_whole
from warner._core.errors import ArgumentError
from warner._core.table import Column, Table
from warner._core.text import duration
from warner.app.cli import PlainErrors
from warner.app.running import Interrupted
from warner.app.terminal import plural, show


@click.command(cls=PlainErrors, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", nargs=-1, metavar="[EXPERIMENT]...")
@click.option("--list", "listed", is_flag=True, help="List the experiments.")
@click.option("--all", "every", is_flag=True, help="Run all experiments.")
@click.option("--quick", is_flag=True, help="Few cells and runs: minutes for all experiments.")
@click.option(
    "-o",
    "--output",
    default="reproduced",
    show_default=True,
    help="The folder of the results. Finished work in it is not done again.",
)
@click.option(
    "--data",
    "data_folder",
    type=click.Path(exists=True, file_okay=False),
    help="The folder of the real data. Default: the variable WARNER_DATA. Without both, made data "
    "of the same shape stand in.",
)
@click.option(
    "--processes",
    type=click.IntRange(1),
    help="The number of processes. Default: one for each processor.",
)
@click.option("--no-pictures", is_flag=True, help="Write no pictures.")
def reproduce(
    names: tuple[str, ...],
    listed: bool,
    every: bool,
    quick: bool,
    output: str,
    data_folder: str | None,
    processes: int | None,
    no_pictures: bool,
) -> None:
    """Reproduce figures and tables of the five papers.

    EXPERIMENT is a figure or table such as P2/fig6, or a paper such as P2. Each writes a table
    (CSV), pictures and a paragraph: the paper's statement, the result here, and whether they agree.
    A run of all experiments of a paper also writes a page of it.
    An interrupted run goes on where it stopped, with the same numbers. The exit status is 1 where a
    claim fails that held in the run of docs/papers, or that has no reason to fail.
    """
    chosen = list(experiments().values()) if every or (listed and not names) else select(names)
    if listed:
        _list(chosen)
        return
    if not chosen:
        raise ArgumentError("EXPERIMENT", "name one or several", None, "See --list, or run --all")
    data = DataFolder.from_environment() if data_folder is None else DataFolder(data_folder)
    folder, outcomes = Path(output), []
    try:
        for outcome in run(chosen, folder, data, quick, processes):
            files = write(outcome, folder, not no_pictures)
            _show(outcome, files[0].parent)
            outcomes.append(outcome)
    except KeyboardInterrupt:
        raise Interrupted(
            f"the finished work in {folder} stands, and the same command goes on with it"
        ) from None
    for paper in dict.fromkeys(outcome.experiment.paper for outcome in outcomes):
        results = [o for o in outcomes if o.experiment.paper == paper]
        # A page is of all experiments of a paper, so that a later run of one leaves it whole.
        if len(results) == sum(e.paper == paper for e in experiments().values()):
            text = page(paper, results, folder)
            write_whole(folder / ("quick" if quick else "full") / f"{paper}.md", text.encode())
    broken = sum(len(outcome.broken) for outcome in outcomes)
    if broken:
        show(
            plural(broken, "claim", "claims") + " without a reason to fail did not hold.", err=True
        )
        raise SystemExit(1)


def _list(chosen: list[Experiment]) -> None:
    """Print the names, sizes and titles of experiments."""
    rows = [
        {
            "experiment": e.name,
            "cells x runs": f"{len(e.cells)} x {e.runs}",
            "data": plural(len(e.data), "file", "files") if e.data else "made",
            "title": e.title,
        }
        for e in chosen
    ]
    files = "docs/papers/data.md lists the files of the data, and where they come from."
    show(Table(["experiment", "cells x runs", "data", Column("title", "")], rows, [files]))


def _show(outcome: Outcome, place: Path) -> None:
    """Print the verdicts of one experiment."""
    made = ", made data" if outcome.made else ""
    show(
        f"{outcome.experiment.name}: {outcome.experiment.title} "
        f"({duration(outcome.seconds)}{made}; {place})"
    )
    for claim, verdict in outcome.verdicts:
        if verdict is None:
            show(f"  not decided by the quick run: {claim.text}")
        else:
            word = "holds" if verdict.holds else "does not hold"
            reason = claim.failure.reason.value if claim.failure else ""
            why = outcome.why(claim, verdict, reason)
            show(f"  {word}: {claim.text} ({verdict.figure}{why})")


if __name__ == "__main__":
    reproduce(prog_name="python -m papers")
