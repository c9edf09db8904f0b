"""The reports of a file as bodies of requests, with ids that follow from the file.

The id of row i is the first 16 bytes of the SHA-256 of three lines: "warner push", the checksum
that the file states, and i. A file that is sent again makes the same bytes, so nothing is counted
twice. The rows of a report file are in random order, so ids say nothing about people.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from warner._core.errors import ArgumentError, MismatchError
from warner.collector.submissions import HEAD_BYTES, ID_BYTES, SubmissionFormat
from warner.domains import Domain
from warner.io.file_columns import from_file
from warner.io.report_file import ReportFile
from warner.mechanisms import Mechanism
from warner.reports.reports import Reports
from warner.studies.study import digest_of

AT_ONCE = 1000
_LARGEST_BODY = 4 << 20  # that collectors take unless they are told otherwise


@dataclass(frozen=True)
class _Asked:
    """What a file says of the study that its reports answer."""

    mechanisms: Mapping[str, Mechanism]
    public: Mapping[str, Domain]
    digest: str
    groups: Mapping[str, Any] = field(default_factory=dict)
    rows_per_person: int = 1


class BulkUpload:
    """The reports of a file, to be sent.

    Args:
        file: the report file.
        allow_simulated: whether reports that were made with a seed are sent.

    Raises:
        ArgumentError: simulated reports, those of a group, or several of one person.
    """

    def __init__(self, file: ReportFile, allow_simulated: bool = False) -> None:
        if file.simulation and not allow_simulated:
            rule, remedy = "holds simulated reports, which nobody sent", "Say --allow-simulated"
            raise ArgumentError(file.path, rule, None, remedy)
        if file.group is not None or file.reports_per_person > 1:
            rule = "must have one report of each person, and no groups, to be collected"
            raise ArgumentError(file.path, rule, None, "Use warner tally")
        self._file = file
        headers = {name: mechanism.header for name, mechanism in file.mechanisms.items()}
        self._asked = _Asked(file.mechanisms, file.public, digest_of(headers, file.public))
        self._form = SubmissionFormat(self._asked)

    @property
    def n(self) -> int:
        """The number of reports."""
        return self._file.n

    def require_study(self, layout: str, url: str) -> None:
        """Refuse a collector of another study."""
        if layout != self._form.layout:
            rule = f"holds reports of another study than {url} collects"
            remedy = "Randomise the answers with the study that is collected"
            raise MismatchError(self._file.path, rule, None, remedy)

    def bodies(self, start: int = 0) -> Iterator[tuple[bytes, int]]:
        """The bodies of requests, each with the number of rows up to its end."""
        size = max(1, min(AT_ONCE, (_LARGEST_BODY - HEAD_BYTES) // self._form.length))
        row = 0
        for columns in self._file.batches():
            n = len(next(iter(columns.values())))
            for first in range(max(0, start - row), n, size):
                last = min(n, first + size)
                part = {name: column[first:last] for name, column in columns.items()}
                yield self._body(part, row + first, row + last), row + last
            row += n
        if row != self.n:
            raise self._file.wrong_number()

    def _body(self, columns: Mapping[str, np.ndarray], first: int, last: int) -> bytes:
        """The body with the rows from ``first`` to before ``last``."""
        reports = {
            name: Reports(m.header, from_file(name, m.schema, columns))
            for name, m in self._asked.mechanisms.items()
        }
        public: dict[str, Any] = {
            name: domain.decode(columns[name]) for name, domain in self._asked.public.items()
        }
        return self._form.seal(reports, public, self._ids(first, last))

    def _ids(self, first: int, last: int) -> np.ndarray:
        """The ids of rows, uint8 (n, 16)."""
        head = f"warner push\n{self._file.end['sha256']}\n".encode()
        found = (hashlib.sha256(head + b"%d" % i).digest()[:ID_BYTES] for i in range(first, last))
        return np.frombuffer(b"".join(found), np.uint8).reshape(-1, ID_BYTES)
