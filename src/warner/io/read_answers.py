"""Reading answers: CSV, Parquet or standard input as indices, a batch at a time.

There is no loop over people: Arrow does the work on whole columns.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from warner._core.canonical_json import canonical
from warner._core.errors import (
    EmptyError,
    FileError,
    ValuesError,
    WarnerError,
)
from warner._core.shuffle import rows_at_a_time
from warner.domains import Categorical, Domain
from warner.io.answer_column import DECIMAL_COMMA, AnswerColumn
from warner.io.file_format import ROWS_PER_BATCH
from warner.io.formats import answer_batches
from warner.mechanisms import Mechanism

if TYPE_CHECKING:
    import pyarrow as pa


def read_values(
    path: str | BinaryIO,
    domains: Mapping[str, Domain | Mechanism],
    bare: bool = False,
    watch: Callable[[pa.RecordBatch], object] | None = None,
    dropped: Callable[[int], object] | None = None,
) -> Iterator[dict[str, np.ndarray]]:
    """Return the answers in a file, a batch of rows at a time.

    All batches except the last have the same number of rows. The number depends on ``domains``
    and not on the file, so that batches do not tell how long the answers are. An empty line of CSV
    is a row of empty cells.

    The answers of an attribute whose domain drops missing answers decide on whole rows: a person
    who gave none is left out, with all other answers.

    Args:
        path: a file name, an open CSV file, or ``-`` for CSV on standard input.
        domains: the domain or the mechanism of each attribute to read. An attribute of pairs of a
            key and a value has two columns, ``name_key`` and ``name_value``. Attributes that are
            randomised together have one column each.
        bare: whether the file is CSV without a header line, with its columns in the order of
            ``domains``.
        watch: called with each batch as it was read and found right, for checks of whole columns.
        dropped: called with the number of people who are left out, for some rows at a time.

    Returns:
        For each batch {attribute: (rows,) array}: indices of a domain, or values as a
        mechanism takes them.

    Raises:
        ValuesError: answers outside their domain, with columns and rows. The whole file is read
            then, and all of them are named.
        EmptyError: no rows, or nobody who is not left out.
        FileError: not CSV or Parquet, or a column is missing or occurs twice.
    """
    size = rows_at_a_time(
        sum(m.schema.bytes_per_report for m in domains.values() if isinstance(m, Mechanism)),
        ROWS_PER_BATCH,
    )
    held: dict[str, list[np.ndarray]] = {name: [] for name in domains}
    names = [column for name, taker in domains.items() for column in answer_columns(name, taker)]
    waiting, answered, refused = 0, False, _Refused()
    for part, row in _parts(path, names, size, bare):
        found = {
            name: refused.collect(partial(_encoded, taker, part, name, row))
            for name, taker in domains.items()
        }
        if refused:
            continue
        kept = _kept(domains, part, row, dropped)
        if watch is not None:
            watch(part)
        for name, answers in found.items():
            held[name].append(answers if kept is None else answers[kept])
        waiting += part.num_rows if kept is None else len(kept)
        answered = answered or waiting > 0
        while waiting >= size:
            yield _taken(held, size)
            waiting -= size
    refused.raise_them()
    if waiting:
        yield _joined(held)
    elif not answered:
        raise _nobody(path)


def _nobody(path: str | BinaryIO) -> EmptyError:
    """The error of a file in which everybody is left out."""
    rule, remedy = "holds nobody who answered", 'missing = "answer" keeps people who did not'
    return EmptyError(_shown(path), rule, None, remedy)


class _GroupNames(Categorical):
    """The names of a study's groups, as the answers of a public column."""

    noun = "names of groups"

    def __init__(self, names: list[str]) -> None:
        super().__init__(names)
        self.remedy = f"name each person's group as the study does: {', '.join(names)}"


