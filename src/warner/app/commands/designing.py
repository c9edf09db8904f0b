"""Commands before a survey: plan and audit."""

from __future__ import annotations

from dataclasses import replace

import click

from warner._core.errors import ArgumentError, message
from warner.app.command_files import grouped_mechanisms, mechanisms_of
from warner.app.commands.options import as_json as to_json
from warner.app.study import Study
from warner.app.terminal import WEIGHT, show_audits, show_plan
from warner.design.audits import audit as audit_mechanism
from warner.design.planning import plan as make_plan


@click.command()
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
    chosen = grouped_mechanisms(Study.load(study))
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
        click.echo(to_json({name: result.to_json() for name, result in plans.items()}))
        return
    for attribute, result in plans.items():
        show_plan(attribute, result, chosen[attribute])
    if plans:
        click.echo(WEIGHT)


@click.command()
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
        click.echo(to_json(data))
    else:
        show_audits(results, samples)
    if not all(result.holds for result in results.values()):
        raise SystemExit(1)
