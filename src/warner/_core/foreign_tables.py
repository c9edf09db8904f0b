"""Data frames of other libraries, which an upper room reads for the rooms below it.

A device needs numpy alone, so the rooms of a device know no data frames. A reader of frames is
registered here when it is imported. A function that is given an object asks whether a reader knows
it.

What a frame says about itself is read here too: the header of its reports, and the index by which
pandas names its rows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

import numpy as np

from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    FileError,
    FrameWarning,
    ValuesError,
    warn,
)

ColumnNames = str | Mapping[str, str] | None
"""Which columns hold reports: one name, {name in the schema: name in the frame}, or None."""


class ForeignTable(Protocol):
    """A data frame, eager or lazy, or a stream of rows that can be read once."""

    @property
    def names(self) -> Sequence[str]:
        """The names of its columns."""

    def reports(self, mechanisms: Mapping[str, Any], columns: Mapping[str, ColumnNames]) -> Any:
        """{attribute: its reports in the frame, in its order}, checked as the mechanisms'."""

    def tally(
        self,
        mechanisms: Mapping[str, Any],
        columns: Mapping[str, ColumnNames],
        by: Any,
        **options: Any,
    ) -> Any:
        """{attribute: its tally}, by columns of the frame or by values beside it."""


class FrameSource:
    """A result of which other libraries make a data frame, as by ``polars.DataFrame(result)``."""

    def to_frame(self) -> Any:
        """The rows as a frame of PyArrow."""
        raise NotImplementedError

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.to_frame().__arrow_c_stream__(requested_schema)


Reader = Callable[[Any], ForeignTable | None]
"""Returns the table that an object is, or None for an object of another sort."""

_READERS: list[Reader] = []
NO_CHANCE = 1e-9  # the probability below which equal counts, or rows, are of the same people
ONE_COPY = (
    "Correct the step that copied the rows, and count again. Do not drop rows only because they "
    "are equal: equal reports of different people are normal."
)


def frame_of(data: Any, name: str) -> Any:
    """The frame of any library, for narwhals; TypeError of another object."""
    import narwhals.stable.v2 as nw
    from narwhals.exceptions import DuplicateError

    with suppress(DuplicateError):
        return nw.from_native(data)
    raise ArgumentError(name, "has two columns with the same name", None, "Rename one of them")


def register_reader(reader: Reader) -> None:
    """Let a reader be asked about objects that are given where reports are expected."""
    _READERS.append(reader)


def foreign_table(data: Any) -> ForeignTable | None:
    """The data frame that an object is; None for anything else.

    >>> foreign_table([1, 2]) is None
    True
    """
    for reader in _READERS:
        if (table := reader(data)) is not None:
            return table
    return None


# -----------------------------------------------------------------------------------------------
# The header of a frame: JSON text in ``attrs`` of pandas, or in the metadata of an Arrow schema.
# Report files in Parquet have it in the same place, and pandas writes its ``attrs`` to Parquet.


_HEADER, _OF_PANDAS = "warner", "PANDAS_ATTRS"


def with_header(frame: Any, header: Mapping[str, Any]) -> Any:
    """A frame of pandas or PyArrow with a header; any other frame as it is."""
    text = json.dumps(header, separators=(",", ":"), allow_nan=False)
    if isinstance(getattr(frame, "attrs", None), dict):
        frame.attrs[_HEADER] = text
    elif hasattr(frame, "replace_schema_metadata"):
        return frame.replace_schema_metadata(metadata_of(text))
    return frame


def metadata_of(header: str) -> dict[str, str]:
    """The metadata of an Arrow schema with a header, which pandas keeps when it reads Parquet."""
    return {_HEADER: header, _OF_PANDAS: json.dumps({_HEADER: header})}


def header_of(data: Any) -> dict[str, Any] | None:
    """The header that a frame, or the metadata of a file, states; None where there is none."""
    stated = data if isinstance(data, Mapping) else getattr(data, "attrs", None)
    if type(data).__module__.startswith("pyarrow."):
        stated = data.schema.metadata
    given = stated.items() if isinstance(stated, Mapping) else ()
    named = {k.decode() if isinstance(k, bytes) else k: v for k, v in given}
    try:
        text = named.get(_HEADER) or json.loads(named.get(_OF_PANDAS, "{}")).get(_HEADER)
        header = json.loads(text or "null")
        if header is None or isinstance(header["attributes"], dict):
            return dict(header) if header else None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        pass
    rule = "has a description of the mechanism that was changed after warner wrote it"
    raise FileError("data", rule, None, "Use the reports as warner wrote them")


# -----------------------------------------------------------------------------------------------
# The index of a pandas column or frame. It stays in memory, because it can name people.


