"""Commands before a survey: plan, clusters and audit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from warner._core.errors import ArgumentError, message
from warner._core.progress import steps
from warner.app.command_files import grouped_mechanisms, mechanisms_of, read_tallies
from warner.app.commands.options import as_json as to_json
from warner.app.commands.options import smallest_group
from warner.app.study import Study
from warner.app.study_public import TABLE, audit_of, audit_text
from warner.app.terminal import WEIGHT, show_audits, show_plan
from warner.design.audits import audit as audit_mechanism
from warner.design.clusters import clusters as find_clusters
from warner.design.planning import MOST_SIMULATED, Plan, can_simulate
from warner.design.planning import plan as make_plan
from warner.mechanisms import Mechanism, from_header


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
    "--difference",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="A difference of a share between groups, such as 0.02, to detect by a test of size 5 %. "
    "The table then says how many people it needs in all groups.",
)
@click.option(
    "--groups",
    type=click.IntRange(2),
    default=2,
    show_default=True,
    help="Number of groups of equal size, for --difference.",
)
@click.option(
    "--power",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.8,
    show_default=True,
    help="The probability with which --difference should be detected.",
)
@click.option(
    "--loss",
    type=click.Choice(["l1", "l2", "w1"]),
    help="l2: sum of squared errors. l1: sum of absolute errors, twice the total variation. "
    "w1: Wasserstein-1 distance, for numbers and places. Default: w1 for numbers and places, "
    "l2 for labels.",
)
@click.option(
    "--runs",
    type=click.IntRange(2),
    default=5,
    show_default=True,
    help="Number of simulated tallies for each mechanism, for w1.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def plan(
    study: str,
    people: int,
    loss: str | None,
    as_json: bool,
    **wanted: Any,
) -> None:
    """Rank the mechanisms for every attribute of STUDY by expected error.

    Each attribute keeps its budget, its guarantee and its sensitive values. Labels are judged by
    the unbiased estimate where all values are equally frequent. Numbers and places are judged by
    simulated estimates, made as warner estimate makes them; mechanisms of numbers and of places
    are then compared too. In Python, warner.plan takes another distribution.

    With --difference, mechanisms are sorted by the number of people that a test needs, and a second
    table says what other budgets buy.
    """
    chosen = grouped_mechanisms(Study.load(study))
    plans = {}
    for attribute, mechanism in steps(chosen.items(), "planning"):
        if (found := _planned(attribute, mechanism, people, loss, wanted)) is not None:
            plans[attribute] = found
    if as_json:
        click.echo(to_json({name: result.to_json() for name, result in plans.items()}))
        return
    for attribute, result in plans.items():
        show_plan(attribute, result, chosen[attribute])
    if plans:
        click.echo(WEIGHT)


def _planned(
    attribute: str,
    mechanism: Mechanism,
    people: int,
    loss: str | None,
    wanted: dict[str, Any],
) -> Plan | None:
    """The plan for one attribute; None where no mechanism can be compared with its own.

    Args:
        attribute: its name.
        mechanism: its mechanism.
        people: number of people who will answer.
        loss: the loss; None for the one that suits the values.
        wanted: arguments of :func:`warner.plan`: error, runs, difference, groups, power.
    """
    guarantee, domain = mechanism.guarantee, mechanism.domain
    if guarantee.epsilon == float("inf"):
        rule = "is not protected, so there is nothing to choose"
        raise ArgumentError(message(f"attributes.{attribute}", rule))
    if loss is None:
        loss = "w1" if can_simulate(domain) and wanted["difference"] is None else "l2"
    if loss == "w1" and not can_simulate(domain):
        about = f"the loss w1 needs numbers or places, up to {MOST_SIMULATED} of them"
    elif loss != "w1" and not guarantee.bounds_all_pairs:
        about = (
            f"its guarantee is {guarantee}, and the mechanisms compared by {loss} give LDP or ULDP"
        )
    else:
        near = loss == "w1"
        return make_plan(
            domain,
            mechanism.requested,
            people,
            guarantee.sensitive,
            loss=loss,
            distance=mechanism.distance_unit if near else None,
            also={type(mechanism).__name__: mechanism} if near else None,
            **wanted,
        )
    click.echo(f"{attribute} is left out: {about}.", err=True)
    return None


@click.command()
@click.argument("file", type=click.Path(dir_okay=False))
@click.option(
    "--samples",
    type=click.IntRange(1000),
    help="Also draw this many reports per value, for a lower bound of epsilon from samples.",
)
@smallest_group
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def audit(file: str, samples: int | None, smallest_group: int, as_json: bool) -> None:
    """Compute the exact epsilon of every mechanism in FILE: a study, a report file or a tally.

    It also lists the public columns, which no epsilon is of, and warns of groups by them that are
    so small that they can point at a person.

    The exit status is 1 if any mechanism spends more than was requested, or if the reports in FILE
    are simulated with a seed.
    """
    mechanisms, simulated, most, public, sizes = mechanisms_of(file)
    results = {
        attribute: audit_mechanism(m, samples)
        for attribute, m in steps(mechanisms.items(), "auditing")
    }
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
        if public:
            data |= {TABLE: audit_of(public, smallest_group, sizes)}
        click.echo(to_json(data))
    else:
        show_audits(results, samples)
        if most > 1:
            click.echo(
                f"These are of one row of answers. A person with {most:,} rows spends {most:,} "
                "times as much."
            )
        if public:
            click.echo(audit_text(public, smallest_group, sizes))
    if not all(result.holds for result in results.values()):
        raise SystemExit(1)


@click.command()
@click.argument("tally_file", metavar="PAIRS", type=click.Path(dir_okay=False))
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    default=0.1,
    show_default=True,
    help="The least Cramer's V that joins two groups.",
)
@click.option(
    "--largest",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="The most combinations of values in a group.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def clusters(tally_file: str, threshold: float, largest: int, as_json: bool) -> None:
    """Group attributes that depend on each other, to be randomised together.

    PAIRS is the tally of a pilot study, made with warner tally --ways 2. Each line of the output is
    a group. Groups of two and more go to [[joint]] tables of the study file.

    \b
        warner tally pilot.parquet --ways 2 -o pairs.json
        warner clusters pairs.json
    """
    tallies = read_tallies(tally_file)
    for tally in tallies.values():
        if not from_header(tally.header).attribute_domains:
            rule = "has no joint reports of pairs of attributes"
            raise ArgumentError(
                message(tally_file, rule, None, "Make it with warner tally --ways 2")
            )
    found = {name: find_clusters(tally, threshold, largest) for name, tally in tallies.items()}
    if as_json:
        click.echo(to_json(found))
        return
    for groups in found.values():
        for group in groups:
            click.echo(", ".join(group))
