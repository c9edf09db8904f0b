"""Options that several commands have."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

import click
import numpy as np

from warner._core.checks import confidence_level
from warner.reports.tally import MOST_PER_PERSON, Tally
from warner.studies.public import SMALLEST_GROUP

Command = TypeVar("Command", bound=Callable[..., None])


def options(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several options as one decorator, in the order in which the help shows them."""

    def decorated(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorated


tally_output = click.option(
    "-o",
    "--output",
    default="-",
    help="The tally file to write (JSON). Default: standard output.",
)
several_reports = click.option(
    "--reports-per-person",
    type=click.IntRange(1, MOST_PER_PERSON),
    metavar="T",
    help="One person sent up to T of these reports, of different values. Intervals for the "
    "population then count people. Reports made with rows_per_person in the study say so "
    "themselves.",
)
smallest_group = click.option(
    "--smallest-group",
    type=click.IntRange(1),
    metavar="N",
    default=SMALLEST_GROUP,
    show_default=True,
    help="Warn of groups by public columns that have fewer people than this: they can point at a "
    "person.",
)
of_intervals = options(
    click.option(
        "--level",
        type=float,
        callback=lambda _context, _option, level: confidence_level(level),
        default=0.95,
        show_default=True,
        help="Coverage of the intervals.",
    ),
    click.option(
        "--target",
        type=click.Choice(["population", "respondents"]),
        default="population",
        show_default=True,
        help="Intervals for the population that people were drawn from, or for these respondents.",
    ),
)
additions = options(
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
attributes = options(
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


def per_person(tallies: dict[str, Tally], most: int | None) -> dict[str, Tally]:
    """The tallies, with the reports of one person where --reports-per-person states them."""
    if most is None:
        return tallies
    return {name: tally.per_person(most) for name, tally in tallies.items()}


def generator(seed: int | None) -> np.random.Generator | None:
    """The source of repeatable randomness, or None for the operating system's."""
    return None if seed is None else np.random.default_rng(seed)


def as_json(data: Any) -> str:
    """Data as the text of a JSON file, without its last line end."""
    return json.dumps(data, indent=1)
