from .count_statement import (
    DIALECTS as DIALECTS,
    CountsTable as CountsTable,
    count_statement as count_statement,
    read_counts as read_counts,
)
from .data_sets import (
    DataFile as DataFile,
    State as State,
    at_hand as at_hand,
    files_of as files_of,
    is_data_set as is_data_set,
)
from .foreign_files import (
    ForeignFile as ForeignFile,
    content_digest as content_digest,
    is_foreign as is_foreign,
    open_foreign as open_foreign,
    tally_foreign as tally_foreign,
)
from .formats import FORMATS as FORMATS, is_report_file as is_report_file, suffixes as suffixes
from .frames import reports_frame as reports_frame
from .parquet_format import one_database as one_database, shown as shown
from .public_values import Copies as Copies
from .read_answers import (
    read_groups as read_groups,
    read_values as read_values,
    require_group as require_group,
)
from .report_file import (
    ReportFile as ReportFile,
    open_reports as open_reports,
    read_public as read_public,
    read_reports as read_reports,
    tally_file as tally_file,
)
from .report_writer import ReportWriter as ReportWriter, write_reports as write_reports
