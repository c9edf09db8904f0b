"""Public columns: facts about a person that travel beside the report, such as a ward or a week.

They are not protected. A column that is declared has a domain: listed labels, integers between
limits, or dates by day, week or month. A column that is given without a domain takes its values as
they are: texts, numbers such as the weights of a survey, booleans or days.
"""

from __future__ import annotations

import contextlib
import datetime
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from warner._core.checks import kind, legible, show
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    EmptyError,
    FileError,
    FrameWarning,
    MismatchError,
    SmallGroupWarning,
    ValuesError,
    WarnerError,
    warn,
)
from warner._core.foreign_tables import (
    categories_of,
    columns_of_frame,
    counting_of,
    in_order_of,
)
from warner._core.text import alike
from warner.domains import Categorical, Domain, Integers
from warner.domains.base import sequence
from warner.domains.interval import Dates

Value = str | int | float | bool
Key = tuple[Value, ...]

SMALLEST_GROUP = 10  # people: a smaller group can point at one of them

_KINDS: dict[str, type[Domain]] = {cls.kind: cls for cls in (Categorical, Integers, Dates)}
_ORDERED = (str, int, float, bool)
_RULE = "must be a text, a finite number, a boolean or a date"
OF_PANDAS = ("a pandas Period", "a pandas Interval")  # such as weeks, and what pd.cut makes
AS_TEXTS = "Convert the column to texts first: column.astype(str)"
_REMEDY = "Give every person a value, such as 'unknown' in a column of texts"


def domain_from_spec(spec: Any) -> Domain:
    """The domain of a public column from its JSON data.

    >>> domain_from_spec({"kind": "dates", "unit": "month"})
    Dates(unit='month')
    """
    name = spec.get("kind") if isinstance(spec, Mapping) else None
    if name not in _KINDS:
        rule = f"must be one of {', '.join(map(repr, _KINDS))}"
        raise ArgumentError("kind of a public column", rule, show(name))
    try:
        return _KINDS[name].from_spec(spec, domain_from_spec)
    except KeyError as error:
        rule = f"must have the entry {str(error.args[0])!r}"
        problem = ArgumentError(f"public column of kind {name!r}", rule)
    raise problem


def check_name(name: Any) -> str:
    """The name of a public column, refused where options or screens cannot show it."""
    if not isinstance(name, str):
        rule = "must be text"
        raise ArgumentTypeError("name of a public column", rule, kind(name))
    if not name.strip() or name != name.strip() or "," in name:
        rule = "must not be empty, begin or end with a space, or contain a comma"
        raise ArgumentError("name of a public column", rule, show(name))
    return legible("name of a public column", name)


@dataclass(frozen=True)
class PublicColumn:
    """The values of n people in a public column that is declared as Categorical, Integers or Dates.

    >>> from warner.domains.interval import Dates
    >>> PublicColumn(Dates("month"), ["2024-05-31"]).index.tolist()
    [24280]
    """

    domain: Domain
    values: Any

    def __post_init__(self) -> None:
        if getattr(self.domain, "kind", None) not in _KINDS:
            rule = f"must be one of {', '.join(each.__name__ for each in _KINDS.values())}"
            got = kind(self.domain)
            raise ArgumentTypeError("domain of a public column", rule, got)

    @property
    def index(self) -> np.ndarray:
        """The indices of the values, (n,)."""
        return self.domain.encode(self.values)


@dataclass(frozen=True, eq=False)
class ColumnsOfFile:
    """The public columns of a report file or frame, in whose order its reports are.

    ``remedy`` says where to take columns from. ``index`` has the indices (n,) of people's values.
    """

    source: str
    remedy: str
    domains: Mapping[str, Domain]
    index: Mapping[str, np.ndarray]

    def __getitem__(self, rows: slice) -> ColumnsOfFile:
        return replace(self, index={name: index[rows] for name, index in self.index.items()})

    def require(self, role: str, given: Mapping[str, Any]) -> None:
        """Refuse columns that are not in the order of the file, as far as its columns show it."""
        shown = {name: given[name] for name in self.domains if name in given}
        for name, column in shown.items():
            values = column.values if isinstance(column, PublicColumn) else column
            with contextlib.suppress(WarnerError):
                if np.array_equal(self.domains[name].encode(values), self.index[name]):
                    continue
            self._refuse(role, f"other values in column {name!r}")
        if len(shown) < len(given) and all(
            (self.index[n] == self.index[n][0]).all() for n in shown
        ):
            others = ", ".join(repr(name) for name in given if name not in shown)
            self._refuse(role, f"{others}, which the file does not have")

    def _refuse(self, role: str, got: str) -> NoReturn:
        rule = f"must be in the order of {self.source}, which is random and not that of the answers"
        remedy = (
            f"{self.remedy}, also beside columns that you compute from them. If the reports were "
            "written with keep_order=True, use mechanism.reports(reports.columns) as the reports"
        )
        raise ArgumentError(role, rule, got, remedy)


