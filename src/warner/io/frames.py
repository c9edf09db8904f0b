"""Data frames of any library that Narwhals knows, in and out."""

from __future__ import annotations

from collections.abc import Mapping
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
from warner.io.file_columns import file_columns, from_file, to_file
from warner.mechanisms import Mechanism, from_header
from warner.reports.bit_rules import BitRule
from warner.reports.reports import Reports
from warner.reports.schema import smallest_dtype
from warner.reports.tally import Tally


def frame(columns: Mapping[str, Any], backend: str = "pyarrow") -> Any:
    """Columns as a data frame.

    Args:
        columns: {name: column, (n,)}.
        backend: the library of the frame, for example ``pyarrow``, ``pandas`` or ``polars``.

    Raises:
        ArgumentError: no such library is installed.
    """
    import narwhals.stable.v2 as nw

    try:
        return nw.from_dict(dict(columns), backend=cast(Any, backend)).to_native()
    except (ValueError, TypeError, ModuleNotFoundError):
        rule = "must name an installed data frame library"
        error = ArgumentError(message("backend", rule, repr(backend), "For example 'pyarrow'"))
    raise error


def reports_frame(reports: Reports, backend: str = "pyarrow", attribute: str = "value") -> Any:
    """Reports as a data frame with the columns of a report file.

    Args:
        reports: n reports.
        backend: the library of the frame.
        attribute: the name of the attribute, with which the names of columns begin.

    Raises:
        ArgumentError: no such library is installed.
    """
    schema = from_header(reports.header).schema
    return frame(to_file(attribute, schema, reports.columns), backend)


def tally_frame(
    mechanism: Mechanism,
    data: Any,
    attribute: str = "value",
    simulated: bool = False,
    ways: int | None = None,
) -> Tally:
    """Count the reports in a data frame by its own GROUP BY.

    Reports of bits or digits are counted column by column. Others are counted as whole reports.

    Args:
        mechanism: the mechanism that made the reports.
        data: a frame, eager or lazy, with the columns of a report file.
        attribute: the name of the attribute, with which the names of columns begin.
        simulated: whether the reports are a simulation, which a frame does not say.
        ways: of PerAttribute, how many attributes a marginal table has; None for all.

    Raises:
        ArgumentTypeError: no data frame.
        ArgumentError: ``ways`` for a mechanism of one attribute, or tables that would be too large.
        EmptyError: no reports.
        ReportError: a missing column, or reports that ``mechanism`` cannot have sent.
    """
    import narwhals.stable.v2 as nw

    try:
        lazy = nw.from_native(data).lazy()
    except TypeError:
        raise ArgumentTypeError(message("data", "must be a data frame", kind(data))) from None
    sizes = file_columns(attribute, mechanism.schema)
    names = list(sizes)
    found = lazy.collect_schema().names()
    if any(name not in found for name in names):
        rule = f"must have the columns {', '.join(names[:4])}{', ...' * (len(names) > 4)}"
        raise ReportError(message("data", rule))
    columns = _GroupedFrame(lazy)
    try:
        if mechanism.schema.group_bys and ways is None:
            counted = mechanism.schema.count_grouped(columns, names)
            return Tally(mechanism.header, *counted).marked(simulated)
        arrays, repeats = columns.groups(sizes)
        reports = from_file(attribute, mechanism.schema, arrays)
        mechanism.schema.check(reports)
        return mechanism.tally_columns(reports, repeats, ways).marked(simulated)
    except ReportError as error:
        problem = ReportError(f"data: {error}")
    raise problem


class _GroupedFrame:
    """The columns of a lazy Narwhals frame, counted by its library; see GroupedColumns."""

    def __init__(self, lazy: Any) -> None:
        self._lazy = lazy

    def groups(self, columns: Mapping[str, int]) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """The different rows of some columns, checked, (m,) each, and how often each occurs."""
        import narwhals.stable.v2 as nw

        names = list(columns)
        groups = self._lazy.select(names).group_by(names).agg(nw.len().alias("seen")).collect()
        arrays = {}
        for name, size in columns.items():
            series = groups[name]
            if not series.dtype.is_integer() or series.null_count():
                rule = "must be a column of integers without gaps"
                raise ReportError(message(name, rule, str(series.dtype)))
            if len(series) and (int(series.min()) < 0 or int(series.max()) >= size):
                raise ReportError(message(name, f"must lie in 0..{size - 1}"))
            arrays[name] = series.to_numpy().astype(smallest_dtype(size))
        repeats = groups["seen"].to_numpy().astype(np.int64)
        if not repeats.sum():
            raise EmptyError(message("data", "holds no reports"))
        return arrays, repeats

    def counts(self, columns: Mapping[str, int]) -> np.ndarray:
        arrays, repeats = self.groups(columns)
        table = np.zeros(tuple(columns.values()), dtype=np.int64)
        table[tuple(arrays[name].astype(np.intp) for name in columns)] = repeats
        return table

    def any_breaks(self, rule: BitRule, masks: Mapping[str, int]) -> bool:
        import narwhals.stable.v2 as nw

        terms = [
            nw.col(name).cast(nw.Int64) // 2**bit % 2
            for name, mask in masks.items()
            for bit in range(8)
            if mask >> bit & 1
        ]
        while len(terms) > 1:  # in pairs: engines limit how deep a sum may be nested
            terms = [sum(terms[i + 1 : i + 2], terms[i]) for i in range(0, len(terms), 2)]
        ones = self._lazy.select(terms[0].alias("ones"))
        broken = (nw.col("ones") < rule.least) | (nw.col("ones") > rule.most)
        return bool(ones.filter(broken).select(nw.len()).collect().item())