def index_of(values: Any) -> Any:
    """The index of a pandas column or frame, or of a dict of columns; None where there is none."""
    if isinstance(values, Mapping):
        given = [index for of in values.values() if (index := index_of(of)) is not None]
        if any(not index.equals(given[0]) for index in given[1:]):
            rule = "must all have the same index, so that each row is one person"
            raise ArgumentError("columns", rule, None, "Take all columns from one data frame")
        return given[0] if given else None
    index = getattr(values, "index", None)
    # Asked of the type: a column of Spark called "index" answers to every name of an attribute.
    return index if hasattr(type(index), "get_indexer") else None


def names_rows(index: Any) -> bool:
    """Whether a pandas index, or None, is more than the numbers of the rows from 0 on.

    Consecutive ids of users are a ``RangeIndex``, too.
    """
    if index is None:
        return False
    is_range = type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1)
    return not is_range or any(name is not None for name in index.names)


def index_of_answers(answers: Any) -> Any:
    """The index of answers, as :func:`index_of`, with a warning where people are there twice."""
    index = index_of(answers)
    if index is not None and not index.is_unique:
        warn(
            f"Several rows of the answers have the same index label (rows: {len(index):,}, "
            f"different labels: {len(index.unique()):,}). Was the frame exploded or joined? Then a "
            "person with several rows counts and spends epsilon several times, and the estimates "
            "are wrong. Pass one row for each person, with all ticked items in one list. If each "
            "row is another person, call reset_index(drop=True) on the answers first.",
            FrameWarning,
        )
    return index


def about_repeated(index: Any, columns: Mapping[str, np.ndarray], is_frame: bool = True) -> str:
    """Which reports a table holds twice, in the same order or with one label of pandas; else "".

    Of arrays that are no frame only whole copies are noticed, for that takes no time.
    """
    if (block := repeated_block(columns, is_frame)) is not None:
        first, again, length = block
        return (
            f"Reports {first + 1:,} to {first + length:,} stand in the data again, in the same "
            f"order, from report {again + 1:,} on. Was a table put together with itself? Then "
            f"people are counted twice, and intervals are too short. {ONE_COPY} If these are "
            f"different people, make a first tally of the reports before report {again + 1:,} and "
            "a second tally of all other reports. Then add the two: first + second.of_others()."
        )
    if is_frame and _are_in_pairs(columns):
        return (
            "In this data frame, equal rows always stand together in even numbers (2, 4 and so "
            "on). Was each row repeated? Then people are counted twice, and intervals are too "
            f"short. {ONE_COPY}"
        )
    if index is None or index.is_unique:
        return ""
    labels, _ = index.factorize()
    order = np.argsort(labels, kind="stable")
    pairs = labels[order][1:] == labels[order][:-1]  # of the rows that have one label
    if not _are_equal({name: column[order] for name, column in columns.items()})[pairs].all():
        return ""
    # Rows of different people are as often equal as a row and the one below it in the frame.
    others = labels[1:] != labels[:-1]
    equal = _are_equal(columns)[others]
    if not equal.size or equal.mean() ** pairs.sum() >= NO_CHANCE:
        return ""
    return (
        "In this data frame, rows with the same index label also have the same reports. "
        "Was the frame joined with itself? Then people are counted twice, and intervals are too "
        f"short. {ONE_COPY} If these rows are different people, use frame.reset_index(drop=True)."
    )


def _are_in_pairs(columns: Mapping[str, np.ndarray]) -> bool:
    """Whether equal rows stand next to each other in even numbers alone, so often as no chance."""
    n = len(next(iter(columns.values())))
    if n % 2 or n < 2:
        return False
    # Where a row differs from the one before it, the number of rows before it is even every second
    # time or less.
    new = np.flatnonzero(~_are_equal(columns)) + 1
    return not (new % 2).any() and 0.5 ** len(new) < NO_CHANCE


_PARTS = 4  # of the rows; a block is found where it is repeated, if it holds the start of a part
_SEARCHED = 1000  # rows at the start of a part, which are looked for further below
_MOST_SEARCHED = 10**6  # rows; of more, which takes long, whole copies alone are looked for
_NEARBY = 64  # the rows among which a pattern repeats, such as no, yes, no, yes
_MOST_COMPARED = 10**5  # rows, of which it is seen how often rows nearby are equal


