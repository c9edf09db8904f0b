"""Files and frames: values to encode, reports to write and to count."""

from __future__ import annotations

from warner.io.frames import frame, reports_frame, tally_frame
from warner.io.read_answers import read_values
from warner.io.read_reports import ReportFile, open_reports, read_reports, tally_file
from warner.io.seal import FORMATS
from warner.io.write_reports import ReportWriter, write_reports

__all__ = [
    "FORMATS",
    "ReportFile",
    "ReportWriter",
    "frame",
    "open_reports",
    "read_reports",
    "read_values",
    "reports_frame",
    "tally_file",
    "tally_frame",
    "write_reports",
]
