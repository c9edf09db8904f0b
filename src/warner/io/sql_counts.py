"""One SQL statement that counts the reports in a table of a database or a warehouse.

Its result is a long table with the columns of :data:`COLUMNS` and one more for each public column.

- ``*, study 5f1d.., 0, , 0``: the mark, which says of which study the counts are. See
  :func:`mark_of`.
- ``*, rows, 0, north, 700``: north has 700 rows.
- ``smokes, report, 1, north, 312``: 312 reports of smokes in north have the value 1. The part names
  the column of the reports, or all columns that are counted together.
- ``age, check: padding bits must be 0, 0, north, 700``: 700 rows keep this rule. The value 1 stands
  for rows that break it.

A value is a number 0, 1, ..; of several columns its place in their table in C order. -1 stands for
rows without a report, and -2 for rows with whatever else is no report. So the result has no more
rows than there are values, and whoever reads it knows that every row was checked.

The statement is one GROUP BY of each column and each check, joined by UNION ALL. Databases with
GROUPING SETS count a number of columns while they read the table once. What databases write
differently stands in :data:`DIALECTS`; :mod:`sqlglot` quotes names and texts.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import itertools
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from math import inf, prod
from typing import Any, NamedTuple

import numpy as np

from warner._core.checks import show
from warner._core.errors import ArgumentError, EmptyError, FileError, MissingExtraError, ReportError
from warner._core.extras import pa
from warner._core.foreign_tables import ColumnNames
from warner._core.text import canonical
from warner.domains import Domain
from warner.io.counts_by_hand import CountsByHand, as_long, words_of
from warner.io.csv_format import as_utf8
from warner.io.frames import attribute_columns
from warner.io.public_values import groups_in, indices_of
from warner.io.read_answers import table_cells
from warner.mechanisms import Mechanism
from warner.reports.counting import require_room
from warner.reports.public_columns import Groups
from warner.reports.rules import BEYOND, GAP, BitRule, WholeNumbers
from warner.reports.source import Batch, By, Histograms, count
from warner.reports.tally import Tally

COLUMNS = ("attribute", "part", "value", "reports")
EVERYTHING, ROWS = "*", "rows"  # attribute and part of the numbers of all rows
CHECK, BY = "check: ", "by_"
STUDY, SIMULATED = "study ", "simulated study "  # how a mark begins
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class _Dialect:
    """How a database writes what databases write differently.

    Attributes:
        name: of the database.
        together: how many columns are counted while the table is read once, by GROUPING SETS. More
            than some thirty take as long as more readings: each set is a column of each row.
        integer: the type of 64 bits.
        text: the type of any text.
        ones: the number of ones of {x} under {m}.
        one_bit: whether ``ones`` is right for an {m} of one bit alone.
        guard: a condition on a column {x}, and AND: whether it holds a number.
        key: a column {x} of public values as text.
        shown: a key {x} in the result.
        fold: a name without quotes, as the database keeps it.
        quoted_as: the dialect whose names in quotes are used, where that is another one.
        most_characters: of a statement.
        most_selects: of a statement.
    """

    name: str
    together: int = 1
    integer: str = "BIGINT"
    text: str = "VARCHAR"
    ones: str = "BIT_COUNT({x} & {m})"
    one_bit: bool = False
    guard: str = ""
    key: str = "CAST({x} AS {text})"
    shown: str = "{x}"
    fold: Callable[[str], str] = str
    quoted_as: str | None = None
    most_characters: float = inf
    most_selects: float = inf

    def ones_of(self, name: str, mask: int) -> list[str]:
        """Expressions whose sum is the number of ones of a byte under a mask."""
        bits = [1 << bit for bit in range(8) if mask >> bit & 1]
        return [self.ones.format(x=name, m=m) for m in (bits if self.one_bit else [mask])]


_TOGETHER = 32
DIALECTS = {
    # A count of DuckDB is a byte: a sum of bytes would overflow.
    "duckdb": _Dialect("DuckDB", _TOGETHER, ones="CAST(BIT_COUNT({x} & {m}) AS BIGINT)"),
    "postgres": _Dialect(
        "PostgreSQL", _TOGETHER, ones="BIT_COUNT(CAST({x} & {m} AS BIT(8)))", fold=str.lower
    ),
    "spark": _Dialect("Spark", _TOGETHER, text="STRING"),
    "bigquery": _Dialect(
        "BigQuery", _TOGETHER, integer="INT64", text="STRING", most_characters=10**6
    ),
    "snowflake": _Dialect(
        "Snowflake",
        _TOGETHER,
        ones="SIGN(BITAND({x}, {m}))",
        one_bit=True,
        fold=str.upper,
        most_characters=10**6,
    ),
    # A name in double quotes that is no column is a text in SQLite, and a column may have been
    # declared to keep "North" and "north" for equal.
    "sqlite": _Dialect(
        "SQLite",
        integer="INTEGER",
        text="TEXT",
        ones="({x} & {m}) / {m}",
        one_bit=True,
        key="CAST({x} AS {text}) COLLATE BINARY",
        quoted_as="mysql",
        most_selects=500,
    ),
    # MySQL takes 'yes' for 0 as a number, and groups texts that differ in case, accents or spaces
    # at the end.
    "mysql": _Dialect(
        "MySQL",
        integer="SIGNED",
        text="CHAR",
        guard="CAST({x} AS CHAR) REGEXP '^[0-9]+([.]0*)?$' AND ",
        key="CAST(CAST({x} AS CHAR CHARACTER SET utf8mb4) AS BINARY)",
        shown="CONVERT({x} USING utf8mb4)",
    ),
    "trino": _Dialect(
        "Trino", ones="BIT_COUNT(BITWISE_AND({x}, {m}), 64)", fold=str.lower, most_characters=10**6
    ),
    "clickhouse": _Dialect(
        "ClickHouse",
        integer="Nullable(Int64)",
        text="Nullable(String)",
        ones="CAST(bitCount(bitAnd({x}, {m})) AS Nullable(Int64))",
        most_characters=2**18,
    ),
    # VARCHAR alone is 256 bytes, and a cast to it cuts off the others.
    "redshift": _Dialect(
        "Redshift", text="VARCHAR(65535)", ones="({x} & {m}) / {m}", one_bit=True, fold=str.lower
    ),
}


@dataclass(frozen=True)
class DbtMacro:
    """A macro for dbt in place of the name of a table: ``{{ NAME(ref('reports')) }}``.

    >>> DbtMacro("count reports")
    Traceback (most recent call last):
    warner._core.errors.ArgumentError: macro: must be letters, digits and _; got 'count reports'.
    """

    name: str

    def __post_init__(self) -> None:
        if not _PLAIN.fullmatch(self.name):
            raise ArgumentError("macro", "must be letters, digits and _", show(self.name))

    def of(self, statement: str) -> str:
        """The macro of a statement whose table is written as a NUL."""
        # A brace in a name would begin an expression, a comment or a command of Jinja.
        text = statement.replace("{", "{{ '{' }}").replace("\0", "{{ relation }}")
        return f"{{% macro {self.name}(relation) %}}\n{text}\n{{% endmacro %}}"


def mark_of(study: str, simulated: bool = False) -> str:
    """The part of the first row of a result, which says of which study the counts are.

    >>> mark_of("5f1d")[:12], mark_of("5f1d", simulated=True)[:22]
    ('study 59be61', 'simulated study 639643')
    """
    # The digits of simulated and real reports differ, so a simulation does not become real where
    # one word is deleted.
    text = canonical(["warner-counts", study, *(["simulated"] if simulated else [])])
    return (SIMULATED if simulated else STUDY) + hashlib.sha256(text.encode()).hexdigest()


def count_statement(
    mechanisms: Mapping[str, Mechanism],
    table: str | DbtMacro,
    dialect: str,
    columns: Mapping[str, ColumnNames] | None = None,
    by: Sequence[str] = (),
    *,
    study: str,
    simulated: bool = False,
) -> str:
    """The statement that counts the reports in a table.

    Args:
        mechanisms: {attribute: the mechanism that made its reports}.
        table: the name of the table, such as ``survey.reports``, or the macro for dbt that is
            called with a table.
        dialect: one of :data:`DIALECTS`. ``mysql`` is for MariaDB too.
        columns: {attribute: its columns}: the column of a report of one number, the beginning of
            the names of several columns, or {part: column}. Left out, columns are named as in a
            report file: ``smokes_report``.
        by: the names of public columns of the table, for the counts of each group.
        study: the digest of the study, which the result states.
        simulated: whether the reports are simulated, which the result states too.

    Returns:
        One statement, or the macro that makes it. :func:`warner.io.read_counts` reads its result.

    Raises:
        ArgumentError: an unknown dialect, a name that is no table's, an attribute that is not
            there, or reports that no GROUP BY of their columns counts; or a statement that is too
            large for the database.
        MissingExtraError: sqlglot is not installed.

    >>> from warner import Categorical, RandomizedResponse
    >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    >>> text = count_statement({"smokes": coin}, "reports", "duckdb", study="5f1d")
    >>> print("\\n".join(line[:60] for line in text.splitlines()))
    SELECT '*' AS "attribute", 'study 59be61273c7daa6600a392fdcb
    UNION ALL
    SELECT '*', 'rows', CAST(0 AS BIGINT), COUNT(*)
    FROM "reports"
    UNION ALL
    SELECT 'smokes', 'report', "warner_value_0", COUNT(*)
    FROM (
    SELECT
    "warner_0" AS "warner_value_0"
    FROM (
    SELECT
    CASE WHEN "smokes_report" IS NULL THEN -1 WHEN "smokes_repor
    FROM "reports"
    ) AS warner_codes
    ) AS warner_values
    GROUP BY "warner_value_0"
    """
    if dialect not in DIALECTS:
        raise ArgumentError("dialect", f"must be one of {', '.join(DIALECTS)}", show(dialect))
    macro = table if isinstance(table, DbtMacro) else None
    try:
        target = "\0" if isinstance(table, DbtMacro) else _table(table, dialect)
        writer = _Writer(dialect, by, mark_of(study, simulated))
    except ImportError:
        problem = MissingExtraError(
            "sqlglot", "is not installed", None, 'pip install "warner[sql]"'
        )
    else:
        if target is None:
            rule, remedy = "must be the name of a table", "For example survey.reports"
            raise ArgumentError("table", rule, show(table), remedy)
        text = writer.statement(mechanisms, target, stated_columns(mechanisms, columns))
        return macro.of(text) if macro else text
    raise problem


def _table(text: str, dialect: str) -> str | None:
    """The table of a name, such as ``survey.reports``; None for a blank one."""
    from sqlglot import errors, exp

    if not text.strip():
        return None
    try:
        parsed = exp.to_table(text, dialect=dialect)
    except errors.SqlglotError:
        parsed = exp.Table()
    names = parsed.parts if isinstance(parsed, exp.Table) else []
    if not names or not all(isinstance(name, exp.Identifier) for name in names):
        # What is no name becomes one name in quotes, and no other SQL. DuckDB reads such a name as
        # files where it is a pattern: lake/*.parquet.
        parsed, names = exp.Table(this=exp.to_identifier(text, quoted=True)), []
    for name in names:
        # Plain names are quoted as the database keeps them: they may be reserved words.
        if not name.args.get("quoted"):
            name.set("this", DIALECTS[dialect].fold(name.name))
            name.set("quoted", True)
    return parsed.sql(dialect=DIALECTS[dialect].quoted_as or dialect)


def stated_columns(
    mechanisms: Mapping[str, Mechanism], columns: Mapping[str, ColumnNames] | None = None
) -> dict[str, dict[str, str]]:
    """The columns of each attribute in a table that is not at hand: {attribute: {part: column}}.

    >>> from warner import Categorical, RandomizedResponse
    >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    >>> stated_columns({"smokes": coin}, {"smokes": "said"})
    {'smokes': {'report': 'said'}}
    """
    given = dict(columns or {})
    if unknown := [name for name in given if name not in mechanisms]:
        rule = f"must be of an attribute: {', '.join(mechanisms)}"
        raise ArgumentError("column", rule, show(unknown[0]))
    stated = {}
    for name, mechanism in mechanisms.items():
        parts = list(mechanism.schema.file_columns())
        choice, named = given.get(name), attribute_columns(name, mechanism)
        if isinstance(choice, str):
            named = {p: f"{choice}_{p}" for p in parts} if len(parts) > 1 else {parts[0]: choice}
        elif choice is not None:
            if unknown := [end for end in choice if end not in named]:
                rule = f"must name the columns of the reports of {name!r}"
                raise ArgumentError("column", rule, show(unknown[0]))
            named |= choice
        stated[name] = named
    return stated


def parts_of(attribute: str, mechanism: Mechanism) -> list[list[str]]:
    """The columns of reports that are counted together, such as seed and bucket of a hash."""
    schema = mechanism.schema
    names = list(schema.file_columns())
    if not schema.group_bys:
        rule = f"has reports of {mechanism.header['mechanism']} that no GROUP BY of columns counts"
        remedy = (
            "Export the reports as Parquet and count them with 'warner tally', or use "
            "warner.spark.tally. Where a study has other attributes, they can be counted here by a "
            "copy of the study file without this one"
        )
        raise ArgumentError(attribute, rule, None, remedy)
    return [names] if schema.group_bys == 1 else [[name] for name in names]


class _Count(NamedTuple):
    """One GROUP BY of a statement: ``value`` is an expression in the names of ``codes``.

    ``codes`` are the columns that it needs, as codes: {name: expression}.
    """

    attribute: str
    part: str
    value: str
    codes: Mapping[str, str]


class _Writer:
    """Makes the statement in a dialect; ``mark`` says of which study the counts are."""

    def __init__(self, dialect: str, by: Sequence[str], mark: str) -> None:
        self._sqlglot, self._dialect, self._mark = dialect, DIALECTS[dialect], mark
        self._keys = {
            self._name(f"{BY}{name}"): self._dialect.key.format(
                x=self._column(name), text=self._dialect.text
            )
            for name in by
        }

    def statement(
        self,
        mechanisms: Mapping[str, Mechanism],
        table: str,
        columns: Mapping[str, Mapping[str, str]],
    ) -> str:
        counts: list[_Count] = []
        numbered = (self._name(f"warner_{i}") for i in itertools.count())
        for attribute, mechanism in mechanisms.items():
            schema = mechanism.schema
            sizes = schema.file_columns()
            short = dict(zip(sizes, numbered, strict=False))
            codes = {
                short[end]: WholeNumbers(size).sql(
                    self._column(columns[attribute][end]),
                    self._dialect.integer,
                    self._dialect.guard,
                )
                for end, size in sizes.items()
            }
            for parts in parts_of(attribute, mechanism):
                value = _place([short[p] for p in parts], [sizes[p] for p in parts])
                used = {short[p]: codes[short[p]] for p in parts}
                counts.append(_Count(attribute, ",".join(parts), value, used))
            for rule in schema.row_rules:
                names = list(short.values())
                used = {names[i]: codes[names[i]] for i in sorted(rule.positions)}
                counts.append(_Count(attribute, _check(rule), self._broken(rule, names), used))
        together = self._dialect.together
        selects = [
            self._mark_and_rows(table),
            *(
                self._counted(counts[i : i + together], table)
                for i in range(0, len(counts), together)
            ),
        ]
        text = "\nUNION ALL\n".join(selects)
        self._require_room(len(selects) + 1, len(text))
        return text

    def _require_room(self, selects: int, characters: int) -> None:
        """Refuse a statement that the database does not take."""
        dialect = self._dialect
        for got, most, unit in (
            (characters, dialect.most_characters, "characters"),
            (selects, dialect.most_selects, "SELECTs"),
        ):
            if got > most:
                rule = f"would have {got:,} {unit}, and {dialect.name} takes {most:,}"
                remedy = "Export the reports as Parquet, and count the files with 'warner tally'"
                raise ArgumentError("statement", rule, None, remedy)

    def _mark_and_rows(self, table: str) -> str:
        """The SELECTs of the mark and of the number of rows."""
        everything, zero = self._literal(EVERYTHING), self._cast("0")
        nulls = [f"CAST(NULL AS {self._dialect.text})"] * len(self._keys)
        mark = [everything, self._literal(self._mark), zero, *nulls, zero]
        names = [*map(self._name, COLUMNS[:3]), *self._keys, self._name(COLUMNS[3])]
        named = ", ".join(f"{text} AS {name}" for text, name in zip(mark, names, strict=True))
        rows = self._select([everything, self._literal(ROWS), zero])
        # Without public columns this is the number of rows alone, which most databases know.
        keys = [f"{text} AS {key}" for key, text in self._keys.items()]
        source = f"(SELECT {', '.join(keys)} FROM {table}) AS warner_rows" if keys else table
        grouped = f"\nGROUP BY {', '.join(self._keys)}" if keys else ""
        return f"SELECT {named}\nUNION ALL\n{rows}\nFROM {source}{grouped}"

    def _counted(self, counts: Sequence[_Count], table: str) -> str:
        """The SELECT of some counts, which reads the table once."""
        keys = list(self._keys)
        codes = {name: code for count in counts for name, code in count.codes.items()}
        inner = [f"{text} AS {name}" for name, text in [*codes.items(), *self._keys.items()]]
        names = [self._name(f"warner_value_{i}") for i in range(len(counts))]
        values = [f"{c.value} AS {name}" for c, name in zip(counts, names, strict=True)]
        sets = [", ".join([name, *keys]) for name in names]
        chosen = [
            self._chosen(names, [count.attribute for count in counts]),
            self._chosen(names, [count.part for count in counts]),
        ]
        if len(counts) == 1:
            value, grouped = names[0], sets[0]
        else:
            # No code is NULL: in each set one name alone is not.
            value = f"COALESCE({', '.join(names)})"
            grouped = f"GROUPING SETS (({'), ('.join(sets)}))"
        lines = ",\n".join
        return (
            f"{self._select([*chosen, value])}\nFROM (\nSELECT\n{lines([*values, *keys])}"
            f"\nFROM (\nSELECT\n{lines(inner)}\nFROM {table}\n) AS warner_codes\n"
            f") AS warner_values\nGROUP BY {grouped}"
        )

    def _select(self, columns: Sequence[str]) -> str:
        shown = [self._dialect.shown.format(x=key) for key in self._keys]
        return f"SELECT {', '.join([*columns, *shown, 'COUNT(*)'])}"

    def _chosen(self, names: Sequence[str], texts: Sequence[str]) -> str:
        """The text of the name that is not NULL."""
        literals = [self._literal(text) for text in texts]
        if len(set(literals)) == 1:
            return literals[0]
        cases = (f"WHEN {n} IS NOT NULL THEN {t}" for n, t in zip(names, literals, strict=True))
        return f"CASE {' '.join(cases)} END"

    def _name(self, name: str) -> str:
        """A name in quotes."""
        from sqlglot import exp

        return exp.to_identifier(name, quoted=True).sql(
            dialect=self._dialect.quoted_as or self._sqlglot
        )

    def _literal(self, text: str) -> str:
        from sqlglot import exp

        return exp.Literal.string(text).sql(dialect=self._sqlglot)

    def _cast(self, value: str) -> str:
        return f"CAST({value} AS {self._dialect.integer})"

    def _column(self, name: str) -> str:
        """A column of the table."""
        # Snowflake keeps plain names in upper case; one in double quotes is taken as it is.
        if self._sqlglot == "snowflake":
            if len(name) > 2 and name[0] == name[-1] == '"':
                name = name[1:-1]
            elif _PLAIN.fullmatch(name):
                name = self._dialect.fold(name)
        return self._name(name)

    def _broken(self, rule: BitRule, names: Sequence[str]) -> str:
        """1 for a row that breaks a rule, and else 0."""
        ones = _sum(
            [
                one if times == 1 else f"{times} * {one}"
                for i, mask, times in rule.terms
                for one in self._dialect.ones_of(names[i], mask)
            ]
        )
        holds = f"{ones} BETWEEN {rule.least} AND {rule.most}"
        return self._cast(f"CASE WHEN {holds} THEN 0 ELSE 1 END")


def _place(names: Sequence[str], sizes: Sequence[int]) -> str:
    """The place of a tuple of codes in the table of all tuples, in C order."""
    if len(names) == 1:
        return names[0]
    strides = [prod(sizes[i + 1 :]) for i in range(len(sizes))]
    number = _sum([f"{name} * {stride}" for name, stride in zip(names, strides, strict=True)])
    cases = [
        f"WHEN {' OR '.join(f'{name} = {code}' for name in names)} THEN {code}"
        for code in (GAP, BEYOND)
    ]
    return f"CASE {' '.join(cases)} ELSE {number} END"


def _sum(terms: Sequence[str]) -> str:
    """A sum, of pairs: databases limit how deep an expression may be nested."""
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return f"({_sum(terms[:half])} + {_sum(terms[half:])})"


# -----------------------------------------------------------------------------------------------
# The result of a counting statement, as a database exports it, and the tallies that it holds.
#
# Counts come in many spellings: ``12``, ``12.0``, ``1.2E+1``. Names of columns may be in capitals.
# Command lines of databases print lines before the names and behind the last count, which are left
# out. The mark says of which study the statement was made, and whether that was of simulated
# reports. What the file does not say: which mechanism made the reports in the table.


_DELIMITERS = ",;\t|"
_WHOLE = re.compile(r"[+-]?[0-9]+([.][0-9]*)?([eE][+-]?[0-9]{1,2})?")
_LARGEST = 2**63
_AS_CSV = "Export CSV, for example with psql --csv or duckdb -csv"
_WHOLE_RESULT = "Export the whole result of the statement; bq prints 100 rows without --max_rows"
_OF_THE_STUDY = "Use the study file that the statement was printed from"
_BEFORE = 50  # lines that a command line may print before the names
_BEGIN = 2**10
_EXCEL = b"PK\x03\x04"
_OTHERS = {
    b"\x1f\x8b": ("is compressed by gzip", "Unpack it with gunzip"),
    b"PAR1": ("is a Parquet file, and no result of a statement as CSV", _AS_CSV),
}
# How many rows there are, as psql, snowsql and spark-sql say it behind the last one.
_SUMMARY = re.compile(
    r"\(?[0-9,]+ rows?\)?|[0-9,]+ Row\(s\) produced.*|Time( taken|:| Elapsed).*", re.I
)
_NULLS = ("", "\\N", "NULL", "null", "None")


class _Row(NamedTuple):
    """A row of the table: its line in the file, and its entries."""

    line: int
    attribute: str
    part: str
    value: int
    reports: int
    key: tuple[str, ...]


class CountsTable:
    """The counts that a counting statement gave. Made by :func:`read_counts`.

    Attributes:
        path: the file.
        by: the public columns by which the reports are grouped.
    """

    by_hand = False

    def __init__(self, path: str, by: tuple[str, ...], rows: list[_Row]) -> None:
        self.path, self.by = path, by
        self._rows: dict[tuple[str, str], list[_Row]] = {}
        seen = set()
        for row in rows:
            same = row[1:4] + row[5:]
            if same in seen:
                raise self._wrong(row, "holds a count twice", "Export the result once")
            seen.add(same)
            self._rows.setdefault((row.attribute, row.part), []).append(row)

    def simulated(self, study: str) -> bool:
        """Whether the statement was made for simulated reports of a study.

        Args:
            study: the digest of the study.

        Raises:
            FileError: no mark, several, or that of another study.
        """
        marks = {name: rows[0] for (a, name), rows in self._rows.items() if _is_mark(a, name)}
        if not marks:
            rule = "does not name its study"
            remedy = f"{_WHOLE_RESULT}. Run a statement of this version of 'warner sql'"
            raise FileError(self.path, rule, None, remedy)
        expected = {mark_of(study, simulated): simulated for simulated in (False, True)}
        for mark, row in marks.items():
            if mark not in expected or len(marks) > 1:
                rule = "is of another study, of another version of it, or was altered"
                raise self._wrong(row, rule, _OF_THE_STUDY)
        return expected[next(iter(marks))]

    def _wrong(self, row: _Row, rule: str, remedy: str | None = None) -> FileError:
        return FileError(f"{self.path}: line {row.line}", rule, None, remedy)

    def tallies(
        self, mechanisms: Mapping[str, Mechanism], public: Mapping[str, Domain], study: str
    ) -> dict[str, Tally]:
        """The tallies of all attributes.

        Args:
            mechanisms: {attribute: the mechanism that made its reports}.
            public: {name: domain} of the public columns that may group the reports.
            study: the digest of the study that says all this.

        Returns:
            {attribute: Tally}, of groups where the statement had public columns. They are marked as
            simulated where the statement says so.

        Raises:
            ArgumentError: a public column that is not declared.
            EmptyError: no reports.
            FileError: another study; counts that are missing, or that do not add up to the number
                of rows.
            ReportError: rows without a report, with a value that is none, or that break a rule.
        """
        simulated = self.simulated(study)
        # A warehouse may write names in capitals.
        spelt = {name.casefold(): name for name in public}
        if unknown := [name for name in self.by if name.casefold() not in spelt]:
            rule = f"is grouped by {show(unknown[0])}, which the study does not declare"
            raise ArgumentError(self.path, rule, None, "Declare it: [public.NAME]")
        counted = {(a, ",".join(p)) for a, m in mechanisms.items() for p in parts_of(a, m)}
        counted |= {(a, _check(r)) for a, m in mechanisms.items() for r in m.schema.row_rules}
        for (attribute, name), rows in self._rows.items():
            if (attribute, name) not in counted | {(EVERYTHING, ROWS)} and not _is_mark(
                attribute, name
            ):
                rule = f"counts {show(name)} of {show(attribute)}, which the study does not have"
                raise self._wrong(rows[0], rule, _OF_THE_STUDY)
        if not sum(row.reports for rows in self._rows.values() for row in rows):
            rule, remedy = "holds no reports: the table has no rows", "Was it the right table?"
            raise EmptyError(self.path, rule, None, remedy)
        everything = self._part(EVERYTHING, ROWS)
        groups, group_of = self._groups(
            everything,
            {name: public[name] for name in (spelt[name.casefold()] for name in self.by)},
        )
        sizes = np.zeros(len(groups.keys) if groups else 1, dtype=np.int64)
        for row in everything:
            sizes[group_of[row.key]] += row.reports
        tallies: dict[str, Tally] = {}
        for attribute, mechanism in mechanisms.items():
            names = list(mechanism.schema.file_columns())
            source = _Counts(self, attribute, names, groups, group_of, sizes)
            tallies |= count({attribute: mechanism}, source)
        return {name: tally.marked(simulated) for name, tally in tallies.items()}

    def _part(self, attribute: str, name: str) -> list[_Row]:
        """The rows of a part."""
        rows = self._rows.get((attribute, name))
        if rows is None:
            rule = f"lacks the counts of {show(name)} of {show(attribute)}"
            raise FileError(self.path, rule, None, _WHOLE_RESULT)
        return rows

    def _groups(
        self, rows: list[_Row], by: Mapping[str, Domain]
    ) -> tuple[Groups | None, dict[tuple[str, ...], int]]:
        """The groups of people, and the place of each tuple of public values as it is written."""

        if not by:
            return None, {(): 0}
        keys = list(dict.fromkeys(row.key for row in rows if row.reports))
        indices = {}
        for i, (name, domain) in enumerate(by.items()):
            texts = [
                None if key[i] in _NULLS and not _has(domain, key[i]) else key[i] for key in keys
            ]
            if None in texts:
                rule = f"column {name!r} has rows without a value"
                raise ReportError(self.path, rule, None, "Leave them out of the table")
            column = pa.array(texts, pa.string())
            indices[name] = indices_of(
                self.path, name, domain, column, rule="holds values that the study does not declare"
            )
        groups = groups_in(by, indices)
        return groups, dict(zip(keys, groups.place.tolist(), strict=True))

    def codes(
        self, attribute: str, name: str, group_of: Mapping[tuple[str, ...], int], values: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The group, the value and the number of reports of each row of a part, (m,) each."""
        rows = self._part(attribute, name)
        where = f"{self.path}: {attribute}: {name}"
        for code, rule in (
            (GAP, "has rows without a report"),
            (BEYOND, f"must lie in 0..{values - 1}"),
        ):
            if wrong := sum(row.reports for row in rows if row.value == code):
                raise ReportError(where, rule, f"{wrong:,} such rows")
        for row in rows:
            if not 0 <= row.value < values:
                raise self._wrong(row, f"value must lie in 0..{values - 1}")
            if row.key not in group_of and row.reports:
                raise self._wrong(row, "counts a group that the rows of the table do not have")
        some = [row for row in rows if row.reports]
        return (
            np.array([group_of[row.key] for row in some], dtype=np.int64),
            np.array([row.value for row in some], dtype=np.int64),
            np.array([row.reports for row in some], dtype=np.int64),
        )

    def broken(
        self, attribute: str, rule: BitRule, group_of: Mapping[Any, int], sizes: np.ndarray
    ) -> int:
        """How many rows break a rule, by the statement, which has checked every row."""
        group, broken, reports = self.codes(attribute, _check(rule), group_of, 2)
        self.require_all(attribute, _check(rule), np.bincount(group, reports, len(sizes)), sizes)
        return int(reports[broken == 1].sum())

    def require_all(
        self, attribute: str, name: str, counted: np.ndarray, sizes: np.ndarray
    ) -> None:
        """Refuse counts of other numbers of rows than the table has."""
        if (counted != sizes).any():
            some, all_rows = int(counted.sum()), int(sizes.sum())
            rule = f"counts {some:,} reports, and the table has {all_rows:,} rows"
            if some == all_rows:
                rule = f"counts {some:,} reports, but some in other groups than the rows are"
            where = f"{self.path}: {attribute}: {name}"
            raise FileError(where, rule, None, _WHOLE_RESULT)


