"""What is wrong with a file that another program wrote. A failed count asks for it."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping

from warner._core.errors import FileError
from warner.io.csv_format import CsvFormat
from warner.io.parquet_format import ParquetFormat

WHOLE = r" *-?[0-9]+(\.0*)? *"  # other programs write whole numbers beside gaps as 1.0
_BEGIN = 2**10
_PARQUET = (b"PAR1", b"PARE")
_PACKED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_DELIMITERS = ",;\t|"
_TEXT = re.compile(rb"[^\x00-\x08\x0e-\x1f]*")


def require_content(path: str, suffix: str) -> None:
    """Refuse a file that is empty, or whose content does not agree with its ending."""
    with open(path, "rb") as file:
        begin = file.read(_BEGIN)
    is_parquet = begin.startswith(_PARQUET)
    rename = "Rename it: its ending must say what it is"
    if not begin:
        raise FileError(path, "is empty", None, "Fetch it again, or take it away")
    for first, how in _PACKED.items():
        if begin.startswith(first):
            raise FileError(path, f"is compressed by {how}", None, "Unpack it")
    if suffix == CsvFormat.suffix and is_parquet:
        rule = f"is Parquet, though its name ends in {suffix}"
        raise FileError(path, rule, None, rename)
    if suffix == ParquetFormat.suffix and not is_parquet and _TEXT.fullmatch(begin):
        rule = f"is text such as CSV, though its name ends in {suffix}"
        raise FileError(path, rule, None, rename)


def refuse_ragged(path: str) -> None:
    """Refuse a CSV file with a row of more or fewer fields than its first line.

    The whole file is read, so this is asked only where it could not be counted.
    """
    with open(path, newline="", encoding="utf-8-sig") as file:
        try:
            line = file.readline()
            delimiter = max(_DELIMITERS, key=line.count)
            file.seek(0)
            rows = csv.reader(file, delimiter=delimiter)
            width = len(next(rows, []))
            counted = ((i, len(cells)) for i, cells in enumerate(rows, 1))
            wrong = next(((i, n) for i, n in counted if n not in (0, width)), None)
        except (csv.Error, UnicodeDecodeError):
            return
    if wrong is not None and width > 1:
        fields = "1 field" if wrong[1] == 1 else f"{wrong[1]} fields"
        rule = f"row {wrong[0]:,} has {fields}, and the first line has {width}"
        raise FileError(path, rule, None, "Is the file cut off, or damaged?")


def no_number(cells: Mapping[str, str | None]) -> str | None:
    """The first column of a row of CSV whose cell has a text that is no whole number.

    >>> no_number({"a_report": "1.0", "b_report": None, "c_report": "two"})
    'c_report'
    """
    texts = {name: cell for name, cell in cells.items() if cell is not None and cell.strip()}
    return next((name for name, cell in texts.items() if not re.fullmatch(WHOLE, cell)), None)