def domains_stated(path: str, stated: Any) -> dict[str, Domain]:
    """The public columns in the header of a file: [[name, spec], ..]; none where it states none."""
    columns: dict[str, Domain] = {}
    try:
        for name, spec in () if stated is None else stated:
            columns[check_name(name)] = domain_from_spec(spec)
        if len(columns) == len(stated or ()):
            return columns
    except (WarnerError, TypeError, ValueError):
        pass
    rule = "declares public columns that this version of warner cannot read"
    raise FileError(path, rule, None, "Use the version of warner that wrote the file")


def domain_of_categories(column: Any) -> Categorical | None:
    """The domain of a column of categories, or of its type; None where sorted values will do.

    >>> import pandas
    >>> domain_of_categories(pandas.Categorical(["after"], ["before", "after"]))
    Categorical(values=['before', 'after'])
    """
    labels = categories_of(column)
    if {type(label) for label in labels} not in ({str}, {int}) or labels == sorted(labels):
        # Columns of two tallies, whose categories are those that occur, then still add up.
        return None
    return Categorical(labels)


def require_domains(public: Any) -> dict[str, PublicColumn]:
    """The public columns of a file, which says the domain of each; {} for None."""
    columns = {} if public is None else columns_of_frame(public)
    rule = "must be a dict {name: PublicColumn}, because a file says which values a column can have"
    remedy = (
        "With a study, pass public=study.public_columns(columns). Without a study, make each "
        "column with warner.reports.public_columns.PublicColumn(domain, values)"
    )
    if not isinstance(columns, Mapping):
        raise ArgumentTypeError("public", rule, kind(public), remedy)
    for name, column in columns.items():
        if not isinstance(column, PublicColumn):
            got = f"{kind(column)} in column {name!r}"
            raise ArgumentTypeError("public", rule, got, remedy)
    return dict(columns)


@dataclass(frozen=True)
class Groups:
    """To which group each of n people belongs."""

    # None for a column without a domain, in the order of the keys
    columns: Mapping[str, Domain | None]
    keys: Sequence[Key]  # the values of each of G groups, all different
    place: np.ndarray  # (n,) the group of each person, in 0..G-1; every group occurs


def group_people(by: Any, n: int, index: Any = None) -> Groups:
    """The groups of n people, by their values in public columns, put in the order of an index.

    >>> groups = group_people({"ward": ["n", "s", "n"], "age": [1, 1, 2]}, 3)
    >>> groups.keys, groups.place.tolist()
    ([('n', 1), ('n', 2), ('s', 1)], [0, 2, 1])
    """
    if not isinstance(by, Mapping):
        rule, remedy = "must be a dict of public columns", 'For example {"ward": wards}'
        raise ArgumentTypeError("by", rule, kind(by), remedy)
    if not by:
        raise ArgumentError("by", "must name at least one public column")
    columns: dict[str, Domain | None] = {}
    codes: list[np.ndarray] = []
    labels: list[list[Value]] = []
    for name, given in by.items():
        where = f"by: column {check_name(name)!r}"
        domain = given.domain if isinstance(given, PublicColumn) else domain_of_categories(given)
        values = given.values if isinstance(given, PublicColumn) else given
        columns[name] = domain
        different, code = _coded(where, domain, in_order_of(index, values, where))
        if len(code) != n:
            rule = f"must have a value for each of {n} reports"
            remedy = (
                "Pass the values of the rows that were randomised, such as by=frame[[...]][mask]"
            )
            raise ArgumentError(where, rule, f"{len(code)} values", remedy)
        labels.append(different)
        codes.append(code)
    return groups_of_codes(columns, labels, codes)


