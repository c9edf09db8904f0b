"""One SQL statement that counts the reports in a table of a database or a warehouse.

Its result is a long table with the columns of :data:`COLUMNS` and one more for each public column.

- ``*, study 5f1d.., 0, , 0``: the mark, which says which study was counted. See
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

import hashlib
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, prod
from typing import NamedTuple

from warner._core.checks import show
from warner._core.errors import ArgumentError
from warner._core.extras import not_installed
from warner._core.foreign_tables import ColumnNames
from warner._core.text import canonical
from warner.domains import Domain, Integers
from warner.domains.interval import Dates
from warner.io.frames import Mechanisms, attribute_columns, require_questions
from warner.mechanisms import Mechanism
from warner.reports.rules import BEYOND, GAP, BitRule, WholeNumbers
from warner.reports.tally import ROUND

COLUMNS = ("attribute", "part", "value", "reports")
EVERYTHING, ROWS = "*", "rows"  # attribute and part of the numbers of all rows
CHECK, BY = "check: ", "by_"
STUDY, SIMULATED = "study ", "simulated study "  # how a mark begins
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# The text of a date, with or without a time: of days that the calendar has, because the cast of
# another one fails in some databases. The second line is the 29th of February.
_DATE = (
    "^([0-9][0-9][0-9][0-9]-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)"
    "|02-(0[1-9]|1[0-9]|2[0-8]))|([0-9][0-9](0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29)"
    "([ T][0-9].*)?$"
)
_LABELS = {"week": "____-W__", "month": "____-__"}  # as the study writes units that are no days
NO_DATE, UNDECLARED = "no date", "not declared"
_MOST_LISTED = 1000  # numbers of a public column that a statement lists


@dataclass(frozen=True)
class _Dialect:
    """How a database writes what databases write differently."""

    name: str
    # How many columns are counted while the table is read once, by GROUPING SETS. More than some
    # thirty take as long as more readings: each set is a column of each row.
    together: int = 1
    integer: str = "BIGINT"  # the type of 64 bits
    text: str = "VARCHAR"  # the type of any text
    ones: str = "BIT_COUNT({x} & {m})"  # the number of ones of {x} under {m}
    one_bit: bool = False  # whether ``ones`` is right for an {m} of one bit alone
    guard: str = ""  # a condition on a column {x}, and AND: whether it holds a number
    as_text: str = "CAST({x} AS {text})"  # a column {x}
    key: str = "{x}"  # a text {x} of public values, which is compared exactly
    shown: str = "{x}"  # a key {x} in the result
    like: str = "REGEXP_LIKE({x}, {r})"  # whether a text {x} is of a pattern {r}
    since: str = "0001-01-01"  # the first day of the database
    # The Monday, or its first moment, of the week of a day {d}, which is a text.
    monday: str = "CAST(DATE_TRUNC('week', CAST({d} AS DATE)) AS {text})"
    fold: Callable[[str], str] = str  # a name without quotes, as the database keeps it
    quoted_as: str | None = None  # the dialect whose names in quotes are used, if another one
    most_characters: float = inf  # of a statement
    most_selects: float = inf

    def ones_of(self, name: str, mask: int) -> list[str]:
        """Expressions whose sum is the number of ones of a byte under a mask."""
        bits = [1 << bit for bit in range(8) if mask >> bit & 1]
        return [self.ones.format(x=name, m=m) for m in (bits if self.one_bit else [mask])]


_TOGETHER = 32
DIALECTS = {
    # A count of DuckDB is a byte: a sum of bytes would overflow.
    "duckdb": _Dialect(
        "DuckDB", _TOGETHER, ones="CAST(BIT_COUNT({x} & {m}) AS BIGINT)", like="{x} ~ {r}"
    ),
    "postgres": _Dialect(
        "PostgreSQL",
        _TOGETHER,
        ones="BIT_COUNT(CAST({x} & {m} AS BIT(8)))",
        like="{x} ~ {r}",
        fold=str.lower,
    ),
    "spark": _Dialect("Spark", _TOGETHER, text="STRING", like="{x} RLIKE {r}"),
    "bigquery": _Dialect(
        "BigQuery",
        _TOGETHER,
        integer="INT64",
        text="STRING",
        like="REGEXP_CONTAINS({x}, {r})",
        monday="CAST(DATE_TRUNC(CAST({d} AS DATE), ISOWEEK) AS {text})",
        most_characters=10**6,
    ),
    # Its DATE_TRUNC begins weeks as the account says.
    "snowflake": _Dialect(
        "Snowflake",
        _TOGETHER,
        ones="SIGN(BITAND({x}, {m}))",
        one_bit=True,
        monday="CAST(DATEADD(DAY, 1 - DAYOFWEEKISO(CAST({d} AS DATE)), CAST({d} AS DATE)) "
        "AS {text})",
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
        key="{x} COLLATE BINARY",
        like="DATE(SUBSTR({x}, 1, 10), '+0 days') = SUBSTR({x}, 1, 10) "
        "AND SUBSTR({x}, 11, 1) IN ('', ' ', 'T')",
        monday="DATE({d}, '-6 days', 'weekday 1')",
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
        as_text="CAST({x} AS CHAR CHARACTER SET utf8mb4)",
        key="CAST({x} AS BINARY)",
        shown="CONVERT({x} USING utf8mb4)",
        like="{x} REGEXP {r}",
        monday="CAST(DATE_SUB(CAST({d} AS DATE), INTERVAL WEEKDAY({d}) DAY) AS {text})",
    ),
    "trino": _Dialect(
        "Trino", ones="BIT_COUNT(BITWISE_AND({x}, {m}), 64)", fold=str.lower, most_characters=10**6
    ),
    # Its dates begin in 1900, and earlier ones become the first.
    "clickhouse": _Dialect(
        "ClickHouse",
        integer="Nullable(Int64)",
        text="Nullable(String)",
        ones="CAST(bitCount(bitAnd({x}, {m})) AS Nullable(Int64))",
        like="match({x}, {r}) AND {x} < '2300'",
        since="1900-01-01",
        monday="CAST(addDays(toDate32OrNull({d}), 1 - toDayOfWeek(toDate32OrNull({d}))) AS {text})",
        most_characters=2**18,
    ),
    # VARCHAR alone is 256 bytes, and a cast to it cuts off the others.
    "redshift": _Dialect(
        "Redshift",
        text="VARCHAR(65535)",
        ones="({x} & {m}) / {m}",
        one_bit=True,
        like="{x} ~ {r}",
        fold=str.lower,
    ),
}


@dataclass(frozen=True)
class DbtMacro:
    """A macro for dbt in place of the name of a table: ``{{ NAME(ref('reports')) }}``.

    >>> DbtMacro("count reports")
    Traceback (most recent call last):
    warner._core.errors.ArgumentError: macro: must have only ...
    """

    name: str

    def __post_init__(self) -> None:
        if not _PLAIN.fullmatch(self.name):
            raise ArgumentError(
                "macro", "must have only letters, digits and underscores", show(self.name)
            )

    def of(self, statement: str) -> str:
        """The macro of a statement whose table is written as a NUL."""
        # A brace in a name would begin an expression, a comment or a command of Jinja.
        text = statement.replace("{", "{{ '{' }}").replace("\0", "{{ relation }}")
        return f"{{% macro {self.name}(relation) %}}\n{text}\n{{% endmacro %}}"


def mark_of(study: str, simulated: bool = False, number: int | None = None) -> str:
    """The part of the first row of a result: which study was counted, and which round of it.

    >>> mark_of("5f1d")[:12], mark_of("5f1d", simulated=True)[:22]
    ('study 59be61', 'simulated study 639643')
    """
    # The digits of simulated and real reports differ, so a simulation does not become real where
    # one word is deleted.
    of_round = "" if number is None else f" {ROUND} {number}"
    marks = [*(["simulated"] if simulated else []), *([of_round] if of_round else [])]
    digest = hashlib.sha256(canonical(["warner-counts", study, *marks]).encode()).hexdigest()
    return (SIMULATED if simulated else STUDY) + digest + of_round


def count_statement(
    mechanisms: Mapping[str, Mechanism],
    table: str | DbtMacro,
    dialect: str,
    columns: Mapping[str, ColumnNames] | None = None,
    by: Mapping[str, Domain] | None = None,
    *,
    study: str,
    simulated: bool = False,
    number: int | None = None,
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
        by: {name: domain} of public columns of the table, for the counts of each group. Dates and
            times become days, weeks or months, as the domain says. All values that a domain does
            not have become one group, which :func:`warner.io.read_counts` refuses.
        study: the digest of the study, which the result states.
        simulated: whether the reports are simulated, which the result states too.
        number: of the round whose rows are counted, by the column ``round`` of the table, which
            the result states too; None for all rows.

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
        writer = _Writer(dialect, by or {}, mark_of(study, simulated, number))
    except ImportError:
        problem = not_installed("sqlglot", "warner sql")
    else:
        if dialect == "duckdb" and str(table).rstrip().endswith("/"):
            rule = "is a folder, and DuckDB reads a pattern of files"
            remedy = f"Write --table '{str(table).rstrip()}*.parquet'"
            raise ArgumentError("table", rule, show(table), remedy)
        if target is None:
            rule, remedy = "must be the name of a table", "For example survey.reports"
            if "(" in str(table):
                rule += " or of a view, not a call"
                remedy = "Make a view of the call, and give the name of the view"
                if dialect == "duckdb":
                    remedy += (
                        ". For files, a path or a pattern is enough: --table 'lake/**/*.parquet'. "
                        "DuckDB then reads folders such as week=2026-W41 as columns"
                    )
            raise ArgumentError("table", rule, show(table), remedy)
        if number is not None:
            one_round = f"{writer._column(ROUND)} = {number}"
            target = f"(SELECT * FROM {target} WHERE {one_round}) AS warner_round"
        text = writer.statement(mechanisms, target, stated_columns(mechanisms, columns))
        return macro.of(text) if macro else text
    raise problem


def _table(text: str, dialect: str) -> str | None:
    """The table of a name, such as ``survey.reports``; None for a blank one or a call."""
    from sqlglot import errors, exp

    if not text.strip() or re.fullmatch(r"\s*[\w.]+\s*\(.*\)\s*", text, re.DOTALL):
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
    mechanisms: Mechanisms, columns: Mapping[str, ColumnNames] | None = None
) -> dict[str, dict[str, str]]:
    """The columns of each attribute in a table that is not at hand: {attribute: {part: column}}.

    >>> from warner import Categorical, RandomizedResponse
    >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    >>> stated_columns({"smokes": coin}, {"smokes": "said"})
    {'smokes': {'report': 'said'}}
    """
    given = dict(columns or {})
    require_questions(given, mechanisms)
    stated = {}
    for name, mechanism in mechanisms.items():
        parts = list(mechanism.schema.file_columns())
        choice, named = given.get(name), attribute_columns(name, mechanism)
        if isinstance(choice, str):
            named = {p: f"{choice}_{p}" for p in parts} if len(parts) > 1 else {parts[0]: choice}
        elif choice is not None:
            if unknown := [end for end in choice if end not in named]:
                rule = f"reports of {name!r} have no column {unknown[0]!r}"
                raise ArgumentError("column", rule, None, f"Name {' or '.join(named)}")
            named |= choice
        stated[name] = named
    return stated


def parts_of(attribute: str, mechanism: Mechanism) -> list[list[str]]:
    """The columns of reports that are counted together, such as seed and bucket of a hash."""
    schema = mechanism.schema
    names = list(schema.file_columns())
    if not schema.group_bys:
        rule = f"has reports of {mechanism.header['mechanism']}, which SQL cannot count"
        remedy = (
            "Export the reports as Parquet and count them with 'warner tally', or use "
            "warner.spark.tally. To count the other questions with SQL, leave out this question in "
            "a copy of the study file"
        )
        raise ArgumentError(attribute, rule, None, remedy)
    return [names] if schema.group_bys == 1 else [[name] for name in names]


def check_of(rule: BitRule) -> str:
    """The part that checks a rule."""
    return f"{CHECK}{rule.text}"


class _Count(NamedTuple):
    """One GROUP BY of a statement: an expression in the names of codes, {name: expression}."""

    attribute: str
    part: str
    value: str
    codes: Mapping[str, str]


class _Writer:
    """Makes the statement in a dialect; ``mark`` names the study that is counted."""

    def __init__(self, dialect: str, by: Mapping[str, Domain], mark: str) -> None:
        self._sqlglot, self._dialect, self._mark = dialect, DIALECTS[dialect], mark
        self._keys = {
            self._name(f"{BY}{name}"): self._key(name, domain) for name, domain in by.items()
        }

    def _key(self, name: str, domain: Domain) -> str:
        """The values of a public column as text."""
        dialect = self._dialect
        text = dialect.as_text.format(x=self._column(name), text=dialect.text)
        if isinstance(domain, Dates):
            # Reduced here: a group of each moment would be the report of one person, in clear.
            day = f"SUBSTR({text}, 1, 10)"
            reduced = {
                "day": day,
                "week": f"SUBSTR({dialect.monday.format(d=day, text=dialect.text)}, 1, 10)",
                "month": f"SUBSTR({text}, 1, 7)",
            }[domain.unit]
            label = _LABELS.get(domain.unit)
            as_it_is = f" OR {text} LIKE '{label}'" if label else ""
            is_date = dialect.like.format(x=text, r=f"'{_DATE}'")
            text = (
                f"CASE WHEN {text} IS NULL{as_it_is} THEN {text} "
                f"WHEN {is_date} AND {text} >= '{dialect.since}' THEN {reduced} "
                f"ELSE '{NO_DATE}' END"
            )
        elif isinstance(domain, Integers) and domain.size > _MOST_LISTED:
            above = f"({self._column(name)} - {self._cast(str(domain.low))})"
            code = WholeNumbers(domain.size).sql(above, dialect.integer, dialect.guard)
            text = f"CASE WHEN {code} = {BEYOND} THEN '{UNDECLARED}' ELSE {text} END"
        else:
            # A free text is the answer of one person, in clear. What differs from a label in case
            # or blanks alone leaves as it is, so that the label that is meant can be named.
            form = domain.text
            labels = form.labels if form is not None and form.labels else domain.labels
            texts = [self._literal(str(label)) for label in labels]
            other = UNDECLARED
            while other in labels:
                other += "?"
            listed = ", ".join(f"LOWER(TRIM({label}))" for label in texts)
            text = (
                f"CASE WHEN {text} IS NULL OR {text} IN ({', '.join(texts)}) THEN {text} "
                f"WHEN LOWER(TRIM({text})) IN ({listed}) THEN {text} ELSE '{other}' END"
            )
        return dialect.key.format(x=text)

    def statement(
        self, mechanisms: Mechanisms, table: str, columns: Mapping[str, Mapping[str, str]]
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
                counts.append(_Count(attribute, check_of(rule), self._broken(rule, names), used))
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
                rule = f"would have {got:,} {unit}, but {dialect.name} takes at most {most:,}"
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
