"""The private modules of warner that the attacks use: the only file here that imports any."""

from __future__ import annotations

from warner._random import Edges, Source
from warner.cli import main
from warner.domain import Tagged, canonical
from warner.files import open_reports, read_reports, read_values, tally_file, write_reports
from warner.files._format import UNSEALED, seal
from warner.tally import load_tallies

__all__ = [
    "UNSEALED",
    "Edges",
    "Source",
    "Tagged",
    "canonical",
    "load_tallies",
    "main",
    "open_reports",
    "read_reports",
    "read_values",
    "seal",
    "tally_file",
    "write_reports",
]
