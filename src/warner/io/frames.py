"""Data frames of any library, in and out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from warner._core.checks import kind
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    EmptyError,
    ReportError,
    message,
)
from warner.io.seal import file_columns, from_file, from_histograms, to_file
from warner.mechanisms import Mechanism, from_header
from warner.reports.reports import Reports
from warner.reports.schema import BitVector, DigitVector, ReportSchema, smallest_dtype
from warner.reports.tally import Tally, bins


def frame(columns: Mapping[str, Any], backend: str = "pyarrow") -> Any:
    """Columns as a data frame of the library ``backend``."""
    import narwhals.stable.v2 as nw

    try:
        return nw.from_dict(dict(columns), backend=cast(Any, backend)).to_native()
    except (ValueError, TypeError, ModuleNotFoundError):
        raise ArgumentError(
            message(
                "backend",
                "must name an installed data frame library",
                repr(backend),
                "For example 'pyarrow'",
            )
        ) from None


def reports_frame(reports: Reports, backend: str = "pyarrow", attribute: str = "value") -> Any:
    """Reports as a data frame, with the columns of a report file."""
    schema = from_header(reports.header).schema
    return frame(to_file(attribute, schema, reports.columns), backend)


def tally_frame(
    mechanism: Mechanism, data: Any, attribute: str = "value", simulated: bool = False, **how: Any
) -> Tally:
    """Count reports in a data frame of any library that Narwhals knows, eager or lazy, by its own GROUP BY.

    Reports of bits or digits are counted column by column, others as a whole.

    The frame has the columns of a report file for ``attribute``; ``how`` is what ``mechanism.tally`` takes, such as ``ways``.
    A frame does not know whether its reports are simulated: ``simulated`` says so.
    Raises ReportError for reports that ``mechanism`` cannot have sent.
    """
    import narwhals.stable.v2 as nw

    try:
        lazy = nw.from_native(data).lazy()
    except TypeError:
        raise ArgumentTypeError(message("data", "must be a data frame", kind(data))) from None
    schema = mechanism.schema
    names = list(file_columns(attribute, schema))
    found = lazy.collect_schema().names()
    if any(name not in found for name in names):
        raise ReportError(
            message(
                "data", f"must have the columns {', '.join(names[:4])}{', ...' * (len(names) > 4)}"
            )
        )
    try:
        if isinstance(schema, BitVector | DigitVector):
            if how:
                mechanism.tally_columns({}, None, **how)  # refuses what goes with tuples alone
            return _by_column(mechanism, schema, lazy, names).marked(simulated)
        return _by_report(mechanism, schema, attribute, lazy, names, how).marked(simulated)
    except ReportError as error:
        problem = ReportError(f"data: {error}")
    raise problem


def _by_report(
    mechanism: Mechanism,
    schema: ReportSchema,
    attribute: str,
    lazy: Any,
    names: list[str],
    how: Any,
) -> Tally:
    """One GROUP BY of whole reports."""
    arrays, seen = _groups(lazy, dict(zip(names, schema.file_columns().values(), strict=True)))
    columns = from_file(attribute, schema, arrays)
    schema.check(columns)
    return mechanism.tally_columns(columns, seen, **how)


def _by_column(
    mechanism: Mechanism, schema: BitVector | DigitVector, lazy: Any, names: list[str]
) -> Tally:
    """One GROUP BY for each column: hardly any two whole reports of many bits are equal."""
    histograms = []
    for name, size in zip(names, schema.file_columns().values(), strict=True):
        arrays, seen = _groups(lazy, {name: size})
        histograms.append(bins(arrays[name], size, seen))
    n = int(histograms[0].sum())
    if any(int(histogram.sum()) != n for histogram in histograms):
        raise ReportError(message("reports", "must be equally many in every column"))
    sort, counts = from_histograms(schema, histograms)
    if isinstance(schema, BitVector):
        everything = [(name, 255) for name in names]
        named = [
            (name, mask) for name, mask in zip(names, schema.exclusive_mask, strict=False) if mask
        ]
        if schema.ones is not None and _any(lazy, everything, lambda ones: ones != schema.ones):
            raise ReportError(message("reports", f"every report must have {schema.ones} bits set"))
        if named and _any(lazy, named, lambda ones: ones > 1):
            raise ReportError(
                message("reports", "at most one bit of a non-sensitive value may be set")
            )
    return Tally(mechanism.header, sort, counts, n)


def _groups(lazy: Any, sizes: Mapping[str, int]) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """The different rows of some columns, checked, and how often each occurs."""
    import narwhals.stable.v2 as nw

    names = list(sizes)
    groups = lazy.select(names).group_by(names).agg(nw.len().alias("seen")).collect()
    arrays = {}
    for name, size in sizes.items():
        series = groups[name]
        if not series.dtype.is_integer() or series.null_count():
            raise ReportError(
                message(name, "must be a column of integers without gaps", str(series.dtype))
            )
        if len(series) and (int(series.min()) < 0 or int(series.max()) >= size):
            raise ReportError(message(name, f"must lie in 0..{size - 1}"))
        arrays[name] = series.to_numpy().astype(smallest_dtype(size))
    seen = groups["seen"].to_numpy().astype(np.int64)
    if not seen.sum():
        raise EmptyError(message("data", "holds no reports"))
    return arrays, seen


def _any(lazy: Any, masks: Sequence[tuple[str, int]], wrong: Callable[[Any], Any]) -> bool:
    """Whether the number of bits that are set under the ``masks`` of byte columns is ``wrong`` in any row."""
    import narwhals.stable.v2 as nw

    terms = [
        nw.col(name).cast(nw.Int64) // 2**bit % 2
        for name, mask in masks
        for bit in range(8)
        if mask >> bit & 1
    ]
    while len(terms) > 1:  # in pairs: engines limit how deep a sum may be nested
        terms = [sum(terms[i + 1 : i + 2], terms[i]) for i in range(0, len(terms), 2)]
    ones = lazy.select(terms[0].alias("ones"))
    found = ones.filter(wrong(nw.col("ones"))).select(nw.len()).collect()
    return bool(found.item())
