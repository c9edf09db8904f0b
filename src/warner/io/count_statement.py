"""One SQL statement that counts the reports in a table of a database or a warehouse.

Its result is a long table with the columns of :data:`COLUMNS` and one more for each public column.

- ``smokes, report, 1, north, 312``: 312 reports of smokes in north have the value 1. The part names
  the column of the reports, or all columns that are counted together.
- ``age, check: padding bits must be 0, 0, , 0``: no row breaks this rule.
- ``*, rows, 0, north, 700``: north has 700 rows.

A value is a number 0, 1, ..; of several columns its place in their table in C order. -1 stands for
rows without a report, and -2 for rows with whatever else is no report. So the result has no more
rows than there are values, and whoever reads it knows that every row was checked.

The statement is made once, as a tree of :mod:`sqlglot`, and written in the dialect of the database.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from math import prod
from typing import TYPE_CHECKING, Any

from warner._core.checks import show
from warner._core.errors import ArgumentError, MissingExtraError, message
from warner._core.foreign_tables import ColumnNames
from warner.io.frames import attribute_columns
from warner.io.grouped_frame import BEYOND, GAP
from warner.mechanisms import Mechanism
from warner.reports.bit_rules import BitRule
from warner.reports.schema import ReportSchema

if TYPE_CHECKING:
    from sqlglot import exp

DIALECTS = ("duckdb", "postgres", "spark", "bigquery", "snowflake")
COLUMNS = ("attribute", "part", "value", "reports")
EVERYTHING, ROWS = "*", "rows"  # attribute and part of the numbers of all rows
CHECK, BY = "check: ", "by_"
_CODES = "warner_codes"
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MOST_PARTS = 2**12  # SELECTs of one statement


def count_statement(
    mechanisms: Mapping[str, Mechanism],
    table: str,
    dialect: str,
    columns: Mapping[str, ColumnNames] | None = None,
    by: Sequence[str] = (),
) -> str:
    """The statement that counts the reports in a table.

    Args:
        mechanisms: {attribute: the mechanism that made its reports}.
        table: the name of the table, such as ``survey.reports``.
        dialect: one of ``duckdb``, ``postgres``, ``spark``, ``bigquery`` and ``snowflake``.
        columns: {attribute: its columns}: the column of a report of one number, the beginning of
            the names of several columns, or {part: column}. Left out, columns are named as in a
            report file: ``smokes_report``.
        by: the names of public columns of the table, for the counts of each group.

    Returns:
        One statement. :func:`warner.io.read_counts` reads its result.

    Raises:
        ArgumentError: an unknown dialect, a name that is no table's, an attribute that is not
            there, or reports that no GROUP BY of their columns counts.
        MissingExtraError: sqlglot is not installed.

    >>> from warner import Categorical, RandomizedResponse
    >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    >>> print(count_statement({"smokes": coin}, "reports", "duckdb").partition("UNION")[0])
    WITH "warner_codes" AS (
      SELECT
        CASE
          WHEN "smokes_report" IS NULL
          THEN -1
          WHEN "smokes_report" >= 0 AND "smokes_report" < 2
          THEN CASE
            WHEN CAST("smokes_report" AS BIGINT) = "smokes_report"
            THEN CAST("smokes_report" AS BIGINT)
            ELSE -2
          END
          ELSE -2
        END AS "c_0"
      FROM reports
    )
    SELECT
      '*' AS "attribute",
      'rows' AS "part",
      0 AS "value",
      COUNT(*) AS "reports"
    FROM "warner_codes"
    <BLANKLINE>
    """
    try:
        from sqlglot import TokenError, exp
    except ImportError:
        problem = MissingExtraError(
            message("sqlglot", "is not installed", None, 'pip install "warner[sql]"')
        )
    else:
        if dialect not in DIALECTS:
            rule = f"must be one of {', '.join(DIALECTS)}"
            raise ArgumentError(message("dialect", rule, show(dialect)))
        if not table.strip():
            rule, remedy = "must be the name of a table", "For example survey.reports"
            raise ArgumentError(message("table", rule, show(table), remedy))
        # What is no name of a table becomes one name in quotes, and no other SQL.
        place = exp.Table(this=exp.to_identifier(table, quoted=True))
        if ";" not in table:
            with suppress(TokenError):  # such as lake/*.parquet, where /* begins a comment
                place = exp.to_table(table, dialect=dialect)
        writer = _Writer(dialect, by)
        return writer.statement(mechanisms, place, stated_columns(mechanisms, columns))
    raise problem


def stated_columns(
    mechanisms: Mapping[str, Mechanism], columns: Mapping[str, ColumnNames] | None = None
) -> dict[str, dict[str, str]]:
    """The columns of each attribute in a table that is not at hand: {attribute: {part: column}}.

    Args:
        mechanisms, columns: as in :func:`count_statement`.

    Raises:
        ArgumentError: an attribute or a part that is not there.

    >>> from warner import Categorical, RandomizedResponse
    >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    >>> stated_columns({"smokes": coin}, {"smokes": "said"})
    {'smokes': {'report': 'said'}}
    """
    given = dict(columns or {})
    if unknown := [name for name in given if name not in mechanisms]:
        rule = f"must be of an attribute: {', '.join(mechanisms)}"
        raise ArgumentError(message("column", rule, show(unknown[0])))
    found = {}
    for name, mechanism in mechanisms.items():
        parts = list(mechanism.schema.file_columns())
        own, named = given.get(name), attribute_columns(name, mechanism)
        if isinstance(own, str):
            named = {p: f"{own}_{p}" for p in parts} if len(parts) > 1 else {parts[0]: own}
        elif own is not None:
            if unknown := [part for part in own if part not in named]:
                rule = f"must name the columns of the reports of {name!r}"
                raise ArgumentError(message("column", rule, show(unknown[0])))
            named |= own
        found[name] = named
    return found


def parts_of(attribute: str, schema: ReportSchema) -> list[list[str]]:
    """The columns of reports that are counted together, such as the seed and the bucket of a hash.

    Raises:
        ArgumentError: reports that no GROUP BY of their columns counts.
    """
    names = list(schema.file_columns())
    if not schema.group_bys:
        rule = "has reports that are counted by a program, and not by a GROUP BY of their columns"
        remedy = "Count them with 'warner tally', or with warner.spark.tally"
        raise ArgumentError(message(attribute, rule, None, remedy))
    return [names] if schema.group_bys == 1 else [[name] for name in names]


class _Writer:
    """Makes the statement in a dialect.

    Args:
        dialect: the dialect.
        by: the public columns.
    """

    def __init__(self, dialect: str, by: Sequence[str]) -> None:
        self._dialect, self._by = dialect, list(by)
        self._from = self._name(_CODES)

    def statement(
        self,
        mechanisms: Mapping[str, Mechanism],
        table: exp.Table,
        columns: Mapping[str, Mapping[str, str]],
    ) -> str:
        from sqlglot import exp

        codes: list[exp.Expr] = []
        counts = [self._count(EVERYTHING, ROWS, exp.Literal.number(0), grouped=False)]
        for attribute, mechanism in mechanisms.items():
            schema = mechanism.schema
            sizes, short = schema.file_columns(), {}
            for part, size in sizes.items():
                short[part] = f"c_{len(codes)}"
                codes.append(self._as(self._code(columns[attribute][part], size), short[part]))
            for parts in parts_of(attribute, schema):
                value = self._place([short[p] for p in parts], [sizes[p] for p in parts])
                counts.append(self._count(attribute, ",".join(parts), value))
            for rule in schema.row_rules:
                counts.append(self._check(attribute, rule, list(short.values())))
        if len(counts) > _MOST_PARTS:
            rule_ = f"would have {len(counts):,} parts, and {_MOST_PARTS:,} are allowed"
            raise ArgumentError(message("statement", rule_, None, "Count with 'warner tally'"))
        for name in self._by:
            text = exp.cast(self._column(name), exp.DataType.Type.VARCHAR)
            codes.append(self._as(text, f"{BY}{name}"))
        inner = exp.select(*codes).from_(table)
        whole = counts[0]
        for one in counts[1:]:
            whole = exp.union(whole, one, distinct=False)  # type: ignore[assignment]
        found: Any = whole.with_(self._from, as_=inner)
        return str(found.sql(dialect=self._dialect, pretty=True))

    def _name(self, name: str) -> exp.Identifier:
        """A name of our own, which is quoted."""
        from sqlglot import exp

        return exp.to_identifier(name, quoted=True)

    def _as(self, value: exp.Expr, name: str) -> exp.Expr:
        from sqlglot import exp

        return exp.alias_(value, self._name(name))

    def _own(self, name: str) -> exp.Column:
        from sqlglot import exp

        return exp.column(self._name(name))

    def _column(self, name: str) -> exp.Column:
        """A column of the table. Snowflake keeps plain names in upper case, unless quoted."""
        from sqlglot import exp

        quoted = self._dialect != "snowflake" or not _PLAIN.fullmatch(name)
        return exp.column(exp.to_identifier(name, quoted=quoted))

    def _code(self, name: str, size: int) -> Any:
        """A column as the numbers 0..size-1, GAP and BEYOND."""
        from sqlglot import exp

        def column() -> exp.Column:
            return self._column(name)

        def number() -> exp.Expr:
            return exp.cast(column(), exp.DataType.Type.BIGINT)

        beyond = _number(BEYOND)
        inside = exp.and_(
            exp.GTE(this=column(), expression=_number(0)),
            exp.LT(this=column(), expression=_number(size)),
        )
        # Only where it is inside: the cast of another number could fail.
        whole = exp.case().when(exp.EQ(this=number(), expression=column()), number()).else_(beyond)
        return (
            exp.case()
            .when(exp.Is(this=column(), expression=exp.null()), _number(GAP))
            .when(inside, whole)
            .else_(beyond.copy())
        )

    def _place(self, names: Sequence[str], sizes: Sequence[int]) -> exp.Expr:
        """The place of a tuple of codes in the table of all tuples, in C order."""
        from sqlglot import exp

        if len(names) == 1:
            return self._own(names[0])
        strides = [prod(sizes[i + 1 :]) for i in range(len(sizes))]
        terms = [
            exp.Mul(this=self._own(name), expression=_number(stride))
            for name, stride in zip(names, strides, strict=True)
        ]
        gap = exp.or_(*(exp.EQ(this=self._own(n), expression=_number(GAP)) for n in names))
        beyond = exp.or_(*(exp.EQ(this=self._own(n), expression=_number(BEYOND)) for n in names))
        return exp.case().when(gap, _number(GAP)).when(beyond, _number(BEYOND)).else_(_sum(terms))

    def _count(
        self, attribute: str, part: str, value: exp.Expr, grouped: bool = True
    ) -> exp.Select:
        """How many rows have each value, in each group."""
        from sqlglot import exp

        by = [self._own(f"{BY}{name}") for name in self._by]
        found = self._row(attribute, part, value, by, exp.Count(this=exp.Star()))
        keys = [*([value.copy()] if grouped else []), *(key.copy() for key in by)]
        return found.group_by(*keys) if keys else found

    def _check(self, attribute: str, rule: BitRule, names: Sequence[str]) -> exp.Select:
        """How many rows break a rule."""
        from sqlglot import exp

        def bit(name: str, mask: int) -> exp.Expr:
            some = exp.BitwiseAnd(this=self._own(name), expression=_number(mask))
            is_set = exp.NEQ(this=exp.paren(some), expression=_number(0))
            return exp.case().when(is_set, _number(1)).else_(_number(0))

        ones = _sum(
            [
                bit(names[i], 1 << b)
                for i, mask in rule.masks.items()
                for b in range(8)
                if mask >> b & 1
            ]
        )
        broken = exp.or_(
            exp.LT(this=exp.paren(ones), expression=_number(rule.least)),
            exp.GT(this=exp.paren(ones.copy()), expression=_number(rule.most)),
        )
        by = [exp.cast(exp.null(), exp.DataType.Type.VARCHAR) for _ in self._by]
        part = f"{CHECK}{rule.text}"
        count = exp.Count(this=exp.Star())
        return self._row(attribute, part, _number(0), by, count).where(broken)

    def _row(
        self,
        attribute: str,
        part: str,
        value: exp.Expr,
        by: Sequence[exp.Expr],
        count: exp.Expr,
    ) -> exp.Select:
        from sqlglot import exp

        values: Iterable[exp.Expr] = [
            self._as(exp.Literal.string(attribute), COLUMNS[0]),
            self._as(exp.Literal.string(part), COLUMNS[1]),
            self._as(value, COLUMNS[2]),
            *(self._as(key, f"{BY}{n}") for key, n in zip(by, self._by, strict=True)),
            self._as(count, COLUMNS[3]),
        ]
        return exp.select(*values).from_(exp.table_(self._from))


def _number(value: int) -> exp.Expr:
    from sqlglot import exp

    return exp.Literal.number(value)


def _sum(terms: Sequence[exp.Expr]) -> exp.Expr:
    """A sum, of pairs: databases limit how deep an expression may be nested."""
    from sqlglot import exp

    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return exp.Add(this=exp.paren(_sum(terms[:half])), expression=exp.paren(_sum(terms[half:])))
