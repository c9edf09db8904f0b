"""Answers in JSON, JSON lines, Feather and Excel are read as CSV is, or refused without a cell."""

from __future__ import annotations

import datetime
import gzip
import io
import json
import re
import sys
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import openpyxl
import pandas
import polars
import pytest

from tests.spec.app._command import run
from warner import Categorical, Integers, RandomizedResponse
from warner.domains import with_missing
from warner.errors import MissingExtraError, WarnerError
from warner.io import answer_tables, read_values, write_reports
from warner.io.read_answers import kinds_of, other_columns

DOMAINS = {
    "smokes": with_missing(Categorical(["yes", "no"]), "answer"),
    "units": with_missing(Integers(0, 9), "answer"),
}
FRAME = pandas.DataFrame({"id": [7, 8, 9], "smokes": ["yes", None, "no"], "units": [1, None, 3]})
ANSWERS = {"smokes": [0, 2, 1], "units": [1, 10, 3]}
SECRET = "xq7secret"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _book(*sheets: Sequence[Sequence[Any]]) -> bytes:
    """An Excel file, one sheet after the other."""
    book, file = openpyxl.Workbook(), io.BytesIO()
    book.remove(book.active)
    for i, rows in enumerate(sheets):
        sheet = book.create_sheet(f"sheet {i}")
        for row in rows:
            sheet.append(row)
    book.save(file)
    return file.getvalue()


def _read(path: str) -> dict[str, list[int]]:
    (batch,) = read_values(path, DOMAINS)
    return {name: column.tolist() for name, column in batch.items()}


def _columns(frame: pandas.DataFrame, path: str) -> None:
    Path(path).write_text(json.dumps(frame.to_dict("list")))


WRITERS: dict[str, Callable[[pandas.DataFrame, str], object]] = {
    "json of pandas": lambda frame, path: frame.to_json(path),
    "json of people": lambda frame, path: frame.to_json(path, orient="records", indent=1),
    "json lines": lambda frame, path: frame.to_json(path, orient="records", lines=True),
    "json of columns": _columns,
    "feather": lambda frame, path: frame.to_feather(path),
    "feather, categories": lambda f, path: f.astype({"smokes": "category"}).to_feather(path),
    "feather of polars": lambda frame, path: polars.from_pandas(frame).write_ipc(path),
    "excel": lambda frame, path: frame.to_excel(path, index=False, engine="openpyxl"),
}


@pytest.mark.crossed(16)
@pytest.mark.parametrize("how", WRITERS)
@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.feather", "a.xlsx", "a.csv", "a"])
def test_a_table_is_known_by_its_content(how: str, name: str) -> None:
    with open("written", "wb"):
        WRITERS[how](FRAME, "written")
    Path("written").rename(name)
    assert _read(name) == ANSWERS
    assert kinds_of(name, list(DOMAINS)) == {"smokes": "labels", "units": "integers"}
    assert other_columns(name, list(DOMAINS)) == ["id"]


def test_commands_read_them_too() -> None:
    Path("a.xlsx").write_bytes(_book([list(FRAME), *FRAME.dropna().to_numpy().tolist()]))
    run("new", "a.xlsx", "-o", "s.toml", "--secret", "smokes", "--values", "smokes=yes,no")
    assert "2 people" in run("randomize", "s.toml", "a.xlsx", "-o", "r.csv").stderr
    lines = '{"smokes": "yes"}\n{"smokes": "no"}\n'
    assert "2 people" in run("randomize", "s.toml", "-", "-o", "p.csv", text=lines).stderr
    Path("a.json.gz").write_bytes(gzip.compress(lines.encode()))
    assert "2 people" in run("randomize", "s.toml", "a.json.gz", "-o", "g.csv").stderr


HEADER = ["smokes", "units"]
BOOKS: dict[str, tuple[bytes, dict[str, list[int]]]] = {
    "the sheet that has the names": (
        _book([["About"], ["Read me"]], [HEADER, ["yes", 1.0], ["no", 2]]),
        {"smokes": [0, 1], "units": [1, 2]},
    ),
    "empty rows before, within and after": (
        _book([[None], [None, *HEADER], [1, "yes", 1], [], [2, "no", 2], [None, None], []]),
        {"smokes": [0, 2, 1], "units": [1, 10, 2]},
    ),
    "numbers as texts": (_book([HEADER, ["yes", "3"]]), {"smokes": [0], "units": [3]}),
}


@pytest.mark.parametrize("what", BOOKS)
def test_sheets_are_read_as_they_look(what: str) -> None:
    data, answers = BOOKS[what]
    Path("a.xlsx").write_bytes(data)
    assert _read("a.xlsx") == answers
    # Programs other than Excel may state a size that is too small.
    with zipfile.ZipFile("a.xlsx") as parts, zipfile.ZipFile("b.xlsx", "w") as copy:
        for name in parts.namelist():
            copy.writestr(name, re.sub(b'ref="[A-Z0-9:]+"', b'ref="A1"', parts.read(name)))
    assert _read("b.xlsx") == answers


