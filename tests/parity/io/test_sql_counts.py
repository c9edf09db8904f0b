"""Counts by the statement of warner sql, run by real databases, against NumPy's own."""

from __future__ import annotations

import csv
import datetime
from collections import Counter
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
import pytest

from tests.sql.engines import ENGINES, run_statement
from warner import Categorical, Integers, LocalHashing, RandomizedResponse, SubsetSelection
from warner.domains import Domain
from warner.domains.interval import Dates
from warner.errors import ArgumentError, EmptyError, ReportError
from warner.io import count_statement, read_counts
from warner.io.sql_statements import DIALECTS, NO_DATE, UNDECLARED, DbtMacro, mark_of
from warner.mechanisms import Permanent

EVIL = "it's \"a\" `b` \\' {{ c }}{% x -- /* 日本; DROP TABLE t"
MECHANISMS = {
    EVIL: RandomizedResponse(Categorical(["no", "yes", "'); DROP TABLE reports; --"]), 1.0),
    "long": SubsetSelection(Integers(0, 20), 1.0),
    "hashed": LocalHashing(Categorical(["x", "y", "z"]), 1.0, seeds=8),
    **{f"age {i}": RandomizedResponse(Integers(0, 9), 1.0) for i in range(40)},
}
FREE = "Mr Miller of the 2nd floor"
WARDS = ["North", "north", "north ", "n\u00f6rth", 'it\'s "south" \\', FREE, None]
WARD = Categorical(["North", "n\u00f6rth", 'it\'s "south" \\', "not declared"])
N = 1000


def _table(rows: int = N) -> dict[str, list[Any]]:
    """Reports with rows that are no reports: NULL, and values outside."""
    rng = np.random.default_rng(8)
    table: dict[str, list[Any]] = {"ward": [WARDS[i] for i in rng.integers(0, len(WARDS), rows)]}
    for name, mechanism in MECHANISMS.items():
        for end, size in mechanism.schema.file_columns().items():
            column = rng.integers(0, size, rows).tolist()
            for place, wrong in zip(
                rng.integers(0, max(rows, 1), 3), (None, -1, size), strict=True
            ):
                if rows:
                    column[place] = wrong
            table[f"{name}_{end}"] = column
    return table


def _by_numpy(table: dict[str, list[Any]], by: list[str]) -> Counter[tuple[str, ...]]:
    """The rows of the result, each column counted by itself."""
    people = len(table["ward"])
    cut = {FREE: "not declared?"}  # the study declares a ward without the question mark
    keys = np.array(
        [tuple(cut.get(table[n][i], str(table[n][i])) for n in by) for i in range(people)],
        dtype=object,
    )
    keys = keys.reshape(people, len(by))
    result: Counter[tuple[str, ...]] = Counter()

    def add(attribute: str, part: str, codes: np.ndarray) -> None:
        for code, key in zip(codes.tolist(), keys.tolist(), strict=True):
            result[(attribute, part, str(code), *key)] += 1

    add("*", "rows", np.zeros(people, int))
    for name, mechanism in MECHANISMS.items():
        sizes = mechanism.schema.file_columns()
        codes = {
            end: np.array(
                [
                    -1 if value is None else value if 0 <= value < size else -2
                    for value in table[f"{name}_{end}"]
                ],
                dtype=int,
            )
            for end, size in sizes.items()
        }
        if mechanism.schema.group_bys == 1:
            place = np.ravel_multi_index(
                [np.maximum(c, 0) for c in codes.values()], tuple(sizes.values())
            )
            lowest = np.min([*codes.values()], axis=0)
            gap = np.any([c == -1 for c in codes.values()], axis=0)
            add(name, ",".join(sizes), np.where(gap, -1, np.where(lowest < 0, lowest, place)))
        else:
            for end, code in codes.items():
                add(name, end, code)
        for rule in mechanism.schema.row_rules:
            packed = np.stack([c & 255 for c in codes.values()], axis=1).astype(np.uint8)
            add(name, f"check: {rule.text}", rule.broken_by(packed).astype(int))
    return result


