"""Files and frames: answers in, reports in and out, and reports counted where they are stored."""

from __future__ import annotations

from warner._core.table import frame, frame_of_rows
from warner.io.count_statement import DIALECTS, CountsTable, count_statement, read_counts
from warner.io.data_sets import DataFile, State, at_hand, files_of, is_data_set
from warner.io.foreign_files import (
    ForeignFile,
    content_digest,
    is_foreign,
    open_foreign,
    tally_foreign,
)
from warner.io.formats import FORMATS, is_report_file, suffixes
from warner.io.frames import reports_frame
from warner.io.parquet_format import one_database, shown
from warner.io.public_values import Copies
from warner.io.read_answers import read_groups, read_values, require_group
from warner.io.report_file import ReportFile, open_reports, read_public, read_reports, tally_file
from warner.io.report_writer import ReportWriter, write_reports

__all__ = [
    "DIALECTS",
    "FORMATS",
    "Copies",
    "CountsTable",
    "DataFile",
    "ForeignFile",
    "ReportFile",
    "ReportWriter",
    "State",
    "at_hand",
    "content_digest",
    "count_statement",
    "files_of",
    "frame",
    "frame_of_rows",
    "is_data_set",
    "is_foreign",
    "is_report_file",
    "one_database",
    "open_foreign",
    "open_reports",
    "read_counts",
    "read_groups",
    "read_public",
    "read_reports",
    "read_values",
    "reports_frame",
    "require_group",
    "shown",
    "suffixes",
    "tally_file",
    "tally_foreign",
    "write_reports",
]