def read_groups(
    path: str | BinaryIO,
    column: str,
    groups: Mapping[str, Mapping[str, Mechanism]],
    bare: bool = False,
    public: Mapping[str, Domain] | None = None,
    watch: Callable[[pa.RecordBatch], object] | None = None,
    dropped: Callable[[int], object] | None = None,
) -> Iterator[dict[str, dict[str, np.ndarray]]]:
    """Return the answers in a file, a batch of rows at a time, by the group of each person.

    Args:
        path: a file name, an open CSV file, or ``-`` for CSV on standard input.
        column: the column that names a person's group.
        groups: {group: {attribute: mechanism}}, at least two. All have the same attributes, and
            the domain of an attribute is the same in all.
        bare: whether the file is CSV without a header line. Its first column is then the group, and
            its next columns are the public ones.
        public: {name: domain} of public columns. Their indices are among those of the attributes.
        watch: called with each batch as it was read and found right, for checks of whole columns.
        dropped: as of :func:`read_values`, of all groups together.

    Returns:
        For each batch {group: {attribute: (rows,) array}}, in the order of the file. A group is
        left out where the batch has nobody of it.

    Raises:
        ValuesError: a group that is not there, or an answer outside its domain, by its row.
        EmptyError, FileError: as :func:`read_values`.
    """
    first = next(iter(groups.values()))
    names = _GroupNames(list(groups))
    beside = {} if public is None else public
    columns = [c for name, taker in first.items() for c in answer_columns(name, taker)]
    wanted = list(dict.fromkeys([column, *beside, *columns]))
    width = max(sum(m.schema.bytes_per_report for m in own.values()) for own in groups.values())
    size = rows_at_a_time(width, ROWS_PER_BATCH)
    refused, answered = _Refused(), False
    for part, row in _parts(path, wanted, size, bare):
        index = {
            name: refused.collect(partial(_encoded, domain, part, name, row))
            for name, domain in beside.items()
        }
        place = refused.collect(partial(_encoded, names, part, column, row))
        # Most groups read a column in the same way, which is then done once for all of them.
        done: dict[tuple[str, str], np.ndarray] = {}
        for mechanisms in groups.values():
            for name, taker in mechanisms.items():
                key = (name, _reading(taker))
                if key not in done:
                    done[key] = refused.collect(partial(_encoded, taker, part, name, row))
        if refused:
            continue
        kept = _kept(first, part, row, dropped)
        if watch is not None:
            watch(part)
        found: dict[str, dict[str, np.ndarray]] = {}
        for i, (group, mechanisms) in enumerate(groups.items()):
            rows = np.flatnonzero(place == i)
            if kept is not None:
                rows = np.intersect1d(rows, kept)
            if rows.size:
                found[group] = {name: known[rows] for name, known in index.items()}
                for name, taker in mechanisms.items():
                    found[group][name] = done[name, _reading(taker)][rows]
        answered = answered or bool(found)
        yield found
    refused.raise_them()
    if not answered:
        raise _nobody(path)


def require_group(path: str, column: str, group: str) -> None:
    """Refuse a file with the column of the group, where a row names another group than ``group``.

    A file without the column passes. Standard input, which can be read once only, and files that
    cannot be read are left to :func:`read_values`.

    Raises:
        ValuesError: another group, by its row.
    """
    import pyarrow as pa

    if path == "-":
        return
    row = 0
    # Arrow's errors quote the file; a file without the column is a KeyError or a FileError.
    with contextlib.suppress(pa.ArrowException, OSError, KeyError, UnicodeDecodeError, FileError):
        for batch in answer_batches(path, [column]):
            named = batch.column(column).cast(pa.string()).to_pylist()
            other = next((i for i, name in enumerate(named) if name != group), None)
            if other is not None:
                rule = f"must name the group {group!r}, as --group does"
                remedy = "Leave out --group, or choose people of one group"
                where = f"column {column!r}, data row"
                raise ValuesError(row + other + 1, rule, "another text", remedy, where)
            row += batch.num_rows


def _reading(mechanism: Mechanism) -> str:
    """A text that is equal for two mechanisms on one domain which read a column alike."""
    reads_indices = not (mechanism.answer_parts or mechanism.domain.answered.is_numeric)
    return "" if reads_indices else canonical(mechanism.header)


def _parts(
    path: str | BinaryIO, names: list[str], size: int, bare: bool
) -> Iterator[tuple[pa.RecordBatch, int]]:
    """The rows of a file in parts, each with the number of rows before it.

    The rows number ``k size`` and ``k size + 1`` are never in one part, for whole k.
    """
    import pyarrow as pa

    shown = _shown(path)
    batches = answer_batches(path, names, bare)
    row, problem = 0, None
    while True:
        # Arrow's errors quote the file. Ours is raised outside the handler, so that it does not
        # carry theirs as its context.
        try:
            batch = next(batches, None)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            problem = _problem(shown, error)
        if problem is not None:
            raise problem
        if batch is None:
            break
        start = 0
        while start < batch.num_rows:
            part = batch.slice(start, size - row % size)
            yield part, row
            start += part.num_rows
            row += part.num_rows
    if row == 0:
        raise EmptyError(shown, "holds no answers", None, "Pass at least one row")


def _shown(path: str | BinaryIO) -> str:
    """A file of answers in messages."""
    return "standard input" if path == "-" else path if isinstance(path, str) else "the file"


def _taken(held: dict[str, list[np.ndarray]], size: int) -> dict[str, np.ndarray]:
    """The first ``size`` rows of each attribute; the rest stays in ``held``."""
    whole = _joined(held)
    for name, answers in whole.items():
        if len(answers) > size:
            held[name].append(answers[size:])
    return {name: answers[:size] for name, answers in whole.items()}


def _kept(
    takers: Mapping[str, Domain | Mechanism],
    part: pa.RecordBatch,
    row: int,
    dropped: Callable[[int], object] | None,
) -> np.ndarray | None:
    """The rows (k,) of people who are not left out; None for all."""
    absent = [
        AnswerColumn(column, row, domain).absent(part.column(column))
        for name, taker in takers.items()
        for column, domain in _single_columns(name, taker)
        if domain.missing.policy == "drop"
    ]
    if not absent:
        return None
    out = np.any(absent, axis=0)
    if dropped is not None:
        dropped(int(np.count_nonzero(out)))
    return np.flatnonzero(~out)