def _by_statement(
    engine: str, table: dict[str, list[Any]], by: list[str], path: Path
) -> Counter[tuple[str, ...]]:
    text = count_statement(MECHANISMS, "reports", engine, by=dict.fromkeys(by, WARD), study="s")
    with open(run_statement(engine, text, table, str(path)), newline="", encoding="utf-8") as file:
        names, *rows = csv.reader(file)
    assert names == ["attribute", "part", "value", *(f"by_{n}" for n in by), "reports"]
    (mark,) = (row for row in rows if row[1] == mark_of("s"))
    rows.remove(mark)  # databases give rows in any order
    nulls = ("", "NULL", "\\N")
    result: Counter[tuple[str, ...]] = Counter()
    for *cells, reports in rows:
        key = ["None" if cell in nulls else cell for cell in cells[3:]]
        assert (*cells[:3], *key) not in result
        result[(*cells[:3], *key)] = int(reports)
    return +result


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("by", [[], ["ward"]], ids=["all", "by ward"])
def test_each_count_is_that_of_numpy(engine: str, by: list[str], tmp_path: Path) -> None:
    """NULL, values outside, names with quotes, and texts that differ in case, accents or spaces."""
    table = _table()
    assert _by_statement(engine, table, by, tmp_path / "c.csv") == _by_numpy(table, by)


@pytest.mark.parametrize("engine", ENGINES)
def test_no_rows_and_columns_that_are_not_there(engine: str, tmp_path: Path) -> None:
    """SQLite takes a name in double quotes that is no column for a text."""
    coin = {"age 0": MECHANISMS["age 0"]}
    text = count_statement(coin, "reports", engine, study="s")
    path = run_statement(engine, text, {"age 0_report": []}, str(tmp_path / "c.csv"))
    with pytest.raises(EmptyError, match="the table has no rows"):
        read_counts(path).tallies(coin, {}, "s")
    for columns, by in (({"age 0": "aeg"}, {}), ({}, {"wrad": WARD})):
        text = count_statement(coin, "reports", engine, columns, by, study="s")
        with pytest.raises(Exception, match=r"aeg|wrad"):
            run_statement(engine, text, {"age 0_report": [1]}, "never.csv")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_statement_of_a_round_counts_the_rows_of_that_round(engine: str, tmp_path: Path) -> None:
    """Rejects two weeks of the same devices that are counted as one."""
    weekly = Permanent(RandomizedResponse(Categorical(["no", "yes"]), 1.0), 2.0)
    text = count_statement({"on": weekly}, "reports", engine, study="s", number=2)
    table = {"round": [1, 2, 1, 2, 2, None], "on_report": [0, 1, 0, 1, 0, 0]}
    path = run_statement(engine, text, table, str(tmp_path / "c.csv"))
    tally = read_counts(path).tallies({"on": weekly}, {}, "s")["on"]
    assert tally.counts.tolist() == [1, 2]
    assert tally.round == 2 and not tally.may_mix_rounds
    everything = count_statement({"on": weekly}, "reports", engine, study="s")
    path = run_statement(engine, everything, table, str(tmp_path / "d.csv"))
    tally = read_counts(path).tallies({"on": weekly}, {}, "s")["on"]
    assert tally.n == 6 and tally.round is None and tally.may_mix_rounds


_MOMENT = {  # the type of moments; SQLite has none
    "duckdb": "TIMESTAMP",
    "sqlite": "TEXT",
    "postgres": "TIMESTAMP",
    "mysql": "DATETIME(3)",
    "clickhouse": "DateTime64(3)",
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("domain", "cells", "cut"),
    [
        (Categorical(["north", "south"]), ["north", "south", "Miller", "n", "", None], 3),
        (Categorical([True, False]), ["true", "false", "Miller", None], 1),
        (Integers(18, 99), [18, 99, 17, 100, 1701234567, None], 3),
        (Integers(18, 99), ["18", "99", "17", "Miller", "1.5", None], 3),
        (Integers(-3, 60000), [-3, 0, 60000, -4, 60001, 1701234567, None], 3),
    ],
)
def test_only_declared_values_leave_a_database(
    engine: str, domain: Domain, cells: list[Any], cut: int, tmp_path: Path
) -> None:
    """Rejects a free text, or a number of a telephone, that stands in a file of counts."""
    coin = {"age 0": MECHANISMS["age 0"]}
    text = count_statement(coin, "reports", engine, by={"x": domain}, study="s")
    table = {"x": cells, "age 0_report": [i % 10 for i in range(len(cells))]}
    path = run_statement(engine, text, table, str(tmp_path / "c.csv"))
    with open(path, newline="", encoding="utf-8") as file:
        rows = [row for row in csv.reader(file) if row[1] == "rows"]
    counted = {row[3]: int(row[4]) for row in rows if row[3] not in ("", "NULL", "\\N")}
    declared = {str(cell): 1 for cell in cells[: len(cells) - cut - 1]}
    assert counted == declared | {UNDECLARED: cut}
    with pytest.raises(ReportError, match="rows without a value"):
        read_counts(path).tallies(coin, {"x": domain}, "s")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("unit", ["day", "week", "month"])
