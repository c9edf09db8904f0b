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

import hashlib
import re
from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING

from warner._core.canonical_json import canonical
from warner._core.checks import show
from warner._core.errors import ArgumentError, MissingExtraError
from warner._core.foreign_tables import ColumnNames
from warner.io.frames import attribute_columns
from warner.io.grouped_frame import BEYOND, GAP
from warner.mechanisms import Mechanism
from warner.reports.schema import BitRule

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

    Simulated and real reports of one study have different digits. So a simulation does not become
    real where one word is deleted.

    >>> mark_of("5f1d")[:12], mark_of("5f1d", simulated=True)[:22]
    ('study 59be61', 'simulated study 639643')
    """
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
        place = _table(table, dialect) if dialect in DIALECTS else None
    except ImportError:
        problem = MissingExtraError(
            "sqlglot", "is not installed", None, 'pip install "warner[sql]"'
        )
    else:
        if dialect not in DIALECTS:
            rule = f"must be one of {', '.join(DIALECTS)}"
            raise ArgumentError("dialect", rule, show(dialect))
        if place is None:
            rule, remedy = "must be the name of a table", "For example survey.reports"
            raise ArgumentError("table", rule, show(table), remedy)
        writer = _Writer(dialect, by, mark_of(study, simulated))
        return writer.statement(mechanisms, place, stated_columns(mechanisms, columns))
    raise problem


def _table(text: str, dialect: str) -> exp.Table | None:
    """The table of a name, such as ``survey.reports``; None for a blank one.

    What is no name becomes one name in quotes, and no other SQL. DuckDB reads such a name as files
    where it is a pattern: ``lake/*.parquet``. Plain names are quoted too, as the database keeps
    them, because they may be reserved words.
    """
    from sqlglot import errors, exp

    if not text.strip():
        return None
    try:
        found = exp.to_table(text, dialect=dialect)
    except errors.SqlglotError:
        found = None
    names = found.parts if isinstance(found, exp.Table) else []
    if not names or not all(isinstance(name, exp.Identifier) for name in names):
        return exp.Table(this=exp.to_identifier(text, quoted=True))
    for name in names:
        if not name.args.get("quoted"):
            name.set("this", _folded(name.name, dialect))
            name.set("quoted", True)
    return found


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
    found = {}
    for name, mechanism in mechanisms.items():
        parts = list(mechanism.schema.file_columns())
        own, named = given.get(name), attribute_columns(name, mechanism)
        if isinstance(own, str):
            named = {p: f"{own}_{p}" for p in parts} if len(parts) > 1 else {parts[0]: own}
        elif own is not None:
            if unknown := [part for part in own if part not in named]:
                rule = f"must name the columns of the reports of {name!r}"
                raise ArgumentError("column", rule, show(unknown[0]))
            named |= own
        found[name] = named
    return found


def parts_of(attribute: str, mechanism: Mechanism) -> list[list[str]]:
    """The columns of reports that are counted together, such as seed and bucket of a hash."""
    schema = mechanism.schema
    names = list(schema.file_columns())
    if not schema.group_bys:
        rule = f"has reports of {mechanism.header['mechanism']} that no GROUP BY of columns counts"
        remedy = (
            "Export the reports as Parquet and count them with 'warner tally', or use "
            "warner.spark.tally. The other attributes can be counted here by a copy of the study "
            "file without this one"
        )
        raise ArgumentError(attribute, rule, None, remedy)
    return [names] if schema.group_bys == 1 else [[name] for name in names]


class _Writer:
    """Makes the statement in a dialect.

    Args:
        dialect: the dialect.
        by: the public columns.
        mark: says of which study the counts are.
    """

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
            for part, size in sizes.items():
                short[part] = self._name(f"c_{len(codes)}")
                codes.append(f"{self._code(columns[attribute][part], size)} AS {short[part]}")
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
        place, value, reports = map(self._name, ("place", "value", "reports"))
        keys = ", ".join([place, value, *self._keys])
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
        attribute, part = (self._name(name) for name in COLUMNS[:2])
        mark = [
            f"{self._literal(EVERYTHING)} AS {attribute}",
            f"{self._literal(self._mark)} AS {part}",
            f"{self._cast('0')} AS {value}",
            *(f"CAST(NULL AS {self._text}) AS {key}" for key in self._keys),
            f"{self._cast('0')} AS {reports}",
        ]
        counts = [
            f"{self._one_of([a for a, _ in places])} AS {attribute}",
            f"{self._one_of([p for _, p in places])} AS {part}",
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
        place, value = self._name("place"), self._name("value")
        kept, start = "".join(f", {key}" for key in self._keys), self._name(_VALUES)
        listed = ", ".join(names)
        if self._dialect == "duckdb":  # six times as fast as UNNEST of 800 columns
            unpivoted = f"UNPIVOT ({value} FOR {place} IN ({listed}))"
            number = self._cast(f"SUBSTR({place}, 3)")
            return f"SELECT {number} AS {place}, {value}{kept}\nFROM {start} {unpivoted}"
        if self._dialect == "spark":
            pairs = f"POSEXPLODE(ARRAY({listed})) AS ({place}, {value})"
            return f"SELECT {pairs}{kept}\nFROM {start}"
        if self._dialect == "postgres":
            pairs = f"UNNEST(ARRAY[{listed}]) WITH ORDINALITY AS u({value}, {place})"
            return f"SELECT {place} - 1 AS {place}, {value}{kept}\nFROM {start}\nCROSS JOIN {pairs}"
        if self._dialect == "bigquery":
            pairs = f"UNNEST([{listed}]) AS {value} WITH OFFSET AS {place}"
            return f"SELECT {place}, {value}{kept}\nFROM {start}\nCROSS JOIN {pairs}"
        pairs = f"LATERAL FLATTEN(INPUT => ARRAY_CONSTRUCT({listed})) AS u"
        number = self._cast("u.value")
        return f"SELECT u.index AS {place}, {number} AS {value}{kept}\nFROM {start},\n{pairs}"

    def _one_of(self, texts: Sequence[str]) -> str:
        """The text at the place: a constant array, because compilers choke on long CASEs."""
        listed, place = ", ".join(map(self._literal, texts)), self._name("place")
        return {
            "duckdb": f"([{listed}])[{place} + 1]",
            "postgres": f"(ARRAY[{listed}])[{place} + 1]",
            "spark": f"ELEMENT_AT(ARRAY({listed}), {place} + 1)",
            "bigquery": f"[{listed}][OFFSET({place})]",
            "snowflake": f"CAST(GET(ARRAY_CONSTRUCT({listed}), {place}) AS {self._text})",
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
        """A column of the table. Snowflake keeps plain names in upper case.

        There a name in double quotes is taken as it is.
        """
        if self._dialect == "snowflake":
            if len(name) > 2 and name[0] == name[-1] == '"':
                name = name[1:-1]
            elif _PLAIN.fullmatch(name):
                name = _folded(name, self._dialect)
        return self._name(name)

    def _code(self, name: str, size: int) -> str:
        """A column as the numbers 0..size-1, GAP and BEYOND."""
        column = self._column(name)
        number = self._cast(column)
        # Only where it is inside: the cast of another number could fail.
        whole = f"CASE WHEN {number} = {column} THEN {number} ELSE {BEYOND} END"
        inside = f"{column} >= 0 AND {column} < {size}"
        return f"CASE WHEN {column} IS NULL THEN {GAP} WHEN {inside} THEN {whole} ELSE {BEYOND} END"

    def _check(self, rule: BitRule, names: Sequence[str]) -> str:
        """1 for a row that breaks a rule, and else 0."""
        ones = _sum([one for i, mask in rule.masks.items() for one in self._ones(names[i], mask)])
        kept = f"{ones} BETWEEN {rule.least} AND {rule.most}"
        return self._cast(f"CASE WHEN {kept} THEN 0 ELSE 1 END")

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
    found = _sum([f"{name} * {stride}" for name, stride in zip(names, strides, strict=True)])
    cases = [
        f"WHEN {' OR '.join(f'{name} = {code}' for name in names)} THEN {code}"
        for code in (GAP, BEYOND)
    ]
    return f"CASE {' '.join(cases)} ELSE {found} END"


def _sum(terms: Sequence[str]) -> str:
    """A sum, of pairs: databases limit how deep an expression may be nested."""
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return f"({_sum(terms[:half])} + {_sum(terms[half:])})"
