"""Reports: what leaves the device, as typed columns and the header that says what made them."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from warner._core.atomic_files import read_whole, write_whole
from warner._core.canonical_json import (
    canonical,
)
from warner._core.checks import kind
from warner._core.errors import (
    ArgumentTypeError,
    FileError,
    ReportError,
    message,
)
from warner._core.sampling import Source
from warner._core.shuffle import permutation
from warner.reports.schema import ReportSchema

SCHEMA = 1
_MAGIC = b"warner-reports 1\n"


class Reports:
    """n reports of one mechanism, as read-only columns, with the header that names it.

    Made by ``mechanism.randomize`` and ``mechanism.reports``; the constructor checks shapes, not membership.

    Attributes:
        header: the mechanism's header.
        columns: {name: column}, in the order of the answers.
        simulated: whether they were made with a generator that can be repeated, so that privacy does not hold for them.

    >>> from warner import Categorical, RandomizedResponse
    >>> reports = RandomizedResponse(Categorical(["no", "yes"]), 1.0).randomize(["yes", "no", "yes"])
    >>> len(reports), list(reports.columns), reports.header["mechanism"]
    (3, ['report'], 'RandomizedResponse')
    """

    def __init__(
        self, header: Mapping[str, Any], columns: Mapping[str, np.ndarray], simulated: bool = False
    ) -> None:
        if not isinstance(header, Mapping) or not isinstance(columns, Mapping):
            raise ArgumentTypeError(
                message(
                    "reports",
                    "need a header and columns",
                    kind(header),
                    "Use mechanism.reports(outputs)",
                )
            )
        if type(simulated) is not bool:
            raise ArgumentTypeError(message("simulated", "must be True or False", kind(simulated)))
        self.simulated = simulated
        self.header = dict(header)
        self.columns = {name: _frozen(column) for name, column in columns.items()}
        if not self.columns or len({len(c) for c in self.columns.values()}) != 1:
            raise ReportError(
                message("reports", "must have at least one column, all of one length")
            )

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __repr__(self) -> str:
        return f"Reports({self.header.get('mechanism')}, n={len(self)}{', simulated' if self.simulated else ''})"

    def __getitem__(self, rows: slice) -> Reports:
        if not isinstance(rows, slice):
            raise ArgumentTypeError(message("reports", "are taken by slices", kind(rows)))
        return Reports(
            self.header,
            {name: column[rows] for name, column in self.columns.items()},
            self.simulated,
        )

    def record_array(self) -> np.ndarray:
        """Each report as it is serialised, (n, bytes) uint8: its columns' bytes, fixed length, little endian, nothing else."""
        parts = [
            np.ascontiguousarray(_little(c)).view(np.uint8).reshape(len(self), -1)
            for c in self.columns.values()
        ]
        return np.concatenate(parts, axis=1)

    def records(self) -> list[bytes]:
        """The rows of :meth:`record_array` as byte strings."""
        return [row.tobytes() for row in self.record_array()]

    def to_bytes(self, keep_order: bool = False) -> bytes:
        """The reports as one self-describing byte string: magic, header, columns, SHA-256.

        Args:
            keep_order: write the reports in the order of the answers. The order can say whose report is whose, for example
                where the answers were sorted. Without it the order is drawn by the operating system's randomness.
        """
        columns = self.columns
        if not keep_order and len(self) > 1:
            order = permutation(Source(None), len(self))
            columns = {name: c[order] for name, c in columns.items()}
        schema = [[name, _little(c).dtype.str, list(c.shape[1:])] for name, c in columns.items()]
        mark = {"simulated": True} if self.simulated else {}
        head = canonical(
            {"schema": SCHEMA, "header": self.header, "n": len(self), "columns": schema, **mark}
        ).encode()
        body = b"".join(_little(c).tobytes() for c in columns.values())
        text = _MAGIC + len(head).to_bytes(4, "little") + head + body
        return text + hashlib.sha256(text).digest()

    @classmethod
    def from_bytes(cls, data: bytes) -> Reports:
        """Reports from :meth:`to_bytes`; raises FileError unless every byte is as it was written."""
        if not data.startswith(_MAGIC):
            raise FileError(
                message(
                    "reports",
                    "are not in warner's wire format",
                    None,
                    "Was the file written by Reports.save?",
                )
            )
        if len(data) < len(_MAGIC) + 36 or hashlib.sha256(data[:-32]).digest() != data[-32:]:
            raise FileError(
                message(
                    "reports",
                    "are truncated or altered: the checksum does not match",
                    None,
                    "Fetch the file again",
                )
            )
        start = len(_MAGIC) + 4
        end = start + int.from_bytes(data[len(_MAGIC) : start], "little")
        try:
            head = json.loads(data[start:end])
            if head["schema"] != SCHEMA or type(head["n"]) is not int or head["n"] < 0:
                raise ValueError
            columns = {}
            for name, dtype, shape in head["columns"]:
                if not re.fullmatch("[<|][biuf][1248]", dtype) or any(
                    type(size) is not int or size < 0 for size in shape
                ):
                    raise ValueError
                column = np.frombuffer(
                    data[:-32], dtype, head["n"] * int(np.prod(shape, dtype=int)), end
                )
                columns[str(name)] = column.reshape(head["n"], *shape).astype(
                    np.dtype(dtype).newbyteorder("="), copy=False
                )
                end += column.nbytes
            if end != len(data) - 32:
                raise ValueError
            return cls(head["header"], columns, head.get("simulated", False))
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError):
            pass
        raise FileError(
            message(
                "reports",
                "do not have the form that their checksum vouches for",
                None,
                "Use the version of warner that wrote them",
            )
        )

    def save(self, path: str | os.PathLike[str], keep_order: bool = False) -> None:
        """Write the wire format to ``path``, whole or not at all; ``keep_order`` as in :meth:`to_bytes`."""
        write_whole(path, self.to_bytes(keep_order))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Reports:
        """Read what :meth:`save` wrote. Parquet and CSV reports are read by ``warner.io``."""
        return cls.from_bytes(read_whole(path))


def _little(column: np.ndarray) -> np.ndarray:
    return column.astype(column.dtype.newbyteorder("<"), copy=False)


def _frozen(column: np.ndarray) -> np.ndarray:
    view = np.asarray(column).view()
    view.setflags(write=False)
    return view


def columns_of(schema: ReportSchema, records: np.ndarray) -> dict[str, np.ndarray]:
    """The columns of reports given as :meth:`Reports.record_array` makes them, (n, bytes) uint8; ReportError where the length is another."""
    columns, start = {}, 0
    for name, empty in schema.empty(1).items():
        part = np.ascontiguousarray(records[:, start : start + empty.nbytes])
        start += empty.nbytes
        if part.shape[1] != empty.nbytes:
            break
        columns[name] = (
            part.view(empty.dtype.newbyteorder("<"))
            .reshape(len(records), *empty.shape[1:])
            .astype(empty.dtype)
        )
    if start != records.shape[1]:
        raise ReportError(
            message(
                "reports", "must have the length of this mechanism's", f"{records.shape[1]} bytes"
            )
        )
    return columns
