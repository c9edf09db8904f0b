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

The statement reads the table once. It makes a row of each report and each check, and counts these
by one GROUP BY: planners take minutes for a GROUP BY of each column where there are hundreds.
Names, texts and types are written by :mod:`sqlglot` in the dialect of the database.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warner._core.checks import show
from warner._core.errors import ArgumentError, EmptyError, FileError, MissingExtraError, ReportError
from warner._core.extras import pa
from warner._core.foreign_tables import ColumnNames
from warner._core.text import canonical
from warner.domains import Domain
from warner.io.counts_by_hand import CountsByHand, is_by_hand
from warner.io.csv_format import as_utf8
from warner.io.frames import attribute_columns
from warner.io.public_values import groups_in, indices_of
from warner.mechanisms import Mechanism
from warner.reports.counting import require_room
from warner.reports.public_columns import Groups
from warner.reports.rules import BEYOND, GAP, BitRule, WholeNumbers
from warner.reports.source import Batch, By, Histograms, count
from warner.reports.tally import Tally

if TYPE_CHECKING:
    from sqlglot import exp

DIALECTS = ("duckdb", "postgres", "spark", "bigquery", "snowflake")
COLUMNS = ("attribute", "part", "value", "reports")
EVERYTHING, ROWS = "*", "rows"  # attribute and part of the numbers of all rows
CHECK, BY = "check: ", "by_"
STUDY, SIMULATED = "study ", "simulated study "  # how a mark begins
_CODES, _VALUES, _LONG, _COUNTS = (f"warner_{n}" for n in ("codes", "values", "long", "counts"))
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MOST_CHARACTERS = {"bigquery": 10**6, "snowflake": 10**6}  # both document one MB
_MOST_PLACES = 1600  # columns of a table or a query in PostgreSQL, rounded down
_NAMES = {"bigquery": "BigQuery", "snowflake": "Snowflake", "postgres": "PostgreSQL"}


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
    table: str,
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
        table: the name of the table, such as ``survey.reports``.
        dialect: one of ``duckdb``, ``postgres``, ``spark``, ``bigquery`` and ``snowflake``.
        columns: {attribute: its columns}: the column of a report of one number, the beginning of
            the names of several columns, or {part: column}. Left out, columns are named as in a
            report file: ``smokes_report``.
        by: the names of public columns of the table, for the counts of each group.
        study: the digest of the study, which the result states.
        simulated: whether the reports are simulated, which the result states too.

    Returns:
        One statement. :func:`warner.io.read_counts` reads its result.

    Raises:
        ArgumentError: an unknown dialect, a name that is no table's, an attribute that is not
            there, or reports that no GROUP BY of their columns counts; or a statement that is too
            large for the database.
        MissingExtraError: sqlglot is not installed.

    >>> from warner import Categorical, RandomizedResponse
    >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    >>> text = count_statement({"smokes": coin}, "reports", "duckdb", study="5f1d")
    >>> print("\\n".join(line[:60] for line in text.splitlines()))
    WITH
    "warner_codes" AS (
    SELECT
    CASE WHEN "smokes_report" IS NULL THEN -1 WHEN "smokes_repor
    FROM "reports"
    ),
    "warner_values" AS (
    SELECT
    CAST(0 AS BIGINT) AS "v_0",
    "c_0" AS "v_1"
    FROM "warner_codes"
    ),
    "warner_long" AS (
    SELECT CAST(SUBSTR("place", 3) AS BIGINT) AS "place", "value
    FROM "warner_values" UNPIVOT ("value" FOR "place" IN ("v_0",
    ),
    "warner_counts" AS (
    SELECT "place", "value", COUNT(*) AS "reports"
    FROM "warner_long"
    GROUP BY "place", "value"
    )
    SELECT '*' AS "attribute", 'study 59be61273c7daa6600a392fdcb
    UNION ALL
    SELECT (['*', 'smokes'])["place" + 1] AS "attribute", (['row
    FROM "warner_counts"
    """
    try:
        target = _table(table, dialect) if dialect in DIALECTS else None
    except ImportError:
        problem = MissingExtraError(
            "sqlglot", "is not installed", None, 'pip install "warner[sql]"'
        )
    else:
        if dialect not in DIALECTS:
            rule = f"must be one of {', '.join(DIALECTS)}"
            raise ArgumentError("dialect", rule, show(dialect))
        if target is None:
            rule, remedy = "must be the name of a table", "For example survey.reports"
            raise ArgumentError("table", rule, show(table), remedy)
        writer = _Writer(dialect, by, mark_of(study, simulated))
        return writer.statement(mechanisms, target, stated_columns(mechanisms, columns))
    raise problem


def _table(text: str, dialect: str) -> exp.Table | None:
    """The table of a name, such as ``survey.reports``; None for a blank one."""
    from sqlglot import errors, exp

    if not text.strip():
        return None
    try:
        parsed = exp.to_table(text, dialect=dialect)
    except errors.SqlglotError:
        parsed = None
    names = parsed.parts if isinstance(parsed, exp.Table) else []
    if not names or not all(isinstance(name, exp.Identifier) for name in names):
        # What is no name becomes one name in quotes, and no other SQL. DuckDB reads such a name as
        # files where it is a pattern: lake/*.parquet.
        return exp.Table(this=exp.to_identifier(text, quoted=True))
    for name in names:
        # Plain names are quoted as the database keeps them: they may be reserved words.
        if not name.args.get("quoted"):
            name.set("this", _folded(name.name, dialect))
            name.set("quoted", True)
    return parsed


def _folded(name: str, dialect: str) -> str:
    """A name without quotes, as the database keeps it."""
    fold = {"postgres": str.lower, "snowflake": str.upper}.get(dialect, str)
    return fold(name)


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


class _Writer:
    """Makes the statement in a dialect; ``mark`` says of which study the counts are."""

    def __init__(self, dialect: str, by: Sequence[str], mark: str) -> None:
        self._dialect, self._by, self._mark = dialect, list(by), mark
        self._integer, self._text = self._type("BIGINT"), self._type("VARCHAR")
        self._keys = [self._name(f"{BY}{name}") for name in self._by]

    def statement(
        self,
        mechanisms: Mapping[str, Mechanism],
        table: exp.Table,
        columns: Mapping[str, Mapping[str, str]],
    ) -> str:
        codes: list[str] = []
        values = [(EVERYTHING, ROWS, self._cast("0"))]  # the attribute, the part, and its code
        for attribute, mechanism in mechanisms.items():
            schema = mechanism.schema
            sizes, short = schema.file_columns(), {}
            for end, size in sizes.items():
                short[end] = self._name(f"c_{len(codes)}")
                column = self._column(columns[attribute][end])
                code = WholeNumbers(size).sql(column, self._integer)
                codes.append(f"{code} AS {short[end]}")
            for parts in parts_of(attribute, mechanism):
                value = _place([short[p] for p in parts], [sizes[p] for p in parts])
                values.append((attribute, ",".join(parts), value))
            for rule in schema.row_rules:
                check = self._check(rule, list(short.values()))
                values.append((attribute, f"{CHECK}{rule.text}", check))
        codes += [
            f"CAST({self._column(name)} AS {self._text}) AS {key}"
            for name, key in zip(self._by, self._keys, strict=True)
        ]
        names = [self._name(f"v_{i}") for i in range(len(values))]
        long = [f"{v[2]} AS {name}" for v, name in zip(values, names, strict=True)]
        text = self._join(
            table.sql(dialect=self._dialect), codes, long, names, [v[:2] for v in values]
        )
        self._require_room(len(values) + len(self._by), len(text))
        return text

    def _require_room(self, places: int, characters: int) -> None:
        """Refuse a statement that the database does not take."""
        most = _MOST_CHARACTERS.get(self._dialect, characters)
        if characters > most or (self._dialect == "postgres" and places > _MOST_PLACES):
            got, unit, limit = (
                (characters, "characters", most)
                if characters > most
                else (places, "columns", _MOST_PLACES)
            )
            rule = f"would have {got:,} {unit}, and {_NAMES[self._dialect]} takes {limit:,}"
            remedy = "Export the reports as Parquet, and count the files with 'warner tally'"
            raise ArgumentError("statement", rule, None, remedy)

    def _join(
        self,
        table: str,
        codes: Sequence[str],
        values: Sequence[str],
        names: Sequence[str],
        places: Sequence[tuple[str, str]],
    ) -> str:
        """The statement of its expressions: one line for each column."""
        place_name, value, reports = map(self._name, ("place", "value", "reports"))
        keys = ", ".join([place_name, value, *self._keys])
        # PostgreSQL would repeat each code wherever it stands. OFFSET keeps it from that.
        fence = "\nOFFSET 0" if self._dialect == "postgres" else ""
        tables = [
            (_CODES, f"SELECT\n{self._lines(codes)}\nFROM {table}{fence}"),
            (_VALUES, f"SELECT\n{self._lines([*values, *self._keys])}\nFROM {self._name(_CODES)}"),
            (_LONG, self._long(names)),
            (
                _COUNTS,
                f"SELECT {keys}, COUNT(*) AS {reports}\nFROM {self._name(_LONG)}\nGROUP BY {keys}",
            ),
        ]
        given = ",\n".join(f"{self._name(name)} AS (\n{text}\n)" for name, text in tables)
        attribute, part_name = (self._name(name) for name in COLUMNS[:2])
        mark = [
            f"{self._literal(EVERYTHING)} AS {attribute}",
            f"{self._literal(self._mark)} AS {part_name}",
            f"{self._cast('0')} AS {value}",
            *(f"CAST(NULL AS {self._text}) AS {key}" for key in self._keys),
            f"{self._cast('0')} AS {reports}",
        ]
        counts = [
            f"{self._one_of([a for a, _ in places])} AS {attribute}",
            f"{self._one_of([p for _, p in places])} AS {part_name}",
            value,
            *self._keys,
            reports,
        ]
        return (
            f"WITH\n{given}\nSELECT {', '.join(mark)}\nUNION ALL\n"
            f"SELECT {', '.join(counts)}\nFROM {self._name(_COUNTS)}"
        )

    @staticmethod
    def _lines(columns: Sequence[str]) -> str:
        return ",\n".join(columns)

    def _long(self, names: Sequence[str]) -> str:
        """The columns of values as rows: the place of the column, and the value."""
        place_name, value = self._name("place"), self._name("value")
        keys, start = "".join(f", {key}" for key in self._keys), self._name(_VALUES)
        listed = ", ".join(names)
        if self._dialect == "duckdb":  # six times as fast as UNNEST of 800 columns
            unpivoted = f"UNPIVOT ({value} FOR {place_name} IN ({listed}))"
            number = self._cast(f"SUBSTR({place_name}, 3)")
            return f"SELECT {number} AS {place_name}, {value}{keys}\nFROM {start} {unpivoted}"
        if self._dialect == "spark":
            pairs = f"POSEXPLODE(ARRAY({listed})) AS ({place_name}, {value})"
            return f"SELECT {pairs}{keys}\nFROM {start}"
        if self._dialect == "postgres":
            pairs = f"UNNEST(ARRAY[{listed}]) WITH ORDINALITY AS u({value}, {place_name})"
            columns = f"{place_name} - 1 AS {place_name}, {value}{keys}"
            return f"SELECT {columns}\nFROM {start}\nCROSS JOIN {pairs}"
        if self._dialect == "bigquery":
            pairs = f"UNNEST([{listed}]) AS {value} WITH OFFSET AS {place_name}"
            return f"SELECT {place_name}, {value}{keys}\nFROM {start}\nCROSS JOIN {pairs}"
        pairs = f"LATERAL FLATTEN(INPUT => ARRAY_CONSTRUCT({listed})) AS u"
        number = self._cast("u.value")
        return f"SELECT u.index AS {place_name}, {number} AS {value}{keys}\nFROM {start},\n{pairs}"

    def _one_of(self, texts: Sequence[str]) -> str:
        """The text at the place: a constant array, because compilers choke on long CASEs."""
        listed, place_name = ", ".join(map(self._literal, texts)), self._name("place")
        return {
            "duckdb": f"([{listed}])[{place_name} + 1]",
            "postgres": f"(ARRAY[{listed}])[{place_name} + 1]",
            "spark": f"ELEMENT_AT(ARRAY({listed}), {place_name} + 1)",
            "bigquery": f"[{listed}][OFFSET({place_name})]",
            "snowflake": f"CAST(GET(ARRAY_CONSTRUCT({listed}), {place_name}) AS {self._text})",
        }[self._dialect]

    def _name(self, name: str) -> str:
        """A name in quotes."""
        from sqlglot import exp

        return exp.to_identifier(name, quoted=True).sql(dialect=self._dialect)

    def _literal(self, text: str) -> str:
        from sqlglot import exp

        return exp.Literal.string(text).sql(dialect=self._dialect)

    def _type(self, name: str) -> str:
        from sqlglot import exp

        return exp.DataType.build(name).sql(dialect=self._dialect)

    def _cast(self, value: str) -> str:
        return f"CAST({value} AS {self._integer})"

    def _column(self, name: str) -> str:
        """A column of the table."""
        # Snowflake keeps plain names in upper case; one in double quotes is taken as it is.
        if self._dialect == "snowflake":
            if len(name) > 2 and name[0] == name[-1] == '"':
                name = name[1:-1]
            elif _PLAIN.fullmatch(name):
                name = _folded(name, self._dialect)
        return self._name(name)

    def _check(self, rule: BitRule, names: Sequence[str]) -> str:
        """1 for a row that breaks a rule, and else 0."""
        ones = _sum(
            [
                one if times == 1 else f"{times} * {one}"
                for i, mask, times in rule.terms
                for one in self._ones(names[i], mask)
            ]
        )
        holds = f"{ones} BETWEEN {rule.least} AND {rule.most}"
        return self._cast(f"CASE WHEN {holds} THEN 0 ELSE 1 END")

    def _ones(self, name: str, mask: int) -> list[str]:
        """Expressions whose sum is the number of ones of a byte under a mask."""
        if self._dialect == "snowflake":
            bits = [1 << b for b in range(8) if mask >> b & 1]
            return [f"SIGN(BITAND({name}, {bit}))" for bit in bits]
        if self._dialect == "postgres":
            return [f"BIT_COUNT(CAST({name} & {mask} AS BIT(8)))"]
        count = f"BIT_COUNT({name} & {mask})"
        # A count of DuckDB is a byte: a sum of bytes would overflow.
        return [self._cast(count) if self._dialect == "duckdb" else count]


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


def read_counts(path: str) -> CountsTable | CountsByHand:
    """Read the result of a counting statement, or counts by hand.

    Args:
        path: a CSV file with a line of names, as a database or a warehouse exports it or as people
            write it, or ``-`` for standard input; the cells are separated by commas, semicolons,
            tabs or bars.

    Raises:
        FileError: another table, or a number that is no count, by its line.
    """
    text = _text(path)
    problem = None
    try:
        first = _line_of_names(text)
        delimiter = _delimiter(text[first])
        lines = csv.reader(
            io.StringIO("".join(text[first:]), newline=""), delimiter=delimiter, strict=True
        )
        names = [name.strip() for name in next(lines, [])]
        places, by = ([], ()) if is_by_hand(names) else _places(path, names)
        numbered = [(first + lines.line_num, cells) for cells in lines if "".join(cells).strip()]
        if is_by_hand(names):
            return CountsByHand(path, names, numbered)
        while numbered and _SUMMARY.fullmatch(delimiter.join(numbered[-1][1]).strip()):
            numbered.pop()
        rows = [_row(path, line, cells, places, names) for line, cells in numbered]
    except csv.Error:
        problem = FileError(path, "is not readable as CSV", None, _AS_CSV)
    else:
        return CountsTable(path, by, rows)
    raise problem


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