class _Refused:
    """The answers of a file that are refused, of all columns and batches."""

    def __init__(self) -> None:
        self._errors: dict[tuple[str, str, str], ValuesError] = {}

    def __bool__(self) -> bool:
        return bool(self._errors)

    def collect(self, read: Callable[[], np.ndarray]) -> np.ndarray:
        """What ``read`` returns; nothing where it refuses answers, which are kept in mind."""
        try:
            return read()
        except ValuesError as error:
            for each in (error.beside([]), *error.others):
                known = self._errors.get(each.rule)
                self._errors[each.rule] = each if known is None else known.joined(each)
        return np.zeros(0)

    def raise_them(self) -> None:
        """Raise one error for all of them, if any, in the order of columns."""
        columns = [where for where, *_ in self._errors]
        in_order = sorted(self._errors.values(), key=lambda e: (columns.index(e.where), e.position))
        if in_order:
            raise in_order[0].beside(in_order[1:])


def _joined(held: dict[str, list[np.ndarray]]) -> dict[str, np.ndarray]:
    """The rows of each attribute as one array; the lists in ``held`` are emptied."""
    joined = {
        name: parts[0] if len(parts) == 1 else np.concatenate(parts) for name, parts in held.items()
    }
    for parts in held.values():
        parts.clear()
    return joined


def _problem(shown: str, error: Exception) -> WarnerError:
    """The error for a file that cannot be read; its message quotes nothing from the file."""
    if isinstance(error, FileNotFoundError | IsADirectoryError | PermissionError):
        reason = error.strerror or type(error).__name__
        return FileError(shown, "cannot be opened", reason, "Check the path")
    if "Empty CSV" in str(error):
        return EmptyError(shown, "is empty", None, "Pass at least one row")
    rule = "is not readable as CSV (UTF-8) or Parquet, or is truncated"
    return FileError(shown, rule, None, "Every row must have the same columns")


def encoded_batch(
    takers: Mapping[str, Domain | Mechanism], part: pa.RecordBatch
) -> dict[str, np.ndarray]:
    """The answers in a batch of rows, as mechanisms take them.

    Returns (m,).
    """
    refused = _Refused()
    found = {
        name: refused.collect(partial(_encoded, taker, part, name, 0))
        for name, taker in takers.items()
    }
    refused.raise_them()
    kept = _kept(takers, part, 0, None)
    return found if kept is None else {name: column[kept] for name, column in found.items()}


def answer_columns(name: str, taker: Domain | Mechanism) -> list[str]:
    """Return the columns of a file that hold the answers to one attribute."""
    parts = {} if isinstance(taker, Domain) else taker.answer_parts
    if parts:
        return [f"{name}_{part}" for part in parts]
    together = _domain_of(taker).attributes
    return [c for own, domain in together.items() for c in answer_columns(own, domain)] or [name]


def _domain_of(taker: Domain | Mechanism) -> Domain:
    return taker if isinstance(taker, Domain) else taker.domain


def _single_columns(name: str, taker: Domain | Mechanism) -> Iterator[tuple[str, Domain]]:
    """Each column that holds answers to one attribute, with the domain of these."""
    if not isinstance(taker, Domain) and taker.answer_parts:
        for column, part in zip(
            answer_columns(name, taker), taker.answer_parts.values(), strict=True
        ):
            yield from _single_columns(column, part)
        return
    together = _domain_of(taker)
    for own, domain in together.attributes.items():
        yield from _single_columns(own, domain)
    if not together.attributes:
        yield name, together


def _encoded(
    taker: Domain | Mechanism, batch: pa.RecordBatch, name: str, row: int, asked: bool = False
) -> np.ndarray:
    """The answers of a batch to one attribute, after ``row`` earlier rows."""
    if not isinstance(taker, Domain) and taker.answer_parts:
        columns = zip(answer_columns(name, taker), taker.answer_parts.values(), strict=True)
        return np.stack([_encoded(part, batch, c, row, True) for c, part in columns], axis=1)
    asked = asked or not isinstance(taker, Domain)
    together = _domain_of(taker)
    if together.attributes:
        parts = together.attributes.items()
        index = [_encoded(part, batch, own, row, asked) for own, part in parts]
        return np.ravel_multi_index(index, together.shape).astype(np.int64)
    marks = batch.schema.metadata or {}
    column = AnswerColumn(name, row, together, DECIMAL_COMMA in marks, asked)
    # A mechanism of numbers takes them without bins; other mechanisms take indices.
    by_domain = isinstance(taker, Domain) or not together.answered.is_numeric
    encode = together.encode if by_domain else taker.encode
    return column.encoded(batch.column(name), encode)