def _has(domain: Domain, text: str) -> bool:
    """Whether a text is a declared label, such as NULL."""
    return text in domain.spec().get("values", [])


def _is_mark(attribute: str, name: str) -> bool:
    """Whether a row says of which study the counts are."""
    return attribute == EVERYTHING and name.startswith((STUDY, SIMULATED))


def _check(rule: BitRule) -> str:
    """The part that checks a rule."""
    return f"{CHECK}{rule.text}"


@dataclass(frozen=True)
class _Counts:
    """The counts of one attribute, which are histograms already; see ReportSource."""

    table: CountsTable
    attribute: str
    columns: list[str]
    people: Groups | None
    group_of: Mapping[Any, int]
    sizes: np.ndarray

    n = None

    def histograms(self, by: By) -> Histograms:
        return self

    def names(self, attribute: str) -> Sequence[str]:
        return self.columns

    def groups(self) -> Groups | None:
        return self.people

    def counts(self, columns: Mapping[str, int]) -> np.ndarray:
        values, groups = prod(columns.values()), len(self.sizes)
        require_room(groups, values)
        name = ",".join(columns)
        group, code, reports = self.table.codes(self.attribute, name, self.group_of, values)
        table = np.zeros((groups, values), dtype=np.int64)
        np.add.at(table, (group, code), reports)
        self.table.require_all(self.attribute, name, table.sum(axis=1), self.sizes)
        return table.reshape(groups, *columns.values())

    def any_breaks(self, rule: BitRule, names: Sequence[str]) -> bool:
        broken = self.table.broken(self.attribute, rule, self.group_of, self.sizes)
        if broken:
            where = f"{self.table.path}: {self.attribute}"
            raise ReportError(where, rule.text, f"{broken:,} other rows", rule.remedy)
        return False

    def batches(self, by: By) -> Iterator[Batch]:
        raise NotImplementedError

    def locate(self, error: ReportError) -> Exception:
        # Rules of one column are checked by code that knows no file.
        text = str(error).removeprefix("reports: ")
        is_here = text == str(error)
        return ReportError(text if is_here else f"{self.table.path}: {self.attribute}: {text}")


