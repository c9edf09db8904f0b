"""Tables of tuples of reports: what every subset of w attributes needs, as one array of counts that adds up.

A table has one axis per attribute, as long as the attribute's channel has rows. A report that is a row counts in it once. A report of K
bits counts as K yes-or-no rows, bits set and bits not set, so a table of two such attributes holds the (2 K_1, 2 K_2) co-occurrences of
their bits. Tables stand one after the other, in the order of itertools.combinations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from math import prod
from typing import Any

import numpy as np

from warner._core.checks import integer, kind
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    message,
)
from warner.reports.schema import BitVector, DigitVector, ReportSchema
from warner.reports.tally import bins

LARGEST = 2**24  # counts in a tally of tuples
_BLOCK = 2**22  # elements of marks that are multiplied at a time
_MARKS = 2**28  # bytes of marks that are held at a time


def cells(parts: Mapping[str, ReportSchema], ways: int) -> int:
    """How many counts the tables of all subsets of ``ways`` attributes have: the elementary symmetric polynomial of their rows."""
    sums = [1] + [0] * ways
    for schema in parts.values():
        for k in range(ways, 0, -1):
            sums[k] += sums[k - 1] * schema.rows
    return sums[ways]


def affordable(parts: Mapping[str, ReportSchema], ways: int | None) -> int:
    """How many attributes to keep tables of: ``ways``, all for None; refused, with what fits, where that is too many counts."""
    most = len(parts)
    wanted = most if ways is None else integer("ways", ways, 1, most)
    needed = cells(parts, wanted)
    if needed <= LARGEST:
        return wanted
    fitting = [w for w in range(1, most + 1) if cells(parts, w) <= LARGEST]
    largest = max(parts, key=lambda name: parts[name].rows)
    remedy = (
        f"Tally with ways={' or '.join(map(str, fitting[-2:]))}"
        if fitting
        else f"Tally {largest!r} apart"
    )
    if parts[largest].rows > 2**12:
        remedy += f"; {largest!r} has {parts[largest].rows} different reports, which fewer seeds, cells or values would lessen"
    what = (
        f"tables of {wanted} of {most} attributes"
        if wanted < most
        else f"a table of all {most} attributes"
    )
    raise ArgumentError(
        message(
            "ways", f"{what} would have {needed:.3g} counts, more than {LARGEST}", str(ways), remedy
        )
    )


def tables(
    parts: Mapping[str, ReportSchema],
    columns: Mapping[str, Mapping[str, np.ndarray]],
    ways: int,
    seen: np.ndarray | None = None,
) -> np.ndarray:
    """The counts (cells,) of checked columns of every part, each person as often as ``seen`` (n,) says."""
    marked = sum(schema.rows for schema in parts.values() if not schema.rows_are_reports)
    n = len(next(iter(next(iter(columns.values())).values())))
    step = max(1, _MARKS // marked) if marked else n
    if n > step:
        total = np.zeros(cells(parts, ways), dtype=np.int64)
        for start in range(0, n, step):
            some = slice(start, start + step)
            part = {
                name: {column: array[some] for column, array in own.items()}
                for name, own in columns.items()
            }
            total += tables(parts, part, ways, None if seen is None else seen[some])
        return total
    held = {
        name: schema.indicators(columns[name])
        if isinstance(schema, BitVector | DigitVector)
        else schema.index(columns[name])
        for name, schema in parts.items()
    }
    found = [
        _table([parts[name] for name in names], [held[name] for name in names], seen).ravel()
        for names in combinations(parts, ways)
    ]
    return np.concatenate(found)


def _table(
    layouts: Sequence[ReportSchema], held: Sequence[np.ndarray], seen: np.ndarray | None
) -> np.ndarray:
    """Counts (rows_1, .., rows_w). Reports that are rows are numbered together; of people of one number, marks are multiplied."""
    is_enumerable = [i for i, schema in enumerate(layouts) if schema.rows_are_reports]
    marked = [i for i, schema in enumerate(layouts) if not schema.rows_are_reports]
    shape = [layouts[i].rows for i in is_enumerable]
    group = np.zeros(len(held[0]), dtype=np.intp)
    for i in is_enumerable:
        group = group * layouts[i].rows + held[i]
    if not marked:
        return bins(group, prod(shape), seen).reshape(shape)
    widths = [held[i].shape[1] for i in marked]
    total = np.zeros((prod(shape), prod(widths[:-1]), widths[-1]), dtype=np.int64)
    step = max(256, _BLOCK // max(total.shape[1:]))
    order = np.argsort(group, kind="stable") if is_enumerable else None
    group, *marks = [v if order is None else v[order] for v in (group, *(held[i] for i in marked))]
    if seen is not None and order is not None:
        seen = seen[order]
    # Sums of whole numbers far below 2^24, or 2^53 where people are weighted: exact.
    real = np.float32 if seen is None else np.float64
    edges = np.flatnonzero(np.diff(group, prepend=-1, append=-1))
    for start, stop in pairwise(edges):
        for first in range(start, stop, step):
            people = slice(first, min(first + step, stop))
            left = (
                np.ones((people.stop - first, 1), real)
                if seen is None
                else seen[people, None].astype(real)
            )
            for part in marks[:-1]:
                left = (left[:, :, None] * part[people, None, :]).reshape(len(left), -1)
            total[group[first]] += np.rint(left.T @ marks[-1][people].astype(real)).astype(np.int64)
    table = total.reshape(shape + widths)
    for axis in range(len(shape), table.ndim):
        if isinstance(layouts[marked[axis - len(shape)]], DigitVector):
            continue
        # Bits that are not set: everyone, less those who set them.
        bits, everyone = np.split(table, [table.shape[axis] - 1], axis=axis)
        table = np.concatenate([bits, everyone - bits], axis=axis)
    return np.ascontiguousarray(table.transpose(np.argsort([*is_enumerable, *marked])))


def named(names: Any, known: Sequence[str]) -> list[str]:
    """Attributes asked for, checked: known ones, each once, at least one."""
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise ArgumentTypeError(
            message(
                "attributes",
                "must be a list of names",
                kind(names),
                f"For example {list(known[:2])}",
            )
        )
    if not names or any(name not in known for name in names) or len(set(names)) < len(names):
        raise ArgumentError(
            message(
                "attributes",
                f"must be different names among {', '.join(known)}",
                ", ".join(map(repr, names)) or "none",
            )
        )
    return list(names)


def picked(
    parts: Mapping[str, ReportSchema], counts: np.ndarray, ways: int, wanted: Sequence[str]
) -> np.ndarray | None:
    """The table of ``wanted``, at most ``ways`` of them, its axes in their order; None where ``counts`` is not of these parts."""
    if ways > len(parts) or counts.shape != (cells(parts, ways),):
        return None
    start = 0
    for names in combinations(parts, ways):
        shape = [parts[name].rows for name in names]
        if set(wanted) <= set(names):
            break
        start += prod(shape)
    table = counts[start : start + prod(shape)].reshape(shape)
    others = tuple(i for i, name in enumerate(names) if name not in wanted)
    # Whoever reports bits of another attribute counts in as many of its rows.
    table = table.sum(axis=others) // prod(parts[names[i]].rows_per_report for i in others)
    left = [name for name in names if name in wanted]
    return table.transpose([left.index(name) for name in wanted])