def test_dates_and_truth_values_of_excel() -> None:
    days = [datetime.datetime(2024, 1, 2), datetime.date(2024, 1, 1)]
    Path("a.xlsx").write_bytes(_book([["day", "is"], *zip(days, [True, False], strict=True)]))
    domains = {"day": Categorical(["2024-01-01", "2024-01-02"]), "is": Categorical([True, False])}
    (batch,) = read_values("a.xlsx", domains)
    assert batch["day"].tolist() == [1, 0] and batch["is"].tolist() == [0, 1]
    assert kinds_of("a.xlsx", ["day"]) == {"day": "dates"}


REFUSED: dict[str, tuple[str | bytes, str]] = {
    "a list in a cell": (
        f'[{{"smokes": ["{SECRET}"], "units": 1}}]',
        "column 'smokes', data row 1: must be a single value; got a list",
    ),
    "numbers": ("[1, 2]", "must hold one object for each person, but data row 1 is something else"),
    "texts": (f'["{SECRET}"]', "must hold one object for each person"),
    "rows": (f'[["smokes", "units"], ["{SECRET}", 1]]', "must hold one object for each person"),
    "no person": ("[]", "has no columns 'smokes', 'units'"),
    "columns of two lengths": (
        f'{{"smokes": ["yes", "{SECRET}"], "units": [1]}}',
        "has columns that do not have the same rows",
    ),
    "cut": (
        f'{{"smokes": "yes", "units": 1}}\n{{"smokes": "{SECRET}',
        "cannot be read as JSON at line 2",
    ),
    "too deep": ("[" * 10**5, "cannot be read as JSON"),
    "another label": (
        f'{{"smokes": "{SECRET}", "units": 1}}',
        "data row 1: must be one of 'yes', 'no'; got another text",
    ),
    "a fraction": ('{"smokes": "yes", "units": 2.5}', "data row 1: must be a whole number"),
    "a tally": ('{"format":"warner-tally","attributes":{}}', "was written by warner"),
    "cut feather": (b"ARROW1\0\0" + SECRET.encode(), "cannot be read as Feather"),
    "cut excel": (b"PK\x03\x04" + SECRET.encode(), "looks like an Excel file, but cannot be read"),
    "a title above": (_book([[SECRET], HEADER, ["yes", 1]]), "Write these names in the first line"),
    "a name twice": (_book([[*HEADER, "smokes"], ["yes", 1, SECRET]]), "occurs twice"),
    "two sheets": (
        _book([HEADER, ["yes", 1]], [HEADER, [SECRET, 1]]),
        "has the columns smokes, units on several sheets: sheet 0, sheet 1. Keep only the",
    ),
    "a formula": (
        _book([HEADER, ["yes", 1], ["no", "=1+1"]]),
        "a.xlsx: column 'units', data row 2: must have a value in the file; got only a formula",
    ),
    "an empty sheet": (_book([]), "has no columns"),
    "names alone": (_book([HEADER]), "holds no answers"),
    "another zip file": (b"", "another zip file"),
    "spss": (b"$FL2@(#) SPSS", "an SPSS file"),
    "stata 12": (b"s\x02\x01\x00" + bytes(40), "a Stata file (.dta). Save it as CSV: in Stata"),
    "stata 18": (b"<stata_dta><header>", "a Stata file (.dta). Save it as CSV: in Stata"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_table_is_refused_as_what_it_is(what: str) -> None:
    content, words = REFUSED[what]
    Path("a.xlsx").write_bytes(content if isinstance(content, bytes) else content.encode())
    if not content:
        with zipfile.ZipFile("a.xlsx", "w") as file:
            file.writestr("a.csv", SECRET)
    with pytest.raises(WarnerError, match=re.escape(words)) as caught:
        _read("a.xlsx")
    assert SECRET not in f"{caught.value} {caught.value.args}"
    assert caught.value.__context__ is None


def test_a_zip_bomb_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_tables, "_MOST_BYTES", 10**4)
    monkeypatch.setattr(answer_tables, "_workbook", pytest.fail)
    Path("a.json").write_text('[{"smokes": "yes"}' + " " * 10**4)
    with zipfile.ZipFile("a.xlsx", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("xl/workbook.xml", "0" * 10**4 + "1")
    for path in ("a.json", "a.xlsx"):
        with pytest.raises(WarnerError, match="is too large, with more than 0 MiB"):
            _read(path)


def test_a_missing_extra_names_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("a.xlsx").write_bytes(_book([HEADER, ["yes", 1]]))
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    words = r'an Excel file: needs the package openpyxl, .* Run: pip install "warner\[excel\]"'
    with pytest.raises(MissingExtraError, match=words):
        _read("a.xlsx")


def test_reports_are_no_answers() -> None:
    device = RandomizedResponse(Categorical(["yes", "no"]), 1.0)
    reports = device.randomize(["yes"] * 9)
    reports.save("r.warner")
    for name in ("r.csv", "r.parquet"):
        write_reports({"smokes": reports}, name)
    for name in ("r.csv", "r.parquet", "r.warner"):
        with pytest.raises(WarnerError, match="holds reports, which are already randomised"):
            _read(name)