def read_counts(path: str, mechanisms: Iterable[Mechanism] = ()) -> CountsTable | CountsByHand:
    """Read the result of a counting statement, or counts by hand.

    Args:
        path: a CSV file with a line of names, as a database or a warehouse exports it or as people
            write it, or ``-`` for standard input; the cells are separated by commas, semicolons,
            tabs or bars. Counts by hand may be in an Excel file.
        mechanisms: for whose words of reports counts by hand may have a column each.

    Raises:
        FileError: another table, or a number that is no count, by its line.
    """
    words = words_of(mechanisms)
    if path != "-" and _begin(path).startswith(_EXCEL):
        excel = as_long(path, *table_cells(path), words)
        if excel is None:
            rule, remedy = "has no columns value and count", "Or one column for each word"
            raise FileError(path, rule, None, remedy)
        return CountsByHand(path, *excel)
    text = _text(path)
    problem = None
    try:
        first = _line_of_names(text)
        delimiter = _delimiter(text[first])
        lines = csv.reader(
            io.StringIO("".join(text[first:]), newline=""), delimiter=delimiter, strict=True
        )
        names = [name.strip() for name in next(lines, [])]
        numbered = [(first + lines.line_num, cells) for cells in lines if "".join(cells).strip()]
        by_hand = (
            None if "reports" in map(str.lower, names) else as_long(path, names, numbered, words)
        )
        if by_hand is not None:
            return CountsByHand(path, *by_hand)
        places, by = _places(path, names)
        while numbered and _SUMMARY.fullmatch(delimiter.join(numbered[-1][1]).strip()):
            numbered.pop()
        rows = [_row(path, line, cells, places, names) for line, cells in numbered]
    except csv.Error:
        problem = FileError(path, "is not readable as CSV", None, _AS_CSV)
    else:
        return CountsTable(path, by, rows)
    raise problem


