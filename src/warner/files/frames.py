"""Data frames of any library, in and out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from warner._check import (
    ArgumentError,
    ArgumentTypeError,
    EmptyError,
    ReportError,
    kind,
    message,
)
from warner.files._format import file_columns, from_file, to_file
from warner.layout import smallest_dtype
from warner.mechanisms import Mechanism, from_header
from warner.reports import Reports
from warner.tally import Tally


def frame(columns: Mapping[str, Any], backend: str = "pyarrow") -> Any:
    """Columns as a data frame of the library ``backend``."""
    import narwhals.stable.v2 as nw

    try:
        return nw.from_dict(dict(columns), backend=cast(Any, backend)).to_native()
    except (ValueError, TypeError, ModuleNotFoundError):
        raise ArgumentError(message("backend", "must name an installed data frame library", repr(backend), "For example 'pyarrow'")) from None


def reports_frame(reports: Reports, backend: str = "pyarrow", attribute: str = "value") -> Any:
    """Reports as a data frame, with the columns of a report file."""
    layout = from_header(reports.header).layout
    return frame(to_file(attribute, layout, reports.columns), backend)


def tally_frame(mechanism: Mechanism, data: Any, attribute: str = "value", simulated: bool = False, **how: Any) -> Tally:
    """Count reports in a data frame of any library that Narwhals knows, eager or lazy, by its own GROUP BY.

    The frame has the columns of a report file for ``attribute``; ``how`` is what ``mechanism.tally`` takes, such as ``ways``.
    A frame does not know whether its reports are simulated: ``simulated`` says so.
    Raises ReportError for reports that ``mechanism`` cannot have sent.
    """
    import narwhals.stable.v2 as nw

    try:
        lazy = nw.from_native(data).lazy()
    except TypeError:
        raise ArgumentTypeError(message("data", "must be a data frame", kind(data))) from None
    layout = mechanism.layout
    names = list(file_columns(attribute, layout))
    found = lazy.collect_schema().names()
    if any(name not in found for name in names):
        raise ReportError(message("data", f"must have the columns {', '.join(names[:4])}{', ...' * (len(names) > 4)}"))
    groups = lazy.select(names).group_by(names).agg(nw.len().alias("seen")).collect()
    arrays = {}
    for name, size in zip(names, file_columns(attribute, layout).values(), strict=True):
        series = groups[name]
        if not series.dtype.is_integer() or series.null_count():
            raise ReportError(message(name, "must be a column of integers without gaps"))
        arrays[name] = series.to_numpy().astype(np.int64)
        if (arrays[name] < 0).any() or (arrays[name] >= size).any():
            raise ReportError(message(name, f"must lie in 0..{size - 1}"))
    seen = groups["seen"].to_numpy().astype(np.int64)
    if not seen.sum():
        raise EmptyError(message("data", "holds no reports"))
    typed = {name: a.astype(smallest_dtype(size)) for (name, size), a in zip(file_columns(attribute, layout).items(), arrays.values(), strict=True)}
    columns = from_file(attribute, layout, typed)
    layout.check(columns)
    return mechanism.counted(columns, seen, **how).marked(simulated)