def test_dates_and_moments_leave_a_database_in_the_unit_of_the_study(
    engine: str, unit: str, tmp_path: Path
) -> None:
    """Rejects a group of each moment, which is the report of one person in clear."""
    first = datetime.datetime(1996, 2, 20, 23, 59, 59)
    moments = [(first + datetime.timedelta(hours=150 * i)).isoformat(" ") for i in range(700)]
    moments += [f"{year}-{day} 00:00:00" for year in (1900, 2299) for day in ("01-01", "12-31")]
    coin, domain = {"age 0": MECHANISMS["age 0"]}, Dates(unit)
    answers = [i % 10 for i in range(len(moments))]
    text = count_statement(coin, "reports", engine, by={"seen": domain}, study="s")
    quote = "`" if engine in ("sqlite", "mysql") else '"'
    name = f"{quote}seen{quote}"
    typed = f"CAST({name} AS {_MOMENT[engine]}) AS {name}"
    of_moments = text.replace(
        f"FROM {quote}reports{quote}",
        f"FROM (SELECT {quote}age 0_report{quote}, {typed} FROM {quote}reports{quote}) AS typed",
    )
    labels = domain.decode(domain.encode([cell[:10] for cell in moments]))
    expected = Counter(zip(labels, answers, strict=True))
    for statement, cells in (
        (text, moments),
        (text, [cell[:10] for cell in moments]),
        (text, [cell.replace(" ", "T") + "+01:00" for cell in moments]),
        (text, labels),
        (of_moments, moments),
    ):
        table = {"seen": cells, "age 0_report": answers}
        path = run_statement(engine, statement, table, str(tmp_path / "c.csv"))
        tally = read_counts(path).tallies(coin, {"seen": domain}, "s")["age 0"]
        counted = {(k, i): n for (k,) in tally for i, n in enumerate(tally[(k,)].counts)}
        assert +Counter(counted) == expected
    wrong = ["2026-02-30", "1900-02-29 10:00:00", "0000-01-01", "at 10:35:07", "", "2026-1-2 3:04"]
    table = {"seen": ["2028-02-29", *wrong], "age 0_report": [0] * 7}
    path = run_statement(engine, text, table, str(tmp_path / "c.csv"))
    rows = [line.split(",") for line in Path(path).read_text().splitlines()]
    assert [row[4] for row in rows if row[3] == NO_DATE] == ["6", "6"]
    assert not any(cell in Path(path).read_text() for cell in wrong if cell)
    with pytest.raises(
        ReportError, match=f"'seen': must be {domain.form}.* something else in 1 of"
    ):
        read_counts(path).tallies(coin, {"seen": domain}, "s")


@pytest.mark.parametrize("engine", ["sqlite", "mysql"])
def test_texts_are_no_reports_where_a_database_takes_any_text_for_a_number(
    engine: str, tmp_path: Path
) -> None:
    """MySQL takes 'yes' for 0, and '1a' for 1."""
    coin = {"age 0": MECHANISMS["age 0"]}
    text = count_statement(coin, "reports", engine, study="s")
    for wrong in ("yes", "1a", "", "0.5", "-1", "10"):
        table = {"age 0_report": ["0", "9", wrong]}
        path = run_statement(engine, text, table, str(tmp_path / "c.csv"))
        with pytest.raises(
            ReportError, match=r"must have whole numbers from 0 to 9; got 1 row with other values"
        ):
            read_counts(path).tallies(coin, {}, "s")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_macro_for_dbt_makes_the_same_statement(dialect: str) -> None:
    def made(table: str | DbtMacro) -> str:
        return count_statement(MECHANISMS, table, dialect, by={"ward": WARD}, study="s")

    module = jinja2.Environment().from_string(made(DbtMacro("survey_counts"))).module
    quoted = "`reports`" if dialect in ("bigquery", "spark", "mysql", "sqlite") else '"reports"'
    quoted = quoted.upper() if dialect == "snowflake" else quoted
    assert module.survey_counts(quoted).strip() == made("reports")  # type: ignore[attr-defined]
    with pytest.raises(ArgumentError, match="must have only letters, digits and underscores"):
        DbtMacro("x(relation) %}{% do run_query('DROP TABLE a') %}{% macro y")
