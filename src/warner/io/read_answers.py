"""Answers in: CSV, Parquet or standard input to indices, a batch at a time, without a loop over people."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO

import numpy as np

from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    EmptyError,
    FileError,
    ValuesError,
    WarnerError,
    message,
)
from warner._core.shuffle import rows_at_a_time
from warner.domains import Categorical, Domain, Grid, Integers, Interval, Tagged
from warner.io.file_format import ROWS_PER_BATCH
from warner.io.formats import answer_batches
from warner.mechanisms import KeyValue, Mechanism


def read_values(
    path: str | BinaryIO, domains: Mapping[str, Domain | Mechanism], bare: bool = False
) -> Iterator[dict[str, np.ndarray]]:
    """The answers in a CSV or Parquet file as indices, or as what mechanisms take, a batch at a time: {attribute: (rows,)}.

    All batches but the last have the same number of rows. It depends on ``domains`` alone, never on the file, so that nothing
    that is done batch by batch says how long the answers are. An empty line of CSV is a row of empty cells.

    Args:
        path: a file name, an open CSV file, or ``-`` for CSV on standard input.
        domains: the columns to read, and the domains, or mechanisms with domains, whose values they hold. Of pairs of a key and a value
            there are two, ``name_key`` and ``name_value``.
        bare: the file is CSV without a header line, its columns in the order of ``domains``.

    Raises:
        ValuesError: an answer outside its domain, by column and row.
        FileError: not CSV or Parquet, or a column is missing or stands twice.
    """
    import pyarrow as pa

    size = rows_at_a_time(
        sum(m.schema.bytes_per_report for m in domains.values() if isinstance(m, Mechanism)),
        ROWS_PER_BATCH,
    )
    held: dict[str, list[np.ndarray]] = {name: [] for name in domains}
    shown = "standard input" if path == "-" else path if isinstance(path, str) else "the file"
    names = [column for name, taker in domains.items() for column in answer_columns(name, taker)]
    batches = answer_batches(path, names, bare)
    row, problem = 0, None
    while True:
        # Arrow's own errors quote what they could not read. They must not hang on ours as its context either, so ours is
        # raised when theirs is gone.
        try:
            batch = next(batches, None)
        except (pa.ArrowException, OSError, KeyError, UnicodeDecodeError) as error:
            problem = _problem(shown, error, names)
        if problem is not None:
            raise problem
        if batch is None:
            break
        start = 0
        while start < batch.num_rows:
            part = batch.slice(start, size - row % size)
            for name, taker in domains.items():
                held[name].append(_encoded(taker, part, name, row))
            start += part.num_rows
            row += part.num_rows
            if row % size == 0:
                yield _joined(held)
    if row == 0:
        raise EmptyError(message(shown, "holds no answers", None, "Pass at least one row"))
    if row % size:
        yield _joined(held)


def _joined(held: dict[str, list[np.ndarray]]) -> dict[str, np.ndarray]:
    """The parts of each attribute's rows as one array; ``held`` is emptied."""
    found = {
        name: parts[0] if len(parts) == 1 else np.concatenate(parts) for name, parts in held.items()
    }
    for parts in held.values():
        parts.clear()
    return found


def _problem(shown: str, error: Exception, names: list[str]) -> WarnerError:
    """Why a file cannot be read, in words that hold nothing of what it says."""
    if isinstance(error, KeyError):
        return FileError(
            message(
                shown,
                f"must have the columns {', '.join(names)}",
                "a first line without (all of) them",
                "Name them in the first line",
            )
        )
    if isinstance(error, FileNotFoundError | IsADirectoryError | PermissionError):
        return FileError(
            message(
                shown, "cannot be opened", error.strerror or type(error).__name__, "Check the path"
            )
        )
    if "Empty CSV" in str(error):
        return EmptyError(message(shown, "is empty", None, "Pass at least one row"))
    return FileError(
        message(
            shown,
            "is not readable as CSV (UTF-8) or Parquet, or is truncated",
            None,
            "Every row must have the same columns",
        )
    )


# What counts as a number in a text column; Arrow casts all of it.
_INTEGER = r"^-?[0-9]{1,18}$"
_NUMBER = r"^-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$"
# A cell of a grid, as people write it and as estimates name it: 3,5 or [3, 5].
_CELL = r"^([0-9]{1,9}, ?[0-9]{1,9}|\[[0-9]{1,9}, ?[0-9]{1,9}\])$"


def answer_columns(name: str, taker: Domain | Mechanism) -> list[str]:
    """The columns that hold an attribute's answers: its name, or for pairs one of each."""
    return [f"{name}_{part}" for part in taker.parts] if isinstance(taker, KeyValue) else [name]


