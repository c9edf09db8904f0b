"""The columns of a file that hold the reports of an attribute.

A file has one column per report column and attribute, named ``attribute_column``. The bytes of a
report of K bits are ``attribute_bits_0``, ``attribute_bits_1``, ..., and d digits are
``attribute_digits_0``, .... The columns of part ``p`` of a tuple are ``attribute_p.column``.

A file of blocks has one column of bytes for each attribute, ``attribute_records``: each row holds
the records of many reports, one behind the other.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from warner.reports.schema import ReportSchema


def file_columns(attribute: str, schema: ReportSchema) -> dict[str, int]:
    """The columns of an attribute's reports in a file: {name: how many values it may take}.

    >>> from warner.reports.schema import BitVector
    >>> file_columns("age", BitVector(10))
    {'age_bits_0': 256, 'age_bits_1': 256}
    """
    return {f"{attribute}_{name}": size for name, size in schema.file_columns().items()}


def records_column(attribute: str) -> str:
    """The column of bytes of an attribute in a file of blocks.

    >>> records_column("age")
    'age_records'
    """
    return f"{attribute}_records"


def to_file(
    attribute: str, schema: ReportSchema, columns: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """The columns of a file, (n,) each, from the columns of an attribute's reports."""
    return {f"{attribute}_{name}": column for name, column in schema.to_file(columns).items()}


def from_file(
    attribute: str, schema: ReportSchema, columns: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """The columns of an attribute's reports from the columns of a file; undoes :func:`to_file`.

    Shapes: columns (n,).
    """
    return schema.from_file(
        {name: columns[f"{attribute}_{name}"] for name in schema.file_columns()}
    )
