"""Claim: counting and checking reports in DuckDB and PostgreSQL by the statement of ``warner sql``
takes at most 2.7 times the bare GROUP BYs of the columns, for 1 and for 8 attributes.

    python bench/counts_in_databases.py [--rows 1000000] [--turns 5]

SQLite, where each column is a reading of the table, is measured beside them, and 800 columns in
DuckDB without a claim. One thread each; the ways take turns. PostgreSQL is left out where it is not
installed.
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from _measure import EPSILON, SEED, alternate, claim
from warner import Integers, RandomizedResponse
from warner.io import count_statement

sys.path.insert(0, str(Path(__file__).parents[1]))
MOST = 2.7


def in_duckdb(columns: dict[str, np.ndarray]) -> Callable[[str], Any]:
    database = duckdb.connect()
    database.execute("SET threads = 1")
    database.register("given", pa.table(columns))
    database.execute("CREATE TABLE reports AS SELECT * FROM given")
    return lambda text: database.execute(text).fetchall()


def in_sqlite(columns: dict[str, np.ndarray]) -> Callable[[str], Any]:
    database = sqlite3.connect(":memory:")
    database.execute(f"CREATE TABLE reports ({', '.join(f'{n} INTEGER' for n in columns)})")
    rows = zip(*(c.tolist() for c in columns.values()), strict=True)
    database.executemany(f"INSERT INTO reports VALUES ({', '.join('?' * len(columns))})", rows)
    return lambda text: database.execute(text).fetchall()


def in_postgres(columns: dict[str, np.ndarray]) -> Callable[[str], Any] | None:
    try:
        import psycopg

        from tests.services import postgres_address

        database = psycopg.connect(postgres_address(), autocommit=True)
    except BaseException as error:  # pytest's Skipped is no Exception
        print(f"PostgreSQL is left out: {error}")
        return None
    database.execute("SET max_parallel_workers_per_gather = 0")
    database.execute(f"CREATE TABLE reports ({', '.join(f'{n} smallint' for n in columns)})")
    with database.cursor().copy("COPY reports FROM STDIN") as copy:
        for row in zip(*(c.tolist() for c in columns.values()), strict=True):
            copy.write_row(row)
    database.execute("VACUUM ANALYZE reports")
    return lambda text: database.execute(text).fetchall()


ENGINES = {"duckdb": in_duckdb, "postgres": in_postgres, "sqlite": in_sqlite}


def ratio(engine: str, rows: int, attributes: int, values: int, turns: int) -> float | None:
    """How many times the bare GROUP BYs the statement takes."""
    rng = np.random.default_rng(SEED)
    mechanism = RandomizedResponse(Integers(0, values - 1), EPSILON)
    columns = {
        f"a{i}_report": mechanism.randomize(rng.integers(0, values, rows), rng).columns["report"]
        for i in range(attributes)
    }
    run = ENGINES[engine](columns)
    if run is None:
        return None
    of = {f"a{i}": mechanism for i in range(attributes)}
    text = count_statement(of, "reports", engine, study="")
    bare = [f"SELECT {name}, COUNT(*) FROM reports GROUP BY {name}" for name in columns]
    seconds = alternate(
        {"statement": lambda: run(text), "bare": lambda: [run(b) for b in bare]}, turns
    )
    times = seconds["statement"] / seconds["bare"]
    print(
        f"{engine:9} n {rows:>9,}  attributes {attributes:>3}  values {values:>3}  "
        f"statement {seconds['statement']:.3f} s  bare {seconds['bare']:.3f} s  ratio {times:.2f}",
        flush=True,
    )
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10**6)
    parser.add_argument("--turns", type=int, default=5)
    given = parser.parse_args()
    for engine in ENGINES:
        for attributes in (1, 8):
            times = ratio(engine, given.rows, attributes, 16, given.turns)
            if times is not None and engine != "sqlite":
                name = f"the statement takes at most {MOST} times the bare GROUP BYs"
                claim(f"{engine}, {attributes} attributes: {name}", times <= MOST, f"{times:.2f}")
    ratio("duckdb", given.rows // 100, 800, 256, 1)


if __name__ == "__main__":
    main()
