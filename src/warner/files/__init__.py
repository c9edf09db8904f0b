"""Files and frames: values to encode, reports to write and to count."""

from __future__ import annotations

from warner.files._format import FORMATS
from warner.files.frames import frame, reports_frame, tally_frame
from warner.files.read import ReportFile, open_reports, read_reports, tally_file
from warner.files.values import read_values
from warner.files.write import ReportWriter, write_reports

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
