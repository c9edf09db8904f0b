"""The format of report files.

A report file has one column per report column and attribute, named ``attribute_column``; the K bits of a unary report are
byte columns ``attribute_bits_0``, ``attribute_bits_1``, ..., d digits are ``attribute_digits_0``, ...; those of part ``p`` of a tuple are
``attribute_p.column``. Its header (each attribute's mechanism, to the last bit of
its law) and its end (number of reports, SHA-256 of the file with 64 zeros in the hash's own place) travel in Parquet's
metadata, or in CSV as a first line ``#warner {...}`` and a last line ``#end {...}``. A file that is not byte for byte what was
written is refused.
"""

from __future__ import annotations

import hashlib
import mmap
from collections.abc import Mapping, Sequence

import numpy as np

from warner._core.errors import (
    ReportError,
    message,
)
from warner.reports.schema import BitVector, DigitVector, ReportSchema

SCHEMA = 1
FORMATS = (".parquet", ".csv")
CSV_START, CSV_END = b"#warner ", b"#end "
SEAL, UNSEALED = b'"sha256":"', "0" * 64


def file_columns(attribute: str, schema: ReportSchema) -> dict[str, int]:
    """The columns of an attribute's reports in a file, and how many values each may take."""
    return {f"{attribute}_{name}": size for name, size in schema.file_columns().items()}


def to_file(
    attribute: str, schema: ReportSchema, columns: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    return {f"{attribute}_{name}": column for name, column in schema.to_file(columns).items()}


def from_file(
    attribute: str, schema: ReportSchema, columns: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    return schema.from_file(
        {name: columns[f"{attribute}_{name}"] for name in schema.file_columns()}
    )


def from_histograms(
    schema: BitVector | DigitVector, histograms: Sequence[np.ndarray]
) -> tuple[str, np.ndarray]:
    """Kind and counts of a tally from how often each column of a file has each value."""
    if isinstance(schema, DigitVector):
        return "digits", np.stack(list(histograms))
    if schema.padding and histograms[-1][np.arange(256) & (2**schema.padding - 1) != 0].any():
        raise ReportError(message("reports", "padding bits must be 0"))
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.int64)
    return "bitsums", (np.stack(list(histograms)) @ bits).ravel()[: schema.width]


def seal(path: str) -> None:
    """Put the SHA-256 of the file, as it stands with zeros for a hash, in the place of those zeros."""
    digest, place = digest_of(path)
    with open(path, "r+b") as file:
        file.seek(place)
        file.write(digest.encode())


def digest_of(path: str) -> tuple[str, int]:
    """SHA-256 of a report file with 64 zeros in the place of its hash, and that place; place 0 where there is none."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        place = data.rfind(SEAL) + len(SEAL)
        if place < len(SEAL):
            return "", 0
        view = memoryview(data)
        digest = hashlib.sha256(view[:place])
        digest.update(UNSEALED.encode())
        digest.update(view[place + len(UNSEALED) :])
        view.release()
        return digest.hexdigest(), place
