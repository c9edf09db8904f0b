"""The private modules of warner that the attacks use: the only file here that imports any."""

from __future__ import annotations

from warner._core.canonical_json import canonical
from warner._core.sampling import Edges, Source
from warner.app.cli import main
from warner.io.read_answers import read_values
from warner.io.read_reports import open_reports, read_reports, tally_file
from warner.io.seal import UNSEALED, seal
from warner.io.write_reports import write_reports
from warner.reports.tally import load_tallies

__all__ = [
    "UNSEALED",
    "Edges",
    "Source",
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
