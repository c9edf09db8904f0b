"""The private modules of warner that the attacks use: the only file here that imports any."""

from __future__ import annotations

from warner._core import randomness
from warner._core.sampling import Edges, Source
from warner._core.text import canonical
from warner.app.cli import main
from warner.io import open_reports, read_reports, read_values, tally_file, write_reports
from warner.io.file_format import UNSEALED, seal
from warner.reports.tally import load_tallies

__all__ = [
    "UNSEALED",
    "Edges",
    "Source",
    "canonical",
    "load_tallies",
    "main",
    "open_reports",
    "randomness",
    "read_reports",
    "read_values",
    "seal",
    "tally_file",
    "write_reports",
]