def _begin(path: str) -> bytes:
    """The first bytes of a file."""
    with open(path, "rb") as file:
        return file.read(len(_EXCEL))


def _text(path: str) -> list[str]:
    """The lines of a file, or of standard input for ``-``. PowerShell writes UTF-16."""
    problem = None
    try:
        with contextlib.ExitStack() as opened:
            dash = path == "-"
            file = sys.stdin.buffer if dash else opened.enter_context(open(path, "rb"))
            begin = file.read(_BEGIN)
            for first, (rule, remedy) in _OTHERS.items():
                if begin.startswith(first):
                    raise FileError(path, rule, None, remedy)
            _, stream = as_utf8(begin, file, path)
            text = b"".join(iter(stream.read, b"")).decode("utf-8-sig")
    except UnicodeDecodeError:
        problem = FileError(path, "is not readable as text in UTF-8", None, _AS_CSV)
    else:
        return text.splitlines(keepends=True) or [""]
    raise problem


def _delimiter(line: str) -> str:
    """The delimiter of a line of names."""
    return max(_DELIMITERS, key=line.count)


def _line_of_names(text: list[str]) -> int:
    """The number of the line of names, from 0; 0 where there is none."""
    for i, line in enumerate(text[:_BEFORE]):
        cells = [cell.strip(' "').lower() for cell in line.strip().split(_delimiter(line))]
        if set(COLUMNS) <= set(cells):
            return i
    return 0


