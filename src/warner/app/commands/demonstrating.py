"""The command that demonstrates all steps."""

from __future__ import annotations

from pathlib import Path

import click

from warner.app import demo as demonstration
from warner.app.commands.options import generator


@click.command()
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
    demonstration.run(Path(output), generator(seed), simulation=seed is not None)
