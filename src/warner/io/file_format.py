"""What a file format is: everything that depends on how a file stores columns, in one class.

A report file has the columns of :mod:`warner.io.file_columns`, a header and an end, both JSON. The
public columns of a study, if it has any, stand before those of reports. The header declares them,
and holds every attribute's mechanism, to the last bit of its law. The end holds the number of
reports and the digest of the file. A file that is not byte for byte as it was written is refused.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Protocol

from warner._core.errors import FileError
from warner.domains import Domain
from warner.io.file_seal import digest_of
from warner.reports.public_columns import Groups
from warner.reports.schema import GroupedColumns

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_PER_BATCH = 2**18  # people per batch, at most
NO_PUBLIC: Mapping[str, Domain] = MappingProxyType({})


class GroupedRows(GroupedColumns, Protocol):
    """The columns of a report file in groups of people, counted by GROUP BY."""

    def groups(self) -> Groups | None:
        """The groups, numbered as the first axis of counts; None without public columns."""


class ReportSink(ABC):
    """A report file that is being written."""

    @abstractmethod
    def write(self, columns: Mapping[str, Any]) -> None:
        """Append rows, as columns of the file in its order, (n,) each.

        Columns of reports are arrays. Public columns are Arrow arrays of the types that
        :func:`warner.io.public_values.arrow_type` states.
        """

    @abstractmethod
    def close(self, end: str | None) -> None:
        """Write the end, unless it is None after an error, and close the file."""


class FileFormat(ABC):
    """A format of files of reports, and of files of answers where it can store them.

    Attributes:
        name: the name of the format, for messages.
        suffix: how names of such files end.
        groups: whether :meth:`grouped` counts reports by GROUP BY.
        holds_answers: whether such a file can hold answers, which :meth:`answers` reads.
        is_writable: whether :meth:`sink` writes such files.
        holds_public: whether such a file can hold public columns. The methods of other formats are
            called without them.
        holds_blocks: whether a row can hold a block of reports, in one column of bytes for each
            attribute. Only then :meth:`block_batches` and :meth:`block_sink` are called.
    """

    name: ClassVar[str]
    suffix: ClassVar[str]
    groups = False
    holds_answers = True
    is_writable = True
    holds_public = False
    holds_blocks = False

    def recognizes(self, path: str) -> bool:
        """Whether a file has this format, by its name or its first bytes; it need not exist."""
        return Path(path).suffix.lower() == self.suffix

    # Reports in.

    @abstractmethod
    def read_ends(self, path: str) -> tuple[bytes, bytes]:
        """The header and the end of a report file as JSON texts; empty where they are missing."""

    def is_intact(self, path: str, end: Mapping[str, Any]) -> bool:
        """Whether the file has the digest that its end states."""
        return digest_of(path)[0] == (end.get("sha256") or None)

    @abstractmethod
    def columns(self, path: str) -> dict[str, str]:
        """The columns of a report file: {name: its dtype as numpy calls it, "" for text}."""

    @abstractmethod
    def batches(
        self, path: str, columns: Mapping[str, int], public: Mapping[str, Domain] = NO_PUBLIC
    ) -> Iterator[pa.RecordBatch]:
        """The reports of a file, a batch at a time, in their order."""

    def block_batches(self, path: str, names: list[str], rows: int) -> Iterator[pa.RecordBatch]:
        """The blocks of a file in batches of at most ``rows``; only where ``holds_blocks``."""
        raise NotImplementedError

    def grouped(
        self, path: str, by: Mapping[str, Domain] = NO_PUBLIC
    ) -> AbstractContextManager[GroupedRows]:
        """The columns of a report file, counted for each group of people; only where ``groups``.

        Without public columns all people are one group. Reading raises FileError for rows that are
        no reports.
        """
        raise NotImplementedError

    # Reports out.

    def sink(
        self,
        path: str,
        header: str,
        columns: Mapping[str, int],
        public: Mapping[str, Domain] = NO_PUBLIC,
    ) -> ReportSink:
        """A new report file; only where ``is_writable``."""
        raise NotImplementedError

    def block_sink(self, path: str, header: str, names: list[str]) -> ReportSink:
        """A new report file of blocks; only where ``holds_blocks``."""
        raise NotImplementedError

    # Answers in.

    def answers(
        self, path: str | BinaryIO, names: list[str], bare: bool = False
    ) -> Iterator[pa.RecordBatch]:
        """The columns ``names`` of a file of answers, a batch at a time; with ``holds_answers``."""
        raise NotImplementedError


def require_columns(path: str, names: list[str], found: list[str]) -> None:
    """Refuse a file of answers that lacks one of the columns ``names``."""
    missing = [name for name in names if name not in found]
    if not missing:
        return
    alike = {name.strip().casefold(): name for name in found}
    spelt = [name for name in missing if name.strip().casefold() in alike]
    remedy = f"Needed: {', '.join(names)}"
    if spelt:
        remedy += f". {', '.join(spelt)}: there but for upper and lower case, or spaces around"
    elif len(missing) == len(names):
        remedy += ". Name them in the first line; a CSV file without names is read with --bare"
    listed = ", ".join(map(repr, missing))
    rule = f"has no column {listed}" if len(missing) == 1 else f"has no columns {listed}"
    raise FileError(path, rule, None, remedy)


def refuse_repeated(names: list[str], found: list[str]) -> None:
    """Refuse a file of answers in which one of the columns ``names`` occurs twice."""
    for name in names:
        if found.count(name) > 1:
            remedy = "Keep the column that holds the answers"
            raise FileError(f"column {name!r}", "occurs twice in the file", None, remedy)