def groups_of_codes(
    columns: Mapping[str, Domain | None],
    labels: Sequence[Sequence[Value]],
    codes: Sequence[np.ndarray],
) -> Groups:
    """The groups of n people whose values are numbered, (n,) codes for each column."""
    group = np.zeros(len(codes[0]), dtype=np.int64)
    used = np.zeros((1, 0), dtype=np.int64)  # the codes of each group so far
    for values, code in zip(labels, codes, strict=True):
        # Groups that do not occur are dropped after each column, so that numbers stay small.
        different, group = np.unique(group * len(values) + code, return_inverse=True)
        group = group.ravel()
        used = np.column_stack([used[different // len(values)], different % len(values)])
    keys = [
        tuple(values[i] for values, i in zip(labels, row, strict=True)) for row in used.tolist()
    ]
    return Groups(dict(columns), keys, group)


def _coded(where: str, domain: Domain | None, values: Any) -> tuple[list[Value], np.ndarray]:
    """The different values of a column in order, and the number of each person's value, (n,)."""
    try:
        given = _column(where, values)
        return _plain(given) if domain is None else _declared(domain, given)
    except ValuesError as error:
        noun, first = counting_of(values)
        problem = error.offset_by(f"{where}, {noun}", first)
    except EmptyError:
        return [], np.zeros(0, dtype=np.int64)
    raise problem


def _column(where: str, values: Any) -> Any:
    """A column as a sequence of values, of which each person has one."""
    shape = getattr(values, "shape", ())
    got = f"shape {shape}" if len(shape) > 1 else kind(values)
    with contextlib.suppress(ArgumentTypeError):  # it is about answers
        given = sequence(values)
        if not isinstance(given, np.ndarray) or given.ndim == 1:
            return given
    rule = "must be a list, an array or a column with one value for each person"
    raise ArgumentTypeError(where, rule, got)


def _declared(domain: Domain, values: Any) -> tuple[list[Value], np.ndarray]:
    """The same for a column with a domain."""
    different, code = np.unique(domain.encode(values), return_inverse=True)
    return domain.decode(different), code.ravel()


def _plain(given: Any) -> tuple[list[Value], np.ndarray]:
    """The same for a column without a domain."""
    if isinstance(given, np.ndarray) and given.dtype.kind in "iu":
        numbers, code = np.unique(given, return_inverse=True)
        return numbers.tolist(), code.ravel()
    days = Dates("day")
    if isinstance(given, np.ndarray) and given.dtype.kind == "M":
        index, code = np.unique(days.encode(given), return_inverse=True)
        return list(days.decode(index)), code.ravel()
    if isinstance(given, np.ndarray) and given.dtype.kind == "f":
        if not np.isfinite(given).all():
            # Frames turn integers with gaps into floats.
            first = int(np.argmin(np.isfinite(given)))
            got = "no value" if np.isnan(given[first]) else "infinity"
            raise ValuesError(first, _RULE, got, _REMEDY)
        floats, code = np.unique(given, return_inverse=True)
        return floats.tolist(), code.ravel()
    listed = given.tolist() if isinstance(given, np.ndarray) else list(given)
    for i, value in enumerate(listed):
        if type(value) in _ORDERED and (type(value) is not float or math.isfinite(value)):
            continue
        if isinstance(value, np.integer | np.bool_ | np.str_) and type(value.item()) in _ORDERED:
            listed[i] = value.item()
        elif isinstance(value, datetime.date | np.datetime64):
            listed[i] = days.decode(days.encode([value]))[0]
        elif isinstance(value, np.floating) and np.isfinite(value):
            listed[i] = float(value)
        else:
            if kind(value) in OF_PANDAS:
                raise ValuesError(i, _RULE, kind(value), AS_TEXTS)
            absent = value is None or (isinstance(value, float | np.floating) and np.isnan(value))
            raise ValuesError(i, _RULE, "no value" if absent else kind(value), _REMEDY)
    different = list(dict.fromkeys(listed))
    if len({type(value) for value in different}) > 1:
        odd = next(i for i, value in enumerate(listed) if type(value) is not type(listed[0]))
        rule = f"must be of the same type as the first value, {kind(listed[0])}"
        raise ValuesError(odd, rule, kind(listed[odd]), "Convert all values to text")
    ordered = sorted(different)
    table = {value: i for i, value in enumerate(ordered)}
    return ordered, np.fromiter(map(table.__getitem__, listed), np.int64, len(listed))


def secret_column(where: str, name: str, public: Iterable[str]) -> ArgumentError:
    """The error of a question that is named where public columns are.

    >>> str(secret_column("by", "smokes", ["ward"]))[:76]
    'by: must name public columns, not a question, whose answers are secret; got '
    """
    columns = ", ".join(public)
    there = f"The public columns are: {columns}. " if columns else ""
    joint = f"warner tally --ways 2, and warner estimate --joint {name},OTHER"
    remedy = f"{there}To learn how answers to two questions go together, run: {joint}"
    rule = "must name public columns, not a question, whose answers are secret"
    return ArgumentError(where, rule, show(name), remedy)


def order_of(columns: Mapping[str, Domain | None], keys: Sequence[Key]) -> np.ndarray:
    """The order (G,) in which groups are kept: by their first column, then by the next."""
    if not keys:
        return np.zeros(0, dtype=np.int64)
    ranks = []
    for axis, (name, domain) in enumerate(columns.items()):
        values = [key[axis] for key in keys]
        different, code = _coded(f"column {name!r}", domain, values)
        # A label such as a day stands for its week: values must be written as the domain does.
        if any(
            different[c] != v or type(different[c]) is not type(v)
            for c, v in zip(code.tolist(), values, strict=True)
        ):
            rule, remedy = (
                "has values in different forms",
                "Write all in the same form, such as text",
            )
            raise ArgumentTypeError(f"column {name!r}", rule, None, remedy)
        ranks.append(code)
    return np.lexsort(ranks[::-1])


def columns_of_both(
    ours: Mapping[str, Domain | None], theirs: Mapping[str, Domain | None]
) -> dict[str, Domain | None]:
    """The public columns of tallies that belong together, with the values that either declares.

    >>> one, two = (Categorical([f"2026-W{n}", f"2026-W{n + 1}"]) for n in (49, 50))
    >>> columns_of_both({"week": one}, {"week": two})
    {'week': Categorical(values=['2026-W49', '2026-W50', '2026-W51'])}
    """
    if list(ours) != list(theirs):
        by = [" and ".join(names) or "no column" for names in (ours, theirs)]
        got = f"one by {by[0]}, the other by {by[1]}"
        remedy = "Group both by the same columns"
        raise MismatchError("tallies", "are grouped by different columns", got, remedy)
    columns: dict[str, Domain | None] = {}
    for name, domain in ours.items():
        other = theirs[name]
        columns[name] = domain if domain == other else _domain_of_both(domain, other)
        if columns[name] is None and domain != other:
            rule = f"declare the public column {name!r} in different ways"
            remedy = (
                f"In both studies, write the values of {name!r} in the same order, with new values "
                "last, and count again"
            )
            raise MismatchError("tallies", rule, None, remedy)
    return columns


def _domain_of_both(one: Domain | None, other: Domain | None) -> Domain | None:
    """The values of two declarations of a column in the order of both; None where none is clear."""
    if isinstance(one, Integers) and isinstance(other, Integers):
        return Integers(min(one.low, other.low), max(one.high, other.high))
    if not isinstance(one, Categorical) or not isinstance(other, Categorical):
        return None
    shorter, longer = sorted((one.labels, other.labels), key=len)
    if len({type(label) for label in (*shorter, *longer)}) > 1:
        return None
    if longer[: len(shorter)] == shorter:
        return Categorical(longer)
    labels = list(dict.fromkeys([*shorter, *longer]))
    is_clear = all(_in_order(listed) == listed for listed in (shorter, longer))
    return Categorical(_in_order(labels)) if is_clear and alike(map(str, labels)) is None else None


def _in_order(labels: Sequence[Any]) -> list[Any]:
    """Labels of one type in order: texts by the alphabet, and numbers inside them by their size.

    >>> _in_order(["week 10", "week 9"])
    ['week 9', 'week 10']
    """
    return sorted(labels, key=_by_numbers_inside if isinstance(labels[0], str) else None)


def _by_numbers_inside(text: Any) -> tuple[list[tuple[str, int, str]], str]:
    """What a text is sorted by: its pieces, each with letters and the digits after them."""
    pieces = re.findall(r"([^0-9]*)([0-9]*)", text)
    sizes = [(letters, digits.lstrip("0")) for letters, digits in pieces]
    return [(letters, len(digits), digits) for letters, digits in sizes], text


def about_small_groups(sizes: Sequence[np.ndarray], smallest: int = SMALLEST_GROUP) -> str:
    """How many groups are so small that their public values can point at a person; "" for none.

    >>> about_small_groups([np.array([3, 40])])[:63]
    '1 of 2 groups has fewer than 10 reports, and the smallest has 3'
    """
    all_sizes = np.concatenate(sizes)
    few = int((all_sizes < smallest).sum())
    if not few:
        return ""
    groups = f"{len(all_sizes):,} group{'s' if len(all_sizes) > 1 else ''}"
    return (
        f"{few:,} of {groups} {'has' if few == 1 else 'have'} fewer than {smallest:,} reports, and "
        f"the smallest has {all_sizes.min():,}. Public columns are not protected, so somebody in a "
        "small group may be recognised. Group by fewer columns, or by coarser values."
    )


def about_alike_groups(columns: Iterable[str], keys: Sequence[Key]) -> str:
    """Which groups a reader takes for one, in words; "" for none.

    >>> about_alike_groups(["ward"], [("North",), ("North ",)])[:51]
    "Public column 'ward' has both 'North' and 'North '."
    """
    for i, name in enumerate(columns):
        values = [key[i] for key in keys]
        if pair := alike(value for value in values if isinstance(value, str)):
            return (
                f"Public column {name!r} has both {pair}. They are counted as two groups. If they "
                "are one group, write the same name in all rows, and count again."
            )
    return ""


def warn_of_groups(tally: Any) -> None:
    """Warn of groups of a tally that can point at a person, and of groups that look alike."""
    if text := about_small_groups([tally.sizes]):
        warn(text, SmallGroupWarning)
    if text := about_alike_groups(tally.columns, list(tally)):
        warn(text, FrameWarning)