def _places(path: str, names: list[str]) -> tuple[list[int], tuple[str, ...]]:
    """The places of COLUMNS and then of the public columns, and the names of the latter."""
    lower = [name.lower() for name in names]
    others = [i for i, name in enumerate(lower) if name not in COLUMNS]
    if (
        any(lower.count(name) != 1 for name in COLUMNS)
        or any(not lower[i].startswith(BY) for i in others)
        or len(set(lower)) < len(lower)
    ):
        rule = f"must have the columns {', '.join(COLUMNS)}, and {BY}NAME for public columns"
        remedy = (
            "Export the result of the statement that 'warner sql' prints, with its names. Counts "
            "by hand have the columns attribute, value, count"
        )
        raise FileError(path, rule, None, remedy)
    by = tuple(names[i][len(BY) :] for i in others)
    return [*map(lower.index, COLUMNS), *others], by


def _row(path: str, line: int, cells: list[str], places: list[int], names: list[str]) -> _Row:
    """A row of the table from the cells of a line."""
    if [cell.strip() for cell in cells] == names:
        rule, remedy = "has the names again", "Give each result as a file of its own"
        raise FileError(f"{path}: line {line}", rule, None, remedy)
    if len(cells) <= max(places):
        raise FileError(f"{path}: line {line}", "has too few cells", None, _AS_CSV)
    attribute, counted, value, reports, *key = (cells[i] for i in places)
    numbers = []
    for name, text in (("value", value), ("reports", reports)):
        number = _whole(text.strip())
        if number is None or (name == "reports" and number < 0):
            raise FileError(f"{path}: line {line}", f"{name} must be a whole number")
        numbers.append(number)
    return _Row(
        line,
        attribute,
        counted,
        numbers[0],
        numbers[1],
        () if _is_mark(attribute, counted) else tuple(key),
    )


def _whole(text: str) -> int | None:
    """A whole number, also where a database writes it as a decimal; None for another text.

    >>> [_whole(text) for text in ("12", "12.000", "1.2E+1", "-1", "0.5", "1e99", "x")]
    [12, 12, 12, -1, None, None, None]
    """
    if not _WHOLE.fullmatch(text):
        return None
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    whole = number == number.to_integral_value() and abs(number) < _LARGEST
    return int(number) if whole else None
