"""Single reports as texts, which survey tools carry in a hidden field.

The text of a report is ``wr1-STUDY-NUMBER-RECORD``: the first 16 hexadecimal digits of the study's
layout, the number of the question in the study's order, from 1, and the bytes of the report's
columns (:meth:`warner.Reports.record_array`) in hexadecimal digits. So a text says which study and
which question it is of, no spreadsheet takes it for a number, and one that is cut off is noticed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from warner._core.errors import MOST_POSITIONS, ReportError
from warner.reports.reports import Reports, columns_of
from warner.reports.schema import ReportSchema

START = "wr1-"
_DIGITS = 16  # of the study's digest: two studies share them with probability 2**-64
_FORM = re.compile(r"wr1-([0-9a-f]{16})-([1-9][0-9]{0,5})-((?:[0-9a-f]{2})+)")

# Why a cell holds no report that can be counted, in the order in which they are told.
_EMPTY = "empty"
_NO_TEXT = "no text of a report, or one that is cut off"
_OTHER_STUDY = "of another study, or of another version of it"
_OTHER_QUESTION = "of another question"
_OTHER_LENGTH = "cut off or altered"
_IMPOSSIBLE = "not among the reports that the mechanism sends"
_REASONS = (_EMPTY, _NO_TEXT, _OTHER_STUDY, _OTHER_QUESTION, _OTHER_LENGTH, _IMPOSSIBLE)


def text_start(layout: str, number: int) -> str:
    """The beginning of the texts of all reports on one question.

    >>> text_start("0123456789abcdef0123", 2)
    'wr1-0123456789abcdef-2-'
    """
    return f"{START}{layout[:_DIGITS]}-{number}-"


def to_texts(reports: Reports, start: str) -> list[str]:
    """The texts of n reports on one question.

    >>> from warner import Categorical, RandomizedResponse
    >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    >>> to_texts(coin.reports([0, 1]), text_start("0" * 64, 1))
    ['wr1-0000000000000000-1-00', 'wr1-0000000000000000-1-01']
    """
    return [start + record.hex() for record in reports.records()]


def from_texts(
    texts: Sequence[str | None], start: str, schema: ReportSchema, place: str
) -> dict[str, np.ndarray]:
    """The columns of n reports from their texts."""
    wrong: dict[int, str] = {}
    records: list[bytes] = []
    rows: list[int] = []
    length = sum(column.nbytes for column in schema.empty(1).values())
    for row, text in enumerate(texts, 1):
        record, reason = _record((text or "").strip().lower(), start, length)
        if reason:
            wrong[row] = reason
        else:
            records.append(record)
            rows.append(row)
    matrix = np.frombuffer(b"".join(records), np.uint8).reshape(len(records), length)
    columns = columns_of(schema, matrix)
    if not _can_be_sent(schema, columns):
        for i, row in enumerate(rows):
            if not _can_be_sent(schema, {name: c[i : i + 1] for name, c in columns.items()}):
                wrong[row] = _IMPOSSIBLE
    if wrong:
        raise ReportError(_told(wrong, len(texts), place))
    return columns


def _record(text: str, start: str, length: int) -> tuple[bytes, str]:
    """The bytes of a report, or the reason why a text holds none."""
    if not text:
        return b"", _EMPTY
    found = _FORM.fullmatch(text)
    if found is None:
        return b"", _NO_TEXT
    if not text.startswith(start):
        ours = text.startswith(start[: len(START) + _DIGITS + 1])
        return b"", _OTHER_QUESTION if ours else _OTHER_STUDY
    record = bytes.fromhex(found[3])
    return (record, "") if len(record) == length else (b"", _OTHER_LENGTH)


def _can_be_sent(schema: ReportSchema, columns: Mapping[str, np.ndarray]) -> bool:
    """Whether a mechanism of this schema can send all of some reports."""
    try:
        schema.check(columns)
    except ReportError:
        return False
    return True


def _told(wrong: Mapping[int, str], n: int, place: str) -> str:
    """All cells without a report, by reason."""
    parts = [
        f"{_listed([row for row, why in wrong.items() if why == reason])} {reason}"
        for reason in _REASONS
        if reason in wrong.values()
    ]
    remedy = "Leave out the rows of people who sent none, and export the column as it is"
    return f"{place}: must hold a report in each of {n:,} rows; got {'; '.join(parts)}. {remedy}."


def _listed(rows: Iterable[int]) -> str:
    """Rows in words.

    >>> _listed([3]), _listed([3, 4])
    ('row 3', 'rows 3, 4')
    """
    all_rows = list(rows)
    shown = ", ".join(f"{row:,}" for row in all_rows[:MOST_POSITIONS])
    more = len(all_rows) - MOST_POSITIONS
    return f"row{'s' * (len(all_rows) > 1)} {shown}{f' and {more:,} more' if more > 0 else ''}"