def _encoded(taker: Domain | Mechanism, batch: Any, name: str, row: int) -> np.ndarray:
    if isinstance(taker, KeyValue):
        parts = zip(answer_columns(name, taker), taker.parts.values(), strict=True)
        return np.stack(
            [_encoded(part, batch, column_name, row) for column_name, part in parts], axis=1
        )
    column = batch.column(name)
    if isinstance(taker, Domain):
        return _encode(taker, column, name, row, taker.encode)
    # What a mechanism makes of numbers; of other answers, their indices.
    return _encode(
        taker.domain,
        column,
        name,
        row,
        taker.encode if isinstance(taker.domain, Integers | Interval) else taker.domain.encode,
    )


def _encode(
    domain: Domain, column: Any, name: str, row: int, encode: Callable[[Any], np.ndarray]
) -> np.ndarray:
    """Indices of one Arrow column; ``row`` counts the rows before it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    where = f"column {name!r}, data row"  # counted from 1, as people count rows

    def refuse(bad: Any, rule: str, got: str) -> None:
        places = np.flatnonzero(bad.to_numpy(zero_copy_only=False))
        if places.size:
            if got.startswith("a string") and pc.binary_length(column[int(places[0])]).as_py() == 0:
                got = "an empty cell"
            raise ValuesError(
                int(places[0]) + row + 1,
                rule,
                got,
                domain.remedy[0].upper() + domain.remedy[1:],
                where,
            )

    refuse(pc.is_null(column), f"not in the domain of {domain.size} values", "no answer")
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    if isinstance(domain, Tagged) and text:
        # Tags are set aside, with any value of the plain domain in their place, so that rows keep their numbers.
        bots = pc.index_in(
            pc.cast(column, pa.string()), value_set=pa.array([f"@{tag}" for tag in domain.tags])
        )
        some = (
            text_labels(domain.domain)[0]
            if isinstance(domain.domain, Categorical)
            else json.dumps(domain.domain.labels[0])
        )
        plain = _encode(
            domain.domain,
            pc.if_else(pc.is_null(bots), column, some),
            name,
            row,
            domain.domain.encode,
        )
        return np.where(
            pc.is_null(bots),
            plain,
            domain.domain.size + pc.fill_null(bots, 0).to_numpy(zero_copy_only=False),
        )
    if isinstance(domain, Categorical) and text:
        labels = text_labels(domain)
        if all(isinstance(label, bool) for label in domain.labels):
            column = pc.ascii_lower(
                column
            )  # true and false; bytes that are no text are refused below, as any other value
        index = pc.index_in(pc.cast(column, pa.string()), value_set=pa.array(labels))
        refuse(pc.is_null(index), f"not in the domain of {domain.size} values", "a string")
        return index.to_numpy(zero_copy_only=False).astype(np.int64)
    if text and isinstance(domain, Integers | Interval):
        pattern, target, what = (
            (_INTEGER, pa.int64(), "an integer")
            if isinstance(domain, Integers)
            else (_NUMBER, pa.float64(), "a number")
        )
        refuse(
            pc.invert(pc.match_substring_regex(column, pattern)),
            f"must be {what}",
            "a string that is none",
        )
        column = pc.cast(column, target)
    cells = text and isinstance(domain, Grid)
    if cells:
        refuse(
            pc.invert(pc.match_substring_regex(column, _CELL)),
            "must be a cell as row,column",
            "a string that is none",
        )
    problem: WarnerError
    try:
        return encode(_cells(column) if cells else column.to_numpy(zero_copy_only=False))
    except ValuesError as error:
        problem = error.moved(where, row + 1)
    except ArgumentTypeError:
        wanted = {Integers: "integers", Interval: "numbers", Grid: "cells, as row,column"}.get(
            type(domain), "labels of the domain"
        )
        problem = ValuesError(
            row + 1,
            f"must hold {wanted}",
            f"a column of {column.type}",
            "Convert the column first",
            where,
        )
    raise problem


def _cells(column: Any) -> np.ndarray:
    """Rows and columns (n, 2) of cells written as text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = pc.extract_regex(column, r"(?P<row>[0-9]+), ?(?P<column>[0-9]+)")
    return np.stack(
        [
            pc.cast(pc.struct_field(parts, part), pa.int64()).to_numpy(zero_copy_only=False)
            for part in ("row", "column")
        ],
        axis=1,
    )


def text_labels(domain: Categorical) -> list[str]:
    """The labels as they stand in a text file."""
    labels = [str(v).lower() if isinstance(v, bool) else str(v) for v in domain.labels]
    if len(set(labels)) < len(labels):
        raise ArgumentError(
            message(
                "values", "labels must differ as text to be read from a file", ", ".join(labels[:6])
            )
        )
    return labels
