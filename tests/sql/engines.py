"""Databases that run a statement on a table: DuckDB and SQLite here, the others where installed."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from tests.services import in_mariadb, mariadb_socket, missing, postgres_address

Table = Mapping[str, Sequence[Any]]
Result = tuple[list[str], list[Any]]  # names, and rows
_CLICKHOUSE = Path(__file__).parent / ".venv" / "bin" / "python"
# The statements of a script, of which the last one has a result.
_SCRIPT = """
import json, sys
from chdb.session import Session
session = Session()
for statement in json.load(sys.stdin):
    result = session.query(statement, "CSVWithNames")
print(result)
"""


def _duckdb(statement: str, table: Table) -> Result:
    with duckdb.connect(":memory:") as database:
        database.register("reports", pa.table({n: list(c) for n, c in table.items()}))
        done = database.execute(statement)
        return [c[0] for c in done.description], done.fetchall()


def _sqlite(statement: str, table: Table) -> Result:
    with closing(sqlite3.connect(":memory:")) as database:
        columns = ", ".join(
            _column(n, c, "`", "INTEGER", "TEXT COLLATE NOCASE") for n, c in table.items()
        )
        database.execute(f"CREATE TABLE reports ({columns})")
        marks = ", ".join("?" * len(table))
        database.executemany(f"INSERT INTO reports VALUES ({marks})", _rows(table))
        done = database.execute(statement)
        return [c[0] for c in done.description], done.fetchall()


def _postgres(statement: str, table: Table) -> Result:
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(postgres_address()) as database, database.cursor() as cursor:
        columns = ", ".join(_column(n, c, '"', "numeric(20, 0)", "text") for n, c in table.items())
        cursor.execute(f"CREATE TABLE reports ({columns})")
        with cursor.copy("COPY reports FROM STDIN") as copy:
            for row in _rows(table):
                copy.write_row(row)
        cursor.execute(statement)
        return [c.name for c in cursor.description], cursor.fetchall()


def _mysql(statement: str, table: Table) -> Result:
    columns = ", ".join(_column(n, c, "`", "DECIMAL(20, 0)", "TEXT") for n, c in table.items())
    rows = _values(table, {"\\": "\\\\", "'": "''"})
    made = f"DROP TABLE IF EXISTS reports; CREATE TABLE reports ({columns}) CHARACTER SET utf8mb4;"
    printed = in_mariadb(f"{made}{rows}{statement};", mariadb_socket())
    return _cells(printed, "\t")


def _clickhouse(statement: str, table: Table) -> Result:
    if not _CLICKHOUSE.exists():
        missing("chdb is not installed. Run make test-sql")
    columns = ", ".join(
        _column(n.replace("\\", 2 * "\\"), c, '"', "Nullable(Int32)", "Nullable(String)")
        for n, c in table.items()
    )
    made = f"CREATE TABLE reports ({columns}) ENGINE = Memory"
    rows = _values(table, {"\\": "\\\\", "'": "\\'"}).rstrip(";")
    script = ["CREATE DATABASE t", "USE t", made, *([rows] if rows else []), statement]
    done = subprocess.run(
        [_CLICKHOUSE, "-c", _SCRIPT], input=json.dumps(script), capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return _cells(done.stdout, ",")


ENGINES: dict[str, Callable[[str, Table], Result]] = {
    "duckdb": _duckdb,
    "sqlite": _sqlite,
    "postgres": _postgres,
    "mysql": _mysql,
    "clickhouse": _clickhouse,
}


def run_statement(engine: str, statement: str, table: Table, path: str) -> str:
    """The result of a statement on a table ``reports``, as the CSV file ``path``."""
    names, rows = ENGINES[engine](statement.rstrip().rstrip(";"), table)
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([names, *rows])
    return path


def _is_text(column: Sequence[Any]) -> bool:
    return any(isinstance(cell, str) for cell in column)


def _column(name: str, column: Sequence[Any], quote: str, number: str, text: str) -> str:
    quoted = quote + name.replace(quote, 2 * quote) + quote
    return f"{quoted} {text if _is_text(column) else number}"


def _rows(table: Table) -> list[tuple[Any, ...]]:
    return list(zip(*table.values(), strict=True))


def _values(table: Table, escapes: Mapping[str, str]) -> str:
    """A statement that inserts all rows; nothing for none."""
    marks = str.maketrans(dict(escapes))
    rows = (
        ", ".join(
            "NULL" if c is None else f"'{c.translate(marks)}'" if isinstance(c, str) else str(c)
            for c in row
        )
        for row in _rows(table)
    )
    values = "), (".join(rows)
    return f"INSERT INTO reports VALUES ({values});" if values else ""


def _cells(printed: str, delimiter: str) -> Result:
    names, *rows = filter(None, csv.reader(io.StringIO(printed), delimiter=delimiter))
    return names, rows
