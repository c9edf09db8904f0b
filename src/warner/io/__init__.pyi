from .read_answers import read_values as read_values
from .report_file import (
    open_reports as open_reports,
    read_public as read_public,
    read_reports as read_reports,
    tally_file as tally_file,
)
from .report_writer import ReportWriter as ReportWriter, write_reports as write_reports
from .sql_counts import read_counts as read_counts
from .sql_statements import count_statement as count_statement