def repeated_block(
    columns: Mapping[str, np.ndarray], is_searched: bool = True
) -> tuple[int, int, int] | None:
    """Rows (n, ...) that stand again further below: where they begin, where again, and how many.

    Without ``is_searched`` they are all rows, once, twice or three times more.
    """
    arrays = [np.ascontiguousarray(column) for column in columns.values()]
    n = len(arrays[0])
    if n < 2 * _PARTS:
        return None
    rows = [array.reshape(n, -1).view(np.uint8) for array in arrays]
    for first, again in _places_alike(rows, is_searched and n <= _MOST_SEARCHED):
        most = min(again - first, n - again)
        pairs = [(of[first : first + most], of[again : again + most]) for of in rows]
        same = np.logical_and.reduce([(one == two).all(axis=1) for one, two in pairs])
        length = most if same.all() else int(same.argmin())
        # Rows of different people are as often equal as rows nearby, in sorted rows too.
        block = {str(i): one[: min(length, _MOST_COMPARED)] for i, (one, _) in enumerate(pairs)}
        lags = range(1, min(_NEARBY, length // 2) + 1)
        equal = max((_are_equal(block, lag).mean() for lag in lags), default=1.0)
        if n * _PARTS * max(equal, 1 / length) ** length < NO_CHANCE:
            return first, again, length
    return None


def _places_alike(rows: Sequence[np.ndarray], is_searched: bool) -> Iterator[tuple[int, int]]:
    """Pairs of places at which the same rows may begin; rows (n, bytes) of each column."""
    n = len(rows[0])
    step = min(n // _PARTS, _SEARCHED)
    for copies in range(2, _PARTS + 1):
        again = n // copies
        # As bytes, of which the first that differs ends the comparison.
        if n % copies == 0 and all(
            of[:step].tobytes() == of[again : again + step].tobytes() for of in rows
        ):
            yield 0, again
    if not is_searched:
        return
    # Bytes are searched much faster than rows are compared.
    together = np.concatenate(rows, axis=1)
    width, data = together.shape[1], together.tobytes()
    for first in range(0, n - n // _PARTS, n // _PARTS):
        last = first + step
        again = data.find(data[first * width : last * width], last * width)
        while again % width and again >= 0:  # within a row
            again = data.find(data[first * width : last * width], again + 1)
        if again >= 0:
            yield first, again // width


def _are_equal(columns: Mapping[str, np.ndarray], lag: int = 1) -> np.ndarray:
    """Whether each row, but the last ones, has the reports of the row that is lag rows further."""
    each = [
        (rows[lag:] == rows[:-lag]).reshape(len(rows) - lag, -1).all(axis=1)
        for rows in columns.values()
    ]
    return np.asarray(np.logical_and.reduce(each))


def in_rows_of(data: Any, error: ValuesError) -> ValuesError:
    """An error of answers, by column and data row where these are of a frame; else as it is.

    >>> error = ValuesError(0, "must be one of the 2 values", "a string")
    >>> print(in_rows_of(["x"], error))
    values: position 0: must be one of the 2 values; got a string.
    """
    noun, first = counting_of(data)
    name: Any = error.where.removesuffix(": position")
    if not first or name == error.where:
        return error
    if name == "values":
        name = getattr(data, "name", None) or next(iter(getattr(data, "columns", ())), None)
    where = f"column {name!r}" if isinstance(name, str) else "values"
    return error.offset_by(f"{where}, {noun}", first)


def counting_of(data: Any) -> tuple[str, int]:
    """What errors call the places of answers, and the number of the first one."""
    columns = data.values() if isinstance(data, Mapping) else [data]
    if all(hasattr(each, "to_numpy") or hasattr(each, "column_names") for each in columns):
        return "data row", 1
    return "position", 0


def columns_of_frame(by: Any) -> Any:
    """The columns of a frame of pandas or Polars, or a column with its name; others as they are."""
    if hasattr(type(by), "collect_schema") and not hasattr(type(by), "to_numpy"):
        rule = "must be columns whose values are there"
        raise ArgumentTypeError("by", rule, f"a {type(by).__name__}", "Write by=frame.collect()")
    if hasattr(by, "columns") and hasattr(by, "to_numpy"):
        return {name: by[name] for name in by.columns}
    name = getattr(by, "name", None)  # of a series of pandas or Polars
    return {name: by} if isinstance(name, str) and name and hasattr(by, "to_numpy") else by


def categories_of(column: Any) -> list[Any]:
    """The categories of a column, or of its type, in the order that it states; else none.

    That is so of pandas, of an Enum of Polars or of a database, and of an ordered dictionary of
    Arrow. Categories of Polars that are no Enum have no order.
    """
    of = getattr(column, "dtype", column)
    if type(of).__name__ in ("CategoricalDtype", "Enum"):
        return list(of.categories)
    if getattr(getattr(column, "type", None), "ordered", False):
        chunks = getattr(column, "chunks", [column])
        return list(dict.fromkeys(c for chunk in chunks for c in chunk.dictionary.to_pylist()))
    return []


def in_order_of(index: Any, values: Any, name: str) -> Any:
    """Columns of the same people in the order of ``index``; as they are where nothing has one."""
    if isinstance(values, Mapping):
        return {
            key: in_order_of(index, of, f"{name}: column {key!r}") for key, of in values.items()
        }
    theirs = index_of(values)
    if index is None or theirs is None or len(theirs) != len(index) or theirs.equals(index):
        return values
    if theirs.is_unique and index.is_unique and (rows := theirs.get_indexer(index)).min() >= 0:
        return values.iloc[rows]
    rule = "must have the same index labels as the answers that were randomised, in any order"
    remedy = (
        "Take the column and the answers from one frame. If their rows are in the same order, pass "
        "column.to_numpy()"
    )
    raise ArgumentError(name, rule, "other labels", remedy)
