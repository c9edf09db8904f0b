"""The option --method."""

from __future__ import annotations

import click

from warner.results.methods import METHODS

method_option = click.option(
    "-m",
    "--method",
    "method_name",
    help=f"The estimator: {', '.join(METHODS)}. em takes a number of steps, auto or a start: "
    "em:100, em:auto, em:histogram. Default: the recommended one.",
)
