"""Sealed submissions: what the device of one person sends, as bytes of a fixed length.

A submission consists of

- an id of 16 random bytes, which says that two submissions are one that was sent twice,
- the index of the person's value in each public column, int32, in the study's order,
- the report on each attribute, in the study's order: the bytes of its columns.

All numbers are little endian. A body holds the magic bytes ``WRN1``, the layout of the study (32
bytes: its digest with the order of what follows), and 1 to 10,000 submissions, one after the other.
Where people have tokens (``tokens.py``), a token of 288 bytes stands in place of each id, which
follows from it, and the magic bytes are ``WRNT``. Errors name positions, never contents.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from warner._core.errors import ArgumentError, ReportError
from warner.collector.access import ID_BYTES
from warner.collector.refusals import READ_AGAIN, Refused
from warner.collector.tokens import TOKEN_BYTES, TokenChecker
from warner.domains import Domain
from warner.mechanisms import Mechanism
from warner.reports.block_schema import BLOCK
from warner.reports.reports import Reports
from warner.reports.schema import ReportSchema
from warner.studies.study import Study, layout_of

MAGIC, MAGIC_OF_TOKENS = b"WRN1", b"WRNT"
MOST = 10_000  # submissions of one body
HEAD_BYTES = len(MAGIC) + 32
_INDEX = np.dtype("<i4")
INDEX_BYTES = _INDEX.itemsize  # of the index of a public answer
_PLACE = "submissions"
_UNCHANGED = (
    "Send the bytes that a client of warner made, all and unchanged (with curl: --data-binary)"
)


@dataclass(frozen=True)
class _Column:
    """A column of reports: its name, its bytes within a submission, and its type and shape."""

    name: str
    within: slice
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    def of(self, rows: np.ndarray) -> np.ndarray:
        """The column of n submissions, (n, ...)."""
        column = np.ascontiguousarray(rows[:, self.within]).view(self.dtype.newbyteorder("<"))
        return column.reshape(len(rows), *self.shape).astype(self.dtype, copy=False)


class Asked(Protocol):
    """What submissions depend on: a study, or the head of a report file."""

    @property
    def mechanisms(self) -> Mapping[str, Mechanism]: ...

    @property
    def public(self) -> Mapping[str, Domain]: ...

    @property
    def digest(self) -> str: ...

    @property
    def groups(self) -> Mapping[str, Any]: ...

    @property
    def rows_per_person(self) -> int: ...


class SubmissionFormat:
    """How the submissions of a study are written as bytes, ``length`` of them for each.

    >>> from warner.studies.study import Study
    >>> study = Study.parse('''
    ... [attributes.smokes]
    ... values = ["no", "yes"]
    ... mechanism = "RandomizedResponse"
    ... epsilon = 1.0
    ... ''')
    >>> form = SubmissionFormat(study)
    >>> reports = {"smokes": study.mechanisms["smokes"].randomize(["no", "yes"])}
    >>> body = form.seal(reports)
    >>> len(body), form.length, len(form.parse(body))
    (70, 17, 2)
    """

    # ``layout`` is the digest of the study with the order of its columns, ``head`` the first bytes
    # of a body.

    def __init__(self, study: Asked) -> None:
        if study.groups:
            remedy = "Use public columns instead of groups"
            raise ArgumentError("study", "cannot be collected, because it has groups", None, remedy)
        if study.rows_per_person > 1:
            rule = "cannot be collected with several rows of answers for each person"
            raise ArgumentError("study", rule, None, "Remove rows_per_person")
        self.study = study
        self.layout = layout_of(study.digest, [*study.public, *study.mechanisms])
        self._tokens = _tokens_of(study)
        self._magic = MAGIC if self._tokens is None else MAGIC_OF_TOKENS
        self.head = self._magic + bytes.fromhex(self.layout)
        self._sizes = {name: domain.size for name, domain in study.public.items()}
        self._reports_at = ID_BYTES + _INDEX.itemsize * len(self._sizes)
        self._columns: dict[str, list[_Column]] = {}
        self._schemas: dict[str, ReportSchema] = {}
        start = self._reports_at
        for name, mechanism in study.mechanisms.items():
            self._schemas[name] = mechanism.schema
            self._columns[name] = columns = []
            for column, empty in mechanism.schema.empty(1).items():
                within = slice(start, start + empty.nbytes)
                columns.append(_Column(column, within, empty.dtype, empty.shape[1:]))
                start = within.stop
        # What comes first in a submission: an id, or a token that becomes one.
        self.first_bytes = ID_BYTES if self._tokens is None else TOKEN_BYTES
        self.length = start - ID_BYTES + self.first_bytes

    def __repr__(self) -> str:
        return f"SubmissionFormat({self.length} bytes)"

    def parse(self, body: bytes) -> Batch:
        """The submissions in the body of a request, checked."""
        if self._tokens is not None and body.startswith(MAGIC):
            rule = "must come with tokens, which people get in exchange for their invitation codes"
            raise Refused("no_token", _PLACE, rule)
        if not body.startswith(self._magic) or len(body) < HEAD_BYTES:
            rule = f"must begin with {self._magic.decode()}, and then the layout of the study"
            raise Refused("malformed", _PLACE, rule, None, _UNCHANGED)
        if body[:HEAD_BYTES] != self.head:
            rule = "belong to another study, or to another version of this study"
            raise Refused("other_study", _PLACE, rule, None, READ_AGAIN)
        count, left = divmod(len(body) - HEAD_BYTES, self.length)
        if left or not 1 <= count <= MOST:
            rule = f"must be 1 to {MOST:,} submissions of {self.length} bytes each"
            got = f"{len(body) - HEAD_BYTES:,} bytes"
            raise Refused("malformed", _PLACE, rule, got, _UNCHANGED)
        rows = np.frombuffer(body, np.uint8, offset=HEAD_BYTES).reshape(count, self.length)
        tokens, checker = rows[:, : self.first_bytes], self._tokens
        if checker is not None:
            rows = np.concatenate([checker.ids(tokens), rows[:, self.first_bytes :]], axis=1)
        batch = Batch(self, rows)
        if not self._all_right(batch):
            raise self._wrong(batch)
        if checker is not None:
            position = checker.first_wrong(tokens, self._blocks(batch))
            if position is not None:
                rule = (
                    f"number {position + 1} of {count} has a token that is not valid for this "
                    "study and its questions"
                )
                raise Refused("no_token", _PLACE, rule, position=position)
        return batch

    def _blocks(self, batch: Batch) -> np.ndarray | None:
        """The block of questions that each submission is on, (n,); None where all are asked."""
        columns = [batch.columns(name) for name in self._schemas]
        return columns[0].get(BLOCK) if len(columns) == 1 else None

    def _all_right(self, batch: Batch) -> bool:
        """Whether every submission can have been sent by a device."""
        return not any(self._broken(batch))

    def _broken(self, batch: Batch) -> Iterator[str]:
        """The parts of submissions that no device sends, by name."""
        for name, size in self._sizes.items():
            index = batch.public[name]
            if int(index.min()) < 0 or int(index.max()) >= size:
                yield f"value of the public column {name!r} that was never declared"
        for name, schema in self._schemas.items():
            try:
                schema.check(batch.columns(name))
            except ReportError:
                yield f"report on {name!r} that its mechanism cannot have sent"

    def _wrong(self, batch: Batch) -> Refused:
        """The error of the first wrong submission of a batch that has one."""
        low, high = 0, len(batch)  # the first `low` are right, the first `high` are not
        while high - low > 1:
            middle = (low + high) // 2
            right = self._all_right(Batch(self, batch.rows[:middle]))
            low, high = (middle, high) if right else (low, middle)
        what = next(self._broken(Batch(self, batch.rows[low:high])))
        rule = (
            f"number {low + 1} of {len(batch)} has a {what}. No submission of this request was "
            "counted"
        )
        return Refused("malformed", _PLACE, rule, position=low)

    def seal(
        self,
        reports: Mapping[str, Reports],
        public: Mapping[str, Any] | None = None,
        ids: np.ndarray | None = None,
    ) -> bytes:
        """The body of a request with the reports of n people.

        Shapes: ids (n, 16), or the tokens of a study that has them (n, 288).
        """
        given = dict(public or {})
        if reports.keys() != self._schemas.keys() or given.keys() != self._sizes.keys():
            rule = f"must be on exactly these questions: {', '.join(self._schemas)}"
            beside = ", ".join(self._sizes) or "none"
            raise ArgumentError("reports", f"{rule}; and have these public columns: {beside}")
        parts = []
        for name, domain in self.study.public.items():
            index = domain.encode(given[name]).astype(_INDEX)
            parts.append(index.view(np.uint8).reshape(-1, _INDEX.itemsize))
        for name, mechanism in self.study.mechanisms.items():
            mechanism.check(reports[name])
            parts.append(reports[name].record_array())
        n = len(parts[-1])
        if ids is None and self._tokens is not None:
            raise ArgumentError("ids", "are missing", None, "Pass the token of each person")
        parts.insert(0, new_ids(n) if ids is None else np.asarray(ids, dtype=np.uint8))
        if any(len(column) != n for column in parts) or parts[0].shape[1:] != (self.first_bytes,):
            rule = "must have as many rows as the ids and the public columns"
            raise ArgumentError("reports", rule)
        if not 1 <= n <= MOST:
            remedy = "Split the reports, and call seal() for each part"
            raise ArgumentError("reports", f"must be 1 to {MOST:,} reports", str(n), remedy)
        return self.head + np.concatenate(parts, axis=1).tobytes()

    def join(self, batches: Sequence[Batch]) -> Batch:
        """All submissions of several batches as one, in their order."""
        if len(batches) == 1:
            return batches[0]
        return Batch(self, np.concatenate([batch.rows for batch in batches]))

    def columns(self, name: str, rows: np.ndarray) -> dict[str, np.ndarray]:
        """The columns of the reports on one attribute."""
        return {column.name: column.of(rows) for column in self._columns[name]}


class Batch:
    """Submissions of one body that were checked, or of several bodies."""

    # ``rows`` is uint8 (n, length), read-only, the bytes of each submission.

    def __init__(self, form: SubmissionFormat, rows: np.ndarray) -> None:
        self.format = form
        self.rows = rows.view()
        self.rows.setflags(write=False)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"Batch(n={len(self)})"

    @property
    def ids(self) -> np.ndarray:
        """The ids, uint8 (n, 16)."""
        return self.rows[:, :ID_BYTES]

    @cached_property
    def public(self) -> dict[str, np.ndarray]:
        """{name: int32 (n,)}, the indices of the values in the public columns."""
        indices = {}
        for i, name in enumerate(self.format.study.public):
            start = ID_BYTES + i * _INDEX.itemsize
            column = np.ascontiguousarray(self.rows[:, start : start + _INDEX.itemsize])
            indices[name] = column.view(_INDEX).ravel().astype(np.int32, copy=False)
        return indices

    @property
    def reports(self) -> dict[str, Reports]:
        """{attribute: n reports}."""
        return {
            name: Reports(mechanism.header, self.columns(name))
            for name, mechanism in self.format.study.mechanisms.items()
        }

    def columns(self, name: str) -> dict[str, np.ndarray]:
        """The columns of the reports on one attribute."""
        return self.format.columns(name, self.rows)

    def take(self, chosen: np.ndarray) -> Batch:
        """Some of the submissions, by a mask (n,) or by their positions."""
        return Batch(self.format, self.rows[chosen])


def _tokens_of(study: Asked) -> TokenChecker | None:
    """Checks the tokens of a study; None where its submissions have ids."""
    if not isinstance(study, Study) or study.collect.access != "tokens":
        return None
    return TokenChecker.of(study)


def new_ids(n: int) -> np.ndarray:
    """Ids of n submissions, uint8 (n, 16), from the operating system's randomness."""
    return np.frombuffer(os.urandom(ID_BYTES * n), np.uint8).reshape(n, ID_BYTES)
